--
-- lb_rank, lb_score, lb_percentile, lb_player
--
SELECT lbt.make_boards();
SELECT lb_wait_ready();

-- For the eye: the three methods where scores tie.
SELECT player_id, score, level, reached AT TIME ZONE 'UTC' AS reached,
	lb_rank(player_id, 'ties_row_number') AS row_number,
	lb_rank(player_id, 'ties_rank') AS rank,
	lb_rank(player_id, 'ties_dense_rank') AS dense_rank,
	lb_rank(player_id, 'asc_rank') AS asc_rank,
	lb_percentile(player_id, 'ties_rank') AS percentile
FROM game WHERE score IN (7, 1000000) OR score IS NULL
ORDER BY lb_rank(player_id, 'ties_row_number'), player_id;

-- The method of the call goes before the board's.
SELECT method, lb_rank(6, 'desc_row_number', method),
	lb_rank(6, 'desc_dense_rank', method)
FROM (VALUES ('row_number'), ('rank'), ('dense_rank'), (NULL)) m (method);

-- One row, from one look at the board; null for an absent member.
SELECT * FROM lb_player(6, 'ties_rank');
SELECT * FROM lb_player(1003, 'asc_dense_rank');
SELECT * FROM lb_player(1001, 'ties_rank');
SELECT lb_player(6, 'ties_rank'), lb_player(1001, 'ties_rank') IS NULL AS nobody;

-- An absent member, and null.
SELECT lb_rank(1001, 'desc_rank') AS unranked, lb_rank(-1, 'desc_rank') AS absent,
	lb_rank(NULL, 'desc_rank') AS null, lb_score(1001, 'desc_rank') AS unranked,
	lb_score(-1, 'desc_rank') AS absent, lb_score(NULL, 'desc_rank') AS null,
	lb_percentile(-1, 'desc_rank') AS absent,
	lb_percentile(NULL, 'desc_rank') AS null;

-- Names of arguments, defaults, literals without a type, parameters.
SELECT lb_rank('6', board => 'desc_rank'), lb_rank(member => 6,
	board => 'desc_rank', method => 'dense_rank');
PREPARE r AS SELECT lb_rank($1, 'desc_rank'), lb_score($1, 'desc_rank');
EXECUTE r (6);
DEALLOCATE r;

SELECT * FROM lbt.board_differences('lb_(rank|rank by method|score|percentile|player)$');

-- In a view, a join, a WHERE clause, an ORDER BY, an aggregate, a subquery.
CREATE VIEW ranked AS
SELECT player_id, lb_rank(player_id, 'desc_row_number') AS rank FROM game;
SELECT v.rank, g.player_id FROM ranked v JOIN game g USING (player_id)
WHERE v.rank <= 3 ORDER BY v.rank;
SELECT sum(rank), count(*), count(rank) FROM ranked;
SELECT player_id FROM game ORDER BY lb_rank(player_id, 'desc_row_number') NULLS LAST
LIMIT 3;
SELECT (SELECT lb_rank(g.player_id, 'asc_rank')) FROM game g WHERE player_id = 6;
SELECT p.* FROM game g, lb_player(g.player_id, 'desc_rank') p
WHERE g.player_id < 4 ORDER BY g.player_id;

DROP VIEW ranked;
DROP TABLE game;
SELECT * FROM lb_verify();
