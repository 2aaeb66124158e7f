--
-- Why a query does not use a board: lb_explain() and leaderboard.log_misses.
--
-- What lb_explain() says of a query, and what answers one that its hint has made of it.
CREATE FUNCTION lbt.miss(query text, hinted text DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	RETURN NEXT query;
	FOR r IN SELECT * FROM lb_explain(query) LOOP
		RETURN NEXT format('  %s: %s', r.board, CASE WHEN r.used THEN 'used' ELSE r.reason END);
		IF NOT r.used THEN
			RETURN NEXT '    ' || r.hint;
		END IF;
	END LOOP;
	IF hinted IS NOT NULL THEN
		RETURN NEXT format('  %s: %s', hinted, lbt.answered_by(hinted));
	END IF;
END $$;
\pset format unaligned
\pset tuples_only on

CREATE TABLE player (id bigint PRIMARY KEY, name text NOT NULL, points integer NOT NULL, level smallint NOT NULL, guild integer);
INSERT INTO player SELECT i, 'p' || i, i * 7919 % 10007, i % 10, i % 50 FROM generate_series(1, 10000) i;
SELECT lb_create_board('global', 'player', member => 'id', rank_by => 'points DESC, level ASC');
CREATE TABLE guild (id integer PRIMARY KEY, name text);
INSERT INTO guild SELECT i, 'g' || i FROM generate_series(0, 49) i;
CREATE TABLE score (player_id bigint, country text, points integer, ranked boolean NOT NULL DEFAULT true, PRIMARY KEY (player_id, country));
INSERT INTO score SELECT i, (ARRAY['FR', 'JP', 'DE'])[i % 3 + 1], i FROM generate_series(1, 9000) i;
SELECT lb_create_board('country', 'score', rank_by => 'points DESC', board_column => 'country', ranked_if => 'ranked');
SELECT lb_wait_ready();
ANALYZE player, guild, score;
CREATE VIEW ranking AS SELECT p.*, rank() OVER (ORDER BY points DESC), count(*) OVER () AS players FROM player p;

-- A board that is used has no reason.
SELECT board, used, reason IS NULL, hint IS NULL FROM lb_explain('SELECT count(*) FROM player WHERE points > 500');

-- Nothing is asked of it.
SELECT lbt.miss('SELECT * FROM player WHERE id = 1', 'SELECT count(*) FROM player WHERE points > 1');
SELECT lbt.miss('SELECT sum(level) FROM player WHERE guild = 7');
SELECT lbt.miss('SELECT p.id FROM player p JOIN guild g ON g.id = p.id ORDER BY g.name');
SELECT lbt.miss('SELECT count(*) FROM score WHERE country = ''FR''');
SELECT lbt.miss('UPDATE player SET level = 1 WHERE points = 5');
-- No boards, no rows.
SELECT lbt.miss('SELECT count(*) FROM guild');

-- Subqueries that are planned apart.
SELECT lbt.miss('WITH p AS MATERIALIZED (SELECT * FROM player) SELECT count(*) FROM p WHERE points > 10',
	'WITH p AS MATERIALIZED (SELECT count(*) FROM player WHERE points > 10) SELECT * FROM p');
-- Version 17 may sort the parts.
SELECT coalesce(reason ~ 'planned apart|costs more', used)
FROM lb_explain('SELECT id, points FROM player WHERE points > 10 UNION SELECT id, points FROM player WHERE points < 5 ORDER BY points LIMIT 3');
SELECT lbt.miss('SELECT id, points FROM player WHERE points > 10 UNION ALL SELECT id, points FROM player WHERE points < 5 ORDER BY points LIMIT 3',
	'(SELECT id, points FROM player WHERE points > 10 ORDER BY points LIMIT 3) UNION (SELECT id, points FROM player WHERE points < 5 ORDER BY points LIMIT 3) ORDER BY points LIMIT 3');

-- Costs.
SELECT lbt.miss('SELECT * FROM player ORDER BY points DESC', 'SELECT * FROM player ORDER BY points DESC LIMIT 3');
CREATE TABLE small (player_id bigint PRIMARY KEY, score integer NOT NULL);
INSERT INTO small VALUES (1, 1);
SELECT lb_create_board('small', 'small', rank_by => 'score DESC');
SELECT lb_wait_ready();
ANALYZE small;
SELECT lbt.miss('SELECT * FROM small ORDER BY score DESC LIMIT 1');
SELECT lbt.miss('SELECT * FROM (SELECT *, rank() OVER (ORDER BY score DESC) FROM small) AS r WHERE player_id = 1');
INSERT INTO small SELECT i, i FROM generate_series(2, 5000) i;
ANALYZE small;
SELECT lbt.miss('SELECT * FROM small ORDER BY score DESC LIMIT 1', 'SELECT * FROM small ORDER BY score DESC LIMIT 1');
DROP TABLE small;

-- A board that has no index before the commit.
CREATE TABLE fresh (player_id bigint PRIMARY KEY, score integer NOT NULL);
INSERT INTO fresh SELECT i, i FROM generate_series(1, 5000) i;
ANALYZE fresh;
BEGIN;
SELECT lb_create_board('fresh', 'fresh', rank_by => 'score DESC');
SELECT lbt.miss('SELECT * FROM fresh JOIN guild ON id = score % 50 ORDER BY score DESC LIMIT 3');
COMMIT;
SELECT lb_wait_ready();
SELECT lbt.miss('SELECT * FROM fresh JOIN guild ON id = score % 50 ORDER BY score DESC LIMIT 3', 'SELECT * FROM fresh JOIN guild ON id = score % 50 ORDER BY score DESC LIMIT 3');
DROP TABLE fresh;

-- Ranks of all rows, and of which ones.
SELECT lbt.miss('SELECT id, rank() OVER (ORDER BY points DESC) FROM player',
	'SELECT id, rank() OVER (ORDER BY points DESC) FROM player LIMIT 3');
SELECT lbt.miss('SELECT * FROM ranking', 'SELECT * FROM ranking WHERE id = 42');
SELECT lbt.miss('SELECT * FROM ranking WHERE name = ''p7''', 'SELECT * FROM ranking WHERE rank <= 10');
SELECT lbt.miss('SELECT id, rank() OVER (ORDER BY points DESC) FROM player ORDER BY name LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY points DESC) AS rank FROM player ORDER BY rank LIMIT 3');
SELECT lbt.miss('SELECT * FROM (SELECT *, rank() OVER (ORDER BY points DESC) FROM player ORDER BY name) AS r WHERE rank <= 10',
	'SELECT * FROM (SELECT *, rank() OVER (ORDER BY points DESC) FROM player ORDER BY name) AS r WHERE rank <= 10 ORDER BY rank');
SET work_mem = '64kB';
SELECT lbt.miss('SELECT * FROM ranking WHERE rank <= 5000', 'SELECT * FROM ranking WHERE rank <= 50');
RESET work_mem;

-- Forms.
SELECT lbt.miss('SELECT DISTINCT points FROM player ORDER BY points DESC LIMIT 3 OFFSET 5000',
	'SELECT DISTINCT points FROM (SELECT points FROM player ORDER BY points DESC LIMIT 3 OFFSET 5000) AS page');
SELECT lbt.miss('SELECT country, count(*) FROM score WHERE points > 500 AND ranked GROUP BY country',
	'SELECT count(*) FROM score WHERE points > 500 AND ranked AND country = ''FR''');
SELECT lbt.miss('SELECT count(*) FROM player p JOIN guild g ON g.id = p.guild WHERE points > 500',
	'SELECT g.name, (SELECT count(*) FROM player WHERE points > 500) FROM guild g');
SELECT lbt.miss('SELECT * FROM (SELECT p.id, rank() OVER (ORDER BY points DESC) FROM player p JOIN guild g ON g.id = p.guild) AS r WHERE id = 3',
	'SELECT * FROM ranking r JOIN guild g ON g.id = r.guild WHERE r.id = 3');
SELECT lbt.miss('SELECT rank() OVER (ORDER BY points DESC) FROM player p JOIN guild g ON g.id = p.guild LIMIT 3');
SELECT lbt.miss('SELECT count(*) FROM (SELECT points + 1 AS more FROM player OFFSET 0) AS s WHERE more > 500',
	'SELECT count(*) FROM (SELECT points FROM player OFFSET 0) AS s WHERE points > 500');
SELECT lbt.miss('SELECT * FROM (SELECT DISTINCT id, rank() OVER (ORDER BY points DESC) FROM player) AS r WHERE id = 3',
	'SELECT DISTINCT * FROM (SELECT id, rank() OVER (ORDER BY points DESC) FROM player) AS r WHERE id = 3');
SELECT lbt.miss('SELECT id, random() FROM player ORDER BY points DESC LIMIT 3 OFFSET 5000',
	'SELECT id, random() FROM (SELECT id FROM player ORDER BY points DESC LIMIT 3 OFFSET 5000) AS page');
SELECT lbt.miss('SELECT id, ctid FROM player ORDER BY points DESC LIMIT 3 OFFSET 5000', 'SELECT id FROM player ORDER BY points DESC LIMIT 3 OFFSET 5000');
SELECT lbt.miss('SELECT id, sqrt(points) FROM player ORDER BY points DESC LIMIT 3 OFFSET 9000',
	'SELECT id, sqrt(points) FROM (SELECT id, points FROM player ORDER BY points DESC LIMIT 3 OFFSET 9000) AS page');

-- Conditions.
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 500 AND 5 IN (SELECT id FROM guild)',
	'SELECT count(*) FROM player WHERE points > 500 AND EXISTS (SELECT FROM guild WHERE id = 5)');
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 500 AND guild = 7');
SELECT lbt.miss('SELECT count(*) FROM player WHERE points <> 500', 'SELECT (SELECT count(*) FROM player) - (SELECT count(*) FROM player WHERE points = 500)');
SELECT lbt.miss('SELECT count(*) FROM player p WHERE points > 500 AND level < (SELECT count(*) FROM guild g WHERE g.id < p.guild)');
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 500 AND name IN (''' || string_agg(i::text, ''', ''') || ''')') FROM generate_series(1000, 1100) i;
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 500 AND level < 5', 'SELECT count(*) FROM player WHERE points = 500 AND level < 5');
SELECT lbt.miss('SELECT count(*) FROM score WHERE points > 500 AND ranked', 'SELECT count(*) FROM score WHERE points > 500 AND ranked AND country = ''FR''');
SELECT lbt.miss('SELECT * FROM (SELECT *, rank() OVER (ORDER BY points DESC) FROM score WHERE ranked) AS r WHERE player_id = 3',
	'SELECT * FROM (SELECT *, rank() OVER (PARTITION BY country ORDER BY points DESC) FROM score WHERE ranked) AS r WHERE player_id = 3');
