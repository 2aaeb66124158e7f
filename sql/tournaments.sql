--
-- Tournaments: windows that players join, with lb_set_entry(), lb_join(), lb_leave().
--
SELECT lb_create_tables();
SELECT lb_close_window('daily'), lb_close_window('weekly');
SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '9999-01-01');
SELECT lb_open_window('best:1', starts => '2020-01-01', ends => '9999-01-01', op => 'best');
SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '50 years');
SELECT lb_wait_ready();
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE VIEW entrants AS
SELECT c.board, c.name, c.entrants, array_agg(e.player_id ORDER BY e.player_id) AS players
FROM lb_entry_count c LEFT JOIN lb_entrant e USING (board) WHERE c.board <> lb_window_at('month') GROUP BY 1, 2, 3 ORDER BY 1;

-- Up to a number of players; again does nothing.
SELECT lb_set_entry('cup:1', 2);
SELECT * FROM lb_entry;
SELECT lb_join(1, 'cup:1'), lb_join(2, 'cup:1'), lb_join(1, 'cup:1');
SELECT lb_join(3, 'cup:1');
DO $$
BEGIN
	PERFORM lb_join(3, 'cup:1');
EXCEPTION WHEN check_violation THEN
	RAISE NOTICE 'full';
END $$;
SELECT lb_join(2, 'cup:1');
SELECT * FROM entrants;
SELECT * FROM lb_entry_status(1, 'cup:1');
SELECT * FROM lb_entry_status(3, 'cup:1');
SELECT joined, entrants FROM lb_entry_status(NULL, 'cup:1');
SELECT * FROM lb_entry_status(1, 'best:1');

-- Submits of those who have not joined leave it out, or do not apply to it if it is named.
SELECT board, score, rank, applied FROM lb_submit(1, 10, at => '2026-04-09');
SELECT board, score, rank, applied FROM lb_submit(3, 10, at => '2026-04-09');
SELECT * FROM lb_submit(3, 10, match_id => 'a', boards => '{cup:1}');
SELECT board, score, applied FROM lb_submit(3, 5, match_id => 'a', boards => '{cup:1,global}');
SELECT lb_submit_json('{"player_id": 3, "amount": 1, "boards": ["cup:1", "best:1"]}');
SELECT lb_submit_many('{3,1,2,4,1}', '{1,2,3,4,5}', at => '2026-04-09');
SELECT item, member, status, score FROM lb_submit_each('{2,4}', '{1,1}', at => '2026-04-09');
SELECT player_id, window_key, score FROM player_score_windows ORDER BY 2, 1;
SELECT player_id, amount, boards, scores FROM lb_event WHERE submitted_at IS NOT NULL;
SELECT * FROM lb_top(10, 'cup:1');

-- In a batch of players none of whom has joined.
SELECT lb_submit_many('{3,4}', '{1,1}', at => '2026-04-09');
-- With limits: only those of a player who takes part count.
SELECT lb_set_limit('cup', 'cup:1', max_amount => 100, max_submits => 6, max_score => 1000);
INSERT INTO player_score_windows (player_id, window_key, score) VALUES (4, 'cup:1', 5000);
SELECT lb_submit_many('{1,3,4}', '{1,200,200}', at => '2026-04-09');
SELECT lb_submit_many('{1,2}', '{1,200}', at => '2026-04-09');
SELECT item, member, status, limit_name FROM lb_submit_each('{1,2,3,3}', '{1,200,200,1}', at => '2026-04-09');
SELECT board, player_id, submits FROM lb_usage ORDER BY 2;
DELETE FROM player_score_windows WHERE player_id = 4 AND window_key = 'cup:1';
SELECT score FROM player_score_windows WHERE player_id = 1 AND window_key = 'cup:1';

-- Leaving takes the score, not what limits have counted; the place is free.
SELECT lb_leave(1, 'cup:1'), lb_leave(1, 'cup:1'), lb_leave(77, 'cup:1');
SELECT * FROM entrants;
SELECT * FROM lb_top(10, 'cup:1');
SELECT lb_join(3, 'cup:1');
SELECT lb_join(1, 'cup:1');
SELECT board, score FROM lb_submit(1, 1, boards => '{cup:1,global}');
SELECT lb_leave(3, 'cup:1'), lb_join(1, 'cup:1');
SELECT board, score FROM lb_submit(1, 1, boards => '{cup:1}');
SELECT board, player_id, submits FROM lb_usage ORDER BY 2;
SELECT lb_drop_limit('cup');

-- A hidden player is not shown by leaving.
SELECT lb_hide(1);
SELECT lb_leave(1, 'cup:1'), lb_join(1, 'cup:1');
SELECT board, rank FROM lb_submit(1, 1, boards => '{cup:1}');
SELECT lb_show(1);
SELECT * FROM lb_top(10, 'cup:1');

