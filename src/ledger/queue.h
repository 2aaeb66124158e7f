/*-------------------------------------------------------------------------
 *
 * queue.h
 *	  Settled entries, kept for a build that is running.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_QUEUE_H
#define LB_QUEUE_H

#include "access/transam.h"

#include "boards/shared.h"

/*
 * A page of a live board's queue, which install.c walks through and empties.  It
 * holds records of an xid and an entry.
 */
typedef struct LbQueuePage
{
	LbRef		next;
	uint32		used;			/* words */
	int64		words[(LB_PAGE_SIZE - 8) / sizeof(int64)];
} LbQueuePage;

/*
 * Append a settled entry to the board's queue.  If there is no memory for it,
 * the build starts over (LbSharedBoard.queue_lost).  Needs the stripe's
 * exclusive lock.
 */
extern void lb_queue_entry(LbSharedBoard *shared, LbLiveBoard *board,
						   FullTransactionId xid, const int64 *entry);

#endif							/* LB_QUEUE_H */
