/*-------------------------------------------------------------------------
 *
 * ddl.c
 *	  What the current transaction does to boards and their tables.
 *
 * The boards and tables that the transaction creates or drops are a list of
 * operations.  Operations and changes are numbered in one sequence, so an
 * aborted subtransaction cuts off both.  xact.c carries the operations out.
 *
 * DDL can also let rows change without the row triggers: it disables a
 * trigger, rewrites the table, attaches a partition.  The transaction's
 * changes of the boards are then "unknown" (xactlog.c), so that they are
 * built again, even if the DDL is undone before the commit.  The object
 * access hook reports such DDL, also for tables that the statement does not
 * name; the utility hook sees the little that it does not report.  ALTER TABLE
 * that only sets options leaves the rows as they are; the rows of pg_class and
 * pg_attribute tell.
 *
 * The trigger of a source is recognized by its function, never by its name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "boards/catalog.h"
#include "boards/directory.h"
#include "boards/resolve.h"
#include "capture/ddl.h"
#include "capture/ddl_internal.h"
#include "capture/xactlog.h"
#include "util/compat.h"

LbDdlOp    *lb_ddl_ops = NULL;

static LbXactTable op_table;	/* by the definition's id */

static void (*follow_rename) (const LbDefinition *old);
static void (*lock_captured) (List *sources);
static object_access_hook_type prev_object_access_hook = NULL;
static ProcessUtility_hook_type prev_process_utility = NULL;


/* ----------------------------------------------------------------
 *		The operations
 * ----------------------------------------------------------------
 */

/* defn is NULL if a relation or a database was dropped.  Can raise. */
static void
add_op(LbDdlKind kind, const LbDefinition *defn, Oid relation)
{
	LbDdlOp    *op;

	lb_xact_begin();
	op = MemoryContextAllocZero(lb_xact.context, sizeof(LbDdlOp));
	op->kind = kind;
	op->relation = relation;
	if (defn != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(lb_xact.context);

		lb_copy_defn(&op->defn, defn);
		MemoryContextSwitchTo(old);
	}
	op->seq = lb_xact_take_seq();
	op->link.hash = op->defn.id;
	lb_xact_table_add(&op_table, &op->link);
	op->next = lb_ddl_ops;
	lb_ddl_ops = op;
}

static bool
has_op(LbDdlKind kind, Oid catalog, int32 id)
{
	slist_iter	iter;

	slist_foreach(iter, lb_xact_bucket(&op_table, id))
	{
		LbDdlOp    *op = slist_container(LbDdlOp, link.node, iter.cur);

		if (op->kind == kind && op->defn.id == id &&
			op->defn.catalog == catalog)
			return true;
	}
	return false;
}

void
lb_ddl_cut_off(uint64 seq)
{
	while (lb_ddl_ops != NULL && lb_ddl_ops->seq >= seq)
	{
		lb_xact_table_pop(&op_table, &lb_ddl_ops->link);
		lb_ddl_ops = lb_ddl_ops->next;
	}
}

void
lb_ddl_forget(void)
{
	lb_ddl_ops = NULL;
	memset(&op_table, 0, sizeof(op_table));
}

void
lb_note_created(const LbDefinition *defn)
{
	add_op(LB_DDL_CREATED, defn, InvalidOid);
}

void
lb_note_recorded_anew(const LbDefinition *defn)
{
	add_op(LB_DDL_CREATED, defn, InvalidOid);
	lb_ddl_ops->anew = true;
}

void
lb_note_dropped(const LbDefinition *defn)
{
	add_op(LB_DDL_DROPPED, defn, InvalidOid);
}

void
lb_note_renamed(const LbDefinition *defn)
{
	/* An event trigger may change another column within the statement. */
	if (!has_op(LB_DDL_RENAMED, defn->catalog, defn->id))
		add_op(LB_DDL_RENAMED, defn, InvalidOid);
}

void
lb_note_erased(LbDefinition *defn)
{
	/*
	 * Readers are not locked out.  Until the definition is gone, they must
	 * not use an index that lacks changes of this transaction.
	 */
	lb_xact_set_unknown(defn, "lb_board was changed by hand");
	lb_note_dropped(defn);
}

