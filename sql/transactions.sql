--
-- Own changes: seen at once, at every level, and gone with what is rolled back
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 9) i;
SELECT lb_create_board('t', 't');
SELECT lb_wait_ready();

BEGIN;
INSERT INTO t VALUES (100, 55);
SELECT * FROM lb_around(100, 't', 1);
SAVEPOINT a;
UPDATE t SET score = 1000 WHERE player_id = 100;
SELECT lb_rank(100, 't'), lbt.agrees('t', 't');
SAVEPOINT b;
DELETE FROM t WHERE player_id = 100;
SELECT lb_rank(100, 't'), lbt.agrees('t', 't');
ROLLBACK TO b;
SELECT lb_rank(100, 't'), lbt.agrees('t', 't');
UPDATE t SET score = -score WHERE player_id < 5;
SELECT * FROM lbt.differences('t', 't');
RELEASE b;
SELECT lb_rank(4, 't'), lbt.agrees('t', 't');
ROLLBACK TO a;
SELECT lb_rank(100, 't'), lb_rank(4, 't'), lbt.agrees('t', 't');
SELECT * FROM lbt.differences('t', 't');
COMMIT;
SELECT lb_rank(100, 't'), lb_rank(4, 't'), lbt.agrees('t', 't');
SELECT * FROM lb_verify();

-- All of it undone.
BEGIN;
UPDATE t SET score = score + player_id % 3 * 25;
INSERT INTO t SELECT i, i % 17 FROM generate_series(200, 300) i;
DELETE FROM t WHERE player_id % 4 = 0;
UPDATE t SET player_id = player_id + 1000 WHERE player_id < 5;
SELECT * FROM lbt.differences('t', 't');
SELECT * FROM lb_verify();
ROLLBACK;
SELECT * FROM lbt.differences('t', 't');
SELECT * FROM lb_verify();

-- A savepoint of the same name, released and rolled back in turn.
BEGIN;
SAVEPOINT s;
UPDATE t SET score = 1 WHERE player_id = 9;
SAVEPOINT s;
UPDATE t SET score = 2 WHERE player_id = 9;
RELEASE s;
SELECT lb_score(9, 't');
SAVEPOINT s;
UPDATE t SET score = 3 WHERE player_id = 9;
SAVEPOINT s;
UPDATE t SET score = 4 WHERE player_id = 9;
ROLLBACK TO s;
SELECT lb_score(9, 't');
RELEASE s;
ROLLBACK TO s;
SELECT lb_score(9, 't');
RELEASE s;
ROLLBACK TO s;
SELECT lb_score(9, 't'), lbt.agrees('t', 't');
UPDATE t SET score = 5 WHERE player_id = 9;
COMMIT;
SELECT lb_score(9, 't'), lbt.agrees('t', 't');

-- The first change is in a subtransaction, and the next in its parent's parent.
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
SAVEPOINT c;
UPDATE t SET score = 6 WHERE player_id = 9;
RELEASE c;
RELEASE b;
SAVEPOINT d;
UPDATE t SET score = 7 WHERE player_id = 9;
ROLLBACK TO d;
SELECT lb_score(9, 't');
ROLLBACK TO a;
SELECT lb_score(9, 't'), lbt.agrees('t', 't');
UPDATE t SET score = 90 WHERE player_id = 9;
COMMIT;
SELECT lb_score(9, 't'), lbt.agrees('t', 't');

-- Errors end subtransactions, or everything.
BEGIN;
UPDATE t SET score = 500 WHERE player_id = 1;
SAVEPOINT a;
UPDATE t SET score = 600 WHERE player_id = 2;
INSERT INTO t VALUES (1, 1);
SELECT lb_rank(1, 't');
ROLLBACK TO a;
SELECT lb_score(1, 't'), lb_score(2, 't'), lbt.agrees('t', 't');
INSERT INTO t VALUES (1, 1);
COMMIT;
SELECT lb_score(1, 't'), lb_score(2, 't'), lbt.agrees('t', 't');

-- A statement that fails half way.
INSERT INTO t SELECT i, 1 FROM generate_series(1000, 1, -1) i;
UPDATE t SET score = 1 / (player_id - 5);
SELECT lbt.agrees('t', 't');

