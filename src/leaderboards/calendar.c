/*-------------------------------------------------------------------------
 *
 * calendar.c
 *	  The calendar: which span of a window a moment is in.
 *
 * A kind of window comes each hour, day, week or month, or once.  A span is
 * one of them, and its key names it: "daily:20260409".  Nothing here reads a
 * table.
 *
 * A key is in local time of the window's time zone.  An hour that the clocks
 * repeat is one span of two hours, and an hour that they leave out is none.
 * Keys never go back: if clocks are about to be turned back behind a time,
 * that time counts as the one that they are turned back to.  So a day begins
 * when its date comes and stays, and every moment is in one span of each kind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "leaderboards/calendar.h"

/* Clocks are turned by multiples of this. */
#define QUARTER (15 * USECS_PER_MINUTE)

const LbPeriodName lb_periods[] = {
	[LB_ONCE] = {NULL, "14 days"},
	[LB_HOURLY] = {"hourly", "24 hours"},
	[LB_DAILY] = {"daily", "48 hours"},
	[LB_WEEKLY] = {"weekly", "14 days"},
	[LB_MONTHLY] = {"monthly", "62 days"},
};

bool
lb_period_from_text(const char *s, LbPeriod *period)
{
	for (int p = LB_HOURLY; p <= LB_MONTHLY; p++)
	{
		if (strcmp(s, lb_periods[p].name) == 0)
		{
			*period = p;
			return true;
		}
	}
	return false;
}

static void
out_of_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("timestamp out of range"),
			 errdetail("Windows are of the years from 1 to 9999.")));
}

static pg_tz *
zone_of(const LbCalendar *calendar)
{
	if (calendar->tz == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" of window \"%s\" is not recognized",
						calendar->time_zone, calendar->name)));
	return calendar->tz;
}

