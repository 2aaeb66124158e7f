/* The extension's objects, and the privileges on them. */
\ir lib/setup.psql
SELECT plan(32);

CREATE TEMP VIEW functions AS
SELECT p.* FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass
	AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'leaderboard';

SELECT is_empty($$SELECT proname FROM functions GROUP BY proname
	HAVING count(*) > 1 AND proname NOT IN ('lb_around', 'lb_around_key')
	AND count(*) > 1 + count(*) FILTER (WHERE 'anyelement'::regtype = ANY (proargtypes) OR 'anycompatible'::regtype = ANY (proargtypes))$$,
	'no function is overloaded, but for types');
SELECT is_empty($$SELECT proname FROM functions
	WHERE proargnames && '{member,score,lo}' AND proname ~ '_key$' AND NOT 'text[]'::regtype = proargtypes[0]
	AND (proargnames)[1] ~ '^(member|score|lo)$' AND pronamespace <> 'leaderboard_internal'::regnamespace
	GROUP BY proname HAVING NOT (bool_or(proargtypes[0] = 'text'::regtype)
		AND bool_or(proargtypes[0] IN ('anyelement'::regtype, 'anycompatible'::regtype)))$$,
	'each twin with one member or score takes it as text, and with a type');
SELECT is_empty($$SELECT a.oid::regprocedure FROM functions a JOIN functions b USING (proname)
	WHERE (a.prorettype, a.proretset, a.provolatile, a.proparallel, a.proisstrict, a.prosecdef, a.procost, a.prorows, a.prosupport)
		<> (b.prorettype, b.proretset, b.provolatile, b.proparallel, b.proisstrict, b.prosecdef, b.procost, b.prorows, b.prosupport)
	OR a.proacl IS DISTINCT FROM b.proacl$$, 'all signatures of a name have the same properties and privileges');
SELECT is_empty($$SELECT a.oid::regprocedure FROM functions a JOIN functions b USING (proname)
	WHERE a.pronargs = b.pronargs AND (a.prosrc <> b.prosrc OR a.proargnames IS DISTINCT FROM b.proargnames
		OR pg_get_expr(a.proargdefaults, 0) IS DISTINCT FROM pg_get_expr(b.proargdefaults, 0))$$,
	'... and those with as many arguments the same names, defaults and code');
SELECT is_empty($$SELECT proname FROM functions
	WHERE obj_description(oid, 'pg_proc') IS NULL$$,
	'every function has a comment');
SELECT is_empty($$SELECT proname FROM functions
	WHERE prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')$$,
	'every function is in C: none has names that a search_path resolves');
SELECT is_empty($$SELECT proname FROM functions
	WHERE provolatile = 's' AND (proparallel <> 'r' OR proisstrict)
	AND proname <> 'lb_estimate_memory_key' AND proname !~ '^lb_shard_'$$,
	'read functions are parallel restricted and not strict');
SELECT is_empty($$SELECT proname FROM functions
	WHERE proname ~ '^lb_shard_' AND provolatile = 's' AND (proparallel <> 'r' OR NOT proisstrict)$$,
	'what they ask the servers of shards is strict');
SELECT is_empty($$SELECT proname FROM functions
	WHERE pronamespace <> 'leaderboard_internal'::regnamespace
	AND (prorettype IN ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
		OR proname ~ '^lb_(shard|record|unrecord)_')$$,
	'functions that users do not call have a schema of their own');
SELECT results_eq($$SELECT a.privilege_type, a.is_grantable FROM pg_namespace n, aclexplode(n.nspacl) a
	WHERE n.nspname = 'leaderboard_internal' AND a.grantee <> n.nspowner$$,
	$$VALUES ('USAGE', false)$$, 'in which other roles put nothing');
SELECT is_empty($$SELECT attname FROM pg_attribute
	WHERE attrelid = 'lb_board'::regclass AND attnum > 0
	AND col_description(attrelid, attnum) IS NULL$$,
	'every column of lb_board has a comment');
SELECT is_empty($$SELECT c.oid::regclass FROM pg_class c JOIN pg_depend d
	ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
	AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid
	AND e.extname = 'leaderboard' WHERE c.relkind IN ('r', 'v')
	AND obj_description(c.oid, 'pg_class') IS NULL$$,
	'so have the table and the views');

SELECT columns_are('lb_board', ARRAY['board', 'id', 'source', 'member',
	'rank_by', 'board_column', 'method', 'ranked_if', 'keeps', 'offline', 'expressions']);
