/*-------------------------------------------------------------------------
 *
 * block.h
 *	  A block of the skip list: its layout, its keys and its spans.
 *
 * A block is a chunk of the arena.  It has a header and then arrays of "cap"
 * elements each, so that a search reads one array and nothing else:
 *
 *	leaf	Block; tags, a byte for each entry, padded to whole words; the
 *			first words of all keys, their second words, and so on; if the
 *			index counts rows, then how many rows have each key
 *	links	LinkBlock; the words of the links' keys, likewise; the running
 *			sums of members; those of distinct scores; the children
 *
 * The running sum of a link is what the links before it span together; the
 * header has what all of them span.
 *
 * In an index that counts rows, "members" are rows.  Their number is one more
 * word of each key for all that moves keys.  Links have that word, too, and it
 * means nothing there.
 *
 * This header is private to the skip list.  Its functions need the lock that
 * skiplist.h demands; only the functions under "Layout" read nothing of the
 * block and so need none.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BLOCK_H
#define LB_BLOCK_H

#include "index/arena.h"
#include "index/core.h"

/* What every block starts with. */
typedef struct Block
{
	uint8		level;			/* 0 is a leaf */
	uint8		order;			/* size of the chunk, see arena.h */
	uint8		width;			/* words of a key, and of its count */
	uint8		continues;		/* leaf: its first entry is not new */
	uint16		count;			/* entries or links in use */
	uint16		cap;			/* entries or links that fit */
	LbRef		prev;			/* leaf: its neighbours */
	LbRef		next;			/* for links, only used by a bulk build */
} Block;

typedef struct LinkBlock
{
	Block		head;
	uint64		members;		/* what all links span */
	uint64		distinct;
} LinkBlock;

StaticAssertDecl(sizeof(Block) == 16 && sizeof(LinkBlock) == 32,
				 "block headers have no padding");

/* An amount of members and of distinct scores. */
typedef struct Span
{
	uint64		members;
	uint64		distinct;
} Span;

static inline Block *
block_ptr(const LbArena *arena, LbRef ref)
{
	return (Block *) lb_ptr(arena, ref);
}

static inline LbRef
block_ref(const LbArena *arena, const Block *block)
{
	return (LbRef) (((const char *) block - arena->base) / LB_CHUNK_SIZE);
}

/*--------------------------------------------------------------------------
 * Layout
 *--------------------------------------------------------------------------
 */

/* The bytes before the keys of a leaf. */
static inline Size
leaf_offset(int cap)
{
	return sizeof(Block) + (((Size) cap + 7) & ~(Size) 7);
}

/* How many keys fit into a leaf of this order. */
static inline int
leaf_capacity(int width, int order)
{
	Size		room = ((Size) LB_CHUNK_SIZE << order) - sizeof(Block);
	int			cap = (int) (room / (width * sizeof(int64) + 1));

	/* The padding of the tags may be too much. */
	if (leaf_offset(cap) + (Size) cap * width * sizeof(int64) >
		room + sizeof(Block))
		cap--;
	return cap;
}

/* How many links fit into a page. */
static inline int
link_capacity(int width)
{
	return (int) ((LB_PAGE_SIZE - sizeof(LinkBlock)) /
				  ((width + 2) * sizeof(int64) + sizeof(LbRef)));
}

/* The tags of a leaf, and one word of all its keys. */
static inline uint8 *
leaf_tags_at(const Block *leaf)
{
	return (uint8 *) leaf + sizeof(Block);
}

static inline int64 *
leaf_words_at(const Block *leaf, int cap, int word)
{
	return (int64 *) ((char *) leaf + leaf_offset(cap)) + (Size) word * cap;
}

/* One word of the keys of all links, and their other arrays. */
static inline int64 *
link_words_at(const Block *block, int cap, int word)
{
	return (int64 *) ((char *) block + sizeof(LinkBlock)) +
		(Size) word * cap;
}

static inline uint64 *
link_members_at(const Block *block, int cap, int width)
{
	return (uint64 *) link_words_at(block, cap, width);
}

static inline uint64 *
link_distinct_at(const Block *block, int cap, int width)
{
	return (uint64 *) link_words_at(block, cap, width + 1);
}

static inline LbRef *
link_children_at(const Block *block, int cap, int width)
{
	return (LbRef *) link_words_at(block, cap, width + 2);
}

/*--------------------------------------------------------------------------
 * The arrays of a block that has been initialized
 *--------------------------------------------------------------------------
 */

static inline uint8 *
leaf_tags(const Block *leaf)
{
	Assert(leaf->level == 0);
	return leaf_tags_at(leaf);
}

static inline int64 *
leaf_words(const Block *leaf, int word)
{
	Assert(leaf->level == 0);
	return leaf_words_at(leaf, leaf->cap, word);
}

static inline int64 *
link_words(const Block *block, int word)
{
	Assert(block->level > 0);
	return link_words_at(block, block->cap, word);
}

static inline int64 *
block_words(const Block *block, int word)
{
	return block->level == 0 ? leaf_words(block, word) :
		link_words(block, word);
}

static inline uint64 *
link_members(const Block *block)
{
	Assert(block->level > 0);
	return link_members_at(block, block->cap, block->width);
}

static inline uint64 *
link_distinct(const Block *block)
{
	Assert(block->level > 0);
	return link_distinct_at(block, block->cap, block->width);
}

static inline LbRef *
link_children(const Block *block)
{
	Assert(block->level > 0);
	return link_children_at(block, block->cap, block->width);
}

/*--------------------------------------------------------------------------
 * Keys
 *--------------------------------------------------------------------------
 */

