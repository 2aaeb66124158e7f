/* Windows' keys against to_char(), and random submits against a model in SQL. */
\ir lib/setup.psql
SELECT plan(20);

SELECT lb_create_tables();
SELECT ok(lb_wait_ready('5 min'), 'the boards are ready');
SELECT has_table('lb_window');
SELECT col_is_pk('lb_applied', ARRAY['player_id', 'match_id', 'leaderboard'], 'a match is applied once to a player');
SELECT function_privs_are('lb_submit', ARRAY['bigint', 'bigint', 'text', 'text', 'timestamptz', 'text[]', 'text', 'jsonb'],
	'public', ARRAY['EXECUTE'], 'every role may call lb_submit, and needs the rights on the tables');
SELECT table_privs_are('lb_event', 'pg_read_all_settings', ARRAY[]::text[], 'not every role may read events');

/* Keys of random moments, in zones with odd offsets and odd turns of clocks. */
CREATE TEMP TABLE moments AS
SELECT timestamptz '1970-01-01 UTC' + random() * interval '60 years' AS at FROM generate_series(1, 300)
UNION SELECT d + h * interval '15 min' FROM generate_series(-12, 12) h,
	unnest(ARRAY['2026-03-29 01:00+00', '2026-10-25 01:00+00', '2026-04-04 15:00+00',
		'2025-10-04 15:30+00', '2026-01-01 00:00+00', '2024-12-30 00:00+00', '2011-12-30 10:00+00']::timestamptz[]) d;