-- Rows off the board.
SELECT lbt.miss('SELECT * FROM score WHERE country = ''FR'' ORDER BY points DESC LIMIT 3');
UPDATE score SET ranked = false WHERE player_id IN (3, 6, 9);
SELECT lbt.miss('SELECT * FROM score WHERE country = ''FR'' ORDER BY points DESC LIMIT 3', 'SELECT * FROM score WHERE country = ''FR'' AND ranked AND points IS NOT NULL ORDER BY points DESC LIMIT 3');
SELECT lbt.miss('SELECT count(*) FROM score WHERE country = ''FR'' AND points > 7', 'SELECT count(*) FROM score WHERE country = ''FR'' AND points > 7 AND ranked');
SELECT lbt.miss('SELECT count(*) FROM score WHERE country = ''JP'' AND points > 7');
UPDATE score SET points = NULL WHERE player_id IN (4);
SELECT lbt.miss('SELECT count(*) FROM score WHERE country = ''JP''', 'SELECT count(*) FROM score WHERE country = ''JP'' AND ranked AND points IS NOT NULL');
SELECT lbt.miss('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY country ORDER BY points DESC) FROM score) AS r WHERE player_id = 3');
UPDATE score SET points = 4, ranked = true WHERE points IS NULL OR NOT ranked;

