--
-- The defining query of every read function, written down once for all tests,
-- from the description of the functions and apart from the extension's own.
--
-- pg_regress and pgTAP use lbt.differences().  The random client (test/client)
-- reads lbt.comparison and puts in random operands.
--
CREATE SCHEMA lbt;

--
-- A query returns, for each of its operands, the call, what the function
-- returns, and what it should return, as texts.  These words stand for:
--
--	{board}			the board's name, as a literal
--	{table} {ranked}	its table, and the condition for a row to be ranked
--	{member} {score}	columns
--	{order}			the order of the ranked rows
--	{direction} {reverse}	of the score: DESC and ASC, or ASC and DESC
--	{descending}		true or false
--	{method}		the board's own method, as a literal
--	{k}				the column of b that has the rank by that method
--	{keys} {few_keys}	queries for members, also absent ones
--	{scores} {places} {percents}	queries for scores, places, percentages
--	{arrays}		rows of arrays of members
--	$A $B			numbers
--
-- "ranked rows" is the beginning of each query.  b has the board's rows: member
-- m, score s, place, rank by each method, percentile and number of rows.
--
-- A unique index keeps a member from being there twice, with one exception.  A
-- snapshot may still see a row that another transaction has deleted since, and
-- whose member the own transaction has then given to another row.  Functions
-- that take a member return the better row, nth = 1.
--
CREATE TABLE lbt.comparison (function text PRIMARY KEY, query text NOT NULL);

INSERT INTO lbt.comparison VALUES
('ranked rows', $$
WITH b AS MATERIALIZED (
	SELECT {member}::bigint AS m, {score}::bigint AS s,
		row_number() OVER (ORDER BY {order}) AS place,
		row_number() OVER (PARTITION BY {member} ORDER BY {order}) AS nth,
		rank() OVER (ORDER BY {score} {direction}) AS r,
		dense_rank() OVER (ORDER BY {score} {direction}) AS d,
		100 * cume_dist() OVER (ORDER BY {score} {reverse}) AS pct,
		count(*) OVER () AS n
	FROM {table} WHERE {ranked})$$),

('lb_rank', $$
SELECT format('lb_rank(%s, %L, %L)', i, {board}, w),
	lb_rank(i, {board}, w)::text,
	(CASE coalesce(w, {method}) WHEN 'row_number' THEN place WHEN 'rank' THEN r ELSE d END)::text
FROM {keys} AS k (i)
	CROSS JOIN (VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)
	LEFT JOIN b ON m = i AND nth = 1$$),

('lb_score', $$
SELECT format('lb_score(%s, %L)', i, {board}), lb_score(i, {board})::text, s::text
FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1$$),

('lb_percentile', $$
SELECT format('lb_percentile(%s, %L)', i, {board}), lb_percentile(i, {board})::text, pct::text
FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1$$),

('lb_player', $$
SELECT format('lb_player(%s, %L)', i, {board}),
	row(p.rank, p.score, p.percentile, p.total)::text, row({k}, s, pct, n)::text
FROM {keys} AS k (i)
	LEFT JOIN LATERAL lb_player(i, {board}) AS p ON true
	LEFT JOIN b ON m = i AND nth = 1$$),

('lb_top', $$
SELECT format('lb_top(%s, %L, %s)', a.n, {board}, skip),
	(SELECT string_agg(row(t.rank, t.member, t.score)::text, ' ' ORDER BY t.ordinality)
		FROM lb_top(a.n, {board}, skip) WITH ORDINALITY AS t),
	(SELECT string_agg(row({k}, m, s)::text, ' ' ORDER BY place)
		FROM b WHERE place > skip AND place - skip <= a.n)
FROM (SELECT count(*) AS total FROM b) AS c
	CROSS JOIN LATERAL (VALUES (10, 0), (0, 0), (1, 0), (10, 1), (5, total / 2), (3, total - 2),
		(7, total), (9, total + 1), (2147483647, 0), (2147483647, 2),
		($A % 20, ($B % 100)::bigint), (4, 9223372036854775807)) AS a (n, skip)
WHERE skip >= 0$$),

