--
-- The end of windows and seasons: lb_maintain(), lb_archive, lb_close_season().
-- Work becomes due inside of transactions only, so that the worker is not quicker.
--
-- What other files have left would be removed, and counted.
TRUNCATE lb_event, lb_applied, lb_usage, lb_anomaly, lb_archive, lb_closed, lb_season, lb_payout;
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE VIEW kept AS SELECT window_key, count(*) FROM player_score_windows GROUP BY 1 ORDER BY 1;
CREATE VIEW archived AS SELECT board, season, place, rank, member, score FROM lb_archive ORDER BY board, season, place;
SELECT lb_open_window('daily', keep => '1000 years', late => '999 years', archive_top => 3),
	lb_open_window('weekly', keep => '1000 years');
SELECT lb_submit_many('{1,2,3,4,5}', '{10,50,30,20,40}', at => d)
FROM unnest(ARRAY['2026-04-09', '2026-04-10']::timestamptz[]) d;
UPDATE player_score_windows SET ranked = false WHERE player_id = 5 AND window_key = 'daily:20260409';
INSERT INTO player_score_windows VALUES (1, 'other:1', 5);
SELECT * FROM lb_maintain();
SELECT * FROM kept;

-- No longer written to: archived, and closed.  The rows stay as long as they
-- are kept.
BEGIN;
UPDATE lb_window SET late = '0' WHERE name = 'daily';
SELECT * FROM lb_maintain();
SELECT * FROM archived;
SELECT board, members, closed_at = now() AS now, removed_at FROM lb_closed ORDER BY 1;
SELECT * FROM kept;
SELECT board, applied FROM lb_submit(1, 1, at => '2026-04-09');
SELECT * FROM lb_maintain();
COMMIT;
-- Opened for longer, what is closed stays closed.
UPDATE lb_window SET late = '999 years' WHERE name = 'daily';
SELECT board, applied FROM lb_submit(1, 1, at => '2026-04-09');
SELECT board, applied FROM lb_submit(1, 1, at => '2026-04-11');

-- No longer kept: the rows go, in batches, those of the hidden too.
BEGIN;
UPDATE lb_window SET keep = '1 day', late = NULL WHERE name = 'daily';
SELECT * FROM lb_maintain(2);
SELECT * FROM lb_maintain(2);
SELECT * FROM kept;
SELECT * FROM lb_maintain();
SELECT * FROM kept;
SELECT board, members, removed_at = now() AS now FROM lb_closed ORDER BY 1;
SELECT * FROM lb_maintain();
COMMIT;
SELECT lbt.given_back('player_score_windows');
SELECT board, members FROM lb_stat_board WHERE source = 'player_score_windows'::regclass ORDER BY 1;
SELECT * FROM lb_top(10, 'daily:20260409');
SELECT * FROM lb_archive_top('daily:20260409');
SELECT * FROM lb_archive_top('daily:20260410', 1);
SELECT * FROM lb_archive_top('*:daily:20260410', 1);
SELECT * FROM lb_archive_top('daily:20260412');
SELECT * FROM lb_archive_top('daily-9999');
SELECT board, applied FROM lb_submit(1, 1, at => '2026-04-10');
SELECT * FROM lb_verify();

-- A window whose rows are all hidden has no board: it is closed all the same,
-- and removed in batches.  So is, a day later, what comes to one that was removed.
UPDATE lb_window SET keep = '1000 years' WHERE name = 'daily';
INSERT INTO player_score_windows (player_id, window_key, score, ranked)
SELECT p, 'daily:20260401', p, false FROM generate_series(1, 5) p
UNION ALL SELECT p, 'daily:20260409', p, p < 3 FROM generate_series(1, 3) p;
SELECT * FROM lb_maintain();
BEGIN;
UPDATE lb_window SET keep = '1 day' WHERE name = 'daily';
UPDATE lb_closed SET removed_at = removed_at - interval '25 h';
SELECT * FROM lb_maintain(2);
SELECT * FROM kept;
SELECT * FROM lb_maintain(2);
SELECT * FROM kept;
SELECT * FROM lb_maintain(5);
SELECT * FROM kept;
SELECT board, members, removed_at = now() AS now FROM lb_closed ORDER BY 1;
SELECT * FROM lb_maintain();
SELECT board, count(*) FROM lb_archive GROUP BY 1 ORDER BY 1;
COMMIT;

-- What has been archived stays as it is, should the rest have to be done again.
BEGIN;
DELETE FROM lb_closed WHERE board = 'daily:20260410';
INSERT INTO player_score_windows (player_id, window_key, score) VALUES (7, 'daily:20260410', 7);
COMMIT;
SELECT * FROM lb_maintain();
SELECT * FROM lb_archive_top('daily:20260410', 5);

