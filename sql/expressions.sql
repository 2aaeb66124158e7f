--
-- Boards on expressions and conditions, beside boards on stored columns.
--
SET TIME ZONE 'UTC';
CREATE SCHEMA ex;
CREATE TABLE ex.elo (
	id integer PRIMARY KEY, points integer, games integer NOT NULL, level integer, banned boolean,
	country text, name text,
	per_game integer GENERATED ALWAYS AS (points / games) STORED,
	shown boolean GENERATED ALWAYS AS (level > 10 AND NOT banned) STORED);
INSERT INTO ex.elo SELECT i, nullif(i * 7919 % 1000, 0), 1 + i % 13, nullif(i % 30, 3), nullif(i % 11, 2) = 0,
	(ARRAY['FR', 'de', 'US', NULL])[1 + i % 4], 'n' || i % 40 FROM generate_series(1, 600) AS i;

SELECT lb_create_board('ratio', 'ex.elo', 'id', rank_by => '(points / games) DESC, lower(name)');
SELECT lb_create_board('shown', 'ex.elo', 'id', rank_by => 'points DESC', ranked_if => 'level > 10 AND NOT banned');
SELECT lb_create_board('lands', 'ex.elo', 'id', rank_by => '(points / games) DESC', board_column => 'upper(country)');
SELECT lb_create_board('counted', 'ex.elo', rank_by => '(points / games) ASC', ranked_if => '(level > 10)', keeps => 'counts');
SELECT lb_create_board('all', 'ex.elo', 'id', rank_by => '(points % 7) DESC, (id % 3 = 0), points DESC',
	board_column => '(level % 4)', ranked_if => 'name <> ''n3'' OR points / games > 5');
-- A column in parentheses is a column.
SELECT lb_create_board('plain', 'ex.elo', 'id', rank_by => '(points) DESC', ranked_if => '(banned)', board_column => '(country)');
SELECT lb_wait_ready();
SELECT board, member, rank_by, board_column, ranked_if, expressions FROM lb_board ORDER BY id;
\d ex.elo
SELECT s.stxname, s.stxstattarget = 0 AS no_statistics, obj_description(s.oid, 'pg_statistic_ext'), pg_get_userbyid(s.stxowner) = current_user AS owner
FROM pg_statistic_ext s WHERE s.stxrelid = 'ex.elo'::regclass ORDER BY 1;

-- What the boards say, by the index and by the query.
CREATE FUNCTION ex.answers() RETURNS TABLE (what text, answer text) LANGUAGE sql AS $$
	SELECT 'ratio', string_agg(concat_ws(' ', t.rank, t.member, t.score), ', ') FROM lb_top(5, 'ratio') t
	UNION ALL SELECT 'ratio, all', md5(string_agg(t::text, ',')) FROM lb_top(1000, 'ratio') t
	UNION ALL SELECT 'shown', string_agg(concat_ws(' ', t.rank, t.member, t.score), ', ') FROM lb_top(5, 'shown') t
	UNION ALL SELECT 'shown, all', md5(string_agg(t::text, ',')) FROM lb_top(1000, 'shown') t
	UNION ALL SELECT 'lands', string_agg(concat_ws(' ', l.country, lb_count('lands:' || l.country), lb_rank(l.id, 'lands:' || l.country),
		round(lb_percentile(l.id, 'lands:' || l.country)::numeric, 3)), ', ') FROM (VALUES ('FR', 16), ('DE', 5), ('US', 2), ('IT', 1)) AS l (country, id)
	UNION ALL SELECT 'counted', concat_ws(' ', lb_count('counted'), lb_rank_of_score(20, 'counted'), lb_count_between(3, 40, 'counted'), lb_score_at_percentile(30, 'counted'))
	UNION ALL SELECT 'all', string_agg(concat_ws(' ', b, lb_count('all:' || b), (SELECT md5(string_agg(t::text, ',')) FROM lb_top(1000, 'all:' || b) t)), ', ')
		FROM generate_series(0, 3) AS b
	UNION ALL SELECT 'around', string_agg(concat_ws(' ', t.rank, t.member), ', ') FROM lb_around(70, 'ratio') t
	UNION ALL SELECT 'among', string_agg(concat_ws(' ', t.rank, t.member), ', ') FROM lb_among(ARRAY[7, 70, 333], 'shown') t
$$;
SELECT * FROM ex.answers();
SET leaderboard.enable_index = off;
SELECT * FROM ex.answers();
RESET leaderboard.enable_index;
-- The same of stored columns.
SELECT (SELECT array_agg(id ORDER BY per_game DESC, lower(name) COLLATE "C", id) FROM ex.elo WHERE per_game IS NOT NULL)
	= (SELECT array_agg(member::integer ORDER BY rank) FROM lb_top(1000, 'ratio')) AS ratio,
	(SELECT array_agg(id ORDER BY points DESC, id) FROM ex.elo WHERE shown AND points IS NOT NULL)
	= (SELECT array_agg(member::integer ORDER BY rank) FROM lb_top(1000, 'shown')) AS shown;

-- Plain SQL: the plan's first node.
CREATE FUNCTION ex.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		EXIT WHEN line LIKE '%->%';
		RETURN NEXT line;
	END LOOP;
