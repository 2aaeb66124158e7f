--
-- A batch fails where its changes fail one by one: scores out of range
--
SELECT lb_create_tables();
SELECT lb_close_window('daily'), lb_close_window('weekly');
SELECT lb_wait_ready();
INSERT INTO player_scores (player_id, score) VALUES (9, -10), (8, 10), (7, 9223372036854775800);
-- The sum has no bigint, the score has.
SELECT lb_submit_many('{9,9}', '{9223372036854775807,5}');
SELECT * FROM lb_top(3);
-- A window that has no row of the player gets the sum alone.
SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '9999-01-01');
UPDATE player_scores SET score = -10 WHERE player_id = 9;
SELECT lb_submit_many('{9,9}', '{9223372036854775807,5}');
INSERT INTO player_score_windows (player_id, window_key, score) VALUES (9, 'cup:1', -20), (8, 'cup:1', -20);
SELECT lb_submit_many('{9,9}', '{9223372036854775807,5}');
SELECT lb_score(9), lb_score(9, 'cup:1');
-- From the lowest score to the highest.
UPDATE player_scores SET score = -9223372036854775808 WHERE player_id = 9;
UPDATE player_score_windows SET score = -9223372036854775808 WHERE player_id = 9;
SELECT lb_submit_many('{9,9,9}', '{9223372036854775807,9223372036854775807,1}');
SELECT lb_score(9), lb_score(9, 'cup:1');
SELECT lb_submit_many('{9,9,9}', '{-9223372036854775807,-9223372036854775807,-2}');
-- The first change of 8 fails, though the next one leads back.
SELECT lb_submit_many('{7,8,8}', '{1,9223372036854775807,-9223372036854775807}');
-- The first that fails is named, whoever's it is.
SELECT lb_submit_many('{8,7,7}', '{9223372036854775807,7,1}');
SELECT lb_submit_many('{7,7,8}', '{7,1,9223372036854775807}');
-- On a window.
SELECT lb_submit_many('{8,8}', '{-9223372036854775788,-1}');
SELECT lb_submit_many('{8,8}', '{-9223372036854775788,-1}', 'set');
SELECT * FROM lb_submit(8, -9223372036854775800);
SELECT * FROM lb_submit(7, 8);
SELECT * FROM lb_submit_json('{"player_id": 7, "amount": 8}');
SELECT * FROM lb_submit(8, -9223372036854775800, boards => '{cup:1}');
SELECT * FROM lb_submit(8, 9223372036854775807, 'set', boards => '{global,cup:1}');
SELECT * FROM lb_submit_match(7, '{"global": 8}');
SELECT lb_submit_many_key('{7,7}', '{7,1}');
-- lb_submit_each() tells which, and applies the rest.
SELECT * FROM lb_submit_each('{8,7,7,8,7,6}', '{9223372036854775807,7,1,5,-3,1}', match_ids => '{a,b,c,d,e,f}');
SELECT lb_score(8), lb_score(7), lb_score(8, 'cup:1'), lb_score(7, 'cup:1');
SELECT player_id, match_id FROM lb_applied ORDER BY 1, 2;
SELECT player_id, amount, scores FROM lb_event WHERE match_id IS NOT NULL ORDER BY 1, 2;
SELECT item, status, limit_name FROM lb_submit_each_key('{7}', '{9}');
-- A change that a window refuses does not count on the others.
UPDATE player_scores SET score = 0 WHERE player_id = 8;
UPDATE player_score_windows SET score = 10 WHERE player_id = 8;
SELECT * FROM lb_submit_each('{8,8}', '{9223372036854775807,5}');
SELECT lb_score(8), lb_score(8, 'cup:1');
-- A trigger that keeps rows from being written is no overflow.
CREATE FUNCTION keep_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN CASE WHEN NEW.player_id <> 8 THEN NEW END; END';
CREATE TRIGGER keep_out BEFORE INSERT OR UPDATE ON player_scores FOR EACH ROW EXECUTE FUNCTION keep_out();
SELECT * FROM lb_submit_each('{8,7}', '{5,-1}');
SELECT board, score, applied FROM lb_submit(8, 5);
DROP TRIGGER keep_out ON player_scores;
DROP FUNCTION keep_out();
SELECT * FROM lb_verify();

