/*-------------------------------------------------------------------------
 *
 * watch.c
 *	  Boards and members that are watched: lb_watch() and its like.
 *
 * A watch is of a board's first places or of a member, and is made by a role
 * that owns the board's table.  It records the board's number in lb_board,
 * which no other board of the same name gets later, and is removed with the
 * board (lb_watch_follow): every role that may connect can LISTEN.
 *
 * The launcher keeps a worker (notify.c) for each database that is listed in
 * shared memory.  A database is entered when a transaction that has written to
 * lb_watched commits or is prepared, and by the first worker that visits it
 * after a start.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "boards/catalog.h"
#include "boards/directory.h"
#include "boards/resolve.h"
#include "boards/shared.h"
#include "boards/target.h"
#include "leaderboards/player.h"
#include "leaderboards/window.h"
#include "reads/json.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "watch/watch.h"

PG_FUNCTION_INFO_V1(lb_watch_changed);
PG_FUNCTION_INFO_V1(lb_watch_follow);
PG_FUNCTION_INFO_V1(lb_resolve_board);
PG_FUNCTION_INFO_V1(lb_watch);
PG_FUNCTION_INFO_V1(lb_unwatch);

/* The most places that are watched. */
#define MAX_TOP 1000

/*
 * The longest name in JSON, in bytes.  A payload has it twice, where its key
 * is not shorter, and must have room for a few places as well.
 */
#define MAX_JSON_NAME 3500

/* A column of lb_watched. */
#define Anum_lb_watched_board_id 4

/* The transaction has written to lb_watched. */
static bool changed_here = false;


bool
lb_has_watches(void)
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

	/* First: a writer that holds no lock any more is visible. */
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	(void) GetLockConflicts(&tag, ShareLock, &writers);
	if (writers > 0)
		return true;
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	n = lb_own_exec_once("SELECT FROM @.lb_watched LIMIT 1", LB_NO_ARGS);
	SPI_finish();
	PopActiveSnapshot();
	return n > 0;
}


/* ----------------------------------------------------------------
 *		Triggers
 * ----------------------------------------------------------------
 */

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

/* Whether there are watches of a board, in the newest state. */
static bool
is_watched(int32 board_id)
{
	Relation	rel = table_open(lb_own_table("lb_watched"), RowExclusiveLock);
	ScanKeyData skey;
	SysScanDesc scan;
	bool		found;

	ScanKeyInit(&skey, Anum_lb_watched_board_id, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(board_id));
	scan = systable_beginscan(rel, lb_own_table("lb_watched_board_id_idx"),
							  true, NULL, 1, &skey);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, NoLock);
	return found;
}

/*
 * Trigger on lb_board: watches go with their board.  A column that is renamed
 * gives a board another number, which its watches get too.
 */
Datum
lb_watch_follow(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	const LbCatalog *cat;
	Oid			source;
	int32		id;
	int32		new_id = 0;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager for a row",
						"lb_watch_follow")));

	/* Any role can make a trigger of this function on a table of its own. */
	cat = lb_catalog();
	if (cat == NULL || cat->lb_board != RelationGetRelid(trigger->tg_relation) ||
		TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		PG_RETURN_POINTER(NULL);
	id = lb_recorded_id(trigger->tg_trigslot, &source);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		new_id = lb_recorded_id(trigger->tg_newslot, &source);
	if (id == new_id || !is_watched(id))
		PG_RETURN_POINTER(NULL);
	SPI_connect();
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		(void) lb_own_exec_latest("UPDATE @.lb_watched SET board_id = $2 "
								  "WHERE board_id OPERATOR(pg_catalog.=) $1",
								  LB_ARGS(lb_arg_int4(id), lb_arg_int4(new_id)));
	else
		(void) lb_own_exec_latest("DELETE FROM @.lb_watched "
								  "WHERE board_id OPERATOR(pg_catalog.=) $1",
								  LB_ARGS(lb_arg_int4(id)));
	SPI_finish();
	PG_RETURN_POINTER(NULL);
}


/* ----------------------------------------------------------------
 *		What a board is now
 * ----------------------------------------------------------------
 */

/*
 * The key that a board's name, which has led to a target, means now: mostly
 * the name itself.
 */
static char *
key_of(const LbTarget *target, const char *board)
{
	char	   *key = NULL;
	int			keylen;

	if (target->has_value && strchr(board, ':') == NULL)
		key = lb_window_alias(board, strlen(board), &keylen);
	return key == NULL ? pstrdup(board) : key;
}

LbDefinition *
lb_find_watched(const char *board, char **key)
{
	LbTarget	target;
	int32		id;

	lb_find_one_board(board, &target);
	*key = key_of(&target, board);
	id = target.defn->id;
	lb_find_target(*key, strlen(*key), &target);
	if (target.defn->id != id)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a board of the family \"%s\"", *key,
						target.defn->name)));
	return target.defn;
}

