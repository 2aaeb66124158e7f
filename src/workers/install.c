/*-------------------------------------------------------------------------
 *
 * install.c
 *	  A build's new boards: filled, caught up, installed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/live.h"
#include "boards/state.h"
#include "ledger/batch.h"
#include "ledger/publication.h"
#include "ledger/queue.h"
#include "ledger/snapshot.h"
#include "util/pause.h"
#include "workers/install.h"
#include "workers/unknown.h"
#include "workers/worker.h"

/* Keys packed between two looks at whether to go on. */
#define POLL_ROWS 8192

static void
free_queue(const LbMem *mem, LbLiveBoard *board)
{
	while (board->queue_first != LB_NONE)
	{
		LbRef		page = board->queue_first;

		board->queue_first = ((LbQueuePage *) lb_ptr(mem->arena, page))->next;
		lb_free(mem, page, LB_MAX_ORDER);
	}
	board->queue_last = LB_NONE;
}

typedef struct QueueScan
{
	const LbMem *mem;
	int			n;
	LbRef		boards[64];
} QueueScan;

static bool
find_queue(uint32 hash, LbRef ref, void *arg)
{
	QueueScan  *scan = (QueueScan *) arg;

	if (lb_live_board_at(ref)->queue_first != LB_NONE)
		scan->boards[scan->n++] = ref;
	return scan->n < (int) lengthof(scan->boards);
}

/* Turn queueing on or off, without anything left in the queues. */
void
lb_set_queueing(LbBuild *build, bool on)
{
	LbSharedBoard *shared = build->shared;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];
		QueueScan	scan;

		LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
		if (lb_shared_board_is(shared, build->generation))
		{
			do
			{
				scan.n = 0;
				lb_stripe_walk(stripe, shared->family, find_queue, &scan);
				for (int i = 0; i < scan.n; i++)
				{
					free_queue(&build->mem, lb_live_board_at(scan.boards[i]));
					lb_live_board_release(shared, stripe, scan.boards[i]);
				}
			} while (scan.n > 0);
			stripe->queueing = on;
		}
		LWLockRelease(&stripe->lock);
	}
}

static LbLiveBoard *
new_board_find(LbBuild *build, uint32 hash, const LbValue *value, LbRef *ref)
{
	LbStripe	stripe;

	stripe.single = build->single;
	stripe.boards = build
		->boards[lb_value_stripe(build->shared->family, hash)];
	return lb_live_board_find(build->shared, &stripe, hash, value, ref);
}

static LbLiveBoard *
new_board_make(LbBuild *build, uint32 hash, const LbValue *value, LbRef *ref)
{
	LbLiveBoard *board = new_board_find(build, hash, value, ref);
	int			s = lb_value_stripe(build->shared->family, hash);

	if (board != NULL)
		return board;
	*ref = lb_live_board_new(&build->mem, build->shared, hash, value);
	if (*ref == LB_NONE)
		return NULL;
	if (lb_hash_insert(&build->mem, &build->boards[s], hash, *ref) != LB_OK)
	{
		lb_live_board_free(&build->mem, *ref);
		return NULL;
	}
	lb_live_board_at(*ref)->floor = build->floor;
	return lb_live_board_at(*ref);
}

static bool
free_new_board(uint32 hash, LbRef ref, void *arg)
{
	lb_live_board_free((const LbMem *) arg, ref);
	return true;
}

void
lb_free_new_boards(LbBuild *build)
{
	if (build->single != LB_NONE)
		lb_live_board_free(&build->mem, build->single);
	build->single = LB_NONE;
	for (int s = 0; s < LB_STRIPES; s++)
	{
		lb_hash_walk(build->mem.arena, &build->boards[s], free_new_board,
					 &build->mem);
		lb_hash_free(&build->mem, &build->boards[s]);
	}
}

