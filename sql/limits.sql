--
-- Limits of what may be submitted, and hiding players.
--
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE VIEW anomalies AS
SELECT limit_name, player_id, board, submits, max_amount, measure, value, bound, amount, match_id, reviewed
FROM lb_anomaly ORDER BY 1, 2, 3;

-- The largest amount of a submit, up or down.
SELECT lb_set_limit('per match', 'global', max_amount => 500);
SELECT score FROM lb_submit(1, 500, at => '2026-04-09');
SELECT score FROM lb_submit(1, 501, at => '2026-04-09');
SELECT score FROM lb_submit(1, -501, 'set', at => '2026-04-09');
SELECT score FROM lb_submit(1, -9223372036854775808, at => '2026-04-09');
DO $$
DECLARE
	c text;
BEGIN
	PERFORM lb_submit(1, 501);
EXCEPTION WHEN check_violation THEN
	GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME;
	RAISE NOTICE 'limit: %', c;
END $$;
SELECT lb_submit_many('{1,2,3}', '{1,2,501}', at => '2026-04-09');
-- Only on its board.
SELECT board, score FROM lb_submit(1, 501, boards => '{daily}', at => '2026-04-09');
SELECT player_id, score FROM player_scores ORDER BY 1;

-- Flagged, it is applied.
SELECT lb_set_limit('per match', 'global', max_amount => 500, action => 'flag');
SELECT board, score FROM lb_submit(1, 1000, match_id => 'm', at => '2026-04-09');
SELECT lb_submit_many('{3,1,2,3}', '{501,1,600,502}', at => '2026-04-09');
SELECT * FROM anomalies;
UPDATE lb_anomaly SET reviewed = true;
-- It is one row, however often: the last submit, and how many there were.
SELECT count(*) FROM generate_series(1, 1000) i, lb_submit(1, 500 + i * (1 - 2 * (i % 2)), match_id => 'm' || i, boards => '{global}');
SELECT lb_submit_many(array_fill(2::bigint, '{1000}'), array_fill(700::bigint, '{1000}'));
SELECT * FROM anomalies;
SELECT player_id, first_noted_at <= noted_at AS in_order, noted_at > now() - interval '10 min' AS now FROM lb_anomaly ORDER BY 1;
-- What exceeds several bounds of a limit is counted once.
SELECT lb_set_limit('per match', 'global', max_amount => 500, max_submits => 2, max_score => 9, action => 'flag');
TRUNCATE lb_anomaly;
SELECT lb_submit_many('{4,4,4,5}', '{501,1,502,10}', match_ids => '{a,b,c,NULL}');
SELECT * FROM anomalies;
TRUNCATE lb_usage;
TRUNCATE player_scores, player_score_windows, lb_anomaly;

-- Within a period, which begins with the first submit.
SELECT lb_set_limit('per match', 'global', period => '1 hour', max_period_amount => 100);
SELECT score FROM lb_submit(1, 60, boards => '{global}');
SELECT score FROM lb_submit(1, -40, boards => '{global}');
SELECT score FROM lb_submit(1, 1, boards => '{global}');
SELECT score FROM lb_submit(2, 100, boards => '{global}');
SELECT lb_submit_many('{3,3,3}', '{50,50,1}', at => '2026-04-09');
SELECT lb_submit_many('{3,4,3}', '{50,1,50}', at => '2026-04-09');
SELECT limit_name, board, player_id, amount, submits FROM lb_usage ORDER BY player_id;
UPDATE lb_usage SET since = now() - interval '30 min' WHERE player_id = '1';
SELECT score FROM lb_submit(1, 1, boards => '{global}');
UPDATE lb_usage SET since = now() - interval '90 min' WHERE player_id = '1';
SELECT score FROM lb_submit(1, 99, boards => '{global}');
SELECT score FROM lb_submit(1, 2, boards => '{global}');
SELECT limit_name, board, player_id, amount, submits, since > now() - interval '10 min' AS new
FROM lb_usage ORDER BY player_id;
-- The clock was ahead and has been set back.  A row of a future period, as long as a
-- period or further ahead, does not count.
UPDATE lb_usage SET since = now() + interval '30 min' WHERE player_id = '1';
SELECT score FROM lb_submit(1, 2, boards => '{global}');
UPDATE lb_usage SET since = now() + interval '90 min' WHERE player_id = '1';
SELECT score FROM lb_submit(1, 2, boards => '{global}');
SELECT amount, submits, since > now() - interval '10 min' AND since <= now() AS new FROM lb_usage WHERE player_id = '1';

