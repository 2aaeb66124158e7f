/*-------------------------------------------------------------------------
 *
 * xact.c
 *	  The end of a transaction.
 *
 * PostgreSQL calls this file at these moments, in this order:
 *
 *	PRE_COMMIT		All triggers have fired.  The transaction publishes its
 *					changes.  This is the last moment at which it can take
 *					memory, look up catalogs, or fail.  Other callbacks and
 *					checks follow, which can still make it fail, or even change
 *					rows.
 *	COMMIT			The commit record is written, and other backends see the
 *					rows.  The transaction settles what it has published, and
 *					carries out the operations that ddl.c has noted.
 *	AFTER_LOCKS		Its locks are released and its invalidations are sent.  It
 *					is no longer counted among those with unknown changes, and
 *					requests the builds of boards that it has recorded anew.
 *
 *	ABORT			The transaction discards what it has published.
 *
 *	PRE_PREPARE,	The same as PRE_COMMIT, but all is published in shared
 *	PREPARE			memory, because no callback runs when the prepared
 *					transaction ends.
 *
 * After the commit record nothing here, and nothing that is called from here,
 * allocates process memory, looks up a catalog, or raises: an error there is a
 * PANIC.  at_abort() must not raise either.
 *
 * src/README, "Capture, publish, settle", argues why this is correct.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "replication/logicalworker.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "boards/directory.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "boards/xact_end.h"
#include "capture/ddl.h"
#include "capture/unseen.h"
#include "capture/xact.h"
#include "capture/own.h"
#include "capture/xactlog.h"
#include "feed/emit.h"
#include "ledger/ledger.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "util/pause.h"

#define LOST_REASON "changes of a transaction could not be kept"
#define PREPARED_REASON "a prepared transaction has changed the table or the board"

static FullTransactionId xact_xid;	/* from PRE_COMMIT on */
static bool feeding;			/* likewise: it tells standbys of its changes */

/* A definition in whose nunknown this transaction is counted. */
typedef struct Counted
{
	LbSharedRef ref;
	bool		build;			/* request a build at AFTER_LOCKS */
} Counted;

/* In TopMemoryContext: the transaction's memory is gone at AFTER_LOCKS. */
static Counted *counted = NULL;
static int	ncounted = 0;
static int	max_counted = 0;


/* ----------------------------------------------------------------
 *		Unknown changes
 * ----------------------------------------------------------------
 */

/* Find the definition in shared memory, or enter it.  Never raises. */
static void
attach(LbDefinition *defn, LbSharedRef *ref)
{
	ref->shared = lb_shared_board_attach(defn, true);
	ref->generation = defn->generation;
}

/* The same for a definition with changes.  Never raises. */
static void
attach_changed(LbXactDefn *xdefn)
{
	attach(&xdefn->defn, &xdefn->ref);

	/* A build of the definition must not overlook this transaction. */
	if (xdefn->ref.shared == NULL)
		lb_note_unknown_here(xact_xid);
}

/*
 * From here until AFTER_LOCKS, readers of the definition run their queries,
 * and it is not built.  Returns false if there is no memory.
 */
static bool
count(const LbSharedRef *ref, bool build)
{
	if (ncounted == max_counted)
	{
		int			n = Max(8, max_counted * 2);
		Counted    *more = MemoryContextAllocExtended(TopMemoryContext,
													  n * sizeof(Counted),
													  MCXT_ALLOC_NO_OOM);

		if (more == NULL)
			return false;
		if (counted != NULL)
		{
			memcpy(more, counted, ncounted * sizeof(Counted));
			pfree(counted);
		}
		counted = more;
		max_counted = n;
	}
	counted[ncounted].ref = *ref;
	counted[ncounted++].build = build;
	pg_atomic_fetch_add_u32(&ref->shared->nunknown, 1);
	return true;
}

/* The same for changes that are unknown.  Never raises. */
static void
count_unknown(LbXactDefn *xdefn)
{
	lb_note_unknown(&xdefn->ref.shared->unknown, xact_xid);
	if (xdefn->counted)
		return;
	xdefn->counted = count(&xdefn->ref, false);

	/* The commit does not fail for lack of this memory. */
	if (!xdefn->counted)
		lb_take_offline(xdefn->ref.shared, xdefn->ref.generation,
						LOST_REASON, true);
}

/*
 * The same for a board that is recorded anew: other sessions may have read the
 * new row of lb_board, but not what has been altered.  Can raise.
 */
static void
count_anew(const LbSharedRef *ref)
{
	if (!count(ref, true))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
}