-- A tournament that is not archived, and one of which all is.  The method is
-- the board's.
SELECT lb_drop_board('*');
SELECT lb_create_board('*', 'player_score_windows', rank_by => 'score DESC', board_column => 'window_key',
	method => 'dense_rank', ranked_if => 'ranked');
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1 day', archive_top => 3), lb_open_window('weekly', keep => '1000 years');
SELECT lb_open_window('tourney:a', starts => '2026-04-01', ends => '2026-05-01', keep => '1000 years', archive_top => 0),
	lb_open_window('tourney:b', starts => '2026-04-01', ends => '2026-05-01', keep => '1000 years', archive_top => NULL);
SELECT lb_submit_many('{1,2,3,4,5}', '{10,30,30,20,20}', at => '2026-04-12');
BEGIN;
UPDATE lb_window SET keep = '1 day' WHERE name LIKE 'tourney:%';
SELECT * FROM lb_maintain();
SELECT * FROM archived WHERE board LIKE 'tourney%';
SELECT * FROM lb_archive_top('tourney:b', 3);
COMMIT;
SELECT * FROM kept;

-- A window whose kind is not recorded is left alone, though it has been closed:
-- so comes a dump that has lb_closed before lb_window.
BEGIN;
INSERT INTO lb_closed (board) VALUES ('other:1');
SELECT * FROM lb_maintain();
SELECT * FROM kept;
INSERT INTO lb_window (name, starts, ends, keep) VALUES ('other:1', '2026-04-01', '2026-05-01', '1 day');
SELECT * FROM lb_maintain();
SELECT * FROM kept;
COMMIT;

-- What has been counted for a limit is left alone while there is no limit.
BEGIN;
INSERT INTO lb_usage (limit_name, board, player_id, amount, submits) VALUES ('gone', 'global', 1, 1, 1);
SELECT * FROM lb_maintain();
ROLLBACK;

-- A trigger of the user's that fails, or keeps rows: the others go on.
CREATE FUNCTION keep_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('regress.keep') = 'off' THEN
		RETURN OLD;
	ELSIF OLD.player_id = 2 THEN
		RAISE EXCEPTION 'player 2 stays (as %)', current_user;
	ELSIF OLD.player_id <> 3 THEN
		RETURN OLD;
	ELSIF current_setting('regress.keep') = 'tell' THEN
		RAISE NOTICE 'player 3 is kept';
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER keep_it BEFORE DELETE ON player_score_windows FOR EACH ROW
WHEN (OLD.window_key = 'c:1') EXECUTE FUNCTION keep_it();
CREATE ROLE regress_lb_owner;
ALTER TABLE player_score_windows OWNER TO regress_lb_owner;
INSERT INTO player_score_windows SELECT p, 'c:' || w, p FROM generate_series(1, 4) p, generate_series(1, 2) w;
SELECT lb_wait_ready('5 min');
BEGIN;
INSERT INTO lb_closed (board) VALUES ('c:1'), ('c:2');
INSERT INTO lb_window (name, starts, ends, keep) SELECT 'c:' || w, '2026-04-01', '2026-05-01', '1 day' FROM generate_series(1, 2) w;
SET LOCAL regress.keep = 'on';
\set VERBOSITY terse
SELECT * FROM lb_maintain();
\set VERBOSITY default
SELECT * FROM kept;
SET LOCAL regress.keep = 'off';
DELETE FROM player_score_windows WHERE window_key = 'c:1' AND player_id = 2;
SET LOCAL regress.keep = 'tell';
-- The trigger that keeps the row is asked once a day.
SELECT * FROM lb_maintain();
SELECT * FROM kept;
SELECT board FROM lb_closed WHERE removed_at IS NULL;
SELECT * FROM lb_maintain();
UPDATE lb_closed SET removed_at = removed_at - interval '25 h';
SELECT * FROM lb_maintain();
DELETE FROM lb_window WHERE name LIKE 'c:%';
COMMIT;
DROP TRIGGER keep_it ON player_score_windows;
DROP FUNCTION keep_it();
SELECT lb_wait_ready('5 min');

