--
-- Players that are text.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

SELECT lb_create_tables(player_type => 'text');
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SELECT * FROM lb_submit_key('ann', 10, at => '2026-04-09');
SELECT * FROM lb_submit_key('', 5, match_id => 'a', at => '2026-04-09');
SELECT * FROM lb_submit_key('', 5, match_id => 'a', at => '2026-04-09');
-- All are different players: by case, by a blank, by an accent.
SELECT lb_submit_many_key('{Zoé,zoé,Zoe,ann,"ann ",7,07,ann}', '{1,2,3,4,5,6,7,100}', at => '2026-04-09');
SELECT lb_submit_many_key('{07,7,"ann ",ann,Zoe,zoé,Zoé}', '{1,1,1,1,1,1,1}', match_ids => '{m,m,m,m,m,m,m}', at => '2026-04-09');
SELECT lb_submit_many_key('{Zoé,zoé,Zoe,ann}', '{1,1,1,1}', match_ids => '{m,m,n,m}', at => '2026-04-09');
SELECT lb_submit_json('{"player_id": "\"q\" \\", "amount": 3, "at": "2026-04-09", "boards": ["global"]}');
SELECT lb_submit_json('{"player_id": 7, "amount": 3, "at": "2026-04-09", "boards": ["global"]}');
SELECT rank, '[' || member || ']' AS member, score FROM lb_top_key(20);
SELECT player_id, score FROM player_scores ORDER BY score DESC, updated_at, player_id COLLATE "C";
SELECT player_id, match_id FROM lb_applied ORDER BY 1, 2;
SELECT * FROM lb_verify_key();
SELECT lb_submit(7, 1);
SELECT lb_hide(7);
SELECT lb_watch_member(7);

-- Limits.
SELECT lb_set_limit('amount', 'global', max_amount => 1000), lb_set_limit('tries', 'daily', max_submits => 3, action => 'flag');
SELECT lb_submit_key('Bob', 1001, at => '2026-04-09');
SELECT lb_submit_many_key('{bob,Bob,bob,bob,bob}', '{1,60,1,1,1}', at => '2026-04-09');
SELECT player_id, limit_name, submits, value FROM lb_anomaly;
SELECT lb_drop_limit(name) FROM lb_limit;

-- Hiding.
SELECT lb_hide_key('Bob'), lb_hide_key('BOB');
SELECT board, score, rank FROM lb_submit_key('Bob', 1, at => '2026-04-10');
SELECT board, score, rank FROM lb_submit_key('bob', 1, at => '2026-04-10');
SELECT lb_show_key('Bob');
SELECT rank, member FROM lb_top_key(5, 'daily:20260410');

-- The longest, and one that is longer.
SELECT board, score, rank FROM lb_submit_key(repeat('ü', 256), 1, at => '2026-04-09');
SELECT lb_rank_key(repeat('ü', 256), 'weekly:202615'), lb_hide_key(repeat('ü', 256)), lb_show_key(repeat('ü', 256));
SELECT lb_submit_key(repeat('ü', 256) || '!', 1);
SELECT lb_submit_many_key(ARRAY['ann', repeat('x', 513)], '{1,1}');
SELECT lb_hide_key(repeat('x', 513));
-- Any SQL can write it.  A submit needs no index.
INSERT INTO player_scores VALUES (repeat('x', 513), 40);
SELECT reason FROM lb_stat_board WHERE board = 'global';
SELECT board, score FROM lb_submit_key('Bob', 1, at => '2026-04-10');
SELECT rank, left(member, 3) AS member, score FROM lb_top_key(4);
DELETE FROM player_scores WHERE length(player_id) > 512;
SELECT lb_rebuild('global');
SELECT lb_wait_ready('5 min');
SELECT rank, member, score FROM lb_top_key(4);
SELECT * FROM lb_verify_key();

