--
-- Which roles may read and manage, and what neither of them reveals
--
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_lb_reader, regress_lb_owner, regress_lb_monitor,
	regress_lb_bypass;
RESET client_min_messages;
CREATE ROLE regress_lb_reader;
CREATE ROLE regress_lb_owner;
CREATE ROLE regress_lb_monitor IN ROLE pg_monitor;
CREATE ROLE regress_lb_bypass BYPASSRLS;
GRANT CREATE ON SCHEMA public TO regress_lb_owner;
-- Names are given by whom the owner of the database has authorised.
CREATE FUNCTION lbt.creators() RETURNS TABLE (function text, state text, message text) LANGUAGE sql AS $$
	SELECT s, e.state, e.message FROM unnest(ARRAY[
		'lb_create_board(''x'', ''pg_class'')', 'lb_create_tables()', 'lb_open_window(''x'', ''daily'')',
		'lb_set_limit(''x'', ''global'', 1)', 'lb_watch(''x'')', 'lb_watch_member(1, ''x'')']) s,
		lbt.error('SELECT ' || s) e
$$;
SELECT p.proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'leaderboard')
	AND has_function_privilege('pg_database_owner', p.oid, 'EXECUTE')
	AND NOT has_function_privilege('regress_lb_reader', p.oid, 'EXECUTE')
ORDER BY 1;
SET ROLE regress_lb_owner;
SELECT * FROM lbt.creators();
RESET ROLE;
BEGIN;
ALTER DATABASE :"DBNAME" OWNER TO regress_lb_owner;
SET ROLE regress_lb_owner;
SELECT * FROM lbt.creators();
-- That owner, who is no superuser, can authorise others.
GRANT EXECUTE ON FUNCTION lb_create_board, lb_create_tables, lb_create_leaderboard, lb_open_window, lb_set_limit,
	lb_set_reward, lb_set_entry, lb_watch, lb_watch_member, lb_watch_member_key(text, text),
	lb_watch_member_key(anyelement, text)
TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.creators();
ROLLBACK;
-- Not every role may see how many players a closed window had.
SET ROLE regress_lb_reader;
SELECT board, closed_at, removed_at FROM lb_closed;
SELECT e.message FROM lbt.error('SELECT members FROM lb_closed') e;
RESET ROLE;
-- No user's trigger may call the extension's own trigger functions.
CREATE TEMP TABLE own (i integer);
GRANT ALL ON own TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT f, e.message FROM unnest('{lb_board_changed,lb_watch_changed}'::text[]) f,
	lbt.error(format('CREATE TRIGGER x AFTER INSERT ON own EXECUTE FUNCTION leaderboard_internal.%I()', f)) e;
RESET ROLE;
DROP TABLE own;
GRANT EXECUTE ON FUNCTION lb_create_board, lb_create_tables TO regress_lb_owner, regress_lb_reader;
SET ROLE regress_lb_owner;
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint, tie date, grp text,
	ok boolean, secret text);
INSERT INTO t SELECT i, i * 10, '2026-01-01'::date + i::integer, 'abc', true, 's'
FROM generate_series(1, 9) i;
SELECT lb_create_board('t', 't', rank_by => 'score DESC, tie'),
	lb_create_board('ok', 't', ranked_if => 'ok');
RESET ROLE;
CREATE TABLE f (player_id bigint, grp text, score bigint, PRIMARY KEY (player_id, grp));
INSERT INTO f SELECT i, 'abc', i FROM generate_series(1, 5) i;
SELECT lb_create_board('f', 'f', board_column => 'grp');
SELECT lb_wait_ready();

