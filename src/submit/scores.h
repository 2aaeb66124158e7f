/*-------------------------------------------------------------------------
 *
 * scores.h
 *	  The statements on the users' tables that write and read scores.
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

/* Whether a table has a column that submits set to their time. */
extern bool lb_has_updated_at(const LbDefinition *defn);

/*
 * Write a submit of one change by one statement, if it is an increment that
 * all boards get.  Returns false, and writes nothing, if it is not.
 */
extern bool lb_write_single(LbSubmit *s);

/*
 * Write to "global", and then to the windows that are open.  The scores of the
 * rows that are written are known afterwards if s->need_scores.
 */
extern void lb_write_scores(LbSubmit *s);
extern void lb_write_windows(LbSubmit *s);

/*
 * Before anything is written: look up who is hidden, and note which players
 * have no row of "global" (s->exists), and for which a new one is not ranked
 * (s->enters).  If there is one player without that row, the player is locked.
 */
extern void lb_find_entering(LbSubmit *s);

/*
 * After the rows are written: unlock that player, and hide rows of players who
 * have been hidden meanwhile.
 */
extern void lb_end_entering(LbSubmit *s);

/*
 * Read the scores of n boards, from number first on, that no statement has
 * returned yet.  They are all windows, or "global" alone.
 */
extern void lb_read_missing_scores(LbSubmit *s, int first, int n);

/*
 * Whether a trigger of the user has kept lb_submit()'s change from being
 * written: no row was, and the score is not what the change would leave as it
 * is.
 */
extern bool lb_kept_out(const LbSubmit *s, int board);

#endif							/* LB_SCORES_H */
