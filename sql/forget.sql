--
-- lb_forget_player(): removes a player everywhere.
--
SELECT lb_create_tables();
SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '9999-01-01');
SELECT lb_open_window('month', 'monthly', keep => '100 years', late => '1 day');
SELECT lb_close_window('daily'), lb_close_window('weekly');
SELECT lb_set_limit('many', 'global', max_submits => 1000);
SELECT lb_set_limit('high', 'global', max_amount => 100, action => 'flag');
SELECT lb_wait_ready();
SELECT lb_submit_many('{1,2,3}', '{10,20,30}', at => '2020-07-01 12:00+00');
SELECT score FROM lb_submit(2, 500, match_id => 'm', at => '2020-07-01 12:00+00') WHERE board = 'global';
-- A window that is over, with the player in its standings, and a season.
INSERT INTO player_score_windows VALUES (1, 'month:202001', 5), (2, 'month:202001', 7), (3, 'month:202001', 6);
SELECT closed, archived FROM lb_maintain();
SELECT lb_close_season('global', 'one', reset_to => 5);
SELECT lb_hide(2), lb_watch_member(2), lb_watch_member(1), lb_watch_member(2, 'cup:1');

CREATE VIEW left_over AS
SELECT (SELECT count(*) FROM player_scores WHERE player_id = 2) AS scores,
	(SELECT count(*) FROM player_score_windows WHERE player_id = 2) AS windows,
	(SELECT count(*) FROM lb_applied WHERE player_id = '2') AS applied,
	(SELECT count(*) FROM lb_usage WHERE player_id = '2') AS usage,
	(SELECT count(*) FROM lb_anomaly WHERE player_id = '2') AS anomalies,
	(SELECT count(*) FROM lb_event WHERE player_id = '2') AS events,
	(SELECT count(*) FROM lb_archive WHERE member = '2') AS archived,
	(SELECT count(*) FROM lb_watched WHERE member = '2') AS watched;
SELECT * FROM left_over;
SELECT * FROM lb_forget_player(2);
SELECT * FROM left_over;
SELECT * FROM lb_forget_player(2);

-- The others stay, with the ranks that they had.
SELECT * FROM lb_archive_top('month:202001');
SELECT * FROM lb_archive_top('global');
SELECT board, member FROM lb_watched ORDER BY board;
SELECT * FROM lb_top();
SELECT count(*) FROM lb_event;

-- The player begins anew, ranked, and the match counts again.
SELECT board, score, rank, applied FROM lb_submit(2, 50, match_id => 'm', boards => '{global,cup:1}');
SELECT limit_name, submits FROM lb_usage WHERE player_id = '2';

-- Rolled back as a whole.
BEGIN;
SELECT sum(removed) > 3 AS removed FROM lb_forget_player_key('2');
SELECT lb_rank(2);
ROLLBACK;
SELECT lb_rank(2);
SELECT * FROM lb_verify();

-- Nor do watches of boards keep the player among the places that they compare with.
BEGIN;
SELECT lb_watch('global', 2), lb_watch('cup:1');
SELECT board, last_members FROM lb_watched WHERE top IS NOT NULL ORDER BY board;
SELECT removed FROM lb_forget_player(2) WHERE relation = 'lb_watched'::regclass;
SELECT board, last_members FROM lb_watched WHERE top IS NOT NULL ORDER BY board;
ROLLBACK;

-- Where all tables are published.
BEGIN;
SET LOCAL client_min_messages = error;
CREATE PUBLICATION everything FOR ALL TABLES;
SELECT relation, removed > 0 AS removed FROM lb_forget_player(3);
ROLLBACK;

-- Standings of another table of another role's board stay.
INSERT INTO lb_archive VALUES ('global', 'theirs', 1, 1, '2', '10', now(), 'pg_monitor', 0);
SELECT removed FROM lb_forget_player(2) WHERE relation = 'lb_archive'::regclass;
DELETE FROM lb_archive WHERE owner = 'pg_monitor';

