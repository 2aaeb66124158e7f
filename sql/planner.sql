--
-- Plain SQL that the planner answers by boards: aggregates
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL, level smallint NOT NULL,
	name text, guild int);
INSERT INTO player SELECT i, i * 7 % 100, i % 5, 'player ' || i, nullif(i % 3, 0)
FROM generate_series(1, 500) i;
SELECT lb_create_board('global', 'player', 'id', 'score DESC, level DESC');
CREATE TABLE country_player (id int PRIMARY KEY, country text NOT NULL, points numeric(8,2) NOT NULL,
	ok boolean NOT NULL DEFAULT true);
INSERT INTO country_player SELECT i, (ARRAY['FR', 'JP', 'US'])[i % 3 + 1], i % 40 / 4.0, i % 11 <> 0
FROM generate_series(1, 300) i;
SELECT lb_create_board('country', 'country_player', 'id', 'points ASC', board_column => 'country', ranked_if => 'ok');
CREATE TABLE speed (id int PRIMARY KEY, seconds float8, run date);
INSERT INTO speed SELECT i, CASE i % 30 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN NULL WHEN 3 THEN '-Infinity' ELSE i % 13 / 3.0::float8 END, '2026-01-01'::date + i
FROM generate_series(1, 200) i;
SELECT lb_create_board('speed', 'speed', 'id', 'seconds ASC');
SELECT lb_wait_ready();
ANALYZE player, country_player, speed;

-- Plans.
SELECT lbt.plan('SELECT count(*) FROM player');
SELECT lbt.plan('SELECT count(*) + 1 AS rank FROM player WHERE 50 < score');
SELECT lbt.plan('SELECT max(score), min(score), count(score) FROM player WHERE score BETWEEN 10 AND 20.5 HAVING count(*) > 1');
SELECT lbt.plan('SELECT id, (SELECT count(*) + 1 FROM player WHERE score > p.score) FROM player p WHERE id = 5');
SELECT lbt.plan('SELECT count(*) FROM country_player WHERE country = ''FR'' AND ok AND points >= 5');
SELECT lbt.plan('SELECT rank(50) WITHIN GROUP (ORDER BY score DESC) FROM player', 'VERBOSE');
SELECT format, lbt.explained(format, 'SELECT count(*) FROM country_player WHERE country = ''FR'' AND ok AND points >= 5')
FROM unnest('{text,json,xml,yaml}'::text[]) format;
SELECT lbt.explained('json', 'SELECT count(*) FROM player WHERE (score, level) > (50, 3)');
SELECT lbt.explained('json', 'SELECT id FROM player WHERE id < 0 AND score > (SELECT count(*) FROM player q WHERE q.score > player.score)');

