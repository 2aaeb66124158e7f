--
-- lb_submit() and lb_submit_many().
--
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');

-- What comes too late for its windows closes none of those that follow.
SELECT split_part(board, ':', 1) AS board, applied FROM lb_submit(1, 10, at => '2020-04-09');
SELECT split_part(board, ':', 1) AS board, score, applied FROM lb_submit(1, 10);
SELECT split_part(board, ':', 1) AS board, applied FROM lb_submit(1, 10, at => '2020-04-09');
SELECT split_part(board, ':', 1) AS board, score, applied FROM lb_submit(1, 10);
TRUNCATE player_scores, player_score_windows;

-- Days long ago, so that nothing here depends on the clock.
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE VIEW scores AS
SELECT * FROM (SELECT 'global' AS board, player_id, score, updated_at FROM player_scores
	UNION ALL SELECT window_key, player_id, score, updated_at FROM player_score_windows) s
ORDER BY player_id, board COLLATE "C";

-- One call, three boards.
SELECT * FROM lb_submit(1, 100, at => '2026-04-09 10:00');
SELECT * FROM lb_submit(2, 150, at => '2026-04-09 10:01');
SELECT * FROM lb_submit(1, 70, at => '2026-04-09 10:02');
SELECT * FROM scores;

-- The next day and the next week are other keys; nothing is reset.
SELECT * FROM lb_submit(2, 30, at => '2026-04-10 10:00');
SELECT * FROM lb_submit(2, 1, at => '2026-04-13 10:00');
-- What comes late goes to the window of its time.
SELECT * FROM lb_submit(1, 10, at => '2026-04-09 23:59:59.999999');
SELECT * FROM scores;

-- The time changes only when the score does, and never goes back: the player that
-- reached it first stays first.
SELECT * FROM lb_submit(1, 0, at => '2026-04-20');
SELECT * FROM lb_submit(1, 180, 'set', at => '2026-04-20', boards => '{global}');
SELECT * FROM lb_submit(2, 180, 'set', at => '2026-04-13 10:05', boards => '{global}');
SELECT * FROM lb_top(5);
SELECT * FROM lb_submit(2, 1, at => '2026-04-01', boards => '{global}');
SELECT * FROM scores WHERE board = 'global';
TRUNCATE player_scores, player_score_windows;

-- best and worst, in the board's own direction; windows get the change.
SELECT * FROM lb_submit(1, 50, 'best', at => '2026-04-09');
SELECT * FROM lb_submit(1, 40, 'best', at => '2026-04-10');
SELECT * FROM lb_submit(1, 65, 'best', at => '2026-04-10');
SELECT * FROM lb_submit(1, 60, 'worst', at => '2026-04-10');
SELECT * FROM lb_submit(1, 70, 'worst', at => '2026-04-10');
SELECT * FROM lb_submit(1, -5, 'set', at => '2026-04-10');
SELECT * FROM scores;
TRUNCATE player_scores, player_score_windows;

-- Windows with an operation of their own: total, change of the week, best of
-- the day.
SELECT lb_open_window('daily', keep => '1000 years', op => 'best');
SELECT * FROM lb_submit(1, 50, at => '2026-04-09 10:00');
SELECT * FROM lb_submit(1, 30, at => '2026-04-09 11:00');
SELECT * FROM lb_submit(1, 70, at => '2026-04-09 12:00');
SELECT * FROM lb_submit(1, 500, 'set', at => '2026-04-09 13:00');
SELECT * FROM scores;
SELECT lb_open_window('daily', keep => '1000 years', op => 'set'),
	lb_open_window('weekly', keep => '1000 years', op => 'worst'),
	lb_open_window('monthly', keep => '1000 years', op => 'incr');
SELECT * FROM lb_submit(1, 7, 'best', at => '2026-04-09 14:00');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years'),
	lb_close_window('monthly');
TRUNCATE player_scores, player_score_windows;

