/*-------------------------------------------------------------------------
 *
 * visit_removing.c
 *	  Removing the rows of closed windows.
 *
 * The rows of a closed window are kept for a while, and then go in batches.
 * The worker removes each batch in a transaction of its own: no lock is held
 * for long, and a board changes by no more than a small commit.  The members
 * of a batch come from the board itself, so that each row is found by its
 * unique index.  When the board is empty, the rows that are on no board are
 * looked for in the table, and go in batches too.  Rows that a foreign key of
 * another table refers to stay, and keep no others.  A partition that holds
 * just this window is dropped instead, as the last step of a transaction.
 *
 * Rows are removed with the rights of the table's owner, in a
 * security-restricted operation; triggers of the owner fire.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "boards/distributed.h"
#include "leaderboards/as_owner.h"
#include "leaderboards/leaderboard.h"
#include "reads/read.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "util/subxact.h"
#include "windows/archive.h"
#include "windows/visit.h"
#include "workers/worker.h"

/* Rows that are on no board, found in one pass over the table. */
#define MAX_UNRANKED 100000

/* Milliseconds for which dropping a partition may make other sessions wait. */
#define DROP_LOCK_TIMEOUT 50

/*
 * DELETE with the rights of the owner, without waiting for long for a row
 * lock.
 */
static uint64
delete_as_owner(const LbDefinition *defn, const char *sql, int nargs,
				const LbArg *args)
{
	int			nestlevel = NewGUCNestLevel();
	uint64		n;

	lb_limit_waits();
	n = lb_write_as_owner(defn, false, sql, nargs, args);
	AtEOXact_GUC(true, nestlevel);
	return n;
}

/*
 * The partition that holds the rows of one key and nothing else, or none.  One
 * that is being detached, or whose DETACH ... CONCURRENTLY was interrupted, is
 * the user's; one that foreign keys refer to cannot be dropped.
 */
static Oid
partition_of(const LbDefinition *defn, const char *key)
{
	Oid			result = InvalidOid;

	if (defn->relkind != RELKIND_PARTITIONED_TABLE)
		return InvalidOid;
	if (lb_exec_once("SELECT c.oid FROM pg_catalog.pg_inherits i "
					 "JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.inhrelid "
					 "WHERE i.inhparent OPERATOR(pg_catalog.=) $1 AND NOT i.inhdetachpending "
					 "AND pg_catalog.pg_get_expr(c.relpartbound, c.oid) OPERATOR(pg_catalog.=) $2 "
					 "AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.confrelid OPERATOR(pg_catalog.=) c.oid)",
					 InvalidOid,
					 LB_ARGS(lb_arg_oid(defn->source),
							 lb_arg_text(psprintf("FOR VALUES IN (%s)", quote_literal_cstr(key))))) > 0)
		result = DatumGetObjectId(lb_row_datum(SPI_tuptable, 0, 1));
	SPI_freetuptable(SPI_tuptable);
	return result;
}

/*
 * Drop a key's partition, which needs an exclusive lock on the table.
 * Sessions that come while we wait for the lock wait behind us.  So we do not
 * wait for long, and a transaction that has waited in vain does not try again
 * for another partition.  Returns false if the partition is no longer the
 * key's when we have the locks.
 */
