--
-- Rows that are off a board, and plain SQL that does not leave them out
--
\pset format unaligned

CREATE TABLE player (id bigint PRIMARY KEY, points int, ranked boolean NOT NULL DEFAULT true, name text);
INSERT INTO player SELECT i, i * 7919 % 1000, true, 'player ' || i FROM generate_series(1, 20000) i;
SELECT lb_create_board('points', 'player', 'id', 'points DESC', ranked_if => 'ranked');
CREATE TABLE club (id bigint, country text, points int, PRIMARY KEY (id));
INSERT INTO club SELECT i, CASE i % 3 WHEN 0 THEN 'FR' WHEN 1 THEN 'JP' END, i * 7919 % 1000 FROM generate_series(1, 20000) i;
SELECT lb_create_board('clubs', 'club', 'id', 'points DESC', board_column => 'country');
SELECT lb_wait_ready();
ANALYZE player, club;
CREATE VIEW ranked_player AS SELECT *, rank() OVER (ORDER BY points DESC) FROM player;
CREATE VIEW off AS SELECT board, members, off_board FROM lb_stat_board WHERE kind <> 'family' ORDER BY board COLLATE "C";

-- Queries of people who know nothing of boards.  While no row is off the board ...
CREATE TABLE asked (n serial, query text);
INSERT INTO asked (query) VALUES
	('SELECT count(*) FROM player'),
	('SELECT count(*) + 1 FROM player WHERE points > 500'),
	('SELECT max(points), count(DISTINCT points) FROM player'),
	('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY points) FROM player'),
	('SELECT rank, name FROM ranked_player WHERE id = 42'),
	('SELECT name FROM player ORDER BY points DESC, id LIMIT 2 OFFSET 10000'),
	('SELECT name FROM player ORDER BY points DESC NULLS LAST, id LIMIT 2 OFFSET 10000'),
	('SELECT name FROM player WHERE name LIKE ''player 1%'' ORDER BY points DESC, id LIMIT 2'),
	('SELECT count(*) FROM player WHERE points > 500 AND ranked'),
	('SELECT count(*) FROM club WHERE country = ''FR'''),
	('SELECT id FROM club WHERE country = ''JP'' ORDER BY points DESC, id LIMIT 2 OFFSET 3000'),
	('SELECT r FROM (SELECT id, rank() OVER (PARTITION BY country ORDER BY points DESC) r FROM club) c WHERE id = 9'),
	('SELECT r FROM (SELECT id, rank() OVER (PARTITION BY country ORDER BY points DESC) r FROM club) c WHERE id = 8');
SELECT query, lbt.answered_by(query), lbt.result(query) FROM asked ORDER BY n;

-- ... and while some are.  One query leaves them out.
UPDATE player SET ranked = false WHERE id IN (42, 77);
UPDATE player SET points = NULL WHERE id = 99;
UPDATE club SET points = NULL WHERE id IN (8, 9);
SELECT * FROM off;
SELECT query, lbt.answered_by(query), lbt.result(query) FROM asked ORDER BY n;
SELECT * FROM lb_verify();
UPDATE player SET ranked = true, points = coalesce(points, 0);
UPDATE club SET points = 0 WHERE points IS NULL;
SELECT * FROM off;
SELECT query, lbt.answered_by(query) FROM asked ORDER BY n;

-- The snapshot and own changes decide, not the plan.
SET plan_cache_mode = force_generic_plan;
PREPARE above AS SELECT count(*) FROM player WHERE points > 500;
EXECUTE above;
BEGIN;
UPDATE player SET ranked = false WHERE id = 1;
SELECT lbt.answered_by('EXECUTE above');
SAVEPOINT a;
UPDATE player SET ranked = true WHERE id = 1;
SELECT lbt.answered_by('EXECUTE above');
ROLLBACK TO a;
SELECT lbt.answered_by('EXECUTE above');
UPDATE player SET ranked = true WHERE id = 1;
DECLARE c CURSOR FOR SELECT count(*) FROM player WHERE points > 500;
INSERT INTO player VALUES (30000, 600, false), (30001, NULL, true);
EXECUTE above;
FETCH c;
SELECT * FROM lb_verify('points');
ROLLBACK;
SELECT lbt.answered_by('EXECUTE above');
SELECT planned_off_board FROM lb_stat('points');

-- More own changes of rows off the board than a read adds up under the lock.
BEGIN;
DO $$
BEGIN
	FOR i IN 1 .. 600 LOOP
		INSERT INTO player VALUES (30000, NULL);
		DELETE FROM player WHERE id = 30000;
	END LOOP;
END $$;
SELECT lbt.answered_by('EXECUTE above');
ROLLBACK;

