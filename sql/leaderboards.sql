--
-- Leaderboards: tables, boards and windows of their own, by lb_create_leaderboard().
--
SET TIME ZONE 'UTC';
SELECT name, op FROM lb_leaderboard;
SELECT lb_create_tables();
SELECT lb_create_leaderboard('kills');
SELECT lb_create_leaderboard('lap', 'best', 'asc', '{hourly,monthly}');
SELECT lb_create_leaderboard('wins', windows => '{}', player_type => 'text');
SELECT name, op FROM lb_leaderboard ORDER BY name;
SELECT board, source, rank_by, board_column, ranked_if FROM lb_board ORDER BY board;
SELECT name, period, keep, op FROM lb_window ORDER BY name;
\d lap_score_windows

-- Reads name the windows by leaderboard and window.
INSERT INTO kills_scores VALUES (1, 10), (2, 30), (3, 20);
INSERT INTO kills_score_windows SELECT p, lb_window_at('kills/daily'), p FROM generate_series(1, 3) p;
INSERT INTO kills_score_windows VALUES (7, 'kills/daily:20200101', 5);
INSERT INTO lap_scores VALUES (1, 100), (2, 90);
INSERT INTO player_scores VALUES (1, 1);
INSERT INTO player_score_windows VALUES (9, lb_window_at('daily'), 5);
SELECT lb_wait_ready();
SELECT * FROM lb_top(10, 'kills');
SELECT * FROM lb_top(10, 'kills/daily');
SELECT * FROM lb_top(10, 'kills/daily:20200101');
SELECT count(*) FROM lb_top(10, 'kills/daily-1');
SELECT * FROM lb_top(10, 'lap');
SELECT * FROM lb_top(10, 'daily');
SELECT lb_rank(2, 'kills'), lb_rank(2, 'kills/daily'), lb_rank(9, 'kills/daily'),
	lb_rank(9, 'daily');
SELECT lb_resolve_board('kills/daily') = lb_window_at('kills/daily') AS same,
	lb_window_at('kills/daily', '2026-07-01 12:00+00'),
	lb_window_at('lap/hourly', '2026-07-01 12:00+00');
SELECT board LIKE 'kills/daily:%' OR board IN ('kills', 'kills/') AS named, kind, members
FROM lb_stat_board WHERE source IN ('kills_scores'::regclass, 'kills_score_windows'::regclass)
ORDER BY board COLLATE "C";
SELECT rank, score FROM lb_top_json(1, 'kills/daily') j,
	json_to_recordset(j -> 'entries') AS e (rank int, score int);

-- Names that lead nowhere.
SELECT lb_rank(1, 'kills/weakly');
SELECT lb_rank(1, 'wins/daily');
SELECT lb_rank(1, 'loss/daily');
SELECT lb_rank(1, 'kills/weakly:20200101');
SELECT lb_rank(1, 'kills/');
SELECT lb_rank(1, 'kills/:7');

-- Names that clash.
SELECT lb_create_leaderboard('kills');
SELECT lb_create_leaderboard('kills', 'set', if_not_exists => true);
SELECT lb_create_leaderboard('kills', if_not_exists => NULL);
SELECT lb_create_leaderboard('global');
SELECT lb_create_leaderboard('global', if_not_exists => true);
SELECT lb_create_leaderboard('daily');
SELECT lb_create_leaderboard('daily-1');
SELECT lb_create_leaderboard('');
SELECT lb_create_leaderboard('a/b');
SELECT lb_create_leaderboard('a:b');
SELECT lb_create_leaderboard('*');
SELECT lb_create_leaderboard('a name of more bytes than thirty-two');
SELECT lb_create_leaderboard('odd', 'best of three');
SELECT lb_create_leaderboard('odd', direction => 'up');
SELECT lb_create_leaderboard('odd', windows => '{yearly}');
SELECT lb_create_leaderboard('odd', windows => '{NULL}');
SELECT lb_create_leaderboard('odd', player_type => 'jsonb');
SELECT lb_create_leaderboard(NULL);
SELECT lb_create_leaderboard('odd', NULL);
SELECT lb_create_leaderboard('odd', windows => NULL);
SELECT lb_create_board('kills/daily', 'kills_scores');
SELECT lb_create_board('kills/x', 'kills_scores');
SELECT lb_create_board('other/', 'kills_score_windows', board_column => 'window_key');
SELECT name FROM lb_leaderboard ORDER BY name;

