/*-------------------------------------------------------------------------
 *
 * skiplist_change.c
 *	  Insert, remove and replace keys of the skip list.
 *
 * An insert finds the place of its key, makes room if the leaf there is full,
 * puts the key in, and adds to the spans of the path.  A removal takes the key
 * out, subtracts from the spans, and then sees whether blocks of the path are
 * not full enough:
 *
 *	- a full leaf gives entries to a neighbour that has an eighth of its room
 *	  free, or is split;
 *	- a block that is less than two thirds full is merged with a neighbour, if
 *	  the two fit into 90 % of a block;
 *	- a block that is less than a third full and cannot be merged takes entries
 *	  from a neighbour.
 *
 * Between merging and splitting there is room for many changes, so that a key
 * that goes to and fro does not cause them again and again.
 *
 * If the index counts rows, insert_entry and remove_entry take an entry for
 * one row, and their callers add the others.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

/*--------------------------------------------------------------------------
 * The member hash
 *--------------------------------------------------------------------------
 */

/* Correct the hash for n entries that have moved to this leaf. */
static void
members_moved(const LbArena *arena, const LbIndex *index, const Block *leaf,
			  int slot, int n, LbRef from)
{
	LbRef		to = block_ref(arena, leaf);
	uint32		hashes[32];

	if (!index_hashed(index))
		return;
	while (n > 0)
	{
		int			batch = Min(n, 32);
		int			i;

		leaf_hashes(arena, index, leaf, slot, batch, hashes);
		for (i = 0; i < batch; i++)
		{
			bool		found pg_attribute_unused();

			found = lb_hash_replace(arena, &index->hash, hashes[i], from, to);
			Assert(found);
		}
		slot += batch;
		n -= batch;
	}
}

/*--------------------------------------------------------------------------
 * Entries and links move between blocks
 *--------------------------------------------------------------------------
 */

void
lb_index_shift(const LbArena *arena, const LbIndex *index, Block *parent,
			   int slot, int n)
{
	LbRef		left_ref = link_children(parent)[slot];
	LbRef		right_ref = link_children(parent)[slot + 1];
	Block	   *left = block_ptr(arena, left_ref);
	Block	   *right = block_ptr(arena, right_ref);
	Span		zero = {0, 0};
	Span		moved;

	moved = lb_block_shift(left, right, n, index->shape.counts);
	if (parent->level == 1 && n > 0)
		members_moved(arena, index, left, left->count - n, n, right_ref);
	else if (parent->level == 1)
		members_moved(arena, index, right, 0, -n, left_ref);

	if (n < 0)
		moved = span_minus(zero, moved);
	span_add(parent, slot, moved);
	span_add(parent, slot + 1, span_minus(zero, moved));
	if (right->count > 0)
	{
		int64		key[LB_MAX_WIDTH];

		block_get_key(right, 0, key);
		block_set_key(parent, slot + 1, key);
	}
}

bool
lb_index_resize_leaf(const LbMem *mem, LbIndex *index, int order)
{
	LbArena    *arena = mem->arena;
	LbRef		old_ref = index->root;
	LbRef		ref = lb_block_alloc(mem, &index->chunks, order);
	Block	   *old;
	Block	   *leaf;

	Assert(index->height == 1);
	if (ref == LB_NONE)
		return false;
	old = block_ptr(arena, old_ref);
	leaf = lb_block_init(arena, block_width(&index->shape), ref, 0, order);
	Assert(old->count <= leaf->cap);
	leaf->count = old->count;
	leaf->continues = old->continues;
	copy_keys(leaf, 0, old, 0, old->count);
	members_moved(arena, index, leaf, 0, leaf->count, old_ref);
	lb_block_free(mem, &index->chunks, old_ref, old->order);
	index->root = ref;
	index->first = ref;
	index->last = ref;
	index->root_order = (uint8) order;
	return true;
}

/* Put a new block of links, with a single link, on top of the root. */
static void
grow_root(const LbArena *arena, LbIndex *index, LbRef ref)
{
	const Block *old = block_ptr(arena, index->root);
	Block	   *root = lb_block_init(arena, old->width, ref, index->height,
									 LB_MAX_ORDER);
	int64		key[LB_MAX_WIDTH];
	int			i;

	for (i = 0; i < LB_MAX_WIDTH; i++)
		key[i] = INT64_MIN;
	lb_link_insert(root, 0, index->root);
	block_set_key(root, 0, key);
	span_add(root, 0, block_span(old, index->shape.counts));
	index->root = ref;
	index->root_order = LB_MAX_ORDER;
	index->height++;
}

