--
-- Submitting to leaderboards: each with its operation, its windows, its limits and its
-- matches; to several by lb_submit_match().
--
SET TIME ZONE 'UTC';
SELECT lb_create_tables();
SELECT lb_create_leaderboard('kills');
SELECT lb_create_leaderboard('lap', 'best', 'asc', '{monthly}');
SELECT lb_create_leaderboard('wins', 'set', windows => '{}');
SELECT lb_wait_ready();

-- Keys without their date.
CREATE FUNCTION lbt.short(key text) RETURNS text LANGUAGE sql
RETURN split_part(key, ':', 1);

SELECT lbt.short(board) AS board, score, rank, previous_rank, applied
FROM lb_submit(1, 7, leaderboard => 'kills');
SELECT lbt.short(board) AS board, score, rank, previous_rank, applied
FROM lb_submit(1, 3, leaderboard => 'kills');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit(1, 95, leaderboard => 'lap');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit(1, 93, leaderboard => 'lap');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit(1, 99, leaderboard => 'lap');
-- A window has a best of its own.
SELECT score FROM lb_submit(1, 120, at => now() - interval '40 days', leaderboard => 'lap')
WHERE board LIKE 'lap/%';
SELECT score FROM lb_submit(1, 110, at => now() - interval '40 days', leaderboard => 'lap')
WHERE board LIKE 'lap/%';
SELECT lb_open_window('lap/weekly');
SELECT name, op FROM lb_window WHERE name LIKE 'lap/%' ORDER BY name;
SELECT lb_close_window('lap/weekly');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit(1, 5, leaderboard => 'wins');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit(1, 4, leaderboard => 'wins');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit(1, 4, 'incr', leaderboard => 'wins');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit_key('2', 50, leaderboard => 'kills');
SELECT lbt.short(board) AS board, score, rank FROM lb_submit(1, 1);
SELECT * FROM lb_top(10, 'kills');
SELECT * FROM lb_top(10, 'kills/daily');
SELECT * FROM lb_top(10, 'lap/monthly');
SELECT * FROM lb_top(10, 'daily');

-- Boards that are named.
SELECT lbt.short(board) AS board, score FROM lb_submit(1, 1, boards => '{kills}', leaderboard => 'kills');
SELECT lbt.short(board) AS board, score FROM lb_submit(1, 1, boards => '{kills/daily}', leaderboard => 'kills');
SELECT lb_submit(1, 1, boards => '{global}', leaderboard => 'kills');
SELECT lb_submit(1, 1, boards => '{daily}', leaderboard => 'kills');
SELECT lb_submit(1, 1, boards => '{kills/daily}');
SELECT lb_submit(1, 1, boards => '{kills/none}', leaderboard => 'kills');
SELECT lb_submit(1, 1, leaderboard => 'nothing');
SELECT lb_submit(1, 1, leaderboard => NULL);
SELECT lb_submit(1, 1, 'sum', leaderboard => 'kills');
SELECT lb_submit_many('{1}', '{1}', leaderboard => 'nothing');
SELECT lb_submit_many('{1}', '{1}', leaderboard => NULL);

-- Many.
SELECT lb_submit_many('{3, 1, 2, 3}', '{5, 1, 2, 6}', leaderboard => 'kills');
SELECT lb_submit_many_key('{3, 1, 3}', '{90, 91, 89}', leaderboard => 'lap');
SELECT * FROM lb_top(10, 'kills');
SELECT * FROM lb_top(10, 'kills/weekly');
SELECT * FROM lb_top(10, 'lap');
SELECT item, member, status, score FROM lb_submit_each('{3, 4}', '{1, 2}', leaderboard => 'wins');

-- JSON.
SELECT lb_submit_json('{"player_id": 9, "amount": 2, "leaderboard": "wins"}');
SELECT lb_submit_json('{"player_id": 9, "amount": 2, "leaderboard": "nothing"}');
SELECT lb_submit_json('{"player_id": 9, "amount": 2, "leader": "wins"}');

