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
 *
 * The room for a key is the stride of the container, in words.  Behind a
 * shorter key there are zeros, so that keys of one stride compare as so many
 * words.  Without texts the stride is the width of the keys.
 *
 * With counts the key stands for the member.  So an entry has one key: rows
 * that have it no longer, if it is an old one, or have it now.  Their number
 * is in the word of flags.
 */
#define LB_HAS_OLD 1
#define LB_HAS_NEW 2
#define LB_ROWS_SHIFT 2
#define LB_MAX_ENTRY_ROWS (PG_INT64_MAX >> LB_ROWS_SHIFT)

#define LB_MAX_ENTRY_WORDS (1 + 2 * LB_MAX_KEY_WORDS)

static inline int
lb_entry_words(int stride)
{
	return 1 + 2 * stride;
}

static inline int64 *
lb_entry_old(int64 *entry)
{
	return entry + 1;
}

static inline int64 *
lb_entry_new(int64 *entry, int stride)
{
	return entry + 1 + stride;
}

/* The keys of an entry, or NULL. */
static inline const int64 *
lb_old_key(const int64 *entry)
{
	return (entry[0] & LB_HAS_OLD) ? entry + 1 : NULL;
}

static inline const int64 *
lb_new_key(const int64 *entry, int stride)
{
	return (entry[0] & LB_HAS_NEW) ? entry + 1 + stride : NULL;
}

/* With counts, the rows of an entry; without, 0. */
static inline int64
lb_entry_rows(const int64 *entry)
{
	return entry[0] >> LB_ROWS_SHIFT;
}

/* With counts, by how many rows an entry changes those with its key. */
static inline int64
lb_signed_rows(const int64 *entry)
{
	return (entry[0] & LB_HAS_NEW) ? lb_entry_rows(entry) :
		-lb_entry_rows(entry);
}

/* The member of an entry, in a key that is there. */
static inline const int64 *
lb_entry_member(const LbShape *shape, const int64 *entry, int stride)
{
	return lb_key_member(shape, entry + 1 +
						 ((entry[0] & LB_HAS_OLD) ? 0 : stride));
}

/* The least stride that keys of a shape can have. */
static inline int
lb_least_stride(const LbShape *shape)
{
	return lb_shape_varies(shape) ? 2 : shape->width;
}

/*
 * Copy a key to a place of stride words, with zeros behind it; if it is NULL,
 * only zeros.
 */
static inline void
lb_pad_key(const LbShape *shape, int64 *to, int stride, const int64 *key)
{
	int			words = key == NULL ? 0 : lb_key_words(shape, key);

	Assert(words <= stride);
	for (int i = 0; i < stride; i++)
		to[i] = i < words ? key[i] : 0;
}

/*
 * Make an entry of an old key and a new one; the one that is NULL is not
 * there.  Without counts, rows is 0.
 */
static inline void
lb_make_entry(const LbShape *shape, int64 *entry, int stride,
			  const int64 *old, const int64 *new, int64 rows)
{
	Assert(shape->counts ? rows > 0 && (old == NULL || new == NULL) :
		   rows == 0);
	entry[0] = (old != NULL ? LB_HAS_OLD : 0) | (new != NULL ? LB_HAS_NEW : 0) |
		rows << LB_ROWS_SHIFT;
	lb_pad_key(shape, entry + 1, stride, old);
	lb_pad_key(shape, entry + 1 + stride, stride, new);
}

/* The stride that an entry needs: the words of its longer key. */
extern int	lb_entry_stride(const LbShape *shape, const int64 *entry,
							int stride);

/* Entries, mostly in order of their members. */
typedef struct LbEntries
{
	const int64 *words;
	uint32		n;
	int			stride;
} LbEntries;

static inline const int64 *
lb_entry_at(const LbEntries *entries, uint64 i)
{
	return entries->words + i * lb_entry_words(entries->stride);
}

/*
 * Copy n of the entries, from the first on, to a place for entries of stride,
 * which is enough for them.
 */
extern void lb_copy_entries(const LbShape *shape, int64 *to, int stride,
							const LbEntries *entries, uint32 first, uint32 n);

/* What lb_find_entry looks for. */
typedef struct LbEntryBound
{
	const LbShape *shape;
	const LbEntries *entries;
	const int64 *member;
} LbEntryBound;

static inline int
lb_entry_cmp(uint64 i, const LbEntryBound *bound)
{
	return lb_member_cmp(bound->shape,
						 lb_entry_member(bound->shape,
										 lb_entry_at(bound->entries, i),
										 bound->entries->stride),
						 bound->member);
}

static inline bool
lb_entry_is_before(uint64 i, const void *arg)
{
	return lb_entry_cmp(i, (const LbEntryBound *) arg) < 0;
}

/*
 * Where a member's entry is, or belongs, among entries in order of members.
 * Sets found.
 */
