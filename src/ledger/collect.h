/*-------------------------------------------------------------------------
 *
 * collect.h
 *	  What a snapshot wants differently from an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COLLECT_H
#define LB_COLLECT_H

#include "boards/shared.h"
#include "ledger/outcome.h"
#include "ledger/publication.h"
#include "ledger/snapshot.h"

/*
 * Publications that are looked at under one hold of the lock: each can be a
 * cache miss.
 */
#define LB_MAX_LOOKS 4096

typedef enum LbCollect
{
	LB_COLLECTED,
	LB_COLLECT_ROOM,			/* *room is how much room is needed */
	LB_COLLECT_MORE,			/* a part; the rest in further slices */
	LB_COLLECT_MANY,			/* more than the limit */
	LB_COLLECT_AGAIN,			/* there is something to do without the lock */
	LB_COLLECT_OUTCOME,			/* look up what outcomes wants and come again */
	LB_COLLECT_WAIT,			/* a large transaction is being settled */
	LB_COLLECT_BACKLOG,			/* lb_apply_backlog() saves corrections */
	LB_COLLECT_TOO_OLD			/* the history does not reach back so far */
} LbCollect;

/* Room for changes: how many, and the stride that they need. */
typedef struct LbChangesRoom
{
	int			n;
	int			stride;
} LbChangesRoom;

/* Transactions that a snapshot does not see. */
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

/* What to collect, and where to. */
typedef struct LbCollectArgs
{
	const LbSnapshot *snapshot;
	LbOutcomes *outcomes;		/* of transactions, as far as looked up */
	LbChanges  *changes;		/* gets the changes; empty at first */
	LbChangesRoom *room;		/* set to what they need, with LB_COLLECT_ROOM */
	LbUnseen   *unseen;			/* gets the xids that the snapshot does not
								 * see, for serializable transactions; or NULL */

	/* More changes than this are of no use: LB_COLLECT_MANY. */
	int			limit;

	/*
	 * If not 0, board->applied as it was when the same snapshot was collected
	 * for before, with *pending false: collect only what has got into the
	 * index after that.
	 */
	uint64		since;

	/*
	 * If not NULL, what does not fit into changes, or would keep the lock for
	 * long, is left for lb_collect_more(): LB_COLLECT_MORE.
	 */
	LbSlice    *slice;

	/* Set to whether the changes have something that is not in the index. */
	bool	   *pending;
} LbCollectArgs;

/*
 * Gather what makes the index of board differ from what the snapshot sees,
 * other than the caller's own changes: transactions that the snapshot sees and
 * that are not in the index, and those in the index that it does not see.
 * board is NULL if it does not live.  Needs the stripe's lock, shared.
 */
extern LbCollect lb_collect(const LbStripe *stripe, const LbLiveBoard *board,
							const LbCollectArgs *args);

/*
 * Continue with what is left of slice, under a later hold of the lock.  The
 * board must be the same one, and the snapshot above its floor.  This does not
 * gather what got into the index after the first slice.  Returns
 * LB_COLLECT_MORE, LB_COLLECTED, LB_COLLECT_ROOM, or LB_COLLECT_TOO_OLD if the
 * place to continue at has left the history.  Needs the stripe's lock, shared.
 */
extern LbCollect lb_collect_more(const LbLiveBoard *board,
								 const LbSnapshot *snapshot,
								 LbChanges *changes, LbSlice *slice,
								 LbChangesRoom *room);

/*
 * Gather all that has got into the index after since, a former board->applied,
 * whether a snapshot sees it or not.  Returns false if the history does not
 * have all of it, or if there is no room.  Needs the stripe's lock, shared.
 */
extern bool lb_collect_applied(const LbLiveBoard *board, uint64 since,
							   LbChanges *changes);

#endif							/* LB_COLLECT_H */
