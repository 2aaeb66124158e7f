/*-------------------------------------------------------------------------
 *
 * skiplist.c
 *	  The span-counted skip list of one board, with its member hash.
 *
 * The bottom level is a list of blocks, linked both ways, that hold the keys
 * in order; the levels above are blocks of links, each link with the number
 * of members and of distinct scores that it spans.  That is a skip list whose
 * nodes at one level between two nodes of the next are packed into a block,
 * so that following links is a search within a few cache lines and one level
 * up is a factor of tens.  Where the links go is decided by the fill of the
 * blocks instead of by chance: see J. I. Munro, T. Papadakis, R. Sedgewick,
 * "Deterministic skip lists" (SODA 1992), who show that such a list and a
 * balanced tree are the same thing drawn differently (here: a B+ tree), and
 * for blocking "BSkipList" (arXiv 2507.21492).  Spans are those of Redis.
 *
 * Differences.  (1) BSkipList promotes at random, which leaves blocks of a
 * fixed size badly filled.  Here a block that overflows first gives some of
 * its entries to a neighbour under the same parent, and splits only if that
 * has no room either.  (2) The links of upper levels are not chained to each
 * other; all sideways movement is at the bottom.  (3) Spans are kept as
 * running sums inside a block, so that counting reads one number per level,
 * and an update adds to the tail of an array.  (4) Blocks are structures of
 * arrays: a search reads the scores only and looks at further words of the
 * key where scores are equal.  Looking for a member in its leaf is a scan of
 * bytes, the upper bits of the members' hashes ("tags"; the idea is that of
 * the fingerprints in I. Oukid et al., "FPTree", SIGMOD 2016).
 *
 * An entry is "new" if it is the first of the list or its score, which is the
 * first word of its key, differs from that of the entry before it.  The
 * number of new entries before a place is the number of distinct scores
 * before it.  Whether an entry is new follows from the entries of its leaf,
 * except for the first, for which the leaf has the flag "continues" (the
 * score of the entry before it, in another leaf).  So inserting or removing
 * an entry changes the state of itself and of the next entry only.
 *
 * The member hash leads from a member to the leaf where its key is.  It is
 * built when the board has HASH_FROM members and dropped when it has fewer
 * than HASH_UNTIL; below, the few leaves are scanned.  A board of one leaf
 * has a leaf just large enough.
 *
 * Invariants, checked by lb_index_check:
 *	- keys strictly ascend over the whole list, no member occurs twice, and no
 *	  leaf is empty;
 *	- the key of a link is above all keys before the link and not above any
 *	  key that it spans; the key of the first link of a block equals the key
 *	  of the link to that block, and all words are INT64_MIN at the left edge
 *	  of the list.  A key of a link need not be in the list (any more);
 *	- a block of links has at least two of them, so that a leaf that runs
 *	  empty always has a neighbour under the same parent;
 *	- element i of the sums is what links 0 .. i-1 span together;
 *	- with a hash, every member has one slot, with the leaf where it is.
 *
 * An insert takes the memory that it needs before it changes anything.  A
 * removal needs none.
 *
 * Disadvantages.  A key that moves to another leaf costs a change in the
 * hash, each a cache miss.  An update in the middle of a block moves half of
 * it.  All is done under the board's lock: no two writers work on a board at
 * once, and readers wait for a writer, though not for long, since no
 * operation touches more than a few blocks per level.
 *
 *-------------------------------------------------------------------------
 */
#include "index/skiplist.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Members from which on there is a hash, and below which it is dropped. */
#define HASH_FROM 96
#define HASH_UNTIL 48

/*
 * What every block starts with.  In a leaf the members' tags follow, a byte
 * each, padded to whole words, and then an array of cap elements for each
 * word of the keys.
 */
typedef struct Block
{
	uint8		level;			/* 0 is a leaf */
	uint8		order;			/* size of the chunk */
	uint8		width;			/* words of a key */
	uint8		continues;		/* leaf: its first entry is not new */
	uint16		count;			/* entries or links */
	uint16		cap;			/* room for so many */
	LbRef		prev;			/* leaf: its neighbours */
	LbRef		next;			/* for links, only used by a bulk build */
} Block;

/*
 * A block of links.  Arrays of cap elements follow: each word of the keys,
 * the running sums of members and of distinct scores, the blocks.
 */
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

/*--------------------------------------------------------------------------
 * Blocks
 *--------------------------------------------------------------------------
 */

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

/* Where the keys of a leaf with this capacity start. */
static inline Size
leaf_offset(int cap)
{
	return sizeof(Block) + (((Size) cap + 7) & ~(Size) 7);
}

static inline uint8 *
leaf_tags(const Block *leaf)
{
	Assert(leaf->level == 0);
	return (uint8 *) leaf + sizeof(Block);
}

static inline uint8
hash_tag(uint32 hash)
{
	return (uint8) (hash >> 24);
}

/* One word of the keys in a block. */
static inline int64 *
leaf_words(const Block *leaf, int word)
{
	Assert(leaf->level == 0);
	return (int64 *) ((char *) leaf + leaf_offset(leaf->cap)) +
		(Size) word * leaf->cap;
}

static inline int64 *
link_words(const Block *block, int word)
{
	Assert(block->level > 0);
	return (int64 *) ((char *) block + sizeof(LinkBlock)) +
		(Size) word * block->cap;
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
	return (uint64 *) link_words(block, block->width);
}

static inline uint64 *
link_distinct(const Block *block)
{
	return (uint64 *) link_words(block, block->width + 1);
}

static inline LbRef *
link_children(const Block *block)
{
	return (LbRef *) link_words(block, block->width + 2);
}

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

static inline int
link_capacity(int width)
{
	return (int) ((LB_PAGE_SIZE - sizeof(LinkBlock)) /
				  ((width + 2) * sizeof(int64) + sizeof(LbRef)));
}

static inline int
block_order(const LbIndex *index)
{
	return index->height == 1 ? index->root_order : LB_MAX_ORDER;
}

/* Fill in the header of a new block, whose memory may hold anything. */
static Block *
block_init(const LbArena *arena, const LbIndex *index, LbRef ref, int level,
		   int order)
{
	Block	   *block = block_ptr(arena, ref);

	Assert(level == 0 || order == LB_MAX_ORDER);
	block->level = (uint8) level;
	block->order = (uint8) order;
	block->width = index->width;
	block->continues = false;
	block->count = 0;
	block->cap = (uint16) (level == 0 ? leaf_capacity(index->width, order) :
						   link_capacity(index->width));
	block->prev = LB_NONE;
	block->next = LB_NONE;
	if (level > 0)
	{
		((LinkBlock *) block)->members = 0;
		((LinkBlock *) block)->distinct = 0;
	}
	return block;
}

static LbRef
block_alloc(const LbMem *mem, LbIndex *index, int order)
{
	LbRef		ref = lb_alloc(mem, order);

	if (ref != LB_NONE)
		index->chunks += (uint64) 1 << order;
	return ref;
}

static void
block_free(const LbMem *mem, LbIndex *index, LbRef ref, int order)
{
	lb_free(mem, ref, order);
	index->chunks -= (uint64) 1 << order;
}

static inline void
block_get_key(const Block *block, int slot, int64 *key)
{
	const int64 *word = block_words(block, 0) + slot;
	int			i;

	for (i = 0; i < block->width; i++, word += block->cap)
		key[i] = *word;
}

static inline void
block_set_key(Block *block, int slot, const int64 *key)
{
	int64	   *word = block_words(block, 0) + slot;
	int			i;

	for (i = 0; i < block->width; i++, word += block->cap)
		*word = key[i];
}

