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
 * Whether a query may be a page of a board of that table, as far as its order
 * and its quals do not matter.  *checks is set if the node must look whether
 * its select list can raise an error, by the scores that there are.  Can be
 * asked before it has paths.
 */
extern bool lb_may_be_page(const LbSource *source, const LbDefinition *defn,
						   bool *checks);

#endif							/* LB_PAGE_H */
