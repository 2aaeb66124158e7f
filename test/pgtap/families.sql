/* Families of boards, the family * and how names are taken apart. */
\ir lib/setup.psql
SELECT plan(39);

CREATE TABLE lbt_windows (
	player_id bigint,
	window_key text,
	nation varchar(20),
	guild integer,
	squad smallint,
	realm bigint,
	score integer,
	ok boolean,
	speed real,
	UNIQUE (player_id, window_key),
	UNIQUE (player_id, nation),
	UNIQUE (player_id, guild),
	UNIQUE (player_id, squad),
	UNIQUE (realm, player_id));
INSERT INTO lbt_windows
SELECT i % 30, (ARRAY['weekly:202615', 'daily:20260409', 'plain',
	'tourney:T:1', ''])[1 + i / 30],
	(ARRAY['FR', 'JP', 'Größe', ' ', NULL])[1 + i / 30],
	(ARRAY[7, -7, 0, 2147483647, NULL])[1 + i / 30],
	(ARRAY[7, -7, 0, -32768, NULL])[1 + i / 30],
	(ARRAY[7, -7, 0, -9223372036854775808, NULL])[1 + i / 30],
	(i * 17) % 12, i % 7 <> 0
FROM generate_series(0, 149) i;

SELECT lb_create_board('*', 'lbt_windows', board_column => 'window_key');
SELECT lb_create_board('lbt_nation', 'lbt_windows', board_column => 'nation',
	method => 'rank');
SELECT lb_create_board('lbt_guild', 'lbt_windows', board_column => 'guild',
	method => 'dense_rank', rank_by => 'score ASC');
SELECT lb_create_board('lbt_squad', 'lbt_windows', board_column => 'squad',
	ranked_if => 'ok');
SELECT lb_create_board('lbt_realm', 'lbt_windows', board_column => 'realm');
SELECT ok(lb_wait_ready('5 min'), 'the families are ready');

SELECT pg_temp.check_board('weekly:202615', 'lbt_windows',
	$$window_key = 'weekly:202615'$$);
SELECT pg_temp.check_board('tourney:T:1', 'lbt_windows',
	$$window_key = 'tourney:T:1'$$);
SELECT pg_temp.check_board('*:weekly:202615', 'lbt_windows',
	$$window_key = 'weekly:202615'$$);
SELECT pg_temp.check_board('*:plain', 'lbt_windows',
	$$window_key = 'plain'$$);
SELECT pg_temp.check_board('*:', 'lbt_windows', $$window_key = ''$$);
SELECT pg_temp.check_board('weekly:nobody', 'lbt_windows', 'false');
SELECT pg_temp.check_board('lbt_nation:FR', 'lbt_windows',
	$$nation = 'FR'$$, method => 'rank');
SELECT pg_temp.check_board('lbt_nation:Größe', 'lbt_windows',
	$$nation = 'Größe'$$, method => 'rank');
SELECT pg_temp.check_board('lbt_nation: ', 'lbt_windows',
	$$nation = ' '$$, method => 'rank');
SELECT pg_temp.check_board('lbt_nation:fr', 'lbt_windows', 'false',
	method => 'rank');
SELECT pg_temp.check_board('lbt_guild:-7', 'lbt_windows', 'guild = -7',
	dir => 'ASC', method => 'dense_rank');
SELECT pg_temp.check_board('lbt_guild:2147483647', 'lbt_windows',
	'guild = 2147483647', dir => 'ASC', method => 'dense_rank');
SELECT pg_temp.check_board('lbt_squad:-32768', 'lbt_windows',
	'squad = -32768 AND ok');
SELECT pg_temp.check_board('lbt_realm:-9223372036854775808', 'lbt_windows',
	'realm = -9223372036854775808');
SELECT pg_temp.check_board('lbt_realm:8', 'lbt_windows', 'false');

