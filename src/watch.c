/*-------------------------------------------------------------------------
 *
 * watch.c
 *	  Notification of boards and members that somebody watches.
 *
 * NOTIFY takes a lock at commit that all who notify share, so it is not for
 * those who write scores.  A worker does it, for as long as a database has
 * something in lb_watched: at every leaderboard.notify_interval it runs
 * lb_notify(), which compares what is watched with what it was at the last
 * time, sends what is different, and records it in the same transaction.  So
 * nothing is lost when a worker ends, and writers pay nothing at all.  What
 * cannot be compared, for whatever error, is recorded as well and told once.
 *
 * The launcher keeps a worker for each database that is listed in shared
 * memory.  A database is entered when a transaction commits or is prepared that
 * has written to lb_watched, and by the first worker that visits it after a
 * start.  The worker of a database where nobody watches any more leaves.  It
 * leaves as well when somebody wants the database to itself, and is started
 * again later.
 *
 * COMMIT PREPARED runs no callback of ours, so the worker stays while somebody
 * has a lock to write to lb_watched, prepared transactions included: what he
 * has written may become visible at any time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "build.h"
#include "own.h"
#include "watch.h"
#include "window.h"

PG_FUNCTION_INFO_V1(lb_watch_changed);
PG_FUNCTION_INFO_V1(lb_board_key);
PG_FUNCTION_INFO_V1(lb_watch);
PG_FUNCTION_INFO_V1(lb_unwatch);
PG_FUNCTION_INFO_V1(lb_watch_member);
PG_FUNCTION_INFO_V1(lb_unwatch_member);

/* The most places that are watched. */
#define MAX_TOP 1000

/*
 * The longest name in JSON, in bytes.  A payload has it twice, where its key is
 * not shorter, and must have room for a few places as well.
 */
#define MAX_JSON_NAME 3500

/* How long the worker waits for a lock at most, in milliseconds. */
#define LOCK_TIMEOUT 100

int			lb_notify_interval = 1000;

/* The transaction has written to lb_watched. */
static bool changed_here = false;


/* ----------------------------------------------------------------
 *		The list of databases
 * ----------------------------------------------------------------
 */

void
lb_watch_enter(Oid database)
{
	bool		found = false;

	SpinLockAcquire(&lb_shared->watch_mutex);
	for (int i = 0; i < lb_shared->nwatching && !found; i++)
		found = lb_shared->watching[i] == database;
	if (!found && lb_shared->nwatching < LB_MAX_DATABASES)
		lb_shared->watching[lb_shared->nwatching++] = database;
	SpinLockRelease(&lb_shared->watch_mutex);
	if (!found)
		lb_wake_launcher();
}

void
lb_watch_forget(Oid database)
{
	SpinLockAcquire(&lb_shared->watch_mutex);
	for (int i = 0; i < lb_shared->nwatching; i++)
	{
		if (lb_shared->watching[i] != database)
			continue;
		lb_shared->watching[i] = lb_shared->watching[--lb_shared->nwatching];
		break;
	}
	SpinLockRelease(&lb_shared->watch_mutex);
}

int
lb_watch_list(Oid *databases, int max)
{
	int			n;

	SpinLockAcquire(&lb_shared->watch_mutex);
	n = Min(max, lb_shared->nwatching);
	memcpy(databases, lb_shared->watching, n * sizeof(Oid));
	SpinLockRelease(&lb_shared->watch_mutex);
	return n;
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			if (changed_here)
				lb_watch_enter(MyDatabaseId);
			changed_here = false;
			break;
		case XACT_EVENT_ABORT:
			changed_here = false;
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			break;
	}
}

/* Trigger on lb_watched. */
Datum
lb_watch_changed(PG_FUNCTION_ARGS)
{
	static bool registered = false;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"lb_watch_changed")));
	if (lb_shared == NULL)
		PG_RETURN_POINTER(NULL);
	if (!registered)
		RegisterXactCallback(xact_callback, NULL);
	registered = true;
	changed_here = true;
	PG_RETURN_POINTER(NULL);
}


/* ----------------------------------------------------------------
 *		SQL functions
 * ----------------------------------------------------------------
 */

