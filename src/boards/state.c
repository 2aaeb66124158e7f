/*-------------------------------------------------------------------------
 *
 * state.c
 *	  The state of a board, and of its build.
 *
 * LbSharedBoard.state is a pair: what answers reads (LbState), and how far a
 * build is (LbPhase).  They are one word, so that readers see both without a
 * lock, and independent: an index serves while its replacement is being built,
 * and can go offline at any moment.  All pairs occur:
 *
 *	BUILDING IDLE				entered, and nothing has requested a build yet
 *	BUILDING REQUESTED			the first build waits for a worker, or one
 *								after the board was offline
 *	BUILDING RUNNING			a worker builds, and there is no index
 *	READY IDLE					the index serves
 *	READY REQUESTED				the same, and lb_rebuild() has been called
 *	READY RUNNING				the old index serves during lb_rebuild()
 *	OFFLINE IDLE				the launcher retries if the reason is passing
 *	OFFLINE REQUESTED			went offline before a worker claimed the build,
 *								or the last attempts have failed
 *	OFFLINE RUNNING				went offline during the build, or as above
 *	any RUNNING_REQUESTED		as RUNNING, and lb_rebuild() has been called
 *
 * A board that is OFFLINE REQUESTED or RUNNING is being built, but reads do
 * not wait for that: their queries answer.
 *
 * Each transition is one function here, which changes the pair under
 * LbSharedBoard.mutex.  A state or a phase that is not named stays as it is.
 * RUNNING* is RUNNING or RUNNING_REQUESTED.
 *
 *	lb_state_reset				-> BUILDING IDLE
 *		by a process that enters the board; directory's lock, exclusive
 *	lb_state_remove				-> OFFLINE IDLE
 *		by one that removes it; directory's and all stripes' locks, exclusive
 *	lb_request_build			BUILDING, OFFLINE: IDLE, REQUESTED
 *								-> BUILDING REQUESTED
 *		by reads, commits, the launcher and workers; no lock
 *	lb_request_build, again		IDLE, REQUESTED -> REQUESTED
 *								RUNNING* -> RUNNING_REQUESTED
 *								OFFLINE -> BUILDING
 *		by lb_rebuild(); no lock
 *	lb_request_retry			OFFLINE: IDLE, REQUESTED -> BUILDING REQUESTED
 *								the same, and attempts have failed
 *								-> OFFLINE REQUESTED
 *		by the launcher; directory's lock
 *	lb_request_first_build		BUILDING IDLE -> REQUESTED
 *		by a worker that visits the database; no lock
 *	lb_request_refused_build	OFFLINE: IDLE, REQUESTED -> BUILDING REQUESTED
 *		by the launcher; directory's lock
 *	lb_request_limited_build	the same
 *		by a worker that visits the database; no lock
 *	lb_claim_build				REQUESTED -> RUNNING
 *		by a worker; directory's lock
 *	lb_refuse_build				READY REQUESTED -> IDLE
 *		by the launcher, or a worker that fails; directory's lock
 *	lb_set_ready				RUNNING* -> READY
 *		by the worker that builds; all stripes' locks, exclusive
 *	lb_restart_build			RUNNING* -> BUILDING
 *		by the worker that builds; no lock
 *	lb_end_build				RUNNING -> IDLE
 *								RUNNING_REQUESTED -> REQUESTED
 *		by the worker that builds; no lock
 *	lb_end_build, again			the same, and if not READY
 *								RUNNING -> REQUESTED
 *	lb_take_offline				-> OFFLINE
 *		by any process; a stripe's lock, the directory's, or none
 *
 * What these functions change beside the pair:
 *
 *	builder				the pid of the worker, while a build is RUNNING*
 *	attempts, failures, build_start, failure_took
 *						of the last attempts; lb_refuse_build() counts as one
 *	build_seconds		of the last build that lb_set_ready() ended
 *	reason				why the board is not ready, or why the last rebuild has
 *						failed; none from lb_set_ready() on
 *	passing				the launcher requests a build by itself, some time
 *						after the last attempt; if memory was refused, while no
 *						other build is running
 *	awaiting			... or as soon as transactions have ended
 *	refused_at			... or when leaderboard.memory is raised, or above this
 *	limited_at			... or when leaderboard.database_memory is
 *	log_reason, release	orders for the launcher, since a process that takes a
 *						board offline must not do I/O or free much memory
 *
 * Publications queue for the build (LbStripe.queueing) only while it is
 * RUNNING*.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "boards/state.h"

static const char memory_used_up[] = "the shared memory of leaderboard.memory is used up";
static const char share_used_up[] = "the database's share, leaderboard.database_memory, is used up";

/*
 * Change the pair.  The caller holds the mutex, and has set builder as the new
 * phase requires.
 */
