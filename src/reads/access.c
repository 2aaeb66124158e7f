/*-------------------------------------------------------------------------
 *
 * access.c
 *	  Whether a read may use a board's index.
 *
 * A read uses the index unless settings, the kind of snapshot, row-level
 * security, missing triggers or the board's state forbid it.  All of that is
 * decided here without a stripe's lock.  What can only be known under the lock
 * is in access_lock.c and corrections.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/trigger.h"
#include "storage/predicate.h"
#include "utils/inval.h"
#include "utils/rls.h"

#include "boards/board_value.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/resolve.h"
#include "boards/state.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "capture/unseen.h"
#include "feed/redo.h"
#include "ledger/off_board.h"
#include "reads/access.h"
#include "util/pause.h"

bool		lb_enable_index = true;
int			lb_not_ready = LB_POLICY_WAIT;
int			lb_offline = LB_POLICY_QUERY;
int			lb_wait_timeout_ms = 10000;
bool		lb_offline_for_all = false;

bool
lb_offline_by_board(const LbDefinition *defn)
{
	return defn->offline != LB_POLICY_NONE && !lb_offline_for_all;
}

/* With enable_index off a read does not ask for the state of the index. */
static int
offline_hint(const LbDefinition *defn)
{
	if (lb_offline_by_board(defn))
		return RecoveryInProgress() ?
			errhint("Ask the primary server, or set \"leaderboard.enable_index\" to off to run the query.") :
			errhint("Use lb_rebuild() to build its index again, or set \"leaderboard.enable_index\" to off to run the query. lb_set_offline() sets what all reads of the board do.");
	return RecoveryInProgress() ?
		errhint("Ask the primary server, or set \"leaderboard.offline\" to \"query\".") :
		errhint("Use lb_rebuild() to build its index again, or set \"leaderboard.offline\" to \"query\".");
}

static void
offline_error(const LbDefinition *defn, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" is offline", defn->name),
			 reason[0] != '\0' ? errdetail("Reason: %s.", reason) : 0,
			 offline_hint(defn)));
}

/* lb_verify() runs no query: it reports. */
static bool
offline_is_error(const LbAccess *a)
{
	const LbDefinition *defn = a->target.defn;
	int			policy = lb_offline_by_board(defn) ? (int) defn->offline : lb_offline;

	return policy == LB_POLICY_ERROR && a->reader == LB_READER_CALL;
}

void
lb_access_no_key(const LbAccess *a)
{
	const LbDefinition *defn = a->target.defn;

	if (offline_is_error(a))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the index of board \"%s\" does not have all its rows",
						defn->family ?
						lb_family_board_name(defn, &a->target.value) :
						defn->name),
				 errdetail("Reason: %s.", lb_no_key_reason),
				 errhint("Shorten the text or delete the row, or set \"leaderboard.enable_index\" to off to run the query.")));
}

bool
lb_access_needs_indexes(const LbAccess *a)
{
	return a->cause == LB_CAUSE_OFFLINE &&
		a->target.defn->problem == lb_engine_problem && offline_is_error(a);
}

/*
 * The definition has a problem, or its table lacks a trigger: take the index
 * out of service, since it cannot follow the table from here on.
 *
 * A transaction that has the table locked gets no invalidations by locking it
 * again, so the problem may be over, and the index built.  Then this read runs
 * its query, and the next one resolves the definition.
 */
static LbCause
cause_of_problem(const LbAccess *a)
{
	LbDefinition *defn = a->target.defn;
	const char *problem = defn->problem != NULL ? defn->problem :
		"a capture trigger is missing or disabled";
	LbCause		cause = defn->problem != NULL ? LB_CAUSE_OFFLINE : LB_CAUSE_TRIGGER;
	LbSharedBoard *shared;

	AcceptInvalidationMessages();
	if (!defn->resolved)
		return cause;

	/*
	 * Other sessions do not see what this transaction has altered until it
	 * commits, and it may roll back.
	 */
	shared = lb_shared_board_attach(defn, false);
	if (shared != NULL &&
		!lb_is_offline(shared) &&
		!lb_changed_here(defn->source))
		lb_take_offline(shared, defn->generation, problem, true);

	/* Indexes of other servers may answer: lb_access_needs_indexes(). */
	if (offline_is_error(a) && defn->problem != lb_engine_problem)
		offline_error(defn, problem);
	return cause;
}

