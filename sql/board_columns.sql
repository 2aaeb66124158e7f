--
-- Families with several board columns
--
CREATE TYPE mood AS ENUM ('sad', 'so, so', 'happy');
CREATE TABLE geo (player_id bigint PRIMARY KEY, country text, level integer, mood mood, day date, score bigint);
INSERT INTO geo SELECT i, (ARRAY['FR', 'DE', 'a,b', '', 'q"x\y', '(z) ', NULL])[1 + i % 7], nullif(i % 4, 3),
	(ARRAY['sad', 'so, so', 'happy', NULL])[1 + i % 4]::mood, date '2026-11-27' + i % 2, i * 7 % 50
FROM generate_series(1, 400) AS i;
SELECT lb_create_board('geo', 'geo', board_column => 'country, level', method => 'rank');
SELECT lb_create_board('mood', 'geo', board_column => 'mood, (lower(country)), day, (level > 0)', rank_by => 'score ASC');
SELECT lb_create_board('counted', 'geo', board_column => ' level , "country"', keeps => 'counts');
SELECT lb_create_board('one', 'geo', board_column => 'country');
SELECT lb_wait_ready();
SELECT board, board_column, expressions FROM lb_board ORDER BY id;
SELECT board, members FROM lb_stat_board WHERE board ~ '^(geo|counted)' ORDER BY board COLLATE "C";
SELECT board, members FROM lb_stat_board WHERE board ~ '^mood' ORDER BY board COLLATE "C" LIMIT 8;

-- All functions of each board, named by the row of its values.
CREATE FUNCTION geo_differences() RETURNS TABLE (board text, what text, operand text, got text, want text) LANGUAGE sql AS $$
	SELECT b.board, d.what, d.operand, d.got, d.want
	FROM (SELECT DISTINCT country, level FROM geo) AS g, LATERAL (SELECT 'geo:' || ROW(g.country, g.level)::text) AS b (board),
		lbt.differences(b.board, 'geo', format('country = %L AND level = %L AND score IS NOT NULL', g.country, g.level), method => 'rank') AS d
	WHERE (g.country, g.level) IN (('FR', 0), ('DE', 1), ('q"x\y', 0))
$$;
SELECT * FROM geo_differences();
SET DateStyle = 'ISO';
SELECT d.* FROM (SELECT DISTINCT mood, lower(country), day, level > 0 FROM geo
		WHERE country IS NOT NULL AND mood IS NOT NULL AND level IS NOT NULL ORDER BY 1, 2, 3, 4 LIMIT 2) AS g (m, c, d, l),
	lbt.differences('mood:' || ROW(g.m, g.c, g.d, g.l)::text, 'geo',
		format('mood = %L AND lower(country) = %L AND day = %L AND (level > 0) = %L AND score IS NOT NULL', g.m, g.c, g.d, g.l), dir => 'ASC') AS d;
SELECT lb_count(b), lb_rank_of_score(20, b), lb_count_between(3, 40, b) FROM unnest('{"counted:(0,\"a,b\")","counted:(2,\"a,b\")","counted:(2,\"(z) \")"}'::text[]) AS b;