bool
lb_created_here(const LbDefinition *defn)
{
	return has_op(LB_DDL_CREATED, defn->catalog, defn->id);
}

bool
lb_dropped_here(Oid catalog, int32 id)
{
	return has_op(LB_DDL_DROPPED, catalog, id);
}


/* ----------------------------------------------------------------
 *		Tables
 * ----------------------------------------------------------------
 */

/* The tables that a relation is a partition of, directly or not. */
static List *
ancestors_of(Oid relid)
{
	return get_rel_relispartition(relid) ? get_partition_ancestors(relid) : NIL;
}

/*
 * The table's triggers were altered, or one of its columns (attno), or those
 * of a partition.  Returns whether this makes the changes of any board
 * unknown.
 */
static bool
source_altered(Oid relid, AttrNumber attno)
{
	LbDefinition **defns;
	int			n;
	List	   *ancestors;
	bool		any = false;

	/* The database may have no boards, or its lb_board is being created. */
	if (!OidIsValid(relid) || lb_catalog() == NULL)
		return false;
	n = lb_all_defns(&defns);
	ancestors = n > 0 ? ancestors_of(relid) : NIL;
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = defns[i];
		bool		affected;

		if (lb_created_here(defn))
			continue;
		if (defn->source == relid)
			affected = attno == 0 || lb_uses_column(defn, attno) ||
				!defn->resolved;
		else					/* a partition's columns have other numbers */
			affected = list_member_oid(ancestors, defn->source);
		if (affected)
			lb_xact_set_unknown(defn, "the table or its triggers were altered");
		any |= affected;
	}
	return any;
}

/*
 * A table was dropped.  In the directory it may be a source, or an lb_board.
 */
static void
relation_dropped(Oid relid)
{
	bool		source;
	bool		catalog;

	if (dlist_is_empty(&lb_shared->boards))
		return;
	lb_shared_board_look_up(relid, &source, &catalog);
	if (source)
		add_op(LB_DDL_SOURCE_DROPPED, NULL, relid);
	if (catalog)
		add_op(LB_DDL_CATALOG_DROPPED, NULL, relid);
}

/*
 * A TRUNCATE begins, before any trigger of it.  For a partitioned table this
 * is called for the table, and then for each partition.
 */
static void
truncate_begins(Oid relid)
{
	LbDefinition **defns;
	int			n;
	List	   *ancestors;
	CommandId	cid = GetCurrentCommandId(false);
	SubTransactionId subid = GetCurrentSubTransactionId();
	uint64		began = lb_xact_next_seq();

	if (lb_catalog() == NULL)
		return;
	n = lb_all_defns(&defns);
	ancestors = n > 0 ? ancestors_of(relid) : NIL;
	for (int i = 0; i < n; i++)
	{
		LbXactDefn *xdefn;

		if (defns[i]->source == relid)
		{
			xdefn = lb_xact_make_defn(defns[i]);
			xdefn->truncate_began = lb_xact_next_seq();
			xdefn->truncate_cid = cid;
			xdefn->truncate_subid = subid;
		}
		else if (list_member_oid(ancestors, defns[i]->source))
		{
			/* The TRUNCATE of a partition alone fires no trigger of ours. */
			xdefn = lb_xact_find_defn(defns[i]);
			if (xdefn == NULL || xdefn->truncate_cid != cid ||
				xdefn->truncate_began != lb_xact_next_seq() ||
				xdefn->truncate_subid != subid)
				lb_xact_set_unknown(defns[i], "a partition was truncated");
		}
	}
	if (lb_xact_next_seq() == began)
		return;

	/*
	 * Unknown changes have taken a number.  For the other definitions the
	 * TRUNCATE still begins.
	 */
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (xdefn->truncate_began == began && xdefn->truncate_cid == cid &&
			xdefn->truncate_subid == subid)
			xdefn->truncate_began = lb_xact_next_seq();
	}
}

/* Whether the transaction has locked a relation in AccessExclusiveLock. */
static bool
locked_exclusively(Oid relid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	return LB_LOCK_HELD_BY_ME(&tag, AccessExclusiveLock);
}

