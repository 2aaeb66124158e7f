/*-------------------------------------------------------------------------
 *
 * shard_forget.c
 *	  Erasing a player on the server of a shard: lb_shard_forget().
 *
 * It does what lb_forget_player() does on one server (forget.c), with the
 * shards in the place of the distributed tables, and the tables beside the
 * scores in that of lb_applied, lb_usage, lb_anomaly and lb_event.  So a
 * submit of the player, which writes here as well, meets the same locks in the
 * same order.
 *
 * The tables beside the scores belong to the scores' owner, and the caller has
 * the owner's rights.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "boards/resolve.h"
#include "citus/companion.h"
#include "citus/layout.h"
#include "citus/shard.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/player.h"
#include "players/forget.h"
#include "sql/spi.h"
#include "submit/hidden.h"

PG_FUNCTION_INFO_V1(lb_shard_forget);

/*
 * Tables that submits write to before the scores.  The rows that a submit has
 * committed there, before the scores were removed, are removed in a second
 * pass.
 */
static const bool before_scores[LB_NRECORDS] = {
	[LB_RECORD_APPLIED] = true,
	[LB_RECORD_USAGE] = true,
	[LB_RECORD_HIDDEN] = true
};

/* What is removed from such a table. */
typedef struct Companion
{
	Oid			table;			/* the shard, or InvalidOid */
	char	   *name;
	char	   *type;			/* of its players */
	int64		removed;
} Companion;

/* A call under way. */
typedef struct Forget
{
	FunctionCallInfo fcinfo;
	text	   *player;
	Companion	companions[LB_NRECORDS];
} Forget;

static void
return_row(const Forget *f, const char *board, const char *beside,
		   int64 removed, List *keys)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) f->fcinfo->resultinfo;
	Datum		values[4];
	bool		nulls[4] = {false, beside == NULL, false, keys == NIL};
	Datum	   *texts = palloc(Max(1, list_length(keys)) * sizeof(Datum));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, keys)
	{
		CHECK_FOR_INTERRUPTS();
		texts[n++] = CStringGetTextDatum((const char *) lfirst(lc));
	}
	values[0] = CStringGetTextDatum(board);
	values[1] = nulls[1] ? (Datum) 0 : CStringGetTextDatum(beside);
	values[2] = Int64GetDatum(removed);
	values[3] = nulls[3] ? (Datum) 0 : lb_make_array(TEXTOID, texts, NULL, n);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Run a statement with the player as $1 on such a table, as its owner, on all
 * rows.
 */
static int64
run_companion(const Forget *f, const Companion *companion, const char *sql)
{
	LbUser		saved;
	uint64		n;

	lb_switch_to_owner(&saved, lb_table_owner(companion->table), false);
	lb_set_locally("row_security", "off");
	n = lb_exec_once(sql, companion->table, LB_ARGS(lb_arg(TEXTOID, PointerGetDatum(f->player))));
	lb_restore_user(&saved);
	return (int64) n;
}

#define OF_PLAYER "player_id OPERATOR(pg_catalog.=) CAST($1 AS %s)"

/*
 * Remove the player's rows of the tables beside the scores, on this side of
 * them.
 */
static void
forget_companions(Forget *f, bool before)
{
	for (int b = 0; b < LB_NRECORDS; b++)
	{
		Companion  *companion = &f->companions[b];

		if (!OidIsValid(companion->table) || before_scores[b] != before)
			continue;

		/* In the order in which submits lock them. */
		if (lb_companions[b].key != NULL)
			(void) run_companion(f, companion,
								 psprintf("SELECT pg_catalog.count(*) FROM (SELECT FROM %s WHERE " OF_PLAYER " ORDER BY %s FOR UPDATE) AS t",
										  companion->name, companion->type,
										  lb_companions[b].key));
		companion->removed +=
			run_companion(f, companion, psprintf("DELETE FROM %s WHERE " OF_PLAYER,
												 companion->name, companion->type));
	}
}

