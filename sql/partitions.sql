-- A board of a partitioned table has the rows of all partitions.
SET client_min_messages = warning;
CREATE TABLE pt (player_id bigint PRIMARY KEY, score int, other int DEFAULT 0)
PARTITION BY RANGE (player_id);
CREATE TABLE pt1 PARTITION OF pt FOR VALUES FROM (0) TO (100);

-- Columns in another order, with a gap.
CREATE TABLE pt2 (junk int, other int DEFAULT 0, score int, player_id bigint PRIMARY KEY);
ALTER TABLE pt2 DROP COLUMN junk;
INSERT INTO pt2 SELECT i % 3, i % 7, i FROM generate_series(100, 199, 5) i;
ALTER TABLE pt ATTACH PARTITION pt2 FOR VALUES FROM (100) TO (200);
CREATE TABLE pt3 PARTITION OF pt FOR VALUES FROM (200) TO (400)
PARTITION BY RANGE (player_id);
CREATE TABLE pt3a PARTITION OF pt3 FOR VALUES FROM (200) TO (300);
INSERT INTO pt (player_id, score) SELECT i, i % 9 FROM generate_series(0, 99, 5) i
UNION ALL SELECT i, i % 5 FROM generate_series(200, 299, 5) i;

SELECT lb_create_board('pt', 'pt', rank_by => 'score DESC, other');
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');

-- Through the table, through a partition, from one to another.
UPDATE pt SET score = score + 1 WHERE player_id % 3 = 0;
UPDATE pt2 SET score = 50 WHERE player_id = 150;
DELETE FROM pt WHERE player_id = 250;
UPDATE pt SET player_id = 250 WHERE player_id = 5;
COPY pt (player_id, score) FROM stdin;
5	77
\.
BEGIN;
INSERT INTO pt3a VALUES (260, 77) ON CONFLICT (player_id) DO UPDATE SET score = 78;
DELETE FROM pt WHERE player_id = 155;
UPDATE pt SET player_id = 155 WHERE player_id = 295;
DELETE FROM pt2 WHERE player_id BETWEEN 120 AND 130;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
SAVEPOINT s;
MERGE INTO pt USING (SELECT generate_series(90, 110) AS id) n ON player_id = id
WHEN MATCHED AND id % 2 = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET score = 3 * score;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
ROLLBACK TO s;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
COMMIT;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
SELECT * FROM lb_verify();

-- A statement sees what it has changed in the partitions, by its query.
WITH w AS (UPDATE pt2 SET score = score + 1 WHERE player_id = 105 RETURNING player_id)
SELECT lb_rank(player_id, 'pt') = (SELECT 1 + count(*) FROM pt, pt p
	WHERE p.player_id = 105 AND (-pt.score, pt.other, pt.player_id)
		< (-p.score, p.other, p.player_id)) FROM w;

-- So does a user's trigger that fires before the capture trigger: rows of the statement
-- are still to come, in this partition and in others.
CREATE TABLE seen (player_id int, by_index bigint, by_query bigint);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen SELECT NEW.player_id, lb_rank(NEW.player_id, 'pt'), r
	FROM (SELECT player_id, row_number() OVER (ORDER BY score DESC, other, player_id) AS r FROM pt) s
	WHERE player_id = NEW.player_id;
	RETURN NULL;
END $$;
CREATE TRIGGER a_look AFTER UPDATE ON pt FOR EACH ROW EXECUTE FUNCTION look();
UPDATE pt SET score = 300 - score WHERE player_id IN (10, 20, 110, 115, 210, 220);
UPDATE pt2 SET score = 300 - score WHERE player_id IN (135, 140);
SELECT *, by_index = by_query AS same FROM seen ORDER BY player_id;
DROP TRIGGER a_look ON pt;
DROP FUNCTION look;
DROP TABLE seen;
SELECT lb_wait_ready('5 min');
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');

