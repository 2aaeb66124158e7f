--
-- Plain SQL that says the expression of a generated ranked_if column; orders by texts and
-- by columns that may be null
--
\pset format unaligned

CREATE TABLE player (name text PRIMARY KEY, score int, team text NOT NULL, hidden boolean NOT NULL DEFAULT false, banned_at date,
	state text NOT NULL DEFAULT 'active',
	shown boolean GENERATED ALWAYS AS (hidden = false AND banned_at IS NULL AND state = 'active' AND score >= 0) STORED);
INSERT INTO player SELECT 'player ' || i, i * 7919 % 1000, 'team ' || i % 50, i % 17 = 0, CASE WHEN i % 19 = 0 THEN date '2026-01-01' END, CASE WHEN i % 23 = 0 THEN 'asleep' ELSE 'active' END
FROM generate_series(1, 5000) i;
SELECT lb_create_board('shown', 'player', 'name', 'score DESC, team', ranked_if => 'shown');
CREATE TABLE game (id int PRIMARY KEY, points int, played date NOT NULL, good boolean GENERATED ALWAYS AS (points % 3 = 0 OR played > '2026-01-05') STORED);
INSERT INTO game SELECT i, i % 500, '2026-01-01'::date + i % 10 FROM generate_series(1, 3000) i;
SELECT lb_create_board('good', 'game', 'id', 'points DESC', ranked_if => 'good');
SELECT lb_wait_ready();
ANALYZE player, game;

SELECT lbt.plan('SELECT count(*) FROM player WHERE NOT hidden AND banned_at IS NULL AND state = ''active'' AND score >= 0 AND score > 500', 'ANALYZE');
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT count(*), max(score) FROM player WHERE shown AND score < 500',
	'SELECT count(*), max(score) FROM player WHERE score < 500 AND score >= 0 AND state = ''active'' AND banned_at IS NULL AND NOT hidden',
	'SELECT count(*), max(score) FROM player WHERE (hidden = false AND banned_at IS NULL AND state = ''active'' AND score >= 0) AND score IS NOT NULL',
	'SELECT name FROM player WHERE NOT hidden AND banned_at IS NULL AND state = ''active'' AND score >= 0 ORDER BY score DESC, team, name LIMIT 2 OFFSET 500',
	'SELECT name FROM player WHERE NOT hidden AND banned_at IS NULL AND state = ''active'' AND score >= 0 ORDER BY score DESC NULLS LAST, team, name LIMIT 2 OFFSET 500',
	'SELECT name FROM player WHERE NOT hidden AND banned_at IS NULL AND state = ''active'' AND score >= 0 AND name LIKE ''%7'' ORDER BY score DESC, team, name LIMIT 2',
	'SELECT r FROM (SELECT name, rank() OVER (ORDER BY score DESC) r FROM player WHERE NOT hidden AND banned_at IS NULL AND state = ''active'' AND score >= 0) p WHERE name = ''player 42''',
	'SELECT count(*) FROM game WHERE points % 3 = 0 OR played > ''2026-01-05''',
	'SELECT count(*) FROM game WHERE (points % 3 = 0 OR played > ''2026-01-05'') AND points > 100'
]) query;
SELECT query, lbt.nodes(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*), max(score) FROM player WHERE score < 500 AND state = ''active'' AND banned_at IS NULL AND NOT hidden',
	'SELECT count(*), max(score) FROM player WHERE score < 500 AND score >= 0 AND state = ''active'' AND banned_at IS NULL AND hidden',
	'SELECT count(*), max(score) FROM player WHERE score >= 0 AND state = ''asleep'' AND banned_at IS NULL AND NOT hidden',
	'SELECT count(*), max(score) FROM player WHERE score >= 0 AND state = ''active'' AND banned_at IS NULL AND NOT hidden AND team > ''t''',
	'SELECT count(*), max(score) FROM player WHERE NOT shown',
	'SELECT count(*) FROM game WHERE points % 3 = 0 AND points > 100',
	'SELECT count(*) FROM game WHERE points % 3 = 0 OR played > ''2026-01-06''',
	'SELECT count(*) FROM game WHERE points % 3 = 0 OR played > ''2026-01-05'' OR points > 100'
]) query;

-- Own changes: the expression is what it is when a row is written.
BEGIN;
UPDATE player SET hidden = true WHERE score > 900;
UPDATE game SET points = NULL WHERE id = 3;
SELECT lbt.answered_by(q), lbt.result(q) FROM unnest(ARRAY['SELECT count(*), max(score) FROM player WHERE score >= 0 AND state = ''active'' AND banned_at IS NULL AND NOT hidden',
	'SELECT count(points) FROM game WHERE points % 3 = 0 OR played > ''2026-01-05''', 'SELECT count(*) FROM game WHERE points % 3 = 0 OR played > ''2026-01-05''']) q;
ROLLBACK;

