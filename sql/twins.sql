--
-- The twins of the read functions, on boards of every type: by the index and by
-- the query, and beside a defining query of their own.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- Calls of every twin on a board, as texts: of members in $2, of scores in $3.
CREATE FUNCTION calls(b text, members text[], scores text[])
RETURNS TABLE (call text, answer text)
LANGUAGE sql AS $$
	SELECT format('lb_rank_key(%L, %L)', m, w), lb_rank_key(m, b, w)::text
	FROM unnest(members) m, unnest('{NULL,row_number,rank,dense_rank}'::text[]) w
	UNION ALL SELECT format('lb_score_key(%L)', m), lb_score_key(m, b) FROM unnest(members) m
	UNION ALL SELECT format('lb_percentile_key(%L)', m), lb_percentile_key(m, b)::text FROM unnest(members) m
	UNION ALL SELECT format('lb_player_key(%L)', m), lb_player_key(m, b)::text FROM unnest(members) m
	UNION ALL SELECT format('lb_top_key(%s, %s)', n, skip), string_agg(t::text, ' ' ORDER BY t.ordinality)
		FROM (VALUES (1000, 0), (3, 0), (4, 5), (0, 0)) v (n, skip), lb_top_key(n, b, skip) WITH ORDINALITY t
		GROUP BY n, skip
	UNION ALL SELECT format('lb_at_key(%s)', p), lb_at_key(p, b)::text FROM generate_series(-1, 40) p
	UNION ALL SELECT format('lb_around_key(%L, %s)', m, r), string_agg(t::text, ' ' ORDER BY t.ordinality)
		FROM unnest(members) m, unnest('{0,2,100}'::int[]) r, lb_around_key(m, b, r) WITH ORDINALITY t
		GROUP BY m, r
	UNION ALL SELECT format('lb_count_between_key(%L, %L)', lo, hi), lb_count_between_key(lo, hi, b)::text
		FROM unnest(scores) lo, unnest(scores) hi
	UNION ALL SELECT format('lb_rank_of_score_key(%L, %L)', s, w), lb_rank_of_score_key(s, b, w)::text
		FROM unnest(scores) s, unnest('{NULL,row_number,rank,dense_rank}'::text[]) w
	UNION ALL SELECT format('lb_score_at_percentile_key(%s)', p), lb_score_at_percentile_key(p, b)
		FROM unnest('{NULL,0,1,10,33,50,66,90,99,100}'::float8[]) p
	UNION ALL SELECT format('lb_ranks_key(%s)', w), string_agg(t::text, ' ' ORDER BY t.ordinality)
		FROM unnest('{NULL,row_number,rank,dense_rank}'::text[]) w,
			lb_ranks_key(members || NULL::text || members, b, w) WITH ORDINALITY t
		GROUP BY w
	UNION ALL SELECT 'lb_among_key', string_agg(t::text, ' ' ORDER BY t.ordinality)
		FROM lb_among_key(members || NULL::text || members, b) WITH ORDINALITY t
	UNION ALL SELECT format('lb_histogram_key(%s)', n), string_agg(t::text, ' ' ORDER BY t.ordinality)
		FROM unnest('{1,2,3,7,1000}'::int[]) n, lb_histogram_key(n, b) WITH ORDINALITY t
		GROUP BY n
	UNION ALL SELECT format('lb_rank_json_key(%L)', m), lb_rank_json_key(m, b, 2)::text FROM unnest(members) m
	UNION ALL SELECT 'lb_top_json', lb_top_json(1000, b)::text
$$;
CREATE TEMP TABLE by_index (call text, answer text);
-- Those calls by which index and query differ, and what is wrong with the list
-- and the histogram.
CREATE FUNCTION differences(b text, source regclass, member text, score text, rank_by text,
	stype text, absent text[], more_scores text[])
RETURNS TABLE (board text, call text, by_index text, by_query text)
LANGUAGE plpgsql AS $$
DECLARE
	members text[];
	scores text[];
	reads bigint;
	want text;
