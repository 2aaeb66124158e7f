/* The default tables with their boards. */
\ir lib/setup.psql
SELECT plan(16);

SELECT lb_create_tables();
SELECT lb_create_tables();
SELECT ok(lb_wait_ready('5 min'), 'the boards are ready');
SELECT has_table('player_scores');
SELECT has_table('player_score_windows');
SELECT col_is_pk('player_scores', 'player_id', 'player_scores has its key');
SELECT col_is_pk('player_score_windows', ARRAY['player_id', 'window_key'],
	'player_score_windows has its key');
SELECT results_eq($$SELECT board, rank_by, board_column, method FROM lb_board
	WHERE source IN ('player_scores'::regclass,
		'player_score_windows'::regclass) ORDER BY board$$,
	$$VALUES ('*'::text COLLATE "C", 'score DESC, updated_at ASC',
		'window_key'::text, 'row_number'),
		('global', 'score DESC, updated_at ASC', NULL, 'row_number')$$,
	'their boards are recorded');

INSERT INTO player_scores (player_id, score)
SELECT i, i % 8 FROM generate_series(1, 50) i;
INSERT INTO player_score_windows (player_id, window_key, score)
SELECT i, 'weekly:202615', i % 8 FROM generate_series(1, 50) i;

/* updated_at follows the score, unless the statement sets it. */
UPDATE player_scores SET updated_at = '2026-01-01';
UPDATE player_scores SET score = score + 1 WHERE player_id = 1;
SELECT ok(updated_at > '2026-01-02', 'a new score is a new time')
FROM player_scores WHERE player_id = 1;
UPDATE player_scores SET score = score WHERE player_id = 2;
SELECT is(updated_at, timestamptz '2026-01-01', 'the same score is not')
FROM player_scores WHERE player_id = 2;
UPDATE player_scores SET score = score + 1, updated_at = '2026-01-03'
WHERE player_id = 3;
SELECT is(updated_at, timestamptz '2026-01-03', 'a time that is set stays')
FROM player_scores WHERE player_id = 3;

SELECT pg_temp.check_board('global', 'player_scores', ties => 'updated_at');
SELECT pg_temp.check_board('weekly:202615', 'player_score_windows',
	$$window_key = 'weekly:202615'$$, ties => 'updated_at');
SELECT is(lb_rank(1), lb_rank(1, 'global'), 'global is the default');
SELECT is(lb_rank('1'), lb_rank(1), 'a literal needs no cast');
SELECT is(lb_count(), 50::bigint, 'all functions have a default board');
SELECT is((SELECT count(*) FROM lb_top()), 10::bigint,
	'ten are the top by default');

SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

DROP TABLE player_scores, player_score_windows;
SELECT finish();
