/*-------------------------------------------------------------------------
 *
 * page_limit.c
 *	  LIMIT and OFFSET of a query over one table or view.
 *
 * A node that knows the places of its rows takes the place of a Limit node: it
 * looks at the rows that this returns, and at no others.
 *
 * PostgreSQL computes the select list for the rows that OFFSET skips, too.  So
 * it must not matter whether it is computed.  What has no columns raises an
 * error for the rows of the page as well.  But a page may have none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"

#include "planner/columns.h"
#include "planner/page_limit.h"
#include "util/compat.h"

/* The rows that a LIMIT leaves if it is a parameter. */
#define GUESSED_ROWS 20


/* ----------------------------------------------------------------
 *		In the planner
 * ----------------------------------------------------------------
 */

RelOptInfo *
lb_only_rel(const PlannerInfo *root)
{
	RelOptInfo *only = NULL;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel == NULL || rel->reloptkind != RELOPT_BASEREL)
			continue;
		if (only != NULL)
			return NULL;
		only = rel;
	}
	return only;
}

bool
lb_returns_rows(const PlannerInfo *root)
{
	const Query *query = root->parse;

	return query->commandType == CMD_SELECT &&
		query->setOperations == NULL && query->groupClause == NIL &&
		query->groupingSets == NIL && !query->hasAggs &&
		query->havingQual == NULL && query->distinctClause == NIL &&
		!query->hasTargetSRFs && query->rowMarks == NIL;
}

static bool
has_offset(const Query *query)
{
	const Const *offset = (const Const *) query->limitOffset;

	return offset != NULL &&
		!(IsA(offset, Const) &&
		  (offset->constisnull || DatumGetInt64(offset->constvalue) == 0));
}

bool
lb_may_limit(const LbSource *source, const PlannerInfo *root, List *exprs,
			 const LbKnownColumn *known)
{
	const Query *query = root->parse;

	if (!limit_needed(root->parse))
		return false;
	if (lb_is_volatile(root, exprs) ||
		lb_is_volatile(root, root->init_plans) ||
		!lb_is_operand(source, query->limitCount) ||
		!lb_is_operand(source, query->limitOffset))
		return lb_miss_all(source, LB_MISS_VOLATILE);
	if (has_offset(query) && lb_may_raise((Node *) exprs, root, known))
		return lb_miss_all(source, LB_MISS_OFFSET);
	return true;
}

