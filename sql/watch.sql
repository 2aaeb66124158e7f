--
-- Watching: what is notified, by rounds that are asked for here; the worker
-- does the same at its intervals, so only what is within a transaction is sure
-- to be ours.
--
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SELECT lb_submit_many('{1,2,3,4,5}', '{10,20,30,40,50}', at => '2026-04-09');
-- The parts of a payload that do not depend on the time.  A notification to
-- oneself comes with the commit; psql would show the process.
CREATE FUNCTION round() RETURNS TABLE (watched text, members text[], ranks bigint[], scores text[])
LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% sent', lb_notify();
	RETURN QUERY SELECT concat_ws(' ', w.board, w.member), w.last_members, w.last_ranks, w.last_scores
		FROM lb_watched w ORDER BY w.board, w.member NULLS FIRST;
END $$;

BEGIN;
SELECT lb_watch('global', 3), lb_watch('weekly:202615', 2), lb_watch_member(1), lb_watch_member(2, 'weekly:202615');
SELECT * FROM round();
-- Nothing of it changes.
UPDATE player_scores SET score = 11 WHERE player_id = 1;
SELECT * FROM round();
-- The third place does.
UPDATE player_scores SET score = 35 WHERE player_id = 2;
SELECT * FROM round();
-- A rank, and the first places.
UPDATE player_scores SET score = 60 WHERE player_id = 1;
SELECT * FROM round();
-- Both boards; fewer places than are watched.
DELETE FROM player_scores WHERE player_id > 2;
DELETE FROM player_score_windows WHERE player_id > 1;
SELECT * FROM round();
SELECT * FROM round();
-- Watched again, with another number of places.
SELECT lb_watch('global', 1);
SELECT * FROM round();
SELECT lb_unwatch('global'), lb_unwatch('global'), lb_unwatch_member(1), lb_unwatch_member(4711);
SELECT * FROM round();
ROLLBACK;
SELECT count(*) FROM lb_watched;

-- A window's name means its key.
BEGIN;
SELECT lb_resolve_board('daily') = lb_window_at('daily', now()) AS key, lb_resolve_board('global'), lb_resolve_board('weekly:202615');
SELECT lb_watch('daily', 1), lb_watch_member(9, 'daily');
SELECT last_key = lb_window_at('daily', now()) AS key, last_members, last_ranks FROM lb_watched ORDER BY member NULLS FIRST;
INSERT INTO player_score_windows VALUES (9, lb_window_at('daily', now()), 5);
SELECT watched, members, ranks, scores FROM round();
-- Yesterday's places are compared with today's.
UPDATE lb_watched SET last_key = 'daily:20260409', last_scores = '{4}';
SELECT watched, members, ranks, scores FROM round();
ROLLBACK;

-- A payload that has to be cut; and objects that a user has put before pg_catalog.
BEGIN;
SELECT lb_watch('global', 1000);
INSERT INTO player_scores (player_id, score) SELECT 1000000000 + g, 9000000000000000000 - g FROM generate_series(1, 500) g;
CREATE SCHEMA trap;
CREATE FUNCTION trap.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT 1 / 0';
SET LOCAL search_path = trap, public, pg_catalog;
SELECT lb_notify();
RESET search_path;
DROP FUNCTION trap.pg_notify(text, text);
ROLLBACK;

-- Watches go with their board, and do not hold up others.
BEGIN;
SELECT lb_watch('global', 1), lb_watch('weekly:202615', 1);
SELECT lb_drop_board('*');
UPDATE player_scores SET score = 1000 WHERE player_id = 3;
SELECT * FROM round();
SELECT lb_unwatch('weekly:202615');
ROLLBACK;

