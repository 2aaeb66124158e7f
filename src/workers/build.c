/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Builds of boards by background workers.
 *
 * One launcher without a database starts a worker for each database that has
 * something to build, at server start for every one.  A worker connects,
 * builds and leaves: a standing connection would block DROP DATABASE and
 * CREATE DATABASE ... TEMPLATE, and a running build gives way to them.
 *
 * A build does not block writers.  It first has every stripe queue what is
 * settled from now on, and only then takes its snapshot; a transaction that
 * the snapshot does not see settles later and is in the queue, one that it
 * sees is in the scan, and the queue's entries of those are skipped.  The scan
 * is sorted and packed into new boards that nobody else can reach.  What the
 * queue has gathered is applied to them, in rounds until little is left, the
 * rest under all stripes' locks, under which the new boards take the place of
 * the old ones, which have served reads until then.
 *
 * Publications that are still pending move to the new boards, except those of
 * transactions that had ended before the snapshot: the scan has them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinval.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "boards/own.h"
#include "capture/capture.h"
#include "ledger/batch.h"
#include "ledger/prepared.h"
#include "ledger/publication.h"
#include "ledger/queue.h"
#include "ledger/snapshot.h"
#include "service/maintain.h"
#include "service/watch.h"
#include "util/pause.h"
#include "util/region.h"
#include "workers/build.h"

/* Rows between two looks at whether to go on. */
#define POLL_ROWS 8192

/* Stop draining the queue without locks when a round brings this little. */
#define FEW_ENTRIES 1000
#define MAX_ROUNDS 50

#define LB_UNKNOWN_CHANGES "a transaction whose changes are unknown has not ended"

/* Milliseconds before something that failed is tried again. */
#define RETRY_SOON 200
#define RETRY_LATER 5000

/* The reason of a board whose worker could not even begin. */
#define LB_WORKER_FAILED "a build worker has failed: the server's log has the cause"

#define MAX_WORKERS 64

/* Milliseconds between two xids that the launcher completes. */
#define XID_EVERY 200

/* Milliseconds before a worker that notifies is started again. */
#define NOTIFIER_RETRY 2000

/* Milliseconds before the log is told again that no worker is to be had. */
#define TELL_AGAIN (3600 * 1000)

/* Definitions that the launcher takes from one look through the directory. */
#define AT_ONCE 64

/* The least time between two looks through all histories, in milliseconds. */
#define TRIM_INTERVAL 5000

bool
lb_have_passed(TimestampTz since, TimestampTz now, int msec)
{
	return TimestampDifferenceExceeds(since, now, msec) ||
		TimestampDifferenceExceeds(now, since, msec);
}

/* Is the log to be told (again) of what was told at *told, or never (0)? */
static bool
is_to_tell(TimestampTz *told, TimestampTz now)
{
	if (*told != 0 && !lb_have_passed(*told, now, TELL_AGAIN))
		return false;
	*told = now;
	return true;
}

/* A build under way, in the worker. */
typedef struct Build
{
	LbSharedBoard *shared;
	uint64		generation;
	LbMem		mem;
	LbSnapshot	before;			/* from before the definition was resolved */
	LbSnapshot	snapshot;
	LbFloor		floor;			/* of the new boards */
	bool		installed;
	bool		ended;

	/* The new boards, not reachable by others yet. */
	LbRef		single;
	LbHash		boards[LB_STRIPES];
} Build;

typedef enum BuildResult
{
	BUILD_DONE,
	BUILD_NOMEM,
	BUILD_DUPLICATE,
	BUILD_GONE,
	BUILD_AGAIN					/* the queue was lost, or changes are unknown */
} BuildResult;


/* ----------------------------------------------------------------
 *		Scan and sort
 * ----------------------------------------------------------------
 */

/* The number of a value, entered if it is new. */
static int
value_number(LbValues *values, const LbValue *value)
{
	uint32		hash = lb_value_hash(value);
	uint32		at;
	char	   *copy;

	if (values->nvalues * 2 >= values->nbuckets)
	{
		int			nbuckets = Max(64, values->nbuckets * 2);
		int32	   *buckets = MemoryContextAllocHuge(CurrentMemoryContext,
													 nbuckets * sizeof(int32));

		memset(buckets, -1, nbuckets * sizeof(int32));
		for (int i = 0; i < values->nvalues; i++)
		{
			at = values->hashes[i] & (nbuckets - 1);
			while (buckets[at] >= 0)
				at = (at + 1) & (nbuckets - 1);
			buckets[at] = i;
		}
		if (values->buckets != NULL)
			pfree(values->buckets);
		values->buckets = buckets;
		values->nbuckets = nbuckets;
	}
	at = hash & (values->nbuckets - 1);
	while (values->buckets[at] >= 0)
	{
		int			n = values->buckets[at];

		if (values->hashes[n] == hash && values->values[n].len == value->len &&
			memcmp(values->values[n].data, value->data, value->len) == 0)
			return n;
		at = (at + 1) & (values->nbuckets - 1);
	}
	if (values->nvalues == values->maxvalues)
	{
		values->maxvalues = Max(64, values->maxvalues * 2);
		if (values->values == NULL)
		{
			values->values = palloc(values->maxvalues * sizeof(LbValue));
			values->hashes = palloc(values->maxvalues * sizeof(uint32));
		}
		else
		{
			values->values = repalloc_huge(values->values,
										   values->maxvalues * sizeof(LbValue));
			values->hashes = repalloc_huge(values->hashes,
										   values->maxvalues * sizeof(uint32));
		}
	}
	copy = palloc(Max(1, value->len));
	memcpy(copy, value->data, value->len);
	values->values[values->nvalues].len = value->len;
	values->values[values->nvalues].data = copy;
	values->hashes[values->nvalues] = hash;
	values->buckets[at] = values->nvalues;
	return values->nvalues++;
}

/* The rows of one table. */
static void
sort_table(LbDefinition *defn, Relation rel, Snapshot snapshot, LbSort *sort,
		   LbValues *values, uint64 *rows, pg_atomic_uint64 *progress,
		   void (*poll) (void))
{
	/* The number of a board's value is needed in front of the key only then. */
	int			first = defn->family ? 0 : 1;
	TableScanDesc scan;
	TupleTableSlot *slot;
	int64		tuple[LB_SORT_MAX_WORDS];
	uint64		nrows = *rows;
	MemoryContext row_context;
	MemoryContext old;
	LbValue		last_value = {-1, NULL};

	row_context = AllocSetContextCreate(CurrentMemoryContext,
										"leaderboard row",
										ALLOCSET_DEFAULT_SIZES);
	slot = table_slot_create(rel, NULL);
	scan = table_beginscan(rel, snapshot, 0, NULL);
	tuple[0] = 0;
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		LbValue		value;
		char		digits[32];
		bool		ranked;

		if (++nrows % POLL_ROWS == 0)
		{
			if (progress != NULL)
				pg_atomic_write_u64(progress, nrows);
			poll();
		}
		old = MemoryContextSwitchTo(row_context);
		ranked = lb_row_key(defn, slot, tuple + 1, &value, digits);
		MemoryContextSwitchTo(old);
		if (ranked)
		{
			if (defn->family &&
				(value.len != last_value.len ||
				 memcmp(value.data, last_value.data, value.len) != 0))
			{
				tuple[0] = value_number(values, &value);
				last_value = values->values[tuple[0]];
			}
			lb_sort_add(sort, tuple + first);
		}
		if (defn->family)
			MemoryContextReset(row_context);
	}
	if (progress != NULL)
		pg_atomic_write_u64(progress, nrows);
	*rows = nrows;
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(row_context);
}

