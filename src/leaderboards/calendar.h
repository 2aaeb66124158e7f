/*-------------------------------------------------------------------------
 *
 * calendar.h
 *	  The calendar: which span of a window a moment is in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CALENDAR_H
#define LB_CALENDAR_H

#include "datatype/timestamp.h"
#include "pgtime.h"

/* The longest name of a window, and so roughly of a window's key, in bytes. */
#define LB_MAX_WINDOW_NAME 200
#define LB_MAX_WINDOW_KEY (LB_MAX_WINDOW_NAME + 16)

typedef enum LbPeriod
{
	LB_ONCE,					/* has a start and an end of its own */
	LB_HOURLY,
	LB_DAILY,
	LB_WEEKLY,
	LB_MONTHLY
} LbPeriod;

/*
 * The name of a period, NULL for LB_ONCE, and how long its rows are kept by
 * default.
 */
typedef struct LbPeriodName
{
	const char *name;
	const char *keep;
} LbPeriodName;

/* By LbPeriod. */
extern const LbPeriodName lb_periods[];

/* When a kind of window comes. */
typedef struct LbCalendar
{
	char		name[LB_MAX_WINDOW_NAME + 1];
	LbPeriod	period;
	char	   *time_zone;
	pg_tz	   *tz;				/* NULL if there is no such time zone */
	int			first_day;		/* of a week: 1 is Monday */
	TimestampTz starts;			/* of LB_ONCE */
	TimestampTz ends;
} LbCalendar;

/* One window of a kind: the day, the week, the tournament. */
typedef struct LbSpan
{
	char		key[LB_MAX_WINDOW_KEY + 1];
	TimestampTz starts;
	TimestampTz ends;			/* the first moment that is not in it */
} LbSpan;

/* The period that a text names; false if it is none. */
extern bool lb_period_from_text(const char *s, LbPeriod *period);

/*
 * The span that contains a moment, back (0 is that one, 1 the one before).
 * Returns false if there is none, which is so for LB_ONCE only.  Raises 22008
 * where the calendar ends, 22023 if the time zone is not known.
 */
extern bool lb_calendar_span(const LbCalendar *calendar, TimestampTz at,
							 int back, LbSpan *span);

/*
 * The span whose key ends in these digits; false if they are not a date of the
 * period.  A date that does not exist gives a span with another key.
 */
extern bool lb_calendar_span_of_digits(const LbCalendar *calendar,
									   const char *s, int len, LbSpan *span);

/*
 * A moment later by an interval, with days of 24 hours and months of UTC: when
 * a window ends must not depend on the time zone of the session that asks.
 * Raises 22008 if that is beyond what a timestamp can be.
 */
extern TimestampTz lb_calendar_after(TimestampTz at, const Interval *interval);

/*
 * Raise 22023 if an interval is negative in any part, or 22008 if it reaches
 * from the last of windows beyond what a timestamp can be.
 */
extern void lb_check_interval(const char *name, const Interval *interval);

/*
 * The length of a window's name in one that counts back from it, "daily-1",
 * and how far back; -1 if it is no such name.
 */
extern int	lb_split_alias(const char *name, int len, int *back);

#endif							/* LB_CALENDAR_H */