-- What is logged and remembered is trimmed by its age.
SET leaderboard.event_retention = '2d';
SET leaderboard.applied_retention = '1d';
TRUNCATE lb_event, lb_applied;
SELECT player_id, applied FROM generate_series(1, 4) player_id, lb_submit(player_id, 1, match_id => 'm', boards => '{global}');
UPDATE lb_event SET submitted_at = now() - player_id::integer * interval '23 h';
UPDATE lb_applied SET applied_at = now() - player_id::integer * interval '23 h';
SELECT lb_set_limit('x', 'global', max_submits => 10, period => '1 h'), lb_set_limit('y', 'global', max_submits => 10);
SELECT score FROM lb_submit(1, 1, boards => '{global}');
UPDATE lb_usage SET since = now() - interval '2 h';
INSERT INTO lb_usage (limit_name, board, player_id, amount, submits) VALUES ('gone', 'global', 1, 1, 1);
BEGIN;
SELECT removed, more FROM lb_maintain(1);
SELECT removed, more FROM lb_maintain(2);
SELECT removed, more FROM lb_maintain();
COMMIT;
SELECT count(*), count(*) FILTER (WHERE submitted_at < now() - interval '1 h') AS old FROM lb_event;
SELECT player_id FROM lb_applied;
SELECT limit_name FROM lb_usage;
SELECT lb_drop_limit('x'), lb_drop_limit('y');
SET leaderboard.anomaly_retention = '1d';
INSERT INTO lb_anomaly (player_id, limit_name, board, submits, first_noted_at, noted_at, max_amount, measure, value, bound, amount, at)
SELECT i, 'x', 'global', 1, now() - interval '9 d', now() - i * interval '20 h', 1, 'the amount', 1, 0, 1, now() FROM generate_series(1, 4) i;
SELECT removed, more FROM lb_maintain();
SELECT player_id FROM lb_anomaly ORDER BY 1;
SET leaderboard.anomaly_retention = -1;
UPDATE lb_anomaly SET noted_at = '-infinity';
SELECT removed, more FROM lb_maintain();
RESET leaderboard.anomaly_retention;
TRUNCATE lb_anomaly;
SET leaderboard.event_retention = -1;
UPDATE lb_event SET submitted_at = '-infinity';
SELECT removed, more FROM lb_maintain();
RESET leaderboard.event_retention;
RESET leaderboard.applied_retention;

-- A season: archived and reset in one transaction.
TRUNCATE player_scores, lb_archive;
INSERT INTO player_scores (player_id, score) SELECT p, p * 10 FROM generate_series(0, 5) p;
BEGIN;
SELECT lb_close_season('global', 'spring');
SELECT * FROM lb_top(2);
ROLLBACK;
SELECT * FROM lb_top(2);
SELECT lb_close_season('global', 'spring');
SELECT * FROM archived;
SELECT * FROM lb_top(10);
SELECT score FROM lb_submit(3, 7, boards => '{global}');
SELECT lb_close_season('global', 'spring');
SELECT lb_close_season('global', 'summer', archive_top => 1, reset_to => 100);
SELECT * FROM lb_archive_top('global');
SELECT * FROM lb_archive_top('global', 2, 'spring');
SELECT * FROM lb_archive_top('global', 2, 'winter');
SELECT lb_score(3), lb_count();
SELECT lb_close_season('global', 'autumn', 0, NULL);
SELECT lb_count();
-- A season's name is used once, whatever was archived: later scores are still there.
INSERT INTO player_scores (player_id, score) VALUES (1, 11), (2, 22);
SELECT state, message, detail, hint FROM lbt.error($$SELECT lb_close_season('global', 'autumn', 0)$$);
SELECT state FROM lbt.error($$SELECT lb_close_season('global', 'autumn')$$);
SELECT * FROM lb_top(3);
DELETE FROM player_scores;
SELECT lb_close_season('global', 'nobody'), (SELECT state FROM lbt.error($$SELECT lb_close_season('global', 'nobody')$$));
SELECT board, season, archive_top, members, s.source FROM lb_season JOIN lb_archive_source s ON s.id = lb_season.source ORDER BY closed_at;
-- A hidden player is archived without a rank, and is reset too.  So is a player with a
-- null in another column of rank_by.  A row without a member is no player's score.
CREATE TABLE hiding (player_id integer, guild text, score smallint, level integer, ranked boolean);
CREATE UNIQUE INDEX ON hiding (player_id, guild);
INSERT INTO hiding VALUES (1, 'a', 10, 1, true), (2, 'a', 20, 1, false), (3, 'a', 30, 1, NULL), (4, 'a', 40, NULL, true),
	(5, 'a', NULL, 1, false), (NULL, 'a', 60, 1, true), (1, 'b', 70, 1, false), (2, NULL, 80, 1, false), (7, 'a', 0, 1, false);
