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
 * The rows at places skip + 1 ... skip + n of all shards, with the ranks of the call's
 * method.  For a call whose query must be run.
 * Returns false if it must be: if this is not such a table, a shard's board has not
 * answered, or the rows change faster than they are found.  Raises what a statement
 * on the shards raises.
 */
extern bool lb_merge_page(LbCall *call, int64 skip, int64 n, int tail,
						  LbRows *rows);

/* Likewise the rows around the member that is the first operand. */
extern bool lb_merge_around(LbCall *call, int64 radius, LbRows *rows);

/* The routine of lb_score_at_percentile(): see LbDistributed.value. */
extern bool lb_merge_score_at_percentile(LbCall *call, LbNumber *numbers,
										 bool *isnull);

#endif							/* LB_MERGE_H */