/*
 * Split the full block of a path at a level, and all full ones above it, into
 * blocks taken from spare.  Corrects the path above that level, and at it.
 */
static void
split_block(const LbArena *arena, LbIndex *index, LbPath *path, int level,
			const LbRef *spare, int *nspare)
{
	Block	   *block = block_ptr(arena, path->ref[level]);
	Block	   *parent;
	Block	   *right;
	LbRef		ref;
	int			move = block->count / 2;
	int			slot;

	if (level == index->height - 1)
	{
		grow_root(arena, index, spare[--*nspare]);
		path->ref[level + 1] = index->root;
		path->slot[level + 1] = 0;
	}
	parent = block_ptr(arena, path->ref[level + 1]);
	if (parent->count == parent->cap)
	{
		split_block(arena, index, path, level + 1, spare, nspare);
		parent = block_ptr(arena, path->ref[level + 1]);
	}
	slot = path->slot[level + 1];

	ref = spare[--*nspare];
	right = lb_block_init(arena, block->width, ref, level, LB_MAX_ORDER);
	if (level == 0)
	{
		right->prev = path->ref[0];
		right->next = block->next;
		if (block->next != LB_NONE)
			block_ptr(arena, block->next)->prev = ref;
		else
			index->last = ref;
		block->next = ref;

		/*
		 * Entries that arrive in order at an end of the list would leave
		 * blocks half empty, so split at 90 %.
		 */
		if (right->next == LB_NONE && path->slot[0] == block->count)
			move = block->count / 10;
		else if (block->prev == LB_NONE && path->slot[0] == 0)
			move = block->count - block->count / 10;
	}
	lb_link_insert(parent, slot + 1, ref);
	lb_index_shift(arena, index, parent, slot, -move);

	if (path->slot[level] >= block->count)
	{
		path->slot[level] -= block->count;
		path->ref[level] = ref;
		path->slot[level + 1]++;
	}
}

/*
 * Make room in the full leaf of a path: enlarge it, move entries to a
 * neighbour, or split it.  Returns false if there is no memory, and then
 * nothing has changed.  The path is invalid afterwards.
 */
static bool
resolve_overflow(const LbMem *mem, LbIndex *index, LbPath *path)
{
	LbArena    *arena = mem->arena;
	LbRef		spare[LB_MAX_HEIGHT + 1];
	int			nspare = 0;
	int			needed = 1;
	int			level;

	if (index->height == 1)
	{
		if (index->root_order < LB_MAX_ORDER)
			return lb_index_resize_leaf(mem, index, index->root_order + 1);
	}
	else
	{
		/* Give some entries to the neighbour that has more room. */
		Block	   *parent = block_ptr(arena, path->ref[1]);
		int			slot = path->slot[1];
		int			cap = block_ptr(arena, path->ref[0])->cap;
		int			left = 0;
		int			right = 0;

		if (slot > 0)
			left = cap - child_count(arena, index, parent, slot - 1);
		if (slot + 1 < parent->count)
			right = cap - child_count(arena, index, parent, slot + 1);

		/* Its share of the room is at least one, and so is what remains. */
		if (Max(left, right) >= Max(cap / 8, 2))
		{
			if (left > right)
				lb_index_shift(arena, index, parent, slot - 1, (left + 1) / 2);
			else
				lb_index_shift(arena, index, parent, slot, -(right + 1) / 2);
			return true;
		}
	}

	/* Otherwise split.  Take the memory for that first. */
	for (level = 1; level < index->height; level++)
	{
		const Block *block = block_ptr(arena, path->ref[level]);

		if (block->count < block->cap)
			break;
		needed++;
	}
	if (level == index->height)
	{
		if (index->height == LB_MAX_HEIGHT)
			return false;
		needed++;
	}
	while (nspare < needed)
	{
		spare[nspare] = lb_block_alloc(mem, &index->chunks, LB_MAX_ORDER);
		if (spare[nspare] == LB_NONE)
		{
			while (nspare > 0)
				lb_block_free(mem, &index->chunks, spare[--nspare], LB_MAX_ORDER);
			return false;
		}
		nspare++;
	}
	split_block(arena, index, path, 0, spare, &nspare);
	Assert(nspare == 0);
	return true;
}

