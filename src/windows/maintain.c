/*-------------------------------------------------------------------------
 *
 * maintain.c
 *	  Maintenance: its worker, and lb_maintain().
 *
 * The worker visits one database after the other: it makes what servers of
 * distributed tables lack, closes windows, removes the rows of closed windows,
 * and trims the extension's own tables.  lb_maintain() does the same in the
 * caller's transaction, except for distributed tables of other owners: each of
 * these roles gets a transaction of its own (leave_to_owners()).
 *
 * All of it can stop anywhere and be continued: lb_closed, the boards and the
 * table say what is left to do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "boards/catalog.h"
#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/distributed.h"
#include "boards/target.h"
#include "leaderboards/leaderboard.h"
#include "sql/spi.h"
#include "util/clock.h"
#include "util/compat.h"
#include "util/pause.h"
#include "windows/maintain.h"
#include "windows/reward.h"
#include "windows/visit.h"
#include "workers/turn.h"
#include "workers/worker.h"

PG_FUNCTION_INFO_V1(lb_maintain);

/* Rows that the worker removes in a transaction. */
#define BATCH_ROWS 2000

int			lb_maintenance_interval = 300;


/* ----------------------------------------------------------------
 *		Rounds
 * ----------------------------------------------------------------
 */

/* A leaderboard's windows, or NULL if it has none that can be maintained. */
static LbDefinition *
find_windows(const char *family)
{
	LbDefinition *defn = lb_find_recorded(family);

	if (defn == NULL || !defn->family || defn->misfit || defn->counts ||
		!lb_has_text_boards(defn))
		return NULL;

	/* Windows of distributed tables are the coordinator's to close. */
	if (lb_is_distributed(defn) &&
		!(lb_serves(defn->source) && lb_distributed->is_coordinator()))
		return NULL;
	return defn;
}

static void
find_family(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	visit->tasks.defn = find_windows(key);
}

/* All families of windows. */
static void
list_families(LbVisit *visit)
{
	MemoryContext old = MemoryContextSwitchTo(visit->context);
	const char **boards;
	int			n = lb_leaderboard_boards(&boards);

	for (int i = 1; i < n; i += 2)
		visit->tasks.families = lappend(visit->tasks.families, unconstify(char *, boards[i]));
	MemoryContextSwitchTo(old);
}

/* Forget what is known of a family, before the next one. */
static void
forget_family(LbVisit *visit)
{
	memset(&visit->closing, 0, sizeof(visit->closing));
	memset(&visit->removing, 0, sizeof(visit->removing));
}

/*
 * Close the windows of a family, and remove rows.  Returns true if the
 * transaction should end before the next family.
 */
static bool
maintain_family(LbVisit *visit, const char *family, List **drops)
{
	/* It can be invalidated, but not freed before we commit. */
	visit->tasks.defn = NULL;
	(void) lb_attempt(find_family, "look for windows", visit, NULL, family);
	return visit->tasks.defn != NULL &&
		(lb_close_windows(visit, visit->tasks.defn) ||
		 lb_remove_windows(visit, visit->tasks.defn, drops));
}

/*
 * In one transaction: mend what servers have of distributed tables, close
 * windows, remove up to visit->max_rows rows, trim our own tables.  Between
 * SPI_connect and SPI_finish.
 */
static void
maintain(LbVisit *visit)
{
	List	   *drops = NIL;
	const LbDefinition *drops_of = NULL;
	ListCell   *lc;

	foreach(lc, visit->mending.boards)
		visit->done.more |= !lb_distributed->mend(visit, lfirst(lc));
	foreach(lc, visit->tasks.families)
	{
		List	   *found = NIL;

		if (maintain_family(visit, lfirst(lc), &found))
			return;
		if (found != NIL && drops != NIL)
			visit->done.more = true;
		else if (found != NIL && !visit->removing.in_use)
		{
			drops = found;
			drops_of = visit->tasks.defn;
		}
		forget_family(visit);
	}
	(void) lb_pay_reward(visit);
	lb_trim_tables(visit);

	/*
	 * Last, and one only: it keeps other sessions from the table from here to
	 * the end of the transaction.
	 */
	lb_remove_partitions(visit, drops_of, drops);
}


