/*-------------------------------------------------------------------------
 *
 * notify.c
 *	  Notifying of what is watched: lb_notify() and its worker.
 *
 * lb_notify() compares what is watched with what it was at the last time,
 * sends the differences, and records the new state in the same transaction.
 * So nothing is lost when a worker ends.  If another transaction has locked or
 * changed a row of lb_watched since the round has read it, the round leaves it
 * out (UPDATE_WATCH): that transaction has sent the change, or lb_watch() has
 * recorded a newer state.  An error that keeps a board from being compared is
 * recorded as well, and logged once.  The worker does what lb_notify() does,
 * at every leaderboard.notify_interval, for as long as the database has
 * watches.
 *
 * NOTIFY takes a lock at commit that is shared by all transactions that
 * notify.  That is why the transactions that write scores do not.
 *
 * The server has one queue for all notifications.  A session that listens and
 * stays in a transaction keeps it from shrinking, and when it is full each
 * commit that notifies fails.  So a round sends nothing while the queue is
 * half full, and the other half is for the users' own notifications.  The
 * round after that sends what has changed in the end.
 *
 * A round reads all watched members of a board at once.  Boards are read in
 * one subtransaction as long as none fails.  If one fails, the boards are
 * split in two, each half in a subtransaction of its own, until the board that
 * fails is alone: a round without errors costs one subtransaction.
 *
 * Each round checks again whether the role that watches owns the board's table
 * and may read it.  If it may not, the watch is not notified.  A board is read
 * with the rights of its table's owner, since a defining query can run
 * functions that the owner has made.
 *
 * COMMIT PREPARED runs no callback of ours.  So the worker stays while a
 * transaction, prepared ones included, holds a lock to write to lb_watched:
 * its rows may become visible at any time.  It leaves if a round finds no
 * watches.  Between rounds it looks twice a second whether another session
 * needs the database without connections.  If a build finds no free background
 * worker, the launcher terminates a notifier.  The launcher starts it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "boards/definition.h"
#include "boards/directory.h"
#include "boards/shared.h"
#include "reads/access.h"
#include "reads/json.h"
#include "sql/spi.h"
#include "util/pause.h"
#include "util/subxact.h"
#include "util/same.h"
#include "util/wait_event.h"
#include "watch/notify.h"
#include "watch/watch.h"
#include "workers/worker.h"

PG_FUNCTION_INFO_V1(lb_notify);

/* The most bytes of a payload; NOTIFY takes less than 8000. */
#define MAX_PAYLOAD 7900

/* How long the worker waits for a lock at most, in milliseconds. */
#define LOCK_TIMEOUT 100

/* The share of NOTIFY's queue that may be in use when we add to it. */
#ifndef LB_NOTIFY_QUEUE_SHARE
#define LB_NOTIFY_QUEUE_SHARE 0.5
#endif

/* Seconds between two warnings that it is. */
#define WARN_AGAIN 3600

int			lb_notify_interval = 1000;

/* A row of lb_watched. */
typedef struct Watch
{
	ItemPointerData tid;
	char	   *board;
	char	   *member;			/* whose rank is watched; NULL: the first
								 * places */
	int			top;
	int32		board_id;
	char	   *watcher;
	LbPlaces	last;
	char	   *problem;		/* NULL if none */
} Watch;


/* ----------------------------------------------------------------
 *		States
 * ----------------------------------------------------------------
 */

/*
 * The reverse of lb_arg_places().  A shorter array lacks values.
 */
