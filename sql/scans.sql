--
-- Plain SQL that the planner answers by boards: rows in a board's order
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL, level smallint NOT NULL,
	name text, guild int);
INSERT INTO player SELECT i, i * 7919 % 1000, i % 5, 'player ' || i, i % 10
FROM generate_series(1, 20000) i;
SELECT lb_create_board('global', 'player', 'id', 'score DESC, level DESC');
CREATE TABLE account (id bigint PRIMARY KEY, email text);
INSERT INTO account SELECT i, 'user' || i FROM generate_series(1, 20000, 2) i;
CREATE TABLE other (id bigint PRIMARY KEY, score int NOT NULL, country text NOT NULL);
INSERT INTO other SELECT i, i * 7919 % 1000, CASE i % 2 WHEN 0 THEN 'FR' ELSE 'JP' END FROM generate_series(1, 20000) i;
SELECT lb_create_board('country', 'other', 'id', 'score DESC', board_column => 'country');
CREATE TABLE whole (id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO whole SELECT i, i * 7919 % 1000 FROM generate_series(1, 20000) i;
SELECT lb_create_board('whole', 'whole', 'id', 'score DESC');
SELECT lb_wait_ready();
ANALYZE player, account, other, whole;

-- Plans.
SELECT lbt.plan('SELECT * FROM player WHERE guild = 7 ORDER BY score DESC LIMIT 5');
SELECT lbt.plan('SELECT p.name, a.email FROM player p JOIN account a USING (id) ORDER BY p.score LIMIT 5');
SELECT lbt.plan('SELECT o.id FROM other o JOIN account a USING (id) WHERE country = ''JP'' AND score < 500 ORDER BY score DESC NULLS LAST, o.id LIMIT 5');
SELECT lbt.plan('SELECT id, score FROM player UNION ALL SELECT id, score FROM whole ORDER BY score DESC LIMIT 5');

-- The order is complete, so there is one answer.
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM player WHERE guild = 7 ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id FROM player WHERE guild = 7 ORDER BY score, level, id DESC LIMIT 3',
	'SELECT id FROM player WHERE guild = 7 AND score < 500 ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 20',
	'SELECT id, ctid IS NOT NULL AS here FROM player WHERE name LIKE ''%77%'' ORDER BY score DESC, level DESC, id LIMIT 2',
	'SELECT id FROM player WHERE score < 500 OR id = 3 ORDER BY score DESC, level DESC, id LIMIT 2',
	'SELECT id, generate_series(1, 2) FROM player ORDER BY score, level, id DESC LIMIT 3',
	'SELECT p.id, a.email FROM player p JOIN account a USING (id) ORDER BY score DESC, level DESC, p.id LIMIT 2',
	'SELECT p.id, a.email FROM player p LEFT JOIN account a USING (id) ORDER BY score, level, p.id DESC LIMIT 2',
	'SELECT o.id FROM other o JOIN account a USING (id) WHERE country = ''JP'' AND score < 500 ORDER BY score DESC NULLS LAST, o.id LIMIT 2',
	'SELECT id, score FROM whole UNION ALL SELECT id + 100000, score FROM whole ORDER BY score DESC, id LIMIT 3',
	'SELECT c, id FROM unnest(ARRAY[''FR'', ''XX'', ''JP'', NULL]) c, LATERAL (SELECT o.id FROM other o JOIN account a USING (id) WHERE country = c ORDER BY score DESC, o.id LIMIT 1) x'
]) query;

-- With ties, rows are the same in any order.
SELECT query, lbt.answered_by(query), lbt.result(format('SELECT count(*), sum(id), min(id), max(id) FROM (%s) q', query))
FROM unnest(ARRAY[
	'SELECT id FROM player WHERE guild = 7 ORDER BY score DESC FETCH FIRST 3 ROWS WITH TIES',
	'SELECT id FROM player WHERE guild = 7 ORDER BY score FETCH FIRST 1 ROWS WITH TIES',
	'SELECT id FROM player WHERE guild = 7 ORDER BY score, level, id DESC OFFSET 5 FETCH FIRST 2 ROWS WITH TIES',
	'SELECT p.id FROM player p JOIN account a USING (id) WHERE score < 500 ORDER BY score DESC, level DESC FETCH FIRST 3 ROWS WITH TIES',
	'SELECT id, score FROM player UNION ALL SELECT id, score FROM whole ORDER BY score DESC FETCH FIRST 3 ROWS WITH TIES'
]) query;

