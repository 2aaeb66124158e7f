--
-- Pages of boards that keep counts: by a B-tree of the table, from the right score on
--
CREATE TABLE page (id bigint PRIMARY KEY, score integer NOT NULL, tie smallint NOT NULL, grp varchar NOT NULL,
	price numeric(9, 2) NOT NULL, weight double precision NOT NULL, day date, ok boolean NOT NULL, note text);
INSERT INTO page SELECT i, i * 7919 % 150 - 50, i % 4, chr(97 + (i % 3)::integer), (i % 90) / 8.0,
	CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE i % 40 - 20.0::double precision END,
	CASE WHEN i % 100 > 0 THEN '2026-01-01'::date + (i % 60)::integer END, i % 5 > 0, 'n' || i
FROM generate_series(1::bigint, 6000) i;
SELECT lb_create_board('score', 'page', 'id', 'score DESC', keeps => 'counts'),
	lb_create_board('ties', 'page', 'id', 'score ASC, tie DESC', method => 'dense_rank', keeps => 'counts'),
	lb_create_board('grp', 'page', 'id', 'score DESC', 'grp', keeps => 'counts'),
	lb_create_board('price', 'page', 'id', 'price DESC', keeps => 'counts'),
	lb_create_board('weight', 'page', 'id', 'weight DESC', keeps => 'counts'),
	lb_create_board('day', 'page', 'id', 'day ASC', keeps => 'counts'),
	lb_create_board('ok', 'page', 'id', 'score DESC', method => 'rank', ranked_if => 'ok', keeps => 'counts');
SELECT lb_wait_ready();

-- The functions, without such an index and with it: all that they return is what the query returns.
CREATE TABLE few (id bigint PRIMARY KEY, score integer NOT NULL, tie smallint NOT NULL, ok boolean NOT NULL);
INSERT INTO few SELECT i, i * 7 % 11, i % 3, i % 4 > 0 FROM generate_series(1, 50) i;
SELECT lb_create_board('few', 'few', 'id', 'score DESC', keeps => 'counts'),
	lb_create_board('few_ties', 'few', 'id', 'score ASC, tie DESC', method => 'dense_rank', keeps => 'counts'),
	lb_create_board('few_ok', 'few', 'id', 'score DESC', method => 'rank', ranked_if => 'ok', keeps => 'counts');
CREATE VIEW wrong AS
SELECT b.board, f.* FROM (VALUES ('few', 'true', 'DESC', NULL), ('few_ties', 'true', 'ASC', 'tie DESC'), ('few_ok', 'ok', 'DESC', NULL)) b (board, cond, dir, ties),
	lbt.differences(b.board, 'few', b.cond, dir => b.dir, ties => b.ties, query_reads => false, functions => '^lb_(top|page|at|around)',
		method => (SELECT l.method FROM lb_board l WHERE l.board = b.board), member => 'id') f;
SELECT * FROM wrong;
CREATE INDEX ON few (score DESC, id);
CREATE INDEX ON few (score, tie DESC, id);
SELECT * FROM wrong;
CREATE INDEX score_id ON page (score DESC, id);
CREATE INDEX tie_id ON page (score, tie DESC, id);
CREATE INDEX grp_id ON page (grp, score, id DESC);
CREATE INDEX price_id ON page (price, id);
CREATE INDEX weight_id ON page (weight DESC, id DESC);
CREATE INDEX day_id ON page (day, id);
VACUUM ANALYZE page;
SELECT lb_at_key(3000, 'price'), lb_at_key(5999, 'weight'), lb_at_key(100, 'weight'), lb_at_key(5000, 'day'), lb_at_key(5941, 'day'),
	lb_at_key(2000, 'grp:a'), lb_at_key(2001, 'grp:a'), lb_at_key(1, 'grp:z');
