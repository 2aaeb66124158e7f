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

/* What a transaction changes on one board. */
typedef struct LbNetChanges
{
	LbSharedBoard *shared;
	uint64		generation;		/* of shared */
	const LbValue *value;		/* the board's */
	uint32		hash;			/* of the value */
	LbEntries	entries;		/* net, in order of their members */
	int64		off_board;		/* rows off the board, more or less */
} LbNetChanges;

/*
 * Publish the changes of the transaction xid on one board, at its PRE_COMMIT.
 * First settles what ended transactions have published of the same members.
 * The entries must live until the transaction's callbacks have run, except
 * with prepare, when all of them go to shared memory.  Returns NULL if the
 * memory is used up or the definition has gone.  Raises only when interrupted,
 * or if it cannot find out which transactions are running or how they have
 * ended.  Takes the stripe's lock.
 */
extern LbPublication *lb_publish(const LbNetChanges *changes,
								 FullTransactionId xid, bool prepare);

/*
 * The same in redo, where there are no predecessors: a transaction that writes
 * to a member publishes after the one before it has been settled.  All entries
 * go to shared memory.  Never raises.
 */
extern LbPublication *lb_publish_replayed(const LbNetChanges *changes,
										  FullTransactionId xid);

/*
 * The owner's transaction has committed: make its changes history, unless
 * another backend has done so.  They get into the index now, or together with
 * others.  Takes the stripe's lock.  Never raises or allocates process-local
 * memory.
 */
extern void lb_settle(LbPublication *pub);

/*
 * The owner's transaction has aborted.  Takes the stripe's lock.  Never
 * raises.
 */
extern void lb_discard(LbPublication *pub);

/*
 * The owner's transaction was prepared: from now on a process that meets the
 * publication after the transaction has ended settles or discards it.  Takes
 * the stripe's lock.  Never raises.
 */
extern void lb_disown_prepared(LbPublication *pub);

/*
 * Settle a publication that is not large, in place of its owner.  Needs the
 * stripe's exclusive lock.  Never raises.
 */
extern void lb_settle_for_another(LbPublication *pub);

/* Define the settings of this folder; from _PG_init. */
extern void lb_ledger_init(void);

#endif							/* LB_LEDGER_H */
