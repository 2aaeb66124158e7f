/*-------------------------------------------------------------------------
 *
 * skiplist.h
 *	  The span-counted skip list of one board, with its member hash.
 *
 * See README for the algorithm.  If other processes can reach the index,
 * the caller has the lock of its stripe: at least shared for functions that
 * take a const LbIndex, exclusive for the others.  Where a function needs no
 * lock its comment says so.  None raises and none allocates process-local
 * memory, so all may be called after the commit record.
 *
 * Keys and members are whole, their words one after the other.  Without texts
 * a key has shape.width words.  With texts its words tell where it ends
 * (shape.h), and a place for a key has room for LB_MAX_KEY_WORDS; what is
 * behind a shorter key is not defined.
 *
 * If the index counts rows (shape.counts), an entry is a key and the number of
 * rows that have it, above 0, and "members" are rows.  lb_index_add changes
 * such an index.  lb_index_insert, _remove, _replace and the look-ups of
 * members are not for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SKIPLIST_H
#define LB_SKIPLIST_H

#include "index/arena.h"
#include "index/cell.h"
#include "index/memberhash.h"
#include "index/shape.h"

#define LB_MAX_HEIGHT 12

/* The index of one board, in shared memory (part of the board's chunk). */
typedef struct LbIndex
{
	LbShape		shape;			/* of the keys */
	uint8		height;			/* levels; 0 is empty, 1 a single leaf block */
	uint8		root_order;		/* order of the root, which may be a small
								 * leaf */
	LbRef		root;			/* top block */
	LbRef		first;			/* leftmost leaf block */
	LbRef		last;			/* rightmost leaf block */
	uint64		members;		/* with counts: rows */
	uint64		distinct;		/* distinct scores */
	uint64		chunks;			/* memory of the blocks, in units of
								 * LB_CHUNK_SIZE */
	LbCells		cells;			/* words of keys with texts */
	LbHash		hash;			/* member -> leaf; empty in a small index,
								 * whose leaves are searched */
} LbIndex;

/* An entry of the index; valid until the index changes.  Process-local. */
typedef struct LbCursor
{
	LbRef		leaf;			/* LB_NONE: before the first or after the last */
	int			slot;
} LbCursor;

/*
 * The path from the root to a key's place: the blocks, and the slots in them.
 * Element 0 is the leaf.  Process-local.
 */
typedef struct LbPath
{
	LbRef		ref[LB_MAX_HEIGHT];
	int			slot[LB_MAX_HEIGHT];
} LbPath;

/* The state of a bulk build.  Process-local; needs no cleanup of its own. */
typedef struct LbBulk
{
	const LbMem *mem;
	LbIndex    *index;
	uint64		expected;		/* keys */
	int			height;			/* levels so far */
	void		(*poll) (void); /* NULL, unless the caller sets it after
								 * lb_bulk_begin: lb_bulk_finish calls it now
								 * and then, and it may raise */
	LbRef		open[LB_MAX_HEIGHT];	/* rightmost block of each level */
	int64		last[LB_MAX_KEY_WORDS]; /* last key added */
} LbBulk;

/* Make an empty index without memory. */
extern void lb_index_init(LbIndex *index, const LbShape *shape);

/*
 * Insert key.  LB_OK; LB_EXISTS if the member is in the index, with any key;
 * LB_NOMEM, which leaves the index as it was.
 */
extern LbResult lb_index_insert(const LbMem *mem, LbIndex *index,
								const int64 *key);

/*
 * Remove exactly key.  LB_OK, or LB_NOTFOUND if the member is not in the index
 * with this key.  Frees blocks; removing the last entry frees everything.
 */
extern LbResult lb_index_remove(const LbMem *mem, LbIndex *index,
								const int64 *key);

/*
 * Remove exactly old and insert new, of the same member.  LB_OK; LB_NOTFOUND
 * as for lb_index_remove; LB_NOMEM, and then old has been removed and new not
 * inserted.  The hints are from lb_index_prefetch_changes, or NULL.  Wrong
 * hints only cost time.  A caller with hints has called
 * lb_index_prefetch_hash, too.
 */
extern LbResult lb_index_replace(const LbMem *mem, LbIndex *index,
								 const int64 *old, const int64 *new,
								 const LbPath *old_hint,
								 const LbPath *new_hint);

/*
 * Counts: add n rows with this key, or, if n is below 0, take -n away.  LB_OK;
 * LB_NOTFOUND if fewer rows have the key; LB_NOMEM; both leave the index as it
 * was.  hint is from lb_index_prefetch_changes, or NULL; a wrong one only
 * costs time.
 */
extern LbResult lb_index_add(const LbMem *mem, LbIndex *index,
							 const int64 *key, int64 n, const LbPath *hint);

/* Counts: how many rows have exactly this key. */
extern int64 lb_index_rows(const LbArena *arena, const LbIndex *index,
						   const int64 *key);

/*
 * Copy the key of a member to key, and its place to cursor if that is not
 * NULL.  Returns false if the member is not in the index.
 */
extern bool lb_index_lookup(const LbArena *arena, const LbIndex *index,
							const int64 *member, int64 *key,
							LbCursor *cursor);

/*
 * Prefetch what a change of member reads first in the hash, if there is one.
 */