('lb_top_json', $$
SELECT format('lb_top_json(%s, %L, %s)', a.n, {board}, skip),
	lb_top_json(a.n, {board}, skip)::text,
	(SELECT concat('{"board":', to_json({board}::text), ',"as_of":', to_json(now()), ',"entries":[',
			string_agg(concat('{"rank":', {k}, ',"player_id":', m, ',"score":', s, '}'), ',' ORDER BY place), ']}')
		FROM b WHERE place > skip AND place - skip <= a.n)
FROM (SELECT count(*) AS total FROM b) AS c
	CROSS JOIN LATERAL (VALUES (10, 0), (0, 0), (1, 0), (5, total / 2), (2147483647, 0),
		($A % 20, ($B % 100)::bigint), (4, 9223372036854775807)) AS a (n, skip)$$),

('lb_at', $$
SELECT format('lb_at(%s, %L)', p, {board}),
	row(a.rank, a.member, a.score)::text, row({k}, m, s)::text
FROM {places} AS x (p)
	LEFT JOIN LATERAL lb_at(p, {board}) AS a ON true
	LEFT JOIN b ON place = p$$),

('lb_around', $$
SELECT format('lb_around(%s, %L, %s)', i, {board}, radius),
	(SELECT string_agg(row(t.rank, t.member, t.score)::text, ' ' ORDER BY t.ordinality)
		FROM lb_around(i, {board}, radius) WITH ORDINALITY AS t),
	(SELECT string_agg(row({k}, m, s)::text, ' ' ORDER BY place)
		FROM b WHERE place BETWEEN p - radius AND p + radius)
FROM {few_keys} AS k (i)
	CROSS JOIN (VALUES (0), (1), (5), ($A % 100), (2147483647)) AS r (radius)
	LEFT JOIN LATERAL (SELECT place FROM b WHERE m = i AND nth = 1) AS x (p) ON true$$),

('lb_count', $$
SELECT format('lb_count(%L)', {board}::text), lb_count({board})::text, (SELECT count(*) FROM b)::text$$),

('lb_count_between', $$
SELECT format('lb_count_between(%L, %L, %L)', lo, hi, {board}),
	lb_count_between(lo, hi, {board})::text,
	(SELECT count(*) FROM b WHERE (lo IS NULL OR s >= lo) AND (hi IS NULL OR s <= hi))::text
FROM {scores} AS l (lo)
	CROSS JOIN (SELECT NULL UNION SELECT min(s) + $A % 10 FROM b WHERE s < 100
		UNION VALUES (5), (900)) AS h (hi)$$),

('lb_rank_of_score', $$
SELECT format('lb_rank_of_score(%s, %L, %L)', x, {board}, w),
	lb_rank_of_score(x, {board}, w)::text,
	(CASE WHEN x IS NULL THEN NULL
		WHEN coalesce(w, {method}) = 'dense_rank' THEN
			(SELECT dense_rank(x) WITHIN GROUP (ORDER BY s {direction}) FROM b)
		ELSE (SELECT rank(x) WITHIN GROUP (ORDER BY s {direction}) FROM b) END)::text
FROM {scores} AS l (x)
	CROSS JOIN (VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)$$),

('lb_score_at_percentile', $$
SELECT format('lb_score_at_percentile(%s, %L)', p, {board}),
	lb_score_at_percentile(p, {board})::text,
	(SELECT percentile_disc(p / 100) WITHIN GROUP (ORDER BY s {reverse}) FROM b)::text
FROM {percents} AS x (p)$$),

('lb_ranks', $$
SELECT format('lb_ranks(%L, %L, %L)', a, {board}, w),
	(SELECT string_agg(row(t.member, t.rank, t.score)::text, ' ' ORDER BY t.ordinality)
		FROM lb_ranks(a, {board}, w) WITH ORDINALITY AS t),
	(SELECT string_agg(row(i, CASE coalesce(w, {method}) WHEN 'row_number' THEN place
				WHEN 'rank' THEN r ELSE d END, s)::text, ' ' ORDER BY place_in_a)
		FROM unnest(a) WITH ORDINALITY AS e (i, place_in_a) LEFT JOIN b ON m = i AND nth = 1)
FROM {arrays} AS x (a)
	CROSS JOIN (VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)$$),

