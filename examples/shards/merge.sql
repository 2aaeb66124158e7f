-- On the server that clients connect to, after plproxy.sql or fdw.sql: the functions of the
-- extension over all shards, as sums and merges of what these answer.  Names, arguments and
-- results are the extension's, for the method row_number and, where a function takes one, rank.

-- PL/pgSQL keeps plans, a function in SQL is planned at each call.
CREATE FUNCTION shards.lb_count(board text DEFAULT 'global') RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT sum(c) FROM shards.ask_count(NULL, NULL, board) AS c);
END $$;

CREATE FUNCTION shards.lb_count_between(lo bigint, hi bigint, board text DEFAULT 'global')
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT sum(c) FROM shards.ask_count(lo, hi, board) AS c);
END $$;

CREATE FUNCTION shards.lb_rank_of_score(score bigint, board text DEFAULT 'global')
RETURNS bigint LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
    RETURN CASE WHEN score = 9223372036854775807 THEN 1
        ELSE (SELECT 1 + sum(c) FROM shards.ask_count(score + 1, NULL, board) AS c) END;
END $$;

CREATE FUNCTION shards.lb_score(member bigint, board text DEFAULT 'global') RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT k.score FROM shards.ask_key(member, board) AS k);
END $$;

-- First the player's key, from the player's shard; then all shards at once.
CREATE FUNCTION shards.lb_player(member bigint, board text DEFAULT 'global',
    OUT rank bigint, OUT score bigint, OUT percentile double precision, OUT total bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    k record;
BEGIN
    SELECT * INTO k FROM shards.ask_key(member, board);
    IF k.player_id IS NOT NULL THEN
        SELECT 1 + sum(t.before), k.score, 100 * (sum(t.total - t.better)::double precision / sum(t.total)::double precision), sum(t.total)
        INTO rank, score, percentile, total
        FROM shards.ask_tally(k.score, k.updated_at, k.player_id, board) AS t;
    END IF;
END $$;

CREATE FUNCTION shards.lb_rank(member bigint, board text DEFAULT 'global', method text DEFAULT 'row_number')
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    k record;
BEGIN
    SELECT * INTO k FROM shards.ask_key(member, board);
    IF k.player_id IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT 1 + sum(CASE method WHEN 'row_number' THEN t.before WHEN 'rank' THEN t.better END)
        FROM shards.ask_tally(k.score, k.updated_at, k.player_id, board) AS t);
END $$;

CREATE FUNCTION shards.lb_percentile(member bigint, board text DEFAULT 'global')
RETURNS double precision LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT p.percentile FROM shards.lb_player(member, board) AS p);
END $$;

-- One round of the search for a page: samples of each shard between two keys, in one order.
-- A sample knows how many players of its own shard stand before it.  Of another shard, those
-- are at least as many as before that shard's last sample before it, and at most as many as
-- before the next one.  The result is how many stand before the first key; the last sample
-- before which stand at most skip; and the first before which stand more.
CREATE FUNCTION shards.narrow(skip bigint, board text, lo_score bigint, lo_updated_at timestamptz, lo_player_id bigint,
    hi_score bigint, hi_updated_at timestamptz, hi_player_id bigint)
RETURNS TABLE (before bigint, score bigint, updated_at timestamptz, player_id bigint,
    to_score bigint, to_updated_at timestamptz, to_player_id bigint) LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    WITH answer AS MATERIALIZED (
        SELECT row_number() OVER () AS shard, a.* FROM shards.ask_sample(64, lo_score, lo_updated_at, lo_player_id,
            hi_score, hi_updated_at, hi_player_id, board) AS a),
    sample AS (
        SELECT s.score, s.updated_at, s.player_id,
            s.before - coalesce(lag(s.before) OVER w, a.from_place) AS since_last,
            coalesce(lead(s.before) OVER w, a.to_place) - s.before AS to_next
        FROM answer AS a, LATERAL unnest(a.befores, a.scores, a.updated_ats, a.player_ids)
            AS s (before, score, updated_at, player_id)
        WHERE s.before IS NOT NULL
        WINDOW w AS (PARTITION BY a.shard ORDER BY s.before)),
    bounded AS MATERIALIZED (
        SELECT s.*, f.before + sum(s.since_last) OVER w AS at_least,
            f.before + sum(s.to_next) OVER w - s.to_next AS at_most
        FROM sample AS s, (SELECT sum(from_place) AS before FROM answer) AS f
        WINDOW w AS (ORDER BY s.score DESC, s.updated_at, s.player_id ROWS UNBOUNDED PRECEDING))
    SELECT (SELECT sum(from_place)::bigint FROM answer), lo.score, lo.updated_at, lo.player_id,
        hi.score, hi.updated_at, hi.player_id
    FROM (VALUES (1)) AS one
        LEFT JOIN (SELECT * FROM bounded WHERE at_most <= skip
            ORDER BY score, updated_at DESC, player_id DESC LIMIT 1) AS lo ON true
        LEFT JOIN (SELECT * FROM bounded WHERE at_least > skip
            ORDER BY score DESC, updated_at, player_id LIMIT 1) AS hi ON true;
