/*-------------------------------------------------------------------------
 *
 * directory.c
 *	  The directory of the definitions in shared memory.
 *
 * The directory is a list of LbSharedBoards, with hash tables by lb_board.id,
 * by source and by lb_board relation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"

#include "boards/directory.h"
#include "boards/live.h"
#include "boards/state.h"
#include "util/planted.h"

static inline dlist_head *
bucket(dlist_head *table, uint32 a, uint32 b)
{
	return &table[hash_combine(murmurhash32(a), murmurhash32(b)) %
				  LB_DIRECTORY_BUCKETS];
}

static inline dlist_head *
bucket_of_id(Oid database, int32 id)
{
	return bucket(lb_shared->boards_by_id, database, (uint32) id);
}

static inline dlist_head *
bucket_of_source(Oid database, Oid source)
{
	return bucket(lb_shared->boards_by_source, database, source);
}

static inline dlist_head *
bucket_of_catalog(Oid database, Oid cat)
{
	return bucket(lb_shared->boards_by_catalog, database, cat);
}

/*
 * Return the first board of a bucket, in which it is by that node, for which
 * the condition on shared is true; or NULL.
 */
#define RETURN_FIRST(bucket, by_node, condition) \
	do \
	{ \
		dlist_iter	iter; \
\
		dlist_foreach(iter, bucket) \
		{ \
			LbSharedBoard *shared = dlist_container(LbSharedBoard, by_node, \
													iter.cur); \
\
			if (shared->database == database && (condition)) \
				return shared; \
		} \
		return NULL; \
	} while (0)

LbSharedBoard *
lb_directory_find(Oid database, Oid cat, int32 id)
{
	RETURN_FIRST(bucket_of_id(database, id), node_by_id,
				 shared->catalog == cat && shared->id == id);
}

LbSharedBoard *
lb_directory_find_source(Oid database, Oid source)
{
	RETURN_FIRST(bucket_of_source(database, source), node_by_source,
				 shared->source == source);
}

LbSharedBoard *
lb_directory_find_catalog(Oid database, Oid cat)
{
	RETURN_FIRST(bucket_of_catalog(database, cat), node_by_catalog,
				 shared->catalog == cat);
}

static void
directory_enter(LbSharedBoard *shared)
{
	dlist_push_tail(&lb_shared->boards, &shared->node);
	dlist_push_head(bucket_of_id(shared->database, shared->id),
					&shared->node_by_id);
	dlist_push_head(bucket_of_source(shared->database, shared->source),
					&shared->node_by_source);
	dlist_push_head(bucket_of_catalog(shared->database, shared->catalog),
					&shared->node_by_catalog);
}

void
lb_directory_delete(LbSharedBoard *shared)
{
	dlist_delete(&shared->node);
	dlist_delete(&shared->node_by_id);
	dlist_delete(&shared->node_by_source);
	dlist_delete(&shared->node_by_catalog);
}

void
lb_shared_board_look_up(Oid relation, bool *source, bool *cat)
{
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	*source = lb_directory_find_source(MyDatabaseId, relation) != NULL;
	*cat = lb_directory_find_catalog(MyDatabaseId, relation) != NULL;
	LWLockRelease(&lb_shared->directory_lock);
}

void
lb_shared_board_visit(Oid relation,
					  void (*visit) (LbSharedBoard *shared, void *arg),
					  void *arg)
{
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, bucket_of_source(MyDatabaseId, relation))
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node_by_source, iter.cur);

		if (shared->database == MyDatabaseId && shared->source == relation)
			visit(shared, arg);
	}
	dlist_foreach(iter, bucket_of_catalog(MyDatabaseId, relation))
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node_by_catalog, iter.cur);

		if (shared->database == MyDatabaseId && shared->catalog == relation)
			visit(shared, arg);
	}
	LWLockRelease(&lb_shared->directory_lock);
}

/*
 * The entry of a database, taken if it has none.  If there are more databases
 * than entries, the last entry serves all that are left.  Needs the
 * directory's exclusive lock.
 */