LbSort *
lb_sort_rows(LbDefinition *defn, Relation rel, Snapshot snapshot,
			 LbValues *values, pg_atomic_uint64 *progress, void (*poll) (void))
{
	LbSort	   *sort = lb_sort_begin(defn->width + (defn->family ? 1 : 0),
									 (Size) maintenance_work_mem * 1024);
	uint64		rows = 0;
	ListCell   *lc;

	memset(values, 0, sizeof(*values));
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		sort_table(defn, rel, snapshot, sort, values, &rows, progress, poll);
	else
	{
		/* The partitions of now, which the snapshot may be too old for. */
		foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
		{
			Relation	part;

			if (lfirst_oid(lc) == RelationGetRelid(rel))
				continue;
			if (!lb_is_part(defn, lfirst_oid(lc)))
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_IN_USE),
						 errmsg("the partitions of table \"%s\" have changed",
								RelationGetRelationName(rel)),
						 errhint("Try again.")));
			part = table_open(lfirst_oid(lc), AccessShareLock);
			if (part->rd_rel->relkind == RELKIND_RELATION)
				sort_table(lb_part_defn(defn, part), part, snapshot, sort,
						   values, &rows, progress, poll);
			table_close(part, NoLock);
		}
	}
	lb_sort_perform(sort);
	return sort;
}


/* ----------------------------------------------------------------
 *		One build
 * ----------------------------------------------------------------
 */

bool
lb_must_give_way(void)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();
	LOCKTAG		tag;

	if (!lb_have_passed(last, now, 100))
		return false;
	last = now;
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) ==
		LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

void
lb_give_way(void)
{
	CHECK_FOR_INTERRUPTS();
	if (lb_must_give_way())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the %s gives way to a command on the database",
						strcmp(MyBgworkerEntry->bgw_type, "leaderboard worker") == 0 ?
						"build" : "maintenance")));
}

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
static void
set_queueing(Build *build, bool on)
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
new_board_find(Build *build, uint32 hash, const LbValue *value, LbRef *ref)
{
	LbStripe	stripe;

	stripe.single = build->single;
	stripe.boards = build
		->boards[lb_value_stripe(build->shared->family, hash)];
	return lb_live_board_find(build->shared, &stripe, hash, value, ref);
}

static LbLiveBoard *
new_board_make(Build *build, uint32 hash, const LbValue *value, LbRef *ref)
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

static void
free_new_boards(Build *build)
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
static BuildResult
pack(Build *build, LbDefinition *defn, LbSort *sort, LbValues *values)
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
				lb_give_way();
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
				lb_give_way();
		}
		if (result == LB_OK && current >= 0)
			result = lb_bulk_finish(&bulk);
	}
	if (result == LB_NOMEM)
		return BUILD_NOMEM;
	return result == LB_OK ? BUILD_DONE : BUILD_DUPLICATE;
}

/* Apply a chain of queued entries to a new board. */
static BuildResult
apply_queue(Build *build, LbLiveBoard *board, LbRef page_ref, uint64 *napplied)
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
static BuildResult
drain_stripe(Build *build, int s, bool locked, uint64 *napplied)
{
	LbSharedBoard *shared = build->shared;
	LbStripe   *stripe = &shared->stripes[s];
	BuildResult result = BUILD_DONE;
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
			lb_give_way();
	} while (result == BUILD_DONE &&
			 (locked ? scan.n > 0 : scan.n == lengthof(scan.boards)));
	return result;
}

typedef struct Move
{
	Build	   *build;
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
has_unseen(const Build *build, dlist_head *list)
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

	lb_raise_floor(&board->floor, inherit->stripe->floor.note,
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
	Build	   *build = move->build;
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
			lb_forget_publication(build->shared, pub);
			continue;
		}
		board = new_board_find(build, old->hash, &value, &newref);
		dlist_delete(&pub->node);
		pub->board = newref;
		if (pub->settling)
			board->large++;
		dlist_push_tail(&board->pending, &pub->node);
	}

	/* What the scan has not seen can have to be undone. */
	dlist_foreach_modify(iter, &old->history)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (lb_had_ended(&build->snapshot, pub->xid))
		{
			lb_forget_publication(build->shared, pub);
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
		lb_raise_floor(&board->floor, old->floor.note, old->floor.xid);
	else
		lb_raise_floor(&move->stripe->floor, old->floor.note, old->floor.xid);
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
 * Whether a transaction whose changes are nowhere to be found, or one between
 * such, is running: in a snapshot, or now.
 */
static bool
is_running(LbUnknown *unknown, const LbSnapshot *snapshot)
{
	uint64		first;
	uint64		last;

	SpinLockAcquire(&unknown->mutex);
	first = unknown->first;
	last = unknown->last;
	SpinLockRelease(&unknown->mutex);
	return last != 0 && (snapshot != NULL ?
						 lb_any_running(snapshot, first, last) :
						 lb_any_in_progress(first, last));
}

/* The same of all that a definition has to do with. */
static bool
unknown_running(LbSharedBoard *shared, const LbSnapshot *snapshot)
{
	if (is_running(&shared->unknown, snapshot))
		return true;
	for (int i = 0; i < LB_MAX_DATABASES; i++)
	{
		LbDatabase *db = &lb_shared->databases[i];

		/*
		 * The last may have served a database that has an entry of its own
		 * now.
		 */
		if ((db->database == shared->database || i == LB_MAX_DATABASES - 1) &&
			is_running(&db->unknown, snapshot))
			return true;
	}
	return false;
}

/*
 * Whether one may have been running when the snapshot was taken.  Or before:
 * what it has done to the triggers may have come after we looked at them.
 */
static bool
misses_changes(const Build *build)
{
	return unknown_running(build->shared, &build->before);
}

/*
 * Whether a transaction that was prepared before the server started may have
 * changed the source.
 */
static bool
is_prepared_for(Oid source)
{
	LOCKTAG		tag;
	VirtualTransactionId *holders;
	int			n;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, source);
	holders = GetLockConflicts(&tag, ShareLock, &n);
	for (int i = 0; i < n; i++)
	{
		uint64		first = pg_atomic_read_u64(&lb_shared->first_xid);

		/* What was prepared since is in the ledger. */
		if (VirtualTransactionIdIsRecoveredPreparedXact(holders[i]) &&
			TransactionIdPrecedes(holders[i].localTransactionId,
								  (TransactionId) first))
			return true;
	}
	return false;
}

/*
 * Transactions with unknown changes that the build has seen are of no
 * consequence any more, nor is who happens to be between them.
 */