-- What is recognized, and what it returns.
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT count(*) FROM player',
	'SELECT count(1) FROM player',
	'SELECT count(id), count(score), count(level) FROM player',
	'SELECT count(DISTINCT score) FROM player WHERE score < 50',
	'SELECT count(DISTINCT score) FROM player WHERE score < (SELECT -1)',
	'SELECT min(score), max(score) FROM player',
	'SELECT min(score), max(score) FROM player WHERE score > 99',
	'SELECT count(*), count(*) FROM player WHERE score = 7',
	'SELECT count(*) FROM player WHERE score = 7 AND level > 2',
	'SELECT count(*) FROM player WHERE score = 7 AND level = 2 AND id < 300',
	'SELECT count(*) FROM player WHERE score = 7 AND score > 8',
	'SELECT count(*) FROM player WHERE score > 5 AND score > 7 AND score < 9::bigint AND score <= 8::smallint',
	'SELECT count(*) FROM player WHERE score > 50.5',
	'SELECT count(*) FROM player WHERE score >= 50.5::float8 AND score <= 60::float8',
	'SELECT count(*) FROM player WHERE score > ''NaN''::numeric',
	'SELECT count(*) FROM player WHERE score < ''NaN''::float8',
	'SELECT count(*) FROM player WHERE score < ''Infinity''::float8 AND score > ''-Infinity''::numeric',
	'SELECT count(*) FROM player WHERE score < 1e30 AND score > -1e30',
	'SELECT count(*) FROM player WHERE score < NULL',
	'SELECT count(*) FROM player WHERE score < (SELECT NULL::int)',
	'SELECT count(*) FROM player WHERE score > (SELECT avg(score) FROM player)',
	'SELECT count(*) FROM player WHERE (score, level) > (50, 3)',
	'SELECT count(*) FROM player WHERE (score, level) <= (50, (SELECT NULL::smallint))',
	'SELECT count(*) FROM player WHERE (score, level) >= (50, (SELECT NULL::smallint))',
	'SELECT count(*) FROM player WHERE score IS NOT NULL',
	'SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY score), percentile_disc(0.25) WITHIN GROUP (ORDER BY score DESC) FROM player',
	'SELECT percentile_disc(0) WITHIN GROUP (ORDER BY score), percentile_disc(1) WITHIN GROUP (ORDER BY score) FROM player WHERE score > 10',
	'SELECT percentile_disc(NULL) WITHIN GROUP (ORDER BY score) FROM player',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY score) FROM player WHERE score > 1000',
	'SELECT rank(50) WITHIN GROUP (ORDER BY score), dense_rank(50) WITHIN GROUP (ORDER BY score), percent_rank(50) WITHIN GROUP (ORDER BY score), cume_dist(50) WITHIN GROUP (ORDER BY score) FROM player',
	'SELECT rank(50) WITHIN GROUP (ORDER BY score DESC), dense_rank(50) WITHIN GROUP (ORDER BY score DESC), percent_rank(50) WITHIN GROUP (ORDER BY score DESC), cume_dist(50) WITHIN GROUP (ORDER BY score DESC) FROM player',
	'SELECT rank(50.5) WITHIN GROUP (ORDER BY score), dense_rank(50.5) WITHIN GROUP (ORDER BY score DESC) FROM player WHERE score > 40 AND score < 60',
	'SELECT rank(50, 2) WITHIN GROUP (ORDER BY score DESC, level DESC), rank(50, 2) WITHIN GROUP (ORDER BY score, level) FROM player',
	'SELECT rank(NULL) WITHIN GROUP (ORDER BY score), rank(NULL) WITHIN GROUP (ORDER BY score DESC), cume_dist(NULL) WITHIN GROUP (ORDER BY score NULLS FIRST) FROM player',
	'SELECT rank(50, NULL) WITHIN GROUP (ORDER BY score, level), rank(50, NULL) WITHIN GROUP (ORDER BY score DESC, level DESC) FROM player',
	'SELECT percent_rank(1) WITHIN GROUP (ORDER BY score), cume_dist(1) WITHIN GROUP (ORDER BY score), rank(1) WITHIN GROUP (ORDER BY score) FROM player WHERE score > 1000',
	'SELECT count(*) FILTER (WHERE score > 50), count(*), max(score) FILTER (WHERE score < 50.5), count(DISTINCT score) FILTER (WHERE score > 1000), min(score) FILTER (WHERE score > 1000) FROM player WHERE score > 20',
	'SELECT count(*) FILTER (WHERE level < 3), count(*) FILTER (WHERE level = 1 AND id > 100), rank(7, 2) WITHIN GROUP (ORDER BY score DESC, level DESC) FILTER (WHERE level > 1) FROM player WHERE score = 7',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY score) FILTER (WHERE score < 30), dense_rank(50) WITHIN GROUP (ORDER BY score) FILTER (WHERE score > 10) FROM player HAVING count(*) FILTER (WHERE score = 3) > 2',
	'SELECT (SELECT count(*) FILTER (WHERE score > p.score) FROM player) FROM player p WHERE id < 4',
	'SELECT count(*) FROM player HAVING count(*) > 1000',
	'SELECT count(*) FROM player WHERE score > 90 HAVING max(score) = 99 LIMIT 1',
	'SELECT * FROM (SELECT count(*) AS n FROM player WHERE score < 3) s WHERE n > 0',
	'SELECT (SELECT count(*) FROM player WHERE score > p.score) FROM player p WHERE id < 4',
	'SELECT count(*) FROM country_player WHERE country = ''FR'' AND ok',
	'SELECT count(*), max(points) FROM country_player WHERE country = ''JP'' AND ok IS TRUE AND points < 7',
	'SELECT count(*), min(points) FROM country_player WHERE country = ''XX'' AND ok',
	'SELECT count(*), min(points) FROM country_player WHERE country = NULL::text || ''x'' AND ok',
	'SELECT count(*) FROM country_player WHERE country = ''JP'' AND ok AND points > 3.333',
	'SELECT count(*) FILTER (WHERE ok), max(points) FILTER (WHERE ok AND points < 3) FROM country_player WHERE country = ''JP''',
	'SELECT count(*) FILTER (WHERE points > 3), max(points) FILTER (WHERE points < 3) FROM country_player WHERE country = ''XX'' AND ok',
	'SELECT c, (SELECT count(*) FROM country_player WHERE country = c AND ok AND points > 5) FROM unnest(ARRAY[''FR'', ''US'', NULL]) c',
	'SELECT count(seconds), max(seconds), min(seconds), count(DISTINCT seconds) FROM speed',
	'SELECT count(*) FILTER (WHERE seconds > 1), count(*) FILTER (WHERE seconds IS NOT NULL), max(seconds) FROM speed',
	'SELECT count(*) FROM speed WHERE seconds > 1 AND seconds < ''NaN''',
	'SELECT count(*) FROM speed WHERE seconds = ''NaN'' OR false',
	'SELECT count(*) FROM speed WHERE seconds >= 2::float4',
	'SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY seconds) FROM speed'
]) query;
-- Version 17 proves that there is no row, and reads nothing.
SELECT lbt.answered_by(query) = CASE WHEN current_setting('server_version_num')::int >= 170000 THEN '' ELSE 'Aggregate index' END AS known, lbt.result(query)
FROM (VALUES ('SELECT count(*) FROM player WHERE score = 7 AND score = 8')) v (query);

