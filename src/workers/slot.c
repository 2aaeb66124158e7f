/*-------------------------------------------------------------------------
 *
 * slot.c
 *	  Workers that the launcher starts, and looks after.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "util/clock.h"
#include "workers/slot.h"
#include "workers/tidy.h"

#define LOG_AGAIN (3600 * 1000) /* milliseconds between two equal messages */

bool
lb_may_log(TimestampTz *last, TimestampTz now)
{
	if (*last != 0 && !lb_elapsed(*last, now, LOG_AGAIN))
		return false;
	*last = now;
	return true;
}

bool
lb_start_worker(LbWorkerSlot *slot, const LbWorkerKind *kind, Oid database,
				int extra)
{
	static TimestampTz logged = 0;
	TimestampTz now = GetCurrentTimestamp();
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "leaderboard", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, kind->function, BGW_MAXLEN);
	snprintf(worker.bgw_name, BGW_MAXLEN, "%s for database %u", kind->type,
			 database);
	strlcpy(worker.bgw_type, kind->type, BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	memcpy(worker.bgw_extra, &extra, sizeof(extra));
	worker.bgw_notify_pid = MyProcPid;
	if (!RegisterDynamicBackgroundWorker(&worker, &slot->handle))
	{
		slot->handle = NULL;

		/* This is tried again and again, and logged once. */
		if (lb_may_log(&logged, now))
			ereport(WARNING,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a %s for database %s",
							kind->type, lb_logged_database(database)),
					 errdetail("As many background workers are running as there may be."),
					 errhint("Increase \"max_worker_processes\". It is tried again until one has left.")));
		return false;
	}
	slot->kind = kind;
	slot->database = database;
	slot->started = now;
	slot->looked = lb_clock();
	slot->in_the_way = false;
	return true;
}

bool
lb_worker_has_left(LbWorkerSlot *slot)
{
	pid_t		pid;

	if (slot->handle == NULL)
		return true;
	if (GetBackgroundWorkerPid(slot->handle, &pid) != BGWH_STOPPED)
		return false;
	pfree(slot->handle);
	slot->handle = NULL;
	return true;
}

bool
lb_worker_runs(const LbWorkerSlot *slot)
{
	pid_t		pid;

	return slot->handle != NULL &&
		GetBackgroundWorkerPid(slot->handle, &pid) == BGWH_STARTED;
}

bool
lb_look_at_worker(LbWorkerSlot *slot)
{
	int64		now = lb_clock();
	bool		locked;

	if (now - slot->looked < LB_LOOK_AGAIN * 1000)
		return false;
	slot->looked = now;
	locked = lb_database_locked(slot->database);
	if (locked && slot->in_the_way)
		TerminateBackgroundWorker(slot->handle);
	slot->in_the_way = locked;
	return true;
}

long
lb_look_at_workers(LbWorkerSlot *slots, int n)
{
	long		sleep = LB_IDLE_SLEEP;

	for (int i = 0; i < n; i++)
	{
		if (!lb_worker_runs(&slots[i]))
			continue;
		(void) lb_look_at_worker(&slots[i]);
		sleep = LB_LOOK_AGAIN;
	}
	return sleep;
}
