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

/*
 * Raise 55000 unless this server is the coordinator: what the caller is about to do to
 * that board of a distributed table, what, is done there.  Can raise.
 */
extern void lb_require_coordinator_for(const LbDefinition *defn,
									   const char *what);

/*
 * Lock the table of a resolved definition, which Citus distributes, and its shards
 * against writers, on all servers, to the end of the transaction.  Waits for writers,
 * also for prepared transactions.  The transaction will be committed by two phases.  As
 * the owner of the table; on the coordinator.  Can
 * raise, also 40001 if the table is renamed at that moment.  Between SPI_connect and
 * SPI_finish.
 */
extern void lb_lock_distributed(const LbDefinition *defn);

#endif							/* LB_LOCK_SHARDS_H */