void
lb_find_worker_truncates(void)
{
	LbDefinition **defns;
	int			n;

	if (!FullTransactionIdIsValid(GetTopFullTransactionIdIfAny()) ||
		lb_catalog() == NULL)
		return;
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
	{
		List	   *parts;
		ListCell   *lc;

		if (get_rel_relkind(defns[i]->source) != RELKIND_PARTITIONED_TABLE)
			continue;
		parts = find_all_inheritors(defns[i]->source, NoLock, NULL);
		foreach(lc, parts)
		{
			if (locked_exclusively(lfirst_oid(lc)))
			{
				lb_xact_set_unknown(defns[i], "a partition was truncated");
				break;
			}
		}
		list_free(parts);
	}
}


/* ----------------------------------------------------------------
 *		Columns
 * ----------------------------------------------------------------
 */

/*
 * The row of a table in pg_class (attno 0), or of a column in pg_attribute, as
 * the command that runs has made it.  The caches still have it as it was.
 * Returns NULL if there is none; else a copy.
 */
static HeapTuple
altered_row(Oid relid, AttrNumber attno, Relation catalog)
{
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], attno == 0 ? Anum_pg_class_oid : Anum_pg_attribute_attrelid,
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber,
				F_INT2EQ, Int16GetDatum(attno));
	scan = systable_beginscan(catalog, attno == 0 ? ClassOidIndexId :
							  AttributeRelidNumIndexId, true, SnapshotSelf,
							  attno == 0 ? 1 : 2, keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	return tuple;
}

/* Whether a column of a catalog has the same value in two rows. */
static bool
same_value(Relation catalog, AttrNumber number, HeapTuple before, HeapTuple after)
{
	TupleDesc	desc = RelationGetDescr(catalog);
	Form_pg_attribute att = TupleDescAttr(desc, number - 1);
	bool		nulls[2];
	Datum		old = heap_getattr(before, number, desc, &nulls[0]);
	Datum		new = heap_getattr(after, number, desc, &nulls[1]);

	return nulls[0] == nulls[1] &&
		(nulls[0] || datumIsEqual(old, new, att->attbyval, att->attlen));
}

/*
 * Changes of these change no row: options, statistics, row-level security, NOT
 * NULL.  (Storage is not one of them: ALTER COLUMN TYPE with USING, which
 * rewrites the rows, can show no more than that.)
 */
static bool
is_flag(AttrNumber attno, AttrNumber number)
{
	return attno == 0 ? number == Anum_pg_class_reloptions ||
		number == Anum_pg_class_relrowsecurity ||
		number == Anum_pg_class_relforcerowsecurity :
		number == Anum_pg_attribute_attstattarget ||
		number == Anum_pg_attribute_attoptions ||
		number == Anum_pg_attribute_attnotnull;
}

/*
 * What the command that runs has changed of a table or a column.  If it has
 * changed nothing that the catalogs show, it may have rewritten the rows:
 * ALTER COLUMN TYPE of the same type, with USING.
 */
typedef enum Altered
{
	ALTERED_ROWS,				/* or what is not known */
	ALTERED_FLAGS,				/* no row */
	ALTERED_OWNER,				/* that of the table */
	ALTERED_COLUMN				/* the column has another name or type */
} Altered;

/*
 * The ALTER TABLE that runs changes flags of columns only.  From version 18 on
 * NOT NULL is a constraint, and when the hook is called the caches have the
 * column as the command has made it: then no difference shows that.
 */
static bool only_flags = false;

static Altered
what_is_altered(Oid relid, AttrNumber attno)
{
	HeapTuple	before = attno == 0 ?
		SearchSysCache1(RELOID, ObjectIdGetDatum(relid)) :
		SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno));
	Relation	catalog = table_open(attno == 0 ? RelationRelationId :
									 AttributeRelationId, AccessShareLock);
	HeapTuple	after = altered_row(relid, attno, catalog);
	bool		flags = false;
	bool		others = false;
	bool		redefined = false;
	bool		owner = false;

	if (HeapTupleIsValid(before) && HeapTupleIsValid(after))
	{
		for (int i = 1; i <= RelationGetNumberOfAttributes(catalog); i++)
		{
			bool		differs = !same_value(catalog, i, before, after);

			if (is_flag(attno, i))
				flags |= differs;
			else
				others |= differs;
			if (attno == 0 && i == Anum_pg_class_relowner)
				owner |= differs;
			if (attno != 0 && (i == Anum_pg_attribute_attname ||
							   i == Anum_pg_attribute_atttypid ||
							   i == Anum_pg_attribute_atttypmod ||
							   i == Anum_pg_attribute_attcollation))
				redefined |= differs;
		}
	}
	table_close(catalog, AccessShareLock);
	if (HeapTupleIsValid(before))
		ReleaseSysCache(before);
	return redefined ? ALTERED_COLUMN : owner ? ALTERED_OWNER :
		flags && !others ? ALTERED_FLAGS : ALTERED_ROWS;
}

