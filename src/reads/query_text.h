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

/* The most operands that a query has, the board's value not counted. */
#define LB_MAX_OPERANDS 3

/* Ranking methods: values of LbMethod. */
#define LB_NMETHODS (LB_DENSE_RANK + 1)

/* Types of operands and columns that depend on the board. */
#define LB_MEMBER_TYPE ANYELEMENTOID	/* as members are taken and returned */
#define LB_MEMBERS_TYPE ANYARRAYOID /* an array of them */

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

	/* With LB_NULL_ERROR, the argument is an integer. */
	const char *name;
	int64		least;

	/* Raises an error if a value cannot be taken; or NULL. */
	void		(*check) (Datum value);
} LbOperand;

/*
 * A defining query.  text is its template for each method; where one is NULL,
 * the one before it holds for this method, too.  rows is what the word {rows}
 * in it stands for, likewise.
 */
typedef struct LbQuery
{
	LbOperand	operands[LB_MAX_OPERANDS];
	const char *text[LB_NMETHODS];
	const char *const *rows;
} LbQuery;

static inline int
lb_query_noperands(const LbQuery *query)
{
	int			n = 0;

	while (n < LB_MAX_OPERANDS && OidIsValid(query->operands[n].type))
		n++;
	return n;
}

/* LB_MEMBER_TYPE and LB_MEMBERS_TYPE replaced by what they are on a board. */
extern Oid	lb_query_type(const LbDefinition *defn, Oid type);

/*
 * The query's text, palloc'd.  Operands are $1 ...; for a family the board's
 * value follows them as text.  The definition must be resolved.
 */
extern char *lb_query_text(const LbDefinition *defn, const LbQuery *query,
						   LbMethod method);

#endif							/* LB_QUERY_TEXT_H */
