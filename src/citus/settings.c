/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  What is recorded of a leaderboard, on all servers of its distributed
 *	  tables.
 *
 * A submit is written by the server of the player's shard, which looks up
 * windows and limits itself; and any server that runs Citus's queries can be
 * called.  So the leaderboard's operation, its windows and its limits are
 * recorded on all of them, by the same names.  The coordinator is where they
 * are changed: it writes its own tables first, and then has the other servers
 * make theirs the same (command.c).  The maintenance worker repeats that for
 * servers that were added or restored.
 *
 * Windows are closed on the other servers first.  A server that has entered a
 * key in its lb_closed writes to the window no more, and the submits that did
 * have ended.  Then the coordinator reads the final standings of all shards,
 * and enters the key in its own lb_closed.  If that transaction fails, the
 * next visit of the worker does it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/board_value.h"
#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/resolve.h"
#include "boards/target.h"
#include "citus/command.h"
#include "citus/layout.h"
#include "citus/settings.h"
#include "citus/shard.h"
#include "leaderboards/calendar.h"
#include "leaderboards/closed.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/window_name.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "windows/visit.h"

/* Windows that are closed by one call: each is a lock. */
#define MAX_CLOSED_AT_ONCE 100

PG_FUNCTION_INFO_V1(lb_shard_windows);
PG_FUNCTION_INFO_V1(lb_record_settings);
PG_FUNCTION_INFO_V1(lb_record_closed);

/* The family of the windows of a leaderboard, which need not be recorded. */
static char *
family_name(const char *leaderboard)
{
	return strcmp(leaderboard, LB_GLOBAL) == 0 ? pstrdup("*") :
		psprintf("%s/", leaderboard);
}

/*
 * The first column of the row that SPI has just returned, palloc'd by the
 * caller.
 */
static char *
text_of_result(MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	char	   *result = lb_row_text(SPI_tuptable, 0, 1);

	MemoryContextSwitchTo(old);
	SPI_freetuptable(SPI_tuptable);
	return result;
}


/* ----------------------------------------------------------------
 *		Sending them
 * ----------------------------------------------------------------
 */

void
lb_lock_settings(const char *leaderboard)
{
	lb_window_lock_name(family_name(leaderboard));
}

void
lb_lock_changed_settings(const char *leaderboard)
{
	const char *const names[] = {leaderboard, family_name(leaderboard)};
	bool		distributed = false;

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		const LbDefinition *defn = lb_find_recorded(names[i]);

		if (defn == NULL || !lb_is_distributed(defn))
			continue;
		if (!lb_serves(defn->source))
			lb_refuse_distributed(defn);
		distributed = true;
	}
	if (!distributed)
		return;
	lb_require_coordinator();
	if (IsTransactionBlock())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("windows and limits of distributed tables cannot be changed in a transaction block"),
				 errdetail("The other servers record them in transactions of their own, which ROLLBACK would not undo."),
				 errhint("Call the function in a statement by itself.")));
	lb_lock_settings(leaderboard);
}

/* What is recorded here, a json object. */
static char *
settings_text(const char *leaderboard)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *result;
	int			nestlevel;

	SPI_connect();
	nestlevel = lb_begin_texts();
	(void) lb_own_exec_latest("SELECT CAST(pg_catalog.jsonb_build_object("
							  "'op', (SELECT b.op FROM @.lb_leaderboard AS b WHERE b.name OPERATOR(pg_catalog.=) $1), "
							  "'windows', (SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(w)), '[]') FROM @.lb_window AS w "
							  "WHERE " LB_IN_FAMILY("w.name", "$2") "), "
							  "'limits', (SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(l)), '[]') FROM @.lb_limit AS l "
							  "WHERE l.board OPERATOR(pg_catalog.=) $1 OR " LB_IN_FAMILY("l.board", "$2") ")) AS pg_catalog.text)",
							  LB_ARGS(lb_arg_text(leaderboard), lb_arg_family(family_name(leaderboard))));
	AtEOXact_GUC(true, nestlevel);
	result = text_of_result(context);
	SPI_finish();
	return result;
}

/*
 * What an aggregate makes of the keys c.board of a leaderboard's windows that
 * are closed here.
 */
static char *
closed_keys(const char *leaderboard, const char *aggregate)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *result;

	SPI_connect();
	(void) lb_own_exec_latest(psprintf("SELECT %s FROM @.lb_closed AS c WHERE " LB_IN_FAMILY("c.board", "$1"),
									   aggregate),
							  LB_ARGS(lb_arg_family(family_name(leaderboard))));
	result = text_of_result(context);
	SPI_finish();
	return result;
}

