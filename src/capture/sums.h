/*-------------------------------------------------------------------------
 *
 * sums.h
 *	  Signed changes of a board, summed up per member, one after the other.
 *
 * An LbOverlay (overlay.h) is made of all its changes at once.  LbSums are for
 * many changes, to which others come later: adding one, or taking it back, is
 * O(log n).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUMS_H
#define LB_SUMS_H

#include "index/arena.h"
#include "index/skiplist.h"
#include "ledger/overlay.h"

/* A key in a member's sum beside the two that a sum should have. */
typedef struct LbSurplus
{
	int			next;			/* in the same bucket, or in the free list;
								 * -1: the last */
	bool		negative;
	int64	   *key;			/* with memory of its own */
} LbSurplus;

typedef struct LbSums
{
	MemoryContext context;		/* of everything here, this struct included */
	LbShape		shape;
	int			stride;			/* the longest key so far, or more */
	bool		broken;			/* memory was short: make them anew */

	/* Process-local memory of the indexes below. */
	LbArena		arena;
	LbAccount	account;
	char	   *region;
	Size		size;

	LbIndex		removed;		/* keys of the board's index that do not count */
	LbIndex		added;			/* keys that count beside it */

	/*
	 * Members whose sum is more than one key less and one key more have their
	 * other keys here, hashed by member.
	 */
	int			nsurplus;
	int			max_surplus;
	int			free_surplus;
	LbSurplus  *surplus;
	int		   *buckets;		/* max_surplus of them */

	/*
	 * Members whose sums have changed since they were compared with the
	 * board's index, one behind the other.  The numbers are of words; the
	 * members in the first nchecked words have been compared.  nunchecked is
	 * 0 if all have.
	 */
	int			nchecked;
	int			nunchecked;
	int			max_unchecked;
	int64	   *unchecked;

	/*
	 * What the sums do to distinct scores, from the first read that asks for
	 * it: the scores that only the board's index has (lost), and those that
	 * it does not have (gained).  The index of a score has keys of two words,
	 * both of them the score.
	 */
	bool		distinct;
	LbIndex		lost;
	LbIndex		gained;
	int			nscores;		/* scores to be looked at again */
	int			max_scores;
	int64	   *scores;

	/* For the reads, which add others' changes to the transaction's own. */
	uint64		others;			/* which changes were added; 0: none */
	LbChanges	merged;			/* these changes, to take them out again */
	uint64		checked_on;		/* the index compared with, or 0 */
	bool		check_all;		/* another index: lb_sums_check_all() */
	uint64		distinct_version;	/* the board's version and its ... */
	uint64		distinct_applied;	/* ... "applied", for lost and gained */
} LbSums;

/*
 * Make empty sums in a context of their own below parent, for keys of a shape.
 * Returns NULL if there is no memory, except for the context itself, which
 * raises.
 */
extern LbSums *lb_sums_make(MemoryContext parent, const LbShape *shape);

/* Free all their memory. */
extern void lb_sums_free(LbSums *sums);

/*
 * Make room for n more changes with keys of stride words at most (0: as long
 * as those that are there), so that adding them allocates nothing outside the
 * arena.  Returns false if there is no memory.  Raises only when interrupted.
 */
extern bool lb_sums_reserve(LbSums *sums, int n, int stride);

/* Whether there is room for n more such changes. */
extern bool lb_sums_has_room(const LbSums *sums, int n, int stride);

/*
 * Add a change of one member: a key less and a key more; the one that is NULL
 * is not there.  rows is as in an entry (overlay.h).  To take a change back,
 * swap the two.  If there is no memory, the sums are broken, and it returns
 * false; after lb_sums_reserve() that can only happen if a member's sum
 * becomes ambiguous.  Never raises.
 */
extern bool lb_sums_add(LbSums *sums, const int64 *less, const int64 *more,
						int64 rows);

/*
 * Add many changes to empty sums, in less time than one after the other.  If
 * there is no memory, the sums are broken, and it returns false.  Raises only
 * when interrupted, and then they are broken as well.
 */
extern bool lb_sums_load(LbSums *sums, LbChanges *changes);

/* Whether any member's sum is more than one key less and one key more. */
static inline bool
lb_sums_ambiguous(const LbSums *sums)
{
	return sums->nsurplus > 0;
}

/*
 * What the sums say of a member, not with counts.  Returns false if they have
 * nothing of the member.  Else *there is whether a key counts for the member,
 * and key is that key.
 */
extern bool lb_sums_lookup(const LbSums *sums, const int64 *member,
						   int64 *key, bool *there);

/*
 * Check that the sums take away from the index what it holds (NULL: nothing);
 * with counts, no more rows of a key than it has.  For up to n of the
 * unchecked members, which are then checked.  Returns false if it is not so;
 * the member at fault stays unchecked.  Needs the lock of the index.  Never
 * raises.
 */
extern bool lb_sums_check(LbSums *sums, const LbArena *arena,
						  const LbIndex *index, int n);

/*
 * Make all members unchecked.  Returns false if there is no memory.  Raises
 * only when interrupted, and then sums->check_all is as before.
 */
extern bool lb_sums_check_all(LbSums *sums);

/*
 * Begin to follow distinct scores, or begin again: all scores will be looked
 * at.  Returns false if there is no memory.  Raises only when interrupted, and
 * then they do not follow them.
 */
extern bool lb_sums_distinct_begin(LbSums *sums);

/*
 * A key of this score has come into the index or left it: look at the score
 * again.  Returns false if there is no room to remember it.
 */
extern bool lb_sums_touch_score(LbSums *sums, int64 score);

/*
 * Look at up to n scores again, in the index (NULL: it is empty).  Needs the
 * lock of the index, and room for n changes.  Never raises.
 */
extern void lb_sums_count_scores(LbSums *sums, const LbArena *arena,
								 const LbIndex *index, int n);

#endif							/* LB_SUMS_H */
