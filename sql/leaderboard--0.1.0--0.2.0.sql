\echo Use "ALTER EXTENSION leaderboard UPDATE" to load this file. \quit

/*
 * From 0.1.0 to 0.2.0.  There is no script for 0.2.0 alone: CREATE EXTENSION
 * runs that of 0.1.0 and then this one.
 *
 * A script is one file; the chapters of this one are in the order of the folders
 * of src:
 *
 *	1. boards		lb_board: its index, member, and its triggers
 *	2. reads		lb_support; lb_rank_json; lb_rank_key and its like
 *	3. service
 *		3.1 windows		lb_window, lb_closed
 *		3.2 submitting	lb_applied, lb_event; lb_submit and its like
 *		3.3 limits		lb_limit, lb_usage, lb_anomaly
 *		3.4 hiding		lb_hide, lb_show
 *		3.5 standings	lb_archive, lb_season; lb_maintain
 *		3.6 watching	lb_watched; lb_watch and its like, lb_notify
 *	4. admin
 *		4.1 managing	lb_create_board, lb_create_tables, lb_verify_key,
 *						lb_estimate_memory_key
 *		4.2 statistics	lb_stat_board, lb_stat, lb_stat_memory
 *		4.3 dumps		rights of the database's owner
 */


/* ----------------------------------------------------------------
 *		1. Boards
 * ----------------------------------------------------------------
 */

/* For a table that loses a board: does it have others? */
CREATE INDEX lb_board_source_idx ON @extschema@.lb_board (source);

/* A member may have several columns. */
ALTER TABLE @extschema@.lb_board ALTER COLUMN member TYPE text
USING pg_catalog.quote_ident(CAST(member AS pg_catalog.text));
COMMENT ON COLUMN @extschema@.lb_board.member IS
'list of the columns that identify who is ranked';

/* These are for triggers of the extension's own. */
REVOKE ALL ON FUNCTION @extschema@.lb_board_changed() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.lb_on_drop() FROM PUBLIC;

/*
 * A worker of logical replication fires row triggers only.  TRUNCATE sends an
 * invalidation by itself, but its trigger must run before the rows are gone.
 */
DROP TRIGGER lb_board_changed ON @extschema@.lb_board;
CREATE TRIGGER lb_board_changed
AFTER INSERT OR UPDATE OR DELETE ON @extschema@.lb_board
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_board ENABLE ALWAYS TRIGGER lb_board_changed;
COMMENT ON TRIGGER lb_board_changed ON @extschema@.lb_board IS
'makes all sessions read the definitions again';

CREATE TRIGGER lb_board_truncated
BEFORE TRUNCATE ON @extschema@.lb_board
FOR EACH STATEMENT EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_board ENABLE ALWAYS TRIGGER lb_board_truncated;
COMMENT ON TRIGGER lb_board_truncated ON @extschema@.lb_board IS
'takes the indexes of all boards away';


/* ----------------------------------------------------------------
 *		2. Reads
 * ----------------------------------------------------------------
 */

/*
 * How many rows some functions return, and what they cost, depends on their
 * arguments.
 */
CREATE FUNCTION @extschema@.lb_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'lb_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.lb_support(internal) IS
'planner support of reads: rows and costs';

ALTER FUNCTION @extschema@.lb_top(integer, text, bigint)
SUPPORT @extschema@.lb_support;
ALTER FUNCTION @extschema@.lb_top_json(integer, text, bigint)
SUPPORT @extschema@.lb_support;
ALTER FUNCTION @extschema@.lb_around(bigint, text, integer)
SUPPORT @extschema@.lb_support;
ALTER FUNCTION @extschema@.lb_ranks(bigint[], text, text)
SUPPORT @extschema@.lb_support;
ALTER FUNCTION @extschema@.lb_among(bigint[], text)
SUPPORT @extschema@.lb_support;
ALTER FUNCTION @extschema@.lb_histogram(integer, text)
SUPPORT @extschema@.lb_support;

CREATE FUNCTION @extschema@.lb_rank_json(
	member bigint,
	board text DEFAULT 'global',
	radius integer DEFAULT 5)
RETURNS json
AS 'MODULE_PATHNAME', 'lb_rank_json'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 500
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_rank_json(bigint, text, integer) IS
'a member with its neighbours as one json object; null if it is not on the board';

/*
 * Members and scores as text, in the form of their types, on boards of every
 * type.
 */
