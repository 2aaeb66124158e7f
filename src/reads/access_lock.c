/*-------------------------------------------------------------------------
 *
 * access_lock.c
 *	  Holding a board's lock, with a view of the board in a snapshot.
 *
 * Under a stripe's lock nothing raises, sleeps or looks up a transaction's
 * outcome: what is copied there goes to memory taken beforehand.  So an
 * attempt to open the view either succeeds, or finds what is missing.  Then
 * the backend releases the lock, gets what was missing, and tries again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/timestamp.h"

#include "boards/counters.h"
#include "boards/live.h"
#include "boards/state.h"
#include "ledger/backlog.h"
#include "ledger/off_board.h"
#include "reads/access_lock.h"
#include "reads/corrections.h"
#include "util/pause.h"
#include "util/wait_event.h"

/* How often a read begins to gather before it runs its query. */
#define LB_MAX_BEGUN 8

/* How long a read waits for a large transaction to be settled. */
#define LARGE_WAIT_MS 100

/* What an attempt to open the view has come to. */
typedef enum Outcome
{
	OPENED,						/* the lock is held; else it is not: */
	AGAIN,						/* the state changed meanwhile */
	NOT_READY,					/* attempt->state is not LB_READY */
	REFUSED,					/* run the query, for attempt->cause */
	COLLECT,					/* do what attempt->result says */
	DELTAS						/* corrections of distinct scores need room */
} Outcome;

typedef struct Attempt
{
	uint32		state;
	LbCause		cause;
	LbCollect	result;
	LbChangesRoom room;			/* for changes; or for n deltas */
	uint64		members;		/* of the board's index */

	/* Of the wait for a large transaction; they last for all attempts. */
	bool		waited;
	TimestampTz deadline;
} Attempt;

static Outcome
refuse(Attempt *attempt, LbCause cause)
{
	attempt->cause = cause;
	return REFUSED;
}

/*
 * How many rows are off the board in the snapshot, own changes included.
 * Returns why that is not known, or none.
 */
static LbCause
count_off_board(const LbAccess *a, const LbLiveBoard *board, int64 *rows)
{
	bool		truncated;
	int64		own;

	if (!lb_count_off_board(board, &a->snapshot, &a->outcomes, rows))
		return LB_CAUSE_SNAPSHOT;
	if (!lb_own_off_board(&a->target, a->snapshot.snapshot->curcid, &truncated,
						  &own))
		return LB_CAUSE_OWN_CHANGES;
	*rows = truncated ? own : *rows + own;
	return LB_CAUSE_NONE;
}

/*
 * Why the view would not have all rows that the read asks for, or none.
 * Cheap unless the board has had rows without a key.
 */
static LbCause
find_off_board(const LbAccess *a, const LbLiveBoard *board)
{
	bool		no_key = a->reader != LB_READER_VERIFY &&
		((board != NULL && board->no_key) || lb_own_no_key(&a->target));
	LbCause		cause;
	int64		rows;

	if (!a->complete && likely(!no_key))
		return LB_CAUSE_NONE;
	cause = count_off_board(a, board, &rows);
	if (cause == LB_CAUSE_NONE && lb_rows_without_key(rows) != 0)
		cause = LB_CAUSE_LIMIT;
	else if (cause == LB_CAUSE_NONE && a->complete && rows != 0)
		cause = LB_CAUSE_OFF_BOARD;
	return cause;
}

bool
lb_access_off_board(const LbAccess *a, int64 *rows)
{
	LbRef		ref;

	return count_off_board(a, lb_live_board_find(a->shared, a->stripe,
												 a->target.hash,
												 &a->target.value, &ref),
						   rows) == LB_CAUSE_NONE;
}

