--
-- Columns of other types than integers: ties and board columns
--
CREATE DOMAIN money2 AS numeric(10, 2) CHECK (VALUE IS NULL OR VALUE <> 13);
CREATE DOMAIN price AS money2;
CREATE TYPE tier AS ENUM ('bronze', 'silver', 'go:ld');
CREATE DOMAIN rank_tier AS tier;
CREATE DOMAIN code AS varchar(8);
CREATE TABLE v (o int PRIMARY KEY, n0 numeric(18, 0), n2 price, n4 numeric(4, 9),
	nn numeric(5, -3), f4 real, f8 double precision, u uuid, d date, ts timestamp,
	tz timestamptz, tm time, b boolean);
INSERT INTO v VALUES
	(1, '-999999999999999999', '-99999999.99', '-0.000009999', '-99999000', '-inf',
		'-inf', '00000000-0000-0000-0000-000000000000', '-infinity', '-infinity',
		'-infinity', '00:00', false),
	(2, '-10000', '-10000.01', '-0.000000001', '-1000', '-3.4028235e38',
		'-1.7976931348623157e308', '00000000-0000-0000-0000-000000000001',
		'4713-01-01 BC', '4713-01-01 00:00:00 BC', '4713-01-01 00:00:00+00 BC',
		'00:00:00.000001', false),
	(3, '-1', '-0.01', '0', '0', '-1e-45', '-4.9406564584124654e-324',
		'00000000-0000-0001-0000-000000000000', '1999-12-31',
		'1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00', '11:59', false),
	(4, '0', '0', '0.000000001', '1000', '-0', '-0',
		'7fffffff-ffff-ffff-ffff-ffffffffffff', '2000-01-01', '2000-01-01',
		'2000-01-01 00:00:00+00', '12:00', true),
	(5, '0', '0.00', '0.00000001', '10000', '0', '0',
		'80000000-0000-0000-0000-000000000000', '2000-01-01', '2000-01-01',
		'2000-01-01 00:00:00+00', '12:00', true),
	(6, '9999', '9999.99', '0.0000001', '12000', '1e-45', '4.9406564584124654e-324',
		'80000000-0000-0000-8000-000000000000', '9999-12-31', '2026-01-01',
		'2026-01-01 00:00:00+00', '23:59:59.999999', true),
	(7, '10000', '10000', '0.000001', '99999000', '3.4028235e38',
		'1.7976931348623157e308', 'ffffffff-ffff-ffff-7fff-ffffffffffff',
		'5874897-12-31', '294276-12-31 23:59:59.999999',
		'294276-12-31 23:59:59.999999+00', '24:00', true),
	(8, '999999999999999999', '99999999.99', '0.000009999', '99999000', 'inf', 'inf',
		'ffffffff-ffff-ffff-ffff-ffffffffffff', 'infinity', 'infinity', 'infinity',
		'24:00', true),
	(9, 'NaN', 'NaN', 'NaN', 'NaN', 'NaN', 'NaN',
		'ffffffff-ffff-ffff-ffff-ffffffffffff', 'infinity', 'infinity', 'infinity',
		'24:00', true);
CREATE TABLE k (player_id int PRIMARY KEY, score int DEFAULT 0, LIKE v);
SELECT lb_create_board('tie_' || c || '_' || dir, 'k',
	rank_by => 'score DESC, ' || c || ' ' || dir)
FROM unnest('{n0,n2,n4,nn,f4,f8,u,d,ts,tz,tm,b}'::text[]) c,
	unnest('{ASC,DESC}'::text[]) dir;
SELECT lb_create_board('ties', 'k', rank_by => 'score ASC, b, f8 DESC, n2, tm DESC');
SELECT lb_wait_ready();
CREATE FUNCTION tie_differences() RETURNS TABLE (board text, enable_index text,
	what text, operand text, got text, want text)
LANGUAGE sql VOLATILE AS $$
	SELECT b.board, d.* FROM lb_board b, lbt.differences(b.board, 'k',
		regexp_replace(b.rank_by, ' (ASC|DESC)(, |$)', ' IS NOT NULL AND ', 'g')
			|| 'true',
		dir => split_part(split_part(b.rank_by, ',', 1), ' ', 2),
		ties => substr(b.rank_by, strpos(b.rank_by, ',') + 1),
		functions => 'lb_rank$|top|at$|around|ranks|among') d
	WHERE b.source = 'k'::regclass
