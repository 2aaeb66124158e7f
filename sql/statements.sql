--
-- Every statement that changes rows
--
CREATE TABLE t (player_id bigint PRIMARY KEY, score bigint, ok boolean, note text);
CREATE TABLE f (player_id bigint, guild text, score bigint,
	UNIQUE (player_id, guild));
SELECT lb_create_board('t', 't'), lb_create_board('ok', 't', ranked_if => 'ok'),
	lb_create_board('low', 't', rank_by => 'score ASC', method => 'rank'),
	lb_create_board('f', 'f', board_column => 'guild');
SELECT lb_wait_ready();
CREATE FUNCTION same() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT concat_ws(' ', CASE WHEN NOT lbt.agrees('t', 't',
			'score + player_id IS NOT NULL') THEN 't' END,
		CASE WHEN NOT lbt.agrees('ok', 't', 'ok AND score IS NOT NULL')
			THEN 'ok' END,
		CASE WHEN NOT lbt.agrees('low', 't', 'score IS NOT NULL',
			'score, player_id') THEN 'low' END,
		(SELECT string_agg(guild, ' ') FROM (VALUES ('a'), ('b'), ('c'), (''))
			g (guild) WHERE NOT lbt.agrees('f:' || guild, 'f',
			format('guild = %L AND player_id + score IS NOT NULL', guild))),
		'|', lb_count('t'), lb_count('ok'), lb_count('f:a'), lb_count('f:b'),
		lb_count('f:'))
$$;

INSERT INTO t SELECT i, i % 5, i % 2 = 0 FROM generate_series(1, 20) i;
INSERT INTO f SELECT i, substr('abc', 1 + i % 3, 1), i FROM generate_series(1, 20) i;
SELECT same();

-- ON CONFLICT: inserts, updates, and leaves rows alone, within one statement.
INSERT INTO t SELECT i, i, true FROM generate_series(15, 25) i
ON CONFLICT (player_id) DO UPDATE SET score = t.score + excluded.score
WHERE excluded.player_id % 2 = 0;
SELECT same();
INSERT INTO t VALUES (1, 100), (26, 100) ON CONFLICT DO NOTHING;
SELECT same();
INSERT INTO t VALUES (27, 1), (27, 2) ON CONFLICT (player_id)
DO UPDATE SET score = 3;
SELECT same();
INSERT INTO f VALUES (1, 'b', 5), (1, 'c', 6) ON CONFLICT (player_id, guild)
DO UPDATE SET guild = 'a', score = excluded.score;
SELECT same();

-- MERGE
MERGE INTO t USING (SELECT i, i % 3 AS what FROM generate_series(20, 30) i) s
ON t.player_id = s.i
WHEN MATCHED AND what = 0 THEN DELETE
WHEN MATCHED AND what = 1 THEN UPDATE SET score = -score, ok = NOT ok
WHEN MATCHED THEN DO NOTHING
WHEN NOT MATCHED THEN INSERT VALUES (i, i * 2, true);
SELECT same();
BEGIN;
MERGE INTO f USING f AS s ON f.player_id = s.player_id + 3 AND f.guild = s.guild
WHEN MATCHED AND f.guild = 'a' THEN UPDATE SET guild = 'c'
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT VALUES (s.player_id + 100, '', s.score);
SELECT same();
ROLLBACK;
SELECT same();

-- COPY
COPY t (player_id, score, ok) FROM stdin;
101	5	t
102	\N	t
103	7	f
\.
SELECT same();
COPY t (player_id, score, ok) FROM stdin;
104	5	t
101	6	t
\.
SELECT same();

