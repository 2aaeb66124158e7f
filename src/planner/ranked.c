/*-------------------------------------------------------------------------
 *
 * ranked.c
 *	  Subqueries and views that rank the rows of a table: planning.
 *
 * A query that asks for a few rows of such a subquery has to rank all rows, since
 * quals of the query above cannot be evaluated before the window functions.  A board
 * knows the ranks of a row without the other rows.  So a custom scan takes the
 * place of the subquery.  It finds the rows by an index of the table and quals of the
 * query above (ranked_lookup.c), or by their ranks (ranked_range.c), and asks the
 * board for the ranks of each.
 *
 * Quals on columns of other tables make parameterized paths for nested loops.  The
 * child of such a node is not parameterized: it ranks all rows once (ranked_child.c).
 * A hash join does that as well, and is better if the index cannot answer.  So there is
 * no such path for a board that has no index while the query is planned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "planner/answer.h"
#include "planner/ranked.h"
#include "planner/ranked_count.h"
#include "planner/ranked_exec.h"
#include "planner/ranked_lookup.h"
#include "planner/ranked_range.h"

/* Lists of CustomPath.custom_private. */
enum
{
	PATH_PRIVATE,				/* of the scan, likewise: */
	PATH_EXPRS,
	PATH_TLIST,
	PATH_INFOS,					/* RestrictInfos that the scan need not check */
	PATH_RUN					/* quals that it has to check besides */
};

/* Whether rows that an index finds satisfy a clause. */
static bool
is_implied(const List *used, const RestrictInfo *info)
{
	ListCell   *lc;

	if (list_member_ptr(used, info))
		return true;
	foreach(lc, used)
	{
		if (info->parent_ec != NULL &&
			lfirst_node(RestrictInfo, lc)->parent_ec == info->parent_ec)
			return true;
	}
	return false;
}

static Plan *
plan_ranked(PlannerInfo *root, RelOptInfo *rel, struct CustomPath *path,
			List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *used = list_nth(path->custom_private, PATH_INFOS);
	ParamPathInfo *param = path->path.param_info;
	List	   *rest = NIL;
	List	   *joins = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		if (!is_implied(used, lfirst_node(RestrictInfo, lc)))
			rest = lappend(rest, lfirst(lc));
		if (param != NULL && list_member_ptr(param->ppi_clauses, lfirst(lc)))
			joins = lappend(joins, lfirst(lc));
	}
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual =
		list_concat(copyObject((List *) list_nth(path->custom_private, PATH_RUN)),
					extract_actual_clauses(rest, false));
	scan->scan.scanrelid = 0;
	scan->custom_plans = custom_plans;
	scan->custom_private = list_nth(path->custom_private, PATH_PRIVATE);
	scan->custom_exprs =
		lappend(list_copy(list_nth(path->custom_private, PATH_EXPRS)),
				copyObject(extract_actual_clauses(joins, false)));
	scan->custom_scan_tlist = list_nth(path->custom_private, PATH_TLIST);
	scan->methods = &lb_ranked_methods;
	return (Plan *) scan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Leaderboard Rank",
	.PlanCustomPath = plan_ranked
};

/*
 * The other plan of a node: the cheapest scan of the subquery, with the quals that
 * the node has, but not those of a nested loop.  It is a copy, since add_path() frees
 * paths.
 */
static Path *
make_child(const LbRanked *match, const LbLookup *lookup)
{
	Path	   *cheapest = lb_cheapest_path(match->rel);
	SubqueryScanPath *copy;

	if (cheapest == NULL || !IsA(cheapest, SubqueryScanPath))
		return NULL;
	copy = makeNode(SubqueryScanPath);
	memcpy(copy, cheapest, sizeof(SubqueryScanPath));
	if (lookup->pathkeys == NIL)
		return &copy->path;
	return (Path *) create_sort_path(match->root, match->rel, &copy->path,
									 lookup->pathkeys, -1.0);
}

/*
 * A descent of the board's index compares some words in each level, of which there
 * are log(n).
 */
static void
set_cost(const LbRanked *match, const LbLookup *lookup, CustomPath *path)
{
	const PathTarget *target = path->path.pathtarget;
	double		levels = 1 + log2(Max(match->source.rel->tuples, 1.0) + 1);
	int			descents = 3 + 3 * list_length(match->funcs);

	path->path.startup_cost = target->cost.startup + lookup->cost +
		lookup->rows * descents * levels * cpu_operator_cost;
	path->path.total_cost = path->path.startup_cost +
		path->path.rows * (cpu_tuple_cost + target->cost.per_tuple);
}

/* The columns that the node computes, as a target list. */
static List *
make_outputs(const LbRanked *match)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, match->outputs)
		tlist = lappend(tlist, makeTargetEntry(lfirst(lc),
											   list_length(tlist) + 1, NULL,
											   false));
	return tlist;
}

/* The node's custom_private. */
static List *
make_private(LbRanked *match, const LbLookup *lookup)
{
	List	   *private = lb_answer_private(match->defn, &match->quals);
	List	   *where = extract_actual_clauses(match->source.rel->baserestrictinfo,
											   false);
	RangeTblEntry *table = planner_rt_fetch(match->source.rel->relid,
											match->source.root);

	private = lappend(private, list_make2_int((int) table->relid,
											  (int) lookup->index));
	private = lappend(private, match->quals.conds);
	private = lappend(private, match->funcs);
	private = lappend(private, match->windows);
	private = lappend(private, lookup->keys);
	private = lappend(private, lookup->range);
	private = lappend(private, make_outputs(match));
	private = lappend(private, lb_ranked_expr(match, (Node *) where));
	return lappend(private, match->value == NULL ? NULL :
				   lb_ranked_expr(match, (Node *) match->value));
}

