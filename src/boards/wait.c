/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  Waiting for a build.
 *
 * A waiting backend holds its table locks, and the deadlock detector knows
 * nothing of this wait.  So it must end: a build never waits for a table lock,
 * and each attempt that ends, either way, counts in LbSharedBoard.attempts and
 * wakes the backends that wait.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/state.h"
#include "boards/wait.h"
#include "util/clock.h"
#include "util/wait_event.h"

/*
 * Whether the wait for an attempt has ended, and how.  A build ends a moment
 * after its board is ready: until then, while an old transaction is open,
 * snapshots may be too old for the index.
 */
static bool
has_ended(LbSharedBoard *shared, uint64 generation, bool rebuild,
		  uint32 attempt, LbWait *result)
{
	bool		failed;
	bool		ended = lb_attempt_has_ended(shared, attempt, &failed);

	/* After that: a build sets the state before it ends. */
	bool		ready = lb_is_ready(shared);

	if (shared->generation == generation && ready && ended &&
		!(rebuild && failed))
	{
		*result = LB_WAIT_READY;
		return true;
	}
	*result = LB_WAIT_FAILED;
	return ended || shared->generation != generation;
}

LbWait
lb_wait_build(LbSharedBoard *shared, uint64 generation, bool rebuild,
			  long timeout_ms)
{
	int64		start = lb_clock();
	uint32		attempt = lb_awaited_attempt(shared, rebuild);
	LbWait		result;

	if (!rebuild && shared->generation == generation && lb_is_ready(shared))
		return LB_WAIT_READY;
	lb_request_build(shared, generation, rebuild);
	if (pg_atomic_read_u32(&lb_shared->launcher_pid) == 0)
		return LB_WAIT_FAILED;

	ConditionVariablePrepareToSleep(&shared->changed);
	while (!has_ended(shared, generation, rebuild, attempt, &result))
	{
		long		left = 1000;

		if (timeout_ms >= 0)
		{
			left = timeout_ms - (long) ((lb_clock() - start) / 1000);
			if (left <= 0)
			{
				/* The build may be about to end. */
				result = !rebuild && lb_is_ready(shared) ?
					LB_WAIT_READY : LB_WAIT_TIMEOUT;
				break;
			}
		}
		(void) ConditionVariableTimedSleep(&shared->changed, Min(left, 1000),
										   lb_wait_event(LB_WAIT_EVENT_BUILD));
	}
	ConditionVariableCancelSleep();
	return result;
}
