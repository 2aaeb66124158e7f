/*-------------------------------------------------------------------------
 *
 * lock_shards.h
 *	  Locking tables that Citus distributes, on all servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LOCK_SHARDS_H
#define LB_LOCK_SHARDS_H

#include "boards/definition.h"

/* Routines of LbDistributed.  The lock makes Citus commit by two phases. */
extern void lb_require_coordinator_for(const LbDefinition *defn,
									   const char *what);
extern void lb_lock_distributed(const LbDefinition *defn);

#endif							/* LB_LOCK_SHARDS_H */
