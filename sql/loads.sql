--
-- Loads of a table whose boards keep counts: where many changes of a command have
-- the same score, a transaction adds them up
--
CREATE TABLE l (id bigint, score integer, grp text, shown boolean DEFAULT true,
	half bigint GENERATED ALWAYS AS (id % 2) STORED);
INSERT INTO l SELECT i, i % 50, 'a', true FROM generate_series(1, 500) i;
SELECT lb_create_board('l', 'l', rank_by => 'score DESC', keeps => 'counts'),
	lb_create_board('two', 'l', rank_by => 'score ASC, half DESC', ranked_if => 'shown', keeps => 'counts'),
	lb_create_board('grp', 'l', rank_by => 'score DESC', board_column => 'grp', keeps => 'counts');
SELECT lb_wait_ready();
SELECT lb_stat_reset();

-- What the functions say of each score, less what the table says.
CREATE VIEW scores AS SELECT s FROM generate_series(-2, 130, 7) s;
CREATE VIEW differences AS
SELECT * FROM (
	SELECT 'l' AS board, s, lb_rank_of_score(s, 'l') AS got, (SELECT count(*) + 1 FROM l WHERE score > s) AS want FROM scores
	UNION ALL
	SELECT 'two', s, lb_count_between(s, s, 'two'), (SELECT count(*) FROM l WHERE score = s AND shown) FROM scores
	UNION ALL
	SELECT 'grp:a', s, lb_rank_of_score(s, 'grp:a', 'dense_rank'),
		(SELECT count(DISTINCT score) + 1 FROM l WHERE score > s AND grp = 'a') FROM scores
	UNION ALL
	SELECT 'grp:b', s, lb_count_between(s, NULL, 'grp:b'), (SELECT count(*) FROM l WHERE score >= s AND grp = 'b') FROM scores) d
WHERE got IS DISTINCT FROM want;
CREATE VIEW transaction_memory AS
SELECT coalesce(sum(total_bytes), 0) AS bytes FROM pg_backend_memory_contexts
WHERE name = 'leaderboard transaction';

-- The memory of a load has a bound: without it, it would be ten times as much.
BEGIN;
INSERT INTO l SELECT i, i % 100, chr(97 + i % 2), i % 3 > 0 FROM generate_series(1, 30000) i;
SELECT bytes < 800000 AS inserted FROM transaction_memory \gset
UPDATE l SET score = score + 7;
SELECT bytes < 800000 AS updated FROM transaction_memory \gset
DELETE FROM l WHERE id % 4 = 0;
SELECT :'inserted'::boolean AS inserted, :'updated'::boolean AS updated, bytes < 800000 AS deleted FROM transaction_memory;
SELECT * FROM differences;
COMMIT;
SELECT * FROM differences;
SELECT * FROM lb_verify();

-- Changes of a command that cancel each other
TRUNCATE l;
INSERT INTO l SELECT i, i % 50, 'a' FROM generate_series(1, 500) i;
BEGIN;
WITH gone AS (DELETE FROM l WHERE id > 100 RETURNING *)
INSERT INTO l SELECT id + 1, score, grp, shown FROM gone;
SELECT * FROM differences;
COMMIT;
SELECT * FROM differences;
COPY l (id, score, grp) FROM stdin;
1	3	b
1	3	b
1	4	b
1	3	b
1	4	b
1	3	b
1	4	a
1	4	b
1	3	b
1	4	b
1	3	b
1	4	a
1	4	b
1	3	b
1	4	b
1	3	b
1	4	a
1	4	b
1	3	b
1	4	b
1	3	b
1	4	a
1	4	b
1	3	b
1	4	b
\.
SELECT * FROM differences;

-- Savepoints: what is added up in one of them goes with it.
BEGIN;
UPDATE l SET score = score + 1 WHERE id % 2 = 0;
SAVEPOINT one;
UPDATE l SET score = score + 1;
SELECT * FROM differences;
SAVEPOINT two;
INSERT INTO l SELECT i, i % 60, 'b', false FROM generate_series(1, 300) i;
RELEASE two;
UPDATE l SET score = score - 2, shown = NOT shown WHERE id % 3 = 0;
SELECT * FROM differences;
ROLLBACK TO one;
SELECT * FROM differences;
INSERT INTO l SELECT i, i % 60, 'a' FROM generate_series(1, 300) i;
SELECT * FROM differences;
SAVEPOINT three;
TRUNCATE l;
INSERT INTO l SELECT i, i % 60, 'a' FROM generate_series(1, 300) i;
SELECT * FROM differences;
ROLLBACK TO three;
SELECT * FROM differences;
UPDATE l SET grp = 'b' WHERE id % 2 = 1;
SELECT * FROM differences;
COMMIT;
SELECT * FROM differences;
SELECT * FROM lb_verify();