('lb_among', $$
SELECT format('lb_among(%L, %L)', a, {board}),
	(SELECT string_agg(row(t.place, t.member, t.score, t.rank)::text, ' ' ORDER BY t.ordinality)
		FROM lb_among(a, {board}) WITH ORDINALITY AS t),
	(SELECT string_agg(row(f.n, m, s, {k})::text, ' ' ORDER BY f.n)
		FROM (SELECT row_number() OVER (ORDER BY place) AS n, m, s, place, r, d
			FROM b WHERE m = ANY (a) AND nth = 1) AS f)
FROM {arrays} AS x (a)$$),

-- The range of R scores is cut into k = least(n, R) buckets.  A row at distance d
-- from the worst score belongs to bucket floor(d * k / R) + 1.
('lb_histogram', $$
SELECT format('lb_histogram(%s, %L)', n, {board}),
	(SELECT string_agg(row(t.bucket, t.lo, t.hi, t.members)::text, ' ' ORDER BY t.ordinality)
		FROM lb_histogram(n, {board}) WITH ORDINALITY AS t),
	(SELECT string_agg(row(i,
			CASE WHEN {descending} THEN worst + d1 ELSE worst - d2 END,
			CASE WHEN {descending} THEN worst + d2 ELSE worst - d1 END,
			(SELECT count(*) FROM b WHERE div(abs(s - worst) * k, size) + 1 = i))::text, ' ' ORDER BY i)
		FROM (SELECT least(n, size) AS k, size,
				CASE WHEN {descending} THEN lo ELSE hi END AS worst
			FROM (SELECT min(s)::numeric AS lo, max(s)::numeric AS hi,
					max(s)::numeric - min(s) + 1 AS size FROM b) AS e
			WHERE lo IS NOT NULL) AS e
			CROSS JOIN LATERAL generate_series(1, k::integer) AS i
			CROSS JOIN LATERAL (SELECT div((i - 1) * size + k - 1, k) AS d1,
				div(i * size + k - 1, k) - 1 AS d2) AS f)
FROM (VALUES (1), (2), (3), (7), (10), (40), (64), ($A % 30 + 1)) AS x (n)$$);

--
-- Compare a board's functions with their queries, with the index and without.
-- Returns the differences, at most five of a function.
--
--	board		its name
--	source		its table
--	cond		which of the rows are ranked
--	member score	columns
--	dir			direction of the score
--	ties		the rest of rank_by
--	method		of the board
--	query_reads	whether the functions run their queries although the index is
--				enabled: false, true, or null for either
--	functions	a pattern for the names of the functions
--
CREATE FUNCTION lbt.differences(board text, source text,
	cond text DEFAULT 'true', member text DEFAULT 'player_id',
	score text DEFAULT 'score', dir text DEFAULT 'DESC',
	ties text DEFAULT NULL, method text DEFAULT 'row_number',
	query_reads boolean DEFAULT false, functions text DEFAULT '.')
