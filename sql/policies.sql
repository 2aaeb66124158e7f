--
-- Plain SQL under policies of row-level security
--
\pset format unaligned

CREATE TABLE score (id bigint PRIMARY KEY, tenant int NOT NULL, points int NOT NULL, name text NOT NULL);
INSERT INTO score SELECT i, i % 3 + 1, i * 7919 % 1000, 'player ' || i FROM generate_series(1, 6000) i;
SELECT lb_create_board('tenant', 'score', 'id', 'points DESC', board_column => 'tenant');
SELECT lb_create_board('all', 'score', 'id', 'points DESC, tenant');
SELECT lb_wait_ready();
ANALYZE score;
CREATE ROLE lb_owner;
CREATE ROLE lb_tenant;
CREATE ROLE lb_other;
CREATE ROLE lb_staff;
CREATE ROLE lb_bypass BYPASSRLS;
ALTER TABLE score OWNER TO lb_owner;
GRANT SELECT ON score TO lb_tenant, lb_other, lb_staff, lb_bypass;
GRANT USAGE, CREATE ON SCHEMA public TO lb_owner, lb_tenant;
CREATE VIEW ranked WITH (security_invoker) AS SELECT *, rank() OVER (PARTITION BY tenant ORDER BY points DESC) FROM score;
GRANT SELECT ON ranked TO lb_tenant, lb_staff;
SELECT CASE WHEN current_setting('server_version_num')::int >= 170000 THEN '' ELSE 'Aggregate index' END AS no_row \gset
CREATE TABLE asked (n serial, query text);
GRANT SELECT ON asked TO PUBLIC;
INSERT INTO asked (query) VALUES
	('SELECT count(*) + 1 AS rank FROM score WHERE points > 500'),
	('SELECT count(*), max(points) FROM score'),
	('SELECT count(*) FROM score WHERE points > 500 AND tenant = 2'),
	('SELECT id, points FROM score ORDER BY points DESC, id LIMIT 2 OFFSET 1000'),
	('SELECT id, points FROM score WHERE name LIKE ''%7'' ORDER BY points DESC, id LIMIT 2'),
	('SELECT rank, name FROM ranked WHERE id = 43'),
	('SELECT rank, name FROM ranked WHERE id = 42'),
	('SELECT count(*) FROM (SELECT 1 FROM score WHERE points > 500 LIMIT 100) s');
CREATE FUNCTION ask() RETURNS TABLE (query text, answered_by text, result text) LANGUAGE sql AS
	'SELECT query, lbt.answered_by(query), lbt.result(query) FROM asked ORDER BY n';

-- No policy lets anyone see a row.
ALTER TABLE score ENABLE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SET ROLE lb_tenant;
-- Version 17 proves that, and reads nothing.
SELECT query, answered_by = CASE WHEN query LIKE '%500' THEN :'no_row' ELSE '' END AS known, result FROM ask() LIMIT 2;
RESET ROLE;

-- True for staff; the board of the tenant for others.
CREATE POLICY staff ON score TO lb_staff USING (true);
CREATE POLICY tenant ON score TO lb_tenant USING (tenant = current_setting('app.tenant')::int);
SELECT lb_wait_ready();
SET ROLE lb_staff;
SELECT * FROM ask();
SET ROLE lb_tenant;
SET app.tenant = 2;
SELECT lbt.plan('SELECT count(*) + 1 AS rank FROM score WHERE points > 500', 'ANALYZE');
SELECT lbt.plan('SELECT id FROM score ORDER BY points DESC, id LIMIT 2 OFFSET 1000', 'ANALYZE');
SELECT lbt.plan('SELECT rank, name FROM ranked WHERE id = 43', 'ANALYZE');
SELECT * FROM ask();
SET app.tenant = 7;
SELECT * FROM ask();
SET app.tenant = 'x';
SELECT lbt.result(query) FROM asked ORDER BY n LIMIT 1;
SET app.tenant = 2;

-- The functions look at no policy: they run their queries.
SELECT lb_rank(43, 'tenant:2'), lb_rank(42, 'tenant:1');
RESET ROLE;
SELECT planned_reads > 0 AS planned, query_row_security FROM lb_stat_board WHERE board = 'tenant:2';

-- One plan, and several roles.
SET plan_cache_mode = force_generic_plan;
PREPARE above(int) AS SELECT count(*) FROM score WHERE points > $1;
EXECUTE above(500);
SET ROLE lb_tenant;
EXECUTE above(500);
SET app.tenant = 3;
EXECUTE above(800);
SET ROLE lb_staff;
EXECUTE above(800);
SET ROLE lb_other;
EXECUTE above(800);
SET ROLE lb_owner;
EXECUTE above(800);
SET ROLE lb_bypass;
EXECUTE above(800);
RESET ROLE;
ALTER TABLE score FORCE ROW LEVEL SECURITY;
SELECT lb_wait_ready();
SET ROLE lb_owner;
EXECUTE above(800);
SET row_security = off;
EXECUTE above(800);
RESET row_security;
RESET ROLE;
EXECUTE above(800);
ALTER TABLE score NO FORCE ROW LEVEL SECURITY;
DEALLOCATE above;
RESET plan_cache_mode;