static void
set_state(LbSharedBoard *shared, LbState state, LbPhase phase)
{
	Assert((phase >= LB_RUNNING) == (shared->builder != 0));
	pg_atomic_write_u32(&shared->state, (uint32) phase << LB_STATE_BITS | state);
}

/* The same for one of the two. */
static void
change_state(LbSharedBoard *shared, LbState state)
{
	set_state(shared, state, lb_phase(shared));
}

static void
change_phase(LbSharedBoard *shared, LbPhase phase)
{
	set_state(shared, lb_state(shared), phase);
}

/*
 * Change the reason, and whether the launcher must log it.  The two change
 * only here, so that the launcher never logs a reason that is out of date.
 * The caller holds the mutex.
 */
static void
change_reason(LbSharedBoard *shared, const char *reason, bool log)
{
	shared->log_reason = log;
	strlcpy(shared->reason, reason, LB_MAX_REASON);
}

/*
 * Transitions
 */

void
lb_state_init(LbSharedBoard *shared)
{
	pg_atomic_init_u32(&shared->state, LB_OFFLINE);
	SpinLockInit(&shared->mutex);
}

void
lb_state_reset(LbSharedBoard *shared)
{
	Assert(shared->generation == 0 && lb_phase(shared) == LB_IDLE);
	SpinLockAcquire(&shared->mutex);
	set_state(shared, LB_BUILDING, LB_IDLE);
	shared->attempts = 0;
	shared->failures = 0;
	shared->build_start = 0;
	shared->failure_took = 0;
	shared->build_seconds = 0;
	change_reason(shared, "", false);
	shared->passing = false;
	shared->awaiting = false;
	shared->refused_at = shared->limited_at = 0;
	shared->release = false;
	SpinLockRelease(&shared->mutex);
}

void
lb_state_remove(LbSharedBoard *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->generation = 0;
	shared->builder = 0;
	set_state(shared, LB_OFFLINE, LB_IDLE);
	shared->release = false;
	SpinLockRelease(&shared->mutex);
}

/* The caller holds the mutex. */
static void
request_build(LbSharedBoard *shared, LbState state)
{
	set_state(shared, lb_is_ready(shared) ? LB_READY : state,
			  lb_build_is_running(shared) ? LB_RUNNING_REQUESTED : LB_REQUESTED);
	shared->passing = false;
	shared->refused_at = shared->limited_at = 0;
}

void
lb_request_build(LbSharedBoard *shared, uint64 generation, bool again)
{
	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation &&
		(again || !(lb_is_ready(shared) || lb_build_is_running(shared))))
		request_build(shared, LB_BUILDING);
	SpinLockRelease(&shared->mutex);
	lb_wake_launcher();
}

void
lb_request_retry(LbSharedBoard *shared, uint64 generation)
{
	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation && lb_is_offline(shared) &&
		!lb_build_is_running(shared))
		request_build(shared,
					  shared->failures > 1 ? LB_OFFLINE : LB_BUILDING);
	SpinLockRelease(&shared->mutex);
	lb_wake_launcher();
}

void
lb_request_first_build(LbSharedBoard *shared)
{
	/* Look without the lock first: there can be thousands of boards. */
	if (!lb_is_building(shared))
		return;
	SpinLockAcquire(&shared->mutex);
	if (lb_is_building(shared) && !lb_build_is_running(shared))
		change_phase(shared, LB_REQUESTED);
	SpinLockRelease(&shared->mutex);
}

