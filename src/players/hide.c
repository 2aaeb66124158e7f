/*-------------------------------------------------------------------------
 *
 * hide.c
 *	  Hiding players: lb_hide(), lb_show() and their like.
 *
 * A hidden player keeps the rows, with the column ranked_if false.  lb_hide()
 * sets it in the rows of all leaderboards and their windows, with the caller's
 * privileges, and records in lb_hidden that the player is hidden (hidden.c):
 * by that, submits hide rows that they insert later.
 *
 * A submit that has not ended may have inserted rows of the player that an
 * UPDATE does not see.  The row of "global", which every submit locks, orders
 * the two: it is locked first, and so waits for the submit.  Where there is no
 * row to lock, since the first submit of the player has not ended, lb_hide()
 * finds the new row by a dirty snapshot, and waits for the transaction that
 * has inserted it.  Where that row is not there yet either, the lock on the
 * player (lb_lock_hidden) orders them.  Locks are taken in the order of
 * submit.c, after the rows of lb_hidden, which submits do not lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/target.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/player.h"
#include "players/hide.h"
#include "sql/spi.h"
#include "submit/hidden.h"
#include "submit/submission.h"
#include "util/compat.h"
#include "windows/archive.h"

PG_FUNCTION_INFO_V1(lb_may_hide);

/* The argument of a call, and the player that it is on a board. */
typedef struct Player
{
	LbPlayerArgument argument;
	Datum		given;			/* the argument's value */
	const LbType *type;
	Datum		value;
	const LbStandIn *stand_in;	/* for the leaderboards' tables, or NULL */
} Player;

/*
 * A unique index that finds the rows of a member, opened and locked; or NULL.
 */
static Relation
open_member_index(Relation rel, AttrNumber member)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisunique && index->rd_index->indisvalid &&
			index->rd_rel->relam == BTREE_AM_OID &&
			index->rd_index->indkey.values[0] == member &&
			RelationGetIndexPredicate(index) == NIL)
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

/*
 * The player as a value of an index's type; false if it does not fit.  Only
 * bigint is compared with columns of other types.
 */
static bool
member_datum(Oid index_type, const LbType *type, Datum player, Datum *result)
{
	int64		number;

	*result = player;
	if (index_type == type->oid)
		return true;
	number = DatumGetInt64(player);
	switch (index_type)
	{
		case INT2OID:
			*result = Int16GetDatum((int16) number);
			return number == (int16) number;
		case INT4OID:
			*result = Int32GetDatum((int32) number);
			return number == (int32) number;
		default:
			return false;
	}
}

/*
 * Wait for a transaction that has inserted a row of a player and has not
 * ended.  Returns whether there was one.  Raises 40001 if there is a row that
 * the snapshot of the whole transaction does not see.
 */
static bool
wait_for_row(Oid relid, const char *member, const LbType *type,
			 Datum player)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	Relation	index;
	SnapshotData dirty;
	ScanKeyData key;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	Datum		value;
	TransactionId xid = InvalidTransactionId;
	uint32		token = 0;
	bool		unseen = false;

	if (rel == NULL)
		return false;
	index = rel->rd_rel->relkind != RELKIND_RELATION ? NULL :
		open_member_index(rel, get_attnum(relid, member));
	if (index == NULL ||
		!member_datum(index->rd_opcintype[0], type, player, &value))
	{
		if (index != NULL)
			index_close(index, AccessShareLock);
		relation_close(rel, NoLock);
		return false;
	}
	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber,
						   index->rd_opcintype[0], index->rd_indcollation[0],
						   get_opcode(get_opfamily_member(index->rd_opfamily[0],
														  index->rd_opcintype[0],
														  index->rd_opcintype[0],
														  BTEqualStrategyNumber)),
						   value);
	InitDirtySnapshot(dirty);
	slot = table_slot_create(rel, NULL);
	scan = LB_INDEX_BEGINSCAN(rel, index, &dirty, 1);
	index_rescan(scan, &key, 1, NULL, 0);
	while (!TransactionIdIsValid(xid) &&
		   index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		xid = dirty.xmin;
		token = dirty.speculativeToken;
		if (!TransactionIdIsValid(xid) && IsolationUsesXactSnapshot())
			unseen |= !table_tuple_satisfies_snapshot(rel, slot,
													  GetTransactionSnapshot());
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	if (TransactionIdIsValid(xid) && token != 0)
		SpeculativeInsertionWait(xid, token);
	else if (TransactionIdIsValid(xid))
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
	if (TransactionIdIsValid(xid) && IsolationUsesXactSnapshot())
		unseen = TransactionIdDidCommit(xid);
	relation_close(rel, NoLock);
	if (unseen)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
	return TransactionIdIsValid(xid);
}

