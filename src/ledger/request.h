/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Requests to the applier.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_REQUEST_H
#define LB_REQUEST_H

#include "boards/shared.h"

/* Whether the applier is running and takes requests.  Needs no lock. */
static inline bool
lb_applier_is_running(void)
{
	return pg_atomic_read_u32(&lb_shared->applier_pid) != 0;
}

/*
 * Whether the applier has a request for stripe n of a definition which it has
 * not begun to serve.  Needs the stripe's exclusive lock, without which
 * nothing is requested.
 */
static inline bool
lb_applier_requested(LbSharedBoard *shared, int n)
{
	return (pg_atomic_read_u32(&shared->requested) & (1U << n)) != 0;
}

/*
 * Request that the applier look at stripe n.  Returns whether to wake it, by
 * lb_wake_applier(), which needs no lock and is better done without.  A
 * request needs the stripe's exclusive lock.  Neither function raises or
 * allocates: both are called after the commit record.
 */
extern bool lb_request_applier(LbSharedBoard *shared, int n);
extern void lb_wake_applier(void);

#endif							/* LB_REQUEST_H */
