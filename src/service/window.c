/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Windows: boards of the family "*" that begin and end by the calendar.
 *
 * lb_window records kinds of windows: one that comes each day, each week, or
 * once.  What is written and read is a span of such a kind, by its key, which
 * is a value of the family's board column: "daily:20260409".  Nothing happens
 * at the turn of a span: the key of the next moment is another one.
 *
 * A key is in local time of the window's time zone.  An hour that the clocks
 * repeat is one span of two hours, and an hour that they leave out is none.  Keys
 * never go back: where clocks are about to be turned back behind a time, that
 * time counts as the one that they are turned back to.  So a day begins when its
 * date comes for good, and every moment is in one span of each kind.
 *
 * lb_window is read into a cache of the backend, as lb_board is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "boards/own.h"
#include "service/window.h"

PG_FUNCTION_INFO_V1(lb_window_key);
PG_FUNCTION_INFO_V1(lb_open_window);
PG_FUNCTION_INFO_V1(lb_close_window);

/* Columns of lb_window, as the script has them. */
enum
{
	Anum_lb_window_name = 1,
	Anum_lb_window_period,
	Anum_lb_window_time_zone,
	Anum_lb_window_first_day,
	Anum_lb_window_starts,
	Anum_lb_window_ends,
	Anum_lb_window_op,
	Anum_lb_window_keep,
	Anum_lb_window_late,
	Anum_lb_window_archive_top,
	Anum_lb_window_is_open,
	Natts_lb_window = Anum_lb_window_is_open
};

/* All turns of clocks are multiples of this. */
#define QUARTER (15 * USECS_PER_MINUTE)

/* How far back a name such as "daily-1" may reach. */
#define MAX_BACK 9999

static const struct
{
	const char *name;
	const char *keep;			/* by default */
}			periods[] =

{
	[LB_ONCE] = {NULL, "14 days"},
	[LB_HOURLY] = {"hourly", "24 hours"},
	[LB_DAILY] = {"daily", "48 hours"},
	[LB_WEEKLY] = {"weekly", "14 days"},
	[LB_MONTHLY] = {"monthly", "62 days"},
};

static const char *const op_names[LB_NOPS] = {
	[LB_OP_CHANGE] = "change",
	[LB_OP_INCR] = "incr",
	[LB_OP_SET] = "set",
	[LB_OP_BEST] = "best",
	[LB_OP_WORST] = "worst",
};

static LbWindow **windows = NULL;	/* in the order of their names */
static int	nwindows = 0;
static bool windows_valid = false;
static Oid	windows_relid = InvalidOid;
static uint64 ninvalidations = 0;
static MemoryContext windows_context = NULL;
static List *old_contexts = NIL;	/* in TopMemoryContext */

/* Keys that lb_closed did not hold when it was last changed; all of them go. */
#define MAX_NOT_CLOSED 64
static Oid	closed_relid = InvalidOid;
static char not_closed[MAX_NOT_CLOSED][LB_MAX_WINDOW_KEY + 1];
static int	nnot_closed = 0;
static uint64 nclosings = 0;	/* invalidations of lb_closed */


/* ----------------------------------------------------------------
 *		The cache
 * ----------------------------------------------------------------
 */

void
lb_window_invalidate(Oid relid)
{
	if (relid == InvalidOid || relid == windows_relid)
	{
		windows_valid = false;
		ninvalidations++;
	}
	if (relid == InvalidOid || relid == closed_relid)
	{
		nnot_closed = 0;
		nclosings++;
	}
}

void
lb_window_at_xact_end(void)
{
	ListCell   *lc;

	if (old_contexts == NIL)
		return;
	foreach(lc, old_contexts)
		MemoryContextDelete((MemoryContext) lfirst(lc));
	list_free(old_contexts);
	old_contexts = NIL;
}

LbOp
lb_op_from_text(const char *s)
{
	for (int op = LB_OP_INCR; op < LB_NOPS; op++)
	{
		if (strcmp(s, op_names[op]) == 0)
			return op;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown operation \"%s\"", s),
			 errhint("The operations are \"incr\", \"set\", \"best\" and \"worst\".")));
}

static bool
period_from_text(const char *s, LbPeriod *period)
{
	for (int p = LB_HOURLY; p <= LB_MONTHLY; p++)
	{
		if (strcmp(s, periods[p].name) == 0)
		{
			*period = p;
			return true;
		}
	}
	return false;
}

static int
window_cmp(const void *a, const void *b)
{
	return strcmp((*(LbWindow *const *) a)->name, (*(LbWindow *const *) b)->name);
}