$$;
INSERT INTO k SELECT 20 - o, o % 2, v.* FROM v;
INSERT INTO k SELECT 30 + o, 0, v.* FROM v;
SELECT array_agg(member) FROM lb_top(20, 'tie_f8_DESC');
SELECT array_agg(member) FROM lb_top(20, 'tie_n4_ASC');
SELECT * FROM tie_differences();
UPDATE k SET f4 = -f4, f8 = -f8, n0 = -n0, n2 = -n2, n4 = -n4, nn = -nn,
	b = NOT b WHERE player_id % 2 = 0;
UPDATE k SET n2 = NULL, u = NULL, d = NULL WHERE player_id % 5 = 0;
SELECT * FROM tie_differences();
SELECT lb_rebuild();
SELECT * FROM tie_differences();
SELECT * FROM lb_verify();
-- A scale that changes, and a type.
ALTER TABLE k ALTER n4 TYPE numeric(12, 5), ALTER f4 TYPE uuid
	USING lpad(o::text, 32, '0')::uuid;
UPDATE k SET n4 = n4 + 0.00001 WHERE player_id % 3 = 0;
SELECT lb_wait_ready();
SELECT * FROM tie_differences();
SELECT * FROM lb_verify();
SELECT DISTINCT state, reason FROM lb_stat_board WHERE source = 'k'::regclass;
DROP TABLE k;

-- Board columns.
CREATE TABLE fam (player_id int PRIMARY KEY, score int, i smallint, u uuid, d date,
	b boolean, e tier, c code, de rank_tier);
SELECT lb_create_board(c, 'fam', board_column => c)
FROM unnest('{i,u,d,b,e,c,de}'::name[]) c;
INSERT INTO fam SELECT i, i % 7, i % 3, lpad(to_hex(i % 3), 32, 'f')::uuid,
	CASE i % 4 WHEN 0 THEN '-infinity' WHEN 1 THEN '0044-03-15 BC'
		ELSE '2026-04-09'::date + i % 2 END,
	i % 2 = 0, (enum_range(NULL::tier))[i % 3 + 1], 'c' || i % 3,
	(enum_range(NULL::tier))[i % 2 + 1]
