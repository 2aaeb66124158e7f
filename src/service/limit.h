/*-------------------------------------------------------------------------
 *
 * limit.h
 *	  Limits of what may be submitted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LIMIT_H
#define LB_LIMIT_H

#include "service/submission.h"

/*
 * Check a submit against the limits of its boards: before it writes, the
 * amounts and the numbers of submits; after it has written, the scores, which
 * must be known if lb_limits_need_scores().  If a limit rejects, raise 23514; with
 * s->each, set s->refused, and the limit in each item that it refuses.
 * lb_limits_after() counts in lb_anomaly what limits flag.  Between
 * SPI_connect and SPI_finish.
 */
extern void lb_limits_before(LbSubmit *s);
extern void lb_limits_after(LbSubmit *s);

/* Whether lb_limits_after() will need the scores of all players. */
extern bool lb_limits_need_scores(const LbSubmit *s);

/* Whether a limit applies to a board of a submit, whatever it says. */
extern bool lb_has_limits(const LbSubmit *s);

/*
 * A leaderboard's board of scores, or the family of its windows, is gone or is
 * another table's: remove its limits, and what has been counted for them.  Between
 * SPI_connect and SPI_finish; can raise.
 */
extern void lb_limits_end(const char *board, bool windows);

#endif							/* LB_LIMIT_H */
