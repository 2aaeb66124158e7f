/*-------------------------------------------------------------------------
 *
 * skiplist_counts.c
 *	  An index that counts rows: changing and reading the number of a key.
 *
 * An entry is a key and how many rows have it, at least one.  A change of that
 * number writes it in the leaf, and adds to the spans of the path.  Only the
 * first row of a key inserts an entry, and only the last one removes it, as in
 * an index of members, but without a hash.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

LbResult
lb_index_add(const LbMem *mem, LbIndex *index, const int64 *key, int64 n,
			 const LbPath *hint)
{
	LbArena    *arena = mem->arena;
	int			width = index->shape.width;
	Span		by = {(uint64) n, 0};
	Block	   *leaf;
	LbPath		path;
	int64	   *rows;

	Assert(index->shape.counts);
	if (n == 0)
		return LB_OK;
	if (index->height == 0)
	{
		if (n < 0)
			return LB_NOTFOUND;
		if (!lb_index_first_leaf(mem, index))
			return LB_NOMEM;
	}

	leaf = descend_to_key(arena, index, key, hint, &path);
	if (!leaf_has_key(arena, index, leaf, path.slot[0], key))
		return n < 0 ? LB_NOTFOUND :
			lb_index_insert_counted(mem, index, &path, key, n);

	rows = leaf_words(leaf, width) + path.slot[0];
	Assert(n < 0 || *rows <= INT64_MAX - n);
	if (*rows + n < 0)
		return LB_NOTFOUND;
	if (*rows + n == 0)
	{
		lb_index_remove_counted(mem, index, &path);
		return LB_OK;
	}
	*rows += n;
	index->members += by.members;
	add_along(arena, index, &path, by);
	return LB_OK;
}

int64
lb_index_rows(const LbArena *arena, const LbIndex *index, const int64 *key)
{
	const Block *leaf;
	LbPath		path;

	Assert(index->shape.counts);
	if (index->height == 0)
		return 0;
	leaf = descend_to_key(arena, index, key, NULL, &path);
	return leaf_has_key(arena, index, leaf, path.slot[0], key) ?
		leaf_words(leaf, index->shape.width)[path.slot[0]] : 0;
}
