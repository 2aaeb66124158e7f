/*-------------------------------------------------------------------------
 *
 * access_lock.h
 *	  Holding a board's lock, with a view of the board in a snapshot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ACCESS_LOCK_H
#define LB_ACCESS_LOCK_H

#include "reads/access.h"

/*
 * Lock the board's stripe, shared, and open a->view.  Returns false if the
 * query must be run; then the lock is not held.  After true, nothing may raise
 * until lb_access_unlock().
 *
 * Waits for builds and large transactions as the settings say.  Can raise.
 */
extern bool lb_access_lock(LbAccess *a);

/*
 * In a long read: release the lock, process interrupts, and lock again.  The
 * view is opened anew.  Returns false if the query must be run.  What the
 * caller has read so far is right either way.  As lb_access_lock().
 */
extern bool lb_access_yield(LbAccess *a);

/*
 * Release the lock, count the read, and report to SSI what the snapshot did
 * not see.  Can raise a serialization failure.
 */
extern void lb_access_unlock(LbAccess *a);

/*
 * The sum of the rows that are not in the board's index (off_board.h), in the
 * snapshot and with the transaction's own changes; under the lock that
 * lb_access_lock() has taken.  Returns false if that is not known.  Never
 * raises.
 */
extern bool lb_access_off_board(const LbAccess *a, int64 *rows);

/* Release the lock only: the caller needs memory, and will lock again. */
static inline void
lb_access_release(LbAccess *a)
{
	LWLockRelease(&a->stripe->lock);
}

#endif							/* LB_ACCESS_LOCK_H */
