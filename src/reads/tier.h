/*-------------------------------------------------------------------------
 *
 * tier.h
 *	  Tiers of a board, by shares of its members.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TIER_H
#define LB_TIER_H

#include "reads/call.h"

/*
 * Answer a call of lb_tier() or its twin by what lb_player() returns.  Raises
 * what that raises, and 22004, 22003 or 22023 for tiers that are none.
 */
extern Datum lb_call_tier(FunctionCallInfo fcinfo, LbForm form,
						  const LbReadFunction *player);

#endif							/* LB_TIER_H */
