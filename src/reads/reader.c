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

#include "boards/counters.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/live.h"
#include "boards/state.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "capture/xactlog.h"
#include "ledger/backlog.h"
#include "reads/reader.h"
#include "util/pause.h"

/*
 * Others' changes that are corrected by arrays, all under one hold of the lock:
 * more of them get into sums, and are gathered in slices.  Tests make it less.
 */
#ifndef LB_FEW_CORRECTIONS
#define LB_FEW_CORRECTIONS 512
#endif

/* Changes that are copied under one hold, as long as transactions are shorter. */
#ifndef LB_SLICE_CHANGES
#define LB_SLICE_CHANGES 4096
#endif

/* Of these, how many are added to sums before the lock is let go of. */
#define LB_ADD_LOCKED 256

/* Members, or scores, that are compared with the index under one hold. */
#ifndef LB_CHECK_LOCKED
#define LB_CHECK_LOCKED 1024
#endif

/* The most changes of others by which a snapshot may differ from the index. */
#define LB_MAX_CORRECTIONS 100000

/*
 * What a read may gather before it runs its query.  To gather a change, load it
 * into sums and compare it takes 0.5 µs, to add it to own changes 1.6 µs; a row
 * of the table takes the query 0.06 to 0.1 µs.  A few are always worth it.
 * The next read in the same snapshot goes on from there.  So a query is run
 * a few times at most, unless there are more than LB_MAX_CORRECTIONS, and no
 * read takes twice as long as its query.
 */
#define LB_ROWS_PER_CORRECTION 16
#define LB_FREE_CORRECTIONS 2048

/* How often a read begins to gather before it runs its query. */
#define LB_MAX_BEGUN 8

/* How long a read waits for a large transaction to be settled. */
#define LARGE_WAIT_MS 100

/* The most for which memory is kept from one transaction to the next. */
#define KEEP_ROOM 10000

bool		lb_enable_index = true;
int			lb_not_ready = LB_POLICY_WAIT;
int			lb_offline = LB_POLICY_QUERY;
int			lb_unknown_board = LB_UNKNOWN_NOTICE;
int			lb_wait_timeout_ms = 10000;

/*
 * What the last read had to correct, own changes included.  Many reads of one
 * snapshot find it as they left it, as long as nobody commits meanwhile.
 */
typedef struct Corrections
{
	MemoryContext context;
	bool		valid;
	bool		any;			/* there is something to correct */
	LbSharedBoard *shared;
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
	int			room_width;		/* that there is room for */
	LbChanges	changes;
	LbOverlay	overlay;

	/* Where they are not in overlay but added to sums. */
	LbSums	   *sums;			/* NULL: overlay has them */
	uint64		serial;			/* sums->others, if they still have them */
	int			added;			/* of changes, how many sums have */
	bool		too_many;		/* there is no point in gathering them */
	uint32		hash;			/* of the board's value, likewise */
	bool		slicing;		/* there is more, ... */
	LbSlice		slice;			/* ... from here on */
	LbSums	   *alone;			/* sums of others' changes only ... */
	bool		loaded;			/* ... which have more than merged */
	int64	   *delta;			/* entries added last */
	LbScoreDelta *deltas;
	int			ndeltas;		/* made of ... */
	int64		delta_total;
	uint64		deltas_of;		/* ... the overlay with this serial */
	uint64		deltas_at;		/* ... and the board at this version */
} Corrections;

static Corrections corrections;

/* Numbers of what is added to sums. */
static uint64 serials = 0;


/* ----------------------------------------------------------------
 *		Whether the index can be asked
 * ----------------------------------------------------------------
 */

