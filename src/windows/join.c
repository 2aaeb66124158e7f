/*-------------------------------------------------------------------------
 *
 * join.c
 *	  Players who join windows: lb_join(), lb_leave() and their like.
 *
 * A row of lb_entrant is a player who has joined a span of a window.
 * submit/entrants.c has what submits do with it.
 *
 * How many have joined a span is in its row of lb_entry_count, which players
 * who join or leave lock and change.  So of two who join at once the second
 * waits for the first, and their number is never above the maximum.  They
 * take their locks in this order:
 *
 *	1. the player, against lb_forget_player() (lb_lock_entries_of)
 *	2. the row of lb_entry, against lb_set_entry()
 *	3. rows of lb_entrant, by leaderboard, board and player, as submits do
 *	4. rows of lb_entry_count, by board
 *	5. the key of the window, against being closed; the row of the score
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "boards/target.h"
#include "leaderboards/closed.h"
#include "leaderboards/entry.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/player.h"
#include "sql/spi.h"
#include "submit/submission.h"


/* ----------------------------------------------------------------
 *		A call
 * ----------------------------------------------------------------
 */

/* The arguments of a call, and what they mean. */
typedef struct Call
{
	LbPlayerArgument argument;
	const char *given;			/* a window's name, and then the key */
	LbWindow   *window;
	LbSpan		span;
	LbDefinition *family;		/* of the window */
	const LbType *type;			/* of players */
	Datum		player;
	Datum text;					/* the player in the extension's own tables */
} Call;

/* Find the window, and when what is recorded may have changed, again. */
static void
find_window(Call *call)
{
	call->window = lb_require_window(call->given, &call->span);
}

/* The player that the first argument is. */
static void
set_player(Call *call, Datum value)
{
	call->type = lb_require_player_type(call->family);
	value = lb_player_from(call->family, call->type, value, &call->argument);
	call->player = lb_player_as_stored(call->family, value);
	call->text = lb_value_to_text(call->type, call->player);
}

/*
 * Raise 42501 if policies apply to the caller.  They cannot tell which players
 * the caller may enter in a window, take out of it, or ask about.
 */
static void
require_no_policies(const Call *call)
{
	if (check_enable_rls(call->family->source, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security of table \"%s\" does not apply to its entrants",
						get_rel_name(call->family->source)),
				 errhint("Call %s in a SECURITY DEFINER function of a role to which no policies apply.",
						 lb_player_function(&call->argument))));
}

/* Check the arguments; the caller may write scores to the windows' table. */
static void
begin_call(FunctionCallInfo fcinfo, Call *call)
{
	const char *function = lb_player_function(&call->argument);
	LbLeaderboard leaderboard;
	const char *family;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	if (PG_ARGISNULL(0))
		lb_null_argument("member");
	if (PG_ARGISNULL(1))
		lb_null_argument("board");
	call->given = text_to_cstring(PG_GETARG_TEXT_PP(1));
	leaderboard = *lb_leaderboard_of_window(call->given);
	lb_require_both_tables(leaderboard.name, leaderboard.family);
	find_window(call);
	call->given = pstrdup(call->span.key);
	family = lb_leaderboard_of_window(call->given)->family;
	call->family = lb_find_submitted(pstrdup(family), true);
	require_no_policies(call);
	set_player(call, PG_GETARG_DATUM(0));
}

/*
 * Add to how many have joined; false if there would be more than the maximum.
 */
static bool
count_entrant(const Call *call, int change, const LbEntry *entry)
{
	static LbPlan plan;
	bool		limited = entry != NULL && entry->has_max;

	return lb_own_exec(&plan,
					   "UPDATE @.lb_entry_count SET entrants = entrants OPERATOR(pg_catalog.+) $2 "
					   "WHERE board OPERATOR(pg_catalog.=) $1 "
					   "AND (entrants OPERATOR(pg_catalog.+) $2 OPERATOR(pg_catalog.<=) $3) IS NOT FALSE",
					   LB_ARGS(lb_arg_text(call->span.key), lb_arg_int8(change),
							   limited ? lb_arg_int8(entry->max) : lb_arg_null(INT8OID))) > 0;
}


/* ----------------------------------------------------------------
 *		lb_join
 * ----------------------------------------------------------------
 */

/* Raise 55000 unless players can join the span now. */
static void
require_open(const Call *call, const LbEntry *entry)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz opens;
	TimestampTz closes;

	lb_entry_times(entry, &call->span, &opens, &closes);
	if (now < opens || now >= closes)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("players cannot join \"%s\" now", call->span.key),
				 now < opens ?
				 errdetail("They can from %s on.", timestamptz_to_str(opens)) :
				 errdetail("They could until %s.", timestamptz_to_str(closes))));
	if (!call->window->is_open ||
		lb_window_locked_is_closed(call->span.key, strlen(call->span.key)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("players cannot join \"%s\" now", call->span.key),
				 errdetail("The window has been closed.")));
}

