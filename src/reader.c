/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  Reading a board from its index, as a snapshot sees it.
 *
 * Nothing that can raise runs under a stripe's lock, and no outcome of a
 * transaction is looked up there: what the lock holds for is copied into
 * memory taken beforehand.  Where something is missing, the lock is released,
 * the missing thing got, and everything tried again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "build.h"
#include "capture.h"
#include "reader.h"
#include "stat.h"

/* The most changes by which a snapshot may differ from the index. */
#define LB_MAX_CORRECTIONS 1000000

/*
 * The most own changes, all of which are looked up in the index under one hold
 * of the lock.
 */
#define LB_MAX_OWN 100000

/* How long a read waits for a large transaction to be settled. */
#define LARGE_WAIT_MS 100

/* The most for which memory is kept from one transaction to the next. */
#define KEEP_ROOM 10000

/*
 * What the last read had to correct, own changes included.  Many reads of one
 * snapshot find it as they left it, as long as nobody commits meanwhile.
 */
typedef struct Corrections
{
	MemoryContext context;
	bool		valid;
	bool		any;			/* there is something to correct */
	LbDef	   *def;
	uint64		generation;
	LbRef		board;
	uint64		version;		/* of the board */
	uint64		applied;		/* likewise */
	uint64		xmin;			/* of the snapshot ... */
	uint64		xmax;
	uint32		xcnt;
	TransactionId *xip;
	CommandId	curcid;
	uint64		own;			/* ... and what it was merged with: its serial */
	bool		pending;		/* has something of what is not settled */
	LbChanges	changes;
	LbOverlay	overlay;
	int64	   *delta;			/* entries added last */
	LbScoreDelta *deltas;
	int			ndeltas;		/* made of ... */
	int64		delta_total;
	uint64		deltas_of;		/* ... the overlay with this serial */
	uint64		deltas_at;		/* ... and the board at this version */
} Corrections;

static Corrections corrections;


/* ----------------------------------------------------------------
 *		Whether the index can be asked
 * ----------------------------------------------------------------
 */

static void
offline_error(const LbDefn *defn, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" is offline", defn->name),
			 reason[0] != '\0' ? errdetail("Reason: %s.", reason) : 0,
			 RecoveryInProgress() ?
			 errhint("Ask the primary server, or set \"leaderboard.offline\" to \"query\".") :
			 errhint("Use lb_rebuild() to build its index again, or set \"leaderboard.offline\" to \"query\".")));
}

/* Why the index cannot be asked at all, whatever its state. */
static LbCause
cause_before_index(LbRead *r, Snapshot snapshot)
{
	LbDefn	   *defn = r->target.defn;

	if (!lb_enable_index && !r->verify)
		return LB_CAUSE_DISABLED;
	if (RecoveryInProgress())
	{
		if (lb_offline == LB_POLICY_ERROR)
			offline_error(defn, "the server is a standby");
		return LB_CAUSE_RECOVERY;
	}

	/*
	 * A worker of a parallel query has the leader's snapshot, but not its list
	 * of own changes, nor that of the boards and tables that it has altered.
	 * A read gets here where a user's function is wrongly marked PARALLEL SAFE.
	 */
	if (IsParallelWorker())
		return LB_CAUSE_OWN_CHANGES;

	if (snapshot->takenDuringRecovery ||
		snapshot->snapshot_type != SNAPSHOT_MVCC)
		return LB_CAUSE_SNAPSHOT;
	if (defn->row_security && !r->verify &&
		check_enable_rls(defn->source, InvalidOid, true) == RLS_ENABLED)
		return LB_CAUSE_ROW_SECURITY;
	if (defn->problem != NULL || !defn->captured)
	{
		LbDef	   *def = lb_def_attach(defn, false);

		/*
		 * It cannot be followed from here on.  What we have altered ourselves
		 * is nobody else's concern until we commit, and what somebody else has
		 * can come back by a rollback.
		 */
		if (def != NULL && pg_atomic_read_u32(&def->state) != LB_OFFLINE &&
			!lb_changed_here(defn->source))
			lb_def_offline(def, defn->problem ? defn->problem :
						   "a capture trigger is missing or disabled", true);
		if (lb_offline == LB_POLICY_ERROR)
			offline_error(defn, defn->problem ? defn->problem :
						  "a capture trigger is missing or disabled");
		return defn->problem ? LB_CAUSE_OFFLINE : LB_CAUSE_TRIGGER;
	}
	if (r->target.has_value && r->target.value.len > LB_MAX_VALUE)
		return LB_CAUSE_LIMIT;

	/* While a statement runs, what it has changed is not all captured yet. */
	if (AfterTriggerPendingOnRel(defn->source))
		return LB_CAUSE_OWN_CHANGES;
	for (int i = 0; defn->parts_valid && i < defn->nparts; i++)
	{
		if (AfterTriggerPendingOnRel(defn->parts[i]))
			return LB_CAUSE_OWN_CHANGES;
	}
	return LB_CAUSE_NONE;
}