END;

-- A page begins at a key before which stand at most skip players, and hardly fewer.  A deep
-- page takes about a round for each factor of 32 that skip is more than 200.  If writers keep
-- changing what stands before the key, the page is counted from the first player.
CREATE FUNCTION shards.lb_top(n integer DEFAULT 10, board text DEFAULT 'global', skip bigint DEFAULT 0)
RETURNS TABLE (rank bigint, member bigint, score bigint) LANGUAGE plpgsql STABLE ROWS 10 AS $$
DECLARE
    near constant bigint := 200;
    round integer := CASE WHEN skip > near THEN 0 ELSE 20 END;
    before bigint := 0;
    lo record;
    hi record;
    found record;
BEGIN
    IF n < 0 OR skip < 0 THEN
        RAISE EXCEPTION '"n" and "skip" must be at least 0' USING ERRCODE = '22023';
    END IF;
    SELECT NULL::bigint AS score, NULL::timestamptz AS updated_at, NULL::bigint AS player_id INTO lo;
    hi := lo;
    WHILE round < 20 LOOP
        SELECT * INTO found FROM shards.narrow(skip, board, lo.score, lo.updated_at, lo.player_id,
            hi.score, hi.updated_at, hi.player_id);
        before := found.before;
        EXIT WHEN before BETWEEN skip - near AND skip OR found.player_id IS NULL
            OR (found.score, found.updated_at, found.player_id) = (lo.score, lo.updated_at, lo.player_id);
        SELECT found.score, found.updated_at, found.player_id INTO lo;
        IF found.to_player_id IS NOT NULL THEN
            SELECT found.to_score AS score, found.to_updated_at AS updated_at, found.to_player_id AS player_id INTO hi;
        END IF;
        round := round + 1;
    END LOOP;
    IF round = 20 OR before > skip THEN
        SELECT NULL::bigint AS score, NULL::timestamptz AS updated_at, NULL::bigint AS player_id INTO lo;
        before := 0;
    END IF;
    RETURN QUERY SELECT skip + row_number() OVER w, p.player_id, p.score
        FROM (SELECT * FROM shards.ask_page(least(n + (skip - before), 2147483647)::integer,
                lo.score, lo.updated_at, lo.player_id, board) AS a
            ORDER BY a.score DESC, a.updated_at, a.player_id OFFSET skip - before LIMIT n) AS p
        WINDOW w AS (ORDER BY p.score DESC, p.updated_at, p.player_id) ORDER BY 1;
END $$;

CREATE FUNCTION shards.lb_at(place bigint, board text DEFAULT 'global', OUT rank bigint, OUT member bigint, OUT score bigint)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT t.* FROM shards.lb_top(CASE WHEN place > 0 THEN 1 ELSE 0 END, board, greatest(place, 1) - 1) AS t;
END;

-- Each shard's next players on either side of the key are all that can be near it.
CREATE FUNCTION shards.lb_around(member bigint, board text DEFAULT 'global', radius integer DEFAULT 5)
RETURNS TABLE (rank bigint, member bigint, score bigint) LANGUAGE sql STABLE ROWS 11
BEGIN ATOMIC
    WITH k AS MATERIALIZED (SELECT * FROM shards.ask_key($1, board)),
    place AS (
        SELECT 1 + sum(t.before)::bigint AS place
        FROM k, LATERAL shards.ask_tally(k.score, k.updated_at, k.player_id, board) AS t),
    near AS MATERIALIZED (
        SELECT a.*, row_number() OVER (ORDER BY a.score DESC, a.updated_at, a.player_id) AS n
        FROM k, LATERAL shards.ask_around(radius, k.score, k.updated_at, k.player_id, board) AS a)
    SELECT p.place + (a.n - me.n), a.player_id, a.score
    FROM place AS p, near AS me, near AS a
    WHERE me.player_id = $1 AND a.n BETWEEN me.n - radius AND me.n + radius
    ORDER BY 1;
