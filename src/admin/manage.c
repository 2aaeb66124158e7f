/*-------------------------------------------------------------------------
 *
 * manage.c
 *	  The SQL functions that make, drop and rebuild boards.
 *
 * lb_create_board() locks the source against writers, checks the definition,
 * makes the capture triggers, and writes a row of lb_board; the board is built
 * when the transaction has committed.  Renaming a column gives the row a new
 * number and the new name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "admin/checks.h"
#include "admin/expressions.h"
#include "admin/manage.h"
#include "admin/names.h"
#include "admin/triggers.h"
#include "boards/board_value.h"
#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/distributed.h"
#include "boards/expression.h"
#include "boards/keys.h"
#include "boards/options.h"
#include "boards/parts.h"
#include "boards/resolve.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "leaderboards/leaderboard.h"
#include "leaderboards/window.h"
#include "leaderboards/window_name.h"
#include "sql/spi.h"
#include "util/clock.h"
#include "util/compat.h"
#include "util/same.h"
#include "windows/window_admin.h"

PG_FUNCTION_INFO_V1(lb_create_board);
PG_FUNCTION_INFO_V1(lb_drop_board);
PG_FUNCTION_INFO_V1(lb_set_offline);

/*
 * A number for a row of lb_board that no other row has, also of a transaction
 * that has not committed.  Sequences are not replicated, so rows that have
 * come by replication have numbers which our sequence has not given yet; and a
 * restore sets it.  Then we move it past them.  We never set it: concurrent
 * transactions have taken numbers that are in no row yet.
 */
static LbArg
take_number(void)
{
	LbArg		sequence = lb_arg_regclass(lb_own_table("lb_board_id_seq"));

	for (;;)
	{
		int64		number;

		CHECK_FOR_INTERRUPTS();
		(void) lb_own_exec_latest("SELECT pg_catalog.nextval($1)", LB_ARGS(sequence));
		number = DatumGetInt64(lb_row_datum(SPI_tuptable, 0, 1));
		if (!lb_number_is_used((int32) number))
			return lb_arg_int4((int32) number);
		(void) lb_own_exec_latest("SELECT pg_catalog.count(pg_catalog.nextval($1)) FROM pg_catalog.generate_series(CAST(1 AS pg_catalog.int8), "
								  "(SELECT pg_catalog.max(b.id) FROM @.lb_board AS b) OPERATOR(pg_catalog.-) (SELECT s.last_value FROM @.lb_board_id_seq AS s)) AS n",
								  LB_ARGS(sequence));
	}
}


/* ----------------------------------------------------------------
 *		lb_create_board
 * ----------------------------------------------------------------
 */

/*
 * The options and the expressions of a definition, for lb_board.  What could
 * not be parsed is null.
 */
#define NRECORDED (LB_NOPTIONS + 1)

static void
recorded_values(const LbDefinition *defn, LbArg *args)
{
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		const char *recorded = lb_board_options[i].text(defn);

		args[i] = lb_arg_text(lb_same_string(recorded, "") ? NULL : recorded);
	}
	args[LB_NOPTIONS] = lb_names_of_expressions(defn);
}

/*
 * Lock the source against writers, to the end of the transaction, and raise
 * what keeps it from having the board.
 */
static void
lock_source(LbDefinition *defn)
{
	Oid			source = defn->source;
	Relation	rel;

	/* Ownership before the lock, and again under it. */
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", source),
				 errhint("Name a table.")));
	lb_require_owner(source);

	/* This can take as long as reading a table, so before the lock as well. */
	lb_window_check_board(defn->name, defn->family);
	lb_check_answers(defn->name, defn->family);

	/* In the order of a transaction that alters a function. */
	lb_lock_expressions(defn, source);
	rel = relation_open(source, ShareRowExclusiveLock);
	lb_require_owner(source);
	lb_check_source(rel);

	/*
	 * A transaction that writes to a partition itself holds no lock on the
	 * source.  Making the triggers of the first board would wait for it, but
	 * the second board's are there.
	 */
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		list_free(find_all_inheritors(source, ShareRowExclusiveLock, NULL));
	lb_analyze_expressions(defn, rel);
	lb_check_definition(defn, rel);
	relation_close(rel, NoLock);
}