/* Open the view, with the lock held. */
static Outcome
try_locked(LbAccess *a, Attempt *attempt)
{
	LbLiveBoard *board;
	LbRef		ref;
	LbCause		cause;

	/* Dropped and gone, which our lock on the table rules out. */
	if (!lb_shared_board_is(a->shared, a->generation))
		return refuse(attempt, LB_CAUSE_OFFLINE);
	if (pg_atomic_read_u32(&a->shared->nunknown) > 0)
		return refuse(attempt, LB_CAUSE_UNSETTLED);

	/*
	 * In this order: a transaction sets the state to LB_OFFLINE before it
	 * stops being counted in nunknown.
	 */
	pg_read_barrier();
	if (!lb_is_ready(a->shared))
		return AGAIN;
	board = lb_live_board_find(a->shared, a->stripe, a->target.hash,
							   &a->target.value, &ref);
	attempt->result = lb_corrections_collect(a, ref, board, &attempt->room);
	if (attempt->result != LB_COLLECTED)
	{
		attempt->members = board == NULL ? 0 : board->index.members;

		/* From here on no broadcast is missed. */
		if (attempt->result == LB_COLLECT_WAIT)
			ConditionVariablePrepareToSleep(&a->shared->changed);
		return COLLECT;
	}
	cause = find_off_board(a, board);
	if (cause != LB_CAUSE_NONE)
		return refuse(attempt, cause);
	if (a->distinct &&
		!lb_corrections_has_deltas(lb_view_max_deltas(a->overlay)))
	{
		attempt->room.n = lb_view_max_deltas(a->overlay);
		return DELTAS;
	}
	a->begun = 0;
	if (!lb_corrections_open_view(a, board))
		return refuse(attempt, LB_CAUSE_OWN_CHANGES);
	return OPENED;
}

/* Lock the stripe and open the view.  Holds the lock after OPENED only. */
static Outcome
try_once(LbAccess *a, Attempt *attempt)
{
	Outcome		outcome;

	attempt->state = lb_state(a->shared);
	if (attempt->state != LB_READY)
		return NOT_READY;
	if (!lb_corrections_prepare(a))
		return refuse(attempt, LB_CAUSE_OWN_CHANGES);
	lb_lock_to_read(a->stripe, lb_corrections_again(a));
	outcome = try_locked(a, attempt);
	if (outcome != OPENED)
		LWLockRelease(&a->stripe->lock);
	return outcome;
}

/*
 * Apply what settled transactions have left in the backlog, which the snapshot
 * sees some of.  This saves later readers the same corrections.
 */
static void
apply_backlog(LbAccess *a)
{
	LbLiveBoard *board;
	LbRef		ref;

	a->applied = true;
	lb_lock_to_write(a->stripe);
	if (lb_shared_board_is(a->shared, a->generation))
	{
		board = lb_live_board_find(a->shared, a->stripe, a->target.hash,
								   &a->target.value, &ref);
		if (board != NULL)
			lb_apply_backlog(a->shared, board);
	}
	LWLockRelease(&a->stripe->lock);
}

/*
 * Wait for a large transaction that is being settled.  Returns false if it has
 * taken too long.
 */
static bool
wait_for_large(LbAccess *a, Attempt *attempt)
{
	TimestampTz now;
	long		left;

	if (attempt->waited)
	{
		ConditionVariableCancelSleep();
		return false;
	}
	now = GetCurrentTimestamp();
	if (attempt->deadline == 0)
		attempt->deadline = now +
			(lb_access_follows_settings(a) ?
			 Min(lb_wait_timeout_ms, LARGE_WAIT_MS) * INT64CONST(1000) : 0);
	left = TimestampDifferenceMilliseconds(now, attempt->deadline);
	attempt->waited = left <= 0 ||
		ConditionVariableTimedSleep(&a->shared->changed, left,
									lb_wait_event(LB_WAIT_EVENT_LARGE_TRANSACTION));
	ConditionVariableCancelSleep();
	return true;
}

/* Make room for what lb_corrections_collect() has found. */
static bool
make_room(LbAccess *a, const LbChangesRoom *room)
{
	int			n = room->n;
	int			stride = room->stride;

	if (a->own.overlay != NULL)
	{
		n += 2 * a->own.overlay->nentries;
		stride = Max(stride, a->own.overlay->stride);
	}
	if (n > LB_MAX_CORRECTIONS || !lb_corrections_make_room(n, stride))
		return false;
	if (a->unseen.n > a->unseen.max)
	{
		a->unseen.max = a->unseen.n * 2;
		a->unseen.xids = palloc(a->unseen.max * sizeof(TransactionId));
	}
	return true;
}

