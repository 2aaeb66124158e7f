/*-------------------------------------------------------------------------
 *
 * memberhash.c
 *	  A hash of references that grows one step at a time.
 *
 * This is linear hashing (W. Litwin, "Linear hashing: a new tool for file and
 * table addressing", VLDB 1980).  The table is a row of pages.  In round
 * "level" there are n = base << level pages to begin with; page "split" is
 * the next one to be split, into itself and page n + split.  A hash h lives
 * in page h mod n, or in h mod 2n if that page was split already.  After n
 * splits the next round begins.  Deleting runs the same steps backwards.
 *
 * A page is a chain of chunks (hashpage.c).  The pages are found through a
 * directory, a radix tree of arrays of references.
 *
 * Differences to the paper.  (1) base need not be a power of two, so that a
 * bulk build gets the fill it asks for.  (2) Splitting begins when pages are
 * 85 % full, as usual, but then goes on in proportion to the growth up to 98
 * %, instead of doing the whole round at once or keeping the average load
 * constant; the pages that are split last overflow a little.  (3) A table of a
 * single page has a smaller chunk that doubles.  (4) A table that has shrunk
 * to its base and far below is rehashed to fewer pages, if it is so small that
 * this is hardly more work than a split.
 *
 * A split or merge builds new chains before it frees the old ones.  If there
 * is no memory it leaves everything as it is, which is always correct.
 *
 * Invariants, beside those of hashpage.h and checked with them by
 * lb_hash_check:
 *	- an entry is in the page that page_of() computes from its hash;
 *	- the directory has no page more than table_pages() says, and no level
 *	  more than these need;
 *	- a table without entries has no memory.
 *
 * Disadvantages.  A page number costs a division.  A search that fails walks
 * to an empty slot, which is two cache lines at 80 % fill.  The table cannot
 * tell entries with the same hash apart, and searches them linearly.  Users
 * choose members and the values of board columns, so the hashes of both have a
 * random seed, new at every server start.  No table outlives the server, so
 * nothing depends on the order of an earlier start.
 *
 *-------------------------------------------------------------------------
 */
#include "index/hashpage.h"
#include "index/memberhash_internal.h"

/* Per cent of a page's slots. */
#define RESERVE_LOAD 80
#define SPLIT_FROM 85
#define SPLIT_UP_TO 98
#define MERGE_BELOW 80			/* of the load at which it would be split */
#define REHASH_BELOW 12

/*
 * The most pages at level 0 that lb_hash_reserve makes, so that the table can
 * shrink to few pages.
 */
#define MAX_BASE 64

/*--------------------------------------------------------------------------
 * The directory
 *--------------------------------------------------------------------------
 */

/* The place that refers to a page's chain. */
static inline LbRef *
dir_entry(const LbArena *arena, LbHash *table, uint32 number)
{
	LbRef	   *entry = &table->root;
	uint32		depth;

	for (depth = table->depth; depth > 0; depth--)
	{
		uint32		i = number >> (DIR_BITS * (depth - 1));

		entry = (LbRef *) lb_ptr(arena, *entry) + i % DIR_FANOUT;
	}
	return entry;
}

/* The chain of a page. */
static inline LbRef
dir_get(const LbArena *arena, const LbHash *table, uint32 number)
{
	LbRef		ref = table->root;
	uint32		depth;

	for (depth = table->depth; depth > 0; depth--)
	{
		uint32		i = number >> (DIR_BITS * (depth - 1));

		ref = ((const LbRef *) lb_ptr(arena, ref))[i % DIR_FANOUT];
	}
	return ref;
}

