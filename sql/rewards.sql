--
-- lb_set_reward(): a function of the owner's, called once for each closed window.
--
SELECT lb_create_tables();
SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '1 day', archive_top => 3);
SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '2020-02-01', keep => '100 years', late => '1 day');
SELECT lb_close_window('daily'), lb_close_window('weekly');
SELECT lb_wait_ready();
CREATE TABLE prize (board text, player_id bigint, coins integer, paid_by name DEFAULT current_user, PRIMARY KEY (board, player_id));
CREATE FUNCTION pay(board text, standings jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.prize
	SELECT $1, s.player_id, 100 / s.place FROM jsonb_to_recordset(standings) AS s (player_id bigint, place integer)
	WHERE s.place <= 2;
	IF board = 'month:202002' AND NOT EXISTS (SELECT FROM public.prize p WHERE p.board = 'fixed') THEN
		RAISE EXCEPTION 'no coins left';
	END IF;
END $$;
SELECT lb_set_reward('month', 'pay(text, jsonb)');
SELECT * FROM lb_reward;
INSERT INTO player_score_windows VALUES (1, 'month:202001', 5), (2, 'month:202001', 7), (3, 'month:202001', 6), (4, 'month:202001', 4),
	(1, 'month:202002', 9), (2, 'month:202003', 9), (1, 'cup:1', 100);

-- A call of lb_maintain() closes windows and rewards one.
SELECT closed, archived, more FROM lb_maintain();
SELECT board, name, paid_at IS NOT NULL AS paid, attempts, problem FROM lb_payout ORDER BY board;
SELECT * FROM prize ORDER BY 1, 2;
-- The one that fails leaves nothing, and does not keep the next one back.
\set VERBOSITY terse
SELECT closed, archived, more FROM lb_maintain();
SELECT closed, archived, more FROM lb_maintain();
SELECT board, name, paid_at IS NOT NULL AS paid, attempts, problem FROM lb_payout ORDER BY board;
SELECT * FROM prize ORDER BY 1, 2;
-- What was rewarded is not rewarded again.
INSERT INTO prize VALUES ('fixed', 0, 0);
SELECT closed, archived, more FROM lb_maintain();
SELECT closed, archived, more FROM lb_maintain();
SELECT board, name, paid_at IS NOT NULL AS paid, attempts, problem FROM lb_payout ORDER BY board;
SELECT * FROM prize ORDER BY 1, 2;

-- Undone with its transaction, and called in the next one.
INSERT INTO player_score_windows VALUES (5, 'month:202004', 5);
BEGIN;
SELECT closed, more FROM lb_maintain();
SELECT count(*) FROM prize WHERE board = 'month:202004';
ROLLBACK;
SELECT count(*) FROM prize WHERE board = 'month:202004';
SELECT closed, more FROM lb_maintain();
SELECT count(*) FROM prize WHERE board = 'month:202004';

-- Windows that close from now on; without a function, none.
SELECT lb_set_reward('cup:1', 'pay(text, jsonb)');
SELECT lb_set_reward('month', NULL);
INSERT INTO player_score_windows VALUES (5, 'month:202005', 5);
SELECT closed, more FROM lb_maintain();
SELECT board FROM lb_payout WHERE board IN ('month:202005', 'cup:1');

-- What the function gets.
CREATE TABLE got (board text, standings jsonb);
CREATE FUNCTION "Take It"(text, jsonb) RETURNS SETOF integer LANGUAGE sql BEGIN ATOMIC
	INSERT INTO got VALUES ($1, $2);
	SELECT 1;
END;
SELECT lb_set_reward('month', '"Take It"(text, jsonb)');
SET leaderboard.json_bigint = string;
INSERT INTO player_score_windows VALUES (1, 'month:202006', 5), (2, 'month:202006', 7), (3, 'month:202006', 5), (4, 'month:202006', 1);
SELECT closed, archived, more FROM lb_maintain();
RESET leaderboard.json_bigint;
SELECT * FROM got;

-- A deferred constraint of the function's is checked at once, and not at the commit.
CREATE TABLE coin (id integer PRIMARY KEY);
CREATE TABLE debt (id integer REFERENCES coin DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION debt(text, jsonb) RETURNS void LANGUAGE sql AS 'INSERT INTO public.debt VALUES (1)';
SELECT lb_set_reward('month', 'debt(text, jsonb)');
INSERT INTO player_score_windows VALUES (1, 'month:202007', 5);
SELECT closed, more FROM lb_maintain();
SELECT problem FROM lb_payout WHERE board = 'month:202007';
INSERT INTO coin VALUES (1);
SELECT closed, more FROM lb_maintain();
SELECT paid_at IS NOT NULL AS paid, attempts, problem FROM lb_payout WHERE board = 'month:202007';

-- Windows of other leaderboards.
SELECT lb_create_leaderboard('kills', windows => '{}');
SELECT lb_open_window('kills/month', 'monthly', keep => '100 years', late => '1 day');
SELECT lb_wait_ready();
SELECT lb_set_reward('kills/month', 'pay(text, jsonb)');
INSERT INTO kills_score_windows VALUES (1, 'kills/month:202001', 5), (1, 'kills/month:202002', 5);
SELECT closed, more FROM lb_maintain();
SELECT closed, more FROM lb_maintain();
SELECT board, player_id, coins FROM prize WHERE board LIKE 'kills/%' ORDER BY 1;
-- Those that are due end with their window.
CREATE FUNCTION fails(text, jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
SELECT lb_set_reward('kills/month', 'fails(text, jsonb)');
INSERT INTO kills_score_windows VALUES (1, 'kills/month:202003', 5);
SELECT closed, more FROM lb_maintain();
SELECT board, attempts FROM lb_payout WHERE paid_at IS NULL;
SELECT lb_drop_leaderboard('kills');
SELECT * FROM lb_reward;
SELECT board FROM lb_payout WHERE paid_at IS NULL;
-- One that has stayed is not for a later leaderboard of that name, unless that closes
-- the same window.
INSERT INTO lb_payout (board, name, source) SELECT 'kills/month:' || m, 'kills/month', 0 FROM unnest('{202003,202004}'::text[]) m;
SELECT lb_create_leaderboard('kills', windows => '{}');
SELECT lb_open_window('kills/month', 'monthly', keep => '100 years', late => '1 day');
SELECT lb_wait_ready();
SELECT lb_set_reward('kills/month', 'pay(text, jsonb)');
INSERT INTO kills_score_windows VALUES (2, 'kills/month:202004', 5), (2, 'kills/month:202002', 5);
SELECT closed, more FROM lb_maintain();
SELECT closed, more FROM lb_maintain();
SELECT board, paid_at IS NOT NULL AS paid, attempts FROM lb_payout WHERE board LIKE 'kills/%' ORDER BY 1;
SELECT board, player_id, coins FROM prize WHERE board LIKE 'kills/%' ORDER BY 1;
SELECT lb_drop_leaderboard('kills');
SELECT board FROM lb_payout WHERE paid_at IS NULL;

-- With the rights of the tables' owner, whoever calls.
CREATE ROLE regress_owner;
GRANT CREATE, USAGE ON SCHEMA public TO regress_owner;
ALTER TABLE player_score_windows OWNER TO regress_owner;
GRANT ALL ON prize TO regress_owner;
INSERT INTO player_score_windows VALUES (1, 'month:202008', 5);
SELECT closed, more FROM lb_maintain();
SELECT problem FROM lb_payout WHERE board = 'month:202008';
SELECT lb_set_reward('month', 'pay(text, jsonb)');
ALTER FUNCTION pay(text, jsonb) OWNER TO regress_owner;
SELECT lb_set_reward('month', 'pay(text, jsonb)');
SELECT closed, more FROM lb_maintain();
SELECT * FROM prize WHERE board = 'month:202008';
CREATE FUNCTION escape(text, jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN RESET SESSION AUTHORIZATION; END';
ALTER FUNCTION escape(text, jsonb) OWNER TO regress_owner;
SELECT lb_set_reward('month', 'escape(text, jsonb)');
INSERT INTO player_score_windows VALUES (1, 'month:202009', 5);
SELECT closed, more FROM lb_maintain();
SELECT problem FROM lb_payout WHERE board = 'month:202009';
-- A function that is gone is called when it is there again.
DROP FUNCTION escape(text, jsonb);
SELECT closed, more FROM lb_maintain();
SELECT attempts, problem FROM lb_payout WHERE board = 'month:202009';

-- The code of a cancel is that of other errors, too.
CREATE FUNCTION cancels(text, jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'not a cancel' USING ERRCODE = 'query_canceled'; END $$;
ALTER FUNCTION cancels(text, jsonb) OWNER TO regress_owner;
SELECT lb_set_reward('month', 'cancels(text, jsonb)');
SELECT closed, more FROM lb_maintain();
SELECT attempts, problem FROM lb_payout WHERE board = 'month:202009';
DROP FUNCTION cancels(text, jsonb);

-- Errors.
CREATE FUNCTION other(text) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION theirs(text, jsonb) RETURNS void LANGUAGE sql AS '';
\set VERBOSITY default
SELECT lb_set_reward(NULL, 'pay(text, jsonb)');
SELECT lb_set_reward('yearly', 'pay(text, jsonb)');
SELECT lb_set_reward('month', 'other(text)');
SELECT lb_set_reward('month', 'theirs(text, jsonb)');
SELECT lb_set_reward('month', 4711);
SET ROLE regress_owner;
SELECT lb_set_reward('month', 'pay(text, jsonb)');
RESET ROLE;
CREATE ROLE regress_other;
GRANT EXECUTE ON FUNCTION lb_set_reward TO regress_other, regress_owner;
SET ROLE regress_other;
SELECT lb_set_reward('month', 'pay(text, jsonb)');
SET ROLE regress_owner;
SELECT lb_set_reward('month', 'pay(text, jsonb)');
RESET ROLE;
-- A role's lb_maintain() locks no payout of others.
GRANT CREATE ON SCHEMA public TO regress_other;
GRANT EXECUTE ON FUNCTION lb_create_leaderboard TO regress_other;
GRANT SELECT ON player_score_windows TO regress_other;
SET ROLE regress_other;
SELECT lb_create_leaderboard('theirs', windows => '{}');
BEGIN;
SELECT closed, more FROM lb_maintain();
RESET ROLE;
SELECT board, xmax = CAST(pg_current_xact_id() AS xid) AS locked FROM lb_payout WHERE paid_at IS NULL;
SELECT closed, more FROM lb_maintain();
ROLLBACK;
RESET ROLE;
SELECT lb_drop_leaderboard('theirs');
REVOKE ALL ON FUNCTION lb_create_leaderboard FROM regress_other;
REVOKE CREATE ON SCHEMA public FROM regress_other;
SELECT * FROM lb_verify();

-- Rewards end with their windows.
DROP TABLE player_score_windows;
SELECT * FROM lb_reward;

-- A key that is closed again is not rewarded again.
SELECT paid_at IS NOT NULL AS paid, attempts FROM lb_payout WHERE board = 'month:202001';
DELETE FROM lb_archive;
SELECT lb_create_tables();
SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '1 day');
ALTER FUNCTION pay(text, jsonb) OWNER TO CURRENT_USER;
SELECT lb_set_reward('month', 'pay(text, jsonb)');
INSERT INTO player_score_windows VALUES (1, 'month:202001', 5);
SELECT closed FROM lb_maintain();
SELECT paid_at IS NOT NULL AS paid, attempts FROM lb_payout WHERE board = 'month:202001';
SELECT * FROM lb_verify();
DROP TABLE player_score_windows;
DROP TABLE player_scores, prize, got, debt, coin CASCADE;
DROP FUNCTION pay, other, theirs, debt, fails;
DROP FUNCTION IF EXISTS "Take It";
REVOKE ALL ON FUNCTION lb_set_reward FROM regress_other, regress_owner;
REVOKE CREATE, USAGE ON SCHEMA public FROM regress_owner;
DROP ROLE regress_owner, regress_other;
TRUNCATE lb_archive, lb_closed, lb_payout;
