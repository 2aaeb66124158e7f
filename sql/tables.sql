--
-- lb_create_tables: the default tables, and their updated_at
--
SELECT lb_create_tables();
\d player_scores
\d player_score_windows
SELECT board, source, member, rank_by, board_column, method, ranked_if
FROM lb_board ORDER BY board;
SELECT lb_wait_ready();

-- Their boards are the defaults of the functions.
INSERT INTO player_scores VALUES (1, 100), (2, 300), (3, 200);
INSERT INTO player_score_windows VALUES (1, 'weekly:202615', 10),
	(2, 'weekly:202615', 20), (2, 'daily:20260409', 5), (1, 'tourney', 1);
SELECT lb_rank(1), lb_score(1), lb_count(), lb_rank(1, 'weekly:202615'),
	lb_rank(1, '*:tourney');
SELECT * FROM lb_top();
SELECT * FROM lb_top(board => 'weekly:202615');
SELECT * FROM lb_around(3, radius => 1);

-- The player that reached a score first ranks higher.  The trigger sets the time when
-- the score changes, unless the statement sets it.
UPDATE player_scores SET updated_at = '2026-01-01 00:00:00+00';
UPDATE player_score_windows SET updated_at = '2026-01-01 00:00:00+00';
CREATE VIEW times AS SELECT player_id, score,
	CASE WHEN updated_at = now() THEN 'now' ELSE
		to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END AS updated_at,
	lb_rank(player_id) AS rank
FROM player_scores;
BEGIN;
UPDATE player_scores SET score = 300 WHERE player_id = 1;
UPDATE player_scores SET score = score WHERE player_id = 2;
UPDATE player_scores SET score = 300, updated_at = '2025-12-31 00:00:00+00'
WHERE player_id = 3;
SELECT * FROM times ORDER BY rank;
ROLLBACK;
BEGIN;
UPDATE player_scores SET player_id = player_id + 10;
UPDATE player_scores SET score = score + 1, updated_at = updated_at
WHERE player_id = 11;
UPDATE player_scores SET score = 0, updated_at = DEFAULT WHERE player_id = 12;
SELECT * FROM times ORDER BY rank;
ROLLBACK;
BEGIN;
INSERT INTO player_scores VALUES (1, 500) ON CONFLICT (player_id)
DO UPDATE SET score = excluded.score;
INSERT INTO player_scores VALUES (2, 300) ON CONFLICT (player_id)
DO UPDATE SET score = greatest(player_scores.score, excluded.score);
INSERT INTO player_scores VALUES (3, 500, '2026-02-01 00:00:00+00')
ON CONFLICT (player_id)
DO UPDATE SET (score, updated_at) = (excluded.score, excluded.updated_at);
INSERT INTO player_scores VALUES (4, 500) ON CONFLICT DO NOTHING;
SELECT * FROM times ORDER BY rank;
MERGE INTO player_scores p USING (VALUES (1, 501), (2, 300)) n (id, score)
ON p.player_id = n.id WHEN MATCHED THEN UPDATE SET score = n.score;
SELECT * FROM times ORDER BY rank;
ROLLBACK;
BEGIN;
UPDATE player_score_windows SET score = 20 WHERE player_id = 1;
SELECT * FROM lb_top(3, 'weekly:202615');
SELECT updated_at = now() AS now FROM player_score_windows
ORDER BY player_id, window_key;
ROLLBACK;
SELECT * FROM times ORDER BY rank;

-- A trigger of the user's that sets the score still counts.
CREATE FUNCTION double() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.score := NEW.score * 2;
	RETURN NEW;
END $$;
CREATE TRIGGER a_double BEFORE UPDATE ON player_scores FOR EACH ROW
WHEN (NEW.player_id = 1) EXECUTE FUNCTION double();
BEGIN;
UPDATE player_scores SET score = score WHERE player_id = 1;
SELECT * FROM times ORDER BY rank;
ROLLBACK;
DROP TRIGGER a_double ON player_scores;
DROP FUNCTION double();

SELECT * FROM lbt.differences('global', 'player_scores', ties => 'updated_at');
SELECT * FROM lbt.differences('weekly:202615', 'player_score_windows',
	$$window_key = 'weekly:202615'$$, ties => 'updated_at');

-- Once more: they are there.  The score index, when it is asked for.
SELECT lb_create_tables();
SELECT lb_create_tables(score_index => true);
SELECT lb_create_tables(true);
SELECT indexname, indexdef FROM pg_indexes
WHERE tablename IN ('player_scores', 'player_score_windows')
ORDER BY indexname COLLATE "C";
SELECT board, source FROM lb_board ORDER BY board;
SELECT lb_create_tables(NULL);

