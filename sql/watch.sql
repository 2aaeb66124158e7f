--
-- Watching: what is notified, by rounds that are asked for here; the worker
-- does the same at its intervals, so only what is within a transaction is sure
-- to be ours.
--
SELECT lb_create_tables();
SELECT lb_wait_ready('30 s');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SELECT lb_submit_many('{1,2,3,4,5}', '{10,20,30,40,50}', at => '2026-04-09');
-- The parts of a payload that do not depend on the time.  A notification to
-- oneself comes with the commit; psql would show the process.
CREATE FUNCTION round() RETURNS TABLE (watched text, members bigint[], ranks bigint[], scores bigint[])
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
SELECT lb_board_key('daily') = lb_window_key('daily', now()) AS key, lb_board_key('global'), lb_board_key('weekly:202615');
SELECT lb_watch('daily', 1), lb_watch_member(9, 'daily');
SELECT last_key = lb_window_key('daily', now()) AS key, last_members, last_ranks FROM lb_watched ORDER BY member NULLS FIRST;
INSERT INTO player_score_windows VALUES (9, lb_window_key('daily', now()), 5);
SELECT watched, members, ranks, scores FROM round();
-- Yesterday's places are compared with today's.
UPDATE lb_watched SET last_key = 'daily:20260409', last_scores = '{4}';
SELECT watched, members, ranks, scores FROM round();
ROLLBACK;

-- A payload that has to be cut; and what somebody has put before pg_catalog.
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

-- A board that is gone does not keep the others from being told.
BEGIN;
SELECT lb_watch('global', 1), lb_watch('weekly:202615', 1);
SELECT lb_drop_board('*');
UPDATE player_scores SET score = 1000 WHERE player_id = 3;
SELECT * FROM round();
SELECT lb_unwatch('weekly:202615');
ROLLBACK;

-- Nor does one that fails in any other way: that is told once, and recorded
-- until it works.
BEGIN;
INSERT INTO player_score_windows VALUES (1, 'long' || repeat('"', 2100), 1);
INSERT INTO lb_watched (board, top, last_key, last_members, last_ranks, last_scores)
VALUES ('*:long' || repeat('"', 2100), 1, '', '{}', '{}', '{}');
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
SELECT lb_board_key(NULL);
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
SELECT * FROM lb_watch_state('global', NULL, 1);
RESET ROLE;
DROP FUNCTION round();
DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event;
REVOKE EXECUTE ON FUNCTION lb_watch, lb_watch_member FROM regress_lb_player;
DROP ROLE regress_lb_player;
