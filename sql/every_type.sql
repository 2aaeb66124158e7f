--
-- Every type that a column can have, with values at its ends, equal ones, and ones
-- that differ in the last byte: all functions agree with their queries
--
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The value of row i: the type's extremes first.
CREATE FUNCTION lbt.nth_value(type lbt.type) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('coalesce((%L::text[])[i]::%s, (%s)::%s)', type.extremes, type.name,
		replace(type.value, '{}', 'i'), type.name)
$$;

-- Make a table with a board, compare, change it, compare, and drop it.  Prints what
-- differs.
CREATE PROCEDURE lbt.check_board(members lbt.type[], score lbt.type, tie lbt.type,
	dir text DEFAULT 'DESC', method text DEFAULT 'row_number', functions text DEFAULT '.')
LANGUAGE plpgsql AS $$
DECLARE
	names text := (SELECT string_agg('m' || n, ', ' ORDER BY n)
		FROM generate_subscripts(members, 1) AS n);
	tie_order text := 'tie' || CASE WHEN tie.base IN ('text', 'character varying')
		THEN ' COLLATE "C"' ELSE '' END;
	found text;
BEGIN
	EXECUTE format('CREATE TABLE every (%s, score %s, tie %s, UNIQUE (%s))',
		(SELECT string_agg(format('m%s %s', n, members[n].name), ', ' ORDER BY n)
			FROM generate_subscripts(members, 1) AS n), score.name, tie.name, names);
	EXECUTE format('INSERT INTO every SELECT %s, %s, %s FROM generate_series(1, 40) AS i'
		' ON CONFLICT DO NOTHING',
		(SELECT string_agg(lbt.nth_value(members[n]), ', ' ORDER BY n)
			FROM generate_subscripts(members, 1) AS n), lbt.nth_value(score), lbt.nth_value(tie));
	COMMIT;
	PERFORM lb_create_board('every', 'every', names,
		rank_by => format('score %s, tie DESC', dir), method => method);
	COMMIT;
	FOR step IN 1 .. 2 LOOP
		PERFORM set_config('leaderboard.json_bigint', (ARRAY['number', 'string'])[step], false);
		FOR found IN SELECT d::text FROM lbt.differences('every', 'every', 'score IS NOT NULL',
				names, 'score', dir, tie_order || ' DESC', method,
				CASE WHEN NOT (score.asks OR tie.asks) THEN false END, functions) AS d
		LOOP
			RAISE WARNING '%, %, %: %', members[1].name, score.name, tie.name, found;
		END LOOP;
		COMMIT;
		-- Many equal ones, and some that are not ranked
		EXECUTE format('UPDATE every SET score = (SELECT score FROM every ORDER BY %1$s OFFSET 3 LIMIT 1)'
			' WHERE md5(row(%1$s)::text) < ''9''', names);
		EXECUTE 'UPDATE every SET score = NULL WHERE md5(every::text) < ''2''';
		EXECUTE format('DELETE FROM every WHERE md5(row(%s)::text) > ''e''', names);
		COMMIT;
	END LOOP;
	FOR found IN SELECT v::text FROM lb_verify('every') AS v LOOP
		RAISE WARNING '%, %, %: %', members[1].name, score.name, tie.name, found;
	END LOOP;
	DROP TABLE every;
	COMMIT;
END $$;

DO $$
DECLARE
	plain lbt.type := (SELECT t FROM lbt.type AS t WHERE name = 'integer');
	equal lbt.type := (SELECT t FROM lbt.type AS t WHERE name = 'boolean');
	t lbt.type;
BEGIN
	FOR t IN SELECT * FROM lbt.type WHERE roles ~ 'm' ORDER BY name LOOP
		CALL lbt.check_board(ARRAY[t], plain, plain);
		CALL lbt.check_board(ARRAY[t, plain], plain, plain, functions => 'lb_(ranks|top|among)$');
		CALL lbt.check_board(ARRAY[plain, t], plain, plain, functions => 'lb_(ranks|top_json|around)$');
	END LOOP;
	FOR t IN SELECT * FROM lbt.type WHERE roles ~ 's' ORDER BY name LOOP
		CALL lbt.check_board(ARRAY[plain], t, plain, method => 'rank');
		CALL lbt.check_board(ARRAY[plain], t, plain, 'ASC', 'dense_rank');
	END LOOP;
	FOR t IN SELECT * FROM lbt.type WHERE roles ~ 't' ORDER BY name LOOP
		CALL lbt.check_board(ARRAY[plain], equal, t, functions => 'lb_(rank|top|at|page|count_before)$');
	END LOOP;
END $$;

-- What has been tried
SELECT name, base, roles FROM lbt.type ORDER BY name COLLATE "C";
