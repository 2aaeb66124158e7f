/*-------------------------------------------------------------------------
 *
 * submit.h
 *	  Submitting scores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBMIT_H
#define LB_SUBMIT_H

/* Settings. */
extern bool lb_events;
extern int	lb_max_clock_skew;	/* seconds; below 0 there is no bound */

#endif							/* LB_SUBMIT_H */
