--
-- Statements of API servers and of object-relational mappers that enclose a query in
-- others: to make JSON of it, to count it, or to join a page with what belongs to its
-- rows.  Which of them boards answer; docs/plain-sql.md has the same table.  Members are
-- uuids.  The forms are those of Hasura 2, PostgREST 12, TypeORM 0.3, Sequelize 6, EF Core
-- 8, Hibernate 6, ActiveRecord 7, Django 5, Prisma 6 and SQLAlchemy 2, on our own tables.
--
CREATE TABLE player (id uuid PRIMARY KEY, name text NOT NULL, country text NOT NULL, score bigint NOT NULL);
INSERT INTO player SELECT md5(i::text)::uuid, 'player ' || i, 'C' || i % 5, i * 7919 % 1000003 FROM generate_series(1, 5000) i;
CREATE TABLE item (id bigint PRIMARY KEY, player_id uuid NOT NULL REFERENCES player, title text NOT NULL);
INSERT INTO item SELECT i, md5((i % 2500 + 1)::text)::uuid, 'item ' || i FROM generate_series(1, 6000) i;
CREATE INDEX ON item (player_id);
CREATE VIEW ranked AS SELECT p.*, rank() OVER (ORDER BY score DESC) FROM player p;
SELECT lb_create_board('player', 'player', 'id', 'score DESC', method => 'rank');
SELECT lb_wait_ready();
ANALYZE player, item;

