/*-------------------------------------------------------------------------
 *
 * columns.h
 *	  Recognizing the columns of a board in a query, and what compares them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COLUMNS_H
#define LB_COLUMNS_H

#include "postgres.h"

#include "boards/board_value.h"
#include "boards/target.h"
#include "planner/match.h"

/* A column of a board as an expression of the query has it. */
typedef struct LbUse
{
	int			column;			/* LbDefinition.columns[] */
	AttrNumber	attno;			/* lb_column_number() */
	Oid			type;			/* its type below domains, or the one that it
								 * is cast to */
	bool		cast;			/* it is */
} LbUse;

/* How a column compares with an operand, or is sorted. */
typedef struct LbOrder
{
	int			strategy;		/* of the type's B-tree operators */
	Oid			operand;		/* type of the operand */
} LbOrder;

/* column op operand, where the operator is one of those of LbOrder. */
typedef struct LbComparison
{
	OpExpr	   *clause;			/* with the column on its left */
	LbUse		use;
	LbOrder		order;
	Expr	   *operand;
} LbComparison;

/*
 * An expression without casts between types that are the same to the machine.
 */
extern Node *lb_strip_relabel(Node *expr);

/*
 * Whether a type is smallint, integer or bigint, and a value of such a type.
 */
extern bool lb_is_integer(Oid type);
extern int64 lb_integer_of(Oid type, Datum value);

/*
 * The number of a column in sets of columns: that of the table's column, or,
 * for an expression, one that no table has.
 */
extern AttrNumber lb_column_number(const LbDefinition *defn, int column);

/* The column of the key that a column of the table is, or -1. */
extern int	lb_key_column(const LbDefinition *defn, AttrNumber attno);

/*
 * A column of the board as an expression of the query, palloc'd.  Raises as a
 * catalog lookup.
 */
extern Expr *lb_column_expr(const LbSource *source, const LbDefinition *defn,
							int column);

/*
 * A copy of expressions without those of the board: constants take their
 * place.  Of a row of the board these raise no error.
 */
extern List *lb_without_board_exprs(const LbSource *source,
									const LbDefinition *defn, List *exprs);

/* Whether a column of the board is that one of an index of the table. */
extern bool lb_is_index_column(const LbSource *source,
							   const LbDefinition *defn, int column,
							   const IndexOptInfo *index, int i);

/*
 * Whether an expression is a column of the board, or a cast that keeps its
 * order.
 */
extern bool lb_find_use(const LbSource *source, const LbDefinition *defn,
						Node *expr, LbUse *use);

/*
 * Whether a clause is true just where a boolean column of the board has a
 * value: the column, its negation, or a test of one of these.  PostgreSQL
 * writes "flag = true" and "NOT (score > 10)" as "flag" and "score <= 10".
 */
extern bool lb_find_boolean(const LbSource *source, const LbDefinition *defn,
							Expr *clause, LbUse *use, bool *value);

/*
 * Whether an operator with a column on its left is one of the B-tree operators
 * by which the board orders the column, and its operand of a type that can be
 * compared with the index's words.
 */
extern bool lb_find_order(const LbDefinition *defn, const LbUse *use,
						  Oid opno, LbOrder *order);

/*
 * Whether one value of the column at most equals an operand: several values of
 * bigint can be the same in double precision.
 */
extern bool lb_is_exact(const LbDefinition *defn, const LbUse *use,
						const LbOrder *order);

/*
 * Whether expressions of a query have volatile functions, in their subplans as
 * well, which PostgreSQL's own check does not see.
 */
extern bool lb_is_volatile(const PlannerInfo *root, List *exprs);

/* Whether an expression can be evaluated once for all rows of the table. */
extern bool lb_is_operand(const LbSource *source, Node *expr);

/*
 * Whether an operator compares a column of the board with such an operand, on
 * any side.
 */
extern bool lb_find_comparison(const LbSource *source,
							   const LbDefinition *defn, OpExpr *op,
							   LbComparison *comparison);

/*
 * An operand that a board column equals, as a value of the column's type.
 * Returns false if the type does not have it.
 */
extern bool lb_convert_value(const LbColumn *column, Oid type, Datum *value);

/*
 * Set the board of target->defn, a family, by operands of these types that its
 * board columns equal; they become values of the columns' types.  room as for
 * lb_board_value().  Returns false if a column's type does not have the value.
 */
extern bool lb_set_target_value(LbTarget *target, const Oid *types,
								Datum *values, char *room);

#endif							/* LB_COLUMNS_H */
