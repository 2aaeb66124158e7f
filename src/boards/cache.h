/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  Caches of a backend that invalidations concern.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CACHE_H
#define LB_CACHE_H

#include "postgres.h"

/*
 * Have invalidate called for each relation whose relcache entry becomes invalid,
 * or InvalidOid for all, and at_xact_end, if not NULL, at the end of each
 * transaction.  invalidate only marks: it can be called wherever an invalidation
 * is processed.  at_xact_end may neither raise nor look up a catalog.
 */
extern void lb_cache_register(void (*invalidate) (Oid relid),
							  void (*at_xact_end) (void));

/* End of transaction: drop what earlier invalidations left behind. */
extern void lb_caches_at_xact_end(void);

#endif							/* LB_CACHE_H */
