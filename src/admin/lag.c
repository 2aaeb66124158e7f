/*-------------------------------------------------------------------------
 *
 * lag.c
 *	  How far this server is behind the one that it follows, and waiting.
 *
 * This server may follow another one in two ways: by subscriptions of logical
 * replication, or as a physical standby.  LSNs are those of the other server.
 *
 * PostgreSQL wakes no process when a subscription, or replay, has come to an
 * LSN.  So lb_wait_for() looks again and again, sleeping in between.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_subscription.h"
#include "commands/subscriptioncmds.h"
#include "executor/execdesc.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "replication/walreceiver.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "admin/apply_error.h"
#include "admin/subscription.h"
#include "sql/check.h"
#include "sql/spi.h"
#include "util/clock.h"
#include "util/wait_event.h"

PG_FUNCTION_INFO_V1(lb_lag);
PG_FUNCTION_INFO_V1(lb_wait_for);

/*
 * Milliseconds between two looks: at first, and after some of them.  Most
 * commits are there within a few milliseconds, if at all.
 */
#define SHORT_SLEEP 1
#define SHORT_SLEEPS 100
#define LONG_SLEEP 10

/* A row of lb_lag(); 0 and NULL are null. */
typedef struct Lag
{
	const char *subscription;
	const char *state;
	const char *reason;
	XLogRecPtr	received;
	XLogRecPtr	applied;
	bool		bytes_known;
	TimestampTz as_of;
	int			copying;
} Lag;

static void
put_lsn(XLogRecPtr lsn, Datum *value, bool *isnull)
{
	*isnull = XLogRecPtrIsInvalid(lsn);
	*value = LSNGetDatum(lsn);
}

static void
put_text(const char *string, Datum *value, bool *isnull)
{
	*isnull = string == NULL;
	*value = *isnull ? (Datum) 0 : CStringGetTextDatum(string);
}

static void
put_row(ReturnSetInfo *rsinfo, const Lag *row)
{
	Interval	lag = {0};
	Datum		values[9];
	bool		nulls[9] = {false};

	put_text(row->subscription, &values[0], &nulls[0]);
	put_text(row->state, &values[1], &nulls[1]);
	put_text(row->reason, &values[2], &nulls[2]);
	put_lsn(row->received, &values[3], &nulls[3]);
	put_lsn(row->applied, &values[4], &nulls[4]);
	nulls[5] = !row->bytes_known;
	values[5] = Int64GetDatum(row->received > row->applied ?
							  (int64) (row->received - row->applied) : 0);
	nulls[6] = nulls[7] = row->as_of == 0;
	values[6] = TimestampTzGetDatum(row->as_of);
	lag.time = Max(GetCurrentTimestamp() - row->as_of, 0);
	values[7] = IntervalPGetDatum(&lag);
	values[8] = Int32GetDatum(row->copying);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Whether a subscription has got over its last error, as far as can be seen.
 */
static bool
is_over(const LbApplyError *error, const LbProgress *progress, int copying)
{
	if (OidIsValid(error->relid))
		return copying == 0;
	if (!error->conflict || XLogRecPtrIsInvalid(error->lsn))
		return !XLogRecPtrIsInvalid(progress->received);
	return progress->committed > error->lsn ||
		progress->confirmed > error->lsn ||
		(progress->idle && progress->received > error->lsn);
}

static const char *
state_of(const LbSubscription *subscription, const LbProgress *progress,
		 const LbApplyError *error, int copying)
{
	if (!subscription->enabled && progress->pid == 0)
		return "disabled";
	if (error != NULL && error->conflict)
		return "conflict";

	/* A worker that has heard nothing yet tries to connect. */
	if (XLogRecPtrIsInvalid(progress->received))
		return "stalled";
	return copying > 0 ? "copying" : "streaming";
}

static void
put_subscription(ReturnSetInfo *rsinfo, LbSubscription *subscription)
{
	LbProgress	progress;
	LbApplyError last;
	LbApplyError *error = NULL;
	bool		alive;
	Lag			row = {0};

	row.copying = lb_tables_to_copy(subscription->oid);
	lb_look_at_progress(subscription->oid, &progress);
	if (lb_last_apply_error(subscription->oid, &last) &&
		!is_over(&last, &progress, row.copying))
		error = &last;

	/* A worker sets its times before it has heard anything. */
	alive = !XLogRecPtrIsInvalid(progress.received);
	row.subscription = NameStr(subscription->name);
	row.state = state_of(subscription, &progress, error, row.copying);
	row.received = progress.received;
	row.applied = Max(progress.committed, progress.confirmed);
	if (alive && progress.idle)
		row.applied = Max(row.applied, progress.received);
	row.bytes_known = alive;
	if (alive && progress.idle)
		row.as_of = progress.sent_at;
	else if (!XLogRecPtrIsInvalid(progress.confirmed))
		row.as_of = progress.confirmed_at;

	/* Messages can quote rows. */
	if (has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) ||
		has_privs_of_role(GetUserId(), subscription->owner))
	{
		if (error != NULL)
			row.reason = error->message;
		else if (progress.blocked)
			row.reason = "the worker waits for a lock";
	}
	put_row(rsinfo, &row);
}

