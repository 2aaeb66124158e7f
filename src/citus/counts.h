/*-------------------------------------------------------------------------
 *
 * counts.h
 *	  Answers of a distributed table that are counts of its shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COUNTS_H
#define LB_COUNTS_H

#include "reads/call.h"
#include "reads/row_list.h"

/*
 * Routines of LbDistributed; the first three are for functions that value
 * serves.
 */
extern bool lb_rank_by_counts(LbCall *call, LbNumber *numbers, bool *isnull);
extern bool lb_percentile_by_counts(LbCall *call, LbNumber *numbers,
									bool *isnull);
extern bool lb_player_by_counts(LbCall *call, LbNumber *numbers,
								bool *isnull);
extern bool lb_count_before_by_counts(LbCall *call, bool inclusive,
									  int64 *count);
extern bool lb_scores_by_counts(LbCall *call, int64 n, const int64 *words,
								int64 *counts, int64 *others);
extern bool lb_ranks_of_keys_by_counts(LbCall *call, int n,
									   const int64 *const *keys, int64 *ranks);
extern bool lb_ranks_by_counts(LbCall *call, const LbMembers *members,
							   LbRows *rows);
extern bool lb_among_by_counts(LbCall *call, const LbMembers *members,
							   LbRows *rows);

#endif							/* LB_COUNTS_H */
