/*-------------------------------------------------------------------------
 *
 * aggregate_rows.h
 *	  The rows that the aggregates of a query are over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_AGGREGATE_ROWS_H
#define LB_AGGREGATE_ROWS_H

#include "postgres.h"

#include "planner/match.h"

/*
 * The rows of a table, or of a subquery that returns rows of a table as they
 * are.
 */
typedef struct LbAggRows
{
	LbSource	source;			/* the table */
	List	   *clauses;		/* quals on it, clauses or RestrictInfos */
	List	   *aggrefs;		/* the aggregates, of the table's columns */
	const Query *subquery;		/* or NULL: the table itself */
	bool		limited;		/* the aggregates count the rows that LIMIT
								 * and OFFSET of the subquery leave */
} LbAggRows;

/*
 * Find the rows that aggregates are over, aggrefs, of which input computes the
 * columns.  Returns false if they are no rows of one table with boards.  A
 * subquery may have an OFFSET that is known only when the query runs: if it
 * leaves out rows, the answer is another one, unless rows->limited is set.
 * Fills in *rows, palloc'd.  Can raise what a catalog lookup can raise.
 */
extern bool lb_find_agg_rows(PlannerInfo *root, RelOptInfo *input,
							 List *aggrefs, LbAggRows *rows);

/*
 * The quals on the table of a subquery for EXPLAIN: copies that have the table
 * as number 1.  Those that do not depend on the row are not among them.
 */
extern List *lb_agg_rows_quals(const LbAggRows *rows);

#endif							/* LB_AGGREGATE_ROWS_H */
