/*-------------------------------------------------------------------------
 *
 * citus.c
 *	  Tables that Citus distributes: the routines that lower folders call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/distributed.h"
#include "citus/ask.h"
#include "citus/citus.h"
#include "citus/counts.h"
#include "citus/gather.h"
#include "citus/merge.h"
#include "reads/values.h"

/* The routines of read functions, by those that answer from an index. */
static const struct
{
	bool		(*of_index) (const LbCall *call, LbNumber *numbers);
	bool		(*of_shards) (LbCall *call, LbNumber *numbers, bool *isnull);
}			values[] =

{
	{lb_rank_value, lb_rank_by_counts},
	{lb_percentile_value, lb_percentile_by_counts},
	{lb_player_value, lb_player_by_counts},
	{lb_score_at_percentile_value, lb_merge_score_at_percentile}
};

static bool
value(LbCall *call, LbNumber *numbers, bool *isnull)
{
	for (int i = 0; i < (int) lengthof(values); i++)
	{
		if (call->function->value == values[i].of_index)
			return values[i].of_shards(call, numbers, isnull);
	}
	return false;
}

static const LbDistributed routines = {
	.value = value,
	.count_before = lb_count_before_by_counts,
	.count_scores = lb_scores_by_counts,
	.page = lb_merge_page,
	.around = lb_merge_around,
	.among = lb_among_by_counts,
	.ranks = lb_ranks_by_counts,
	.require_indexes = lb_require_shards,
	.plan = lb_gather_calls,
	.set_up = lb_set_up_statement,
	.explain = lb_explain_nested
};

void
lb_citus_init(void)
{
	lb_distributed = &routines;
}