-- What a batch leaves behind or fails with, beside the same one by one.
CREATE FUNCTION scores() RETURNS text LANGUAGE sql AS $$
SELECT string_agg(format('%s %s %s', board, player_id, score), ', ' ORDER BY board, player_id)
FROM (SELECT 'global' AS board, player_id, score FROM player_scores
	UNION ALL SELECT window_key, player_id, score FROM player_score_windows) s
$$;
CREATE FUNCTION run_batch(players bigint[], amounts bigint[], op text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	about text;
BEGIN
	BEGIN
		PERFORM lb_submit_many(players, amounts, op);
		result := scores();
		RAISE SQLSTATE 'ZZ000';
	EXCEPTION
		WHEN SQLSTATE 'ZZ000' THEN NULL;
		WHEN numeric_value_out_of_range THEN
			GET STACKED DIAGNOSTICS about = PG_EXCEPTION_DETAIL;
			result := SQLERRM || ', ' || split_part(about, ' ', 1) || ' ' || split_part(about, ' ', 2);
	END;
	RETURN result;
END $$;
-- With each, all that fail are left out.
CREATE FUNCTION run_each(players bigint[], amounts bigint[], op text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	BEGIN
		SELECT string_agg(format('%s %s', item, status), ', ' ORDER BY item) INTO result FROM lb_submit_each(players, amounts, op);
		result := result || '; ' || scores();
		RAISE SQLSTATE 'ZZ000';
	EXCEPTION WHEN SQLSTATE 'ZZ000' THEN NULL;
	END;
	RETURN result;
END $$;
CREATE FUNCTION run_single(players bigint[], amounts bigint[], op text, going_on boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	statuses text[];
BEGIN
	BEGIN
		FOR i IN 1 .. cardinality(players) LOOP
			BEGIN
				PERFORM lb_submit(players[i], amounts[i], op);
				statuses := statuses || (i || ' applied');
			EXCEPTION WHEN numeric_value_out_of_range THEN
				IF NOT going_on THEN
					result := SQLERRM || ', Item ' || i;
					RAISE SQLSTATE 'ZZ000';
				END IF;
				statuses := statuses || (i || ' overflow');
			END;
		END LOOP;
		result := CASE WHEN going_on THEN array_to_string(statuses, ', ') || '; ' ELSE '' END || scores();
		RAISE SQLSTATE 'ZZ000';
	EXCEPTION WHEN SQLSTATE 'ZZ000' THEN NULL;
	END;
	RETURN result;
END $$;
-- Windows with each operation, and scores and amounts near both ends.  max is that of the column.
CREATE FUNCTION try_batches(rounds integer, max bigint, OUT failed boolean, OUT different boolean, OUT n bigint)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	values bigint[] := ARRAY[0, 1, -1, 5, max, max - 1, max - 4, max / 2, max / 2 + 1, -max - 1, -max, -max + 4, -max / 2 - 1];
	players bigint[];
	amounts bigint[];
	op text;
	batch text;
	single text;
	each_batch text;
	each_single text;
	counts jsonb := '{}';
	key text;
BEGIN
	FOR r IN 1 .. rounds LOOP
		DELETE FROM player_scores;
		DELETE FROM player_score_windows;
		INSERT INTO player_scores (player_id, score)
		SELECT p, values[1 + floor(random() * cardinality(values))] FROM generate_series(1, 3) p WHERE random() < 0.8;
		INSERT INTO player_score_windows (player_id, window_key, score)
		SELECT p, w, values[1 + floor(random() * cardinality(values))] FROM generate_series(1, 3) p, unnest('{cup:1,cup:2,cup:3,cup:4}'::text[]) w
		WHERE random() < 0.4;
		SELECT array_agg(1 + floor(random() * 3)), array_agg(values[1 + floor(random() * (cardinality(values) + 0 * i))])
		INTO players, amounts FROM generate_series(1, 1 + floor(random() * 5)::integer) i;
		op := (ARRAY['incr', 'incr', 'set', 'best', 'worst'])[1 + floor(random() * 5)];
		batch := run_batch(players, amounts, op);
		single := run_single(players, amounts, op, false);
		each_batch := run_each(players, amounts, op);
		each_single := run_single(players, amounts, op, true);
		IF (batch, each_batch) IS DISTINCT FROM (single, each_single) THEN
			RAISE WARNING E'% % %\nscores: %\nbatch: %\nsingle: %\neach: %\nsingle: %',
				players, amounts, op, scores(), batch, single, each_batch, each_single;
		END IF;
		key := (batch LIKE '%out of range%')::text || ' ' || (batch IS DISTINCT FROM single OR each_batch IS DISTINCT FROM each_single);
		counts := counts || jsonb_build_object(key, coalesce((counts ->> key)::bigint, 0) + 1);
	END LOOP;
	RETURN QUERY SELECT split_part(c.key, ' ', 1)::boolean, split_part(c.key, ' ', 2)::boolean, c.value::bigint
	FROM jsonb_each_text(counts) c ORDER BY 1, 2;
END $$;
SELECT lb_open_window('cup:2', starts => '2020-01-01', ends => '9999-01-01', op => 'incr');
SELECT lb_open_window('cup:3', starts => '2020-01-01', ends => '9999-01-01', op => 'best');
SELECT failed, different FROM try_batches(100, 9223372036854775807);
-- Of columns with fewer bits, one of which can be null
DELETE FROM player_scores;
DELETE FROM player_score_windows;
ALTER TABLE player_scores ALTER score TYPE integer;
ALTER TABLE player_score_windows ALTER score TYPE smallint;
SELECT lb_wait_ready();
SELECT failed, different FROM try_batches(60, 32767);
ALTER TABLE player_score_windows ALTER score TYPE integer;
SELECT lb_wait_ready();
SELECT failed, different FROM try_batches(60, 2147483647);
ALTER TABLE player_scores ALTER score DROP NOT NULL;
DELETE FROM player_scores;
DELETE FROM player_score_windows;
INSERT INTO player_scores (player_id, score) VALUES (1, NULL), (2, 2147483647);
SELECT lb_submit_many('{1,1}', '{30000,1}', 'incr');
SELECT * FROM lb_submit_each('{1,2,1,1,1}', '{2147483648,1,32767,-7,3}');
SELECT * FROM lb_submit(1, 2147483648);
SELECT * FROM lb_verify();
-- What limits count has no end.
SELECT lb_set_limit('week', 'global', period => '1 week', max_period_amount => 9223372036854775807, action => 'flag');
SELECT lb_set_limit('most', 'global', max_amount => 9223372036854775807, action => 'flag');
SELECT lb_submit_many('{3,3,3}', '{5,-5,1}');
SELECT lb_close_window('cup:2'), lb_close_window('cup:3');
ALTER TABLE player_scores ALTER score TYPE bigint;
ALTER TABLE player_score_windows ALTER score TYPE bigint;
SELECT lb_submit_many('{3,3,3}', '{9223372036854775800,-9223372036854775807,6}');
SELECT lb_submit_many('{4}', '{-9223372036854775808}');
SELECT player_id, amount, submits FROM lb_usage ORDER BY 1;
SELECT player_id, limit_name, submits, max_amount, value FROM lb_anomaly ORDER BY 1, 2;
SELECT lb_wait_ready();
SELECT * FROM lb_verify();
SELECT lb_drop_limit('week'), lb_drop_limit('most');
DROP TABLE player_scores, player_score_windows;
DROP FUNCTION scores(), run_batch(bigint[], bigint[], text), run_each(bigint[], bigint[], text),
	run_single(bigint[], bigint[], text, boolean), try_batches(integer, bigint);
TRUNCATE lb_event, lb_usage, lb_applied, lb_anomaly;
