/*-------------------------------------------------------------------------
 *
 * overlay.h
 *	  Signed changes of a board, summed up per member.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OVERLAY_H
#define LB_OVERLAY_H

#include "index/shape.h"

/*
 * An entry: a change of one member on one board, net of everything that a
 * transaction did to it.  It has a word of flags, room for the old key, and
 * room for the new key.  The flags say which keys are there.
 */
#define LB_HAS_OLD 1
#define LB_HAS_NEW 2

static inline int
lb_entry_words(int width)
{
	return 1 + 2 * width;
}

static inline int64 *
lb_entry_old(int64 *entry)
{
	return entry + 1;
}

static inline int64 *
lb_entry_new(int64 *entry, int width)
{
	return entry + 1 + width;
}

/* The member's words of an entry, in a key that is there. */
static inline const int64 *
lb_entry_member(const int64 *entry, int width, int member_words)
{
	return entry + 1 + ((entry[0] & LB_HAS_OLD) ? width : 2 * width) -
		member_words;
}

/* What lb_find_entry looks for. */
typedef struct LbEntryBound
{
	const int64 *entries;
	int			width;
	const int64 *member;
	int			member_words;
} LbEntryBound;

static inline int
lb_entry_cmp(uint64 i, const LbEntryBound *bound)
{
	const int64 *entry = bound->entries + i * lb_entry_words(bound->width);

	return lb_words_cmp(lb_entry_member(entry, bound->width,
										bound->member_words),
						bound->member, bound->member_words);
}

static inline bool
lb_entry_is_before(uint64 i, const void *arg)
{
	return lb_entry_cmp(i, (const LbEntryBound *) arg) < 0;
}

/*
 * Where a member's entry is, or belongs, among n entries in order of members.
 * Sets found.
 */
static inline int
lb_find_entry(const int64 *entries, int n, int width, const int64 *member,
			  int member_words, bool *found)
{
	LbEntryBound bound = {entries, width, member, member_words};
	int			at = (int) lb_lower_bound((uint64) n, lb_entry_is_before,
										  &bound);

	*found = at < n && lb_entry_cmp((uint64) at, &bound) == 0;
	return at;
}

/*
 * Entries in the order in which they were gathered, of which a member may have
 * several.
 */
typedef struct LbChanges
{
	int			width;
	int			n;
	int			max;			/* room in words, in changes */
	int64	   *words;
} LbChanges;

/* Add an entry, for which there is room; with undo, its inverse. */
static inline void
lb_add_change(LbChanges *changes, const int64 *entry, bool undo)
{
	int			width = changes->width;
	int64	   *at;

	Assert(changes->n < changes->max);
	at = changes->words + (Size) changes->n * lb_entry_words(width);
	at[0] = entry[0];
	if (undo && entry[0] != (LB_HAS_OLD | LB_HAS_NEW))
		at[0] ^= LB_HAS_OLD | LB_HAS_NEW;
	memcpy(at + 1, entry + (undo ? 1 + width : 1), width * sizeof(int64));
	memcpy(at + 1 + width, entry + (undo ? 1 : 1 + width),
		   width * sizeof(int64));
	changes->n++;
}

/* How a board's index has to be corrected to be what a snapshot sees. */
typedef struct LbOverlay
{
	bool		truncated;		/* the index counts as empty */
	bool		ambiguous;		/* not known: run the query */
	bool		checked;		/* old keys were found in the index */
	int			width;
	int			member_words;
	uint64		serial;			/* of its contents; no other overlay's */
	int			max;			/* changes that the arrays have room for */
	int			nentries;
	int64	   *entries;		/* in order of their members */
	int			nremoved;
	int64	   *removed;		/* keys of the index that do not count */
	int			nadded;
	int64	   *added;			/* keys that count beside the index */
} LbOverlay;

/* Whether changes are their own sums: members ascend, each is there once. */
extern bool lb_changes_are_net(const LbChanges *changes);

/*
 * Sum up changes into entries, in order of their members.  entries has room
 * for changes->n of them.  Returns how many entries there are.  Sets
 * *ambiguous if the sum of a member is more than one key less and one key
 * more.  Allocates nothing, raises nothing.
 */
extern int	lb_net_changes(LbChanges *changes, int64 *entries,
						   bool *ambiguous);

/*
 * Give the overlay arrays for max changes, in the current memory context.
 * Returns false if there is no memory.
 */
extern bool lb_overlay_init(LbOverlay *overlay, int width, int member_words,
							int max);

/*
 * Fill the overlay from changes, of which there must not be more than it has
 * room for.  Allocates nothing, raises nothing.
 */
extern void lb_overlay_fill(LbOverlay *overlay, LbChanges *changes);

/*
 * Add further changes to an overlay that has been filled.  Their entries,
 * netted, are left in delta, which has room for changes->n; returns how many.
 * The overlay must have room for that many more entries.  Allocates nothing,
 * raises nothing.
 */
extern int	lb_overlay_add(LbOverlay *overlay, LbChanges *changes,
						   int64 *delta);

/*
 * The place of a member's entry, or where it would be.  Sets *found.
 */
extern int	lb_overlay_find(const LbOverlay *overlay, const int64 *member,
							bool *found);

#endif							/* LB_OVERLAY_H */
