--
-- Random changes of a family, in subtransactions of any depth, some undone:
-- after each step the functions agree with the table.  Prints what does not.
--
CREATE TABLE z (player_id bigint, g integer, score integer, tie integer, ok boolean,
	UNIQUE (player_id, g));
SELECT lb_create_board('z', 'z', rank_by => 'score DESC, tie', board_column => 'g',
	ranked_if => 'ok', method => 'dense_rank');
SELECT lb_wait_ready();

CREATE FUNCTION same() RETURNS boolean LANGUAGE plpgsql SET jit = off AS $$
DECLARE
	result boolean;
BEGIN
	SELECT bool_and(q.same) INTO result FROM generate_series(0, 2) v,
		LATERAL (SELECT 'z:' || v AS board) n,
		LATERAL (WITH b AS MATERIALIZED (SELECT player_id AS m, score::bigint AS s,
				row_number() OVER (ORDER BY score DESC, tie, player_id) AS r,
				dense_rank() OVER (ORDER BY score DESC) AS dr,
				100 * cume_dist() OVER (ORDER BY score) AS pc
			FROM z WHERE g = v AND ok AND score + tie + player_id IS NOT NULL)
		SELECT count(*) = lb_count(board)
			AND coalesce(bool_and(lb_rank(m, board) = dr
				AND lb_rank(m, board, 'row_number') = r
				AND lb_score(m, board) = s
				AND lb_percentile(m, board) = pc
				AND (lb_at(r, board)).member = m
				AND lb_rank_of_score(s, board) = dr), true)
			AND coalesce(array_agg((dr, m, s) ORDER BY r), '{}') =
				coalesce((SELECT array_agg((rank, member, score) ORDER BY o)
					FROM ROWS FROM (lb_top(100000, board)) WITH ORDINALITY
					t (rank, member, score, o)), '{}') AS same
		FROM b) q;
	RETURN result;
END $$;
CREATE FUNCTION below(n integer) RETURNS integer LANGUAGE sql VOLATILE AS
'SELECT floor(random() * n)::integer';
CREATE FUNCTION change(depth integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	what integer;
BEGIN
	FOR i IN 1 .. 2 + below(6) LOOP
		what := below(100);
		BEGIN
			IF what < 25 THEN
				INSERT INTO z SELECT below(40), below(3), below(8), below(3),
					below(8) > 0 FROM generate_series(1, 1 + below(4))
				ON CONFLICT (player_id, g)
				DO UPDATE SET score = excluded.score, ok = excluded.ok;
			ELSIF what < 45 THEN
				UPDATE z SET score = CASE WHEN below(10) > 0 THEN below(8) END,
					tie = below(3) WHERE player_id % 7 = below(7);
			ELSIF what < 55 THEN
				DELETE FROM z WHERE player_id % 9 = below(9);
			ELSIF what < 62 THEN
				UPDATE z SET g = (g + 1) % 3 WHERE player_id = below(40);
			ELSIF what < 69 THEN
				UPDATE z SET player_id = below(40)
				WHERE player_id = below(40) AND g = below(3);
			ELSIF what < 72 THEN
				UPDATE z SET ok = NOT ok WHERE player_id % 5 = below(5);
			ELSIF what < 74 THEN
				TRUNCATE z;
			ELSIF what < 78 THEN
				WITH d AS (DELETE FROM z WHERE player_id < 10 RETURNING *)
				INSERT INTO z SELECT player_id, g, score + 1, tie, ok FROM d;
			ELSIF what < 97 AND depth < 6 THEN
				PERFORM change(depth + 1);
				IF below(2) = 0 THEN
					RAISE 'undo';
				END IF;
			ELSE
				UPDATE z SET player_id = NULL WHERE player_id = below(40);
			END IF;
		EXCEPTION
			WHEN raise_exception OR unique_violation OR cardinality_violation THEN
				NULL;
		END;
		IF below(5) = 0 AND NOT same() THEN
			RAISE WARNING 'wrong at depth % after %', depth, what;
		END IF;
	END LOOP;
END $$;
CREATE PROCEDURE transactions(n integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM change(0);
		IF below(3) = 0 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
		IF NOT same() THEN
			RAISE WARNING 'wrong after transaction %', i;
		END IF;
		IF i % 50 = 0 AND EXISTS (SELECT FROM lb_verify()) THEN
			RAISE WARNING 'not verified after transaction %', i;
		END IF;
		COMMIT;
	END LOOP;
END $$;

SELECT lb_stat_reset();
SELECT setseed(0.20260411);
CALL transactions(400);
-- After a TRUNCATE a snapshot is too old while another transaction runs.
SELECT sum(index_reads) > 10000 AS index, sum(query_reads - query_snapshot) AS queries,
	sum(query_snapshot) < 1000 AS new
FROM lb_stat_board WHERE source = 'z'::regclass;

DROP TABLE z;
DROP FUNCTION same, below, change;
DROP PROCEDURE transactions;
SELECT * FROM lb_verify();
