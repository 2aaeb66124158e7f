/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  A clock that is not set, and whether the other one was.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "portability/instr_time.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "util/clock.h"

#define LEAST_STEP (10 * USECS_PER_SEC)

int64
lb_clock(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) INSTR_TIME_GET_MICROSEC(now);
}

int64
lb_clock_was_set(int64 *offset)
{
	int64		now = GetCurrentTimestamp() - lb_clock();
	int64		step = *offset == 0 ? 0 : now - *offset;

	*offset = now;
	return step > -LEAST_STEP && step < LEAST_STEP ? 0 : step;
}

int64
lb_clock_after(Datum interval)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz until = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
																TimestampTzGetDatum(now),
																interval));

	if (TIMESTAMP_NOT_FINITE(until))
		return TIMESTAMP_IS_NOEND(until) ? PG_INT64_MAX : 0;
	return lb_clock() + (until - now);
}

long
lb_time_left(int64 until)
{
	if (until == PG_INT64_MAX)
		return -1;
	return (long) Min((Max(until - lb_clock(), 0) + 999) / 1000, INT_MAX);
}
