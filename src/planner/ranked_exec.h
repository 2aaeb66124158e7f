/*-------------------------------------------------------------------------
 *
 * ranked_exec.h
 *	  Subqueries and views that rank the rows of a table: the node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANKED_EXEC_H
#define LB_RANKED_EXEC_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "planner/answer.h"

/*
 * A window function of a plan: a list of its kind, of whether it sorts in the
 * reverse of the board's order, of the number of columns that it sorts by, and
 * of ntile()'s argument.  These are the places of the elements.
 */
enum
{
	LB_RANK_KIND,
	LB_RANK_REVERSE,
	LB_RANK_NCOLUMNS,
	LB_RANK_BUCKETS
};

/* A column of the index that equals an operand, likewise. */
enum
{
	LB_KEY_TYPE,				/* of the operand, or of an array's elements */
	LB_KEY_COLLATION,
	LB_KEY_OPERATOR,			/* with the column on its left */
	LB_KEY_IS_ARRAY,
	LB_KEY_COLUMN				/* of the scan slot, or 0: none */
};

/*
 * A range of ranks, likewise, and for each bound its strategy, a B-tree's, and
 * its type.
 */
enum
{
	LB_RANGE_REVERSE,			/* ranks are counted from the board's end */
	LB_RANGE_TIES,				/* columns in which rows of one rank equal, if
								 * the last rank's are in the range; 0: ranks
								 * are places */
	LB_RANGE_BEHIND_TIES,		/* the same, if those of the rank before the
								 * first one are not in it */
	LB_RANGE_BOUNDS
};

/* Lists of a node's custom_private, after those of answer.h. */
enum
{
	LB_RANKED_TABLE = LB_PRIVATE_FIRST, /* OIDs of the table, and of the index */
	LB_RANKED_CONDS,			/* lb_make_cond() each */
	LB_RANKED_FUNCS,			/* the window functions ... */
	LB_RANKED_WINDOWS,			/* ... as expressions, to check rights */
	LB_RANKED_KEYS,				/* the columns of the index, if rows are found
								 * by quals */
	LB_RANKED_RANGE,			/* or the range of ranks; or NIL */

	/*
	 * Expressions of the table's columns, where INNER_VAR are the window
	 * functions.
	 */
	LB_RANKED_OUTPUT,			/* target list: custom_scan_tlist */
	LB_RANKED_WHERE,			/* the quals in the subquery */
	LB_RANKED_VALUES			/* the board columns, if no quals say which
								 * board a row is of; or NIL */
};

/* And of custom_exprs. */
enum
{
	LB_RANKED_COND_OPERANDS = LB_EXPRS_FIRST,
	LB_RANKED_CLAUSES,			/* by which rows are found, for EXPLAIN */
	LB_RANKED_KEY_OPERANDS,
	LB_RANKED_BOUNDS,			/* operands of the range */
	LB_RANKED_LIMIT,			/* lb_page_limit_exprs(), of a page */
	LB_RANKED_JOINS = LB_RANKED_LIMIT + 3	/* the clauses of a nested loop,
											 * all of them; or NIL */
};

/* The node. */
extern const CustomScanMethods lb_ranked_methods;

#endif							/* LB_RANKED_EXEC_H */