-- boards restricts; without "global", its operation is the windows'.
SELECT * FROM lb_submit(1, 10, at => '2026-04-09', boards => '{weekly,global}');
SELECT * FROM lb_submit(1, 10, at => '2026-04-09', boards => '{daily,daily}');
SELECT * FROM lb_submit(1, 25, 'best', at => '2026-04-09', boards => '{daily,weekly}');
SELECT * FROM lb_submit(1, 15, 'best', at => '2026-04-09', boards => '{daily,weekly}');
SELECT * FROM lb_submit(1, 15, 'worst', at => '2026-04-09', boards => '{daily}');
SELECT * FROM lb_submit(1, 15, at => '2026-04-09', boards => '{}');
SELECT * FROM lb_submit(1, 15, at => '2026-04-09', boards => '{daily:20260409,daily:20260408}');
-- One that has been closed is answered if it is named.
SELECT * FROM lb_submit(1, 15, at => '2026-04-09', boards => '{monthly}');
SELECT * FROM lb_submit(1, 15, boards => '{dayly}');
SELECT * FROM lb_submit(1, 15, boards => '{daily:20260431}');
SELECT * FROM lb_submit(1, 15, boards => '{global,NULL}');
-- As many names as one likes are not looked up; each is looked up once.
SELECT state, message, detail, hint FROM lbt.error(
	$$SELECT lb_submit(1, 15, boards => array_agg('daily:' || i)) FROM generate_series(1, 1001) i$$);
SELECT * FROM lb_submit(1, 15, at => '2026-04-09', boards => array_fill('daily'::text, '{1000}'));
SELECT state, detail FROM lbt.error(
	$$SELECT lb_hide(1, array_fill('global'::text, '{1001}'))$$);
SELECT state, detail FROM lbt.error(
	$$SELECT lb_show(1, array_fill('global'::text, '{1001}'))$$);
SELECT lb_hide(1, array_fill('*'::text, '{1000}')), lb_show(1, array_fill('*'::text, '{1000}'));
SELECT * FROM lb_submit(1, 15, boards => ARRAY(SELECT 'dayly' || i FROM generate_series(1, 1000) i));
SELECT * FROM scores;
TRUNCATE player_scores, player_score_windows;

-- A tournament, and windows that are not kept any longer.
SELECT lb_open_window('tourney:T1', starts => '2026-04-09 18:00', ends => '2026-04-10 18:00',
	keep => '1000 years');
SELECT * FROM lb_submit(1, 5, at => '2026-04-09 17:59');
SELECT * FROM lb_submit(1, 5, at => '2026-04-09 18:00');
SELECT * FROM lb_submit(1, 5, at => '2026-04-10 18:00', boards => '{tourney:T1}');
SELECT lb_open_window('tourney:T1', starts => '2026-04-09 18:00', ends => '2026-04-10 18:00',
	keep => '1000 years', late => '1 hour');
SELECT * FROM lb_submit(1, 5, at => '2026-04-10 17:00');
SELECT lb_open_window('daily');
SELECT * FROM lb_submit(1, 5, at => '2026-04-10 17:00');
SELECT lb_open_window('daily', keep => '1000 years');
INSERT INTO lb_closed (board) VALUES ('daily:20260410');
SELECT * FROM lb_submit(1, 5, at => '2026-04-10 17:00');
SELECT * FROM lb_submit(1, 5, at => '2026-04-11 17:00');
SELECT lb_submit_many('{1,2}', '{5,6}', at => '2026-04-10 17:00');
SELECT * FROM scores;
SELECT lb_open_window('tourney:T2', starts => '2026-04-09 18:00', ends => '2026-04-10 18:00');
INSERT INTO lb_closed (board) VALUES ('tourney:T2');
SELECT lb_open_window('tourney:T2', starts => '2026-04-09 18:00', ends => '2026-04-10 18:00');
DELETE FROM lb_closed;
DELETE FROM lb_window WHERE period IS NULL;
TRUNCATE player_scores, player_score_windows, lb_event;

