--
-- Types of members, scores and tie-breakers, and their extreme values
--
CREATE TABLE t (
	s smallint UNIQUE, i integer UNIQUE, b bigint UNIQUE,
	ss smallint, si integer, sb bigint,
	d date, ts timestamp, tz timestamptz);
SELECT lb_create_board(m || '_' || s, 't', member => m, rank_by => s || ' DESC')
FROM unnest('{s,i,b,b}'::name[], '{ss,si,sb,ss}'::text[]) c (m, s);
SELECT lb_create_board(m || '_' || s || '_asc', 't', member => m, rank_by => s || ' ASC',
	method => 'dense_rank')
FROM unnest('{s,i,b}'::name[], '{ss,si,sb}'::text[]) c (m, s);
SELECT lb_create_board('ties_' || c || '_' || dir, 't', member => 'b',
	rank_by => 'ss DESC, ' || c || ' ' || dir)
FROM unnest('{s,i,si,sb,d,ts,tz}'::text[]) c, unnest('{asc,desc}'::text[]) dir;
SELECT lb_create_board('wide', 't', member => 'i',
	rank_by => 'ss ASC, si DESC, sb ASC, d DESC, ts, tz DESC, s');
SELECT lb_wait_ready();
CREATE FUNCTION all_differences() RETURNS TABLE (board text, enable_index text,
	what text, operand text, got text, want text)
LANGUAGE sql VOLATILE AS $$
	SELECT b.board, d.* FROM lb_board b, lbt.differences(b.board, 't',
		b.member || ' IS NOT NULL AND '
			|| regexp_replace(b.rank_by, ' (ASC|DESC)(, |$)', ' IS NOT NULL AND ', 'g')
			|| 'true',
		b.member, split_part(b.rank_by, ' ', 1),
		split_part(split_part(b.rank_by, ',', 1), ' ', 2),
		nullif(substr(b.rank_by, strpos(b.rank_by || ',', ',') + 1), ''),
		b.method, false,
		CASE WHEN b.board ~ 'ties|wide' THEN 'lb_rank$|top|at$|around|ranks|among'
			ELSE '.' END) d
	WHERE b.source = 't'::regclass
$$;

INSERT INTO t SELECT k, k, k, k % 3, k % 4, k % 5,
	CASE k % 4 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2026-01-01'::date + k END,
	CASE k % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2026-01-01'::timestamp + k * interval '1 second' END,
	CASE k % 6 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2026-01-01 00:00:00+00'::timestamptz - k * interval '1 microsecond' END
FROM generate_series(1, 20) k;
-- The ends of every type.
INSERT INTO t VALUES
	(32767, 2147483647, 9223372036854775807, 32767, 2147483647,
		9223372036854775807, '5874897-12-31', '294276-12-31 23:59:59.999999',
		'294276-12-31 23:59:59.999999+00'),
	(-32768, -2147483648, -9223372036854775808, -32768, -2147483648,
		-9223372036854775808, '4713-01-01 BC', '4713-01-01 00:00:00 BC',
		'4713-01-01 00:00:00+00 BC'),
	(0, 0, 0, 0, 0, 0, '2000-01-01', '2000-01-01', '2000-01-01 00:00:00+00'),
	(-1, -1, -1, -1, -1, -1, '1999-12-31', '1999-12-31 23:59:59.999999',
		'1999-12-31 23:59:59.999999+00'),
	(32766, 2147483646, 9223372036854775806, 32766, 2147483646,
		9223372036854775806, 'infinity', 'infinity', 'infinity'),
	(-32767, -2147483647, -9223372036854775807, 32767, 2147483647,
		9223372036854775807, '-infinity', '-infinity', '-infinity');
SELECT * FROM lb_top(4, 'b_sb');
SELECT * FROM lb_top(4, 'b_sb_asc');
SELECT * FROM lb_top(3, 'i_si');
SELECT * FROM lb_top(3, 's_ss_asc');
SELECT * FROM lb_top(100, 'ties_ts_desc', 8) LIMIT 8;
SELECT lb_rank(9223372036854775807, 'b_sb'), lb_rank(-9223372036854775808, 'b_sb'),
	lb_rank(32768, 's_ss'), lb_rank(65535, 's_ss'), lb_rank(4294967296, 'i_si'),
	lb_rank(9223372036854775807, 's_ss'), lb_rank_of_score(65536, 's_ss'),
	lb_count_between(-65536, 65536, 's_ss');
SELECT * FROM all_differences();

-- Nulls in any of the columns.
UPDATE t SET ss = NULL WHERE b % 7 = 1;
UPDATE t SET d = NULL, si = NULL WHERE b % 7 = 2;
UPDATE t SET ts = NULL WHERE b % 7 = 3;
UPDATE t SET tz = NULL, sb = NULL WHERE b % 7 = 4;
UPDATE t SET s = NULL WHERE b % 7 = 5;
UPDATE t SET i = NULL WHERE b % 7 = 6;
INSERT INTO t DEFAULT VALUES;
INSERT INTO t DEFAULT VALUES;
SELECT * FROM all_differences();

