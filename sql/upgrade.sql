--
-- From each version to this one: the same objects as a fresh installation, and
-- boards that were there go on.
--
CREATE FUNCTION lbt.catalog() RETURNS SETOF text LANGUAGE sql AS $$
WITH member AS MATERIALIZED (
	SELECT d.classid, d.objid
	FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND e.extname = 'leaderboard'),
relation AS MATERIALIZED (
	SELECT c.* FROM pg_class c
	WHERE c.oid IN (SELECT objid FROM member WHERE classid = 'pg_class'::regclass))
SELECT pg_describe_object(classid, objid, 0) || ', comment '
	|| coalesce(obj_description(objid, classid::regclass::name), 'none')
FROM member WHERE classid <> 'pg_type'::regclass
UNION ALL
SELECT concat_ws(', ', pg_get_functiondef(p.oid), p.proacl,
	pg_get_userbyid(p.proowner))
FROM pg_proc p
WHERE p.oid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)
UNION ALL
SELECT concat_ws(', ', c.oid::regclass, c.relkind, c.relacl, c.reloptions, c.relrowsecurity,
	c.relpersistence, pg_get_userbyid(c.relowner),
	CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END)
FROM relation c
UNION ALL
SELECT concat_ws(', ', a.attrelid::regclass, a.attnum, a.attname,
	format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation, a.attnotnull,
	a.attidentity, pg_get_expr(d.adbin, d.adrelid), a.attacl, a.attstorage,
	col_description(a.attrelid, a.attnum))
FROM pg_attribute a JOIN relation c ON c.oid = a.attrelid
	LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0
UNION ALL
SELECT concat_ws(', ', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE conrelid IN (SELECT oid FROM relation)
UNION ALL
SELECT pg_get_indexdef(indexrelid)
FROM pg_index WHERE indrelid IN (SELECT oid FROM relation)
UNION ALL
SELECT concat_ws(', ', pg_get_triggerdef(oid), tgenabled)
FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM relation)
UNION ALL
SELECT concat_ws(', ', e.evtname, e.evtevent, e.evtfoid::regproc, e.evtenabled)
FROM pg_event_trigger e
WHERE e.oid IN (SELECT objid FROM member WHERE classid = 'pg_event_trigger'::regclass)
UNION ALL
SELECT concat_ws(', ', 'dumped', c.oid::regclass, x.cond)
FROM pg_extension e, unnest(e.extconfig, e.extcondition) AS x (oid, cond)
	JOIN pg_class c ON c.oid = x.oid
WHERE e.extname = 'leaderboard'
$$;

DROP EXTENSION leaderboard;
CREATE EXTENSION leaderboard;
CREATE TABLE fresh AS SELECT * FROM lbt.catalog() AS line;
SELECT count(*) > 100 AS enough FROM fresh;

-- What only one of the two ways has, from any version step by step.
CREATE FUNCTION lbt.difference() RETURNS TABLE (way text, line text) LANGUAGE sql AS $$
SELECT 'fresh', f.line FROM (SELECT line FROM fresh EXCEPT ALL
	SELECT lbt.catalog()) f
UNION ALL
SELECT 'upgraded', u.line FROM (SELECT lbt.catalog() AS line EXCEPT ALL
	SELECT line FROM fresh) u
$$;
CREATE TABLE differences (version text, step text, way text, line text);
DO $$
DECLARE
	old text;
	step text;
	newest text := (SELECT default_version FROM pg_available_extensions
		WHERE name = 'leaderboard');
BEGIN
	FOR old IN SELECT version FROM pg_available_extension_versions
		WHERE name = 'leaderboard' AND version <> newest
	LOOP
		DROP EXTENSION leaderboard;
		EXECUTE format('CREATE EXTENSION leaderboard VERSION %L', old);
		COMMIT;
		FOR step IN SELECT unnest((string_to_array(path, '--'))[2:])
			FROM pg_extension_update_paths('leaderboard')
			WHERE source = old AND target = newest
		LOOP
			EXECUTE format('ALTER EXTENSION leaderboard UPDATE TO %L', step);
			COMMIT;
		END LOOP;
		INSERT INTO differences SELECT old, step, d.* FROM lbt.difference() d;
		INSERT INTO differences VALUES (old);
		COMMIT;
	END LOOP;
END $$;
SELECT count(*) > 1 AS several FROM differences WHERE way IS NULL;
SELECT * FROM differences WHERE way IS NOT NULL;
DROP TABLE differences;

-- The library serves the version before its own.
DROP EXTENSION leaderboard;
CREATE EXTENSION leaderboard VERSION '0.2.0';
SELECT lb_create_tables();
SELECT lb_wait_ready();
SELECT lb_open_window('months', 'monthly', keep => '100 years');
SELECT board = 'global' AS global, score, rank
FROM lb_submit(1, 10, at => '2020-07-01 12:00+00');
SELECT lb_submit_many('{2, 3}', '{20, 5}', at => '2020-07-01 12:00+00');
SELECT * FROM lb_top();
SELECT * FROM lb_top(10, 'months:202007');
SELECT lb_set_limit('fair', 'global', max_amount => 100);
SELECT lb_hide(3);
SELECT lb_rank(3);
SELECT lb_show(3);
SELECT lb_rank(3), lb_rank_key('3');
SELECT closed, archived, removed FROM lb_maintain();
-- Functions that get more arguments: rights on them, and what uses them, stay.
CREATE ROLE lbt_updated;
GRANT EXECUTE ON FUNCTION lb_create_tables TO lbt_updated WITH GRANT OPTION;
REVOKE EXECUTE ON FUNCTION lb_submit FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION lb_submit_many FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lb_submit, lb_submit_many TO lbt_updated;
ALTER FUNCTION lb_submit_many_key SET work_mem = '4MB';
CREATE VIEW submitting AS SELECT board, score FROM lb_submit(3, 0, at => '2020-07-01 12:00+00');
CREATE VIEW submitting_key AS SELECT * FROM lb_submit_key('3', 0, 'incr', NULL, '2020-07-01 12:00+00', '{global}');
CREATE FUNCTION submitting_many(text[]) RETURNS bigint LANGUAGE sql
BEGIN ATOMIC
	SELECT lb_submit_many('{3, 3}', '{0, 0}', match_ids => $1, at => '2020-07-01 12:00+00');
