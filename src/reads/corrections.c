/*-------------------------------------------------------------------------
 *
 * corrections.c
 *	  What a snapshot sees differently from a board's index.
 *
 * "Reading in a snapshot" in reads/README says which changes correct an index.
 * lb_collect() gathers those of other transactions from the ledger,
 * lb_own_changes() has the transaction's own.  The result is in one of two
 * forms.  An LbOverlay has few corrections, in sorted arrays, made under one
 * hold of the lock.  LbSums have many: the index of what the transaction has
 * changed itself, to which the changes of others are added, or sums of others'
 * changes alone.
 *
 * Many reads of one snapshot find the corrections as the read before left
 * them, as long as no transaction commits meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

#include "boards/xact_end.h"
#include "ledger/backlog.h"
#include "reads/corrections.h"

/*
 * The most changes of others that an overlay takes, all gathered under one
 * hold of the lock.  Sums take more, and gather them in slices.  Tests set
 * these lower.
 */
#ifndef LB_FEW_CORRECTIONS
#define LB_FEW_CORRECTIONS 512
#endif

/* Changes copied under one hold, unless a transaction alone has more. */
#ifndef LB_SLICE_CHANGES
#define LB_SLICE_CHANGES 4096
#endif

/* Changes added to sums under one hold. */
#define LB_ADD_LOCKED 256

/* Members, or scores, compared with the index under one hold. */
#ifndef LB_CHECK_LOCKED
#define LB_CHECK_LOCKED 1024
#endif

/*
 * A read runs its query if it has gathered more than LB_FREE_CORRECTIONS and
 * one change for each LB_ROWS_PER_CORRECTION members.  A change costs 0.5 µs
 * to gather, load into sums and compare, or 1.6 µs to add to own changes; a
 * row of the table costs the query 0.06 to 0.1 µs.  So no read takes twice as
 * long as its query.  The next read in the same snapshot goes on from there;
 * unless there are more than LB_MAX_CORRECTIONS, only a few reads run their
 * query.
 */
#define LB_ROWS_PER_CORRECTION 16
#define LB_FREE_CORRECTIONS 2048

/* The most words of changes whose room is kept for the next transaction. */
#define KEEP_ROOM 70000

/* What the last read had to correct, own changes included. */
typedef struct Corrections
{
	MemoryContext context;
	bool		valid;
	bool		any;			/* there is something to correct */

	/* The board, and the snapshot. */
	LbSharedBoard *shared;
	uint64		generation;
	LbRef		board;
	uint32		hash;			/* of the board's value */
	uint64		version;		/* LbLiveBoard.version ... */
	uint64		applied;		/* ... and applied, that they were made at */
	uint64		xmin;
	uint64		xmax;
	uint32		xcnt;
	TransactionId *xip;			/* room for GetMaxSnapshotXidCount() */
	CommandId	curcid;
	uint64		own;			/* serial of the own overlay in them, or 0 */
	bool		pending;		/* some of them are not in the index yet */

	/* Gathered changes, and the overlay of them. */
	LbChanges	changes;		/* the other arrays have as much room */
	LbOverlay	overlay;
	int64	   *delta;			/* entries added last */

	/* Instead of the overlay, the changes may have been added to sums. */
	LbSums	   *sums;			/* NULL: they are in overlay */
	uint64		serial;			/* the sums have them while sums->others says
								 * so */
	int			added;			/* how many of changes the sums have */
	bool		too_many;		/* gathering them is not worth it */
	bool		slicing;		/* there are more, ... */
	LbSlice		slice;			/* ... from here on */
	LbSums	   *alone;			/* sums of others' changes only */
	bool		loaded;			/* alone has been loaded from its merged */

	/* What the overlay does to distinct scores. */
	LbScoreDelta *deltas;		/* room for a third of the words */
	int			ndeltas;
	int64		delta_total;
	uint64		deltas_of;		/* LbOverlay.serial that they were made of */
	uint64		deltas_at;		/* LbLiveBoard.version, likewise */
} Corrections;

static Corrections corrections;

/* The last number given to changes that were added to sums. */
static uint64 serials = 0;

