/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  A clock that is not set, and whether the other one was.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CLOCK_H
#define LB_CLOCK_H

#include "postgres.h"

/*
 * Microseconds since some moment in the past, for measuring how long something
 * takes.  GetCurrentTimestamp() can be set forward and back meanwhile; this is
 * not.
 */
extern int64 lb_clock(void);

/*
 * By how many microseconds the server's clock was set since the last call with
 * this *offset, to which the caller gives the value 0 before the first.  0 if
 * it was not, or by less than ten seconds: a clock that is slewed comes to
 * five in a minute, so call it at least that often.  Negative if it was set
 * back.  A machine that was suspended has its clock set forward.
 */
extern int64 lb_clock_was_set(int64 *offset);

/*
 * The moment of lb_clock() after an interval of the server's clock,
 * PG_INT64_MAX for never.  Raises if it is out of range.
 */
extern int64 lb_clock_after(Datum interval);

/*
 * Milliseconds until a moment of lb_clock(), -1 for never; 0 if it has passed.
 */
extern long lb_time_left(int64 until);

#endif							/* LB_CLOCK_H */
