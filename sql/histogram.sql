--
-- lb_histogram
--
SELECT lbt.make_boards();
DELETE FROM game WHERE player_id = 1003;
SELECT lb_wait_ready();

-- From worst to best, each score in one bucket, widths as equal as can be.
SELECT * FROM lb_histogram(5, 'desc_rank');
SELECT * FROM lb_histogram(5, 'asc_rank');
SELECT * FROM lb_histogram(1, 'asc_rank');
SELECT sum(members), count(*), min(lo), max(hi) FROM lb_histogram(7, 'desc_rank');

-- No more buckets than there are scores from worst to best.
SELECT count(*), sum(members), max(hi - lo) FROM lb_histogram(1000, 'desc_rank');
SELECT count(*), sum(members), max(hi - lo)
FROM lb_histogram(2147483647, 'asc_rank');

SELECT * FROM lbt.board_differences('histogram');

-- All scores the same; nobody; the ends of the type.
CREATE TABLE h (player_id bigint PRIMARY KEY, score bigint);
SELECT lb_create_board('h', 'h'), lb_create_board('h_asc', 'h', rank_by => 'score ASC');
SELECT lb_wait_ready();
SELECT * FROM lb_histogram(3, 'h');
SELECT * FROM lbt.differences('h', 'h', functions => 'histogram');
INSERT INTO h VALUES (1, 5), (2, 5);
SELECT * FROM lb_histogram(3, 'h');
SELECT * FROM lbt.differences('h', 'h', functions => 'histogram');
INSERT INTO h VALUES (3, -9223372036854775808), (4, 9223372036854775807), (5, 0),
	(6, -1);
SELECT * FROM lb_histogram(1, 'h');
SELECT * FROM lb_histogram(3, 'h');
SELECT * FROM lb_histogram(3, 'h_asc');
SELECT * FROM lbt.differences('h', 'h', functions => 'histogram');
SELECT * FROM lbt.differences('h_asc', 'h', dir => 'ASC', functions => 'histogram');
-- More buckets than the query searches the bounds of.
SET leaderboard.enable_index = off;
CREATE TEMP TABLE wide AS SELECT * FROM lb_histogram(100001, 'h');
SELECT count(*), sum(members), min(lo), max(hi) FROM wide;
SELECT w.bucket, w.lo, w.hi, w.members, (SELECT count(*) FROM h WHERE score BETWEEN w.lo AND w.hi) AS by_query
FROM wide w WHERE members > 0 ORDER BY 1;
TRUNCATE wide;
INSERT INTO wide SELECT * FROM lb_histogram(100001, 'h_asc');
SELECT count(*), sum(members), min(lo), max(hi) FROM wide;
SELECT w.bucket, w.lo, w.hi, w.members, (SELECT count(*) FROM h WHERE score BETWEEN w.lo AND w.hi) AS by_query
FROM wide w WHERE members > 0 ORDER BY 1;
DROP TABLE wide;
RESET leaderboard.enable_index;
DROP TABLE h;

-- Bounds of floating-point scores are rounded as SQL rounds them, in two operations.
CREATE TABLE roots AS
SELECT i::bigint AS player_id, sqrt(i) * 1.1 AS score FROM generate_series(1, 40) AS i;
ALTER TABLE roots ADD PRIMARY KEY (player_id);
SELECT lb_create_board('roots', 'roots', rank_by => 'score DESC');
SELECT lb_wait_ready();
SELECT * FROM lbt.differences('roots', 'roots', functions => 'histogram');
SELECT * FROM lb_verify('roots');
DROP TABLE roots;

DROP TABLE game;
SELECT * FROM lb_verify();
