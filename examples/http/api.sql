-- What clients may call over HTTP, in a schema of its own.  Run this as a superuser, in a
-- database that has the extension in the schema leaderboard, and the default tables.

-- Owns the functions of the schema, which run with its rights: it may read and submit.
CREATE ROLE api_owner NOLOGIN;
GRANT USAGE ON SCHEMA leaderboard TO api_owner;
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO api_owner;

-- The roles that call them: any client, and game servers.  They may do nothing
-- else.
CREATE ROLE api_read LOGIN;
CREATE ROLE api_submit LOGIN;

CREATE SCHEMA api AUTHORIZATION api_owner;
GRANT USAGE ON SCHEMA api TO api_read, api_submit;

-- A function that is added later is closed until it is granted.
ALTER DEFAULT PRIVILEGES FOR ROLE api_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

SET ROLE api_owner;

CREATE FUNCTION api.top(board text DEFAULT 'global', n integer DEFAULT 10, skip bigint DEFAULT 0)
RETURNS json LANGUAGE sql STABLE SECURITY DEFINER
RETURN leaderboard.lb_top_json(least(n, 100), board, skip);

CREATE FUNCTION api.rank(player text, board text DEFAULT 'global', radius integer DEFAULT 2)
RETURNS json LANGUAGE sql STABLE SECURITY DEFINER
RETURN leaderboard.lb_rank_json_key(player, board, least(radius, 20));

CREATE FUNCTION api.score(jsonb)
RETURNS json LANGUAGE sql VOLATILE SECURITY DEFINER
RETURN leaderboard.lb_submit_json($1);

GRANT EXECUTE ON FUNCTION api.top, api.rank TO api_read, api_submit;
GRANT EXECUTE ON FUNCTION api.score TO api_submit;

RESET ROLE;

-- The board whose changes clients hear of.
SELECT leaderboard.lb_watch('global', 10);