/* Merge the children slot and slot + 1 of a block, which fit into one. */
static void
merge_children(const LbMem *mem, LbIndex *index, Block *parent, int slot)
{
	LbArena    *arena = mem->arena;
	LbRef		left_ref = link_children(parent)[slot];
	LbRef		right_ref = link_children(parent)[slot + 1];
	Block	   *left = block_ptr(arena, left_ref);
	Block	   *right = block_ptr(arena, right_ref);
	LbRef		gone = right_ref;

	Assert(left->count + right->count <= left->cap);
	if (left->level == 0 && left->count < right->count)
	{
		/*
		 * Fewer changes in the hash: the right leaf takes the left one's
		 * entries and the key of its link.
		 */
		int64		key[LB_MAX_WIDTH];

		if (left->count > 0)
			lb_index_shift(arena, index, parent, slot, -left->count);
		block_get_key(parent, slot, key);
		lb_link_delete(parent, slot);
		block_set_key(parent, slot, key);
		gone = left_ref;
	}
	else
	{
		if (right->count > 0)
			lb_index_shift(arena, index, parent, slot, right->count);
		lb_link_delete(parent, slot + 1);
	}

	if (left->level == 0)
	{
		const Block *block = block_ptr(arena, gone);

		if (block->prev != LB_NONE)
			block_ptr(arena, block->prev)->next = block->next;
		else
			index->first = block->next;
		if (block->next != LB_NONE)
			block_ptr(arena, block->next)->prev = block->prev;
		else
			index->last = block->prev;
	}
	lb_block_free(mem, &index->chunks, gone, LB_MAX_ORDER);
}

/*
 * After a removal from the leaf of a path: merge blocks that are not full
 * enough, or move entries to them.  Cannot fail for lack of memory.
 */
static void
resolve_underflow(const LbMem *mem, LbIndex *index, const LbPath *path)
{
	LbArena    *arena = mem->arena;
	int			level;

	for (level = 0; level + 1 < index->height; level++)
	{
		const Block *block = block_ptr(arena, path->ref[level]);
		Block	   *parent = block_ptr(arena, path->ref[level + 1]);
		int			slot = path->slot[level + 1];
		int			cap = block->cap;
		int			count = block->count;
		int			left;
		int			right;

		if (count >= cap * 2 / 3)
			break;
		left = child_count(arena, index, parent, slot - 1);
		right = child_count(arena, index, parent, slot + 1);
		if (left > 0 && left + count <= cap * 9 / 10)
			merge_children(mem, index, parent, slot - 1);
		else if (right > 0 && right + count <= cap * 9 / 10)
			merge_children(mem, index, parent, slot);
		else
		{
			if (count < cap / 3)
			{
				if (left > right)
					lb_index_shift(arena, index, parent, slot - 1, -(left - count) / 2);
				else
					lb_index_shift(arena, index, parent, slot, (right - count) / 2);
			}
			break;
		}
	}

	/* A root with a single link is not needed. */
	while (index->height > 1)
	{
		const Block *root = block_ptr(arena, index->root);
		LbRef		child = link_children(root)[0];

		if (root->count > 1)
			break;
		lb_block_free(mem, &index->chunks, index->root, LB_MAX_ORDER);
		index->root = child;
		index->height--;
	}

	/* A single leaf may fit into half of its chunk. */
	if (index->height == 1 && index->root_order > 0 &&
		block_ptr(arena, index->root)->count * 2 <=
		leaf_capacity(block_width(&index->shape), index->root_order - 1))
		(void) lb_index_resize_leaf(mem, index, index->root_order - 1);
}

/*--------------------------------------------------------------------------
 * Spans along a path
 *--------------------------------------------------------------------------
 */

/*
 * Add to the spans of two paths at once.  From the block where they meet
 * upwards the two amounts are added up.  They mostly cancel out, and then
 * these blocks, which the caches of all processors share, are not written to.
 */
static void
add_along_two(const LbArena *arena, const LbIndex *index, const LbPath *a,
			  Span by_a, const LbPath *b, Span by_b)
{
	Span		both;
	int			level;

	both.members = by_a.members + by_b.members;
	both.distinct = by_a.distinct + by_b.distinct;
	for (level = 1; level < index->height; level++)
	{
		Block	   *block = block_ptr(arena, a->ref[level]);

		if (a->ref[level] != b->ref[level])
		{
			span_add(block, a->slot[level], by_a);
			span_add(block_ptr(arena, b->ref[level]), b->slot[level], by_b);
		}
		else if (a->slot[level] != b->slot[level])
			span_add_two(block, a->slot[level], by_a, b->slot[level], by_b);
		else
			span_add(block, a->slot[level], both);
	}
}