-- Boards, windows and rows that have such names already.
SELECT lb_create_board('spring/cup', 'player_scores');
SELECT lb_create_leaderboard('spring');
SELECT lb_drop_board('spring/cup');
SELECT lb_open_window('spring/cup:1', starts => '2026-01-01', ends => '2100-01-01');
SELECT lb_open_window('spring/month', 'monthly');
-- A window of such a name, of a dropped leaderboard say, can be opened again.
INSERT INTO lb_window (name, starts, ends, keep) VALUES ('spring/cup:1', '2026-01-01', '2100-01-01', '1 day');
SELECT lb_open_window('spring/cup:1', starts => '2026-01-01', ends => '2101-01-01');
SELECT lb_create_leaderboard('spring');
-- It is no window of another leaderboard.
BEGIN;
UPDATE lb_window SET starts = '2020-01-01' WHERE name = 'spring/cup:1';
SELECT board FROM lb_submit(9, 5) WHERE board !~ '^(global|daily:|weekly:)';
SELECT lb_submit(9, 5, boards => '{spring/cup:1}');
ROLLBACK;
DELETE FROM lb_window WHERE name = 'spring/cup:1';
INSERT INTO player_score_windows VALUES (9, 'spring/cup:1', 5);
SELECT lb_create_leaderboard('spring');
SELECT * FROM lb_top(10, 'spring/cup:1');
DELETE FROM player_score_windows WHERE window_key = 'spring/cup:1';
SELECT lb_create_leaderboard('spring', windows => '{}');

-- Tables get names that are free.
CREATE TABLE "My Cup_scores" (x int);
SELECT lb_create_leaderboard('My Cup', windows => '{daily}');
SELECT lb_create_leaderboard('player');
SELECT board, source FROM lb_board WHERE board ~ '^(My Cup|player)/?$' ORDER BY board;
SELECT name FROM lb_window WHERE name LIKE 'My%';
DROP TABLE "My Cup_scores";

-- Windows of leaderboards.
SELECT lb_open_window('kills/monthly');
SELECT lb_open_window('kills/prime', 'daily', 'Asia/Tokyo', keep => '3 days', archive_top => 2);
SELECT lb_open_window('kills/cup:1', starts => '2026-01-01', ends => '2100-01-01', op => 'best');
SELECT lb_open_window('kills/daily-1', 'daily');
SELECT lb_open_window('kills/daily:1', starts => '2026-01-01', ends => '2100-01-01');
SELECT lb_close_window('kills/prime');
SELECT name, period, time_zone, keep, archive_top, is_open FROM lb_window
WHERE name LIKE 'kills/%' ORDER BY name;
SELECT lb_set_limit('fair', 'kills', max_amount => 10);
SELECT lb_set_limit('fair of the day', 'kills/daily', max_submits => 10);
SELECT lb_set_limit('all', 'daily', max_amount => 10);
SELECT lb_set_limit('none', 'kills/none', max_amount => 10);
SELECT name, board FROM lb_limit ORDER BY name;

-- Submits to "global" write to its own windows only.
SELECT split_part(board, ':', 1) AS board, score FROM lb_submit(5, 5);

-- Hiding takes a player off all leaderboards, or off those that are named.
INSERT INTO kills_scores VALUES (5, 5);
SELECT lb_hide(5, '{kills/,kills,global,*}');
SELECT lb_rank(5), lb_rank(5, 'daily'), lb_rank(5, 'kills');
SELECT lb_show(5, '{kills}');
SELECT lb_rank(5), lb_rank(5, 'daily'), lb_rank(5, 'kills');

-- The end of windows: each leaderboard's are closed, archived and removed.
INSERT INTO kills_score_windows VALUES (1, 'kills/daily:20200102', 5), (2, 'kills/daily:20200102', 7);
INSERT INTO player_score_windows VALUES (1, 'daily:20200102', 50), (2, 'kills/daily:20200103', 7);
INSERT INTO lap_score_windows VALUES (1, 'lap/hourly:2020010203', 50), (2, 'lap/hourly:2020010203', 7),
	(2, 'kills/daily:20200103', 8);
SELECT * FROM lb_maintain();
SELECT board, members, removed_at IS NOT NULL AS removed FROM lb_closed ORDER BY board;
SELECT * FROM lb_archive_top('kills/daily:20200102');
SELECT * FROM lb_archive_top('lap/hourly:2020010203');
SELECT * FROM lb_archive_top('daily:20200102');
SELECT player_id, window_key FROM kills_score_windows WHERE window_key LIKE '%:2020%'
UNION ALL SELECT player_id, window_key FROM lap_score_windows
UNION ALL SELECT player_id, window_key FROM player_score_windows WHERE window_key LIKE '%:2020%';
SELECT lb_close_season('kills/daily', 's1');
SELECT lb_close_season('kills', 's1');
SELECT * FROM lb_archive_top('kills');

-- Watches.
SELECT lb_watch('kills/daily', 3);
SELECT board, split_part(last_key, ':', 1) AS key, last_members FROM lb_watched;
SELECT * FROM lb_verify();