-- Idempotency: the same rows, and nothing is changed.
SELECT * FROM lb_submit(1, 10, match_id => 'm1', at => '2026-04-09');
SELECT * FROM lb_submit(2, 20, match_id => 'm1', at => '2026-04-09');
SELECT * FROM lb_submit(1, 10, match_id => 'm1', at => '2026-04-09');
SELECT * FROM lb_submit(1, 99, 'set', match_id => 'm1', at => '2026-05-09', boards => '{global}');
SELECT * FROM scores;
SELECT player_id, match_id, boards, scores, ranks, previous_ranks FROM lb_applied ORDER BY 1, 2;
-- Rolled back, it has not been.
BEGIN;
SELECT * FROM lb_submit(1, 10, match_id => 'm2', at => '2026-04-09', boards => '{global}');
ROLLBACK;
SELECT * FROM lb_submit(1, 10, match_id => 'm2', at => '2026-04-09', boards => '{global}');
-- Not by one savepoint, but by another.
BEGIN;
SAVEPOINT a;
SELECT * FROM lb_submit(1, 10, match_id => 'm3', at => '2026-04-09', boards => '{global}');
ROLLBACK TO a;
SELECT * FROM lb_submit(1, 11, match_id => 'm3', at => '2026-04-09', boards => '{global}');
SELECT * FROM lb_submit(1, 11, match_id => 'm3', at => '2026-04-09', boards => '{global}');
COMMIT;
SELECT * FROM lb_submit(1, 1, match_id => repeat('x', 1001));
SELECT score FROM lb_submit(1, 0, match_id => repeat('x', 1000), at => '2026-04-09', boards => '{global}');

-- What has been submitted.
SELECT player_id, op, amount, left(match_id, 3) AS match, at, boards, scores FROM lb_event ORDER BY submitted_at;
-- A trigger on it fires.
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'event: % % %', NEW.player_id, NEW.op, NEW.amount;
	RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT ON lb_event FOR EACH ROW EXECUTE FUNCTION tell();
SELECT score FROM lb_submit(1, -1, match_id => 'm9', at => '2026-04-09', boards => '{global}');
DROP TRIGGER tell ON lb_event;
DROP FUNCTION tell();
-- So do columns and indexes that a user has added.
CREATE INDEX event_player ON lb_event (player_id, (amount * 2)) WHERE op = 'incr';
SELECT score FROM lb_submit(1, 1, at => '2026-04-09', boards => '{global}');
SET enable_seqscan = off;
SELECT player_id, amount, match_id, scores FROM lb_event WHERE op = 'incr' AND player_id = '1' AND amount * 2 = 2;
RESET enable_seqscan;
DROP INDEX event_player;
-- Undone, for a column that has been dropped is a column: what follows would not
-- write to the log as it was made.
BEGIN;
ALTER TABLE lb_event ADD COLUMN note text DEFAULT 'none';
SELECT score FROM lb_submit(1, 0, at => '2026-04-09', boards => '{global}');
SELECT count(*) FROM lb_event WHERE note = 'none';
ALTER TABLE lb_event DROP COLUMN note;
SELECT score FROM lb_submit(1, 0, 'best', at => '2026-04-09', boards => '{global}');
SELECT op, scores FROM lb_event WHERE op = 'best';
ROLLBACK;
SET leaderboard.events = off;
SELECT score FROM lb_submit(1, 1, at => '2026-04-09', boards => '{global}');
RESET leaderboard.events;
SELECT count(*) FROM lb_event;
TRUNCATE player_scores, player_score_windows, lb_event, lb_applied;

-- Many: of one player one after the other, in whatever order.
SELECT lb_submit_many('{3,1,2,1,3}', '{30,10,20,1,3}', at => '2026-04-09');
SELECT * FROM scores;
SELECT lb_submit_many('{3,1,2,1,3}', '{1,7,300,9,2}', 'set', at => '2026-04-09');
SELECT lb_submit_many('{3,1,2,1,3}', '{1,70,3,90,20}', 'best', at => '2026-04-09');
SELECT lb_submit_many('{3,1,2,4}', '{1,70,400,5}', 'worst', at => '2026-04-09');
SELECT * FROM scores;
SELECT player_id, op, amount, boards, scores FROM lb_event ORDER BY submitted_at, player_id, amount;
TRUNCATE player_scores, player_score_windows, lb_event;
SELECT lb_open_window('daily', keep => '1000 years', op => 'best');
SELECT lb_submit_many('{1,1,2}', '{5,4,3}', at => '2026-04-09');
SELECT lb_submit_many('{2,1,1}', '{1,1,6}', at => '2026-04-09');
SELECT * FROM scores;
SELECT lb_open_window('daily', keep => '1000 years');
TRUNCATE player_scores, player_score_windows, lb_event;

