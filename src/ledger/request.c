/*-------------------------------------------------------------------------
 *
 * request.c
 *	  Requests to the applier.
 *
 * A settle requests the applier for a stripe of a definition by a bit in
 * LbSharedBoard.requested.  The first bit puts the definition on a list, a
 * stack without a lock (Treiber 1986).  The applier only ever takes the whole
 * list.  The memory of definitions is type-stable, so it does no harm if the
 * definition has gone meanwhile, or is another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/latch.h"

#include "ledger/request.h"

bool
lb_request_applier(LbSharedBoard *shared, int n)
{
	uint64		head;

	if (pg_atomic_fetch_or_u32(&shared->requested, 1U << n) != 0)
		return false;
	head = pg_atomic_read_u64(&lb_shared->requested);
	do
		shared->next_requested = (LbSharedBoard *) (uintptr_t) head;
	while (!pg_atomic_compare_exchange_u64(&lb_shared->requested, &head,
										   (uint64) (uintptr_t) shared));
	return true;
}

void
lb_wake_applier(void)
{
	if (!lb_applier_is_running())
		return;
	pg_read_barrier();
	SetLatch(lb_shared->applier_latch);
}