static void
forget_unknown(Build *build)
{
	LbUnknown  *unknown = &build->shared->unknown;

	SpinLockAcquire(&unknown->mutex);
	if (unknown->last != 0 &&
		!lb_any_running(&build->before, unknown->first, unknown->last))
	{
		unknown->first = 0;
		unknown->last = 0;
	}
	SpinLockRelease(&unknown->mutex);
}

/* The new boards take the place of the old ones. */
static BuildResult
install(Build *build)
{
	LbSharedBoard *shared = build->shared;
	BuildResult result = BUILD_DONE;
	uint64		napplied = 0;
	Move		move;

	for (int s = 0; s < LB_STRIPES; s++)
		LWLockAcquire(&shared->stripes[s].lock, LW_EXCLUSIVE);
	if (!lb_shared_board_is(shared, build->generation))
		result = BUILD_GONE;
	else if (pg_atomic_read_u32(&shared->queue_lost) != 0 ||
			 misses_changes(build))
		result = BUILD_AGAIN;
	lb_pause("install");
	for (int s = 0; result == BUILD_DONE && s < LB_STRIPES; s++)
		result = drain_stripe(build, s, true, &napplied);
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
		forget_unknown(build);
		for (int s = 0; s < LB_STRIPES; s++)
		{
			move.stripe = &shared->stripes[s];
			lb_raise_floor(&move.stripe->floor, build->floor.note,
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
		if (misses_changes(build))
			lb_shared_board_offline(shared, LB_UNKNOWN_CHANGES, true);
	}
	for (int s = LB_STRIPES - 1; s >= 0; s--)
		LWLockRelease(&shared->stripes[s].lock);

	/* Now these are the old ones. */
	free_new_boards(build);
	return result;
}

/* A build ended: tell those who wait for it. */
static void
end_build(Build *build, bool again)
{
	LbSharedBoard *shared = build->shared;

	if (build->ended)
		return;
	build->ended = true;
	SpinLockAcquire(&shared->mutex);
	if (shared->generation == build->generation)
	{
		shared->builder = 0;
		shared->attempts++;
		shared->failed = !build->installed;
		if (again && pg_atomic_read_u32(&shared->state) != LB_READY)
			shared->wanted = true;
		if (build->installed)
			shared->build_seconds =
				(GetCurrentTimestamp() - shared->build_start) / 1000000.0;
	}
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
	lb_wake_launcher();
}

/* Also when the worker is told to go. */
static void
abandon_build(int code, Datum arg)
{
	Build	   *build = (Build *) DatumGetPointer(arg);

	/* An error may have left the locks held. */
	LWLockReleaseAll();
	set_queueing(build, false);
	free_new_boards(build);
	end_build(build, true);
}

static void
build_offline(Build *build, const char *reason, bool retry)
{
	lb_shared_board_reason(build->shared, reason);
	if (pg_atomic_read_u32(&build->shared->state) != LB_READY)
		lb_shared_board_offline(build->shared, reason, retry);
}

/*
 * Forget what earlier builds have left in the relcache of a source.  Who has left
 * the proc array tells of what he did to its triggers only after that, COMMIT
 * PREPARED after it has removed files.  But he who is not running in the snapshot
 * of before is seen by what is read from here on.  The source is locked, lest it
 * or a partition is dropped meanwhile.
 */
static void
forget_source(Oid source)
{
	List	   *rels = find_all_inheritors(source, NoLock, NULL);
	ListCell   *lc;

	foreach(lc, rels)
	{
		SharedInvalidationMessage msg;

		msg.rc.id = SHAREDINVALRELCACHE_ID;
		msg.rc.dbId = MyDatabaseId;
		msg.rc.relId = lfirst_oid(lc);
		LocalExecuteInvalidationMessage(&msg);
	}
	list_free(rels);
}

/*
 * The definition that is to be built, as it is recorded now, or NULL.  Who asks
 * for a build in its COMMIT tells of the board only after that, and of COMMIT
 * PREPARED no callback of ours knows: if the cache does not have it, lb_board is
 * read anew.
 */
static LbDefinition *
find_recorded(const Build *build)
{
	for (int try = 0; try < 2; try++)
	{
		LbDefinition *defn = lb_defn_by_id(build->shared->id);

		if (defn != NULL && defn->catalog == build->shared->catalog &&
			defn->fingerprint == build->shared->fingerprint)
			return defn;
		lb_forget_defns();
	}
	return NULL;
}

/*
 * What is not recorded any more, or was never committed, is removed: it is of a
 * transaction that was prepared, or of a process whose cache was behind.  One that
 * was changed by hand, and has the same number, begins anew.
 */
static void
remove_unrecorded(Build *build)
{
	LbDefinition *defn;

	lb_shared_board_remove(build->shared, build->generation);
	end_build(build, false);
	defn = lb_defn_by_id(build->shared->id);
	if (defn != NULL && defn->catalog == build->shared->catalog)
	{
		LbSharedBoard *shared = lb_shared_board_attach(defn, true);

		if (shared != NULL)
			lb_shared_board_want_build(shared, defn->generation, false);
	}
}

/*
 * Lock and resolve what is to be built.  Returns NULL if it cannot be, and
 * then the build has ended.
 */
static LbDefinition *
prepare_build(Build *build)
{
	LbSharedBoard *shared = build->shared;
	LbDefinition *defn;
	Oid			source = InvalidOid;

	defn = find_recorded(build);
	if (defn == NULL)
	{
		remove_unrecorded(build);
		return NULL;
	}
	source = defn->source;
	lb_pause("claim");

	/*
	 * Never wait for the lock: a reader that waits for us may stand before
	 * the one that we would wait for.  But who has asked for the build in his
	 * COMMIT, having created the table too, is about to release it.
	 */
	for (int try = 0; !ConditionalLockRelationOid(source, AccessShareLock);
		 try++)
	{
		if (try == LB_LOCK_TRIES)
		{
			build_offline(build, LB_TABLE_LOCKED, true);
			end_build(build, true);
			return NULL;
		}
		pg_usleep(10000L);
		CHECK_FOR_INTERRUPTS();
	}

	/* Dropped while the library was not loaded, or recorded by hand. */
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
	{
		build_offline(build, "the source table does not exist", false);
		end_build(build, false);
		return NULL;
	}
	forget_source(source);
	defn = lb_defn_of(source, build->shared->catalog, build->shared->id);
	if (defn != NULL)
		defn->parts_valid = false;	/* for the locks */
	for (int try = 0; defn != NULL && !lb_resolve_parts(defn, false); try++)
	{
		if (try == LB_LOCK_TRIES)
		{
			build_offline(build, "a partition is locked", true);
			end_build(build, true);
			return NULL;
		}
		pg_usleep(10000L);
		CHECK_FOR_INTERRUPTS();
	}
	lb_pause("resolved");
	if (defn != NULL && (defn->problem != NULL || !defn->captured))
	{
		lb_shared_board_offline(shared, defn->problem ? defn->problem :
								"a capture trigger is missing or disabled", false);
		defn = NULL;
	}
	if (defn == NULL)
		end_build(build, false);
	return defn;
}

/*
 * Whether the source still has what a build has found there.  Its column's
 * types and triggers may have been altered by somebody who had ended before
 * that, but who has told of it only since.
 */
static bool
is_as_resolved(const Build *build, Oid source)
{
	LbDefinition *defn;

	AcceptInvalidationMessages();
	defn = lb_defn_of(source, build->shared->catalog, build->shared->id);

	/* A partition may have been altered by itself: its triggers count too. */
	return defn != NULL && lb_resolve_parts(defn, false) &&
		defn->problem == NULL && defn->captured;
}

/* Scan, sort, pack, catch up, install. */
static BuildResult
try_build(Build *build, LbDefinition *defn)
{
	LbSharedBoard *shared = build->shared;
	Relation	rel;
	LbSort	   *sort;
	LbValues	values;
	BuildResult result;
	LbUser		saved;

	/*
	 * Or one that had ended before has not told of it: after this, whoever
	 * has altered triggers has either done so, or is running in our snapshot.
	 */
	if (misses_changes(build) || pg_atomic_read_u32(&shared->nunknown) > 0)
	{
		/*
		 * Nothing has been done in vain: again as soon as they have ended,
		 * but not time after time.
		 */
		SpinLockAcquire(&shared->mutex);
		shared->awaiting = !shared->failed;
		SpinLockRelease(&shared->mutex);
		return BUILD_AGAIN;
	}
	pg_read_barrier();

	rel = table_open(defn->source, NoLock);
	pg_atomic_write_u64(&shared->build_total,
						rel->rd_rel->reltuples < 0 ? 0 : (uint64) rel->rd_rel->reltuples);

	/* Nothing of the user's runs here, but keep it that way. */
	lb_switch_to_owner(&saved, rel->rd_rel->relowner, false);
	sort = lb_sort_rows(defn, rel, build->snapshot.snapshot, &values,
						&shared->build_done, lb_give_way);
	lb_restore_user(&saved);
	pg_atomic_write_u64(&shared->build_total,
						pg_atomic_read_u64(&shared->build_done));
	result = pack(build, defn, sort, &values);
	lb_sort_end(sort);
	table_close(rel, NoLock);
	lb_pause("packed");

	for (int round = 0; result == BUILD_DONE && round < MAX_ROUNDS; round++)
	{
		uint64		napplied = 0;

		for (int s = 0; result == BUILD_DONE && s < LB_STRIPES; s++)
			result = drain_stripe(build, s, false, &napplied);
		lb_give_way();
		if (napplied < FEW_ENTRIES)
			break;
	}
	if (result == BUILD_DONE && !is_as_resolved(build, defn->source))
		result = BUILD_AGAIN;
	if (result == BUILD_DONE)
		result = install(build);
	return result;
}

static void
build_claimed(Build *build)
{
	LbSharedBoard *shared = build->shared;
	Snapshot	before = RegisterSnapshot(GetLatestSnapshot());
	LbDefinition *defn;

	lb_snapshot_init(&build->before, before);
	defn = prepare_build(build);
	for (int attempt = 0; !build->ended; attempt++)
	{
		MemoryContext context;
		MemoryContext old;
		BuildResult result;
		bool		prepared;

		pg_atomic_write_u32(&shared->queue_lost, 0);
		set_queueing(build, true);

		/*
		 * Before the snapshot: a transaction leaves the proc array before it
		 * releases its locks, so one that is not found here is in the scan.
		 */
		prepared = is_prepared_for(defn->source);
		for (int i = 0; defn->parts_valid && i < defn->nparts; i++)
			prepared |= is_prepared_for(defn->parts[i]);
		PushActiveSnapshot(GetLatestSnapshot());
		lb_snapshot_init(&build->snapshot, GetActiveSnapshot());

		/*
		 * Whoever takes a snapshot from here on sees at least as much as we
		 * do.
		 */
		build->floor.note = lb_next_xid();
		build->floor.xid = build->snapshot.xmax - 1;
		lb_pause("build");

		context = AllocSetContextCreate(TopTransactionContext,
										"leaderboard build",
										ALLOCSET_DEFAULT_SIZES);
		old = MemoryContextSwitchTo(context);
		result = prepared ? BUILD_AGAIN : try_build(build, defn);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		PopActiveSnapshot();
		if (result == BUILD_DONE)
		{
			/*
			 * Complete an xid: on an idle server with an old transaction, the
			 * next snapshots would stay at our floor.
			 */
			(void) GetTopTransactionId();
			break;
		}
		set_queueing(build, false);
		free_new_boards(build);

		if (result == BUILD_NOMEM && attempt == 0 &&
			pg_atomic_read_u32(&shared->state) == LB_READY)
		{
			/* Both do not fit: without the old one, then. */
			lb_shared_board_offline(shared, "its index is being built again", true);
			lb_shared_board_free_indexes(shared, build->generation);
			SpinLockAcquire(&shared->mutex);
			shared->retry = false;
			pg_atomic_write_u32(&shared->state, LB_BUILDING);
			SpinLockRelease(&shared->mutex);
			continue;
		}
		if (result == BUILD_AGAIN && attempt < 3 &&
			pg_atomic_read_u32(&shared->queue_lost) != 0)
			continue;
		switch (result)
		{
			case BUILD_NOMEM:
				lb_shared_board_offline(shared, lb_memory_reason(shared),
										false);
				break;
			case BUILD_DUPLICATE:
				lb_shared_board_offline(shared, "a member is there twice, in spite of its unique index",
										false);
				break;
			case BUILD_AGAIN:
				build_offline(build, LB_UNKNOWN_CHANGES, true);
				break;
			case BUILD_GONE:
			case BUILD_DONE:
				break;
		}
		end_build(build, false);
	}
	UnregisterSnapshot(before);
}

/*
 * Build a definition that this worker has claimed.
 */
static void
build_one(LbSharedBoard *shared, uint64 generation)
{
	Build		build;

	memset(&build, 0, sizeof(Build));
	build.shared = shared;
	build.generation = generation;
	build.mem = lb_mem(shared);
	for (int s = 0; s < LB_STRIPES; s++)
		lb_hash_init(&build.boards[s]);
	pg_atomic_write_u64(&shared->build_done, 0);
	pg_atomic_write_u64(&shared->build_total, 0);
	SpinLockAcquire(&shared->mutex);
	shared->build_start = GetCurrentTimestamp();
	SpinLockRelease(&shared->mutex);

	PG_ENSURE_ERROR_CLEANUP(abandon_build, PointerGetDatum(&build));
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		build_claimed(&build);
		CommitTransactionCommand();
		end_build(&build, false);
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon_build, PointerGetDatum(&build));
}


