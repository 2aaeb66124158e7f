/*-------------------------------------------------------------------------
 *
 * prefetch.h
 *	  Apply a part of a backlog, prefetching its memory without the lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PREFETCH_H
#define LB_PREFETCH_H

#include "boards/shared.h"

/*
 * Apply the first entries of a backlog.  Releases the stripe's lock while it
 * prefetches; with yield also between two publications, if a writer waits.
 * Returns false if there is nothing left to do or the board may be gone.
 * Needs the stripe's exclusive lock, and holds it again on return.  Never
 * raises.
 */
extern bool lb_prefetch_and_apply(LbSharedBoard *shared, LbStripe *stripe,
								  LbLiveBoard *board, bool yield);

/*
 * For the applier: serve the request for a stripe.  Applies the backlog of a
 * board of the requested hash until it is not too long any more, but in 32
 * parts at most, and not while another process applies a part.  Between the
 * parts the lock is released.  A board that is empty then is given back.
 * Meanwhile the definition may have gone, or be another one.  Takes the
 * stripe's lock; never raises.
 */
extern void lb_apply_requested(LbSharedBoard *shared, LbStripe *stripe);

#endif							/* LB_PREFETCH_H */
