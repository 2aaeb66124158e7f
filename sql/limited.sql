--
-- Plain SQL that counts the rows of a subquery up to its limit
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int, level int NOT NULL, name text);
INSERT INTO player SELECT i, i * 7919 % 1000, i % 7, 'player ' || i FROM generate_series(1, 3000) i;
SELECT lb_create_board('global', 'player', 'id', 'score DESC, level DESC');
CREATE TABLE club (id bigint PRIMARY KEY, country text NOT NULL, points int NOT NULL);
INSERT INTO club SELECT i, CASE WHEN i % 3 = 0 THEN 'FR' ELSE 'JP' END, i * 7919 % 1000 FROM generate_series(1, 3000) i;
SELECT lb_create_board('country', 'club', 'id', 'points DESC', board_column => 'country');
SELECT lb_wait_ready();
ANALYZE player, club;

-- As Rails and Django ask.
SELECT lbt.plan('SELECT COUNT(*) FROM (SELECT 1 AS one FROM "player" WHERE "player"."score" > 100 LIMIT 1000) subquery_for_count', 'ANALYZE');
SELECT lbt.plan('SELECT COUNT(*) FROM (SELECT "player"."id" AS "col1" FROM "player" WHERE "player"."score" > 100 ORDER BY "player"."name" ASC LIMIT 1000) subquery', 'ANALYZE');
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 100 LIMIT 10) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 LIMIT 1000) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 LIMIT 20 OFFSET 10) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 LIMIT 10 OFFSET 20) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 LIMIT 10 OFFSET 27) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 OFFSET 9223372036854775807) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 LIMIT 9223372036854775807 OFFSET 1) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 OFFSET 25) s',
	'SELECT count(*) FROM (SELECT 1 FROM player LIMIT 0) s',
	'SELECT count(*) FROM (SELECT 1 FROM player LIMIT ALL OFFSET NULL) s',
	'SELECT count(*) FROM (SELECT 1 FROM player LIMIT (SELECT 7) OFFSET (SELECT 2998)) s',
	'SELECT count(*) FROM (SELECT 1 FROM player FETCH FIRST 5 ROWS ONLY) s',
	'SELECT count(*) > 0 AS found FROM (SELECT 1 FROM player WHERE score > 998 LIMIT 1) s',
	'SELECT count(*) > 0 AS found FROM (SELECT 1 FROM player WHERE score > 999 LIMIT 1) s',
	'SELECT count(*), count(1), count(one), count(id) FROM (SELECT id, 1 AS one FROM player WHERE score < 3 LIMIT 5) s HAVING count(*) > 4',
	'SELECT count(score) FROM (SELECT score FROM player LIMIT 50) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 1 / (SELECT 0) LIMIT 0) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 1 / (SELECT 0) LIMIT 1) s',
	'SELECT count(*) FROM (SELECT 1 FROM club WHERE country = ''FR'' AND points >= 500 ORDER BY points LIMIT 100) s',
	'SELECT count(*) FROM (SELECT 1 FROM club WHERE country = ''XX'' LIMIT 100) s',
	'SELECT (SELECT count(*) FROM (SELECT 1 FROM player WHERE score > n LIMIT n) s) FROM generate_series(0, 1000, 250) n',
	'SELECT count(*) FROM (SELECT 1 FROM player LIMIT (SELECT -1)) s'
]) query;

-- Not these: other rows, or other aggregates.
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE score > 990 ORDER BY score FETCH FIRST 5 ROWS WITH TIES) s',
	'SELECT count(*) FROM (SELECT name FROM player LIMIT 1000) s WHERE name < ''player 2''',
	'SELECT count(*) FROM (SELECT score FROM player LIMIT 1000) s WHERE score > 5',
	'SELECT count(*) FILTER (WHERE score > 5) FROM (SELECT score FROM player LIMIT 1000) s',
	'SELECT count(DISTINCT score) FROM (SELECT score FROM player LIMIT 1000) s',
	'SELECT max(score) FROM (SELECT score FROM player LIMIT 1000) s',
	'SELECT count(name) FROM (SELECT name FROM player LIMIT 1000) s',
	'SELECT count(x) FROM (SELECT level / 2 AS x FROM player LIMIT 1000) s',
	'SELECT count(*) FROM (SELECT DISTINCT score FROM player LIMIT 1000) s',
	'SELECT count(*) FROM (SELECT 1 FROM player WHERE level = 3 LIMIT 1000) s',
	'SELECT count(*) FROM (SELECT 1 FROM player LIMIT random() * 10) s'
]) query WHERE lbt.nodes(query) ~ 'Aggregate';

-- One plan for all numbers.
SET plan_cache_mode = force_generic_plan;
PREPARE counted(int, bigint, bigint) AS SELECT count(*) FROM (SELECT 1 FROM player WHERE score > $1 LIMIT $2 OFFSET $3) s;
PREPARE other(int, bigint, bigint) AS SELECT count(*), max(score) FROM (SELECT score FROM player WHERE score > $1 OFFSET $3) s WHERE $2 > 0;
SELECT args, lbt.answered_by(format('EXECUTE counted(%s)', args)), lbt.result(format('EXECUTE counted(%s)', args)),
	lbt.answered_by(format('EXECUTE other(%s)', args)), lbt.result(format('EXECUTE other(%s)', args))
FROM unnest('{"990, 10, 0","990, 10, 20","990, 100, NULL","990, NULL, 7","NULL, 5, 1","2000, 5, 1","1, 0, 0","1, -1, 0","1, 1, -1","5, 1000, 0"}'::text[]) args;

-- Rows without a score count, and own changes.
BEGIN;
INSERT INTO player SELECT i, NULL, 1 FROM generate_series(4001, 4010) i;
SELECT lbt.result('SELECT count(*) FROM (SELECT 1 FROM player OFFSET 3000 LIMIT 100) s'),
	lbt.result('SELECT count(score) FROM (SELECT score FROM player ORDER BY score NULLS FIRST LIMIT 15) s'),
	lbt.result('EXECUTE counted(990, 1000, 1)');
DELETE FROM player WHERE score > 995;
SELECT lbt.answered_by('EXECUTE counted(990, 1000, 1)'), lbt.result('EXECUTE counted(990, 1000, 1)');
ROLLBACK;
TRUNCATE club;
SELECT lbt.result('SELECT count(*) FROM (SELECT 1 FROM club WHERE country = ''FR'' LIMIT 5 OFFSET 1) s');

SELECT * FROM lb_verify();
DEALLOCATE ALL;
RESET plan_cache_mode;
DROP TABLE player, club;