/* Whether the last corrections are of this definition and snapshot. */
static bool
same_snapshot(const LbAccess *a)
{
	const Corrections *c = &corrections;
	Snapshot	snapshot = a->snapshot.snapshot;

	return c->valid && c->shared == a->shared &&
		c->generation == a->generation && c->xmin == a->snapshot.xmin &&
		c->xmax == a->snapshot.xmax && c->xcnt == snapshot->xcnt &&
		(c->xcnt == 0 || memcmp(c->xip, snapshot->xip,
								c->xcnt * sizeof(TransactionId)) == 0);
}

StaticAssertDecl(sizeof(LbScoreDelta) == 3 * sizeof(int64),
				 "as many deltas have room in the words of a change");

bool
lb_corrections_has_deltas(int n)
{
	return (Size) n * 3 <= corrections.changes.room;
}

/* Give each array room for this many words, or more. */
static bool
make_room(Size room)
{
	Corrections *c = &corrections;
	MemoryContext old;
	LbShape		any = lb_fixed_shape(2, 1);
	int			flags = MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM;
	bool		ok;

	c->valid = false;
	c->deltas_of = 0;
	if (room <= c->changes.room)
		return true;
	if (c->context == NULL)
		c->context = AllocSetContextCreate(TopMemoryContext,
										   "leaderboard corrections",
										   ALLOCSET_SMALL_SIZES);
	c->changes.room = 0;
	MemoryContextReset(c->context);
	old = MemoryContextSwitchTo(c->context);
	room = Max(room * 2, 512);
	c->changes.words = palloc_extended(room * sizeof(int64), flags);
	ok = lb_overlay_init(&c->overlay, &any, room);
	c->delta = palloc_extended(room * sizeof(int64), flags);
	c->deltas = palloc_extended(room * sizeof(int64), flags);
	MemoryContextSwitchTo(old);
	if (!ok || c->changes.words == NULL || c->delta == NULL ||
		c->deltas == NULL)
	{
		MemoryContextReset(c->context);
		return false;
	}
	c->changes.room = room;
	return true;
}

bool
lb_corrections_make_room(int n, int stride)
{
	return make_room((Size) n * lb_entry_words(stride));
}

bool
lb_corrections_make_deltas(int n)
{
	return make_room((Size) n * 3);
}

static uint64
own_serial(const LbAccess *a)
{
	return a->own.overlay == NULL ? 0 : a->own.overlay->serial;
}

/*
 * Whether the last corrections are those of this read, except for what other
 * transactions may have settled meanwhile.
 */
static bool
same_corrections(const LbAccess *a, LbRef ref, const LbLiveBoard *board)
{
	const Corrections *c = &corrections;

	if (board == NULL || c->board != ref || c->sums != a->sums ||
		c->too_many || !same_snapshot(a))
		return false;

	/* Sums follow the own changes, and keep the changes of others. */
	if (a->sums != NULL ? c->serial != a->sums->others :
		c->curcid != a->snapshot.snapshot->curcid || c->own != own_serial(a))
		return false;

	/* SSI must hear of everything that the snapshot does not see. */
	return (a->serializable == NULL ||
			(a->sums != NULL && a->collected == board->version)) &&
		lb_above_floor(&a->snapshot, &board->floor);
}

/* Versions are of one board if they agree in their upper half. */
static bool
same_index(uint64 version, uint64 other)
{
	return version >> 32 == other >> 32;
}

/*
 * Gather the changes of others into the corrections.  With since, only those
 * that got into the index after that version.
 */
static LbCollect
gather(LbAccess *a, const LbLiveBoard *board, uint64 since, int limit,
	   LbSlice *slice, LbChangesRoom *room)
{
	LbCollectArgs args = {
		.snapshot = &a->snapshot,
		.outcomes = &a->outcomes,
		.changes = &corrections.changes,
		.room = room,
		.limit = limit,
		.since = since,
		.slice = slice,
		.pending = &corrections.pending
	};

	if (since == 0 && a->serializable != NULL)
		args.unseen = &a->unseen;
	lb_changes_begin(args.changes, &a->target.defn->shape);
	return lb_collect(a->stripe, board, &args);
}

/*
 * Gather what others have settled since the corrections were made.  Returns
 * false if the corrections must be made anew.
 */
static bool
gather_since(LbAccess *a, const LbLiveBoard *board, int limit)
{
	Corrections *c = &corrections;
	LbChangesRoom room;

	return !c->pending && same_index(c->version, board->version) &&
		gather(a, board, c->applied, limit, NULL, &room) == LB_COLLECTED;
}

