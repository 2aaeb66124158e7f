--
-- Users' own triggers on the table of a board
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint, bonus bigint
	GENERATED ALWAYS AS (score * 2 % 11) STORED);
INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 9) i;
SELECT lb_create_board('t', 't'), lb_create_board('bonus', 't',
	rank_by => 'bonus DESC, score ASC');
SELECT lb_wait_ready();
CREATE TABLE log (n serial, what text);
CREATE FUNCTION same() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN lbt.agrees('t', 't') AND (SELECT count(*) = 0 FROM
		lbt.differences('bonus', 't', score => 'bonus', ties => 'score',
			query_reads => NULL, functions => 'rank$|top|count$'))
		THEN 'same' ELSE 'different' END
$$;

-- A trigger that updates rows of the statement itself, before our trigger has
-- seen them and after.
CREATE FUNCTION bump() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() < 3 THEN
		INSERT INTO log (what) VALUES (TG_NAME || ' ' || same());
		UPDATE t SET score = score + 1 WHERE player_id IN (NEW.player_id,
			NEW.player_id + 1);
		INSERT INTO log (what) VALUES (TG_NAME || ' ' || same());
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER a_bump AFTER INSERT OR UPDATE ON t FOR EACH ROW
EXECUTE FUNCTION bump();
UPDATE t SET score = score + 5 WHERE player_id BETWEEN 3 AND 6;
SELECT same();
INSERT INTO t VALUES (20, 1), (21, 2);
SELECT same();
ALTER TRIGGER a_bump ON t RENAME TO z_bump;
UPDATE t SET score = score + 5 WHERE player_id BETWEEN 3 AND 6;
SELECT same();
BEGIN;
UPDATE t SET score = score - 5 WHERE player_id BETWEEN 3 AND 6;
SELECT same();
SAVEPOINT a;
UPDATE t SET score = score - 5, player_id = player_id + 100
WHERE player_id BETWEEN 3 AND 6;
SELECT same();
ROLLBACK TO a;
SELECT same();
COMMIT;
SELECT same();
SELECT what, count(*) FROM log GROUP BY what ORDER BY what COLLATE "C";
SELECT * FROM lb_verify();
DROP TRIGGER z_bump ON t;

-- One that deletes and inserts the very row.
CREATE FUNCTION anew() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		DELETE FROM t WHERE player_id = NEW.player_id;
		INSERT INTO t VALUES (NEW.player_id, NEW.score + 1);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER a_anew AFTER INSERT OR UPDATE ON t FOR EACH ROW
EXECUTE FUNCTION anew();
UPDATE t SET score = score + 5;
SELECT same();
INSERT INTO t VALUES (30, 1), (31, 2);
SELECT same();
ALTER TRIGGER a_anew ON t RENAME TO z_anew;
UPDATE t SET score = score + 5;
SELECT same();
DROP TRIGGER z_anew ON t;

-- One that fails for some rows and catches its error.
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		BEGIN
			UPDATE t SET score = score + 100 WHERE player_id = NEW.player_id;
			IF NEW.player_id % 2 = 0 THEN
				RAISE 'undo';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			INSERT INTO log (what) VALUES ('caught ' || same());
		END;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER a_fail AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION fail();
UPDATE t SET score = score + 5;
SELECT same();
ALTER TRIGGER a_fail ON t RENAME TO z_fail;
UPDATE t SET score = score + 5;
SELECT same();
DROP TRIGGER z_fail ON t;
SELECT what, count(*) FROM log WHERE what ~ 'caught' GROUP BY what ORDER BY what;

-- BEFORE triggers change rows and leave them out; they see what is done so far.
CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (what) VALUES ('before ' || same());
	IF NEW.player_id % 3 = 0 THEN
		RETURN NULL;
	END IF;
	NEW.score := NEW.score + lb_rank(NEW.player_id, 't');
	RETURN NEW;
END $$;
CREATE TRIGGER b BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION before();
UPDATE t SET score = score + 1;
SELECT same();
DROP TRIGGER b ON t;
SELECT what, count(*) FROM log WHERE what ~ 'before' GROUP BY what ORDER BY what;

-- A deferred one writes when the transaction commits.
CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 AND NEW.score < 1000 THEN
		INSERT INTO log (what) VALUES ('later ' || same());
		UPDATE t SET score = score + 1000 WHERE player_id = NEW.player_id;
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER later AFTER INSERT OR UPDATE ON t
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION later();
BEGIN;
INSERT INTO t VALUES (40, 1), (41, 2);
UPDATE t SET score = 7 WHERE player_id = 1;
SELECT same(), lb_score(40, 't');
COMMIT;
SELECT same(), lb_score(40, 't'), lb_score(1, 't');
BEGIN;
INSERT INTO t VALUES (42, 1);
SET CONSTRAINTS ALL IMMEDIATE;
SELECT same(), lb_score(42, 't');
ROLLBACK;
SELECT same(), lb_score(42, 't');
DROP TRIGGER later ON t;

-- Statement triggers with transition tables.
CREATE FUNCTION whole() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (what) SELECT 'whole ' || same() || ' ' || count(*) FROM changed;
	IF pg_trigger_depth() = 1 THEN
		UPDATE t SET score = t.score + 1 FROM changed c WHERE t.player_id = c.player_id;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER whole AFTER UPDATE ON t REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION whole();
UPDATE t SET score = score - 1 WHERE player_id < 4;
SELECT same();
DROP TRIGGER whole ON t;
SELECT what, count(*) FROM log WHERE what ~ 'whole' GROUP BY what ORDER BY what;

-- A rule, and a view that can be written to.
CREATE VIEW v AS SELECT player_id, score FROM t WHERE player_id < 100;
INSERT INTO v VALUES (50, 5);
UPDATE v SET score = score + 1;
DELETE FROM v WHERE player_id = 2;
SELECT same();
CREATE RULE r AS ON INSERT TO v DO INSTEAD
	INSERT INTO t VALUES (NEW.player_id, NEW.score), (NEW.player_id + 1, NEW.score);
INSERT INTO v VALUES (60, 6);
SELECT same();
DROP VIEW v;

-- Our own trigger where it does not belong counts nothing and breaks nothing.
CREATE TABLE other (player_id bigint PRIMARY KEY, score bigint);
CREATE TRIGGER x AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION leaderboard_internal.lb_capture();
CREATE TRIGGER y AFTER INSERT OR TRUNCATE ON other FOR EACH STATEMENT
EXECUTE FUNCTION leaderboard_internal.lb_capture();
INSERT INTO other VALUES (1, 1);
TRUNCATE other;
DROP TABLE other;

SELECT * FROM lbt.differences('t', 't');
SELECT * FROM lbt.differences('bonus', 't', score => 'bonus', ties => 'score');
SELECT * FROM lb_verify();
DROP TABLE t, log;
DROP FUNCTION same, bump, anew, fail, before, later, whole;
SELECT * FROM lb_verify();
