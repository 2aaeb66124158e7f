--
-- What newcomers type wrong, and what the server answers: it says what to do.
--
\set VERBOSITY terse
SET timezone = 'UTC';
SELECT lb_create_tables();
CREATE TABLE tower (player_id integer PRIMARY KEY, floors integer NOT NULL);
CREATE TABLE account (account_id uuid PRIMARY KEY, balance numeric(12,2) NOT NULL);
CREATE TABLE elo2 (id integer PRIMARY KEY, points integer, games integer, level integer, country text, "Clan" text, vip boolean, name text,
	score text);
CREATE TABLE player (player_id integer PRIMARY KEY, score integer, country text);
CREATE TABLE nokey (id integer, score integer, t text);
CREATE TABLE pairs (a integer, b integer, score integer, PRIMARY KEY (a, b));
CREATE VIEW v1 AS SELECT * FROM elo2;
CREATE MATERIALIZED VIEW mv1 AS SELECT * FROM elo2;
SELECT lb_create_board('tower', 'tower', rank_by => 'floors DESC'), lb_create_board('richest', 'account', 'account_id', 'balance DESC'),
	lb_create_board('country', 'player', board_column => 'country'), lb_create_leaderboard('kills');
SELECT lb_set_limit('cheats', 'global', max_amount => 100);
SELECT lb_wait_ready();
CREATE ROLE regress_lb_nobody;
CREATE ROLE regress_lb_team;
CREATE FUNCTION answer(call text, who text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; hint text; context text; result text;
BEGIN
	IF who IS NOT NULL THEN
		PERFORM set_config('role', who, true);
	END IF;
	BEGIN
		EXECUTE 'SELECT x::text FROM ' || call || ' x' INTO result;

		-- A board that is made is taken back.
		IF call LIKE 'lb_create_board(%' THEN
			RAISE EXCEPTION SQLSTATE 'LB000';
		END IF;
	EXCEPTION WHEN SQLSTATE 'LB000' THEN
		result := 'made';
	WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
			hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
		-- The server's own hint, a part of which is a detail since version 19
		IF hint ~ 'add explicit type casts' THEN
			detail := '';
			hint := '';
		END IF;
		result := state || ' ' || message || coalesce(E'\n  DETAIL ' || nullif(detail, ''), '') || coalesce(E'\n  HINT ' || nullif(hint, ''), '')
			|| CASE WHEN context ~ 'OPERATOR\(' THEN E'\n  A STATEMENT OF OURS' ELSE '' END
			|| coalesce(E'\n  ' || substring(context FROM '^argument .*?(?=\n)'), '');
	END;
	RESET ROLE;
	RETURN format(E'%s\n  %s', call, coalesce(result, 'NULL'));
END
$$;
\pset format unaligned
\pset tuples_only on
-- Names.
SELECT answer(c) FROM unnest(ARRAY[
	$$lb_rank(1, 'towr')$$, $$lb_rank(1, 'Tower')$$, $$lb_rank(1, 'globl')$$, $$lb_rank(1, 'weekli')$$, $$lb_rank(1, 'x')$$,
	$$lb_rank(1, 'country')$$, $$lb_rank(1, 'country:fr')$$, $$lb_count('country:France')$$,
	$$lb_drop_board('towr')$$, $$lb_rebuild('towr')$$, $$lb_set_offline('towr', 'query')$$, $$lb_verify('towr')$$, $$lb_watch('towr', 3)$$,
	$$lb_submit(1, 1, leaderboard => 'kils')$$, $$lb_submit(1, 1, leaderboard => 'tower')$$, $$lb_drop_leaderboard('kils')$$,
	$$lb_submit(1, 1, boards => '{weekly,tower}')$$, $$lb_submit(1, 1, boards => '{weekyl}')$$, $$lb_window_at('dayly')$$,
	$$lb_close_window('weekyl')$$, $$lb_drop_limit('cheat')$$, $$lb_set_limit('l', 'kils')$$,
	$$lb_rank(1, 'tower', 'dense')$$, $$lb_submit(1, 1, 'increment')$$, $$lb_open_window('T:1', 'fortnightly')$$]) c;
-- The windows that are always known, also if none is recorded, where their names lead to something.
BEGIN;
DELETE FROM lb_window;
SELECT answer(c) FROM unnest(ARRAY[$$lb_rank(1, 'weekli')$$, $$lb_window_at('dayly')$$, $$lb_close_window('weekly')$$, $$lb_close_window('weekyl')$$]) c;
SELECT lb_drop_board('*');
SELECT answer(c) FROM unnest(ARRAY[$$lb_rank(1, 'weekli')$$, $$lb_rank(1, 'weekly')$$, $$lb_window_at('dayly')$$]) c;
ROLLBACK;
SET leaderboard.unknown_board = error;
SELECT answer($$lb_rank(1, 'contry:FR')$$);
RESET leaderboard.unknown_board;
-- Types, and the order of arguments.
SELECT answer(c) FROM unnest(ARRAY[
	$$lb_rank('7d0c3b1e-52a4-4c8a-9f0e-2f6f0c1d8a11'::uuid, 'richest')$$, $$lb_rank('7d0c3b1e-52a4-4c8a-9f0e-2f6f0c1d8a11', 'richest')$$,
	$$lb_rank(42, 'richest')$$, $$lb_top(3, 'richest')$$, $$lb_rank_key(42, 'richest')$$, $$lb_rank_key('Zoe', 'richest')$$,
	$$lb_rank_key('{7d0c3b1e-52a4-4c8a-9f0e-2f6f0c1d8a11}'::uuid[], 'richest')$$, $$lb_count_between_key(1, 'much', 'richest')$$,
	$$lb_around(4711, 5)$$, $$lb_around(4711, '5')$$, $$lb_top('weekly')$$, $$lb_top(10, 20)$$, $$lb_top(-5)$$, $$lb_top(10, skip => 99999999999)$$,
	$$lb_top(10, skip => 1e20)$$, $$lb_rank(NULL)$$, $$lb_rank(NULL, NULL)$$, $$lb_histogram(0)$$, $$lb_score_at_percentile(101)$$,
	$$lb_tier(1, tiers => '{}')$$, $$lb_submit(4711, 1.5)$$, $$lb_submit(4711, 10, 'weekly')$$, $$lb_submit_json('{"player":7,"score":20}')$$,
	$$lb_open_window('T123', starts => now(), ends => now())$$, $$lb_open_window('tourney:T9', starts => now())$$]) c;
-- Making a board.
CREATE FUNCTION create_board(VARIADIC arguments text[]) RETURNS text LANGUAGE sql AS $$
	SELECT answer(format('lb_create_board(''x'', %s)', array_to_string(arguments, ', ')))
$$;
SELECT create_board($$'elo2'$$, $$rank_by => $$ || quote_literal(r)) FROM unnest(ARRAY[
	'points/games DESC', 'points', 'pionts DESC', 'Points DESC, Gamse', 'nosuch DESC', 'ctid DESC', '(points) DESC, points', '(ponts + 1) DESC',
	'(points + ) DESC', 'name DESC', 'points DESC, games, level, country, "Clan", vip, name, id', '', 'points DESC,', '(now()) DESC']) r;
SELECT create_board($$'elo2'$$);
SELECT create_board($$'elo2'$$, quote_literal(m), $$'points DESC'$$) FROM unnest(ARRAY[
	'points DESC', 'idd', 'ID', 'id, (id)', 'id, id', 'lower(name)', '', 'level', 'points/games', 'id, points, games, level, country', 'ctid']) m;
SELECT create_board($$'elo2'$$, $$rank_by => 'points DESC'$$, $$board_column => $$ || quote_literal(b)) FROM unnest(ARRAY[
	'Country', 'countri', 'clan', 'level, countri', 'country, (country)', 'country, country', '(level + 1), ( level+1 )', 'country DESC',
	'level / 10', '(level / )', '', 'level, country, vip, name, games', 'points', 'ctid', '(SELECT 1)']) b;
SELECT create_board($$'elo2'$$, $$rank_by => 'points DESC'$$, $$ranked_if => $$ || quote_literal(r)) FROM unnest(ARRAY[
	'level >', 'lvl > 10', 'level', 'vipp', 'VIP2', 'level, vip', '', 'vip DESC', '(SELECT true)', 'now() > ''2020-01-01''', 'true', 'count(*) > 1',
	'vip OR level = ''ten''', 'ctid IS NOT NULL']) r;
SELECT answer(c) FROM unnest(ARRAY[
	$$lb_create_board('x', 'nokey')$$, $$lb_create_board('x', 'nokey', 'id')$$, $$lb_create_board('x', 'nokey', 'id', 't DESC')$$,
	$$lb_create_board('x', 'pairs')$$, $$lb_create_board('x', 'elo2', method => 'dense')$$,
	$$lb_create_board('x', 'elo3', rank_by => 'points DESC')$$, $$lb_create_board('x', 0)$$, $$lb_create_board('x', 'pg_class')$$,
	$$lb_create_board('x', 'v1', 'id', 'points DESC')$$, $$lb_create_board('x', 'mv1', 'id', 'points DESC')$$,
	$$lb_create_board('tower', 'tower', rank_by => 'floors DESC')$$, $$lb_create_board('a:b', 'tower')$$, $$lb_create_board('', 'tower')$$,
	$$lb_create_board('x', 'tower', rank_by => 'floors DESC', if_not_exists => NULL)$$]) c;
-- Rights.
CREATE TABLE mine (id integer PRIMARY KEY, score integer);
ALTER TABLE mine OWNER TO regress_lb_team;
SELECT answer(c, 'regress_lb_nobody') FROM unnest(ARRAY[
	$$lb_rank(4711)$$, $$lb_top(3)$$, $$lb_player(1, 'tower')$$, $$lb_rank_key(1, 'tower')$$, $$lb_count('country:FR')$$, $$lb_ranks('{1}')$$,
	$$lb_rank_json(1)$$, $$lb_submit(1, 1)$$, $$lb_hide(1)$$, $$lb_rebuild('tower')$$]) c;
SET leaderboard.enable_index = off;
SELECT answer(c, 'regress_lb_nobody') FROM unnest(ARRAY[$$lb_rank(4711)$$, $$lb_top(3)$$, $$lb_histogram(3)$$]) c;
RESET leaderboard.enable_index;
SELECT answer(c, 'regress_lb_team') FROM unnest(ARRAY[
	$$lb_create_board('mine', 'mine', 'id')$$, $$lb_open_window('a:b', starts => now(), ends => now() + interval '1 day')$$,
	$$lb_create_tables()$$, $$lb_watch_member_key('1', 'tower')$$, $$lb_watch_member_key(1, 'tower')$$, $$lb_stat_reset()$$]) c;
-- Other errors of privileges have no such hint.
CREATE FUNCTION secret() RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION club_lb_refresh() RETURNS integer LANGUAGE sql AS 'SELECT 1';
REVOKE ALL ON FUNCTION secret(), club_lb_refresh() FROM PUBLIC;
SELECT answer(c, 'regress_lb_team') FROM unnest(ARRAY['secret()', 'club_lb_refresh()']) c;
\pset format aligned
\pset tuples_only off

-- The member is the primary key, without the board columns; a board that is there is left.
CREATE TABLE scored (run bigint, country text, score integer, player_id integer UNIQUE, PRIMARY KEY (country, run));
SELECT lb_create_board('by_key', 'elo2', rank_by => 'points DESC'), lb_create_board('by_country', 'scored', board_column => 'country'),
	lb_create_board('by_land', 'scored', board_column => '(country)'), lb_create_board('by_player', 'scored'), lb_create_board('by_player', 'tower', rank_by => 'floors ASC', if_not_exists => true),
	lb_create_board('by_nobody', 'tower', rank_by => 'floors ASC', if_not_exists => true);
SELECT board, source, member, rank_by, board_column FROM lb_board WHERE board LIKE 'by%' ORDER BY 1;

DROP TABLE tower, account, player, nokey, pairs, mine, scored, elo2 CASCADE;
SELECT lb_drop_limit('cheats');
SELECT lb_drop_leaderboard('kills');
DROP TABLE player_scores, player_score_windows;
DROP FUNCTION answer, create_board, secret, club_lb_refresh;
DROP ROLE regress_lb_nobody, regress_lb_team;
