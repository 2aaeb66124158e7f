/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  A clock that is not set, and whether the other one was.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "portability/instr_time.h"
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
