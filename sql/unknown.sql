--
-- leaderboard.unknown_board: names that look like those of a mistyped family
--
CREATE TABLE w (player_id bigint, key text, score bigint NOT NULL,
	PRIMARY KEY (player_id, key));
INSERT INTO w SELECT i, 'weekly:' || i % 3, i FROM generate_series(1, 30) i;
INSERT INTO w VALUES (1, 'plain', 5);
CREATE TABLE c (player_id bigint PRIMARY KEY, country text, score bigint NOT NULL);
INSERT INTO c SELECT i, 'FR', i FROM generate_series(1, 30) i;
SELECT lb_create_board('*', 'w', 'player_id', 'score DESC', 'key'),
	lb_create_board('country', 'c', 'player_id', 'score DESC', 'country');
SELECT lb_wait_ready();

-- Known
SELECT lb_rank(3, 'weekly:0'), lb_rank(3, 'weekly:9'), lb_rank(3, 'country:FR'),
	lb_rank(3, 'country:XX'), lb_rank(3, '*:contry:FR'), lb_rank(1, '*:plain');
-- Told of, once
SELECT lb_rank(3, 'contry:FR');
SELECT lb_rank(3, 'contry:FR'), lb_score(3, 'contry:JP');
SELECT * FROM lb_top(3, 'wekly:0');
SELECT lb_count('week:0'), lb_count('weekly::0');

-- An error, each time, until there is such a row
SET leaderboard.unknown_board = error;
SELECT lb_rank(3, 'contry:FR');
SELECT lb_rank(3, 'contry:FR');
SELECT lb_top_json(3, 'contry:FR');
SELECT lb_count('weekly:9'), lb_count('country:XX'), lb_count('*:contry:FR');
INSERT INTO w VALUES (1, 'wekly:7', 1);
SELECT lb_count('wekly:0'), lb_count('wekly:7');
-- Not in a transaction that writes to the table
BEGIN;
INSERT INTO w VALUES (1, 'fresh:1', 1);
SELECT lb_count('fresh:1'), lb_count('fresh:2');
ROLLBACK;
SELECT lb_count('fresh:2');
-- Nor by a row that is not ranked
ALTER TABLE w ALTER score DROP NOT NULL;
INSERT INTO w VALUES (1, 'unranked:1', NULL);
SELECT lb_count('unranked:1');
DELETE FROM w WHERE score IS NULL;
-- A recorded window, and one that is named
SELECT lb_count('daily'), lb_count('event:2');
SELECT lb_open_window('event:1', starts => '2026-01-01', ends => '2226-01-01');
SELECT lb_count('event:2');

-- By the query
SET leaderboard.enable_index = off;
SELECT lb_count('contry:FR');
INSERT INTO w VALUES (1, 'gone:7', 1);
SELECT lb_count('gone:0');
RESET leaderboard.enable_index;

-- A role that may not read the table learns nothing, and one that sees some of its rows
-- learns of these only.
CREATE ROLE lb_stranger;
SET ROLE lb_stranger;
\set SHOW_CONTEXT never
SELECT lb_rank(3, 'contry:FR');
\set SHOW_CONTEXT errors
RESET ROLE;
GRANT SELECT ON w TO lb_stranger;
ALTER TABLE w ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON w USING (player_id = 2);
INSERT INTO w VALUES (1, 'hidden:1', 1), (2, 'shown:1', 1);
SET ROLE lb_stranger;
SELECT lb_count('hidden:2');
SELECT lb_count('shown:2');
RESET ROLE;
SELECT lb_count('hidden:2');
RESET leaderboard.unknown_board;

-- Not at all
SET leaderboard.unknown_board = ignore;
SELECT lb_rank(3, 'nothing:FR');
RESET leaderboard.unknown_board;
SELECT lb_rank(3, 'nothing:FR');

-- The values of an enum are known: no name of one is mistyped, also if its label is the longest.
SELECT lb_drop_board('*');
CREATE TYPE season AS ENUM ('week:1', 'week:2', 'cup:a', 'a_label_of_the_most_bytes_that_there_can_be_with_its_colon___:x');
CREATE TABLE e (player_id int PRIMARY KEY, season season, score int NOT NULL);
SELECT lb_create_board('*', 'e', board_column => 'season');
INSERT INTO e VALUES (1, 'week:1', 10);
SELECT lb_rank(1, 'week:1'), lb_count('week:2'), lb_count('cup:a'), lb_count('*:cup:a'),
	lb_count('a_label_of_the_most_bytes_that_there_can_be_with_its_colon___:x');
SELECT lb_count('weeek:1');
ALTER TYPE season RENAME VALUE 'week:1' TO 'w:1';
SELECT lb_count('w:1');

SELECT * FROM lb_verify();
DROP TABLE w, c, e;
DROP TYPE season;
DROP ROLE lb_stranger;
