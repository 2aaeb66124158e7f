\set ECHO queries
\timing on
CREATE EXTENSION leaderboard;
SELECT lb_create_tables();
\timing off
SELECT board, source, rank_by, board_column FROM lb_board ORDER BY board;