SELECT lb_create_board('hiding', 'hiding', rank_by => 'score DESC, level ASC', board_column => 'guild', ranked_if => 'ranked');
SELECT lb_close_season('hiding:a', 'first', 1);
SELECT board, season, place, rank, member, score FROM lb_archive WHERE board LIKE 'hiding%' ORDER BY season, member;
SELECT * FROM lb_archive_top('hiding:a', 10);
SELECT player_id, guild, score FROM hiding ORDER BY 1, 2;
UPDATE hiding SET score = 5 WHERE guild = 'a';
SELECT lb_close_season('hiding:a', 'none', 0, 1), lb_close_season('hiding:a', 'last', NULL, NULL);
SELECT board, season, place, rank, member, score FROM lb_archive WHERE board LIKE 'hiding%' ORDER BY season, member;
SELECT player_id, guild, score FROM hiding ORDER BY 1, 2;
-- More of them than are copied at once.
INSERT INTO hiding SELECT i, 'c', i % 100, 1, i % 3 = 0 FROM generate_series(1, 30001) i;
SELECT lb_close_season('hiding:c', 'x');
SELECT count(*), count(place), count(DISTINCT member), sum(score::bigint) FROM lb_archive WHERE board = 'hiding:c';
SELECT count(*), sum(score) FROM hiding WHERE guild = 'c';
DROP TABLE hiding;
-- One board of a family.
INSERT INTO player_score_windows SELECT p, 'guild:' || w, p FROM generate_series(1, 3) p, generate_series(1, 2) w;
SELECT lb_close_season('guild:1', '2026');
SELECT * FROM lb_top(3, 'guild:1');
SELECT * FROM lb_top(3, 'guild:2');
SELECT * FROM lb_archive_top('guild:1', 1);
-- Whichever of its names is used.
SELECT * FROM lb_archive_top('*:guild:1', 1);
SELECT state FROM lbt.error($$SELECT lb_close_season('*:guild:1', '2026')$$);
SELECT lb_close_season('*:guild:1', '2027');
SELECT season, count(*) FROM lb_season WHERE board = 'guild:1' GROUP BY 1 ORDER BY 1;
-- A window is not a season, whatever it is called, and closed or not.
SELECT lb_close_season('daily', 's');
SELECT lb_close_season('daily:20260412', 's');
SELECT lb_close_season('*:daily:20260412', 's', reset_to => NULL);
BEGIN;
SELECT lb_open_window('guild:2', starts => '2026-04-01', ends => '2026-04-02', late => '0', keep => '1000 years');
SELECT closed, archived FROM lb_maintain();
SELECT player_id, score FROM player_score_windows WHERE window_key = 'guild:2' ORDER BY 1;
SAVEPOINT a;
SELECT lb_close_season('guild:2', 's');
ROLLBACK TO a;
DELETE FROM lb_window WHERE name = 'guild:2';
SELECT lb_close_season('guild:2', 's');
ROLLBACK;
SELECT count(*) FROM lb_archive WHERE season = 's';
SELECT * FROM lb_verify();

-- Where the index cannot tell the standings, and policies apply to the table's
-- owner, they would lack rows: nothing is closed or reset, until the index can.
ALTER TABLE player_scores OWNER TO regress_lb_owner;
CREATE POLICY odd ON player_scores USING (player_id % 2 = 1);
CREATE POLICY odd ON player_score_windows USING (player_id % 2 = 1);
ALTER TABLE player_scores ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE player_score_windows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
INSERT INTO player_scores (player_id, score) SELECT p, p * 10 FROM generate_series(1, 3) p;
INSERT INTO player_score_windows SELECT p, 'c:3', p FROM generate_series(1, 3) p;
SELECT lb_wait_ready('5 min');
\set SHOW_CONTEXT never
SET leaderboard.enable_index = off;
SELECT lb_close_season('global', 'winter');
SELECT player_id, score FROM player_scores ORDER BY 1;
SET ROLE regress_lb_owner;
SELECT lb_close_season('global', 'winter');
SELECT * FROM lb_top(3);
RESET ROLE;
BEGIN;
INSERT INTO lb_window (name, starts, ends, keep, late) VALUES ('c:3', '2026-04-01', '2026-05-01', '1000 years', '0');
SELECT closed, archived FROM lb_maintain();
RESET leaderboard.enable_index;
SELECT closed, archived FROM lb_maintain();
SELECT * FROM archived WHERE board = 'c:3';
ROLLBACK;
\set SHOW_CONTEXT errors
RESET leaderboard.enable_index;
-- Nor does the owner reset a part of what has been archived.
SET ROLE regress_lb_owner;
SELECT lb_close_season('global', 'winter');
RESET ROLE;
SELECT count(*) FROM lb_archive WHERE season = 'winter';
SELECT lb_close_season('global', 'winter');
SELECT * FROM archived WHERE season = 'winter';
SELECT player_id, score FROM player_scores ORDER BY 1;
-- ... and the owner may be exempted.
ALTER ROLE regress_lb_owner BYPASSRLS;
UPDATE player_scores SET score = player_id;
SET leaderboard.enable_index = off;
SELECT lb_close_season('global', 'thaw', reset_to => NULL);
RESET leaderboard.enable_index;
SELECT * FROM archived WHERE season = 'thaw';
ALTER ROLE regress_lb_owner NOBYPASSRLS;
DELETE FROM player_score_windows WHERE window_key = 'c:3';
DROP POLICY odd ON player_scores;
DROP POLICY odd ON player_score_windows;
ALTER TABLE player_scores DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY, OWNER TO CURRENT_USER;
ALTER TABLE player_score_windows DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
SELECT lb_wait_ready('5 min');
SELECT * FROM lb_verify();

