-- A shard's players of "make demo-cluster".  Numbers, scores and times are the same in each
-- run; that of a player is the same on any number of shards.
INSERT INTO player_scores (player_id, score, updated_at)
SELECT id, (exp(7.5 + 1.1 * sqrt(-2 * ln((h & 65535 | 1) / 65536.0)) * cos(2 * pi() * (h >> 16 & 32767) / 32768.0)))::bigint,
	timestamptz '2026-04-09 12:00+00' - (h & 65535) * interval '1 minute'
FROM generate_series(CAST(1 AS bigint), :players) AS id, LATERAL (SELECT hashint8(id * 7919) & 2147483647 AS h) AS h
WHERE hashint8(id) & 3 = :shard;
VACUUM ANALYZE player_scores;
SELECT lb_wait_ready();