/*
 * Whether the source or a partition has AFTER triggers that have not fired
 * yet.
 */
static bool
triggers_pending(const LbDefinition *defn)
{
	if (AfterTriggerPendingOnRel(defn->source))
		return true;
	for (int i = 0; defn->parts_valid && i < defn->nparts; i++)
	{
		if (AfterTriggerPendingOnRel(defn->parts[i]))
			return true;
	}
	return false;
}

/* Why the read cannot use the index, whatever the index's state. */
static LbCause
cause_before_index(const LbAccess *a, Snapshot snapshot)
{
	LbDefinition *defn = a->target.defn;

	if (!lb_enable_index && a->reader != LB_READER_VERIFY)
		return LB_CAUSE_DISABLED;
	if (!lb_feed_answers(defn))
	{
		if (offline_is_error(a))
			offline_error(defn, lb_is_unlogged(defn) ?
						  LB_UNLOGGED_REASON : LB_MISSED_REASON);
		return LB_CAUSE_RECOVERY;
	}

	/*
	 * A parallel worker has the leader's snapshot, but neither its list of
	 * own changes nor that of the boards and tables that it has altered.  A
	 * read gets here if a user's function is wrongly marked PARALLEL SAFE.
	 */
	if (IsParallelWorker())
		return LB_CAUSE_OWN_CHANGES;

	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return LB_CAUSE_SNAPSHOT;
	if (defn->row_security &&
		(a->reader == LB_READER_CALL || a->reader == LB_READER_WRITE) &&
		check_enable_rls(defn->source, InvalidOid, true) == RLS_ENABLED)
		return LB_CAUSE_ROW_SECURITY;
	if (defn->problem != NULL || !defn->captured)
		return cause_of_problem(a);
	if (a->target.has_value && a->target.value.len > LB_MAX_VALUE)
		return LB_CAUSE_LIMIT;

	/* While a statement runs, its changes are not all captured yet. */
	if (triggers_pending(defn))
		return LB_CAUSE_OWN_CHANGES;
	if (lb_unseen_by(snapshot))
		return LB_CAUSE_OWN_CHANGES;
	return LB_CAUSE_NONE;
}

void
lb_access_fall_back(LbAccess *a, LbCause cause)
{
	if (a->serializable != NULL)
		table_close(a->serializable, NoLock);
	a->serializable = NULL;
	a->query = true;
	a->cause = cause;
}

/*
 * Lock the source and its partitions for SSI, as the query's scan would.  The
 * locks come before the read, so that any transaction that publishes later
 * finds them.
 */
static void
lock_predicates(LbAccess *a)
{
	LbDefinition *defn = a->target.defn;
	Snapshot	snapshot = a->snapshot.snapshot;

	a->serializable = table_open(defn->source, NoLock);
	PredicateLockRelation(a->serializable, snapshot);
	for (int i = 0; defn->parts_valid && i < defn->nparts; i++)
	{
		Relation	part = try_relation_open(defn->parts[i], AccessShareLock);

		/* The list may be older than a DROP, and publish() has the source. */
		if (part == NULL)
			continue;
		PredicateLockRelation(part, snapshot);
		relation_close(part, NoLock);
	}
}

/* Find the definition in shared memory.  Returns why it is not there. */
static LbCause
attach(LbAccess *a)
{
	LbDefinition *defn = a->target.defn;

	lb_pause("attach");
	a->shared = lb_shared_board_attach(defn, false);
	if (a->shared == NULL)
	{
		/* Before the commit no other process can build it. */
		if (lb_created_here(defn))
			return LB_CAUSE_BUILDING;

		/* The database was restored, or made from a template. */
		a->shared = lb_shared_board_attach(defn, true);
		if (a->shared == NULL)
		{
			if (offline_is_error(a))
				offline_error(defn, lb_shared_board_is_other(defn) ?
							  "its definition in lb_board was changed" :
							  "the shared memory of leaderboard.memory is used up");
			return LB_CAUSE_OFFLINE;
		}
	}
	a->generation = defn->generation;
	a->stripe = &a->shared->stripes[a->target.stripe];
	return LB_CAUSE_NONE;
}

