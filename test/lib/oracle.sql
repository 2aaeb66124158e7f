--
-- The defining query of every read function, written down once for all tests,
-- from the description of the functions and apart from the extension's own.
--
-- pg_regress and pgTAP use lbt.differences().  The random client (test/client)
-- reads lbt.comparison and puts in random operands.
--
\ir types.sql

--
-- Most functions are two: one takes and returns integers, and its twin texts.  A
-- query is for both.  It returns, for each of its operands, the call, what the
-- function returns, and what it should return, as texts.  These words stand for:
--
--	{_key}			nothing, or the end of the twin's name
--	{:m} {:s}		nothing, or in the random client the type of the member or the score
--	{board}			the board's name, as a literal
--	{table} {ranked}	its table, and the condition for a row to be ranked
--	{member} {score}	columns, the member's with commas between
--	{m}				the member as the function takes it: a bigint or a text
--	{json}			the member as JSON
--	{type}			the type of scores: bigint, or the column's without domains
--	{order}			the order of the ranked rows
--	{tie_order} {member_order}	parts of it; the first is a constant if there is none
--	{ties}			the tie-breakers as the functions return and take them, an array of texts
--	{key_score}		a row's score as the functions take it, without loss
--	{score_text}	the same as text, as the functions return it
--	{direction} {reverse}	of the score: DESC and ASC, or ASC and DESC
--	{descending}		true or false
--	{method}		the board's own method, as a literal
--	{k}				the column of b that has the rank by that method
--	{keys} {few_keys}	queries for members, also absent ones
--	{scores} {few_scores} {places} {percents}	queries for scores, places, percentages
--	{arrays}		rows of arrays of members
--	$A $B			numbers
--
-- "ranked rows" is the beginning of each query.  b has the board's rows: member
-- m, as JSON j, score s, as text st and in its own type own, place, rank by each
-- method, percentile and number of rows.
--
-- uses says what a function takes or returns: a member (m), a score (s).  These must
-- be integers, but not for a twin.  Its scores have a unit (u), or are
-- floating-point numbers (f).
--
-- A unique index keeps a member from being there twice, with one exception.  A
-- snapshot may still see a row that another transaction has deleted since, and
-- whose member the own transaction has then given to another row.  Functions
-- that take a member return the better row, nth = 1.
--
CREATE TABLE lbt.comparison (function text PRIMARY KEY, uses text NOT NULL,
	query text NOT NULL);

INSERT INTO lbt.comparison VALUES
('ranked rows', '', $$
WITH b AS MATERIALIZED (
	SELECT {m} AS m, {json} AS j, {score}::{type} AS s, {score_text} AS st, {score} AS own,
		row_number() OVER (ORDER BY {order}) AS place,
		row_number() OVER (PARTITION BY {member} ORDER BY {order}) AS nth,
		rank() OVER (ORDER BY {score} {direction}) AS r,
		dense_rank() OVER (ORDER BY {score} {direction}) AS d,
		100 * cume_dist() OVER (ORDER BY {score} {reverse}) AS pct,
		count(*) OVER () AS n
	FROM {table} WHERE {ranked})$$),

('lb_rank', 'm', $$
SELECT format('lb_rank{_key}(%s, %L, %L)', i, {board}, w),
	lb_rank{_key}(i{:m}, {board}, w)::text,
	(CASE coalesce(w, {method}) WHEN 'row_number' THEN place WHEN 'rank' THEN r ELSE d END)::text
FROM {keys} AS k (i)
	CROSS JOIN (VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)
	LEFT JOIN b ON m = i AND nth = 1$$),

('lb_score', 'ms', $$
SELECT format('lb_score{_key}(%s, %L)', i, {board}), lb_score{_key}(i{:m}, {board})::text, st
FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1$$),

('lb_percentile', 'm', $$
SELECT format('lb_percentile{_key}(%s, %L)', i, {board}), lb_percentile{_key}(i{:m}, {board})::text, pct::text
FROM {keys} AS k (i) LEFT JOIN b ON m = i AND nth = 1$$),

('lb_player', 'ms', $$
SELECT format('lb_player{_key}(%s, %L)', i, {board}),
	row(p.rank, p.score, p.percentile, p.total)::text, row({k}, st, pct, n)::text
FROM {keys} AS k (i)
	LEFT JOIN LATERAL lb_player{_key}(i{:m}, {board}) AS p ON true
	LEFT JOIN b ON m = i AND nth = 1$$),

