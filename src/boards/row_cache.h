/*-------------------------------------------------------------------------
 *
 * row_cache.h
 *	  A small table of the extension, cached in the backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ROW_CACHE_H
#define LB_ROW_CACHE_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"

/* In a static variable.  The first three fields say what is cached. */
typedef struct LbRowCache
{
	const char *table;			/* in the extension's schema */
	void	   *(*from_tuple) (HeapTuple tuple, TupleDesc desc);	/* palloc'd */
	int			(*cmp) (const void *a, const void *b);	/* of two pointers to
														 * rows, for qsort() */
	void	  **rows;			/* ordered by cmp */
	int			nrows;
	bool		valid;
	Oid			relid;			/* of the table, when it was read */
	uint64		ninvalidations;
	MemoryContext context;		/* of the rows */
} LbRowCache;

/*
 * The rows of the table in its newest state, none if the database does not have
 * the extension in the library's version.  The array is valid until the next
 * invalidation, the rows until the end of the transaction.  Can raise.
 */
extern int	lb_cached_rows(LbRowCache *cache, void ***rows);

#endif							/* LB_ROW_CACHE_H */