static void
places_of_arrays(LbPlaces *state, const Datum *arrays)
{
	Datum	   *values[3];
	bool	   *nulls[3];
	int			n[3];

	deconstruct_array(DatumGetArrayTypeP(arrays[0]), TEXTOID, -1, false,
					  TYPALIGN_INT, &values[0], &nulls[0], &n[0]);
	deconstruct_array(DatumGetArrayTypeP(arrays[1]), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values[1], &nulls[1],
					  &n[1]);
	deconstruct_array(DatumGetArrayTypeP(arrays[2]), TEXTOID, -1, false,
					  TYPALIGN_INT, &values[2], &nulls[2], &n[2]);
	state->n = Max(n[0], Max(n[1], n[2]));
	state->rows = palloc0(Max(1, state->n) * sizeof(LbRow));
	for (int i = 0; i < state->n; i++)
	{
		LbRow	   *row = &state->rows[i];

		if (i < n[0] && !nulls[0][i])
			row->member = TextDatumGetCString(values[0][i]);
		if (i < n[1] && !nulls[1][i])
			row->rank = DatumGetInt64(values[1][i]);
		if (i < n[2] && !nulls[2][i])
			row->score = TextDatumGetCString(values[2][i]);
	}
}

static bool
same_place(const LbRow *a, const LbRow *b)
{
	return a->rank == b->rank && lb_same_string(a->member, b->member) &&
		lb_same_string(a->score, b->score);
}

static bool
same_state(const LbPlaces *a, const LbPlaces *b)
{
	if (a->n != b->n || strcmp(a->key, b->key) != 0)
		return false;
	for (int i = 0; i < a->n; i++)
	{
		if (!same_place(&a->rows[i], &b->rows[i]))
			return false;
	}
	return true;
}


/* ----------------------------------------------------------------
 *		A round
 * ----------------------------------------------------------------
 */

/* A round under way. */
typedef struct Round
{
	Watch	   *watches;
	int			n;
	int64		sent;
	MemoryContext context;		/* of the board that is compared */
	char		as_of[MAXDATELEN + 1];
} Round;

/* Read all watches; boards of one definition come one after the other. */
static void
read_watches(Round *round)
{
	static LbPlan plan;
	SPITupleTable *table;

	round->n = (int) lb_own_exec(&plan,
								 "SELECT w.ctid, w.board, w.member, w.top, w.board_id, w.watcher, w.last_key, "
								 "w.last_members, w.last_ranks, w.last_scores, w.problem FROM @.lb_watched AS w "
								 "ORDER BY w.board_id, w.board, w.member NULLS FIRST",
								 LB_NO_ARGS);
	table = SPI_tuptable;
	round->watches = MemoryContextAllocHuge(CurrentMemoryContext,
											Max(1, round->n) * sizeof(Watch));
	for (int i = 0; i < round->n; i++)
	{
		Watch	   *w = &round->watches[i];
		Datum		values[11];
		bool		nulls[11];

		CHECK_FOR_INTERRUPTS();
		Assert(table->tupdesc->natts == lengthof(values));
		heap_deform_tuple(table->vals[i], table->tupdesc, values, nulls);
		ItemPointerCopy((ItemPointer) DatumGetPointer(values[0]), &w->tid);
		w->board = TextDatumGetCString(values[1]);
		w->member = nulls[2] ? NULL : TextDatumGetCString(values[2]);
		w->top = nulls[3] ? 0 : DatumGetInt32(values[3]);
		w->board_id = DatumGetInt32(values[4]);
		w->watcher = pstrdup(NameStr(*DatumGetName(values[5])));
		w->last.key = TextDatumGetCString(values[6]);
		places_of_arrays(&w->last, values + 7);
		w->problem = nulls[10] ? NULL : TextDatumGetCString(values[10]);
	}
	SPI_freetuptable(table);
}

/*
 * Write to the row of a watch, unless another transaction has locked it, or
 * has written to it since it was read: that is another round, which has sent
 * the change, or lb_watch(), which has recorded a newer state.  Returns
 * whether it was written.
 */
#define UPDATE_WATCH(set) \
	"UPDATE @.lb_watched AS w SET " set " " \
	"WHERE w.ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT v.ctid FROM @.lb_watched AS v " \
	"WHERE v.ctid OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE SKIP LOCKED))"