('lb_top', 'ms', $$
SELECT format('lb_top{_key}(%s, %L, %s)', a.n, {board}, skip),
	(SELECT string_agg(row(t.rank, t.member, t.score)::text, ' ' ORDER BY t.ordinality)
		FROM lb_top{_key}(a.n, {board}, skip) WITH ORDINALITY AS t),
	(SELECT string_agg(row({k}, m, st)::text, ' ' ORDER BY place)
		FROM b WHERE place > skip AND place - skip <= a.n)
FROM (SELECT count(*) AS total FROM b) AS c
	CROSS JOIN LATERAL (VALUES (10, 0), (0, 0), (1, 0), (10, 1), (5, total / 2), (3, total - 2),
		(7, total), (9, total + 1), (2147483647, 0), (2147483647, 2),
		($A % 20, ($B % 100)::bigint), (4, 9223372036854775807)) AS a (n, skip)
WHERE skip >= 0$$),

('lb_page', 'ms', $$
SELECT format('lb_page{_key}(%s, %L, %s)', a.n, {board}, skip),
	(SELECT string_agg(row(t.rank, t.member, t.score, t.ties)::text, ' ' ORDER BY t.ordinality)
		FROM lb_page{_key}(a.n, {board}, skip) WITH ORDINALITY AS t),
	(SELECT string_agg(row({k}, m, st, c.ties[place::integer])::text, ' ' ORDER BY place)
		FROM b WHERE place > skip AND place - skip <= a.n)
FROM (SELECT count(*) AS total, (SELECT array_agg({ties}::text ORDER BY {order})
			FROM {table} WHERE {ranked}) AS ties FROM b) AS c
	CROSS JOIN LATERAL (VALUES (10, 0), (0, 0), (5, total / 2), (2147483647, 0),
		($A % 20, ($B % 100)::bigint), (4, 9223372036854775807)) AS a (n, skip)$$),

('lb_top_json', '', $$
SELECT format('lb_top_json(%s, %L, %s)', a.n, {board}, skip),
	lb_top_json(a.n, {board}, skip)::text,
	(SELECT concat('{"board":', to_json({board}::text), ',"as_of":', to_json(now()), ',"entries":[',
			string_agg(concat('{"rank":', {k}, ',"player_id":', j, ',"score":', lbt.json(own), '}'), ',' ORDER BY place), ']}')
		FROM b WHERE place > skip AND place - skip <= a.n)
FROM (SELECT count(*) AS total FROM b) AS c
	CROSS JOIN LATERAL (VALUES (10, 0), (0, 0), (1, 0), (5, total / 2), (2147483647, 0),
		($A % 20, ($B % 100)::bigint), (4, 9223372036854775807)) AS a (n, skip)$$),

('lb_rank_json', 'm', $$
SELECT format('lb_rank_json{_key}(%s, %L, %s)', i, {board}, radius),
	lb_rank_json{_key}(i{:m}, {board}, radius)::text,
	(SELECT concat('{"player_id":', p.j, ',"board":', to_json({board}::text), ',"rank":', p.{k},
			',"score":', lbt.json(p.own), ',"percentile":', lbt.json(p.pct), ',"top_percentile":', lbt.json(100 - p.pct),
			',"surrounding_players":[', (SELECT string_agg(concat('{"rank":', {k}, ',"player_id":', j,
				',"score":', lbt.json(own), '}'), ',' ORDER BY place)
				FROM b WHERE place BETWEEN p.place - radius AND p.place + radius), ']}')
		FROM b AS p WHERE p.m = i AND p.nth = 1)
FROM {few_keys} AS k (i) CROSS JOIN (VALUES (0), (1), ($A % 100)) AS r (radius)$$),

-- By row_number, members at better places are ahead; else those with better scores.
('lb_tier', 'm', $$
SELECT format('lb_tier{_key}(%s, %L, %L)', i, {board}, t),
	lb_tier{_key}(i{:m}, {board}, t)::text,
	CASE WHEN place IS NOT NULL THEN (SELECT 1 + count(*) FILTER (WHERE 100 * (CASE {method} WHEN 'row_number' THEN place ELSE r END - 1) >= p * n)
		FROM unnest(t) AS u (p))::text END
FROM {keys} AS k (i)
	CROSS JOIN (VALUES ('{1,10,50}'::numeric[]), ('{0.7,33.3,66.67,100}'), ('{100}')) AS v (t)
	LEFT JOIN b ON m = i AND nth = 1$$),

('lb_at', 'ms', $$
SELECT format('lb_at{_key}(%s, %L)', p, {board}),
	row(a.rank, a.member, a.score)::text, row({k}, m, st)::text
FROM {places} AS x (p)
	LEFT JOIN LATERAL lb_at{_key}(p, {board}) AS a ON true
	LEFT JOIN b ON place = p$$),

