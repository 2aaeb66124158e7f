--
-- Metadata of scores: written by submits, read by lb_metadata().
--
SELECT lb_create_tables();
SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '9999-01-01');
SELECT lb_open_window('best:1', starts => '2020-01-01', ends => '9999-01-01', op => 'best');
SELECT lb_close_window('daily'), lb_close_window('weekly');
SELECT lb_wait_ready();

-- The tables have it if you say so.
SELECT score FROM lb_submit(1, 10, metadata => '{"map": "ice"}');
SELECT lb_metadata(1);
ALTER TABLE player_scores ADD COLUMN metadata jsonb;
SELECT score FROM lb_submit(1, 10, metadata => '{"map": "ice"}');
ALTER TABLE player_score_windows ADD COLUMN metadata jsonb;

-- Written with the score that it belongs to: where the score changes.
SELECT board, score FROM lb_submit(1, 10, metadata => '{"map": "ice"}');
SELECT lb_metadata(1), lb_metadata(1, 'cup:1'), lb_metadata_key('1', 'best:1');
SELECT board, score FROM lb_submit(1, 5, metadata => '{"map": "sea"}');
SELECT lb_metadata(1), lb_metadata(1, 'cup:1'), lb_metadata_key('1', 'best:1');
SELECT board, score FROM lb_submit(1, 7, 'best', metadata => '{"map": "no"}');
SELECT lb_metadata(1), lb_metadata(1, 'cup:1'), lb_metadata_key('1', 'best:1');
SELECT board, score FROM lb_submit(1, 99, 'set', metadata => '{"map": "sky"}', boards => '{cup:1}');
SELECT lb_metadata(1), lb_metadata(1, 'cup:1'), lb_metadata_key('1', 'best:1');
-- A submit without metadata leaves it alone, and null of JSON is a value.
SELECT score FROM lb_submit(1, 1) WHERE board = 'global';
SELECT lb_metadata(1);
SELECT score FROM lb_submit(1, 1, metadata => 'null') WHERE board = 'global';
SELECT lb_metadata(1), lb_metadata(1) IS NULL AS none;
-- New rows, and those of hidden players.
SELECT score FROM lb_submit_key('2', 30, metadata => '[1, 2]') WHERE board = 'global';
SELECT lb_hide(1);
SELECT score FROM lb_submit(1, 1, metadata => '"hidden"') WHERE board = 'global';
SELECT lb_metadata(1), metadata FROM player_scores WHERE player_id = 1;
SELECT lb_show(1);
-- A match is applied once, with its metadata.
SELECT score, applied FROM lb_submit(2, 1, match_id => 'm', metadata => '"first"') WHERE board = 'global';
SELECT score, applied FROM lb_submit(2, 1, match_id => 'm', metadata => '"second"') WHERE board = 'global';
SELECT lb_submit_json('{"player_id": 2, "amount": 4, "metadata": {"from": ["json", 1]}}') ->> 'new_score';
-- Submits of several changes leave it alone.
SELECT lb_submit_many('{2,7}', '{1,1}'), (SELECT count(*) FROM lb_submit_match(2, '{"global": 1}')) AS match;
SELECT member, status FROM lb_submit_each('{2,7}', '{1,1}');
SELECT lb_metadata(2), lb_metadata(7);
DELETE FROM player_scores WHERE player_id = 7;
DELETE FROM player_score_windows WHERE player_id = 7;

-- Reads that ask for it.
SELECT t.*, lb_metadata(t.member) AS metadata FROM lb_top() t;
SELECT t.*, lb_metadata(t.member, 'cup:1') AS metadata FROM lb_around(2, 'cup:1', 1) t;
SELECT lb_metadata(4711), lb_metadata(NULL), lb_metadata_key(NULL), lb_metadata(1, '*:cup:2');
BEGIN;
UPDATE player_scores SET metadata = '"mine"' WHERE player_id = 2;
SELECT lb_metadata(2);
ROLLBACK;
SELECT lb_metadata(2);
SELECT * FROM lb_verify();

-- Leaderboards, by their own tables.
SELECT lb_create_leaderboard('kills', op => 'best', windows => '{}');
SELECT lb_wait_ready();
SELECT * FROM lb_submit(1, 5, leaderboard => 'kills', metadata => '{}');
ALTER TABLE kills_scores ADD COLUMN metadata jsonb;
SELECT score FROM lb_submit(1, 5, leaderboard => 'kills', metadata => '{"gun": 1}');
SELECT score FROM lb_submit(1, 4, leaderboard => 'kills', metadata => '{"gun": 2}');
SELECT lb_metadata(1, 'kills');
SELECT lb_drop_leaderboard('kills');

-- Rights: those on the column.
CREATE ROLE regress_reader;
GRANT SELECT (player_id, score, updated_at, ranked) ON player_scores TO regress_reader;
SET ROLE regress_reader;
SELECT lb_score(2);
-- The statement is another one in later versions.
\set SHOW_CONTEXT never
SELECT lb_metadata(2);
\set SHOW_CONTEXT errors
RESET ROLE;
GRANT SELECT ON player_scores TO regress_reader;
ALTER TABLE player_scores ENABLE ROW LEVEL SECURITY;
CREATE POLICY first ON player_scores USING (player_id = 1);
SET ROLE regress_reader;
SELECT lb_metadata(1), lb_metadata(2);
RESET ROLE;

-- Errors.
SELECT lb_metadata(1, NULL);
SELECT lb_metadata(1, 'nothing');
SELECT lb_metadata_key('one');
ALTER TABLE player_scores DROP COLUMN metadata;
SELECT lb_metadata(2);
ALTER TABLE player_scores ADD COLUMN metadata text;
SELECT lb_metadata(2);
SELECT score FROM lb_submit(1, 5, metadata => '{}');
SELECT score FROM lb_submit(1, 5) WHERE board = 'global';
SELECT * FROM lb_verify();
DROP TABLE player_scores, player_score_windows;
DROP ROLE regress_reader;
TRUNCATE lb_event, lb_applied, lb_hidden;