-- Aggregates and windows.
SELECT lbt.miss('SELECT count(*), sum(points) FROM player WHERE points > 500', 'SELECT count(*), max(points) FROM player WHERE points > 500');
SELECT lbt.miss('SELECT count(*) FILTER (WHERE points > 100 / $1) FROM player', 'SELECT count(*) FILTER (WHERE points > 100) FROM player');
SELECT lbt.miss('SELECT count(DISTINCT points) FROM player WHERE points = 500 AND level > 3', 'SELECT count(DISTINCT points) FROM player WHERE points >= 500');
SELECT lbt.miss('SELECT * FROM (SELECT id, lag(id) OVER (ORDER BY points DESC) FROM player) AS r WHERE id = 3',
	'SELECT * FROM (SELECT id, row_number() OVER (ORDER BY points DESC, level, id) FROM player) AS r WHERE id = 3');
SELECT lbt.miss('SELECT * FROM (SELECT id, rank() OVER (ORDER BY points DESC, name) FROM player) AS r WHERE id = 3',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY points DESC, level) FROM player) AS r WHERE id = 3');
SELECT lbt.miss('SELECT * FROM player ORDER BY points DESC, name LIMIT 3 OFFSET 5000', 'SELECT * FROM player ORDER BY points DESC, level, id LIMIT 3');
CREATE TABLE word (word text COLLATE "de-x-icu" PRIMARY KEY, hits integer NOT NULL);
INSERT INTO word SELECT 'w' || i, i % 100 FROM generate_series(1, 5000) i;
SELECT lb_create_board('words', 'word', member => 'word', rank_by => 'hits DESC');
SELECT lb_wait_ready();
ANALYZE word;
SELECT lbt.miss('SELECT * FROM word ORDER BY hits DESC, word LIMIT 3', 'SELECT * FROM word ORDER BY hits DESC, word COLLATE "C" LIMIT 3');
SELECT lbt.miss('SELECT * FROM word JOIN guild ON name = word ORDER BY hits DESC LIMIT 3');

