/* Every type that a member, a score or a tie-breaker can have. */
\ir lib/setup.psql
SELECT plan(8 * :checks + 2);

CREATE TABLE lbt_types (
	m2 smallint UNIQUE,
	m4 integer UNIQUE,
	m8 bigint UNIQUE,
	s2 smallint,
	s4 integer,
	s8 bigint,
	d date,
	ts timestamp,
	tz timestamptz);
INSERT INTO lbt_types
SELECT i - 20, (i - 20) * 100000, (i - 20) * 10000000000,
	(i * 31) % 7 - 3, (i * 37) % 11 - 5, (i * 41) % 13 - 6,
	date '2026-01-01' + (i * 5) % 3, timestamp '2026-01-01' +
	(i * 3) % 4 * interval '1 us', timestamptz '2026-01-01' +
	(i * 7) % 4 * interval '1 day'
FROM generate_series(1, 40) i;
INSERT INTO lbt_types VALUES
	(-32768, -2147483648, -9223372036854775808,
	 -32768, -2147483648, -9223372036854775808,
	 '-infinity', '-infinity', '-infinity'),
	(32767, 2147483647, 9223372036854775807,
	 32767, 2147483647, 9223372036854775807,
	 'infinity', 'infinity', 'infinity'),
	(32766, 2147483646, 9223372036854775806,
	 32767, 2147483647, 9223372036854775807,
	 '-infinity', '-infinity', '-infinity'),
	(32765, 2147483645, 9223372036854775805,
	 -32768, -2147483648, -9223372036854775808,
	 'infinity', 'infinity', 'infinity'),
	(NULL, NULL, NULL, 1, 1, 1, '2026-01-01', '2026-01-01', '2026-01-01'),
	(1000, 1000, 1000, NULL, NULL, NULL, NULL, NULL, NULL),
	(1001, 1001, 1001, 3, 3, 3, NULL, NULL, NULL);

SELECT lb_create_board('lbt_222', 'lbt_types', 'm2', 's2 DESC, d ASC');
SELECT lb_create_board('lbt_244', 'lbt_types', 'm2',
	's4 ASC, ts DESC, s2 ASC', method => 'rank');
SELECT lb_create_board('lbt_444', 'lbt_types', 'm4',
	's4 DESC, tz DESC, d ASC', method => 'dense_rank');
SELECT lb_create_board('lbt_488', 'lbt_types', 'm4', 's8 ASC');
SELECT lb_create_board('lbt_888', 'lbt_types', 'm8', 's8 DESC');
SELECT lb_create_board('lbt_8all', 'lbt_types', 'm8',
	's8 DESC, s2 ASC, s4 DESC, d DESC, ts ASC, tz DESC');
SELECT lb_create_board('lbt_8asc', 'lbt_types', 'm8', 's8, tz, ts, d');
SELECT lb_create_board('lbt_8d', 'lbt_types', 'm8', 's8 DESC, d DESC',
	method => 'rank');
SELECT ok(lb_wait_ready('1 min'), 'the boards are ready');

SELECT pg_temp.check_board('lbt_222', 'lbt_types',
	'num_nulls(m2, s2, d) = 0', 'm2', 's2', 'DESC', 'd ASC');
SELECT pg_temp.check_board('lbt_244', 'lbt_types',
	'num_nulls(m2, s4, ts, s2) = 0', 'm2', 's4', 'ASC', 'ts DESC, s2 ASC',
	'rank');
SELECT pg_temp.check_board('lbt_444', 'lbt_types',
	'num_nulls(m4, s4, tz, d) = 0', 'm4', 's4', 'DESC', 'tz DESC, d ASC',
	'dense_rank');
SELECT pg_temp.check_board('lbt_488', 'lbt_types',
	'num_nulls(m4, s8) = 0', 'm4', 's8', 'ASC');
SELECT pg_temp.check_board('lbt_888', 'lbt_types',
	'num_nulls(m8, s8) = 0', 'm8', 's8', 'DESC');
SELECT pg_temp.check_board('lbt_8all', 'lbt_types',
	'num_nulls(m8, s8, s2, s4, d, ts, tz) = 0', 'm8', 's8', 'DESC',
	's2 ASC, s4 DESC, d DESC, ts ASC, tz DESC');
SELECT pg_temp.check_board('lbt_8asc', 'lbt_types',
	'num_nulls(m8, s8, tz, ts, d) = 0', 'm8', 's8', 'ASC', 'tz, ts, d');
SELECT pg_temp.check_board('lbt_8d', 'lbt_types',
	'num_nulls(m8, s8, d) = 0', 'm8', 's8', 'DESC', 'd DESC', 'rank');

SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_board(board) FROM lb_board WHERE source = 'lbt_types'::regclass;
DROP TABLE lbt_types;
SELECT finish();
