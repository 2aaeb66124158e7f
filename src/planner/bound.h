/*-------------------------------------------------------------------------
 *
 * bound.h
 *	  How many rows a plan asks of a scan of a board.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BOUND_H
#define LB_BOUND_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Tell each scan of a board in a finished plan, whose rows a Limit node asks
 * for, the expressions of that.  Changes the plan, and raises nothing but that
 * it is out of memory or that the plan is too deep.
 */
extern void lb_pass_bounds(PlannedStmt *stmt);

/*
 * The plans below a plan, besides its lefttree and its righttree, as far as
 * scans of boards can be there.
 */
extern List *lb_other_plans(Plan *plan);

#endif							/* LB_BOUND_H */
