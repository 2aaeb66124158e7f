--
-- Plain SQL that the planner answers by boards: views that rank the rows of a table
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL, level smallint NOT NULL,
	name text, guild int);
INSERT INTO player SELECT i, i * 7 % 100, i % 5, 'player ' || i, nullif(i % 3, 0)
FROM generate_series(1, 5000) i;
CREATE UNIQUE INDEX ON player (name);
CREATE INDEX ON player (guild);
SELECT lb_create_board('global', 'player', 'id', 'score DESC, level DESC');
CREATE TABLE country_player (id int PRIMARY KEY, country text NOT NULL, points numeric(8,2) NOT NULL,
	ok boolean NOT NULL DEFAULT true);
INSERT INTO country_player SELECT i, (ARRAY['FR', 'JP', 'US'])[i % 3 + 1], i % 40 / 4.0, i % 11 <> 0
FROM generate_series(1, 3000) i;
SELECT lb_create_board('country', 'country_player', 'id', 'points ASC', board_column => 'country', ranked_if => 'ok');
CREATE TABLE device (key uuid PRIMARY KEY, speed float8 NOT NULL, seen timestamptz NOT NULL);
INSERT INTO device SELECT md5(i::text)::uuid, CASE i % 30 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-0' WHEN 3 THEN 0 ELSE i % 13 / 3.0::float8 END,
	'2026-01-01 00:00 UTC'::timestamptz + i * interval '1 minute'
FROM generate_series(1, 2000) i;
SELECT lb_create_board('device', 'device', 'key', 'speed DESC, seen');
CREATE TABLE event_score (player_id bigint, event text, score int NOT NULL, at date NOT NULL, PRIMARY KEY (player_id, event));
INSERT INTO event_score SELECT i % 500, 'event ' || i % 3, i % 100, '2026-01-01'::date + i % 31 FROM generate_series(1, 3000) i
ON CONFLICT DO NOTHING;
SELECT lb_create_board('event', 'event_score', 'player_id', 'score DESC, at', board_column => 'event');
CREATE TABLE club (region text COLLATE "C", name text COLLATE "C", points numeric(6,1), founded date NOT NULL, PRIMARY KEY (region, name));
INSERT INTO club SELECT 'region ' || i % 7, 'club ' || i, nullif(i % 90, 0) / 4.0, '1900-01-01'::date + i % 50 FROM generate_series(1, 2000) i;
-- Keys that are longer than what a block of the index holds of them.
INSERT INTO club SELECT 'region 0', repeat('x', 80) || i, 22.3, '1800-01-01' FROM generate_series(8, 11) i;
SELECT lb_create_board('club', 'club', 'region, name', 'points ASC, founded DESC');
SELECT lb_wait_ready();
CREATE TABLE friend (a int, b int);
INSERT INTO friend SELECT i % 2, i * 13 % 5000 FROM generate_series(1, 100) i;
INSERT INTO friend VALUES (1, NULL), (1, -1);
ANALYZE player, country_player, device, event_score, club, friend;

CREATE VIEW ranked AS
	SELECT p.*, rank() OVER w, dense_rank() OVER w AS dense, percent_rank() OVER w AS percent, cume_dist() OVER w AS dist,
		count(*) OVER w AS upto, count(*) OVER () AS n, row_number() OVER (ORDER BY score DESC, level DESC, id) AS place
	FROM player p WINDOW w AS (ORDER BY score DESC);
CREATE VIEW country_ranked AS
	SELECT c.*, rank() OVER w, row_number() OVER (PARTITION BY country ORDER BY points, id) AS place,
		count(*) OVER w AS upto, count(*) OVER (PARTITION BY country) AS n
	FROM country_player c WHERE ok WINDOW w AS (PARTITION BY country ORDER BY points);
CREATE VIEW device_ranked AS
	SELECT d.*, rank() OVER (ORDER BY speed DESC), rank() OVER (ORDER BY speed DESC, seen) AS rank2,
		row_number() OVER (ORDER BY speed DESC, seen, key) AS place
	FROM device d;
CREATE VIEW event_ranked AS
	SELECT e.*, rank() OVER (PARTITION BY event ORDER BY score DESC), count(*) OVER (PARTITION BY event) AS n FROM event_score e;
CREATE VIEW club_with_points AS SELECT * FROM club WHERE points IS NOT NULL;
CREATE VIEW club_ranked AS
	SELECT c.*, rank() OVER (ORDER BY points), dense_rank() OVER (ORDER BY points DESC) AS worst,
		row_number() OVER (ORDER BY points, founded DESC, region, name) AS place
	FROM club_with_points c;

-- Plans.
SELECT lbt.plan('SELECT * FROM ranked WHERE id = 7');
SELECT lbt.plan('SELECT rank, name FROM ranked WHERE id = ANY(''{7,8}'') AND rank < 100');
SELECT lbt.plan('SELECT r.name, r.rank FROM friend f JOIN ranked r ON r.id = f.b WHERE f.a = 1');
-- Where row_number() leaves ties open, all scans of a nested loop must break them alike.
SELECT bool_or(p ~ 'Leaderboard') AS by_board FROM lbt.plan('SELECT f.b, r.place FROM friend f JOIN (SELECT id, row_number() OVER (ORDER BY score DESC) AS place FROM player) r ON r.id = f.b WHERE f.a = 1') p;
SELECT lbt.plan('SELECT * FROM country_ranked WHERE id = 7');
SELECT lbt.plan('SELECT * FROM country_ranked WHERE country = ''FR'' AND id = 7');
SELECT lbt.plan('SELECT * FROM ranked WHERE place BETWEEN 91 AND 100');
SELECT lbt.plan('SELECT * FROM ranked WHERE rank <= 10');
SELECT lbt.plan('SELECT name, rank FROM ranked ORDER BY rank, level DESC, id LIMIT 10');
SELECT lbt.plan('SELECT name, rank FROM ranked ORDER BY place DESC LIMIT 10');
SELECT lbt.plan('SELECT * FROM event_ranked WHERE event = ''event 1'' AND player_id = 7');
SELECT lbt.plan('SELECT * FROM event_ranked WHERE player_id = 7');
SELECT lbt.plan('SELECT * FROM club_ranked WHERE region = ''region 1'' AND name = ''club 1''');
SELECT lbt.explained('yaml', 'SELECT rank FROM ranked WHERE id = 7');
SELECT lbt.plan('SELECT (SELECT rank FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player WHERE score > f.a) AS r WHERE id = f.b) FROM friend f');
SELECT lbt.plan('SELECT name || rank AS x FROM ranked WHERE id IN (7, 8) AND rank > 2200', 'ANALYZE, VERBOSE');

