/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Windows: boards of a leaderboard's family that begin and end by the
 *	  calendar.
 *
 * lb_window records kinds of windows: one that comes each day, each week, or
 * once.  What is written and read is a span of such a kind, by its key, which
 * is a value of the family's board column: "daily:20260409".  Nothing happens
 * at the turn of a span: the key of the next moment is another one.
 *
 * Each backend caches the rows of lb_window.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "boards/catalog.h"
#include "boards/row_cache.h"
#include "boards/target.h"
#include "leaderboards/closed.h"
#include "leaderboards/window.h"
#include "sql/spi.h"

PG_FUNCTION_INFO_V1(lb_window_at);

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

static const char *const op_names[LB_NOPS] = {
	[LB_OP_CHANGE] = "change",
	[LB_OP_INCR] = "incr",
	[LB_OP_SET] = "set",
	[LB_OP_BEST] = "best",
	[LB_OP_WORST] = "worst",
};


/* ----------------------------------------------------------------
 *		The cache
 * ----------------------------------------------------------------
 */

LbOp
lb_op_from_text(const char *s, const char *more)
{
	for (int op = LB_OP_INCR; op < LB_NOPS; op++)
	{
		if (strcmp(s, op_names[op]) == 0)
			return op;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown operation \"%s\"", s),
			 errhint("The operations are \"incr\", \"set\", \"best\" and \"worst\".%s", more)));
}

const char *
lb_op_name(LbOp op)
{
	return op_names[op];
}

static int
window_cmp(const void *a, const void *b)
{
	return strcmp((*(LbWindow *const *) a)->calendar.name,
				  (*(LbWindow *const *) b)->calendar.name);
}

/* A window as lb_open_window() makes it, with the defaults of its period. */
static void
window_init(LbWindow *window, const char *name, LbPeriod period)
{
	memset(window, 0, sizeof(LbWindow));
	strlcpy(window->calendar.name, name, sizeof(window->calendar.name));
	window->calendar.period = period;
	window->calendar.time_zone = "UTC";
	window->calendar.tz = pg_tzset(window->calendar.time_zone);
	window->calendar.first_day = 1;
	window->op = LB_OP_CHANGE;
	window->is_open = true;
}

static void *
window_from_tuple(HeapTuple tuple, TupleDesc desc)
{
	LbWindow   *window = palloc0(sizeof(LbWindow));
	Datum		values[Natts_lb_window];
	bool		nulls[Natts_lb_window];
	LbPeriod	period = LB_ONCE;

	lb_row_values(tuple, desc, Natts_lb_window, values, nulls);
#define VALUE(column) (values[Anum_lb_window_##column - 1])
#define IS_NULL(column) (nulls[Anum_lb_window_##column - 1])
	if (!IS_NULL(period))
		(void) lb_period_from_text(TextDatumGetCString(VALUE(period)), &period);
	window_init(window, TextDatumGetCString(VALUE(name)), period);
	window->calendar.time_zone = TextDatumGetCString(VALUE(time_zone));
	window->calendar.tz = pg_tzset(window->calendar.time_zone);
	window->calendar.first_day = DatumGetInt32(VALUE(first_day));
	if (!IS_NULL(starts))
		window->calendar.starts = DatumGetTimestampTz(VALUE(starts));
	if (!IS_NULL(ends))
		window->calendar.ends = DatumGetTimestampTz(VALUE(ends));
	if (!IS_NULL(op))
		window->op = lb_op_from_text(TextDatumGetCString(VALUE(op)), "");
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

static LbRowCache cache = {.table = "lb_window",.from_tuple = window_from_tuple,.cmp = window_cmp};

int
lb_windows(LbWindow ***windows)
{
	return lb_cached_rows(&cache, (void ***) windows);
}

LbWindow *
lb_window_find(const char *name, int len)
{
	void	  **windows;
	int			n = lb_cached_rows(&cache, &windows);

	return lb_find_by_name(windows, n, offsetof(LbWindow, calendar.name),
						   name, len);
}

/* Try the names of all windows that are recorded. */
static void
try_windows(LbNearest *nearest)
{
	LbWindow  **windows;
	int			n = lb_windows(&windows);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		lb_nearest_try(nearest, windows[i]->calendar.name);
	}
}

/* Try those that have keys even if they are not: see find_or_default(). */
static void
try_periods(LbNearest *nearest)
{
	for (int p = LB_HOURLY; p <= LB_MONTHLY; p++)
		lb_nearest_try(nearest, lb_periods[p].name);
}

/* Try what can be read by: a period's name leads to the family "*". */
static void
try_aliases(LbNearest *nearest)
{
	try_windows(nearest);
	if (lb_find_defn("*") != NULL)
		try_periods(nearest);
}

