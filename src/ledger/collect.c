/*-------------------------------------------------------------------------
 *
 * collect.c
 *	  What a snapshot wants differently from an index.
 *
 * Of the pending publications and the backlog, a snapshot wants what it sees
 * added.  Of the rest of the history, it wants what it does not see undone.
 *
 * A transaction that a snapshot does not see ended after the snapshot was
 * taken, and settled after that; so the next xid at its settling,
 * LbPublication.next_xid, is at least the snapshot's xmax.  next_xid ascends
 * within a history.  So the walk goes from the newest publication back to the
 * first that has a next_xid below xmax.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ledger/collect.h"
#include "util/pause.h"
#include "util/planted.h"

/* The longest stride of a publication's entries. */
static int
longest_stride(const LbPublication *pub)
{
	int			longest = pub->stride;

	/* Without texts all have the same. */
	if (lb_shape_varies(&pub->shared->shape))
	{
		for (LbRef ref = pub->pages; ref != LB_NONE;)
		{
			const LbEntryPage *page = (const LbEntryPage *)
				lb_ptr(&lb_shared->arena, ref);

			longest = Max(longest, page->stride);
			ref = page->next;
		}
	}
	return longest;
}

/* Whether all changes so far are there, and a publication's fit, too. */
static bool
publication_fits(const LbPublication *pub, const LbChangesRoom *need,
				 LbChanges *changes)
{
	return need->n == changes->n && pub->nentries <= (uint32) INT_MAX &&
		lb_changes_fit(changes, (int) pub->nentries, longest_stride(pub));
}

/*
 * Add a publication's changes, or take them back.  *need is the room for all
 * so far; without it, nothing is copied.
 */
