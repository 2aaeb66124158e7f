/*-------------------------------------------------------------------------
 *
 * ranked.c
 *	  Subqueries and views that rank the rows of a table: planning.
 *
 * A query that asks for a few rows of such a subquery has to rank all rows,
 * since quals of the query above cannot be evaluated before the window
 * functions.  A board knows the ranks of a row without the other rows.  So a
 * custom scan takes the place of the subquery.  It finds the rows by an index
 * of the table and quals of the query above (ranked_lookup.c), or by their
 * ranks (ranked_range.c), and asks the board for the ranks of each.
 *
 * If the query above has no other quals, and a LIMIT, the custom scan also
 * takes the place of the Limit node: it knows the places of these rows.  A
 * query that has window functions itself is treated alike, since a LIMIT is
 * the only way in which it can ask for a few rows.
 *
 * Quals on columns of other tables make parameterized paths for nested loops.
 * The child of such a node is not parameterized: it ranks all rows once
 * (ranked_child.c).  A hash join does that as well, and is better if the index
 * cannot answer.  So there is no such path for a board that has no index while
 * the query is planned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/placeholder.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "planner/answer.h"
#include "planner/page_limit.h"
#include "planner/ranked.h"
#include "planner/ranked_count.h"
#include "planner/ranked_exec.h"
#include "planner/ranked_lookup.h"
#include "planner/ranked_range.h"
#include "util/compat.h"

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

/* What takes the place of window functions in a plan. */
typedef struct Names
{
	PlannerInfo *root;
	List	   *windows;
	List	   *names;			/* for each */
} Names;

/*
 * Put a call of a function in the place of a window function, since PostgreSQL
 * lets no scan have one.  It is in a PlaceHolderVar, by whose number the
 * planner knows it in the target list: the same function can be there with
 * several windows.
 */
static Node *
name_windows(Node *node, void *context)
{
	Names	   *names = (Names *) context;
	const WindowFunc *func = (const WindowFunc *) node;
	int			i = 0;

	if (node == NULL)
		return NULL;
	if (!IsA(node, WindowFunc))
		return expression_tree_mutator(node, name_windows, context);
	while (i < list_length(names->windows) &&
		   !equal(list_nth(names->windows, i), node))
		i++;
	if (i == list_length(names->windows))
	{
		FuncExpr   *call = makeFuncExpr(func->winfnoid, func->wintype, NIL,
										func->wincollid, func->inputcollid,
										COERCE_EXPLICIT_CALL);

		names->windows = lappend(names->windows, node);
		names->names = lappend(names->names,
							   make_placeholder_expr(names->root,
													 (Expr *) call, NULL));
	}
	return copyObject(list_nth(names->names, i));
}

static Plan *
plan_ranked(PlannerInfo *root, RelOptInfo *rel, struct CustomPath *path,
			List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Names		names = {.root = root};
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
	scan->scan.plan.targetlist = (List *) name_windows((Node *) tlist, &names);
	scan->scan.plan.qual =
		list_concat(copyObject((List *) list_nth(path->custom_private, PATH_RUN)),
					extract_actual_clauses(rest, false));
	scan->scan.scanrelid = 0;
	scan->custom_plans = custom_plans;
	scan->custom_private = list_nth(path->custom_private, PATH_PRIVATE);
	scan->custom_exprs =
		lappend(list_copy(list_nth(path->custom_private, PATH_EXPRS)),
				copyObject(extract_actual_clauses(joins, false)));
	scan->custom_scan_tlist = (List *)
		name_windows(list_nth(path->custom_private, PATH_TLIST), &names);
	scan->methods = &lb_ranked_methods;
	return (Plan *) scan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Leaderboard Rank",
	.PlanCustomPath = plan_ranked
};

/*
 * The other plan of a node: the cheapest scan of the subquery, with the quals
 * that the node has, but not those of a nested loop.  It is a copy, since
 * add_path() frees paths.
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
 * A descent of the board's index compares some words in each level, of which
 * there are log(n).
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
	return lappend(private, lb_ranked_expr(match, (Node *) match->values));
}

/*
 * The node's custom_exprs.  EXPLAIN shows the quals in the subquery apart,
 * since they are not on columns that the node has.
 */