/*
 * Set whether the first entry of the leaf behind that of a path continues the
 * score before it, and correct the spans that count it as new.
 */
static void
change_next(const LbArena *arena, LbIndex *index, const LbPath *path,
			bool continues)
{
	LbRef		ref = block_ptr(arena, path->ref[0])->next;
	Block	   *leaf = block_ptr(arena, ref);
	LbPath		next = *path;
	Span		by = {0, 0};
	int			level;

	if (leaf->continues == continues)
		return;
	leaf->continues = continues;
	by.distinct = continues ? (uint64) -1 : 1;

	/* Find its path: up to where it diverges, and down along the left edge. */
	for (level = 1; level < index->height; level++)
	{
		Block	   *block = block_ptr(arena, next.ref[level]);

		if (next.slot[level] + 1 < block->count)
			break;
	}
	Assert(level < index->height);
	next.slot[level]++;
	while (level > 1)
	{
		const Block *block = block_ptr(arena, next.ref[level]);

		next.ref[level - 1] = link_children(block)[next.slot[level]];
		next.slot[--level] = 0;
	}
	index->distinct += by.distinct;
	add_along(arena, index, &next, by);
}

/*--------------------------------------------------------------------------
 * A key in its leaf
 *--------------------------------------------------------------------------
 */

/* The score of the last entry before a leaf; false if there is none. */
static inline bool
score_before(const LbArena *arena, const Block *leaf, int64 *score)
{
	const Block *prev;

	if (leaf->prev == LB_NONE)
		return false;
	prev = block_ptr(arena, leaf->prev);
	*score = leaf_words(prev, 0)[prev->count - 1];
	return true;
}

/*
 * Put a key, as blocks store it, into the leaf of a path, which has room.
 * Returns what to add to the spans of the path.
 */
static Span
insert_entry(const LbArena *arena, LbIndex *index, const LbPath *path,
			 Block *leaf, const int64 *key, uint32 hash)
{
	int			slot = path->slot[0];
	bool		last = slot == leaf->count;
	bool		is_new;
	int64		score = 0;
	Span		by = {1, 0};

	/* Is it new, and does the next entry remain new? */
	Assert(leaf->count < leaf->cap);
	if (!last)
		by.distinct -= leaf_distinct(leaf, slot, slot + 1);
	if (slot > 0)
		is_new = leaf_words(leaf, 0)[slot - 1] != key[0];
	else
	{
		is_new = !score_before(arena, leaf, &score) || score != key[0];
		leaf->continues = !is_new;
	}

	copy_keys(leaf, slot + 1, leaf, slot, leaf->count - slot);
	block_set_key(leaf, slot, key);
	leaf_tags(leaf)[slot] = hash_tag(hash);
	leaf->count++;
	by.distinct += leaf_distinct(leaf, slot, slot + (last ? 1 : 2));

	index->members++;
	index->distinct += by.distinct;
	if (last && leaf->next != LB_NONE)
	{
		const Block *next = block_ptr(arena, leaf->next);

		change_next(arena, index, path, leaf_words(next, 0)[0] == key[0]);
	}
	return by;
}

/*
 * Take the key of a path out of its leaf.  Returns what to add to the spans of
 * the path, which wraps around.
 */
static Span
remove_entry(const LbArena *arena, LbIndex *index, const LbPath *path,
			 Block *leaf)
{
	int			slot = path->slot[0];
	int64		score = leaf_words(leaf, 0)[slot];
	bool		last = slot + 1 == leaf->count;
	bool		was_new = leaf_distinct(leaf, slot, slot + 1) != 0;
	Span		by = {(uint64) -1, 0};

	/*
	 * If this entry was new and the next one has the same score, that becomes
	 * new.  Otherwise nothing changes for it.
	 */
	by.distinct -= leaf_distinct(leaf, slot, slot + (last ? 1 : 2));
	copy_keys(leaf, slot, leaf, slot + 1, leaf->count - slot - 1);
	leaf->count--;
	if (!last)
	{
		if (slot == 0)
			leaf->continues = !was_new && leaf_words(leaf, 0)[0] == score;
		by.distinct += leaf_distinct(leaf, slot, slot + 1);
	}

	index->members--;
	index->distinct += by.distinct;
	if (last && leaf->next != LB_NONE)
	{
		const Block *next = block_ptr(arena, leaf->next);

		change_next(arena, index, path,
					!was_new && leaf_words(next, 0)[0] == score);
	}
	return by;
}