/*
 * At AFTER_LOCKS.  PostgreSQL sends invalidations after the COMMIT callbacks,
 * so the count lasts longer than these: a build that finds it at zero has seen
 * what the transaction did to triggers.
 */
static void
resources_released(ResourceReleasePhase phase, bool isCommit,
				   bool isTopLevel, void *arg)
{
	if (phase != RESOURCE_RELEASE_AFTER_LOCKS || !isTopLevel || ncounted == 0)
		return;

	/* No lock of the transaction keeps a definition in place any more. */
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	while (ncounted > 0)
	{
		const LbSharedRef *ref = &counted[--ncounted].ref;

		if (ref->shared->generation != ref->generation)
			continue;
		pg_atomic_fetch_sub_u32(&ref->shared->nunknown, 1);
		if (counted[ncounted].build)
			lb_request_build(ref->shared, ref->generation, false);
	}
	LWLockRelease(&lb_shared->directory_lock);
	lb_wake_launcher();
}

/* Take the definitions with unknown changes offline.  Never raises. */
static void
take_unknown_offline(const char *prepared_reason)
{
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		const char *reason = prepared_reason;

		if (reason == NULL)
			reason = xdefn->reason != NULL ? xdefn->reason : LOST_REASON;
		if (xdefn->counted)
			lb_take_offline(xdefn->ref.shared, xdefn->ref.generation, reason,
							true);
	}
}

void
lb_captured_late(LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_make_defn(defn);

	xact_xid = GetTopFullTransactionIdIfAny();
	xdefn->unknown = true;

	/* One message serves all rows. */
	if (lb_feeding() && !xdefn->told_late)
	{
		lb_emit_begin();
		lb_emit_unknown(LB_FEED_DEFINITION, defn->catalog, defn->id);
		lb_emit_end();
		xdefn->told_late = true;
	}
	if (xdefn->ref.shared == NULL)
		attach_changed(xdefn);
	if (xdefn->ref.shared != NULL)
		count_unknown(xdefn);
}

/*
 * The transaction that is about to be prepared has unknown changes of the
 * definition, or creates or drops it.  No callback runs when it ends.  So the
 * boards are offline until then, and a worker then reads what is recorded.
 */
static void
leave_to_prepared(LbSharedBoard *shared, uint64 generation)
{
	lb_note_unknown(&shared->unknown, xact_xid);
	lb_take_offline(shared, generation, PREPARED_REASON, true);
}

static void
leave_visited_to_prepared(LbSharedBoard *shared, void *arg)
{
	leave_to_prepared(shared, shared->generation);
}


/* ----------------------------------------------------------------
 *		Publish
 * ----------------------------------------------------------------
 */

/* Returns false if the board's changes cannot be published. */
static bool
publish_board(LbXactBoard *board, bool prepare)
{
	LbXactDefn *xdefn = board->xdefn;
	LbNetChanges net;

	if (!lb_xact_net_changes(board, &net))
		return false;
	if (net.entries.n == 0 && net.off_board == 0)
		return true;
	board->pub = lb_publish(&net, xact_xid, prepare);
	if (feeding && board->pub != NULL && !xdefn->defn.unlogged)
		lb_emit_changes(&xdefn->defn, &net,
						xdefn->ref.shared->negative_zero);
	return board->pub != NULL;
}

/* Attach the definitions that the transaction has changed. */
static void
attach_all_changed(bool prepare)
{
	/* An aborted subtransaction may have left boards without changes. */
	for (LbXactBoard *board = lb_xact.boards; board != NULL;
		 board = board->next)
	{
		CHECK_FOR_INTERRUPTS();
		board->xdefn->needed |= board->nchanges > 0 || board->noff_board > 0;
	}
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		CHECK_FOR_INTERRUPTS();
		if (!xdefn->needed && !xdefn->unknown && xdefn->ntruncates == 0)
			continue;
		attach_changed(xdefn);

		/* No callback will empty the boards. */
		if (prepare && xdefn->ntruncates > 0)
			xdefn->unknown = true;
	}
}

static void
publish_boards(bool prepare)
{
	for (LbXactBoard *board = lb_xact.boards; board != NULL;
		 board = board->next)
	{
		LbXactDefn *xdefn = board->xdefn;

		CHECK_FOR_INTERRUPTS();
		if (xdefn->ref.shared == NULL || xdefn->unknown ||
			publish_board(board, prepare))
			continue;
		xdefn->unknown = true;

		/*
		 * If a worker has removed the definition meanwhile, because it did
		 * not find it recorded, enter it again.
		 */
		if (xdefn->ref.shared->generation != xdefn->ref.generation)
			attach_changed(xdefn);
	}
}

