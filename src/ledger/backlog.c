/*-------------------------------------------------------------------------
 *
 * backlog.c
 *	  What has settled and is not in the index yet.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ledger/backlog.h"
#include "ledger/batch.h"
#include "ledger/publication.h"
#include "ledger/request.h"


/*
 * Entries at which the applier is asked, since waking it takes as long as
 * bringing in some.  A reader that comes first has to bring in what is there.
 * Tests have it asked sooner, and of smaller boards.
 */
#ifndef LB_REQUEST_BACKLOG
#define LB_REQUEST_BACKLOG 64
#endif

/* The oldest publication of the backlog, which is not empty. */
dlist_node *
lb_backlog_first(LbLiveBoard *board)
{
	dlist_node *node = dlist_tail_node(&board->history);

	while (dlist_has_prev(&board->history, node) &&
		   dlist_container(LbPublication, node, node->prev)->version >
		   board->applied)
		node = node->prev;
	return node;
}

/* Bring in a backlog, all of it or its first publication. */
void
lb_apply_part_of_backlog(LbSharedBoard *shared, LbLiveBoard *board, bool all)
{
	LbBatch		batch;

	if (board->backlog == 0)
		return;
	lb_batch_begin(&batch);
	for (dlist_node *node = lb_backlog_first(board);
		 node != &board->history.head; node = node->next)
	{
		LbPublication *pub = dlist_container(LbPublication, node, node);
		LbEntryScan scan;
		const int64 *entry;

		lb_entry_scan_begin(&scan, pub, shared->width);
		while ((entry = lb_entry_scan_next(&scan)) != NULL)
		{
			lb_batch_add(&batch, shared, entry);
			if (batch.n == LB_MAX_BATCH)
				lb_batch_apply(&batch, shared, board);
		}
		if (!all)
		{
			board->applied = pub->version;
			board->backlog -= pub->nentries;
			break;
		}
	}
	lb_batch_apply(&batch, shared, board);
	board->version++;
	if (all)
	{
		board->applied = board->version;
		board->backlog = 0;
	}
}

void
lb_apply_backlog(LbSharedBoard *shared, LbLiveBoard *board)
{
	lb_apply_part_of_backlog(shared, board, true);
}

bool
lb_sees_backlog(const LbLiveBoard *board, const LbSnapshot *snapshot)
{
	dlist_iter	iter;

	if (board->backlog == 0)
		return false;
	dlist_reverse_foreach(iter, &((LbLiveBoard *) board)->history)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (pub->version <= board->applied)
			break;
		if (lb_had_ended(snapshot, pub->xid))
			return true;
	}
	return false;
}

/*
 * Whether what settles on a board is for the applier.  What waits for it cannot
 * leave the history, so not if that is too long.
 */
bool
lb_may_defer(const LbLiveBoard *board)
{
	return lb_applier_is_running() &&
		board->index.members >= LB_REQUEST_BACKLOG * LB_BACKLOG_MEMBERS &&
		!lb_histories_full();
}

/*
 * Leave a backlog that has become too long to the applier.  Sets *wake if that is
 * to be woken.  Returns false if who settles is to bring it in.  The stripe's lock
 * is held exclusively.
 */
bool
lb_defer_to_applier(LbSharedBoard *shared, LbStripe *stripe,
					const LbLiveBoard *board, bool *wake)
{
	int			n = stripe - shared->stripes;

	if (!lb_may_defer(board))
		return false;
	if (!lb_applier_requested(shared, n))
	{
		if (board->backlog <= LB_REQUEST_BACKLOG)
			return true;
		stripe->requested = board->hash;
		*wake = lb_request_applier(shared, n);
	}

	/* It may be asked for another board of the stripe, or be slow. */
	return stripe->requested == board->hash && board->backlog <= LB_MAX_DEFERRED;
}
