/*-------------------------------------------------------------------------
 *
 * state.h
 *	  The state of a board, and of its build.
 *
 * The top comment of state.c has the table of states and transitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_STATE_H
#define LB_STATE_H

#include "postgres.h"

#include "boards/shared.h"

/* What answers reads; lb_stat_board shows it. */
typedef enum LbState
{
	LB_BUILDING,				/* no index yet: reads wait for its build */
	LB_READY,					/* the index */
	LB_OFFLINE					/* the index is out of service: the queries */
} LbState;

/* How far the build of the index is. */
typedef enum LbPhase
{
	LB_IDLE,
	LB_REQUESTED,				/* no worker has claimed it yet */
	LB_RUNNING,					/* a worker has claimed it */
	LB_RUNNING_REQUESTED		/* the same, and a further one is requested */
} LbPhase;

/* LbSharedBoard.state has an LbState in its lowest bits, then an LbPhase. */
#define LB_STATE_BITS 2
#define LB_STATE_MASK ((1 << LB_STATE_BITS) - 1)

/*
 * The state, and the phase, at this moment.  None of these takes a lock.  A
 * reader that holds a stripe's lock and sees LB_READY may use that stripe's
 * boards until it releases the lock.
 */
static inline LbState
lb_state(LbSharedBoard *shared)
{
	return (LbState) (pg_atomic_read_u32(&shared->state) & LB_STATE_MASK);
}

static inline LbPhase
lb_phase(LbSharedBoard *shared)
{
	return (LbPhase) (pg_atomic_read_u32(&shared->state) >> LB_STATE_BITS);
}

static inline bool
lb_is_ready(LbSharedBoard *shared)
{
	return lb_state(shared) == LB_READY;
}

static inline bool
lb_is_building(LbSharedBoard *shared)
{
	return lb_state(shared) == LB_BUILDING;
}

static inline bool
lb_is_offline(LbSharedBoard *shared)
{
	return lb_state(shared) == LB_OFFLINE;
}

static inline bool
lb_build_is_running(LbSharedBoard *shared)
{
	return lb_phase(shared) >= LB_RUNNING;
}

/*
 * Transitions.  None of them raises or allocates, and all are safe after the
 * commit record.  Each takes LbSharedBoard.mutex; what else it needs is in the
 * table.  With a generation, a function does nothing if that has ended.
 */

/* For memory that has never been an LbSharedBoard, which must be zero. */
extern void lb_state_init(LbSharedBoard *shared);

extern void lb_state_reset(LbSharedBoard *shared);

extern void lb_state_remove(LbSharedBoard *shared);

/*
 * Request a build and wake the launcher.  Without again, only if the board is
 * not ready and no build is running.
 */
extern void lb_request_build(LbSharedBoard *shared, uint64 generation,
							 bool again);

/*
 * The same for a board that is offline.  Reads wait for that build, unless the
 * last two attempts, or more, have failed: then it stays offline meanwhile.
 */
extern void lb_request_retry(LbSharedBoard *shared, uint64 generation);

/* Request the first build, if none is running; the caller will claim it. */
extern void lb_request_first_build(LbSharedBoard *shared);

/*
 * Request a build if the board is offline since memory was refused, and
 * leaderboard.memory is more than it was then, or has just been raised.
 */
extern void lb_request_refused_build(LbSharedBoard *shared, bool raised);

/*
 * Request a build if the board is offline since the database's limit refused
 * memory, and that limit is now more than it was then.  In bytes, 0 is no
 * limit.
 */
extern void lb_request_limited_build(LbSharedBoard *shared, uint64 limit);

/*
 * Claim a requested build, for this process.  Returns false if it is not
 * requested, or another process was quicker.
 */
extern bool lb_claim_build(LbSharedBoard *shared, uint64 *generation);

/*
 * How many builds have ended, to be noted by a build that was just claimed;
 * and, with that number, whether another one has been running since.  No lock.
 */
