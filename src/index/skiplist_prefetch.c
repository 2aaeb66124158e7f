/*-------------------------------------------------------------------------
 *
 * skiplist_prefetch.c
 *	  Reads and changes of many keys, whose cache misses overlap.
 *
 * In an index that is larger than the processor's caches, an operation spends
 * most of its time waiting for memory: each level tells where the next one is,
 * so a single operation waits for one cache miss after the other.  The
 * functions of this file take up to LB_PREFETCH_KEYS operations through each
 * step together: they prefetch what all of them need next before they use any
 * of it.
 *
 * Two rules make the misses overlap.  No branch depends on memory that has
 * just been requested, because the processor would wait for it, or guess
 * wrong.  And what leads to the next step is a miss too, so it gets a prefetch
 * of its own.
 *
 * What this brings: with three million members and huge pages, a look-up takes
 * about a third of the time if 32 are done together, a rank a sixth, and an
 * update half if 16 are done together.  "make -C test/unit bench" measures it.
 *
 * Everything else works without this file: the results are those of the same
 * operations one by one, and the paths that lb_index_prefetch_changes finds
 * are hints.
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
 * Prefetch the first nwords words of a key, and its member, which with texts
 * may be anywhere in the key.  Always inlined: gcc drops calls of a function
 * that does nothing but prefetch.
 */
static pg_attribute_always_inline void
prefetch_key(const LbIndex *index, const Block *leaf, int slot, int nwords,
			 bool texts)
{
	const int64 *word = leaf_words(leaf, 0) + slot;

	for (int i = 0; i < index->shape.width; i++, word += leaf->cap)
	{
		if (texts || i < nwords ||
			i >= index->shape.width - index->shape.member_words)
			lb_prefetch(word);
	}
}

/*
 * Look at the place that was guessed for a member, where its hash leads first.
 * If the member is not there, search on.  Returns its leaf and corrects place,
 * or returns NULL.
 */
static pg_attribute_always_inline const Block *
confirm_place(const LbArena *arena, const LbIndex *index, Member member,
			  LbHashScan *scan, LbCursor *place)
{
	const Block *leaf;

	if (place->leaf == LB_NONE)
		return NULL;
	leaf = block_ptr(arena, place->leaf);
	if (place->slot >= 0 &&
		leaf_has_member(arena, index, leaf, place->slot, member))
		return leaf;
	leaf = find_in_chain(arena, index, member, place->leaf, scan,
						 &place->slot);
	if (leaf != NULL)
		place->leaf = block_ref(arena, leaf);
	return leaf;
}

/* Copy the first nwords words of the key of a slot, or all if it has fewer. */
static pg_attribute_always_inline void
get_words(const LbArena *arena, const Block *leaf, int slot, int nwords,
		  int64 *key, bool texts)
{
	const int64 *word = leaf_words(leaf, 0) + slot;

	if (texts)
		(void) lb_text_get_words(arena, leaf, slot, nwords, key);
	else
	{
		for (int i = 0; i < nwords; i++, word += leaf->cap)
			key[i] = *word;
	}
}

/* Look up a member in an index without a hash. */
static pg_noinline bool
look_up(const LbArena *arena, const LbIndex *index, Member member, int nwords,
		int64 *key, LbCursor *place)
{
	const Block *leaf = find_member(arena, index, member, &place->slot);

	if (leaf == NULL)
		return false;
	place->leaf = block_ref(arena, leaf);
	get_words(arena, leaf, place->slot, nwords, key, member.texts);
	return true;
}

/* The first steps of look_up_all: guess the places. */
static pg_attribute_always_inline void
guess_places(const LbArena *arena, const LbIndex *index,
			 const LbLookups *lookups, LbHashScan *scans, bool texts)
{
	const int64 *words = lookups->members;
	LbCursor   *places = lookups->places;
	int			n = lookups->n;
	int			i;

	for (i = 0; i < n; i++, words += lookups->member_stride)
		lb_hash_begin(arena, &index->hash,
					  make_member(arena, index, words, texts).hash, &scans[i]);
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
			prefetch_key(index, leaf, places[i].slot, lookups->nwords,
						 texts);
	}
	for (i = 0; texts && i < n; i++)
	{
		int64		cell;

		if (places[i].leaf == LB_NONE || places[i].slot < 0)
			continue;
		cell = lb_text_cell(block_ptr(arena, places[i].leaf), places[i].slot);
		if (cell != 0)
			prefetch_words(lb_cell_words(arena, cell), lb_cell_length(cell));
	}
}