/* Copy the keys of n slots (and tags) to another block, or within one. */
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

/*
 * THE upkeep of spans: what a link spans has grown by so much (or shrunk:
 * amounts wrap around).
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

/* The same for two different links of a block. */
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

/*--------------------------------------------------------------------------
 * Searching
 *--------------------------------------------------------------------------
 */

/*
 * The first of the elements lo .. hi - 1 that is not below value, or hi.
 * The halving goes without a branch, which could not be predicted.
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
 * The first of the slots lo .. hi - 1 whose key is not before prefix (not
 * before or equal, if inclusive), or hi.  stride is the distance from one
 * word of the keys to the next.
 */
static inline int
search_keys(const int64 *words, int stride, int lo, int hi,
			const int64 *prefix, int nwords, bool inclusive)
{
	int			i;

	for (i = 0; i < nwords; i++, words += stride)
	{
		lo = array_lower(words, lo, hi, prefix[i]);
		if (lo == hi || words[lo] != prefix[i])
			return lo;

		/* Narrow down to the keys that are equal so far. */
		if (i + 1 < nwords || inclusive)
			hi = array_upper(words, lo + 1, hi, prefix[i]);
	}
	return inclusive ? hi : lo;
}

/* Ask for the cache lines of n words. */
static inline void
prefetch_words(const void *start, int n)
{
	const char *p = (const char *) start;
	int			i;

	for (i = 0; i < n * (int) sizeof(int64); i += 64)
		lb_prefetch(p + i);
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

/* Whether the way to key goes by this link of a block, which may not exist. */
static inline bool
link_leads(const Block *block, int slot, const int64 *key)
{
	return slot >= 0 && slot < block->count &&
		(slot == 0 || !link_above(block, slot, key)) &&
		(slot + 1 == block->count || link_above(block, slot + 1, key));
}

/*
 * Find the first place whose key is not before prefix (see search_keys) and
 * return its leaf and slot, which may be one past the leaf's last entry.
 * Optionally note the way, and what lies before the leaf.  Of a whole key,
 * inclusive, hint says where the way has led before.  Always inlined, so that
 * who has no hint does not pay for it.
 */
static pg_attribute_always_inline const Block *
descend(const LbArena *arena, const LbIndex *index, const int64 *prefix,
		int nwords, bool inclusive, const LbPath *hint, LbPath *path,
		Span *before, int *slot)
{
	LbRef		ref = index->root;
	const Block *block = block_ptr(arena, ref);
	int			level;

	Assert(hint == NULL || (inclusive && nwords == index->width));
	for (level = index->height - 1; level > 0; level--)
	{
		const Block *next;
		int			at;

		Assert(block->level == level);

		/* The key of the first link is a lower bound by itself. */
		if (hint != NULL && hint->ref[level] == ref &&
			link_leads(block, hint->slot[level], prefix))
			at = hint->slot[level];
		else
			at = search_keys(link_words(block, 0), block->cap, 1, block->count,
							 prefix, nwords, inclusive) - 1;
		if (path != NULL)
		{
			path->ref[level] = ref;
			path->slot[level] = at;
		}
		ref = link_children(block)[at];
		next = (const Block *) lb_ptr(arena, ref);

		/* All scores of the next block, if they are not on their way. */
		if (hint != NULL && hint->ref[level - 1] == ref)
			;
		else if (level > 1)
			prefetch_words(next, sizeof(LinkBlock) / 8 + block->cap);
		else
			prefetch_words(next, LB_PAGE_SIZE / (index->width * 8) + 2);
		if (before != NULL)
		{
			before->members += link_members(block)[at];
			before->distinct += link_distinct(block)[at];
		}
		block = next;
	}

	Assert(block->level == 0);
	*slot = search_keys(leaf_words(block, 0), block->cap, 0, block->count,
						prefix, nwords, inclusive);
	if (path != NULL)
	{
		path->ref[0] = ref;
		path->slot[0] = *slot;
	}
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

/*
 * The leaf and slot where key is or belongs, with the way there.  The way
 * goes by the links whose key is not above this one; hint, if not NULL, says
 * where to look for them first.
 */
static inline Block *
descend_to_key(const LbArena *arena, const LbIndex *index, const int64 *key,
			   const LbPath *hint, LbPath *path)
{
	const Block *leaf;
	int			slot;

	leaf = descend(arena, index, key, index->width, true, hint, path, NULL,
				   &slot);

	/* The slot found is behind the key itself, if that is there. */
	if (slot > 0 && leaf_has_key(leaf, slot - 1, key))
		path->slot[0] = slot - 1;
	return (Block *) leaf;
}

/*--------------------------------------------------------------------------
 * Members
 *--------------------------------------------------------------------------
 */

static inline const int64 *
key_member(const LbIndex *index, const int64 *key)
{
	return key + index->width - index->member_words;
}

static inline void
leaf_get_member(const LbIndex *index, const Block *leaf, int slot,
				int64 *member)
{
	int			first = index->width - index->member_words;
	int			i;

	for (i = 0; i < index->member_words; i++)
		member[i] = leaf_words(leaf, first + i)[slot];
}

static inline uint32
member_hash(const LbArena *arena, const LbIndex *index, const int64 *member)
{
	return lb_hash_words(arena->hash_seed, member, index->member_words);
}

static inline uint32
leaf_hash(const LbArena *arena, const LbIndex *index, const Block *leaf,
		  int slot)
{
	int64		member[LB_MAX_WIDTH];

	leaf_get_member(index, leaf, slot, member);
	return member_hash(arena, index, member);
}

static inline bool
index_hashed(const LbIndex *index)
{
	return index->hash.root != LB_NONE;
}

/* Has the lowest bits of a word's bytes, multiplied by it, in the highest byte. */
#ifdef WORDS_BIGENDIAN
#define GATHER UINT64CONST(0x8040201008040201)
#else
#define GATHER UINT64CONST(0x0102040810204080)
#endif

/*
 * Which of a leaf's entries from .. from + 63 have a tag, as bits.  There is no
 * branch that depends on it: where the tag is cannot be predicted.
 */
static inline uint64
leaf_matches(const Block *leaf, int from, uint8 tag)
{
	const uint8 *tags = leaf_tags(leaf) + from;
	int			n = Min(leaf->count - from, 64);
	uint64		matches = 0;

	/* What follows the tags in the block may be read and is masked out. */
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
		 * The highest bit of each byte that is zero, and then all in one
		 * byte, that of the first entry lowest.
		 */
		word = ~(((word & low) + low) | word | low);
		matches |= ((word >> 7) * GATHER >> 56) << i;
	}
#endif
	return n < 64 ? matches & ((UINT64CONST(1) << n) - 1) : matches;
}

/* Whether a slot of a leaf is a member's. */
static inline bool
leaf_has_member(const LbIndex *index, const Block *leaf, int slot,
				const int64 *member)
{
	int			first = index->width - index->member_words;

	for (int i = 0; i < index->member_words; i++)
	{
		if (leaf_words(leaf, first + i)[slot] != member[i])
			return false;
	}
	return true;
}

/* The slot of a member in a leaf from a slot on, or -1. */
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

/* Read the cache lines in which looking for a member in a leaf begins. */
static inline void
read_members(const LbArena *arena, const LbIndex *index, LbRef ref)
{
	const volatile char *p = (const volatile char *) lb_ptr(arena, ref);
	Size		size = (Size) LB_CHUNK_SIZE << block_order(index);
	Size		i;

	/* The header and the tags. */
	for (i = 0; i < sizeof(Block) + size / (index->width * 8); i += 64)
		(void) p[i];
}

/*
 * The leaf of a member, and its slot; NULL if there is none.  ref is where a
 * search of the hash stands.
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

/* Where a member is: its leaf, or NULL; the slot, if there is one. */
static const Block *
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

	/* A small board: look everywhere. */
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

/* Tell the hash that n entries, already in their new leaf, have moved. */
static void
members_moved(const LbArena *arena, const LbIndex *index, const Block *leaf,
			  int slot, int n, LbRef from, LbRef to)
{
	uint32		hashes[32];

	if (!index_hashed(index))
		return;
	while (n > 0)
	{
		int			batch = Min(n, 32);
		int			i;

		for (i = 0; i < batch; i++)
		{
			hashes[i] = leaf_hash(arena, index, leaf, slot + i);
			lb_hash_prefetch(arena, &index->hash, hashes[i]);
		}
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

/* Build the hash of a board that has grown large enough for one. */
static LbResult
build_hash(const LbMem *mem, LbIndex *index)
{
	LbArena    *arena = mem->arena;
	LbRef		ref;

	if (lb_hash_reserve(mem, &index->hash, index->members) != LB_OK)
		return LB_NOMEM;
	for (ref = index->first; ref != LB_NONE; ref = block_ptr(arena, ref)->next)
	{
		const Block *leaf = block_ptr(arena, ref);
		int			i;

		for (i = 0; i < leaf->count; i++)
		{
			if (lb_hash_insert(mem, &index->hash,
							   leaf_hash(arena, index, leaf, i), ref) != LB_OK)
			{
				lb_hash_free(mem, &index->hash);
				return LB_NOMEM;
			}
		}
	}
	return LB_OK;
}

/*--------------------------------------------------------------------------
 * Moving entries and links between blocks
 *--------------------------------------------------------------------------
 */

/* Make room for an empty block as a link, without any span yet. */
static void
link_insert(Block *block, int slot, LbRef child)
{
	uint64	   *members = link_members(block);
	uint64	   *distinct = link_distinct(block);
	LbRef	   *children = link_children(block);
	int			tail = block->count - slot;
	Span		before = span_before(block, slot);

	Assert(block->count < block->cap && slot <= block->count);
	copy_keys(block, slot + 1, block, slot, tail);
	memmove(members + slot + 1, members + slot, tail * sizeof(uint64));
	memmove(distinct + slot + 1, distinct + slot, tail * sizeof(uint64));
	memmove(children + slot + 1, children + slot, tail * sizeof(LbRef));
	members[slot] = before.members;
	distinct[slot] = before.distinct;
	children[slot] = child;
	block->count++;
}

/* Remove a link that spans nothing any more. */
static void
link_delete(Block *block, int slot)
{
	uint64	   *members = link_members(block);
	uint64	   *distinct = link_distinct(block);
	LbRef	   *children = link_children(block);
	int			tail = block->count - slot - 1;

	Assert(span_before(block, slot).members ==
		   span_before(block, slot + 1).members);
	Assert(span_before(block, slot).distinct ==
		   span_before(block, slot + 1).distinct);
	copy_keys(block, slot, block, slot + 1, tail);
	memmove(members + slot, members + slot + 1, tail * sizeof(uint64));
	memmove(distinct + slot, distinct + slot + 1, tail * sizeof(uint64));
	memmove(children + slot, children + slot + 1, tail * sizeof(LbRef));
	block->count--;
}

/* Copy n links, whose sums change by so much. */
static void
link_copy(Block *to, int at, const Block *from, int slot, int n, Span by)
{
	uint64	   *members = link_members(to) + at;
	uint64	   *distinct = link_distinct(to) + at;
	int			i;

	copy_keys(to, at, from, slot, n);
	memmove(members, link_members(from) + slot, n * sizeof(uint64));
	memmove(distinct, link_distinct(from) + slot, n * sizeof(uint64));
	memmove(link_children(to) + at, link_children(from) + slot,
			n * sizeof(LbRef));
	for (i = 0; i < n; i++)
	{
		members[i] += by.members;
		distinct[i] += by.distinct;
	}
}

/*
 * Move the first n entries of right to the end of left, its neighbour, or, if
 * n is negative, the last -n of left to the start of right.  Returns what the
 * moved entries span.
 */
static Span
shift_entries(Block *left, Block *right, int n)
{
	Span		moved;

	if (n > 0)
	{
		moved.members = (uint64) n;
		moved.distinct = leaf_distinct(right, 0, n);
		if (left->count == 0)
			left->continues = right->continues;
		copy_keys(left, left->count, right, 0, n);
		copy_keys(right, 0, right, n, right->count - n);
		left->count += n;
		right->count -= n;
	}
	else
	{
		n = -n;
		moved.members = (uint64) n;
		moved.distinct = leaf_distinct(left, left->count - n, left->count);
		if (left->count == n)
			right->continues = left->continues;
		copy_keys(right, n, right, 0, right->count);
		copy_keys(right, 0, left, left->count - n, n);
		left->count -= n;
		right->count += n;
	}
	if (left->count > 0 && right->count > 0)
		right->continues = leaf_words(left, 0)[left->count - 1] ==
			leaf_words(right, 0)[0];
	return moved;
}

/* The same for blocks of links. */
static Span
shift_links(Block *left, Block *right, int n)
{
	LinkBlock  *left_sum = (LinkBlock *) left;
	LinkBlock  *right_sum = (LinkBlock *) right;
	Span		zero = {0, 0};
	Span		left_all = span_before(left, left->count);
	Span		kept;
	Span		moved;

	if (n > 0)
	{
		moved = span_before(right, n);
		link_copy(left, left->count, right, 0, n, left_all);
		link_copy(right, 0, right, n, right->count - n,
				  span_minus(zero, moved));
		left->count += n;
		right->count -= n;
		left_sum->members += moved.members;
		left_sum->distinct += moved.distinct;
		right_sum->members -= moved.members;
		right_sum->distinct -= moved.distinct;
	}
	else
	{
		n = -n;
		kept = span_before(left, left->count - n);
		moved = span_minus(left_all, kept);
		link_copy(right, n, right, 0, right->count, moved);
		link_copy(right, 0, left, left->count - n, n, span_minus(zero, kept));
		left->count -= n;
		right->count += n;
		left_sum->members -= moved.members;
		left_sum->distinct -= moved.distinct;
		right_sum->members += moved.members;
		right_sum->distinct += moved.distinct;
	}
	return moved;
}

/*
 * Move the first n entries or links of child slot + 1 of a block to child
 * slot, or, if n is negative, the other way round, and set their links right.
 */
static void
shift(const LbArena *arena, const LbIndex *index, Block *parent, int slot,
	  int n)
{
	LbRef		left_ref = link_children(parent)[slot];
	LbRef		right_ref = link_children(parent)[slot + 1];
	Block	   *left = block_ptr(arena, left_ref);
	Block	   *right = block_ptr(arena, right_ref);
	Span		zero = {0, 0};
	Span		moved;

	if (parent->level == 1)
	{
		moved = shift_entries(left, right, n);
		if (n > 0)
			members_moved(arena, index, left, left->count - n, n,
						  right_ref, left_ref);
		else
			members_moved(arena, index, right, 0, -n, left_ref, right_ref);
	}
	else
		moved = shift_links(left, right, n);

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

/*--------------------------------------------------------------------------
 * Insert
 *--------------------------------------------------------------------------
 */

/* Move the only leaf to a chunk of another size. */
static bool
resize_leaf(const LbMem *mem, LbIndex *index, int order)
{
	LbArena    *arena = mem->arena;
	LbRef		old_ref = index->root;
	LbRef		ref = block_alloc(mem, index, order);
	Block	   *old;
	Block	   *leaf;

	Assert(index->height == 1);
	if (ref == LB_NONE)
		return false;
	old = block_ptr(arena, old_ref);
	leaf = block_init(arena, index, ref, 0, order);
	Assert(old->count <= leaf->cap);
	leaf->count = old->count;
	leaf->continues = old->continues;
	copy_keys(leaf, 0, old, 0, old->count);
	members_moved(arena, index, leaf, 0, leaf->count, old_ref, ref);
	block_free(mem, index, old_ref, old->order);
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
	Block	   *root = block_init(arena, index, ref, index->height,
								  LB_MAX_ORDER);
	int64		key[LB_MAX_WIDTH];
	Span		all;
	int			i;

	for (i = 0; i < LB_MAX_WIDTH; i++)
		key[i] = INT64_MIN;
	if (old->level == 0)
	{
		all.members = old->count;
		all.distinct = leaf_distinct(old, 0, old->count);
	}
	else
		all = span_before(old, old->count);

	link_insert(root, 0, index->root);
	block_set_key(root, 0, key);
	span_add(root, 0, all);
	index->root = ref;
	index->root_order = LB_MAX_ORDER;
	index->height++;
}

/*
 * Split the block of a path at a level, which is full, and all full ones
 * above it, into blocks taken from spare.  Where the path goes through links,
 * it is set right.
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
	right = block_init(arena, index, ref, level, LB_MAX_ORDER);
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
		 * Entries that come in order at an end of the list would leave all
		 * blocks half empty.
		 */
		if (right->next == LB_NONE && path->slot[0] == block->count)
			move = block->count / 10;
		else if (block->prev == LB_NONE && path->slot[0] == 0)
			move = block->count - block->count / 10;
	}
	link_insert(parent, slot + 1, ref);
	shift(arena, index, parent, slot, -move);

	if (path->slot[level] >= block->count)
	{
		path->slot[level] -= block->count;
		path->ref[level] = ref;
		path->slot[level + 1]++;
	}
}

/*
 * Make room in the leaf of a path, which is full.  The path is invalid
 * afterwards.
 */
static bool
make_room(const LbMem *mem, LbIndex *index, LbPath *path)
{
	LbArena    *arena = mem->arena;
	LbRef		spare[LB_MAX_HEIGHT + 1];
	int			nspare = 0;
	int			needed = 1;
	int			level;

	if (index->height == 1)
	{
		if (index->root_order < LB_MAX_ORDER)
			return resize_leaf(mem, index, index->root_order + 1);
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
			left = cap - (int) (span_before(parent, slot).members -
								span_before(parent, slot - 1).members);
		if (slot + 1 < parent->count)
			right = cap - (int) (span_before(parent, slot + 2).members -
								 span_before(parent, slot + 1).members);
		if (Max(left, right) >= cap / 8)
		{
			if (left > right)
				shift(arena, index, parent, slot - 1, (left + 1) / 2);
			else
				shift(arena, index, parent, slot, -(right + 1) / 2);
			return true;
		}
	}

	/* Else split, and take the memory for that first. */
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
		spare[nspare] = block_alloc(mem, index, LB_MAX_ORDER);
		if (spare[nspare] == LB_NONE)
		{
			while (nspare > 0)
				block_free(mem, index, spare[--nspare], LB_MAX_ORDER);
			return false;
		}
		nspare++;
	}
	split_block(arena, index, path, 0, spare, &nspare);
	Assert(nspare == 0);
	return true;
}

/* Add to the spans along a path. */
static inline void
add_along(const LbArena *arena, const LbIndex *index, const LbPath *path,
		  Span by)
{
	int			level;

	for (level = 1; level < index->height; level++)
		span_add(block_ptr(arena, path->ref[level]), path->slot[level], by);
}

/*
 * The first entry of the leaf after the one of the path has become new, or
 * has ceased to be.
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

	/* Up to where the way to it parts, and down again at the left. */
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
 * Put a key into the leaf of a path, where it belongs and there is room.
 * Returns what the links along the path span more.
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

	/* Is it new, and what becomes of the next entry? */
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

LbResult
lb_index_insert(const LbMem *mem, LbIndex *index, const int64 *key)
{
	LbArena    *arena = mem->arena;
	const int64 *member = key_member(index, key);
	uint32		hash = member_hash(arena, index, member);
	Block	   *leaf;
	LbPath		path;
	int			slot;

	if (index->height == 0)
	{
		LbRef		ref = block_alloc(mem, index, 0);

		if (ref == LB_NONE)
			return LB_NOMEM;
		(void) block_init(arena, index, ref, 0, 0);
		index->root = ref;
		index->first = ref;
		index->last = ref;
		index->root_order = 0;
		index->height = 1;
	}

	/* Find the place first, while the hash's cache lines are on their way. */
	lb_hash_prefetch(arena, &index->hash, hash);
	leaf = descend_to_key(arena, index, key, NULL, &path);
	if (find_member(arena, index, member, hash, &slot) != NULL)
		return LB_EXISTS;
	if (index->members >= HASH_FROM && !index_hashed(index) &&
		build_hash(mem, index) != LB_OK)
		return LB_NOMEM;

	if (index_hashed(index) &&
		lb_hash_insert(mem, &index->hash, hash, path.ref[0]) != LB_OK)
		return LB_NOMEM;
	if (leaf->count == leaf->cap)
	{
		LbRef		before = path.ref[0];
		bool		done pg_attribute_unused();

		if (!make_room(mem, index, &path))
		{
			if (index_hashed(index))
			{
				done = lb_hash_delete(mem, &index->hash, hash, before);
				Assert(done);
			}
			return LB_NOMEM;
		}
		leaf = descend_to_key(arena, index, key, NULL, &path);
		if (index_hashed(index) && path.ref[0] != before)
		{
			done = lb_hash_replace(arena, &index->hash, hash, before,
								   path.ref[0]);
			Assert(done);
		}
	}

	add_along(arena, index, &path,
			  insert_entry(arena, index, &path, leaf, key, hash));
	return LB_OK;
}

/*--------------------------------------------------------------------------
 * Remove
 *--------------------------------------------------------------------------
 */

/* Make one of the children slot and slot + 1 of a block; they fit. */
static void
merge(const LbMem *mem, LbIndex *index, Block *parent, int slot)
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
		/* Cheaper for the hash; the right leaf takes over the left's key. */
		int64		key[LB_MAX_WIDTH];

		if (left->count > 0)
			shift(arena, index, parent, slot, -left->count);
		block_get_key(parent, slot, key);
		link_delete(parent, slot);
		block_set_key(parent, slot, key);
		gone = left_ref;
	}
	else
	{
		if (right->count > 0)
			shift(arena, index, parent, slot, right->count);
		link_delete(parent, slot + 1);
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
	block_free(mem, index, gone, LB_MAX_ORDER);
}