-- A match of a player on a leaderboard is applied once.
SELECT board, score, applied FROM lb_submit(5, 10, match_id => 'm1', boards => '{wins}', leaderboard => 'wins');
SELECT board, score, applied FROM lb_submit(5, 20, match_id => 'm1', leaderboard => 'wins');
SELECT board, score, applied FROM lb_submit(5, 20, match_id => 'm1', boards => '{kills}', leaderboard => 'kills');
SELECT board, score, applied FROM lb_submit(5, 20, match_id => 'm1', boards => '{global}');
SELECT lb_submit_many('{5, 6}', '{1, 1}', match_ids => '{m1, m1}', leaderboard => 'wins');
SELECT player_id, match_id, leaderboard, boards FROM lb_applied ORDER BY player_id, leaderboard;

-- Several leaderboards by one call.
SELECT lbt.short(board) AS board, score, rank, previous_rank, applied
FROM lb_submit_match(7, '{"wins": 3, "kills": 12, "global": 1}', match_id => 'm2');
SELECT lbt.short(board) AS board, score, rank, previous_rank, applied
FROM lb_submit_match(7, '{"global": 100, "kills": 100, "wins": 100}', 'm2');
SELECT lbt.short(board) AS board, score, applied FROM lb_submit_match(7, '{"wins": 4, "lap": 80}');
SELECT lbt.short(board) AS board, score, applied FROM lb_submit_match_key('7', '{"lap": 70}', at => now());
SELECT * FROM lb_submit_match(7, '{}');
SELECT player_id, op, amount, match_id, ARRAY(SELECT lbt.short(b) FROM unnest(boards) b) AS boards
FROM lb_event WHERE player_id = '7' ORDER BY submitted_at, boards;

-- Of one that has been submitted to some of them only, nothing is applied.
SELECT lb_submit_match(7, '{"kills": 1, "lap": 1}', 'm2');
SELECT lb_submit_match(5, '{"lap": 1, "kills": 1}', 'm1');
SELECT lb_score(7, 'kills'), lb_score(7, 'lap');

-- All or nothing.
SELECT lb_set_limit('fair', 'wins', max_amount => 10);
SELECT lb_submit_match(8, '{"kills": 1, "wins": 11}', 'm3');
SELECT lb_rank(8, 'kills');
SELECT board, applied FROM lb_submit_match(8, '{"wins": 9}', 'm3');
SELECT count(*) FROM lb_applied WHERE match_id = 'm3';

-- Errors.
SELECT lb_submit_match(1, '[1]');
SELECT lb_submit_match(1, '7');
SELECT lb_submit_match(1, '{"kills": "7"}');
SELECT lb_submit_match(1, '{"kills": null}');
SELECT lb_submit_match(1, '{"kills": [1]}');
SELECT lb_submit_match(1, '{"kills": {"amount": 1}}');
SELECT lb_submit_match(1, '{"kills": 7.5}');
SELECT lb_submit_match(1, '{"kills": 1e30}');
SELECT lb_submit_match(1, '{"nothing": 1}');
SELECT lb_submit_match(1, '{"kills/daily": 1}');
SELECT lb_submit_match(NULL, '{"kills": 1}');
SELECT lb_submit_match(1, NULL);
SELECT lb_submit_match(1, '{"kills": 1}', at => NULL);
SELECT lb_submit_match(1, '{"kills": 1}', at => 'infinity');
\set VERBOSITY sqlstate
SELECT lb_submit_match(1, '{"kills": 1}', at => now() + '1 day');
\set VERBOSITY default
SELECT lb_submit_match(1, '{"kills": 1}', repeat('m', 1001));
SELECT lb_submit_match_key('x', '{"kills": 1}');
BEGIN READ ONLY;
SELECT lb_submit_match(1, '{"kills": 1}');
ROLLBACK;