/* Pack the sorted keys into new boards. */
LbBuildResult
lb_pack(LbBuild *build, LbDefinition *defn, LbSort *sort, LbValues *values)
{
	const int64 *tuple;
	LbBulk		bulk;
	LbResult	result = LB_OK;
	int64		current = -1;
	uint64		n = 0;

	if (!defn->family)
	{
		LbValue		none = {0, ""};

		build->single = lb_live_board_new(&build->mem, build->shared, 0,
										  &none);
		if (build->single == LB_NONE)
			return BUILD_NOMEM;
		lb_live_board_at(build->single)->floor = build->floor;
		result = lb_bulk_begin(&bulk, &build->mem,
							   &lb_live_board_at(build->single)->index,
							   lb_sort_count(sort));
		while (result == LB_OK && (tuple = lb_sort_next(sort)) != NULL)
		{
			result = lb_bulk_add(&bulk, tuple);
			if (++n % POLL_ROWS == 0)
				lb_yield();
		}
		if (result == LB_OK)
			result = lb_bulk_finish(&bulk);
	}
	else
	{
		while (result == LB_OK && (tuple = lb_sort_next(sort)) != NULL)
		{
			if (tuple[0] != current)
			{
				LbRef		ref;
				LbLiveBoard *board;

				if (current >= 0)
					result = lb_bulk_finish(&bulk);
				current = tuple[0];
				board = new_board_make(build, values->hashes[current],
									   &values->values[current], &ref);
				if (board == NULL)
					return BUILD_NOMEM;
				if (result == LB_OK)
					result = lb_bulk_begin(&bulk, &build->mem, &board->index,
										   0);
			}
			if (result == LB_OK)
				result = lb_bulk_add(&bulk, tuple + 1);
			if (++n % POLL_ROWS == 0)
				lb_yield();
		}
		if (result == LB_OK && current >= 0)
			result = lb_bulk_finish(&bulk);
	}
	if (result == LB_NOMEM)
		return BUILD_NOMEM;
	return result == LB_OK ? BUILD_DONE : BUILD_DUPLICATE;
}

/* Apply a chain of queued entries to a new board. */
static LbBuildResult
apply_queue(LbBuild *build, LbLiveBoard *board, LbRef page_ref, uint64 *napplied)
{
	int			stride = lb_entry_words(build->shared->width);

	while (page_ref != LB_NONE)
	{
		LbQueuePage *page = (LbQueuePage *) lb_ptr(build->mem.arena, page_ref);

		for (uint32 at = 0; at < page->used; at += stride + 1)
		{
			FullTransactionId xid = FullTransactionIdFromU64((uint64) page->words[at]);
			const int64 *entry = &page->words[at + 1];
			LbResult	result;

			if (lb_had_ended(&build->snapshot, xid))
				continue;
			result = lb_apply_entry(&build->mem, &board->index, entry, NULL,
									NULL);
			if (result == LB_NOMEM)
				return BUILD_NOMEM;
			if (result != LB_OK)
				return BUILD_AGAIN;
			(*napplied)++;
		}
		page_ref = page->next;
	}
	return BUILD_DONE;
}

/*
 * Apply what a stripe has queued, a bunch of boards at a time.  With locked
 * the caller holds the stripe's lock; else more may have come when we are done.
 */
LbBuildResult
lb_drain_stripe(LbBuild *build, int s, bool locked, uint64 *napplied)
{
	LbSharedBoard *shared = build->shared;
	LbStripe   *stripe = &shared->stripes[s];
	LbBuildResult result = BUILD_DONE;
	QueueScan	scan;

	do
	{
		struct
		{
			LbRef		first;
			LbLiveBoard *board;
		}			chains[lengthof(scan.boards)];

		if (!locked)
			LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
		if (!lb_shared_board_is(shared, build->generation))
		{
			if (!locked)
				LWLockRelease(&stripe->lock);
			return BUILD_GONE;
		}
		scan.n = 0;
		lb_stripe_walk(stripe, shared->family, find_queue, &scan);
		for (int i = 0; i < scan.n; i++)
		{
			LbLiveBoard *old = lb_live_board_at(scan.boards[i]);
			LbValue		value = lb_live_board_value(old);
			LbRef		ref;

			/* The old board may go once its queue is gone. */
			chains[i].board = new_board_make(build, old->hash, &value, &ref);
			chains[i].first = old->queue_first;
			old->queue_first = old->queue_last = LB_NONE;
			if (chains[i].board == NULL)
				result = BUILD_NOMEM;
			lb_live_board_release(shared, stripe, scan.boards[i]);
		}
		if (!locked)
			LWLockRelease(&stripe->lock);
		for (int i = 0; i < scan.n; i++)
		{
			if (result == BUILD_DONE)
				result = apply_queue(build, chains[i].board, chains[i].first,
									 napplied);
			while (chains[i].first != LB_NONE)
			{
				LbRef		page = chains[i].first;

				chains[i].first = ((LbQueuePage *) lb_ptr(build->mem.arena, page))->next;
				lb_free(&build->mem, page, LB_MAX_ORDER);
			}
		}
		if (!locked)
			lb_yield();
	} while (result == BUILD_DONE &&
			 (locked ? scan.n > 0 : scan.n == lengthof(scan.boards)));
	return result;
}