static char *
closed_digest(const char *leaderboard)
{
	return closed_keys(leaderboard,
					   "COALESCE(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.string_agg(c.board, ' ' ORDER BY c.board), 'UTF8')), 'hex'), '')");
}

/* All of them, as the text of an array. */
static char *
closed_text(const char *leaderboard)
{
	return closed_keys(leaderboard,
					   "CAST(COALESCE(pg_catalog.array_agg(c.board), '{}') AS pg_catalog.text)");
}

/* Have the other servers close these keys, or with no_others, only these. */
static void
send_closed(const LbDefinition *defn, const char *leaderboard,
			const char *keys, bool no_others, int elevel)
{
	(void) lb_command_reporting(defn, lb_to_others,
								psprintf("SELECT %s.lb_record_closed(%s, CAST(%s AS pg_catalog.text[]), %s) FROM %s",
										 lb_command_internal_schema(),
										 lb_command_literal(leaderboard),
										 lb_command_literal(keys),
										 no_others ? "true" : "false",
										 lb_command_waits()), elevel);
}

/* For a command: a call that records what is recorded here. */
static char *
settings_call(const char *leaderboard)
{
	return psprintf("%s.lb_record_settings(%s, CAST(%s AS pg_catalog.jsonb))",
					lb_command_internal_schema(), lb_command_literal(leaderboard),
					lb_command_literal(settings_text(leaderboard)));
}

char *
lb_settings_call(const char *board)
{
	bool		windows;
	const LbLeaderboard *found = lb_leaderboard_of_board(board, &windows);
	char	   *leaderboard;

	if (found == NULL)
		return NULL;
	leaderboard = pstrdup(found->name);
	lb_lock_settings(leaderboard);
	return settings_call(leaderboard);
}

/*
 * Have the other servers record what is recorded here, and with closed, the
 * keys that are closed.
 */
static void
send_settings(const LbDefinition *defn, const char *leaderboard, bool closed,
			  int elevel)
{
	List	   *answers = lb_command_reporting(defn, lb_to_others,
											   psprintf("SELECT %s FROM %s",
														settings_call(leaderboard),
														lb_command_waits()),
											   elevel);
	char	   *digest = closed_digest(leaderboard);
	ListCell   *lc;

	foreach(lc, answers)
	{
		const LbShardAnswer *answer = lfirst(lc);

		if (!closed || !answer->success || strcmp(answer->result, digest) == 0)
			continue;
		send_closed(defn, leaderboard, closed_text(leaderboard), true, elevel);
		break;
	}
}

void
lb_send_settings(const char *leaderboard)
{
	const char *const names[] = {leaderboard, family_name(leaderboard)};

	/* What has just been written must be seen. */
	CommandCounterIncrement();
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		const LbDefinition *defn = lb_find_recorded(names[i]);

		if (defn == NULL || !lb_has_distributed_board(defn))
			continue;
		send_settings(defn, leaderboard,
					  lb_find_recorded(names[1]) != NULL, ERROR);
		return;
	}
}

void
lb_mend_settings(const char *board)
{
	bool		windows;
	const LbLeaderboard *found = lb_leaderboard_of_board(board, &windows);
	char	   *leaderboard = found == NULL ? NULL : pstrdup(found->name);
	LbDefinition *defn;
	LbUser		saved;

	if (leaderboard == NULL || !lb_is_coordinator())
		return;
	lb_lock_settings(leaderboard);
	defn = lb_read_defn(board);
	if (defn == NULL || !lb_has_distributed_board(defn))
		return;
	lb_resolve_defn(defn);
	lb_switch_to_owner(&saved, defn->owner, false);
	send_settings(defn, leaderboard, windows, WARNING);
	lb_restore_user(&saved);
}

void
lb_close_on_servers(const LbDefinition *family, const char *key)
{
	Datum		keys[] = {CStringGetTextDatum(key)};
	LbUser		saved;

	lb_switch_to_owner(&saved, family->owner, false);
	send_closed(family, lb_leaderboard_of_window(key)->name,
				OidOutputFunctionCall(F_ARRAY_OUT,
									  lb_make_array(TEXTOID, keys, NULL, 1)),
				false, ERROR);
	lb_restore_user(&saved);
}