CREATE TABLE statement (n integer GENERATED ALWAYS AS IDENTITY, server text, call text, arguments text, text text);
INSERT INTO statement (server, call, arguments, text) VALUES
('Hasura', 'page', NULL, $$SELECT coalesce(json_agg("root" ORDER BY "root.pg.score" DESC NULLS FIRST, "root.pg.id" ASC NULLS LAST), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."id" AS "id", "_root.base"."name" AS "name", "_root.base"."score" AS "score") AS "_e")) AS "root", "_root.base"."score" AS "root.pg.score", "_root.base"."id" AS "root.pg.id" FROM (SELECT * FROM "public"."player" WHERE ('true') ORDER BY "score" DESC NULLS FIRST, "id" ASC NULLS LAST LIMIT 20 OFFSET 1000) AS "_root.base" ORDER BY "root.pg.score" DESC NULLS FIRST, "root.pg.id" ASC NULLS LAST) AS "_root"$$),
('Hasura', 'page, outer limit', NULL, $$SELECT coalesce(json_agg("root" ORDER BY "root.pg.score" DESC NULLS FIRST, "root.pg.id" ASC NULLS LAST), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_1_e" FROM (SELECT "_0_root.base"."id" AS "id", "_0_root.base"."name" AS "name") AS "_1_e")) AS "root", "_0_root.base"."score" AS "root.pg.score", "_0_root.base"."id" AS "root.pg.id" FROM (SELECT * FROM "public"."player" WHERE ('true')) AS "_0_root.base" ORDER BY "root.pg.score" DESC NULLS FIRST, "root.pg.id" ASC NULLS LAST LIMIT 20) AS "_2_root"$$),
('Hasura', 'by pk', NULL, $$SELECT coalesce((json_agg("root") -> 0), 'null') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."name" AS "name", "_root.base"."rank" AS "rank") AS "_e")) AS "root" FROM (SELECT * FROM "public"."ranked" WHERE (("public"."ranked"."id") = (('a1d0c6e8-3f02-7327-d846-1063f4ac58a6')::uuid))) AS "_root.base") AS "_root"$$),
('Hasura', 'aggregate', NULL, $$SELECT json_build_object('aggregate', json_build_object('count', COUNT(*), 'max', json_build_object('score', max("_root.base"."score")))) AS "root" FROM (SELECT * FROM "public"."player" WHERE (("public"."player"."score") > (('500000')::bigint))) AS "_root.base"$$),
('Hasura', 'session', NULL, $$SELECT json_build_object('aggregate', json_build_object('count', COUNT(*))) AS "root" FROM (SELECT * FROM "public"."player" WHERE (("public"."player"."score") > (((current_setting('hasura.user')::json ->> 'x-hasura-score'))::bigint))) AS "_root.base"$$),
('Hasura', 'relation', NULL, $$SELECT coalesce(json_agg("root" ORDER BY "root.pg.score" DESC NULLS FIRST, "root.pg.id" ASC NULLS LAST), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."id" AS "id", "_root.ar.items"."items" AS "items") AS "_e")) AS "root", "_root.base"."score" AS "root.pg.score", "_root.base"."id" AS "root.pg.id" FROM (SELECT * FROM "public"."player" WHERE ('true') ORDER BY "score" DESC NULLS FIRST, "id" ASC NULLS LAST LIMIT 20) AS "_root.base" LEFT OUTER JOIN LATERAL (SELECT coalesce(json_agg("items" ORDER BY "items.pg.id"), '[]') AS "items" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_items.base"."title" AS "title") AS "_e")) AS "items", "_items.base"."id" AS "items.pg.id" FROM (SELECT * FROM "public"."item" WHERE (("_root.base"."id") = ("player_id"))) AS "_items.base") AS "_items") AS "_root.ar.items" ON ('true') ORDER BY "root.pg.score" DESC NULLS FIRST, "root.pg.id" ASC NULLS LAST) AS "_root"$$),
('PostgREST', 'page', '20, 1000', $$WITH pgrst_source AS (SELECT "public"."player".* FROM "public"."player" ORDER BY "public"."player"."score" DESC, "public"."player"."id" ASC LIMIT $1 OFFSET $2) SELECT null::bigint AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]') AS body, nullif(current_setting('response.headers', true), '') AS response_headers FROM (SELECT * FROM pgrst_source) _postgrest_t$$),
('PostgREST', 'page and count', '20, 1000', $$WITH pgrst_source AS (SELECT "public"."player".* FROM "public"."player" ORDER BY "public"."player"."score" DESC, "public"."player"."id" ASC LIMIT $1 OFFSET $2), pgrst_source_count AS (SELECT 1 FROM "public"."player") SELECT (SELECT pg_catalog.count(*) FROM pgrst_source_count) AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]') AS body, nullif(current_setting('response.headers', true), '') AS response_headers FROM (SELECT * FROM pgrst_source) _postgrest_t$$),
('PostgREST', 'filter and count', '500000, 20, 0', $$WITH pgrst_source AS (SELECT "public"."player"."id", "public"."player"."score" FROM "public"."player" WHERE "public"."player"."score" < $1 ORDER BY "public"."player"."score" DESC, "public"."player"."id" ASC LIMIT $2 OFFSET $3), pgrst_source_count AS (SELECT 1 FROM "public"."player" WHERE "public"."player"."score" < $1) SELECT (SELECT pg_catalog.count(*) FROM pgrst_source_count) AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]') AS body FROM (SELECT * FROM pgrst_source) _postgrest_t$$),
('PostgREST', 'view, one', $$'a1d0c6e8-3f02-7327-d846-1063f4ac58a6', 1, 0$$, $$WITH pgrst_source AS (SELECT "public"."ranked".* FROM "public"."ranked" WHERE "public"."ranked"."id" = $1 LIMIT $2 OFFSET $3) SELECT null::bigint AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t)->0, 'null') AS body FROM (SELECT * FROM pgrst_source) _postgrest_t$$),
('PostgREST', 'embedded', '20, 0', $$WITH pgrst_source AS (SELECT "public"."player"."id", COALESCE("player_item_1"."player_item_1", '[]') AS "item" FROM "public"."player" LEFT JOIN LATERAL (SELECT json_agg("player_item_1" ORDER BY "title")::jsonb AS "player_item_1" FROM (SELECT "item_1"."title" FROM "public"."item" AS "item_1" WHERE "item_1"."player_id" = "public"."player"."id") AS "player_item_1") AS "player_item_1" ON TRUE ORDER BY "public"."player"."score" DESC, "public"."player"."id" ASC LIMIT $1 OFFSET $2) SELECT null::bigint AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]') AS body FROM (SELECT * FROM pgrst_source) _postgrest_t$$),
('TypeORM', 'take, relations', NULL, $$SELECT DISTINCT "distinctAlias"."Player_id" AS "ids_Player_id", "distinctAlias"."Player_score" FROM (SELECT "Player"."id" AS "Player_id", "Player"."name" AS "Player_name", "Player"."score" AS "Player_score", "Player__items"."id" AS "Player__items_id" FROM "player" "Player" LEFT JOIN "item" "Player__items" ON "Player__items"."player_id"="Player"."id") "distinctAlias" ORDER BY "distinctAlias"."Player_score" DESC, "Player_id" ASC LIMIT 20$$),
('TypeORM', 'by ids', $$'a1d0c6e8-3f02-7327-d846-1063f4ac58a6', 'c4ca4238-a0b9-2382-0dcc-509a6f75849b'$$, $$SELECT "Ranked"."id" AS "Ranked_id", "Ranked"."rank" AS "Ranked_rank" FROM "ranked" "Ranked" WHERE "Ranked"."id" IN ($1, $2)$$),
('TypeORM', 'take', NULL, $$SELECT "Player"."id" AS "Player_id", "Player"."name" AS "Player_name", "Player"."score" AS "Player_score" FROM "player" "Player" ORDER BY "Player"."score" DESC, "Player"."id" ASC LIMIT 20 OFFSET 1000$$),
('TypeORM', 'findAndCount', NULL, $$SELECT COUNT(1) AS "cnt" FROM "player" "Player"$$),
('TypeORM', 'count, relations', NULL, $$SELECT COUNT(DISTINCT("Player"."id")) AS "cnt" FROM "player" "Player" LEFT JOIN "item" "Player__items" ON "Player__items"."player_id"="Player"."id"$$),
('Sequelize', 'include', NULL, $$SELECT "Player".*, "items"."id" AS "items.id", "items"."title" AS "items.title" FROM (SELECT "Player"."id", "Player"."name", "Player"."score" FROM "player" AS "Player" ORDER BY "Player"."score" DESC, "Player"."id" ASC LIMIT 20 OFFSET 1000) AS "Player" LEFT OUTER JOIN "item" AS "items" ON "Player"."id" = "items"."player_id" ORDER BY "Player"."score" DESC, "Player"."id" ASC$$),
('Sequelize', 'include, required', NULL, $$SELECT "Player".*, "items"."id" AS "items.id" FROM (SELECT "Player"."id", "Player"."name", "Player"."score" FROM "player" AS "Player" WHERE (SELECT "player_id" FROM "item" AS "items" WHERE ("items"."player_id" = "Player"."id") LIMIT 1) IS NOT NULL ORDER BY "Player"."score" DESC, "Player"."id" ASC LIMIT 20) AS "Player" INNER JOIN "item" AS "items" ON "Player"."id" = "items"."player_id" ORDER BY "Player"."score" DESC, "Player"."id" ASC$$),
('Sequelize', 'count, include', NULL, $$SELECT count(DISTINCT("Player"."id")) AS "count" FROM "player" AS "Player" LEFT OUTER JOIN "item" AS "items" ON "Player"."id" = "items"."player_id"$$),
('Sequelize', 'findByPk, view', NULL, $$SELECT "id", "name", "score", "rank" FROM "ranked" AS "Ranked" WHERE "Ranked"."id" = 'a1d0c6e8-3f02-7327-d846-1063f4ac58a6'$$),
('EF Core', 'Take, Take', '100, 20', $$SELECT p0.id, p0.name, p0.score FROM (SELECT p.id, p.name, p.score FROM player AS p ORDER BY p.score DESC, p.id LIMIT $1) AS p0 ORDER BY p0.score DESC, p0.id LIMIT $2$$),
('EF Core', 'Take, other order', '100, 20', $$SELECT p0.id, p0.name, p0.score FROM (SELECT p.id, p.name, p.score FROM player AS p ORDER BY p.score DESC, p.id LIMIT $1) AS p0 ORDER BY p0.name LIMIT $2$$),
('EF Core', 'Include', '20, 1000', $$SELECT p0.id, p0.name, p0.score, i.id, i.title FROM (SELECT p.id, p.name, p.score FROM player AS p ORDER BY p.score DESC, p.id LIMIT $1 OFFSET $2) AS p0 LEFT JOIN item AS i ON p0.id = i.player_id ORDER BY p0.score DESC, p0.id, i.id$$),
('EF Core', 'Single', $$'a1d0c6e8-3f02-7327-d846-1063f4ac58a6'$$, $$SELECT r.id, r.name, r.rank FROM ranked AS r WHERE r.id = $1 LIMIT 2$$),
('EF Core', 'Count', '500000', $$SELECT count(*)::int FROM player AS p WHERE p.score > $1$$),
('EF Core', 'Any', '500000', $$SELECT EXISTS (SELECT 1 FROM player AS p WHERE p.score > $1)$$),
('EF Core', 'Count of Take', '100', $$SELECT count(*)::int FROM (SELECT 1 FROM player AS p LIMIT $1) AS p0$$),
('EF Core', 'Max', NULL, $$SELECT max(p.score) FROM player AS p$$),
('EF Core', 'rank, subquery', $$'a1d0c6e8-3f02-7327-d846-1063f4ac58a6'$$, $$SELECT p.name, (SELECT count(*)::int FROM player AS p0 WHERE p0.score > p.score) + 1 AS "Rank" FROM player AS p WHERE p.id = $1 LIMIT 1$$),
('Hibernate', 'page', '1000, 20', $$select p1_0.id,p1_0.country,p1_0.name,p1_0.score from player p1_0 order by p1_0.score desc,p1_0.id offset $1 rows fetch first $2 rows only$$),
('Hibernate', 'first page', '20', $$select p1_0.id,p1_0.name,p1_0.score from player p1_0 order by p1_0.score desc,p1_0.id fetch first $1 rows only$$),
('Hibernate', 'count', '500000', $$select count(p1_0.id) from player p1_0 where p1_0.score>$1$$),
('Hibernate', 'derived', '10', $$select r1_0.id,r1_0.place from (select p1_0.id,rank() over(order by p1_0.score desc) from player p1_0) r1_0(id,place) where r1_0.place<=$1$$),
('Hibernate', 'with ties', '20', $$select p1_0.id,p1_0.score from player p1_0 order by p1_0.score desc fetch first $1 rows with ties$$),
('Hibernate', 'keyset', $$500000, 500000, 'a1d0c6e8-3f02-7327-d846-1063f4ac58a6', 20$$, $$select p1_0.id,p1_0.score from player p1_0 where p1_0.score<$1 or p1_0.score=$2 and p1_0.id>$3 order by p1_0.score desc,p1_0.id fetch first $4 rows only$$),
('Rails', 'limit.count', '500000, 10', $$SELECT COUNT(*) FROM (SELECT 1 AS one FROM "player" WHERE "player"."score" > $1 LIMIT $2) subquery_for_count$$),
('Rails', 'select.limit.count', '10', $$SELECT COUNT(count_column) FROM (SELECT "player"."id" AS count_column FROM "player" LIMIT $1) subquery_for_count$$),
('Rails', 'exists?', '500000, 1', $$SELECT 1 AS one FROM "player" WHERE "player"."score" > $1 LIMIT $2$$),
('Rails', 'eager_load', '20', $$SELECT DISTINCT "player"."score" AS alias_0, "player"."id" AS alias_1, "player"."id" FROM "player" LEFT OUTER JOIN "item" ON "item"."player_id" = "player"."id" ORDER BY "player"."score" DESC, "player"."id" ASC LIMIT $1$$),
('Rails', 'distinct.count', NULL, $$SELECT COUNT(DISTINCT "player"."score") FROM "player"$$),
('Django', 'slice, count', NULL, $$SELECT COUNT(*) FROM (SELECT "player"."id" AS "col1" FROM "player" WHERE "player"."score" > 500000 LIMIT 10) subquery$$),
('Django', 'exists', NULL, $$SELECT 1 AS "a" FROM "player" WHERE "player"."score" > 500000 LIMIT 1$$),
('Django', 'get, uuid', NULL, $$SELECT "ranked"."id", "ranked"."rank" FROM "ranked" WHERE "ranked"."id" = 'a1d0c6e8-3f02-7327-d846-1063f4ac58a6'::uuid LIMIT 21$$),
('Django', 'in, uuid', NULL, $$SELECT "ranked"."id", "ranked"."rank" FROM "ranked" WHERE "ranked"."id" IN ('a1d0c6e8-3f02-7327-d846-1063f4ac58a6'::uuid, 'c4ca4238-a0b9-2382-0dcc-509a6f75849b'::uuid)$$),
('Django', 'keyset, uuid', NULL, $$SELECT "player"."id", "player"."score" FROM "player" WHERE ("player"."score" < 500000 OR ("player"."id" > 'a1d0c6e8-3f02-7327-d846-1063f4ac58a6'::uuid AND "player"."score" = 500000)) ORDER BY "player"."score" DESC, "player"."id" ASC LIMIT 20$$),
('Prisma', 'findUnique', $$'a1d0c6e8-3f02-7327-d846-1063f4ac58a6', 1, 0$$, $$SELECT "public"."ranked"."id", "public"."ranked"."rank" FROM "public"."ranked" WHERE ("public"."ranked"."id" = $1 AND 1=1) LIMIT $2 OFFSET $3$$),
('Prisma', 'join', '20, 0', $$SELECT "t1"."id", "t1"."name", "t1"."score", "Player_items"."__prisma_data__" AS "items" FROM "public"."player" AS "t1" LEFT JOIN LATERAL (SELECT COALESCE(JSONB_AGG("__prisma_data__" ORDER BY "__prisma_data__"), '[]') AS "__prisma_data__" FROM (SELECT "t3"."__prisma_data__" FROM (SELECT JSONB_BUILD_OBJECT('id', "t2"."id", 'title', "t2"."title") AS "__prisma_data__" FROM (SELECT "t2".* FROM "public"."item" AS "t2" WHERE "t1"."id" = "t2"."player_id") AS "t2") AS "t3") AS "t4") AS "Player_items" ON TRUE ORDER BY "t1"."score" DESC, "t1"."id" ASC LIMIT $1 OFFSET $2$$),
('Prisma', 'count, take', '100, 0', $$SELECT COUNT(*) AS "_count$_all" FROM (SELECT "public"."player"."id" FROM "public"."player" WHERE 1=1 ORDER BY "public"."player"."id" ASC LIMIT $1 OFFSET $2) AS "sub"$$),
('SQLAlchemy', 'get, uuid', $$'a1d0c6e8-3f02-7327-d846-1063f4ac58a6'$$, $$SELECT ranked.id AS ranked_id, ranked.rank AS ranked_rank FROM ranked WHERE ranked.id = $1::UUID$$),
('SQLAlchemy', 'joinedload', '20, 1000', $$SELECT anon_1.id, anon_1.name, anon_1.score, item_1.id AS id_1, item_1.title FROM (SELECT player.id AS id, player.name AS name, player.score AS score FROM player ORDER BY player.score DESC, player.id LIMIT $1::INTEGER OFFSET $2::INTEGER) AS anon_1 LEFT OUTER JOIN item AS item_1 ON anon_1.id = item_1.player_id ORDER BY anon_1.score DESC, anon_1.id, item_1.id$$),
('SQLAlchemy', 'count, limit', '100', $$SELECT count(*) AS count_1 FROM (SELECT player.id AS id FROM player ORDER BY player.score DESC LIMIT $1::INTEGER) AS anon_1$$);