static List *
make_exprs(const LbRanked *match, const LbLookup *lookup)
{
	List	   *all = lb_answer_exprs(&match->quals);
	List	   *exprs = list_make5(NIL, NIL, NIL,
								   list_nth(all, LB_EXPRS_VALUES),
								   list_nth(all, LB_EXPRS_ONE_TIME));

	exprs = lappend(exprs, copyObject(match->quals.operands));
	exprs = lappend(exprs, copyObject(lookup->clauses));
	exprs = lappend(exprs, copyObject(lookup->operands));
	exprs = lappend(exprs, copyObject(lookup->bounds));
	return exprs;
}

/*
 * Whether the order of the rows is open.  The ordinary plan returns them in
 * the order of the subquery's ORDER BY, and queries rely on that.
 */
static bool
may_reorder(const LbRanked *match, const LbLookup *lookup)
{
	return match->flat || match->query->sortClause == NIL ||
		lookup->one_row || match->root->query_pathkeys != NIL;
}

/*
 * Whether the node will have room for its rows, which are whole rows of the
 * table.  Up to twice their size is taken of the system, since arrays, chunks
 * and blocks grow by powers of 2.
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

/* A path of a relation, without rows and costs; NULL if there is none. */
static CustomPath *
make_path(LbRanked *match, const LbLookup *lookup, RelOptInfo *rel,
		  Path *child, List *limit)
{
	CustomPath *path = makeNode(CustomPath);
	List	   *private = make_private(match, lookup);
	List	   *exprs = list_concat(make_exprs(match, lookup), limit);

	if (match->failed || child == NULL)
		return NULL;
	if (!may_reorder(match, lookup))
	{
		(void) lb_miss(&match->source, match->defn, LB_MISS_VIEW_ORDER);
		return NULL;
	}
	if (!has_room(match, lookup))
	{
		(void) lb_miss(&match->source, match->defn, LB_MISS_MEMORY);
		return NULL;
	}
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathkeys = lookup->pathkeys;
	path->methods = &path_methods;
	path->custom_paths = list_make1(child);
	path->custom_private =
		list_make5(private, exprs, add_to_flat_tlist(NIL, match->columns),
				   lookup->infos, rel == match->rel ? match->run : NIL);
	return path;
}

