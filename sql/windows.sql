--
-- Windows: their keys, their names in read functions, what is recorded of them.
--
SELECT lb_create_tables();
SELECT lb_wait_ready('5 min');

-- The default tables come with a daily and a weekly window.
SELECT * FROM lb_window ORDER BY name;

-- Keys.  What is not recorded has them by default.
SET timezone = 'Asia/Tokyo';
SELECT lb_window_at('hourly', '2026-04-09 23:59:59+00') AS hourly,
	lb_window_at('daily', '2026-04-09 23:59:59+00') AS daily,
	lb_window_at('weekly', '2026-04-09 23:59:59+00') AS weekly,
	lb_window_at('monthly', '2026-04-09 23:59:59+00') AS monthly;
RESET timezone;
SELECT d, lb_window_at('weekly', d) AS weekly, to_char(d AT TIME ZONE 'UTC', 'IYYYIW') AS iso
FROM unnest(ARRAY['2025-12-28', '2025-12-29', '2026-01-01', '2026-01-04', '2026-01-05',
	'2026-12-31', '2027-01-01', '2027-01-03', '2027-01-04']::timestamptz[]) AS d;
SELECT lb_window_at('daily') = 'daily:' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD') AS now;
SELECT lb_window_at(NULL), lb_window_at('daily', NULL);
SELECT lb_window_at('dayly');
SELECT lb_window_at('daily', 'infinity');
SELECT lb_window_at('daily', '0044-03-15 BC');
SELECT lb_window_at('monthly', '10000-01-01');

-- A week that begins on another day is called by the ISO week that most of it is
-- in.
SELECT lb_open_window('weekly', first_day => 7);
SELECT d::date, to_char(d, 'Dy') AS day, lb_window_at('weekly', d)
FROM generate_series(timestamptz '2026-04-03 12:00+00', '2026-04-13 12:00+00', '1 day') AS d;
SELECT lb_open_window('weekly', first_day => 6);
SELECT d::date, to_char(d, 'Dy') AS day, lb_window_at('weekly', d)
FROM generate_series(timestamptz '2026-04-03 12:00+00', '2026-04-13 12:00+00', '1 day') AS d;
SELECT lb_open_window('weekly', first_day => 4);
SELECT d::date, to_char(d, 'Dy') AS day, lb_window_at('weekly', d)
FROM generate_series(timestamptz '2026-04-07 12:00+00', '2026-04-10 12:00+00', '1 day') AS d;
SELECT lb_open_window('weekly', first_day => 5);
SELECT d::date, to_char(d, 'Dy') AS day, lb_window_at('weekly', d)
FROM generate_series(timestamptz '2026-04-07 12:00+00', '2026-04-10 12:00+00', '1 day') AS d;
SELECT lb_open_window('weekly');

-- Other time zones; days of 23 and 25 hours, an hour that there is twice and
-- one that is left out.
SELECT lb_open_window('daily', time_zone => 'Europe/Berlin');
SELECT lb_open_window('hourly', time_zone => 'Europe/Berlin');
SELECT lb_window_at('daily', h) AS day, lb_window_at('hourly', min(h)) AS first,
	lb_window_at('hourly', max(h)) AS last, count(*) AS hours
FROM generate_series(timestamptz '2026-03-27 23:00+00', '2026-03-30 21:00+00', '1 hour') AS h
GROUP BY 1 ORDER BY 1;
SELECT h AT TIME ZONE 'UTC' AS utc, lb_window_at('hourly', h)
FROM generate_series(timestamptz '2026-03-29 00:00+00', '2026-03-29 02:00+00', '1 hour') AS h;
SELECT h AT TIME ZONE 'UTC' AS utc, lb_window_at('hourly', h)
FROM generate_series(timestamptz '2026-10-24 23:00+00', '2026-10-25 02:00+00', '30 min') AS h;
-- A day, and a week, whose first hour there is twice; whatever was asked before.
SELECT lb_open_window('daily', time_zone => 'America/Havana'),
	lb_open_window('weekly', time_zone => 'America/Havana', first_day => 7),
	lb_open_window('hourly', time_zone => 'America/Havana');
