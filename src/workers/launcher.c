/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The process that starts builds and other workers.
 *
 * The launcher is connected to no database.  At its start it sends a worker to
 * every database that accepts connections, to enter the boards that are
 * recorded there; on a standby when its primary feeds.  From then on it sleeps
 * until a process sets its latch, or until it has something to do by itself:
 *
 *	- It starts a worker for a database in which a build is requested, up to
 *	  leaderboard.build_workers at a time.  A worker connects, builds what is
 *	  requested there, and leaves.
 *	- It starts the workers of other kinds, which maintain.c and watch.c
 *	  register (LbWorkerKind): some visit one database after the other in
 *	  rounds, some stay.  If no worker can be had, one that stays is
 *	  terminated, since builds and rounds come first.
 *	- It logs which boards have gone offline, frees their indexes, and requests
 *	  builds of those that are offline for a passing reason.
 *	- It settles what prepared transactions have left, trims histories,
 *	  completes an xid if one is wanted (tidy.c), and looks after the memory
 *	  (memory.c).
 *
 * Each step returns how long the launcher may sleep after it, in milliseconds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "boards/state.h"
#include "feed/redo.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "util/clock.h"
#include "util/pause.h"
#include "util/wait_event.h"
#include "workers/applier.h"
#include "workers/build.h"
#include "workers/feeder.h"
#include "workers/launcher.h"
#include "workers/memory.h"
#include "workers/tidy.h"
#include "workers/turn.h"
#include "workers/unknown.h"
#include "workers/visits.h"
#include "workers/worker.h"

/* Milliseconds. */
#define RETRY_SOON 200			/* to the next build after one that failed */
#define RETRY_LATER 5000		/* at most, after many of a board that is
								 * offline */
#define STANDBY_SLEEP 1000		/* on a standby, which may be promoted */
#define PASSING_SLEEP 1000		/* while boards are offline for passing
								 * reasons */
#define WORKER_RETRY 1000		/* no worker was to be had */
#define RESIDENT_RETRY 2000		/* before a worker that stays starts again */
#define LIMIT_INTERVAL 60000	/* between two looks at databases' limits */
#define LOOK_AGAIN 1000			/* at a visit that goes on */
#define LOG_AGAIN (3600 * 1000) /* between two equal messages */

#define MAX_WORKERS 64

/* Boards taken from one walk through the directory. */
#define AT_ONCE 64

int			lb_build_workers = 2;

typedef struct Worker
{
	BackgroundWorkerHandle *handle; /* NULL: none has been started, or it left */
	const LbWorkerKind *kind;
	Oid			database;
	TimestampTz started;		/* or left, of a worker that stays */
	int64		looked;			/* at it, by lb_clock() */
	bool		in_the_way;		/* of a command, at that time */
} Worker;

/* Workers that build. */
static const LbWorkerKind builder_kind = {
	.type = "leaderboard worker",
	.function = "lb_worker_main"
};
static Worker builders[MAX_WORKERS];
static TimestampTz limits_seen = 0; /* when limits were last looked at, or 0 */

/*
 * Workers of a kind that are left alone; then the next one that is stuck is
 * waited for.
 */
#define MAX_STUCK 4

/* Workers that visit databases in rounds, one at a time of each kind. */
typedef struct Rounds
{
	Worker		worker;
	List	   *due;			/* databases that remain of this round */
	List	   *again;			/* ... that have more to do, when these are
								 * done */
	int64		begun;			/* when it began, by lb_clock(); 0: none has */
	int64		offset;			/* for lb_clock_was_set() */
	bool		waiting;		/* no worker was to be had */
	List	   *turns;			/* see turn.h */
	Worker		stuck[MAX_STUCK];	/* workers that do not end */
} Rounds;

static Rounds rounds[LB_MAX_WORKER_KINDS];

/* Workers that stay, one of a kind in a database. */
#define MAX_RESIDENTS 16
static Worker residents[MAX_RESIDENTS];

/* No worker was to be had for a build: the next is not for one that stays. */
static bool builds_wait = false;

/* What one round of the launcher is to do about builds. */
typedef struct Round
{
	LbBuildOrder *orders;
	int			norders;
	int			max;
	Oid			database;		/* of the first board ... */
	bool		several;		/* ... and there are boards in others, or may
								 * be */
	bool		requested;		/* builds are, to be started now or later */
	const LbSnapshot *now;		/* on a standby; else NULL */
	long		sleep;
} Round;

