--
-- Transactions with many changes of their own: the index is corrected by sums
-- that each further change is added to, and taken out of by a rollback
--
SET jit = off;
CREATE TABLE o (player_id bigint PRIMARY KEY, score bigint, level int);
INSERT INTO o SELECT i, i * 37 % 500, i % 3 FROM generate_series(1, 300) i;
CREATE TABLE methods (method text);
INSERT INTO methods VALUES ('row_number'), ('rank'), ('dense_rank');
SELECT lb_create_board('o_' || method, 'o', method => method,
	rank_by => 'score DESC, level ASC') FROM methods;
SELECT lb_wait_ready();
SELECT lb_stat_reset();

-- What the functions say of each row of the table and of places, less what the
-- queries say.
CREATE VIEW of_index AS
SELECT method, player_id,
	lb_rank(player_id, 'o_' || method) AS rank,
	(lb_player(player_id, 'o_' || method)).percentile::numeric(9, 6) AS percentile,
	(lb_at(place, 'o_' || method)).member AS at
FROM methods, (SELECT player_id, row_number() OVER (ORDER BY player_id) AS place
	FROM o WHERE score IS NOT NULL) p;
CREATE VIEW of_query AS
SELECT method, player_id,
	CASE method WHEN 'rank' THEN rank() OVER score WHEN 'dense_rank' THEN dense_rank() OVER score
		ELSE row_number() OVER place END AS rank,
	(100 * cume_dist() OVER worst)::numeric(9, 6) AS percentile,
	(array_agg(player_id) OVER (PARTITION BY method ORDER BY score DESC, level, player_id
		ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
		[row_number() OVER (PARTITION BY method ORDER BY player_id)] AS at
FROM methods, o WHERE score IS NOT NULL
WINDOW score AS (PARTITION BY method ORDER BY score DESC),
	place AS (PARTITION BY method ORDER BY score DESC, level, player_id),
	worst AS (PARTITION BY method ORDER BY score);
CREATE VIEW lists AS
SELECT method, l.place, l.member
FROM methods, LATERAL (SELECT row_number() OVER () AS place, t.member
	FROM lb_top(2000, 'o_' || method) t) l;
CREATE VIEW differences AS
SELECT 'rank' AS what, d.* FROM (TABLE of_index EXCEPT TABLE of_query) d
UNION ALL
SELECT 'top', method, player_id, place, NULL, NULL FROM (SELECT method, player_id,
		row_number() OVER (PARTITION BY method ORDER BY score DESC, level, player_id) AS place
	FROM methods, o WHERE score IS NOT NULL EXCEPT SELECT method, member, place FROM lists) d;
CREATE VIEW own_changes AS
SELECT sum(query_own_changes) AS by_query, sum(index_reads) > 0 AS by_index FROM lb_stat_board;

-- Few, many, and back to few.
BEGIN;
UPDATE o SET score = score + 100 WHERE player_id <= 10;
SELECT * FROM differences;
SAVEPOINT many;
UPDATE o SET score = score * 3 % 700 WHERE player_id % 2 = 0;
SELECT * FROM differences;
DELETE FROM o WHERE player_id % 7 = 0;
INSERT INTO o SELECT i, i % 800, 1 FROM generate_series(2001, 2050) i;
SELECT * FROM differences;
SAVEPOINT more;
UPDATE o SET score = score + 1 WHERE player_id % 3 = 0;
SELECT * FROM differences;
INSERT INTO o SELECT i, i, 2 FROM generate_series(7, 250, 7) i;
SELECT * FROM differences;
ROLLBACK TO more;
SELECT * FROM differences;
UPDATE o SET score = NULL WHERE player_id % 11 = 0;
SELECT * FROM differences;
UPDATE o SET score = 5 WHERE score IS NULL;
RELEASE many;
SELECT * FROM differences;
-- Members that change places
UPDATE o SET player_id = -player_id WHERE player_id % 5 = 0;
UPDATE o SET player_id = 5 - player_id WHERE player_id < 0;
SELECT * FROM differences;
COMMIT;
SELECT * FROM differences;

-- Runs of places that the transaction has taken away
BEGIN;
UPDATE o SET score = score - 10000 WHERE score > 300;
SELECT * FROM differences;
SELECT * FROM lb_top(3, 'o_dense_rank', 150);
UPDATE o SET score = score + 20000 WHERE score < -9000;
SELECT * FROM differences;
DELETE FROM o WHERE score > 100;
SELECT * FROM differences;
ROLLBACK;

-- A TRUNCATE voids all, and its rollback gives it back.
BEGIN;
UPDATE o SET score = score + 7 WHERE player_id % 2 = 1;
SELECT * FROM differences;
SAVEPOINT s;
TRUNCATE o;
SELECT * FROM differences;
INSERT INTO o SELECT i, i % 90, 1 FROM generate_series(1, 150) i;
SELECT * FROM differences;
UPDATE o SET score = score + 1 WHERE player_id < 100;
SELECT * FROM differences;
ROLLBACK TO s;
SELECT * FROM differences;
UPDATE o SET score = score + 1 WHERE player_id < 100;
SELECT * FROM differences;
ROLLBACK;
SELECT * FROM differences;

-- A cursor sees the changes that were there when it was opened.
BEGIN;
UPDATE o SET score = score + 3 WHERE player_id % 3 = 1;
DECLARE c CURSOR FOR SELECT * FROM differences;
DECLARE d CURSOR FOR SELECT * FROM of_index ORDER BY 1, 2;
DECLARE e CURSOR FOR SELECT * FROM of_query ORDER BY 1, 2;
MOVE 50 FROM d;
UPDATE o SET score = score * 7 % 600;
SELECT * FROM differences;
FETCH ALL FROM c;
FETCH 3 FROM d;
MOVE 50 FROM e;
FETCH 3 FROM e;
UPDATE o SET score = score * 7 % 600 WHERE player_id < 150;
MOVE 300 FROM d;
MOVE 300 FROM e;
FETCH 3 FROM d;
FETCH 3 FROM e;
SELECT * FROM differences;
ROLLBACK;

-- A trigger that changes rows of its own statement is captured before it.  In
-- between the sums are ambiguous, here to the end of the statement for one that
-- changes all of them at the first row.
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() < 3 THEN
		UPDATE o SET score = score + 1000 WHERE player_id = new.player_id;
	END IF;
	RETURN NULL;
END $$;
CREATE FUNCTION all_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 AND new.player_id = 2 THEN
		UPDATE o SET score = score + 1000;
		UPDATE o SET score = score - 100;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER a AFTER UPDATE ON o FOR EACH ROW EXECUTE FUNCTION again();
BEGIN;
UPDATE o SET score = score + 1 WHERE player_id <= 200;
SELECT * FROM differences;
SAVEPOINT s;
UPDATE o SET score = score + 1 WHERE player_id BETWEEN 100 AND 250;
SELECT * FROM differences;
ROLLBACK TO s;
SELECT * FROM differences;
COMMIT;
DROP TRIGGER a ON o;
CREATE TRIGGER a AFTER UPDATE ON o FOR EACH ROW EXECUTE FUNCTION all_again();
BEGIN;
UPDATE o SET score = score + 1 WHERE player_id <= 200;
SELECT * FROM differences;
COMMIT;
SELECT * FROM differences;
DROP TRIGGER a ON o;

-- A loop of changes and reads, some of them rolled back
DO $$
DECLARE
	different bigint := 0;
BEGIN
	FOR i IN 1 .. 100 LOOP
		BEGIN
			UPDATE o SET score = (score * 31 + i) % 900 WHERE player_id = i * 3;
			different := different + (SELECT count(*) FROM lb_rank(i * 3, 'o_rank') r
				WHERE r IS DISTINCT FROM (SELECT rank FROM
					(SELECT player_id, rank() OVER (ORDER BY score DESC) FROM o) q
					WHERE player_id = i * 3));
			IF i % 4 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			different := different + (SELECT count(*) FROM lb_count('o_rank') c
				WHERE c <> (SELECT count(score) FROM o));
		END;
	END LOOP;
	RAISE INFO '% different', different;
END $$;
SELECT * FROM differences;
SELECT * FROM own_changes;
SELECT * FROM lb_verify();

DROP VIEW differences, lists, of_index, of_query, own_changes;
DROP TABLE o, methods;
DROP FUNCTION again, all_again;
