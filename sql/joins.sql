--
-- Plain SQL that the planner answers by boards: what plans put above rows in a board's
-- order, which are joined by the score itself, sorted further or aggregated; and what is
-- below nodes and beside them
--
\pset format unaligned
SET jit = off;

-- Scores that are equal and look different, or equal nothing in other languages.
CREATE TABLE player (id bigint PRIMARY KEY, score float8 NOT NULL, tie real NOT NULL, name text, guild int);
INSERT INTO player SELECT i, (CASE i % 11 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 3 THEN 'Infinity' WHEN 4 THEN '-Infinity'
		ELSE (i % 17 / 4.0)::text END)::float8,
	(CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' ELSE (i % 3)::text END)::real, 'player ' || i % 13, i % 5
FROM generate_series(1, 300) i;
SELECT lb_create_board('player', 'player', 'id', 'score DESC, tie');
CREATE TABLE club (id bigint PRIMARY KEY, score real NOT NULL);
INSERT INTO club SELECT i, (CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 3 THEN 'Infinity' ELSE (i % 5 / 4.0)::text END)::real FROM generate_series(1, 40) i;
SELECT lb_create_board('club', 'club', 'id', 'score ASC');
CREATE TABLE account (id uuid PRIMARY KEY, balance numeric(8,2), since date NOT NULL);
INSERT INTO account SELECT md5(i::text)::uuid, nullif(i % 23, 7) / 4.0, '2026-01-01'::date + i % 4 FROM generate_series(1, 300) i;
SELECT lb_create_board('account', 'account', 'id', 'balance DESC, since DESC');
CREATE TABLE country_player (id int PRIMARY KEY, points bigint NOT NULL, country text NOT NULL);
INSERT INTO country_player SELECT i, i % 40, CASE i % 2 WHEN 0 THEN 'FR' ELSE 'JP' END FROM generate_series(1, 300) i;
SELECT lb_create_board('country', 'country_player', 'id', 'points DESC', board_column => 'country');
CREATE TABLE prize (id int PRIMARY KEY, points smallint, amount numeric, at float8, short real);
INSERT INTO prize SELECT i, i % 45, i % 23 / 4.0, (CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' ELSE (i % 17 / 4.0)::text END)::float8,
	(CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE (i % 5 / 4.0)::text END)::real FROM generate_series(1, 40) i;
INSERT INTO prize (id) VALUES (0);
SELECT lb_wait_ready();
ANALYZE player, club, account, country_player, prize;

-- Without sorts of the table, in its board's order.
SET enable_sort = off; SET enable_seqscan = off; SET enable_hashagg = off;
SET enable_hashjoin = off; SET enable_nestloop = off;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT p.id, z.id AS z FROM player p JOIN prize z ON p.score = z.at',
	'SELECT p.id, z.id AS z FROM player p JOIN prize z ON p.score = z.short',
	'SELECT p.id, z.id AS z FROM player p LEFT JOIN prize z ON p.score = z.at',
	'SELECT p.id, z.id AS z FROM player p FULL JOIN prize z ON p.score = z.at',
	'SELECT p.id, z.id AS z FROM prize z LEFT JOIN player p ON p.score = z.at AND p.tie = z.short',
	'SELECT p.id FROM player p WHERE NOT EXISTS (SELECT FROM prize z WHERE z.at = p.score)',
	'SELECT p.id, z.id AS z FROM player p JOIN prize z ON p.score = z.at ORDER BY p.score DESC, p.tie, p.id, z.id LIMIT 30 OFFSET 5',
	'SELECT p.id, c.id AS c FROM player p JOIN club c ON p.score = c.score',
	'SELECT p.id, c.id AS c FROM player p JOIN club c ON p.score = c.score ORDER BY c.score, c.id, p.id LIMIT 30',
	'SELECT a.id, b.id AS b FROM player a JOIN player b USING (score, tie) WHERE b.guild = 2',
	'SELECT a.id, b.id AS b FROM player a JOIN player b USING (score, tie) ORDER BY a.score, a.tie DESC, a.id DESC, b.id LIMIT 30',
	'SELECT a.id, z.id AS z FROM account a JOIN prize z ON a.balance = z.amount WHERE a.balance IS NOT NULL',
	'SELECT a.id, z.id AS z FROM account a LEFT JOIN prize z ON a.balance = z.amount',
	'SELECT c.id, z.id AS z FROM country_player c JOIN prize z ON c.points = z.points WHERE c.country = ''FR''',
	'SELECT a.id, b.id AS b FROM country_player a JOIN country_player b USING (points) WHERE a.country = ''FR'' AND b.country = ''JP''',
	'SELECT p.id FROM player p JOIN club c USING (score) JOIN prize z ON z.at = c.score ORDER BY p.score DESC, p.tie, p.id, c.id, z.id LIMIT 30'
]) query;
RESET enable_nestloop;

