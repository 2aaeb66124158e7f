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
		'lb_stat_memory'::regclass) AND attnum > 0
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
SELECT lb_capture();
SELECT lb_set_updated_at();
SELECT lb_board_changed();
SELECT lb_on_drop();

--
-- The oracle: every read function of a board, with the index and without,
-- against plain SQL over the table.  Returns the differences only.
--
-- query_reads says whether reads with the index are meant to run their query:
-- false, true, or null for either.  functions is a pattern for their names.
--
CREATE SCHEMA lbt;
CREATE FUNCTION lbt.differences(board text, source text,
	cond text DEFAULT 'true', member text DEFAULT 'player_id',
	score text DEFAULT 'score', dir text DEFAULT 'DESC',
	ties text DEFAULT NULL, method text DEFAULT 'row_number',
	query_reads boolean DEFAULT false, functions text DEFAULT '.')
RETURNS TABLE (enable_index text, what text, operand text, got text, want text)
LANGUAGE plpgsql SET jit = off AS $$
#variable_conflict use_variable
DECLARE
	worst text := CASE WHEN dir = 'DESC' THEN 'ASC' ELSE 'DESC' END;
	name text := quote_literal(board);
	before text := current_setting('leaderboard.enable_index');
	methods text := '(VALUES (''row_number''), (''rank''), (''dense_rank''),'
		' (NULL)) v (method)';
	arrays text := '(SELECT array_agg(m ORDER BY m) FROM asked'
		' UNION ALL SELECT array_agg(m ORDER BY m %% 7, m) FROM'
		' (SELECT m FROM b UNION ALL SELECT m FROM b WHERE rn %% 3 = 1'
		' UNION ALL VALUES (NULL), (4711000)) d'
		' UNION ALL VALUES (''{}''::bigint[]), (NULL), (''{NULL,NULL}''),'
		' (''{-4711,-4711}''), (''{{1,2},{3,4}}'')) v (a)';
	b text;
	checks text[];
	queries bigint;
	asked bigint;
