--
-- What a board says itself of its reads while it is offline: lb_board.offline
--
CREATE TABLE big (player_id bigint CONSTRAINT pk PRIMARY KEY, score bigint NOT NULL, grp text);
INSERT INTO big SELECT i, i * 7 % 100, 'g' || i % 3 FROM generate_series(1, 60) i;

-- What is refused.
SELECT e.* FROM unnest(ARRAY['wait', 'Error', '']) v,
	lbt.error(format('SELECT lb_create_board(%L, %L, offline => %L)', 'strict', 'big', v)) e;
SELECT count(*) FROM lb_board WHERE source = 'big'::regclass;
SELECT lb_create_board('strict', 'big', offline => 'error'),
	lb_create_board('lax', 'big', 'player_id', 'score DESC', NULL, 'rank', NULL, 'members', 'query'),
	lb_create_board('plain', 'big', offline => NULL),
	lb_create_board('grp', 'big', board_column => 'grp', offline => 'error'),
	lb_create_board('counted', 'big', 'player_id', keeps => 'counts', offline => 'error');
SELECT board, keeps, offline FROM lb_board WHERE source = 'big'::regclass ORDER BY board;
SELECT message FROM lbt.error($$UPDATE lb_board SET offline = 'wait' WHERE board = 'plain'$$);
SELECT lb_wait_ready('5 min');

-- How reads of each board end, with each value of the setting.
CREATE FUNCTION reads() RETURNS TABLE (board text, setting text, reads bigint, state text, message text, detail text, hint text)
LANGUAGE plpgsql AS $$
BEGIN
	FOREACH board IN ARRAY ARRAY['strict', 'grp:g1', 'counted', 'lax', 'plain'] LOOP
		FOREACH setting IN ARRAY ARRAY['query', 'error'] LOOP
			PERFORM set_config('leaderboard.offline', setting, true);
			RETURN QUERY SELECT reads.board, setting, count(*), e.*
			FROM unnest(ARRAY['lb_rank(7, %L)', 'lb_rank_key(%2$L, %1$L)', 'lb_count(%L)', 'lb_rank_of_score(3, %L)',
				'lb_player(7, %L)', 'lb_tier(7, %L)', 'lb_histogram(2, %L)', 'lb_ranks(%3$L, %1$L)',
				'lb_score_at_percentile_key(50, %L)']) r, lbt.error('SELECT ' || format(r, reads.board, '7', '{7,8}')) e
			GROUP BY e.state, e.message, e.detail, e.hint;
		END LOOP;
	END LOOP;
	PERFORM set_config('leaderboard.offline', 'query', true);
END $$;
SELECT board, setting, reads, state, message FROM reads();

-- The unique index is gone.
ALTER TABLE big DROP CONSTRAINT pk;
SELECT board, setting, reads, state, message FROM reads();
SELECT DISTINCT detail, hint FROM reads() WHERE state IS NOT NULL ORDER BY hint;
-- Where a function has a query only, it does not ask the index.
SELECT c, e.state FROM unnest(ARRAY['lb_top(1, %L)', 'lb_page(1, %L)', 'lb_top_json(1, %L)', 'lb_rank_json(7, %L)', 'lb_at(1, %L)',
	'lb_around(7, %L)', 'lb_among(''{7}'', %L)', 'lb_count_before(5, ''{}'', 7, %L)']) f,
	unnest(ARRAY['strict', 'counted']) b, format(f, b) c, lbt.error('SELECT ' || c) e ORDER BY b DESC, f;
-- A session can want the query all the same.
SET leaderboard.enable_index = off;
SELECT lb_rank(7, 'strict'), lb_count('grp:g1'), lb_percentile(7, 'counted');
RESET leaderboard.enable_index;
-- Plain SQL is planned without the board, as with the setting.
SELECT lbt.nodes('SELECT count(*) FROM big WHERE score > 50');
SELECT count(*) FROM big WHERE score > 50;
ALTER TABLE big ADD CONSTRAINT pk PRIMARY KEY (player_id);
SELECT lb_rebuild();
SELECT DISTINCT state, message FROM reads();

