--
-- Functions of users that are wrongly marked PARALLEL SAFE: a worker of a
-- parallel query does not know what the leader has changed
--
CREATE TABLE p (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO p SELECT i, i FROM generate_series(1, 1000) i;
SELECT lb_create_board('p', 'p', method => 'rank');
SELECT lb_wait_ready();
ANALYZE p;

-- In PL/pgSQL, since a function in SQL would be inlined.
CREATE FUNCTION rank_of(bigint) RETURNS bigint LANGUAGE plpgsql STABLE
PARALLEL SAFE AS 'BEGIN RETURN lb_rank($1, ''p''); END';
CREATE FUNCTION problems(bigint) RETURNS bigint LANGUAGE plpgsql STABLE
PARALLEL SAFE AS 'BEGIN RETURN count(*) FROM lb_verify(''p''); END';

SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;

CREATE VIEW ranks AS SELECT min(rank_of(player_id)), max(rank_of(player_id)),
	sum(rank_of(player_id)) FROM p WHERE player_id <= 50;
SELECT * FROM ranks;
SELECT lb_stat_reset();

BEGIN;
UPDATE p SET score = 5000 + player_id WHERE player_id <= 10;
DELETE FROM p WHERE player_id > 990;
SELECT * FROM ranks;
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT * FROM ranks;
SET LOCAL max_parallel_workers_per_gather = 2;
SAVEPOINT s;
\set SHOW_CONTEXT never
SELECT count(*) FROM p WHERE problems(player_id) > 0;
\set SHOW_CONTEXT errors
ROLLBACK TO s;
-- What the leader has altered takes no board offline.
ALTER TABLE p DISABLE TRIGGER leaderboard_capture;
SELECT * FROM ranks;
ALTER TABLE p ENABLE ALWAYS TRIGGER leaderboard_capture;
ROLLBACK;

-- Workers add up what they have counted when they exit.
SELECT state, query_own_changes > 0 AS own_changes, query_trigger
FROM lb_stat_board WHERE board = 'p';
SELECT * FROM ranks;
-- Nodes that use boards stay in the leader, beside and below what workers do.
\pset format unaligned
CREATE TABLE large (id bigint PRIMARY KEY, score bigint NOT NULL);
INSERT INTO large SELECT i, i FROM generate_series(1, 20000) i;
SELECT lb_create_board('large', 'large', 'id');
SELECT lb_wait_ready();
CREATE TABLE other (id bigint PRIMARY KEY, n integer);
INSERT INTO other SELECT i, i % 3 FROM generate_series(1, 20000) i;
ANALYZE large, other;
CREATE VIEW ranked AS SELECT *, rank() OVER (ORDER BY score DESC) FROM large;
SET enable_nestloop = off;
SELECT query, (SELECT string_agg(substring(line FROM 'Gather|Leaderboard \w+|Parallel Seq Scan on other'), ', ') FROM lbt.plan(query) line) AS plan,
	lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT count(*), sum(id) FROM other WHERE id > (SELECT count(*) FROM large WHERE score > 300)',
	'SELECT count(*), sum(id), (SELECT max(score) FROM large WHERE score < 700) FROM other WHERE n = 1',
	'SELECT o.id, q.score FROM other o JOIN (SELECT * FROM large ORDER BY score DESC, id LIMIT 3 OFFSET 9000) q USING (id) WHERE n > 0',
	'SELECT o.id, q.score FROM other o JOIN (SELECT * FROM large WHERE id % 100 < 50 ORDER BY score DESC, id LIMIT 3) q USING (id) WHERE n > 0',
	'SELECT o.id, r.rank FROM other o JOIN ranked r USING (id) WHERE r.rank <= 4 AND n > 0'
]) query;

SELECT * FROM lb_verify();
DROP VIEW ranks, ranked;
DROP FUNCTION rank_of, problems;
DROP TABLE p, large, other;
