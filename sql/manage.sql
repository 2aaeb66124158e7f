--
-- Boards that come, go, and come back, with their transactions
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint, other bigint, grp text
	DEFAULT 'a');
INSERT INTO t SELECT i, i * 7 % 10, i % 3 FROM generate_series(1, 30) i;
CREATE FUNCTION triggers() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT string_agg(tgname || ' ' || tgenabled::text, ', ' ORDER BY tgname)
	FROM pg_trigger WHERE tgrelid = 't'::regclass
$$;

-- Made and rolled back.
BEGIN;
SELECT lb_create_board('b', 't');
SELECT triggers(), lb_rank(3, 'b');
SELECT * FROM lbt.differences('b', 't', query_reads => NULL);
SELECT * FROM lb_verify();
SELECT lb_wait_ready(), lb_rebuild('b');
ROLLBACK;
SELECT triggers(), lb_rank(3, 'b');
BEGIN;
SAVEPOINT a;
SELECT lb_create_board('b', 't');
INSERT INTO t VALUES (100, 100, 1);
ROLLBACK TO a;
INSERT INTO t VALUES (100, 1, 1);
SELECT lb_create_board('b', 't', rank_by => 'score ASC');
UPDATE t SET score = 50 WHERE player_id = 100;
SELECT * FROM lbt.differences('b', 't', dir => 'ASC', query_reads => NULL);
COMMIT;
SELECT triggers(), lb_rank(100, 'b');
SELECT * FROM lbt.differences('b', 't', dir => 'ASC');
SELECT * FROM lb_verify();

-- Several of one table share its triggers.
SELECT lb_create_board('other', 't', rank_by => 'other ASC'),
	lb_create_board('grp', 't', board_column => 'grp');
SELECT lb_wait_ready();
UPDATE t SET score = score + 1, other = other * 2, grp = other % 2;
SELECT * FROM lbt.differences('b', 't', dir => 'ASC');
SELECT * FROM lbt.differences('other', 't', score => 'other', dir => 'ASC');
SELECT * FROM lbt.differences('grp:0', 't', $$grp = '0'$$);
SELECT lb_drop_board('b');
SELECT triggers();
SELECT lb_rank(1, 'b');
UPDATE t SET score = score - 1, other = other + 2, grp = other % 2;
SELECT * FROM lbt.differences('other', 't', score => 'other', dir => 'ASC');
SELECT * FROM lbt.differences('grp:1', 't', $$grp = '1'$$);
SELECT lb_drop_board('grp');
SELECT lb_rank(1, 'grp:1');

-- Dropped and rolled back, with changes before, between and after.
BEGIN;
UPDATE t SET other = -1 WHERE player_id = 1;
SAVEPOINT a;
SELECT lb_drop_board('other');
SELECT triggers();
UPDATE t SET other = -2 WHERE player_id = 2;
ROLLBACK TO a;
SELECT triggers();
UPDATE t SET other = -3 WHERE player_id = 3;
SELECT * FROM lbt.differences('other', 't', score => 'other', dir => 'ASC',
	query_reads => NULL);
COMMIT;
SELECT * FROM lbt.differences('other', 't', score => 'other', dir => 'ASC');
BEGIN;
UPDATE t SET other = -5 WHERE player_id = 1;
SELECT lb_drop_board('other');
UPDATE t SET other = -6 WHERE player_id = 2;
ROLLBACK;
SELECT * FROM lbt.differences('other', 't', score => 'other', dir => 'ASC');
SELECT * FROM lb_verify();

-- The same name again in one transaction, over other columns, rolled back or not.
BEGIN;
UPDATE t SET other = 5 WHERE player_id = 1;
SELECT lb_drop_board('other');
SELECT lb_create_board('other', 't', rank_by => 'score DESC');
UPDATE t SET score = 500 WHERE player_id = 1;
SELECT * FROM lbt.differences('other', 't', query_reads => NULL);
ROLLBACK;
SELECT * FROM lbt.differences('other', 't', score => 'other', dir => 'ASC');
BEGIN;
UPDATE t SET other = 5 WHERE player_id = 1;
SELECT lb_drop_board('other');
SELECT lb_create_board('other', 't', rank_by => 'score DESC');
SELECT lb_drop_board('other');
SELECT lb_create_board('other', 't', rank_by => 'score DESC, other');
UPDATE t SET score = 500 WHERE player_id = 1;
COMMIT;
SELECT triggers();
SELECT * FROM lbt.differences('other', 't', ties => 'other');
SELECT * FROM lb_verify();