/* How many entries or links child slot of a block has; 0 if there is none. */
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

/* Something went from the leaf of a path: see to the fill of blocks. */
static void
tidy(const LbMem *mem, LbIndex *index, const LbPath *path)
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
		left = child_count(arena, parent, slot - 1);
		right = child_count(arena, parent, slot + 1);
		if (left > 0 && left + count <= cap * 9 / 10)
			merge(mem, index, parent, slot - 1);
		else if (right > 0 && right + count <= cap * 9 / 10)
			merge(mem, index, parent, slot);
		else
		{
			if (count < cap / 3)
			{
				if (left > right)
					shift(arena, index, parent, slot - 1, -(left - count) / 2);
				else
					shift(arena, index, parent, slot, (right - count) / 2);
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
		block_free(mem, index, index->root, LB_MAX_ORDER);
		index->root = child;
		index->height--;
	}

	/* A single leaf may do with half of its memory. */
	if (index->height == 1 && index->root_order > 0 &&
		index->members * 2 <=
		(uint64) leaf_capacity(index->width, index->root_order - 1))
		(void) resize_leaf(mem, index, index->root_order - 1);
}

/*
 * Take the key of a path out of its leaf.  Returns what the links along the
 * path span more (amounts wrap around).
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
	 * The next entry becomes new if it has the same score and this one was
	 * new; else nothing changes for it.
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

LbResult
lb_index_remove(const LbMem *mem, LbIndex *index, const int64 *key)
{
	LbArena    *arena = mem->arena;
	Block	   *leaf;
	LbPath		path;
	uint32		hash;

	if (index->height == 0)
		return LB_NOTFOUND;
	hash = member_hash(arena, index, key_member(index, key));
	lb_hash_prefetch(arena, &index->hash, hash);
	leaf = descend_to_key(arena, index, key, NULL, &path);
	if (!leaf_has_key(leaf, path.slot[0], key))
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
	add_along(arena, index, &path, remove_entry(arena, index, &path, leaf));
	if (index->members < HASH_UNTIL && index_hashed(index))
		lb_hash_free(mem, &index->hash);
	tidy(mem, index, &path);
	return LB_OK;
}

/*--------------------------------------------------------------------------
 * Replace
 *--------------------------------------------------------------------------
 */