-- Fewer than have joined, and more.
SELECT lb_set_entry('cup:1', 1);
SELECT lb_join(3, 'cup:1');
SELECT lb_leave(2, 'cup:1');
SELECT lb_join(3, 'cup:1');
SELECT lb_set_entry('cup:1');
SELECT lb_join(p, 'cup:1') FROM generate_series(2, 4) p;
SELECT * FROM entrants;

-- Undone with its transaction.
BEGIN;
SELECT lb_leave(2, 'cup:1'), lb_join(5, 'cup:1');
SELECT board, score FROM lb_submit(5, 1, boards => '{cup:1}');
ROLLBACK;
SELECT * FROM entrants;

-- When: from the start of a span.
SELECT lb_set_entry('month', opens => '-2 days', closes => '1 day');
SELECT lb_join(1, 'month:209904');
SELECT lb_join(1, 'month:202604');
SELECT opens, closes, is_open FROM lb_entry_status(1, 'month:209904');
SELECT opens, closes, is_open FROM lb_entry_status(1, 'month:202604');
SELECT lb_set_entry('month', closes => '1 month');
SELECT lb_join(1, 'month'), lb_join(1, 'month:209904');
SELECT count(*), bool_and(joined), bool_and(is_open) FROM (VALUES ('month'), (lb_window_at('month')), ('month:209904')) v (k), lb_entry_status(1, k);
SELECT board = lb_window_at('month') AS now, score FROM lb_submit(1, 1) WHERE board LIKE 'month%';
SELECT board FROM lb_submit(1, 1, at => '2026-04-09') WHERE board LIKE 'month%';
SELECT lb_set_entry('month', opens => '100 years');
SELECT lb_join(2, 'month:209904');
-- A player who has joined is told so all the same.
SELECT lb_join(1, 'month');
-- A window that has been closed.
SELECT lb_set_entry('month');
SELECT lb_close_window('month');
DO $$
BEGIN
	PERFORM lb_join(2, 'month');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RAISE NOTICE 'closed';
END $$;
SELECT is_open FROM lb_entry_status(2, 'month');
SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '50 years');
SELECT * FROM lb_entry WHERE name = 'month';

-- Several leaderboards.
SELECT lb_create_leaderboard('kills', windows => '{}');
SELECT lb_open_window('kills/cup:1', starts => '2020-01-01', ends => '9999-01-01');
SELECT lb_wait_ready();
SELECT lb_set_entry('kills/cup:1', 10);
SELECT lb_join(1, 'kills/cup:1'), lb_join(3, 'kills/cup:1'), lb_join(9, 'kills/cup:1');
SELECT board, applied FROM lb_submit_match(1, '{"global": 1, "kills": 2}', at => '2026-04-09');
SELECT board, applied FROM lb_submit_match(2, '{"global": 1, "kills": 2}', at => '2026-04-09');
SELECT * FROM lb_forget_player(1) WHERE relation = 'lb_entrant'::regclass;
SELECT * FROM entrants;
SELECT lb_drop_leaderboard('kills');
SELECT * FROM entrants;

-- The end: the leaver is not in the standings, and nothing changes afterwards.
SELECT lb_submit_many('{2,3,4}', '{20,30,40}', at => '2026-04-09');
SELECT lb_leave(4, 'cup:1');
SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '2026-06-01', late => '0 minutes', keep => '9999 days');
SELECT lb_join(4, 'cup:1');
SELECT lb_leave(3, 'cup:1');
SELECT closed, archived FROM lb_maintain();
SELECT * FROM lb_archive_top('cup:1');
SELECT lb_leave(3, 'cup:1');
SELECT joined, entrants, is_open FROM lb_entry_status(3, 'cup:1');
-- Those who have joined are kept as long as the rows.
SELECT lb_open_window('month', 'monthly', keep => '1 day', late => '0 minutes');
INSERT INTO lb_entry_count VALUES ('month:202001', 'month', 3), ('month:202002', 'month', 0);
INSERT INTO lb_entrant (player_id, board) SELECT p, 'month:202001' FROM generate_series(1, 3) p;
SELECT removed, more FROM lb_maintain(2);
SELECT removed, more FROM lb_maintain(2);
SELECT * FROM entrants WHERE board IN ('cup:1', 'month:202001', 'month:202002');

-- Without an entry: all take part again, and nothing is left.
SELECT lb_drop_entry('month');
SELECT * FROM entrants;
SELECT board LIKE 'month:%' AS month, score FROM lb_submit(99, 1, boards => ARRAY[lb_window_at('month')]);

