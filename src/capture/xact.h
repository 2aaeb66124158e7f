/*-------------------------------------------------------------------------
 *
 * xact.h
 *	  The end of a transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_XACT_H
#define LB_XACT_H

#include "boards/definition.h"

/* Install the callbacks of transactions and of resource owners. */
extern void lb_xact_init(void);

/*
 * A row of the definition's source was written after the transaction's changes
 * were published.  Can raise.
 */
extern void lb_captured_late(LbDefinition *defn);

#endif							/* LB_XACT_H */