-- Names: as PostgreSQL writes a row, and in no other way.
CREATE FUNCTION named(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN lb_count(name);
EXCEPTION WHEN undefined_object THEN
	RETURN sqlerrm;
END $$;
SELECT name, named(name) FROM unnest('{"geo:(FR,0)","geo:(DE,2)","geo:(XX,2)","geo:(FR,7)","geo:(\"\",1)","geo:(\"a,b\",2)","geo:(\"q\"\"x\\\\y\",0)","geo:(\"(z) \",1)",
	"geo:(,1)","geo:(\"FR\",0)","geo:(FR,00)","geo:(FR, 0)","geo:(FR,x)","geo:(FR)","geo:(FR,0,0)","geo:FR","geo:","geo:(FR,0","geo:()","geo:(\"FR)","geo:(q\"\"x\\y,0)","geo:(FR,0) ",
	"mood:(\"so, so\",fr,2026-11-28,t)","mood:(\"so, so\",fr,28.11.2026,t)","mood:(glad,fr,2026-11-28,t)","mood:(1,fr,2026-11-28,t)"}'::text[]) AS name;
SELECT * FROM lbt.error($$SELECT lb_rank(1, 'geo:(FR)')$$);
SELECT * FROM lbt.error($$SELECT lb_rank(1, 'geo')$$);
SET leaderboard.enable_index = off;
SELECT lb_count('geo:("q""x\\y",0)'), lb_count('geo:("",1)'), lb_count('mood:("so, so",fr,2026-11-28,t)'), lb_count('geo:(XX,2)');
RESET leaderboard.enable_index;
SET DateStyle = 'German';
SELECT lb_count('mood:("so, so",fr,2026-11-28,t)');
SET DateStyle = 'ISO';
SELECT name, named(name) FROM unnest('{"mood:(\"so, so\",fr,2026-11-28,t)"}'::text[]) AS name;

-- Rows change their board by any of the columns, or come to none.
BEGIN;
UPDATE geo SET level = 1 - level WHERE player_id IN (1, 8, 29);
UPDATE geo SET country = 'DE' WHERE player_id = 28;
UPDATE geo SET level = NULL WHERE player_id = 57;
UPDATE geo SET country = NULL, level = 2 WHERE player_id = 64;
SELECT * FROM geo_differences();
COMMIT;
SELECT * FROM geo_differences();
SELECT * FROM lb_verify();

-- A label with another name; columns with other names and types.
ALTER TYPE mood RENAME VALUE 'so, so' TO 'fair';
SELECT lb_count('mood:(fair,fr,2026-11-28,t)') FROM lb_wait_ready();
SELECT * FROM lbt.error($$SELECT lb_count('mood:("so, so",fr,2026-11-28,t)')$$);
ALTER TABLE geo RENAME level TO "Level, 1";
ALTER TABLE geo RENAME country TO land;
SELECT lb_wait_ready();
SELECT board, board_column FROM lb_board ORDER BY board;
SELECT lb_count('geo:(FR,0)'), lb_count('counted:(0,FR)');
ALTER TABLE geo RENAME "Level, 1" TO level;
ALTER TABLE geo RENAME land TO country;
ALTER TABLE geo ALTER level TYPE bigint;
SELECT lb_wait_ready();
SELECT * FROM geo_differences();
SELECT lb_count('counted:(0,FR)') = count(*) FROM geo WHERE country = 'FR' AND level = 0;
BEGIN;
ALTER TABLE geo DROP level;
SELECT * FROM lbt.error($$SELECT lb_rank(1, 'geo:(FR,0)')$$);
ROLLBACK;

-- Plain SQL: each column by =, or a list of one of them.
ANALYZE geo;
SELECT * FROM lbt.plan($$SELECT count(*) FROM geo WHERE level = 1 AND score > 10 AND country = 'FR'$$);
SELECT lbt.result($$SELECT count(*) FROM geo WHERE level = 1 AND score > 10 AND country = 'FR'$$);
SELECT * FROM lbt.plan($$SELECT count(*), max(score) FROM geo WHERE level IN (0, 2, NULL, 2, 9) AND country = 'FR'$$, 'ANALYZE');
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM geo WHERE level IN (0, 2, NULL, 2, 9) AND country = 'FR'$$);
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM geo WHERE level = 1 AND country = ANY ('{FR,DE,XX,"a,b",FR}')$$);
SELECT lbt.result($$SELECT count(*) FROM geo WHERE level = ANY ((SELECT array_agg(i) FROM generate_series(1, 150) AS i)::bigint[]) AND country = 'FR'$$);
SELECT lbt.nodes($$SELECT count(*) FROM geo WHERE level = 1 AND (country, level) = ('FR', 1)$$),
	lbt.nodes($$SELECT count(*) FROM geo WHERE (country, level) = ('FR', 1)$$),
	lbt.nodes($$SELECT count(*) FROM geo WHERE country IN ('FR', 'DE') AND level IN (1, 2)$$),
	lbt.nodes($$SELECT count(*) FROM geo WHERE level = 1$$),
	lbt.nodes($$SELECT count(*) FROM geo WHERE country = 'FR'$$) AS one,
	lbt.nodes($$SELECT count(*) FROM geo WHERE country = 'FR' AND level = 1.5$$),
	lbt.nodes($$SELECT count(*) FROM geo WHERE country = 'FR' AND level = 1 OR level = 2$$);