static void
offline_error(const LbDefinition *defn, const char *reason)
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
	LbDefinition *defn = r->target.defn;

	if (!lb_enable_index && !r->verify)
		return LB_CAUSE_DISABLED;
	if (RecoveryInProgress())
	{
		if (lb_offline == LB_POLICY_ERROR)
			offline_error(defn, "the server is a standby");
		return LB_CAUSE_RECOVERY;
	}

	/*
	 * A worker of a parallel query has the leader's snapshot, but not its
	 * list of own changes, nor that of the boards and tables that it has
	 * altered. A read gets here where a user's function is wrongly marked
	 * PARALLEL SAFE.
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
		LbSharedBoard *shared = lb_shared_board_attach(defn, false);

		/*
		 * It cannot be followed from here on.  What we have altered ourselves
		 * is nobody else's concern until we commit, and what somebody else
		 * has can come back by a rollback.
		 */
		if (shared != NULL &&
			pg_atomic_read_u32(&shared->state) != LB_OFFLINE &&
			!lb_changed_here(defn->source))
			lb_shared_board_offline(shared, defn->problem ? defn->problem :
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

/* Whether the corrections made last are of this definition and snapshot. */
static bool
same_snapshot(const LbRead *r)
{
	const Corrections *c = &corrections;
	Snapshot	snapshot = r->snapshot.snapshot;

	return c->valid && c->shared == r->shared &&
		c->generation == r->generation && c->xmin == r->snapshot.xmin &&
		c->xmax == r->snapshot.xmax && c->xcnt == snapshot->xcnt &&
		(c->xcnt == 0 || memcmp(c->xip, snapshot->xip,
								c->xcnt * sizeof(TransactionId)) == 0);
}

void
lb_read_begin(LbRead *r, Snapshot snapshot, bool distinct, bool verify)
{
	LbDefinition *defn = r->target.defn;
	LbCause		cause;

	r->distinct = distinct;
	r->verify = verify;
	r->query = false;
	r->cause = LB_CAUSE_NONE;
	r->shared = NULL;
	r->sums = NULL;
	r->begun = 0;
	r->gathered = 0;
	r->collected = 0;
	r->count_scores = false;
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

	r->shared = lb_shared_board_attach(defn, false);
	if (r->shared == NULL)
	{
		/* Not committed: nobody else can build it. */
		if (lb_created_here(defn))
		{
			lb_read_by_query(r, LB_CAUSE_BUILDING);
			return;
		}
		/* A database that was restored, or made from a template. */
		r->shared = lb_shared_board_attach(defn, true);
		if (r->shared == NULL)
		{
			lb_read_by_query(r, LB_CAUSE_OFFLINE);
			return;
		}
	}
	r->generation = defn->generation;
	r->stripe = &r->shared->stripes[r->target.stripe];
	if (!lb_own_changes(&r->target, snapshot->curcid, false, &r->own))
	{
		lb_read_by_query(r, LB_CAUSE_OWN_CHANGES);
		return;
	}
	r->sums = r->own.sums;
	if (corrections.xip == NULL)
		corrections.xip = MemoryContextAlloc(TopMemoryContext,
											 GetMaxSnapshotXidCount() *
											 sizeof(TransactionId));
	lb_snapshot_init(&r->snapshot, snapshot);
	memset(&r->outcomes, 0, sizeof(r->outcomes));
	memset(&r->unseen, 0, sizeof(r->unseen));
	if (r->own.overlay == NULL && r->own.sums == NULL &&
		corrections.alone != NULL && corrections.sums == corrections.alone &&
		same_snapshot(r))
		r->sums = corrections.alone;

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

			/*
			 * The list may be older than a DROP, and publish() has the
			 * source.
			 */
			if (part == NULL)
				continue;
			PredicateLockRelation(part, r->snapshot.snapshot);
			relation_close(part, NoLock);
		}
	}
}

