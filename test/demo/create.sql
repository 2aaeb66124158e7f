\set ECHO queries
\timing on
CREATE SCHEMA leaderboard;
CREATE EXTENSION leaderboard SCHEMA leaderboard;
ALTER DATABASE demo SET search_path = public, leaderboard;
SET search_path = public, leaderboard;
SELECT lb_create_tables();
ALTER TABLE player_scores ADD COLUMN name text, ADD COLUMN country text;
SELECT lb_create_board('country', 'player_scores', member => 'player_id',
	rank_by => 'score DESC, updated_at ASC', board_column => 'country', ranked_if => 'ranked');
\timing off
SELECT board, source, rank_by, board_column FROM lb_board ORDER BY board;
