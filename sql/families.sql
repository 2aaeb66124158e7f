--
-- Families: one board for each value of a column
--
CREATE TABLE p (player_id bigint, country text, score bigint,
	PRIMARY KEY (player_id, country));
CREATE TABLE w (player_id integer, window_key varchar(200), score bigint,
	UNIQUE (window_key, player_id));
CREATE TABLE n (player_id smallint PRIMARY KEY, guild integer, score smallint,
	shard smallint, realm bigint);
SELECT lb_create_board('country', 'p', board_column => 'country'),
	lb_create_board('*', 'w', board_column => 'window_key', method => 'dense_rank'),
	lb_create_board('guild', 'n', board_column => 'guild', rank_by => 'score ASC'),
	lb_create_board('shard', 'n', board_column => 'shard'),
	lb_create_board('realm', 'n', board_column => 'realm'),
	lb_create_board('all', 'n');
SELECT lb_wait_ready();
INSERT INTO p SELECT i, (ARRAY['FR', 'JP', 'US'])[1 + i % 3], i * 7 % 10
FROM generate_series(1, 60) i;
INSERT INTO w SELECT i, (ARRAY['weekly:202615', 'daily:20260409', 'tourney',
	'country:FR', ':', ''])[1 + i % 6], i * 7 % 10 FROM generate_series(1, 60) i;
INSERT INTO n SELECT i, i % 3 - 1, i * 7 % 10, i % 2 * 32767, i % 2
	* -9223372036854775808 FROM generate_series(1, 60) i;

SELECT * FROM lb_top(3, 'country:FR');
SELECT lb_rank(3, 'country:FR'), lb_rank(3, 'country:JP'), lb_rank(1, 'country:FR');
SELECT board, members, distinct_scores FROM lb_stat_board
WHERE source IN ('p'::regclass, 'w'::regclass, 'n'::regclass)
ORDER BY board COLLATE "C", members;

-- Names lead to a family's board, else to a value of the family *.
SELECT name, lb_count(name), lb_rank(1, name), lb_rank(6, name)
FROM unnest('{country:FR,country:XX,*:weekly:202615,weekly:202615,*:tourney,*:,
	*::,:,*:country:FR,globl:,all:,country:,country::,weekly:,guild:0,guild:-1,
	guild:7,shard:32767,realm:-9223372036854775808}'::text[]) name;
SELECT * FROM lbt.error($$SELECT lb_rank(1, 'country')$$);
SELECT * FROM lbt.error($$SELECT lb_rank(1, '*')$$);
SELECT * FROM lbt.error($$SELECT lb_rank(1, 'countr')$$);
SELECT * FROM lbt.error($$SELECT lb_rank(1, '')$$);
SELECT * FROM lbt.error($$SELECT lb_rank(1, repeat('x', 64))$$);

-- Integers are spelled as SQL prints them, by index and by query.
CREATE FUNCTION spelled(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := '';
	setting text;
BEGIN
	FOREACH setting IN ARRAY '{on,off}'::text[] LOOP
		PERFORM set_config('leaderboard.enable_index', setting, true);
		BEGIN
			result := result || lb_count(name) || ' ';
		EXCEPTION WHEN undefined_object THEN
			result := result || SQLERRM || ' ';
		END;
	END LOOP;
	RETURN result;
END $$;
SELECT name, spelled(name) FROM unnest('{guild:1,guild:01,guild:+1,"guild: 1",
	"guild:1 ",guild:,guild:-,guild:-0,guild:0,guild:x,guild:1:,guild:0x1,guild:1e0,
	guild:2147483647,guild:2147483648,guild:-2147483648,guild:-2147483649,
	shard:32767,shard:32768,shard:-32768,shard:-32769,realm:9223372036854775807,
	realm:9223372036854775808,realm:-9223372036854775808,
	realm:-9223372036854775809,realm:99999999999999999999999999999999999999999}'
	::text[]) WITH ORDINALITY name (name, o) ORDER BY o;
DROP FUNCTION spelled;

SELECT * FROM lbt.differences('country:FR', 'p', $$country = 'FR'$$);
SELECT * FROM lbt.differences('country:none', 'p', $$country = 'none'$$);
SELECT * FROM lbt.differences('*:weekly:202615', 'w', $$window_key = 'weekly:202615'$$,
	method => 'dense_rank');
SELECT * FROM lbt.differences('guild:-1', 'n', 'guild = -1', dir => 'ASC');
SELECT * FROM lbt.differences('realm:0', 'n', 'realm = 0');
SELECT * FROM lbt.differences('all', 'n');

-- A board comes with its first row and goes with its last.
BEGIN;
INSERT INTO p VALUES (1, 'DE', 5);
SELECT lb_rank(1, 'country:DE'), lb_count('country:DE');
SELECT * FROM lbt.differences('country:DE', 'p', $$country = 'DE'$$);
SAVEPOINT a;
UPDATE p SET country = 'AT' WHERE country = 'DE';
SELECT lb_rank(1, 'country:DE'), lb_rank(1, 'country:AT');
ROLLBACK TO a;
SELECT lb_rank(1, 'country:DE'), lb_rank(1, 'country:AT');
DELETE FROM p WHERE country = 'FR';
SELECT lb_count('country:FR');
SELECT * FROM lbt.differences('country:FR', 'p', $$country = 'FR'$$);
COMMIT;
SELECT lbt.given_back('p');
SELECT board, members FROM lb_stat_board WHERE source = 'p'::regclass
ORDER BY board COLLATE "C";
DELETE FROM p WHERE country = 'DE';
UPDATE p SET country = 'FR' WHERE country = 'JP';
SELECT lbt.given_back('p');
SELECT board, members FROM lb_stat_board WHERE source = 'p'::regclass
ORDER BY board COLLATE "C";
DELETE FROM p;
SELECT lbt.given_back('p');
SELECT board, members, bytes FROM lb_stat_board WHERE source = 'p'::regclass
ORDER BY board COLLATE "C";
SELECT lb_count('country:FR'), lb_rank(1, 'country:FR');

