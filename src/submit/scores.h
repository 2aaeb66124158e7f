/*-------------------------------------------------------------------------
 *
 * scores.h
 *	  Writing scores to the users' tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCORES_H
#define LB_SCORES_H

#include "submit/submission.h"

/*
 * All of these run between SPI_connect and SPI_finish, with the caller's
 * privileges, and can raise what the users' tables and triggers raise.
 */

/*
 * Write a submit of one change by one statement, if it is an increment that
 * all boards get.  Returns false, and writes nothing, if it is not.
 */
extern bool lb_write_single(LbSubmit *s);

/*
 * Write to the leaderboard's board, and then to the windows that are open.
 * The scores of the rows that are written are known afterwards if
 * s->need_scores.
 */
extern void lb_write_scores(LbSubmit *s);
extern void lb_write_windows(LbSubmit *s);

/*
 * Whether a trigger of the user has kept lb_submit()'s change from being
 * written: no row was, and the score is not what the change would leave as it
 * is.
 */
extern bool lb_kept_out(const LbSubmit *s, int board);

#endif							/* LB_SCORES_H */