/* Free what the directory of a table with this many pages does not need. */
static void
dir_trim(const LbMem *mem, LbHash *table, uint32 pages)
{
	LbArena    *arena = mem->arena;
	LbRef	   *entry = &table->root;
	LbRef		ref;
	uint32		depth;

	Assert(pages > 0);

	/*
	 * Pages come and go at the end.  So what is superfluous is on the path to
	 * the first page that does not exist.
	 */
	if (pages < dir_capacity(table->depth))
	{
		for (depth = table->depth; depth > 0; depth--)
		{
			uint32		i = pages >> (DIR_BITS * (depth - 1));

			entry = (LbRef *) lb_ptr(arena, *entry) + i % DIR_FANOUT;
			if (depth > 1 && *entry != LB_NONE &&
				pages % dir_capacity(depth - 1) == 0)
			{
				/* This subtree has no page.  It is a single path. */
				ref = *entry;
				*entry = LB_NONE;
				while (--depth > 0)
				{
					LbRef		child = *(LbRef *) lb_ptr(arena, ref);

					lb_hash_chunk_free(mem, &table->chunks, ref, LB_MAX_ORDER);
					if (child == LB_NONE)
						break;
					ref = child;
				}
				break;
			}
			if (*entry == LB_NONE)
				break;
		}
	}

	while (table->depth > 0 && pages <= dir_capacity(table->depth - 1))
	{
		ref = table->root;
		table->root = *(LbRef *) lb_ptr(arena, ref);
		table->depth--;
		lb_hash_chunk_free(mem, &table->chunks, ref, LB_MAX_ORDER);
	}
}

/*
 * Enter a chain as the page with the number "pages", the first one that does
 * not exist yet.  Returns false if there is no memory, and then nothing has
 * changed.
 */
static bool
dir_append(const LbMem *mem, LbHash *table, uint32 pages, LbRef chain)
{
	LbArena    *arena = mem->arena;
	LbRef	   *entry;
	LbRef		ref;
	uint32		depth;

	if (pages == 0)
	{
		table->root = chain;
		table->depth = 0;
		return true;
	}

	if (pages >= dir_capacity(table->depth))
	{
		ref = lb_hash_chunk_new(mem, &table->chunks, LB_MAX_ORDER);
		if (ref == LB_NONE)
			return false;
		memset(lb_ptr(arena, ref), 0, LB_PAGE_SIZE);
		*(LbRef *) lb_ptr(arena, ref) = table->root;
		table->root = ref;
		table->depth++;
	}

	entry = &table->root;
	for (depth = table->depth; depth > 0; depth--)
	{
		uint32		i = pages >> (DIR_BITS * (depth - 1));

		if (*entry == LB_NONE)
		{
			ref = lb_hash_chunk_new(mem, &table->chunks, LB_MAX_ORDER);
			if (ref == LB_NONE)
			{
				dir_trim(mem, table, pages);
				return false;
			}
			memset(lb_ptr(arena, ref), 0, LB_PAGE_SIZE);
			*entry = ref;
		}
		entry = (LbRef *) lb_ptr(arena, *entry) + i % DIR_FANOUT;
	}
	Assert(*entry == LB_NONE);
	*entry = chain;
	return true;
}

/* Free everything under a directory entry. */
static void
dir_free(const LbMem *mem, LbHash *table, LbRef ref, uint32 depth)
{
	if (depth == 0)
		lb_hash_chain_free(mem, &table->chunks, ref);
	else
	{
		const LbRef *children = (const LbRef *) lb_ptr(mem->arena, ref);
		uint32		i;

		/* Children fill a directory page from the left. */
		for (i = 0; i < DIR_FANOUT && children[i] != LB_NONE; i++)
			dir_free(mem, table, children[i], depth - 1);
		lb_hash_chunk_free(mem, &table->chunks, ref, LB_MAX_ORDER);
	}
}

/*--------------------------------------------------------------------------
 * Growing and shrinking
 *--------------------------------------------------------------------------
 */

/* How many of n pages should be split, at this number of entries. */
static inline uint64
splits_wanted(uint64 n, uint64 entries)
{
	uint64		slots = n * FULL_PAGE_SLOTS;
	uint64		from = slots * SPLIT_FROM / 100;
	uint64		up_to = slots * SPLIT_UP_TO / 100;

	if (entries <= from)
		return 0;
	if (entries >= up_to)
		return n;
	return Min((entries - from) * n / (up_to - from) + 1, n);
}

