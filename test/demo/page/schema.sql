-- What the page needs beside the players: some who have played today and this
-- week, and an index to find names by.
INSERT INTO player_score_windows (player_id, window_key, score)
SELECT player_id, lb_window_at(period), 1 + score / share
FROM player_scores, (VALUES ('daily', 50), ('weekly', 20)) AS p (period, share)
WHERE player_id % share = 0
ON CONFLICT DO NOTHING;
CREATE INDEX player_name ON player_scores (lower(name) COLLATE "C");
