/*-------------------------------------------------------------------------
 *
 * ranked_range.h
 *	  Rows of a ranked subquery, by their ranks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANKED_RANGE_H
#define LB_RANKED_RANGE_H

#include "postgres.h"

#include "planner/ranked_lookup.h"

/*
 * Whether the query above asks for a range of ranks, or for the first rows in the
 * board's order.  Fills in *lookup, palloc'd.
 */
extern bool lb_find_rank_range(const LbRanked *match, LbLookup *lookup);

#endif							/* LB_RANKED_RANGE_H */