SELECT lb_window_at('daily', '2025-11-02 04:30+00') AS day, lb_window_at('weekly', '2025-11-02 04:30+00') AS week;
SELECT lb_window_at('daily', '2025-11-01 12:00+00') AS day, lb_window_at('weekly', '2025-11-01 12:00+00') AS week;
SELECT lb_window_at('daily', '2025-11-02 04:30+00') AS day, lb_window_at('weekly', '2025-11-02 04:30+00') AS week;
SELECT h AT TIME ZONE 'UTC' AS utc, lb_window_at('daily', h) AS day, lb_window_at('hourly', h) AS hour
FROM generate_series(timestamptz '2025-11-02 03:30+00', '2025-11-02 06:00+00', '30 min') AS h;
SELECT lb_open_window('daily'), lb_open_window('weekly');
SELECT lb_window_at('daily', '0001-01-01 00:00+00');
-- The first hour of all, and the last.
SELECT lb_open_window('hourly');
SELECT lb_window_at('hourly', '0001-01-01 00:00+00') AS first, lb_window_at('hourly', '9999-12-31 23:59+00') AS last;
SELECT lb_window_at('hourly', '10000-01-01 00:00+00');

-- Names that mean a window of now, in every function; now() stays in a transaction.
SELECT lb_open_window('hourly');
BEGIN;
SET LOCAL timezone = 'UTC';
INSERT INTO player_score_windows (player_id, window_key, score)
SELECT p, lb_window_at(w, now() - back * step), 100 * back + p
FROM (VALUES ('hourly', interval '1 hour'), ('daily', '1 day'), ('weekly', '1 week')) v (w, step),
	generate_series(0, 2) back, generate_series(1, 5) p;
SELECT w, lb_top.* FROM unnest(ARRAY['hourly', 'hourly-1', 'hourly-2', 'daily', 'daily-0', 'daily-1',
	'daily-2', 'weekly', 'weekly-1', 'weekly-2', 'daily-3', 'monthly']) WITH ORDINALITY u (w, o), lb_top(1, w)
ORDER BY o;
SELECT lb_rank(2, 'daily'), lb_score(2, 'daily'), lb_percentile(2, 'daily'), lb_player(2, 'daily'),
	lb_at(2, 'daily'), lb_count('daily'), lb_count_between(2, 4, 'daily'),
	lb_rank_of_score(3, 'daily'), lb_score_at_percentile(50, 'daily');
SELECT * FROM lb_around(2, 'daily-1', 1);
SELECT * FROM lb_ranks('{1,2}', 'daily-1');
SELECT * FROM lb_among('{1,2}', 'daily-1');
SELECT * FROM lb_histogram(2, 'daily-1');
SELECT lb_rank(1, 'daily-1') = lb_rank(1, lb_window_at('daily', now() - interval '1 day')) AS same;
COMMIT;
\set VERBOSITY terse
SELECT lb_rank(1, 'dayly');
SELECT lb_rank(1, 'daily-');
SELECT lb_rank(1, 'daily-01');
SELECT lb_rank(1, 'daily-12345');
SELECT lb_rank(1, 'daily--1');
SELECT lb_rank(1, '-1');
\set VERBOSITY default

-- A board of that name wins.
CREATE TABLE other (player_id bigint PRIMARY KEY, score bigint);
INSERT INTO other VALUES (77, 7);
SELECT lb_create_board('monthly', 'other'), lb_create_board('monthly-1', 'other');
SELECT lb_wait_ready('5 min');
SELECT * FROM lb_top(2, 'monthly');
SELECT * FROM lb_top(2, 'monthly-1');
SELECT count(*) <= 1 AS window FROM lb_top(1, 'daily-2');
SELECT lb_open_window('monthly');
DROP TABLE other;

-- Windows of other names, and one that comes once.
SELECT lb_open_window('eu-daily', 'daily', 'Europe/Berlin', op => 'best', keep => '3 days',
	late => '1 hour', archive_top => NULL);
