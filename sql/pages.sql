--
-- Plain SQL that the planner answers by boards: pages
--
\pset format unaligned

-- A query over player whose order leaves rows open: the columns that it sorts by are
-- the same in all ways, and its rows are different rows of the table.
CREATE FUNCTION valid(query text, keys text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	good boolean;
BEGIN
	EXECUTE format('SELECT coalesce(count(*) = count(DISTINCT q.id) AND bool_and(q = p), true) FROM (%s) q LEFT JOIN player p ON p.id = q.id', query) INTO good;
	IF NOT good THEN
		RAISE EXCEPTION '% has rows that are not in the table', query;
	END IF;
	RETURN lbt.result(format('SELECT %s FROM (%s) q', keys, query), true);
END $$;

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL, level smallint NOT NULL,
	name text, guild int);
INSERT INTO player SELECT i, i * 7919 % 1000, i % 5, 'player ' || i, nullif(i % 3, 0)
FROM generate_series(1, 20000) i;
SELECT lb_create_board('global', 'player', 'id', 'score DESC, level DESC');
CREATE TABLE country_player (id int PRIMARY KEY, country text NOT NULL, points numeric(8,2) NOT NULL,
	ok boolean NOT NULL DEFAULT true);
INSERT INTO country_player SELECT i, (ARRAY['FR', 'JP', 'US'])[i % 3 + 1], i * 7919 % 4001 / 4.0, i % 11 <> 0
FROM generate_series(1, 20000) i;
SELECT lb_create_board('country', 'country_player', 'id', 'points ASC', board_column => 'country', ranked_if => 'ok');
SELECT lb_wait_ready();
ANALYZE player, country_player;

-- Plans.
SELECT lbt.plan('SELECT * FROM player ORDER BY score DESC LIMIT 20 OFFSET 9000');
SELECT lbt.plan('SELECT id, score + 1 FROM player ORDER BY score, level FETCH FIRST 3 ROWS WITH TIES');
SELECT lbt.plan('SELECT * FROM player WHERE (score, level) < (500, 3) ORDER BY score DESC, level DESC LIMIT 20');
SELECT lbt.plan('SELECT id, points FROM country_player WHERE country = ''JP'' AND ok ORDER BY points LIMIT 10 OFFSET 1000');
SELECT lbt.plan('SELECT name FROM player ORDER BY score DESC LIMIT 2 OFFSET 9000', 'VERBOSE');
SELECT lbt.explained('json', 'SELECT id FROM player ORDER BY score OFFSET 19990');

