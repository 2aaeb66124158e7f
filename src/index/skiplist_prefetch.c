/*-------------------------------------------------------------------------
 *
 * skiplist_prefetch.c
 *	  Reads and changes of many keys, whose cache misses overlap.
 *
 * In an index that is larger than the processor's caches, an operation spends
 * most of its time waiting for memory: each level tells where the next one is,
 * so a single operation waits for one cache miss after the other.  The
 * functions of this file take up to LB_PREFETCH_KEYS operations through each
 * step together: they prefetch what all of them need next before they use any of
 * it.
 *
 * Two rules make the misses overlap.  No branch depends on memory that has just
 * been requested, because the processor would wait for it, or guess wrong.  And
 * what leads to the next step is a miss too, so it gets a prefetch of its own.
 *
 * What this brings: with three million members and huge pages, a look-up takes
 * about a third of the time if 32 are done together, a rank a sixth, and an
 * update half if 16 are done together.  "make -C test/unit bench" measures it.
 *
 * Everything else works without this file: the results are those of the same
 * operations one by one, and the paths that lb_index_prefetch_changes finds are
 * hints.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

/*--------------------------------------------------------------------------
 * Looking up many members
 *--------------------------------------------------------------------------
 */

/*
 * The first slot of a leaf with the tag of a hash, or -1.  It is the member's,
 * unless another member of the leaf has the same tag.
 */
static inline int
guess_slot(const Block *leaf, uint32 hash)
{
	uint64		matches = leaf_matches(leaf, 0, hash_tag(hash));
	int			from = 0;

	/* The widest leaf has less than 128 entries. */
	if (matches == 0 && leaf->count > 64)
	{
		matches = leaf_matches(leaf, 64, hash_tag(hash));
		from = 64;
	}
	return matches == 0 ? -1 : from + lb_lowest_bit(matches);
}

/*
 * Prefetch the first nwords words of a key, and its member.  Always inlined: gcc
 * drops calls of a function that does nothing but prefetch.
 */
static pg_attribute_always_inline void
prefetch_key(const LbIndex *index, const Block *leaf, int slot, int nwords)
{
	const int64 *word = leaf_words(leaf, 0) + slot;

	for (int i = 0; i < index->shape.width; i++, word += leaf->cap)
	{
		if (i < nwords || i >= index->shape.width - index->shape.member_words)
			lb_prefetch(word);
	}
}

/*
 * Look at the place that was guessed for a member, where its hash leads first.
 * If the member is not there, search on.  Returns its leaf and corrects place,
 * or returns NULL.
 */
static inline const Block *
confirm_place(const LbArena *arena, const LbIndex *index, const int64 *member,
			  LbHashScan *scan, LbCursor *place)
{
	const Block *leaf;

	if (place->leaf == LB_NONE)
		return NULL;
	leaf = block_ptr(arena, place->leaf);
	if (place->slot >= 0 && leaf_has_member(index, leaf, place->slot, member))
		return leaf;
	leaf = find_in_chain(arena, index, member, place->leaf, scan,
						 &place->slot);
	if (leaf != NULL)
		place->leaf = block_ref(arena, leaf);
	return leaf;
}

/* Copy the first nwords words of the key of a slot. */
static inline void
leaf_get_words(const Block *leaf, int slot, int nwords, int64 *key)
{
	const int64 *word = leaf_words(leaf, 0) + slot;

	for (int i = 0; i < nwords; i++, word += leaf->cap)
		key[i] = *word;
}

/* Look up a member in an index without a hash. */
static bool
look_up(const LbArena *arena, const LbIndex *index, const int64 *member,
		int nwords, int64 *key, LbCursor *place)
{
	const Block *leaf = find_member(arena, index, member,
									member_hash(arena, index, member),
									&place->slot);

	if (leaf == NULL)
		return false;
	place->leaf = block_ref(arena, leaf);
	leaf_get_words(leaf, place->slot, nwords, key);
	return true;
}