RETURNS TABLE (enable_index text, what text, operand text, got text, want text)
LANGUAGE plpgsql SET jit = off AS $$
#variable_conflict use_variable
DECLARE
	relation text := regexp_replace(source, '^ONLY ', '');
	before text := current_setting('leaderboard.enable_index');
	words text[] := ARRAY[
		'{board}', quote_literal(board), '{table}', source, '{ranked}', cond,
		'{member}', member, '{score}', score,
		'{order}', concat_ws(', ', score || ' ' || dir, ties, member),
		'{direction}', dir, '{reverse}', CASE WHEN dir = 'DESC' THEN 'ASC' ELSE 'DESC' END,
		'{descending}', (dir = 'DESC')::text, '{method}', quote_literal(method),
		'{k}', CASE method WHEN 'rank' THEN 'r' WHEN 'dense_rank' THEN 'd' ELSE 'place' END,
		'{keys}', '(SELECT m FROM b UNION VALUES (NULL::bigint), (-4711), (0), (4711000),'
			' (9223372036854775807), (-9223372036854775808))',
		'{few_keys}', '(SELECT m FROM b WHERE place < 12 OR place > n - 12'
			' UNION ALL VALUES (NULL), (-4711))',
		'{scores}', '(SELECT s FROM b WHERE place % 3 = 1 OR place < 9'
			' UNION SELECT s + 1 FROM b WHERE s < 9223372036854775807 AND place % 5 = 0'
			' UNION VALUES (NULL::bigint), (0), (9223372036854775807), (-9223372036854775808))',
		'{places}', '(SELECT place FROM b UNION SELECT n + 1 FROM b UNION VALUES (NULL::bigint),'
			' (0), (-1), (100000), (9223372036854775807), (-9223372036854775808))',
		'{percents}', '(SELECT generate_series(0, 100)::float8 UNION SELECT pct FROM b UNION'
			' VALUES (NULL), (1e-300), (0.1), (33.3), (66.66666666666667), (99.99999999999999))',
		'{arrays}', '(SELECT array_agg(m ORDER BY m) FROM b'
			' UNION ALL SELECT array_agg(m ORDER BY m % 7, m) FROM'
			' (SELECT m FROM b UNION ALL SELECT m FROM b WHERE place % 3 = 1'
			' UNION ALL VALUES (NULL), (4711000)) d'
			' UNION ALL VALUES (''{}''::bigint[]), (NULL), (''{NULL,NULL}''),'
			' (''{-4711,-4711}''), (''{{1,2},{3,4}}''))',
		'$A', '17', '$B', '31'];
	ranked_rows text := (SELECT query FROM lbt.comparison WHERE function = 'ranked rows');
	query text;
	queries bigint;
	asked bigint;
BEGIN
	-- A board that has just been made or altered is still being built.
	PERFORM lb_wait_ready('5 s');
	FOREACH enable_index IN ARRAY ARRAY['on', 'off']
	LOOP
		PERFORM set_config('leaderboard.enable_index', enable_index, false);
		queries := lbt.query_reads(relation);
		FOR what, query IN SELECT c.function, c.query FROM lbt.comparison c
			WHERE c.function LIKE 'lb\_%' AND c.function ~ functions ORDER BY c.function
		LOOP
			query := ranked_rows || ' SELECT o, g, w FROM (' || query
				|| ') q (o, g, w) WHERE g IS DISTINCT FROM w LIMIT 5';
			FOR i IN 1 .. array_length(words, 1) BY 2
			LOOP
				query := replace(query, words[i], words[i + 1]);
			END LOOP;
			FOR operand, got, want IN EXECUTE query
			LOOP
				RETURN NEXT;
			END LOOP;
		END LOOP;
		asked := lbt.query_reads(relation) - queries;
		IF enable_index = 'on' AND (asked > 0) <> query_reads THEN
			what := 'reads';
			-- Why they ran their queries, since the counters were reset
			SELECT string_agg(c.key || ' ' || c.value, ', ' ORDER BY c.key) INTO operand
			FROM lb_stat_board s, jsonb_each_text(to_jsonb(s)) c
			WHERE s.source = relation::regclass
				AND c.key ~ '^query_' AND c.value <> '0' AND asked > 0;
			got := CASE WHEN asked > 0 THEN 'queries' ELSE 'index' END;
			want := CASE WHEN query_reads THEN 'queries' ELSE 'index' END;
			RETURN NEXT;
		END IF;
	END LOOP;
	PERFORM set_config('leaderboard.enable_index', before, false);
END $$;

-- How many reads of a table's boards have run their queries.
CREATE FUNCTION lbt.query_reads(table_name text) RETURNS numeric
LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(sum(query_reads), 0) FROM lb_stat_board
	WHERE source = table_name::regclass
$$;
