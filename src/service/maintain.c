/*-------------------------------------------------------------------------
 *
 * maintain.c
 *	  The end of windows and seasons.
 *
 * A window that is written to no more is closed: its final standings go to
 * lb_archive and its key to lb_closed, in one transaction, under the lock on
 * its key that submits hold (lb_window_lock).  When its rows are no longer to
 * be kept they go in batches, each a transaction of its own where the worker
 * does it: no lock is held for long, and a board is never changed by more
 * than a small commit.  The members of a batch come from the board itself, so
 * that each row is found by its unique index; what is not on the board is
 * looked for in the table when the board is empty, and goes in batches too.
 * Rows that a foreign key of another table refers to stay, and keep no others.
 * A partition that holds just this window is dropped instead, as the last
 * thing that a transaction does.
 *
 * Which windows have rows is known from the boards.  One whose rows are all
 * hidden has no board, so the table itself is read now and then as well, by
 * the worker a part in each transaction: nobody waits for long who wants the
 * table, or the database, to himself.
 *
 * All of it can stop anywhere and be taken up again: what is to be done next
 * is read from lb_closed, from the boards and from the table.
 *
 * The extension's own tables are trimmed without waiting for anybody's row:
 * a submit locks rows of lb_usage in an order that a scan does not have.  They
 * are read once in a visit: a batch goes on where the one before it ended.
 *
 * Rows of the user's table are removed with the rights of the table's owner,
 * in a restricted context, as VACUUM would run his functions: triggers of his
 * fire.  So are seasons reset, unless the owner does it.  The extension's own
 * tables are written as their owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "boards/own.h"
#include "boards/wait.h"
#include "capture/ddl.h"
#include "service/maintain.h"
#include "service/window.h"
#include "workers/worker.h"

/* Rows that the worker removes in a transaction. */
#define BATCH_ROWS 2000

/* Rows that are on no board, found in one pass over the table. */
#define LEFT_ROWS 100000

/* Rows of the user's table that are copied to lb_archive by one statement. */
#define ARCHIVE_ROWS 10000

/* How long dropping a partition may keep others waiting at most. */
#define DROP_LOCK_TIMEOUT 50

/*
 * How long the worker waits for any lock at most, and everybody for a user's
 * row, in milliseconds.  What it does not get by then it tries again at its next
 * visit.
 */
#define LOCK_TIMEOUT 1000

/*
 * A table is read for windows that have no board at every visit while it has
 * no more than so many blocks, and else after so many hours, so many blocks in
 * a transaction.
 */
#define LOOK_BLOCKS 4096
#define LOOK_HOURS 24

PG_FUNCTION_INFO_V1(lb_maintain);
PG_FUNCTION_INFO_V1(lb_close_season);
PG_FUNCTION_INFO_V1(lb_archive_top);

int			lb_maintenance_interval = 300;
int			lb_event_retention = 30 * 86400;
int			lb_applied_retention = 7 * 86400;
int			lb_anomaly_retention = 90 * 86400;

/* What a transaction has done. */
typedef struct Done
{
	int64		closed;
	int64		archived;
	int64		removed;
	bool		more;			/* there is more to do at once */
} Done;

/* Rows of a key that are on no board, where they were when we looked. */
typedef struct Left
{
	char	   *key;			/* NULL: nobody has looked */
	Oid		   *tables;			/* a ctid is one of each partition */
	ItemPointerData *rows;
	int			nrows;
	int			next;			/* the first that has not been tried */
	int64		removed;
	bool		all;			/* there were no others */
	int64		refused;		/* rows that a constraint keeps */
	char	   *why;			/* what it said, or NULL */
} Left;

/* The extension's own tables that are trimmed. */
typedef enum Trimmed
{
	TRIM_EVENT,
	TRIM_APPLIED,
	TRIM_ANOMALY,
	TRIM_USAGE,
	NTRIMMED
} Trimmed;

/* Where the next batch of one begins. */
typedef struct Trim
{
	ItemPointerData after;		/* the last row that was removed */
	bool		ended;			/* there was no other */
} Trim;

/* A visit of the worker to a database, or a call of lb_maintain(). */
typedef struct Visit
{
	bool		one;			/* a transaction for each thing that is done */
	int			max_rows;		/* to be removed in a transaction */
	MemoryContext context;		/* of what outlives a transaction */
	LbDefinition *defn;			/* the family "*", or NULL */
	bool		looked;			/* which keys are to be closed */
	TimestampTz looked_at;		/* if all of the table is read, else 0 */
	Oid			reading;		/* the table, if it has not all been read */
	bool		read_all;		/* for what is on boards as well */
	BlockNumber next_block;		/* where to read on */
	List	   *to_close;
	List	   *skip;			/* keys that could not be removed */
	bool		in_use;			/* the table: nothing is dropped of it */
	Left		left;
	Trim		trims[NTRIMMED];
	Done		done;
} Visit;

/* Something that may fail; the others go on. */
typedef void (*Action) (Visit *visit, const LbDefinition *defn,
						const LbWindow *window, const char *key);


/* ----------------------------------------------------------------
 *		Statements
 * ----------------------------------------------------------------
 */

/*
 * Run a statement on a table, or InvalidOid, with the rights of the source's
 * owner.  Rows that policies hide from the owner, by FORCE ROW LEVEL SECURITY,
 * are left out unless all rows are meant.
 */
static uint64
run_as_owner(const LbDefinition *defn, bool all_rows, const char *sql,
			 Oid table, int nargs, const Oid *types, Datum *values)
{
	LbUser		saved;
	uint64		n;

	lb_switch_to_owner(&saved, defn->owner, all_rows);
	n = lb_run_once(sql, table, nargs, types, values);
	lb_restore_user(&saved);
	return n;
}

/* The same of an UPDATE or a DELETE. */
static uint64
write_as_owner(const LbDefinition *defn, bool all_rows, const char *sql,
			   int nargs, const Oid *types, Datum *values)
{
	lb_check_at_once(defn);
	return run_as_owner(defn, all_rows, sql, defn->source, nargs, types,
						values);
}

/* The same of a DELETE, which does not wait for long for anybody's row. */
static uint64
delete_as_owner(const LbDefinition *defn, const char *sql, int nargs,
				Oid *types, Datum *values)
{
	int			nestlevel = NewGUCNestLevel();
	int			timeout = lb_lock_timeout(LOCK_TIMEOUT);
	uint64		n;

	if (LockTimeout == 0 || LockTimeout > timeout)
		(void) set_config_option("lock_timeout", psprintf("%d", timeout),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
	n = write_as_owner(defn, false, sql, nargs, types, values);
	AtEOXact_GUC(true, nestlevel);
	return n;
}


/* ----------------------------------------------------------------
 *		Closing
 * ----------------------------------------------------------------
 */

/* Who owns a board's table, by name. */
static Datum
owner_name(const LbDefinition *defn)
{
	return DirectFunctionCall1(namein,
							   CStringGetDatum(GetUserNameFromId(defn->owner, false)));
}

/* The number of a board's table in lb_archive_source. */
static Datum
source_number(const LbDefinition *defn)
{
	static LbPlan plans[2];
	static const Oid types[] = {REGCLASSOID};
	Datum		values[1];
	Datum		result;
	bool		isnull;

	values[0] = ObjectIdGetDatum(defn->source);
	(void) lb_own_run(&plans[0],
					  "INSERT INTO @.lb_archive_source (source) VALUES ($1) ON CONFLICT (source) DO NOTHING",
					  1, types, values, NULL);

	/* In a snapshot of its own: somebody else may have entered it. */
	if (lb_own_run(&plans[1],
				   "SELECT id FROM @.lb_archive_source WHERE source OPERATOR(pg_catalog.=) $1",
				   1, types, values, NULL) != 1)
		elog(ERROR, "table %u is missing in \"lb_archive_source\"",
			 defn->source);
	result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						   &isnull);
	SPI_freetuptable(SPI_tuptable);
	return result;
}