/* Split one page, if the table is full enough and there is memory. */
static void
maybe_split(const LbMem *mem, LbHash *table)
{
	LbArena    *arena = mem->arena;
	uint32		n = table->base << table->level;
	LbRef	   *entry;
	LbRef		old;
	LbRef		low;
	LbRef		high;
	LbRef		ref;
	uint64		count = 0;
	uint64		count_high = 0;

	if (table->split >= splits_wanted(n, table->entries) ||
		n > UINT32_MAX / 4)
		return;

	old = dir_get(arena, table, table->split);
	for (ref = old; ref != LB_NONE; ref = page_ptr(arena, ref)->overflow)
	{
		const HashPage *page = page_ptr(arena, ref);
		uint32		nslots = PAGE_SLOTS(page->order);
		uint32		i;

		for (i = 0; i < nslots; i++)
			count_high += page->slots[i].ref != LB_NONE &&
				page->slots[i].hash % (n * 2) != table->split;
		count += page->count;
	}

	low = lb_hash_chain_new(mem, &table->chunks, count - count_high, false);
	if (low == LB_NONE)
		return;
	high = lb_hash_chain_new(mem, &table->chunks, count_high, false);
	if (high == LB_NONE)
	{
		lb_hash_chain_free(mem, &table->chunks, low);
		return;
	}
	if (!dir_append(mem, table, n + table->split, high))
	{
		lb_hash_chain_free(mem, &table->chunks, low);
		lb_hash_chain_free(mem, &table->chunks, high);
		return;
	}

	lb_hash_chain_distribute(arena, old, low, high, n * 2, n + table->split);
	entry = dir_entry(arena, table, table->split);
	*entry = low;
	lb_hash_chain_free(mem, &table->chunks, old);

	if (++table->split == n)
	{
		table->level++;
		table->split = 0;
	}
}

/* Undo one split, if the table is empty enough and there is memory. */
static void
maybe_merge(const LbMem *mem, LbHash *table)
{
	LbArena    *arena = mem->arena;
	uint64		entries = table->entries * 100 / MERGE_BELOW;
	uint32		n = table->base << table->level;
	uint32		split = table->split;
	LbRef	   *last;
	LbRef		low;
	LbRef		high;
	LbRef		chain;

	if (split == 0)
	{
		if (table->level == 0)
			return;
		n /= 2;
		split = n;
	}
	if (split <= splits_wanted(n, entries))
		return;

	/* Merge the last page with the one that it was split from. */
	low = dir_get(arena, table, split - 1);
	last = dir_entry(arena, table, n + split - 1);
	high = *last;
	chain = lb_hash_chain_new(mem, &table->chunks,
							  lb_hash_chain_count(arena, low) + lb_hash_chain_count(arena, high),
							  false);
	if (chain == LB_NONE)
		return;
	lb_hash_chain_distribute(arena, low, chain, LB_NONE, 0, 0);
	lb_hash_chain_distribute(arena, high, chain, LB_NONE, 0, 0);
	*last = LB_NONE;
	*dir_entry(arena, table, split - 1) = chain;
	lb_hash_chain_free(mem, &table->chunks, low);
	lb_hash_chain_free(mem, &table->chunks, high);

	if (table->split == 0)
		table->level--;
	table->split = split - 1;
	dir_trim(mem, table, n + table->split);
}

/* Make the pages of a table without entries. */
static LbResult
reserve_pages(const LbMem *mem, LbHash *table, uint32 base, uint32 level,
			  uint64 entries)
{
	uint32		pages = base << level;
	uint32		i;

	for (i = 0; i < pages; i++)
	{
		LbRef		chain = lb_hash_chain_new(mem, &table->chunks, pages == 1 ? entries : 0,
											  pages == 1);

		if (chain != LB_NONE && dir_append(mem, table, i, chain))
			continue;
		if (chain != LB_NONE)
			lb_hash_chain_free(mem, &table->chunks, chain);
		if (i > 0)
			dir_free(mem, table, table->root, table->depth);
		Assert(table->chunks == 0);
		lb_hash_init(table);
		return LB_NOMEM;
	}
	table->base = base;
	table->level = level;
	table->split = 0;
	return LB_OK;
}

/* A table that takes over the entries of another one. */
typedef struct Rehash
{
	const LbMem *mem;
	LbHash		new;
} Rehash;

