/*-------------------------------------------------------------------------
 *
 * table_scan_internal.h
 *	  What table_scan.c and table_scan_parallel.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TABLE_SCAN_INTERNAL_H
#define LB_TABLE_SCAN_INTERNAL_H

#include "access/tableam.h"

#include "workers/table_scan.h"
#include "workers/tally.h"

/* Rows, or tuples of a worker's file, between two calls of poll. */
#define POLL_ROWS 8192

/* A scan of a source, over all its partitions. */
typedef struct LbScan
{
	LbSort	   *sort;
	LbTally    *tally;			/* with counts: before the sort; else NULL */
	LbValues   *values;
	Snapshot	snapshot;
	uint64		nrows;
	pg_atomic_uint64 *progress; /* or NULL */
	void		(*poll) (void);
} LbScan;

/*
 * Add the rows of a scan of one table, and end the scan.  Can raise what poll
 * raises, and what adding to a sort raises.
 */
extern void lb_scan_rows(LbScan *s, LbDefinition *defn, Relation rel,
						 TableScanDesc scan);

/* LbTakeTuple: adds a tuple to the LbSort that is arg. */
extern void lb_sort_counted(void *arg, const int64 *tuple);

/* The most tables that a parallel scan takes. */
#define LB_MAX_SHARED_SCANS 256

/*
 * Scan the tables of a board that keeps counts and is no family, together with
 * parallel workers.  The first of ntables is the source, or all of them are
 * its partitions.  The caller has locked them, and may launch so many workers,
 * at least one.  Sets what lb_scan_rows() sets in s.  Raises what that raises,
 * and what a parallel worker raises.
 */
extern void lb_scan_parallel(LbScan *s, LbDefinition *defn, const Oid *tables,
							 int ntables, int nworkers);

#endif							/* LB_TABLE_SCAN_INTERNAL_H */