void
lb_index_lookup_many(const LbArena *arena, const LbIndex *index,
					 const LbLookups *lookups)
{
	LbHashScan	scans[LB_PREFETCH_KEYS];
	const int64 *member = lookups->members;
	int64	   *key = lookups->keys;
	LbCursor   *places = lookups->places;
	int			stride = lookups->member_stride;
	int			n = lookups->n;
	int			i;

	Assert(n <= LB_PREFETCH_KEYS && lookups->nwords <= lookups->key_stride);
	if (!index_hashed(index))
	{
		for (i = 0; i < n; i++, member += stride, key += lookups->key_stride)
			lookups->found[i] = look_up(arena, index, member, lookups->nwords,
										key, &places[i]);
		return;
	}
	for (i = 0; i < n; i++, member += stride)
		lb_hash_begin(arena, &index->hash, member_hash(arena, index, member),
					  &scans[i]);
	for (i = 0; i < n; i++)
		places[i].leaf = lb_hash_next(arena, &index->hash, &scans[i]);
	for (i = 0; i < n; i++)
	{
		if (places[i].leaf != LB_NONE)
			read_members(arena, index, places[i].leaf);
	}
	for (i = 0; i < n; i++)
	{
		const Block *leaf;

		places[i].slot = -1;
		if (places[i].leaf == LB_NONE)
			continue;
		leaf = block_ptr(arena, places[i].leaf);
		places[i].slot = guess_slot(leaf, scans[i].hash);
		if (places[i].slot >= 0)
			prefetch_key(index, leaf, places[i].slot, lookups->nwords);
	}
	member = lookups->members;
	for (i = 0; i < n; i++, member += stride, key += lookups->key_stride)
	{
		const Block *leaf = confirm_place(arena, index, member, &scans[i],
										  &places[i]);

		lookups->found[i] = leaf != NULL;
		if (leaf != NULL)
			leaf_get_words(leaf, places[i].slot, lookups->nwords, key);
	}
}

/*--------------------------------------------------------------------------
 * Counting what is before many prefixes
 *--------------------------------------------------------------------------
 */

/* The first entry of a leaf with the same prefix as the one at a slot. */
static int
first_equal(const Block *leaf, int slot, int nwords)
{
	/* No two keys are the same. */
	if (nwords == leaf->width)
		return slot;
	while (slot > 0)
	{
		for (int i = 0; i < nwords; i++)
		{
			if (leaf_words(leaf, i)[slot - 1] != leaf_words(leaf, i)[slot])
				return slot;
		}
		slot--;
	}
	return slot;
}

void
lb_index_spans_many(const LbArena *arena, const LbIndex *index,
					const int64 *const *prefixes, const LbCursor *places,
					int n, int nwords, uint64 *members, uint64 *distinct)
{
	const Block *blocks[LB_PREFETCH_KEYS];
	int			slots[LB_PREFETCH_KEYS];
	int			level;
	int			i;

	Assert(n <= LB_PREFETCH_KEYS);
	Assert(nwords >= 1 && nwords <= index->shape.width);
	for (i = 0; i < n; i++)
	{
		members[i] = 0;
		if (distinct != NULL)
			distinct[i] = 0;
		if (index->height > 0)
			blocks[i] = block_ptr(arena, index->root);
	}
	for (level = index->height - 1; level > 0; level--)
	{
		for (i = 0; i < n; i++)
		{
			const Block *block = blocks[i];

			slots[i] = search_keys(link_words(block, 0), block->cap, 1,
								   block->count,
								   make_bound(prefixes[i], nwords, false)) - 1;
			lb_prefetch(link_members(block) + slots[i]);
			if (distinct != NULL)
				lb_prefetch(link_distinct(block) + slots[i]);
			lb_prefetch(link_children(block) + slots[i]);
		}
		for (i = 0; i < n; i++)
		{
			const Block *block = blocks[i];
			LbRef		child = link_children(block)[slots[i]];

			members[i] += link_members(block)[slots[i]];
			if (distinct != NULL)
				distinct[i] += link_distinct(block)[slots[i]];
			blocks[i] = block_ptr(arena, child);
			if (child == places[i].leaf && distinct == NULL)
				continue;
			if (level > 1)
				prefetch_links(blocks[i], block->cap);
			else
				prefetch_leaf(blocks[i], index->shape.width);
		}
	}
	for (i = 0; index->height > 0 && i < n; i++)
	{
		const Block *leaf = blocks[i];
		int			slot;

		if (block_ref(arena, leaf) == places[i].leaf)
			slot = first_equal(leaf, places[i].slot, nwords);
		else
			slot = search_keys(leaf_words(leaf, 0), leaf->cap, 0, leaf->count,
							   make_bound(prefixes[i], nwords, false));
		members[i] += (uint64) slot;
		if (distinct != NULL)
			distinct[i] += leaf_distinct(leaf, 0, slot);
	}
}

