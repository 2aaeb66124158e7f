--
-- Members and scores with a type: the second signature of the twins.
--
-- A typed value is what its text is, whatever the session's settings: by the
-- index, by the query, and beside the table.  In these settings a text of the
-- session's own is another time, and a number has fewer digits.
SET timezone = 'Asia/Kolkata';
SET datestyle = 'SQL, DMY';
SET extra_float_digits = -15;
CREATE DOMAIN account AS uuid;
CREATE DOMAIN amount AS numeric(8,3);
CREATE DOMAIN label AS varchar(40);
CREATE TYPE pair AS (u uuid, d date);
CREATE TABLE v (i2 smallint UNIQUE, i4 integer PRIMARY KEY, i8 bigint UNIQUE, u uuid UNIQUE, du account UNIQUE, d date UNIQUE,
	ts timestamp UNIQUE, tz timestamptz UNIQUE, t text COLLATE "C" UNIQUE, l label COLLATE "C" UNIQUE,
	s_num numeric(12,2), s_dom amount, s_f4 real, s_f8 double precision, s_time time, s_bool boolean, UNIQUE (u, d));
INSERT INTO v SELECT k, -k, k + 5000000000, md5(k::text)::uuid, md5('x' || k)::uuid, date '1999-12-28' + k,
	timestamp '2000-01-31' + k * interval '1.000001 s', timestamptz '2000-03-01+00' + k * interval '1 month', 'Zoë "' || k, 'l' || k,
	(k % 7 - 3) * 12.34, (ARRAY[1.5, -99999.999, 0.001, 'NaN'])[k % 4 + 1],
	(ARRAY['NaN', 'Infinity', 1.1, 0.1, -1e38, 1e-45, 16777215])[k % 7 + 1]::real,
	(ARRAY['NaN', '-Infinity', 1.1, 1.1000000000000003, 0.1, 5e-324, 1.7e308])[k % 7 + 1]::float8,
	(ARRAY['00:00', '23:59:59.999999', '24:00'])[k % 3 + 1]::time, k % 3 = 0
FROM generate_series(1, 24) k;
CREATE TABLE what (name text, member text, score text);
INSERT INTO what VALUES ('i2', 'i2', 's_num'), ('i4', 'i4', 's_dom'), ('i8', 'i8', 'i8'), ('u', 'u', 's_f4'), ('du', 'du', 's_f8'),
	('d', 'd', 'd'), ('ts', 'ts', 'ts'), ('tz', 'tz', 'tz'), ('t', 't', 's_time'), ('l', 'l', 's_bool');