/*
 * A column was given another name or type.  With a type, keys have other
 * words: that makes another board of it, as a name does.  The catalogs do not
 * show it before the end of the statement.  So remember the boards that use
 * the column, with the numbers of all their columns, and record them anew at
 * the end of the statement (follow_renames).  A partition's columns change
 * with those of its table, which has the boards.
 */
static void
column_redefined(Oid relid, AttrNumber attno)
{
	LbDefinition **defns;
	int			n = lb_defns_of(relid, &defns);

	for (int i = 0; i < n; i++)
	{
		if (lb_uses_column(defns[i], attno))
			lb_note_renamed(defns[i]);
	}
}

/*
 * At the end of a statement that has added operations.  Boards that an
 * earlier statement has renamed are no longer recorded by their old number,
 * and are skipped.  If a statement within an event trigger adds operations, it
 * follows the renames of the outer statement, too; if not, that one does.
 */
static void
follow_renames(void)
{
	List	   *sources = NIL;

	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		if (op->kind == LB_DDL_RENAMED)
			sources = list_append_unique_oid(sources, op->defn.source);
	}
	lock_captured(sources);
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		if (op->kind == LB_DDL_RENAMED)
			follow_rename(&op->defn);
	}
}


/* ----------------------------------------------------------------
 *		Triggers
 * ----------------------------------------------------------------
 */

/* What pg_trigger says of a trigger. */
typedef struct TriggerFacts
{
	Oid			table;
	Oid			function;
	Oid			parent;			/* on a partition: the trigger it is a clone
								 * of */
} TriggerFacts;

/*
 * Look a trigger up, as a snapshot sees it.  NULL is the catalog snapshot,
 * which does not see what the command that runs has done.  Returns whether
 * the trigger is there.
 */
