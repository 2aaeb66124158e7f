/*-------------------------------------------------------------------------
 *
 * batch.h
 *	  Several changes that are applied to an index together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BATCH_H
#define LB_BATCH_H

#include "boards/shared.h"
#include "ledger/overlay.h"

/* Entries that are applied together, which have two keys at most. */
#define LB_MAX_BATCH (LB_PREFETCH_KEYS / 2)

/*
 * Entries as their keys (of each entry the old one before the new one), and
 * the paths on which the prefetch has found these keys.
 */
typedef struct LbBatch
{
	int			n;
	int			nkeys;
	int64		flags[LB_MAX_BATCH];	/* of each entry, with its rows */
	int			first_key[LB_MAX_BATCH];	/* likewise */
	const int64 *keys[LB_PREFETCH_KEYS];
	LbPath		paths[LB_PREFETCH_KEYS];
} LbBatch;

/*
 * Apply a change to an index: remove the old key, insert the new one; the one
 * that is NULL is not there.  rows is that of the entry.  LB_EXISTS or
 * LB_NOTFOUND: the index does not hold what the change was to replace.  The
 * hints, or NULL, are for a change that has both keys; else they are not
 * looked at.  With counts, the first is that of the only key.  Never raises.
 */
static inline LbResult
lb_apply_change(const LbMem *mem, LbIndex *index, const int64 *old,
				const int64 *new, int64 rows, const LbPath *old_hint,
				const LbPath *new_hint)
{
	if (unlikely(index->shape.counts))
		return old != NULL ? lb_index_add(mem, index, old, -rows, old_hint) :
			lb_index_add(mem, index, new, rows, old_hint);
	if (old != NULL && new != NULL)
		return lb_index_replace(mem, index, old, new, old_hint, new_hint);
	if (old != NULL)
		return lb_index_remove(mem, index, old);
	return lb_index_insert(mem, index, new);
}

/*
 * Apply a change to the index of a live board.  If the change cannot be
 * applied, the definition goes offline.  Needs the stripe's exclusive lock.
 * Never raises.
 */
extern void lb_live_board_apply(LbSharedBoard *shared, LbLiveBoard *board,
								const int64 *old, const int64 *new,
								int64 rows, const LbPath *old_hint,
								const LbPath *new_hint);

/* Make a batch empty. */
extern void lb_batch_begin(LbBatch *batch);

/*
 * Add an entry, for which there is room.  It must live as long as the batch.
 */
extern void lb_batch_add(LbBatch *batch, const int64 *entry, int stride);

/*
 * Prefetch what looking up the members in the hash reads first.  Needs the
 * stripe's lock.
 */
extern void lb_batch_prefetch_members(const LbBatch *batch,
									  const LbSharedBoard *shared,
									  const LbIndex *index);

/*
 * Prefetch the paths to the keys.  Needs no lock if index is a copy that was
 * made under it.
 */
extern void lb_batch_prefetch_keys(LbBatch *batch, const LbIndex *index);

/*
 * Apply entry i of a batch whose keys have been prefetched.  Needs the
 * stripe's exclusive lock.
 */
extern void lb_batch_apply_one(const LbBatch *batch, int i,
							   LbSharedBoard *shared, LbLiveBoard *board);

/*
 * Prefetch and apply all of a batch, and make it empty.  Needs the stripe's
 * exclusive lock.
 */
extern void lb_batch_apply(LbBatch *batch, LbSharedBoard *shared,
						   LbLiveBoard *board);

#endif							/* LB_BATCH_H */
