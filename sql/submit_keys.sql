--
-- Players that are not bigint: lb_create_tables(player_id), lb_submit_key() and its
-- like.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The types of players.
SELECT lb_create_tables(player_type => NULL);
SELECT lb_create_tables(player_type => 'nonsense');
SELECT lb_create_tables(player_type => 'numeric(10,0)');
SELECT lb_create_tables(player_type => 'date');
SELECT lb_create_tables(player_type => 'integer');
SELECT lb_wait_ready('5 min');
SELECT attrelid::regclass AS "table", format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid IN ('player_scores'::regclass, 'player_score_windows'::regclass) AND attname = 'player_id'
ORDER BY 1;
-- Tables of another type are there.
SELECT lb_create_tables();

-- Integers are taken as bigint and as text.
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SELECT * FROM lb_submit_key('7', 5, at => '2026-04-09');
SELECT * FROM lb_submit(7, 5, at => '2026-04-09');
SELECT * FROM lb_submit_key(' +7 ', 5, match_id => 'a', at => '2026-04-09');
SELECT * FROM lb_submit(7, 5, match_id => 'a', at => '2026-04-09');
SELECT lb_submit_many_key('{10,9,0010}', '{1,2,3}', at => '2026-04-09');
SELECT lb_submit_json('{"player_id": "7", "amount": 1, "at": "2026-04-09"}') ->> 'player_id' AS text,
	lb_submit_json('{"player_id": 7, "amount": 1, "at": "2026-04-09"}') ->> 'new_score' AS score;
SELECT player_id, op, amount, match_id, scores FROM lb_event ORDER BY submitted_at, player_id, amount, scores;
SELECT player_id, match_id FROM lb_applied;
SELECT lb_hide_key('7'), lb_hide(7), lb_show_key('7'), lb_show(7), lb_hide(NULL), lb_hide_key(NULL);
-- Bad ones.
SELECT * FROM lb_submit_key('seven', 5);
SELECT * FROM lb_submit_key('9223372036854775808', 5);
\set SHOW_CONTEXT never
SELECT * FROM lb_submit_key('2147483648', 5, boards => '{global}');
\set SHOW_CONTEXT errors
SELECT lb_submit_many_key('{7,""}', '{1,1}');
SELECT lb_submit_many_key('{7,NULL}', '{1,1}');
SELECT lb_submit_key(NULL, 1);
SELECT lb_hide_key('seven');
\set SHOW_CONTEXT never
SELECT lb_submit_json('{"player_id": true, "amount": 1}');
\set SHOW_CONTEXT errors
SELECT board, member, problem FROM lb_verify();
SELECT lb_drop_board('global'), lb_drop_board('*');
DROP TABLE player_scores, player_score_windows;
TRUNCATE lb_applied, lb_event, lb_usage, lb_anomaly, lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_hidden;

-- uuids, in every form that their input function takes.
SELECT lb_create_tables(player_type => 'uuid');
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
CREATE FUNCTION u(n integer) RETURNS text IMMUTABLE LANGUAGE sql AS
$$SELECT (repeat(n::text, 8) || '-0000-0000-0000-000000000000')::uuid::text$$;
SELECT * FROM lb_submit_key(u(1), 10, at => '2026-04-09');
SELECT * FROM lb_submit_key('{11111111000000000000000000000000}', 5, match_id => 'a', at => '2026-04-09');
SELECT * FROM lb_submit_key(u(1), 5, match_id => 'a', at => '2026-04-09');
SELECT * FROM lb_submit_key('F000000000000000000000000000000F', 1, 'best', boards => '{daily}', at => '2026-04-09');
SELECT lb_submit_many_key(ARRAY[u(3), u(2), u(1), u(3), u(9)], '{30,20,1,3,9}',
	match_ids => '{m,m,m,n,NULL}', at => '2026-04-09');