-- The largest radius returns the whole board, so some of the members have it.
('lb_around', 'ms', $$
SELECT format('lb_around{_key}(%s, %L, %s)', i, {board}, radius),
	(SELECT string_agg(row(t.rank, t.member, t.score)::text, ' ' ORDER BY t.ordinality)
		FROM lb_around{_key}(i{:m}, {board}, radius) WITH ORDINALITY AS t),
	(SELECT string_agg(row({k}, m, st)::text, ' ' ORDER BY place)
		FROM b WHERE place BETWEEN p - radius AND p + radius)
FROM {few_keys} AS k (i)
	CROSS JOIN (VALUES (0), (1), (5), ($A % 100), (2147483647)) AS r (radius)
	LEFT JOIN LATERAL (SELECT place FROM b WHERE m = i AND nth = 1) AS x (p) ON true
WHERE radius < 100 OR p IS NULL OR p < 3 OR p % 10 = 0$$),

('lb_count', '', $$
SELECT format('lb_count(%L)', {board}::text), lb_count({board})::text, (SELECT count(*) FROM b)::text$$),

('lb_count_between', 's', $$
SELECT format('lb_count_between{_key}(%L, %L, %L)', lo, hi, {board}),
	lb_count_between{_key}(lo{:s}, hi{:s}, {board})::text,
	(SELECT count(*) FROM b WHERE (lo IS NULL OR s >= lo::{type})
		AND (hi IS NULL OR s <= hi::{type}))::text
FROM {scores} AS l (lo) CROSS JOIN {few_scores} AS h (hi)$$),

-- Keys are put together from the parts of several rows, and compared by the places
-- that their parts have among those of all rows.
('lb_count_before', 'ms', $$
SELECT what, got, want FROM (WITH parts AS MATERIALIZED (
	SELECT {m} AS m, {key_score} AS s, {ties} AS ties,
		row_number() OVER (ORDER BY {order}) AS place, count(*) OVER () AS n,
		dense_rank() OVER (ORDER BY {score} {direction}) AS s_place,
		dense_rank() OVER (ORDER BY {tie_order}) AS t_place,
		dense_rank() OVER (ORDER BY {member_order}) AS m_place
	FROM {table} WHERE {ranked})
SELECT format('lb_count_before{_key}(%L, %L, %L, %L, %L)', k.s, k.ties, k.m, {board}, i),
	lb_count_before{_key}(k.s{:s}, k.ties, k.m{:m}, {board}, i)::text,
	(SELECT count(*) FILTER (WHERE (s_place, t_place, m_place) < (k.s_place, k.t_place, k.m_place)
			OR i AND (s_place, t_place, m_place) = (k.s_place, k.t_place, k.m_place)) FROM parts)::text
FROM (SELECT x.s, x.s_place, y.ties, y.t_place, z.m, z.m_place
		FROM parts AS x CROSS JOIN parts AS y CROSS JOIN parts AS z
		WHERE x.place IN (1, x.n / 2, x.n) AND y.place IN (2, 1 + $A % y.n, y.n)
			AND z.place IN (1, 1 + $B % z.n, z.n)
		UNION ALL SELECT s, s_place, ties, t_place, m, m_place
		FROM parts WHERE place < 12 OR place > n - 5) AS k
	CROSS JOIN (VALUES (false), (true)) AS v (i)) AS q (what, got, want)$$),

('lb_rank_of_score', 's', $$
SELECT format('lb_rank_of_score{_key}(%s, %L, %L)', x, {board}, w),
	lb_rank_of_score{_key}(x{:s}, {board}, w)::text,
	(CASE WHEN x IS NULL THEN NULL
		WHEN coalesce(w, {method}) = 'dense_rank' THEN
			(SELECT dense_rank(x::{type}) WITHIN GROUP (ORDER BY s {direction}) FROM b)
		ELSE (SELECT rank(x::{type}) WITHIN GROUP (ORDER BY s {direction}) FROM b) END)::text
FROM {scores} AS l (x)
	CROSS JOIN (VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)$$),

-- Of the scores 0 and -0, which are equal, either will do.
('lb_score_at_percentile', 's', $$
SELECT format('lb_score_at_percentile{_key}(%s, %L)', p, {board}),
	regexp_replace(lb_score_at_percentile{_key}(p, {board})::text, '^-0$', '0'),
	(SELECT regexp_replace(nullif(lbt.without_loss(percentile_disc(p / 100)
		WITHIN GROUP (ORDER BY s {reverse})), ''), '^-0$', '0') FROM b)
FROM {percents} AS x (p)$$),