/*
 * Add to the spans along two paths at once.  From where they meet upwards only
 * what one has more than the other gives less remains, which mostly is
 * nothing, and then those blocks, which all writers share, stay as they are.
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

LbResult
lb_index_replace(const LbMem *mem, LbIndex *index, const int64 *old,
				 const int64 *new, const LbPath *old_hint,
				 const LbPath *new_hint)
{
	LbArena    *arena = mem->arena;
	Block	   *leaf;
	Block	   *to;
	LbPath		path;
	LbPath		to_path;
	Span		less;
	uint32		hash;
	LbResult	result;

	Assert(lb_words_cmp(key_member(index, old), key_member(index, new),
						index->member_words) == 0);
	if (index->height == 0)
		return LB_NOTFOUND;
	hash = member_hash(arena, index, key_member(index, old));
	if (old_hint == NULL)
		lb_hash_prefetch(arena, &index->hash, hash);
	leaf = descend_to_key(arena, index, old, old_hint, &path);
	if (!leaf_has_key(leaf, path.slot[0], old))
		return LB_NOTFOUND;
	to = descend_to_key(arena, index, new, new_hint, &to_path);

	/* Where blocks come or go, one after the other. */
	if (leaf->count == 1 || (to != leaf && to->count == to->cap))
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
	less = remove_entry(arena, index, &path, leaf);
	if (to == leaf && to_path.slot[0] > path.slot[0])
		to_path.slot[0]--;
	add_along_two(arena, index, &path, less, &to_path,
				  insert_entry(arena, index, &to_path, to, new, hash));
	if (to != leaf)
		tidy(mem, index, &path);
	return LB_OK;
}

