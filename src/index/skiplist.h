/*-------------------------------------------------------------------------
 *
 * skiplist.h
 *	  The span-counted skip list of one board, with its member hash.
 *
 * See src/README for the algorithm.  All functions need the lock of the board
 * unless the index is not yet reachable by others, or their comment says
 * otherwise: shared for those that take a const LbIndex, exclusive for the
 * others.  None raises and none allocates process-local memory, so all may be
 * called after the commit record.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SKIPLIST_H
#define LB_SKIPLIST_H

#include "index/arena.h"
#include "index/memberhash.h"

#define LB_MAX_HEIGHT 12

/* The index of one board, in shared memory (part of the board's chunk). */
typedef struct LbIndex
{
	uint8		width;			/* words of a key, member included */
	uint8		member_words;	/* of these, the last ones are the member */
	uint8		height;			/* levels; 0 is empty, 1 a single leaf block */
	uint8		root_order;		/* size of the root, which may be a small leaf */
	LbRef		root;			/* top block */
	LbRef		first;			/* leftmost leaf block */
	LbRef		last;			/* rightmost leaf block */
	uint64		members;
	uint64		distinct;		/* distinct scores */
	uint64		chunks;			/* memory of the blocks, the hash's own
								 * excluded, in units of LB_CHUNK_SIZE */
	LbHash		hash;			/* member -> leaf block; empty while the board
								 * is so small that leaves are searched */
} LbIndex;

/* A place in the index; valid until the index changes.  Process-local. */
typedef struct LbCursor
{
	LbRef		leaf;			/* LB_NONE: before the first or after the last */
	int			slot;
} LbCursor;

/*
 * The way from the top to a key's place, by blocks and slots; index 0 is the
 * leaf.  Process-local.
 */
typedef struct LbPath
{
	LbRef		ref[LB_MAX_HEIGHT];
	int			slot[LB_MAX_HEIGHT];
} LbPath;

/* A bulk build under way.  Process-local; no cleanup of its own needed. */
typedef struct LbBulk
{
	const LbMem *mem;
	LbIndex    *index;
	uint64		expected;
	int			height;
	LbRef		open[LB_MAX_HEIGHT];	/* rightmost block of each level */
	int64		last[LB_MAX_WIDTH]; /* last key added */
} LbBulk;

/* Make an empty index without memory. */
extern void lb_index_init(LbIndex *index, int width, int member_words);

/*
 * Insert key.  LB_OK; LB_EXISTS if the member is there with whatever key;
 * LB_NOMEM, which leaves the index as it was.
 */
extern LbResult lb_index_insert(const LbMem *mem, LbIndex *index,
								const int64 *key);

/*
 * Remove exactly key.  LB_OK, or LB_NOTFOUND if the member is not there with
 * this very key.  Gives blocks back; the last entry gives back everything.
 */
extern LbResult lb_index_remove(const LbMem *mem, LbIndex *index,
								const int64 *key);

/*
 * Remove exactly old and insert new, of the same member.  LB_OK; LB_NOTFOUND
 * as for lb_index_remove; LB_NOMEM, and then old is gone and new not there.
 * The hints are where the ways to old and new may lead, or NULL: wrong ones
 * only cost time.  Who has them has sent for the hash's memory, too.
 */
extern LbResult lb_index_replace(const LbMem *mem, LbIndex *index,
								 const int64 *old, const int64 *new,
								 const LbPath *old_hint,
								 const LbPath *new_hint);

/*
 * Copy the key of member to key, and its place to cursor if that is not NULL.
 * Returns false if it is not there.
 */
extern bool lb_index_lookup(const LbArena *arena, const LbIndex *index,
							const int64 *member, int64 *key,
							LbCursor *cursor);

/* Have the memory on its way that a change of member reads first in the hash. */
extern void lb_index_prefetch_hash(const LbArena *arena, const LbIndex *index,
								   const int64 *member);

/*
 * lb_index_lookup for n members at once, at most LB_PREFETCH_KEYS: step by
 * step, so that their cache misses overlap.  members, keys and places have a
 * member, a key and a place for each, the latter two only where found says so;
 * of the keys no more than the first nwords words are needed.
 */
