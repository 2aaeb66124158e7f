/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *	  Snapshots in full xids, and the horizon of all snapshots.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "port/pg_bitutils.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

#include "ledger/snapshot.h"
#include "util/planted.h"

/* Calls of lb_update_horizon() between two looks at the oldest snapshot. */
#define HORIZON_CALLS 32

/*
 * The running transactions of the snapshot that was asked for last, as a hash
 * with linear probing.  A look through many pending publications asks about
 * each of them; if it went through all running transactions each time, it
 * would take the product of both.  The hash is made at the FEW_ASKED-th
 * question, if there are more than FEW_RUNNING of them.
 *
 * A user who does not choose xids cannot make them collide.
 */
#define FEW_ASKED 8
#define FEW_RUNNING 16

static struct
{
	uint64		serial;			/* of the snapshot */
	int			nasked;			/* questions so far */
	bool		made;			/* the hash has its transactions */
	uint32		room;			/* slots, a power of two; 0: no memory */
	TransactionId *slots;		/* InvalidTransactionId: empty */
}			running_set;

static uint64 serials = 0;

/*
 * Take the memory of running_set, for n transactions or as many as a snapshot
 * of a primary can have.  Never raises.
 */
static void
make_running_set(uint32 n)
{
	uint32		room = pg_nextpower2_32(2 * Max(n, (uint32) GetMaxSnapshotXidCount()));

	if (running_set.room >= room)
		return;
	if (running_set.slots != NULL)
		pfree(running_set.slots);
	running_set.room = 0;
	running_set.serial = 0;
	running_set.slots = MemoryContextAllocExtended(TopMemoryContext,
												   room * sizeof(TransactionId),
												   MCXT_ALLOC_NO_OOM);
	if (running_set.slots != NULL)
		running_set.room = room;
}

/*
 * A snapshot that was taken during recovery has all running transactions in
 * subxip.  Those of the top level are there, whatever has overflowed.
 */
void
lb_snapshot_init(LbSnapshot *s, Snapshot snapshot)
{
	bool		recovery = snapshot->takenDuringRecovery;
	uint64		next = lb_next_xid();

	s->snapshot = snapshot;
	s->xip = recovery ? snapshot->subxip : snapshot->xip;
	s->nxip = recovery ? (uint32) snapshot->subxcnt : snapshot->xcnt;
	if (LB_PLANTED(16))
	{
		s->xip = snapshot->xip;
		s->nxip = snapshot->xcnt;
	}
	s->xmin = lb_full_xid(snapshot->xmin, next);
	s->xmax = lb_full_xid(snapshot->xmax, next);
	s->serial = ++serials;
	make_running_set(s->nxip > FEW_RUNNING ? s->nxip : 0);
}

void
lb_running_init(LbSnapshot *s)
{
	static TransactionId *xids = NULL;
	RunningTransactions running;
	uint64		next;

	Assert(!RecoveryInProgress());
	make_running_set(0);
	if (xids == NULL)
		xids = MemoryContextAlloc(TopMemoryContext,
								  GetMaxSnapshotXidCount() *
								  sizeof(TransactionId));
	running = GetRunningTransactionData();
	next = lb_next_xid();

	/* Top-level ones come first. */
	Assert(running->xcnt <= GetMaxSnapshotXidCount());
	memcpy(xids, running->xids, running->xcnt * sizeof(TransactionId));
	s->snapshot = NULL;
	s->xip = xids;
	s->nxip = running->xcnt;
	s->xmin = lb_full_xid(running->oldestRunningXid, next);
	s->xmax = lb_full_xid(running->nextXid, next);
	s->serial = ++serials;
	LWLockRelease(ProcArrayLock);
	LWLockRelease(XidGenLock);
}

/* Where the search for a transaction begins. */
static inline uint32
running_slot(TransactionId xid)
{
	return (xid * 2654435769U) >> 7 & (running_set.room - 1);
}

/* Whether running_set has, or now gets, the transactions of a snapshot. */
static bool
use_running_set(const LbSnapshot *s)
{
	if (running_set.serial != s->serial)
	{
		running_set.serial = s->serial;
		running_set.nasked = 0;
		running_set.made = false;
	}
	if (running_set.made)
		return true;
	if (s->nxip <= FEW_RUNNING || s->nxip > running_set.room / 2 ||
		++running_set.nasked < FEW_ASKED)
		return false;
	memset(running_set.slots, 0, running_set.room * sizeof(TransactionId));
	for (uint32 i = 0; i < s->nxip; i++)
	{
		uint32		slot = running_slot(s->xip[i]);

		while (running_set.slots[slot] != InvalidTransactionId)
			slot = (slot + 1) & (running_set.room - 1);
		running_set.slots[slot] = s->xip[i];
	}
	running_set.made = true;
	return true;
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
	if (use_running_set(s))
	{
		uint32		slot = running_slot(xid);

		while (running_set.slots[slot] != InvalidTransactionId)
		{
			if (running_set.slots[slot] == xid)
				return false;
			slot = (slot + 1) & (running_set.room - 1);
		}
		return true;
	}
	for (uint32 i = 0; i < s->nxip; i++)
	{
		if (s->xip[i] == xid)
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
	for (uint32 i = 0; i < s->nxip; i++)
	{
		uint64		xid = lb_full_xid(s->xip[i], s->xmax);

		if (xid >= first && xid <= last)
			return true;
	}
	return false;
}

bool
lb_any_in_progress(uint64 first, uint64 last)
{
	uint64		next = lb_next_xid();
	RunningTransactions running;
	bool		found = false;

	Assert(!RecoveryInProgress());
	running = GetRunningTransactionData();

	/* Top-level ones come first. */
	for (int i = 0; !found && i < running->xcnt; i++)
	{
		uint64		xid = lb_full_xid(running->xids[i], next);

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
	horizon = lb_full_xid(GetOldestNonRemovableTransactionId(NULL), next);
	old = pg_atomic_read_u64(&lb_shared->horizon);
	while (old < horizon &&
		   !pg_atomic_compare_exchange_u64(&lb_shared->horizon, &old, horizon))
		;
}
