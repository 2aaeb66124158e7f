--
-- Keys with texts of many lengths, on their way into the index and out of it
--
SET jit = off;

-- Texts of 0 to 512 bytes, and keys of up to 127 words: many short ones, many of eight bytes and their
-- multiples, some with a common beginning of hundreds of bytes.
CREATE FUNCTION long_text(i int, most int) RETURNS text IMMUTABLE LANGUAGE sql AS
$$ SELECT pg_catalog.left(CASE i % 7 WHEN 0 THEN pg_catalog.repeat('p', 470) ELSE '' END ||
	pg_catalog.repeat(pg_catalog.md5(i::text), 16), most * (i * 31 % 17) / 16) $$;
CREATE TABLE x (name text COLLATE "C" PRIMARY KEY, score int NOT NULL, title varchar(512) COLLATE "C" NOT NULL,
	team text NOT NULL);
CREATE FUNCTION add_rows(first int, last int, most int) RETURNS void LANGUAGE sql AS
$$ INSERT INTO x SELECT long_text(i, most - 8) || i, i % 50, long_text(i % 29, least(most, 480)), 't' || i % 3
	FROM pg_catalog.generate_series(first, last) i $$;
SELECT add_rows(1, 1000, 60), add_rows(1001, 1500, 512);
INSERT INTO x VALUES ('', 7, '', 't0'), ('a', 7, '', 't0'), ('aaaaaaaa', 7, '', 't0'), ('aaaaaaaaa', 7, '', 't0'),
	(repeat('a', 512), 7, repeat('a', 480), 't0'), (repeat('a', 511), 7, repeat('a', 479), 't0'), (U&'a\FFFD', 7, '', 't0'),
	(E'a\x01', 7, E'\x01', 't0');
SELECT lb_create_board('x_row', 'x', 'name', 'score DESC, title DESC');
SELECT lb_create_board('x_dense', 'x', 'name', 'score ASC, title', method => 'dense_rank');
SELECT lb_create_board('x_team', 'x', 'name', 'score DESC', board_column => 'team', method => 'rank');
SELECT lb_wait_ready();
SELECT lb_stat_reset();

-- How many answers of the functions differ from those of the queries.
CREATE FUNCTION differences() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	all_names text[] := (SELECT array_agg(name ORDER BY name) FROM x);
	n bigint;
BEGIN
	SELECT count(*) INTO n FROM
		(SELECT row_number() OVER (ORDER BY score DESC, title DESC, name) AS rank, name, score::text FROM x) q
		FULL JOIN lb_top_key(100000, 'x_row') f ON q.rank = f.rank AND q.name = f.member COLLATE "C" AND q.score = f.score
		WHERE q.rank IS NULL OR f.rank IS NULL;
	SELECT n + count(*) INTO n FROM
		(SELECT row_number() OVER (ORDER BY score DESC, title DESC, name) AS rank, name FROM x) q
		FULL JOIN lb_among_key(all_names, 'x_row') f ON q.rank = f.place AND q.rank = f.rank AND q.name = f.member COLLATE "C"
		WHERE q.rank IS NULL OR f.rank IS NULL;
	SELECT n + count(*) INTO n FROM
		(SELECT dense_rank() OVER (ORDER BY score) AS rank, name FROM x) q
		FULL JOIN lb_ranks_key(all_names, 'x_dense') f ON q.rank = f.rank AND q.name = f.member COLLATE "C"
		WHERE q.rank IS NULL OR f.rank IS NULL;
	SELECT n + count(*) INTO n FROM
		(SELECT rank() OVER (PARTITION BY team ORDER BY score DESC) AS rank, name, team FROM x) q
		WHERE rank IS DISTINCT FROM lb_rank_key(name, 'x_team:' || team);
	RETURN n;
END $$;
SELECT differences();
SELECT * FROM lb_verify_key();

-- Few own changes, and many; savepoints; a member that comes back.
BEGIN;
SELECT add_rows(2001, 2008, 30);
SELECT differences();
SAVEPOINT a;
UPDATE x SET title = repeat('t', 480), score = score + 1 WHERE name IN ('', repeat('a', 512));
SELECT differences();
ROLLBACK TO a;
DELETE FROM x WHERE length(name) > 500;
SELECT add_rows(2009, 2200, 512);
SELECT differences();
SAVEPOINT b;
UPDATE x SET score = score + 3 WHERE hashtext(name) % 3 = 0;
UPDATE x SET title = long_text(score, 480) WHERE hashtext(name) % 4 = 0;
SELECT differences();
ROLLBACK TO b;
SELECT differences();
UPDATE x SET name = name || 'n' WHERE length(name) < 500 AND hashtext(name) % 5 = 0;
SELECT differences();
COMMIT;
SELECT differences();

-- A large transaction, and a TRUNCATE.
BEGIN;
SELECT add_rows(10001, 16000, 100), add_rows(16001, 16100, 512);
UPDATE x SET score = score + 1 WHERE name > 'm';
SELECT differences();
COMMIT;
SELECT differences();
BEGIN;
TRUNCATE x;
SELECT add_rows(1, 100, 400);
SELECT differences();
ROLLBACK;
SELECT differences();

-- Prepared transactions, a large one as well.
BEGIN;
SELECT add_rows(20001, 26000, 40), add_rows(26001, 26010, 512);
PREPARE TRANSACTION 'texts';
SELECT differences();
COMMIT PREPARED 'texts';
SELECT differences();
BEGIN;
DELETE FROM x WHERE hashtext(name) % 2 = 0;
PREPARE TRANSACTION 'texts';
ROLLBACK PREPARED 'texts';
SELECT differences();
SELECT * FROM lb_verify_key();

-- A build that merges runs, and verifying with runs.
SET maintenance_work_mem = '1MB';
SELECT * FROM lb_verify_key();
RESET maintenance_work_mem;
DELETE FROM x;
SELECT differences();
SELECT add_rows(1, 10, 512);
SELECT differences();
SELECT * FROM lb_verify_key();
SELECT board, state, reason, index_reads > 5 * query_reads AS by_index FROM lb_stat_board WHERE board LIKE 'x%' AND board NOT LIKE '%:%' ORDER BY board;
-- One long text beside very many short ones: the query answers the transaction, and the board is built again.
CREATE TABLE y (name text COLLATE "C" PRIMARY KEY, score int NOT NULL);
SELECT lb_create_board('y', 'y', 'name', 'score ASC');
SELECT lb_wait_ready();
BEGIN;
INSERT INTO y SELECT i, i % 9 FROM generate_series(1, 130000) i;
SAVEPOINT a;
INSERT INTO y VALUES (repeat('y', 512), 5);
SELECT lb_rank_key(repeat('y', 512), 'y') = (SELECT count(*) FROM y WHERE score <= 5) AS same;
SELECT index_reads, query_own_changes FROM lb_stat('y');
ROLLBACK TO a;
INSERT INTO y VALUES ('y', 5);
COMMIT;
SELECT lb_rank_key('y', 'y') = (SELECT count(*) FROM y WHERE score <= 5) AS same;
SELECT lb_wait_ready();
SELECT * FROM lb_verify_key('y');
DROP TABLE y;

DROP TABLE x;
DROP FUNCTION long_text, add_rows, differences;