-- The table, as the query reads it.
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 5 AND false');
SELECT lbt.miss('UPDATE player p SET level = 1 FROM (SELECT id FROM ranking WHERE rank = 1) AS r WHERE r.id = p.id');
SELECT lbt.miss('UPDATE player p SET level = 1 WHERE id = (SELECT id FROM ranking WHERE rank = 1 LIMIT 1)');
SELECT lbt.miss('DELETE FROM player WHERE points > (SELECT max(points) FROM player WHERE points < 100)');
SELECT lbt.miss('INSERT INTO guild SELECT 100, count(*) FROM player WHERE points > 10 AND guild = 3');
SELECT lbt.miss('SELECT * FROM player ORDER BY points DESC LIMIT 3 FOR UPDATE', 'SELECT * FROM player WHERE id IN (SELECT id FROM player ORDER BY points DESC LIMIT 3) FOR UPDATE');
SELECT lbt.miss('SELECT max(points) FROM player TABLESAMPLE SYSTEM (50)', 'SELECT max(points) FROM player');
CREATE TABLE guest () INHERITS (player);
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 5', 'SELECT count(*) FROM ONLY player WHERE points > 5');
DROP TABLE guest;
ANALYZE player;
CREATE TABLE part (player_id bigint PRIMARY KEY, score bigint NOT NULL) PARTITION BY RANGE (player_id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10000);
INSERT INTO part SELECT i, i FROM generate_series(1, 5000) i;
SELECT lb_create_board('part', 'part', rank_by => 'score DESC');
SELECT lb_wait_ready();
ANALYZE part;
SELECT lbt.miss('SELECT count(*) FROM part_1 WHERE score > 5', 'SELECT count(*) FROM part WHERE score > 5');
SELECT lbt.miss('SELECT * FROM part ORDER BY score DESC LIMIT 3', 'SELECT rank(7) WITHIN GROUP (ORDER BY score DESC) FROM part');
SELECT lbt.miss('SELECT * FROM (SELECT player_id, rank() OVER (ORDER BY score DESC) FROM part) AS r WHERE player_id = 3');
ALTER TABLE part DISABLE TRIGGER USER;
SELECT lbt.miss('SELECT count(*) FROM part WHERE score > 5');
DROP TABLE part;
SET leaderboard.enable_planner = off;
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 5');
RESET leaderboard.enable_planner;
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 5');

-- Several boards of a table, and a table that is read twice.
SELECT lb_create_board('again', 'player', member => 'id', rank_by => 'points DESC, level ASC', method => 'rank'),
	lb_create_board('levels', 'player', member => 'id', rank_by => 'level DESC');
SELECT lb_wait_ready();
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 5');
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > 5 AND guild = 7');
SELECT lbt.miss('SELECT (SELECT count(*) FROM player q WHERE q.points > p.points), (SELECT count(*) FROM player q WHERE q.guild > p.guild) FROM player p WHERE id = 3');
-- A parameter that the outer query sets cannot be shown.
SELECT lbt.miss('SELECT (SELECT count(*) FROM player q WHERE q.guild > p.guild) FROM player p WHERE id = 3');
SELECT lbt.miss('SELECT count(*) FROM player p, score s WHERE p.points > 5 AND s.points = p.points');
SELECT lb_drop_board('again'), lb_drop_board('levels');

-- Parameters are as in a generic plan.  Nothing is run, nor counted as a read.
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > $1');
SELECT lbt.miss('SELECT * FROM player WHERE points < $1 ORDER BY points DESC LIMIT $2');
CREATE FUNCTION noisy(i integer) RETURNS integer VOLATILE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'run'; RETURN i; END $$;
SELECT lbt.miss('SELECT count(*) FROM player WHERE points > noisy(3)');
SELECT lbt.miss('INSERT INTO guild VALUES (noisy(1000), ''x'')');
SELECT count(*) FROM guild;