-- A board of the same name that another role owns has seasons of its own.  A role that
-- gets the table gets its past; a role that had it keeps that of its new table.
CREATE ROLE regress_lb_other;
GRANT EXECUTE ON FUNCTION lb_create_board TO regress_lb_owner, regress_lb_other;
CREATE TABLE old_guild AS SELECT p AS player_id, p AS score FROM generate_series(1, 3) p;
CREATE TABLE new_guild AS SELECT p AS player_id, p * 10 AS score FROM generate_series(1, 2) p;
CREATE TABLE last_guild AS SELECT p AS player_id, p * 100 AS score FROM generate_series(1, 2) p;
CREATE UNIQUE INDEX ON old_guild (player_id);
CREATE UNIQUE INDEX ON new_guild (player_id);
CREATE UNIQUE INDEX ON last_guild (player_id);
ALTER TABLE old_guild OWNER TO regress_lb_owner;
ALTER TABLE new_guild OWNER TO regress_lb_other;
ALTER TABLE last_guild OWNER TO regress_lb_owner;
SET ROLE regress_lb_owner;
SELECT lb_create_board('guild', 'old_guild');
SELECT lb_close_season('guild', 'spring', reset_to => 7), lb_close_season('guild', 'summer', archive_top => 1);
SELECT lb_drop_board('guild');
SET ROLE regress_lb_other;
SELECT lb_create_board('guild', 'new_guild');
SELECT * FROM lb_archive_top('guild');
SELECT lb_close_season('guild', 'spring');
SELECT * FROM lb_archive_top('guild');
SELECT * FROM lb_archive_top('guild', 10, 'spring');
SELECT lb_drop_board('guild');
SET ROLE regress_lb_owner;
SELECT lb_create_board('guild', 'last_guild');
SELECT * FROM lb_archive_top('guild', 10, 'spring');
SELECT lb_close_season('guild', 'spring');
SELECT lb_drop_board('guild');
RESET ROLE;
ALTER TABLE old_guild OWNER TO regress_lb_other;
SET ROLE regress_lb_other;
SELECT lb_create_board('guild', 'old_guild');
SELECT * FROM lb_archive_top('guild', 10, 'summer');
SELECT lb_close_season('guild', 'summer');
RESET ROLE;
SELECT board, season, owner, s.source, count(*) FROM lb_archive JOIN lb_archive_source s ON s.id = lb_archive.source
WHERE board = 'guild' GROUP BY 1, 2, 3, 4 ORDER BY 2, 3;
-- A table of the same name is another table.
DROP TABLE old_guild, new_guild, last_guild;
CREATE TABLE old_guild (player_id bigint PRIMARY KEY, score bigint);
CREATE ROLE regress_lb_third;
GRANT EXECUTE ON FUNCTION lb_create_board TO regress_lb_third;
ALTER TABLE old_guild OWNER TO regress_lb_third;
SET ROLE regress_lb_third;
SELECT lb_create_board('guild', 'old_guild');
SELECT * FROM lb_archive_top('guild', 10, 'summer');
SELECT lb_close_season('guild', 'summer');
RESET ROLE;
DROP TABLE old_guild;
REVOKE EXECUTE ON FUNCTION lb_create_board FROM regress_lb_owner, regress_lb_other, regress_lb_third;
DROP ROLE regress_lb_other, regress_lb_third;

-- What is refused.
SELECT lb_maintain(0);
SELECT lb_maintain(NULL);
SELECT lb_close_season(NULL, 'x');
SELECT lb_close_season('global', NULL);
SELECT lb_close_season('global', '');
SELECT lb_close_season('global', 'x', -1);
SELECT lb_close_season('nothing', 'x');
SELECT lb_close_season('*', 'x');
SELECT lb_close_season('daily', 'x');
SELECT * FROM lb_archive_top(NULL);
SELECT * FROM lb_archive_top('global', -1);
SELECT * FROM lb_archive_top('global', NULL);
SELECT * FROM lb_archive_top('nothing');
SELECT * FROM lb_archive_top('*');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT lb_maintain();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lb_close_season('global', 'x');
ROLLBACK;
CREATE ROLE regress_lb_player;
GRANT SELECT ON player_scores TO regress_lb_player;
SET ROLE regress_lb_player;
SELECT lb_maintain();
SELECT lb_close_season('global', 'x');
SELECT * FROM lb_archive_top('global', 1, 'spring');
SELECT * FROM lb_archive_top('guild:1', 1);
SELECT * FROM lb_archive;
RESET ROLE;
ALTER TABLE player_scores ENABLE ROW LEVEL SECURITY;
SET ROLE regress_lb_player;
SELECT * FROM lb_archive_top('global', 1, 'spring');
RESET ROLE;
SET ROLE regress_lb_owner;
SELECT closed, archived, removed FROM lb_maintain();
RESET ROLE;

