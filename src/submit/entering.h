/*-------------------------------------------------------------------------
 *
 * entering.h
 *	  Players whose first rows of scores a submit inserts: locks, and whether
 *	  these rows are ranked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ENTERING_H
#define LB_ENTERING_H

#include "submit/submission.h"

/*
 * All of these run between SPI_connect and SPI_finish, and can raise what the
 * users' tables raise.
 */

/*
 * Before anything is written: look up who is hidden, and note which players
 * have no row of the leaderboard's board (s->exists), and for which a new one
 * is not ranked (s->enters).  If there is one player without that row, the
 * player is locked.
 */
extern void lb_find_entering(LbSubmit *s);

/*
 * Of several players: before rows of the leaderboard's board are written, lock
 * those from number first on who have none, a limited number of them; returns
 * the number of the player behind them.  And unlock them.
 */
extern int	lb_lock_entering(LbSubmit *s, int first);
extern void lb_unlock_entering(LbSubmit *s, int first, int end);

/*
 * Before rows of windows are written: find the players that are hidden
 * (s->ranked).  Then tell whether a new row of player number p is ranked.
 */
extern void lb_find_hidden(LbSubmit *s);
extern bool lb_is_ranked_in_windows(const LbSubmit *s, int p);

/*
 * After the rows are written: unlock the player of lb_find_entering(), and
 * hide rows of players who have been hidden meanwhile.
 */
extern void lb_end_entering(LbSubmit *s);

#endif							/* LB_ENTERING_H */
