/*-------------------------------------------------------------------------
 *
 * state.c
 *	  The state of a definition in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "boards/state.h"

static const char memory_used_up[] = "the shared memory of leaderboard.memory is used up";
static const char share_used_up[] = "the database's share, leaderboard.database_memory, is used up";

/*
 * The reason that lb_stat_board shows, and whether the log is to be told of it.
 * These two change only here, so that the log never tells a reason that holds no
 * longer.  A board that is ready has no reason, and nothing is left to tell.
 * Caller holds shared->mutex.
 */
static void
set_reason(LbSharedBoard *shared, const char *reason, bool tell)
{
	shared->tell = tell;
	strlcpy(shared->reason, reason, LB_MAX_REASON);
}

void
lb_shared_board_want_build(LbSharedBoard *shared, uint64 generation,
						   bool again)
{
	uint32		offline = LB_OFFLINE;

	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation &&
		(again || (shared->builder == 0 &&
				   pg_atomic_read_u32(&shared->state) != LB_READY)))
	{
		shared->wanted = true;
		shared->retry = false;
		shared->refused_at = 0;
		pg_atomic_compare_exchange_u32(&shared->state, &offline, LB_BUILDING);
	}
	SpinLockRelease(&shared->mutex);
	lb_wake_launcher();
}

const char *
lb_memory_reason(const LbSharedBoard *shared)
{
	/* Only to find words, so without the arena's lock. */
	return shared->account->limited ? share_used_up : memory_used_up;
}

void
lb_shared_board_reason(LbSharedBoard *shared, const char *reason)
{
	SpinLockAcquire(&shared->mutex);
	set_reason(shared, reason, shared->tell);
	SpinLockRelease(&shared->mutex);
}

void
lb_shared_board_try_soon(LbSharedBoard *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->failed = false;
	SpinLockRelease(&shared->mutex);
}

void
lb_shared_board_ready(LbSharedBoard *shared)
{
	SpinLockAcquire(&shared->mutex);
	pg_atomic_write_u32(&shared->state, LB_READY);
	set_reason(shared, "", false);
	shared->retry = false;
	SpinLockRelease(&shared->mutex);
}

void
lb_shared_board_offline(LbSharedBoard *shared, const char *reason, bool retry)
{
	SpinLockAcquire(&shared->mutex);
	pg_atomic_write_u32(&shared->state, LB_OFFLINE);

	/* The log is told once: each commit may come here from then on. */
	set_reason(shared, reason, shared->tell ||
			   strncmp(shared->reason, reason, LB_MAX_REASON - 1) != 0);
	shared->refused_at = reason == memory_used_up ? shared->account->refused_at
		: 0;

	/* A build does not take back what was asked for while it was at work. */
	shared->retry = retry || (shared->retry && shared->builder == MyProcPid);
	shared->release = true;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
	lb_wake_launcher();
}