/* A standby is one row, without a subscription. */
static void
put_standby(ReturnSetInfo *rsinfo)
{
	Lag			row = {0};
	bool		streams = WalRcvStreaming();
	TimestampTz sent_at;

	row.applied = GetXLogReplayRecPtr(NULL);
	row.received = GetWalRcvFlushRecPtr(NULL, NULL);
	SpinLockAcquire(&WalRcv->mutex);
	sent_at = WalRcv->lastMsgSendTime;
	SpinLockRelease(&WalRcv->mutex);

	row.state = GetRecoveryPauseState() != RECOVERY_NOT_PAUSED ? "paused" :
		streams ? "streaming" : "stalled";
	row.bytes_known = !XLogRecPtrIsInvalid(row.received);
	row.as_of = streams && row.bytes_known && row.applied >= row.received ?
		sent_at : GetLatestXTime();
	put_row(rsinfo, &row);
}

Datum
lb_lag(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	(void) lb_require_catalog();
	InitMaterializedSRF(fcinfo, 0);
	if (RecoveryInProgress())
		put_standby(rsinfo);
	else
	{
		foreach(lc, lb_subscriptions())
			put_subscription(rsinfo, lfirst(lc));
	}
	return (Datum) 0;
}

/*
 * The end of the last record before an LSN, if the LSN stands behind the
 * header of a page: pg_current_wal_insert_lsn() is where the next record
 * begins, but positions of decoding and replay are where the last one ends.
 *
 * The other server's segments may be of another size than ours, or its blocks.
 * They are not smaller than a megabyte, and begin at multiples of it.  If this
 * takes off a header where there is none, it does no harm: a commit record of
 * a publisher has more bytes than these headers, so a position that is not
 * before the result is not before the end of such a record either.
 */