-- What is recognized, where the query's order leaves nothing open ...
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT * FROM player ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT * FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT * FROM player ORDER BY score, level, id DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id, name LIMIT 3 OFFSET 9000',
	'SELECT id, upper(name) AS name, score * 2 FROM player ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id, upper(name) AS name, 1000 / (score + 1) AS quotient FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 0',
	'SELECT id, score > 500 AS good, coalesce(name, ''x'') AS name, CASE level WHEN 2 THEN name END AS two, score::bigint AS long, guild IS NULL AS alone, ARRAY[id, level] AS pair, (SELECT count(*) FROM player) AS total, upper(''x'' || length(current_user) / length(current_user)) AS same FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, row(score, name) AS r, name COLLATE "C" AS name, nullif(level, 2) AS other, id IN (7, 1234567) AS found FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 19998',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id OFFSET 19997',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 20000',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9223372036854775807',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT NULL OFFSET 19999',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 1 OFFSET (SELECT 9000)',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 0',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT -1 OFFSET 9000',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 1 OFFSET (SELECT -1)',
	'SELECT id FROM player WHERE score < 500 ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 100',
	'SELECT id FROM player WHERE score < 500.5 AND score > 480 ORDER BY score, level, id DESC LIMIT 3 OFFSET 100',
	'SELECT id FROM player WHERE score = 480 ORDER BY level DESC, id LIMIT 3 OFFSET 10',
	'SELECT id FROM player WHERE score = 480 AND level = 0 ORDER BY id DESC LIMIT 3 OFFSET 10',
	'SELECT id FROM player WHERE score = 480 ORDER BY score, level, id DESC LIMIT 3 OFFSET 10',
	'SELECT id FROM player WHERE (score, level) < (480, 3) ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id FROM player WHERE (score, level) > (480, 3) ORDER BY score, level, id DESC LIMIT 3',
	'SELECT id FROM player WHERE score < 480 OR (score = 480 AND level < 3) ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id FROM player WHERE score < 480 OR (480 = score AND level <= 3) ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id FROM player WHERE score <= 480 AND (score < 480 OR level < 3) ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id FROM player WHERE score < 480 OR (score = 480 AND (level < 0 OR (level = 0 AND id > 5920))) ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id FROM player WHERE score > 480 OR (score = 480 AND level > 0) OR (id < 5920 AND score = 480 AND level = 0) ORDER BY score, level, id DESC LIMIT 3',
	'SELECT id FROM player WHERE score < 480 OR (score = 480 AND level < (SELECT NULL::smallint)) ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id, points FROM country_player WHERE country = ''JP'' AND ok AND (points > 100.25 OR (points = 100.25 AND id > 5000)) ORDER BY points, id LIMIT 3',
	'SELECT count(*) FROM country_player WHERE country = ''JP'' AND ok AND (points < 100.125 OR (points = 100.125 AND id < 5000))',
	'SELECT id FROM player WHERE score > 1 / (SELECT 0) ORDER BY score DESC, level DESC, id LIMIT 0',
	'SELECT p.id FROM player p LEFT JOIN country_player c USING (id) ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < NULL ORDER BY score, level, id DESC LIMIT 3',
	'SELECT id FROM player WHERE score > 5000 ORDER BY score, level, id DESC LIMIT 3',
	'SELECT id, points FROM country_player WHERE country = ''JP'' AND ok ORDER BY points, id LIMIT 3 OFFSET 1000',
	'SELECT id, points FROM country_player WHERE country = ''JP'' AND ok AND points > 100.125 ORDER BY country, points DESC, id DESC LIMIT 3 OFFSET 1000',
	'SELECT id, points FROM country_player WHERE country = ''XX'' AND ok ORDER BY points, id LIMIT 3',
	'SELECT c, id FROM unnest(ARRAY[''FR'', ''XX'', ''US'', NULL]) c, LATERAL (SELECT id FROM country_player WHERE country = c AND ok ORDER BY points DESC, id DESC LIMIT 2) p',
	'SELECT p.id, (SELECT q.id FROM player q WHERE (q.score, q.level) < (p.score, p.level) ORDER BY score DESC, level DESC, id LIMIT 1) FROM player p WHERE id < 4',
	'SELECT id, (SELECT count(*) FROM player q WHERE q.score > p.score) FROM player p ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 20',
	'WITH page AS MATERIALIZED (SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 50) SELECT * FROM page a JOIN page b USING (id)',
	'(SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 2) UNION ALL (SELECT id FROM player ORDER BY score, level, id DESC LIMIT 2)',
	'SELECT p FROM player p ORDER BY score DESC, level DESC, id LIMIT 1 OFFSET 9000'
]) query;

-- ... and where it does: with ties, rows are the same, and in another order.
SELECT query, lbt.answered_by(query), valid(query, keys)
FROM (VALUES
	('SELECT * FROM player ORDER BY score DESC LIMIT 30 OFFSET 9000', 'score'),
	('SELECT * FROM player ORDER BY score DESC, level DESC LIMIT 30 OFFSET 8990', 'score, level'),
	('SELECT * FROM player ORDER BY score, level LIMIT 30 OFFSET 8990', 'score, level'),
	('SELECT * FROM player ORDER BY score LIMIT 2500 OFFSET 8990', 'score'),
	('SELECT * FROM player WHERE score < 500 ORDER BY score LIMIT 30 OFFSET 1000', 'score')
) v (query, keys);
SELECT query, lbt.answered_by(query), lbt.result(format('SELECT count(*), sum(id), min(id), max(id) FROM (%s) q', query))
FROM unnest(ARRAY[
	'SELECT * FROM player ORDER BY score DESC FETCH FIRST 30 ROWS WITH TIES',
	'SELECT * FROM player ORDER BY score FETCH FIRST 30 ROWS WITH TIES',
	'SELECT * FROM player ORDER BY score, level, id DESC OFFSET 9000 FETCH FIRST 1 ROWS WITH TIES',
	'SELECT * FROM player WHERE score = 480 ORDER BY level OFFSET 0 FETCH FIRST 5 ROWS WITH TIES',
	'SELECT * FROM player WHERE score < 480 AND score > 478 ORDER BY score DESC FETCH FIRST 5 ROWS WITH TIES',
	'SELECT * FROM player WHERE (score, level, id) < (480, 0, 30) ORDER BY score DESC FETCH FIRST 5 ROWS WITH TIES',
	'SELECT * FROM player ORDER BY score DESC FETCH FIRST 0 ROWS WITH TIES'
]) query;