-- Errors.
\pset format aligned
\pset tuples_only off
SELECT s.statement, e.* FROM (VALUES (1, NULL), (2, ''), (3, '-- nothing'), (4, 'SELECT 1; SELECT 2'), (5, 'VACUUM player'),
	(6, 'EXPLAIN SELECT 1'), (7, 'CREATE TABLE t AS SELECT 1'), (8, 'SELECT 1 INTO t'), (9, 'DECLARE c CURSOR FOR SELECT 1'), (10, 'PREPARE p AS SELECT 1'),
	(11, 'SELEC 1'), (12, 'SELECT * FROM nothing'), (13, 'SELECT $1'), (14, 'SELECT 1 / 0')) AS s (i, statement),
	LATERAL lbt.error(format('SELECT * FROM lb_explain(%L)', s.statement)) AS e ORDER BY s.i;
SELECT * FROM lb_explain('SELECT id FROM player ORDER BY point');
-- The collector does not outlive an error.
SET leaderboard.log_misses = notice;
SELECT count(*) FROM player WHERE points > 500 AND level < 1 / 0;
SELECT count(*) FROM player WHERE points > 10005 AND level < 5;
RESET leaderboard.log_misses;
SELECT count(*) FROM player WHERE points > 10005 AND level < 5;

--
-- The log.
--
SET leaderboard.log_misses = notice;
SELECT count(*) FROM player WHERE points > 500;
SELECT count(*) FROM player WHERE points > 10005 AND guild = 7;
SELECT id FROM player WHERE id = 1;
SELECT count(*) FROM player WHERE points > 5 AND false;
SELECT id FROM player WHERE guild = 1 ORDER BY name, points LIMIT 1;
SELECT sum(level) FROM player WHERE points > 500;
-- One board of the table is used, if not everywhere.
SELECT (SELECT count(*) FROM player WHERE points > 500), (SELECT count(*) FROM player WHERE points > 10005 AND guild = 7);
-- Two tables.
SELECT (SELECT count(*) FROM score WHERE points > 8999), (SELECT count(*) FROM player WHERE points > 10005 AND guild = 7);
-- Views, and those with privileges of their own.
CREATE VIEW high AS SELECT * FROM player WHERE points > 10005;
SELECT count(*) FROM high WHERE guild = 7;
-- Functions: SQL and PL/pgSQL, also one that is run while a query is planned.
CREATE FUNCTION counted(minimum integer) RETURNS bigint STABLE LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM player WHERE points > minimum AND guild = 7); END $$;
SELECT counted(10005);
CREATE FUNCTION folded() RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM score WHERE points > 8999); END $$;
SELECT count(*) FROM player WHERE points > 10005 AND guild = folded();
SELECT count(*) FROM player WHERE points > 10000 + folded();
-- lb_explain() does not log; the statements that run meanwhile do.
SELECT reason FROM lb_explain('SELECT count(*) FROM player WHERE points > 10005 AND guild = 7');
DISCARD PLANS;
SELECT reason FROM lb_explain('SELECT count(*) FROM player WHERE points > 10005 AND guild = folded()');
RESET leaderboard.log_misses;
DISCARD PLANS;
SELECT reason FROM lb_explain('SELECT count(*) FROM player WHERE points > 10005 AND guild = folded()');
SET leaderboard.log_misses = notice;
-- A function that catches the error of a statement.
CREATE FUNCTION careful() RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM score WHERE points > 1 / 0);
EXCEPTION WHEN division_by_zero THEN RETURN 7; END $$;
SELECT count(*) FROM player WHERE points > 10005 AND guild = careful();
-- Cursors, EXPLAIN, and statements that write.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM player WHERE guild = 7 ORDER BY points DESC;
FETCH 1 FROM c;
COMMIT;
EXPLAIN (COSTS OFF) SELECT count(*) FROM player WHERE points > 10005 AND guild = 7;
UPDATE guild SET name = 'x' WHERE id = (SELECT count(*) FROM player WHERE points > 10005 AND guild = 7);
-- Kept plans are told when they are made, and again when they are made anew.
PREPARE generic(integer) AS SELECT count(*) FROM score WHERE points > $1 AND country = 'FR';
SET plan_cache_mode = force_generic_plan;
EXECUTE generic(8990);
UPDATE score SET ranked = false WHERE player_id = 3;
DISCARD PLANS;
EXECUTE generic(8990);
EXECUTE generic(8990);
UPDATE score SET ranked = true WHERE player_id = 3;
EXECUTE generic(8990);
RESET plan_cache_mode;
DEALLOCATE generic;
-- The planner's settings.
SET leaderboard.enable_planner = off;
SELECT count(*) FROM player WHERE points > 10005 AND guild = 7;
RESET leaderboard.enable_planner;
-- The extension's own statements.
SET leaderboard.enable_index = off;
SELECT lb_rank(3), lb_count_between(3, 5);
RESET leaderboard.enable_index;
SELECT count(*) FROM lb_verify();
SELECT count(*) FROM lb_top(3);
SELECT lb_rebuild('global');
SELECT lb_wait_ready();
-- To the server's log only.
SET leaderboard.log_misses = log;
SET client_min_messages = log;
SELECT count(*) FROM player WHERE points > 10005 AND guild = 7;
RESET client_min_messages;
RESET leaderboard.log_misses;