/*
 * Raise 0A000 if the board and the other one of its leaderboard would be of a
 * table that is distributed and one that is not.
 */
static void
check_other_table(const LbDefinition *defn)
{
	bool		windows;
	const LbLeaderboard *found = lb_leaderboard_of_board(defn->name, &windows);
	const LbDefinition *other = found == NULL ? NULL :
		lb_read_defn(windows ? found->name : found->family);

	if (other != NULL &&
		SearchSysCacheExists1(RELOID, ObjectIdGetDatum(other->source)))
		lb_check_both_distributed(defn, other);
}

/*
 * Whether there is a board of that name, which is kept from others to the end
 * of the transaction.
 */
static bool
name_is_taken(const char *name)
{
	LockRelationOid(lb_require_catalog()->lb_board, RowExclusiveLock);
	lb_window_lock_name(name);
	return lb_read_defn(name) != NULL;
}

/*
 * Keep the name from other boards and windows, to the end of the transaction.
 */
static void
lock_name(const LbDefinition *defn)
{
	if (name_is_taken(defn->name))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("board \"%s\" already exists", defn->name),
				 errhint("Use lb_drop_board() first, or another name; to leave it as it is, if_not_exists => true.")));
	lb_window_check_board(defn->name, defn->family);
	lb_check_leaderboard_names(defn->name);
	check_other_table(defn);
}

/*
 * Make the triggers, unless the table is distributed, and write the row of
 * lb_board.
 */
static void
record_board(LbDefinition *defn, bool distributed)
{
	LbArg		args[NRECORDED + 3];
	StringInfoData columns;
	StringInfoData values;

	SPI_connect();
	if (!distributed)
		(void) lb_make_triggers(defn->source);
	lb_keep_expressions(defn, lb_table_owner(defn->source));
	recorded_values(defn, args);
	args[NRECORDED] = lb_arg_text(defn->name);
	args[NRECORDED + 1] = lb_arg_regclass(defn->source);
	initStringInfo(&columns);
	initStringInfo(&values);
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		appendStringInfo(&columns, "%s, ", lb_board_options[i].name);
		appendStringInfo(&values, "$%d, ", i + 1);
	}
	args[NRECORDED + 2] = take_number();
	(void) lb_own_exec_latest(psprintf("INSERT INTO @.lb_board (%sexpressions, board, source, id) VALUES (%s$%d, $%d, $%d, $%d)",
									   columns.data, values.data, NRECORDED,
									   NRECORDED + 1, NRECORDED + 2, NRECORDED + 3),
							  lengthof(args), args);
	SPI_finish();

	/* Our own changes are visible to us after this. */
	CommandCounterIncrement();
}

/*
 * The definition as it has been recorded.  Raises if it can have no index,
 * unless other servers have them.
 */
static LbDefinition *
recorded_board(const char *board, bool distributed)
{
	LbDefinition *recorded = lb_read_defn(board);

	if (recorded == NULL)
		elog(ERROR, "board \"%s\" was not recorded", board);
	lb_resolve_defn(recorded);
	(void) lb_resolve_parts(recorded, true);
	if (distributed && recorded->problem == lb_engine_problem)
		return recorded;
	if (recorded->problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make board \"%s\": %s", board,
						recorded->problem),
				 lb_problem_hint(recorded)));
	if (!recorded->captured)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make board \"%s\": a capture trigger of its table is disabled",
						board),
				 errhint("Use ALTER TABLE ... ENABLE ALWAYS TRIGGER %s.",
						 LB_ROW_TRIGGER)));
	return recorded;
}

/* Whether this transaction has created a table. */
static bool
is_new(Oid table)
{
	Relation	rel = relation_open(table, NoLock);
	bool		result = rel->rd_createSubid != InvalidSubTransactionId;

	relation_close(rel, NoLock);
	return result;
}