-- PL/pgSQL blocks.
CREATE FUNCTION try(bigint, bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := lb_rank($1, 't');
BEGIN
	BEGIN
		UPDATE t SET score = $2 WHERE player_id = $1;
		result := result || ' ' || lb_rank($1, 't');
		BEGIN
			DELETE FROM t WHERE player_id = $1;
			result := result || ' ' || coalesce(lb_rank($1, 't'), 0)
				|| ' ' || lb_count('t');
			PERFORM 1 / 0;
		EXCEPTION WHEN division_by_zero THEN
			result := result || ' ' || lb_rank($1, 't') || ' ' || lb_count('t');
		END;
		IF $2 < 0 THEN
			RAISE 'undo';
		END IF;
	EXCEPTION WHEN raise_exception THEN
		result := result || ' ' || lb_rank($1, 't');
	END;
	RETURN result || CASE WHEN lbt.agrees('t', 't') THEN '' ELSE ' wrong' END;
END $$;
SELECT try(1, 1000), try(2, -1), try(3, 5);
SELECT player_id, score FROM t WHERE player_id <= 3 ORDER BY 1;
SELECT * FROM lbt.differences('t', 't');
DROP FUNCTION try;

-- Many subtransactions, one after the other and one in the other.
DO $$
BEGIN
	FOR i IN 1 .. 1000 LOOP
		BEGIN
			INSERT INTO t VALUES (10000 + i, i * 37 % 101);
			IF i % 100 = 0 AND NOT lbt.agrees('t', 't') THEN
				RAISE WARNING 'wrong at %', i;
			END IF;
			IF i % 3 = 0 THEN
				RAISE 'undo';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
	END LOOP;
END $$;
SELECT lb_count('t'), lbt.agrees('t', 't');
CREATE FUNCTION nest(depth int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE t SET score = score + depth WHERE player_id = 10001 + depth * 3;
	UPDATE t SET score = score + depth WHERE player_id = 10001;
	IF depth % 50 = 0 AND NOT lbt.agrees('t', 't') THEN
		RAISE WARNING 'wrong at %', depth;
	END IF;
	IF depth < 200 THEN
		BEGIN
			PERFORM nest(depth + 1);
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
	END IF;
	IF depth % 7 = 6 THEN
		RAISE 'undo';
	END IF;
END $$;
SELECT nest(0);
SELECT lb_count('t'), lbt.agrees('t', 't');
BEGIN;
SELECT nest(0);
SELECT * FROM lbt.differences('t', 't', functions => 'rank$|top|at$');
ROLLBACK;
SELECT lb_count('t'), lbt.agrees('t', 't');
DROP FUNCTION nest;
DELETE FROM t WHERE player_id > 10000;

-- One row, updated again and again in one transaction.
DO $$
DECLARE
	wrong int := 0;
BEGIN
	FOR i IN 1 .. 2000 LOOP
		UPDATE t SET score = i * 7919 % 100 WHERE player_id = 5;
		IF lb_score(5, 't') <> i * 7919 % 100 OR lb_rank(5, 't') <>
			(SELECT 1 + count(*) FROM t WHERE score > i * 7919 % 100
				OR score = i * 7919 % 100 AND player_id < 5) THEN
			wrong := wrong + 1;
		END IF;
	END LOOP;
	RAISE NOTICE 'wrong: %', wrong;
END $$;
SELECT lb_score(5, 't'), lbt.agrees('t', 't');

-- Transactions within a procedure.
CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT player_id, lb_rank(player_id, 't') AS rank FROM t
		WHERE player_id <= 6 ORDER BY player_id
	LOOP
		UPDATE t SET score = score + 1000 WHERE player_id = r.player_id;
		IF lb_rank(r.player_id, 't') IS DISTINCT FROM (SELECT rank FROM (
			SELECT player_id, row_number() OVER (ORDER BY score DESC, player_id)
			AS rank FROM t) x WHERE player_id = r.player_id) THEN
			RAISE WARNING 'wrong for %', r.player_id;
		END IF;
		IF r.player_id % 2 = 0 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
		IF NOT lbt.agrees('t', 't') THEN
			RAISE WARNING 'wrong after %', r.player_id;
		END IF;
	END LOOP;
END $$;
CALL work();
SELECT * FROM lb_top(20, 't');
SELECT * FROM lb_verify();
DROP PROCEDURE work;

-- A cursor sees what was there when it was opened.
BEGIN;
UPDATE t SET score = 77 WHERE player_id = 6;
DECLARE c CURSOR FOR SELECT i, lb_rank(6, 't'), lb_score(6, 't'),
	lb_count('t') FROM generate_series(1, 10) i;
FETCH 1 FROM c;
UPDATE t SET score = 5000 WHERE player_id = 6;
FETCH 1 FROM c;
SAVEPOINT s;
DELETE FROM t WHERE player_id = 6;
INSERT INTO t VALUES (-6, 66);
DECLARE d CURSOR FOR SELECT lb_rank(6, 't'), lb_rank(-6, 't'), lb_count('t')
FROM generate_series(1, 3);
FETCH 1 FROM c;
FETCH 1 FROM d;
INSERT INTO t VALUES (6, 66);
UPDATE t SET score = 1 WHERE player_id = -6;
FETCH 1 FROM c;
FETCH 1 FROM d;
ROLLBACK TO s;
FETCH 1 FROM c;
SELECT lb_score(6, 't'), lb_rank(-6, 't');
COMMIT;

-- Cursors over the table beside changes by WHERE CURRENT OF.
BEGIN;
DECLARE c CURSOR FOR SELECT player_id, lb_rank(player_id, 't') FROM t
ORDER BY player_id FOR UPDATE;
FETCH 2 FROM c;
UPDATE t SET score = score - 3000 WHERE CURRENT OF c;
FETCH 2 FROM c;
DELETE FROM t WHERE CURRENT OF c;
FETCH 1 FROM c;
SELECT lbt.agrees('t', 't');
ROLLBACK;

-- Row locks of the transaction and of its subtransactions.
BEGIN;
SELECT score FROM t WHERE player_id = 7 FOR KEY SHARE;
SAVEPOINT a;
UPDATE t SET score = 71 WHERE player_id = 7;
SELECT lb_score(7, 't');
SAVEPOINT b;
SELECT score FROM t WHERE player_id = 7 FOR SHARE;
UPDATE t SET score = 72 WHERE player_id = 7;
ROLLBACK TO b;
SELECT lb_score(7, 't'), lbt.agrees('t', 't');
DELETE FROM t WHERE player_id = 7;
COMMIT;
SELECT lb_score(7, 't'), lbt.agrees('t', 't');

-- Snapshots of the whole transaction.
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE t SET score = 81 WHERE player_id = 8;
SELECT * FROM lbt.differences('t', 't');
SAVEPOINT s;
DELETE FROM t WHERE player_id % 2 = 0;
SELECT * FROM lbt.differences('t', 't');
ROLLBACK TO s;
SELECT * FROM lbt.differences('t', 't');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lb_rank(NULL, 't'), lb_at(NULL, 't'), lb_score_at_percentile(NULL, 't');
SELECT * FROM lbt.differences('t', 't');
UPDATE t SET score = 82 WHERE player_id = 8;
SELECT * FROM lbt.differences('t', 't');
COMMIT;
BEGIN READ ONLY;
SELECT * FROM lbt.differences('t', 't', functions => 'lb_rank$');
COMMIT;

-- More changes than a transaction settles at once.
BEGIN;
INSERT INTO t SELECT i, i * 7919 % 1000 FROM generate_series(10000, 20000) i;
SELECT lb_count('t'), lbt.agrees('t', 't');
SAVEPOINT s;
UPDATE t SET score = score + 1;
DELETE FROM t WHERE player_id % 10 = 0;
SELECT lb_count('t'), lbt.agrees('t', 't');
ROLLBACK TO s;
SELECT lb_count('t'), lbt.agrees('t', 't');
COMMIT;
SELECT lb_count('t'), lbt.agrees('t', 't');
SELECT * FROM lb_verify();
UPDATE t SET score = -score;
SELECT lb_count('t'), lbt.agrees('t', 't');
DELETE FROM t;
SELECT lb_count('t'), lbt.agrees('t', 't');
SELECT * FROM lb_verify();

-- What nothing is left of.
BEGIN;
INSERT INTO t VALUES (1, 1), (2, 2);
UPDATE t SET score = score + 1;
DELETE FROM t;
SELECT lb_count('t'), lb_rank(1, 't');
COMMIT;
SELECT lb_count('t'), lb_rank(1, 't');

DROP TABLE t;
SELECT * FROM lb_verify();
