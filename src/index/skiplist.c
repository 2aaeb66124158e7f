/*-------------------------------------------------------------------------
 *
 * skiplist.c
 *	  The span-counted skip list of one board: making, freeing, reading.
 *
 * The bottom level is a list of blocks, linked both ways, that hold the keys
 * in order.  The levels above are blocks of links, each link with the number
 * of members and of distinct scores that it spans.  A block holds the nodes of
 * one level between two nodes of the next level, so that following links is a
 * search within a few cache lines, and one level up is a factor of tens.  The
 * fill of the blocks decides where links go, instead of chance: see J. I.
 * Munro, T. Papadakis, R. Sedgewick, "Deterministic skip lists" (SODA 1992),
 * and for blocks "BSkipList" (arXiv 2507.21492).  The spans are those of
 * Redis.
 *
 * Such a list is a counted B+ tree drawn sideways, as Munro et al. show for
 * lists and balanced trees in general.  A block is a node of the tree, a block
 * of the bottom level a leaf; a link is a separator key with its child, and
 * its span is the subtree's count; a level of the list is a level of the tree;
 * to promote a key is to split a node.
 *
 * Differences to the published algorithms:
 *
 *	- Munro et al. keep the gaps between taller nodes within fixed bounds on
 *	  the way down.  Here a full leaf first gives some of its entries to a
 *	  neighbour under the same parent, if that has an eighth of its room free,
 *	  and splits only otherwise.  A split goes up only as far as blocks are
 *	  full, with all memory taken beforehand.
 *	- BSkipList promotes at random, to heights that are known beforehand, so
 *	  that it can lock block by block from the top.  That leaves blocks of a
 *	  fixed size less than half full.  Here promotion follows from fill, and
 *	  one lock covers the whole list.
 *	- Links of the upper levels are not chained to each other.  All sideways
 *	  movement is at the bottom.
 *	- A link has two spans, of members and of distinct scores.  They are kept
 *	  as running sums inside a block, so that counting reads one number per
 *	  level, and an update adds to the tail of an array.
 *	- Keys that arrive in order at either end of the list split their leaf
 *	  90:10 instead of in half.  A bulk build fills blocks to 90 %.
 *	- Blocks are structures of arrays.  A search reads the scores only, and
 *	  further words of the key where scores are equal.  Looking for a member
 *	  in its leaf is a scan of bytes, the upper bits of the members' hashes
 *	  ("tags"; the idea is that of the fingerprints in I. Oukid et al.,
 *	  "FPTree", SIGMOD 2016).
 *
 * An entry is "new" if it is the first of the list or its score, the first
 * word of its key, differs from that of the entry before it.  The number of
 * new entries before a place is the number of distinct scores before it.
 * Whether an entry is new follows from the entries of its leaf, except for the
 * first one, for which the leaf has the flag "continues" (the entry before it,
 * in another leaf, has the same score).  So inserting or removing an entry
 * changes only whether itself and the next entry are new.
 *
 * An index can count rows instead (skiplist_counts.c): an entry is a key and
 * the number of rows that have it, and "members" are rows.  Such an index has
 * no hash, and its tags mean nothing.  A leaf has the numbers of rows in one
 * more array, as they are, without running sums: a change writes one of them,
 * and a read adds up those before its place.
 *
 * The member hash leads from a member to the leaf of its key.  An insert
 * builds it when the index already has HASH_FROM members, a removal frees it
 * when the index has fewer than HASH_UNTIL.  Without it a search scans the few
 * leaves.  The leaf of an index of one leaf is just large enough.
 *
 * Invariants, checked by lb_index_check:
 *	- keys strictly ascend over the whole list, no member occurs twice, and no
 *	  leaf is empty;
 *	- the key of a link is above all keys before the link and not above any
 *	  key that it spans.  The key of the first link of a block equals the key
 *	  of the link to that block, and all its words are INT64_MIN at the left
 *	  edge of the list.  Elsewhere the key of a link need not be in the list;
 *	  if keys have texts, it is that of the first entry that the link spans
 *	  (skiplist_text.c);
 *	- a block of links has at least two of them, so that a leaf that becomes
 *	  empty always has a neighbour under the same parent;
 *	- element i of the running sums is what links 0 .. i-1 span together;
 *	- with a hash, every member has exactly one entry in it, with its leaf;
 *	- each cell that is in use belongs to one entry;
 *	- a key that is there has at least one row.
 *
 * An insert takes the memory that it needs before it changes anything.  A
 * removal needs none.
 *
 * Disadvantages.  A key that moves to another leaf costs a change in the hash,
 * which is a cache miss.  An update in the middle of a block moves half of it.
 * One lock covers the whole list: two writers never work on a board at once,
 * and readers wait for a writer, though not for long, since no operation
 * touches more than a few blocks per level.
 *
 * The other files: block.h has the layout of a block, skiplist_internal.h the
 * search that they share, skiplist_change.c insert, remove and replace,
 * skiplist_counts.c changes of numbers of rows, skiplist_bulk.c the bulk
 * build, skiplist_text.c keys with texts, skiplist_prefetch.c operations on
 * many keys, skiplist_check.c the check.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist_internal.h"

/*--------------------------------------------------------------------------
 * Making and freeing
 *--------------------------------------------------------------------------
 */

