--
-- Tables whose members are a uuid and a text: renamed, moved to another schema,
-- partitioned, with row-level security.  All functions agree with their queries.
--
SET client_min_messages = warning;
CREATE TYPE tier AS ENUM ('silver', 'gold');
CREATE TABLE tanks (account uuid, tank text, tier tier, score numeric(12,2), PRIMARY KEY (tank, account));
INSERT INTO tanks
SELECT lbt.uuid_of(i / 3), lbt.text_of(i), (enum_range(NULL::tier))[1 + i % 2], i * 31 % 17 * 0.01
FROM generate_series(1, 100) AS i;
SELECT lb_create_board('tanks', 'tanks', 'account, tank', 'score DESC');
SELECT lb_create_board('tier', 'tanks', 'tank, account', 'score ASC', 'tier', 'rank');
SELECT * FROM lbt.differences('tanks', 'tanks', member => 'account, tank');
SELECT * FROM lbt.differences('tier:gold', 'tanks', $$tier = 'gold'$$, 'tank, account', dir => 'ASC', method => 'rank');

-- Columns, the table and its schema have other names, and the board follows.
ALTER TABLE tanks RENAME account TO "Account, Id";
ALTER TABLE tanks RENAME tank TO "the ""tank""";
ALTER TABLE tanks RENAME score TO "Score";
ALTER TABLE tanks RENAME tier TO class;
ALTER TABLE tanks RENAME TO "Tanks";
CREATE SCHEMA arena;
ALTER TABLE "Tanks" SET SCHEMA arena;
ALTER SCHEMA arena RENAME TO "Old Arena";
ALTER TYPE tier RENAME VALUE 'gold' TO 'Gold';
SELECT board, source, member, rank_by, board_column FROM lb_board ORDER BY board;
SELECT lb_wait_ready();
UPDATE "Old Arena"."Tanks" SET "the ""tank""" = "the ""tank""" || '!' WHERE octet_length("the ""tank""") < 500;
UPDATE "Old Arena"."Tanks" SET "Score" = "Score" + 0.07 WHERE class = 'Gold';
SELECT * FROM lbt.differences('tanks', '"Old Arena"."Tanks"', member => '"Account, Id", "the ""tank"""', score => '"Score"');
SELECT * FROM lbt.differences('tier:Gold', '"Old Arena"."Tanks"', $$class = 'Gold'$$, '"the ""tank""", "Account, Id"',
	'"Score"', 'ASC', method => 'rank');
SELECT * FROM lb_verify_key();
DROP TABLE "Old Arena"."Tanks";
DROP SCHEMA "Old Arena";

-- Partitions by a column of the member; one has its columns in another order.
CREATE TABLE tanks (account uuid, tank text, score real, PRIMARY KEY (tank, account)) PARTITION BY RANGE (tank);
CREATE TABLE tanks1 PARTITION OF tanks FOR VALUES FROM (MINVALUE) TO ('b');
CREATE TABLE tanks2 (score real, gone int, tank text NOT NULL, account uuid NOT NULL);
ALTER TABLE tanks2 DROP COLUMN gone;
ALTER TABLE tanks ATTACH PARTITION tanks2 DEFAULT;
INSERT INTO tanks SELECT lbt.uuid_of(i / 3), lbt.text_of(i), (i * 31 % 17) / 4.0 FROM generate_series(1, 100) AS i;
SELECT lb_create_board('tanks', 'tanks', 'account, tank', 'score DESC');
SELECT * FROM lbt.differences('tanks', 'tanks', member => 'account, tank');
UPDATE tanks SET tank = 'a' || tank WHERE tank > 'p' AND octet_length(tank) < 500;
UPDATE tanks SET score = 'NaN' WHERE account::text > '9';
SELECT * FROM lbt.differences('tanks', 'tanks', member => 'account, tank');
ALTER TABLE tanks DETACH PARTITION tanks1;
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('tanks', 'tanks', member => 'account, tank');
SELECT * FROM lb_verify_key();
DROP TABLE tanks, tanks1;

-- Row-level security: each role sees its own rows.
CREATE ROLE regress_lb_tanks;
CREATE TABLE tanks (account uuid, tank text COLLATE "C", score double precision, PRIMARY KEY (account, tank));
INSERT INTO tanks SELECT lbt.uuid_of(i / 3), lbt.text_of(i), (i * 31 % 17) / 4.0 FROM generate_series(1, 100) AS i;
SELECT lb_create_board('tanks', 'tanks', 'account, tank', 'score DESC');
ALTER TABLE tanks ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON tanks USING (account::text < '8');
GRANT SELECT ON tanks TO regress_lb_tanks;
GRANT SELECT ON ALL TABLES IN SCHEMA lbt TO regress_lb_tanks;
SELECT lb_wait_ready();
SET ROLE regress_lb_tanks;
SELECT lb_count('tanks') = (SELECT count(*) FROM tanks) AS same, lb_count('tanks') < 100 AS fewer;
SELECT * FROM lbt.differences('tanks', 'tanks', member => 'account, tank', query_reads => NULL);
RESET ROLE;
SELECT * FROM lbt.differences('tanks', 'tanks', member => 'account, tank');
SELECT * FROM lb_verify_key();
DROP TABLE tanks;
DROP OWNED BY regress_lb_tanks;
DROP ROLE regress_lb_tanks;
DROP TYPE tier;