static LbDatabase *
directory_database(Oid database)
{
	LbDatabase *unused = NULL;
	dlist_iter	iter;

	for (int i = 0; i < LB_MAX_DATABASES; i++)
	{
		LbDatabase *db = &lb_shared->databases[i];

		if (db->database == database)
			return db;
		if (!OidIsValid(db->database) && unused == NULL)
			unused = db;
	}
	if (unused == NULL)
	{
		/* Take one that no definition needs any more, if there is one. */
		for (int i = 0; i < LB_MAX_DATABASES - 1 && unused == NULL; i++)
		{
			LbDatabase *db = &lb_shared->databases[i];

			if (db->account.used != 0 || db->unknown.last != 0)
				continue;
			unused = db;
			dlist_foreach(iter, &lb_shared->boards)
			{
				if (dlist_container(LbSharedBoard, node, iter.cur)->account == &db->account)
					unused = NULL;
			}
		}
		if (unused == NULL)
			return &lb_shared->databases[LB_MAX_DATABASES - 1];
	}
	unused->database = database;
	memset(unused->looked, 0, sizeof(unused->looked));
	return unused;
}

TimestampTz
lb_last_looked(int table)
{
	TimestampTz looked;

	Assert(table >= 0 && table < LB_LOOKED_TABLES);
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	looked = directory_database(MyDatabaseId)->looked[table];
	LWLockRelease(&lb_shared->directory_lock);
	return looked;
}

void
lb_note_looked(int table, TimestampTz when)
{
	LbDatabase *db;

	Assert(table >= 0 && table < LB_LOOKED_TABLES);
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	db = directory_database(MyDatabaseId);

	/* Databases that share an entry would keep each other waiting. */
	if (db->database == MyDatabaseId)
		db->looked[table] = when;
	LWLockRelease(&lb_shared->directory_lock);
}

void
lb_note_unknown(LbUnknown *unknown, FullTransactionId fxid)
{
	uint64		xid = U64FromFullTransactionId(fxid);

	SpinLockAcquire(&unknown->mutex);
	if (unknown->first == 0 || unknown->first > xid)
		unknown->first = xid;
	if (unknown->last < xid)
		unknown->last = xid;
	SpinLockRelease(&unknown->mutex);
}

void
lb_note_all_unknown(LbUnknown *unknown, uint64 before)
{
	lb_note_unknown(unknown, FirstNormalFullTransactionId);
	if (before > U64FromFullTransactionId(FirstNormalFullTransactionId))
		lb_note_unknown(unknown, FullTransactionIdFromU64(before - 1));
}

void
lb_note_unknown_here(FullTransactionId xid)
{
	/* Without the lock, the entry could become another database's. */
	LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
	lb_note_unknown(&directory_database(MyDatabaseId)->unknown, xid);
	LWLockRelease(&lb_shared->directory_lock);
}

/*
 * A definition without a generation: one that was removed, or new memory, in
 * which this sets all that one definition leaves to the next.  NULL if memory
 * is used up.
 */
static LbSharedBoard *
allocate_shared(const LbMem *mem)
{
	LbRef		ref;
	LbSharedBoard *shared;

	if (!dlist_is_empty(&lb_shared->free_boards))
		return dlist_container(LbSharedBoard, node,
							   dlist_pop_head_node(&lb_shared->free_boards));
	ref = lb_alloc(mem, LB_MAX_ORDER);
	if (ref == LB_NONE)
		return NULL;
	shared = (LbSharedBoard *) lb_ptr(mem->arena, ref);
	memset(shared, 0, sizeof(LbSharedBoard));
	ConditionVariableInit(&shared->changed);
	lb_state_init(shared);
	SpinLockInit(&shared->unknown.mutex);
	pg_atomic_init_u32(&shared->requested, 0);
	for (int i = 0; i < LB_STRIPES; i++)
	{
		LWLockInitialize(&shared->stripes[i].lock,
						 lb_shared->stripe_tranche);
		pg_atomic_init_u32(&shared->stripes[i].nwaiting, 0);
	}
	return shared;
}