typedef struct Move
{
	LbBuild    *build;
	LbStripe   *stripe;
	bool		ok;
} Move;

typedef struct Inherit
{
	LbStripe   *stripe;
	int			n;
	LbRef		empty[64];		/* new boards that are empty, some of them */
} Inherit;

/* Whether a list has a publication that the scan may not have seen. */
static bool
has_unseen(const LbBuild *build, dlist_head *list)
{
	dlist_iter	iter;

	dlist_foreach(iter, list)
	{
		if (!lb_had_ended(&build->snapshot,
						  dlist_container(LbPublication, node, iter.cur)->xid))
			return true;
	}
	return false;
}

/* See to it that move_board will not need memory. */
static bool
prepare_move(uint32 hash, LbRef ref, void *arg)
{
	Move	   *move = (Move *) arg;
	LbLiveBoard *old = lb_live_board_at(ref);
	LbValue		value = lb_live_board_value(old);
	LbRef		newref;

	if ((has_unseen(move->build, &old->pending) ||
		 has_unseen(move->build, &old->history)) &&
		new_board_make(move->build, old->hash, &value, &newref) == NULL)
		move->ok = false;
	return move->ok;
}

/*
 * A new board is in its place: it inherits what its stripe has kept of boards
 * that were given back meanwhile.
 */
static bool
inherit_floor(uint32 hash, LbRef ref, void *arg)
{
	Inherit    *inherit = (Inherit *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);

	lb_raise_floor(&board->floor, inherit->stripe->floor.next_xid,
				   inherit->stripe->floor.xid);
	if (lb_index_bytes(&board->index) == 0 &&
		dlist_is_empty(&board->pending) &&
		dlist_is_empty(&board->history) &&
		inherit->n < (int) lengthof(inherit->empty))
		inherit->empty[inherit->n++] = ref;
	return true;
}

/* Move what an old board has beside its index to the new one. */
static bool
move_board(uint32 hash, LbRef ref, void *arg)
{
	Move	   *move = (Move *) arg;
	LbBuild    *build = move->build;
	LbLiveBoard *old = lb_live_board_at(ref);
	LbValue		value = lb_live_board_value(old);
	LbLiveBoard *board;
	LbRef		newref;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &old->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		/* It is in the scan, or has aborted. */
		if (lb_had_ended(&build->snapshot, pub->xid))
		{
			lb_discard_publication(build->shared, pub);
			continue;
		}
		board = new_board_find(build, old->hash, &value, &newref);
		dlist_delete(&pub->node);
		pub->board = newref;
		if (pub->settling)
			board->nsettling++;
		dlist_push_tail(&board->pending, &pub->node);
	}

	/* What the scan has not seen can have to be undone. */
	dlist_foreach_modify(iter, &old->history)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (lb_had_ended(&build->snapshot, pub->xid))
		{
			lb_discard_publication(build->shared, pub);
			continue;
		}
		board = new_board_find(build, old->hash, &value, &newref);
		dlist_delete(&pub->node);
		pub->board = newref;

		/* The scan or the queue had it, whenever the new board was made. */
		pub->version = board->applied;
		dlist_push_tail(&board->history, &pub->node);
	}
	board = new_board_find(build, old->hash, &value, &newref);
	if (board != NULL)
		lb_raise_floor(&board->floor, old->floor.next_xid, old->floor.xid);
	else
		lb_raise_floor(&move->stripe->floor, old->floor.next_xid, old->floor.xid);
	for (int i = 0; i < LB_NCOUNTERS; i++)
	{
		uint64		n = pg_atomic_read_u64(&old->counters[i]);

		if (n > 0)
			pg_atomic_fetch_add_u64(board != NULL ? &board->counters[i] :
									&build->shared->counters[i], n);
	}
	return true;
}

