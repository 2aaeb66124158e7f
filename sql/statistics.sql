--
-- lb_stat_board, lb_stat_ledger, lb_stat_memory, lb_stat_reset
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO t SELECT i, i % 50 FROM generate_series(1, 1000) i;
CREATE TABLE f (player_id bigint, grp text, score bigint, PRIMARY KEY (player_id, grp));
INSERT INTO f SELECT i, i % 3, i FROM generate_series(1, 300) i;
SELECT lb_create_board('t', 't'), lb_create_board('f', 'f', board_column => 'grp');
SELECT lb_wait_ready();
SELECT board, source, state, reason, members, distinct_scores, bytes > 0 AS bytes,
	build_done, build_total >= build_done AS total, build_seconds < 600 AS seconds,
	index_reads, query_reads, changes
FROM lb_stat_board ORDER BY board;

-- A family has a row for itself, with the sums of its boards.  The column kind
-- distinguishes the two, so that a query can add up either.
SELECT board, kind, members FROM lb_stat_board ORDER BY board;
SELECT kind, count(*), sum(members) AS members, sum(bytes) > 0 AS bytes
FROM lb_stat_board GROUP BY kind ORDER BY kind;
SELECT (SELECT bytes FROM lb_stat_board WHERE board = 'f') =
	(SELECT sum(bytes) FROM lb_stat_board WHERE kind = 'family board') AS all_of_it;
-- One row without the others, or all but those of families' boards.
SELECT board, kind, members FROM lb_stat() ORDER BY board;
SELECT board, kind, members FROM lb_stat('t');
SELECT board, kind, members FROM lb_stat('f');
SELECT board, kind, members FROM lb_stat('f:1');
SELECT board, kind, members FROM lb_stat('f:none');
SELECT lb_stat('none');
SELECT lb_stat('none:1');
SELECT * FROM lb_stat_shards('t');
SELECT lb_stat_shards('none');
SELECT lb_stat_shards(NULL);
SELECT count(*) AS differ FROM lb_stat_board v, lb_stat(v.board) s WHERE to_jsonb(v) <> to_jsonb(s);

-- What the index answers is counted for the board, rows that change too.
SELECT lb_stat_reset();
SELECT lb_rank(1, 't'), lb_score(1, 't'), lb_count('t') FROM generate_series(1, 3);
SELECT count(*) FROM lb_top(10, 't');
SELECT lb_count('f:0'), lb_count('f:1'), lb_count('f:none'), lb_rank(NULL, 'f:2');
INSERT INTO t VALUES (1001, 5), (1002, 6);
UPDATE t SET score = score + 1 WHERE player_id <= 5;
UPDATE t SET score = score WHERE player_id <= 5;
DELETE FROM t WHERE player_id = 1001;
BEGIN;
UPDATE t SET score = score + 1;
ROLLBACK;
BEGIN;
UPDATE t SET score = score + 1 WHERE player_id = 7;
UPDATE t SET score = score - 1 WHERE player_id = 7;
COMMIT;
UPDATE f SET grp = '1' WHERE player_id = 3;
SELECT board, members, distinct_scores, index_reads, query_reads, changes
FROM lb_stat_board ORDER BY board;

-- By cause.
SELECT lb_stat_reset();
SET leaderboard.enable_index = off;
SELECT lb_rank(1, 't'), lb_count('f:0');
RESET leaderboard.enable_index;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT lb_rank(1, 't'), lb_rank(2, 't');
COMMIT;
UPDATE t SET score = score + 1 WHERE player_id = 1 RETURNING lb_rank(1, 't') > 0;
SELECT count(*) FROM lb_histogram(1000001, 't');
SELECT lb_count('f:' || repeat('x', 2000));
ALTER TABLE t DISABLE TRIGGER leaderboard_capture;
SELECT lb_rank(1, 't') > 0;
ALTER TABLE t ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT board, index_reads, query_reads, query_disabled AS disabled,
	query_recovery AS recovery, query_snapshot AS snapshot,
	query_row_security AS rls, query_building AS building, query_offline AS offline,
	query_trigger AS trigger, query_own_changes AS own,
	query_unsettled AS unsettled, query_limit AS limit
FROM lb_stat_board ORDER BY board;
SELECT lb_rebuild('t');

-- Errors are not reads.
SELECT lb_stat_reset();
SELECT lb_rank(1, NULL);
SELECT lb_top(-1, 't');
SELECT sum(index_reads + query_reads) FROM lb_stat_board;
-- A board of a family that goes leaves its counts with the family.
SELECT lb_count('f:2') FROM generate_series(1, 5);
DELETE FROM f WHERE grp = '2';
SELECT lbt.given_back('f');
SELECT board, index_reads FROM lb_stat_board WHERE source = 'f'::regclass ORDER BY board;
SELECT lb_stat_reset();
SELECT board, index_reads, changes FROM lb_stat_board ORDER BY board;

-- Memory: of the server, of this database, and given back.
SELECT count(*) FILTER (WHERE datname IS NULL) AS server,
	count(*) FILTER (WHERE datname = current_database()) AS here
FROM lb_stat_memory;
SELECT s.total / pg_size_bytes(current_setting('leaderboard.memory'))::float
		BETWEEN 0.99 AND 1 AS total, s.used >= d.used AS used, d.used >= (SELECT sum(bytes) FROM lb_stat_board
		WHERE board NOT IN ('f')) AS boards