LbDefinition *
lb_record_defn(LbDefinition *defn, bool distributed)
{
	lock_name(defn);
	record_board(defn, distributed);
	return recorded_board(defn->name, distributed);
}

static void
note_existing(const char *name)
{
	ereport(NOTICE,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("board \"%s\" already exists, skipping", name)));
}

void
lb_make_board(LbDefinition *defn, bool if_not_exists)
{
	LbDefinition *recorded;
	bool		distributed;

	/* Another transaction may make it while we wait for the lock. */
	lock_source(defn);
	if (if_not_exists && name_is_taken(defn->name))
	{
		note_existing(defn->name);
		return;
	}
	if (defn->counts)
		lb_check_counts(defn);
	distributed = lb_serves(defn->source);
	recorded = lb_record_defn(defn, distributed);
	if (lb_windows_prefix(defn->name) >= 0)
	{
		SPI_connect();
		lb_windows_begin(recorded);
		SPI_finish();
	}

	/* Also of a distributed table: the launcher learns of the database. */
	lb_note_created(recorded);
	if (!distributed)
		return;
	if (is_new(recorded->source))
		ereport(NOTICE,
				(errmsg("the shards of board \"%s\" have no boards yet",
						recorded->name),
				 errdetail("Their servers see the table once the transaction has committed."),
				 errhint("The maintenance worker makes them then, and lb_maintain() does so at once.")));
	else
		lb_distributed->create(recorded);
}

/* The first argument that is an option, and the one behind the last. */
#define OPTIONS_ARG 2
#define IF_NOT_EXISTS_ARG (OPTIONS_ARG + LB_NOPTIONS)

static void
require_argument(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		lb_null_argument(name);
}

void
lb_take_definition(FunctionCallInfo fcinfo, LbDefinition *defn, bool recording)
{
	char	   *texts[LB_NOPTIONS];
	char	   *board;

	require_argument(fcinfo, 0, "board");
	require_argument(fcinfo, 1, "source");
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		if (lb_board_options[i].required)
			require_argument(fcinfo, OPTIONS_ARG + i, lb_board_options[i].name);
		texts[i] = PG_ARGISNULL(OPTIONS_ARG + i) ? NULL :
			text_to_cstring(PG_GETARG_TEXT_PP(OPTIONS_ARG + i));
	}
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	lb_check_board_name(board, recording);
	memset(defn, 0, sizeof(LbDefinition));
	strlcpy(defn->name, board, NAMEDATALEN);
	defn->source = PG_GETARG_OID(1);
	if (texts[LB_OPTION_BOARD_COLUMN] == NULL && strcmp(board, "*") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("board \"*\" must be a family"),
				 errhint("Give a \"board_column\".")));
	lb_set_options(defn, texts, lb_default_member);
}