DROP VIEW kept, archived;
DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_applied, lb_archive, lb_closed;
DROP ROLE regress_lb_owner, regress_lb_player;

-- Partitioned by window, its partition is dropped: one in a call, after all else,
-- since that locks the table to the end of the transaction.
CREATE TABLE player_score_windows (player_id bigint, window_key text, score bigint,
	PRIMARY KEY (player_id, window_key)) PARTITION BY LIST (window_key);
CREATE TABLE w0 PARTITION OF player_score_windows FOR VALUES IN ('daily:20260408');
CREATE TABLE w1 PARTITION OF player_score_windows FOR VALUES IN ('daily:20260409');
CREATE TABLE w2 PARTITION OF player_score_windows FOR VALUES IN ('daily:20260410', 'x:1');
CREATE TABLE w3 PARTITION OF player_score_windows DEFAULT;
CREATE VIEW partitions AS SELECT relname FROM pg_class WHERE relname IN ('w0', 'w1', 'w2', 'w3') ORDER BY 1;
SELECT lb_create_board('*', 'player_score_windows', board_column => 'window_key');
SELECT lb_open_window('daily', keep => '1000 years', archive_top => 1);
INSERT INTO player_score_windows
SELECT p, 'daily:202604' || d, p FROM generate_series(1, 3) p, unnest('{08,09,10,11}'::text[]) d;
CREATE FUNCTION locked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'the table is locked: %', EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid()
		AND relation = 'player_score_windows'::regclass AND mode = 'AccessExclusiveLock');
	RETURN NULL;
END $$;
CREATE TRIGGER locked AFTER DELETE ON player_score_windows EXECUTE FUNCTION locked();
INSERT INTO lb_event (player_id, op, amount, at, boards, scores, submitted_at)
VALUES (1, 'set', 1, now(), '{}', '{}', '-infinity');
SELECT lb_wait_ready('5 min');
BEGIN;
UPDATE lb_window SET keep = '1 day';
SELECT * FROM lb_maintain();
SELECT * FROM partitions;
SELECT count(*) FROM lb_event;
SELECT * FROM lb_maintain();
SELECT * FROM partitions;
COMMIT;
SELECT lb_wait_ready('5 min');
SELECT count(*) FROM player_score_windows;
SELECT board, members, removed_at IS NOT NULL AS removed FROM lb_closed ORDER BY 1;
SELECT * FROM lb_archive_top('daily:20260409');
SELECT * FROM lb_verify();
DROP VIEW partitions;
DROP TABLE player_score_windows;
DROP FUNCTION locked();
DELETE FROM lb_window;
TRUNCATE lb_archive, lb_closed;

-- Partitioned by something else, a row is found by its partition as well: no
-- more are removed than were asked for.
CREATE TABLE player_score_windows (player_id bigint, window_key text, score bigint, ranked boolean,
	PRIMARY KEY (player_id, window_key)) PARTITION BY RANGE (player_id);
CREATE TABLE w0 PARTITION OF player_score_windows FOR VALUES FROM (0) TO (4);
CREATE TABLE w1 PARTITION OF player_score_windows FOR VALUES FROM (4) TO (8);
CREATE TABLE w2 PARTITION OF player_score_windows FOR VALUES FROM (8) TO (12);
SELECT lb_create_board('*', 'player_score_windows', board_column => 'window_key', ranked_if => 'ranked');
SELECT lb_open_window('daily', keep => '1000 years');
INSERT INTO player_score_windows SELECT p, 'daily:20260409', p, false FROM generate_series(1, 10) p;
SELECT lb_wait_ready('5 min');
BEGIN;
UPDATE lb_window SET keep = '1 day';
SELECT * FROM lb_maintain(2);
SELECT * FROM lb_maintain(5);
SELECT * FROM lb_maintain();
COMMIT;
DROP TABLE player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_archive, lb_closed;

-- Rows that a foreign key refers to stay, and keep neither the others of their window
-- nor other windows; whether it is checked at once or at commit, and by partition.
\set VERBOSITY terse
CREATE TABLE player_score_windows (player_id bigint, window_key text, score bigint, ranked boolean DEFAULT true,
	PRIMARY KEY (player_id, window_key));