bool
lb_keys_of_shards(const LbDefinition *family, List **keys, bool *all)
{
	List	   *answers;
	ListCell   *lc;
	LbUser		saved;

	*keys = NIL;
	*all = false;
	lb_switch_to_owner(&saved, family->owner, false);
	answers = lb_command(family, lb_to_shards,
						 psprintf("SELECT %s.lb_shard_windows(%%2$L)",
								  lb_command_internal_schema()));
	lb_restore_user(&saved);
	foreach(lc, answers)
	{
		const LbShardAnswer *answer = lfirst(lc);
		Datum	   *elements;
		int			n;

		if (answer->success && strcmp(answer->result, "building") == 0)
			return false;
		if (!answer->success || answer->result[0] != '{')
		{
			*all = true;
			continue;
		}
		deconstruct_array(DatumGetArrayTypeP(OidInputFunctionCall(F_ARRAY_IN,
																  answer->result,
																  TEXTOID, -1)),
						  TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, &n);
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			*keys = lappend(*keys, TextDatumGetCString(elements[i]));
		}
	}
	return true;
}

/*
 * The keys of a shard's family that have rows, as the text of an array: those
 * of its boards, and now and then those of rows that are on no board.  Some
 * can be there twice.  "building" while the index is being built.
 */
Datum
lb_shard_windows(PG_FUNCTION_ARGS)
{
	char	   *board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *prefix = psprintf("%s:", board);
	MemoryContext context = CurrentMemoryContext;
	LbTarget	target;
	List	   *boards;
	List	   *rows;
	ListCell   *lc;
	Datum	   *elements;
	int			n = 0;
	Datum		result;

	(void) lb_require_catalog();
	lb_find_target(board, strlen(board), &target);
	lb_require_owner(target.defn->source);
	if (!target.defn->family || !lb_has_text_boards(target.defn))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("board \"%s\" is no family of windows", board)));
	SPI_connect();
	if (!lb_window_keys_here(target.defn, &boards, &rows))
	{
		SPI_finish();
		PG_RETURN_TEXT_P(cstring_to_text("building"));
	}
	elements = palloc((list_length(boards) + list_length(rows) + 1) * sizeof(Datum));
	foreach(lc, boards)
	{
		const char *key = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (strncmp(key, prefix, strlen(prefix)) == 0)
			elements[n++] = CStringGetTextDatum(key + strlen(prefix));
	}
	foreach(lc, rows)
	{
		CHECK_FOR_INTERRUPTS();
		elements[n++] = CStringGetTextDatum((char *) lfirst(lc));
	}
	result = lb_make_array(TEXTOID, elements, NULL, n);
	MemoryContextSwitchTo(context);
	board = OidOutputFunctionCall(F_ARRAY_OUT, result);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text(board));
}


/* ----------------------------------------------------------------
 *		Recording them, on another server
 * ----------------------------------------------------------------
 */

/*
 * Raise unless the boards of a leaderboard that are recorded here are of
 * distributed tables of the caller's, and there is one.
 */
static void
require_recorded(const char *leaderboard)
{
	const char *const names[] = {leaderboard, family_name(leaderboard)};
	bool		found = false;

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		const LbDefinition *defn = lb_read_defn(names[i]);

		/* Citus makes the tables anew on a server that it activates again. */
		if (defn == NULL ||
			!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(defn->source)))
			continue;
		lb_require_owner(defn->source);
		if (!lb_is_distributed_table(defn->source))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("table \"%s\" is not distributed",
							get_rel_name(defn->source)),
					 errhint("Windows and limits are changed by lb_open_window(), lb_set_limit() and their like.")));
		found = true;
	}
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("leaderboard \"%s\" has no board on this server",
						leaderboard),
				 errhint("lb_maintain() on the coordinator records boards on all servers, as the owner of the table.")));
}

/* Raise 22023 if the name of a window, or a key, is another leaderboard's. */
static void
require_of_leaderboard(const char *leaderboard, const char *name)
{
	if (strcmp(lb_leaderboard_of_window(name)->name, leaderboard) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("window \"%s\" is not of leaderboard \"%s\"", name,
						leaderboard)));
}

/* The operation.  That of "global" does not change. */
static void
record_op(const char *leaderboard, Datum settings)
{
	static LbPlan plan;

	if (strcmp(leaderboard, LB_GLOBAL) == 0)
		return;
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_leaderboard AS b (name, op) VALUES ($1, $2 OPERATOR(pg_catalog.->>) 'op') "
					   "ON CONFLICT (name) DO UPDATE SET op = excluded.op WHERE b.op OPERATOR(pg_catalog.<>) excluded.op",
					   LB_ARGS(lb_arg_text(leaderboard), lb_arg(JSONBOID, settings)));
}

#define SENT_WINDOWS \
	"pg_catalog.jsonb_populate_recordset(CAST(NULL AS @.lb_window), $1 OPERATOR(pg_catalog.->) 'windows')"
#define SENT_LIMITS \
	"pg_catalog.jsonb_populate_recordset(CAST(NULL AS @.lb_limit), $1 OPERATOR(pg_catalog.->) 'limits')"