SELECT lb_create_board(name, 'v', member, score || ' DESC') FROM what;
SELECT lb_create_board('two', 'v', 'u, d', 'i4 DESC');
SELECT lb_wait_ready();
CREATE FUNCTION wrong(b text, member text, score text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		SELECT format('%%s: member %%s', %1$L, m::text)
		FROM (SELECT %2$s AS m, s, rank() OVER (ORDER BY s DESC) AS rank, row_number() OVER (ORDER BY s DESC, %2$s) AS place,
				100 * cume_dist() OVER (ORDER BY s) AS percentile
			FROM (SELECT *, %3$s AS s FROM v) v) x
		WHERE (lb_rank_key(m, %1$L), lb_rank_key(m, %1$L, 'rank'), lb_score_key(m, %1$L), lb_percentile_key(m, %1$L)) IS DISTINCT FROM
				(place, rank, lb_score_key(to_json(m) #>> '{}', %1$L), percentile)
			OR lb_player_key(m, %1$L) IS DISTINCT FROM lb_player_key(to_json(m) #>> '{}', %1$L)
			OR lb_tier_key(m, %1$L) IS DISTINCT FROM lb_tier_key(to_json(m) #>> '{}', %1$L)
			OR lb_rank_json_key(m, %1$L)::text IS DISTINCT FROM lb_rank_json_key(to_json(m) #>> '{}', %1$L)::text
			OR (SELECT array_agg(a) FROM lb_around_key(m, %1$L, 2) a) IS DISTINCT FROM
				(SELECT array_agg(a) FROM lb_around_key(to_json(m) #>> '{}', %1$L, 2) a)
		UNION ALL SELECT format('%%s: score %%s', %1$L, s::text)
		FROM (SELECT %2$s AS m, %3$s AS s, rank() OVER (ORDER BY %3$s DESC) AS rank, row_number() OVER (ORDER BY %3$s DESC, %2$s) AS place,
				count(*) OVER (PARTITION BY %3$s) AS ties FROM v) x
		WHERE (lb_rank_of_score_key(s, %1$L), lb_count_between_key(s, s, %1$L)) IS DISTINCT FROM (rank, ties)
			OR lb_count_between_key(s, NULL, %1$L) IS DISTINCT FROM rank + ties - 1
			OR (lb_count_before_key(s, '{}', m, %1$L), lb_count_before_key(s, '{}', to_json(m) #>> '{}', %1$L)) IS DISTINCT FROM (place - 1, place - 1)
			OR lb_count_before_key(lb_score_key(m, %1$L), '{}', m, %1$L, true) IS DISTINCT FROM place$q$, b, member, score);
END
$$;
SELECT x FROM what, wrong(name, member, score) x;
SELECT sum(query_reads) FROM lb_stat_board WHERE source = 'v'::regclass;
SET leaderboard.enable_index = off;
SELECT x FROM what, wrong(name, member, score) x;
RESET leaderboard.enable_index;
-- A member of several columns is a row, of any row type.
SELECT count(*) FROM v WHERE lb_rank_key(ROW(u, d), 'two') IS DISTINCT FROM -i4 OR lb_rank_key(ROW(u, d)::pair, 'two') IS DISTINCT FROM -i4
	OR lb_rank_key(ROW(u::text, d::timestamp), 'two') IS DISTINCT FROM -i4;
SELECT lb_rank_key(ROW(u, NULL::date), 'two'), lb_score_key(NULL::pair, 'two') FROM v WHERE i2 = 1;
-- Of other types, as their texts are.
RESET datestyle;
SET timezone = 'UTC';
SELECT lb_rank_key(3, 'i2'), lb_rank_key(3::bigint, 'i2'), lb_rank_key('3', 'i2'), lb_rank_key(3::numeric, 'i2'), lb_rank_key('Zoë "3'::name, 't');
SELECT lb_rank_of_score_key(12.34, 'i2'), lb_rank_of_score_key(12.34::real, 'i2'), lb_rank_of_score_key(12, 'i2'), lb_rank_of_score_key('12.34', 'i2');
SELECT lb_count_between_key(0, NULL, 'i2'), lb_count_between_key(NULL, 24.68, 'i2'), lb_count_between_key(0, 24.68, 'i2'),
	lb_count_between_key('0', 24.68, 'i2'), lb_count_between_key(NULL, NULL, 'i2'), lb_count_between_key(0, 24.68::real, 'i2');
SELECT lb_rank_key(date '2000-01-05', 'd'), lb_rank_key(timestamp '2000-01-05 12:00', 'd'), lb_rank_of_score_key(date '2000-01-01', 'tz');
-- Parameters and literals without a type are texts.
PREPARE without AS SELECT lb_rank_key($1, $2), lb_count_between_key($1, $1, $2), lb_count_before_key($1, $3, $1, $2), lb_hide_key($1, $3);
PREPARE typed(uuid, numeric, integer) AS SELECT lb_rank_key($1, 'u'), lb_rank_of_score_key($2, 'i2'), lb_count_between_key($3, $4, 'i2');
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY 1;
DEALLOCATE ALL;
-- A constant stays as it is from row to row.
SELECT DISTINCT lb_rank_key(uuid 'c4ca4238-a0b9-2382-0dcc-509a6f75849b', b), lb_watch_member_key(uuid 'c4ca4238-a0b9-2382-0dcc-509a6f75849b', b)::text
FROM unnest('{u,u,u}'::text[]) b;
SELECT board, member FROM lb_watched;
SELECT lb_unwatch_member_key(u, 'u') FROM v WHERE i2 IN (1, 2) ORDER BY i2;
-- In a view, an index of an expression, and a function of SQL.
CREATE VIEW ranks AS SELECT i2, lb_rank_key(u, 'u') AS rank FROM v;
SELECT pg_get_viewdef('ranks') ~ 'lb_rank_key\((v\.)?u, ''u''::text\)' AS shown;
SELECT count(*) FROM ranks WHERE rank <> lb_rank_key((SELECT u::text FROM v WHERE v.i2 = ranks.i2), 'u');
CREATE FUNCTION rank_of(anyelement) RETURNS bigint LANGUAGE sql AS $$ SELECT lb_rank_key($1, 'u') $$;
CREATE FUNCTION plpgsql_rank_of(who account) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN lb_rank_key(who, 'u'); END $$;
SELECT count(*) FROM v WHERE rank_of(u) <> lb_rank_key(u::text, 'u') OR plpgsql_rank_of(u) <> rank_of(u) OR rank_of(u::text) <> rank_of(u);
-- What is no member.
SELECT lb_rank_key(ARRAY[u], 'u') FROM v WHERE i2 = 1;
SELECT lb_rank_key(7, 'u');
SELECT lb_rank_key(ROW(1), 'two');
SELECT lb_rank_key(1.5, 'i2');
SELECT lb_rank_of_score_key(interval '1 s', 'i2');
SELECT state, message FROM lbt.error($$SELECT lb_count_between_key(true, now(), 'i2')$$);
SELECT lb_rank_key(NULL::uuid, 'u'), lb_rank_key(NULL::uuid, 'i2'), lb_rank_of_score_key(NULL::numeric, 'i2');
DROP FUNCTION wrong, rank_of, plpgsql_rank_of;
DROP VIEW ranks;
DROP TABLE v, what;
DROP TYPE pair;
DROP DOMAIN account, amount, label;

-- Players, by the functions that write.
CREATE TABLE s (player_id uuid PRIMARY KEY, score bigint NOT NULL DEFAULT 0, updated_at timestamptz NOT NULL DEFAULT now(),
	ranked boolean NOT NULL DEFAULT true);
CREATE TABLE w (player_id uuid NOT NULL, window_key text NOT NULL, score bigint NOT NULL DEFAULT 0,
	updated_at timestamptz NOT NULL DEFAULT now(), ranked boolean NOT NULL DEFAULT true, PRIMARY KEY (player_id, window_key));
SELECT lb_create_board('global', 's', 'player_id', 'score DESC, updated_at ASC', ranked_if => 'ranked'),
	lb_create_board('*', 'w', 'player_id', 'score DESC, updated_at ASC', board_column => 'window_key', ranked_if => 'ranked');
SELECT lb_wait_ready();
SELECT lb_open_window('cup:1', starts => now() - interval '1 day', ends => now() + interval '1 day');
SELECT lb_set_entry('cup:1', max_entrants => 2);
CREATE FUNCTION who(i integer) RETURNS uuid LANGUAGE sql AS $$ SELECT md5(i::text)::uuid $$;
SELECT i, lb_join_key(who(i), 'cup:1') FROM generate_series(1, 2) i;
SELECT * FROM generate_series(1, 3) i, lb_submit_key(who(i), i * 10) ORDER BY i, board;
SELECT board, score, rank FROM lb_submit_match_key(who(3), '{"global": 7}', 'm1');
SELECT * FROM lb_around_key(who(3), 0);
SELECT * FROM lb_around_key(who(3)::text, 0);
SELECT * FROM lb_around_key('eccbc87e-4b5c-e2fe-2830-8fd9f2a7baf3', 0);
SELECT joined, entrants FROM lb_entry_status_key(who(2), 'cup:1');
SELECT lb_leave_key(who(2), 'cup:1'), lb_leave_key(who(2), 'cup:1');
SELECT lb_hide_key(who(3), '{global}', 'bot'), lb_rank_key(who(3)), lb_show_key(who(3), '{global}'), lb_rank_key(who(3));
ALTER TABLE s ADD COLUMN metadata jsonb;
UPDATE s SET metadata = '{"hero": 1}';
SELECT lb_metadata_key(who(3));
SELECT * FROM lb_forget_player_key(who(3)) WHERE relation = 's'::regclass;
SELECT lb_forget_player_key(3);
SELECT lb_join_key(ARRAY[who(1)], 'cup:1');
SELECT player_id = who(1) AS first, score FROM s ORDER BY score;

-- lb_around() of "global" with a radius only.
SELECT lb_drop_board('global');
CREATE TABLE g AS SELECT k AS player_id, k * 10 AS score FROM generate_series(1, 20) k;
ALTER TABLE g ADD PRIMARY KEY (player_id);
SELECT lb_create_board('global', 'g', 'player_id', 'score DESC');
SELECT lb_wait_ready();
SELECT * FROM lb_around(7, 1);
SELECT lb_around(player_id, 0) FROM g WHERE player_id < 3 ORDER BY 1;
SELECT * FROM lb_around_key(7, 0);
SELECT * FROM lb_around_key('7', 0);
SELECT count(*) FROM lb_around(7);
SELECT count(*) FROM lb_around(7, 'global') a, lb_around(7, 'global', 1) b, lb_around(member => 7, radius => 0) c;
PREPARE a AS SELECT lb_around($1, $2);
SELECT parameter_types FROM pg_prepared_statements;
DEALLOCATE a;
SELECT lb_around(7, -1);
SELECT lb_around(7, NULL::integer);
SELECT count(*) FROM lb_around(NULL, 1);
-- The planner knows how many rows it returns.
CREATE FUNCTION estimate(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	EXECUTE 'EXPLAIN ' || q INTO line;
	RETURN substring(line FROM 'rows=\d+');
END
$$;
SELECT estimate('SELECT * FROM lb_around(7, 3)'), estimate('SELECT * FROM lb_around(7, 300)'), estimate('SELECT * FROM lb_around_key(7, 3)');
DROP FUNCTION estimate, who;
DROP TABLE g, s, w;
