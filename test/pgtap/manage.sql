/* Creating and dropping boards, and what is refused. */
\ir lib/setup.psql
SELECT plan(79);

CREATE TABLE lbt_manage (
	player_id bigint PRIMARY KEY,
	other bigint,
	part bigint,
	name char(10),
	score bigint,
	pause interval,
	amount numeric,
	ok boolean,
	updated_at timestamptz,
	"Odd ""Name" integer,
	a int, b int, c int, d int, e int, f int, g int, h int);
CREATE UNIQUE INDEX ON lbt_manage (part) WHERE ok;
CREATE INDEX ON lbt_manage (other);
INSERT INTO lbt_manage (player_id, score, "Odd ""Name")
SELECT i, i, -i FROM generate_series(1, 5) i;

/* rank_by */
SELECT pg_temp.error_is(
	format('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', rank_by => %L)',
		x.rank_by), x.state, x.contains, x.rank_by, x.hint)
FROM (VALUES
	('', '42601', 'rank_by', true),
	('  ', '42601', 'rank_by', true),
	(',', '42601', ',', true),
	('score DESC,', '42601', 'comma', true),
	('score, , b', '42601', ',', true),
	('score foo', '42601', '"foo"', true),
	('score DESC foo', '42601', '"foo"', true),
	('score ASC DESC', '42601', '"DESC"', true),
	('score; DROP TABLE x', '42601', ';', true),
	('"score', '42601', 'unterminated', true),
	('""', '42601', 'zero-length', true),
	('desc', '42601', '"desc"', true),
	('score, score', '42701', '"score"', true),
	('score, SCORE DESC', '42701', '"score"', true),
	('score', '42601', 'direction', true),
	('score, a DESC', '42601', 'direction', true),
	('a, b, c, d, e, f, g, h', '54011', 'rank_by', true),
	('-score', '42601', 'expression', true),
	('score + 1', '42601', 'expression', true),
	('(score) + 1', '42601', 'expression', true),
	('score::integer', '42601', 'expression', true),
	('score IS NULL', '42601', 'expression', true),
	('abs(score) + 1', '42601', 'expression', true),
	('1', '0A000', 'numbers', true),
	('''score''', '0A000', 'constants', true),
	('score NULLS LAST', '0A000', 'NULLS', false),
	('score DESC NULLS FIRST', '0A000', 'NULLS', false),
	('score USING >', '0A000', 'USING', false),
	('score COLLATE "C"', '0A000', 'COLLATE', false),
	('lbt_manage.score', '0A000', 'qualified', true),
	('score -- best', '0A000', 'comments', true),
	('nonsense DESC', '42703', '"nonsense"', true),
	('"Score" DESC', '42703', '"Score"', true),
	('pause ASC', '42804|0A000', '"pause"', false),
	('amount DESC', '42804|0A000', '"amount"', false),
	('name ASC', '42804|0A000', '"name"', false),
	('score ASC, name', '42804|0A000', '"name"', false))
	x (rank_by, state, contains, hint)
WHERE x.contains NOT IN ('NULLS', 'USING', 'COLLATE');

/* These begin with the words of SQL that they are about. */
SELECT throws_ok(
	format('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', rank_by => %L)',
		rank_by), '0A000', NULL, rank_by)
FROM (VALUES ('score NULLS LAST'), ('score DESC NULLS FIRST'),
	('score USING >'), ('score COLLATE "C"')) x (rank_by);