/* lb_index_lookup_many; texts is what lb_shape_varies says. */
static pg_attribute_always_inline void
look_up_all(const LbArena *arena, const LbIndex *index,
			const LbLookups *lookups, bool texts)
{
	LbHashScan	scans[LB_PREFETCH_KEYS];
	const int64 *words = lookups->members;
	int64	   *key = lookups->keys;
	LbCursor   *places = lookups->places;
	int			i;

	Assert(!index->shape.counts);
	Assert(lookups->n <= LB_PREFETCH_KEYS);
	Assert(lookups->nwords <= lookups->key_stride);
	if (!index_hashed(index))
	{
		for (i = 0; i < lookups->n; i++, words += lookups->member_stride,
			 key += lookups->key_stride)
			lookups->found[i] =
				look_up(arena, index, make_member(arena, index, words, texts),
						lookups->nwords, key, &places[i]);
		return;
	}
	guess_places(arena, index, lookups, scans, texts);
	for (i = 0; i < lookups->n; i++, words += lookups->member_stride,
		 key += lookups->key_stride)
	{
		Member		member = member_with_hash(index, words, scans[i].hash, texts);
		const Block *leaf = confirm_place(arena, index, member, &scans[i],
										  &places[i]);

		lookups->found[i] = leaf != NULL;
		if (leaf != NULL)
			get_words(arena, leaf, places[i].slot, lookups->nwords, key, texts);
	}
}

static pg_noinline void
look_up_texts(const LbArena *arena, const LbIndex *index,
			  const LbLookups *lookups)
{
	look_up_all(arena, index, lookups, true);
}

void
lb_index_lookup_many(const LbArena *arena, const LbIndex *index,
					 const LbLookups *lookups)
{
	if (unlikely(lb_shape_varies(&index->shape)))
		look_up_texts(arena, index, lookups);
	else
		look_up_all(arena, index, lookups, false);
}

/*--------------------------------------------------------------------------
 * Counting what is before many prefixes
 *--------------------------------------------------------------------------
 */

/* The first entry of a leaf with the same prefix as the one at a slot. */
static pg_attribute_always_inline int
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

/* The bound before a prefix, whose exact length is known. */
static pg_attribute_always_inline Bound
bound_before(const int64 *prefix, int nwords, bool texts)
{
	Bound		bound = make_bound(prefix, nwords, false);

	bound.texts = texts;
	return bound;
}

/*
 * lb_index_spans_many; texts is what lb_shape_varies says, counts whether the
 * index counts rows.
 */
static pg_attribute_always_inline void
spans_all(const LbArena *arena, const LbIndex *index,
		  const int64 *const *prefixes, const LbCursor *places,
		  int n, int nwords, uint64 *members, uint64 *distinct, bool texts,
		  bool counts)
{
	int			lengths[LB_PREFETCH_KEYS];
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
		lengths[i] = texts && nwords > 1 ?
			lb_key_words(&index->shape, prefixes[i]) : nwords;
	}
	for (level = index->height - 1; level > 0; level--)
	{
		for (i = 0; i < n; i++)
		{
			const Block *block = blocks[i];

			slots[i] = search_links(arena, block,
									bound_before(prefixes[i],
												 texts ? lengths[i] : nwords,
												 texts));
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
				prefetch_leaf(blocks[i], index->shape.width + counts);
		}
	}
	for (i = 0; index->height > 0 && i < n; i++)
	{
		const Block *leaf = blocks[i];
		int			slot;

		if (block_ref(arena, leaf) == places[i].leaf)
			slot = first_equal(leaf, places[i].slot, nwords);
		else
			slot = search_leaf(arena, leaf,
							   bound_before(prefixes[i],
											texts ? lengths[i] : nwords,
											texts));
		members[i] += leaf_members(leaf, 0, slot, counts);
		if (distinct != NULL)
			distinct[i] += leaf_distinct(leaf, 0, slot);
	}
}

