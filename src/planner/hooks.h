/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  The planner's hooks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_HOOKS_H
#define LB_HOOKS_H

/* _PG_init: install the hooks, and register the nodes. */
extern void lb_planner_init(void);

#endif							/* LB_HOOKS_H */
