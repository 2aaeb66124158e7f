/*-------------------------------------------------------------------------
 *
 * collect.c
 *	  What a snapshot sees of the ledger.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"

#include "ledger/collect.h"

/*
 * Publications that are looked at under one hold of the lock: each can be a
 * cache miss.
 */
#define MAX_LOOKS 4096

/* Add a publication's changes, or take them back. */
static void
add_publication(const LbPublication *pub, bool undo, int *need,
				LbChanges *changes)
{
	LbEntryScan scan;
	const int64 *entry;

	/* No sum of theirs goes beyond what an int holds. */
	if (pub->nentries > (uint32) (INT_MAX - *need))
		*need = INT_MAX;
	else
		*need += pub->nentries;
	if (*need > changes->max)
		return;
	lb_entry_scan_begin(&scan, pub, changes->width);
	while ((entry = lb_entry_scan_next(&scan)) != NULL)
		lb_add_change(changes, entry, undo);
}

static void
add_unseen(LbUnseen *unseen, FullTransactionId xid)
{
	if (unseen == NULL)
		return;
	if (unseen->n < unseen->max)
		unseen->xids[unseen->n] = XidFromFullTransactionId(xid);
	unseen->n++;
}

/* What a snapshot sees of what is not settled. */
static LbCollect
collect_pending(const LbLiveBoard *board, const LbSnapshot *snapshot,
				LbOutcomes *outcomes, int *need, LbChanges *changes,
				LbUnseen *unseen, bool *pending)
{
	dlist_iter	iter;

	dlist_foreach(iter, &((LbLiveBoard *) board)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		uint64		xid = U64FromFullTransactionId(pub->xid);
		LbOutcome	outcome;

		if (!lb_had_ended(snapshot, pub->xid))
		{
			add_unseen(unseen, pub->xid);
			continue;
		}
		outcome = lb_find_outcome(outcomes, xid);
		if (outcome == LB_OUTCOME_UNKNOWN)
		{
			outcomes->unknown = xid;
			return LB_COLLECT_OUTCOME;
		}
		if (outcome == LB_NOT_COMMITTED)
			continue;
#if LB_PLANT_BUG == 3
		continue;
#endif
		if (pub->owner_entries != NULL)
			return LB_COLLECT_WAIT;
		add_publication(pub, false, need, changes);
		*pending = true;
	}
	return LB_COLLECTED;
}

/*
 * Walk back through a history, from node on, and gather what the snapshot wants
 * differently: see lb_collect().
 */
static LbCollect
collect_history(const LbLiveBoard *board, const LbSnapshot *snapshot,
				dlist_node *node, int need, LbChanges *changes,
				LbUnseen *unseen, uint64 since, int limit, LbSlice *slice,
				bool *pending)
{
	const dlist_node *head = &board->history.head;
	int			looks = 0;

	/*
	 * Seen, but not in the index; then in the index, but not seen.  A
	 * transaction that the snapshot does not see ended, and so settled, after
	 * it was taken: then the next xid was at least the snapshot's xmax. Notes
	 * ascend, so the rest is seen.
	 */
	for (; node != head; node = node->prev)
	{
		LbPublication *pub = dlist_container(LbPublication, node, node);
		bool		applied = pub->version <= board->applied;
		bool		ended;

		if (applied && (pub->next_xid < snapshot->xmax || pub->version <= since))
			break;
		if (!applied && since != 0)
			continue;
		if (need > limit || (slice == NULL && looks == MAX_LOOKS))
			return LB_COLLECT_MANY;
		if (slice != NULL && need > changes->max)
			break;
		ended = lb_had_ended(snapshot, pub->xid);
		if (slice != NULL && applied && looks > 0 &&
			(looks >= MAX_LOOKS ||
			 (!ended && need + (int64) pub->nentries > changes->max)))
		{
			slice->next = pub;
			slice->next_xid = pub->next_xid;
			return LB_COLLECT_MORE;
		}
		looks++;
		if (!ended)
			add_unseen(unseen, pub->xid);
		if (ended == applied)
			continue;
#if LB_PLANT_BUG == 1
		if (applied && pub->node.next != &board->history.head)
			continue;
#endif
		add_publication(pub, applied, &need, changes);
		*pending |= !applied;
	}
	if (need > limit)
		return LB_COLLECT_MANY;
	if (need > changes->max ||
		(unseen != NULL && unseen->n > unseen->max))
	{
		changes->n = need;
		return LB_COLLECT_ROOM;
	}
	return LB_COLLECTED;
}

LbCollect
lb_collect(const LbSharedBoard *shared, const LbStripe *stripe,
		   const LbLiveBoard *board, const LbSnapshot *snapshot,
		   LbOutcomes *outcomes, LbChanges *changes, LbUnseen *unseen,
		   uint64 since, int limit, LbSlice *slice, bool *pending)
{
	int			need = 0;

	changes->n = 0;
	if (since == 0)
		*pending = false;
	if (unseen != NULL)
		unseen->n = 0;
	if (!lb_above_floor(snapshot, board == NULL ? &stripe->floor :
						&board->floor))
		return LB_COLLECT_TOO_OLD;
	if (board == NULL)
		return LB_COLLECTED;
	if (board->nsettling > 0)
		return LB_COLLECT_WAIT;

	/*
	 * Seen, but not settled.  Whoever publishes later ends after the
	 * snapshot.
	 */
	if (since == 0)
	{
		LbCollect	result = collect_pending(board, snapshot, outcomes, &need,
											 changes, unseen, pending);

		if (result != LB_COLLECTED)
			return result;
	}
	return collect_history(board, snapshot, board->history.head.prev, need,
						   changes, unseen, since, limit, slice, pending);
}

LbCollect
lb_collect_more(const LbLiveBoard *board, const LbSnapshot *snapshot,
				LbChanges *changes, LbSlice *slice)
{
	bool		pending;

	changes->n = 0;

	/* Notes ascend, and the floor's is that of the newest that has left. */
	if (board->nsettling > 0 || slice->next_xid <= board->floor.next_xid)
		return LB_COLLECT_TOO_OLD;
	return collect_history(board, snapshot,
						   (dlist_node *) &slice->next->node, 0, changes,
						   NULL, 0, INT_MAX, slice, &pending);
}

bool
lb_collect_applied(const LbLiveBoard *board, uint64 since, LbChanges *changes)
{
	const dlist_node *head = &board->history.head;
	int			need = 0;

	changes->n = 0;
	for (dlist_node *node = head->prev; node != head; node = node->prev)
	{
		LbPublication *pub = dlist_container(LbPublication, node, node);

		if (pub->version > board->applied)
			continue;
		if (pub->version <= since)
			break;
		add_publication(pub, false, &need, changes);
		if (need > changes->max)
			return false;
	}
	return true;
}
