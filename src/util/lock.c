/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  The arena's lock in the server: an LWLock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "util/lock.h"
#include "util/pause.h"

void
lb_lock_acquire(LbLock *lock)
{
	(void) LWLockAcquire(&lock->lwlock, LW_EXCLUSIVE);
	lb_pause("arena");
}

void
lb_lock_release(LbLock *lock)
{
	LWLockRelease(&lock->lwlock);
}