/*--------------------------------------------------------------------------
 * Reading
 *--------------------------------------------------------------------------
 */

void
lb_index_init(LbIndex *index, int width, int member_words)
{
	Assert(member_words >= 1 && member_words <= width);
	Assert(width >= 2 && width <= LB_MAX_WIDTH);
	memset(index, 0, sizeof(LbIndex));
	index->width = (uint8) width;
	index->member_words = (uint8) member_words;
	lb_hash_init(&index->hash);
}

bool
lb_index_lookup(const LbArena *arena, const LbIndex *index,
				const int64 *member, int64 *key, LbCursor *cursor)
{
	const Block *leaf;
	int			slot;

	leaf = find_member(arena, index, member,
					   member_hash(arena, index, member), &slot);
	if (leaf == NULL)
		return false;
	block_get_key(leaf, slot, key);

	/* Many callers go on to lb_index_spans, which ends in this leaf. */
	if (cursor != NULL)
	{
		cursor->leaf = block_ref(arena, leaf);
		cursor->slot = slot;
	}
	else if (index->height > 1)
		prefetch_words(leaf_words(leaf, 0), Max(slot, leaf->count / 2) + 1);
	return true;
}

void
lb_index_prefetch_hash(const LbArena *arena, const LbIndex *index,
					   const int64 *member)
{
	if (index_hashed(index))
		lb_hash_prefetch(arena, &index->hash,
						 member_hash(arena, index, member));
}

void
lb_index_lookup_many(const LbArena *arena, const LbIndex *index,
					 const int64 *members, int n, int nwords, int64 *keys,
					 bool *found, LbCursor *places)
{
	int			width = index->width;
	int			member_words = index->member_words;
	LbHashScan	scans[LB_PREFETCH_KEYS];
	LbRef		refs[LB_PREFETCH_KEYS];
	int			i;

	Assert(n <= LB_PREFETCH_KEYS);
	if (!index_hashed(index))
	{
		for (i = 0; i < n; i++)
			found[i] = lb_index_lookup(arena, index,
									   members + i * member_words,
									   keys + i * width, &places[i]);
		return;
	}
	for (i = 0; i < n; i++)
		lb_hash_begin(arena, &index->hash,
					  member_hash(arena, index, members + i * member_words),
					  &scans[i]);
	for (i = 0; i < n; i++)
		refs[i] = lb_hash_next(arena, &index->hash, &scans[i]);

	/*
	 * The header and the tags are not asked for but read, before any of them
	 * is used: the processor goes on to the next while it waits, as long as
	 * no branch depends on them, and leaves no one out, as it does with
	 * requests.
	 */
	for (i = 0; i < n; i++)
	{
		if (refs[i] != LB_NONE)
			read_members(arena, index, refs[i]);
	}

	/* Where the member is, unless another one has its tag. */
	for (i = 0; i < n; i++)
	{
		const Block *leaf;
		const int64 *words;
		uint64		matches;
		int			slot;

		places[i].leaf = refs[i];
		places[i].slot = -1;
		if (refs[i] == LB_NONE)
			continue;
		leaf = block_ptr(arena, refs[i]);
		matches = leaf_matches(leaf, 0, hash_tag(scans[i].hash));
		slot = 0;
		if (matches == 0 && leaf->count > 64)
		{
			matches = leaf_matches(leaf, 64, hash_tag(scans[i].hash));
			slot = 64;
		}
		if (matches == 0)
			continue;
		slot += lb_lowest_bit(matches);
		places[i].slot = slot;
		words = leaf_words(leaf, 0) + slot;
		for (int j = 0; j < width; j++, words += leaf->cap)
		{
			if (j < nwords || j >= width - member_words)
				lb_prefetch(words);
		}
	}
	for (i = 0; i < n; i++)
	{
		const Block *leaf = NULL;
		const int64 *member = members + i * member_words;
		const int64 *words;

		if (refs[i] != LB_NONE)
		{
			leaf = block_ptr(arena, refs[i]);
			if (places[i].slot < 0 ||
				!leaf_has_member(index, leaf, places[i].slot, member))
			{
				leaf = find_in_chain(arena, index, member, refs[i], &scans[i],
									 &places[i].slot);
				if (leaf != NULL)
					places[i].leaf = block_ref(arena, leaf);
			}
		}
		found[i] = leaf != NULL;
		if (leaf == NULL)
			continue;
		words = leaf_words(leaf, 0) + places[i].slot;
		for (int j = 0; j < nwords; j++, words += leaf->cap)
			keys[i * width + j] = *words;
	}
}