static bool
drop_partition(LbVisit *visit, const LbDefinition *defn, Oid partition,
			   const char *key)
{
	int			nestlevel = NewGUCNestLevel();
	bool		same;

	lb_set_locally("lock_timeout", psprintf("%d", lb_lock_timeout(DROP_LOCK_TIMEOUT)));
	visit->removing.in_use = true;
	LockRelationOid(defn->source, AccessExclusiveLock);
	visit->removing.in_use = false;
	LockRelationOid(partition, AccessExclusiveLock);

	/* Its name does not change from here until it is dropped. */
	same = partition_of(defn, key) == partition;
	if (same)
	{
		char	   *schema = get_namespace_name(get_rel_namespace(partition));
		char	   *drop = psprintf("DROP TABLE %s",
									quote_qualified_identifier(schema,
															   get_rel_name(partition)));
		LbUser		saved;

		lb_switch_to_owner(&saved, defn->owner, false);
		(void) lb_exec_once(drop, InvalidOid, LB_NO_ARGS);
		lb_restore_user(&saved);

		/* The name of its schema may have led to another table. */
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

	(void) lb_own_exec(&plan,
					   "UPDATE @.lb_closed SET removed_at = pg_catalog.now() WHERE board OPERATOR(pg_catalog.=) $1",
					   LB_ARGS(lb_arg_text(key)));
}

/* Rows that a trigger of the user or a constraint keeps are left there. */
static void
note_removed_but(const char *key, int64 refused, const char *why)
{
	if (refused > 0)
		ereport(WARNING,
				(errmsg("could not remove " INT64_FORMAT " rows of window \"%s\": %s",
						refused, key, why),
				 errhint("They are tried again after %d hours.",
						 LB_SCAN_HOURS)));
	note_removed(key);
}

static void
forget_unranked(LbUnranked *rows)
{
	if (rows->key != NULL)
		pfree(rows->key);
	if (rows->why != NULL)
		pfree(rows->why);
	if (rows->tids != NULL)
	{
		pfree(rows->tables);
		pfree(rows->tids);
	}
	memset(rows, 0, sizeof(LbUnranked));
}

/* A DELETE of rows that its first parameter names, an array. */
typedef struct Deletion
{
	LbVisit    *visit;
	const LbDefinition *defn;
	const char *sql;
	Oid			element;		/* type of the array's elements */
	int			nargs;
	LbArg		args[3];		/* the first is set for each statement */
	uint64		removed;		/* rows, by the last one */
	int64		refused;		/* rows that a constraint keeps */
	char	   *why;			/* what it said first, or NULL */
} Deletion;

/* Called by lb_try(). */
static void
delete_elements(void *arg)
{
	Deletion   *d = arg;

	d->removed = delete_as_owner(d->defn, d->sql, d->nargs, d->args);
}

/*
 * Delete the rows of n elements.  Returns false if a constraint keeps some of
 * them; then none is deleted.
 */
static bool
try_delete(Deletion *d, Datum *elements, int n)
{
	ErrorData  *error;

	CHECK_FOR_INTERRUPTS();
	d->args[0] = lb_arg_array(d->element, elements, NULL, n);
	error = lb_try(delete_elements, d);
	if (error == NULL)
		return true;
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) !=
		ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
		ReThrowError(error);
	if (d->why == NULL)
		d->why = MemoryContextStrdup(d->visit->context, error->message);
	FreeErrorData(error);
	return false;
}

/*
 * Delete the rows of n elements, and return how many.  Those that a constraint
 * keeps, most likely a foreign key, are found by halves.
 */
static uint64
delete_rows(Deletion *d, Datum *elements, int n)
{
	uint64		removed;

	if (try_delete(d, elements, n))
		return d->removed;
	if (n == 1)
	{
		d->refused++;
		return 0;
	}
	removed = delete_rows(d, elements, n / 2);
	return removed + delete_rows(d, elements + n / 2, n - n / 2);
}

/*
 * The elements of an array in the only row of a result, or NULL if it is null.
 */
static Datum *
array_of_result(int column, Oid element, int *n)
{
	bool		isnull;
	Datum		array = lb_row_nullable(SPI_tuptable, 0, column, &isnull);
	Datum	   *elements;
	int16		len;
	bool		byval;
	char		align;

	*n = 0;
	if (isnull)
		return NULL;
	get_typlenbyvalalign(element, &len, &byval, &align);
	deconstruct_array(DatumGetArrayTypeP(array), element, len, byval, align,
					  &elements, NULL, n);
	return elements;
}