SELECT lb_submit_many_key(ARRAY[u(9), u(3), upper(u(3))], '{9,30,3}', match_ids => '{o,m,n}', at => '2026-04-09');
SELECT lb_submit_json(jsonb_build_object('player_id', u(2), 'amount', 1, 'boards', '["global"]'::jsonb, 'at', '2026-04-09'));
SET leaderboard.json_bigint = string;
SELECT lb_submit_json(jsonb_build_object('player_id', u(2), 'amount', 0, 'boards', '["global"]'::jsonb));
RESET leaderboard.json_bigint;
SELECT * FROM lb_top_key(10);
SELECT * FROM lb_top_key(2, 'daily:20260409');
SELECT player_id, match_id, scores FROM lb_applied ORDER BY 1, 2;
SELECT player_id, op, amount, match_id, boards, scores FROM lb_event ORDER BY submitted_at, player_id, amount;
-- Neither bigint nor what is no uuid.
SELECT lb_submit(1, 1);
SELECT lb_submit_many('{1}', '{1}');
SELECT lb_hide(1);
SELECT lb_show(1, '{*}');
SELECT lb_submit_key('1', 1);
SELECT lb_submit_many_key(ARRAY[u(1), '1'], '{1,1}');
SELECT lb_hide_key('1');
\set SHOW_CONTEXT never
SELECT lb_submit_json('{"player_id": 1, "amount": 1}');
\set SHOW_CONTEXT errors

-- All operations.
SELECT board, score FROM lb_submit_key(u(1), 7, 'set', at => '2026-04-09');
SELECT board, score FROM lb_submit_key(u(1), 9, 'best', at => '2026-04-09');
SELECT board, score FROM lb_submit_key(u(1), 2, 'worst', at => '2026-04-09');
SELECT lb_submit_many_key(ARRAY[u(1), u(2)], '{100,-100}', 'set', at => '2026-04-09');
SELECT * FROM lb_top_key(10);

-- Limits, and what exceeds them.
SELECT lb_set_limit('amount', 'global', max_amount => 1000), lb_set_limit('tries', 'daily', max_submits => 3, action => 'flag'),
	lb_set_limit('sum', 'global', period => '1 h', max_period_amount => 50, action => 'flag');
SELECT lb_submit_key(u(4), 1001, at => '2026-04-09');
SELECT lb_submit_many_key(ARRAY[u(5), u(4), u(5), u(5), u(5)], '{1,60,1,1,1}', at => '2026-04-09');
SELECT limit_name, board, player_id, amount, submits FROM lb_usage ORDER BY 1, 2, 3;
SELECT player_id, limit_name, board, submits, measure, value FROM lb_anomaly ORDER BY 1, 2;
SELECT lb_drop_limit(name) FROM lb_limit;
SELECT count(*) FROM lb_usage;

-- Hiding: new rows are hidden as well.
SELECT lb_hide_key(upper(u(3))), lb_hide_key(u(3)), lb_hide_key(u(7));
SELECT board, score, rank FROM lb_submit_key(u(3), 1, at => '2026-04-10');
SELECT member FROM lb_top_key(3, 'daily:20260410');
SELECT lb_show_key(u(3)), lb_show_key(u(3), '{global}');
SELECT member FROM lb_top_key(3, 'daily:20260410');
DELETE FROM player_scores WHERE player_id = u(3)::uuid;
SELECT lb_hide_key(u(3), '{*}');
SELECT board, score, rank FROM lb_submit_key(u(3), 1, at => '2026-04-10');

-- Watching.
BEGIN;
SELECT lb_watch('global', 2), lb_watch_member_key(upper(u(2))), lb_watch_member_key(u(2), 'daily:20260409');
SELECT lb_watch_member(2);
ROLLBACK;
SELECT lb_unwatch_member(2);
SELECT lb_watch_member_key('2');
BEGIN;
SELECT lb_watch('global', 2), lb_watch_member_key(upper(u(2))), lb_watch_member_key(u(2), 'daily:20260409');
SELECT lb_notify();
UPDATE player_scores SET score = 1000 WHERE player_id = u(2)::uuid;
SELECT lb_notify();
SELECT board, member, last_members, last_ranks, last_scores, problem FROM lb_watched ORDER BY board, member NULLS FIRST;
SELECT lb_notify();
SELECT lb_unwatch_member_key('{' || u(2) || '}'), lb_unwatch_member_key(u(2)), lb_unwatch_member_key(u(2), 'daily:20260409');
ROLLBACK;