void
lb_request_refused_build(LbSharedBoard *shared, bool raised)
{
	uint64		limit = lb_shared->arena.limit;

	/* As above. */
	if (shared->refused_at == 0)
		return;
	SpinLockAcquire(&shared->mutex);
	if (shared->refused_at != 0 && (raised || shared->refused_at < limit) &&
		lb_is_offline(shared) && !lb_build_is_running(shared))
		request_build(shared, LB_BUILDING);
	SpinLockRelease(&shared->mutex);
}

void
lb_request_limited_build(LbSharedBoard *shared, uint64 limit)
{
	/* As above. */
	if (shared->limited_at == 0)
		return;
	SpinLockAcquire(&shared->mutex);
	if (shared->limited_at != 0 &&
		(limit == 0 || shared->limited_at < limit) &&
		lb_is_offline(shared) && !lb_build_is_running(shared))
		request_build(shared, LB_BUILDING);
	SpinLockRelease(&shared->mutex);
}

bool
lb_claim_build(LbSharedBoard *shared, uint64 *generation)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		claimed = false;

	SpinLockAcquire(&shared->mutex);
	if (lb_phase(shared) == LB_REQUESTED)
	{
		shared->builder = MyProcPid;
		change_phase(shared, LB_RUNNING);
		shared->passing = false;
		shared->build_start = now;
		*generation = shared->generation;
		claimed = true;
	}
	SpinLockRelease(&shared->mutex);
	if (claimed)
		pg_atomic_fetch_add_u32(&lb_shared->builds_begun, 1);
	return claimed;
}

uint32
lb_ended_builds(void)
{
	return pg_atomic_read_u32(&lb_shared->builds_ended);
}

bool
lb_other_builds(uint32 ended)
{
	return pg_atomic_read_u32(&lb_shared->builds_begun) - ended > 1;
}

bool
lb_any_build(void)
{
	return pg_atomic_read_u32(&lb_shared->builds_begun) != lb_ended_builds();
}

void
lb_refuse_build(LbSharedBoard *shared, const char *reason)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		refused = false;

	SpinLockAcquire(&shared->mutex);
	if (lb_phase(shared) == LB_REQUESTED)
	{
		/* Without an index the request stays. */
		if (lb_is_ready(shared))
			change_phase(shared, LB_IDLE);
		shared->attempts++;
		shared->failures++;
		shared->build_start = now;
		shared->failure_took = 0;
		change_reason(shared, reason, shared->log_reason);
		refused = true;
	}
	SpinLockRelease(&shared->mutex);
	if (refused)
		ConditionVariableBroadcast(&shared->changed);
}

void
lb_set_ready(LbSharedBoard *shared)
{
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&shared->mutex);
	Assert(lb_build_is_running(shared) && shared->builder == MyProcPid);
	change_state(shared, LB_READY);
	change_reason(shared, "", false);
	shared->passing = false;
	shared->build_seconds = (now - shared->build_start) / 1000000.0;
	SpinLockRelease(&shared->mutex);
}

void
lb_restart_build(LbSharedBoard *shared, uint64 generation)
{
	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation)
	{
		Assert(lb_build_is_running(shared) && shared->builder == MyProcPid);
		change_state(shared, LB_BUILDING);
		shared->passing = false;
	}
	SpinLockRelease(&shared->mutex);
}

void
lb_end_build(LbSharedBoard *shared, uint64 generation, bool installed,
			 bool again)
{
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation)
	{
		Assert(lb_build_is_running(shared) && shared->builder == MyProcPid);
		shared->builder = 0;
		change_phase(shared, lb_phase(shared) == LB_RUNNING_REQUESTED ||
					 (again && !lb_is_ready(shared)) ?
					 LB_REQUESTED : LB_IDLE);
		shared->attempts++;
		shared->failures = installed ? 0 : shared->failures + 1;
		shared->failure_took = installed ? 0 :
			Max(now - shared->build_start, 0);
	}
	SpinLockRelease(&shared->mutex);
	pg_atomic_fetch_add_u32(&lb_shared->builds_ended, 1);
	ConditionVariableBroadcast(&shared->changed);
	lb_wake_launcher();
}