-- Watching.
BEGIN;
SELECT lb_watch('global', 2), lb_watch_member_key('"q" \'), lb_watch_member_key('', 'weekly:202615');
UPDATE player_scores SET score = 1000 WHERE player_id LIKE '"%';
SELECT lb_notify();
SELECT board, member, last_members, last_ranks, last_scores, problem FROM lb_watched ORDER BY board, member NULLS FIRST;
SELECT lb_unwatch_member_key('"q" \'), lb_unwatch_member_key(''), lb_unwatch_member_key('', 'weekly:202615');
ROLLBACK;
SELECT lb_watch_member_key(repeat(E'\x01', 512), '*:' || repeat(E'\x01', 400));

-- The end of windows, and of a season.
UPDATE lb_window SET keep = '1 day', late = '0', archive_top = 2;
SELECT lb_hide_key('Bob');
SELECT closed, archived, removed FROM lb_maintain();
SELECT count(*) FROM player_score_windows;
SELECT board, place, rank, member, score FROM lb_archive ORDER BY board, place;
SELECT * FROM lb_archive_top_key('weekly:202615', 1);
SELECT * FROM lb_archive_top('weekly:202615', 1);
SELECT lb_close_season('global', 'texts', 2);
SELECT place, member, score FROM lb_archive WHERE season = 'texts' ORDER BY place, member;
SELECT lb_close_season('global', 'texts again', reset_to => NULL);
-- A window whose only player no key can have is closed all the same.
INSERT INTO player_score_windows VALUES (repeat('x', 513), 'daily:20260103', 5);
SELECT more FROM lb_maintain();
SELECT board, members FROM lb_closed WHERE board = 'daily:20260103';
SELECT * FROM lb_verify_key();
SELECT lb_drop_board('global'), lb_drop_board('*');
DROP TABLE player_scores, player_score_windows;
TRUNCATE lb_applied, lb_event, lb_usage, lb_anomaly, lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_archive, lb_archive_source, lb_season, lb_hidden;

-- varchar(n), and a domain over it: none is cut.
CREATE DOMAIN handle AS varchar(4) CHECK (VALUE <> 'root');
SELECT lb_create_tables(player_type => 'handle');
SELECT lb_wait_ready('5 min');
SELECT board, score, rank FROM lb_submit_key('anna', 1, boards => '{global}');
SELECT lb_submit_many_key('{bob,anna,"bob "}', '{1,2,3}');
-- Blanks that a write cuts off do not make another player.
SELECT board, score, rank, previous_rank FROM lb_submit_key('bob   ', 1, match_id => 'x', boards => '{global}');
SELECT board, score, rank, applied FROM lb_submit_key('bob  ', 1, match_id => 'x', boards => '{global}');
SELECT lb_submit_many_key('{"anna ","anna  "}', '{1,1}');
\set SHOW_CONTEXT never
SELECT lb_submit_key('annab', 1);
SELECT lb_submit_key('root', 1);
\set SHOW_CONTEXT errors
SELECT lb_hide_key('annab'), lb_hide_key('anna'), lb_show_key('anna');
-- Nor where a player is hidden or removed.
SELECT lb_hide_key('anna  '), lb_hide_key('new  ');
SELECT '[' || player_id || ']' AS player FROM lb_hidden_player WHERE player_id <> 'annab' ORDER BY 1;
SELECT count(rank) FROM lb_submit_key('new  ', 1, boards => '{global}');
SELECT lb_show_key('anna '), lb_show_key('new   ');
SELECT relation, removed FROM lb_forget_player_key('new   ') WHERE relation IN ('player_scores'::regclass, 'lb_event'::regclass);
SELECT '[' || member || ']' AS member, score FROM lb_top_key();
SELECT * FROM lb_verify_key();
SELECT lb_drop_board('global'), lb_drop_board('*');
DROP TABLE player_scores, player_score_windows;
DROP DOMAIN handle;
TRUNCATE lb_applied, lb_event, lb_usage, lb_anomaly, lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_archive, lb_archive_source, lb_season, lb_hidden;
