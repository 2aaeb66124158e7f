--
-- lb_ranks, lb_among
--
SELECT lbt.make_boards();
SELECT lb_wait_ready();

-- In the array's order, every element, also one that is on no board.
SELECT * FROM lb_ranks('{6, 1003, NULL, 17, 1001, -1, 6}', 'desc_row_number');
SELECT * FROM lb_ranks('{6, 17, 29}', 'desc_row_number', 'rank');
SELECT * FROM lb_ranks('{6, 17, 29}', 'ties_dense_rank');
SELECT * FROM lb_ranks('{}', 'desc_rank');
SELECT * FROM lb_ranks(NULL, 'desc_rank');

-- Only those on the board, once each, in the board's order.
SELECT * FROM lb_among('{6, 1003, NULL, 17, 1001, -1, 6, 1, 2}', 'ties_rank');
SELECT * FROM lb_among('{6, 1003, 17, 1, 2}', 'asc_dense_rank');
SELECT * FROM lb_among('{-1, NULL}', 'desc_rank');
SELECT * FROM lb_among('{}', 'desc_rank');
SELECT * FROM lb_among(NULL, 'desc_rank');

SELECT * FROM lbt.board_differences('lb_(ranks|among)');

-- Many at once, and arrays of other shapes.
SELECT count(*), sum(rank), sum(score) FROM lb_ranks(ARRAY(SELECT i::bigint
	FROM generate_series(1, 100000) i), 'desc_row_number');
SELECT count(*), sum(place), sum(rank) FROM lb_among(ARRAY(SELECT i::bigint
	FROM generate_series(100000, 1, -1) i), 'desc_row_number');
SELECT * FROM lb_ranks('{{6, 17}, {29, NULL}}', 'desc_rank');
SELECT * FROM lb_ranks('[5:6]={6, 17}', 'desc_rank');
SELECT * FROM lb_ranks(ARRAY[6, 17], 'desc_rank');

-- A friends' board of each.
CREATE TABLE friend (player_id bigint, friend bigint);
INSERT INTO friend VALUES (1, 6), (1, 17), (1, 1), (2, 1003), (2, 2);
SELECT f.player_id, a.* FROM (SELECT player_id, array_agg(friend) AS friends
	FROM friend GROUP BY player_id) f, lb_among(f.friends, 'ties_rank') a
ORDER BY f.player_id, a.place;
DROP TABLE friend;

DROP TABLE game;
SELECT * FROM lb_verify();
