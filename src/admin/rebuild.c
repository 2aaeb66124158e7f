/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  Building boards again, and waiting for builds.
 *
 * A build is the work of a background worker: these functions ask for it and
 * wait. lb_rebuild() also makes or enables capture triggers that are missing
 * or do not fire.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "admin/expressions.h"
#include "admin/manage.h"
#include "admin/triggers.h"
#include "boards/captured.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/distributed.h"
#include "boards/expression.h"
#include "boards/named.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/state.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "capture/xactlog.h"
#include "feed/redo.h"
#include "sql/spi.h"
#include "util/clock.h"
#include "workers/build.h"
#include "workers/install.h"
#include "workers/unknown.h"

PG_FUNCTION_INFO_V1(lb_rebuild);
PG_FUNCTION_INFO_V1(lb_wait_ready);

/* The names of all boards: their numbers can change while we wait for one. */
static int
board_names(char ***names)
{
	LbDefinition **defns;
	int			n = lb_all_defns(&defns);

	*names = palloc(Max(1, n) * sizeof(char *));
	for (int i = 0; i < n; i++)
		(*names)[i] = pstrdup(defns[i]->name);
	return n;
}

/*
 * Find a board as it is recorded now, or NULL, and its definition in shared
 * memory.  While we hold the lock, no session can drop the board or rename its
 * columns; only then is it safe to enter a definition that is not there.  If
 * another session has locked the table, this does not wait for it, and *shared
 * may be NULL.
 */
static LbDefinition *
attach_board(const char *name, LbSharedBoard **shared, bool *locked)
{
	for (;;)
	{
		LbDefinition *defn = lb_find_defn(name);
		Oid			source;

		*shared = NULL;
		if (defn == NULL)
			return NULL;
		source = defn->source;
		*locked = ConditionalLockRelationOid(source, AccessShareLock);

		/* The lock may have processed invalidations. */
		defn = lb_find_defn(name);
		if (defn != NULL && defn->source == source)
		{
			lb_settle_width(defn);
			*shared = lb_shared_board_attach(defn, *locked &&
											 !lb_created_here(defn));
		}
		if (*locked)
			UnlockRelationOid(source, AccessShareLock);
		if (defn == NULL || defn->source == source)
			return defn;
	}
}

/* Whether that is why there is no build. */
static bool
is_locked(const char *reason)
{
	return strcmp(reason, LB_TABLE_LOCKED) == 0 ||
		strcmp(reason, LB_PARTITION_LOCKED) == 0;
}

