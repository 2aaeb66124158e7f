/*-------------------------------------------------------------------------
 *
 * stat.h
 *	  Statistics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_STAT_H
#define LB_STAT_H

#include "boards/target.h"

/*
 * Look up a board by its name.  Returns whether the current user may see it;
 * raises 42704 if there is none.
 */
extern bool lb_stat_look_up(text *name, LbTarget *target);

#endif							/* LB_STAT_H */
