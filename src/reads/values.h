/*-------------------------------------------------------------------------
 *
 * values.h
 *	  Single answers from the index.
 *
 * The routines of functions that return one value or record: see
 * LbReadFunction.value in call.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_VALUES_H
#define LB_VALUES_H

#include "reads/call.h"

extern bool lb_rank_value(const LbCall *call, LbNumber *numbers);
extern bool lb_score_value(const LbCall *call, LbNumber *numbers);
extern bool lb_percentile_value(const LbCall *call, LbNumber *numbers);
extern bool lb_player_value(const LbCall *call, LbNumber *numbers);
extern bool lb_count_value(const LbCall *call, LbNumber *numbers);
extern bool lb_count_between_value(const LbCall *call, LbNumber *numbers);
extern bool lb_rank_of_score_value(const LbCall *call, LbNumber *numbers);
extern bool lb_score_at_percentile_value(const LbCall *call,
										 LbNumber *numbers);

/*
 * How many entries come before the one whose score lb_score_at_percentile()
 * returns, on a board with total entries.
 */
extern int64 lb_place_of_percentile(double percentile, int64 total);

/*
 * For these and for rows.c, under the lock: the rank that an entry with this
 * first word of its key has, or would have, by rank or dense_rank ...
 */
extern int64 lb_rank_of_word(const LbCall *call, int64 word);

/* ... how many entries have lo <= score <= hi ... */
extern int64 lb_scores_between(const LbCall *call, int64 lo, int64 hi);

/* ... and the score of the entry at a place, which exists, counted from 0. */
extern int64 lb_score_at(const LbCall *call, uint64 place);

#endif							/* LB_VALUES_H */
