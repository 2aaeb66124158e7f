/*-------------------------------------------------------------------------
 *
 * key.h
 *	  Whole keys as operands, and tie-breakers as answers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_KEY_H
#define LB_KEY_H

#include "catalog/pg_type_d.h"

#include "reads/call.h"

/*
 * LbReadFunction.convert of functions whose operands are the member, the score
 * and the tie-breakers as texts: make them what the index takes, call->key.
 * The first two are converted already.  If any of it is null, the first
 * operand is afterwards.  Raises 22023 if the number of tie-breakers is not
 * the board's, and what their types' input functions raise.
 */
extern void lb_convert_key(LbCall *call);

/* The routine of lb_count_before(): see LbReadFunction.rows in call.h. */
extern bool lb_count_before_rows(LbCall *call, Datum *result, bool *isnull);

/*
 * The values of the rank_by columns of a key.  Palloc'd, unless passed by
 * value.
 */
extern void lb_decode_rank_by(const LbDefinition *defn, const int64 *key,
							  Datum *values);

/* The tie-breakers of a key, as lb_ties_to_text() returns them. */
extern Datum lb_ties_of_key(const LbCall *call, const int64 *key);

/*
 * Whether score and tie-breakers of a key are certainly what the row has, and
 * not -0 instead of 0; under the lock.  If not, the query must be run.
 */
extern bool lb_key_is_sure(const LbCall *call, const int64 *key);

#endif							/* LB_KEY_H */