/* What a board's name means now: of a window's name its key. */
Datum
lb_board_key(PG_FUNCTION_ARGS)
{
	text	   *name;
	LbTarget	target;
	char	   *key = NULL;
	int			keylen;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	name = PG_GETARG_TEXT_PP(0);
	lb_find_target(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &target);
	if (target.has_value &&
		memchr(VARDATA_ANY(name), ':', VARSIZE_ANY_EXHDR(name)) == NULL)
		key = lb_window_alias(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name),
							  &keylen);
	if (key == NULL)
		PG_RETURN_TEXT_P(name);
	PG_RETURN_TEXT_P(cstring_to_text(key));
}

/*
 * What is notified can be heard by everybody in the database, so it is the
 * owner of the table who has a board watched.
 */
static void
require_watch(const char *board)
{
	LbTarget	target;

	lb_find_target(board, strlen(board), &target);
	if (target.defn->family && !target.has_value)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", board),
				 errhint("Name one of its boards, as in \"%s:value\".", board)));
	lb_require_owner(target.defn->source);
}

static void
require_short_name(const char *board)
{
	StringInfoData buf;

	initStringInfo(&buf);
	escape_json(&buf, board);
	if (buf.len > MAX_JSON_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("board name is too long to be watched"),
				 errdetail("A notification has it in JSON, as %d bytes; the most is %d.",
						   buf.len, MAX_JSON_NAME)));
	pfree(buf.data);
}

static const Oid watch_types[] = {TEXTOID, INT8OID, INT4OID};

/* What a row of lb_watched is told by, as its unique indexes have it. */
#define WATCH(key) \
	"INSERT INTO @.lb_watched (board, member, top, last_key, last_members, last_ranks, last_scores) " \
	"SELECT $1, $2, $3, s.key, s.members, s.ranks, s.scores " \
	"FROM @.lb_watch_state($1, $2, $3) s ON CONFLICT " key " " \
	"DO UPDATE SET top = excluded.top, last_key = excluded.last_key, " \
	"last_members = excluded.last_members, last_ranks = excluded.last_ranks, " \
	"last_scores = excluded.last_scores, problem = NULL"

/* Watch from what there is now on. */
static void
watch(Datum *values, const char *nulls)
{
	static LbPlan plans[2];

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (nulls[1] == 'n')
		(void) lb_own_run(&plans[0], WATCH("(board) WHERE member IS NULL"),
						  3, watch_types, values, nulls);
	else
		(void) lb_own_run(&plans[1],
						  WATCH("(board, member) WHERE member IS NOT NULL"),
						  3, watch_types, values, nulls);
	SPI_finish();
}