bool
lb_wait_for_rows(const LbDefinition *defn, const LbType *type, Datum player)
{
	const char *member = lb_member_column(defn)->name;
	bool		waited = false;

	if (defn->relkind != RELKIND_PARTITIONED_TABLE)
	{
		while (wait_for_row(defn->source, member, type, player))
			waited = true;
		return waited;
	}
	for (int i = 0; i < defn->nparts; i++)
	{
		while (wait_for_row(defn->parts[i], member, type, player))
			waited = true;
	}
	return waited;
}

/* Whether the current user may write ranked_if. */
static bool
may_update(const LbDefinition *defn)
{
	return pg_class_aclcheck(defn->source, GetUserId(), ACL_UPDATE) == ACLCHECK_OK ||
		pg_attribute_aclcheck(defn->source,
							  get_attnum(defn->source, lb_ranked_if_column(defn)->name),
							  GetUserId(), ACL_UPDATE) == ACLCHECK_OK;
}

/* The same before an UPDATE by the caller. */
static bool
wait_for_rows(const LbDefinition *defn, const Player *player)
{
	/* Without the privilege, do not wait: the UPDATE raises the error. */
	return may_update(defn) &&
		lb_wait_for_rows(defn, player->type, player->value);
}

/*
 * The definition of a board, and the player on it.  Raises 42704 if there is
 * no such board, 55000 if no player can be hidden there.
 */
static LbDefinition *
find_board(const char *board, Player *player)
{
	LbDefinition *defn = lb_find_in(player->stand_in, board);

	if (defn == NULL)
		lb_board_not_found(board, "The table lb_board lists the boards; of a family, name the family itself.");
	if (!lb_can_hide(defn))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 defn->has_ranked_if ?
				 errmsg("\"ranked_if\" of board \"%s\" is a condition",
						board) :
				 errmsg("board \"%s\" has been made without \"ranked_if\"",
						board),
				 errdetail("Players are hidden by a boolean column of the table, which the board is created with."),
				 errhint("Add a column to the table, drop the board, and create it again with \"ranked_if\".")));
	player->type = lb_require_player_type(defn);
	player->value =
		lb_player_as_sought(defn, lb_player_from(defn, player->type, player->given,
												 &player->argument));
	return defn;
}

/* The player as lb_hidden has it. */
static text *
player_text(const Player *player)
{
	return DatumGetTextPP(lb_value_to_text(player->type, player->value));
}

/*
 * Lock the row of a player on a leaderboard, which submits lock before they
 * insert rows of windows: as the owner of the table, since the caller need not
 * hide the player there.
 */
static void
lock_scores(const char *leaderboard, const Player *player)
{
	const LbDefinition *defn = lb_find_in(player->stand_in, leaderboard);

	if (defn == NULL || defn->family || defn->misfit || lb_is_distributed(defn) ||
		lb_player_type(defn) != player->type)
		return;

	/*
	 * As an UPDATE, before the row: the end of a season locks the table
	 * against writers, and then its rows.
	 */
	LockRelationOid(defn->source, RowExclusiveLock);
	(void) lb_wait_for_rows(defn, player->type, player->value);
	(void) lb_run_as_owner(defn, false,
						   psprintf("SELECT FROM %s WHERE %s OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE",
									defn->from_name,
									lb_quoted(lb_member_column(defn))),
						   LB_ARGS(lb_arg(player->type->oid, player->value)));
}

/*
 * A statement that locks a player's rows of a family, in the order of submits,
 * which the column's collation need not be.  Expressions have no part in it:
 * the player has one row for each row of values of the other columns.
 */
static char *
lock_text(const LbDefinition *defn)
{
	StringInfoData sql;
	const char *separator = " ORDER BY ";

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT FROM %s WHERE %s OPERATOR(pg_catalog.=) $1",
					 defn->from_name, lb_quoted(lb_member_column(defn)));
	for (int i = 0; i < defn->nboard; i++)
	{
		if (lb_board_columns(defn)[i].expression != NULL)
			continue;
		appendStringInfo(&sql, "%sCAST(%s AS pg_catalog.text) COLLATE pg_catalog.\"C\"",
						 separator, lb_quoted(&lb_board_columns(defn)[i]));
		separator = ", ";
	}
	appendStringInfoString(&sql, " FOR NO KEY UPDATE");
	return sql.data;
}

