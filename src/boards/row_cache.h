/*-------------------------------------------------------------------------
 *
 * row_cache.h
 *	  All rows of a small table of the extension, cached by the backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ROW_CACHE_H
#define LB_ROW_CACHE_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "nodes/pg_list.h"

/* A static variable, of which only what is above the line is filled in. */
typedef struct LbRowCache
{
	const char *table;
	void	   *(*from_tuple) (HeapTuple tuple, TupleDesc desc);
	int			(*cmp) (const void *a, const void *b);	/* of two pointers */

	/* ---- */
	bool		registered;
	bool		valid;
	Oid			relid;
	uint64		invalidations;	/* how many there have been */
	void	  **rows;			/* in the order of cmp */
	int			nrows;
	MemoryContext context;		/* of the rows */
	List	   *old_contexts;	/* of rows that may still be in use */
	struct LbRowCache *next;
} LbRowCache;

/*
 * The rows in the newest state of the table, which are read again after an
 * invalidation of the table.  from_tuple runs in the memory context of the rows.
 * Returns their number: 0 if the extension is not there or has another version.
 * The array and the rows are valid to the end of the transaction.  Can raise.
 */
extern int	lb_cached_rows(LbRowCache *cache, void ***rows);

#endif							/* LB_ROW_CACHE_H */
