-- What the database of compose.yaml has when its server starts for the first time: the
-- extension in a schema of its own, whose functions need no schema before their names.
CREATE SCHEMA leaderboard;
GRANT USAGE ON SCHEMA leaderboard TO PUBLIC;
CREATE EXTENSION leaderboard SCHEMA leaderboard;
ALTER DATABASE game SET search_path = public, leaderboard;