BEGIN
	EXECUTE format('SELECT array_agg(%s ORDER BY 1), array_agg(DISTINCT %s) FROM %s WHERE %s IS NOT NULL',
		member, score, source, score) INTO members, scores;
	members := members || absent || NULL::text;
	scores := scores || more_scores || NULL::text;
	DELETE FROM by_index;
	INSERT INTO by_index SELECT * FROM calls(b, members, scores);
	SELECT index_reads INTO reads FROM lb_stat_board s WHERE s.board = b;
	IF reads < 100 THEN
		RETURN QUERY SELECT b, 'reads by the index', reads::text, '';
	END IF;
	SET LOCAL leaderboard.enable_index = off;
	RETURN QUERY SELECT b, c.call, left(i.answer, 100), left(c.answer, 100)
	FROM calls(b, members, scores) c FULL JOIN by_index i USING (call)
	WHERE i.answer IS DISTINCT FROM c.answer;
	SET LOCAL leaderboard.enable_index = on;

	-- The order is that of the types, the texts are those of the types.
	EXECUTE format('SELECT string_agg(ROW(place, m, s, place)::text, '' '' ORDER BY place)'
		' FROM (SELECT row_number() OVER (ORDER BY %s) AS place, %s AS m, %s AS s FROM %s WHERE %s IS NOT NULL) x',
		rank_by, member, score, source, score) INTO want;
	RETURN QUERY SELECT b, 'order', left(i.answer, 100), left(want, 100) FROM by_index i
	WHERE i.call = 'lb_top_key(1000, 0)' AND i.answer <> want;

	-- Each row is in one bucket, the one whose bounds it is between.
	FOR i IN 1..8 LOOP
		EXECUTE format('SELECT string_agg(bucket::text, '' '' ORDER BY bucket) FROM lb_histogram_key(%s, %L) h'
			' WHERE lo::%s > hi::%s OR members <> (SELECT count(*) FROM %s t WHERE %s::%s BETWEEN lo::%s AND hi::%s)',
			i, b, stype, stype, source, score, stype, stype, stype) INTO want;
		RETURN QUERY SELECT b, 'buckets', want, '' WHERE want IS NOT NULL;
		EXECUTE format('SELECT (SELECT sum(members) FROM lb_histogram_key(%s, %L)) - count(%s) FROM %s',
			i, b, score, source) INTO want;
		RETURN QUERY SELECT b, 'rows in buckets', want, '0' WHERE want <> '0';
	END LOOP;
END $$;

-- A member column of each type, and a score column of each.
CREATE DOMAIN money_amount AS numeric(8,3) CHECK (VALUE > -1e5);
CREATE DOMAIN account AS uuid;
CREATE TABLE m (
	i2 smallint NOT NULL UNIQUE, i4 integer NOT NULL UNIQUE, i8 bigint NOT NULL UNIQUE,
	u uuid NOT NULL UNIQUE, du account NOT NULL UNIQUE, d date NOT NULL UNIQUE,
	ts timestamp NOT NULL UNIQUE, tz timestamptz NOT NULL UNIQUE, t text NOT NULL UNIQUE,
	v varchar(20) COLLATE "POSIX" NOT NULL, tie text,
	s_i4 integer, s_i8 bigint, s_num numeric(10,2), s_dom money_amount, s_f4 real, s_f8 double precision,
	s_d date, s_ts timestamp, s_tz timestamptz, s_time time, s_b boolean, UNIQUE (u, i4), UNIQUE (d, tz, i2, u), UNIQUE (v, i4, t));
