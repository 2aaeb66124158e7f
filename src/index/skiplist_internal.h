/*-------------------------------------------------------------------------
 *
 * skiplist_internal.h
 *	  How the files of the skip list find a key or a member.
 *
 * What all hot paths share is inline here.  The functions need the lock that
 * skiplist.h demands for the function that calls them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SKIPLIST_INTERNAL_H
#define LB_SKIPLIST_INTERNAL_H

#include "index/block.h"
#include "index/skiplist.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * An index with more than HASH_FROM members has a hash.  A removal that leaves
 * fewer than HASH_UNTIL frees it.
 */
#define HASH_FROM 96
#define HASH_UNTIL 48

/* The size of an index's blocks: a page, unless the only block is a leaf. */
static inline int
block_order(const LbIndex *index)
{
	return index->height == 1 ? index->root_order : LB_MAX_ORDER;
}

/*--------------------------------------------------------------------------
 * Searching in a block
 *--------------------------------------------------------------------------
 */

/*
 * The first of the elements lo .. hi - 1 that is not below value, or hi.
 * The halving has no branch, which the processor could not predict.
 */
static inline int
array_lower(const int64 *array, int lo, int hi, int64 value)
{
	const int64 *p = array + lo;
	int			n = hi - lo;

	while (n > 1)
	{
		int			half = n / 2;

		p += -(Size) (p[half - 1] < value) & (Size) half;
		n -= half;
	}
	return (int) (p - array) + (n == 1 && *p < value);
}

/* The first of the elements lo .. hi - 1 that is above value, or hi. */
static inline int
array_upper(const int64 *array, int lo, int hi, int64 value)
{
	const int64 *p = array + lo;
	int			n = hi - lo;

	while (n > 1)
	{
		int			half = n / 2;

		p += -(Size) (p[half - 1] <= value) & (Size) half;
		n -= half;
	}
	return (int) (p - array) + (n == 1 && *p <= value);
}

/*
 * A place between keys: before all keys that begin with a prefix, or, if
 * inclusive, after them.
 */
typedef struct Bound
{
	const int64 *prefix;
	int			nwords;			/* of the prefix */
	bool		inclusive;
} Bound;

static inline Bound
make_bound(const int64 *prefix, int nwords, bool inclusive)
{
	Bound		bound = {prefix, nwords, inclusive};

	return bound;
}

/*
 * The first of the slots lo .. hi - 1 whose key is after a bound, or hi.  words
 * are the first words of the keys, stride elements before the second ones.
 */
static inline int
search_keys(const int64 *words, int stride, int lo, int hi, Bound bound)
{
	int			i;

	for (i = 0; i < bound.nwords; i++, words += stride)
	{
		lo = array_lower(words, lo, hi, bound.prefix[i]);
		if (lo == hi || words[lo] != bound.prefix[i])
			return lo;

		/* Narrow down to the keys that are equal so far. */
		if (i + 1 < bound.nwords || bound.inclusive)
			hi = array_upper(words, lo + 1, hi, bound.prefix[i]);
	}
	return bound.inclusive ? hi : lo;
}

/* Prefetch the cache lines of n words. */
static inline void
prefetch_words(const void *start, int n)
{
	const char *p = (const char *) start;
	int			i;

	for (i = 0; i < n * (int) sizeof(int64); i += 64)
		lb_prefetch(p + i);
}

/*--------------------------------------------------------------------------
 * The descent
 *--------------------------------------------------------------------------
 */

/*
 * Prefetch the first words of all keys of a block of links, or of a leaf that
 * takes a page, before its header has been read.
 */
static inline void
prefetch_links(const Block *block, int link_cap)
{
	prefetch_words(block, (int) sizeof(LinkBlock) / 8 + link_cap);
}

static inline void
prefetch_leaf(const Block *leaf, int width)
{
	prefetch_words(leaf, LB_PAGE_SIZE / (width * 8) + 2);
}

/* Whether the key of a link is above this one. */
static inline bool
link_above(const Block *block, int slot, const int64 *key)
{
	const int64 *words = link_words(block, 0) + slot;
	int			i;

	for (i = 0; i < block->width; i++, words += block->cap)
	{
		if (*words != key[i])
			return *words > key[i];
	}
	return false;
}

/* Whether the path to key goes through this slot, which may be out of range. */
static inline bool
link_leads(const Block *block, int slot, const int64 *key)
{
	return slot >= 0 && slot < block->count &&
		(slot == 0 || !link_above(block, slot, key)) &&
		(slot + 1 == block->count || link_above(block, slot + 1, key));
}

/*
 * Find the place of a bound.  path gets the path there, which ends in the slot
 * of the first key after the bound or one past the leaf's last.  What lies
 * before the leaf is added to before, unless that is NULL.  hint, unless it is
 * NULL, is a path that this descent may share; then bound is a whole key,
 * inclusive.  Returns the leaf.
 *
 * Always inlined, so that a caller without a hint does not pay for it.
 */