\set VERBOSITY terse
-- Every function, and what it says.
CREATE FUNCTION lbt.asked(board text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' ', count(*), 'x', e.state, e.message)
	FROM unnest(ARRAY['lb_rank(1, %L)', 'lb_rank(-1, %L)', 'lb_score(1, %L)',
		'lb_percentile(1, %L)', 'lb_player(1, %L)', 'lb_top(1, %L)',
		'lb_top_json(1, %L)', 'lb_at(1, %L)', 'lb_around(1, %L)', 'lb_count(%L)',
		'lb_count_between(1, 2, %L)', 'lb_page(1, %L)', 'lb_count_before(1, NULL, 1, %L)',
		'lb_rank_of_score(1, %L)', 'lb_score_at_percentile(1, %L)',
		'lb_ranks(''{1}'', %L)', 'lb_among(''{1}'', %L)',
		'lb_histogram(1, %L)', 'lb_rank(NULL, %L)', 'lb_ranks(''{}'', %L)']) s,
		lbt.error('SELECT ' || format(s, board)) e
	GROUP BY e.state, e.message ORDER BY 1
$$;
CREATE FUNCTION lbt.asked_both(board text) RETURNS TABLE (enable_index text, says text)
LANGUAGE plpgsql AS $$
BEGIN
	FOREACH enable_index IN ARRAY '{on,off}'::text[] LOOP
		PERFORM set_config('leaderboard.enable_index', enable_index, true);
		RETURN QUERY SELECT enable_index, lbt.asked(board);
	END LOOP;
END $$;

-- No privilege.
SET ROLE regress_lb_reader;
SELECT * FROM lbt.asked_both('t');
SELECT * FROM lbt.asked_both('f:abc');
SELECT board FROM lb_board ORDER BY board;
SELECT board FROM lb_stat_board ORDER BY board;
SELECT board FROM lb_stat('t') UNION ALL SELECT board FROM lb_stat('f:abc') UNION ALL SELECT board FROM lb_stat();
-- What it is refused, or may do, leaves no lock on the table.
BEGIN;
SELECT f, e.state, e.message FROM unnest(ARRAY['lb_rank(1, %L)', 'lb_resolve_board(%L)', 'lb_archive_top(%L)', 'lb_verify(%L)',
	'lb_hide(1, ARRAY[%L])', 'lb_rebuild(%L)', 'lb_drop_board(%L)', 'lb_set_offline(%L, ''error'')', 'lb_close_season(%1$L, %1$L)', 'lb_unwatch(%L)']) f,
	lbt.error('SELECT ' || format(f, 'ok')) e;
SELECT lb_wait_ready(), lb_window_at('daily', '2026-04-09');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = (SELECT source FROM lb_board WHERE board = 'ok');
COMMIT;
RESET ROLE;

-- Not every column that the board uses.
GRANT SELECT (player_id, score) ON t TO regress_lb_reader;
GRANT SELECT (player_id, score) ON f TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.asked_both('t');
SELECT * FROM lbt.asked_both('ok');
SELECT * FROM lbt.asked_both('f:abc');
SELECT board FROM lb_stat_board ORDER BY board;
RESET ROLE;

-- Every column of one board, and not of the other.
GRANT SELECT (tie) ON t TO regress_lb_reader;
GRANT SELECT (grp) ON f TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.asked_both('t');
SELECT * FROM lbt.asked_both('ok');
SELECT * FROM lbt.asked_both('f:abc');
SELECT lb_rank(9, 't'), lb_rank(5, 'f:abc');
RESET ROLE;
REVOKE SELECT (score) ON t FROM regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.asked_both('t');
RESET ROLE;
GRANT SELECT ON t TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.asked_both('ok');
RESET ROLE;

-- Through a role, and through a function with its owner's rights.
REVOKE ALL ON t FROM regress_lb_reader;
REVOKE SELECT (player_id, score, tie) ON t FROM regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT lb_rank(9, 't');
RESET ROLE;
GRANT regress_lb_owner TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT lb_rank(9, 't');
RESET ROLE;
REVOKE regress_lb_owner FROM regress_lb_reader;
SET ROLE regress_lb_owner;
CREATE FUNCTION my_rank(bigint) RETURNS bigint LANGUAGE sql SECURITY DEFINER
AS 'SELECT lb_rank($1, ''t'')';
RESET ROLE;
SET ROLE regress_lb_reader;
SELECT my_rank(9);
SELECT lb_rank(9, 't');
SELECT my_rank(9), lb_rank(9, 't');
RESET ROLE;
DROP FUNCTION my_rank;

