/*-------------------------------------------------------------------------
 *
 * off_board.h
 *	  How many rows of its table a board does not rank.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OFF_BOARD_H
#define LB_OFF_BOARD_H

#include "boards/target.h"
#include "ledger/outcome.h"
#include "ledger/publication.h"
#include "ledger/snapshot.h"

/*
 * Count rows off a board that is one of the definition's stripes.  Needs the
 * stripe's exclusive lock.
 */
extern void lb_add_off_board(LbSharedBoard *shared, LbLiveBoard *board,
							 int64 rows);

/*
 * A publication settles: count its rows off the board, and queue the number
 * for a running build.  Needs the stripe's exclusive lock.
 */
extern void lb_settle_off_board(LbSharedBoard *shared, LbStripe *stripe,
								LbLiveBoard *board, const LbPublication *pub);

/*
 * How many rows are off a board for a snapshot, other than by the caller's own
 * changes.  board is NULL if it does not live.  lb_collect() has succeeded for
 * the snapshot under this hold of the lock, with these outcomes.  Returns
 * false if that takes too long to find out, or needs an outcome that has not
 * been looked up.  Needs the stripe's lock, shared.
 */
extern bool lb_count_off_board(const LbLiveBoard *board,
							   const LbSnapshot *snapshot,
							   const LbOutcomes *outcomes, int64 *rows);

/*
 * Whether no row is off the target's board now, as far as settled.  Without a
 * target, that is the board of a family that only the plan's run will tell:
 * whether most of its boards are so.  Takes the stripes' locks, shared.  Can
 * raise what a catalog lookup can raise.
 */
extern bool lb_is_complete_now(LbDefinition *defn, const LbTarget *target);

/*
 * How many rows are; without a target, of all boards of the family.  Likewise.
 */
extern int64 lb_off_board_now(LbDefinition *defn, const LbTarget *target);

#endif							/* LB_OFF_BOARD_H */
