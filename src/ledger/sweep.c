/*-------------------------------------------------------------------------
 *
 * sweep.c
 *	  Give back the memory of boards: of indexes, histories, definitions.
 *
 * A sweep walks over the boards of a definition, stripe by stripe.  Under a
 * stripe's lock it takes a limited number of boards; it frees their memory, or
 * lets writers go ahead, with the lock released.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "boards/directory.h"
#include "boards/live.h"
#include "boards/state.h"
#include "ledger/backlog.h"
#include "ledger/off_board.h"
#include "ledger/publication.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"

/* The most definitions removed under one hold of the directory's lock. */
#define MAX_REMOVALS 64

/*
 * Boards of a stripe that one hold of its lock deals with, and which to take.
 */
typedef struct BoardList
{
	LbRef		refs[256];
	int			n;
	bool		all;			/* also boards without an index */
	bool		history;		/* also boards with a history */
	bool		emptied;		/* all, except those with this floor ... */
	LbFloor		floor;
	FullTransactionId truncating;	/* ... and nothing pending but its own */
} BoardList;

/* Whether transactions other than xid have publications pending on a board. */
static bool
others_pending(LbLiveBoard *board, FullTransactionId xid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &board->pending)
	{
		if (!FullTransactionIdEquals(dlist_container(LbPublication, node,
													 iter.cur)->xid, xid))
			return true;
	}
	return false;
}

/*
 * The transaction xid has truncated the table and committed.  Its TRUNCATE has
 * waited for all transactions that had changed the table, so what others have
 * pending is of prepared transactions that have ended, and that no process has
 * settled since.  Their rows are gone.
 */
static void
discard_others_pending(LbSharedBoard *shared, LbLiveBoard *board,
					   FullTransactionId xid)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &board->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (FullTransactionIdEquals(pub->xid, xid))
			continue;
		board->version++;
		lb_discard_publication(shared, pub);
	}
}

static bool
collect_board(uint32 hash, LbRef ref, void *arg)
{
	BoardList  *list = (BoardList *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);

	if (lb_index_bytes(&board->index) > 0 || board->off_board != 0 ||
		(list->history && !dlist_is_empty(&board->history)) ||
		(list->all &&
		 !(list->emptied && board->floor.next_xid >= list->floor.next_xid &&
		   !others_pending(board, list->truncating))))
		list->refs[list->n++] = ref;
	return list->n < (int) lengthof(list->refs);
}

/*
 * Empty the indexes of all boards, some boards at a time, and free their
 * memory without a lock.  With a truncating transaction, discard all histories
 * too, and move the floors past it.
 */
static void
empty_indexes(LbSharedBoard *shared, uint64 generation,
			  FullTransactionId truncating)
{
	LbMem		mem = lb_mem(shared);
	bool		truncate = FullTransactionIdIsValid(truncating);

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];
		BoardList	list;
		LbIndex		indexes[lengthof(list.refs)];
		uint64		next_xid = lb_next_xid();

		do
		{
			list.n = 0;
			list.all = truncate;
			list.emptied = true;
			list.truncating = truncating;
			LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
			list.history = !stripe->queueing;
			if (lb_shared_board_is(shared, generation) &&
				(truncate || !lb_is_ready(shared)))
			{
				if (truncate)
					lb_raise_floor(&stripe->floor, next_xid,
								   U64FromFullTransactionId(truncating));
				list.floor = stripe->floor;
				lb_stripe_walk(stripe, shared->family, collect_board,
							   &list);
			}
			for (int i = 0; i < list.n; i++)
			{
				LbLiveBoard *board = lb_live_board_at(list.refs[i]);

				indexes[i] = board->index;
				lb_index_init(&board->index, &shared->shape);
				if (truncate)
					discard_others_pending(shared, board, truncating);
				if (list.history)
					(void) lb_trim_history(shared, board, LB_TRIM_ALL);
				board->applied = board->history_from = ++board->version;
				board->backlog = 0;
				lb_add_off_board(shared, board, -board->off_board);
				lb_raise_floor(&board->floor, list.floor.next_xid,
							   list.floor.xid);
				lb_live_board_release(shared, stripe, list.refs[i]);
			}
			LWLockRelease(&stripe->lock);
			for (int i = 0; i < list.n; i++)
				lb_index_free(&mem, &indexes[i]);
		} while (list.n > 0);
	}
}

