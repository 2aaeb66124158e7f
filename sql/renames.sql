--
-- Columns that boards use are renamed: the boards follow
--
SET client_min_messages = warning;
CREATE TABLE r (player_id bigint PRIMARY KEY, score bigint, tie integer,
	ok boolean DEFAULT true, more text);
INSERT INTO r SELECT i, i * 7 % 20, i % 3, i % 11 > 0 FROM generate_series(1, 60) i;
SELECT lb_create_board('r', 'r', rank_by => 'score DESC, tie', ranked_if => 'ok');
SELECT lb_wait_ready();
PREPARE rank (bigint) AS SELECT lb_rank($1, 'r');
EXECUTE rank(5);

-- Each of them, also to a name that needs quotes or is a word of SQL.
ALTER TABLE r RENAME score TO points;
EXECUTE rank(5);
SELECT member, rank_by, ranked_if FROM lb_board WHERE board = 'r';
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'points', ties => 'tie');
ALTER TABLE r RENAME COLUMN player_id TO "Who, ""then""?";
ALTER TABLE r RENAME tie TO "desc";
ALTER TABLE r RENAME points TO nulls;
ALTER TABLE r RENAME ok TO "Größe";
SELECT member, rank_by, ranked_if FROM lb_board WHERE board = 'r';
EXECUTE rank(5);
UPDATE r SET nulls = nulls + 1 WHERE "Größe" AND "desc" = 1;
SELECT * FROM lbt.differences('r', 'r', '"Größe"', member => '"Who, ""then""?"',
	score => 'nulls', ties => '"desc"');
ALTER TABLE r RENAME "Who, ""then""?" TO player_id;
ALTER TABLE r RENAME "desc" TO tie;
ALTER TABLE r RENAME nulls TO score;
ALTER TABLE r RENAME "Größe" TO ok;
SELECT member, rank_by, ranked_if FROM lb_board WHERE board = 'r';
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tie');
SELECT * FROM lb_verify();

-- A column that no board uses is none of their business.
ALTER TABLE r RENAME more TO less;
SELECT state FROM lb_stat_board WHERE board = 'r';
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tie', functions => 'lb_rank$');

-- In a transaction, with changes before, between and after.
BEGIN;
UPDATE r SET score = score + 100 WHERE player_id = 1;
ALTER TABLE r RENAME score TO points;
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'points', ties => 'tie',
	query_reads => NULL);
UPDATE r SET points = points + 100 WHERE player_id = 2;
DELETE FROM r WHERE player_id = 3;
ALTER TABLE r RENAME tie TO t2;
INSERT INTO r (player_id, points, t2) VALUES (61, 61, 1);
EXECUTE rank(2);
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'points', ties => 't2',
	query_reads => NULL);
COMMIT;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'points', ties => 't2');
ALTER TABLE r RENAME t2 TO tie;
ALTER TABLE r RENAME points TO score;
SELECT lb_wait_ready();

-- Rolled back, to a savepoint or altogether, the index goes on.
BEGIN;
UPDATE r SET score = score + 10 WHERE player_id < 9;
SAVEPOINT a;
ALTER TABLE r RENAME score TO points;
UPDATE r SET points = points + 10 WHERE player_id < 5;
SELECT rank_by FROM lb_board WHERE board = 'r';
ROLLBACK TO a;
UPDATE r SET score = score + 20 WHERE player_id = 9;
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tie');
SAVEPOINT b;
ALTER TABLE r RENAME tie TO t2;
RELEASE b;
ROLLBACK TO a;
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tie', functions => 'lb_rank$');
COMMIT;
SELECT state FROM lb_stat_board WHERE board = 'r';
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tie');
BEGIN;
UPDATE r SET score = score + 10 WHERE player_id < 9;
ALTER TABLE r RENAME player_id TO id;
UPDATE r SET score = score + 10 WHERE id < 5;
ROLLBACK;
ALTER TABLE r RENAME score TO tie;
SELECT state FROM lb_stat_board WHERE board = 'r';
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tie');
SELECT * FROM lb_verify();

-- Two columns change places.
BEGIN;
ALTER TABLE r RENAME score TO t;
ALTER TABLE r RENAME tie TO score;
ALTER TABLE r RENAME t TO tie;
UPDATE r SET tie = tie + 1, score = -score WHERE player_id % 7 = 0;
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'tie', ties => 'score',
	query_reads => NULL);
COMMIT;
SELECT rank_by FROM lb_board WHERE board = 'r';
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'tie', ties => 'score');
DO $$
BEGIN
	ALTER TABLE r RENAME score TO t;
	ALTER TABLE r RENAME tie TO score;
	UPDATE r SET score = score + 1 WHERE player_id % 5 = 0;
	ALTER TABLE r RENAME t TO tie;
	BEGIN
		ALTER TABLE r RENAME score TO t;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
