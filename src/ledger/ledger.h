/*-------------------------------------------------------------------------
 *
 * ledger.h
 *	  Publish, settle, discard.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LEDGER_H
#define LB_LEDGER_H

#include "boards/live.h"
#include "boards/shared.h"
#include "ledger/publication.h"

/*
 * Publish entries, net and in order of their members, of the transaction xid
 * on the board of value.  Called at PRE_COMMIT; settles what earlier
 * transactions have published of the same members and not settled yet.
 * entries must live until the transaction's callbacks have run, except with
 * prepare, when all goes to shared memory.  Returns NULL if memory is used up.  Raises only if the wait for a large transaction's
 * settling is interrupted.  Takes the stripe's lock.
 */
extern LbPublication *lb_publish(LbSharedBoard *shared, uint64 generation,
								 const LbValue *value, uint32 hash,
								 FullTransactionId xid,
								 const int64 *entries, uint32 nentries,
								 bool prepare);

/*
 * The owner's transaction has committed: make its changes history, if nobody
 * has yet.  They get into the index now, or with those of others.  Never raises
 * or allocates process-local memory.
 */
extern void lb_settle(LbPublication *pub);

/* The owner's transaction has aborted. */
extern void lb_discard(LbPublication *pub);

/*
 * The owner's transaction was prepared: from now on whoever meets the
 * publication after the transaction has ended settles or forgets it.
 */
extern void lb_disown_prepared(LbPublication *pub);

/*
 * Settle a publication whose owner will not look at the backlog, or not soon:
 * another backend settles it.  Needs the stripe's exclusive lock.
 */
extern void lb_settle_for_another(LbPublication *pub);

#endif							/* LB_LEDGER_H */
