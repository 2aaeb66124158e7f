/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  Caches that relcache invalidations make stale.
 *
 * PostgreSQL has room for ten relcache callbacks of all libraries, so our
 * caches share one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"
#include "utils/memutils.h"

#include "boards/cache.h"
#include "boards/xact_end.h"

#define MAX_CACHES 16

static struct
{
	void		(*invalidate) (Oid relid, void *arg);
	void	   *arg;
}			caches[MAX_CACHES];
static int	ncaches = 0;

static List *retired = NIL;		/* contexts; in TopMemoryContext */

static void
relcache_callback(Datum arg, Oid relid)
{
	for (int i = 0; i < ncaches; i++)
		caches[i].invalidate(relid, caches[i].arg);
}

static void
delete_retired(void)
{
	ListCell   *lc;

	foreach(lc, retired)
		MemoryContextDelete((MemoryContext) lfirst(lc));
	list_free(retired);
	retired = NIL;
}

void
lb_cache_register(void (*invalidate) (Oid relid, void *arg), void *arg)
{
	for (int i = 0; i < ncaches; i++)
	{
		if (caches[i].invalidate == invalidate && caches[i].arg == arg)
			return;
	}
	if (ncaches == MAX_CACHES)
		elog(ERROR, "too many caches");
	if (ncaches == 0)
	{
		CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
		lb_at_xact_end(delete_retired);
	}
	caches[ncaches].invalidate = invalidate;
	caches[ncaches].arg = arg;
	ncaches++;
}

void
lb_cache_retire(MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	retired = lappend(retired, context);
	MemoryContextSwitchTo(old);
}
