/* Leaderboards as a user sees them: random matches against a model in SQL. */
\ir lib/setup.psql
SELECT plan(34);

SELECT lb_create_tables();
SELECT lb_create_leaderboard('kills');
SELECT lb_create_leaderboard('lap', 'best', 'asc', '{daily}');
SELECT lb_create_leaderboard('level', 'set', windows => '{}');
SELECT ok(lb_wait_ready('5 min'), 'the boards are ready');
SELECT col_is_pk('lb_leaderboard', 'name', 'a leaderboard has its name once');
SELECT has_table('kills_scores');
SELECT has_table('kills_score_windows');
SELECT columns_are('kills_scores', ARRAY['player_id', 'score', 'updated_at', 'ranked']);
SELECT col_is_pk('kills_score_windows', ARRAY['player_id', 'window_key'], 'the key of windows');
SELECT set_eq($$SELECT name FROM lb_window WHERE name LIKE '%/%'$$, ARRAY['kills/daily', 'kills/weekly', 'lap/daily'],
	'windows of leaderboards');
SELECT function_privs_are('lb_create_leaderboard', ARRAY['text', 'text', 'text', 'text[]', 'text', 'boolean', 'integer', 'boolean'], 'public', ARRAY[]::text[],
	'not every role may take a name');
SELECT function_privs_are('lb_submit_match', ARRAY['bigint', 'jsonb', 'text', 'timestamptz'], 'public', ARRAY['EXECUTE'],
	'every role may submit, and needs the rights on the tables');

/* Matches with some of the leaderboards, every third reported twice. */
CREATE TEMP TABLE matches AS
SELECT i, 1 + (random() * 20)::int AS player, (random() * 50)::int AS kills, 60 + (random() * 40)::int AS lap,
	(random() * 9)::int AS level, (random() * 7)::int % 8 AS which
FROM generate_series(1, 300) i;
CREATE FUNCTION pg_temp.play(m matches) RETURNS boolean LANGUAGE sql AS $$
SELECT bool_or(applied) FROM lb_submit_match((m).player, jsonb_strip_nulls(jsonb_build_object(
	'kills', CASE WHEN (m).which & 1 > 0 THEN (m).kills END,
	'lap', CASE WHEN (m).which & 2 > 0 THEN (m).lap END,
	'level', CASE WHEN (m).which & 4 > 0 THEN (m).level END)), 'match ' || (m).i)
$$;
SELECT is(count(*), 300::bigint, 'matches') FROM (SELECT pg_temp.play(m) FROM matches m ORDER BY i OFFSET 0) p;
SELECT is(bool_or(p), false, 'none is applied twice') FROM (SELECT pg_temp.play(m) AS p FROM matches m WHERE i % 3 = 0 ORDER BY i OFFSET 0) p;
SELECT results_eq('SELECT player_id::int, score::int FROM kills_scores ORDER BY 1',
	'SELECT player, sum(kills)::int FROM matches WHERE which & 1 > 0 GROUP BY 1 ORDER BY 1', 'sums');
SELECT results_eq('SELECT player_id::int, score::int FROM lap_scores ORDER BY 1',
	'SELECT player, min(lap) FROM matches WHERE which & 2 > 0 GROUP BY 1 ORDER BY 1', 'best times');
SELECT results_eq('SELECT player_id::int, score::int FROM level_scores ORDER BY 1',
	'SELECT DISTINCT ON (player) player, level FROM matches WHERE which & 4 > 0 ORDER BY player, i DESC', 'last levels');
SELECT results_eq($$SELECT player_id, score FROM lap_score_windows ORDER BY 1$$,
	$$SELECT player_id, score FROM lap_scores ORDER BY 1$$, 'the day has the same best times');
SELECT results_eq($$SELECT member, rank FROM lb_top(100, 'kills/daily')$$,
	$$SELECT player_id, row_number() OVER (ORDER BY score DESC, updated_at, player_id)
	FROM kills_score_windows WHERE window_key = lb_window_at('kills/daily')$$, 'ranks of a window');
SELECT results_eq($$SELECT member, rank FROM lb_top(100, 'lap')$$,
	$$SELECT player_id, row_number() OVER (ORDER BY score, updated_at, player_id) FROM lap_scores$$, 'ranks upwards');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and tables agree');

/* What became of each change, tiers, metadata, and what a reward is given. */
SELECT results_eq($$SELECT member, status FROM lb_submit_each('{901,902,901}', '{5,6,7}', match_ids => '{a,a,a}', leaderboard => 'kills')$$,
	$$VALUES (901::bigint, 'applied'), (902, 'applied'), (901, 'duplicate')$$, 'a result for each change');
