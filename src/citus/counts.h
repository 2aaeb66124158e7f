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
 * The routines of functions that take a member: see LbDistributed.value.
 */
extern bool lb_rank_by_counts(LbCall *call, LbNumber *numbers, bool *isnull);
extern bool lb_percentile_by_counts(LbCall *call, LbNumber *numbers,
									bool *isnull);
extern bool lb_player_by_counts(LbCall *call, LbNumber *numbers,
								bool *isnull);

/*
 * What lb_count_before_rows(), lb_read_ranks_rows() and the one of lb_among() do, for a
 * call whose query must be run.  They return false if it must be: if this is not
 * such a table, or a shard's board has not answered.  Raise what a statement on the
 * shards raises.
 */
extern bool lb_count_before_by_counts(LbCall *call, bool inclusive,
									  int64 *count);
extern bool lb_ranks_by_counts(LbCall *call, const LbMembers *members,
							   LbRows *rows);
extern bool lb_among_by_counts(LbCall *call, const LbMembers *members,
							   LbRows *rows);

/*
 * Likewise how many rows have scores from one word to another, for n pairs of words of
 * the key; and how many rows have none of these.
 */
extern bool lb_scores_by_counts(LbCall *call, int64 n, const int64 *words,
								int64 *counts, int64 *others);

#endif							/* LB_COUNTS_H */