CREATE FUNCTION pg_temp.wrong_keys(zone text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM lb_open_window(p, time_zone => zone) FROM unnest(ARRAY['hourly', 'daily', 'weekly', 'monthly']) p;
	RETURN QUERY SELECT format('%s %s: %s', zone, m.at, k) FROM (SELECT m.at, f.name || ':' || to_char(m.at AT TIME ZONE zone, f.format) AS want,
		lb_window_at(f.name, m.at) AS k
		FROM moments m, (VALUES ('hourly', 'YYYYMMDDHH24'), ('daily', 'YYYYMMDD'),
			('weekly', 'IYYYIW'), ('monthly', 'YYYYMM')) f (name, format)) m WHERE k IS DISTINCT FROM want;
END $$;
SELECT is_empty(format('SELECT pg_temp.wrong_keys(%L)', zone), 'keys in ' || zone)
FROM unnest(ARRAY['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia', 'America/Sao_Paulo']) zone;

/* A week that begins on any day is seven days, called by the ISO week that has four of them. */
CREATE FUNCTION pg_temp.wrong_weeks() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	FOR f IN 1 .. 7 LOOP
		PERFORM lb_open_window('weekly', first_day => f);
		RETURN QUERY SELECT format('%s: %s', f, k) FROM (
			SELECT lb_window_at('weekly', d) AS k, min(d) AS lo, max(d) AS hi, count(*) AS n,
				mode() WITHIN GROUP (ORDER BY to_char(d AT TIME ZONE 'UTC', 'IYYYIW')) AS iso
			FROM generate_series(timestamptz '2024-11-01 UTC', '2027-02-01 UTC', '1 day') d GROUP BY 1) w
			WHERE lo > '2024-11-08 UTC' AND hi < '2027-01-23 UTC' AND
				(n <> 7 OR extract(isodow FROM lo AT TIME ZONE 'UTC') <> f OR k <> 'weekly:' || iso);
	END LOOP;
END $$;
SELECT is_empty('SELECT pg_temp.wrong_weeks()', 'weeks that begin on any day');

/*
 * The model: what each submit makes of each board, in SQL.  Windows: daily by
 * the change of global, weekly the best, monthly set, hourly by increments.
 */
SELECT lb_open_window('daily', keep => '1000 years');
SELECT lb_open_window('weekly', keep => '1000 years', op => 'best');
SELECT lb_open_window('monthly', keep => '1000 years', op => 'set');
SELECT lb_open_window('hourly', keep => '1000 years', op => 'incr');
CREATE TEMP TABLE model (player bigint, board text, score bigint, at timestamptz, PRIMARY KEY (player, board));
CREATE TEMP TABLE seen (player bigint, match text, PRIMARY KEY (player, match));

CREATE FUNCTION pg_temp.model_one(p bigint, b text, o text, a bigint, at timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	old model;
	new bigint;
BEGIN
	SELECT * INTO old FROM model WHERE player = p AND board = b;
	new := CASE o WHEN 'incr' THEN coalesce(old.score, 0) + a WHEN 'set' THEN a
		WHEN 'best' THEN greatest(old.score, a) ELSE least(old.score, a) END;
	INSERT INTO model VALUES (p, b, new, model_one.at)
	ON CONFLICT (player, board) DO UPDATE SET score = new, at = CASE WHEN model.score = new THEN model.at
		ELSE greatest(model.at, excluded.at) END;
	RETURN new - coalesce(old.score, 0);
END $$;
CREATE FUNCTION pg_temp.model_submit(p bigint, a bigint, o text, m text, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	change bigint;
BEGIN
	IF m IS NOT NULL THEN
		IF EXISTS (SELECT FROM seen WHERE player = p AND match = m) THEN RETURN; END IF;
		INSERT INTO seen VALUES (p, m);
	END IF;
	change := pg_temp.model_one(p, 'global', o, a, at);
	PERFORM pg_temp.model_one(p, lb_window_at('daily', at), 'incr', change, at);
	PERFORM pg_temp.model_one(p, lb_window_at('weekly', at), 'best', a, at);
	PERFORM pg_temp.model_one(p, lb_window_at('monthly', at), 'set', a, at);
	PERFORM pg_temp.model_one(p, lb_window_at('hourly', at), 'incr', a, at);
END $$;
CREATE FUNCTION pg_temp.differences() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s on %s: %s at %s, not %s at %s', coalesce(m.player, t.player), coalesce(m.board, t.board),
		t.score, t.at, m.score, m.at)
	FROM model m FULL JOIN (SELECT player_id AS player, 'global' AS board, score, updated_at AS at FROM player_scores
		UNION ALL SELECT player_id, window_key, score, updated_at FROM player_score_windows) t USING (player, board)
	WHERE (m.score, m.at) IS DISTINCT FROM (t.score, t.at)
$$;
/* Of one submit: its rows, against the tables as they are after it. */
CREATE FUNCTION pg_temp.random_submits(n integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	p bigint; a bigint; o text; m text; t timestamptz; repeated boolean; s record;
BEGIN
	FOR i IN 1 .. n LOOP
		p := 1 + floor(random() * 12);
		a := floor(random() * 60) - 15;
		o := (ARRAY['incr', 'incr', 'set', 'best', 'worst'])[1 + floor(random() * 5)];
		m := CASE WHEN random() < 0.5 THEN 'm' || floor(random() * 40) END;
		t := timestamptz '2026-04-07 UTC' + floor(random() * 6) * interval '13 hours';
		repeated := EXISTS (SELECT FROM seen WHERE player = p AND match = m);
		FOR s IN SELECT * FROM lb_submit(p, a, o, m, t) LOOP
			IF s.applied = repeated OR (NOT repeated AND (s.rank IS DISTINCT FROM lb_rank(p, s.board)
				OR s.score IS DISTINCT FROM lb_score(p, s.board))) THEN
				RETURN NEXT format('%s %s %s: %s', p, o, a, s);
			END IF;
		END LOOP;
		PERFORM pg_temp.model_submit(p, a, o, m, t);
	END LOOP;
END $$;
SELECT is_empty('SELECT pg_temp.random_submits(400)', 'what lb_submit returns is what the boards say');
SELECT is_empty('SELECT pg_temp.differences()', 'lb_submit does what the model does');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

/*
 * Batches.  Each player's own ops differ from the model's one by one only
 * where a batch coalesces: best and worst of global are the same either way.
 */
CREATE FUNCTION pg_temp.random_batches(n integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	o text; t timestamptz; ps bigint[]; amounts bigint[]; ms text[]; want bigint; got bigint;
BEGIN
	FOR i IN 1 .. n LOOP
		o := (ARRAY['incr', 'set', 'best', 'worst'])[1 + i % 4];
		t := timestamptz '2026-04-07 UTC' + floor(random() * 6) * interval '13 hours';
		/* Several changes of a player only where they add up in whatever order. */
		SELECT array_agg(p), array_agg(a), array_agg(m) INTO ps, amounts, ms FROM (
			SELECT p, floor(random() * 60)::bigint - 15 AS a,
				CASE WHEN random() < 0.5 THEN 'b' || floor(random() * 60) END AS m
			FROM (SELECT 1 + floor(random() * 12)::bigint AS p FROM generate_series(1, 15)) x
			WHERE o <> 'incr' GROUP BY p
			UNION ALL
			SELECT 1 + floor(random() * 12)::bigint, 1, 'c' || i || '-' || g % 4 || '-' || g
			FROM generate_series(1, 15) g WHERE o = 'incr'
			ORDER BY 2) y;
		SELECT count(*) INTO want FROM (SELECT DISTINCT ON (u.p, u.m) u.p, u.m FROM unnest(ps, ms) u (p, m)) u
			WHERE u.m IS NULL OR NOT EXISTS (SELECT FROM seen WHERE player = u.p AND match = u.m);
		got := lb_submit_many(ps, amounts, o, ms, t);
		PERFORM pg_temp.model_submit(u.p, u.a, o, u.m, t) FROM unnest(ps, amounts, ms) u (p, a, m);
		IF got <> want THEN
			RETURN NEXT format('%s: %s applied, not %s', o, got, want);
		END IF;
	END LOOP;
END $$;
SELECT is_empty('SELECT pg_temp.random_batches(80)', 'lb_submit_many returns how many were applied');
SELECT is_empty('SELECT pg_temp.differences()', 'lb_submit_many does what the model does');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree after batches');

/* More than fits into arrays. */
SELECT lb_open_window('many:' || g, starts => '2026-04-01', ends => '2026-05-01', keep => '1000 years')
FROM generate_series(1, 300) g;
SELECT throws_ok($$SELECT lb_submit_many(array_agg(g), array_agg(g), at => '2026-04-09')
	FROM generate_series(1::bigint, 450000) g$$, '54000', 'too many changes for one call',
	'a batch that is too large is refused');
SELECT lives_ok($$SELECT lb_submit_many('{1,2}', '{1,2}', at => '2026-04-09')$$, 'one that is not is taken');

DROP TABLE player_scores, player_score_windows;
SELECT lb_close_window(name) FROM lb_window;
TRUNCATE lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_event, lb_applied;
SELECT finish();
