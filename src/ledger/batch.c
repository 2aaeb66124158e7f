/*-------------------------------------------------------------------------
 *
 * batch.c
 *	  Several changes that are applied to an index together.
 *
 * A change that is applied alone waits for memory ten times and more, each
 * time for the place that has the next address.  The changes of a batch wait
 * together: their paths are prefetched level by level, and applied one
 * after the other.  prefetch.c says what that gains.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/state.h"
#include "ledger/batch.h"

/*
 * 0 leaves the prefetching of batches out, to measure its gain: see
 * prefetch.c.
 */
#ifndef LB_PREFETCH
#define LB_PREFETCH 1
#endif

void
lb_live_board_apply(LbSharedBoard *shared, LbLiveBoard *board,
					const int64 *old, const int64 *new, int64 rows,
					const LbPath *old_hint, const LbPath *new_hint)
{
	LbResult	result;
	LbMem		mem;

	if (!lb_is_ready(shared))
		return;

	mem = lb_mem(shared);
	result = lb_apply_change(&mem, &board->index, old, new, rows, old_hint,
							 new_hint);

	/*
	 * The queries answer with what cannot be applied: the table has it.  A
	 * build may give memory back.
	 */
	if (result == LB_NOMEM)
		lb_take_offline(shared, shared->generation, lb_memory_reason(shared),
						lb_any_build());
	else if (result != LB_OK)
	{
		/* Only after a transaction whose changes are unknown, or by a bug. */
		Assert(pg_atomic_read_u32(&shared->nunknown) > 0 ||
			   !lb_is_ready(shared));
		lb_take_offline(shared, shared->generation,
						"the index did not hold what a change was to replace",
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
lb_batch_add(LbBatch *batch, const int64 *entry, int stride)
{
	Assert(batch->n < LB_MAX_BATCH);
	batch->first_key[batch->n] = batch->nkeys;
	batch->flags[batch->n++] = entry[0];
	if (entry[0] & LB_HAS_OLD)
		batch->keys[batch->nkeys++] = entry + 1;
	if (entry[0] & LB_HAS_NEW)
		batch->keys[batch->nkeys++] = entry + 1 + stride;
}

void
lb_batch_prefetch_members(const LbBatch *batch, const LbSharedBoard *shared,
						  const LbIndex *index)
{
#if LB_PREFETCH
	for (int i = 0; i < batch->n; i++)
		lb_index_prefetch_hash(&lb_shared->arena, index,
							   lb_key_member(&shared->shape,
											 batch->keys[batch->first_key[i]]));
#endif
}

void
lb_batch_prefetch_keys(LbBatch *batch, const LbIndex *index)
{
#if LB_PREFETCH
	lb_index_prefetch_changes(&lb_shared->arena, index, batch->keys,
							  batch->nkeys, batch->paths);
#else
	memset(batch->paths, 0, batch->nkeys * sizeof(LbPath));
#endif
}

void
lb_batch_apply_one(const LbBatch *batch, int i, LbSharedBoard *shared,
				   LbLiveBoard *board)
{
	const int64 *const *keys = batch->keys + batch->first_key[i];
	const LbPath *hints = batch->paths + batch->first_key[i];
	const int64 *old = (batch->flags[i] & LB_HAS_OLD) ? *keys++ : NULL;
	const int64 *new = (batch->flags[i] & LB_HAS_NEW) ? *keys : NULL;

	/* Hints are for both keys; with one key, they are not looked at. */
	lb_live_board_apply(shared, board, old, new,
						batch->flags[i] >> LB_ROWS_SHIFT, hints, hints + 1);
}

void
lb_batch_apply(LbBatch *batch, LbSharedBoard *shared, LbLiveBoard *board)
{
	if (lb_is_ready(shared))
	{
		lb_batch_prefetch_members(batch, shared, &board->index);
		lb_batch_prefetch_keys(batch, &board->index);
		for (int i = 0; i < batch->n; i++)
			lb_batch_apply_one(batch, i, shared, board);
	}
	lb_batch_begin(batch);
}
