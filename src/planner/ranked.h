/*-------------------------------------------------------------------------
 *
 * ranked.h
 *	  Subqueries and views that rank the rows of a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANKED_H
#define LB_RANKED_H

#include "postgres.h"

#include "planner/match.h"

/*
 * If a board knows the ranks that a subquery computes, and the query above it
 * asks for a few rows, add paths for that to rel, which has its others by
 * now.  Can raise what a catalog lookup can raise.
 */
extern void lb_add_ranked_paths(PlannerInfo *root, RelOptInfo *rel);

/*
 * If the query above has LIMIT and no other quals, or if a query has window
 * functions that a board knows, and LIMIT, make a path for the page the only
 * one of final, which has the others by now, if it is cheaper.  Can raise what
 * a catalog lookup can raise.
 */
extern void lb_add_ranked_page_path(PlannerInfo *root, RelOptInfo *final,
									const FinalPathExtraData *limit);

/*
 * Whether that may be such a query, with window functions and that table.  Can
 * be asked before it has paths.  Can raise likewise.
 */
extern bool lb_may_be_ranked_page(const LbSource *source);

#endif							/* LB_RANKED_H */