/* Everything else that can be wrong. */
SELECT pg_temp.error_is(query, state, contains, query, false)
FROM (VALUES
	('SELECT lb_create_board(NULL, ''lbt_manage'')', '22004', 'board'),
	('SELECT lb_create_board(''lbt_m'', NULL)', '22004', 'source'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', keeps => NULL)', '22004',
	 'keeps'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', rank_by => NULL)',
	 '22004', 'rank_by'),
	('SELECT lb_create_board('''', ''lbt_manage'')', '.....', ''),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', ''nobody'')',
	 '42703', '"nobody"'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', ''name'')',
	 '42804|0A000', '"name"'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', ''other'')', '55000',
	 'unique index'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', ''part'')', '55000',
	 'unique index'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', ranked_if => ''a'')',
	 '42804|0A000', '"a"'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', method => ''best'')',
	 '22023', 'best'),
	('SELECT lb_create_board(''lbt_m'', ''lbt_manage'', offline => ''wait'')',
	 '22023', 'wait'),
	('SELECT lb_set_offline(NULL, ''error'')', '22004', 'board'),
	('SELECT lb_set_offline(''lbt_nobody'', NULL)', '42704', 'lbt_nobody'),
	('SELECT lb_create_board(''lbt_m'', ''lb_stat_board'')', '.....',
	 'lb_stat_board'),
	('SELECT lb_drop_board(''lbt_nobody'')', '.....', 'lbt_nobody'),
	('SELECT lb_rebuild(''lbt_nobody'')', '.....', 'lbt_nobody'),
	('SELECT * FROM lb_verify(''lbt_nobody'')', '.....', 'lbt_nobody'))
	x (query, state, contains);

SELECT is_empty($$SELECT tgname FROM pg_trigger
	WHERE tgrelid = 'lbt_manage'::regclass AND NOT tgisinternal$$,
	'a board that was refused leaves nothing behind');

/* A name that needs quotes. */
SELECT lb_create_board('Größe "x"', 'lbt_manage',
	rank_by => '"Odd ""Name" desc');
SELECT ok(lb_wait_ready('5 min'), 'the board is ready');
SELECT is(lb_rank(1, 'Größe "x"'), 1::bigint, 'names can need quotes');
SELECT pg_temp.error_is(
	$$SELECT lb_create_board('Größe "x"', 'lbt_manage')$$, '42710',
	'Größe', 'a name is taken once', false);
SELECT lb_rebuild('Größe "x"');
SELECT ok(lb_wait_ready('5 min'), 'the board is ready again');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');
SELECT lb_drop_board('Größe "x"');
SELECT pg_temp.error_is($$SELECT lb_rank(1, 'Größe "x"')$$, '.....',
	'Größe', 'a dropped board is unknown');

/* Renamed columns are followed. */
SELECT lb_create_board('lbt_m', 'lbt_manage', rank_by => '"Odd ""Name" ASC, a DESC',
	method => 'rank', ranked_if => 'ok', offline => 'error');
UPDATE lbt_manage SET ok = player_id > 1, a = 1;
ALTER TABLE lbt_manage RENAME "Odd ""Name" TO "desc";
ALTER TABLE lbt_manage RENAME ok TO "not";
SELECT is((member, rank_by, ranked_if, offline)::text, '(player_id,"""desc"" ASC, a DESC","""not""",error)',
	'renamed columns are recorded')
FROM lb_board WHERE board = 'lbt_m';
SELECT ok(lb_wait_ready('5 min'), 'the board is ready');
SELECT pg_temp.check_board('lbt_m', 'lbt_manage', '"not"', score => '"desc"',
	dir => 'ASC', ties => 'a DESC', method => 'rank');
BEGIN;
ALTER TABLE lbt_manage RENAME player_id TO who;
UPDATE lbt_manage SET "desc" = who WHERE who < 4;
ALTER TABLE lbt_manage RENAME "desc" TO gone;
ALTER TABLE lbt_manage RENAME a TO "desc";
ALTER TABLE lbt_manage RENAME gone TO a;
UPDATE lbt_manage SET "desc" = 2 WHERE who = 5;
SELECT is(lb_rank(2, 'lbt_m'), 3::bigint, 'the transaction itself reads the board');
COMMIT;
SELECT ok(lb_wait_ready('5 min'), 'the board is ready again');
SELECT pg_temp.check_board('lbt_m', 'lbt_manage', '"not"', member => 'who',
	score => 'a', dir => 'ASC', ties => '"desc" DESC', method => 'rank');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');
SELECT lb_drop_board('lbt_m');
ALTER TABLE lbt_manage RENAME who TO player_id;

/* A generated column has to be stored: triggers do not see a virtual one. */
CREATE TABLE lbt_generated (
	player_id bigint PRIMARY KEY,
	won bigint NOT NULL,
	score bigint GENERATED ALWAYS AS (won * 2) STORED);
SELECT lb_create_board('lbt_g', 'lbt_generated');
INSERT INTO lbt_generated VALUES (1, 10), (2, 20);
SELECT ok(lb_wait_ready('5 min'), 'a stored generated column can be ranked');
SELECT is(lb_score_at_percentile(100, 'lbt_g'), 40::bigint, '... and is');
SELECT current_setting('server_version_num')::int >= 180000 AS has_virtual \gset
\if :has_virtual
ALTER TABLE lbt_generated ADD v bigint GENERATED ALWAYS AS (won) VIRTUAL,
	ADD t text GENERATED ALWAYS AS ('t') VIRTUAL,
	ADD b boolean GENERATED ALWAYS AS (true) VIRTUAL;
SELECT pg_temp.error_is(format(
	'SELECT lb_create_board(''lbt_v'', ''lbt_generated'', %s)', argument),
	'0A000', 'virtual', argument, true)
FROM (VALUES ('rank_by => ''v DESC'''), ('board_column => ''t'''),
	('ranked_if => ''b''')) x (argument);
ALTER TABLE lbt_generated DROP score,
	ADD score bigint GENERATED ALWAYS AS (won * 3) VIRTUAL;
SELECT is(lb_score_at_percentile(100, 'lbt_g'), 60::bigint,
	'a column that has become virtual is read by the query');
\else
SELECT skip('virtual generated columns came with version 18', 4);
\endif
DROP TABLE lbt_generated;

/* Dropping the table drops its boards. */
SELECT lb_create_board('lbt_m', 'lbt_manage');
DROP TABLE lbt_manage;
SELECT is_empty($$SELECT board FROM lb_board WHERE board = 'lbt_m'$$,
	'a dropped table takes its boards along');

/* What keeps a board from having an index has a hint of its own. */
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS icu \gset
\if :icu
CREATE COLLATION lbt_nocase (provider = icu, locale = 'und-u-ks-level2',
	deterministic = false);
CREATE TABLE lbt_collated (player_id bigint, part text COLLATE lbt_nocase,
	score bigint, PRIMARY KEY (player_id, part));
CREATE FUNCTION pg_temp.hint_of(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE query;
	RETURN NULL;
EXCEPTION WHEN datatype_mismatch THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN hint;
END $$;
SELECT is(pg_temp.hint_of($$SELECT lb_create_board('lbt_m', 'lbt_collated',
	board_column => 'part')$$), 'Use a stored generated column of another collation, such as lower(part).',
	'the hint is about the collation');
DROP TABLE lbt_collated;
\else
SELECT skip('there is no ICU', 1);
\endif

SELECT ok(lb_estimate_memory(1000000) BETWEEN 16000000 AND 200000000,
	'a million members take tens of megabytes');
SELECT ok(lb_estimate_memory(1000, 5) > lb_estimate_memory(1000, 1),
	'more columns take more');
SELECT finish();
