/*-------------------------------------------------------------------------
 *
 * residents.c
 *	  Workers that stay, one of a kind in a database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "boards/shared.h"
#include "workers/residents.h"
#include "workers/slot.h"
#include "workers/tidy.h"

/* Milliseconds before a worker that stays starts again. */
#define RESIDENT_RETRY 2000

#define MAX_RESIDENTS 16
static LbWorkerSlot residents[MAX_RESIDENTS];

bool
lb_make_room(void)
{
	for (int i = 0; i < MAX_RESIDENTS; i++)
	{
		if (!lb_worker_runs(&residents[i]))
			continue;
		TerminateBackgroundWorker(residents[i].handle);
		return true;			/* its end wakes the launcher */
	}
	return false;
}

/* Note which of the workers that stay have left. */
static void
reap_residents(TimestampTz now)
{
	for (int i = 0; i < MAX_RESIDENTS; i++)
	{
		if (residents[i].handle != NULL && lb_worker_has_left(&residents[i]))
			residents[i].started = now;
	}
}

/* The place of a worker that stays, or one for it, or NULL. */
static LbWorkerSlot *
resident_slot(const LbWorkerKind *kind, Oid database)
{
	LbWorkerSlot *slot = NULL;

	for (int i = 0; i < MAX_RESIDENTS; i++)
	{
		if (residents[i].kind == kind && residents[i].database == database)
			return &residents[i];
		/* Rather one where none has been before. */
		if (residents[i].handle == NULL &&
			(slot == NULL || OidIsValid(slot->database)))
			slot = &residents[i];
	}
	return slot;
}

long
lb_start_residents(const LbWorkerKind *kind, bool others_wait)
{
	static Oid	databases[LB_MAX_DATABASES];
	static TimestampTz logged = 0;
	TimestampTz now = GetCurrentTimestamp();
	int			n = kind->databases(databases, LB_MAX_DATABASES);
	long		sleep = LB_IDLE_SLEEP;

	reap_residents(now);
	for (int d = 0; d < n; d++)
	{
		LbWorkerSlot *slot = resident_slot(kind, databases[d]);
		bool		again = slot != NULL && slot->kind == kind &&
			slot->database == databases[d];

		if (again && slot->handle != NULL)
			continue;
		if (slot == NULL && lb_may_log(&logged, now))
			ereport(WARNING,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a %s for database %s",
							kind->type, lb_logged_database(databases[d])),
					 errdetail("There are %d of them, which is as many as there may be.",
							   MAX_RESIDENTS)));
		if (slot == NULL || others_wait || lb_database_locked(databases[d]) ||
			(again && !lb_elapsed(slot->started, now, RESIDENT_RETRY)))
			sleep = Min(sleep, RESIDENT_RETRY);
		else if (!lb_start_worker(slot, kind, databases[d], 0))
		{
			slot->kind = kind;
			slot->database = databases[d];
			slot->started = now;
			sleep = Min(sleep, RESIDENT_RETRY);
		}
	}
	return sleep;
}

long
lb_look_at_residents(void)
{
	return lb_look_at_workers(residents, MAX_RESIDENTS);
}
