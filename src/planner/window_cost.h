/*-------------------------------------------------------------------------
 *
 * window_cost.h
 *	  What the first row of a window costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WINDOW_COST_H
#define LB_WINDOW_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Correct the costs of the paths with window functions, of a query that may
 * read a board in its order: the rows that a window needs for its first one
 * are read before it.  Raises what a catalog lookup raises.
 */
extern void lb_cost_windows(PlannerInfo *root, RelOptInfo *windowed);

#endif							/* LB_WINDOW_COST_H */