/* A window as lb_open_window() makes it, with the defaults of its period. */
static void
window_init(LbWindow *window, const char *name, LbPeriod period)
{
	memset(window, 0, sizeof(LbWindow));
	strlcpy(window->name, name, sizeof(window->name));
	window->period = period;
	window->time_zone = "UTC";
	window->tz = pg_tzset(window->time_zone);
	window->first_day = 1;
	window->op = LB_OP_CHANGE;
	window->is_open = true;
}

static LbWindow *
window_from_tuple(HeapTuple tuple, TupleDesc desc)
{
	LbWindow   *window = palloc0(sizeof(LbWindow));
	Datum		values[Natts_lb_window];
	bool		nulls[Natts_lb_window];
	LbPeriod	period = LB_ONCE;

	heap_deform_tuple(tuple, desc, values, nulls);
#define VALUE(column) (values[Anum_lb_window_##column - 1])
#define IS_NULL(column) (nulls[Anum_lb_window_##column - 1])
	if (!IS_NULL(period))
		(void) period_from_text(TextDatumGetCString(VALUE(period)), &period);
	window_init(window, TextDatumGetCString(VALUE(name)), period);
	window->time_zone = TextDatumGetCString(VALUE(time_zone));
	window->tz = pg_tzset(window->time_zone);
	window->first_day = DatumGetInt32(VALUE(first_day));
	if (!IS_NULL(starts))
		window->starts = DatumGetTimestampTz(VALUE(starts));
	if (!IS_NULL(ends))
		window->ends = DatumGetTimestampTz(VALUE(ends));
	if (!IS_NULL(op))
		window->op = lb_op_from_text(TextDatumGetCString(VALUE(op)));
	window->keep = *DatumGetIntervalP(VALUE(keep));
	window->late = IS_NULL(late) ? window->keep :
		*DatumGetIntervalP(VALUE(late));
	window->archive_top = IS_NULL(archive_top) ? -1 :
		DatumGetInt32(VALUE(archive_top));
	window->is_open = DatumGetBool(VALUE(is_open));
#undef VALUE
#undef IS_NULL
	return window;
}

/* Read lb_window anew, if need be. */
static void
load_windows(void)
{
	const LbCatalog *cat;
	uint64		before;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	MemoryContext context;
	MemoryContext old;
	LbWindow  **found;
	int			n = 0;
	int			size = 8;

	if (windows_valid)
		return;
	before = ninvalidations;
	cat = lb_catalog();
	windows_relid = cat == NULL || !cat->version_ok ? InvalidOid :
		get_relname_relid("lb_window", cat->schema);
	if (!OidIsValid(windows_relid))
	{
		nwindows = 0;
		return;
	}

	context = AllocSetContextCreate(TopMemoryContext, "leaderboard windows",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	found = palloc(size * sizeof(LbWindow *));
	rel = table_open(windows_relid, AccessShareLock);

	/* A catalog scan: the newest state. */
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (n == size)
		{
			size *= 2;
			found = repalloc(found, size * sizeof(LbWindow *));
		}
		found[n++] = window_from_tuple(tuple, RelationGetDescr(rel));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	qsort(found, n, sizeof(LbWindow *), window_cmp);

	MemoryContextSwitchTo(TopMemoryContext);
	if (windows_context)
		old_contexts = lappend(old_contexts, windows_context);
	MemoryContextSwitchTo(old);
	windows_context = context;
	windows = found;
	nwindows = n;
	windows_valid = ninvalidations == before;
}

int
lb_windows(LbWindow ***result)
{
	load_windows();
	*result = windows;
	return nwindows;
}

LbWindow *
lb_window_find(const char *name, int len)
{
	int			lo = 0;
	int			hi;

	load_windows();
	hi = nwindows;
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int			c = strncmp(windows[mid]->name, name, len);

		if (c == 0 && windows[mid]->name[len] == '\0')
			return windows[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/*
 * The window of that name.  The four that are named by their period have keys
 * even where they are not recorded: what is kept by hand can then be read by
 * name too.
 */
static LbWindow *
find_or_default(const char *name, int len)
{
	LbWindow   *window = lb_window_find(name, len);
	LbPeriod	period;
	char	   *s;

	if (window != NULL)
		return window;
	s = pnstrdup(name, len);
	if (!period_from_text(s, &period))
		return NULL;
	window = palloc(sizeof(LbWindow));
	window_init(window, s, period);
	return window;
}


/* ----------------------------------------------------------------
 *		The calendar
 * ----------------------------------------------------------------
 */

static void
out_of_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("timestamp out of range"),
			 errdetail("Windows are of the years from 1 to 9999.")));
}

static pg_tz *
zone_of(const LbWindow *window)
{
	if (window->tz == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" of window \"%s\" is not recognized",
						window->time_zone, window->name)));
	return window->tz;
}