('lb_ranks', 'ms', $$
SELECT format('lb_ranks{_key}(%L, %L, %L)', a, {board}, w),
	(SELECT string_agg(row(t.member, t.rank, t.score)::text, ' ' ORDER BY t.ordinality)
		FROM lb_ranks{_key}(a, {board}, w) WITH ORDINALITY AS t),
	(SELECT string_agg(row(i, CASE coalesce(w, {method}) WHEN 'row_number' THEN place
				WHEN 'rank' THEN r ELSE d END, st)::text, ' ' ORDER BY place_in_a)
		FROM unnest(a) WITH ORDINALITY AS e (i, place_in_a) LEFT JOIN b ON m = i AND nth = 1)
FROM {arrays} AS x (a)
	CROSS JOIN (VALUES (NULL), ('row_number'), ('rank'), ('dense_rank')) AS v (w)$$),

('lb_among', 'ms', $$
SELECT format('lb_among{_key}(%L, %L)', a, {board}),
	(SELECT string_agg(row(t.place, t.member, t.score, t.rank)::text, ' ' ORDER BY t.ordinality)
		FROM lb_among{_key}(a, {board}) WITH ORDINALITY AS t),
	(SELECT string_agg(row(f.n, m, st, {k})::text, ' ' ORDER BY f.n)
		FROM (SELECT row_number() OVER (ORDER BY place) AS n, m, st, place, r, d
			FROM b WHERE m = ANY (a) AND nth = 1) AS f)
FROM {arrays} AS x (a)$$),

-- Scores are whole numbers of a unit.  The finite ones from the worst to the best are
-- cut into k = least(n, how many) buckets.  Bucket i begins ceil((i - 1) * size / k)
-- from the worst.  The outermost ones reach as far as the infinite scores.
('lb_histogram', 'su', $$
SELECT format('lb_histogram{_key}(%s, %L)', n, {board}),
	(SELECT string_agg(row(t.bucket, lbt.units(t.lo::text, '{type}'), lbt.units(t.hi::text, '{type}'),
			lbt.without_loss(t.lo::{type}) = t.lo::text AND lbt.without_loss(t.hi::{type}) = t.hi::text, t.members)::text, ' ' ORDER BY t.ordinality)
		FROM lb_histogram{_key}(n, {board}) WITH ORDINALITY AS t),
	(WITH u AS MATERIALIZED (SELECT lbt.units(st, '{type}') AS u FROM b),
		e AS (SELECT *, CASE WHEN lo IS NOT NULL THEN least(n, hi - lo + 1) END AS k, hi - lo + 1 AS size, CASE WHEN {descending} THEN lo ELSE hi END AS worst
			FROM (SELECT min(u) AS lowest, max(u) AS highest, min(u) FILTER (WHERE abs(u) < 'Infinity') AS lo,
				max(u) FILTER (WHERE abs(u) < 'Infinity') AS hi FROM u) AS e WHERE lowest IS NOT NULL)
	SELECT string_agg(row(i, lo, hi, true, (SELECT count(*) FROM u WHERE u BETWEEN lo AND hi))::text, ' ' ORDER BY i)
	FROM (SELECT 1 AS i, lowest AS lo, highest AS hi FROM e WHERE lo IS NULL
		UNION ALL SELECT i,
			CASE WHEN {descending} AND i = 1 OR NOT {descending} AND i = k THEN lowest
				WHEN {descending} THEN worst + d1 ELSE worst - d2 END,
			CASE WHEN {descending} AND i = k OR NOT {descending} AND i = 1 THEN highest
				WHEN {descending} THEN worst + d2 ELSE worst - d1 END
		FROM e CROSS JOIN LATERAL generate_series(1, k::integer) AS i
			CROSS JOIN LATERAL (SELECT div((i - 1) * size + k - 1, k) AS d1,
				div(i * size + k - 1, k) - 1 AS d2) AS d) AS f)
FROM (VALUES (1), (2), (3), (7), (10), (40), (64), ($A % 30 + 1)) AS x (n)$$),

('lb_histogram_floats', 'sf', $$
SELECT format('lb_histogram_key(%s, %L)', n, {board}),
	(SELECT string_agg(row(t.bucket, t.lo::{type} + 0, t.hi::{type} + 0, t.members)::text, ' ' ORDER BY t.ordinality)
		FROM lb_histogram{_key}(n, {board}) WITH ORDINALITY AS t),
	(SELECT string_agg(row(i, lo::{type} + 0, hi::{type} + 0, (SELECT count(*) FROM b WHERE s BETWEEN lo AND hi))::text, ' ' ORDER BY i)
		FROM lbt.float_buckets((SELECT array_agg(s) FROM b), n, {descending}))
FROM (VALUES (1), (2), (3), (7), (10), (40), (64), ($A % 30 + 1)) AS x (n)$$);

