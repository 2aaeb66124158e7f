/*-------------------------------------------------------------------------
 *
 * install.c
 *	  A build's new boards: filled, caught up, installed.
 *
 * A build fills boards that no other process can reach.  Meanwhile the old
 * boards serve reads, and each stripe queues what settles: see build.c for why
 * that misses nothing.  lb_drain() applies the queues to the new boards.
 * lb_install() applies the rest of them under all stripes' locks, and puts the
 * new boards in the place of the old ones.
 *
 * A queued entry, or a publication, of a transaction that had ended before the
 * build's snapshot is skipped: the scan has its changes, or it has aborted.
 *
 * Nothing under a stripe's lock raises.  lb_install() takes all the memory
 * that it needs before it changes anything, so that a build that does not get
 * it leaves the old boards as they were.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"

#include "boards/live.h"
#include "boards/state.h"
#include "ledger/batch.h"
#include "ledger/off_board.h"
#include "ledger/publication.h"
#include "ledger/queue.h"
#include "ledger/snapshot.h"
#include "util/pause.h"
#include "util/planted.h"
#include "workers/install.h"
#include "workers/unknown.h"
#include "workers/worker.h"

/* Keys filled in between two looks at whether to yield, and for interrupts. */
#define YIELD_KEYS 8192

/* A board takes about as long as this many keys. */
#define BOARD_KEYS 32

/* Queues taken under one hold of a stripe's lock. */
#define BOARDS_AT_ONCE 64

/* Draining without locks stops when a round applies this few entries. */
#define FEW_ENTRIES 1000
#define MAX_ROUNDS 50


/* ----------------------------------------------------------------
 *		Queues
 * ----------------------------------------------------------------
 */

/*
 * Take the queue off a board of a stripe that has one, whose exclusive lock is
 * held, and set *ref to the board.  Without its queue, the board may go.
 */
static LbRef
take_queue(LbStripe *stripe, LbRef *ref)
{
	LbLiveBoard *board = lb_live_board_at(stripe->queued);
	LbRef		pages = board->queue_first;

	*ref = stripe->queued;
	stripe->queued = board->next_queued;
	board->queue_first = board->queue_last = board->next_queued = LB_NONE;
	return pages;
}

static void
free_pages(const LbMem *mem, LbRef page)
{
	while (page != LB_NONE)
	{
		LbRef		next = ((LbQueuePage *) lb_ptr(mem->arena, page))->next;

		lb_free(mem, page, LB_MAX_ORDER);
		page = next;
	}
}

void
lb_set_queueing(LbBuild *build, bool on)
{
	LbSharedBoard *shared = build->shared;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LbStripe   *stripe = &shared->stripes[s];

		LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
		if (lb_shared_board_is(shared, build->generation))
		{
			/* Under the lock: a removal ends the build's phase. */
			Assert(!on || lb_build_is_running(shared));
			while (stripe->queued != LB_NONE)
			{
				LbRef		ref;

				free_pages(&build->mem, take_queue(stripe, &ref));
				lb_live_board_release(shared, stripe, ref);
			}

			/* Before the first stripe queues. */
			if (on && s == 0)
				pg_atomic_write_u32(&shared->queue_lost, 0);
			stripe->queueing = on;
		}
		LWLockRelease(&stripe->lock);
	}
}


/* ----------------------------------------------------------------
 *		New boards
 * ----------------------------------------------------------------
 */

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

/* Count work, of a board or of a key, and yield now and then. */
static inline void
count_work(uint64 *work, uint64 more)
{
	uint64		before = *work / YIELD_KEYS;

	*work += more;
	if (*work / YIELD_KEYS > before)
		lb_yield();
}

/* Add the next sorted key to an index. */
static LbResult
add_key(LbBulk *bulk, const int64 *key, uint64 *work)
{
	count_work(work, 1);
	if (LB_PLANTED(21) && bulk->index->shape.counts && bulk->height > 0 &&
		lb_words_cmp(bulk->last, key, bulk->index->shape.width) == 0)
		return LB_OK;
	return lb_bulk_add(bulk, key);
}

/* Set the sum of the rows that are not in a new board's index. */
static void
set_off_board(LbLiveBoard *board, int64 sum)
{
	board->off_board = sum;
	board->no_key |= lb_rows_without_key(sum) != 0;
}