INSERT INTO m SELECT k, -k, k * 1000000007::bigint, md5(k::text)::uuid, md5('x' || k)::uuid,
	CASE k WHEN 1 THEN '-infinity' WHEN 2 THEN 'infinity' WHEN 3 THEN '0044-03-15 BC' ELSE date '1999-12-28' + k END,
	CASE k WHEN 1 THEN '-infinity' WHEN 2 THEN 'infinity' ELSE timestamp '2000-01-01' + (10 - k) * interval '1.000001 s' END,
	CASE k WHEN 1 THEN '-infinity' WHEN 2 THEN 'infinity' ELSE timestamptz '2000-01-01+00' + (10 - k) * interval '1 month' END,
	CASE k WHEN 1 THEN '' WHEN 2 THEN 'Zoë "z" \' WHEN 3 THEN 'zoe' WHEN 4 THEN 'é, (x)' WHEN 5 THEN repeat('a', 512)
		ELSE repeat('a', k * 8 % 64) || repeat(chr(32 + k), k % 9) END,
	left(md5((k % 5)::text), k % 20), (ARRAY['b', 'B', 'a', NULL, 'aaaaaaaa', 'aaaaaaaaa'])[k % 6 + 1],
	k % 5, (k % 4) * 3000000000000000000, (k % 7 - 3) * 12.34,
	(ARRAY[1.5, -99999.999, 99999.999, 0, 0.001, -0.001, 'NaN'])[k % 7 + 1],
	(ARRAY['NaN', 'Infinity', '-Infinity', 0, 1.1, -1e38, 1e-45, 3.4e38])[k % 8 + 1]::real,
	(ARRAY['NaN', 'Infinity', '-Infinity', 0, 1.1, 1.1, -1.7e308, 1.7e308, 5e-324, -0.1])[k % 10 + 1]::float8,
	(ARRAY['infinity', '-infinity', '2026-04-09', '2026-04-10', '0001-01-01 BC', '5874897-12-31'])[k % 6 + 1]::date,
	(ARRAY['infinity', '-infinity', '2026-04-09', '2026-04-09 00:00:00.000001', '0001-01-01 BC', '294276-12-31'])[k % 6 + 1]::timestamp,
	(ARRAY['infinity', '2026-04-09', '2026-04-09 00:00:00.000001', '0001-01-01 BC'])[k % 4 + 1]::timestamptz,
	(ARRAY['00:00', '23:59:59.999999', '24:00', '12:00'])[k % 4 + 1]::time, k % 3 = 0
FROM generate_series(1, 24) k;
INSERT INTO m (i2, i4, i8, u, du, d, ts, tz, t, v) SELECT k, -k, k, md5(k::text)::uuid, md5('x' || k)::uuid,
	date '1999-12-28' + k, timestamp '2000-01-01' + k * interval '1 s', timestamptz '2000-01-01+00' + k * interval '1 s', 'null ' || k, ''
FROM generate_series(25, 26) k;
CREATE TABLE board_types (name text, member text, score text, stype text, absent text[], scores text[]);
INSERT INTO board_types VALUES
	('i2', 'i2', 's_i4', 'integer', '{99,-5}', '{2147483647,-1}'),
	('i8', 'i8', 's_i8', 'bigint', '{99,-5}', '{9223372036854775807,-9223372036854775808,1}'),
	('u', 'u', 's_num', 'numeric', '{00000000-0000-0000-0000-000000000000,FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF}',
		'{12.341,-12.339,1e30,-1e30,NaN,Infinity,-Infinity,12.3400}'),
	('du', 'du', 's_dom', 'numeric', '{"{c4ca4238-a0b9-2382-0dcc-509a6f75849b}"}', '{0.0005,-0.0005,1e-20,99999.9991,NaN}'),
	('f4', 'i4', 's_f4', 'real', '{99}', '{1.1,-1e38,NaN,Infinity,1e-44}'),
	('f8', 'u', 's_f8', 'double precision', '{}', '{1.1,1.0999999999999999,-0,5e-324,Infinity}'),
	('d', 'd', 's_d', 'date', '{2026-01-01}', '{2026-04-09,infinity,1 Jan 2000}'),
	('ts', 'ts', 's_ts', 'timestamp', '{2026-01-01}', '{2026-04-09,infinity}'),
	('tz', 'tz', 's_tz', 'timestamptz', '{2026-01-01}', '{2026-04-09 02:00+02,-infinity}'),
	('time', 'i8', 's_time', 'time', '{1}', '{12:00:00.0000001,23:00}'),
	('bool', 'u', 's_b', 'boolean', '{}', '{yes,off}'),
	('two', 'u, i4', 's_b', 'boolean', '{"(00000000-0000-0000-0000-000000000000,1)","(,)","(00000000-0000-0000-0000-000000000000,)"}', '{}'),
	('four', 'd, tz, i2, u', 's_num', 'numeric', '{}', '{1}'),
	('text', 't', 's_i4', 'integer', ARRAY['A', 'zzz', repeat('a', 511), repeat('a', 513), repeat('long', 1000)], '{2}'),
	('varchar', 'v, i4, t', 's_num', 'numeric', '{"(a,1,c)","(,1,)"}', '{}');