/*
 * A serializable reader that looked at the index after this transaction wrote
 * its rows, but before it published them, knows nothing of it.  The reader's
 * predicate lock on the source is found now.
 */
static void
check_serializable(void)
{
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		/*
		 * A transaction that has written to a partition itself has no lock on
		 * the source, and must not wait for one now.
		 */
		Relation	rel;

		CHECK_FOR_INTERRUPTS();
		rel = RelationIdGetRelation(xdefn->defn.source);
		if (rel == NULL)
			continue;
		CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
		RelationClose(rel);
	}
}

/*
 * Tell standbys what is not in the changes of a definition.  Emptying a large
 * index is not redo's work, so a TRUNCATE makes them unknown.
 */
static void
emit_definition(const LbXactDefn *xdefn)
{
	const LbDefinition *defn = &xdefn->defn;
	bool		unknown = xdefn->unknown || xdefn->unfed ||
		xdefn->ntruncates > 0 ||
		(xdefn->needed && xdefn->ref.shared == NULL);

	if (unknown)
		lb_emit_unknown(LB_FEED_DEFINITION, defn->catalog, defn->id);
	else if (xdefn->negative_zero && !defn->unlogged)
		lb_emit_negative_zero(defn);
}

/* Tell standbys which boards and tables come or go. */
static void
emit_ddl(void)
{
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		CHECK_FOR_INTERRUPTS();
		switch (op->kind)
		{
			case LB_DDL_CREATED:
			case LB_DDL_DROPPED:
				lb_emit_unknown(LB_FEED_DEFINITION, op->defn.catalog,
								op->defn.id);
				break;
			case LB_DDL_RENAMED:	/* has become one dropped, one created */
				break;
			case LB_DDL_SOURCE_DROPPED:
				lb_emit_unknown(LB_FEED_SOURCE, op->relation, 0);
				break;
			case LB_DDL_CATALOG_DROPPED:
				lb_emit_unknown(LB_FEED_CATALOG, op->relation, 0);
				break;
			case LB_DDL_DATABASE_DROPPED:
				lb_emit_unknown(LB_FEED_DATABASE, InvalidOid, 0);
				break;
		}
	}
}

/*
 * Publish the transaction's changes, before the commit record or before it is
 * prepared.  Raises serialization failures, and when interrupted.
 */
static void
publish(bool prepare)
{
	attach_all_changed(prepare);
	publish_boards(prepare);
	if (IsolationIsSerializable())
		check_serializable();
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (feeding)
			emit_definition(xdefn);
		if (xdefn->ref.shared == NULL || !xdefn->unknown)
			continue;
		if (prepare)
			leave_to_prepared(xdefn->ref.shared, xdefn->ref.generation);
		else
			count_unknown(xdefn);
	}
}


/* ----------------------------------------------------------------
 *		The steps
 * ----------------------------------------------------------------
 */

/*
 * Publish, and write the messages for standbys.  Without an xid no row was
 * written: the captured statement failed.
 */
static void
publish_and_emit(bool prepare)
{
	if (!FullTransactionIdIsValid(xact_xid))
		return;
	feeding = lb_feeding();
	if (feeding)
		lb_emit_begin();
	if (lb_xact.defns != NULL)
		publish(prepare);
	if (!feeding)
		return;
	emit_ddl();
	lb_emit_end();
}

static void
pre_commit(void)
{
	xact_xid = GetTopFullTransactionIdIfAny();
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		if (op->kind != LB_DDL_CREATED)
			continue;
		attach(&op->defn, &op->ref);
		if (op->anew && op->ref.shared != NULL)
			count_anew(&op->ref);
	}
	publish_and_emit(false);
	if (lb_xact.defns == NULL)
		return;
	lb_update_horizon(false);
	lb_pause("publish");
}

/* Carry out the operations of a transaction that has committed. */
static void
carry_out_ddl(void)
{
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		switch (op->kind)
		{
			case LB_DDL_CREATED:
				if (op->ref.shared != NULL && !op->anew)
					lb_request_build(op->ref.shared,
									 op->ref.generation, false);
				break;
			case LB_DDL_DROPPED:
				lb_shared_board_remove_id(op->defn.catalog, op->defn.id);
				break;
			case LB_DDL_RENAMED:	/* has become one dropped, one created */
				break;
			case LB_DDL_SOURCE_DROPPED:
				lb_shared_board_remove_source(op->relation);
				break;
			case LB_DDL_CATALOG_DROPPED:
				lb_shared_board_remove_catalog(op->relation);
				break;
			case LB_DDL_DATABASE_DROPPED:
				lb_shared_board_remove_database(op->relation);
				break;
		}
	}
}