static void
init(LbAccess *a, bool distinct, LbReader reader)
{
	a->distinct = distinct;
	a->complete = false;
	a->reader = reader;
	a->counted = false;
	a->query = false;
	a->cause = LB_CAUSE_NONE;
	a->shared = NULL;
	a->sums = NULL;
	a->begun = 0;
	a->gathered = 0;
	a->collected = 0;
	a->count_scores = false;
	a->serializable = NULL;
}

void
lb_access_begin_query(LbAccess *a, LbCause cause)
{
	init(a, false, LB_READER_CALL);
	lb_access_fall_back(a, lb_may_read(a->target.defn) ? cause :
						LB_CAUSE_NONE);
}

void
lb_access_begin(LbAccess *a, Snapshot snapshot, bool distinct, LbReader reader)
{
	LbCause		cause;

	init(a, distinct, reader);

	/* Without the privileges, the query raises the error that it raises. */
	if ((reader == LB_READER_CALL || reader == LB_READER_WRITE) &&
		!lb_may_read(a->target.defn))
	{
		lb_access_fall_back(a, LB_CAUSE_NONE);
		return;
	}
	cause = cause_before_index(a, snapshot);
	if (cause == LB_CAUSE_NONE)
		cause = attach(a);
	if (cause == LB_CAUSE_NONE &&
		!lb_own_changes(&a->target, snapshot->curcid, false, &a->own))
		cause = LB_CAUSE_OWN_CHANGES;
	if (cause != LB_CAUSE_NONE)
	{
		lb_access_fall_back(a, cause);
		return;
	}
	a->sums = a->own.sums;
	lb_snapshot_init(&a->snapshot, snapshot);
	memset(&a->outcomes, 0, sizeof(a->outcomes));
	memset(&a->unseen, 0, sizeof(a->unseen));
	if (IsolationIsSerializable())
		lock_predicates(a);
}

/* The board is offline. */
static void
fall_back_offline(LbAccess *a)
{
	if (offline_is_error(a))
	{
		char		reason[LB_MAX_REASON];

		(void) lb_get_reason(a->shared, reason);
		offline_error(a->target.defn, reason);
	}
	lb_access_fall_back(a, LB_CAUSE_OFFLINE);
}

bool
lb_access_not_ready(LbAccess *a, uint32 state)
{
	LbDefinition *defn = a->target.defn;

	if (state == LB_OFFLINE)
	{
		fall_back_offline(a);
		return false;
	}

	/*
	 * On a standby a wait could have no end that any process detects: we hold
	 * a lock on the table, replay may wait for that, and the build for
	 * replay.
	 */
	if (lb_not_ready == LB_POLICY_QUERY || !lb_access_follows_settings(a) ||
		(lb_not_ready == LB_POLICY_WAIT && RecoveryInProgress()))
	{
		lb_request_build(a->shared, a->generation, false);
		lb_access_fall_back(a, LB_CAUSE_BUILDING);
		return false;
	}
	if (lb_not_ready == LB_POLICY_ERROR)
	{
		lb_request_build(a->shared, a->generation, false);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("board \"%s\" is being built", defn->name),
				 errhint("Wait with lb_wait_ready(), or set \"leaderboard.not_ready\" to \"query\".")));
	}
	switch (lb_wait_build(a->shared, a->generation, false, lb_wait_timeout_ms))
	{
		case LB_WAIT_READY:
			return true;
		case LB_WAIT_FAILED:
			/* The next attempt may have begun, but this read has waited. */
			if (offline_is_error(a) || lb_is_offline(a->shared))
				fall_back_offline(a);
			else
				lb_access_fall_back(a, LB_CAUSE_BUILDING);
			return false;
		case LB_WAIT_TIMEOUT:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("board \"%s\" was not built within %d ms",
					defn->name, lb_wait_timeout_ms),
			 errhint("See lb_stat_board for the build's progress; \"leaderboard.wait_timeout\" sets how long reads wait.")));
}