-- A value as the JSON functions have it, by leaderboard.json_bigint.
-- Floating-point numbers, and domains over them, have all digits whatever the session's
-- settings.
CREATE FUNCTION lbt.json(value anyelement) RETURNS json LANGUAGE sql STABLE SET extra_float_digits = 1 AS $$
	SELECT CASE WHEN pg_typeof(value) = 'bigint'::regtype AND current_setting('leaderboard.json_bigint') = 'string' THEN to_json(value::text)
		ELSE to_json(value) END
$$;

-- A score as a number of units: extract() may round times that are far from now.
CREATE FUNCTION lbt.units(score text, type text) RETURNS numeric
LANGUAGE sql STABLE AS $$
	SELECT trunc(CASE
		WHEN score IN ('infinity', '-infinity') THEN score::numeric
		WHEN type = 'boolean' THEN score::boolean::integer
		WHEN type = 'date' THEN score::date - date '2000-01-01'
		WHEN type = 'time without time zone' THEN extract(epoch FROM score::time) * 1000000
		WHEN type LIKE 'timestamp%' THEN (t::date - date '2000-01-01') * 86400000000::numeric
			+ extract(epoch FROM t::time) * 1000000
		WHEN type = 'numeric' THEN score::numeric * coalesce(power(10::numeric, scale(score::numeric)), 1)
		ELSE score::numeric END)
	FROM (SELECT CASE type WHEN 'timestamp with time zone' THEN score::timestamptz AT TIME ZONE 'UTC'
		WHEN 'timestamp without time zone' THEN score::timestamp END AS t) AS t
$$;

-- The number of a floating-point type before or after another one.
CREATE FUNCTION lbt.next_float(x float8, up boolean, single boolean) RETURNS float8
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN x = 0 THEN CASE WHEN up THEN 1 ELSE -1 END * CASE WHEN single THEN 2 ^ -149 ELSE 2 ^ -1074 END
		ELSE sign(x) * ((bits & ((1::bigint << digits) - 1)) + (least(bits >> digits, 1) << digits))::float8
			* 2::float8 ^ (greatest(bits >> digits, 1)::integer - CASE WHEN single THEN 150 ELSE 1075 END) END
	FROM (SELECT b + CASE WHEN up = (x > 0) THEN 1 ELSE -1 END AS bits, CASE WHEN single THEN 23 ELSE 52 END AS digits
		FROM (SELECT CASE WHEN single THEN ('x' || encode(float4send(abs(x)::real), 'hex'))::bit(32)::integer::bigint
			ELSE ('x' || encode(float8send(abs(x)), 'hex'))::bit(64)::bigint END AS b) AS b) AS n
$$;

-- A product with a fraction that is at most 1; 0 where PostgreSQL reports an underflow.
CREATE FUNCTION lbt.product(score float8, fraction float8) RETURNS float8
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN score * fraction;
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN 0;
END $$;

--
-- The buckets of floating-point scores.  Of k buckets the one after i others begins
-- at worst * ((k - i) / k) + best * (i / k), rounded to the type, where worst and
-- best are finite.  Each is at lowest as wide as four steps at the largest number.
--
CREATE FUNCTION lbt.float_buckets(scores anyarray, n integer, descending boolean)
RETURNS TABLE (i integer, lo float8, hi float8) LANGUAGE plpgsql AS $$
DECLARE
	single boolean := pg_typeof(scores) = 'real[]'::regtype;
	lowest float8;
	highest float8;
	worst float8;
	best float8;
	largest float8;
	step float8;
	k float8 := n;
	starts float8[];
BEGIN
	SELECT min(s), max(s), min(s) FILTER (WHERE abs(s) < 'Infinity'), max(s) FILTER (WHERE abs(s) < 'Infinity')
	INTO lowest, highest, worst, best FROM unnest(scores) AS s;
	IF worst IS NULL THEN
		RETURN QUERY SELECT 1, lowest, highest WHERE lowest IS NOT NULL;
		RETURN;
	END IF;
	largest := greatest(abs(worst), abs(best));
	step := largest - lbt.next_float(largest, false, single);
	k := CASE WHEN best = worst THEN 1
		ELSE greatest(1, least(k, floor(CASE WHEN largest < 1 THEN (best - worst) / step / 4
			ELSE (lbt.product(best, 0.25) - lbt.product(worst, 0.25)) / step END))) END;
	IF NOT descending THEN
		SELECT worst, best INTO best, worst;
	END IF;
	starts := ARRAY(SELECT CASE WHEN NOT single THEN x WHEN abs(x) < 7e-46 THEN 0 ELSE x::real::float8 END
		FROM generate_series(0, k::integer) AS j
			CROSS JOIN LATERAL (SELECT lbt.product(worst, (k - j) / k) + lbt.product(best, j / k)) AS s (x)
		ORDER BY j);
	FOR j IN 1 .. k::integer LOOP
		i := j;
		lo := starts[i];
		hi := CASE WHEN i = k THEN best ELSE lbt.next_float(starts[i + 1], NOT descending, single) END;
		IF NOT descending THEN
			SELECT lo, hi INTO hi, lo;
		END IF;
		IF i = (CASE WHEN descending THEN 1 ELSE k END) THEN
			lo := lowest;
		END IF;
		IF i = (CASE WHEN descending THEN k ELSE 1 END) THEN
			hi := highest;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;