/* The corrections are of this read's snapshot, and of the board as it is. */
static void
note_collected(LbAccess *a, LbRef ref, const LbLiveBoard *board)
{
	Corrections *c = &corrections;

	c->valid = true;
	c->shared = a->shared;
	c->generation = a->generation;
	c->board = ref;
	c->version = board == NULL ? 0 : board->version;
	c->applied = board == NULL ? 0 : board->applied;
	c->xmin = a->snapshot.xmin;
	c->xmax = a->snapshot.xmax;
	c->xcnt = a->snapshot.snapshot->xcnt;
	Assert(c->xcnt <= (uint32) GetMaxSnapshotXidCount());
	if (c->xcnt > 0)
		memcpy(c->xip, a->snapshot.snapshot->xip,
			   c->xcnt * sizeof(TransactionId));
	c->curcid = a->snapshot.snapshot->curcid;
	c->sums = a->sums;
	c->too_many = false;
	c->hash = a->target.hash;
	c->slicing = false;
	a->collected = c->version;
}


/* ----------------------------------------------------------------
 *		Corrections in an overlay
 * ----------------------------------------------------------------
 */

/*
 * Add what others have settled since the overlay was made, so that a long
 * statement beside writers does not gather everything anew with each commit.
 * Returns false if it must.
 */
static bool
catch_up(LbAccess *a, const LbLiveBoard *board)
{
	Corrections *c = &corrections;
	int			n;

	LbEntries	added;

	if (!c->overlay.checked || c->overlay.ambiguous ||
		!gather_since(a, board, LB_FEW_CORRECTIONS))
		return false;
	if (c->changes.n > 0)
	{
		if (!lb_overlay_add(&c->overlay, &c->changes, c->delta, &n))
			return false;
		added.words = c->delta;
		added.n = n;
		added.stride = c->overlay.stride;
		if (!lb_overlay_fits(&c->overlay, &board->index, &added))
			return false;
	}
	c->version = board->version;
	c->applied = board->applied;
	return true;
}

/*
 * Make an overlay of the gathered changes and of the transaction's own, which
 * correct each other.  Returns false if there is not enough room, and sets
 * *room.
 */
static bool
fill_overlay(LbAccess *a, LbChangesRoom *room)
{
	Corrections *c = &corrections;
	LbOverlay  *own = a->own.overlay;

	if (own != NULL)
	{
		LbEntries	entries = lb_overlay_entries(own);

		room->n += entries.n;
		room->stride = Max(room->stride, entries.stride);
		if (!lb_changes_fit(&c->changes, entries.n, entries.stride))
			return false;
		for (uint32 i = 0; i < entries.n; i++)
			lb_add_change(&c->changes, lb_entry_at(&entries, i),
						  entries.stride, false);
	}
	lb_overlay_fill(&c->overlay, &c->changes);
	if (own != NULL && own->ambiguous)
		c->overlay.ambiguous = true;
	a->overlay = &c->overlay;
	return true;
}

/* lb_corrections_collect() of a read without sums. */
static LbCollect
collect_overlay(LbAccess *a, LbRef ref, const LbLiveBoard *board,
				LbChangesRoom *room)
{
	Corrections *c = &corrections;
	LbCollect	result;

	a->overlay = a->own.overlay;

	/* If the transaction has truncated the table, others do not count. */
	if (a->own.truncated)
		return LB_COLLECTED;
	if (same_corrections(a, ref, board) &&
		(c->version == board->version || (c->any && catch_up(a, board))))
	{
		if (c->any)
			a->overlay = &c->overlay;
		return LB_COLLECTED;
	}
	c->valid = false;
	if (!a->applied && board != NULL && lb_sees_backlog(board, &a->snapshot))
		return LB_COLLECT_BACKLOG;
	result = gather(a, board, 0, LB_FEW_CORRECTIONS, NULL, room);
	if (result != LB_COLLECTED)
		return result;
	c->any = c->changes.n > 0;
	if (c->any && !fill_overlay(a, room))
		return LB_COLLECT_ROOM;
	note_collected(a, ref, board);
	c->own = own_serial(a);
	return LB_COLLECTED;
}