Datum
lb_create_board(PG_FUNCTION_ARGS)
{
	LbDefinition defn;
	bool		if_not_exists;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_create_board()");
	require_argument(fcinfo, IF_NOT_EXISTS_ARG, "if_not_exists");
	if_not_exists = PG_GETARG_BOOL(IF_NOT_EXISTS_ARG);
	if (if_not_exists && !PG_ARGISNULL(0))
	{
		char	   *board = text_to_cstring(PG_GETARG_TEXT_PP(0));

		if (lb_read_defn(board) != NULL)
		{
			note_existing(board);
			PG_RETURN_VOID();
		}
	}
	lb_take_definition(fcinfo, &defn, false);
	PreventCommandIfReadOnly("lb_create_board()");
	lb_make_board(&defn, if_not_exists);
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		lb_drop_board
 * ----------------------------------------------------------------
 */

void
lb_unrecord_defn(const LbDefinition *defn)
{
	SPI_connect();
	lb_note_dropped(defn);
	(void) lb_own_exec_latest("DELETE FROM @.lb_board WHERE id OPERATOR(pg_catalog.=) $1",
							  LB_ARGS(lb_arg_int4(defn->id)));
	SPI_finish();
}

/*
 * The recorded definition of a board that the caller may drop, its table
 * locked to the end of the transaction.  Returns whether there is the table;
 * a superuser may drop a board without one.
 */
static bool
lock_to_drop(const char *board, LbDefinition *defn)
{
	for (;;)
	{
		const LbDefinition *found = lb_read_defn(board);
		Oid			source;

		if (found == NULL)
			lb_board_not_found(board, NULL);
		*defn = *found;
		source = defn->source;
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		{
			if (!superuser())
				ereport(ERROR,
						(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						 errmsg("must be superuser to drop a board whose table is gone")));
			return false;
		}
		lb_require_owner(source);
		LockRelationOid(source, AccessExclusiveLock);

		/* Another session may have made it anew, of another table. */
		found = lb_read_defn(board);
		if (found != NULL && found->source == source &&
			SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		{
			lb_require_owner(source);
			*defn = *found;
			return true;
		}
		UnlockRelationOid(source, AccessExclusiveLock);
	}
}

Datum
lb_drop_board(PG_FUNCTION_ARGS)
{
	LbDefinition defn;
	bool		exists;
	bool		others;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_drop_board()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	exists = lock_to_drop(text_to_cstring(PG_GETARG_TEXT_PP(0)), &defn);
	if (exists && !defn.counts && lb_serves(defn.source))
		lb_distributed->drop(&defn);

	SPI_connect();
	others = lb_has_others(&defn);
	if (exists && !others)
		lb_drop_triggers(defn.source);
	else if (exists &&
			 get_rel_relkind(defn.source) == RELKIND_PARTITIONED_TABLE)
	{
		/*
		 * A transaction that writes to a partition itself has no lock on the
		 * source.  Dropping the triggers would have waited for it.
		 */
		list_free(find_all_inheritors(defn.source, ShareRowExclusiveLock,
									  NULL));
	}
	if (exists)
		lb_drop_expressions(&defn);
	SPI_finish();
	lb_unrecord_defn(&defn);
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		lb_set_offline
 * ----------------------------------------------------------------
 */

/*
 * The recorded definition of a board whose table the caller owns.  A lock on
 * the table keeps other sessions from dropping it, or renaming its columns, to
 * the end of the transaction.
 */
static LbDefinition *
lock_own_board(const char *board)
{
	LbDefinition *defn;
	Oid			source;

	do
	{
		defn = lb_read_defn(board);
		if (defn == NULL)
			lb_board_not_found(board, "The table lb_board lists the boards; of a family, name the family itself.");
		source = defn->source;
		lb_require_owner(source);
		LockRelationOid(source, AccessShareLock);

		/* Another session may have dropped the board, and made it anew. */
		defn = lb_read_defn(board);
	} while (defn == NULL || defn->source != source);
	lb_require_owner(source);
	return defn;
}

void
lb_record_options(const LbDefinition *defn)
{
	LbArg		args[LB_NOPTIONS + 1];
	StringInfoData set;

	initStringInfo(&set);
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		const LbBoardOption *option = &lb_board_options[i];

		args[i] = lb_arg_text(option->text(defn));
		if (!option->of_index)
			appendStringInfo(&set, "%s%s = $%d", set.len > 0 ? ", " : "",
							 option->name, i + 1);
	}
	args[LB_NOPTIONS] = lb_arg_int4(defn->id);
	SPI_connect();
	(void) lb_own_exec_latest(psprintf("UPDATE @.lb_board SET %s WHERE id OPERATOR(pg_catalog.=) $%d",
									   set.data, LB_NOPTIONS + 1),
							  lengthof(args), args);
	SPI_finish();
	CommandCounterIncrement();
}

/* The trigger of lb_board lets the index be: lb_recorded_same_index(). */
Datum
lb_set_offline(PG_FUNCTION_ARGS)
{
	LbDefinition *defn;
	LbPolicy	offline = LB_POLICY_NONE;
	bool		distributed;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_set_offline()");
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	if (!PG_ARGISNULL(1))
		offline = lb_offline_from_text(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	defn = lock_own_board(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	distributed = !defn->counts && lb_serves(defn->source);
	if (distributed)
	{
		lb_distributed->require_coordinator(defn, "lb_set_offline()");

		/* As maintenance does, which records on other servers what is here. */
		lb_window_lock_name(defn->name);
	}
	defn->offline = offline;
	lb_record_options(defn);

	/* Other servers that run the board's queries record it as well. */
	if (distributed && !is_new(defn->source))
	{
		lb_resolve_defn(defn);
		lb_distributed->create(defn);
	}
	PG_RETURN_VOID();
}


/* ----------------------------------------------------------------
 *		Columns that are renamed
 * ----------------------------------------------------------------
 */

/*
 * Set name to what a column is called now.  A column that was not there keeps
 * its name.
 */
static void
current_name(char *name, Oid source, AttrNumber attno)
{
	HeapTuple	tuple;

	if (attno == InvalidAttrNumber)
		return;
	tuple = SearchSysCacheAttNum(source, attno);
	if (!HeapTupleIsValid(tuple))
		return;
	strlcpy(name, NameStr(((Form_pg_attribute) GETSTRUCT(tuple))->attname),
			NAMEDATALEN);
	ReleaseSysCache(tuple);
}

/*
 * So often we try to get all locks at once, the last times with some patience,
 * in milliseconds.
 */
#define LOCK_ROUNDS 16
#define PATIENT_ROUNDS 6
#define LEAST_PATIENCE 20

/* Sources that have row triggers, and their partitions. */
static List *
captured_tables(List *sources)
{
	List	   *tables = NIL;
	ListCell   *lc;

	foreach(lc, sources)
	{
		Oid			source = lfirst_oid(lc);

		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)) ||
			!lb_has_row_trigger(source))
			continue;
		tables = list_append_unique_oid(tables, source);
		if (get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE)
			tables = list_concat_unique_oid(tables,
											find_all_inheritors(source, NoLock, NULL));
	}
	return tables;
}

/*
 * Lock tables, all or none.  Returns the first whose lock is not to be had, if
 * it is not within so many milliseconds.  We are in no lock's queue meanwhile,
 * so a writer that waits for us is not in a deadlock.
 */
static Oid
try_to_lock(List *tables, long patience)
{
	int64		until = lb_clock() + patience * 1000;

	for (int i = 0; i < list_length(tables); i++)
	{
		Oid			table = list_nth_oid(tables, i);

		while (!ConditionalLockRelationOid(table, ShareRowExclusiveLock))
		{
			CHECK_FOR_INTERRUPTS();
			if (lb_clock() < until)
			{
				pg_usleep(1000L);
				continue;
			}
			for (int j = 0; j < i; j++)
				UnlockRelationOid(list_nth_oid(tables, j), ShareRowExclusiveLock);
			return table;
		}
	}
	return InvalidOid;
}

/* Wait outside the lock's queue, where later writers would wait behind us. */
static void
wait_for_writers(Oid table)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, table);
	WaitForLockersMultiple(list_make1(&tag), ShareRowExclusiveLock, false);
}

