/*-------------------------------------------------------------------------
 *
 * skiplist_text.c
 *	  Keys with texts in the blocks of a skip list.
 *
 * Such keys are of any length.  A block has their first words, as many as its
 * width leaves beside the last word; zeros are behind a shorter key.  The last
 * word is the handle of a cell with the other words (cell.c), or 0.  A search
 * compares what is in the block, and then cells of the keys that are equal so
 * far.  These are few unless keys have long common beginnings.
 *
 * A cell belongs to the entry of its key.  A link has the same handle as the
 * first entry that it leads to, so links need no memory of their own for their
 * keys.  In return, the links above a leaf change when its first entry does
 * (lb_text_correct_links).  Otherwise links are as in other lists: moving
 * entries or links to another block moves the handles with them.
 *
 * The functions of the other files come here only for keys with texts, so that
 * other keys cost nothing more than finding out which they are.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

/* How many words of each key a block holds. */
static inline int
inline_words(const Block *block)
{
	return block->width - 1;
}

int64
lb_text_cell(const Block *block, int slot)
{
	return block_words(block, inline_words(block))[slot];
}

int
lb_text_get_words(const LbArena *arena, const Block *block, int slot,
				  int nwords, int64 *key)
{
	const int64 *word = block_words(block, 0) + slot;
	int			n = Min(nwords, inline_words(block));
	int64		cell = lb_text_cell(block, slot);

	for (int i = 0; i < n; i++, word += block->cap)
		key[i] = *word;
	if (nwords > n && cell != 0)
	{
		int			more = Min(nwords - n, lb_cell_length(cell));

		memcpy(key + n, lb_cell_words(arena, cell), more * sizeof(int64));
		n += more;
	}
	return n;
}

int
lb_text_cmp(const LbArena *arena, const Block *block, int slot,
			const int64 *key, int nwords)
{
	const int64 *word = block_words(block, 0) + slot;
	int			n = inline_words(block);

	for (int i = 0; i < Min(nwords, n); i++, word += block->cap)
	{
		if (*word != key[i])
			return *word < key[i] ? -1 : 1;
	}

	/* A key that is equal so far and goes on has a cell. */
	return nwords <= n ? 0 :
		lb_words_cmp(lb_cell_words(arena, lb_text_cell(block, slot)), key + n,
					 nwords - n);
}

int
lb_text_search(const LbArena *arena, const Block *block, int lo, Bound bound)
{
	int			n = inline_words(block);
	const int64 *words = block_words(block, 0);
	Bound		first = make_bound(bound.prefix, Min(bound.nwords, n), false);
	int			hi;

	if (bound.nwords <= n)
	{
		first.inclusive = bound.inclusive;
		return search_keys(words, block->cap, lo, block->count, first);
	}

	/* Among the keys that are equal in the block. */
	lo = search_keys(words, block->cap, lo, block->count, first);
	first.inclusive = true;
	hi = search_keys(words, block->cap, lo, block->count, first);
	while (lo < hi)
	{
		int			mid = lo + (hi - lo) / 2;
		int64		cell = lb_text_cell(block, mid);
		int			cmp = lb_words_cmp(lb_cell_words(arena, cell),
									   bound.prefix + n, bound.nwords - n);

		if (cmp < (bound.inclusive ? 1 : 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const Block *
lb_text_descend(const LbArena *arena, const LbIndex *index, Bound bound,
				const LbPath *hint, LbPath *path, Span *before)
{
	if (bound.nwords > 1)
		bound.nwords = lb_key_words(&index->shape, bound.prefix);
	bound.texts = true;
	return descend(arena, index, bound, hint, path, before);
}

bool
lb_text_has_key(const LbArena *arena, const LbIndex *index,
				const Block *leaf, int slot, const int64 *key)
{
	return lb_text_cmp(arena, leaf, slot, key,
					   lb_key_words(&index->shape, key)) == 0;
}

uint32
lb_text_hash(const LbArena *arena, const LbIndex *index, const int64 *key)
{
	return key_member(arena, index, key).hash;
}

void
lb_text_leaf_hashes(const LbArena *arena, const LbIndex *index,
					const Block *leaf, int slot, int n, uint32 *hashes)
{
	int64		key[LB_MAX_KEY_WORDS];

	for (int i = 0; i < n; i++)
	{
		hashes[i] = leaf_member(arena, index, leaf, slot + i, key).hash;
		lb_hash_prefetch(arena, &index->hash, hashes[i]);
	}
}

bool
lb_text_has_member(const LbArena *arena, const LbIndex *index,
				   const Block *leaf, int slot, const int64 *member,
				   int nwords)
{
	int64		key[LB_MAX_KEY_WORDS];

	(void) lb_text_get_words(arena, leaf, slot, LB_MAX_KEY_WORDS, key);
	return lb_words_cmp(lb_key_member(&index->shape, key), member,
						nwords) == 0;
}

bool
lb_text_store(const LbMem *mem, LbIndex *index, const int64 *key, int64 cell,
			  int64 *stored)
{
	int			nwords = lb_key_words(&index->shape, key);
	int			inside = index->shape.width - 1;
	int			n = Min(nwords, inside);

	memset(stored, 0, (inside + 1) * sizeof(int64));
	memcpy(stored, key, n * sizeof(int64));
	if (nwords == n)
		return true;
	if (cell != 0 && lb_cell_length(cell) == nwords - n &&
		lb_words_cmp(lb_cell_words(mem->arena, cell), key + n,
					 nwords - n) == 0)
		stored[inside] = cell;
	else
		stored[inside] = lb_cell_new(mem, &index->cells, key + n, nwords - n);
	return stored[inside] != 0;
}

void
lb_text_forget(const LbMem *mem, LbIndex *index, int64 cell)
{
	if (cell != 0)
		lb_cell_free(mem, &index->cells, cell);
}

void
lb_text_correct_links(const LbArena *arena, const LbIndex *index,
					  const LbPath *path)
{
	const Block *leaf = block_ptr(arena, path->ref[0]);
	int64		key[LB_MAX_WIDTH];

	/* Links at the left edge are below all keys. */
	if (leaf->prev == LB_NONE || index->height == 1)
		return;

	/*
	 * The removal has left an entry: splits and bulk builds make no leaf of
	 * one entry, and resolve_underflow leaves none.
	 */
	Assert(leaf->count > 0);
	block_get_key(leaf, 0, key);
	for (int level = 1; level < index->height; level++)
	{
		block_set_key(block_ptr(arena, path->ref[level]), path->slot[level],
					  key);
		if (path->slot[level] > 0)
			break;
	}
}
