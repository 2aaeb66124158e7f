\echo Use "ALTER EXTENSION leaderboard UPDATE" to load this file. \quit

/*
 * From 0.2.0 to 0.3.0.  CREATE EXTENSION runs the scripts of 0.1.0, 0.2.0 and
 * then this one.
 *
 * The chapters are in the order of those of the script for 0.2.0.
 */


/* ----------------------------------------------------------------
 *		1. Boards
 * ----------------------------------------------------------------
 */

/*
 * Sessions that have found version 0.2.0 look again when lb_board changes.  This
 * changes nothing else.
 */
ALTER TABLE @extschema@.lb_board ENABLE ALWAYS TRIGGER lb_board_changed;


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

CREATE FUNCTION @extschema@.lb_metadata(
	member bigint,
	board text DEFAULT 'global')
RETURNS jsonb
AS 'MODULE_PATHNAME', 'lb_metadata'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_metadata(bigint, text) IS
'metadata of a member''s score on a board; null if it has none or is not on the board';

CREATE FUNCTION @extschema@.lb_metadata_key(
	member text,
	board text DEFAULT 'global')
RETURNS jsonb
AS 'MODULE_PATHNAME', 'lb_metadata_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_metadata_key(text, text) IS
'lb_metadata() of a member of any type, as text';

CREATE FUNCTION @extschema@.lb_page(
	n integer DEFAULT 10,
	board text DEFAULT 'global',
	skip bigint DEFAULT 0)
RETURNS TABLE (rank bigint, member bigint, score bigint, ties text[])
AS 'MODULE_PATHNAME', 'lb_page'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 10
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_page(integer, text, bigint) IS
'lb_top() with the tie-breakers: all columns of the board''s order';

CREATE FUNCTION @extschema@.lb_page_key(
	n integer DEFAULT 10,
	board text DEFAULT 'global',
	skip bigint DEFAULT 0)
RETURNS TABLE (rank bigint, member text, score text, ties text[])
AS 'MODULE_PATHNAME', 'lb_page_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 10
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_page_key(integer, text, bigint) IS
'lb_page() of members and scores of any type, as text';

CREATE FUNCTION @extschema@.lb_shard_page(
	board text,
	value text,
	keys integer,
	shard bigint,
	self bigint,
	places oid,
	servers bigint[],
	from_key bytea,
	upto_key bytea,
	back integer,
	n integer,
	even boolean)
RETURNS bytea
AS 'MODULE_PATHNAME', 'lb_shard_page'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_shard_page(text, text, integer, bigint, bigint, oid, bigint[], bytea, bytea, integer, integer, boolean) IS
'internal; entries of the boards of shards, for the server that merges those of all shards';

CREATE FUNCTION @extschema@.lb_shard_counts(
	board text,
	value text,
	keys integer,
	shard bigint,
	self bigint,
	places oid,
	servers bigint[],
	wanted bytea)
RETURNS bytea
AS 'MODULE_PATHNAME', 'lb_shard_counts'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_shard_counts(text, text, integer, bigint, bigint, oid, bigint[], bytea) IS
'internal; how many entries of shards'' boards come before each of some keys';

CREATE FUNCTION @extschema@.lb_shard_keys(
	board text,
	value text,
	keys integer,
	shard bigint,
	self bigint,
	places oid,
	servers bigint[],
	members bytea)
RETURNS bytea
AS 'MODULE_PATHNAME', 'lb_shard_keys'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_shard_keys(text, text, integer, bigint, bigint, oid, bigint[], bytea) IS
'internal; keys of those members that shards'' boards have';

