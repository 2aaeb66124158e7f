/*-------------------------------------------------------------------------
 *
 * json.h
 *	  Answers as JSON.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_JSON_H
#define LB_JSON_H

#include "lib/stringinfo.h"

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

/*
 * For our own code: append a member or a score of a board, which is text and
 * not null, as these functions show it.  Can raise what the types' input
 * functions raise.
 */
extern void lb_append_member_json(StringInfo buf, const LbDefinition *defn,
								  const char *member);
extern void lb_append_score_json(StringInfo buf, const LbDefinition *defn,
								 const char *score);

#endif							/* LB_JSON_H */
