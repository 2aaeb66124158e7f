--
-- Plans that use boards, and the rights of those who run them: views that ask with the
-- rights of their reader or of their owner, barriers, columns, policies, and plans that
-- are kept and run by several roles
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL, tenant int NOT NULL, name text);
INSERT INTO player SELECT i, i * 7919 % 1000, i % 4, 'player ' || i FROM generate_series(1, 5000) i;
SELECT lb_create_board('player', 'player', 'id', 'score DESC');
SELECT lb_wait_ready();
ANALYZE player;

-- One may read all columns, one some of them, one none; the owner of views, and who sees
-- some rows only.
CREATE ROLE lbt_all; CREATE ROLE lbt_some; CREATE ROLE lbt_none; CREATE ROLE lbt_views; CREATE ROLE lbt_tenant;
GRANT SELECT ON player TO lbt_all, lbt_views, lbt_tenant;
GRANT SELECT (id, score) ON player TO lbt_some;
GRANT USAGE, CREATE ON SCHEMA public TO lbt_views;

-- Each of the nodes, once on the table, then in views of both kinds.
CREATE TABLE asked (n int, query text);
INSERT INTO asked VALUES
	(1, 'SELECT count(*) AS n, max(score) AS best FROM player WHERE score > 420'),
	(2, 'SELECT id, score FROM player ORDER BY score DESC, id LIMIT 2 OFFSET 3000'),
	(3, 'SELECT id FROM player WHERE id % 7 < 4 ORDER BY score DESC, id LIMIT 2'),
	(4, 'SELECT rank FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player) r WHERE id = 77'),
	(5, 'SELECT id, name FROM player ORDER BY score DESC, id LIMIT 2 OFFSET 3000'),
	(6, 'SELECT id FROM player WHERE tenant = 3 ORDER BY score DESC, id LIMIT 2');
DO $$
DECLARE
	a record;
BEGIN
	FOR a IN SELECT * FROM asked LOOP
		EXECUTE format('CREATE VIEW owners_%s AS %s', a.n, a.query);
		EXECUTE format('CREATE VIEW readers_%s WITH (security_invoker) AS %s', a.n, a.query);
		EXECUTE format('CREATE VIEW barrier_%s WITH (security_barrier) AS %s', a.n, a.query);
		EXECUTE format('CREATE VIEW reader_of_owners_%s WITH (security_invoker) AS SELECT * FROM owners_%1$s', a.n);
		EXECUTE format('ALTER VIEW owners_%s OWNER TO lbt_views; ALTER VIEW readers_%1$s OWNER TO lbt_views; ALTER VIEW barrier_%1$s OWNER TO lbt_views', a.n);
		EXECUTE format('GRANT SELECT ON owners_%s, readers_%1$s, barrier_%1$s, reader_of_owners_%1$s TO PUBLIC', a.n);
	END LOOP;
END $$;
GRANT SELECT ON asked TO PUBLIC;