-- What changes the number: every statement that writes rows.
INSERT INTO player VALUES (40000, 5, false), (40001, NULL, true), (40002, NULL, false), (40003, 5, true);
SELECT * FROM off WHERE board = 'points';
INSERT INTO player VALUES (40000, 5), (40001, 5) ON CONFLICT (id) DO UPDATE SET ranked = true, points = excluded.points;
SELECT * FROM off WHERE board = 'points';
MERGE INTO player p USING generate_series(40000, 40003) i ON p.id = i
WHEN MATCHED AND id = 40002 THEN DELETE WHEN MATCHED THEN UPDATE SET ranked = false;
SELECT * FROM off WHERE board = 'points';
COPY player FROM stdin;
50000	\N	t	\N
50001	7	f	\N
50002	7	t	\N
\.
SELECT * FROM off WHERE board = 'points';
DELETE FROM player WHERE id > 20000;
SELECT * FROM off WHERE board = 'points';
BEGIN;
INSERT INTO player VALUES (40000, 5, false);
PREPARE TRANSACTION 'off';
SELECT * FROM off WHERE board = 'points';
EXECUTE above;
COMMIT PREPARED 'off';
EXECUTE above;
SELECT * FROM lb_verify();
BEGIN;
TRUNCATE player;
INSERT INTO player VALUES (1, 5, false), (2, 600, true);
EXECUTE above;
SELECT * FROM lb_verify('points');
COMMIT;
SELECT * FROM off WHERE board = 'points';
EXECUTE above;
DELETE FROM player WHERE id = 1;
SELECT lbt.answered_by('EXECUTE above');

-- A build counts them, and a family's board lives while it has some.
INSERT INTO player SELECT i, i, i % 10 <> 0 FROM generate_series(10, 99) i;
INSERT INTO club VALUES (30000, 'DE', NULL), (30001, 'DE', NULL), (30002, NULL, NULL), (30003, repeat('x', 2000), NULL);
SELECT lb_rebuild('points'), lb_rebuild('clubs');
SELECT lb_wait_ready();
SELECT * FROM off;
SELECT * FROM lb_verify();
UPDATE club SET country = 'FR' WHERE id = 30000;
SELECT * FROM off;
DELETE FROM club WHERE country = 'DE';
SELECT lbt.given_back('club');
SELECT * FROM off;
SELECT * FROM lb_verify();

-- A row that is ranked, with a text that is too long for a key: the queries of its board
-- are run, and no other board of the family has less of its index.
CREATE TABLE clan (realm text, name text, points int, PRIMARY KEY (realm, name));
INSERT INTO clan SELECT (ARRAY['A', 'B', 'C'])[1 + i % 3], 'clan ' || i, i * 7919 % 1000 FROM generate_series(1, 9000) i;
SELECT lb_create_board('clans', 'clan', 'name', 'points DESC', board_column => 'realm');
SELECT lb_wait_ready();
ANALYZE clan;
CREATE VIEW clans AS SELECT board, state, reason, members, off_board FROM lb_stat_board WHERE board ~ '^clans' ORDER BY board COLLATE "C";

-- Which reads of the board A, and of B, are by the index; and whether the answers are those of the queries.
CREATE FUNCTION read_clans() RETURNS TABLE (board text, by_index bigint, by_query bigint, planned text, same boolean) LANGUAGE plpgsql AS $$
DECLARE
	query text;
	by_boards text;
	without text;
BEGIN
	FOREACH board IN ARRAY '{clans:A,clans:B}'::text[] LOOP
		query := format($q$SELECT concat(lb_rank_key('clan 300', %1$L), ' ', lb_count(%1$L), ' ', lb_rank_key(repeat('x', 600), %1$L), ' ',
			lb_percentile_key('clan 302', %1$L), ' ', (SELECT string_agg(t::text, ' ') FROM lb_top_key(3, %1$L) t))$q$, board);
		SELECT index_reads, query_limit INTO by_index, by_query FROM lb_stat(board);
		EXECUTE query INTO by_boards;
		SELECT index_reads - by_index, query_limit - by_query INTO by_index, by_query FROM lb_stat(board);
		SET LOCAL leaderboard.enable_index = off;
		EXECUTE query INTO without;
		SET LOCAL leaderboard.enable_index = on;
		planned := lbt.answered_by(format('SELECT count(*) + 1 FROM clan WHERE realm = %L AND points > 500', right(board, 1)));
		same := by_boards = without;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM read_clans();