/*
 * A window's board is asked for as one of the family "*", whose rows they are
 * that are removed: another family may have the name that the key begins with.
 */
static Datum
window_board(const char *key)
{
	return CStringGetTextDatum(psprintf("*:%s", key));
}

#define ARCHIVE \
	"INSERT INTO @.lb_archive (board, season, place, rank, member, score, owner, source) " \
	"SELECT $1, $2, t.place, t.rank, t.member, t.score, $4, $5 " \
	"FROM ROWS FROM (@.lb_top($3, $6, CAST(0 AS pg_catalog.int8))) WITH ORDINALITY AS t (rank, member, score, place) "

/*
 * Copy the first places of a board to lb_archive; all if top is below 0.  Those of
 * a window not again, if they are there: they were final.  A window has no season,
 * and is entered in lb_closed by the same statement: who hides a player meanwhile
 * is seen by both or by neither.
 */
static int64
archive(const LbDefinition *defn, const char *board, const char *season,
		int64 top)
{
	static LbPlan plans[2];
	static const Oid types[] = {TEXTOID, TEXTOID, INT4OID, NAMEOID, INT4OID,
	TEXTOID};
	bool		window = season[0] == '\0';
	Datum		values[6];

	if (top == 0 && !window)
		return 0;
	values[0] = CStringGetTextDatum(board);
	values[1] = CStringGetTextDatum(season);
	values[2] = Int32GetDatum(top < 0 || top > PG_INT32_MAX ? PG_INT32_MAX :
							  (int32) top);
	values[3] = owner_name(defn);
	values[4] = source_number(defn);
	values[5] = window ? window_board(board) : values[0];
	return lb_own_run(&plans[window], window ?
					  "WITH c AS (INSERT INTO @.lb_closed (board, members) VALUES ($1, @.lb_count($6))) "
					  ARCHIVE
					  "WHERE NOT EXISTS (SELECT FROM @.lb_archive a WHERE a.board OPERATOR(pg_catalog.=) $1 "
					  "AND a.season OPERATOR(pg_catalog.=) $2 AND a.owner OPERATOR(pg_catalog.=) $4) "
					  "ON CONFLICT DO NOTHING" : ARCHIVE,
					  6, types, values, NULL);
}

/*
 * Close a window whose time has come, unless somebody who has written to it, or
 * opened it anew, is still in his transaction: nobody new can come.
 */
static void
close_window(Visit *visit, const LbDefinition *defn, const LbWindow *unused,
			 const char *key)
{
	LbSpan		span;
	LbWindow   *window;

	if (!lb_window_try_lock(key, strlen(key), ExclusiveLock) ||
		lb_window_is_closed(key, strlen(key)))
		return;

	/* What is recorded now, and not when we looked. */
	AcceptInvalidationMessages();
	window = lb_window_of_key(key, strlen(key), &span);
	if (window == NULL ||
		GetCurrentTimestamp() < lb_window_closes(window, &span))
		return;
	visit->done.archived += archive(defn, key, "", window->archive_top);
	visit->done.closed++;
}

/* The first column of the n rows that SPI has just returned, which go. */
static List *
keys_of_result(uint64 n)
{
	List	   *keys = NIL;

	for (uint64 i = 0; i < n; i++)
		keys = lappend(keys, SPI_getvalue(SPI_tuptable->vals[i],
										  SPI_tuptable->tupdesc, 1));
	SPI_freetuptable(SPI_tuptable);
	return keys;
}

/*
 * The keys of the rows in some blocks of the table, of each of its partitions;
 * with unranked, only of those that are on no board.  All blocks if there is no
 * end.
 */
static List *
keys_of_rows(const LbDefinition *defn, bool unranked, BlockNumber begin,
			 BlockNumber end)
{
	const char *column = quote_identifier(defn->board_column);
	ItemPointerData tids[2];
	Oid			types[] = {TIDOID, TIDOID};
	Datum		values[2];
	StringInfoData sql;
	uint64		n;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT DISTINCT CAST(%s AS pg_catalog.text) FROM %s WHERE %s IS NOT NULL",
					 column, defn->from_name, column);
	if (BlockNumberIsValid(end))
		appendStringInfoString(&sql, " AND ctid OPERATOR(pg_catalog.>=) $1 AND ctid OPERATOR(pg_catalog.<) $2");
	if (unranked)
	{
		appendStringInfo(&sql, " AND (%s IS NULL",
						 quote_identifier(defn->member));
		for (int i = 0; i < defn->ncolumns; i++)
			appendStringInfo(&sql, " OR %s IS NULL",
							 quote_identifier(defn->columns[i].name));
		if (defn->ranked_if[0] != '\0')
			appendStringInfo(&sql, " OR %s IS NOT TRUE",
							 quote_identifier(defn->ranked_if));
		appendStringInfoChar(&sql, ')');
	}
	ItemPointerSet(&tids[0], begin, InvalidOffsetNumber);
	ItemPointerSet(&tids[1], end, InvalidOffsetNumber);
	values[0] = PointerGetDatum(&tids[0]);
	values[1] = PointerGetDatum(&tids[1]);
	n = run_as_owner(defn, false, sql.data, defn->source,
					 BlockNumberIsValid(end) ? 2 : 0, types, values);
	return keys_of_result(n);
}

/*
 * The keys that have a board.  *all is set where there is no index to know them:
 * those of all rows of the table are needed instead.  Returns false while the
 * index is being built.
 */
static bool
keys_of_boards(const LbDefinition *defn, List **result, bool *all)
{
	static LbPlan plan;
	static const Oid types[] = {OIDOID};
	List	   *keys = NIL;
	Datum		values[1];
	bool		offline = true;
	bool		ready = false;
	uint64		n;

	values[0] = ObjectIdGetDatum(defn->source);
	n = lb_own_run(&plan,
				   "SELECT s.board, s.state FROM @.lb_stat_rows() s WHERE s.source OPERATOR(pg_catalog.=) $1 "
				   "AND (s.members OPERATOR(pg_catalog.>) 0 OR s.board OPERATOR(pg_catalog.=) '*')",
				   1, types, values, NULL);
	for (uint64 i = 0; i < n; i++)
	{
		char	   *board = SPI_getvalue(SPI_tuptable->vals[i],
										 SPI_tuptable->tupdesc, 1);
		char	   *state = SPI_getvalue(SPI_tuptable->vals[i],
										 SPI_tuptable->tupdesc, 2);

		if (strcmp(board, "*") == 0)
		{
			ready = strcmp(state, "ready") == 0;
			offline = strcmp(state, "offline") == 0;
		}
		else
			keys = lappend(keys, board);
	}
	SPI_freetuptable(SPI_tuptable);
	*all = !ready && offline;
	*result = *all ? NIL : keys;
	return ready || offline;
}

/*
 * The blocks of the table; of a partitioned one those of its largest partition,
 * *total of all of them, and *npartitions of them that have more than begin.
 */