-- A day is 24 hours, also where clocks have been turned since.
SELECT lb_set_limit('per match', 'global', period => '1 day', max_period_amount => 100);
DO $$
DECLARE
	turned timestamp := (now() - interval '12 hours') AT TIME ZONE 'UTC';
	n integer := extract(doy FROM turned) - 1;
BEGIN
	EXECUTE format('SET timezone = %L', format('AAA0BBB,%s/%s,%s/0', n, extract(hour FROM turned), (n + 180) % 365));
END $$;
SELECT extract(timezone FROM now()) - extract(timezone FROM now() - interval '1 day') AS turned_by;
SELECT score FROM lb_submit(9, 100, boards => '{global}');
UPDATE lb_usage SET since = now() - interval '23 hours 30 min' WHERE player_id = '9';
SELECT score FROM lb_submit(9, 1, boards => '{global}');
SELECT removed FROM lb_maintain();
UPDATE lb_usage SET since = now() - interval '24 hours' WHERE player_id = '9';
SELECT score FROM lb_submit(9, 1, boards => '{global}');
SET timezone = 'UTC';

-- The number of submits, of a player in a window.
SELECT lb_drop_limit('per match');
SELECT count(*) FROM lb_usage;
SELECT lb_set_limit('tries', 'daily', max_submits => 2);
SELECT board, score FROM lb_submit(5, 1, at => '2026-04-09');
SELECT board, score FROM lb_submit(5, 1, at => '2026-04-09');
SELECT board, score FROM lb_submit(5, 1, at => '2026-04-09');
SELECT board, score FROM lb_submit(5, 1, at => '2026-04-10');
SELECT board, score FROM lb_submit(5, 1, at => '2026-04-09', boards => '{global,weekly}');
SELECT lb_submit_many('{6,6,6}', '{1,1,1}', at => '2026-04-09');
-- A match that is known is none.
SELECT lb_submit_many('{6,6,6}', '{1,1,1}', match_ids => '{a,a,a}', at => '2026-04-09');
SELECT board, player_id, submits FROM lb_usage ORDER BY 1, 2;

-- The score.
SELECT lb_drop_limit('tries');
SELECT lb_set_limit('high', 'weekly', max_score => 1000), lb_set_limit('low', 'global', min_score => 0, action => 'flag');
TRUNCATE player_scores, player_score_windows;
SELECT board, score FROM lb_submit(5, 1000, at => '2026-04-09');
SELECT board, score FROM lb_submit(5, 1, at => '2026-04-09');
SELECT board, score FROM lb_submit(5, 1, at => '2026-04-16');
SELECT board, score FROM lb_submit(5, -1002, at => '2026-04-16');
SET leaderboard.events = off;
SELECT lb_submit_many('{5,6}', '{1001,1001}', 'set', at => '2026-04-23');
SELECT lb_submit_many('{5,6}', '{-10,10}', 'set', at => '2026-04-23');
RESET leaderboard.events;
SELECT * FROM anomalies;
SELECT player_id, score FROM player_scores ORDER BY 1;