/*
 * Look for the rows of a key that has no board, or has none any more.  Leave
 * out the rows of the members in kept, an array or null: a trigger of the user
 * has just kept them.
 */
static void
find_unranked(LbVisit *visit, const LbDefinition *defn, const char *key,
			  LbArg kept)
{
	LbUnranked *rows = &visit->removing.unranked;
	StringInfoData sql;
	Datum	   *tables;
	Datum	   *tids;
	int			n;

	forget_unranked(rows);
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pg_catalog.array_agg(t.rel), pg_catalog.array_agg(t.tid) FROM (SELECT tableoid AS rel, ctid AS tid FROM %s WHERE %s OPERATOR(pg_catalog.=) $1",
					 defn->from_name, lb_quoted(lb_board_column(defn)));
	if (!kept.isnull)
		appendStringInfo(&sql, " AND (%s OPERATOR(pg_catalog.=) ANY ($3)) IS NOT TRUE",
						 lb_quoted(lb_member_column(defn)));
	appendStringInfoString(&sql, " LIMIT $2) t");
	(void) lb_run_as_owner(defn, false, sql.data,
						   LB_ARGS(lb_arg_text(key), lb_arg_int4(MAX_UNRANKED), kept));
	rows->key = MemoryContextStrdup(visit->context, key);
	tables = array_of_result(1, OIDOID, &n);
	tids = array_of_result(2, TIDOID, &n);
	if (tids != NULL)
	{
		rows->tables = MemoryContextAlloc(visit->context, n * sizeof(Oid));
		rows->tids = MemoryContextAlloc(visit->context,
										n * sizeof(ItemPointerData));
		for (int i = 0; i < n; i++)
		{
			rows->tables[i] = DatumGetObjectId(tables[i]);
			rows->tids[i] = *(ItemPointer) DatumGetPointer(tids[i]);
		}
		rows->nrows = n;
		pfree(tables);
		pfree(tids);
	}
	rows->all = rows->nrows < MAX_UNRANKED;
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Remove up to max_rows of the rows that find_unranked() has found: those of
 * members that are hidden, or have no score.
 */
static void
remove_unranked(LbVisit *visit, const LbDefinition *defn, const char *key,
				int max_rows)
{
	LbUnranked *rows = &visit->removing.unranked;
	Deletion	deletion = {
		.visit = visit,
		.defn = defn,
		.element = TIDOID,
		.nargs = 3,
		.args = {{0}, lb_arg_text(key)},
		.refused = rows->refused,
		.why = rows->why
	};
	int			end = rows->next + Min(rows->nrows - rows->next, max_rows);
	Datum	   *tids = palloc(rows->nrows * sizeof(Datum));

	deletion.sql = psprintf("DELETE FROM %s WHERE ctid OPERATOR(pg_catalog.=) ANY ($1) AND %s OPERATOR(pg_catalog.=) $2 AND tableoid OPERATOR(pg_catalog.=) $3",
							defn->from_name,
							lb_quoted(lb_board_column(defn)));
	while (rows->next < end)
	{
		Oid			table = rows->tables[rows->next];
		uint64		removed;
		int			n = 0;

		while (rows->next < end && rows->tables[rows->next] == table)
			tids[n++] = PointerGetDatum(&rows->tids[rows->next++]);

		/*
		 * If the place has another row meanwhile, that is one of another key.
		 */
		deletion.args[2] = lb_arg_oid(table);
		removed = delete_rows(&deletion, tids, n);
		visit->done.removed += removed;
		rows->removed += removed;
	}
	rows->refused = deletion.refused;
	rows->why = deletion.why;
	if (rows->next < rows->nrows)
	{
		visit->done.more = true;
		return;
	}

	/*
	 * If only some rows have gone, the others may have been updated
	 * meanwhile.
	 */
	if (rows->removed == 0 || (rows->all && rows->removed >= rows->nrows))
		note_removed_but(key, rows->refused, rows->why);
	else
		visit->done.more = true;
	forget_unranked(rows);
}

/*
 * Remove up to max_rows of the rows of a closed window that are on no board,
 * where the table is distributed: rows have no places there, so they are found
 * by their members.  Leave out those of members in kept, an array or null.
 * Rows whose members are several columns go at once.
 */
static void
remove_distributed(Deletion *d, const char *key, LbArg kept, int max_rows)
{
	LbVisit    *visit = d->visit;
	const char *member = lb_quoted(lb_member_column(d->defn));
	const char *column = lb_quoted(lb_board_column(d->defn));
	LbArg		args[] = {lb_arg_text(key), lb_arg_int4(max_rows), kept};
	StringInfoData sql;
	Datum	   *elements;
	int			n;
	int64		removed = 0;

	initStringInfo(&sql);
	if (d->defn->nmember > 1)
	{
		appendStringInfo(&sql, "DELETE FROM %s AS t WHERE t.%s OPERATOR(pg_catalog.=) $1",
						 d->defn->from_name, column);
		visit->done.removed += delete_as_owner(d->defn, sql.data, 1, args);
		note_removed(key);
		return;
	}
	appendStringInfo(&sql, "SELECT pg_catalog.array_agg(s.member) FROM (SELECT CAST(t.%s AS pg_catalog.%s) AS member FROM %s AS t WHERE t.%s OPERATOR(pg_catalog.=) $1",
					 member, lb_member_column(d->defn)->type->name,
					 d->defn->from_name, column);
	if (!kept.isnull)
		appendStringInfo(&sql, " AND (t.%s OPERATOR(pg_catalog.=) ANY ($3)) IS NOT TRUE",
						 member);
	appendStringInfoString(&sql, " LIMIT $2) AS s");
	(void) lb_run_as_owner(d->defn, false, sql.data, kept.isnull ? 2 : 3, args);
	elements = array_of_result(1, d->element, &n);
	if (elements != NULL)
	{
		removed = (int64) delete_rows(d, elements, n);
		visit->done.removed += removed;
	}
	if (removed == 0 || (n < max_rows && removed >= n))
		note_removed_but(key, d->refused, d->why);
	else
		visit->done.more = true;
}

/*
 * Remove up to max_rows rows of a closed window that are on its board.
 * Returns true if the others have to wait, or are removed; otherwise it has
 * looked for the rows that are on no board.
 */
static bool
remove_ranked(LbVisit *visit, const LbDefinition *defn, const char *key,
			  int max_rows)
{
	static LbPlan plan;
	const LbType *type = lb_member_columns(defn)->type;
	Datum	   *elements;
	Deletion	deletion = {
		.visit = visit,
		.defn = defn,
		.element = type->oid,
		.nargs = 2,
		.args = {{0}, lb_arg_text(key)}
	};
	LbArg		kept = lb_arg_null(type->array);
	int			asked;
	int			removed = 0;
	int			nestlevel;
	bool		distributed = lb_is_distributed(defn);

	/* Several columns are not an array's elements; the other way finds all. */
	if (defn->nmember > 1 && distributed)
	{
		remove_distributed(&deletion, key, kept, max_rows);
		return true;
	}
	if (defn->nmember > 1)
	{
		find_unranked(visit, defn, key, kept);
		return false;
	}
	nestlevel = lb_begin_texts();
	(void) lb_own_exec(&plan,
					   "SELECT pg_catalog.array_agg(t.member) FROM @.lb_top_key($1, $2, CAST(0 AS pg_catalog.int8)) t",
					   LB_ARGS(lb_arg_int4(max_rows), lb_arg_text(lb_window_board(defn, key))));
	elements = array_of_result(1, TEXTOID, &asked);
	for (int i = 0; i < asked; i++)
	{
		CHECK_FOR_INTERRUPTS();
		elements[i] = lb_value_from_text(type, elements[i]);
	}
	AtEOXact_GUC(true, nestlevel);
	deletion.sql = psprintf("DELETE FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1) AND %s OPERATOR(pg_catalog.=) $2",
							defn->from_name, lb_quoted(lb_member_column(defn)),
							lb_quoted(lb_board_column(defn)));
	if (asked > 0)
	{
		removed = (int) delete_rows(&deletion, elements, asked);
		visit->done.removed += removed;
		if (asked == max_rows && removed >= asked)
		{
			visit->done.more = true;
			return true;
		}
	}
	if (removed < asked)
		kept = lb_arg_array(type->oid, elements, NULL, asked);
	if (distributed)
	{
		remove_distributed(&deletion, key, kept, max_rows - removed);
		return true;
	}
	find_unranked(visit, defn, key, kept);
	visit->removing.unranked.refused = deletion.refused;
	visit->removing.unranked.why = deletion.why;
	return false;
}

/* How many rows the transaction may yet remove. */
static int
rows_allowed(const LbVisit *visit)
{
	return visit->max_rows - (int) Min(visit->done.removed, visit->max_rows);
}

/* Remove rows of a closed window. */
static void
remove_rows(LbVisit *visit, const LbDefinition *defn, const char *key)
{
	LbUnranked *rows = &visit->removing.unranked;
	Oid			partition = partition_of(defn, key);

	if (OidIsValid(partition))
	{
		if (drop_partition(visit, defn, partition, key))
			note_removed(key);
		else
			visit->done.more = true;
		return;
	}
	if ((rows->key == NULL || strcmp(rows->key, key) != 0) &&
		remove_ranked(visit, defn, key, rows_allowed(visit)))
		return;
	remove_unranked(visit, defn, key, rows_allowed(visit));
}

/* The keys that are closed and still have rows. */
static List *
keys_to_remove(void)
{
	static LbPlan plan;
	uint64		n = lb_own_exec(&plan,
								"SELECT board FROM @.lb_closed WHERE removed_at IS NULL ORDER BY closed_at, board",
								LB_NO_ARGS);

	return lb_keys_of_result(n);
}

bool
lb_remove_windows(LbVisit *visit, const LbDefinition *defn, List **drops)
{
	TimestampTz now = GetCurrentTimestamp();
	ListCell   *lc;

	foreach(lc, keys_to_remove())
	{
		char	   *key = lfirst(lc);
		LbSpan		span;
		LbWindow   *window = lb_window_in_family(defn, key, &span);
		MemoryContext old;
		bool		ok;

		CHECK_FOR_INTERRUPTS();

		/*
		 * Keep the rows of a window of no recorded kind.  lb_window may still
		 * be empty, too, while a dump is restored that has lb_closed first.
		 */
		if (lb_listed(visit->removing.skip, key) || window == NULL ||
			now < lb_window_goes(window, &span))
			continue;
		if ((!visit->one || visit->removing.in_use) &&
			OidIsValid(partition_of(defn, key)))
		{
			*drops = lappend(*drops, key);
			continue;
		}
		if (rows_allowed(visit) == 0)
		{
			visit->done.more = true;
			return true;
		}
		ok = lb_attempt_key(remove_rows, visit, defn, key);
		if (ok && visit->one)
		{
			visit->done.more = true;
			return true;
		}
		if (ok)
			continue;
		old = MemoryContextSwitchTo(visit->context);
		visit->removing.skip = lappend(visit->removing.skip, pstrdup(key));
		MemoryContextSwitchTo(old);
	}
	return false;
}

void
lb_remove_partitions(LbVisit *visit, const LbDefinition *defn, List *drops)
{
	ListCell   *lc;

	foreach(lc, drops)
	{
		if (visit->removing.in_use)
			break;
		if (lb_attempt_key(remove_rows, visit, defn, lfirst(lc)))
		{
			visit->done.more |= lnext(drops, lc) != NULL;
			break;
		}
	}
}
