/*-------------------------------------------------------------------------
 *
 * window_admin.c
 *	  Recording windows: lb_open_window() and lb_close_window().
 *
 * A window is recorded under a lock on its name (window_name.c).  Where the
 * table of its rows is distributed, the other servers record it, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "boards/board_value.h"
#include "boards/distributed.h"
#include "boards/target.h"
#include "leaderboards/closed.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/window.h"
#include "leaderboards/window_name.h"
#include "sql/spi.h"
#include "windows/reward.h"
#include "windows/window_admin.h"

PG_FUNCTION_INFO_V1(lb_open_window);
PG_FUNCTION_INFO_V1(lb_close_window);


/* ----------------------------------------------------------------
 *		SQL functions
 * ----------------------------------------------------------------
 */

/*
 * Raise 42704 if a new window's name is one of a leaderboard's that does not
 * exist: it would be a window of "global".
 */
static void
require_leaderboard(const char *name)
{
	int			len = strcspn(name, "/:");

	if (name[len] == '/' && lb_window_find(name, strlen(name)) == NULL)
		(void) lb_require_leaderboard(pnstrdup(name, len));
}

/* Raise 42501 unless the caller owns the table with the windows' rows. */
static void
require_window_owner(const char *name)
{
	const char *family = lb_leaderboard_of_window(name)->family;
	LbTarget	target;

	/* Without the family, a superuser only. */
	if (!superuser())
	{
		lb_find_target(family, strlen(family), &target);
		lb_require_owner(target.defn->source);
	}
}

/*
 * Arguments of lb_open_window(), in the order of the columns that it writes.
 */
enum
{
	ARG_NAME,
	ARG_PERIOD,
	ARG_TIME_ZONE,
	ARG_FIRST_DAY,
	ARG_STARTS,
	ARG_ENDS,
	ARG_OP,
	ARG_KEEP,
	ARG_LATE,
	ARG_ARCHIVE_TOP,
	NARGS
};

static LbPeriod
period_argument(FunctionCallInfo fcinfo, const char *name)
{
	LbPeriod	period = LB_ONCE;

	if (PG_ARGISNULL(ARG_PERIOD))
		(void) lb_period_from_text(name + lb_windows_prefix(lb_leaderboard_of_window(name)->family),
								   &period);
	else
	{
		char	   *s = text_to_cstring(PG_GETARG_TEXT_PP(ARG_PERIOD));

		if (!lb_period_from_text(s, &period))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown period \"%s\"", s),
					 errhint("The periods are \"hourly\", \"daily\", \"weekly\" and \"monthly\".")));
	}
	return period;
}

/*
 * When a window that comes once starts and ends.  Others have no such
 * arguments.
 */
static void
moment_arguments(FunctionCallInfo fcinfo, LbCalendar *calendar)
{
	if (calendar->period == LB_ONCE)
	{
		if (PG_ARGISNULL(ARG_STARTS))
			lb_null_argument("starts");
		if (PG_ARGISNULL(ARG_ENDS))
			lb_null_argument("ends");
		calendar->starts = PG_GETARG_TIMESTAMPTZ(ARG_STARTS);
		calendar->ends = PG_GETARG_TIMESTAMPTZ(ARG_ENDS);
	}
	else if (!PG_ARGISNULL(ARG_STARTS) || !PG_ARGISNULL(ARG_ENDS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a window that comes again has no start and no end"),
				 errhint("They are those of each %s span.",
						 lb_periods[calendar->period].name)));
}

/*
 * The window that the arguments describe, with defaults for those that are
 * null.
 */
