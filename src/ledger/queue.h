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
 * A page of a live board's queue, which install.c walks through and empties.
 * It holds records: a word with the xid and with the flags of an entry, which
 * say which keys follow, the old one first.  The keys have no zeros behind
 * them.  With counts, the number of rows is before the key.  Without flags, a
 * number of rows off the board follows.
 */
typedef struct LbQueuePage
{
	LbRef		next;
	uint32		used;			/* words */
	int64		words[(LB_PAGE_SIZE - 8) / sizeof(int64)];
} LbQueuePage;

StaticAssertDecl(1 + 2 * LB_MAX_KEY_WORDS <= (LB_PAGE_SIZE - 8) / sizeof(int64),
				 "the longest record fits a page");

/*
 * Append a settled change to the board's queue: an old key, a new key, or
 * both; the other is NULL.  rows is that of the entry.  If there is no memory
 * for it, the build starts over (LbSharedBoard.queue_lost).  Needs the
 * stripe's exclusive lock.
 */
extern void lb_queue_change(LbSharedBoard *shared, LbLiveBoard *board,
							FullTransactionId xid, const int64 *old,
							const int64 *new, int64 rows);

/*
 * Append a change of the number of rows off the board, likewise.
 */
extern void lb_queue_off_board(LbSharedBoard *shared, LbLiveBoard *board,
							   FullTransactionId xid, int64 rows);

/* A record of a queue: a change, or rows off the board. */
typedef struct LbQueueRecord
{
	FullTransactionId xid;
	int64		off_board;		/* 0: a change */
	const int64 *old;			/* NULL: there is none */
	const int64 *new;			/* likewise */
	int64		rows;			/* with counts: that have the key; else 0 */
} LbQueueRecord;

/* The record at a place of a page; returns the place of the next one. */
extern uint32 lb_queue_record(const LbShape *shape, const LbQueuePage *page,
							  uint32 at, LbQueueRecord *record);

#endif							/* LB_QUEUE_H */