/* Whether expressions have a system column of a table's rows. */
static bool
has_system_columns(List *exprs, Index relid)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) exprs, relid, &columns);
	for (int i = FirstLowInvalidHeapAttributeNumber + 1; i < 0; i++)
	{
		if (bms_is_member(i - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	}
	return false;
}

/*
 * Whether the select list need not be computed for the rows before the page.
 * If the scores decide that, the node will look at them.  A score of 1 is
 * taken here, which is in range for most purposes, and a divisor.
 */
static bool
may_limit(const LbSource *source, const LbDefinition *defn, bool *checks)
{
	PlannerInfo *root = source->root;
	List	   *tlist = lb_without_board_exprs(source, defn, root->processed_tlist);
	LbKnownColumn score = {defn->columns[0].attno, 1, 1};
	const LbKnownColumn *known = defn->columns[0].expression == NULL &&
		lb_is_integer(defn->columns[0].oid) ? &score : NULL;

	*checks = known != NULL && lb_may_raise((Node *) tlist, root, NULL);
	return lb_may_limit(source, root, tlist, known);
}

bool
lb_may_be_page(const LbSource *source, const LbDefinition *defn,
			   bool *checks)
{
	const PlannerInfo *root = source->root;

	if (root->sort_pathkeys == NIL || root->parse->hasWindowFuncs ||
		lb_only_rel(root) != source->rel)
		return false;
	if (!lb_returns_rows(root))
		return lb_miss_all(source, LB_MISS_DISTINCT);
	if (has_system_columns(root->processed_tlist, source->rel->relid))
		return lb_miss_all(source, LB_MISS_SYSTEM_COLUMN);
	return may_limit(source, defn, checks);
}

double
lb_page_limit_rows(const FinalPathExtraData *limit, double rows)
{
	rows = Max(rows, 1.0);
	if (limit->count_est < 0)
		return Min(rows, GUESSED_ROWS);
	rows = Max(rows - Max(limit->offset_est, 0), 1.0);
	return limit->count_est == 0 ? rows : Min(rows, limit->count_est);
}

static List *
list_of(Node *expr)
{
	return expr == NULL ? NIL : list_make1(copyObject(expr));
}

List *
lb_page_limit_exprs(const PlannerInfo *root)
{
	const Query *query = root->parse;
	bool		raises = has_offset(query) &&
		lb_may_raise_for_any(root, root->processed_tlist);

	return list_make3(list_of(query->limitCount), list_of(query->limitOffset),
					  raises ? list_make1(makeBoolConst(true, false)) : NIL);
}

/* Lists of CustomPath.custom_private. */
enum
{
	PATH_RELID,
	PATH_PRIVATE,				/* of the scan, likewise: */
	PATH_EXPRS
};

CustomPath *
lb_make_page_path(const LbSource *source, const RelOptInfo *final,
				  const struct CustomPathMethods *methods, List *private, List *exprs)
{
	CustomPath *path = makeNode(CustomPath);
	Path	   *child = lb_cheapest_path(final);

	path->path.pathtype = T_CustomScan;
	path->path.parent = unconstify(RelOptInfo *, final);
	path->path.pathtarget = child->pathtarget;
	path->path.pathkeys = source->root->sort_pathkeys;
	path->methods = methods;
	path->custom_paths = list_make1(child);
	path->custom_private =
		list_make3(list_make1_int(source->rel->relid), private, exprs);
	return path;
}

void
lb_take_page_path(const LbSource *source, const LbDefinition *defn,
				  RelOptInfo *final, CustomPath *path)
{
	const Path *child = linitial(path->custom_paths);

	if (LB_CHEAPER(&path->path, child))
		final->pathlist = list_make1(path);
	else
		(void) lb_miss(source, defn, LB_MISS_COST);
}

Plan *
lb_plan_page(const CustomPath *path, List *tlist, List *custom_plans,
			 const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = linitial_int(list_nth(path->custom_private,
												 PATH_RELID));
	if (ExecSupportsBackwardScan(linitial(custom_plans)))
		scan->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	scan->custom_plans = custom_plans;
	scan->custom_private = list_nth(path->custom_private, PATH_PRIVATE);
	scan->custom_exprs = list_nth(path->custom_private, PATH_EXPRS);
	scan->methods = methods;
	return (Plan *) scan;
}


/* ----------------------------------------------------------------
 *		In a node
 * ----------------------------------------------------------------
 */

/* LIMIT and OFFSET are the first and the second list. */
static List *
rows_of(const LbAnswer *a, int exprs)
{
	return list_nth(((CustomScan *) a->css.ss.ps.plan)->custom_exprs, exprs);
}

static ExprState *
init_rows(const LbAnswer *a, int exprs)
{
	List	   *rows = rows_of(a, exprs);

	return rows == NIL ? NULL :
		ExecInitExpr(linitial(rows), (PlanState *) &a->css.ss.ps);
}

void
lb_page_limit_begin(LbPageLimit *limit, const LbAnswer *a, int exprs)
{
	limit->exprs = exprs;
	limit->count = init_rows(a, exprs);
	limit->offset = init_rows(a, exprs + 1);
	limit->raises = rows_of(a, exprs + 2) != NIL;
}

/*
 * A number of rows.  Null stands for none.  Returns false if it is negative,
 * which is an error that the child raises.
 */
static bool
evaluate_rows(ExprState *expr, ExprContext *context, bool *isnull,
			  int64 *number)
{
	*isnull = true;
	*number = 0;
	if (expr == NULL)
		return true;
	*number = DatumGetInt64(ExecEvalExpr(expr, context, isnull));
	if (*isnull)
		*number = 0;
	return *number >= 0;
}

/* In the order in which a Limit node evaluates them. */
bool
lb_page_limit_evaluate(const LbPageLimit *limit, ExprContext *context,
					   LbStretch *stretch)
{
	bool		no_offset;

	return evaluate_rows(limit->offset, context, &no_offset, &stretch->skip) &&
		evaluate_rows(limit->count, context, &stretch->all, &stretch->max_rows);
}

bool
lb_page_limit_found(const LbPageLimit *limit, LbAnswer *a,
					const LbStretch *stretch, bool found)
{
	if (found || !limit->raises || stretch->skip == 0)
		return true;
	lb_answer_retract(a, LB_CAUSE_LIMIT);
	return false;
}

/* A number of rows, or the expression that it comes from. */
static void
explain_rows(const LbAnswer *a, const char *label, int exprs, List *ancestors,
			 ExplainState *es)
{
	List	   *rows = rows_of(a, exprs);

	if (rows != NIL && IsA(linitial(rows), Const) &&
		!linitial_node(Const, rows)->constisnull)
		ExplainPropertyInteger(label, NULL,
							   DatumGetInt64(linitial_node(Const, rows)->constvalue),
							   es);
	else
		lb_answer_explain_exprs(a, label, exprs, ancestors, es);
}

void
lb_page_limit_explain(const LbPageLimit *limit, const LbAnswer *a, bool ties,
					  List *ancestors, ExplainState *es)
{
	explain_rows(a, "Limit", limit->exprs, ancestors, es);
	if (ties)
		ExplainPropertyBool("With Ties", true, es);
	explain_rows(a, "Offset", limit->exprs + 1, ancestors, es);
}
