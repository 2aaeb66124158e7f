\echo Use "ALTER EXTENSION leaderboard UPDATE" to load this file. \quit

/*
 * From 0.2.0 to 0.3.0.  CREATE EXTENSION runs the scripts of 0.1.0, 0.2.0 and
 * then this one.
 *
 * The chapters are in the order of those of the script for 0.2.0.
 */


/* ----------------------------------------------------------------
 *		2. Reads
 * ----------------------------------------------------------------
 */

CREATE FUNCTION @extschema@.lb_tier(
	member bigint,
	board text DEFAULT 'global',
	tiers numeric[] DEFAULT '{1,10,50}')
RETURNS integer
AS 'MODULE_PATHNAME', 'lb_tier'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_tier(bigint, text, numeric[]) IS
'which tier of a board a member is in, by percentages of the board, counted from 1';

CREATE FUNCTION @extschema@.lb_tier_key(
	member text,
	board text DEFAULT 'global',
	tiers numeric[] DEFAULT '{1,10,50}')
RETURNS integer
AS 'MODULE_PATHNAME', 'lb_tier_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_tier_key(text, text, numeric[]) IS
'lb_tier() of a member of any type, as text';


/* ----------------------------------------------------------------
 *		3.2. Submitting
 * ----------------------------------------------------------------
 */

CREATE FUNCTION @extschema@.lb_submit_each(
	player_ids bigint[],
	amounts bigint[],
	op text DEFAULT 'incr',
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now())
RETURNS TABLE (item integer, player_id bigint, status text, score bigint, limit_name text)
AS 'MODULE_PATHNAME', 'lb_submit_each'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100;
COMMENT ON FUNCTION @extschema@.lb_submit_each(bigint[], bigint[], text, text[], timestamptz) IS
'lb_submit_many() that says what became of each change, and applies the others if limits refuse some';

CREATE FUNCTION @extschema@.lb_submit_each_key(
	player_ids text[],
	amounts bigint[],
	op text DEFAULT 'incr',
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now())
RETURNS TABLE (item integer, player_id text, status text, score bigint, limit_name text)
AS 'MODULE_PATHNAME', 'lb_submit_each_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100;
COMMENT ON FUNCTION @extschema@.lb_submit_each_key(text[], bigint[], text, text[], timestamptz) IS
'lb_submit_each() of players of any type, as text';


/* ----------------------------------------------------------------
 *		3.4. Hiding and erasing
 * ----------------------------------------------------------------
 */

CREATE FUNCTION @extschema@.lb_forget_player(
	player_id bigint)
RETURNS TABLE (relation regclass, removed bigint)
AS 'MODULE_PATHNAME', 'lb_forget_player'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION @extschema@.lb_forget_player(bigint) IS
'removes a player from the tables of scores and from the extension''s own; returns how many rows of each';

CREATE FUNCTION @extschema@.lb_forget_player_key(
	player_id text)
RETURNS TABLE (relation regclass, removed bigint)
AS 'MODULE_PATHNAME', 'lb_forget_player_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION @extschema@.lb_forget_player_key(text) IS
'lb_forget_player() of a player of any type, as text';


/* ----------------------------------------------------------------
 *		3.5. Standings
 * ----------------------------------------------------------------
 */

/* A place stays when its member is erased. */
ALTER TABLE @extschema@.lb_archive DROP CONSTRAINT lb_archive_pkey,
	ADD CONSTRAINT lb_archive_member_key UNIQUE (member, board, season, owner),
	ALTER COLUMN member DROP NOT NULL;
COMMENT ON COLUMN @extschema@.lb_archive.member IS
'the member, as text; null if lb_forget_player() has erased it';