/*
 * Set ranked_if in a player's rows of a board; returns how many it has
 * changed.
 */
static uint64
set_ranked(const char *board, Player *player, bool ranked, bool all)
{
	LbDefinition *defn = find_board(board, player);
	Oid			source = defn->source;
	const char *member;
	const char *column;
	char	   *lock = NULL;
	char	   *update;
	LbArg		arg = lb_arg(player->type->oid, player->value);
	LbUser		saved;
	bool		switched;
	uint64		n;

	if (lb_is_distributed(defn))
		return lb_require_distributed()->forward_ranked(defn, player_text(player),
														ranked, all);
	member = lb_quoted(lb_member_column(defn));
	column = lb_quoted(lb_ranked_if_column(defn));

	if (defn->family)
		lock = lock_text(defn);
	update = psprintf("UPDATE %s SET %s = $2 WHERE %s OPERATOR(pg_catalog.=) $1 "
					  "AND (%s IS NULL OR %s OPERATOR(pg_catalog.<>) $2)",
					  defn->from_name, column, member, column, column);

	/* Wait before we lock rows of the player, for which a submit may wait. */
	(void) wait_for_rows(defn, player);
	switched = lb_switch_from_superuser(&saved, defn, true);
	if (lock != NULL)
		(void) lb_exec_once(lock, source, LB_ARGS(arg));
	n = lb_exec_once(update, source, LB_ARGS(arg, lb_arg_bool(ranked)));

	/*
	 * If there is no row, we hold no lock on one, and a transaction may
	 * insert it.
	 */
	while (lock == NULL && n == 0 &&
		   wait_for_rows(defn, player))
		n = lb_exec_once(update, source, LB_ARGS(arg, lb_arg_bool(ranked)));
	if (switched)
		lb_restore_user(&saved);

	/* Plans that were made while rows were off the board are made again. */
	if (ranked && n > 0)
		CacheInvalidateRelcacheByRelid(source);
	return n;
}

/*
 * The order in which submits lock rows, leaderboards by their names: scores
 * before windows.  A submit that waits for the row of the score then sees that
 * it is hidden.  Other boards come last.
 */
static int
hide_cmp(const void *a, const void *b)
{
	const char *na = *(const char *const *) a;
	const char *nb = *(const char *const *) b;
	bool		wa;
	bool		wb;
	const LbLeaderboard *la = lb_leaderboard_of_board(na, &wa);
	const LbLeaderboard *lb = lb_leaderboard_of_board(nb, &wb);

	int			c = (la == NULL) - (lb == NULL);

	if (c == 0 && la != NULL)
		c = strcmp(la->name, lb->name);
	if (c == 0 && la != NULL)
		c = wa - wb;
	return c != 0 ? c : strcmp(na, nb);
}

/*
 * The boards of all leaderboards, in that order; returns how many.  A bigint
 * is a player of those only whose players are integers, if there are any.  A
 * text is a player of those only whose players are of the type of those of
 * "global", or of the first leaderboard: the same text is another player where
 * the type is another one.
 */
static int
all_boards(bool as_text, const char ***names)
{
	const char **all;
	int			n = lb_leaderboard_boards(&all);
	const LbDefinition *first = lb_find_recorded(LB_GLOBAL);
	int			nall = 0;
	int			nintegers = 0;

	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = lb_find_recorded(all[i]);

		if (defn == NULL)
			continue;
		if (first == NULL)
			first = defn;
		all[nall++] = all[i];
		nintegers += defn->plain_member;
	}
	n = nall;
	nall = 0;
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = lb_find_recorded(all[i]);

		if (defn == NULL)
			continue;
		if (as_text ? lb_player_type(defn) == lb_player_type(first) :
			nintegers == 0 || defn->plain_member)
			all[nall++] = all[i];
	}
	*names = all;
	return nall;
}

/*
 * Whether the current user may hide players on a board, of which it has no
 * lock.
 */