/*
 * Whether one may have been running when the snapshot was taken.  Or before:
 * what it has done to the triggers may have come after we looked at them.
 */
bool
lb_misses_changes(const LbBuild *build)
{
	return lb_unknown_running(build->shared, &build->before);
}

/* The new boards take the place of the old ones. */
LbBuildResult
lb_install(LbBuild *build)
{
	LbSharedBoard *shared = build->shared;
	LbBuildResult result = BUILD_DONE;
	uint64		napplied = 0;
	Move		move;

	for (int s = 0; s < LB_STRIPES; s++)
		LWLockAcquire(&shared->stripes[s].lock, LW_EXCLUSIVE);
	if (!lb_shared_board_is(shared, build->generation))
		result = BUILD_GONE;
	else if (pg_atomic_read_u32(&shared->queue_lost) != 0 ||
			 lb_misses_changes(build))
		result = BUILD_AGAIN;
	lb_pause("install");
	for (int s = 0; result == BUILD_DONE && s < LB_STRIPES; s++)
		result = lb_drain_stripe(build, s, true, &napplied);
	if (result == BUILD_DONE)
	{
		/* First see that all can be moved, or the old boards go on. */
		move.build = build;
		move.ok = true;
		for (int s = 0; move.ok && s < LB_STRIPES; s++)
			lb_stripe_walk(&shared->stripes[s], shared->family, prepare_move,
						   &move);
		if (!move.ok)
			result = BUILD_NOMEM;
	}
	if (result == BUILD_DONE)
	{
		lb_forget_unknown(&shared->unknown, &build->before);
		for (int s = 0; s < LB_STRIPES; s++)
		{
			move.stripe = &shared->stripes[s];
			lb_raise_floor(&move.stripe->floor, build->floor.next_xid,
						   build->floor.xid);
			lb_stripe_walk(move.stripe, shared->family, move_board, &move);
		}
	}
	if (result == BUILD_DONE)
	{
		for (int s = 0; s < LB_STRIPES; s++)
		{
			LbStripe   *stripe = &shared->stripes[s];
			LbHash		boards = stripe->boards;

			stripe->boards = build->boards[s];
			build->boards[s] = boards;
			stripe->queueing = false;
		}
		if (!shared->family)
		{
			LbRef		single = shared->stripes[0].single;

			shared->stripes[0].single = build->single;
			build->single = single;
		}
		for (int s = 0; s < LB_STRIPES; s++)
		{
			Inherit		inherit;

			do
			{
				inherit.stripe = &shared->stripes[s];
				inherit.n = 0;
				lb_stripe_walk(inherit.stripe, shared->family, inherit_floor,
							   &inherit);
				for (int i = 0; shared->family && i < inherit.n; i++)
					lb_live_board_release(shared, inherit.stripe,
										  inherit.empty[i]);
			} while (shared->family && inherit.n > 0);
		}
		build->installed = true;

		lb_shared_board_ready(shared);

		/*
		 * Who has changes that are unknown takes no stripe's lock: he may
		 * have come meanwhile, and what he said of the state is overwritten.
		 * But he has noted them before that.
		 */
		if (lb_misses_changes(build))
			lb_shared_board_offline(shared, LB_UNKNOWN_CHANGES, true);
	}
	for (int s = LB_STRIPES - 1; s >= 0; s--)
		LWLockRelease(&shared->stripes[s].lock);

	/* Now these are the old ones. */
	lb_free_new_boards(build);
	return result;
}
