--
-- lb_count_before: the place of a key; lb_page: rows with their tie-breakers
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT lbt.make_boards();
SELECT lb_wait_ready();
SELECT * FROM lbt.board_differences('lb_(page|count_before)$');
DROP TABLE game;

CREATE TABLE duel (player_id integer PRIMARY KEY, points smallint NOT NULL, won boolean NOT NULL,
	reached timestamptz NOT NULL);
INSERT INTO duel SELECT i, i / 4, i % 2 = 0, timestamptz '2026-04-09 12:00+00' + i % 3 * interval '1 s'
FROM generate_series(1, 20) AS i;
SELECT lb_create_board('duel', 'duel', rank_by => 'points DESC, won DESC, reached ASC');
SELECT * FROM lb_page(5, 'duel');
SELECT * FROM lb_page(3, 'duel', 17);
SELECT * FROM lb_page(0, 'duel');
SELECT * FROM lb_page_key(2, 'duel', 1);

-- What stands before a key, be it a row's or not
SELECT lb_count_before(5, '{t,2026-04-09 12:00:02+00}', 20, 'duel') AS first,
	lb_count_before(5, '{t,2026-04-09 12:00:02+00}', 20, 'duel', true) AS and_it,
	lb_count_before(5, '{t,2026-04-09 12:00:01.5+00}', 0, 'duel') AS better,
	lb_count_before(-100000, '{f,infinity}', 9223372036854775807, 'duel') AS all,
	lb_count_before(100000, '{t,-infinity}', -9223372036854775808, 'duel') AS none,
	lb_count_before_key('4', '{f,"yesterday"}', '7', 'duel', inclusive => true) AS key;

-- An array of any shape
SELECT lb_count_before(4, '{{t},{2026-04-09 12:00:01+00}}', 16, 'duel') AS two_dimensions,
	lb_count_before(4, '[0:1]={t,2026-04-09 12:00:01+00}', 16, 'duel') AS from_0;
SET leaderboard.enable_index = off;
SELECT lb_count_before(4, '{{t},{2026-04-09 12:00:01+00}}', 16, 'duel') AS two_dimensions,
	lb_count_before(4, '[0:1]={t,2026-04-09 12:00:01+00}', 16, 'duel') AS from_0;
RESET leaderboard.enable_index;

-- The page behind a key, whatever has become of its row, and the one before it.
PREPARE next_page AS SELECT * FROM lb_page(4, 'duel', lb_count_before($1, $2, $3, 'duel', true));
PREPARE previous_page AS
SELECT p.* FROM lb_count_before($1, $2, $3, 'duel') AS b,
	lb_page(least(4, b)::integer, 'duel', greatest(b - 4, 0)) AS p;
EXECUTE next_page (5, '{t,"2026-04-09 12:00:02+00"}', 20);
DELETE FROM duel WHERE player_id = 17;
EXECUTE next_page (4, '{f,"2026-04-09 12:00:02+00"}', 17);
EXECUTE previous_page (4, '{f,"2026-04-09 12:00:02+00"}', 17);
EXECUTE previous_page (5, '{t,"2026-04-09 12:00:02+00"}', 20);
SET leaderboard.enable_index = off;
EXECUTE next_page (4, '{f,"2026-04-09 12:00:02+00"}', 17);
EXECUTE previous_page (4, '{f,"2026-04-09 12:00:02+00"}', 17);
RESET leaderboard.enable_index;

-- With changes of the transaction
BEGIN;
UPDATE duel SET points = 5 WHERE player_id < 3;
EXECUTE next_page (5, '{t,"2026-04-09 12:00:02+00"}', 20);
SELECT * FROM lbt.differences('duel', 'duel', score => 'points', ties => 'won DESC, reached ASC', functions => 'page|before');
ROLLBACK;

