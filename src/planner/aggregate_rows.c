/*-------------------------------------------------------------------------
 *
 * aggregate_rows.c
 *	  The rows that the aggregates of a query are over.
 *
 * SELECT count(*) FROM ranked, a view with window functions, counts the rows
 * of the view's table: the planner leaves the window functions out, since the
 * query does not need them.  But it does not pull the subquery up.  Neither
 * does it pull up one that has OFFSET 0, as in SELECT max(score) FROM (SELECT
 * score FROM player OFFSET $1) s.
 *
 * SELECT count(*) FROM (SELECT 1 FROM player LIMIT 1000) s counts up to a
 * limit, and it does not matter which rows these are.
 *
 * Such a subquery returns the rows of its table as they are, and computes
 * nothing.  So the aggregates and quals of the query are those of a query on
 * the table, with columns of the table in the place of columns of the
 * subquery.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "planner/aggregate_rows.h"
#include "planner/columns.h"
#include "planner/page_limit.h"

/* From columns of a subquery to those of its table. */
typedef struct Columns
{
	Index		relid;			/* of the subquery */
	List	   *targets;		/* its select list */
	bool		failed;
} Columns;

static Node *
replace_columns(Node *node, void *context)
{
	Columns    *columns = (Columns *) context;
	const Var  *var = (const Var *) node;
	TargetEntry *target;

	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
		columns->failed = true;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, replace_columns, context);
	target = var->varno == (int) columns->relid && var->varattno > 0 ?
		get_tle_by_resno(columns->targets, var->varattno) : NULL;
	if (target == NULL)
	{
		columns->failed = true;
		return node;
	}
	return copyObject((Node *) target->expr);
}

/* Whether a select list has only columns of the table, or nothing. */
static bool
computes_nothing(const List *targets)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		Node	   *expr = lb_strip_relabel((Node *)
											lfirst_node(TargetEntry, lc)->expr);

		if (!IsA(expr, Var) && !IsA(expr, Const))
			return false;
	}
	return true;
}

/* Whether a constant is a number of rows, and not 0. */
static bool
is_number(const Const *rows)
{
	return IsA(rows, Const) && !rows->constisnull &&
		DatumGetInt64(rows->constvalue) != 0;
}

/* Whether a subquery returns rows of its table as they are. */
static bool
returns_table(const PlannerInfo *subroot, const LbSource *source)
{
	const Query *query = subroot->parse;

	return lb_returns_rows(subroot) && !query->hasWindowFuncs &&
		subroot->init_plans == NIL && computes_nothing(query->targetList) &&
		lb_is_operand(source, query->limitCount) &&
		lb_is_operand(source, query->limitOffset);
}

/* Whether aggregates only count rows, so that any rows will do. */
static bool
only_count(const List *aggrefs)
{
	ListCell   *lc;

	foreach(lc, aggrefs)
	{
		const Aggref *agg = (const Aggref *) lfirst(lc);

		if (!IsA(agg, Aggref) || agg->aggfilter != NULL ||
			agg->aggdistinct != NIL ||
			(agg->aggfnoid != F_COUNT_ && agg->aggfnoid != F_COUNT_ANY))
			return false;
	}
	return true;
}

/*
 * Whether the aggregates can be over the rows that LIMIT and OFFSET of the
 * subquery leave.  They are those that satisfy the subquery's quals, so there
 * are no others.
 */
static bool
allows_limit(const RelOptInfo *input, LbAggRows *rows)
{
	const Query *query = rows->subquery;
	const Const *limit = (const Const *) query->limitCount;
	const Const *offset = (const Const *) query->limitOffset;

	rows->limited = query->limitOption == LIMIT_OPTION_COUNT &&
		input->baserestrictinfo == NIL && only_count(rows->aggrefs);
	return rows->limited ||
		((limit == NULL || (IsA(limit, Const) && limit->constisnull)) &&
		 (offset == NULL || !is_number(offset)));
}

/*
 * The quals of the query on the subquery's rows; false if they must come
 * later.
 */
static bool
add_quals(const PlannerInfo *root, const RelOptInfo *input, Columns *columns,
		  List **clauses)
{
	ListCell   *lc;

	if (input->baserestrictinfo != NIL &&
		planner_rt_fetch(input->relid, root)->security_barrier)
		return false;
	foreach(lc, input->baserestrictinfo)
	{
		const RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		*clauses = lappend(*clauses,
						   replace_columns((Node *) info->clause, columns));
	}
	return true;
}

bool
lb_find_agg_rows(PlannerInfo *root, RelOptInfo *input, List *aggrefs,
				 LbAggRows *rows)
{
	PlannerInfo *subroot = input->subroot;
	Columns		columns = {.relid = input->relid};
	int			table;

	memset(rows, 0, sizeof(LbAggRows));
	if (input->rtekind != RTE_SUBQUERY)
	{
		rows->clauses = input->baserestrictinfo;
		rows->aggrefs = aggrefs;
		return lb_find_source(root, input, &rows->source);
	}
	if (subroot == NULL)
		return false;
	if (!bms_get_singleton_member(subroot->all_baserels, &table))
		return lb_miss_query(subroot, LB_MISS_JOIN);
	if (!lb_find_source(subroot, subroot->simple_rel_array[table],
						&rows->source))
		return false;
	if (!returns_table(subroot, &rows->source))
		return lb_miss_all(&rows->source, LB_MISS_SUBQUERY);
	rows->subquery = subroot->parse;
	columns.targets = subroot->parse->targetList;
	rows->clauses = list_copy(rows->source.rel->baserestrictinfo);
	rows->aggrefs = (List *) replace_columns((Node *) aggrefs, &columns);
	return (add_quals(root, input, &columns, &rows->clauses) &&
			!columns.failed && allows_limit(input, rows)) ||
		lb_miss_all(&rows->source, LB_MISS_SUBQUERY);
}

List *
lb_agg_rows_quals(const LbAggRows *rows)
{
	List	   *quals = NIL;
	ListCell   *lc;

	foreach(lc, rows->clauses)
	{
		Node	   *clause = lfirst(lc);

		if (IsA(clause, RestrictInfo))
			clause = (Node *) ((RestrictInfo *) clause)->clause;
		if (lb_is_operand(&rows->source, clause))
			continue;
		quals = lappend(quals, copyObject(clause));
	}
	ChangeVarNodes((Node *) quals, rows->source.rel->relid, 1, 0);
	return quals;
}