/* Whether to log again what was logged at *last, 0 for never. */
static bool
may_log(TimestampTz *last, TimestampTz now)
{
	if (*last != 0 && !lb_elapsed(*last, now, LOG_AGAIN))
		return false;
	*last = now;
	return true;
}

static void
launcher_exit(int code, Datum arg)
{
	pg_atomic_write_u32(&lb_shared->launcher_pid, 0);
}

/* The number of workers that build, in a database or (InvalidOid) in all. */
static int
running_builders(Oid database)
{
	int			n = 0;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		pid_t		pid;

		if (builders[i].handle == NULL)
			continue;
		if (GetBackgroundWorkerPid(builders[i].handle, &pid) == BGWH_STOPPED)
		{
			pfree(builders[i].handle);
			builders[i].handle = NULL;
			continue;
		}
		if (!OidIsValid(database) || builders[i].database == database)
			n++;
	}
	return n;
}

static bool
register_worker(Worker *slot, const LbWorkerKind *kind, Oid database, int extra)
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
		if (may_log(&logged, now))
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

/*
 * Whether to look at a worker now.  If so, terminate it when a command has
 * waited for its database since the last look.  DROP DATABASE waits five
 * seconds; a worker may be in code of a user, or wait for a synchronous
 * standby, and not notice.
 */
static bool
look_at_worker(Worker *worker)
{
	int64		now = lb_clock();
	bool		locked;

	if (now - worker->looked < LOOK_AGAIN * 1000)
		return false;
	worker->looked = now;
	locked = lb_database_locked(worker->database);
	if (locked && worker->in_the_way)
		TerminateBackgroundWorker(worker->handle);
	worker->in_the_way = locked;
	return true;
}

/* Look at those of an array that are running. */
static long
look_at_workers(Worker *workers, int n)
{
	long		sleep = LB_IDLE_SLEEP;

	for (int i = 0; i < n; i++)
	{
		pid_t		pid;

		if (workers[i].handle == NULL ||
			GetBackgroundWorkerPid(workers[i].handle, &pid) != BGWH_STARTED)
			continue;
		(void) look_at_worker(&workers[i]);
		sleep = LOOK_AGAIN;
	}
	return sleep;
}

/*
 * No worker can be had: terminate one that stays, if there is one, and return
 * whether there is.  Until it has left, this is the same one.  It is started
 * again when nothing else waits for a worker.
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
		return true;			/* its end wakes the launcher */
	}
	return false;
}

static bool
start_builder(Oid database)
{
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (builders[i].handle == NULL)
		{
			builds_wait = !register_worker(&builders[i], &builder_kind,
										   database, 0);
			return !builds_wait;
		}
	}
	return false;
}

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
	pid_t		pid;

	for (int i = 0; i < MAX_STUCK; i++)
	{
		Worker	   *worker = &round->stuck[i];

		if (worker->handle == NULL)
			continue;
		if (GetBackgroundWorkerPid(worker->handle, &pid) == BGWH_STOPPED)
		{
			pfree(worker->handle);
			worker->handle = NULL;
		}
		else
			result |= worker->database == database;
	}
	return result;
}