/* ----------------------------------------------------------------
 *		Corrections as sums
 *
 * xactlog.c keeps many own changes as sums.  A read adds to them what others
 * have changed, and takes it out again when a read of another snapshot comes.
 * Many changes of others alone have sums of their own.
 *
 * A long history is copied in slices, each under one hold of the lock.
 * Between two holds the backend adds the slice to the sums.  After the last
 * slice it adds what got into the index meanwhile.
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
		/* If the snapshot has too many changes, remember that. */
		c->sums = NULL;
		c->valid &= c->too_many;
	}
	lb_sums_free(c->alone);
	c->alone = NULL;
}

bool
lb_corrections_use_sums(LbAccess *a)
{
	Corrections *c = &corrections;
	LbDefinition *defn = a->target.defn;

	if (!lb_own_changes(&a->target, a->snapshot.snapshot->curcid, true,
						&a->own))
		return false;
	a->sums = a->own.sums;
	if (a->sums != NULL)
		return true;
	free_alone();
	c->alone = lb_sums_make(TopMemoryContext, &defn->shape);
	c->loaded = false;
	a->sums = c->alone;
	return a->sums != NULL;
}

/*
 * Add at most n gathered changes to sums.  Sums of others' changes alone only
 * keep them until all are there.
 */
static void
add_gathered(LbSums *sums, int n)
{
	Corrections *c = &corrections;

	int			stride = c->changes.stride;

	n = Min(n, c->changes.n - c->added);
	if (!lb_changes_fit(&sums->merged, n, stride))
	{
		/* The caller has made room. */
		Assert(false);
		sums->broken = true;
		return;
	}
	while (n-- > 0)
	{
		const int64 *entry = lb_change_at(&c->changes, c->added);

		/* Sums of others' changes alone are never taken apart again. */
		if ((sums != c->alone || c->loaded) &&
			!lb_sums_add(sums, lb_old_key(entry), lb_new_key(entry, stride)))
			return;
		if (sums != c->alone || !c->loaded)
			lb_add_change(&sums->merged, entry, stride, false);
		c->added++;
	}
}

/* Take the changes of others out of sums that have own changes, too. */
static bool
take_out_others(LbSums *sums)
{
	LbChanges  *merged = &sums->merged;

	for (int n = 0; merged->n > 0; n++)
	{
		const int64 *entry;

		if (n % LB_ADD_LOCKED == 0)
		{
			CHECK_FOR_INTERRUPTS();
			if (!lb_sums_reserve(sums, LB_ADD_LOCKED, 0))
				return false;
		}
		entry = lb_change_at(merged, merged->n - 1);
		if (!lb_sums_add(sums, lb_new_key(entry, merged->stride),
						 lb_old_key(entry)))
			return false;
		merged->n--;
	}
	merged->stride = lb_least_stride(&sums->shape);
	sums->others = 0;
	return true;
}

/* Add what was gathered under the last hold of the lock to the sums. */
static bool
add_all_gathered(LbSums *sums)
{
	Corrections *c = &corrections;

	if (!c->valid || c->sums != sums)
		return true;
	while (c->added < c->changes.n)
	{
		CHECK_FOR_INTERRUPTS();
		if (!lb_sums_reserve(sums, LB_ADD_LOCKED, c->changes.stride))
			return false;
		add_gathered(sums, LB_ADD_LOCKED);
		if (sums->broken)
			return false;
	}
	if (sums == c->alone && !c->loaded && !c->slicing)
	{
		if (!lb_sums_load(sums, &sums->merged))
			return false;
		c->loaded = true;
	}
	return true;
}

/* Whether there is room to gather a slice in. */
static bool
has_slice_room(const LbSums *sums)
{
	return corrections.changes.room >=
		(Size) LB_SLICE_CHANGES * lb_entry_words(sums->shape.width);
}