-- TRUNCATE, with what comes before and after it.
BEGIN;
INSERT INTO t VALUES (200, 1, true);
UPDATE t SET score = 9 WHERE player_id = 1;
TRUNCATE t;
SELECT same();
INSERT INTO t VALUES (1, 5, true), (2, 6, false);
UPDATE t SET score = 7 WHERE player_id = 1;
SELECT same();
SELECT * FROM lbt.differences('t', 't');
SAVEPOINT a;
TRUNCATE t, f;
INSERT INTO t VALUES (1, 8, true);
INSERT INTO f VALUES (1, 'b', 8);
SELECT same();
ROLLBACK TO a;
SELECT same();
ROLLBACK;
SELECT same();
BEGIN;
SAVEPOINT a;
TRUNCATE t;
ROLLBACK TO a;
UPDATE t SET score = 9 WHERE player_id = 1;
SELECT same();
COMMIT;
SELECT same();
BEGIN;
DECLARE c CURSOR FOR SELECT lb_count('t'), lb_rank(300, 't')
FROM generate_series(1, 3);
FETCH 1 FROM c;
TRUNCATE t;
FETCH 1 FROM c;
INSERT INTO t SELECT i, i % 5, i % 2 = 0 FROM generate_series(300, 310) i;
FETCH 1 FROM c;
SELECT same();
COMMIT;
SELECT same();
BEGIN;
TRUNCATE t;
COPY t (player_id, score, ok) FROM stdin (FREEZE);
1	1	t
2	2	f
3	3	t
\.
SELECT same();
UPDATE t SET score = 4 WHERE player_id = 1;
DELETE FROM t WHERE player_id = 2;
SELECT same();
COMMIT;
SELECT same();
SELECT * FROM lb_verify();
TRUNCATE f;
SELECT same();
INSERT INTO f SELECT i, substr('abc', 1 + i % 3, 1), i FROM generate_series(1, 20) i;
INSERT INTO t SELECT i, i % 5, i % 2 = 0 FROM generate_series(4, 20) i;
SELECT same();

-- Another member, another board, both.
UPDATE t SET player_id = -player_id WHERE player_id % 3 = 0;
SELECT same();
UPDATE t SET player_id = player_id + 100, score = score + 1;
SELECT same();
UPDATE f SET guild = 'b' WHERE guild = 'a';
SELECT same();
UPDATE f SET guild = CASE guild WHEN 'b' THEN 'a' ELSE '' END,
	player_id = player_id + 1, score = -score;
SELECT same();
-- One member takes the other's place in one transaction.
BEGIN;
DELETE FROM t WHERE player_id = 101;
UPDATE t SET player_id = 101 WHERE player_id = 102;
SELECT same();
UPDATE t SET player_id = 102 WHERE player_id = 104;
INSERT INTO t VALUES (104, 50, true);
SELECT same();
COMMIT;
SELECT same();

-- Nulls, coming and going.
UPDATE t SET score = NULL WHERE player_id % 2 = 0;
SELECT same();
UPDATE t SET score = player_id % 7 WHERE score IS NULL;
SELECT same();
UPDATE f SET player_id = NULL WHERE player_id % 2 = 0;
SELECT same();
UPDATE f SET guild = NULL WHERE player_id % 3 = 0;
SELECT same();
INSERT INTO f VALUES (NULL, NULL, NULL), (NULL, 'a', 5), (NULL, 'a', 5), (5, NULL, 5),
	(5, NULL, 6), (5, 'a', NULL);
SELECT same();
UPDATE f SET player_id = score + 30, guild = 'a'
WHERE player_id IS NULL AND score BETWEEN 10 AND 20 OR guild IS NULL AND score = 6;
SELECT same();
DELETE FROM f WHERE player_id IS NULL OR guild IS NULL;
SELECT same();

-- Only while it is true.
UPDATE t SET ok = NULL WHERE player_id < 110;
SELECT same();
UPDATE t SET ok = NOT ok;
SELECT same();
UPDATE t SET ok = true, score = score + 3;
SELECT same();
BEGIN;
UPDATE t SET ok = false;
SELECT same();
UPDATE t SET ok = true WHERE player_id % 2 = 1;
SELECT same();
SELECT * FROM lbt.differences('ok', 't', 'ok');
ROLLBACK;
SELECT same();

-- What the board does not use.
SELECT sum(changes) AS before FROM lb_stat_board WHERE board = 't' \gset
UPDATE t SET note = 'x', score = score;
SELECT sum(changes) - :before AS changes FROM lb_stat_board WHERE board = 't';
SELECT same();

-- Delete and insert in one statement, either way round.
WITH d AS (DELETE FROM t WHERE player_id > 105 RETURNING *)
INSERT INTO t SELECT player_id, score + 1, ok FROM d;
SELECT same();
WITH d AS (DELETE FROM t WHERE player_id > 105 RETURNING *)
INSERT INTO t SELECT player_id, score, ok FROM d;
SELECT same();
WITH d AS (DELETE FROM f RETURNING *)
INSERT INTO f SELECT player_id, 'b', score FROM d ON CONFLICT DO NOTHING;
SELECT same();
WITH i AS (INSERT INTO t VALUES (900, 900, true), (901, 901, true) RETURNING player_id),
	u AS (UPDATE t SET score = score + 1 WHERE player_id < 105 RETURNING player_id),
	d AS (DELETE FROM t WHERE player_id > 110 RETURNING player_id)