static BlockNumber
blocks_of(const LbDefinition *defn, BlockNumber begin, int *npartitions,
		  uint64 *total)
{
	BlockNumber most = 0;
	ListCell   *lc;

	*npartitions = 0;
	*total = 0;
	foreach(lc, find_all_inheritors(defn->source, AccessShareLock, NULL))
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		if (rel->rd_rel->relkind == RELKIND_RELATION)
		{
			BlockNumber blocks = RelationGetNumberOfBlocks(rel);

			most = Max(most, blocks);
			*total += blocks;
			*npartitions += blocks > begin;
		}
		table_close(rel, NoLock);
	}
	return most;
}

/* Whether the table is to be read for keys that have no board. */
static bool
must_look(const LbDefinition *defn, LbSharedBoard *shared)
{
	int			npartitions;
	uint64		total;

	if (shared == NULL ||
		lb_elapsed((TimestampTz) pg_atomic_read_u64(&shared->looked),
					   GetCurrentTimestamp(), LOOK_HOURS * 3600 * 1000))
		return true;
	(void) blocks_of(defn, 0, &npartitions, &total);
	return total <= LOOK_BLOCKS;
}

static bool
listed(List *list, const char *key)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		if (strcmp((char *) lfirst(lc), key) == 0)
			return true;
	}
	return false;
}

/*
 * Find out which of these keys are to be closed.  Rows of a window that had been
 * removed, by whomever they were written, are removed again; but those that a
 * trigger of the user's keeps are not asked for at every visit.
 */
static void
sort_out(Visit *visit, List *keys)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTARRAYOID, TIMESTAMPTZOID};
	TimestampTz now = GetCurrentTimestamp();
	List	   *again = NIL;
	ListCell   *lc;

	foreach(lc, keys)
	{
		char	   *key = lfirst(lc);
		LbSpan		span;
		LbWindow   *window = lb_window_of_key(key, strlen(key), &span);

		if (window == NULL || now < lb_window_closes(window, &span) ||
			listed(visit->to_close, key))
			continue;
		if (!lb_window_is_closed(key, strlen(key)))
		{
			MemoryContext old = MemoryContextSwitchTo(visit->context);

			visit->to_close = lappend(visit->to_close, pstrdup(key));
			MemoryContextSwitchTo(old);
		}
		else if (now >= lb_window_goes(window, &span))
			again = lappend(again, key);
	}
	if (visit->looked_at != 0 && again != NIL)
	{
		Datum	   *keys_again = palloc(list_length(again) * sizeof(Datum));
		Datum		values[2];
		int			n = 0;

		foreach(lc, again)
			keys_again[n++] = CStringGetTextDatum((char *) lfirst(lc));
		values[0] = lb_make_array(TEXTOID, keys_again, NULL, n);
		values[1] = TimestampTzGetDatum(now - LOOK_HOURS * USECS_PER_HOUR);
		(void) lb_own_run(&plan,
						  "UPDATE @.lb_closed SET removed_at = NULL "
						  "WHERE board OPERATOR(pg_catalog.=) ANY ($1) AND removed_at OPERATOR(pg_catalog.<) $2",
						  2, types, values, NULL);
	}
}

/* Look at the boards, and find out whether to read the table as well. */
static void
look(Visit *visit, const LbDefinition *defn, const LbWindow *unused,
	 const char *no_key)
{
	LbSharedBoard *shared = lb_shared_board_attach(unconstify(LbDefinition *,
															  defn),
												   false);
	bool		thorough = must_look(defn, shared);
	List	   *keys;
	LbWait		wait = LB_WAIT_READY;

	/* The worker comes again by itself. */
	if (!visit->one && shared != NULL &&
		pg_atomic_read_u32(&shared->state) == LB_BUILDING &&
		!lb_created_here(defn))
		wait = lb_wait_build(shared, defn->generation, false,
							 lb_wait_timeout_ms);

	/* When it has been built, then. */
	if (!keys_of_boards(defn, &keys, &visit->read_all))
	{
		visit->done.more = wait == LB_WAIT_TIMEOUT;
		return;
	}
	if (thorough)
		visit->looked_at = GetCurrentTimestamp();
	if (thorough || visit->read_all)
		visit->reading = defn->source;
	sort_out(visit, keys);
}

/*
 * Read some of the table, or all of it where there is one transaction only.  A
 * row that is updated between two parts may be overlooked: it is found at the
 * next time.
 */
static void
read_table(Visit *visit, const LbDefinition *defn, const LbWindow *unused,
		   const char *no_key)
{
	BlockNumber begin = visit->next_block;
	BlockNumber end = InvalidBlockNumber;
	BlockNumber most;
	int			npartitions;
	uint64		total;

	/* It is not the family's any more. */
	if (defn->source != visit->reading)
	{
		visit->reading = InvalidOid;
		visit->looked_at = 0;
		return;
	}
	most = blocks_of(defn, begin, &npartitions, &total);
	if (visit->one && total > LOOK_BLOCKS)
		end = begin + Max(1, LOOK_BLOCKS / Max(1, npartitions));
	sort_out(visit, keys_of_rows(defn, !visit->read_all, begin, end));
	visit->next_block = end;
	if (end >= most)
		visit->reading = InvalidOid;
}

/*
 * Remember that all of the table was read.  Not before what was found has been
 * committed: it would not be found again.
 */
static void
note_looked(Visit *visit, const LbDefinition *defn, const LbWindow *unused,
			const char *no_key)
{
	LbSharedBoard *shared = lb_shared_board_attach(unconstify(LbDefinition *, defn), false);

	if (shared != NULL)
		pg_atomic_write_u64(&shared->looked, (uint64) visit->looked_at);
}


/* ----------------------------------------------------------------
 *		Removing
 * ----------------------------------------------------------------
 */

/*
 * The partition that holds the rows of one key and nothing else, or none.  One
 * that is being detached, or whose DETACH ... CONCURRENTLY was interrupted, is
 * the user's; one that foreign keys refer to cannot be dropped.
 */
static Oid
partition_of(const LbDefinition *defn, const char *key)
{
	Oid			types[] = {OIDOID, TEXTOID};
	Datum		values[2];
	bool		isnull;
	Oid			result = InvalidOid;

	if (defn->relkind != RELKIND_PARTITIONED_TABLE)
		return InvalidOid;
	values[0] = ObjectIdGetDatum(defn->source);
	values[1] = CStringGetTextDatum(psprintf("FOR VALUES IN (%s)",
											 quote_literal_cstr(key)));
	if (SPI_execute_with_args("SELECT c.oid FROM pg_catalog.pg_inherits i "
							  "JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid "
							  "WHERE i.inhparent OPERATOR(pg_catalog.=) $1 AND NOT i.inhdetachpending "
							  "AND pg_catalog.pg_get_expr(c.relpartbound, c.oid) OPERATOR(pg_catalog.=) $2 "
							  "AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.confrelid OPERATOR(pg_catalog.=) c.oid)",
							  2, types, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for a partition");
	if (SPI_processed > 0)
		result = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0],
												SPI_tuptable->tupdesc, 1,
												&isnull));
	SPI_freetuptable(SPI_tuptable);
	return result;
}

/*
 * Drop a key's partition, which needs the table to itself for a moment.  Whoever
 * comes while we wait for that waits behind us, so we do not wait for long, and
 * not once more for each partition.
 * Returns false if it is no longer the key's when we have the locks.
 */
