/*-------------------------------------------------------------------------
 *
 * no_error.h
 *	  Expressions that raise no error, whatever the row is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_NO_ERROR_H
#define LB_NO_ERROR_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* What is known of the values of a column of integers. */
typedef struct LbKnownColumn
{
	AttrNumber	attno;
	int64		least;
	int64		greatest;
} LbKnownColumn;

/*
 * Whether an expression over one table, or a list of them, may raise an error
 * for some row and not for another one.  root is that of the query which has
 * the expression, or NULL if it has been asked with it before.  known is NULL
 * if nothing is known of a column.  Can raise what a catalog lookup can raise.
 */
extern bool lb_may_raise(Node *expr, const PlannerInfo *root,
						 const LbKnownColumn *known);

/*
 * Whether a select list for which that is false may raise an error if it is
 * computed for any row.  Likewise.
 */
extern bool lb_may_raise_for_any(const PlannerInfo *root, List *tlist);

/*
 * Whether a parameter stands for a subquery of the query, or of one around it,
 * which runs when its value is asked for.  One that stands for a column of a
 * query around it has its value already.
 */
extern bool lb_is_subquery(const PlannerInfo *root, const Param *param);

/* Whether an expression has such a parameter. */
extern bool lb_has_subquery(const PlannerInfo *root, Node *expr);

#endif							/* LB_NO_ERROR_H */
