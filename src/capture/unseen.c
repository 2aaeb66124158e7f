/*-------------------------------------------------------------------------
 *
 * unseen.c
 *	  Row versions that the transaction has replaced unseen by a snapshot.
 *
 * In READ COMMITTED, an UPDATE or DELETE waits for another transaction that
 * has changed the row, and goes on with the version that this one leaves.  The
 * statement's snapshot does not see that version: it still sees the one
 * before.  The next query with this snapshot (the next action of a rule, for
 * example) sees the version before *and* what the UPDATE has made of the row.
 * INSERT ... ON CONFLICT DO UPDATE likewise meets rows that its snapshot does
 * not see at all.
 *
 * Own changes are corrections: a key less, a key more.  They assume that the
 * snapshot sees what they replace.  So for a snapshot that sees the change and
 * not the replaced version, the query runs.
 *
 * Replaced versions are not kept one by one.  Snapshots count the transactions
 * that had completed before them (snapXactCompletionCount), so of two
 * snapshots of a backend the one with the higher count sees all that the other
 * sees.  A snapshot that sees the version then stands for all later ones.  If
 * the statement's snapshot does, it is enough to note its count.  If not, the
 * count of now will do: the transaction that made the version had completed
 * before this one could replace it.  A read then compares two numbers.
 *
 * Where a snapshot sees two versions and the second is heap-only, an index
 * shows PostgreSQL only the first: what the query returns then depends on its
 * plan.
 *
 * REPEATABLE READ and SERIALIZABLE raise an error instead of replacing such a
 * version.
 *
 * A rollback to a savepoint takes nothing back: a read may then run its query
 * for nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/proc.h"
#include "utils/combocid.h"
#include "utils/snapmgr.h"

#include "capture/unseen.h"
#include "util/compat.h"
#include "util/planted.h"

/* All versions so far. */
static bool noted = false;
static CommandId first_command; /* the lowest that has replaced one */
static TransactionId newest;	/* the latest xid that has made one */
static uint64 completed;		/* snapshots with this count see all of them */

/*
 * The count of a snapshot taken now.  The lock of the version's page orders
 * this after the end of the transaction that made it.
 */
static uint64
completed_now(void)
{
	return *(volatile uint64 *) &LB_TRANSAM->xactCompletionCount;
}

/* The active snapshot's count if it sees the xid, else that of now. */
static uint64
count_that_sees(TransactionId xid)
{
	Snapshot	snapshot;

	if (!ActiveSnapshotSet())
		return completed_now();
	snapshot = GetActiveSnapshot();
	if (snapshot->snapshot_type != SNAPSHOT_MVCC ||
		XidInMVCCSnapshot(xid, snapshot))
		return completed_now();
	return snapshot->snapXactCompletionCount;
}

void
lb_unseen_note(HeapTuple old)
{
	TransactionId xid = HeapTupleHeaderGetXmin(old->t_data);
	CommandId	command;
	uint64		count;

	/* All snapshots of this backend see what ended before its xmin. */
	if (likely(!TransactionIdIsNormal(xid) ||
			   TransactionIdPrecedes(xid, MyProc->xmin)))
		return;
	if (IsolationUsesXactSnapshot() || TransactionIdIsCurrentTransactionId(xid))
		return;
#if LB_PLANT_BUG == 15
	return;
#endif
	command = HeapTupleHeaderGetCmax(old->t_data);
	count = count_that_sees(xid);
	first_command = noted ? Min(first_command, command) : command;
	newest = noted && TransactionIdFollows(newest, xid) ? newest : xid;
	completed = noted ? Max(completed, count) : count;
	noted = true;
}

bool
lb_unseen_by(Snapshot snapshot)
{
	return unlikely(noted) &&
		first_command < snapshot->curcid &&
		!TransactionIdPrecedes(newest, snapshot->xmin) &&
		snapshot->snapXactCompletionCount < completed;
}

void
lb_unseen_forget(void)
{
	noted = false;
}
