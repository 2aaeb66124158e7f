/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  Settled entries, kept for a build that is running.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ledger/overlay.h"
#include "ledger/queue.h"

/* A record's first word has the flags of an entry below the xid. */
#define FLAG_BITS 2

void
lb_queue_change(LbSharedBoard *shared, LbLiveBoard *board,
				FullTransactionId xid, const int64 *old, const int64 *new)
{
	LbMem		mem = lb_mem(shared);
	uint32		oldwords = old == NULL ? 0 : lb_key_words(&shared->shape, old);
	uint32		newwords = new == NULL ? 0 : lb_key_words(&shared->shape, new);
	LbQueuePage *page = NULL;
	int64	   *at;

	if (board->queue_last != LB_NONE)
		page = (LbQueuePage *) lb_ptr(mem.arena, board->queue_last);
	if (page == NULL ||
		page->used + 1 + oldwords + newwords > lengthof(page->words))
	{
		LbRef		ref = lb_alloc(&mem, LB_MAX_ORDER);

		if (ref == LB_NONE)
		{
			pg_atomic_write_u32(&shared->queue_lost, 1);
			return;
		}
		if (page == NULL)
			board->queue_first = ref;
		else
			page->next = ref;
		board->queue_last = ref;
		page = (LbQueuePage *) lb_ptr(mem.arena, ref);
		page->next = LB_NONE;
		page->used = 0;
	}
	at = &page->words[page->used];
	at[0] = (int64) (U64FromFullTransactionId(xid) << FLAG_BITS) |
		(old != NULL ? LB_HAS_OLD : 0) | (new != NULL ? LB_HAS_NEW : 0);
	if (old != NULL)
		memcpy(at + 1, old, oldwords * sizeof(int64));
	if (new != NULL)
		memcpy(at + 1 + oldwords, new, newwords * sizeof(int64));
	page->used += 1 + oldwords + newwords;
}

uint32
lb_queue_record(const LbShape *shape, const LbQueuePage *page, uint32 at,
				LbQueueRecord *record)
{
	int64		head = page->words[at++];

	record->xid = FullTransactionIdFromU64((uint64) head >> FLAG_BITS);
	record->old = record->new = NULL;
	if (head & LB_HAS_OLD)
	{
		record->old = &page->words[at];
		at += lb_key_words(shape, record->old);
	}
	if (head & LB_HAS_NEW)
	{
		record->new = &page->words[at];
		at += lb_key_words(shape, record->new);
	}
	return at;
}