void
lb_read_by_query(LbRead *r, LbCause cause)
{
	if (r->serializable != NULL)
		table_close(r->serializable, NoLock);
	r->serializable = NULL;
	r->query = true;
	r->cause = cause;
}

void
lb_read_begin(LbRead *r, Snapshot snapshot, bool distinct, bool verify)
{
	LbDefn	   *defn = r->target.defn;
	LbCause		cause;

	r->distinct = distinct;
	r->verify = verify;
	r->query = false;
	r->cause = LB_CAUSE_NONE;
	r->def = NULL;
	r->own = NULL;
	r->serializable = NULL;

	/* Without the privileges, the query raises the error that it raises. */
	if (!verify && !lb_may_read(defn))
	{
		lb_read_by_query(r, LB_CAUSE_NONE);
		return;
	}
	cause = cause_before_index(r, snapshot);
	if (cause != LB_CAUSE_NONE)
	{
		lb_read_by_query(r, cause);
		return;
	}

	r->def = lb_def_attach(defn, false);
	if (r->def == NULL)
	{
		/* Not committed: nobody else can build it. */
		if (lb_created_here(defn))
		{
			lb_read_by_query(r, LB_CAUSE_BUILDING);
			return;
		}
		/* A database that was restored, or made from a template. */
		r->def = lb_def_attach(defn, true);
		if (r->def == NULL)
		{
			lb_read_by_query(r, LB_CAUSE_OFFLINE);
			return;
		}
	}
	r->generation = defn->generation;
	r->stripe = &r->def->stripes[r->target.stripe];
	r->own = lb_own_changes(&r->target, snapshot->curcid);
	if (r->own != NULL && r->own->nentries > LB_MAX_OWN && !verify)
	{
		lb_read_by_query(r, LB_CAUSE_OWN_CHANGES);
		return;
	}
	if (corrections.xip == NULL)
		corrections.xip = MemoryContextAlloc(TopMemoryContext,
											 GetMaxSnapshotXidCount() *
											 sizeof(TransactionId));
	lb_snapshot_init(&r->snapshot, snapshot);
	memset(&r->outcomes, 0, sizeof(r->outcomes));
	memset(&r->unseen, 0, sizeof(r->unseen));

	/*
	 * As the query's scan would: before the read, so that whoever publishes
	 * later finds the lock.
	 */
	if (IsolationIsSerializable())
	{
		r->serializable = table_open(defn->source, NoLock);
		PredicateLockRelation(r->serializable, r->snapshot.snapshot);
		for (int i = 0; defn->parts_valid && i < defn->nparts; i++)
		{
			Relation	part = try_relation_open(defn->parts[i],
												 AccessShareLock);

			/* The list may be older than a DROP, and publish() has the source. */
			if (part == NULL)
				continue;
			PredicateLockRelation(part, r->snapshot.snapshot);
			relation_close(part, NoLock);
		}
	}
}

/* Make room for n changes. */
static void
make_room(int n)
{
	MemoryContext old;

	corrections.valid = false;
	corrections.deltas_of = 0;
	if (n <= corrections.changes.max && corrections.context != NULL)
		return;
	if (corrections.context == NULL)
		corrections.context = AllocSetContextCreate(TopMemoryContext,
													"leaderboard corrections",
													ALLOCSET_SMALL_SIZES);
	corrections.changes.max = 0;
	MemoryContextReset(corrections.context);
	old = MemoryContextSwitchTo(corrections.context);
	n = Max(n * 2, 64);
	corrections.changes.words =
		MemoryContextAllocHuge(CurrentMemoryContext,
							   (Size) n * lb_entry_words(LB_MAX_WIDTH) *
							   sizeof(int64));
	lb_overlay_init(&corrections.overlay, LB_MAX_WIDTH, 1, n);
	corrections.delta = MemoryContextAllocHuge(CurrentMemoryContext,
											   (Size) n *
											   lb_entry_words(LB_MAX_WIDTH) *
											   sizeof(int64));
	corrections.deltas = MemoryContextAllocHuge(CurrentMemoryContext,
												n * sizeof(LbScoreDelta));
	corrections.changes.max = n;
	MemoryContextSwitchTo(old);
}

