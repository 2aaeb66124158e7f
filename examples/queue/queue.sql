-- What the consumer needs beside the tables of scores: what it could not submit, and why.
CREATE TABLE queue_refused (
    stream     text NOT NULL,
    entry      text NOT NULL,
    reason     text NOT NULL,
    message    jsonb NOT NULL,
    refused_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (stream, entry)
);

CREATE ROLE queue_consumer LOGIN;
GRANT USAGE ON SCHEMA leaderboard TO queue_consumer;
GRANT SELECT, INSERT, UPDATE ON player_scores, player_score_windows TO queue_consumer;
GRANT SELECT, INSERT ON queue_refused TO queue_consumer;