-- All are prepared, as drivers do it with most of those that have parameters.
SET hasura."user" = '{"x-hasura-score": "500000"}';
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
		text ~* 'ORDER BY [^()]*$' AS ordered
	FROM statement;
-- The nodes that use boards, and what has answered them; generic plans where they
-- have other ones.  The rows are the same.
SET plan_cache_mode = force_custom_plan;
CREATE TABLE custom AS SELECT n, coalesce(nullif(lbt.answered_by(execute), ''), 'none') AS answered_by, lbt.result(execute, ordered) FROM execution;
SET plan_cache_mode = force_generic_plan;
CREATE TABLE generic AS SELECT n, coalesce(nullif(lbt.answered_by(execute), ''), 'none') AS answered_by, lbt.result(execute, ordered) FROM execution;
RESET plan_cache_mode;
SELECT server, call, c.answered_by, nullif(g.answered_by, c.answered_by) AS generic
FROM statement JOIN custom c USING (n) JOIN generic g USING (n) ORDER BY n;
SELECT server, call, c.result, g.result
FROM statement JOIN custom c USING (n) JOIN generic g USING (n) WHERE c.result <> g.result OR c.result !~ '^(\[|[0-9]+ rows)';
SELECT * FROM lb_verify();
DEALLOCATE ALL;
DROP TABLE player, item, statement, custom, generic CASCADE;