/* Enter an entry into the new table; false if there is no memory. */
static bool
rehash_entry(uint32 hash, LbRef ref, void *arg)
{
	Rehash	   *rehash = (Rehash *) arg;
	LbHash	   *new = &rehash->new;

	if (!lb_hash_chain_insert(rehash->mem, &new->chunks,
							  dir_entry(rehash->mem->arena, new,
										page_of(new, hash)),
							  hash, ref))
		return false;
	new->entries++;
	return true;
}

/*
 * Move a small table that is mostly empty to fewer pages, if there is memory.
 */
static void
maybe_rehash(const LbMem *mem, LbHash *table)
{
	uint32		pages = table_pages(table);
	uint64		slots = (uint64) pages * FULL_PAGE_SLOTS;
	uint32		new_pages;
	Rehash		rehash = {.mem = mem};

	if (pages > MAX_BASE || table->level > 0 || table->split > 0)
		return;
	if (pages == 1)
		slots = PAGE_SLOTS(page_ptr(mem->arena, table->root)->order);
	if (slots == PAGE_SLOTS(0) || table->entries * 100 >= slots * REHASH_BELOW)
		return;

	/* Half full, so that it does not grow again soon. */
	new_pages = (uint32) (table->entries * 2 / FULL_PAGE_SLOTS + 1);
	if (reserve_pages(mem, &rehash.new, new_pages, 0,
					  table->entries * 2) != LB_OK)
		return;
	lb_hash_walk(mem->arena, table, rehash_entry, &rehash);
	if (rehash.new.entries < table->entries)
	{
		lb_hash_free(mem, &rehash.new);
		return;
	}
	lb_hash_free(mem, table);
	*table = rehash.new;
}

/*--------------------------------------------------------------------------
 * The interface
 *--------------------------------------------------------------------------
 */

uint64
lb_hash_estimate(uint64 entries)
{
	uint64		n;
	uint64		pages;
	uint64		all;
	int			order = 0;

	if (entries == 0)
		return 0;
	if (entries <= FULL_PAGE_SLOTS * SPLIT_FROM / 100)
	{
		while (PAGE_SLOTS(order) < entries)
			order++;
		return (uint64) LB_CHUNK_SIZE << order;
	}

	/* At worst, all pages of a round have just been split. */
	n = entries * 100 / (FULL_PAGE_SLOTS * SPLIT_UP_TO);
	pages = Max(n * 2, n + 1 + splits_wanted(n + 1, entries));
	pages = Max(pages, entries * 100 / (FULL_PAGE_SLOTS * RESERVE_LOAD) + 1);
	for (all = pages; pages > 1; all += pages)
		pages = (pages + DIR_FANOUT - 1) / DIR_FANOUT;

	/* In a table of few pages, one may overflow before it is split. */
	return all * LB_PAGE_SIZE + 2 * LB_CHUNK_SIZE;
}

void
lb_hash_init(LbHash *table)
{
	memset(table, 0, sizeof(LbHash));
}

LbResult
lb_hash_reserve(const LbMem *mem, LbHash *table, uint64 entries)
{
	uint64		room = (uint64) FULL_PAGE_SLOTS * RESERVE_LOAD;
	uint64		pages = (entries * 100 + room - 1) / room;
	uint32		level = 0;

	Assert(table->root == LB_NONE && table->entries == 0);
	if (entries == 0)
		return LB_OK;
	if (entries <= FULL_PAGE_SLOTS)
		pages = 1;
	while (((pages - 1) >> level) + 1 > MAX_BASE)
		level++;
	pages = ((pages - 1) >> level) + 1;
	if (pages << level > UINT32_MAX / 4)
		return LB_NOMEM;
	return reserve_pages(mem, table, (uint32) pages, level, entries);
}

/* Set scan to where the search for a hash begins. */
static inline void
scan_begin(const LbArena *arena, const LbHash *table, uint32 hash,
		   LbHashScan *scan)
{
	scan->hash = hash;
	scan->page = LB_NONE;
	if (table->root == LB_NONE)
		return;
	scan->page = dir_get(arena, table, page_of(table, hash));

	/*
	 * All pages of a table with several are whole.  So the search need not
	 * wait for the page's header before it reads slots.
	 */
	scan->nslots = table->depth > 0 ? FULL_PAGE_SLOTS :
		PAGE_SLOTS(page_ptr(arena, scan->page)->order);
	scan->slot = home_slot(hash, scan->nslots);
	scan->probed = 0;
}

