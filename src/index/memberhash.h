/*-------------------------------------------------------------------------
 *
 * memberhash.h
 *	  A hash of references that grows one step at a time.
 *
 * Slots are pairs (hash, reference), eight bytes each, in pages of the arena
 * with open addressing inside a page.  Pages are added by linear hashing
 * (Litwin 1980): one page is split at a time, so that no operation under a
 * board's lock ever moves more than a page.  The table does not know its keys:
 * the caller compares what a reference leads to.  One use is member -> leaf of
 * the skip list, another value -> board of a family.
 *
 * The caller has the lock of the board or stripe: at least shared for
 * functions that take a const LbHash, exclusive for the others and for
 * lb_hash_replace.  None raises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMBERHASH_H
#define LB_MEMBERHASH_H

#include "index/arena.h"

typedef struct LbHash
{
	LbRef		root;			/* directory of pages, a radix tree */
	uint32		depth;			/* of the directory; at 0 root is a page */
	uint32		base;			/* pages at level 0 */
	uint32		level;			/* rounds of splitting completed */
	uint32		split;			/* next page to split in this round */
	uint64		entries;
	uint64		chunks;			/* memory, in units of LB_CHUNK_SIZE */
} LbHash;

/* The state of a search; local to a process. */
typedef struct LbHashScan
{
	uint32		hash;
	LbRef		page;			/* chunk; LB_NONE in an empty table */
	uint32		nslots;			/* of the chunk */
	uint32		slot;			/* the next to look at */
	uint32		probed;			/* slots of the chunk already seen */
} LbHashScan;

/* Make an empty table, which takes no memory. */
extern void lb_hash_init(LbHash *table);

/*
 * Make room for about this many entries in an empty table, before a bulk
 * build.  LB_OK, or LB_NOMEM, which leaves it empty.
 */
extern LbResult lb_hash_reserve(const LbMem *mem, LbHash *table,
								uint64 entries);

/*
 * The first and the next reference with a hash; LB_NONE at the end.  Several
 * entries can have the same hash.
 */
extern LbRef lb_hash_first(const LbArena *arena, const LbHash *table,
						   uint32 hash, LbHashScan *scan);
extern LbRef lb_hash_next(const LbArena *arena, const LbHash *table,
						  LbHashScan *scan);

/*
 * lb_hash_first in two steps: this one prefetches the cache lines where the
 * search begins, and then lb_hash_next returns the first reference.
 */
extern void lb_hash_begin(const LbArena *arena, const LbHash *table,
						  uint32 hash, LbHashScan *scan);

/* Prefetch the cache lines that a change of an entry with this hash needs. */
extern void lb_hash_prefetch(const LbArena *arena, const LbHash *table,
							 uint32 hash);

/* Insert an entry.  LB_OK, or LB_NOMEM, which changes nothing. */
extern LbResult lb_hash_insert(const LbMem *mem, LbHash *table, uint32 hash,
							   LbRef ref);

/*
 * Change one entry (hash, from) into (hash, to).  Returns false if there is
 * none.  Of several equal entries it changes any.
 */
extern bool lb_hash_replace(const LbArena *arena, const LbHash *table,
							uint32 hash, LbRef from, LbRef to);

/* Remove one entry (hash, ref).  Returns false if there is none. */
extern bool lb_hash_delete(const LbMem *mem, LbHash *table, uint32 hash,
						   LbRef ref);

/*
 * Call visit for every entry, in no particular order, until it returns false.
 * visit must not change the table.
 */
extern void lb_hash_walk(const LbArena *arena, const LbHash *table,
						 bool (*visit) (uint32 hash, LbRef ref, void *arg),
						 void *arg);

/* Free all memory and leave an empty table. */
extern void lb_hash_free(const LbMem *mem, LbHash *table);

/*
 * The most memory, in bytes, that a table of this many entries takes if it
 * never had more, whether built at that size or grown to it.
 */
extern uint64 lb_hash_estimate(uint64 entries);

/*
 * Check the table's invariants.  Returns NULL, or a static string with a
 * fault.
 */
extern const char *lb_hash_check(const LbArena *arena, const LbHash *table);

/*
 * The hash of nwords int64 words (a member), and of len bytes (the value of a
 * board column).  A user who does not know the seed cannot choose members or
 * values that collide.
 */
extern uint32 lb_hash_words(uint64 seed, const int64 *words, int nwords);
extern uint32 lb_hash_bytes(uint64 seed, const char *bytes, int len);

#endif							/* LB_MEMBERHASH_H */
