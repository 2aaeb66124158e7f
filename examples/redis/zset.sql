-- Sorted sets of Redis as one table: docs/from-redis.md

CREATE TABLE zset (
    key    text NOT NULL,
    member text COLLATE "C" NOT NULL CHECK (octet_length(member) <= 512),
    score  double precision NOT NULL CHECK (score <> 'NaN'),
    PRIMARY KEY (key, member));

-- Each key is a board, "zset:leaders", in the order of ZRANGE.
SELECT lb_create_board('zset', 'zset', member => 'member', rank_by => 'score ASC', board_column => 'key');

-- ZRANK and ZREVRANK of each member.
CREATE VIEW zrank AS
    SELECT key, member, score,
        row_number() OVER (PARTITION BY key ORDER BY score, member) - 1 AS rank,
        row_number() OVER (PARTITION BY key ORDER BY score DESC, member DESC) - 1 AS revrank
    FROM zset;

-- The keys that expire.
CREATE TABLE zset_expiry (
    key text PRIMARY KEY,
    at  timestamptz NOT NULL);
