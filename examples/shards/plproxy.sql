-- On the server that clients connect to, after CREATE EXTENSION plproxy, CREATE SERVER game
-- and CREATE USER MAPPING: what the shards answer, asked all at once.
CREATE SCHEMA shards;

-- Which shard has a player: its lowest bits are the number of the partition.
CREATE FUNCTION shards.hash(player_id bigint) RETURNS integer LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT hashint8(player_id);
END;

-- From that shard: the player's key.
CREATE FUNCTION shards.ask_key(player bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plproxy ROWS 1 AS $$
    CLUSTER 'game';
    RUN ON shards.hash($1);
    SELECT * FROM shard.keys(ARRAY[$1], $2);
$$;

CREATE FUNCTION shards.ask_keys(players bigint[], board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plproxy ROWS 100 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET shard.keys;
$$;

-- How many players of each shard stand before a key, have a better score, and are there.  The
-- shards plan what they are sent each time: calls alone are planned fastest.
CREATE FUNCTION shards.ask_tally(at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (before bigint, better bigint, total bigint) LANGUAGE plproxy ROWS 8 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    SELECT lb_count_before($1, ARRAY[$2::text], $3, $4) AS before, lb_rank_of_score($1, $4, 'rank') - 1 AS better,
        lb_count($4) AS total;
$$;

CREATE FUNCTION shards.ask_count(lo bigint, hi bigint, board text) RETURNS SETOF bigint LANGUAGE plproxy ROWS 8 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET lb_count_between;
$$;

CREATE FUNCTION shards.ask_tallies(scores bigint[], updated_ats timestamptz[], player_ids bigint[], board text)
RETURNS TABLE (befores bigint[], betters bigint[]) LANGUAGE plproxy ROWS 8 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET shard.tallies;
$$;

CREATE FUNCTION shards.ask_counts(los bigint[], his bigint[], board text)
RETURNS SETOF bigint[] LANGUAGE plproxy ROWS 8 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET shard.counts;
$$;

CREATE FUNCTION shards.ask_ends(board text)
RETURNS TABLE (best bigint, worst bigint) LANGUAGE plproxy ROWS 8 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET shard.ends;
$$;

CREATE FUNCTION shards.ask_page(n integer, at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plproxy ROWS 100 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET shard.page;
$$;

CREATE FUNCTION shards.ask_around(radius integer, at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plproxy ROWS 100 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET shard.around;
$$;

CREATE FUNCTION shards.ask_sample(n integer, lo_score bigint, lo_updated_at timestamptz, lo_player_id bigint,
    hi_score bigint, hi_updated_at timestamptz, hi_player_id bigint, board text)
RETURNS TABLE (from_place bigint, to_place bigint, befores bigint[], scores bigint[], updated_ats timestamptz[],
    player_ids bigint[]) LANGUAGE plproxy ROWS 8 AS $$
    CLUSTER 'game';
    RUN ON ALL;
    TARGET shard.sample;
$$;

-- Submits go to the player's shard.  The ranks that lb_submit() returns are those among the
-- shard's players, so they are left out.
CREATE FUNCTION shards.lb_submit(player_id bigint, amount bigint, op text DEFAULT NULL, match_id text DEFAULT NULL)
RETURNS TABLE (board text, score bigint, applied boolean) LANGUAGE plproxy ROWS 3 AS $$
    CLUSTER 'game';
    RUN ON shards.hash($1);
    SELECT board, score, applied FROM lb_submit($1, $2, $3, $4);
$$;
