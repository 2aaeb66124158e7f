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
 * A row without a key counts as so many rows off the board: one sum has both
 * numbers.  It would take 2^35 rows off the board in one transaction, or 2^28
 * rows without a key, to mistake one for the other.
 */
#define LB_NO_KEY_ROW (INT64CONST(1) << 36)

/*
 * The two numbers in the sum of all rows of a board, or of several; or in a
 * change of it.  Each can be below 0: what removes a row may settle before
 * what has inserted it.
 */
static inline int64
lb_rows_without_key(int64 sum)
{
	return (sum + LB_NO_KEY_ROW / 2) >> 36;
}

static inline int64
lb_rows_off_board(int64 sum)
{
	return sum - lb_rows_without_key(sum) * LB_NO_KEY_ROW;
}

/* Why the queries of a board with such a row are run. */
extern const char lb_no_key_reason[];

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
 * The sum of the rows off a board for a snapshot, other than by the caller's
 * own changes.  board is NULL if it does not live.  lb_collect() has succeeded
 * for the snapshot under this hold of the lock, with these outcomes.  Returns
 * false if that takes too long to find out, or needs an outcome that has not
 * been looked up.  Needs the stripe's lock, shared.
 */
extern bool lb_count_off_board(const LbLiveBoard *board,
							   const LbSnapshot *snapshot,
							   const LbOutcomes *outcomes, int64 *rows);

/*
 * Whether the target's board has all rows of the table in its index now, or
 * with ranked all ranked rows, as far as settled.  Without a target, that is
 * the board of a family that only the plan's run will tell: whether most of
 * its boards have.  Takes the stripes' locks, shared.  Can raise what a
 * catalog lookup can raise.
 */
extern bool lb_is_complete_now(LbDefinition *defn, const LbTarget *target,
							   bool ranked);

/*
 * The sum of the rows that it has not; without a target, of all boards of the
 * family.  Likewise.
 */
extern int64 lb_off_board_now(LbDefinition *defn, const LbTarget *target);

#endif							/* LB_OFF_BOARD_H */
