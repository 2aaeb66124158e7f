/*-------------------------------------------------------------------------
 *
 * window_admin.h
 *	  Recording windows, and names that clash with theirs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WINDOW_ADMIN_H
#define LB_WINDOW_ADMIN_H

#include "boards/definition.h"

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
 * A family of windows is gone, or is another table's: remove its windows.  Between
 * SPI_connect and SPI_finish; can raise.
 */
extern void lb_windows_end(const char *family);

/*
 * A family of windows has been made: forget the keys that an earlier family has
 * closed, except those whose final standings are of the same table or owner.
 * Between SPI_connect and SPI_finish; can raise.
 */
extern void lb_windows_begin(const LbDefinition *family);

#endif							/* LB_WINDOW_ADMIN_H */