-- Behind an offset among rows that tie, even these can differ, but not their number.
SELECT query, lbt.answered_by(query), lbt.result(format('SELECT count(*), min(score), max(score), min(level) FROM (%s) q', query))
FROM unnest(ARRAY[
	'SELECT * FROM player ORDER BY score DESC OFFSET 43 FETCH FIRST 1 ROWS WITH TIES',
	'SELECT * FROM player ORDER BY score DESC, level DESC OFFSET 9003 FETCH FIRST 1 ROWS WITH TIES',
	'SELECT * FROM player WHERE score <= 600 ORDER BY score OFFSET 9003 FETCH FIRST 20 ROWS WITH TIES',
	'SELECT * FROM player ORDER BY score OFFSET 19990 FETCH FIRST 30 ROWS WITH TIES'
]) query;

-- Computed columns, which raise an error for none of the rows before the page, by the
-- types of their columns or by the scores that there are, or for some.
SELECT lbt.plan('SELECT id, score + 1 FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000', 'ANALYZE');
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT id, score + 1 AS a, score - 1 AS b, 1 - score AS c, score * 2 AS d, -score AS e FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, score / 7 AS a, score % 7 AS b, score / -1 AS c, 100000 / (score + 1) AS d, score::smallint AS e FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, level + 1 AS a, level * 1000 AS b, score::bigint * 1000000000000 AS c FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, score::text AS a, score::numeric AS b, level::text AS c, (score + 1)::text AS d, coalesce(score + 1, level) AS e FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, CASE WHEN score + 1 > 7 THEN 1000 - score END AS a, nullif(guild, 1) AS b, (guild / 3) + 5 AS c FROM player ORDER BY score, level, id DESC LIMIT 3 OFFSET 9000',
	'SELECT id, score + NULL AS a, 1000 / (score + 1) AS quotient FROM player WHERE score < 500 ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 19',
	'SELECT id, score * 2149634 AS a FROM player ORDER BY score, level, id DESC LIMIT 3 OFFSET 9',
	'SELECT id, score * 2149634 AS a FROM player WHERE score < 999 ORDER BY score, level, id DESC LIMIT 3 OFFSET 9',
	'SELECT id, score * 2149633 AS a FROM player ORDER BY score, level, id DESC LIMIT 3 OFFSET 9',
	'SELECT id, (score - 40000)::smallint AS a FROM player ORDER BY score, level, id DESC LIMIT 3 OFFSET 9',
	'SELECT id, 1 / (score - 999) AS a FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, 1 / (score - 999) AS a FROM player WHERE score < 999 ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id, 1 / (score - 5) LIMIT 3 OFFSET 9000',
	'SELECT id, score + 1 AS a FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 20000',
	'SELECT id, 1 / (score - 999) AS a FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 20000',
	'SELECT id, 1 / (score - 999) AS a FROM player ORDER BY score DESC, level DESC, id LIMIT 0 OFFSET 7',
	'SELECT id, 1 / (score - 999) AS a FROM player WHERE score > 5000 ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 7'
]) query;

-- A score that is the greatest integer comes and goes.
SET plan_cache_mode = force_generic_plan;
PREPARE plus_one(int) AS SELECT id, score + 1 AS more FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET $1;
SELECT lbt.answered_by('EXECUTE plus_one(5)'), lbt.result('EXECUTE plus_one(5)');
BEGIN;
UPDATE player SET score = 2147483647 WHERE id = 5;
SELECT lbt.answered_by('EXECUTE plus_one(0)'), lbt.result('EXECUTE plus_one(0)'), lbt.result('EXECUTE plus_one(7)');
UPDATE player SET score = 2147483646 WHERE id = 5;
SELECT lbt.answered_by('EXECUTE plus_one(1)'), lbt.result('EXECUTE plus_one(0)'), lbt.result('EXECUTE plus_one(7)');
ROLLBACK;
DEALLOCATE plus_one;
RESET plan_cache_mode;