/*
 * How much later, in seconds, the local time of a moment is than the earliest that
 * is yet to come: above 0 if clocks are turned back behind it.
 */
static int64
ahead_of_clocks(const pg_tz *tz, TimestampTz at)
{
	TimestampTz second = at - at % USECS_PER_SEC -
		(at % USECS_PER_SEC < 0 ? USECS_PER_SEC : 0);
	pg_time_t	now = timestamptz_to_time_t(second);
	pg_time_t	turn = now;
	long		before;
	long		after;
	int			before_isdst;
	int			after_isdst;
	int64		result = 0;
	long		offset = 0;

	/* A turn is noticed a day ahead: none is of more than that. */
	for (int i = 0; i < 8; i++)
	{
		pg_time_t	from = turn;

		if (pg_next_dst_boundary(&from, &before, &before_isdst, &turn, &after,
								 &after_isdst, tz) <= 0 ||
			turn > now + 25 * SECS_PER_HOUR)
			break;
		if (i == 0)
			offset = before;
		result = Max(result, (int64) (now + offset) - (int64) (turn + after));
	}
	return result;
}

/* The local time that counts for a moment: one that does not go back. */
static bool
calendar_time(const LbWindow *window, TimestampTz at, struct pg_tm *tm)
{
	pg_tz	   *tz = zone_of(window);
	fsec_t		fsec;
	int			offset;
	int64		ahead;

	if (timestamp2tm(at, &offset, tm, &fsec, NULL, tz) != 0)
		return false;
	ahead = ahead_of_clocks(tz, at);
	return ahead <= 0 ||
		timestamp2tm(at - (offset + ahead) * USECS_PER_SEC, NULL, tm, &fsec,
					 NULL, NULL) == 0;
}

static void
local_time(const LbWindow *window, TimestampTz at, struct pg_tm *tm)
{
	if (TIMESTAMP_NOT_FINITE(at) || !calendar_time(window, at, tm) ||
		tm->tm_year < 1 || tm->tm_year > 9999)
		out_of_range();
}

/* Whether the date of a moment is a day or a later one. */
static bool
has_begun(const LbWindow *window, int julian, TimestampTz at)
{
	struct pg_tm tm;

	return calendar_time(window, at, &tm) &&
		date2j(tm.tm_year, tm.tm_mon, tm.tm_mday) >= julian;
}

/*
 * The moment at which a local day begins: the first of two where clocks are
 * turned back to midnight, and the last where they are turned back behind it.
 */
static TimestampTz
day_begins(const LbWindow *window, int julian)
{
	struct pg_tm tm;
	TimestampTz result;
	TimestampTz before;
	int			offset;

	memset(&tm, 0, sizeof(tm));
	j2date(julian, &tm.tm_year, &tm.tm_mon, &tm.tm_mday);
	offset = DetermineTimeZoneOffset(&tm, zone_of(window));
	if (tm2timestamp(&tm, 0, &offset, &result) != 0)
		out_of_range();
	while (!has_begun(window, julian, result))
		result += QUARTER;
	while (has_begun(window, julian, result - QUARTER))
		result -= QUARTER;

	/* To the second: not all zones have turned by quarters of an hour. */
	before = result - QUARTER;
	while (result - before > USECS_PER_SEC)
	{
		TimestampTz mid = before +
			(result - before) / 2 / USECS_PER_SEC * USECS_PER_SEC;

		if (has_begun(window, julian, mid))
			result = mid;
		else
			before = mid;
	}
	return result;
}

static void
hour_key(const LbWindow *window, TimestampTz at, char *key, Size size)
{
	struct pg_tm tm;

	local_time(window, at, &tm);
	snprintf(key, size, "%s:%04d%02d%02d%02d", window->name, tm.tm_year,
			 tm.tm_mon, tm.tm_mday, tm.tm_hour);
}

/* Whether a moment is in the hour with this key. */
static bool
is_hour(const LbWindow *window, TimestampTz at, const char *key)
{
	char		its[LB_MAX_WINDOW_KEY + 1];

	hour_key(window, at, its, sizeof(its));
	return strcmp(its, key) == 0;
}

/*
 * From a second of an hour on in steps of a quarter, which lead to bound first
 * and may be backwards, until it is another: the second at which it changes.
 */
static TimestampTz
hour_bound(const LbWindow *window, const char *key, TimestampTz same,
		   TimestampTz bound, int64 step)
{
	while (is_hour(window, bound, key))
	{
		same = bound;
		bound += step;
	}
	while (llabs(bound - same) > USECS_PER_SEC)
	{
		TimestampTz mid = same +
			(bound - same) / 2 / USECS_PER_SEC * USECS_PER_SEC;

		if (is_hour(window, mid, key))
			same = mid;
		else
			bound = mid;
	}
	return Max(same, bound);
}