int
lb_read_places(Oid owner, const char *key, int top, char *const *members,
			   int n, LbRow **rows)
{
	LbUser		saved;

	lb_switch_to_owner(&saved, owner, false);
	if (members == NULL)
		n = lb_read_top(key, top, rows);
	else
		n = lb_read_ranks(key, members, n, rows);
	lb_restore_user(&saved);
	return n;
}

int
lb_begin_reading(void)
{
	int			nestlevel = lb_begin_texts();

	lb_set_locally("search_path", "pg_catalog, pg_temp");
	lb_set_locally("row_security", "off");
	return nestlevel;
}

LbArg
lb_arg_places(const LbPlaces *state, int column)
{
	Oid			type = column == 1 ? INT8OID : TEXTOID;
	Datum	   *values = palloc(Max(1, state->n) * sizeof(Datum));
	bool	   *nulls = palloc(Max(1, state->n) * sizeof(bool));

	for (int i = 0; i < state->n; i++)
	{
		const LbRow *row = &state->rows[i];
		LbArg		value = column == 0 ? lb_arg_text(row->member) :
			column == 1 ? lb_arg_or_null(INT8OID, Int64GetDatum(row->rank), row->rank == 0) :
			lb_arg_text(row->score);

		values[i] = value.value;
		nulls[i] = value.isnull;
	}
	return lb_arg(get_array_type(type),
				  lb_make_array(type, values, nulls, state->n));
}


/* ----------------------------------------------------------------
 *		SQL functions
 * ----------------------------------------------------------------
 */

/* The board that a name means now: for a window's name its key. */
Datum
lb_resolve_board(PG_FUNCTION_ARGS)
{
	char	   *board;
	LbTarget	target;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	lb_find_target(board, strlen(board), &target);

	/* Without this, any role could hold a lock on the table. */
	if (!lb_may_read(target.defn))
		lb_denied(target.defn, "SELECT");
	PG_RETURN_TEXT_P(cstring_to_text(key_of(&target, board)));
}

/*
 * Raise 42622 unless a notification has room for the board and the member, or
 * NULL.
 */
static void
require_room(const LbDefinition *defn, const char *board, const char *member)
{
	StringInfoData buf;
	int			len;

	initStringInfo(&buf);
	escape_json(&buf, board);
	len = buf.len;
	if (len > MAX_JSON_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("board name is too long to be watched"),
				 errdetail("A notification has it in JSON, as %d bytes; the most is %d.",
						   len, MAX_JSON_NAME)));
	if (member == NULL)
		return;
	resetStringInfo(&buf);
	lb_append_member_json(&buf, defn, member);
	if (buf.len > 2 * (MAX_JSON_NAME - len))
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("member is too long to be watched"),
				 errdetail("A notification has it in JSON, as %d bytes; beside the board's name the most is %d.",
						   buf.len, 2 * (MAX_JSON_NAME - len))));
}

/*
 * key is what identifies a row of lb_watched, as its unique indexes have it.
 */
#define WATCH(key) \
	"INSERT INTO @.lb_watched (board, member, top, board_id, watcher, last_key, last_members, last_ranks, last_scores) " \
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT " key " " \
	"DO UPDATE SET top = excluded.top, board_id = excluded.board_id, watcher = excluded.watcher, " \
	"last_key = excluded.last_key, last_members = excluded.last_members, last_ranks = excluded.last_ranks, " \
	"last_scores = excluded.last_scores, problem = NULL"

/* The member that an argument is. */
typedef struct WatchedMember
{
	Datum		argument;
	bool		as_text;		/* or as bigint */
	const char *function;		/* without _key */
} WatchedMember;

/*
 * Find a board that is watched, its key, and the member as lb_watched has it:
 * as text that does not depend on settings.
 */
static LbDefinition *
find_member(const char *board, const WatchedMember *member, char **key,
			char **result)
{
	LbDefinition *defn = lb_find_watched(board, key);
	LbArgument	argument = {"member", member->function};
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = lb_argument_context,
		.arg = &argument
	};
	Datum		values[LB_MAX_MEMBER_COLUMNS];
	bool		nulls[LB_MAX_MEMBER_COLUMNS];
	int			nestlevel;

	lb_require_member(defn);
	if (!member->as_text)
	{
		if (!defn->plain_member)
			lb_raise_mistyped(defn, lb_member_columns(defn), member->function);
		*result = psprintf(INT64_FORMAT, DatumGetInt64(member->argument));
		return defn;
	}
	while (!lb_member_ready(defn))
		defn = lb_find_watched(board, key);
	error_context_stack = &context;
	lb_member_from_text(defn, member->argument, values, nulls);
	error_context_stack = context.previous;
	nestlevel = lb_begin_texts();
	*result = TextDatumGetCString(lb_member_to_text(defn, values, nulls));
	AtEOXact_GUC(true, nestlevel);
	return defn;
}

/*
 * Watch the first places of a board, or a member if there is one, beginning
 * with the present state.  Every role in the database can receive
 * notifications, so only the owner of a board's table can watch it, and must
 * be able to read it.
 */