END $$;
SET enable_seqscan = off;
SELECT ex.plan('SELECT count(*) FROM ex.elo WHERE points / games > 20');
SELECT ex.plan('SELECT count(*) FROM ex.elo WHERE level > 10 AND NOT banned AND points > 20');
SELECT ex.plan('SELECT count(*) FROM ex.elo WHERE NOT banned AND points > 20 AND level >= 11');
SELECT ex.plan('SELECT count(*) FROM ex.elo WHERE NOT banned AND points > 20 AND level > 11');
SELECT ex.plan('SELECT max(points / games), count(*) FROM ex.elo WHERE upper(country) = ''DE''');
SELECT ex.plan('SELECT count(*) FROM ex.elo WHERE upper(country) = ''DE'' AND points / games BETWEEN 3 AND 70');
SELECT ex.plan('SELECT id FROM ex.elo WHERE upper(country) = ''DE'' AND points / games IS NOT NULL ORDER BY points / games DESC, id LIMIT 3');
SELECT ex.plan('SELECT id FROM ex.elo WHERE upper(country) = ''DE'' AND points / games IS NOT NULL ORDER BY points / games DESC, id LIMIT 3 OFFSET 50');
SELECT ex.plan('SELECT id, rank() OVER (ORDER BY points DESC) FROM ex.elo WHERE level > 10 AND NOT banned AND points IS NOT NULL LIMIT 3');
SELECT count(*) FROM ex.elo WHERE points / games > 20;
SELECT count(*) FROM ex.elo WHERE NOT banned AND points > 20 AND level >= 11;
SELECT max(points / games), count(*) FROM ex.elo WHERE upper(country) = 'DE';
SELECT id FROM ex.elo WHERE upper(country) = 'DE' AND points / games IS NOT NULL ORDER BY points / games DESC, id LIMIT 3 OFFSET 50;
SET leaderboard.enable_index = off;
SELECT count(*) FROM ex.elo WHERE points / games > 20;
SELECT count(*) FROM ex.elo WHERE NOT banned AND points > 20 AND level >= 11;
SELECT max(points / games), count(*) FROM ex.elo WHERE upper(country) = 'DE';
SELECT id FROM ex.elo WHERE upper(country) = 'DE' AND points / games IS NOT NULL ORDER BY points / games DESC, id LIMIT 3 OFFSET 50;
RESET leaderboard.enable_index;
RESET enable_seqscan;
SELECT board, used, reason FROM lb_explain('SELECT count(*) FROM ex.elo WHERE points / games > 20 AND level > 3') ORDER BY board;

-- Rows come, change and go.
UPDATE ex.elo SET points = points + 1 WHERE id % 3 = 0;
UPDATE ex.elo SET level = level + 5, country = 'it' WHERE id % 7 = 0;
UPDATE ex.elo SET games = games + 1, banned = NOT banned WHERE id % 5 = 0;
DELETE FROM ex.elo WHERE id % 10 = 1;
INSERT INTO ex.elo VALUES (1001, 500, 2, 20, false, 'FR', 'N1');
SELECT * FROM lb_verify();
-- An error is that of the expression.  The row stays what it was.
UPDATE ex.elo SET games = 0 WHERE id = 5;
INSERT INTO ex.elo VALUES (1002, 500, 0);
SELECT games FROM ex.elo WHERE id = 5;

