/* Windows that players join, as a user sees them: random calls against a model in SQL. */
\ir lib/setup.psql
SELECT plan(13);

SELECT lb_create_tables();
SELECT lb_open_window(k, starts => '2020-01-01', ends => '9999-01-01') FROM unnest('{cup:1,cup:2,all:1}'::text[]) k;
SELECT ok(lb_wait_ready('5 min'), 'the boards are ready');
SELECT col_is_pk('lb_entrant', ARRAY['player_id', 'board'], 'a player joins once');
SELECT function_privs_are('lb_set_entry', ARRAY['text', 'bigint', 'interval', 'interval'], 'public', ARRAY[]::text[],
	'not every role may say who joins');
SELECT function_privs_are('lb_join', ARRAY['bigint', 'text'], 'public', ARRAY['EXECUTE'],
	'every role may join players, and needs the rights on the tables');
SELECT lb_set_entry('cup:1', 7), lb_set_entry('cup:2');

/* What each player has joined, and the score since then. */
CREATE TEMP TABLE model (player_id bigint, board text COLLATE "C", score bigint, PRIMARY KEY (player_id, board));
CREATE FUNCTION pg_temp.play(i integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	p bigint := 1 + (random() * 19)::int;
	q bigint := 1 + (random() * 19)::int;
	k text := 'cup:' || 1 + i % 2;
	what integer := (random() * 7)::int;
	is_in boolean := EXISTS (SELECT FROM model WHERE player_id = p AND board = k);
	is_full boolean := k = 'cup:1' AND (SELECT count(*) >= 7 FROM model WHERE board = k);
BEGIN
	CASE
		WHEN what < 2 THEN
			IF lb_join(p, k) = is_in THEN
				RETURN format('join %s %s: returned %s', p, k, NOT is_in);
			END IF;
			IF NOT is_in THEN
				INSERT INTO model VALUES (p, k, NULL);
			END IF;
			IF is_full AND NOT is_in THEN
				RETURN format('join %s %s: it was full', p, k);
			END IF;
		WHEN what = 2 THEN
			IF lb_leave(p, k) <> is_in THEN
				RETURN format('leave %s %s: returned %s', p, k, NOT is_in);
			END IF;
			DELETE FROM model WHERE player_id = p AND board = k;
		WHEN what < 6 THEN
			PERFORM lb_submit(p, i, boards => CASE WHEN what = 3 THEN ARRAY[k, 'all:1'] END);
			UPDATE model SET score = coalesce(score, 0) + i WHERE player_id = p AND (what <> 3 OR board = k);
		ELSE
			PERFORM lb_submit_many(ARRAY[p, q, p], ARRAY[i, 1, 1]);
			UPDATE model SET score = coalesce(score, 0) + i + 1 WHERE player_id = p;
			UPDATE model SET score = coalesce(score, 0) + 1 WHERE player_id = q;
	END CASE;
	RETURN NULL;
EXCEPTION WHEN check_violation THEN
	RETURN CASE WHEN is_in OR NOT is_full THEN format('join %s %s: %s', p, k, SQLERRM) END;
END $$;
SELECT is(string_agg(problem, E'\n'), NULL, 'calls return what they should')
FROM (SELECT pg_temp.play(i) AS problem FROM generate_series(1, 600) i OFFSET 0) c;
SELECT results_eq('SELECT player_id::bigint AS p, board FROM lb_entrant ORDER BY board, p',
	'SELECT player_id, board FROM model ORDER BY board, player_id', 'who has joined');
SELECT results_eq('SELECT c.board, c.entrants FROM lb_entry_count c ORDER BY 1',
	'SELECT board, count(*) FROM model GROUP BY 1 ORDER BY 1', 'and how many');
SELECT cmp_ok(entrants, '<=', 7::bigint, 'no more than the maximum') FROM lb_entry_count WHERE board = 'cup:1';
SELECT results_eq($$SELECT player_id, window_key COLLATE "C", score FROM player_score_windows WHERE window_key LIKE 'cup:%' ORDER BY 2, 1$$,
	'SELECT player_id, board, score FROM model WHERE score IS NOT NULL ORDER BY 2, 1', 'scores since they have joined');
SELECT results_eq($$SELECT k.board, e.player_id, s.joined, s.entrants FROM generate_series(1, 20) e (player_id),
		(VALUES ('cup:1' COLLATE "C"), ('cup:2')) k (board), lb_entry_status(e.player_id, k.board) s ORDER BY 1, 2$$,
	$$SELECT k.board, e.player_id, EXISTS (SELECT FROM model m WHERE m.player_id = e.player_id AND m.board = k.board),
		(SELECT count(*) FROM model m WHERE m.board = k.board) FROM generate_series(1, 20) e (player_id),
		(VALUES ('cup:1' COLLATE "C"), ('cup:2')) k (board) ORDER BY 1, 2$$, 'status of each');
SELECT is(sum(removed), 20 - (SELECT count(*) FROM generate_series(1, 20) p WHERE NOT EXISTS (SELECT FROM player_scores s WHERE s.player_id = p))
	+ (SELECT count(*) FROM model)::numeric, 'rows of forgotten players')
FROM generate_series(1, 20) p, lb_forget_player(p) f WHERE f.relation IN ('lb_entrant'::regclass, 'player_scores'::regclass);
SELECT is(sum(entrants), 0::numeric, 'none has joined any more') FROM lb_entry_count;
SELECT is_empty('SELECT * FROM lb_verify()', 'index and tables agree');

DROP TABLE player_scores, player_score_windows;
TRUNCATE lb_event, lb_applied;
SELECT finish();
