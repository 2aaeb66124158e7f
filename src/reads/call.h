/*-------------------------------------------------------------------------
 *
 * call.h
 *	  The call of a read function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CALL_H
#define LB_CALL_H

#include "fmgr.h"
#include "funcapi.h"

#include "boards/definition.h"
#include "boards/keys.h"
#include "reads/access_lock.h"
#include "reads/member.h"
#include "reads/query_text.h"

/* Columns of a read function. */
#define LB_MAX_COLUMNS 4

struct LbCall;

/* A column of an answer: integer for INT8OID, real for FLOAT8OID. */
typedef union LbNumber
{
	int64		integer;
	double		real;
} LbNumber;

/*
 * A read function: what it takes, what it returns, its defining query, and the
 * routine that answers it from the index.  functions.c has one of each.
 */
typedef struct LbReadFunction
{
	int			board;			/* the argument with the board's name */
	int			method;			/* likewise the method; 0: it has none */
	bool		ranks;			/* the answer depends on the method */
	Oid			columns[LB_MAX_COLUMNS];	/* of the answer */

	/*
	 * One of two.  value is called under the lock, and so must not raise.  It
	 * fills in a number for each column, or returns false for NULL.
	 *
	 * rows is called without the lock.  It sets *result, or puts the rows of
	 * a set into the call's tuplestore, or returns false if the query must be
	 * run.
	 */
	bool		(*value) (const struct LbCall *call, LbNumber *numbers);
	bool		(*rows) (struct LbCall *call, Datum *result, bool *isnull);
	bool		set;			/* returns a set */

	LbQuery		query;
} LbReadFunction;

/* A call under way. */
typedef struct LbCall
{
	FunctionCallInfo fcinfo;	/* NULL: by our own code */
	const LbReadFunction *function;
	LbMethod	method;
	Datum		operands[LB_MAX_OPERANDS];
	bool		nulls[LB_MAX_OPERANDS];
	LbAccess	access;
} LbCall;

/*
 * Answer a call of the read function from SQL: from the index, or by its query.
 * Raises what the arguments, the name of the board or the query raise.
 */
extern Datum lb_call(FunctionCallInfo fcinfo, const LbReadFunction *function);

/*
 * The steps of lb_call(), for a function that makes several calls.
 * lb_call_begin() checks the arguments with lb_call_check(), and finds the board;
 * afterwards call->access.query says whether the query must be run.
 * lb_call_null() ends a call whose answer is NULL because an operand is, and
 * returns whether it is so.
 */
extern void lb_call_check(FunctionCallInfo fcinfo,
						  const LbReadFunction *function);
extern void lb_call_begin(LbCall *call, FunctionCallInfo fcinfo,
						  const LbReadFunction *function);
extern bool lb_call_null(LbCall *call);

/*
 * Begin a call by our own code of a board in the active snapshot.  The caller
 * has set call->operands and call->nulls.
 */
extern void lb_call_begin_own(LbCall *call, const char *board, int len,
							  const LbReadFunction *function);

/* Run the query of a function that returns one value. */
extern Datum lb_call_query(LbCall *call, bool *isnull);

/*
 * Run the query and fetch its rows, as slots from the tuplestore that is
 * returned.
 */
extern Tuplestorestate *lb_call_query_rows(LbCall *call,
										   TupleTableSlot **slot);

/* A record of the function's columns. */
extern Datum lb_call_record(LbCall *call, const Datum *values);

/* The score of a key, and the key's word of a score. */
static inline int64
lb_call_score(const LbCall *call, const int64 *key)
{
	return lb_directed(key[0], call->access.target.defn->columns[0].descending);
}

static inline int64
lb_call_score_word(const LbCall *call, int64 score)
{
	return lb_directed(score, call->access.target.defn->columns[0].descending);
}

#endif							/* LB_CALL_H */
