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

/*
 * How many words of an entry a block holds: the key, and, if the index counts
 * rows, how many have it.
 */
static inline int
block_width(const LbShape *shape)
{
	return shape->width + shape->counts;
}

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
	bool		texts;			/* keys have texts, and nwords is exact */
} Bound;

/*
 * A bound for keys of any shape.  With texts, nwords is 1 for a score alone,
 * and any other number for a whole key; lb_text_descend makes it exact.
 */
static inline Bound
make_bound(const int64 *prefix, int nwords, bool inclusive)
{
	Bound		bound = {prefix, nwords, inclusive, false};

	return bound;
}

/*--------------------------------------------------------------------------
 * skiplist_text.c: keys with texts
 *--------------------------------------------------------------------------
 */

/* The handle of a slot's cell, or 0. */
extern int64 lb_text_cell(const Block *block, int slot);

/*
 * Copy the first nwords words of a slot's key to key, or all if it has fewer;
 * what is behind a short key may be zeros.  Returns how many words were
 * written.
 */
extern int	lb_text_get_words(const LbArena *arena, const Block *block,
							  int slot, int nwords, int64 *key);

/*
 * Compare a slot's key with the first nwords words of a key: below 0, 0, or
 * above 0.
 */
extern int	lb_text_cmp(const LbArena *arena, const Block *block, int slot,
						const int64 *key, int nwords);

/* search_keys for the slots of a block from lo on. */
extern int	lb_text_search(const LbArena *arena, const Block *block, int lo,
						   Bound bound);

/* Whether the key of a slot, which is not behind the last, is this one. */
extern bool lb_text_has_key(const LbArena *arena, const LbIndex *index,
							const Block *leaf, int slot, const int64 *key);

/* The hash of a key's member. */
extern uint32 lb_text_hash(const LbArena *arena, const LbIndex *index,
						   const int64 *key);

/* leaf_hashes for keys with texts. */
extern void lb_text_leaf_hashes(const LbArena *arena, const LbIndex *index,
								const Block *leaf, int slot, int n,
								uint32 *hashes);

/* descend for keys with texts; the bound is that of make_bound. */
extern const Block *lb_text_descend(const LbArena *arena,
									const LbIndex *index, Bound bound,
									const LbPath *hint, LbPath *path,
									Span *before);

/* Whether the entry at a slot has a member, of nwords words. */
extern bool lb_text_has_member(const LbArena *arena, const LbIndex *index,
							   const Block *leaf, int slot,
							   const int64 *member, int nwords);

/*
 * Make the words that a block holds of key, the last one the handle of a cell.
 * This is "cell", which may be 0, if its words are those of the key, or a new
 * one.  Returns false if there is no memory.
 */
extern bool lb_text_store(const LbMem *mem, LbIndex *index, const int64 *key,
						  int64 cell, int64 *stored);

/* Free a cell, unless it is 0. */
extern void lb_text_forget(const LbMem *mem, LbIndex *index, int64 cell);

/*
 * The first entry of the leaf of a path is another one: give the links above
 * its key.
 */
extern void lb_text_correct_links(const LbArena *arena, const LbIndex *index,
								  const LbPath *path);

/*
 * The first of the slots lo .. hi - 1 whose key is after a bound, or hi.
 * words are the first words of the keys, stride elements before the second
 * ones.
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

/* Whether the key of a link is above a bound, which is a whole key. */
static inline bool
link_above(const LbArena *arena, const Block *block, int slot, Bound bound)
{
	const int64 *words = link_words(block, 0) + slot;
	const int64 *key = bound.prefix;
	int			i;

	if (unlikely(bound.texts))
		return lb_text_cmp(arena, block, slot, key, bound.nwords) > 0;
	for (i = 0; i < bound.nwords; i++, words += block->cap)
	{
		if (*words != key[i])
			return *words > key[i];
	}
	return false;
}

/*
 * Whether the path to a bound, which is a whole key, goes through this slot,
 * which may be out of range.
 */
static inline bool
link_leads(const LbArena *arena, const Block *block, int slot, Bound bound)
{
	return slot >= 0 && slot < block->count &&
		(slot == 0 || !link_above(arena, block, slot, bound)) &&
		(slot + 1 == block->count || link_above(arena, block, slot + 1, bound));
}

/* The link of a block that leads to the place of a bound. */
static inline int
search_links(const LbArena *arena, const Block *block, Bound bound)
{
	/* The first link's key need not be compared. */
	return (unlikely(bound.texts) ? lb_text_search(arena, block, 1, bound) :
			search_keys(link_words(block, 0), block->cap, 1, block->count,
						bound)) - 1;
}

/*
 * The first slot of a leaf whose key is after a bound, or one past the last.
 */
