/*-------------------------------------------------------------------------
 *
 * rounds.c
 *	  Workers that visit one database after the other, in rounds.
 *
 * There is one worker of a kind at a time.  turn.c has the limits of a visit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "util/clock.h"
#include "workers/residents.h"
#include "workers/rounds.h"
#include "workers/slot.h"
#include "workers/tidy.h"
#include "workers/turn.h"

/*
 * Workers of a kind that are left alone; then the next one that is stuck is
 * waited for.
 */
#define MAX_STUCK 4

/* Workers that visit databases in rounds, one at a time of each kind. */
typedef struct Rounds
{
	LbWorkerSlot worker;
	List	   *due;			/* databases that remain of this round */
	List	   *again;			/* ... that have more to do, when these are
								 * done */
	int64		begun;			/* when it began, by lb_clock(); 0: none has */
	int64		offset;			/* for lb_clock_was_set() */
	List	   *turns;			/* see turn.h */
	LbWorkerSlot stuck[MAX_STUCK];	/* workers that do not end */
} Rounds;

static Rounds rounds[LB_MAX_WORKER_KINDS];

/* Go on without a worker that does not end, unless there are too many. */
static void
leave_alone(Rounds *round)
{
	for (int i = 0; i < MAX_STUCK; i++)
	{
		if (round->stuck[i].handle != NULL)
			continue;
		ereport(WARNING,
				(errmsg("the %s for database %s does not end",
						round->worker.kind->type,
						lb_logged_database(round->worker.database)),
				 errdetail("Code that it runs there has been told to, and does not look for interrupts."),
				 errhint("Other databases are visited without it. A trigger or a function may be in a loop.")));
		round->stuck[i] = round->worker;
		round->worker.handle = NULL;
		(void) lb_turn_end(&round->turns);
		return;
	}
}

/*
 * Whether such a worker is still in a database.  Forgets those that have left.
 */
static bool
is_stuck(Rounds *round, Oid database)
{
	bool		result = false;

	for (int i = 0; i < MAX_STUCK; i++)
	{
		if (!lb_worker_has_left(&round->stuck[i]))
			result |= round->stuck[i].database == database;
	}
	return result;
}

/* A visit goes on.  Terminate the worker when a step takes too long. */
static long
look_at_visit(Rounds *round)
{
	LbStepAge	age = lb_turn_age();

	if (!lb_look_at_worker(&round->worker))
		return LB_LOOK_AGAIN;
	if (age == LB_STEP_OLD)
		TerminateBackgroundWorker(round->worker.handle);
	if (age == LB_STEP_STUCK)
		leave_alone(round);
	return LB_LOOK_AGAIN;
}

/* Begin a round: all databases that have boards are due. */
static void
list_due(Rounds *round)
{
	dlist_iter	iter;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	round->begun = lb_clock();
	list_free(round->again);
	round->again = NIL;
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
		round->due = list_append_unique_oid(round->due,
											dlist_container(LbSharedBoard, node, iter.cur)->database);
	LWLockRelease(&lb_shared->directory_lock);
	round->due = lb_turns_skip(&round->turns, round->due);
	MemoryContextSwitchTo(old);
}

/* The worker has left. */
static void
end_visit(Rounds *round)
{
	MemoryContext old;

	if (!lb_turn_end(&round->turns))
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	round->again = lappend_oid(round->again, round->worker.database);
	MemoryContextSwitchTo(old);
}

/*
 * Take the database that is to be visited next, InvalidOid if there is none
 * now.
 */
static Oid
next_database(Rounds *round)
{
	List	  **list = round->due != NIL ? &round->due : &round->again;
	Oid			database = InvalidOid;

	while (*list != NIL && !OidIsValid(database))
	{
		database = linitial_oid(*list);
		*list = list_delete_first(*list);
		if (is_stuck(round, database) || lb_database_locked(database))
			database = InvalidOid;
	}
	return database;
}

/*
 * The time to the next round begins anew when the clock has been set forward:
 * what the workers do then cannot be undone, so they leave time to set it
 * right.
 */
static void
look_at_clock(const LbWorkerKind *kind, Rounds *round)
{
	int64		step = lb_clock_was_set(&round->offset);

	if (step > 0 && *kind->interval > 0)
	{
		ereport(LOG,
				(errmsg("the clock was set forward by " INT64_FORMAT " seconds",
						step / USECS_PER_SEC),
				 errdetail("The next %s starts in %d seconds.", kind->type,
						   *kind->interval)));
		round->begun = lb_clock();
		list_free(round->due);
		list_free(round->again);
		round->due = round->again = NIL;
	}
}

long
lb_start_round(const LbWorkerKind *kind, int i, bool *waiting)
{
	Rounds	   *round = &rounds[i];
	long		left;
	Oid			database;

	*waiting = false;
	look_at_clock(kind, round);
	if (round->worker.handle != NULL)
	{
		/* Its end wakes the launcher. */
		if (!lb_worker_has_left(&round->worker))
			return look_at_visit(round);
		end_visit(round);
	}
	if (*kind->interval == 0)
		return LB_IDLE_SLEEP;
	if (round->begun == 0)
		round->begun = lb_clock();

	left = *kind->interval * 1000L - (long) ((lb_clock() - round->begun) / 1000);
	if (round->due == NIL && left <= 0)
	{
		list_due(round);
		left = *kind->interval * 1000L;
	}
	database = next_database(round);
	if (!OidIsValid(database))
		return Max(left, 0);
	if (!lb_start_worker(&round->worker, kind, database,
						 lb_turn_begin(round->turns, database)))
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		round->due = lcons_oid(database, round->due);
		MemoryContextSwitchTo(old);
		*waiting = true;
		(void) lb_make_room();
		return LB_WORKER_RETRY;
	}
	return LB_LOOK_AGAIN;
}
