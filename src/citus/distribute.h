/*-------------------------------------------------------------------------
 *
 * distribute.h
 *	  Tables of leaderboards that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DISTRIBUTE_H
#define LB_DISTRIBUTE_H

#include "boards/definition.h"

/* Routines of LbDistributed.  lb_places_follow_drop() drops companions. */
extern void lb_require_distributing(void);
extern void lb_distribute_table(Oid table, Oid as, int count);
extern void lb_make_companions(Oid scores, const char *declared,
							   const LbType *type);

#endif							/* LB_DISTRIBUTE_H */