static inline int
lb_find_entry(const LbShape *shape, const LbEntries *entries,
			  const int64 *member, bool *found)
{
	LbEntryBound bound = {shape, entries, member};
	uint64		at = lb_lower_bound(entries->n, lb_entry_is_before, &bound);

	*found = at < entries->n && lb_entry_cmp(at, &bound) == 0;
	return (int) at;
}

/*
 * Entries in the order in which they were gathered, of which a member may have
 * several.
 */
typedef struct LbChanges
{
	LbShape		shape;
	int			stride;
	int			n;
	Size		room;			/* in words */
	int64	   *words;
} LbChanges;

/* Make it empty, for keys of a shape. */
static inline void
lb_changes_begin(LbChanges *changes, const LbShape *shape)
{
	changes->shape = *shape;
	changes->stride = lb_least_stride(shape);
	changes->n = 0;
}

static inline int64 *
lb_change_at(const LbChanges *changes, int i)
{
	return changes->words + (Size) i * lb_entry_words(changes->stride);
}

/*
 * Whether there is room for n more entries of this stride.  If so, the changes
 * have this stride afterwards, or the longer one that they had.  Allocates
 * nothing, raises nothing.
 */
extern bool lb_changes_fit(LbChanges *changes, int n, int stride);

/*
 * Add an entry, for which there is room and whose stride is not longer; with
 * undo, its inverse.
 */
static inline void
lb_add_change(LbChanges *changes, const int64 *entry, int stride, bool undo)
{
	const int64 *old = lb_old_key(entry);
	const int64 *new = lb_new_key(entry, stride);

	Assert(stride <= changes->stride);
	lb_make_entry(&changes->shape, lb_change_at(changes, changes->n++),
				  changes->stride, undo ? new : old, undo ? old : new,
				  lb_entry_rows(entry));
}

/* How a board's index has to be corrected to be what a snapshot sees. */
typedef struct LbOverlay
{
	bool		truncated;		/* the index counts as empty */
	bool		ambiguous;		/* not known: run the query */
	bool		checked;		/* old keys were found in the index */
	LbShape		shape;
	int			stride;
	uint64		serial;			/* of its contents; no other overlay's */
	Size		room;			/* words of entries; keys have half of it */
	int			nentries;
	int64	   *entries;		/* in order of their members */
	int			nremoved;
	int64	   *removed;		/* keys of the index that do not count */
	int			nadded;
	int64	   *added;			/* keys that count beside the index */
	int64	   *rows;			/* with counts, instead of these two: the sums
								 * of the rows of the entries before each,
								 * signed, and of all */
} LbOverlay;

/*
 * Whether changes are their own sums: members ascend, each is there once.
 * Raises only when interrupted.
 */
extern bool lb_changes_are_net(const LbChanges *changes);

/*
 * Sum up changes into entries, in order of their members.  entries has room
 * for changes->n of them.  Returns how many entries there are.  Sets
 * *ambiguous if the sum of a member is more than one key less and one key
 * more; with counts, none is.  Allocates nothing.  Raises only when
 * interrupted.
 */
extern int	lb_net_changes(LbChanges *changes, int64 *entries,
						   bool *ambiguous);

/*
 * Give the overlay arrays with room for entries of this many words, in the
 * current memory context.  Returns false if there is no memory.
 */
extern bool lb_overlay_init(LbOverlay *overlay, const LbShape *shape,
							Size room);

/*
 * Fill the overlay from changes, of which there must not be more than it has
 * room for.  Allocates nothing, raises nothing.
 */
extern void lb_overlay_fill(LbOverlay *overlay, LbChanges *changes);

/*
 * Add further changes to an overlay that has been filled.  Their entries,
 * netted, are left in delta, which has as much room as the changes; *n is how
 * many.  Returns false if there is no room, and then the overlay is as it was.
 * Allocates nothing, raises nothing.
 */
extern bool lb_overlay_add(LbOverlay *overlay, LbChanges *changes,
						   int64 *delta, int *n);

/* The entries of an overlay. */
static inline LbEntries
lb_overlay_entries(const LbOverlay *overlay)
{
	return (LbEntries)
	{
		overlay->entries, (uint32) overlay->nentries, overlay->stride
	};
}

/*
 * The place of a member's entry, or where it would be.  Sets *found.
 */
static inline int
lb_overlay_find(const LbOverlay *overlay, const int64 *member, bool *found)
{
	LbEntries	entries = lb_overlay_entries(overlay);

	return lb_find_entry(&overlay->shape, &entries, member, found);
}

/*
 * With counts: by how many rows the overlay changes those before a prefix of
 * so many words; if inclusive, also those that begin with it.
 */
extern int64 lb_overlay_rows(const LbOverlay *overlay, const int64 *prefix,
							 int nwords, bool inclusive);

#endif							/* LB_OVERLAY_H */
