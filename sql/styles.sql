--
-- Texts that one call returns mean the same to the next one, whatever the session's
-- styles of dates and numbers, with and without the index
--
SET client_min_messages = warning;

-- All rows of a board in pages of three, each of which goes on behind the last row of
-- the one before; "hits" are those that lb_rank_key() finds by the texts.
CREATE FUNCTION lbt.walk(OUT pages integer, OUT members text[], OUT hits bigint) LANGUAGE plpgsql AS $$
DECLARE
	last record;
	skip bigint := 0;
	n integer;
BEGIN
	pages := 0;
	hits := 0;
	LOOP
		n := 0;
		FOR last IN SELECT * FROM lb_page_key(3, 'styled', skip) LOOP
			members := members || last.member;
			hits := hits + CASE WHEN lb_rank_key(last.member, 'styled') = last.rank
				AND lb_rank_of_score_key(last.score, 'styled') <= last.rank
				AND lb_score_key(last.member, 'styled') = last.score THEN 1 ELSE 0 END;
			n := n + 1;
		END LOOP;
		EXIT WHEN n = 0 OR pages > 20;
		pages := pages + 1;
		skip := lb_count_before_key(last.score, last.ties, last.member, 'styled', true);
	END LOOP;
END $$;

-- What is different from the same with PostgreSQL's own settings
CREATE PROCEDURE lbt.try_styles(type text, value text, role text) LANGUAGE plpgsql AS $$
DECLARE
	style text;
	zone text;
	plain record;
	styled record;
BEGIN
	EXECUTE format('CREATE TABLE styled AS SELECT %s AS m, %s::integer AS m2, %s AS score, %s AS tie FROM generate_series(1, 20) i',
		CASE role WHEN 'm' THEN value ELSE 'i' END, 'i % 3',
		CASE role WHEN 's' THEN value ELSE 'i / 7' END, CASE role WHEN 't' THEN value ELSE 'i' END);
	EXECUTE format('ALTER TABLE styled ADD %s', CASE role WHEN 'm' THEN 'UNIQUE (m, m2)' ELSE 'UNIQUE (m)' END);
	PERFORM lb_create_board('styled', 'styled', CASE role WHEN 'm' THEN 'm, m2' ELSE 'm' END, 'score DESC, tie DESC');
	COMMIT;
	FOREACH zone IN ARRAY '{UTC,Asia/Kolkata,America/St_Johns}'::text[] LOOP
		PERFORM set_config('TimeZone', zone, false), set_config('DateStyle', 'ISO, MDY', false),
			set_config('extra_float_digits', '1', false);
		SELECT * INTO plain FROM lbt.walk();
		IF plain.hits <> cardinality(plain.members) OR plain.hits <> (SELECT count(*) FROM styled) THEN
			RAISE WARNING '% %: %', type, role, plain;
		END IF;
		FOREACH style IN ARRAY '{"ISO, DMY","SQL, DMY","SQL, MDY","German, DMY","Postgres, MDY"}'::text[] LOOP
			FOR i IN 1 .. 2 LOOP
				PERFORM set_config('DateStyle', style, false), set_config('extra_float_digits', '-10', false),
					set_config('IntervalStyle', 'sql_standard', false),
					set_config('leaderboard.enable_index', CASE i WHEN 1 THEN 'on' ELSE 'off' END, false);
				SELECT * INTO styled FROM lbt.walk();
				IF styled IS DISTINCT FROM plain THEN
					RAISE WARNING '% % in % %: % instead of %', type, role, zone, style, styled, plain;
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
	RESET DateStyle;
	RESET TimeZone;
	RESET extra_float_digits;
	RESET IntervalStyle;
	RESET leaderboard.enable_index;
	DROP TABLE styled;
	COMMIT;
END $$;

DO $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT name, r AS role, replace(value, '{}', 'i') AS value FROM lbt.type, regexp_split_to_table(roles, '') r
		WHERE r <> 'b' AND base ~ 'date|time|real|double|numeric|boolean' ORDER BY name, r
	LOOP
		CALL lbt.try_styles(t.name, format('CAST(%s AS %s)', t.value, t.name), t.role);
		-- Over the whole range, with both summer and winter
		IF t.name ~ '^(date|timestamp|timestamptz)$' THEN
			CALL lbt.try_styles(t.name, format('CAST(timestamptz ''1890-03-01 00:30Z'' + i * i * interval ''131 days 1.000001 sec'' AS %s)', t.name), t.role);
		END IF;
		IF t.name ~ '^(real|double)' THEN
			CALL lbt.try_styles(t.name, format('CAST(exp(i) / 3 AS %s)', t.name), t.role);
		END IF;
	END LOOP;
END $$;

-- As in the documents
SET DateStyle = 'SQL, DMY';
SET TimeZone = 'Asia/Kolkata';
CREATE TABLE laps (id bigint PRIMARY KEY, day timestamptz NOT NULL, lap float8 NOT NULL);
INSERT INTO laps SELECT i, timestamptz '2026-04-09 12:00Z' + i * interval '1 day', i / 7::float8 FROM generate_series(1, 5) i;
SELECT lb_create_board('laps', 'laps', 'id', 'lap ASC, day');
SELECT lb_create_board('days', 'laps', 'id', 'day ASC, lap');
SELECT lb_wait_ready();
SET extra_float_digits = 0;
SELECT rank, member, score, ties FROM lb_page_key(2, 'laps');
SELECT lb_top_json(2, 'laps') -> 'entries', lb_top_json(1, 'days') -> 'entries';
SELECT p.rank, p.member FROM lb_page_key(1, 'laps', 1) l,
	lb_page_key(2, 'laps', lb_count_before_key(l.score, l.ties, l.member, 'laps', true)) p;
SELECT p.rank, p.member, p.score FROM lb_page_key(1, 'days', 1) l,
	lb_page_key(2, 'days', lb_count_before_key(l.score, l.ties, l.member, 'days', true)) p;
-- Percentiles in JSON, too
DELETE FROM laps WHERE id > 3;
SELECT lb_rank_json_key(3, 'laps', 0);
SELECT * FROM lb_verify();
RESET DateStyle;
RESET TimeZone;
RESET extra_float_digits;
DROP TABLE laps;
DROP PROCEDURE lbt.try_styles(text, text, text);
DROP FUNCTION lbt.walk();