-- Any value.
CREATE TABLE value (v text);
INSERT INTO value VALUES (''), (' '), ('a'), ('A'), ('a '), (':'), ('::a'), ('a:b'),
	('''quoted'''), ('"double"'), ('$1'), ('%s'), ('back\slash'), ('{P}'), ('NULL'),
	(E'line\nfeed'), (E'\t'), (E'\u00e4\u00f6'), (E'a\u0308o\u0308'),
	(E'\U0001F3C6'), (E'\u65e5\u672c'), ('; DROP TABLE p; --'), ('0'), ('00'),
	(repeat('x', 31)), (repeat('x', 32)), (repeat('x', 33)),
	(repeat('x', 32) || 'y'), (repeat('x', 255)), (repeat('x', 256)),
	(repeat('x', 257)), (repeat('x', 1024)), (repeat('x', 1023) || 'y'),
	(repeat('x', 1025)), (repeat(E'\u00e4', 512)), (repeat(E'\u00e4', 513)),
	(repeat('x', 100000));
INSERT INTO p SELECT i, v, i % 3 FROM value, generate_series(1, 5) i;
SELECT left(v, 10) AS value, octet_length(v) AS bytes, lb_count('country:' || v),
	array(SELECT member FROM lb_top(10, 'country:' || v)) AS top
FROM value WHERE (lb_count('country:' || v), array(SELECT member
	FROM lb_top(10, 'country:' || v))) IS DISTINCT FROM (5, '{2,5,1,4,3}'::bigint[]);
-- In the json as well, and the same by index and by query.
CREATE FUNCTION top_json(name text, enable_index text) RETURNS text LANGUAGE sql AS $$
	SELECT set_config('leaderboard.enable_index', enable_index, true);
	SELECT lb_top_json(10, name)::text
$$;
SELECT count(*), bool_and(j::json ->> 'board' = name) AS name,
	bool_and(json_array_length(j::json -> 'entries') = 5) AS entries,
	bool_and(top_json(name, 'off') = j) AS same
FROM (SELECT 'country:' || v AS name, top_json('country:' || v, 'on') AS j FROM value) v;
DROP FUNCTION top_json(text, text);
-- Long values are answered by the query, and counted.
SELECT lb_stat_reset();
SELECT lb_rank(1, 'country:' || repeat('x', 1024));
SELECT lb_rank(1, 'country:' || repeat('x', 1025));
SELECT * FROM lbt.differences('country:' || repeat('x', 1025), 'p',
	$$country = repeat('x', 1025)$$, query_reads => true, functions => 'rank$|top');
SELECT left(board, 10) AS board, index_reads, query_limit FROM lb_stat_board
WHERE source = 'p'::regclass AND index_reads + query_limit > 0
ORDER BY octet_length(board), board COLLATE "C";
UPDATE p SET country = repeat('x', 2000) WHERE country = 'a';
UPDATE p SET country = 'a' WHERE country = repeat('x', 1025);
SELECT lb_count('country:a'), lb_count('country:' || repeat('x', 2000)),
	lb_count('country:' || repeat('x', 1025));
SELECT * FROM lb_verify();
SELECT * FROM lb_verify('country:a');
SELECT * FROM lb_verify('country:' || repeat('x', 2000));
SELECT * FROM lb_verify('country');
SELECT * FROM lb_verify('country:nobody');
DROP TABLE value;

-- Many boards in one transaction.
TRUNCATE p;
INSERT INTO p SELECT i, i % 1000, i FROM generate_series(1, 3000) i;
SELECT sum(lb_count('country:' || i)) FROM generate_series(0, 999) i;
BEGIN;
UPDATE p SET country = (player_id + 1) % 1000 WHERE player_id > 2000;
SELECT count(*) FROM generate_series(0, 999) i WHERE NOT lbt.agrees('country:' || i,
	'p', format('country = %L', i)) AND i % 50 = 0;
COMMIT;
SELECT sum(lb_count('country:' || i)) FROM generate_series(0, 999) i;
SELECT * FROM lb_verify();
DELETE FROM p;
SELECT lbt.given_back('p');
SELECT count(*) FROM lb_stat_board WHERE source = 'p'::regclass;

-- The value of the board as it was and will be, of the same row, in one
-- transaction.
INSERT INTO p VALUES (1, 'a', 1), (1, 'b', 2), (2, 'a', 3);
BEGIN;
UPDATE p SET country = 'c' WHERE player_id = 1 AND country = 'a';
UPDATE p SET country = 'a' WHERE player_id = 1 AND country = 'b';
UPDATE p SET country = 'b', score = 9 WHERE player_id = 1 AND country = 'c';
SELECT b, lb_rank(1, 'country:' || b), lb_score(1, 'country:' || b),
	lbt.agrees('country:' || b, 'p', format('country = %L', b))
FROM unnest('{a,b,c}'::text[]) b;
COMMIT;
SELECT b, lb_rank(1, 'country:' || b), lb_score(1, 'country:' || b),
	lbt.agrees('country:' || b, 'p', format('country = %L', b))
FROM unnest('{a,b,c}'::text[]) b;

-- Without its family, a name with a colon is one of the family *.
SELECT lb_drop_board('country');
SELECT lb_count('country:FR'), lb_count('country:a');
SELECT lb_drop_board('*');
SELECT lb_count('country:FR');
DROP TABLE p, w, n;
SELECT * FROM lb_verify();