static bool
write_state(const Watch *w, const LbPlaces *now)
{
	static LbPlan plan;

	return lb_own_exec(&plan,
					   UPDATE_WATCH("last_key = $2, last_members = $3, last_ranks = $4, last_scores = $5, problem = NULL"),
					   LB_ARGS(lb_arg(TIDOID, PointerGetDatum(&w->tid)), lb_arg_text(now->key),
							   lb_arg_places(now, 0), lb_arg_places(now, 1),
							   lb_arg_places(now, 2))) > 0;
}

/* Record why some watches of a board are not notified, and log it once. */
static void
write_problem(const Watch *watches, int n, const char *problem)
{
	static LbPlan plan;
	const char *board = watches[0].board;
	bool		written = false;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (watches[i].problem != NULL &&
			strcmp(watches[i].problem, problem) == 0)
			continue;
		written |= lb_own_exec(&plan, UPDATE_WATCH("problem = $2"),
							   LB_ARGS(lb_arg(TIDOID, PointerGetDatum(&watches[i].tid)), lb_arg_text(problem))) > 0;
	}
	if (written)
		ereport(WARNING,
				(errmsg("could not notify of board \"%s\": %s",
						pnstrdup(board, pg_mbcharcliplen(board, strlen(board), 100)),
						problem)));
}

/*
 * The right that a role has lost since it has begun to watch a board, as the
 * reason why it is not notified; or NULL.
 */
static const char *
missing_right(LbDefinition *defn, const char *watcher)
{
	Oid			role = get_role_oid(watcher, true);
	Oid			save_user;
	int			save_context;
	bool		may_read;

	if (!OidIsValid(role))
		return psprintf("role \"%s\" does not exist", watcher);
	if (!pg_class_ownercheck(defn->source, role))
		return psprintf("role \"%s\" is not the owner of table \"%s\"", watcher,
						get_rel_name(defn->source));
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(role, save_context | SECURITY_RESTRICTED_OPERATION);
	may_read = lb_may_read(defn) &&
		check_enable_rls(defn->source, role, true) != RLS_ENABLED;
	SetUserIdAndSecContext(save_user, save_context);
	return may_read ? NULL :
		psprintf("role \"%s\" may not read all of table \"%s\"", watcher,
				 get_rel_name(defn->source));
}

static void
append_rank(StringInfo buf, int64 rank)
{
	if (rank != 0)
		appendStringInfo(buf, INT64_FORMAT, rank);
	else
		appendStringInfoString(buf, "null");
}

static void
append_member(StringInfo buf, const LbDefinition *defn, const char *member)
{
	if (member != NULL)
		lb_append_member_json(buf, defn, member);
	else
		appendStringInfoString(buf, "null");
}

static void
append_score(StringInfo buf, const LbDefinition *defn, const char *score)
{
	if (score != NULL)
		lb_append_score_json(buf, defn, score);
	else
		appendStringInfoString(buf, "null");
}

static const LbRow no_place = {0, NULL, NULL};

/* The end of the payload for a member; false if there is nothing to send. */
static bool
append_member_change(StringInfo buf, const LbDefinition *defn, const Watch *w,
					 const LbRow *is)
{
	const LbRow *was = w->last.n > 0 ? &w->last.rows[0] : &no_place;

	if (was->rank == is->rank)
		return false;
	appendStringInfoString(buf, "\"player_id\": ");
	append_member(buf, defn, w->member);
	appendStringInfoString(buf, ", \"old\": ");
	append_rank(buf, was->rank);
	appendStringInfoString(buf, ", \"new\": ");
	append_rank(buf, is->rank);
	appendStringInfoString(buf, ", \"score\": ");
	append_score(buf, defn, is->score);
	appendStringInfoChar(buf, '}');
	return true;
}

