/*-------------------------------------------------------------------------
 *
 * applier.c
 *	  The process that brings changes into the indexes of large boards.
 *
 * A transaction is done with a board when its publication is history; that
 * the index has the changes too is needed by nobody until somebody reads.  It
 * takes longer than anything else that a commit does for us, since it waits for
 * memory, so it is left to this process, many changes at a time.  Nothing
 * depends on it: a read brings in what its snapshot sees, and without the process
 * each settle does what it would leave.
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
#include "utils/wait_event.h"

#include "boards/shared.h"
#include "ledger/prefetch.h"
#include "workers/applier.h"

bool		lb_applier = true;

/* Do what we have been asked for. */
static void
bring_in(void)
{
	uint64		head;

	/* What is on the list stays there if there is something else to do. */
	while (!ShutdownRequestPending && !ConfigReloadPending &&
		   (head = pg_atomic_exchange_u64(&lb_shared->requested, 0)) != 0)
	{
		LbSharedBoard *shared = (LbSharedBoard *) (uintptr_t) head;

		while (shared != NULL)
		{
			/*
			 * From when the bits are taken away, it may get on the list
			 * again.
			 */
			LbSharedBoard *next = shared->next_requested;
			uint32		asked = pg_atomic_exchange_u32(&shared->requested, 0);

			for (int n = 0; n < LB_STRIPES; n++)
			{
				if (asked & (1U << n))
					lb_apply_requested(shared, &shared->stripes[n]);
			}
			shared = next;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* From here on everybody does it himself. */
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
		bring_in();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	/* Terminated: as the launcher. */
	proc_exit(1);
}
