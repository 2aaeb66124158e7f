-- The default tables of leaderboard, for a server that cannot load it: what
-- lb_create_tables() makes, with the trigger in PL/pgSQL.  README.md says what of
-- submits, windows and seasons is plain SQL here.
--
--	psql -d game -f tables.sql
--
-- For players with a uuid: sed 's/player_id  bigint/player_id  uuid/' tables.sql
CREATE TABLE IF NOT EXISTS player_scores (
    player_id  bigint PRIMARY KEY,
    score      bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT now(),
    ranked     boolean NOT NULL DEFAULT true
) WITH (fillfactor = 90);

CREATE TABLE IF NOT EXISTS player_score_windows (
    player_id  bigint NOT NULL,
    window_key text NOT NULL,
    score      bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT now(),
    ranked     boolean NOT NULL DEFAULT true,
    PRIMARY KEY (player_id, window_key)
) WITH (fillfactor = 90);

-- Windows that are over are found by it.
CREATE INDEX IF NOT EXISTS player_score_windows_window_key ON player_score_windows (window_key);

-- A score that changes was reached now, unless the statement sets another time.  The
-- library's trigger also keeps a time that a statement sets to what it was; PL/pgSQL
-- cannot tell that from a statement that does not set it.
CREATE OR REPLACE FUNCTION player_score_reached() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.updated_at IS NOT DISTINCT FROM OLD.updated_at THEN
        NEW.updated_at := now();
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER updated_at BEFORE UPDATE ON player_scores
    FOR EACH ROW WHEN (OLD.score IS DISTINCT FROM NEW.score) EXECUTE FUNCTION player_score_reached();
CREATE OR REPLACE TRIGGER updated_at BEFORE UPDATE ON player_score_windows
    FOR EACH ROW WHEN (OLD.score IS DISTINCT FROM NEW.score) EXECUTE FUNCTION player_score_reached();
