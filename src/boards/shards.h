/*-------------------------------------------------------------------------
 *
 * shards.h
 *	  The shards of a table that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SHARDS_H
#define LB_SHARDS_H

#include "postgres.h"

/*
 * Whether this server is the one that may change what Citus distributes.  False if the
 * database does not have Citus.  Can raise.
 */
extern bool lb_is_coordinator(void);

/* The owner of a table, partitioned or not; InvalidOid if it is none. */
extern Oid	lb_table_owner(Oid relid);

/* The name of the table of places of a table of that name, palloc'd. */
extern char *lb_places_name(const char *source);

/*
 * The table of places of a table, or InvalidOid if there is none, or if what
 * has that name is not one.  It can be gone after anything that processes an
 * invalidation: look it up for each statement.  Can raise.
 */
extern Oid	lb_places(Oid source);

/* Whether a table has the columns of one. */
extern bool lb_is_places(Oid relid);

/*
 * Whether n rows of places are those of all shards, as Citus has them now: they name
 * each shard of the source once, and each is in the shard of places with the same
 * range of values, which is on the same server.  A statement whose rows are compared after it has run has seen all
 * shards as they were then: numbers of shards are never used again.  Can raise.
 */
extern bool lb_are_all_shards(Oid source, Oid places, int n,
							  const int64 *shards, const int64 *selves);

#endif							/* LB_SHARDS_H */