-- By a member, or by other columns of a unique index.
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM ranked WHERE id = 7',
	'SELECT rank, name FROM ranked WHERE 7 = id',
	'SELECT rank, name FROM ranked WHERE id = 7::smallint',
	'SELECT rank, name FROM ranked WHERE name = ''player 7''',
	'SELECT * FROM ranked WHERE id = ANY(''{7,8,8,9,100000,NULL}'')',
	'SELECT rank, name FROM ranked WHERE id IN (5,6,4999)',
	'SELECT rank, name FROM ranked WHERE id = ANY(''{}''::int[])',
	'SELECT rank, name FROM ranked WHERE id = (SELECT max(id) FROM player)',
	'SELECT rank, name FROM ranked WHERE id = (SELECT NULL::int)',
	'SELECT rank, name FROM ranked WHERE id = -1',
	'SELECT * FROM ranked WHERE id = 7 AND rank <= 100',
	'SELECT * FROM ranked WHERE id IN (1,2,3,4,5,6,7) AND rank <= 3000 AND place > 3 AND guild IS NOT NULL',
	'SELECT * FROM ranked WHERE id IN (1,2,3,4,5,6,7) AND dense = 59',
	'SELECT row_to_json(r) FROM ranked r WHERE id = 77',
	'SELECT r FROM ranked r WHERE id = 77',
	'SELECT count(*) FROM ranked r WHERE id = 77',
	'SELECT sum(rank) FROM ranked r WHERE id IN (77, 78) GROUP BY guild',
	'SELECT 1 FROM ranked WHERE id = 7 UNION ALL SELECT rank FROM ranked WHERE id = 8',
	'WITH r AS (SELECT * FROM ranked) SELECT rank FROM r WHERE id = 9',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score, level), cume_dist() OVER (ORDER BY score, level), percent_rank() OVER (ORDER BY score), dense_rank() OVER (ORDER BY score), count(*) OVER (ORDER BY score) FROM player) s WHERE id IN (5,6,7,8)',
	'SELECT * FROM (SELECT id, score * 2 + rank() OVER (ORDER BY score DESC) AS x, dense_rank() OVER (ORDER BY score) FROM player WHERE score > 50 AND score <= 80.5) s WHERE id IN (5,6,7,8,9,10,11)',
	'SELECT * FROM (SELECT id, rank() OVER (), row_number() OVER (ORDER BY score DESC, level DESC, id), percent_rank() OVER () AS p, cume_dist() OVER () AS c FROM player WHERE score = 7) s WHERE id IN (1, 101, 2)',
	'SELECT * FROM (SELECT id, ntile(3) OVER w AS a, ntile(7) OVER w AS b, ntile(10000) OVER w AS c, ntile(4) OVER (ORDER BY score, level, id DESC) AS d FROM player WHERE score < 90 WINDOW w AS (ORDER BY score DESC, level DESC, id)) s WHERE id IN (1,2,3,4,5,6,7)',
	'SELECT * FROM (SELECT id, ntile(4) OVER (PARTITION BY country ORDER BY points, id) FROM country_player WHERE ok) s WHERE id IN (7,8,9,10,11,22)',
	'SELECT * FROM (SELECT id, ctid, tableoid::regclass, upper(name) AS u, rank() OVER (ORDER BY score DESC) FROM player) s WHERE id = 12',
	'SELECT * FROM country_ranked WHERE id = 7',
	'SELECT * FROM country_ranked WHERE id IN (7,8,9,10,11,22)',
	'SELECT * FROM country_ranked WHERE country = ''FR'' AND id IN (7,8,9,10,11,22)',
	'SELECT * FROM country_ranked WHERE country = ''FR'' AND id = 7 AND rank < 1000',
	'SELECT * FROM country_ranked WHERE country = ''XX'' AND id = 7',
	'SELECT * FROM country_ranked WHERE id = 11',
	'SELECT * FROM device_ranked WHERE key = md5(''60'')::uuid',
	'SELECT * FROM device_ranked WHERE key IN (md5(''60'')::uuid, md5(''62'')::uuid, md5(''33'')::uuid)',
	'SELECT * FROM event_ranked WHERE player_id = 7',
	'SELECT * FROM event_ranked WHERE player_id IN (7, 8) AND rank < 300',
	'SELECT * FROM event_ranked WHERE player_id = 7 AND event = ''event 2''',
	'SELECT * FROM event_ranked WHERE player_id = 7 AND event = ''event 4''',
	'SELECT * FROM event_ranked WHERE player_id = ANY (''{1,2,3}'') AND event = ''event 2''',
	'SELECT * FROM club_ranked WHERE region = ''region 1'' AND name IN (''club 1'', ''club 8'', ''club 9'')',
	'SELECT * FROM club_ranked WHERE region = ''region 6'' AND name = ''club 90''',
	'SELECT right(name, 3), rank, worst, place FROM club_ranked WHERE region = ''region 0'' AND name IN (repeat(''x'', 80) || ''8'', repeat(''x'', 80) || ''10'', repeat(''x'', 80))',
	'SELECT right(c.name, 3), l.* FROM club c, LATERAL (SELECT rank, worst, place FROM club_ranked r WHERE r.region = c.region AND r.name = c.name) l WHERE c.founded < ''1900-01-01''',
	'SELECT rank, name FROM ranked WHERE guild = 1 AND name = ''player 7''',
	'SELECT EXISTS (SELECT FROM ranked WHERE id = 7)',
	'SELECT name FROM ranked WHERE id = 7 AND n > 100',
	'SELECT g, (SELECT name FROM ranked WHERE place = g) FROM generate_series(-1, 3) g',
	'SELECT g, (SELECT x FROM (SELECT id, g + rank() OVER (ORDER BY score DESC) AS x FROM player WHERE score > g) s WHERE id = 20 + g) FROM generate_series(30, 45, 5) g'
]) query;

-- Joins.
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT r.* FROM friend f JOIN ranked r ON r.id = f.b WHERE f.a = 1',
	'SELECT f.a, r.* FROM friend f LEFT JOIN ranked r ON r.id = f.b WHERE f.a = 1',
	'SELECT f.b, r.rank FROM friend f JOIN ranked r ON r.id = f.b AND r.rank > 1000 WHERE f.a = 1',
	'SELECT f.b, (SELECT rank FROM ranked r WHERE r.id = f.b) FROM friend f',
	'SELECT f.b FROM friend f WHERE EXISTS (SELECT FROM ranked r WHERE r.id = f.b AND r.rank < 2000)',
	'SELECT * FROM friend f JOIN country_ranked r ON r.id = f.b WHERE f.a = 1',
	'SELECT f.b, r.rank, c.rank FROM friend f JOIN ranked r ON r.id = f.b JOIN country_ranked c ON c.id = r.id WHERE f.a = 1',
	'SELECT f.b, l.rank FROM friend f, LATERAL (SELECT rank FROM ranked r WHERE r.id = f.b) l WHERE f.a = 1',
	'SELECT f.b, e.event, e.rank FROM friend f JOIN event_ranked e ON e.player_id = f.b AND e.event = ''event 1'' WHERE f.a = 1',
	'SELECT f.b, e.event, e.rank FROM friend f JOIN event_ranked e ON e.player_id = f.b WHERE f.a = 1'
]) query;

