/*-------------------------------------------------------------------------
 *
 * generated.h
 *	  Quals that say the expression of a generated ranked_if column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_GENERATED_H
#define LB_GENERATED_H

#include "postgres.h"

#include "planner/match.h"

/*
 * If a board's ranked_if column is generated, and its expression is one of the
 * clauses of a query, or several of them joined by AND, return these: copies,
 * palloc'd; else NIL.  Clauses may be RestrictInfos.  Can raise what a catalog
 * lookup can raise.
 */
extern List *lb_find_generated(const LbSource *source,
							   const LbDefinition *defn, List *clauses);

#endif							/* LB_GENERATED_H */