-- What is not.
CREATE FUNCTION to_text(int) RETURNS text LANGUAGE sql AS 'SELECT $1::text';
CREATE AGGREGATE last_text(int) (sfunc = int4larger, stype = int, finalfunc = to_text, sortop = '>');
CREATE AGGREGATE at_least_77(int) (sfunc = int4larger, stype = int, sortop = '>', initcond = '77');
SELECT last_text(score), at_least_77(score) FROM player WHERE score > 5000;
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM player WHERE guild = 1',
	'SELECT count(guild) FROM player',
	'SELECT max(ctid), max(tableoid) FROM player',
	'SELECT count(player) FROM player',
	'SELECT count(1 ORDER BY name) FROM player',
	'SELECT last_text(score) FROM player',
	'SELECT at_least_77(score) FROM player WHERE score > 5000',
	'SELECT count(*) FROM player WHERE score > 5 AND name LIKE ''a%''',
	'SELECT count(*) FROM player WHERE score > 5 OR score < 3',
	'SELECT count(*) FROM player WHERE score <> 5',
	'SELECT count(*) FROM player WHERE score + 1 > 5',
	'SELECT count(*) FROM player WHERE score > level',
	'SELECT count(*) FROM player WHERE score > random() * 50',
	'SELECT count(*) FROM player WHERE score = ANY (ARRAY[1, 2])',
	'SELECT count(*) FROM player WHERE level > 2',
	'SELECT count(*) FROM player WHERE score > 5 AND level > 2',
	'SELECT count(*) FROM player WHERE score::oid > 5::oid',
	'SELECT count(*) FROM player WHERE score IS NULL',
	'SELECT count(DISTINCT score) FROM player WHERE score = 7 AND level < 2',
	'SELECT count(DISTINCT level) FROM player',
	'SELECT max(level) FROM player',
	'SELECT max(score + 1) FROM player',
	'SELECT sum(score), count(*) FROM player',
	'SELECT avg(score) FROM player WHERE score > 50',
	'SELECT max(score) FILTER (WHERE guild = 1), count(*) FROM player',
	'SELECT count(*) FILTER (WHERE guild = 1) FROM player',
	'SELECT count(*) FILTER (WHERE false), count(*) FILTER (WHERE level > 2) FROM player',
	'SELECT count(*) FILTER (WHERE score > 3 OR score < 2) FROM player',
	'SELECT count(*) FILTER (WHERE score > 1 / (SELECT 0)) FROM player WHERE score > 99999',
	'SELECT count(DISTINCT score) FILTER (WHERE level > 2) FROM player WHERE score = 7',
	'SELECT count(*) FILTER (WHERE country = ''FR'') FROM country_player WHERE ok',
	'SELECT count(*) FILTER (WHERE country = ''FR'') FROM country_player WHERE country = ''JP'' AND ok',
	'SELECT count(*) FILTER (WHERE ok), count(*) FROM country_player WHERE country = ''JP''',
	'SELECT count(*) FILTER (WHERE seconds > 1), count(*) FROM speed',
	'SELECT percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY score) FROM player',
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY score) FROM player',
	'SELECT rank(5, 2) WITHIN GROUP (ORDER BY score, level DESC) FROM player',
	'SELECT rank(5) WITHIN GROUP (ORDER BY level) FROM player',
	'SELECT score, count(*) FROM player GROUP BY score',
	'SELECT count(*) FROM player GROUP BY GROUPING SETS ((), ())',
	'SELECT count(*) FROM player TABLESAMPLE system (100)',
	'SELECT count(*) FROM player p, player q WHERE p.score > 5 AND q.id = p.level',
	'SELECT count(*) FROM country_player WHERE country = ''FR''',
	'SELECT count(*) FROM country_player WHERE ok',
	'SELECT count(*) FROM country_player WHERE country > ''FR'' AND ok',
	'SELECT count(*) FROM country_player WHERE country = ''FR'' AND NOT ok',
	'SELECT count(*) FROM country_player WHERE country = ''FR'' AND ok AND points > 3::float8',
	'SELECT count(*) FROM speed',
	'SELECT rank(3) WITHIN GROUP (ORDER BY seconds) FROM speed'
]) query WHERE lbt.nodes(query) <> '';

