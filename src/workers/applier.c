/*-------------------------------------------------------------------------
 *
 * applier.c
 *	  The process that applies the backlogs of large boards.
 *
 * A transaction is done with a board when its publication is history.  The
 * index needs the changes only when a read comes.  Applying them takes longer
 * than anything else that a commit does for a board, since it waits for
 * memory.  So it is left to this process, many changes at a time.  Nothing
 * depends on the process: a read applies what its snapshot sees, and if the
 * process is not running, settles apply what they would defer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"

#include "boards/shared.h"
#include "ledger/prefetch.h"
#include "util/wait_event.h"
#include "workers/applier.h"

bool		lb_applier = true;

/* Serve all requests. */
static void
serve_requests(void)
{
	uint64		head;

	/* If there is something else to do, the list stays for later. */
	while (!ShutdownRequestPending && !ConfigReloadPending &&
		   (head = pg_atomic_exchange_u64(&lb_shared->requested, 0)) != 0)
	{
		LbSharedBoard *shared = (LbSharedBoard *) (uintptr_t) head;

		while (shared != NULL)
		{
			/*
			 * When the bits are cleared, a settle may put the definition on
			 * the list again: read the link before that.
			 */
			LbSharedBoard *next = shared->next_requested;
			uint32		stripes = pg_atomic_exchange_u32(&shared->requested, 0);

			for (int n = 0; n < LB_STRIPES; n++)
			{
				if (stripes & (1U << n))
					lb_apply_requested(shared, &shared->stripes[n]);
			}
			shared = next;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* From now on each settle applies backlogs itself. */
static void
applier_exit(int code, Datum arg)
{
	pg_atomic_write_u32(&lb_shared->applier_pid, 0);
}

void
lb_applier_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	/* For pg_stat_activity; no catalog is read. */
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	lb_shared->applier_latch = MyLatch;
	before_shmem_exit(applier_exit, (Datum) 0);
	pg_write_barrier();

	while (!ShutdownRequestPending)
	{
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		pg_atomic_write_u32(&lb_shared->applier_pid,
							lb_applier ? MyProcPid : 0);
		serve_requests();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 lb_wait_event(LB_WAIT_EVENT_APPLIER_MAIN));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	/* Terminated, as the launcher is: the postmaster starts us again. */
	proc_exit(1);
}
