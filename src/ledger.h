/*-------------------------------------------------------------------------
 *
 * ledger.h
 *	  Changes that are published and not yet settled.
 *
 * A publication is what one transaction changes on one board.  It is made
 * before the commit record is written and hangs on the board until it is
 * settled (its transaction has committed) or dropped (it has not).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LEDGER_H
#define LB_LEDGER_H

#include "access/transam.h"

#include "board.h"

/*
 * A transaction with more changes of a board than this keeps them in its own
 * memory and settles them in slices.
 */
#define LB_LARGE 4096

typedef struct LbPublication
{
	dlist_node	node;			/* in LbBoard.pending */
	FullTransactionId xid;		/* top-level */
	LbDef	   *def;
	uint64		generation;		/* of def */
	LbRef		self;			/* the chunk it is in */
	LbRef		board;
	LbRef		pages;			/* chain of the entries that do not fit here */
	int			stripe;
	bool		done;			/* settled by somebody, or its board is gone */
	bool		settling;		/* a large one, between its slices */
	uint32		nentries;
	const int64 *large;			/* owner's memory, not to be followed by others */
	int64		entries[FLEXIBLE_ARRAY_MEMBER];
} LbPublication;

/*
 * Publish entries, net and in order of their members, of the transaction xid
 * on the board of value.  Called at PRE_COMMIT; settles what earlier
 * transactions have published of the same members and not settled yet.
 * entries must live until the transaction's callbacks have run.  Returns NULL
 * if memory is used up.  Raises only if the wait for a large transaction's
 * settling is interrupted.  Takes the stripe's lock.
 */
extern LbPublication *lb_publish(LbDef *def, uint64 generation,
								 const LbValue *value, uint32 hash,
								 FullTransactionId xid,
								 const int64 *entries, uint32 nentries);

/*
 * The owner's transaction has committed: bring its changes into the index, if
 * nobody has yet, and give the publication back.  Never raises or allocates
 * process-local memory.
 */
extern void lb_settle(LbPublication *pub);

/* The owner's transaction has aborted. */
extern void lb_drop(LbPublication *pub);

/*
 * Walk through what a build's queue has kept since it was last emptied: see
 * build.c.  A record is the xid, the number of entries, and the entries.
 */
typedef struct LbQueuePage
{
	LbRef		next;
	uint32		used;			/* words */
	int64		words[(LB_PAGE_SIZE - 8) / sizeof(int64)];
} LbQueuePage;

#endif							/* LB_LEDGER_H */