-- A new partition is nothing new.
CREATE TABLE pt4 PARTITION OF pt FOR VALUES FROM (400) TO (500);
SELECT state FROM lb_stat_board WHERE board = 'pt';
INSERT INTO pt VALUES (450, 1000);
SELECT lb_rank(450, 'pt');
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');

-- Rows that come or go with their partition: the board is built again.
CREATE FUNCTION follows(command text) RETURNS TABLE (reason text, of_all boolean)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN QUERY SELECT s.reason, lb_count('pt') = (SELECT count(*) FROM pt)
		FROM lb_stat_board s WHERE board = 'pt';
END $$;
CREATE TABLE pt5 (LIKE pt INCLUDING ALL);
INSERT INTO pt5 SELECT i, 2000 FROM generate_series(500, 509) i;
SELECT of_all FROM follows('ALTER TABLE pt ATTACH PARTITION pt5 FOR VALUES FROM (500) TO (600)');
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
SELECT of_all FROM follows('ALTER TABLE pt DETACH PARTITION pt5');
INSERT INTO pt5 VALUES (510, 2000);
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
SELECT of_all FROM follows('ALTER TABLE pt ATTACH PARTITION pt5 FOR VALUES FROM (500) TO (600)');
ALTER TABLE pt DETACH PARTITION pt5 CONCURRENTLY;
SELECT lb_count('pt') = count(*) FROM pt;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
SELECT of_all FROM follows('TRUNCATE pt4');
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
SELECT of_all FROM follows('INSERT INTO pt VALUES (430, 30); DROP TABLE pt4');
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');

-- A trigger of one partition disabled, and enabled.
ALTER TABLE pt1 DISABLE TRIGGER leaderboard_capture;
DELETE FROM pt1 WHERE player_id < 10;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other', query_reads => NULL);
SELECT lb_wait_ready('0');
ALTER TABLE pt1 ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');

-- TRUNCATE of the table is followed; of a partition besides, it is not known
-- what is left.
BEGIN;
TRUNCATE pt;
INSERT INTO pt VALUES (1, 1), (220, 5);
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
SAVEPOINT s;
TRUNCATE pt1;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other', query_reads => NULL);
ROLLBACK;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
TRUNCATE pt;
SELECT state, members FROM lb_stat_board WHERE board = 'pt';
INSERT INTO pt SELECT i, i % 11 FROM generate_series(0, 299, 9) i;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');

-- What was rolled back, or was not allowed, is as if it had not been.
CREATE ROLE regress_lb_nobody;
SET ROLE regress_lb_nobody;
DO $$ BEGIN
	TRUNCATE pt1;
EXCEPTION WHEN insufficient_privilege THEN
	RAISE WARNING '%', SQLERRM;
END $$;
RESET ROLE;
DROP ROLE regress_lb_nobody;
BEGIN;
UPDATE pt SET score = score + 1 WHERE player_id = 9;
SAVEPOINT a;
TRUNCATE pt1;
SAVEPOINT b;
ALTER TABLE pt DISABLE TRIGGER leaderboard_capture;
UPDATE pt SET score = 0;
ROLLBACK TO b;
RELEASE b;
ROLLBACK TO a;
UPDATE pt SET score = score + 1 WHERE player_id = 9;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
COMMIT;
SELECT state, members FROM lb_stat_board WHERE board = 'pt';
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
-- ... and what was kept is, whatever was rolled back after it.
BEGIN;
SAVEPOINT a;
ALTER TABLE pt DISABLE TRIGGER leaderboard_capture;
UPDATE pt SET score = score + 2;
ALTER TABLE pt ENABLE ALWAYS TRIGGER leaderboard_capture;
RELEASE a;
SAVEPOINT b;
TRUNCATE pt1;
ROLLBACK TO b;
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other', query_reads => true);
COMMIT;
SELECT lb_wait_ready();
SELECT state, members FROM lb_stat_board WHERE board = 'pt';
SELECT * FROM lbt.differences('pt', 'pt', ties => 'other');
-- A TRUNCATE of a table in between
CREATE TABLE pm (player_id bigint PRIMARY KEY, score int) PARTITION BY RANGE (player_id);
CREATE TABLE pm1 PARTITION OF pm FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (player_id);
CREATE TABLE pm11 PARTITION OF pm1 FOR VALUES FROM (0) TO (50);
CREATE TABLE pm12 PARTITION OF pm1 FOR VALUES FROM (50) TO (100);
CREATE TABLE pm2 PARTITION OF pm FOR VALUES FROM (100) TO (200);
INSERT INTO pm SELECT i, i FROM generate_series(0, 199) i;
SELECT lb_create_board('pm', 'pm');
SELECT lb_wait_ready();
BEGIN;
SAVEPOINT a;
TRUNCATE pm1;
ROLLBACK TO a;
COMMIT;
SELECT state, members FROM lb_stat_board WHERE board = 'pm';
DROP TABLE pm;

