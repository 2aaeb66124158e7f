--
-- Queries that the planner may answer by boards, run in four ways, for the random
-- client (test/client) and pg_regress.
--
-- All ways see the same rows.  A stable function runs its queries in the snapshot of
-- the query that calls it, so lbt.four_ways() needs no other help than that.  It cannot
-- prepare or explain.  A caller that asks for that holds the snapshot or the rows still.
--

-- A way, as settings of leaderboard.enable_planner and leaderboard.debug_planner_child.
CREATE FUNCTION lbt.set_way(way text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	PERFORM set_config('leaderboard.enable_planner', CASE way WHEN 'plain' THEN 'off' ELSE 'on' END, true),
		set_config('leaderboard.debug_planner_child', CASE WHEN way IN ('force', 'eager') THEN way ELSE 'off' END, true);
END $$;

-- The rows of a query as texts.  If it leaves rows open, its column k is its key.
CREATE TYPE lbt.answer AS (rows text[], keys text[]);

-- A query with its parameters in it.
CREATE FUNCTION lbt.with_params(query text, params text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	FOR i IN 1 .. cardinality(params) LOOP
		query := replace(query, '$' || i, '(' || params[i] || ')');
	END LOOP;
	RETURN (query);
END $$;

-- Rows of a cursor, forward, and before that some of them forward and backward.
CREATE FUNCTION lbt.read_cursor(cursor refcursor, keyed boolean, scroll boolean) RETURNS lbt.answer
LANGUAGE plpgsql STABLE AS $$
DECLARE
	texts text[] := '{}';
	keys text[] := '{}';
	seen text[] := '{}';
	r record;
BEGIN
	WHILE scroll LOOP
		FETCH NEXT FROM cursor INTO r;
		EXIT WHEN NOT FOUND;
		seen := seen || r::text;
		-- Some are not read to their end.
		EXIT WHEN cardinality(seen) % 7 = 6 AND length(seen[1]) % 3 > 0;
	END LOOP;
	IF scroll THEN
		-- At the end the last row is the one before.
		IF FOUND THEN
			FETCH RELATIVE 0 FROM cursor INTO r;
		ELSE
			FETCH PRIOR FROM cursor INTO r;
		END IF;
		FOR i IN REVERSE cardinality(seen) .. 1 LOOP
			IF r::text IS DISTINCT FROM seen[i] THEN
				texts := texts || format('went back to %s, and not to %s', r::text, seen[i]);
			END IF;
			FETCH PRIOR FROM cursor INTO r;
		END LOOP;
	END IF;
	LOOP
		FETCH NEXT FROM cursor INTO r;
		EXIT WHEN NOT FOUND;
		texts := texts || r::text;
		IF keyed THEN
			keys := keys || r.k;
		END IF;
	END LOOP;
	RETURN ROW(texts, keys);
END $$;

-- Run a query, or let it fail.  In the manner "wrapped" it is a subquery.
CREATE FUNCTION lbt.run(query text, keyed boolean, manner text) RETURNS lbt.answer
LANGUAGE plpgsql STABLE AS $$
DECLARE
	texts text[] := '{}';
	keys text[] := '{}';
	answer lbt.answer;
	cursor refcursor;
	r record;
BEGIN
	CASE manner
		WHEN 'wrapped' THEN
			EXECUTE format('SELECT coalesce(array_agg(q::text), ''{}''), %s FROM (%s) AS q',
				CASE WHEN keyed THEN 'coalesce(array_agg(q.k), ''{}'')' ELSE '''{}''' END, query)
				INTO texts, keys;
		WHEN 'scroll' THEN
			OPEN cursor SCROLL FOR EXECUTE query;
			answer := lbt.read_cursor(cursor, keyed, true);
			CLOSE cursor;
			RETURN answer;
		ELSE
			FOR r IN EXECUTE query LOOP
				texts := texts || r::text;
				IF keyed THEN
					keys := keys || r.k;
				END IF;
			END LOOP;
	END CASE;
	RETURN ROW(texts, keys);
EXCEPTION WHEN data_exception THEN
	RETURN ROW(ARRAY[sqlerrm], ARRAY[sqlerrm]);
END $$;

-- The same by a prepared statement, which the session keeps for a while.
CREATE FUNCTION lbt.run_prepared(query text, keyed boolean, params text[], types text[], way text) RETURNS lbt.answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	kept text := format('kept_%s_%s', md5(query), way);
	texts text[] := '{}';
	keys text[] := '{}';
	r record;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_prepared_statements AS p WHERE p.name = kept) THEN
		IF (SELECT count(*) FROM pg_prepared_statements) >= 40 THEN
			DEALLOCATE ALL;
		END IF;
		EXECUTE format('PREPARE %s%s AS %s', kept, '(' || nullif(array_to_string(types, ', '), '') || ')', query);
	END IF;
	FOR r IN EXECUTE format('EXECUTE %s%s', kept, '(' || nullif(array_to_string(params, ', '), '') || ')') LOOP
		texts := texts || r::text;
		IF keyed THEN
			keys := keys || r.k;
		END IF;
	END LOOP;
	RETURN ROW(texts, keys);
EXCEPTION WHEN data_exception THEN
	RETURN ROW(ARRAY[sqlerrm], ARRAY[sqlerrm]);
END $$;

-- The same of a statement that writes and returns rows.  What it writes is undone.
CREATE FUNCTION lbt.run_undone(query text) RETURNS lbt.answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	texts text[] := '{}';
	r record;
BEGIN
	FOR r IN EXECUTE query LOOP
		texts := texts || r::text;
	END LOOP;
	RAISE SQLSTATE 'LBT01';
EXCEPTION
	WHEN SQLSTATE 'LBT01' THEN
		RETURN ROW(texts, '{}'::text[]);
	WHEN data_exception THEN
		RETURN ROW(ARRAY[sqlerrm], ARRAY[sqlerrm]);
END $$;

--
-- What has answered a query, also one that writes: for each node of ours its name and a
-- text, or ''.
--
CREATE FUNCTION lbt.answered_by(query text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	line text;
	node text;
	answers text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		node := coalesce(substring(line FROM 'Leaderboard (\w+)'), node);
		IF line ~ 'Answered by: ' THEN
			answers := answers || concat(node, ' ', substring(line FROM 'Answered by: (.*)'));
		END IF;
	END LOOP;
	RAISE SQLSTATE 'LBT01';
EXCEPTION
	WHEN SQLSTATE 'LBT01' THEN
		RETURN array_to_string(answers, ', ');
	WHEN data_exception THEN
		RETURN '';
END $$;

CREATE FUNCTION lbt.sorted(texts text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(array_agg(t ORDER BY t COLLATE "C"), '{}') FROM unnest(texts) AS t
$$;

--
-- Whether an answer is right, given the one without boards.  A query that leaves rows
-- open has a key: the keys of its rows are known, and these are different rows
-- of everything, a query without limit.  Other queries have one answer, which is
-- ordered or not.
--
CREATE FUNCTION lbt.judge(question text, answer lbt.answer, plain lbt.answer, everything text[], ordered boolean,
	OUT call text, OUT got text, OUT want text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	wrong text[];
BEGIN
	call := question;
	IF everything IS NOT NULL THEN
		wrong := ARRAY(SELECT unnest(answer.rows) EXCEPT ALL SELECT unnest(everything));
		got := array_to_string(answer.keys, E'\n');
		want := array_to_string(plain.keys, E'\n');
		IF cardinality(wrong) > 0 THEN
			got := concat(got, E'\nwith rows that are not there: ', array_to_string(wrong, E'\n'));
		END IF;
	ELSIF ordered OR answer.rows = plain.rows THEN
		got := array_to_string(answer.rows, E'\n');
		want := array_to_string(plain.rows, E'\n');
	ELSE
		got := array_to_string(lbt.sorted(answer.rows), E'\n');
		want := array_to_string(lbt.sorted(plain.rows), E'\n');
	END IF;
	IF got = want THEN
		got := cardinality(plain.rows) || ' rows';
		want := got;
	END IF;
END $$;

--
-- Run a query in four ways, and compare.  Returns what lbt.comparison's queries return,
-- and what has answered the query, if that was asked for.
--
--	everything	null: the query has one answer, ordered or not
--	manner		"loop", "wrapped", "scroll"; with a snapshot that lasts also "prepared",
--				and "undone", for a statement that writes
--	off			settings of the planner
--
CREATE FUNCTION lbt.four_ways(query text, everything text, ordered boolean, params text[], types text[],
	manner text, mode text, off text[], explain boolean)
RETURNS TABLE (call text, got text, want text, answered text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	literal text := lbt.with_params(query, params);
	way text;
	plain lbt.answer;
	answer lbt.answer;
	every lbt.answer;
	setting text;
BEGIN
	FOREACH setting IN ARRAY off LOOP
		PERFORM set_config(setting, 'off', true);
	END LOOP;
	PERFORM set_config('plan_cache_mode', mode, true);
	FOREACH way IN ARRAY '{plain,index,force,eager}'::text[] LOOP
		PERFORM lbt.set_way(way);
		CASE manner
			WHEN 'prepared' THEN
				answer := lbt.run_prepared(query, everything IS NOT NULL, params, types, way);
			WHEN 'undone' THEN
				answer := lbt.run_undone(literal);
			ELSE
				answer := lbt.run(literal, everything IS NOT NULL, manner);
		END CASE;
		IF way = 'plain' THEN
			plain := answer;
			IF everything IS NOT NULL THEN
				every := lbt.run(lbt.with_params(everything, params), true, 'wrapped');
			END IF;
		ELSE
			SELECT j.* FROM lbt.judge(format('%s, %s: %s', way, manner, literal), answer, plain, every.rows, ordered) AS j
				INTO call, got, want;
			RETURN NEXT;
		END IF;
	END LOOP;
	IF explain THEN
		PERFORM lbt.set_way('index');
		answered := lbt.answered_by(literal);
		call := 'EXPLAIN ' || literal;
		got := '';
		want := '';
		RETURN NEXT;
	END IF;
	PERFORM lbt.set_way('plain');
	FOREACH setting IN ARRAY off LOOP
		PERFORM set_config(setting, 'on', true);
	END LOOP;
END $$;

--
-- The same in two steps, with anything between: open cursors, which see the rows of
-- now, and read some rows ahead; and read them from their beginning.  With hold, so that they outlast the transaction, only where the
-- snapshot lasts.  The second one returns what lbt.four_ways() returns.
--
CREATE FUNCTION lbt.close_ways() RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
	cursor refcursor;
BEGIN
	FOR cursor IN SELECT name FROM pg_cursors WHERE starts_with(name, 'way_') LOOP
		CLOSE cursor;
	END LOOP;
END $$;

CREATE FUNCTION lbt.open_ways(query text, everything text, off text[], ahead integer) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
	cursor refcursor;
	way text;
	setting text;
BEGIN
	PERFORM lbt.close_ways();
	FOREACH setting IN ARRAY off LOOP
		PERFORM set_config(setting, 'off', true);
	END LOOP;
	FOREACH way IN ARRAY '{plain,index,force,eager}'::text[] LOOP
		PERFORM lbt.set_way(way);
		cursor := 'way_' || way;
		OPEN cursor SCROLL FOR EXECUTE query;
		MOVE FORWARD ahead FROM cursor;
	END LOOP;
	PERFORM lbt.set_way('plain');
	IF everything IS NOT NULL THEN
		cursor := 'way_everything';
		OPEN cursor SCROLL FOR EXECUTE everything;
	END IF;
	FOREACH setting IN ARRAY off LOOP
		PERFORM set_config(setting, 'on', true);
	END LOOP;
END $$;

CREATE FUNCTION lbt.hold_ways(query text, everything text, off text[], ahead integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	way text;
	setting text;
BEGIN
	PERFORM lbt.close_ways();
	FOREACH setting IN ARRAY off LOOP
		PERFORM set_config(setting, 'off', true);
	END LOOP;
	FOREACH way IN ARRAY '{plain,index,force,eager}'::text[] LOOP
		PERFORM lbt.set_way(way);
		EXECUTE format('DECLARE way_%s SCROLL CURSOR WITH HOLD FOR %s', way, query);
		EXECUTE format('MOVE FORWARD %s IN way_%s', ahead, way);
	END LOOP;
	PERFORM lbt.set_way('plain');
	IF everything IS NOT NULL THEN
		EXECUTE 'DECLARE way_everything SCROLL CURSOR WITH HOLD FOR ' || everything;
	END IF;
	FOREACH setting IN ARRAY off LOOP
		PERFORM set_config(setting, 'on', true);
	END LOOP;
END $$;

CREATE FUNCTION lbt.read_ways(question text, keyed boolean, ordered boolean)
RETURNS TABLE (call text, got text, want text, answered text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
	way text;
	cursor refcursor;
	plain lbt.answer;
	answer lbt.answer;
	every lbt.answer;
BEGIN
	IF keyed THEN
		every := lbt.read_cursor('way_everything', true, false);
	END IF;
	FOREACH way IN ARRAY '{plain,index,force,eager}'::text[] LOOP
		PERFORM lbt.set_way(way);
		cursor := 'way_' || way;
		MOVE ABSOLUTE 0 FROM cursor;
		answer := lbt.read_cursor(cursor, keyed, true);
		IF way = 'plain' THEN
			plain := answer;
		ELSE
			SELECT j.* FROM lbt.judge(format('%s, cursor: %s', way, question), answer, plain, every.rows, ordered) AS j
				INTO call, got, want;
			RETURN NEXT;
		END IF;
	END LOOP;
	PERFORM lbt.set_way('plain');
	PERFORM lbt.close_ways();
END $$;
