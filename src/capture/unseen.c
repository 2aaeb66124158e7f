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
 * Replaced versions are not kept one by one.  The xids that have made them
 * are, those that not all snapshots of this backend see: most often none or
 * one.  A read asks whether its snapshot sees them.  For very many xids all
 * between the oldest and the newest stand: then a read runs its query while
 * one of these is running in its snapshot.
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
#include "util/planted.h"

/* Of all versions so far. */
#define LB_UNSEEN_XIDS	32

static TransactionId xids[LB_UNSEEN_XIDS];	/* that have made them */
static int	nxids = 0;			/* more than there is room for: not all */
static TransactionId oldest;	/* the earliest and ... */
static TransactionId newest;	/* ... the latest of all */
static CommandId first_command; /* the lowest that has replaced one */

static void
add_xid(TransactionId xid)
{
	newest = nxids > 0 && TransactionIdFollows(newest, xid) ? newest : xid;
	oldest = nxids > 0 && TransactionIdPrecedes(oldest, xid) ? oldest : xid;
	for (int i = 0; i < Min(nxids, LB_UNSEEN_XIDS); i++)
	{
		if (TransactionIdEquals(xids[i], xid))
			return;
	}
	if (nxids < LB_UNSEEN_XIDS)
		xids[nxids] = xid;
	if (nxids <= LB_UNSEEN_XIDS)
		nxids++;
}

void
lb_unseen_note(HeapTuple old)
{
	TransactionId xid = HeapTupleHeaderGetXmin(old->t_data);
	CommandId	command;

	/* All snapshots of this backend see what ended before its xmin. */
	if (likely(!TransactionIdIsNormal(xid) ||
			   TransactionIdPrecedes(xid, MyProc->xmin)))
		return;
	if (IsolationUsesXactSnapshot() || TransactionIdIsCurrentTransactionId(xid))
		return;
	if (LB_PLANTED(15))
		return;
	command = HeapTupleHeaderGetCmax(old->t_data);
	first_command = nxids > 0 ? Min(first_command, command) : command;
	add_xid(xid);
}

static bool
has_between(const TransactionId *running, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		if (TransactionIdFollowsOrEquals(running[i], oldest) &&
			TransactionIdPrecedesOrEquals(running[i], newest))
			return true;
	}
	return false;
}

/* Whether a snapshot certainly sees all xids from the oldest to the newest. */
static bool
sees_all_between(Snapshot snapshot)
{
	return TransactionIdPrecedes(newest, snapshot->xmax) &&
		!snapshot->suboverflowed &&
		!has_between(snapshot->xip, snapshot->xcnt) &&
		!has_between(snapshot->subxip, snapshot->subxcnt);
}

bool
lb_unseen_by(Snapshot snapshot)
{
	if (likely(nxids == 0) || first_command >= snapshot->curcid ||
		TransactionIdPrecedes(newest, snapshot->xmin))
		return false;
	for (int i = 0; i < Min(nxids, LB_UNSEEN_XIDS); i++)
	{
		if (XidInMVCCSnapshot(xids[i], snapshot))
			return true;
	}
	return nxids > LB_UNSEEN_XIDS && !sees_all_between(snapshot);
}

void
lb_unseen_forget(void)
{
	nxids = 0;
}
