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

#include "utils/relcache.h"

#include "boards/definition.h"

/*
 * Look up the partitions of a partitioned source, if that is not known, and then
 * lock them in AccessShareLock to the end of the transaction.  Returns false if,
 * without wait, a lock was not to be had.  The source must be locked.
 *
 * So a read mostly locks the source alone: what others do to a partition
 * meanwhile gets into the board with their commit.
 */
extern bool lb_resolve_parts(LbDefinition *defn, bool wait);

/*
 * A copy of a resolved definition with the column numbers of a partition, in
 * the current memory context.
 */
extern LbDefinition *lb_part_defn(const LbDefinition *defn, Relation part);

/*
 * All definitions that rows of rel belong to, which is a source or a partition
 * of one.  For a partition they are copies, with its column numbers.  rel must
 * be locked.
 */
extern int	lb_defns_of_rows(Relation rel, LbDefinition ***defns);

#endif							/* LB_PARTS_H */
