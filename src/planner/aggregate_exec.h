/*-------------------------------------------------------------------------
 *
 * aggregate_exec.h
 *	  Aggregates over a board, or over a range of it: the node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_AGGREGATE_EXEC_H
#define LB_AGGREGATE_EXEC_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "planner/answer.h"

/* What an aggregate asks of a range of the board. */
typedef enum LbAggKind
{
	LB_AGG_COUNT,
	LB_AGG_COUNT_DISTINCT,		/* of the score */
	LB_AGG_FIRST,				/* the score of the first row in the board's
								 * order */
	LB_AGG_LAST,
	LB_AGG_PERCENTILE_DISC,
	LB_AGG_RANK,				/* of hypothetical rows */
	LB_AGG_DENSE_RANK,
	LB_AGG_PERCENT_RANK,
	LB_AGG_CUME_DIST
} LbAggKind;

/*
 * An aggregate of a plan: a list of its kind, of whether it sorts in the
 * reverse of the board's order, of whether its FILTER is evaluated only if the
 * query has rows, and for each operand of its type and of whether nulls are
 * first.  These are the places of the elements.
 */
enum
{
	LB_AGG_KIND,
	LB_AGG_REVERSE,
	LB_AGG_LATE,
	LB_AGG_OPERANDS
};

/*
 * Lists of a node's custom_private and custom_exprs, after those of answer.h.
 */
enum
{
	LB_AGG_SEVERAL = LB_PRIVATE_FIRST,	/* in custom_private: LbQuals.open, or
										 * NIL if there is one board */
	LB_AGG_CONDS,				/* lb_make_cond() each */
	LB_AGG_AGGS,
	LB_AGG_FILTERS,				/* a list as LB_AGG_CONDS for each aggregate:
								 * the quals of its rows, if it has FILTER */
	LB_AGG_TABLE,				/* of a subquery: its table's OID, else NIL */
	LB_AGG_QUALS,				/* and the quals, of table number 1 */
	LB_AGG_LIMITED,				/* not empty: LbAggRows.limited */
	LB_AGG_VALUES = LB_EXPRS_FIRST, /* in custom_exprs: the array of the
									 * values of that column, or NIL for any */
	LB_AGG_COND_OPERANDS,
	LB_AGG_AGG_OPERANDS,
	LB_AGG_FILTER_OPERANDS,
	LB_AGG_LIMIT				/* lb_page_limit_exprs() of a subquery */
};

/* The node. */
extern const CustomScanMethods lb_aggregate_methods;

#endif							/* LB_AGGREGATE_EXEC_H */
