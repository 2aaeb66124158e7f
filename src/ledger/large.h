/*-------------------------------------------------------------------------
 *
 * large.h
 *	  Publications of large transactions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LARGE_H
#define LB_LARGE_H

#include "boards/shared.h"
#include "ledger/publication.h"

/*
 * A transaction with more changes of a board than this keeps them in its own
 * memory, and settles them itself, in slices.
 */
#define LB_LARGE_ENTRIES 4096

/*
 * The steps of a large publication, in TopTransactionContext: all old keys are
 * removed, then all new ones inserted, both in their order, so that neighbours
 * come after each other.  Without keys if there is no memory for them.  Raises
 * only when interrupted.
 */
extern LbSteps lb_make_steps(const LbSharedBoard *shared,
							 const LbEntries *entries);

/*
 * Settle the owner's large publication.  Needs the stripe's exclusive lock,
 * and releases it between the slices.  Never raises.
 */
extern void lb_settle_large(LbPublication *pub);

#endif							/* LB_LARGE_H */
