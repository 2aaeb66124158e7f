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

/*
 * _PG_init: register the callbacks of transactions, subtransactions and
 * resource owners.  Transaction callbacks run in the reverse order of their
 * registration: what must run after the settle is registered before.
 */
extern void lb_xact_init(void);

/*
 * A row of the definition's source was written after the transaction's
 * changes were published, by another PRE_COMMIT callback: the changes are
 * unknown.  Can raise.
 */
extern void lb_captured_late(LbDefinition *defn);

#endif							/* LB_XACT_H */
