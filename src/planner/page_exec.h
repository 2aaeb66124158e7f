/*-------------------------------------------------------------------------
 *
 * page_exec.h
 *	  Pages of a board: the node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PAGE_EXEC_H
#define LB_PAGE_EXEC_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "planner/answer.h"

/* How a page is ordered: a list of integers, with these elements. */
enum
{
	LB_PAGE_INDEX,				/* the unique index on the member */
	LB_PAGE_REVERSE,			/* the board's order reversed */
	LB_PAGE_TIES,				/* 0, or with ties: the first columns of the
								 * key that are equal in them */
	LB_PAGE_MOST,				/* LbStretch.most */
	LB_PAGE_ESTIMATED			/* likewise */
};

/*
 * Lists of a node's custom_private and custom_exprs, after those of answer.h.
 */
enum
{
	LB_PAGE_CONDS = LB_PRIVATE_FIRST,	/* in custom_private: lb_make_cond()
										 * each */
	LB_PAGE_ORDER,
	LB_PAGE_CHECKS,				/* not empty: the select list may raise an
								 * error, depending on the scores */
	LB_PAGE_COND_OPERANDS = LB_EXPRS_FIRST, /* in custom_exprs */
	LB_PAGE_LIMIT				/* lb_page_limit_exprs() */
};

/* The node. */
extern const CustomScanMethods lb_page_methods;

#endif							/* LB_PAGE_EXEC_H */
