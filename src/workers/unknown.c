/*-------------------------------------------------------------------------
 *
 * unknown.c
 *	  Transactions whose changes the ledger does not hold, as builds ask.
 *
 * A build must not be installed if its snapshot does not see the changes of a
 * transaction that has published nothing: neither the scan nor a queue has
 * them.  LbSharedBoard.unknown and LbDatabase.unknown are ranges of such
 * transactions' xids, widened before they commit.  Transactions that were
 * prepared before a restart are in no range, but hold their locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "workers/unknown.h"

/* Whether a transaction of the range is running in a snapshot, or now. */
static bool
is_running(LbUnknown *unknown, const LbSnapshot *snapshot)
{
	uint64		first;
	uint64		last;

	SpinLockAcquire(&unknown->mutex);
	first = unknown->first;
	last = unknown->last;
	SpinLockRelease(&unknown->mutex);
	return last != 0 && (snapshot != NULL ?
						 lb_any_running(snapshot, first, last) :
						 lb_any_in_progress(first, last));
}

void
lb_running_on_standby(LbSnapshot *s)
{
	static TransactionId *xids = NULL;
	static uint32 room = 0;

	StartTransactionCommand();
	lb_snapshot_init(s, GetTransactionSnapshot());
	if (xids == NULL || room < s->nxip)
	{
		if (xids != NULL)
			pfree(xids);
		xids = NULL;
		room = Max(64, 2 * s->nxip);
		xids = MemoryContextAllocHuge(TopMemoryContext,
									  room * sizeof(TransactionId));
	}
	memcpy(xids, s->xip, s->nxip * sizeof(TransactionId));
	s->xip = xids;
	s->snapshot = NULL;
	CommitTransactionCommand();
}

bool
lb_unknown_running(LbSharedBoard *shared, const LbSnapshot *snapshot)
{
	if (is_running(&shared->unknown, snapshot))
		return true;
	for (int i = 0; i < LB_MAX_DATABASES; i++)
	{
		LbDatabase *db = &lb_shared->databases[i];

		/*
		 * The last entry serves all databases for which there is no other. It
		 * may have served this one before.
		 */
		if ((db->database == shared->database || i == LB_MAX_DATABASES - 1) &&
			is_running(&db->unknown, snapshot))
			return true;
	}
	return false;
}

bool
lb_is_prepared_for(Oid source)
{
	LOCKTAG		tag;
	VirtualTransactionId *holders;
	int			n;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, source);
	holders = GetLockConflicts(&tag, ShareLock, &n);
	for (int i = 0; i < n; i++)
	{
		uint64		first = pg_atomic_read_u64(&lb_shared->first_xid);

		/* The ledger has those that were prepared since then. */
		if (VirtualTransactionIdIsRecoveredPreparedXact(holders[i]) &&
			TransactionIdPrecedes(holders[i].localTransactionId,
								  (TransactionId) first))
			return true;
	}
	return false;
}

void
lb_forget_unknown(LbUnknown *unknown, const LbSnapshot *snapshot)
{
	SpinLockAcquire(&unknown->mutex);
	if (unknown->last != 0 &&
		!lb_any_running(snapshot, unknown->first, unknown->last))
	{
		unknown->first = 0;
		unknown->last = 0;
	}
	SpinLockRelease(&unknown->mutex);
}
