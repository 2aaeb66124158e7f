-- On each shard, in its own new database "game".
CREATE SCHEMA leaderboard;
CREATE EXTENSION leaderboard SCHEMA leaderboard;
ALTER DATABASE game SET search_path = public, leaderboard;
-- A window of which this shard has no player yet is empty, and no mistake.
ALTER DATABASE game SET leaderboard.unknown_board = ignore;
SET search_path = public, leaderboard;
SELECT lb_create_tables();