static XLogRecPtr
without_header(XLogRecPtr lsn, uint64 segment)
{
	if (lsn % segment == SizeOfXLogLongPHD)
		return lsn - SizeOfXLogLongPHD;
	if (lsn % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		return lsn - SizeOfXLogShortPHD;
	return lsn;
}

/* Sleep before the next look.  Returns false if the time is up. */
static bool
sleep_a_little(int64 until, int *looks)
{
	long		left = lb_time_left(until);
	long		most = (*looks)++ < SHORT_SLEEPS ? SHORT_SLEEP : LONG_SLEEP;

	if (left == 0)
		return false;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 left < 0 ? most : Min(left, most),
					 lb_wait_event(LB_WAIT_EVENT_APPLIED));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/*
 * Whether a call is all that the statement of a client consists of, as
 * SELECT lb_wait_for('0/12345').  Then nothing reads by the statement's
 * snapshot after the call.
 */
static bool
is_whole_statement(FunctionCallInfo fcinfo)
{
	QueryDesc  *query = ActivePortal == NULL ? NULL : ActivePortal->queryDesc;
	Plan	   *plan;

	if (query == NULL || query->plannedstmt == NULL ||
		fcinfo->flinfo->fn_expr == NULL)
		return false;
	plan = query->plannedstmt->planTree;

	/*
	 * A query of a function that reads by its caller's snapshot, such as a
	 * stable one, has registered it again.
	 */
	if (query->snapshot->regd_count > 2 || query->snapshot->active_count > 1)
		return false;
	return query->operation == CMD_SELECT && IsA(plan, Result) &&
		outerPlan(plan) == NULL && list_length(plan->targetlist) == 1 &&
		(Node *) linitial_node(TargetEntry, plan->targetlist)->expr ==
		fcinfo->flinfo->fn_expr;
}

/*
 * Replay waits for a snapshot that sees rows which it is going to remove, up
 * to max_standby_streaming_delay, and then cancels its statement.  We would
 * wait for each other.  So let go of the snapshot if nothing needs it any
 * more; the next one is taken anew.
 */
static void
release_snapshot(FunctionCallInfo fcinfo)
{
	InvalidateCatalogSnapshot();
	if (is_whole_statement(fcinfo) && ThereAreNoPriorRegisteredSnapshots())
		MyProc->xmin = InvalidTransactionId;
}

static bool
wait_for_replay(XLogRecPtr lsn, int64 until)
{
	int			looks = 0;

	for (;;)
	{
		bool		standby = RecoveryInProgress();

		if (GetXLogReplayRecPtr(NULL) >= lsn)
			return true;

		/* What was not replayed at a promotion never will be. */
		if (!standby || !sleep_a_little(until, &looks))
			return false;
	}
}

static bool
wait_for_subscription(Oid oid, XLogRecPtr lsn, int64 until)
{
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(outer, "lb_wait_for",
												  ALLOCSET_SMALL_SIZES);
	LbAwaited	awaited = {0};
	int			looks = 0;
	bool		applied = false;
	bool		ended = false;

	/* A look can leave memory behind, and there may be many. */
	MemoryContextSwitchTo(context);
	do
	{
		LbSubscription subscription;
		LbProgress	progress;

		MemoryContextReset(context);
		AcceptInvalidationMessages();
		if (!lb_read_subscription(oid, &subscription))
			break;
		lb_look_at_progress(oid, &progress);
		applied = lb_has_applied(&progress, lsn, &awaited) &&
			lb_tables_to_copy(oid) == 0;
		ended = !subscription.enabled && progress.pid == 0;
	} while (!applied && !ended && sleep_a_little(until, &looks));
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	return applied;
}

/* The subscriptions to wait for: that of a name, or all. */
static List *
awaited_subscriptions(const char *name)
{
	List	   *all = lb_subscriptions();
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, all)
	{
		LbSubscription *subscription = lfirst(lc);

		if (name == NULL || strcmp(NameStr(subscription->name), name) == 0)
			found = lappend(found, subscription);
	}
	if (found == NIL && name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("subscription \"%s\" does not exist in this database",
						name),
				 errhint("lb_lag() lists the subscriptions.")));
	if (found == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server follows no other one"),
				 errdetail("It is no standby, and the database has no subscription."),
				 errhint("A commit on this server itself needs no waiting. See CREATE SUBSCRIPTION to follow another one.")));
	return found;
}

Datum
lb_wait_for(PG_FUNCTION_ARGS)
{
	int64		until = PG_INT64_MAX;
	char	   *name = NULL;
	XLogRecPtr	lsn;
	ListCell   *lc;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("lsn");
	lsn = PG_GETARG_LSN(0);
	if (!PG_ARGISNULL(2))
		name = text_to_cstring(PG_GETARG_TEXT_PP(2));
	lb_require_read_committed("lb_wait_for()");
	if (!PG_ARGISNULL(1))
		until = lb_clock_after(PG_GETARG_DATUM(1));

	if (RecoveryInProgress())
	{
		if (name != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("a standby applies no subscription"),
					 errhint("Leave the subscription out to wait for the replay of the primary's WAL.")));
		release_snapshot(fcinfo);
		PG_RETURN_BOOL(wait_for_replay(without_header(lsn, wal_segment_size),
									   until));
	}
	foreach(lc, awaited_subscriptions(name))
	{
		LbSubscription *subscription = lfirst(lc);

		if (!wait_for_subscription(subscription->oid,
								   without_header(lsn, 1024 * 1024), until))
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(true);
}