/* lb_corrections_prepare() of a read with sums. */
static bool
prepare_sums(LbAccess *a)
{
	Corrections *c = &corrections;
	LbSums	   *sums;

	if (a->sums->broken)
	{
		c->valid = false;
		if (!lb_corrections_use_sums(a))
			return false;
	}

	/* Whether the changes of others in them are of another snapshot. */
	if (a->sums->others != 0 &&
		!(c->valid && c->sums == a->sums && c->serial == a->sums->others))
	{
		if (a->sums == c->alone && !lb_corrections_use_sums(a))
			return false;
		if (!take_out_others(a->sums))
			return false;
	}
	sums = a->sums;
	if (!add_all_gathered(sums))
		return false;
	if (a->distinct && !sums->distinct && a->count_scores &&
		!lb_sums_distinct_begin(sums))
		return false;
	if (sums->check_all && !lb_sums_check_all(sums))
		return false;
	if (!has_slice_room(sums) &&
		!lb_corrections_make_room(LB_SLICE_CHANGES, sums->shape.width))
		return false;
	return lb_sums_reserve(sums, sums->distinct ? LB_SLICE_CHANGES :
						   LB_ADD_LOCKED, 0);
}

bool
lb_corrections_prepare(LbAccess *a)
{
	Corrections *c = &corrections;

	if (c->xip == NULL)
		c->xip = MemoryContextAlloc(TopMemoryContext,
									GetMaxSnapshotXidCount() *
									sizeof(TransactionId));
	if (a->sums == NULL && a->own.overlay == NULL && c->alone != NULL &&
		c->sums == c->alone && same_snapshot(a))
		a->sums = c->alone;
	return a->sums == NULL || prepare_sums(a);
}

/*
 * New changes were gathered for the sums: number them, and none is added yet.
 */
static void
note_gathered(LbSums *sums)
{
	Corrections *c = &corrections;

	c->added = 0;
	if (c->changes.n > 0 && c->serial == 0)
		sums->others = c->serial = ++serials;
}

/* Gather others' changes from the beginning, for sums that have none. */
static LbCollect
gather_first(LbAccess *a, LbRef ref, const LbLiveBoard *board,
			 LbChangesRoom *room)
{
	Corrections *c = &corrections;
	LbCollect	result;

	c->valid = false;
	if (a->sums->others != 0)
		return LB_COLLECT_AGAIN;
	if (!a->applied && board != NULL && lb_sees_backlog(board, &a->snapshot))
		return LB_COLLECT_BACKLOG;
	result = gather(a, board, 0, LB_MAX_CORRECTIONS, &c->slice, room);

	/*
	 * Pending changes must be gathered under the same hold as the rest, and
	 * so must what SSI has to hear of.
	 */
	if (result == LB_COLLECT_MORE &&
		(a->serializable != NULL || c->pending))
		return LB_COLLECT_MANY;
	if (result != LB_COLLECTED && result != LB_COLLECT_MORE)
		return result;
	note_collected(a, ref, board);
	c->slicing = result == LB_COLLECT_MORE;
	c->serial = 0;
	note_gathered(a->sums);
	a->gathered += c->changes.n;
	a->begun++;
	return LB_COLLECTED;
}

/* Gather the next slice of a history. */
static LbCollect
gather_more(LbAccess *a, const LbLiveBoard *board, LbChangesRoom *room)
{
	Corrections *c = &corrections;
	LbCollect	result;

	lb_changes_begin(&c->changes, &a->sums->shape);
	result = lb_collect_more(board, &a->snapshot, &c->changes, &c->slice,
							 room);
	if (result != LB_COLLECTED && result != LB_COLLECT_MORE)
	{
		c->added = c->changes.n = 0;
		c->valid = false;
		return result == LB_COLLECT_ROOM ? result : LB_COLLECT_AGAIN;
	}
	c->slicing = result == LB_COLLECT_MORE;
	note_gathered(a->sums);
	a->gathered += c->changes.n;
	return LB_COLLECTED;
}

/* Gather what got into the index since the last slice, or the last read. */
static LbCollect
gather_rest(LbAccess *a, const LbLiveBoard *board)
{
	Corrections *c = &corrections;

	if (a->sums->merged.n > 2 * LB_MAX_CORRECTIONS ||
		!gather_since(a, board, LB_SLICE_CHANGES))
	{
		c->added = c->changes.n = 0;
		c->valid = false;
		return LB_COLLECT_AGAIN;
	}
	c->version = board->version;
	c->applied = board->applied;
	note_gathered(a->sums);
	return LB_COLLECTED;
}

/*
 * Gather others' changes for sums.  LB_COLLECTED means that the sums have all
 * of them.
 */