/*--------------------------------------------------------------------------
 * Prefetching changes
 *
 * lb_index_prefetch_changes() runs without the lock.  A block that it reads may
 * be freed, reused and rewritten meanwhile, and any number in it can be
 * anything.  So it checks each reference and each count after reading it once,
 * and finds the arrays of a block by the width of the index, not by the block's
 * header.
 *--------------------------------------------------------------------------
 */

void
lb_index_prefetch_hash(const LbArena *arena, const LbIndex *index,
					   const int64 *member)
{
	if (index_hashed(index))
		lb_hash_prefetch(arena, &index->hash,
						 member_hash(arena, index, member));
}

/* Prefetch the cache lines of n words, to write them. */
static inline void
prefetch_to_write(const void *start, int n)
{
	const char *p = (const char *) start;
	int			i;

	for (i = 0; i < n * (int) sizeof(int64); i += 64)
		lb_prefetch_write(p + i);
}

/* The block of a reference that may be anything, or NULL if it can be none. */
static inline const Block *
unlocked_block(const LbArena *arena, LbRef ref)
{
	if (ref == LB_NONE || ref > arena->nchunks - LB_PAGE_SIZE / LB_CHUNK_SIZE)
		return NULL;
	return block_ptr(arena, ref);
}

/* How many entries or links it has, and no more than cap. */
static inline int
unlocked_count(const Block *block, int cap)
{
	/* Volatile, because the compiler could read it twice. */
	int			count = *(const volatile uint16 *) &block->count;

	return Min(count, cap);
}

/*
 * Take the paths of n keys from one level of links to the next, and prefetch the
 * blocks there.
 */
static inline void
prefetch_level(const LbArena *arena, int width, const int64 *const *keys,
			   int n, int level, LbPath *paths)
{
	int			cap = link_capacity(width);
	const LbRef *children[LB_PREFETCH_KEYS];
	int			i;

	for (i = 0; i < n; i++)
	{
		const Block *block = unlocked_block(arena, paths[i].ref[level]);
		int			count;
		int			at;

		if (block == NULL)
			continue;
		count = unlocked_count(block, cap);
		at = search_keys(link_words_at(block, cap, 0), cap, 1, count,
						 make_bound(keys[i], width, true)) - 1;
		paths[i].slot[level] = at;
		children[i] = link_children_at(block, cap, width) + at;
		lb_prefetch(children[i]);

		/* A change adds to the running sums behind its link. */
		if (level == 1)
		{
			prefetch_to_write(link_members_at(block, cap, width) + at,
							  count - at);
			prefetch_to_write(link_distinct_at(block, cap, width) + at,
							  count - at);
		}
	}
	for (i = 0; i < n; i++)
	{
		const Block *next;

		if (unlocked_block(arena, paths[i].ref[level]) == NULL)
			continue;
		paths[i].ref[level - 1] = *(const volatile LbRef *) children[i];
		next = unlocked_block(arena, paths[i].ref[level - 1]);
		if (next == NULL)
			continue;
		if (level > 1)
			prefetch_links(next, cap);
		else
			prefetch_leaf(next, width);
	}
}

void
lb_index_prefetch_changes(const LbArena *arena, const LbIndex *index,
						  const int64 *const *keys, int nkeys, LbPath *paths)
{
	int			width = index->shape.width;
	int			cap = leaf_capacity(width, LB_MAX_ORDER);
	int			level;
	int			i;

	Assert(nkeys <= LB_PREFETCH_KEYS);
	memset(paths, 0, nkeys * sizeof(LbPath));
	if (index->height < 2)
		return;
	for (i = 0; i < nkeys; i++)
		paths[i].ref[index->height - 1] = index->root;
	for (level = index->height - 1; level > 0; level--)
		prefetch_level(arena, width, keys, nkeys, level, paths);

	/* A change moves the entries behind its key. */
	for (i = 0; i < nkeys; i++)
	{
		const Block *leaf = unlocked_block(arena, paths[i].ref[0]);
		int			count;
		int			slot;

		if (leaf == NULL)
			continue;
		count = unlocked_count(leaf, cap);
		slot = array_lower(leaf_words_at(leaf, cap, 0), 0, count, keys[i][0]);
		prefetch_to_write(leaf_tags_at(leaf) + slot, (count - slot) / 8 + 1);
		for (int word = 0; word < width; word++)
			prefetch_to_write(leaf_words_at(leaf, cap, word) + slot,
							  count - slot + 1);
	}
}
