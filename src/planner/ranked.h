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

#include "nodes/pathnodes.h"

/*
 * If a board knows the ranks that a subquery computes, and the query above it asks
 * for a few rows, add paths for that to rel, which has its others by now.  Can raise
 * what a catalog lookup can raise.
 */
extern void lb_add_ranked_paths(PlannerInfo *root, RelOptInfo *rel);

#endif							/* LB_RANKED_H */
