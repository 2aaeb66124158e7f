-- On the server that clients connect to, after CREATE EXTENSION postgres_fdw and, for each
-- shard from 0 on, IMPORT FOREIGN SCHEMA of its tables into shard_0, shard_1, ...: what the
-- shards answer, asked by plain SQL, which their boards answer.  The shards need no shard.sql.
CREATE SCHEMA shards;
CREATE TABLE shards.shard (number integer PRIMARY KEY);

CREATE FUNCTION shards.hash(player_id bigint) RETURNS integer LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT hashint8(player_id);
END;

-- The rows of a board on a shard.  More conditions can follow with AND.
CREATE FUNCTION shards.source(shard integer, board text) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE board WHEN 'global' THEN format('shard_%s.player_scores WHERE ranked', shard)
        ELSE format('shard_%s.player_score_windows WHERE ranked AND window_key = %L', shard, board) END;
END;

-- A query for each shard, where {source} stands for these.
CREATE FUNCTION shards.on_all(query text, board text) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT string_agg(replace(query, '{source}', shards.source(number, board)), ' UNION ALL ') FROM shards.shard;
END;

-- A row stands before a key.
CREATE FUNCTION shards.before(score bigint, updated_at timestamptz, player_id bigint) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT format('(score > %1$L OR (score = %1$L AND (updated_at < %2$L OR (updated_at = %2$L AND player_id < %3$L))))',
        score, updated_at, player_id);
END;

-- A row has a key, or stands behind it.  Every row does if the key is null.
CREATE FUNCTION shards.not_before(score bigint, updated_at timestamptz, player_id bigint) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN player_id IS NULL THEN 'true'
        ELSE format('(score < %1$L OR (score = %1$L AND (updated_at > %2$L OR (updated_at = %2$L AND player_id >= %3$L))))',
            score, updated_at, player_id) END;
END;

CREATE FUNCTION shards.ask_key(player bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT score, updated_at, player_id FROM %s AND player_id = %L',
        (SELECT shards.source(shards.hash(player) & (count(*)::integer - 1), board) FROM shards.shard), player);
END $$;

