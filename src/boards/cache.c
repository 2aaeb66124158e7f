/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  Caches that relcache invalidations make stale.
 *
 * PostgreSQL has room for ten relcache callbacks of all libraries, so our caches
 * share one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"
#include "utils/memutils.h"

#include "boards/cache.h"

#define MAX_CACHES 8

static struct
{
	void		(*invalidate) (Oid relid, void *arg);
	void		(*at_xact_end) (void);
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

void
lb_cache_register(void (*invalidate) (Oid relid, void *arg),
				  void (*at_xact_end) (void), void *arg)
{
	for (int i = 0; i < ncaches; i++)
	{
		if (caches[i].invalidate == invalidate && caches[i].arg == arg)
			return;
	}
	if (ncaches == MAX_CACHES)
		elog(ERROR, "too many caches");
	if (ncaches == 0)
		CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
	caches[ncaches].invalidate = invalidate;
	caches[ncaches].at_xact_end = at_xact_end;
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

void
lb_caches_at_xact_end(void)
{
	ListCell   *lc;

	for (int i = 0; i < ncaches; i++)
	{
		if (caches[i].at_xact_end != NULL)
			caches[i].at_xact_end();
	}
	foreach(lc, retired)
		MemoryContextDelete((MemoryContext) lfirst(lc));
	list_free(retired);
	retired = NIL;
}