/* Clocks are turned within hours: feel for where this one begins and ends. */
static void
hour_span(const LbWindow *window, TimestampTz at, LbSpan *span)
{
	TimestampTz second = at - at % USECS_PER_SEC -
		(at % USECS_PER_SEC < 0 ? USECS_PER_SEC : 0);
	TimestampTz quarter = at - at % QUARTER - (at % QUARTER < 0 ? QUARTER : 0);

	/* By quarters, whatever moment is asked for: its hour may come again. */
	hour_key(window, at, span->key, sizeof(span->key));
	span->starts = hour_bound(window, span->key, second,
							  quarter < second ? quarter : quarter - QUARTER,
							  -QUARTER);
	span->ends = hour_bound(window, span->key, second, quarter + QUARTER,
							QUARTER);
}

/*
 * Days from the beginning of a week to that of the ISO week that it is called
 * by, which is the one that most of it is in.
 */
static int
week_shift(const LbWindow *window)
{
	return window->first_day <= 4 ? 1 - window->first_day :
		8 - window->first_day;
}

/* The span of a period other than an hour that has a local day in it. */
static void
day_span(const LbWindow *window, int julian, int back, LbSpan *span)
{
	int			year;
	int			month;
	int			day;
	int			first = 0;
	int			next = 0;

	switch (window->period)
	{
		case LB_DAILY:
			first = julian - back;
			next = first + 1;
			j2date(first, &year, &month, &day);
			snprintf(span->key, sizeof(span->key), "%s:%04d%02d%02d",
					 window->name, year, month, day);
			break;
		case LB_WEEKLY:
			{
				/* As if weeks began on Monday. */
				int			iso = julian + week_shift(window) - 7 * back;
				int			monday = iso - (j2day(iso) + 6) % 7;

				j2date(iso, &year, &month, &day);
				snprintf(span->key, sizeof(span->key), "%s:%04d%02d",
						 window->name, date2isoyear(year, month, day),
						 date2isoweek(year, month, day));
				first = monday - week_shift(window);
				next = first + 7;
				break;
			}
		case LB_MONTHLY:
			{
				int			months;

				j2date(julian, &year, &month, &day);
				months = year * 12 + month - 1 - back;
				year = months / 12;
				month = months % 12 + 1;
				first = date2j(year, month, 1);
				next = month == 12 ? date2j(year + 1, 1, 1) :
					date2j(year, month + 1, 1);
				snprintf(span->key, sizeof(span->key), "%s:%04d%02d",
						 window->name, year, month);
				break;
			}
		case LB_ONCE:
		case LB_HOURLY:
			Assert(false);
			break;
	}
	j2date(first, &year, &month, &day);
	if (year < 1 || year > 9999)
		out_of_range();
	span->starts = day_begins(window, first);
	span->ends = day_begins(window, next);
}

/* A period's span, worked out. */
static bool
find_span(const LbWindow *window, TimestampTz at, int back, LbSpan *span)
{
	struct pg_tm tm;

	if (TIMESTAMP_NOT_FINITE(at))
		out_of_range();
	switch (window->period)
	{
		case LB_ONCE:
			strlcpy(span->key, window->name, sizeof(span->key));
			span->starts = window->starts;
			span->ends = window->ends;
			return at >= window->starts && at < window->ends;
		case LB_HOURLY:
			hour_span(window, at, span);
			for (; back > 0; back--)
				hour_span(window, span->starts - 1, span);
			return true;
		case LB_DAILY:
		case LB_WEEKLY:
		case LB_MONTHLY:
			local_time(window, at, &tm);
			day_span(window, date2j(tm.tm_year, tm.tm_mon, tm.tm_mday), back,
					 span);
			return true;
	}
	return false;
}

bool
lb_window_span(LbWindow *window, TimestampTz at, int back, LbSpan *span)
{
	if (window->period != LB_ONCE && back == 0 && window->has_last &&
		at >= window->last.starts && at < window->last.ends)
	{
		*span = window->last;
		return true;
	}
	if (!find_span(window, at, back, span))
		return false;
	if (back == 0)
	{
		window->last = *span;
		window->has_last = true;
		window->has_closes = false;
	}
	return true;
}

/* n digits as a number, or -1. */
static int
digits(const char *s, int n)
{
	int			result = 0;

	for (int i = 0; i < n; i++)
	{
		if (s[i] < '0' || s[i] > '9')
			return -1;
		result = result * 10 + (s[i] - '0');
	}
	return result;
}

