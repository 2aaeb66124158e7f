/*-------------------------------------------------------------------------
 *
 * prepared.c
 *	  Publications of prepared transactions.
 *
 * COMMIT PREPARED runs no callback of ours.  So the publications of a prepared
 * transaction stay pending until another process finds that the transaction
 * has ended.  The launcher and builds look for that here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"

#include "boards/live.h"
#include "ledger/ledger.h"
#include "ledger/prepared.h"
#include "ledger/snapshot.h"
#include "util/pause.h"

/*
 * Prepared transactions that have ended, of a stripe's publications.  If there
 * are more than fit, another scan follows.
 */
typedef struct PreparedScan
{
	LbSharedBoard *shared;
	LbStripe   *stripe;
	const LbSnapshot *running;
	int			n;
	uint64		xids[64];
	bool		committed[64];
	bool		full;			/* there may be more */
	bool		left;			/* publications of other transactions stay */
	int			nboards;
	LbRef		boards[64];		/* changed, so they may have to be released */
} PreparedScan;

/* The place of a xid in the scan, or scan->n. */
static int
place_of_xid(const PreparedScan *scan, uint64 xid)
{
	int			i = 0;

	while (i < scan->n && scan->xids[i] != xid)
		i++;
	return i;
}

/* Collect the prepared transactions of a board: visit of lb_stripe_walk(). */
static bool
find_prepared(uint32 hash, LbRef ref, void *arg)
{
	PreparedScan *scan = (PreparedScan *) arg;
	dlist_iter	iter;

	dlist_foreach(iter, &lb_live_board_at(ref)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		uint64		xid = U64FromFullTransactionId(pub->xid);
		int			i;

		if (!pub->prepared)
			continue;
		if (!lb_had_ended(scan->running, pub->xid))
		{
			scan->left = true;
			continue;
		}
		i = place_of_xid(scan, xid);
		if (i == (int) lengthof(scan->xids))
		{
			scan->full = true;
			return false;
		}
		if (i == scan->n)
			scan->xids[scan->n++] = xid;
	}
	return true;
}

/*
 * Settle or discard a board's publications of transactions that have ended:
 * visit of lb_stripe_walk().
 */
static bool
settle_prepared(uint32 hash, LbRef ref, void *arg)
{
	PreparedScan *scan = (PreparedScan *) arg;
	dlist_mutable_iter iter;
	bool		changed = false;

	dlist_foreach_modify(iter, &lb_live_board_at(ref)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		int			i;

		if (!pub->prepared)
			continue;
		i = place_of_xid(scan, U64FromFullTransactionId(pub->xid));
		if (i == scan->n)
		{
			scan->left = true;
			continue;
		}
		changed = true;
		if (scan->committed[i])
			lb_settle_for_another(pub);
		else
		{
			lb_live_board_at(ref)->version++;
			lb_discard_publication(scan->shared, pub);
		}
	}
	if (changed)
		scan->boards[scan->nboards++] = ref;
	return scan->nboards < (int) lengthof(scan->boards);
}

/*
 * Deal with the publications that a scan has found to be of transactions that
 * have ended.
 */
static void
settle_found(PreparedScan *scan, uint64 generation)
{
	LbSharedBoard *shared = scan->shared;

	lb_pause("left");
	for (int i = 0; i < scan->n; i++)
		scan->committed[i] = TransactionIdDidCommit((TransactionId) scan->xids[i]);
	do
	{
		scan->nboards = 0;
		scan->left = false;
		LWLockAcquire(&scan->stripe->lock, LW_EXCLUSIVE);
		if (lb_shared_board_is(shared, generation))
			lb_stripe_walk(scan->stripe, shared->family, settle_prepared,
						   scan);
		for (int i = 0; i < scan->nboards; i++)
			lb_live_board_release(shared, scan->stripe, scan->boards[i]);
		LWLockRelease(&scan->stripe->lock);
	} while (scan->nboards == (int) lengthof(scan->boards));
}

bool
lb_settle_prepared(LbSharedBoard *shared, uint64 generation)
{
	bool		left = false;
	LbSnapshot	running;

	/*
	 * Between the end of redo and the end of recovery no process has the
	 * prepared transactions yet, so they do not seem to be running.
	 */
	if (RecoveryInProgress())
		return true;
	lb_running_init(&running);
	for (int s = 0; s < LB_STRIPES; s++)
	{
		PreparedScan scan;

		do
		{
			memset(&scan, 0, sizeof(scan));
			scan.shared = shared;
			scan.stripe = &shared->stripes[s];
			scan.running = &running;
			LWLockAcquire(&scan.stripe->lock, LW_SHARED);
			if (lb_shared_board_is(shared, generation))
				lb_stripe_walk(scan.stripe, shared->family, find_prepared,
							   &scan);
			LWLockRelease(&scan.stripe->lock);
			if (scan.n > 0)
				settle_found(&scan, generation);
		} while (scan.full);
		left |= scan.left;
	}
	return left;
}