-- The end of windows: archived, and removed.
BEGIN;
UPDATE lb_window SET keep = '1 day', late = '0', archive_top = 2;
UPDATE player_score_windows SET ranked = false WHERE player_id = u(4)::uuid;
SELECT closed, archived, removed FROM lb_maintain();
SELECT count(*) FROM player_score_windows;
SELECT board, place, rank, member, score FROM lb_archive ORDER BY board, place;
SELECT * FROM lb_archive_top_key('daily:20260409', 2);
SELECT * FROM lb_archive_top('daily:20260409', 2);
ROLLBACK;
-- A season, with a hidden player.
SELECT lb_hide_key(u(1));
SELECT lb_close_season('global', 'uuids', 1);
SELECT place, member, score FROM lb_archive WHERE season = 'uuids' ORDER BY place, member;
SELECT count(*) FROM player_scores WHERE score <> 0;
SELECT lb_close_season('global', 'uuids again', reset_to => NULL);
SELECT * FROM lb_archive_top_key('global', 10, 'uuids');
SELECT count(*) FROM player_scores;
SELECT * FROM lb_verify_key();

-- Boards whose players are of different types.
SELECT lb_drop_board('global');
CREATE TABLE numbers (player_id bigint PRIMARY KEY, score bigint, ranked boolean DEFAULT true);
SELECT lb_create_board('global', 'numbers', ranked_if => 'ranked');
SELECT lb_submit(1, 1);
SELECT board, score, applied FROM lb_submit(1, 1, boards => '{global}');
SELECT board, score FROM lb_submit_key(u(1), 1, boards => '{daily}', at => '2026-04-09');
SELECT lb_hide(1, '{global}'), lb_hide_key('1', '{global}');
SELECT lb_hide_key('1');
SELECT * FROM lb_verify_key();
SELECT lb_drop_board('global');
DROP TABLE numbers;
-- Members that cannot be players, and scores that are not submitted to.
CREATE TABLE days (day date PRIMARY KEY, score numeric(10,2), ranked boolean DEFAULT true);
SELECT lb_create_board('global', 'days', member => 'day', ranked_if => 'ranked');
SELECT lb_submit_key('2026-01-01', 1, boards => '{global}');
SELECT lb_hide_key('2026-01-01', '{global}');
ALTER TABLE days ADD points bigint;
SELECT lb_drop_board('global');
SELECT lb_create_board('global', 'days', member => 'day', rank_by => 'points DESC', ranked_if => 'ranked');
SELECT lb_submit_key('2026-01-01', 1, boards => '{global}');
SELECT lb_drop_board('global'), lb_drop_board('*');
DROP TABLE days, player_scores, player_score_windows;
TRUNCATE lb_applied, lb_event, lb_usage, lb_anomaly, lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_archive, lb_archive_source, lb_season, lb_hidden;

-- Domains; and members and scores whose text depends on settings: what is archived
-- and watched does not.
CREATE DOMAIN name_of_player AS uuid CHECK (VALUE <> '00000000-0000-0000-0000-000000000000');
SELECT lb_create_tables(player_type => 'name_of_player');
SELECT lb_wait_ready('5 min');
SELECT board, score, rank FROM lb_submit_key(u(1), 1, boards => '{global}');
\set SHOW_CONTEXT never
SELECT board, score, rank FROM lb_submit_key(u(0), 1, boards => '{global}');
\set SHOW_CONTEXT errors
SELECT lb_hide_key(u(1)), lb_show_key(u(1));
SELECT * FROM lb_verify_key();
SELECT lb_drop_board('global'), lb_drop_board('*');
DROP TABLE player_scores, player_score_windows;
DROP DOMAIN name_of_player;

