/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *	  Snapshots in full xids, and the horizon of all snapshots.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/procarray.h"

#include "ledger/snapshot.h"

/* Calls of lb_update_horizon() between two looks at the oldest snapshot. */
#define HORIZON_CALLS 32

/* A 32-bit xid that is not far from the next one, in full. */
static uint64
full_xid(TransactionId xid, uint64 next)
{
	return next + (int32) (xid - (uint32) next);
}

void
lb_snapshot_init(LbSnapshot *s, Snapshot snapshot)
{
	uint64		next = lb_next_xid();

	s->snapshot = snapshot;
	s->xmin = full_xid(snapshot->xmin, next);
	s->xmax = full_xid(snapshot->xmax, next);
}

/*
 * XidInMVCCSnapshot() may have to read pg_subtrans.  This need not: all
 * top-level xids are in xip.
 */
bool
lb_had_ended(const LbSnapshot *s, FullTransactionId fxid)
{
	uint64		full = U64FromFullTransactionId(fxid);
	TransactionId xid = XidFromFullTransactionId(fxid);

	if (full < s->xmin)
		return true;
	if (full >= s->xmax)
		return false;
	for (uint32 i = 0; i < s->snapshot->xcnt; i++)
	{
		if (s->snapshot->xip[i] == xid)
			return false;
	}
	return true;
}

bool
lb_any_running(const LbSnapshot *s, uint64 first, uint64 last)
{
	if (last < s->xmin)
		return false;
	if (last >= s->xmax)
		return true;
	for (uint32 i = 0; i < s->snapshot->xcnt; i++)
	{
		uint64		xid = full_xid(s->snapshot->xip[i], s->xmax);

		if (xid >= first && xid <= last)
			return true;
	}
	return false;
}

bool
lb_any_in_progress(uint64 first, uint64 last)
{
	uint64		next = lb_next_xid();
	RunningTransactions running = GetRunningTransactionData();
	bool		found = false;

	/* Top-level ones come first. */
	for (int i = 0; !found && i < running->xcnt; i++)
	{
		uint64		xid = full_xid(running->xids[i], next);

		found = xid >= first && xid <= last;
	}
	LWLockRelease(ProcArrayLock);
	LWLockRelease(XidGenLock);
	return found;
}

void
lb_update_horizon(bool now)
{
	static int	calls = 0;
	uint64		next;
	uint64		horizon;
	uint64		old;

	if (!now && ++calls % HORIZON_CALLS != 0)
		return;
	next = lb_next_xid();
	horizon = full_xid(GetOldestNonRemovableTransactionId(NULL), next);
	old = pg_atomic_read_u64(&lb_shared->horizon);
	while (old < horizon &&
		   !pg_atomic_compare_exchange_u64(&lb_shared->horizon, &old, horizon))
		;
}
