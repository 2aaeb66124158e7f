/*-------------------------------------------------------------------------
 *
 * json.h
 *	  Answers as JSON.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_JSON_H
#define LB_JSON_H

#include "reads/call.h"

/* leaderboard.json_bigint */
enum
{
	LB_JSON_BIGINT_NUMBER,
	LB_JSON_BIGINT_STRING
};

extern int	lb_json_bigint;

/* Answer a call of lb_top_json(), which is lb_top() as one object. */
extern Datum lb_call_top_json(FunctionCallInfo fcinfo,
							  const LbReadFunction *top);

/*
 * Answer a call of lb_rank_json() or its twin, which is lb_player() and
 * lb_around() in one object.
 */
extern Datum lb_call_rank_json(FunctionCallInfo fcinfo, LbForm form,
							   const LbReadFunction *player,
							   const LbReadFunction *around);

#endif							/* LB_JSON_H */
