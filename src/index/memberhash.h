/*-------------------------------------------------------------------------
 *
 * memberhash.h
 *	  A hash of references that grows one step at a time.
 *
 * Slots are pairs (hash, reference), eight bytes each, in pages of the arena
 * with open addressing inside a page.  Pages are added by linear hashing
 * (Litwin 1980): one page is split at a time, so that no operation under a
 * board's lock ever moves more than a page.  The table does not know its
 * keys: the caller compares what a reference leads to.  It serves as
 * member -> leaf block of the skip list, and as value -> board of a family.
 *
 * All functions need the lock of the board or stripe: shared for the reading
 * ones, exclusive for the others.  None raises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMBERHASH_H
#define LB_MEMBERHASH_H

#include "index/arena.h"

typedef struct LbHash
{
	LbRef		root;			/* directory of pages, a radix tree */
	uint32		depth;			/* of the directory; 0 is a page itself */
	uint32		base;			/* pages at level 0 */
	uint32		level;			/* rounds of splitting completed */
	uint32		split;			/* next page to split in this round */
	uint64		entries;
	uint64		chunks;			/* memory, in units of LB_CHUNK_SIZE */
} LbHash;

/* Where a search stands; local to a process. */
typedef struct LbHashScan
{
	uint32		hash;
	LbRef		page;			/* a chunk, LB_NONE: of an empty table */
	uint32		nslots;			/* of that */
	uint32		slot;			/* the next to look at */
	uint32		probed;
} LbHashScan;

/* An empty table without memory. */
extern void lb_hash_init(LbHash *table);

/*
 * Make room for about entries at once, in an empty table, before a bulk
 * build.  LB_NOMEM leaves it empty.
 */
extern LbResult lb_hash_reserve(const LbMem *mem, LbHash *table,
								uint64 entries);

/*
 * First and next reference filed under hash; LB_NONE at the end.  The same
 * hash can be there several times.
 */
extern LbRef lb_hash_first(const LbArena *arena, const LbHash *table,
						   uint32 hash, LbHashScan *scan);
extern LbRef lb_hash_next(const LbArena *arena, const LbHash *table,
						  LbHashScan *scan);

/*
 * lb_hash_first in two steps: where the search for hash begins, with the cache
 * lines there asked for, and then by lb_hash_next the first reference.
 */
extern void lb_hash_begin(const LbArena *arena, const LbHash *table,
						  uint32 hash, LbHashScan *scan);

/* Ask the processor for the cache lines that a change of hash will need. */
extern void lb_hash_prefetch(const LbArena *arena, const LbHash *table,
							 uint32 hash);

/* File ref under hash.  LB_OK or LB_NOMEM, which changes nothing. */
extern LbResult lb_hash_insert(const LbMem *mem, LbHash *table, uint32 hash,
							   LbRef ref);

/*
 * Change one slot (hash, from) into (hash, to).  Returns false if there is
 * none.  The caller says which of several equal slots does not matter.
 */
extern bool lb_hash_replace(const LbArena *arena, const LbHash *table,
							uint32 hash, LbRef from, LbRef to);

/* Remove one slot (hash, ref).  Returns false if there is none. */
extern bool lb_hash_delete(const LbMem *mem, LbHash *table, uint32 hash,
						   LbRef ref);

/*
 * Call visit for every slot, in no order, until it returns false.  The table
 * must not change meanwhile.
 */
extern void lb_hash_walk(const LbArena *arena, const LbHash *table,
						 bool (*visit) (uint32 hash, LbRef ref, void *arg),
						 void *arg);

/* Give all memory back and leave an empty table. */
extern void lb_hash_free(const LbMem *mem, LbHash *table);

/*
 * The most memory, in bytes, that a table of so many entries takes which has not
 * had more: built at that size, or grown to it from any other.
 */
extern uint64 lb_hash_estimate(uint64 entries);

/* Check the table's invariants: NULL, or a static string. */
extern const char *lb_hash_check(const LbArena *arena, const LbHash *table);

/*
 * The hash of nwords int64 words (a member).  Who does not know the seed cannot
 * choose members that collide.
 */
extern uint32 lb_hash_words(uint64 seed, const int64 *words, int nwords);

#endif							/* LB_MEMBERHASH_H */