static bool
read_trigger(Oid trigger, Snapshot snapshot, TriggerFacts *facts)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(trigger));
	scan = systable_beginscan(rel, TriggerOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	found = HeapTupleIsValid(tuple);
	if (found)
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		facts->table = form->tgrelid;
		facts->function = form->tgfoid;
		facts->parent = form->tgparentid;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * The table of a capture trigger.  On a partition the trigger is a clone:
 * follow it to the table that it was cloned from, even if the partition does
 * not belong to that table any more (DETACH).
 */
static Oid
captured_table(TriggerFacts facts)
{
	TriggerFacts parent;

	while (OidIsValid(facts.parent) &&
		   read_trigger(facts.parent, SnapshotSelf, &parent))
		facts = parent;
	return facts.table;
}

/* A capture trigger was altered or is dropped. */
static void
capture_altered(TriggerFacts facts)
{
	(void) source_altered(captured_table(facts), 0);
}

/*
 * A table has become a partition.  If it is unlogged, standbys must not keep
 * boards of its table: they cannot read it, and a promotion empties it.
 */
static void
partition_comes(TriggerFacts facts)
{
	Relation	part = relation_open(facts.table, AccessShareLock);
	bool		unlogged = !RelationNeedsWAL(part);
	LbDefinition **defns;
	int			n;

	relation_close(part, AccessShareLock);
	if (!unlogged)
		return;
	n = lb_defns_on(captured_table(facts), &defns);
	for (int i = 0; i < n; i++)
		lb_xact_make_defn(defns[i])->unfed = true;
}

/* A trigger was altered or is dropped. */
static void
trigger_altered(Oid trigger)
{
	const LbCatalog *cat = lb_catalog();
	TriggerFacts facts;

	if (cat != NULL && read_trigger(trigger, SnapshotSelf, &facts) &&
		facts.function == cat->capture)
		capture_altered(facts);
}

/* Whether a table that has become a partition brings rows. */
static bool
brings_rows(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	bool		result = rel->rd_rel->relkind == RELKIND_RELATION &&
		RelationGetNumberOfBlocks(rel) > 0;

	relation_close(rel, AccessShareLock);
	return result;
}

/*
 * A trigger was created, or has replaced one (CREATE OR REPLACE).  If the new
 * one or the replaced one is a capture trigger, rows may have gone
 * uncaptured.
 *
 * Citus makes a trigger of its own on a table after it has entered the table
 * in its list.  A transaction that has locked the table already processes no
 * invalidation for that, but looks at the state of the board.
 *
 * A clone has no effect of its own, but a new one shows that a table has
 * become a partition.  No trigger fires for the rows that it brings.
 */
static void
trigger_created(Oid trigger)
{
	const LbCatalog *cat = lb_catalog();
	Oid			capture;
	TriggerFacts facts;
	TriggerFacts replaced;
	bool		altered;

	if (cat == NULL)
		return;
	capture = cat->capture;
	if (!read_trigger(trigger, SnapshotSelf, &facts))
		return;
	if (OidIsValid(facts.parent))
		altered = facts.function == capture && brings_rows(facts.table);
	else
		altered = facts.function == capture ||
			(read_trigger(trigger, NULL, &replaced) &&
			 replaced.function == capture);
	if (OidIsValid(facts.parent) && facts.function == capture)
		partition_comes(facts);
	if (altered)
		capture_altered(facts);
	else if (lb_is_distributed_table(facts.table))
		(void) source_altered(facts.table, 0);
}


/* ----------------------------------------------------------------
 *		The object access hook
 * ----------------------------------------------------------------
 */

/* A table was altered, or one of its columns. */
static void
relation_altered(Oid relid, AttrNumber attno)
{
	const LbCatalog *cat = lb_catalog();
	Altered		altered;

	/* The catalogs cannot be read while VACUUM FULL exchanges their files. */
	if (cat == NULL || relid < FirstNormalObjectId)
		return;
	altered = what_is_altered(relid, attno);
	if (altered == ALTERED_ROWS && attno != 0 && only_flags)
		altered = ALTERED_FLAGS;
	if (altered == ALTERED_COLUMN && cat->version_ok)
		column_redefined(relid, attno);
	else if (altered != ALTERED_FLAGS)
		(void) source_altered(relid, attno);
	if (altered == ALTERED_OWNER && cat->version_ok)
		lb_owner_altered(relid);
}

/* attno is 0 for the relation itself. */
static void
relation_access(ObjectAccessType access, Oid relid, AttrNumber attno)
{
	switch (access)
	{
		case OAT_DROP:
			if (attno == 0)
				relation_dropped(relid);
			else
				(void) source_altered(relid, attno);
			break;
		case OAT_POST_ALTER:
			relation_altered(relid, attno);
			break;
		case OAT_TRUNCATE:
			truncate_begins(relid);
			break;
		default:
			break;
	}
}

static void
trigger_access(ObjectAccessType access, Oid trigger)
{
	if (access == OAT_POST_CREATE)
		trigger_created(trigger);
	else if (access == OAT_POST_ALTER || access == OAT_DROP)
		trigger_altered(trigger);
}

/* ALTER EXTENSION UPDATE changes the version that LbCatalog has compared. */
static void
extension_altered(Oid extension)
{
	const LbCatalog *known = lb_catalog();

	if (known != NULL && known->extension == extension)
		CacheInvalidateRelcacheByRelid(known->lb_board);
}

static void
object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId,
			  void *arg)
{
	if (prev_object_access_hook)
		prev_object_access_hook(access, classId, objectId, subId, arg);

	if (lb_shared == NULL)
		return;
	switch (classId)
	{
		case RelationRelationId:
			relation_access(access, objectId, subId);
			break;
		case TriggerRelationId:
			trigger_access(access, objectId);
			break;
		case DatabaseRelationId:
			if (access == OAT_DROP)
				add_op(LB_DDL_DATABASE_DROPPED, NULL, objectId);
			break;
		case ExtensionRelationId:
			if (access == OAT_POST_ALTER)
				extension_altered(objectId);
			break;
		default:
			lb_object_altered(access, classId, objectId);
			break;
	}
}


