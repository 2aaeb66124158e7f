-- Who is hidden is recorded, and obeyed by what makes rows later.

SELECT lb_create_tables();
SELECT lb_create_leaderboard('kills', windows => '{daily}');
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('t:1', starts => '2020-01-01', ends => '9999-01-01'), lb_set_entry('t:1', 1),
	lb_open_window('cup:1', starts => '2020-01-01', ends => '9999-01-01');
CREATE VIEW hidden AS SELECT player_id AS id, board, except_boards, hidden_by = current_user AS by_me, reason,
	hidden_at > now() - interval '1 hour' AS now FROM lb_hidden_player ORDER BY length(player_id), 1, 2 NULLS FIRST;
CREATE VIEW rows AS SELECT * FROM (
SELECT 'global' AS board, player_id AS id, score, ranked FROM player_scores
UNION ALL SELECT CASE WHEN window_key LIKE '%:1' THEN window_key ELSE split_part(window_key, ':', 1) END, player_id, score, ranked FROM player_score_windows
UNION ALL SELECT 'kills', player_id, score, ranked FROM kills_scores
UNION ALL SELECT split_part(window_key, ':', 1), player_id, score, ranked FROM kills_score_windows) r
ORDER BY id, board COLLATE "C";

-- A player who leaves a tournament while hidden does not come back.
SELECT lb_join(1, 't:1');
SELECT count(*) FROM lb_submit(1, 50);
SELECT lb_hide(1) > 0 AS hidden, lb_leave(1, 't:1'), lb_show(1) > 0 AS shown;
SELECT * FROM lb_top(9, 't:1');
SELECT lb_join(2, 't:1'), lb_count('t:1');
SELECT lb_leave(2, 't:1'), lb_join(1, 't:1');
SELECT score FROM lb_submit(1, 50) WHERE board = 't:1';
SELECT lb_hide(1) > 0 AS hidden, lb_leave(1, 't:1'), lb_join(1, 't:1');
SELECT score, rank FROM lb_submit(1, 1) WHERE board = 't:1';
SELECT lb_show(1) > 0 AS shown, lb_rank(1, 't:1'), lb_score(1, 't:1');
SELECT * FROM hidden;

-- Without any row; in every way to submit.
SELECT lb_hide(7, reason => 'speed hack'), lb_hide(8), lb_hide(9), lb_hide(10), lb_hide(11);
SELECT * FROM hidden;
SELECT split_part(board, ':', 1) AS board, rank FROM lb_submit(7, 10);
SELECT lb_submit_many('{2,7,8}', '{5,5,5}'), lb_submit_many('{7,8}', '{3,3}', 'best', leaderboard => 'kills');
SELECT member, status FROM lb_submit_each('{9,3}', '{5,5}');
SELECT bool_or(rank IS NOT NULL) FROM lb_submit_match(10, '{"global": 1, "kills": 1}');
SELECT jsonb_path_query_array(lb_submit_json('{"player_id": 11, "amount": 3}')::jsonb, '$.**.rank');
SELECT board, rank FROM lb_submit(11, 5, boards => '{cup:1}', leaderboard => 'global');
SELECT * FROM rows WHERE id > 2 AND board !~ 'ly$';
SELECT count(*), count(*) FILTER (WHERE ranked) FROM rows WHERE id > 6;
SELECT lb_top(9), lb_count('kills');

-- After their rows have gone, and on leaderboards that are made later
SELECT lb_close_season('global', 'S1', reset_to => NULL);
DELETE FROM player_score_windows WHERE player_id IN (7, 8);
SELECT lb_create_leaderboard('wins', windows => '{}');
SELECT lb_wait_ready('5 min');
SELECT count(*), count(rank) FROM lb_submit(7, 1);
SELECT count(*), count(rank) FROM lb_submit(7, 1, leaderboard => 'wins');
SELECT count(*), count(rank) FROM lb_submit(7, 1, boards => '{cup:1}');
SET leaderboard.submit_ranks = off;
SELECT count(*) FROM lb_submit(8, 1);
RESET leaderboard.submit_ranks;
SELECT * FROM rows WHERE id IN (7, 8) AND board !~ 'ly$';
ALTER TABLE player_scores ADD COLUMN metadata jsonb;
ALTER TABLE player_score_windows ADD COLUMN metadata jsonb;
DELETE FROM player_scores;
DELETE FROM player_score_windows;
SELECT count(rank) FROM lb_submit(9, 1, metadata => '{"a": 1}');
SELECT count(rank) FROM lb_submit(9, 2, 'set', metadata => '{"a": 2}');

-- Some boards only, and exceptions
SELECT lb_show(7) > 0 AS shown, lb_hide(7, '{*}', 'cups') > 0 AS hidden;
SELECT count(*) FROM lb_submit(7, 5);
SELECT * FROM rows WHERE id = 7 AND board !~ 'ly$';
SELECT lb_hide(7), lb_show(7, '{global,kills}');
SELECT * FROM hidden WHERE id = '7';
DELETE FROM player_scores WHERE player_id = 7;
DELETE FROM player_score_windows WHERE player_id = 7;
SELECT count(*) FROM lb_submit(7, 5);
SELECT * FROM rows WHERE id = 7 AND board !~ 'ly$';
SELECT lb_show(7, '{*}') > 0 AS shown;
UPDATE player_scores SET ranked = false WHERE player_id = 7;
DELETE FROM player_score_windows WHERE player_id = 7;
SELECT count(*) FROM lb_submit(7, 5);
SELECT * FROM rows WHERE id = 7 AND board !~ 'ly$';
SELECT lb_hide(7, '{kills}', 'again');
SELECT * FROM hidden WHERE id = '7';
SELECT lb_hide(7) > 0 AS hidden;
SELECT * FROM hidden WHERE id = '7';
SELECT lb_hide(7, reason => 'aimbot');
SELECT reason FROM hidden WHERE id = '7';