static bool
drop_partition(Visit *visit, const LbDefinition *defn, Oid partition,
			   const char *key)
{
	int			nestlevel = NewGUCNestLevel();
	bool		same;

	(void) set_config_option("lock_timeout",
							 psprintf("%d", lb_lock_timeout(DROP_LOCK_TIMEOUT)),
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
							 0, false);
	visit->in_use = true;
	LockRelationOid(defn->source, AccessExclusiveLock);
	visit->in_use = false;
	LockRelationOid(partition, AccessExclusiveLock);

	/* What it is called now, it is called until it is dropped. */
	same = partition_of(defn, key) == partition;
	if (same)
	{
		char	   *schema = get_namespace_name(get_rel_namespace(partition));

		(void) run_as_owner(defn, false,
							psprintf("DROP TABLE %s",
									 quote_qualified_identifier(schema,
																get_rel_name(partition))),
							InvalidOid, 0, NULL, NULL);

		/* Its schema's name may have led to another. */
		if (get_rel_name(partition) != NULL)
			lb_wrong_table(partition);
	}
	AtEOXact_GUC(true, nestlevel);
	return same;
}

static void
note_removed(const char *key)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID};
	Datum		values[1];

	values[0] = CStringGetTextDatum(key);
	(void) lb_own_run(&plan,
					  "UPDATE @.lb_closed SET removed_at = pg_catalog.now() WHERE board OPERATOR(pg_catalog.=) $1",
					  1, types, values, NULL);
}

static void
forget_left(Left *left)
{
	if (left->key != NULL)
		pfree(left->key);
	if (left->why != NULL)
		pfree(left->why);
	if (left->rows != NULL)
	{
		pfree(left->tables);
		pfree(left->rows);
	}
	memset(left, 0, sizeof(Left));
}

/*
 * Delete rows that the first parameter names, an array of n elements of a type.
 * Those that a constraint keeps, most likely a foreign key, are found by halves,
 * and counted in *refused; *why is what it has said first.
 */
static uint64
delete_rows(Visit *visit, const LbDefinition *defn, const char *sql,
			Oid element, Datum *elements, int n, int nargs, Oid *types,
			Datum *values, int64 *refused, char **why)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool ok = true;
	volatile uint64 removed = 0;

	CHECK_FOR_INTERRUPTS();
	values[0] = lb_make_array(element, elements, NULL, n);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		removed = delete_as_owner(defn, sql, nargs, types, values);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (ERRCODE_TO_CATEGORY(edata->sqlerrcode) !=
			ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
			ReThrowError(edata);
		if (*why == NULL)
			*why = MemoryContextStrdup(visit->context, edata->message);
		FreeErrorData(edata);
		ok = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (ok)
		return removed;
	if (n == 1)
	{
		(*refused)++;
		return 0;
	}
	removed = delete_rows(visit, defn, sql, element, elements, n / 2, nargs,
						  types, values, refused, why);
	return removed + delete_rows(visit, defn, sql, element, elements + n / 2,
								 n - n / 2, nargs, types, values, refused, why);
}

/*
 * Look for the rows of a key that has no board (any more), but not for those of
 * members whom a trigger of the user's has just kept, an array or 0.
 */
static void
find_left(Visit *visit, const LbDefinition *defn, const char *key, Datum kept)
{
	Left	   *left = &visit->left;
	Oid			types[] = {TEXTOID, INT4OID, INT8ARRAYOID};
	Datum		values[3];
	StringInfoData sql;
	Datum		array;
	Datum	   *tables;
	Datum	   *tids;
	int			n;
	bool		isnull;

	forget_left(left);
	values[0] = CStringGetTextDatum(key);
	values[1] = Int32GetDatum(LEFT_ROWS);
	values[2] = kept;
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pg_catalog.array_agg(t.rel), pg_catalog.array_agg(t.tid) FROM (SELECT tableoid AS rel, ctid AS tid FROM %s WHERE %s OPERATOR(pg_catalog.=) $1",
					 defn->from_name, quote_identifier(defn->board_column));
	if (kept != 0)
		appendStringInfo(&sql, " AND (%s OPERATOR(pg_catalog.=) ANY ($3)) IS NOT TRUE",
						 quote_identifier(defn->member));
	appendStringInfoString(&sql, " LIMIT $2) t");
	(void) run_as_owner(defn, false, sql.data, defn->source, kept != 0 ? 3 : 2, types,
						values);
	left->key = MemoryContextStrdup(visit->context, key);
	array = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						  &isnull);
	if (!isnull)
	{
		deconstruct_array(DatumGetArrayTypeP(array), OIDOID, sizeof(Oid), true,
						  TYPALIGN_INT, &tables, NULL, &n);
		array = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2,
							  &isnull);
		deconstruct_array(DatumGetArrayTypeP(array), TIDOID,
						  sizeof(ItemPointerData), false, TYPALIGN_SHORT,
						  &tids, NULL, &n);
		left->tables = MemoryContextAlloc(visit->context, n * sizeof(Oid));
		left->rows = MemoryContextAlloc(visit->context,
										n * sizeof(ItemPointerData));
		for (int i = 0; i < n; i++)
		{
			left->tables[i] = DatumGetObjectId(tables[i]);
			left->rows[i] = *(ItemPointer) DatumGetPointer(tids[i]);
		}
		left->nrows = n;
		pfree(tables);
		pfree(tids);
	}
	left->all = left->nrows < LEFT_ROWS;
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Remove at most so many of the rows that find_left() has found: of who is
 * hidden, or has no score.
 */
static void
remove_left(Visit *visit, const LbDefinition *defn, const char *key,
			int max_rows)
{
	Left	   *left = &visit->left;
	Oid			types[] = {TIDARRAYOID, TEXTOID, OIDOID};
	Datum		values[3];
	int			end = left->next + Min(left->nrows - left->next, max_rows);
	Datum	   *tids = palloc(left->nrows * sizeof(Datum));

	while (left->next < end)
	{
		Oid			table = left->tables[left->next];
		uint64		removed;
		int			n = 0;

		while (left->next < end && left->tables[left->next] == table)
			tids[n++] = PointerGetDatum(&left->rows[left->next++]);

		/* One that has got another row meanwhile has one of another key. */
		values[1] = CStringGetTextDatum(key);
		values[2] = ObjectIdGetDatum(table);
		removed = delete_rows(visit, defn, psprintf("DELETE FROM %s WHERE ctid OPERATOR(pg_catalog.=) ANY ($1) AND %s OPERATOR(pg_catalog.=) $2 AND tableoid OPERATOR(pg_catalog.=) $3",
													defn->from_name,
													quote_identifier(defn->board_column)),
							  TIDOID, tids, n, 3, types, values,
							  &left->refused, &left->why);
		visit->done.removed += removed;
		left->removed += removed;
	}
	if (left->next < left->nrows)
	{
		visit->done.more = true;
		return;
	}

	/*
	 * What a trigger of the user's or a constraint keeps is left to him.  If
	 * only some have gone, the others may have been updated meanwhile.
	 */
	if (left->removed == 0 || (left->all && left->removed >= left->nrows))
	{
		if (left->refused > 0)
			ereport(WARNING,
					(errmsg("could not remove " INT64_FORMAT " rows of window \"%s\": %s",
							left->refused, key, left->why),
					 errhint("They are tried again after %d hours.",
							 LOOK_HOURS)));
		note_removed(key);
	}
	else
		visit->done.more = true;
	forget_left(left);
}

/*
 * Remove at most so many rows of a closed window that are on its board.  Returns
 * whether they were so many; else it has looked for the others.
 */
