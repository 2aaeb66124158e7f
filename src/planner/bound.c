/*-------------------------------------------------------------------------
 *
 * bound.c
 *	  How many rows a plan asks of a scan of a board.
 *
 * A sort that knows how many rows are wanted keeps only the best ones.  A
 * Limit node tells it at execution, through some kinds of nodes between them,
 * but not through a custom scan (ExecSetTupleBound).  So the planner gives a
 * scan the expressions of the Limit node, and the scan tells the sort below
 * it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "planner/bound.h"
#include "planner/scan_exec.h"

static List *
list_of(Node *expr)
{
	return expr == NULL ? NIL : list_make1(copyObject(expr));
}

List *
lb_other_plans(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SubqueryScan:
			return list_make1(((SubqueryScan *) plan)->subplan);
		case T_Append:
			return ((Append *) plan)->appendplans;
		case T_MergeAppend:
			return ((MergeAppend *) plan)->mergeplans;
		case T_CustomScan:
			return ((CustomScan *) plan)->custom_plans;
		default:
			return NIL;
	}
}

static void
add_bound(CustomScan *scan, const Limit *limit)
{
	scan->custom_exprs = list_concat(scan->custom_exprs,
									 list_make3(list_of(limit->limitCount),
												list_of(limit->limitOffset),
												NIL));
}

/*
 * Pass the bound on as ExecSetTupleBound() does: where no rows are filtered or
 * joined.
 */
static void
pass_bound(Plan *plan, const Limit *limit)
{
	ListCell   *lc;

	check_stack_depth();
	if (plan == NULL)
		return;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (((CustomScan *) plan)->methods == &lb_scan_methods)
				add_bound((CustomScan *) plan, limit);
			return;
		case T_Result:
		case T_SubqueryScan:
			if (plan->qual != NIL)
				return;
			break;
		case T_Append:
		case T_MergeAppend:
			break;
		default:
			return;
	}
	pass_bound(plan->lefttree, limit);
	foreach(lc, lb_other_plans(plan))
		pass_bound(lfirst(lc), limit);
}

/*
 * WITH TIES asks for rows without a bound.  A scan evaluates the expressions
 * later than the Limit node, maybe in another command that fetches from a
 * cursor, so they must not change until then.
 */
static bool
has_bound(const Limit *limit)
{
	List	   *exprs = list_make2(limit->limitCount, limit->limitOffset);

	return limit->limitCount != NULL &&
		limit->limitOption == LIMIT_OPTION_COUNT &&
		!contain_mutable_functions((Node *) exprs) &&
		!contain_subplans((Node *) exprs);
}

static void
find_limits(Plan *plan)
{
	ListCell   *lc;

	check_stack_depth();
	if (plan == NULL)
		return;
	if (IsA(plan, Limit) && has_bound((Limit *) plan))
		pass_bound(plan->lefttree, (Limit *) plan);
	foreach(lc, lb_other_plans(plan))
		find_limits(lfirst(lc));
	find_limits(plan->lefttree);
	find_limits(plan->righttree);
}

void
lb_pass_bounds(PlannedStmt *stmt)
{
	ListCell   *lc;

	find_limits(stmt->planTree);
	foreach(lc, stmt->subplans)
		find_limits(lfirst(lc));
}