static LbResult
fill_single(LbBuild *build, LbSort *sort, const LbValues *values)
{
	LbValue		none = {0, ""};
	LbLiveBoard *board;
	LbBulk		bulk;
	LbResult	result;
	const int64 *key;
	uint64		work = 0;

	build->single = lb_live_board_new(&build->mem, build->shared, 0, &none);
	if (build->single == LB_NONE)
		return LB_NOMEM;
	board = lb_live_board_at(build->single);
	board->floor = build->floor;
	set_off_board(board, values->off_board);
	result = lb_bulk_begin(&bulk, &build->mem, &board->index,
						   lb_sort_count(sort));
	bulk.poll = lb_yield;
	while (result == LB_OK && (key = lb_sort_next(sort)) != NULL)
		result = add_key(&bulk, key, &work);
	return result == LB_OK ? lb_bulk_finish(&bulk) : result;
}

/* The number of its board's value is in front of each key. */
static LbResult
fill_family(LbBuild *build, LbSort *sort, const LbValues *values)
{
	LbBulk		bulk;
	LbResult	result = LB_OK;
	const int64 *tuple;
	int64		current = -1;
	uint64		work = 0;

	while (result == LB_OK && (tuple = lb_sort_next(sort)) != NULL)
	{
		if (tuple[0] != current)
		{
			LbRef		ref;
			LbLiveBoard *board;

			if (current >= 0)
				result = lb_bulk_finish(&bulk);
			current = tuple[0];
			count_work(&work, BOARD_KEYS);
			board = new_board_make(build, values->values[current]->hash,
								   &values->values[current]->value, &ref);
			if (board == NULL)
				return LB_NOMEM;
			if (result == LB_OK)
			{
				result = lb_bulk_begin(&bulk, &build->mem, &board->index, 0);
				bulk.poll = lb_yield;
			}
		}
		if (result == LB_OK)
			result = add_key(&bulk, tuple + 1, &work);
	}
	if (result == LB_OK && current >= 0)
		result = lb_bulk_finish(&bulk);
	return result;
}

/* The numbers of rows that are off the boards of a family. */
static LbResult
fill_off_board(LbBuild *build, const LbValues *values)
{
	uint64		work = 0;

	for (int i = 0; i < values->nvalues; i++)
	{
		const LbScannedValue *scanned = values->values[i];
		LbRef		ref;
		LbLiveBoard *board;

		if (scanned->off_board == 0)
			continue;
		count_work(&work, BOARD_KEYS);
		board = new_board_make(build, scanned->hash, &scanned->value, &ref);
		if (board == NULL)
			return LB_NOMEM;
		set_off_board(board, scanned->off_board);
	}
	return LB_OK;
}

LbBuildResult
lb_fill_boards(LbBuild *build, LbSort *sort, const LbValues *values)
{
	LbResult	result = build->shared->family ?
		fill_family(build, sort, values) : fill_single(build, sort, values);

	if (result == LB_OK)
		result = fill_off_board(build, values);
	if (result == LB_NOMEM)
		return LB_BUILD_NOMEM;
	return result == LB_OK ? LB_BUILD_DONE : LB_BUILD_DUPLICATE;
}


/* ----------------------------------------------------------------
 *		Draining the queues
 * ----------------------------------------------------------------
 */

/* Queues that were taken off their boards, and the new boards for them. */
typedef struct Queues
{
	int			n;
	struct
	{
		LbRef		first;
		LbLiveBoard *board;
	}			queues[BOARDS_AT_ONCE];
} Queues;

/*
 * Take the queues of some boards of a stripe, whose lock is held exclusively.
 * Returns false if there was no memory for a new board.
 */
static bool
take_queues(LbBuild *build, LbStripe *stripe, Queues *queues)
{
	LbSharedBoard *shared = build->shared;
	bool		ok = true;

	queues->n = 0;
	while (stripe->queued != LB_NONE && queues->n < BOARDS_AT_ONCE)
	{
		LbRef		ref;
		LbRef		newref;
		LbRef		pages = take_queue(stripe, &ref);
		LbLiveBoard *old = lb_live_board_at(ref);
		LbValue		value = lb_live_board_value(old);
		LbLiveBoard *board = new_board_make(build, old->hash, &value, &newref);

		queues->queues[queues->n].first = pages;
		queues->queues[queues->n++].board = board;
		if (board == NULL)
			ok = false;
		lb_live_board_release(shared, stripe, ref);
	}
	return ok;
}