-- A trigger is disabled, as this transaction sees it, and as all do.
BEGIN;
ALTER TABLE big DISABLE TRIGGER leaderboard_capture;
-- lb_verify() runs no query, so it reports.
SELECT v.board, v.problem FROM lb_verify() v ORDER BY v.board;
SELECT board, setting, state, detail FROM reads();
ROLLBACK;
SELECT DISTINCT state, message FROM reads();
ALTER TABLE big DISABLE TRIGGER leaderboard_capture;
SELECT board, setting, state, detail FROM reads();
SELECT count(*), count(v.problem) FROM lb_verify() v;
-- What ends or begins with a read of the board ends with it.
SELECT c, e.state, e.message FROM unnest(ARRAY['lb_watch(''strict'', 1)', 'lb_close_season(''strict'', ''s'')',
	'lb_watch(''lax'', 1)', 'lb_unwatch(''lax'')']) c, lbt.error('SELECT ' || c) e;
ALTER TABLE big ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_rebuild();

-- Too little memory, also for a build that a read may wait for.
CREATE TABLE solo AS SELECT player_id, score FROM big;
ALTER TABLE solo ADD PRIMARY KEY (player_id);
SELECT lb_create_board('solo', 'solo', offline => 'error');
SELECT lb_wait_ready('5 min');
SELECT current_database() AS db \gset
ALTER DATABASE :"db" SET leaderboard.database_memory = '64kB';
SET leaderboard.database_memory = '64kB';
INSERT INTO big SELECT i, i * 7919 % 1000, 'g1' FROM generate_series(1000, 30000) i;
SELECT board, setting, state, detail FROM reads() WHERE board IN ('strict', 'lax', 'plain');
SELECT lb_create_board('late', 'big', offline => 'error');
SELECT state, message FROM lbt.error($$SELECT lb_rank(7, 'late')$$);
SELECT lb_drop_board('late');
-- A node of a plan that finds its board offline runs the plan without it.
SET plan_cache_mode = force_generic_plan;
PREPARE better AS SELECT count(*) FROM solo WHERE score > 50;
SELECT lbt.answered_by('EXECUTE better');
INSERT INTO solo SELECT i, i % 100 FROM generate_series(1000, 30000) i;
SELECT replace(lbt.answered_by('EXECUTE better'), 'building', 'offline') AS answered_by;
SELECT state FROM lbt.error($$SELECT lb_count('solo')$$);
DEALLOCATE better;
RESET plan_cache_mode;
ALTER DATABASE :"db" RESET leaderboard.database_memory;
RESET leaderboard.database_memory;
DELETE FROM big WHERE player_id >= 1000;
DROP TABLE solo;
SELECT lb_rebuild();

-- Changed without another build: the counters are of one index.
SELECT lb_stat_reset();
SELECT lb_rank(7, 'plain') IS NOT NULL;
SELECT lb_set_offline('plain', 'error');
SELECT lb_rank(7, 'plain') IS NOT NULL;
SELECT lb_set_offline('plain', 'error');
UPDATE big SET score = score + 1 WHERE player_id = 7;
SELECT lb_rank(7, 'plain') IS NOT NULL;
SELECT index_reads, query_reads, changes FROM lb_stat_board WHERE board = 'plain';
SELECT * FROM lbt.differences('plain', 'big');
-- A row that is changed by hand, in this alone and in more.
UPDATE lb_board SET offline = 'query' WHERE board = 'plain';
SELECT state, lb_rank(7, 'plain') IS NOT NULL FROM lb_stat_board WHERE board = 'plain';
SELECT index_reads >= 4, query_reads FROM lb_stat_board WHERE board = 'plain';
UPDATE lb_board SET offline = 'error', method = 'rank' WHERE board = 'plain';
SELECT lb_wait_ready('5 min');
SELECT index_reads FROM lb_stat_board WHERE board = 'plain';
SELECT * FROM lbt.differences('plain', 'big', method => 'rank');