-- ... each match once, also within one call.
SELECT lb_submit_many('{1,2,1,1,2}', '{1,2,4,8,16}', match_ids => '{a,a,b,a,NULL}', at => '2026-04-09');
SELECT lb_submit_many('{1,2,1,3}', '{32,64,128,256}', match_ids => '{a,b,c,a}', at => '2026-04-09');
SELECT lb_submit_many('{1}', '{1}', match_ids => '{a}', at => '2026-04-09');
SELECT * FROM scores;
SELECT player_id, match_id FROM lb_applied ORDER BY 1, 2;
-- What was submitted so has no rows to be returned again: what is there now.
SELECT * FROM lb_submit(1, 1, match_id => 'a', at => '2026-04-09');
SELECT * FROM lb_submit(2, 1, match_id => 'c', at => '2026-04-09');
SELECT lb_submit_many('{2}', '{1}', match_ids => '{c}');
SELECT lb_submit_many('{}', '{}'), lb_submit_many('{}', '{}', match_ids => '{}');

-- A hidden player stays hidden in new windows.
UPDATE player_scores SET ranked = false WHERE player_id = 1;
UPDATE player_score_windows SET ranked = false WHERE player_id = 1;
SELECT * FROM lb_submit(1, 5, at => '2026-04-16');
SELECT * FROM lb_submit(1, 5, 'best', at => '2026-04-17', boards => '{daily}');
SELECT lb_submit_many('{1,2}', '{1,1}', 'set', at => '2026-04-18');
SELECT player_id, window_key, ranked FROM player_score_windows WHERE window_key > 'daily:20260409' ORDER BY 2, 1;
SELECT * FROM lb_top(5, 'daily:20260418');
-- ... also if only "global" has the player's row, and the submit does not write to it.
SELECT count(*) FROM lb_submit(6, 10, boards => '{global}');
SELECT lb_hide(6);
SELECT * FROM lb_submit(6, 100, at => '2026-04-19', boards => '{daily}');
SELECT window_key, score, ranked FROM player_score_windows WHERE player_id = 6;
SELECT lb_show(6);
SELECT * FROM lb_submit(6, 100, at => '2026-04-19', boards => '{daily,weekly}');
-- Where "global" has no column for it, or is no board, the windows tell.
BEGIN;
UPDATE player_score_windows SET ranked = false WHERE player_id = 6 AND window_key = 'daily:20260419';
SELECT lb_drop_board('global');
SELECT * FROM lb_submit(6, 1, at => '2026-04-20', boards => '{daily}');
SELECT lb_create_board('global', 'player_scores', rank_by => 'score DESC, updated_at');
SELECT * FROM lb_submit(6, 1, at => '2026-04-21', boards => '{daily}');
ROLLBACK;
SELECT lb_wait_ready('5 min');
DELETE FROM player_scores WHERE player_id = 6;
DELETE FROM player_score_windows WHERE player_id = 6;

-- Arithmetic has an end.
\set VERBOSITY terse
SELECT * FROM lb_submit(7, 9223372036854775807, at => '2026-04-09', boards => '{global}');
SELECT * FROM lb_submit(7, 1, at => '2026-04-09');
SELECT * FROM lb_submit(7, -9223372036854775808, 'set', at => '2026-04-09');
SELECT lb_submit_many('{7,7}', '{9223372036854775807,9223372036854775807}', at => '2026-04-09');
SELECT * FROM lb_submit(7, -9223372036854775808, 'set', boards => '{global}', at => '2026-04-09');
SELECT count(*) FROM scores WHERE player_id = 7;
\set VERBOSITY default

