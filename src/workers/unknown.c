/*-------------------------------------------------------------------------
 *
 * unknown.c
 *	  Transactions whose changes the ledger does not hold, as builds ask.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"

#include "workers/unknown.h"

/*
 * Whether a transaction whose changes are nowhere to be found, or one between
 * such, is running: in a snapshot, or now.
 */
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

/* The same of all that a definition has to do with. */
bool
lb_unknown_running(LbSharedBoard *shared, const LbSnapshot *snapshot)
{
	if (is_running(&shared->unknown, snapshot))
		return true;
	for (int i = 0; i < LB_MAX_DATABASES; i++)
	{
		LbDatabase *db = &lb_shared->databases[i];

		/*
		 * The last may have served a database that has an entry of its own
		 * now.
		 */
		if ((db->database == shared->database || i == LB_MAX_DATABASES - 1) &&
			is_running(&db->unknown, snapshot))
			return true;
	}
	return false;
}

/*
 * Whether a transaction that was prepared before the server started may have
 * changed the source.
 */
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

		/* What was prepared since is in the ledger. */
		if (VirtualTransactionIdIsRecoveredPreparedXact(holders[i]) &&
			TransactionIdPrecedes(holders[i].localTransactionId,
								  (TransactionId) first))
			return true;
	}
	return false;
}

/*
 * Transactions with unknown changes that the build has seen are of no
 * consequence any more, nor is who happens to be between them.
 */
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