static uint64
own_serial(const LbRead *r)
{
	return r->own == NULL ? 0 : r->own->serial;
}

/*
 * Whether the corrections made last are those of this read, except for what
 * may have been settled meanwhile.
 */
static bool
same_corrections(const LbRead *r, LbRef ref, const LbBoard *board)
{
	const Corrections *c = &corrections;
	Snapshot	snapshot = r->snapshot.snapshot;

	return c->valid && board != NULL && c->def == r->def &&
		c->generation == r->generation && c->board == ref &&
		c->xmin == r->snapshot.xmin &&
		c->xmax == r->snapshot.xmax &&
		c->xcnt == snapshot->xcnt &&
		(c->xcnt == 0 ||
		 memcmp(c->xip, snapshot->xip,
				c->xcnt * sizeof(TransactionId)) == 0) &&
		c->curcid == snapshot->curcid &&
		c->own == own_serial(r) &&
		r->serializable == NULL &&
		lb_above_floor(&r->snapshot, &board->floor);
}

/*
 * Others' changes have got into the index since the corrections were made: add
 * them, so that a long statement beside writers does not begin anew with each.
 * Returns false if it is to begin anew.
 */
static bool
catch_up(LbRead *r, const LbBoard *board)
{
	Corrections *c = &corrections;
	int			n;

	/* Versions are of one board as long as they agree in their upper half. */
	if (c->pending || !c->overlay.checked || c->overlay.ambiguous ||
		c->version >> 32 != board->version >> 32)
		return false;
	if (lb_collect(r->def, r->stripe, board, &r->snapshot, &r->outcomes,
				   &c->changes, NULL, c->applied,
				   &c->pending) != LB_COLLECTED ||
		c->overlay.nentries + c->changes.n > c->overlay.max)
		return false;
	c->version = board->version;
	c->applied = board->applied;
	if (c->changes.n == 0)
		return true;
	n = lb_overlay_add(&c->overlay, &c->changes, c->delta);
	return lb_overlay_fits(&c->overlay, &board->index, c->delta, n);
}

/*
 * Find out what is to be corrected, with the stripe's lock held.  Leaves in
 * *overlay what the view needs, or NULL.  Anything but LB_COLLECTED is to be
 * dealt with by the caller without the lock.
 */
static LbCollect
collect(LbRead *r, LbRef ref, const LbBoard *board, LbOverlay **overlay,
		int *room)
{
	Corrections *c = &corrections;
	LbDefn	   *defn = r->target.defn;
	int			width = defn->width;
	LbCollect	result;

	*overlay = r->own;

	/* An own TRUNCATE leaves nothing of others. */
	if (r->own != NULL && r->own->truncated)
		return LB_COLLECTED;
	if (same_corrections(r, ref, board))
	{
		if (c->version == board->version)
		{
			if (c->any)
				*overlay = &c->overlay;
			return LB_COLLECTED;
		}
		if (c->any && catch_up(r, board))
		{
			*overlay = &c->overlay;
			return LB_COLLECTED;
		}
	}
	c->valid = false;
	if (!r->applied && board != NULL && lb_sees_backlog(board, &r->snapshot))
		return LB_COLLECT_BACKLOG;
	c->changes.width = width;
	result = lb_collect(r->def, r->stripe, board, &r->snapshot, &r->outcomes,
						&c->changes,
						r->serializable == NULL ? NULL : &r->unseen,
						0, &c->pending);
	*room = c->changes.n;
	if (result != LB_COLLECTED)
		return result;
	c->any = c->changes.n > 0;
	if (c->any)
	{
		/* Own changes and those of others correct each other. */
		if (r->own != NULL)
		{
			*room += r->own->nentries;
			if (*room > c->changes.max)
				return LB_COLLECT_ROOM;
			for (int i = 0; i < r->own->nentries; i++)
				lb_add_change(&c->changes, r->own->entries +
							  (Size) i * lb_entry_words(width), false);
		}
		c->overlay.width = width;
		c->overlay.member_words = defn->member_words;
		lb_overlay_fill(&c->overlay, &c->changes);
		if (r->own != NULL && r->own->ambiguous)
			c->overlay.ambiguous = true;
		*overlay = &c->overlay;
	}
	c->valid = true;
	c->def = r->def;
	c->generation = r->generation;
	c->board = ref;
	c->version = board == NULL ? 0 : board->version;
	c->applied = board == NULL ? 0 : board->applied;
	c->xmin = r->snapshot.xmin;
	c->xmax = r->snapshot.xmax;
	c->xcnt = r->snapshot.snapshot->xcnt;
	Assert(c->xcnt <= (uint32) GetMaxSnapshotXidCount());
	if (c->xcnt > 0)
		memcpy(c->xip, r->snapshot.snapshot->xip,
			   c->xcnt * sizeof(TransactionId));
	c->curcid = r->snapshot.snapshot->curcid;
	c->own = own_serial(r);
	return LB_COLLECTED;
}