/* The span of a window whose key ends in these digits. */
static bool
span_of_digits(const LbWindow *window, const char *s, int len, LbSpan *span)
{
	int			year = len >= 6 ? digits(s, 4) : -1;
	int			second = len >= 6 ? digits(s + 4, 2) : -1;
	int			day = len >= 8 ? digits(s + 6, 2) : 1;
	int			hour = len >= 10 ? digits(s + 8, 2) : 0;
	static const int lengths[] = {0, 10, 8, 6, 6};

	if (len != lengths[window->period] || year < 1 || second < 1 || day < 1 ||
		hour < 0 || hour > 23)
		return false;
	if (window->period == LB_WEEKLY)
	{
		if (second > 53)
			return false;
		day_span(window, isoweek2j(year, second) - week_shift(window), 0, span);
		return true;
	}
	if (second > 12 || day > 31)
		return false;
	if (window->period != LB_HOURLY)
	{
		day_span(window, date2j(year, second, day), 0, span);
		return true;
	}

	/* An hour begins within a day and an hour of its day's beginning. */
	{
		TimestampTz at = day_begins(window, date2j(year, second, day));

		hour_span(window, at, span);
		for (int i = 0; i < 24; i++)
		{
			if (digits(span->key + strlen(window->name) + 9, 2) >= hour)
				break;
			hour_span(window, span->ends, span);
		}
	}
	return true;
}

LbWindow *
lb_window_of_key(const char *key, int len, LbSpan *span)
{
	LbWindow   *window = lb_window_find(key, len);
	const char *colon;

	if (window != NULL && window->period == LB_ONCE)
	{
		(void) lb_window_span(window, window->starts, 0, span);
		return window;
	}
	colon = memchr(key, ':', len);
	if (colon == NULL)
		return NULL;
	window = lb_window_find(key, colon - key);
	if (window == NULL || window->period == LB_ONCE ||
		!span_of_digits(window, colon + 1, len - (colon + 1 - key), span))
		return NULL;

	/* The 31st of April, or an hour that was left out. */
	if ((int) strlen(span->key) != len || memcmp(span->key, key, len) != 0)
		return NULL;
	return window;
}

/*
 * Days are of 24 hours and months those of UTC: what a window's end is must not
 * depend on the time zone of the session that asks.
 */
static TimestampTz
after(TimestampTz at, const Interval *interval)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval,
												 TimestampGetDatum(at),
												 IntervalPGetDatum(interval)));
}

TimestampTz
lb_window_closes(LbWindow *window, const LbSpan *span)
{
	bool		last = window->has_last && span->ends == window->last.ends;
	TimestampTz late;

	if (last && window->has_closes)
		return window->closes;
	late = after(span->ends, &window->late);
	late = Min(late, lb_window_goes(window, span));
	window->has_closes = last;
	window->closes = late;
	return late;
}

TimestampTz
lb_window_goes(const LbWindow *window, const LbSpan *span)
{
	return after(span->ends, &window->keep);
}

/*
 * The length of a window's name in one that counts back from it, "daily-1", and
 * how far back; -1 if it is no such name.
 */
static int
split_alias(const char *name, int len, int *back)
{
	int			n = len;

	while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	if (n < 2 || name[n - 1] != '-' || n == len || len - n > 4 ||
		(name[n] == '0' && len - n > 1))
		return -1;
	*back = digits(name + n, len - n);
	return n - 1;
}

/* The recorded window that a name counts back from, or NULL. */
static LbWindow *
window_of_alias(const char *name, int len)
{
	int			back;
	int			n = split_alias(name, len, &back);
	LbWindow   *window = n < 0 ? NULL : lb_window_find(name, n);

	return window != NULL && window->period != LB_ONCE ? window : NULL;
}

/* Whether a name would count back from a window of that name. */
static bool
is_alias_of(const char *name, const char *window)
{
	int			back;
	int			n = split_alias(name, strlen(name), &back);

	return n >= 0 && n == (int) strlen(window) &&
		strncmp(name, window, n) == 0;
}

char *
lb_window_alias(const char *name, int len, int *keylen)
{
	LbWindow   *window;
	LbSpan		span;
	int			back = 0;

	/* A recorded name first, or nobody could name one "top-10". */
	window = find_or_default(name, len);
	if (window == NULL)
	{
		int			n = split_alias(name, len, &back);

		if (n >= 0)
			window = find_or_default(name, n);
	}
	if (window == NULL || window->period == LB_ONCE)
		return NULL;
	StaticAssertStmt(MAX_BACK == 9999, "four digits");
	(void) lb_window_span(window, GetCurrentTransactionStartTimestamp(), back,
						  &span);
	*keylen = strlen(span.key);
	return pstrdup(span.key);
}


