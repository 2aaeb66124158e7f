-- What is shown of it: "make demo".  The first call in a session reads
-- catalogs; what is timed below is what every further call takes.
\set QUIET on
SELECT lb_rank(1), lb_count(), (lb_player(1)).rank
\gset warm_
SELECT count(*) FROM lb_top(1), lb_around(1), lb_among('{1}')
\gset warm_
-- A player in the upper third, and friends of his all over the board.
SELECT member AS player FROM lb_at((SELECT greatest(1, lb_count() * 3 / 10)))
\gset
SELECT (array_agg(a.member) || :player::bigint)::text AS friends
FROM generate_series(1, 9, 2) AS i, lb_at(greatest(1, lb_count() * i / 9)) AS a
\gset
\set ECHO queries
\timing on

\echo
\echo :bold'-- The ten best':plain
\echo
SELECT * FROM lb_top(10);

\echo
\echo :bold'-- One player: rank, score, percentile, out of how many':plain
\echo
SELECT * FROM lb_player(:player);

\echo
\echo :bold'-- Who is just ahead, and who is just behind':plain
\echo
SELECT * FROM lb_around(:player, radius => 3);

\echo
\echo :bold'-- A board of friends, with their places among all':plain
\echo
SELECT * FROM lb_among(:'friends');

\echo
\echo :bold'-- A page in the middle costs what the first one costs':plain
\echo
SELECT * FROM lb_top(5, skip => lb_count() / 2);

\echo
\echo :bold'-- The score that half of the players reach, and a distribution':plain
\echo
SELECT lb_score_at_percentile(50) AS median, lb_score_at_percentile(99) AS top_1_percent;
SELECT bucket, lo, hi, members FROM lb_histogram(8);

\echo
\echo :bold'-- The same rank by the index, and by plain SQL':plain
\echo
SELECT lb_rank(:player);
SELECT count(*) + 1 AS rank FROM player_scores s,
	(SELECT * FROM player_scores WHERE player_id = :player) p
WHERE (-s.score, s.updated_at, s.player_id) < (-p.score, p.updated_at, p.player_id);

\echo
\echo :bold'-- A better score moves the rank at once, for this transaction':plain
\echo
BEGIN;
UPDATE player_scores SET score = score * 2 WHERE player_id = :player
RETURNING score AS new_score;
SELECT lb_rank(:player);
\echo
\echo :bold'-- and its rollback takes it back':plain
\echo
ROLLBACK;
SELECT lb_rank(:player);

\echo
\echo :bold'-- A board for each week, tournament or country is a value in a column':plain
\echo
INSERT INTO player_score_windows (player_id, window_key, score)
SELECT player_id, lb_window_at('weekly'), score / 10 FROM player_scores
ORDER BY player_id LIMIT 100000;
SELECT * FROM lb_top(3, 'weekly');

\echo
\echo :bold'-- Index and table, compared entry by entry; no row means equal':plain
\echo
SELECT * FROM lb_verify();
