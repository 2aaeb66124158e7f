/*-------------------------------------------------------------------------
 *
 * batch.c
 *	  Several changes that get into an index together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/state.h"
#include "ledger/batch.h"
#include "ledger/publication.h"

/*
 * Bring one change into the index.  The stripe's lock is held exclusively.  The
 * hints are where the ways to its two keys may lead, or NULL.
 */
void
lb_live_board_apply(LbSharedBoard *shared, LbLiveBoard *board, const int64 *entry,
					const LbPath *old_hint, const LbPath *new_hint)
{
	LbResult	result;
	LbMem		mem;

	if (pg_atomic_read_u32(&shared->state) != LB_READY)
		return;

	mem = lb_mem(shared);
	result = lb_apply_entry(&mem, &board->index, entry, old_hint, new_hint);

	/*
	 * What could not be applied is in the table all the same: the queries
	 * have it.
	 */
	if (result == LB_NOMEM)
		lb_shared_board_offline(shared, lb_memory_reason(shared), false);
	else if (result != LB_OK)
	{
		/* Before us came somebody whose changes are unknown, if all is well. */
		Assert(LB_PLANT_BUG != 0 ||
			   pg_atomic_read_u32(&shared->nunknown) > 0 ||
			   pg_atomic_read_u32(&shared->state) != LB_READY);
		lb_shared_board_offline(shared, "the index did not hold what a change was to replace",
								true);
	}
}

void
lb_batch_begin(LbBatch *batch)
{
	batch->n = 0;
	batch->nkeys = 0;
}

void
lb_batch_add(LbBatch *batch, const LbSharedBoard *shared, const int64 *entry)
{
	Assert(batch->n < LB_MAX_BATCH);
	batch->entries[batch->n++] = entry;
	if (entry[0] & LB_HAS_OLD)
		batch->keys[batch->nkeys++] = entry + 1;
	if (entry[0] & LB_HAS_NEW)
		batch->keys[batch->nkeys++] = entry + 1 + shared->width;
}

/* Send for what their members' look-ups need.  Needs the stripe's lock. */
void
lb_batch_prefetch_hash(const LbBatch *batch, const LbSharedBoard *shared,
					   const LbIndex *index)
{
	for (int i = 0; i < batch->n; i++)
		lb_index_prefetch_hash(&lb_shared->arena, index,
							   lb_entry_member(batch->entries[i],
											   shared->width,
											   shared->member_words));
}

/*
 * Entry i of a batch gets into the index.  *path is where the ways begin that
 * were found for it and those after it.
 */
void
lb_batch_apply_one(const LbBatch *batch, LbSharedBoard *shared, LbLiveBoard *board,
				   int i, const LbPath **path)
{
	const int64 *entry = batch->entries[i];
	const LbPath *first = *path;

	/* From the first to the last: the same where there is one key. */
	*path += ((entry[0] & LB_HAS_OLD) != 0) + ((entry[0] & LB_HAS_NEW) != 0);
	lb_live_board_apply(shared, board, entry, first, *path - 1);
}

/* All of it, under the lock, which is held exclusively. */
void
lb_batch_apply(LbBatch *batch, LbSharedBoard *shared, LbLiveBoard *board)
{
	const LbPath *path = batch->paths;

	if (pg_atomic_read_u32(&shared->state) == LB_READY)
	{
		lb_batch_prefetch_hash(batch, shared, &board->index);
		lb_index_prefetch_changes(&lb_shared->arena, &board->index,
								  batch->keys, batch->nkeys, batch->paths);
		for (int i = 0; i < batch->n; i++)
			lb_batch_apply_one(batch, shared, board, i, &path);
	}
	lb_batch_begin(batch);
}