/* With ready, its old index is still there. */
pg_noreturn static void
rebuild_error(const char *name, const char *reason, bool ready)
{
	ereport(ERROR,
			(errcode(is_locked(reason) ? ERRCODE_LOCK_NOT_AVAILABLE :
					 ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("could not build board \"%s\"", name),
			 reason[0] != '\0' ? errdetail("Reason: %s.", reason) : 0,
			 ready ? errhint("Reads of the board use its last index.") :
			 errhint("Reads of the board run their queries until it is built.")));
}

/*
 * Make or enable the capture triggers of a board's source, if some are missing
 * or do not fire, and objects that keep its expressions.  Returns false if
 * there was nothing to do.  No worker sees the triggers before we commit; then
 * the launcher starts the build.
 */
static bool
mend_triggers(const char *name)
{
	LbDefinition *defn = lb_find_defn(name);
	LbDefinition **defns;
	int			n;
	Oid			source;

	if (defn == NULL || lb_created_here(defn))
		return false;
	source = defn->source;
	if ((lb_is_captured(source) && !lb_lacks_expressions(defn)) ||
		lb_serves(source))
		return false;
	lb_require_owner(source);
	LockRelationOid(source, ShareRowExclusiveLock);
	defn = lb_find_defn(name);
	if (defn == NULL || defn->source != source ||
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		return false;
	lb_require_owner(source);
	if (get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE)
		list_free(find_all_inheritors(source, ShareRowExclusiveLock, NULL));
	SPI_connect();
	if (lb_mend_expressions(defn))
		ereport(NOTICE,
				(errmsg("objects that keep expressions of board \"%s\" were missing, and have been made again",
						name)));
	defn = lb_find_defn(name);
	if (defn == NULL)
		lb_board_not_found(name, NULL);
	lb_resolve_defn(defn);
	if (defn->problem != NULL)
		rebuild_error(name, defn->problem, false);
	if (lb_make_triggers(source))
		ereport(NOTICE,
				(errmsg("the capture triggers of table \"%s\" were missing or disabled, and have been put right",
						get_rel_name(source)),
				 errdetail("Its boards are built when the transaction has committed.")));
	SPI_finish();
	n = lb_defns_of(source, &defns);
	for (int i = 0; i < n; i++)
	{
		LbSharedBoard *shared = lb_shared_board_attach(defns[i], false);

		if (shared != NULL)
			lb_retry_soon(shared);
	}
	return true;
}

/*
 * Whether a board has its indexes on other servers, and then *defn is its
 * definition.
 */
static bool
is_served(const char *name, LbDefinition **defn)
{
	*defn = lb_find_defn(name);
	return *defn != NULL && !(*defn)->counts && lb_serves((*defn)->source);
}

/* Whether an expression of a board names functions or domains of users. */
static bool
names_others(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;
		Node	   *kept = expression == NULL || expression->statistics == NULL ?
			NULL : lb_kept_expression(defn->source, expression->statistics);

		if (kept != NULL && lb_named_objects(kept) != NIL)
			return true;
	}
	return false;
}

/*
 * The same for a board whose expressions name functions of users, when these
 * give other values for the same rows.  A transaction that is writing may have
 * captured old values, and what this one has replaced no worker can see yet.
 * So the board becomes another one, as if PostgreSQL had told of the
 * replacement, and is built when we commit.  Returns false if it is not such a
 * board.
 */
static bool
record_anew(const char *name)
{
	LbDefinition *defn = lb_find_defn(name);
	Oid			source;

	if (defn == NULL || lb_created_here(defn))
		return false;
	source = defn->source;
	if (lb_serves(source))
		return false;
	lb_require_owner(source);
	if (!names_others(defn))
		return false;
	lb_lock_captured(list_make1_oid(source));
	defn = lb_find_defn(name);
	if (defn == NULL || defn->source != source ||
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		return false;
	lb_require_owner(source);
	lb_resolve_defn(defn);
	if (defn->problem != NULL)
		rebuild_error(name, defn->problem, false);
	lb_record_anew(defn, "its index is being built again");
	return true;
}

/* Lock the tables of all such boards at once. */
static void
lock_others(List *names)
{
	List	   *sources = NIL;
	ListCell   *lc;

	foreach(lc, names)
	{
		LbDefinition *defn = lb_find_defn(lfirst(lc));

		if (defn != NULL && !lb_serves(defn->source) && names_others(defn))
			sources = list_append_unique_oid(sources, defn->source);
	}
	lb_lock_captured(sources);
}

/*
 * Wait until no other transaction holds a lock of the table, or of one of its
 * partitions, that keeps a build from reading it.  Returns false if this
 * transaction holds one.
 */
static bool
wait_for_table(Oid source)
{
	Relation	rel = try_relation_open(source, AccessShareLock);
	List	   *tables;
	ListCell   *lc;
	bool		own = false;

	if (rel == NULL)
		return true;
	tables = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(source, AccessShareLock, NULL) :
		list_make1_oid(source);
	foreach(lc, tables)
	{
		Relation	table = relation_open(lfirst_oid(lc), NoLock);

		own |= CheckRelationLockedByMe(table, AccessExclusiveLock, false);
		relation_close(table, lfirst_oid(lc) == source ? NoLock : AccessShareLock);
	}
	list_free(tables);
	relation_close(rel, AccessShareLock);
	return !own;
}

/*
 * Whether what has kept a build from its end may be over by now.  A build does
 * not wait for a lock of the table; we may.  And it does not wait for a
 * transaction that has ended, and is going to tell what it has altered.
 */
static bool
is_over(const char *reason, LbSharedBoard *shared, Oid source)
{
	if (is_locked(reason))
		return wait_for_table(source);
	return strcmp(reason, LB_UNKNOWN_CHANGES) == 0 &&
		pg_atomic_read_u32(&shared->queue_lost) == 0 &&
		!lb_unknown_running(shared, NULL);
}

/*
 * Build a board again.  Returns false if there is none of that name, or none
 * any more.
 */
static bool
rebuild(const char *name)
{
	LbSharedBoard *shared;
	LbDefinition *distributed;
	char		reason[LB_MAX_REASON];
	int			tries = 0;

	if (is_served(name, &distributed))
	{
		lb_require_owner(distributed->source);
		return lb_distributed->rebuild(name);
	}

	for (;;)
	{
		bool		locked;
		LbDefinition *defn = attach_board(name, &shared, &locked);

		if (defn == NULL)
			return false;
		lb_require_owner(defn->source);
		if (lb_created_here(defn) || lb_altered_here(defn))
			return true;		/* it is built when we commit */
		if (shared == NULL && locked && !lb_shared_board_is_other(defn))
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("could not build board \"%s\"", name),
					 errdetail("The shared memory of \"leaderboard.memory\" is used up."),
					 errhint("Set \"leaderboard.memory\" higher and reload the configuration.")));
		if (shared == NULL)
		{
			/*
			 * A worker may be about to replace another definition.
			 */
			if ((locked || wait_for_table(defn->source)) &&
				lb_try_again(&tries))
				continue;
			strlcpy(reason, locked ? "another definition of it is being replaced" :
					LB_TABLE_LOCKED, LB_MAX_REASON);
			break;
		}
		if (lb_wait_build(shared, defn->generation, true, -1) == LB_WAIT_READY)
			return true;
		(void) lb_get_reason(shared, reason);

		/* If it is gone, the board may have another one now. */
		if (shared->generation == defn->generation &&
			(!is_over(reason, shared, defn->source) || !lb_try_again(&tries)))
			break;
	}
	if (pg_atomic_read_u32(&lb_shared->launcher_pid) == 0)
		strlcpy(reason, "the launcher is not running", LB_MAX_REASON);
	rebuild_error(name, reason, shared != NULL && lb_is_ready(shared));
}

