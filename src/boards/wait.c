/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  Waiting for a build.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "boards/state.h"
#include "boards/wait.h"

LbWait
lb_wait_build(LbSharedBoard *shared, uint64 generation, bool rebuild,
			  long timeout_ms)
{
	TimestampTz start = GetCurrentTimestamp();
	uint32		target;
	LbWait		result;

	/* A build that is running already has begun before we asked. */
	SpinLockAcquire(&shared->mutex);
	target = shared->attempts + (rebuild && shared->builder != 0 ? 2 : 1);
	SpinLockRelease(&shared->mutex);
	lb_shared_board_want_build(shared, generation, rebuild);
	if (pg_atomic_read_u32(&lb_shared->launcher_pid) == 0)
		return LB_WAIT_FAILED;

	ConditionVariablePrepareToSleep(&shared->changed);
	for (;;)
	{
		uint32		state = pg_atomic_read_u32(&shared->state);
		uint32		attempts;
		bool		failed;
		long		left = 1000;

		SpinLockAcquire(&shared->mutex);
		attempts = shared->attempts;
		failed = shared->failed;
		SpinLockRelease(&shared->mutex);
		if (shared->generation != generation)
		{
			result = LB_WAIT_FAILED;
			break;
		}
		if (!rebuild && state == LB_READY)
		{
			result = LB_WAIT_READY;
			break;
		}
		if ((int32) (attempts - target) >= 0)
		{
			result = failed || state != LB_READY ? LB_WAIT_FAILED :
				LB_WAIT_READY;
			break;
		}
		if (timeout_ms >= 0)
		{
			left = timeout_ms -
				TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
			if (left <= 0)
			{
				result = LB_WAIT_TIMEOUT;
				break;
			}
		}
		(void) ConditionVariableTimedSleep(&shared->changed, Min(left, 1000),
										   PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return result;
}
