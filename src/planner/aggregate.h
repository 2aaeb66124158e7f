/*-------------------------------------------------------------------------
 *
 * aggregate.h
 *	  Aggregates over a board, or over a range of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_AGGREGATE_H
#define LB_AGGREGATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * If a board answers the aggregates of a query over one table without GROUP
 * BY, make a path for that the only one of grouped, which has the others by
 * now.  Can raise what a catalog lookup can raise.
 */
extern void lb_add_aggregate_path(PlannerInfo *root, RelOptInfo *input,
								  RelOptInfo *grouped);

#endif							/* LB_AGGREGATE_H */
