--
-- What EXPLAIN can be asked of each node: a plan for parameters that have no values yet
-- (GENERIC_PLAN, from version 16 on), the cost of putting out the rows (SERIALIZE) and
-- the planner's memory (MEMORY, both from 17 on).  An earlier version is asked what it
-- knows.
--
CREATE TABLE x (id bigint PRIMARY KEY, score integer NOT NULL, guild integer NOT NULL);
INSERT INTO x SELECT i, i * 7 % 1000, i % 10 FROM generate_series(1, 3000) i;
CREATE TABLE xp (id bigint PRIMARY KEY, score integer NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE xp_1 PARTITION OF xp FOR VALUES FROM (0) TO (1000);
CREATE TABLE xp_2 PARTITION OF xp FOR VALUES FROM (1000) TO (5000);
INSERT INTO xp SELECT id, score FROM x;
CREATE VIEW x_ranked AS SELECT id, guild, row_number() OVER (ORDER BY score DESC, id) AS place FROM x;
SELECT lb_create_board('x', 'x', 'id'), lb_create_board('xp', 'xp', 'id');
SELECT lb_wait_ready();
VACUUM ANALYZE x, xp;

-- The nodes in plans of a statement, for the parameters that it has and for these values,
-- each with what answered it.
CREATE FUNCTION pg_temp.explained(statement text, params text) RETURNS TABLE (how text, nodes text) LANGUAGE plpgsql AS $$
DECLARE
	version integer := current_setting('server_version_num');
	all_options text := CASE WHEN version >= 170000 THEN ', SERIALIZE, MEMORY' ELSE '' END;
	line text;
	call record;
BEGIN
	EXECUTE format('PREPARE explained AS %s', statement);
	PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
	FOR call IN SELECT * FROM (VALUES
		('generic', CASE WHEN version >= 160000 THEN format('EXPLAIN (GENERIC_PLAN, VERBOSE%s) %s',
			CASE WHEN version >= 170000 THEN ', MEMORY' END, statement)
			ELSE format('EXPLAIN (VERBOSE) EXECUTE explained(%s)', params) END),
		('text', format('EXPLAIN (ANALYZE, VERBOSE, BUFFERS, SETTINGS%s) EXECUTE explained(%s)', all_options, params)),
		('json', format('EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF%s) EXECUTE explained(%s)', all_options, params))) AS c (name, explain) LOOP
		how := call.name;
		nodes := '';
		FOR line IN EXECUTE call.explain LOOP
			SELECT concat_ws(', ', nullif(nodes, ''), string_agg(m[1], ', ' ORDER BY o)) INTO nodes
			FROM regexp_matches(line, '(Leaderboard \w+|(?<=Answered by"?: "?)\w+|Function Scan)', 'g') WITH ORDINALITY AS f (m, o);
		END LOOP;
		RETURN NEXT;
	END LOOP;
	DEALLOCATE explained;
END $$;
SELECT name, e.* FROM (VALUES
	('page', 'SELECT id, score FROM x WHERE score < $1 ORDER BY score DESC, id LIMIT $2 OFFSET $3', '700, 5, 3'),
	('scan', 'SELECT id FROM x WHERE guild = $1 ORDER BY score DESC, id LIMIT 3', '7'),
	('keyset', 'SELECT id FROM x WHERE (score, -id) < ($1, $2) ORDER BY score DESC, id LIMIT 3', '500, -1000'),
	('aggregate', 'SELECT count(*), min(score), count(*) FILTER (WHERE score > $2) FROM x WHERE score > $1', '300, 700'),
	('a count in a subquery', 'SELECT p.id, (SELECT 1 + count(*) FROM x WHERE score > p.score) FROM x p WHERE p.id = $1', '77'),
	('rank', 'SELECT * FROM x_ranked WHERE id = $1', '77'),
	('page of ranks', 'SELECT * FROM x_ranked WHERE place > $1 ORDER BY place LIMIT $2', '500, 5'),
	('nested loop', 'SELECT * FROM (VALUES ($1::bigint), ($2)) AS u (id), LATERAL (SELECT place FROM x_ranked r WHERE r.id = u.id OFFSET 0) l', '1, 2'),
	('window', 'SELECT id, count(*) OVER () FROM x WHERE score > $1 ORDER BY score DESC, id LIMIT 3', '990'),
	('partitions', 'SELECT count(*), max(score) FROM xp WHERE score < $1', '500'),
	('function', 'SELECT * FROM lb_top($1, $2) WHERE score > $3', '5, ''x'', 3'),
	('functions', 'SELECT a.rank, r.* FROM lb_around($1, ''x'', $2) a, ROWS FROM (lb_at(a.rank, ''x''), lb_rank(a.member, ''x'')) r', '77, 2'))
	AS q (name, statement, params), pg_temp.explained(statement, params) AS e;

-- Where the index does not answer, the plan below is shown, and put out.
SET leaderboard.debug_planner_child = force;
SELECT name, e.* FROM (VALUES
	('page', 'SELECT id, score FROM x WHERE score < $1 ORDER BY score DESC, id LIMIT $2 OFFSET $3', '700, 5, 3'),
	('scan', 'SELECT id FROM x WHERE guild = $1 ORDER BY score DESC, id LIMIT 3', '7'),
	('aggregate', 'SELECT count(*), min(score) FROM x WHERE score > $1', '300'),
	('rank', 'SELECT * FROM x_ranked WHERE id = $1', '77'))
	AS q (name, statement, params), pg_temp.explained(statement, params) AS e;
RESET leaderboard.debug_planner_child;
SELECT * FROM lb_verify();
DROP VIEW x_ranked;
DROP TABLE x, xp;