-- The schema, too.
CREATE SCHEMA hidden;
CREATE TABLE hidden.h (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO hidden.h VALUES (1, 1);
SELECT lb_create_board('h', 'hidden.h');
SELECT lb_wait_ready();
GRANT SELECT ON hidden.h TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.asked_both('h');
RESET ROLE;
GRANT USAGE ON SCHEMA hidden TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.asked_both('h');
RESET ROLE;
REVOKE USAGE ON SCHEMA hidden FROM regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT lb_rank(1, 'h');
RESET ROLE;
DROP SCHEMA hidden CASCADE;

-- Managing is for the owner of the table.
GRANT ALL ON t, f TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT s, e.state, e.message FROM unnest(ARRAY[
	'lb_create_board(''x'', ''t'')', 'lb_drop_board(''t'')', 'lb_set_offline(''t'', NULL)', 'lb_rebuild(''t'')',
	'lb_rebuild()', 'lb_verify(''t'')', 'lb_verify(''f:abc'')', 'lb_verify()',
	'lb_stat_reset()', 'lb_create_tables()', 'lb_wait_ready()']) s,
	lbt.error('SELECT ' || s) e;
INSERT INTO lb_board (board, source, member, rank_by, method)
VALUES ('x', 't', 'player_id', 'score DESC', 'rank');
DELETE FROM lb_board;
TRUNCATE lb_board;
-- Every role that may write to the table can do so.
UPDATE t SET score = 1000 WHERE player_id = 1;
SELECT lb_rank(1, 't');
RESET ROLE;
SET ROLE regress_lb_owner;
SELECT lb_create_board('x', 't');
SELECT lb_rebuild('t');
SELECT * FROM lb_verify('t');
SELECT lb_drop_board('x');
SELECT lb_drop_board('f');
RESET ROLE;
ALTER TABLE t OWNER TO regress_lb_reader;
SET ROLE regress_lb_owner;
SELECT lb_drop_board('ok');
SELECT lb_rank(1, 't');
RESET ROLE;
SET ROLE regress_lb_reader;
SELECT lb_drop_board('ok');
SELECT lb_rank(1, 't');
RESET ROLE;
ALTER TABLE t OWNER TO regress_lb_owner;
SELECT lb_wait_ready();

-- What is shown of the boards.
REVOKE ALL ON t, f FROM regress_lb_reader;
REVOKE SELECT (player_id, score, grp) ON f FROM regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT board, state FROM lb_stat_board ORDER BY board;
RESET ROLE;
GRANT SELECT ON f TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT board, state FROM lb_stat_board ORDER BY board;
RESET ROLE;
SET ROLE regress_lb_monitor;
SELECT board, state FROM lb_stat_board ORDER BY board;
SELECT lb_rank(1, 't');
RESET ROLE;
GRANT EXECUTE ON FUNCTION lb_stat_reset TO regress_lb_monitor;
SET ROLE regress_lb_monitor;
SELECT lb_stat_reset();
RESET ROLE;
REVOKE EXECUTE ON FUNCTION lb_stat_reset FROM regress_lb_monitor;

-- Row-level security: by the query, for those to whom it applies.
GRANT SELECT ON t TO regress_lb_reader, regress_lb_bypass;
CREATE POLICY p ON t FOR SELECT TO regress_lb_reader USING (player_id % 2 = 1);
SET ROLE regress_lb_reader;
SELECT lb_count('t'), lb_rank(3, 't'), lb_rank(2, 't');
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SELECT lb_stat_reset();
SET ROLE regress_lb_reader;
SELECT lb_count('t'), lb_rank(3, 't'), lb_rank(2, 't');
SELECT * FROM lb_top(3, 't');
SELECT * FROM lb_player(3, 't');
SELECT * FROM lb_histogram(2, 't');
SELECT board FROM lb_stat_board ORDER BY board;
RESET ROLE;
SELECT query_row_security, index_reads FROM lb_stat_board WHERE board = 't';
SET ROLE regress_lb_reader;
SET row_security = off;
SELECT lb_count('t');
RESET row_security;
SET leaderboard.enable_index = off;
SELECT lb_count('t'), lb_rank(3, 't'), lb_rank(2, 't');
RESET leaderboard.enable_index;
RESET ROLE;
SET ROLE regress_lb_bypass;
SELECT lb_count('t'), lb_rank(3, 't'), lb_rank(2, 't');
RESET ROLE;
SET ROLE regress_lb_owner;
SELECT lb_count('t'), lb_rank(3, 't'), lb_rank(2, 't');
SELECT query_row_security, index_reads FROM lb_stat_board WHERE board = 't';
ALTER TABLE t FORCE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SELECT lb_count('t'), lb_rank(3, 't'), lb_rank(2, 't');
ALTER TABLE t NO FORCE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
RESET ROLE;
SELECT query_row_security, index_reads FROM lb_stat_board WHERE board = 't';
SELECT lb_count('t');
-- A policy that asks a board.
DROP POLICY p ON t;
CREATE POLICY p ON t FOR SELECT TO regress_lb_reader
USING (lb_rank(player_id, 'f:abc') <= 2);
SET ROLE regress_lb_reader;
SELECT player_id, lb_rank(player_id, 't') FROM t ORDER BY 1;
SELECT * FROM lb_top(10, 't');
RESET ROLE;
DROP POLICY p ON t;
CREATE POLICY p ON t FOR SELECT TO regress_lb_reader
USING (lb_count('t') >= 0);
SET ROLE regress_lb_reader;
SELECT lb_count('t');
RESET ROLE;
DROP POLICY p ON t;
-- A policy hides nothing from the index, nor do its writers escape it.
CREATE POLICY p ON t TO regress_lb_reader USING (grp = 'abc')
WITH CHECK (lb_rank(player_id, 't') IS DISTINCT FROM 1);
GRANT ALL ON t TO regress_lb_reader;
SET ROLE regress_lb_reader;
UPDATE t SET score = score + 1 WHERE player_id < 4;
INSERT INTO t VALUES (100, 5, now(), 'abc', true);
SELECT lb_count('t');
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
SELECT * FROM lbt.differences('t', 't', ties => 'tie');

-- A role that closes a season reads the board as the table's owner would, and the
-- owner's functions run with the owner's rights meanwhile.
SET ROLE regress_lb_owner;
CREATE TABLE m (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO m SELECT i, i FROM generate_series(1, 3) i;
SELECT lb_create_board('m', 'm');
CREATE FUNCTION spy(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE INDEX m_spy ON m ((score + spy(1)));
CREATE OR REPLACE FUNCTION spy(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'read: %', (SELECT array_agg(x) FROM public.lb_top(2, 'f:abc') x);
	RETURN $1;
END $$;
ALTER INDEX m_spy SET (fillfactor = 50);	-- nothing is kept of what it was
ALTER TABLE m DISABLE TRIGGER leaderboard_capture;
RESET ROLE;
SELECT lb_close_season('m', 'first');
GRANT SELECT ON f TO regress_lb_owner;
SELECT lb_close_season('m', 'first');
SELECT place, member, score FROM lb_archive WHERE board = 'm' ORDER BY 1;
REVOKE SELECT ON f FROM regress_lb_owner;
DROP TABLE m;
DROP FUNCTION spy;
DELETE FROM lb_archive WHERE board = 'm';

-- An owner's code runs with the owner's rights at most: triggers when another role
-- closes a season, functions in indexes when a superuser reads.
SET ROLE regress_lb_owner;
CREATE TABLE m (player_id bigint PRIMARY KEY, score bigint, secret boolean NOT NULL DEFAULT true);
INSERT INTO m SELECT i, i FROM generate_series(1, 3) i;
SELECT lb_create_board('m', 'm');
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% as %', tg_op, current_user;
	RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER UPDATE OR DELETE ON m EXECUTE FUNCTION tell();
SELECT lb_close_season('m', 's1');
RESET ROLE;
SELECT lb_close_season('m', 's2');
SELECT lb_close_season('m', 's3', 0, NULL);
GRANT regress_lb_owner TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT lb_close_season('m', 's4');
RESET ROLE;
REVOKE regress_lb_owner FROM regress_lb_reader;
-- A deferred trigger does not run with the rights of the role that commits, unless
-- that is the owner.
SET ROLE regress_lb_owner;
INSERT INTO m VALUES (1, 1), (2, 2), (3, 3);
CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON m DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell();
BEGIN;
SELECT lb_close_season('m', 's5', NULL, 1);
COMMIT;
RESET ROLE;
BEGIN;
SELECT lb_close_season('m', 's6');
UPDATE m SET score = 2 WHERE player_id = 1;
COMMIT;
SELECT score FROM m ORDER BY player_id;
SELECT lb_wait_ready();
SET ROLE regress_lb_owner;
CREATE FUNCTION spy(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE INDEX m_spy ON m ((score + spy(1)));
CREATE OR REPLACE FUNCTION spy(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'planned as %', current_user;
	RETURN $1;
END $$;
SELECT lb_wait_ready();
SET leaderboard.enable_index = off;
ALTER INDEX m_spy SET (fillfactor = 51);
SELECT lb_rank(1, 'm');
RESET ROLE;
ALTER INDEX m_spy SET (fillfactor = 52);
SELECT lb_rank(1, 'm');
GRANT SELECT ON m TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT lb_rank(1, 'm');
RESET ROLE;
DROP INDEX m_spy;
-- Policies do not apply to a superuser, which reads rows that the owner does not.
SET ROLE regress_lb_owner;
UPDATE m SET score = player_id;
CREATE POLICY one ON m USING (player_id = 1);
ALTER TABLE m ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT lb_count('m');
RESET ROLE;
SELECT lb_count('m');
SET ROLE regress_lb_owner;
SELECT lb_count('m');
SET row_security = off;
SELECT lb_count('m');
RESET row_security;
RESET ROLE;
SELECT lb_count('m');
RESET leaderboard.enable_index;
DROP TABLE m;
DROP FUNCTION tell, spy;
DELETE FROM lb_archive WHERE board = 'm';
-- The same where a superuser submits, and hides a player.
SELECT lb_create_tables();
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % as %', tg_table_name, tg_op, current_user;
	RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE ON player_scores FOR EACH ROW EXECUTE FUNCTION tell();
CREATE CONSTRAINT TRIGGER later AFTER INSERT OR UPDATE ON player_score_windows DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell();
ALTER TABLE player_scores OWNER TO regress_lb_owner;
ALTER TABLE player_score_windows OWNER TO regress_lb_owner;
DELETE FROM lb_window WHERE name <> 'weekly';
SELECT lb_wait_ready();
SELECT split_part(board, ':', 1) AS board, score, rank FROM lb_submit(1, 5);
SELECT split_part(board, ':', 1) AS board, score, rank FROM lb_submit(1, 7, 'best');
SELECT lb_submit_many('{1,2}', '{1,2}');
SELECT lb_hide(2), lb_show(2);
-- Policies do not apply to a superuser, though they do to the owner.
-- PostgreSQL 17 tells of ALTER TABLE ... ROW LEVEL SECURITY as it does of triggers.
ALTER TABLE player_scores ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SELECT split_part(board, ':', 1) AS board, score, rank FROM lb_submit(1, 5, boards => '{global}');
ALTER TABLE player_scores DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
-- Another role's submit is that role's own statement.
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT split_part(board, ':', 1) AS board, score, rank FROM lb_submit(1, 5, boards => '{global}');
RESET ROLE;
SELECT * FROM lb_verify();
DROP TABLE player_scores, player_score_windows;
DROP FUNCTION tell;
TRUNCATE lb_event;
-- Nor does a submit lead the owner's functions to other objects, where it reads
-- the owner's table with the owner's rights.
SELECT lb_create_tables();
ALTER TABLE player_score_windows OWNER TO regress_lb_owner;
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO regress_lb_reader;
CREATE SCHEMA evil AUTHORIZATION regress_lb_reader;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
SET ROLE regress_lb_owner;
CREATE FUNCTION spy(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE INDEX w_spy ON player_score_windows ((score + spy(1)));
CREATE OR REPLACE FUNCTION public.spy(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF to_regproc('helper') IS NOT NULL THEN
		PERFORM helper();
	END IF;
	RETURN $1;
END $$;
SET ROLE regress_lb_reader;
CREATE FUNCTION evil.helper() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'evil as %', current_user;
END $$;
RESET ROLE;
SELECT lb_wait_ready();
ALTER INDEX w_spy SET (fillfactor = 51);
SET ROLE regress_lb_reader;
SET search_path = evil, public;
SELECT board, score, rank FROM lb_submit(1, 5, boards => '{global}');
RESET search_path;
RESET ROLE;
DROP TABLE player_scores, player_score_windows;
DROP FUNCTION spy;
DROP SCHEMA evil CASCADE;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_hidden;

-- Objects in front of the system's own change nothing.
CREATE SCHEMA evil;
CREATE FUNCTION evil.lt(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE OPERATOR evil.< (FUNCTION = evil.lt, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.> (FUNCTION = evil.lt, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.= (FUNCTION = evil.lt, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.>= (FUNCTION = evil.lt, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.<= (FUNCTION = evil.lt, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.<> (FUNCTION = evil.lt, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION evil.teq(text, text) RETURNS boolean LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE OPERATOR evil.= (FUNCTION = evil.teq, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR evil.<> (FUNCTION = evil.teq, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION evil.plus(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE OPERATOR evil.+ (FUNCTION = evil.plus, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.- (FUNCTION = evil.plus, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.* (FUNCTION = evil.plus, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil./ (FUNCTION = evil.plus, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION evil.int4(text) RETURNS integer LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE FUNCTION evil.width_bucket(bigint, bigint[]) RETURNS integer LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE FUNCTION evil.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE FUNCTION evil.ceil(double precision) RETURNS double precision LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE DOMAIN evil.int8 AS pg_catalog.int8 CHECK (false);
CREATE DOMAIN evil.float8 AS pg_catalog.float8 CHECK (false);
CREATE DOMAIN evil.numeric AS pg_catalog.numeric CHECK (false);
CREATE DOMAIN evil.text AS pg_catalog.text CHECK (false);
CREATE TABLE evil.t (player_id bigint PRIMARY KEY, score bigint, tie date);
CREATE TABLE evil.lb_board (LIKE public.lb_board);
CREATE FUNCTION evil.lb_capture() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE 'evil'; END $$;
CREATE TEMP TABLE t (player_id bigint PRIMARY KEY, score bigint, tie date);
-- The operators here must be the right ones.
CREATE FUNCTION lbt.results(board pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE sql AS $$
	SELECT ROW(public.lb_rank(3, board), public.lb_rank(3, board, 'rank'),
		public.lb_rank(3, board, 'dense_rank'), public.lb_score(3, board),
		public.lb_percentile(3, board), public.lb_player(3, board),
		ARRAY(SELECT x FROM public.lb_top(5, board, 1) x), public.lb_at(2, board),
		pg_catalog.json_extract_path(public.lb_top_json(5, board, 1), 'entries')::pg_catalog.text,
		ARRAY(SELECT x FROM public.lb_around(3, board, 2) x), public.lb_count(board),
		public.lb_count_between(10, 50, board), public.lb_rank_of_score(30, board),
		public.lb_score_at_percentile(50, board),
		ARRAY(SELECT x FROM public.lb_ranks('{1,2,77}', board) x),
		ARRAY(SELECT x FROM public.lb_among('{1,2,77}', board) x),
		ARRAY(SELECT x FROM public.lb_histogram(3, board) x))::pg_catalog.text
$$;
SELECT lbt.results('t') AS t, lbt.results('f:abc') AS f \gset
SET search_path = evil, public, pg_catalog, pg_temp;
SELECT 1::pg_catalog.int8 < 2::pg_catalog.int8;
SELECT lbt.results('t') OPERATOR(pg_catalog.=) :'t' AS same,
	lbt.results('f:abc') OPERATOR(pg_catalog.=) :'f' AS same;
SET leaderboard.enable_index = off;
SELECT lbt.results('t') OPERATOR(pg_catalog.=) :'t' AS same,
	lbt.results('f:abc') OPERATOR(pg_catalog.=) :'f' AS same;
RESET leaderboard.enable_index;
-- Writes and management, too.
CREATE TABLE public.e (player_id bigint PRIMARY KEY, score bigint, grp pg_catalog.text);
SELECT public.lb_create_board('e', 'public.e');
SELECT public.lb_create_board('es', 'public.e', board_column => 'grp');
INSERT INTO public.e VALUES (1, 1, 'a'), (2, 2, 'b');
UPDATE public.e SET score = 5 WHERE player_id OPERATOR(pg_catalog.=) 1;
SELECT public.lb_wait_ready();
SELECT public.lb_rank(1, 'e'), public.lb_rank(1, 'es:a');
SELECT public.lb_rebuild('e');
SELECT * FROM public.lb_verify();
SELECT public.lb_drop_board('es');
DROP TABLE public.e;
SELECT board FROM public.lb_board ORDER BY board;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA evil CASCADE;
RESET client_min_messages;
DROP TABLE pg_temp.t;

-- USAGE of the schema is checked though another role has read before, and the right
-- that comes of owning the database goes with it.
CREATE SCHEMA hidden;
CREATE TABLE hidden.u (player_id bigint PRIMARY KEY, score bigint NOT NULL);
INSERT INTO hidden.u SELECT i, i FROM generate_series(1, 9) i;
SELECT lb_create_board('u', 'hidden.u');
SELECT lb_wait_ready();
GRANT SELECT ON hidden.u TO regress_lb_reader, pg_database_owner;
SET leaderboard.enable_index = off;
SELECT lb_rank(3, 'u');
SET ROLE regress_lb_reader;
SELECT state, message FROM lbt.error($$SELECT lb_rank(3, 'u')$$);
RESET leaderboard.enable_index;
SELECT state, message FROM lbt.error($$SELECT lb_rank(3, 'u')$$);
RESET ROLE;
GRANT USAGE ON SCHEMA hidden TO PUBLIC;
SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = current_database() \gset
ALTER DATABASE :"DBNAME" OWNER TO regress_lb_owner;
SET ROLE regress_lb_owner;
SELECT lb_rank(3, 'u');
RESET ROLE;
ALTER DATABASE :"DBNAME" OWNER TO :"owner";
SET ROLE regress_lb_owner;
SELECT lb_rank(3, 'u');
RESET ROLE;
DROP TABLE hidden.u;
REVOKE USAGE ON SCHEMA hidden FROM PUBLIC;

-- Who may read a table's column of an enum needs no right to the enum's schema, by index
-- or by query, as WHERE mode = 'duel' needs none.  Of an expression, the query has the names
-- of types, operators and collations: without a right to their schemas, the index does not
-- answer either.
CREATE TYPE hidden.mode AS ENUM ('duel', 'team');
CREATE DOMAIN hidden.kind AS hidden.mode;
CREATE OPERATOR hidden.<<< (FUNCTION = int4lt, LEFTARG = integer, RIGHTARG = integer);
CREATE COLLATION hidden.bytes FROM "C";
CREATE TABLE v (player_id integer PRIMARY KEY, score integer NOT NULL, mode hidden.mode, kind hidden.kind, name text);
INSERT INTO v SELECT i, i, CASE WHEN i % 2 = 0 THEN 'duel' ELSE 'team' END::hidden.mode, 'team', 'n' || i
FROM generate_series(1, 9) i;
SELECT lb_create_board('modes', 'v', board_column => 'mode'), lb_create_board('kinds', 'v', board_column => 'kind'),
	lb_create_board('three', 'v', board_column => 'mode, score, kind'),
	lb_create_board('counted', 'v', 'player_id', board_column => 'kind', keeps => 'counts'),
	lb_create_board('typed', 'v', ranked_if => $$mode <> 'duel'$$),
	lb_create_board('domain', 'v', ranked_if => 'mode::hidden.kind IS NOT NULL'),
	lb_create_board('operator', 'v', ranked_if => '3 OPERATOR(hidden.<<<) score'),
	lb_create_board('array', 'v', ranked_if => 'score OPERATOR(hidden.<<<) ANY (ARRAY[4, 9])'),
	lb_create_board('collation', 'v', ranked_if => 'name > player_id::text COLLATE hidden.bytes'),
	lb_create_board('plain', 'v', rank_by => '(score * 2) DESC', ranked_if => 'mode IS NOT NULL');
SELECT lb_wait_ready();
GRANT SELECT ON v TO regress_lb_reader;
CREATE FUNCTION lbt.read_by(index boolean, board text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('leaderboard.enable_index', index::text, true);
	RETURN row(lb_rank(7, board), lb_count(board));
EXCEPTION WHEN insufficient_privilege THEN
	RETURN SQLERRM;
END $$;
CREATE VIEW lbt.read_both AS
SELECT b.board, lbt.read_by(true, b.board) AS by_index, lbt.read_by(false, b.board) AS by_query
FROM unnest(ARRAY['modes:team', 'kinds:team', 'three:(team,7,team)', 'counted:team',
	'typed', 'domain', 'operator', 'array', 'collation', 'plain']) AS b (board);
GRANT SELECT ON lbt.read_both TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.read_both;
SELECT count(*) FROM v WHERE mode = 'team';
RESET ROLE;
GRANT USAGE ON SCHEMA hidden TO regress_lb_reader;
SET ROLE regress_lb_reader;
SELECT * FROM lbt.read_both;
RESET ROLE;
SELECT * FROM lb_verify();
DROP VIEW lbt.read_both;
DROP FUNCTION lbt.read_by;
DROP TABLE v;
DROP DOMAIN hidden.kind;
DROP TYPE hidden.mode;
DROP OPERATOR hidden.<<< (integer, integer);
DROP COLLATION hidden.bytes;
REVOKE USAGE ON SCHEMA hidden FROM regress_lb_reader;
DROP SCHEMA hidden;

DROP FUNCTION lbt.asked, lbt.asked_both, lbt.results, lbt.creators;
REVOKE EXECUTE ON FUNCTION lb_create_board, lb_create_tables FROM regress_lb_owner, regress_lb_reader;
DROP TABLE t, f;
REVOKE CREATE ON SCHEMA public FROM regress_lb_owner;
DROP ROLE regress_lb_reader, regress_lb_owner, regress_lb_monitor, regress_lb_bypass;
SELECT * FROM lb_verify();