/* Make room for n changes of a board.  Returns false if there is no memory. */
static bool
make_room(int n, int width)
{
	MemoryContext old;
	Size		size;
	int			flags = MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM;
	bool		ok;

	corrections.valid = false;
	corrections.deltas_of = 0;
	if (n <= corrections.changes.max && width <= corrections.room_width)
		return true;
	if (corrections.context == NULL)
		corrections.context = AllocSetContextCreate(TopMemoryContext,
													"leaderboard corrections",
													ALLOCSET_SMALL_SIZES);
	n = Max(n, corrections.changes.max);
	width = Max(width, corrections.room_width);
	corrections.changes.max = 0;
	MemoryContextReset(corrections.context);
	old = MemoryContextSwitchTo(corrections.context);
	n = n > INT_MAX / 2 ? INT_MAX : Max(n * 2, 64);
	size = (Size) n * lb_entry_words(width) * sizeof(int64);
	corrections.changes.words = palloc_extended(size, flags);
	ok = lb_overlay_init(&corrections.overlay, width, 1, n);
	corrections.delta = palloc_extended(size, flags);
	corrections.deltas = palloc_extended((Size) n * sizeof(LbScoreDelta),
										 flags);
	MemoryContextSwitchTo(old);
	if (!ok || corrections.changes.words == NULL ||
		corrections.delta == NULL || corrections.deltas == NULL)
	{
		MemoryContextReset(corrections.context);
		return false;
	}
	corrections.changes.max = n;
	corrections.room_width = width;
	return true;
}

static uint64
own_serial(const LbRead *r)
{
	return r->own.overlay == NULL ? 0 : r->own.overlay->serial;
}

/*
 * Whether the corrections made last are those of this read, except for what
 * may have been settled meanwhile.
 */
static bool
same_corrections(const LbRead *r, LbRef ref, const LbLiveBoard *board)
{
	const Corrections *c = &corrections;

	if (board == NULL || c->board != ref || c->sums != r->sums ||
		c->too_many || !same_snapshot(r))
		return false;

	/* Sums have more when there are more own changes, and lose none. */
	if (r->sums != NULL ? c->serial != r->sums->others :
		c->curcid != r->snapshot.snapshot->curcid || c->own != own_serial(r))
		return false;

	/* SSI is to hear of all that the snapshot does not see. */
	return (r->serializable == NULL ||
			(r->sums != NULL && r->collected == board->version)) &&
		lb_above_floor(&r->snapshot, &board->floor);
}

/*
 * Others' changes have got into the index since the corrections were made: add
 * them, so that a long statement beside writers does not begin anew with each.
 * Returns false if it is to begin anew.
 */