/* ----------------------------------------------------------------
 *		The worker
 * ----------------------------------------------------------------
 */

/* What the worker does for one board or family, or once. */
typedef enum TaskKind
{
	TASK_MEND,
	TASK_FAMILY,
	TASK_PAY,
	TASK_TRIM
} TaskKind;

typedef struct Task
{
	TaskKind	kind;
	int			number;
	const char *name;			/* of a board or family */
} Task;

static void
add_task(LbVisit *visit, TaskKind kind, const char *name)
{
	Task	   *task = palloc(sizeof(Task));

	task->kind = kind;
	task->number = list_length(visit->tasks.left);
	task->name = name;
	visit->tasks.left = lappend(visit->tasks.left, task);
}

/* List all tasks.  The first is the one with number tasks.number, or less. */
static void
list_tasks(LbVisit *visit)
{
	MemoryContext old;
	ListCell   *lc;
	int			first;

	if (lb_distributed != NULL)
		lb_distributed->list_boards(visit);
	list_families(visit);
	old = MemoryContextSwitchTo(visit->context);
	foreach(lc, visit->mending.boards)
		add_task(visit, TASK_MEND, lfirst(lc));
	foreach(lc, visit->tasks.families)
		add_task(visit, TASK_FAMILY, lfirst(lc));
	add_task(visit, TASK_PAY, NULL);
	add_task(visit, TASK_TRIM, NULL);
	first = visit->tasks.number % list_length(visit->tasks.left);
	for (int i = 0; i < first; i++)
	{
		Task	   *task = linitial(visit->tasks.left);

		visit->tasks.left = lappend(list_delete_first(visit->tasks.left), task);
	}
	MemoryContextSwitchTo(old);
	visit->tasks.listed = true;
}

/*
 * Do the first step that is due of the first task, and nothing else: a
 * function of the user's runs in a transaction that has locked no table of
 * another task.
 */
static void
next_step(LbVisit *visit)
{
	Task	   *task;
	List	   *drops = NIL;
	bool		ended = false;

	if (!visit->tasks.listed)
		list_tasks(visit);
	task = linitial(visit->tasks.left);
	visit->tasks.number = task->number;
	switch (task->kind)
	{
		case TASK_MEND:
			ended = lb_distributed->mend(visit, task->name);
			break;
		case TASK_FAMILY:
			ended = !maintain_family(visit, task->name, &drops);
			if (ended)
				forget_family(visit);
			break;
		case TASK_PAY:
			ended = !lb_pay_reward(visit);
			break;
		case TASK_TRIM:
			lb_trim_tables(visit);
			ended = !visit->done.more;
			break;
	}

	/* Steps that were left out since the time was up are left. */
	if (ended && !visit->limits.long_enough)
		visit->tasks.left = list_delete_first(visit->tasks.left);
	visit->done.more = visit->tasks.left != NIL;
}

static const LbWorkerKind maintenance_kind = {
	.type = "leaderboard maintenance",
	.function = "lb_maintain_main",
	.interval = &lb_maintenance_interval
};

