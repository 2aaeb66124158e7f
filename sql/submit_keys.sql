--
-- Players that are not bigint: lb_create_tables(player_id), lb_submit_key() and its
-- like.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The types of players.
SELECT lb_create_tables(player_id => NULL);
SELECT lb_create_tables(player_id => 'nonsense');
SELECT lb_create_tables(player_id => 'numeric(10,0)');
SELECT lb_create_tables(player_id => 'date');
SELECT lb_create_tables(player_id => 'integer');
SELECT lb_wait_ready('30 s');
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
TRUNCATE lb_applied, lb_event, lb_usage, lb_anomaly, lb_window;