extern uint32 lb_ended_builds(void);
extern bool lb_other_builds(uint32 ended);

/* Whether any build is running.  No lock. */
extern bool lb_any_build(void);

/*
 * There is no worker for a requested build.  This counts as an attempt that
 * has failed, so that backends that wait run their queries.
 */
extern void lb_refuse_build(LbSharedBoard *shared, const char *reason);

/* The index serves. */
extern void lb_set_ready(LbSharedBoard *shared);

/* The old index was given up for lack of memory; the build goes on. */
extern void lb_restart_build(LbSharedBoard *shared, uint64 generation);

/*
 * The claimed build has ended.  Wakes the backends that wait for it.  With
 * again, another build is requested, unless the board is ready.
 */
extern void lb_end_build(LbSharedBoard *shared, uint64 generation,
						 bool installed, bool again);

/*
 * Take the index out of service.  The launcher logs the reason, which is a
 * constant, and frees the indexes.  passing means that the launcher may
 * request a build by itself; a build that says no leaves that as other
 * processes have set it since the build began.
 */
extern void lb_take_offline(LbSharedBoard *shared, uint64 generation,
							const char *reason, bool passing);

/*
 * Reasons and attempts.  These do not change the state.  The generation is as
 * above.
 */

/*
 * The reason to give when a definition was refused memory: the limit of all
 * boards, or that of the database.  A board that is offline for one of them is
 * built again when that limit is raised.
 */
extern const char *lb_memory_reason(const LbSharedBoard *shared);

/* Say why the last build has failed. */
extern void lb_set_reason(LbSharedBoard *shared, uint64 generation,
						  const char *reason);

/*
 * Copy the reason, into LB_MAX_REASON bytes.  It is empty if there is none.
 * Returns the seconds that the last successful build took, 0 if there was
 * none.
 */
extern double lb_get_reason(LbSharedBoard *shared, char *reason);

/*
 * Whether the board is offline, and no build is going to be requested by
 * itself.
 */
extern bool lb_stays_offline(LbSharedBoard *shared);

/*
 * Do not delay the next build because the last one has failed: the cause is
 * being removed.
 */
extern void lb_retry_soon(LbSharedBoard *shared);

/*
 * A build could not begin because of transactions that are running.  The
 * launcher requests another as soon as they have ended, unless the last one
 * has failed, too.
 */
extern void lb_await_transactions(LbSharedBoard *shared, uint64 generation);

/*
 * Report whether such transactions are running, or are releasing their locks.
 * Returns whether the board awaited them, and they have ended.
 */
extern bool lb_awaited_have_ended(LbSharedBoard *shared, bool running,
								  bool releasing);

/*
 * The number of the attempt that will have done what is requested now.  A
 * rebuild must begin after the call, so a build that is running does not
 * count.
 */
extern uint32 lb_awaited_attempt(LbSharedBoard *shared, bool rebuild);

/* Whether that attempt has ended, and whether the last one has failed. */
extern bool lb_attempt_has_ended(LbSharedBoard *shared, uint32 attempt,
								 bool *failed);

/* What the launcher must do for a board. */
typedef struct LbBuildOrder
{
	LbSharedBoard *shared;
	uint64		generation;
	Oid			database;
	char		name[NAMEDATALEN];
	bool		log;			/* log that it is offline, and the reason */
	bool		release;		/* free the indexes */
	bool		start;			/* start a worker */
	bool		retry;			/* request a build: the reason is passing */
	bool		offline;
	bool		alone;			/* ... while no other build takes memory */
	uint32		failures;		/* of the last attempts, in a row */
	TimestampTz last_start;		/* of an attempt; 0 if there was none */
	int64		took;			/* milliseconds; 0 unless it has failed */
	char		reason[LB_MAX_REASON];
} LbBuildOrder;

/* Copy that.  The caller must log and release; the next order has neither. */
extern void lb_take_order(LbSharedBoard *shared, LbBuildOrder *order);

#endif							/* LB_STATE_H */