void
lb_windows_init(void)
{
	DefineCustomIntVariable("leaderboard.anomaly_retention",
							"Sets how long lb_anomaly keeps players who have exceeded a limit.",
							"-1 keeps them forever.",
							&lb_anomaly_retention,
							90 * 86400, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.applied_retention",
							"Sets how long lb_applied remembers which matches have been applied.",
							"-1 keeps them forever.",
							&lb_applied_retention,
							7 * 86400, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.event_retention",
							"Sets how long lb_event keeps what has been submitted.",
							"-1 keeps them forever.",
							&lb_event_retention,
							30 * 86400, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.maintenance_interval",
							"Sets the time between two visits of a worker that closes windows.",
							"Zero turns it off: lb_maintain() does the same.",
							&lb_maintenance_interval,
							300, 0, 86400,
							PGC_SIGHUP, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.maintenance_timeout",
							"Sets how long a step of maintenance may take in the worker.",
							"Zero is any time.",
							&lb_maintenance_timeout,
							60, 0, INT_MAX / 1000,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("leaderboard.reward_timeout",
							"Sets how long a function of lb_set_reward() may run in the worker.",
							"Zero is any time.",
							&lb_reward_timeout,
							60, 0, INT_MAX / 1000,
							PGC_SUSET, GUC_UNIT_S,
							NULL, NULL, NULL);
	lb_register_worker(&maintenance_kind);
}

/* All steps of a visit.  number is that of the first task, or less. */
static void
visit_database(int number)
{
	LbVisit		visit = {
		.one = true,
		.max_rows = BATCH_ROWS,
		.begun = lb_clock(),
		.context = AllocSetContextCreate(TopMemoryContext,
										 "leaderboard maintenance",
										 ALLOCSET_SMALL_SIZES),
		.tasks = {.number = number}
	};

	for (;;)
	{
		const LbCatalog *cat;

		memset(&visit.done, 0, sizeof(visit.done));
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		cat = lb_catalog();
		if (cat != NULL && cat->version_ok && !RecoveryInProgress())
		{
			pgstat_report_activity(STATE_RUNNING, "closing windows and removing what is not kept");
			SPI_connect();
			next_step(&visit);
			SPI_finish();
		}
		PopActiveSnapshot();

		/* Constraint triggers of users can be left. */
		lb_begin_limit(&visit, lb_maintenance_timeout);
		CommitTransactionCommand();
		lb_end_limit(&visit);
		lb_pause("step");
		pgstat_report_stat(true);
		pgstat_report_activity(STATE_IDLE, NULL);
		if (!visit.done.more || lb_visit_must_end(&visit))
			break;
		lb_yield();
	}
	if (!visit.limits.late && !visit.limits.clock_set)
		lb_turn_note(visit.done.more ? LB_VISIT_MORE : LB_VISIT_DONE);
}

void
lb_maintain_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	int			number;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	lb_worker_connect(database, LB_VISIT_LOCK_TIMEOUT);
	lb_pause_settings();
	pgstat_report_appname("leaderboard maintenance");
	memcpy(&number, MyBgworkerEntry->bgw_extra, sizeof(int));
	visit_database(number);
}


/* ----------------------------------------------------------------
 *		lb_maintain
 * ----------------------------------------------------------------
 */

/*
 * The families, and the boards of distributed tables, that belong to the
 * caller.  Raises 42501 if there is none, unless the caller is a superuser.
 */
static void
list_own(LbVisit *visit)
{
	Oid			other = InvalidOid;
	ListCell   *lc;

	list_families(visit);
	foreach(lc, visit->tasks.families)
	{
		LbDefinition *defn = find_windows(lfirst(lc));

		if (defn != NULL &&
			pg_class_ownercheck(defn->source, GetUserId()) &&
			!(lb_is_distributed(defn) &&
			  list_member_oid(visit->mending.owners, defn->owner)))
			continue;
		if (defn != NULL)
			other = defn->source;
		visit->tasks.families = foreach_delete_current(visit->tasks.families, lc);
	}
	if (visit->tasks.families != NIL || visit->mending.boards != NIL ||
		visit->mending.owners != NIL || superuser())
		return;
	if (OidIsValid(other))
		lb_require_owner(other);
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("must be superuser where there is no family \"*\"")));
}

Datum
lb_maintain(PG_FUNCTION_ARGS)
{
	LbVisit		visit = {
		.context = CurrentMemoryContext,
		.max_rows = PG_GETARG_INT32(0)
	};
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};
	TupleDesc	desc;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_maintain()");
	if (PG_ARGISNULL(0))
		lb_null_argument("max_rows");
	lb_require_at_least("max_rows", PG_GETARG_INT32(0), 1, NULL);

	/* Final standings are those after the last writer. */
	lb_require_read_committed("lb_maintain()");
	if (lb_distributed != NULL)
		lb_distributed->leave_to_owners(&visit);
	list_own(&visit);
	SPI_connect();
	maintain(&visit);
	SPI_finish();
	values[0] = Int64GetDatum(visit.done.closed);
	values[1] = Int64GetDatum(visit.done.archived);
	values[2] = Int64GetDatum(visit.done.removed);
	values[3] = BoolGetDatum(visit.done.more);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}
