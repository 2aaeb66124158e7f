/*-------------------------------------------------------------------------
 *
 * unknown.h
 *	  Transactions whose changes the ledger does not hold, as builds ask.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_UNKNOWN_H
#define LB_UNKNOWN_H

#include "boards/shared.h"
#include "ledger/snapshot.h"

/*
 * Whether a transaction whose changes are nowhere to be found, or one between
 * such, is running: in a snapshot, or now (NULL).  It is of this definition or
 * of its database.
 */
extern bool lb_unknown_running(LbSharedBoard *shared,
							   const LbSnapshot *snapshot);

/*
 * Forget those that the snapshot does not take for running.
 */
extern void lb_forget_unknown(LbUnknown *unknown, const LbSnapshot *snapshot);

/*
 * Whether a transaction that was prepared before the server started may have
 * changed the source.
 */
extern bool lb_is_prepared_for(Oid source);

#endif							/* LB_UNKNOWN_H */