/* A recorded family comes before a value of *. */
INSERT INTO lbt_windows (player_id, window_key, score)
VALUES (1, 'lbt_nation:FR', 1000);
SELECT isnt(lb_score(1, 'lbt_nation:FR'), 1000::bigint,
	'a name belongs to the recorded family');
SELECT is(lb_score(1, '*:lbt_nation:FR'), 1000::bigint,
	'*:value reaches what a family hides');

SELECT pg_temp.error_is($$SELECT lb_rank(1, 'lbt_globl')$$, '.....',
	'lbt_globl', 'a name without a colon must be recorded');
SELECT pg_temp.error_is($$SELECT lb_rank(1, 'plain')$$, '.....',
	'plain', 'also one that is a value of the family *');
SELECT pg_temp.error_is($$SELECT lb_rank(1, 'lbt_nation')$$, '.....',
	'lbt_nation', 'a family is not a board');
SELECT pg_temp.error_is(format('SELECT lb_rank(1, %L)', ''), '.....', '',
	'nor is an empty name');

/* Boards come and go with their rows, a value that changes moves a row. */
SELECT is(lb_count('new:board'), 0::bigint, 'a board without rows is empty');
INSERT INTO lbt_windows (player_id, window_key, score)
VALUES (1, 'new:board', 5), (2, 'new:board', 6);
SELECT is(lb_count('new:board'), 2::bigint, 'it comes with its first row');
SELECT is(lb_rank(2, 'new:board'), 1::bigint, 'and ranks');
UPDATE lbt_windows SET window_key = 'other:board'
WHERE window_key = 'new:board' AND player_id = 2;
SELECT is(lb_count('new:board'), 1::bigint, 'a row moves from one board');
SELECT is(lb_rank(2, 'other:board'), 1::bigint, 'to another');
SELECT is(lb_rank(2, 'new:board'), NULL::bigint, 'and is not on the first');
DELETE FROM lbt_windows WHERE window_key IN ('new:board', 'other:board');
SELECT is(lb_count('new:board'), 0::bigint, 'it goes with its last row');
SELECT is(lb_count('other:board'), 0::bigint, 'and the other too');

/* Long values are answered all the same. */
INSERT INTO lbt_windows (player_id, window_key, score)
VALUES (1, 'long:' || repeat('x', 2000), 5),
	(2, 'long:' || repeat('x', 2000), 6),
	(1, 'long:' || repeat('x', 1000), 7);
SELECT is(lb_rank(1, 'long:' || repeat('x', 2000)), 2::bigint,
	'a very long name has its board');
SELECT is(lb_score(1, 'long:' || repeat('x', 1000)), 7::bigint,
	'which is not the one that begins like it');

SELECT pg_temp.error_is($$SELECT lb_create_board('a:b', 'lbt_windows')$$,
	'.....', 'a:b', 'a recorded name has no colon');
SELECT pg_temp.error_is(format(
	$$SELECT lb_create_board(%L, 'lbt_windows', board_column => 'guild')$$,
	repeat('x', 64)), '.....', 'xxx', 'and no more than 63 bytes', false);
SELECT pg_temp.error_is(
	$$SELECT lb_create_board('*', 'lbt_windows', board_column => 'guild')$$,
	'.....', '*', 'there is one family * at most');
SELECT pg_temp.error_is(
	$$SELECT lb_create_board('lbt_x', 'lbt_windows', board_column => 'speed')$$,
	'.....', '"speed"', 'a float is no board column');
SELECT is_empty($$SELECT * FROM lb_verify('lbt_nation')$$,
	'one family agrees with its table');

SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_board(board) FROM lb_board
WHERE source = 'lbt_windows'::regclass;
SELECT is_empty($$SELECT tgname FROM pg_trigger
	WHERE tgrelid = 'lbt_windows'::regclass AND NOT tgisinternal$$,
	'dropping the last board leaves no trigger');
DROP TABLE lbt_windows;
SELECT finish();