static pg_noinline void
spans_texts(const LbArena *arena, const LbIndex *index,
			const int64 *const *prefixes, const LbCursor *places,
			int n, int nwords, uint64 *members, uint64 *distinct)
{
	spans_all(arena, index, prefixes, places, n, nwords, members, distinct,
			  true, false);
}

static pg_noinline void
spans_counts(const LbArena *arena, const LbIndex *index,
			 const int64 *const *prefixes, const LbCursor *places,
			 int n, int nwords, uint64 *members, uint64 *distinct)
{
	spans_all(arena, index, prefixes, places, n, nwords, members, distinct,
			  false, true);
}

void
lb_index_spans_many(const LbArena *arena, const LbIndex *index,
					const int64 *const *prefixes, const LbCursor *places,
					int n, int nwords, uint64 *members, uint64 *distinct)
{
	if (unlikely(lb_shape_varies(&index->shape)))
		spans_texts(arena, index, prefixes, places, n, nwords, members,
					distinct);
	else if (unlikely(index->shape.counts))
		spans_counts(arena, index, prefixes, places, n, nwords, members,
					 distinct);
	else
		spans_all(arena, index, prefixes, places, n, nwords, members,
				  distinct, false, false);
}

/*--------------------------------------------------------------------------
 * Prefetching changes
 *
 * lb_index_prefetch_changes() runs without the lock.  A block that it reads
 * may be freed, reused and rewritten meanwhile, and any number in it can be
 * anything.  So it checks each reference and each count after reading it once,
 * and finds the arrays of a block by the width of the index, not by the
 * block's header.  It does not follow the handles of cells.
 *--------------------------------------------------------------------------
 */

void
lb_index_prefetch_hash(const LbArena *arena, const LbIndex *index,
					   const int64 *member)
{
	if (index_hashed(index))
		lb_hash_prefetch(arena, &index->hash,
						 make_member(arena, index, member,
									 lb_shape_varies(&index->shape)).hash);
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

/* A bound behind a key, as far as blocks hold it: cells may be anything. */
static inline Bound
unlocked_bound(const LbIndex *index, const int64 *key)
{
	int			nwords = index->shape.width;

	if (lb_shape_varies(&index->shape))
		nwords = Min(nwords - 1, lb_key_words(&index->shape, key));
	return make_bound(key, nwords, true);
}

/*
 * Take the paths of n keys from one level of links to the next, and prefetch
 * the blocks there.
 */
static inline void
prefetch_level(const LbArena *arena, const LbIndex *index,
			   const int64 *const *keys, int n, int level, LbPath *paths)
{
	int			width = block_width(&index->shape);
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
						 unlocked_bound(index, keys[i])) - 1;
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
	int			width = block_width(&index->shape);
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
		prefetch_level(arena, index, keys, nkeys, level, paths);

	/*
	 * A change moves the entries behind its key.  One of a number of rows
	 * mostly writes that only; the search has the first words.
	 */
	for (i = 0; i < nkeys; i++)
	{
		const Block *leaf = unlocked_block(arena, paths[i].ref[0]);
		int			count;
		int			slot;

		if (leaf == NULL)
			continue;
		count = unlocked_count(leaf, cap);
		slot = array_lower(leaf_words_at(leaf, cap, 0), 0, count, keys[i][0]);
		if (index->shape.counts)
		{
			for (int word = 1; word < width; word++)
				lb_prefetch_write(leaf_words_at(leaf, cap, word) + slot);
			continue;
		}
		prefetch_to_write(leaf_tags_at(leaf) + slot, (count - slot) / 8 + 1);
		for (int word = 0; word < width; word++)
			prefetch_to_write(leaf_words_at(leaf, cap, word) + slot,
							  count - slot + 1);
	}
}
