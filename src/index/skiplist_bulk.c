/*-------------------------------------------------------------------------
 *
 * skiplist_bulk.c
 *	  Bulk build of a skip list from keys in order.
 *
 * Each level has one open block, the rightmost, which takes entries or links
 * until it is filled to 90 %.  Then it is entered into the next level.  At the
 * end the member hash is built from the leaves, in one pass.
 *
 * Until lb_bulk_finish() the index has height 0 and no members.  For
 * lb_index_free, first leads to the leaves and root to the blocks of links,
 * newest first, chained by next.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

/* Leaves between two calls of LbBulk.poll: 10,000 members at most. */
#define POLL_LEAVES 64

/* How many entries or links to put into a block. */
static inline int
bulk_fill(const LbBulk *bulk, const Block *block)
{
	bool		fits = bulk->expected > 0 ? bulk->expected <= block->cap :
		block->prev == LB_NONE;

	/* Keys that fit into one leaf get one. */
	if (block->level == 0 && fits)
		return block->cap;
	return block->cap - block->cap / 10;
}

/* Open a new block at a level, to the right of the one that was open. */
static Block *
bulk_open(LbBulk *bulk, int level)
{
	LbArena    *arena = bulk->mem->arena;
	LbIndex    *index = bulk->index;
	LbRef		ref;
	Block	   *block;

	if (level == LB_MAX_HEIGHT)
		return NULL;
	ref = lb_block_alloc(bulk->mem, &index->chunks, LB_MAX_ORDER);
	if (ref == LB_NONE)
		return NULL;
	block = lb_block_init(arena, block_width(&index->shape), ref, level,
						  LB_MAX_ORDER);
	if (level == 0)
	{
		block->prev = index->last;
		if (block->prev != LB_NONE)
		{
			Block	   *prev = block_ptr(arena, block->prev);

			prev->next = ref;
		}
		else
			index->first = ref;
		index->last = ref;
	}
	else
	{
		block->next = index->root;
		index->root = ref;
	}
	bulk->open[level] = ref;
	if (level >= bulk->height)
		bulk->height = level + 1;
	return block;
}

/* Enter the open block of a level into the next level.  False: no memory. */
static bool
bulk_close(LbBulk *bulk, int level)
{
	LbArena    *arena = bulk->mem->arena;
	Block	   *block = block_ptr(arena, bulk->open[level]);
	Block	   *parent = NULL;
	int64		key[LB_MAX_WIDTH];
	int			slot;
	int			i;

	block_get_key(block, 0, key);
	if (level == 0 && block->prev == LB_NONE)
	{
		for (i = 0; i < block->width; i++)
			key[i] = INT64_MIN;
	}

	if (level + 1 < bulk->height)
	{
		parent = block_ptr(arena, bulk->open[level + 1]);
		if (parent->count >= bulk_fill(bulk, parent))
		{
			if (!bulk_close(bulk, level + 1))
				return false;
			parent = NULL;
		}
	}
	if (parent == NULL)
	{
		parent = bulk_open(bulk, level + 1);
		if (parent == NULL)
			return false;
	}
	slot = parent->count;
	lb_link_insert(parent, slot, bulk->open[level]);
	block_set_key(parent, slot, key);
	span_add(parent, slot,
			 block_span(block, bulk->index->shape.counts));
	return true;
}

LbResult
lb_bulk_begin(LbBulk *bulk, const LbMem *mem, LbIndex *index,
			  uint64 expected)
{
	Assert(index->height == 0 && index->first == LB_NONE);
	memset(bulk, 0, sizeof(LbBulk));
	bulk->mem = mem;
	bulk->index = index;
	bulk->expected = expected;
	return LB_OK;
}

/* A key is the same as the last one. */
static pg_noinline LbResult
add_same_key(const LbBulk *bulk, const int64 *key)
{
	const LbIndex *index = bulk->index;
	Block	   *leaf = block_ptr(bulk->mem->arena, bulk->open[0]);

	if (!index->shape.counts)
		return LB_EXISTS;
	leaf_words(leaf, index->shape.width)[leaf->count - 1] +=
		key[index->shape.width];
	return LB_OK;
}

/*
 * Append a key of nwords words to the open leaf; stored is what the block
 * holds of it.  texts is what lb_shape_varies says.
 */
static pg_attribute_always_inline LbResult
bulk_append(LbBulk *bulk, const int64 *key, int nwords, const int64 *stored,
			bool texts)
{
	LbArena    *arena = bulk->mem->arena;
	Block	   *leaf = NULL;
	bool		continues = false;
	int			i = 0;

	if (bulk->height > 0)
	{
		while (i < nwords && key[i] == bulk->last[i])
			i++;
		if (i == nwords)
			return add_same_key(bulk, key);
		if (key[i] < bulk->last[i])
			return LB_EXISTS;
		continues = i > 0;

		leaf = block_ptr(arena, bulk->open[0]);
		if (leaf->count >= bulk_fill(bulk, leaf))
		{
			if (!bulk_close(bulk, 0))
				return LB_NOMEM;
			leaf = NULL;
		}
	}
	if (leaf == NULL)
	{
		leaf = bulk_open(bulk, 0);
		if (leaf == NULL)
			return LB_NOMEM;
		leaf->continues = continues;
	}
	block_set_key(leaf, leaf->count, stored);
	leaf_tags(leaf)[leaf->count] =
		hash_tag(key_hash(arena, bulk->index, key, texts));
	leaf->count++;
	for (i = 0; i < nwords; i++)
		bulk->last[i] = key[i];
	return LB_OK;
}