/*
 * Apply a queue to its new board.  Looks for interrupts, which the locks of
 * lb_install() hold back.
 */
static LbBuildResult
apply_queue(LbBuild *build, LbLiveBoard *board, LbRef page_ref,
			uint64 *napplied)
{
	const LbShape *shape = &build->shared->shape;

	while (page_ref != LB_NONE)
	{
		LbQueuePage *page = (LbQueuePage *) lb_ptr(build->mem.arena, page_ref);
		uint32		at = 0;

		CHECK_FOR_INTERRUPTS();
		while (at < page->used)
		{
			LbQueueRecord record;
			LbResult	result;

			at = lb_queue_record(shape, page, at, &record);
			if (lb_had_ended(&build->snapshot, record.xid))
				continue;
			if (record.off_board != 0)
			{
				set_off_board(board, board->off_board + record.off_board);
				continue;
			}
			result = lb_apply_change(&build->mem, &board->index, record.old,
									 record.new, record.rows, NULL, NULL);
			if (result == LB_NOMEM)
				return LB_BUILD_NOMEM;
			if (result != LB_OK)
				return LB_BUILD_AGAIN;
			(*napplied)++;
		}
		page_ref = page->next;
	}
	return LB_BUILD_DONE;
}

/* Free what is left of queues. */
static void
free_queues(LbBuild *build, Queues *queues)
{
	for (int i = 0; i < queues->n; i++)
	{
		free_pages(&build->mem, queues->queues[i].first);
		queues->queues[i].first = LB_NONE;
	}
}

/* Queues that are being applied: no other process can reach them. */
typedef struct Taken
{
	LbBuild    *build;
	Queues	   *queues;
} Taken;

/* For an interrupt that ends the build, or its process. */
static void
abandon_queues(int code, Datum arg)
{
	const Taken *taken = (const Taken *) DatumGetPointer(arg);

	free_queues(taken->build, taken->queues);
}

/* Apply queues, until one fails, and free them all, whatever happens. */
static LbBuildResult
apply_queues(LbBuild *build, Queues *queues, uint64 *napplied)
{
	LbBuildResult result = LB_BUILD_DONE;
	Taken		taken = {build, queues};

	PG_ENSURE_ERROR_CLEANUP(abandon_queues, PointerGetDatum(&taken));
	{
		for (int i = 0; result == LB_BUILD_DONE && i < queues->n; i++)
		{
			result = apply_queue(build, queues->queues[i].board,
								 queues->queues[i].first, napplied);
			free_pages(&build->mem, queues->queues[i].first);
			queues->queues[i].first = LB_NONE;
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon_queues, PointerGetDatum(&taken));
	free_queues(build, queues);
	return result;
}

/*
 * Apply what a stripe has queued, some boards at a time.  With locked the
 * caller holds the stripe's exclusive lock; without, the lock is held only
 * while queues are taken, and further entries may be queued meanwhile.
 */
static LbBuildResult
drain_stripe(LbBuild *build, LbStripe *stripe, bool locked, uint64 *napplied)
{
	LbBuildResult result;
	Queues		queues;

	do
	{
		bool		gone;
		bool		ok = true;

		queues.n = 0;
		if (!locked)
			LWLockAcquire(&stripe->lock, LW_EXCLUSIVE);
		gone = !lb_shared_board_is(build->shared, build->generation);
		if (!gone)
			ok = take_queues(build, stripe, &queues);
		if (!locked)
			LWLockRelease(&stripe->lock);
		if (gone)
			return LB_BUILD_GONE;
		if (!ok)
		{
			free_queues(build, &queues);
			return LB_BUILD_NOMEM;
		}
		result = apply_queues(build, &queues, napplied);
		if (!locked)
			lb_yield();
	} while (result == LB_BUILD_DONE &&
			 (locked ? queues.n > 0 : queues.n == BOARDS_AT_ONCE));
	return result;
}

LbBuildResult
lb_drain(LbBuild *build)
{
	for (int round = 0; round < MAX_ROUNDS; round++)
	{
		uint64		napplied = 0;

		for (int s = 0; s < LB_STRIPES; s++)
		{
			LbBuildResult result = drain_stripe(build,
												&build->shared->stripes[s],
												false, &napplied);

			if (result != LB_BUILD_DONE)
				return result;
		}
		lb_yield();
		if (napplied < FEW_ENTRIES)
			break;
	}
	return LB_BUILD_DONE;
}


/* ----------------------------------------------------------------
 *		Installing
 *
 *		Each step holds the exclusive locks of all stripes.
 * ----------------------------------------------------------------
 */

/* For the walks below: a build, and the stripe that is walked through. */
typedef struct Walk
{
	LbBuild    *build;
	LbStripe   *stripe;
	bool		ok;
	uint64		off_board;
	LbRef		empty;			/* new boards that are empty, linked as those
								 * that have a queue */
} Walk;

static void
walk_all(Walk *walk, bool (*visit) (uint32 hash, LbRef ref, void *arg))
{
	LbSharedBoard *shared = walk->build->shared;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		walk->stripe = &shared->stripes[s];
		lb_stripe_walk(walk->stripe, shared->family, visit, walk);
	}
}