static void
window_arguments(FunctionCallInfo fcinfo, const char *name, LbPeriod period,
				 LbWindow *window)
{
	LbCalendar *calendar = &window->calendar;
	Datum		keep;

	memset(window, 0, sizeof(LbWindow));
	strlcpy(calendar->name, name, sizeof(calendar->name));
	calendar->period = period;
	calendar->time_zone = text_to_cstring(PG_GETARG_TEXT_PP(ARG_TIME_ZONE));
	calendar->tz = pg_tzset(calendar->time_zone);
	calendar->first_day = PG_GETARG_INT32(ARG_FIRST_DAY);
	moment_arguments(fcinfo, calendar);
	if (!PG_ARGISNULL(ARG_OP))
		window->op = lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(ARG_OP)), "");
	else
		window->op = lb_window_default_op(lb_leaderboard_of_window(name)->op);
	if (PG_ARGISNULL(ARG_KEEP))
		keep = DirectFunctionCall3(interval_in,
								   CStringGetDatum(lb_periods[period].keep),
								   ObjectIdGetDatum(InvalidOid),
								   Int32GetDatum(-1));
	else
		keep = PG_GETARG_DATUM(ARG_KEEP);
	window->keep = *DatumGetIntervalP(keep);
	window->late = PG_ARGISNULL(ARG_LATE) ? window->keep :
		*PG_GETARG_INTERVAL_P(ARG_LATE);
	window->archive_top = -1;
	if (!PG_ARGISNULL(ARG_ARCHIVE_TOP))
	{
		window->archive_top = PG_GETARG_INT32(ARG_ARCHIVE_TOP);
		if (window->archive_top < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument \"%s\" is out of range: %d",
							"archive_top", window->archive_top),
					 errhint("\"%s\" must be at least 0; null is all places.",
							 "archive_top")));
	}
	window->is_open = true;
}

/*
 * A window that comes once must not have been closed, and the lock keeps it
 * from being closed before we commit.
 */
static void
check_not_closed(const char *name)
{
	lb_window_lock(name, strlen(name), RowExclusiveLock);
	if (lb_window_is_closed(name, strlen(name)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("window \"%s\" has been closed", name),
				 errhint("Use another name.")));
}

/*
 * Arguments that are null are recorded as nulls, except the period, the
 * operation and keep.
 */
static void
record_window(FunctionCallInfo fcinfo, LbWindow *window)
{
	static LbPlan plan;
	static const Oid types[NARGS] = {TEXTOID, TEXTOID, TEXTOID, INT4OID,
		TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, INTERVALOID, INTERVALOID,
	INT4OID};
	const char *period = lb_periods[window->calendar.period].name;
	Datum		values[NARGS];
	char		nulls[NARGS];

	for (int i = 0; i < NARGS; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i) ? 'n' : ' ';
	}
	if (period != NULL)
	{
		values[ARG_PERIOD] = CStringGetTextDatum(period);
		nulls[ARG_PERIOD] = ' ';
	}
	values[ARG_OP] = CStringGetTextDatum(lb_op_name(window->op));
	nulls[ARG_OP] = window->op == LB_OP_CHANGE ? 'n' : ' ';
	values[ARG_KEEP] = IntervalPGetDatum(&window->keep);
	nulls[ARG_KEEP] = ' ';
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) lb_own_run(&plan,
					  "INSERT INTO @.lb_window (name, period, time_zone, first_day, starts, ends, op, keep, late, archive_top) "
					  "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
					  "ON CONFLICT (name) DO UPDATE SET period = excluded.period, "
					  "time_zone = excluded.time_zone, first_day = excluded.first_day, "
					  "starts = excluded.starts, ends = excluded.ends, op = excluded.op, "
					  "keep = excluded.keep, late = excluded.late, "
					  "archive_top = excluded.archive_top, is_open = true",
					  NARGS, types, values, nulls);
	SPI_finish();
}

