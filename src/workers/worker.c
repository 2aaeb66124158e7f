/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  What the background workers of a database have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/lock.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "sql/spi.h"
#include "workers/worker.h"

static const LbWorkerKind *kinds[LB_MAX_WORKER_KINDS];
static int	nkinds = 0;

static const Oid *yield_for = NULL;
static int	nyield_for = 0;

void
lb_register_worker(const LbWorkerKind *kind)
{
	Assert(nkinds < LB_MAX_WORKER_KINDS);
	kinds[nkinds++] = kind;
}

const LbWorkerKind *const *
lb_worker_kinds(int *n)
{
	*n = nkinds;
	return kinds;
}

bool
lb_elapsed(TimestampTz since, TimestampTz now, int msec)
{
	return TimestampDifferenceExceeds(since, now, msec) ||
		TimestampDifferenceExceeds(now, since, msec);
}

const char *
lb_logged_database(Oid database)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *name;
	char	   *result;

	StartTransactionCommand();
	name = get_database_name(database);
	MemoryContextSwitchTo(context);
	result = name == NULL ? psprintf("%u", database) :
		psprintf("\"%s\"", name);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return result;
}

/* Whether a lock of any process is as "is" says. */
static bool
any_lock(bool (*is) (const LockInstanceData *lock, const LOCKTAG *tag),
		 const LOCKTAG *tag)
{
	LockData   *data = GetLockStatusData();
	bool		found = false;

	for (int i = 0; i < data->nelements && !found; i++)
		found = is(&data->locks[i], tag);
	pfree(data->locks);
	pfree(data);
	return found;
}

/*
 * Whether another process holds or awaits a database's lock in a mode that
 * conflicts with connecting.
 */
static bool
locks_out(const LockInstanceData *lock, const LOCKTAG *database)
{
	LOCKMASK	conflicts = GetLockTagsMethodTable(database)->conflictTab[RowExclusiveLock];

	return memcmp(&lock->locktag, database, sizeof(LOCKTAG)) == 0 &&
		lock->pid != MyProcPid &&
		(conflicts & (lock->holdMask | LOCKBIT_ON(lock->waitLockMode))) != 0;
}

/*
 * A process that connects would wait for one that waits, too.  To try for the
 * lock would be an error while the table of locks is full.
 */
bool
lb_database_locked(Oid database)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	return LockWaiterCount(&tag) > 0 && any_lock(locks_out, &tag);
}

void
lb_yield_for(const Oid *tables, int n)
{
	yield_for = tables;
	nyield_for = n;
}

/* Whether a process waits for a lock, and the worker is to yield for it. */
static bool
is_awaited(const LockInstanceData *lock, const LOCKTAG *unused)
{
	if (lock->waitLockMode == NoLock ||
		lock->locktag.locktag_type != LOCKTAG_RELATION ||
		lock->locktag.locktag_field1 != MyDatabaseId)
		return false;
	for (int i = 0; i < nyield_for; i++)
	{
		if (lock->locktag.locktag_field2 == yield_for[i])
			return true;
	}
	return false;
}

/*
 * Whether the startup process waits for a lock on one of the tables.  It would
 * wait for max_standby_streaming_delay, and replay nothing meanwhile.  On a
 * standby no other process asks for a lock that conflicts with ours.
 *
 * Whether we get another lock on the table tells nothing: from PostgreSQL 17
 * on, a process gets it ahead of one that waits for the process's own locks.
 * A table with locks of the fast path only has none that is awaited, so
 * mostly the locks of all processes need not be listed.
 */
static bool
replay_waits(void)
{
	for (int i = 0; i < nyield_for; i++)
	{
		LOCKTAG		tag;

		SET_LOCKTAG_RELATION(tag, MyDatabaseId, yield_for[i]);
		if (LockWaiterCount(&tag) > 0)
			return any_lock(is_awaited, NULL);
	}
	return false;
}

bool
lb_must_yield(void)
{
	static TimestampTz last = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (!lb_elapsed(last, now, 100))
		return false;
	last = now;
	return lb_database_locked(MyDatabaseId) ||
		(RecoveryInProgress() && replay_waits());
}

void
lb_yield(void)
{
	CHECK_FOR_INTERRUPTS();
	if (lb_must_yield())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the %s yields to a command on the database or the table",
						IsParallelWorker() ||
						strcmp(MyBgworkerEntry->bgw_type, "leaderboard worker") == 0 ?
						"build" : "maintenance")));
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

static void
set_lock_timeout(int most)
{
	SetConfigOption("lock_timeout", psprintf("%d", lb_lock_timeout(most)),
					PGC_USERSET, PGC_S_OVERRIDE);
}

void
lb_worker_connect(Oid database, int lock_timeout)
{
	set_lock_timeout(lock_timeout);
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);

	/* The database may have a deadlock_timeout of its own. */
	set_lock_timeout(lock_timeout);
	lb_worker_settings();
}

void
lb_worker_commits_alone(void)
{
	SetConfigOption("synchronous_commit", "off", PGC_SUSET, PGC_S_OVERRIDE);
}