/*--------------------------------------------------------------------------
 * The interface
 *--------------------------------------------------------------------------
 */

bool
lb_index_first_leaf(const LbMem *mem, LbIndex *index)
{
	LbRef		ref = lb_block_alloc(mem, &index->chunks, 0);

	Assert(index->height == 0);
	if (ref == LB_NONE)
		return false;
	(void) lb_block_init(mem->arena, block_width(&index->shape), ref, 0, 0);
	index->root = ref;
	index->first = ref;
	index->last = ref;
	index->root_order = 0;
	index->height = 1;
	return true;
}

/* Undo an insert for which there is no memory; key is as blocks store it. */
static LbResult
give_up(const LbMem *mem, LbIndex *index, const int64 *key)
{
	if (lb_shape_varies(&index->shape))
		lb_text_forget(mem, index, key[index->shape.width - 1]);
	if (index->members == 0)
		lb_index_free(mem, index);
	return LB_NOMEM;
}

LbResult
lb_index_insert(const LbMem *mem, LbIndex *index, const int64 *key)
{
	LbArena    *arena = mem->arena;
	Member		member = key_member(arena, index, key);
	const int64 *words = key;
	int64		stored[LB_MAX_WIDTH];
	Block	   *leaf;
	LbPath		path;
	int			slot;

	Assert(!index->shape.counts);
	if (index->height == 0 && !lb_index_first_leaf(mem, index))
		return LB_NOMEM;

	/* The descent overlaps with fetching the hash's cache lines. */
	lb_hash_prefetch(arena, &index->hash, member.hash);
	leaf = descend_to_key(arena, index, key, NULL, &path);
	if (find_member(arena, index, member, &slot) != NULL)
		return LB_EXISTS;
	if (unlikely(member.texts))
	{
		words = stored;
		if (!lb_text_store(mem, index, key, 0, stored))
			return give_up(mem, index, words);
	}
	if (index->members >= HASH_FROM && !index_hashed(index) &&
		lb_index_build_hash(mem, index, NULL) != LB_OK)
		return give_up(mem, index, words);

	if (index_hashed(index) &&
		lb_hash_insert(mem, &index->hash, member.hash, path.ref[0]) != LB_OK)
		return give_up(mem, index, words);
	if (leaf->count == leaf->cap)
	{
		LbRef		before = path.ref[0];
		bool		done pg_attribute_unused();

		if (!resolve_overflow(mem, index, &path))
		{
			if (index_hashed(index))
			{
				done = lb_hash_delete(mem, &index->hash, member.hash, before);
				Assert(done);
			}
			return give_up(mem, index, words);
		}
		leaf = descend_to_key(arena, index, key, NULL, &path);
		if (index_hashed(index) && path.ref[0] != before)
		{
			done = lb_hash_replace(arena, &index->hash, member.hash, before,
								   path.ref[0]);
			Assert(done);
		}
	}

	add_along(arena, index, &path,
			  insert_entry(arena, index, &path, leaf, words, member.hash));
	return LB_OK;
}

LbResult
lb_index_remove(const LbMem *mem, LbIndex *index, const int64 *key)
{
	LbArena    *arena = mem->arena;
	bool		texts = lb_shape_varies(&index->shape);
	int64		cell = 0;
	Block	   *leaf;
	LbPath		path;
	uint32		hash;

	Assert(!index->shape.counts);
	if (index->height == 0)
		return LB_NOTFOUND;
	hash = key_hash(arena, index, key, texts);
	lb_hash_prefetch(arena, &index->hash, hash);
	leaf = descend_to_key(arena, index, key, NULL, &path);
	if (!leaf_has_key(arena, index, leaf, path.slot[0], key))
		return LB_NOTFOUND;

	if (index->members == 1)
	{
		lb_index_free(mem, index);
		return LB_OK;
	}
	if (index_hashed(index))
	{
		bool		done pg_attribute_unused();

		done = lb_hash_delete(mem, &index->hash, hash, path.ref[0]);
		Assert(done);
	}
	if (texts)
		cell = lb_text_cell(leaf, path.slot[0]);
	add_along(arena, index, &path, remove_entry(arena, index, &path, leaf));
	if (texts)
	{
		if (path.slot[0] == 0)
			lb_text_correct_links(arena, index, &path);
		lb_text_forget(mem, index, cell);
	}
	if (index->members < HASH_UNTIL && index_hashed(index))
		lb_hash_free(mem, &index->hash);
	resolve_underflow(mem, index, &path);
	return LB_OK;
}