-- Dropping.
SELECT lb_drop_leaderboard('nothing');
SELECT lb_drop_leaderboard('global');
SELECT lb_drop_leaderboard(NULL);
CREATE VIEW uses AS SELECT * FROM kills_scores;
SELECT lb_drop_leaderboard('kills');
DROP VIEW uses;
BEGIN;
SELECT lb_drop_leaderboard('kills');
ROLLBACK;
SELECT * FROM lb_top(1, 'kills/daily');
SELECT lb_drop_leaderboard('kills');
SELECT to_regclass('kills_scores'), to_regclass('kills_score_windows');
SELECT name FROM lb_leaderboard ORDER BY name;
SELECT name FROM lb_window ORDER BY name;
SELECT name, board FROM lb_limit ORDER BY name;
SELECT board FROM lb_watched;
SELECT lb_rank(1, 'kills');
SELECT lb_create_leaderboard('kills');
DELETE FROM player_score_windows WHERE window_key LIKE 'kills/%';
SELECT lb_create_leaderboard('kills');
SELECT * FROM lb_top(10, 'kills');
SELECT * FROM lb_archive_top('kills/daily:20200102');
SELECT board, removed_at IS NOT NULL AS removed FROM lb_closed ORDER BY board;

-- A leaderboard ends with the board of its scores, too.
SELECT lb_drop_board('lap');
SELECT name FROM lb_leaderboard ORDER BY name;
SELECT name FROM lb_window WHERE name LIKE 'lap/%';
-- So submits to "global" write to no windows of it.
SELECT DISTINCT strpos(board, '/') > 0 AS of_another FROM lb_submit(77, 5);
SELECT count(*) FROM player_score_windows WHERE player_id = 77 AND window_key LIKE '%/%';
DELETE FROM player_scores WHERE player_id = 77;
DELETE FROM player_score_windows WHERE player_id = 77;
DROP TABLE lap_score_windows;
SELECT name FROM lb_window ORDER BY name;
DROP TABLE lap_scores;
BEGIN;
DELETE FROM lb_board;
SELECT name FROM lb_leaderboard ORDER BY name;
SELECT name FROM lb_window ORDER BY name;
ROLLBACK;
BEGIN;
TRUNCATE lb_board;
SELECT name FROM lb_leaderboard ORDER BY name;
SELECT name FROM lb_window ORDER BY name;
ROLLBACK;

-- Rights.
CREATE ROLE lb_team;
CREATE ROLE lb_player;
GRANT CREATE ON SCHEMA public TO lb_team;
SET ROLE lb_team;
SELECT lb_create_leaderboard('theirs');
SELECT lb_drop_leaderboard('kills');
SELECT lb_open_window('kills/monthly');
SELECT lb_set_limit('fair', 'kills', max_amount => 10);
RESET ROLE;
GRANT EXECUTE ON FUNCTION lb_create_leaderboard TO lb_team;
GRANT EXECUTE ON FUNCTION lb_open_window TO lb_team;
-- Whether a name is in use tells what rows of "*" have, so the role must be able to read them.
INSERT INTO player_score_windows VALUES (9, 'autumn/cup:1', 5);
SET ROLE lb_team;
SELECT lb_create_leaderboard('autumn');
SELECT lb_create_leaderboard('theirs');
RESET ROLE;
GRANT SELECT ON player_score_windows TO lb_team;
ALTER TABLE player_score_windows ENABLE ROW LEVEL SECURITY;
CREATE POLICY none ON player_score_windows USING (false);
SET ROLE lb_team;
SELECT lb_create_leaderboard('autumn');
SELECT lb_create_leaderboard('theirs');
RESET ROLE;
DROP POLICY none ON player_score_windows;
ALTER TABLE player_score_windows DISABLE ROW LEVEL SECURITY;
SET ROLE lb_team;
SELECT lb_create_leaderboard('autumn');
SELECT lb_create_leaderboard('theirs');
RESET ROLE;
DELETE FROM player_score_windows WHERE window_key = 'autumn/cup:1';
SET ROLE lb_team;
SELECT lb_open_window('theirs/monthly');
SELECT lb_open_window('kills/monthly');
INSERT INTO theirs_score_windows VALUES (1, 'theirs/daily:20200102', 5);
SELECT * FROM lb_maintain();
SET ROLE lb_player;
\set SHOW_CONTEXT never
SELECT lb_rank(1, 'theirs');
SELECT lb_rank(1, 'theirs/daily');
\set SHOW_CONTEXT errors
SELECT lb_maintain();
RESET ROLE;
SELECT * FROM lb_verify();
SELECT lb_drop_leaderboard(name) FROM (SELECT name FROM lb_leaderboard WHERE name <> 'global') l;
DROP TABLE player_scores, player_score_windows;
SELECT name FROM lb_leaderboard;
SELECT name FROM lb_window;
SELECT board FROM lb_board;
DELETE FROM lb_closed;
DELETE FROM lb_archive;
DELETE FROM lb_season;
DELETE FROM lb_archive_source;
DROP OWNED BY lb_team, lb_player;
DROP ROLE lb_team, lb_player;
