-- A normal distribution of the logarithm, from two uniform ones (Box and
-- Muller), and activity that is more recent the more there is of it.
\set ECHO queries
\timing on
INSERT INTO player_scores (player_id, score, updated_at)
SELECT id,
	round(exp(7.5 + 1.1 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))),
	date_trunc('second', now() - random() ^ 2 * interval '90 days')
FROM generate_series(1, :players) AS id;