static LbCollect
collect_sums(LbAccess *a, LbRef ref, const LbLiveBoard *board,
			 LbChangesRoom *room)
{
	Corrections *c = &corrections;
	LbSums	   *sums = a->sums;
	LbCollect	result = LB_COLLECTED;

	if (sums->broken || !has_slice_room(sums))
		return LB_COLLECT_AGAIN;

	/* If the transaction has truncated the table, others do not count. */
	if (a->own.truncated)
	{
		if (sums->others == 0)
			return LB_COLLECTED;
		c->valid = false;
		return LB_COLLECT_AGAIN;
	}
	if (!same_corrections(a, ref, board))
		result = gather_first(a, ref, board, room);
	else if (c->added >= c->changes.n)
	{
		if (c->slicing)
			result = gather_more(a, board, room);
		else if (c->version != board->version)
			result = gather_rest(a, board);
	}
	if (result != LB_COLLECTED)
		return result;

	/* A few changes are added at once, more of them without the lock. */
	if (c->slicing || (sums == c->alone && !c->loaded) ||
		c->changes.n - c->added > LB_ADD_LOCKED ||
		!lb_sums_has_room(sums, c->changes.n - c->added, c->changes.stride))
		return LB_COLLECT_AGAIN;
	add_gathered(sums, LB_ADD_LOCKED);
	return sums->broken ? LB_COLLECT_AGAIN : LB_COLLECTED;
}

/*
 * Note the scores of all keys that have come into the index or left it since
 * the sums last followed distinct scores.  Returns false if the history does
 * not have all of them.
 */
static bool
touch_applied_scores(LbSums *sums, const LbLiveBoard *board)
{
	Corrections *c = &corrections;
	bool		ok;

	lb_changes_begin(&c->changes, &sums->shape);
	ok = lb_collect_applied(board, sums->distinct_applied, &c->changes);
	for (int i = 0; ok && i < c->changes.n; i++)
	{
		const int64 *entry = lb_change_at(&c->changes, i);
		const int64 *old = lb_old_key(entry);
		const int64 *new = lb_new_key(entry, c->changes.stride);

		if (old != NULL)
			ok = lb_sums_touch_score(sums, old[0]);
		if (ok && new != NULL)
			ok = lb_sums_touch_score(sums, new[0]);
	}
	c->added = c->changes.n = 0;
	return ok;
}

/*
 * Find out what the sums do to distinct scores, with the lock held.  It
 * looks only at scores whose keys have changed, in the sums or in the index.
 */
static LbCollect
count_scores(LbAccess *a, const LbLiveBoard *board, const LbIndex *index)
{
	LbSums	   *sums = a->sums;
	uint64		version = board == NULL ? 0 : board->version;
	uint64		applied = board == NULL ? 0 : board->applied;
	uint64		floor = board == NULL ? 0 : board->floor.next_xid;
	bool		follows = sums->distinct && sums->distinct_floor == floor &&
		same_index(sums->distinct_version, version);

	/* What is not in the history has raised the floor. */
	if (follows && sums->distinct_applied != applied)
		follows = touch_applied_scores(sums, board);
	sums->distinct_version = version;
	sums->distinct_applied = applied;
	sums->distinct_floor = floor;
	if (!follows)
	{
		/* From now on, note what gets into the index. */
		sums->distinct = false;
		a->count_scores = true;
		return LB_COLLECT_AGAIN;
	}
	if (!lb_sums_has_room(sums, LB_CHECK_LOCKED, 0))
		return LB_COLLECT_AGAIN;
	lb_sums_count_scores(sums, &lb_shared->arena, index, LB_CHECK_LOCKED);
	return sums->nscores > 0 || sums->broken ? LB_COLLECT_AGAIN :
		LB_COLLECTED;
}

/*
 * The sums have everything: with the lock held, compare the members whose sum
 * has changed with the index.  Sets a->fits.
 *
 * What the transaction has replaced must be what the index holds.  It may not
 * be while the transaction that wrote it has left the proc array but not yet
 * settled; once it has settled, our row locks keep it so.
 */