static bool
may_hide(const char *board, const char *type, Datum owners, bool any_owner)
{
	LbDefinition *defn = lb_find_defn(board);
	Oid			user = GetUserId();

	/* A role without privileges on the table keeps no lock on it. */
	if (defn == NULL ||
		(pg_class_aclcheck(defn->source, user, ACL_UPDATE) != ACLCHECK_OK &&
		 pg_attribute_aclcheck_all(defn->source, user, ACL_UPDATE,
								   ACLMASK_ANY) != ACLCHECK_OK))
		return false;
	defn = lb_find_recorded(board);
	if (defn == NULL || !lb_can_hide(defn) || lb_player_type(defn) == NULL ||
		strcmp(lb_player_type(defn)->sql_name, type) != 0 ||
		!lb_is_of_owners(defn, owners, any_owner))
		return false;
	return may_update(defn) && lb_may_read(defn) &&
		check_enable_rls(defn->source, InvalidOid, true) != RLS_ENABLED;
}

/* For the view lb_hidden_player. */
Datum
lb_may_hide(PG_FUNCTION_ARGS)
{
	char	   *board;
	char	   *type;
	Datum		owners = PG_GETARG_DATUM(2);
	const char **names;
	int			n;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_BOOL(false);
	(void) lb_require_catalog();
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	type = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (strcmp(board, LB_ALL_BOARDS) != 0)
		PG_RETURN_BOOL(may_hide(board, type, (Datum) 0, true));
	n = lb_leaderboard_boards(&names);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (may_hide(names[i], type, owners, PG_ARGISNULL(2)))
			PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(false);
}

/*
 * Raise 42501 unless the caller may hide a player on a board, before anything
 * is recorded.  Policies cannot tell which players those are.
 */
static void
require_may_hide(LbDefinition *defn, const Player *player)
{
	if (!may_update(defn) || !lb_may_read(defn))
		lb_denied(defn, "SELECT and UPDATE");
	if (check_enable_rls(defn->source, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security of table \"%s\" does not apply to who is hidden",
						get_rel_name(defn->source)),
				 errhint("Call %s in a SECURITY DEFINER function of a role to which no policies apply.",
						 lb_player_function(&player->argument))));
}

/* Check that the caller may hide a player on a board, and on this server. */
static void
check_board(const char *board, Player *player)
{
	LbDefinition *defn = find_board(board, player);

	require_may_hide(defn, player);

	/*
	 * The coordinator has the record: for leaderboards that are made later,
	 * and to be read.
	 */
	if (lb_is_distributed(defn))
		lb_require_distributed()->require_coordinator(defn,
													  lb_player_function(&player->argument));
}

/* What a call hides or shows. */
typedef struct Hide
{
	Player		player;
	bool		ranked;			/* lb_show() */
	bool		all;			/* leaderboards */
	const char **boards;
	int			nboards;
	Datum		reason;			/* or 0 */
} Hide;

/*
 * The owners of the boards' tables, or 0 if the caller may hide on those of
 * any owner.
 */
static Datum
owners_of(const Hide *hide)
{
	Datum	   *names = palloc(Max(1, hide->nboards) * sizeof(Datum));
	int			n = 0;

	if (superuser())
		return (Datum) 0;
	for (int i = 0; i < hide->nboards; i++)
	{
		const LbDefinition *defn = lb_find_recorded(hide->boards[i]);
		int			j = 0;

		if (defn == NULL)
			continue;
		names[n] = lb_arg_owner(defn).value;
		while (j < n && strcmp(NameStr(*DatumGetName(names[j])),
							   NameStr(*DatumGetName(names[n]))) != 0)
			j++;
		n += j == n;
	}
	return lb_make_array(NAMEOID, names, NULL, n);
}

static Datum
names_of(const char **boards, int n)
{
	Datum	   *names = palloc(Max(1, n) * sizeof(Datum));

	for (int i = 0; i < n; i++)
		names[i] = CStringGetTextDatum(boards[i]);
	return lb_make_array(TEXTOID, names, NULL, n);
}

/* Record that the player is hidden, or no more.  The boards are checked. */
static void
record(Hide *hide)
{
	Player	   *player = &hide->player;
	Datum		names = names_of(hide->boards, hide->nboards);
	Datum		none = names_of(NULL, 0);

	if (hide->all)
	{
		(void) find_board(hide->boards[0], player);
		if (hide->ranked)
			lb_record_shown(player_text(player), player->type->sql_name, names,
							true);
		else
			lb_record_hidden(player_text(player), player->type->sql_name,
							 LB_ALL_BOARDS, owners_of(hide), names,
							 hide->reason);
		return;
	}
	for (int i = 0; i < hide->nboards; i++)
	{
		/* Of another type it is another player. */
		(void) find_board(hide->boards[i], player);
		if (hide->ranked)
			lb_record_shown(player_text(player), player->type->sql_name,
							names_of(hide->boards + i, 1), false);
		else
			lb_record_hidden(player_text(player), player->type->sql_name,
							 hide->boards[i], (Datum) 0, none, hide->reason);
	}
}