/* The next reference with scan->hash. */
static inline LbRef
scan_on(const LbArena *arena, LbHashScan *scan)
{
	const HashPage *page;
	uint32		hash = scan->hash;

	if (scan->page == LB_NONE)
		return LB_NONE;
	page = page_ptr(arena, scan->page);
	for (;;)
	{
		uint32		nslots = scan->nslots;
		uint32		at = scan->slot;
		uint32		probed;

		for (probed = scan->probed; probed < nslots; probed++)
		{
			const HashSlot *slot = &page->slots[at];

			if (slot->ref == LB_NONE)
				return LB_NONE; /* not full, so the chain ends here */
			if (++at == nslots)
				at = 0;
			if (slot->hash == hash)
			{
				scan->slot = at;
				scan->probed = probed + 1;
				return slot->ref;
			}
		}
		if (page->overflow == LB_NONE)
			return LB_NONE;
		scan->page = page->overflow;
		page = page_ptr(arena, scan->page);
		scan->nslots = PAGE_SLOTS(page->order);
		scan->slot = home_slot(hash, scan->nslots);
		scan->probed = 0;
	}
}

LbRef
lb_hash_first(const LbArena *arena, const LbHash *table, uint32 hash,
			  LbHashScan *scan)
{
	scan_begin(arena, table, hash, scan);
	return scan_on(arena, scan);
}

LbRef
lb_hash_next(const LbArena *arena, const LbHash *table, LbHashScan *scan)
{
	(void) table;
	return scan_on(arena, scan);
}

void
lb_hash_begin(const LbArena *arena, const LbHash *table, uint32 hash,
			  LbHashScan *scan)
{
	const HashSlot *home;

	scan_begin(arena, table, hash, scan);

	/* A single page is likely to be in the cache. */
	if (table->depth == 0)
		return;

	/* At 80 % fill, a third of the searches reach the next cache line. */
	home = &page_ptr(arena, scan->page)->slots[scan->slot];
	lb_prefetch(home);
	lb_prefetch(home + 4);
}

void
lb_hash_prefetch(const LbArena *arena, const LbHash *table, uint32 hash)
{
	const HashPage *page;

	if (table->depth == 0)
		return;
	page = page_ptr(arena, dir_get(arena, table, page_of(table, hash)));
	lb_prefetch(page);
	lb_prefetch(&page->slots[home_slot(hash, FULL_PAGE_SLOTS)]);
}

LbResult
lb_hash_insert(const LbMem *mem, LbHash *table, uint32 hash, LbRef ref)
{
	Assert(ref != LB_NONE);

	if (table->root == LB_NONE &&
		reserve_pages(mem, table, 1, 0, 1) != LB_OK)
		return LB_NOMEM;
	if (!lb_hash_chain_insert(mem, &table->chunks,
							  dir_entry(mem->arena, table, page_of(table, hash)),
							  hash, ref))
		return LB_NOMEM;
	table->entries++;
	maybe_split(mem, table);
	return LB_OK;
}

bool
lb_hash_replace(const LbArena *arena, const LbHash *table, uint32 hash,
				LbRef from, LbRef to)
{
	LbHashScan	scan;
	LbRef		ref;

	Assert(from != LB_NONE && to != LB_NONE);
	for (ref = lb_hash_first(arena, table, hash, &scan); ref != LB_NONE;
		 ref = lb_hash_next(arena, table, &scan))
	{
		if (ref == from)
		{
			HashPage   *page = page_ptr(arena, scan.page);
			uint32		nslots = PAGE_SLOTS(page->order);
			uint32		slot = scan.slot == 0 ? nslots - 1 : scan.slot - 1;

			Assert(page->slots[slot].hash == hash);
			page->slots[slot].ref = to;
			return true;
		}
	}
	return false;
}

