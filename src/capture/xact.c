/*-------------------------------------------------------------------------
 *
 * xact.c
 *	  The end of a transaction: publish, settle, drop, prepare.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "replication/logicalworker.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "boards/cache.h"
#include "boards/directory.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "capture/ddl.h"
#include "capture/xact.h"
#include "capture/xactlog.h"
#include "ledger/ledger.h"
#include "ledger/snapshot.h"
#include "ledger/sweep.h"
#include "reads/corrections.h"
#include "util/pause.h"

/* Definitions in whose nunknown we are.  Outlives the transaction's memory. */
typedef struct Counted
{
	LbSharedBoard *shared;
	uint64		generation;
} Counted;

static FullTransactionId xact_xid;	/* from PRE_COMMIT on */
static Counted *counted = NULL;
static int	ncounted = 0;
static int	max_counted = 0;

#define PREPARED_REASON "a prepared transaction has changed the table or the board"

/* Find the definition in shared memory, or enter it.  Never raises. */
static bool
attach(LbDefinition *defn, LbSharedBoard **shared, uint64 *generation)
{
	*shared = lb_shared_board_attach(defn, true);
	*generation = defn->generation;
	return *shared != NULL;
}

/* Returns false if the board's changes become unknown. */
static bool
publish_board(LbXactBoard *board, FullTransactionId xid, bool prepare)
{
	LbNetChanges net;
	LbChanges	changes;
	int64	   *entries;
	bool		ambiguous;
	int			n;

	if (!lb_xact_counted_changes(board, InvalidCommandId, lb_xact.context, &changes))
		return false;
	if (changes.n == 0)
		return true;
	if (lb_changes_are_net(&changes))
	{
		entries = changes.words;
		n = changes.n;
	}
	else
	{
		entries = MemoryContextAllocExtended(lb_xact.context,
											 (Size) changes.n *
											 lb_entry_words(board->width) *
											 sizeof(int64),
											 MCXT_ALLOC_HUGE |
											 MCXT_ALLOC_NO_OOM);
		if (entries == NULL)
			return false;
		n = lb_net_changes(&changes, entries, &ambiguous);
		pfree(changes.words);
		if (ambiguous)
			return false;
	}
	if (n == 0)
		return true;
	net.shared = board->xdefn->shared;
	net.generation = board->xdefn->generation;
	net.value = &board->value;
	net.hash = board->hash;
	net.entries = entries;
	net.nentries = n;
	board->pub = lb_publish(&net, xid, prepare);
	return board->pub != NULL;
}

/*
 * A reader that looked at the index after we wrote the rows, but before we
 * published, knows nothing of us: find its lock now.
 */
static void
check_serializable(LbXactDefn *xdefn)
{
	/*
	 * Without a lock: who has written to a partition has none on the source,
	 * and must not wait for it now.
	 */
	Relation	rel = RelationIdGetRelation(xdefn->defn.source);

	if (rel == NULL)
		return;
	CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
	RelationClose(rel);
}

/*
 * From here to the transaction's end, readers of the definition run their
 * queries.
 */
static void
count_unknown(LbXactDefn *xdefn)
{
	lb_note_unknown(&xdefn->shared->unknown, xact_xid);
	if (xdefn->counted)
		return;
	if (ncounted == max_counted)
	{
		int			n = Max(8, max_counted * 2);
		Counted    *more = MemoryContextAllocExtended(TopMemoryContext,
													  n * sizeof(Counted),
													  MCXT_ALLOC_NO_OOM);

		/* No reason for the commit to fail. */
		if (more == NULL)
		{
			lb_shared_board_offline(xdefn->shared, "changes of a transaction could not be kept",
									true);
			return;
		}
		if (counted != NULL)
		{
			memcpy(more, counted, ncounted * sizeof(Counted));
			pfree(counted);
		}
		counted = more;
		max_counted = n;
	}
	counted[ncounted].shared = xdefn->shared;
	counted[ncounted].generation = xdefn->generation;
	ncounted++;
	pg_atomic_fetch_add_u32(&xdefn->shared->nunknown, 1);
	xdefn->counted = true;
}

/*
 * The transaction has ended, and others have been told what it has done to
 * triggers, which comes after the callbacks: who builds looks at the count, for
 * what his relcache has may be of before.
 */
