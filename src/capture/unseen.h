/*-------------------------------------------------------------------------
 *
 * unseen.h
 *	  Row versions that the transaction has replaced unseen by a snapshot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_UNSEEN_H
#define LB_UNSEEN_H

#include "access/htup.h"
#include "utils/snapshot.h"

/*
 * The transaction has updated or deleted this version of a row of a source.
 * Never raises.
 */
extern void lb_unseen_note(HeapTuple old);

/*
 * Whether the snapshot may see a change that lb_unseen_note() has heard of,
 * but not the version that the change has replaced.  Can raise what looking up
 * a subtransaction's parent raises.
 */
extern bool lb_unseen_by(Snapshot snapshot);

/* Forget all of them at the end of the transaction.  Never raises. */
extern void lb_unseen_forget(void);

#endif							/* LB_UNSEEN_H */