-- What is refused.
SELECT lb_set_limit(NULL, 'global');
SELECT lb_set_limit('x', NULL);
SELECT lb_set_limit('x', 'nothing');
SELECT lb_set_limit('x', 'global', max_amount => -1);
SELECT lb_set_limit('x', 'global', max_submits => -1);
SELECT lb_set_limit('x', 'global', max_period_amount => 1);
SELECT lb_set_limit('x', 'global', max_submits => 1, period => '0');
SELECT lb_set_limit('x', 'global', max_submits => 1, period => '1 day -24 hours');
SELECT lb_set_limit('x', 'global', action => 'ban');
SELECT lb_set_limit('x', 'global');
SELECT lb_set_limit('x', 'global', period => '1 day');
SELECT lb_set_limit('x', 'global', min_score => 10, max_score => 9);
SELECT lb_set_limit('x', 'global', action => NULL);
SELECT lb_drop_limit('x');
SELECT lb_drop_limit(NULL);
CREATE ROLE regress_lb_server;
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO regress_lb_server;
SET ROLE regress_lb_server;
SELECT lb_set_limit('x', 'global', max_amount => 1);
RESET ROLE;
GRANT EXECUTE ON FUNCTION lb_set_limit TO regress_lb_server;
SET ROLE regress_lb_server;
SELECT lb_set_limit('x', 'global', max_amount => 1);
SELECT lb_drop_limit('high');
SELECT board, score FROM lb_submit(7, 1001, at => '2026-04-09');
SELECT board, score FROM lb_submit(7, -1, at => '2026-04-09');
SELECT * FROM lb_anomaly;
SELECT * FROM lb_usage;
SELECT name FROM lb_limit ORDER BY 1;
RESET ROLE;
SELECT lb_drop_limit('high'), lb_drop_limit('low');
SELECT * FROM lb_limit;

-- A hidden player leaves every board at once, and comes back as before.
TRUNCATE player_scores, player_score_windows;
SELECT lb_submit_many('{1,2,3}', '{100,200,300}', at => '2026-04-09');
CREATE TABLE was AS SELECT player_id, score, updated_at FROM player_scores
UNION ALL SELECT player_id, score, updated_at FROM player_score_windows;
SELECT lb_hide(2);
SELECT * FROM lb_top(5);
SELECT * FROM lb_top(5, 'daily:20260409');
SELECT lb_rank(2), lb_rank(2, 'weekly:202615'), lb_rank(1);
SELECT lb_hide(2);
SELECT * FROM lb_submit(2, 7, at => '2026-04-10');
SELECT lb_show(2);
SELECT * FROM lb_top(5);
SELECT * FROM lb_top(5, 'daily:20260410');
SELECT lb_show(2), lb_show(4711), lb_hide(4711), lb_hide(NULL);
UPDATE player_scores SET score = score - 7, updated_at = '2026-04-09' WHERE player_id = 2;
UPDATE player_score_windows SET score = score - 7, updated_at = '2026-04-09' WHERE player_id = 2 AND window_key = 'weekly:202615';
SELECT count(*) FROM (SELECT player_id, score, updated_at FROM player_scores
	UNION ALL SELECT player_id, score, updated_at FROM player_score_windows WHERE window_key <> 'daily:20260410'
	EXCEPT ALL TABLE was) d;
