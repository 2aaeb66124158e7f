-- Players, most of them with scores and times that others have, too.
INSERT INTO player_scores (player_id, score, updated_at, ranked)
SELECT i, i * 7919::bigint % 1009, timestamptz '2026-04-09' + i % 5 * interval '1 s', i % 50 > 0 FROM generate_series(1, :players) AS i;
INSERT INTO player_score_windows (player_id, window_key, score, updated_at)
SELECT i, 'cup:1', i % 11 - 5, '2026-04-09' FROM generate_series(1, 300) AS i;
