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
#include "citus/command.h"
#include "citus/companion.h"
#include "citus/companion_rows.h"
#include "citus/counts.h"
#include "citus/distribute.h"
#include "citus/forward.h"
#include "citus/gather.h"
#include "citus/layout.h"
#include "citus/mend.h"
#include "citus/merge.h"
#include "citus/places.h"
#include "citus/settings.h"
#include "citus/shard.h"
#include "citus/shard_boards.h"
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

static bool
has_companion(const char *leaderboard, int record)
{
	return OidIsValid(lb_companion_of(leaderboard, record));
}

static const LbDistributed routines = {
	.value = value,
	.count_before = lb_count_before_by_counts,
	.count_scores = lb_scores_by_counts,
	.page = lb_merge_page,
	.around = lb_merge_around,
	.among = lb_among_by_counts,
	.ranks = lb_ranks_by_counts,
	.ranks_of_keys = lb_ranks_of_keys_by_counts,
	.require_indexes = lb_require_shards,
	.plan = lb_gather_calls,
	.set_up = lb_set_up_statement,
	.explain = lb_explain_nested,
	.serves = lb_shards_serve,
	.is_coordinator = lb_is_coordinator,
	.require_coordinator = lb_require_coordinator_for,
	.lock = lb_lock_distributed,
	.create = lb_shards_create,
	.drop = lb_shards_drop,
	.rebuild = lb_shards_rebuild,
	.wait_ready = lb_shards_wait_ready,
	.verify = lb_shards_verify,
	.dropped = lb_places_follow_drop,
	.begin_settings = lb_lock_changed_settings,
	.end_settings = lb_send_settings,
	.remove_usage = lb_remove_usage,
	.lock_settings = lb_lock_settings,
	.close_window = lb_close_on_servers,
	.window_keys = lb_keys_of_shards,
	.list_boards = lb_list_boards,
	.mend = lb_mend,
	.leave_to_owners = lb_leave_to_owners,
	.forward = lb_forward,
	.forward_many = lb_forward_many,
	.forward_ranked = lb_forward_ranked,
	.is_on_one_server = lb_is_in_shard,
	.forward_forget = lb_forward_forget,
	.has_companion = has_companion,
	.require_distributing = lb_require_distributing,
	.distribute = lb_distribute_table,
	.make_companions = lb_make_companions
};

void
lb_citus_init(void)
{
	lb_distributed = &routines;
}