FROM generate_series(1, 40) i;
SET DateStyle = 'German, DMY';
SELECT lb_wait_ready();
CREATE FUNCTION fam_differences() RETURNS TABLE (board text, enable_index text,
	what text, operand text, got text, want text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	col text;
	val text;
BEGIN
	FOREACH col IN ARRAY '{i,u,d,b,e,c,de}'::text[] LOOP
		FOR val IN EXECUTE format('SELECT DISTINCT CASE %2$L WHEN ''d'''
			' THEN to_json(%1$I) #>> ''{}'' WHEN ''b'' THEN left(%1$I::text, 1)'
			' ELSE %1$I::text END FROM fam', col, col)
		LOOP
			RETURN QUERY SELECT col || ':' || val, x.* FROM lbt.differences(
				col || ':' || val, 'fam', format(CASE WHEN col ~ 'c|e'
					THEN '%I::text = %L' ELSE '%I = %L' END, col, val)) x;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM fam_differences();
SELECT board, members FROM lb_stat_board WHERE source = 'fam'::regclass
	AND board ~ ':' ORDER BY board COLLATE "C";
SELECT lb_count('d:2026-04-09'), lb_count('d:0044-03-15 BC'), lb_count('b:t'),
	lb_count('e:go:ld'), lb_count('de:go:ld'), lb_count('d:2026-04-12');
SELECT n, e.state, e.detail FROM unnest('{i:07,i:32768,u:x,d:09.04.2026,d:2026-4-9,
	d:2026-02-30,d:x,b:true,b:,e:platinum,d:10000000-01-01,
	u:FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFF1}'::text[]) n,
	lbt.error(format('SELECT lb_count(%L)', n)) e;
SELECT board FROM lb_stat('e:silver');
SELECT board FROM lb_stat('e:platinum');
-- Labels that are renamed and added, also while a transaction has written rows.
BEGIN;
UPDATE fam SET score = score + 1, e = 'silver' WHERE player_id < 10;
ALTER TYPE tier RENAME VALUE 'silver' TO 'Sil ver';
SELECT lb_count('e:Sil ver') = (SELECT count(*) FROM fam WHERE e = 'Sil ver');
SELECT * FROM lb_count('e:silver');
ROLLBACK;
ALTER TYPE tier RENAME VALUE 'silver' TO 'bronze2';
ALTER TYPE tier RENAME VALUE 'bronze' TO 'silver';
ALTER TYPE tier ADD VALUE 'platinum';
SELECT lb_count('e:platinum');
UPDATE fam SET e = 'platinum', de = 'silver' WHERE player_id % 4 = 0;
SELECT * FROM fam_differences();
SELECT * FROM lb_verify();
SELECT board, members FROM lb_stat_board WHERE source = 'fam'::regclass
	AND board ~ '^d?e:' AND members > 0 ORDER BY board COLLATE "C";
SELECT lb_rebuild();
SELECT * FROM fam_differences();
BEGIN;
SELECT lb_close_season('e:silver', 's1') > 0, lb_close_season('d:2026-04-09', 's1') > 0;
SELECT e = 'silver' AS silver, d = '09.04.2026' AS day, bool_and(score = 0) AS reset
FROM fam GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM fam_differences();
ROLLBACK;
SELECT * FROM lb_verify();
SET DateStyle = ISO;
SET TimeZone = UTC;
DROP TABLE fam;

-- Members, also of several columns, and scores.
CREATE DOMAIN tank AS smallint;
CREATE DOMAIN big_tank AS tank;
CREATE TABLE m (mi big_tank, mu uuid, md date, mts timestamp, mtz timestamptz,
	"M i" int, LIKE v, UNIQUE (mi), UNIQUE (mu), UNIQUE (md), UNIQUE (mts),
	UNIQUE (mtz), UNIQUE ("M i", mi), UNIQUE (md, mu, "M i"),
	UNIQUE (mtz, mts, md, mu));
SELECT lb_create_board('m_' || c, 'm', c, 'n2 DESC, b, f8')
FROM unnest('{mi,mu,md,mts,mtz}'::text[]) c;
SELECT lb_create_board('two', 'm', 'mi, "M i"', 'f8 DESC, mi');
SELECT lb_create_board('three', 'm', ' "M i",MU , md', 'tm ASC', method => 'rank');
SELECT lb_create_board('four', 'm', 'mu, md, mts, mtz', 'b DESC', method => 'dense_rank');
SELECT lb_create_board('raw', 'm', 'mi', c || ' DESC') FROM (VALUES ('n0')) x (c);
SELECT lb_create_board('s_' || c || '_' || dir, 'm', 'mi', c || ' ' || dir,
	method => (ARRAY['row_number', 'rank', 'dense_rank'])[1 + o % 3])
FROM unnest('{n0,n2,n4,nn,f4,f8,d,ts,tz,tm,b}'::text[]) WITH ORDINALITY x (c, o),
	unnest('{ASC,DESC}'::text[]) dir;
SELECT board, member FROM lb_board WHERE member ~ ',' ORDER BY board;
-- Lists that are wrong, and indexes.
SELECT l, e.* FROM unnest(ARRAY['', 'mi,', 'mi mi', 'mi DESC', 'mi, mi',
	'mi, mu, md, mts, mtz', 'abs(mi)', '"mi', '"M i', 'm i', 'm.mi', '1', 'mi NULLS FIRST',
	'mi COLLATE "C"', 'nosuch', 'mu, mi', 'f8', 'b', 'mi, n2', 'tm']) l,
	lbt.error(format('SELECT lb_create_board(''x'', ''m'', %L, ''o ASC'')', l)) e;
INSERT INTO m SELECT 100 - 10 * k - o, lpad(to_hex(k * 9 + o), 32, '7f')::uuid,
	CASE WHEN k = 0 THEN d END, CASE WHEN k = 1 THEN ts END,
	CASE WHEN k = 2 THEN tz END, o % 3, v.*
FROM v, generate_series(0, 2) k WHERE o NOT IN (5, 9);
UPDATE m SET md = coalesce(md, '2026-01-01'::date + mi), mts = coalesce(mts,
	'2026-01-01'::timestamp + mi * interval '1 microsecond'),
	mtz = coalesce(mtz, '1999-12-31 00:00:00+00'::timestamptz - mi * interval '1 microsecond');
INSERT INTO m SELECT 200 + o, 'ffffffff-ffff-ffff-ffff-ffffffffffff', '1970-01-01',
	'1970-01-01', '1970-01-01', -o, v.* FROM v WHERE o IN (5);
INSERT INTO m SELECT 200 + o, 'ffffffff-ffff-ffff-ffff-fffffffffffe', '1980-01-01',
	'1980-01-01', '1980-01-01', -o, v.* FROM v WHERE o IN (9);
SELECT lb_wait_ready();
-- The twins say what the table says, by the index and by the queries.
CREATE FUNCTION member_differences() RETURNS TABLE (board text, indexed text, what text,
	got text, want text)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
	b lb_board;
	mode text;
BEGIN
	FOREACH mode IN ARRAY '{on,off}'::text[] LOOP
		PERFORM set_config('leaderboard.enable_index', mode, false);
		FOR b IN SELECT * FROM lb_board WHERE source = 'm'::regclass LOOP
			RETURN QUERY EXECUTE format($q$
WITH w AS (SELECT format('%%s', %1$s) AS m, format('%%s', %2$s) AS s, row_number() OVER o AS p,
		CASE %5$L WHEN 'row_number' THEN row_number() OVER o
			WHEN 'rank' THEN rank() OVER (ORDER BY %6$s)
			ELSE dense_rank() OVER (ORDER BY %6$s) END AS r,
		rank() OVER (ORDER BY %6$s) AS x
	FROM m WHERE ROW(%3$s, %4$s) IS NOT NULL AND %10$s WINDOW o AS (ORDER BY %7$s, %4$s)),
q AS (
	SELECT 'rank ' || m AS what, lb_rank_key(m, %8$L)::text AS got, r::text AS want FROM w
	UNION ALL SELECT 'score ' || m, lb_score_key(m, %8$L), s FROM w
	UNION ALL SELECT 'rank of ' || s, lb_rank_of_score_key(s, %8$L, 'rank')::text, x::text FROM w
	UNION ALL SELECT 'count to ' || s, lb_count_between_key(s, s, %8$L)::text,
		count(*) OVER (PARTITION BY x)::text FROM w
	UNION ALL SELECT 'at', ROW(t.*)::text, ROW(r, m, s)::text
		FROM w LEFT JOIN LATERAL lb_at_key(p, %8$L) t ON true
	UNION ALL SELECT 'top', string_agg(ROW(t.*)::text, ' ' ORDER BY p),
		string_agg(ROW(p, r, m, s)::text, ' ' ORDER BY p)
		FROM (SELECT row_number() OVER () AS n, t.* FROM lb_top_key(1000, %8$L) t) t
			FULL JOIN w ON n = p)
SELECT %8$L, %9$L, q.* FROM q WHERE got IS DISTINCT FROM want$q$,
				CASE WHEN b.member ~ ',' THEN 'ROW(' || b.member || ')' ELSE b.member END,
				split_part(b.rank_by, ' ', 1),
				regexp_replace(b.rank_by, ' (ASC|DESC)(,|$)', '\2', 'g'),
				b.member, b.method, split_part(b.rank_by, ',', 1), b.rank_by,
				b.board, mode, coalesce(b.ranked_if, 'true'));
		END LOOP;
	END LOOP;
	RESET leaderboard.enable_index;
END $$;
SELECT * FROM member_differences() LIMIT 20;
SELECT * FROM lb_top_key(5, 's_f8_DESC');
SELECT * FROM lb_top_key(3, 'two');
SELECT * FROM lb_top_key(3, 'm_mtz');
-- Writes, also from -0 to 0 and back; own changes, and after a rebuild.
BEGIN;
UPDATE m SET f8 = -f8, f4 = -f4, n2 = -n2, b = NOT b, d = '2000-01-01' WHERE o % 2 = 0;
UPDATE m SET mu = lpad(to_hex(mi::int), 32, '0')::uuid, "M i" = 5 - "M i" WHERE o % 3 = 0;
DELETE FROM m WHERE mi = 92;
SELECT * FROM member_differences() LIMIT 20;
COMMIT;
SELECT * FROM member_differences() LIMIT 20;
UPDATE m SET f8 = -f8, f4 = -f4 WHERE f8 = 0;
SELECT * FROM member_differences() LIMIT 20;
SELECT * FROM lb_verify();
SELECT * FROM lb_verify_key('four');
SELECT lb_rebuild();
SELECT * FROM member_differences() LIMIT 20;
-- Renames, a type, and an index that goes.
ALTER TABLE m RENAME mi TO "Mi";
ALTER TABLE m RENAME "M i" TO mi;
ALTER TABLE m ALTER md TYPE uuid USING lpad(to_hex(1000 + "Mi"::int), 32, 'd')::uuid;
SELECT lb_wait_ready();
SELECT board, member FROM lb_board WHERE member ~ ',|"' ORDER BY board COLLATE "C";
SELECT * FROM member_differences() LIMIT 20;
SELECT * FROM lb_verify();
ALTER TABLE m DROP CONSTRAINT m_mu_key;
SELECT * FROM member_differences() LIMIT 20;
SELECT * FROM lb_verify('m_mu');
-- Texts, in the order of their bytes.
DROP TABLE m;
CREATE TABLE m (o serial UNIQUE, t text COLLATE "C", vc varchar COLLATE "C", c code COLLATE "C", s int, f float8,
	short boolean GENERATED ALWAYS AS (length(t) < 100) STORED, UNIQUE (t),
	UNIQUE (vc), UNIQUE (c, t), UNIQUE (vc, o, t, c));
SELECT lb_create_board('t_' || c, 'm', c, 's DESC') FROM unnest('{t,vc}'::text[]) c;
SELECT lb_create_board('t_two', 'm', 't, c', 's ASC, vc DESC', ranked_if => 'short');
SELECT lb_create_board('t_four', 'm', 'vc, o, t, c', 's DESC, f', ranked_if => 'short');
SELECT lb_create_board('t_tie', 'm', 't', 's DESC, c DESC, o ASC', method => 'rank');
SELECT lb_create_board('t_down', 'm', 'o', 's ASC, t DESC');
INSERT INTO m (t, vc, c, s, f) SELECT t, t, left(t, 8), length(t) % 3, -length(t) % 2
FROM (SELECT repeat('x', n) FROM generate_series(0, 40) n
	UNION SELECT repeat('p', 500) || n FROM generate_series(1, 12) n
	UNION SELECT repeat('q', 503) || chr(n) || repeat('z', m) FROM
		unnest('{1,31,32,97,126,127}'::int[]) n, unnest('{0,7,8}'::int[]) m
	UNION SELECT repeat('12345678', n) || c FROM generate_series(0, 3) n,
		unnest('{a,ab,abcdefg,"abcdefg ",A,Z,_,~," "}'::text[]) c
	UNION SELECT convert_from(convert_to(c, 'UTF8'), 'UTF8') || n FROM
		unnest('{é,ü,ß,日本,🏆}'::text[]) c, generate_series(1, 2) n) x (t);
SELECT lb_wait_ready();
SELECT * FROM member_differences() LIMIT 20;
SELECT rank, left(member, 20) AS member, score FROM lb_top_key(12, 't_t');
BEGIN;
UPDATE m SET vc = vc || '!', s = s + 1 WHERE o % 3 = 0 AND length(t) < 500;
UPDATE m SET t = reverse(t), c = NULL WHERE o % 5 = 0;
DELETE FROM m WHERE o % 7 = 0;
SELECT * FROM member_differences() LIMIT 20;
COMMIT;
SELECT * FROM member_differences() LIMIT 20;
SELECT * FROM lb_verify();
-- A text that is too long, which goes again.
INSERT INTO m (t, vc, c, s) VALUES (repeat('l', 513), 'short', 'c', 1);
SELECT * FROM member_differences() LIMIT 20;
SELECT board, state, reason FROM lb_stat_board WHERE source = 'm'::regclass AND state <> 'ready'
ORDER BY board COLLATE "C";
SELECT lb_rebuild('t_t');
SELECT state, reason FROM lb_stat('t_t');
SELECT * FROM lb_verify('t_t');
UPDATE m SET t = left(t, 512), vc = repeat('v', 512) WHERE s = 1 AND vc = 'short';
SELECT lb_wait_ready();
SELECT * FROM member_differences() LIMIT 20;
SELECT board, state, reason FROM lb_stat_board WHERE source = 'm'::regclass AND state <> 'ready'
ORDER BY board COLLATE "C";
SELECT * FROM lb_verify();
-- The column's collation does not matter.
ALTER TABLE m ADD de text COLLATE "de-x-icu" UNIQUE;
UPDATE m SET de = CASE o % 3 WHEN 0 THEN 'ä' WHEN 1 THEN 'Z' ELSE 'a' END || o, s = 1;
SELECT lb_create_board('t_de', 'm', 'de', 's ASC, de DESC'), lb_create_board('t_by_de', 'm', 'o', 's ASC, de');
SELECT lb_wait_ready();
SELECT count(*) > 50 AS many, bool_and(i.member = m.de AND q.member = m.de) AS same
FROM (SELECT row_number() OVER () AS n, member FROM lb_top_key(1000, 't_de')) i
JOIN (SELECT row_number() OVER (ORDER BY de COLLATE "C" DESC) AS n, de FROM m) m USING (n)
JOIN (SELECT row_number() OVER () AS n, member FROM lb_around_key((SELECT max(de COLLATE "C") FROM m), 't_de', 1000)) q USING (n);
SELECT array_agg(member ORDER BY rank) = (SELECT array_agg(o::bigint ORDER BY de COLLATE "C") FROM m) AS same
FROM lb_top(1000, 't_by_de');
SET leaderboard.enable_index = off;
SELECT array_agg(member ORDER BY rank) = (SELECT array_agg(o::bigint ORDER BY de COLLATE "C") FROM m) AS same
FROM lb_top(1000, 't_by_de');
RESET leaderboard.enable_index;
-- Texts that can be equal without being the same; and other kinds of texts.
CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
ALTER TABLE m ADD ci text COLLATE ci UNIQUE, ADD ch char(8) UNIQUE, ADD nm name UNIQUE;
SELECT l, e.* FROM unnest(ARRAY['ci', 'ch', 'nm']) l,
	lbt.error(format('SELECT lb_create_board(''x'', ''m'', %L, ''s ASC'')', l)) e;
SELECT l, e.* FROM unnest(ARRAY['s ASC, ci', 's ASC, ch', 't DESC']) l,
	lbt.error(format('SELECT lb_create_board(''x'', ''m'', ''t'', %L)', l)) e;
-- Memory, by types.
SELECT lb_estimate_memory_key(1000000, '{bigint,timestamptz}', '{bigint}') = lb_estimate_memory(1000000) AS as_before,
	lb_estimate_memory_key(1000000, '{price,bool}', '{uuid}') = lb_estimate_memory(1000000, 3) AS uuid,
	lb_estimate_memory_key(1000000, '{price,uuid}', '{big_tank,date}') = lb_estimate_memory(1000000, 4) AS two;
SELECT e.* FROM unnest(ARRAY['-1, ''{int}'', ''{int}''', '1, ''{}'', ''{int}''',
	'1, ''{int}'', ''{int,int,int,int,int}''', '1, ''{uuid}'', ''{int}''',
	'1, ''{int}'', ''{float8}''', '1, ''{int}'', ''{NULL}''',
	'1, ''{0}'', ''{int}''', '1, ''{int}'', ''{4294967295}''',
	'1, ''{int,uuid,uuid,uuid,uuid,uuid,uuid}'', ''{uuid,uuid}''',
	'1, ''{int}'', ''{int}'', 513', '9223372036854775807, ''{int}'', ''{int}''']) a,
	lbt.error(format('SELECT lb_estimate_memory_key(%s)', a)) e;
DROP TABLE m, v;
DROP DOMAIN big_tank, tank;
DROP FUNCTION member_differences;
DROP DOMAIN price, money2, code, rank_tier;
DROP COLLATION ci;
DROP TYPE tier;
DROP FUNCTION tie_differences, fam_differences;
