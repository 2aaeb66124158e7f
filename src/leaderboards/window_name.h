/*-------------------------------------------------------------------------
 *
 * window_name.h
 *	  Which names windows can have, and what else a window must be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WINDOW_NAME_H
#define LB_WINDOW_NAME_H

#include "leaderboards/window.h"

/*
 * Keep other sessions from recording a board or a window whose name could be
 * taken for this one, to the end of the transaction.  On return, what they
 * have recorded before is known.  Boards and windows are in two tables, so no
 * unique index would find two names that clash.
 */
extern void lb_window_lock_name(const char *name);

/*
 * Raise 42710 if a board of that name would be found where a recorded window
 * is meant: one of the window's name, or of one that counts back from it, or a
 * family that its key seems to be of.
 */
extern void lb_window_check_board(const char *board, bool family);

/*
 * Raise 42602, 42622 or 42710 unless a new window can have that name, of which
 * the caller has the lock.
 */
extern void lb_window_check_name(const char *name, LbPeriod period);

/* Raise 22023 or 22008 unless the parts of a window fit together. */
extern void lb_window_check(const LbWindow *window);

#endif							/* LB_WINDOW_NAME_H */