FROM lb_stat_memory s, lb_stat_memory d
WHERE s.datname IS NULL AND d.datname = current_database();
SELECT used AS before FROM lb_stat_memory WHERE datname = current_database() \gset
INSERT INTO t SELECT i, i % 50 FROM generate_series(2000, 20000) i;
SELECT used - :before > 18000 * 24 AS grown, used - :before < 18000 * 100 AS small
FROM lb_stat_memory WHERE datname = current_database();
DELETE FROM t WHERE player_id >= 2000;
SELECT used - :before < 18000 * 24 AS given_back
FROM lb_stat_memory WHERE datname = current_database();
BEGIN;
INSERT INTO t SELECT i, i % 50 FROM generate_series(2000, 20000) i;
ROLLBACK;
INSERT INTO f SELECT i, i, i FROM generate_series(1000, 3000) i;
SELECT (used - :before) / 2000 <= 2048 AS small_boards
FROM lb_stat_memory WHERE datname = current_database();
DELETE FROM f WHERE player_id >= 1000;
SELECT lb_rebuild();
SELECT used - :before < 18000 * 24 AS given_back
FROM lb_stat_memory WHERE datname = current_database();
SET leaderboard.database_memory = '1GB';
SELECT total FROM lb_stat_memory WHERE datname = current_database();
RESET leaderboard.database_memory;
TRUNCATE t, f;
SELECT board, members, distinct_scores, bytes <= 1024 AS small FROM lb_stat_board
ORDER BY board;
-- Small boards take what has been estimated for them, after updates at random as well.
CREATE TABLE sizes (size int, player_id int, score int, at int DEFAULT 0, PRIMARY KEY (size, player_id))
WITH (fillfactor = 30);
SELECT lb_create_board('sizes', 'sizes', rank_by => 'score DESC, at', board_column => 'size');
SELECT lb_wait_ready();
INSERT INTO sizes SELECT n, i, hashint4(i + n) FROM unnest('{1,5,9,10,19,20,40,41,81,82,96,97,100,150,216,217,
	240,300,480,500,1000,2000}'::int[]) n, generate_series(1, n) i;
UPDATE sizes SET score = hashint4(score);
UPDATE sizes SET score = hashint4(score);
UPDATE sizes SET score = hashint4(score);
SELECT members, bytes, lb_estimate_memory(members) FROM lb_stat_board
WHERE board LIKE 'sizes:%' AND (bytes > lb_estimate_memory(members) OR bytes < lb_estimate_memory(members) * 0.6);
SELECT members, bytes, lb_estimate_memory(members) FROM lb_stat_board
WHERE board LIKE 'sizes:%' AND members < 120 ORDER BY members;
DROP TABLE sizes;
-- What was never committed leaves nothing.
SELECT used AS before FROM lb_stat_memory WHERE datname = current_database() \gset
BEGIN;
SELECT lb_create_board('never', 't');
INSERT INTO t VALUES (1, 1);
ROLLBACK;
SELECT used - :before AS left FROM lb_stat_memory WHERE datname = current_database();
DROP TABLE t, f;
SELECT * FROM lb_stat_board;
SELECT * FROM lb_verify();

-- The backlog, of boards that the caller may see.  A read applies it.
CREATE TABLE l (player_id bigint PRIMARY KEY, score bigint);
SELECT lb_create_board('l', 'l');
INSERT INTO l SELECT i, i FROM generate_series(1, 500) i;
SELECT lb_wait_ready(), lb_count('l');
UPDATE l SET score = 0 WHERE player_id <= 5;
SELECT history >= 0 AS history, backlog FROM lb_stat_ledger;
CREATE ROLE regress_lb_nosy;
SET ROLE regress_lb_nosy;
SELECT backlog FROM lb_stat_ledger;
RESET ROLE;
GRANT pg_monitor TO regress_lb_nosy;
SET ROLE regress_lb_nosy;
SELECT backlog FROM lb_stat_ledger;
SELECT limit_name, count(*) FILTER (WHERE NOT reviewed) FROM lb_anomaly GROUP BY limit_name;
SELECT player_id FROM lb_anomaly;
RESET ROLE;
SELECT lb_rank(5, 'l');
SELECT backlog FROM lb_stat_ledger;
SELECT * FROM lb_verify('l');
DROP TABLE l;
DROP ROLE regress_lb_nosy;

-- Roles that may see all statistics see the memory of other databases.
CREATE ROLE regress_lb_reader;
CREATE ROLE regress_lb_monitor IN ROLE pg_read_all_stats;
CREATE DATABASE regress_lb_tenant;
\set here :DBNAME
\c regress_lb_tenant
CREATE EXTENSION leaderboard;
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint);
SELECT lb_create_board('t', 't');
SELECT lb_wait_ready();
\c :here
SELECT datname FROM lb_stat_memory WHERE datname LIKE 'regress_lb%';
SET ROLE regress_lb_monitor;
SELECT datname FROM lb_stat_memory WHERE datname LIKE 'regress_lb%';
RESET ROLE;
SET ROLE regress_lb_reader;
SELECT datname IS NULL AS server, datname = current_database() AS here, used > 0 AS used FROM lb_stat_memory ORDER BY 1;
RESET ROLE;
DROP DATABASE regress_lb_tenant;
DROP ROLE regress_lb_reader, regress_lb_monitor;