static inline int
search_leaf(const LbArena *arena, const Block *leaf, Bound bound)
{
	return unlikely(bound.texts) ? lb_text_search(arena, leaf, 0, bound) :
		search_keys(leaf_words(leaf, 0), leaf->cap, 0, leaf->count, bound);
}

/*
 * Find the place of a bound.  path gets the path there, which ends in the slot
 * of the first key after the bound or one past the leaf's last.  before, which
 * is zero or NULL, gets what lies before the leaf.  hint, unless it is
 * NULL, is a path that this descent may share; then bound is a whole key,
 * inclusive.  Returns the leaf.
 *
 * Always inlined, so that a caller without a hint or without texts does not
 * pay for them.
 */
static pg_attribute_always_inline const Block *
descend(const LbArena *arena, const LbIndex *index, Bound bound,
		const LbPath *hint, LbPath *path, Span *before)
{
	LbRef		ref = index->root;
	const Block *block = block_ptr(arena, ref);
	int			level;

	Assert(hint == NULL || bound.inclusive);
	for (level = index->height - 1; level > 0; level--)
	{
		const Block *next;
		int			at;

		Assert(block->level == level);

		if (hint != NULL && hint->ref[level] == ref &&
			link_leads(arena, block, hint->slot[level], bound))
			at = hint->slot[level];
		else
			at = search_links(arena, block, bound);
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
			prefetch_leaf(next, block->width);
		if (before != NULL)
		{
			before->members += link_members(block)[at];
			before->distinct += link_distinct(block)[at];
		}
		block = next;
	}

	Assert(block->level == 0);
	path->ref[0] = ref;
	path->slot[0] = search_leaf(arena, block, bound);
	return block;
}

/* Find a place among keys of any shape, without a hint. */
static pg_attribute_always_inline const Block *
find_place(const LbArena *arena, const LbIndex *index, Bound bound,
		   LbPath *path, Span *before)
{
	Assert(bound.nwords >= 1 && bound.nwords <= index->shape.width);
	if (unlikely(lb_shape_varies(&index->shape)))
	{
		/* Copies, so that without texts the caller's stay in registers. */
		LbPath		text_path;
		Span		sum = {0, 0};
		const Block *leaf = lb_text_descend(arena, index, bound, NULL,
											&text_path, &sum);

		*path = text_path;
		if (before != NULL)
			*before = sum;
		return leaf;
	}
	return descend(arena, index, bound, NULL, path, before);
}

/* Whether the first nwords words of a slot are these. */
static inline bool
leaf_has_words(const Block *leaf, int slot, const int64 *words, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (leaf_words(leaf, i)[slot] != words[i])
			return false;
	}
	return true;
}

/* Whether the key of a slot, which may be behind the last, is this one. */
static inline bool
leaf_has_key(const LbArena *arena, const LbIndex *index, const Block *leaf,
			 int slot, const int64 *key)
{
	if (slot == leaf->count)
		return false;
	return unlikely(lb_shape_varies(&index->shape)) ?
		lb_text_has_key(arena, index, leaf, slot, key) :
		leaf_has_words(leaf, slot, key, index->shape.width);
}

/*
 * Find the leaf and slot where a key is or belongs.  path gets the path there,
 * through the links whose key is not above this one.  hint is NULL, or where
 * that path may lead.
 */
static inline Block *
descend_to_key(const LbArena *arena, const LbIndex *index, const int64 *key,
			   const LbPath *hint, LbPath *path)
{
	Bound		bound = make_bound(key, index->shape.width, true);
	const Block *leaf;

	/* The slot is behind the key itself, if that is there. */
	if (unlikely(lb_shape_varies(&index->shape)))
	{
		leaf = lb_text_descend(arena, index, bound, hint, path, NULL);
		if (path->slot[0] > 0 &&
			lb_text_has_key(arena, index, leaf, path->slot[0] - 1, key))
			path->slot[0]--;
	}
	else
	{
		leaf = descend(arena, index, bound, hint, path, NULL);
		if (path->slot[0] > 0 && leaf_has_words(leaf, path->slot[0] - 1, key,
												index->shape.width))
			path->slot[0]--;
	}
	return (Block *) leaf;
}

/*
 * Copy the key of a slot of a leaf, and its number of rows if the index counts
 * them; they have at most LB_MAX_KEY_WORDS words.
 */
static inline void
leaf_get_key(const LbArena *arena, const LbIndex *index, const Block *leaf,
			 int slot, int64 *key)
{
	const int64 *word = leaf_words(leaf, 0) + slot;

	if (unlikely(lb_shape_varies(&index->shape)))
		lb_text_get_words(arena, leaf, slot, LB_MAX_KEY_WORDS, key);
	else
	{
		for (int i = 0; i < leaf->width; i++, word += leaf->cap)
			key[i] = *word;
	}
}