/*
 * The seconds by which the local time of a moment is later than the earliest
 * local time that is still to come: above 0 if clocks are about to be turned
 * back behind it.
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

	/* Look a day ahead: no turn is of more than that. */
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
calendar_time(const LbCalendar *calendar, TimestampTz at, struct pg_tm *tm)
{
	pg_tz	   *tz = zone_of(calendar);
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
local_time(const LbCalendar *calendar, TimestampTz at, struct pg_tm *tm)
{
	if (TIMESTAMP_NOT_FINITE(at) || !calendar_time(calendar, at, tm) ||
		tm->tm_year < 1 || tm->tm_year > 9999)
		out_of_range();
}

/* Whether the local date of a moment is the given day or a later one. */
static bool
has_begun(const LbCalendar *calendar, int julian, TimestampTz at)
{
	struct pg_tm tm;

	return calendar_time(calendar, at, &tm) &&
		date2j(tm.tm_year, tm.tm_mon, tm.tm_mday) >= julian;
}

/*
 * The moment at which a local day begins: the first of two where clocks are
 * turned back to midnight, and the last where they are turned back behind it.
 */
static TimestampTz
day_begins(const LbCalendar *calendar, int julian)
{
	struct pg_tm tm;
	TimestampTz result;
	TimestampTz before;
	int			offset;

	memset(&tm, 0, sizeof(tm));
	j2date(julian, &tm.tm_year, &tm.tm_mon, &tm.tm_mday);
	offset = DetermineTimeZoneOffset(&tm, zone_of(calendar));
	if (tm2timestamp(&tm, 0, &offset, &result) != 0)
		out_of_range();
	while (!has_begun(calendar, julian, result))
		result += QUARTER;
	while (has_begun(calendar, julian, result - QUARTER))
		result -= QUARTER;

	/* To the second: not all zones have turned by quarters of an hour. */
	before = result - QUARTER;
	while (result - before > USECS_PER_SEC)
	{
		TimestampTz mid = before +
			(result - before) / 2 / USECS_PER_SEC * USECS_PER_SEC;

		if (has_begun(calendar, julian, mid))
			result = mid;
		else
			before = mid;
	}
	return result;
}

static void
write_hour(const LbCalendar *calendar, const struct pg_tm *tm, char *key,
		   Size size)
{
	snprintf(key, size, "%s:%04d%02d%02d%02d", calendar->name, tm->tm_year,
			 tm->tm_mon, tm->tm_mday, tm->tm_hour);
}

static void
hour_key(const LbCalendar *calendar, TimestampTz at, char *key, Size size)
{
	struct pg_tm tm;

	local_time(calendar, at, &tm);
	write_hour(calendar, &tm, key, size);
}

/* Whether a moment, of any year, is in the hour with this key. */
static bool
is_hour(const LbCalendar *calendar, TimestampTz at, const char *key)
{
	struct pg_tm tm;
	char		its[LB_MAX_WINDOW_KEY + 1];

	if (!calendar_time(calendar, at, &tm))
		return false;
	write_hour(calendar, &tm, its, sizeof(its));
	return strcmp(its, key) == 0;
}

/*
 * The second at which an hour changes to another.  Search from a second that
 * is in the hour, first to bound and then in steps, which may go backwards.
 */
static TimestampTz
hour_bound(const LbCalendar *calendar, const char *key, TimestampTz same,
		   TimestampTz bound, int64 step)
{
	while (is_hour(calendar, bound, key))
	{
		same = bound;
		bound += step;
	}
	while (llabs(bound - same) > USECS_PER_SEC)
	{
		TimestampTz mid = same +
			(bound - same) / 2 / USECS_PER_SEC * USECS_PER_SEC;

		if (is_hour(calendar, mid, key))
			same = mid;
		else
			bound = mid;
	}
	return Max(same, bound);
}

/*
 * Clocks are turned within hours, so search for where this one begins and
 * ends.
 */
static void
hour_span(const LbCalendar *calendar, TimestampTz at, LbSpan *span)
{
	TimestampTz second = at - at % USECS_PER_SEC -
		(at % USECS_PER_SEC < 0 ? USECS_PER_SEC : 0);
	TimestampTz quarter = at - at % QUARTER - (at % QUARTER < 0 ? QUARTER : 0);

	/* By quarters, whatever moment is asked for: its hour may come again. */
	hour_key(calendar, at, span->key, sizeof(span->key));
	span->starts = hour_bound(calendar, span->key, second,
							  quarter < second ? quarter : quarter - QUARTER,
							  -QUARTER);
	span->ends = hour_bound(calendar, span->key, second, quarter + QUARTER,
							QUARTER);
}

/*
 * Days from the beginning of a week to that of the ISO week whose number it
 * has: the one that most of its days are in.
 */
static int
week_shift(const LbCalendar *calendar)
{
	return calendar->first_day <= 4 ? 1 - calendar->first_day :
		8 - calendar->first_day;
}

/* The span of a period other than an hour that has a local day in it. */
static void
day_span(const LbCalendar *calendar, int julian, int back, LbSpan *span)
{
	int			year;
	int			month;
	int			day;
	int			first = 0;
	int			next = 0;

	switch (calendar->period)
	{
		case LB_DAILY:
			first = julian - back;
			next = first + 1;
			j2date(first, &year, &month, &day);
			snprintf(span->key, sizeof(span->key), "%s:%04d%02d%02d",
					 calendar->name, year, month, day);
			break;
		case LB_WEEKLY:
			{
				/* As if weeks began on Monday. */
				int			iso = julian + week_shift(calendar) - 7 * back;
				int			monday = iso - (j2day(iso) + 6) % 7;

				j2date(iso, &year, &month, &day);
				snprintf(span->key, sizeof(span->key), "%s:%04d%02d",
						 calendar->name, date2isoyear(year, month, day),
						 date2isoweek(year, month, day));
				first = monday - week_shift(calendar);
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
						 calendar->name, year, month);
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
	span->starts = day_begins(calendar, first);
	span->ends = day_begins(calendar, next);
}

bool
lb_calendar_span(const LbCalendar *calendar, TimestampTz at, int back,
				 LbSpan *span)
{
	struct pg_tm tm;

	if (TIMESTAMP_NOT_FINITE(at))
		out_of_range();
	switch (calendar->period)
	{
		case LB_ONCE:
			strlcpy(span->key, calendar->name, sizeof(span->key));
			span->starts = calendar->starts;
			span->ends = calendar->ends;
			return at >= calendar->starts && at < calendar->ends;
		case LB_HOURLY:
			hour_span(calendar, at, span);
			for (; back > 0; back--)
				hour_span(calendar, span->starts - 1, span);
			return true;
		case LB_DAILY:
		case LB_WEEKLY:
		case LB_MONTHLY:
			local_time(calendar, at, &tm);
			day_span(calendar, date2j(tm.tm_year, tm.tm_mon, tm.tm_mday), back,
					 span);
			return true;
	}
	return false;
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
bool
lb_calendar_span_of_digits(const LbCalendar *calendar, const char *s,
						   int len, LbSpan *span)
{
	int			year = len >= 6 ? digits(s, 4) : -1;
	int			second = len >= 6 ? digits(s + 4, 2) : -1;
	int			day = len >= 8 ? digits(s + 6, 2) : 1;
	int			hour = len >= 10 ? digits(s + 8, 2) : 0;
	static const int lengths[] = {0, 10, 8, 6, 6};

	if (len != lengths[calendar->period] || year < 1 || second < 1 || day < 1 ||
		hour < 0 || hour > 23)
		return false;
	if (calendar->period == LB_WEEKLY)
	{
		if (second > 53)
			return false;
		day_span(calendar, isoweek2j(year, second) - week_shift(calendar), 0,
				 span);
		return true;
	}
	if (second > 12 || day > 31)
		return false;
	if (calendar->period != LB_HOURLY)
	{
		day_span(calendar, date2j(year, second, day), 0, span);
		return true;
	}

	/* An hour begins within a day and an hour of its day's beginning. */
	{
		TimestampTz at = day_begins(calendar, date2j(year, second, day));

		hour_span(calendar, at, span);
		for (int i = 0; i < 24; i++)
		{
			if (digits(span->key + strlen(calendar->name) + 9, 2) >= hour)
				break;
			hour_span(calendar, span->ends, span);
		}
	}
	return true;
}

TimestampTz
lb_calendar_after(TimestampTz at, const Interval *interval)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval,
												 TimestampGetDatum(at),
												 IntervalPGetDatum(interval)));
}

void
lb_check_interval(const char *name, const Interval *interval)
{
	/* What a month less 30 days is depends on the month. */
	if (interval->month < 0 || interval->day < 0 || interval->time < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be negative", name),
				 errdetail("Neither its months nor its days nor its time may be.")));

	/* Submits add it to the ends of windows. */
	(void) lb_calendar_after((TimestampTz) (date2j(10000, 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY,
							 interval);
}

int
lb_split_alias(const char *name, int len, int *back)
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