-- A nested loop whose index cannot answer runs the other plan once.
CREATE FUNCTION loops(query text, child text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	below bool := false;
BEGIN
	PERFORM set_config('leaderboard.debug_planner_child', child, true);
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF below AND line ~ '->  (Subquery Scan|WindowAgg)' THEN
			RETURN substring(line FROM 'loops=[0-9]+|never executed');
		END IF;
		below := below OR line LIKE '%Leaderboard Rank%';
	END LOOP;
END $$;
CREATE TABLE circle (a int, ids int[], guild numeric, event text, name text);
INSERT INTO circle SELECT i % 3, ARRAY[i, i * 17 % 5000, NULL, i], i % 4, 'event ' || i % 4, 'player ' || i * 3
FROM generate_series(1, 30) i;
INSERT INTO circle VALUES (1, NULL, NULL, NULL, NULL);
ANALYZE circle;
SELECT query, loops(query, 'force'), lbt.result(query) FROM unnest(ARRAY[
	'SELECT r.* FROM friend f JOIN ranked r ON r.id = f.b WHERE f.a = 1',
	'SELECT f.b, r.rank FROM friend f LEFT JOIN ranked r ON r.id = f.b AND r.rank + f.a > 2000',
	'SELECT c.name, r.rank FROM circle c JOIN ranked r ON r.name = c.name',
	'SELECT r.id, r.rank FROM circle c JOIN ranked r ON r.id = ANY (c.ids) WHERE c.a = 1',
	'SELECT c.a, e.* FROM circle c JOIN event_ranked e ON e.event = c.event AND e.player_id = c.a',
	'SELECT c.a, e.* FROM circle c JOIN event_ranked e ON e.player_id = ANY (c.ids) AND e.event = c.event WHERE c.a = 2',
	'SELECT c.a, r.id, r.place FROM circle c JOIN ranked r ON r.guild = c.a AND r.place <= 100',
	'SELECT c.a, r.n FROM circle c JOIN ranked r ON r.id = c.a AND r.place > 3 AND r.score + c.a > 10',
	'SELECT c.a, count(*) FROM circle c JOIN ranked r ON r.id = c.a GROUP BY c.a',
	'SELECT c.a, r FROM circle c JOIN ranked r ON r.id = c.a',
	'SELECT g, (SELECT sum(s.x) FROM friend f JOIN (SELECT id, g + rank() OVER (ORDER BY score DESC) AS x FROM player WHERE score > g) s ON s.id = f.b WHERE f.a = 1) FROM generate_series(30, 45, 5) g',
	'SELECT g, (SELECT sum(r.rank) FROM friend f JOIN ranked r ON r.id = f.b WHERE f.a = g) FROM generate_series(0, 2) g'
]) query;
-- With parts in files
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT query, loops(query, 'force'), lbt.result(query) FROM unnest(ARRAY[
	'SELECT r.* FROM friend f JOIN ranked r ON r.id = f.b WHERE f.a = 1',
	'SELECT r.id, r.rank FROM circle c JOIN ranked r ON r.id = ANY (c.ids) WHERE c.a = 1'
]) query;
RESET work_mem; RESET hash_mem_multiplier;
-- For rows that a deferred trigger waits for
CREATE TABLE member (id int PRIMARY KEY);
INSERT INTO member SELECT generate_series(1, 6000);
ALTER TABLE player ADD CONSTRAINT member FOREIGN KEY (id) REFERENCES member DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO player VALUES (5001, 200, 1, 'best', 1);
SELECT query, lbt.answered_by(query), loops(query, 'off'), lbt.result(query) FROM unnest(ARRAY[
	'SELECT r.* FROM friend f JOIN ranked r ON r.id = f.b WHERE f.a = 1'
]) query;
ROLLBACK;
ALTER TABLE player DROP CONSTRAINT member;
DROP TABLE circle, member;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;

-- By ranks.
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM ranked WHERE place BETWEEN 91 AND 100',
	'SELECT * FROM ranked WHERE place = 1',
	'SELECT * FROM ranked WHERE place = 5000',
	'SELECT * FROM ranked WHERE place = 5001',
	'SELECT * FROM ranked WHERE place <= 0',
	'SELECT * FROM ranked WHERE place > 4995 AND place < 99999999999',
	'SELECT * FROM ranked WHERE place = (SELECT 3)',
	'SELECT * FROM ranked WHERE place < (SELECT NULL::int)',
	'SELECT * FROM ranked WHERE rank <= 10',
	'SELECT * FROM ranked WHERE rank = 51',
	'SELECT * FROM ranked WHERE rank = 52',
	'SELECT * FROM ranked WHERE rank BETWEEN 30 AND 60 AND level = 2',
	'SELECT * FROM ranked WHERE rank BETWEEN 60 AND 30',
	'SELECT * FROM ranked WHERE 30 > rank AND place > 6',
	'SELECT * FROM country_ranked WHERE country = ''FR'' AND rank <= 10',
	'SELECT * FROM country_ranked WHERE country = ''XX'' AND rank <= 10',
	'SELECT * FROM device_ranked WHERE place <= 10',
	'SELECT key, rank2 FROM device_ranked WHERE rank2 BETWEEN 100 AND 110',
	'SELECT * FROM (SELECT id, row_number() OVER (ORDER BY score, level, id DESC) FROM player) s WHERE row_number <= 3',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score) FROM player) s WHERE rank <= 20',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player WHERE score < 50) s WHERE rank = 1',
	'SELECT * FROM event_ranked WHERE event = ''event 2'' AND rank BETWEEN 40 AND 45',
	'SELECT * FROM club_ranked WHERE place < 4',
	'SELECT right(name, 3), rank, worst, place FROM club_ranked WHERE place BETWEEN 1979 AND 1981',
	'SELECT * FROM club_ranked WHERE rank = 1 AND worst > 3',
	'SELECT name FROM ranked WHERE place = 9223372036854775807',
	'SELECT name FROM ranked WHERE place > 9223372036854775807 AND place < (-9223372036854775808)',
	'SELECT name FROM ranked WHERE rank <= 2::smallint AND place <= 5'
]) query;