/*
 * What the snapshot sees gets into the index, for all who come after us, too.
 */
static void
apply_backlog(LbRead *r)
{
	LbBoard    *board;
	LbRef		ref;

	r->applied = true;
	lb_lock_to_write(r->stripe);
	if (lb_def_is(r->def, r->generation))
	{
		board = lb_board_find(r->def, r->stripe, r->target.hash,
							  &r->target.value, &ref);
		if (board != NULL)
			lb_apply_backlog(r->def, board);
	}
	LWLockRelease(&r->stripe->lock);
}

/* Let the state of the board and the settings decide. */
static bool
read_wait(LbRead *r, uint32 state)
{
	LbDefn	   *defn = r->target.defn;

	if (state == LB_OFFLINE)
	{
		if (lb_offline == LB_POLICY_ERROR)
		{
			char		reason[LB_MAX_REASON];

			SpinLockAcquire(&r->def->mutex);
			strlcpy(reason, r->def->reason, LB_MAX_REASON);
			SpinLockRelease(&r->def->mutex);
			offline_error(defn, reason);
		}
		lb_read_by_query(r, LB_CAUSE_OFFLINE);
		return false;
	}
	if (lb_not_ready == LB_POLICY_ERROR)
	{
		lb_def_want_build(r->def, r->generation, false);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("board \"%s\" is being built", defn->name),
				 errhint("Wait with lb_wait_ready(), or set \"leaderboard.not_ready\" to \"query\".")));
	}
	if (lb_not_ready == LB_POLICY_QUERY)
	{
		lb_def_want_build(r->def, r->generation, false);
		lb_read_by_query(r, LB_CAUSE_BUILDING);
		return false;
	}
	switch (lb_wait_build(r->def, r->generation, false, lb_wait_timeout_ms))
	{
		case LB_WAIT_READY:
			return true;
		case LB_WAIT_FAILED:
			lb_read_by_query(r, LB_CAUSE_BUILDING);
			return false;
		case LB_WAIT_TIMEOUT:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" was not built within %d ms",
					defn->name, lb_wait_timeout_ms),
			 errhint("See lb_stat_board for the build's progress; \"leaderboard.wait_timeout\" sets how long reads wait.")));
}

/* Open the view.  What it needs for distinct scores is kept for the next. */
static bool
open_view(LbRead *r, const LbBoard *board, LbOverlay *overlay)
{
	Corrections *c = &corrections;
	uint64		version = board == NULL ? 0 : board->version;
	bool		deltas = r->distinct && overlay != NULL;
	bool		kept = deltas && c->deltas_of == overlay->serial &&
		c->deltas_at == version;

	if (!lb_view_open(&r->view, board == NULL ? NULL : &board->index, overlay,
					  r->target.defn->width, r->target.defn->member_words,
					  deltas && !kept ? c->deltas : NULL))
		return false;
	if (kept)
	{
		r->view.deltas = c->deltas;
		r->view.ndeltas = c->ndeltas;
		r->view.delta_total = c->delta_total;
	}
	else if (deltas)
	{
		c->ndeltas = r->view.ndeltas;
		c->delta_total = r->view.delta_total;
		c->deltas_of = overlay->serial;
		c->deltas_at = version;
	}
	return true;
}