-- By rank and dense_rank the rank is by the score, and the place is not.
CREATE TABLE run (name text, lap integer, seconds numeric(6,2) NOT NULL, wind real NOT NULL, PRIMARY KEY (name, lap));
INSERT INTO run VALUES ('ann', 1, 9.58, 0.9), ('bob', 1, 9.69, 0), ('bob', 2, 9.69, '-0'), ('cid', 1, 9.69, '-0.5'), ('ann', 2, 10, 'NaN');
SELECT lb_create_board('run', 'run', 'name, lap', 'seconds ASC, wind DESC', method => 'dense_rank');
-- A statement that began before the build is too old for the index, and is counted as that.
SELECT lb_wait_ready();
SELECT * FROM lb_page_key(10, 'run');
SELECT lb_count_before_key('9.69', '{0}', '(bob,2)', 'run') AS key, lb_count_before_key('9.69', '{-0}', '(bob,2)', 'run', true) AS and_it,
	lb_count_before_key('9.6899', '{0}', '(bob,2)', 'run') AS between, lb_count_before_key('9.69', '{1e-30}', '(bob,2)', 'run') AS wind,
	lb_count_before_key('9.69', '{0}', '(b,)', 'run') AS null_in_member;
SELECT index_reads, query_reads, query_limit FROM lb_stat_board WHERE board = 'run';
SELECT * FROM lbt.differences('run', 'run', member => 'name, lap', score => 'seconds', dir => 'ASC', ties => 'wind DESC', method => 'dense_rank',
	query_reads => NULL, functions => 'page|before');
SELECT * FROM lb_page(1, 'run');

-- Without tie-breakers
SELECT lb_create_board('points', 'duel', rank_by => 'points DESC');
SELECT lb_count_before(4, '{}', 18, 'points'), lb_count_before(4, ARRAY[]::text[], 18, 'points', true);
SELECT * FROM lb_page(2, 'points', 2);

-- Nulls
SELECT lb_count_before(NULL, '{}', 18, 'points') AS a, lb_count_before(4, NULL, 18, 'points') AS b, lb_count_before(4, '{}', NULL, 'points') AS c,
	lb_count_before(4, '{t,NULL}', 18, 'duel') AS d, lb_count_before_key('4', '{NULL,what}', '18', 'duel') AS e;
SET leaderboard.enable_index = off;
SELECT lb_count_before(NULL, '{}', 18, 'points') AS a, lb_count_before(4, NULL, 18, 'points') AS b, lb_count_before(4, '{}', NULL, 'points') AS c,
	lb_count_before(4, '{t,NULL}', 18, 'duel') AS d, lb_count_before_key('4', '{NULL,what}', '18', 'duel') AS e;
RESET leaderboard.enable_index;

-- Errors
SELECT * FROM lbt.error('SELECT lb_count_before(4, ''{}'', 18, ''duel'')');
SELECT * FROM lbt.error('SELECT lb_count_before(4, ''{1}'', 18, ''points'')');
SELECT * FROM lbt.error('SELECT lb_count_before(4, ''{{t,now},{t,now}}'', 18, ''duel'')');
SELECT * FROM lbt.error('SELECT lb_count_before(4, ''{}'', 18, ''points'', NULL)');
SELECT * FROM lbt.error('SELECT lb_count_before(4, ''{}'', 18, NULL)');
SELECT * FROM lbt.error('SELECT lb_count_before(4, ''{}'', 18, ''nosuch'')');
SELECT * FROM lbt.error('SELECT lb_count_before(4, ''{}'', 18, ''run'')');
SELECT * FROM lbt.error('SELECT lb_page(-1, ''duel'')');
SELECT * FROM lbt.error('SELECT lb_page(1, ''duel'', -1)');
SELECT lb_count_before(4, '{maybe,now}', 18, 'duel');
SELECT lb_count_before_key('4', '{t,soon}', '18', 'duel');
SELECT lb_count_before_key('much', '{t,now}', '18', 'duel');

SELECT * FROM lb_verify();
DROP TABLE duel, run;