-- Keys of other types: -0 is equal to 0, and only the query knows which it is.
CREATE TABLE u (id uuid PRIMARY KEY, score float4 NOT NULL, at timestamptz NOT NULL, flag boolean NOT NULL);
INSERT INTO u SELECT md5(i::text)::uuid, i % 21 - 5, '2026-01-01'::timestamptz + i % 3 * interval '1 day', i % 2 = 0 FROM generate_series(1, 400) i;
UPDATE u SET score = '-0' WHERE score = 0 AND flag;
SELECT lb_create_board('u', 'u', 'id', 'score ASC, at', board_column => 'flag');
CREATE TABLE tx (name text PRIMARY KEY, score date NOT NULL, lvl int NOT NULL);
INSERT INTO tx SELECT 'name ' || i, '2026-01-01'::date + i % 30, i % 4 FROM generate_series(1, 300) i;
SELECT lb_create_board('tx', 'tx', 'name', 'score DESC, lvl DESC');
SELECT lb_wait_ready();
ANALYZE u, tx;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*), max(score), min(score) FROM u WHERE flag AND score > 1.5',
	'SELECT count(*), max(score) FROM u WHERE NOT flag AND (score, at, id) > (3, ''2026-01-02'', ''80000000-0000-0000-0000-000000000000'')',
	'SELECT count(*), max(score) FROM u WHERE flag = false AND score = 3::float8 AND at = ''2026-01-02'' AND id > ''80000000-0000-0000-0000-000000000000''',
	'SELECT count(*), max(score) FROM u WHERE flag AND score = 3 AND at >= ''2026-01-02''',
	'SELECT max(score) FROM u WHERE flag AND score <= 0',
	'SELECT min(score), count(*) FROM u WHERE flag AND score >= 0',
	'SELECT count(*) FROM u WHERE flag IS FALSE AND score < 0.1',
	'SELECT rank(3, ''2026-01-02'', ''80000000-0000-0000-0000-000000000000'') WITHIN GROUP (ORDER BY score DESC, at DESC, id DESC) FROM u WHERE flag',
	'SELECT rank(3::float4, ''2026-01-02''::timestamptz) WITHIN GROUP (ORDER BY score, at), rank(3::float4, ''2026-01-02''::timestamptz) WITHIN GROUP (ORDER BY score DESC, at DESC) FROM u WHERE flag',
	'SELECT count(*), max(score) FROM tx WHERE score > ''2026-01-10''',
	'SELECT count(*), max(score), dense_rank(''2026-01-11''::date) WITHIN GROUP (ORDER BY score) FROM tx WHERE score > ''2026-01-10''',
	'SELECT count(*) FROM tx WHERE (score, lvl) > (''2026-01-10'', 2)',
	'SELECT count(*) FROM tx WHERE score > ''2026-01-10''::timestamp'
]) query;
INSERT INTO tx VALUES ('x', 'infinity', 1), ('y', '-infinity', 2);
BEGIN;
INSERT INTO tx VALUES ('z', '2027-01-01', 1);
SELECT lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*), max(score), min(score), count(DISTINCT score) FROM tx',
	'SELECT count(*), percentile_disc(0.99) WITHIN GROUP (ORDER BY score) FROM tx WHERE score > ''2026-01-10'' AND score < ''infinity'''
]) query;
ROLLBACK;