Datum
lb_open_window(PG_FUNCTION_ARGS)
{
	char	   *name;
	LbPeriod	period;
	LbWindow	window;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_open_window()");
	if (PG_ARGISNULL(ARG_NAME))
		lb_null_argument("window_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_NAME));
	require_leaderboard(name);
	require_window_owner(name);
	lb_begin_settings(lb_leaderboard_of_window(name)->name);
	if (PG_ARGISNULL(ARG_TIME_ZONE))
		lb_null_argument("time_zone");
	if (PG_ARGISNULL(ARG_FIRST_DAY))
		lb_null_argument("first_day");
	period = period_argument(fcinfo, name);
	lb_window_lock_name(name);
	lb_window_check_name(name, period);
	window_arguments(fcinfo, name, period, &window);
	lb_window_check(&window);
	if (period == LB_ONCE)
		check_not_closed(name);
	record_window(fcinfo, &window);
	lb_end_settings(lb_leaderboard_of_window(name)->name);
	PG_RETURN_VOID();
}

Datum
lb_close_window(PG_FUNCTION_ARGS)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID};
	char	   *name;
	Datum		values[1];
	uint64		n;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_close_window()");
	if (PG_ARGISNULL(0))
		lb_null_argument("window_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	require_window_owner(name);
	lb_begin_settings(lb_leaderboard_of_window(name)->name);
	values[0] = PG_GETARG_DATUM(0);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");

	/*
	 * A window that comes once ends now, or with its start if that is to
	 * come.
	 */
	n = lb_own_run(&plan,
				   "UPDATE @.lb_window SET is_open = period IS NULL, ends = CASE "
				   "WHEN ends OPERATOR(pg_catalog.>) pg_catalog.now() "
				   "THEN GREATEST(pg_catalog.now(), starts OPERATOR(pg_catalog.+) pg_catalog.interval '1 microsecond') "
				   "ELSE ends END "
				   "WHERE name OPERATOR(pg_catalog.=) $1",
				   1, types, values, NULL);
	SPI_finish();
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("window \"%s\" does not exist", name),
				 errhint("The table lb_window lists the windows.")));
	lb_end_settings(lb_leaderboard_of_window(name)->name);
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		With the family
 * ----------------------------------------------------------------
 */

/*
 * The rows of a family in table t, a text with its column of names.  lb_entry
 * comes before those of its players: a player who is joining has it locked.
 */
#define WINDOWS_END(table, column) \
	"DELETE FROM @." table " t WHERE " LB_OF_FAMILY("t." column, "$1", "$2")

void
lb_windows_end(const char *family)
{
	static const char *const texts[] = {
		WINDOWS_END("lb_window", "name"),
		WINDOWS_END("lb_reward", "name"),
		WINDOWS_END("lb_entry", "name"),
		WINDOWS_END("lb_entry_count", "board"),
		WINDOWS_END("lb_entrant", "board")
	};
	static const Oid types[] = {TEXTOID, TEXTARRAYOID};
	Datum		values[2];

	lb_rewards_end(family);
	lb_family_values(family, &values[0], &values[1]);
	for (int i = 0; i < (int) lengthof(texts); i++)
		(void) lb_own_run_latest(texts[i], 2, types, values, NULL);
}

void
lb_windows_begin(const LbDefinition *family)
{
	static LbPlan plan;
	static const Oid types[] = {NAMEOID, REGCLASSOID, TEXTOID, TEXTARRAYOID};
	NameData	owner;
	Datum		values[4];

	namestrcpy(&owner, GetUserNameFromId(family->owner, false));
	values[0] = NameGetDatum(&owner);
	values[1] = ObjectIdGetDatum(family->source);
	lb_family_values(family->name, &values[2], &values[3]);
	(void) lb_own_run(&plan,
					  "DELETE FROM @.lb_closed c WHERE " LB_OF_FAMILY("c.board", "$3", "$4") " AND NOT EXISTS "
					  "(SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.=) c.board "
					  "AND a.season OPERATOR(pg_catalog.=) '' "
					  "AND (a.owner OPERATOR(pg_catalog.=) $1 OR a.source OPERATOR(pg_catalog.=) "
					  "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $2)))",
					  4, types, values, NULL);
}
