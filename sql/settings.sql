--
-- Settings, and what reads do while there is no index
--
SELECT name, CASE WHEN name = 'leaderboard.memory' THEN NULL ELSE boot_val END
	AS default, unit, vartype AS type, context, min_val, max_val, enumvals,
	short_desc, extra_desc
FROM pg_settings WHERE name LIKE 'leaderboard.%' AND name <> 'leaderboard.pause_at'
ORDER BY name \gx
SELECT boot_val, unit FROM pg_settings WHERE name = 'leaderboard.memory';

SET leaderboard.memory = '1GB';
SET leaderboard.build_workers = 3;
SET leaderboard.history_size = '1MB';
SELECT state FROM lbt.error('SET leaderboard.database_memory = -1');
SET leaderboard.not_ready = 'maybe';
SET leaderboard.offline = 'wait';
SET leaderboard.enable_index = 2;
SELECT state FROM lbt.error('SET leaderboard.wait_timeout = -1');
SET leaderboard.wait_timeout = '1min';
SHOW leaderboard.wait_timeout;
RESET leaderboard.wait_timeout;
SET leaderboard.nosuch = 1;
CREATE ROLE regress_lb_nobody;
SET ROLE regress_lb_nobody;
SET leaderboard.database_memory = '1MB';
SET leaderboard.offline = 'error';
RESET leaderboard.offline;
RESET ROLE;
DROP ROLE regress_lb_nobody;

CREATE TABLE t (player_id bigint CONSTRAINT pk PRIMARY KEY, score bigint);
INSERT INTO t SELECT i, i * 7 % 100 FROM generate_series(1, 60) i;
SELECT lb_create_board('t', 't');
SELECT lb_wait_ready();

-- enable_index
SELECT lb_stat_reset();
SET leaderboard.enable_index = off;
SELECT lb_rank(5, 't');
RESET leaderboard.enable_index;
SELECT lb_rank(5, 't');
SELECT index_reads, query_reads, query_disabled FROM lb_stat_board WHERE board = 't';

-- offline: without its unique index a board answers by the query, or not at all.
ALTER TABLE t DROP CONSTRAINT pk;
SELECT lb_rank(5, 't');
-- It has been tried to build it, in vain.
SELECT lb_wait_ready();
SELECT lb_rank(5, 't'), lb_count('t');
SELECT * FROM lbt.differences('t', 't', query_reads => true);
SELECT board, state, reason, members, query_offline > 0 AS offline FROM lb_stat_board
WHERE board = 't';
SET leaderboard.offline = error;
SELECT * FROM lbt.error($$SELECT lb_rank(5, 't')$$);
SELECT * FROM lbt.error($$SELECT * FROM lb_top(1, 't')$$);
SET leaderboard.enable_index = off;
SELECT lb_rank(5, 't');
RESET leaderboard.enable_index;
RESET leaderboard.offline;
-- Writes go on, even ones that no board can follow.
INSERT INTO t VALUES (1000, 1), (1000, 2), (5, 0);
SELECT lb_count('t'), lb_rank(5, 't');
SELECT * FROM lbt.error($$SELECT lb_rebuild('t')$$);
SELECT lb_wait_ready();
DELETE FROM t WHERE player_id = 1000 OR score = 0 AND player_id = 5;
ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (player_id);
SELECT lb_rebuild('t');
SELECT state, reason, members FROM lb_stat_board WHERE board = 't';
SELECT * FROM lbt.differences('t', 't');
SELECT * FROM lb_verify();

