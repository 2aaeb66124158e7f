-- The functions that examples/shards has, by the same calls on one server with all players.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = error;
\set ON_ERROR_STOP off
CREATE TEMP TABLE asked AS SELECT i * (:players / 40) - 3 AS player FROM generate_series(0, 42) AS i;
\echo one player
SELECT player, lb_rank(player), lb_rank(player, 'global', 'rank'), lb_score(player), lb_percentile(player), p
FROM asked, lb_player(player) AS p ORDER BY 1;
SELECT player, lb_rank(player, 'cup:1'), p FROM generate_series(-1, 300, 13) AS player, lb_player(player, 'cup:1') AS p;
\echo counts
SELECT lb_count(), lb_count('cup:1'), lb_count('cup:2');
SELECT x, lb_rank_of_score(x), lb_count_between(x, NULL), lb_count_between(NULL, x), lb_count_between(x - 50, x + 50)
FROM generate_series(-7, 5100, 299) AS x;
SELECT lb_count_between(NULL, NULL), lb_count_between(5, 4), lb_rank_of_score(NULL), lb_rank_of_score(9223372036854775807);
\echo pages
SELECT skip, t FROM (SELECT lb_count() AS n) AS c, LATERAL (VALUES (0::bigint), (1), (190), (201), (1000), (n / 3), (n / 2), (n - 203), (n - 4), (n - 1), (n), (n + 9)) AS s (skip),
	LATERAL lb_top(7, 'global', skip) AS t ORDER BY 1, (t).rank;
SELECT t FROM lb_top(300, 'global', 2 * :players / 5) AS t;
SELECT t FROM lb_top(2147483647, 'cup:1', 250) AS t;
SELECT count(*), sum(rank * (member % 1009)), sum(score) FROM lb_top(:players);
SELECT * FROM lb_top(0);
SELECT p, a FROM (VALUES (0::bigint), (1), (207), (:players / 2), (:players), (:players + 5)) AS v (p) LEFT JOIN LATERAL lb_at(p) AS a ON (a).rank IS NOT NULL;
\echo neighbours
SELECT player, a FROM asked, LATERAL lb_around(player, radius => 4) AS a ORDER BY 1, (a).rank;
SELECT a FROM lb_around(7, 'cup:1', 1000) AS a;
SELECT a FROM lb_around(7, 'cup:1', 0) AS a;
\echo several players
SELECT lb_ranks(ARRAY(SELECT player FROM asked ORDER BY player % 7, player) || '{NULL,5,5,-1}');
SELECT lb_ranks(ARRAY(SELECT player FROM asked), 'global', 'rank');
SELECT lb_ranks('{}'), lb_among('{}');
SELECT lb_ranks('{3,-9}', 'cup:2'), lb_among('{3}', 'cup:2');
SELECT lb_among(ARRAY(SELECT player FROM asked) || '{NULL,5,5}');
SELECT lb_among('{9,8,20,21,5}', 'cup:1');
\echo percentiles
SELECT p, lb_score_at_percentile(p) FROM (SELECT generate_series(0, 100, 9)::float8 UNION ALL VALUES (0.01), (33.33), (99.99), (NULL)) AS v (p) ORDER BY 1;
SELECT lb_score_at_percentile(50, 'cup:2');
\echo histograms
SELECT lb_histogram(1), lb_histogram(7, 'cup:1'), lb_histogram(64, 'cup:1');
SELECT lb_histogram(10);
SELECT lb_histogram(3, 'cup:2');