-- What is not.
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT id FROM player LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY id LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY level DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score DESC, level LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score DESC, level DESC, id DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score + 1 LIMIT 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score DESC, name LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE guild = 1 ORDER BY score LIMIT 3 OFFSET 3000',
	'SELECT id, random() < 2 FROM player ORDER BY score LIMIT 3 OFFSET 9000',
	'SELECT id, (SELECT random() < 2 WHERE p.id > 0) FROM player p ORDER BY score LIMIT 3 OFFSET 9000',
	'SELECT id, (SELECT (SELECT random() < q.id FROM country_player r WHERE r.id = q.id) FROM country_player q WHERE q.id = p.id) FROM player p ORDER BY score LIMIT 3 OFFSET 9000',
	'SELECT id, (SELECT random() < 2) FROM player ORDER BY score LIMIT 3 OFFSET 9000',
	'SELECT id, id + 1 FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, length(name) + 1 FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, score / level FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, score * 1000000 * 1000000 FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, score + 2147483647 FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, score + length(current_setting(''work_mem'')) FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, upper(name) FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, score + 0.5 FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id, CASE score::numeric WHEN 10.0 ^ length(current_user) THEN 1 END FROM player ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id, name::int FROM player ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id, ARRAY[ARRAY[id], ARRAY[]::bigint[]] FROM player ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id, CASE WHEN score = 999 THEN (SELECT q.id FROM player q WHERE q.score >= p.score) END FROM player p ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id, ctid FROM player ORDER BY score LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < 480 OR level < 3 ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < 480 OR (score = 481 AND level < 3) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < 480 OR (score = 480 AND level > 3) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score <= 480 OR (score = 480 AND level < 3) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < 480 OR (score = 480 AND id > 3) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < 480 OR (score = 480 AND level < 3 AND guild = 1) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < 480::float8 OR (score = 480::float8 AND level < 3) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT id FROM player WHERE score < 480 AND (score < 480 OR level < 3) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT DISTINCT ON (score) * FROM player ORDER BY score DESC LIMIT 3 OFFSET 500',
	'SELECT id, rank() OVER (ORDER BY id) FROM player ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'(SELECT id, score FROM player) UNION (SELECT id, score FROM player) ORDER BY score DESC LIMIT 3 OFFSET 9000',
	'SELECT DISTINCT score FROM player ORDER BY score LIMIT 3 OFFSET 900',
	'SELECT score, count(*) FROM player GROUP BY score ORDER BY score LIMIT 3 OFFSET 900',
	'SELECT id FROM player ORDER BY score LIMIT (random() * 0)::int + 3 OFFSET 9000',
	'SELECT id FROM player ORDER BY score LIMIT 3 OFFSET 9000 FOR UPDATE',
	'SELECT id FROM player TABLESAMPLE bernoulli (100) ORDER BY score LIMIT 3 OFFSET 9000',
	'SELECT p.id FROM player p JOIN country_player USING (id) ORDER BY score LIMIT 3 OFFSET 9000',
	'SELECT id FROM player UNION ALL SELECT id FROM country_player ORDER BY 1 LIMIT 3',
	'SELECT id FROM country_player ORDER BY points LIMIT 3 OFFSET 9000',
	'SELECT id FROM country_player WHERE country = ''FR'' ORDER BY points LIMIT 3 OFFSET 3000',
	'SELECT id FROM country_player WHERE ok ORDER BY points LIMIT 3 OFFSET 3000',
	'SELECT id FROM country_player WHERE country > ''FR'' AND ok ORDER BY points LIMIT 3 OFFSET 3000',
	'SELECT id FROM player ORDER BY score LIMIT 20000'
]) query;

-- A LIMIT that is not known when the query is planned: many rows cost less by a sort.  A
-- plan for a table that has grown since goes by its size.
CREATE TABLE grown (id int PRIMARY KEY, score int NOT NULL) WITH (autovacuum_enabled = off);
INSERT INTO grown SELECT i, i * 7919 % 1000 FROM generate_series(1, 20000) i;
SELECT lb_create_board('grown', 'grown', 'id', 'score DESC');
SELECT lb_wait_ready();
ANALYZE grown;
SET plan_cache_mode = force_generic_plan;
PREPARE page (bigint, bigint) AS SELECT id, score FROM grown WHERE score >= 100 ORDER BY score DESC, id LIMIT $1 OFFSET $2;
SELECT rows, skip, lbt.answered_by(format('EXECUTE page(%L, %L)', rows, skip)), lbt.result(format('SELECT id, score FROM grown WHERE score >= 100 ORDER BY score DESC, id LIMIT %L OFFSET %L', rows, skip))
FROM (VALUES (20, 0), (20, 9000), (1000, 9000), (10000, 0), (10000, 17900), (NULL, 0), (NULL, 17900)) v (rows, skip);
INSERT INTO grown SELECT i, i * 7919 % 1000 FROM generate_series(20001, 60000) i;
SELECT rows, lbt.answered_by(format('EXECUTE page(%s, 0)', rows)) FROM (VALUES (10000), (50000)) v (rows);
DEALLOCATE page;
RESET plan_cache_mode;

