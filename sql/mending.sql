--
-- lb_rebuild() makes and enables the capture triggers of its boards' tables
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint NOT NULL);
INSERT INTO t SELECT i, i * 7 % 100 FROM generate_series(1, 60) i;
SELECT lb_create_board('t', 't'), lb_create_board('up', 't', rank_by => 'score ASC');
CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint NOT NULL)
	PARTITION BY RANGE (player_id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (50);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (50) TO (1000)
	PARTITION BY RANGE (player_id);
CREATE TABLE p21 PARTITION OF p2 FOR VALUES FROM (50) TO (1000);
INSERT INTO p SELECT i, i * 7 % 100 FROM generate_series(1, 60) i;
SELECT lb_create_board('p', 'p');
SELECT lb_wait_ready();
CREATE VIEW triggers AS
	SELECT tgrelid::regclass AS table, tgname AS name, tgenabled AS enabled
	FROM pg_trigger WHERE tgfoid = 'leaderboard_internal.lb_capture'::regproc
	ORDER BY tgrelid::regclass::text, tgname;
SELECT * FROM triggers;

-- As pg_restore --disable-triggers leaves them.
ALTER TABLE t DISABLE TRIGGER ALL;
ALTER TABLE t ENABLE TRIGGER ALL;
UPDATE t SET score = score + 1;
SELECT lb_rank(5, 't') = lb_rank(5, 't', 'row_number'), lb_score(5, 't');
SELECT lb_rebuild('t');
SELECT lb_wait_ready();
UPDATE t SET score = score + 1 WHERE player_id % 3 = 0;
SELECT board, state FROM lb_stat_board ORDER BY board COLLATE "C";
SELECT * FROM lbt.differences('t', 't');
SELECT * FROM lb_verify();

-- Disabled, missing, or others by that name: all boards at once.
ALTER TABLE t DISABLE TRIGGER leaderboard_capture;
DROP TRIGGER leaderboard_capture_truncate ON t;
ALTER TABLE p21 DISABLE TRIGGER leaderboard_capture;
UPDATE t SET score = score + 1;
UPDATE p SET score = score + 1;
SELECT lb_rebuild();
SELECT lb_wait_ready();
UPDATE t SET score = score + 1 WHERE player_id % 3 = 0;
UPDATE p SET score = score + 1 WHERE player_id % 3 = 0;
SELECT * FROM triggers;
SELECT board, state FROM lb_stat_board ORDER BY board COLLATE "C";
SELECT * FROM lb_verify();
DROP TRIGGER leaderboard_capture ON t;
CREATE CONSTRAINT TRIGGER leaderboard_capture AFTER INSERT OR UPDATE OR DELETE
ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION leaderboard_internal.lb_capture();
DROP TRIGGER leaderboard_capture ON p;
SELECT lb_rebuild();
SELECT lb_wait_ready();
UPDATE t SET score = score + 1 WHERE player_id % 3 = 0;
UPDATE p SET score = score + 1 WHERE player_id % 3 = 0;
SELECT * FROM triggers;
SELECT board, state FROM lb_stat_board ORDER BY board COLLATE "C";
SELECT * FROM lb_verify();

-- Nothing is waited for in the transaction that has altered them, and what it has
-- written is read by the query.
BEGIN;
ALTER TABLE t DISABLE TRIGGER leaderboard_capture;
UPDATE t SET score = 500 WHERE player_id = 5;
SELECT lb_rebuild('t'), lb_rebuild('up');
UPDATE t SET score = 600 WHERE player_id = 6;
SELECT lb_rank(5, 't'), lb_rank(6, 't');
SAVEPOINT s;
SELECT lb_rebuild();
ROLLBACK TO s;
COMMIT;
SELECT lb_wait_ready();
SELECT lb_rank(5, 't'), lb_rank(6, 't');
SELECT * FROM lb_verify();
BEGIN;
DROP TRIGGER leaderboard_capture ON t;
SELECT lb_rebuild('t');
ROLLBACK;
UPDATE t SET score = 700 WHERE player_id = 7;
SELECT lb_rank(7, 't');
SELECT * FROM lb_verify();

-- A role that does not own the table gets an error, and has locked nothing.
CREATE ROLE lb_mender;
GRANT SELECT, TRIGGER ON t TO lb_mender;
ALTER TABLE t DISABLE TRIGGER leaderboard_capture;
SET ROLE lb_mender;
SELECT lb_rebuild('t');
SELECT lb_rebuild();
RESET ROLE;
-- One that has another function stays.
ALTER TRIGGER leaderboard_capture ON t RENAME TO captured;
DROP TRIGGER captured ON t;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER leaderboard_capture AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT state, message FROM lbt.error($$SELECT lb_rebuild('t')$$);
ALTER TRIGGER leaderboard_capture ON t RENAME TO mine;
SELECT lb_rebuild('t');
SELECT lb_wait_ready();

-- Those that others have named go with the last board; the user's own stays.
ALTER TRIGGER leaderboard_capture ON t RENAME TO "Captured 102008";
ALTER TRIGGER leaderboard_capture_truncate ON t RENAME TO captured_truncate;
SELECT lb_wait_ready();
UPDATE t SET score = score + 1 WHERE player_id % 3 = 0;
SELECT lb_create_board('third', 't', method => 'rank');
SELECT lb_wait_ready();
SELECT * FROM triggers WHERE "table" = 't'::regclass;
SELECT * FROM lb_verify();
TRUNCATE t;
SELECT lb_count('t');
INSERT INTO t VALUES (1, 1), (2, 2);
SELECT lb_rank(1, 't'), lb_rank(1, 'up'), lb_rank(1, 'third');
SELECT * FROM lb_verify();
ALTER TABLE t DISABLE TRIGGER ALL;
ALTER TABLE t ENABLE TRIGGER ALL;
SELECT lb_rebuild();
SELECT lb_wait_ready();
SELECT * FROM triggers WHERE "table" = 't'::regclass;

-- What changes no row: the index answers in the same transaction, and nothing is built.
SELECT lb_rebuild('p');
SELECT lb_wait_ready();
CREATE FUNCTION by_query(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	before numeric := lbt.query_reads('t') + lbt.query_reads('p');
BEGIN
	EXECUTE statement;
	PERFORM lb_rank(1, 't'), lb_rank(1, 'p');
	RETURN lbt.query_reads('t') + lbt.query_reads('p') > before;
END $$;
SELECT by_query('ALTER TABLE t SET (fillfactor = 80)') AS fillfactor,
	by_query('ALTER TABLE p1 SET (autovacuum_enabled = off)') AS autovacuum,
	by_query('ALTER TABLE t ALTER score SET STATISTICS 50') AS statistics,
	by_query('ALTER TABLE t ALTER score SET (n_distinct = 50)') AS n_distinct,
	by_query('ALTER TABLE t ALTER score DROP NOT NULL') AS nullable,
	by_query('ALTER TABLE t ALTER score SET NOT NULL') AS not_null,
	by_query('ALTER TABLE t ENABLE ROW LEVEL SECURITY') AS policies,
	by_query('ALTER TABLE t FORCE ROW LEVEL SECURITY') AS forced,
	by_query('COMMENT ON COLUMN t.score IS $c$points$c$') AS comment;
SELECT board, state FROM lb_stat_board ORDER BY board COLLATE "C";
SELECT by_query('ALTER TABLE t ALTER score TYPE bigint USING score + 1') AS rewritten;
SELECT lb_wait_ready();
SELECT lb_score(1, 't');
SELECT by_query('ALTER TABLE t ALTER score DROP NOT NULL, ALTER score SET STATISTICS 60, ALTER score TYPE bigint USING score + 1') AS both;
SELECT lb_wait_ready();
SELECT lb_score(1, 't');
SELECT by_query('ALTER TABLE t ALTER score SET STORAGE PLAIN, ALTER score SET (n_distinct = 60), DISABLE TRIGGER ALL') AS disabled;
SELECT lb_rebuild();
SELECT lb_wait_ready();
SELECT * FROM lb_verify();
SELECT lb_drop_board('t'), lb_drop_board('up'), lb_drop_board('third');
SELECT tgname FROM pg_trigger WHERE tgrelid = 't'::regclass;

SELECT * FROM lb_verify();
DROP VIEW triggers;
DROP TABLE t, p CASCADE;
DROP FUNCTION nothing, by_query;
DROP ROLE lb_mender;
