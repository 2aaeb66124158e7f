/*-------------------------------------------------------------------------
 *
 * subxact.h
 *	  A routine whose error ends only what it has done itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBXACT_H
#define LB_SUBXACT_H

#include "postgres.h"

/*
 * Call a routine in a subtransaction, and in the current memory context.
 * Returns NULL when the subtransaction has been released, and otherwise the
 * error that has rolled it back, in that context.  The caller raises it again,
 * or frees it with FreeErrorData().
 */
extern ErrorData *lb_try(void (*routine) (void *arg), void *arg);

#endif							/* LB_SUBXACT_H */