Datum
lb_rebuild(PG_FUNCTION_ARGS)
{
	LbDefinition **defns;
	char	  **names;
	char	   *name;
	int			n;
	List	   *mend = NIL;
	ListCell   *lc;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_rebuild()");
	if (!PG_ARGISNULL(0))
	{
		name = text_to_cstring(PG_GETARG_TEXT_PP(0));
		if (!mend_triggers(name) && !record_anew(name) && !rebuild(name))
			lb_board_not_found(name, NULL);
		PG_RETURN_VOID();
	}
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
		lb_require_owner(defns[i]->source);
	n = board_names(&names);

	/*
	 * A build takes long, so do not wait for one while a table is locked.
	 * Meanwhile other sessions may drop boards.
	 */
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = lb_find_defn(names[i]);

		if (defn == NULL ||
			(lb_is_captured(defn->source) && !lb_lacks_expressions(defn) &&
			 !names_others(defn)))
			(void) rebuild(names[i]);
		else
			mend = lappend(mend, names[i]);
	}
	lock_others(mend);
	foreach(lc, mend)
	{
		if (!mend_triggers(lfirst(lc)) && !record_anew(lfirst(lc)))
			(void) rebuild(lfirst(lc));
	}
	PG_RETURN_VOID();
}

/*
 * Wait until a board is ready, or dropped.  Returns false if it is not by
 * then, or if no worker is going to build it.
 */
static bool
wait_for_board(const char *name, int64 until)
{
	LbDefinition *defn = NULL;
	LbSharedBoard *shared = NULL;

	if (is_served(name, &defn))
		return lb_distributed->wait_ready(defn, until);
	for (;;)
	{
		uint32		state = LB_OFFLINE;
		bool		stays = false;
		long		left;

		if (shared == NULL || shared->generation != defn->generation)
		{
			bool		locked;

			defn = attach_board(name, &shared, &locked);
			if (defn == NULL)
				return true;	/* dropped */
			if (lb_created_here(defn))
				return false;

			/* Memory is used up, or it is built when we commit. */
			if (shared == NULL && locked &&
				(!lb_shared_board_is_other(defn) || lb_altered_here(defn)))
				return false;

			/* It never will be, and its reads raise an error. */
			if (RecoveryInProgress() &&
				get_rel_persistence(defn->source) != RELPERSISTENCE_PERMANENT)
				return true;
		}
		if (shared != NULL)
		{
			stays = lb_stays_offline(shared);
			state = lb_state(shared);

			/* It can be the state of the next definition there. */
			pg_read_barrier();
			if (shared->generation != defn->generation)
				continue;
		}
		if (state == LB_READY && lb_feed_answers(defn))
			return true;
		if (stays)
			return false;
		left = lb_time_left(until);
		if (left == 0)
			return false;

		/* An offline board, or the launcher, may come back. */
		if (pg_atomic_read_u32(&lb_shared->launcher_pid) != 0 &&
			state == LB_BUILDING &&
			lb_wait_build(shared, defn->generation, false, left) !=
			LB_WAIT_FAILED)
			continue;
		pg_usleep(10000L);
		CHECK_FOR_INTERRUPTS();
	}
}

Datum
lb_wait_ready(PG_FUNCTION_ARGS)
{
	char	  **names;
	int			n;
	int64		until = PG_INT64_MAX;

	(void) lb_require_catalog();
	if (!PG_ARGISNULL(0))
		until = lb_clock_after(PG_GETARG_DATUM(0));
	n = board_names(&names);
	for (int i = 0; i < n; i++)
	{
		if (!wait_for_board(names[i], until))
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(true);
}
