/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  Settled entries, kept for a build that is running.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/live.h"
#include "ledger/overlay.h"
#include "ledger/queue.h"

/* A record's first word has the flags of an entry below the xid. */
#define FLAG_BITS 2

/* A board gets a queue: its stripe has it among those that have one. */
static void
begin_queue(LbSharedBoard *shared, LbLiveBoard *board, LbRef page)
{
	LbStripe   *stripe = &shared->stripes[lb_value_stripe(shared->family,
														  board->hash)];

	board->queue_first = page;
	board->next_queued = stripe->queued;
	stripe->queued = lb_live_board_ref(board);
}

/*
 * Room for a record of this length, in words, at the end of the board's queue.
 * If there is no memory, the build starts over, and this returns NULL.
 */
static int64 *
add_record(LbSharedBoard *shared, LbLiveBoard *board, uint32 words)
{
	LbMem		mem = lb_mem(shared);
	LbQueuePage *page = NULL;

	if (board->queue_last != LB_NONE)
		page = (LbQueuePage *) lb_ptr(mem.arena, board->queue_last);
	if (page == NULL || page->used + words > lengthof(page->words))
	{
		LbRef		ref = lb_alloc(&mem, LB_MAX_ORDER);

		if (ref == LB_NONE)
		{
			pg_atomic_write_u32(&shared->queue_lost, 1);
			return NULL;
		}
		if (page == NULL)
			begin_queue(shared, board, ref);
		else
			page->next = ref;
		board->queue_last = ref;
		page = (LbQueuePage *) lb_ptr(mem.arena, ref);
		page->next = LB_NONE;
		page->used = 0;
	}
	page->used += words;
	return &page->words[page->used - words];
}

void
lb_queue_change(LbSharedBoard *shared, LbLiveBoard *board,
				FullTransactionId xid, const int64 *old, const int64 *new,
				int64 rows)
{
	uint32		oldwords = old == NULL ? 0 : lb_key_words(&shared->shape, old);
	uint32		newwords = new == NULL ? 0 : lb_key_words(&shared->shape, new);
	uint32		more = shared->shape.counts ? 1 : 0;
	int64	   *at = add_record(shared, board, 1 + more + oldwords + newwords);

	if (at == NULL)
		return;
	*at++ = (int64) (U64FromFullTransactionId(xid) << FLAG_BITS) |
		(old != NULL ? LB_HAS_OLD : 0) | (new != NULL ? LB_HAS_NEW : 0);
	if (more > 0)
		*at++ = rows;
	if (old != NULL)
		memcpy(at, old, oldwords * sizeof(int64));
	if (new != NULL)
		memcpy(at + oldwords, new, newwords * sizeof(int64));
}

void
lb_queue_off_board(LbSharedBoard *shared, LbLiveBoard *board,
				   FullTransactionId xid, int64 rows)
{
	int64	   *at = add_record(shared, board, 2);

	if (at == NULL)
		return;
	at[0] = (int64) (U64FromFullTransactionId(xid) << FLAG_BITS);
	at[1] = rows;
}

uint32
lb_queue_record(const LbShape *shape, const LbQueuePage *page, uint32 at,
				LbQueueRecord *record)
{
	int64		head = page->words[at++];

	record->xid = FullTransactionIdFromU64((uint64) head >> FLAG_BITS);
	record->old = record->new = NULL;
	record->off_board = record->rows = 0;
	if ((head & (LB_HAS_OLD | LB_HAS_NEW)) == 0)
		record->off_board = page->words[at++];
	else if (shape->counts)
		record->rows = page->words[at++];
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