-- An error is the ordinary plan's.
SELECT lbt.result('SELECT percentile_disc(2) WITHIN GROUP (ORDER BY score) FROM player');
SELECT lbt.result('SELECT count(1 ORDER BY 1 / (score - 5)) FROM player');

-- Random quals: operands of many types, at the ends, between and beyond scores.
DO $$
DECLARE
	operands text[] := '{-1,0,7,50,50.5,99,100,null::int,49.999::float8,7::smallint,99::bigint,-1e30,1e30}';
	operators text[] := '{<,<=,=,>=,>}';
	operand text;
	op text;
	other text;
	aggs text := 'count(*), count(DISTINCT score), min(score), max(score), percentile_disc(0.3) WITHIN GROUP (ORDER BY score)';
BEGIN
	FOREACH operand IN ARRAY operands LOOP
		FOREACH op IN ARRAY operators LOOP
			PERFORM lbt.result(format('SELECT %s FROM player WHERE score %s %s', aggs, op, operand));
			FOREACH other IN ARRAY '{score > 30,score <= 60.0,"(score, level) < (50, 2)",score = 50,score = 7.0}'::text[] LOOP
				PERFORM lbt.result(format('SELECT count(*), max(score), rank(%3$s) WITHIN GROUP (ORDER BY score), cume_dist(%3$s) WITHIN GROUP (ORDER BY score DESC) FROM player WHERE score %1$s %3$s AND %2$s', op, other, operand));
				PERFORM lbt.result(format('SELECT count(*) FILTER (WHERE score %1$s %3$s), count(*) FILTER (WHERE %2$s AND score %1$s %3$s), max(score) FROM player WHERE %2$s', op, other, operand));
			END LOOP;
			PERFORM lbt.result(format('SELECT count(*), min(score) FROM player WHERE score = 50 AND level %s %s', op, operand));
			PERFORM lbt.result(format('SELECT count(*), min(seconds), max(seconds), count(DISTINCT seconds) FROM speed WHERE seconds %s %s AND seconds %s 1.3333', op, operand, op));
			PERFORM lbt.result(format('SELECT count(*), min(points), dense_rank(%2$s) WITHIN GROUP (ORDER BY points) FROM country_player WHERE country = ''JP'' AND ok AND points %1$s %2$s', op, operand));
		END LOOP;
	END LOOP;
END $$;

-- Scores that double precision does not distinguish.
CREATE TABLE large (id int PRIMARY KEY, score bigint NOT NULL);
INSERT INTO large SELECT i, 9007199254740992 + i FROM generate_series(-10, 10) i
	UNION ALL SELECT 100, -9223372036854775808 UNION ALL SELECT 101, 9223372036854775807;
SELECT lb_create_board('large', 'large', 'id', 'score DESC');
SELECT lb_wait_ready();
SELECT o, x, lbt.answered_by(q), lbt.result(q)
FROM unnest('{<,=,>}'::text[]) o, unnest('{9007199254740992,9007199254740996,9223372036854775807,-9223372036854775808,Infinity}'::text[]) x,
	format('SELECT count(*) FROM large WHERE score %s ''%s''::float8', o, x) q;

SELECT lbt.answered_by(q), lbt.result(q) FROM unnest(ARRAY[
	'SELECT dense_rank(''NaN''::float8) WITHIN GROUP (ORDER BY score), count(DISTINCT score) FROM large',
	'SELECT rank(9007199254740992::float8) WITHIN GROUP (ORDER BY score), cume_dist(9007199254740992::float8) WITHIN GROUP (ORDER BY score DESC) FROM large',
	'SELECT dense_rank(50.5::float8) WITHIN GROUP (ORDER BY score) FROM player'
]) q;

-- Texts whose collations conflict.
CREATE TABLE posix (id int PRIMARY KEY, kind text COLLATE "POSIX" NOT NULL, points int NOT NULL);
INSERT INTO posix SELECT i, 'a', i FROM generate_series(1, 300) i;
SELECT lb_create_board('posix', 'posix', 'id', 'points ASC', board_column => 'kind');
SELECT lb_wait_ready();
ANALYZE posix;
SELECT lbt.result('SELECT (SELECT count(*) FROM posix WHERE kind = c) FROM (VALUES (''a'' COLLATE "C")) v (c)');
SELECT lbt.answered_by(q), lbt.result(q) FROM (VALUES ('SELECT (SELECT count(*) FROM posix WHERE kind = c COLLATE "POSIX") FROM (VALUES (''a'')) v (c)')) v (q);