SELECT * FROM lb_top_key(2, 'price', 5998) UNION ALL SELECT * FROM lb_around_key('77', 'weight', 1) UNION ALL
SELECT * FROM lb_around_key('100', 'day', 1) UNION ALL SELECT * FROM lb_around_key('77', 'day', 1);
SELECT lb_top_json(2, 'ties', 4000)::json -> 'entries' AS top, lb_rank_json_key('77', 'grp:c') AS rank;
SELECT * FROM lb_page(2, 'ties', 4000);
SELECT board, query_reads FROM lb_stat_board WHERE query_reads > 0 AND board IN ('price', 'weight', 'day') ORDER BY 1;
-- They read the page, and what ties with its first row.
CREATE FUNCTION rows_read(query text, index text DEFAULT 'score_id') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE before bigint := pg_stat_get_xact_tuples_returned(index::regclass);
BEGIN EXECUTE query; RETURN pg_stat_get_xact_tuples_returned(index::regclass) - before; END$$;
SELECT rows_read('SELECT * FROM lb_top(3, ''score'', 5000)') < 50 AS top, rows_read('SELECT lb_at(5000, ''score'')') < 50 AS at,
	rows_read('SELECT * FROM lb_around(4321, ''score'', 3)') < 150 AS around,
	rows_read('SELECT id FROM page ORDER BY score DESC, id LIMIT 3 OFFSET 5000') < 50 AS plain;