/* After the commit record: nothing here may raise or allocate. */
static void
at_commit(void)
{
	if (lb_xact.boards != NULL)
		lb_pause("settle");
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (xdefn->ref.shared != NULL && xdefn->ntruncates > 0)
			lb_shared_board_clear(xdefn->ref.shared, xdefn->ref.generation,
								  xact_xid);
	}
	for (LbXactBoard *board = lb_xact.boards; board != NULL;
		 board = board->next)
	{
		if (board->pub != NULL)
			lb_settle(board->pub);
	}

	/* Read without the lock: the launcher looks again under it. */
	if (lb_shared->arena.used >= pg_atomic_read_u64(&lb_shared->warn_at))
		lb_wake_launcher();
	take_unknown_offline(NULL);
	carry_out_ddl();
	lb_pause("ended");
}

/* Nothing here may raise. */
static void
at_abort(void)
{
	bool		published = false;

	for (LbXactBoard *board = lb_xact.boards; board != NULL;
		 board = board->next)
		published |= board->pub != NULL;
	if (published)
		lb_pause("drop");
	for (LbXactBoard *board = lb_xact.boards; board != NULL;
		 board = board->next)
	{
		if (board->pub != NULL)
			lb_discard(board->pub);
	}
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		if (op->kind == LB_DDL_CREATED && op->ref.shared != NULL)
			lb_shared_board_remove(op->ref.shared, op->ref.generation);
	}
}

static void
pre_prepare(void)
{
	xact_xid = GetTopFullTransactionIdIfAny();
	publish_and_emit(true);
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		LbSharedBoard *shared;

		switch (op->kind)
		{
			case LB_DDL_CREATED:
				attach(&op->defn, &op->ref);
				if (op->ref.shared != NULL)
					leave_to_prepared(op->ref.shared, op->ref.generation);
				break;
			case LB_DDL_DROPPED:
				shared = lb_shared_board_attach(&op->defn, false);
				if (shared != NULL)
					leave_to_prepared(shared, op->defn.generation);
				break;
			case LB_DDL_SOURCE_DROPPED:
			case LB_DDL_CATALOG_DROPPED:
				lb_shared_board_visit(op->relation, leave_visited_to_prepared,
									  NULL);
				break;
			case LB_DDL_RENAMED:	/* has become one dropped, one created */
			case LB_DDL_DATABASE_DROPPED:	/* not in a transaction block */
				break;
		}
	}
}

/*
 * The publications stay pending.  A backend that meets one after the
 * transaction has ended settles or discards it.
 */
static void
at_prepare(void)
{
	for (LbXactBoard *board = lb_xact.boards; board != NULL;
		 board = board->next)
	{
		if (board->pub != NULL)
			lb_disown_prepared(board->pub);
	}
	take_unknown_offline(PREPARED_REASON);
	lb_wake_launcher();
}

/* The last step. */
static void
forget(void)
{
	lb_xact_forget();
	lb_unseen_forget();
	lb_ddl_forget();
	lb_run_at_xact_end();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (lb_shared != NULL && IsLogicalWorker())
				lb_find_worker_truncates();
			if (lb_xact.context != NULL && event == XACT_EVENT_PRE_COMMIT)
				pre_commit();
			else if (lb_xact.context != NULL)
				pre_prepare();
			lb_xact.published = true;
			break;
		case XACT_EVENT_COMMIT:
			if (lb_xact.context != NULL)
				at_commit();
			forget();
			break;
		case XACT_EVENT_ABORT:
			if (lb_xact.context != NULL)
				at_abort();
			forget();
			break;
		case XACT_EVENT_PREPARE:
			if (lb_xact.defns != NULL)
				at_prepare();
			forget();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid,
				 SubTransactionId parentSubid, void *arg)
{
	uint64		seq;

	switch (event)
	{
		case SUBXACT_EVENT_ABORT_SUB:
			seq = lb_xact_subabort(GetCurrentTransactionNestLevel());
			if (seq > 0)
				lb_ddl_cut_off(seq);
			break;
		case SUBXACT_EVENT_COMMIT_SUB:
			lb_xact_subcommit(GetCurrentTransactionNestLevel());
			break;
		case SUBXACT_EVENT_START_SUB:
		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			break;
	}
}

void
lb_xact_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
	RegisterResourceReleaseCallback(resources_released, NULL);
}
