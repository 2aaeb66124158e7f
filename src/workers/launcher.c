/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The process that starts builds and other workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "boards/shared.h"
#include "boards/state.h"
#include "ledger/prepared.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "util/region.h"
#include "workers/build.h"
#include "workers/launcher.h"
#include "workers/unknown.h"
#include "workers/worker.h"

/* Milliseconds before something that failed is tried again. */
#define RETRY_SOON 200
#define RETRY_LATER 5000

#define MAX_WORKERS 64

/* Milliseconds between two xids that the launcher completes. */
#define XID_EVERY 200

/* Milliseconds before a worker that stays is started again. */
#define RESIDENT_RETRY 2000

/* Milliseconds before the log is told again that no worker is to be had. */
#define TELL_AGAIN (3600 * 1000)

/* Definitions that the launcher takes from one look through the directory. */
#define AT_ONCE 64

/* The least time between two looks through all histories, in milliseconds. */
#define TRIM_INTERVAL 5000

int			lb_build_workers = 2;

/* Is the log to be told (again) of what was told at *told, or never (0)? */
static bool
is_to_tell(TimestampTz *told, TimestampTz now)
{
	if (*told != 0 && !lb_elapsed(*told, now, TELL_AGAIN))
		return false;
	*told = now;
	return true;
}
typedef struct Worker
{
	BackgroundWorkerHandle *handle; /* NULL: free */
	const LbWorkerKind *kind;
	Oid			database;
	TimestampTz started;
} Worker;

/* Workers that build. */
static const LbWorkerKind builder_kind = {
	.type = "leaderboard worker",
	.function = "lb_worker_main"
};
static Worker workers[MAX_WORKERS];
static List *visits = NIL;		/* databases not looked at yet */

/* Workers that visit the databases in rounds, one at a time of each kind. */
typedef struct Rounds
{
	Worker		worker;
	List	   *due;			/* databases of this round */
	TimestampTz last;			/* when it began */
	bool		waiting;		/* as builds_wait */
}			Rounds;

static Rounds rounds[LB_MAX_WORKER_KINDS];

/* Workers that stay, one of a kind in a database. */
#define MAX_RESIDENTS 16
static Worker residents[MAX_RESIDENTS];

