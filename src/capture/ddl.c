/*-------------------------------------------------------------------------
 *
 * ddl.c
 *	  What the current transaction does to boards and their tables.
 *
 * Boards and tables that come and go are a list of operations, with numbers of
 * the same sequence as the transaction's changes, carried out at the commit
 * (xact.c).  DDL that lets rows change without the row triggers makes the
 * transaction's changes of a board unknown.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
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
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "boards/catalog.h"
#include "boards/directory.h"
#include "boards/resolve.h"
#include "capture/ddl.h"
#include "capture/xactlog.h"
#include "util/compat.h"

LbDdlOp    *lb_ddl_ops = NULL;

static LbDdlOp **op_buckets = NULL; /* NULL while there are few */
static uint32 nop_buckets = 0;
static uint32 nops = 0;

static void (*follow_rename) (const LbDefinition *old);
static object_access_hook_type prev_object_access_hook = NULL;
static ProcessUtility_hook_type prev_process_utility = NULL;

/* As many are found quickly enough without a hash table. */
#define FEW 16

/*
 * Enter what comes after all others; can raise, and then it is not entered.
 * Those without a definition are in a bucket too, and never looked for there.
 */
static void
enter_op(LbDdlOp *op)
{
	LbDdlOp   **head;

	if (nops >= Max(FEW, nop_buckets))
	{
		uint32		n = nops * 4;
		LbDdlOp   **table = MemoryContextAllocZero(lb_xact.context,
												   n * sizeof(LbDdlOp *));
		LbDdlOp   **tails = MemoryContextAllocZero(lb_xact.context,
												   n * sizeof(LbDdlOp *));

		for (LbDdlOp *each = lb_ddl_ops; each != NULL; each = each->next)
		{
			uint32		b = each->defn.id & (n - 1);

			/* The newest stays the first. */
			each->chain = NULL;
			if (tails[b] == NULL)
				table[b] = each;
			else
				tails[b]->chain = each;
			tails[b] = each;
		}
		pfree(tails);
		if (op_buckets != NULL)
			pfree(op_buckets);
		op_buckets = table;
		nop_buckets = n;
	}
	if (op_buckets != NULL)
	{
		head = &op_buckets[op->defn.id & (nop_buckets - 1)];
		op->chain = *head;
		*head = op;
	}
	op->next = lb_ddl_ops;
	lb_ddl_ops = op;
	nops++;
}

/* defn is NULL where relation is what was dropped. */
static void
add_op(LbDdlKind kind, const LbDefinition *defn, Oid relation)
{
	LbDdlOp    *op;

	lb_xact_begin();
	op = MemoryContextAllocZero(lb_xact.context, sizeof(LbDdlOp));
	op->kind = kind;
	op->relation = relation;
	if (defn != NULL)
		op->defn = *defn;
	op->seq = lb_xact_take_seq();
	enter_op(op);
}

void
lb_note_created(const LbDefinition *defn)
{
	add_op(LB_DDL_CREATED, defn, InvalidOid);
}

void
lb_note_dropped(const LbDefinition *defn)
{
	add_op(LB_DDL_DROPPED, defn, InvalidOid);
}

/*
 * Its table is locked against writers, but not against readers: until the
 * definition is gone they must not find an index that has not followed us.
 */
void
lb_note_erased(LbDefinition *defn)
{
	lb_xact_rows_unknown(defn, "lb_board was changed by hand");
	lb_note_dropped(defn);
}

void
lb_ddl_cut_off(uint64 seq)
{
	while (lb_ddl_ops != NULL && lb_ddl_ops->seq >= seq)
	{
		/* The newest is the first in its bucket. */
		if (op_buckets != NULL)
			op_buckets[lb_ddl_ops->defn.id & (nop_buckets - 1)] = lb_ddl_ops->chain;
		lb_ddl_ops = lb_ddl_ops->next;
		nops--;
	}
}

void
lb_ddl_forget(void)
{
	lb_ddl_ops = NULL;
	op_buckets = NULL;
	nop_buckets = 0;
	nops = 0;
}

