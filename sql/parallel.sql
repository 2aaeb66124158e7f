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
SELECT * FROM lb_verify('p');

DROP VIEW ranks;
DROP FUNCTION rank_of, problems;
DROP TABLE p;