-- A view with its owner's rights has the owner's policies, and others not.
CREATE VIEW owners AS SELECT * FROM score;
CREATE VIEW tenants AS SELECT * FROM score;
ALTER VIEW tenants OWNER TO lb_tenant;
GRANT SELECT ON owners, tenants TO lb_other;
SELECT lb_wait_ready();
SET ROLE lb_other;
SET app.tenant = 2;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM unnest(ARRAY[
	'SELECT count(*) FROM owners WHERE points > 500 AND tenant = 1',
	'SELECT count(*) FROM tenants WHERE points > 500'
]) query;
SELECT query, lbt.answered_by(query) = :'no_row' AS known, lbt.result(query) FROM (VALUES ('SELECT count(*) FROM score WHERE points > 500')) v (query);
RESET ROLE;

-- Conditions that do not depend on the row, and several policies.
CREATE POLICY admin ON score TO lb_tenant USING (current_setting('app.admin', true) = 'yes');
CREATE POLICY open ON score AS RESTRICTIVE TO lb_tenant USING (current_setting('app.closed', true) IS DISTINCT FROM 'yes');
SELECT lb_wait_ready();
SET ROLE lb_tenant;
SELECT lbt.plan('SELECT count(*) FROM score WHERE points > 500', 'ANALYZE');
SELECT * FROM ask();
SET app.closed = 'yes';
SELECT * FROM ask();
SET app.admin = 'yes';
SELECT * FROM ask();
RESET app.closed;
SELECT * FROM ask();
RESET app.admin;
RESET ROLE;
DROP POLICY admin ON score;
DROP POLICY open ON score;

-- What a policy hides no function sees.
CREATE FUNCTION spy(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
	'BEGIN IF $1 IN (''player 5'', ''player 6'') THEN RAISE NOTICE ''% is hidden'', $1; END IF; RETURN true; END';
CREATE FUNCTION spy(int) RETURNS int LANGUAGE plpgsql STABLE COST 0.0001 AS
	'BEGIN IF $1 > 2000 THEN RAISE NOTICE ''% is hidden'', $1; END IF; RETURN $1; END';
GRANT EXECUTE ON FUNCTION spy(text), spy(int) TO PUBLIC;
UPDATE score SET points = 2000 + id % 7 WHERE id IN (5, 6, 7);
SET ROLE lb_tenant;
SELECT id, name FROM score WHERE spy(name) ORDER BY points DESC, id LIMIT 1;
SELECT id, spy(points) FROM score ORDER BY points DESC, id LIMIT 1;
SELECT count(*) FROM score WHERE points > spy(1999);
SELECT id FROM ranked WHERE id = 42 AND spy(name);
SELECT lbt.plan('SELECT id FROM score WHERE name <> ''player 7'' ORDER BY points DESC, id LIMIT 1', 'ANALYZE');
RESET ROLE;

-- Other policies: the plan below.
CREATE TABLE member (name name, tenant int);
INSERT INTO member VALUES ('lb_tenant', 2);
GRANT SELECT ON member TO PUBLIC;
CREATE FUNCTION is_two(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 = 2; END';
CREATE FUNCTION policy_is(text) RETURNS TABLE (policy text, answered text, result text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'DROP POLICY tenant ON score';
	EXECUTE format('CREATE POLICY tenant ON score TO lb_tenant USING (%s)', $1);
	PERFORM lb_wait_ready();
	SET LOCAL ROLE lb_tenant;
	RETURN QUERY SELECT $1, string_agg(lbt.answered_by(query), ' | ' ORDER BY n), md5(string_agg(lbt.result(query), ' | ' ORDER BY n)) FROM asked;
	RESET ROLE;
END $$;
SELECT * FROM policy_is('tenant = (SELECT current_setting(''app.tenant'')::int)');
SELECT * FROM policy_is('tenant = 2');
SELECT * FROM policy_is('2 = tenant AND true');
SELECT * FROM policy_is('tenant = 2::bigint');
SELECT * FROM policy_is('points < 900');
SELECT * FROM policy_is('tenant = 2 AND points < 900');
SELECT * FROM policy_is('tenant IN (1, 2)');
SELECT * FROM policy_is('tenant >= 2');
SELECT * FROM policy_is('tenant = 2 OR name = current_user');
SELECT * FROM policy_is('tenant IN (SELECT m.tenant FROM member m WHERE m.name = current_user)');
SELECT * FROM policy_is('is_two(tenant)');
SELECT * FROM policy_is('tenant::numeric = 2.0');
SELECT * FROM policy_is('tenant::text = ''2''');
SELECT * FROM policy_is('tenant = 2 AND name > ''''');
SELECT * FROM policy_is('tenant = 2 AND random() >= 0');

SELECT * FROM lb_verify();
DROP TABLE score, asked, member CASCADE;
DROP FUNCTION ask, spy(text), spy(int), is_two, policy_is;
DROP OWNED BY lb_owner, lb_tenant, lb_other, lb_staff, lb_bypass;
DROP ROLE lb_owner, lb_tenant, lb_other, lb_staff, lb_bypass;