-- The best row of each score, and the worst one; rows that are sorted further; groups.
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT DISTINCT ON (score) id FROM player ORDER BY score DESC, tie, id',
	'SELECT DISTINCT ON (score) id FROM player ORDER BY score, tie DESC, id DESC LIMIT 4',
	'SELECT DISTINCT ON (tie, score) id FROM player WHERE guild <> 3 ORDER BY score DESC, tie, id',
	'SELECT DISTINCT ON (score) id FROM player ORDER BY score DESC, name, id',
	'SELECT DISTINCT ON (balance) id FROM account WHERE balance IS NOT NULL ORDER BY balance DESC, since DESC, id',
	'SELECT DISTINCT ON (balance) id FROM account ORDER BY balance DESC NULLS LAST, since DESC, id',
	'SELECT id FROM player ORDER BY score DESC, name, id',
	'SELECT id FROM player ORDER BY score, tie DESC, name, id LIMIT 30 OFFSET 30',
	'SELECT id FROM player ORDER BY score DESC, tie DESC, id LIMIT 30 OFFSET 30',
	'SELECT score + 0 AS s, tie + 0 AS t, count(*) FROM player GROUP BY score, tie ORDER BY score DESC, tie',
	'SELECT id, rank() OVER (ORDER BY score), dense_rank() OVER (ORDER BY score, tie DESC), lag(id) OVER (ORDER BY score, tie DESC, id DESC) FROM player',
	'SELECT id, count(*) OVER (ORDER BY score RANGE BETWEEN 0.5 PRECEDING AND CURRENT ROW) FROM player',
	'SELECT points + 0 AS p FROM country_player WHERE country = ''FR'' AND id < 20 UNION SELECT points + 0 FROM country_player WHERE country = ''JP'' AND points < 7 ORDER BY 1',
	'SELECT z.id, l.* FROM prize z, LATERAL (SELECT DISTINCT ON (score) p.id AS p FROM player p WHERE p.score >= z.at AND guild <> 2 ORDER BY score, tie DESC, p.id DESC LIMIT 3) l'
]) query;

-- From version 16 on the rows of an aggregate are sorted below it.
SELECT query, lbt.result(query) FROM unnest(ARRAY[
	'SELECT score + 0 AS s, count(*), array_agg(id ORDER BY tie, id) FROM player GROUP BY score ORDER BY score',
	'SELECT array_agg(id ORDER BY score DESC, tie, id), string_agg(name, '','' ORDER BY score DESC, tie, id) FROM player',
	'SELECT array_agg(id ORDER BY score, tie DESC, id DESC) FROM player WHERE guild < 3',
	'SELECT array_agg(DISTINCT score + 0), array_agg(id ORDER BY score DESC, name, id) FROM player',
	'SELECT string_agg(id::text, '','' ORDER BY balance DESC, since DESC, id), count(balance) FROM account WHERE balance IS NOT NULL'
]) query;
RESET enable_sort; RESET enable_hashjoin; RESET enable_seqscan; RESET enable_hashagg;

-- Forward and backward through rows that are merged, joined and sorted further.
BEGIN;
SET LOCAL enable_sort = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_nestloop = off; SET LOCAL enable_seqscan = off;
DECLARE m SCROLL CURSOR FOR SELECT p.id, z.id AS z FROM player p JOIN prize z ON p.score = z.at ORDER BY p.score DESC, p.tie, p.id, z.id;
DECLARE d SCROLL CURSOR FOR SELECT DISTINCT ON (score) id FROM player ORDER BY score DESC, tie, id;
FETCH 3 FROM m;
FETCH BACKWARD 2 FROM m;
FETCH 2 FROM d;
DELETE FROM player WHERE guild = 1;
FETCH LAST FROM m;
FETCH BACKWARD 2 FROM m;
SET LOCAL leaderboard.enable_index = off;
FETCH 3 FROM d;
FETCH BACKWARD ALL FROM d;
ROLLBACK;

