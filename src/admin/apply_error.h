/*-------------------------------------------------------------------------
 *
 * apply_error.h
 *	  The last error of each subscription.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_APPLY_ERROR_H
#define LB_APPLY_ERROR_H

#include "boards/shared.h"

/* Have the workers of logical replication note their errors; from _PG_init. */
extern void lb_apply_error_init(void);

/* Copy the last error of a subscription.  Returns false if there is none. */
extern bool lb_last_apply_error(Oid subscription, LbApplyError *error);

#endif							/* LB_APPLY_ERROR_H */