SELECT columns_are('lb_stat_board', ARRAY['board', 'source', 'state',
	'reason', 'members', 'distinct_scores', 'off_board', 'bytes', 'build_done',
	'build_total', 'build_seconds', 'index_reads', 'query_reads',
	'query_disabled', 'query_recovery', 'query_snapshot',
	'query_row_security', 'query_building', 'query_offline', 'query_trigger',
	'query_own_changes', 'query_unsettled', 'query_limit', 'query_counts', 'changes', 'kind',
	'planned_reads', 'planned_queries', 'planned_disabled', 'planned_recovery', 'planned_snapshot', 'planned_building', 'planned_offline',
	'planned_trigger', 'planned_own_changes', 'planned_unsettled',
	'planned_limit', 'planned_off_board']);
SELECT columns_are('lb_stat_ledger', ARRAY['history', 'backlog']);
SELECT columns_are('lb_stat_feed', ARRAY['role', 'state', 'since', 'messages', 'bytes', 'settled', 'lag']);
SELECT columns_are('lb_stat_memory', ARRAY['datname', 'total', 'used', 'reserved']);
SELECT is(extconfig::regclass[], ARRAY['lb_board', 'lb_board_id_seq',
	'lb_leaderboard', 'lb_applied', 'lb_event', 'lb_window', 'lb_closed',
	'lb_archive', 'lb_archive_source', 'lb_archive_source_id_seq', 'lb_season',
	'lb_limit', 'lb_usage', 'lb_anomaly', 'lb_entry', 'lb_entry_count',
	'lb_entrant', 'lb_reward', 'lb_payout', 'lb_hidden', 'lb_watched']::regclass[],
	'pg_dump writes the boards and all that is recorded')
FROM pg_extension WHERE extname = 'leaderboard';
SELECT is(string_agg(c.oid::regclass::text, ', '), NULL,
	'and the database''s owner may read all of it')
FROM pg_extension x, unnest(x.extconfig) AS e (oid)
	JOIN pg_class c ON c.oid = e.oid
WHERE x.extname = 'leaderboard' AND NOT CASE c.relkind
	WHEN 'S' THEN has_sequence_privilege('pg_database_owner', c.oid, 'SELECT')
	ELSE has_table_privilege('pg_database_owner', c.oid, 'SELECT') END;
SELECT is(evtenabled::text, 'A', 'the event trigger always fires')
FROM pg_event_trigger WHERE evtname = 'leaderboard_drop';
SELECT is(tgenabled::text, 'A', 'so does ' || tgname)
FROM pg_trigger WHERE tgrelid = 'lb_board'::regclass ORDER BY tgname;

CREATE ROLE lbt_user;
SELECT ok(has_table_privilege('lbt_user', 'lb_board', 'SELECT'),
	'every role may read lb_board');
SELECT ok(NOT has_table_privilege('lbt_user', 'lb_board',
	'INSERT, UPDATE, DELETE, TRUNCATE'), 'and no role may write it');
SELECT ok(has_table_privilege('lbt_user', 'lb_stat_board', 'SELECT')
	AND has_table_privilege('lbt_user', 'lb_stat_ledger', 'SELECT')
	AND has_table_privilege('lbt_user', 'lb_stat_memory', 'SELECT'),
	'every role may read the views');
SELECT ok(NOT has_function_privilege('lbt_user', 'lb_stat_reset()',
	'EXECUTE'), 'but not reset the counters');

/* Privileges are the caller's. */
CREATE TABLE lbt_secret (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO lbt_secret VALUES (1, 1), (2, 2);
SELECT lb_create_board('lbt_secret', 'lbt_secret');
SELECT ok(lb_wait_ready('5 min'), 'the board is ready');
SET ROLE lbt_user;
SELECT throws_ok($$SELECT lb_rank(1, 'lbt_secret')$$, '42501', NULL,
	'a read needs SELECT on the source');
SELECT throws_ok($$SELECT lb_drop_board('lbt_secret')$$, '42501', NULL,
	'managing needs its owner');
RESET ROLE;
ALTER TABLE lbt_secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON lbt_secret TO lbt_user USING (player_id = 1);
GRANT SELECT ON lbt_secret TO lbt_user;
SET ROLE lbt_user;
SELECT is(lb_rank(1, 'lbt_secret'), 1::bigint,
	'policies apply: the caller sees one row');
RESET ROLE;
SELECT is(lb_rank(1, 'lbt_secret'), 2::bigint, 'the owner sees both');
SELECT lb_drop_board('lbt_secret');
DROP TABLE lbt_secret;
DROP ROLE lbt_user;
SELECT finish();
