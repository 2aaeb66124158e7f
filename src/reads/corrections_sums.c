/*-------------------------------------------------------------------------
 *
 * corrections_sums.c
 *	  Corrections as sums.
 *
 * own.c keeps many own changes as sums.  A read adds to them what others have
 * changed, and takes it out again when a read of another snapshot comes.  Many
 * changes of others alone have sums of their own.
 *
 * A long history is copied in slices, each under one hold of the lock.
 * Between two holds the backend adds the slice to the sums.  After the last
 * slice it adds what got into the index meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

#include "ledger/backlog.h"
#include "reads/corrections_internal.h"

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

/* The last number given to changes that were added to sums. */
static uint64 serials = 0;

void
lb_free_alone_sums(void)
{
	LbCorrections *c = &lb_corrections;

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
	LbCorrections *c = &lb_corrections;
	LbDefinition *defn = a->target.defn;

	if (!lb_own_changes(&a->target, a->snapshot.snapshot->curcid, true,
						&a->own))
		return false;
	a->sums = a->own.sums;
	if (a->sums != NULL)
		return true;
	lb_free_alone_sums();
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
	LbCorrections *c = &lb_corrections;

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
			!lb_sums_add(sums, lb_old_key(entry), lb_new_key(entry, stride),
						 lb_entry_rows(entry)))
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
						 lb_old_key(entry), lb_entry_rows(entry)))
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
	LbCorrections *c = &lb_corrections;

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
	return lb_corrections.changes.room >=
		(Size) LB_SLICE_CHANGES * lb_entry_words(sums->shape.width);
}

/* lb_corrections_prepare() of a read with sums. */
static bool
prepare_sums(LbAccess *a)
{
	LbCorrections *c = &lb_corrections;
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

/*
 * Room for the running transactions of a snapshot: for n, or for as many as
 * one of a primary can have.  Raises when out of memory.
 */
static void
make_room_for_xids(LbCorrections *c, uint32 n)
{
	uint32		room = Max(n, (uint32) GetMaxSnapshotXidCount());

	c->valid = false;
	if (c->xip != NULL)
		pfree(c->xip);
	c->xip = NULL;
	c->xip = MemoryContextAlloc(TopMemoryContext, room * sizeof(TransactionId));
	c->max_xip = room;
}

bool
lb_corrections_prepare(LbAccess *a)
{
	LbCorrections *c = &lb_corrections;

	if (c->xip == NULL || c->max_xip < a->snapshot.nxip)
		make_room_for_xids(c, a->snapshot.nxip);
	if (a->sums == NULL && a->own.overlay == NULL && c->alone != NULL &&
		c->sums == c->alone && lb_same_snapshot(a))
		a->sums = c->alone;
	return a->sums == NULL || prepare_sums(a);
}

/*
 * New changes were gathered for the sums: number them, and none is added yet.
 */
static void
note_gathered(LbSums *sums)
{
	LbCorrections *c = &lb_corrections;

	c->added = 0;
	if (c->changes.n > 0 && c->serial == 0)
		sums->others = c->serial = ++serials;
}

/* Gather others' changes from the beginning, for sums that have none. */
static LbCollect
gather_first(LbAccess *a, LbRef ref, const LbLiveBoard *board,
			 LbChangesRoom *room)
{
	LbCorrections *c = &lb_corrections;
	LbCollect	result;

	c->valid = false;
	if (a->sums->others != 0)
		return LB_COLLECT_AGAIN;
	if (!a->applied && board != NULL && lb_sees_backlog(board, &a->snapshot))
		return LB_COLLECT_BACKLOG;
	result = lb_gather(a, board, 0, LB_MAX_CORRECTIONS, &c->slice, room);

	/*
	 * Pending changes must be gathered under the same hold as the rest, and
	 * so must what SSI has to hear of.
	 */
	if (result == LB_COLLECT_MORE &&
		(a->serializable != NULL || c->pending))
		return LB_COLLECT_MANY;
	if (result != LB_COLLECTED && result != LB_COLLECT_MORE)
		return result;
	lb_note_collected(a, ref, board);
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
	LbCorrections *c = &lb_corrections;
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
	LbCorrections *c = &lb_corrections;

	if (a->sums->merged.n > 2 * LB_MAX_CORRECTIONS ||
		!lb_gather_since(a, board, LB_SLICE_CHANGES))
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

LbCollect
lb_collect_sums(LbAccess *a, LbRef ref, const LbLiveBoard *board,
				LbChangesRoom *room)
{
	LbCorrections *c = &lb_corrections;
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
	if (!lb_same_corrections(a, ref, board))
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
	LbCorrections *c = &lb_corrections;
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
	bool		follows = sums->distinct &&
		lb_same_index(sums->distinct_version, version);

	if (follows && sums->distinct_applied != applied)
		follows = touch_applied_scores(sums, board);
	sums->distinct_version = version;
	sums->distinct_applied = applied;
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

LbCollect
lb_check_sums(LbAccess *a, const LbLiveBoard *board)
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