/* The same for the first places of a board. */
static bool
append_places_change(StringInfo buf, const LbDefinition *defn,
					 const LbPlaces *last, const LbPlaces *now)
{
	bool		any = false;
	bool		more = false;

	appendStringInfoString(buf, "\"places\": [");
	for (int i = 0; i < Max(now->n, last->n) && !more; i++)
	{
		const LbRow *was = i < last->n ? &last->rows[i] : &no_place;
		const LbRow *is = i < now->n ? &now->rows[i] : &no_place;
		int			before = buf->len;

		if (same_place(was, is))
			continue;
		appendStringInfo(buf, "%s{\"place\": %d, \"rank\": ", any ? ", " : "",
						 i + 1);
		append_rank(buf, is->rank);
		appendStringInfoString(buf, ", \"player_id\": ");
		append_member(buf, defn, is->member);
		appendStringInfoString(buf, ", \"score\": ");
		append_score(buf, defn, is->score);
		appendStringInfoChar(buf, '}');
		more = buf->len > MAX_PAYLOAD;
		if (more)
		{
			buf->len = before;
			buf->data[before] = '\0';
		}
		else
			any = true;
	}
	appendStringInfo(buf, "], \"more\": %s}", more ? "true" : "false");

	/* Otherwise only the key has changed, and both windows are empty. */
	return any || more;
}

/* The payload for a watch, or NULL if there is nothing to send. */
static char *
make_payload(const Round *round, const LbDefinition *defn, const Watch *w,
			 const LbPlaces *now)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "{\"board\": ");
	escape_json(&buf, w->board);
	appendStringInfoString(&buf, ", \"key\": ");
	escape_json(&buf, now->key);
	appendStringInfo(&buf, ", \"as_of\": \"%s\", ", round->as_of);
	return (w->member != NULL ?
			append_member_change(&buf, defn, w, &now->rows[0]) :
			append_places_change(&buf, defn, &w->last, now)) ? buf.data : NULL;
}

/* Compare a watch with what it is now: record that, and notify it. */
static void
compare(Round *round, const LbDefinition *defn, const Watch *w,
		const LbPlaces *now)
{
	char	   *payload;

	if (w->problem == NULL && same_state(now, &w->last))
		return;
	payload = make_payload(round, defn, w, now);
	if (!write_state(w, now) || payload == NULL)
		return;
	Async_Notify("leaderboard", payload);
	round->sent++;
}

/* Compare the watches of one board. */
static void
compare_board(Round *round, const Watch *watches, int n)
{
	LbDefinition *defn;
	const char *problem = NULL;
	const Watch **seen = palloc(n * sizeof(Watch *));
	char	  **members = palloc(n * sizeof(char *));
	LbPlaces	now;
	Oid			owner;
	int			nseen = 0;
	int			nmembers = 0;
	LbRow	   *rows;

	defn = lb_find_watched(watches[0].board, &now.key);
	if (defn->id != watches[0].board_id)
	{
		write_problem(watches, n, "another board has this name now");
		return;
	}
	for (int i = 0; i < n; i++)
	{
		const Watch *w = &watches[i];

		CHECK_FOR_INTERRUPTS();
		if (i == 0 || strcmp(w->watcher, watches[i - 1].watcher) != 0)
			problem = missing_right(defn, w->watcher);
		if (problem == NULL)
			seen[nseen++] = w;
		else
			write_problem(w, 1, problem);
	}
	owner = defn->owner;
	for (int i = 0; i < nseen; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (seen[i]->member != NULL)
		{
			members[nmembers++] = seen[i]->member;
			continue;
		}
		now.n = lb_read_places(owner, now.key, seen[i]->top, NULL, 0,
							   &now.rows);
		compare(round, defn, seen[i], &now);
	}
	if (nmembers == 0)
		return;
	(void) lb_read_places(owner, now.key, 0, members, nmembers, &rows);
	nmembers = 0;
	for (int i = 0; i < nseen; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (seen[i]->member == NULL)
			continue;
		now.n = 1;
		now.rows = &rows[nmembers++];
		compare(round, defn, seen[i], &now);
	}
}

/*
 * The end of the watches that are of the board, or definition, of the first.
 */
static int
end_of_board(const Watch *watches, int from, int to)
{
	int			i = from;

	while (i < to && watches[i].board_id == watches[from].board_id &&
		   strcmp(watches[i].board, watches[from].board) == 0)
		i++;
	return i;
}

