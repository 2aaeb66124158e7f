--
-- Transactions that change many rows: fewer than are kept in shared memory, and
-- more.  Each change is looked at before the commit and after it.
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint);
SELECT lb_create_board('t', 't');
SELECT lb_wait_ready();
CREATE FUNCTION same() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN lbt.agrees('t', 't') THEN 'same' ELSE 'different' END
$$;

-- Trigger functions that update the statement's rows again, or some of them.
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		UPDATE t SET score = score + NEW.player_id % 3
		WHERE player_id = NEW.player_id;
	END IF;
	RETURN NULL;
END $$;

CREATE PROCEDURE many(n integer) LANGUAGE plpgsql AS $$
DECLARE
	what text;
	statement text;
	before text;
BEGIN
	TRUNCATE t;
	INSERT INTO t SELECT i, i * 7919 % 1000 FROM generate_series(1, n) i;
	RAISE NOTICE '% rows: %', n, same();
	COMMIT;
	FOREACH what IN ARRAY ARRAY[
		'every row: UPDATE t SET score = (score * 31 + 17) % 1009',
		-- The rows are where the last statement has put them.
		'in another order: UPDATE t SET score = v.s FROM (SELECT player_id AS m,
			player_id * 104729 % 1013 AS s FROM t ORDER BY player_id * 7919 % 10007) v
			WHERE player_id = v.m',
		'only as they are: UPDATE t SET score = score',
		'other members: UPDATE t SET player_id = player_id + 100000',
		'members in exchange: WITH gone AS (DELETE FROM t RETURNING *)
			INSERT INTO t SELECT player_id * 7919 % 1000003, score FROM gone
			ORDER BY score',
		'deleted: DELETE FROM t WHERE player_id % 5 = 0',
		'inserted: INSERT INTO t SELECT -i, i % 1000 FROM generate_series(1, 5000) i
			ON CONFLICT DO NOTHING'] LOOP
		statement := split_part(what, ': ', 2);
		EXECUTE statement;
		before := same();
		COMMIT;
		RAISE NOTICE '%: %, then %', split_part(what, ': ', 1), before, same();

		-- Twice, and all but the first undone.
		EXECUTE 'UPDATE t SET score = score + 1';
		BEGIN
			EXECUTE statement;
			EXECUTE 'UPDATE t SET score = score * 2 WHERE player_id % 2 = 0';
			before := same();
			RAISE 'undo';
		EXCEPTION WHEN raise_exception THEN
			before := format('%s, undone %s', before, same());
		END;
		EXECUTE 'UPDATE t SET score = score + 2 WHERE player_id % 3 = 0';
		before := format('%s, changed %s', before, same());
		COMMIT;
		RAISE NOTICE '... %, then %', before, same();
	END LOOP;

	-- A change of each member that is taken back, and one that comes and goes.
	UPDATE t SET score = -score - 1;
	UPDATE t SET score = -score - 1 WHERE player_id % 2 = 0;
	FOR i IN 1 .. 21 LOOP
		UPDATE t SET score = -score - 1 WHERE player_id % 997 = 1;
	END LOOP;
	before := same();
	COMMIT;
	RAISE NOTICE 'forth and back: %, then %', before, same();

	FOREACH what IN ARRAY ARRAY['a_again', 'z_again'] LOOP
		EXECUTE format('CREATE TRIGGER %I AFTER INSERT OR UPDATE ON t
			FOR EACH ROW EXECUTE FUNCTION again()', what);
		UPDATE t SET score = score + 1;
		before := same();
		UPDATE t SET score = score + 1 WHERE player_id % 3 > 0;
		before := format('%s, %s', before, same());
		EXECUTE format('DROP TRIGGER %I ON t', what);
		COMMIT;
		RAISE NOTICE 'changed again by %: %, then %', what, before, same();
	END LOOP;

	-- What comes after a TRUNCATE counts.
	UPDATE t SET score = score + 1;
	TRUNCATE t;
	INSERT INTO t SELECT n - i, i * 7919 % 1000 FROM generate_series(1, n) i;
	before := same();
	COMMIT;
	RAISE NOTICE 'after a TRUNCATE: %, then %', before, same();
END $$;

CALL many(3000);
SELECT state, reason, query_own_changes FROM lb_stat_board;
SELECT * FROM lb_verify();
CALL many(9000);
SELECT state, reason, query_own_changes FROM lb_stat_board;
SELECT * FROM lb_verify();

-- One member, changed by each of many statements.
DO $$
BEGIN
	FOR i IN 1 .. 6000 LOOP
		UPDATE t SET score = i % 7 WHERE player_id = 1;
	END LOOP;
END $$;
SELECT same(), lb_score(1, 't');

DROP PROCEDURE many;
DROP FUNCTION same, again;
DROP TABLE t;
SELECT * FROM lb_verify();