-- Made and dropped in one transaction.
BEGIN;
SELECT lb_create_board('short', 't');
UPDATE t SET score = 501 WHERE player_id = 1;
SELECT lb_drop_board('short');
COMMIT;
SELECT lb_rank(1, 'short');
SELECT * FROM lbt.differences('other', 't', ties => 'other');

-- Table and board in one transaction.
BEGIN;
CREATE TABLE n (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO n VALUES (1, 1), (2, 2);
SELECT lb_create_board('n', 'n');
INSERT INTO n VALUES (3, 3);
SELECT * FROM lb_top(5, 'n');
TRUNCATE n;
INSERT INTO n VALUES (4, 4);
SELECT * FROM lb_top(5, 'n');
COMMIT;
SELECT * FROM lb_top(5, 'n');
SELECT * FROM lb_verify();

-- The table goes, and what is recorded of its boards; or comes back.
BEGIN;
INSERT INTO n VALUES (5, 5);
DROP TABLE n;
SELECT board FROM lb_board ORDER BY board;
SELECT lb_rank(4, 'n');
ROLLBACK;
BEGIN;
SAVEPOINT a;
DROP TABLE n;
ROLLBACK TO a;
INSERT INTO n VALUES (5, 5);
SELECT lb_rank(4, 'n');
COMMIT;
SELECT * FROM lbt.differences('n', 'n');
BEGIN;
DROP TABLE n;
CREATE TABLE n (player_id bigint PRIMARY KEY, score integer);
INSERT INTO n VALUES (7, 7);
SELECT lb_create_board('n', 'n');
COMMIT;
SELECT * FROM lb_top(5, 'n');
SELECT board, source FROM lb_board ORDER BY board;
CREATE SCHEMA s;
ALTER TABLE n SET SCHEMA s;
SELECT lb_rank(7, 'n');
DROP SCHEMA s CASCADE;
SELECT board FROM lb_board ORDER BY board;

-- Names change: of the table, its schema, its owner, its columns that no board
-- uses; in a transaction, and back.
ALTER TABLE t RENAME TO renamed;
SELECT board, source FROM lb_board ORDER BY board;
UPDATE renamed SET score = score + 1;
SELECT * FROM lbt.differences('other', 'renamed', ties => 'other');
CREATE SCHEMA s;
ALTER TABLE renamed SET SCHEMA s;
SELECT * FROM lbt.differences('other', 's.renamed', ties => 'other');
ALTER SCHEMA s RENAME TO "S 2";
UPDATE "S 2".renamed SET score = score + 1;
SELECT * FROM lbt.differences('other', '"S 2".renamed', ties => 'other');
BEGIN;
ALTER SCHEMA "S 2" RENAME TO s3;
ALTER TABLE s3.renamed RENAME TO t;
SELECT * FROM lbt.differences('other', 's3.t', ties => 'other', query_reads => NULL);
ROLLBACK;
SELECT * FROM lbt.differences('other', '"S 2".renamed', ties => 'other');
ALTER TABLE "S 2".renamed SET SCHEMA public;
ALTER TABLE renamed RENAME TO t;
DROP SCHEMA "S 2";
ALTER TABLE t RENAME grp TO grp2;
ALTER TABLE t ADD COLUMN extra integer DEFAULT 5, DROP COLUMN grp2;
UPDATE t SET score = score + 1;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('other', 't', ties => 'other');
SELECT * FROM lb_verify();

-- What moves rows and leaves them as they are.
VACUUM FULL t;
SELECT * FROM lbt.differences('other', 't', ties => 'other');
CLUSTER t USING t_pkey;
ALTER TABLE t SET UNLOGGED;
ALTER TABLE t SET LOGGED;
REINDEX TABLE t;
ANALYZE t;
SELECT lb_rebuild('other');
UPDATE t SET score = score * 3 % 17;
SELECT * FROM lbt.differences('other', 't', ties => 'other');
SELECT * FROM lb_verify();

-- Rebuilt: as often as one likes, in a transaction with own changes, all at once.
SELECT lb_rebuild('other');
BEGIN;
UPDATE t SET score = score + 1 WHERE player_id < 5;
SELECT lb_rebuild('other');
SELECT * FROM lbt.differences('other', 't', ties => 'other');
UPDATE t SET score = score + 1 WHERE player_id < 5;
DELETE FROM t WHERE player_id = 7;
SELECT lb_rebuild();
SELECT * FROM lbt.differences('other', 't', ties => 'other');
COMMIT;
SELECT * FROM lbt.differences('other', 't', ties => 'other');
BEGIN;
UPDATE t SET score = score + 1 WHERE player_id < 5;
SELECT lb_rebuild();
ROLLBACK;
SELECT * FROM lbt.differences('other', 't', ties => 'other');
SELECT * FROM lb_verify();
BEGIN;
TRUNCATE t;
INSERT INTO t VALUES (1, 1);
SELECT state FROM lbt.error($$SELECT lb_rebuild('other')$$);
-- A row with a null in "other" is not on the board.
SELECT * FROM lbt.differences('other', 't', 'other IS NOT NULL', ties => 'other', query_reads => NULL);
ROLLBACK;
SELECT lb_rebuild();
SELECT * FROM lbt.differences('other', 't', ties => 'other');

-- Inheritance: the rows of the table itself.
CREATE TABLE child (more text) INHERITS (t);
INSERT INTO child (player_id, score, other) VALUES (900, 900, 1), (1, 1, 1);
SELECT lb_rank(900, 'other'), lb_count('other') = count(other) AS only FROM ONLY t;
UPDATE t SET score = score + 1;
SELECT * FROM lbt.differences('other', 'ONLY t', ties => 'other', query_reads => NULL);
DROP TABLE child;

-- Partitions can have boards of their own.
CREATE TABLE p (player_id bigint, score bigint, PRIMARY KEY (player_id))
PARTITION BY RANGE (player_id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
SELECT lb_create_board('p1', 'p1'), lb_create_board('p2', 'p2');
SELECT lb_wait_ready();
INSERT INTO p SELECT i, i % 7 FROM generate_series(2, 198, 2) i;
UPDATE p SET player_id = (player_id + 101) % 200 WHERE player_id % 10 = 4;
BEGIN;
DELETE FROM p WHERE player_id % 9 = 0;
UPDATE p SET player_id = 199 - player_id WHERE player_id IN (198, 2);
SELECT * FROM lbt.differences('p1', 'p1');
SELECT * FROM lbt.differences('p2', 'p2');
COMMIT;
SELECT * FROM lbt.differences('p1', 'p1');
SELECT * FROM lbt.differences('p2', 'p2');
TRUNCATE p;
SELECT lb_count('p1'), lb_count('p2');
INSERT INTO p SELECT i, i % 7 FROM generate_series(90, 110) i;
SELECT * FROM lb_verify();
DROP TABLE p;
SELECT board FROM lb_board ORDER BY board;

-- Many boards of one table.
SELECT count(lb_create_board('many' || i, 't', rank_by => CASE i % 2 WHEN 0 THEN
	'score DESC' ELSE 'other ASC' END)) FROM generate_series(1, 40) i;
SELECT lb_wait_ready();
UPDATE t SET score = score + player_id % 5, other = other + player_id % 3;
SELECT i FROM generate_series(1, 40) i WHERE NOT lbt.agrees('many' || i, 't',
	'score + other IS NOT NULL', CASE i % 2 WHEN 0 THEN 'score DESC, player_id'
	ELSE 'score, player_id' END) AND i % 2 = 0;
SELECT * FROM lb_verify();
SELECT count(lb_drop_board(board)) FROM lb_board WHERE board ~ 'many';
SELECT triggers();
SELECT lb_drop_board('other');
SELECT triggers();

DROP FUNCTION triggers;
DROP TABLE t;
SELECT * FROM lb_board;
SELECT * FROM lb_verify();