SELECT lb_open_window('tourney:T123', starts => '2026-04-09 18:00+00', ends => '2026-04-12 18:00+00',
	archive_top => 0);
SELECT name, period, time_zone, op, keep, late, archive_top, starts AT TIME ZONE 'UTC' AS starts,
	ends AT TIME ZONE 'UTC' AS ends
FROM lb_window WHERE name IN ('eu-daily', 'tourney:T123') ORDER BY name;
SELECT lb_window_at('eu-daily', '2026-04-09 22:30+00'),
	lb_window_at('tourney:T123', '2026-04-09 17:59:59.999999+00') AS before,
	lb_window_at('tourney:T123', '2026-04-09 18:00+00') AS first,
	lb_window_at('tourney:T123', '2026-04-12 17:59:59.999999+00') AS last,
	lb_window_at('tourney:T123', '2026-04-12 18:00+00') AS after;
SELECT lb_count('eu-daily'), lb_count('eu-daily-1'), lb_count('tourney:T123');

-- A board does not take the name of a window that is recorded, nor a family its
-- key.
CREATE TABLE other (player_id bigint PRIMARY KEY, score bigint, v text, UNIQUE (player_id, v));
SELECT lb_create_board('daily', 'other', board_column => 'v');
SELECT lb_create_board('daily', 'other');
SELECT lb_create_board('tourney', 'other', board_column => 'v');
SELECT lb_create_board('tourney', 'other'), lb_create_board('tour', 'other', board_column => 'v');
SELECT lb_wait_ready('5 min');
SELECT lb_resolve_board('daily') = lb_window_at('daily', now()) AS window, lb_count('tourney:T123');
DROP TABLE other;

-- Opening again changes what is recorded.
SELECT lb_open_window('tourney:T123', starts => '2026-04-09 18:00+00', ends => '2026-04-13 18:00+00');
SELECT lb_close_window('eu-daily');
SELECT name, ends AT TIME ZONE 'UTC' AS ends, is_open, archive_top FROM lb_window ORDER BY name;
SELECT lb_open_window('eu-daily', 'daily');
SELECT name, is_open FROM lb_window WHERE name = 'eu-daily';

-- One that comes once ends when it is closed, and no earlier than it began.
SELECT lb_open_window('tourney:a', starts => now() - interval '1 day', ends => now() + interval '1 day');
SELECT lb_open_window('tourney:b', starts => now() + interval '1 day', ends => now() + interval '2 days');
SELECT lb_open_window('tourney:c', starts => now() - interval '2 days', ends => now() - interval '1 day');
BEGIN;
SELECT lb_close_window(name) FROM lb_window WHERE name LIKE 'tourney:_' ORDER BY name;
SELECT name, is_open, starts < ends AS some_time, ends = now() AS now,
	ends > now() AS future FROM lb_window WHERE name LIKE 'tourney:_' ORDER BY name;
COMMIT;

