/*-------------------------------------------------------------------------
 *
 * denied.h
 *	  A hint for roles that may not call a function of the extension.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DENIED_H
#define LB_DENIED_H

/* _PG_init: install the hook. */
extern void lb_denied_init(void);

#endif							/* LB_DENIED_H */
