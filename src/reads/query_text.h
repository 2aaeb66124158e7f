/*-------------------------------------------------------------------------
 *
 * query_text.h
 *	  The texts of the defining queries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_QUERY_TEXT_H
#define LB_QUERY_TEXT_H

#include "boards/definition.h"

/* The most operands that a query has. */
#define LB_MAX_OPERANDS 3

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

/* The types of a query's operands; returns how many there are. */
extern int	lb_query_operands(LbQueryKind kind, const Oid **types);

#endif							/* LB_QUERY_TEXT_H */
