/*-------------------------------------------------------------------------
 *
 * submit.h
 *	  Submitting scores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBMIT_H
#define LB_SUBMIT_H

/*
 * Setting, in seconds: how far a submit may be ahead; below 0 there is no
 * bound.
 */
extern int	lb_max_clock_skew;

#endif							/* LB_SUBMIT_H */