pg_noreturn static void
raise_not_found(const LbNearest *nearest, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("window \"%s\" does not exist", nearest->given),
			 errhint("%s%s", lb_nearest_hint(nearest), hint)));
}

void
lb_window_not_found(const char *name, const char *hint)
{
	LbNearest	nearest = lb_nearest_to(name);

	try_windows(&nearest);
	raise_not_found(&nearest, hint != NULL ? hint :
					"The table lb_window lists the windows; lb_open_window() opens one.");
}

/*
 * The window of that name.  The four that are named by their period have keys
 * even if they are not recorded: an application that keeps such rows itself
 * can read them by name too.
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
	if (!lb_period_from_text(s, &period))
		return NULL;
	window = palloc(sizeof(LbWindow));
	window_init(window, s, period);
	return window;
}


/* ----------------------------------------------------------------
 *		Spans
 * ----------------------------------------------------------------
 */

bool
lb_window_span(LbWindow *window, TimestampTz at, int back, LbSpan *span)
{
	if (window->calendar.period != LB_ONCE && back == 0 && window->has_last &&
		at >= window->last.starts && at < window->last.ends)
	{
		*span = window->last;
		return true;
	}
	if (!lb_calendar_span(&window->calendar, at, back, span))
		return false;
	if (back == 0)
	{
		window->last = *span;
		window->has_last = true;
		window->has_closes = false;
	}
	return true;
}

LbWindow *
lb_window_of_key(const char *key, int len, LbSpan *span)
{
	LbWindow   *window = lb_window_find(key, len);
	const char *colon;

	if (window != NULL && window->calendar.period == LB_ONCE)
	{
		(void) lb_window_span(window, window->calendar.starts, 0, span);
		return window;
	}
	colon = memchr(key, ':', len);
	if (colon == NULL)
		return NULL;
	window = lb_window_find(key, colon - key);
	if (window == NULL || window->calendar.period == LB_ONCE ||
		!lb_calendar_span_of_digits(&window->calendar, colon + 1,
									len - (colon + 1 - key), span))
		return NULL;

	/* The 31st of April, or an hour that was left out. */
	if ((int) strlen(span->key) != len || memcmp(span->key, key, len) != 0)
		return NULL;
	return window;
}

TimestampTz
lb_window_closes(LbWindow *window, const LbSpan *span)
{
	bool		last = window->has_last && span->ends == window->last.ends;
	TimestampTz late;

	if (last && window->has_closes)
		return window->closes;
	late = lb_calendar_after(span->ends, &window->late);
	late = Min(late, lb_window_goes(window, span));
	window->has_closes = last;
	window->closes = late;
	return late;
}

TimestampTz
lb_window_goes(const LbWindow *window, const LbSpan *span)
{
	return lb_calendar_after(span->ends, &window->keep);
}

/* How far back a name such as "daily-1" may reach. */
#define MAX_BACK 9999

char *
lb_window_alias(const char *name, int len, int *keylen)
{
	LbWindow   *window;
	LbSpan		span;
	int			back = 0;

	/* A recorded name first: a window may be named "top-10". */
	window = find_or_default(name, len);
	if (window == NULL)
	{
		int			n = lb_split_alias(name, len, &back);

		if (n >= 0)
			window = find_or_default(name, n);
	}
	if (window == NULL || window->calendar.period == LB_ONCE)
		return NULL;
	StaticAssertStmt(MAX_BACK == 9999, "four digits");
	(void) lb_window_span(window, GetCurrentTransactionStartTimestamp(), back,
						  &span);
	*keylen = strlen(span.key);
	return pstrdup(span.key);
}

/* Whether a recorded window has keys with that prefix. */
static bool
any_window_has(const char *prefix, int len)
{
	LbWindow  **windows;
	int			n = lb_windows(&windows);

	for (int i = 0; i < n; i++)
	{
		const char *name = windows[i]->calendar.name;

		if (strncmp(name, prefix, len) == 0 &&
			(name[len] == '\0' || name[len] == ':'))
			return true;
	}
	return false;
}

void
lb_leaderboards_init(void)
{
	static const LbAliases aliases = {
		.resolve = lb_window_alias,
		.has_prefix = any_window_has,
		.try_all = try_aliases
	};

	lb_register_aliases(&aliases);
}

Datum
lb_window_at(PG_FUNCTION_ARGS)
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
	{
		LbNearest	nearest = lb_nearest_to(name);

		try_windows(&nearest);
		try_periods(&nearest);
		raise_not_found(&nearest, "The table lb_window lists the windows; \"hourly\", \"daily\", \"weekly\" and \"monthly\" are always known.");
	}
	if (!lb_window_span(window, PG_GETARG_TIMESTAMPTZ(1), 0, &span))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(span.key));
}