/* A visit goes on.  Terminate the worker when a step takes too long. */
static long
look_at_visit(Rounds *round)
{
	LbStepAge	age = lb_turn_age();

	if (!look_at_worker(&round->worker))
		return LOOK_AGAIN;
	if (age == LB_STEP_OLD)
		TerminateBackgroundWorker(round->worker.handle);
	if (age == LB_STEP_STUCK)
		leave_alone(round);
	return LOOK_AGAIN;
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

	pfree(round->worker.handle);
	round->worker.handle = NULL;
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

/*
 * Begin a round if one is due, or go on with it: start the worker for the next
 * database.
 */
static long
start_round(const LbWorkerKind *kind, Rounds *round)
{
	pid_t		pid;
	long		left;
	Oid			database;

	round->waiting = false;
	look_at_clock(kind, round);
	if (round->worker.handle != NULL)
	{
		/* Its end wakes the launcher. */
		if (GetBackgroundWorkerPid(round->worker.handle, &pid) != BGWH_STOPPED)
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
	if (!register_worker(&round->worker, kind, database,
						 lb_turn_begin(round->turns, database)))
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		round->due = lcons_oid(database, round->due);
		MemoryContextSwitchTo(old);
		round->waiting = true;
		(void) make_room();
		return WORKER_RETRY;
	}
	return LOOK_AGAIN;
}

/*
 * Whether to request a build of a board that is offline for a passing reason:
 * if that is due, or as soon as the transactions have ended that it waits for.
 */
static bool
may_retry(LbSharedBoard *shared, bool due, const LbSnapshot *now)
{
	bool		releasing = pg_atomic_read_u32(&shared->nunknown) > 0;
	bool		running = lb_unknown_running(shared, now);
	bool		ended = lb_awaited_have_ended(shared, running, releasing);

	return !running && !releasing && (due || ended);
}

/*
 * Milliseconds from the beginning of the last attempt to the next.  What kept
 * a build from succeeding, such as another ALTER TABLE, is often over at once;
 * if it is not, the delay doubles.  Attempts that read much of a table before
 * they fail, again and again, take half of the time at most.
 */
static int
retry_delay(const LbBuildOrder *order)
{
	if (order->failures == 0)
		return 0;
	if (!order->offline)
		return RETRY_SOON;
	return Max(order->failures == 1 ? 0 : (int) Min(2 * order->took, INT_MAX),
			   Min(RETRY_LATER, RETRY_SOON << Min(order->failures - 1, 8)));
}

/*
 * Add to the round what a board needs.  The caller holds the directory's lock.
 */
static void
look_at_board(Round *round, LbSharedBoard *shared, TimestampTz now)
{
	LbBuildOrder order;
	int			delay;
	bool		due;

	lb_note_growth(shared);
	lb_request_refused_build(shared, false);
	lb_take_order(shared, &order);
	delay = retry_delay(&order);
	due = delay == 0 || lb_elapsed(order.last_start, now, delay);
	if (order.retry)
	{
		round->sleep = Min(round->sleep,
						   due ? PASSING_SLEEP : Min(delay, PASSING_SLEEP));
		due = lb_feed_builds() && may_retry(shared, due, round->now);

		/* Two that do not fit together would refuse each other memory. */
		if (order.alone && (round->requested || running_builders(InvalidOid) > 0))
			due = false;
		if (due)
		{
			lb_request_retry(shared, order.generation);
			order.start = true;
		}
	}
	if (order.start)
	{
		round->requested = true;
		if (!due)
			round->sleep = Min(round->sleep, RETRY_SOON);
		order.start = due;
	}
	if (!(order.log || order.release || order.start))
		return;
	if (round->norders == round->max)
	{
		round->max = Max(AT_ONCE, round->max * 2);
		if (round->orders == NULL)
			round->orders = palloc(round->max * sizeof(LbBuildOrder));
		else
			round->orders = repalloc_huge(round->orders,
										  round->max * sizeof(LbBuildOrder));
	}
	round->orders[round->norders++] = order;
}

/*
 * Log that boards are offline, and free their indexes.  A process that takes a
 * board offline must not do either.
 */
static void
log_and_release(const Round *round)
{
	for (int i = 0; i < round->norders; i++)
	{
		const LbBuildOrder *order = &round->orders[i];

		if (order->log)
			ereport(LOG,
					(errmsg("board \"%s\" of database %s is offline",
							order->name, lb_logged_database(order->database)),
					 errdetail("Reason: %s.", order->reason)));
		if (order->release)
			lb_shared_board_free_indexes(order->shared, order->generation);
	}
}

/* There can be no worker in a database before the next round. */
static void
refuse_builds(Round *round, Oid database, const char *reason)
{
	lb_refuse_builds(database, reason);
	for (int i = 0; i < round->norders; i++)
	{
		if (round->orders[i].database == database)
			round->orders[i].start = false;
	}
}

/*
 * Whether there is a place for a worker of a database.  The last one is for
 * another database: builds that run code of users may take it forever.
 */
static bool
has_place(const Round *round, Oid database)
{
	int			n = running_builders(InvalidOid);

	if (round->several && n > 0 && n == lb_build_workers - 1 &&
		running_builders(database) == n)
		return false;
	return n < lb_build_workers;
}

/* Start workers for the builds that are due, one for each if there can be. */
static void
start_builds(Round *round)
{
	for (int i = 0; i < round->norders; i++)
	{
		Oid			database = round->orders[i].database;
		int			nbuilds = 0;

		if (!round->orders[i].start)
			continue;
		if (!has_place(round, database))
			continue;
		for (int j = 0; j < round->norders; j++)
			nbuilds += round->orders[j].start &&
				round->orders[j].database == database;
		if (running_builders(database) >= nbuilds)
			continue;

		/* A worker would wait, and others may have no place meanwhile. */
		if (lb_database_locked(database))
		{
			refuse_builds(round, database, "a command has locked the database");
			round->sleep = Min(round->sleep, WORKER_RETRY);
		}
		else if (!start_builder(database))
		{
			if (!make_room())
				refuse_builds(round, database, "no background worker is free");
			round->sleep = Min(round->sleep, WORKER_RETRY);
		}
	}
}

/*
 * Boards of a database may be offline since its share of the memory is used
 * up.  Only a process in that database knows whether
 * leaderboard.database_memory has been raised.  So have it visited: after the
 * configuration was reloaded, and once a minute, since ALTER DATABASE does not
 * tell us.
 */
static void
look_at_limits(void)
{
	TimestampTz now = GetCurrentTimestamp();
	dlist_iter	iter;

	if (limits_seen != 0 && !lb_elapsed(limits_seen, now, LIMIT_INTERVAL))
		return;
	limits_seen = now;
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		if (shared->limited_at != 0)
			lb_add_visit(shared->database);
	}
	LWLockRelease(&lb_shared->directory_lock);
}