END;

-- Keys of some players, with how many stand before each, and have a better score.
CREATE FUNCTION shards.places(members bigint[], board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint, before bigint, better bigint)
LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    WITH k AS MATERIALIZED (
        SELECT a.*, row_number() OVER () AS i
        FROM shards.ask_keys(ARRAY(SELECT DISTINCT m FROM unnest(members) AS m), board) AS a),
    t AS MATERIALIZED (
        SELECT a.* FROM (SELECT array_agg(k.score ORDER BY i) AS s, array_agg(k.updated_at ORDER BY i) AS u,
                array_agg(k.player_id ORDER BY i) AS p FROM k) AS q,
            LATERAL shards.ask_tallies(q.s, q.u, q.p, board) AS a)
    SELECT k.score, k.updated_at, k.player_id, c.before, c.better
    FROM k JOIN (
        SELECT c.i, sum(c.before)::bigint AS before, sum(c.better)::bigint AS better
        FROM t, LATERAL unnest(t.befores, t.betters) WITH ORDINALITY AS c (before, better, i)
        GROUP BY c.i) AS c USING (i);
END;

CREATE FUNCTION shards.lb_ranks(members bigint[], board text DEFAULT 'global', method text DEFAULT 'row_number')
RETURNS TABLE (member bigint, rank bigint, score bigint) LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    SELECT m.member, 1 + CASE method WHEN 'row_number' THEN p.before WHEN 'rank' THEN p.better END, p.score
    FROM unnest(members) WITH ORDINALITY AS m (member, i)
        LEFT JOIN shards.places(members, board) AS p ON p.player_id = m.member
    ORDER BY m.i;
END;

CREATE FUNCTION shards.lb_among(members bigint[], board text DEFAULT 'global')
RETURNS TABLE (place bigint, member bigint, score bigint, rank bigint) LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    SELECT row_number() OVER w, p.player_id, p.score, 1 + p.before
    FROM shards.places(members, board) AS p
    WINDOW w AS (ORDER BY p.score DESC, p.updated_at, p.player_id) ORDER BY 1;
END;

CREATE FUNCTION shards.lb_score_at_percentile(p double precision, board text DEFAULT 'global')
RETURNS bigint LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT a.score
    FROM shards.lb_count(board) AS total,
        LATERAL shards.lb_at(total - least(greatest(ceil(p / 100 * total)::bigint, 1), total) + 1, board) AS a
    WHERE p IS NOT NULL;
END;

CREATE FUNCTION shards.lb_histogram(buckets integer, board text DEFAULT 'global')
RETURNS TABLE (bucket integer, lo bigint, hi bigint, members bigint) LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    WITH e AS (
        SELECT min(worst)::numeric AS worst, max(best)::numeric - min(worst) + 1 AS r
        FROM shards.ask_ends(board) HAVING min(worst) IS NOT NULL),
    b AS MATERIALIZED (
        SELECT i::integer AS bucket, (e.worst + div((i - 1) * e.r + k - 1, k))::bigint AS lo,
            (e.worst + div(i * e.r + k - 1, k) - 1)::bigint AS hi
        FROM e, LATERAL least(buckets, e.r) AS k, LATERAL generate_series(1, k) AS i),
    c AS MATERIALIZED (
        SELECT a FROM (SELECT array_agg(b.lo ORDER BY b.bucket) AS los, array_agg(b.hi ORDER BY b.bucket) AS his FROM b) AS q,
            LATERAL shards.ask_counts(q.los, q.his, board) AS a WHERE q.los IS NOT NULL)
    SELECT b.bucket, b.lo, b.hi, (SELECT sum(c.a[b.bucket])::bigint FROM c) FROM b ORDER BY b.bucket;
END;
