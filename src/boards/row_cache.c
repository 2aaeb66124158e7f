/*-------------------------------------------------------------------------
 *
 * row_cache.c
 *	  A small table of the extension, cached in the backend.
 *
 * An invalidation of the table has all of it read again.  lb_board, which can
 * have thousands of rows, has a cache of its own in definition.c, which keeps
 * what has not changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "boards/cache.h"
#include "boards/catalog.h"
#include "boards/row_cache.h"

static void
invalidate(Oid relid, void *arg)
{
	LbRowCache *cache = (LbRowCache *) arg;

	if (relid == InvalidOid || relid == cache->relid)
	{
		cache->valid = false;
		cache->ninvalidations++;
	}
}

/* Read the rows, in their order, into the current memory context. */
static int
read_rows(LbRowCache *cache, void ***rows)
{
	int			size = 8;
	int			n = 0;
	Relation	rel = table_open(cache->relid, AccessShareLock);
	SysScanDesc scan;
	HeapTuple	tuple;

	*rows = palloc(size * sizeof(void *));

	/* A catalog scan: the newest state. */
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
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

void
lb_row_values(HeapTuple tuple, TupleDesc desc, int n, Datum *values,
			  bool *nulls)
{
	for (int i = 0; i < n; i++)
	{
		nulls[i] = i >= desc->natts;
		values[i] = nulls[i] ? (Datum) 0 :
			heap_getattr(tuple, i + 1, desc, &nulls[i]);
	}
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

	lb_cache_register(invalidate, cache);
	before = cache->ninvalidations;
	cat = lb_catalog();
	cache->relid = cat == NULL || !cat->version_ok ? InvalidOid :
		get_relname_relid(cache->table, cat->schema);
	if (!OidIsValid(cache->relid))
	{
		cache->nrows = 0;
		return;
	}

	/* An error frees what has been read. */
	context = AllocSetContextCreate(CurrentMemoryContext,
									"leaderboard rows",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	n = read_rows(cache, &rows);
	MemoryContextSwitchTo(old);
	if (cache->context != NULL)
		lb_cache_retire(cache->context);
	MemoryContextSetParent(context, TopMemoryContext);
	cache->context = context;
	cache->rows = rows;
	cache->nrows = n;

	/* An invalidation that came meanwhile makes them stale again. */
	cache->valid = cache->ninvalidations == before;
}

int
lb_cached_rows(LbRowCache *cache, void ***rows)
{
	if (!cache->valid)
		load(cache);
	*rows = cache->rows;
	return cache->nrows;
}
