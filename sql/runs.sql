--
-- Builds, and lb_verify(), that sort more rows than memory holds
--
CREATE TABLE t (player_id bigint, a smallint, b integer, c bigint, d date,
	e timestamp, f timestamptz, g bigint);
INSERT INTO t SELECT i * 7919 % 280001 - 140000, i % 5 - 2, i % 7 - 3,
	CASE i % 11 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808
		ELSE i % 13 - 6 END,
	CASE i % 17 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2000-01-01'::date + (i % 19)::integer - 9 END,
	CASE i % 23 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2000-01-01'::timestamp + (i % 29 - 14) * interval '1 second' END,
	CASE i % 31 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2000-01-01 00:00+00'::timestamptz END,
	i * 104729 % 1000 - 500
FROM generate_series(1::bigint, 280000) i;
CREATE UNIQUE INDEX ON t (player_id);

-- The least there is, in the workers that build and here.
SELECT current_database() AS db \gset
ALTER DATABASE :"db" SET maintenance_work_mem = '1MB';
SET maintenance_work_mem = '1MB';
CREATE TABLE boards (board text, rank_by text);
INSERT INTO boards VALUES ('two words', 'g DESC'), ('three words', 'c ASC, g DESC'),
	('eight words', 'a ASC, b DESC, c, d DESC, e, f DESC, g');
SELECT lb_create_board(board, 't', rank_by => rank_by) FROM boards;
SELECT lb_wait_ready();
CREATE FUNCTION in_order(rank_by text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(player_id::text, '','' ORDER BY %s,
		player_id)) FROM t', rank_by) INTO result;
	RETURN result;
END $$;
SELECT board, n, members = in_order(rank_by) AS same
FROM boards, LATERAL (SELECT count(*) AS n,
		md5(string_agg(member::text, ',' ORDER BY rank)) AS members
	FROM lb_top(300000, board)) top ORDER BY board;
SELECT board, state, members FROM lb_stat_board ORDER BY board;
SELECT * FROM lb_verify();

RESET maintenance_work_mem;
ALTER DATABASE :"db" RESET maintenance_work_mem;
DROP FUNCTION in_order;
DROP TABLE t, boards;