/* Ask for the cache lines of n words that will be written. */
static inline void
prefetch_to_write(const void *start, int n)
{
	const char *p = (const char *) start;
	int			i;

	for (i = 0; i < n * (int) sizeof(int64); i += 64)
		lb_prefetch_write(p + i);
}

/*
 * A block as somebody may read it who has no lock: what it holds may be
 * anything.  NULL if it cannot be a block.
 */
static inline const Block *
any_block(const LbArena *arena, LbRef ref)
{
	if (ref == LB_NONE || ref > arena->nchunks - LB_PAGE_SIZE / LB_CHUNK_SIZE)
		return NULL;
	return block_ptr(arena, ref);
}

/* How many entries or links it has, as far as there can be so many. */
static inline int
any_count(const Block *block, int cap)
{
	/* Read once: what is compared has to be what is used. */
	int			count = *(const volatile uint16 *) &block->count;

	return Min(count, cap);
}

void
lb_index_prefetch_changes(const LbArena *arena, const LbIndex *index,
						  const int64 *const *keys, int nkeys, LbPath *paths)
{
	int			width = index->width;
	int			link_cap = link_capacity(width);
	int			leaf_cap = leaf_capacity(width, LB_MAX_ORDER);
	const LbRef *children[LB_PREFETCH_KEYS];
	int			level;
	int			i;
	int			j;

	Assert(nkeys <= LB_PREFETCH_KEYS);
	memset(paths, 0, nkeys * sizeof(LbPath));
	if (index->height < 2)
		return;
	for (i = 0; i < nkeys; i++)
		paths[i].ref[index->height - 1] = index->root;
	for (level = index->height - 1; level > 0; level--)
	{
		for (i = 0; i < nkeys; i++)
		{
			const Block *block = any_block(arena, paths[i].ref[level]);
			const int64 *words;
			const uint64 *members;
			int			count;
			int			at;

			if (block == NULL)
				continue;
			count = any_count(block, link_cap);
			words = (const int64 *) ((const char *) block + sizeof(LinkBlock));
			at = search_keys(words, link_cap, 1, count, keys[i], width,
							 true) - 1;
			members = (const uint64 *) words + width * link_cap;
			paths[i].slot[level] = at;

			/* Where to go on is a miss as well: sent for, before it is read. */
			children[i] = (const LbRef *) (members + 2 * link_cap) + at;
			lb_prefetch(children[i]);
			if (level > 1)
				continue;

			/* The sums behind it change: of members, of distinct scores. */
			prefetch_to_write(members + at, count - at);
			prefetch_to_write(members + link_cap + at, count - at);
		}
		for (i = 0; i < nkeys; i++)
		{
			const Block *next;

			if (any_block(arena, paths[i].ref[level]) == NULL)
				continue;
			paths[i].ref[level - 1] = *(const volatile LbRef *) children[i];
			next = any_block(arena, paths[i].ref[level - 1]);
			if (next != NULL)
				prefetch_words(next, level > 1 ?
							   (int) sizeof(LinkBlock) / 8 + link_cap :
							   LB_PAGE_SIZE / (width * 8) + 2);
		}
	}
	for (i = 0; i < nkeys; i++)
	{
		const Block *leaf = any_block(arena, paths[i].ref[0]);
		const int64 *words;
		int			count;
		int			slot;

		if (leaf == NULL)
			continue;
		count = any_count(leaf, leaf_cap);
		words = (const int64 *) ((const char *) leaf + leaf_offset(leaf_cap));
		slot = array_lower(words, 0, count, keys[i][0]);

		/* What comes after the key moves. */
		prefetch_to_write((const char *) leaf + sizeof(Block) + slot,
						  (count - slot) / 8 + 1);
		for (j = 0; j < width; j++)
			prefetch_to_write(words + j * leaf_cap + slot, count - slot + 1);
	}
}

void
lb_index_spans(const LbArena *arena, const LbIndex *index,
			   const int64 *prefix, int nwords, bool inclusive,
			   uint64 *members, uint64 *distinct)
{
	Span		before = {0, 0};

	Assert(nwords >= 1 && nwords <= index->width);
	if (index->height > 0)
	{
		const Block *leaf;
		int			slot;

		leaf = descend(arena, index, prefix, nwords, inclusive, NULL, NULL,
					   &before, &slot);
		before.members += (uint64) slot;
		if (distinct != NULL)
			before.distinct += leaf_distinct(leaf, 0, slot);
	}
	if (members != NULL)
		*members = before.members;
	if (distinct != NULL)
		*distinct = before.distinct;
}

/* The first of the entries of a leaf up to slot that begin as slot's does. */
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
	Assert(nwords >= 1 && nwords <= index->width);
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

			/* What lies there is a miss as well: sent for, before it is read. */
			slots[i] = search_keys(link_words(block, 0), block->cap, 1,
								   block->count, prefixes[i], nwords,
								   false) - 1;
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
			prefetch_words(blocks[i], level > 1 ?
						   (int) sizeof(LinkBlock) / 8 + block->cap :
						   LB_PAGE_SIZE / (index->width * 8) + 2);
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
							   prefixes[i], nwords, false);
		members[i] += (uint64) slot;
		if (distinct != NULL)
			distinct[i] += leaf_distinct(leaf, 0, slot);
	}
}

bool
lb_index_seek_place(const LbArena *arena, const LbIndex *index,
					uint64 before, LbCursor *cursor)
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

		/* Sums are far from where the sign would matter. */
		at = array_upper((const int64 *) members, 1, block->count,
						 (int64) before) - 1;
		before -= members[at];
		ref = link_children(block)[at];
		if (level > 1)
		{
			const Block *next = (const Block *) lb_ptr(arena, ref);

			lb_prefetch(next);
			prefetch_words((const int64 *) (next + 2) +
						   index->width * block->cap, block->cap);
		}
	}
	Assert(before < block_ptr(arena, ref)->count);
	cursor->leaf = ref;
	cursor->slot = (int) before;
	return true;
}

