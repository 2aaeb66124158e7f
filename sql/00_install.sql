--
-- The extension as CREATE EXTENSION leaves it, and what the other files use:
-- this one comes first, each of the others can follow it alone.
--
CREATE EXTENSION leaderboard;

-- Every function, what it promises to the planner, and who may call it.
SELECT p.proname AS function,
	CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable'
		ELSE 'volatile' END AS volatility,
	CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted'
		ELSE 'unsafe' END AS parallel,
	p.proisstrict AS strict,
	p.prosecdef AS secdef,
	p.procost::integer AS cost,
	p.prorows::integer AS rows,
	has_function_privilege('pg_read_all_stats', p.oid, 'EXECUTE') AS public
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass
	AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'leaderboard')
	AND d.deptype = 'e'
ORDER BY p.proname COLLATE "C";

-- Names, types and defaults of the arguments are what users' queries rely on.
\pset format unaligned
SELECT p.proname AS function, pg_get_function_arguments(p.oid) AS arguments,
	pg_get_function_result(p.oid) AS result
FROM pg_proc p
WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'lb\_%'
ORDER BY p.proname COLLATE "C";

\pset format aligned

-- No name has two signatures: an overload would make calls ambiguous.
SELECT p.proname, count(*)
FROM pg_proc p
WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'lb\_%'
GROUP BY p.proname HAVING count(*) > 1;

-- Everything that the extension has made, and what of it has no comment.  Later
-- versions count the types of rows too.
SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS object
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'leaderboard')
	AND d.deptype = 'e' AND d.classid <> 'pg_proc'::regclass
	AND d.classid <> 'pg_type'::regclass
ORDER BY pg_describe_object(d.classid, d.objid, d.objsubid) COLLATE "C";

SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS no_comment
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'leaderboard')
	AND d.deptype = 'e'
	AND d.classid IN ('pg_proc'::regclass, 'pg_class'::regclass,
		'pg_event_trigger'::regclass)
	AND d.objid NOT IN (SELECT oid FROM pg_class WHERE relkind = 'S')
	AND obj_description(d.objid, d.classid::regclass::name) IS NULL
ORDER BY pg_describe_object(d.classid, d.objid, d.objsubid) COLLATE "C";

SELECT a.attrelid::regclass, a.attname AS no_comment
FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
	JOIN pg_attribute a ON a.attrelid = c.oid
WHERE d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'leaderboard')
	AND d.deptype = 'e' AND d.classid = 'pg_class'::regclass
	AND c.relkind = 'r' AND a.attnum > 0
	AND col_description(a.attrelid, a.attnum) IS NULL
ORDER BY c.relname COLLATE "C", a.attnum;

-- The columns that monitoring reads.
SELECT attrelid::regclass AS relation, attname, format_type(atttypid, atttypmod)
FROM pg_attribute
WHERE attrelid IN ('lb_board'::regclass, 'lb_stat_board'::regclass,
		'lb_stat_memory'::regclass, 'lb_stat_ledger'::regclass,
		'lb_stat_feed'::regclass) AND attnum > 0
ORDER BY attrelid::regclass::text COLLATE "C", attnum;

-- Both are part of a dump.
SELECT c.oid::regclass AS dumped, e.cond
FROM pg_extension x, unnest(x.extconfig, x.extcondition) AS e (oid, cond)
	JOIN pg_class c ON c.oid = e.oid
WHERE x.extname = 'leaderboard'
ORDER BY c.relname COLLATE "C";

