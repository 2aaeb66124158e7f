\set ECHO queries
\timing on
CREATE SCHEMA leaderboard;
CREATE EXTENSION leaderboard SCHEMA leaderboard;
ALTER DATABASE demo SET search_path = public, leaderboard;
SET search_path = public, leaderboard;
SELECT lb_create_tables();
\timing off
SELECT board, source, rank_by, board_column FROM lb_board ORDER BY board;