/* ----------------------------------------------------------------
 *		Worker
 * ----------------------------------------------------------------
 */

/*
 * Take on a build of this database that nobody works on: the one that was not
 * tried for longest, lest a table that is locked keep all others waiting.
 */
static LbSharedBoard *
claim_build(uint64 *generation)
{
	dlist_iter	iter;
	LbSharedBoard *oldest;
	TimestampTz since = 0;
	bool		claimed = false;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	do
	{
		oldest = NULL;
		dlist_foreach(iter, &lb_shared->defs)
		{
			LbSharedBoard *shared = dlist_container(LbSharedBoard, node,
													iter.cur);

			/*
			 * A glance without the lock: a backend that wants a build wakes
			 * us.
			 */
			if (shared->database != MyDatabaseId || !shared->wanted)
				continue;
			SpinLockAcquire(&shared->mutex);
			if (shared->wanted && shared->builder == 0 &&
				(oldest == NULL || shared->build_start < since))
			{
				oldest = shared;
				since = shared->build_start;
			}
			SpinLockRelease(&shared->mutex);
		}
		if (oldest == NULL)
			break;
		SpinLockAcquire(&oldest->mutex);
		if (oldest->wanted && oldest->builder == 0)
		{
			oldest->wanted = false;
			oldest->builder = MyProcPid;
			*generation = oldest->generation;
			claimed = true;
		}
		SpinLockRelease(&oldest->mutex);
	} while (!claimed);			/* another worker was quicker */
	LWLockRelease(&lb_shared->directory_lock);
	return oldest;
}

