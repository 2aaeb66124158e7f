--
-- Boards that keep counts: how they are defined, and what they answer
--
CREATE TABLE game (player_id bigint PRIMARY KEY, score integer, level smallint,
	reached timestamptz DEFAULT '2026-01-01 00:00:00+00', grp text, shown boolean, name text,
	metadata jsonb);
INSERT INTO game SELECT i, nullif(i * i % 23 - 5, 3), i % 4,
	'2026-01-01 00:00:00+00'::timestamptz + (i * 7 % 10) * interval '1 day',
	chr(97 + i % 3), i % 5 > 0, 'n' || i, jsonb_build_object('i', i)
FROM generate_series(1, 60) i;
-- A table without a key.
CREATE TABLE seen (at timestamptz, who bigint, score bigint, weight double precision, ok boolean DEFAULT true);
INSERT INTO seen SELECT NULL, nullif(i % 40, 7), nullif(i % 17, 3), (i % 9) / 2.0 FROM generate_series(1, 100) i;

-- What is refused
\pset format unaligned
\pset tuples_only on
\pset null -
SELECT format(E'%s\n   %s %s / %s / %s', s, e.state, e.message, e.detail, e.hint)
FROM unnest(ARRAY['''x'', ''game'', keeps => NULL', '''x'', ''game'', keeps => ''rows''',
	'''x'', ''game'', keeps => ''COUNTS''', '''x'', ''game'', keeps => ''counts'', method => ''row_number''',
	'''x'', ''game'', keeps => ''counts'', method => ''best''',
	'''x'', ''game'', keeps => ''counts'', rank_by => ''score DESC, name''',
	'''x'', ''game'', keeps => ''counts'', rank_by => ''name DESC''',
	'''x'', ''seen'', keeps => ''counts'', member => ''who''',
	'''x'', ''seen'', keeps => ''counts'', member => ''nosuch''',
	'''x'', ''seen'', keeps => ''counts'', rank_by => ''nosuch DESC''',
	'''x'', ''seen'', keeps => ''members'', member => ''who''', '''x'', ''seen''',
	'''x'', ''seen'', keeps => ''counts'', board_column => ''at''',
	'''*'', ''game'', keeps => ''counts'', board_column => ''grp''',
	'''*'', ''game'', keeps => ''counts''']) WITH ORDINALITY s (s, o),
	lbt.error('SELECT lb_create_board(' || s || ')') e
ORDER BY o;

-- The defaults
SELECT lb_create_board('members', 'game'),
	lb_create_board('named', 'game', member => NULL, method => NULL),
	lb_create_board('counts', 'game', keeps => 'counts'),
	lb_create_board('dense', 'game', keeps => 'counts', method => 'dense_rank', rank_by => 'score ASC, level DESC'),
	lb_create_board('ids', 'game', 'player_id', keeps => 'counts'),
	lb_create_board('ties', 'game', 'player_id', 'score DESC, level ASC, reached DESC', NULL, 'dense_rank', NULL, 'counts'),
	lb_create_board('shown', 'game', 'player_id', 'score ASC', NULL, 'rank', 'shown', 'counts'),
	lb_create_board('grp', 'game', 'player_id', board_column => 'grp', keeps => 'counts'),
	lb_create_board('seen', 'seen', keeps => 'counts', ranked_if => 'ok'),
	lb_create_board('weights', 'seen', rank_by => 'weight ASC', keeps => 'counts');
SELECT board, source, member, rank_by, board_column, method, ranked_if, keeps FROM lb_board ORDER BY board;

-- The same as the definitions say, by every function that works there.
CREATE FUNCTION differences(board text, cond text, dir text, ties text, functions text DEFAULT '.', source text DEFAULT 'game',
	member text DEFAULT 'player_id', score text DEFAULT 'score')
RETURNS TABLE (board text, enable_index text, what text, operand text, got text, want text) LANGUAGE sql AS $$
	SELECT $1, d.* FROM lbt.differences($1, $6, $2, dir => $3, ties => $4, query_reads => $5 !~ 'lb_\(count\|count_between', functions => $5,
		method => (SELECT b.method FROM lb_board b WHERE b.board = split_part($1, ':', 1)),
		member => $7, score => $8) d
$$;
CREATE VIEW wrong AS
SELECT * FROM differences('ids', 'score IS NOT NULL', 'DESC', NULL)
UNION ALL SELECT * FROM differences('counts', 'score IS NOT NULL', 'DESC', NULL, '^lb_(count|count_between|rank_of_score|score_at_percentile|histogram)$')
UNION ALL SELECT * FROM differences('dense', 'score + level IS NOT NULL', 'ASC', 'level DESC', '^lb_(count|count_between|rank_of_score|score_at_percentile|histogram)$')
UNION ALL SELECT * FROM differences('seen', 'score IS NOT NULL AND ok', 'DESC', NULL, '^lb_(count|count_between|rank_of_score|score_at_percentile|histogram)$', 'seen', 'who');
SELECT * FROM differences('ties', 'score + level IS NOT NULL', 'DESC', 'level, reached DESC')
UNION ALL SELECT * FROM differences('shown', 'score IS NOT NULL AND shown', 'ASC', NULL)
UNION ALL SELECT * FROM differences('grp:a', 'score IS NOT NULL AND grp = ''a''', 'DESC', NULL)
UNION ALL SELECT * FROM differences('grp:nosuch', 'false', 'DESC', NULL);
SELECT * FROM wrong;
-- They are compared: in the other direction nothing is the same.
SELECT count(*) > 0 AS compared FROM differences('counts', 'score IS NOT NULL', 'ASC', NULL, '^lb_rank_of_score$');
-- Of other types
SELECT lb_count('weights'), lb_count_between_key('1', '2.5', 'weights'), lb_rank_of_score_key('2.25', 'weights'),
	lb_score_at_percentile_key(50, 'weights'), lb_rank_of_score_key('2.25', 'weights', 'dense_rank');
SELECT * FROM lb_histogram_key(4, 'weights');
SELECT lb_rank_of_score(7, 'counts'), lb_rank_of_score(7, 'counts', 'dense_rank'), lb_rank_of_score(7, 'counts', 'row_number');
SELECT lb_rank(4, 'ids'), lb_rank(4, 'ids', 'dense_rank'), lb_rank(4, 'ids', 'row_number'),
	(SELECT array_agg(rank) FROM lb_ranks('{4,5}', 'ids', 'row_number')), lb_tier(4, 'ids', '{10,50}'),
	lb_metadata(4, 'ids');

-- Without a member, what needs one
SELECT format('%s %s / %s', e.state, e.message, e.detail) AS error, e.hint, count(*)
FROM unnest(ARRAY['lb_rank(1, ''counts'')', 'lb_rank(NULL, ''counts'')', 'lb_rank(1, ''counts'', ''row_number'')',
	'lb_rank_key(''1'', ''counts'')', 'lb_score(1, ''counts'')', 'lb_score_key(''1'', ''seen'')',
	'lb_percentile(1, ''counts'')', 'lb_player(1, ''counts'')', 'lb_player_key(''1'', ''weights'')',
	'lb_metadata(1, ''counts'')', 'lb_tier(1, ''counts'', ''{1}'')', 'lb_tier_key(''1'', ''weights'', ''{1}'')',
	'lb_top(1, ''counts'')', 'lb_top_key(1, ''weights'')', 'lb_page(1, ''counts'')',
	'lb_top_json(1, ''counts'')', 'lb_at(1, ''counts'')', 'lb_at_key(1, ''weights'')',
	'lb_around(1, ''counts'')', 'lb_ranks(''{1}'', ''counts'')', 'lb_ranks_key(''{1}'', ''weights'')',
	'lb_among(''{1}'', ''counts'')', 'lb_count_before(1, ''{}'', 1, ''counts'')',
	'lb_count_before_key(''1'', ''{}'', ''1'', ''weights'')', 'lb_rank_json(1, ''counts'')',
	'lb_rank_json_key(''1'', ''weights'')', 'lb_watch(''counts'', 3)', 'lb_watch_member(1, ''counts'')',
	'lb_watch_member_key(''1'', ''weights'')']) s,
	lbt.error('SELECT ' || s) e
GROUP BY 1, 2 ORDER BY 1;
SELECT format(E'%s\n   %s %s / %s / %s', s, e.state, e.message, e.detail, e.hint)
FROM unnest(ARRAY['lb_close_season(''counts'', ''s'', 0)', 'lb_close_season(''ids'', ''s'', 0)', 'lb_hide(1, ''{seen}'')',
	'lb_count_between(1, 2, ''weights'')']) WITH ORDINALITY s (s, o),
	lbt.error('SELECT ' || s) e
ORDER BY o;
SELECT lb_show(1, '{shown}');

-- Rows whose member is null are off the board, as on one that keeps members.
CREATE TABLE one (id bigint UNIQUE, score integer);
INSERT INTO one VALUES (1, 5), (NULL, 5), (2, 5), (NULL, 9), (3, 5), (NULL, NULL), (4, 1), (NULL, 1);
CREATE TABLE pairs (id bigint, sub integer, score integer, UNIQUE (id, sub));
INSERT INTO pairs SELECT id, CASE WHEN id <> 2 THEN 7 END, score FROM one;
SELECT lb_create_board('one', 'one', 'id', keeps => 'counts'), lb_create_board('pairs', 'pairs', 'id, sub', keeps => 'counts'),
	lb_create_board('all', 'one', keeps => 'counts');
SELECT lb_count('one'), lb_count('pairs'), lb_count('all'), lb_rank(4, 'one'), lb_player(4, 'one'), lb_rank_key('(4,7)', 'pairs');
UPDATE one SET id = 5 WHERE score = 9;
UPDATE one SET id = NULL WHERE id = 1;
UPDATE pairs SET sub = 7 WHERE id = 2;
SELECT lb_count('one'), lb_count('pairs'), lb_count('all'), lb_rank(4, 'one'), lb_rank(1, 'one'), lb_rank_key('(2,7)', 'pairs');
SELECT * FROM lb_top(9, 'one');
SELECT * FROM lb_verify();
DROP TABLE one, pairs;

-- An index may take names for the same that the query does not.
CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE names (name text COLLATE "C" NOT NULL, score integer);
CREATE UNIQUE INDEX ON names (name COLLATE ci);
INSERT INTO names SELECT 'N' || i, i FROM generate_series(1, 9) i;
SELECT lb_create_board('names', 'names', 'name', keeps => 'counts');
SELECT lb_rank_key('N5', 'names'), lb_rank_key('n5', 'names'), lb_score_key('n5', 'names');
SELECT * FROM lb_ranks_key('{n5,N5}', 'names');
SELECT index_reads, query_counts FROM lb_stat('names');
-- Operators of another class can be the same.
DROP INDEX names_name_idx;
CREATE UNIQUE INDEX ON names (name text_pattern_ops);
SELECT lb_rebuild('names');
SELECT lb_stat_reset();
SELECT lb_rank_key('N5', 'names'), lb_rank_key('n5', 'names');
SELECT index_reads, query_reads FROM lb_stat('names');
DROP TABLE names;
DROP COLLATION ci;

-- Why the queries were run
SELECT lb_stat_reset();
SELECT lb_rank(1, 'ids'), lb_count('ids'), lb_metadata(1, 'ids') FROM lb_among('{1}', 'ids');
SELECT query_counts, query_reads - query_counts AS others FROM lb_stat('ids');
SET leaderboard.enable_index = off;
SELECT lb_rank(1, 'members'), lb_rank(1, 'ids');
RESET leaderboard.enable_index;
SELECT board, query_counts, query_disabled FROM lb_stat_board WHERE board IN ('members', 'ids') ORDER BY 1;

-- Writes
INSERT INTO game VALUES (1000, 7, 1), (1001, NULL, 2);
UPDATE game SET score = score + 3 WHERE player_id % 3 = 0;
DELETE FROM game WHERE player_id % 7 = 0;
BEGIN;
UPDATE game SET score = 5 WHERE player_id < 20;
SAVEPOINT s;
DELETE FROM game WHERE player_id < 30;
SELECT lb_count('counts'), lb_rank_of_score(5, 'counts'), lb_rank(33, 'ids');
ROLLBACK TO s;
SELECT * FROM wrong;
COMMIT;
INSERT INTO seen SELECT NULL, NULL, i % 5, i FROM generate_series(1, 20) i;
UPDATE seen SET ok = NOT ok WHERE who = 5;
SELECT * FROM differences('seen', 'score IS NOT NULL AND ok', 'DESC', NULL, '^lb_(count|count_between|rank_of_score|score_at_percentile|histogram)$', 'seen', 'who');
SELECT lb_count('counts') = lb_count('members') AS same, lb_count('weights');

-- A partitioned table, without a key and with one
CREATE TABLE parts (id bigint, score bigint, day date) PARTITION BY RANGE (score);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts2 PARTITION OF parts DEFAULT;
CREATE TABLE keyed (id bigint PRIMARY KEY, score bigint) PARTITION BY HASH (id);
CREATE TABLE keyed0 PARTITION OF keyed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE keyed1 PARTITION OF keyed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT i, i * 3 % 200, '2026-01-01'::date + (i % 9)::integer FROM generate_series(1, 100) i;
INSERT INTO keyed SELECT id, score FROM parts;
SELECT lb_create_board('parts', 'parts', keeps => 'counts'), lb_create_board('keyed', 'keyed', 'id', keeps => 'counts');
UPDATE parts SET score = 150 WHERE id = 1;
UPDATE keyed SET score = 150 WHERE id = 1;
SELECT * FROM differences('parts', 'score IS NOT NULL', 'DESC', NULL,
	'^lb_(count|count_between|rank_of_score|score_at_percentile|histogram)$', 'parts', 'id')
UNION ALL SELECT * FROM differences('keyed', 'score IS NOT NULL', 'DESC', NULL, '^lb_(rank|player|top|around|count)$', 'keyed', 'id');
-- A query finds the member's row, and the index its rank.
SELECT lb_stat_reset();
SELECT lb_rank(5, 'keyed'), lb_score(5, 'keyed'), lb_percentile(5, 'keyed'), lb_rank(1000, 'keyed');
SELECT * FROM lb_ranks('{3,1000,1}', 'keyed');
SELECT * FROM lb_around(5, 'keyed', 1);
SELECT index_reads, query_reads FROM lb_stat('keyed');

-- Plain SQL: aggregates, and the ranks of rows that an index of the table finds
CREATE VIEW ranked AS SELECT player_id, score, level, rank() OVER s AS r, dense_rank() OVER s AS d, percent_rank() OVER s AS p,
	cume_dist() OVER s AS c, count(*) OVER () AS n, count(*) OVER s AS upto
FROM game WHERE score IS NOT NULL WINDOW s AS (ORDER BY score DESC);
CREATE VIEW numbered AS SELECT player_id, score, row_number() OVER (ORDER BY score DESC, player_id) AS r
FROM game WHERE score IS NOT NULL;
CREATE FUNCTION by_board(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan; RETURN plan::text ~ 'Leaderboard'; END$$;
SELECT lb_drop_board('members'), lb_drop_board('named');
ANALYZE game;
SET enable_seqscan = off;
SELECT * FROM ranked WHERE player_id IN (4, 33, 1000) ORDER BY 1;
SET leaderboard.enable_planner = off;
SELECT * FROM ranked WHERE player_id IN (4, 33, 1000) ORDER BY 1;
RESET leaderboard.enable_planner;
SELECT by_board('SELECT * FROM ranked WHERE player_id = 4') AS ranked, by_board('SELECT * FROM numbered WHERE player_id = 4') AS numbered,
	by_board('SELECT * FROM ranked WHERE r <= 3') AS range, by_board('SELECT count(*), min(score) FROM game WHERE score > 5') AS aggregates;
RESET enable_seqscan;
SELECT lb_create_board('members', 'game'), lb_create_board('named', 'game');
DROP VIEW ranked, numbered;
DROP FUNCTION by_board;

-- Names, and types
ALTER TABLE game RENAME score TO points;
ALTER TABLE game RENAME player_id TO who;
ALTER TABLE seen RENAME ok TO good;
ALTER TABLE seen RENAME score TO worth;
SELECT board, member, rank_by, ranked_if, keeps FROM lb_board WHERE source IN ('game'::regclass, 'seen'::regclass) ORDER BY board;
SELECT * FROM differences('ids', 'points IS NOT NULL', 'DESC', NULL, '^lb_(rank|player|top|around|count)$', 'game', 'who', 'points')
UNION ALL SELECT * FROM differences('seen', 'worth IS NOT NULL AND good', 'DESC', NULL,
	'^lb_(count|count_between|rank_of_score|score_at_percentile|histogram)$', 'seen', 'who', 'worth');
ALTER TABLE game RENAME TO "Game";
SELECT lb_count('counts'), lb_rank(2, 'ids');
ALTER TABLE "Game" RENAME TO game;
ALTER TABLE seen ALTER worth TYPE numeric(9, 2);
SELECT lb_count('seen'), lb_rank_of_score_key('4.5', 'seen');
ALTER TABLE seen ALTER worth TYPE text USING worth::text;
INSERT INTO seen (worth) VALUES ('5.00');
\set VERBOSITY terse
SELECT lb_count('seen');
ALTER TABLE seen DROP COLUMN good;
INSERT INTO seen (worth) VALUES ('5.00');
SELECT lb_count('seen');
\set VERBOSITY default
-- The unique index matters where there is a member.
ALTER TABLE game DROP CONSTRAINT game_pkey;
INSERT INTO game (who, points) VALUES (2, 1);
SELECT lb_count('counts'), lb_count('ids');
DELETE FROM game WHERE who = 2 AND points = 1;
ALTER TABLE game ADD PRIMARY KEY (who);

-- Rows of lb_board that are written by hand
\set VERBOSITY terse
INSERT INTO lb_board (board, source, member, rank_by, method) VALUES ('hand', 'game', NULL, 'points DESC', 'rank');
INSERT INTO lb_board (board, source, rank_by, method, keeps) VALUES ('hand', 'game', 'points DESC', 'rank', 'rows');
INSERT INTO lb_board (board, source, rank_by, method, keeps) VALUES ('hand', 'game', 'points DESC', 'rank', NULL);
INSERT INTO lb_board (board, source, rank_by, method, keeps) VALUES ('hand', 'game', 'points DESC', 'row_number', 'counts');
\set VERBOSITY default
INSERT INTO lb_board (board, source, rank_by, method, keeps) VALUES
	('hand', 'game', 'points DESC', 'rank', 'counts'),
	('hand_text', 'game', 'points DESC, name ASC', 'rank', 'counts'),
	('hand_list', 'game', 'what, ever, not', 'rank', 'counts');
INSERT INTO lb_board (board, source, member, rank_by, method, keeps) VALUES
	('hand_member', 'game', 'who', 'points DESC', 'dense_rank', 'counts');
INSERT INTO game (who, points) VALUES (2000, 4);
SELECT lb_count('hand') = lb_count('members') AS hand, lb_count('hand_text') = count(*) AS hand_text, lb_rank(2000, 'hand_member')
FROM game WHERE points IS NOT NULL AND name IS NOT NULL;
SELECT state, message FROM lbt.error('SELECT lb_count(''hand_list'')');
-- The other way: keys that were a board's of members are not its any more.
UPDATE lb_board SET keeps = 'counts', method = 'rank' WHERE board = 'members';
SELECT lb_rank(2000, 'members') = lb_rank(2000, 'ids') AS same;
UPDATE game SET points = 6 WHERE who = 2000;
UPDATE lb_board SET keeps = 'members' WHERE board = 'members';
SELECT lb_rank(2000, 'members') = lb_rank(2000, 'ids') AS same, lb_count('members') = lb_count('ids') AS same;
SELECT * FROM lb_verify('members');
DELETE FROM lb_board WHERE board ~ '^hand';

-- Memory
SELECT lb_estimate_memory(1000000000, 1, keeps => 'counts', distinct_scores => 1000000) < lb_estimate_memory(1000000) AS less,
	lb_estimate_memory(100, keeps => 'counts', distinct_scores => 1000000)
		= lb_estimate_memory(1000, keeps => 'counts', distinct_scores => 100) AS at_most_rows,
	lb_estimate_memory(5000, 7, 'counts', 5000) > lb_estimate_memory(5000, 1, 'counts', 5000) AS more,
	lb_estimate_memory(5000, keeps => NULL) AS none,
	lb_estimate_memory(5000, 2, 'members', NULL) = lb_estimate_memory(5000) AS members;
SELECT format(E'%s\n   %s %s / %s / %s', s, e.state, e.message, e.detail, e.hint)
FROM unnest(ARRAY['5, keeps => ''rows''', '5, keeps => ''counts''', '5, distinct_scores => 3',
	'-1, keeps => ''counts'', distinct_scores => 3', '5, keeps => ''counts'', distinct_scores => -3',
	'5, 8, keeps => ''counts'', distinct_scores => 3']) WITH ORDINALITY s (s, o),
	lbt.error('SELECT lb_estimate_memory(' || s || ')') e
ORDER BY o;

-- Privileges are the caller's, and so are policies.
CREATE ROLE regress_lb_counts;
\set VERBOSITY terse
SET ROLE regress_lb_counts;
SELECT lb_count('counts');
SELECT lb_rank(2, 'ids');
SELECT lb_top(2, 'counts');
RESET ROLE;
GRANT SELECT ON game TO regress_lb_counts;
ALTER TABLE game ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON game USING (who < 5);
SET ROLE regress_lb_counts;
SELECT lb_count('counts'), lb_rank(2, 'ids'), lb_count('ids');
RESET ROLE;
\set VERBOSITY default

SELECT lb_drop_board(board) FROM lb_board ORDER BY board;
SELECT count(*) FROM pg_trigger WHERE tgname ~ '^leaderboard';
DROP VIEW wrong;
DROP FUNCTION differences;
DROP TABLE game, seen, parts, keyed;
DROP ROLE regress_lb_counts;
SELECT * FROM lb_verify();
\pset format aligned
\pset tuples_only off
\pset null ''