-- Gone with all it has made, and there again, in one session.
CREATE TABLE keep (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO keep VALUES (1, 10), (2, 20), (3, 30);
SELECT lb_create_board('keep', 'keep');
SELECT lb_rank(1, 'keep'), lb_rank(2, 'keep'), lb_rank(3, 'keep');
DROP EXTENSION leaderboard;
\set VERBOSITY terse
DROP EXTENSION leaderboard CASCADE;
\set VERBOSITY default
INSERT INTO keep VALUES (4, 40);
SELECT tgname FROM pg_trigger WHERE tgrelid = 'keep'::regclass;
CREATE EXTENSION leaderboard;
SELECT * FROM lb_board;
SELECT lb_rank(1, 'keep');
SELECT lb_create_board('keep', 'keep');
SELECT lb_rank(1, 'keep'), lb_rank(4, 'keep');
SELECT * FROM lb_verify();

-- The same within one transaction, and undone.
BEGIN;
SET LOCAL client_min_messages = warning;
DROP EXTENSION leaderboard CASCADE;
INSERT INTO keep VALUES (5, 50);
CREATE EXTENSION leaderboard;
SELECT lb_create_board('keep', 'keep', rank_by => 'score ASC');
SELECT lb_rank(1, 'keep'), lb_rank(5, 'keep');
ROLLBACK;
SELECT lb_rank(1, 'keep'), lb_rank(5, 'keep');
UPDATE keep SET score = 35 WHERE player_id = 1;
SELECT * FROM lb_top(10, 'keep');
SELECT * FROM lb_verify();

-- ... and done.
BEGIN;
SET LOCAL client_min_messages = warning;
DROP EXTENSION leaderboard CASCADE;
INSERT INTO keep VALUES (5, 50);
CREATE EXTENSION leaderboard;
SELECT lb_create_board('keep', 'keep', rank_by => 'score ASC');
COMMIT;
SELECT lb_rank(1, 'keep'), lb_rank(5, 'keep');
SELECT * FROM lb_verify();
DROP TABLE keep;
SELECT * FROM lb_board;

-- Trigger functions are for triggers.
SELECT leaderboard_internal.lb_capture();
SELECT leaderboard_internal.lb_set_updated_at();
SELECT leaderboard_internal.lb_board_changed();
SELECT leaderboard_internal.lb_skip_row();
SELECT leaderboard_internal.lb_on_drop();

--
-- The oracle: lbt.differences() compares every read function of a board with
-- plain SQL over the table.  And what helps to look at plans.
--
\getenv srcdir PG_ABS_SRCDIR
\set oracle :srcdir '/test/lib/oracle.sql'
\set plans :srcdir '/test/lib/plans.sql'
\set ECHO none
\i :oracle
\i :plans
\set ECHO all
GRANT USAGE ON SCHEMA lbt TO PUBLIC;
-- Wait until the launcher has given back the boards of a family that are empty.
CREATE FUNCTION lbt.given_back(table_name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	FOR i IN 1 .. 30000 LOOP
		IF NOT EXISTS (SELECT FROM lb_stat_board
			WHERE source = table_name::regclass AND members = 0
				AND board NOT IN (SELECT b.board FROM lb_board b)) THEN
			RETURN true;
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN false;
END $$;

-- Whether ranks, count and top agree, in one look: for the middle of things.
CREATE FUNCTION lbt.agrees(board text, source text, cond text DEFAULT 'true',
	rank_by text DEFAULT 'score DESC, player_id') RETURNS boolean
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
DECLARE
	result boolean;
BEGIN
	EXECUTE format('WITH b AS MATERIALIZED (SELECT player_id::bigint AS m,'
		' score::bigint AS s, row_number() OVER (ORDER BY %3$s) AS r'
		' FROM %2$s WHERE %4$s)'
		' SELECT count(*) = lb_count(%1$L)'
		' AND coalesce(bool_and(lb_rank(m, %1$L, ''row_number'') IS NOT DISTINCT FROM r'
		' AND lb_score(m, %1$L) IS NOT DISTINCT FROM s), true)'
		' AND coalesce(array_agg((m, s) ORDER BY r), ''{}'') ='
		' coalesce((SELECT array_agg((member, score) ORDER BY o)'
		' FROM ROWS FROM (lb_top(1000000, %1$L)) WITH ORDINALITY'
		' t (rank, member, score, o)), ''{}'') FROM b',
		board, source, rank_by, cond)
		INTO result;
	RETURN result;
END $$;

-- A table whose scores tie, with a board for each direction and method.
CREATE FUNCTION lbt.make_boards() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE game (
		player_id bigint PRIMARY KEY,
		score integer,
		level smallint,
		reached timestamptz DEFAULT '2026-01-01 00:00:00+00');
	INSERT INTO game
	SELECT i, i * i % 23 - 5, i % 4, '2026-01-01 00:00:00+00'::timestamptz
		+ (i * 7 % 10) * interval '1 day' FROM generate_series(1, 150) i;
	INSERT INTO game VALUES (1001, NULL, 1), (1002, 7, NULL), (1003, 1000000, 2);
	PERFORM lb_create_board('desc_' || m, 'game', rank_by => 'score DESC',
		method => m), lb_create_board('asc_' || m, 'game',
		rank_by => 'score ASC', method => m),
		lb_create_board('ties_' || m, 'game', method => m,
		rank_by => 'score DESC, level ASC, reached DESC')
	FROM unnest('{row_number,rank,dense_rank}'::text[]) m;
END $$;

CREATE FUNCTION lbt.board_differences(functions text,
	query_reads boolean DEFAULT false)
RETURNS TABLE (board text, enable_index text, what text, operand text, got text,
	want text)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
	RETURN QUERY SELECT b.board, d.* FROM lb_board b, lbt.differences(b.board,
		'game', CASE WHEN b.board ~ 'ties' THEN 'score + level IS NOT NULL'
			ELSE 'score IS NOT NULL' END,
		dir => CASE WHEN b.board ~ 'asc' THEN 'ASC' ELSE 'DESC' END,
		ties => CASE WHEN b.board ~ 'ties' THEN 'level, reached DESC' END,
		method => b.method, query_reads => query_reads,
		functions => functions) d
	WHERE b.source = 'game'::regclass;
END $$;

-- Everything that an error says.
CREATE FUNCTION lbt.error(statement text)
RETURNS TABLE (state text, message text, detail text, hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	message := 'no error';
	RETURN NEXT;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;

-- The nodes that use boards in the plan of a query.
CREATE FUNCTION lbt.nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nodes text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		nodes := nodes || substring(line FROM 'Leaderboard (\w+)');
	END LOOP;
	RETURN array_to_string(nodes, ', ');
END $$;

-- A plan, with more options of EXPLAIN.  Versions differ in the plan below a ranked
-- view and in how they show numbers of rows, and some servers number queries.
CREATE FUNCTION lbt.plan(query text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	depth integer;
	view integer;
	below boolean := false;
BEGIN
	IF options ~ 'ANALYZE' THEN
		options := options || ', BUFFERS OFF, TIMING OFF, SUMMARY OFF';
	END IF;
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF%s) %s', ', ' || nullif(options, ''), query) LOOP
		CONTINUE WHEN line ~ '^Query Identifier:';
		-- Version 19 says what kind of subplan it is.
		line := replace(line, 'SubPlan expr_', 'SubPlan ');
		depth := length(substring(line FROM '^ *'));
		IF line ~ 'Leaderboard Rank' THEN
			view := depth;
			below := false;
		ELSIF depth <= view THEN
			view := NULL;
			below := false;
		ELSIF depth > view AND line ~ '^ *->' THEN
			below := true;
		END IF;
		IF NOT below THEN
			RETURN NEXT regexp_replace(line, ' \(actual rows=[^)]*\)', ' (executed)');
		END IF;
	END LOOP;
END $$;

-- What EXPLAIN says of boards in a format.
CREATE FUNCTION lbt.explained(format text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	FOR plan IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT %s) %s', format, query) LOOP
		RETURN QUERY SELECT regexp_replace(btrim(line, ' ,'), ' \(actual rows.*', '') FROM regexp_split_to_table(plan, '\n') line
			WHERE line ~ 'Leaderboard|Board|Order|Offset|(Score|Member).Cond|Rank|- "rank"|Answered.by';
	END LOOP;
END $$;

-- The rows of a query or an EXECUTE in one of the ways of lbt.set_way(), as JSON, or its
-- error.  Rows that are not ordered are sorted.
CREATE FUNCTION lbt.result_by(query text, way text, ordered boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	rows text[] := '{}';
BEGIN
	PERFORM lbt.set_way(way);
	IF query ~ '^EXECUTE' THEN
		FOR r IN EXECUTE query LOOP
			rows := rows || to_json(r)::text;
		END LOOP;
	ELSE
		EXECUTE 'SELECT array_agg(to_json(q)::text) FROM (' || query || ') AS q' INTO rows;
	END IF;
	IF NOT ordered THEN
		rows := lbt.sorted(rows);
	END IF;
	RETURN coalesce('[' || nullif(array_to_string(rows, E', \n '), '') || ']', 'no rows');
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;

-- The same, which must be the same in all ways.  Of a long one only a hash.  A query is
-- ordered if it ends so.
CREATE FUNCTION lbt.result(query text, ordered boolean DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	way text;
	plain text;
	answer text;
BEGIN
	ordered := coalesce(ordered, query ~ '(ORDER BY|LIMIT|OFFSET|FETCH)[^()]*$');
	plain := lbt.result_by(query, 'plain', ordered);
	FOREACH way IN ARRAY '{force,eager,index}'::text[] LOOP
		answer := lbt.result_by(query, way, ordered);
		IF answer <> plain THEN
			RAISE EXCEPTION 'way % of % is wrong: %, not %', way, query, answer, plain;
		END IF;
	END LOOP;
	RETURN CASE WHEN length(plain) <= 300 OR plain !~ '^\[' THEN plain
		ELSE json_array_length(plain::json) || ' rows, ' || md5(plain) END;
END $$;

-- The oracle finds what is wrong: two rows on the board are one too few.
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO t VALUES (1, 10), (2, 20), (3, 20);
SELECT lb_create_board('t', 't');
SELECT lb_wait_ready();
SELECT enable_index, what, count(*)
FROM lbt.differences('t', 't', 'player_id < 3') GROUP BY 1, 2 ORDER BY 1, 2;
SELECT lbt.agrees('t', 't', 'player_id < 3');
SELECT * FROM lbt.differences('t', 't', query_reads => true);
SELECT * FROM lbt.differences('t', 't');
SELECT lbt.agrees('t', 't');
DROP TABLE t;
SELECT * FROM lb_verify();
