/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  Partitions of sources.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "boards/cache.h"
#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/expression.h"
#include "boards/parts.h"
#include "boards/resolve.h"
#include "util/compat.h"

/* Definitions by partition, for the trigger. */
typedef struct PartDefns
{
	Oid			relid;			/* hash key; must be first */
	bool		complete;
	int			n;
	LbDefinition **defns;
} PartDefns;

static HTAB *part_defns = NULL;
static HTAB *part_ancestors = NULL; /* the tables above them */
static MemoryContext part_context = NULL;
static bool part_valid = false;
static uint64 part_changes = 0; /* lb_defns_version() at that time */

static void
invalidate(Oid relid, void *arg)
{
	if (part_valid &&
		(hash_search(part_defns, &relid, HASH_FIND, NULL) != NULL ||
		 hash_search(part_ancestors, &relid, HASH_FIND, NULL) != NULL))
		part_valid = false;
}

/* Lock all tables below a partitioned one.  See lb_resolve_parts(). */
static bool
lock_parts(Oid source, bool wait, List **parts)
{
	for (;;)
	{
		List	   *before = find_all_inheritors(source, NoLock, NULL);
		ListCell   *lc;

		foreach(lc, before)
		{
			Oid			relid = lfirst_oid(lc);

			if (wait)
				LockRelationOid(relid, AccessShareLock);
			else if (!ConditionalLockRelationOid(relid, AccessShareLock))
				return false;
		}

		/* They may have changed during the wait. */
		*parts = find_all_inheritors(source, NoLock, NULL);
		if (equal(*parts, before))
			return true;
	}
}

/* Look at the partitions, which lb_resolve_parts() has locked. */
static void
look_up_parts(LbDefinition *defn, List *parts, const LbCatalog *cat)
{
	ListCell   *lc;

	foreach(lc, parts)
	{
		Relation	rel;

		if (lfirst_oid(lc) == defn->source)
			continue;
		rel = try_relation_open(lfirst_oid(lc), NoLock);
		if (rel == NULL)
			continue;
		if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		{
			if (rel->rd_rel->relkind != RELKIND_RELATION ||
				rel->rd_rel->relam != HEAP_TABLE_AM_OID)
			{
				if (defn->problem == NULL)
					defn->problem = lb_partition_problem;
			}
			else if (defn->problem == NULL && lb_is_distributed_table(lfirst_oid(lc)))
				defn->problem = lb_engine_problem;
			if (cat == NULL || !lb_has_triggers(rel, cat->capture, true))
				defn->captured = false;
			defn->keeps_rows |= lb_may_keep_rows(rel, cat);
			if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
				defn->unlogged_parts = true;
		}
		relation_close(rel, NoLock);
	}
}

bool
lb_resolve_parts_anew(LbDefinition *defn, bool wait)
{
	const LbCatalog *cat;
	List	   *parts;
	ListCell   *lc;
	MemoryContext context;
	Oid		   *oids;
	int			n = 0;

	context = AllocSetContextCreate(CurrentMemoryContext,
									"leaderboard partitions",
									ALLOCSET_SMALL_SIZES);
	context = MemoryContextSwitchTo(context);
	if (!lock_parts(defn->source, wait, &parts))
	{
		MemoryContextDelete(MemoryContextSwitchTo(context));
		return false;
	}
	cat = lb_catalog();
	oids = MemoryContextAlloc(GetMemoryChunkContext(defn),
							  list_length(parts) * sizeof(Oid));
	foreach(lc, parts)
	{
		if (lfirst_oid(lc) != defn->source)
			oids[n++] = lfirst_oid(lc);
	}
	qsort(oids, n, sizeof(Oid), oid_cmp);
	if (defn->parts != NULL)
		pfree(defn->parts);
	defn->parts = oids;
	defn->nparts = n;

	/* From here on an invalidation of a partition is noticed. */
	lb_defns_have_parts();
	look_up_parts(defn, parts, cat);
	defn->parts_valid = true;
	MemoryContextDelete(MemoryContextSwitchTo(context));
	return true;
}

