--
-- Plain SQL with conditions that do not depend on the row, and with conditions that a
-- parameter switches off
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL, level int NOT NULL, name text);
INSERT INTO player SELECT i, i * 7919 % 1000, i % 7, 'player ' || i FROM generate_series(1, 3000) i;
SELECT lb_create_board('global', 'player', 'id', 'score DESC, level DESC');
CREATE TABLE club (id bigint PRIMARY KEY, country text, points int);
INSERT INTO club SELECT i, CASE WHEN i % 3 = 0 THEN 'FR' ELSE 'JP' END, i * 7919 % 1000 FROM generate_series(1, 3000) i;
SELECT lb_create_board('country', 'club', 'id', 'points DESC', board_column => 'country');
SELECT lb_wait_ready();
ANALYZE player, club;
CREATE VIEW ranked AS SELECT *, rank() OVER (ORDER BY score DESC) FROM player
	WHERE coalesce(current_setting('lbt.on', true), '') <> 'off';
SET plan_cache_mode = force_generic_plan;

-- Plans.
PREPARE counted(int, int) AS SELECT count(*), max(score) FROM player WHERE $1 > 0 AND score > $2;
PREPARE paged(int) AS SELECT id FROM player WHERE $1 > 0 ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 1000;
PREPARE scanned(int) AS SELECT id FROM player WHERE $1 > 0 AND name LIKE '%7' ORDER BY score DESC, level DESC LIMIT 3;
PREPARE bounded(int, int) AS SELECT count(*) FROM player WHERE ($1 IS NULL OR score >= $1) AND ($2 IS NULL OR score < $2);
PREPARE of_country(text) AS SELECT count(*), max(points) FROM club WHERE ($1 IS NULL OR country = $1);
PREPARE page_of_country(text) AS SELECT id FROM club WHERE ($1 IS NULL OR country = $1) ORDER BY points DESC, id LIMIT 3 OFFSET 500;
SELECT lbt.plan('EXECUTE counted(1, 500)', 'ANALYZE');
SELECT lbt.plan('EXECUTE counted(0, 500)', 'ANALYZE');
SELECT lbt.plan('EXECUTE paged(1)', 'ANALYZE');
SELECT lbt.plan('EXECUTE paged(-1)', 'ANALYZE');
SELECT lbt.plan('EXECUTE scanned(1)', 'ANALYZE');
SELECT lbt.plan('EXECUTE scanned(0)', 'ANALYZE');
SELECT lbt.plan('EXECUTE bounded(500, NULL)', 'ANALYZE');
SELECT lbt.plan('EXECUTE of_country(''FR'')', 'ANALYZE');
SELECT lbt.plan('EXECUTE of_country(NULL)', 'ANALYZE');
SELECT lbt.plan('EXECUTE page_of_country(''FR'')', 'ANALYZE');
SELECT lbt.plan('SELECT rank, name FROM ranked WHERE id = 42', 'ANALYZE');
SELECT lbt.plan('SELECT rank, name FROM ranked ORDER BY rank LIMIT 2 OFFSET 50', 'ANALYZE');