-- What is refused.
SELECT lb_open_window(NULL);
SELECT lb_open_window('');
SELECT lb_open_window('quarterly');
SELECT lb_open_window('a:b', 'daily');
SELECT lb_open_window('a:b');
SELECT lb_open_window('a:b', starts => now());
SELECT lb_open_window(':b', starts => '2026-01-01', ends => '2026-01-02');
SELECT lb_open_window('a:', starts => '2026-01-01', ends => '2026-01-02');
SELECT lb_open_window('a:b', starts => '2026-01-02', ends => '2026-01-02');
SELECT lb_open_window('a:b', starts => '-infinity', ends => '2026-01-02');
SELECT lb_open_window('daily:20260409', starts => '2026-01-01', ends => '2026-01-02');
SELECT lb_open_window('tourney', 'daily');
SELECT lb_open_window('eu-daily:x', starts => '2026-01-01', ends => '2026-01-02');
SELECT lb_open_window('daily', starts => '2026-01-01');
SELECT lb_open_window('x', 'yearly');
SELECT lb_open_window('daily', time_zone => 'Mars/Olympus');
SELECT lb_open_window('daily', time_zone => NULL);
SELECT lb_open_window('weekly', first_day => 0);
SELECT lb_open_window('weekly', first_day => NULL);
SELECT lb_open_window('daily', op => 'add');
SELECT lb_open_window('daily', keep => '-1 day');
SELECT lb_open_window('daily', keep => '1 month -30 days');
SELECT lb_open_window('daily', keep => '290000 years');
SELECT lb_open_window('daily', late => '-1 s');
SELECT lb_open_window('a:b', starts => '2026-01-01', ends => '290000-01-01', keep => '10000 years');
SELECT lb_open_window('a:b', starts => '2026-01-01', ends => '290000-01-01', late => '10000 years');
SELECT lb_open_window('daily', archive_top => -1);
SELECT lb_open_window('global', 'daily');
-- Offsets of any number of minutes; the same whatever was asked before.
BEGIN;
SELECT lb_open_window('hourly', time_zone => 'XYZ-00:07');
SELECT at, lb_window_at('hourly', at) FROM unnest('{2026-04-05 10:10+00,2026-04-05 10:52:59+00,2026-04-05 10:53+00,
	2026-04-05 10:55+00,2026-04-05 11:52:59.999999+00,1969-12-31 23:53+00,1969-12-31 23:52:59.5+00}'::timestamptz[]) at;
ROLLBACK;
-- Clocks that are turned back behind midnight: a day begins when its date comes for
-- good, and every moment is in one window of each kind, whose keys do not go back.
BEGIN;
SELECT count(lb_open_window(p, time_zone => 'America/St_Johns', keep => '1000 years'))
FROM unnest('{hourly,daily,weekly,monthly}'::text[]) p;
SELECT lb_window_at('daily', at) AS day, lb_window_at('hourly', at) AS hour, min(at) AS first, max(at) AS last
FROM generate_series('2010-11-07 01:30+00', '2010-11-07 04:45+00', interval '1 min') at
GROUP BY 1, 2 ORDER BY 3;
SELECT count(*), count(DISTINCT board) FROM generate_series('2010-11-07 00:07+00', '2010-11-07 06:00+00', interval '5 min') at,
	lb_submit(1, 1, at => at, boards => ARRAY[lb_window_at('daily', at), lb_window_at('hourly', at)]) WHERE applied;
CREATE TEMP TABLE moments AS
SELECT z.name, at FROM (VALUES
	('America/St_Johns', '2010-11-06'), ('America/St_Johns', '2010-03-13'), ('America/Havana', '2010-10-30'),
	('Australia/Lord_Howe', '2010-04-03'), ('Pacific/Kwajalein', '1969-09-29'), ('Pacific/Apia', '2011-12-29'),
	('America/Toronto', '1919-03-30'), ('Asia/Amman', '2010-10-28'), ('Europe/Berlin', '2010-10-30'),
	('Africa/Monrovia', '1972-01-06')) z (name, day),
	generate_series(day::timestamptz, day::timestamptz + interval '4 days', interval '7 min') at;
DO $$
DECLARE
	zone text;
	n bigint;
BEGIN
	FOR zone IN SELECT DISTINCT name FROM moments ORDER BY 1 LOOP
		PERFORM lb_open_window(p, time_zone => zone, keep => '1000 years') FROM unnest('{hourly,daily,weekly,monthly}'::text[]) p;
		SELECT count(*) INTO n FROM (SELECT lb_window_at(p, at) COLLATE "C" < lag(lb_window_at(p, at)) OVER (PARTITION BY p ORDER BY at) AS back
			FROM moments m, unnest('{hourly,daily,weekly,monthly}'::text[]) p WHERE name = zone) k WHERE back;
		RAISE NOTICE '%: % keys go back, % moments are not in their windows', zone, n,
			(SELECT count(*) FROM (SELECT at FROM moments WHERE name = zone AND extract(epoch FROM at)::bigint / 420 % 23 = 0) m,
				lb_submit(1, 1, at => at, boards => ARRAY(SELECT lb_window_at(p, at) FROM unnest('{hourly,daily,weekly,monthly}'::text[]) p)) s
			WHERE NOT applied);
	END LOOP;
