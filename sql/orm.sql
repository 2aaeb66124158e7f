--
-- Statements as object-relational mappers send them, and which of them boards answer.
-- docs/plain-sql.md has the calls.  The texts come from Django 4.2, SQLAlchemy 2.0 with
-- psycopg, ActiveRecord 7.2 and Prisma 7.10, with blanks for line breaks.
--
CREATE TABLE player (id bigint PRIMARY KEY, name text NOT NULL, country text NOT NULL, score bigint NOT NULL);
INSERT INTO player SELECT i, 'player ' || i, 'C' || i % 5, i * 7919 % 1000003 FROM generate_series(1, 5000) i;
CREATE VIEW ranked AS SELECT p.*, rank() OVER (ORDER BY score DESC) FROM player p;
SELECT lb_create_board('player', 'player', 'id', method => 'rank');
SELECT lb_wait_ready();
ANALYZE player;

CREATE TABLE statement (n integer GENERATED ALWAYS AS IDENTITY, orm text, call text, arguments text, text text);
INSERT INTO statement (orm, call, arguments, text) VALUES
('Django', 'get', NULL, $$SELECT "ranked"."id", "ranked"."name", "ranked"."country", "ranked"."score", "ranked"."rank" FROM "ranked" WHERE "ranked"."id" = 42 LIMIT 21$$),
('Django', 'values', NULL, $$SELECT "ranked"."rank" FROM "ranked" WHERE "ranked"."id" = 42 LIMIT 21$$),
('Django', 'friends', NULL, $$SELECT "ranked"."id", "ranked"."name", "ranked"."country", "ranked"."score", "ranked"."rank" FROM "ranked" WHERE "ranked"."id" IN (1, 2, 3)$$),
('Django', 'top, view', NULL, $$SELECT "ranked"."id", "ranked"."name", "ranked"."country", "ranked"."score", "ranked"."rank" FROM "ranked" ORDER BY "ranked"."rank" ASC LIMIT 10$$),
('Django', 'ranks to 10', NULL, $$SELECT "ranked"."id", "ranked"."name", "ranked"."country", "ranked"."score", "ranked"."rank" FROM "ranked" WHERE "ranked"."rank" <= 10 ORDER BY "ranked"."rank" ASC$$),
('Django', 'page, view', NULL, $$SELECT "ranked"."id", "ranked"."name", "ranked"."country", "ranked"."score", "ranked"."rank" FROM "ranked" ORDER BY "ranked"."rank" ASC, "ranked"."id" ASC LIMIT 20 OFFSET 1000$$),
('Django', 'page, ranks', NULL, $$SELECT "ranked"."id", "ranked"."name", "ranked"."country", "ranked"."score", "ranked"."rank" FROM "ranked" WHERE "ranked"."rank" BETWEEN 1001 AND 1020 ORDER BY "ranked"."rank" ASC$$),
('Django', 'top, table', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score" FROM "player" ORDER BY "player"."score" DESC LIMIT 10$$),
('Django', 'page, table', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score" FROM "player" ORDER BY "player"."score" DESC, "player"."id" ASC LIMIT 20 OFFSET 1000$$),
('Django', 'keyset', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score" FROM "player" WHERE "player"."score" < 500000 ORDER BY "player"."score" DESC LIMIT 20$$),
('Django', 'keyset, OR', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score" FROM "player" WHERE ("player"."score" < 500000 OR ("player"."id" > 7 AND "player"."score" = 500000)) ORDER BY "player"."score" DESC, "player"."id" ASC LIMIT 20$$),
('Django', 'count above', NULL, $$SELECT COUNT(*) AS "__count" FROM "player" WHERE "player"."score" > 500000$$),
('Django', 'count', NULL, $$SELECT COUNT(*) AS "__count" FROM "player"$$),
('Django', 'aggregate', NULL, $$SELECT MAX("player"."score") AS "score__max", MIN("player"."score") AS "score__min", COUNT("player"."id") AS "id__count" FROM "player"$$),
('Django', 'count, view', NULL, $$SELECT COUNT(*) AS "__count" FROM "ranked"$$),
('Django', 'subquery, one', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score", ((SELECT COUNT(U0."id") AS "n" FROM "player" U0 WHERE U0."score" > ("player"."score")) + 1) AS "rank" FROM "player" WHERE "player"."id" = 42 LIMIT 21$$),
('Django', 'subquery, friends', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score", ((SELECT COUNT(U0."id") AS "n" FROM "player" U0 WHERE U0."score" > ("player"."score")) + 1) AS "rank" FROM "player" WHERE "player"."id" IN (1, 2, 3)$$),
('Django', 'window, ranks to 10', NULL, $$SELECT * FROM ( SELECT "player"."id" AS "col1", "player"."name" AS "col2", "player"."country" AS "col3", "player"."score" AS "col4", RANK() OVER (ORDER BY "player"."score" DESC) AS "rank" FROM "player" ORDER BY 5 ASC ) "qualify" WHERE "rank" <= 10 ORDER BY 5 ASC$$),
('Django', 'window, ranks', NULL, $$SELECT * FROM ( SELECT "player"."id" AS "col1", "player"."name" AS "col2", "player"."country" AS "col3", "player"."score" AS "col4", RANK() OVER (ORDER BY "player"."score" DESC) AS "rank" FROM "player" ORDER BY 5 ASC ) "qualify" WHERE "rank" BETWEEN 1001 AND 1020 ORDER BY 5 ASC$$),
('Django', 'window, by score', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score", RANK() OVER (ORDER BY "player"."score" DESC) AS "rank" FROM "player" ORDER BY "player"."score" DESC LIMIT 10$$),
('Django', 'window, by rank', NULL, $$SELECT "player"."id", "player"."name", "player"."country", "player"."score", RANK() OVER (ORDER BY "player"."score" DESC) AS "rank" FROM "player" ORDER BY 5 ASC LIMIT 10$$),
('SQLAlchemy', 'get', '42', $$SELECT ranked.id AS ranked_id, ranked.name AS ranked_name, ranked.country AS ranked_country, ranked.score AS ranked_score, ranked.rank AS ranked_rank FROM ranked WHERE ranked.id = $1::BIGINT$$),
('SQLAlchemy', 'rank', '42', $$SELECT ranked.rank FROM ranked WHERE ranked.id = $1::BIGINT$$),
('SQLAlchemy', 'friends', '1, 2, 3', $$SELECT ranked.id, ranked.name, ranked.country, ranked.score, ranked.rank FROM ranked WHERE ranked.id IN ($1::BIGINT, $2::BIGINT, $3::BIGINT)$$),
('SQLAlchemy', 'friends, any', $$'{1,2,3}'$$, $$SELECT ranked.id, ranked.name, ranked.country, ranked.score, ranked.rank FROM ranked WHERE ranked.id = ANY ($1)$$),
('SQLAlchemy', 'top, view', '10', $$SELECT ranked.id, ranked.name, ranked.country, ranked.score, ranked.rank FROM ranked ORDER BY ranked.rank LIMIT $1::INTEGER$$),
('SQLAlchemy', 'ranks to 10', '10', $$SELECT ranked.id, ranked.name, ranked.country, ranked.score, ranked.rank FROM ranked WHERE ranked.rank <= $1::BIGINT ORDER BY ranked.rank$$),
('SQLAlchemy', 'page, ranks', '1001, 1020', $$SELECT ranked.id, ranked.name, ranked.country, ranked.score, ranked.rank FROM ranked WHERE ranked.rank BETWEEN $1::BIGINT AND $2::BIGINT ORDER BY ranked.rank$$),
('SQLAlchemy', 'join', $$'C1', 5$$, $$SELECT player.id, player.name, player.country, player.score, ranked.rank FROM player JOIN ranked ON ranked.id = player.id WHERE player.country = $1::VARCHAR ORDER BY player.id LIMIT $2::INTEGER$$),
('SQLAlchemy', 'top, table', '10', $$SELECT player.id, player.name, player.country, player.score FROM player ORDER BY player.score DESC LIMIT $1::INTEGER$$),
('SQLAlchemy', 'page, table', '20, 1000', $$SELECT player.id, player.name, player.country, player.score FROM player ORDER BY player.score DESC, player.id LIMIT $1::INTEGER OFFSET $2::INTEGER$$),
('SQLAlchemy', 'keyset', '500000, 20', $$SELECT player.id, player.name, player.country, player.score FROM player WHERE player.score < $1::BIGINT ORDER BY player.score DESC LIMIT $2::INTEGER$$),
('SQLAlchemy', 'keyset, OR', '500000, 500000, 7, 20', $$SELECT player.id, player.name, player.country, player.score FROM player WHERE player.score < $1::BIGINT OR player.score = $2::BIGINT AND player.id > $3::BIGINT ORDER BY player.score DESC, player.id LIMIT $4::INTEGER$$),
('SQLAlchemy', 'keyset, row', '500000, 7, 20', $$SELECT player.id, player.name, player.country, player.score FROM player WHERE (player.score, player.id) < ($1::INTEGER, $2::INTEGER) ORDER BY player.score DESC, player.id DESC LIMIT $3::INTEGER$$),
('SQLAlchemy', 'count above', '500000', $$SELECT count(*) AS count_1 FROM player WHERE player.score > $1::BIGINT$$),
('SQLAlchemy', 'count above, id', '500000', $$SELECT count(player.id) AS count_1 FROM player WHERE player.score > $1::BIGINT$$),
('SQLAlchemy', 'count, Query', '500000', $$SELECT count(*) AS count_1 FROM (SELECT player.id AS player_id, player.name AS player_name, player.country AS player_country, player.score AS player_score FROM player WHERE player.score > $1::BIGINT) AS anon_1$$),
('SQLAlchemy', 'percentile', '0.9', $$SELECT percentile_disc($1) WITHIN GROUP (ORDER BY player.score) AS anon_1 FROM player$$),
('SQLAlchemy', 'rank of score', '500000', $$SELECT rank($1::INTEGER) WITHIN GROUP (ORDER BY player.score DESC) AS anon_1 FROM player$$),
('SQLAlchemy', 'subquery, one', '1, 42', $$SELECT player.id, player.name, player.country, player.score, (SELECT count(*) + $1::INTEGER AS anon_1 FROM player AS player_1 WHERE player_1.score > player.score) AS rank FROM player WHERE player.id = $2::BIGINT$$),
('SQLAlchemy', 'window, one', '42', $$SELECT anon_1.id, anon_1.name, anon_1.country, anon_1.score, anon_1.rank FROM (SELECT player.id AS id, player.name AS name, player.country AS country, player.score AS score, rank() OVER (ORDER BY player.score DESC) AS rank FROM player) AS anon_1 WHERE anon_1.id = $1::BIGINT$$),
('SQLAlchemy', 'window, CTE', '42', $$WITH ranking AS (SELECT player.id AS id, player.name AS name, player.country AS country, player.score AS score, rank() OVER (ORDER BY player.score DESC) AS rank FROM player) SELECT ranking.id, ranking.name, ranking.country, ranking.score, ranking.rank FROM ranking WHERE ranking.id = $1::BIGINT$$),
('SQLAlchemy', 'window, ranks to 10', '10', $$SELECT anon_1.id, anon_1.name, anon_1.country, anon_1.score, anon_1.rank FROM (SELECT player.id AS id, player.name AS name, player.country AS country, player.score AS score, rank() OVER (ORDER BY player.score DESC) AS rank FROM player) AS anon_1 WHERE anon_1.rank <= $1::INTEGER ORDER BY anon_1.rank$$),
('SQLAlchemy', 'window, by score', '10', $$SELECT player.id, player.name, player.country, player.score, rank() OVER (ORDER BY player.score DESC) AS rank FROM player ORDER BY player.score DESC LIMIT $1::INTEGER$$),
('SQLAlchemy', 'window, by rank', '10', $$SELECT player.id, player.name, player.country, player.score, rank() OVER (ORDER BY player.score DESC) AS rank FROM player ORDER BY rank LIMIT $1::INTEGER$$),
('ActiveRecord', 'find', '42, 1', $$SELECT "ranked".* FROM "ranked" WHERE "ranked"."id" = $1 LIMIT $2$$),
('ActiveRecord', 'pick', '42, 1', $$SELECT "ranked"."rank" FROM "ranked" WHERE "ranked"."id" = $1 LIMIT $2$$),
('ActiveRecord', 'friends', '1, 2, 3', $$SELECT "ranked".* FROM "ranked" WHERE "ranked"."id" IN ($1, $2, $3)$$),
('ActiveRecord', 'top, view', '10', $$SELECT "ranked".* FROM "ranked" ORDER BY "ranked"."rank" ASC LIMIT $1$$),
('ActiveRecord', 'ranks to 10', '10', $$SELECT "ranked".* FROM "ranked" WHERE "ranked"."rank" <= $1 ORDER BY "ranked"."rank" ASC$$),
('ActiveRecord', 'page, view', '20, 1000', $$SELECT "ranked".* FROM "ranked" ORDER BY "ranked"."rank" ASC LIMIT $1 OFFSET $2$$),
('ActiveRecord', 'page, ranks', '1001, 1020', $$SELECT "ranked".* FROM "ranked" WHERE "ranked"."rank" BETWEEN $1 AND $2 ORDER BY "ranked"."rank" ASC$$),
('ActiveRecord', 'top, table', '10', $$SELECT "player".* FROM "player" ORDER BY "player"."score" DESC LIMIT $1$$),
('ActiveRecord', 'page, table', '20, 1000', $$SELECT "player".* FROM "player" ORDER BY "player"."score" DESC, "player"."id" ASC LIMIT $1 OFFSET $2$$),
('ActiveRecord', 'keyset', '500000, 20', $$SELECT "player".* FROM "player" WHERE "player"."score" < $1 ORDER BY "player"."score" DESC LIMIT $2$$),
('ActiveRecord', 'keyset, OR', '500000, 500000, 8, 20', $$SELECT "player".* FROM "player" WHERE ("player"."score" < $1 OR "player"."score" = $2 AND "player"."id" >= $3) ORDER BY "player"."score" DESC, "player"."id" ASC LIMIT $4$$),
('ActiveRecord', 'keyset, row', '500000, 7, 20', $$SELECT "player".* FROM "player" WHERE ((score, id) < ($1, $2)) ORDER BY "player"."score" DESC, "player"."id" DESC LIMIT $3$$),
('ActiveRecord', 'count above', '500000', $$SELECT COUNT(*) FROM "player" WHERE (score > $1)$$),
('ActiveRecord', 'count from', '500000', $$SELECT COUNT(*) FROM "player" WHERE "player"."score" >= $1$$),
('ActiveRecord', 'maximum', NULL, $$SELECT MAX("player"."score") FROM "player"$$),
('ActiveRecord', 'subquery, one', '42', $$SELECT player.*, (SELECT count(*) + 1 FROM player p WHERE p.score > player.score) AS rank FROM "player" WHERE "player"."id" = $1$$),
('ActiveRecord', 'window, one', '42', $$SELECT "player".* FROM (SELECT player.*, rank() OVER (ORDER BY score DESC) AS rank FROM "player") player WHERE "player"."id" = $1$$),
('ActiveRecord', 'window, by score', '10', $$SELECT player.*, rank() OVER (ORDER BY score DESC) AS rank FROM "player" ORDER BY "player"."score" DESC LIMIT $1$$),
('ActiveRecord', 'window, by rank', '10', $$SELECT player.*, rank() OVER (ORDER BY score DESC) AS rank FROM "player" ORDER BY rank LIMIT $1$$),
('Prisma', 'findUnique', '42, 1, 0', $$SELECT "public"."ranked"."id", "public"."ranked"."name", "public"."ranked"."country", "public"."ranked"."score", "public"."ranked"."rank" FROM "public"."ranked" WHERE ("public"."ranked"."id" = $1 AND 1=1) LIMIT $2 OFFSET $3$$),
('Prisma', 'findFirst', '42, 1, 0', $$SELECT "public"."ranked"."id", "public"."ranked"."rank" FROM "public"."ranked" WHERE "public"."ranked"."id" = $1 LIMIT $2 OFFSET $3$$),
('Prisma', 'friends', '1, 2, 3, 0', $$SELECT "public"."ranked"."id", "public"."ranked"."name", "public"."ranked"."country", "public"."ranked"."score", "public"."ranked"."rank" FROM "public"."ranked" WHERE "public"."ranked"."id" IN ($1,$2,$3) OFFSET $4$$),
('Prisma', 'top, view', '10, 0', $$SELECT "public"."ranked"."id", "public"."ranked"."name", "public"."ranked"."country", "public"."ranked"."score", "public"."ranked"."rank" FROM "public"."ranked" WHERE 1=1 ORDER BY "public"."ranked"."rank" ASC LIMIT $1 OFFSET $2$$),
('Prisma', 'ranks to 10', '10, 0', $$SELECT "public"."ranked"."id", "public"."ranked"."name", "public"."ranked"."country", "public"."ranked"."score", "public"."ranked"."rank" FROM "public"."ranked" WHERE "public"."ranked"."rank" <= $1 ORDER BY "public"."ranked"."rank" ASC OFFSET $2$$),
('Prisma', 'page, view', '20, 1000', $$SELECT "public"."ranked"."id", "public"."ranked"."name", "public"."ranked"."country", "public"."ranked"."score", "public"."ranked"."rank" FROM "public"."ranked" WHERE 1=1 ORDER BY "public"."ranked"."rank" ASC LIMIT $1 OFFSET $2$$),
('Prisma', 'page, ranks', '1001, 1020, 0', $$SELECT "public"."ranked"."id", "public"."ranked"."name", "public"."ranked"."country", "public"."ranked"."score", "public"."ranked"."rank" FROM "public"."ranked" WHERE ("public"."ranked"."rank" >= $1 AND "public"."ranked"."rank" <= $2) ORDER BY "public"."ranked"."rank" ASC OFFSET $3$$),
('Prisma', 'top, table', '10, 0', $$SELECT "public"."player"."id", "public"."player"."name", "public"."player"."country", "public"."player"."score" FROM "public"."player" WHERE 1=1 ORDER BY "public"."player"."score" DESC LIMIT $1 OFFSET $2$$),
('Prisma', 'page, table', '20, 1000', $$SELECT "public"."player"."id", "public"."player"."name", "public"."player"."country", "public"."player"."score" FROM "public"."player" WHERE 1=1 ORDER BY "public"."player"."score" DESC, "public"."player"."id" ASC LIMIT $1 OFFSET $2$$),
('Prisma', 'keyset', '500000, 20, 0', $$SELECT "public"."player"."id", "public"."player"."name", "public"."player"."country", "public"."player"."score" FROM "public"."player" WHERE "public"."player"."score" < $1 ORDER BY "public"."player"."score" DESC LIMIT $2 OFFSET $3$$),
('Prisma', 'keyset, OR', '500000, 500000, 7, 20, 0', $$SELECT "public"."player"."id", "public"."player"."name", "public"."player"."country", "public"."player"."score" FROM "public"."player" WHERE ("public"."player"."score" < $1 OR ("public"."player"."score" = $2 AND "public"."player"."id" > $3)) ORDER BY "public"."player"."score" DESC, "public"."player"."id" ASC LIMIT $4 OFFSET $5$$),
('Prisma', 'keyset, cursor', '42, 42, 42, 20, 1', $$SELECT "public"."player"."id", "public"."player"."name", "public"."player"."country", "public"."player"."score" FROM "public"."player" WHERE (("public"."player"."score" = (SELECT "public"."player"."score" FROM "public"."player" WHERE ("public"."player"."id") = ($1)) AND "public"."player"."id" >= (SELECT "public"."player"."id" FROM "public"."player" WHERE ("public"."player"."id") = ($2))) OR ("public"."player"."score" < (SELECT "public"."player"."score" FROM "public"."player" WHERE ("public"."player"."id") = ($3)))) ORDER BY "public"."player"."score" DESC, "public"."player"."id" ASC LIMIT $4 OFFSET $5$$),
('Prisma', 'count above', '500000, 0', $$SELECT COUNT(*) AS "_count$_all" FROM (SELECT "public"."player"."id" FROM "public"."player" WHERE "public"."player"."score" > $1 OFFSET $2) AS "sub"$$),
('Prisma', 'aggregate', '0', $$SELECT MAX("score") AS "_max$score", MIN("score") AS "_min$score", COUNT(*) AS "_count$_all" FROM (SELECT "public"."player"."score", "public"."player"."id" FROM "public"."player" WHERE 1=1 OFFSET $1) AS "sub"$$);

-- All are prepared, as drivers do it with most of those that have parameters.
DO $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT * FROM statement LOOP
		EXECUTE format('PREPARE s%s AS %s', s.n, s.text);
	END LOOP;
END $$;
CREATE VIEW execution AS
	SELECT *, 'EXECUTE s' || n || coalesce('(' || arguments || ')', '') AS execute,
		text ~ 'ORDER BY [^()]*$' AS ordered
	FROM statement;

-- The nodes that use boards, and what has answered them; generic plans where they
-- have other ones.  The rows are the same.
SET plan_cache_mode = force_custom_plan;
CREATE TABLE custom AS SELECT n, coalesce(nullif(lbt.answered_by(execute), ''), 'none') AS answered_by, lbt.result(execute, ordered) FROM execution;
SET plan_cache_mode = force_generic_plan;
CREATE TABLE generic AS SELECT n, coalesce(nullif(lbt.answered_by(execute), ''), 'none') AS answered_by, lbt.result(execute, ordered) FROM execution;
RESET plan_cache_mode;
SELECT orm, call, c.answered_by, nullif(g.answered_by, c.answered_by) AS generic
FROM statement JOIN custom c USING (n) JOIN generic g USING (n) ORDER BY n;
SELECT orm, call, c.result, g.result
FROM statement JOIN custom c USING (n) JOIN generic g USING (n) WHERE c.result <> g.result OR c.result !~ '^(\[|[0-9]+ rows)';

-- A row comparison needs a board whose order ends in the same direction.
SELECT lb_drop_board('player');
SELECT lb_create_board('player', 'player', 'id', 'score DESC, id DESC', method => 'rank');
SELECT lb_wait_ready();
SELECT orm, call, lbt.answered_by(execute)
FROM execution WHERE call = 'keyset, row' ORDER BY n;
SELECT orm, lbt.result(execute, ordered) FROM execution WHERE call = 'keyset, row' ORDER BY n;

SELECT * FROM lb_verify();
DEALLOCATE ALL;
DROP TABLE player, statement, custom, generic CASCADE;