/* ----------------------------------------------------------------
 *		Closed windows
 * ----------------------------------------------------------------
 */

/* Two keys with one hash wait for each other, which harms nobody. */
static void
key_locktag(const char *key, int len, LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, lb_own_table("lb_closed"),
					   hash_bytes((const unsigned char *) key, len), 0);
}

void
lb_window_lock(const char *key, int len, LOCKMODE mode)
{
	LOCKTAG		tag;

	key_locktag(key, len, &tag);
	(void) LockAcquire(&tag, mode, false, false);
}

bool
lb_window_try_lock(const char *key, int len, LOCKMODE mode)
{
	LOCKTAG		tag;

	key_locktag(key, len, &tag);
	return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

bool
lb_window_is_closed(const char *key, int len)
{
	Relation	rel;
	Oid			index = lb_own_table("lb_closed_pkey");
	ScanKeyData skey;
	SysScanDesc scan;
	bool		closed;

	/* The newest state, whatever the caller's snapshot. */
	rel = table_open(lb_own_table("lb_closed"), AccessShareLock);
	ScanKeyInit(&skey, 1, BTEqualStrategyNumber, F_TEXTEQ,
				PointerGetDatum(cstring_to_text_with_len(key, len)));
	skey.sk_collation = C_COLLATION_OID;
	scan = systable_beginscan(rel, index, true, NULL, 1, &skey);
	closed = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return closed;
}

/*
 * Whoever closes a key sends an invalidation of lb_closed before he releases
 * the lock on it.
 */
bool
lb_window_locked_is_closed(const char *key, int len)
{
	Oid			relid = lb_own_table("lb_closed");
	uint64		before;

	AcceptInvalidationMessages();
	if (closed_relid != relid)
	{
		closed_relid = relid;
		nnot_closed = 0;
	}
	for (int i = 0; i < nnot_closed; i++)
	{
		if (strncmp(not_closed[i], key, len) == 0 && not_closed[i][len] == '\0')
			return false;
	}
	before = nclosings;
	if (lb_window_is_closed(key, len))
		return true;
	if (len <= LB_MAX_WINDOW_KEY && before == nclosings)
	{
		if (nnot_closed == MAX_NOT_CLOSED)
			nnot_closed = 0;
		memcpy(not_closed[nnot_closed], key, len);
		not_closed[nnot_closed++][len] = '\0';
	}
	return false;
}


/* ----------------------------------------------------------------
 *		SQL functions
 * ----------------------------------------------------------------
 */

Datum
lb_window_key(PG_FUNCTION_ARGS)
{
	char	   *name;
	LbWindow   *window;
	LbSpan		span;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	window = find_or_default(name, strlen(name));
	if (window == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("window \"%s\" does not exist", name),
				 errhint("The table lb_window lists the windows; \"hourly\", \"daily\", \"weekly\" and \"monthly\" are always known.")));
	if (!lb_window_span(window, PG_GETARG_TIMESTAMPTZ(1), 0, &span))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(span.key));
}

/* Who may say which windows there are: who owns the table with their rows. */
static void
require_window_owner(void)
{
	LbTarget	target;

	/* Without the family, only who can make it. */
	if (!superuser())
	{
		lb_find_target("*", 1, &target);
		lb_require_owner(target.defn->source);
	}
}

static void
lock_name(uint32 hash)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, lb_own_table("lb_window"), hash, 0);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/*
 * Names clash where they are the same up to a colon, or where one counts back
 * from the other.
 */
void
lb_window_lock_name(const char *name)
{
	int			len = strcspn(name, ":");
	uint32		hash = hash_bytes((const unsigned char *) name, len);
	uint32		other = hash;
	int			back;

	len = split_alias(name, len, &back);
	if (len >= 0)
		other = hash_bytes((const unsigned char *) name, len);

	/* In one order, lest two wait for each other. */
	lock_name(Min(hash, other));
	if (other != hash)
		lock_name(Max(hash, other));
	AcceptInvalidationMessages();
}

/*
 * A new window must neither hide what the name "daily-1" means nor come to mean
 * what a board or a window of such a name is.
 */
