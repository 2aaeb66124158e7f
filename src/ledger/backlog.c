/*-------------------------------------------------------------------------
 *
 * backlog.c
 *	  What has settled and is not in the index yet.
 *
 * A settled publication is history at once, but its changes may get into the
 * index later: the last publications of a board's history are its backlog
 * (LbLiveBoard.applied, LbLiveBoard.backlog).  They are applied in the order
 * of the history.
 *
 * The functions here apply a backlog under the stripe's lock, all of it or its
 * oldest publication.  prefetch.c applies a part, most of the time without the
 * lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/startup.h"

#include "ledger/backlog.h"
#include "ledger/batch.h"
#include "ledger/publication.h"
#include "ledger/request.h"

/*
 * The length of a backlog, in entries, at which a settle requests the applier.
 * Waking the applier takes as long as applying some entries.  A reader that
 * comes first has to apply what is there.  Tests have it requested sooner, and
 * for smaller boards.
 */
#ifndef LB_REQUEST_BACKLOG
#define LB_REQUEST_BACKLOG 64
#endif

/*
 * The same in redo.  To wake the applier takes a signal, which costs redo more
 * than anything else does here; and a read that needs the changes applies
 * them.
 */
#define REDO_REQUEST_BACKLOG 512

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

/*
 * Add a publication's entries to a batch, which is applied whenever it is
 * full.
 */
static void
add_to_batch(LbBatch *batch, LbSharedBoard *shared, LbLiveBoard *board,
			 const LbPublication *pub)
{
	LbEntryScan scan;
	const int64 *entry;

	lb_entry_scan_begin(&scan, pub);
	while ((entry = lb_entry_scan_next(&scan)) != NULL)
	{
		lb_batch_add(batch, entry, scan.stride);
		if (batch->n == LB_MAX_BATCH)
			lb_batch_apply(batch, shared, board);
	}
}

void
lb_apply_backlog(LbSharedBoard *shared, LbLiveBoard *board)
{
	LbBatch		batch;

	if (board->backlog == 0)
		return;
	lb_batch_begin(&batch);
	for (dlist_node *node = lb_backlog_first(board);
		 node != &board->history.head; node = node->next)
		add_to_batch(&batch, shared, board,
					 dlist_container(LbPublication, node, node));
	lb_batch_apply(&batch, shared, board);
	board->version++;
	board->applied = board->version;
	board->backlog = 0;
}

void
lb_apply_oldest(LbSharedBoard *shared, LbLiveBoard *board)
{
	LbPublication *pub = dlist_container(LbPublication, node,
										 lb_backlog_first(board));
	LbBatch		batch;

	lb_batch_begin(&batch);
	add_to_batch(&batch, shared, board, pub);
	lb_batch_apply(&batch, shared, board);
	board->version++;
	board->applied = pub->version;
	board->backlog -= lb_backlog_entries(pub);
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

bool
lb_may_defer(const LbLiveBoard *board)
{
	return lb_applier_is_running() &&
		board->index.members >= LB_REQUEST_BACKLOG * LB_BACKLOG_MEMBERS &&
		!lb_histories_full();
}

bool
lb_defer_to_applier(LbSharedBoard *shared, LbStripe *stripe,
					const LbLiveBoard *board, bool *wake)
{
	int			n = stripe - shared->stripes;

	if (!lb_may_defer(board))
		return false;
	if (!lb_applier_requested(shared, n))
	{
		if (board->backlog <= (uint32) (AmStartupProcess() ?
										REDO_REQUEST_BACKLOG :
										LB_REQUEST_BACKLOG))
			return true;
		stripe->requested = board->hash;
		*wake = lb_request_applier(shared, n);
	}

	/*
	 * The applier may be requested for another board of the stripe, or be
	 * slow.
	 */
	return stripe->requested == board->hash &&
		board->backlog <= LB_MAX_DEFERRED;
}