-- In the order of ranks.
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM ranked ORDER BY place LIMIT 5',
	'SELECT name, rank FROM ranked ORDER BY rank, level DESC, id LIMIT 5',
	'SELECT name, rank FROM ranked ORDER BY rank, level DESC, id LIMIT 5 OFFSET 20',
	'SELECT name, place FROM ranked WHERE place <= 10 ORDER BY place DESC LIMIT 5',
	'SELECT name, place FROM ranked WHERE place <= 10 ORDER BY place LIMIT 5',
	'SELECT name, score FROM ranked ORDER BY score DESC, level DESC, id LIMIT 5',
	'SELECT rank FROM ranked ORDER BY rank FETCH FIRST 2 ROWS WITH TIES',
	'SELECT name, rank FROM ranked WHERE guild = 1 ORDER BY place LIMIT 5',
	'SELECT name, rank FROM ranked ORDER BY rank, name LIMIT 5',
	'SELECT key, rank FROM device_ranked ORDER BY rank, seen, key LIMIT 20',
	'SELECT r.place, f.a, f.b FROM ranked r JOIN friend f ON f.b >= r.id WHERE r.place <= 3 ORDER BY r.place, f.b DESC, f.a LIMIT 50',
	'SELECT place, name FROM ranked ORDER BY place, name DESC LIMIT 3',
	'SELECT place, name FROM ranked ORDER BY place DESC LIMIT 3 OFFSET 2',
	'SELECT place, name FROM ranked ORDER BY place LIMIT (SELECT 3) OFFSET NULL',
	'SELECT place, name FROM ranked ORDER BY place LIMIT 0',
	'SELECT place, name FROM ranked ORDER BY place LIMIT -1',
	'SELECT place, name FROM ranked ORDER BY place LIMIT 9223372036854775807 OFFSET 4998',
	'SELECT place, name FROM ranked WHERE place > 500 AND place < 4000 ORDER BY place LIMIT 3 OFFSET 3497',
	'SELECT place, name FROM ranked WHERE place > 5 ORDER BY place LIMIT 9223372036854775807 OFFSET 4993',
	'SELECT count(*) FROM (SELECT place, name FROM ranked ORDER BY place LIMIT 3) q',
	'SELECT place, player_id FROM (SELECT *, row_number() OVER (ORDER BY score DESC, at, player_id) AS place FROM event_score WHERE event = ''event 1'') e ORDER BY place LIMIT 3'
]) query;

-- The first rows behind a rank.  There is not enough memory for all that are behind it.
SET work_mem = '64kB';
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT place, name FROM ranked WHERE place > 500 ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE 500 < place ORDER BY place LIMIT 3 OFFSET 2',
	'SELECT place, name FROM ranked WHERE place >= (SELECT 500) ORDER BY rank, level DESC, id LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 500 AND place < 503 ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 500 AND place <= -9223372036854775807 ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 4998 ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 9223372036854775806 ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > NULL::int ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 500 ORDER BY place LIMIT (SELECT 2)',
	'SELECT place, name FROM ranked WHERE place > 500 ORDER BY place LIMIT -1',
	'SELECT * FROM (SELECT id, row_number() OVER (ORDER BY score, level, id DESC) FROM player) s WHERE row_number > 100 ORDER BY row_number LIMIT 3',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC, level DESC, id) FROM player) s WHERE rank > 100 ORDER BY rank LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 500 AND level = 3 ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 500 AND rank > 600 ORDER BY place LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 500 ORDER BY place DESC LIMIT 3',
	'SELECT place, name FROM ranked WHERE place > 500 ORDER BY name LIMIT 3',
	'SELECT rank, name FROM ranked WHERE rank > 500 ORDER BY rank, level DESC, id LIMIT 3',
	'SELECT DISTINCT place FROM ranked WHERE place > 500 ORDER BY place LIMIT 3'
]) query;
RESET work_mem;

-- Pages deep in a view: only their rows are looked up, so these fit.
SET work_mem = '64kB';
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM ranked ORDER BY place LIMIT 3 OFFSET 4000',
	'SELECT place, name FROM ranked ORDER BY place DESC LIMIT 3 OFFSET 4000',
	'SELECT place, name FROM ranked ORDER BY place LIMIT 3 OFFSET 5000',
	'SELECT place, name FROM ranked ORDER BY place LIMIT 3 OFFSET -1',
	'SELECT place, name FROM ranked WHERE place > 500 ORDER BY place LIMIT 3 OFFSET 3000',
	'SELECT place, name FROM ranked WHERE place > 500 AND place <= 3502 ORDER BY place LIMIT 3 OFFSET 3000',
	'SELECT place, name FROM ranked WHERE place > 500 AND place <= 700 ORDER BY place LIMIT 3 OFFSET 3000',
	'SELECT rank, name FROM ranked WHERE rank > 500 ORDER BY rank, level DESC, id LIMIT 3',
	'SELECT rank, name FROM ranked WHERE rank > 501 ORDER BY rank, level DESC, id LIMIT 3',
	'SELECT rank, name FROM ranked WHERE rank >= 502 ORDER BY rank, level DESC, id LIMIT 3 OFFSET 3000',
	'SELECT rank, name FROM ranked WHERE rank > 4951 ORDER BY rank, level DESC, id LIMIT 3',
	'SELECT rank, name FROM ranked WHERE rank > -5 ORDER BY rank, level DESC, id LIMIT 3',
	'SELECT id, rank FROM (SELECT id, level, rank() OVER (ORDER BY score) FROM player) s WHERE rank > 501 ORDER BY rank, level, id DESC LIMIT 3 OFFSET 1',
	'SELECT id, rank FROM (SELECT id, level, rank() OVER (ORDER BY score) FROM player WHERE score < 50) s WHERE rank > 2451 ORDER BY rank, level, id DESC LIMIT 3',
	'SELECT * FROM country_ranked WHERE country = ''FR'' AND rank > 101 ORDER BY rank, id LIMIT 3',
	'SELECT place, name FROM ranked ORDER BY place LIMIT 3 OFFSET (SELECT 4000)'
]) query;
SELECT lbt.plan('SELECT place, name FROM ranked WHERE place > 500 ORDER BY place LIMIT 3 OFFSET 3000');
RESET work_mem;