/* lb_bulk_add for keys with texts. */
static pg_noinline LbResult
bulk_add_text(LbBulk *bulk, const int64 *key)
{
	int64		stored[LB_MAX_WIDTH];

	if (!lb_text_store(bulk->mem, bulk->index, key, 0, stored))
		return LB_NOMEM;
	return bulk_append(bulk, key, lb_key_words(&bulk->index->shape, key),
					   stored, true);
}

LbResult
lb_bulk_add(LbBulk *bulk, const int64 *key)
{
	Assert(!bulk->index->shape.counts || key[bulk->index->shape.width] > 0);
	if (unlikely(lb_shape_varies(&bulk->index->shape)))
		return bulk_add_text(bulk, key);
	return bulk_append(bulk, key, bulk->index->shape.width, key, false);
}

/*
 * The last block of a level may be nearly empty: fill it from its neighbour.
 */
static void
bulk_balance(const LbArena *arena, const LbIndex *index)
{
	Block	   *parent = block_ptr(arena, index->root);

	while (parent->level > 0)
	{
		int			slot = parent->count - 1;
		int			left = child_count(arena, index, parent, slot - 1);
		int			count = child_count(arena, index, parent, slot);

		Assert(slot > 0);
		if (count * 2 < left)
			lb_index_shift(arena, index, parent, slot - 1, -((left - count) / 2));
		parent = block_ptr(arena, link_children(parent)[slot]);
	}
}

/*
 * Enter the members of a leaf into the hash, with their cache misses
 * overlapping.  LB_EXISTS if one of them is there.
 */
static LbResult
hash_leaf(const LbMem *mem, LbIndex *index, LbRef ref)
{
	LbArena    *arena = mem->arena;
	const Block *leaf = block_ptr(arena, ref);
	uint32		hashes[LB_PAGE_SIZE / (2 * sizeof(int64))];
	int			i;

	leaf_hashes(arena, index, leaf, 0, leaf->count, hashes);
	if (leaf->next != LB_NONE)
		prefetch_words(block_ptr(arena, leaf->next), LB_PAGE_SIZE / 8);
	for (i = 0; i < leaf->count; i++)
	{
		LbHashScan	scan;
		LbRef		other;

		for (other = lb_hash_first(arena, &index->hash, hashes[i], &scan);
			 other != LB_NONE;
			 other = lb_hash_next(arena, &index->hash, &scan))
		{
			if (leaf_has_same_member(arena, index, block_ptr(arena, other),
									 leaf, i))
				return LB_EXISTS;
		}
		if (lb_hash_insert(mem, &index->hash, hashes[i], ref) != LB_OK)
			return LB_NOMEM;
	}
	return LB_OK;
}

LbResult
lb_index_build_hash(const LbMem *mem, LbIndex *index, void (*poll) (void))
{
	LbResult	result = lb_hash_reserve(mem, &index->hash, index->members);
	LbRef		ref;
	int			n = 0;

	Assert(!index->shape.counts);
	for (ref = index->first; ref != LB_NONE && result == LB_OK;
		 ref = block_ptr(mem->arena, ref)->next)
	{
		result = hash_leaf(mem, index, ref);
		if (poll != NULL && ++n % POLL_LEAVES == 0)
			poll();
	}
	if (result != LB_OK)
		lb_hash_free(mem, &index->hash);
	return result;
}

/* Whether a member occurs twice in an index without a hash. */
static bool
has_duplicates(const LbArena *arena, const LbIndex *index)
{
	LbRef		ref;
	LbRef		other;
	int			i;

	for (ref = index->first; ref != LB_NONE; ref = block_ptr(arena, ref)->next)
	{
		const Block *leaf = block_ptr(arena, ref);

		for (i = 0; i < leaf->count; i++)
		{
			for (other = ref; other != LB_NONE;
				 other = block_ptr(arena, other)->next)
			{
				if (leaf_has_same_member(arena, index,
										 block_ptr(arena, other), leaf, i))
					return true;
			}
		}
	}
	return false;
}

LbResult
lb_bulk_finish(LbBulk *bulk)
{
	const LbMem *mem = bulk->mem;
	LbArena    *arena = mem->arena;
	LbIndex    *index = bulk->index;
	const Block *root;
	Span		all;
	int			level;
	int			order = 0;

	if (bulk->height == 0)
		return LB_OK;

	/* Close each level from the bottom up.  What remains open is the root. */
	for (level = 0; level + 1 < bulk->height; level++)
	{
		if (!bulk_close(bulk, level))
			return LB_NOMEM;
	}
	index->root = bulk->open[level];
	index->root_order = LB_MAX_ORDER;
	index->height = (uint8) bulk->height;
	root = block_ptr(arena, index->root);
	all = block_span(root, index->shape.counts);
	index->members = all.members;
	index->distinct = all.distinct;
	if (index->height > 1)
		bulk_balance(arena, index);
	else
	{
		while (leaf_capacity(block_width(&index->shape), order) < root->count)
			order++;
		if (order < LB_MAX_ORDER)
			(void) lb_index_resize_leaf(mem, index, order);
	}

	if (index->shape.counts)
		return LB_OK;
	if (index->members > HASH_FROM)
		return lb_index_build_hash(mem, index, bulk->poll);
	return has_duplicates(arena, index) ? LB_EXISTS : LB_OK;
}