/* No worker was to be had: what is free next is not for those that stay. */
static bool builds_wait = false;

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
register_worker(Worker *slot, const LbWorkerKind *kind, Oid database)
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
	strlcpy(worker.bgw_function_name, kind->function, BGW_MAXLEN);
	snprintf(worker.bgw_name, BGW_MAXLEN, "%s for database %u", kind->type,
			 database);
	strlcpy(worker.bgw_type, kind->type, BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	if (!RegisterDynamicBackgroundWorker(&worker, &slot->handle))
	{
		slot->handle = NULL;

		/* It is tried again and again, and told once. */
		if (is_to_tell(&told, now))
			ereport(WARNING,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a %s for database %u",
							kind->type, database),
					 errdetail("As many background workers are running as there may be."),
					 errhint("Increase \"max_worker_processes\". It is tried again until one has left.")));
		return false;
	}
	slot->kind = kind;
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
	for (int i = 0; i < MAX_RESIDENTS; i++)
	{
		pid_t		pid;

		if (residents[i].handle == NULL ||
			GetBackgroundWorkerPid(residents[i].handle, &pid) != BGWH_STARTED)
			continue;
		TerminateBackgroundWorker(residents[i].handle);
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
			builds_wait = !register_worker(&workers[i], &builder_kind,
										   database);
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
start_round(const LbWorkerKind *kind, Rounds * round)
{
	TimestampTz now = GetCurrentTimestamp();
	dlist_iter	iter;
	pid_t		pid;
	long		left;

	round->waiting = false;
	if (*kind->interval == 0)
		return 60000;
	/* The clock may have been set back. */
	if (round->last == 0 || round->last > now)
		round->last = now;
	if (round->worker.handle != NULL)
	{
		/* Its end wakes us. */
		if (GetBackgroundWorkerPid(round->worker.handle, &pid) != BGWH_STOPPED)
			return 60000;
		pfree(round->worker.handle);
		round->worker.handle = NULL;
	}
	left = *kind->interval * 1000L -
		TimestampDifferenceMilliseconds(round->last, now);
	if (round->due == NIL)
	{
		if (left > 0)
			return left;
		round->last = now;
		LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
		dlist_foreach(iter, &lb_shared->defs)
			round->due = list_append_unique_oid(round->due,
												dlist_container(LbSharedBoard, node, iter.cur)->database);
		LWLockRelease(&lb_shared->directory_lock);
	}
	if (round->due == NIL)
		return *kind->interval * 1000L;

	if (!register_worker(&round->worker, kind, linitial_oid(round->due)))
	{
		round->waiting = true;
		(void) make_room();
		return 1000;
	}
	round->due = list_delete_first(round->due);
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
	if (!lb_elapsed(last, GetCurrentTimestamp(), XID_EVERY))
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

		full = lb_elapsed(all_trimmed, now, TRIM_INTERVAL);
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
			lb_settle_prepared(shared, shared->generation))
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
				lb_elapsed(shared->build_start, now, wait);
			SpinLockRelease(&shared->mutex);

			if (retry)
			{
				bool		ending = pg_atomic_read_u32(&shared->nunknown) > 0;
				bool		running = lb_unknown_running(shared, NULL);

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
				lb_release_waiters(database, "no background worker is free");
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

/* Note which of the workers that stay have left. */
static void
reap_residents(TimestampTz now)
{
	for (int i = 0; i < MAX_RESIDENTS; i++)
	{
		pid_t		pid;

		if (residents[i].handle != NULL &&
			GetBackgroundWorkerPid(residents[i].handle, &pid) == BGWH_STOPPED)
		{
			pfree(residents[i].handle);
			residents[i].handle = NULL;
			residents[i].started = now;
		}
	}
}

/* The place of a worker that stays, or one for it, or NULL. */
static Worker *
resident_slot(const LbWorkerKind *kind, Oid database)
{
	Worker	   *slot = NULL;

	for (int i = 0; i < MAX_RESIDENTS; i++)
	{
		if (residents[i].kind == kind && residents[i].database == database)
			return &residents[i];
		/* Rather one that nobody waits to be started in again. */
		if (residents[i].handle == NULL &&
			(slot == NULL || OidIsValid(slot->database)))
			slot = &residents[i];
	}
	return slot;
}

/*
 * Keep a worker in each database where one of that kind stays.  One that has
 * left, since somebody wanted the database or by an error, is not started again
 * at once, and none while something else waits for a worker.  Returns how long
 * to sleep.
 */
static long
start_residents(const LbWorkerKind *kind, bool others_wait)
{
	static Oid	databases[LB_MAX_DATABASES];
	static TimestampTz told = 0;
	TimestampTz now = GetCurrentTimestamp();
	int			n = kind->databases(databases, LB_MAX_DATABASES);
	long		sleep = 60000;

	reap_residents(now);
	for (int d = 0; d < n; d++)
	{
		Worker	   *slot = resident_slot(kind, databases[d]);
		bool		again = slot != NULL && slot->kind == kind &&
			slot->database == databases[d];

		if (again && slot->handle != NULL)
			continue;
		if (slot == NULL && is_to_tell(&told, now))
			ereport(WARNING,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a %s for database %u",
							kind->type, databases[d]),
					 errdetail("There are %d of them, which is as many as there may be.",
							   MAX_RESIDENTS)));
		if (slot == NULL || others_wait ||
			(again && !lb_elapsed(slot->started, now, RESIDENT_RETRY)))
			sleep = Min(sleep, RESIDENT_RETRY);
		else if (!register_worker(slot, kind, databases[d]))
		{
			slot->kind = kind;
			slot->database = databases[d];
			slot->started = now;
			sleep = Min(sleep, RESIDENT_RETRY);
		}
	}
	return sleep;
}

/*
 * Start the workers of all registered kinds that are due.  Returns how long to
 * sleep.
 */
static long
start_kinds(void)
{
	int			n;
	const LbWorkerKind *const *kinds = lb_worker_kinds(&n);
	bool		others_wait = builds_wait;
	long		sleep = 60000;

	for (int i = 0; i < n; i++)
	{
		if (kinds[i]->interval == NULL)
			continue;
		sleep = Min(sleep, start_round(kinds[i], &rounds[i]));
		others_wait |= rounds[i].waiting;
	}
	for (int i = 0; i < n; i++)
	{
		if (kinds[i]->interval == NULL)
			sleep = Min(sleep, start_residents(kinds[i], others_wait));
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
		sleep = Min(sleep, start_kinds());
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
