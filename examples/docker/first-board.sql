-- What the database has when compose.yaml starts its server for the first time: the
-- extension, and player_scores and player_score_windows with their boards.
CREATE EXTENSION leaderboard;
SELECT lb_create_tables();

-- Three players, to have something to read.
INSERT INTO player_scores (player_id, score) VALUES (1, 300), (2, 100), (3, 200);
