/* Statements that run as the extension's owner must be of no use to another role. */
\ir lib/setup.psql
SELECT plan(13);

CREATE ROLE lbt_mallory;
CREATE ROLE lbt_nobody;
GRANT EXECUTE ON FUNCTION lb_create_board, lb_set_limit, lb_watch TO lbt_mallory;
CREATE FUNCTION pg_temp.state_as(role text, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	BEGIN
		EXECUTE command;
	EXCEPTION WHEN others THEN
		RESET ROLE;
		RETURN SQLSTATE;
	END;
	RESET ROLE;
	RETURN '00000';
END $$;

/* A function in an index of a board's table, which the planner of a query calls. */
CREATE SCHEMA lbt_m AUTHORIZATION lbt_mallory;
SET ROLE lbt_mallory;
CREATE FUNCTION lbt_m.act() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
		ALTER ROLE lbt_mallory SUPERUSER;
	END IF;
END $$;
CREATE FUNCTION lbt_m.evil(i bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM lbt_m.act();
	RETURN i;
END $$;
CREATE TABLE lbt_m.t (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO lbt_m.t SELECT i, i FROM generate_series(1, 50) i;
CREATE TABLE lbt_m.u AS TABLE lbt_m.t;
ALTER TABLE lbt_m.u ADD PRIMARY KEY (player_id);
SELECT lb_create_board('lbt_mt', 'lbt_m.t'), lb_create_board('lbt_mu', 'lbt_m.u') \g /dev/null
RESET ROLE;
SELECT ok(lb_wait_ready('5 min'), 'the boards of an ordinary role are ready');
SET ROLE lbt_mallory;
CREATE INDEX ON lbt_m.t ((score + lbt_m.evil(1)));
CREATE INDEX ON lbt_m.u ((score + lbt_m.evil(1)));
RESET ROLE;
SET leaderboard.enable_index = off;
SELECT is(pg_temp.state_as('lbt_mallory', $$SELECT lb_watch('lbt_mt')$$), '00000', 'the role watches one, by the query');
SELECT is(pg_temp.state_as('lbt_mallory', $$SELECT lb_close_season('lbt_mu', 's1')$$), '00000',
	'the role closes a season, by the query');
RESET leaderboard.enable_index;
SELECT ok(NOT rolsuper, 'the role''s function has not run as the extension''s owner') FROM pg_roles WHERE rolname = 'lbt_mallory';

/* A role that may not write to the boards cannot use up a match, and learns nothing of one. */
SELECT lb_create_tables();
SELECT ok(lb_wait_ready('5 min'), 'the default tables are ready');
SELECT lb_submit(42, 5, match_id => 'secret') \g /dev/null
SELECT is(pg_temp.state_as('lbt_nobody', format('SELECT lb_submit(%s, 0, match_id => %L, boards => %L)', p, m, b)), '42501',
	format('submit of nobody''s to %s', b))
FROM (VALUES (42, 'secret', '{}'), (7, 'next', '{}'), (7, 'next', '{daily:20200103}')) v (p, m, b);
SELECT is(applied, false, 'a window that is long closed') FROM lb_submit(7, 500, match_id => 'next', boards => '{daily:20200103}');
SELECT ok(bool_and(applied), 'has not used the match up') FROM lb_submit(7, 500, match_id => 'next');

/* One owner's limit is not another's to change. */
SELECT lb_set_limit('lbt_cap', 'global', max_amount => 1000);
ALTER TABLE player_score_windows OWNER TO lbt_mallory;
SELECT is(pg_temp.state_as('lbt_mallory', $$SELECT lb_set_limit('lbt_cap', 'daily', 5)$$), '42501', 'another''s limit');
SELECT is(board, 'global', 'it stays') FROM lb_limit WHERE name = 'lbt_cap';
SELECT lb_rebuild() \g /dev/null
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_limit('lbt_cap');
DROP TABLE player_scores, player_score_windows;
SELECT lb_close_window(name) FROM lb_window;
TRUNCATE lb_window, lb_reward, lb_entry, lb_entry_count, lb_entrant, lb_event, lb_applied, lb_watched, lb_archive, lb_archive_source;
DROP SCHEMA lbt_m CASCADE;
REVOKE EXECUTE ON FUNCTION lb_create_board, lb_set_limit, lb_watch FROM lbt_mallory;
DROP ROLE lbt_mallory, lbt_nobody;
SELECT finish();