END $$;
ROLLBACK;
-- Names that count back from a window are the window's.
CREATE TABLE other (player_id bigint PRIMARY KEY, score bigint);
BEGIN;
SELECT lb_open_window('top-10', 'daily');
SELECT lb_create_board('best-9999', 'other'), lb_create_board('daily-01', 'other'),
	lb_create_board('daily-10000', 'other'), lb_create_board('monthly-', 'other');
SELECT lb_open_window('weekly-x', 'daily'), lb_open_window('top-10', 'daily', late => '0');
SAVEPOINT a;
SELECT lb_open_window('daily-1', 'daily');
ROLLBACK TO a;
SELECT lb_open_window('daily-0', 'weekly');
ROLLBACK TO a;
SELECT lb_create_board('daily-2', 'other');
ROLLBACK TO a;
SELECT lb_create_board('daily-2', 'other', board_column => 'score');
ROLLBACK TO a;
SELECT lb_open_window('top', 'daily');
ROLLBACK TO a;
SELECT lb_open_window('best', 'daily');
ROLLBACK TO a;
SELECT lb_open_window('best:9998', starts => now(), ends => now() + interval '1 hour');
ROLLBACK;
-- What was there before can be altered.
BEGIN;
INSERT INTO lb_window (name, period, keep) VALUES ('daily-1', 'weekly', '1 day');
SELECT lb_open_window('daily'), lb_open_window('daily-1', 'weekly', 'Asia/Tokyo');
ROLLBACK;
DROP TABLE other;
\set VERBOSITY terse
SELECT lb_open_window(repeat('x', 64), 'daily');
SELECT lb_open_window('t:' || repeat('x', 200), starts => '2026-01-01', ends => '2026-01-02');
\set VERBOSITY default
SELECT lb_close_window('nothing');
SELECT lb_close_window(NULL);
INSERT INTO lb_window (name, period, keep) VALUES ('x', NULL, '1 day');
INSERT INTO lb_window (name, period, keep) VALUES ('x', 'yearly', '1 day');

-- By hand, with a mistake that a constraint cannot see.
INSERT INTO lb_window (name, period, keep, time_zone) VALUES ('x', 'daily', '1 day', 'nowhere');
SELECT lb_window_at('x');
DELETE FROM lb_window WHERE name = 'x';

-- A role that does not own the windows' table does not decide which windows there are.
CREATE ROLE regress_lb_player;
SET ROLE regress_lb_player;
SELECT lb_open_window('daily');
RESET ROLE;
GRANT EXECUTE ON FUNCTION lb_open_window TO regress_lb_player;
SET ROLE regress_lb_player;
SELECT lb_open_window('daily');
SELECT lb_close_window('daily');
INSERT INTO lb_window (name, period, keep) VALUES ('x', 'daily', '1 day');
SELECT lb_window_at('daily', '2026-04-09'), count(*) > 2 AS visible FROM lb_window;
RESET ROLE;
ALTER TABLE player_score_windows OWNER TO regress_lb_player;
SET ROLE regress_lb_player;
SELECT lb_open_window('hourly', keep => '1 h');
SELECT keep FROM lb_window WHERE name = 'hourly';
RESET ROLE;

-- Undone with a transaction, or a part of one.
BEGIN;
SELECT lb_open_window('x', 'daily');
SELECT lb_window_at('x', '2026-04-09');
SAVEPOINT a;
SELECT lb_open_window('x', 'daily', 'Asia/Tokyo');
SELECT lb_window_at('x', '2026-04-09 20:00+00');
ROLLBACK TO a;
SELECT lb_window_at('x', '2026-04-09 20:00+00');
ROLLBACK;
SELECT lb_window_at('x');

-- Without the family there is nothing to read.
DROP TABLE player_scores, player_score_windows;
SELECT lb_rank(1, 'daily');
SELECT lb_open_window('x', 'daily');
DELETE FROM lb_window;
REVOKE EXECUTE ON FUNCTION lb_open_window FROM regress_lb_player;
DROP ROLE regress_lb_player;
SELECT * FROM lb_verify();