-- Players of other types.
SELECT lb_create_leaderboard('guilds', player_type => 'text', windows => '{daily}');
SELECT lb_wait_ready();
SELECT lbt.short(board) AS board, score FROM lb_submit_key('red', 3, leaderboard => 'guilds');
SELECT lbt.short(board) AS board, score FROM lb_submit_match_key('7', '{"guilds": 3, "wins": 1}');
SELECT lb_submit_match(7, '{"guilds": 3, "wins": 1}');
SELECT lb_submit_match_key('red', '{"guilds": 3, "wins": 1}');
SELECT * FROM lb_top_key(10, 'guilds/daily');

-- Limits are a leaderboard's, or a window's.
SELECT lb_set_limit('few', 'kills/daily', max_submits => 1, action => 'flag');
SELECT count(*) FROM generate_series(1, 2) i, lb_submit(20, i, leaderboard => 'kills');
SELECT count(*) FROM generate_series(1, 2) i, lb_submit(20, i);
SELECT player_id, limit_name, lbt.short(board) AS board, submits FROM lb_anomaly;
SELECT limit_name, lbt.short(board) AS board, player_id, submits FROM lb_usage;
SELECT lb_submit_match(20, '{"wins": 11, "kills": 5}');

-- A hidden player's new rows are not ranked.
SELECT lb_hide(7);
SELECT lbt.short(board) AS board, score, rank FROM lb_submit_match(7, '{"kills": 1, "lap": 1}');
SELECT lb_rank(7), lb_rank(7, 'kills'), lb_rank(7, 'kills/daily'), lb_rank(7, 'wins');
SELECT lb_show(7) > 5 AS shown;
SELECT lb_hide_key('7', '{guilds/}'), lb_show_key('7', '{guilds,guilds/}');
-- Without boards, a text is a player of the type of those of "global".
SELECT lb_hide_key('7'), lb_show_key('7'), lb_hide_key('nobody', '{guilds}');
SELECT lb_hide_key('nobody');
SELECT lb_rank(7) IS NOT NULL AS r, lb_rank(7, 'kills/daily') IS NOT NULL AS k;

-- Without windows, and by roles that may write to one leaderboard only.
SELECT lb_drop_board('lap/');
SELECT board, score FROM lb_submit(30, 60, leaderboard => 'lap');
SELECT name FROM lb_window WHERE name LIKE 'lap/%';
CREATE ROLE lb_player;
GRANT SELECT, INSERT, UPDATE ON wins_scores TO lb_player;
SET ROLE lb_player;
SELECT board, score FROM lb_submit(31, 6, leaderboard => 'wins');
SELECT lb_submit(31, 6, leaderboard => 'kills');
SELECT lb_submit_match(31, '{"wins": 6, "kills": 1}', 'm9');
SELECT lb_submit_many('{31}', '{1}', leaderboard => 'kills');
RESET ROLE;
SELECT count(*) FROM lb_applied WHERE match_id = 'm9';

-- Many leaderboards: more than the plans that a session keeps.
SELECT lb_create_leaderboard('l' || i, windows => '{daily}') FROM generate_series(1, 20) i;
SELECT sum(s.score) FROM generate_series(1, 2) r, generate_series(1, 20) i,
	lb_submit(i, i, leaderboard => 'l' || i) s;
SELECT count(*), sum(score) FROM lb_submit_match(40, (SELECT jsonb_object_agg('l' || i, i) FROM generate_series(1, 20) i));
SELECT sum(lb_score(40, 'l' || i)), sum(lb_score(i, 'l' || i || '/daily')) FROM generate_series(1, 20) i;
SELECT lb_wait_ready();
SELECT * FROM lb_verify();

SELECT count(lb_drop_leaderboard(name)) FROM (SELECT name FROM lb_leaderboard WHERE name <> 'global') l;
SELECT lb_drop_limit(name) FROM (SELECT name FROM lb_limit) l;
DROP TABLE player_scores, player_score_windows, lap_score_windows;
DELETE FROM lb_applied;
DELETE FROM lb_event;
DELETE FROM lb_anomaly;
DELETE FROM lb_usage;
DROP OWNED BY lb_player;
DROP ROLE lb_player;
DROP FUNCTION lbt.short;