DROP TABLE was;
-- A player without a row on "global" is hidden.
CREATE TABLE rest AS SELECT player_id, ranked, score FROM player_scores;
SELECT board, score, rank FROM lb_submit(8, 50, at => '2026-04-09', boards => '{daily}');
SELECT lb_submit_many('{9,10,11}', '{1,2,3}', at => '2026-04-09');
DELETE FROM player_scores WHERE player_id IN (9, 10);
SELECT lb_hide(8), lb_hide(9), lb_hide(10);
SELECT board, score, rank FROM lb_submit(8, 5, at => '2026-04-09');
SELECT lb_submit_many('{11,10,12,9,10}', '{1,2,3,4,5}', 'best', at => '2026-04-09');
SELECT player_id, score, ranked FROM player_scores WHERE player_id > 7 ORDER BY 1;
SELECT DISTINCT player_id, ranked FROM player_score_windows WHERE player_id > 7 ORDER BY 1;
SELECT lb_show(8);
SELECT lb_rank(8) > 0 AS ranked;
-- Only windows of that player, and only if there is no row.
UPDATE player_scores SET ranked = true WHERE player_id = 9;
SELECT board, score, rank > 0 AS ranked FROM lb_submit(9, 5, at => '2026-04-09', boards => '{global}');
SELECT lb_drop_board('*');
DELETE FROM player_scores WHERE player_id = 10;
SELECT board, score, rank > 0 AS ranked FROM lb_submit(10, 5, boards => '{global}');
SELECT lb_create_board('*', 'player_score_windows', board_column => 'window_key', rank_by => 'score DESC, updated_at ASC', ranked_if => 'ranked');
SELECT lb_wait_ready('5 min');
DELETE FROM player_scores WHERE player_id > 7;
DELETE FROM player_score_windows WHERE player_id > 7;
SELECT count(*) FROM (TABLE rest EXCEPT SELECT player_id, ranked, score FROM player_scores) d;
DROP TABLE rest;
-- Undone.
BEGIN;
SELECT lb_hide(3);
SELECT lb_rank(1);
ROLLBACK;
SELECT lb_rank(1);

-- Other boards are named; they need a column for it.
CREATE TABLE guild (player_id integer PRIMARY KEY, score integer, ok boolean DEFAULT true);
INSERT INTO guild VALUES (2, 10), (3, 20);
SELECT lb_create_board('guild', 'guild', ranked_if => 'ok'), lb_create_board('bare', 'guild');
SELECT lb_wait_ready('5 min');
SELECT lb_hide(3, '{guild}');
SELECT lb_rank(3), lb_rank(3, 'guild'), lb_rank(2, 'guild');
SELECT lb_hide(3, '{guild,global}');
SELECT lb_show(3, '{global,guild}');
SELECT lb_hide(3, '{bare}');
SELECT lb_hide(3, '{nothing}');
SELECT lb_hide(3, '{NULL}');
SELECT lb_hide(3, '{}');
DROP TABLE guild;

-- With the caller's privileges.
SET ROLE regress_lb_server;
SELECT lb_hide(1);
SELECT lb_rank(3), lb_rank(1);
RESET ROLE;
REVOKE UPDATE ON player_score_windows FROM regress_lb_server;
SET ROLE regress_lb_server;
\set VERBOSITY terse
SELECT lb_show(1);
\set VERBOSITY default
RESET ROLE;
SELECT lb_rank(1);
SELECT lb_show(1);

-- Tables that were there, without the column "ranked".
SELECT lb_drop_board('global'), lb_drop_board('*');
ALTER TABLE player_scores DROP COLUMN ranked;
ALTER TABLE player_score_windows DROP COLUMN ranked;
SELECT lb_create_tables();
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SELECT lb_wait_ready('5 min');
SELECT board, ranked_if FROM lb_board ORDER BY 1;
SELECT * FROM lb_submit(1, 5, at => '2026-04-09');
\set VERBOSITY terse
SELECT lb_hide(1);
\set VERBOSITY default
-- ... made fit for it.
ALTER TABLE player_scores ADD COLUMN ranked boolean NOT NULL DEFAULT true;
ALTER TABLE player_score_windows ADD COLUMN ranked boolean NOT NULL DEFAULT true;
SELECT lb_drop_board('global'), lb_drop_board('*');
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');
SELECT lb_hide(1);
SELECT lb_rank(1);

SELECT * FROM lb_verify();
DROP VIEW anomalies;
DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_anomaly, lb_applied, lb_hidden;
REVOKE EXECUTE ON FUNCTION lb_set_limit FROM regress_lb_server;
DROP ROLE regress_lb_server;
