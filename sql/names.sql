--
-- Names: they are not taken from others, and end with what they stand for.
--
CREATE ROLE regress_lb_mallory;
GRANT EXECUTE ON FUNCTION lb_create_board TO regress_lb_mallory;
CREATE SCHEMA mallory AUTHORIZATION regress_lb_mallory;

-- lb_create_tables() takes nothing over that it would not have made.
BEGIN;
CREATE TABLE player_scores (player_id bigint PRIMARY KEY, score bigint, updated_at timestamptz);
ALTER TABLE player_scores OWNER TO regress_lb_mallory;
SELECT lb_create_tables();
ROLLBACK;
BEGIN;
CREATE TABLE player_score_windows (player_id bigint, key text, score bigint, updated_at timestamptz, PRIMARY KEY (player_id, key));
SELECT lb_create_tables();
ROLLBACK;
BEGIN;
CREATE TABLE player_scores (player_id bigint PRIMARY KEY, score integer, updated_at timestamptz);
SELECT lb_create_tables();
ROLLBACK;
BEGIN;
CREATE VIEW player_scores AS SELECT 1::bigint AS player_id, 1::bigint AS score, now() AS updated_at;
SELECT lb_create_tables();
ROLLBACK;
BEGIN;
CREATE TABLE mallory.player_scores (player_id bigint PRIMARY KEY, score bigint, updated_at timestamptz);
SELECT lb_create_board('global', 'mallory.player_scores');
SELECT lb_create_tables();
ROLLBACK;
BEGIN;
CREATE TABLE past (player_id bigint, key text, score bigint, PRIMARY KEY (player_id, key));
SELECT lb_create_board('*', 'past', board_column => 'key');
SELECT lb_create_tables();
ROLLBACK;
BEGIN;
CREATE TABLE player_scores (player_id bigint, score bigint, updated_at timestamptz, w integer, PRIMARY KEY (player_id, w));
SELECT lb_create_board('global', 'player_scores', board_column => 'w');
SELECT lb_create_tables();
ROLLBACK;
BEGIN;
CREATE TABLE player_scores_score_idx (i integer);
SELECT lb_create_tables();
SELECT lb_create_tables(score_index => true);
ROLLBACK;
SELECT to_regclass('player_scores'), count(*) FROM lb_board;
-- What else its own table has is no matter.
BEGIN;
CREATE TABLE player_scores (player_id bigint PRIMARY KEY, score bigint, updated_at timestamptz, name text);
SELECT lb_create_tables(true);
SELECT lb_create_tables(true);
SELECT board, source FROM lb_board ORDER BY board;
ROLLBACK;

-- Limits and windows go with their board, whatever takes it away.
CREATE FUNCTION make() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM lb_create_tables();
	PERFORM lb_open_window('hourly'), lb_open_window('tourney:T', starts => now(), ends => now() + interval '1 day');
	PERFORM lb_set_limit('g', 'global', max_amount => 10, max_submits => 100),
		lb_set_limit('d', 'daily', max_amount => 10, max_submits => 100), lb_set_limit('t', 'tourney:T', max_score => 100);
	PERFORM lb_submit(1, 1);
END $$;
CREATE VIEW names AS
	SELECT 'board' AS kind, board AS name FROM lb_board
	UNION ALL SELECT 'limit', name FROM lb_limit
	UNION ALL SELECT 'usage', limit_name FROM lb_usage
	UNION ALL SELECT 'window', name FROM lb_window;
CREATE FUNCTION names() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(n, ', ' ORDER BY n COLLATE "C")
	FROM (SELECT kind || ' ' || string_agg(name, ' ' ORDER BY name COLLATE "C") AS n FROM names GROUP BY kind) s
