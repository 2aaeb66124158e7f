/*-------------------------------------------------------------------------
 *
 * closed.h
 *	  Windows that have been closed: lb_closed, and locks on keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CLOSED_H
#define LB_CLOSED_H

#include "storage/lockdefs.h"

/*
 * Lock a key against being closed (RowExclusiveLock), or to close it
 * (ExclusiveLock), to the end of the transaction.  Waits; can raise.
 */
extern void lb_window_lock(const char *key, int len, LOCKMODE mode);

/* lb_window_lock() that does not wait.  Returns whether it has the lock. */
extern bool lb_window_try_lock(const char *key, int len, LOCKMODE mode);

/*
 * Whether a key has been closed, in the newest state of the database.  The
 * key must be locked for the answer to last.
 */
extern bool lb_window_is_closed(const char *key, int len);

/*
 * The same for a key that the transaction has locked.  The backend remembers
 * that it is open, from one transaction to the next.
 */
extern bool lb_window_locked_is_closed(const char *key, int len);

#endif							/* LB_CLOSED_H */