static bool
catch_up(LbRead *r, const LbLiveBoard *board)
{
	Corrections *c = &corrections;
	int			n;

	/* Versions are of one board as long as they agree in their upper half. */
	if (c->pending || !c->overlay.checked || c->overlay.ambiguous ||
		c->version >> 32 != board->version >> 32)
		return false;
	if (lb_collect(r->shared, r->stripe, board, &r->snapshot, &r->outcomes,
				   &c->changes, NULL, c->applied, LB_FEW_CORRECTIONS, NULL,
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

/* The corrections are of this read's snapshot, and of the board as it is now. */
static void
note_collected(LbRead *r, LbRef ref, const LbLiveBoard *board)
{
	Corrections *c = &corrections;

	c->valid = true;
	c->shared = r->shared;
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
	c->sums = r->sums;
	c->too_many = false;
	c->hash = r->target.hash;
	c->slicing = false;
	r->collected = c->version;
}

/*
 * Find out what is to be corrected, with the stripe's lock held.  Leaves in
 * *overlay what the view needs, or NULL.  Anything but LB_COLLECTED is to be
 * dealt with by the caller without the lock.
 */
static LbCollect
collect(LbRead *r, LbRef ref, const LbLiveBoard *board, LbOverlay **overlay,
		int *room)
{
	Corrections *c = &corrections;
	LbDefinition *defn = r->target.defn;
	int			width = defn->width;
	LbCollect	result;

	*overlay = r->own.overlay;

	/* An own TRUNCATE leaves nothing of others. */
	if (r->own.truncated)
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
	/* The room is for narrower keys: there is none for these. */
	if (c->room_width < width)
		c->changes.max = 0;
	c->changes.width = width;
	Assert(c->changes.max == 0 || width <= c->room_width);
	result = lb_collect(r->shared, r->stripe, board, &r->snapshot,
						&r->outcomes, &c->changes,
						r->serializable == NULL ? NULL : &r->unseen, 0,
						LB_FEW_CORRECTIONS, NULL, &c->pending);
	*room = c->changes.n;
	if (result != LB_COLLECTED)
		return result;
	c->any = c->changes.n > 0;
	if (c->any)
	{
		LbOverlay  *own = r->own.overlay;

		/* Own changes and those of others correct each other. */
		if (own != NULL)
		{
			*room += own->nentries;
			if (*room > c->changes.max)
				return LB_COLLECT_ROOM;
			for (int i = 0; i < own->nentries; i++)
				lb_add_change(&c->changes, own->entries +
							  (Size) i * lb_entry_words(width), false);
		}
		c->overlay.width = width;
		c->overlay.member_words = defn->member_words;
		lb_overlay_fill(&c->overlay, &c->changes);
		if (own != NULL && own->ambiguous)
			c->overlay.ambiguous = true;
		*overlay = &c->overlay;
	}
	note_collected(r, ref, board);
	c->own = own_serial(r);
	return LB_COLLECTED;
}


/* ----------------------------------------------------------------
 *		Corrections as sums
 *
 * Many own changes are kept as sums by xactlog.c, and what others have
 * changed is added to them, and taken out again for another snapshot.  Many
 * changes of others alone have sums of their own.  Of a long history as much is
 * copied under one hold of the lock as takes a moment.  It is added to the sums
 * without the lock; what gets into the index meanwhile is added after that.
 * ----------------------------------------------------------------
 */

/* Give back the sums of others' changes alone. */
static void
free_alone(void)
{
	Corrections *c = &corrections;

	if (c->alone == NULL)
		return;
	if (c->sums == c->alone)
	{
		/* Where they were too many, that is what is known of the snapshot. */
		c->sums = NULL;
		c->valid &= c->too_many;
	}
	lb_sums_free(c->alone);
	c->alone = NULL;
}

/* Let others' changes be added to sums.  Returns false if there is no memory. */
static bool
use_sums(LbRead *r)
{
	Corrections *c = &corrections;
	LbDefinition *defn = r->target.defn;

	if (!lb_own_changes(&r->target, r->snapshot.snapshot->curcid, true,
						&r->own))
		return false;
	r->sums = r->own.sums;
	if (r->sums != NULL)
		return true;
	free_alone();
	c->alone = lb_sums_make(TopMemoryContext, defn->width,
							defn->member_words);
	c->loaded = false;
	r->sums = c->alone;
	return r->sums != NULL;
}

/*
 * Add others' changes that were gathered to sums, n of them at most.  Where there
 * is nothing else in the sums, they are kept until all are there.
 */
static void
add_gathered(LbSums *sums, int n)
{
	Corrections *c = &corrections;

	while (n-- > 0 && c->added < c->changes.n)
	{
		const int64 *entry = c->changes.words +
			(Size) c->added * lb_entry_words(sums->width);

		/* Sums of others' changes alone are not taken apart again. */
		if ((sums != c->alone || c->loaded) &&
			!lb_sums_add(sums, entry, false))
			return;
		if (sums != c->alone || !c->loaded)
			lb_add_change(&sums->merged, entry, false);
		c->added++;
	}
}

/*
 * Do what the sums need done without the lock, before or between two holds of
 * it.  Returns false if there is no memory; can raise.
 */
static bool
prepare_sums(LbRead *r)
{
	Corrections *c = &corrections;
	LbSums	   *sums = r->sums;

	if (sums->broken)
	{
		c->valid = false;
		if (!use_sums(r))
			return false;
		sums = r->sums;
	}
	if (sums->others != 0 &&
		!(c->valid && c->sums == sums && c->serial == sums->others))
	{
		/* They are another snapshot's. */
		if (sums == c->alone)
		{
			if (!use_sums(r))
				return false;
			sums = r->sums;
		}
		for (int n = 0; sums->merged.n > 0; n++)
		{
			if (n % LB_ADD_LOCKED == 0)
			{
				CHECK_FOR_INTERRUPTS();
				if (!lb_sums_reserve(sums, LB_ADD_LOCKED))
					return false;
			}
			if (!lb_sums_add(sums, sums->merged.words +
							 (Size) (sums->merged.n - 1) *
							 lb_entry_words(sums->width), true))
				return false;
			sums->merged.n--;
		}
		sums->others = 0;
	}
	while (c->valid && c->sums == sums && c->added < c->changes.n)
	{
		CHECK_FOR_INTERRUPTS();
		if (!lb_sums_reserve(sums, LB_ADD_LOCKED))
			return false;
		add_gathered(sums, LB_ADD_LOCKED);
		if (sums->broken)
			return false;
	}
	if (sums == c->alone && !c->loaded && c->valid && c->sums == sums &&
		!c->slicing)
	{
		if (!lb_sums_load(sums, &sums->merged))
			return false;
		c->loaded = true;
	}
	if (r->distinct && !sums->distinct && r->count_scores &&
		!lb_sums_distinct_begin(sums))
		return false;
	if (sums->check_all && !lb_sums_check_all(sums))
		return false;
	if (c->changes.max < LB_SLICE_CHANGES ||
		c->room_width < sums->width)
	{
		if (!make_room(LB_SLICE_CHANGES, sums->width))
			return false;
	}
	return lb_sums_reserve(sums, sums->distinct ? LB_SLICE_CHANGES :
						   LB_ADD_LOCKED);
}

/*
 * collect() where there are sums.
 */
static LbCollect
collect_sums(LbRead *r, LbRef ref, const LbLiveBoard *board, int *room)
{
	Corrections *c = &corrections;
	LbSums	   *sums = r->sums;
	LbCollect	result;

	if (sums->broken || c->changes.max < LB_SLICE_CHANGES)
		return LB_COLLECT_AGAIN;
	c->changes.width = sums->width;

	/* An own TRUNCATE leaves nothing of others. */
	if (r->own.truncated)
	{
		if (sums->others == 0)
			return LB_COLLECTED;
		c->valid = false;
		return LB_COLLECT_AGAIN;
	}
	if (!same_corrections(r, ref, board))
	{
		c->valid = false;
		if (sums->others != 0)
			return LB_COLLECT_AGAIN;
		if (!r->applied && board != NULL &&
			lb_sees_backlog(board, &r->snapshot))
			return LB_COLLECT_BACKLOG;
		result = lb_collect(r->shared, r->stripe, board, &r->snapshot,
							&r->outcomes, &c->changes,
							r->serializable == NULL ? NULL : &r->unseen,
							0, LB_MAX_CORRECTIONS, &c->slice, &c->pending);
		*room = c->changes.n;

		/*
		 * What is pending has to be in the same look as the rest, and so has
		 * what SSI is to hear of.
		 */
		if (result == LB_COLLECT_MORE &&
			(r->serializable != NULL || c->pending))
			return LB_COLLECT_MANY;
		if (result != LB_COLLECTED && result != LB_COLLECT_MORE)
			return result;
		note_collected(r, ref, board);
		c->slicing = result == LB_COLLECT_MORE;
		c->added = 0;
		c->serial = c->changes.n > 0 ? ++serials : 0;
		sums->others = c->serial;
		r->gathered += c->changes.n;
		r->begun++;
	}
	else if (c->added < c->changes.n)
		;						/* first things first */
	else if (c->slicing)
	{
		result = lb_collect_more(board, &r->snapshot, &c->changes, &c->slice);
		c->added = 0;
		*room = c->changes.n;
		if (result != LB_COLLECTED && result != LB_COLLECT_MORE)
		{
			c->changes.n = 0;
			c->valid = false;
			return result == LB_COLLECT_ROOM ? result : LB_COLLECT_AGAIN;
		}
		c->slicing = result == LB_COLLECT_MORE;
		r->gathered += c->changes.n;
		if (c->changes.n > 0 && c->serial == 0)
			sums->others = c->serial = ++serials;
	}
	else if (c->version != board->version)
	{
		/*
		 * Versions are of one board as long as they agree in their upper
		 * half.
		 */
		if (c->pending || c->version >> 32 != board->version >> 32 ||
			sums->merged.n > 2 * LB_MAX_CORRECTIONS ||
			lb_collect(r->shared, r->stripe, board, &r->snapshot, &r->outcomes,
					   &c->changes, NULL, c->applied, LB_SLICE_CHANGES, NULL,
					   &c->pending) != LB_COLLECTED)
		{
			c->added = c->changes.n = 0;
			c->valid = false;
			return LB_COLLECT_AGAIN;
		}
		c->version = board->version;
		c->applied = board->applied;
		c->added = 0;
		if (c->changes.n > 0 && c->serial == 0)
			sums->others = c->serial = ++serials;
	}
	if (c->slicing || (sums == c->alone && !c->loaded) ||
		c->changes.n - c->added > LB_ADD_LOCKED ||
		!lb_sums_has_room(sums, c->changes.n - c->added))
		return LB_COLLECT_AGAIN;
	add_gathered(sums, LB_ADD_LOCKED);
	return sums->broken ? LB_COLLECT_AGAIN : LB_COLLECTED;
}

/*
 * Find out what corrections do to distinct scores, with the lock held: of scores
 * that keys have been added to or taken away from, here or in the index.
 */
static LbCollect
count_scores(LbRead *r, const LbLiveBoard *board, const LbIndex *index)
{
	Corrections *c = &corrections;
	LbSums	   *sums = r->sums;
	uint64		version = board == NULL ? 0 : board->version;
	uint64		applied = board == NULL ? 0 : board->applied;
	uint64		floor = board == NULL ? 0 : board->floor.next_xid;
	bool		follows = sums->distinct && sums->distinct_floor == floor &&
		sums->distinct_version >> 32 == version >> 32;

	/* What is not in the history has raised the floor. */
	if (follows && sums->distinct_applied != applied)
	{
		follows = lb_collect_applied(board, sums->distinct_applied,
									 &c->changes);
		for (int i = 0; follows && i < c->changes.n; i++)
		{
			const int64 *entry = c->changes.words +
				(Size) i * lb_entry_words(sums->width);

			if (entry[0] & LB_HAS_OLD)
				follows = lb_sums_touch_score(sums, entry[1]);
			if (follows && (entry[0] & LB_HAS_NEW))
				follows = lb_sums_touch_score(sums, entry[1 + sums->width]);
		}
		c->added = c->changes.n = 0;
	}
	sums->distinct_version = version;
	sums->distinct_applied = applied;
	sums->distinct_floor = floor;
	if (!follows)
	{
		/* From now on, what gets into the index is looked at again. */
		sums->distinct = false;
		r->count_scores = true;
		return LB_COLLECT_AGAIN;
	}
	if (!lb_sums_has_room(sums, LB_CHECK_LOCKED))
		return LB_COLLECT_AGAIN;
	lb_sums_count_scores(sums, &lb_shared->arena, index, LB_CHECK_LOCKED);
	return sums->nscores > 0 || sums->broken ? LB_COLLECT_AGAIN :
		LB_COLLECTED;
}

/*
 * The sums have everything: compare what has changed with the index, with the
 * lock held.  What the transaction has replaced must be what the index holds.
 * It may not be while the one who wrote it before us has left the proc array
 * but not yet settled; once it is, our row locks keep it so.  Sets *fits if it
 * is so of all members.
 */
static LbCollect
check_sums(LbRead *r, const LbLiveBoard *board, bool *fits)
{
	LbSums	   *sums = r->sums;
	const LbIndex *index = board == NULL || r->own.truncated ? NULL :
		&board->index;
	uint64		on = board == NULL ? 1 : 2 + (board->version >> 32);

	*fits = !lb_sums_ambiguous(sums);
	if (!*fits)
		return LB_COLLECTED;

	/* Another index, by a build or because the board came to be. */
	if (sums->checked_on != on)
	{
		sums->check_all = sums->checked_on != 0;
		sums->checked_on = on;
	}
	if (sums->check_all)
		return LB_COLLECT_AGAIN;
	*fits = lb_sums_check(sums, &lb_shared->arena, index, LB_CHECK_LOCKED);
	if (!*fits)
		return LB_COLLECTED;
	if (sums->nunchecked > 0)
		return LB_COLLECT_AGAIN;
	return r->distinct ? count_scores(r, board, index) : LB_COLLECTED;
}

/*
 * What the snapshot sees gets into the index, for all who come after us, too.
 */
static void
apply_backlog(LbRead *r)
{
	LbLiveBoard *board;
	LbRef		ref;

	r->applied = true;
	lb_lock_to_write(r->stripe);
	if (lb_shared_board_is(r->shared, r->generation))
	{
		board = lb_live_board_find(r->shared, r->stripe, r->target.hash,
								   &r->target.value, &ref);
		if (board != NULL)
			lb_apply_backlog(r->shared, board);
	}
	LWLockRelease(&r->stripe->lock);
}

/* Let the state of the board and the settings decide. */
static bool
read_wait(LbRead *r, uint32 state)
{
	LbDefinition *defn = r->target.defn;

	if (state == LB_OFFLINE)
	{
		if (lb_offline == LB_POLICY_ERROR)
		{
			char		reason[LB_MAX_REASON];

			SpinLockAcquire(&r->shared->mutex);
			strlcpy(reason, r->shared->reason, LB_MAX_REASON);
			SpinLockRelease(&r->shared->mutex);
			offline_error(defn, reason);
		}
		lb_read_by_query(r, LB_CAUSE_OFFLINE);
		return false;
	}
	if (lb_not_ready == LB_POLICY_ERROR)
	{
		lb_shared_board_want_build(r->shared, r->generation, false);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("board \"%s\" is being built", defn->name),
				 errhint("Wait with lb_wait_ready(), or set \"leaderboard.not_ready\" to \"query\".")));
	}
	if (lb_not_ready == LB_POLICY_QUERY)
	{
		lb_shared_board_want_build(r->shared, r->generation, false);
		lb_read_by_query(r, LB_CAUSE_BUILDING);
		return false;
	}
	switch (lb_wait_build(r->shared, r->generation, false, lb_wait_timeout_ms))
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
open_view(LbRead *r, const LbLiveBoard *board, LbOverlay *overlay)
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

/*
 * Whether to go on gathering, on a board with so many members: see
 * LB_ROWS_PER_CORRECTION.  Needs no lock.
 */
static bool
is_worth_it(const LbRead *r, uint64 members)
{
	Corrections *c = &corrections;

	if (!c->valid || c->sums != r->sums)
		return true;
	if (r->sums->merged.n + (c->changes.n - c->added) > LB_MAX_CORRECTIONS)
	{
		c->too_many = true;
		return false;
	}
	return r->verify || (uint64) r->gathered <= LB_FREE_CORRECTIONS +
		members / LB_ROWS_PER_CORRECTION;
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
	if (corrections.too_many && corrections.hash == r->target.hash &&
		r->serializable == NULL && same_snapshot(r))
	{
		if (corrections.sums == corrections.alone)
			free_alone();
		lb_read_by_query(r, LB_CAUSE_SNAPSHOT);
		return false;
	}
	for (;;)
	{
		uint32		state = pg_atomic_read_u32(&r->shared->state);
		LbLiveBoard *board;
		LbRef		ref;
		LbOverlay  *overlay;
		LbCollect	result;
		uint64		members;
		bool		fits;
		int			room = 0;

		if (state != LB_READY)
		{
			if (!read_wait(r, state))
				return false;
			continue;
		}
		if (r->sums != NULL && !prepare_sums(r))
		{
			lb_read_by_query(r, LB_CAUSE_OWN_CHANGES);
			return false;
		}
		lb_lock_to_read(r->stripe, corrections.valid &&
						corrections.shared == r->shared &&
						corrections.xmax == r->snapshot.xmax &&
						corrections.curcid == r->snapshot.snapshot->curcid);
		if (!lb_shared_board_is(r->shared, r->generation))
		{
			/* Dropped and gone, which our lock on the table rules out. */
			LWLockRelease(&r->stripe->lock);
			lb_read_by_query(r, LB_CAUSE_OFFLINE);
			return false;
		}
		if (pg_atomic_read_u32(&r->shared->nunknown) > 0)
		{
			LWLockRelease(&r->stripe->lock);
			lb_read_by_query(r, LB_CAUSE_UNSETTLED);
			return false;
		}

		/* In this order: who is not counted any more has said offline before. */
		pg_read_barrier();
		if (pg_atomic_read_u32(&r->shared->state) != LB_READY)
		{
			LWLockRelease(&r->stripe->lock);
			continue;
		}
		board = lb_live_board_find(r->shared, r->stripe, r->target.hash,
								   &r->target.value, &ref);
		overlay = NULL;
		fits = true;
		if (r->sums == NULL)
			result = collect(r, ref, board, &overlay, &room);
		else
		{
			result = collect_sums(r, ref, board, &room);
			if (result == LB_COLLECTED)
				result = check_sums(r, board, &fits);
		}
		switch (result)
		{
			case LB_COLLECTED:
				break;
			case LB_COLLECT_ROOM:
				LWLockRelease(&r->stripe->lock);
				if (r->own.overlay != NULL)
					room += 2 * r->own.overlay->nentries;
				if (room > LB_MAX_CORRECTIONS ||
					!make_room(room, r->target.defn->width))
				{
					lb_read_by_query(r, LB_CAUSE_SNAPSHOT);
					return false;
				}
				if (r->unseen.n > r->unseen.max)
				{
					r->unseen.max = r->unseen.n * 2;
					r->unseen.xids = palloc(r->unseen.max *
											sizeof(TransactionId));
				}
				continue;
			case LB_COLLECT_MANY:
				LWLockRelease(&r->stripe->lock);
				if (r->sums == NULL && use_sums(r))
					continue;
				lb_read_by_query(r, LB_CAUSE_SNAPSHOT);
				return false;
			case LB_COLLECT_AGAIN:
			case LB_COLLECT_MORE:
				members = board == NULL ? 0 : board->index.members;
				LWLockRelease(&r->stripe->lock);
				lb_pause("gather");
				CHECK_FOR_INTERRUPTS();
				if (r->begun <= LB_MAX_BEGUN && is_worth_it(r, members))
					continue;
				lb_read_by_query(r, LB_CAUSE_SNAPSHOT);
				return false;
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
				ConditionVariablePrepareToSleep(&r->shared->changed);
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
					ConditionVariableTimedSleep(&r->shared->changed, left,
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
			if (make_room(lb_view_max_deltas(overlay), r->target.defn->width))
				continue;
			lb_read_by_query(r, LB_CAUSE_OWN_CHANGES);
			return false;
		}
		r->begun = 0;
		if (r->sums != NULL && fits)
			lb_view_open_sums(&r->view, board == NULL ? NULL : &board->index,
							  r->sums, r->own.truncated);
		else if (!fits || !open_view(r, board, overlay))
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
		lb_count_read(&r->target, r->shared, LB_CAUSE_NONE);
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
	free_alone();
	if (corrections.changes.max <= KEEP_ROOM)
		return;
	MemoryContextDelete(corrections.context);
	memset(&corrections, 0, sizeof(corrections));
}
