/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  The shards of a table that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LAYOUT_H
#define LB_LAYOUT_H

#include "postgres.h"

/*
 * Whether this server is the one that may change what Citus distributes.
 * False if the database does not have Citus.  Can raise.
 */
extern bool lb_is_coordinator(void);

/*
 * Whether a distributed table's rows are in shards of its own: whether it is
 * neither a reference table nor a local table that Citus knows.  Can raise.
 */
extern bool lb_has_shards(Oid relid);

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
 * The number of the only shard of a table that is colocated with none, such as
 * a local table that Citus knows; or 0.  It can have no places, and needs
 * none: a row of its own is where its shard is.  Can raise.
 */
extern int64 lb_only_shard(Oid relid);

/*
 * Whether a statement that has returned these n rows of places has seen every
 * shard of the source exactly once, as Citus has them now.  Each row must be
 * in the shard of places that has the same range of values, which is on the
 * same server; or places is the source, and the one row is of its only shard.
 * Citus never uses the number of a shard again, so the comparison may come
 * after the statement.  Can raise.
 */
extern bool lb_are_all_shards(Oid source, Oid places, int n,
							  const int64 *shards, const int64 *selves);

/* A shard, and where it is. */
typedef struct LbShardSlot
{
	int64		shard;
	int64		self;			/* the shard of places with the same range */
	int32		group;			/* the server that has both */
	char	   *place;			/* a value in that one, or NULL: not known yet */
} LbShardSlot;

/*
 * The shards of a table in the order of servers, and of their numbers on each.
 */
typedef struct LbLayout
{
	uint64		id;				/* no other layout of this backend has had it */
	int			n;
	LbShardSlot *slots;
} LbLayout;

/*
 * The layout of a source and its places, as Citus has it now.  NULL if the two
 * are not colocated, if shards have copies on several servers, or if the
 * layout changes at this moment.  It lasts until the end of the transaction.
 * If a later call returns a layout with the same id, it has been valid all the
 * time.  Can raise.
 */
extern LbLayout *lb_layout(Oid source, Oid places);

/* A row of places has been found in the shard of places for this shard. */
extern void lb_layout_set_place(LbLayout *layout, int64 shard, int64 self,
								const char *place);

/* The places of a source's layout were wrong. */
extern void lb_layout_forget(Oid source);

/*
 * Whether the transaction is one that Citus has begun on other servers, so
 * that it may have written to shards over several connections to one server.
 * True if Citus does not tell.  Can raise.
 */
extern bool lb_in_distributed_transaction(void);

#endif							/* LB_LAYOUT_H */