-- What a query returns as a role, as the index and as the plan below it; all ways must
-- agree, also in errors.
CREATE FUNCTION as_role(role text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	answered text;
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	BEGIN
		-- At first, so that a plan that is kept has nodes.
		answered := lbt.answered_by(query);
	EXCEPTION WHEN insufficient_privilege THEN
		answered := 'error';
	END;
	result := lbt.result(query, true);
	RESET ROLE;
	RETURN concat(result, '; ', coalesce(nullif(answered, ''), 'none'));
END $$;
SELECT n, role, as_role(role, query) FROM asked, unnest('{lbt_all,lbt_some,lbt_none,lbt_tenant}'::text[]) role ORDER BY n, role;
SELECT kind || n AS view, role, as_role(role, format('SELECT * FROM %s%s', kind, n))
FROM asked, unnest('{owners_,readers_,barrier_,reader_of_owners_}'::text[]) kind, unnest('{lbt_all,lbt_some,lbt_none}'::text[]) role ORDER BY n, kind COLLATE "C", role;

-- Policies: those of the reader, of the views' owner, and of nobody.
CREATE POLICY own ON player TO lbt_tenant USING (tenant = 2);
CREATE POLICY high ON player TO lbt_views USING (score > 500);
CREATE POLICY every ON player TO lbt_all USING (id > 0);
ALTER TABLE player ENABLE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SELECT n, role, as_role(role, query) FROM asked, unnest('{lbt_all,lbt_tenant,none}'::text[]) role WHERE n < 5 ORDER BY n, role;
SELECT kind || n AS view, role, as_role(role, format('SELECT * FROM %s%s', kind, n))
FROM asked, unnest('{owners_,readers_,reader_of_owners_}'::text[]) kind, unnest('{lbt_tenant,none}'::text[]) role WHERE n < 5 ORDER BY n, kind COLLATE "C", role;
-- The session's user owns the table, and is subject to its policies if it says so.
ALTER TABLE player FORCE ROW LEVEL SECURITY;
ALTER TABLE player OWNER TO lbt_views;
SELECT lb_wait_ready();
SELECT n, as_role('lbt_views', query) FROM asked WHERE n < 5 ORDER BY n;
ALTER TABLE player NO FORCE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SELECT n, as_role('lbt_views', query) FROM asked WHERE n < 5 ORDER BY n;

-- One plan for any values, kept by the session and by functions, run by several roles.
SET plan_cache_mode = force_generic_plan;
PREPARE above(int) AS SELECT count(*) FROM player WHERE score > $1;
PREPARE page(int) AS SELECT id FROM player ORDER BY score DESC, id LIMIT 2 OFFSET $1;
PREPARE scan(int) AS SELECT id FROM player WHERE id % 7 < $1 ORDER BY score DESC, id LIMIT 2;
PREPARE ranked(bigint) AS SELECT rank FROM (SELECT id, rank() OVER (ORDER BY score DESC) FROM player) r WHERE id = $1;
PREPARE of_owner(int) AS SELECT n FROM owners_1 WHERE n > $1;
CREATE FUNCTION by_reader(int) RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN count(*) FROM public.player WHERE score > $1; END';
CREATE FUNCTION by_owner(int) RETURNS bigint LANGUAGE plpgsql STABLE SECURITY DEFINER AS 'BEGIN RETURN count(*) FROM public.player WHERE score > $1; END';
CREATE TABLE kept (n serial, execute text);
GRANT SELECT ON kept TO PUBLIC;
INSERT INTO kept (execute) VALUES ('EXECUTE above(420)'), ('EXECUTE page(30)'), ('EXECUTE scan(4)'), ('EXECUTE ranked(78)'), ('EXECUTE of_owner(0)'),
	('SELECT by_reader(420)'), ('SELECT by_owner(420)');
-- Version 17 proves that lbt_some can see no row, and then reads nothing.
SELECT CASE WHEN current_setting('server_version_num')::int >= 170000 THEN 'none' ELSE 'Aggregate index' END AS no_row \gset
SELECT n, role, CASE WHEN n = 1 AND role = 'lbt_some' THEN replace(as_role(role, execute), '; ' || :'no_row', '; known') ELSE as_role(role, execute) END FROM kept, unnest('{none,lbt_all,lbt_tenant,lbt_some,lbt_none,none,lbt_tenant,lbt_views}'::text[]) WITH ORDINALITY AS r (role, o)
ORDER BY n, o;
ALTER TABLE player DISABLE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SELECT n, role, as_role(role, execute) FROM kept, unnest('{none,lbt_all,lbt_some,lbt_none,lbt_tenant,none}'::text[]) WITH ORDINALITY AS r (role, o)
ORDER BY n, o;
-- A right that is taken back counts at once.
REVOKE SELECT ON player FROM lbt_all;
SELECT n, as_role('lbt_all', execute) FROM kept ORDER BY n;
GRANT SELECT (id, score) ON player TO lbt_all;
SELECT n, as_role('lbt_all', execute) FROM kept ORDER BY n;
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Functions that tell what they see run behind a barrier, on rows that the view shows.
CREATE FUNCTION tells(int) RETURNS boolean LANGUAGE plpgsql STABLE COST 0.0001 AS $$ BEGIN IF $1 <= 500 THEN RAISE NOTICE 'score %', $1; END IF; RETURN $1 > 0; END $$;
CREATE VIEW high WITH (security_barrier) AS SELECT * FROM player WHERE score > 500;
GRANT SELECT ON high TO PUBLIC;
SELECT query, as_role('lbt_none', query) FROM unnest(ARRAY[
	'SELECT count(*) FROM high',
	'SELECT count(*) FROM high WHERE score < 600',
	'SELECT count(*) FROM high WHERE tells(score)',
	'SELECT id FROM high ORDER BY score, id DESC LIMIT 2',
	'SELECT id FROM high ORDER BY score, id DESC LIMIT 2 OFFSET 100',
	'SELECT id FROM high WHERE tells(score) ORDER BY score, id DESC LIMIT 2',
	'SELECT tells(score), id FROM high ORDER BY score, id DESC LIMIT 2 OFFSET 2',
	'SELECT r FROM (SELECT id, rank() OVER (ORDER BY score DESC) AS r FROM high) h WHERE id = 77'
]) query;

SELECT * FROM lb_verify();
\set VERBOSITY terse
DROP TABLE player CASCADE;
\set VERBOSITY default
DROP TABLE asked, kept;
DROP FUNCTION as_role, by_reader, by_owner, tells;
REVOKE ALL ON SCHEMA public FROM lbt_views;
DROP ROLE lbt_all, lbt_some, lbt_none, lbt_views, lbt_tenant;