-- A block of a function that is undone, many times, while the statement goes on
DO $$
BEGIN
	INSERT INTO l SELECT i, i % 60, 'a' FROM generate_series(1, 100) i;
	FOR i IN 1..20 LOOP
		BEGIN
			UPDATE l SET score = score + i;
			INSERT INTO l SELECT j, j % 60, 'b' FROM generate_series(1, 100) j;
			IF i % 3 > 0 THEN
				RAISE 'undo';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
		IF EXISTS (SELECT FROM differences) THEN
			RAISE NOTICE 'different after %', i;
		END IF;
	END LOOP;
END $$;
DELETE FROM l WHERE score > 120 OR id > 200;
SELECT * FROM differences;

-- Cursors see what was there when they were opened, also while the same
-- scores change.
BEGIN;
UPDATE l SET score = score + 1;
DECLARE early CURSOR FOR SELECT s, lb_rank_of_score(s, 'l') AS got, (SELECT count(*) + 1 FROM l WHERE score > s) AS want FROM scores;
FETCH 1 FROM early;
UPDATE l SET score = score - 1;
DECLARE late CURSOR FOR SELECT s, lb_rank_of_score(s, 'l') AS got, (SELECT count(*) + 1 FROM l WHERE score > s) AS want FROM scores;
INSERT INTO l SELECT i, i % 60, 'a' FROM generate_series(1, 1000) i;
CREATE FUNCTION fetched(c refcursor, n integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	r record;
	wrong bigint := 0;
BEGIN
	FOR i IN 1..n LOOP
		FETCH c INTO r;
		wrong := wrong + (r.got IS DISTINCT FROM r.want)::int;
	END LOOP;
	RETURN wrong;
END $$;
SELECT fetched('early', 5) AS early, fetched('late', 6) AS late;
SAVEPOINT s;
DELETE FROM l WHERE id % 3 = 0;
SELECT fetched('early', 5) AS early, fetched('late', 6) AS late;
ROLLBACK TO s;
SELECT fetched('early', 5) AS early, fetched('late', 6) AS late;
SELECT * FROM differences;
COMMIT;

-- The index has answered all of this.
SELECT sum(index_reads) > 0 AS by_index, sum(query_own_changes) AS by_query FROM lb_stat_board;

-- A trigger that looks at the board while the statement's rows are captured
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM differences) THEN
		RAISE NOTICE 'different at %', NEW.id;
	END IF;
	RETURN NULL;
END $$;
DELETE FROM l WHERE id > 120;
CREATE TRIGGER look AFTER INSERT ON l FOR EACH ROW WHEN (NEW.id % 20 = 0) EXECUTE FUNCTION look();
BEGIN;
INSERT INTO l SELECT i, i % 6, 'b' FROM generate_series(1, 200) i;
SAVEPOINT s;
INSERT INTO l SELECT i, i % 5, 'b' FROM generate_series(1, 200) i;
SELECT * FROM differences;
ROLLBACK TO s;
SELECT * FROM differences;
COMMIT;
SELECT * FROM differences;
DROP TRIGGER look ON l;

-- A trigger that updates the statement's rows again, before our trigger fires
-- and after it, and undoes a part of it; it looks at the board in between.
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() > 1 THEN
		RETURN NULL;
	END IF;
	IF NEW.id % 40 = 0 AND EXISTS (SELECT FROM differences) THEN
		RAISE NOTICE 'different at % in %', NEW.id, TG_NAME;
	END IF;
	UPDATE l SET score = score + 1 WHERE id = NEW.id;
	BEGIN
		UPDATE l SET score = score + 5 WHERE score = NEW.score AND id < 60;
		IF NEW.id % 2 = 0 THEN
			RAISE 'undo';
		END IF;
	EXCEPTION WHEN raise_exception THEN
		NULL;
	END;
	RETURN NULL;
END $$;
DELETE FROM l WHERE id > 120;
CREATE TRIGGER a_again AFTER INSERT OR UPDATE ON l FOR EACH ROW WHEN (NEW.id % 5 = 0) EXECUTE FUNCTION again();
CREATE TRIGGER zz_again AFTER INSERT OR UPDATE ON l FOR EACH ROW WHEN (NEW.id % 7 = 0) EXECUTE FUNCTION again();
BEGIN;
INSERT INTO l SELECT i, i % 6, 'a' FROM generate_series(1, 120) i;
SELECT * FROM differences;
UPDATE l SET score = score % 50 WHERE id < 100;
SELECT * FROM differences;
SAVEPOINT s;
UPDATE l SET score = score - 1, grp = 'b' WHERE id < 100;
SELECT * FROM differences;
ROLLBACK TO s;
SELECT * FROM differences;
COMMIT;
SELECT * FROM differences;
SELECT * FROM lb_verify();
DROP TRIGGER a_again ON l;
DROP TRIGGER zz_again ON l;