-- A small table with boards of both kinds: a page of the family's board costs less than
-- a scan of the other one that filters.
CREATE TABLE twofold (id int PRIMARY KEY, country text NOT NULL, score int NOT NULL);
INSERT INTO twofold SELECT i, (ARRAY['FR', 'JP'])[i % 2 + 1], i * 7919 % 1000 FROM generate_series(1, 5000) i;
SELECT lb_create_board('all', 'twofold', 'id', 'score DESC'), lb_create_board('by_country', 'twofold', 'id', 'score DESC', board_column => 'country');
SELECT lb_wait_ready();
ANALYZE twofold;
SELECT lbt.plan('SELECT id FROM twofold WHERE country = ''FR'' AND (score < 500 OR (score = 500 AND id > 70)) ORDER BY score DESC, id LIMIT 20');
SELECT lbt.plan('SELECT id FROM twofold WHERE country = ''FR'' AND score < 3 ORDER BY score DESC, id LIMIT 20');
SELECT lbt.plan('SELECT id FROM twofold WHERE country = ''FR'' ORDER BY score DESC, id LIMIT 20 OFFSET 1000');

-- Keys of several columns, texts, and floating point.
CREATE TABLE u (guild uuid, name text COLLATE "C", score float8 NOT NULL, flag boolean NOT NULL, gone int, PRIMARY KEY (flag, name, guild));
INSERT INTO u SELECT md5((i % 100)::text)::uuid, 'n' || repeat('x', i % 40) || i, CASE i % 30 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-0' WHEN 3 THEN '0' ELSE i % 1301 / 3.0::float8 END, i % 2 = 0, i
FROM generate_series(1, 5000) i;
ALTER TABLE u DROP gone;
ALTER TABLE u ADD late int DEFAULT 7;
SELECT lb_create_board('u', 'u', 'guild, name', 'score DESC', board_column => 'flag');
CREATE TABLE tx (name varchar(40) COLLATE "C" PRIMARY KEY, title text NOT NULL, day date NOT NULL);
INSERT INTO tx SELECT 'name ' || i, 'title ' || i % 9, '2026-01-01'::date + i % 40 FROM generate_series(1, 5000) i;
SELECT lb_create_board('tx', 'tx', 'name', 'day ASC, title DESC');
SELECT lb_wait_ready();
ANALYZE u, tx;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM u WHERE flag ORDER BY score DESC, guild, name LIMIT 2 OFFSET 1700',
	'SELECT * FROM u WHERE flag ORDER BY score, guild DESC, name DESC LIMIT 2 OFFSET 2300',
	'SELECT name, score FROM u WHERE NOT flag AND score < ''NaN'' ORDER BY score DESC, guild, name LIMIT 2',
	'SELECT count(*), min(score), max(score) FROM (SELECT * FROM u WHERE flag ORDER BY score DESC OFFSET 1650 FETCH FIRST 1 ROW WITH TIES) q',
	'SELECT * FROM tx ORDER BY day, title COLLATE "C" DESC, name LIMIT 2 OFFSET 2500',
	'SELECT day FROM tx ORDER BY day DESC LIMIT 2 OFFSET 2500',
	'SELECT count(*), min(day), max(day) FROM (SELECT * FROM tx ORDER BY day OFFSET 2500 FETCH FIRST 1 ROW WITH TIES) q',
	'SELECT day FROM tx ORDER BY day, title COLLATE "C" DESC FETCH FIRST 1 ROW WITH TIES',
	'SELECT day FROM tx ORDER BY day DESC, title LIMIT 2 OFFSET 2500',
	'SELECT name FROM tx ORDER BY day, title COLLATE "POSIX" DESC, name LIMIT 2 OFFSET 2500'
]) query;

