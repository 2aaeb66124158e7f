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
 * Whether a transaction with unknown changes (LbUnknown) is running, either in
 * a snapshot or, with NULL, now (on a primary).  Asks for those of the
 * definition and those of its database.  A transaction whose xid lies between
 * two of them counts, too.
 */
extern bool lb_unknown_running(LbSharedBoard *shared,
							   const LbSnapshot *snapshot);

/*
 * On a standby, which transactions are running now, for lb_unknown_running()
 * in a process that is in no transaction.  *s is good until the next call.
 * Runs a transaction.  Raises when out of memory.
 */
extern void lb_running_on_standby(LbSnapshot *s);

/* Forget all of them, unless one is running in the snapshot. */
extern void lb_forget_unknown(LbUnknown *unknown, const LbSnapshot *snapshot);

/*
 * Whether a transaction that was prepared before the server started, and has
 * not ended, may have changed the source: it holds a lock that allows writing.
 */
extern bool lb_is_prepared_for(Oid source);

#endif							/* LB_UNKNOWN_H */
