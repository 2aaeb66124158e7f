/*-------------------------------------------------------------------------
 *
 * parts.h
 *	  Partitions of sources.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PARTS_H
#define LB_PARTS_H

#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/relcache.h"

#include "boards/definition.h"

/*
 * Look up the partitions of a partitioned source, and lock them in
 * AccessShareLock until the end of the transaction.  Without wait, returns
 * false if a lock is not available at once.  The source must be locked.  Can
 * raise.
 */
extern bool lb_resolve_parts_anew(LbDefinition *defn, bool wait);

/*
 * lb_resolve_parts_anew(), unless the source has no partitions or they are
 * known.  Then
 * nothing is locked, so most reads lock the source alone: what another
 * transaction does to a partition gets into the board with its commit.
 */
static inline bool
lb_resolve_parts(LbDefinition *defn, bool wait)
{
	return defn->relkind != RELKIND_PARTITIONED_TABLE || defn->parts_valid ||
		lb_resolve_parts_anew(defn, wait);
}

/*
 * A copy of a resolved definition with the column numbers of a partition, in
 * the current memory context.
 */
extern LbDefinition *lb_part_defn(const LbDefinition *defn, Relation part);

/*
 * All definitions that rows of rel belong to, which is a source or a partition
 * of one.  For a partition they are copies, with its column numbers.  Returns
 * their number.  rel must be locked.  Can raise.
 */
extern int	lb_defns_of_rows(Relation rel, LbDefinition ***defns);

/*
 * Whether DETACH PARTITION CONCURRENTLY has begun, and not ended, for a
 * partition of a table, or for one below.  Snapshots then differ in whether
 * they have that partition.  True also if a partitioned table is locked
 * against reads.  Leaves no lock.  Can raise.
 */
extern bool lb_is_detaching(Oid table);

#endif							/* LB_PARTS_H */