pg_noreturn static void
raise_full(const Call *call, const LbEntry *entry)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("player \"%s\" cannot join \"%s\", which is full",
					TextDatumGetCString(call->text), call->span.key),
			 errdetail("The most players that can join it are " INT64_FORMAT ".",
					   entry->max)));
}

/*
 * The row of lb_entry, locked against being changed, and whether the player
 * has joined already.  Raises 55000 if players do not join the window, or
 * 23514 if it is full.
 */
static const LbEntry *
lock_entry(Call *call, bool *joined)
{
	static LbPlan plan;
	const LbEntry *entry = NULL;
	int64		entrants = 0;

	if (lb_own_exec(&plan,
					"SELECT EXISTS (SELECT FROM @.lb_entrant t WHERE t.board OPERATOR(pg_catalog.=) $2 AND t.player_id OPERATOR(pg_catalog.=) $3), "
					"COALESCE((SELECT c.entrants FROM @.lb_entry_count c WHERE c.board OPERATOR(pg_catalog.=) $2), 0) "
					"FROM @.lb_entry e WHERE e.name OPERATOR(pg_catalog.=) $1 FOR KEY SHARE OF e",
					LB_ARGS(lb_arg_text(call->window->calendar.name),
							lb_arg_text(call->span.key), lb_arg(TEXTOID, call->text))) > 0)
	{
		*joined = DatumGetBool(lb_row_datum(SPI_tuptable, 0, 1));
		entrants = DatumGetInt64(lb_row_datum(SPI_tuptable, 0, 2));

		/* What is recorded now stays so, as far as it is of lb_entry. */
		AcceptInvalidationMessages();
		find_window(call);
		entry = lb_entry_find(call->window->calendar.name);
	}
	SPI_freetuptable(SPI_tuptable);
	if (entry == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("players do not join window \"%s\"",
						call->window->calendar.name),
				 errdetail("The submits of all players count in it."),
				 errhint("lb_set_entry() makes a window one that players join.")));
	if (!*joined)
	{
		require_open(call, entry);
		if (entry->has_max && entrants >= entry->max)
			raise_full(call, entry);
	}
	return entry;
}

static Datum
join(FunctionCallInfo fcinfo, bool as_text)
{
	static LbPlan plans[2];
	Call		call = {.argument = {{"member", "lb_join"}, as_text}};
	const LbEntry *entry;
	bool		joined;

	begin_call(fcinfo, &call);
	SPI_connect();
	lb_lock_entries_of("lb_entrant", call.text, RowExclusiveLock);
	entry = lock_entry(&call, &joined);
	if (joined)
	{
		SPI_finish();
		PG_RETURN_BOOL(false);
	}
	(void) lb_own_exec(&plans[0],
					   "INSERT INTO @.lb_entry_count (board, name) VALUES ($1, $2) ON CONFLICT (board) DO NOTHING",
					   LB_ARGS(lb_arg_text(call.span.key), lb_arg_text(call.window->calendar.name)));
	joined = lb_own_exec(&plans[1],
						 "INSERT INTO @.lb_entrant (board, player_id) VALUES ($1, $2) ON CONFLICT (player_id, board) DO NOTHING",
						 LB_ARGS(lb_arg_text(call.span.key), lb_arg(TEXTOID, call.text))) > 0;
	if (joined)
	{
		if (!count_entrant(&call, 1, entry))
			raise_full(&call, entry);

		/* Again: it may have taken a while to get the locks. */
		lb_window_lock(call.span.key, strlen(call.span.key), RowExclusiveLock);
		AcceptInvalidationMessages();
		find_window(&call);
		require_open(&call, entry);
	}
	SPI_finish();
	PG_RETURN_BOOL(joined);
}

LB_TWINS(lb_join, join)


/* ----------------------------------------------------------------
 *		lb_leave
 * ----------------------------------------------------------------
 */

/*
 * Delete the player's score, by a statement of the caller's.  A hidden one
 * goes as well: the player stays hidden by lb_hidden, and lb_show() must not
 * bring back the score of a player who has left.
 */
static void
delete_score(const Call *call)
{
	const LbDefinition *defn = call->family;
	LbUser		saved;
	bool		switched = lb_switch_from_superuser(&saved, defn, true);

	(void) lb_exec_once(psprintf("DELETE FROM %s WHERE %s OPERATOR(pg_catalog.=) $1 AND %s OPERATOR(pg_catalog.=) $2",
								 defn->from_name,
								 lb_quoted(lb_member_column(defn)),
								 lb_quoted(lb_board_column(defn))),
						defn->source,
						LB_ARGS(lb_arg(call->type->oid, call->player), lb_arg_text(call->span.key)));
	if (switched)
		lb_restore_user(&saved);
}