/* Copy the key of a slot to key. */
static inline void
block_get_key(const Block *block, int slot, int64 *key)
{
	const int64 *word = block_words(block, 0) + slot;
	int			i;

	for (i = 0; i < block->width; i++, word += block->cap)
		key[i] = *word;
}

/* Store key in a slot. */
static inline void
block_set_key(Block *block, int slot, const int64 *key)
{
	int64	   *word = block_words(block, 0) + slot;
	int			i;

	for (i = 0; i < block->width; i++, word += block->cap)
		*word = key[i];
}

/*
 * Copy the keys of n slots, in a leaf with their tags, to another block of the
 * same level or within one block.
 */
static inline void
copy_keys(Block *to, int at, const Block *from, int slot, int n)
{
	int			i;

	Assert(at >= 0 && slot >= 0 && n >= 0);
	Assert(at + n <= to->cap && slot + n <= from->cap);
	if (to->level == 0)
		memmove(leaf_tags(to) + at, leaf_tags(from) + slot, n);
	for (i = 0; i < to->width; i++)
		memmove(block_words(to, i) + at, block_words(from, i) + slot,
				n * sizeof(int64));
}

/*--------------------------------------------------------------------------
 * Spans
 *--------------------------------------------------------------------------
 */

/*
 * Add to what a link spans.  Amounts wrap around, so that a span can shrink.
 * Inserting and removing keys changes spans by this function and the next
 * only.
 */
static inline void
span_add(Block *block, int slot, Span by)
{
	uint64	   *members = link_members(block);
	uint64	   *distinct = link_distinct(block);
	int			i;

	Assert(slot >= 0 && slot < block->count);
	if (by.members != 0)
	{
		((LinkBlock *) block)->members += by.members;
		for (i = slot + 1; i < block->count; i++)
			members[i] += by.members;
	}
	if (by.distinct != 0)
	{
		((LinkBlock *) block)->distinct += by.distinct;
		for (i = slot + 1; i < block->count; i++)
			distinct[i] += by.distinct;
	}
}

/* span_add() for two different links of a block. */
static inline void
span_add_two(Block *block, int a, Span by_a, int b, Span by_b)
{
	uint64	   *members = link_members(block);
	uint64	   *distinct = link_distinct(block);
	int			last = Max(a, b);
	Span		by = a < b ? by_a : by_b;
	Span		both;
	int			i;

	Assert(a != b);
	for (i = Min(a, b) + 1; i <= last; i++)
	{
		members[i] += by.members;
		distinct[i] += by.distinct;
	}
	both.members = by_a.members + by_b.members;
	both.distinct = by_a.distinct + by_b.distinct;
	span_add(block, last, both);
}

/* What the links before a slot span together. */
static inline Span
span_before(const Block *block, int slot)
{
	Span		span;

	Assert(slot >= 0 && slot <= block->count);
	if (slot < block->count)
	{
		span.members = link_members(block)[slot];
		span.distinct = link_distinct(block)[slot];
	}
	else
	{
		span.members = ((const LinkBlock *) block)->members;
		span.distinct = ((const LinkBlock *) block)->distinct;
	}
	return span;
}

static inline Span
span_minus(Span a, Span b)
{
	a.members -= b.members;
	a.distinct -= b.distinct;
	return a;
}

/* How many of the entries from .. to - 1 of a leaf are new. */
static inline uint64
leaf_distinct(const Block *leaf, int from, int to)
{
	const int64 *score = leaf_words(leaf, 0);
	uint64		n = 0;
	int			i = from;

	if (from >= to)
		return 0;
	if (from == 0)
	{
		n = !leaf->continues;
		i = 1;
	}
	for (; i < to; i++)
		n += score[i] != score[i - 1];
	return n;
}

/* How many rows the entries from .. to - 1 of a leaf have, see block.c. */
extern uint64 lb_leaf_rows(const Block *leaf, int from, int to);

/*
 * How many members the entries from .. to - 1 of a leaf are; counts is whether
 * the index counts rows.
 */
static inline uint64
leaf_members(const Block *leaf, int from, int to, bool counts)
{
	return unlikely(counts) ? lb_leaf_rows(leaf, from, to) :
		(uint64) (to - from);
}

/* What all entries or links of a block span. */
static inline Span
block_span(const Block *block, bool counts)
{
	Span		span;

	if (block->level > 0)
		return span_before(block, block->count);
	span.members = leaf_members(block, 0, block->count, counts);
	span.distinct = leaf_distinct(block, 0, block->count);
	return span;
}

/*--------------------------------------------------------------------------
 * block.c
 *--------------------------------------------------------------------------
 */

/*
 * Take a chunk for a block, and add its size, in units of LB_CHUNK_SIZE, to
 * *chunks.  LB_NONE if there is no memory.
 */
extern LbRef lb_block_alloc(const LbMem *mem, uint64 *chunks, int order);

extern void lb_block_free(const LbMem *mem, uint64 *chunks, LbRef ref,
						  int order);

/* Fill in the header of a new block, whose memory may hold anything. */
extern Block *lb_block_init(const LbArena *arena, int width, LbRef ref,
							int level, int order);

/*
 * Insert a link to child, which spans nothing yet, at a slot.  The block has
 * room.  The caller sets the link's key.
 */
extern void lb_link_insert(Block *block, int slot, LbRef child);

/* Remove a link that spans nothing any more. */
extern void lb_link_delete(Block *block, int slot);

/*
 * Move the first n entries or links of right to the end of left, its
 * neighbour, or, if n is negative, the last -n of left to the start of right.
 * counts is whether the index counts rows.  Returns what the moved ones span.
 * The caller corrects the links to the two blocks and, for leaves, the member
 * hash.
 */
extern Span lb_block_shift(Block *left, Block *right, int n, bool counts);

#endif							/* LB_BLOCK_H */
