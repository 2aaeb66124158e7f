/*-------------------------------------------------------------------------
 *
 * view_internal.h
 *	  What is different in a view of a board that keeps counts.
 *
 * As in view.h, everything needs the stripe's lock, shared, and raises
 * nothing.  view_counts.c has these functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_VIEW_INTERNAL_H
#define LB_VIEW_INTERNAL_H

#include "reads/view.h"

/* lb_overlay_fits() with counts. */
extern bool lb_counts_fit(const LbOverlay *overlay, const LbIndex *index,
						  const LbEntries *entries);

/* Fill in what the view's overlay does to the distinct scores. */
extern void lb_counts_deltas(LbView *view);

/* Copy the key of the row at a place of the order, which there is. */
extern void lb_counts_key_at(const LbView *view, uint64 place, int64 *key);

#endif							/* LB_VIEW_INTERNAL_H */
