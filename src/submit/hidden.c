/*-------------------------------------------------------------------------
 *
 * hidden.c
 *	  Who is hidden: lb_hidden.
 *
 * That a player is hidden is recorded apart from the rows of scores, which
 * come and go.  A row of lb_hidden is for a board, a family, or all
 * leaderboards; those that are made later, too.  A submit that inserts rows of
 * a player looks it up in the newest state, whatever the snapshot of its
 * transaction is.  submit.c has the order of locks that keeps it from missing
 * an lb_hide() that runs at the same time.
 *
 * The scan is of an index, without SPI, since submits do it.  While the table
 * is empty, which each backend remembers until it changes, there is none.
 *
 * A row for all leaderboards is for those whose owners were owners of
 * leaderboards when the player was hidden.  A role that may hide players on
 * their tables has no rights on those that other owners make later.  A
 * superuser has.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "boards/cache.h"
#include "boards/catalog.h"
#include "leaderboards/player.h"
#include "sql/spi.h"
#include "submit/hidden.h"
#include "util/compat.h"

/* Columns of lb_hidden, as the script has them. */
enum
{
	Anum_lb_hidden_player_id = 1,
	Anum_lb_hidden_player_type,
	Anum_lb_hidden_board,
	Anum_lb_hidden_hidden,
	Anum_lb_hidden_owners
};

/* What this backend knows of the table. */
static Oid	hidden_table = InvalidOid;
static uint64 nchanges = 0;		/* how often it may have changed */
static bool empty_valid = false;
static bool is_empty = false;

/* lb_cache_register(): a relation has changed, or all have. */
static void
invalidate(Oid relid, void *arg)
{
	if (OidIsValid(relid) && relid != hidden_table)
		return;
	empty_valid = false;
	nchanges++;
}


/* ----------------------------------------------------------------
 *		Locks
 * ----------------------------------------------------------------
 */

static void
set_locktag(LOCKTAG *tag, const char *leaderboard, text *player)
{
	uint32		hash = hash_bytes((unsigned char *) VARDATA_ANY(player),
								  VARSIZE_ANY_EXHDR(player));

	/* Two players with one hash wait for each other, which is harmless. */
	hash = hash_combine(hash, hash_bytes((const unsigned char *) leaderboard,
										 strlen(leaderboard)));
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, lb_own_table("lb_hidden"), hash, 0);
}

void
lb_lock_hidden(const char *leaderboard, text *player, LOCKMODE mode)
{
	LOCKTAG		tag;

	set_locktag(&tag, leaderboard, player);
	(void) LockAcquire(&tag, mode, false, false);
}

void
lb_unlock_hidden(const char *leaderboard, text *player)
{
	LOCKTAG		tag;

	set_locktag(&tag, leaderboard, player);
	(void) LockRelease(&tag, RowExclusiveLock, false);
}


/* ----------------------------------------------------------------
 *		Looking up
 * ----------------------------------------------------------------
 */

