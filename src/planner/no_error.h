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

#include "nodes/primnodes.h"

/* What is known of the values of a column of integers. */
typedef struct LbKnownColumn
{
	AttrNumber	attno;
	int64		least;
	int64		greatest;
} LbKnownColumn;

/*
 * Whether an expression over one table, or a list of them, may raise an error
 * for some row and not for another one.  known is NULL if nothing is known of
 * a column.  Can raise what a catalog lookup can raise.
 */
extern bool lb_may_raise(Node *expr, const LbKnownColumn *known);

/*
 * Whether a column of a select list that is the same for all rows may raise an
 * error, so that it does if there is a row.  Can raise likewise.
 */
extern bool lb_may_raise_for_any(List *tlist);

#endif							/* LB_NO_ERROR_H */
