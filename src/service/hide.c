/*-------------------------------------------------------------------------
 *
 * hide.c
 *	  Hiding players: lb_hide(), lb_show() and their like.
 *
 * A hidden player keeps the rows, with the column ranked_if false.  lb_hide()
 * sets it in the rows of all leaderboards and their windows, with the caller's
 * privileges.
 *
 * A submit that has not ended may have inserted rows of the player that an
 * UPDATE does not see.  The row of "global", which every submit locks, orders
 * the two: it is updated first, and so waits for the submit.  Where there is
 * no row to lock, since the first submit of the player has not ended,
 * lb_hide() finds the new row by a dirty snapshot, and waits for the
 * transaction that has inserted it.
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
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "boards/definition.h"
#include "boards/spi.h"
#include "boards/target.h"
#include "service/forward.h"
#include "service/hide.h"
#include "service/leaderboard.h"
#include "service/player.h"
#include "service/shard.h"
#include "service/submission.h"
#include "util/compat.h"

PG_FUNCTION_INFO_V1(lb_hide);
PG_FUNCTION_INFO_V1(lb_hide_key);
PG_FUNCTION_INFO_V1(lb_show);
PG_FUNCTION_INFO_V1(lb_show_key);
PG_FUNCTION_INFO_V1(lb_shard_set_ranked);

/* The argument of a call, and the player that it is on a board. */
typedef struct Player
{
	LbPlayerArgument argument;
	Datum		given;			/* the argument's value */
	const LbType *type;
	Datum		value;
	text	   *on_shard;		/* the player, on the server of the shard; or
								 * NULL */
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

/* The same before an UPDATE by the caller. */
static bool
wait_for_rows(const LbDefinition *defn, const Player *player)
{
	/* Without the privilege, do not wait: the UPDATE raises the error. */
	if (pg_class_aclcheck(defn->source, GetUserId(), ACL_UPDATE) != ACLCHECK_OK &&
		pg_attribute_aclcheck(defn->source,
							  get_attnum(defn->source, lb_ranked_if_column(defn)->name),
							  GetUserId(), ACL_UPDATE) != ACLCHECK_OK)
		return false;
	return lb_wait_for_rows(defn, player->type, player->value);
}

/*
 * Set ranked_if in a player's rows of a board; returns how many it has
 * changed.
 */
static uint64
set_ranked(const char *board, Player *player, bool ranked)
{
	LbDefinition *defn = player->on_shard != NULL ?
		lb_shard_defn(board, player->on_shard) : lb_find_recorded(board);
	Oid			types[2] = {InvalidOid, BOOLOID};
	Datum		values[2];
	Oid			source;
	const char *member;
	const char *column;
	char	   *lock = NULL;
	char	   *update;
	LbUser		saved;
	bool		switched;
	uint64		n;

	if (defn == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("board \"%s\" does not exist", board),
				 errhint("The table lb_board lists the boards; of a family, name the family itself.")));
	if (!defn->has_ranked_if)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("board \"%s\" has been made without \"ranked_if\"",
						board),
				 errdetail("Players are hidden by a boolean column of the table, which the board is created with."),
				 errhint("Add a column to the table, drop the board, and create it again with \"ranked_if\".")));
	player->type = lb_require_player_type(defn);
	player->value = lb_player_from(defn, player->type, player->given,
								   &player->argument);
	if (lb_is_elsewhere(defn))
		return lb_forward_ranked(defn,
								 DatumGetTextPP(lb_value_to_text(player->type, player->value)),
								 ranked);
	types[0] = player->type->oid;
	source = defn->source;
	member = lb_quoted(lb_member_column(defn));
	column = lb_quoted(lb_ranked_if_column(defn));

	/*
	 * Lock rows in the order of submits, which the column's collation need
	 * not be.
	 */
	if (defn->family)
		lock = psprintf("SELECT FROM %s WHERE %s OPERATOR(pg_catalog.=) $1 "
						"ORDER BY CAST(%s AS pg_catalog.text) COLLATE pg_catalog.\"C\" FOR NO KEY UPDATE",
						defn->from_name, member,
						lb_quoted(lb_board_column(defn)));
	update = psprintf("UPDATE %s SET %s = $2 WHERE %s OPERATOR(pg_catalog.=) $1 "
					  "AND (%s IS NULL OR %s OPERATOR(pg_catalog.<>) $2)",
					  defn->from_name, column, member, column, column);
	values[0] = player->value;
	values[1] = BoolGetDatum(ranked);

	/* Wait before we lock rows of the player, for which a submit may wait. */
	(void) wait_for_rows(defn, player);
	switched = lb_switch_from_superuser(&saved, defn, true);
	if (lock != NULL)
		(void) lb_run_once(lock, source, 1, types, values);
	n = lb_run_once(update, source, 2, types, values);

	/*
	 * If there is no row, we hold no lock on one, and a transaction may
	 * insert it.
	 */
	while (lock == NULL && n == 0 &&
		   wait_for_rows(defn, player))
		n = lb_run_once(update, source, 2, types, values);
	if (switched)
		lb_restore_user(&saved);
	return n;
}

