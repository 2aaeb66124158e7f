/*-------------------------------------------------------------------------
 *
 * query.h
 *	  The defining queries, run through SPI.
 *
 * Each read function can be answered by its query in the caller's snapshot,
 * with the caller's privileges and row-level security.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_QUERY_H
#define LB_QUERY_H

#include "access/tupdesc.h"
#include "utils/tuplestore.h"

#include "boards/definition.h"
#include "boards/live.h"

/* One for each read function; operands in the order of its arguments. */
typedef enum LbQueryKind
{
	LB_QUERY_RANK,				/* member bigint -> bigint */
	LB_QUERY_SCORE,				/* member -> bigint */
	LB_QUERY_PERCENTILE,		/* member -> double precision */
	LB_QUERY_PLAYER,			/* member -> rank, score, percentile, total */
	LB_QUERY_TOP,				/* n integer, skip bigint -> rank, member,
								 * score */
	LB_QUERY_TOP_JSON,			/* n, skip, the board's name text -> json */
	LB_QUERY_AT,				/* place bigint -> rank, member, score */
	LB_QUERY_AROUND,			/* member, radius integer -> rank, member,
								 * score */
	LB_QUERY_COUNT,				/* -> bigint */
	LB_QUERY_COUNT_BETWEEN,		/* lo, hi bigint, each may be null -> bigint */
	LB_QUERY_RANK_OF_SCORE,		/* score bigint -> bigint */
	LB_QUERY_SCORE_AT_PERCENTILE,	/* p double precision -> bigint */
	LB_QUERY_RANKS,				/* members bigint[] -> member, rank, score */
	LB_QUERY_AMONG,				/* members bigint[] -> place, member, score,
								 * rank */
	LB_QUERY_HISTOGRAM,			/* buckets integer -> bucket, lo, hi, members */
	LB_QUERY_PREFIX,			/* -> boolean: has any row of the family a
								 * board that begins with the value? */
	LB_NQUERIES
} LbQueryKind;

/*
 * The query's text, palloc'd.  Operands are $1 ...; for a family the board's
 * value follows them as text.
 */
extern char *lb_query_text(const LbDefinition *defn, LbQueryKind kind,
						   LbMethod method);

/*
 * Run the query of a function that returns one value.  args and nulls hold
 * the operands (nulls may be NULL); value is the family's board value or
 * NULL.  Plans are kept for the life of the definition (see
 * lb_query_forget).  Raises whatever the query raises.
 */
extern Datum lb_query_value(const LbDefinition *defn, LbQueryKind kind,
							LbMethod method, const Datum *args,
							const char *nulls, const LbValue *value,
							bool *isnull);

/*
 * The same for a function that returns rows: they are added to tupstore,
 * whose descriptor is tupdesc.  Returns their number.
 */
extern uint64 lb_query_rows(const LbDefinition *defn, LbQueryKind kind,
							LbMethod method, const Datum *args,
							const char *nulls, const LbValue *value,
							Tuplestorestate *tupstore, TupleDesc tupdesc);

/* Forget the plans of all boards, when definitions may have changed. */
extern void lb_query_forget(void);

#endif							/* LB_QUERY_H */