bool
lb_read_lock(LbRead *r)
{
	bool		waited = false;
	TimestampTz deadline = 0;
	long		left;

	if (r->query)
		return false;
	r->applied = false;
	for (;;)
	{
		uint32		state = pg_atomic_read_u32(&r->def->state);
		LbBoard    *board;
		LbRef		ref;
		LbOverlay  *overlay;
		LbCollect	result;
		int			room = 0;

		if (state != LB_READY)
		{
			if (!read_wait(r, state))
				return false;
			continue;
		}
		lb_lock_to_read(r->stripe, corrections.valid &&
						corrections.def == r->def &&
						corrections.xmax == r->snapshot.xmax &&
						corrections.curcid == r->snapshot.snapshot->curcid);
		if (!lb_def_is(r->def, r->generation))
		{
			/* Dropped and gone, which our lock on the table rules out. */
			LWLockRelease(&r->stripe->lock);
			lb_read_by_query(r, LB_CAUSE_OFFLINE);
			return false;
		}
		if (pg_atomic_read_u32(&r->def->nunknown) > 0)
		{
			LWLockRelease(&r->stripe->lock);
			lb_read_by_query(r, LB_CAUSE_UNSETTLED);
			return false;
		}

		/* In this order: who is not counted any more has said offline before. */
		pg_read_barrier();
		if (pg_atomic_read_u32(&r->def->state) != LB_READY)
		{
			LWLockRelease(&r->stripe->lock);
			continue;
		}
		board = lb_board_find(r->def, r->stripe, r->target.hash,
							  &r->target.value, &ref);
		result = collect(r, ref, board, &overlay, &room);
		switch (result)
		{
			case LB_COLLECTED:
				break;
			case LB_COLLECT_ROOM:
				LWLockRelease(&r->stripe->lock);
				if (room > LB_MAX_CORRECTIONS)
				{
					lb_read_by_query(r, LB_CAUSE_SNAPSHOT);
					return false;
				}
				make_room(room + (r->own == NULL ? 0 : 2 * r->own->nentries));
				if (r->unseen.n > r->unseen.max)
				{
					r->unseen.max = r->unseen.n * 2;
					r->unseen.xids = palloc(r->unseen.max *
											sizeof(TransactionId));
				}
				continue;
			case LB_COLLECT_BACKLOG:
				LWLockRelease(&r->stripe->lock);
				apply_backlog(r);
				continue;
			case LB_COLLECT_OUTCOME:
				LWLockRelease(&r->stripe->lock);
				lb_look_up_outcome(&r->outcomes);
				continue;
			case LB_COLLECT_WAIT:
				/* A large transaction is being brought in: not for long. */
				ConditionVariablePrepareToSleep(&r->def->changed);
				LWLockRelease(&r->stripe->lock);
				if (waited)
				{
					ConditionVariableCancelSleep();
					lb_read_by_query(r, LB_CAUSE_UNSETTLED);
					return false;
				}
				if (deadline == 0)
					deadline = GetCurrentTimestamp() +
						Min(lb_wait_timeout_ms, LARGE_WAIT_MS) * INT64CONST(1000);
				left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
													   deadline);
				waited = left <= 0 ||
					ConditionVariableTimedSleep(&r->def->changed, left,
												PG_WAIT_EXTENSION);
				ConditionVariableCancelSleep();
				continue;
			case LB_COLLECT_TOO_OLD:
				LWLockRelease(&r->stripe->lock);
				lb_read_by_query(r, LB_CAUSE_SNAPSHOT);
				return false;
		}

		/* Room for the distinct scores of own changes alone. */
		if (r->distinct && lb_view_max_deltas(overlay) > corrections.changes.max)
		{
			LWLockRelease(&r->stripe->lock);
			make_room(lb_view_max_deltas(overlay));
			continue;
		}
		if (!open_view(r, board, overlay))
		{
			LWLockRelease(&r->stripe->lock);
			corrections.valid = false;
			lb_read_by_query(r, LB_CAUSE_OWN_CHANGES);
			return false;
		}
		return true;
	}
}

/*
 * Tell SSI of the transactions whose changes this snapshot does not see.
 */
static void
note_conflicts(LbRead *r)
{
	Snapshot	snapshot = r->snapshot.snapshot;

	if (CheckForSerializableConflictOutNeeded(r->serializable, snapshot))
	{
		for (int i = 0; i < r->unseen.n; i++)
			CheckForSerializableConflictOut(r->serializable,
											r->unseen.xids[i], snapshot);
	}
	r->unseen.n = 0;
}

void
lb_read_unlock(LbRead *r)
{
	LWLockRelease(&r->stripe->lock);
	if (!r->verify)
		lb_count_read(&r->target, r->def, LB_CAUSE_NONE);
	if (r->serializable != NULL)
	{
		note_conflicts(r);
		table_close(r->serializable, NoLock);
		r->serializable = NULL;
	}
}

bool
lb_read_give_way(LbRead *r)
{
	LWLockRelease(&r->stripe->lock);
	CHECK_FOR_INTERRUPTS();
	return lb_read_lock(r);
}

void
lb_reader_at_xact_end(void)
{
	/*
	 * Snapshots that look alike are the same as long as the transactions that
	 * were running only end.  But ours have left out our own xid; those that
	 * we take while it goes on as a prepared transaction's do not, nor do
	 * others' that we may import.
	 */
	corrections.valid = false;
	if (corrections.changes.max <= KEEP_ROOM)
		return;
	MemoryContextDelete(corrections.context);
	memset(&corrections, 0, sizeof(corrections));
}