static pg_attribute_always_inline const Block *
descend(const LbArena *arena, const LbIndex *index, Bound bound,
		const LbPath *hint, LbPath *path, Span *before)
{
	LbRef		ref = index->root;
	const Block *block = block_ptr(arena, ref);
	int			level;

	Assert(hint == NULL || (bound.inclusive && bound.nwords == index->shape.width));
	for (level = index->height - 1; level > 0; level--)
	{
		const Block *next;
		int			at;

		Assert(block->level == level);

		/* The first link's key need not be compared. */
		if (hint != NULL && hint->ref[level] == ref &&
			link_leads(block, hint->slot[level], bound.prefix))
			at = hint->slot[level];
		else
			at = search_keys(link_words(block, 0), block->cap, 1, block->count,
							 bound) - 1;
		path->ref[level] = ref;
		path->slot[level] = at;
		ref = link_children(block)[at];
		next = (const Block *) lb_ptr(arena, ref);

		/* What gave the hint has prefetched its blocks. */
		if (hint != NULL && hint->ref[level - 1] == ref)
			;
		else if (level > 1)
			prefetch_links(next, block->cap);
		else
			prefetch_leaf(next, index->shape.width);
		if (before != NULL)
		{
			before->members += link_members(block)[at];
			before->distinct += link_distinct(block)[at];
		}
		block = next;
	}

	Assert(block->level == 0);
	path->ref[0] = ref;
	path->slot[0] = search_keys(leaf_words(block, 0), block->cap, 0,
								block->count, bound);
	return block;
}

/* Whether the key of a slot, which may be behind the last, is this one. */
static inline bool
leaf_has_key(const Block *leaf, int slot, const int64 *key)
{
	int			i;

	if (slot == leaf->count)
		return false;
	for (i = 0; i < leaf->width; i++)
	{
		if (leaf_words(leaf, i)[slot] != key[i])
			return false;
	}
	return true;
}

/*--------------------------------------------------------------------------
 * Members
 *--------------------------------------------------------------------------
 */

/* The member of a key. */
static inline const int64 *
key_member(const LbIndex *index, const int64 *key)
{
	return key + index->shape.width - index->shape.member_words;
}

static inline void
leaf_get_member(const LbIndex *index, const Block *leaf, int slot,
				int64 *member)
{
	int			first = index->shape.width - index->shape.member_words;
	int			i;

	for (i = 0; i < index->shape.member_words; i++)
		member[i] = leaf_words(leaf, first + i)[slot];
}

/* What of a member's hash is its tag in a leaf. */
static inline uint8
hash_tag(uint32 hash)
{
	return (uint8) (hash >> 24);
}

static inline uint32
member_hash(const LbArena *arena, const LbIndex *index, const int64 *member)
{
	return lb_hash_words(arena->hash_seed, member, index->shape.member_words);
}

static inline uint32
leaf_hash(const LbArena *arena, const LbIndex *index, const Block *leaf,
		  int slot)
{
	int64		member[LB_MAX_WIDTH];

	leaf_get_member(index, leaf, slot, member);
	return member_hash(arena, index, member);
}

/* Whether there is a hash; an index without one is small. */
static inline bool
index_hashed(const LbIndex *index)
{
	return index->hash.root != LB_NONE;
}

/*
 * A word that has nothing but the lowest bits of its bytes, multiplied by this,
 * has them in its highest byte.
 */
#ifdef WORDS_BIGENDIAN
#define GATHER UINT64CONST(0x8040201008040201)
#else
#define GATHER UINT64CONST(0x0102040810204080)
#endif

/*
 * Which of a leaf's entries from .. from + 63 have a tag, as bits.  No branch
 * depends on the tags: the processor cannot predict where one is.
 */
static inline uint64
leaf_matches(const Block *leaf, int from, uint8 tag)
{
	const uint8 *tags = leaf_tags(leaf) + from;
	int			n = Min(leaf->count - from, 64);
	uint64		matches = 0;

	/* Reads beyond the tags stay within the block, and are masked out. */
#ifdef __SSE2__
	__m128i		pattern = _mm_set1_epi8((char) tag);

	for (int i = 0; i < n; i += 16)
	{
		__m128i		equal = _mm_cmpeq_epi8(pattern, _mm_loadu_si128((const __m128i *)
																	(tags + i)));

		matches |= (uint64) (uint32) _mm_movemask_epi8(equal) << i;
	}
#else
	uint64		ones = UINT64CONST(0x0101010101010101);
	uint64		low = ones * 0x7f;

	for (int i = 0; i < n; i += 8)
	{
		uint64		word;

		memcpy(&word, tags + i, sizeof(word));
		word ^= ones * tag;

		/*
		 * Set the highest bit of each byte that is zero.  Then gather these
		 * bits in one byte, with that of the first entry lowest.
		 */
		word = ~(((word & low) + low) | word | low);
		matches |= ((word >> 7) * GATHER >> 56) << i;
	}
#endif
	return n < 64 ? matches & ((UINT64CONST(1) << n) - 1) : matches;
}

/* Whether the entry at a slot of a leaf has this member. */
static inline bool
leaf_has_member(const LbIndex *index, const Block *leaf, int slot,
				const int64 *member)
{
	int			first = index->shape.width - index->shape.member_words;

	for (int i = 0; i < index->shape.member_words; i++)
	{
		if (leaf_words(leaf, first + i)[slot] != member[i])
			return false;
	}
	return true;
}