bool
lb_hash_delete(const LbMem *mem, LbHash *table, uint32 hash, LbRef ref)
{
	LbArena    *arena = mem->arena;
	LbHashScan	scan;
	LbRef		found;
	HashPage   *page;
	HashPage   *last;
	LbRef	   *head;
	LbRef	   *link;
	uint32		nslots;
	uint32		i = 0;

	for (found = lb_hash_first(arena, table, hash, &scan); found != ref;
		 found = lb_hash_next(arena, table, &scan))
	{
		if (found == LB_NONE)
			return false;
	}

	page = page_ptr(arena, scan.page);
	nslots = PAGE_SLOTS(page->order);
	lb_hash_chunk_remove(page, scan.slot == 0 ? nslots - 1 : scan.slot - 1);
	table->entries--;
	if (table->entries == 0)
	{
		lb_hash_free(mem, table);
		return true;
	}

	/*
	 * Only the last chunk of a chain may have room.  So an entry of it fills
	 * the gap.  If that leaves an overflow chunk empty, free it.
	 */
	head = dir_entry(arena, table, page_of(table, hash));
	link = head;
	last = page_ptr(arena, *link);
	while (last->overflow != LB_NONE)
	{
		link = &last->overflow;
		last = page_ptr(arena, *link);
	}
	if (last != page)
	{
		while (last->slots[i].ref == LB_NONE)
			i++;
		chunk_put(page, last->slots[i].hash, last->slots[i].ref);
		lb_hash_chunk_remove(last, i);
	}
	if (last->count == 0 && link != head)
	{
		LbRef		empty = *link;
		int			order = last->order;

		*link = LB_NONE;
		lb_hash_chunk_free(mem, &table->chunks, empty, order);
	}

	maybe_merge(mem, table);
	maybe_rehash(mem, table);
	return true;
}

void
lb_hash_walk(const LbArena *arena, const LbHash *table,
			 bool (*visit) (uint32 hash, LbRef ref, void *arg), void *arg)
{
	uint32		pages = table->root == LB_NONE ? 0 : table_pages(table);
	uint32		i;

	for (i = 0; i < pages; i++)
	{
		LbRef		ref;

		for (ref = dir_get(arena, table, i); ref != LB_NONE;
			 ref = page_ptr(arena, ref)->overflow)
		{
			const HashPage *page = page_ptr(arena, ref);
			uint32		nslots = PAGE_SLOTS(page->order);
			uint32		j;

			for (j = 0; j < nslots; j++)
			{
				if (page->slots[j].ref != LB_NONE &&
					!visit(page->slots[j].hash, page->slots[j].ref, arg))
					return;
			}
		}
	}
}

void
lb_hash_free(const LbMem *mem, LbHash *table)
{
	if (table->root != LB_NONE)
		dir_free(mem, table, table->root, table->depth);
	Assert(table->chunks == 0);
	lb_hash_init(table);
}

/* The finalizer of MurmurHash3 (A. Appleby), chained over the words. */
static inline uint64
hash_word(uint64 h, uint64 word)
{
	h ^= word;
	h ^= h >> 33;
	h *= UINT64CONST(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64CONST(0xc4ceb9fe1a85ec53);
	h ^= h >> 33;
	return h;
}

static inline uint32
fold(uint64 h)
{
	return (uint32) h ^ (uint32) (h >> 32);
}

uint32
lb_hash_words(uint64 seed, const int64 *words, int nwords)
{
	uint64		h = seed;
	int			i;

	for (i = 0; i < nwords; i++)
		h = hash_word(h, (uint64) words[i]);
	return fold(h);
}

uint32
lb_hash_bytes(uint64 seed, const char *bytes, int len)
{
	uint64		h = seed;
	uint64		last = (uint64) len;
	uint64		word;
	int			left;

	for (left = len; left >= (int) sizeof(word); left -= sizeof(word))
	{
		memcpy(&word, bytes, sizeof(word));
		h = hash_word(h, word);
		bytes += sizeof(word);
	}

	/* The length tells zeros at the end from none. */
	while (left-- > 0)
		last = last << 8 | (unsigned char) *bytes++;
	return fold(hash_word(h, last));
}