#define LB_PREFETCH_KEYS 64
extern void lb_index_lookup_many(const LbArena *arena, const LbIndex *index,
								 const int64 *members, int n, int nwords,
								 int64 *keys, bool *found, LbCursor *places);

/*
 * Have the memory on its way that inserting or removing these keys is going to
 * touch, at most LB_PREFETCH_KEYS of them: level by level, so that the misses
 * of all overlap.  paths gets the way to each key, as hints.
 *
 * Needs no lock, if index is a copy that was made under it: what others change
 * meanwhile makes the hints worthless and nothing worse.
 */
extern void lb_index_prefetch_changes(const LbArena *arena,
									  const LbIndex *index,
									  const int64 *const *keys, int nkeys,
									  LbPath *paths);

/*
 * How many entries, and how many distinct scores, come before prefix, the
 * first nwords words of a key (1 .. width); with inclusive also those equal
 * to it.  Either result pointer may be NULL.
 */
extern void lb_index_spans(const LbArena *arena, const LbIndex *index,
						   const int64 *prefix, int nwords, bool inclusive,
						   uint64 *members, uint64 *distinct);

/*
 * The same, not inclusive, for n prefixes at once, at most LB_PREFETCH_KEYS:
 * level by level, so that their cache misses overlap.  distinct may be NULL.
 * Where is known of a prefix that an entry begins with it, places has that
 * entry, and else LB_NONE as its leaf; then less of the leaf is read.
 */
extern void lb_index_spans_many(const LbArena *arena, const LbIndex *index,
								const int64 *const *prefixes,
								const LbCursor *places, int n, int nwords,
								uint64 *members, uint64 *distinct);

/* Move to the entry with so many before it.  Returns false past the end. */
extern bool lb_index_seek_place(const LbArena *arena, const LbIndex *index,
								uint64 before, LbCursor *cursor);

/*
 * Move to the first entry at or after prefix (see lb_index_spans).  Returns
 * false if there is none.
 */
extern bool lb_index_seek_key(const LbArena *arena, const LbIndex *index,
							  const int64 *prefix, int nwords,
							  LbCursor *cursor);

/* Copy the key at the cursor, which must be at an entry. */
extern void lb_cursor_key(const LbArena *arena, const LbIndex *index,
						  const LbCursor *cursor, int64 *key);

/* Move on by one.  Returns false when that leaves the list. */
extern bool lb_cursor_next(const LbArena *arena, const LbIndex *index,
						   LbCursor *cursor);
extern bool lb_cursor_prev(const LbArena *arena, const LbIndex *index,
						   LbCursor *cursor);

/*
 * Bulk build of an empty index from keys in ascending order: begin, add each,
 * finish.  expected is the number of keys, as near as it is known.  Blocks are
 * filled to 90 %.  LB_EXISTS if a key does not come after the one before it or
 * its member is there already (checked no later than finish); LB_NOMEM.
 * After anything but LB_OK, lb_index_free gives back what was taken.
 */
extern LbResult lb_bulk_begin(LbBulk *bulk, const LbMem *mem, LbIndex *index,
							  uint64 expected);
extern LbResult lb_bulk_add(LbBulk *bulk, const int64 *key);
extern LbResult lb_bulk_finish(LbBulk *bulk);

/* Give all memory back and leave an empty index of the same width. */
extern void lb_index_free(const LbMem *mem, LbIndex *index);

/* Memory of the index in bytes, hash included. */
static inline uint64
lb_index_bytes(const LbIndex *index)
{
	return (index->chunks + index->hash.chunks) * LB_CHUNK_SIZE;
}

/*
 * About the most memory, in bytes, that an index of so many entries takes which
 * has not had more, after as many changes at random as you like.
 */
extern uint64 lb_index_estimate(uint64 members, int width);

/*
 * Recompute everything that is stored: order, spans, distinct scores, first
 * keys, neighbours, fill, hash, memory.  NULL, or a static string that says
 * what is wrong first.
 */
extern const char *lb_index_check(const LbArena *arena, const LbIndex *index);

#endif							/* LB_SKIPLIST_H */
