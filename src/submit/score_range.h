/*-------------------------------------------------------------------------
 *
 * score_range.h
 *	  Scores within the ranges of their columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCORE_RANGE_H
#define LB_SCORE_RANGE_H

#include "submit/submission.h"

/* Whether a score, or an amount, fits into the column of a board's scores. */
extern bool lb_score_fits(const LbDefinition *defn, int128 score);

/* A number as text, palloc'd. */
extern char *lb_int128_text(int128 value);

/*
 * After a submit has been written: if s->doubtful, take each player's changes
 * one by one, from the scores that were there before.  If one of them leads to
 * a score out of range, raise 22003; with s->outcomes, set s->refused, and the
 * outcome of each such item.
 */
extern void lb_check_range(LbSubmit *s);

#endif							/* LB_SCORE_RANGE_H */
