--
-- lb_submit_each(): what became of each change of a batch.
--
SELECT lb_create_tables();
SELECT lb_open_window('cup:1', starts => '2020-01-01', ends => '9999-01-01');
SELECT lb_close_window('daily'), lb_close_window('weekly');
SELECT lb_wait_ready();
SELECT * FROM lb_submit_each('{1,2,3}', '{10,20,30}');
SELECT lb_hide(3);
SELECT * FROM lb_submit_each('{3,1,2,1}', '{1,2,3,4}', match_ids => '{a,a,a,NULL}');
-- Matches that have been applied, also by the same call.
SELECT * FROM lb_submit_each('{1,1,1,2}', '{1,10,100,1000}', match_ids => '{a,b,b,b}');
SELECT * FROM lb_submit_each('{1,2}', '{5,5}', match_ids => '{b,b}');
SELECT * FROM lb_submit_each_key('{2,1}', '{500,17}', 'best');
SELECT * FROM lb_submit_each('{}', '{}');
SELECT * FROM lb_top();

-- Limits refuse what is theirs, and the rest is applied.
SELECT lb_set_limit('amount', 'global', max_amount => 100);
SELECT lb_set_limit('score', 'cup:1', max_score => 700);
SELECT lb_set_limit('count', 'global', period => '1 day', max_submits => 3);
SELECT lb_set_limit('odd', 'global', max_amount => 50, action => 'flag');
-- Of player 4 only what is too large, of player 2 the score, of player 5 the number of submits.
SELECT * FROM lb_submit_each('{4,4,2,5,1,5,5,4,6,5}', '{1,101,90,1,10,1,1,60,-101,1}',
	match_ids => '{a,b,c,a,c,b,c,d,a,d}');
SELECT * FROM lb_top(10, 'cup:1');
-- What was refused has left nothing behind, and what was applied counts.
SELECT player_id, match_id FROM lb_applied WHERE player_id IN ('2', '4', '5', '6') ORDER BY 1, 2;
SELECT limit_name, player_id, amount, submits FROM lb_usage ORDER BY 1, 2;
SELECT limit_name, player_id, submits, max_amount FROM lb_anomaly ORDER BY 1, 2;
SELECT player_id, amount, boards, scores FROM lb_event WHERE amount IN (60, 101, 90, 10) ORDER BY 1, 2;
SELECT * FROM lb_submit_each('{4,6}', '{1,1}', match_ids => '{b,a}');
-- All are refused.
SELECT * FROM lb_submit_each('{1,2}', '{1000,1000}');
SELECT * FROM lb_submit_each('{1,2}', '{200,200}', 'set');
-- lb_submit_many() raises the error.
SELECT lb_submit_many('{4,1}', '{1,1000}');

-- One by one, the changes of different players have the same outcome.
CREATE TABLE sent AS SELECT i AS n, 100 + i % 37 AS player, i * 7919 % 130 AS amount, 'm' || i % 29 AS match
FROM generate_series(1, 37) i;
SELECT status, limit_name, count(*) FROM lb_submit_each((SELECT array_agg(player ORDER BY n) FROM sent),
	(SELECT array_agg(amount ORDER BY n) FROM sent), match_ids => (SELECT array_agg(match ORDER BY n) FROM sent)) GROUP BY 1, 2 ORDER BY 1;
CREATE TABLE batch AS SELECT player_id, score FROM player_scores WHERE player_id >= 100;
DELETE FROM player_scores WHERE player_id >= 100;
DELETE FROM player_score_windows WHERE player_id >= 100;
DELETE FROM lb_applied; DELETE FROM lb_usage;
DO $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT * FROM sent ORDER BY n LOOP
		BEGIN
			PERFORM lb_submit(s.player, s.amount, match_id => s.match);
		EXCEPTION WHEN check_violation THEN NULL;
		END;
	END LOOP;
END $$;
SELECT count(*) AS players, count(*) FILTER (WHERE b.score IS DISTINCT FROM p.score) AS different
FROM batch b FULL JOIN (SELECT player_id, score FROM player_scores WHERE player_id >= 100) p USING (player_id);

-- In a subtransaction of the caller's that is undone.
BEGIN;
SAVEPOINT a;
SELECT status, limit_name FROM lb_submit_each('{7,8}', '{5,101}');
ROLLBACK TO a;
SELECT status, limit_name FROM lb_submit_each('{9,8}', '{5,101}');
COMMIT;
SELECT player_id, score FROM player_scores WHERE player_id IN (7, 8, 9);
SELECT * FROM lb_verify();

-- An amount that is refused is not counted: the player's other changes go on.
SELECT item, status, score, limit_name FROM lb_submit_each('{50,50,50,50}', '{101,1,2,3}');
SELECT submits FROM lb_usage WHERE player_id = '50';
SELECT lb_set_limit('all', 'global', period => '1 day', max_amount => 90, max_period_amount => 100);
SELECT item, status, score, limit_name FROM lb_submit_each('{51,51}', '{95,60}');
SELECT limit_name, amount, submits FROM lb_usage WHERE player_id = '51' ORDER BY 1;
SELECT item, status, score, limit_name FROM lb_submit_each('{51,51,52}', '{30,20,1}');
SELECT lb_drop_limit('all');

-- Errors of the call, not of an item.
SELECT * FROM lb_submit_each(NULL, '{1}');
SELECT * FROM lb_submit_each('{1}', NULL);
SELECT * FROM lb_submit_each('{1,2}', '{1}');
SELECT * FROM lb_submit_each('{1,NULL}', '{1,1}');
SELECT * FROM lb_submit_each('{1}', '{1}', 'twice');
SELECT * FROM lb_submit_each('{1}', '{1}', match_ids => '{a,b}');
SELECT * FROM lb_submit_each_key('{one}', '{1}');
SELECT * FROM lb_submit_each('{1}', '{1}', at => 'infinity');

-- An error of a statement ends the call and its transaction, and nothing stays open.
ALTER TABLE player_scores ADD CONSTRAINT no_77 CHECK (player_id <> 77);
\set VERBOSITY terse
SELECT * FROM lb_submit_each('{77}', '{1}');
\set VERBOSITY default
SELECT 1 AS "goes on";
BEGIN READ ONLY;
SELECT * FROM lb_submit_each('{1}', '{1}');
ROLLBACK;
CREATE ROLE regress_reader;
GRANT SELECT ON player_scores, player_score_windows TO regress_reader;
SET ROLE regress_reader;
SELECT * FROM lb_submit_each('{1}', '{1}');
RESET ROLE;
DROP TABLE player_scores, player_score_windows, sent, batch;
DROP ROLE regress_reader;
TRUNCATE lb_event, lb_usage, lb_applied, lb_anomaly, lb_hidden;