/* No worker builds what is wanted: backends that wait run the query. */
static void
release_waiters(Oid database, const char *reason)
{
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->defs)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);
		bool		released = false;

		if (shared->database != database)
			continue;
		SpinLockAcquire(&shared->mutex);
		if (shared->wanted && shared->builder == 0)
		{
			shared->attempts++;
			shared->failed = true;
			shared->build_start = GetCurrentTimestamp();
			if (pg_atomic_read_u32(&shared->state) == LB_READY)
				shared->wanted = false;
			released = true;
		}
		SpinLockRelease(&shared->mutex);
		if (released)
			lb_shared_board_reason(shared, reason);
		ConditionVariableBroadcast(&shared->changed);
	}
	LWLockRelease(&lb_shared->directory_lock);
}

/*
 * A worker that has failed before it could take on a build, when it connected or
 * read lb_board: without this the launcher would start the next one at once, and
 * whoever waits would wait for it.
 */
static bool took_a_build = false;

static void
worker_exit(int code, Datum database)
{
	if (code != 0 && !took_a_build)
		release_waiters(DatumGetObjectId(database), LB_WORKER_FAILED);
}

void
lb_worker_settings(void)
{
	SetConfigOption("default_transaction_isolation", "read committed",
					PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_read_only", "off", PGC_SUSET,
					PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_deferrable", "off", PGC_SUSET,
					PGC_S_OVERRIDE);
#if PG_VERSION_NUM >= 170000
	/* One meant for users would end builds of large tables. */
	SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
#endif
}

void
lb_worker_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	LbDefinition **defns;
	int			n;
	LbSharedBoard *shared;
	uint64		generation;
	const LbCatalog *cat;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	before_shmem_exit(worker_exit, arg);
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	lb_pause_settings();
	lb_worker_settings();
	pgstat_report_appname("leaderboard worker");

	/* Enter what is recorded here; that asks for the builds. */
	StartTransactionCommand();
	cat = lb_catalog();
	if (cat != NULL && cat->version_ok)
	{
		n = lb_all_defns(&defns);
		for (int i = 0; i < n; i++)
		{
			shared = lb_shared_board_attach(defns[i], true);
			if (shared != NULL &&
				pg_atomic_read_u32(&shared->state) == LB_BUILDING)
			{
				SpinLockAcquire(&shared->mutex);
				if (shared->builder == 0 &&
					pg_atomic_read_u32(&shared->state) == LB_BUILDING)
					shared->wanted = true;
				SpinLockRelease(&shared->mutex);
			}
		}
	}
	if (cat != NULL && cat->version_ok)
		lb_watch_look();
	CommitTransactionCommand();

	while ((shared = claim_build(&generation)) != NULL)
	{
		uint32		attempts = shared->attempts;

		took_a_build = true;
		build_one(shared, generation);

		/* What failed is tried again later, by the launcher. */
		if (lb_shared_board_is(shared, generation) &&
			shared->attempts != attempts && shared->failed)
			break;
	}
}


/* ----------------------------------------------------------------
 *		Launcher
 * ----------------------------------------------------------------
 */

typedef struct Worker
{
	BackgroundWorkerHandle *handle; /* NULL: free */
	Oid			database;
	TimestampTz started;
} Worker;

static Worker workers[MAX_WORKERS];
static List *visits = NIL;		/* databases not looked at yet */

/* Maintenance has a worker of its own, one at a time. */
static Worker maintainer;
static List *maintenance = NIL; /* databases that are due */
static TimestampTz maintenance_last = 0;

/* Workers that notify, one for a database. */
#define MAX_NOTIFIERS 16
static Worker notifiers[MAX_NOTIFIERS];

/* No worker was to be had for these: what is free next is not for notifiers. */
static bool builds_wait = false;
static bool maintenance_waits = false;

static void
launcher_exit(int code, Datum arg)
{
	pg_atomic_write_u32(&lb_shared->launcher_pid, 0);
}

/* All databases that one can connect to. */
static void
list_databases(void)
{
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;
	MemoryContext old;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database db = (Form_pg_database) GETSTRUCT(tuple);

		if (!db->datallowconn)
			continue;
		old = MemoryContextSwitchTo(TopMemoryContext);
		visits = lappend_oid(visits, db->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
}

static int
running_workers(Oid database)
{
	int			n = 0;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		pid_t		pid;

		if (workers[i].handle == NULL)
			continue;
		if (GetBackgroundWorkerPid(workers[i].handle, &pid) == BGWH_STOPPED)
		{
			pfree(workers[i].handle);
			workers[i].handle = NULL;
			continue;
		}
		if (!OidIsValid(database) || workers[i].database == database)
			n++;
	}
	return n;
}

static bool
register_worker(Worker *slot, Oid database, const char *function,
				const char *type)
{
	static TimestampTz told = 0;
	TimestampTz now = GetCurrentTimestamp();
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "leaderboard", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	snprintf(worker.bgw_name, BGW_MAXLEN, "%s for database %u", type, database);
	strlcpy(worker.bgw_type, type, BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	if (!RegisterDynamicBackgroundWorker(&worker, &slot->handle))
	{
		slot->handle = NULL;

		/* It is tried again and again, and told once. */
		if (is_to_tell(&told, now))
			ereport(WARNING,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a %s for database %u", type,
							database),
					 errdetail("As many background workers are running as there may be."),
					 errhint("Increase \"max_worker_processes\". It is tried again until one has left.")));
		return false;
	}
	slot->database = database;
	slot->started = now;
	return true;
}

/*
 * No worker is to be had.  Those that notify stay for good, so one of them has
 * to leave, the same one until it has; it comes back when there is room and
 * nobody waits for it.  Returns whether there is one that does.
 */