static void
resources_released(ResourceReleasePhase phase, bool isCommit,
				   bool isTopLevel, void *arg)
{
	if (phase != RESOURCE_RELEASE_AFTER_LOCKS || !isTopLevel || ncounted == 0)
		return;

	/* No lock of ours keeps the definition from being removed any more. */
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	while (ncounted > 0)
	{
		const Counted *c = &counted[--ncounted];

		if (c->shared->generation == c->generation)
			pg_atomic_fetch_sub_u32(&c->shared->nunknown, 1);
	}
	LWLockRelease(&lb_shared->directory_lock);
	lb_wake_launcher();
}

/*
 * A PRE_COMMIT callback of somebody else, after ours, has written to the
 * table.  What is published is not everything.
 */
void
lb_captured_late(LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_make_defn(defn);

	xact_xid = GetTopFullTransactionIdIfAny();
	xdefn->unknown = true;
	if (!xdefn->attached)
		xdefn->attached = attach(&xdefn->defn, &xdefn->shared, &xdefn->generation);
	if (xdefn->attached)
		count_unknown(xdefn);
	else
		lb_note_unknown_here(xact_xid);
}

/*
 * The transaction that is about to be prepared has changes of a definition's rows
 * that are not kept, or creates or drops the definition itself.  Nobody will be
 * there to follow when it ends: so the boards are offline until then, and a
 * worker looks what is recorded.
 */
static void
leave_to_prepared(LbSharedBoard *shared)
{
	lb_note_unknown(&shared->unknown, xact_xid);
	lb_shared_board_offline(shared, PREPARED_REASON, true);
}

static void
leave_visited_to_prepared(LbSharedBoard *shared, void *arg)
{
	leave_to_prepared(shared);
}

/*
 * Before the commit record, or before the transaction is prepared.
 */
static void
publish(bool prepare)
{
	FullTransactionId xid = GetTopFullTransactionIdIfAny();

	xact_xid = xid;

	/* What has begun has failed, or was rolled back, and nothing was written. */
	if (!FullTransactionIdIsValid(xid))
		return;

	/* A subtransaction that was rolled back may have left nothing to do. */
	for (LbXactBoard *board = lb_xact.boards; board != NULL; board = board->next)
		board->xdefn->needed |= board->nchanges > 0;
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (!xdefn->needed && !xdefn->unknown && xdefn->ntruncates == 0)
			continue;
		xdefn->attached = attach(&xdefn->defn, &xdefn->shared, &xdefn->generation);

		/* A build that comes to be must not overlook us. */
		if (!xdefn->attached)
			lb_note_unknown_here(xid);

		/* Nobody will be there to empty the board. */
		if (prepare && xdefn->ntruncates > 0)
			xdefn->unknown = true;
	}
	for (LbXactBoard *board = lb_xact.boards; board != NULL; board = board->next)
	{
		LbXactDefn *xdefn = board->xdefn;

		if (!xdefn->attached || xdefn->unknown ||
			publish_board(board, xid, prepare))
			continue;
		xdefn->unknown = true;
		if (xdefn->shared->generation == xdefn->generation)
			continue;

		/* It was taken for one that is not recorded, and removed. */
		xdefn->attached = attach(&xdefn->defn, &xdefn->shared, &xdefn->generation);
		if (!xdefn->attached)
			lb_note_unknown_here(xid);
	}
	if (IsolationIsSerializable())
	{
		for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
			check_serializable(xdefn);
	}
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (!xdefn->attached || !xdefn->unknown)
			continue;
		if (prepare)
			leave_to_prepared(xdefn->shared);
		else
			count_unknown(xdefn);
	}
}

static void
pre_commit(void)
{
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		if (op->kind == LB_DDL_CREATED)
			op->attached = attach(&op->defn, &op->shared, &op->generation);
	}
	if (lb_xact.defns == NULL)
		return;
	publish(false);
	lb_update_horizon(false);
	lb_pause("publish");
}

/*
 * The transaction has committed.  Nothing here may raise or allocate.
 */
