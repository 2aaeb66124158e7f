/*-------------------------------------------------------------------------
 *
 * mend.h
 *	  Maintenance of distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEND_H
#define LB_MEND_H

#include "windows/visit.h"

/* Routines of LbDistributed. */
extern void lb_list_boards(LbVisit *visit);
extern bool lb_mend(LbVisit *visit, const char *board);
extern void lb_leave_to_owners(LbVisit *visit);

#endif							/* LB_MEND_H */