static void
check_alias(const char *name, LbPeriod period)
{
	LbWindow   *window;
	LbDefinition **defns;
	int			n;

	if (period == LB_ONCE || lb_window_find(name, strlen(name)) != NULL)
		return;
	window = window_of_alias(name, strlen(name));
	if (window != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a window: \"%s\"", name),
				 errdetail("Reads of \"%s\" are of the window \"%s\" as it was before.",
						   name, window->name),
				 errhint("Use another name.")));
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
	{
		if (is_alias_of(defns[i]->name, name))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("board \"%s\" already exists", defns[i]->name),
					 errdetail("Reads of \"%s\" would not find the window \"%s\" as it was before.",
							   defns[i]->name, name),
					 errhint("Use another name.")));
	}
	load_windows();
	for (int i = 0; i < nwindows; i++)
	{
		if (is_alias_of(windows[i]->name, name))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_NAME),
					 errmsg("invalid name of a window: \"%s\"", name),
					 errdetail("Reads of \"%s\" are of a window of that name.",
							   windows[i]->name),
					 errhint("Use another name.")));
	}
}

static void
check_window_name(const char *name, LbPeriod period)
{
	int			len = strlen(name);
	const char *colon = strchr(name, ':');
	LbDefinition **defns;
	int			n;
	int			prefix = colon == NULL ? len : (int) (colon - name);

	if (period == LB_ONCE ? colon == NULL || prefix == 0 ||
		colon[1] == '\0' : colon != NULL || len == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a window: \"%s\"", name),
				 period == LB_ONCE ?
				 errhint("A window that comes once has a name with a colon, such as \"tourney:T123\"; one that comes again has a \"period\".") :
				 errhint("A window that comes again has a name without a colon; its keys are the name, a colon and digits.")));
	if (len > LB_MAX_WINDOW_NAME || prefix > LB_MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of a window is too long: \"%s\"", name),
				 errdetail("It has at most %d bytes, %d of them before a colon.",
						   LB_MAX_WINDOW_NAME, LB_MAX_NAME)));
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
	{
		if ((int) strlen(defns[i]->name) == prefix &&
			strncmp(defns[i]->name, name, prefix) == 0 &&
			(colon == NULL || defns[i]->family))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("board \"%s\" already exists", defns[i]->name),
					 errdetail("Reads of \"%s\" would not find the window.",
							   name)));
	}
	check_alias(name, period);
	load_windows();
	for (int i = 0; i < nwindows && period != LB_ONCE; i++)
	{
		if (strncmp(windows[i]->name, name, len) == 0 &&
			windows[i]->name[len] == ':')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_NAME),
					 errmsg("invalid name of a window: \"%s\"", name),
					 errdetail("Of the keys that begin with \"%s:\", \"%s\" is another window.",
							   name, windows[i]->name),
					 errhint("Use another name.")));
	}
	if (period == LB_ONCE)
	{
		LbPeriod	builtin;
		char	   *before = pnstrdup(name, prefix);

		if (period_from_text(before, &builtin) ||
			lb_window_find(before, prefix) != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_NAME),
					 errmsg("invalid name of a window: \"%s\"", name),
					 errdetail("Keys that begin with \"%s:\" belong to the window \"%s\".",
							   before, before)));
	}
}

void
lb_window_check_board(const char *board, bool family)
{
	int			len = strlen(board);
	LbWindow   *window;

	load_windows();
	for (int i = 0; i < nwindows; i++)
	{
		const char *name = windows[i]->name;

		if (strncmp(name, board, len) == 0 &&
			(name[len] == '\0' || (family && name[len] == ':')))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("window \"%s\" already exists", name),
					 errdetail("Reads of \"%s\" would not find the window.",
							   name),
					 errhint("Use another name.")));
	}
	window = window_of_alias(board, len);
	if (window != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("window \"%s\" already exists", window->name),
				 errdetail("Reads of \"%s\" are of that window as it was before.",
						   board),
				 errhint("Use another name.")));
}

