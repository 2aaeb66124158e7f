/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Builds of boards by background workers.
 *
 * One launcher without a database starts a worker for each database that has
 * something to build, at server start for every one.  A worker connects,
 * builds and leaves: a standing connection would block DROP DATABASE and
 * CREATE DATABASE ... TEMPLATE, and a running build yields to them.
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

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/sinval.h"
#include "tcop/tcopprot.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/own.h"
#include "boards/parts.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "util/pause.h"
#include "workers/build.h"
#include "workers/install.h"
#include "workers/unknown.h"
#include "workers/worker.h"

/* Stop draining the queue without locks when a round brings this little. */
#define FEW_ENTRIES 1000
#define MAX_ROUNDS 50

/* The reason of a board whose worker could not even begin. */
#define LB_WORKER_FAILED "a build worker has failed: the server's log has the cause"

/* A build ended: tell those who wait for it. */
static void
end_build(LbBuild *build, bool again)
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
	LbBuild    *build = (LbBuild *) DatumGetPointer(arg);

	/* An error may have left the locks held. */
	LWLockReleaseAll();
	lb_set_queueing(build, false);
	lb_free_new_boards(build);
	end_build(build, true);
}

static void
build_offline(LbBuild *build, const char *reason, bool retry)
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
find_recorded(const LbBuild *build)
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
remove_unrecorded(LbBuild *build)
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
prepare_build(LbBuild *build)
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
is_as_resolved(const LbBuild *build, Oid source)
{
	LbDefinition *defn;

	AcceptInvalidationMessages();
	defn = lb_defn_of(source, build->shared->catalog, build->shared->id);

	/* A partition may have been altered by itself: its triggers count too. */
	return defn != NULL && lb_resolve_parts(defn, false) &&
		defn->problem == NULL && defn->captured;
}

/* Scan, sort, pack, catch up, install. */
static LbBuildResult
try_build(LbBuild *build, LbDefinition *defn)
{
	LbSharedBoard *shared = build->shared;
	Relation	rel;
	LbSort	   *sort;
	LbValues	values;
	LbBuildResult result;
	LbUser		saved;

	/*
	 * Or one that had ended before has not told of it: after this, whoever
	 * has altered triggers has either done so, or is running in our snapshot.
	 */
	if (lb_misses_changes(build) || pg_atomic_read_u32(&shared->nunknown) > 0)
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
						&shared->build_done, lb_yield);
	lb_restore_user(&saved);
	pg_atomic_write_u64(&shared->build_total,
						pg_atomic_read_u64(&shared->build_done));
	result = lb_pack(build, defn, sort, &values);
	lb_sort_end(sort);
	table_close(rel, NoLock);
	lb_pause("packed");

	for (int round = 0; result == BUILD_DONE && round < MAX_ROUNDS; round++)
	{
		uint64		napplied = 0;

		for (int s = 0; result == BUILD_DONE && s < LB_STRIPES; s++)
			result = lb_drain_stripe(build, s, false, &napplied);
		lb_yield();
		if (napplied < FEW_ENTRIES)
			break;
	}
	if (result == BUILD_DONE && !is_as_resolved(build, defn->source))
		result = BUILD_AGAIN;
	if (result == BUILD_DONE)
		result = lb_install(build);
	return result;
}

static void
build_claimed(LbBuild *build)
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
		LbBuildResult result;
		bool		prepared;

		pg_atomic_write_u32(&shared->queue_lost, 0);
		lb_set_queueing(build, true);

		/*
		 * Before the snapshot: a transaction leaves the proc array before it
		 * releases its locks, so one that is not found here is in the scan.
		 */
		prepared = lb_is_prepared_for(defn->source);
		for (int i = 0; defn->parts_valid && i < defn->nparts; i++)
			prepared |= lb_is_prepared_for(defn->parts[i]);
		PushActiveSnapshot(GetLatestSnapshot());
		lb_snapshot_init(&build->snapshot, GetActiveSnapshot());

		/*
		 * Whoever takes a snapshot from here on sees at least as much as we
		 * do.
		 */
		build->floor.next_xid = lb_next_xid();
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
		lb_set_queueing(build, false);
		lb_free_new_boards(build);

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
 * LbBuild a definition that this worker has claimed.
 */
static void
build_one(LbSharedBoard *shared, uint64 generation)
{
	LbBuild		build;

	memset(&build, 0, sizeof(LbBuild));
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
void
lb_release_waiters(Oid database, const char *reason)
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
		lb_release_waiters(DatumGetObjectId(database), LB_WORKER_FAILED);
}

/* What other workers have to know of a database. */
static void
visit_for_kinds(void)
{
	int			n;
	const LbWorkerKind *const *kinds = lb_worker_kinds(&n);

	for (int i = 0; i < n; i++)
	{
		if (kinds[i]->visit != NULL)
			kinds[i]->visit();
	}
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
		visit_for_kinds();
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
