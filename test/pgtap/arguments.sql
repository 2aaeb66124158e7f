/* Null arguments, values out of range, unknown names. */
\ir lib/setup.psql
SELECT plan(2 * 55 + 3);

CREATE TABLE lbt_arg (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO lbt_arg SELECT i, i FROM generate_series(1, 10) i;
SELECT lb_create_board('lbt_arg', 'lbt_arg');
SELECT ok(lb_wait_ready('1 min'), 'the board is ready');

CREATE FUNCTION pg_temp.check_arguments() RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	call text;
	path text;
	tag text;
BEGIN
	FOREACH path IN ARRAY ARRAY['on', 'off']
	LOOP
		PERFORM set_config('leaderboard.enable_index', path, false);
		tag := ', index ' || path;

		FOREACH call IN ARRAY ARRAY[
			'lb_rank(1, %s)', 'lb_score(1, %s)', 'lb_percentile(1, %s)',
			'lb_player(1, %s)', 'lb_top(1, %s)',
			'lb_top_json(1, %s)', 'lb_at(1, %s)',
			'lb_around(1, %s)', 'lb_count(%s)', 'lb_count_between(1, 2, %s)',
			'lb_rank_of_score(1, %s)', 'lb_score_at_percentile(1, %s)',
			'lb_ranks(''{1}'', %s)', 'lb_among(''{1}'', %s)',
			'lb_histogram(1, %s)']
		LOOP
			RETURN NEXT pg_temp.error_is('SELECT ' || format(call, 'NULL'),
				'22004', 'board', format(call, 'NULL') || tag, false);
			RETURN NEXT pg_temp.error_is('SELECT '
				|| format(call, '''lbt_agr'''), '.....', 'lbt_agr',
				format(call, '''lbt_agr''') || tag);
		END LOOP;

		RETURN QUERY SELECT pg_temp.error_is(x.query, x.state, x.contains,
			x.query || tag, x.state <> '22004')
		FROM (VALUES
			('SELECT lb_top(NULL, ''lbt_arg'')', '22004', 'n'),
			('SELECT lb_top(1, ''lbt_arg'', NULL)', '22004', 'skip'),
			('SELECT lb_top_json(NULL, ''lbt_arg'')', '22004', 'n'),
			('SELECT lb_top_json(1, ''lbt_arg'', NULL)', '22004', 'skip'),
			('SELECT lb_around(1, ''lbt_arg'', NULL)', '22004', 'radius'),
			('SELECT lb_histogram(NULL, ''lbt_arg'')', '22004', 'buckets'),
			('SELECT lb_top(-1, ''lbt_arg'')', '22...', '-1'),
			('SELECT lb_top(1, ''lbt_arg'', -2)', '22...', '-2'),
			('SELECT lb_top_json(-1, ''lbt_arg'')', '22...', '-1'),
			('SELECT lb_top_json(1, ''lbt_arg'', -2)', '22...', '-2'),
			('SELECT lb_around(1, ''lbt_arg'', -3)', '22...', '-3'),
			('SELECT lb_histogram(0, ''lbt_arg'')', '22...', '0'),
			('SELECT lb_score_at_percentile(-0.5, ''lbt_arg'')', '22...',
			 '-0.5'),
			('SELECT lb_score_at_percentile(100.5, ''lbt_arg'')', '22...',
			 '100.5'),
			('SELECT lb_score_at_percentile(''NaN'', ''lbt_arg'')', '22...',
			 ''),
			('SELECT lb_score_at_percentile(''Infinity'', ''lbt_arg'')',
			 '22...', ''),
			('SELECT lb_rank(1, ''lbt_arg'', ''RANK'')', '22...', 'RANK'),
			('SELECT lb_rank(1, ''lbt_arg'', '''')', '22...', ''),
			('SELECT lb_rank_of_score(1, ''lbt_arg'', ''x'')', '22...', 'x'),
			('SELECT * FROM lb_ranks(''{1}'', ''lbt_arg'', ''x'')', '22...',
			 'x')) x (query, state, contains);

		RETURN NEXT is(lb_rank(NULL, 'lbt_arg'), NULL::bigint,
			'a null member has no rank' || tag);
		RETURN NEXT is(lb_rank_of_score(NULL, 'lbt_arg'), NULL::bigint,
			'nor a null score' || tag);
		RETURN NEXT is(lb_score_at_percentile(NULL, 'lbt_arg'), NULL::bigint,
			'nor a null percentile a score' || tag);
		RETURN NEXT is((SELECT count(*) FROM lb_around(NULL, 'lbt_arg')),
			0::bigint, 'a null member has no neighbours' || tag);
		RETURN NEXT is(lb_count_between(NULL, NULL, 'lbt_arg'), 10::bigint,
			'null ends are open' || tag);
	END LOOP;
	RESET leaderboard.enable_index;
END $$;
SELECT pg_temp.check_arguments();

SELECT pg_temp.error_is('SELECT lb_drop_board(NULL)', '22004', 'board',
	'lb_drop_board of null', false);
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_board('lbt_arg');
DROP TABLE lbt_arg;
SELECT finish();