SELECT lbt.result($$SELECT count(*) FROM geo WHERE country = 'FR' AND level = NULL::integer$$);
SELECT lbt.result($$SELECT count(*) FROM geo WHERE country = 'FR' AND level = 9223372036854775807$$);
SELECT * FROM lbt.plan($$SELECT * FROM geo WHERE country = 'FR' AND level = 1 ORDER BY score DESC, player_id LIMIT 3$$);
SELECT lbt.result($$SELECT * FROM geo WHERE country = 'FR' AND level = 1 ORDER BY score DESC, player_id LIMIT 3$$);
SELECT lbt.result($$SELECT * FROM geo WHERE country = 'FR' AND level = 1 AND player_id > 90 ORDER BY score DESC, player_id LIMIT 3$$);
PREPARE board(text, bigint) AS SELECT count(*), max(score) FROM geo WHERE country = $1 AND level = $2;
SET plan_cache_mode = force_generic_plan;
SELECT lbt.result($$EXECUTE board('FR', 1)$$), lbt.result($$EXECUTE board('q"x\y', 0)$$), lbt.result($$EXECUTE board(NULL, 0)$$), lbt.result($$EXECUTE board('FR', NULL)$$);
RESET plan_cache_mode;
SELECT lbt.nodes($$SELECT count(*) FROM geo WHERE mood = 'happy' AND day = '2026-11-28' AND level > 0 AND lower(country) = 'fr'$$),
	lbt.nodes($$SELECT count(*) FROM geo WHERE mood = 'happy' AND day = '2026-11-28' AND (level > 0) = true AND lower(country) = 'fr'$$),
	lbt.nodes($$SELECT count(*) FROM geo WHERE mood = 'happy' AND day = '2026-11-28' AND lower(country) = 'fr'$$);
SELECT lbt.result($$SELECT count(*), min(score) FROM geo WHERE mood = 'happy' AND day = '2026-11-27' AND level > 0 AND lower(country) = 'fr'$$);
-- Windows with partitions by all of them, or by some and the others equal.
SELECT * FROM lbt.plan($$SELECT * FROM (SELECT *, rank() OVER (PARTITION BY level, country ORDER BY score DESC) FROM geo) AS r WHERE player_id = 29$$);
SELECT lbt.result($$SELECT * FROM (SELECT *, rank() OVER (PARTITION BY level, country ORDER BY score DESC) FROM geo WHERE country IS NOT NULL AND level IS NOT NULL) AS r WHERE player_id IN (1, 29, 30, 31)$$);
SELECT * FROM lbt.plan($$SELECT * FROM (SELECT *, rank() OVER (PARTITION BY level ORDER BY score DESC) FROM geo WHERE country = 'FR') AS r WHERE player_id = 28$$);
SELECT lbt.result($$SELECT * FROM (SELECT *, rank() OVER (PARTITION BY level ORDER BY score DESC) FROM geo WHERE country = 'FR' AND level IS NOT NULL) AS r WHERE player_id IN (7, 14, 28, 56)$$);
SELECT lbt.result($$SELECT * FROM (SELECT *, rank() OVER (PARTITION BY country ORDER BY score DESC) FROM geo WHERE country = 'FR' AND level = 1) AS r WHERE player_id IN (7, 14, 28, 56)$$);
SELECT lbt.nodes($$SELECT * FROM (SELECT *, rank() OVER (PARTITION BY level, day ORDER BY score DESC) FROM geo WHERE country = 'FR') AS r WHERE player_id = 28$$);
SELECT * FROM lb_explain($$SELECT count(*) FROM geo WHERE level = 1 AND score > 10$$);

-- Pages of counts, by an index that begins with the columns.
INSERT INTO geo (player_id, country, level, score) SELECT i, 'FR', 1, i % 999 FROM generate_series(1001, 9000) AS i;
CREATE INDEX ON geo (level, country, score DESC, player_id);
VACUUM ANALYZE geo;
SELECT * FROM lbt.plan($$SELECT player_id, score FROM geo WHERE country = 'FR' AND level = 1 ORDER BY score DESC, player_id LIMIT 3 OFFSET 5000$$);
SELECT lb_drop_board('geo'), lb_drop_board('one');
SELECT * FROM lbt.plan($$SELECT player_id, score FROM geo WHERE country = 'FR' AND level = 1 ORDER BY score DESC, player_id LIMIT 3 OFFSET 5000$$);
SELECT lbt.result($$SELECT player_id, score FROM geo WHERE country = 'FR' AND level = 1 ORDER BY score DESC, player_id LIMIT 3 OFFSET 5000$$);

