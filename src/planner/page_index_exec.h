/*-------------------------------------------------------------------------
 *
 * page_index_exec.h
 *	  Pages of a board that keeps counts, by an index: the node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PAGE_INDEX_EXEC_H
#define LB_PAGE_INDEX_EXEC_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "planner/answer.h"

/* How the page is read: a list of integers, with these elements. */
enum
{
	LB_START_INDEX,				/* the index */
	LB_START_COLUMN,			/* its column that is the score, from 0 */
	LB_START_BACKWARD,			/* it is read backward */
	LB_START_REVERSE,			/* the page is in the board's order reversed */
	LB_START_MOST				/* rows; the child is cheaper for more */
};

/*
 * Lists of a node's custom_private and custom_exprs, after those of answer.h.
 */
enum
{
	LB_START_CONDS = LB_PRIVATE_FIRST,	/* in custom_private: lb_make_cond()
										 * each */
	LB_START_ORDER,
	LB_START_TIES,				/* not empty: rows that tie with the first one
								 * satisfy the quals as it does */
	LB_START_COND_OPERANDS = LB_EXPRS_FIRST,	/* in custom_exprs */
	LB_START_QUALS,				/* what the rows of the index must satisfy */
	LB_START_LIMIT				/* lb_page_limit_exprs() */
};

/* The node. */
extern const CustomScanMethods lb_page_index_methods;

#endif							/* LB_PAGE_INDEX_EXEC_H */