SELECT lb_create_board(name || suffix, 'm', member, score || direction)
FROM board_types, (VALUES ('_desc', ' DESC'), ('_asc', ' ASC')) v (suffix, direction);
SELECT lb_wait_ready();
SELECT x.* FROM board_types, (VALUES ('_desc', ' DESC'), ('_asc', ' ASC')) v (suffix, direction),
	LATERAL differences(name || suffix, 'm',
		CASE WHEN member LIKE '%,%' THEN 'ROW(' || member || ')::text' ELSE member || '::text' END,
		CASE stype WHEN 'boolean' THEN 'left(' || score || '::text, 1)' ELSE score || '::text' END,
		score || direction || ', ' || regexp_replace(member, '\m(t|v)\M', '\1 COLLATE "C"', 'g'), stype, absent, scores) x;
SELECT * FROM lb_verify();

-- Own changes, and those that others' snapshots do not see yet.
BEGIN;
UPDATE m SET s_num = -s_num, s_b = NOT s_b, s_i4 = 5 - s_i4, s_f8 = -s_f8, s_d = s_d - 1 WHERE i2 % 2 = 0;
DELETE FROM m WHERE i2 = 7;
INSERT INTO m SELECT 30, 30, 30, u, du, '2030-01-01', '2030-01-01', '2030-01-01', 'own', 'own', 'own', 2, 3, 4.5, 1, 2, 3, '2026-01-01', '2026-01-01', '2026-01-01', '11:11', true
FROM (SELECT md5('30')::uuid, md5('y')::uuid) x (u, du);
SELECT x.* FROM board_types, (VALUES ('_desc', ' DESC'), ('_asc', ' ASC')) v (suffix, direction),
	LATERAL differences(name || suffix, 'm',
		CASE WHEN member LIKE '%,%' THEN 'ROW(' || member || ')::text' ELSE member || '::text' END,
		CASE stype WHEN 'boolean' THEN 'left(' || score || '::text, 1)' ELSE score || '::text' END,
		score || direction || ', ' || regexp_replace(member, '\m(t|v)\M', '\1 COLLATE "C"', 'g'), stype, absent, scores) x;
ROLLBACK;

-- Each type in its own form.
SELECT * FROM lb_top_key(2, 'u_desc');
SELECT member::uuid, score::numeric + 1 AS more FROM lb_at_key(1, 'u_desc');
SELECT * FROM lb_ranks_key('{C4CA4238A0B923820DCC509A6F75849B,00000000-0000-0000-0000-000000000000,NULL}', 'u_desc');
SELECT * FROM lb_top_key(2, 'four_desc');
SELECT rank, left(member, 20), score FROM lb_top_key(4, 'text_desc', 12);
SELECT * FROM lb_around_key(E'Zoë "z" \\', 'text_desc', 1);
SELECT * FROM lb_around_key('(c8,-2,"Zoë ""z"" \\")', 'varchar_asc', 0);
SELECT * FROM lb_histogram_key(3, 'f8_desc');
SELECT * FROM lb_histogram_key(3, 'f4_asc');
SELECT * FROM lb_histogram_key(2, 'd_desc');
SELECT * FROM lb_histogram_key(9, 'bool_desc');
-- Six of the smallest steps are too few for two buckets.
CREATE TABLE tiny (id int PRIMARY KEY, s double precision);
INSERT INTO tiny VALUES (1, 0), (2, '3e-323');
SELECT lb_create_board('tiny', 'tiny', 'id', 's ASC');
SELECT lb_wait_ready();
SELECT * FROM lb_histogram_key(3, 'tiny');
SET leaderboard.enable_index = off;
SELECT * FROM lb_histogram_key(3, 'tiny');
RESET leaderboard.enable_index;
DROP TABLE tiny;
SELECT lb_rank_of_score_key('12.345', 'u_desc') AS between_scores, lb_count_between_key('12.335', '12.344', 'u_desc');
\pset format unaligned
SELECT lb_rank_json_key('(2000-01-03,"2000-05-01 00:00:00+00",6,1679091c-5a88-0faf-6fb5-e6087eb1b2dc)', 'four_desc', 0);
SELECT lb_top_json(1, b)::jsonb -> 'entries' -> 0 AS entry
FROM unnest('{u_desc,f4_desc,f8_asc,d_desc,ts_asc,tz_desc,time_desc,bool_desc,i8_desc}'::text[]) b;
SELECT lb_top_json(1, 'two_desc')::json -> 'entries' AS entries;
SELECT lb_rank_json_key(E'Zoë "z" \\', 'text_desc', 0);
SELECT lb_rank_json_key('(c8,-2,"Zoë ""z"" \\")', 'varchar_asc', 0);
SELECT lb_rank_json(1000000007, 'time_desc', 0), lb_rank_json(99, 'i2_desc') IS NULL AS absent, lb_rank_json(70000, 'i2_desc') IS NULL AS too_large;
SET leaderboard.json_bigint = string;
SELECT lb_top_json(1, 'i8_desc')::jsonb -> 'entries' AS entries, lb_rank_json_key('1', 'i2_desc', 0);
SELECT lb_rank_json(1000000007, 'i8_desc', 0);
RESET leaderboard.json_bigint;
\pset format aligned