INSERT INTO clan VALUES ('A', repeat('x', 600), 5000);
SELECT * FROM clans;
SELECT * FROM read_clans();
SELECT * FROM lb_verify();
SELECT rank, left(member, 8) AS member, score FROM lb_top_key(2, 'clans:A');
-- A build counts them.
SELECT lb_rebuild('clans');
SELECT * FROM clans;
SELECT * FROM read_clans();
-- The snapshot and own changes decide.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT lb_count('clans:A'), lb_count('clans:B');
UPDATE clan SET name = 'short' WHERE name LIKE 'xxx%';
SELECT * FROM read_clans();
SAVEPOINT a;
INSERT INTO clan VALUES ('B', repeat('y', 513), NULL);
SELECT * FROM read_clans();
INSERT INTO clan VALUES ('B', repeat('y', 514), 5001);
SELECT * FROM read_clans();
UPDATE clan SET realm = 'A' WHERE name LIKE 'yyy%';
SELECT * FROM read_clans();
ROLLBACK TO a;
SELECT * FROM read_clans();
PREPARE TRANSACTION 'clans';
SELECT * FROM read_clans();
COMMIT PREPARED 'clans';
SELECT * FROM read_clans();
SELECT * FROM clans;
-- A generic plan that was made without the row.
PREPARE realm(text) AS SELECT count(*) + 1 FROM clan WHERE realm = $1 AND points > 500;
SELECT lbt.answered_by('EXECUTE realm(''A'')');
INSERT INTO clan VALUES ('A', repeat('x', 600), 5000);
SELECT lbt.answered_by('EXECUTE realm(''A'')'), lbt.answered_by('EXECUTE realm(''B'')');
EXPLAIN (COSTS OFF) SELECT count(*) + 1 FROM clan WHERE realm = 'A' AND points > 500;
-- Where a board that is offline raises an error, so does this one.
SET leaderboard.offline = error;
SELECT lb_count('clans:A');
SELECT lb_count('clans:B');
EXECUTE realm('A');
RESET leaderboard.offline;
-- A plan that was made beside the row has the board when it has gone.
DEALLOCATE realm;
PREPARE realm(text) AS SELECT count(*) + 1 FROM clan WHERE realm = 'A' AND points > length($1);
SELECT lbt.answered_by('EXECUTE realm(''1234567'')');
BEGIN;
DELETE FROM clan WHERE realm = 'A' AND length(name) > 512;
COMMIT;
SELECT lbt.answered_by('EXECUTE realm(''1234567'')');
-- A board of which no row has a key.
INSERT INTO clan VALUES ('D', repeat('x', 600), 1), ('D', repeat('y', 600), 2);
SELECT lb_count('clans:D'), lb_rank_key(repeat('x', 600), 'clans:D');
SET leaderboard.unknown_board = error;
CREATE TABLE league (realm text, name text, points int, PRIMARY KEY (realm, name));
SELECT lb_create_board('*', 'league', 'name', 'points DESC', board_column => 'realm');
SELECT lb_wait_ready();
INSERT INTO league VALUES ('z:1', repeat('x', 600), 1);
SELECT lb_count('z:1');
SELECT lb_create_board('z', 'clan', 'name', 'points DESC', board_column => 'realm');
SELECT * FROM lb_verify('*');
DROP TABLE league;
RESET leaderboard.unknown_board;
SELECT * FROM clans;
SELECT * FROM lb_verify();
DELETE FROM clan WHERE length(name) > 512;
SELECT lbt.given_back('clan');
SELECT * FROM clans;
SELECT * FROM read_clans();
SELECT * FROM lb_verify();
DEALLOCATE realm;

-- lb_hide() and lb_show() on the default tables.
SELECT lb_create_tables();
SELECT lb_wait_ready();
INSERT INTO player_scores (player_id, score) SELECT i, i * 7919 % 1000 FROM generate_series(1, 20000) i;
ANALYZE player_scores;
SELECT lbt.answered_by('SELECT count(*) + 1 FROM player_scores WHERE score > 420');
SELECT lb_hide(7);
SELECT lbt.answered_by('SELECT count(*) + 1 FROM player_scores WHERE score > 420'),
	lbt.answered_by('SELECT count(*) + 1 FROM player_scores WHERE score > 420 AND ranked');
-- A plan that was made meanwhile is made again.
PREPARE kept AS SELECT count(*) + 1 FROM player_scores WHERE score > 420;
EXPLAIN (COSTS OFF) EXECUTE kept;
SELECT lb_show(7);
EXPLAIN (COSTS OFF) EXECUTE kept;
SELECT lbt.answered_by('SELECT count(*) + 1 FROM player_scores WHERE score > 420');
SELECT * FROM lb_verify();

DROP VIEW off, ranked_player, clans;
DROP FUNCTION read_clans();
DROP TABLE player, club, clan, player_scores, player_score_windows, asked;
