/*-------------------------------------------------------------------------
 *
 * view.h
 *	  A board as a snapshot sees it: the index, corrected.
 *
 * A view is the index, less the keys that the snapshot does not see, plus
 * those that only the snapshot sees.  Everything here needs the stripe's lock,
 * shared, and raises nothing.  A view is valid while the lock is held.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_VIEW_H
#define LB_VIEW_H

#include "capture/sums.h"

/* What a correction does to one distinct score. */
typedef struct LbScoreDelta
{
	int64		score;
	int64		before;			/* change in distinct scores before it */
	int64		delta;			/* -1, 0 or 1 */
} LbScoreDelta;

typedef struct LbView
{
	const LbArena *arena;
	const LbIndex *board;		/* the board's index, or NULL */
	const LbIndex *index;		/* the same, NULL if it counts as empty */
	LbOverlay  *overlay;		/* the corrections, in arrays ... */
	LbSums	   *sums;			/* ... or as sums; both NULL: there are none */
	const LbShape *shape;		/* of the keys */
	LbScoreDelta *deltas;		/* of all corrected scores, in order */
	int			ndeltas;
	int64		delta_total;
} LbView;

/* A place in the merged order. */
typedef struct LbViewCursor
{
	/* In those entries of the index that the snapshot sees. */
	LbCursor	cursor;
	bool		in_index;		/* cursor is at an entry */
	int64		index_key[LB_MAX_KEY_WORDS];
	uint64		remaining;		/* how many of them come before it */

	/* In the keys that only the snapshot sees. */
	uint64		added;			/* how many of them come before it */

	/* Over sums, in what they add and what they take away. */
	LbCursor	added_cursor;
	LbCursor	removed_cursor;
	bool		in_added;
	bool		in_removed;
	int64		added_key[LB_MAX_KEY_WORDS];
	int64		removed_key[LB_MAX_KEY_WORDS];
} LbViewCursor;

/* Room that lb_view_open needs for deltas. */
static inline int
lb_view_max_deltas(const LbOverlay *overlay)
{
	return overlay == NULL ? 0 : overlay->shape.counts ? overlay->nentries :
		overlay->nremoved + overlay->nadded;
}

/*
 * Open a view of an index (NULL: the board has no rows) through overlay.  If
 * the view must tell distinct scores, deltas has room for lb_view_max_deltas.
 * Returns false if the overlay does not fit the index, since changes of others
 * come in between; then the query must be run.
 */
extern bool lb_view_open(LbView *view, const LbIndex *index,
						 LbOverlay *overlay, const LbShape *shape,
						 LbScoreDelta *deltas);

/*
 * Open a view through sums.  They must fit the index (lb_sums_check) and, if
 * the view must tell distinct scores, have counted all scores.
 */
extern void lb_view_open_sums(LbView *view, const LbIndex *index,
							  LbSums *sums, bool truncated);

/*
 * Whether entries of an overlay, or what it has of their members, fit the
 * index: what they take away is what it holds, or with counts, no more than
 * that.
 */
extern bool lb_overlay_fits(const LbOverlay *overlay, const LbIndex *index,
							const LbEntries *entries);

extern uint64 lb_view_members(const LbView *view);

/*
 * As lb_index_lookup, lb_index_lookup_many, lb_index_spans; prefix of one word
 * or a whole key.  The cursor's leaf is LB_NONE if the key is not the index's.
 * The first two are not for counts.
 */
extern bool lb_view_lookup(const LbView *view, const int64 *member,
						   int64 *key, LbCursor *cursor);
extern void lb_view_lookup_many(const LbView *view, const LbLookups *lookups);
extern void lb_view_spans(const LbView *view, const int64 *prefix, int nwords,
						  bool inclusive, uint64 *members, uint64 *distinct);

/* As lb_index_spans_many. */
extern void lb_view_spans_many(const LbView *view,
							   const int64 *const *prefixes,
							   const LbCursor *places, int n, int nwords,
							   uint64 *members, uint64 *distinct);

/* Copy the key of the entry at a place, from 0, or of the row, with counts. */
extern void lb_view_key_at(const LbView *view, uint64 place, int64 *key);

/*
 * Move to the entry at a place, from 0.  Returns false past the end.  Not for
 * counts, nor is the next.
 */
extern bool lb_view_seek(const LbView *view, uint64 before,
						 LbViewCursor *cursor);

/* Take the key at the cursor and move on.  Returns false at the end. */
extern bool lb_view_next(const LbView *view, LbViewCursor *cursor,
						 int64 *key);

/*
 * With counts: copy the first key behind "after", or the first of all if that
 * is NULL, and how many rows have it.  Returns false if there is none.
 */
extern bool lb_counts_next(const LbView *view, const int64 *after, int64 *key,
						   int64 *rows);

#endif							/* LB_VIEW_H */