static void
add_path_for(LbRanked *match, const LbLookup *lookup, Relids outer)
{
	RelOptInfo *rel = match->rel;
	ParamPathInfo *param = get_baserel_parampathinfo(match->root, rel, outer);
	CustomPath *path;

	/* The columns that the node's quals need. */
	if (param != NULL)
		lb_add_ranked_columns(match, param->ppi_clauses);
	lb_add_ranked_columns(match, lookup->infos);
	path = make_path(match, lookup, rel, make_child(match, lookup),
					 list_make3(NIL, NIL, NIL));
	if (path == NULL)
		return;

	/* A target of its own, so that it is not one for all columns. */
	path->path.pathtarget = copy_pathtarget(rel->reltarget);
	path->path.param_info = param;
	path->path.rows = param == NULL ? rel->rows : param->ppi_rows;
	if (lookup->range != NIL)
		path->path.rows = Min(path->path.rows, lookup->rows);
	set_cost(match, lookup, path);
	add_path(rel, (Path *) path);

	/* Unless the plan has it. */
	(void) lb_miss(&match->source, match->defn, LB_MISS_COST);
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

/*
 * Paths for nested loops: one for each set of tables that clauses join with.
 */
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

/*
 * Whether LIMIT leaves consecutive places of all rows that the query asks for.
 */
static bool
find_page(const LbRanked *match, LbLookup *lookup)
{
	PlannerInfo *root = match->root;
	const Query *query = root->parse;
	List	   *pathkeys = root->sort_pathkeys;

	/* Then PostgreSQL returns rows in the order of the window. */
	if (match->flat && pathkeys == NIL &&
		list_length(query->windowClause) == 1)
		pathkeys = root->window_pathkeys;
	return query->limitCount != NULL &&
		query->limitOption == LIMIT_OPTION_COUNT &&
		query->hasWindowFuncs == match->flat && lb_returns_rows(root) &&
		(pathkeys != NIL || !match->flat) && lb_only_rel(root) == match->rel &&
		lb_may_limit(&match->source, root, root->processed_tlist,
					 NULL) &&
		lb_find_rank_page(match, pathkeys, lookup);
}

/*
 * Whether the order of the window decides each rank.  Where row_number()
 * leaves ties open, the board and the child may break them differently.  In a
 * nested loop some scans may be answered by the one and the others by the
 * other.
 */
static bool
has_no_ties(const LbRanked *match)
{
	ListCell   *lc;

	foreach(lc, match->funcs)
	{
		if (lb_counts_places(list_nth_int(lfirst(lc), LB_RANK_KIND)) &&
			list_nth_int(lfirst(lc), LB_RANK_NCOLUMNS) <
			lb_nkey_columns(match->defn))
			return false;
	}
	return true;
}

void
lb_add_ranked_paths(PlannerInfo *root, RelOptInfo *rel)
{
	LbRanked	match;
	LbLookup	lookup;
	List	   *infos;

	if (!lb_match_ranked(root, rel, rel->reltarget->exprs, &match))
		return;
	(void) lb_miss(&match.source, match.defn, LB_MISS_FEW_ROWS);
	infos = lb_usable_infos(&match, rel->baserestrictinfo);
	if (lb_find_lookup(&match, infos, &lookup))
		add_path_for(&match, &lookup, NULL);
	if (!find_page(&match, &lookup) && lb_find_rank_range(&match, &lookup))
		add_path_for(&match, &lookup, NULL);
	if (match.ready && has_no_ties(&match))
		add_join_paths(&match, infos);
}

bool
lb_may_be_ranked_page(const LbSource *source)
{
	PlannerInfo *root = source->root;
	LbRanked	match;
	LbLookup	lookup;

	return root->parse->hasWindowFuncs && root->parse->limitCount != NULL &&
		lb_returns_rows(root) &&
		lb_match_ranked(root, source->rel, root->processed_tlist, &match) &&
		find_page(&match, &lookup);
}

/* Whether a window function needs all rows for the first one. */
static bool
needs_all_rows(const LbRanked *match)
{
	ListCell   *lc;

	foreach(lc, match->funcs)
	{
		int			kind = list_nth_int(lfirst(lc), LB_RANK_KIND);

		if (kind == LB_RANK_PERCENT_RANK || kind == LB_RANK_CUME_DIST ||
			kind == LB_RANK_NTILE ||
			(kind == LB_RANK_COUNT &&
			 list_nth_int(lfirst(lc), LB_RANK_NCOLUMNS) == 0))
			return true;
	}
	return false;
}

/*
 * The path that tells what the ordinary plan costs.  Up to version 16, the
 * planner takes the first rows of a window for cheap, whatever they need.
 */
static const Path *
costs_of(const LbRanked *match, const Path *child)
{
	if (IsA(child, LimitPath) && needs_all_rows(match))
		return ((const LimitPath *) child)->subpath;
	return child;
}

/* Note why a query with window functions is no page. */
static void
note_page(PlannerInfo *root, const FinalPathExtraData *limit,
		  const RelOptInfo *rel)
{
	if (!limit->limit_needed)
		(void) lb_miss_query(root, LB_MISS_ALL_RANKS);
	else if (rel == NULL)
		(void) lb_miss_query(root, LB_MISS_JOIN);
	else if (!lb_returns_rows(root))
		(void) lb_miss_query(root, LB_MISS_DISTINCT);
}

void
lb_add_ranked_page_path(PlannerInfo *root, RelOptInfo *final,
						const FinalPathExtraData *limit)
{
	RelOptInfo *rel = lb_only_rel(root);
	Path	   *child = lb_cheapest_path(final);
	CustomPath *path;
	LbRanked	match;
	LbLookup	lookup;

	if (root->parse->hasWindowFuncs)
		note_page(root, limit, rel);
	if (!limit->limit_needed || child == NULL || rel == NULL ||
		(rel->rtekind == RTE_RELATION && !root->parse->hasWindowFuncs) ||
		!lb_returns_rows(root) ||
		!lb_match_ranked(root, rel, root->processed_tlist, &match))
		return;
	if (!find_page(&match, &lookup))
	{
		(void) lb_miss(&match.source, match.defn, LB_MISS_FEW_ROWS);
		return;
	}
	lb_page_limit_rank_page(&match, limit, &lookup);
	match.quals.one_time = list_concat(lb_ranked_one_time(&match),
									   match.quals.one_time);
	path = make_path(&match, &lookup, final, child,
					 lb_page_limit_exprs(root));
	if (path == NULL)
		return;
	path->path.pathtarget = child->pathtarget;
	path->path.rows = lookup.rows;
	set_cost(&match, &lookup, path);
	if (LB_CHEAPER(&path->path, costs_of(&match, child)))
		final->pathlist = list_make1(path);
	else
		(void) lb_miss(&match.source, match.defn, LB_MISS_COST);
}