/*
 * Set all other fields.  Backends that still have the address of the
 * definition that was there look at the generation first, which is 0.
 */
static void
reset_shared(LbSharedBoard *shared, const LbDefinition *defn,
			 LbAccount *account)
{
	Assert(defn->shape.width > 0);
	shared->database = MyDatabaseId;
	shared->catalog = defn->catalog;
	shared->id = defn->id;
	shared->source = defn->source;
	shared->fingerprint = defn->fingerprint;
	shared->account = account;
	shared->shape = defn->shape;
	shared->family = defn->family;
	strlcpy(shared->name, defn->name, NAMEDATALEN);
	shared->negative_zero = false;
	shared->taken = 0;
	shared->grown_from = -1;
	shared->unknown.first = 0;
	shared->unknown.last = 0;
	pg_atomic_init_u32(&shared->nunknown, 0);
	pg_atomic_init_u32(&shared->memory_kb, lb_database_memory_kb);
	pg_atomic_init_u64(&shared->build_done, 0);
	pg_atomic_init_u64(&shared->build_total, 0);
	pg_atomic_init_u32(&shared->queue_lost, 0);
	pg_atomic_init_u32(&shared->trim, 0);
	pg_atomic_init_u32(&shared->nprepared, 0);
	pg_atomic_init_u64(&shared->off_board, 0);
	pg_atomic_init_u64(&shared->looked, 0);
	pg_atomic_init_u64(&shared->scan_began, 0);
	pg_atomic_init_u32(&shared->scan_block, 0);
	for (int i = 0; i < LB_NCOUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	lb_state_reset(shared);
	for (int i = 0; i < LB_STRIPES; i++)
	{
		LbStripe   *stripe = &shared->stripes[i];

		stripe->queueing = false;
		stripe->queued = LB_NONE;
		stripe->prefetching = false;
		memset(&stripe->floor, 0, sizeof(LbFloor));
		stripe->single = LB_NONE;
		lb_hash_init(&stripe->boards);
		stripe->spare = LB_NONE;
		stripe->nspare = 0;
		stripe->history_bytes = 0;
	}
}

/*
 * Enter a definition that is not there.  Needs the directory's exclusive lock.
 * Returns NULL if memory is used up.
 */
static LbSharedBoard *
create_shared(const LbDefinition *defn)
{
	LbAccount  *account = &directory_database(MyDatabaseId)->account;
	LbSharedBoard *shared;
	LbMem		mem;

	mem.arena = &lb_shared->arena;
	mem.account = account;
	mem.limit = (uint64) lb_database_memory_kb * 1024;
	mem.taken = NULL;
	shared = allocate_shared(&mem);
	if (shared == NULL)
		return NULL;
	reset_shared(shared, defn, account);
	if (!shared->family)
	{
		LbValue		none = {0, ""};

		mem.taken = &shared->taken;
		shared->stripes[0].single = lb_live_board_new(&mem, shared, 0, &none);
		if (shared->stripes[0].single == LB_NONE)
		{
			dlist_push_head(&lb_shared->free_boards, &shared->node);
			return NULL;
		}
	}

	/*
	 * On a standby, redo has ignored what the running transactions have
	 * changed so far, since the definition was not there.  Under the lock:
	 * what it publishes from now on is of transactions that this range has,
	 * or of later ones.
	 */
	if (RecoveryInProgress() && !LB_PLANTED(17))
		lb_note_all_unknown(&shared->unknown, lb_next_xid());
	pg_write_barrier();
	shared->generation = lb_shared->next_generation++;
	directory_enter(shared);
	return shared;
}

bool
lb_shared_board_fits(const LbSharedBoard *shared, const LbDefinition *defn)
{
	if (shared->fingerprint != defn->fingerprint)
		return false;
	return defn->shape.width == 0 ||
		memcmp(&shared->shape, &defn->shape, sizeof(LbShape)) == 0;
}

/*
 * Find the definition, or with create enter it.  Needs the directory's lock,
 * with create exclusive.  *changed says that another one of that number is
 * there, which is taken offline: transactions that began before the change may
 * still publish to it.  A build follows at once, since either of the two may
 * be the one that lb_board records: a process has an old one until it gets the
 * invalidation.  Before our own commit it is the one in the directory.
 */
static LbSharedBoard *
find_or_create(const LbDefinition *defn, bool create, bool *changed)
{
	LbSharedBoard *shared = lb_directory_find(MyDatabaseId, defn->catalog,
											  defn->id);

	*changed = shared != NULL && !lb_shared_board_fits(shared, defn);
	if (*changed)
	{
		if (!lb_is_offline(shared) &&
			!TransactionIdIsCurrentTransactionId(defn->xmin))
		{
			lb_take_offline(shared, shared->generation,
							"its definition in lb_board was changed", true);
			lb_request_build(shared, shared->generation, false);
		}
		return NULL;
	}
	return shared == NULL && create ? create_shared(defn) : shared;
}

LbSharedBoard *
lb_shared_board_attach_anew(LbDefinition *defn, bool create)
{
	LbSharedBoard *shared;
	bool		changed;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	shared = find_or_create(defn, false, &changed);
	if (shared == NULL && create && !changed)
	{
		LWLockRelease(&lb_shared->directory_lock);
		LWLockAcquire(&lb_shared->directory_lock, LW_EXCLUSIVE);
		shared = find_or_create(defn, true, &changed);
	}
	defn->shared = shared;
	if (shared != NULL)
		defn->generation = shared->generation;
	LWLockRelease(&lb_shared->directory_lock);
	return shared;
}

bool
lb_shared_board_is_other(const LbDefinition *defn)
{
	LbSharedBoard *shared;
	bool		other;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	shared = lb_directory_find(MyDatabaseId, defn->catalog, defn->id);
	other = shared != NULL && !lb_shared_board_fits(shared, defn);
	LWLockRelease(&lb_shared->directory_lock);
	return other;
}

void
lb_watch_enter(Oid database)
{
	bool		found = false;

	SpinLockAcquire(&lb_shared->watch_mutex);
	for (int i = 0; i < lb_shared->nwatching && !found; i++)
		found = lb_shared->watching[i] == database;
	if (!found && lb_shared->nwatching < LB_MAX_DATABASES)
		lb_shared->watching[lb_shared->nwatching++] = database;
	SpinLockRelease(&lb_shared->watch_mutex);
	if (!found)
		lb_wake_launcher();
}

void
lb_watch_forget(Oid database)
{
	SpinLockAcquire(&lb_shared->watch_mutex);
	for (int i = 0; i < lb_shared->nwatching; i++)
	{
		if (lb_shared->watching[i] != database)
			continue;
		lb_shared->watching[i] = lb_shared->watching[--lb_shared->nwatching];
		break;
	}
	SpinLockRelease(&lb_shared->watch_mutex);
}

int
lb_watch_list(Oid *databases, int max)
{
	int			n;

	SpinLockAcquire(&lb_shared->watch_mutex);
	n = Min(max, lb_shared->nwatching);
	memcpy(databases, lb_shared->watching, n * sizeof(Oid));
	SpinLockRelease(&lb_shared->watch_mutex);
	return n;
}

void
lb_want_visit(LbVisits *visits, Oid database)
{
	bool		found = false;

	SpinLockAcquire(&visits->mutex);
	for (int i = 0; i < Min(visits->n, LB_MAX_VISITS) && !found; i++)
		found = visits->databases[i] == database;
	if (!found && visits->n <= LB_MAX_VISITS)
	{
		if (visits->n < LB_MAX_VISITS)
			visits->databases[visits->n] = database;
		visits->n++;
	}
	SpinLockRelease(&visits->mutex);
	lb_wake_launcher();
}

int
lb_take_visits(LbVisits *visits, Oid *databases)
{
	int			n;

	SpinLockAcquire(&visits->mutex);
	n = visits->n;
	memcpy(databases, visits->databases, Min(n, LB_MAX_VISITS) * sizeof(Oid));
	visits->n = 0;
	SpinLockRelease(&visits->mutex);
	return n;
}
