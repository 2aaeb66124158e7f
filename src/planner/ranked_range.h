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
 * Whether the query above asks for a range of ranks.  Fills in *lookup,
 * palloc'd.
 */
extern bool lb_find_rank_range(const LbRanked *match, LbLookup *lookup);

/*
 * Whether all rows that the query above asks for are consecutive places, in
 * the order of pathkeys.  Fills in *lookup, as if it asked for all of them,
 * and with a LIMIT, for as many as that is estimated to leave.
 */
extern bool lb_find_rank_page(const LbRanked *match, List *pathkeys,
							  LbLookup *lookup);
extern void lb_page_limit_rank_page(const LbRanked *match,
									const FinalPathExtraData *limit,
									LbLookup *lookup);

#endif							/* LB_RANKED_RANGE_H */