-- Nor does one that fails in any other way.  The log has the error once, and it is
-- recorded until the watch works.
BEGIN;
INSERT INTO player_score_windows VALUES (1, 'long' || repeat('"', 2100), 1);
INSERT INTO lb_watched (board, top, board_id, watcher, last_key, last_members, last_ranks, last_scores)
SELECT '*:long' || repeat('"', 2100), 1, id, current_user, '', '{}', '{}', '{}' FROM lb_board WHERE board = '*';
SELECT lb_watch('global', 1);
UPDATE player_scores SET score = 1000 WHERE player_id = 3;
SELECT lb_notify();
UPDATE player_scores SET score = 2000 WHERE player_id = 3;
SELECT lb_notify();
SELECT left(board, 6) AS board, last_scores, problem FROM lb_watched ORDER BY board;
DELETE FROM player_score_windows WHERE window_key LIKE 'long%';
SELECT lb_notify();
SELECT left(board, 6) AS board, last_key = board AS key, last_scores, problem FROM lb_watched ORDER BY board;
SELECT lb_unwatch('*:long' || repeat('"', 2100));
ROLLBACK;

-- What is refused.
SELECT lb_watch('*:long' || repeat('"', 2100));
SELECT lb_watch_member(1, '*:' || repeat(E'\x01', 700));
SELECT lb_watch(NULL);
SELECT lb_watch('global', NULL);
SELECT lb_watch('global', 0);
SELECT lb_watch('global', 1001);
SELECT lb_watch('nothing');
SELECT lb_watch('*');
SELECT lb_watch_member(NULL);
SELECT lb_watch_member(1, NULL);
SELECT lb_watch_member(1, 'nothing');
SELECT lb_unwatch(NULL);
SELECT lb_unwatch_member(NULL);
SELECT lb_resolve_board(NULL);
CREATE ROLE regress_lb_player;
GRANT SELECT, INSERT, UPDATE ON player_scores TO regress_lb_player;
SET ROLE regress_lb_player;
SELECT lb_watch('global');
SELECT lb_watch_member(1);
RESET ROLE;
GRANT EXECUTE ON FUNCTION lb_watch, lb_watch_member TO regress_lb_player;
SET ROLE regress_lb_player;
SELECT lb_watch('global');
SELECT lb_watch_member(1);
SELECT lb_unwatch('global');
SELECT lb_notify();
SELECT * FROM lb_watched;
RESET ROLE;

-- A watch is of one board, whatever has its name later.
CREATE ROLE regress_lb_owner;
CREATE ROLE regress_lb_friend IN ROLE regress_lb_owner;
GRANT EXECUTE ON FUNCTION lb_watch, lb_watch_member TO regress_lb_owner;
CREATE TABLE mine (id bigint PRIMARY KEY, points bigint, secret boolean);
ALTER TABLE mine OWNER TO regress_lb_owner;
SELECT lb_create_board('mine', 'mine', 'id', 'points DESC');
SET ROLE regress_lb_owner;
SELECT lb_watch('mine', 1), lb_watch_member(1, 'mine');
RESET ROLE;
SELECT w.board, w.member, w.board_id = b.id AS same, w.watcher FROM lb_watched w JOIN lb_board b USING (board)
ORDER BY member NULLS FIRST;
BEGIN;
SELECT lb_drop_board('mine');
SELECT count(*) FROM lb_watched;
CREATE TABLE private (id bigint PRIMARY KEY, points bigint);
SELECT lb_create_board('mine', 'private', 'id', 'points DESC');
INSERT INTO private VALUES (1, 100);
SELECT lb_notify();
ROLLBACK;
BEGIN;
DROP TABLE mine;
SELECT count(*) FROM lb_watched;
ROLLBACK;
-- One that is written by hand, or by a restore of data, goes unheard as well.
BEGIN;
UPDATE lb_watched SET board_id = board_id - 1;
INSERT INTO mine VALUES (1, 100);
SELECT * FROM round();
SELECT problem FROM lb_watched;
ROLLBACK;
-- A column that is renamed gives the board another number, and its watches too.
BEGIN;
ALTER TABLE mine RENAME points TO score;
SELECT w.board_id = b.id AS same FROM lb_watched w JOIN lb_board b USING (board);
INSERT INTO mine VALUES (1, 100);
SELECT lb_notify();
ROLLBACK;
-- A trigger of the same function on another table removes no watch.
CREATE TABLE trap (board text, id integer, source regclass);
CREATE TRIGGER trap AFTER DELETE ON trap FOR EACH ROW EXECUTE FUNCTION leaderboard_internal.lb_watch_follow();
INSERT INTO trap SELECT board, id, source FROM lb_board;
DELETE FROM trap;
SELECT count(*) FROM lb_watched;
DROP TABLE trap;