--
-- The words of a query that depend on the types of the member and the score, with
-- what they stand for; and "serves", the letters in uses that are no obstacle.
--
CREATE FUNCTION lbt.typed_words(relation regclass, member text, score text, twin boolean)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
	integers text[] := '{smallint,integer,bigint}';
	members text[] := ARRAY(SELECT r[1]
		FROM regexp_matches(member, '("(?:[^"]|"")+"|[^", ]+)', 'g') AS r);
	types text[] := ARRAY(SELECT coalesce(lbt.base_type(relation, c), 'bigint')
		FROM unnest(members) AS c);
	score_type text := coalesce(lbt.base_type(relation, score), 'bigint');
	plain boolean := NOT twin AND types[1] = ANY (integers) AND cardinality(members) = 1;
	plain_score boolean := NOT twin AND score_type = ANY (integers);
	single text := CASE WHEN cardinality(members) = 1 THEN '' ELSE 'row' END;
	-- A query for members that are hardly on a board
	absent text;
	-- Of ranked rows: without the index, which takes longer, a few will do.
	enough text := '(current_setting(''leaderboard.enable_index'')::boolean OR place < 4 OR place = n)';
BEGIN
	absent := CASE WHEN plain THEN 'VALUES (NULL::bigint), (-4711), (0), (4711000),'
			' (9223372036854775807), (-9223372036854775808)'
		ELSE (SELECT format('SELECT NULL::text UNION ALL SELECT %s(%s)::text FROM ROWS FROM (%s) AS x (%s)',
				single, string_agg(format('CAST(e%s AS %s)', i, t), ', ' ORDER BY i),
				string_agg(format('lbt.extremes(%L)', t), ', ' ORDER BY i),
				string_agg('e' || i, ', ' ORDER BY i))
			FROM unnest(types) WITH ORDINALITY AS u (t, i)) END;
	RETURN jsonb_build_object(
		'serves', CASE WHEN plain OR twin THEN 'm' ELSE '' END
			|| CASE WHEN plain_score OR twin THEN 's' ELSE '' END
			|| CASE WHEN score_type IN ('real', 'double precision') THEN 'f' ELSE 'u' END,
		'{_key}', CASE WHEN twin THEN '_key' ELSE '' END, '{:m}', '', '{:s}', '',
		'{m}', CASE WHEN plain THEN format('%s::bigint', member)
			ELSE format(CASE WHEN EXISTS (SELECT FROM unnest(types) AS t WHERE t ~ '^(date|time)')
				THEN '(lbt.without_loss(%s(%s)) COLLATE "C")' ELSE '(%s(%s)::text COLLATE "C")' END, single, member) END,
		'{json}', CASE WHEN cardinality(members) = 1 THEN format('lbt.json(%s)', member)
			ELSE (SELECT format('to_json((SELECT x FROM (SELECT %s) AS x))', string_agg(format('lbt.json(%1$s) AS %1$s', c), ', ' ORDER BY i))
				FROM unnest(members) WITH ORDINALITY AS u (c, i)) END,
		'{type}', CASE WHEN plain_score THEN 'bigint' ELSE score_type END,
		'{score_text}', format(CASE WHEN plain_score OR score_type !~ '^(real|double|date|time)'
			THEN 'format(''%%s'', %s)' ELSE 'lbt.without_loss(%s)' END, score),
		'{key_score}', format(CASE WHEN plain_score THEN '%s::bigint' ELSE 'lbt.without_loss(%s)' END, score),
		'{member_order}', (SELECT string_agg(c || CASE WHEN types[i] ~ '^(text|character varying)$'
				THEN ' COLLATE "C"' ELSE '' END, ', ' ORDER BY i)
			FROM unnest(members) WITH ORDINALITY AS u (c, i)),
		'{keys}', format('(SELECT m FROM b WHERE %s UNION (%s))', enough, absent),
		'{few_keys}', format('(SELECT m FROM b WHERE (place < 12 OR place > n - 12) AND %s'
			' UNION ALL (SELECT * FROM (%s) AS a LIMIT 2))', enough, absent),
		'{arrays}', format('(SELECT array_agg(m ORDER BY m) FROM b'
			' UNION ALL SELECT array_agg(m ORDER BY md5(m::text), m) FROM'
			' (SELECT m FROM b UNION ALL SELECT m FROM b WHERE place %% 3 = 1'
			' UNION ALL (%1$s) UNION ALL (%1$s)) d'
			' UNION ALL SELECT array_agg(ARRAY[m, m]) FROM b WHERE place < 4'
			' UNION ALL VALUES (''{}''::%2$s[]), (NULL), (''{NULL,NULL}''))', absent,
			CASE WHEN plain THEN 'bigint' ELSE 'text' END))
	|| CASE WHEN plain_score THEN jsonb_build_object(
		'{scores}', '(SELECT s FROM b WHERE (place % 3 = 1 OR place < 9) AND ' || enough ||
			' UNION SELECT s + 1 FROM b WHERE s < 9223372036854775807 AND place % 5 = 0 AND ' || enough ||
			' UNION VALUES (NULL::bigint), (0), (9223372036854775807), (-9223372036854775808))',
		'{few_scores}', '(SELECT NULL::bigint UNION SELECT min(s) + 7 FROM b WHERE s < 100'
			' UNION VALUES (5), (900))')
	ELSE jsonb_build_object(
		'{scores}', format('(SELECT st FROM b WHERE (place %% 3 = 1 OR place < 9) AND %s'
			' UNION SELECT lbt.extremes(%L) UNION VALUES (NULL))', enough, score_type),
		'{few_scores}', '(SELECT st FROM b WHERE place IN (1, n / 2, n) UNION VALUES (NULL))') END;