BEGIN
	-- What has just been made, or altered, is being built.
	PERFORM lb_wait_ready('5 s');
	b := format('WITH b0 AS MATERIALIZED (SELECT %1$s::bigint AS m,'
		' %2$s::bigint AS s,'
		' row_number() OVER (ORDER BY %2$s %3$s, %4$s %1$s) AS rn,'
		' rank() OVER (ORDER BY %2$s %3$s) AS rk,'
		' dense_rank() OVER (ORDER BY %2$s %3$s) AS dr,'
		' 100 * cume_dist() OVER (ORDER BY %2$s %5$s) AS pc,'
		' count(*) OVER () AS n FROM %6$s WHERE %7$s),'
		' b AS MATERIALIZED (SELECT *, %8$s AS r FROM b0),'
		' asked AS MATERIALIZED (SELECT m FROM b'
		' UNION VALUES (NULL::bigint), (-4711), (0), (4711000),'
		' (9223372036854775807), (-9223372036854775808)),'
		' scores AS MATERIALIZED (SELECT s FROM b WHERE rn %% 3 = 1 OR rn < 9'
		' UNION SELECT s + 1 FROM b WHERE s < 9223372036854775807'
		' AND rn %% 5 = 0'
		' UNION VALUES (NULL::bigint), (0), (9223372036854775807),'
		' (-9223372036854775808))',
		member, score, dir, coalesce(ties || ',', ''), worst, source, cond,
		CASE method WHEN 'rank' THEN 'rk' WHEN 'dense_rank' THEN 'dr'
		ELSE 'rn' END);
	checks := ARRAY[
		'lb_rank', 'SELECT a.m, lb_rank(a.m, %1$s), b.r'
		' FROM asked a LEFT JOIN b USING (m)',

		'lb_rank by method', 'SELECT (a.m, v.method),'
		' lb_rank(a.m, %1$s, v.method),'
		' CASE v.method WHEN ''rank'' THEN rk WHEN ''dense_rank'' THEN dr'
		' WHEN ''row_number'' THEN rn ELSE r END'
		' FROM asked a LEFT JOIN b USING (m), ' || methods,

		'lb_score', 'SELECT a.m, lb_score(a.m, %1$s), b.s'
		' FROM asked a LEFT JOIN b USING (m)',

		'lb_percentile', 'SELECT a.m, lb_percentile(a.m, %1$s), b.pc'
		' FROM asked a LEFT JOIN b USING (m)',

		'lb_player', 'SELECT a.m, p, row(b.r, b.s, b.pc, b.n)'
		' FROM asked a LEFT JOIN b USING (m), lb_player(a.m, %1$s) p',

		'lb_top', 'SELECT (v.n, v.skip),'
		' (SELECT array_agg((t.rank, t.member, t.score) ORDER BY t.o)'
		' FROM ROWS FROM (lb_top(v.n, %1$s, v.skip)) WITH ORDINALITY'
		' t (rank, member, score, o)),'
		' (SELECT array_agg((r, m, s) ORDER BY rn) FROM b'
		' WHERE rn > v.skip AND rn <= v.skip::numeric + v.n)'
		' FROM (VALUES (0, 0), (1, 0), (3, 0), (10, 0), (10, 1), (10, 17),'
		' (1000000, 0), (2147483647, 1), (5, 1000000),'
		' (10, 9223372036854775807)) v (n, skip)',

		'lb_top_json', 'SELECT (v.n, v.skip),'
		' lb_top_json(v.n, %1$s, v.skip),'
		' concat(''{"board":'', to_json(%1$s::text), '',"as_of":'','
		' to_json(now()), '',"entries":['','
		' (SELECT string_agg(concat(''{"rank":'', r, '',"player_id":'', m,'
		' '',"score":'', s, ''}''), '','' ORDER BY rn) FROM b'
		' WHERE rn > v.skip AND rn <= v.skip::numeric + v.n), '']}'')'
		' FROM (VALUES (0, 0), (1, 0), (10, 17), (1000000, 0),'
		' (2147483647, 1), (10, 9223372036854775807)) v (n, skip)',

		'lb_at', 'SELECT v.place, a, row(b.r, b.m, b.s)'
		' FROM (SELECT rn FROM b UNION SELECT n + 1 FROM b'
		' UNION VALUES (NULL::bigint), (0), (-1), (100000),'
		' (9223372036854775807), (-9223372036854775808)) v (place)'
		' LEFT JOIN b ON b.rn = v.place, lb_at(v.place, %1$s) a',

		'lb_around', 'SELECT (a.m, v.radius),'
		' (SELECT array_agg((t.rank, t.member, t.score) ORDER BY t.o)'
		' FROM ROWS FROM (lb_around(a.m, %1$s, v.radius)) WITH ORDINALITY'
		' t (rank, member, score, o)),'
		' (SELECT array_agg((b.r, b.m, b.s) ORDER BY b.rn) FROM b, b p'
		' WHERE p.m = a.m AND b.rn BETWEEN p.rn - v.radius AND p.rn + v.radius)'
		' FROM (SELECT m FROM b WHERE rn < 12 OR rn > n - 12 UNION ALL'
		' VALUES (NULL), (-4711)) a (m),'
		' (VALUES (0), (1), (4), (2147483647)) v (radius)',

		'lb_count', 'SELECT NULL, lb_count(%1$s), (SELECT count(*) FROM b)',

		'lb_count_between', 'SELECT (l.s, h.s), lb_count_between(l.s, h.s, %1$s),'
		' (SELECT count(*) FROM b WHERE (l.s IS NULL OR b.s >= l.s)'
		' AND (h.s IS NULL OR b.s <= h.s)) FROM scores l, scores h',

		'lb_rank_of_score', 'SELECT (x.s, v.method),'
		' lb_rank_of_score(x.s, %1$s, v.method),'
		' CASE WHEN x.s IS NOT NULL THEN 1 + (SELECT CASE'
		' coalesce(v.method, %4$L) WHEN ''dense_rank'' THEN count(DISTINCT b.s)'
		' ELSE count(*) END FROM b WHERE b.s %2$s x.s) END'
		' FROM scores x, ' || methods,

		'lb_score_at_percentile', 'SELECT v.p,'
		' lb_score_at_percentile(v.p, %1$s),'
		' (SELECT percentile_disc(v.p / 100) WITHIN GROUP (ORDER BY b.s %3$s)'
		' FROM b) FROM (SELECT p::double precision FROM generate_series(0, 100) p'
		' UNION VALUES (NULL::double precision), (1e-300), (0.1), (33.3),'
		' (66.66666666666667), (99.99999999999999) UNION SELECT pc FROM b) v (p)',

		'lb_ranks', 'SELECT (w.a, v.method),'
		' (SELECT array_agg((t.member, t.rank, t.score) ORDER BY t.o)'
		' FROM ROWS FROM (lb_ranks(w.a, %1$s, v.method)) WITH ORDINALITY'
		' t (member, rank, score, o)),'
		' (SELECT array_agg((u.m, CASE v.method WHEN ''rank'' THEN rk'
		' WHEN ''dense_rank'' THEN dr WHEN ''row_number'' THEN rn ELSE r END,'
		' b.s) ORDER BY u.o) FROM unnest(w.a) WITH ORDINALITY u (m, o)'
		' LEFT JOIN b USING (m)) FROM (SELECT * FROM ' || arrays || ') w, '
		|| methods,

		'lb_among', 'SELECT v.a,'
		' (SELECT array_agg((t.place, t.member, t.score, t.rank) ORDER BY t.o)'
		' FROM ROWS FROM (lb_among(v.a, %1$s)) WITH ORDINALITY'
		' t (place, member, score, rank, o)),'
		' (SELECT array_agg((x.place, x.m, x.s, x.r) ORDER BY x.place)'
		' FROM (SELECT row_number() OVER (ORDER BY rn) AS place, m, s, r'
		' FROM b WHERE m = ANY (v.a)) x) FROM ' || arrays,

		-- A score at distance d from the worst, of R different ones, is in
		-- bucket floor(d * k / R) + 1 of k; so each bucket's first score is
		-- the one before which the formula says another bucket.
		'lb_histogram', 'SELECT v.n,'
		' (SELECT array_agg((t.bucket, t.members) ORDER BY t.o)'
		' FROM ROWS FROM (lb_histogram(v.n, %1$s)) WITH ORDINALITY'
		' t (bucket, lo, hi, members, o)),'
		' (SELECT array_agg((i, (SELECT count(*) FROM b'
		' WHERE div(abs(b.s - w) * k, e.r) + 1 = i)) ORDER BY i)'
		' FROM e, LATERAL (SELECT %5$s AS w, least(v.n, e.r) AS k) x,'
		' generate_series(1, k) i WHERE e.r IS NOT NULL)'
		' FROM (VALUES (1), (2), (3), (7), (10), (40)) v (n)',

		'bounds of lb_histogram', 'SELECT (v.n, t),'
		' (div(abs(t.lo - w) * k, e.r) + 1, div(abs(t.hi - w) * k, e.r) + 1,'
		' t.lo <= t.hi,'
		' t.lo = e.lo OR div(abs(t.lo::numeric - 1 - w) * k, e.r) + 1 <> t.bucket,'
		' t.hi = e.hi OR div(abs(t.hi::numeric + 1 - w) * k, e.r) + 1 <> t.bucket),'
		' (t.bucket::numeric, t.bucket::numeric, true, true, true)'
		' FROM e, (VALUES (1), (2), (3), (7), (10), (64)) v (n),'
		' LATERAL (SELECT %5$s AS w, least(v.n, e.r) AS k) x,'
		' lb_histogram(v.n, %1$s) t'];

	FOREACH enable_index IN ARRAY ARRAY['on', 'off']
	LOOP
		PERFORM set_config('leaderboard.enable_index', enable_index, false);
		queries := lbt.query_reads(regexp_replace(source, '^ONLY ', ''));
		FOR i IN 1 .. array_length(checks, 1) BY 2
		LOOP
			what := checks[i];
			CONTINUE WHEN what !~ functions;
			FOR operand, got, want IN EXECUTE b
				|| CASE WHEN what ~ 'histogram' THEN
					', e AS (SELECT min(s)::numeric AS lo, max(s)::numeric AS hi,'
					' max(s)::numeric - min(s) + 1 AS r FROM b)' ELSE '' END
				|| ' SELECT o::text, g::text, w::text FROM ('
				|| format(checks[i + 1], name,
					CASE WHEN dir = 'DESC' THEN '>' ELSE '<' END, worst, method,
					CASE WHEN dir = 'DESC' THEN 'e.lo' ELSE 'e.hi' END)
				|| ') q (o, g, w) WHERE coalesce(g::text, ''(,,,)'') NOT IN'
				' (coalesce(w::text, ''(,,,)''),'
				'  CASE WHEN w::text ~ ''^\(,+\)$'' THEN ''(,,,)'' ELSE ''x'' END)'
				' LIMIT 5'
			LOOP
				RETURN NEXT;
			END LOOP;
		END LOOP;
		asked := lbt.query_reads(regexp_replace(source, '^ONLY ', '')) - queries;
		IF enable_index = 'on' AND (asked > 0) <> query_reads THEN
			what := 'reads';
			-- Why it did not, since the counters were reset
			SELECT string_agg(c.key || ' ' || c.value, ', ' ORDER BY c.key) INTO operand
			FROM lb_stat_board s, jsonb_each_text(to_jsonb(s)) c
			WHERE s.source = regexp_replace(source, '^ONLY ', '')::regclass
				AND c.key ~ '^query_' AND c.value <> '0' AND asked > 0;
			got := CASE WHEN asked > 0 THEN 'queries' ELSE 'index' END;
			want := CASE WHEN query_reads THEN 'queries' ELSE 'index' END;
			RETURN NEXT;
		END IF;
	END LOOP;
	PERFORM set_config('leaderboard.enable_index', before, false);
END $$;

-- Reads of a table's boards that were answered by their queries.
CREATE FUNCTION lbt.query_reads(table_name text) RETURNS numeric
LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(sum(query_reads), 0) FROM lb_stat_board
	WHERE source = table_name::regclass
$$;

-- Wait until the launcher has given back the boards of a family that are empty.
CREATE FUNCTION lbt.given_back(table_name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	FOR i IN 1 .. 1000 LOOP
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
