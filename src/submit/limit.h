/*-------------------------------------------------------------------------
 *
 * limit.h
 *	  Limits of what may be submitted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LIMIT_H
#define LB_LIMIT_H

#include "submit/submission.h"

/*
 * Check a submit against the limits of its boards: before it writes, the
 * amounts and the numbers of submits; after it has written, the scores, which
 * must be known if lb_limits_need_scores().  If a limit rejects, raise 23514;
 * with s->outcomes, set s->refused, and the outcome of each item that it
 * refuses.  lb_limits_after() counts in lb_anomaly what limits flag.  Between
 * SPI_connect and SPI_finish.
 */
extern void lb_limits_before(LbSubmit *s);
extern void lb_limits_after(LbSubmit *s);

/* Whether lb_limits_after() will need the scores of all players. */
extern bool lb_limits_need_scores(const LbSubmit *s);

/*
 * Make the error of a submit that was forwarded, and exceeds a limit, the one
 * that lb_limits_before() raises here.
 */
extern void lb_explain_forwarded(ErrorData *error);

/*
 * The board that the limit of that name is for, or NULL if there is none.  Can
 * raise.
 */
extern const char *lb_limit_board(const char *name);

/* The beginning of a hint for a name that none has: as lb_nearest_hint(). */
extern const char *lb_nearest_limit(const char *name);

/*
 * Raise 0A000: there is no table to count in beside the distributed table of a
 * leaderboard.
 */
pg_noreturn extern void lb_raise_no_counts(const char *leaderboard);

/*
 * A leaderboard's board of scores, or the family of its windows, is gone or is
 * another table's: remove its limits, and what has been counted for them in
 * lb_usage.  Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_limits_end(const char *board, bool windows);

#endif							/* LB_LIMIT_H */