/* Have databases visited. */
static void
start_visits(Round *round)
{
	Oid			database;
	Oid			later = InvalidOid; /* the first that is left for later */

	while (running_builders(InvalidOid) < lb_build_workers &&
		   OidIsValid(database = lb_next_visit()) && database != later)
	{
		bool		locked = lb_database_locked(database);

		if (locked || !has_place(round, database))
		{
			if (!OidIsValid(later))
				later = database;
			if (locked)
				round->sleep = Min(round->sleep, WORKER_RETRY);
			lb_visit_later();
			continue;
		}
		if (!start_builder(database))
		{
			(void) make_room();
			round->sleep = Min(round->sleep, WORKER_RETRY);
			break;
		}
		lb_visit_begun();
	}
}

/* Do what boards need: the log, their memory, builds. */
static long
look_at_boards(void)
{
	TimestampTz now = GetCurrentTimestamp();
	Round		round = {
		.several = OidIsValid(lb_next_visit()),
		.sleep = LB_IDLE_SLEEP
	};
	LbSnapshot	running;
	dlist_iter	iter;

	if (RecoveryInProgress())
	{
		lb_running_on_standby(&running);
		round.now = &running;
	}
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
	{
		LbSharedBoard *shared = dlist_container(LbSharedBoard, node, iter.cur);

		if (!OidIsValid(round.database))
			round.database = shared->database;
		round.several |= shared->database != round.database;
		look_at_board(&round, shared, now);
	}
	LWLockRelease(&lb_shared->directory_lock);

	lb_pause("orders");
	log_and_release(&round);
	if (!round.requested && !OidIsValid(lb_next_visit()))
		builds_wait = false;
	if (lb_feed_builds())
	{
		round.sleep = Min(round.sleep, lb_visit_again());
		start_builds(&round);
		look_at_limits();
		start_visits(&round);
	}
	if (round.orders != NULL)
		pfree(round.orders);
	return round.sleep;
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
		/* Rather one where none has been before. */
		if (residents[i].handle == NULL &&
			(slot == NULL || OidIsValid(slot->database)))
			slot = &residents[i];
	}
	return slot;
}

/*
 * Keep a worker in each database where one of that kind stays.  One that has
 * left, since a command locked the database or by an error, is not started
 * again at once, and none is while something else waits for a worker.
 */
static long
start_residents(const LbWorkerKind *kind, bool others_wait)
{
	static Oid	databases[LB_MAX_DATABASES];
	static TimestampTz logged = 0;
	TimestampTz now = GetCurrentTimestamp();
	int			n = kind->databases(databases, LB_MAX_DATABASES);
	long		sleep = LB_IDLE_SLEEP;

	reap_residents(now);
	for (int d = 0; d < n; d++)
	{
		Worker	   *slot = resident_slot(kind, databases[d]);
		bool		again = slot != NULL && slot->kind == kind &&
			slot->database == databases[d];

		if (again && slot->handle != NULL)
			continue;
		if (slot == NULL && may_log(&logged, now))
			ereport(WARNING,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a %s for database %s",
							kind->type, lb_logged_database(databases[d])),
					 errdetail("There are %d of them, which is as many as there may be.",
							   MAX_RESIDENTS)));
		if (slot == NULL || others_wait || lb_database_locked(databases[d]) ||
			(again && !lb_elapsed(slot->started, now, RESIDENT_RETRY)))
			sleep = Min(sleep, RESIDENT_RETRY);
		else if (!register_worker(slot, kind, databases[d], 0))
		{
			slot->kind = kind;
			slot->database = databases[d];
			slot->started = now;
			sleep = Min(sleep, RESIDENT_RETRY);
		}
	}
	return sleep;
}