-- What an expression names follows a rename.
ALTER TABLE ex.elo RENAME games TO played;
ALTER TABLE ex.elo RENAME TO ratings;
SELECT board, rank_by, board_column, ranked_if FROM lb_board ORDER BY board;
SELECT lb_wait_ready();
SELECT * FROM lb_verify();
CREATE FUNCTION ex.weigh(integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 3 - $2';
CREATE OPERATOR ex.<<>> (FUNCTION = ex.weigh, LEFTARG = integer, RIGHTARG = integer);
SELECT lb_create_board('weighed', 'ex.ratings', 'id', rank_by => '(points OPERATOR(ex.<<>>) played) DESC', ranked_if => 'ex.weigh(points, level) > 10');
SELECT lb_wait_ready();
ALTER FUNCTION ex.weigh(integer, integer) RENAME TO heft;
SELECT rank_by, ranked_if FROM lb_board WHERE board = 'weighed';
ALTER SCHEMA ex RENAME TO ey;
SELECT rank_by, ranked_if FROM lb_board WHERE board = 'weighed';
SELECT lb_wait_ready();
SELECT lb_rank(9, 'weighed'), (SELECT 1 + count(*) FROM ey.ratings r, ey.ratings p WHERE p.id = 9 AND r.points * 3 - r.level > 10
	AND (-(r.points * 3 - r.played), r.id) < (-(p.points * 3 - p.played), p.id)) AS by_hand;
SELECT * FROM lb_verify();
-- A function that is replaced has other values.
CREATE OR REPLACE FUNCTION ey.heft(integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 1000 - $1 * 3 - $2';
SELECT lb_rank(9, 'weighed'), (SELECT 1 + count(*) FROM ey.ratings r, ey.ratings p WHERE p.id = 9 AND 1000 - r.points * 3 - r.level > 10
	AND (-(1000 - r.points * 3 - r.played), r.id) < (-(1000 - p.points * 3 - p.played), p.id)) AS by_hand;
SELECT lb_wait_ready();
SELECT lb_rank(9, 'weighed'), (SELECT 1 + count(*) FROM ey.ratings r, ey.ratings p WHERE p.id = 9 AND 1000 - r.points * 3 - r.level > 10
	AND (-(1000 - r.points * 3 - r.played), r.id) < (-(1000 - p.points * 3 - p.played), p.id)) AS by_hand;
BEGIN;
CREATE OR REPLACE FUNCTION ey.heft(integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1';
SELECT lb_rank(9, 'weighed') = (SELECT 1 + count(*) FROM ey.ratings r, ey.ratings p WHERE p.id = 9 AND r.points > 10
	AND (-r.points, r.id) < (-p.points, p.id)) AS before_commit;
ROLLBACK;
SELECT lb_wait_ready();
SELECT * FROM lb_verify();
-- So it is if only an operator, or a function that is inlined, calls the replaced one.
CREATE TABLE ey.called (id bigint PRIMARY KEY, points integer);
INSERT INTO ey.called SELECT i, i FROM generate_series(1, 1000) AS i;
CREATE FUNCTION ey.combine(integer, integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 * $2; END';
CREATE OPERATOR ey.### (FUNCTION = ey.combine, LEFTARG = integer, RIGHTARG = integer);
CREATE FUNCTION ey.inner_one(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2';
CREATE FUNCTION ey.outer_one(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT ey.inner_one($1)';
SELECT lb_create_board('combined', 'ey.called', 'id', rank_by => '(points OPERATOR(ey.###) 2) DESC'),
	lb_create_board('inlined', 'ey.called', 'id', rank_by => 'ey.outer_one(points) DESC');
SELECT lb_wait_ready();
SELECT lb_rank(1, 'combined'), lb_rank(1, 'inlined');
CREATE OR REPLACE FUNCTION ey.combine(integer, integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN - $1 * $2; END';
CREATE OR REPLACE FUNCTION ey.inner_one(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 * -3';
SELECT lb_rank(1, 'combined'), lb_rank(1, 'inlined'), (SELECT count(*) FROM ey.called WHERE points * -3 > -30);
SELECT lb_wait_ready();
SELECT lb_rank(1, 'combined'), lb_rank(1, 'inlined'), (SELECT count(*) FROM ey.called WHERE points * -3 > -30);
SELECT * FROM lb_verify();
-- One that raises an error can be replaced.
CREATE OR REPLACE FUNCTION ey.inner_one(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 * (1 / 0)';
CREATE OR REPLACE FUNCTION ey.inner_one(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1';
SELECT lb_wait_ready();
SELECT lb_rank(1, 'inlined');
-- Two changes in a transaction, after which the text is right.
BEGIN;
CREATE OR REPLACE FUNCTION ey.outer_one(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 0 + ey.inner_one($1)';
ALTER FUNCTION ey.outer_one(integer) RENAME TO outermost;
COMMIT;
SELECT rank_by FROM lb_board WHERE board = 'inlined';
SELECT lb_wait_ready();
SELECT lb_rank(1, 'inlined');
-- One that the body of another one calls is dropped, and made again.
DROP FUNCTION ey.inner_one(integer);
CREATE FUNCTION ey.inner_one(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1 % 7';
SELECT lb_wait_ready();
SELECT lb_rank(7, 'inlined');
SELECT * FROM lb_verify();
-- Altering a function calls none of others' boards.
CREATE FUNCTION ey.trap(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
	$$BEGIN IF current_setting('lbt.trap', true) = 'set' THEN RAISE 'trapped' USING ERRCODE = 'query_canceled'; END IF; RETURN $1; END$$;
SELECT lb_create_board('trap', 'ey.called', 'id', rank_by => '(points + ey.trap(1)) DESC');
SELECT lb_wait_ready();
CREATE DOMAIN ey.trapped AS integer CHECK (ey.trap(VALUE) > 0);
CREATE FUNCTION ey.trapping(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS $$SELECT $1 + array_length('{1,2}'::ey.trapped[], 1)$$;
SELECT lb_create_board('trapping', 'ey.called', 'id', rank_by => 'ey.trapping(points) DESC');
SELECT lb_wait_ready();
SET lbt.trap = 'set';
CREATE FUNCTION ey.harmless() RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE OR REPLACE FUNCTION ey.harmless() RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 2';
ALTER FUNCTION ey.harmless() COST 7;
SELECT lb_rebuild('trap');
RESET lbt.trap;
SELECT lb_wait_ready();
SELECT board, state, reason FROM lb_stat_board WHERE board IN ('trap', 'trapping', 'inlined', 'combined');
SELECT lb_drop_board('trap'), lb_drop_board('trapping');
-- Functions of several types, those with settings, aggregates, and one that is not the one of that name.
CREATE FUNCTION ey.deep(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION ey.deep(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION ey.poly(anyelement) RETURNS anyelement IMMUTABLE LANGUAGE sql AS 'SELECT ey.deep($1)';
CREATE FUNCTION ey.with_path(integer) RETURNS integer IMMUTABLE LANGUAGE sql SET search_path = ey AS 'SELECT deep($1)';
CREATE FUNCTION ey.next(integer, integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 + $2; END';
CREATE AGGREGATE ey.total(integer) (sfunc = ey.next, stype = integer, initcond = '0');
CREATE FUNCTION ey.both(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT ey.total(v) FROM (VALUES ($1), ($1)) AS t (v)';
CREATE FUNCTION ey.atomic(integer) RETURNS integer IMMUTABLE LANGUAGE sql RETURN ey.deep($1);
SELECT lb_create_board('poly', 'ey.called', 'id', rank_by => '(ey.poly(points) + ey.poly(id)) DESC'),
	lb_create_board('path', 'ey.called', 'id', rank_by => 'ey.with_path(points) DESC'),
	lb_create_board('both', 'ey.called', 'id', rank_by => 'ey.both(points) DESC'),
	lb_create_board('atomic', 'ey.called', 'id', rank_by => 'ey.atomic(points) DESC');
SELECT lb_wait_ready();
CREATE TEMPORARY TABLE numbers AS SELECT board, id FROM lb_board;
CREATE TEMPORARY VIEW anew AS SELECT b.board FROM lb_board b JOIN numbers n USING (board) WHERE b.id <> n.id ORDER BY 1;
ALTER FUNCTION ey.deep(bigint) RENAME TO deeper;
ALTER FUNCTION ey.deeper(bigint) RENAME TO deep;
CREATE OR REPLACE FUNCTION ey.deep(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN -$1; END';
SELECT * FROM pg_temp.anew;
CREATE OR REPLACE FUNCTION ey.next(integer, integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 - $2; END';
CREATE OR REPLACE FUNCTION ey.deep(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN -$1; END';
SELECT * FROM pg_temp.anew;
SELECT lb_wait_ready();
SELECT lb_rank(1, 'poly'), lb_rank(1, 'path'), lb_rank(1, 'both'), lb_rank(1, 'atomic');
SELECT * FROM lb_verify();
SELECT lb_drop_board(b) FROM unnest(ARRAY['poly', 'path', 'both', 'atomic']) AS b;
DROP VIEW pg_temp.anew;
DROP TABLE numbers;
-- A session that has called the checks of a domain before notices that they change.
CREATE DOMAIN ey.small AS integer CONSTRAINT small CHECK (VALUE < 2000);
CREATE DOMAIN ey.smaller AS ey.small;
SELECT lb_create_board('checked', 'ey.called', 'id', rank_by => '(points::ey.smaller) DESC');
SELECT lb_wait_ready();
INSERT INTO ey.called VALUES (1001, 2001);
ALTER DOMAIN ey.small DROP CONSTRAINT small;
INSERT INTO ey.called VALUES (1001, 2001);
SELECT lb_wait_ready();
SELECT lb_rank(1001, 'checked');
ALTER DOMAIN ey.small ADD CONSTRAINT least CHECK (VALUE > 0);
INSERT INTO ey.called VALUES (1002, 0);
SELECT lb_wait_ready();
SELECT lb_rank(1001, 'checked');
SELECT * FROM lb_verify();
DROP TABLE ey.called;

-- One that is no longer immutable ends the index; queries go on.
-- PostgreSQL puts the text of a function in SQL in its place, which is immutable.
CREATE OR REPLACE FUNCTION ey.heft(integer, integer) RETURNS integer STABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1000 - $1 * 3 - $2; END';
SELECT lb_rank(9, 'weighed') IS NOT NULL AS ranked;
UPDATE ey.ratings SET points = points + 1 WHERE id = 5;
SELECT lb_rebuild('weighed');
ALTER FUNCTION ey.heft(integer, integer) IMMUTABLE;
SELECT lb_rebuild('weighed');
SELECT lb_wait_ready();
SELECT * FROM lb_verify('weighed');
-- It cannot be dropped, unless with what depends on it.
DROP FUNCTION ey.heft(integer, integer);
DROP OPERATOR ey.<<>> (integer, integer);
-- A type that changes, where it can.
ALTER TABLE ey.ratings DROP per_game;
SELECT state, message FROM lbt.error('ALTER TABLE ey.ratings ALTER points TYPE bigint');
SELECT lb_drop_board('weighed');
ALTER TABLE ey.ratings ALTER points TYPE bigint;
SELECT board, rank_by FROM lb_board ORDER BY board;
SELECT lb_rebuild();
SELECT * FROM lb_verify();

-- What keeps an expression is gone.
DO $$
BEGIN
	EXECUTE format('DROP STATISTICS ey.%I', (SELECT expressions[1] FROM lb_board WHERE board = 'ratio'));
END $$;
SELECT state, reason FROM lb_stat_board WHERE board = 'ratio' AND state = 'ready';
SELECT lb_rank(5, 'ratio');
UPDATE ey.ratings SET points = points + 1 WHERE id = 5;
SELECT lb_rebuild('ratio');
SELECT lb_rebuild('ratio');
SELECT * FROM lb_verify('ratio');

-- All boards at once, and texts with a backslash, which mean the same whatever the settings.
-- From version 19 on, this one is always on.
CREATE TABLE ey.paths (id integer PRIMARY KEY, score integer NOT NULL, path text NOT NULL);
INSERT INTO ey.paths VALUES (1, 1, E'a\\b'), (2, 2, E'a\\\\b'), (3, 3, 'ab');
DO $$
BEGIN
	IF current_setting('server_version_num')::integer < 190000 THEN
		PERFORM set_config('standard_conforming_strings', 'off', false);
	END IF;
END $$;
SELECT lb_create_board('off', 'ey.paths', ranked_if => $$path <> E'a\\b'$$);
SELECT lb_create_board('off text', 'ey.paths', rank_by => $$score DESC, (path || E'\\')$$);
SET standard_conforming_strings = on;
SELECT lb_create_board('on', 'ey.paths', ranked_if => $$path <> 'a\b'$$);
SELECT lb_wait_ready();
SELECT board, rank_by, ranked_if FROM lb_board WHERE source = 'ey.paths'::regclass ORDER BY board;
SELECT (SELECT array_agg(member) FROM lb_top(9, 'off')) AS off, (SELECT array_agg(member) FROM lb_top(9, 'on')) AS on,
	(SELECT array_agg(ties[1]) FROM lb_page(9, 'off text')) AS ties;
SET client_min_messages = warning;
DROP STATISTICS ey.paths_off_lb1, ey.paths_on_lb1, ey."paths_off text_lb1";
DO $$
BEGIN
	IF current_setting('server_version_num')::integer < 190000 THEN
		PERFORM set_config('standard_conforming_strings', 'off', false);
	END IF;
END $$;
SELECT lb_rebuild();
SET leaderboard.enable_index = off;
SELECT (SELECT array_agg(member) FROM lb_top(9, 'off')) AS off, (SELECT array_agg(member) FROM lb_top(9, 'on')) AS on,
	(SELECT array_agg(ties[1]) FROM lb_page(9, 'off text')) AS ties;
RESET leaderboard.enable_index;
SET standard_conforming_strings = on;
DROP STATISTICS ey.paths_off_lb1, ey.paths_on_lb1, ey."paths_off text_lb1";
SELECT lb_rebuild();
RESET client_min_messages;
SELECT lb_wait_ready();
SELECT (SELECT array_agg(member) FROM lb_top(9, 'off')) AS off, (SELECT array_agg(member) FROM lb_top(9, 'on')) AS on,
	(SELECT array_agg(ties[1]) FROM lb_page(9, 'off text')) AS ties;
SELECT * FROM lb_verify();
RESET standard_conforming_strings;
DROP TABLE ey.paths;
ALTER TABLE ey.ratings DROP shown, DROP level;
SELECT lb_rank(5, 'shown');
SELECT lb_rebuild('shown');
SELECT count(*) FROM pg_statistic_ext WHERE stxrelid = 'ey.ratings'::regclass;
SELECT lb_drop_board(board) FROM lb_board WHERE source = 'ey.ratings'::regclass ORDER BY board;
SELECT count(*) FROM pg_statistic_ext WHERE stxrelid = 'ey.ratings'::regclass;

-- Rows from before the board raise an error: they can be mended.
UPDATE ey.ratings SET played = 0 WHERE id IN (5, 6);
SELECT lb_create_board('late', 'ey.ratings', 'id', rank_by => '(points / played) DESC');
SELECT lb_wait_ready('1 ms');
UPDATE ey.ratings SET played = 1 WHERE id = 5;
DELETE FROM ey.ratings WHERE id = 6;
UPDATE ey.ratings SET played = 0 WHERE id = 8;
SELECT lb_rebuild('late');
SELECT * FROM lb_verify('late');
SELECT lb_drop_board('late');
-- A condition keeps the expression from them, also in the query.
UPDATE ey.ratings SET played = 0 WHERE id IN (5, 7);
SELECT lb_create_board('partial', 'ey.ratings', 'id', rank_by => '(points / played) DESC', ranked_if => 'played > 0');
SELECT lb_wait_ready();
SELECT lb_count('partial') = count(*), lb_rank(5, 'partial') FROM ey.ratings WHERE played > 0 AND points IS NOT NULL;
SET leaderboard.enable_index = off;
SELECT lb_count('partial') = count(*), lb_rank(5, 'partial') FROM ey.ratings WHERE played > 0 AND points IS NOT NULL;
RESET leaderboard.enable_index;
ANALYZE ey.ratings;
UPDATE ey.ratings SET played = 2 - played WHERE id IN (5, 8);
SELECT * FROM lb_verify();

-- Partitions whose columns stand in another order.
CREATE TABLE ey.parts (id integer, a integer, b integer, k integer, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
CREATE TABLE ey.parts_1 PARTITION OF ey.parts FOR VALUES IN (1);
CREATE TABLE ey.parts_2 (b integer, gone integer, k integer NOT NULL, a integer, id integer NOT NULL);
ALTER TABLE ey.parts_2 DROP gone;
ALTER TABLE ey.parts ATTACH PARTITION ey.parts_2 FOR VALUES IN (2);
SELECT lb_create_board('parts', 'ey.parts', 'id', rank_by => '(a - b) DESC', board_column => 'k', ranked_if => 'a > 3');
SELECT lb_wait_ready();
INSERT INTO ey.parts SELECT i, i % 50, i % 7, 1 + i % 2 FROM generate_series(1, 200) AS i;
UPDATE ey.parts SET a = a + 1, k = 3 - k WHERE id % 5 = 0;
UPDATE ey.parts_2 SET b = b - 1 WHERE id % 3 = 0;
SELECT lb_count('parts:1') + lb_count('parts:2') = count(*) FILTER (WHERE a > 3) AS counted FROM ey.parts;
SELECT * FROM lb_verify();
SELECT lb_rebuild('parts');
SELECT * FROM lb_verify();

-- Other objects are no concern of a board's.
CREATE SCHEMA ew;
CREATE TABLE ew.t (id integer PRIMARY KEY, x integer, y integer);
INSERT INTO ew.t SELECT i, i % 50, 1 + i % 7 FROM generate_series(1, 500) AS i;
SELECT lb_create_board('moved', 'ew.t', 'id', rank_by => '(x / y) DESC', ranked_if => 'y > 0');
SELECT lb_wait_ready();
CREATE TEMP TABLE before AS SELECT board, id FROM lb_board;
CREATE FUNCTION ew.f(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION ew.g(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE OPERATOR ew./ (FUNCTION = int4div, LEFTARG = integer, RIGHTARG = integer);
ALTER OPERATOR ew./ (integer, integer) OWNER TO CURRENT_USER;
CREATE TABLE ew.x ();
ALTER TABLE ew.x RENAME TO y;
DROP TABLE ew.y;
DROP OPERATOR ew./ (integer, integer);
DROP FUNCTION ew.f(integer), ew.g(integer);
SELECT count(*) FROM lb_board b JOIN before USING (board, id) WHERE board = 'moved';
-- What keeps an expression stays in its schema, and has the table's owner.
CREATE ROLE ex_mover;
CREATE SCHEMA ev AUTHORIZATION ex_mover;
GRANT ALL ON SCHEMA ew TO ex_mover;
ALTER TABLE ew.t SET SCHEMA ev;
ALTER TABLE ev.t OWNER TO ex_mover;
SELECT lb_wait_ready();
SELECT * FROM lb_verify('moved');
SELECT stxname, stxnamespace::regnamespace, stxowner::regrole FROM pg_statistic_ext WHERE stxrelid = 'ev.t'::regclass ORDER BY 1;
CREATE STATISTICS ev.t_moved_lb1 ON (x % 3) FROM ev.t;
SELECT lb_wait_ready();
SELECT * FROM lb_verify('moved');
SELECT rank_by FROM lb_board WHERE board = 'moved';
SET ROLE ex_mover;
SELECT lb_drop_board('moved');
RESET ROLE;
SELECT stxname, stxnamespace::regnamespace FROM pg_statistic_ext WHERE stxrelid = 'ev.t'::regclass ORDER BY 1;
SELECT lb_create_board('moved', 'ev.t', 'id', rank_by => '(x / y) DESC', ranked_if => 'y > 0');
SELECT lb_wait_ready();
SELECT expressions FROM lb_board WHERE board = 'moved';
-- ANALYZE lets it be, also after a change of type.
ALTER TABLE ev.t ALTER x TYPE bigint, ALTER y TYPE bigint;
ALTER TABLE ev.t ALTER x TYPE bigint USING x + 1;
UPDATE ev.t SET y = 0 WHERE id = 7;
ANALYZE ev.t;
SELECT lb_wait_ready();
SELECT * FROM lb_verify('moved');
SELECT lb_drop_board('moved');

-- A row that has come to raise an error can be changed and deleted.
CREATE DOMAIN ev.small AS integer;
CREATE TABLE ev.s (id integer PRIMARY KEY, x integer);
INSERT INTO ev.s SELECT i, i FROM generate_series(1, 20) AS i;
SELECT lb_create_board('small', 'ev.s', 'id', rank_by => '(x::ev.small) DESC');
SELECT lb_wait_ready();
ALTER DOMAIN ev.small ADD CHECK (VALUE < 18);
DELETE FROM ev.s WHERE id = 20;
UPDATE ev.s SET x = 3 WHERE id = 19;
UPDATE ev.s SET x = 30 WHERE id = 1;
DELETE FROM ev.s WHERE id = 18;
SELECT lb_rebuild('small');
SELECT lb_wait_ready();
SELECT * FROM lb_verify('small');
SELECT lb_drop_board('small');
-- An error with a code of its own is one of the expression, too.
CREATE FUNCTION ev.picky(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF $1 < 3 THEN
		RAISE 'too small' USING ERRCODE = 'EX001';
	END IF;
	RETURN $1;
END $$;
INSERT INTO ev.s VALUES (30, 1);
SELECT lb_create_board('picky', 'ev.s', 'id', rank_by => 'ev.picky(x) DESC');
SELECT lb_wait_ready('5 min');
SELECT state, reason FROM lb_stat_board WHERE board = 'picky';
SELECT lb_drop_board('picky');
DROP SCHEMA ev, ew CASCADE;
DROP ROLE ex_mover;
DROP TABLE before;

-- Rights: the functions run with the owner's, whoever writes.
CREATE ROLE ex_owner; CREATE ROLE ex_player;
CREATE SCHEMA ez AUTHORIZATION ex_owner;
SET ROLE ex_owner;
CREATE FUNCTION ez.spy(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'ex_owner' OR current_setting('search_path') <> 'pg_catalog, pg_temp' THEN
		RAISE 'as %, %', current_user, current_setting('search_path');
	END IF;
	RETURN $1;
END $$;
CREATE TABLE ez.t (id integer PRIMARY KEY, score integer);
RESET ROLE;
GRANT EXECUTE ON FUNCTION lb_create_board TO ex_owner;
SET ROLE ex_owner;
SELECT lb_create_board('spied', 'ez.t', 'id', rank_by => 'ez.spy(score) DESC');
GRANT USAGE ON SCHEMA ez TO ex_player;
GRANT INSERT, UPDATE, SELECT (id), SELECT (score) ON ez.t TO ex_player;
REVOKE EXECUTE ON FUNCTION ez.spy(integer) FROM PUBLIC;
RESET ROLE;
SELECT lb_wait_ready();
SET ROLE ex_player;
INSERT INTO ez.t VALUES (1, 10), (2, 20);
UPDATE ez.t SET score = score + 1;
SELECT count(*) FROM lb_stat_board WHERE board = 'spied';
-- The query calls the function with the rights of who asks.
SELECT lb_rank(1, 'spied');
RESET ROLE;
INSERT INTO ez.t VALUES (3, 30);
SELECT lb_rank(1, 'spied');
SELECT * FROM lb_verify('spied');
GRANT EXECUTE ON FUNCTION ez.spy(integer) TO ex_player;
SET ROLE ex_player;
SELECT board, members FROM lb_stat_board WHERE board = 'spied';
SET search_path = public, pg_catalog, pg_temp;
SELECT lb_rank(1, 'spied');
RESET search_path;
RESET ROLE;
SELECT s.stxname, s.stxowner::regrole FROM pg_statistic_ext s WHERE s.stxrelid = 'ez.t'::regclass;

-- It needs to find it, too, and to call what is inlined.
\set VERBOSITY terse
SET ROLE ex_owner;
GRANT EXECUTE ON FUNCTION ez.spy(integer) TO ex_player;
RESET ROLE;
CREATE SCHEMA AUTHORIZATION ex_owner;
SET ROLE ex_owner;
CREATE FUNCTION ex_owner.half(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION ex_owner.both(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT ex_owner.half($1) + 1';
SELECT lb_create_board('both', 'ez.t', 'id', rank_by => 'ex_owner.both(score) DESC');
RESET ROLE;
SELECT lb_wait_ready();
SET ROLE ex_player;
SELECT lb_rank(1, 'both');
RESET ROLE;
GRANT USAGE ON SCHEMA ex_owner TO ex_player;
REVOKE EXECUTE ON FUNCTION ex_owner.half(integer) FROM PUBLIC;
SET ROLE ex_player;
SELECT lb_rank(1, 'both');
RESET ROLE;
GRANT EXECUTE ON FUNCTION ex_owner.half(integer) TO ex_player;
SET ROLE ex_player;
SELECT lb_rank(1, 'both');
RESET ROLE;
\set VERBOSITY default

-- Plain SQL calls no function that it does not name.
SET ROLE ex_owner;
CREATE FUNCTION ez.trap(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'ex_owner' THEN
		RAISE 'trapped as a superuser: %', $1;
	END IF;
	RETURN $1;
END $$;
CREATE TABLE ez.u (id integer PRIMARY KEY, score integer NOT NULL);
INSERT INTO ez.u SELECT i, i % 30 FROM generate_series(1, 3000) AS i;
SELECT lb_create_board('trap', 'ez.u', 'id', rank_by => 'score DESC, ez.trap(id)', ranked_if => 'score > ez.trap(1)');
SELECT lb_create_board('tie', 'ez.u', 'id', rank_by => 'score DESC, ez.trap(id)');
RESET ROLE;
SELECT lb_wait_ready();
SELECT * FROM lb_verify('trap');
SELECT lb_drop_board('trap');
SET plan_cache_mode = force_generic_plan;
PREPARE many AS SELECT score FROM ez.u WHERE score > 2 ORDER BY score DESC LIMIT 3;
PREPARE pairs AS SELECT u.score, v.score FROM ez.u JOIN ez.u v ON v.id = u.id + 1 WHERE u.score > 2 ORDER BY u.score DESC LIMIT 3;
EXPLAIN (COSTS OFF) EXECUTE pairs;
EXECUTE many;
EXECUTE pairs;
SET leaderboard.enable_index = off;
EXECUTE many;
EXECUTE pairs;
RESET leaderboard.enable_index;
RESET plan_cache_mode;
DEALLOCATE ALL;

-- So the plan below a scan would have ties in another order than the scan, which could not
-- leave the rest to it after some rows.
CREATE TABLE ez.ties (id integer PRIMARY KEY, score integer NOT NULL, x integer NOT NULL, pad text);
INSERT INTO ez.ties SELECT i, 7, i * 7919 % 10007, repeat('p', 100) FROM generate_series(1, 5000) AS i;
SELECT lb_create_board('ties', 'ez.ties', 'id', 'score DESC, (abs(x)) ASC');
SELECT lb_wait_ready();
ANALYZE ez.ties;
DO $$
DECLARE
	cur CURSOR FOR SELECT id FROM ez.ties WHERE pad LIKE 'p%' ORDER BY score DESC;
	seen integer[] := '{}';
	got integer;
BEGIN
	OPEN cur;
	LOOP
		FETCH cur INTO got;
		EXIT WHEN NOT FOUND;
		seen := seen || got;
	END LOOP;
	RAISE NOTICE '% rows, % different', cardinality(seen), (SELECT count(DISTINCT i) FROM unnest(seen) AS i);
END $$;
SELECT lbt.result('SELECT id FROM ez.ties WHERE pad LIKE ''p%'' ORDER BY score DESC, abs(x), id LIMIT 3 OFFSET 4000');
DROP TABLE ez.ties;

-- Nor one that a generated column calls.
SET ROLE ex_owner;
CREATE TABLE ez.w (id integer PRIMARY KEY, score integer NOT NULL, shown boolean GENERATED ALWAYS AS (score > ez.trap(2)) STORED);
INSERT INTO ez.w (id, score) SELECT i, i % 30 FROM generate_series(1, 3000) AS i;
SELECT lb_create_board('stored', 'ez.w', 'id', rank_by => 'score DESC', ranked_if => 'shown');
RESET ROLE;
SELECT lb_wait_ready();
SELECT count(*) FROM ez.w WHERE score > 2;

-- PostgreSQL takes these for immutable, but they have other values with other settings.
CREATE TABLE ey.kinds (id integer PRIMARY KEY, part real, ratio float8, ratios float8[], bytes bytea, spot point,
	reached timestamptz, zone text, name text);
SELECT expr, message, hint FROM unnest(ARRAY['(part::text)', '(ratio::text)', '(float8out(ratio)::text)', '((ratios::text[])[1])', '(name || ratio)',
	'(name || 0.1::float8)', '(lower(name || (0.1::float8)::text))', '(bytes::text)', '(spot::text)', 'quote_ident(name)',
	'(extract(hour FROM age(reached, timestamptz ''2026-03-29 12:00Z'')))', '((reached AT TIME ZONE ''EST'')::date)',
	'((reached AT TIME ZONE zone)::date)']) WITH ORDINALITY AS e (expr, n),
	lbt.error(format('SELECT lb_create_board(%L, %L, %L, rank_by => %L, board_column => %L)', 'k' || n, 'ey.kinds', 'id', 'id DESC', expr)) ORDER BY n;
-- PostgreSQL 19 no longer takes this one for immutable.
SELECT message ~ 'depends on the setting "xmlbinary"|must be marked IMMUTABLE' AS refused
FROM lbt.error('SELECT lb_create_board(''k'', ''ey.kinds'', ''id'', rank_by => ''id DESC'', board_column => ''(xmlelement(name a, ratio)::text)'')');
SELECT * FROM lbt.error('SELECT lb_create_board(''k'', ''ey.kinds'', rank_by => ''id DESC'', board_column => ''(ratio::text)'')');
SELECT expr, message FROM unnest(ARRAY['(ratio::numeric::text)', '(encode(bytes, ''hex''))', '((reached AT TIME ZONE ''Europe/Paris'')::date)',
	'((reached AT TIME ZONE ''utc'')::date)', 'quote_literal(name)']) WITH ORDINALITY AS e (expr, n),
	lbt.error(format('SELECT lb_create_board(%L, %L, %L, rank_by => %L, board_column => %L)', 'k' || n, 'ey.kinds', 'id', 'id DESC', expr)) ORDER BY n;
-- A function that is replaced by such a one.
CREATE FUNCTION ey.shown(float8) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1::numeric::text';
SELECT lb_create_board('k', 'ey.kinds', 'id', rank_by => 'id DESC', board_column => 'ey.shown(ratio)');
INSERT INTO ey.kinds (id, ratio) VALUES (1, 0.1::float8 + 0.2);
SELECT lb_wait_ready();
CREATE OR REPLACE FUNCTION ey.shown(float8) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1::text';
SELECT lb_count('k:0.30000000000000004');
SET extra_float_digits = 0;
SELECT lb_count('k:0.30000000000000004'), lb_count('k:0.3');
RESET extra_float_digits;
SELECT lb_rebuild('k');

-- What no board can have.
\set VERBOSITY default
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points / played DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points / play) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points / played) + 1 DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points / played DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points * random()) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(1) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '((SELECT max(points) FROM ey.ratings)) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'max(points) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'generate_series(1, points) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points, played) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points::numeric / played) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(ratings::text) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(xmin::text) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points FROM ey.ratings) DESC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points); DROP TABLE ey.ratings ASC');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points::text) DESC', keeps => 'counts');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => '(points + 1) DESC, (points + 1)');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points DESC', ranked_if => 'played');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points DESC', ranked_if => 'played + 1');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points DESC', ranked_if => '');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points DESC', ranked_if => 'played > 3 OR');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points DESC', ranked_if => 'banned) OR (true');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points DESC', ranked_if => 'banned /* :) */') IS NOT NULL, lb_drop_board('x');
SELECT lb_create_board('x', 'ey.ratings', '(id + 1)', rank_by => 'points DESC');
SELECT lb_create_board('*', 'ey.ratings', 'id', rank_by => 'points DESC', board_column => 'lower(name)');
SELECT lb_create_board('x', 'ey.ratings', 'id', rank_by => 'points DESC', board_column => 'lower(name) DESC');
SELECT lb_close_season('partial', 'S1');
SELECT lb_create_board('hidden', 'ey.ratings', 'id', rank_by => 'points DESC', ranked_if => 'played > 3');
SELECT lb_hide(5, '{hidden}');

DROP SCHEMA ey, ez, ex_owner CASCADE;
REVOKE EXECUTE ON FUNCTION lb_create_board FROM ex_owner;
DROP ROLE ex_owner, ex_player;
SELECT * FROM lb_board;
