/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  Tables that Citus distributes: the routines that lower folders call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CITUS_H
#define LB_CITUS_H

/* _PG_init: set lb_distributed. */
extern void lb_citus_init(void);

#endif							/* LB_CITUS_H */
