/*-------------------------------------------------------------------------
 *
 * optional.c
 *	  Quals that a query can switch off when it runs.
 *
 * A query with optional conditions says ($1 IS NULL OR score > $1): where the
 * parameter is null, the condition is none.  A plan that is made for the value
 * has one or the other.  A generic plan has both, and the node finds out when
 * it evaluates its operands.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "planner/columns.h"
#include "planner/optional.h"

bool
lb_split_optional(const LbSource *source, const BoolExpr *whole,
				  Expr **unless, Expr **clause)
{
	List	   *others = NIL;
	ListCell   *lc;

	*clause = NULL;
	foreach(lc, whole->args)
	{
		if (lb_is_operand(source, lfirst(lc)))
			others = lappend(others, lfirst(lc));
		else if (*clause != NULL)
			return false;
		else
			*clause = lfirst(lc);
	}
	if (*clause == NULL || others == NIL)
		return false;
	*unless = list_length(others) == 1 ? linitial(others) :
		make_orclause(others);
	return true;
}
