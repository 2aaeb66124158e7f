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

/* The routine of lb_top_json(): see LbReadFunction.rows. */
extern bool lb_top_json_rows(LbCall *call, Datum *result, bool *isnull);

/*
 * Answer a call of lb_rank_json(), which is lb_player() and lb_around() in one
 * object.
 */
extern Datum lb_call_rank_json(FunctionCallInfo fcinfo,
							   const LbReadFunction *player,
							   const LbReadFunction *around);

#endif							/* LB_JSON_H */
