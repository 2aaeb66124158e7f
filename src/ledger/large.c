/*-------------------------------------------------------------------------
 *
 * large.c
 *	  Publications of large transactions.
 *
 * A large publication points to its owner's memory, so only the owner can
 * settle it, and no other process sees its members.  The owner settles it in
 * slices, and releases the stripe's lock in between.
 *
 * The publication is applied in steps.  A step removes or inserts one key.
 * The keys are sorted, so that a step finds its neighbour's blocks in the
 * cache, and the blocks of a slice can be prefetched.  They are copies, since
 * looking each up in its entry would be a cache miss.  A build's queue gets
 * each step as a change of one key.  With counts, the entries are in the order
 * of their keys, and each is a step.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "boards/live.h"
#include "ledger/backlog.h"
#include "ledger/batch.h"
#include "ledger/large.h"
#include "ledger/off_board.h"
#include "ledger/publication.h"
#include "ledger/queue.h"
#include "ledger/snapshot.h"
#include "util/pause.h"
#include "util/sort.h"


/*
 * Steps that are taken under one hold of the lock.  Keys in order are near
 * each other, so one in PREFETCH_EVERY is prefetched.
 */
#define SLICE 256
#define PREFETCH_EVERY 8

/* Entries between two checks for interrupts, before the commit. */
#define CHECK_STEPS 4096

StaticAssertDecl(SLICE / PREFETCH_EVERY <= LB_PREFETCH_KEYS,
				 "one call prefetches a slice");

LbSteps
lb_make_steps(const LbSharedBoard *shared, const LbEntries *entries)
{
	int			stride = entries->stride;
	Size		size = stride * sizeof(int64);
	uint64		nold = 0;
	uint64		nnew = 0;
	int64	   *keys;
	int64	   *old;
	int64	   *new;

	if (shared->shape.counts)
		return (LbSteps)
	{
		.keys = NULL,.n = entries->n
	};
	for (uint32 i = 0; i < entries->n; i++)
	{
		int64		flags = lb_entry_at(entries, i)[0];

		if (i % CHECK_STEPS == 0)
			CHECK_FOR_INTERRUPTS();
		nold += (flags & LB_HAS_OLD) != 0;
		nnew += (flags & LB_HAS_NEW) != 0;
	}
	keys = MemoryContextAllocExtended(TopTransactionContext,
									  (nold + nnew) * size,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (keys == NULL)
		return (LbSteps)
	{
		.keys = NULL,.n = entries->n
	};

	old = keys;
	new = keys + nold * stride;
	for (uint32 i = 0; i < entries->n; i++)
	{
		const int64 *entry = lb_entry_at(entries, i);

		if (i % CHECK_STEPS == 0)
			CHECK_FOR_INTERRUPTS();
		if (entry[0] & LB_HAS_OLD)
		{
			memcpy(old, entry + 1, size);
			old += stride;
		}
		if (entry[0] & LB_HAS_NEW)
		{
			memcpy(new, entry + 1 + stride, size);
			new += stride;
		}
	}
	lb_sort_words(keys, nold, stride);
	lb_sort_words(keys + nold * stride, nnew, stride);
	return (LbSteps)
	{
		.keys = keys,.n = nold + nnew,.nremoved = nold
	};
}

/* Take one step: a change, or half of one. */
static void
take_step(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
		  FullTransactionId xid, const int64 *old, const int64 *new,
		  int64 rows)
{
	if (stripe->queueing)
		lb_queue_change(shared, board, xid, old, new, rows);
	lb_live_board_apply(shared, board, old, new, rows, NULL, NULL);
}

/*
 * Prefetch steps n .. end - 1: what looking up the members in the hash reads
 * first, and the paths to some of the keys.
 */
static void
prefetch_steps(const LbPublication *pub, const LbIndex *index, uint64 n,
			   uint64 end)
{
	const LbArena *arena = &lb_shared->arena;
	const int64 *keys[SLICE / PREFETCH_EVERY] = {NULL};
	LbPath		paths[SLICE / PREFETCH_EVERY];
	int			nkeys = 0;

	for (uint64 i = n; i < end; i++)
	{
		const int64 *key = pub->steps.keys + i * pub->stride;

		lb_index_prefetch_hash(arena, index,
							   lb_key_member(&pub->shared->shape, key));
		if ((i - n) % PREFETCH_EVERY == 0)
			keys[nkeys++] = key;
	}
	lb_index_prefetch_changes(arena, index, keys, nkeys, paths);
}

/* Take steps n .. end - 1 of the owner's large publication. */
static void
take_steps(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
		   const LbPublication *pub, uint64 n, uint64 end)
{
	const LbSteps *steps = &pub->steps;
	int			stride = pub->stride;

	if (steps->keys == NULL)
	{
		for (; n < end; n++)
		{
			const int64 *entry = pub->owner_entries +
				n * lb_entry_words(stride);

			take_step(shared, stripe, board, pub->xid, lb_old_key(entry),
					  lb_new_key(entry, stride), lb_entry_rows(entry));
		}
		return;
	}
	prefetch_steps(pub, &board->index, n, end);
	for (; n < end; n++)
	{
		const int64 *key = steps->keys + n * stride;
		bool		new = n >= steps->nremoved;

		take_step(shared, stripe, board, pub->xid, new ? NULL : key,
				  new ? key : NULL, 0);
	}
}

void
lb_settle_large(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	LbLiveBoard *board = lb_live_board_at(pub->board);
	uint64		n = 0;

	/*
	 * From now on a reader that meets the publication waits.  A reader whose
	 * snapshot does not see it runs its query, since the publication does not
	 * go into the history.  The floor does not always rise by it: this may be
	 * the second one before the next xid is taken.
	 */
	pub->settling = true;
	lb_apply_backlog(shared, board);
	board->nsettling++;
	board->applied = board->history_from = ++board->version;
	lb_raise_floor(&board->floor, lb_next_xid(),
				   U64FromFullTransactionId(pub->xid));
	lb_want_xid();

	/*
	 * A build that finishes meanwhile may have applied everything, or has
	 * moved the publication to a new board.
	 */
	while (n < pub->steps.n && !pub->done &&
		   lb_shared_board_is(shared, pub->generation))
	{
		uint64		end = Min(n + SLICE, pub->steps.n);

		take_steps(shared, stripe, lb_live_board_at(pub->board), pub, n, end);
		n = end;
		LWLockRelease(&stripe->lock);
		lb_pause("slices");
		lb_lock_to_write(stripe);
	}

	/* In these cases the board that it was published on is gone. */
	if (pub->done || !lb_shared_board_is(shared, pub->generation))
		return;

	board = lb_live_board_at(pub->board);
	board->nsettling--;
	lb_settle_off_board(shared, stripe, board, pub);
	pg_atomic_fetch_add_u64(&board->counters[LB_COUNT_CHANGES],
							pub->nentries);
	dlist_delete(&pub->node);
	pub->linked = false;
	pub->done = true;
	lb_live_board_release(shared, stripe, pub->board);
}