-- Columns that can be null.
CREATE TABLE nullable (id int PRIMARY KEY, score int);
INSERT INTO nullable SELECT i, nullif(i % 50, 0) FROM generate_series(1, 5000) i;
SELECT lb_create_board('nullable', 'nullable', 'id');
SELECT lb_wait_ready();
ANALYZE nullable;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT id, score FROM nullable ORDER BY score DESC, id LIMIT 2 OFFSET 99',
	'SELECT id, score FROM nullable WHERE score IS NOT NULL ORDER BY score DESC, id LIMIT 2 OFFSET 99',
	'SELECT id, score FROM nullable WHERE score > 10 ORDER BY score DESC NULLS LAST, id LIMIT 2 OFFSET 99'
]) query;

-- Parameters: plans that are kept, and follow boards that come and go.
PREPARE page(int, int) AS SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT $1 OFFSET $2;
PREPARE after(int, smallint, bigint) AS SELECT id FROM player WHERE score <= $1 AND score >= $2 ORDER BY score DESC, level DESC, id LIMIT $3;
EXPLAIN (COSTS OFF) EXECUTE page(2, 9000);
EXECUTE page(2, 9000);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE page(2, 9000);
EXECUTE page(2, 9000);
EXECUTE page(NULL, 19998);
EXECUTE page(2, NULL);
EXECUTE page(-1, 0);
EXECUTE after(480, 300::smallint, 2);
BEGIN;
SELECT lb_drop_board('global');
EXPLAIN (COSTS OFF) EXECUTE page(2, 9000);
EXECUTE page(2, 9000);
ROLLBACK;
EXECUTE page(2, 9000);
RESET plan_cache_mode;
DEALLOCATE ALL;

-- Cursors: backward, of a snapshot, and that outlast their transaction.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 5 OFFSET 9000;
DECLARE s SCROLL CURSOR FOR SELECT id FROM player ORDER BY score, level, id DESC LIMIT 5 OFFSET 9000;
DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 5 OFFSET 9000;
DECLARE f SCROLL CURSOR FOR SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 5 OFFSET (SELECT 9000);
UPDATE player SET score = score + 1000 WHERE id <= 3;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM s;
FETCH BACKWARD 2 FROM s;
FETCH ABSOLUTE 1 FROM s;
FETCH 2 FROM h;
SET LOCAL leaderboard.debug_planner_child = force;
FETCH 2 FROM f;
FETCH BACKWARD ALL FROM f;
SELECT lbt.result('SELECT * FROM player ORDER BY score DESC, level DESC, id LIMIT 4');
DELETE FROM player WHERE id = 2;
SELECT lbt.result('SELECT * FROM player ORDER BY score DESC, level DESC, id LIMIT 4');
DELETE FROM player WHERE id <= 3;
COMMIT;
FETCH ALL FROM h;
FETCH BACKWARD 2 FROM h;
CLOSE h;

BEGIN;
DECLARE c CURSOR FOR SELECT * FROM player ORDER BY score DESC LIMIT 5 OFFSET 9000;
FETCH c \gset
UPDATE player SET name = 'nobody' WHERE CURRENT OF c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM player;
FETCH c \gset
DELETE FROM player WHERE CURRENT OF c;
ROLLBACK;

-- Rows that moved, were updated in place, or are not visible any more.
UPDATE player SET name = 'renamed ' || name WHERE score > 990;
UPDATE player SET name = 'again ' || name WHERE score > 990;
UPDATE player SET score = score + 1 WHERE score = 999 AND id % 2 = 0;
DELETE FROM player WHERE score = 998;
SELECT lbt.result('SELECT * FROM player ORDER BY score DESC, level DESC, id LIMIT 4');
SELECT lbt.result('SELECT * FROM player ORDER BY score DESC, level DESC, id LIMIT 1 OFFSET 20');

-- A backend remembers where it has found rows, and asks the index no more.
CREATE TABLE moved (id int, part int, score int NOT NULL, pad text, PRIMARY KEY (id, part)) WITH (autovacuum_enabled = off);
INSERT INTO moved SELECT i, p, i, repeat('x', 100) FROM generate_series(1, 3000) i, generate_series(1, 2) p;
SELECT lb_create_board('moved', 'moved', 'id', 'score DESC', board_column => 'part');
SELECT lb_wait_ready();
ANALYZE moved;
CREATE FUNCTION page_of(p int) RETURNS text LANGUAGE sql AS $$
	SELECT lbt.result(format('SELECT id, part, score, right(pad, 1) AS pad FROM moved WHERE part = %s ORDER BY score DESC, id LIMIT 3 OFFSET 1000', p)) $$;