/*--------------------------------------------------------------------------
 * Members
 *--------------------------------------------------------------------------
 */

/* A member to look for. */
typedef struct Member
{
	const int64 *words;
	int			nwords;
	uint32		hash;
	bool		texts;			/* what lb_shape_varies says */
} Member;

/* What of a member's hash is its tag in a leaf. */
static inline uint8
hash_tag(uint32 hash)
{
	return (uint8) (hash >> 24);
}

/* texts is what lb_shape_varies says. */
static pg_attribute_always_inline Member
member_with_hash(const LbIndex *index, const int64 *words, uint32 hash,
				 bool texts)
{
	Member		member;

	member.words = words;
	member.nwords = texts ? lb_member_length(&index->shape, words) :
		index->shape.member_words;
	member.hash = hash;
	member.texts = texts;
	return member;
}

static pg_attribute_always_inline Member
make_member(const LbArena *arena, const LbIndex *index, const int64 *words,
			bool texts)
{
	Member		member = member_with_hash(index, words, 0, texts);

	member.hash = lb_hash_words(arena->hash_seed, words, member.nwords);
	return member;
}

/* The member of a key. */
static inline Member
key_member(const LbArena *arena, const LbIndex *index, const int64 *key)
{
	return make_member(arena, index, lb_key_member(&index->shape, key),
					   lb_shape_varies(&index->shape));
}

/* The hash of a key's member; texts is what lb_shape_varies says. */
static pg_attribute_always_inline uint32
key_hash(const LbArena *arena, const LbIndex *index, const int64 *key,
		 bool texts)
{
	if (texts)
		return lb_text_hash(arena, index, key);
	return make_member(arena, index, key + index->shape.width -
					   index->shape.member_words, false).hash;
}

/*
 * The member of an entry.  buffer has room for LB_MAX_KEY_WORDS words, and
 * gets the member's, and maybe others.
 */
static inline Member
leaf_member(const LbArena *arena, const LbIndex *index, const Block *leaf,
			int slot, int64 *buffer)
{
	int			first = index->shape.width - index->shape.member_words;

	if (unlikely(lb_shape_varies(&index->shape)))
	{
		lb_text_get_words(arena, leaf, slot, LB_MAX_KEY_WORDS, buffer);
		return key_member(arena, index, buffer);
	}
	for (int i = 0; i < index->shape.member_words; i++)
		buffer[i] = leaf_words(leaf, first + i)[slot];
	return make_member(arena, index, buffer, false);
}

/*
 * Get the hashes of the members of n entries of a leaf, from slot on, and
 * prefetch what they lead to.
 */
static inline void
leaf_hashes(const LbArena *arena, const LbIndex *index, const Block *leaf,
			int slot, int n, uint32 *hashes)
{
	int			member_words = index->shape.member_words;
	int			first = index->shape.width - member_words;
	int64		words[LB_MAX_WIDTH];

	if (unlikely(lb_shape_varies(&index->shape)))
	{
		lb_text_leaf_hashes(arena, index, leaf, slot, n, hashes);
		return;
	}
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < member_words; j++)
			words[j] = leaf_words(leaf, first + j)[slot + i];
		hashes[i] = lb_hash_words(arena->hash_seed, words, member_words);
		lb_hash_prefetch(arena, &index->hash, hashes[i]);
	}
}

/* Whether there is a hash; an index without one is small. */
static inline bool
index_hashed(const LbIndex *index)
{
	return index->hash.root != LB_NONE;
}

/*
 * A word that has nothing but the lowest bits of its bytes, multiplied by
 * this, has them in its highest byte.
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
static pg_attribute_always_inline bool
leaf_has_member(const LbArena *arena, const LbIndex *index, const Block *leaf,
				int slot, Member member)
{
	int			first = index->shape.width - index->shape.member_words;

	if (unlikely(member.texts))
		return lb_text_has_member(arena, index, leaf, slot, member.words,
								  member.nwords);
	for (int i = 0; i < member.nwords; i++)
	{
		if (leaf_words(leaf, first + i)[slot] != member.words[i])
			return false;
	}
	return true;
}

/* The first slot with a member, at or after a slot of a leaf, or -1. */
static pg_attribute_always_inline int
leaf_find(const LbArena *arena, const LbIndex *index, const Block *leaf,
		  int slot, Member member)
{
	for (int from = slot; from < leaf->count; from += 64)
	{
		uint64		matches = leaf_matches(leaf, from, hash_tag(member.hash));

		for (; matches != 0; matches &= matches - 1)
		{
			slot = from + lb_lowest_bit(matches);
			if (leaf_has_member(arena, index, leaf, slot, member))
				return slot;
		}
	}
	return -1;
}

