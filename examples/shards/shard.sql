-- On each shard, in a database with the extension and its default tables: what the shard
-- answers for its own players.  A place in the order is a key: score, updated_at, player_id.
-- The boards are those of the default tables, ranked by score DESC, updated_at ASC.
CREATE SCHEMA shard;

-- The keys of those players that are on the board.
CREATE FUNCTION shard.keys(players bigint[], board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    SELECT p.score, p.ties[1]::timestamptz, p.member
    FROM lb_ranks(players, board, 'row_number') AS r,
        LATERAL lb_page(1, board, coalesce(r.rank, 1) - 1) AS p
    WHERE r.rank IS NOT NULL;
END;

-- How many players stand before each of some keys, and how many have a better score.
CREATE FUNCTION shard.tallies(scores bigint[], updated_ats timestamptz[], player_ids bigint[], board text)
RETURNS TABLE (befores bigint[], betters bigint[]) LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT array_agg(lb_count_before(k.score, ARRAY[k.updated_at::text], k.player_id, board) ORDER BY k.i),
        array_agg(lb_rank_of_score(k.score, board, 'rank') - 1 ORDER BY k.i)
    FROM unnest(scores, updated_ats, player_ids) WITH ORDINALITY AS k (score, updated_at, player_id, i);
END;

-- How many players have a score from lo to hi, for many such ranges.
CREATE FUNCTION shard.counts(los bigint[], his bigint[], board text)
RETURNS bigint[] LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT array_agg(lb_count_between(r.lo, r.hi, board) ORDER BY r.i)
    FROM unnest(los, his) WITH ORDINALITY AS r (lo, hi, i);
END;

-- The best and the worst score.
CREATE FUNCTION shard.ends(board text)
RETURNS TABLE (best bigint, worst bigint) LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT b.score, w.score FROM lb_at(1, board) AS b, lb_at(lb_count(board), board) AS w;
END;

-- n players from a key on; from the first if it is null.
CREATE FUNCTION shard.page(n integer, at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    SELECT p.score, p.ties[1]::timestamptz, p.member
    FROM lb_page(n, board, coalesce(lb_count_before(at_score, ARRAY[at_updated_at::text], at_player_id, board), 0)) AS p;
END;

-- radius players before a key, and radius + 1 from it on.
CREATE FUNCTION shard.around(radius integer, at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE sql STABLE ROWS 20
BEGIN ATOMIC
    SELECT p.score, p.ties[1]::timestamptz, p.member
    FROM (SELECT lb_count_before(at_score, ARRAY[at_updated_at::text], at_player_id, board) AS before) AS b,
        LATERAL lb_page(least(least(radius, b.before) + radius + 1, 2147483647)::integer, board,
            greatest(b.before - radius, 0)) AS p;
END;

-- Of the players from one key up to another, n at equal distances: how many stand before
-- each, and their keys.  With how many stand before the two keys.
CREATE FUNCTION shard.sample(n integer, lo_score bigint, lo_updated_at timestamptz, lo_player_id bigint,
    hi_score bigint, hi_updated_at timestamptz, hi_player_id bigint, board text)
RETURNS TABLE (from_place bigint, to_place bigint, befores bigint[], scores bigint[], updated_ats timestamptz[],
    player_ids bigint[]) LANGUAGE sql STABLE ROWS 1
BEGIN ATOMIC
    SELECT w.a, w.b, array_agg(s.before ORDER BY s.before), array_agg(p.score ORDER BY s.before),
        array_agg(p.ties[1]::timestamptz ORDER BY s.before), array_agg(p.member ORDER BY s.before)
    FROM (SELECT coalesce(lb_count_before(lo_score, ARRAY[lo_updated_at::text], lo_player_id, board), 0) AS a,
            coalesce(lb_count_before(hi_score, ARRAY[hi_updated_at::text], hi_player_id, board), lb_count(board)) AS b) AS w
        LEFT JOIN LATERAL (SELECT DISTINCT w.a + (w.b - w.a) * i / n AS before
            FROM generate_series(0, n - 1) AS i WHERE w.b > w.a) AS s ON true
        LEFT JOIN LATERAL lb_page(1, board, coalesce(s.before, 0)) AS p ON s.before IS NOT NULL
    GROUP BY w.a, w.b;
END;
