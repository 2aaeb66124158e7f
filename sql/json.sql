--
-- Answers in the shape of an HTTP interface.
--
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');
SELECT lb_open_window('daily', keep => '1000 years'), lb_open_window('weekly', keep => '1000 years');
SELECT lb_submit_many('{1,2,3,4}', '{10,20,30,40}', at => '2026-04-09');
\pset format unaligned
SELECT lb_rank_json(2);
SELECT lb_rank_json(4, 'daily:20260409', 0);
SELECT lb_rank_json(1, radius => 1);
SELECT lb_rank_json(4711), lb_rank_json(NULL);
SELECT lb_rank_json(2) -> 'surrounding_players' -> 0 ->> 'player_id' AS first, json_typeof(lb_rank_json(2)) AS type;
\set VERBOSITY terse
SELECT lb_rank_json(1, NULL);
SELECT lb_rank_json(1, 'nothing');
SELECT lb_rank_json(1, radius => -1);
\set VERBOSITY default

SELECT lb_submit_json('{"player_id": 2, "amount": 15, "at": "2026-04-09T12:00:00Z"}');
SELECT lb_submit_json('{"player_id": 9, "amount": 15, "op": "best", "boards": ["daily"], "match_id": "m", "at": "2026-04-09T12:00:00Z"}');
SELECT lb_submit_json('{"player_id": 9, "amount": 15, "op": "best", "boards": ["daily"], "match_id": "m", "at": "2026-04-09T12:00:00Z"}');
SELECT lb_submit_json('{"player_id": 2, "amount": 1, "op": null, "match_id": null, "boards": [], "at": null}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "boards": null, "at": "2026-04-09"}') ->> 'new_score' AS new_score;
SET leaderboard.json_bigint = string;
SELECT lb_submit_json('{"player_id": 2, "amount": 0, "boards": ["global"]}'),
	lb_submit_json('{"player_id": 2, "amount": 0, "boards": []}');
RESET leaderboard.json_bigint;
-- Errors name the field, and show no statement of ours.
SELECT lb_submit_json(NULL);
SELECT lb_submit_json('[]');
SELECT lb_submit_json('{"player_id": 2, "amuont": 5}');
SELECT lb_submit_json('{"player_id": 2}');
SELECT lb_submit_json('{"player_id": null, "amount": 5}');
SELECT lb_submit_json('{"player_id": "two", "amount": 5}');
SELECT lb_submit_json('{"player_id": [2], "amount": 5}');
SELECT lb_submit_json('{"player_id": 9223372036854775808, "amount": 5}');
SELECT lb_submit_json('{"player_id": 2, "amount": 1.5}');
SELECT lb_submit_json('{"player_id": 2, "amount": {}}');
SELECT lb_submit_json('{"player_id": 2, "amount": "9223372036854775808"}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "op": "add"}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "match_id": {"id": 1}}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "boards": "daily"}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "boards": ["daily", 3]}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "boards": ["dayly"]}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "at": "yesterday, perhaps"}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "at": "2026-02-30"}');
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "at": "infinity"}');
SELECT lb_submit_json('{"player_id": 2, "amount": 9223372036854775807, "at": "2026-04-09"}');
SELECT lb_submit(2, 9223372036854775807, at => '2026-04-09');
-- The lines of the user's functions stay.
CREATE FUNCTION grumble() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE 'no % for %', NEW.score, NEW.player_id;
END $$;
CREATE TRIGGER grumble BEFORE UPDATE ON player_scores FOR EACH ROW EXECUTE FUNCTION grumble();
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "at": "2026-04-09"}');
DROP TRIGGER grumble ON player_scores;
DROP FUNCTION grumble();
-- Numbers and strings, both ways, and whole numbers beyond doubles.
SELECT lb_submit_json('{"player_id": "7", "amount": "9007199254740993", "op": "set", "match_id": 12, "boards": ["global"]}');
SELECT lb_submit_json('{"player_id": 7, "amount": -9007199254740993, "match_id": "12", "boards": ["global"]}') ->> 'applied' AS applied;
SELECT lb_submit_json('{"player_id": 7, "amount": -9007199254740943, "boards": ["global"]}') ->> 'new_score' AS score;
DELETE FROM player_scores WHERE player_id = 7;

-- A game server may submit, a client only read.
CREATE ROLE regress_lb_server;
CREATE ROLE regress_lb_client;
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO regress_lb_server;
GRANT SELECT ON player_scores, player_score_windows TO regress_lb_client;
SET ROLE regress_lb_server;
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "at": "2026-04-09"}') ->> 'new_score' AS new_score;
SET ROLE regress_lb_client;
SELECT lb_rank_json(2, radius => 0);
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "at": "2026-04-09"}');
RESET ROLE;

-- Triggers of the user's find what they mean: the search path is the caller's,
-- and what it hides changes nothing.
CREATE SCHEMA mine;
CREATE TABLE mine.audit (player_id bigint);
CREATE FUNCTION mine.audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit VALUES (NEW.player_id);
	RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON player_scores FOR EACH ROW EXECUTE FUNCTION mine.audit();
CREATE FUNCTION mine.format(text, VARIADIC "any") RETURNS text LANGUAGE internal IMMUTABLE AS 'text_format';
CREATE FUNCTION mine.no(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR mine.= (FUNCTION = mine.no, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION mine.minus(integer, double precision) RETURNS double precision LANGUAGE sql AS 'SELECT 666::float8';
CREATE OPERATOR mine.- (FUNCTION = mine.minus, LEFTARG = integer, RIGHTARG = double precision);
SET search_path = mine, public, pg_catalog;
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "at": "2026-04-09"}') ->> 'new_score' AS new_score;
SELECT lb_rank_json(2, radius => 0);
SELECT lb_hide(2), lb_show(2);
SELECT count(*) FROM audit;
RESET search_path;
\pset format aligned
SET client_min_messages = warning;
DROP SCHEMA mine CASCADE;
RESET client_min_messages;
SELECT lb_wait_ready('5 min');
-- The statements that lb_submit() keeps are kept as well when it is called by this.
\c -
SELECT lb_submit_json('{"player_id": 2, "amount": 5, "match_id": "n", "at": "2026-04-09"}') ->> 'new_score' AS new_score;
SELECT count(*) AS kept FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource' \gset
SELECT board, score FROM lb_submit(2, 5, match_id => 'o', at => '2026-04-09');
SELECT count(*) - :kept AS more FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource';
SELECT * FROM lb_verify();
DROP TABLE player_scores, player_score_windows;
DELETE FROM lb_window;
TRUNCATE lb_event, lb_applied, lb_hidden;
DROP ROLE regress_lb_server, regress_lb_client;
