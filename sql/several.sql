--
-- Plain SQL with aggregates of several boards of a family
--
\pset format unaligned

CREATE TABLE club (id bigint PRIMARY KEY, country text NOT NULL, points int NOT NULL, ok boolean NOT NULL DEFAULT true);
INSERT INTO club SELECT i, (ARRAY['FR', 'JP', 'US', 'DE'])[i % 4 + 1], i * 7919 % 1000 + i % 4 * 10 FROM generate_series(1, 4000) i;
SELECT lb_create_board('country', 'club', 'id', 'points DESC', board_column => 'country', ranked_if => 'ok');
CREATE TABLE speed (id int PRIMARY KEY, season smallint, seconds float8);
INSERT INTO speed SELECT i, nullif(i % 5, 4), i % 77 / 4.0 FROM generate_series(1, 2000) i;
SELECT lb_create_board('season', 'speed', 'id', 'seconds ASC', board_column => 'season');
SELECT lb_wait_ready();
ANALYZE club, speed;

SELECT lbt.plan('SELECT count(*), max(points) FROM club WHERE country IN (''FR'', ''DE'') AND points > 500', 'ANALYZE');
SELECT query, lbt.answered_by(query), lbt.result(query)
FROM unnest(ARRAY[
	'SELECT count(*) FROM club WHERE country IN (''FR'', ''DE'')',
	'SELECT count(*) + 1 AS rank FROM club WHERE country IN (''FR'', ''DE'', ''FR'', NULL, ''XX'') AND ok AND points > 500',
	'SELECT count(*), min(points), max(points), count(points) FROM club WHERE country = ANY (''{US,JP}'') AND points BETWEEN 100 AND 900',
	'SELECT min(points), max(points) FROM club WHERE country IN (''FR'', ''DE'') AND points > 2000',
	'SELECT count(*) FILTER (WHERE points > 900), max(points) FILTER (WHERE points < 100), min(points) FROM club WHERE country IN (''FR'', ''DE'') AND points > 50',
	'SELECT count(*) > 10 AS many FROM club WHERE country IN (''FR'', ''DE'') AND points > 990 HAVING max(points) < 2000',
	'SELECT count(*), max(points) FROM club WHERE country IN (NULL, NULL)',
	'SELECT count(*), max(points) FROM club WHERE country = ANY (NULL::text[])',
	'SELECT count(*), max(points) FROM club WHERE country = ANY (''{}'')',
	'SELECT count(*), max(points) FROM club WHERE country = ANY (''{NULL,XX}'')',
	'SELECT count(*), max(points) FROM club WHERE country = ANY (''{{FR,DE},{US,FR}}'')',
	'SELECT count(*), max(points) FROM club WHERE country = ANY (SELECT unnest(''{FR,DE}''::text[]))',
	'SELECT count(*), max(points) FROM club WHERE country = ANY (ARRAY(SELECT unnest(''{FR,DE}''::text[])))',
	'SELECT count(*), max(points) FROM club WHERE country IN (''FR'', (SELECT ''DE''))',
	'SELECT a, (SELECT count(*) FROM club WHERE country = ANY (a) AND points > 700) FROM unnest(''{FR,DE,XX}''::text[]) c, LATERAL (SELECT array_remove(ARRAY[c, ''US'', c], ''XX'') AS a) s',
	'SELECT count(*) FROM club WHERE country = ANY (ARRAY(SELECT ''C'' || n % 60 FROM generate_series(1, 2000) n) || ARRAY[''FR''])',
	'SELECT count(*) FROM club WHERE country = ANY (ARRAY(SELECT ''C'' || n FROM generate_series(1, 99) n) || ARRAY[''FR''])',
	'SELECT count(*) FROM club WHERE country = ANY (ARRAY(SELECT ''C'' || n FROM generate_series(1, 100) n) || ARRAY[''FR''])',
	'SELECT count(*) FROM club WHERE country IN (''FR'', repeat(''x'', 2000))',
	'SELECT count(*) FROM club WHERE country IN (''FR'', ''DE'') AND now() IS NULL',
	'SELECT count(*) FROM (SELECT * FROM club OFFSET 0) s WHERE country IN (''FR'', ''DE'') AND points > 7',
	'SELECT count(*), min(seconds), max(seconds) FROM speed WHERE season IN (1, 2)',
	'SELECT count(*), min(seconds), max(seconds) FROM speed WHERE season = ANY (''{1,2,99999999999}''::bigint[]) AND seconds > 3',
	'SELECT count(*), min(seconds), max(seconds) FROM speed WHERE season = ANY (''{1,1,3}''::smallint[]) AND seconds > 3'
]) query;

