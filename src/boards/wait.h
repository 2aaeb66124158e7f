/*-------------------------------------------------------------------------
 *
 * wait.h
 *	  Waiting for a build.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WAIT_H
#define LB_WAIT_H

#include "boards/shared.h"

/* How a wait for a build ended. */
typedef enum LbWait
{
	LB_WAIT_READY,
	LB_WAIT_FAILED,				/* a build ended without making it ready */
	LB_WAIT_TIMEOUT
} LbWait;

/*
 * Request a build and wait until the board is ready, or an attempt has
 * failed.  With rebuild, only a build that begins after the call counts.
 * timeout_ms is in milliseconds, -1 for no limit.  Raises when interrupted.
 * The caller must not hold an LWLock.
 */
extern LbWait lb_wait_build(LbSharedBoard *shared, uint64 generation,
							bool rebuild, long timeout_ms);

#endif							/* LB_WAIT_H */