static bool
remove_ranked(Visit *visit, const LbDefinition *defn, const char *key,
			  int max_rows)
{
	static LbPlan plan;
	static const Oid types[] = {INT4OID, TEXTOID};
	Oid			delete_types[] = {INT8ARRAYOID, TEXTOID};
	Datum		values[2];
	Datum		members;
	Datum	   *elements;
	bool		isnull;
	int			asked = 0;
	int			removed = 0;
	int64		refused = 0;
	char	   *why = NULL;

	values[0] = Int32GetDatum(max_rows);
	values[1] = window_board(key);
	(void) lb_own_run(&plan,
					  "SELECT pg_catalog.array_agg(t.member) FROM @.lb_top($1, $2, CAST(0 AS pg_catalog.int8)) t",
					  2, types, values, NULL);
	members = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
							&isnull);
	if (!isnull)
	{
		deconstruct_array(DatumGetArrayTypeP(members), INT8OID, sizeof(int64),
						  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &elements, NULL,
						  &asked);
		values[1] = CStringGetTextDatum(key);
		removed = (int) delete_rows(visit, defn, psprintf("DELETE FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1) AND %s OPERATOR(pg_catalog.=) $2",
														  defn->from_name,
														  quote_identifier(defn->member),
														  quote_identifier(defn->board_column)),
									INT8OID, elements, asked, 2, delete_types,
									values, &refused, &why);
		visit->done.removed += removed;
		if (asked == max_rows && removed >= asked)
		{
			visit->done.more = true;
			return true;
		}
	}
	find_left(visit, defn, key, removed < asked ? members : 0);
	visit->left.refused = refused;
	visit->left.why = why;
	return false;
}

/* How many rows the transaction may yet remove. */
static int
rows_left(const Visit *visit)
{
	return visit->max_rows - (int) Min(visit->done.removed, visit->max_rows);
}

/* Remove rows of a closed window. */
static void
remove_rows(Visit *visit, const LbDefinition *defn, const LbWindow *window,
			const char *key)
{
	Left	   *left = &visit->left;
	Oid			partition = partition_of(defn, key);

	if (OidIsValid(partition))
	{
		if (drop_partition(visit, defn, partition, key))
			note_removed(key);
		else
			visit->done.more = true;
		return;
	}
	if ((left->key == NULL || strcmp(left->key, key) != 0) &&
		remove_ranked(visit, defn, key, rows_left(visit)))
		return;
	remove_left(visit, defn, key, rows_left(visit));
}


/* ----------------------------------------------------------------
 *		The extension's own tables
 * ----------------------------------------------------------------
 */

/*
 * Remove old rows of one table, at most so many, and no row that somebody else
 * has locked.  What is old of a row t is told by a condition, in which $1 is
 * the oldest time that is kept.  One that is updated meanwhile may make us
 * overlook others, which are found at the next visit.
 */
static void
trim(Visit *visit, Trimmed number, const char *table, const char *condition,
	 int retention)
{
	static const Oid types[] = {TIMESTAMPTZOID, INT4OID, TIDOID};
	Trim	   *trim = &visit->trims[number];
	Datum		values[3];
	Datum		last;
	int64		n;
	int			nestlevel;
	bool		isnull;

	if (retention < 0 || trim->ended)
		return;

	/*
	 * Rows come in their order, from the first one on: not in that of an
	 * index which somebody has made.
	 */
	nestlevel = NewGUCNestLevel();
	(void) set_config_option("synchronize_seqscans", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("enable_indexscan", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	values[0] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp() -
									(int64) retention * USECS_PER_SEC);
	values[1] = Int32GetDatum(visit->max_rows);
	values[2] = PointerGetDatum(&trim->after);
	(void) lb_own_run_once(psprintf("WITH d AS (DELETE FROM @.%s AS t WHERE t.ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
									"SELECT t.ctid FROM @.%s AS t WHERE t.ctid OPERATOR(pg_catalog.>) $3 AND (%s) "
									"LIMIT $2 FOR UPDATE SKIP LOCKED)) AND (%s) RETURNING t.ctid) "
									"SELECT pg_catalog.count(*), pg_catalog.max(d.ctid) FROM d",
									table, table, condition, condition),
						   3, types, values);
	n = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
									SPI_tuptable->tupdesc, 1, &isnull));
	last = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2,
						 &isnull);
	if (!isnull)
		trim->after = *(ItemPointer) DatumGetPointer(last);
	SPI_freetuptable(SPI_tuptable);
	AtEOXact_GUC(true, nestlevel);
	visit->done.removed += n;
	if (n >= visit->max_rows)
		visit->done.more = true;
	else
		trim->ended = true;
}

static void
trim_events(Visit *visit, const LbDefinition *defn, const LbWindow *window,
			const char *key)
{
	trim(visit, TRIM_EVENT, "lb_event",
		 "t.submitted_at OPERATOR(pg_catalog.<) $1", lb_event_retention);
}

static void
trim_applied(Visit *visit, const LbDefinition *defn, const LbWindow *window,
			 const char *key)
{
	trim(visit, TRIM_APPLIED, "lb_applied",
		 "t.applied_at OPERATOR(pg_catalog.<) $1", lb_applied_retention);
}

static void
trim_anomalies(Visit *visit, const LbDefinition *defn, const LbWindow *window,
			   const char *key)
{
	trim(visit, TRIM_ANOMALY, "lb_anomaly",
		 "t.noted_at OPERATOR(pg_catalog.<) $1", lb_anomaly_retention);
}

/*
 * What has been counted in a period or a window that is over, or for no limit:
 * unless there are none at all, as while a dump is restored.
 */
static void
trim_usage(Visit *visit, const LbDefinition *defn, const LbWindow *window,
		   const char *key)
{
	trim(visit, TRIM_USAGE, "lb_usage",
		 "(NOT EXISTS (SELECT FROM @.lb_limit l WHERE l.name OPERATOR(pg_catalog.=) t.limit_name) "
		 "AND EXISTS (SELECT FROM @.lb_limit)) "
		 "OR EXISTS (SELECT FROM @.lb_closed c WHERE c.board OPERATOR(pg_catalog.=) t.board) "
		 "OR pg_catalog.timezone('UTC', t.since) OPERATOR(pg_catalog.+) "
		 "(SELECT l.period FROM @.lb_limit l WHERE l.name OPERATOR(pg_catalog.=) t.limit_name) "
		 "OPERATOR(pg_catalog.<=) pg_catalog.timezone('UTC', $1)",
		 0);
}


/* ----------------------------------------------------------------
 *		Rounds
 * ----------------------------------------------------------------
 */

/* The keys that are closed and still have rows. */
static List *
keys_to_remove(void)
{
	static LbPlan plan;
	uint64		n = lb_own_run(&plan,
							   "SELECT board FROM @.lb_closed WHERE removed_at IS NULL ORDER BY closed_at, board",
							   0, NULL, NULL, NULL);

	return keys_of_result(n);
}

/*
 * Run one thing that may fail, because of a lock that is not to be had or of
 * what the user's own triggers do, and go on with the others.
 */
static bool
attempt(Action action, const char *what, Visit *visit,
		const LbDefinition *defn, const LbWindow *window, const char *key)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool ok = true;
	Done		before = visit->done;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		action(visit, defn, window, key);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		visit->done = before;

		/* Whoever wants us to stop does not want us to go on. */
		if (edata->sqlerrcode == ERRCODE_QUERY_CANCELED ||
			edata->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
			ReThrowError(edata);
		ereport(edata->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ? LOG : WARNING,
				(errcode(edata->sqlerrcode),
				 errmsg("could not %s: %s", what, edata->message)));
		ok = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return ok;
}

static bool
attempt_key(Action action, Visit *visit, const LbDefinition *defn,
			const LbWindow *window, const char *key)
{
	return attempt(action, psprintf("close or remove window \"%s\"", key),
				   visit, defn, window, key);
}