static Datum
leave(FunctionCallInfo fcinfo, bool as_text)
{
	static LbPlan plan;
	Call		call = {.argument = {{"member", "lb_leave"}, as_text}};
	const char *key = call.span.key;
	bool		left;

	begin_call(fcinfo, &call);
	if (pg_class_aclcheck(call.family->source, GetUserId(),
						  ACL_DELETE) != ACLCHECK_OK)
		lb_denied(call.family, "DELETE");
	SPI_connect();
	lb_lock_entries_of("lb_entrant", call.text, RowExclusiveLock);
	left = lb_own_exec(&plan,
					   "DELETE FROM @.lb_entrant WHERE board OPERATOR(pg_catalog.=) $1 AND player_id OPERATOR(pg_catalog.=) $2",
					   LB_ARGS(lb_arg_text(key), lb_arg(TEXTOID, call.text))) > 0;
	if (left)
	{
		(void) count_entrant(&call, -1, NULL);
		lb_window_lock(key, strlen(key), RowExclusiveLock);
		AcceptInvalidationMessages();
		find_window(&call);
		if (lb_window_locked_is_closed(key, strlen(key)) ||
			GetCurrentTimestamp() >= lb_window_closes(call.window, &call.span))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("player \"%s\" cannot leave \"%s\"",
							TextDatumGetCString(call.text), key),
					 errdetail("The window is over, and its standings are final.")));
		delete_score(&call);
	}
	SPI_finish();
	PG_RETURN_BOOL(left);
}

LB_TWINS(lb_leave, leave)


/* ----------------------------------------------------------------
 *		lb_entry_status
 * ----------------------------------------------------------------
 */

/*
 * Read whether the player, if one is asked about, has joined, and how many
 * players have.
 */
static void
read_entrants(const Call *call, bool unknown, Datum *joined, Datum *entrants)
{
	static LbPlan plan;

	(void) lb_own_exec(&plan,
					   "SELECT EXISTS (SELECT FROM @.lb_entrant t WHERE t.board OPERATOR(pg_catalog.=) $1 AND t.player_id OPERATOR(pg_catalog.=) $2), "
					   "COALESCE((SELECT c.entrants FROM @.lb_entry_count c WHERE c.board OPERATOR(pg_catalog.=) $1), 0)",
					   LB_ARGS(lb_arg_text(call->span.key), lb_arg_or_null(TEXTOID, call->text, unknown)));
	*joined = lb_row_datum(SPI_tuptable, 0, 1);
	*entrants = lb_row_datum(SPI_tuptable, 0, 2);
}

static Datum
entry_status(FunctionCallInfo fcinfo, bool as_text)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Call		call = {.argument = {{"member", "lb_entry_status"}, as_text}};
	const LbEntry *entry;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz opens;
	TimestampTz closes;
	LbTarget	target;
	Datum		values[7];
	bool		nulls[7] = {false};

	(void) lb_require_catalog();
	if (PG_ARGISNULL(1))
		lb_null_argument("board");
	call.given = text_to_cstring(PG_GETARG_TEXT_PP(1));
	find_window(&call);
	call.given = lb_leaderboard_of_window(call.given)->family;
	lb_find_target(call.given, strlen(call.given), &target);
	call.family = target.defn;
	if (!lb_may_read(call.family))
		lb_denied(call.family, "SELECT");
	require_no_policies(&call);
	InitMaterializedSRF(fcinfo, 0);
	nulls[1] = PG_ARGISNULL(0);
	if (!nulls[1])
		set_player(&call, PG_GETARG_DATUM(0));
	entry = lb_entry_find(call.window->calendar.name);
	if (entry == NULL)
		return (Datum) 0;
	lb_entry_times(entry, &call.span, &opens, &closes);
	SPI_connect();
	read_entrants(&call, nulls[1], &values[1], &values[2]);
	values[0] = CStringGetTextDatum(call.span.key);
	values[3] = Int64GetDatum(entry->max);
	nulls[3] = !entry->has_max;
	values[4] = TimestampTzGetDatum(opens);
	nulls[4] = TIMESTAMP_IS_NOBEGIN(opens);
	values[5] = TimestampTzGetDatum(closes);
	values[6] = BoolGetDatum(now >= opens && now < closes &&
							 call.window->is_open);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	SPI_finish();
	return (Datum) 0;
}

LB_TWINS(lb_entry_status, entry_status)
