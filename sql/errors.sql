--
-- What is refused, and what is said about it
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint, grp text);
INSERT INTO t SELECT i, i, i % 2 FROM generate_series(1, 9) i;
CREATE TABLE f (player_id bigint, grp text, score bigint, PRIMARY KEY (player_id, grp));
SELECT lb_create_board('t', 't'), lb_create_board('f', 'f', board_column => 'grp');
SELECT lb_wait_ready();
\pset format unaligned
\pset null -
\pset tuples_only on

-- Arguments of reads, whichever way they are answered.
CREATE FUNCTION read_errors(state text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT set_config('leaderboard.enable_index', state, false)
	UNION ALL
	-- What PostgreSQL says about functions that do not exist differs between versions.
	SELECT format(E'%s\n   %s %s / %s / %s', s, e.state, e.message,
		CASE WHEN e.state <> '42883' THEN e.detail END,
		CASE WHEN e.state <> '42883' THEN e.hint END) FROM unnest(ARRAY[
		'SELECT lb_rank(1)',
		'SELECT lb_rank(1, ''nosuch'')',
		'SELECT lb_rank(1, ''nosuch:x'')',
		'SELECT lb_rank(1, ''f'')',
		'SELECT lb_rank(1, NULL)',
		'SELECT lb_rank(1, ''t'', ''best'')',
		'SELECT lb_rank(1, ''t'', '''')',
		'SELECT lb_rank(1, ''t'', ''RANK'')',
		'SELECT lb_rank(NULL, ''nosuch'')',
		'SELECT lb_score(1, NULL)',
		'SELECT lb_score(1, ''T'')',
		'SELECT lb_percentile(1, NULL)',
		'SELECT lb_percentile(1, ''nosuch'')',
		'SELECT lb_player(1, NULL)',
		'SELECT lb_player(1, ''nosuch'')',
		'SELECT lb_top(-1, ''t'')',
		'SELECT lb_top(NULL, ''t'')',
		'SELECT lb_top(1, NULL)',
		'SELECT lb_top(1, ''t'', -1)',
		'SELECT lb_top(1, ''t'', NULL)',
		'SELECT lb_top(1, ''nosuch'')',
		'SELECT lb_top_json(-1, ''t'')',
		'SELECT lb_top_json(NULL, ''t'')',
		'SELECT lb_top_json(1, NULL)',
		'SELECT lb_top_json(1, ''t'', -1)',
		'SELECT lb_top_json(1, ''t'', NULL)',
		'SELECT lb_top_json(1, ''nosuch'')',
		'SELECT lb_top_json(1, ''f'')',
		'SELECT lb_at(1, NULL)',
		'SELECT lb_at(1, ''nosuch'')',
		'SELECT lb_around(1, ''t'', -1)',
		'SELECT lb_around(1, ''t'', NULL)',
		'SELECT lb_around(NULL, ''t'', -1)',
		'SELECT lb_around(1, NULL)',
		'SELECT lb_around(1, ''nosuch'')',
		'SELECT lb_count(NULL)',
		'SELECT lb_count(''nosuch'')',
		'SELECT lb_count_between(1, 2, NULL)',
		'SELECT lb_count_between(1, 2, ''nosuch'')',
		'SELECT lb_rank_of_score(1, NULL)',
		'SELECT lb_rank_of_score(1, ''nosuch'')',
		'SELECT lb_rank_of_score(1, ''t'', ''x'')',
		'SELECT lb_score_at_percentile(-0.1, ''t'')',
		'SELECT lb_score_at_percentile(100.1, ''t'')',
		'SELECT lb_score_at_percentile(100.0001, ''t'')',
		'SELECT lb_score_at_percentile(-1e-300, ''t'')',
		'SELECT lb_score_at_percentile(1e-323, ''t'')',
		'SELECT lb_score_at_percentile(''NaN'', ''t'')',
		'SELECT lb_score_at_percentile(''-Infinity'', ''t'')',
		'SELECT lb_score_at_percentile(1, NULL)',
		'SELECT lb_score_at_percentile(1, ''nosuch'')',
		'SELECT lb_ranks(''{1}'', NULL)',
		'SELECT lb_ranks(''{1}'', ''nosuch'')',
		'SELECT lb_ranks(''{1}'', ''t'', ''x'')',
		'SELECT lb_among(''{1}'', NULL)',
		'SELECT lb_among(''{1}'', ''nosuch'')',
		'SELECT lb_histogram(0, ''t'')',
		'SELECT lb_histogram(-1, ''t'')',
		'SELECT lb_histogram(NULL, ''t'')',
		'SELECT lb_histogram(1, NULL)',
		'SELECT lb_histogram(1, ''nosuch'')',
		-- Too big for the type, which is not ours to say.
		'SELECT lb_rank(9223372036854775808, ''t'')',
		'SELECT lb_rank(''x'', ''t'')',
		'SELECT lb_top(2147483648, ''t'')']) s, lbt.error(s) e
$$;
SELECT read_errors('on');
SELECT count(*) FROM (SELECT read_errors('on') EXCEPT SELECT read_errors('off')) x
WHERE read_errors NOT IN ('on', 'off');
RESET leaderboard.enable_index;
DROP FUNCTION read_errors;

-- rank_by
SELECT format(E'%s\n   %s %s / %s / %s', r, e.state, e.message, e.detail, e.hint)
FROM unnest(ARRAY['', ' ', ',', 'score,', 'score DESC,', ',score', 'score,,player_id',
	'score DESCENDING', 'score ASC DESC', 'score score', 'score DESC NULLS LAST',
	'score NULLS FIRST', 'score COLLATE "C"', 'score USING >', '-score', '+score',
	'score + 1', 'score*2 DESC', '(score) + 1', 'abs(score) * 2', 'score::int', 't.score',
	'score.x', '1', '1 DESC', '''score''', '$1', 'NULL', 'score IS NULL',
	'score BETWEEN 1 AND 2', 'NOT score', 'CASE score', 'random() DESC', 'score; DROP TABLE t',
	'score -- x', '-- x', 'score /* x */', '"score', '""', 'U&"score"', 'score[1]',
	'score DESC, score ASC', '"score", SCORE', 'select', 'user', 'a,b,c,d,e,f,g,h',
	'nosuch DESC', 'score ASC, nosuch DESC', 'ctid DESC', 'score DESC, xmin', 'grp DESC',
	repeat('x', 100) || ' DESC', E'\u00e9 DESC', 'score' || E'\u00a0' || 'DESC ASC', 'score', '"sco re", score DESC', '@score', '{', '%s'])
	WITH ORDINALITY r (r, o),
	lbt.error(format('SELECT lb_create_board(%L, %L, rank_by => %L)', 'x', 't', r)) e
ORDER BY o;
SELECT lb_create_board('ok' || o, 't', rank_by => r)
FROM unnest('{score ASC,SCORE Desc,"\"score\" asc, player_id"," score
	DESC ,	player_id"}'::text[]) WITH ORDINALITY r (r, o);
SELECT board, rank_by FROM lb_board WHERE board ~ 'ok' ORDER BY board;
SELECT lb_drop_board(board) FROM lb_board WHERE board ~ 'ok';

-- Boards that cannot be.
CREATE VIEW v AS SELECT * FROM t;
CREATE MATERIALIZED VIEW mv AS SELECT * FROM t;
CREATE SEQUENCE s;
CREATE TYPE comp AS (player_id bigint, score bigint);
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE ft (player_id bigint, score bigint) SERVER nowhere;
CREATE TEMP TABLE tt (player_id bigint PRIMARY KEY, score bigint);
CREATE TABLE pt (player_id bigint, score bigint, PRIMARY KEY (player_id, score)) PARTITION BY HASH (score);
CREATE DOMAIN points AS interval;
CREATE TABLE u (n numeric UNIQUE, i bigint UNIQUE, txt name UNIQUE, p points UNIQUE,
	f numeric(19,2), ch char(3), tm timetz, iv interval, ar bigint[], b bit, e bigint);
CREATE TABLE noindex (player_id bigint, score bigint, grp text, d bigint, ok boolean);
SELECT format(E'%s\n   %s %s / %s / %s', s, e.state, e.message, e.detail, e.hint)
FROM unnest(ARRAY[
	'''t'', ''t''', '''f'', ''t''', ''''', ''t''', '''a:b'', ''t''',
	'repeat(''x'', 64), ''t''', 'NULL, ''t''', '''x'', NULL',
	'''x'', ''t'', rank_by => NULL',
	'''x'', ''t'', method => ''best''', '''*'', ''t''', '''x'', ''nosuch''',
	'''x'', 0', '''x'', 4294967295', '''x'', ''t'', ''nosuch''',
	'''x'', ''t'', ''''', '''x'', ''t'', ''ctid''', '''x'', ''t'', ''grp''',
	'''x'', ''t'', board_column => ''nosuch''', '''x'', ''t'', board_column => ''tableoid''',
	'''x'', ''t'', ranked_if => ''nosuch''', '''x'', ''t'', ranked_if => ''score''',
	'''x'', ''v''', '''x'', ''mv''', '''x'', ''s''', '''x'', ''comp''', '''x'', ''ft''',
	'''x'', ''tt''', '''x'', ''pt''', '''x'', ''t_pkey''', '''x'', ''pg_class''',
	'''x'', ''pg_largeobject'', ''loid'', ''pageno DESC''',
	'''x'', ''information_schema.tables''', '''x'', ''lb_stat_board''',
	'''x'', ''u'', ''n'', ''e DESC''', '''x'', ''u'', ''txt'', ''e DESC''',
	'''x'', ''u'', ''p'', ''e DESC''', '''x'', ''u'', ''i'', ''n DESC''', '''x'', ''u'', ''i'', ''f DESC''',
	'''x'', ''u'', ''i'', ''p DESC''', '''x'', ''u'', ''i'', ''txt DESC''',
	'''x'', ''u'', ''i'', ''b DESC''', '''x'', ''u'', ''i'', ''ar DESC''',
	'''x'', ''u'', ''i'', ''e ASC, n''', '''x'', ''u'', ''i'', ''e ASC, tm''',
	'''x'', ''u'', ''i'', ''e ASC, iv''', '''x'', ''u'', ''i'', ''e ASC, b''',
	'''x'', ''u'', ''i'', ''e DESC'', ''n''', '''x'', ''u'', ''i'', ''e DESC'', ''ch''',
	'''x'', ''u'', ''i'', ''e DESC'', ''b''', '''x'', ''u'', ''i'', ''e DESC'', ''p''',
	'''x'', ''u'', ''i'', ''e DESC'', ranked_if => ''n''',
	'''x'', ''noindex''', '''x'', ''noindex'', board_column => ''grp''',
	'''x'', ''f''']) WITH ORDINALITY s (s, o),
	lbt.error('SELECT lb_create_board(' || s || ')') e
ORDER BY o;

-- A unique index that is not immediate, or not of all rows, or of more columns, or
-- of an expression.
SELECT * FROM lbt.error($$SELECT lb_create_board('x', 'noindex')$$);
CREATE INDEX ON noindex (player_id);
CREATE UNIQUE INDEX ON noindex (player_id) WHERE score > 0;
CREATE UNIQUE INDEX ON noindex (player_id, d);
CREATE UNIQUE INDEX ON noindex (abs(player_id));
CREATE UNIQUE INDEX ON noindex (grp);
ALTER TABLE noindex ADD UNIQUE (player_id) DEFERRABLE;
SELECT state FROM lbt.error($$SELECT lb_create_board('x', 'noindex')$$);
CREATE UNIQUE INDEX ON noindex (player_id, grp);
SELECT state FROM lbt.error($$SELECT lb_create_board('x', 'noindex')$$);
SELECT lb_create_board('x', 'noindex', board_column => 'grp');
SELECT lb_drop_board('x');
CREATE UNIQUE INDEX ON noindex (player_id) INCLUDE (score);
SELECT lb_create_board('x', 'noindex', board_column => 'grp');
SELECT lb_drop_board('x');
SELECT lb_create_board('x', 'noindex');
SELECT lb_drop_board('x');
-- Nothing is left of what failed.
SELECT tgname FROM pg_trigger
WHERE tgrelid IN ('noindex'::regclass, 'u'::regclass) AND NOT tgisinternal;
SELECT board FROM lb_board ORDER BY board;

-- Managing what is not there, and nulls.
SELECT format(E'%s\n   %s %s / %s / %s', s, e.state, e.message, e.detail, e.hint)
FROM unnest(ARRAY[
	'lb_drop_board(''nosuch'')', 'lb_drop_board(''f:x'')', 'lb_drop_board(NULL)',
	'lb_rebuild(''nosuch'')', 'lb_rebuild(''f:x'')', 'lb_verify(''nosuch'')',
	'lb_verify(''nosuch:x'')', 'lb_estimate_memory(-1)', 'lb_estimate_memory(1, 0)',
	'lb_estimate_memory(1, 8)', 'lb_estimate_memory(9223372036854775807)',
	'lb_wait_ready(''178000000 years'')']) WITH ORDINALITY s (s, o),
	lbt.error('SELECT ' || s) e
ORDER BY o;
SELECT lb_estimate_memory(NULL), lb_estimate_memory(1, NULL), lb_estimate_memory(0) > 0,
	lb_estimate_memory(1000) < lb_estimate_memory(10000),
	lb_estimate_memory(10000, 2) < lb_estimate_memory(10000, 7),
	lb_estimate_memory(10000000) / 10000000 BETWEEN 40 AND 64;
SELECT lb_wait_ready('-1 second'), lb_wait_ready(NULL);

-- A server that follows no other one
SELECT * FROM lb_lag();
SELECT format(E'%s\n   %s %s / %s / %s', s, e.state, e.message, e.detail, e.hint)
FROM unnest(ARRAY[
	'lb_wait_for(''0/1'')', 'lb_wait_for(''0/1'', NULL)', 'lb_wait_for(''0/1'', ''0'', ''nosuch'')',
	'lb_wait_for(NULL)', 'lb_wait_for(''0/1'', ''178000000 years'')']) WITH ORDINALITY s (s, o),
	lbt.error('SELECT ' || s) e
ORDER BY o;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT state, message, hint FROM lbt.error($$SELECT lb_wait_for('0/1')$$);
ROLLBACK;
SET client_min_messages = error;
CREATE SUBSCRIPTION regress_lb CONNECTION 'dbname=nosuch' PUBLICATION p WITH (connect = false);
RESET client_min_messages;
SELECT * FROM lb_lag();
SELECT lb_wait_for('0/1'), lb_wait_for('0/1', '1 hour', 'regress_lb');
ALTER SUBSCRIPTION regress_lb SET (slot_name = NONE);
DROP SUBSCRIPTION regress_lb;

\set VERBOSITY terse
-- Writes to lb_board itself keep to what can be checked.
INSERT INTO lb_board (board, source, member, rank_by, method)
VALUES ('a:b', 't', 'player_id', 'score DESC', 'rank');
INSERT INTO lb_board (board, source, member, rank_by, method)
VALUES ('', 't', 'player_id', 'score DESC', 'rank');
INSERT INTO lb_board (board, source, member, rank_by, method)
VALUES ('x', 't', 'player_id', 'score DESC', 'best');
INSERT INTO lb_board (board, source, member, rank_by, method)
VALUES ('t', 't', 'player_id', 'score DESC', 'rank');

-- After an error.
BEGIN;
SELECT 1 / 0;
SELECT lb_rank(1, 't');
SELECT * FROM lb_top(1, 't');
ROLLBACK;
BEGIN;
SELECT lb_rank(1, 'nosuch');
ROLLBACK;
SELECT lb_rank(1, 't');
-- In a transaction that must not write.
BEGIN READ ONLY;
SELECT lb_rank(1, 't');
SELECT lb_create_board('t', 't', if_not_exists => true);
SELECT lb_create_board('x', 't');
ROLLBACK;
BEGIN READ ONLY;
SELECT lb_drop_board('t');
ROLLBACK;
\set VERBOSITY default
-- Sets where there is no place for one.
SELECT * FROM t WHERE player_id = lb_top(1, 't');
SELECT CASE WHEN true THEN lb_top(1, 't') END;
\pset tuples_only off
\pset format aligned
\pset null ''
SET client_min_messages = warning;
DROP FOREIGN DATA WRAPPER nothing CASCADE;
RESET client_min_messages;
DROP MATERIALIZED VIEW mv;
DROP VIEW v;
DROP SEQUENCE s;
DROP TYPE comp;
DROP TABLE t, f, tt, pt, u, noindex;
DROP DOMAIN points;
SELECT * FROM lb_board;
SELECT * FROM lb_verify();
