/* Boards over partitioned tables: the rows of all partitions belong to them. */
\ir lib/setup.psql
SELECT plan(12);

CREATE TABLE lbt_parts (
	player_id integer,
	score integer,
	PRIMARY KEY (player_id)) PARTITION BY RANGE (player_id);
CREATE TABLE lbt_part1 PARTITION OF lbt_parts FOR VALUES FROM (0) TO (50);
CREATE TABLE lbt_part2 PARTITION OF lbt_parts FOR VALUES FROM (50) TO (100);
INSERT INTO lbt_parts SELECT i, i % 9 FROM generate_series(0, 99) i;
SELECT lb_create_board('lbt_parts', 'lbt_parts', method => 'rank');
SELECT ok(lb_wait_ready('5 min'), 'the board is ready');
SELECT pg_temp.check_board('lbt_parts', 'lbt_parts', method => 'rank');

/* Through the root and through a leaf, and from one leaf to another. */
DELETE FROM lbt_parts WHERE player_id IN (40, 70);
UPDATE lbt_parts SET player_id = 40 WHERE player_id = 60;
INSERT INTO lbt_part2 VALUES (70, 99);
UPDATE lbt_part1 SET score = score + 1 WHERE player_id < 10;
SELECT pg_temp.check_board('lbt_parts', 'lbt_parts', method => 'rank');

TRUNCATE lbt_part1;
SELECT ok(lb_wait_ready('5 min'), 'the board is ready after TRUNCATE');
SELECT is(lb_count('lbt_parts'), (SELECT count(*) FROM lbt_part2),
	'TRUNCATE of a partition takes its rows');
ALTER TABLE lbt_parts DETACH PARTITION lbt_part2;
SELECT is(lb_count('lbt_parts'), 0::bigint, 'so does DETACH');
INSERT INTO lbt_part2 VALUES (99, 5) ON CONFLICT DO NOTHING;
ALTER TABLE lbt_parts ATTACH PARTITION lbt_part2 FOR VALUES FROM (50) TO (100);
SELECT pg_temp.check_board('lbt_parts', 'lbt_parts', method => 'rank');

SELECT lb_rebuild('lbt_parts');
SELECT pg_temp.check_board('lbt_parts', 'lbt_parts', method => 'rank');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

/* Columns that are renamed, and change places, in a partition too. */
BEGIN;
UPDATE lbt_part1 SET score = 3 WHERE player_id = 8;
ALTER TABLE lbt_parts RENAME player_id TO t;
ALTER TABLE lbt_parts RENAME score TO player_id;
ALTER TABLE lbt_parts RENAME t TO score;
UPDATE lbt_part2 SET player_id = player_id + 7 WHERE score > 90;
COMMIT;
SELECT ok(lb_wait_ready('5 min'), 'the board is ready after renaming');
SELECT pg_temp.check_board('lbt_parts', 'lbt_parts', member => 'score',
	score => 'player_id', method => 'rank');
SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_board('lbt_parts');
DROP TABLE lbt_parts;
SELECT finish();
