/*-------------------------------------------------------------------------
 *
 * scan_exec.h
 *	  Rows of a board in its order, as long as they are asked for: the node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCAN_EXEC_H
#define LB_SCAN_EXEC_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "planner/answer.h"

/* How a scan is ordered: a list of integers, with these elements. */
enum
{
	LB_SCAN_INDEX,				/* the unique index on the member */
	LB_SCAN_REVERSE,			/* the board's order reversed */
	LB_SCAN_MOST_IN_VAIN,		/* look-ups of rows that the node does not
								 * return ... */
	LB_SCAN_MOST,				/* ... and of all, after which the child is
								 * run; 0: however many there are */
	LB_SCAN_PAGES				/* of the table when that was planned */
};

/*
 * Lists of a node's custom_private and custom_exprs, after those of answer.h.
 */
enum
{
	LB_SCAN_CONDS = LB_PRIVATE_FIRST,	/* in custom_private: lb_make_cond()
										 * each */
	LB_SCAN_ORDER,
	LB_SCAN_COND_OPERANDS = LB_EXPRS_FIRST, /* in custom_exprs */
	LB_SCAN_CHANGING,			/* operands of all quals that may have another
								 * value later in the query */
	LB_SCAN_LIMIT				/* of the Limit node that asks for the rows,
								 * if there is one, as lb_page_limit_exprs() */
};

/* The node. */
extern const CustomScanMethods lb_scan_methods;

#endif							/* LB_SCAN_EXEC_H */