-- A select list with a function that returns a set, above max() by an index.
CREATE TABLE series (id int PRIMARY KEY);
INSERT INTO series SELECT generate_series(1, 3000);
SELECT lb_create_board('series', 'series', 'id', 'id ASC');
SELECT lb_wait_ready();
ANALYZE series;
SELECT lbt.answered_by(q), lbt.result(q) FROM (VALUES ('SELECT max(id), generate_series(1, 3) AS g FROM series ORDER BY g DESC')) v (q);

-- Own changes, before and after they are captured; a cursor's snapshot.
BEGIN;
UPDATE player SET score = score + 1000 WHERE id <= 3;
SELECT lbt.result('SELECT count(*), max(score) FROM player WHERE score > 500');
DECLARE c SCROLL CURSOR FOR SELECT count(*), max(score) FROM player WHERE score > 500;
DELETE FROM player WHERE id = 1;
FETCH c;
FETCH c;
FETCH BACKWARD c;
SELECT lbt.result('SELECT count(*), max(score) FROM player WHERE score > 500');
ROLLBACK;
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT count(*) FROM player WHERE score > 50;
COMMIT;
FETCH h;
CLOSE h;

-- A statement's own rows are not captured while it runs: then the child answers.
BEGIN;
UPDATE player p SET score = (SELECT count(*) FROM player WHERE score > p.score) WHERE id <= 20;
SELECT id, score FROM player WHERE id <= 5 ORDER BY id;
ROLLBACK;
UPDATE player SET score = score WHERE score = (SELECT max(score) FROM player) RETURNING id;

-- Plans that are kept follow boards that come and go.
PREPARE above(int) AS SELECT count(*) FROM player WHERE score > $1;
SET plan_cache_mode = force_generic_plan;
SELECT lbt.plan('EXECUTE above(50)', 'ANALYZE');
EXECUTE above(50);
BEGIN;
SELECT lb_drop_board('global');
EXPLAIN (COSTS OFF) EXECUTE above(50);
EXECUTE above(50);
ROLLBACK;
EXPLAIN (COSTS OFF) EXECUTE above(50);
ALTER TABLE player ALTER level DROP NOT NULL;
EXPLAIN (COSTS OFF) EXECUTE above(50);
ALTER TABLE player ALTER level SET NOT NULL;
-- The board is built again after such a change.
SELECT lb_wait_ready();
EXPLAIN (COSTS OFF) EXECUTE above(50);
SET leaderboard.enable_planner = off;
SELECT lbt.plan('EXECUTE above(50)', 'ANALYZE');
RESET leaderboard.enable_planner;
SET leaderboard.enable_index = off;
SELECT lbt.plan('EXECUTE above(50)', 'ANALYZE');
RESET leaderboard.enable_index;
RESET plan_cache_mode;
DEALLOCATE above;

-- The index is never waited for, and being offline is no error.
BEGIN;
SET LOCAL leaderboard.offline = 'error';
SET LOCAL leaderboard.not_ready = 'error';
ALTER TABLE player DISABLE TRIGGER leaderboard_capture;
SELECT count(*) FROM player WHERE score > 50;
ROLLBACK;
SELECT lb_wait_ready();

-- Each cause is counted.
SELECT lb_stat_reset();
BEGIN;
SET LOCAL leaderboard.enable_index = off;
SELECT lbt.answered_by('SELECT count(*) FROM player WHERE score > 50');
ROLLBACK;
BEGIN;
UPDATE player p SET score = (SELECT count(*) FROM player WHERE score > p.score) WHERE id <= 3;
ROLLBACK;
BEGIN;
SELECT lb_create_board('again', 'large', 'id', 'id ASC');
SELECT lbt.answered_by('SELECT count(*) FROM large WHERE id > 5');
ROLLBACK;
SELECT lbt.answered_by('SELECT max(score) FROM u WHERE flag AND score <= 0');
SELECT lbt.answered_by('SELECT count(*) FROM country_player WHERE ok AND country = ' || quote_literal(repeat('x', 2000)));
SELECT count(*) FROM player WHERE score > 50;
SELECT board, index_reads, query_reads, planned_reads, planned_queries, planned_disabled, planned_snapshot,
	planned_building, planned_offline, planned_trigger, planned_own_changes, planned_unsettled, planned_limit