/*
 * A writer may write to several of the tables, in any order, and must not find
 * one locked by us while we wait for another: then it might be the one that is
 * cancelled.  So while we wait for a lock we hold no other.  First we wait for
 * the present writers only; after a few times in the queue, before later ones.
 */
void
lb_lock_captured(List *sources)
{
	Oid			waited = InvalidOid;
	List	   *locked = NIL;
	ListCell   *lc;

	for (int round = 0;; round++)
	{
		int			patient = round - (LOCK_ROUNDS - PATIENT_ROUNDS);
		Oid			missing;

		CHECK_FOR_INTERRUPTS();
		locked = captured_tables(sources);
		missing = try_to_lock(locked, patient < 0 ? 0 : LEAST_PATIENCE << patient);

		/* It was locked twice. */
		if (OidIsValid(waited))
			UnlockRelationOid(waited, ShareRowExclusiveLock);
		waited = InvalidOid;
		if (!OidIsValid(missing))
			break;
		if (round == LOCK_ROUNDS)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not lock table \"%s\" against writers",
							get_rel_name(missing)),
					 errdetail("Others write to several tables of boards at a time."),
					 errhint("Try again.")));
		wait_for_writers(missing);
		if (round < 2)
			continue;
		LockRelationOid(missing, ShareRowExclusiveLock);
		waited = missing;
	}

	/* A partition may have come before its table was locked. */
	foreach(lc, captured_tables(sources))
	{
		if (!list_member_oid(locked, lfirst_oid(lc)))
			LockRelationOid(lfirst_oid(lc), ShareRowExclusiveLock);
	}
}