static bool
has_op(LbDdlKind kind, Oid catalog, int32 id)
{
	LbDdlOp    *op = op_buckets == NULL ? lb_ddl_ops :
		op_buckets[id & (nop_buckets - 1)];

	for (; op != NULL; op = op_buckets == NULL ? op->next : op->chain)
	{
		if (op->kind == kind && op->defn.id == id &&
			op->defn.catalog == catalog)
			return true;
	}
	return false;
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

/* What pg_trigger says of a trigger. */
typedef struct TriggerFacts
{
	Oid			table;
	Oid			function;
	Oid			parent;			/* that it is a clone of, on a partition */
} TriggerFacts;

/*
 * Look a trigger up, as a snapshot sees it, or with NULL as the command that
 * runs has found it.  Returns whether it is there.
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
 * A table's triggers or a column were altered, or those of a partition.  From
 * here on rows may change without our triggers, even if these are enabled
 * again before the commit: the board goes offline with it, and is built again.
 * Returns whether there is such a board.
 */
static bool
source_altered(Oid relid, AttrNumber attno)
{
	LbDefinition **defns;
	int			n;
	List	   *ancestors = NIL;
	bool		any = false;

	/* Nothing of ours in this database, or its catalog is being made. */
	if (!OidIsValid(relid) || lb_catalog() == NULL)
		return false;
	n = lb_all_defns(&defns);
	if (n > 0 && get_rel_relispartition(relid))
		ancestors = get_partition_ancestors(relid);
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = defns[i];
		bool		ours = attno == 0;

		if (lb_created_here(defn))
			continue;
		if (defn->source != relid)
		{
			/* A partition's columns have numbers of their own. */
			if (!list_member_oid(ancestors, defn->source))
				continue;
			ours = true;
		}
		ours |= lb_uses_column(defn, attno) || !defn->resolved;
		if (ours)
			lb_xact_rows_unknown(defn, "the table or its triggers were altered");
		any |= ours;
	}
	return any;
}

/* Whether the command that runs has given a column another name. */
static bool
has_new_name(Oid relid, AttrNumber attno)
{
	const char *before = get_attname(relid, attno, true);
	Relation	rel = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		result = false;

	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber,
				F_INT2EQ, Int16GetDatum(attno));
	scan = systable_beginscan(rel, AttributeRelidNumIndexId, true,
							  SnapshotSelf, 2, keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple) && before != NULL)
	{
		Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);

		result = strcmp(NameStr(form->attname), before) != 0;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * Returns whether a column was renamed, which changes no rows.  The boards that
 * use it follow when the statement has ended, for the catalogs do not show the
 * new name before.  Until then, remember where their columns are.  A partition's
 * columns are renamed with those of its table, whose boards follow.
 */
static bool
column_renamed(Oid relid, AttrNumber attno)
{
	const LbCatalog *cat = lb_catalog();
	LbDefinition **defns;
	int			n;

	if (cat == NULL || !cat->version_ok || !has_new_name(relid, attno))
		return false;
	n = lb_defns_of(relid, &defns);
	for (int i = 0; i < n; i++)
	{
		/* Once, if an event trigger renames within the statement. */
		if (lb_uses_column(defns[i], attno) &&
			!has_op(LB_DDL_RENAMED, defns[i]->catalog, defns[i]->id))
			add_op(LB_DDL_RENAMED, defns[i], InvalidOid);
	}
	return true;
}

/*
 * After a statement.  What earlier ones have renamed is not recorded by its old
 * number any more; a statement of an event trigger leaves what the one that it
 * is part of has renamed to that.
 */
static void
follow_renames(void)
{
	for (LbDdlOp *op = lb_ddl_ops; op != NULL; op = op->next)
	{
		if (op->kind == LB_DDL_RENAMED)
			follow_rename(&op->defn);
	}
}

/*
 * The capture trigger of a table was altered or is dropped.  That of a partition
 * is a clone, and leads to the table that it comes from even where the partition
 * does not any more (DETACH).
 */