void
lb_check_interval(const char *name, const Interval *interval)
{
	/* A month less 30 days is now one thing, now another. */
	if (interval->month < 0 || interval->day < 0 || interval->time < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be negative", name),
				 errdetail("Neither its months nor its days nor its time may be.")));

	/* Submits add it to the ends of windows. */
	(void) after((TimestampTz) (date2j(10000, 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY,
				 interval);
}

Datum
lb_open_window(PG_FUNCTION_ARGS)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID, TEXTOID, TEXTOID, INT4OID,
		TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, INTERVALOID, INTERVALOID,
	INT4OID};
	Datum		values[10];
	char		nulls[10];
	char	   *name;
	char	   *time_zone;
	LbPeriod	period = LB_ONCE;
	pg_tz	   *tz;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_open_window()");
	require_window_owner();
	if (PG_ARGISNULL(0))
		lb_null_argument("name");
	if (PG_ARGISNULL(2))
		lb_null_argument("time_zone");
	if (PG_ARGISNULL(3))
		lb_null_argument("first_day");
	for (int i = 0; i < 10; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i) ? 'n' : ' ';
	}

	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (!PG_ARGISNULL(1))
	{
		char	   *s = text_to_cstring(PG_GETARG_TEXT_PP(1));

		if (!period_from_text(s, &period))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown period \"%s\"", s),
					 errhint("The periods are \"hourly\", \"daily\", \"weekly\" and \"monthly\".")));
	}
	else if (period_from_text(name, &period))
	{
		values[1] = values[0];
		nulls[1] = ' ';
	}
	lb_window_lock_name(name);
	check_window_name(name, period);

	time_zone = text_to_cstring(PG_GETARG_TEXT_PP(2));
	tz = pg_tzset(time_zone);
	if (tz == NULL || !pg_tz_acceptable(tz))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" not recognized", time_zone)));
	if (PG_GETARG_INT32(3) < 1 || PG_GETARG_INT32(3) > 7)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "first_day",
						PG_GETARG_INT32(3)),
				 errhint("A week begins on a day from 1, Monday, to 7, Sunday.")));
	if (period == LB_ONCE)
	{
		if (PG_ARGISNULL(4))
			lb_null_argument("starts");
		if (PG_ARGISNULL(5))
			lb_null_argument("ends");
		if (TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(4)) ||
			TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(5)) ||
			PG_GETARG_TIMESTAMPTZ(4) >= PG_GETARG_TIMESTAMPTZ(5))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("window \"%s\" must end after it starts", name)));

		/* Nor is it closed before we have committed. */
		lb_window_lock(name, strlen(name), RowExclusiveLock);
		if (lb_window_is_closed(name, strlen(name)))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("window \"%s\" has been closed", name),
					 errhint("Use another name.")));
	}
	else if (!PG_ARGISNULL(4) || !PG_ARGISNULL(5))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a window that comes again has no start and no end"),
				 errhint("They are those of each %s span.",
						 periods[period].name)));
	if (!PG_ARGISNULL(6))
		(void) lb_op_from_text(text_to_cstring(PG_GETARG_TEXT_PP(6)));
	if (PG_ARGISNULL(7))
	{
		values[7] = DirectFunctionCall3(interval_in,
										CStringGetDatum(periods[period].keep),
										ObjectIdGetDatum(InvalidOid),
										Int32GetDatum(-1));
		nulls[7] = ' ';
	}
	lb_check_interval("keep", DatumGetIntervalP(values[7]));
	if (!PG_ARGISNULL(8))
		lb_check_interval("late", PG_GETARG_INTERVAL_P(8));
	if (period == LB_ONCE)
	{
		(void) after(PG_GETARG_TIMESTAMPTZ(5), DatumGetIntervalP(values[7]));
		if (!PG_ARGISNULL(8))
			(void) after(PG_GETARG_TIMESTAMPTZ(5), PG_GETARG_INTERVAL_P(8));
	}
	if (!PG_ARGISNULL(9) && PG_GETARG_INT32(9) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "archive_top",
						PG_GETARG_INT32(9)),
				 errhint("\"%s\" must be at least 0; null is all places.",
						 "archive_top")));

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
					  10, types, values, nulls);
	SPI_finish();
	PG_RETURN_VOID();
}

Datum
lb_close_window(PG_FUNCTION_ARGS)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID};
	Datum		values[1];
	uint64		n;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_close_window()");
	if (PG_ARGISNULL(0))
		lb_null_argument("name");
	require_window_owner();
	values[0] = PG_GETARG_DATUM(0);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");

	/* One that comes once ends now, or has never been. */
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
				 errmsg("window \"%s\" does not exist",
						text_to_cstring(PG_GETARG_TEXT_PP(0))),
				 errhint("The table lb_window lists the windows.")));
	PG_RETURN_VOID();
}

void
lb_windows_end(void)
{
	static LbPlan plan;

	(void) lb_own_run(&plan, "DELETE FROM @.lb_window", 0, NULL, NULL, NULL);
}

void
lb_windows_begin(const LbDefinition *family)
{
	static LbPlan plan;
	static const Oid types[] = {NAMEOID, REGCLASSOID};
	NameData	owner;
	Datum		values[2];

	namestrcpy(&owner, GetUserNameFromId(family->owner, false));
	values[0] = NameGetDatum(&owner);
	values[1] = ObjectIdGetDatum(family->source);
	(void) lb_own_run(&plan,
					  "DELETE FROM @.lb_closed c WHERE NOT EXISTS "
					  "(SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.=) c.board "
					  "AND a.season OPERATOR(pg_catalog.=) '' "
					  "AND (a.owner OPERATOR(pg_catalog.=) $1 OR a.source OPERATOR(pg_catalog.=) "
					  "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $2)))",
					  2, types, values, NULL);
}