SELECT count(lb_rank(player_id, 't')) FROM (SELECT * FROM i UNION ALL
	SELECT * FROM u UNION ALL SELECT * FROM d) x;
SELECT same();
-- One row twice: the second is not done.
WITH u AS (UPDATE t SET score = 1000 WHERE player_id = 900 RETURNING *)
UPDATE t SET score = 2000 WHERE player_id = 900;
SELECT same();

-- Functions in the statement itself see what its snapshot sees.
CREATE FUNCTION now_rank(bigint) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	-- What the statement has done so far.
	RETURN lb_rank($1, 't') || ' of ' || lb_count('t')
		|| CASE WHEN lbt.agrees('t', 't', 'score IS NOT NULL') THEN '' ELSE ' wrong' END;
END $$;
INSERT INTO t VALUES (500, 5000, true), (501, 4000, true)
RETURNING player_id, lb_rank(player_id, 't'), lb_count('t'), now_rank(player_id);
UPDATE t SET score = score + 10000 WHERE player_id IN (104, 105)
RETURNING player_id, lb_rank(player_id, 't'), lb_score(player_id, 't'),
	now_rank(player_id);
DELETE FROM t WHERE player_id IN (104, 105)
RETURNING player_id, lb_rank(player_id, 't'), now_rank(player_id);
UPDATE t SET note = now_rank(player_id), score = score - 1;
SELECT player_id, score, note FROM t WHERE note ~ 'wrong' ORDER BY player_id;
UPDATE t SET score = lb_rank(player_id, 't');
SELECT same();
UPDATE t SET score = lb_rank(player_id, 't') + length(now_rank(player_id));
SELECT same();
INSERT INTO t SELECT member + 2000, score, true FROM lb_top(5, 't');
SELECT same();
DELETE FROM t USING lb_top(3, 't') x WHERE player_id = member;
SELECT same();
-- A function that writes, beside ones that read.
CREATE FUNCTION put(bigint, bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	INSERT INTO t VALUES ($1, $2) ON CONFLICT (player_id)
	DO UPDATE SET score = excluded.score;
	SELECT lb_score($1, 't');
$$;
SELECT lb_score(3000, 't') AS before, put(3000, i) AS inside,
	lb_score(3000, 't') AS after FROM generate_series(1, 3) i;
SELECT lb_score(3000, 't') AS before, put(3000, i) AS inside,
	lb_score(3000, 't') AS after FROM generate_series(4, 5) i;
SELECT same();

-- Foreign keys that cascade.
CREATE TABLE player (id bigint PRIMARY KEY);
INSERT INTO player SELECT player_id FROM t;
ALTER TABLE t ADD FOREIGN KEY (player_id) REFERENCES player
ON DELETE CASCADE ON UPDATE CASCADE;
DELETE FROM player WHERE id IN (SELECT player_id FROM t ORDER BY player_id LIMIT 3);
SELECT same();
UPDATE player SET id = id + 7000;
SELECT same();
BEGIN;
DELETE FROM player RETURNING id = 10900 AS is, CASE WHEN id = 10900
	THEN lb_count('t') > 0 END AS counted;
SELECT same();
ROLLBACK;
TRUNCATE player CASCADE;
SELECT same();
ALTER TABLE t DROP CONSTRAINT t_player_id_fkey;

-- As a replication worker writes.
SET session_replication_role = replica;
INSERT INTO t VALUES (1, 1, true), (2, 2, true), (3, 3, true);
DELETE FROM t WHERE player_id = 3;
SELECT same();
TRUNCATE f;
RESET session_replication_role;
SELECT same();

SELECT * FROM lbt.differences('t', 't');
SELECT * FROM lbt.differences('ok', 't', 'ok');
SELECT * FROM lbt.differences('low', 't', dir => 'ASC', method => 'rank');
SELECT * FROM lb_verify();
DROP TABLE t, f, player;
DROP FUNCTION same, now_rank, put;
SELECT * FROM lb_verify();
