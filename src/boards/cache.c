/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  Caches of a backend that invalidations concern.
 *
 * PostgreSQL has room for ten relcache callbacks of all libraries, so ours share
 * one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"

#include "boards/cache.h"

#define MAX_CACHES 8

static struct
{
	void		(*invalidate) (Oid relid);
	void		(*at_xact_end) (void);
}			caches[MAX_CACHES];
static int	ncaches = 0;

static void
relcache_callback(Datum arg, Oid relid)
{
	for (int i = 0; i < ncaches; i++)
		caches[i].invalidate(relid);
}

void
lb_cache_register(void (*invalidate) (Oid relid), void (*at_xact_end) (void))
{
	for (int i = 0; i < ncaches; i++)
	{
		if (caches[i].invalidate == invalidate)
			return;
	}
	if (ncaches == MAX_CACHES)
		elog(ERROR, "too many caches");
	if (ncaches == 0)
		CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
	caches[ncaches].invalidate = invalidate;
	caches[ncaches].at_xact_end = at_xact_end;
	ncaches++;
}

void
lb_caches_at_xact_end(void)
{
	for (int i = 0; i < ncaches; i++)
	{
		if (caches[i].at_xact_end != NULL)
			caches[i].at_xact_end();
	}
}