--
-- Rights.
--
CREATE ROLE misses_reader;
GRANT SELECT ON high TO misses_reader;
SET ROLE misses_reader;
SELECT * FROM lb_explain('SELECT count(*) FROM player WHERE points > 5 AND guild = 7');
SELECT * FROM lb_explain('UPDATE high SET level = 1');
SELECT reason FROM lb_explain('SELECT count(*) FROM high WHERE guild = 7');
RESET ROLE;
-- Some columns of the table: the number of rows off the board needs all of them.
UPDATE score SET ranked = false WHERE player_id IN (3, 6, 9);
GRANT SELECT (player_id, country, points) ON score TO misses_reader;
SET ROLE misses_reader;
SET leaderboard.log_misses = notice;
SELECT reason FROM lb_explain('SELECT count(*) FROM score WHERE points > 8990 AND country = ''FR''');
SELECT reason FROM lb_explain('SELECT count(*) FROM score WHERE points > 8990 AND country = ''FR'' AND ranked');
SELECT count(*) FROM score WHERE points > 8990 AND country = 'FR';
SELECT count(*) FROM player WHERE points > 10005 AND guild = 7;
RESET ROLE;
GRANT SELECT (ranked) ON score TO misses_reader;
SET ROLE misses_reader;
SELECT reason FROM lb_explain('SELECT count(*) FROM score WHERE points > 8990 AND country = ''FR''');
SELECT count(*) FROM score WHERE points > 8990 AND country = 'FR';
RESET ROLE;
-- Policies.
ALTER TABLE score ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON score USING (points > 0);
SET ROLE misses_reader;
SELECT reason, hint FROM lb_explain('SELECT count(*) FROM score WHERE points > 8990 AND country = ''FR'' AND ranked');
SELECT count(*) FROM score WHERE points > 8990 AND country = 'FR';
RESET ROLE;
SELECT reason FROM lb_explain('SELECT count(*) FROM score WHERE points > 8990 AND country = ''FR'' AND ranked');
ALTER TABLE score DISABLE ROW LEVEL SECURITY;
-- A function with the rights of another role says nothing to the client.
CREATE FUNCTION secret() RETURNS bigint SECURITY DEFINER LANGUAGE plpgsql AS $$
DECLARE
	hidden integer := 4711;
BEGIN RETURN (SELECT count(*) FROM player WHERE points > 10005 AND guild = hidden); END $$;
SELECT secret();
SET ROLE misses_reader;
SELECT secret();
RESET ROLE;
RESET leaderboard.log_misses;
-- A name in the text is the caller's: another schema, another table.
CREATE SCHEMA other;
CREATE TABLE other.player (id integer);
SET search_path = other, public;
SELECT * FROM lb_explain('SELECT count(*) FROM player WHERE id > 5');
RESET search_path;
DROP SCHEMA other CASCADE;
-- Each column of a subquery is looked at once, however many expressions have it.
SELECT reason FROM lb_explain((SELECT 'WITH c0 AS MATERIALIZED (SELECT points AS c FROM player)'
	|| string_agg(format(', c%s AS MATERIALIZED (SELECT c + c AS c FROM c%s)', i, i - 1), '' ORDER BY i)
	|| ' SELECT c FROM c60 ORDER BY c LIMIT 3' FROM generate_series(1, 60) AS i));

REVOKE ALL ON high, score FROM misses_reader;
DROP ROLE misses_reader;
SELECT * FROM lb_verify();
DROP FUNCTION lbt.miss, noisy, counted, folded, careful, secret;
DROP TABLE player, guild, score, word CASCADE;
