/*-------------------------------------------------------------------------
 *
 * mend.h
 *	  Maintenance of distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEND_H
#define LB_MEND_H

#include "service/visit.h"

/* See LbDistributed.maintain and LbDistributed.leave_to_owners. */
extern bool lb_mend_boards(LbVisit *visit);
extern void lb_leave_to_owners(LbVisit *visit);

#endif							/* LB_MEND_H */