bool
lb_index_seek_key(const LbArena *arena, const LbIndex *index,
				  const int64 *prefix, int nwords, LbCursor *cursor)
{
	const Block *leaf;
	LbPath		path;
	int			slot;

	Assert(nwords >= 1 && nwords <= index->width);
	cursor->leaf = LB_NONE;
	cursor->slot = 0;
	if (index->height == 0)
		return false;
	leaf = descend(arena, index, prefix, nwords, false, NULL, &path, NULL,
				   &slot);
	if (slot < leaf->count)
	{
		cursor->leaf = path.ref[0];
		cursor->slot = slot;
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

	(void) index;
	Assert(cursor->slot >= 0 && cursor->slot < leaf->count);
	block_get_key(leaf, cursor->slot, key);
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

/*--------------------------------------------------------------------------
 * Bulk build
 *
 * Until it is finished, the index has height 0 and no members, but first
 * leads to the leaves, and root to the blocks of links, newest first, which
 * are chained by next; so that lb_index_free can find them.
 *--------------------------------------------------------------------------
 */

static inline int
bulk_fill(const LbBulk *bulk, const Block *block)
{
	if (block->level == 0 && bulk->expected <= block->cap)
		return block->cap;
	return block->cap - block->cap / 10;
}

/* Open a new block at a level, to the right of the one open until now. */
static Block *
bulk_open(LbBulk *bulk, int level)
{
	LbArena    *arena = bulk->mem->arena;
	LbIndex    *index = bulk->index;
	LbRef		ref;
	Block	   *block;

	if (level == LB_MAX_HEIGHT)
		return NULL;
	ref = block_alloc(bulk->mem, index, LB_MAX_ORDER);
	if (ref == LB_NONE)
		return NULL;
	block = block_init(arena, index, ref, level, LB_MAX_ORDER);
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

/* Enter the open block of a level, which is complete, into the next level. */
static bool
bulk_close(LbBulk *bulk, int level)
{
	LbArena    *arena = bulk->mem->arena;
	Block	   *block = block_ptr(arena, bulk->open[level]);
	Block	   *parent = NULL;
	int64		key[LB_MAX_WIDTH];
	Span		all;
	int			slot;
	int			i;

	block_get_key(block, 0, key);
	if (level > 0)
		all = span_before(block, block->count);
	else
	{
		all.members = block->count;
		all.distinct = leaf_distinct(block, 0, block->count);
		if (block->prev == LB_NONE)
		{
			for (i = 0; i < block->width; i++)
				key[i] = INT64_MIN;
		}
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
	link_insert(parent, slot, bulk->open[level]);
	block_set_key(parent, slot, key);
	span_add(parent, slot, all);
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

LbResult
lb_bulk_add(LbBulk *bulk, const int64 *key)
{
	LbArena    *arena = bulk->mem->arena;
	int			width = bulk->index->width;
	Block	   *leaf = NULL;
	bool		continues = false;
	int			i = 0;

	if (bulk->height > 0)
	{
		while (i < width && key[i] == bulk->last[i])
			i++;
		if (i == width || key[i] < bulk->last[i])
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
	block_set_key(leaf, leaf->count, key);
	leaf_tags(leaf)[leaf->count] =
		hash_tag(member_hash(arena, bulk->index,
							 key_member(bulk->index, key)));
	leaf->count++;
	for (i = 0; i < width; i++)
		bulk->last[i] = key[i];
	return LB_OK;
}

/* The last block of each level may be nearly empty: let neighbours give. */
static void
bulk_balance(const LbArena *arena, const LbIndex *index)
{
	Block	   *parent = block_ptr(arena, index->root);

	while (parent->level > 0)
	{
		int			slot = parent->count - 1;
		int			left = child_count(arena, parent, slot - 1);
		int			count = child_count(arena, parent, slot);

		Assert(slot > 0);
		if (count * 2 < left)
			shift(arena, index, parent, slot - 1, -((left - count) / 2));
		parent = block_ptr(arena, link_children(parent)[slot]);
	}
}

/* Is there an entry with this member other than the one of this slot? */
static bool
bulk_duplicate(const LbArena *arena, const LbIndex *index,
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

/* File all members, in batches whose cache misses overlap. */
static LbResult
bulk_hash(const LbMem *mem, LbIndex *index)
{
	LbArena    *arena = mem->arena;
	LbRef		ref;

	if (lb_hash_reserve(mem, &index->hash, index->members) != LB_OK)
		return LB_NOMEM;
	for (ref = index->first; ref != LB_NONE; ref = block_ptr(arena, ref)->next)
	{
		const Block *leaf = block_ptr(arena, ref);
		uint32		hashes[LB_PAGE_SIZE / (2 * sizeof(int64))];
		int			i;

		for (i = 0; i < leaf->count; i++)
		{
			hashes[i] = leaf_hash(arena, index, leaf, i);
			lb_hash_prefetch(arena, &index->hash, hashes[i]);
		}
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
				if (bulk_duplicate(arena, index, block_ptr(arena, other),
								   leaf, i))
					return LB_EXISTS;
			}
			if (lb_hash_insert(mem, &index->hash, hashes[i], ref) != LB_OK)
				return LB_NOMEM;
		}
	}
	return LB_OK;
}

LbResult
lb_bulk_finish(LbBulk *bulk)
{
	const LbMem *mem = bulk->mem;
	LbArena    *arena = mem->arena;
	LbIndex    *index = bulk->index;
	Block	   *root;
	LbRef		ref;
	int			level;
	int			order = 0;

	if (bulk->height == 0)
		return LB_OK;

	/* Each level is complete when the one below is; the last is the root. */
	for (level = 0; level + 1 < bulk->height; level++)
	{
		if (!bulk_close(bulk, level))
			return LB_NOMEM;
	}
	index->root = bulk->open[level];
	index->root_order = LB_MAX_ORDER;
	index->height = (uint8) bulk->height;
	root = block_ptr(arena, index->root);
	if (index->height > 1)
	{
		Span		all = span_before(root, root->count);

		index->members = all.members;
		index->distinct = all.distinct;
		bulk_balance(arena, index);
	}
	else
	{
		index->members = root->count;
		index->distinct = leaf_distinct(root, 0, root->count);
		while (leaf_capacity(index->width, order) < root->count)
			order++;
		if (order < LB_MAX_ORDER)
			(void) resize_leaf(mem, index, order);
	}

	if (index->members > HASH_FROM)
		return bulk_hash(mem, index);

	for (ref = index->first; ref != LB_NONE; ref = block_ptr(arena, ref)->next)
	{
		const Block *leaf = block_ptr(arena, ref);
		LbRef		other;
		int			i;

		for (i = 0; i < leaf->count; i++)
		{
			for (other = ref; other != LB_NONE;
				 other = block_ptr(arena, other)->next)
			{
				if (bulk_duplicate(arena, index, block_ptr(arena, other),
								   leaf, i))
					return LB_EXISTS;
			}
		}
	}
	return LB_OK;
}

/* Free a block of links and what is below; leaves are not touched. */
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
			block_free(mem, index, child, LB_MAX_ORDER);
	}
	block_free(mem, index, ref, LB_MAX_ORDER);
}

uint64
lb_index_estimate(uint64 members, int width)
{
	uint64		bytes = members > HASH_FROM ? lb_hash_estimate(members) : 0;
	uint64		cap = leaf_capacity(width, LB_MAX_ORDER);
	uint64		n = members;
	int			order = 0;

	if (members == 0)
		return 0;
	if (members <= cap)
	{
		while ((uint64) leaf_capacity(width, order) < members)
			order++;
		return bytes + ((uint64) LB_CHUNK_SIZE << order);
	}

	/* Blocks are about two thirds full. */
	while (n > 1)
	{
		n = (n * 3 + cap * 2 - 1) / (cap * 2);
		bytes += n * LB_PAGE_SIZE;
		cap = link_capacity(width);
	}
	return bytes;
}

void
lb_index_free(const LbMem *mem, LbIndex *index)
{
	LbRef		ref;
	LbRef		next;

	if (index->height > 1)
		free_links(mem, index, index->root);
	else if (index->height == 1)
		block_free(mem, index, index->root, index->root_order);
	else
	{
		/* A bulk build that was not finished. */
		for (ref = index->first; ref != LB_NONE; ref = next)
		{
			next = block_ptr(mem->arena, ref)->next;
			block_free(mem, index, ref, LB_MAX_ORDER);
		}
		for (ref = index->root; ref != LB_NONE; ref = next)
		{
			next = block_ptr(mem->arena, ref)->next;
			block_free(mem, index, ref, LB_MAX_ORDER);
		}
	}
	lb_hash_free(mem, &index->hash);
	Assert(index->chunks == 0);
	lb_index_init(index, index->width, index->member_words);
}

/*--------------------------------------------------------------------------
 * Check
 *--------------------------------------------------------------------------
 */

/* What the check carries along from left to right. */
typedef struct Check
{
	const LbArena *arena;
	const LbIndex *index;
	LbRef		prev_leaf;
	LbRef		expect_leaf;	/* what the leaf before names as its next */
	bool		any;
	int64		prev[LB_MAX_WIDTH]; /* the key before */
	Span		seen;
	uint64		chunks;
} Check;

/* Check the slots of a leaf's members in the hash, and that none is double. */
static const char *
check_members(const Check *check, LbRef ref, const Block *leaf)
{
	const LbArena *arena = check->arena;
	const LbIndex *index = check->index;
	uint32		hashes[LB_PAGE_SIZE / (2 * sizeof(int64))];
	int			i;

	for (i = 0; i < leaf->count; i++)
	{
		int64		member[LB_MAX_WIDTH];

		leaf_get_member(index, leaf, i, member);
		hashes[i] = member_hash(arena, index, member);
		if (leaf_tags(leaf)[i] != hash_tag(hashes[i]))
			return "index: a member's tag is wrong";
		if (leaf_find(index, leaf, i + 1, member, hashes[i]) >= 0)
			return "index: a member occurs twice in a leaf";
	}

	if (!index_hashed(index))
	{
		/* All leaves before this one have been checked already. */
		LbRef		other;

		for (other = leaf->prev; other != LB_NONE;
			 other = block_ptr(arena, other)->prev)
		{
			for (i = 0; i < leaf->count; i++)
			{
				if (bulk_duplicate(arena, index, block_ptr(arena, other),
								   leaf, i))
					return "index: a member occurs twice";
			}
		}
		return NULL;
	}

	for (i = 0; i < leaf->count; i++)
		lb_hash_prefetch(arena, &index->hash, hashes[i]);
	for (i = 0; i < leaf->count; i++)
	{
		LbHashScan	scan;
		LbRef		other;
		int			slots = 0;
		int			same = 0;
		int			j;

		for (other = lb_hash_first(arena, &index->hash, hashes[i], &scan);
			 other != LB_NONE;
			 other = lb_hash_next(arena, &index->hash, &scan))
		{
			if (other == ref)
				slots++;
			else if (!lb_arena_owns(arena, other, LB_MAX_ORDER) ||
					 block_ptr(arena, other)->level != 0 ||
					 block_ptr(arena, other)->width != index->width ||
					 block_ptr(arena, other)->cap != leaf->cap ||
					 block_ptr(arena, other)->count > leaf->cap)
				return "index: the hash leads to what is no leaf";
			else if (bulk_duplicate(arena, index, block_ptr(arena, other),
									leaf, i))
				return "index: a member occurs twice";
		}
		for (j = 0; j < leaf->count; j++)
			same += hashes[j] == hashes[i];
		if (slots != same)
			return "index: the hash does not lead to a member's leaf";
	}
	return NULL;
}

static const char *
check_leaf(Check *check, LbRef ref, const Block *leaf)
{
	const LbIndex *index = check->index;
	int			i;

	if (leaf->prev != check->prev_leaf || ref != check->expect_leaf)
		return "index: leaves are wrongly linked";
	check->prev_leaf = ref;
	check->expect_leaf = leaf->next;

	for (i = 0; i < leaf->count; i++)
	{
		int64		key[LB_MAX_WIDTH];
		bool		is_new;

		block_get_key(leaf, i, key);
		if (check->any && lb_words_cmp(check->prev, key, index->width) >= 0)
			return "index: keys are out of order";
		is_new = !check->any || check->prev[0] != key[0];
		if (i == 0 && leaf->continues != !is_new)
			return "index: a leaf's flag about its first score is wrong";
		check->any = true;
		memcpy(check->prev, key, sizeof(key));
		check->seen.members++;
		check->seen.distinct += is_new;
	}
	return check_members(check, ref, leaf);
}

/* Check a block and what is below; lower is the key of the link to it. */
static const char *
check_block(Check *check, LbRef ref, int level, const int64 *lower)
{
	const LbArena *arena = check->arena;
	const LbIndex *index = check->index;
	int			order = block_order(index);
	const Block *block;
	Span		start = check->seen;
	int			i;

	if (order > LB_MAX_ORDER || !lb_arena_owns(arena, ref, order))
		return "index: a block is not there";
	block = block_ptr(arena, ref);
	if (block->level != level || block->order != order ||
		block->width != index->width ||
		block->cap != (level == 0 ? leaf_capacity(index->width, order) :
					   link_capacity(index->width)))
		return "index: a block's header is wrong";
	if (block->count > block->cap || block->count < (level == 0 ? 1 : 2))
		return "index: a block has too many or too few entries";
	check->chunks += (uint64) 1 << order;
	if (check->chunks > index->chunks)
		return "index: more blocks than accounted for";

	if (level == 0)
	{
		int64		key[LB_MAX_WIDTH];

		block_get_key(block, 0, key);
		if (lb_words_cmp(key, lower, index->width) < 0)
			return "index: a key is below that of its link";
		return check_leaf(check, ref, block);
	}

	for (i = 0; i < block->count; i++)
	{
		int64		key[LB_MAX_WIDTH];
		Span		before = span_before(block, i);
		const char *problem;

		block_get_key(block, i, key);
		if (i == 0 && lb_words_cmp(key, lower, index->width) != 0)
			return "index: the first key of a block is not that of its link";
		if (check->any && lb_words_cmp(check->prev, key, index->width) >= 0)
			return "index: a link's key is not above the keys before it";
		if (before.members != check->seen.members - start.members)
			return "index: wrong sum of members";
		if (before.distinct != check->seen.distinct - start.distinct)
			return "index: wrong sum of distinct scores";
		problem = check_block(check, link_children(block)[i], level - 1, key);
		if (problem != NULL)
			return problem;
	}
	if (((const LinkBlock *) block)->members !=
		check->seen.members - start.members)
		return "index: wrong total of members";
	if (((const LinkBlock *) block)->distinct !=
		check->seen.distinct - start.distinct)
		return "index: wrong total of distinct scores";
	return NULL;
}

const char *
lb_index_check(const LbArena *arena, const LbIndex *index)
{
	Check		check;
	int64		lower[LB_MAX_WIDTH];
	const char *problem;
	int			i;

	if (index->width < 2 || index->width > LB_MAX_WIDTH ||
		index->member_words < 1 || index->member_words > index->width ||
		index->height > LB_MAX_HEIGHT)
		return "index: impossible header";
	if (index->height == 0)
	{
		if (index->root != LB_NONE || index->first != LB_NONE ||
			index->last != LB_NONE || index->members != 0 ||
			index->distinct != 0 || index->chunks != 0 ||
			index->hash.root != LB_NONE)
			return "index: an empty index is not quite empty";
		return NULL;
	}

	problem = lb_hash_check(arena, &index->hash);
	if (problem != NULL)
		return problem;
	if (index_hashed(index) ? index->hash.entries != index->members :
		index->members > HASH_FROM)
		return "index: the hash has not as many entries as the index";

	memset(&check, 0, sizeof(check));
	check.arena = arena;
	check.index = index;
	check.prev_leaf = LB_NONE;
	check.expect_leaf = index->first;
	for (i = 0; i < LB_MAX_WIDTH; i++)
		lower[i] = INT64_MIN;
	problem = check_block(&check, index->root, index->height - 1, lower);
	if (problem != NULL)
		return problem;
	if (check.expect_leaf != LB_NONE || check.prev_leaf != index->last)
		return "index: the last leaf is not the last";
	if (check.seen.members != index->members)
		return "index: wrong number of members";
	if (check.seen.distinct != index->distinct)
		return "index: wrong number of distinct scores";
	if (check.chunks != index->chunks)
		return "index: wrong sum of memory";
	return NULL;
}
