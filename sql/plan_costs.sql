--
-- What plans cost that boards answer, beside those without boards.  The rows that pass
-- a query's conditions are many, few or none, and are anywhere in the board's order.
-- What is counted is repeatable: pages, and rows that nodes return or filter.
--
\pset format unaligned
SET max_parallel_workers_per_gather = 0;

-- place: 1 the best rows, 2 the worst ones, 3 evenly spread; half: 1 the better one.
CREATE TABLE cost (id int PRIMARY KEY, score bigint NOT NULL, place int NOT NULL, half int NOT NULL, name text);
INSERT INTO cost SELECT i, s, CASE WHEN s >= 495 THEN 1 WHEN s < 5 THEN 2 WHEN i % 100 = 0 THEN 3 ELSE 0 END,
	CASE WHEN s >= 250 THEN 1 ELSE 2 END, repeat('x', 100)
FROM (SELECT i, i * 7919 % 5000 / 10 AS s FROM generate_series(1, 5000) AS i) AS r;
SELECT lb_create_board('cost', 'cost', 'id', 'score DESC');
CREATE VIEW ranked_cost AS SELECT c.*, rank() OVER (ORDER BY score DESC), count(*) OVER () AS players FROM cost AS c;
CREATE TABLE friend (player int PRIMARY KEY, of int NOT NULL);
INSERT INTO friend SELECT i, i % 500 FROM generate_series(1, 5000) AS i;
-- A family of a large board, one of a few rows, and one of some of its board columns.
CREATE TABLE team (id int, team int NOT NULL, level int NOT NULL, kind int NOT NULL, score bigint NOT NULL, place int NOT NULL, half int NOT NULL, name text, PRIMARY KEY (id, team));
INSERT INTO team SELECT id, CASE WHEN id % 100 < 60 THEN 1 WHEN id % 100 < 98 THEN 2 ELSE 3 END, id % 3, id % 2, score, place, half, name FROM cost;
CREATE UNIQUE INDEX ON team (id, level, kind);
SELECT lb_create_board('team', 'team', 'id', 'score DESC', 'team'), lb_create_board('level', 'team', 'id', 'score DESC', 'level, kind');
CREATE VIEW ranked_team AS SELECT t.*, rank() OVER (PARTITION BY team ORDER BY score DESC), count(*) OVER (PARTITION BY team) AS players FROM team AS t;
CREATE TABLE doubled (LIKE cost, PRIMARY KEY (id));
INSERT INTO doubled TABLE cost;
SELECT lb_create_board('doubled', 'doubled', 'id', '(score * 2) DESC');
CREATE VIEW ranked_doubled AS SELECT d.*, rank() OVER (ORDER BY score * 2 DESC) FROM doubled AS d;
CREATE TABLE counted (LIKE cost, PRIMARY KEY (id));
INSERT INTO counted TABLE cost;
CREATE INDEX ON counted (score DESC, id);
SELECT lb_create_board('counted', 'counted', rank_by => 'score DESC', keeps => 'counts');
CREATE VIEW ranked_counted AS SELECT c.*, rank() OVER (ORDER BY score DESC), count(*) OVER () AS players FROM counted AS c;
CREATE TABLE parts (LIKE cost, PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts TABLE cost;
SELECT lb_create_board('parts', 'parts', 'id', 'score DESC');
SELECT lb_wait_ready();
VACUUM ANALYZE cost, friend, team, doubled, counted, parts;

-- The pages and rows of a query, each as one statement or prepared, with a generic plan.
CREATE FUNCTION pg_temp.work(query text, params text, planner boolean, OUT work numeric, OUT by_board boolean)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('leaderboard.enable_planner', planner::text, false);
	IF params IS NOT NULL THEN
		SET plan_cache_mode = force_generic_plan;
		EXECUTE 'PREPARE asked AS ' || query;
		query := format('EXECUTE asked (%s)', params);
	END IF;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	IF params IS NOT NULL THEN
		DEALLOCATE asked;
		RESET plan_cache_mode;
	END IF;
	WITH RECURSIVE node AS (
		SELECT plan -> 0 -> 'Plan' AS p
		UNION ALL
		SELECT child FROM node, jsonb_array_elements(p -> 'Plans') AS child)
	SELECT (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::numeric + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::numeric +
		sum((p ->> 'Actual Loops')::numeric * ((p ->> 'Actual Rows')::numeric + coalesce((p ->> 'Rows Removed by Filter')::numeric, 0))) / 20,
		bool_or(p ->> 'Custom Plan Provider' LIKE 'Leaderboard %')
	FROM node INTO work, by_board;
END $$;

CREATE TABLE shape (number int GENERATED ALWAYS AS IDENTITY, name text, query text, params text, few boolean DEFAULT false);
-- %1$s is a condition, %2$s a number of rows; "desc" and "asc" stand for the directions of the order.
INSERT INTO shape (name, query) VALUES
	('aggregates', 'SELECT count(*), min(score) FROM cost WHERE %1$s'),
	('aggregates for each row', 'SELECT id, (SELECT count(*) FROM cost AS c WHERE c.score > cost.score) FROM cost WHERE %1$s AND id < %2$s'),
	('page', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s'),
	('page by the score', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc LIMIT %2$s'),
	('deep page', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s OFFSET 2500'),
	('page with ties', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc FETCH FIRST %2$s ROWS WITH TIES'),
	('page after a row', 'SELECT * FROM cost WHERE %1$s AND (score < 250 OR (score = 250 AND id > 5)) ORDER BY score desc, id asc LIMIT %2$s'),
	('page of a join', 'SELECT * FROM cost JOIN friend ON player = id WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s'),
	('page of few joined rows', 'SELECT * FROM cost JOIN friend ON player = id WHERE %1$s AND of = 7 ORDER BY score desc, id asc LIMIT %2$s'),
	('page of two queries', 'SELECT * FROM (SELECT * FROM cost WHERE %1$s UNION ALL SELECT * FROM cost WHERE score < 100) AS q ORDER BY score desc, id asc LIMIT %2$s'),
	('page for each row', 'SELECT * FROM (VALUES (10), (400)) AS v (x), LATERAL (SELECT * FROM cost WHERE %1$s AND score < x ORDER BY score desc, id asc LIMIT %2$s) AS l'),
	('all rows in order', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc, id asc'),
	('distinct scores', 'SELECT DISTINCT score FROM cost WHERE %1$s ORDER BY score desc LIMIT %2$s'),
	('page and total', 'SELECT id, count(*) OVER () FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s'),
	('page and total of a constant', 'SELECT id, count(*) OVER (PARTITION BY half) FROM cost WHERE %1$s AND half = 1 ORDER BY score desc, id asc LIMIT %2$s'),
	('page and share', 'SELECT id, percent_rank() OVER (ORDER BY score desc) FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s'),
	('page and the row before', 'SELECT id, lag(id) OVER (ORDER BY score desc, id asc) FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s'),
	('page with ranks', 'SELECT id, rank() OVER (ORDER BY score desc) FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s'),
	('ranked rows', 'SELECT * FROM ranked_cost WHERE %1$s ORDER BY rank LIMIT %2$s'),
	('ranked row of a member', 'SELECT * FROM ranked_cost WHERE %1$s AND id = 42'),
	('ranked rows of members', 'SELECT * FROM ranked_cost WHERE %1$s AND id IN (SELECT player FROM friend WHERE of = 7)'),
	('ranked rows of a join', 'SELECT * FROM ranked_cost JOIN friend ON player = id WHERE %1$s AND of = 7 ORDER BY rank LIMIT %2$s'),
	('ranked rows of a range', 'SELECT * FROM ranked_cost WHERE %1$s AND rank <= 30'),
	('ranked rows of a large range', 'SELECT * FROM ranked_cost WHERE %1$s AND rank <= 4500 ORDER BY rank LIMIT %2$s'),
	('number of ranked rows', 'SELECT count(*) FROM ranked_cost WHERE %1$s');
INSERT INTO shape (name, query, params) VALUES
	('page of a parameter', 'SELECT * FROM cost WHERE %1$s AND score < $1 ORDER BY score desc, id asc LIMIT %2$s', '100'),
	('page of a number', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT $1::bigint', '%2$s'),
	('page after a row of two parameters', 'SELECT * FROM cost WHERE %1$s AND (score < $1 OR (score = $2 AND id > $3)) ORDER BY score desc, id asc LIMIT %2$s', '3, 3, 7'),
	('page of an array', 'SELECT * FROM cost WHERE %1$s AND score = ANY ($1) ORDER BY score desc, id asc LIMIT %2$s', '''{1,2}''');

-- Of other boards and of other plans, with few conditions.
INSERT INTO shape (name, query, params, few) SELECT name, query, params, true FROM (VALUES
	('ordered by more', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc, name LIMIT %2$s', NULL),
	('ordered by more, deep', 'SELECT * FROM cost WHERE %1$s ORDER BY score desc, name LIMIT %2$s OFFSET 1200', NULL),
	('first of each score', 'SELECT DISTINCT ON (score) * FROM cost WHERE %1$s ORDER BY score desc, id asc LIMIT 1 + %2$s / 10', NULL),
	('first of each score by more', 'SELECT DISTINCT ON (score) * FROM cost WHERE %1$s ORDER BY score desc, name LIMIT 1 + %2$s / 10', NULL),
	('rows of each score', 'SELECT score, count(*) FROM cost WHERE %1$s GROUP BY score ORDER BY score desc LIMIT %2$s', NULL),
	('number up to a limit', 'SELECT count(*) FROM (SELECT 1 FROM cost WHERE %1$s LIMIT %2$s * 20) AS q', NULL),
	('number of a page', 'SELECT count(*) FROM (SELECT * FROM cost WHERE %1$s ORDER BY score desc LIMIT %2$s OFFSET 10) AS q', NULL),
	('numbers with filters', 'SELECT count(*), count(*) FILTER (WHERE score > 250), count(DISTINCT score) FROM cost WHERE %1$s', NULL),
	('percentile', 'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY score), rank(100) WITHIN GROUP (ORDER BY score DESC) FROM cost WHERE %1$s', NULL),
	('page of rows with another', 'SELECT * FROM cost WHERE %1$s AND EXISTS (SELECT FROM friend WHERE player = id AND of < 250) ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('page with a joined row or none', 'SELECT * FROM cost LEFT JOIN friend ON player = id AND of = 7 WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('score behind a parameter or none', 'SELECT * FROM cost WHERE %1$s AND ($1::int IS NULL OR score < $1) ORDER BY score desc, id asc LIMIT %2$s', '100'),
	('the same, none', 'SELECT * FROM cost WHERE %1$s AND ($1::int IS NULL OR score < $1) ORDER BY score desc, id asc LIMIT %2$s', 'NULL'),
	('another column of a parameter or none', 'SELECT * FROM cost WHERE %1$s AND ($1::int IS NULL OR place = $1) ORDER BY score desc, id asc LIMIT %2$s', '2'),
	('aggregates of a board', 'SELECT count(*), min(score) FROM team WHERE %1$s AND team = 1', NULL),
	('aggregates of boards', 'SELECT count(*), min(score) FROM team WHERE %1$s AND team IN (1, 3, 9)', NULL),
	('aggregates of a level', 'SELECT count(*), min(score) FROM team WHERE %1$s AND level = 1', NULL),
	('aggregates of an array', 'SELECT count(*), min(score) FROM team WHERE %1$s AND team = ANY ($1)', '''{1,3}'''),
	('aggregates of a board or all', 'SELECT count(*), min(score) FROM team WHERE %1$s AND ($1::int IS NULL OR team = $1)', '3'),
	('the same, all', 'SELECT count(*), min(score) FROM team WHERE %1$s AND ($1::int IS NULL OR team = $1)', 'NULL'),
	('aggregates of each row''s board', 'SELECT id, (SELECT count(*) FROM team AS t WHERE t.team = team.team AND t.score > team.score) FROM team WHERE %1$s AND id < %2$s', NULL),
	('page of a board', 'SELECT * FROM team WHERE %1$s AND team = 1 ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('page of a small board', 'SELECT * FROM team WHERE %1$s AND team = 3 ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('page of an empty board', 'SELECT * FROM team WHERE %1$s AND team = 9 ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('deep page of a board', 'SELECT * FROM team WHERE %1$s AND team = 1 ORDER BY score desc, id asc LIMIT %2$s OFFSET 1500', NULL),
	('page of two columns'' board', 'SELECT * FROM team WHERE %1$s AND level = 1 AND kind = 0 ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('page of a parameter''s board', 'SELECT * FROM team WHERE %1$s AND team = $1 ORDER BY score desc, id asc LIMIT %2$s', '3'),
	('page of a board or all', 'SELECT * FROM team WHERE %1$s AND ($1::int IS NULL OR team = $1) ORDER BY score desc, id asc LIMIT %2$s', '1'),
	('page of two boards', 'SELECT * FROM ((SELECT * FROM team WHERE %1$s AND team = 1 ORDER BY score desc, id asc LIMIT %2$s) UNION ALL (SELECT * FROM team WHERE %1$s AND team = 3 ORDER BY score desc, id asc LIMIT %2$s)) AS q ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('page of each board', 'SELECT * FROM (VALUES (1), (3), (9)) AS v (x), LATERAL (SELECT * FROM team WHERE %1$s AND team = x ORDER BY score desc, id asc LIMIT %2$s) AS l', NULL),
	('page of a board and a join', 'SELECT * FROM team JOIN friend ON player = id WHERE %1$s AND team = 1 ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('page of a board with ranks', 'SELECT id, rank() OVER (PARTITION BY team ORDER BY score desc) FROM team WHERE %1$s AND team = 1 ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('page of a board by ranks', 'SELECT * FROM ranked_team WHERE %1$s AND team = 1 ORDER BY rank LIMIT %2$s', NULL),
	('ranks of a board''s range', 'SELECT * FROM ranked_team WHERE %1$s AND team = 1 AND rank <= 30', NULL),
	('rank in its board', 'SELECT * FROM ranked_team WHERE %1$s AND id = 42', NULL),
	('ranks in their boards', 'SELECT * FROM ranked_team WHERE %1$s AND id IN (SELECT player FROM friend WHERE of = 7)', NULL),
	('ranks of a join in their boards', 'SELECT * FROM ranked_team JOIN friend ON player = id WHERE %1$s AND of = 7 ORDER BY rank LIMIT %2$s', NULL),
	('aggregates of an expression', 'SELECT count(*), min(score * 2) FROM doubled WHERE %1$s AND score * 2 < 900', NULL),
	('page by an expression', 'SELECT * FROM doubled WHERE %1$s ORDER BY score * 2 desc, id asc LIMIT %2$s', NULL),
	('page after an expression', 'SELECT * FROM doubled WHERE %1$s AND score * 2 < 500 ORDER BY score * 2 desc, id asc LIMIT %2$s', NULL),
	('page of a join by an expression', 'SELECT * FROM doubled JOIN friend ON player = id WHERE %1$s ORDER BY score * 2 desc, id asc LIMIT %2$s', NULL),
	('ranks by an expression', 'SELECT * FROM ranked_doubled WHERE %1$s AND rank <= 30', NULL),
	('aggregates of counts', 'SELECT count(*), min(score) FROM counted WHERE %1$s AND score < 450', NULL),
	('page of counts', 'SELECT * FROM counted WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s', NULL),
	('deep page of counts', 'SELECT * FROM counted WHERE %1$s ORDER BY score desc, id asc LIMIT %2$s OFFSET 2500', NULL),
	('rank by counts', 'SELECT * FROM ranked_counted WHERE %1$s AND id = 42', NULL),
	('ranks of a join by counts', 'SELECT * FROM ranked_counted JOIN friend ON player = id WHERE %1$s AND of = 7 ORDER BY rank LIMIT %2$s', NULL),
	('aggregates of partitions', 'SELECT count(*), min(score) FROM parts WHERE %1$s AND score < 450', NULL),
	('aggregates for each row of partitions', 'SELECT id, (SELECT count(*) FROM parts AS p WHERE p.score > parts.score) FROM parts WHERE %1$s AND id < %2$s', NULL)
) AS v (name, query, params);

CREATE TABLE condition (text text, few boolean DEFAULT false);
INSERT INTO condition VALUES
	('true', true), ('place = 1', true), ('place = 2', true), ('place = 3', true), ('place = 4', true), ('half = 1', true), ('half = 2', true), ('score IN (1, 2)', true);
INSERT INTO condition VALUES ('half = 1 AND place = 2'), ('score IN (497, 498)'), ('score IN (1, 498)'), ('score = ANY (ARRAY[1, NULL, 2])'), ('score = ANY (ARRAY[]::int[])'), ('score = ANY (ARRAY[]::numeric[])'),
	('score <= ALL (ARRAY[3, 9])'), ('score BETWEEN SYMMETRIC 3 AND 1'), ('score BETWEEN SYMMETRIC 495 AND 498'), ('(score, id) < (3.0, 5)'),
	('(score, id) > (497.5::float8, 5)'), ('(score < 2 OR score = 3 AND place = 2)'), ('score < 3.5::float8 AND place = 2'),
	('score % 100 = 1'), ('abs(score) < 3'), ('score <> 7'), ('score::text = ''3'''), ('id % 7 = 3'), ('name LIKE ''x%%''');

-- Plans that cost more than three times as much as without boards.
CREATE TABLE measured AS
SELECT number, name, asked.query, plain.work AS plain, board.work AS board, board.by_board
FROM shape, condition, (VALUES (1, 'desc', 'asc'), (50, 'asc', 'desc')) AS v (n, forward, back),
	LATERAL (SELECT replace(replace(replace(format(query, '(' || condition.text || ')', n), ' desc', ' !'), ' asc', ' ' || back), ' !', ' ' || forward) AS query,
		format(params, '', n) AS params) AS asked,
	LATERAL pg_temp.work(asked.query, asked.params, false) AS plain,
	LATERAL pg_temp.work(asked.query, asked.params, true) AS board
WHERE condition.few OR NOT shape.few;
SELECT round(board) AS board, round(plain) AS plain, query FROM measured WHERE board > 3 * plain + 100 ORDER BY number, query;
SELECT name, coalesce(bool_or(by_board), false) AS by_board FROM measured GROUP BY number, name ORDER BY number;
SELECT count(*) > 1000 AS many FROM measured;

-- A window that needs all rows for the first one, and one that does not.
SELECT lbt.nodes('SELECT id, count(*) OVER () FROM cost WHERE half = 1 ORDER BY score DESC, id LIMIT 1');
SELECT lbt.nodes('SELECT id, count(*) OVER (PARTITION BY half) FROM cost WHERE half = 1 ORDER BY score DESC, id LIMIT 1');
SELECT lbt.nodes('SELECT id, count(*) OVER (ORDER BY half) FROM cost WHERE half = 1 ORDER BY score DESC, id LIMIT 1');
SELECT lbt.nodes('SELECT id, sum(score) OVER (ORDER BY score DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM cost WHERE half = 1 ORDER BY score DESC, id LIMIT 1');
SELECT lbt.nodes('SELECT id, cume_dist() OVER (ORDER BY score DESC) FROM cost WHERE half = 1 ORDER BY score DESC LIMIT 1');
SELECT lbt.nodes('SELECT id, row_number() OVER (ORDER BY score DESC, id) FROM cost WHERE half = 1 ORDER BY score DESC, id LIMIT 1');
SELECT lbt.nodes('SELECT id, sum(score) OVER (ORDER BY score DESC, id) FROM cost WHERE half = 1 ORDER BY score DESC, id LIMIT 1');

-- Windows whose first row needs some of the rows behind it.  Version 17 does not ask which functions need the frame's end.
SELECT lb_create_board('halves', 'cost', 'id', 'half ASC');
SELECT lb_wait_ready();
CREATE FUNCTION pg_temp.some_window(anyelement, int) RETURNS anyelement LANGUAGE internal WINDOW AS 'window_lead_with_offset';
CREATE TABLE windows (number int GENERATED ALWAYS AS IDENTITY, func text, frame text, sort text);
INSERT INTO windows (func, frame, sort) SELECT func, frame, 'score DESC, id'
FROM unnest('{sum(score),last_value(id)}'::text[]) AS func, unnest(ARRAY['ORDER BY score DESC',
	'ORDER BY score DESC, id ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING', 'ORDER BY score DESC, id ROWS BETWEEN CURRENT ROW AND 4000 FOLLOWING',
	'ORDER BY score DESC, id ROWS BETWEEN CURRENT ROW AND (SELECT 4) FOLLOWING', 'ORDER BY score DESC, id ROWS BETWEEN 4500 PRECEDING AND 4000 PRECEDING',
	'ORDER BY score DESC RANGE BETWEEN 4 PRECEDING AND 4 FOLLOWING', 'ORDER BY score DESC RANGE BETWEEN 400 PRECEDING AND 400 FOLLOWING',
	'ORDER BY score DESC GROUPS BETWEEN 4 PRECEDING AND 4 FOLLOWING', 'ORDER BY score DESC GROUPS BETWEEN 400 PRECEDING AND 400 FOLLOWING',
	'ORDER BY score DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE GROUP']) AS frame;
INSERT INTO windows (func, frame, sort) SELECT func, 'ORDER BY score DESC, id ROWS UNBOUNDED PRECEDING', 'score DESC, id'
FROM unnest(ARRAY['lead(id)', 'lead(id, 0)', 'lead(id, 4000)', 'lead(id, 4000, 7)', 'lead(id, -4000)', 'lead(id, NULL)', 'lead(id, half)',
	'lag(id, 4000)', 'lag(id, -4000)', 'lag(id, -4000, 7)', 'lag(id, half)', 'nth_value(id, 3)', 'nth_value(id, 4000)', 'nth_value(id, half)',
	'lead(name, 400)', 'pg_temp.some_window(id, 1)']) AS func;
INSERT INTO windows (func, frame, sort) VALUES
	('first_value(id)', 'ORDER BY score DESC, id ROWS BETWEEN 4000 FOLLOWING AND 4500 FOLLOWING', 'score DESC, id'),
	('lag(id)', 'ORDER BY score DESC GROUPS BETWEEN 400 PRECEDING AND 400 FOLLOWING', 'score DESC, id'),
	('lead(id, 4000)', 'PARTITION BY score ORDER BY id DESC', 'score, id DESC'),
	('sum(id)', 'ORDER BY half', 'half'), ('sum(id)', 'ORDER BY half, id', 'half, id'),
	('lag(id)', 'ORDER BY half', 'half'), ('lag(id)', 'ORDER BY half, id', 'half, id'),
	('sum(id)', 'ORDER BY half GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING', 'half'),
	('sum(id)', 'ORDER BY half RANGE BETWEEN CURRENT ROW AND CURRENT ROW EXCLUDE TIES', 'half'),
	('sum(id)', 'ORDER BY half ROWS CURRENT ROW EXCLUDE TIES', 'half'), ('lag(id)', 'ORDER BY half ROWS CURRENT ROW EXCLUDE GROUP', 'half'),
	('sum(id)', 'ORDER BY half, id ROWS CURRENT ROW EXCLUDE GROUP', 'half, id');
SELECT func, frame, lbt.nodes(format('SELECT id, %s OVER (%s) FROM cost ORDER BY %s LIMIT 1', func, frame, sort)) FROM windows ORDER BY number;
-- What exceeds work_mem is all read.
SET work_mem = '64kB';
SELECT lbt.nodes('SELECT id, lead(name, 400) OVER (ORDER BY score DESC, id) FROM cost ORDER BY score DESC, id LIMIT 1');
RESET work_mem;
SELECT lb_drop_board('halves');

-- A scan reads the range that encloses the rows, and checks them.
SELECT lbt.plan('SELECT * FROM cost WHERE score IN (1, 2) ORDER BY score DESC, id LIMIT 3');
SELECT lbt.plan('SELECT * FROM cost WHERE (score, id) < (3.5, 7) ORDER BY score DESC, id LIMIT 3');

-- A scan that does not find its rows soon gives up, and the sort keeps as many as the query asks for.
CREATE FUNCTION pg_temp.sorted(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Answered by|Sort Method' THEN
			RETURN NEXT regexp_replace(trim(line), '  .*', '');
		END IF;
	END LOOP;
END $$;
SELECT pg_temp.sorted('SELECT * FROM cost WHERE half = 2 ORDER BY score DESC, id LIMIT 3');
SELECT pg_temp.sorted('SELECT * FROM cost WHERE half = 2 ORDER BY score DESC, id LIMIT (SELECT 3) OFFSET 2');
SELECT pg_temp.sorted('SELECT * FROM (SELECT * FROM cost WHERE half = 2 ORDER BY score DESC, id OFFSET 0) AS q LIMIT 3');
-- Nor does a scan go on for long whose rows find no partners.
SELECT pg_temp.sorted('SELECT * FROM cost JOIN friend ON player = -cost.id ORDER BY score DESC, cost.id LIMIT 3');
-- Not where a node between them asks for more rows than the limit.
SELECT pg_temp.sorted('SELECT * FROM cost WHERE half = 2 ORDER BY score DESC, id FETCH FIRST 3 ROWS WITH TIES');
SELECT pg_temp.sorted('SELECT * FROM cost JOIN friend ON player = cost.id WHERE half = 2 ORDER BY score DESC, cost.id LIMIT 3');
SELECT query, lbt.result(query) FROM unnest(ARRAY[
	'SELECT id FROM cost WHERE half = 2 ORDER BY score DESC, id LIMIT 3',
	'SELECT id FROM cost WHERE half = 2 ORDER BY score DESC, id LIMIT 3 OFFSET 1000',
	'SELECT id FROM cost WHERE half = 2 ORDER BY score DESC, id DESC LIMIT 3',
	'SELECT v, l.id FROM (VALUES (3), (0), (5), (NULL), (1)) AS v (v), LATERAL (SELECT id FROM cost WHERE half = 2 AND score < 5 ORDER BY score DESC, id LIMIT v) AS l',
	'SELECT v, l.id FROM (VALUES (1), (5)) AS v (v), LATERAL (SELECT id FROM cost WHERE half = 2 ORDER BY score DESC, id LIMIT 3 OFFSET v) AS l',
	'SELECT v, (SELECT id FROM cost WHERE half = 2 ORDER BY score DESC, id LIMIT 1 OFFSET v) FROM generate_series(0, 3) AS v',
	'SELECT * FROM (SELECT id, score FROM cost WHERE half = 2 UNION ALL SELECT id, score FROM cost WHERE score < 100) AS q ORDER BY score DESC, id LIMIT 4'
]) AS query;

-- Ranges that enclose rows: values at the ends of types, and nulls.
CREATE TABLE extreme (id int PRIMARY KEY, big bigint NOT NULL, small smallint NOT NULL, float float8 NOT NULL, number numeric(8,2) NOT NULL,
	day date NOT NULL, filter boolean NOT NULL);
INSERT INTO extreme SELECT i, (ARRAY[-9223372036854775808, -9007199254740993, -1, 0, 1, 3, 9007199254740993, 9223372036854775807])[i % 8 + 1],
	(ARRAY[-32768, -1, 0, 1, 3, 32767])[i % 6 + 1], (ARRAY['-Infinity', '-1', '-0', '0', '1', '3.5', 'Infinity', 'NaN'])[i % 8 + 1]::float8,
	(ARRAY[-999999.99, -0.01, 0, 0.01, 3.5, 999999.99])[i % 6 + 1], (ARRAY['-infinity', '2026-01-01', '2026-01-02', 'infinity'])[i % 4 + 1]::date, i % 3 = 0
FROM generate_series(1, 120) AS i;
SELECT lb_create_board(name, 'extreme', 'id', name || ' DESC') FROM unnest('{big,small,float,number,day}'::text[]) AS name;
SELECT lb_wait_ready();
ANALYZE extreme;
CREATE TABLE operand (number int GENERATED ALWAYS AS IDENTITY, name text, text text);
INSERT INTO operand (name, text) SELECT name, text FROM unnest('{big,small,number,float}'::text[]) AS name, unnest(ARRAY['NULL::int', '1::smallint', '3', '3.5', '2.5::float8',
	$$'NaN'::numeric$$, $$'NaN'::float8$$, $$'-Infinity'::float8$$, $$'Infinity'::float8$$, '9223372036854775807', '9223372036854775808',
	'-9223372036854775808', '-1e30::float8', '9007199254740992::float8', '-0.0::float8']) AS text;
INSERT INTO operand (name, text) SELECT 'day', unnest(ARRAY['NULL::date', $$'-infinity'::date$$, $$'2026-01-01'::date$$, $$'infinity'::date$$, $$'2026-01-02 12:00'::timestamp$$]);
CREATE TABLE question AS
SELECT n, format('SELECT id FROM extreme WHERE filter AND %1$s ORDER BY %2$I %3$s, id %4$s LIMIT 30', format(template, a.name, a.text, b.text), a.name,
	CASE WHEN n % 2 = 0 THEN 'DESC' ELSE 'ASC' END, CASE WHEN n % 2 = 0 THEN 'ASC' ELSE 'DESC' END) AS query
FROM operand AS a JOIN operand AS b ON b.name = a.name CROSS JOIN (VALUES (1, '%1$s IN (%2$s, %3$s)'), (2, '%1$s BETWEEN SYMMETRIC %2$s AND %3$s'),
	(3, '(%1$s < %2$s OR (%1$s = %3$s AND id > 60))'), (4, '(%1$s >= %2$s OR (%1$s = %3$s AND id <= 60))'), (5, '(%1$s, id) < (%2$s, 60) AND %1$s >= %3$s'),
	(6, '%1$s > ANY (ARRAY[%2$s, %3$s])'), (7, '%1$s <= ALL (ARRAY[%2$s, %3$s])'), (8, '(%1$s = %2$s AND id > 7 OR %1$s = %3$s)'),
	(9, '(%1$s, id) >= (%2$s, 60) AND (%1$s <= %3$s OR %1$s < %2$s)')) AS t (n, template)
WHERE (a.number + 5 * b.number + 7 * n) % 37 = 0;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT n, sum((answer ~ 'Scan index')::int) >= 15 AS by_index
FROM (SELECT n, lbt.answered_by(query) AS answer, lbt.result(query, true) AS result FROM question OFFSET 0) AS q GROUP BY n ORDER BY n;
-- Expressions of nodes that are compiled.
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
CREATE FUNCTION pg_temp.is_compiled(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE) ' || query LOOP
		found := found OR line ~ '^JIT:';
	END LOOP;
	RETURN found;
END $$;
SELECT lbt.result(query, true) ~ '^\[|rows' AS right, pg_temp.is_compiled(query) = pg_jit_available() AS compiled
FROM (SELECT DISTINCT ON (n) query FROM question WHERE n IN (1, 3, 6) ORDER BY n, query) AS q;
RESET jit;
RESET jit_above_cost;
RESET jit_inline_above_cost;
RESET jit_optimize_above_cost;
RESET enable_seqscan;
RESET enable_sort;

DROP VIEW ranked_cost, ranked_team, ranked_doubled, ranked_counted;
SELECT * FROM lb_verify();
DROP TABLE extreme, operand, question;
DROP TABLE cost, friend, team, doubled, counted, parts, windows, shape, condition, measured;