static void
watch(const char *board, int top, const WatchedMember *member)
{
	static LbPlan plans[2];
	LbDefinition *defn;
	Oid			owner;
	LbPlaces	now;
	char	   *name = NULL;
	int			nestlevel;
	int32		id;

	defn = lb_find_watched(board, &now.key);
	lb_require_owner(defn->source);
	if (!lb_may_read(defn))
		lb_denied(defn, "SELECT");
	if (member != NULL)
		defn = find_member(board, member, &now.key, &name);
	require_room(defn, board, name);
	owner = defn->owner;
	id = defn->id;
	nestlevel = lb_begin_reading();
	now.n = lb_read_places(owner, now.key, top, name == NULL ? NULL : &name,
						   1, &now.rows);
	AtEOXact_GUC(true, nestlevel);
	SPI_connect();
	(void) lb_own_exec(&plans[name != NULL], name == NULL ?
					   WATCH("(board) WHERE member IS NULL") :
					   WATCH("(board, member) WHERE member IS NOT NULL"),
					   LB_ARGS(lb_arg_text(board), lb_arg_text(name),
							   lb_arg_or_null(INT4OID, Int32GetDatum(top), name != NULL),
							   lb_arg_int4(id), lb_arg_name(GetUserNameFromId(GetUserId(), false)),
							   lb_arg_text(now.key), lb_arg_places(&now, 0),
							   lb_arg_places(&now, 1), lb_arg_places(&now, 2)));
	SPI_finish();
}

Datum
lb_watch(PG_FUNCTION_ARGS)
{
	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_watch()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	if (PG_ARGISNULL(1))
		lb_null_argument("n");
	if (PG_GETARG_INT32(1) < 1 || PG_GETARG_INT32(1) > MAX_TOP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "n",
						PG_GETARG_INT32(1)),
				 errhint("\"%s\" must be from 1 to %d.", "n", MAX_TOP)));
	watch(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), NULL);
	PG_RETURN_VOID();
}

/* The arguments of a function that watches a member. */
static WatchedMember
member_argument(FunctionCallInfo fcinfo, const char *function, bool as_text)
{
	WatchedMember member = {PG_GETARG_DATUM(0), as_text, function};

	(void) lb_require_catalog();
	PreventCommandDuringRecovery(psprintf("%s%s()", function,
										  as_text ? "_key" : ""));
	if (PG_ARGISNULL(0))
		lb_null_argument("member");
	if (PG_ARGISNULL(1))
		lb_null_argument("board");
	return member;
}

static Datum
watch_member(FunctionCallInfo fcinfo, bool as_text)
{
	WatchedMember member = member_argument(fcinfo, "lb_watch_member", as_text);

	watch(text_to_cstring(PG_GETARG_TEXT_PP(1)), 0, &member);
	PG_RETURN_VOID();
}

LB_TWINS(lb_watch_member, watch_member)

/*
 * Remove a watch, of a board's first places if member is NULL.  Only a
 * superuser can remove the watch of a board that is gone.
 */
static bool
end_watch(const char *board, const char *member)
{
	static LbPlan plan;
	uint64		n;

	if (!superuser())
	{
		char	   *key;

		lb_require_owner(lb_find_watched(board, &key)->source);
	}
	SPI_connect();
	n = lb_own_exec(&plan,
					"DELETE FROM @.lb_watched w WHERE w.board OPERATOR(pg_catalog.=) $1 "
					"AND CASE WHEN $2 IS NULL THEN w.member IS NULL "
					"ELSE w.member OPERATOR(pg_catalog.=) $2 END",
					LB_ARGS(lb_arg_text(board), lb_arg_text(member)));
	SPI_finish();
	return n > 0;
}

Datum
lb_unwatch(PG_FUNCTION_ARGS)
{
	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_unwatch()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	PG_RETURN_BOOL(end_watch(text_to_cstring(PG_GETARG_TEXT_PP(0)), NULL));
}

static Datum
unwatch_member(FunctionCallInfo fcinfo, bool as_text)
{
	WatchedMember member = member_argument(fcinfo, "lb_unwatch_member",
										   as_text);
	char	   *board = text_to_cstring(PG_GETARG_TEXT_PP(1));
	LbTarget	target;
	char	   *key;
	char	   *name;

	/* The column can have another type since; lb_watched has the text. */
	if (as_text && end_watch(board, TextDatumGetCString(member.argument)))
		PG_RETURN_BOOL(true);

	/* The board can be gone; then the text is that of lb_watched. */
	if (!superuser() || lb_look_up_name(board, strlen(board), &target))
		(void) find_member(board, &member, &key, &name);
	else if (as_text)
		name = TextDatumGetCString(member.argument);
	else
		name = psprintf(INT64_FORMAT, DatumGetInt64(member.argument));
	PG_RETURN_BOOL(end_watch(board, name));
}

LB_TWINS(lb_unwatch_member, unwatch_member)