-- A capture trigger that is gone, or does not fire.
ALTER TABLE t DISABLE TRIGGER leaderboard_capture;
SELECT lb_rank(5, 't');
SELECT lb_wait_ready();
UPDATE t SET score = 1000 WHERE player_id = 5;
SELECT lb_rank(5, 't'), lb_score(5, 't');
SELECT state, reason FROM lb_stat_board WHERE board = 't';
SET leaderboard.offline = error;
SELECT * FROM lbt.error($$SELECT lb_rank(5, 't')$$);
RESET leaderboard.offline;
ALTER TABLE t ENABLE TRIGGER leaderboard_capture;
SELECT lb_rank(5, 't');
SELECT state, query_trigger > 0 AS trigger FROM lb_stat_board WHERE board = 't';
ALTER TABLE t ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_rebuild('t');
SELECT * FROM lbt.differences('t', 't');
DROP TRIGGER leaderboard_capture_truncate ON t;
SELECT lb_rank(5, 't');
SELECT lb_wait_ready();
TRUNCATE t;
SELECT lb_rank(5, 't'), lb_count('t');
SELECT state FROM lb_stat_board WHERE board = 't';
-- Made again by another board of the table, or by hand.
SELECT lb_create_board('again', 't');
SELECT lb_rebuild('t');
INSERT INTO t SELECT i, i * 7 % 100 FROM generate_series(1, 60) i;
SELECT * FROM lbt.differences('t', 't');
SELECT * FROM lbt.differences('again', 't');
SELECT lb_drop_board('again');

-- A column changes its type: the query would rank in another order than the index.
ALTER TABLE t ALTER score TYPE numeric;
SELECT * FROM lbt.error($$SELECT lb_rank(5, 't')$$);
SELECT state, message FROM lbt.error($$SELECT lb_close_season('t', 's')$$);
UPDATE t SET score = score + 1;
ALTER TABLE t ALTER score TYPE text, ALTER player_id TYPE numeric;
SELECT state, detail FROM lbt.error($$SELECT * FROM lb_top(5, 't')$$);
SET leaderboard.enable_index = off;
SELECT state, detail FROM lbt.error($$SELECT lb_count_between(1, 5, 't')$$);
RESET leaderboard.enable_index;
ALTER TABLE t ALTER score TYPE bigint USING score::bigint, ALTER player_id TYPE bigint;
SELECT lb_rebuild('t');
SELECT * FROM lbt.differences('t', 't');

-- The type of a column of the key goes, and the column with it: no write fails, and the
-- reason is that of the board.
CREATE DOMAIN points AS integer;
CREATE TABLE typed (player_id bigint PRIMARY KEY, score points NOT NULL);
INSERT INTO typed VALUES (1, 10), (2, 20);
SELECT lb_create_board('typed', 'typed');
SELECT lb_wait_ready('5 min');
DROP DOMAIN points CASCADE;
INSERT INTO typed VALUES (3);
SELECT reason FROM lb_stat_board WHERE board = 'typed';
DELETE FROM typed WHERE player_id = 1;
SELECT reason FROM lb_stat_board WHERE board = 'typed';
DROP TABLE typed;

-- Too little memory for one database: the board goes offline, no write fails.
SELECT board, state FROM lb_stat_board WHERE board = 't';
SET leaderboard.database_memory = '64kB';
INSERT INTO t SELECT i, i * 7919 % 1000 FROM generate_series(1000, 30000) i;
RESET leaderboard.database_memory;
SELECT lb_count('t'), lb_rank(1, 't') = 1 + count(*) AS same FROM t
WHERE score > 7 OR score = 7 AND player_id < 1;
SELECT lb_rebuild('t');
SELECT state, members FROM lb_stat_board WHERE board = 't';
SELECT * FROM lb_verify();
SELECT current_database() AS db \gset
ALTER DATABASE :"db" SET leaderboard.database_memory = '64kB';
SELECT state, message FROM lbt.error($$SELECT lb_rebuild('t')$$);
SELECT lb_count('t');
ALTER DATABASE :"db" RESET leaderboard.database_memory;
DELETE FROM t WHERE player_id >= 1000;
SELECT lb_rebuild('t');
SELECT state, members FROM lb_stat_board WHERE board = 't';
SELECT * FROM lbt.differences('t', 't');

-- not_ready: no worker can build the board, because this session locks the table.
BEGIN;
LOCK TABLE t IN ACCESS EXCLUSIVE MODE;
SELECT lb_rank(5, 't') IS NOT NULL AS index;
SELECT lbt.agrees('t', 't');
SELECT state, message FROM lbt.error($$SELECT lb_rebuild('t')$$);
SELECT lb_rank(5, 't') IS NOT NULL AS answered;
COMMIT;
SELECT lb_rebuild('t');
SELECT * FROM lbt.differences('t', 't');

DROP TABLE t;
SELECT * FROM lb_verify();
