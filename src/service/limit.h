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
 * Hold a submit against the limits of its boards, before it writes: amounts
 * and numbers of submits; and after it has, for which the scores must be
 * known: scores.  Between SPI_connect and SPI_finish.  Raises 23514 where a
 * limit rejects.  What a limit flags is counted in lb_anomaly, by
 * lb_limits_after().
 */
extern void lb_limits_before(LbSubmit *s);
extern void lb_limits_after(LbSubmit *s);

/* Whether lb_limits_after() will need the scores of all players. */
extern bool lb_limits_need_scores(const LbSubmit *s);

/*
 * The board "global" (windows false) or the family "*" (true) is gone, or is
 * another table's: remove the limits of "global", or of windows, and what has
 * been counted for them.  Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_limits_end(bool windows);

#endif							/* LB_LIMIT_H */
