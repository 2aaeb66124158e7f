/*-------------------------------------------------------------------------
 *
 * corrections_internal.h
 *	  What corrections.c and corrections_sums.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CORRECTIONS_INTERNAL_H
#define LB_CORRECTIONS_INTERNAL_H

#include "reads/corrections.h"

/* What the last read had to correct, own changes included. */
typedef struct LbCorrections
{
	MemoryContext context;
	bool		valid;
	bool		any;			/* there is something to correct */

	/* The board, and the snapshot. */
	LbSharedBoard *shared;
	uint64		generation;
	LbRef		board;
	uint32		hash;			/* of the board's value */
	uint64		version;		/* LbLiveBoard.version ... */
	uint64		applied;		/* ... and applied, that they were made at */
	uint64		xmin;
	uint64		xmax;
	uint32		nxip;
	TransactionId *xip;			/* room for max_xip */
	uint32		max_xip;
	CommandId	curcid;
	uint64		own;			/* serial of the own overlay in them, or 0 */
	bool		pending;		/* some of them are not in the index yet */

	/* Gathered changes, and the overlay of them. */
	LbChanges	changes;		/* the other arrays have as much room */
	LbOverlay	overlay;
	int64	   *delta;			/* entries added last */

	/* Instead of the overlay, the changes may have been added to sums. */
	LbSums	   *sums;			/* NULL: they are in overlay */
	uint64		serial;			/* the sums have them while sums->others says
								 * so */
	int			added;			/* how many of changes the sums have */
	bool		too_many;		/* gathering them is not worth it */
	bool		slicing;		/* there are more, ... */
	LbSlice		slice;			/* ... from here on */
	LbSums	   *alone;			/* sums of others' changes only */
	bool		loaded;			/* alone has been loaded from its merged */

	/* What the overlay does to distinct scores. */
	LbScoreDelta *deltas;		/* room for a third of the words */
	int			ndeltas;
	int64		delta_total;
	uint64		deltas_of;		/* LbOverlay.serial that they were made of */
	uint64		deltas_at;		/* LbLiveBoard.version, likewise */
} LbCorrections;

extern LbCorrections lb_corrections;

/* Versions are of one board if they agree in their upper half. */
static inline bool
lb_same_index(uint64 version, uint64 other)
{
	return version >> 32 == other >> 32;
}

/* Whether the last corrections are of this definition and snapshot. */
extern bool lb_same_snapshot(const LbAccess *a);

/*
 * Whether the last corrections are those of this read, except for what other
 * transactions may have settled meanwhile.
 */
extern bool lb_same_corrections(const LbAccess *a, LbRef ref,
								const LbLiveBoard *board);

/*
 * Gather the changes of others into the corrections.  With since, only those
 * that got into the index after that version.  Needs the stripe's lock,
 * shared, as do the next two.
 */
extern LbCollect lb_gather(LbAccess *a, const LbLiveBoard *board, uint64 since,
						   int limit, LbSlice *slice, LbChangesRoom *room);

/*
 * Gather what others have settled since the corrections were made.  Returns
 * false if the corrections must be made anew.
 */
extern bool lb_gather_since(LbAccess *a, const LbLiveBoard *board, int limit);

/* The corrections are of this read's snapshot, and of the board as it is. */
extern void lb_note_collected(LbAccess *a, LbRef ref,
							  const LbLiveBoard *board);

/*
 * Gather others' changes for sums.  LB_COLLECTED means that the sums have all
 * of them.  Needs the stripe's lock, shared.
 */
extern LbCollect lb_collect_sums(LbAccess *a, LbRef ref,
								 const LbLiveBoard *board,
								 LbChangesRoom *room);

/*
 * The sums have everything: compare the members whose sum has changed with the
 * index, and set a->fits.  Needs the stripe's lock, shared.
 *
 * What the transaction has replaced must be what the index holds.  It may not
 * be while the transaction that wrote it has left the proc array but not yet
 * settled; once it has settled, our row locks keep it so.
 */
extern LbCollect lb_check_sums(LbAccess *a, const LbLiveBoard *board);

/* Give back the sums of others' changes alone.  Never raises. */
extern void lb_free_alone_sums(void);

#endif							/* LB_CORRECTIONS_INTERNAL_H */
