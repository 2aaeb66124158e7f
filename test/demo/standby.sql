\set ECHO queries
SELECT lb_wait_ready();
SELECT role, state, messages FROM lb_stat_feed;
\timing on
SELECT pg_is_in_recovery() AS standby, lb_rank(12345), lb_count();
EXPLAIN (COSTS OFF) SELECT count(*) + 1 FROM player_scores WHERE score > 1500;
SELECT * FROM lb_top(3);