-- The statement's own changes are added up although those of its triggers'
-- statements come between them.
CREATE TABLE log (id bigint, n integer);
SELECT lb_create_board('log', 'log', rank_by => 'n DESC', keeps => 'counts');
CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log VALUES (-NEW.id, 3);
	RETURN NULL;
END $$;
CREATE TRIGGER log_it AFTER INSERT ON log FOR EACH ROW WHEN (NEW.id > 0 AND NEW.id % 20 = 0) EXECUTE FUNCTION log_it();
SELECT lb_wait_ready();
BEGIN;
INSERT INTO log SELECT i, i % 5 FROM generate_series(1, 40000) i;
SELECT bytes < 400000 AS little FROM transaction_memory;
SELECT count(*), lb_count('log'), lb_rank_of_score(2, 'log'), count(*) FILTER (WHERE n > 2) + 1 AS rank FROM log;
COMMIT;
SELECT count(*), lb_count('log'), lb_rank_of_score(2, 'log'), count(*) FILTER (WHERE n > 2) + 1 AS rank FROM log;
SELECT * FROM lb_verify();

-- Changes that have been added up, with savepoints, a cursor and TRUNCATE
CREATE TABLE big (n integer);
SELECT lb_create_board('big', 'big', rank_by => 'n DESC', keeps => 'counts');
SELECT lb_wait_ready();
SELECT lb_stat_reset();
CREATE VIEW wrong AS
SELECT n, rows, lb_count_between(n, n, 'big') AS counted
FROM generate_series(-1, 20) n
	LEFT JOIN (SELECT n, count(*) AS rows FROM big GROUP BY n) t USING (n)
WHERE coalesce(rows, 0) IS DISTINCT FROM lb_count_between(n, n, 'big');
BEGIN;
INSERT INTO big SELECT i % 7 FROM generate_series(1, 6000) i;
SELECT * FROM wrong;
SAVEPOINT one;
INSERT INTO big SELECT i % 11 FROM generate_series(1, 6000) i;
SELECT * FROM wrong;
UPDATE big SET n = n + 1 WHERE n < 4;
SELECT * FROM wrong;
ROLLBACK TO one;
SELECT * FROM wrong;
SAVEPOINT two;
INSERT INTO big SELECT i % 13 FROM generate_series(1, 6000) i;
RELEASE two;
DECLARE c CURSOR FOR SELECT count(*), lb_count('big') AS counted, lb_count_between(3, 5, 'big'), count(*) FILTER (WHERE n BETWEEN 3 AND 5) AS between FROM big;
INSERT INTO big SELECT i % 3 FROM generate_series(1, 6000) i;
DELETE FROM big WHERE n = 4;
FETCH c;
CLOSE c;
SELECT * FROM wrong;
SAVEPOINT three;
TRUNCATE big;
INSERT INTO big SELECT i % 5 FROM generate_series(1, 6000) i;
SELECT * FROM wrong;
ROLLBACK TO three;
SELECT * FROM wrong;
TRUNCATE big;
INSERT INTO big SELECT i % 5 FROM generate_series(1, 6000) i;
INSERT INTO big SELECT i % 6 FROM generate_series(1, 6000) i;
SELECT * FROM wrong;
SELECT bytes < 300000 AS little FROM transaction_memory;
COMMIT;
SELECT * FROM wrong;
SELECT sum(index_reads) > 0 AS by_index, sum(query_own_changes) AS by_query FROM lb_stat_board WHERE board = 'big';

-- Nothing is left of the changes of a command.
BEGIN;
WITH gone AS (DELETE FROM big RETURNING n)
INSERT INTO big SELECT n FROM gone;
SELECT * FROM wrong;
COMMIT;
SELECT * FROM wrong;
SELECT * FROM lb_verify();
DROP VIEW wrong;

SELECT lb_drop_board('big'), lb_drop_board('l'), lb_drop_board('two'), lb_drop_board('grp'), lb_drop_board('log');
DROP VIEW differences, scores, transaction_memory;
DROP TABLE l, log, big;
DROP FUNCTION fetched, again, look, log_it;