-- The role that watches must have its rights at every round.
SET ROLE regress_lb_friend;
SELECT lb_watch('mine', 1);
RESET ROLE;
SELECT watcher FROM lb_watched WHERE member IS NULL;
BEGIN;
INSERT INTO mine VALUES (1, 100);
SELECT lb_notify();
REVOKE regress_lb_owner FROM regress_lb_friend;
INSERT INTO mine VALUES (2, 200);
SELECT * FROM round();
SELECT member, problem FROM lb_watched ORDER BY member NULLS FIRST;
-- The log has it once.
INSERT INTO mine VALUES (3, 300);
SELECT lb_notify();
GRANT regress_lb_owner TO regress_lb_friend;
SELECT * FROM round();
-- The owner's own right.
REVOKE SELECT ON mine FROM regress_lb_owner;
INSERT INTO mine VALUES (4, 400);
SELECT * FROM round();
SELECT member, problem FROM lb_watched ORDER BY member NULLS FIRST;
ROLLBACK;
-- A policy that applies to the owner.
BEGIN;
ALTER TABLE mine ENABLE ROW LEVEL SECURITY;
ALTER TABLE mine FORCE ROW LEVEL SECURITY;
CREATE POLICY hidden ON mine USING (secret IS NOT TRUE);
INSERT INTO mine VALUES (1, 100);
SELECT * FROM round();
SELECT member, problem FROM lb_watched ORDER BY member NULLS FIRST;
SAVEPOINT a;
SET LOCAL ROLE regress_lb_owner;
\set SHOW_CONTEXT never
SELECT lb_watch('mine', 1);
\set SHOW_CONTEXT errors
ROLLBACK;
-- A role that is gone.
BEGIN;
DROP ROLE regress_lb_friend;
INSERT INTO mine VALUES (1, 100);
SELECT * FROM round();
SELECT member, problem FROM lb_watched ORDER BY member NULLS FIRST;
SET LOCAL ROLE regress_lb_owner;
SELECT lb_watch('mine', 1);
RESET ROLE;
SELECT member, watcher, problem FROM lb_watched ORDER BY member NULLS FIRST;
ROLLBACK;
-- A role that owns the table but may not read it.
BEGIN;
REVOKE SELECT ON mine FROM regress_lb_owner;
SET LOCAL ROLE regress_lb_owner;
SELECT lb_watch('mine', 1);
ROLLBACK;
DROP TABLE mine;
SELECT count(*) FROM lb_watched;
REVOKE EXECUTE ON FUNCTION lb_watch, lb_watch_member FROM regress_lb_owner;
DROP ROLE regress_lb_friend, regress_lb_owner;

-- Many members, of which some change.
BEGIN;
SELECT count(lb_watch_member(g)) FROM generate_series(1, 200) g;
UPDATE player_scores SET score = 1000 WHERE player_id = 1;
SELECT lb_notify();
SELECT array_agg(member ORDER BY member) AS ranked FROM lb_watched WHERE last_ranks <> '{NULL}';
SELECT lb_notify();
ROLLBACK;
-- A member that is no value of its column's new type stops no other watch.
BEGIN;
CREATE TABLE typed (player_id integer PRIMARY KEY, score integer);
SELECT lb_create_board('typed', 'typed');
SELECT lb_watch('typed', 1), lb_watch_member(7, 'typed'), lb_watch_member(300, 'typed'), lb_watch_member(70000, 'typed');
ALTER TABLE typed ALTER player_id TYPE smallint;
INSERT INTO typed VALUES (7, 10), (300, 20);
\set VERBOSITY terse
SELECT lb_notify();
\set VERBOSITY default
SELECT member, last_members, last_ranks, problem FROM lb_watched ORDER BY member NULLS FIRST;
SELECT lb_unwatch_member_key('70000', 'typed');
ROLLBACK;
DROP FUNCTION round();
DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event;
REVOKE EXECUTE ON FUNCTION lb_watch, lb_watch_member FROM regress_lb_player;
DROP ROLE regress_lb_player;