static LbCollect
check_sums(LbAccess *a, const LbLiveBoard *board)
{
	LbSums	   *sums = a->sums;
	const LbIndex *index = board == NULL || a->own.truncated ? NULL :
		&board->index;
	uint64		on = board == NULL ? 1 : 2 + (board->version >> 32);

	a->fits = !lb_sums_ambiguous(sums);
	if (!a->fits)
		return LB_COLLECTED;

	/* The index is another one: it was built anew, or the board is new. */
	if (sums->checked_on != on)
	{
		sums->check_all = sums->checked_on != 0;
		sums->checked_on = on;
	}
	if (sums->check_all)
		return LB_COLLECT_AGAIN;
	a->fits = lb_sums_check(sums, &lb_shared->arena, index, LB_CHECK_LOCKED);
	if (!a->fits)
		return LB_COLLECTED;
	if (sums->nunchecked > 0)
		return LB_COLLECT_AGAIN;
	return a->distinct ? count_scores(a, board, index) : LB_COLLECTED;
}


/* ----------------------------------------------------------------
 *		Either form
 * ----------------------------------------------------------------
 */

LbCollect
lb_corrections_collect(LbAccess *a, LbRef ref, const LbLiveBoard *board,
					   LbChangesRoom *room)
{
	LbCollect	result;

	if (a->sums == NULL)
		return collect_overlay(a, ref, board, room);
	a->overlay = NULL;
	result = collect_sums(a, ref, board, room);
	return result == LB_COLLECTED ? check_sums(a, board) : result;
}

/* Open the view through the overlay, and keep the deltas for the next read. */
static bool
open_overlay(LbAccess *a, const LbIndex *index, uint64 version)
{
	Corrections *c = &corrections;
	LbDefinition *defn = a->target.defn;
	LbOverlay  *overlay = a->overlay;
	bool		deltas = a->distinct && overlay != NULL;
	bool		kept = deltas && c->deltas_of == overlay->serial &&
		c->deltas_at == version;

	if (!lb_view_open(&a->view, index, overlay, &defn->shape,
					  deltas && !kept ? c->deltas : NULL))
		return false;
	if (kept)
	{
		a->view.deltas = c->deltas;
		a->view.ndeltas = c->ndeltas;
		a->view.delta_total = c->delta_total;
	}
	else if (deltas)
	{
		c->ndeltas = a->view.ndeltas;
		c->delta_total = a->view.delta_total;
		c->deltas_of = overlay->serial;
		c->deltas_at = version;
	}
	return true;
}

bool
lb_corrections_open_view(LbAccess *a, const LbLiveBoard *board)
{
	const LbIndex *index = board == NULL ? NULL : &board->index;

	if (a->sums == NULL)
	{
		if (open_overlay(a, index, board == NULL ? 0 : board->version))
			return true;
	}
	else if (a->fits)
	{
		lb_view_open_sums(&a->view, index, a->sums, a->own.truncated);
		return true;
	}
	corrections.valid = false;
	return false;
}

bool
lb_corrections_worth_it(const LbAccess *a, uint64 members)
{
	Corrections *c = &corrections;

	if (!c->valid || c->sums != a->sums)
		return true;
	if (a->sums->merged.n + (c->changes.n - c->added) > LB_MAX_CORRECTIONS)
	{
		c->too_many = true;
		return false;
	}
	return a->reader == LB_READER_VERIFY || (uint64) a->gathered <= LB_FREE_CORRECTIONS +
		members / LB_ROWS_PER_CORRECTION;
}

bool
lb_corrections_too_many(const LbAccess *a)
{
	Corrections *c = &corrections;

	if (!c->too_many || c->hash != a->target.hash ||
		a->serializable != NULL || !same_snapshot(a))
		return false;
	if (c->sums == c->alone)
		free_alone();
	return true;
}

bool
lb_corrections_again(const LbAccess *a)
{
	const Corrections *c = &corrections;

	return c->valid && c->shared == a->shared &&
		c->xmax == a->snapshot.xmax &&
		c->curcid == a->snapshot.snapshot->curcid;
}

static void
forget_at_xact_end(void)
{
	Corrections *c = &corrections;
	TransactionId *xip = c->xip;

	/*
	 * Snapshots with the same fields are the same within a transaction only,
	 * whose snapshots leave out its own xid.  Those that are taken while it
	 * goes on as a prepared transaction do not, nor do imported snapshots.
	 */
	c->valid = false;
	free_alone();
	if (c->changes.room <= KEEP_ROOM)
		return;
	MemoryContextDelete(c->context);
	memset(c, 0, sizeof(Corrections));
	c->xip = xip;
}

void
lb_corrections_init(void)
{
	lb_at_xact_end(forget_at_xact_end);
}
