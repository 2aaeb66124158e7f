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
#include "leaderboards/closed.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/window.h"
#include "leaderboards/window_name.h"
#include "sql/spi.h"
#include "windows/archive.h"
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
	ARG_ARCHIVE_TOP
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
		if (PG_ARGISNULL(ARG_STARTS) || PG_ARGISNULL(ARG_ENDS))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument \"%s\" must not be null",
							PG_ARGISNULL(ARG_STARTS) ? "starts" : "ends"),
					 errhint("A window that comes once has both \"starts\" and \"ends\"; one that comes again has a \"period\".")));
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
		lb_require_at_least("archive_top", window->archive_top, 0, "all places");
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

	SPI_connect();
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_window (name, period, time_zone, first_day, starts, ends, op, keep, late, archive_top) "
					   "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
					   "ON CONFLICT (name) DO UPDATE SET period = excluded.period, "
					   "time_zone = excluded.time_zone, first_day = excluded.first_day, "
					   "starts = excluded.starts, ends = excluded.ends, op = excluded.op, "
					   "keep = excluded.keep, late = excluded.late, "
					   "archive_top = excluded.archive_top, is_open = true",
					   LB_ARGS(lb_arg_given(fcinfo, ARG_NAME, TEXTOID),
							   lb_arg_text(lb_periods[window->calendar.period].name),
							   lb_arg_given(fcinfo, ARG_TIME_ZONE, TEXTOID),
							   lb_arg_given(fcinfo, ARG_FIRST_DAY, INT4OID),
							   lb_arg_given(fcinfo, ARG_STARTS, TIMESTAMPTZOID),
							   lb_arg_given(fcinfo, ARG_ENDS, TIMESTAMPTZOID),
							   lb_arg_text(window->op == LB_OP_CHANGE ? NULL : lb_op_name(window->op)),
							   lb_arg(INTERVALOID, IntervalPGetDatum(&window->keep)),
							   lb_arg_given(fcinfo, ARG_LATE, INTERVALOID),
							   lb_arg_given(fcinfo, ARG_ARCHIVE_TOP, INT4OID)));
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

	/* Without the family, a superuser only. */
	if (!superuser())
		(void) lb_require_window_owner(name);
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
	char	   *name;
	uint64		n;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_close_window()");
	if (PG_ARGISNULL(0))
		lb_null_argument("window_name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (!superuser())
		(void) lb_require_window_owner(name);
	lb_begin_settings(lb_leaderboard_of_window(name)->name);
	SPI_connect();

	/*
	 * A window that comes once ends now, or with its start if that is to
	 * come.
	 */
	n = lb_own_exec(&plan,
					"UPDATE @.lb_window SET is_open = period IS NULL, ends = CASE "
					"WHEN ends OPERATOR(pg_catalog.>) pg_catalog.now() "
					"THEN GREATEST(pg_catalog.now(), starts OPERATOR(pg_catalog.+) pg_catalog.interval '1 microsecond') "
					"ELSE ends END "
					"WHERE name OPERATOR(pg_catalog.=) $1",
					LB_ARGS(lb_arg_text(name)));
	SPI_finish();
	if (n == 0)
		lb_window_not_found(name, "The table lb_window lists the windows.");
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
	"DELETE FROM @." table " t WHERE " LB_IN_FAMILY("t." column, "$1")

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

	lb_rewards_end(family);
	for (int i = 0; i < (int) lengthof(texts); i++)
		(void) lb_own_exec_latest(texts[i], LB_ARGS(lb_arg_family(family)));
}

void
lb_windows_begin(const LbDefinition *family)
{
	static LbPlan plan;

	(void) lb_own_exec(&plan,
					   "DELETE FROM @.lb_closed c WHERE " LB_IN_FAMILY("c.board", "$3") " AND NOT EXISTS "
					   "(SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.=) c.board "
					   "AND a.season OPERATOR(pg_catalog.=) '' "
					   "AND (a.owner OPERATOR(pg_catalog.=) $1 OR a.source OPERATOR(pg_catalog.=) "
					   "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $2)))",
					   LB_ARGS(lb_arg_owner(family), lb_arg_regclass(family->source),
							   lb_arg_family(family->name)));
}