static void
at_commit(void)
{
	if (lb_xact.boards != NULL)
		lb_pause("settle");
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (xdefn->attached && xdefn->ntruncates > 0)
			lb_shared_board_clear(xdefn->shared, xdefn->generation, xact_xid);
	}
	for (LbXactBoard *board = lb_xact.boards; board != NULL; board = board->next)
	{
		if (board->pub != NULL)
			lb_settle(board->pub);
	}

	/* A glance without the lock: the launcher looks closer. */
	if (lb_shared->arena.used >= pg_atomic_read_u64(&lb_shared->warn_at))
		lb_wake_launcher();
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (!xdefn->counted || xdefn->shared->generation != xdefn->generation)
			continue;
		lb_shared_board_offline(
								xdefn->shared,
								xdefn->reason != NULL
								? xdefn->reason
								: "changes of a transaction could not be kept",
								true);
	}
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		switch (op->kind)
		{
			case LB_DDL_CREATED:
				if (op->attached)
					lb_shared_board_want_build(op->shared, op->generation,
											   false);
				break;
			case LB_DDL_DROPPED:
				lb_shared_board_remove_id(op->defn.catalog, op->defn.id);
				break;
			case LB_DDL_RENAMED:
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
	lb_pause("ended");
}

static void
at_abort(void)
{
	bool		published = false;

	for (LbXactBoard *board = lb_xact.boards; board != NULL; board = board->next)
		published |= board->pub != NULL;
	if (published)
		lb_pause("drop");
	for (LbXactBoard *board = lb_xact.boards; board != NULL; board = board->next)
	{
		if (board->pub != NULL)
			lb_discard(board->pub);
	}
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		if (op->kind == LB_DDL_CREATED && op->attached)
			lb_shared_board_remove(op->shared, op->generation);
	}
}

static void
pre_prepare(void)
{
	if (lb_xact.defns != NULL)
		publish(true);
	xact_xid = GetTopFullTransactionIdIfAny();
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		LbSharedBoard *shared;

		switch (op->kind)
		{
			case LB_DDL_CREATED:
				op->attached = attach(&op->defn, &op->shared, &op->generation);
				if (op->attached)
					leave_to_prepared(op->shared);
				break;
			case LB_DDL_DROPPED:
				shared = lb_shared_board_attach(&op->defn, false);
				if (shared != NULL)
					leave_to_prepared(shared);
				break;
			case LB_DDL_SOURCE_DROPPED:
			case LB_DDL_CATALOG_DROPPED:
				lb_shared_board_visit(op->relation, leave_visited_to_prepared,
									  NULL);
				break;
			case LB_DDL_RENAMED:	/* has become one dropped, one created */
			case LB_DDL_DATABASE_DROPPED:	/* is in no transaction block */
				break;
		}
	}
}

/* The publications wait for whoever meets them when it has ended. */
static void
at_prepare(void)
{
	for (LbXactBoard *board = lb_xact.boards; board != NULL; board = board->next)
	{
		if (board->pub != NULL)
			lb_disown_prepared(board->pub);
	}
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (!xdefn->counted || xdefn->shared->generation != xdefn->generation)
			continue;
		lb_shared_board_offline(xdefn->shared, PREPARED_REASON, true);
	}
	lb_wake_launcher();
}

static void
forget(void)
{
	lb_xact_forget();
	lb_ddl_forget();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			if (lb_shared != NULL && IsLogicalWorker())
				lb_find_worker_truncates();
			if (lb_xact.context != NULL)
				pre_commit();
			lb_xact.published = true;
			break;
		case XACT_EVENT_COMMIT:
			if (lb_xact.context != NULL)
				at_commit();
			forget();
			lb_corrections_at_xact_end();
			lb_caches_at_xact_end();
			break;
		case XACT_EVENT_ABORT:
			if (lb_xact.context != NULL)
				at_abort();
			forget();
			lb_corrections_at_xact_end();
			lb_caches_at_xact_end();
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (lb_shared != NULL && IsLogicalWorker())
				lb_find_worker_truncates();
			if (lb_xact.context != NULL)
				pre_prepare();
			lb_xact.published = true;
			break;
		case XACT_EVENT_PREPARE:
			if (lb_xact.defns != NULL)
				at_prepare();
			forget();
			lb_corrections_at_xact_end();
			lb_caches_at_xact_end();
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