CREATE FUNCTION @extschema@.lb_count_before(
	score bigint,
	ties text[],
	member bigint,
	board text DEFAULT 'global',
	inclusive boolean DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_count_before'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_count_before(bigint, text[], bigint, text, boolean) IS
'how many members of a board stand before a score, tie-breakers and member, or also at them';

CREATE FUNCTION @extschema@.lb_count_before_key(
	score text,
	ties text[],
	member text,
	board text DEFAULT 'global',
	inclusive boolean DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_count_before_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_count_before_key(text, text[], text, text, boolean) IS
'lb_count_before() of a score and a member of any type, as text';


/* ----------------------------------------------------------------
 *		3.1. Leaderboards
 * ----------------------------------------------------------------
 */

/*
 * "global" is always there: it is not part of a dump, and tables that refer to
 * leaderboards can refer to it.
 */
CREATE TABLE @extschema@.lb_leaderboard (
	name	   text COLLATE "C" NOT NULL,
	op		   text NOT NULL DEFAULT 'incr',
	created_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	CONSTRAINT lb_leaderboard_pkey PRIMARY KEY (name),
	CONSTRAINT lb_leaderboard_op_check CHECK (
		op OPERATOR(pg_catalog.=) ANY (ARRAY['incr', 'set', 'best', 'worst']))
);
INSERT INTO @extschema@.lb_leaderboard (name) VALUES ('global');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_leaderboard',
	'WHERE name OPERATOR(pg_catalog.<>) ''global''');
GRANT SELECT ON TABLE @extschema@.lb_leaderboard TO PUBLIC;

COMMENT ON TABLE @extschema@.lb_leaderboard IS
'boards that scores are submitted to, each with windows of its own; written through lb_create_leaderboard() and lb_drop_leaderboard()';
COMMENT ON COLUMN @extschema@.lb_leaderboard.name IS
'of the leaderboard and the board of its scores; its windows are boards of the family of that name with a slash, those of "global" of the family "*"';
COMMENT ON COLUMN @extschema@.lb_leaderboard.op IS
'what a submit does that names no operation: incr, set, best or worst';
COMMENT ON COLUMN @extschema@.lb_leaderboard.created_at IS
'when it was made';

CREATE TRIGGER lb_leaderboard_changed
AFTER INSERT OR UPDATE OR DELETE ON @extschema@.lb_leaderboard
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_leaderboard ENABLE ALWAYS TRIGGER lb_leaderboard_changed;
CREATE FUNCTION @extschema@.lb_skip_row()
RETURNS trigger
AS 'MODULE_PATHNAME', 'lb_skip_row'
LANGUAGE C;
COMMENT ON FUNCTION @extschema@.lb_skip_row() IS
'keeps the row of "global" the only one, which logical replication copies';
REVOKE ALL ON FUNCTION @extschema@.lb_skip_row() FROM PUBLIC;
CREATE TRIGGER lb_leaderboard_global
BEFORE INSERT ON @extschema@.lb_leaderboard
FOR EACH ROW WHEN (NEW.name OPERATOR(pg_catalog.=) 'global')
EXECUTE FUNCTION @extschema@.lb_skip_row();
ALTER TABLE @extschema@.lb_leaderboard ENABLE ALWAYS TRIGGER lb_leaderboard_global;
COMMENT ON TRIGGER lb_leaderboard_global ON @extschema@.lb_leaderboard IS
'the row of "global" is there already';
COMMENT ON TRIGGER lb_leaderboard_changed ON @extschema@.lb_leaderboard IS
'makes all sessions read the leaderboards again';


/* ----------------------------------------------------------------
 *		3.1. Windows that are closed
 * ----------------------------------------------------------------
 */

/*
 * Written through lb_set_reward(); part of a dump.  It has no foreign key: a
 * restore in parallel fills the tables of an extension in any order.
 */
CREATE TABLE @extschema@.lb_reward (
	name	 text COLLATE "C" NOT NULL,
	function text NOT NULL,
	CONSTRAINT lb_reward_pkey PRIMARY KEY (name)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_reward', '');
GRANT SELECT ON TABLE @extschema@.lb_reward TO PUBLIC;

COMMENT ON TABLE @extschema@.lb_reward IS
'which functions are called when windows have been closed; written through lb_set_reward()';
COMMENT ON COLUMN @extschema@.lb_reward.name IS
'name of the window';
COMMENT ON COLUMN @extschema@.lb_reward.function IS
'the function, of (text, jsonb), by name with its schema';

/* It only grows, as lb_closed does. */
CREATE TABLE @extschema@.lb_payout (
	board	  text COLLATE "C" NOT NULL,
	name	  text COLLATE "C" NOT NULL,
	source	  integer NOT NULL,
	closed_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	paid_at	  timestamptz,
	attempts  integer NOT NULL DEFAULT 0,
	problem	  text,
	CONSTRAINT lb_payout_pkey PRIMARY KEY (board)
);
CREATE INDEX lb_payout_due_idx ON @extschema@.lb_payout (closed_at)
WHERE paid_at IS NULL;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_payout', '');
GRANT SELECT ON TABLE @extschema@.lb_payout TO pg_database_owner;

COMMENT ON TABLE @extschema@.lb_payout IS
'closed windows for which a function of lb_reward is called, once each';
COMMENT ON COLUMN @extschema@.lb_payout.board IS
'key of the window, as "daily:20260409"';
COMMENT ON COLUMN @extschema@.lb_payout.name IS
'name of the window';
COMMENT ON COLUMN @extschema@.lb_payout.source IS
'number of the windows'' table in lb_archive_source: a later leaderboard of that name has another one';
COMMENT ON COLUMN @extschema@.lb_payout.closed_at IS
'when it was closed';
COMMENT ON COLUMN @extschema@.lb_payout.paid_at IS
'when the function was called; null until it has succeeded';
COMMENT ON COLUMN @extschema@.lb_payout.attempts IS
'how often it was called, or was to be';
COMMENT ON COLUMN @extschema@.lb_payout.problem IS
'error of the last call; null if there was none';

CREATE FUNCTION @extschema@.lb_set_reward(
	name text,
	reward regprocedure)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_set_reward'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_set_reward(text, regprocedure) IS
'has a function called once for each span of a window that is closed, with its standings; null ends that';
REVOKE ALL ON FUNCTION @extschema@.lb_set_reward(text, regprocedure) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_set_reward(text, regprocedure) TO pg_database_owner;


/* ----------------------------------------------------------------
 *		3.1. Windows that players join
 * ----------------------------------------------------------------
 */

/*
 * Written through lb_set_entry() and lb_drop_entry(); part of a dump, and so
 * without foreign keys, as the next two.
 */
CREATE TABLE @extschema@.lb_entry (
	name		 text COLLATE "C" NOT NULL,
	max_entrants bigint,
	opens		 interval,
	closes		 interval,
	CONSTRAINT lb_entry_pkey PRIMARY KEY (name)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_entry', '');
GRANT SELECT ON TABLE @extschema@.lb_entry TO PUBLIC;

COMMENT ON TABLE @extschema@.lb_entry IS
'windows whose scores are of players only who have joined; written through lb_set_entry() and lb_drop_entry()';
COMMENT ON COLUMN @extschema@.lb_entry.name IS
'name of the window';
COMMENT ON COLUMN @extschema@.lb_entry.max_entrants IS
'how many players can join each span of it; null if that is not limited';
COMMENT ON COLUMN @extschema@.lb_entry.opens IS
'when players can begin to join, from the start of the span; null if they always can';
COMMENT ON COLUMN @extschema@.lb_entry.closes IS
'when players can join no more, from the start of the span; null for its end';

CREATE TRIGGER lb_entry_changed
AFTER INSERT OR UPDATE OR DELETE ON @extschema@.lb_entry
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_entry ENABLE ALWAYS TRIGGER lb_entry_changed;
COMMENT ON TRIGGER lb_entry_changed ON @extschema@.lb_entry IS
'makes all sessions read the windows that players join again';

/* A row for each span that players have joined: they lock it to be counted. */
CREATE TABLE @extschema@.lb_entry_count (
	board	 text COLLATE "C" NOT NULL,
	name	 text COLLATE "C" NOT NULL,
	entrants bigint NOT NULL DEFAULT 0,
	CONSTRAINT lb_entry_count_pkey PRIMARY KEY (board)
) WITH (fillfactor = 50);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_entry_count', '');
GRANT SELECT ON TABLE @extschema@.lb_entry_count TO pg_database_owner;

COMMENT ON TABLE @extschema@.lb_entry_count IS
'how many players have joined windows';
COMMENT ON COLUMN @extschema@.lb_entry_count.board IS
'key of the window, as "daily:20260409"';
COMMENT ON COLUMN @extschema@.lb_entry_count.name IS
'name of the window';
COMMENT ON COLUMN @extschema@.lb_entry_count.entrants IS
'how many rows lb_entrant has of it';

CREATE TABLE @extschema@.lb_entrant (
	player_id text COLLATE "C" NOT NULL,
	board	  text COLLATE "C" NOT NULL,
	joined_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	CONSTRAINT lb_entrant_pkey PRIMARY KEY (player_id, board)
);
CREATE INDEX lb_entrant_board_idx ON @extschema@.lb_entrant (board);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_entrant', '');
GRANT SELECT ON TABLE @extschema@.lb_entrant TO pg_database_owner;

COMMENT ON TABLE @extschema@.lb_entrant IS
'players who have joined windows, kept as long as the windows'' rows';
COMMENT ON COLUMN @extschema@.lb_entrant.player_id IS
'the player, as text';
COMMENT ON COLUMN @extschema@.lb_entrant.board IS
'key of the window, as "daily:20260409"';
COMMENT ON COLUMN @extschema@.lb_entrant.joined_at IS
'when the player joined';

CREATE FUNCTION @extschema@.lb_set_entry(
	name text,
	max_entrants bigint DEFAULT NULL,
	opens interval DEFAULT NULL,
	closes interval DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_set_entry'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_set_entry(text, bigint, interval, interval) IS
'has players join a window before their submits count in it; of one that has this it replaces everything';
REVOKE ALL ON FUNCTION @extschema@.lb_set_entry(text, bigint, interval, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_set_entry(text, bigint, interval, interval) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_drop_entry(
	name text)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_drop_entry'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_drop_entry(text) IS
'lets all players'' submits count in a window again, and forgets who has joined';

CREATE FUNCTION @extschema@.lb_join(
	player_id bigint,
	board text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_join'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_join(bigint, text) IS
'enters a player in a window; false if the player has joined already';

CREATE FUNCTION @extschema@.lb_join_key(
	player_id text,
	board text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_join_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_join_key(text, text) IS
'lb_join() of a player of any type, as text';

CREATE FUNCTION @extschema@.lb_leave(
	player_id bigint,
	board text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_leave'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_leave(bigint, text) IS
'takes a player out of a window, with the score there; false if the player has not joined';

CREATE FUNCTION @extschema@.lb_leave_key(
	player_id text,
	board text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_leave_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_leave_key(text, text) IS
'lb_leave() of a player of any type, as text';

CREATE FUNCTION @extschema@.lb_entry_status(
	player_id bigint,
	board text)
RETURNS TABLE (board text, joined boolean, entrants bigint, max_entrants bigint, opens timestamptz, closes timestamptz, is_open boolean)
AS 'MODULE_PATHNAME', 'lb_entry_status'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 1;
COMMENT ON FUNCTION @extschema@.lb_entry_status(bigint, text) IS
'whether a player has joined a window, how many have, and when they can; no row if players do not join it';

CREATE FUNCTION @extschema@.lb_entry_status_key(
	player_id text,
	board text)
RETURNS TABLE (board text, joined boolean, entrants bigint, max_entrants bigint, opens timestamptz, closes timestamptz, is_open boolean)
AS 'MODULE_PATHNAME', 'lb_entry_status_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 1;
COMMENT ON FUNCTION @extschema@.lb_entry_status_key(text, text) IS
'lb_entry_status() of a player of any type, as text';


/* ----------------------------------------------------------------
 *		3.2. Submitting
 * ----------------------------------------------------------------
 */

/*
 * A match is a player's on a leaderboard.  All that is there is of "global".
 */
ALTER TABLE @extschema@.lb_applied
	ADD COLUMN leaderboard text COLLATE "C" NOT NULL DEFAULT 'global',
	DROP CONSTRAINT lb_applied_pkey,
	ADD CONSTRAINT lb_applied_pkey PRIMARY KEY (player_id, match_id, leaderboard);
COMMENT ON COLUMN @extschema@.lb_applied.leaderboard IS
'to which it was submitted';

/*
 * These get more arguments, and so does lb_create_tables().  The operation of a submit
 * is that of the leaderboard, which is incr for "global" as before.
 *
 * What users have granted on them must outlive that, and so must users' views and
 * functions that call them.  So their rows of pg_proc take the arguments of functions
 * that are there for a moment.
 */
CREATE FUNCTION @extschema@.lb_submit_with_more(
	player_id bigint,
	amount bigint,
	op text DEFAULT NULL,
	match_id text DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	boards text[] DEFAULT NULL,
	leaderboard text DEFAULT 'global',
	metadata jsonb DEFAULT NULL)
RETURNS TABLE (board text, score bigint, rank bigint, previous_rank bigint, applied boolean)
AS 'MODULE_PATHNAME', 'lb_submit'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 ROWS 3;

CREATE FUNCTION @extschema@.lb_submit_key_with_more(
	player_id text,
	amount bigint,
	op text DEFAULT NULL,
	match_id text DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	boards text[] DEFAULT NULL,
	leaderboard text DEFAULT 'global',
	metadata jsonb DEFAULT NULL)
RETURNS TABLE (board text, score bigint, rank bigint, previous_rank bigint, applied boolean)
AS 'MODULE_PATHNAME', 'lb_submit_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 ROWS 3;

CREATE FUNCTION @extschema@.lb_submit_many_with_more(
	player_ids bigint[],
	amounts bigint[],
	op text DEFAULT NULL,
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	leaderboard text DEFAULT 'global')
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_submit_many'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

CREATE FUNCTION @extschema@.lb_submit_many_key_with_more(
	player_ids text[],
	amounts bigint[],
	op text DEFAULT NULL,
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	leaderboard text DEFAULT 'global')
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_submit_many_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

CREATE FUNCTION @extschema@.lb_create_tables_with_more(
	score_index boolean DEFAULT false,
	player_id text DEFAULT 'bigint',
	distributed boolean DEFAULT false,
	shard_count integer DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_create_tables'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;

UPDATE pg_catalog.pg_proc AS p SET
	pronargs = n.pronargs,
	pronargdefaults = n.pronargdefaults,
	proargtypes = n.proargtypes,
	proallargtypes = n.proallargtypes,
	proargmodes = n.proargmodes,
	proargnames = n.proargnames,
	proargdefaults = n.proargdefaults
FROM (VALUES
	('@extschema@.lb_submit(bigint, bigint, text, text, timestamptz, text[])',
	 '@extschema@.lb_submit_with_more(bigint, bigint, text, text, timestamptz, text[], text, jsonb)'),
	('@extschema@.lb_submit_key(text, bigint, text, text, timestamptz, text[])',
	 '@extschema@.lb_submit_key_with_more(text, bigint, text, text, timestamptz, text[], text, jsonb)'),
	('@extschema@.lb_submit_many(bigint[], bigint[], text, text[], timestamptz)',
	 '@extschema@.lb_submit_many_with_more(bigint[], bigint[], text, text[], timestamptz, text)'),
	('@extschema@.lb_submit_many_key(text[], bigint[], text, text[], timestamptz)',
	 '@extschema@.lb_submit_many_key_with_more(text[], bigint[], text, text[], timestamptz, text)'),
	('@extschema@.lb_create_tables(boolean, text)',
	 '@extschema@.lb_create_tables_with_more(boolean, text, boolean, integer)')) AS f (before, after)
	JOIN pg_catalog.pg_proc AS n ON n.oid OPERATOR(pg_catalog.=) CAST(f.after AS pg_catalog.regprocedure)
WHERE p.oid OPERATOR(pg_catalog.=) CAST(f.before AS pg_catalog.regprocedure);
DROP FUNCTION @extschema@.lb_submit_with_more(bigint, bigint, text, text, timestamptz, text[], text, jsonb);
DROP FUNCTION @extschema@.lb_submit_key_with_more(text, bigint, text, text, timestamptz, text[], text, jsonb);
DROP FUNCTION @extschema@.lb_submit_many_with_more(bigint[], bigint[], text, text[], timestamptz, text);
DROP FUNCTION @extschema@.lb_submit_many_key_with_more(text[], bigint[], text, text[], timestamptz, text);
DROP FUNCTION @extschema@.lb_create_tables_with_more(boolean, text, boolean, integer);
COMMENT ON FUNCTION @extschema@.lb_submit(bigint, bigint, text, text, timestamptz, text[], text, jsonb) IS
'changes a player''s score on a leaderboard and in each of its windows that contains a moment';
COMMENT ON FUNCTION @extschema@.lb_submit_key(text, bigint, text, text, timestamptz, text[], text, jsonb) IS
'lb_submit() of a player of any type, as text';
COMMENT ON FUNCTION @extschema@.lb_submit_many(bigint[], bigint[], text, text[], timestamptz, text) IS
'lb_submit() of many at once; returns how many of them were applied';
COMMENT ON FUNCTION @extschema@.lb_submit_many_key(text[], bigint[], text, text[], timestamptz, text) IS
'lb_submit_many() of players of any type, as text';

COMMENT ON FUNCTION @extschema@.lb_create_tables(boolean, text, boolean, integer) IS
'creates player_scores and player_score_windows, if they do not exist, and their boards; player_id is the type of their players; Citus distributes them to shards if distributed';

COMMENT ON FUNCTION @extschema@.lb_submit_json(jsonb) IS
'lb_submit_key() of a json object with the fields player_id, amount, op, match_id, at, boards and leaderboard';

/* lb_submit() calls it on the server of a shard; at is in microseconds since 2000. */
CREATE FUNCTION @extschema@.lb_shard_submit(
	player_id text,
	shard bigint,
	leaderboard text,
	amount bigint,
	op text,
	match_id text,
	at bigint,
	boards text[],
	metadata jsonb)
RETURNS TABLE (board text, score bigint, rank bigint, previous_rank bigint, applied boolean, repeated boolean)
AS 'MODULE_PATHNAME', 'lb_shard_submit'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 ROWS 3;
COMMENT ON FUNCTION @extschema@.lb_shard_submit(text, bigint, text, bigint, text, text, bigint, text[], jsonb) IS
'internal; lb_submit() calls it on the server of a shard';

/*
 * The same for lb_submit_many(), and with each for lb_submit_each().  Without each there
 * is one row, whose number is how many were applied.  Errors number the changes by items.
 */
CREATE FUNCTION @extschema@.lb_shard_submit_many(
	player_ids text[],
	shard bigint,
	leaderboard text,
	amounts bigint[],
	op text,
	match_ids text[],
	at bigint,
	each boolean,
	items integer[])
RETURNS TABLE (number integer, status text, score bigint, limit_name text)
AS 'MODULE_PATHNAME', 'lb_shard_submit_many'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 100;
COMMENT ON FUNCTION @extschema@.lb_shard_submit_many(text[], bigint, text, bigint[], text, text[], bigint, boolean, integer[]) IS
'internal; lb_submit_many() and lb_submit_each() call it on the server of a shard';

/* lb_hide() and lb_show() call it on the server of a shard. */
CREATE FUNCTION @extschema@.lb_shard_set_ranked(
	player_id text,
	shard bigint,
	board text,
	ranked boolean,
	everywhere boolean)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_shard_set_ranked'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_shard_set_ranked(text, bigint, text, boolean, boolean) IS
'internal; lb_hide() and lb_show() call it on the server of a shard';

/*
 * lb_forget_player() calls it on the server of a shard, with boards of a leaderboard.  It
 * returns for each table how many rows, and the keys of the windows that they were of.
 */
CREATE FUNCTION @extschema@.lb_shard_forget(
	player_id text,
	shard bigint,
	boards text[])
RETURNS TABLE (board text, beside text, removed bigint, keys text[])
AS 'MODULE_PATHNAME', 'lb_shard_forget'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000 ROWS 6;
COMMENT ON FUNCTION @extschema@.lb_shard_forget(text, bigint, text[]) IS
'internal; lb_forget_player() calls it on the server of a shard';

CREATE FUNCTION @extschema@.lb_submit_match(
	player_id bigint,
	amounts jsonb,
	match_id text DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now())
RETURNS TABLE (board text, score bigint, rank bigint, previous_rank bigint, applied boolean)
AS 'MODULE_PATHNAME', 'lb_submit_match'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 2000 ROWS 6;
COMMENT ON FUNCTION @extschema@.lb_submit_match(bigint, jsonb, text, timestamptz) IS
'changes a player''s scores on several leaderboards at once, by amounts such as {"kills": 7, "wins": 1}';

CREATE FUNCTION @extschema@.lb_submit_match_key(
	player_id text,
	amounts jsonb,
	match_id text DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now())
RETURNS TABLE (board text, score bigint, rank bigint, previous_rank bigint, applied boolean)
AS 'MODULE_PATHNAME', 'lb_submit_match_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 2000 ROWS 6;
COMMENT ON FUNCTION @extschema@.lb_submit_match_key(text, jsonb, text, timestamptz) IS
'lb_submit_match() of a player of any type, as text';

CREATE FUNCTION @extschema@.lb_submit_each(
	player_ids bigint[],
	amounts bigint[],
	op text DEFAULT NULL,
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	leaderboard text DEFAULT 'global')
RETURNS TABLE (item integer, player_id bigint, status text, score bigint, limit_name text)
AS 'MODULE_PATHNAME', 'lb_submit_each'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100;
COMMENT ON FUNCTION @extschema@.lb_submit_each(bigint[], bigint[], text, text[], timestamptz, text) IS
'lb_submit_many() that says what became of each change, and applies the others if limits refuse some';

CREATE FUNCTION @extschema@.lb_submit_each_key(
	player_ids text[],
	amounts bigint[],
	op text DEFAULT NULL,
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	leaderboard text DEFAULT 'global')
RETURNS TABLE (item integer, player_id text, status text, score bigint, limit_name text)
AS 'MODULE_PATHNAME', 'lb_submit_each_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 100;
COMMENT ON FUNCTION @extschema@.lb_submit_each_key(text[], bigint[], text, text[], timestamptz, text) IS
'lb_submit_each() of players of any type, as text';


/* ----------------------------------------------------------------
 *		3.4. Hiding and erasing
 * ----------------------------------------------------------------
 */

/*
 * Written through lb_hide() and lb_show(); part of a dump, and so without foreign
 * keys.  A row for board '' is for all leaderboards whose players are of that type, also
 * those that are made later.  Rows for other boards come before it, and those that are
 * not hidden are exceptions to it.
 */
CREATE TABLE @extschema@.lb_hidden (
	player_id	text COLLATE "C" NOT NULL,
	player_type text COLLATE "C" NOT NULL,
	board		text COLLATE "C" NOT NULL DEFAULT '',
	hidden		boolean NOT NULL DEFAULT true,
	owners		name[],
	hidden_at	timestamptz NOT NULL DEFAULT pg_catalog.now(),
	hidden_by	name NOT NULL,
	reason		text,
	CONSTRAINT lb_hidden_pkey PRIMARY KEY (player_id, player_type, board)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_hidden', '');
GRANT SELECT ON TABLE @extschema@.lb_hidden TO pg_database_owner;

COMMENT ON TABLE @extschema@.lb_hidden IS
'players who are hidden; written through lb_hide() and lb_show(), and read through lb_hidden_player';
COMMENT ON COLUMN @extschema@.lb_hidden.player_id IS
'the player, as text';
COMMENT ON COLUMN @extschema@.lb_hidden.player_type IS
'type of players of the boards: the same text is another player where the type is another one';
COMMENT ON COLUMN @extschema@.lb_hidden.board IS
'board or family; empty for all leaderboards';
COMMENT ON COLUMN @extschema@.lb_hidden.hidden IS
'false for a board that is excepted from all leaderboards';
COMMENT ON COLUMN @extschema@.lb_hidden.owners IS
'of all leaderboards: the owners of their tables, to whose leaderboards it applies; null for those of any owner';
COMMENT ON COLUMN @extschema@.lb_hidden.hidden_at IS
'since when';
COMMENT ON COLUMN @extschema@.lb_hidden.hidden_by IS
'the role that has called lb_hide(), or the one that has given the reason';
COMMENT ON COLUMN @extschema@.lb_hidden.reason IS
'what lb_hide() was given';

CREATE TRIGGER lb_hidden_changed
AFTER INSERT OR UPDATE OR DELETE ON @extschema@.lb_hidden
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_hidden ENABLE ALWAYS TRIGGER lb_hidden_changed;
COMMENT ON TRIGGER lb_hidden_changed ON @extschema@.lb_hidden IS
'makes submits under way look again who is hidden';

CREATE FUNCTION @extschema@.lb_may_hide(
	board text,
	player_type text,
	owners name[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_may_hide'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_may_hide(text, text, name[]) IS
'internal; see lb_hidden_player';

CREATE VIEW @extschema@.lb_hidden_player WITH (security_barrier) AS
SELECT h.player_id, h.player_type,
	CASE WHEN h.board OPERATOR(pg_catalog.<>) '' THEN h.board END AS board,
	CASE WHEN h.board OPERATOR(pg_catalog.=) '' THEN ARRAY(
		SELECT e.board FROM @extschema@.lb_hidden e
		WHERE e.player_id OPERATOR(pg_catalog.=) h.player_id
			AND e.player_type OPERATOR(pg_catalog.=) h.player_type AND NOT e.hidden
			AND @extschema@.lb_may_hide(e.board, e.player_type, CAST(NULL AS pg_catalog.name[]))
		ORDER BY e.board) END AS except_boards,
	h.hidden_at, h.hidden_by, h.reason
FROM @extschema@.lb_hidden h
WHERE h.hidden AND @extschema@.lb_may_hide(h.board, h.player_type, h.owners);
GRANT SELECT ON TABLE @extschema@.lb_hidden_player TO PUBLIC;
COMMENT ON VIEW @extschema@.lb_hidden_player IS
'players who are hidden, for roles that may hide players there';
COMMENT ON COLUMN @extschema@.lb_hidden_player.player_id IS
'the player, as text';
COMMENT ON COLUMN @extschema@.lb_hidden_player.player_type IS
'type of players of the boards';
COMMENT ON COLUMN @extschema@.lb_hidden_player.board IS
'board or family; null for all leaderboards, also those that are made later';
COMMENT ON COLUMN @extschema@.lb_hidden_player.except_boards IS
'boards and families that are excepted from all leaderboards';
COMMENT ON COLUMN @extschema@.lb_hidden_player.hidden_at IS
'since when';
COMMENT ON COLUMN @extschema@.lb_hidden_player.hidden_by IS
'the role that has called lb_hide(), or the one that has given the reason';
COMMENT ON COLUMN @extschema@.lb_hidden_player.reason IS
'what lb_hide() was given';

/* These get an argument, as those of chapter 3.2. */
CREATE FUNCTION @extschema@.lb_hide_with_more(
	player_id bigint,
	boards text[] DEFAULT NULL,
	reason text DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_hide'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;

CREATE FUNCTION @extschema@.lb_hide_key_with_more(
	player_id text,
	boards text[] DEFAULT NULL,
	reason text DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_hide_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;

UPDATE pg_catalog.pg_proc AS p SET
	pronargs = n.pronargs,
	pronargdefaults = n.pronargdefaults,
	proargtypes = n.proargtypes,
	proallargtypes = n.proallargtypes,
	proargmodes = n.proargmodes,
	proargnames = n.proargnames,
	proargdefaults = n.proargdefaults
FROM (VALUES
	('@extschema@.lb_hide(bigint, text[])',
	 '@extschema@.lb_hide_with_more(bigint, text[], text)'),
	('@extschema@.lb_hide_key(text, text[])',
	 '@extschema@.lb_hide_key_with_more(text, text[], text)')) AS f (before, after)
	JOIN pg_catalog.pg_proc AS n ON n.oid OPERATOR(pg_catalog.=) CAST(f.after AS pg_catalog.regprocedure)
WHERE p.oid OPERATOR(pg_catalog.=) CAST(f.before AS pg_catalog.regprocedure);
DROP FUNCTION @extschema@.lb_hide_with_more(bigint, text[], text);
DROP FUNCTION @extschema@.lb_hide_key_with_more(text, text[], text);
COMMENT ON FUNCTION @extschema@.lb_hide(bigint, text[], text) IS
'takes a player off all leaderboards and their windows, or other boards, for good; returns how many rows were ranked';
COMMENT ON FUNCTION @extschema@.lb_hide_key(text, text[], text) IS
'lb_hide() of a player of any type, as text';

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

/*
 * lb_forget_player() changes these, also where a publication FOR ALL TABLES has
 * them.  They have no primary key.
 */
ALTER TABLE @extschema@.lb_archive REPLICA IDENTITY FULL;
ALTER TABLE @extschema@.lb_event REPLICA IDENTITY FULL;
ALTER TABLE @extschema@.lb_watched REPLICA IDENTITY FULL;
COMMENT ON COLUMN @extschema@.lb_archive.member IS
'the member, as text; null if lb_forget_player() has erased it';


/* ----------------------------------------------------------------
 *		4.1. Managing
 * ----------------------------------------------------------------
 */

/* A leaderboard takes names, as a board does. */
CREATE FUNCTION @extschema@.lb_create_leaderboard(
	name text,
	op text DEFAULT 'incr',
	direction text DEFAULT 'desc',
	windows text[] DEFAULT '{daily,weekly}',
	player_id text DEFAULT 'bigint',
	distributed boolean DEFAULT false,
	shard_count integer DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_create_leaderboard'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_create_leaderboard(text, text, text, text[], text, boolean, integer) IS
'creates a leaderboard with tables, boards and windows of its own; Citus distributes the tables to shards if distributed';
REVOKE ALL ON FUNCTION @extschema@.lb_create_leaderboard(text, text, text, text[], text, boolean, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_create_leaderboard(text, text, text, text[], text, boolean, integer) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_drop_leaderboard(
	name text)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_drop_leaderboard'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_drop_leaderboard(text) IS
'drops a leaderboard with its tables, boards, windows and limits';

/*
 * A board of a distributed table is recorded on all servers that run its queries; the
 * coordinator calls these on the others.  The arguments are those of lb_create_board().
 */
CREATE FUNCTION @extschema@.lb_record_board(
	board text,
	source regclass,
	member text,
	rank_by text,
	board_column name,
	method text,
	ranked_if name)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_record_board'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_record_board(text, regclass, text, text, name, text, name) IS
'internal; records a board of a distributed table on another server than the coordinator';
REVOKE ALL ON FUNCTION @extschema@.lb_record_board(text, regclass, text, text, name, text, name) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_record_board(text, regclass, text, text, name, text, name) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_unrecord_board(
	board text)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_unrecord_board'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_unrecord_board(text) IS
'internal; undoes lb_record_board()';

/* Likewise its leaderboard's operation, windows and limits, and which windows are closed. */
CREATE FUNCTION @extschema@.lb_record_settings(
	leaderboard text,
	settings jsonb)
RETURNS text
AS 'MODULE_PATHNAME', 'lb_record_settings'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_record_settings(text, jsonb) IS
'internal; records operation, windows and limits of a leaderboard with distributed tables on another server than the coordinator';
REVOKE ALL ON FUNCTION @extschema@.lb_record_settings(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_record_settings(text, jsonb) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_record_closed(
	leaderboard text,
	boards text[],
	no_others boolean)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_record_closed'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_record_closed(text, text[], boolean) IS
'internal; closes windows of a leaderboard with distributed tables on another server than the coordinator';

CREATE FUNCTION @extschema@.lb_shard_windows(
	board text)
RETURNS text
AS 'MODULE_PATHNAME', 'lb_shard_windows'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION @extschema@.lb_shard_windows(text) IS
'internal; the windows that have rows in a shard';


/* ----------------------------------------------------------------
 *		4.2. Statistics
 * ----------------------------------------------------------------
 */

CREATE FUNCTION @extschema@.lb_stat_ledger_row()
RETURNS TABLE (history bigint, backlog bigint)
AS 'MODULE_PATHNAME', 'lb_stat_ledger_row'
LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 1;
COMMENT ON FUNCTION @extschema@.lb_stat_ledger_row() IS
'internal; see lb_stat_ledger';

CREATE VIEW @extschema@.lb_stat_ledger AS
SELECT s.history, s.backlog
FROM @extschema@.lb_stat_ledger_row() s;
COMMENT ON VIEW @extschema@.lb_stat_ledger IS
'changes that are kept for older snapshots, and changes that are not in an index yet';
COMMENT ON COLUMN @extschema@.lb_stat_ledger.history IS
'bytes of settled changes that boards of the server keep; see leaderboard.history_size';
COMMENT ON COLUMN @extschema@.lb_stat_ledger.backlog IS
'committed changes that are not in the indexes of this database yet';
GRANT SELECT ON TABLE @extschema@.lb_stat_ledger TO PUBLIC;

CREATE FUNCTION @extschema@.lb_stat_shards(
	board text DEFAULT 'global')
RETURNS TABLE (
	shard bigint,
	server text,
	state text,
	reason text,
	members bigint,
	bytes bigint)
AS 'MODULE_PATHNAME', 'lb_stat_shards'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000 ROWS 32;
COMMENT ON FUNCTION @extschema@.lb_stat_shards(text) IS
'the boards of the shards of a distributed table, as their servers show them';

/* A member of pg_monitor may count anomalies, and sees no players. */
GRANT SELECT (limit_name, board, noted_at, reviewed) ON TABLE @extschema@.lb_anomaly
TO pg_monitor;
