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
#include "reads/fetch.h"
#include "reads/query_text.h"

/* Columns of a read function. */
#define LB_MAX_COLUMNS 4

struct LbCall;

/*
 * A column of an answer: integer for INT8OID and for LB_SCORE_TYPE, real for
 * FLOAT8OID.
 */
typedef union LbNumber
{
	int64		integer;
	double		real;
} LbNumber;

/*
 * A read function: what it takes, what it returns, its defining query, and the
 * routine that answers it from the index.  functions.c has one of each.
 *
 * A function that takes or returns members or scores is two functions of SQL.
 * The one takes and returns them as bigint, and serves boards that have
 * integers there.  The other one, its twin, has them as text, in the form of
 * their types, and serves every board.  It also takes values of any type.
 */
typedef struct LbReadFunction
{
	const char *name;			/* its twin's ends with _key */
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

	/*
	 * Whether the routine can answer by an index that keeps counts, which
	 * knows no members and no rows.  If the first operand is a member, its
	 * row is read first (call_row.c).
	 */
	bool		by_counts;

	/*
	 * NULL, or converts more operands than members and scores, once the board
	 * is known: lb_convert_key().
	 */
	void		(*convert) (struct LbCall *call);

	LbQuery		query;
} LbReadFunction;

/*
 * A score that is an operand, as text.h has it: the nearest scores that a row
 * of the board can have, both the same if it is one.
 */
typedef struct LbScoreOperand
{
	int64		floor;
	int64		ceil;
} LbScoreOperand;

/* How a call takes and returns members and scores. */
typedef enum LbForm
{
	LB_AS_BIGINT,
	LB_AS_TEXT,
	LB_AS_JSON					/* takes a member as bigint, returns JSON */
} LbForm;

/* Members that are an operand, as values of their columns' types. */
typedef struct LbMembersOperand
{
	int			n;
	Datum	   *values;			/* nmember of each */
	bool	   *nulls;			/* likewise */
} LbMembersOperand;

/* A call under way. */
typedef struct LbCall
{
	FunctionCallInfo fcinfo;	/* NULL: by our own code */
	const LbReadFunction *function;
	const char *name;			/* of the function called, for messages */
	LbForm		form;
	LbMethod	method;
	Datum		operands[LB_MAX_PARAMS];	/* the parameters of the query */
	bool		nulls[LB_MAX_PARAMS];
	Oid			given[LB_MAX_OPERANDS]; /* as text: lb_take_argument() */
	LbAccess	access;

	/*
	 * All that this transaction has written on other servers is of the member
	 * that is the first operand.
	 */
	bool		written;

	/* Unless as bigint: what the operands are to the index. */
	const int64 *member;		/* words; NULL if no key has them */
	LbScoreOperand scores[LB_MAX_OPERANDS];
	LbMembersOperand members;

	/* By lb_convert_key(), in any form: words of a key; NULL as above. */
	const int64 *key;

	/*
	 * With counts: the key of the row of the member that is the first
	 * operand; NULL if it is not on the board.  By lb_read_member_row().
	 */
	const int64 *row_key;

	/*
	 * With counts: where the rows of a page begin, which the query reads from
	 * there on; NULL: the query is the whole one.  By rows_pages.c.
	 */
	const LbStart *start;
} LbCall;

/*
 * Answer a call of the read function from SQL: from the index, or by its
 * query.  Raises what the arguments, the name of the board or the query raise.
 */
extern Datum lb_call(FunctionCallInfo fcinfo, const LbReadFunction *function);

/* A call of its twin. */
extern Datum lb_call_as_text(FunctionCallInfo fcinfo,
							 const LbReadFunction *function);

/*
 * The steps of lb_call(), for a function that makes several calls.
 * lb_call_begin() checks the arguments with lb_call_check(), finds the board,
 * and converts the operands; afterwards call->access.query says whether the
 * query must be run.  name is that of the function called, without _key.
 * lb_call_null() ends a call whose answer is NULL because an operand is, and
 * returns whether it is so.
 */
extern void lb_call_check(FunctionCallInfo fcinfo,
						  const LbReadFunction *function);
extern void lb_call_begin(LbCall *call, FunctionCallInfo fcinfo,
						  const LbReadFunction *function, const char *name,
						  LbForm form);
extern bool lb_call_null(LbCall *call);

/*
 * Begin a call by our own code of a board in the active snapshot.  The caller
 * has set call->form, call->operands and call->nulls, as the function's
 * arguments are.  lb_call_find_own() leaves it to the caller to begin access.
 */
extern void lb_call_find_own(LbCall *call, const char *board, int len,
							 const LbReadFunction *function);
extern void lb_call_begin_own(LbCall *call, const char *board, int len,
							  const LbReadFunction *function);

/*
 * Begin access once more, after a query of our own in between.  Afterwards
 * call->access.query says whether the query must be run.
 */
extern void lb_call_begin_again(LbCall *call);