/*
 * The definition of a board as it is recorded: old, or what another
 * transaction has made of that meanwhile.  Its table is locked, so that one
 * has sent its invalidations.  NULL if this transaction has recorded it anew,
 * or if it is gone.
 */
static const LbDefinition *
as_recorded(const LbDefinition *old)
{
	const LbDefinition *recorded = lb_read_defn(old->name);
	LbDefinition *defn;

	if (recorded == NULL || recorded->catalog != old->catalog)
		return NULL;
	if (recorded->id == old->id)
		return old;
	if (lb_created_here(recorded))
		return NULL;
	defn = lb_find_defn(old->name);
	if ((defn == NULL || defn->id != recorded->id) &&
		!lb_has_row_trigger(old->source))
		return NULL;			/* it was not locked */
	if (defn == NULL || defn->id != recorded->id)
		elog(ERROR, "definition of board \"%s\" is out of date", old->name);
	lb_xact_set_unknown(defn, "what an expression of the board names was altered");
	return defn;
}

void
lb_follow_rename(const LbDefinition *old)
{
	LbDefinition defn;
	LbDefinition *recorded;
	LbArg		args[NRECORDED + 2];
	StringInfoData columns;
	StringInfoData values;

	/* Another transaction may be recording it anew. */
	lb_lock_captured(list_make1_oid(old->source));
	old = as_recorded(old);
	if (old == NULL)
		return;

	/* The new names are visible to us after this. */
	CommandCounterIncrement();
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(old->source)))
		return;
	lb_copy_defn(&defn, old);
	for (int i = 0; i < defn.ncolumns; i++)
		current_name(defn.columns[i].name, defn.source,
					 defn.columns[i].attno);
	lb_refresh_expressions(&defn);
	lb_tidy_expressions(&defn);

	/*
	 * What could not be parsed stays as it is, and so do options that another
	 * transaction may set meanwhile.
	 */
	recorded_values(&defn, args);
	args[NRECORDED] = lb_arg_int4(defn.id);
	initStringInfo(&columns);
	initStringInfo(&values);
	for (int i = 0; i < LB_NOPTIONS; i++)
	{
		const LbBoardOption *option = &lb_board_options[i];

		if (!option->of_columns)
			continue;
		appendStringInfo(&columns, "%s, ", option->name);
		appendStringInfo(&values, "COALESCE($%d, %s), ", i + 1, option->name);
	}
	SPI_connect();
	lb_note_dropped(old);
	args[NRECORDED + 1] = take_number();
	if (lb_own_exec_latest(psprintf("UPDATE @.lb_board SET (%sexpressions, id) = ROW(%s$%d, $%d) WHERE id OPERATOR(pg_catalog.=) $%d",
									columns.data, values.data, NRECORDED,
									NRECORDED + 2, NRECORDED + 1),
						   lengthof(args), args) != 1)
	{
		/* Without triggers the table was not locked. */
		if (lb_has_row_trigger(defn.source))
			elog(ERROR, "board \"%s\" is not recorded", defn.name);
		SPI_finish();
		return;
	}
	SPI_finish();
	CommandCounterIncrement();

	recorded = lb_read_defn(defn.name);
	if (recorded == NULL)
		elog(ERROR, "board \"%s\" was not recorded", defn.name);
	lb_settle_width(recorded);
	lb_note_recorded_anew(recorded);

	/*
	 * Plans may have been made of what is recorded now, and of what was
	 * altered.
	 */
	CacheInvalidateRelcacheByRelid(defn.source);
}

void
lb_record_anew(LbDefinition *defn, const char *reason)
{
	lb_xact_set_unknown(defn, reason);
	lb_follow_rename(defn);
}