Datum
lb_watch(PG_FUNCTION_ARGS)
{
	Datum		values[3];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_watch()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	if (PG_ARGISNULL(1))
		lb_null_argument("top");
	if (PG_GETARG_INT32(1) < 1 || PG_GETARG_INT32(1) > MAX_TOP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "top",
						PG_GETARG_INT32(1)),
				 errhint("\"%s\" must be from 1 to %d.", "top", MAX_TOP)));
	require_watch(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	require_short_name(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	values[0] = PG_GETARG_DATUM(0);
	values[1] = (Datum) 0;
	values[2] = PG_GETARG_DATUM(1);
	watch(values, " n ");
	PG_RETURN_VOID();
}

Datum
lb_watch_member(PG_FUNCTION_ARGS)
{
	Datum		values[3];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_watch_member()");
	if (PG_ARGISNULL(0))
		lb_null_argument("member");
	if (PG_ARGISNULL(1))
		lb_null_argument("board");
	require_watch(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	require_short_name(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	values[0] = PG_GETARG_DATUM(1);
	values[1] = PG_GETARG_DATUM(0);
	values[2] = (Datum) 0;
	watch(values, "  n");
	PG_RETURN_VOID();
}

/*
 * Forget a watch; member is null for a board's first places.  A board that is
 * gone can be no longer watched by a superuser.
 */
static bool
end_watch(Datum *values, const char *nulls)
{
	static LbPlan plan;
	uint64		n;

	if (!superuser())
		require_watch(TextDatumGetCString(values[0]));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	n = lb_own_run(&plan,
				   "DELETE FROM @.lb_watched w WHERE w.board OPERATOR(pg_catalog.=) $1 "
				   "AND CASE WHEN $2 IS NULL THEN w.member IS NULL "
				   "ELSE w.member OPERATOR(pg_catalog.=) $2 END",
				   2, watch_types, values, nulls);
	SPI_finish();
	return n > 0;
}

Datum
lb_unwatch(PG_FUNCTION_ARGS)
{
	Datum		values[2];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_unwatch()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	values[0] = PG_GETARG_DATUM(0);
	values[1] = (Datum) 0;
	PG_RETURN_BOOL(end_watch(values, " n"));
}

Datum
lb_unwatch_member(PG_FUNCTION_ARGS)
{
	Datum		values[2];

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_unwatch_member()");
	if (PG_ARGISNULL(0))
		lb_null_argument("member");
	if (PG_ARGISNULL(1))
		lb_null_argument("board");
	values[0] = PG_GETARG_DATUM(1);
	values[1] = PG_GETARG_DATUM(0);
	PG_RETURN_BOOL(end_watch(values, NULL));
}


/* ----------------------------------------------------------------
 *		Worker
 * ----------------------------------------------------------------
 */

/*
 * Whether there are watches, or may be when a transaction that is open has
 * committed.  Takes its own snapshots.
 */
static bool
anybody_watches(void)
{
	const LbCatalog *cat = lb_catalog();
	Oid			relid;
	LOCKTAG		tag;
	int			writers;
	uint64		n;

	if (cat == NULL || !cat->version_ok || RecoveryInProgress())
		return false;
	relid = get_relname_relid("lb_watched", cat->schema);
	if (!OidIsValid(relid))
		return false;

	/* First: who has no lock any more is visible. */
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	(void) GetLockConflicts(&tag, ShareLock, &writers);
	if (writers > 0)
		return true;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	n = lb_own_run_once("SELECT FROM @.lb_watched LIMIT 1", 0, NULL, NULL);
	SPI_finish();
	PopActiveSnapshot();
	return n > 0;
}

void
lb_watch_look(void)
{
	if (anybody_watches())
		lb_watch_enter(MyDatabaseId);
}

/* Send what has changed.  Returns whether anybody watches. */
static bool
notify_round(void)
{
	static LbPlan plan;
	bool		any;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	any = anybody_watches();
	if (any)
	{
		pgstat_report_activity(STATE_RUNNING, "comparing what is watched");
		PushActiveSnapshot(GetTransactionSnapshot());
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		(void) lb_own_run(&plan, "SELECT @.lb_notify()", 0, NULL, NULL, NULL);
		SPI_finish();
		PopActiveSnapshot();
	}
	CommitTransactionCommand();
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
	return any;
}

void
lb_watch_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	lb_worker_settings();
	pgstat_report_appname("leaderboard notifier");

	/*
	 * A table that is locked is looked at later: others are watched as well.
	 * Nor is anybody to become the victim of a deadlock with us.
	 */
	SetConfigOption("lock_timeout",
					psprintf("%d", lb_lock_timeout(LOCK_TIMEOUT)),
					PGC_USERSET, PGC_S_OVERRIDE);

	/* A board that has no index now is looked at when it has one. */
	SetConfigOption("leaderboard.not_ready", "error", PGC_USERSET,
					PGC_S_OVERRIDE);
	SetConfigOption("leaderboard.offline", "error", PGC_USERSET,
					PGC_S_OVERRIDE);
	for (;;)
	{
		TimestampTz begun;

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		begun = GetCurrentTimestamp();
		if (!notify_round())
		{
			/* Whoever commits from here on enters the database again. */
			lb_watch_forget(database);
			if (!notify_round())
				break;
			lb_watch_enter(database);
		}
		for (;;)
		{
			TimestampTz now = GetCurrentTimestamp();
			long		left;

			CHECK_FOR_INTERRUPTS();
			if (lb_must_give_way())
				return;
			if (lb_have_passed(begun, now, lb_notify_interval))
				break;
			left = lb_notify_interval -
				TimestampDifferenceMilliseconds(begun, now);
			(void) WaitLatch(MyLatch,
							 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 Max(1, Min(left, 500)), PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
	}
}