-- Players of other types.
SELECT lb_create_leaderboard('names', windows => '{}', player_type => 'text');
SELECT lb_open_window('names/cup:1', starts => '2020-01-01', ends => '9999-01-01');
SELECT lb_wait_ready();
SELECT lb_set_entry('names/cup:1', 1);
SELECT lb_join_key('Zoë', 'names/cup:1'), lb_join_key('Zoë', 'names/cup:1');
SELECT board, score FROM lb_submit_key('Zoë', 5, leaderboard => 'names');
SELECT board, score FROM lb_submit_key('zoe', 5, leaderboard => 'names');
SELECT lb_submit_many_key('{zoe,Zoë}', '{1,2}', leaderboard => 'names');
SELECT * FROM lb_top_key(10, 'names/cup:1');
SELECT joined, entrants FROM lb_entry_status_key('Zoë', 'names/cup:1');
SELECT lb_leave_key('Zoë', 'names/cup:1'), lb_leave_key('zoe', 'names/cup:1');
SELECT lb_join(1, 'names/cup:1');
SELECT lb_drop_leaderboard('names');

-- Errors.
SELECT lb_set_entry(NULL);
SELECT lb_set_entry('yearly', 3);
SELECT lb_set_entry('best:1', 0);
SELECT lb_set_entry('best:1', opens => '1 day', closes => '24 hours');
SELECT lb_set_entry('best:1', opens => '178000000 years');
SELECT lb_drop_entry(NULL);
SELECT lb_drop_entry('best:1');
SELECT lb_drop_entry('yearly');
SELECT lb_join(1, 'best:1');
SELECT lb_join(1, 'yearly');
SELECT lb_join(1, 'global');
SELECT lb_join(NULL, 'best:1');
SELECT lb_join(1, NULL);
SELECT lb_leave(NULL, 'best:1');
SELECT lb_leave(1, 'best:2');
SELECT lb_entry_status(1, NULL);
SELECT lb_entry_status(1, 'best:2');
BEGIN READ ONLY;
SELECT lb_join(1, 'best:1');
ROLLBACK;

-- Rights: of the tables, as for submits; a leaver's score is deleted with the caller's.
SELECT lb_set_entry('best:1', 100);
CREATE ROLE regress_game;
CREATE ROLE regress_client;
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO regress_game;
GRANT SELECT ON player_score_windows TO regress_client;
SET ROLE regress_client;
SELECT lb_join(1, 'best:1');
SELECT lb_leave(1, 'best:1');
SELECT joined, entrants FROM lb_entry_status(1, 'best:1');
SELECT lb_set_entry('best:1', 5);
SELECT lb_drop_entry('best:1');
SELECT FROM lb_entrant;
SELECT FROM lb_entry_count;
SELECT name FROM lb_entry;
SET ROLE regress_game;
SELECT lb_join(1, 'best:1');
SELECT board, score FROM lb_submit(1, 7, boards => '{best:1}');
SELECT lb_leave(1, 'best:1');
RESET ROLE;
GRANT DELETE ON player_score_windows TO regress_game;
GRANT EXECUTE ON FUNCTION lb_set_entry TO regress_game;
SET ROLE regress_game;
SELECT lb_set_entry('best:1', 5);
SELECT lb_leave(1, 'best:1');
RESET ROLE;
SELECT count(*) FROM player_score_windows WHERE window_key = 'best:1' AND player_id = 1;
REVOKE ALL ON player_score_windows FROM regress_client;
SET ROLE regress_client;
SELECT lb_entry_status(1, 'best:1');
RESET ROLE;
GRANT SELECT ON player_score_windows TO regress_client;
ALTER TABLE player_score_windows ENABLE ROW LEVEL SECURITY;
SET ROLE regress_client;
SELECT lb_entry_status(1, 'best:1');
SET ROLE regress_game;
SELECT lb_join(2, 'best:1');
SELECT lb_leave(1, 'best:1');
RESET ROLE;
-- By a superuser on another role's table: with that role's rights.
ALTER TABLE player_score_windows DISABLE ROW LEVEL SECURITY;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'deleted by %', current_user; RETURN NULL; END $$;
CREATE TRIGGER note AFTER DELETE ON player_score_windows FOR EACH ROW EXECUTE FUNCTION note();
ALTER TABLE player_score_windows OWNER TO regress_game;
SELECT lb_join(1, 'best:1');
SELECT board, score FROM lb_submit(1, 7, boards => '{best:1}');
SELECT lb_leave(1, 'best:1');

-- All of it ends with the table.
SELECT lb_join(1, 'best:1');
SELECT lb_wait_ready('5 min');
SELECT * FROM lb_verify();
DROP TABLE player_score_windows;
SELECT * FROM lb_entry;
SELECT * FROM entrants;
DROP TABLE player_scores;
DROP VIEW entrants;
DROP FUNCTION note();
REVOKE ALL ON FUNCTION lb_set_entry FROM regress_game;
DROP ROLE regress_game, regress_client;
TRUNCATE lb_applied, lb_event, lb_closed, lb_archive, lb_hidden;