static void
capture_altered(TriggerFacts facts)
{
	TriggerFacts parent;

	while (OidIsValid(facts.parent) &&
		   read_trigger(facts.parent, SnapshotSelf, &parent))
		facts = parent;
	(void) source_altered(facts.table, 0);
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

/*
 * A trigger came to be, or has replaced one (CREATE OR REPLACE).  If either is of
 * our function, the table may not be captured as before.
 *
 * Clones follow the trigger that they come from.  But by one that is new, a table
 * has become a partition.  If it brings rows along, no trigger fires for them.
 */
static void
trigger_created(Oid trigger)
{
	const LbCatalog *cat = lb_catalog();
	Oid			capture;
	TriggerFacts facts;
	TriggerFacts before;
	Relation	rel;
	bool		altered;

	if (cat == NULL)
		return;
	capture = cat->capture;
	if (!read_trigger(trigger, SnapshotSelf, &facts))
		return;
	if (!OidIsValid(facts.parent))
		altered = facts.function == capture ||
			(read_trigger(trigger, NULL, &before) &&
			 before.function == capture);
	else if (facts.function == capture)
	{
		rel = relation_open(facts.table, AccessShareLock);
		altered = rel->rd_rel->relkind == RELKIND_RELATION &&
			RelationGetNumberOfBlocks(rel) > 0;
		relation_close(rel, AccessShareLock);
	}
	else
		altered = false;
	if (altered)
		capture_altered(facts);
}

/*
 * Before any trigger of the TRUNCATE.  Of a partitioned table this is called
 * for the table itself and then for all its partitions.
 */
static void
truncate_begins(Oid relid)
{
	LbDefinition **defns;
	int			n;
	List	   *ancestors = NIL;
	CommandId	cid = GetCurrentCommandId(false);
	SubTransactionId subid = GetCurrentSubTransactionId();
	uint64		began = lb_xact_next_seq();

	if (lb_catalog() == NULL)
		return;
	n = lb_all_defns(&defns);
	if (n > 0 && get_rel_relispartition(relid))
		ancestors = get_partition_ancestors(relid);
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
			/* Nothing of ours is fired for a partition by itself. */
			xdefn = lb_xact_find_defn(defns[i]);
			if (xdefn == NULL || xdefn->truncate_began != lb_xact_next_seq() ||
				xdefn->truncate_cid != cid || xdefn->truncate_subid != subid)
				lb_xact_rows_unknown(defns[i], "a partition was truncated");
		}
	}
	if (lb_xact_next_seq() == began)
		return;

	/* That has taken a number, but the TRUNCATE goes on. */
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (xdefn->truncate_began == began && xdefn->truncate_cid == cid &&
			xdefn->truncate_subid == subid)
			xdefn->truncate_began = lb_xact_next_seq();
	}
}

/* The directory follows DROP TABLE, DROP EXTENSION and their like. */
static void
object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId,
			  void *arg)
{
	if (prev_object_access_hook)
		prev_object_access_hook(access, classId, objectId, subId, arg);

	if (lb_shared == NULL)
		return;
	if (access == OAT_DROP && classId == RelationRelationId && subId == 0 &&
		!dlist_is_empty(&lb_shared->defs))
	{
		bool		source;
		bool		cat;

		lb_shared_board_look_up(objectId, &source, &cat);
		if (source)
			add_op(LB_DDL_SOURCE_DROPPED, NULL, objectId);
		if (cat)
			add_op(LB_DDL_CATALOG_DROPPED, NULL, objectId);
	}
	else if (access == OAT_DROP && classId == DatabaseRelationId)
		add_op(LB_DDL_DATABASE_DROPPED, NULL, objectId);
	else if ((access == OAT_POST_ALTER || access == OAT_DROP) &&
			 classId == TriggerRelationId)
		trigger_altered(objectId);
	else if (access == OAT_POST_CREATE && classId == TriggerRelationId)
		trigger_created(objectId);
	else if (access == OAT_TRUNCATE && classId == RelationRelationId)
		truncate_begins(objectId);
	else if ((access == OAT_POST_ALTER && classId == RelationRelationId) ||
			 (access == OAT_DROP && classId == RelationRelationId && subId != 0))
	{
		if (access != OAT_POST_ALTER || subId == 0 ||
			!column_renamed(objectId, subId))
			(void) source_altered(objectId, subId);
	}
	else if (access == OAT_POST_ALTER && classId == ExtensionRelationId)
	{
		/* ALTER EXTENSION UPDATE changes the version that we compare with. */
		const LbCatalog *known = lb_catalog();

		if (known != NULL && known->extension == objectId)
			CacheInvalidateRelcacheByRelid(known->lb_board);
	}
}