/* Start the workers of all registered kinds that are due. */
static long
start_kinds(void)
{
	int			n;
	const LbWorkerKind *const *kinds = lb_worker_kinds(&n);
	bool		others_wait = builds_wait;
	long		sleep = LB_IDLE_SLEEP;

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

/*
 * Put leaderboard.memory into force.  If it was raised, boards that were
 * refused memory are built again, although less may be free than when they
 * were.
 */
static void
apply_memory_limit(void)
{
	dlist_iter	iter;

	if (!lb_apply_memory_limit())
		return;
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	dlist_foreach(iter, &lb_shared->boards)
		lb_request_refused_build(dlist_container(LbSharedBoard, node, iter.cur),
								 true);
	LWLockRelease(&lb_shared->directory_lock);
	lb_visit_all();
}

static void
reload_settings(void)
{
	int			database_memory = lb_database_memory_kb;

	ProcessConfigFile(PGC_SIGHUP);
	apply_memory_limit();
	if (lb_database_memory_kb != database_memory)
		lb_visit_all();
	limits_seen = 0;
}

/* What only a primary does. */
static long
feed_and_tidy(void)
{
	long		sleep = lb_look_after_feed();

	sleep = Min(sleep, lb_settle_all_prepared());
	sleep = Min(sleep, lb_complete_xid());
	return Min(sleep, start_kinds());
}

/* What only a standby does. */
static long
follow_primary(void)
{
	lb_visit_as_fed();

	/* No transaction of ours does this at its end. */
	lb_update_horizon(true);
	return STANDBY_SLEEP;
}

void
lb_launcher_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	lb_worker_settings();
	lb_worker_commits_alone();

	/* A crash of the launcher alone does not make captured changes unknown. */
	if (pg_atomic_read_u64(&lb_shared->first_xid) == 0)
		pg_atomic_write_u64(&lb_shared->first_xid, lb_next_xid());

	lb_shared->launcher_latch = MyLatch;
	before_shmem_exit(launcher_exit, (Datum) 0);
	pg_write_barrier();
	pg_atomic_write_u32(&lb_shared->launcher_pid, MyProcPid);
	lb_pause("begun");
	apply_memory_limit();
	if (RecoveryInProgress())
		pg_atomic_write_u32(&lb_shared->follows, 1);
	else if (pg_atomic_read_u32(&lb_shared->follows) == 0)
		lb_visit_all();

	while (!ShutdownRequestPending)
	{
		long		sleep;
		bool		standby;

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			reload_settings();
		}
		standby = RecoveryInProgress();
		if (!standby && pg_atomic_read_u32(&lb_shared->follows) != 0)
		{
			/* Another launcher does this if it fails. */
			lb_visit_promoted();
			pg_atomic_write_u32(&lb_shared->follows, 0);
		}
		sleep = standby ? follow_primary() : feed_and_tidy();
		sleep = Min(sleep, lb_trim_histories());
		lb_warn_memory();
		sleep = Min(sleep, look_at_boards());
		sleep = Min(sleep, look_at_workers(builders, MAX_WORKERS));
		sleep = Min(sleep, look_at_workers(residents, MAX_RESIDENTS));
		if (lb_collapse_pages())
			sleep = 0;
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 sleep, lb_wait_event(LB_WAIT_EVENT_LAUNCHER_MAIN));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	/*
	 * Terminated: with this status the postmaster starts it again, unless the
	 * server is shutting down.
	 */
	proc_exit(1);
}

void
lb_workers_init(void)
{
	BackgroundWorker worker;

	DefineCustomBoolVariable("leaderboard.applier",
							 "Enables a process that applies changes to the indexes of large boards.",
							 "When off, the committing session applies them.",
							 &lb_applier,
							 true,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.build_workers",
							"Sets how many boards are built at the same time.",
							NULL,
							&lb_build_workers,
							2, 1, 64,
							PGC_SIGHUP, 0,
							NULL, NULL, NULL);

	/* No worker may read the tables of pg_upgrade's servers. */
	if (IsBinaryUpgrade)
		return;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "leaderboard", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "lb_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "leaderboard launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "leaderboard launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
	strlcpy(worker.bgw_function_name, "lb_applier_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "leaderboard applier", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "leaderboard applier", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
