/*-------------------------------------------------------------------------
 *
 * fetch.h
 *	  Rows of a table by members of a board.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FETCH_H
#define LB_FETCH_H

#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "executor/tuptable.h"

#include "boards/definition.h"

/* A look-up of rows of members in a snapshot. */
typedef struct LbFetch
{
	Relation	table;			/* NULL before lb_fetch_begin() */
	Oid			index;
	Snapshot	snapshot;
	BlockNumber nblocks;		/* of the table */
	struct IndexFetchTableData *heap;
	MemoryContext values;		/* of the member looked up last */
	Datum		members[LB_MAX_MEMBER_COLUMNS];

	/* A scan of the index, once there is one. */
	IndexScanDesc scan;
	int			nkeys;
	ScanKeyData keys[LB_MAX_MEMBER_COLUMNS + LB_MAX_VALUE_COLUMNS];

	/* The columns of each: those of the member, then the board columns. */
	int			columns[LB_MAX_MEMBER_COLUMNS + LB_MAX_VALUE_COLUMNS];
} LbFetch;

/*
 * Begin to look up rows of a table by an index, in a snapshot that lasts.  The
 * look-up's memory is of the current context, and what it opens stays open
 * until lb_fetch_end(), which does nothing without a beginning.  Both can
 * raise.
 */
extern void lb_fetch_begin(LbFetch *fetch, Relation table, Oid index,
						   Snapshot snapshot);
extern void lb_fetch_end(LbFetch *fetch);

/*
 * Put the row of a member, words as a key has them, on the board of these
 * values of the board columns into a slot of the table.  Returns false if the
 * snapshot sees none, or two, or if the index is not one on the member.  The
 * caller holds no lock of ours.  Can raise.  The current memory context lasts
 * as long as the look-up.
 */
extern bool lb_fetch(LbFetch *fetch, const LbDefinition *defn,
					 const int64 *member, const Datum *board_values,
					 TupleTableSlot *slot);

/* What lb_fetch_values() has found. */
typedef enum LbFound
{
	LB_FOUND,					/* the row is in the slot */
	LB_FOUND_NONE,				/* the snapshot sees none */
	LB_FOUND_UNSURE				/* it may see two, or the index is another */
} LbFound;

/*
 * The same for the values of the member's columns, which last as long as the
 * look-up.
 */
extern LbFound lb_fetch_values(LbFetch *fetch, const LbDefinition *defn,
							   const Datum *member, const Datum *board_values,
							   TupleTableSlot *slot);

#endif							/* LB_FETCH_H */