static bool
make_room(void)
{
	for (int i = 0; i < MAX_NOTIFIERS; i++)
	{
		pid_t		pid;

		if (notifiers[i].handle == NULL ||
			GetBackgroundWorkerPid(notifiers[i].handle, &pid) != BGWH_STARTED)
			continue;
		TerminateBackgroundWorker(notifiers[i].handle);
		return true;			/* its end wakes us */
	}
	return false;
}

static bool
start_worker(Oid database)
{
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (workers[i].handle == NULL)
		{
			builds_wait = !register_worker(&workers[i], database,
										   "lb_worker_main",
										   "leaderboard worker");
			return !builds_wait;
		}
	}
	return false;
}

/*
 * Every so often, visit each database that has boards, one after the other.
 * Returns how long to sleep, in milliseconds.
 */
static long
start_maintenance(void)
{
	TimestampTz now = GetCurrentTimestamp();
	dlist_iter	iter;
	pid_t		pid;
	long		left;

	maintenance_waits = false;
	if (lb_maintenance_interval == 0)
		return 60000;
	/* The clock may have been set back. */
	if (maintenance_last == 0 || maintenance_last > now)
		maintenance_last = now;
	if (maintainer.handle != NULL)
	{
		/* Its end wakes us. */
		if (GetBackgroundWorkerPid(maintainer.handle, &pid) != BGWH_STOPPED)
			return 60000;
		pfree(maintainer.handle);
		maintainer.handle = NULL;
	}
	left = lb_maintenance_interval * 1000L -
		TimestampDifferenceMilliseconds(maintenance_last, now);
	if (maintenance == NIL)
	{
		if (left > 0)
			return left;
		maintenance_last = now;
		LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
		dlist_foreach(iter, &lb_shared->defs)
			maintenance = list_append_unique_oid(maintenance,
												 dlist_container(LbSharedBoard, node, iter.cur)->database);
		LWLockRelease(&lb_shared->directory_lock);
	}
	if (maintenance == NIL)
		return lb_maintenance_interval * 1000L;

	if (!register_worker(&maintainer, linitial_oid(maintenance),
						 "lb_maintain_main", "leaderboard maintenance"))
	{
		maintenance_waits = true;
		(void) make_room();
		return 1000;
	}
	maintenance = list_delete_first(maintenance);
	return 60000;
}

/* Definitions that a warning names. */
#define NAMED 3

typedef struct Growth
{
	Oid			database;
	char		name[NAMEDATALEN];
	int64		taken;
	int64		by;
} Growth;

/*
 * The definitions that have grown most since the last time, or since they were
 * built; where none has, the largest.  Fills in top, the first one first, and
 * returns how many there are.  Sizes are read at a glance, without the arena's
 * lock.
 */
static int
find_growth(Growth *top)
{
	int			n = 0;
	bool		any = false;
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->defs)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		any |= shared->grown_from >= 0 && shared->taken > shared->grown_from;
	}
	dlist_foreach(iter, &lb_shared->defs)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);
		int64		taken = shared->taken;
		int64		by = 0;
		int			i = n;

		if (shared->grown_from >= 0)
		{
			by = taken - shared->grown_from;
			shared->grown_from = taken;
		}
		if ((any ? by : taken) <= 0)
			continue;
		for (; i > 0 && (any ? top[i - 1].by < by :
						 top[i - 1].taken < taken); i--)
		{
			if (i < NAMED)
				top[i] = top[i - 1];
		}
		if (i == NAMED)
			continue;
		top[i].database = shared->database;
		memcpy(top[i].name, shared->name, NAMEDATALEN);
		top[i].taken = taken;
		top[i].by = any ? by : 0;
		n = Min(n + 1, NAMED);
	}
	LWLockRelease(&lb_shared->directory_lock);
	return n;
}

/* The level that the log was warned of, 80 or 95 per cent, or 0. */
static int	warned = 0;

/* Tell the log when memory runs low, and which boards take it. */
static void
warn_memory(void)
{
	LbArena    *arena = &lb_shared->arena;
	uint64		bytes = (uint64) lb_memory_kb * 1024;
	uint64		used;
	uint64		limit;
	int			level;

	lb_arena_lock(arena);
	used = arena->used;
	limit = arena->limit;
	lb_arena_unlock(arena);
	level = used >= limit / 100 * 95 ? 95 : used >= limit / 100 * 80 ? 80 : 0;
	if (level > warned)
	{
		Growth		top[NAMED];
		int			n = find_growth(top);
		StringInfoData names;

		initStringInfo(&names);
		for (int i = 0; i < n; i++)
		{
			appendStringInfo(&names, "%s\"%s\" of database %u has " INT64_FORMAT " bytes",
							 i == 0 ? "" : ", ", top[i].name,
							 top[i].database, top[i].taken);
			if (top[i].by > 0)
				appendStringInfo(&names, " (" INT64_FORMAT " more)",
								 top[i].by);
		}
		ereport(WARNING,
				(errmsg("%d %% of the shared memory of \"%s\" is used",
						level, "leaderboard.memory"),
				 n == 0 ?
				 errdetail("Used are " UINT64_FORMAT " of " UINT64_FORMAT " bytes.",
						   used, limit) :
				 errdetail("Used are " UINT64_FORMAT " of " UINT64_FORMAT " bytes. %s: %s.",
						   used, limit, top[0].by > 0 ?
						   "Grown most since the last warning, or since they were built" :
						   "The largest", names.data),
				 arena->reserved > bytes ?
				 errhint("Set \"%s\" higher and reload the configuration; up to " UINT64_FORMAT " bytes are reserved. A board that does not fit is answered by queries.",
						 "leaderboard.memory", arena->reserved) :
				 errhint("Set \"%s\" and \"%s\" higher and restart the server; no more is reserved. A board that does not fit is answered by queries.",
						 "leaderboard.memory", "leaderboard.max_memory")));
		pfree(names.data);
	}

	/* Not again for every change around a threshold. */
	if (level > warned || used < limit / 100 * 75)
		warned = level;
	pg_atomic_write_u64(&lb_shared->warn_at,
						warned == 95 ? PG_UINT64_MAX :
						limit / 100 * (warned == 80 ? 95 : 80));
}

/*
 * Put leaderboard.memory into force as it is set now.  If that is more than
 * before, boards that did not fit are built again, and every database is looked
 * at for those that there was not even an LbSharedBoard for.
 */
static void
apply_memory_limit(void)
{
	static uint64 told = 0;
	LbArena    *arena = &lb_shared->arena;
	uint64		bytes = (uint64) lb_memory_kb * 1024;
	uint64		before = lb_arena_set_limit(arena, bytes);
	uint64		limit = arena->limit;
	dlist_iter	iter;

	if (bytes > arena->reserved && bytes != told)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("\"%s\" is more than is reserved", "leaderboard.memory"),
				 errdetail("It is " UINT64_FORMAT " bytes, and " UINT64_FORMAT " were reserved when the server started. So much is in force.",
						   bytes, arena->reserved),
				 errhint("Set \"%s\" higher and restart the server.",
						 "leaderboard.max_memory")));
	told = bytes;
	if (limit == before)
		return;
	ereport(LOG,
			(errmsg("boards may now take " UINT64_FORMAT " bytes of shared memory instead of " UINT64_FORMAT,
					limit, before)));
	warned = 0;
	if (limit < before)
		return;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->defs)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		/* A glance without its lock: it is taken if there is something to do. */
		if (shared->refused_at != 0)
			lb_shared_board_want_build(shared, shared->generation, false);
	}
	LWLockRelease(&lb_shared->directory_lock);
	list_free(visits);
	visits = NIL;
	list_databases();
}