/* An expression with the column numbers of a partition. */
static LbExpression *
map_expression(const LbExpression *expression, const LbDefinition *defn,
			   TupleDesc desc)
{
	Relation	table = RelationIdGetRelation(defn->source);
	AttrMap    *map = NULL;
	LbExpression *result;

	if (RelationIsValid(table))
	{
		map = LB_BUILD_ATTRMAP(desc, RelationGetDescr(table));
		RelationClose(table);
	}
	result = lb_map_expression(expression, map);
	if (map != NULL)
		free_attrmap(map);
	return result;
}

LbDefinition *
lb_part_defn(const LbDefinition *defn, Relation part)
{
	LbDefinition *copy = palloc(sizeof(LbDefinition));
	TupleDesc	desc = RelationGetDescr(part);

	lb_copy_defn(copy, defn);
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbColumn   *column = &copy->columns[i];

		if (column->expression != NULL)
			column->expression = map_expression(column->expression, defn, desc);
		else
			column->attno = lb_find_column(desc, column->name);
	}
	return copy;
}

/* Make the cache empty.  A caller may still look at the old entries. */
static void
reset_parts(void)
{
	HASHCTL		ctl;

	lb_cache_register(invalidate, NULL);
	part_valid = false;
	if (part_context != NULL)
		lb_cache_retire(part_context);
	part_context = NULL;
	part_context = AllocSetContextCreate(TopMemoryContext,
										 "leaderboard partitions",
										 ALLOCSET_SMALL_SIZES);
	memset(&ctl, 0, sizeof(ctl));
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(PartDefns);
	ctl.hcxt = part_context;
	part_defns = hash_create("leaderboard partitions", 32, &ctl,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	ctl.entrysize = sizeof(Oid);
	part_ancestors = hash_create("leaderboard partitioned tables", 32, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	part_changes = lb_defns_version();
	part_valid = true;
}

/* Fill in the definitions of a partition and of what is above it. */
static void
fill_entry(PartDefns *entry, Relation rel)
{
	MemoryContext old = MemoryContextSwitchTo(part_context);
	List	   *above = get_partition_ancestors(entry->relid);
	ListCell   *lc;

	above = lcons_oid(entry->relid, above);
	entry->n = 0;
	entry->defns = palloc(sizeof(LbDefinition *));
	foreach(lc, above)
	{
		Oid			relid = lfirst_oid(lc);
		LbDefinition **defns;
		int			n;

		if (relid != entry->relid)
			(void) hash_search(part_ancestors, &relid, HASH_ENTER, NULL);
		n = lb_defns_of(relid, &defns);
		entry->defns = repalloc(entry->defns,
								(entry->n + n + 1) * sizeof(LbDefinition *));
		for (int i = 0; i < n; i++)
			entry->defns[entry->n++] = lb_part_defn(defns[i], rel);
	}
	MemoryContextSwitchTo(old);
}

int
lb_defns_of_rows(Relation rel, LbDefinition ***result)
{
	Oid			relid = RelationGetRelid(rel);
	PartDefns  *entry;
	bool		found;

	if (!rel->rd_rel->relispartition)
		return lb_defns_of(relid, result);

	lb_load_defns();
	if (!part_valid || part_changes != lb_defns_version())
		reset_parts();

	/*
	 * It is entered before it is filled, so that an invalidation in between
	 * is noticed.  An error leaves it incomplete.
	 */
	entry = hash_search(part_defns, &relid, HASH_ENTER, &found);
	if (!found)
		entry->complete = false;
	if (!entry->complete)
	{
		fill_entry(entry, rel);
		entry->complete = true;
	}
	*result = entry->defns;
	return entry->n;
}

bool
lb_is_detaching(Oid table)
{
	Relation	rel;
	PartitionDesc desc;
	bool		result;

	check_stack_depth();
	if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
		return false;
	if (!ConditionalLockRelationOid(table, AccessShareLock))
		return true;
	rel = try_relation_open(table, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(table, AccessShareLock);
		return true;
	}
	desc = RelationGetPartitionDesc(rel, false);
	result = desc->detached_exist;
	for (int i = 0; !result && i < desc->nparts; i++)
		result = !desc->is_leaf[i] && lb_is_detaching(desc->oids[i]);

	/* A lock that stayed could be in the way of a stronger one. */
	relation_close(rel, AccessShareLock);
	return result;
}
