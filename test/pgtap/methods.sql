/* One board after another by each method, with and without tie-breakers. */
\ir lib/setup.psql
SELECT plan(5 * :checks + 9);

CREATE TABLE lbt_players (
	player_id bigint PRIMARY KEY,
	score bigint,
	updated_at timestamptz);
INSERT INTO lbt_players
SELECT i, (i * 7919) % 23 - 5,
	timestamptz '2026-01-01' + (i * 104729) % 5 * interval '1 hour'
FROM generate_series(1, 97) i;
INSERT INTO lbt_players VALUES (-3, 100, '-infinity'), (-4, 100, 'infinity'),
	(-5, NULL, now()), (-6, 50, NULL), (0, 100, NULL);

SELECT lb_create_board('lbt_row', 'lbt_players',
	rank_by => 'score DESC, updated_at ASC');
SELECT lb_create_board('lbt_rank', 'lbt_players', method => 'rank',
	rank_by => 'score DESC, updated_at');
SELECT lb_create_board('lbt_dense', 'lbt_players', 'player_id',
	'score desc', NULL, 'dense_rank');
SELECT lb_create_board('lbt_asc', 'lbt_players',
	rank_by => ' "score" , updated_at DESC ', method => 'rank');
SELECT lb_create_board('lbt_up', 'lbt_players',
	rank_by => 'score ASC, updated_at ASC', method => 'dense_rank');
SELECT ok(lb_wait_ready('1 min'), 'the boards are ready');

SELECT is(count(*), 5::bigint, 'five boards are recorded')
FROM lb_board WHERE source = 'lbt_players'::regclass;
SELECT is(state, 'ready', board || ' is ready')
FROM lb_stat_board WHERE board LIKE 'lbt\_%' ORDER BY board;

SELECT pg_temp.check_board('lbt_row', 'lbt_players',
	'score IS NOT NULL AND updated_at IS NOT NULL',
	ties => 'updated_at ASC');
SELECT pg_temp.check_board('lbt_rank', 'lbt_players',
	'score IS NOT NULL AND updated_at IS NOT NULL',
	ties => 'updated_at ASC', method => 'rank');
SELECT pg_temp.check_board('lbt_dense', 'lbt_players',
	'score IS NOT NULL', method => 'dense_rank');
SELECT pg_temp.check_board('lbt_asc', 'lbt_players',
	'score IS NOT NULL AND updated_at IS NOT NULL', dir => 'ASC',
	ties => 'updated_at DESC', method => 'rank');
SELECT pg_temp.check_board('lbt_up', 'lbt_players',
	'score IS NOT NULL AND updated_at IS NOT NULL', dir => 'ASC',
	ties => 'updated_at ASC', method => 'dense_rank');

SELECT ok(index_reads > 0 AND query_disabled > 0,
	'both the index and the queries have answered')
FROM lb_stat_board WHERE board = 'lbt_row';
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_board(board) FROM lb_board
WHERE source = 'lbt_players'::regclass;
DROP TABLE lbt_players;
SELECT finish();