/*
 * Complete an xid, if one is wanted, a few times a second at most: where there
 * are more, others complete theirs.  Returns how long to sleep.
 */
static long
complete_xid(void)
{
	static TimestampTz last = 0;

	if (pg_atomic_read_u32(&lb_shared->xid_wanted) == 0)
		return 60000;
	if (!lb_have_passed(last, GetCurrentTimestamp(), XID_EVERY))
		return XID_EVERY;
	pg_atomic_write_u32(&lb_shared->xid_wanted, 0);
	pg_memory_barrier();
	StartTransactionCommand();
	(void) GetTopTransactionId();
	CommitTransactionCommand();
	last = GetCurrentTimestamp();
	return 60000;
}

/* Huge pages for what the arena has handed out; true if there is more to do. */
static bool
collapse_pages(void)
{
	LbArena    *arena = &lb_shared->arena;
	Size		used;

	lb_arena_lock(arena);
	used = (Size) arena->fresh * LB_CHUNK_SIZE;
	lb_arena_unlock(arena);
	return lb_region_collapse(arena->base, used);
}

/*
 * Settle what prepared transactions have left, and give back histories that
 * were still needed when their boards were emptied, or all that are not needed,
 * if they take too much.  Returns how long to sleep.
 */
static long
tidy_ledger(void)
{
	static TimestampTz all_trimmed = 0;
	long		sleep = 60000;
	bool		full = false;
	uint64		done = 0;
	int			n;
	dlist_iter	iter;

	/*
	 * Where old snapshots need the histories, they are full again at once:
	 * from time to time is enough.
	 */
	if (pg_atomic_read_u32(&lb_shared->histories_full) != 0)
	{
		TimestampTz now = GetCurrentTimestamp();

		full = lb_have_passed(all_trimmed, now, TRIM_INTERVAL);
		if (full)
		{
			all_trimmed = now;
			pg_atomic_write_u32(&lb_shared->histories_full, 0);
		}
		else
			sleep = TRIM_INTERVAL;
	}

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->defs)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		if (pg_atomic_read_u32(&shared->nprepared) > 0 &&
			lb_shared_board_settle_prepared(shared, shared->generation))
			sleep = Min(sleep, 500);
	}
	LWLockRelease(&lb_shared->directory_lock);

	/* Some after others, in the order of their generations. */
	do
	{
		struct
		{
			LbSharedBoard *shared;
			uint64		generation;
			bool		trim;
		}			some[AT_ONCE];

		n = 0;
		LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
		dlist_foreach(iter, &lb_shared->defs)
		{
			LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

			if (shared->generation <= done ||
				(!full && pg_atomic_read_u32(&shared->trim) == 0))
				continue;
			some[n].shared = shared;
			some[n].generation = shared->generation;
			some[n].trim = pg_atomic_exchange_u32(&shared->trim, 0) != 0;
			if (++n == AT_ONCE)
				break;
		}
		LWLockRelease(&lb_shared->directory_lock);
		if (n > 0 && done == 0)
			lb_update_horizon(true);
		for (int i = 0; i < n; i++)
		{
			done = some[i].generation;
			if (lb_shared_board_trim(some[i].shared, some[i].generation) &&
				some[i].trim)
			{
				pg_atomic_write_u32(&some[i].shared->trim, 1);
				sleep = Min(sleep, 500);
			}
		}
	} while (n == AT_ONCE);
	return sleep;
}

/*
 * Look through the directory: give memory back, see what there is to build.
 * Returns how long to sleep, in milliseconds.
 */
static long
launcher_round(void)
{
	long		sleep = tidy_ledger();
	TimestampTz now = GetCurrentTimestamp();
	List	   *wanted = NIL;	/* a database for each build */
	bool		any_wanted = false; /* at once or later */
	int			nrelease;
	int			ntell;
	ListCell   *lc;
	dlist_iter	iter;

	warn_memory();
	do
	{
		struct
		{
			LbSharedBoard *shared;
			uint64		generation;
		}			release[AT_ONCE];
		struct
		{
			Oid			database;
			char		name[NAMEDATALEN];
			char		reason[LB_MAX_REASON];
		}			tell[AT_ONCE];

		nrelease = 0;
		ntell = 0;
		list_free(wanted);
		wanted = NIL;
		any_wanted = false;
		LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
		dlist_foreach(iter, &lb_shared->defs)
		{
			LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);
			bool		due;
			bool		retry;
			bool		is_wanted;
			long		wait;

			SpinLockAcquire(&shared->mutex);

			/* What a build brings is no growth. */
			if (shared->builder != 0 ||
				pg_atomic_read_u32(&shared->state) != LB_READY)
				shared->grown_from = -1;
			else if (shared->grown_from < 0)
				shared->grown_from = shared->taken;
			if (shared->release && shared->builder == 0 && nrelease < AT_ONCE)
			{
				shared->release = false;
				release[nrelease].shared = shared;
				release[nrelease++].generation = shared->generation;
			}
			if (shared->tell && ntell < AT_ONCE)
			{
				shared->tell = false;
				memcpy(tell[ntell].name, shared->name, NAMEDATALEN);
				memcpy(tell[ntell].reason, shared->reason, LB_MAX_REASON);
				tell[ntell++].database = shared->database;
			}
			retry = shared->retry && !shared->wanted && shared->builder == 0 &&
				pg_atomic_read_u32(&shared->state) == LB_OFFLINE;

			/* A build that was under way when the limit was raised */
			if (shared->refused_at != 0 && shared->builder == 0 &&
				shared->refused_at < lb_shared->arena.limit &&
				pg_atomic_read_u32(&shared->state) == LB_OFFLINE)
			{
				shared->refused_at = 0;
				shared->wanted = true;
				pg_atomic_write_u32(&shared->state, LB_BUILDING);
			}
			is_wanted = shared->wanted && shared->builder == 0;
			wait = shared->attempts == 0 || !shared->failed ? 0 :
				retry ? RETRY_LATER : RETRY_SOON;
			due = wait == 0 ||
				lb_have_passed(shared->build_start, now, wait);
			SpinLockRelease(&shared->mutex);

			if (retry)
			{
				bool		ending = pg_atomic_read_u32(&shared->nunknown) > 0;
				bool		running = unknown_running(shared, NULL);

				/*
				 * As soon as those that we wait for have ended, and others
				 * know what they did.
				 */
				SpinLockAcquire(&shared->mutex);
				if (running || ending)
					due = false;
				else if (shared->awaiting)
					due = true;
				shared->awaiting = running || (ending && shared->awaiting);
				SpinLockRelease(&shared->mutex);
				sleep = Min(sleep, 1000);
				if (due)
				{
					lb_shared_board_want_build(shared, shared->generation,
											   false);
					is_wanted = true;
				}
			}
			any_wanted |= is_wanted;
			if (is_wanted)
			{
				if (due)
					wanted = lappend_oid(wanted, shared->database);
				else
					sleep = Min(sleep, RETRY_SOON);
			}
		}
		LWLockRelease(&lb_shared->directory_lock);

		/* Told here, since who takes a board offline must not do I/O. */
		for (int i = 0; i < ntell; i++)
			ereport(LOG,
					(errmsg("board \"%s\" of database %u is offline",
							tell[i].name, tell[i].database),
					 errdetail("Reason: %s.", tell[i].reason)));
		for (int i = 0; i < nrelease; i++)
			lb_shared_board_free_indexes(release[i].shared,
										 release[i].generation);
	} while (nrelease > 0 || ntell > 0);

	if (!any_wanted && visits == NIL)
		builds_wait = false;
	foreach(lc, wanted)
	{
		Oid			database = lfirst_oid(lc);
		int			asked = 0;
		ListCell   *lc2;

		foreach(lc2, wanted)
			asked += lfirst_oid(lc2) == database;
		if (running_workers(database) >= asked)
			continue;
		if (running_workers(InvalidOid) >= lb_build_workers)
			break;
		if (!start_worker(database))
		{
			if (!make_room())
				release_waiters(database, "no background worker is free");
			sleep = Min(sleep, 1000);
		}
	}
	list_free(wanted);

	/* The start of the server: look at every database once. */
	while (visits != NIL && running_workers(InvalidOid) < lb_build_workers)
	{
		if (!start_worker(linitial_oid(visits)))
		{
			(void) make_room();
			sleep = Min(sleep, 1000);
			break;
		}
		visits = list_delete_first(visits);
	}
	return sleep;
}

