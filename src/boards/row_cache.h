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
 * The rows of the table in its newest state, none if the database does not
 * have the extension in the library's version.  The array is valid until the
 * next invalidation, the rows until the end of the transaction.  Can raise.
 */
extern int	lb_cached_rows(LbRowCache *cache, void ***rows);

/*
 * The values of the first n columns of a row of one of the extension's
 * tables.  In another version of the SQL objects the table may have more
 * columns, or fewer, which are null then.
 */
extern void lb_row_values(HeapTuple tuple, TupleDesc desc, int n,
						  Datum *values, bool *nulls);

/*
 * A name that is the first len bytes of a string; where structs have theirs.
 */
typedef struct LbNameKey
{
	const char *name;
	int			len;
	size_t		offset;
} LbNameKey;

static inline int
lb_name_key_cmp(const void *a, const void *b)
{
	const LbNameKey *key = (const LbNameKey *) a;
	const char *name = *(const char *const *) b + key->offset;
	int			c = strncmp(key->name, name, key->len);

	/* A longer name with these bytes comes after this one. */
	return c == 0 && name[key->len] != '\0' ? -1 : c;
}

/*
 * Of n structs in the order of their names, the one whose name is the first
 * len bytes of name, or NULL.  A struct has its name, a string, at offset.
 */
static inline void *
lb_find_by_name(void *const *rows, int n, size_t offset, const char *name,
				int len)
{
	LbNameKey	key = {name, len, offset};
	void	  **found;

	if (n == 0)
		return NULL;
	found = bsearch(&key, (void *) rows, n, sizeof(void *), lb_name_key_cmp);
	return found == NULL ? NULL : *found;
}

#endif							/* LB_ROW_CACHE_H */
