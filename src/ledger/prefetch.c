/*-------------------------------------------------------------------------
 *
 * prefetch.c
 *	  A backlog brought in without the lock, as far as that goes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/live.h"
#include "ledger/backlog.h"
#include "ledger/batch.h"
#include "ledger/prefetch.h"
#include "ledger/publication.h"
#include "util/pause.h"

/* The board of a hash whose index is as of version applied, or NULL. */
static LbLiveBoard *
board_as_of(LbSharedBoard *shared, LbStripe *stripe, uint32 hash,
			uint64 applied)
{
	LbHashScan	scan;

	if (!shared->family)
	{
		LbLiveBoard *board = lb_live_board_at(stripe->single);

		return board->applied == applied ? board : NULL;
	}
	for (LbRef ref = lb_hash_first(&lb_shared->arena, &stripe->boards, hash,
								   &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		/* Versions are never the same, not even of two boards. */
		if (lb_live_board_at(ref)->applied == applied)
			return lb_live_board_at(ref);
	}
	return NULL;
}

/*
 * Bring in the first entries of a backlog.  What takes most of the time, waiting
 * for memory, does not need the stripe's lock: it is let go of meanwhile, and
 * others who settle leave this to us.  With give_way it is also let go of between
 * two publications, if a writer waits.  Returns false if there is nothing left to
 * do or the board may be gone.  The stripe's lock is held exclusively, and again
 * when we return.
 */
bool
lb_prefetch_and_apply(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
					  bool give_way)
{
	uint64		generation = shared->generation;
	uint32		hash = board->hash;
	uint64		applied = board->applied;
	uint64		versions[LB_MAX_BATCH];
	int64		words[LB_MAX_BATCH][2 * LB_MAX_WIDTH + 1];
	const LbPath *path;
	LbIndex		index;
	LbBatch		batch;

	if (board->backlog == 0 || stripe->prefetching ||
		pg_atomic_read_u32(&shared->state) != LB_READY)
		return false;

	/* Copies, since the publications may be gone while the lock is. */
	lb_batch_begin(&batch);
	for (dlist_node *node = lb_backlog_first(board);
		 node != &board->history.head; node = node->next)
	{
		LbPublication *next = dlist_container(LbPublication, node, node);
		LbEntryScan scan;
		const int64 *entry;

		if (batch.n + next->nentries > LB_MAX_BATCH)
			break;
		lb_entry_scan_begin(&scan, next, shared->width);
		while ((entry = lb_entry_scan_next(&scan)) != NULL)
		{
			memcpy(words[batch.n], entry,
				   lb_entry_words(shared->width) * sizeof(int64));
			versions[batch.n] = next->version;
			lb_batch_add(&batch, shared, words[batch.n]);
		}
	}
	if (batch.n == 0)
	{
		/* The first one is too large for that. */
		lb_apply_part_of_backlog(shared, board, false);
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
		return true;
	}
	index = board->index;
	lb_batch_prefetch_hash(&batch, shared, &index);
	stripe->prefetching = true;
	LWLockRelease(&stripe->lock);
	lb_index_prefetch_changes(&lb_shared->arena, &index, batch.keys,
							  batch.nkeys, batch.paths);
	lb_pause("backlog");
	lb_lock_to_write(stripe);

	path = batch.paths;
	for (int i = 0; i < batch.n; i++)
	{
		/*
		 * Whenever the lock was let go of, it may be another board, if a
		 * build has ended.  And somebody who needed the backlog may have
		 * brought it in, but then all of it: nobody else brings in a part
		 * while we are sending.
		 */
		if (i == 0 || versions[i] != versions[i - 1])
		{
			if (!lb_shared_board_is(shared, generation))
				return false;
			board = board_as_of(shared, stripe, hash, applied);
			if (board == NULL)
			{
				stripe->prefetching = false;
				return false;
			}
		}

		lb_batch_apply_one(&batch, shared, board, i, &path);
		board->backlog--;
		if (i + 1 < batch.n && versions[i] == versions[i + 1])
			continue;
		applied = versions[i];
		board->applied = applied;
		board->version++;

		/* All of them take longer than a writer would wait, awake. */
		if (give_way && i + 1 < batch.n &&
			pg_atomic_read_u32(&stripe->nwaiting) > 0)
		{
			LWLockRelease(&stripe->lock);
			lb_yield_to_writers(stripe);
			lb_lock_to_write(stripe);
		}
	}
	stripe->prefetching = false;
	(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
	return true;
}

/* A board of a hash whose backlog is too long, or LB_NONE. */
static LbRef
backlogged_board(LbSharedBoard *shared, LbStripe *stripe, uint32 hash)
{
	LbHashScan	scan;
	LbRef		ref;

	if (!shared->family)
	{
		/* The stripe may have been asked for when this was a family's memory. */
		if (stripe->single == LB_NONE ||
			lb_live_board_at(stripe->single)->backlog <=
			lb_backlog_limit(lb_live_board_at(stripe->single)))
			return LB_NONE;
		return stripe->single;
	}
	for (ref = lb_hash_first(&lb_shared->arena, &stripe->boards, hash, &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		if (lb_live_board_at(ref)->backlog >
			lb_backlog_limit(lb_live_board_at(ref)))
			break;
	}
	return ref;
}

void
lb_apply_requested(LbSharedBoard *shared, LbStripe *stripe)
{
	uint64		generation;
	uint32		hash;

	lb_lock_to_write(stripe);
	generation = shared->generation;
	hash = stripe->requested;

	/* It may be one that somebody has just made, without the stripes' locks. */
	pg_read_barrier();

	/* Not for ever: other boards wait, and who settles asks again. */
	for (int i = 0; i < LB_MAX_DEFERRED / LB_MAX_BATCH; i++)
	{
		LbRef		ref = LB_NONE;

		if (generation != 0 && lb_shared_board_is(shared, generation))
			ref = backlogged_board(shared, stripe, hash);
		if (ref == LB_NONE ||
			!lb_prefetch_and_apply(shared, stripe, lb_live_board_at(ref), true))
			break;
		lb_live_board_release(shared, stripe, ref);
		LWLockRelease(&stripe->lock);
		lb_yield_to_writers(stripe);
		lb_lock_to_write(stripe);
	}
	LWLockRelease(&stripe->lock);
}
