\set ECHO queries
\timing on
SELECT pg_promote();
SELECT pg_is_in_recovery() AS standby, lb_rank(12345), lb_count();
\timing off
SELECT board, state, index_reads, query_reads FROM lb_stat_board WHERE board = 'global';
