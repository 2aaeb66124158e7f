/*-------------------------------------------------------------------------
 *
 * collect.h
 *	  What a snapshot sees of the ledger.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COLLECT_H
#define LB_COLLECT_H

#include "boards/shared.h"
#include "ledger/outcome.h"
#include "ledger/publication.h"
#include "ledger/snapshot.h"

typedef enum LbCollect
{
	LB_COLLECTED,
	LB_COLLECT_ROOM,			/* changes->n is how much room is needed */
	LB_COLLECT_MORE,			/* so far; the rest in further slices */
	LB_COLLECT_MANY,			/* more than the limit: not to be had like
								 * this */
	LB_COLLECT_AGAIN,			/* there is something to do without the lock */
	LB_COLLECT_OUTCOME,			/* look up outcomes->unknown and come again */
	LB_COLLECT_WAIT,			/* a large transaction is being settled */
	LB_COLLECT_BACKLOG,			/* lb_apply_backlog() saves corrections */
	LB_COLLECT_TOO_OLD			/* the history does not reach back so far */
} LbCollect;

typedef struct LbUnseen
{
	int			n;
	int			max;			/* when n passes it, there was no room */
	TransactionId *xids;
} LbUnseen;

/* How far lb_collect() has come with a history, from the newest on. */
typedef struct LbSlice
{
	const LbPublication *next;	/* the newest that is still to be looked at */
	uint64		next_xid;		/* its next_xid */
} LbSlice;

/*
 * Gather what makes the index of board (NULL: it does not live) differ from
 * what snapshot sees, other than the caller's own changes: transactions that
 * it sees and that are not in the index, and those in the index that it does
 * not see.
 * unseen, if not NULL, gets the xids that the snapshot does not see (for
 * serializable transactions).
 *
 * limit is the most changes that are of use: with more of them the result is
 * LB_COLLECT_MANY.  With slice, whatever does not fit into changes, or would
 * keep the lock for long, is left for lb_collect_more(), and the result is
 * LB_COLLECT_MORE.
 *
 * since, if not 0, is board->applied as it was when the same snapshot was
 * collected for before, with *pending false: then changes gets only what has
 * got into the index after that.  *pending says whether there is something in
 * it that is not in the index yet.  Needs the stripe's lock, shared.
 */
extern LbCollect lb_collect(const LbSharedBoard *shared,
							const LbStripe *stripe, const LbLiveBoard *board,
							const LbSnapshot *snapshot, LbOutcomes *outcomes,
							LbChanges *changes, LbUnseen *unseen, uint64 since,
							int limit, LbSlice *slice, bool *pending);

/*
 * Go on with what is left of slice, under a later hold of the lock.  The board
 * must be the same one, and the snapshot above its floor.  What got into the
 * index after the first slice is not among it.  Returns LB_COLLECT_MORE,
 * LB_COLLECTED, LB_COLLECT_ROOM, or LB_COLLECT_TOO_OLD if the place to go on from
 * has left the history.
 */
extern LbCollect lb_collect_more(const LbLiveBoard *board,
								 const LbSnapshot *snapshot,
								 LbChanges *changes, LbSlice *slice);

/*
 * Gather all that has got into the index after since, a former board->applied,
 * whoever sees it.  Returns false if the history does not have all of it, or if
 * there is no room.  Needs the stripe's lock, shared.
 */
extern bool lb_collect_applied(const LbLiveBoard *board, uint64 since,
							   LbChanges *changes);

#endif							/* LB_COLLECT_H */
