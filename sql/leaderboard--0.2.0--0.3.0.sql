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
