/*-------------------------------------------------------------------------
 *
 * large.c
 *	  Publications of large transactions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "boards/live.h"
#include "ledger/backlog.h"
#include "ledger/batch.h"
#include "ledger/large.h"
#include "ledger/publication.h"
#include "ledger/queue.h"
#include "util/pause.h"
#include "util/sort.h"


/*
 * Steps of a large publication that are taken under one hold, and of how many
 * one is looked up ahead.
 */
#define LB_SLICE 256
#define PREFETCH_EVERY 8

StaticAssertDecl(LB_SLICE / PREFETCH_EVERY <= LB_PREFETCH_KEYS,
				 "one call looks ahead for a slice");

/*
 * The steps by which a large publication is brought into the index: all old
 * keys are taken out, then all new ones put in, both in their order, so that
 * neighbours come after each other.  Returns NULL if there is no memory for
 * that.  Raises only when interrupted.
 */
const int64 *
lb_make_steps(const LbSharedBoard *shared, const int64 *entries, uint32 nentries,
			  uint32 *nremoved, uint64 *nsteps)
{
	int			width = shared->width;
	int			stride = lb_entry_words(width);
	Size		size = width * sizeof(int64);
	uint64		n[2] = {0, 0};	/* old keys, new keys */
	int64	   *keys[2];
	int64	   *steps;

	for (uint32 i = 0; i < nentries; i++)
	{
		int64		flags = entries[(Size) i * stride];

		n[0] += (flags & LB_HAS_OLD) != 0;
		n[1] += (flags & LB_HAS_NEW) != 0;
	}
	*nremoved = (uint32) n[0];
	*nsteps = n[0] + n[1];
	steps = MemoryContextAllocExtended(TopTransactionContext, *nsteps * size,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (steps == NULL)
	{
		*nsteps = nentries;
		return NULL;
	}
	keys[0] = steps;
	keys[1] = steps + n[0] * width;
	for (uint32 i = 0; i < nentries; i++)
	{
		const int64 *entry = entries + (Size) i * stride;

		if (entry[0] & LB_HAS_OLD)
		{
			memcpy(keys[0], entry + 1, size);
			keys[0] += width;
		}
		if (entry[0] & LB_HAS_NEW)
		{
			memcpy(keys[1], entry + 1 + width, size);
			keys[1] += width;
		}
	}
	lb_sort_words(steps, n[0], width);
	lb_sort_words(steps + n[0] * width, n[1], width);
	return steps;
}

static void
take_step(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
		  FullTransactionId xid, const int64 *entry)
{
	if (stripe->queueing)
		lb_queue_entry(shared, board, xid, entry);
	lb_live_board_apply(shared, board, entry, NULL, NULL);
}

/* Take steps n .. end - 1 of the owner's large publication. */
static void
take_steps(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
		   const LbPublication *pub, uint64 n, uint64 end)
{
	const LbArena *arena = &lb_shared->arena;
	int			width = shared->width;
	const int64 *keys[LB_SLICE / PREFETCH_EVERY] = {NULL};
	LbPath		paths[LB_SLICE / PREFETCH_EVERY];
	int			nkeys = 0;

	if (pub->owner_steps == NULL)
	{
		for (; n < end; n++)
			take_step(shared, stripe, board, pub->xid,
					  pub->owner_entries + n * lb_entry_words(width));
		return;
	}

	/* Keys in order are near each other: not all of them are needed. */
	for (uint64 i = n; i < end; i++)
	{
		const int64 *key = pub->owner_steps + i * width;

		lb_index_prefetch_hash(arena, &board->index,
							   key + width - shared->member_words);
		if ((i - n) % PREFETCH_EVERY == 0)
			keys[nkeys++] = key;
	}
	lb_index_prefetch_changes(arena, &board->index, keys, nkeys, paths);
	for (; n < end; n++)
	{
		bool		new = n >= pub->nremoved;
		int64		half[1 + 2 * LB_MAX_WIDTH];

		half[0] = new ? LB_HAS_NEW : LB_HAS_OLD;
		memcpy(half + 1 + (new ? width : 0), pub->owner_steps + n * width,
			   width * sizeof(int64));
		take_step(shared, stripe, board, pub->xid, half);
	}
}

/* Settle the owner's large publication, a slice at a time. */
void
lb_settle_large(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	uint64		n = 0;

	/*
	 * Readers that meet it from now on wait, and those whose snapshots do not
	 * see it run their queries: it does not go into the history.
	 */
	pub->settling = true;
	lb_apply_backlog(shared, lb_live_board_at(pub->board));
	lb_live_board_at(pub->board)->nsettling++;
	lb_live_board_at(pub->board)->version++;
	lb_raise_floor(&lb_live_board_at(pub->board)->floor,
				   lb_next_xid(),
				   U64FromFullTransactionId(pub->xid));
	lb_want_xid();

	/* A build that finishes meanwhile may have brought in everything. */
	while (n < pub->nsteps && !pub->done &&
		   lb_shared_board_is(shared, pub->generation))
	{
		uint64		end = Min(n + LB_SLICE, pub->nsteps);

		take_steps(shared, stripe, lb_live_board_at(pub->board), pub, n, end);
		n = end;
		LWLockRelease(&stripe->lock);
		lb_pause("slices");
		lb_lock_to_write(stripe);
	}

	/* Then the board that it was published on is gone. */
	if (pub->done || !lb_shared_board_is(shared, pub->generation))
		return;
	lb_live_board_at(pub->board)->nsettling--;
	pg_atomic_fetch_add_u64(&lb_live_board_at(pub->board)
							->counters[LB_COUNT_CHANGES],
							pub->nentries);

	dlist_delete(&pub->node);
	pub->linked = false;
	pub->done = true;
	lb_live_board_release(shared, stripe, pub->board);
}