CREATE FUNCTION @extschema@.lb_rank_key(
	member text,
	board text DEFAULT 'global',
	method text DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_rank_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_rank_key(text, text, text) IS
'rank of a member on a board; null if it is not on the board';

CREATE FUNCTION @extschema@.lb_score_key(
	member text,
	board text DEFAULT 'global')
RETURNS text
AS 'MODULE_PATHNAME', 'lb_score_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_score_key(text, text) IS
'score of a member on a board; null if it is not on the board';

CREATE FUNCTION @extschema@.lb_percentile_key(
	member text,
	board text DEFAULT 'global')
RETURNS double precision
AS 'MODULE_PATHNAME', 'lb_percentile_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_percentile_key(text, text) IS
'share of the board whose score is not better than the member''s, in percent';

CREATE FUNCTION @extschema@.lb_player_key(
	member text,
	board text DEFAULT 'global',
	OUT rank bigint,
	OUT score text,
	OUT percentile double precision,
	OUT total bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'lb_player_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION @extschema@.lb_player_key(text, text) IS
'rank, score and percentile of a member, and how many are on the board';

CREATE FUNCTION @extschema@.lb_top_key(
	n integer DEFAULT 10,
	board text DEFAULT 'global',
	skip bigint DEFAULT 0)
RETURNS TABLE (rank bigint, member text, score text)
AS 'MODULE_PATHNAME', 'lb_top_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 10
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_top_key(integer, text, bigint) IS
'the first n members of a board, after skipping some';

CREATE FUNCTION @extschema@.lb_at_key(
	place bigint,
	board text DEFAULT 'global',
	OUT rank bigint,
	OUT member text,
	OUT score text)
RETURNS record
AS 'MODULE_PATHNAME', 'lb_at_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_at_key(bigint, text) IS
'the member at a place of the board, counted from 1';

CREATE FUNCTION @extschema@.lb_around_key(
	member text,
	board text DEFAULT 'global',
	radius integer DEFAULT 5)
RETURNS TABLE (rank bigint, member text, score text)
AS 'MODULE_PATHNAME', 'lb_around_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 11
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_around_key(text, text, integer) IS
'a member with its neighbours, up to radius places to either side';

CREATE FUNCTION @extschema@.lb_rank_json_key(
	member text,
	board text DEFAULT 'global',
	radius integer DEFAULT 5)
RETURNS json
AS 'MODULE_PATHNAME', 'lb_rank_json_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 500
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_rank_json_key(text, text, integer) IS
'a member with its neighbours as one json object; null if it is not on the board';

CREATE FUNCTION @extschema@.lb_count_between_key(
	lo text,
	hi text,
	board text DEFAULT 'global')
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_count_between_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_count_between_key(text, text, text) IS
'how many have a score from lo to hi; a null end is open';

CREATE FUNCTION @extschema@.lb_rank_of_score_key(
	score text,
	board text DEFAULT 'global',
	method text DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_rank_of_score_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_rank_of_score_key(text, text, text) IS
'the rank that a score would get on a board';

CREATE FUNCTION @extschema@.lb_score_at_percentile_key(
	p double precision,
	board text DEFAULT 'global')
RETURNS text
AS 'MODULE_PATHNAME', 'lb_score_at_percentile_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_score_at_percentile_key(double precision, text) IS
'the score at a percentile of a board, from 0, the worst, to 100, the best';

CREATE FUNCTION @extschema@.lb_ranks_key(
	members text[],
	board text DEFAULT 'global',
	method text DEFAULT NULL)
RETURNS TABLE (member text, rank bigint, score text)
AS 'MODULE_PATHNAME', 'lb_ranks_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 ROWS 50
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_ranks_key(text[], text, text) IS
'rank and score of each member of an array, in its order';

CREATE FUNCTION @extschema@.lb_among_key(
	members text[],
	board text DEFAULT 'global')
RETURNS TABLE (place bigint, member text, score text, rank bigint)
AS 'MODULE_PATHNAME', 'lb_among_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 ROWS 50
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_among_key(text[], text) IS
'a board of the members of an array only, with their ranks on the whole board';

CREATE FUNCTION @extschema@.lb_histogram_key(
	buckets integer,
	board text DEFAULT 'global')
RETURNS TABLE (bucket integer, lo text, hi text, members bigint)
AS 'MODULE_PATHNAME', 'lb_histogram_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 500 ROWS 20
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_histogram_key(integer, text) IS
'how many have a score in each of some equal ranges, from worst to best';


/* ----------------------------------------------------------------
 *		3.1. Windows
 * ----------------------------------------------------------------
 */

/*
 * Written through lb_open_window() and lb_close_window(); part of a
 * dump.
 */
CREATE TABLE @extschema@.lb_window (
	name		text COLLATE "C" NOT NULL,
	period		text,
	time_zone	text NOT NULL DEFAULT 'UTC',
	first_day	integer NOT NULL DEFAULT 1,
	starts		timestamptz,
	ends		timestamptz,
	op			text,
	keep		interval NOT NULL,
	late		interval,
	archive_top integer DEFAULT 1000,
	is_open		boolean NOT NULL DEFAULT true,
	CONSTRAINT lb_window_pkey PRIMARY KEY (name),
	CONSTRAINT lb_window_name_check CHECK (
		name OPERATOR(pg_catalog.<>) ''
		AND (pg_catalog.strpos(name, ':') OPERATOR(pg_catalog.=) 0)
			OPERATOR(pg_catalog.=) (period IS NOT NULL)
		AND pg_catalog.octet_length(name) OPERATOR(pg_catalog.<=) 200),
	CONSTRAINT lb_window_period_check CHECK (
		period OPERATOR(pg_catalog.=)
		ANY (ARRAY['hourly', 'daily', 'weekly', 'monthly'])),
	CONSTRAINT lb_window_first_day_check CHECK (
		first_day OPERATOR(pg_catalog.>=) 1
		AND first_day OPERATOR(pg_catalog.<=) 7),
	CONSTRAINT lb_window_ends_check CHECK (
		CASE WHEN period IS NULL
			THEN starts IS NOT NULL AND ends IS NOT NULL
				AND starts OPERATOR(pg_catalog.<) ends
			ELSE starts IS NULL AND ends IS NULL END),
	CONSTRAINT lb_window_op_check CHECK (
		op OPERATOR(pg_catalog.=) ANY (ARRAY['incr', 'set', 'best', 'worst'])),
	CONSTRAINT lb_window_archive_top_check CHECK (
		archive_top OPERATOR(pg_catalog.>=) 0)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_window', '');
GRANT SELECT ON TABLE @extschema@.lb_window TO PUBLIC;

COMMENT ON TABLE @extschema@.lb_window IS
'which windows lb_submit() writes to; written through lb_open_window() and lb_close_window()';
COMMENT ON COLUMN @extschema@.lb_window.name IS
'"daily", whose keys are "daily:20260409" and so on; or the key of a window that comes once';
COMMENT ON COLUMN @extschema@.lb_window.period IS
'hourly, daily, weekly or monthly; null if it comes once';
COMMENT ON COLUMN @extschema@.lb_window.time_zone IS
'whose hours, days, weeks and months they are';
COMMENT ON COLUMN @extschema@.lb_window.first_day IS
'first day of the week, from 1, Monday, to 7, Sunday';
COMMENT ON COLUMN @extschema@.lb_window.starts IS
'of a window that comes once: its first moment';
COMMENT ON COLUMN @extschema@.lb_window.ends IS
'of a window that comes once: the first moment after it';
COMMENT ON COLUMN @extschema@.lb_window.op IS
'what a submit does here: incr, set, best or worst; null for the change that "global" gets';
COMMENT ON COLUMN @extschema@.lb_window.keep IS
'how long after its end the rows of a window stay';
COMMENT ON COLUMN @extschema@.lb_window.late IS
'how long after its end a window is written to by late submits; null as long as its rows stay';
COMMENT ON COLUMN @extschema@.lb_window.archive_top IS
'how many places lb_archive keeps; null for all';
COMMENT ON COLUMN @extschema@.lb_window.is_open IS
'false: written to no more; what has been written is kept and archived as ever';

CREATE TRIGGER lb_window_changed
AFTER INSERT OR UPDATE OR DELETE ON @extschema@.lb_window
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_window ENABLE ALWAYS TRIGGER lb_window_changed;
COMMENT ON TRIGGER lb_window_changed ON @extschema@.lb_window IS
'makes all sessions read the windows again';

/*
 * Keys of windows that are closed.  They are never used again, so this table only
 * grows, by a row for each window.
 */
CREATE TABLE @extschema@.lb_closed (
	board	   text COLLATE "C" NOT NULL,
	closed_at  timestamptz NOT NULL DEFAULT pg_catalog.now(),
	members	   bigint,
	removed_at timestamptz,
	CONSTRAINT lb_closed_pkey PRIMARY KEY (board)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_closed', '');

/* How many there were is for roles that may read the board: lb_archive_top(). */
GRANT SELECT (board, closed_at, removed_at) ON TABLE @extschema@.lb_closed TO PUBLIC;
GRANT SELECT ON TABLE @extschema@.lb_closed TO pg_database_owner;

COMMENT ON TABLE @extschema@.lb_closed IS
'windows that have been closed: lb_submit() does not write to them again';
COMMENT ON COLUMN @extschema@.lb_closed.board IS
'key of the window, as "daily:20260409"';
COMMENT ON COLUMN @extschema@.lb_closed.closed_at IS
'when it was closed and archived';
COMMENT ON COLUMN @extschema@.lb_closed.members IS
'how many were on the board';
COMMENT ON COLUMN @extschema@.lb_closed.removed_at IS
'when the last of its rows was removed; null if they are still there';

CREATE TRIGGER lb_closed_changed
AFTER INSERT OR UPDATE OR DELETE ON @extschema@.lb_closed
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_closed ENABLE ALWAYS TRIGGER lb_closed_changed;
COMMENT ON TRIGGER lb_closed_changed ON @extschema@.lb_closed IS
'makes all sessions look again which windows have been closed';

CREATE FUNCTION @extschema@.lb_window_key(
	period text,
	at timestamptz DEFAULT pg_catalog.now())
RETURNS text
AS 'MODULE_PATHNAME', 'lb_window_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10;
COMMENT ON FUNCTION @extschema@.lb_window_key(text, timestamptz) IS
'key of the window that contains a moment: "daily:20260409"';

CREATE FUNCTION @extschema@.lb_open_window(
	name text,
	period text DEFAULT NULL,
	time_zone text DEFAULT 'UTC',
	first_day integer DEFAULT 1,
	starts timestamptz DEFAULT NULL,
	ends timestamptz DEFAULT NULL,
	op text DEFAULT NULL,
	keep interval DEFAULT NULL,
	late interval DEFAULT NULL,
	archive_top integer DEFAULT 1000)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_open_window'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_open_window(text, text, text, integer, timestamptz, timestamptz, text, interval, interval, integer) IS
'makes lb_submit() write to a window; of one that is recorded it replaces everything, by the default where an argument is left out';
REVOKE ALL ON FUNCTION @extschema@.lb_open_window(text, text, text, integer, timestamptz, timestamptz, text, interval, interval, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_open_window(text, text, text, integer, timestamptz, timestamptz, text, interval, interval, integer) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_close_window(
	name text)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_close_window'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_close_window(text) IS
'makes lb_submit() write to a window no more, or ends one that comes once';


/* ----------------------------------------------------------------
 *		3.2. Submitting
 * ----------------------------------------------------------------
 */

/*
 * In the extension's own tables, players and members are text, as the output
 * function of their type gives it, whatever type they have in the users' tables.
 */
CREATE TABLE @extschema@.lb_applied (
	player_id	   text COLLATE "C" NOT NULL,
	match_id	   text COLLATE "C" NOT NULL,
	applied_at	   timestamptz NOT NULL DEFAULT pg_catalog.now(),
	boards		   text[],
	scores		   bigint[],
	ranks		   bigint[],
	previous_ranks bigint[],
	CONSTRAINT lb_applied_pkey PRIMARY KEY (player_id, match_id)
) WITH (fillfactor = 80);
CREATE INDEX lb_applied_applied_at_idx ON @extschema@.lb_applied
USING brin (applied_at);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_applied', '');

COMMENT ON TABLE @extschema@.lb_applied IS
'submits with a match_id, so that none is applied twice; kept for leaderboard.applied_retention';
COMMENT ON COLUMN @extschema@.lb_applied.player_id IS
'the player, as text';
COMMENT ON COLUMN @extschema@.lb_applied.match_id IS
'as submitted';
COMMENT ON COLUMN @extschema@.lb_applied.applied_at IS
'when it was applied';
COMMENT ON COLUMN @extschema@.lb_applied.boards IS
'what lb_submit() returned; null for what came by lb_submit_many()';
COMMENT ON COLUMN @extschema@.lb_applied.scores IS
'of these boards';
COMMENT ON COLUMN @extschema@.lb_applied.ranks IS
'of these boards';
COMMENT ON COLUMN @extschema@.lb_applied.previous_ranks IS
'of these boards';

CREATE TABLE @extschema@.lb_event (
	player_id	 text COLLATE "C" NOT NULL,
	op			 text NOT NULL,
	amount		 bigint NOT NULL,
	match_id	 text,
	at			 timestamptz NOT NULL,
	boards		 text[] NOT NULL,
	scores		 bigint[] NOT NULL,
	submitted_at timestamptz NOT NULL DEFAULT pg_catalog.now()
);
CREATE INDEX lb_event_submitted_at_idx ON @extschema@.lb_event
USING brin (submitted_at);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_event', '');

COMMENT ON TABLE @extschema@.lb_event IS
'what has been submitted, unless leaderboard.events is off; kept for leaderboard.event_retention';
COMMENT ON COLUMN @extschema@.lb_event.player_id IS
'the player, as text';
COMMENT ON COLUMN @extschema@.lb_event.op IS
'as submitted';
COMMENT ON COLUMN @extschema@.lb_event.amount IS
'as submitted';
COMMENT ON COLUMN @extschema@.lb_event.match_id IS
'as submitted';
COMMENT ON COLUMN @extschema@.lb_event.at IS
'as submitted: when it happened';
COMMENT ON COLUMN @extschema@.lb_event.boards IS
'the boards that were written to';
COMMENT ON COLUMN @extschema@.lb_event.scores IS
'the scores on these boards afterwards';
COMMENT ON COLUMN @extschema@.lb_event.submitted_at IS
'when it arrived';

CREATE FUNCTION @extschema@.lb_submit(
	player_id bigint,
	amount bigint,
	op text DEFAULT 'incr',
	match_id text DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	boards text[] DEFAULT NULL)
RETURNS TABLE (board text, score bigint, rank bigint, previous_rank bigint, applied boolean)
AS 'MODULE_PATHNAME', 'lb_submit'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 ROWS 3;
COMMENT ON FUNCTION @extschema@.lb_submit(bigint, bigint, text, text, timestamptz, text[]) IS
'changes a player''s score on "global" and in every window that contains a moment';

CREATE FUNCTION @extschema@.lb_submit_key(
	player_id text,
	amount bigint,
	op text DEFAULT 'incr',
	match_id text DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now(),
	boards text[] DEFAULT NULL)
RETURNS TABLE (board text, score bigint, rank bigint, previous_rank bigint, applied boolean)
AS 'MODULE_PATHNAME', 'lb_submit_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 ROWS 3;
COMMENT ON FUNCTION @extschema@.lb_submit_key(text, bigint, text, text, timestamptz, text[]) IS
'lb_submit() of a player of any type, as text';

CREATE FUNCTION @extschema@.lb_submit_many(
	player_ids bigint[],
	amounts bigint[],
	op text DEFAULT 'incr',
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now())
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_submit_many'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_submit_many(bigint[], bigint[], text, text[], timestamptz) IS
'lb_submit() of many at once; returns how many of them were applied';

CREATE FUNCTION @extschema@.lb_submit_many_key(
	player_ids text[],
	amounts bigint[],
	op text DEFAULT 'incr',
	match_ids text[] DEFAULT NULL,
	at timestamptz DEFAULT pg_catalog.now())
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_submit_many_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_submit_many_key(text[], bigint[], text, text[], timestamptz) IS
'lb_submit_many() of players of any type, as text';

CREATE FUNCTION @extschema@.lb_submit_json(jsonb)
RETURNS json
AS 'MODULE_PATHNAME', 'lb_submit_json'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 2000;
COMMENT ON FUNCTION @extschema@.lb_submit_json(jsonb) IS
'lb_submit_key() of a json object with the fields player_id, amount, op, match_id, at and boards';


/* ----------------------------------------------------------------
 *		3.3. Limits
 * ----------------------------------------------------------------
 */

/*
 * Written through lb_set_limit() and lb_drop_limit(); part of a dump.
 */
CREATE TABLE @extschema@.lb_limit (
	name			  text COLLATE "C" NOT NULL,
	board			  text NOT NULL,
	max_amount		  bigint,
	period			  interval,
	max_period_amount bigint,
	min_score		  bigint,
	max_score		  bigint,
	max_submits		  bigint,
	action			  text NOT NULL DEFAULT 'reject',
	CONSTRAINT lb_limit_pkey PRIMARY KEY (name),
	CONSTRAINT lb_limit_action_check CHECK (
		action OPERATOR(pg_catalog.=) ANY (ARRAY['reject', 'flag'])),
	CONSTRAINT lb_limit_period_check CHECK (
		max_period_amount IS NULL OR period IS NOT NULL)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_limit', '');
GRANT SELECT ON TABLE @extschema@.lb_limit TO PUBLIC;

COMMENT ON TABLE @extschema@.lb_limit IS
'what may be submitted; written through lb_set_limit() and lb_drop_limit()';
COMMENT ON COLUMN @extschema@.lb_limit.name IS
'what the error says, or lb_anomaly';
COMMENT ON COLUMN @extschema@.lb_limit.board IS
'"global", or the name of a window';
COMMENT ON COLUMN @extschema@.lb_limit.max_amount IS
'largest amount of one submit, up or down';
COMMENT ON COLUMN @extschema@.lb_limit.period IS
'time from the first submit in which amounts and submits are counted';
COMMENT ON COLUMN @extschema@.lb_limit.max_period_amount IS
'most that the amounts of a player within a period may add up to, up and down';
COMMENT ON COLUMN @extschema@.lb_limit.min_score IS
'smallest score after a submit';
COMMENT ON COLUMN @extschema@.lb_limit.max_score IS
'largest score after a submit';
COMMENT ON COLUMN @extschema@.lb_limit.max_submits IS
'most submits of a player: in a window, and within the period if there is one';
COMMENT ON COLUMN @extschema@.lb_limit.action IS
'reject: an error; flag: applied, and entered in lb_anomaly';

CREATE TRIGGER lb_limit_changed
AFTER INSERT OR UPDATE OR DELETE ON @extschema@.lb_limit
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_board_changed();
ALTER TABLE @extschema@.lb_limit ENABLE ALWAYS TRIGGER lb_limit_changed;
COMMENT ON TRIGGER lb_limit_changed ON @extschema@.lb_limit IS
'makes all sessions read the limits again';

CREATE TABLE @extschema@.lb_usage (
	limit_name text COLLATE "C" NOT NULL,
	board	   text COLLATE "C" NOT NULL,
	player_id  text COLLATE "C" NOT NULL,
	since	   timestamptz NOT NULL DEFAULT pg_catalog.now(),
	amount	   numeric NOT NULL,
	submits	   bigint NOT NULL,
	CONSTRAINT lb_usage_pkey PRIMARY KEY (limit_name, board, player_id)
) WITH (fillfactor = 80);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_usage', '');

COMMENT ON TABLE @extschema@.lb_usage IS
'what players have submitted so far, where a limit needs to know';
COMMENT ON COLUMN @extschema@.lb_usage.limit_name IS
'the limit';
COMMENT ON COLUMN @extschema@.lb_usage.board IS
'"global", or the key of a window';
COMMENT ON COLUMN @extschema@.lb_usage.player_id IS
'the player, as text';
COMMENT ON COLUMN @extschema@.lb_usage.since IS
'beginning of the period';
COMMENT ON COLUMN @extschema@.lb_usage.amount IS
'sum of the amounts, without their signs';
COMMENT ON COLUMN @extschema@.lb_usage.submits IS
'number of submits';

CREATE TABLE @extschema@.lb_anomaly (
	player_id	   text COLLATE "C" NOT NULL,
	limit_name	   text COLLATE "C" NOT NULL,
	board		   text COLLATE "C" NOT NULL,
	submits		   bigint NOT NULL,
	first_noted_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	noted_at	   timestamptz NOT NULL DEFAULT pg_catalog.now(),
	max_amount	   bigint NOT NULL,
	measure		   text NOT NULL,
	value		   numeric NOT NULL,
	bound		   bigint NOT NULL,
	amount		   bigint NOT NULL,
	match_id	   text,
	at			   timestamptz NOT NULL,
	reviewed	   boolean NOT NULL DEFAULT false,
	CONSTRAINT lb_anomaly_pkey PRIMARY KEY (player_id, limit_name, board)
) WITH (fillfactor = 80);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_anomaly', '');

COMMENT ON TABLE @extschema@.lb_anomaly IS
'players whose submits have exceeded a limit which flags them, for review; kept for leaderboard.anomaly_retention';
COMMENT ON COLUMN @extschema@.lb_anomaly.player_id IS
'the player, as text';
COMMENT ON COLUMN @extschema@.lb_anomaly.limit_name IS
'the limit';
COMMENT ON COLUMN @extschema@.lb_anomaly.board IS
'"global", or the key of a window';
COMMENT ON COLUMN @extschema@.lb_anomaly.submits IS
'how many of the player''s submits have exceeded it';
COMMENT ON COLUMN @extschema@.lb_anomaly.first_noted_at IS
'when the first of them arrived';
COMMENT ON COLUMN @extschema@.lb_anomaly.noted_at IS
'when the last of them arrived';
COMMENT ON COLUMN @extschema@.lb_anomaly.max_amount IS
'largest amount of them, without its sign';
COMMENT ON COLUMN @extschema@.lb_anomaly.measure IS
'of the last of them: what was too large or too small';
COMMENT ON COLUMN @extschema@.lb_anomaly.value IS
'of the last of them: what that was';
COMMENT ON COLUMN @extschema@.lb_anomaly.bound IS
'of the last of them: what the limit was';
COMMENT ON COLUMN @extschema@.lb_anomaly.amount IS
'of the last of them: as submitted';
COMMENT ON COLUMN @extschema@.lb_anomaly.match_id IS
'of the last of them: as submitted';
COMMENT ON COLUMN @extschema@.lb_anomaly.at IS
'of the last of them: as submitted';
COMMENT ON COLUMN @extschema@.lb_anomaly.reviewed IS
'set by an operator after a look at the row; false again when another submit exceeds the limit';

CREATE FUNCTION @extschema@.lb_set_limit(
	name text,
	board text,
	max_amount bigint DEFAULT NULL,
	period interval DEFAULT NULL,
	max_period_amount bigint DEFAULT NULL,
	min_score bigint DEFAULT NULL,
	max_score bigint DEFAULT NULL,
	max_submits bigint DEFAULT NULL,
	action text DEFAULT 'reject')
RETURNS void
AS 'MODULE_PATHNAME', 'lb_set_limit'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_set_limit(text, text, bigint, interval, bigint, bigint, bigint, bigint, text) IS
'limits what lb_submit() takes on a board';
REVOKE ALL ON FUNCTION @extschema@.lb_set_limit(text, text, bigint, interval, bigint, bigint, bigint, bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_set_limit(text, text, bigint, interval, bigint, bigint, bigint, bigint, text) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_drop_limit(
	name text)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_drop_limit'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_drop_limit(text) IS
'removes a limit';


/* ----------------------------------------------------------------
 *		3.4. Hiding
 * ----------------------------------------------------------------
 */

/*
 * These run with the caller's privileges.  They write to "global" first: a submit
 * that waits for that row then sees whether the player is hidden.
 */
CREATE FUNCTION @extschema@.lb_hide(
	player_id bigint,
	boards text[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_hide'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_hide(bigint, text[]) IS
'takes a player off "global" and all windows, or other boards; returns how many rows were ranked';

CREATE FUNCTION @extschema@.lb_hide_key(
	player_id text,
	boards text[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_hide_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_hide_key(text, text[]) IS
'lb_hide() of a player of any type, as text';

CREATE FUNCTION @extschema@.lb_show(
	player_id bigint,
	boards text[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_show'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_show(bigint, text[]) IS
'puts a player back on the boards that lb_hide() has taken the player off';

CREATE FUNCTION @extschema@.lb_show_key(
	player_id text,
	boards text[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_show_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_show_key(text, text[]) IS
'lb_show() of a player of any type, as text';


/* ----------------------------------------------------------------
 *		3.5. Standings
 * ----------------------------------------------------------------
 */

CREATE TABLE @extschema@.lb_archive (
	board	  text COLLATE "C" NOT NULL,
	season	  text COLLATE "C" NOT NULL DEFAULT '',
	place	  bigint,
	rank	  bigint,
	member	  text COLLATE "C" NOT NULL,
	score	  text NOT NULL,
	closed_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	owner	  name NOT NULL,
	source	  integer NOT NULL,
	CONSTRAINT lb_archive_pkey PRIMARY KEY (member, board, season, owner),
	CONSTRAINT lb_archive_place_key UNIQUE (board, season, owner, place),
	CONSTRAINT lb_archive_rank_check CHECK (
		(place IS NULL) OPERATOR(pg_catalog.=) (rank IS NULL))
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_archive', '');

COMMENT ON TABLE @extschema@.lb_archive IS
'final standings of windows and seasons';
COMMENT ON COLUMN @extschema@.lb_archive.board IS
'key of the window, or name of the board';
COMMENT ON COLUMN @extschema@.lb_archive.season IS
'of lb_close_season(); empty for windows';
COMMENT ON COLUMN @extschema@.lb_archive.place IS
'place in the board''s order, counted from 1; null for members that were not ranked when a season was closed';
COMMENT ON COLUMN @extschema@.lb_archive.rank IS
'rank by the board''s method; null likewise';
COMMENT ON COLUMN @extschema@.lb_archive.member IS
'the member, as text';
COMMENT ON COLUMN @extschema@.lb_archive.score IS
'with which score, as text';
COMMENT ON COLUMN @extschema@.lb_archive.closed_at IS
'when the window or the season was closed';
COMMENT ON COLUMN @extschema@.lb_archive.owner IS
'the owner of the board''s table then, who may read the standings even if the board becomes another role''s';
COMMENT ON COLUMN @extschema@.lb_archive.source IS
'number of the board''s table in lb_archive_source: its present owner may read the standings, too';

/*
 * Standings outlive their table.  A dump has only the tables that still exist: the
 * others would be numbers, which mean another table where the dump is restored.
 */
CREATE TABLE @extschema@.lb_archive_source (
	id	   integer GENERATED ALWAYS AS IDENTITY NOT NULL,
	source regclass NOT NULL,
	CONSTRAINT lb_archive_source_pkey PRIMARY KEY (id),
	CONSTRAINT lb_archive_source_source_key UNIQUE (source)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_archive_source',
	'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) source)');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_archive_source_id_seq', '');

COMMENT ON TABLE @extschema@.lb_archive_source IS
'tables whose standings have been archived';
COMMENT ON COLUMN @extschema@.lb_archive_source.id IS
'number, never used again';
COMMENT ON COLUMN @extschema@.lb_archive_source.source IS
'the table, whatever it is called now';

/*
 * Kept for ever, as the archive is: a name that was used twice would stand for two
 * sets of standings.
 */
CREATE TABLE @extschema@.lb_season (
	board		text COLLATE "C" NOT NULL,
	season		text COLLATE "C" NOT NULL,
	closed_at	timestamptz NOT NULL DEFAULT pg_catalog.now(),
	archive_top bigint,
	members		bigint NOT NULL,
	owner		name NOT NULL,
	source		integer NOT NULL,
	CONSTRAINT lb_season_pkey PRIMARY KEY (board, season, owner)
);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_season', '');

COMMENT ON TABLE @extschema@.lb_season IS
'seasons that have been closed by lb_close_season()';
COMMENT ON COLUMN @extschema@.lb_season.board IS
'name of the board';
COMMENT ON COLUMN @extschema@.lb_season.season IS
'name of the season, used once for a board';
COMMENT ON COLUMN @extschema@.lb_season.closed_at IS
'when it was closed';
COMMENT ON COLUMN @extschema@.lb_season.archive_top IS
'how many places were to be archived; null for all';
COMMENT ON COLUMN @extschema@.lb_season.members IS
'how many were on the board';
COMMENT ON COLUMN @extschema@.lb_season.owner IS
'owner of the board''s table then';
COMMENT ON COLUMN @extschema@.lb_season.source IS
'number of the board''s table in lb_archive_source';

CREATE FUNCTION @extschema@.lb_archive_top(
	board text,
	n integer DEFAULT 10,
	season text DEFAULT NULL)
RETURNS TABLE (rank bigint, member bigint, score bigint)
AS 'MODULE_PATHNAME', 'lb_archive_top'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_archive_top(text, integer, text) IS
'the first n of a closed window or season; of a board with seasons, the last one closed';

CREATE FUNCTION @extschema@.lb_archive_top_key(
	board text,
	n integer DEFAULT 10,
	season text DEFAULT NULL)
RETURNS TABLE (rank bigint, member text, score text)
AS 'MODULE_PATHNAME', 'lb_archive_top_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10
SUPPORT @extschema@.lb_support;
COMMENT ON FUNCTION @extschema@.lb_archive_top_key(text, integer, text) IS
'lb_archive_top() of members and scores of any type, as text';

CREATE FUNCTION @extschema@.lb_close_season(
	board text,
	season text,
	archive_top bigint DEFAULT NULL,
	reset_to bigint DEFAULT 0)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_close_season'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_close_season(text, text, bigint, bigint) IS
'archives a board''s standings and resets its scores; returns how many places were archived';

CREATE FUNCTION @extschema@.lb_maintain(
	max_rows integer DEFAULT 50000,
	OUT closed bigint,
	OUT archived bigint,
	OUT removed bigint,
	OUT more boolean)
RETURNS record
AS 'MODULE_PATHNAME', 'lb_maintain'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_maintain(integer) IS
'closes windows and removes what is not to be kept, as the worker does at leaderboard.maintenance_interval; more: call it again';


/* ----------------------------------------------------------------
 *		3.6. Watching
 * ----------------------------------------------------------------
 */

CREATE TABLE @extschema@.lb_watched (
	board		 text COLLATE "C" NOT NULL,
	member		 text COLLATE "C",
	top			 integer,
	board_id	 integer NOT NULL,
	watcher		 name NOT NULL,
	last_key	 text NOT NULL,
	last_members text[] NOT NULL,
	last_ranks	 bigint[] NOT NULL,
	last_scores	 text[] NOT NULL,
	problem		 text,
	CONSTRAINT lb_watched_top_check CHECK (
		(member IS NULL) OPERATOR(pg_catalog.=) (top IS NOT NULL))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX lb_watched_board_idx ON @extschema@.lb_watched (board)
WHERE member IS NULL;
CREATE UNIQUE INDEX lb_watched_member_idx ON @extschema@.lb_watched (board, member)
WHERE member IS NOT NULL;
CREATE INDEX lb_watched_board_id_idx ON @extschema@.lb_watched (board_id);
SELECT pg_catalog.pg_extension_config_dump('@extschema@.lb_watched', '');

COMMENT ON TABLE @extschema@.lb_watched IS
'what lb_watch() and lb_watch_member() watch, and what it was when it was last looked at';
COMMENT ON COLUMN @extschema@.lb_watched.board IS
'name of the board';
COMMENT ON COLUMN @extschema@.lb_watched.member IS
'the member whose rank is watched, as text; null for the first places of the board';
COMMENT ON COLUMN @extschema@.lb_watched.top IS
'how many places are watched; null for a member';
COMMENT ON COLUMN @extschema@.lb_watched.board_id IS
'number in lb_board of the board, or of its family: no other board of that name is notified';
COMMENT ON COLUMN @extschema@.lb_watched.watcher IS
'role that watches, by name: notified while it owns the board''s table and may read it';
COMMENT ON COLUMN @extschema@.lb_watched.last_key IS
'what the name meant: of a window its key';
COMMENT ON COLUMN @extschema@.lb_watched.last_members IS
'the members that were on these places, as text';
COMMENT ON COLUMN @extschema@.lb_watched.last_ranks IS
'with which rank';
COMMENT ON COLUMN @extschema@.lb_watched.last_scores IS
'with which score, as text';
COMMENT ON COLUMN @extschema@.lb_watched.problem IS
'error that keeps it from being compared or notified; null if there is none';

CREATE FUNCTION @extschema@.lb_watch_changed() RETURNS trigger
AS 'MODULE_PATHNAME', 'lb_watch_changed'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.lb_watch_changed() IS
'trigger on lb_watched: has a worker look at what is watched';
REVOKE ALL ON FUNCTION @extschema@.lb_watch_changed() FROM PUBLIC;

CREATE TRIGGER lb_watch_changed
AFTER INSERT ON @extschema@.lb_watched
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_watch_changed();
ALTER TABLE @extschema@.lb_watched ENABLE ALWAYS TRIGGER lb_watch_changed;
COMMENT ON TRIGGER lb_watch_changed ON @extschema@.lb_watched IS
'has a worker look at what is watched';

/* Watches end with their board, and follow it to its new number. */
CREATE FUNCTION @extschema@.lb_watch_follow() RETURNS trigger
AS 'MODULE_PATHNAME', 'lb_watch_follow'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.lb_watch_follow() IS
'trigger on lb_board: removes the watches of a board that is dropped';
REVOKE ALL ON FUNCTION @extschema@.lb_watch_follow() FROM PUBLIC;

CREATE TRIGGER lb_watch_follow
AFTER UPDATE OR DELETE ON @extschema@.lb_board
FOR EACH ROW EXECUTE FUNCTION @extschema@.lb_watch_follow();
ALTER TABLE @extschema@.lb_board ENABLE ALWAYS TRIGGER lb_watch_follow;
COMMENT ON TRIGGER lb_watch_follow ON @extschema@.lb_board IS
'removes the watches of a board that is dropped';

CREATE FUNCTION @extschema@.lb_board_key(
	board text)
RETURNS text
AS 'MODULE_PATHNAME', 'lb_board_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION @extschema@.lb_board_key(text) IS
'what a board''s name means now: "daily:20260409" for "daily", else the name itself';

CREATE FUNCTION @extschema@.lb_watch(
	board text,
	top integer DEFAULT 10)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_watch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_watch(text, integer) IS
'has changes of the first places of a board notified on the channel "leaderboard"';
REVOKE ALL ON FUNCTION @extschema@.lb_watch(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_watch(text, integer) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_unwatch(
	board text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_unwatch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_unwatch(text) IS
'ends lb_watch(); returns whether the board was watched';

CREATE FUNCTION @extschema@.lb_watch_member(
	member bigint,
	board text DEFAULT 'global')
RETURNS void
AS 'MODULE_PATHNAME', 'lb_watch_member'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_watch_member(bigint, text) IS
'has changes of a member''s rank notified on the channel "leaderboard"';
REVOKE ALL ON FUNCTION @extschema@.lb_watch_member(bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_watch_member(bigint, text) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_watch_member_key(
	member text,
	board text DEFAULT 'global')
RETURNS void
AS 'MODULE_PATHNAME', 'lb_watch_member_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_watch_member_key(text, text) IS
'lb_watch_member() of a member of any type, as text';
REVOKE ALL ON FUNCTION @extschema@.lb_watch_member_key(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_watch_member_key(text, text) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_unwatch_member(
	member bigint,
	board text DEFAULT 'global')
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_unwatch_member'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_unwatch_member(bigint, text) IS
'ends lb_watch_member(); returns whether the member was watched';

CREATE FUNCTION @extschema@.lb_unwatch_member_key(
	member text,
	board text DEFAULT 'global')
RETURNS boolean
AS 'MODULE_PATHNAME', 'lb_unwatch_member_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION @extschema@.lb_unwatch_member_key(text, text) IS
'ends lb_watch_member_key(); returns whether the member was watched';

/* A round of the worker. */
CREATE FUNCTION @extschema@.lb_notify()
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_notify'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_notify() IS
'notifies what has changed of what is watched, as the worker does at leaderboard.notify_interval';
REVOKE ALL ON FUNCTION @extschema@.lb_notify() FROM PUBLIC;


/* ----------------------------------------------------------------
 *		4.1. Managing
 * ----------------------------------------------------------------
 */

COMMENT ON FUNCTION @extschema@.lb_wait_ready(interval) IS
'waits until all boards are ready; false after the timeout, and at once if one is offline and is not going to be built by itself';

/*
 * A role that makes a board takes a name that other roles read and write by.  So
 * only the database's owner may, and roles that the owner grants EXECUTE to.
 */
DROP FUNCTION @extschema@.lb_create_board(text, regclass, name, text, name, text, name);
CREATE FUNCTION @extschema@.lb_create_board(
	board text,
	source regclass,
	member text DEFAULT 'player_id',
	rank_by text DEFAULT 'score DESC',
	board_column name DEFAULT NULL,
	method text DEFAULT 'row_number',
	ranked_if name DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'lb_create_board'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_create_board(text, regclass, text, text, name, text, name) IS
'makes a board, or a family of boards, over a table';
REVOKE ALL ON FUNCTION @extschema@.lb_create_board(text, regclass, text, text, name, text, name) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_create_board(text, regclass, text, text, name, text, name) TO pg_database_owner;

DROP FUNCTION @extschema@.lb_create_tables(boolean);
CREATE FUNCTION @extschema@.lb_create_tables(
	score_index boolean DEFAULT false,
	player_id text DEFAULT 'bigint')
RETURNS void
AS 'MODULE_PATHNAME', 'lb_create_tables'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION @extschema@.lb_create_tables(boolean, text) IS
'creates player_scores and player_score_windows, if they do not exist, and their boards; player_id is the type of their players';
REVOKE ALL ON FUNCTION @extschema@.lb_create_tables(boolean, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lb_create_tables(boolean, text) TO pg_database_owner;

CREATE FUNCTION @extschema@.lb_verify_key(
	board text DEFAULT NULL)
RETURNS TABLE (board text, member text, problem text)
AS 'MODULE_PATHNAME', 'lb_verify_key'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000 ROWS 1;
COMMENT ON FUNCTION @extschema@.lb_verify_key(text) IS
'compares index and table; no row means that they are equal';

CREATE FUNCTION @extschema@.lb_estimate_memory_key(
	members bigint,
	rank_by regtype[],
	member regtype[],
	text_bytes integer DEFAULT 20)
RETURNS bigint
AS 'MODULE_PATHNAME', 'lb_estimate_memory_key'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.lb_estimate_memory_key(bigint, regtype[], regtype[], integer) IS
'bytes of leaderboard.memory for a board of that many members and columns of these types';


/* ----------------------------------------------------------------
 *		4.2. Statistics
 * ----------------------------------------------------------------
 */

/*
 * Statistics.  New columns come last: views of users may be made of these.
 */
CREATE FUNCTION @extschema@.lb_stat_rows()
RETURNS TABLE (
	board text,
	source regclass,
	state text,
	reason text,
	members bigint,
	distinct_scores bigint,
	bytes bigint,
	build_done bigint,
	build_total bigint,
	build_seconds double precision,
	index_reads bigint,
	query_reads bigint,
	query_disabled bigint,
	query_recovery bigint,
	query_snapshot bigint,
	query_row_security bigint,
	query_building bigint,
	query_offline bigint,
	query_trigger bigint,
	query_own_changes bigint,
	query_unsettled bigint,
	query_limit bigint,
	changes bigint,
	kind text,
	planned_reads bigint,
	planned_queries bigint,
	planned_disabled bigint,
	planned_snapshot bigint,
	planned_building bigint,
	planned_offline bigint,
	planned_trigger bigint,
	planned_own_changes bigint,
	planned_unsettled bigint,
	planned_limit bigint)
AS 'MODULE_PATHNAME', 'lb_stat_boards'
LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 100;
COMMENT ON FUNCTION @extschema@.lb_stat_rows() IS
'internal; see lb_stat_board';

CREATE OR REPLACE VIEW @extschema@.lb_stat_board AS
SELECT s.board, s.source, s.state, s.reason, s.members, s.distinct_scores,
	s.bytes, s.build_done, s.build_total, s.build_seconds, s.index_reads,
	s.query_reads, s.query_disabled, s.query_recovery, s.query_snapshot,
	s.query_row_security, s.query_building, s.query_offline, s.query_trigger,
	s.query_own_changes, s.query_unsettled, s.query_limit, s.changes, s.kind,
	s.planned_reads, s.planned_queries, s.planned_disabled, s.planned_snapshot,
	 s.planned_building, s.planned_offline, s.planned_trigger,
	s.planned_own_changes, s.planned_unsettled, s.planned_limit
FROM @extschema@.lb_stat_rows() s;
DROP FUNCTION @extschema@.lb_stat_boards();

CREATE FUNCTION @extschema@.lb_stat(
	board text DEFAULT NULL)
RETURNS TABLE (
	board text,
	source regclass,
	state text,
	reason text,
	members bigint,
	distinct_scores bigint,
	bytes bigint,
	build_done bigint,
	build_total bigint,
	build_seconds double precision,
	index_reads bigint,
	query_reads bigint,
	query_disabled bigint,
	query_recovery bigint,
	query_snapshot bigint,
	query_row_security bigint,
	query_building bigint,
	query_offline bigint,
	query_trigger bigint,
	query_own_changes bigint,
	query_unsettled bigint,
	query_limit bigint,
	changes bigint,
	kind text,
	planned_reads bigint,
	planned_queries bigint,
	planned_disabled bigint,
	planned_snapshot bigint,
	planned_building bigint,
	planned_offline bigint,
	planned_trigger bigint,
	planned_own_changes bigint,
	planned_unsettled bigint,
	planned_limit bigint)
AS 'MODULE_PATHNAME', 'lb_stat'
LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION @extschema@.lb_stat(text) IS
'the row of lb_stat_board of one board or family; without a name those of all boards and families, but not of the boards of families';

CREATE FUNCTION @extschema@.lb_stat_memory_usage()
RETURNS TABLE (datname name, total bigint, used bigint, reserved bigint)
AS 'MODULE_PATHNAME', 'lb_stat_memory_rows'
LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION @extschema@.lb_stat_memory_usage() IS
'internal; see lb_stat_memory';

CREATE OR REPLACE VIEW @extschema@.lb_stat_memory AS
SELECT s.datname, s.total, s.used, s.reserved
FROM @extschema@.lb_stat_memory_usage() s;
DROP FUNCTION @extschema@.lb_stat_memory_rows();


/* ----------------------------------------------------------------
 *		4.3. Dumps
 * ----------------------------------------------------------------
 */

/*
 * The database's owner need not be a superuser to run pg_dump, which reads all
 * that is part of a dump, sequences too.
 */
GRANT SELECT ON TABLE @extschema@.lb_applied, @extschema@.lb_event,
	@extschema@.lb_usage, @extschema@.lb_anomaly, @extschema@.lb_archive,
	@extschema@.lb_archive_source, @extschema@.lb_season, @extschema@.lb_watched
TO pg_database_owner;
GRANT SELECT ON SEQUENCE @extschema@.lb_board_id_seq,
	@extschema@.lb_archive_source_id_seq
TO pg_database_owner;