-- Plain SQL
CREATE FUNCTION page(query text, OUT node boolean, OUT same boolean, OUT n bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	other bigint[];
	ids bigint[];
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	node := plan::text ~ 'Leaderboard Index Page';
	EXECUTE 'SELECT array_agg(q.id) FROM (' || query || ') q' INTO ids;
	SET LOCAL leaderboard.enable_planner = off;
	EXECUTE 'SELECT array_agg(q.id) FROM (' || query || ') q' INTO other;
	SET LOCAL leaderboard.enable_planner = on;
	same := ids IS NOT DISTINCT FROM other;
	n := cardinality(ids);
END $$;
-- What a counts board of this index's order has
SELECT q, p.* FROM unnest(ARRAY[
	'SELECT id FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY score, id DESC LIMIT 7 OFFSET 3001',
	'SELECT id FROM page ORDER BY score, tie DESC, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY score DESC, tie, id DESC LIMIT 7 OFFSET 2999',
	'SELECT id FROM page WHERE grp = ''b'' ORDER BY score, id DESC LIMIT 7 OFFSET 1000',
	'SELECT id FROM page WHERE grp = ''b'' ORDER BY score DESC, id LIMIT 7 OFFSET 1003',
	'SELECT id FROM page WHERE grp = ''b'' AND score BETWEEN -10 AND 60 ORDER BY score DESC, id LIMIT 7 OFFSET 600',
	'SELECT id FROM page WHERE ok ORDER BY score DESC, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page WHERE score < 50 ORDER BY score DESC, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page WHERE score <= 50 AND score > -20 ORDER BY score, id DESC LIMIT 7 OFFSET 2000',
	'SELECT id FROM page ORDER BY price, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY price DESC, id DESC LIMIT 7 OFFSET 3000',
	'SELECT id FROM page WHERE price > 3 ORDER BY price DESC, id DESC LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY weight DESC, id DESC LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY weight, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page WHERE day IS NOT NULL ORDER BY day, id LIMIT 7 OFFSET 5000',
	'SELECT id FROM page WHERE day > ''2026-01-20'' ORDER BY day DESC, id DESC LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 5996',
	'SELECT id FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 6000',
	'SELECT id FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 60000000',
	'SELECT id FROM page ORDER BY score DESC, id LIMIT 0 OFFSET 3000',
	'SELECT id FROM page ORDER BY score DESC, id OFFSET 5980']) WITH ORDINALITY q (q, o), page(q) p ORDER BY o;
-- What it has not: the order of rows of one score or of no index, other rows than the board's, what may raise an error or costs more
SELECT q, p.* FROM unnest(ARRAY[
	'SELECT id FROM page WHERE score = 7 ORDER BY id LIMIT 7 OFFSET 20',
	'SELECT id FROM page WHERE grp = ''z'' ORDER BY score DESC, id LIMIT 7 OFFSET 1000',
	'SELECT id FROM page WHERE weight <= 0 ORDER BY weight DESC, id DESC LIMIT 170 OFFSET 100',
	'SELECT id FROM page WHERE (score, tie) > (0, 1) ORDER BY score, tie DESC, id LIMIT 7 OFFSET 2000',
	'SELECT id, note || score AS text FROM page WHERE ok IS NOT NULL ORDER BY score DESC, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY score DESC, id DESC LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY day, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page WHERE note > ''n'' ORDER BY score DESC, id LIMIT 7 OFFSET 3000',
	'SELECT id, 1 / (score + 200) FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 3000',
	'SELECT id FROM page ORDER BY score DESC, id LIMIT 7']) WITH ORDINALITY q (q, o), page(q) p ORDER BY o;
SELECT count(*) FROM (SELECT score FROM page ORDER BY score DESC OFFSET 3000 FETCH FIRST 7 ROWS WITH TIES) s;
EXPLAIN (COSTS OFF) SELECT id FROM page WHERE grp = 'b' AND score < 50 ORDER BY score, id DESC LIMIT 7 OFFSET 1000;
-- Operands that are parameters, of the executor too
PREPARE offset_of(bigint, bigint, integer) AS SELECT id, score FROM page WHERE score <= $3 ORDER BY score DESC, id LIMIT $2 OFFSET $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE offset_of(3000, 3, 99);
EXECUTE offset_of(3000, 3, 99);
EXECUTE offset_of(3000, 3, 0);
EXECUTE offset_of(NULL, 2, 99);
EXECUTE offset_of(5998, NULL, 99);
EXECUTE offset_of(-1, 2, 99);
RESET plan_cache_mode;
SELECT o.skip, (SELECT sum(s.id) FROM (SELECT id FROM page ORDER BY score DESC, id LIMIT 2 OFFSET o.skip) s) AS ids
FROM (VALUES (3000), (5999), (0), (7000)) o (skip);
-- A cursor goes back, and the table may change under it.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, score FROM page ORDER BY score DESC, id LIMIT 4 OFFSET 3000;
FETCH 2 FROM c;
UPDATE page SET score = score + 1000 WHERE id % 2 = 0;
DELETE FROM page WHERE id % 7 = 0;
FETCH 2 FROM c;
FETCH BACKWARD ALL FROM c;
-- As PostgreSQL's own scans: a cursor goes back if it is not told otherwise, and its index stays.
DECLARE d CURSOR FOR SELECT id FROM page ORDER BY score DESC, id LIMIT 3 OFFSET 3000;
FETCH 3 FROM d;
FETCH BACKWARD 2 FROM d;
SAVEPOINT d;
DROP INDEX score_id;
ROLLBACK TO d;
-- Own changes, in the functions too
UPDATE few SET score = score + 2 WHERE id % 2 = 0;
DELETE FROM few WHERE id % 7 = 0;
SELECT p.* FROM page('SELECT id FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 3000') p;
SELECT * FROM wrong;
SAVEPOINT s;
UPDATE page SET score = 3 WHERE id < 900;
UPDATE few SET score = 3 WHERE id < 9;
SELECT p.* FROM page('SELECT id FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 3000') p;
SELECT * FROM wrong;
ROLLBACK TO s;
SELECT p.* FROM page('SELECT id FROM page ORDER BY score DESC, id LIMIT 7 OFFSET 3000') p;
COMMIT;
SELECT * FROM wrong;
-- While rows are off the board the query runs.
ALTER TABLE page ALTER score DROP NOT NULL;
SELECT lb_wait_ready();
PREPARE deep AS SELECT id FROM page ORDER BY score DESC, id LIMIT 3 OFFSET 3000;
EXECUTE deep;
UPDATE page SET score = NULL WHERE id IN (5, 6);
SELECT lb_stat_reset();
EXECUTE deep;
SELECT board, planned_reads, planned_queries, planned_off_board FROM lb_stat_board WHERE planned_queries + planned_reads > 0;
-- Without the board's rows
SET leaderboard.debug_planner_child = 'force';
SELECT p.* FROM page('SELECT id FROM page WHERE score IS NOT NULL ORDER BY score DESC, id LIMIT 7 OFFSET 3000') p;
RESET leaderboard.debug_planner_child;
SELECT p.* FROM page('SELECT id FROM page WHERE score IS NOT NULL ORDER BY score DESC, id LIMIT 7 OFFSET 3000') p;
DROP INDEX score_id;
SELECT p.* FROM page('SELECT id FROM page WHERE score IS NOT NULL ORDER BY score DESC, id LIMIT 7 OFFSET 3000') p;
SELECT * FROM lb_verify();
DROP VIEW wrong;
DROP TABLE page, few;

-- Many rows of one score: what ties before a page is only counted.
CREATE TABLE tied (id bigint PRIMARY KEY, score integer NOT NULL);
INSERT INTO tied SELECT i, CASE WHEN i % 10 = 0 THEN i % 700 - 350 ELSE 0 END FROM generate_series(1, 20000) i;
CREATE INDEX tied_page ON tied (score DESC, id);
SELECT lb_create_board('tied', 'tied', 'id', keeps => 'counts');
SELECT lb_wait_ready();
VACUUM ANALYZE tied;
SELECT q, p.* FROM unnest(ARRAY['SELECT id FROM tied ORDER BY score DESC, id LIMIT 5 OFFSET 1500',
	'SELECT id FROM tied ORDER BY score DESC, id LIMIT 5 OFFSET 18000',
	'SELECT id FROM tied ORDER BY score, id DESC LIMIT 5 OFFSET 17000',
	'SELECT id FROM tied WHERE score >= 0 ORDER BY score DESC, id LIMIT 5 OFFSET 16000']) WITH ORDINALITY q (q, o), page(q) p ORDER BY o;
UPDATE tied SET score = 0 WHERE id % 30 = 0;
DELETE FROM tied WHERE id % 9 = 0;
SELECT p.* FROM page('SELECT id FROM tied ORDER BY score DESC, id LIMIT 5 OFFSET 14000') p;
SELECT * FROM lb_top(2, 'tied', 14000);
SELECT * FROM lb_around(15001, 'tied', 1);
SET leaderboard.enable_index = off;
SELECT * FROM lb_top(2, 'tied', 14000);
SELECT * FROM lb_around(15001, 'tied', 1);
RESET leaderboard.enable_index;
-- A board of members needs no index, so it goes before.
SELECT lb_create_board('members', 'tied', 'id');
SELECT lb_wait_ready();
EXPLAIN (COSTS OFF) SELECT id FROM tied ORDER BY score DESC, id LIMIT 5 OFFSET 14000;
SELECT lb_drop_board('members');
-- The index has another order of the type than the board.
CREATE FUNCTION reversed(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN pg_catalog.btint4cmp($2, $1);
CREATE OPERATOR #< (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4gt);
CREATE OPERATOR #<= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4ge);
CREATE OPERATOR #> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4lt);
CREATE OPERATOR #>= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4le);
CREATE OPERATOR CLASS reversed FOR TYPE integer USING btree AS
	OPERATOR 1 #<, OPERATOR 2 #<=, OPERATOR 3 =, OPERATOR 4 #>=, OPERATOR 5 #>, FUNCTION 1 reversed(integer, integer);
DROP INDEX tied_page;
CREATE INDEX ON tied (score reversed, id);
VACUUM ANALYZE tied;
SELECT p.* FROM page('SELECT id FROM tied ORDER BY score USING #<, id LIMIT 5 OFFSET 600') p;
DROP FUNCTION page, rows_read;
SELECT * FROM lb_verify();
DROP TABLE tied;
DROP OPERATOR FAMILY reversed USING btree;
DROP OPERATOR #< (integer, integer), #<= (integer, integer), #> (integer, integer), #>= (integer, integer);
DROP FUNCTION reversed;

-- A table without a key has pages too.
CREATE TABLE latency (ms integer NOT NULL, what text);
INSERT INTO latency SELECT i % 500, 'w' || i FROM generate_series(1, 5000) i;
CREATE INDEX ON latency (ms);
SELECT lb_create_board('latency', 'latency', rank_by => 'ms DESC', keeps => 'counts');
SELECT lb_wait_ready();
VACUUM ANALYZE latency;
EXPLAIN (COSTS OFF) SELECT ms FROM latency ORDER BY ms DESC LIMIT 3 OFFSET 2005;
SELECT ms FROM latency ORDER BY ms DESC LIMIT 3 OFFSET 2005;
SELECT ms FROM latency ORDER BY ms LIMIT 3 OFFSET 4995;
-- OFFSET skips all rows, and PostgreSQL computes the select list for them.
SET plan_cache_mode = force_generic_plan;
PREPARE beyond(int, int) AS SELECT ms, 10 / $1 FROM latency WHERE ms > $2 ORDER BY ms DESC LIMIT 3 OFFSET 100000;
EXPLAIN (COSTS OFF) EXECUTE beyond(0, 100);
EXECUTE beyond(0, 100);
EXECUTE beyond(5, 100);
EXECUTE beyond(0, 1000);
DEALLOCATE beyond;
RESET plan_cache_mode;
DROP TABLE latency;
SELECT * FROM lb_verify();