static int
end_of_definition(const Watch *watches, int from, int to)
{
	int			i = from;

	while (i < to && watches[i].board_id == watches[from].board_id)
		i++;
	return i;
}

/*
 * Where to split several watches: near the middle, and between two definitions
 * if there are several, or else between two boards.
 */
static int
split(const Watch *watches, int from, int to)
{
	int			(*end) (const Watch *, int, int) =
		end_of_definition(watches, from, to) < to ? end_of_definition :
		end_of_board;
	int			at = end(watches, from, to);

	if (at == to)
		return from + (to - from) / 2;
	for (;;)
	{
		int			next = end(watches, at, to);

		if (next >= to || next - from > (to - from) / 2)
			return at;
		at = next;
	}
}

/*
 * Whether an error only says that a board is gone, locked, or not ready.  A
 * later round tries again.
 */
static bool
is_passing(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_UNDEFINED_OBJECT ||
		sqlerrcode == ERRCODE_UNDEFINED_TABLE ||
		sqlerrcode == ERRCODE_WRONG_OBJECT_TYPE ||
		sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
}

/*
 * Whether an error can be that of a single watch: its member may be no value
 * of the type that the column has now.
 */
static bool
is_of_member(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_DATA_EXCEPTION;
}

/* Watches of a round: those from number from on and before to. */
typedef struct Part
{
	Round	   *round;
	int			from;
	int			to;
} Part;

/* Called by lb_try(). */
static void
compare_part(void *arg)
{
	const Part *part = arg;
	Round	   *round = part->round;

	for (int i = part->from; i < part->to;)
	{
		int			end = end_of_board(round->watches, i, part->to);

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(round->context);
		MemoryContextSwitchTo(round->context);
		compare_board(round, &round->watches[i], end - i);
		i = end;
	}
}

/* Returns the error that has undone what was compared, or NULL. */
static ErrorData *
try_boards(Round *round, int from, int to)
{
	int64		sent = round->sent;
	Part		part = {round, from, to};
	ErrorData  *error = lb_try(compare_part, &part);

	if (error == NULL)
		return NULL;
	round->sent = sent;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	return error;
}

/*
 * Compare watches, and if that fails each half of them.  A lock that is not
 * granted and an index that is not ready concern a whole definition, so its
 * other boards wait for the next round as well.
 */
static void
compare_boards(Round *round, int from, int to)
{
	ErrorData  *error;
	bool		one_definition;

	check_stack_depth();
	if (from == to || (error = try_boards(round, from, to)) == NULL)
		return;

	/*
	 * A round waits for one lock only, since other sessions may be waiting
	 * for the locks that this transaction holds.
	 */
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		lb_set_locally("lock_timeout", "1ms");
	one_definition = end_of_definition(round->watches, from, to) == to;
	if (one_definition &&
		(error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		 error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE))
		 /* in the next round */ ;
	else if (to - from > 1 &&
			 (end_of_board(round->watches, from, to) < to ||
			  is_of_member(error->sqlerrcode)))
	{
		int			middle = split(round->watches, from, to);

		compare_boards(round, from, middle);
		compare_boards(round, middle, to);
	}
	else if (!is_passing(error->sqlerrcode))
		write_problem(&round->watches[from], to - from, error->message);
	FreeErrorData(error);
}

/* Whether NOTIFY's queue must be left to others.  Warns of it now and then. */
static bool
is_queue_filling(void)
{
	static TimestampTz warned = 0;
	double		usage = DatumGetFloat8(OidFunctionCall0(F_PG_NOTIFICATION_QUEUE_USAGE));
	TimestampTz now;

	if (usage < LB_NOTIFY_QUEUE_SHARE)
		return false;
	now = GetCurrentTimestamp();
	if (warned == 0 || lb_elapsed(warned, now, WARN_AGAIN * 1000))
	{
		warned = now;
		ereport(WARNING,
				(errmsg("changes of what is watched are not notified for now"),
				 errdetail("The queue of NOTIFY is filling up."),
				 errhint("A session that listens does not end its transaction.")));
	}
	return true;
}

