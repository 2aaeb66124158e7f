--
-- lb_count, lb_count_between, lb_rank_of_score, lb_score_at_percentile
--
SELECT lbt.make_boards();
SELECT lb_wait_ready();

SELECT board, lb_count(board) FROM lb_board WHERE source = 'game'::regclass
ORDER BY board;
SELECT lb_count_between(0, 7, 'desc_rank') AS closed,
	lb_count_between(NULL, 7, 'desc_rank') AS to,
	lb_count_between(0, NULL, 'asc_rank') AS from,
	lb_count_between(NULL, NULL, 'asc_rank') AS all,
	lb_count_between(7, 7, 'asc_rank') AS one,
	lb_count_between(7, 0, 'desc_rank') AS none,
	lb_count_between(8, 7, 'desc_rank') AS none;
SELECT score, lb_rank_of_score(score, 'desc_row_number') AS row_number,
	lb_rank_of_score(score, 'desc_rank') AS rank,
	lb_rank_of_score(score, 'desc_dense_rank') AS dense_rank,
	lb_rank_of_score(score, 'asc_rank') AS asc_rank,
	lb_rank_of_score(score, 'asc_rank', 'dense_rank') AS asc_dense_rank
FROM (VALUES (9223372036854775807), (1000000), (999999), (7), (6), (-5), (-6),
	(-9223372036854775808), (NULL)) s (score);
SELECT p, lb_score_at_percentile(p, 'desc_rank') AS desc,
	lb_score_at_percentile(p, 'asc_rank') AS asc
FROM (VALUES (0), (0.001), (50), (90), (99), (99.4), (100), (NULL)) v (p);

SELECT * FROM lbt.board_differences('lb_(count|rank_of|score_at)');

-- Where the ends of a range are the ends of the type.
SELECT lb_count_between(-9223372036854775808, 9223372036854775807, 'desc_rank') AS all,
	lb_count_between(9223372036854775807, -9223372036854775808, 'desc_rank') AS none,
	lb_count_between(1000000, 9223372036854775807, 'asc_rank') AS last;

-- Of an empty board.
CREATE TABLE nobody (player_id bigint PRIMARY KEY, score bigint);
SELECT lb_create_board('nobody', 'nobody');
SELECT lb_count('nobody'), lb_count_between(NULL, NULL, 'nobody'),
	lb_rank_of_score(1, 'nobody'), lb_rank_of_score(1, 'nobody', 'dense_rank'),
	lb_score_at_percentile(50, 'nobody');
SELECT * FROM lbt.differences('nobody', 'nobody');
DROP TABLE nobody;

DROP TABLE game;
SELECT * FROM lb_verify();