-- The plan below is over the ordinary scan of the table, whatever columns its index has.
CREATE INDEX guild_of ON player (guild) INCLUDE (id);
VACUUM ANALYZE player;
SET enable_sort = off;
SELECT lbt.plan('SELECT id FROM player WHERE guild = 7 ORDER BY score DESC, level DESC, id');
SET enable_bitmapscan = off; SET enable_seqscan = off;
SELECT lbt.plan('SELECT id FROM player WHERE guild = 7 AND id % 2 = 1 ORDER BY score DESC, level DESC, id');
SELECT lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT id FROM player WHERE guild = 7 ORDER BY score DESC, level DESC, id',
	'SELECT guild FROM player WHERE guild = 7 ORDER BY score DESC, level DESC, id',
	'SELECT l.id FROM generate_series(1, 5) g, LATERAL (SELECT id FROM player WHERE guild = g ORDER BY score DESC, level DESC, id LIMIT 2) l'
]) query;
RESET enable_sort; RESET enable_bitmapscan; RESET enable_seqscan;
DROP INDEX guild_of;

-- A board that has no index has no scan until it has one; then plans are made again.
BEGIN;
CREATE TABLE late (id int PRIMARY KEY, score int NOT NULL, guild int);
INSERT INTO late SELECT i, i * 7919 % 1000, i % 10 FROM generate_series(1, 20000) i;
SELECT lb_create_board('late', 'late', 'id', 'score DESC');
ANALYZE late;
PREPARE late AS SELECT id FROM late WHERE guild = 7 ORDER BY score DESC, id LIMIT 5;
EXPLAIN (COSTS OFF) EXECUTE late;
COMMIT;
SELECT lb_wait_ready();
EXPLAIN (COSTS OFF) EXECUTE late;
DEALLOCATE late;
DROP TABLE late;

-- Rows off the board that have come since the plan was made: the child puts their nulls where the query wants them.
CREATE TABLE vague (id int PRIMARY KEY, score int, guild int);
INSERT INTO vague SELECT i, i * 7919 % 1000, i % 10 FROM generate_series(1, 20000) i;
SELECT lb_create_board('vague', 'vague', 'id', 'score DESC');
SELECT lb_wait_ready();
ANALYZE vague;
PREPARE best AS SELECT id, score FROM vague WHERE guild = 7 ORDER BY score DESC NULLS LAST, id LIMIT 2;
PREPARE worst AS SELECT id, score FROM vague WHERE guild = 7 ORDER BY score NULLS FIRST, id DESC LIMIT 2;
EXPLAIN (COSTS OFF) EXECUTE best;
EXPLAIN (COSTS OFF) EXECUTE worst;
INSERT INTO vague VALUES (30007, NULL, 7);
EXECUTE best;
EXECUTE worst;
DEALLOCATE ALL;
DROP TABLE vague;

-- Partitions that have boards of their own are merged.
CREATE TABLE ev (id bigint, score int NOT NULL, season int) PARTITION BY LIST (season);
CREATE TABLE ev_1 PARTITION OF ev FOR VALUES IN (1);
CREATE TABLE ev_2 (season int, score int NOT NULL, id bigint);
ALTER TABLE ev ATTACH PARTITION ev_2 FOR VALUES IN (2);
ALTER TABLE ev_1 ADD PRIMARY KEY (id);
ALTER TABLE ev_2 ADD PRIMARY KEY (id);
INSERT INTO ev SELECT i, i * 7919 % 1000, i % 2 + 1 FROM generate_series(1, 20000) i;
SELECT lb_create_board('first', 'ev_1', 'id', 'score DESC'), lb_create_board('second', 'ev_2', 'id', 'score DESC');
SELECT lb_wait_ready();
ANALYZE ev;
SELECT lbt.plan('SELECT * FROM ev ORDER BY score DESC, id LIMIT 5');
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM ev ORDER BY score DESC, id LIMIT 3 OFFSET 30',
	'SELECT * FROM ev WHERE score < 500 ORDER BY score, id DESC LIMIT 3',
	'SELECT * FROM ev WHERE season = 2 AND id % 3 = 0 ORDER BY score DESC, id LIMIT 3',
	'SELECT id FROM ev_2 ORDER BY score DESC, id LIMIT 3 OFFSET 5000'
]) query;