-- It ends with the player, the board, and lb_show().
SELECT relation, removed FROM lb_forget_player(7) WHERE relation = 'lb_hidden'::regclass;
SELECT count(*) = count(rank) FROM lb_submit(7, 1);
SELECT lb_hide(12, '{wins,kills}');
SELECT count(*) FROM lb_drop_leaderboard('wins');
SELECT * FROM hidden WHERE id = '12';
SELECT lb_show(12), lb_show(8) > 0 AS shown;
SELECT id FROM hidden;
BEGIN;
SELECT lb_hide(20);
SELECT count(rank) FROM lb_submit(20, 1);
ROLLBACK;
SELECT count(rank) > 1 FROM lb_submit(20, 1);

-- The same text is another player on boards of another type.
SELECT lb_create_leaderboard('guilds', windows => '{}', player_type => 'text');
SELECT lb_wait_ready('5 min');
SELECT lb_hide_key('30'), lb_hide_key('31', '{guilds}', 'spam');
SELECT rank FROM lb_submit_key('30', 1, leaderboard => 'guilds');
SELECT rank FROM lb_submit_key('31', 1, leaderboard => 'guilds');
SELECT count(rank) FROM lb_submit(30, 1);
SELECT count(rank) > 1 FROM lb_submit(31, 1);
SELECT player_id, player_type, board, reason FROM lb_hidden_player WHERE player_id IN ('30', '31') ORDER BY 1;

-- Many new players, some of them hidden
SELECT sum(lb_hide(p)) FROM generate_series(1000, 1990, 10) p;
SELECT lb_submit_many(array_agg(p), array_agg(p)) FROM generate_series(1001 - 1, 2000) p;
SELECT count(*), count(*) FILTER (WHERE ranked) FROM player_scores WHERE player_id >= 1000;
SELECT count(*) FROM pg_locks WHERE locktype = 'object' AND pid = pg_backend_pid();

-- Rights: who may hide there sees who is hidden. The owners of other leaderboards are not bound.
CREATE ROLE lbt_moderator;
CREATE ROLE lbt_reader;
GRANT SELECT ON player_scores, player_score_windows, kills_scores, kills_score_windows TO lbt_reader, lbt_moderator;
GRANT UPDATE (ranked) ON player_scores, player_score_windows, kills_scores, kills_score_windows TO lbt_moderator;
SET ROLE lbt_reader;
SELECT count(*) FROM lb_hidden_player;
SELECT count(*) FROM lb_hidden;
SELECT lb_hide(40);
SELECT leaderboard_internal.lb_may_hide(NULL, NULL, NULL), leaderboard_internal.lb_may_hide('nothing', 'bigint', NULL);
SET ROLE lbt_moderator;
SELECT lb_hide(40, reason => 'bot'), lb_hide(41, '{kills}');
SELECT player_id, board, hidden_by, reason FROM lb_hidden_player WHERE player_id IN ('12', '31', '40', '41') ORDER BY 1;
RESET ROLE;
-- What a superuser has recorded is for leaderboards of any owner: another role makes exceptions.
SELECT lb_hide(43);
SET ROLE lbt_moderator;
SELECT lb_show(43);
SELECT board, except_boards FROM lb_hidden_player WHERE player_id = '43';
RESET ROLE;
SELECT count(rank) > 1 FROM lb_submit(43, 1);
CREATE ROLE lbt_other;
CREATE TABLE others (player_id bigint PRIMARY KEY, score bigint, ranked boolean DEFAULT true);
ALTER TABLE others OWNER TO lbt_other;
INSERT INTO lb_leaderboard (name) VALUES ('others');
SELECT lb_create_board('others', 'others', rank_by => 'score DESC', ranked_if => 'ranked');
SELECT lb_wait_ready('5 min');
SELECT player_id, owners IS NULL AS any_owner FROM lb_hidden WHERE player_id IN ('9', '40') ORDER BY 1;
SELECT lb_submit_many('{9,40,41,43}', '{1,1,1,1}', leaderboard => 'others');
SELECT * FROM others ORDER BY 1;
-- Nor does it learn what others have excepted.
SELECT lb_show(9, '{others}');
SET ROLE lbt_moderator;
SELECT except_boards FROM lb_hidden_player WHERE player_id = '9';
RESET ROLE;
SELECT except_boards FROM lb_hidden_player WHERE player_id = '9';
ALTER TABLE kills_scores ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON kills_scores USING (true);
SET ROLE lbt_moderator;
SELECT lb_hide(42, '{kills}');
RESET ROLE;
ALTER TABLE kills_scores DISABLE ROW LEVEL SECURITY;

SELECT * FROM lb_verify();
SELECT * FROM lb_verify_key('guilds');
DROP VIEW hidden, rows;
DELETE FROM lb_window;
DROP TABLE others, player_scores, player_score_windows, kills_scores, kills_score_windows, guilds_scores, guilds_score_windows;
SELECT count(*) FROM lb_hidden WHERE board <> '';
SELECT lb_hide(1);
DROP ROLE lbt_moderator, lbt_reader, lbt_other;
TRUNCATE lb_hidden, lb_applied, lb_event, lb_closed, lb_archive, lb_archive_source, lb_season;