-- What is refused.
SELECT * FROM lb_submit(NULL, 1);
SELECT * FROM lb_submit(1, NULL);
SELECT board, score, applied FROM lb_submit(1, 0, NULL, boards => '{global}');
SELECT * FROM lb_submit(1, 1, at => NULL);
SELECT * FROM lb_submit(1, 1, 'add');
SELECT * FROM lb_submit(1, 1, 'change');
SELECT * FROM lb_submit(1, 1, at => 'infinity');
-- Clocks differ, but not by years: neither windows nor times come from the future.
SELECT state, detail, hint FROM lbt.error($$SELECT lb_submit(1, 1, at => now() + interval '6 min')$$);
SELECT state, detail FROM lbt.error($$SELECT lb_submit_many('{1}', '{1}', at => '2099-01-01')$$);
SELECT state, detail FROM lbt.error(
	$$SELECT lb_submit_json('{"player_id": 1, "amount": 1, "at": "2099-01-01", "match_id": "m2099"}')$$);
SELECT count(*) FROM lb_applied WHERE match_id = 'm2099';
SELECT board, applied FROM lb_submit(1, 0, at => now() + interval '4 min', boards => '{global}');
SET leaderboard.max_clock_skew = 0;
SELECT board, applied FROM lb_submit(1, 0, boards => '{global}');
SELECT state, detail FROM lbt.error($$SELECT lb_submit(1, 0, at => now() + interval '1 min')$$);
SET leaderboard.max_clock_skew = -1;
SELECT board, applied FROM lb_submit(1, 0, at => now() + interval '1 year', boards => '{global}');
RESET leaderboard.max_clock_skew;
SELECT lb_submit_many(NULL, '{1}');
SELECT lb_submit_many('{1}', NULL);
SELECT lb_submit_many('{1,NULL}', '{1,1}');
SELECT lb_submit_many('{1,2}', '{1,NULL}');
SELECT lb_submit_many('{1,2}', '{1}');
SELECT lb_submit_many('{1,2}', '{1,2}', match_ids => '{a}');
SELECT lb_submit_many('{1}', '{1}', 'add');
BEGIN READ ONLY;
SELECT * FROM lb_submit(1, 1);
ROLLBACK;

-- Ranks by query are the same; where no index answers, they are null.
SET leaderboard.enable_index = off;
SELECT * FROM lb_submit(3, 1000, at => '2026-04-09');
RESET leaderboard.enable_index;
SELECT * FROM lb_submit(3, 1, at => '2026-04-09');
ALTER TABLE player_scores DISABLE TRIGGER leaderboard_capture;
SET leaderboard.offline = error;
SELECT * FROM lb_submit(3, 1, at => '2026-04-09');
RESET leaderboard.offline;
SELECT * FROM lb_submit(3, 1, at => '2026-04-09');
ALTER TABLE player_scores ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_rebuild('global');
SELECT * FROM lb_submit(3, 1, at => '2026-04-09');
SELECT * FROM lb_verify();

-- In the transaction that has just made the tables.
DROP VIEW scores;
DROP TABLE player_scores, player_score_windows;
SELECT * FROM lb_submit(1, 1);
BEGIN;
SELECT lb_create_tables();
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SELECT * FROM lb_submit(1, 10, at => '2026-04-09');
SELECT * FROM lb_submit(2, 20, at => '2026-04-09');
SELECT lb_drop_board('*');
SELECT * FROM lb_submit(2, 20, at => '2026-04-09');
ROLLBACK;