/*
 * Keep a worker for each database that has watches.  One that has left, since
 * somebody wanted the database or by an error, is not started again at once,
 * and none while something else waits for a worker.  Returns how long to sleep.
 */
static long
start_notifiers(void)
{
	static Oid	databases[LB_MAX_DATABASES];
	static TimestampTz told = 0;
	TimestampTz now = GetCurrentTimestamp();
	int			n = lb_watch_list(databases, LB_MAX_DATABASES);
	long		sleep = 60000;

	for (int i = 0; i < MAX_NOTIFIERS; i++)
	{
		pid_t		pid;

		if (notifiers[i].handle != NULL &&
			GetBackgroundWorkerPid(notifiers[i].handle, &pid) == BGWH_STOPPED)
		{
			pfree(notifiers[i].handle);
			notifiers[i].handle = NULL;
			notifiers[i].started = now;
		}
	}
	for (int d = 0; d < n; d++)
	{
		Worker	   *slot = NULL;

		for (int i = 0; i < MAX_NOTIFIERS; i++)
		{
			if (notifiers[i].database == databases[d])
			{
				slot = &notifiers[i];
				break;
			}
			/* Rather one that nobody waits to be started in again. */
			if (notifiers[i].handle == NULL &&
				(slot == NULL || OidIsValid(slot->database)))
				slot = &notifiers[i];
		}
		if (slot == NULL)
		{
			if (is_to_tell(&told, now))
				ereport(WARNING,
						(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
						 errmsg("could not start a %s for database %u",
								"leaderboard notifier", databases[d]),
						 errdetail("There are %d of them, which is as many as there may be.",
								   MAX_NOTIFIERS)));
			sleep = Min(sleep, NOTIFIER_RETRY);
			continue;
		}
		if (slot->database == databases[d] && slot->handle != NULL)
			continue;
		if (slot->database == databases[d] &&
			!lb_have_passed(slot->started, now, NOTIFIER_RETRY))
		{
			sleep = Min(sleep, NOTIFIER_RETRY);
			continue;
		}
		if (builds_wait || maintenance_waits)
		{
			sleep = Min(sleep, NOTIFIER_RETRY);
			continue;
		}
		if (!register_worker(slot, databases[d], "lb_watch_main",
							 "leaderboard notifier"))
		{
			slot->database = databases[d];
			slot->started = now;
			sleep = Min(sleep, NOTIFIER_RETRY);
		}
	}
	return sleep;
}

void
lb_launcher_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	/* A crash of the launcher alone does not make captured changes unknown. */
	if (pg_atomic_read_u64(&lb_shared->first_xid) == 0)
		pg_atomic_write_u64(&lb_shared->first_xid,
							lb_next_xid());

	lb_shared->launcher_latch = MyLatch;
	before_shmem_exit(launcher_exit, (Datum) 0);
	pg_write_barrier();
	pg_atomic_write_u32(&lb_shared->launcher_pid, MyProcPid);
	list_databases();
	apply_memory_limit();

	while (!ShutdownRequestPending)
	{
		long		sleep;

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			apply_memory_limit();
		}
		sleep = launcher_round();
		sleep = Min(sleep, complete_xid());
		sleep = Min(sleep, start_maintenance());
		sleep = Min(sleep, start_notifiers());
		if (collapse_pages())
			sleep = 0;
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 sleep, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	/*
	 * Terminated: with this status it is started again, unless the server is
	 * shutting down.
	 */
	proc_exit(1);
}


/* ----------------------------------------------------------------
 *		Waiting
 * ----------------------------------------------------------------
 */

LbWait
lb_wait_build(LbSharedBoard *shared, uint64 generation, bool rebuild,
			  long timeout_ms)
{
	TimestampTz start = GetCurrentTimestamp();
	uint32		target;
	LbWait		result;

	/* A build that is running already has begun before we asked. */
	SpinLockAcquire(&shared->mutex);
	target = shared->attempts + (rebuild && shared->builder != 0 ? 2 : 1);
	SpinLockRelease(&shared->mutex);
	lb_shared_board_want_build(shared, generation, rebuild);
	if (pg_atomic_read_u32(&lb_shared->launcher_pid) == 0)
		return LB_WAIT_FAILED;

	ConditionVariablePrepareToSleep(&shared->changed);
	for (;;)
	{
		uint32		state = pg_atomic_read_u32(&shared->state);
		uint32		attempts;
		bool		failed;
		long		left = 1000;

		SpinLockAcquire(&shared->mutex);
		attempts = shared->attempts;
		failed = shared->failed;
		SpinLockRelease(&shared->mutex);
		if (shared->generation != generation)
		{
			result = LB_WAIT_FAILED;
			break;
		}
		if (!rebuild && state == LB_READY)
		{
			result = LB_WAIT_READY;
			break;
		}
		if ((int32) (attempts - target) >= 0)
		{
			result = failed || state != LB_READY ? LB_WAIT_FAILED :
				LB_WAIT_READY;
			break;
		}
		if (timeout_ms >= 0)
		{
			left = timeout_ms -
				TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
			if (left <= 0)
			{
				result = LB_WAIT_TIMEOUT;
				break;
			}
		}
		(void) ConditionVariableTimedSleep(&shared->changed, Min(left, 1000),
										   PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return result;
}