-- A scan that goes on in the plan below has read the last batch in vain.
SELECT lb_stat_reset();
SELECT id FROM player WHERE guild = 7 AND score < 500 ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 20;
SELECT planned_queries, planned_limit FROM lb_stat_board WHERE board = 'global';

-- Many batches.
SET enable_sort = off;
SELECT lbt.plan('SELECT id FROM whole ORDER BY score DESC, id');
-- The plan below may not be run for having fewer look-ups.
SET enable_seqscan = off;
SELECT lbt.answered_by('SELECT id FROM whole ORDER BY score DESC, id'), lbt.result('SELECT id FROM whole ORDER BY score DESC, id');
SELECT lbt.answered_by('SELECT id FROM whole WHERE score BETWEEN 100 AND 600 ORDER BY score, id DESC'), lbt.result('SELECT id FROM whole WHERE score BETWEEN 100 AND 600 ORDER BY score, id DESC');
RESET enable_seqscan;

-- Behind an equal score, texts leave no range.
CREATE TABLE named (name text COLLATE "C" PRIMARY KEY, score int NOT NULL, at int NOT NULL, note text);
INSERT INTO named SELECT 'player ' || i, i % 4, i % 997, repeat('x', 1500) FROM generate_series(1, 2000) i;
SELECT lb_create_board('named', 'named', 'name', 'score DESC, at');
SELECT lb_wait_ready();
ANALYZE named;
SELECT lbt.plan('SELECT name, at FROM named WHERE score = 2 AND at IN (900, 990) ORDER BY at DESC, name DESC LIMIT 2');
SELECT lbt.result('SELECT name, at FROM named WHERE score = 2 AND at IN (900, 990) ORDER BY at DESC, name DESC LIMIT 2');
DROP TABLE named;