-- Tables of one's own, whose columns have other names; more ascending is better.
CREATE SCHEMA "My Game";
CREATE TABLE "My Game"."Runs" ("Who" integer PRIMARY KEY, "Time" integer, note text DEFAULT 'new');
CREATE TABLE "My Game"."Windows" ("Who" integer, "Key" varchar NOT NULL, "Time" smallint, UNIQUE ("Key", "Who"));
SELECT lb_create_board('global', '"My Game"."Runs"', 'Who', '"Time" ASC'),
	lb_create_board('*', '"My Game"."Windows"', 'Who', '"Time" ASC', 'Key');
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years', op => 'best');
INSERT INTO "My Game"."Runs" VALUES (9, NULL, 'old');
SELECT * FROM lb_submit(1, 300, 'best', at => '2026-04-09');
SELECT * FROM lb_submit(2, 200, 'best', at => '2026-04-09');
SELECT * FROM lb_submit(1, 250, 'best', at => '2026-04-09');
SELECT * FROM lb_submit(1, 270, 'best', at => '2026-04-09');
SELECT * FROM lb_submit(9, 100, 'best', at => '2026-04-09');
SELECT lb_submit_many('{2,3,4,3}', '{150,400,170,300}', 'best', at => '2026-04-09');
TABLE "My Game"."Runs" ORDER BY 1;
TABLE "My Game"."Windows" ORDER BY 2, 1;
\set VERBOSITY terse
SELECT * FROM lb_submit(4000000000, 1, 'best', at => '2026-04-09', boards => '{global}');
SELECT * FROM lb_submit(1, 40000, 'set', at => '2026-04-09');
\set VERBOSITY default
SELECT * FROM lb_verify();
-- Renamed: a plan that was kept is made again.
ALTER SCHEMA "My Game" RENAME TO mygame;
ALTER TABLE mygame."Runs" RENAME TO runs;
SELECT lb_wait_ready('5 min');
SELECT * FROM lb_submit(1, 240, 'best', at => '2026-04-09');
SET client_min_messages = warning;
DROP SCHEMA mygame CASCADE;
RESET client_min_messages;
-- Boards that cannot be submitted to.
CREATE TABLE wrong (player_id bigint, w integer, score bigint, UNIQUE (player_id, w));
SELECT lb_create_board('global', 'wrong', board_column => 'w'), lb_create_board('*', 'wrong', board_column => 'w');
SELECT * FROM lb_submit(1, 1);
SELECT * FROM lb_submit(1, 1, boards => '{weekly}');
DROP TABLE wrong;

-- Privileges: those of the tables.  What is recorded beside them needs none.
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
CREATE ROLE regress_lb_server;
CREATE ROLE regress_lb_client;
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO regress_lb_server;
GRANT SELECT ON player_scores, player_score_windows TO regress_lb_client;
SET ROLE regress_lb_server;
SELECT * FROM lb_submit(1, 5, match_id => 'm', at => '2026-04-09');
SELECT * FROM lb_submit(1, 5, match_id => 'm', at => '2026-04-09');
SELECT lb_submit_many('{1,2}', '{1,2}', match_ids => '{m,m}', at => '2026-04-09');
SELECT * FROM lb_event;
SELECT * FROM lb_applied;
SET leaderboard.events = off;
SET ROLE regress_lb_client;
SELECT lb_rank(1);
SELECT * FROM lb_submit(1, 5, match_id => 'n', at => '2026-04-09');
SELECT lb_submit_many('{1,2}', '{1,2}', match_ids => '{n,n}', at => '2026-04-09');
-- ... and gets the error before its arguments are looked at.
SELECT lb_submit(1, 5, boards => array_agg('x' || i)) FROM generate_series(1, 84000) i;
SELECT lb_submit_many('{1,NULL}', '{1}');
-- ... nor does a closed window reveal anything to a client, or let it spoil a match.
SELECT * FROM lb_submit(1, 5, match_id => 'n', at => '2026-04-09', boards => '{daily:20260408}');
RESET ROLE;
SELECT player_id, match_id FROM lb_applied WHERE match_id IN ('m', 'n') ORDER BY 1, 2;
\set VERBOSITY terse
-- The answer to a match is for roles that may read those boards.
CREATE ROLE regress_lb_writer;
GRANT INSERT, UPDATE ON player_scores, player_score_windows TO regress_lb_writer;
SET ROLE regress_lb_writer;
SELECT * FROM lb_submit(1, 5, match_id => 'm', at => '2026-04-09');
SELECT * FROM lb_submit(1, 5, match_id => 'm', at => '2026-04-09', boards => '{daily}');
RESET ROLE;
GRANT SELECT ON player_score_windows TO regress_lb_writer;
SET ROLE regress_lb_writer;
SELECT * FROM lb_submit(1, 5, match_id => 'm', at => '2026-04-09');
SELECT * FROM lb_submit(1, 5, match_id => 'm', at => '2026-04-09', boards => '{daily}');
RESET ROLE;
GRANT SELECT ON player_scores TO regress_lb_writer;
SET ROLE regress_lb_writer;
SELECT * FROM lb_submit(1, 5, match_id => 'm', at => '2026-04-09', boards => '{daily}');
RESET ROLE;
-- A submit to windows only needs no privilege on "global", which records hidden players.
CREATE ROLE regress_lb_windows;
GRANT SELECT, INSERT, UPDATE ON player_score_windows TO regress_lb_windows;
SELECT lb_hide(2);
SET ROLE regress_lb_windows;
SELECT * FROM lb_submit(2, 5, at => '2026-04-10', boards => '{daily}');
SELECT lb_rank(2);
RESET ROLE;
SELECT lb_show(2);
\set VERBOSITY default

