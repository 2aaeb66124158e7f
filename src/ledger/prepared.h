/*-------------------------------------------------------------------------
 *
 * prepared.h
 *	  Publications of prepared transactions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PREPARED_H
#define LB_PREPARED_H

#include "boards/shared.h"

/*
 * Settle or discard the publications of prepared transactions that have ended.
 * Holds no lock while it looks up outcomes; can raise only there, or when out
 * of memory at the first call in a process.  Returns whether publications of
 * prepared transactions are left.
 */
extern bool lb_settle_prepared(LbSharedBoard *shared,
							   uint64 generation);

#endif							/* LB_PREPARED_H */