-- Own changes at the ends.
BEGIN;
UPDATE t SET ss = -1 - ss, si = -1 - si, sb = -1 - sb;
UPDATE t SET s = -1 - s, i = -1 - i, b = -1 - b WHERE b BETWEEN 1 AND 100;
DELETE FROM t WHERE b = -9223372036854775808;
UPDATE t SET d = CASE d WHEN 'infinity' THEN '-infinity'::date ELSE 'infinity' END,
	ts = CASE ts WHEN 'infinity' THEN '-infinity'::timestamp ELSE 'infinity' END,
	tz = CASE tz WHEN 'infinity' THEN '-infinity'::timestamptz ELSE 'infinity' END
WHERE b % 2 = 0;
SELECT * FROM all_differences();
COMMIT;
SELECT * FROM all_differences();
SELECT * FROM lb_verify();
SELECT lb_rebuild();
SELECT * FROM all_differences();

-- Columns that are used twice, and names that need quotes.
DROP FUNCTION all_differences;
DROP TABLE t;
CREATE TABLE "Te""s't" ("Player Id" integer, "{P}" bigint, "k1" date, "$1" integer,
	"select" bigint, m boolean, "Über" text, UNIQUE ("Player Id", "Über"));
INSERT INTO "Te""s't" SELECT i, i % 3, '2026-01-01'::date + i % 5, i % 2, i % 4,
	i % 5 <> 0, 'ab' FROM generate_series(1, 30) i;
SELECT lb_create_board('O''Brien "x"', '"Te""s''t"', 'Player Id',
	'"{P}" DESC, K1, "$1" desc, "select"', 'Über', ranked_if => 'm');
SELECT rank_by FROM lb_board WHERE source = '"Te""s''t"'::regclass;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('O''Brien "x":ab', '"Te""s''t"', '"Über" = ''ab'' AND m',
	'"Player Id"', '"{P}"', ties => 'k1, "$1" DESC, "select"');
UPDATE "Te""s't" SET "$1" = 5, "Über" = 'cd' WHERE "Player Id" > 20;
SELECT * FROM lbt.differences('O''Brien "x":cd', '"Te""s''t"', '"Über" = ''cd'' AND m',
	'"Player Id"', '"{P}"', ties => 'k1, "$1" DESC, "select"');
DROP TABLE "Te""s't";
CREATE TABLE t (id bigint PRIMARY KEY, grp integer, score integer);
INSERT INTO t SELECT i, i % 4, i % 3 FROM generate_series(1, 30) i;
SELECT lb_create_board('id', 't', 'id', 'id DESC'),
	lb_create_board('id_tie', 't', 'id', 'score ASC, id DESC', method => 'rank'),
	lb_create_board('self', 't', 'id', 'grp ASC, score DESC', board_column => 'grp'),
	lb_create_board('each', 't', 'id', 'score DESC', board_column => 'id');
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('id', 't', member => 'id', score => 'id');
SELECT * FROM lbt.differences('id_tie', 't', member => 'id', dir => 'ASC',
	ties => 'id DESC', method => 'rank');
SELECT * FROM lbt.differences('self:2', 't', 'grp = 2', 'id', 'grp', 'ASC',
	'score DESC');
SELECT * FROM lbt.differences('each:7', 't', 'id = 7', 'id');
UPDATE t SET id = -id, grp = grp - 2, score = score - 1 WHERE id > 5;
SELECT * FROM lbt.differences('id', 't', member => 'id', score => 'id');
SELECT * FROM lbt.differences('id_tie', 't', member => 'id', dir => 'ASC',
	ties => 'id DESC', method => 'rank');
SELECT * FROM lbt.differences('self:-2', 't', 'grp = -2', 'id', 'grp', 'ASC',
	'score DESC');
SELECT * FROM lbt.differences('each:-7', 't', 'id = -7', 'id');
DROP TABLE t;

-- A table with columns that were dropped, added and stored out of line.
CREATE TABLE t (junk text, player_id bigint, x int, score bigint);
INSERT INTO t SELECT repeat('x', 100), i, i, i FROM generate_series(1, 9) i;
ALTER TABLE t DROP COLUMN junk, DROP COLUMN x, ADD UNIQUE (player_id),
	ADD COLUMN region text DEFAULT 'eu', ADD COLUMN ranked boolean DEFAULT true,
	ADD COLUMN tie integer DEFAULT 5;
ALTER TABLE t ALTER COLUMN region SET STORAGE EXTERNAL;
SELECT lb_create_board('t', 't', rank_by => 'score desc, tie',
	board_column => 'region', ranked_if => 'ranked');
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('t:eu', 't', ties => 'tie');
ALTER TABLE t ADD COLUMN note text;
ALTER TABLE t ALTER COLUMN note SET STORAGE EXTERNAL;
UPDATE t SET note = repeat('n', 10000), region = repeat('r', 1000) WHERE player_id > 3;
UPDATE t SET score = -score;
SELECT * FROM lbt.differences('t:' || repeat('r', 1000), 't', 'player_id > 3',
	ties => 'tie');
UPDATE t SET region = 'eu' WHERE player_id > 6;
SELECT * FROM lbt.differences('t:eu', 't', $$region = 'eu'$$, ties => 'tie');
SELECT * FROM lb_verify();
DROP TABLE t;
SELECT * FROM lb_verify();