/*
 * Read the cache lines where the search for a member in a leaf begins, its
 * header and its tags.  Many prefetches of lines at multiples of LB_PAGE_SIZE
 * come late, since they compete for few places of the first cache.  Reads do
 * not.
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
static pg_attribute_always_inline const Block *
find_in_chain(const LbArena *arena, const LbIndex *index, Member member,
			  LbRef ref, LbHashScan *scan, int *slot)
{
	while (ref != LB_NONE)
	{
		const Block *leaf = block_ptr(arena, ref);

		*slot = leaf_find(arena, index, leaf, 0, member);
		if (*slot >= 0)
			return leaf;
		ref = lb_hash_next(arena, &index->hash, scan);
		if (ref != LB_NONE)
			read_members(arena, index, ref);
	}
	return NULL;
}

/* Find a member.  Returns its leaf and sets slot, or returns NULL. */
static pg_attribute_always_inline const Block *
find_member(const LbArena *arena, const LbIndex *index, Member member,
			int *slot)
{
	const Block *leaf;
	LbHashScan	scan;
	LbRef		ref;

	if (index_hashed(index))
	{
		ref = lb_hash_first(arena, &index->hash, member.hash, &scan);
		if (ref != LB_NONE)
			read_members(arena, index, ref);
		return find_in_chain(arena, index, member, ref, &scan, slot);
	}

	/* Without a hash, look through all leaves. */
	ref = index->height > 0 ? index->first : LB_NONE;
	while (ref != LB_NONE)
	{
		leaf = block_ptr(arena, ref);
		*slot = leaf_find(arena, index, leaf, 0, member);
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
	int64		key[LB_MAX_KEY_WORDS];
	Member		member = leaf_member(arena, index, own, own_slot, key);
	int			slot = leaf_find(arena, index, leaf, 0, member);

	if (leaf == own && slot == own_slot)
		slot = leaf_find(arena, index, leaf, slot + 1, member);
	return slot >= 0;
}

/*--------------------------------------------------------------------------
 * skiplist_change.c
 *--------------------------------------------------------------------------
 */

/* How many entries or links a child of a block has; 0 without such a child. */
static inline int
child_count(const LbArena *arena, const LbIndex *index, const Block *parent,
			int slot)
{
	if (slot < 0 || slot >= parent->count)
		return 0;

	/* Members are entries.  This spares reading the leaf, a cache miss. */
	if (parent->level > 1 || index->shape.counts)
		return block_ptr(arena, link_children(parent)[slot])->count;
	return (int) (span_before(parent, slot + 1).members -
				  span_before(parent, slot).members);
}

/*
 * Move the first n entries or links of child slot + 1 of a block to child
 * slot, or, if n is negative, the last -n of child slot to child slot + 1.
 * Corrects their links and the member hash.
 */
extern void lb_index_shift(const LbArena *arena, const LbIndex *index,
						   Block *parent, int slot, int n);

/*
 * Move the only leaf to a chunk of another size.  Returns false if there is no
 * memory.
 */
extern bool lb_index_resize_leaf(const LbMem *mem, LbIndex *index, int order);

/* Add to the spans of all links of a path. */
static inline void
add_along(const LbArena *arena, const LbIndex *index, const LbPath *path,
		  Span by)
{
	int			level;

	for (level = 1; level < index->height; level++)
		span_add(block_ptr(arena, path->ref[level]), path->slot[level], by);
}

/* Give an empty index a leaf.  Returns false if there is no memory. */
extern bool lb_index_first_leaf(const LbMem *mem, LbIndex *index);

/*
 * For an index that counts rows: insert a key, which has count rows, at its
 * path, from descend_to_key.  LB_OK, or LB_NOMEM, which leaves the index as it
 * was.
 */
extern LbResult lb_index_insert_counted(const LbMem *mem, LbIndex *index,
										LbPath *path, const int64 *key,
										int64 count);

/* The same for removing the key where a path leads, with all of its rows. */
extern void lb_index_remove_counted(const LbMem *mem, LbIndex *index,
									const LbPath *path);

/*--------------------------------------------------------------------------
 * skiplist_bulk.c
 *--------------------------------------------------------------------------
 */

/*
 * Build the hash of an index without one.  LB_OK, or LB_EXISTS if a member
 * occurs twice, or LB_NOMEM; then there is no hash.  poll is that of LbBulk;
 * if it raises, lb_index_free frees what there is of the hash.
 */
extern LbResult lb_index_build_hash(const LbMem *mem, LbIndex *index,
									void (*poll) (void));

#endif							/* LB_SKIPLIST_INTERNAL_H */
