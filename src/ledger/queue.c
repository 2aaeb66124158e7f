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

void
lb_queue_entry(LbSharedBoard *shared, LbLiveBoard *board,
			   FullTransactionId xid, const int64 *entry)
{
	LbMem		mem = lb_mem(shared);
	uint32		stride = lb_entry_words(shared->shape.width);
	LbQueuePage *page = NULL;

	if (board->queue_last != LB_NONE)
		page = (LbQueuePage *) lb_ptr(mem.arena, board->queue_last);
	if (page == NULL || page->used + stride + 1 > lengthof(page->words))
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
	page->words[page->used++] = (int64) U64FromFullTransactionId(xid);
	memcpy(&page->words[page->used], entry, stride * sizeof(int64));
	page->used += stride;
}
