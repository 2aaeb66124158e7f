/* Leaderboards as a user sees them: random matches against a model in SQL. */
\ir lib/setup.psql
SELECT plan(19);

SELECT lb_create_tables();
SELECT lb_create_leaderboard('kills');
SELECT lb_create_leaderboard('lap', 'best', 'asc', '{daily}');
SELECT lb_create_leaderboard('level', 'set', windows => '{}');
SELECT ok(lb_wait_ready('1 min'), 'the boards are ready');
SELECT col_is_pk('lb_leaderboard', 'name', 'a leaderboard has its name once');
SELECT has_table('kills_scores');
SELECT has_table('kills_score_windows');
SELECT columns_are('kills_scores', ARRAY['player_id', 'score', 'updated_at', 'ranked']);
SELECT col_is_pk('kills_score_windows', ARRAY['player_id', 'window_key'], 'the key of windows');
SELECT set_eq($$SELECT name FROM lb_window WHERE name LIKE '%/%'$$, ARRAY['kills/daily', 'kills/weekly', 'lap/daily'],
	'windows of leaderboards');
SELECT function_privs_are('lb_create_leaderboard', ARRAY['text', 'text', 'text', 'text[]', 'text'], 'public', ARRAY[]::text[],
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
	FROM kills_score_windows WHERE window_key = lb_window_key('kills/daily')$$, 'ranks of a window');
SELECT results_eq($$SELECT member, rank FROM lb_top(100, 'lap')$$,
	$$SELECT player_id, row_number() OVER (ORDER BY score, updated_at, player_id) FROM lap_scores$$, 'ranks upwards');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and tables agree');

SELECT lb_drop_leaderboard(name) FROM (SELECT name FROM lb_leaderboard WHERE name <> 'global') l;
SELECT hasnt_table('lap_score_windows');
DROP TABLE player_scores, player_score_windows;
TRUNCATE lb_event, lb_applied;
SELECT finish();
