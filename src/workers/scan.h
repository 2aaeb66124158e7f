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

/* The values of a family's boards, numbered as they are met. */
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
 * Sort the keys of all ranked rows of defn's source that a snapshot sees.  A
 * tuple is the number of the board's value (0 for a plain board), then the
 * key.  progress, if not NULL, is set to the rows read so far; poll is called
 * now and then and may raise.  Memory comes from the current context.
 */
extern LbSort *lb_sort_rows(LbDefinition *defn, Relation rel,
							Snapshot snapshot, LbValues *values,
							pg_atomic_uint64 *progress, void (*poll) (void));

#endif							/* LB_SCAN_H */