void
lb_index_init(LbIndex *index, const LbShape *shape)
{
	memset(index, 0, sizeof(LbIndex));
	index->shape = *shape;
	lb_hash_init(&index->hash);
}

/* Free a block of links and all blocks below, without reading the leaves. */
static void
free_links(const LbMem *mem, LbIndex *index, LbRef ref)
{
	const Block *block = block_ptr(mem->arena, ref);
	int			i;

	for (i = 0; i < block->count; i++)
	{
		LbRef		child = link_children(block)[i];

		if (block->level > 1)
			free_links(mem, index, child);
		else
			lb_block_free(mem, &index->chunks, child, LB_MAX_ORDER);
	}
	lb_block_free(mem, &index->chunks, ref, LB_MAX_ORDER);
}

void
lb_index_free(const LbMem *mem, LbIndex *index)
{
	LbShape		shape;
	LbRef		ref;
	LbRef		next;

	if (index->height > 1)
		free_links(mem, index, index->root);
	else if (index->height == 1)
		lb_block_free(mem, &index->chunks, index->root, index->root_order);
	else
	{
		/* A bulk build that was not finished: see skiplist_bulk.c. */
		for (ref = index->first; ref != LB_NONE; ref = next)
		{
			next = block_ptr(mem->arena, ref)->next;
			lb_block_free(mem, &index->chunks, ref, LB_MAX_ORDER);
		}
		for (ref = index->root; ref != LB_NONE; ref = next)
		{
			next = block_ptr(mem->arena, ref)->next;
			lb_block_free(mem, &index->chunks, ref, LB_MAX_ORDER);
		}
	}
	lb_cells_free(mem, &index->cells);
	lb_hash_free(mem, &index->hash);
	Assert(index->chunks == 0);
	shape = index->shape;
	lb_index_init(index, &shape);
}

uint64
lb_index_estimate(uint64 entries, const LbShape *shape, int key_words)
{
	int			width = block_width(shape);
	uint64		bytes = entries > HASH_FROM && !shape->counts ?
		lb_hash_estimate(entries) : 0;
	uint64		cap = leaf_capacity(width, LB_MAX_ORDER);
	uint64		n = entries;
	int			order = 0;

	if (entries == 0)
		return 0;
	if (lb_shape_varies(shape) && key_words >= width)
		bytes += lb_cells_estimate(entries, key_words - (width - 1));
	if (entries <= cap)
	{
		while ((uint64) leaf_capacity(width, order) < entries)
			order++;
		return bytes + ((uint64) LB_CHUNK_SIZE << order);
	}

	/* After many random changes, blocks are about two thirds full. */
	while (n > 1)
	{
		n = (n * 3 + cap * 2 - 1) / (cap * 2);
		bytes += n * LB_PAGE_SIZE;
		cap = link_capacity(width);
	}
	return bytes;
}

/*--------------------------------------------------------------------------
 * Reading
 *--------------------------------------------------------------------------
 */

/* lb_index_lookup; texts is what lb_shape_varies says. */
static pg_attribute_always_inline bool
look_up(const LbArena *arena, const LbIndex *index, const int64 *words,
		int64 *key, LbCursor *cursor, bool texts)
{
	const Block *leaf;
	int			slot;

	leaf = find_member(arena, index, make_member(arena, index, words, texts),
					   &slot);
	if (leaf == NULL)
		return false;
	if (texts)
		(void) lb_text_get_words(arena, leaf, slot, LB_MAX_KEY_WORDS, key);
	else
		block_get_key(leaf, slot, key);

	/*
	 * A caller without a cursor probably calls lb_index_spans next, which
	 * searches the scores of this leaf.
	 */
	if (cursor != NULL)
	{
		cursor->leaf = block_ref(arena, leaf);
		cursor->slot = slot;
	}
	else if (index->height > 1)
		prefetch_words(leaf_words(leaf, 0), Max(slot, leaf->count / 2) + 1);
	return true;
}

static pg_noinline bool
look_up_text(const LbArena *arena, const LbIndex *index, const int64 *member,
			 int64 *key, LbCursor *cursor)
{
	return look_up(arena, index, member, key, cursor, true);
}

bool
lb_index_lookup(const LbArena *arena, const LbIndex *index,
				const int64 *member, int64 *key, LbCursor *cursor)
{
	Assert(!index->shape.counts);
	if (unlikely(lb_shape_varies(&index->shape)))
		return look_up_text(arena, index, member, key, cursor);
	return look_up(arena, index, member, key, cursor, false);
}