/*
 * Lock the names of the windows that are sent, before the tables:
 * lb_open_window() takes its locks in this order.
 */
static void
lock_windows(Datum settings)
{
	static LbPlan plan;
	uint64		n = lb_own_exec(&plan, "SELECT n.name FROM " SENT_WINDOWS " AS n ORDER BY n.name",
								LB_ARGS(lb_arg(JSONBOID, settings)));
	SPITupleTable *rows = SPI_tuptable;

	for (uint64 i = 0; i < n; i++)
	{
		char	   *name = lb_row_text(rows, i, 1);

		CHECK_FOR_INTERRUPTS();
		if (name == NULL)
			lb_null_argument("name");
		lb_window_lock_name(name);
	}
	SPI_freetuptable(rows);
}

/* Check the names of windows that are new here. */
static void
check_new_windows(const char *leaderboard, Datum settings)
{
	static LbPlan plan;
	uint64		n = lb_own_exec(&plan,
								"SELECT n.name, n.period FROM " SENT_WINDOWS " AS n "
								"WHERE NOT EXISTS (SELECT FROM @.lb_window AS w WHERE w.name OPERATOR(pg_catalog.=) n.name) ORDER BY n.name",
								LB_ARGS(lb_arg(JSONBOID, settings)));
	SPITupleTable *rows = SPI_tuptable;

	for (uint64 i = 0; i < n; i++)
	{
		char	   *name = lb_row_text(rows, i, 1);
		char	   *period = lb_row_text(rows, i, 2);
		LbPeriod	number = LB_ONCE;

		CHECK_FOR_INTERRUPTS();
		require_of_leaderboard(leaderboard, name);
		if (period != NULL)
			(void) lb_period_from_text(period, &number);
		lb_window_check_name(name, number);
	}
	SPI_freetuptable(rows);
}

/* The windows: those that are sent, and no others. */
static void
record_windows(const char *leaderboard, Datum settings)
{
	static LbPlan plans[2];
	LbWindow  **windows;
	int			n;

	(void) lb_own_exec(&plans[0],
					   "DELETE FROM @.lb_window AS w WHERE " LB_IN_FAMILY("w.name", "$2") " "
					   "AND NOT EXISTS (SELECT FROM " SENT_WINDOWS " AS n WHERE n.name OPERATOR(pg_catalog.=) w.name)",
					   LB_ARGS(lb_arg(JSONBOID, settings), lb_arg_family(family_name(leaderboard))));
	CommandCounterIncrement();
	check_new_windows(leaderboard, settings);
	(void) lb_own_exec(&plans[1],
					   "INSERT INTO @.lb_window AS w SELECT n.* FROM " SENT_WINDOWS " AS n ON CONFLICT (name) DO UPDATE SET "
					   "period = excluded.period, time_zone = excluded.time_zone, first_day = excluded.first_day, "
					   "starts = excluded.starts, ends = excluded.ends, op = excluded.op, keep = excluded.keep, late = excluded.late, "
					   "archive_top = excluded.archive_top, is_open = excluded.is_open "
					   "WHERE pg_catalog.to_jsonb(w.*) OPERATOR(pg_catalog.<>) pg_catalog.to_jsonb(excluded.*)",
					   LB_ARGS(lb_arg(JSONBOID, settings)));
	CommandCounterIncrement();
	n = lb_windows(&windows);
	for (int i = 0; i < n; i++)
	{
		if (strcmp(lb_leaderboard_of_window(windows[i]->calendar.name)->name,
				   leaderboard) == 0)
			lb_window_check(windows[i]);
	}
}

/* The limits, likewise.  A limit has a name of its own among those of all. */
static void
record_limits(const char *leaderboard, Datum settings)
{
	static LbPlan plans[3];
	LbArg		args[] = {lb_arg(JSONBOID, settings), lb_arg_text(leaderboard),
	lb_arg_family(family_name(leaderboard))};

#define OF_LEADERBOARD(column) \
	"(" column " OPERATOR(pg_catalog.=) $2 OR " LB_IN_FAMILY(column, "$3") ")"
	if (lb_own_exec(&plans[0],
					"SELECT n.name FROM " SENT_LIMITS " AS n WHERE (" OF_LEADERBOARD("n.board") ") IS NOT TRUE "
					"OR EXISTS (SELECT FROM @.lb_limit AS l WHERE l.name OPERATOR(pg_catalog.=) n.name AND NOT " OF_LEADERBOARD("l.board") ") LIMIT 1",
					lengthof(args), args) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("limit \"%s\" is another leaderboard's",
						lb_row_text(SPI_tuptable, 0, 1)),
				 errhint("Use another name.")));
	SPI_freetuptable(SPI_tuptable);
	(void) lb_own_exec(&plans[1],
					   "DELETE FROM @.lb_limit AS l WHERE " OF_LEADERBOARD("l.board") " "
					   "AND NOT EXISTS (SELECT FROM " SENT_LIMITS " AS n WHERE pg_catalog.to_jsonb(n.*) OPERATOR(pg_catalog.=) pg_catalog.to_jsonb(l.*))",
					   lengthof(args), args);
	(void) lb_own_exec(&plans[2],
					   "INSERT INTO @.lb_limit SELECT n.* FROM " SENT_LIMITS " AS n ON CONFLICT (name) DO NOTHING",
					   LB_ARGS(lb_arg(JSONBOID, settings)));