CREATE TABLE times (at timestamptz, n integer, score double precision, shown boolean NOT NULL, PRIMARY KEY (at, n));
SELECT lb_create_board('times', 'times', 'at, n', rank_by => 'score ASC', ranked_if => 'shown');
INSERT INTO times VALUES ('2026-04-09 12:00+00', 1, 0.1, true), ('2026-04-09 12:00+00', 2, 'NaN', true),
	('2026-04-10 12:00+00', 1, 1e300, false);
SELECT lb_wait_ready('5 min');
SET datestyle = 'German';
SET timezone = 'Asia/Tokyo';
SET extra_float_digits = 0;
SELECT * FROM lb_top_key(3, 'times');
SELECT lb_watch('times', 2), lb_watch_member_key('("09.04.2026 21:00:00 JST",2)', 'times');
SELECT member, last_members, last_scores FROM lb_watched ORDER BY member NULLS FIRST;
SELECT lb_unwatch('times'), lb_unwatch_member_key('("2026-04-09 12:00+00",2)', 'times');
SELECT lb_watch_member_key('(1,2)', 'times');
SELECT lb_watch_member(1, 'times');
SELECT lb_close_season('times', 'first', reset_to => 1);
SELECT place, rank, member, score FROM lb_archive ORDER BY place;
SELECT * FROM lb_archive_top_key('times');
SELECT * FROM lb_archive_top('times');
SELECT n, score FROM times ORDER BY 1, 2;
SELECT * FROM lb_verify_key();
SELECT lb_drop_board('times');
SELECT lb_create_board('times', 'times', 'n, at', rank_by => 'shown ASC');
SELECT lb_close_season('times', 'second');
SELECT lb_close_season('times', 'third', reset_to => NULL);
SELECT * FROM lb_verify_key();
SELECT lb_drop_board('times');

-- Windows of members that cannot be players: of two columns, and of a type whose
-- text can be read in two ways.  Rows that are not ranked go too.
CREATE TABLE results (at timestamptz, n integer, window_key text, score real, PRIMARY KEY (at, n, window_key),
	UNIQUE (at, window_key));
SET timezone = 'Asia/Kolkata';
SELECT lb_create_board('*', 'results', 'at, n', rank_by => 'score DESC', board_column => 'window_key');
SELECT lb_open_window('cup:1', starts => '2026-04-01', ends => '2026-05-01', keep => '0', late => '0');
INSERT INTO results VALUES ('2026-04-09 12:00+00', 1, 'cup:1', 0.1), ('2026-04-09 12:00+02', 2, 'cup:1', 1e30),
	('2026-04-10 12:00+00', 3, 'cup:1', NULL);
SELECT lb_wait_ready('5 min');
SELECT closed, archived, removed FROM lb_maintain();
SELECT rank, member, score FROM lb_archive_top_key('cup:1');
SELECT lb_drop_board('*');
INSERT INTO results VALUES ('2026-04-09 12:00+00', 1, 'cup:2', 0.1), ('2026-04-09 12:00+02', 2, 'cup:2', 1e30),
	('2026-04-10 12:00+00', 3, 'cup:2', NULL);
SELECT lb_create_board('*', 'results', 'at', rank_by => 'score DESC', board_column => 'window_key');
SELECT lb_open_window('cup:2', starts => '2026-04-01', ends => '2026-05-01', keep => '0', late => '0');
SELECT lb_wait_ready('5 min');
SELECT * FROM lb_top_key(3, 'cup:2');
SELECT closed, archived, removed FROM lb_maintain();
SELECT rank, member, score FROM lb_archive_top_key('cup:2');
SELECT count(*) FROM results;
SELECT * FROM lb_verify_key();
SELECT lb_drop_board('*');
DROP TABLE times, results;
RESET datestyle;
RESET timezone;
RESET extra_float_digits;
DROP FUNCTION u(integer);
TRUNCATE lb_applied, lb_event, lb_usage, lb_anomaly, lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_archive, lb_archive_source, lb_season, lb_hidden;