-- Other leaderboards of such players, and none of others.
SELECT lb_create_leaderboard('kills', windows => '{daily}'), lb_create_leaderboard('guilds', player_type => 'text');
SELECT lb_wait_ready();
INSERT INTO kills_scores VALUES (2, 5), (3, 6);
INSERT INTO kills_score_windows VALUES (2, 'kills/daily:20200101', 5);
INSERT INTO guilds_scores VALUES ('2', 5);
SELECT lb_set_limit('guilds', 'guilds', max_submits => 2), lb_set_limit('guilds high', 'guilds', max_amount => 5, action => 'flag');
SELECT count(*) FROM lb_submit_key('2', 10, match_id => 'g', leaderboard => 'guilds');
SELECT count(*) FROM lb_submit(2, 10, match_id => 'k', leaderboard => 'kills');
SELECT lb_watch_member(2, 'kills'), lb_watch_member_key('2', 'guilds');
SELECT lb_close_season('kills', 'one'), lb_close_season('guilds', 'one');
SELECT relation, removed FROM lb_forget_player(2) WHERE relation::text ~ 'kills|guilds|archive|watched';
SELECT * FROM lb_archive_top('kills');
SELECT * FROM lb_archive_top_key('guilds');
SELECT leaderboard FROM lb_applied WHERE player_id = '2';
SELECT limit_name, submits FROM lb_usage WHERE player_id = '2';
SELECT limit_name, submits FROM lb_anomaly WHERE player_id = '2';
SELECT match_id FROM lb_event WHERE player_id = '2';
SELECT lb_count('kills'), lb_count('guilds');
SELECT lb_drop_leaderboard('kills'), lb_drop_leaderboard('guilds');
SELECT sum(removed) FROM lb_forget_player(2);

-- Rights: the owner of the tables, and roles that have the owner's rights.
CREATE ROLE regress_owner;
CREATE ROLE regress_member IN ROLE regress_owner;
CREATE ROLE regress_server;
GRANT CREATE, USAGE ON SCHEMA public TO regress_owner;
GRANT ALL ON player_scores, player_score_windows TO regress_server;
SET ROLE regress_server;
SELECT * FROM lb_forget_player(1);
RESET ROLE;
ALTER TABLE player_scores OWNER TO regress_owner;
SET ROLE regress_owner;
SELECT * FROM lb_forget_player(1);
RESET ROLE;
ALTER TABLE player_score_windows OWNER TO regress_owner;

-- A trigger of the owner's runs with the owner's rights, whoever calls.
CREATE TABLE who (name text);
GRANT ALL ON who TO PUBLIC;
CREATE FUNCTION note_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.who VALUES (current_user);
	RETURN OLD;
END $$;
CREATE TRIGGER note BEFORE DELETE ON player_scores FOR EACH ROW EXECUTE FUNCTION note_user();
SET ROLE regress_owner;
SELECT * FROM lb_forget_player(1) WHERE removed > 0;
RESET ROLE;
SET ROLE regress_member;
SELECT * FROM lb_forget_player(3) WHERE removed > 0;
RESET ROLE;
SELECT count(*) FROM lb_submit(4, 1);
SELECT sum(removed) > 2 AS removed FROM lb_forget_player(4);
SELECT * FROM who;

-- Policies that can keep rows from the owner.
ALTER TABLE player_scores ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SET ROLE regress_owner;
SELECT * FROM lb_forget_player(1);
RESET ROLE;
SELECT sum(removed) FROM lb_forget_player(1);

-- Errors.
SELECT * FROM lb_forget_player(NULL);
SELECT * FROM lb_forget_player_key(NULL);
SELECT * FROM lb_forget_player_key('one');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM lb_forget_player(1);
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM lb_forget_player_key('1');
ROLLBACK;
DROP VIEW left_over;
DROP TABLE player_scores;
SELECT sum(removed) FROM lb_forget_player(1);
DROP TABLE player_score_windows;
SELECT * FROM lb_forget_player(1);

-- Players of other types.
SELECT lb_create_tables(player_type => 'text');
SELECT lb_wait_ready();
SELECT lb_submit_many_key('{ann,bob}', '{5,6}');
SELECT * FROM lb_forget_player(1);
SELECT * FROM lb_forget_player_key('ann') WHERE removed > 0;
SELECT rank, member FROM lb_top_key();
SELECT * FROM lb_verify();

DROP TABLE player_scores, player_score_windows, who;
DROP FUNCTION note_user();
REVOKE CREATE, USAGE ON SCHEMA public FROM regress_owner;
DROP ROLE regress_owner, regress_member, regress_server;
TRUNCATE lb_archive, lb_season, lb_closed, lb_event, lb_usage, lb_applied, lb_anomaly, lb_hidden;