extern void lb_index_prefetch_hash(const LbArena *arena, const LbIndex *index,
								   const int64 *member);

#define LB_PREFETCH_KEYS 64

/* Members to look up together, and where their keys go.  Process-local. */
typedef struct LbLookups
{
	int			n;				/* members, at most LB_PREFETCH_KEYS */
	const int64 *members;		/* member_stride words apart */
	int			member_stride;
	int			nwords;			/* words of each key that are wanted, or all
								 * if it has fewer; at most key_stride */
	int			key_stride;
	int64	   *keys;			/* gets the keys, key_stride words apart */
	bool	   *found;			/* gets whether each member is there; if not,
								 * it has no key */
	LbCursor   *places;			/* gets the places of those that are */
} LbLookups;

/* lb_index_lookup for many members, whose cache misses overlap. */
extern void lb_index_lookup_many(const LbArena *arena, const LbIndex *index,
								 const LbLookups *lookups);

/*
 * Prefetch what inserting or removing nkeys keys will touch, at most
 * LB_PREFETCH_KEYS, level by level, so that their cache misses overlap.  paths
 * gets the path to each key, as a hint for lb_index_replace or lb_index_add.
 *
 * Needs no lock if index is a copy that was made under the lock.  What other
 * processes change meanwhile only makes the hints worthless.
 */
extern void lb_index_prefetch_changes(const LbArena *arena,
									  const LbIndex *index,
									  const int64 *const *keys, int nkeys,
									  LbPath *paths);

/*
 * Count the members, and the distinct scores, that come before prefix, the
 * first nwords words of a key (1 .. width).  If inclusive, also those that
 * begin with it.  With texts, nwords is 1 for a score alone, or width for a
 * whole key of any length.  members and distinct may be NULL.
 */
extern void lb_index_spans(const LbArena *arena, const LbIndex *index,
						   const int64 *prefix, int nwords, bool inclusive,
						   uint64 *members, uint64 *distinct);

/*
 * The same, not inclusive, for n prefixes, at most LB_PREFETCH_KEYS, level by
 * level, so that their cache misses overlap.  distinct may be NULL.  If the
 * caller knows an entry that begins with prefix i, places[i] is that entry,
 * and spares a search; otherwise its leaf is LB_NONE.
 */
extern void lb_index_spans_many(const LbArena *arena, const LbIndex *index,
								const int64 *const *prefixes,
								const LbCursor *places, int n, int nwords,
								uint64 *members, uint64 *distinct);

/*
 * Move to the member with this many before it, or to the entry that has the
 * row with this many before it.  Returns false past the end.
 */
extern bool lb_index_seek_place(const LbArena *arena, const LbIndex *index,
								uint64 before, LbCursor *cursor);

/*
 * Move to the first entry that does not come before prefix (see
 * lb_index_spans).  Returns false if there is none.
 */
extern bool lb_index_seek_key(const LbArena *arena, const LbIndex *index,
							  const int64 *prefix, int nwords,
							  LbCursor *cursor);

/*
 * Copy the key of the cursor's entry; with counts also the number of its rows,
 * behind the key.
 */
extern void lb_cursor_key(const LbArena *arena, const LbIndex *index,
						  const LbCursor *cursor, int64 *key);

/* Move to the next or the previous entry.  Returns false if there is none. */
extern bool lb_cursor_next(const LbArena *arena, const LbIndex *index,
						   LbCursor *cursor);
extern bool lb_cursor_prev(const LbArena *arena, const LbIndex *index,
						   LbCursor *cursor);

/*
 * Bulk build of an empty index from keys in ascending order: begin, add each
 * key, finish.  expected is about the number of keys, or 0 if that is not
 * known.  Blocks are filled to 90 %, a single leaf to the brim.  LB_OK;
 * LB_EXISTS if a key does not come after the one before it, or, at finish, if
 * a member occurs twice; LB_NOMEM.  After anything but LB_OK the caller frees
 * what was taken, by lb_index_free.
 *
 * With counts, one more word behind each key is a number of rows, above 0.  A
 * key that equals the one before it adds its rows to that.
 */
extern LbResult lb_bulk_begin(LbBulk *bulk, const LbMem *mem, LbIndex *index,
							  uint64 expected);
extern LbResult lb_bulk_add(LbBulk *bulk, const int64 *key);
extern LbResult lb_bulk_finish(LbBulk *bulk);

/* Free all memory and leave an empty index of the same width. */
extern void lb_index_free(const LbMem *mem, LbIndex *index);

/* Memory of the index in bytes, cells and hash included. */
static inline uint64
lb_index_bytes(const LbIndex *index)
{
	return (index->chunks + index->cells.chunks + index->hash.chunks) *
		LB_CHUNK_SIZE;
}

/*
 * About the most memory, in bytes, that an index of this many entries takes
 * after any number of random changes, if it never had more entries.  No key
 * has more than key_words words (without texts, shape->width).
 */
extern uint64 lb_index_estimate(uint64 entries, const LbShape *shape,
								int key_words);

/*
 * Recompute everything that the index stores: order, spans, distinct scores,
 * first keys, neighbours, fill, hash, memory.  Returns NULL, or a static
 * string with the first fault.
 */
extern const char *lb_index_check(const LbArena *arena, const LbIndex *index);

#endif							/* LB_SKIPLIST_H */
