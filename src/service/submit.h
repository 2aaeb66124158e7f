/*-------------------------------------------------------------------------
 *
 * submit.h
 *	  Submitting scores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBMIT_H
#define LB_SUBMIT_H

#include "fmgr.h"

#include "service/player.h"

/*
 * Setting, in seconds: how far a submit may be ahead; below 0 there is no
 * bound.
 */
extern int	lb_max_clock_skew;

/*
 * lb_submit() with the arguments of fcinfo; the first is the player, of which
 * argument says what to call it and whether it is text.  Fills the caller's set of
 * rows.  Raises what docs/reference.md lists.
 */
extern Datum lb_submit_as(FunctionCallInfo fcinfo,
						  const LbPlayerArgument *argument);

#endif							/* LB_SUBMIT_H */