-- Window functions without a view.
SELECT lbt.plan('SELECT p.*, rank() OVER (ORDER BY score DESC) AS r FROM player p ORDER BY r LIMIT 10 OFFSET 1000');
SELECT lbt.plan('SELECT upper(name), 1 + rank() OVER (ORDER BY score DESC), rank() OVER (ORDER BY score DESC, level DESC), count(*) OVER () FROM player WHERE score < 50 ORDER BY score DESC LIMIT 2', 'ANALYZE, VERBOSE');
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT p.*, rank() OVER (ORDER BY score DESC) AS r FROM player p ORDER BY r, level DESC, id LIMIT 3 OFFSET 4000',
	'SELECT id, row_number() OVER (ORDER BY score DESC, level DESC, id) AS r FROM player ORDER BY r LIMIT 3',
	'SELECT id, row_number() OVER (ORDER BY score DESC, level DESC, id) AS r FROM player ORDER BY r DESC LIMIT 3 OFFSET 10',
	'SELECT id, row_number() OVER (ORDER BY score, level, id DESC) AS r FROM player ORDER BY r LIMIT 3',
	'SELECT id, row_number() OVER (ORDER BY score DESC, level DESC, id) FROM player LIMIT 3',
	'SELECT id, dense_rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 2000',
	'SELECT id, percent_rank() OVER w, cume_dist() OVER w, count(*) OVER w FROM player WINDOW w AS (ORDER BY score DESC, level DESC) ORDER BY score, level, id DESC LIMIT 3',
	'SELECT id, count(*) OVER () FROM player ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id, ntile(7) OVER (ORDER BY score DESC, level DESC, id) AS tile FROM player ORDER BY tile, score DESC, level DESC, id LIMIT 3 OFFSET 713',
	'SELECT id, count(*) OVER () FROM player WHERE score BETWEEN 20 AND 40 ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT id, count(*) OVER () FROM player WHERE score > 1000 ORDER BY score DESC, level DESC, id LIMIT 3',
	'SELECT p, rank() OVER (ORDER BY score DESC) FROM player p ORDER BY score DESC, level DESC, id LIMIT 2',
	'SELECT ctid, tableoid::regclass, rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 10',
	'SELECT id, name || rank() OVER (ORDER BY score DESC) AS x FROM player ORDER BY score DESC, level DESC, id LIMIT 2',
	'SELECT name, (SELECT count(*) FROM friend f WHERE f.b = p.id), rank() OVER (ORDER BY score DESC) FROM player p ORDER BY score DESC, level DESC, id LIMIT 2',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS a, rank() OVER (ORDER BY score) AS b, rank() OVER () AS c FROM player ORDER BY a DESC, level, id DESC LIMIT 2',
	'SELECT id FROM player ORDER BY rank() OVER (ORDER BY score DESC), level DESC, id LIMIT 2',
	'SELECT id, country, rank() OVER (PARTITION BY country ORDER BY points) AS r FROM country_player WHERE ok AND country = ''FR'' ORDER BY r, id LIMIT 3 OFFSET 500',
	'SELECT id, rank() OVER (ORDER BY points) AS r FROM country_player WHERE ok AND country = ''FR'' ORDER BY country, r, id LIMIT 3 OFFSET 500',
	'SELECT id, rank() OVER (ORDER BY points) AS r FROM country_player WHERE ok AND country = ''XX'' ORDER BY r, id LIMIT 3',
	'SELECT key, speed, rank() OVER (ORDER BY speed DESC) AS r FROM device ORDER BY r, seen, key LIMIT 3 OFFSET 60',
	'SELECT player_id, rank() OVER (ORDER BY score DESC) FROM event_score WHERE event = ''event 1'' ORDER BY score DESC, at, player_id LIMIT 3',
	'SELECT region, name, rank() OVER (ORDER BY points) FROM club WHERE points IS NOT NULL ORDER BY points, founded DESC, region, name LIMIT 3 OFFSET 100',
	'SELECT id, rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT 0',
	'SELECT id, rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT -1',
	'SELECT id, rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT 9223372036854775807 OFFSET 4999',
	'SELECT id, rank() OVER (ORDER BY score DESC) FROM player ORDER BY score DESC, level DESC, id LIMIT (SELECT 2) OFFSET (SELECT 3)',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r, level DESC, id LIMIT 3) s ORDER BY id',
	'SELECT g, l.* FROM generate_series(30, 32) g, LATERAL (SELECT id, coalesce(rank() OVER (ORDER BY score DESC), g) FROM player WHERE score < g ORDER BY score DESC, level DESC, id LIMIT 2 OFFSET 1) l ORDER BY g',
	'SELECT id FROM friend, LATERAL (SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player WHERE score = b ORDER BY score DESC, level DESC, id LIMIT 1) l WHERE a = 1 ORDER BY id',
	'(SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r, level DESC, id LIMIT 2) UNION ALL (SELECT id, rank() OVER (ORDER BY score) AS r FROM player ORDER BY r, level, id DESC LIMIT 2)'
]) query;
-- Near misses.
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r OFFSET 4990',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r FETCH FIRST 3 ROWS WITH TIES',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY name LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r, name LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r, level LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY rank() OVER (ORDER BY score DESC) + 1 LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player WHERE level = 2 ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r, lag(id) OVER (ORDER BY score DESC) FROM player ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r, count(*) OVER (ORDER BY score DESC ROWS 3 PRECEDING) FROM player ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r, count(*) FILTER (WHERE level = 1) OVER () FROM player ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (PARTITION BY level ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (PARTITION BY country ORDER BY points) AS r FROM country_player WHERE ok ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY points) AS r FROM country_player WHERE ok ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY points) AS r FROM country_player WHERE country = ''FR'' ORDER BY r LIMIT 3',
	'SELECT region, rank() OVER (ORDER BY points) AS r FROM club ORDER BY r LIMIT 3',
	'SELECT DISTINCT rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT 3',
	'SELECT score, rank() OVER (ORDER BY score DESC) AS r FROM player GROUP BY score ORDER BY r LIMIT 3',
	'SELECT count(*), rank() OVER (ORDER BY max(score) DESC) AS r FROM player GROUP BY level ORDER BY r LIMIT 3',
	'SELECT id, generate_series(1, 2), rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT 3',
	'SELECT id, random(), rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT 3',
	'SELECT id, 1 / score, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT 3 OFFSET 3',
	'SELECT 1 / (rank() OVER (ORDER BY score DESC) - 1) FROM player ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 60',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT (random() * 10)::int',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player TABLESAMPLE bernoulli (50) ORDER BY r LIMIT 3',
	'SELECT p.id, rank() OVER (ORDER BY score DESC) AS r FROM player p JOIN friend f ON f.b = p.id ORDER BY r LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT 4000',
	'SELECT id, count(*) OVER () FROM player LIMIT 3',
	'SELECT id, ntile(7) OVER (ORDER BY score DESC, level DESC, id) AS tile FROM player ORDER BY tile, level LIMIT 3',
	'SELECT id, ntile(level) OVER (ORDER BY score DESC) AS tile FROM player ORDER BY tile LIMIT 3',
	'SELECT id, ntile(0) OVER (ORDER BY score DESC) AS tile FROM player ORDER BY tile LIMIT 3',
	'SELECT id, ntile(NULL) OVER (ORDER BY score DESC) AS tile FROM player ORDER BY tile LIMIT 3',
	'SELECT id, rank, rank() OVER (ORDER BY place) FROM ranked ORDER BY place LIMIT 3'
]) query;
-- Plans for any parameters
PREPARE top(int, int) AS SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r, level DESC, id LIMIT $1 OFFSET $2;
PREPARE above(int, int) AS SELECT id, count(*) OVER () AS n FROM player WHERE score > $1 ORDER BY score DESC, level DESC, id LIMIT $2;
PREPARE behind(bigint, bigint, bigint) AS SELECT id, rank FROM ranked WHERE rank > $1 ORDER BY rank, level DESC, id LIMIT $2 OFFSET $3;
SET plan_cache_mode = force_generic_plan;
SELECT lbt.answered_by('EXECUTE top(3, 1000)'), lbt.answered_by('EXECUTE above(90, 2)'), lbt.answered_by('EXECUTE behind(501, 2, 1)');
EXECUTE top(3, 1000);
EXECUTE top(1, NULL);
EXECUTE above(90, 2);
EXECUTE behind(501, 2, 1);
EXECUTE behind(NULL, 2, 1);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- A cursor that goes backward
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r, level DESC, id LIMIT 5 OFFSET 7;
FETCH 3 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH LAST FROM c;
COMMIT;

