/* Changes of rows: committed, one's own, undone. */
\ir lib/setup.psql
SELECT plan(13);

CREATE TABLE lbt_change (
	player_id bigint PRIMARY KEY,
	score bigint NOT NULL,
	at timestamptz NOT NULL DEFAULT '2026-01-01');
INSERT INTO lbt_change SELECT i, i % 13 FROM generate_series(1, 60) i;
SELECT lb_create_board('lbt_change', 'lbt_change',
	rank_by => 'score DESC, at ASC');
SELECT ok(lb_wait_ready('5 min'), 'the board is ready');

INSERT INTO lbt_change SELECT i, i % 5 FROM generate_series(61, 80) i;
UPDATE lbt_change SET score = score * 2 - 7 WHERE player_id % 3 = 0;
UPDATE lbt_change SET at = at + interval '1 s' WHERE player_id % 4 = 0;
UPDATE lbt_change SET player_id = player_id + 1000 WHERE player_id % 5 = 0;
DELETE FROM lbt_change WHERE player_id % 7 = 0;
SELECT pg_temp.check_board('lbt_change', 'lbt_change', ties => 'at');

/* One's own changes count at once, statement by statement. */
BEGIN;
INSERT INTO lbt_change VALUES (500, 100), (501, 3), (502, -100);
UPDATE lbt_change SET score = score + 1 WHERE player_id < 20;
DELETE FROM lbt_change WHERE player_id BETWEEN 30 AND 35;
SELECT pg_temp.check_board('lbt_change', 'lbt_change', ties => 'at');
SAVEPOINT s;
UPDATE lbt_change SET score = -score;
SELECT pg_temp.check_board('lbt_change', 'lbt_change', ties => 'at');
ROLLBACK TO s;
SELECT pg_temp.check_board('lbt_change', 'lbt_change', ties => 'at');
ROLLBACK;
SELECT pg_temp.check_board('lbt_change', 'lbt_change', ties => 'at');

BEGIN;
DELETE FROM lbt_change WHERE player_id = 1;
INSERT INTO lbt_change VALUES (1, 7);
UPDATE lbt_change SET score = 8 WHERE player_id = 1;
INSERT INTO lbt_change VALUES (1, 0) ON CONFLICT (player_id)
	DO UPDATE SET score = lbt_change.score + 1;
COMMIT;
SELECT is(lb_score(1, 'lbt_change'), 9::bigint,
	'many changes of one row count as their last');

/* A large transaction. */
INSERT INTO lbt_change SELECT i, i % 1000
FROM generate_series(10000, 40000) i;
SELECT is(lb_count('lbt_change'), (SELECT count(*) FROM lbt_change),
	'a large transaction has arrived');
DELETE FROM lbt_change WHERE player_id >= 10000;
SELECT pg_temp.check_board('lbt_change', 'lbt_change', ties => 'at');

/* TRUNCATE, undone and done. */
BEGIN;
TRUNCATE lbt_change;
SELECT is(lb_count('lbt_change'), 0::bigint, 'one''s own TRUNCATE counts');
INSERT INTO lbt_change VALUES (1, 1);
SELECT is(lb_rank(1, 'lbt_change'), 1::bigint, 'and what came after it');
ROLLBACK;
SELECT pg_temp.check_board('lbt_change', 'lbt_change', ties => 'at');

SELECT is_empty('SELECT * FROM lb_verify()', 'index and table agree');

SELECT lb_drop_board('lbt_change');
DROP TABLE lbt_change;
SELECT finish();
