/*-------------------------------------------------------------------------
 *
 * table_scan.h
 *	  Reading the rows of a source into a sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TABLE_SCAN_H
#define LB_TABLE_SCAN_H

#include "port/atomics.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "boards/definition.h"
#include "boards/live.h"
#include "util/sort.h"

/* A value of a board column, with its hash. */
typedef struct LbScannedValue
{
	int			number;
	uint32		hash;
	bool		ranked;			/* some rows are, their keys are in the sort */
	int64		off_board;		/* those that are not: see off_board.h */
	LbValue		value;
} LbScannedValue;

/*
 * The values of a family's boards, numbered in the order of the scan.  A plain
 * board has none: by_value is NULL.
 */
typedef struct LbValues
{
	int64		off_board;		/* rows of a plain board that are not in the
								 * sort */
	int			nvalues;
	int			maxvalues;
	LbScannedValue **values;
	struct value_hash *by_value;
} LbValues;

/*
 * Sort the keys of all ranked rows of defn's source, or of its partitions,
 * that a snapshot sees.  rel is locked, and defn is resolved.  A tuple of a
 * family is the number of the board's value and the key, that of a plain board
 * the key alone.  With counts, the number of its rows is behind a key; equal
 * keys may follow each other, and their rows add up; and with parallel,
 * parallel workers help.  progress, if not NULL, is set to the number of rows
 * read so far.  poll is called every few thousand rows and may raise.  Raises
 * 55006 if the partitions have changed.  Memory comes from the current
 * context.
 */
extern LbSort *lb_sort_rows(LbDefinition *defn, Relation rel,
							Snapshot snapshot, LbValues *values,
							bool parallel, pg_atomic_uint64 *progress,
							void (*poll) (void));

/*
 * What the scan of a family has met with a value, whose hash is given, or
 * NULL.
 */
extern const LbScannedValue *lb_values_find(const LbValues *values,
											uint32 hash,
											const LbValue *value);

#endif							/* LB_TABLE_SCAN_H */