END;
CREATE FUNCTION submitting_many_key() RETURNS bigint LANGUAGE sql
RETURN lb_submit_many_key('{3}', '{0}', 'incr', NULL, '2020-07-01 12:00+00');
CREATE FUNCTION creating() RETURNS void LANGUAGE sql
RETURN lb_create_tables(player_id => 'bigint');
SELECT submitting_many('{before, before}');
CREATE VIEW updated AS
SELECT oid, proname, proacl, proconfig
FROM pg_proc WHERE proname IN ('lb_submit', 'lb_submit_key', 'lb_submit_many', 'lb_submit_many_key', 'lb_create_tables');
CREATE TABLE before AS SELECT * FROM updated;
ALTER EXTENSION leaderboard UPDATE;
SELECT count(*) FROM (SELECT * FROM before INTERSECT SELECT * FROM updated) s;
SELECT has_function_privilege('lbt_updated', oid, 'EXECUTE'), pronargs, pronargdefaults,
	pg_get_function_arguments(oid) FROM pg_proc JOIN updated USING (oid) ORDER BY pg_proc.proname;
SELECT * FROM submitting;
SELECT board, score, applied FROM submitting_key;
SELECT submitting_many('{before, after}'), submitting_many_key(), creating();
DROP VIEW submitting, submitting_key, updated;
DROP FUNCTION submitting_many, submitting_many_key, creating;
DROP TABLE before;
GRANT EXECUTE ON FUNCTION lb_submit, lb_submit_many TO PUBLIC;
DROP OWNED BY lbt_updated;
DROP ROLE lbt_updated;
SELECT * FROM lb_top();
SELECT * FROM lb_top(10, 'months:202007');
SELECT name, op FROM lb_leaderboard;
SELECT board, score, rank FROM lb_submit(1, 30, at => '2020-07-01 12:00+00');
-- Of this session, which has looked for windows that players join where there are none.
SELECT lb_set_entry('months');
SELECT board, score, rank FROM lb_submit(1, 30, at => '2020-07-01 12:00+00');
SELECT * FROM lb_verify();
DROP TABLE player_scores, player_score_windows;

-- A board of 0.1.0, made by hand since this library does not serve that
-- version's functions.
DROP EXTENSION leaderboard;
CREATE EXTENSION leaderboard VERSION '0.1.0';
CREATE TABLE old (player_id bigint PRIMARY KEY, score bigint NOT NULL);
CREATE TRIGGER leaderboard_capture AFTER INSERT OR UPDATE OR DELETE ON old
FOR EACH ROW EXECUTE FUNCTION lb_capture();
CREATE TRIGGER leaderboard_capture_truncate AFTER TRUNCATE ON old
FOR EACH STATEMENT EXECUTE FUNCTION lb_capture();
ALTER TABLE old ENABLE ALWAYS TRIGGER leaderboard_capture;
ALTER TABLE old ENABLE ALWAYS TRIGGER leaderboard_capture_truncate;
INSERT INTO lb_board (board, source, member, rank_by, method)
VALUES ('old', 'old', 'player_id', 'score DESC', 'row_number');
INSERT INTO old VALUES (1, 10), (2, 30), (3, 20);
\set VERBOSITY terse
SELECT lb_rank(1, 'old');
\set VERBOSITY default
-- A view of the user's on a column that gets another type stops the update, which changes nothing.
CREATE VIEW boards AS SELECT board, member FROM lb_board;
\set VERBOSITY terse
ALTER EXTENSION leaderboard UPDATE;
\set VERBOSITY default
SELECT extversion FROM pg_extension WHERE extname = 'leaderboard';
DROP VIEW boards;
ALTER EXTENSION leaderboard UPDATE;
CREATE VIEW boards AS SELECT board, member FROM lb_board;
SELECT * FROM boards;
DROP VIEW boards;
SELECT extversion = (SELECT default_version FROM pg_available_extensions
	WHERE name = 'leaderboard') AS newest
FROM pg_extension WHERE extname = 'leaderboard';
SELECT lb_rank(1, 'old'), lb_rank(2, 'old'), lb_rank(3, 'old');
UPDATE old SET score = 40 WHERE player_id = 1;
SELECT * FROM lb_top(10, 'old');
-- What was written before that took it offline, and it is built again by itself.
DO $$
BEGIN
	WHILE (SELECT state <> 'ready' FROM lb_stat_board WHERE board = 'old') LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
SELECT * FROM lb_verify();

SELECT * FROM lbt.difference();

DROP TABLE old, fresh;
SELECT * FROM lb_board;
DROP FUNCTION lbt.difference(), lbt.catalog();
