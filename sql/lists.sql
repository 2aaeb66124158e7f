--
-- lb_top, lb_top_json, lb_at, lb_around
--
SELECT lbt.make_boards();
SELECT lb_wait_ready();

SELECT * FROM lb_top(5, 'desc_row_number');
SELECT * FROM lb_top(5, 'desc_row_number', 2);
SELECT * FROM lb_top(12, 'ties_rank');
SELECT * FROM lb_top(12, 'ties_dense_rank', 3);
SELECT * FROM lb_top(3, 'asc_rank', skip => 148);
SELECT count(*) FROM lb_top(board => 'desc_rank');
SELECT * FROM lb_top(0, 'desc_rank');
SELECT * FROM lb_top(5, 'desc_rank', 1000);

-- As text, but for the time.
SELECT replace(lb_top_json(3, 'desc_row_number')::text, to_json(now())::text, 'now');
SELECT replace(lb_top_json(4, 'ties_dense_rank', 2)::text, to_json(now())::text, 'now');
SELECT replace(lb_top_json(0, 'desc_rank')::text, to_json(now())::text, 'now');
SELECT lb_top_json(5, 'desc_rank', 1000) -> 'entries';
SELECT json_array_length(lb_top_json(board => 'desc_rank') -> 'entries');
SET TimeZone = 'Asia/Kolkata';
SELECT right(lb_top_json(1, 'desc_rank') ->> 'as_of', 6),
	(lb_top_json(1, 'desc_rank') ->> 'as_of')::timestamptz = now() AS same;
RESET TimeZone;

SELECT * FROM lb_at(1, 'desc_rank');
SELECT * FROM lb_at(9, 'desc_rank');
SELECT * FROM lb_at(9, 'desc_dense_rank');
SELECT lb_at(152, 'desc_rank'), lb_at(153, 'desc_rank') IS NULL AS past,
	lb_at(0, 'desc_rank') IS NULL AS zero, lb_at(-1, 'desc_rank') IS NULL AS minus,
	lb_at(NULL, 'desc_rank') IS NULL AS null;

-- At both ends, and in the middle of a tie.
SELECT * FROM lb_around(1003, 'desc_rank', 2);
SELECT * FROM lb_around(6, 'ties_row_number', 3);
SELECT * FROM lb_around(6, 'ties_rank', 3);
SELECT * FROM lb_around(6, 'ties_dense_rank', 3);
SELECT * FROM lb_around(6, 'ties_dense_rank', 0);
SELECT * FROM lb_around(1003, 'asc_rank', 2);
SELECT count(*) FROM lb_around(6, 'desc_rank');
SELECT * FROM lb_around(1001, 'desc_rank');
SELECT * FROM lb_around(NULL, 'desc_rank');

SELECT * FROM lbt.board_differences('lb_(top|at|around)');

-- All of the board, page by page, is the board.
SELECT bool_and(t.member = b.player_id) AS same, count(*)
FROM (SELECT p.page, t.* FROM generate_series(0, 160, 10) p (page),
		lb_top(10, 'desc_row_number', p.page) t) t
	FULL JOIN (SELECT player_id, row_number() OVER (ORDER BY score DESC, player_id)
		AS rank FROM game WHERE score IS NOT NULL) b USING (rank);

-- In the list of what is selected, in a join, with a LIMIT.
SELECT lb_top(2, 'desc_rank'), lb_around(6, 'desc_rank', 1);
SELECT g.player_id, a.* FROM game g, lb_around(g.player_id, 'desc_rank', 1) a
WHERE g.player_id IN (5, 6) ORDER BY g.player_id, a.rank, a.member;
SELECT member FROM lb_top(100, 'desc_rank') LIMIT 2;

DROP TABLE game;
SELECT * FROM lb_verify();