static LbDefinition *
find_windows(void)
{
	LbDefinition **defns;
	int			n = lb_all_defns(&defns);

	for (int i = 0; i < n; i++)
	{
		LbTarget	target;

		if (strcmp(defns[i]->name, "*") != 0)
			continue;
		lb_find_target("*", 1, &target);
		if (target.defn->family && !target.defn->misfit &&
			(target.defn->board_type == TEXTOID ||
			 target.defn->board_type == VARCHAROID))
			return target.defn;
	}
	return NULL;
}

static void
find_family(Visit *visit, const LbDefinition *defn, const LbWindow *window,
			const char *key)
{
	visit->defn = find_windows();
}

/* Close what has been found.  Returns whether the transaction is to end. */
static bool
close_found(Visit *visit, const LbDefinition *defn)
{
	while (visit->to_close != NIL)
	{
		char	   *key = linitial(visit->to_close);
		int64		closed = visit->done.closed;

		visit->to_close = list_delete_first(visit->to_close);
		(void) attempt_key(close_window, visit, defn, NULL, key);
		if (visit->done.closed == closed)
			visit->looked_at = 0;	/* to be found again */
		else if (visit->one)
		{
			visit->done.more = true;
			return true;
		}
	}
	return false;
}

/* Close what is to be closed.  Returns whether the transaction is to end. */
static bool
close_windows(Visit *visit, const LbDefinition *defn)
{
	static const char *const what = "look for windows that are over";

	if (!visit->looked)
	{
		if (!attempt(look, what, visit, defn, NULL, NULL))
			visit->looked_at = 0;
		visit->looked = true;
	}
	else if (visit->looked_at != 0 && !OidIsValid(visit->reading) &&
			 visit->to_close == NIL)
	{
		(void) attempt(note_looked, what, visit, defn, NULL, NULL);
		visit->looked_at = 0;
	}
	if (close_found(visit, defn))
		return true;
	if (OidIsValid(visit->reading))
	{
		if (!attempt(read_table, what, visit, defn, NULL, NULL))
		{
			visit->reading = InvalidOid;
			visit->looked_at = 0;
		}

		/* There is a transaction after those that do what was found. */
		if (visit->one)
		{
			visit->done.more = true;
			return true;
		}
		return close_found(visit, defn);
	}
	return false;
}

/*
 * Remove what is not to be kept.  Partitions that are to be dropped are left
 * for the end of a transaction that goes on.  Returns whether it is to end.
 */
static bool
remove_windows(Visit *visit, const LbDefinition *defn, List **drops)
{
	TimestampTz now = GetCurrentTimestamp();
	ListCell   *lc;

	foreach(lc, keys_to_remove())
	{
		char	   *key = lfirst(lc);
		LbSpan		span;
		LbWindow   *window = lb_window_of_key(key, strlen(key), &span);
		MemoryContext old;
		bool		ok;

		/*
		 * How long one of no recorded kind is to be kept nobody knows: it is
		 * so too while a dump is restored that has lb_closed before
		 * lb_window.
		 */
		if (listed(visit->skip, key) || window == NULL ||
			now < lb_window_goes(window, &span))
			continue;
		if ((!visit->one || visit->in_use) &&
			OidIsValid(partition_of(defn, key)))
		{
			*drops = lappend(*drops, key);
			continue;
		}
		if (rows_left(visit) == 0)
		{
			visit->done.more = true;
			return true;
		}
		ok = attempt_key(remove_rows, visit, defn, window, key);
		if (ok && visit->one)
		{
			visit->done.more = true;
			return true;
		}
		if (ok)
			continue;
		old = MemoryContextSwitchTo(visit->context);
		visit->skip = lappend(visit->skip, pstrdup(key));
		MemoryContextSwitchTo(old);
	}
	return false;
}

/*
 * Close what is to be closed, remove at most so many rows, trim our own tables.
 * Between SPI_connect and SPI_finish.  Where each thing is to have a
 * transaction of its own, only the first of these that there is.
 */
static void
maintain(Visit *visit)
{
	List	   *drops = NIL;
	ListCell   *lc;

	/* It can be invalidated, but not freed before we commit. */
	visit->defn = NULL;
	(void) attempt(find_family, "look for windows", visit, NULL, NULL, NULL);
	if (visit->defn != NULL &&
		(close_windows(visit, visit->defn) ||
		 remove_windows(visit, visit->defn, &drops)))
		return;
	(void) attempt(trim_events, "trim \"lb_event\"", visit, NULL, NULL, NULL);
	(void) attempt(trim_applied, "trim \"lb_applied\"", visit, NULL, NULL, NULL);
	(void) attempt(trim_anomalies, "trim \"lb_anomaly\"", visit, NULL, NULL, NULL);
	(void) attempt(trim_usage, "trim \"lb_usage\"", visit, NULL, NULL, NULL);

	/*
	 * The last thing, and just once: whoever wants the table waits from here
	 * to the end of the transaction.
	 */
	foreach(lc, drops)
	{
		if (visit->in_use)
			break;
		if (attempt_key(remove_rows, visit, visit->defn, NULL, lfirst(lc)))
		{
			visit->done.more |= lnext(drops, lc) != NULL;
			break;
		}
	}
}

static const LbWorkerKind maintenance_kind = {
	.type = "leaderboard maintenance",
	.function = "lb_maintain_main",
	.interval = &lb_maintenance_interval
};

void
lb_maintain_init(void)
{
	lb_register_worker(&maintenance_kind);
}

void
lb_maintain_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	Visit		visit;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	lb_worker_settings();

	/* Nobody is to become the victim of a deadlock with us. */
	SetConfigOption("lock_timeout",
					psprintf("%d", lb_lock_timeout(LOCK_TIMEOUT)),
					PGC_USERSET, PGC_S_OVERRIDE);
	pgstat_report_appname("leaderboard maintenance");
	memset(&visit, 0, sizeof(visit));
	visit.one = true;
	visit.max_rows = BATCH_ROWS;
	visit.context = AllocSetContextCreate(TopMemoryContext,
										  "leaderboard maintenance",
										  ALLOCSET_SMALL_SIZES);
	for (;;)
	{
		const LbCatalog *cat;

		memset(&visit.done, 0, sizeof(visit.done));
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		cat = lb_catalog();
		if (cat != NULL && cat->version_ok && !RecoveryInProgress())
		{
			pgstat_report_activity(STATE_RUNNING, "closing windows and removing what is not kept");
			if (SPI_connect() != SPI_OK_CONNECT)
				elog(ERROR, "SPI_connect failed");
			maintain(&visit);
			SPI_finish();
		}
		PopActiveSnapshot();
		CommitTransactionCommand();
		pgstat_report_stat(true);
		pgstat_report_activity(STATE_IDLE, NULL);
		if (!visit.done.more)
			break;
		lb_yield();
	}
}


/* ----------------------------------------------------------------
 *		SQL functions
 * ----------------------------------------------------------------
 */

static Datum
record(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

Datum
lb_maintain(PG_FUNCTION_ARGS)
{
	Visit		visit;
	LbDefinition *defn;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_maintain()");
	if (PG_ARGISNULL(0))
		lb_null_argument("max_rows");
	if (PG_GETARG_INT32(0) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "max_rows",
						PG_GETARG_INT32(0)),
				 errhint("\"%s\" must be at least 1.", "max_rows")));

	/* Final standings are those after the last writer. */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot run with a snapshot of the whole transaction",
						"lb_maintain()"),
				 errhint("Use the isolation level READ COMMITTED.")));
	defn = find_windows();
	if (defn != NULL)
		lb_require_owner(defn->source);
	else if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser where there is no family \"*\"")));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	memset(&visit, 0, sizeof(visit));
	visit.max_rows = PG_GETARG_INT32(0);
	visit.context = CurrentMemoryContext;
	maintain(&visit);
	SPI_finish();
	values[0] = Int64GetDatum(visit.done.closed);
	values[1] = Int64GetDatum(visit.done.archived);
	values[2] = Int64GetDatum(visit.done.removed);
	values[3] = BoolGetDatum(visit.done.more);
	return record(fcinfo, values, nulls);
}