-- A view with an order of its own.
CREATE VIEW ordered AS SELECT id, name, rank() OVER (ORDER BY score DESC) FROM player ORDER BY name;
SELECT query, lbt.nodes(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM ordered LIMIT 3',
	'SELECT array_agg(id) FROM ordered WHERE rank < 40',
	'SELECT name, rank FROM ordered WHERE id IN (7, 8, 9) LIMIT 3',
	'SELECT name, rank FROM ordered WHERE id IN (7, 8, 9) ORDER BY rank LIMIT 3',
	'SELECT name, rank FROM ordered WHERE id = 7',
	'SELECT name, rank FROM friend f JOIN ordered o ON o.id = f.b WHERE f.a = 1'
]) query;
DROP VIEW ordered;

-- More rows than work_mem has room for.
SET work_mem = '64kB'; SET plan_cache_mode = force_generic_plan;
PREPARE by_guild(int) AS SELECT count(*), sum(rank) FROM ranked WHERE guild = $1;
PREPARE by_place(int) AS SELECT count(*), sum(rank), sum(length(name)) FROM ranked WHERE place <= $1;
SELECT lbt.answered_by('EXECUTE by_place(3000)'), lbt.answered_by('EXECUTE by_place(30)');
EXECUTE by_guild(1);
EXECUTE by_place(3000);
SET leaderboard.enable_planner = off;
EXECUTE by_guild(1);
EXECUTE by_place(3000);
RESET ALL;
DEALLOCATE ALL;

-- Aggregates of a view whose window functions they do not need, or of a subquery that
-- returns the rows of the table.
SELECT lbt.plan('SELECT max(s.score), count(*) + 1 FROM (SELECT score FROM player WHERE score > 5 OFFSET 0) s WHERE s.score < 70 HAVING count(*) > 3', 'VERBOSE');
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM ranked',
	'SELECT count(*), max(score), min(score), count(DISTINCT score) FROM ranked WHERE score > 50',
	'SELECT count(*) FROM ranked WHERE place > 5',
	'SELECT count(id), count(name) FROM ranked',
	'SELECT count(id), percentile_disc(0.5) WITHIN GROUP (ORDER BY score) FROM ranked',
	'SELECT count(*) FROM country_ranked',
	'SELECT count(*) FROM country_ranked WHERE country = ''FR''',
	'SELECT count(*) FROM country_ranked WHERE country = ''FR'' AND points > 3',
	'SELECT max(points) FROM (SELECT * FROM country_player WHERE ok AND country = ''FR'' OFFSET 0) s',
	'SELECT count(*) FROM club_ranked',
	'SELECT count(*) FROM (SELECT score, 1 / (score - 7) FROM player ORDER BY 1 / (score - 7) OFFSET 0) s',
	'SELECT max(x) FROM (SELECT score + 1 AS x FROM player OFFSET 0) s',
	'SELECT max(score) FROM (SELECT score FROM player LIMIT 10) s',
	'SELECT max(score) FROM (SELECT score FROM player ORDER BY score LIMIT NULL) s',
	'SELECT count(*) FROM (SELECT score FROM player OFFSET 10) s',
	'SELECT count(*) FROM (SELECT score FROM player OFFSET -10) s',
	'SELECT count(*) FROM (SELECT DISTINCT score FROM player OFFSET 0) s',
	'SELECT count(*) FROM (SELECT score FROM player FOR UPDATE) s',
	'SELECT count(*) FROM (SELECT score, random() FROM player OFFSET 0) s',
	'SELECT count(*) FROM (SELECT score FROM player OFFSET 0) s WHERE score > 3.5',
	'SELECT g, (SELECT count(*) FROM (SELECT * FROM player WHERE score < g OFFSET 0) s WHERE score > g - 10) FROM generate_series(40, 43) g',
	'SELECT g, (SELECT count(*) FROM ranked WHERE score > g) FROM generate_series(40, 43) g',
	'SELECT count(*) FILTER (WHERE score > 10), count(*) FROM ranked',
	'SELECT rank(50) WITHIN GROUP (ORDER BY score DESC) FROM ranked WHERE score > 10'
]) query;
SET plan_cache_mode = force_generic_plan;
PREPARE total(int, int) AS SELECT count(*) FROM (SELECT id FROM player WHERE score > $1 OFFSET $2) AS sub;
SELECT lbt.answered_by('EXECUTE total(50, 0)'), lbt.answered_by('EXECUTE total(50, NULL)'), lbt.answered_by('EXECUTE total(50, 3)');
EXECUTE total(50, 0);
EXECUTE total(50, 3);
RESET plan_cache_mode;
DEALLOCATE ALL;