static void
add_publication(const LbPublication *pub, bool undo, LbChangesRoom *need,
				LbChanges *changes)
{
	bool		fits = publication_fits(pub, need, changes);
	LbEntryScan scan;
	const int64 *entry;

	/* The sum must not go beyond what an int holds. */
	if (pub->nentries > (uint32) (INT_MAX - need->n))
		need->n = INT_MAX;
	else
		need->n += pub->nentries;
	need->stride = Max(need->stride, longest_stride(pub));
	if (!fits)
		return;
	lb_entry_scan_begin(&scan, pub);
	while ((entry = lb_entry_scan_next(&scan)) != NULL)
	{
		lb_add_change(changes, entry, scan.stride, undo);
		if (LB_PLANTED(20) && undo && changes->shape.counts)
		{
			int64	   *change = lb_change_at(changes, changes->n - 1);

			change[0] = (change[0] & (LB_HAS_OLD | LB_HAS_NEW)) |
				INT64CONST(1) << LB_ROWS_SHIFT;
		}
	}
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

/* Gather what the snapshot sees of the pending publications. */
static LbCollect
collect_pending(const LbLiveBoard *board, const LbCollectArgs *args)
{
	LbOutcomes *outcomes = args->outcomes;
	dlist_iter	iter;

	outcomes->nwanted = 0;
	dlist_foreach(iter, &((LbLiveBoard *) board)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		uint64		xid = U64FromFullTransactionId(pub->xid);
		LbOutcome	outcome;

		lb_count_work(1);
		if (!lb_had_ended(args->snapshot, pub->xid))
		{
			add_unseen(args->unseen, pub->xid);
			continue;
		}
		outcome = lb_find_outcome(outcomes, xid);
		if (outcome == LB_OUTCOME_UNKNOWN && !lb_want_outcome(outcomes, xid))
			break;
		if (outcome != LB_COMMITTED || outcomes->nwanted > 0)
			continue;
		if (LB_PLANTED(3))
			continue;
		if (pub->owner_entries != NULL)
			return LB_COLLECT_WAIT;
		add_publication(pub, false, args->room, args->changes);
		*args->pending = true;
	}
	return outcomes->nwanted > 0 ? LB_COLLECT_OUTCOME : LB_COLLECTED;
}

/*
 * Walk back through a history, from node on, and gather what the snapshot sees
 * of the backlog, and what it does not see of the rest.
 */
static LbCollect
collect_history(const LbLiveBoard *board, const LbCollectArgs *args,
				const dlist_node *node)
{
	const LbSnapshot *snapshot = args->snapshot;
	LbChanges  *changes = args->changes;
	LbUnseen   *unseen = args->unseen;
	LbSlice    *slice = args->slice;
	LbChangesRoom *need = args->room;
	const dlist_node *head = &board->history.head;
	int			looks = 0;

	for (; node != head; node = node->prev)
	{
		const LbPublication *pub = dlist_container(LbPublication, node,
												   (dlist_node *) node);
		bool		applied = pub->version <= board->applied;
		bool		ended;

		/* The snapshot sees all that is older, or the caller has it. */
		if (applied && (pub->next_xid < snapshot->xmax ||
						pub->version <= args->since))
			break;
		if (!applied && args->since != 0)
			continue;
		if (need->n > args->limit || (slice == NULL && looks == LB_MAX_LOOKS))
			return LB_COLLECT_MANY;
		if (slice != NULL && need->n > changes->n)
			break;
		ended = lb_had_ended(snapshot, pub->xid);
		if (slice != NULL && applied && looks > 0 &&
			(looks >= LB_MAX_LOOKS ||
			 (!ended && !publication_fits(pub, need, changes))))
		{
			slice->next = pub;
			slice->next_xid = pub->next_xid;
			return LB_COLLECT_MORE;
		}
		looks++;
		if (!ended)
			add_unseen(unseen, pub->xid);

		/* Seen and in the index, or neither. */
		if (ended == applied)
			continue;
		if (LB_PLANTED(1) && applied &&
			pub->node.next != &board->history.head)
			continue;
		add_publication(pub, applied, need, changes);
		*args->pending |= !applied;
	}
	if (need->n > args->limit)
		return LB_COLLECT_MANY;
	if (need->n > changes->n || (unseen != NULL && unseen->n > unseen->max))
		return LB_COLLECT_ROOM;
	return LB_COLLECTED;
}

LbCollect
lb_collect(const LbStripe *stripe, const LbLiveBoard *board,
		   const LbCollectArgs *args)
{
	Assert(args->changes->n == 0);
	*args->room = (LbChangesRoom)
	{
		0, args->changes->stride
	};
	if (args->since == 0)
		*args->pending = false;
	if (args->unseen != NULL)
		args->unseen->n = 0;
	if (!lb_above_floor(args->snapshot, board == NULL ? &stripe->floor :
						&board->floor))
		return LB_COLLECT_TOO_OLD;
	if (board == NULL)
		return LB_COLLECTED;
	if (board->nsettling > 0)
		return LB_COLLECT_WAIT;

	/*
	 * What is published after the first collection ends after the snapshot
	 * was taken.
	 */
	if (args->since == 0)
	{
		LbCollect	result = collect_pending(board, args);

		if (result != LB_COLLECTED)
			return result;
	}
	return collect_history(board, args, board->history.head.prev);
}

LbCollect
lb_collect_more(const LbLiveBoard *board, const LbSnapshot *snapshot,
				LbChanges *changes, LbSlice *slice, LbChangesRoom *room)
{
	bool		pending = false;
	LbCollectArgs args = {
		.snapshot = snapshot,
		.changes = changes,
		.room = room,
		.limit = INT_MAX,
		.slice = slice,
		.pending = &pending
	};

	Assert(changes->n == 0);
	*room = (LbChangesRoom)
	{
		0, changes->stride
	};

	/* The floor has the next_xid of the newest that has left the history. */
	if (board->nsettling > 0 || slice->next_xid <= board->floor.next_xid)
		return LB_COLLECT_TOO_OLD;
	return collect_history(board, &args, &slice->next->node);
}

bool
lb_collect_applied(const LbLiveBoard *board, uint64 since, LbChanges *changes)
{
	const dlist_node *head = &board->history.head;
	LbChangesRoom need = {0, changes->stride};

	Assert(changes->n == 0);
	if (since < board->history_from)
		return false;
	for (const dlist_node *node = head->prev; node != head; node = node->prev)
	{
		const LbPublication *pub = dlist_container(LbPublication, node,
												   (dlist_node *) node);

		if (pub->version > board->applied)
			continue;
		if (pub->version <= since)
			break;
		add_publication(pub, false, &need, changes);
		if (need.n > changes->n)
			return false;
	}
	return true;
}