-- -0 and 0 are equal, and the table says which of them a row has.
CREATE TABLE z (player_id text COLLATE "C" PRIMARY KEY, id integer UNIQUE, score double precision);
SELECT lb_create_board('z', 'z', 'id');
INSERT INTO z SELECT k, k, k FROM generate_series(1, 3) k;
SELECT lb_wait_ready();
UPDATE z SET score = 0 WHERE id = 1;
SELECT * FROM lb_top_key(3, 'z');
UPDATE z SET score = '-0' WHERE id = 2;
SELECT * FROM lb_top_key(3, 'z');
SELECT lb_score_key('1', 'z'), lb_score_key('2', 'z'), lb_player_key('2', 'z'), lb_rank_of_score_key('-0', 'z', 'rank'), lb_at_key(2, 'z');
SELECT * FROM lb_among_key('{1,2}', 'z');
SELECT * FROM lb_ranks_key('{1,2}', 'z', 'dense_rank');
SELECT lb_rank_json_key('2', 'z', 1);
SELECT index_reads, query_limit FROM lb_stat_board WHERE board = 'z';
DROP TABLE z;

-- Scales beyond a numeric's precision, and below 0.
CREATE TABLE scales (i integer PRIMARY KEY, fine numeric(2, 40), coarse numeric(2, -40));
INSERT INTO scales SELECT i, i * 1e-40, i * 1e40 FROM generate_series(-9, 9) i;
INSERT INTO scales VALUES (10, 'NaN', 'NaN');
SELECT lb_create_board('fine', 'scales', 'i', 'fine DESC'), lb_create_board('coarse', 'scales', 'i', 'coarse ASC');
SELECT lb_wait_ready();
SELECT x.* FROM (VALUES ('fine', 'fine DESC'), ('coarse', 'coarse ASC')) v (b, rank_by),
	LATERAL differences(b, 'scales', 'i::text', b || '::text', rank_by || ', i', 'numeric', '{11}',
		'{0.1,-0.1,1e40,-1e40,15e39,-15e39,1e41,1e-40,15e-41,-15e-41,-1e-41,1e-50,1e999,-1e999,Infinity}') x;
SELECT * FROM lb_verify();
DROP TABLE scales;

-- A family, whose board's value follows the parameters of the member.
CREATE TABLE f (grp date, ranked boolean, a uuid, b smallint, score numeric(5,1), UNIQUE (b, grp, a));
INSERT INTO f SELECT date '2026-01-01' + k % 2, k % 7 > 0, md5((k / 4)::text)::uuid, k % 4, k % 9 * 0.5 FROM generate_series(1, 40) k;
SELECT lb_create_board('f', 'f', 'a, b', 'score ASC', board_column => 'grp', method => 'rank', ranked_if => 'ranked');
SELECT lb_wait_ready();
BEGIN;
CREATE TABLE f_calls AS SELECT true AS by_index, c.* FROM calls('f:2026-01-02', (SELECT array_agg(ROW(a, b)::text) FROM f), '{0,1.0,1.25,NULL}') c;
SET LOCAL leaderboard.enable_index = off;
INSERT INTO f_calls SELECT false, c.* FROM calls('f:2026-01-02', (SELECT array_agg(ROW(a, b)::text) FROM f), '{0,1.0,1.25,NULL}') c;
COMMIT;
SELECT x.call FROM f_calls x JOIN f_calls y USING (call) WHERE x.by_index AND NOT y.by_index AND x.answer IS DISTINCT FROM y.answer;
SELECT count(*) > 200 AS calls, count(answer) > 100 AS answers FROM f_calls WHERE by_index;
SELECT index_reads > 200 AS by_index, query_reads - query_disabled AS others FROM lb_stat_board WHERE board = 'f:2026-01-02';
SELECT * FROM lb_top_key(3, 'f:2026-01-02');
DROP TABLE f, f_calls;

