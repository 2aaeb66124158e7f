/*-------------------------------------------------------------------------
 *
 * sums.h
 *	  Signed changes of a board, summed up per member, one after the other.
 *
 * An LbOverlay is made at one go, of changes that are all there.  LbSums are
 * for many changes to which others come: each is added, or taken back, in
 * O(log n).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUMS_H
#define LB_SUMS_H

#include "index/arena.h"
#include "index/skiplist.h"
#include "ledger/overlay.h"

/* A key that is in a member's sum beside the two that a sum should have. */
typedef struct LbSurplus
{
	int			next;			/* of the same bucket, or of those not in use;
								 * -1: the last */
	bool		negative;
	int64		key[LB_MAX_WIDTH];
} LbSurplus;

typedef struct LbSums
{
	MemoryContext context;		/* of all of it, this struct included */
	int			width;
	int			member_words;
	bool		broken;			/* memory was short: to be made anew */

	/* Process-local memory of the indexes below. */
	LbArena		arena;
	LbAccount	account;
	char	   *region;
	Size		size;

	LbIndex		removed;		/* keys of the board's index that do not count */
	LbIndex		added;			/* keys that count beside it */

	/*
	 * The other keys of members whose sum is not a key less and a key more at
	 * most, hashed by their members.
	 */
	int			nsurplus;
	int			max_surplus;
	int			free_surplus;
	LbSurplus  *surplus;
	int		   *buckets;		/* max_surplus of them */

	/* Members whose sums have changed since they fitted the board's index. */
	int			nunchecked;
	int			max_unchecked;
	int64	   *unchecked;

	/*
	 * What the sums do to distinct scores, from when that is first asked for:
	 * those that only the board's index has, and those that it has not.  The
	 * scores are keys of two words, the same one twice.
	 */
	bool		distinct;
	LbIndex		lost;
	LbIndex		gained;
	int			nscores;		/* that have to be looked at again */
	int			max_scores;
	int64	   *scores;

	/* For the reader, who adds others' changes to the transaction's own. */
	uint64		others;			/* which ones; 0: none */
	LbChanges	merged;			/* them, in order to take them out */
	uint64		checked_on;		/* which index they were compared with, or 0 */
	bool		check_all;		/* it is another one: lb_sums_check_all() */
	uint64		distinct_version;	/* the board's version of lost and gained */
	uint64		distinct_applied;	/* likewise */
	uint64		distinct_floor; /* and what its floor's next_xid was */
} LbSums;

/*
 * Make empty sums in a context of their own below parent, for boards whose
 * keys have so many words.  Returns NULL if there is no memory.
 */
extern LbSums *lb_sums_make(MemoryContext parent, int width,
							int member_words);

extern void lb_sums_free(LbSums *sums);

/*
 * Make room for n changes more, so that adding them allocates nothing outside
 * the arena.  Returns false if there is no memory; raises nothing.
 */
extern bool lb_sums_reserve(LbSums *sums, int n);

/* Whether there is room for n changes more. */
extern bool lb_sums_has_room(const LbSums *sums, int n);

/*
 * Add an entry of one member, or take it back (undo).  Raises nothing.  If it
 * finds no memory, which can be only without lb_sums_reserve or where a member's
 * sum becomes ambiguous, the sums are broken, and it returns false.
 */
extern bool lb_sums_add(LbSums *sums, const int64 *entry, bool undo);

/*
 * Add many changes to sums that are empty, in less time than one after the
 * other.  Returns false if there is no memory, and then they are broken.
 */
extern bool lb_sums_load(LbSums *sums, LbChanges *changes);

/* Whether the sum of some member is not a key less and a key more at most. */
static inline bool
lb_sums_ambiguous(const LbSums *sums)
{
	return sums->nsurplus > 0;
}

/*
 * The key that counts for a member, if the sums have something of him; *there
 * is false if none does.  Returns false if they have not.
 */
extern bool lb_sums_lookup(const LbSums *sums, const int64 *member,
						   int64 *key, bool *there);

/*
 * Compare what the sums take away from members who have changed, n of them at
 * most, with what index holds (NULL: nothing), and forget that they have.
 * Returns false, and forgets nothing of him, if that is not so of one.  Needs
 * the lock of the index.
 */
extern bool lb_sums_check(LbSums *sums, const LbArena *arena,
						  const LbIndex *index, int n);

/* Have all members compared again.  Returns false if there is no memory. */
extern bool lb_sums_check_all(LbSums *sums);

/*
 * Begin to follow distinct scores, or begin again: all scores have to be looked
 * at.  Returns false if there is no memory.
 */
extern bool lb_sums_distinct_begin(LbSums *sums);

/*
 * A key of this score has come into the index or left it.  Returns false if
 * there is no room to remember it.
 */
extern bool lb_sums_touch_score(LbSums *sums, int64 score);

/*
 * Look at scores again, n of them at most, and see what index (NULL: it is
 * empty) has of them.  Needs the lock of the index, and room for n.
 */
extern void lb_sums_count_scores(LbSums *sums, const LbArena *arena,
								 const LbIndex *index, int n);

#endif							/* LB_SUMS_H */