END $$;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tie');

-- The name of a column that another board uses, and one that is made anew.
SELECT lb_create_board('less', 'r', rank_by => 'tie DESC');
BEGIN;
ALTER TABLE r RENAME tie TO old;
ALTER TABLE r ADD tie integer DEFAULT 5;
COMMIT;
SELECT board, rank_by FROM lb_board WHERE source = 'r'::regclass ORDER BY board;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'old');
SELECT * FROM lbt.differences('less', 'r', score => 'old');

-- With a TRUNCATE, and with a board that was made just now or is dropped.
BEGIN;
INSERT INTO r (player_id, score, old) VALUES (100, 1, 1);
TRUNCATE r;
INSERT INTO r (player_id, score, old) VALUES (101, 1, 2);
ALTER TABLE r RENAME old TO tied;
INSERT INTO r (player_id, score, tied) VALUES (102, 1, 1);
SELECT lb_create_board('new', 'r', rank_by => 'tied ASC');
ALTER TABLE r RENAME tied TO old;
SELECT * FROM lb_top(5, 'new');
SELECT lb_drop_board('less');
ALTER TABLE r RENAME old TO tied;
COMMIT;
SELECT board, rank_by FROM lb_board WHERE source = 'r'::regclass ORDER BY board;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tied');
SELECT * FROM lbt.differences('new', 'r', score => 'tied', dir => 'ASC');
SELECT lb_drop_board('new');
SELECT * FROM lb_verify();

-- What keeps a board from having an index is not mended by it, nor forgotten.
ALTER TABLE r DISABLE TRIGGER leaderboard_capture;
UPDATE r SET score = 5;
ALTER TABLE r RENAME score TO points;
SELECT lb_wait_ready();
SELECT state, reason FROM lb_stat_board WHERE board = 'r';
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'points', ties => 'tied',
	query_reads => true);
ALTER TABLE r ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_rebuild('r');
ALTER TABLE r DROP COLUMN tied;
ALTER TABLE r RENAME points TO score;
SELECT rank_by FROM lb_board WHERE board = 'r';
SELECT * FROM lbt.error($$SELECT lb_rank(101, 'r')$$);
UPDATE r SET score = 6;
ALTER TABLE r ADD tied integer DEFAULT 1;
SELECT lb_rebuild('r');
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tied');

-- In a transaction with a snapshot of its own, and in one that prepares.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM r;
ALTER TABLE r RENAME score TO points;
SELECT * FROM lb_top(2, 'r');
COMMIT;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'points', ties => 'tied');
BEGIN;
ALTER TABLE r RENAME points TO score;
ROLLBACK;
SELECT * FROM lbt.differences('r', 'r', 'ok', score => 'points', ties => 'tied');

-- The table's owner needs no privilege for lb_board.
DROP ROLE IF EXISTS regress_lb_renamer;
CREATE ROLE regress_lb_renamer;
GRANT CREATE ON SCHEMA public TO regress_lb_renamer;
ALTER TABLE r OWNER TO regress_lb_renamer;
SET ROLE regress_lb_renamer;
ALTER TABLE r RENAME points TO score;
SELECT lb_wait_ready();
UPDATE lb_board SET member = 'x';
RESET ROLE;
SELECT * FROM lbt.differences('r', 'r', 'ok', ties => 'tied');
SELECT * FROM lb_verify();

-- Event triggers run within the statement, before anything has followed it.
CREATE FUNCTION lbt.during() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('lbt.during') = 'on' THEN
		SET lbt.during = off;
		BEGIN
			ALTER TABLE r RENAME tied TO t;
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			ALTER TABLE r RENAME COLUMN player_id TO id;
			ALTER TABLE r RENAME COLUMN id TO player_id;
		END;
		ALTER TABLE r RENAME ok TO shown;
		UPDATE r SET points = points + 1;
		CREATE TABLE another ();
		DROP TABLE another;
	END IF;
END $$;
CREATE EVENT TRIGGER lbt_during ON ddl_command_end WHEN TAG IN ('ALTER TABLE')
EXECUTE FUNCTION lbt.during();
SET lbt.during = on;
ALTER TABLE r RENAME score TO points;
DROP EVENT TRIGGER lbt_during;
DROP FUNCTION lbt.during();
SELECT member, rank_by, ranked_if FROM lb_board WHERE board = 'r';
SELECT * FROM lbt.differences('r', 'r', 'shown', score => 'points', ties => 'tied');
SELECT * FROM lb_verify();
DROP TABLE r;
REVOKE CREATE ON SCHEMA public FROM regress_lb_renamer;
DROP ROLE regress_lb_renamer;

