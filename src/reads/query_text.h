/*-------------------------------------------------------------------------
 *
 * query_text.h
 *	  The texts of the defining queries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_QUERY_TEXT_H
#define LB_QUERY_TEXT_H

#include "catalog/pg_type_d.h"

#include "boards/definition.h"

/* The most operands that a query has, the board's values not counted. */
#define LB_MAX_OPERANDS 4

/*
 * The most parameters that a query has, likewise: a member can have several.
 */
#define LB_MAX_PARAMS (LB_MAX_OPERANDS + LB_MAX_MEMBER_COLUMNS - 1)

/* Ranking methods: values of LbMethod. */
#define LB_NMETHODS (LB_DENSE_RANK + 1)

/*
 * Types of operands and columns that depend on the board: a member, a score,
 * and arrays of them.  An operand with members is the first one.
 */
#define LB_MEMBER_TYPE ANYELEMENTOID
#define LB_MEMBERS_TYPE ANYARRAYOID
#define LB_SCORE_TYPE ANYCOMPATIBLEOID
#define LB_SCORES_TYPE ANYCOMPATIBLEARRAYOID

/* What a read function does if an operand is null. */
typedef enum LbNullOperand
{
	LB_NULL_TAKEN,				/* null has a meaning of its own */
	LB_NULL_NO_ROW,				/* returns NULL, or no row */
	LB_NULL_ERROR				/* raises 22004 */
} LbNullOperand;

/* An operand of a query, $1 ..., and the function's argument that it is. */
typedef struct LbOperand
{
	Oid			type;			/* InvalidOid: there is no such operand */
	int			argument;		/* from 0 */
	LbNullOperand null;

	const char *name;			/* of the argument, for messages */
	int64		least;			/* with LB_NULL_ERROR: it is an integer */

	/* Raises an error if a value cannot be taken; or NULL. */
	void		(*check) (Datum value);
} LbOperand;

/*
 * A defining query.  text is its template for each method; where one is NULL,
 * the one before it holds for this method, too.
 *
 * given has templates of the same query for a member that is on the board and
 * whose rank_by columns are known: parameters then, not subqueries.  Its first
 * one is NULL if the query has none.
 *
 * page has templates of a query for the same rows where an index that keeps
 * counts has told where they begin, not for LB_ROW_NUMBER.  They are NULL if
 * the rows are no page.
 */
typedef struct LbQuery
{
	LbOperand	operands[LB_MAX_OPERANDS];
	const char *text[LB_NMETHODS];
	const char *given[LB_NMETHODS];
	const char *page[LB_NMETHODS];
} LbQuery;

/* Where a page begins: at a key of the rank_by columns. */
typedef struct LbStart
{
	Datum		key[LB_MAX_RANK_COLUMNS];

	/* In this order parameters of LB_STEP_PAGE: */
	int64		n;				/* rows of the page */
	int64		skip;			/* rows to leave out, with that key or behind */
	int64		before;			/* rows of the board before the key */
	int64		rank;			/* of the key's score */
} LbStart;

#define LB_START_NUMBERS 4

/*
 * The statements that a query is: the whole of it, or one and then the other.
 */
typedef enum LbQueryStep
{
	LB_STEP_WHOLE,
	LB_STEP_KEY,				/* the member's key; no row if it is not on
								 * the board */
	LB_STEP_GIVEN,				/* LbQuery.given */
	LB_STEP_TIES,				/* how many rows before the member have the
								 * same rank_by columns as its row */
	LB_STEP_PAGE				/* LbQuery.page */
} LbQueryStep;

static inline int
lb_query_noperands(const LbQuery *query)
{
	int			n = 0;

	while (n < LB_MAX_OPERANDS && OidIsValid(query->operands[n].type))
		n++;
	return n;
}

/*
 * The type of the parameter for a board column, which is resolved: the enum's
 * own, or text.  These parameters follow all others.
 */
extern Oid	lb_board_param(const LbColumn *column);

/*
 * A query takes and returns members and scores either as bigint, if the
 * board's are integers, or (own_types) as values of their columns' types.  A
 * member of several columns is as many columns of the result, and as many
 * parameters: the first is the operand, and the others follow all operands.
 *
 * lb_query_type() returns the type that stands for one of the types above, of
 * the member's first column.  lb_query_params() sets the types of the
 * parameters without the board's values, LB_MAX_PARAMS at most, and returns
 * their number.
 */
extern Oid	lb_query_type(const LbDefinition *defn, Oid type, bool own_types);
extern int	lb_query_params(const LbDefinition *defn, const LbQuery *query,
							bool own_types, Oid *types);

/*
 * The text of a step of the query, palloc'd.  Parameters are $1 ...; after
 * them come the rank_by columns with LB_STEP_GIVEN and LB_STEP_TIES, all of
 * LbStart with LB_STEP_PAGE, and lb_board_param() for each board column.  The
 * definition must be resolved.
 */
extern char *lb_query_text(const LbDefinition *defn, const LbQuery *query,
						   LbQueryStep step, LbMethod method, bool own_types);

#endif							/* LB_QUERY_TEXT_H */