-- Some of the columns alone: a sum of the boards, unless nulls or long texts can be in others.
CREATE TABLE lands (player_id bigint PRIMARY KEY, country text NOT NULL, level integer NOT NULL, live boolean NOT NULL, day date, score bigint NOT NULL);
INSERT INTO lands SELECT i, (ARRAY['FR', 'DE', 'a,b', 'q"x\y'])[1 + i % 4], i % 10, i % 3 = 0, date '0001-01-01 BC' + i % 2, i % 100 FROM generate_series(1, 600) AS i;
SELECT lb_create_board('lands', 'lands', board_column => 'live, country, level'), lb_create_board('days', 'lands', board_column => 'day, level');
SELECT lb_wait_ready();
ANALYZE lands;
SELECT * FROM lbt.plan($$SELECT count(*), max(score), min(score) FROM lands WHERE country = 'a,b' AND score > 10$$, 'ANALYZE');
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM lands WHERE country = 'a,b' AND score > 10$$);
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM lands WHERE live AND country = 'q"x\y'$$),
	lbt.result($$SELECT count(*), max(score) FROM lands WHERE country = 'XX'$$),
	lbt.result($$SELECT count(*), max(score) FROM lands WHERE country = NULL::text$$);
SELECT q, lbt.nodes('SELECT ' || q) AS nodes, lbt.result('SELECT ' || q) FROM unnest(ARRAY[
	'count(*) FROM lands WHERE country = ''FR'' AND level = 3',
	'count(*) FROM lands WHERE live AND level = 3',
	'count(*) FROM lands WHERE live',
	'count(*) FROM lands WHERE country = ''FR'' AND level IN (3, 4)',
	'count(DISTINCT score) FROM lands WHERE country = ''FR''',
	'count(*) FROM lands WHERE day = ''0001-01-01 BC''',
	'count(*) FROM lands WHERE level = 3',
	'count(*) FROM lands WHERE level = 3 AND day IS NOT NULL',
	'count(*) FILTER (WHERE score > 50), count(*) FROM lands WHERE level = 3 AND day IS NOT NULL',
	'count(*) FILTER (WHERE day = ''0001-01-01 BC''), count(*) FROM lands WHERE level = 3 AND day IS NOT NULL',
	'count(*) FROM (SELECT * FROM lands WHERE level = 3 AND day IS NOT NULL LIMIT 5) AS l']) AS q;
SELECT reason FROM lb_explain($$SELECT rank(4) WITHIN GROUP (ORDER BY score DESC) FROM lands WHERE country = 'FR'$$) WHERE board = 'lands';
-- Boards that the transaction has made and emptied; one that is older than a change; more of them than one query reads.
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO lands VALUES (1001, 'FR', 77, true, '2026-11-28', 1000);
DELETE FROM lands WHERE country = 'FR' AND level = 4;
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM lands WHERE country = 'FR'$$);
COMMIT;
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM lands WHERE country = 'FR'$$);
INSERT INTO lands SELECT i, 'FR', i, true, NULL, 5 FROM generate_series(2001, 2100) AS i;
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM lands WHERE country = 'FR'$$);
SELECT * FROM lbt.plan($$SELECT count(*) FROM lands WHERE country = 'FR'$$, 'ANALYZE');
SELECT * FROM lb_verify();
-- The columns in another order: until the commit the index stays that of the others.
SELECT lb_stat_reset();
SELECT lb_count('lands:(t,DE,5)');
BEGIN;
UPDATE lb_board SET board_column = 'country, live, level' WHERE board = 'lands';
SELECT lb_count('lands:(DE,t,5)'), lb_wait_ready('5 min');
SELECT lbt.result($$SELECT count(*), max(score), min(score) FROM lands WHERE country = 'DE'$$);
ROLLBACK;
SELECT state, index_reads FROM lb_stat_board WHERE board = 'lands:(t,DE,5)';

-- Conditions that are board columns, or order: PostgreSQL writes "= true" and NOT in other ways.
SELECT lb_create_board('high', 'lands', rank_by => '(day IS NOT NULL) ASC, live DESC, score DESC', board_column => '(level > 4), country');
SELECT lb_wait_ready();
SELECT q, lbt.nodes('SELECT ' || q) AS nodes, lbt.result('SELECT ' || q) FROM unnest(ARRAY[
	'count(*) FROM lands WHERE level > 4 AND country = ''FR''',
	'count(*) FROM lands WHERE NOT level > 4 AND country = ''FR''',
	'count(*) FROM lands WHERE (level > 4) = ''f'' AND country = ''FR'' AND day IS NOT NULL',
	'count(*) FROM lands WHERE (level > 4) IS FALSE AND country = ''DE'' AND day IS NULL AND live',
	'count(*) FROM lands WHERE (level > 4) IS NOT FALSE AND country = ''DE''',
	'count(*) FROM lands WHERE level > 5 AND country = ''FR''',
	'count(*) FROM lands WHERE level > 4 AND country = ''FR'' AND day IS NOT NULL AND NOT live AND score > 50',
	'* FROM lands WHERE level <= 4 AND country = ''DE'' AND (day IS NOT NULL) IS TRUE AND live ORDER BY live DESC, score DESC, player_id LIMIT 3 OFFSET 2']) AS q;