-- What is not recognized.
SELECT query, lbt.nodes(query) FROM unnest(ARRAY[
	'SELECT * FROM ranked WHERE id > 7',
	'SELECT * FROM ranked WHERE id = 7 OR id = 8 AND level = 3',
	'SELECT * FROM ranked WHERE id + 0 = 7',
	'SELECT * FROM ranked',
	'SELECT * FROM ranked WHERE rank > random()',
	'SELECT * FROM ranked WHERE rank <= 100000',
	'SELECT * FROM ranked WHERE dense <= 10',
	'SELECT * FROM country_ranked WHERE rank <= 10',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY level DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC, level) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (PARTITION BY guild ORDER BY score DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player WHERE level = 2) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY points) FROM country_player) s WHERE id = 7',
	'SELECT * FROM (SELECT region, name, rank() OVER (ORDER BY points) FROM club) s WHERE region = ''a'' AND name = ''b''',
	'SELECT * FROM ranked WHERE n = 10',
	'SELECT * FROM (SELECT id, rank() OVER (PARTITION BY country ORDER BY points) FROM country_player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY points) FROM country_player WHERE ok) s WHERE id = 7',
	'SELECT * FROM (SELECT id, lag(score) OVER (ORDER BY score DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, count(*) OVER (ORDER BY score DESC ROWS 3 PRECEDING) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, count(*) FILTER (WHERE level = 1) OVER (ORDER BY score DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, dense_rank() OVER (ORDER BY score DESC, level DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC ROWS BETWEEN (-1) PRECEDING AND CURRENT ROW) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, random(), rank() OVER (ORDER BY score DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, (SELECT max(a) FROM friend), rank() OVER (ORDER BY score DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player OFFSET 10) s WHERE id = 7',
	'SELECT id, rank FROM (SELECT id, (SELECT random() WHERE p.id > 0), rank() OVER (ORDER BY score DESC) FROM player p) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score::float8 DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT DISTINCT id, rank() OVER (ORDER BY score DESC) FROM player) s WHERE id = 7',
	'SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player TABLESAMPLE bernoulli (50)) s WHERE id = 7',
	'SELECT * FROM (SELECT p.id, rank() OVER (ORDER BY score DESC) FROM player p JOIN friend f ON f.b = p.id) s WHERE id = 7',
	'SELECT * FROM player p JOIN ranked r ON r.id = p.id WHERE p.id = 7 FOR UPDATE OF p',
	'UPDATE friend SET b = r.rank FROM ranked r WHERE r.id = b',
	'DELETE FROM friend USING ranked r WHERE r.id = b'
]) query;

-- Prepared statements, with plans for any parameters.
SET plan_cache_mode = force_generic_plan;
PREPARE by_id(bigint) AS SELECT rank, score, name FROM ranked WHERE id = $1;
PREPARE by_ids(int[]) AS SELECT rank, score, name FROM ranked WHERE id = ANY($1);
PREPARE by_ranks(bigint, int) AS SELECT rank, score, name FROM ranked WHERE place BETWEEN $1 AND $2;
SELECT lbt.answered_by('EXECUTE by_id(7)'), lbt.answered_by('EXECUTE by_ids(''{7,8}'')'), lbt.answered_by('EXECUTE by_ranks(7, 10)');
EXECUTE by_id(7);
EXECUTE by_id(NULL);
EXECUTE by_ids('{7,8}');
EXECUTE by_ranks(7, 10);
-- Boards go and come.
PREPARE device(text) AS SELECT rank, rank2, place FROM device_ranked WHERE key = md5($1)::uuid;
SELECT lbt.answered_by('EXECUTE device(60)');
EXECUTE device(60);
SELECT lb_drop_board('device');
SELECT lbt.answered_by('EXECUTE device(60)');
EXECUTE device(60);
SELECT lb_create_board('device', 'device', 'key', 'speed DESC, seen');
SELECT lb_wait_ready();
SELECT lbt.answered_by('EXECUTE device(60)');
EXECUTE device(60);
-- A join that is planned without an index is planned again when there is one.
SELECT lb_drop_board('device');
CREATE TABLE owned (key uuid);
INSERT INTO owned SELECT md5(i::text)::uuid FROM generate_series(1, 5) i;
ANALYZE owned;
BEGIN;
SELECT lb_create_board('device', 'device', 'key', 'speed DESC, seen');
PREPARE owned AS SELECT place FROM owned o JOIN device_ranked d ON d.key = o.key ORDER BY place;
SELECT lbt.answered_by('EXECUTE owned');
EXECUTE owned;
COMMIT;
SELECT lb_wait_ready();
SELECT lbt.answered_by('EXECUTE owned');
EXECUTE owned;
DEALLOCATE owned;
DROP TABLE owned;
-- Of two boards, the one that is ready answers.
BEGIN;
SELECT lb_create_board('a', 'device', 'key', 'speed DESC'), lb_create_board('z', 'device', 'key', 'speed DESC');
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT key, rank() OVER (ORDER BY speed DESC) FROM device) s WHERE key = md5(''60'')::uuid'
]) query;
ROLLBACK;
-- Pages behind rows that fit, and that do not
SET work_mem = '128kB';
SELECT query, lbt.nodes(query), lbt.answered_by(query) FROM unnest(ARRAY[
	'SELECT place FROM ranked ORDER BY place LIMIT 100 OFFSET 100',
	'SELECT place FROM ranked ORDER BY place LIMIT 100 OFFSET 900',
	'SELECT place FROM ranked ORDER BY place LIMIT 1000 OFFSET 900'
]) query;
RESET work_mem;
RESET plan_cache_mode;

-- Cursors.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, rank FROM ranked WHERE place <= 5;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH LAST FROM c;
FETCH ABSOLUTE 3 FROM c;
DECLARE h CURSOR WITH HOLD FOR SELECT id, rank FROM ranked WHERE id IN (1, 2, 3) ORDER BY id;
COMMIT;
FETCH ALL FROM h;
CLOSE h;

-- A transaction's own changes.
BEGIN;
INSERT INTO player VALUES (5001, 200, 1, 'best', 1);
DELETE FROM player WHERE id = 5;
UPDATE player SET score = 150 WHERE id = 9;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT * FROM ranked WHERE id IN (5, 9, 10, 5001)',
	'SELECT name, rank FROM ranked WHERE place <= 3',
	'SELECT name, rank FROM ranked ORDER BY place LIMIT 3',
	'SELECT name, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r, level DESC, id LIMIT 3'
]) query;
ROLLBACK;

-- A statement's own changes.
BEGIN;
WITH changed AS (UPDATE player SET score = 99 WHERE id = 7 RETURNING id)
SELECT c.id, r.score, r.rank FROM changed c, ranked r WHERE r.id = 7;
INSERT INTO player SELECT 10000 + id, rank, level FROM ranked WHERE id IN (7, 8);
SELECT id, score, rank FROM ranked WHERE id IN (7, 10007, 10008);
ROLLBACK;

