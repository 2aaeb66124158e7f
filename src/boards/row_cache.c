/*-------------------------------------------------------------------------
 *
 * row_cache.c
 *	  All rows of a small table of the extension, cached by the backend.
 *
 * An invalidation only marks: a caller may be looking at the rows.  They are
 * read again by the next caller, and the old ones freed at the end of the
 * transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "boards/cache.h"
#include "boards/catalog.h"
#include "boards/row_cache.h"

static LbRowCache *caches = NULL;

static void
invalidate(Oid relid)
{
	for (LbRowCache *cache = caches; cache != NULL; cache = cache->next)
	{
		if (relid == InvalidOid || relid == cache->relid)
		{
			cache->valid = false;
			cache->invalidations++;
		}
	}
}

static void
at_xact_end(void)
{
	for (LbRowCache *cache = caches; cache != NULL; cache = cache->next)
	{
		ListCell   *lc;

		foreach(lc, cache->old_contexts)
			MemoryContextDelete((MemoryContext) lfirst(lc));
		list_free(cache->old_contexts);
		cache->old_contexts = NIL;
	}
}

/* Read all rows of a table, in the newest state, into the current context. */
static int
read_rows(const LbRowCache *cache, void ***rows)
{
	int			size = 8;
	int			n = 0;
	Relation	rel = table_open(cache->relid, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	*rows = palloc(size * sizeof(void *));
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (n == size)
		{
			size *= 2;
			*rows = repalloc(*rows, size * sizeof(void *));
		}
		(*rows)[n++] = cache->from_tuple(tuple, RelationGetDescr(rel));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	qsort(*rows, n, sizeof(void *), cache->cmp);
	return n;
}

static void
load(LbRowCache *cache)
{
	const LbCatalog *cat;
	uint64		before;
	MemoryContext context;
	MemoryContext old;
	void	  **rows;
	int			n;

	if (!cache->registered)
	{
		lb_cache_register(invalidate, at_xact_end);
		cache->next = caches;
		caches = cache;
		cache->registered = true;
	}
	before = cache->invalidations;
	cat = lb_catalog();
	cache->relid = cat == NULL || !cat->version_ok ? InvalidOid :
		get_relname_relid(cache->table, cat->schema);
	if (!OidIsValid(cache->relid))
	{
		cache->nrows = 0;
		return;
	}
	context = AllocSetContextCreate(TopMemoryContext, "leaderboard rows",
									ALLOCSET_SMALL_SIZES);
	MemoryContextSetIdentifier(context, cache->table);
	old = MemoryContextSwitchTo(context);
	n = read_rows(cache, &rows);
	MemoryContextSwitchTo(TopMemoryContext);
	if (cache->context != NULL)
		cache->old_contexts = lappend(cache->old_contexts, cache->context);
	MemoryContextSwitchTo(old);
	cache->context = context;
	cache->rows = rows;
	cache->nrows = n;
	cache->valid = cache->invalidations == before;
}

int
lb_cached_rows(LbRowCache *cache, void ***rows)
{
	if (!cache->valid)
		load(cache);
	*rows = cache->rows;
	return cache->nrows;
}
