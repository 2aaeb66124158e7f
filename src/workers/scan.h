/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Reading the rows of a source into a sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCAN_H
#define LB_SCAN_H

#include "port/atomics.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "boards/definition.h"
#include "boards/live.h"
#include "util/sort.h"

/* The values of a family's boards, numbered in the order of the scan. */
typedef struct LbValues
{
	int			nvalues;
	int			maxvalues;
	LbValue    *values;
	uint32	   *hashes;
	int			nbuckets;		/* open addressing; -1 is free */
	int32	   *buckets;
} LbValues;

/*
 * Sort the keys of all ranked rows of defn's source, or of its partitions, that a
 * snapshot sees.  rel is locked, and defn is resolved.  A tuple of a family is the
 * number of the board's value and the key, that of a plain board the key alone.
 * progress, if not NULL, is set to the number of rows read so far.  poll is called
 * every few thousand rows and may raise.  Raises 55006 if the partitions have
 * changed.  Memory comes from the current context.
 */
extern LbSort *lb_sort_rows(LbDefinition *defn, Relation rel,
							Snapshot snapshot, LbValues *values,
							pg_atomic_uint64 *progress, void (*poll) (void));

#endif							/* LB_SCAN_H */