/*
 * The order in which submits lock rows, leaderboards by their names: scores before
 * windows.  A submit that waits for the row of the score then sees that it is hidden.
 * Other boards come last.
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
 * The boards of all leaderboards, in that order; returns how many.  A bigint is a
 * player of those only whose players are integers, if there are any.  A text is a
 * player of those only whose players are of the type of those of "global", or of the
 * first leaderboard: the same text is another player where the type is another one.
 */
static int
all_boards(bool as_text, const char ***names)
{
	LbLeaderboard **leaderboards;
	int			n = lb_leaderboards(&leaderboards);
	const char **all = palloc(2 * n * sizeof(char *));
	const LbDefinition *first = lb_find_recorded(LB_GLOBAL);
	int			nall = 0;
	int			nintegers = 0;

	for (int i = 0; i < n; i++)
	{
		all[nall++] = pstrdup(leaderboards[i]->name);
		all[nall++] = pstrdup(leaderboards[i]->family);
	}
	n = nall;
	nall = 0;
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

		if (as_text ? lb_player_type(defn) == lb_player_type(first) :
			nintegers == 0 || defn->plain_member)
			all[nall++] = all[i];
	}
	*names = all;
	return nall;
}

/*
 * The statements run with the caller's privileges, and fire the table's
 * triggers.
 */
static int64
set_all_ranked(FunctionCallInfo fcinfo, bool ranked, bool as_text)
{
	Player		player = {
		.argument = {{"player_id", ranked ? "lb_show" : "lb_hide"}, as_text},
		.given = PG_GETARG_DATUM(0)
	};
	const char **names;
	int			n = 0;
	uint64		total = 0;

	if (PG_ARGISNULL(1))
		n = all_boards(as_text, &names);
	else
	{
		Datum	   *elements;
		int			nelements = lb_named_boards(PG_GETARG_ARRAYTYPE_P(1),
												&elements);

		names = palloc(Max(1, nelements) * sizeof(char *));
		for (int i = 0; i < nelements; i++)
			names[i] = TextDatumGetCString(elements[i]);
		qsort(names, nelements, sizeof(char *), hide_cmp);
		for (int i = 0; i < nelements; i++)
		{
			if (n == 0 || strcmp(names[i], names[n - 1]) != 0)
				names[n++] = names[i];
		}
	}

	/* There is no such player. */
	if (PG_ARGISNULL(0))
		return 0;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; i < n; i++)
		total += set_ranked(names[i], &player, ranked);
	SPI_finish();
	return (int64) total;
}

/* lb_hide() or lb_show() on the server of a shard, for one board. */
Datum
lb_shard_set_ranked(PG_FUNCTION_ARGS)
{
	Player		player = {
		.argument = {{"player_id", "lb_hide"}, true}
	};
	char	   *board;
	int			nestlevel;
	uint64		n;

	(void) lb_require_catalog();
	for (int i = 0; i < 4; i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	}
	player.given = PG_GETARG_DATUM(0);
	player.on_shard = PG_GETARG_TEXT_PP(0);
	board = text_to_cstring(PG_GETARG_TEXT_PP(2));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	nestlevel = lb_begin_shard(board, NULL, player.on_shard, PG_GETARG_INT64(1));
	n = set_ranked(board, &player, PG_GETARG_BOOL(3));
	AtEOXact_GUC(true, nestlevel);
	SPI_finish();
	PG_RETURN_INT64((int64) n);
}

Datum
lb_hide(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(set_all_ranked(fcinfo, false, false));
}

Datum
lb_hide_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(set_all_ranked(fcinfo, false, true));
}

Datum
lb_show(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(set_all_ranked(fcinfo, true, false));
}

Datum
lb_show_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(set_all_ranked(fcinfo, true, true));
}
