-- Accounts with a uuid as key, a board over them, and a view of ranks.
CREATE SCHEMA leaderboard;
GRANT USAGE ON SCHEMA leaderboard TO PUBLIC;
CREATE EXTENSION leaderboard SCHEMA leaderboard;

CREATE TABLE account (
    account_id uuid PRIMARY KEY,
    owner text NOT NULL,
    balance numeric(12,2) NOT NULL);
INSERT INTO account
SELECT md5(i::text)::uuid, 'Owner ' || i, i * 12.5 FROM generate_series(1, 1000) i;

SELECT leaderboard.lb_create_board('richest', 'account', rank_by => 'balance DESC');
CREATE VIEW ranked_account AS
SELECT account_id, owner, balance, rank() OVER (ORDER BY balance DESC) AS rank FROM account;
SELECT leaderboard.lb_wait_ready();