$$;
CREATE PROCEDURE try(command text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RAISE NOTICE '%: %', command, names();
	ROLLBACK;
END $$;
SELECT make();
SELECT names();
CALL try($$SELECT lb_drop_board('global')$$);
CALL try($$SELECT lb_drop_board('*')$$);
CALL try($$DROP TABLE player_scores$$);
CALL try($$DROP TABLE player_score_windows$$);
CALL try($$DROP TABLE player_scores, player_score_windows$$);
CALL try($$DELETE FROM lb_board WHERE board = 'global'$$);
CALL try($$TRUNCATE lb_board$$);
CALL try($$UPDATE lb_board SET source = 'player_score_windows' WHERE board = 'global'$$);
CALL try($$UPDATE lb_board SET board = 'windows' WHERE board = '*'$$);
-- Not with another board, nor when the board stays.
CALL try($$SELECT lb_create_board('other', 'player_scores'); SELECT lb_drop_board('other')$$);
CALL try($$ALTER TABLE player_scores RENAME score TO points$$);
CALL try($$ALTER TABLE player_score_windows RENAME window_key TO key$$);
CALL try($$UPDATE lb_board SET method = 'rank'$$);
-- So the next ones begin with nothing.
DROP TABLE player_scores, player_score_windows;
SELECT names();
SELECT lb_create_tables();
SELECT names();
SELECT score FROM lb_submit(1, 1000000, boards => '{global}');
DROP TABLE player_scores, player_score_windows;

-- A key that another's family has closed can be used; one of the same table or
-- owner, whose final standings there are, is not used again.
CREATE TABLE w (player_id bigint, key text, score bigint, PRIMARY KEY (player_id, key));
SELECT lb_create_board('*', 'w', board_column => 'key');
INSERT INTO w VALUES (1, 'cup:1', 5);
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('cup:1', starts => '2026-01-01', ends => '2026-02-01', keep => '1000 years', late => '0'),
	lb_open_window('cup:2', starts => '2026-01-01', ends => '2026-02-01', keep => '1000 years', late => '0');
SELECT closed, archived FROM lb_maintain();
INSERT INTO lb_closed (board) VALUES ('cup:2');
SELECT lb_drop_board('*');
SELECT lb_create_board('*', 'w', board_column => 'key');
SELECT board FROM lb_closed ORDER BY 1;
SELECT lb_open_window('cup:1', starts => now(), ends => now() + interval '1 day');
SELECT lb_drop_board('*');
CREATE TABLE mallory.w (LIKE w INCLUDING ALL);
ALTER TABLE mallory.w OWNER TO regress_lb_mallory;
SELECT lb_create_board('*', 'mallory.w', board_column => 'key');
SELECT board FROM lb_closed ORDER BY 1;
SELECT lb_open_window('cup:1', starts => now(), ends => now() + interval '1 day');
DROP TABLE w, mallory.w;
TRUNCATE lb_archive, lb_archive_source;

-- A family does not take names that are answered by the family "*".
SELECT lb_create_tables();
INSERT INTO player_score_windows (player_id, window_key, score, ranked) VALUES (1, 'country:FR', 5, true), (2, 'hidden:1', 5, false);
SELECT lb_wait_ready('5 min');
CREATE TABLE mallory.f (player_id bigint, v text, score bigint, PRIMARY KEY (player_id, v));
ALTER TABLE mallory.f OWNER TO regress_lb_mallory;
SET ROLE regress_lb_mallory;
SELECT lb_create_board('country', 'mallory.f', board_column => 'v');
SELECT lb_create_board('countr', 'mallory.f', board_column => 'v'), lb_create_board('country:', 'mallory.f');
SELECT lb_create_board('countr', 'mallory.f', board_column => 'v'), lb_drop_board('countr');
RESET ROLE;
SELECT * FROM lb_top(1, 'country:FR');
-- Where the index cannot tell, by the table.
CALL try($$SELECT lb_create_board('other', 'mallory.f', board_column => 'v'); SELECT lb_drop_board('other')$$);
BEGIN;
INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, 'city:Paris', 5);
SELECT lb_create_board('city', 'mallory.f', board_column => 'v');
ROLLBACK;
ALTER TABLE player_score_windows DISABLE TRIGGER leaderboard_capture;
SELECT lb_create_board('country', 'mallory.f', board_column => 'v');
SELECT lb_create_board('hidden', 'mallory.f', board_column => 'v');
ALTER TABLE player_score_windows ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_rebuild('*');
-- As windows are that need not be recorded.
CREATE TABLE m (player_id bigint PRIMARY KEY, score bigint);
SELECT lb_create_board('monthly', 'm'), lb_drop_board('monthly');
INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, 'monthly:202601', 5);
SELECT lb_create_board('monthly', 'm');
SELECT lb_create_board('monthly-3', 'm');
SELECT lb_create_board('monthly-3', 'mallory.f', board_column => 'v');
SELECT lb_create_board('monthly', 'mallory.f', board_column => 'v');
SELECT lb_create_board('monthly-x', 'm'), lb_drop_board('monthly-x');
-- And what has been closed or archived.
DELETE FROM player_score_windows;
SELECT lb_create_board('monthly', 'm'), lb_drop_board('monthly');
INSERT INTO lb_closed (board) VALUES ('cup:1');
SELECT lb_create_board('cup', 'mallory.f', board_column => 'v');
DELETE FROM lb_closed;
INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, 'guild:1', 5);
SELECT lb_close_season('guild:1', 's1', NULL, NULL);
SELECT lb_create_board('guild', 'mallory.f', board_column => 'v');
-- Without the family "*" there are no such names.
DROP TABLE player_scores, player_score_windows;
SELECT lb_create_board('guild', 'mallory.f', board_column => 'v'), lb_create_board('monthly', 'm');

SET client_min_messages = warning;
DROP SCHEMA mallory CASCADE;
RESET client_min_messages;
DROP TABLE m;
DROP VIEW names CASCADE;
DROP FUNCTION make, names;
DROP PROCEDURE try;
TRUNCATE lb_event, lb_archive, lb_archive_source, lb_closed;
REVOKE EXECUTE ON FUNCTION lb_create_board FROM regress_lb_mallory;
DROP ROLE regress_lb_mallory;
SELECT * FROM lb_board;
SELECT * FROM lb_verify();
