/*-------------------------------------------------------------------------
 *
 * optional.h
 *	  Quals that a query can switch off when it runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OPTIONAL_H
#define LB_OPTIONAL_H

#include "postgres.h"

#include "planner/match.h"

/*
 * Whether one alternative of an OR depends on the row, and the others do not:
 * ($1 IS NULL OR score > $1).  *clause gets that one, and *unless the others,
 * palloc'd: all rows satisfy the OR if this is true.
 */
extern bool lb_split_optional(const LbSource *source, const BoolExpr *whole,
							  Expr **unless, Expr **clause);

#endif							/* LB_OPTIONAL_H */
