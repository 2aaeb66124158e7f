/*-------------------------------------------------------------------------
 *
 * lock.h
 *	  The arena's lock in the server: an LWLock.
 *
 * The code that makes an arena initializes the LWLock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LOCK_H
#define LB_LOCK_H

#include "postgres.h"

#include "storage/lwlock.h"

#include "index/arena.h"

struct LbLock
{
	LWLock		lwlock;
};

#endif							/* LB_LOCK_H */