-- Rights, and policies.
CREATE ROLE lb_reader;
GRANT SELECT ON ranked TO lb_reader;
SET ROLE lb_reader;
SELECT rank, name FROM ranked WHERE id = 7;
SELECT rank, name FROM ranked WHERE place = 1;
SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player) s WHERE id = 7;
SELECT id, rank() OVER (ORDER BY score DESC) FROM player ORDER BY 2 LIMIT 1;
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION rank() FROM public;
SET LOCAL ROLE lb_reader;
SELECT rank, name FROM ranked WHERE id = 7;
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION rank() FROM public;
GRANT SELECT ON player TO lb_reader;
SET LOCAL ROLE lb_reader;
SELECT id, rank() OVER (ORDER BY score DESC) FROM player ORDER BY 2 LIMIT 1;
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION int84eq(bigint, int) FROM public;
SET LOCAL ROLE lb_reader;
SELECT rank, name FROM ranked WHERE id = 7;
ROLLBACK;
RESET ROLE;
GRANT SELECT ON player TO lb_reader;
ALTER TABLE player ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON player USING (id % 2 = 0);
SET ROLE lb_reader;
SELECT lbt.nodes('SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player) s WHERE id = 8');
SELECT * FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player) s WHERE id IN (7, 8);
SELECT lbt.nodes('SELECT * FROM ranked WHERE id = 8');
SELECT lbt.nodes('SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM player ORDER BY r LIMIT 3');
RESET ROLE;
ALTER TABLE player DISABLE ROW LEVEL SECURITY;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, name, rank() OVER (ORDER BY score DESC) FROM player WHERE score < 50;
CREATE FUNCTION leak(text) RETURNS text LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$ BEGIN RAISE NOTICE 'leaked %', $1; RETURN $1; END $$;
SELECT lbt.nodes('SELECT * FROM barrier WHERE id = 7'), lbt.result('SELECT * FROM barrier WHERE id IN (7, 8)');
SELECT * FROM barrier WHERE id IN (7, 8) AND leak(name) <> '';
SELECT lbt.nodes('SELECT * FROM barrier WHERE id = 7 AND leak(name) <> '''''), lbt.nodes('SELECT * FROM barrier WHERE leak(name) = ''x''');

-- EXPLAIN ANALYZE counts no rows that the view hides from a role that cannot read the table.
CREATE VIEW level_3 WITH (security_barrier) AS SELECT * FROM (SELECT id, level, rank() OVER (ORDER BY score DESC) FROM player) s WHERE level = 3;
CREATE FUNCTION removed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Leaderboard|Removed|Answered' THEN
			RETURN NEXT regexp_replace(btrim(line), '(->  )?(.*) \(.*', '\2');
		END IF;
	END LOOP;
END $$;
SELECT (SELECT min(id) FROM player WHERE level = 3) AS seen, (SELECT min(id) FROM player WHERE level <> 3) AS hidden \gset
SELECT * FROM removed('SELECT * FROM level_3 WHERE id = ' || :hidden);
REVOKE SELECT ON player FROM lb_reader;
GRANT SELECT ON level_3 TO lb_reader;
SET ROLE lb_reader;
SELECT * FROM removed('SELECT * FROM level_3 WHERE id = ' || :hidden);
SELECT * FROM removed('SELECT * FROM level_3 WHERE id = 99999999');
SELECT * FROM removed('SELECT * FROM level_3 WHERE id = ' || :seen);
RESET ROLE;
DROP VIEW level_3;
DROP FUNCTION removed;
GRANT SELECT ON player TO lb_reader;

-- A parallel plan, the setting, and isolation levels.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT lbt.result('SELECT rank, name FROM ranked WHERE id IN (1, 2, 3)');
RESET ALL;
SELECT lb_wait_ready();
SET leaderboard.enable_planner = off;
SELECT lbt.nodes('SELECT * FROM ranked WHERE id = 7');
RESET ALL;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lbt.result('SELECT * FROM ranked WHERE id IN (7, 8)');
COMMIT;

-- OFFSET skips all rows, and PostgreSQL computes the select list for them.
SET plan_cache_mode = force_generic_plan;
PREPARE beyond(int) AS SELECT id, row_number() OVER (ORDER BY score DESC, level DESC, id), 10 / $1 FROM player
	ORDER BY score DESC, level DESC, id LIMIT 3 OFFSET 100000;
SELECT lbt.nodes('EXECUTE beyond(5)');
EXECUTE beyond(0);
EXECUTE beyond(5);
PREPARE beyond_view(int) AS SELECT id, 10 / $1 FROM ranked WHERE place <= 10 ORDER BY place LIMIT 3 OFFSET 20;
SELECT lbt.nodes('EXECUTE beyond_view(5)');
EXECUTE beyond_view(0);
EXECUTE beyond_view(5);
DEALLOCATE ALL;
RESET plan_cache_mode;

SELECT planned_reads > 100 AS planned_reads FROM lb_stat_board WHERE board = 'global';
-- A range of ranks is one read.
SELECT planned_reads FROM lb_stat_board WHERE board = 'global' \gset
SELECT id FROM ranked WHERE place <= 3 ORDER BY place;
SELECT planned_reads - :planned_reads AS reads FROM lb_stat_board WHERE board = 'global';
-- A read counts once, by what has answered it, also if the node finds that out late: when
-- the rows do not fit, or when it looks at the board again.
CREATE FUNCTION home() RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('regress.calls', (current_setting('regress.calls')::int + 1)::text, true);
	IF current_setting('regress.calls') = current_setting('regress.off_at') THEN
		PERFORM set_config('leaderboard.enable_index', 'off', true);
	END IF;
	RETURN 'FR';
END $$;
SELECT lb_stat_reset();
BEGIN;
SET LOCAL work_mem = '64kB'; SET LOCAL plan_cache_mode = force_generic_plan;
SET LOCAL regress.calls = 0; SET LOCAL regress.off_at = -1;
PREPARE by_place(int) AS SELECT count(*), sum(length(name)) FROM ranked WHERE place <= $1;
PREPARE late(int) AS SELECT max(place), count(*) FROM (SELECT id, row_number() OVER (ORDER BY points, id) AS place
	FROM country_player WHERE ok AND country = home()) s WHERE place <= $1;
EXECUTE by_place(3000);
SET LOCAL regress.calls = 0;
EXECUTE late(3);
SET LOCAL regress.calls = 0; SET LOCAL regress.off_at = 2;
EXECUTE late(3);
COMMIT;
DEALLOCATE ALL;
SELECT board, planned_reads, planned_queries, planned_limit, planned_disabled FROM lb_stat_board
WHERE board IN ('global', 'country:FR') ORDER BY board;
DROP FUNCTION home;
SELECT * FROM lb_verify();
DROP TABLE player, country_player, device, event_score, club, friend CASCADE;
DROP OWNED BY lb_reader;
DROP ROLE lb_reader;
DROP FUNCTION loops, leak;
