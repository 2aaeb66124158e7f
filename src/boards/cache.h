/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  Caches that relcache invalidations make stale.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CACHE_H
#define LB_CACHE_H

#include "postgres.h"

/*
 * Register a cache, once per process; more calls with the same invalidate and
 * arg do nothing.
 *
 * invalidate is called for each relation whose relcache entry becomes invalid,
 * with InvalidOid for all relations.  PostgreSQL calls it wherever it
 * processes an invalidation, so it may only mark what is stale.
 */
extern void lb_cache_register(void (*invalidate) (Oid relid, void *arg),
							  void *arg);

/*
 * Delete a memory context that is a child of TopMemoryContext at the end of
 * the transaction.
 */
extern void lb_cache_retire(MemoryContext context);

#endif							/* LB_CACHE_H */
