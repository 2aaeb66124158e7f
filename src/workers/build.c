/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Builds of boards by background workers.
 *
 * The launcher starts a worker for a database in which a build is requested.
 * The worker claims one build after another (state.c), and leaves when there
 * is none.
 *
 * A build does not block writers:
 *
 *	- prepare_build() locks and resolves the definition.
 *	- queue_and_build() first has every stripe queue what settles from then on,
 *	and
 *	  then takes its snapshot.  A transaction that the snapshot does not see
 *	  settles later, so a queue has its changes.  One that the snapshot sees is
 *	  in the scan, and its entries in a queue are skipped.
 *	- scan_source() sorts the rows, and fills new boards that no other process
 *	can
 *	  reach.  The old index serves meanwhile.
 *	- lb_drain() applies the queues to the new boards, in rounds until little
 *	is
 *	  left.
 *	- lb_install() applies the rest under all stripes' locks, and puts the new
 *	  boards in the place of the old ones.
 *
 * A build that fails sets the board's state (fail_build, give_up).  One that
 * ends by an error, or because its worker is terminated, is requested again
 * (abandon_build).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
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
#include "boards/parts.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "feed/redo.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "sql/spi.h"
#include "util/pause.h"
#include "util/planted.h"
#include "workers/build.h"
#include "workers/install.h"
#include "workers/unknown.h"
#include "workers/visits.h"
#include "workers/worker.h"

/* How often a lock that must not be waited for is tried again. */
#define LOCK_TRIES 10

/* How often a build begins again at once because a queue did not fit. */
#define QUEUE_RETRIES 3

/* How often a build that was interrupted begins again at once. */
#define MOST_INTERRUPTED 3

/* Milliseconds that a worker waits for a lock that it cannot try for. */
#define LOCK_TIMEOUT 1000

/* The reason of a board whose worker could not even begin. */
#define LB_WORKER_FAILED "a build worker has failed: the server's log has the cause"

