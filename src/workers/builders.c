/*-------------------------------------------------------------------------
 *
 * builders.c
 *	  Workers that build, and what the launcher does for boards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "utils/timestamp.h"

#include "boards/shared.h"
#include "boards/state.h"
#include "feed/redo.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "util/pause.h"
#include "workers/build.h"
#include "workers/builders.h"
#include "workers/memory.h"
#include "workers/residents.h"
#include "workers/slot.h"
#include "workers/tidy.h"
#include "workers/unknown.h"
#include "workers/visits.h"

/* Milliseconds. */
#define RETRY_SOON 200			/* to the next build after one that failed */
#define RETRY_LATER 5000		/* at most, after many of a board that is
								 * offline */
#define PASSING_SLEEP 1000		/* while boards are offline for passing
								 * reasons */
#define LIMIT_INTERVAL 60000	/* between two looks at databases' limits */

#define MAX_WORKERS 64

/* Boards taken from one walk through the directory. */
#define AT_ONCE 64

int			lb_build_workers = 2;

static const LbWorkerKind builder_kind = {
	.type = "leaderboard worker",
	.function = "lb_worker_main"
};
static LbWorkerSlot builders[MAX_WORKERS];
static bool builds_wait = false;
static TimestampTz limits_seen = 0; /* when limits were last looked at, or 0 */

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

/* The number of workers that build, in a database or (InvalidOid) in all. */
static int
running_builders(Oid database)
{
	int			n = 0;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (!lb_worker_has_left(&builders[i]) &&
			(!OidIsValid(database) || builders[i].database == database))
			n++;
	}
	return n;
}

static bool
start_builder(Oid database)
{
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (builders[i].handle == NULL)
		{
			builds_wait = !lb_start_worker(&builders[i], &builder_kind,
										   database, 0);
			return !builds_wait;
		}
	}
	return false;
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
			round->sleep = Min(round->sleep, LB_WORKER_RETRY);
		}
		else if (!start_builder(database))
		{
			if (!lb_make_room())
				refuse_builds(round, database, "no background worker is free");
			round->sleep = Min(round->sleep, LB_WORKER_RETRY);
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
				round->sleep = Min(round->sleep, LB_WORKER_RETRY);
			lb_visit_later();
			continue;
		}
		if (!start_builder(database))
		{
			(void) lb_make_room();
			round->sleep = Min(round->sleep, LB_WORKER_RETRY);
			break;
		}
		lb_visit_begun();
	}
}

long
lb_look_at_boards(void)
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

bool
lb_builds_wait(void)
{
	return builds_wait;
}

void
lb_limits_have_changed(void)
{
	limits_seen = 0;
}

long
lb_look_at_builders(void)
{
	return lb_look_at_workers(builders, MAX_WORKERS);
}