/* The board that is meant, which must not be a family. */
static void
find_board(const char *board, LbTarget *target)
{
	lb_find_target(board, strlen(board), target);
	if (target->defn->family && !target->has_value)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", board),
				 errhint("Name one of its boards, as in \"%s:value\".", board)));
}

/*
 * A window ends by itself.  The season of one would take its rows, or come
 * before its final standings in the archive.
 */
static void
refuse_window(const char *board, const LbTarget *target)
{
	const LbValue *value = &target->value;
	LbSpan		span;
	bool		closed;

	if (!target->has_value || strcmp(target->defn->name, "*") != 0)
		return;
	closed = lb_window_is_closed(value->data, value->len);
	if (!closed && strchr(board, ':') != NULL &&
		lb_window_of_key(value->data, value->len, &span) == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is a window", board),
			 closed ?
			 errdetail("It has been closed; lb_archive_top() returns its final standings.") :
			 errdetail("It is archived when it is over, and its rows are removed when they are no longer to be kept."),
			 closed ?
			 errhint("DELETE what rows it still has, if they are not to be kept.") :
			 errhint("Windows are closed after their end by the worker, or lb_maintain().")));
}

/* The condition for a row t to be of a board, whose value is $1 in a family. */
static void
append_of_board(StringInfo sql, const LbTarget *target)
{
	const LbDefinition *defn = target->defn;

	/* Rows of no member are on no board. */
	appendStringInfo(sql, "t.%s IS NOT NULL", quote_identifier(defn->member));
	if (target->has_value)
		appendStringInfo(sql, " AND CAST(t.%s AS pg_catalog.text) OPERATOR(pg_catalog.=) $1",
						 quote_identifier(defn->board_column));
}

static Datum
value_of_board(const LbTarget *target)
{
	return target->has_value ?
		PointerGetDatum(cstring_to_text_with_len(target->value.data,
												 target->value.len)) :
		CStringGetTextDatum("");
}

/* Whether a season's caller resets the table with the owner's rights. */
static bool
is_guest(const LbDefinition *defn)
{
	return defn->owner != GetUserId();
}

/*
 * Raise 42501 if policies can keep rows from the role that resets the table: their
 * scores would be archived now, and once more with the next season.
 */
static void
require_all_rows(const LbDefinition *defn)
{
	if (is_guest(defn) && has_bypassrls_privilege(GetUserId()))
		return;
	if (check_enable_rls(defn->source, defn->owner, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security of table \"%s\" applies to its owner",
						get_rel_name(defn->source)),
				 errdetail("A season is reset as a whole, and policies can keep rows from the owner."),
				 errhint("Use ALTER TABLE ... NO FORCE ROW LEVEL SECURITY, or a role with BYPASSRLS.")));
}

/* Enter a season in lb_season; raises 23505 if it has been closed before. */
static void
record_season(const LbDefinition *defn, const char *board, const char *season,
			  const int64 *top)
{
	static LbPlan plans[2];
	static const Oid types[] = {TEXTOID, TEXTOID, NAMEOID, INT4OID, INT8OID};
	Datum		values[5];
	char		nulls[] = "     ";

	values[0] = CStringGetTextDatum(board);
	values[1] = CStringGetTextDatum(season);
	values[2] = owner_name(defn);
	values[3] = source_number(defn);
	values[4] = Int64GetDatum(top == NULL ? 0 : *top);
	nulls[4] = top == NULL ? 'n' : ' ';

	/* A board of that name may have been another owner's, of another table. */
	if (lb_own_run(&plans[0],
				   "SELECT FROM @.lb_season s WHERE s.board OPERATOR(pg_catalog.=) $1 AND s.season OPERATOR(pg_catalog.=) $2 "
				   "AND (s.owner OPERATOR(pg_catalog.=) $3 OR s.source OPERATOR(pg_catalog.=) $4) LIMIT 1",
				   4, types, values, NULL) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("season \"%s\" of board \"%s\" has been closed",
						season, board),
				 errdetail("The name of a season is used once."),
				 errhint("Use another name.")));
	(void) lb_own_run(&plans[1],
					  "INSERT INTO @.lb_season (board, season, owner, source, archive_top, members) "
					  "VALUES ($1, $2, $3, $4, $5, @.lb_count($1))",
					  5, types, values, nulls);
}

/*
 * Copy the scores that are about to be reset and have no place to lb_archive: of
 * who is hidden, or lacks what else the board ranks by.  The table is read as it
 * is going to be reset.
 */
static void
archive_unranked(const LbTarget *target, const char *board,
				 const char *season)
{
	static LbPlan kept;
	static const Oid archive_types[] = {TEXTOID, TEXTOID, INT8ARRAYOID,
	INT8ARRAYOID, NAMEOID, INT4OID};
	const LbDefinition *defn = target->defn;
	const char *score = quote_identifier(defn->columns[0].name);
	bool		guest = is_guest(defn);
	bool		all_rows = guest && has_bypassrls_privilege(GetUserId());
	Oid			types[] = {TEXTOID};
	Datum		values[6];
	Datum	   *members = palloc(ARCHIVE_ROWS * sizeof(Datum));
	Datum	   *scores = palloc(ARCHIVE_ROWS * sizeof(Datum));
	const char *or = "";
	StringInfoData sql;
	SPIPlanPtr	plan;
	Portal		portal;
	MemoryContext batch;
	LbUser		saved;
	uint64		n;

	if (defn->ncolumns == 1 && defn->ranked_if[0] == '\0')
		return;
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT CAST(t.%s AS pg_catalog.int8), CAST(t.%s AS pg_catalog.int8) FROM %s AS t WHERE ",
					 quote_identifier(defn->member), score, defn->from_name);
	append_of_board(&sql, target);
	appendStringInfo(&sql, " AND t.%s IS NOT NULL AND (", score);
	for (int i = 1; i < defn->ncolumns; i++)
	{
		appendStringInfo(&sql, "%st.%s IS NULL", or,
						 quote_identifier(defn->columns[i].name));
		or = " OR ";
	}
	if (defn->ranked_if[0] != '\0')
		appendStringInfo(&sql, "%st.%s IS NOT TRUE", or,
						 quote_identifier(defn->ranked_if));
	appendStringInfoChar(&sql, ')');

	if (guest)
		lb_switch_to_owner(&saved, defn->owner, all_rows);
	values[0] = value_of_board(target);
	plan = lb_prepare(sql.data, defn->source, 1, types, 0);
	portal = SPI_cursor_open(NULL, plan, values, NULL, false);
	if (!lb_plan_has(plan, defn->source))
		lb_wrong_table(defn->source);
	if (guest)
		lb_restore_user(&saved);
	batch = AllocSetContextCreate(CurrentMemoryContext,
								  "leaderboard season", ALLOCSET_DEFAULT_SIZES);
	do
	{
		MemoryContext old;

		if (guest)
			lb_switch_to_owner(&saved, defn->owner, all_rows);
		SPI_cursor_fetch(portal, true, ARCHIVE_ROWS);
		if (guest)
			lb_restore_user(&saved);
		n = SPI_processed;
		old = MemoryContextSwitchTo(batch);
		for (uint64 i = 0; i < n; i++)
		{
			bool		isnull;

			members[i] = SPI_getbinval(SPI_tuptable->vals[i],
									   SPI_tuptable->tupdesc, 1, &isnull);
			scores[i] = SPI_getbinval(SPI_tuptable->vals[i],
									  SPI_tuptable->tupdesc, 2, &isnull);
		}
		SPI_freetuptable(SPI_tuptable);
		values[0] = CStringGetTextDatum(board);
		values[1] = CStringGetTextDatum(season);
		values[2] = lb_make_array(INT8OID, members, NULL, (int) n);
		values[3] = lb_make_array(INT8OID, scores, NULL, (int) n);
		values[4] = owner_name(defn);
		values[5] = source_number(defn);
		(void) lb_own_run(&kept,
						  "INSERT INTO @.lb_archive (board, season, member, score, owner, source) "
						  "SELECT $1, $2, u.member, u.score, $5, $6 "
						  "FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS u (member, score)",
						  6, archive_types, values, NULL);
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch);
	}
	while (n == ARCHIVE_ROWS);
	MemoryContextDelete(batch);
	SPI_cursor_close(portal);
	SPI_freeplan(plan);
}