void
lb_shared_board_free_indexes(LbSharedBoard *shared, uint64 generation)
{
	empty_indexes(shared, generation, InvalidFullTransactionId);
}

void
lb_shared_board_clear(LbSharedBoard *shared, uint64 generation,
					  FullTransactionId xid)
{
	empty_indexes(shared, generation, xid);
	lb_want_xid();
}

/*
 * About how many entries are applied, and publications given back, under one
 * hold of the lock.
 */
#define MAX_TRIM_STEPS 1024

typedef struct Trim
{
	LbSharedBoard *shared;
	BoardList	empty;			/* boards to release */
	uint64		steps;
	bool		left;
} Trim;

static bool
trim_board(uint32 hash, LbRef ref, void *arg)
{
	Trim	   *trim = (Trim *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);
	bool		empty;

	for (;;)
	{
		empty = trim->shared->family && board->index.members == 0;
		while (trim->steps < MAX_TRIM_STEPS &&
			   lb_trim_history(trim->shared, board,
							   empty ? LB_TRIM_TO_LIMIT : LB_TRIM_UNNEEDED))
			trim->steps += LB_MAX_TRIM;
		if (!lb_history_awaits_apply(board))
			break;
		trim->steps += board->backlog;
		lb_apply_backlog(trim->shared, board);
	}
	if (!dlist_is_empty(&board->history))
		trim->left = true;
	else if (empty && board->off_board == 0 &&
			 dlist_is_empty(&board->pending) &&
			 board->queue_first == LB_NONE)
	{
		trim->empty.refs[trim->empty.n++] = ref;
		if (trim->empty.n == (int) lengthof(trim->empty.refs))
			trim->steps = MAX_TRIM_STEPS;
	}
	return trim->steps < MAX_TRIM_STEPS;
}

bool
lb_shared_board_trim(LbSharedBoard *shared, uint64 generation)
{
	bool		left = false;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];
		Trim		trim;

		trim.shared = shared;
		lb_lock_to_write(stripe);
		for (;;)
		{
			trim.empty.n = 0;
			trim.steps = 0;
			trim.left = false;
			if (lb_shared_board_is(shared, generation))
				lb_stripe_walk(stripe, shared->family, trim_board, &trim);
			for (int i = 0; i < trim.empty.n; i++)
				lb_live_board_release(shared, stripe, trim.empty.refs[i]);
			if (trim.steps < MAX_TRIM_STEPS)
				break;
			LWLockRelease(&stripe->lock);
			lb_yield_to_writers(stripe);
			lb_lock_to_write(stripe);
		}
		if (lb_shared_board_is(shared, generation))
			lb_report_history(stripe);
		LWLockRelease(&stripe->lock);
		left |= trim.left;
	}
	return left;
}

static void
discard_all(LbSharedBoard *shared, dlist_head *list)
{
	while (!dlist_is_empty(list))
		lb_discard_publication(shared, dlist_container(LbPublication, node,
													   dlist_head_node(list)));
}

static bool
discard_publications(uint32 hash, LbRef ref, void *arg)
{
	discard_all((LbSharedBoard *) arg, &lb_live_board_at(ref)->pending);
	discard_all((LbSharedBoard *) arg, &lb_live_board_at(ref)->history);
	return true;
}

/*
 * Remove a definition from the directory, whose lock is held exclusively, and
 * append it to the caller's list, for finish_removal().
 */
static void
remove_definition(LbSharedBoard *shared, dlist_head *removed)
{
	for (int s = 0; s < LB_STRIPES; s++)
		LWLockAcquire(&shared->stripes[s].lock, LW_EXCLUSIVE);
	lb_state_remove(shared);

	/*
	 * Owners of publications that have not called back will look at the
	 * generation, under the lock.
	 */
	for (int s = 0; s < LB_STRIPES; s++)
		lb_stripe_walk(&shared->stripes[s], shared->family,
					   discard_publications, shared);
	for (int s = LB_STRIPES - 1; s >= 0; s--)
		LWLockRelease(&shared->stripes[s].lock);
	lb_directory_delete(shared);
	dlist_push_tail(removed, &shared->node);
}