/* ----------------------------------------------------------------
 *		The utility hook
 * ----------------------------------------------------------------
 */

/*
 * Lock a table and its partitions against writers, in ShareLock.
 *
 * While a backend waits for a ShareLock in the lock's queue, all later writers
 * wait, too.  So first keep VACUUM and its like out, wait outside the queue
 * for the present writers to end, and then queue behind the few that have come
 * meanwhile.
 */
static void
lock_against_writers(Oid relid)
{
	List	   *rels;
	List	   *tags = NIL;
	ListCell   *lc;

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	rels = find_all_inheritors(relid, ShareUpdateExclusiveLock, NULL);
	foreach(lc, rels)
	{
		LOCKTAG    *tag = palloc(sizeof(LOCKTAG));

		SET_LOCKTAG_RELATION(*tag, MyDatabaseId, lfirst_oid(lc));
		tags = lappend(tags, tag);
	}
	WaitForLockersMultiple(tags, ShareLock, false);
	foreach(lc, rels)
		LockRelationOid(lfirst_oid(lc), ShareLock);
}

/*
 * DETACH PARTITION CONCURRENTLY begins.  Its first transaction takes the
 * partition's rows away from new queries, without a call of the object access
 * hook; the triggers go in a second transaction.  Transactions that write to
 * the partition itself must end before the first: they capture their changes
 * for a board which, if it is built again meanwhile, does not know the
 * partition.  Later writers find that it is no partition any more.
 */
static void
detach_begins(Oid relid, RangeVar *name)
{
	Oid			part;

	/* Without the right to do it, take no lock: the statement will fail. */
	if (!OidIsValid(relid) ||
		!pg_class_ownercheck(relid, GetUserId()) ||
		!source_altered(relid, 0))
		return;
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	part = RangeVarGetRelid(name, NoLock, true);
	if (OidIsValid(part) && get_rel_relispartition(part) &&
		get_partition_parent(part, true) == relid)
		lock_against_writers(part);
}

/* Find DETACH ... CONCURRENTLY in an ALTER TABLE. */
static void
alter_table_begins(AlterTableStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->subtype == AT_DetachPartition &&
			((PartitionCmd *) cmd->def)->concurrent)
			detach_begins(RangeVarGetRelid(stmt->relation, NoLock, true),
						  ((PartitionCmd *) cmd->def)->name);
	}
}

static bool
alters_only_flags(AlterTableStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->cmds)
	{
		switch (lfirst_node(AlterTableCmd, lc)->subtype)
		{
			case AT_SetNotNull:
			case AT_DropNotNull:
			case AT_SetStatistics:
			case AT_SetOptions:
			case AT_ResetOptions:
				break;
			default:
				return false;
		}
	}
	return true;
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest,
				QueryCompletion *qc)
{
	LbDdlOp    *ops = lb_ddl_ops;
	bool		outer = only_flags;

	if (lb_shared != NULL && IsA(pstmt->utilityStmt, AlterTableStmt))
		alter_table_begins((AlterTableStmt *) pstmt->utilityStmt);
	only_flags = IsA(pstmt->utilityStmt, AlterTableStmt) &&
		alters_only_flags((AlterTableStmt *) pstmt->utilityStmt);
	PG_TRY();
	{
		if (prev_process_utility)
			prev_process_utility(pstmt, queryString, readOnlyTree, context,
								 params, queryEnv, dest, qc);
		else
			standard_ProcessUtility(pstmt, queryString, readOnlyTree, context,
									params, queryEnv, dest, qc);
	}
	PG_FINALLY();
	{
		only_flags = outer;
	}
	PG_END_TRY();

	/* The statement has added operations. */
	if (lb_ddl_ops != ops)
		follow_renames();
}

void
lb_ddl_init(void (*lock) (List *sources),
			void (*follow) (const LbDefinition *old))
{
	lock_captured = lock;
	follow_rename = follow;
	prev_object_access_hook = object_access_hook;
	object_access_hook = object_access;
	prev_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