-- What is recognized, and what it returns.
PREPARE filters(int, int) AS SELECT count(*) FILTER (WHERE score > $2), min(score) FROM player WHERE $1 > 0;
PREPARE filters_once(int, int) AS SELECT count(*) FILTER (WHERE $1 > 0), count(*) FROM player;
PREPARE having_once(int, int) AS SELECT count(*), max(score) FROM player HAVING $1 > $2;
PREPARE guarded(int, int) AS SELECT count(*), rank(7) WITHIN GROUP (ORDER BY score) FROM player WHERE $1 <> 0 AND score > 100 / $1 AND 100 / $1 > $2;
PREPARE guarded_page(int, int) AS SELECT id FROM player WHERE 100 / $1 > 0 ORDER BY score DESC, level DESC, id LIMIT $2;
PREPARE or_once(boolean, int) AS SELECT count(*), min(score) FROM player WHERE ($1 OR score > 100 / $2 OR $2 IS NULL);
PREPARE equals(int, int) AS SELECT count(*), min(score), max(score) FROM player WHERE ($1 IS NULL OR score = $1) AND (score < $2 OR $2 IS NULL);
PREPARE second(int, int) AS SELECT count(*) FROM player WHERE score = $1 AND ($2 IS NULL OR level = $2);
PREPARE third(int, int) AS SELECT count(*) FROM player WHERE ($1 IS NULL OR score = $1) AND level = $2;
PREPARE rows(int, int) AS SELECT count(*) FROM player WHERE ($1 IS NULL OR (score, level) < ($1, $2));
PREPARE equal_page(int, int) AS SELECT id, level FROM player WHERE ($1 IS NULL OR score = $1) ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET $2;
PREPARE later_page(int, int) AS SELECT id, level FROM player WHERE ($1 IS NULL OR score = $1) ORDER BY level DESC, id LIMIT $2;
PREPARE keyset(int, int) AS SELECT id, score FROM player WHERE ($1 IS NULL OR score < $1) ORDER BY score DESC, level DESC, id LIMIT $2;
PREPARE ordered(int, int) AS SELECT id, score FROM player WHERE ($1 IS NULL OR score < $1) AND $2 > 0 AND name LIKE '%3' ORDER BY score DESC, level DESC, id LIMIT 4;
PREPARE outside(int, int) AS SELECT count(*) FROM ranked WHERE $1 > 0 AND score > $2;
PREPARE member(int, int) AS SELECT rank, name FROM ranked WHERE $1 > 0 AND id = $2;
PREPARE ranks(int, int) AS SELECT rank, name FROM ranked WHERE $1 > 0 AND rank < $2 AND rank > $2 - 2;
PREPARE rank_page(int, int) AS SELECT rank FROM ranked WHERE $1 > 0 ORDER BY rank LIMIT 3 OFFSET $2;
PREPARE own_ranks(int, int) AS SELECT rank() OVER (ORDER BY score DESC) FROM player WHERE $1 > 0 ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET $2;
PREPARE countries(text, int) AS SELECT count(*), max(points) FROM club WHERE ($1 IS NULL OR country = $1) AND ($2 IS NULL OR points < $2);
PREPARE country_page(text, int) AS SELECT id FROM club WHERE ($1 IS NULL OR country = $1) AND $2 > 0 ORDER BY points DESC, id LIMIT 3;
PREPARE country_ranks(text, int) AS SELECT r FROM (SELECT id, rank() OVER (ORDER BY points DESC) r FROM club WHERE ($1 IS NULL OR country = $1)) c WHERE id = $2;
PREPARE any_country(text, int) AS SELECT count(*) FROM club WHERE ($1 = '' OR country = $1) AND points > $2;
PREPARE subqueries(int, int) AS SELECT count(*) FROM player WHERE (SELECT count(*) FROM player WHERE score > $1) > $2 AND score > $2;
SELECT name, string_agg(format('%s: %s', args, lbt.answered_by(format('EXECUTE %s(%s)', name, args))), ' | ' ORDER BY args) AS answered,
	md5(string_agg(lbt.result(format('EXECUTE %s(%s)', name, args)), ' | ' ORDER BY args)) AS result
