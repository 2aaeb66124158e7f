\set ECHO queries
\timing on
SELECT lb_wait_ready();
\timing off
SELECT board, state, members, pg_size_pretty(bytes) AS size,
	round(build_seconds::numeric, 3) AS build_seconds
FROM lb_stat_board WHERE members > 0 AND board NOT LIKE 'country:%' ORDER BY board;
\timing on
SELECT * FROM lb_top(3);