-- LIMIT as a parameter, above rows that are joined, grouped and filtered; a null is no limit.
CREATE TABLE large (id bigint PRIMARY KEY, score int NOT NULL, guild int NOT NULL) WITH (autovacuum_enabled = off);
INSERT INTO large SELECT i, i * 7919 % 5000, i % 10 FROM generate_series(1, 20000) i;
SELECT lb_create_board('large', 'large', 'id', 'score DESC');
CREATE TABLE guild (id int PRIMARY KEY, name text);
INSERT INTO guild SELECT i, 'guild ' || i FROM generate_series(0, 7) i;
SELECT lb_wait_ready();
ANALYZE large, guild;
SET plan_cache_mode = force_generic_plan;
PREPARE joined AS SELECT l.id, g.name FROM large l JOIN guild g ON g.id = l.guild ORDER BY l.score DESC, l.id LIMIT $1;
PREPARE paged AS SELECT l.id, g.name FROM large l LEFT JOIN guild g ON g.id = l.guild ORDER BY l.score, l.id DESC LIMIT $1 OFFSET $2;
PREPARE best AS SELECT DISTINCT ON (score) id FROM large WHERE guild <> 3 ORDER BY score DESC, id LIMIT $1;
PREPARE inner_limit AS SELECT l.id, g.name FROM (SELECT * FROM large WHERE guild < $2 ORDER BY score DESC, id LIMIT $1) l LEFT JOIN guild g ON g.id = l.guild ORDER BY l.id;
PREPARE both_limits AS SELECT l.id FROM (SELECT * FROM large WHERE guild < 9 ORDER BY score DESC, id LIMIT $1) l JOIN guild g ON g.id = l.guild ORDER BY l.score DESC, l.id LIMIT $2;
PREPARE merged AS SELECT id FROM large WHERE guild = 1 UNION ALL SELECT -id FROM large WHERE guild = 2 ORDER BY 1 LIMIT $1;
PREPARE by_range AS SELECT l.id FROM large l JOIN guild g ON g.id = l.guild WHERE l.score BETWEEN $2 AND $3 ORDER BY l.score DESC, l.id LIMIT $1;
SELECT query, lbt.answered_by(query), lbt.result(query, true) FROM unnest(ARRAY[
	'EXECUTE joined(3)', 'EXECUTE joined(0)', 'EXECUTE joined(300)', 'EXECUTE joined(NULL)', 'EXECUTE joined(-1)',
	'EXECUTE paged(3, 1)', 'EXECUTE paged(2, 9000)', 'EXECUTE paged(NULL, 19990)', 'EXECUTE paged(3, NULL)', 'EXECUTE paged(9223372036854775807, 19998)',
	'EXECUTE best(3)', 'EXECUTE best(700)', 'EXECUTE inner_limit(3, 9)', 'EXECUTE inner_limit(300, 1)', 'EXECUTE both_limits(3, 10)', 'EXECUTE both_limits(300, 10)',
	'EXECUTE merged(3)', 'EXECUTE by_range(3, 70, 72)', 'EXECUTE by_range(NULL, 70, 72)', 'EXECUTE by_range(3, NULL, 72)'
]) query;
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Operands that are InitPlans, some of which boards answer.
CREATE VIEW ranked AS SELECT l.*, rank() OVER (ORDER BY score DESC), row_number() OVER (ORDER BY score DESC, id) AS place FROM large l;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*) + 1 FROM large WHERE score > (SELECT score FROM large WHERE id = 77)',
	'SELECT count(*) FROM large WHERE score > (SELECT max(score) - 10 FROM large WHERE score < 700)',
	'SELECT count(*) FROM large WHERE score > (SELECT score FROM large WHERE id = -1)',
	'SELECT rank((SELECT score FROM large WHERE id = 77)) WITHIN GROUP (ORDER BY score DESC) FROM large',
	'SELECT id FROM large ORDER BY score DESC, id LIMIT 3 OFFSET (SELECT count(*) FROM large WHERE score > 2500)',
	'SELECT id FROM large WHERE (score, -id) < (SELECT score, -id FROM large WHERE id = 77) ORDER BY score DESC, id LIMIT (SELECT 3)',
	'SELECT id FROM large WHERE guild = (SELECT max(id) FROM guild) AND score < (SELECT max(score) / 2 FROM large) ORDER BY score DESC, id LIMIT 3',
	'SELECT rank FROM ranked WHERE id = (SELECT max(id) FROM guild)',
	'SELECT id, place FROM ranked WHERE place BETWEEN (SELECT place - 1 FROM ranked WHERE id = 77) AND (SELECT place + 1 FROM ranked WHERE id = 77)'
]) query;

-- Parallel plans below a node, and workers for all that may have them.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0;
SELECT set_config(CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, 'on', false);
SELECT query, lbt.answered_by(query), lbt.result(query),
	(SELECT bool_or(line ~ 'Gather') FROM lbt.plan(query) line) AS gathers
FROM unnest(ARRAY[
	'SELECT count(*), min(score) FROM large WHERE score > 300',
	'SELECT id FROM large ORDER BY score DESC, id LIMIT 3 OFFSET 9000',
	'SELECT id FROM large WHERE guild = 7 ORDER BY score DESC, id LIMIT 3',
	'SELECT l.id, g.name FROM large l JOIN guild g ON g.id = l.guild ORDER BY l.score DESC, l.id LIMIT 3',
	'SELECT place FROM ranked WHERE id = 77',
	'SELECT id, (SELECT count(*) FROM large WHERE score > l.score) FROM large l WHERE id < 5',
	'SELECT count(*) FROM large WHERE guild = 3 AND score > (SELECT max(score) - 100 FROM large WHERE score < 4000)'
]) query;
RESET ALL;
\pset format unaligned
SELECT * FROM lb_verify();
DROP VIEW ranked;
DROP TABLE player, club, account, country_player, prize, large, guild;