-- A board that was dropped comes back over the table that is there.
SELECT lb_drop_board('global'), lb_drop_board('*');
SELECT tgname, tgenabled FROM pg_trigger
WHERE tgrelid IN ('player_scores'::regclass, 'player_score_windows'::regclass)
ORDER BY tgrelid::regclass::text, tgname;
SELECT lb_create_tables();
SELECT * FROM lb_top();
DROP VIEW times;
DROP TABLE player_scores, player_score_windows;
SELECT * FROM lb_board;

-- In the first schema of the search path, whatever it hides.
CREATE SCHEMA games;
CREATE DOMAIN games.text AS integer;
CREATE DOMAIN games.timestamptz AS integer;
CREATE FUNCTION games.now() RETURNS pg_catalog.timestamptz LANGUAGE sql
AS 'SELECT NULL::pg_catalog.timestamptz';
SET search_path = games, public, pg_catalog;
SELECT lb_create_tables();
RESET search_path;
\d games.player_scores
\d games.player_score_windows
SELECT board, source FROM lb_board ORDER BY board;
SET client_min_messages = warning;
DROP SCHEMA games CASCADE;
RESET client_min_messages;
SET search_path = nowhere;
SELECT public.lb_create_tables();
RESET search_path;

-- Undone with the transaction.
BEGIN;
SELECT lb_create_tables();
INSERT INTO player_scores VALUES (1, 1);
SELECT lb_rank(1);
ROLLBACK;
SELECT lb_rank(1);

-- Windows are not opened over a table that is there: what they hold would be
-- removed.
BEGIN;
DELETE FROM lb_window;
CREATE TABLE player_score_windows (player_id bigint, window_key text, score bigint,
	updated_at timestamptz DEFAULT now(), PRIMARY KEY (player_id, window_key));
SELECT lb_create_tables();
SELECT name FROM lb_window;
ROLLBACK;

-- Nor such as a board hides.
BEGIN;
DELETE FROM lb_window;
CREATE TABLE past (player_id bigint PRIMARY KEY, score bigint);
SELECT lb_create_board('daily-1', 'past'), lb_create_board('weekly-x', 'past');
SELECT lb_create_tables();
SELECT name FROM lb_window;
ROLLBACK;

-- The trigger follows when a column is renamed, and fails no write.
BEGIN;
SELECT lb_create_tables();
INSERT INTO player_scores VALUES (1, 1, '2020-01-01'), (2, 2, '2020-01-01');
INSERT INTO player_score_windows VALUES (1, 'cup:1', 1, '2020-01-01');
ALTER TABLE player_scores RENAME score TO points;
ALTER TABLE player_score_windows RENAME score TO points;
UPDATE player_scores SET points = points + 5 WHERE player_id = 1;
UPDATE player_scores SET ranked = true WHERE player_id = 2;
UPDATE player_score_windows SET points = 7;
SELECT player_id, points, updated_at = now() AS now FROM player_scores ORDER BY 1;
SELECT player_id, points, updated_at = now() AS now FROM player_score_windows;
SELECT score FROM lb_submit(2, 10, at => '2025-01-01', boards => '{global}');
SELECT updated_at = '2025-01-01' AS then FROM player_scores WHERE player_id = 2;
ALTER TABLE player_scores RENAME updated_at TO reached;
UPDATE player_scores SET points = 5 WHERE player_id = 2;
SELECT player_id, points, reached = now() AS now FROM player_scores ORDER BY 1;
SELECT score FROM lb_submit(2, 10, boards => '{global}');
SELECT lb_drop_board('global');
UPDATE player_scores SET points = 6 WHERE player_id = 2;
SELECT points FROM player_scores WHERE player_id = 2;
ROLLBACK;
CREATE TABLE other (player_id bigint PRIMARY KEY, score integer,
	updated_at timestamptz);
CREATE TRIGGER u BEFORE UPDATE ON other FOR EACH ROW
EXECUTE FUNCTION leaderboard_internal.lb_set_updated_at();
INSERT INTO other VALUES (1, 1);
UPDATE other SET score = 2;
SELECT * FROM other;
DROP TRIGGER u ON other;
CREATE TRIGGER u AFTER UPDATE ON other FOR EACH ROW
EXECUTE FUNCTION leaderboard_internal.lb_set_updated_at();
UPDATE other SET score = 2;
DROP TABLE other;
SELECT * FROM lb_verify();