/* Whether no player is hidden, in the newest state. */
static bool
none_hidden(void)
{
	uint64		before;
	Relation	rel;
	SysScanDesc scan;

	if (empty_valid)
		return is_empty;
	lb_cache_register(invalidate, NULL);
	hidden_table = lb_own_table("lb_hidden");
	before = nchanges;
	rel = table_open(hidden_table, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	is_empty = !HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	/* An invalidation that came meanwhile makes it stale again. */
	empty_valid = nchanges == before;
	return is_empty;
}

/* What rows say of one player. */
typedef struct Found
{
	LbHiding	scores;
	LbHiding	windows;
	bool		all_scores;
	bool		all_windows;
} Found;

bool
lb_is_of_owners(const LbDefinition *defn, Datum owners, bool any)
{
	const char *name;
	Datum	   *names;
	int			n;

	if (any)
		return true;
	name = GetUserNameFromId(defn->owner, true);
	if (name == NULL)
		return false;
	deconstruct_array(DatumGetArrayTypeP(owners), NAMEOID, NAMEDATALEN, false,
					  TYPALIGN_CHAR, &names, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		if (strcmp(NameStr(*DatumGetName(names[i])), name) == 0)
			return true;
	}
	return false;
}

/* Take into account what is recorded of player number p for a board. */
static void
take_row(const LbSubmit *s, Found *f, const char *board, bool hidden,
		 Datum owners, bool any_owner)
{
	const LbSubmitTarget *t = s->target;
	const LbDefinition *scores = t->scores != NULL ? t->scores : t->hides;
	LbHiding	hiding = hidden ? LB_HIDDEN : LB_EXCEPTED;

	if (strcmp(board, s->call->leaderboard.name) == 0)
		f->scores = hiding;
	else if (strcmp(board, s->call->leaderboard.family) == 0)
		f->windows = hiding;
	else if (strcmp(board, LB_ALL_BOARDS) == 0)
	{
		f->all_scores = scores != NULL &&
			lb_is_of_owners(scores, owners, any_owner);
		f->all_windows = t->windows != NULL &&
			lb_is_of_owners(t->windows, owners, any_owner);
	}
}

/* The number of a player, a text, in s->players, or -1. */
static int
player_number(const LbSubmit *s, Datum player)
{
	return s->nplayers == 1 ? 0 :
		lb_player_number(s, lb_value_from_text(s->target->type, player));
}

/* Take a row of lb_hidden into account. */
static void
take_slot(const LbSubmit *s, TupleTableSlot *slot, Found *found)
{
	bool		isnull;
	Datum		type = slot_getattr(slot, Anum_lb_hidden_player_type, &isnull);
	bool		any_owner;
	Datum		owners;
	int			p;

	if (strcmp(TextDatumGetCString(type), s->target->type->sql_name) != 0)
		return;
	p = player_number(s, slot_getattr(slot, Anum_lb_hidden_player_id, &isnull));
	if (p < 0)
		return;
	owners = slot_getattr(slot, Anum_lb_hidden_owners, &any_owner);
	take_row(s, &found[p],
			 TextDatumGetCString(slot_getattr(slot, Anum_lb_hidden_board, &isnull)),
			 DatumGetBool(slot_getattr(slot, Anum_lb_hidden_hidden, &isnull)),
			 owners, any_owner);
}

/* The array of the players, as texts. */
static LbArg
player_texts(const LbSubmit *s)
{
	Datum	   *texts = palloc(s->nplayers * sizeof(Datum));

	for (int p = 0; p < s->nplayers; p++)
	{
		CHECK_FOR_INTERRUPTS();
		texts[p] = PointerGetDatum(lb_player_text(s, p));
	}
	return lb_arg_array(TEXTOID, texts, NULL, s->nplayers);
}

/*
 * The same in the table that stands in for lb_hidden, if there is one.  All
 * its rows are for this leaderboard.
 */
static void
scan_stand_in(LbSubmit *s, Found *found)
{
	Oid			hidden = lb_find_record(s, LB_RECORD_HIDDEN);
	SPITupleTable *rows;
	uint64		n;

	if (!OidIsValid(hidden))
		return;
	n = lb_run_in(hidden,
				  "SELECT CAST(t.player_id AS pg_catalog.text), t.board, t.hidden FROM %s AS t "
				  "WHERE t.player_id OPERATOR(pg_catalog.=) ANY (CAST($1 AS %s[]))",
				  LB_ARGS(player_texts(s)));
	rows = SPI_tuptable;
	for (uint64 i = 0; i < n; i++)
	{
		int			p = player_number(s, lb_row_datum(rows, i, 1));

		CHECK_FOR_INTERRUPTS();
		if (p >= 0)
			take_row(s, &found[p], lb_row_text(rows, i, 2),
					 DatumGetBool(lb_row_datum(rows, i, 3)), (Datum) 0, true);
	}
	SPI_freetuptable(rows);
}

/* Scan lb_hidden for the players. */
static void
scan_hidden(const LbSubmit *s, Found *found)
{
	Relation	rel = table_open(hidden_table, AccessShareLock);
	Relation	index = index_open(lb_own_table("lb_hidden_pkey"),
								   AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	bool		one = s->nplayers == 1;
	ScanKeyData key;
	IndexScanDesc scan;

	ScanKeyEntryInitialize(&key, one ? 0 : SK_SEARCHARRAY,
						   Anum_lb_hidden_player_id, BTEqualStrategyNumber,
						   TEXTOID, C_COLLATION_OID, F_TEXTEQ,
						   one ? PointerGetDatum(lb_player_text(s, 0)) :
						   player_texts(s).value);
	scan = LB_INDEX_BEGINSCAN(rel, index, snapshot, 1);
	index_rescan(scan, &key, 1, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		take_slot(s, slot, found);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	index_close(index, AccessShareLock);
	table_close(rel, AccessShareLock);
}

void
lb_look_up_hidden(LbSubmit *s)
{
	LbHidden   *hidden = palloc0(sizeof(LbHidden));
	Found	   *found;

	/* The caller may still need what was looked up before. */
	StaticAssertStmt(LB_NOT_RECORDED == 0, "palloc0 sets it");
	hidden->scores = palloc0(s->nplayers * sizeof(LbHiding));
	hidden->windows = palloc0(s->nplayers * sizeof(LbHiding));
	hidden->changed = s->hidden != NULL;
	s->hidden = hidden;

	/* What changes from here on is looked up again. */
	AcceptInvalidationMessages();
	hidden->seen = nchanges;
	if (s->call->stand_in == NULL && none_hidden())
		return;
	found = palloc0(s->nplayers * sizeof(Found));
	if (s->call->stand_in == NULL)
		scan_hidden(s, found);
	else
		scan_stand_in(s, found);
	for (int p = 0; p < s->nplayers; p++)
	{
		Found	   *f = &found[p];

		CHECK_FOR_INTERRUPTS();
		hidden->scores[p] = f->scores != LB_NOT_RECORDED ? f->scores :
			f->all_scores ? LB_HIDDEN : LB_NOT_RECORDED;

		/* New rows of windows follow the row of scores. */
		hidden->windows[p] = f->windows != LB_NOT_RECORDED ? f->windows :
			f->all_windows || f->scores == LB_HIDDEN ? LB_HIDDEN :
			LB_NOT_RECORDED;
	}
	pfree(found);
}

bool
lb_look_up_hidden_again(LbSubmit *s)
{
	AcceptInvalidationMessages();

	/* Nothing tells when the table that stands in has changed. */
	if (s->hidden == NULL ||
		(s->call->stand_in == NULL && s->hidden->seen == nchanges))
		return false;
	lb_look_up_hidden(s);
	return true;
}


/* ----------------------------------------------------------------
 *		Recording
 * ----------------------------------------------------------------
 */

/* A text; 0 is null. */
static LbArg
text_arg(Datum text)
{
	return lb_arg_or_null(TEXTOID, text, text == (Datum) 0);
}

/* The role that acts, which a SECURITY DEFINER function does not change. */
static LbArg
acting_role(void)
{
	return lb_arg(NAMEOID, DirectFunctionCall1(namein,
											   CStringGetDatum(GetUserNameFromId(GetOuterUserId(), false))));
}

static int64
remove_rows(text *player, const char *type, Datum boards)
{
	static LbPlan plan;

	return (int64) lb_own_exec(&plan,
							   "DELETE FROM @.lb_hidden WHERE player_id OPERATOR(pg_catalog.=) $1 "
							   "AND player_type OPERATOR(pg_catalog.=) $2 AND board OPERATOR(pg_catalog.=) ANY ($3)",
							   LB_ARGS(text_arg(PointerGetDatum(player)), lb_arg_text(type),
									   lb_arg(TEXTARRAYOID, boards)));
}

/*
 * Since when the player is hidden stays, also if the reason is given later.
 */
void
lb_record_hidden(text *player, const char *type, const char *board,
				 Datum owners, Datum boards, Datum reason)
{
	static LbPlan plan;

	(void) remove_rows(player, type, boards);
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_hidden AS h (player_id, player_type, board, owners, hidden_by, reason) "
					   "VALUES ($1, $2, $3, $4, $5, $6) "
					   "ON CONFLICT (player_id, player_type, board) DO UPDATE SET hidden = true, "
					   "owners = CASE WHEN h.owners IS NOT NULL THEN excluded.owners END, "
					   "hidden_at = CASE WHEN h.hidden THEN h.hidden_at ELSE excluded.hidden_at END, "
					   "hidden_by = CASE WHEN h.hidden AND excluded.reason IS NULL THEN h.hidden_by ELSE excluded.hidden_by END, "
					   "reason = CASE WHEN h.hidden THEN COALESCE(excluded.reason, h.reason) ELSE excluded.reason END",
					   LB_ARGS(text_arg(PointerGetDatum(player)),
							   lb_arg_text(type),
							   lb_arg_text(board),
							   lb_arg_or_null(NAMEARRAYOID, owners, owners == (Datum) 0),
							   acting_role(),
							   text_arg(reason)));
}

void
lb_record_shown(text *player, const char *type, Datum boards, bool all)
{
	static LbPlan owned_plan;
	static LbPlan plan;

	if (all && superuser())
	{
		(void) lb_forget_hidden(player, type, boards);
		return;
	}
	(void) remove_rows(player, type, boards);

	/*
	 * What a superuser has recorded is also for leaderboards of other owners,
	 * so to other roles the present boards are exceptions to it.
	 */
	if (all)
		(void) lb_own_exec(&owned_plan,
						   "DELETE FROM @.lb_hidden "
						   "WHERE player_id OPERATOR(pg_catalog.=) $1 AND player_type OPERATOR(pg_catalog.=) $2 AND board OPERATOR(pg_catalog.=) '' AND owners IS NOT NULL",
						   LB_ARGS(text_arg(PointerGetDatum(player)), lb_arg_text(type)));
	(void) lb_own_exec(&plan,
					   "INSERT INTO @.lb_hidden (player_id, player_type, board, hidden, hidden_by) "
					   "SELECT h.player_id, h.player_type, b.name, false, $4 "
					   "FROM @.lb_hidden AS h, pg_catalog.unnest($3) AS b (name) "
					   "WHERE h.player_id OPERATOR(pg_catalog.=) $1 AND h.player_type OPERATOR(pg_catalog.=) $2 AND h.board OPERATOR(pg_catalog.=) '' "
					   "ON CONFLICT (player_id, player_type, board) DO UPDATE SET hidden = false, hidden_by = excluded.hidden_by",
					   LB_ARGS(text_arg(PointerGetDatum(player)),
							   lb_arg_text(type),
							   lb_arg(TEXTARRAYOID, boards),
							   acting_role()));
}

int64
lb_forget_hidden(text *player, const char *type, Datum boards)
{
	Datum		all = CStringGetTextDatum(LB_ALL_BOARDS);

	return remove_rows(player, type, boards) +
		remove_rows(player, type, lb_make_array(TEXTOID, &all, NULL, 1));
}

void
lb_hidden_end(const char *board)
{
	static LbPlan plan;
	const LbCatalog *cat = lb_catalog();

	if (cat == NULL || !cat->version_ok || none_hidden())
		return;
	(void) lb_own_exec(&plan,
					   "DELETE FROM @.lb_hidden WHERE board OPERATOR(pg_catalog.=) $1",
					   LB_ARGS(lb_arg_text(board)));
}