bool
lb_misses_changes(const LbBuild *build)
{
	return lb_unknown_running(build->shared, &build->before);
}

/* Whether the build's boards still are what the table has. */
static LbBuildResult
check_installable(const LbBuild *build)
{
	if (!lb_shared_board_is(build->shared, build->generation))
		return LB_BUILD_GONE;
	if (pg_atomic_read_u32(&build->shared->queue_lost) != 0 ||
		lb_misses_changes(build))
		return LB_BUILD_AGAIN;
	return LB_BUILD_DONE;
}

/* Apply what was queued since lb_drain(). */
static LbBuildResult
drain_rest(LbBuild *build)
{
	LbBuildResult result = LB_BUILD_DONE;
	uint64		napplied = 0;

	for (int s = 0; result == LB_BUILD_DONE && s < LB_STRIPES; s++)
		result = drain_stripe(build, &build->shared->stripes[s], true,
							  &napplied);
	return result;
}

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

static bool
reserve_board(uint32 hash, LbRef ref, void *arg)
{
	Walk	   *walk = (Walk *) arg;
	LbLiveBoard *old = lb_live_board_at(ref);
	LbValue		value = lb_live_board_value(old);
	LbRef		newref;

	if ((has_unseen(walk->build, &old->pending) ||
		 has_unseen(walk->build, &old->history)) &&
		new_board_make(walk->build, old->hash, &value, &newref) == NULL)
		walk->ok = false;
	return walk->ok;
}

/*
 * Make the new boards that publications move to, so that move_publications()
 * needs no memory.
 */
static bool
reserve_boards(LbBuild *build)
{
	Walk		walk = {.build = build,.ok = true};

	walk_all(&walk, reserve_board);
	return walk.ok;
}

/*
 * Take the next publication off an old board's list.  Those that the scan has
 * seen are discarded.  Returns NULL at the list's end.
 */
static LbPublication *
next_unseen(LbBuild *build, dlist_head *list)
{
	while (!dlist_is_empty(list))
	{
		LbPublication *pub = dlist_container(LbPublication, node,
											 dlist_head_node(list));

		if (!lb_had_ended(&build->snapshot, pub->xid))
		{
			dlist_delete(&pub->node);
			return pub;
		}
		lb_discard_publication(build->shared, pub);
	}
	return NULL;
}

/* Move what an old board has beside its index to the new board. */
static bool
move_board(uint32 hash, LbRef ref, void *arg)
{
	Walk	   *walk = (Walk *) arg;
	LbBuild    *build = walk->build;
	LbLiveBoard *old = lb_live_board_at(ref);
	LbValue		value = lb_live_board_value(old);
	LbRef		newref;
	LbLiveBoard *board = new_board_find(build, old->hash, &value, &newref);
	LbFloor    *floor = board != NULL ? &board->floor : &walk->stripe->floor;
	pg_atomic_uint64 *counters = board != NULL ? board->counters :
		build->shared->counters;
	LbPublication *pub;

	while ((pub = next_unseen(build, &old->pending)) != NULL)
	{
		pub->board = newref;
		if (pub->settling)
			board->nsettling++;
		board->no_key |= lb_rows_without_key(pub->off_board) != 0;
		dlist_push_tail(&board->pending, &pub->node);
	}

	if (board != NULL)
		board->off_board_xid = Max(board->off_board_xid,
								   old->off_board_xid);

	/* A read may have to undo what the scan has not seen. */
	while ((pub = next_unseen(build, &old->history)) != NULL)
	{
		pub->board = newref;

		/* The new index has it, from the scan or from the queue. */
		pub->version = board->applied;
		board->no_key |= lb_rows_without_key(pub->off_board) != 0;
		dlist_push_tail(&board->history, &pub->node);
	}
	lb_raise_floor(floor, old->floor.next_xid, old->floor.xid);
	for (int i = 0; i < LB_NCOUNTERS; i++)
	{
		uint64		n = pg_atomic_read_u64(&old->counters[i]);

		if (n > 0)
			pg_atomic_fetch_add_u64(&counters[i], n);
	}
	return true;
}