FROM lb_stat_board WHERE planned_reads + planned_queries > 0 ORDER BY board;

-- Functions that answer by their query do not use the planner's nodes.
SET leaderboard.enable_index = off;
SELECT lb_rank(7);
RESET leaderboard.enable_index;

-- Rights are those of plain SQL: of the view's owner, by columns, and by policies.
CREATE ROLE lb_reader;
CREATE VIEW above_50 AS SELECT count(*) FROM player WHERE score > 50;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM player WHERE score > 50;
GRANT SELECT ON above_50, barrier TO lb_reader;
GRANT SELECT (score) ON player TO lb_reader;
GRANT USAGE ON SCHEMA public TO lb_reader;
SET ROLE lb_reader;
SELECT * FROM above_50;
SELECT lbt.answered_by('SELECT * FROM above_50'), lbt.answered_by('SELECT count(*) FROM player WHERE score > 3'),
	lbt.answered_by('SELECT count(*) FROM barrier WHERE score < 60');
SELECT count(id) FROM player;
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION count() FROM PUBLIC;
SET LOCAL ROLE lb_reader;
SELECT lbt.result('SELECT count(*) FROM player WHERE score > 3');
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION int4gt(int, int) FROM PUBLIC;
SET LOCAL ROLE lb_reader;
SELECT lbt.result('SELECT count(*) FROM player WHERE score > 3'), lbt.result('SELECT count(*) FROM player WHERE score < 3');
ROLLBACK;
ALTER TABLE player ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON player USING (score < 60);
SELECT lb_wait_ready();
SET ROLE lb_reader;
SELECT lbt.answered_by('SELECT count(*) FROM player WHERE score > 50'), lbt.result('SELECT count(*) FROM player WHERE score > 50');
SELECT lbt.answered_by('SELECT * FROM above_50'), lbt.result('SELECT * FROM above_50');
RESET ROLE;
ALTER TABLE player DISABLE ROW LEVEL SECURITY;
DROP POLICY low ON player;
SELECT lb_wait_ready();

-- Partitions, inheritance, joins that are removed, parallel plans.
CREATE TABLE parted (id int, score int NOT NULL, season int NOT NULL, PRIMARY KEY (id, season)) PARTITION BY LIST (season);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (score int NOT NULL, season int NOT NULL, id int NOT NULL);
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
INSERT INTO parted SELECT i, i % 30, i % 2 + 1 FROM generate_series(1, 100) i;
SELECT lb_create_board('season', 'parted', 'id', 'score DESC', board_column => 'season');
SELECT lb_wait_ready();
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM parted WHERE season = 1 AND score > 10',
	'SELECT count(*), max(score) FROM parted WHERE season = 2::bigint AND score > 10',
	'SELECT count(*) FROM parted WHERE season = 99999999999 AND score > 10',
	'SELECT count(*) FROM parted WHERE score > 10',
	'SELECT count(*) FROM ONLY parted WHERE season = 1',
	'SELECT count(*) FROM parted_1 WHERE season = 1',
	'SELECT count(*) FROM player p LEFT JOIN country_player c ON c.id = p.id WHERE p.score > 50'
]) query;
CREATE TABLE player_child () INHERITS (player);
SELECT lb_wait_ready();
SELECT lbt.answered_by('SELECT count(*) FROM player WHERE score > 50'), lbt.answered_by('SELECT count(*) FROM ONLY player WHERE score > 50');
DROP TABLE player_child;
VACUUM ANALYZE player;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT lbt.result('SELECT id, (SELECT count(*) FROM player WHERE score > p.score) FROM player p WHERE level = 1 ORDER BY id LIMIT 3');
EXPLAIN (COSTS OFF) SELECT count(*) FROM player WHERE score > 50;
RESET ALL;

-- A database's other session sees what it has always seen: repeatable read.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lbt.result('SELECT count(*) FROM player WHERE score > 50');
COMMIT;

SELECT * FROM lb_verify();
DROP TABLE player, country_player, speed, large, posix, series, parted, u, tx CASCADE;
DROP OWNED BY lb_reader;
DROP ROLE lb_reader;
DROP AGGREGATE last_text(int), at_least_77(int);
DROP FUNCTION to_text;
