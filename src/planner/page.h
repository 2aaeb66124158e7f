/*-------------------------------------------------------------------------
 *
 * page.h
 *	  Pages of a board: rows in its order, from an offset.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PAGE_H
#define LB_PAGE_H

#include "postgres.h"

#include "planner/match.h"

/*
 * If a board has the rows of a query over one table in the query's order, and
 * the query has LIMIT or OFFSET, make a path for the page the only one of
 * final, which has the others by now, if it is cheaper.  Can raise what a
 * catalog lookup can raise.
 */
extern void lb_add_page_path(PlannerInfo *root, RelOptInfo *final,
							 const FinalPathExtraData *limit);

#endif							/* LB_PAGE_H */
