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
#include "reads/corrections_internal.h"

/*
 * The most changes of others that an overlay takes, all gathered under one
 * hold of the lock.  Sums take more, and gather them in slices.  Tests set
 * these lower.
 */
#ifndef LB_FEW_CORRECTIONS
#define LB_FEW_CORRECTIONS 512
#endif

/*
 * Entries of an overlay that more are added to.  Adding some moves the others,
 * or adds up their rows again, under the lock, and a long statement does so
 * after each commit beside it.  With more, it gathers all anew, in sums.
 */
#define MAX_CAUGHT_UP (4 * LB_FEW_CORRECTIONS)

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

LbCorrections lb_corrections;

bool
lb_same_snapshot(const LbAccess *a)
{
	const LbCorrections *c = &lb_corrections;
	const LbSnapshot *s = &a->snapshot;

	return c->valid && c->shared == a->shared &&
		c->generation == a->generation && c->xmin == s->xmin &&
		c->xmax == s->xmax && c->nxip == s->nxip &&
		(c->nxip == 0 ||
		 memcmp(c->xip, s->xip, c->nxip * sizeof(TransactionId)) == 0);
}

StaticAssertDecl(sizeof(LbScoreDelta) == 3 * sizeof(int64),
				 "as many deltas have room in the words of a change");

bool
lb_corrections_has_deltas(int n)
{
	return (Size) n * 3 <= lb_corrections.changes.room;
}

/* Give each array room for this many words, or more. */
static bool
make_room(Size room)
{
	LbCorrections *c = &lb_corrections;
	MemoryContext old;
	LbShape		any = lb_counts_shape(1);	/* which needs all arrays */
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

bool
lb_same_corrections(const LbAccess *a, LbRef ref, const LbLiveBoard *board)
{
	const LbCorrections *c = &lb_corrections;

	if (board == NULL || c->board != ref || c->sums != a->sums ||
		c->too_many || !lb_same_snapshot(a))
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

LbCollect
lb_gather(LbAccess *a, const LbLiveBoard *board, uint64 since, int limit,
		  LbSlice *slice, LbChangesRoom *room)
{
	LbCollectArgs args = {
		.snapshot = &a->snapshot,
		.outcomes = &a->outcomes,
		.changes = &lb_corrections.changes,
		.room = room,
		.limit = limit,
		.since = since,
		.slice = slice,
		.pending = &lb_corrections.pending
	};

	if (since == 0 && a->serializable != NULL)
		args.unseen = &a->unseen;
	lb_changes_begin(args.changes, &a->target.defn->shape);
	return lb_collect(a->stripe, board, &args);
}

bool
lb_gather_since(LbAccess *a, const LbLiveBoard *board, int limit)
{
	LbCorrections *c = &lb_corrections;
	LbChangesRoom room;

	return !c->pending && lb_same_index(c->version, board->version) &&
		lb_gather(a, board, c->applied, limit, NULL, &room) == LB_COLLECTED;
}

void
lb_note_collected(LbAccess *a, LbRef ref, const LbLiveBoard *board)
{
	LbCorrections *c = &lb_corrections;

	c->valid = true;
	c->shared = a->shared;
	c->generation = a->generation;
	c->board = ref;
	c->version = board == NULL ? 0 : board->version;
	c->applied = board == NULL ? 0 : board->applied;
	c->xmin = a->snapshot.xmin;
	c->xmax = a->snapshot.xmax;
	c->nxip = a->snapshot.nxip;
	Assert(c->nxip <= c->max_xip);
	if (c->nxip > 0)
		memcpy(c->xip, a->snapshot.xip, c->nxip * sizeof(TransactionId));
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
	LbCorrections *c = &lb_corrections;
	int			n;

	LbEntries	added;

	if (!c->overlay.checked || c->overlay.ambiguous ||
		c->overlay.nentries > MAX_CAUGHT_UP ||
		!lb_gather_since(a, board, LB_FEW_CORRECTIONS))
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
	LbCorrections *c = &lb_corrections;
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
	LbCorrections *c = &lb_corrections;
	LbCollect	result;

	a->overlay = a->own.overlay;

	/* If the transaction has truncated the table, others do not count. */
	if (a->own.truncated)
		return LB_COLLECTED;
	if (lb_same_corrections(a, ref, board) &&
		(c->version == board->version || (c->any && catch_up(a, board))))
	{
		if (c->any)
			a->overlay = &c->overlay;
		return LB_COLLECTED;
	}
	c->valid = false;
	if (!a->applied && board != NULL && lb_sees_backlog(board, &a->snapshot))
		return LB_COLLECT_BACKLOG;
	result = lb_gather(a, board, 0, LB_FEW_CORRECTIONS, NULL, room);
	if (result != LB_COLLECTED)
		return result;
	c->any = c->changes.n > 0;
	if (c->any && !fill_overlay(a, room))
		return LB_COLLECT_ROOM;
	lb_note_collected(a, ref, board);
	c->own = own_serial(a);
	return LB_COLLECTED;
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
	result = lb_collect_sums(a, ref, board, room);
	return result == LB_COLLECTED ? lb_check_sums(a, board) : result;
}

/* Open the view through the overlay, and keep the deltas for the next read. */
static bool
open_overlay(LbAccess *a, const LbIndex *index, uint64 version)
{
	LbCorrections *c = &lb_corrections;
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
	lb_corrections.valid = false;
	return false;
}

bool
lb_corrections_worth_it(const LbAccess *a, uint64 members)
{
	LbCorrections *c = &lb_corrections;

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
	LbCorrections *c = &lb_corrections;

	if (!c->too_many || c->hash != a->target.hash ||
		a->serializable != NULL || !lb_same_snapshot(a))
		return false;
	if (c->sums == c->alone)
		lb_free_alone_sums();
	return true;
}

bool
lb_corrections_again(const LbAccess *a)
{
	const LbCorrections *c = &lb_corrections;

	return c->valid && c->shared == a->shared &&
		c->xmax == a->snapshot.xmax &&
		c->curcid == a->snapshot.snapshot->curcid;
}

static void
forget_at_xact_end(void)
{
	LbCorrections *c = &lb_corrections;
	TransactionId *xip = c->xip;
	uint32		max_xip = c->max_xip;

	/*
	 * Snapshots with the same fields are the same within a transaction only,
	 * whose snapshots leave out its own xid.  Those that are taken while it
	 * goes on as a prepared transaction do not, nor do imported snapshots.
	 */
	c->valid = false;
	lb_free_alone_sums();
	if (c->changes.room <= KEEP_ROOM)
		return;
	MemoryContextDelete(c->context);
	memset(c, 0, sizeof(LbCorrections));
	c->xip = xip;
	c->max_xip = max_xip;
}

void
lb_corrections_init(void)
{
	lb_at_xact_end(forget_at_xact_end);
}