void
lb_index_spans(const LbArena *arena, const LbIndex *index,
			   const int64 *prefix, int nwords, bool inclusive,
			   uint64 *members, uint64 *distinct)
{
	Span		before = {0, 0};

	if (index->height > 0)
	{
		const Block *leaf;
		LbPath		path;

		leaf = find_place(arena, index,
						  make_bound(prefix, nwords, inclusive), &path, &before);
		before.members += leaf_members(leaf, 0, path.slot[0],
									   index->shape.counts);
		if (distinct != NULL)
			before.distinct += leaf_distinct(leaf, 0, path.slot[0]);
	}
	if (members != NULL)
		*members = before.members;
	if (distinct != NULL)
		*distinct = before.distinct;
}

/* The slot of a leaf with the row that has so many before it there. */
static inline int
slot_of_row(const Block *leaf, uint64 before)
{
	const int64 *rows = leaf_words(leaf, leaf->width - 1);
	int			slot = 0;

	while (before >= (uint64) rows[slot])
	{
		before -= (uint64) rows[slot++];
		Assert(slot < leaf->count);
	}
	return slot;
}

/* lb_index_seek_place; counts is whether the index counts rows. */
static pg_attribute_always_inline bool
seek_place(const LbArena *arena, const LbIndex *index, uint64 before,
		   LbCursor *cursor, bool counts)
{
	LbRef		ref = index->root;
	int			level;

	cursor->leaf = LB_NONE;
	cursor->slot = 0;
	if (before >= index->members)
		return false;
	for (level = index->height - 1; level > 0; level--)
	{
		const Block *block = block_ptr(arena, ref);
		const uint64 *members = link_members(block);
		int			at;

		Assert(block->level == level);

		/* As signed numbers, since no sum is near 2^63. */
		at = array_upper((const int64 *) members, 1, block->count,
						 (int64) before) - 1;
		before -= members[at];
		ref = link_children(block)[at];
		if (level > 1)
		{
			const Block *next = (const Block *) lb_ptr(arena, ref);

			lb_prefetch(next);

			/* All blocks of links have their arrays in the same places. */
			prefetch_words((const char *) next + ((const char *) members -
												  (const char *) block),
						   block->cap);
		}
	}
	cursor->leaf = ref;
	cursor->slot = counts ? slot_of_row(block_ptr(arena, ref), before) :
		(int) before;
	Assert(cursor->slot < block_ptr(arena, ref)->count);
	return true;
}

static pg_noinline bool
seek_row(const LbArena *arena, const LbIndex *index, uint64 before,
		 LbCursor *cursor)
{
	return seek_place(arena, index, before, cursor, true);
}

bool
lb_index_seek_place(const LbArena *arena, const LbIndex *index,
					uint64 before, LbCursor *cursor)
{
	if (unlikely(index->shape.counts))
		return seek_row(arena, index, before, cursor);
	return seek_place(arena, index, before, cursor, false);
}

bool
lb_index_seek_key(const LbArena *arena, const LbIndex *index,
				  const int64 *prefix, int nwords, LbCursor *cursor)
{
	const Block *leaf;
	LbPath		path;

	cursor->leaf = LB_NONE;
	cursor->slot = 0;
	if (index->height == 0)
		return false;
	leaf = find_place(arena, index, make_bound(prefix, nwords, false),
					  &path, NULL);
	if (path.slot[0] < leaf->count)
	{
		cursor->leaf = path.ref[0];
		cursor->slot = path.slot[0];
	}
	else
		cursor->leaf = leaf->next;
	return cursor->leaf != LB_NONE;
}

void
lb_cursor_key(const LbArena *arena, const LbIndex *index,
			  const LbCursor *cursor, int64 *key)
{
	const Block *leaf = block_ptr(arena, cursor->leaf);

	Assert(cursor->slot >= 0 && cursor->slot < leaf->count);
	leaf_get_key(arena, index, leaf, cursor->slot, key);
}

bool
lb_cursor_next(const LbArena *arena, const LbIndex *index, LbCursor *cursor)
{
	const Block *leaf;

	(void) index;
	if (cursor->leaf == LB_NONE)
		return false;
	leaf = block_ptr(arena, cursor->leaf);
	if (++cursor->slot < leaf->count)
		return true;
	cursor->leaf = leaf->next;
	cursor->slot = 0;
	return cursor->leaf != LB_NONE;
}

bool
lb_cursor_prev(const LbArena *arena, const LbIndex *index, LbCursor *cursor)
{
	const Block *leaf;

	(void) index;
	if (cursor->leaf == LB_NONE)
		return false;
	if (--cursor->slot >= 0)
		return true;
	leaf = block_ptr(arena, cursor->leaf);
	cursor->leaf = leaf->prev;
	cursor->slot = 0;
	if (cursor->leaf == LB_NONE)
		return false;
	cursor->slot = block_ptr(arena, cursor->leaf)->count - 1;
	return true;
}
