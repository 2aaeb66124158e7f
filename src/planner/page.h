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

/*
 * Whether a query may be a page of that table, as far as its order and its
 * quals do not matter.  Can be asked before it has paths.
 */
extern bool lb_may_be_page(const LbSource *source);

#endif							/* LB_PAGE_H */
