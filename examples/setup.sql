-- What the programs of this folder start with: the extension in a schema of its own,
-- the default tables, and a thousand players.  The worker sends changes of the first
-- three places by NOTIFY.
CREATE SCHEMA leaderboard;
GRANT USAGE ON SCHEMA leaderboard TO PUBLIC;
CREATE EXTENSION leaderboard SCHEMA leaderboard;
SELECT leaderboard.lb_create_tables();
INSERT INTO player_scores (player_id, score, updated_at)
SELECT i, i * 10, '2026-01-01' FROM generate_series(1, 1000) i;
SELECT leaderboard.lb_watch('global', 3);
