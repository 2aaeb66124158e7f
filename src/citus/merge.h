/*-------------------------------------------------------------------------
 *
 * merge.h
 *	  Answers of a distributed table's shards, merged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MERGE_H
#define LB_MERGE_H

#include "reads/call.h"
#include "reads/row_list.h"

/*
 * Routines of LbDistributed; the last one is for a function that value serves.
 */
extern bool lb_merge_page(LbCall *call, int64 skip, int64 n, int tail,
						  LbRows *rows);
extern bool lb_merge_around(LbCall *call, int64 radius, LbRows *rows);
extern bool lb_merge_score_at_percentile(LbCall *call, LbNumber *numbers,
										 bool *isnull);

#endif							/* LB_MERGE_H */
