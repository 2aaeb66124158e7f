/*-------------------------------------------------------------------------
 *
 * subscription.c
 *	  How far the subscriptions of this database have come.
 *
 * Three numbers of a subscription can be seen from another process.  None of
 * them alone says what a reader wants to know: whether the commit that ends at
 * an LSN is visible here.
 *
 * 1. The progress of the replication origin.  The worker sets it after it has
 * written its commit record, and before the commit is visible to snapshots
 * (RecordTransactionCommit, then ProcArrayEndTransaction); the same for COMMIT
 * PREPARED.  And it says nothing of commits that change nothing here.  A
 * progress beyond the LSN is enough all the same: the worker commits in the
 * publisher's order, one after the other.
 *
 * 2. The LSN of the last keepalive (latest_end_lsn).  The worker handles
 * messages one by one, and the publisher's LSN in a keepalive is the end of
 * the last record that it has decoded, whose changes it has sent before.  So
 * all commits up to there are applied, and visible.  This also passes commits
 * that the publisher has nothing to send of.  But the publisher sends no
 * keepalive for what a subscriber has confirmed by itself, as after a commit
 * that is the last one for a while.
 *
 * 3. The LSN of the last message (received_lsn), which the worker sets before
 * it handles the message.  A message with an LSN comes after all commits that
 * end at or before it, or is such a commit.  So what ends at or before the LSN
 * is applied and visible as soon as that message is done.
 *
 * The message that had 1 or 3 reach the LSN is done when the worker waits for
 * the next one, or has got others since, or has ended and 1 is reached.
 * It is done as well if 1 is reached and the worker waits for a heavyweight
 * lock: it takes none between the commit record and the end of the
 * transaction, so it has a later message in hand.
 *
 * Positions are ends of records, and a commit record is longer than what
 * lb_wait_for() takes off an LSN behind a page's header.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_subscription_rel.h"
#include "miscadmin.h"
#include "replication/origin.h"
#include "replication/worker_internal.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"

#include "admin/subscription.h"
#include "util/compat.h"

/* The class of a wait event. */
#define WAIT_CLASS(event) ((event) & 0xFF000000)

static void
copy_row(Form_pg_subscription row, LbSubscription *subscription)
{
	subscription->oid = row->oid;
	subscription->owner = row->subowner;
	subscription->name = row->subname;
	subscription->enabled = row->subenabled;
}

List *
lb_subscriptions(void)
{
	Relation	rel = table_open(SubscriptionRelationId, AccessShareLock);
	List	   *subscriptions = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	/* The index has database and name. */
	ScanKeyInit(&key, Anum_pg_subscription_subdbid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(MyDatabaseId));
	scan = systable_beginscan(rel, SubscriptionNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		LbSubscription *subscription = palloc(sizeof(LbSubscription));

		copy_row((Form_pg_subscription) GETSTRUCT(tuple), subscription);
		subscriptions = lappend(subscriptions, subscription);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return subscriptions;
}

bool
lb_read_subscription(Oid oid, LbSubscription *subscription)
{
	HeapTuple	tuple = SearchSysCache1(SUBSCRIPTIONOID, ObjectIdGetDatum(oid));

	if (!HeapTupleIsValid(tuple))
		return false;
	copy_row((Form_pg_subscription) GETSTRUCT(tuple), subscription);
	ReleaseSysCache(tuple);
	return true;
}

int
lb_tables_to_copy(Oid subscription)
{
	Relation	rel = table_open(SubscriptionRelRelationId, AccessShareLock);
	int			n = 0;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_subscription_rel_srsubid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(subscription));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_subscription_rel row = (Form_pg_subscription_rel) GETSTRUCT(tuple);

		/*
		 * Of a table that is done but not "ready" the worker applies what
		 * ends after the copy, as it comes to it.
		 */
		if (row->srsubstate != SUBREL_STATE_READY &&
			row->srsubstate != SUBREL_STATE_SYNCDONE)
			n++;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return n;
}

void
lb_look_at_progress(Oid subscription, LbProgress *progress)
{
	char	   *origin_name = psprintf("pg_%u", subscription);
	uint16		origin = replorigin_by_name(origin_name, true);
	LogicalRepWorker *worker;

	pfree(origin_name);
	memset(progress, 0, sizeof(LbProgress));
	if (origin != 0)
		progress->committed = replorigin_get_progress(origin, false);

	LWLockAcquire(LogicalRepWorkerLock, LW_SHARED);
	worker = LB_FIND_APPLY_WORKER(subscription);
	if (worker != NULL && worker->proc != NULL)
	{
		volatile LogicalRepWorker *w = worker;
		uint32		event;

		/* The worker writes these without a lock. */
		progress->pid = w->proc->pid;
		progress->received = w->last_lsn;
		progress->sent_at = w->last_send_time;
		progress->received_at = w->last_recv_time;
		progress->confirmed = w->reply_lsn;
		progress->confirmed_at = w->reply_time;
		pg_memory_barrier();
		event = *(volatile uint32 *) &w->proc->wait_event_info;
		progress->idle = event == WAIT_EVENT_LOGICAL_APPLY_MAIN;
		progress->blocked = WAIT_CLASS(event) == PG_WAIT_LOCK;
	}
	LWLockRelease(LogicalRepWorkerLock);
}

bool
lb_has_applied(const LbProgress *progress, XLogRecPtr lsn, LbAwaited *awaited)
{
	bool		committed = progress->committed >= lsn;

	/* No worker is between two steps of a commit. */
	if (progress->pid == 0)
	{
		awaited->pid = 0;
		return committed;
	}
	if (progress->confirmed >= lsn || progress->committed > lsn)
		return true;
	if (!committed && progress->received < lsn)
		return false;

	/* A worker that has got no message yet has committed nothing itself. */
	if (committed && (progress->idle || progress->blocked ||
					  XLogRecPtrIsInvalid(progress->received)))
		return true;
	if (awaited->pid != progress->pid)
	{
		awaited->pid = progress->pid;
		awaited->messages = 0;
	}
	else if (awaited->received_at != progress->received_at)
		awaited->messages++;
	else if (awaited->idle && progress->idle)
		return true;
	awaited->received_at = progress->received_at;
	awaited->idle = progress->idle;

	/*
	 * The worker writes the message's LSN and its time one after the other:
	 * the first change may be of the same message.
	 */
	return awaited->messages > 1;
}
