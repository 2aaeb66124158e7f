--
-- lb_tier(): which tier of a board a member is in, by percentages of the board.
--
SELECT lb_create_tables();
INSERT INTO player_scores (player_id, score)
SELECT i, 1000 - i FROM generate_series(1, 200) AS i;
SELECT lb_wait_ready();

-- Of 200 members, 1 percent are 2, 10 percent are 20, and 50 percent are 100.
SELECT tier, count(*), min(player_id), max(player_id)
FROM player_scores, lb_tier(player_id) AS tier GROUP BY tier ORDER BY tier;
SELECT lb_tier(3), lb_tier(3, 'global', '{1,10,50}'), lb_tier(3, tiers => '{1.5}'),
	lb_tier(4, tiers => '{1.5}'), lb_tier(200, tiers => '{100}');
SELECT lb_tier_key('3'), lb_tier_key('4', tiers => '{1.5}');

-- The best member of a small board is in the first tier.
SELECT lb_create_board('one', 'player_scores', ranked_if => 'ranked');
SELECT lb_tier(1, 'one', '{0.001}'), lb_tier(2, 'one', '{0.001}');

-- Absent members, and null.
SELECT lb_tier(4711), lb_tier(NULL), lb_tier_key(NULL), lb_tier_key('4711'),
	lb_tier(1, '*:daily:20260409');

-- Members that tie are in one tier unless the board breaks ties.
SELECT lbt.make_boards();
SELECT lb_wait_ready();
SELECT * FROM lbt.board_differences('lb_tier');

-- In the caller's snapshot, with the caller's own changes.
BEGIN;
DELETE FROM player_scores WHERE player_id < 3;
SELECT lb_tier(3), lb_tier(4), lb_tier(5), lb_tier(1);
ROLLBACK;
SET leaderboard.enable_index = off;
SELECT lb_tier(2), lb_tier(3), lb_tier_key('20'), lb_tier_key('21'), lb_tier(4711);
RESET leaderboard.enable_index;

-- A board whose scores are not integers, and members of other types.
CREATE TABLE heat (name text PRIMARY KEY, seconds numeric(8,3) NOT NULL);
INSERT INTO heat VALUES ('ann', 9.580), ('bob', 9.691), ('cid', 9.691), ('dan', 10.049);
SELECT lb_create_board('heat', 'heat', 'name', 'seconds ASC', method => 'rank');
SELECT name, lb_tier_key(name, 'heat', '{25,50,75}') FROM heat ORDER BY name;
SELECT lb_tier(1, 'heat');

-- Errors.
SELECT lb_tier(1, NULL);
SELECT lb_tier(1, 'nothing');
SELECT lb_tier(1, 'global', NULL);
SELECT lb_tier(1, 'global', '{}');
SELECT lb_tier(1, 'global', '{1,NULL}');
SELECT lb_tier(1, 'global', '{0,10}');
SELECT lb_tier(1, 'global', '{10,100.1}');
SELECT lb_tier(1, 'global', '{NaN}');
SELECT lb_tier(1, 'global', '{10,10}');
SELECT lb_tier_key('1', 'global', '{50,10}');

SELECT * FROM lb_verify();
SELECT lb_drop_board(board) FROM lb_board WHERE source = 'game'::regclass;
DROP TABLE player_scores, player_score_windows, heat, game;
