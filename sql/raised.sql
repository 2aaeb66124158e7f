--
-- Errors of plain SQL: those that PostgreSQL raises are raised, and no others
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL, level int NOT NULL, name text NOT NULL);
INSERT INTO player SELECT i, i * 7919 % 1000, i % 7, 'player ' || i FROM generate_series(1, 5000) i;
SELECT lb_create_board('global', 'player', 'id', 'score DESC, level DESC');
CREATE TABLE crowd (id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO crowd SELECT i, i * 7919 % 1000 FROM generate_series(1, 20000) i;
CREATE INDEX ON crowd (score);
SELECT lb_create_board('crowd', 'crowd', 'id', 'score DESC', keeps => 'counts');
CREATE TABLE fan (id bigint PRIMARY KEY, score int NOT NULL, country text NOT NULL);
INSERT INTO fan SELECT i, i * 7919 % 1000, CASE WHEN i % 3 = 0 THEN 'FR' ELSE 'JP' END FROM generate_series(1, 5000) i;
SELECT lb_create_board('country', 'fan', 'id', 'score DESC', board_column => 'country');
SELECT lb_wait_ready();
VACUUM ANALYZE player, crowd, fan;
CREATE VIEW ranked AS SELECT *, rank() OVER (ORDER BY score DESC),
	row_number() OVER (ORDER BY score DESC, level DESC, id) AS place FROM player;
CREATE TABLE zero (x int);
INSERT INTO zero VALUES (0);
SET plan_cache_mode = force_generic_plan;

-- PostgreSQL runs a subquery when it first needs the value.  It needs that of a
-- condition of FILTER for the rows of the query, if there are any.
SELECT lbt.result('SELECT count(*) FILTER (WHERE score > (SELECT 1 / x FROM zero)), count(*) FROM player WHERE score > 5000');
SELECT lbt.result('SELECT count(*) FILTER (WHERE score > (SELECT 1 / x FROM zero)), count(*) FROM player WHERE score > 500');
CREATE TABLE filters (n serial, query text);
INSERT INTO filters (query) VALUES
	('SELECT 1 + count(*) FILTER (WHERE score > (SELECT score FROM player WHERE id = 42)) AS rank, count(*) FROM player'),
	('SELECT max(score) FILTER (WHERE (SELECT 500 + x FROM zero) > score), min(score) FILTER (WHERE score < 3), count(DISTINCT score) FROM player WHERE score > (SELECT x FROM zero)'),
	('SELECT max(score) FILTER (WHERE score > (SELECT NULL::int FROM zero)), rank(5) WITHIN GROUP (ORDER BY score) FILTER (WHERE score < (SELECT 300 + x FROM zero)) FROM player'),
	('SELECT percentile_disc(NULL) WITHIN GROUP (ORDER BY score) FILTER (WHERE score < (SELECT 300 + x FROM zero)), percentile_disc(0.5) WITHIN GROUP (ORDER BY score) FILTER (WHERE score < (SELECT 300 + x FROM zero)) FROM player'),
	('SELECT (SELECT count(*) FILTER (WHERE score > (SELECT max(x) FROM zero)) FROM player WHERE score > y) FROM generate_series(0, 2000, 700) y'),
	('SELECT count(*) FILTER (WHERE score > (SELECT x FROM zero)), max(score) FILTER (WHERE score < (SELECT 300 + x FROM zero)) FROM fan WHERE country IN (''FR'', ''JP'', ''none'')'),
	('SELECT count(*) FILTER (WHERE score > (SELECT x FROM zero)) FROM fan WHERE country = ''none''');
SELECT lbt.answered_by(query), lbt.result(query) FROM filters ORDER BY n;
-- It does not need it for a row that another condition leaves out.
SELECT lbt.answered_by(query), lbt.result(query) FROM
	(VALUES ('SELECT count(*) FILTER (WHERE score = 5000 AND level > (SELECT 1 / x FROM zero)) FROM player'),
		('SELECT count(*) FILTER (WHERE (score, level) > (5000, (SELECT 1 / x FROM zero))) FROM player')) q(query);
BEGIN;
UPDATE player SET score = 999 WHERE id = 42;
SELECT lbt.answered_by(query), lbt.result(query) FROM filters ORDER BY n LIMIT 2;
ROLLBACK;
CREATE SEQUENCE called;
SELECT lbt.result('SELECT max(score) FILTER (WHERE score > (SELECT nextval(''called''))) FROM player WHERE score > 5000');
SELECT is_called FROM called;
PREPARE optional(int) AS SELECT count(*) FROM player WHERE score > 5000 AND ($1 IS NULL OR score < (SELECT $1 / x FROM zero));
SELECT lbt.answered_by('EXECUTE optional(NULL)');
SELECT lbt.result('EXECUTE optional(1)'), lbt.result('EXECUTE optional(NULL)');
-- A column of a query around it has its value.
SELECT lbt.plan('SELECT (SELECT count(*) FILTER (WHERE score > x) FROM player WHERE score > 500) FROM zero');

-- What a page does not return is computed, too.  A subquery that only some of
-- these rows need.
SELECT lbt.result('SELECT id, CASE WHEN score > 900 THEN (SELECT 1 / x FROM zero) END FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 3000');
SELECT lbt.result('SELECT id, score < 900 OR id = (SELECT 1 / x FROM zero) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 3000');
SELECT lbt.result('SELECT id, CASE WHEN score > 900 THEN (SELECT 1 / x FROM zero) END, rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 3000');
SELECT lbt.result('SELECT id, CASE WHEN rank < 100 THEN (SELECT 1 / x FROM zero) END FROM ranked ORDER BY rank, level DESC, id LIMIT 2 OFFSET 3000');
SELECT lbt.result('SELECT id, CASE WHEN score > 900 THEN (SELECT 1 / x FROM zero) END FROM crowd ORDER BY score DESC LIMIT 2 OFFSET 15000');
-- What all rows need, and all of a page.
SELECT lbt.result('SELECT id, id = (SELECT 3 + x FROM zero), (SELECT x FROM zero) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 3000');
SELECT lbt.answered_by('SELECT id, id = (SELECT 3 + x FROM zero), (SELECT x FROM zero) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 3000');

-- A page without rows, behind rows.
CREATE TABLE behind (n serial, query text);
INSERT INTO behind (query) VALUES
	('SELECT id, (SELECT 1 / x FROM zero) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 6000'),
	('SELECT id, id = (SELECT 1 / x FROM zero) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 6000'),
	('SELECT id, rank() OVER (ORDER BY score DESC), (SELECT 1 / x FROM zero) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 6000'),
	('SELECT id, (SELECT 1 / x FROM zero) FROM ranked ORDER BY rank, level DESC, id LIMIT 2 OFFSET 6000'),
	('SELECT id, (SELECT 1 / x FROM zero) FROM ranked WHERE place <= 10 ORDER BY place LIMIT 2 OFFSET 20'),
	('SELECT id, (SELECT 1 / x FROM zero) FROM crowd ORDER BY score DESC LIMIT 2 OFFSET 30000');
SELECT lbt.result(query) FROM behind ORDER BY n;
-- Nor are there rows before it; or it has no rows that PostgreSQL would look for.
SELECT lbt.result('SELECT id, (SELECT 1 / x FROM zero) FROM player WHERE score > 5000 ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 6000');
SELECT lbt.result('SELECT id, (SELECT 1 / x FROM zero) FROM player ORDER BY score DESC, level DESC, id LIMIT 0 OFFSET 6000');
-- A division that is not constant before the query runs.
PREPARE divided(int) AS SELECT id, 1 / $1 FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 6000;
PREPARE divided_rank(int) AS SELECT id, 1 / $1, rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 6000;
-- The ordinary plan is run only where it may raise an error.
SELECT lbt.answered_by('EXECUTE divided(1)'), lbt.answered_by('EXECUTE divided_rank(1)'),
	lbt.answered_by('SELECT id FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 6000');
SELECT lbt.result(format('EXECUTE %s(%s)', name, x)) FROM (VALUES ('divided'), ('divided_rank')) n(name), (VALUES (0), (1)) v(x);
SELECT * FROM lb_verify();
DEALLOCATE ALL;
RESET plan_cache_mode;
DROP VIEW ranked;
DROP TABLE player, crowd, fan, zero, behind, filters;
DROP SEQUENCE called;
