/*-------------------------------------------------------------------------
 *
 * hashpage.h
 *	  A page of the member hash: a chain of chunks.
 *
 * Nearly always a page is one chunk, a small open-addressed table with linear
 * probing and no tombstones.  Entries that do not fit go to overflow chunks,
 * which start small and double.
 *
 * Invariants:
 *	- every chunk of a chain is full, except the last;
 *	- an entry can be reached from its home slot within its chunk without
 *	  meeting an empty slot;
 *	- an overflow chunk is never empty.
 *
 * This header is private to the member hash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_HASHPAGE_H
#define LB_HASHPAGE_H

#include "index/arena.h"

typedef struct HashSlot
{
	uint32		hash;
	LbRef		ref;			/* LB_NONE: empty */
} HashSlot;

typedef struct HashPage
{
	LbRef		overflow;		/* next chunk of the chain */
	uint16		count;			/* slots in use */
	uint16		order;			/* size of this chunk */
	HashSlot	slots[FLEXIBLE_ARRAY_MEMBER];
} HashPage;

#define PAGE_SLOTS(order) \
	(((uint32) LB_CHUNK_SIZE << (order)) / (uint32) sizeof(HashSlot) - 1)
#define FULL_PAGE_SLOTS PAGE_SLOTS(LB_MAX_ORDER)

StaticAssertDecl(sizeof(HashSlot) == 8 && offsetof(HashPage, slots) == 8,
				 "a hash page has no padding");

static inline HashPage *
page_ptr(const LbArena *arena, LbRef ref)
{
	return (HashPage *) lb_ptr(arena, ref);
}

/* Where in a chunk the search for a hash starts. */
static inline uint32
home_slot(uint32 hash, uint32 nslots)
{
	/* The page number has used up the remainder; take other bits. */
	return (((hash * 2654435769U) >> 16) * nslots) >> 16;
}

/* Put an entry into a chunk that is not full. */
static inline void
chunk_put(HashPage *page, uint32 hash, LbRef ref)
{
	uint32		nslots = PAGE_SLOTS(page->order);
	uint32		i = home_slot(hash, nslots);

	Assert(page->count < nslots && ref != LB_NONE);
	while (page->slots[i].ref != LB_NONE)
	{
		if (++i == nslots)
			i = 0;
	}
	page->slots[i].hash = hash;
	page->slots[i].ref = ref;
	page->count++;
}

/*
 * Take an empty chunk.  LB_NONE if there is no memory.  This function and
 * those that follow keep *chunks, the table's memory in units of
 * LB_CHUNK_SIZE.
 */
extern LbRef lb_hash_chunk_new(const LbMem *mem, uint64 *chunks, int order);

extern void lb_hash_chunk_free(const LbMem *mem, uint64 *chunks, LbRef ref,
							   int order);

/* Empty a slot, and close the gap so that no search stops too early. */
extern void lb_hash_chunk_remove(HashPage *page, uint32 slot);

/*
 * Take an empty chain with room for this many entries.  Its first chunk is a
 * whole page, unless the table has only this one.  LB_NONE if there is no
 * memory.
 */
extern LbRef lb_hash_chain_new(const LbMem *mem, uint64 *chunks,
							   uint64 entries, bool only);

extern void lb_hash_chain_free(const LbMem *mem, uint64 *chunks, LbRef ref);

/*
 * Put an entry into a chain, which grows if necessary.  *head is the reference
 * to the chain, and changes if its first chunk does.  Returns false if there
 * is no memory, and then nothing has changed.
 */
extern bool lb_hash_chain_insert(const LbMem *mem, uint64 *chunks, LbRef *head,
								 uint32 hash, LbRef value);

/*
 * Copy the entries of one chain to others that have room: to "high" those
 * whose hash leaves high_page modulo pages, the others to "low".  All go to
 * "low" if "high" is LB_NONE.
 */
extern void lb_hash_chain_distribute(const LbArena *arena, LbRef from,
									 LbRef low, LbRef high, uint32 pages,
									 uint32 high_page);

/* How many entries a chain has. */
extern uint64 lb_hash_chain_count(const LbArena *arena, LbRef ref);

#endif							/* LB_HASHPAGE_H */