END $$;

-- A value as the text that makes it again, whatever the settings of the session that reads
-- it: floating-point numbers with all digits, dates and times in ISO.
CREATE FUNCTION lbt.without_loss(value anyelement) RETURNS text
LANGUAGE sql STABLE SET extra_float_digits = 1 SET DateStyle = ISO AS $$ SELECT format('%s', value) $$;

-- An array of something for each column of a list of an ORDER BY, as SQL.
CREATE FUNCTION lbt.tie_array(something text, list text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('ARRAY[%s]::text[]', string_agg(
		format(something, regexp_replace(c, '\s+(COLLATE|ASC|DESC)\M.*', '', 'i')), ', ' ORDER BY i))
	FROM regexp_split_to_table(list, '\s*,\s*') WITH ORDINALITY AS u (c, i)
$$;

--
-- The queries that compare a board's functions, each for its own or its twin's name.
--
--	board		its name
--	source		its table, or another one with the same rows
--	cond		which of the rows are ranked
--	member		its columns, with commas between
--	score		column
--	dir			direction of the score
--	ties		the rest of rank_by
--	method		of the board
--	functions	a pattern for the names of the functions
--	a, b		numbers
--
CREATE FUNCTION lbt.queries(board text, source text, cond text, member text,
	score text, dir text, ties text, method text, functions text DEFAULT '.',
	a integer DEFAULT 17, b integer DEFAULT 31)
RETURNS TABLE (function text, query text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
	relation regclass := regexp_replace(source, '^ONLY ', '');
	typed jsonb := lbt.typed_words(relation, member, score, false);
	words jsonb := jsonb_build_object(
		'{board}', quote_literal(board), '{table}', source, '{ranked}', cond,
		'{member}', member, '{score}', score,
		'{order}', concat_ws(', ', score || ' ' || dir, ties, typed ->> '{member_order}'),
		'{tie_order}', coalesce(ties, 'NULL::integer'),
		'{ties}', lbt.tie_array('lbt.without_loss(%s)', ties),
		'{direction}', dir, '{reverse}', CASE WHEN dir = 'DESC' THEN 'ASC' ELSE 'DESC' END,
		'{descending}', (dir = 'DESC')::text, '{method}', quote_literal(method),
		'{k}', CASE method WHEN 'rank' THEN 'r' WHEN 'dense_rank' THEN 'd' ELSE 'place' END,
		'{places}', '(SELECT place FROM b UNION SELECT n + 1 FROM b UNION VALUES (NULL::bigint),'
			' (0), (-1), (100000), (9223372036854775807), (-9223372036854775808))',
		'{percents}', '(SELECT generate_series(0, 100)::float8 UNION SELECT pct FROM b UNION'
			' VALUES (NULL), (1e-300), (0.1), (33.3), (66.66666666666667), (99.99999999999999))',
		'$A', a::text, '$B', b::text);
	ranked_rows text := (SELECT c.query FROM lbt.comparison c WHERE c.function = 'ranked rows');
	word text;
	stands_for text;
BEGIN
	FOR function, typed, query IN SELECT c.function || (t.words ->> '{_key}'), t.words, c.query
		FROM lbt.comparison c
			CROSS JOIN (VALUES (lbt.typed_words(relation, member, score, false)),
				(lbt.typed_words(relation, member, score, true))) AS t (words)
		WHERE c.function LIKE 'lb\_%' AND c.function ~ functions
			AND translate(c.uses, t.words ->> 'serves', '') = ''
			AND (strpos(c.query, '{_key}') > 0 OR t.words ->> '{_key}' = '')
		ORDER BY 1
	LOOP
		query := ranked_rows || ' SELECT o, g, w FROM (' || query || ') q (o, g, w)';
		FOR word, stands_for IN SELECT * FROM jsonb_each_text(words || typed)
		LOOP
			query := replace(query, word, stands_for);
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;

--
-- Compare a board's functions with their queries, with the index and without.
-- Returns the differences, at most five of a function.  The arguments are those of
-- lbt.queries(), and
--
--	query_reads	whether the functions run their queries although the index is
--				enabled: false, true, or null for either
--
CREATE FUNCTION lbt.differences(board text, source text,
	cond text DEFAULT 'true', member text DEFAULT 'player_id',
	score text DEFAULT 'score', dir text DEFAULT 'DESC',
	ties text DEFAULT NULL, method text DEFAULT 'row_number',
	query_reads boolean DEFAULT false, functions text DEFAULT '.')
RETURNS TABLE (enable_index text, what text, operand text, got text, want text)
LANGUAGE plpgsql SET jit = off SET leaderboard.enable_planner = off AS $$
#variable_conflict use_variable
DECLARE
	relation regclass := regexp_replace(source, '^ONLY ', '');
	before text := current_setting('leaderboard.enable_index');
	query text;
	functions_asked text[];
	queries_asked text[];
	queries bigint;
	asked bigint;
BEGIN
	-- A board that has just been made or altered is still being built.
	PERFORM lb_wait_ready('5 s');
	-- An error has left them.
	FOR query IN SELECT format('DEALLOCATE %I', p.name) FROM pg_prepared_statements p WHERE p.name LIKE 'lbt\_%'
	LOOP
		EXECUTE query;
	END LOOP;
	SELECT array_agg(q.function), array_agg(q.query) INTO functions_asked, queries_asked
	FROM lbt.queries(board, source, cond, member, score, dir, ties, method, functions) q;
	FOREACH enable_index IN ARRAY ARRAY['on', 'off']
	LOOP
		PERFORM set_config('leaderboard.enable_index', enable_index, false);
		queries := lbt.query_reads(relation);
		FOR i IN 1 .. coalesce(cardinality(queries_asked), 0)
		LOOP
			what := functions_asked[i];
			-- Parsed and planned once for both.
			IF enable_index = 'on' THEN
				EXECUTE format('PREPARE lbt_%s AS %s WHERE g IS DISTINCT FROM w LIMIT 5', i, queries_asked[i]);
			END IF;
			FOR operand, got, want IN EXECUTE format('EXECUTE lbt_%s', i)
			LOOP
				RETURN NEXT;
			END LOOP;
			IF enable_index = 'off' THEN
				EXECUTE format('DEALLOCATE lbt_%s', i);
			END IF;
		END LOOP;
		asked := lbt.query_reads(relation) - queries;
		IF enable_index = 'on' AND (asked > 0) <> query_reads THEN
			what := 'reads';
			-- Why they ran their queries, since the counters were reset
			SELECT string_agg(c.key || ' ' || c.value, ', ' ORDER BY c.key) INTO operand
			FROM lb_stat_board s, jsonb_each_text(to_jsonb(s)) c
			WHERE s.source = relation
				AND c.key ~ '^query_' AND c.value <> '0' AND asked > 0;
			got := CASE WHEN asked > 0 THEN 'queries' ELSE 'index' END;
			want := CASE WHEN query_reads THEN 'queries' ELSE 'index' END;
			RETURN NEXT;
		END IF;
	END LOOP;
	PERFORM set_config('leaderboard.enable_index', before, false);
END $$;

-- How many reads of a table's boards have run their queries.
CREATE FUNCTION lbt.query_reads(relation regclass) RETURNS numeric
LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(sum(query_reads), 0) FROM lb_stat_board
	WHERE source = relation
$$;
