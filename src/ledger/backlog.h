/*-------------------------------------------------------------------------
 *
 * backlog.h
 *	  What has settled and is not in the index yet.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BACKLOG_H
#define LB_BACKLOG_H

#include "boards/shared.h"
#include "ledger/publication.h"
#include "ledger/snapshot.h"

/*
 * The backlog of a large index may have LB_MAX_BACKLOG entries: applied
 * together, they share their waits for memory.  For a small index, the limit
 * is one entry per LB_BACKLOG_MEMBERS members.
 */
#define LB_MAX_BACKLOG 16
#define LB_BACKLOG_MEMBERS 16

/*
 * Beyond this number of entries a settle does not defer the backlog to the
 * applier: a reader would apply all of it at one hold of the lock.
 */
#define LB_MAX_DEFERRED 1024

/* The length beyond which a board's backlog is too long, in entries. */
static inline uint32
lb_backlog_limit(const LbLiveBoard *board)
{
	return Min(LB_MAX_BACKLOG, board->index.members / LB_BACKLOG_MEMBERS);
}

/*
 * What a publication adds to a backlog.  One without entries, only of rows off
 * the board, counts too: else a history could grow without limit behind a
 * short backlog.
 */
static inline uint32
lb_backlog_entries(const LbPublication *pub)
{
	return Max(pub->nentries, 1);
}

/*
 * The oldest publication of a backlog, which is not empty.  Needs the stripe's
 * lock.
 */
extern dlist_node *lb_backlog_first(LbLiveBoard *board);

/*
 * Apply a backlog, or the oldest publication of one that is not empty.  Needs
 * the stripe's exclusive lock; never raises.
 */
extern void lb_apply_backlog(LbSharedBoard *shared, LbLiveBoard *board);
extern void lb_apply_oldest(LbSharedBoard *shared, LbLiveBoard *board);

/*
 * Whether a snapshot sees something of a backlog.  Needs the stripe's lock,
 * shared.
 */
extern bool lb_sees_backlog(const LbLiveBoard *board,
							const LbSnapshot *snapshot);

/*
 * Whether settles may defer a board's backlog to the applier.  What waits for
 * the applier cannot leave the history, so they may not while histories are
 * full.
 */
extern bool lb_may_defer(const LbLiveBoard *board);

/*
 * Defer a backlog that has become too long to the applier.  Sets *wake if the
 * caller has to wake the applier.  Returns false if the caller has to apply
 * the backlog.  Needs the stripe's exclusive lock.
 */
extern bool lb_defer_to_applier(LbSharedBoard *shared, LbStripe *stripe,
								const LbLiveBoard *board, bool *wake);

#endif							/* LB_BACKLOG_H */
