/* Empty boards, single rows, extreme scores, rows that are not ranked. */
\ir lib/setup.psql
SELECT plan(19);

CREATE TABLE lbt_edge (
	player_id bigint PRIMARY KEY,
	score bigint,
	ok boolean);
SELECT lb_create_board('lbt_desc', 'lbt_edge');
SELECT lb_create_board('lbt_asc', 'lbt_edge', rank_by => 'score ASC',
	method => 'dense_rank');
SELECT lb_create_board('lbt_ok', 'lbt_edge', method => 'rank',
	ranked_if => 'ok');
SELECT ok(lb_wait_ready('5 min'), 'the boards are ready');

SELECT pg_temp.check_board('lbt_desc', 'lbt_edge');
SELECT pg_temp.check_board('lbt_asc', 'lbt_edge', dir => 'ASC',
	method => 'dense_rank');
SELECT is(lb_rank_of_score(5, 'lbt_desc'), 1::bigint,
	'any score is first on an empty board');
SELECT is_empty($$SELECT * FROM lb_histogram(5, 'lbt_desc')$$,
	'an empty board has no buckets');

INSERT INTO lbt_edge VALUES (-1, 0, NULL);
SELECT pg_temp.check_board('lbt_desc', 'lbt_edge');
SELECT pg_temp.check_board('lbt_ok', 'lbt_edge', 'ok', method => 'rank');

/* The whole width of bigint: |best - worst| + 1 is 2^64. */
INSERT INTO lbt_edge VALUES
	(1, 9223372036854775807, true), (2, -9223372036854775808, true),
	(3, 9223372036854775807, false), (4, -9223372036854775808, NULL),
	(5, 9223372036854775806, true), (6, -9223372036854775807, true),
	(9223372036854775807, 1, true), (-9223372036854775808, -1, true),
	(7, NULL, true);
SELECT pg_temp.check_board('lbt_desc', 'lbt_edge', 'score IS NOT NULL');
SELECT pg_temp.check_board('lbt_asc', 'lbt_edge', 'score IS NOT NULL',
	dir => 'ASC', method => 'dense_rank');
SELECT pg_temp.check_board('lbt_ok', 'lbt_edge', 'score IS NOT NULL AND ok',
	method => 'rank');

/* ranked_if: gone at once, and back as before. */
INSERT INTO lbt_edge SELECT i, i % 10, true FROM generate_series(100, 160) i;
SELECT lb_rank(120, 'lbt_ok') AS before \gset
UPDATE lbt_edge SET ok = false WHERE player_id = 120;
SELECT is(lb_rank(120, 'lbt_ok'), NULL::bigint, 'a row that is not ranked is gone');
SELECT pg_temp.check_board('lbt_ok', 'lbt_edge', 'score IS NOT NULL AND ok',
	method => 'rank');
UPDATE lbt_edge SET ok = NULL WHERE player_id = 120;
SELECT is(lb_rank(120, 'lbt_ok'), NULL::bigint, 'null is not true');
UPDATE lbt_edge SET ok = true WHERE player_id = 120;
SELECT is(lb_rank(120, 'lbt_ok'), :before::bigint, 'and the row is back');
SELECT pg_temp.check_board('lbt_ok', 'lbt_edge', 'score IS NOT NULL AND ok',
	method => 'rank');

DELETE FROM lbt_edge;
SELECT pg_temp.check_board('lbt_desc', 'lbt_edge');
INSERT INTO lbt_edge SELECT i, 5, true FROM generate_series(1, 50) i;
TRUNCATE lbt_edge;
SELECT is(lb_count('lbt_desc'), 0::bigint, 'TRUNCATE empties the board');
SELECT ok(lb_wait_ready('5 min'), 'and it is ready');

SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_board(board) FROM lb_board WHERE source = 'lbt_edge'::regclass;
DROP TABLE lbt_edge;
SELECT finish();