Datum
lb_close_season(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"board", "season"};
	char	   *board;
	char	   *season;
	int64		top = PG_ARGISNULL(2) ? -1 : PG_GETARG_INT64(2);
	LbTarget	target;
	LbDefinition *defn;
	StringInfoData sql;
	Oid			types[] = {TEXTOID, INT8OID};
	Datum		values[2];
	int64		archived;

	(void) lb_require_catalog();
	PreventCommandDuringRecovery("lb_close_season()");
	for (int i = 0; i < 2; i++)
	{
		if (PG_ARGISNULL(i))
			lb_null_argument(names[i]);
	}
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	season = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (season[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a season's name must not be empty")));
	if (!PG_ARGISNULL(2) && PG_GETARG_INT64(2) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
						"archive_top", PG_GETARG_INT64(2)),
				 errhint("\"%s\" must be at least 0; null is all places.",
						 "archive_top")));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot run with a snapshot of the whole transaction",
						"lb_close_season()"),
				 errhint("Use the isolation level READ COMMITTED.")));
	find_board(board, &target);
	refuse_window(board, &target);
	lb_require_owner(target.defn->source);

	/*
	 * Nobody writes between the standings and the reset.  Who writes to a
	 * partition itself holds no lock on the source.
	 */
	LockRelationOid(target.defn->source, ShareRowExclusiveLock);
	find_board(board, &target);
	if (target.defn->relkind == RELKIND_PARTITIONED_TABLE)
	{
		list_free(find_all_inheritors(target.defn->source,
									  ShareRowExclusiveLock, NULL));
		find_board(board, &target);
	}
	lb_require_owner(target.defn->source);
	defn = target.defn;
	lb_require_fit(defn);

	require_all_rows(defn);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	record_season(defn, board, season, PG_ARGISNULL(2) ? NULL : &top);
	archived = archive(defn, board, season, top);
	if (top != 0)
		archive_unranked(&target, board, season);

	/*
	 * The owner resets the table by a statement of the owner's own.  For
	 * anybody else who may, a superuser or a member of the owner's role, the
	 * triggers of the table run with the owner's rights.
	 */
	initStringInfo(&sql);
	values[0] = value_of_board(&target);
	values[1] = Int64GetDatum(PG_ARGISNULL(3) ? 0 : PG_GETARG_INT64(3));
	if (PG_ARGISNULL(3))
		appendStringInfo(&sql, "DELETE FROM %s AS t WHERE ", defn->from_name);
	else
		appendStringInfo(&sql, "UPDATE %s AS t SET %s = $2 WHERE t.%s OPERATOR(pg_catalog.<>) $2 AND ",
						 defn->from_name,
						 quote_identifier(defn->columns[0].name),
						 quote_identifier(defn->columns[0].name));
	append_of_board(&sql, &target);
	if (!is_guest(defn))
		(void) lb_run_once(sql.data, defn->source, 2, types, values);
	else
		(void) write_as_owner(defn, has_bypassrls_privilege(GetUserId()),
							  sql.data, 2, types, values);
	SPI_finish();
	PG_RETURN_INT64(archived);
}

Datum
lb_archive_top(PG_FUNCTION_ARGS)
{
	static LbPlan plan;
	static const Oid types[] = {TEXTOID, INT4OID, TEXTOID, NAMEOID, REGCLASSOID};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *board;
	char	   *key;
	int			keylen;
	LbTarget	target;
	Datum		values[5];
	char		nulls[] = "     ";
	uint64		n;

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		lb_null_argument("board");
	if (PG_ARGISNULL(1))
		lb_null_argument("n");
	if (PG_GETARG_INT32(1) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: %d", "n",
						PG_GETARG_INT32(1)),
				 errhint("\"%s\" must be at least %d.", "n", 0)));
	board = text_to_cstring(PG_GETARG_TEXT_PP(0));
	find_board(board, &target);

	/* What could be read of the board can be read of its past. */
	if (!lb_may_read(target.defn))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   get_rel_name(target.defn->source));
	if (check_enable_rls(target.defn->source, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security of table \"%s\" does not apply to its archive",
						get_rel_name(target.defn->source)),
				 errhint("Grant SELECT on the table lb_archive to who may read all of it.")));
	if (target.has_value && strchr(board, ':') == NULL)
	{
		key = lb_window_alias(board, strlen(board), &keylen);
		if (key != NULL)
			board = key;
	}
	InitMaterializedSRF(fcinfo, 0);
	values[0] = CStringGetTextDatum(board);
	values[1] = PG_GETARG_DATUM(1);
	values[2] = PG_GETARG_DATUM(2);
	nulls[2] = PG_ARGISNULL(2) ? 'n' : ' ';
	values[3] = owner_name(target.defn);
	values[4] = ObjectIdGetDatum(target.defn->source);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");

	/*
	 * A board of the same name may have been another owner's, over another
	 * table: what was archived then is not for readers of this one.
	 */
	n = lb_own_run(&plan,
				   "SELECT a.rank, a.member, a.score FROM @.lb_archive a, "
				   "(SELECT l.season, l.owner FROM @.lb_archive l WHERE l.board OPERATOR(pg_catalog.=) $1 "
				   "AND l.season OPERATOR(pg_catalog.=) COALESCE($3, l.season) AND l.place OPERATOR(pg_catalog.=) 1 "
				   "AND (l.owner OPERATOR(pg_catalog.=) $4 OR l.source OPERATOR(pg_catalog.=) "
				   "(SELECT n.id FROM @.lb_archive_source n WHERE n.source OPERATOR(pg_catalog.=) $5)) "
				   "ORDER BY l.closed_at DESC, l.season DESC, l.owner LIMIT 1) s "
				   "WHERE a.board OPERATOR(pg_catalog.=) $1 AND a.season OPERATOR(pg_catalog.=) s.season "
				   "AND a.owner OPERATOR(pg_catalog.=) s.owner "
				   "AND a.place OPERATOR(pg_catalog.<=) $2 ORDER BY a.place",
				   5, types, values, nulls);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[3];
		bool		isnull[3];

		for (int c = 0; c < 3; c++)
			columns[c] = SPI_getbinval(SPI_tuptable->vals[i],
									   SPI_tuptable->tupdesc, c + 1,
									   &isnull[c]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, columns,
							 isnull);
	}
	SPI_finish();
	return (Datum) 0;
}