CREATE FUNCTION shards.ask_keys(players bigint[], board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY EXECUTE shards.on_all(format('SELECT score, updated_at, player_id FROM {source} AND player_id = ANY (%L::bigint[])',
        players), board);
END $$;

CREATE FUNCTION shards.ask_tally(at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (before bigint, better bigint, total bigint) LANGUAGE plpgsql STABLE ROWS 8 AS $$
BEGIN
    RETURN QUERY EXECUTE shards.on_all(format('SELECT count(*) FILTER (WHERE %s), count(*) FILTER (WHERE score > %L), count(*) FROM {source}',
        shards.before(at_score, at_updated_at, at_player_id), at_score), board);
END $$;

CREATE FUNCTION shards.ask_count(lo bigint, hi bigint, board text) RETURNS SETOF bigint LANGUAGE plpgsql STABLE ROWS 8 AS $$
BEGIN
    RETURN QUERY EXECUTE shards.on_all('SELECT count(*) FROM {source}'
        || concat(' AND score >= ' || lo, ' AND score <= ' || hi), board);
END $$;

CREATE FUNCTION shards.ask_tallies(scores bigint[], updated_ats timestamptz[], player_ids bigint[], board text)
RETURNS TABLE (befores bigint[], betters bigint[]) LANGUAGE plpgsql STABLE ROWS 8 AS $$
DECLARE
    query text := (SELECT format('SELECT ARRAY[%s], ARRAY[%s] FROM {source}',
            string_agg(format('count(*) FILTER (WHERE %s)', shards.before(k.score, k.updated_at, k.player_id)), ', ' ORDER BY k.i),
            string_agg(format('count(*) FILTER (WHERE score > %L)', k.score), ', ' ORDER BY k.i))
        FROM unnest(scores, updated_ats, player_ids) WITH ORDINALITY AS k (score, updated_at, player_id, i)
        HAVING count(*) > 0);
BEGIN
    IF query IS NOT NULL THEN
        RETURN QUERY EXECUTE shards.on_all(query, board);
    END IF;
END $$;

CREATE FUNCTION shards.ask_counts(los bigint[], his bigint[], board text)
RETURNS SETOF bigint[] LANGUAGE plpgsql STABLE ROWS 8 AS $$
BEGIN
    RETURN QUERY EXECUTE shards.on_all((SELECT format('SELECT ARRAY[%s] FROM {source}', string_agg(
            format('count(*) FILTER (WHERE %s)', concat_ws(' AND ', 'true', 'score >= ' || r.lo, 'score <= ' || r.hi)), ', ' ORDER BY r.i))
        FROM unnest(los, his) WITH ORDINALITY AS r (lo, hi, i)), board);
END $$;

CREATE FUNCTION shards.ask_ends(board text)
RETURNS TABLE (best bigint, worst bigint) LANGUAGE plpgsql STABLE ROWS 8 AS $$
BEGIN
    RETURN QUERY EXECUTE shards.on_all('SELECT max(score), min(score) FROM {source}', board);
END $$;

CREATE FUNCTION shards.ask_page(n integer, at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY EXECUTE shards.on_all(format('(SELECT score, updated_at, player_id FROM {source} AND %s
            ORDER BY score DESC, updated_at, player_id LIMIT %s)',
        shards.not_before(at_score, at_updated_at, at_player_id), n), board);
END $$;

CREATE FUNCTION shards.ask_around(radius integer, at_score bigint, at_updated_at timestamptz, at_player_id bigint, board text)
RETURNS TABLE (score bigint, updated_at timestamptz, player_id bigint) LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY EXECUTE shards.on_all(format('(SELECT score, updated_at, player_id FROM {source} AND %s
            ORDER BY score, updated_at DESC, player_id DESC LIMIT %s)
        UNION ALL (SELECT score, updated_at, player_id FROM {source} AND %s
            ORDER BY score DESC, updated_at, player_id LIMIT %s)',
        shards.before(at_score, at_updated_at, at_player_id), radius,
        shards.not_before(at_score, at_updated_at, at_player_id), radius + 1::bigint), board);
END $$;

-- Each player of a sample takes a query here, so samples are small.
CREATE FUNCTION shards.ask_sample(n integer, lo_score bigint, lo_updated_at timestamptz, lo_player_id bigint,
    hi_score bigint, hi_updated_at timestamptz, hi_player_id bigint, board text)
RETURNS TABLE (from_place bigint, to_place bigint, befores bigint[], scores bigint[], updated_ats timestamptz[],
    player_ids bigint[]) LANGUAGE plpgsql STABLE ROWS 8 AS $$
DECLARE
    source text;
BEGIN
    FOR source IN SELECT shards.source(number, board) FROM shards.shard LOOP
        EXECUTE format('SELECT count(*) FILTER (WHERE %s), count(*) FILTER (WHERE %s) FROM %s',
            CASE WHEN lo_player_id IS NULL THEN 'false' ELSE shards.before(lo_score, lo_updated_at, lo_player_id) END,
            CASE WHEN hi_player_id IS NULL THEN 'true' ELSE shards.before(hi_score, hi_updated_at, hi_player_id) END, source)
        INTO from_place, to_place;
        SELECT NULL, NULL, NULL, NULL INTO befores, scores, updated_ats, player_ids;
        IF to_place > from_place THEN
            EXECUTE (SELECT 'SELECT array_agg(place), array_agg(score), array_agg(updated_at), array_agg(player_id) FROM ('
                    || string_agg(format('(SELECT %s AS place, score, updated_at, player_id FROM %s
                        ORDER BY score DESC, updated_at, player_id OFFSET %1$s LIMIT 1)', p.place, source), ' UNION ALL ') || ') AS s'
                FROM (SELECT DISTINCT from_place + (to_place - from_place) * i / least(n, 8) AS place
                    FROM generate_series(0, least(n, 8) - 1) AS i) AS p)
            INTO befores, scores, updated_ats, player_ids;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