LbResult
lb_index_replace(const LbMem *mem, LbIndex *index, const int64 *old,
				 const int64 *new, const LbPath *old_hint,
				 const LbPath *new_hint)
{
	LbArena    *arena = mem->arena;
	bool		texts = lb_shape_varies(&index->shape);
	const int64 *words = new;
	int64		stored[LB_MAX_WIDTH];
	int64		cell = 0;
	Block	   *leaf;
	Block	   *to;
	LbPath		path;
	LbPath		to_path;
	Span		less;
	uint32		hash;
	LbResult	result;

	Assert(!index->shape.counts);
	Assert(lb_member_cmp(&index->shape, lb_key_member(&index->shape, old),
						 lb_key_member(&index->shape, new)) == 0);
	if (index->height == 0)
		return LB_NOTFOUND;
	hash = key_hash(arena, index, old, texts);
	if (old_hint == NULL)
		lb_hash_prefetch(arena, &index->hash, hash);
	leaf = descend_to_key(arena, index, old, old_hint, &path);
	if (!leaf_has_key(arena, index, leaf, path.slot[0], old))
		return LB_NOTFOUND;
	to = descend_to_key(arena, index, new, new_hint, &to_path);

	/* If blocks come or go, remove and insert one after the other. */
	if (texts)
		cell = lb_text_cell(leaf, path.slot[0]);
	if (leaf->count == 1 || (to != leaf && to->count == to->cap) ||
		(texts && !lb_text_store(mem, index, new, cell, stored)))
	{
		result = lb_index_remove(mem, index, old);
		return result == LB_OK ? lb_index_insert(mem, index, new) : result;
	}
	if (to != leaf && index_hashed(index))
	{
		bool		done pg_attribute_unused();

		done = lb_hash_replace(arena, &index->hash, hash, path.ref[0],
							   to_path.ref[0]);
		Assert(done);
	}
	if (texts)
		words = stored;
	less = remove_entry(arena, index, &path, leaf);
	if (to == leaf && to_path.slot[0] > path.slot[0])
		to_path.slot[0]--;
	add_along_two(arena, index, &path, less, &to_path,
				  insert_entry(arena, index, &to_path, to,
							   words, hash));
	if (texts)
	{
		if (path.slot[0] == 0)
			lb_text_correct_links(arena, index, &path);
		if (stored[index->shape.width - 1] != cell)
			lb_text_forget(mem, index, cell);
	}
	if (to != leaf)
		resolve_underflow(mem, index, &path);
	return LB_OK;
}

LbResult
lb_index_insert_counted(const LbMem *mem, LbIndex *index, LbPath *path,
						const int64 *key, int64 count)
{
	LbArena    *arena = mem->arena;
	int			width = index->shape.width;
	Block	   *leaf = block_ptr(arena, path->ref[0]);
	int64		stored[LB_MAX_WIDTH];
	Span		by;

	Assert(index->shape.counts && count > 0);
	if (leaf->count == leaf->cap)
	{
		if (!resolve_overflow(mem, index, path))
			return LB_NOMEM;
		leaf = descend_to_key(arena, index, key, NULL, path);
	}
	memcpy(stored, key, width * sizeof(int64));
	stored[width] = count;
	by = insert_entry(arena, index, path, leaf, stored, 0);
	by.members += (uint64) (count - 1);
	index->members += (uint64) (count - 1);
	add_along(arena, index, path, by);
	return LB_OK;
}

void
lb_index_remove_counted(const LbMem *mem, LbIndex *index, const LbPath *path)
{
	LbArena    *arena = mem->arena;
	Block	   *leaf = block_ptr(arena, path->ref[0]);
	uint64		count = lb_leaf_rows(leaf, path->slot[0], path->slot[0] + 1);
	Span		by;

	Assert(index->shape.counts);
	if (index->height == 1 && leaf->count == 1)
	{
		lb_index_free(mem, index);
		return;
	}
	by = remove_entry(arena, index, path, leaf);
	by.members -= count - 1;
	index->members -= count - 1;
	add_along(arena, index, path, by);
	resolve_underflow(mem, index, path);
}
