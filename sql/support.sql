--
-- What the planner expects of the functions that return rows: how many, and at
-- what cost
--
CREATE FUNCTION plan(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	answer json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO answer;
	RETURN answer -> 0 -> 'Plan';
END $$;
CREATE FUNCTION rows(query text) RETURNS bigint LANGUAGE sql AS
	$$ SELECT (plan(query) ->> 'Plan Rows')::bigint $$;
CREATE FUNCTION cost(query text) RETURNS float8 LANGUAGE sql AS
	$$ SELECT (plan(query) ->> 'Total Cost')::float8 $$;

-- Boards of 20,000 members, of 100, and of none; and a family's.
CREATE TABLE big (player_id bigint PRIMARY KEY, score bigint NOT NULL, name text);
INSERT INTO big SELECT i, i * 7919 % 1000003, 'player ' || i FROM generate_series(1, 20000) i;
CREATE TABLE small (player_id bigint PRIMARY KEY, score bigint NOT NULL);
INSERT INTO small SELECT i, i % 10 FROM generate_series(1, 100) i;
CREATE TABLE none (player_id bigint PRIMARY KEY, score bigint NOT NULL);
CREATE TABLE guild (guild integer, player_id bigint, score bigint NOT NULL, PRIMARY KEY (guild, player_id));
INSERT INTO guild SELECT i % 3, i, i FROM generate_series(1, 30) i;
SELECT lb_create_board('big', 'big'), lb_create_board('small', 'small'), lb_create_board('none', 'none'),
	lb_create_board('guild', 'guild', board_column => 'guild');
SELECT lb_wait_ready();
ANALYZE big, small;

-- Rows follow the arguments, as far as the board has rows.
SELECT call, rows('SELECT * FROM ' || call) FROM unnest(ARRAY[
	'lb_top(board => ''big'')', 'lb_top(25, ''big'')', 'lb_top(20 + 5, ''big'')', 'lb_top(1000000, ''big'')',
	'lb_top(25, ''small'')', 'lb_top(1000, ''small'')', 'lb_top(board => ''small'', n => 1000)',
	'lb_top(1000, ''small'', 30)', 'lb_top(10, ''small'', 30)', 'lb_top(10, ''small'', 1000)',
	'lb_top(10, ''none'')', 'lb_top(0, ''big'')', 'lb_top_key(1000, ''small'')',
	'lb_around(1, ''big'')', 'lb_around(1, ''big'', 100)', 'lb_around(1, ''small'', 100)',
	'lb_around(1, ''big'', 0)', 'lb_around(1, ''big'', 2147483647)', 'lb_around_key(''1'', ''big'', 20)',
	'lb_ranks(''{1,2,3}'', ''big'')', 'lb_ranks(ARRAY[1, 2], ''big'')', 'lb_ranks(''{}'', ''big'')',
	'lb_ranks(array_fill(1::bigint, ''{300}''), ''small'')', 'lb_ranks_key(''{1,2,3}'', ''big'')',
	'lb_ranks(''{{1,2},{3,4}}'', ''big'')',
	'lb_among(array_fill(1::bigint, ''{300}''), ''big'')', 'lb_among(array_fill(1::bigint, ''{300}''), ''small'')',
	'lb_among_key(array_fill(''1''::text, ''{7}''), ''big'')',
	'lb_histogram(50, ''big'')', 'lb_histogram_key(60, ''big'')',
	'lb_archive_top(''big'', 30)', 'lb_archive_top_key(''big'', 40)']) call;
-- A board of a family has its own members.
SELECT call, rows('SELECT * FROM ' || call) FROM unnest(ARRAY[
	'lb_top(100, ''guild:1'')', 'lb_top(100, ''guild:7'')']) call;

-- Null operands: no rows, or an error.
SELECT call, rows('SELECT * FROM ' || call) FROM unnest(ARRAY[
	'lb_top(NULL, ''big'')', 'lb_top(50, NULL)', 'lb_top(50, ''big'', NULL)', 'lb_around(1, ''big'', NULL)',
	'lb_ranks(NULL, ''big'')', 'lb_among(NULL, ''big'')', 'lb_histogram(NULL, ''big'')']) call;
-- Planning raises no error, as the call will.
SELECT call, rows('SELECT * FROM ' || call) FROM unnest(ARRAY[
	'lb_top(-5, ''big'')', 'lb_top(50, ''big'', -5)', 'lb_top(50, ''nobody'')', 'lb_top(50, ''nobody:1'')', 'lb_top(50, '''')',
	'lb_top(50, ''guild'')', 'lb_top(50, ''guild:x'')', 'lb_top(50, ''big:1'')', 'lb_top(50, ''daily'')', 'lb_around(1, ''big'', -3)',
	'lb_histogram(-1, ''big'')', 'lb_top(50, repeat(''guild:'', 1000))']) call;

-- Parameters whose values are known, and stable functions.  Else the number of rows
-- is that of the function itself.
PREPARE top(integer, text) AS SELECT * FROM lb_top($1, $2);
PREPARE ranks(bigint[]) AS SELECT * FROM lb_ranks($1, 'big');
EXPLAIN EXECUTE top(70, 'big');
EXPLAIN EXECUTE top(700, 'small');
EXPLAIN EXECUTE ranks('{5,6,7,8}');
SET plan_cache_mode = force_generic_plan;
EXPLAIN EXECUTE top(70, 'big');
EXPLAIN EXECUTE ranks('{5,6,7,8}');
RESET plan_cache_mode;
DEALLOCATE ALL;
SELECT rows('SELECT * FROM lb_top(current_setting(''max_identifier_length'')::integer, ''big'')') AS stable,
	rows('SELECT * FROM lb_top((random() * 5)::integer, ''big'')') AS volatile,
	rows('SELECT * FROM lb_ranks(ARRAY(SELECT player_id FROM big), ''big'')') AS subquery,
	rows('SELECT * FROM small s, lb_ranks(ARRAY[s.player_id, s.score], ''big'')') AS row_by_row,
	rows('SELECT lb_top(5, ''big'') FROM small') AS in_select_list;

-- Costs follow the rows, and the logarithm of the members.
SELECT a, b, cost('SELECT * FROM ' || a) < cost('SELECT * FROM ' || b) AS less FROM (VALUES
	('lb_top(10, ''big'')', 'lb_top(11, ''big'')'),
	('lb_top(10, ''small'')', 'lb_top(10, ''big'')'),
	('lb_top(10, ''big'')', 'lb_top(10, ''nobody'')'),
	('lb_top(1000000, ''big'')', 'lb_top(1000000, ''nobody'')'),
	('lb_around(1, ''big'', 10)', 'lb_around(1, ''big'', 11)'),
	('lb_around(1, ''small'', 10)', 'lb_around(1, ''big'', 10)'),
	('lb_top(3, ''big'')', 'lb_ranks(''{1,2,3}'', ''big'')'),
	('lb_ranks(''{1,2,3}'', ''small'')', 'lb_ranks(''{1,2,3}'', ''big'')'),
	('lb_ranks(''{1,2,3}'', ''big'')', 'lb_among(''{1,2,3}'', ''big'')'),
	('lb_histogram(5, ''big'')', 'lb_histogram(6, ''big'')'),
	('lb_top_json(10, ''big'')', 'lb_top_json(11, ''big'')'),
	('lb_rank_json(1, ''big'', 1)', 'lb_rank_json(1, ''big'', 2)')) AS v (a, b);
-- A page deep in the board costs what the first one does.
SELECT cost('SELECT * FROM lb_top(10, ''big'', 15000)') = cost('SELECT * FROM lb_top(10, ''big'')') AS equal;

-- Few rows are joined in a loop, many by a hash.
EXPLAIN (COSTS OFF) SELECT * FROM lb_top(10, 'big') t JOIN big ON big.player_id = t.member;
EXPLAIN (COSTS OFF) SELECT * FROM lb_top(20000, 'big') t JOIN big ON big.player_id = t.member;
EXPLAIN (COSTS OFF) SELECT * FROM lb_top(1000000, 'small') t JOIN big ON big.player_id = t.member;
PREPARE friends(bigint[]) AS SELECT * FROM lb_ranks($1, 'big') r JOIN big ON big.player_id = r.member;
EXPLAIN (COSTS OFF) EXECUTE friends('{1,2,3}');
SELECT array_agg(i) AS many FROM generate_series(1, 20000) i \gset
EXPLAIN (COSTS OFF) EXECUTE friends(:'many');

-- What a role must not know of a board, EXPLAIN does not show: neither without
-- privileges, nor if policies hide rows.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_lb_planner;
RESET client_min_messages;
CREATE ROLE regress_lb_planner;
SET ROLE regress_lb_planner;
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
RESET ROLE;
GRANT SELECT (player_id) ON small TO regress_lb_planner;
SET ROLE regress_lb_planner;
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
RESET ROLE;
GRANT SELECT (score) ON small TO regress_lb_planner;
SET ROLE regress_lb_planner;
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
RESET ROLE;
-- From version 16 on this builds the board again.
ALTER TABLE small ENABLE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
SET ROLE regress_lb_planner;
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
RESET ROLE;
ALTER TABLE small DISABLE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SET ROLE regress_lb_planner;
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
RESET ROLE;
REVOKE ALL ON small FROM regress_lb_planner;
DROP ROLE regress_lb_planner;

-- A board without an index: the arguments alone.
BEGIN;
CREATE TABLE later (player_id bigint PRIMARY KEY, score bigint NOT NULL);
SELECT lb_create_board('later', 'later');
SELECT rows('SELECT * FROM lb_top(1000, ''later'')');
ROLLBACK;
ALTER TABLE small DISABLE TRIGGER USER;
SELECT count(*) FROM lb_top(1000, 'small');
-- A worker that was about to build it may still have to find that out.
DO $$ BEGIN WHILE (SELECT state FROM lb_stat('small')) = 'building' LOOP PERFORM pg_sleep(0.01); END LOOP; END $$;
SELECT state FROM lb_stat('small');
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
SELECT lb_rebuild('small');
SELECT lb_wait_ready();
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
-- And a table that is gone, with a record that was written by hand.
BEGIN;
ALTER EVENT TRIGGER leaderboard_drop DISABLE;
DROP TABLE small;
SELECT rows('SELECT * FROM lb_top(1000, ''small'')');
ROLLBACK;

SELECT * FROM lb_verify();
DROP TABLE big, small, none, guild;
DROP FUNCTION rows, cost, plan;