/*
 * Lock the player on the leaderboard that a board is of, unless it is that of
 * the board before.  For a distributed table, the server that has the rows
 * does it.
 */
static void
lock_player(Player *player, const char *board, const char **leaderboard)
{
	bool		windows;
	const LbLeaderboard *found = lb_leaderboard_of_board(board, &windows);

	if (found == NULL ||
		(*leaderboard != NULL && strcmp(*leaderboard, found->name) == 0))
		return;
	*leaderboard = pstrdup(found->name);
	if (lb_is_distributed(find_board(board, player)))
		return;
	lb_lock_hidden(*leaderboard, player_text(player), ExclusiveLock);
	lock_scores(*leaderboard, player);
}

/*
 * Hide or show a player; returns in how many rows.  The statements run with
 * the caller's privileges, and fire the table's triggers.
 */
static uint64
run_hide(Hide *hide)
{
	const char *leaderboard = NULL;
	uint64		n = 0;

	for (int i = 0; i < hide->nboards; i++)
		check_board(hide->boards[i], &hide->player);
	if (hide->nboards > 0)
		record(hide);
	for (int i = 0; i < hide->nboards; i++)
	{
		lock_player(&hide->player, hide->boards[i], &leaderboard);
		n += set_ranked(hide->boards[i], &hide->player, hide->ranked,
						hide->all);
	}
	return n;
}

/* The boards that a call names, in the order of hide_cmp(), each once. */
static void
set_named_boards(Hide *hide, ArrayType *names)
{
	Datum	   *elements;
	int			n = lb_named_boards(names, &elements);
	const char **boards = palloc(Max(1, n) * sizeof(char *));

	hide->boards = boards;
	for (int i = 0; i < n; i++)
		boards[i] = TextDatumGetCString(elements[i]);
	qsort(boards, n, sizeof(char *), hide_cmp);
	for (int i = 0; i < n; i++)
	{
		if (hide->nboards == 0 ||
			strcmp(boards[i], boards[hide->nboards - 1]) != 0)
			boards[hide->nboards++] = boards[i];
	}
}

/* lb_hide(), lb_show(), or their twins. */
static Datum
set_all_ranked(FunctionCallInfo fcinfo, bool ranked, bool as_text)
{
	Hide		hide = {
		.player = {
			.argument = {{"member", ranked ? "lb_show" : "lb_hide"}, as_text},
			.given = PG_GETARG_DATUM(0)
		},
		.ranked = ranked,
		.all = PG_ARGISNULL(1),
		.reason = PG_NARGS() == 3 && !PG_ARGISNULL(2) ? PG_GETARG_DATUM(2) : 0
	};
	LbTarget	target;
	uint64		total;

	(void) lb_require_catalog();
	if (hide.all)
		hide.nboards = all_boards(as_text, &hide.boards);
	else
		set_named_boards(&hide, PG_GETARG_ARRAYTYPE_P(1));

	/* There is no such player. */
	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(0);

	/* It raises if there is no leaderboard. */
	if (hide.all && hide.nboards == 0)
		lb_find_target(LB_GLOBAL, strlen(LB_GLOBAL), &target);
	SPI_connect();
	total = run_hide(&hide);
	SPI_finish();
	PG_RETURN_INT64((int64) total);
}

static Datum
hide(FunctionCallInfo fcinfo, bool as_text)
{
	return set_all_ranked(fcinfo, false, as_text);
}

static Datum
show(FunctionCallInfo fcinfo, bool as_text)
{
	return set_all_ranked(fcinfo, true, as_text);
}

LB_TWINS(lb_hide, hide)
LB_TWINS(lb_show, show)

/* The player of whom tables stand in. */
static Player
stand_in_player(const LbStandIn *in)
{
	Player		player = {
		.argument = {{"member", "lb_hide"}, true},
		.given = PointerGetDatum(in->player),
		.stand_in = in
	};

	return player;
}

void
lb_check_hide_in(const LbStandIn *in, const char *board)
{
	Player		player = stand_in_player(in);

	require_may_hide(find_board(board, &player), &player);
}

uint64
lb_hide_in(const LbStandIn *in, const char *board, bool ranked, bool all)
{
	Player		player = stand_in_player(in);
	const char *leaderboard = NULL;

	lock_player(&player, board, &leaderboard);
	return set_ranked(board, &player, ranked, all);
}
