-- Event triggers that call the functions, in every kind of event, and row filters of
-- publications, which cannot.
CREATE TABLE score (player_id bigint PRIMARY KEY, score bigint NOT NULL);
INSERT INTO score SELECT i, i * 7919 % 101 FROM generate_series(1, 300) i;
SELECT lb_create_board('score', 'score', rank_by => 'score DESC');
SELECT lb_wait_ready('5 min');
CREATE VIEW wrong AS SELECT count(*) FROM
	(SELECT player_id, row_number() OVER (ORDER BY score DESC, player_id) AS r FROM score) s
WHERE r IS DISTINCT FROM lb_rank(player_id, 'score');

-- Each event reads the board, writes to its table, and reads again.
CREATE TABLE seen (event text, tag text, wrong bigint, members bigint);
CREATE FUNCTION on_event() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('score') IS NULL THEN
		INSERT INTO seen SELECT TG_EVENT, TG_TAG, NULL, count(*) FROM lb_board WHERE board = 'score';
		RETURN;
	END IF;
	UPDATE score SET score = score + 13 WHERE player_id % 7 = 1;
	INSERT INTO seen SELECT TG_EVENT, TG_TAG, w.count, lb_count('score') FROM wrong w;
END $$;
CREATE EVENT TRIGGER e1 ON ddl_command_start EXECUTE FUNCTION on_event();
CREATE EVENT TRIGGER e2 ON ddl_command_end EXECUTE FUNCTION on_event();
CREATE EVENT TRIGGER e3 ON sql_drop EXECUTE FUNCTION on_event();
CREATE TABLE other (id int);
DROP TABLE other;
ALTER TABLE score ADD COLUMN note text;
CREATE INDEX ON score (note);
SELECT lb_create_board('second', 'score', rank_by => 'score ASC');
SELECT lb_drop_board('second');
ALTER TABLE score DROP COLUMN note;
SELECT event, tag, count(*), max(wrong) AS wrong, max(members) AS members FROM seen GROUP BY 1, 2 ORDER BY 2, 1;
SELECT lb_wait_ready('5 min');
SELECT * FROM wrong;
SELECT * FROM lb_verify();

-- One that drops and makes boards while the statement alters their table, or drops it.
CREATE OR REPLACE FUNCTION on_event() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM lb_board WHERE board = 'score') AND to_regclass('score') IS NOT NULL
		AND current_setting('test.nested', true) IS DISTINCT FROM 'on' THEN
		PERFORM set_config('test.nested', 'on', true);
		PERFORM lb_drop_board('score');
		PERFORM lb_create_board('score', 'score', rank_by => 'score DESC');
		PERFORM set_config('test.nested', 'off', true);
	END IF;
END $$;
ALTER TABLE score ADD COLUMN note text;
SELECT lb_wait_ready('5 min');
SELECT * FROM wrong;
ALTER EVENT TRIGGER e1 DISABLE;
ALTER EVENT TRIGGER e2 DISABLE;
ALTER EVENT TRIGGER e3 DISABLE;

-- A rewrite of the board's table is no time to read it by its query.
CREATE FUNCTION on_rewrite() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% members', lb_count('score');
	UPDATE score SET score = score + 1 WHERE player_id = 1;
END $$;
CREATE EVENT TRIGGER e4 ON table_rewrite EXECUTE FUNCTION on_rewrite();
ALTER TABLE score ALTER COLUMN note TYPE int USING NULL;
ALTER EVENT TRIGGER e4 DISABLE;
SELECT lb_wait_ready('5 min');
SELECT * FROM wrong;
SELECT * FROM lb_verify();

-- A row filter may call no function of an extension.
CREATE PUBLICATION best FOR TABLE score WHERE (lb_rank(player_id, 'score') <= 10);
DROP EVENT TRIGGER e1;
DROP EVENT TRIGGER e2;
DROP EVENT TRIGGER e3;
DROP EVENT TRIGGER e4;
DROP FUNCTION on_event, on_rewrite;
DROP VIEW wrong;
DROP TABLE score, seen;
SELECT board FROM lb_board WHERE board = 'score';