-- The transaction sees its own change; a savepoint takes it back.
ALTER TABLE big DISABLE TRIGGER leaderboard_capture;
BEGIN;
SELECT lb_set_offline('plain', NULL);
SELECT lb_rank(7, 'plain') IS NOT NULL;
SAVEPOINT a;
SELECT lb_set_offline('plain', 'error');
SELECT state FROM lbt.error($$SELECT lb_rank(7, 'plain')$$);
ROLLBACK TO a;
SELECT lb_rank(7, 'plain') IS NOT NULL;
ROLLBACK;
SELECT state FROM lbt.error($$SELECT lb_rank(7, 'plain')$$);
ALTER TABLE big ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_rebuild();

-- A family's option is that of all its boards, and a column's new name changes no option.
SELECT lb_set_offline('grp', 'query');
ALTER TABLE big RENAME score TO points;
SELECT board, rank_by, offline FROM lb_board WHERE source = 'big'::regclass ORDER BY board;
SELECT lb_wait_ready('5 min');
BEGIN;
ALTER TABLE big RENAME points TO score;
SELECT lb_set_offline('grp', 'error'), lb_set_offline('lax', NULL);
SELECT board, rank_by, offline FROM lb_board WHERE source = 'big'::regclass ORDER BY board;
COMMIT;
SELECT lb_wait_ready('5 min');
SELECT * FROM lbt.differences('lax', 'big', method => 'rank');

-- What lb_set_offline() refuses.
CREATE ROLE regress_lb_other;
SELECT e.* FROM unnest(ARRAY['NULL, NULL', '''nosuch'', NULL', '''grp:g1'', ''error''', '''strict'', ''wait''',
	'''strict'', ''''']) a, lbt.error(format('SELECT lb_set_offline(%s)', a)) e;
BEGIN READ ONLY;
SELECT lb_set_offline('strict', NULL);
ROLLBACK;
SET ROLE regress_lb_other;
SELECT lb_set_offline('strict', NULL);
RESET ROLE;
-- The owner of the table may, without other rights.
ALTER TABLE big OWNER TO regress_lb_other;
SET ROLE regress_lb_other;
SELECT lb_set_offline('strict', NULL);
RESET ROLE;
SELECT board, offline FROM lb_board WHERE board = 'strict';

-- A leaderboard's boards: submits have no rank meanwhile, and windows are closed later.
SELECT lb_create_tables(), lb_set_offline('global', 'error'), lb_set_offline('*', 'error');
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', archive_top => 3);
INSERT INTO player_score_windows VALUES (7, 'daily:20260409', 5);
SELECT board, score, rank IS NOT NULL FROM lb_submit(7, 100, leaderboard => 'global', boards => '{global}');
ALTER TABLE player_scores DISABLE TRIGGER leaderboard_capture;
ALTER TABLE player_score_windows DISABLE TRIGGER leaderboard_capture;
SELECT board, score, rank FROM lb_submit(7, 1, leaderboard => 'global', boards => '{global}');
SELECT state, message FROM lbt.error('SELECT lb_maintain()');
SELECT count(*) FROM lb_closed;
ALTER TABLE player_scores ENABLE ALWAYS TRIGGER leaderboard_capture;
ALTER TABLE player_score_windows ENABLE ALWAYS TRIGGER leaderboard_capture;
SELECT lb_rebuild();
SELECT closed FROM lb_maintain();

SELECT * FROM lb_verify();
DROP TABLE player_scores, player_score_windows, big;
DROP FUNCTION reads;
DELETE FROM lb_archive;
DELETE FROM lb_closed;
DROP ROLE regress_lb_other;
