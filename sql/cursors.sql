--
-- Cursors of plain SQL that the planner answers by boards: what a session does between the
-- declaration and the first row
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, score int NOT NULL);
INSERT INTO player SELECT i, i * 7919 % 1000 FROM generate_series(1, 5000) i;
SELECT lb_create_board('global', 'player', 'id', 'score DESC');
CREATE TABLE member (id bigint, score int NOT NULL, part int NOT NULL, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE member_0 PARTITION OF member FOR VALUES IN (0);
CREATE TABLE member_1 PARTITION OF member FOR VALUES IN (1);
INSERT INTO member SELECT i, i * 7919 % 1000, i % 2 FROM generate_series(1, 5000) i;
SELECT lb_create_board('members', 'member', 'id,part', 'score DESC');
SELECT lb_wait_ready();
ANALYZE player, member;
CREATE VIEW ranked AS SELECT *, rank() OVER (ORDER BY score DESC) FROM player;

-- A function with its owner's rights opens it, and its caller reads it.
CREATE ROLE lbt_owner;
CREATE ROLE lbt_reader;
GRANT SELECT ON player, ranked TO lbt_owner;
CREATE FUNCTION own(int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1; END';
REVOKE EXECUTE ON FUNCTION own(int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION own(int) TO lbt_owner;
GRANT CREATE ON SCHEMA public TO lbt_owner;
SET ROLE lbt_owner;
CREATE FUNCTION opened(query text, OUT result refcursor) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	OPEN result FOR EXECUTE query;
END $$;
SET ROLE lbt_reader;
-- The index answers, or it cannot.
CREATE FUNCTION pg_temp.fetched(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result refcursor;
	r record;
	texts text[];
BEGIN
	FOR i IN 1 .. 2 LOOP
		result := opened(query);
		PERFORM set_config('leaderboard.enable_index', (i = 1)::text, false);
		FETCH result INTO r;
		texts := texts || r::text;
		PERFORM set_config('leaderboard.enable_index', 'on', false);
	END LOOP;
	RETURN texts;
END $$;
SELECT pg_temp.fetched('SELECT count(*) FROM player WHERE score > own(990)');
SELECT pg_temp.fetched('SELECT * FROM ranked WHERE id = own(5)');
SELECT pg_temp.fetched('SELECT * FROM player WHERE score < own(500) ORDER BY score DESC, id LIMIT 2 OFFSET 100');
SELECT pg_temp.fetched('SELECT * FROM ranked ORDER BY rank, id LIMIT own(2) OFFSET own(10)');
-- The role cannot call it itself.
SELECT count(*) FROM player WHERE score > own(990);
RESET ROLE;

-- The tables are in use, as by other plans.
SET client_min_messages = error;
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM ranked;
SAVEPOINT a;
TRUNCATE player;
ROLLBACK TO a;
DROP TABLE player CASCADE;
ROLLBACK TO a;
DELETE FROM player WHERE id <= 1000;
FETCH c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM ranked WHERE id = 5;
TRUNCATE player;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM member WHERE score >= 500;
SAVEPOINT a;
TRUNCATE member_0;
ROLLBACK TO a;
DROP TABLE member_0;
ROLLBACK TO a;
DELETE FROM member_0;
FETCH c;
CLOSE c;
TRUNCATE member_0;
SELECT count(*) FROM member WHERE score >= 500;
ROLLBACK;
SELECT * FROM lb_verify();

DROP FUNCTION pg_temp.fetched, opened, own;
DROP VIEW ranked;
DROP TABLE player, member;
REVOKE ALL ON SCHEMA public FROM lbt_owner;
DROP ROLE lbt_owner, lbt_reader;
