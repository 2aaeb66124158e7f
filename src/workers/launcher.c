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
 *	  rounds (rounds.c), some stay (residents.c).  If no worker can be had, one
 *	  that stays is terminated, since builds and rounds come first.
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

#include "boards/shared.h"
#include "boards/state.h"
#include "ledger/snapshot.h"
#include "util/pause.h"
#include "util/wait_event.h"
#include "workers/applier.h"
#include "workers/builders.h"
#include "workers/feeder.h"
#include "workers/launcher.h"
#include "workers/memory.h"
#include "workers/residents.h"
#include "workers/rounds.h"
#include "workers/tidy.h"
#include "workers/visits.h"
#include "workers/worker.h"

#define STANDBY_SLEEP 1000		/* milliseconds, on a standby, which may be
								 * promoted */

static void
launcher_exit(int code, Datum arg)
{
	pg_atomic_write_u32(&lb_shared->launcher_pid, 0);
}

/* Start the workers of all registered kinds that are due. */
static long
start_kinds(void)
{
	int			n;
	const LbWorkerKind *const *kinds = lb_worker_kinds(&n);
	bool		others_wait = lb_builds_wait();
	long		sleep = LB_IDLE_SLEEP;

	for (int i = 0; i < n; i++)
	{
		bool		waiting;

		if (kinds[i]->interval == NULL)
			continue;
		sleep = Min(sleep, lb_start_round(kinds[i], i, &waiting));
		others_wait |= waiting;
	}
	for (int i = 0; i < n; i++)
	{
		if (kinds[i]->interval == NULL)
			sleep = Min(sleep, lb_start_residents(kinds[i], others_wait));
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
	lb_limits_have_changed();
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
		sleep = Min(sleep, lb_look_at_boards());
		sleep = Min(sleep, lb_look_at_builders());
		sleep = Min(sleep, lb_look_at_residents());
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
