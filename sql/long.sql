--
-- Results that take longer than the lock is held at one go
--
CREATE TABLE l (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO l SELECT i, i * 7919 % 3000 FROM generate_series(1, 5000) i;
CREATE TABLE boards (board text);
INSERT INTO boards VALUES ('rank'), ('dense_rank'), ('row_number');
SELECT lb_create_board(board, 'l', method => board) FROM boards;
SELECT lb_wait_ready();

-- The result of a query by the index and by the defining queries.
CREATE FUNCTION by_both(query text) RETURNS TABLE (rows bigint, same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	by_index text;
	by_query text;
BEGIN
	query := format($f$SELECT count(*), md5(string_agg(r::text, E'\n')) FROM (%s) r$f$, query);
	EXECUTE query INTO rows, by_index;
	SET LOCAL leaderboard.enable_index = off;
	EXECUTE query INTO rows, by_query;
	SET LOCAL leaderboard.enable_index = on;
	same := by_index = by_query;
	RETURN NEXT;
END
$$;
CREATE VIEW results AS
SELECT function, count(*), sum(rows) AS rows, bool_and(same) AS same
FROM boards, (VALUES
	('lb_top', 'SELECT * FROM lb_top(4000, %L, 7)'),
	('lb_top_json', 'SELECT lb_top_json(4000, %L)'),
	('lb_around', 'SELECT * FROM lb_around(2500, %L, 1500)'),
	('lb_ranks', 'SELECT * FROM lb_ranks(array_append((SELECT array_agg(i ORDER BY i %% 7)
		FROM generate_series(-100, 5100) i), NULL), %L)'),
	('lb_among', 'SELECT * FROM lb_among((SELECT array_agg(i ORDER BY i %% 7)
		FROM generate_series(-100, 4000) i), %L)'),
	('lb_histogram', 'SELECT * FROM lb_histogram(2500, %L)')) AS f (function, query),
	by_both(format(query, board))
GROUP BY function ORDER BY function;
SELECT * FROM results;
SELECT sum(query_reads - query_disabled) FROM lb_stat_board;

-- ... with one's own changes
BEGIN;
UPDATE l SET score = score * 31 % 2000 WHERE player_id % 3 = 0;
DELETE FROM l WHERE player_id % 10 = 5;
INSERT INTO l SELECT i, i FROM generate_series(5001, 5050) i;
SELECT * FROM results;
SELECT sum(query_reads - query_disabled) FROM lb_stat_board;

-- ... which can be very many.
SELECT lb_stat_reset();
INSERT INTO l SELECT i, i % 5000 FROM generate_series(10001, 105000) i;
SELECT rows, same FROM boards, by_both(format('SELECT lb_rank(30000, %L)', board));
SELECT sum(index_reads) AS index, sum(query_own_changes) AS query FROM lb_stat_board;
SAVEPOINT s;
INSERT INTO l SELECT i, i % 5000 FROM generate_series(105001, 110000) i;
SELECT rows, same FROM boards, by_both(format('SELECT lb_rank(30000, %L)', board));
SELECT sum(index_reads) AS index, sum(query_own_changes) AS query FROM lb_stat_board;
SELECT * FROM lb_verify('dense_rank');
ROLLBACK TO s;
SELECT rows, same FROM boards, by_both(format('SELECT lb_rank(30000, %L)', board));
SELECT sum(index_reads) AS index, sum(query_own_changes) AS query FROM lb_stat_board;
ROLLBACK;
SELECT * FROM lb_verify();

DROP VIEW results;
DROP FUNCTION by_both;
DROP TABLE l, boards;