-- Objects that a user has put before pg_catalog change nothing.
CREATE SCHEMA before;
CREATE FUNCTION before.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE sql AS 'SELECT 666::bigint';
CREATE FUNCTION before.plus(bigint, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 666::bigint';
CREATE OPERATOR before.+ (FUNCTION = before.plus, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION before.no(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR before.<> (FUNCTION = before.no, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR before.> (FUNCTION = before.no, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR before.= (FUNCTION = before.no, LEFTARG = bigint, RIGHTARG = bigint);
\c -
SET search_path = before, public, pg_catalog;
SELECT * FROM lb_submit(1, 5, at => '2026-04-09');
SELECT lb_submit_many('{1,2}', '{50,60}', 'best', match_ids => '{y,z}', at => '2026-04-09');
SELECT lb_submit_many('{1,2}', '{50,60}', match_ids => '{y,z}', at => '2026-04-09');
SELECT * FROM lb_submit(1, 70, 'best', 'k', at => '2026-04-09');
SELECT * FROM lb_submit(1, 70, 'best', 'k', at => '2026-04-09');
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA before CASCADE;
RESET client_min_messages;

-- A trigger of the user's that submits on its own.
CREATE TABLE kills (player_id bigint, points bigint);
CREATE FUNCTION kills() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM lb_submit(NEW.player_id, NEW.points, at => '2026-04-09');
	RETURN NULL;
END $$;
CREATE TRIGGER kills AFTER INSERT ON kills FOR EACH ROW EXECUTE FUNCTION kills();
INSERT INTO kills VALUES (10, 1), (11, 2), (10, 3);
SELECT * FROM lb_ranks('{10,11}');
SELECT * FROM lb_ranks('{10,11}', 'weekly:202615');
DROP TABLE kills;
DROP FUNCTION kills();

-- A trigger that keeps a board's row from being written: the others go on.
CREATE FUNCTION keep_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE WHEN NEW.score <= TG_ARGV[0]::bigint THEN NEW END;
END $$;
CREATE TRIGGER keep_out BEFORE INSERT OR UPDATE ON player_scores
FOR EACH ROW EXECUTE FUNCTION keep_out('10');
SELECT * FROM lb_submit(20, 8, at => '2026-04-09');
SELECT * FROM lb_submit(20, 8, at => '2026-04-09');
SELECT * FROM lb_submit(21, 11, at => '2026-04-09');
SELECT board, score, applied FROM lb_submit(20, 8, 'set', at => '2026-04-09');
SELECT board, score, applied FROM lb_submit(20, 7, 'best', at => '2026-04-09');
SELECT board, score, applied FROM lb_submit(20, 12, 'best', at => '2026-04-09');
SELECT lb_submit_many('{20,21}', '{2,3}', at => '2026-04-09');
SELECT * FROM lb_ranks('{20,21}');
SELECT * FROM lb_ranks('{20,21}', 'weekly:202615');
DROP TRIGGER keep_out ON player_scores;
SELECT lb_wait_ready('5 min');
CREATE TRIGGER keep_out BEFORE INSERT OR UPDATE ON player_score_windows
FOR EACH ROW WHEN (NEW.window_key LIKE 'daily:%') EXECUTE FUNCTION keep_out('0');
SELECT * FROM lb_submit(22, 5, at => '2026-04-09');
DROP TRIGGER keep_out ON player_score_windows;
DROP FUNCTION keep_out();

-- If a user has altered the log, rows are written by the names of its columns.
SET leaderboard.events = on;
TRUNCATE lb_event;
BEGIN;
ALTER TABLE lb_event ALTER amount TYPE numeric, ALTER op TYPE varchar;
SELECT score FROM lb_submit(22, 5, 'incr', 'a', at => '2026-04-09', boards => '{global}');
SELECT player_id, op, amount, match_id, boards, scores FROM lb_event;
ROLLBACK;
BEGIN;
ALTER TABLE lb_event RENAME player_id TO x;
ALTER TABLE lb_event RENAME op TO player_id;
ALTER TABLE lb_event RENAME x TO op;
SELECT score FROM lb_submit(22, 5, 'incr', 'a', at => '2026-04-09', boards => '{global}');
SELECT player_id, op, amount, match_id, boards, scores FROM lb_event;
ROLLBACK;
BEGIN;
ALTER TABLE lb_event ALTER match_id SET NOT NULL;
\set VERBOSITY terse
SELECT score FROM lb_submit(22, 5, at => '2026-04-09', boards => '{global}');
\set VERBOSITY default
ROLLBACK;

-- A policy that holds for whom the log belongs to holds for what is logged.
\set VERBOSITY terse
BEGIN;
CREATE ROLE regress_lb_keeper;
GRANT USAGE, CREATE ON SCHEMA public TO regress_lb_keeper;
DO $$
DECLARE
	t regclass;
BEGIN
	FOR t IN SELECT c.oid::regclass FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
		WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND c.relkind = 'r'
			AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'leaderboard') LOOP
		EXECUTE format('ALTER TABLE %s OWNER TO regress_lb_keeper', t);
	END LOOP;
END $$;
SELECT score FROM lb_submit(23, 5, at => '2026-04-09', boards => '{global}');
ALTER TABLE lb_event ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY small ON lb_event USING (true) WITH CHECK (amount < 100);
SELECT score FROM lb_submit(23, 5, at => '2026-04-09', boards => '{global}');
SELECT lb_submit_many('{23,24}', '{5,6}', at => '2026-04-09');
SAVEPOINT a;
SELECT score FROM lb_submit(23, 100, at => '2026-04-09', boards => '{global}');
ROLLBACK TO a;
SELECT lb_submit_many('{23,24}', '{99,100}', at => '2026-04-09');
ROLLBACK TO a;
SELECT player_id, amount FROM lb_event WHERE player_id > '22' ORDER BY 1, 2;
ROLLBACK;
\set VERBOSITY default

-- A trigger within a submit that makes its own statement stale, and submits.
CREATE TABLE other (player_id bigint PRIMARY KEY, score bigint);
CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.player_id < 35 THEN
		PERFORM lb_create_board('other' || NEW.player_id, 'other');
		PERFORM lb_submit(NEW.player_id + 1, 1, at => '2026-04-09');
		PERFORM lb_drop_board('other' || NEW.player_id);
		PERFORM lb_submit(NEW.player_id + 100, 1, at => '2026-04-09');
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER more AFTER INSERT OR UPDATE ON player_scores
FOR EACH ROW EXECUTE FUNCTION more();
SELECT lb_wait_ready('5 min');
SELECT * FROM lb_submit(30, 5, at => '2026-04-09');
SELECT * FROM lb_submit(30, 5, at => '2026-04-09');
SELECT lb_submit_many('{30}', '{5}', at => '2026-04-09');
SELECT * FROM lb_ranks('{30,31,32,33,34,35,130,134,135}');
SELECT * FROM lb_ranks('{30,31,32,33,34,35,130,134,135}', 'weekly:202615');
DROP TRIGGER more ON player_scores;
DROP FUNCTION more();
DROP TABLE other;

-- A player whose column for hiding is null on "global" is not ranked in new windows
-- either, by whichever function.
BEGIN;
ALTER TABLE player_scores ALTER ranked DROP NOT NULL;
INSERT INTO player_scores (player_id, ranked) VALUES (41, NULL), (42, NULL);
SELECT board, score, rank, applied FROM lb_submit(41, 5, at => '2026-04-09');
SELECT lb_submit_many('{42}', '{5}', at => '2026-04-09');
SELECT player_id, window_key, score, ranked FROM player_score_windows WHERE player_id IN (41, 42) ORDER BY 1, 2;
ROLLBACK;

DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_applied, lb_hidden;
DROP ROLE regress_lb_server, regress_lb_client, regress_lb_writer, regress_lb_windows;
SELECT * FROM lb_verify();