-- Not these.
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM club WHERE country NOT IN (''FR'', ''DE'')',
	'SELECT count(*) FROM club WHERE country > ANY (''{FR,DE}'')',
	'SELECT count(*) FROM club WHERE country = ALL (''{FR,DE}'')',
	'SELECT count(*) FROM club WHERE country IN (''FR'', ''DE'') AND country = ''FR''',
	'SELECT count(*) FROM club WHERE country IN (''FR'', ''DE'') AND country IN (''FR'', ''US'')',
	'SELECT count(*) FROM club WHERE country COLLATE "C" IN (''FR'', ''DE'') OR ok',
	'SELECT count(*) FROM club WHERE country IN (''FR'', id::text)',
	'SELECT count(*) FROM speed WHERE season IN (1, 2.5)',
	'SELECT count(DISTINCT points) FROM club WHERE country IN (''FR'', ''DE'')',
	'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY points) FROM club WHERE country IN (''FR'', ''DE'')',
	'SELECT rank(7) WITHIN GROUP (ORDER BY points) FROM club WHERE country IN (''FR'', ''DE'')',
	'SELECT count(*) FROM (SELECT 1 FROM club WHERE country IN (''FR'', ''DE'') LIMIT 10) s'
]) query WHERE lbt.nodes(query) <> '';

-- Rows off one of the boards, own changes, zeros with a sign, and a board that is offline.
SET plan_cache_mode = force_generic_plan;
PREPARE counted(text[], int) AS SELECT count(*), min(points), max(points) FROM club WHERE country = ANY ($1) AND points < $2;
PREPARE seasons(int[]) AS SELECT count(*), min(seconds) FROM speed WHERE season = ANY ($1);
BEGIN;
UPDATE club SET ok = false WHERE id = 4;
INSERT INTO club VALUES (5000, 'DE', -7), (5001, 'IT', -8);
DELETE FROM club WHERE country = 'JP' AND points > 500;
SELECT args, lbt.answered_by(format('EXECUTE counted(%s)', args)), lbt.result(format('EXECUTE counted(%s)', args))
FROM unnest('{"''{FR,DE}'', 500","''{DE,JP}'', 1500","''{IT,JP,XX}'', 1500","NULL, 1500","''{JP}'', NULL","''{}'', 7"}'::text[]) args;
SAVEPOINT a;
UPDATE club SET ok = true, country = 'IT' WHERE id = 4;
EXECUTE counted('{FR,IT}', 1500);
ROLLBACK TO a;
UPDATE speed SET seconds = '-0' WHERE id = 77;
SELECT lbt.answered_by('EXECUTE seasons(''{2,3}'')'), lbt.result('EXECUTE seasons(''{2,3}'')');
SELECT lbt.answered_by('EXECUTE seasons(''{0,NULL}'')'), lbt.result('EXECUTE seasons(''{0,NULL}'')');
ALTER TABLE speed DISABLE TRIGGER leaderboard_capture;
SELECT lbt.result('EXECUTE seasons(''{2,3}'')');
ROLLBACK;
SELECT lb_wait_ready();

-- A read of several boards is counted once.
SELECT lb_stat_reset();
EXECUTE counted('{FR,DE,US}', 500);
SELECT sum(planned_reads) AS reads, sum(planned_queries) AS queries FROM lb_stat_board WHERE board LIKE 'country%' AND kind <> 'family';

-- Equal values with different bytes.
CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT lbt.nodes('SELECT count(*) FROM club WHERE country COLLATE same IN (''fr'', ''DE'')'),
	lbt.result('SELECT count(*) FROM club WHERE country COLLATE same IN (''fr'', ''DE'')');

SELECT * FROM lb_verify();
DEALLOCATE ALL;
RESET plan_cache_mode;
DROP TABLE club, speed;
DROP COLLATION same;