SELECT lb_drop_board('high');

-- A key that has some of them, or all.
CREATE TABLE scores (player_id bigint, country text, level integer NOT NULL, score bigint NOT NULL, shown boolean DEFAULT true, UNIQUE (level, player_id, country));
INSERT INTO scores SELECT i, (ARRAY['FR', 'DE'])[1 + c], l, i * (7 + c + l) % 40 FROM generate_series(1, 60) AS i, generate_series(0, 1) AS c, generate_series(0, 2) AS l;
SELECT lb_create_board('scores', 'scores', board_column => 'country, level', ranked_if => 'shown');
SELECT * FROM lbt.error($$SELECT lb_create_board('land', 'scores', board_column => 'country')$$);
SELECT * FROM lbt.error($$SELECT lb_create_board('level', 'scores', board_column => 'level, shown')$$);
SELECT lb_wait_ready();
SELECT lb_count('scores:(FR,1)'), lb_rank(7, 'scores:(FR,1)') = (SELECT count(*) + 1 FROM scores s, scores m
	WHERE (s.country, s.level, m.country, m.level, m.player_id) = ('FR', 1, 'FR', 1, 7) AND (s.score > m.score OR s.score = m.score AND s.player_id < 7)) AS right;
SELECT lbt.result($$SELECT * FROM scores WHERE country = 'FR' AND level = 1 AND shown ORDER BY score DESC, player_id LIMIT 4 OFFSET 20$$);
SELECT lbt.result($$SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY country, level ORDER BY score DESC, player_id) FROM scores WHERE shown AND country IS NOT NULL AND player_id IS NOT NULL) AS r WHERE player_id = 7 AND country = 'DE'$$);
SELECT lb_hide(7, boards => '{scores}');
SELECT lb_count('scores:(FR,1)'), lb_count('scores:(DE,2)');
SELECT lb_show(7, boards => '{scores}');
SELECT lb_count('scores:(FR,1)'), lb_count('scores:(DE,2)');
SELECT lb_create_board('lower', 'scores', board_column => '(lower(country)), country, level', ranked_if => 'shown');
SELECT lb_hide(7, boards => '{lower}'), lb_show(7, boards => '{lower}');
SELECT lb_drop_board('lower');
SELECT * FROM lb_verify();

-- What they do not have.
SELECT * FROM lbt.error($$SELECT lb_create_board('*', 'scores', board_column => 'country, level')$$);
SELECT * FROM lbt.error($$SELECT lb_create_board('x', 'scores', board_column => 'country, level, country')$$);
SELECT * FROM lbt.error($$SELECT lb_create_board('x', 'scores', board_column => 'country, level, (level + 1), (level + 2), (level + 3)')$$);
SELECT * FROM lbt.error($$SELECT lb_create_board('x', 'scores', board_column => 'country, nothing')$$);
SELECT * FROM lbt.error($$SELECT lb_create_board('x', 'scores', board_column => 'country, ')$$);
SELECT * FROM lbt.error($$SELECT lb_create_board('x', 'geo', board_column => 'country, (score::numeric / 3)')$$);
SELECT * FROM lbt.error($$SELECT lb_close_season('scores:(FR,1)', 's1')$$);

-- Values that are too long for an index.
INSERT INTO scores VALUES (99, repeat('x', 1015), 1, 5), (99, repeat('x', 1025), 1, 5), (99, repeat('"', 600), 1, 5);
SELECT length(country), lb_rank(99, 'scores:' || ROW(country, level)::text), lb_rank(99, 'scores:' || ROW(country, level + 1)::text) FROM scores WHERE player_id = 99 ORDER BY 1;
SELECT lbt.result($$SELECT count(*) FROM scores WHERE shown AND country = repeat('x', 1025) AND level = 1 AND player_id IS NOT NULL$$);
SELECT lbt.result($$SELECT count(*) FROM scores WHERE shown AND country = repeat('"', 600) AND level = 1 AND player_id IS NOT NULL$$);
SELECT * FROM lb_verify();
DROP TABLE scores, geo, lands;
DROP TYPE mood;
DROP FUNCTION geo_differences, named;
RESET DateStyle;