/*
 * Release the board's lock after a read by the index.  Returns sure: if false,
 * the index cannot tell the answer, and the query must be run, which is then
 * counted in place of the read by the index.  Can raise a serialization
 * failure.
 */
extern bool lb_call_unlock(LbCall *call, bool sure);

/*
 * Call the routine of a function that has LbReadFunction.value.  *isnull is
 * set if it has returned NULL.  Returns false if the query must be run.
 */
extern bool lb_call_value(LbCall *call, LbNumber *numbers, bool *isnull);

/*
 * The key of the member that is the first operand, palloc'd, or NULL if it is
 * not on the board: read from a table whose rows another engine keeps, for a
 * function that has LbQuery.given.  Returns false if only the query can tell.
 */
extern bool lb_call_key(LbCall *call, int64 **key);

/*
 * What the query would return if the member that is the first operand had the
 * key of start, for a function that has LbQuery.given and returns a bigint.
 * Raises what the query raises.
 */
extern int64 lb_call_query_given(LbCall *call, const LbStart *start);

/*
 * How many rows that tie with the member that is the first operand come before
 * it, by a query.  start has the key of its row.
 */
extern int64 lb_call_count_ties(LbCall *call, const LbStart *start);

/* Run the query of a function that returns one value. */
extern Datum lb_call_query(LbCall *call, bool *isnull);

/*
 * Run the query and fetch its rows, as slots from the tuplestore that is
 * returned.  Unless the form is LB_AS_BIGINT, a member is as many columns as
 * the board's members have.
 */
extern Tuplestorestate *lb_call_query_rows(LbCall *call,
										   TupleTableSlot **slot);

/* A record of the function's columns. */
extern Datum lb_call_record(LbCall *call, const Datum *values);

/*
 * A member's words as the function returns the member, and a score.  Palloc'd
 * where that type is by reference.
 */
extern Datum lb_call_member_datum(const LbCall *call, const int64 *words);
extern Datum lb_call_score_datum(const LbCall *call, int64 score);

/* ----------------------------------------------------------------
 *		call_row.c: the rows of members, for boards that keep counts
 * ----------------------------------------------------------------
 */

/* A look-up of rows of members on the board of a call. */
typedef struct LbMemberRows
{
	LbCall	   *call;
	bool		by_query;		/* of a partitioned table */
	bool		any;			/* the board can have rows; else none is read */
	Datum		board_values[LB_MAX_VALUE_COLUMNS];
	Relation	table;
	TupleTableSlot *slot;
	LbFetch		fetch;
} LbMemberRows;

/*
 * Begin to read rows in the active snapshot.  The caller has begun access,
 * which has found that the user may read the table and that no policy hides
 * rows, and holds no lock of ours.  Returns false if only the query can tell.
 * Can raise what opening a table can raise, as does the end.  After the end
 * call->access.query says again whether the query must be run.
 */
extern bool lb_member_rows_begin(LbMemberRows *rows, LbCall *call);
extern void lb_member_rows_end(LbMemberRows *rows);

/*
 * Read the row of a member, the values of its columns, and copy its key, which
 * has LB_MAX_WIDTH words at most.  Sets *found to whether it is on the board.
 * Returns false if only the query can tell.  Can raise what reading a table
 * can raise.
 */
extern bool lb_member_rows_read(LbMemberRows *rows, const Datum *member,
								int64 *key, bool *found);

/*
 * Read the row of the member that is the first operand, which is not null, and
 * set call->row_key.  All of the above in one.  Returns false if the query
 * must be run.
 */
extern bool lb_read_member_row(LbCall *call);


/*
 * The words of the member that is the first operand, or NULL if no key has
 * them.  *word is room for them.
 */
static inline const int64 *
lb_call_member(const LbCall *call, int64 *word)
{
	if (call->form != LB_AS_BIGINT)
		return call->member;
	*word = DatumGetInt64(call->operands[0]);
	return word;
}

/* A score that is an operand. */
static inline LbScoreOperand
lb_call_score_operand(const LbCall *call, int i)
{
	LbScoreOperand score;

	if (call->form != LB_AS_BIGINT)
		return call->scores[i];
	score.floor = score.ceil = DatumGetInt64(call->operands[i]);
	return score;
}

/*
 * Whether a score is certainly what the row has, and not -0 instead of 0;
 * under the lock.  If not, the query must be run.
 */
static inline bool
lb_call_is_sure(const LbCall *call, int64 score)
{
	const LbDefinition *defn = call->access.target.defn;

	return !lb_is_unsure(call->access.shared, lb_score_column(defn),
						 lb_directed(score, defn->columns[0].descending));
}

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

/* Whether the function's last column is that of tie-breakers. */
static inline bool
lb_returns_ties(const LbCall *call)
{
	return call->function->columns[LB_MAX_COLUMNS - 1] == TEXTARRAYOID;
}

#endif							/* LB_CALL_H */