-- The database's collation is C: texts without a collation of their own are in a board's
-- order, as members and among ties; with another one they are not.
CREATE TABLE word (name text PRIMARY KEY, score int NOT NULL, tag varchar(20) NOT NULL);
INSERT INTO word SELECT CASE WHEN i % 2 = 0 THEN 'Word ' ELSE 'word ' END || i, i % 100, (ARRAY['T', 'a', 'G'])[i % 3 + 1] || i % 7 FROM generate_series(1, 4000) i;
SELECT lb_create_board('word', 'word', 'name', 'score DESC, tag');
SELECT lb_wait_ready();
ANALYZE word;
CREATE VIEW words AS SELECT *, row_number() OVER (ORDER BY score DESC, tag, name), rank() OVER (ORDER BY score DESC) FROM word;
SELECT datcollate FROM pg_database WHERE datname = current_database();
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT name FROM word ORDER BY score DESC, tag, name LIMIT 3 OFFSET 1000',
	'SELECT name FROM word ORDER BY score, tag DESC, name DESC LIMIT 3 OFFSET 1000',
	'SELECT name FROM word WHERE score < 50 ORDER BY score DESC, tag, name LIMIT 3 OFFSET 100',
	'SELECT name FROM word WHERE name LIKE ''%7'' ORDER BY score DESC, tag, name LIMIT 3',
	'SELECT name, row_number, rank FROM words WHERE name IN (''Word 42'', ''word 43'')',
	'SELECT name, row_number FROM words WHERE row_number BETWEEN 1000 AND 1002',
	'SELECT name, row_number FROM words ORDER BY row_number DESC LIMIT 2 OFFSET 1000',
	'SELECT name FROM word ORDER BY score DESC NULLS FIRST, tag NULLS LAST, name NULLS FIRST LIMIT 3 OFFSET 1000'
]) query;
SELECT query, lbt.nodes(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT name FROM word ORDER BY score DESC, tag COLLATE "und-x-icu", name LIMIT 3 OFFSET 1000',
	'SELECT name FROM word ORDER BY score DESC, tag, name COLLATE "und-x-icu" LIMIT 3 OFFSET 1000'
]) query;

-- Nulls last, while no row is off the board, and while one is.
CREATE TABLE maybe (id int PRIMARY KEY, score int, level int);
INSERT INTO maybe SELECT i, i * 7919 % 1000, i % 3 FROM generate_series(1, 4000) i;
SELECT lb_create_board('maybe', 'maybe', 'id', 'score DESC, level');
SELECT lb_wait_ready();
ANALYZE maybe;
CREATE TABLE asked (n serial, query text);
INSERT INTO asked (query) VALUES
	('SELECT id FROM maybe ORDER BY score DESC NULLS LAST, level NULLS FIRST, id LIMIT 2 OFFSET 1000'),
	('SELECT id FROM maybe ORDER BY score NULLS FIRST, level DESC NULLS LAST, id DESC LIMIT 2 OFFSET 1000'),
	('SELECT id FROM maybe WHERE id % 7 = 3 ORDER BY score DESC NULLS LAST, level, id LIMIT 2'),
	('SELECT r FROM (SELECT id, rank() OVER (ORDER BY score DESC NULLS LAST) r FROM maybe) m WHERE id = 42'),
	('SELECT id, rank() OVER (ORDER BY score DESC NULLS LAST) r FROM maybe ORDER BY score DESC NULLS LAST, level, id LIMIT 2 OFFSET 1000'),
	('SELECT rank(7) WITHIN GROUP (ORDER BY score DESC NULLS LAST) FROM maybe');
SELECT query, lbt.answered_by(query), lbt.result(query) FROM asked ORDER BY n;
INSERT INTO maybe VALUES (5000, NULL, 1), (5001, 999, NULL);
SELECT query, lbt.answered_by(query), lbt.result(query) FROM asked ORDER BY n;
DELETE FROM maybe WHERE id >= 5000;
SELECT query, lbt.answered_by(query) FROM asked ORDER BY n;

-- A column stores what its expression gave when the row was written.  That may be another
-- value now, or in another session, and a partition can have an expression of its own.
CREATE FUNCTION fine(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 50; END';
CREATE DOMAIN level AS int CHECK (VALUE < 1000);
CREATE TABLE stored (id int PRIMARY KEY, score int NOT NULL, ratio float8 NOT NULL,
	called boolean GENERATED ALWAYS AS (fine(score)) STORED,
	checked boolean GENERATED ALWAYS AS (score::level > 50) STORED,
	written boolean GENERATED ALWAYS AS (ratio::text = '0.30000000000000004') STORED);
INSERT INTO stored SELECT i, i % 100, CASE WHEN i % 3 = 0 THEN 0.1 + 0.2::float8 ELSE 1 END FROM generate_series(1, 4000) i;
CREATE TABLE parted (id int PRIMARY KEY, score int NOT NULL, shown boolean GENERATED ALWAYS AS (score > 50) STORED) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (2000);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (2000) TO (5000);
INSERT INTO parted SELECT i, i % 100 FROM generate_series(1, 4000) i;
SELECT lb_create_board('called', 'stored', 'id', 'score DESC', ranked_if => 'called');
SELECT lb_create_board('checked', 'stored', 'id', 'score DESC', ranked_if => 'checked');
SELECT lb_create_board('written', 'stored', 'id', 'score DESC', ranked_if => 'written');
SELECT lb_create_board('parted', 'parted', 'id', 'score DESC', ranked_if => 'shown');
SELECT lb_wait_ready();
ANALYZE stored, parted;
CREATE OR REPLACE FUNCTION fine(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 70; END';
SET extra_float_digits = 0;
SELECT query, lbt.nodes(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM stored WHERE called',
	'SELECT count(*) FROM stored WHERE fine(score)',
	'SELECT count(*) FROM stored WHERE checked',
	'SELECT count(*) FROM stored WHERE score::level > 50',
	'SELECT count(*) FROM stored WHERE written',
	'SELECT count(*) FROM stored WHERE ratio::text = ''0.30000000000000004''',
	'SELECT count(*) FROM parted WHERE shown',
	'SELECT count(*) FROM parted WHERE score > 50'
]) query;
RESET extra_float_digits;

SELECT * FROM lb_verify();
DROP VIEW words;
DROP TABLE player, game, word, maybe, asked, stored, parted;
DROP FUNCTION fine;
DROP DOMAIN level;