/* What submits have written meanwhile. */
static void
forget_rest(Forget *f)
{
	for (int b = 0; b < LB_NRECORDS; b++)
	{
		Companion  *companion = &f->companions[b];

		if (!OidIsValid(companion->table) || !before_scores[b])
			continue;
		companion->removed +=
			run_companion(f, companion,
						  psprintf("DELETE FROM %s WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
								   "SELECT ctid FROM %s WHERE " OF_PLAYER " FOR UPDATE SKIP LOCKED))",
								   companion->name, companion->name, companion->type));
	}
}

/* Find the tables beside that of a board. */
static void
find_companions(Forget *f, const char *board)
{
	for (int b = 0; b < LB_NRECORDS; b++)
	{
		Companion  *companion = &f->companions[b];
		Oid			type;
		int32		typmod;
		Oid			collation;

		companion->table = lb_shard_companion(board, b, f->player);
		if (!OidIsValid(companion->table))
			continue;
		get_atttypetypmodcoll(companion->table,
							  get_attnum(companion->table, "player_id"), &type,
							  &typmod, &collation);
		companion->name = lb_qualified_name(companion->table);
		companion->type = format_type_extended(type, typmod,
											   FORMAT_TYPE_TYPEMOD_GIVEN |
											   FORMAT_TYPE_FORCE_QUALIFY);
	}
}

/* The shard of a board that has the player. */
static LbDefinition *
shard_of(const Forget *f, const char *board)
{
	LbDefinition *defn = lb_shard_defn(board, f->player);

	if (defn == NULL)
		lb_raise_not_recorded(board);
	return defn;
}

/*
 * Check that the caller may remove rows of a board's shard, and all of them.
 */
static void
check_board(const Forget *f, const char *board)
{
	LbDefinition *defn = shard_of(f, board);

	lb_require_owner(defn->source);
	lb_require_fit(defn);
	lb_require_all_rows(defn, "A player is removed from all rows, and policies can keep rows from the owner.");
}

/* Remove the player's rows of a board's shard. */
static void
forget_board(const Forget *f, const char *board)
{
	const LbPlayerArgument argument = {{"member", "lb_forget_player"}, true};
	LbDefinition *defn = shard_of(f, board);
	const LbType *type = lb_require_player_type(defn);
	List	   *keys = NIL;
	uint64		n;

	n = lb_forget_scores(defn, type,
						 lb_player_from(defn, type, PointerGetDatum(f->player),
										&argument),
						 &keys);
	return_row(f, board, NULL, (int64) n, keys);
}

/*
 * The boards are of one leaderboard, in the order in which submits write to
 * them.  The tables beside the scores are beside that of the first board.
 */
Datum
lb_shard_forget(PG_FUNCTION_ARGS)
{
	Forget		f = {.fcinfo = fcinfo};
	Datum	   *elements;
	char	  **boards;
	int			n;
	int			nestlevel;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_shard_forget()");
	PreventCommandIfReadOnly("lb_shard_forget()");
	lb_require_read_committed("lb_shard_forget()");
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	f.player = PG_GETARG_TEXT_PP(0);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), TEXTOID, -1, false,
					  TYPALIGN_INT, &elements, NULL, &n);
	if (n == 0)
		return (Datum) 0;
	boards = palloc(n * sizeof(char *));
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		boards[i] = TextDatumGetCString(elements[i]);
	}
	SPI_connect();
	nestlevel = lb_begin_shard(boards[0], NULL, f.player, PG_GETARG_INT64(1));
	for (int i = 0; i < n; i++)
		check_board(&f, boards[i]);
	find_companions(&f, boards[0]);
	forget_companions(&f, true);
	lb_lock_hidden(boards[0], f.player, ExclusiveLock);
	for (int i = 0; i < n; i++)
		forget_board(&f, boards[i]);
	forget_companions(&f, false);
	forget_rest(&f);
	for (int b = 0; b < LB_NRECORDS; b++)
	{
		if (OidIsValid(f.companions[b].table))
			return_row(&f, boards[0], lb_companions[b].suffix,
					   f.companions[b].removed, NIL);
	}
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	return (Datum) 0;
}