FROM pg_prepared_statements p, unnest(CASE WHEN statement ~ 'club' THEN '{"''FR'', 500","''XX'', 9","NULL, 9","'''', 30"}'
	WHEN parameter_types[1] = 'boolean'::regtype THEN '{"true, 0","false, 1","false, 0","NULL, 7","NULL, NULL"}'
	ELSE '{"1, 500","7, 2","0, 1","0, 0","NULL, 9","9, NULL","-3, -1"}'::text[] END) args
WHERE cardinality(parameter_types) = 2
GROUP BY name ORDER BY name COLLATE "C";

-- The same with the values in the query, as an unnamed statement has them.
SET plan_cache_mode = auto;
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT count(*) FROM player WHERE current_setting(''plan_cache_mode'') = ''auto'' AND score > 7',
	'SELECT count(*) FROM player WHERE current_setting(''plan_cache_mode'') = ''x'' AND score > 7',
	'SELECT count(*), max(points) FROM club WHERE (NULL IS NULL OR country = NULL)',
	'SELECT count(*), max(points) FROM club WHERE (''FR'' IS NULL OR country = ''FR'')',
	'SELECT (SELECT count(*) FROM club WHERE (c IS NULL OR country = c) AND c > ''A'') FROM unnest(''{FR,JP,XX,null}''::text[]) c',
	'SELECT (SELECT count(*) FROM player WHERE n > 1 AND (n > 2 OR score > n)) FROM generate_series(0, 4) n',
	'SELECT s.* FROM generate_series(0, 3) n, LATERAL (SELECT n, id FROM player WHERE n > 1 AND (n > 2 OR score < n) ORDER BY score DESC, level DESC, id LIMIT 2) s ORDER BY 1',
	'SELECT count(*) FROM player WHERE EXISTS (SELECT FROM club) AND score > 990'
]) query;
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM player WHERE random() > 2 AND score > 7',
	'SELECT count(*) FROM player WHERE (now() IS NULL OR name = ''x'')',
	'SELECT count(*) FROM player WHERE length(current_user) IN (SELECT score FROM player) AND score > 7',
	'SELECT id FROM player WHERE length(current_user) IN (SELECT score FROM player) AND name LIKE ''%7'' ORDER BY score DESC, level DESC LIMIT 3',
	'SELECT count(*) FROM player WHERE (now() IS NULL OR (score > 7 AND level = 3))',
	'SELECT count(*) FROM club WHERE (now() IS NULL OR country = ''FR'') AND country = ''JP'''
]) query WHERE lbt.nodes(query) <> '';

-- Rows off the board satisfy a condition that is switched off.
PREPARE above(int) AS SELECT count(*) FROM club WHERE country = 'FR' AND ($1 IS NULL OR points > $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE above(500);
EXECUTE above(NULL);
BEGIN;
UPDATE club SET points = NULL WHERE id = 9;
SELECT lbt.answered_by(q), lbt.result(q) FROM unnest(ARRAY['EXECUTE above(500)', 'EXECUTE above(NULL)']) q;
UPDATE club SET country = NULL, points = 5 WHERE id = 9;
SELECT lbt.answered_by(q), lbt.result(q) FROM unnest(ARRAY['EXECUTE above(500)', 'EXECUTE above(NULL)', 'EXECUTE countries(NULL, NULL)', 'EXECUTE countries(''FR'', NULL)']) q;
DECLARE c CURSOR FOR SELECT count(*) FROM club WHERE now() IS NOT NULL AND (now() IS NULL OR country = 'FR');
DELETE FROM club WHERE country = 'FR';
FETCH c;
ROLLBACK;

-- Offline.
BEGIN;
ALTER TABLE club DISABLE TRIGGER leaderboard_capture;
SELECT lbt.result(q) FROM unnest(ARRAY['EXECUTE above(500)', 'EXECUTE countries(NULL, NULL)', 'EXECUTE country_page(''FR'', 1)', 'EXECUTE country_page(''FR'', 0)']) q;
ROLLBACK;
SELECT lb_wait_ready();

-- An operand that can raise an error is evaluated for rows that are there, and there are none.
PREPARE divides(int) AS SELECT max(score) FROM player WHERE score > 1000000 AND ($1 > 5 OR score > 10 / $1);
EXECUTE divides(0);
SELECT lbt.answered_by('EXECUTE divides(0)') AS divides;

SELECT * FROM lb_verify();
DEALLOCATE ALL;
RESET plan_cache_mode;
DROP VIEW ranked;
DROP TABLE player, club;