/* Compare all that is watched; returns how many notifications were sent. */
static int64
notify_all(void)
{
	Round		round;
	int			nestlevel;

	if (is_queue_filling())
		return 0;
	memset(&round, 0, sizeof(round));
	SPI_connect();
	round.context = AllocSetContextCreate(CurrentMemoryContext,
										  "leaderboard watched board",
										  ALLOCSET_DEFAULT_SIZES);
	nestlevel = lb_begin_reading();
	read_watches(&round);
	lb_pause("watches");
	JsonEncodeDateTime(round.as_of,
					   TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()),
					   TIMESTAMPTZOID, NULL);

	/* A snapshot that is newer than the states to compare with. */
	PushActiveSnapshot(GetTransactionSnapshot());
	compare_boards(&round, 0, round.n);
	PopActiveSnapshot();
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	return round.sent;
}

Datum
lb_notify(PG_FUNCTION_ARGS)
{
	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_notify()");
	PG_RETURN_INT64(notify_all());
}


/* ----------------------------------------------------------------
 *		The worker
 * ----------------------------------------------------------------
 */

/* Send what has changed.  Returns whether there are watches. */
static bool
notify_round(void)
{
	bool		any;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	any = lb_has_watches();
	if (any)
	{
		pgstat_report_activity(STATE_RUNNING, "comparing what is watched");
		PushActiveSnapshot(GetTransactionSnapshot());
		(void) notify_all();
		PopActiveSnapshot();
	}
	lb_pause("notified");
	CommitTransactionCommand();
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
	return any;
}

/* In a worker's transaction: enter this database, if it has watches. */
static void
enter_here(void)
{
	if (lb_has_watches())
		lb_watch_enter(MyDatabaseId);
}

static const LbWorkerKind notifier_kind = {
	.type = "leaderboard notifier",
	.function = "lb_watch_main",
	.databases = lb_watch_list,
	.visit = enter_here
};

void
lb_notify_init(void)
{
	DefineCustomIntVariable("leaderboard.notify_interval",
							"Sets the time between two notifications of what is watched.",
							NULL,
							&lb_notify_interval,
							1000, 10, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	lb_register_worker(&notifier_kind);
}

/*
 * A worker that fails, or is terminated, may have forgotten a database that
 * has watches by then.  The next worker looks.
 */
static void
notifier_exit(int code, Datum database)
{
	if (code != 0)
		lb_watch_enter(DatumGetObjectId(database));
}

/*
 * Whether another launcher has come.  It does not know this worker, and starts
 * one of its own.
 */
static bool
launcher_is_another(void)
{
	uint32		launcher = pg_atomic_read_u32(&lb_shared->launcher_pid);

	return launcher != 0 && launcher != (uint32) MyBgworkerEntry->bgw_notify_pid;
}

void
lb_watch_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();

	/*
	 * If a table is locked, its boards wait for a later round, and the other
	 * boards do not.
	 */
	lb_worker_connect(database, LOCK_TIMEOUT);
	before_shmem_exit(notifier_exit, arg);
	lb_pause_settings();
	pgstat_report_appname("leaderboard notifier");

	/* A board without an index waits for the round after its build. */
	SetConfigOption("leaderboard.not_ready", "error", PGC_USERSET,
					PGC_S_OVERRIDE);
	SetConfigOption("leaderboard.offline", "error", PGC_USERSET,
					PGC_S_OVERRIDE);
	lb_offline_for_all = true;
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
			/*
			 * A transaction that commits a watch from here on enters it
			 * again.
			 */
			lb_pause("forget");
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
			if (lb_must_yield() || launcher_is_another())
				return;
			if (lb_elapsed(begun, now, lb_notify_interval))
				break;
			left = lb_notify_interval -
				TimestampDifferenceMilliseconds(begun, now);
			(void) WaitLatch(MyLatch,
							 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 Max(1, Min(left, 500)), lb_wait_event(LB_WAIT_EVENT_NOTIFIER_MAIN));
			ResetLatch(MyLatch);
		}
	}
}