/* Do what lb_corrections_collect() asks for.  Returns why not, or none. */
static LbCause
resolve_collect(LbAccess *a, Attempt *attempt)
{
	switch (attempt->result)
	{
		case LB_COLLECT_ROOM:
			if (!make_room(a, &attempt->room))
				return LB_CAUSE_SNAPSHOT;
			break;
		case LB_COLLECT_MANY:
			if (a->sums != NULL || !lb_corrections_use_sums(a))
				return LB_CAUSE_SNAPSHOT;
			break;
		case LB_COLLECT_AGAIN:
		case LB_COLLECT_MORE:
			lb_pause("gather");
			CHECK_FOR_INTERRUPTS();
			if (a->begun > LB_MAX_BEGUN ||
				!lb_corrections_worth_it(a, attempt->members))
				return LB_CAUSE_SNAPSHOT;
			break;
		case LB_COLLECT_BACKLOG:
			apply_backlog(a);
			break;
		case LB_COLLECT_OUTCOME:
			CHECK_FOR_INTERRUPTS();
			lb_look_up_outcomes(&a->outcomes);
			break;
		case LB_COLLECT_WAIT:
			if (!wait_for_large(a, attempt))
				return LB_CAUSE_UNSETTLED;
			break;
		case LB_COLLECT_TOO_OLD:
			return LB_CAUSE_SNAPSHOT;
		case LB_COLLECTED:
			break;
	}
	return LB_CAUSE_NONE;
}

/* Get what an attempt has missed.  Returns false if the query must be run. */
static bool
resolve(LbAccess *a, Outcome outcome, Attempt *attempt)
{
	LbCause		cause = LB_CAUSE_NONE;

	switch (outcome)
	{
		case NOT_READY:
			return lb_access_not_ready(a, attempt->state);
		case REFUSED:
			cause = attempt->cause;
			if (cause == LB_CAUSE_LIMIT)
				lb_access_no_key(a);
			break;
		case COLLECT:
			cause = resolve_collect(a, attempt);
			break;
		case DELTAS:
			if (!lb_corrections_make_deltas(attempt->room.n))
				cause = LB_CAUSE_OWN_CHANGES;
			break;
		case AGAIN:
		case OPENED:
			break;
	}
	if (cause != LB_CAUSE_NONE)
		lb_access_fall_back(a, cause);
	return cause == LB_CAUSE_NONE;
}

bool
lb_access_lock(LbAccess *a)
{
	Attempt		attempt;
	Outcome		outcome;

	if (a->query)
		return false;
	a->applied = false;
	if (lb_corrections_too_many(a))
	{
		lb_access_fall_back(a, LB_CAUSE_SNAPSHOT);
		return false;
	}
	attempt.waited = false;
	attempt.deadline = 0;
	while ((outcome = try_once(a, &attempt)) != OPENED)
	{
		if (!resolve(a, outcome, &attempt))
			return false;
	}
	return true;
}

/* Report to SSI the transactions whose changes the snapshot does not see. */
static void
report_conflicts(LbAccess *a)
{
	Snapshot	snapshot = a->snapshot.snapshot;

	if (CheckForSerializableConflictOutNeeded(a->serializable, snapshot))
	{
		for (int i = 0; i < a->unseen.n; i++)
			CheckForSerializableConflictOut(a->serializable,
											a->unseen.xids[i], snapshot);
	}
	a->unseen.n = 0;
}

void
lb_access_unlock(LbAccess *a)
{
	LWLockRelease(&a->stripe->lock);
	if (a->reader != LB_READER_VERIFY && !a->counted)
		lb_count_read(&a->target, a->shared, LB_CAUSE_NONE,
					  a->reader == LB_READER_PLAN);
	if (a->serializable != NULL)
	{
		report_conflicts(a);
		table_close(a->serializable, NoLock);
		a->serializable = NULL;
	}
}

bool
lb_access_yield(LbAccess *a)
{
	LWLockRelease(&a->stripe->lock);
	CHECK_FOR_INTERRUPTS();
	return lb_access_lock(a);
}