-- One row trigger of ours for each partition.
SELECT lb_create_board('one', 'pt1');
CREATE TABLE q (player_id bigint PRIMARY KEY, score int) PARTITION BY LIST (player_id);
CREATE TABLE q1 PARTITION OF q FOR VALUES IN (1);
SELECT lb_create_board('q1', 'q1');
SELECT lb_create_board('q', 'q');
SELECT lb_drop_board('q1'), lb_create_board('q', 'q');

-- The member alone must be unique, over all partitions.
CREATE TABLE r (player_id bigint, score int, season int, PRIMARY KEY (player_id, season))
PARTITION BY LIST (season);
SELECT lb_create_board('r', 'r');

-- As a family by the partition key: a partition is a board.
SELECT lb_create_board('r', 'r', board_column => 'season');
CREATE TABLE r1 PARTITION OF r FOR VALUES IN (1);
CREATE TABLE r2 PARTITION OF r FOR VALUES IN (2);
SELECT lb_wait_ready();
INSERT INTO r SELECT i, i % 5, 1 + i % 2 FROM generate_series(1, 40) i;
UPDATE r SET season = 2 WHERE player_id % 10 = 1;
SELECT * FROM lbt.differences('r:1', 'r', 'season = 1');
SELECT * FROM lbt.differences('r:2', 'r', 'season = 2');
DROP TABLE r1;
SELECT lb_count('r:1'), lb_count('r:2') = count(*) FROM r;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('r:1', 'r', 'season = 1');
SELECT * FROM lbt.differences('r:2', 'r', 'season = 2');

-- Members beyond all bounds, in the default partition, where they may be null.
CREATE TABLE d (id bigint UNIQUE, score int) PARTITION BY RANGE (id);
CREATE TABLE d1 PARTITION OF d FOR VALUES FROM (10) TO (20);
CREATE TABLE d2 PARTITION OF d DEFAULT;
INSERT INTO d SELECT i, i FROM generate_series(1, 30) i;
INSERT INTO d VALUES (NULL, 15);
SELECT lb_create_board('d', 'd', member => 'id', rank_by => 'score ASC');
SELECT lb_wait_ready();
SELECT * FROM lb_ranks('{15,29,5}', 'd');
SELECT * FROM lbt.differences('d', 'd', 'id IS NOT NULL', member => 'id', dir => 'ASC');
SET leaderboard.enable_index = off;
SELECT * FROM lb_ranks('{15,29,5}', 'd');
SELECT * FROM lb_ranks('{29}', 'd');
SELECT member, place FROM lb_among('{15,29,5}', 'd');
RESET leaderboard.enable_index;

SELECT * FROM lb_verify();
DROP FUNCTION follows;
DROP TABLE d, q, r;
SELECT lb_drop_board('pt');
SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'leaderboard%';
DROP TABLE pt, pt5;
SELECT * FROM lb_board;