-- The index goes away in the middle: the child goes on, behind what was returned.
CREATE TEMP TABLE seen (n serial, id bigint);
CREATE FUNCTION read_on(query text, off_at int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	found_id bigint;
	n int := 0;
BEGIN
	TRUNCATE seen RESTART IDENTITY;
	OPEN c NO SCROLL FOR EXECUTE query;
	LOOP
		FETCH c INTO found_id;
		EXIT WHEN found_id IS NULL;
		n := n + 1;
		IF n = off_at THEN
			SET LOCAL leaderboard.enable_index = off;
		END IF;
		INSERT INTO seen (id) VALUES (found_id);
	END LOOP;
	CLOSE c;
	SET LOCAL leaderboard.enable_index = on;
	IF EXISTS (SELECT FROM (SELECT w.score, lag(w.score) OVER (ORDER BY s.n) AS before FROM seen s JOIN whole w USING (id)) x WHERE before < score) THEN
		RAISE EXCEPTION 'wrong order';
	END IF;
	RETURN (SELECT count(DISTINCT id) FROM seen);
END $$;
SELECT off_at, read_on('SELECT id FROM whole WHERE score < 300 ORDER BY score DESC', off_at), read_on('SELECT id FROM player WHERE guild = 3 AND score < 300 ORDER BY score DESC', off_at)
FROM unnest(ARRAY[1, 32, 33, 500, 100000]) off_at;

-- Cursors: the snapshot is that of the cursor.
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM whole ORDER BY score DESC, id;
DECLARE s SCROLL CURSOR FOR SELECT id FROM whole ORDER BY score DESC, id;
FETCH 3 FROM c;
UPDATE whole SET score = 5000 WHERE id <= 100;
DELETE FROM whole WHERE id > 19900;
MOVE 19990 IN c;
FETCH ALL FROM c;
FETCH 3 FROM s;
FETCH BACKWARD 2 FROM s;
FETCH LAST FROM s;
ROLLBACK;

-- Changes before and after a cursor begins, some of which are rolled back; and a cursor
-- that outlasts its transaction.
BEGIN;
UPDATE whole SET score = 6000 WHERE id = 1;
SAVEPOINT a;
UPDATE whole SET score = 7000 WHERE id = 2;
DECLARE c NO SCROLL CURSOR FOR SELECT id, score FROM whole ORDER BY score DESC, id;
FETCH 1 FROM c;
SAVEPOINT b;
FETCH 1 FROM c;
UPDATE whole SET score = 8000 WHERE id <= 3;
FETCH 31 FROM c;
ROLLBACK TO b;
FETCH 2 FROM c;
RELEASE a;
DELETE FROM whole WHERE score > 990;
DECLARE b SCROLL CURSOR WITH HOLD FOR SELECT id, score FROM whole ORDER BY score DESC, id;
DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT id, score FROM whole ORDER BY score DESC, id;
FETCH 1 FROM h;
UPDATE whole SET score = 9000 WHERE id = 4;
MOVE 100 IN c;
FETCH 1 FROM c;
COMMIT;
FETCH 1 FROM h;
MOVE 10000 IN h;
FETCH 1 FROM h;
CLOSE h;
FETCH ABSOLUTE 10000 FROM b;
FETCH BACKWARD 2 FROM b;
FETCH LAST FROM b;
CLOSE b;
SELECT lbt.result('SELECT id, score FROM whole ORDER BY score DESC, id LIMIT 3');

-- A LIMIT that is another number by the time that the child goes on.
BEGIN;
SET LOCAL lbt.rows = 300;
DECLARE c NO SCROLL CURSOR FOR SELECT id, score FROM player WHERE guild = 7 ORDER BY score DESC, level DESC, id LIMIT current_setting('lbt.rows')::bigint;
FETCH 1 FROM c;
SET LOCAL lbt.rows = 2;
SET LOCAL leaderboard.enable_index = off;
MOVE 298 IN c;
FETCH ALL FROM c;
ROLLBACK;

-- A value that is another one by the time of the next batch, by the time that the scan would
-- give up, and when the child cannot go on.
BEGIN;
SET LOCAL lbt.country = 'FR';
DECLARE c NO SCROLL CURSOR FOR SELECT id, country, score FROM other WHERE country = current_setting('lbt.country') AND id % 3 = 0 ORDER BY score DESC, id;
DECLARE d NO SCROLL CURSOR FOR SELECT id, country, score FROM other WHERE country = current_setting('lbt.country') AND id % 3 = 0 ORDER BY score DESC, id;
SELECT lbt.answered_by('SELECT id, country, score FROM other WHERE country = current_setting(''lbt.country'') AND id % 3 = 0 ORDER BY score DESC, id');
FETCH 1 FROM c;
FETCH 1 FROM d;
SET LOCAL lbt.country = 'JP';
MOVE 40 IN c;
FETCH 1 FROM c;
MOVE 3000 IN c;
FETCH 1 FROM c;
MOVE ALL IN c;
SAVEPOINT a;
SET LOCAL leaderboard.enable_index = off;
MOVE 40 IN d;
ROLLBACK TO a;
SET LOCAL lbt.thirds = 0;
DECLARE e NO SCROLL CURSOR FOR SELECT id, score FROM whole WHERE id % 3 = current_setting('lbt.thirds')::int ORDER BY score DESC, id;
FETCH 1 FROM e;
SET LOCAL lbt.thirds = 1;
SET LOCAL leaderboard.enable_index = off;
MOVE 40 IN e;
ROLLBACK;

-- A row of the cursor is not one of the table to change.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM whole ORDER BY score DESC;
FETCH c \gset
DELETE FROM whole WHERE CURRENT OF c;
ROLLBACK;

-- Rows that the statement itself inserts.
BEGIN;
INSERT INTO whole SELECT id + 200000, score FROM whole WHERE score < 10 ORDER BY score DESC, id;
SELECT count(*), min(id) FROM whole WHERE id > 200000;
ROLLBACK;
RESET enable_sort;

-- What is not.
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT id FROM player WHERE guild = 7 ORDER BY level LIMIT 3',
	'SELECT id FROM player WHERE guild = 7 ORDER BY score DESC FOR UPDATE LIMIT 3',
	'SELECT id FROM player WHERE guild = 7 * (random() < 2)::int ORDER BY score DESC LIMIT 3',
	'SELECT id FROM player p WHERE (SELECT random() < 2 WHERE p.id > 0) ORDER BY score DESC LIMIT 3',
	'SELECT id FROM other ORDER BY score DESC LIMIT 3',
	'SELECT o.id FROM other o JOIN account a USING (id) ORDER BY score DESC LIMIT 3',
	'SELECT * FROM player ORDER BY score DESC',
	'SELECT DISTINCT score FROM player ORDER BY score',
	'SELECT id, score FROM player UNION SELECT id, score FROM whole ORDER BY score DESC LIMIT 5'
]) query;

SELECT * FROM lb_verify();
DROP TABLE player, account, other, whole, seen, ev;
DROP FUNCTION read_on;