CREATE TABLE prize (player_id bigint, window_key text, CONSTRAINT prize_at_commit
	FOREIGN KEY (player_id, window_key) REFERENCES player_score_windows DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE medal (player_id bigint, window_key text, CONSTRAINT medal_at_once
	FOREIGN KEY (player_id, window_key) REFERENCES player_score_windows);
SELECT lb_create_board('*', 'player_score_windows', board_column => 'window_key', ranked_if => 'ranked');
SELECT lb_open_window('daily', keep => '1000 years', archive_top => 0);
INSERT INTO player_score_windows SELECT p, 'daily:2026040' || d, p, p <> 9 FROM generate_series(1, 10) p, generate_series(6, 9) d;
INSERT INTO prize VALUES (3, 'daily:20260406'), (9, 'daily:20260406'), (10, 'daily:20260408');
INSERT INTO medal VALUES (10, 'daily:20260407'), (10, 'daily:20260408');
SELECT lb_wait_ready('5 min');
UPDATE lb_window SET keep = '1 day';
SELECT closed, removed, more FROM lb_maintain(3);
SELECT closed, removed, more FROM lb_maintain();
SELECT closed, removed, more FROM lb_maintain();
SELECT player_id, window_key FROM player_score_windows ORDER BY 2, 1;
SELECT board, removed_at IS NOT NULL AS removed FROM lb_closed ORDER BY 1;
-- A day later they are tried again.
UPDATE lb_closed SET removed_at = removed_at - interval '25 hours';
DELETE FROM prize;
SELECT removed, more FROM lb_maintain();
SELECT player_id, window_key FROM player_score_windows ORDER BY 2, 1;
DROP TABLE prize, medal, player_score_windows;
TRUNCATE lb_closed;
CREATE TABLE player_score_windows (player_id bigint, window_key text, score bigint,
	PRIMARY KEY (player_id, window_key)) PARTITION BY LIST (window_key);
CREATE TABLE w0 PARTITION OF player_score_windows FOR VALUES IN ('daily:20260408');
CREATE TABLE w1 PARTITION OF player_score_windows FOR VALUES IN ('daily:20260409');
CREATE TABLE prize (player_id bigint, window_key text,
	FOREIGN KEY (player_id, window_key) REFERENCES player_score_windows DEFERRABLE INITIALLY DEFERRED);
SELECT lb_create_board('*', 'player_score_windows', board_column => 'window_key');
SELECT lb_open_window('daily', keep => '1 day', archive_top => 0);
INSERT INTO player_score_windows SELECT p, 'daily:2026040' || d, p FROM generate_series(1, 5) p, generate_series(8, 9) d;
INSERT INTO prize VALUES (3, 'daily:20260408');
SELECT lb_wait_ready('5 min');
-- The name of the constraint of a partition depends on the version.
\set VERBOSITY sqlstate
SELECT closed, removed, more FROM lb_maintain();
\set VERBOSITY terse
SELECT tableoid::regclass, player_id, window_key FROM player_score_windows;
DROP TABLE prize, player_score_windows;
\set VERBOSITY default
DELETE FROM lb_window;
TRUNCATE lb_closed, lb_archive;

-- A family that has the name of a window, and was there before it, has none of
-- its keys.  lb_create_tables() does not open a window of that name.
CREATE TABLE daily (player_id bigint PRIMARY KEY, score bigint, day text, UNIQUE (player_id, day));
SELECT lb_create_board('daily', 'daily', board_column => 'day');
SELECT lb_create_tables();
SELECT name FROM lb_window;
INSERT INTO lb_window (name, period, keep, late) VALUES ('daily', 'daily', '1000 years', '999 years');
SELECT lb_wait_ready('5 min');
INSERT INTO daily VALUES (666, 999999, '20260409');
SELECT * FROM lb_submit(1, 10, at => '2026-04-09', boards => '{global,daily}');
SELECT * FROM lb_submit(2, 5, at => '2026-04-09', boards => '{global,daily}');
BEGIN;
UPDATE lb_window SET late = '0' WHERE name = 'daily';
SELECT * FROM lb_maintain();
SELECT board, place, member, score FROM lb_archive ORDER BY 1, 2;
SELECT board, members FROM lb_closed;
UPDATE lb_window SET keep = '1 day' WHERE name = 'daily';
SELECT * FROM lb_maintain(1);
SELECT player_id FROM player_score_windows;
SELECT * FROM lb_maintain();
SELECT count(*) FROM player_score_windows;
SELECT * FROM daily;
COMMIT;
DROP TABLE daily, player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_archive, lb_closed;

-- While the windows' board is being built it is waited for, but not where that is
-- in vain, as here to the end of the transaction.
BEGIN;
SELECT lb_create_tables();
INSERT INTO lb_window (name, starts, ends, keep, late)
VALUES ('c:1', '2026-04-01', '2026-05-01', '1000 years', '0');
INSERT INTO player_score_windows VALUES (1, 'c:1', 5), (2, 'c:1', 6);
SELECT * FROM lb_maintain();
COMMIT;
SELECT * FROM lb_maintain();
SELECT board, place, member, score FROM lb_archive ORDER BY 1, 2;
DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_archive, lb_closed;

-- What inherits from a board's table is not on the board: its rows stay.
BEGIN;
SELECT lb_create_tables();
CREATE TABLE kid (PRIMARY KEY (player_id)) INHERITS (player_scores);
CREATE TABLE window_kid (PRIMARY KEY (player_id, window_key)) INHERITS (player_score_windows);
INSERT INTO player_scores VALUES (1, 100), (2, 200);
INSERT INTO kid VALUES (1, 111), (3, 300), (4, 400);
INSERT INTO player_score_windows VALUES (1, 'c:1', 10);
INSERT INTO window_kid VALUES (1, 'c:1', 11), (2, 'c:1', 20);
SELECT lb_open_window('c:1', starts => '2026-04-01', ends => '2026-05-01', keep => '0', late => '0');
SELECT lb_hide(3), lb_hide(1), lb_show(1);
COMMIT;
SELECT lb_wait_ready();
SELECT * FROM lb_maintain();
SELECT lb_close_season('global', 's1'), lb_close_season('global', 's2', reset_to => NULL);
SELECT board, season, place, member, score FROM lb_archive ORDER BY 1, 2, 3;
SELECT player_id, score, ranked FROM player_scores;
SELECT player_id, score FROM ONLY player_score_windows;
SELECT player_id, window_key, score FROM window_kid;
SELECT * FROM lb_verify();
DROP TABLE kid, window_kid, player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_archive, lb_closed;

-- A rule that leaves nothing to be run: the rows stay.
CREATE TABLE ruled (player_id bigint PRIMARY KEY, score bigint);
CREATE RULE keep AS ON DELETE TO ruled DO INSTEAD NOTHING;
INSERT INTO ruled VALUES (1, 10), (2, 20);
SELECT lb_create_board('ruled', 'ruled');
SELECT lb_wait_ready();
SELECT lb_close_season('ruled', 's', reset_to => NULL);
SELECT * FROM ruled;
DROP TABLE ruled;
TRUNCATE lb_archive;

-- A key that has been closed is not written to again, though it be the present one
-- of another time zone: the day that was the last to end in the first of them has
-- not ended in the last.  Its noon can be ahead of the server's clock.
SET leaderboard.max_clock_skew = '2 d';
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', time_zone => 'Pacific/Kiritimati', keep => '1000 years', late => '999 years');
SELECT lb_window_at('daily', now() - interval '1 day') AS key \gset
SELECT (substr(:'key', 7)::date + time '12:00') AT TIME ZONE 'UTC' AS at \gset
INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, :'key', 10);
BEGIN;
SELECT lb_open_window('daily', time_zone => 'Pacific/Kiritimati', keep => '1000 years', late => '0');
SELECT * FROM lb_maintain();
SELECT lb_open_window('daily', time_zone => 'Etc/GMT+12', keep => '1000 years', late => '0');
SELECT lb_window_at('daily', :'at') = :'key' AS same;
SELECT score, applied FROM lb_submit(1, 5, at => :'at', boards => '{daily}');
SELECT lb_submit_many('{1,2}', '{5,5}', at => :'at');
SELECT player_id, score FROM player_score_windows WHERE window_key = :'key';
COMMIT;
SELECT board = :'key' AS key, place, member, score FROM lb_archive;
-- The next day is written to.
SELECT score, applied FROM lb_submit(1, 5, at => :'at'::timestamptz + interval '1 day', boards => '{daily}');
RESET leaderboard.max_clock_skew;
-- What is archived and how many there are is of one moment.
CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE public.player_score_windows SET ranked = false WHERE window_key = 'tourney:moment' AND player_id = 1;
	RETURN NULL;
END $$;
CREATE TRIGGER meanwhile AFTER INSERT ON lb_archive FOR EACH STATEMENT EXECUTE FUNCTION meanwhile();
SELECT lb_open_window('tourney:moment', starts => '2026-04-09', ends => '2026-04-10', late => '0', keep => '1000 years');
INSERT INTO player_score_windows (player_id, window_key, score) SELECT g, 'tourney:moment', g FROM generate_series(1, 3) g;
SELECT closed, archived FROM lb_maintain();
SELECT c.members, a.n FROM lb_closed c, (SELECT count(*) AS n FROM lb_archive WHERE board = 'tourney:moment') a
WHERE c.board = 'tourney:moment';
DROP TRIGGER meanwhile ON lb_archive;
DROP FUNCTION meanwhile();

DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_archive, lb_closed, lb_hidden;