SELECT is(lb_score(901, 'kills'), 5::bigint, 'and none is applied twice');
SELECT results_eq($$SELECT member, score FROM lb_submit_each_key('{902}', '{1}', leaderboard => 'kills')$$,
	$$VALUES ('902', 7::bigint)$$, 'the same of players as text');
SELECT set_eq($$SELECT board, score FROM lb_submit_match_key('903', '{"kills": 2, "level": 3}')$$,
	$$SELECT 'kills', 2::bigint UNION SELECT lb_window_at('kills/daily'), 2 UNION SELECT lb_window_at('kills/weekly'), 2
	UNION SELECT 'level', 3$$, 'a match of a player as text');
SELECT is_empty($$SELECT player_id FROM kills_scores WHERE lb_tier(player_id, 'kills', '{10,50}') IS DISTINCT FROM
	(SELECT CASE WHEN r <= ceil(n * 0.1) THEN 1 WHEN r <= ceil(n * 0.5) THEN 2 ELSE 3 END FROM
		(SELECT lb_rank(player_id, 'kills') AS r, lb_count('kills') AS n) t)$$, 'tiers are shares of the board');
SELECT is(lb_tier_key('901', 'kills', '{100}'), 1, 'one tier for all');
SELECT is_empty($$SELECT player_id FROM kills_scores WHERE
	(lb_rank_key(player_id, 'kills'), lb_player_key(player_id, 'kills'), lb_tier_key(player_id::integer, 'kills'),
		lb_rank_of_score_key(score, 'kills'), lb_count_between_key(score, NULL, 'kills')) IS DISTINCT FROM
	(lb_rank_key(player_id::text, 'kills'), lb_player_key(player_id::text, 'kills'), lb_tier_key(player_id::text, 'kills'),
		lb_rank_of_score_key(score::text, 'kills'), lb_count_between_key(score::text, NULL, 'kills'))$$,
	'a typed member or score is what its text is');
ALTER TABLE kills_scores ADD COLUMN metadata jsonb;
ALTER TABLE kills_score_windows ADD COLUMN metadata jsonb;
SELECT lb_submit(901, 1, leaderboard => 'kills', metadata => '{"map": "ice"}') \g /dev/null
SELECT is(lb_metadata(901, 'kills'), '{"map": "ice"}', 'metadata of a score');
SELECT is(lb_metadata_key('901', 'kills/daily'), '{"map": "ice"}', 'and in its window');
SELECT is(lb_metadata(902, 'kills'), NULL, 'none where none was submitted');
CREATE TABLE rewarded (board text, standings jsonb);
CREATE FUNCTION reward(text, jsonb) RETURNS void LANGUAGE sql AS 'INSERT INTO public.rewarded VALUES ($1, $2)';
SELECT lb_open_window('kills/month', 'monthly', late => '1 day', keep => '100 years') \g /dev/null
SELECT lb_set_reward('kills/month', 'reward(text, jsonb)') \g /dev/null
INSERT INTO kills_score_windows (player_id, window_key, score) VALUES (1, 'kills/month:202001', 5), (2, 'kills/month:202001', 8);
SELECT lb_maintain() \g /dev/null
SELECT results_eq('SELECT board, standings FROM rewarded',
	$$VALUES ('kills/month:202001', jsonb '[{"place": 1, "rank": 1, "player_id": 2, "score": 8}, {"place": 2, "rank": 2, "player_id": 1, "score": 5}]')$$,
	'a window that is over is rewarded');
SELECT results_eq($$SELECT paid_at IS NOT NULL, attempts, problem FROM lb_payout$$, $$VALUES (true, 1, NULL::text)$$, 'which is noted');
SELECT ok((SELECT bool_and(removed > 0) FROM lb_forget_player(901) WHERE relation = 'kills_scores'::regclass), 'a player is erased');
SELECT is(lb_rank(901, 'kills'), NULL, 'and has no rank');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and tables agree after all of it');

SELECT lb_drop_leaderboard(name) FROM (SELECT name FROM lb_leaderboard WHERE name <> 'global') l;
SELECT hasnt_table('lap_score_windows');
DROP TABLE player_scores, player_score_windows;
DROP TABLE rewarded;
DROP FUNCTION reward;
TRUNCATE lb_event, lb_applied, lb_archive, lb_closed, lb_payout;
SELECT finish();
