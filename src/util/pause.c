/*-------------------------------------------------------------------------
 *
 * pause.c
 *	  Pause points for tests, and a count of work done.
 *
 * All of it is empty unless LB_PAUSE_POINTS is defined.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "catalog/pg_db_role_setting.h"
#include "miscadmin.h"
#include "postmaster/startup.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "util/pause.h"

#ifdef LB_PAUSE_POINTS

uint64		lb_work = 0;

static char *pause_at = NULL;
static int	pause_key = 0;
static char *work = NULL;

static const char *
show_work(void)
{
	static char digits[MAXINT8LEN + 1];

	digits[pg_ulltoa_n(lb_work, digits)] = '\0';
	return digits;
}

void
lb_pause_init(void)
{
	DefineCustomStringVariable("leaderboard.pause_at",
							   "Names the points at which this session waits.",
							   "For tests; the lock is an advisory lock.",
							   &pause_at,
							   "",
							   PGC_USERSET, 0,
							   NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.pause_key",
							"Sets the advisory lock that this session waits for.",
							"For tests that let one session go on before another.",
							&pause_key,
							20260411, 0, INT_MAX,
							PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomStringVariable("leaderboard.work",
							   "Shows how many changes this session has summed up or compared.",
							   "For tests.",
							   &work,
							   "",
							   PGC_INTERNAL, GUC_DISALLOW_IN_FILE,
							   NULL, NULL, show_work);
}

/*
 * A process reads its database's settings before other processes see that it
 * is there.  A test that alters them and then sees no worker may miss a worker
 * that is starting, so the worker reads them again.
 */
void
lb_pause_settings(void)
{
	Relation	settings;
	Snapshot	snapshot;

	StartTransactionCommand();
	settings = table_open(DbRoleSettingRelationId, AccessShareLock);
	snapshot = RegisterSnapshot(GetCatalogSnapshot(DbRoleSettingRelationId));
	ApplySetting(snapshot, MyDatabaseId, InvalidOid, settings,
				 PGC_S_DATABASE);
	UnregisterSnapshot(snapshot);
	table_close(settings, AccessShareLock);
	CommitTransactionCommand();
}

/*
 * An ordinary lock, so that the isolation tester sees the session waiting.
 * This works in transaction callbacks too, because the locks are released
 * after them.
 */
void
lb_pause(const char *point)
{
	LOCKTAG		tag;
	int			timeout = LockTimeout;

	/* No point's name is part of another's. */
	if (pause_at == NULL || strstr(pause_at, point) == NULL)
		return;

	/*
	 * For a process that is in no database, a test takes the lock in
	 * template1.
	 */
	SET_LOCKTAG_ADVISORY(tag,
						 OidIsValid(MyDatabaseId) ? MyDatabaseId : Template1DbOid,
						 0, pause_key, 1);

	/*
	 * The startup process must not wait for a lock: it would cancel the
	 * holder, as a conflict.
	 */
	if (AmStartupProcess())
	{
		while (LockAcquire(&tag, ShareLock, false, true) ==
			   LOCKACQUIRE_NOT_AVAIL)
			pg_usleep(1000L);
		LockRelease(&tag, ShareLock, false);
		return;
	}

	/* The timeout of a worker is not for this. */
	LockTimeout = 0;
	PG_TRY();
	{
		(void) LockAcquire(&tag, ShareLock, false, false);
	}
	PG_FINALLY();
	{
		LockTimeout = timeout;
	}
	PG_END_TRY();
	LockRelease(&tag, ShareLock, false);
}

#endif							/* LB_PAUSE_POINTS */