-- More rows from the query than fit into memory.
CREATE TABLE w (player_id uuid PRIMARY KEY, score integer);
INSERT INTO w SELECT md5(k::text)::uuid, k % 100 FROM generate_series(1, 5000) k;
SELECT lb_create_board('w', 'w');
SELECT lb_wait_ready();
SET work_mem = '64kB';
SELECT count(*), md5(string_agg(t::text, ' ' ORDER BY t.ordinality)) AS rows, md5(lb_top_json(5000, 'w')::json ->> 'entries') AS entries
FROM lb_top_key(5000, 'w') WITH ORDINALITY t \gset by_index_
SET leaderboard.enable_index = off;
SELECT count(*), md5(string_agg(t::text, ' ' ORDER BY t.ordinality)) = :'by_index_rows' AS rows,
	md5(lb_top_json(5000, 'w')::json ->> 'entries') = :'by_index_entries' AS entries
FROM lb_top_key(5000, 'w') WITH ORDINALITY t;
RESET leaderboard.enable_index;
RESET work_mem;
DROP TABLE w;

-- Errors.
SELECT lb_rank(1, 'u_desc');
SELECT lb_rank(NULL, 'u_desc');
SELECT lb_rank(1, 'two_desc');
SELECT lb_score(1, 'time_desc');
SELECT lb_rank(1000000007, 'time_desc');
SELECT * FROM lb_top(1, 'u_desc');
SELECT * FROM lb_at(1, 'time_desc');
SELECT * FROM lb_among('{1}', 'u_desc');
SELECT * FROM lb_histogram(1, 'u_desc');
SELECT lb_count_between(1, 2, 'u_desc');
SELECT lb_rank_of_score(1, 'time_desc');
SELECT lb_score_at_percentile(1, 'time_desc');
SELECT lb_rank_json(1, 'u_desc');
SELECT lb_percentile(1000000007, 'time_desc'), lb_count('u_desc');
SELECT lb_rank_key('no uuid', 'u_desc');
SELECT lb_player_key('1.5', 'i2_desc');
SELECT lb_ranks_key('{1,40000}', 'i2_desc');
SELECT lb_among_key('{c4ca4238-a0b9-2382-0dcc-509a6f75849b,c4ca4238-a0b9-2382-0dcc-509a6f75849}', 'u_desc');
SELECT lb_count_between_key('1', 'much', 'u_desc');
SELECT lb_rank_of_score_key('25:00', 'time_desc');
SELECT lb_around_key('(c4ca4238-a0b9-2382-0dcc-509a6f75849b)', 'two_desc');
SELECT lb_around_key('(c4ca4238-a0b9-2382-0dcc-509a6f75849b,x)', 'two_desc');
SELECT lb_rank_json_key('no row', 'two_desc');
SELECT lb_histogram_key(1000001, 'u_desc');
SELECT lb_histogram_key(0, 'u_desc');
SELECT lb_top_key(-1, 'u_desc');
SELECT lb_rank_key('x', NULL);
SELECT lb_rank_key('x', 'nothing');
SELECT lb_rank_key(NULL, 'u_desc');
SELECT lb_rank_key('(c4ca4238-a0b9-2382-0dcc-509a6f75849b,)', 'two_desc');
SELECT count(*) FROM lb_ranks_key(NULL, 'u_desc');

SELECT * FROM lb_verify();
DROP TABLE m, board_types;
DROP FUNCTION differences, calls;
DROP DOMAIN money_amount, account;