-- A family.
CREATE TABLE fam (id integer, grp text, score integer, PRIMARY KEY (id, grp));
INSERT INTO fam SELECT i, 'g' || i % 3, i FROM generate_series(1, 30) i;
SELECT lb_create_board('fam', 'fam', 'id', board_column => 'grp');
SELECT lb_wait_ready();
ALTER TABLE fam RENAME grp TO team;
ALTER TABLE fam RENAME id TO who;
SELECT member, rank_by, board_column FROM lb_board WHERE board = 'fam';
SELECT * FROM lbt.differences('fam:g1', 'fam', $$team = 'g1'$$, member => 'who');
BEGIN;
UPDATE fam SET team = 'g1' WHERE who = 5;
ALTER TABLE fam RENAME team TO grp;
UPDATE fam SET grp = 'g4' WHERE who = 6;
SELECT * FROM lbt.differences('fam:g4', 'fam', $$grp = 'g4'$$, member => 'who',
	query_reads => NULL);
COMMIT;
SELECT * FROM lbt.differences('fam:g1', 'fam', $$grp = 'g1'$$, member => 'who');
SELECT * FROM lbt.differences('fam:g4', 'fam', $$grp = 'g4'$$, member => 'who');
SELECT * FROM lb_verify();
DROP TABLE fam;

-- Partitions, whose columns have numbers of their own.
CREATE TABLE pr (player_id bigint PRIMARY KEY, score int, other int, extra int)
PARTITION BY RANGE (player_id);
CREATE TABLE pr1 PARTITION OF pr FOR VALUES FROM (0) TO (100);
CREATE TABLE pr2 (junk int, extra int, other int, score int, player_id bigint PRIMARY KEY);
ALTER TABLE pr2 DROP COLUMN junk;
ALTER TABLE pr ATTACH PARTITION pr2 FOR VALUES FROM (100) TO (200);
INSERT INTO pr SELECT i, i % 7, i % 3 FROM generate_series(1, 199, 3) i;
SELECT lb_create_board('pr', 'pr', rank_by => 'score DESC, other');
SELECT lb_wait_ready();
ALTER TABLE pr RENAME extra TO unused;
SELECT state FROM lb_stat_board WHERE board = 'pr';
SELECT * FROM lbt.differences('pr', 'pr', ties => 'other', functions => 'lb_rank$');
BEGIN;
UPDATE pr2 SET score = 99 WHERE player_id = 151;
ALTER TABLE pr RENAME score TO t;
ALTER TABLE pr RENAME other TO score;
ALTER TABLE pr RENAME t TO other;
INSERT INTO pr2 (player_id, score, other) VALUES (102, 1, 98);
UPDATE pr SET player_id = 3 WHERE player_id = 199;
SELECT * FROM lbt.differences('pr', 'pr', score => 'other', ties => 'score',
	query_reads => NULL);
COMMIT;
UPDATE pr2 SET other = 97 WHERE player_id = 103;
UPDATE pr1 SET score = 2 WHERE other = 6;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('pr', 'pr', score => 'other', ties => 'score');
SELECT state FROM lbt.error('ALTER TABLE pr2 RENAME other TO alone');
SELECT lb_drop_board('pr');
-- ... and boards.
SELECT lb_create_board('pr2', 'pr2');
ALTER TABLE pr RENAME score TO points;
ALTER TABLE pr RENAME player_id TO id;
SELECT member, rank_by FROM lb_board WHERE board = 'pr2';
SELECT * FROM lbt.differences('pr2', 'pr2', member => 'id', score => 'points');
SELECT * FROM lb_verify();
DROP TABLE pr;

-- Columns that come from a parent, or from a type.
CREATE TABLE parent (score integer);
CREATE TABLE child (player_id bigint PRIMARY KEY) INHERITS (parent);
CREATE TYPE scored AS (player_id bigint, score bigint);
CREATE TABLE typed OF scored (PRIMARY KEY (player_id));
INSERT INTO child SELECT i % 4, i FROM generate_series(1, 9) i;
INSERT INTO typed SELECT i, i % 4 FROM generate_series(1, 9) i;
SELECT lb_create_board('child', 'child'), lb_create_board('typed', 'typed');
ALTER TABLE parent RENAME score TO points;
ALTER TYPE scored RENAME ATTRIBUTE score TO points CASCADE;
ALTER TYPE scored RENAME ATTRIBUTE player_id TO id CASCADE;
SELECT board, member, rank_by FROM lb_board WHERE board IN ('child', 'typed') ORDER BY board;
UPDATE child SET points = points + 2 WHERE player_id > 3;
UPDATE typed SET points = points + 2 WHERE id > 3;
SELECT * FROM lbt.differences('child', 'child', score => 'points');
SELECT * FROM lbt.differences('typed', 'typed', member => 'id', score => 'points');
SELECT * FROM lb_verify();
DROP TABLE child, parent, typed;
DROP TYPE scored;