/*
 * DETACH PARTITION CONCURRENTLY takes the partition's rows away from new
 * queries by a first transaction, for which no other hook is called; the
 * triggers go in a second one.  Who is writing to the partition itself must
 * have ended before: his changes are captured for a board that, built again
 * meanwhile, would not know the partition.  Later ones find that it is none.
 */
static void
detach_begins(Oid relid, RangeVar *name)
{
	Oid			part;

	/* Locks are for who may do it; the others get their error from it. */
	if (!OidIsValid(relid) ||
		!pg_class_ownercheck(relid, GetUserId()) ||
		!source_altered(relid, 0))
		return;
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	part = RangeVarGetRelid(name, NoLock, true);
	if (OidIsValid(part) && get_rel_relispartition(part) &&
		get_partition_parent(part, true) == relid)
	{
		List	   *parts;
		List	   *tags = NIL;
		ListCell   *lc;

		/*
		 * Waiting in line for a ShareLock keeps all later writers waiting as
		 * well.  So wait for those who are there without being in line,
		 * VACUUM and the like first, and get in line behind the few who have
		 * come meanwhile.
		 */
		LockRelationOid(part, ShareUpdateExclusiveLock);
		parts = find_all_inheritors(part, ShareUpdateExclusiveLock, NULL);
		foreach(lc, parts)
		{
			LOCKTAG    *tag = palloc(sizeof(LOCKTAG));

			SET_LOCKTAG_RELATION(*tag, MyDatabaseId, lfirst_oid(lc));
			tags = lappend(tags, tag);
		}
		WaitForLockersMultiple(tags, ShareLock, false);
		foreach(lc, parts)
			LockRelationOid(lfirst_oid(lc), ShareLock);
	}
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest,
				QueryCompletion *qc)
{
	LbDdlOp    *ops = lb_ddl_ops;

	if (lb_shared != NULL && IsA(pstmt->utilityStmt, AlterTableStmt))
	{
		AlterTableStmt *stmt = (AlterTableStmt *) pstmt->utilityStmt;
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
	if (prev_process_utility)
		prev_process_utility(pstmt, queryString, readOnlyTree, context, params,
							 queryEnv, dest, qc);
	else
		standard_ProcessUtility(pstmt, queryString, readOnlyTree, context,
								params, queryEnv, dest, qc);
	/* The statement has added some. */
	if (lb_ddl_ops != ops)
		follow_renames();
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
		LbDefinition *defn = defns[i];
		List	   *parts;
		ListCell   *lc;

		if (get_rel_relkind(defn->source) != RELKIND_PARTITIONED_TABLE)
			continue;
		parts = find_all_inheritors(defn->source, NoLock, NULL);
		foreach(lc, parts)
		{
			LOCKTAG		tag;

			SET_LOCKTAG_RELATION(tag, MyDatabaseId, lfirst_oid(lc));
#if PG_VERSION_NUM >= 170000
			if (LockHeldByMe(&tag, AccessExclusiveLock, false))
#else
			if (LockHeldByMe(&tag, AccessExclusiveLock))
#endif
			{
				lb_xact_rows_unknown(defn, "a partition was truncated");
				break;
			}
		}
		list_free(parts);
	}
}

void
lb_ddl_init(void (*follow) (const LbDefinition *old))
{
	follow_rename = follow;
	prev_object_access_hook = object_access_hook;
	object_access_hook = object_access;
	prev_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