#undef OF_LEADERBOARD
}

Datum
lb_record_settings(PG_FUNCTION_ARGS)
{
	char	   *leaderboard = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Datum		settings = PG_GETARG_DATUM(1);

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_record_settings()");
	require_recorded(leaderboard);
	lb_refuse_coordinator("lb_record_settings");
	SPI_connect();
	lock_windows(settings);
	LockRelationOid(lb_own_table("lb_leaderboard"), ShareRowExclusiveLock);
	LockRelationOid(lb_own_table("lb_window"), ShareRowExclusiveLock);
	LockRelationOid(lb_own_table("lb_limit"), ShareRowExclusiveLock);
	record_op(leaderboard, settings);
	CommandCounterIncrement();
	record_windows(leaderboard, settings);
	record_limits(leaderboard, settings);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text(closed_digest(leaderboard)));
}

/* Close a key here, once the submits that write to the window have ended. */
static void
close_key(Datum key)
{
	static LbPlan plan;
	text	   *t = DatumGetTextPP(key);
	LbSpan		span;

	if (lb_window_of_key(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t), &span) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("window \"%s\" does not exist", text_to_cstring(t))));
	lb_window_lock(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t), ExclusiveLock);
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_closed (board) VALUES ($1) ON CONFLICT (board) DO NOTHING",
					   LB_ARGS(lb_arg(TEXTOID, key)));
}

/*
 * Make these keys the closed ones.  Those that are new here have been closed
 * on the coordinator, so their standings are final, and there is no submit to
 * wait for.
 */
static void
close_only(const char *leaderboard, Datum keys)
{
	static LbPlan plans[2];

	(void) lb_own_exec(&plans[0],
					   "DELETE FROM @.lb_closed AS c WHERE " LB_IN_FAMILY("c.board", "$2") " "
					   "AND NOT EXISTS (SELECT FROM pg_catalog.unnest($1) AS n (board) WHERE n.board OPERATOR(pg_catalog.=) c.board)",
					   LB_ARGS(lb_arg(TEXTARRAYOID, keys), lb_arg_family(family_name(leaderboard))));
	(void) lb_own_exec(&plans[1],
					   "INSERT INTO @.lb_closed (board) SELECT n.board FROM pg_catalog.unnest($1) AS n (board) ON CONFLICT (board) DO NOTHING",
					   LB_ARGS(lb_arg(TEXTARRAYOID, keys)));
}

Datum
lb_record_closed(PG_FUNCTION_ARGS)
{
	char	   *leaderboard = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ArrayType  *keys = PG_GETARG_ARRAYTYPE_P(1);
	bool		no_others = PG_GETARG_BOOL(2);
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_record_closed()");
	require_recorded(leaderboard);
	lb_refuse_coordinator("lb_record_closed");
	(void) lb_require_leaderboard(leaderboard);
	deconstruct_array(keys, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls,
					  &n);
	if (!no_others && n > MAX_CLOSED_AT_ONCE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many boards for one call"),
				 errdetail("\"%s\" has %d elements; the most is %d.", "boards",
						   n, MAX_CLOSED_AT_ONCE)));
	SPI_connect();
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			lb_null_argument("boards");
		if (VARSIZE_ANY_EXHDR(DatumGetPointer(elements[i])) > LB_MAX_WINDOW_KEY)
			ereport(ERROR,
					(errcode(ERRCODE_NAME_TOO_LONG),
					 errmsg("name of a window is too long: \"%s\"",
							TextDatumGetCString(elements[i]))));
		require_of_leaderboard(leaderboard, TextDatumGetCString(elements[i]));
		if (!no_others)
			close_key(elements[i]);
	}
	if (no_others)
		close_only(leaderboard, PointerGetDatum(keys));
	SPI_finish();
	PG_RETURN_VOID();
}