/*
 * The node's custom_exprs.  EXPLAIN shows the quals in the subquery apart, since they
 * are not on columns that the node has.
 */
static List *
make_exprs(const LbRanked *match, const LbLookup *lookup)
{
	Expr	   *value = match->quals.value;
	List	   *exprs = list_make4(NIL, NIL, NIL, value == NULL ? NIL :
								   list_make1(copyObject(value)));

	exprs = lappend(exprs, copyObject(match->quals.operands));
	exprs = lappend(exprs, copyObject(lookup->clauses));
	exprs = lappend(exprs, copyObject(lookup->operands));
	exprs = lappend(exprs, copyObject(lookup->bounds));
	return lappend(exprs, copyObject(lookup->limit));
}

/*
 * Whether the order of the rows is open.  The ordinary plan returns them in the order
 * of the subquery's ORDER BY, and queries rely on that.
 */
static bool
may_reorder(const LbRanked *match, const LbLookup *lookup)
{
	return match->query->sortClause == NIL || lookup->one_row ||
		match->root->query_pathkeys != NIL;
}

/*
 * Whether the node will have room for its rows, which are whole rows of the table.
 * Up to twice their size is taken of the system, since arrays, chunks and blocks grow
 * by powers of 2.
 */
static bool
has_room(const LbRanked *match, const LbLookup *lookup)
{
	Oid			table = planner_rt_fetch(match->source.rel->relid,
										 match->source.root)->relid;
	Size		row = sizeof(LbRankedRow) + HEAPTUPLESIZE +
		SizeofHeapTupleHeader +
		list_length(match->funcs) * sizeof(LbRankResult) +
		match->defn->shape.width * sizeof(int64);

	return lookup->one_row ||
		2 * lookup->rows * (row + get_relation_data_width(table, NULL)) <=
		work_mem * 1024.0;
}

static void
add_path_for(LbRanked *match, const LbLookup *lookup, Relids outer)
{
	CustomPath *path = makeNode(CustomPath);
	RelOptInfo *rel = match->rel;
	ParamPathInfo *param = get_baserel_parampathinfo(match->root, rel, outer);
	Path	   *child = make_child(match, lookup);
	List	   *private;

	/* The columns that the node's quals need. */
	if (param != NULL)
		lb_add_ranked_columns(match, param->ppi_clauses);
	lb_add_ranked_columns(match, lookup->infos);
	private = make_private(match, lookup);
	if (match->failed || child == NULL || !may_reorder(match, lookup) ||
		!has_room(match, lookup))
		return;
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;

	/* A target of its own, so that it is not one for all columns. */
	path->path.pathtarget = copy_pathtarget(rel->reltarget);
	path->path.param_info = param;
	path->path.rows = param == NULL ? rel->rows : param->ppi_rows;
	if (lookup->range != NIL)
		path->path.rows = Min(path->path.rows, lookup->rows);
	path->path.pathkeys = lookup->pathkeys;
	path->methods = &path_methods;
	path->custom_paths = list_make1(child);
	path->custom_private =
		list_make5(private, make_exprs(match, lookup),
				   add_to_flat_tlist(NIL, match->columns), lookup->infos,
				   match->run);
	set_cost(match, lookup, path);
	add_path(rel, (Path *) path);
}

static bool
has_relids(const List *sets, const Bitmapset *relids)
{
	ListCell   *lc;

	foreach(lc, sets)
	{
		if (bms_equal(lfirst(lc), relids))
			return true;
	}
	return false;
}

/* Paths for nested loops: one for each set of tables that clauses join with. */
static void
add_join_paths(LbRanked *match, List *infos)
{
	List	   *joins = lb_join_infos(match);
	List	   *done = NIL;
	ListCell   *lc;

	foreach(lc, joins)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);
		Relids		outer = bms_difference(info->clause_relids,
										   match->rel->relids);
		Relids		known = bms_union(outer, match->rel->relids);
		List	   *usable = list_copy(infos);
		LbLookup	lookup;
		ListCell   *other;

		if (bms_is_empty(outer) || has_relids(done, outer))
			continue;
		done = lappend(done, outer);
		foreach(other, joins)
		{
			if (bms_is_subset(lfirst_node(RestrictInfo, other)->clause_relids,
							  known))
				usable = lappend(usable, lfirst(other));
		}
		if (lb_find_lookup(match, usable, &lookup))
			add_path_for(match, &lookup, outer);
	}
}

void
lb_add_ranked_paths(PlannerInfo *root, RelOptInfo *rel)
{
	LbRanked	match;
	LbLookup	lookup;
	List	   *infos;

	if (!lb_match_ranked(root, rel, &match))
		return;
	infos = lb_usable_infos(&match, rel->baserestrictinfo);
	if (lb_find_lookup(&match, infos, &lookup))
		add_path_for(&match, &lookup, NULL);
	if (lb_find_rank_range(&match, &lookup))
		add_path_for(&match, &lookup, NULL);
	if (match.ready)
		add_join_paths(&match, infos);
}