static void
move_publications(LbBuild *build)
{
	LbSharedBoard *shared = build->shared;
	Walk		walk = {.build = build};

	for (int s = 0; s < LB_STRIPES; s++)
		lb_raise_floor(&shared->stripes[s].floor, build->floor.next_xid,
					   build->floor.xid);
	walk_all(&walk, move_board);
}

/*
 * From here on the new boards are the stripes', and the old ones the build's.
 */
static void
swap_boards(LbBuild *build)
{
	LbSharedBoard *shared = build->shared;

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
}

static bool
inherit_floor(uint32 hash, LbRef ref, void *arg)
{
	Walk	   *walk = (Walk *) arg;
	LbLiveBoard *board = lb_live_board_at(ref);

	lb_raise_floor(&board->floor, walk->stripe->floor.next_xid,
				   walk->stripe->floor.xid);
	walk->off_board += board->off_board;
	if (lb_index_bytes(&board->index) == 0 && board->off_board == 0 &&
		dlist_is_empty(&board->pending) && dlist_is_empty(&board->history))
	{
		board->next_queued = walk->empty;
		walk->empty = ref;
	}
	return true;
}

/*
 * Raise the floors of the new boards to those of their stripes, which may have
 * been raised meanwhile by boards that were given back.  Give back a family's
 * boards that are empty.  Sum up the rows off all boards.
 */
static void
inherit_floors(LbBuild *build)
{
	LbSharedBoard *shared = build->shared;
	Walk		walk = {.build = build};

	walk_all(&walk, inherit_floor);
	while (walk.empty != LB_NONE)
	{
		LbRef		ref = walk.empty;
		LbLiveBoard *board = lb_live_board_at(ref);
		int			s = lb_value_stripe(shared->family, board->hash);

		walk.empty = board->next_queued;
		board->next_queued = LB_NONE;
		lb_live_board_release(shared, &shared->stripes[s], ref);
	}
	pg_atomic_write_u64(&shared->off_board, walk.off_board);
}

static void
announce(LbBuild *build)
{
	LbSharedBoard *shared = build->shared;

	build->installed = true;
	lb_set_ready(shared);

	/*
	 * A transaction with unknown changes takes no stripe's lock.  It notes
	 * its xid first and then takes the board offline, which lb_set_ready()
	 * may have overwritten: look for its xid again.
	 */
	if (lb_misses_changes(build))
		lb_take_offline(shared, build->generation, LB_UNKNOWN_CHANGES, true);
}

LbBuildResult
lb_install(LbBuild *build)
{
	LbSharedBoard *shared = build->shared;
	LbBuildResult result;

	for (int s = 0; s < LB_STRIPES; s++)
		LWLockAcquire(&shared->stripes[s].lock, LW_EXCLUSIVE);
	result = check_installable(build);
	lb_pause("install");
	if (result == LB_BUILD_DONE)
		result = drain_rest(build);
	if (result == LB_BUILD_DONE && !reserve_boards(build))
		result = LB_BUILD_NOMEM;
	if (result == LB_BUILD_DONE)
	{
		lb_forget_unknown(&shared->unknown, &build->before);
		move_publications(build);
		swap_boards(build);
		inherit_floors(build);
		announce(build);
	}
	for (int s = LB_STRIPES - 1; s >= 0; s--)
		LWLockRelease(&shared->stripes[s].lock);

	/* The old boards, if the new ones were installed. */
	lb_free_new_boards(build);
	return result;
}