bool
lb_try_again(int *tries)
{
	if ((*tries)++ == LOCK_TRIES)
		return false;
	pg_usleep(10000L);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/* End the build, unless that has been done. */
static void
end_build(LbBuild *build, bool again)
{
	if (!build->ended)
		lb_end_build(build->shared, build->generation, build->installed, again);
	build->ended = true;
}

/*
 * Say why the build cannot be done; a board that is not ready is offline then.
 */
static void
build_offline(LbBuild *build, const char *reason, bool passing)
{
	lb_set_reason(build->shared, build->generation, reason);
	if (!lb_is_ready(build->shared))
		lb_take_offline(build->shared, build->generation, reason, passing);
}

/*
 * Whether an error that ends a build is one that an expression has raised: a
 * function can give its own ones any code.  The next build would raise it
 * again.  Those of the server's state are not.
 */
static bool
is_of_expression(const LbBuild *build, int code)
{
	int			category;

	if (code != 0 || !build->evaluates)
		return false;
	category = ERRCODE_TO_CATEGORY(geterrcode());
	return category != ERRCODE_OPERATOR_INTERVENTION &&
		category != ERRCODE_INSUFFICIENT_RESOURCES &&
		category != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
		category != ERRCODE_TRANSACTION_ROLLBACK &&
		category != ERRCODE_SYSTEM_ERROR &&
		category != ERRCODE_INTERNAL_ERROR;
}

/*
 * Whether the next build may well end in the same way: not after an error that
 * asks for another try, such as that of a build that yields, or if the worker
 * was terminated; unless it comes again and again.
 */
static bool
is_lasting(const LbBuild *build, int code)
{
	int			category;

	if (build->shared->failures >= MOST_INTERRUPTED)
		return true;
	if (code != 0)
		return false;
	category = ERRCODE_TO_CATEGORY(geterrcode());
	return category != ERRCODE_OPERATOR_INTERVENTION &&
		category != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE &&
		category != ERRCODE_TRANSACTION_ROLLBACK;
}

/*
 * Have all backends make the plans again that had to do without the index.  On
 * a primary the worker's commit does so.  On a standby it would try to log
 * that, and a worker that is terminated does not commit.
 */
static void
invalidate_plans(Oid source)
{
	SharedInvalidationMessage msg;

	memset(&msg, 0, sizeof(msg));
	msg.rc.id = SHAREDINVALRELCACHE_ID;
	msg.rc.dbId = MyDatabaseId;
	msg.rc.relId = source;
	SendSharedInvalidMessages(&msg, 1);
}

/* For errors, and for a worker that is terminated. */
static void
abandon_build(int code, Datum arg)
{
	LbBuild    *build = (LbBuild *) DatumGetPointer(arg);
	bool		expression = is_of_expression(build, code);
	bool		locked = code == 0 && geterrcode() == ERRCODE_LOCK_NOT_AVAILABLE;
	bool		lasting = expression || locked || is_lasting(build, code);

	/* An error may have left the locks held. */
	LWLockReleaseAll();
	lb_set_queueing(build, false);
	lb_free_new_boards(build);
	if (build->installed)
	{
		/* What the commit would have done.  The new index serves. */
		invalidate_plans(build->shared->source);
		lb_want_xid();
	}
	else if (lasting)
		build_offline(build, locked ? LB_TABLE_LOCKED : expression ?
					  "an expression of the board has raised an error for a row: the server's log has it" :
					  "the build has ended with an error: the server's log has it",
					  !expression);
	else if (!lb_is_offline(build->shared))
		lb_set_reason(build->shared, build->generation,
					  "the build was interrupted: the server's log has it");
	end_build(build, !lasting);
}

/*
 * build_offline(), and end the build.  If the reason is passing, another one
 * is wanted.  Returns NULL, for its callers to return.
 */
static LbDefinition *
give_up(LbBuild *build, const char *reason, bool passing)
{
	build_offline(build, reason, passing);
	end_build(build, passing);
	return NULL;
}

/*
 * Have the relcache entries of a source, and of its partitions, read anew, and
 * all catalog caches if expressions call functions.  A transaction sends its
 * invalidations after it has left the ProcArray and requested the build,
 * COMMIT PREPARED after it has removed files, so this worker's caches may be
 * out of date.  Any transaction that build->before does not list as running is
 * visible to catalog reads from here on.  The source is locked, so that
 * neither it nor a partition can be dropped meanwhile.
 */
static void
forget_source(Oid source, bool has_expressions)
{
	List	   *rels;
	ListCell   *lc;

	if (has_expressions)
		InvalidateSystemCaches();
	rels = find_all_inheritors(source, NoLock, NULL);
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
 * The definition to build, as it is recorded now, or NULL.  A backend that
 * requests a build in its COMMIT sends the invalidation for lb_board after
 * that, and COMMIT PREPARED runs no callback of ours: if the cache does not
 * have the definition, read lb_board anew.
 */
static LbDefinition *
find_recorded(const LbBuild *build)
{
	for (int try = 0; try < 2; try++)
	{
		LbDefinition *defn = lb_defn_by_id(build->shared->id);

		if (defn != NULL && defn->catalog == build->shared->catalog &&
			lb_shared_board_fits(build->shared, defn))
			return defn;
		lb_forget_defns();
	}
	return NULL;
}

/*
 * find_recorded() with the source locked.  A transaction that has dropped the
 * table or the board had removed the definition before it released that lock,
 * so this worker may have entered it again from an old cache; the lock has
 * come with the invalidations.  One that has changed lb_board by hand needs no
 * lock of the source and may not have sent its invalidations yet.  lb_board
 * itself has the truth: a catalog snapshot of it is taken anew for each scan.
 * The row alone is read, since every build does so.
 */
static LbDefinition *
find_still_recorded(const LbBuild *build)
{
	LbDefinition *defn = find_recorded(build);
	const LbDefinition *row = defn == NULL ? NULL : lb_read_defn(defn->name);

	if (defn == NULL ||
		(row != NULL && row->catalog == defn->catalog && row->id == defn->id &&
		 row->fingerprint == defn->fingerprint))
		return defn;
	lb_forget_defns();
	return find_recorded(build);
}

/*
 * Remove a definition that is not recorded.  A transaction that was prepared,
 * and has aborted, may have entered it, or a process whose cache was out of
 * date.  If lb_board was changed by hand, and now has another definition of
 * that number, enter that one.
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
		LbSharedBoard *shared;

		lb_settle_width(defn);
		shared = lb_shared_board_attach(defn, true);

		if (shared != NULL)
			lb_request_build(shared, defn->generation, false);
	}
}

/* The worker has locked a source and its partitions. */
static void
yield_for_tables(const LbDefinition *defn)
{
	int			n = defn->parts_valid ? defn->nparts : 0;
	Oid		   *tables = MemoryContextAlloc(TopTransactionContext,
											(n + 1) * sizeof(Oid));

	tables[0] = defn->source;
	if (n > 0)
		memcpy(tables + 1, defn->parts, n * sizeof(Oid));
	lb_yield_for(tables, n + 1);
}

/*
 * Resolve a locked source, and lock its partitions.  Returns NULL if that
 * cannot be done, and then the build has ended.
 */
static LbDefinition *
resolve_source(LbBuild *build, Oid source, bool has_expressions)
{
	LbDefinition *defn;
	int			tries = 0;

	forget_source(source, has_expressions);
	defn = lb_defn_of(source, build->shared->catalog, build->shared->id);
	if (defn == NULL)
	{
		remove_unrecorded(build);
		return NULL;
	}
	defn->parts_valid = false;	/* so that they are locked */
	while (!lb_resolve_parts(defn, false))
	{
		if (!lb_try_again(&tries))
			return give_up(build, LB_PARTITION_LOCKED, true);
	}
	lb_pause("resolved");
	if (lb_is_unlogged(defn) && RecoveryInProgress())
		return give_up(build, LB_UNLOGGED_REASON, false);
	if (defn->problem != NULL || !defn->captured)
	{
		/* On a standby no user can call lb_rebuild() once it is mended. */
		lb_take_offline(build->shared, build->generation,
						defn->problem ? defn->problem :
						"a capture trigger is missing or disabled",
						RecoveryInProgress());
		end_build(build, false);
		return NULL;
	}
	yield_for_tables(defn);
	return defn;
}

/*
 * Find, lock and resolve the definition to build.  Returns NULL if that cannot
 * be done, and then the build has ended.
 *
 * The build never waits for a table lock: a reader that waits for the build
 * may precede, in the lock's queue, the process for which the build would
 * wait.  It tries for a moment, since a transaction that has created the
 * table, and requests the build in its COMMIT, is about to release its lock.
 */
static LbDefinition *
prepare_build(LbBuild *build)
{
	LbDefinition *defn = find_recorded(build);
	Oid			lb_board = build->shared->catalog;
	Oid			source;
	int			tries = 0;

	if (defn == NULL)
	{
		remove_unrecorded(build);
		return NULL;
	}
	source = defn->source;
	lb_pause("claim");
	while (!ConditionalLockRelationOid(source, AccessShareLock) ||
		   !ConditionalLockRelationOid(lb_board, AccessShareLock))
	{
		if (!lb_try_again(&tries))
			return give_up(build, LB_TABLE_LOCKED, true);
	}
	defn = find_still_recorded(build);
	UnlockRelationOid(lb_board, AccessShareLock);
	if (defn == NULL)
	{
		remove_unrecorded(build);
		return NULL;
	}

	/*
	 * The table may have been dropped while the library was not loaded, or
	 * the definition may have been recorded by hand.
	 */
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		return give_up(build, "the source table does not exist", false);
	return resolve_source(build, source, lb_has_expressions(defn));
}

/*
 * Whether the source still has the columns and triggers that the build has
 * found there.  A transaction that had altered them and ended before that may
 * have sent its invalidations only since.
 */
static bool
is_as_resolved(const LbBuild *build, Oid source)
{
	LbDefinition *defn;

	AcceptInvalidationMessages();
	defn = lb_defn_of(source, build->shared->catalog, build->shared->id);

	/* A partition's own triggers count, too. */
	return defn != NULL && lb_resolve_parts(defn, false) &&
		defn->problem == NULL && defn->captured;
}

/*
 * Whether the source, or a partition, may have changes of a transaction that
 * was prepared before the server started.
 */
static bool
has_prepared(const LbDefinition *defn)
{
	if (lb_is_prepared_for(defn->source))
		return true;
	for (int i = 0; defn->parts_valid && i < defn->nparts; i++)
	{
		if (lb_is_prepared_for(defn->parts[i]))
			return true;
	}
	return false;
}

/* Whether parallel workers could connect to this database. */
static bool
allows_connections(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID,
										ObjectIdGetDatum(MyDatabaseId));
	bool		result = HeapTupleIsValid(tuple) &&
		((Form_pg_database) GETSTRUCT(tuple))->datallowconn;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/* Scan and sort the source, and fill the new boards. */
static LbBuildResult
scan_source(LbBuild *build, LbDefinition *defn)
{
	LbSharedBoard *shared = build->shared;
	Relation	rel = table_open(defn->source, NoLock);
	LbSort	   *sort;
	LbValues	values;
	LbBuildResult result;
	LbUser		saved;

	pg_atomic_write_u64(&shared->build_total,
						rel->rd_rel->reltuples < 0 ? 0 : (uint64) rel->rd_rel->reltuples);

	/* The scan runs no code of the user's.  The switch keeps it that way. */
	lb_switch_to_owner(&saved, rel->rd_rel->relowner, false);
	sort = lb_sort_rows(defn, rel, build->snapshot.snapshot, &values,
						allows_connections(), &shared->build_done, lb_yield);
	lb_restore_user(&saved);
	pg_atomic_write_u64(&shared->build_total,
						pg_atomic_read_u64(&shared->build_done));
	result = lb_fill_boards(build, sort, &values);
	lb_sort_end(sort);
	table_close(rel, NoLock);
	lb_pause("packed");
	return result;
}

/* Scan, catch up, install. */
static LbBuildResult
try_build(LbBuild *build, LbDefinition *defn)
{
	LbSharedBoard *shared = build->shared;
	bool		standby = TransactionStartedDuringRecovery();
	LbBuildResult result;

	/*
	 * A transaction with unknown changes may be running in the snapshot, or
	 * may have left the ProcArray without having sent its invalidations.  If
	 * there is neither, a transaction that has altered triggers is visible to
	 * the build, or is running in its snapshot.
	 */
	if (lb_misses_changes(build) || pg_atomic_read_u32(&shared->nunknown) > 0)
	{
		/* It has not cost anything yet. */
		lb_await_transactions(shared, build->generation);
		return LB_BUILD_AGAIN;
	}
	pg_read_barrier();

	result = scan_source(build, defn);
	if (result == LB_BUILD_DONE)
		result = lb_drain(build);
	if (result == LB_BUILD_DONE && !is_as_resolved(build, defn->source))
		result = LB_BUILD_AGAIN;
	if (result != LB_BUILD_DONE)
		return result;

	/* The commit has plans made again that had to do without the index. */
	if (!standby && !LB_PLANTED(10))
		CacheInvalidateRelcacheByRelid(defn->source);
	result = lb_install(build);
	if (standby && result == LB_BUILD_DONE)
		invalidate_plans(defn->source);
	return result;
}

/*
 * Turn queueing on, take the snapshot, and try to build.  Unless that
 * succeeds, the queues and the new boards are freed.
 */
static LbBuildResult
queue_and_build(LbBuild *build, LbDefinition *defn)
{
	LbBuildResult result;
	MemoryContext context;
	MemoryContext old;
	bool		prepared;

	lb_set_queueing(build, true);

	/*
	 * Look before the snapshot is taken: a transaction leaves the ProcArray
	 * before it releases its locks, so the scan has one that is not found
	 * here.
	 */
	prepared = has_prepared(defn);
	PushActiveSnapshot(GetLatestSnapshot());
	lb_snapshot_init(&build->snapshot, GetActiveSnapshot());

	/*
	 * A snapshot that is taken from here on sees what the build sees.  So
	 * does one with a higher xmax; on a standby it may take long until the
	 * next xid has ended.
	 */
	build->floor.next_xid = TransactionStartedDuringRecovery() ?
		build->snapshot.xmax : lb_next_xid();
	build->floor.xid = build->snapshot.xmax - 1;
	lb_pause("build");

	context = AllocSetContextCreate(TopTransactionContext,
									"leaderboard build",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	result = prepared ? LB_BUILD_AGAIN : try_build(build, defn);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	PopActiveSnapshot();
	if (result != LB_BUILD_DONE)
	{
		lb_set_queueing(build, false);
		lb_free_new_boards(build);
	}
	return result;
}

/*
 * Whether the worker tries again at once, after this number of attempts:
 * without the old index, if both do not fit into memory, or because a queue
 * did not fit.  The attempt may have resolved the definition again, and found
 * a problem: there may be no expression to evaluate.
 */
static bool
may_try_again(LbBuild *build, const LbDefinition *defn, LbBuildResult result,
			  int attempts)
{
	LbSharedBoard *shared = build->shared;

	if (defn->problem != NULL)
		return false;
	if (result == LB_BUILD_NOMEM && attempts == 1 &&
		lb_is_ready(shared))
	{
		lb_take_offline(shared, build->generation,
						"its index is being built again", true);
		lb_shared_board_free_indexes(shared, build->generation);
		lb_restart_build(shared, build->generation);
		return true;
	}
	return result == LB_BUILD_AGAIN && attempts <= QUEUE_RETRIES &&
		pg_atomic_read_u32(&shared->queue_lost) != 0;
}

/* The state of the board after a build that has failed. */
static void
fail_build(LbBuild *build, LbBuildResult result)
{
	LbSharedBoard *shared = build->shared;

	switch (result)
	{
		case LB_BUILD_NOMEM:

			/*
			 * Others may not have kept what they took, and it would fit
			 * alone.
			 */
			lb_take_offline(shared, build->generation,
							lb_memory_reason(shared),
							lb_other_builds(build->ended_before));
			break;
		case LB_BUILD_DUPLICATE:
			lb_take_offline(shared, build->generation,
							"a member is there twice, in spite of its unique index",
							false);
			break;
		case LB_BUILD_AGAIN:
			build_offline(build, LB_UNKNOWN_CHANGES, true);
			break;
		case LB_BUILD_GONE:
		case LB_BUILD_DONE:
			break;
	}
	end_build(build, false);
}

static void
build_claimed(LbBuild *build)
{
	Snapshot	before = RegisterSnapshot(GetLatestSnapshot());
	LbDefinition *defn;

	lb_snapshot_init(&build->before, before);
	defn = prepare_build(build);
	if (defn != NULL)
	{
		LbBuildResult result;
		int			attempts = 0;

		build->evaluates = lb_has_expressions(defn);
		do
		{
			result = queue_and_build(build, defn);
			attempts++;
		} while (result != LB_BUILD_DONE &&
				 may_try_again(build, defn, result, attempts));

		/*
		 * Complete an xid: on an idle server with an old open transaction,
		 * the snapshots that follow would stay at the floor of the new
		 * boards.  A standby cannot; there the primary's next one does.
		 */
		if (result != LB_BUILD_DONE)
			fail_build(build, result);
		else if (!TransactionStartedDuringRecovery())
		{
			lb_pause("ready");
			(void) GetTopTransactionId();
		}
		lb_yield_for(NULL, 0);
	}
	UnregisterSnapshot(before);
}

/*
 * Build a definition that this worker has claimed.  Returns false if that has
 * failed, and the definition is still there.
 */
static bool
build_one(LbSharedBoard *shared, uint64 generation)
{
	LbBuild		build;

	memset(&build, 0, sizeof(LbBuild));
	build.shared = shared;
	build.generation = generation;
	build.ended_before = lb_ended_builds();
	build.mem = lb_mem(shared);
	for (int s = 0; s < LB_STRIPES; s++)
		lb_hash_init(&build.boards[s]);
	pg_atomic_write_u64(&shared->build_done, 0);
	pg_atomic_write_u64(&shared->build_total, 0);

	PG_ENSURE_ERROR_CLEANUP(abandon_build, PointerGetDatum(&build));
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		build_claimed(&build);
		CommitTransactionCommand();
		end_build(&build, false);
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon_build, PointerGetDatum(&build));
	return build.installed || !lb_shared_board_is(shared, generation);
}


/* ----------------------------------------------------------------
 *		Worker
 * ----------------------------------------------------------------
 */

/*
 * Claim the build of this database, among those that are requested, that was
 * not tried for longest: a table that is locked does not hold up the others.
 */
static LbSharedBoard *
claim_build(uint64 *generation)
{
	LbSharedBoard *oldest;
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	do
	{
		TimestampTz since = 0;

		oldest = NULL;
		dlist_foreach(iter, &lb_shared->boards)
		{
			LbSharedBoard *shared = dlist_container(LbSharedBoard, node,
													iter.cur);

			if (shared->database != MyDatabaseId ||
				lb_phase(shared) != LB_REQUESTED || !lb_feed_builds())
				continue;
			if (oldest == NULL || shared->build_start < since)
			{
				oldest = shared;
				since = shared->build_start;
			}
		}
		/* If another worker is quicker, look for the next. */
	} while (oldest != NULL && !lb_claim_build(oldest, generation));
	LWLockRelease(&lb_shared->directory_lock);
	return oldest;
}

void
lb_refuse_builds(Oid database, const char *reason)
{
	dlist_iter	iter;

	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		if (shared->database == database)
			lb_refuse_build(shared, reason);
	}
	LWLockRelease(&lb_shared->directory_lock);
}

static bool has_visited = false;
static bool has_claimed = false;

/*
 * A worker may fail before it has claimed a build, when it connects or reads
 * lb_board.  Without this the launcher would start the next one at once, and
 * backends would wait for it.
 */
static void
worker_exit(int code, Datum database)
{
	if (code != 0 && !has_claimed)
		lb_refuse_builds(DatumGetObjectId(database), LB_WORKER_FAILED);
	if (!has_visited)
		lb_visit_has_failed(DatumGetObjectId(database));
}

/*
 * Enter the boards that are recorded here, and request their builds: their
 * first, and one of each board that did not fit into the database's share
 * before that was raised.  Tell the other kinds of workers of the database.
 */
static void
visit_database(void)
{
	const LbCatalog *cat;

	StartTransactionCommand();
	cat = lb_catalog();
	if (cat != NULL && cat->version_ok)
	{
		LbDefinition **defns;
		int			n = lb_all_defns(&defns);
		int			nkinds;
		const LbWorkerKind *const *kinds = lb_worker_kinds(&nkinds);

		lb_pause("visit");
		for (int i = 0; i < n; i++)
		{
			LbSharedBoard *shared;

			lb_settle_width(defns[i]);
			shared = lb_shared_board_attach(defns[i], true);
			if (shared == NULL)
				continue;
			lb_request_first_build(shared);

			/* On a standby no session publishes. */
			if (RecoveryInProgress())
				pg_atomic_write_u32(&shared->memory_kb,
									lb_database_memory_kb);
			lb_request_limited_build(shared,
									 (uint64) lb_database_memory_kb * 1024);
		}
		for (int i = 0; i < nkinds; i++)
		{
			if (kinds[i]->visit != NULL)
				kinds[i]->visit();
		}
	}
	CommitTransactionCommand();
}

void
lb_worker_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	LbSharedBoard *shared;
	uint64		generation;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	before_shmem_exit(worker_exit, arg);
	lb_worker_connect(database, LOCK_TIMEOUT);
	lb_pause_settings();
	lb_worker_commits_alone();
	pgstat_report_appname("leaderboard worker");

	visit_database();
	has_visited = true;
	while ((shared = claim_build(&generation)) != NULL)
	{
		has_claimed = true;

		/* The launcher retries what has failed, later. */
		if (!build_one(shared, generation))
			break;
	}
}
