/*-------------------------------------------------------------------------
 *
 * ranked_child.h
 *	  The plan below a node of a nested loop, run once and kept.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANKED_CHILD_H
#define LB_RANKED_CHILD_H

#include "postgres.h"

#include "utils/tuplestore.h"

#include "planner/answer.h"

/* A column of the child that equals an operand, by which rows are found. */
typedef struct LbChildKey
{
	AttrNumber	column;
	ExprState  *operand;
	Oid			collation;
	FmgrInfo	hash_column;
	FmgrInfo	hash_operand;
} LbChildKey;

/*
 * The rows of a node's child; its columns are the first ones of the scan slot.
 */
typedef struct LbRankedChild
{
	LbAnswer   *answer;
	ExprState  *quals;			/* the clauses of the nested loop */
	int			nkeys;
	LbChildKey *keys;
	int			nparts;			/* a power of 2; 0 before the child is run */
	Tuplestorestate **parts;
	Tuplestorestate *part;		/* of the current scan */
	TupleTableSlot *slot;		/* for its rows; NULL if there are none */
} LbRankedChild;

/*
 * Prepare for scans, without running the child.  Its rows are to satisfy
 * joins, clauses on columns of the scan slot and of other tables.  There is
 * room for nkeys keys.  Takes memory of the current context, the query's.  Can
 * raise.
 */
extern LbRankedChild *lb_child_begin(LbAnswer *a, List *joins, int nkeys);

/*
 * The clauses say that a column of the scan slot equals an operand, by an
 * operator that has the column on its left.  Can raise.
 */
extern void lb_child_add_key(LbRankedChild *child, AttrNumber column, Oid op,
							 Oid collation, ExprState *operand);

/*
 * Begin a scan: evaluate the operands, in the current memory context, and run
 * the child if it has not been run yet.  Can raise.
 */
extern void lb_child_scan(LbRankedChild *child);

/*
 * The next row that may satisfy the clauses, in the node's scan slot; NULL if
 * there is none.  Can raise.
 */
extern TupleTableSlot *lb_child_next(LbRankedChild *child);

/*
 * The parameters in changed have changed.  Returns whether the rows are those
 * of before; if not, there are none, and the child has to be rescanned.
 */
extern bool lb_child_is_kept(LbRankedChild *child, const Bitmapset *changed);

/* Give the rows back. */
extern void lb_child_end(LbRankedChild *child);

#endif							/* LB_RANKED_CHILD_H */
