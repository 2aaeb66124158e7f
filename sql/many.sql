--
-- Thousands of boards on one table
--
-- What a session keeps of its boards grows with their number, not with the
-- square of it.
CREATE FUNCTION pg_temp.is_linear(boards integer) RETURNS boolean LANGUAGE sql AS $$
SELECT coalesce(pg_catalog.sum(total_bytes), 0) < 8192 * (boards + 32)
FROM pg_catalog.pg_backend_memory_contexts WHERE name LIKE 'leaderboard%'
$$;
CREATE TABLE t (player_id integer PRIMARY KEY, score integer NOT NULL, lap integer NOT NULL DEFAULT 0);
INSERT INTO t SELECT i, i % 7 FROM generate_series(1, 20) i;
BEGIN;
SELECT count(lb_create_board('b' || i, 't')) FROM generate_series(1, 1000) i;
SELECT pg_temp.is_linear(1000);
SELECT lb_rank(7, 'b1'), lb_rank(7, 'b1000');
COMMIT;
SELECT lb_wait_ready();
-- A write is noted for each of them.
BEGIN;
UPDATE t SET score = 10 WHERE player_id = 3;
SELECT lb_rank(3, 'b1'), lb_rank(3, 'b500'), lb_rank(3, 'b1000');
SAVEPOINT s;
TRUNCATE t;
SELECT lb_count('b1'), lb_count('b1000');
ROLLBACK TO s;
SELECT pg_temp.is_linear(1000);
COMMIT;
SELECT count(*), count(DISTINCT lb_rank(3, board)) FROM lb_board WHERE source = 't'::regclass;
SELECT state, count(*) FROM lb_stat_board WHERE source = 't'::regclass GROUP BY state;
SELECT * FROM lb_verify();
-- One more, and others that change their row: what was known of the rest stays.
SELECT lb_create_board('another', 't', rank_by => 'lap ASC');
BEGIN;
SELECT lb_drop_board('b2');
SELECT lb_rank(3, 'b2');
ROLLBACK;
SELECT lb_rank(3, 'b2'), lb_rank(3, 'b3');
BEGIN;
SELECT count(lb_drop_board('b' || i)) FROM generate_series(101, 200) i;
SELECT lb_rank(3, 'b100'), lb_rank(3, 'b201'), lb_count('another');
SAVEPOINT s;
SELECT count(lb_create_board('b' || i, 't', rank_by => 'lap DESC, score')) FROM generate_series(101, 120) i;
SELECT lb_rank(3, 'b100'), lb_rank(3, 'b101'), lb_count('b120');
ROLLBACK TO s;
SELECT count(lb_create_board('b' || i, 't', rank_by => 'score ASC')) FROM generate_series(101, 110) i;
SELECT lb_rank(3, 'b101'), lb_rank(3, 'b111');
ROLLBACK;
SELECT count(lb_create_board('b' || i || 'x', 't', rank_by => 'score ASC')) FROM generate_series(101, 110) i;
SELECT count(lb_drop_board('b' || i || 'x')) FROM generate_series(101, 109) i;
SELECT lb_rank(3, 'b101'), lb_rank(3, 'b110x'), lb_rank(3, 'b111');
SELECT lb_wait_ready();
SELECT * FROM lb_verify();
-- Their columns
ALTER TABLE t RENAME score TO points;
SELECT DISTINCT rank_by FROM lb_board WHERE source = 't'::regclass ORDER BY 1;
SELECT lb_wait_ready();
UPDATE t SET points = 11 WHERE player_id = 4;
SELECT count(*), count(DISTINCT lb_rank(4, board)) FROM lb_board
WHERE source = 't'::regclass AND rank_by = 'points DESC';
SELECT * FROM lb_verify();
-- The table goes, and does not.
BEGIN;
DROP TABLE t;
SELECT count(*) FROM lb_board;
SELECT pg_temp.is_linear(1000);
ROLLBACK;
SELECT count(*), count(DISTINCT lb_rank(4, board)) FROM lb_board
WHERE source = 't'::regclass AND rank_by = 'points DESC';
UPDATE t SET points = 12 WHERE player_id = 5;
SELECT lb_wait_ready();
SELECT * FROM lb_verify();
DROP TABLE t;
SELECT count(*) FROM lb_board;
SELECT count(*) FROM lb_stat_board;