BEGIN;
SELECT id FROM moved WHERE part = 1 ORDER BY score DESC LIMIT 3 OFFSET 1000;
SELECT idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'moved';
SELECT id FROM moved WHERE part = 1 ORDER BY score DESC LIMIT 3 OFFSET 1000;
SELECT idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'moved';
COMMIT;
SELECT page_of(1), page_of(2);

-- Rows move within their page and to others, and others come to where they were.
UPDATE moved SET pad = 'new';
SELECT page_of(1), page_of(2);
UPDATE moved SET pad = 'once more', score = score + 1;
VACUUM moved;
UPDATE moved SET pad = 'again', part = 3 WHERE part = 1 AND id % 3 = 0;
SELECT page_of(1), page_of(2);
DELETE FROM moved;
VACUUM (TRUNCATE off) moved;
INSERT INTO moved SELECT i, p, i, 'back' FROM generate_series(3000, 1, -1) i, generate_series(1, 2) p;
SELECT page_of(1), page_of(2);

-- The table gets shorter.
DELETE FROM moved WHERE score < 2010;
INSERT INTO moved SELECT i, p, i, 'end' FROM generate_series(1, 2009) i, generate_series(1, 2) p;
SELECT page_of(1), page_of(2);
DELETE FROM moved WHERE pad = 'end';
VACUUM moved;
INSERT INTO moved SELECT i, 1, 9000, 'top' FROM generate_series(1998, 2000) i;
SELECT lbt.result('SELECT id, pad FROM moved WHERE part = 1 ORDER BY score DESC, id LIMIT 4');
SELECT lbt.result('SELECT id, pad FROM moved WHERE part = 2 ORDER BY score, id DESC LIMIT 3');
VACUUM FULL moved;
SELECT lbt.result('SELECT id, pad FROM moved WHERE part = 2 ORDER BY score, id DESC LIMIT 3');
TRUNCATE moved;
INSERT INTO moved SELECT i, p, i, 'last' FROM generate_series(1, 2009) i, generate_series(1, 2) p;
SELECT page_of(1), page_of(2);
TRUNCATE moved;
INSERT INTO moved SELECT i, p, i, 'upside down' FROM generate_series(2009, 1, -1) i, generate_series(1, 2) p;
SELECT page_of(1), page_of(2);

-- A statement's own rows are not captured while it runs: then the child answers.
BEGIN;
UPDATE player SET guild = (SELECT q.id FROM player q WHERE q.score < player.score ORDER BY score DESC, level DESC, id LIMIT 1) WHERE id BETWEEN 10 AND 13;
SELECT id, guild FROM player WHERE id BETWEEN 10 AND 13 ORDER BY id;
ROLLBACK;

-- Rights are those of plain SQL.
CREATE ROLE lb_page_reader;
CREATE VIEW best AS SELECT id, name FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 9000;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM player WHERE score < 500;
GRANT SELECT ON best, barrier TO lb_page_reader;
GRANT SELECT (id, score) ON player TO lb_page_reader;
SET ROLE lb_page_reader;
SELECT lbt.answered_by('SELECT * FROM best'), lbt.result('SELECT * FROM best');
SELECT lbt.answered_by('SELECT id FROM player ORDER BY score LIMIT 2 OFFSET 9000');
SELECT lbt.answered_by('SELECT id, name FROM player ORDER BY score LIMIT 2 OFFSET 9000');
SELECT lbt.answered_by('SELECT id, name FROM barrier ORDER BY score LIMIT 2 OFFSET 5000');
RESET ROLE;
ALTER TABLE player ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON player USING (score < 600);
SELECT lb_wait_ready();
SET ROLE lb_page_reader;
SELECT lbt.answered_by('SELECT id FROM player ORDER BY score LIMIT 2 OFFSET 5000'), lbt.result('SELECT score FROM player ORDER BY score DESC LIMIT 2 OFFSET 5000');
RESET ROLE;
ALTER TABLE player DISABLE ROW LEVEL SECURITY;
DROP POLICY low ON player;
SELECT lb_wait_ready();

-- Random pages: all directions, ranges, offsets and limits.
DO $$
DECLARE
	keys text;
	q text;
