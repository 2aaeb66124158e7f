-- What is shown of it.  The first calls in a session connect to the shards.
\set QUIET on
SELECT lb_rank(1), (lb_player(1)).rank, lb_count() AS players, (SELECT count(*) FROM lb_top(1), lb_around(1))
\gset warm_
SELECT member AS player FROM lb_at(:warm_players * 3 / 10)
\gset
SELECT score AS was FROM lb_player(:player)
\gset
\set ECHO queries
\timing on

\echo
\echo :bold'-- The best of all shards':plain
\echo
SELECT * FROM lb_top(5);

\echo
\echo :bold'-- One player, ranked among all':plain
\echo
SELECT * FROM lb_player(:player);
SELECT * FROM lb_around(:player, radius => 2);

\echo
\echo :bold'-- A page in the middle':plain
\echo
SELECT * FROM lb_top(3, skip => :warm_players / 2);

\echo
\echo :bold'-- A submit goes to the shard of the player; the next rank knows it':plain
\echo
SELECT * FROM lb_submit(:player, 1000);
SELECT lb_rank(:player);