/*
 * Give back the memory of definitions that have been removed from the
 * directory.  Holds no lock.
 */
static void
finish_removal(dlist_head *removed)
{
	dlist_iter	iter;

	dlist_foreach(iter, removed)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);
		LbMem		mem = lb_mem(shared);

		/*
		 * No process looks at the boards of a definition without a
		 * generation.
		 */
		for (int s = 0; s < LB_STRIPES; s++)
		{
			LbStripe   *stripe = &shared->stripes[s];
			BoardList	list;

			do
			{
				list.n = 0;
				list.all = true;
				list.history = false;
				list.emptied = false;
				lb_stripe_walk(stripe, shared->family, collect_board, &list);
				for (int i = 0; i < list.n; i++)
				{
					LbLiveBoard *board = lb_live_board_at(list.refs[i]);

					if (shared->family)
						lb_hash_delete(&mem, &stripe->boards, board->hash,
									   list.refs[i]);
					else
						stripe->single = LB_NONE;
					lb_live_board_free(&mem, list.refs[i]);
				}
			} while (list.n > 0);
			lb_hash_free(&mem, &stripe->boards);
			lb_stripe_reset(shared, stripe);
			stripe->queueing = false;
			stripe->queued = LB_NONE;
		}
		ConditionVariableBroadcast(&shared->changed);
	}
	if (dlist_is_empty(removed))
		return;
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	while (!dlist_is_empty(removed))
		dlist_push_head(&lb_shared->free_boards, dlist_pop_head_node(removed));
	LWLockRelease(&lb_shared->directory_lock);
}

void
lb_shared_board_remove(LbSharedBoard *shared, uint64 generation)
{
	dlist_head	removed;

	dlist_init(&removed);
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	if (shared->generation == generation)
		remove_definition(shared, &removed);
	LWLockRelease(&lb_shared->directory_lock);
	finish_removal(&removed);
}

void
lb_shared_board_remove_id(Oid cat, int32 id)
{
	LbSharedBoard *shared;
	dlist_head	removed;

	dlist_init(&removed);
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	shared = lb_directory_find(MyDatabaseId, cat, id);
	if (shared != NULL)
		remove_definition(shared, &removed);
	LWLockRelease(&lb_shared->directory_lock);
	finish_removal(&removed);
}

/*
 * Remove all definitions that find() finds.  There can be thousands, so the
 * directory's lock is released from time to time.
 */
static void
remove_found(LbSharedBoard *(*find) (Oid database, Oid relation), Oid database,
			 Oid relation)
{
	LbSharedBoard *shared;
	dlist_head	removed;

	do
	{
		dlist_init(&removed);
		LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
		for (int i = 0; i < MAX_REMOVALS; i++)
		{
			shared = find(database, relation);
			if (shared == NULL)
				break;
			remove_definition(shared, &removed);
		}
		LWLockRelease(&lb_shared->directory_lock);
		finish_removal(&removed);
	} while (shared != NULL);
}

void
lb_shared_board_remove_source(Oid source)
{
	remove_found(lb_directory_find_source, MyDatabaseId, source);
}

void
lb_shared_board_remove_catalog(Oid cat)
{
	remove_found(lb_directory_find_catalog, MyDatabaseId, cat);
}

void
lb_shared_board_remove_database(Oid database)
{
	for (;;)
	{
		Oid			cat = InvalidOid;
		dlist_iter	iter;

		LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
		dlist_foreach(iter, &lb_shared->boards)
		{
			LbSharedBoard *shared = dlist_container(LbSharedBoard, node,
													iter.cur);

			if (shared->database == database)
			{
				cat = shared->catalog;
				break;
			}
		}
		LWLockRelease(&lb_shared->directory_lock);
		if (!OidIsValid(cat))
			break;
		remove_found(lb_directory_find_catalog, database, cat);
	}
	lb_watch_forget(database);
}
