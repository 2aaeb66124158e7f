/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  Partitions of sources.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "boards/cache.h"
#include "boards/captured.h"
#include "boards/catalog.h"
#include "boards/parts.h"
#include "boards/resolve.h"

/* Definitions by partition, for the trigger. */
typedef struct PartDefns
{
	Oid			relid;			/* hash key; must be first */
	int			n;
	LbDefinition **defns;
} PartDefns;

static HTAB *part_defns = NULL;
static HTAB *part_ancestors = NULL; /* what they are partitions of */
static MemoryContext part_context = NULL;
static bool part_valid = false;
static uint64 part_changes = 0; /* lb_defns_changes() at that time */
static List *old_contexts = NIL;	/* in TopMemoryContext */

static void
invalidate(Oid relid)
{
	if (part_valid &&
		(hash_search(part_defns, &relid, HASH_FIND, NULL) != NULL ||
		 hash_search(part_ancestors, &relid, HASH_FIND, NULL) != NULL))
		part_valid = false;
}

static void
at_xact_end(void)
{
	ListCell   *lc;

	if (old_contexts == NIL)
		return;
	foreach(lc, old_contexts)
		MemoryContextDelete((MemoryContext) lfirst(lc));
	list_free(old_contexts);
	old_contexts = NIL;
}

/* Lock what is below a partitioned table.  See lb_resolve_parts(). */
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

		/* They may have changed while we waited. */
		*parts = find_all_inheritors(source, NoLock, NULL);
		if (list_difference_oid(*parts, before) == NIL)
			return true;
	}
}

/* What the partitions, which lb_resolve_parts() has locked, say of the board. */
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
			else if (defn->problem == NULL && lb_kept_elsewhere(lfirst_oid(lc)))
				defn->problem = lb_engine_problem;
			if (cat == NULL || !lb_has_triggers(rel, cat->capture, true))
				defn->captured = false;
			defn->keeps_rows |= lb_may_keep_rows(rel, cat);
		}
		relation_close(rel, NoLock);
	}
}

bool
lb_resolve_parts(LbDefinition *defn, bool wait)
{
	const LbCatalog *cat;
	List	   *parts;
	ListCell   *lc;
	MemoryContext context;
	Oid		   *oids;
	int			n = 0;

	if (defn->relkind != RELKIND_PARTITIONED_TABLE || defn->parts_valid)
		return true;
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

	/* From here on an invalidation of one of them is noticed. */
	defn->parts_valid = true;
	lb_defns_have_parts();
	PG_TRY();
	{
		look_up_parts(defn, parts, cat);
	}
	PG_CATCH();
	{
		defn->parts_valid = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextDelete(MemoryContextSwitchTo(context));
	return true;
}

LbDefinition *
lb_part_defn(const LbDefinition *defn, Relation part)
{
	LbDefinition *copy = palloc(sizeof(LbDefinition));
	TupleDesc	desc = RelationGetDescr(part);
	Oid			type;

	*copy = *defn;
	copy->member_attno = lb_find_column(desc, defn->member, &type);
	for (int i = 0; i < defn->ncolumns; i++)
		copy->columns[i].attno = lb_find_column(desc, defn->columns[i].name,
												&type);
	if (defn->family)
		copy->board_attno = lb_find_column(desc, defn->board_column, &type);
	if (defn->ranked_if[0] != '\0')
		copy->ranked_attno = lb_find_column(desc, defn->ranked_if, &type);
	return copy;
}

int
lb_defns_of_rows(Relation rel, LbDefinition ***result)
{
	Oid			relid = RelationGetRelid(rel);
	PartDefns  *entry;
	bool		found;
	List	   *ancestors;
	ListCell   *lc;
	LbDefinition **theirs;
	int			n;
	MemoryContext old;

	lb_cache_register(invalidate, at_xact_end);
	if (!rel->rd_rel->relispartition)
		return lb_defns_of(relid, result);

	lb_load_defns();
	if (!part_valid || part_changes != lb_defns_changes())
	{
		HASHCTL		ctl;

		/* Somebody may still look at the old ones. */
		if (part_context != NULL)
		{
			old = MemoryContextSwitchTo(TopMemoryContext);
			old_contexts = lappend(old_contexts, part_context);
			MemoryContextSwitchTo(old);
			part_context = NULL;
		}
		part_valid = false;
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
		part_ancestors = hash_create("leaderboard partitioned tables", 32,
									 &ctl,
									 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		part_changes = lb_defns_changes();
		part_valid = true;
	}
	entry = hash_search(part_defns, &relid, HASH_FIND, NULL);
	if (entry != NULL)
	{
		*result = entry->defns;
		return entry->n;
	}

	/* Enter it first, so that an invalidation of it is noticed. */
	entry = hash_search(part_defns, &relid, HASH_ENTER, &found);
	entry->n = 0;
	entry->defns = NULL;
	PG_TRY();
	{
		old = MemoryContextSwitchTo(part_context);
		ancestors = lcons_oid(relid, get_partition_ancestors(relid));
		foreach(lc, ancestors)
		{
			if (lfirst_oid(lc) != relid)
				(void) hash_search(part_ancestors, &lfirst_oid(lc),
								   HASH_ENTER, NULL);
			n = lb_defns_of(lfirst_oid(lc), &theirs);
			if (n == 0)
				continue;
			entry->defns = entry->defns == NULL ?
				palloc(n * sizeof(LbDefinition *)) :
				repalloc(entry->defns,
						 (entry->n + n) * sizeof(LbDefinition *));
			for (int i = 0; i < n; i++)
				entry->defns[entry->n++] = lb_part_defn(theirs[i], rel);
		}
		MemoryContextSwitchTo(old);
	}
	PG_CATCH();
	{
		part_valid = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	*result = entry->defns;
	return entry->n;
}