/* The first slot with a member, at or after a slot of a leaf, or -1. */
static inline int
leaf_find(const LbIndex *index, const Block *leaf, int slot,
		  const int64 *member, uint32 hash)
{
	for (int from = slot; from < leaf->count; from += 64)
	{
		uint64		matches = leaf_matches(leaf, from, hash_tag(hash));

		for (; matches != 0; matches &= matches - 1)
		{
			slot = from + lb_lowest_bit(matches);
			if (leaf_has_member(index, leaf, slot, member))
				return slot;
		}
	}
	return -1;
}

/*
 * Read the cache lines where the search for a member in a leaf begins, its header
 * and its tags.  Many prefetches of lines at multiples of LB_PAGE_SIZE come
 * late, since they compete for few places of the first cache.  Reads do not.
 */
static inline void
read_members(const LbArena *arena, const LbIndex *index, LbRef ref)
{
	const volatile char *p = (const volatile char *) lb_ptr(arena, ref);
	Size		size = (Size) LB_CHUNK_SIZE << block_order(index);
	Size		i;

	for (i = 0; i < sizeof(Block) + size / (index->shape.width * 8); i += 64)
		(void) p[i];
}

/*
 * Find a member in the leaves that the hash names, from ref on, where scan
 * stands.  Returns the leaf and sets slot, or returns NULL.
 */
static inline const Block *
find_in_chain(const LbArena *arena, const LbIndex *index, const int64 *member,
			  LbRef ref, LbHashScan *scan, int *slot)
{
	while (ref != LB_NONE)
	{
		const Block *leaf = block_ptr(arena, ref);

		*slot = leaf_find(index, leaf, 0, member, scan->hash);
		if (*slot >= 0)
			return leaf;
		ref = lb_hash_next(arena, &index->hash, scan);
		if (ref != LB_NONE)
			read_members(arena, index, ref);
	}
	return NULL;
}

/* Find a member.  Returns its leaf and sets slot, or returns NULL. */
static inline const Block *
find_member(const LbArena *arena, const LbIndex *index, const int64 *member,
			uint32 hash, int *slot)
{
	const Block *leaf;
	LbHashScan	scan;
	LbRef		ref;

	if (index_hashed(index))
	{
		ref = lb_hash_first(arena, &index->hash, hash, &scan);
		if (ref != LB_NONE)
			read_members(arena, index, ref);
		return find_in_chain(arena, index, member, ref, &scan, slot);
	}

	/* Without a hash, look through all leaves. */
	ref = index->height > 0 ? index->first : LB_NONE;
	while (ref != LB_NONE)
	{
		leaf = block_ptr(arena, ref);
		*slot = leaf_find(index, leaf, 0, member, hash);
		if (*slot >= 0)
			return leaf;
		ref = leaf->next;
	}
	return NULL;
}

/*
 * Whether a leaf has an entry with the same member as the one at own_slot of
 * own, which may be the same leaf.
 */
static inline bool
leaf_has_same_member(const LbArena *arena, const LbIndex *index,
					 const Block *leaf, const Block *own, int own_slot)
{
	int64		member[LB_MAX_WIDTH];
	uint32		hash;
	int			slot;

	leaf_get_member(index, own, own_slot, member);
	hash = member_hash(arena, index, member);
	slot = leaf_find(index, leaf, 0, member, hash);
	if (leaf == own && slot == own_slot)
		slot = leaf_find(index, leaf, slot + 1, member, hash);
	return slot >= 0;
}

/*--------------------------------------------------------------------------
 * skiplist_change.c
 *--------------------------------------------------------------------------
 */

/* How many entries or links a child of a block has; 0 without such a child. */
static inline int
child_count(const LbArena *arena, const Block *parent, int slot)
{
	if (slot < 0 || slot >= parent->count)
		return 0;
	if (parent->level > 1)
		return block_ptr(arena, link_children(parent)[slot])->count;
	return (int) (span_before(parent, slot + 1).members -
				  span_before(parent, slot).members);
}

/*
 * Move the first n entries or links of child slot + 1 of a block to child slot,
 * or, if n is negative, the last -n of child slot to child slot + 1.  Corrects
 * their links and the member hash.
 */
extern void lb_index_shift(const LbArena *arena, const LbIndex *index,
						   Block *parent, int slot, int n);

/*
 * Move the only leaf to a chunk of another size.  Returns false if there is no
 * memory.
 */
extern bool lb_index_resize_leaf(const LbMem *mem, LbIndex *index, int order);

/*--------------------------------------------------------------------------
 * skiplist_bulk.c
 *--------------------------------------------------------------------------
 */

/*
 * Build the hash of an index without one.  LB_OK, or LB_EXISTS if a member occurs
 * twice, or LB_NOMEM; then there is no hash.
 */
extern LbResult lb_index_build_hash(const LbMem *mem, LbIndex *index);

#endif							/* LB_SKIPLIST_INTERNAL_H */