void
lb_take_offline(LbSharedBoard *shared, uint64 generation,
				const char *reason, bool passing)
{
	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation)
	{
		change_state(shared, LB_OFFLINE);

		/* Each commit can come here from now on: log the reason once. */
		change_reason(shared, reason, shared->log_reason ||
					  strncmp(shared->reason, reason, LB_MAX_REASON - 1) != 0);
		shared->refused_at = reason == memory_used_up ?
			shared->account->refused_at : 0;
		shared->limited_at = reason == share_used_up ?
			shared->account->limited_at : 0;

		/*
		 * A build does not overrule what others have set while it was
		 * running: ALTER TABLE, say, that has enabled a trigger which the
		 * build found disabled.
		 */
		shared->passing = passing ||
			(shared->passing && shared->builder == MyProcPid);
		shared->release = true;
	}
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
	lb_wake_launcher();
}

/*
 * Reasons and attempts
 */

const char *
lb_memory_reason(const LbSharedBoard *shared)
{
	/* Only the text depends on it: without the arena's lock. */
	return shared->account->limited ? share_used_up : memory_used_up;
}

void
lb_set_reason(LbSharedBoard *shared, uint64 generation, const char *reason)
{
	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation)
		change_reason(shared, reason, shared->log_reason);
	SpinLockRelease(&shared->mutex);
}

double
lb_get_reason(LbSharedBoard *shared, char *reason)
{
	double		seconds;

	SpinLockAcquire(&shared->mutex);
	strlcpy(reason, shared->reason, LB_MAX_REASON);
	seconds = shared->build_seconds;
	SpinLockRelease(&shared->mutex);
	return seconds;
}

bool
lb_stays_offline(LbSharedBoard *shared)
{
	bool		stays;

	SpinLockAcquire(&shared->mutex);
	stays = lb_is_offline(shared) && !shared->passing &&
		lb_phase(shared) == LB_IDLE;
	SpinLockRelease(&shared->mutex);
	return stays;
}

void
lb_retry_soon(LbSharedBoard *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->failures = 0;
	SpinLockRelease(&shared->mutex);
}

void
lb_await_transactions(LbSharedBoard *shared, uint64 generation)
{
	SpinLockAcquire(&shared->mutex);
	if (shared->generation == generation)
		shared->awaiting = shared->failures == 0;
	SpinLockRelease(&shared->mutex);
}

bool
lb_awaited_have_ended(LbSharedBoard *shared, bool running, bool releasing)
{
	bool		ended;

	SpinLockAcquire(&shared->mutex);
	ended = shared->awaiting && !running && !releasing;
	shared->awaiting = running || (releasing && shared->awaiting);
	SpinLockRelease(&shared->mutex);
	return ended;
}

uint32
lb_awaited_attempt(LbSharedBoard *shared, bool rebuild)
{
	uint32		attempt;

	SpinLockAcquire(&shared->mutex);
	attempt = shared->attempts +
		(rebuild && lb_build_is_running(shared) ? 2 : 1);
	SpinLockRelease(&shared->mutex);
	return attempt;
}

bool
lb_attempt_has_ended(LbSharedBoard *shared, uint32 attempt, bool *failed)
{
	bool		ended;

	SpinLockAcquire(&shared->mutex);
	ended = (int32) (shared->attempts - attempt) >= 0;
	*failed = shared->failures > 0;
	SpinLockRelease(&shared->mutex);
	return ended;
}

void
lb_take_order(LbSharedBoard *shared, LbBuildOrder *order)
{
	SpinLockAcquire(&shared->mutex);
	order->shared = shared;
	order->generation = shared->generation;
	order->database = shared->database;
	memcpy(order->name, shared->name, NAMEDATALEN);
	order->log = shared->log_reason;
	shared->log_reason = false;

	/* A build may still replace or need them. */
	order->release = shared->release && !lb_build_is_running(shared);
	if (order->release)
		shared->release = false;
	order->start = lb_phase(shared) == LB_REQUESTED;
	order->offline = lb_is_offline(shared);
	order->retry = shared->passing && order->offline &&
		lb_phase(shared) == LB_IDLE;
	order->alone = order->retry &&
		strcmp(shared->reason, lb_memory_reason(shared)) == 0;
	order->failures = shared->failures;
	order->last_start = shared->build_start;
	order->took = shared->failure_took / 1000;
	memcpy(order->reason, shared->reason, LB_MAX_REASON);
	SpinLockRelease(&shared->mutex);
}