BEGIN
	PERFORM setseed(0.5);
	FOR i IN 1 .. 60 LOOP
		FOREACH keys IN ARRAY '{"score DESC, level DESC, id","score, level, id DESC"}'::text[] LOOP
			q := format('SELECT id, score FROM player WHERE score %s %s %s ORDER BY %s OFFSET %s %s',
				(ARRAY['<', '<=', '>', '>='])[i % 4 + 1], floor(random() * 1100) - 50,
				(ARRAY['', 'AND (score, level) > (300, 2)', 'AND (score, level, id) IS NOT NULL', 'AND score <= 700.5'])[floor(random() * 4) + 1],
				CASE WHEN i % 5 = 0 THEN split_part(keys, ', id', 1) ELSE keys END,
				floor(random() * random() * 15000), CASE WHEN i % 5 = 0 THEN 'FETCH FIRST ' || i || ' ROWS WITH TIES' ELSE 'LIMIT ' || i END);
			IF i % 5 = 0 THEN
				PERFORM lbt.result(format('SELECT count(*), min(score), max(score) FROM (%s) q', q));
			ELSE
				PERFORM lbt.result(q);
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- Pages behind and before keys that random rows have, or nearly have.
DO $$
DECLARE
	k record;
	q text;
	n int := 0;
BEGIN
	FOR k IN SELECT score + id % 2 AS score, level + id % 7 / 6 AS level, id, id % 3 AS form FROM player WHERE id % 331 = 0 ORDER BY id LOOP
		q := (ARRAY['score < %1$s OR (score = %1$s AND (level < %2$s OR (level = %2$s AND id > %3$s)))',
			'score < %1$s OR (score = %1$s AND level < %2$s) OR (score = %1$s AND level = %2$s AND id >= %3$s)',
			'score <= %1$s AND (score < %1$s OR level <= %2$s)'])[k.form + 1];
		q := format('SELECT id, score FROM player WHERE ' || q || ' ORDER BY score DESC, level DESC, id LIMIT 5', k.score, k.level, k.id);
		PERFORM lbt.result(q);

		-- The other way round.
		q := translate(q, '<>', '><');
		q := replace(replace(q, 'DESC', 'ASC'), ', id LIMIT', ', id DESC LIMIT');
		PERFORM lbt.result(q);
		n := n + 1;
	END LOOP;
	RAISE NOTICE '% keys', n;
END $$;

-- PostgreSQL computes the select list for rows that OFFSET skips, also if it skips all.
SET plan_cache_mode = force_generic_plan;
PREPARE beyond(int, int, int) AS SELECT id, 10 / $1 FROM player WHERE score > $2 ORDER BY score DESC, level DESC, id LIMIT 5 OFFSET $3;
EXPLAIN (COSTS OFF) EXECUTE beyond(0, 500, 100000);
EXECUTE beyond(0, 500, 100000);
EXECUTE beyond(5, 500, 100000);
EXECUTE beyond(0, 100000, 100000);
DEALLOCATE beyond;
RESET plan_cache_mode;

-- Partitions have other columns, and pages of them are planned without boards.
CREATE TABLE parted (id int, score int NOT NULL, season int NOT NULL, PRIMARY KEY (id, season)) PARTITION BY LIST (season);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
INSERT INTO parted SELECT i, i % 30, 1 FROM generate_series(1, 5000) i;
SELECT lb_create_board('season', 'parted', 'id', 'score DESC', board_column => 'season');
SELECT lb_wait_ready();
ANALYZE parted;
SELECT lbt.answered_by('SELECT id FROM parted WHERE season = 1 ORDER BY score DESC LIMIT 2 OFFSET 2000');

-- Parallel plans, and another isolation level.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT lbt.result('SELECT p.id, q.name FROM (SELECT id, guild FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 9000) p JOIN player q ON q.id = p.id ORDER BY 1');
RESET ALL;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lbt.answered_by('SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 9000'),
	lbt.result('SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 9000');
COMMIT;

SELECT planned_reads > 100 AS planned_reads FROM lb_stat_board WHERE board = 'global';
SELECT * FROM lb_verify();
DROP TABLE player, country_player, grown, twofold, u, tx, nullable, parted, moved CASCADE;
DROP OWNED BY lb_page_reader;
DROP ROLE lb_page_reader;
DROP FUNCTION page_of;
DROP FUNCTION valid;
