/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Rows of a board in its order, as long as they are asked for: planning.
 *
 * This is to a board what an index scan is to an index: a path of a table,
 * with pathkeys.  It is added to the others, and chosen by its cost: for the
 * first rows of a join, of a query with conditions on other columns, of
 * several tables that are merged, of a cursor.  A page of one table is
 * page.c's.
 *
 * The node returns rows while it reads, and may find then that the index
 * cannot answer any more.  So its child returns the rows in exactly the same
 * order, and the node skips those that it has returned.  The child is a sort
 * by all columns of the key, which are unique, over the table's cheapest
 * path.  Some of these columns are not in the query, and have no equivalence
 * class, so that there is no path for such a sort: the plan is made here.
 *
 * A query that wants a few rows of many may have had a better plan for them
 * than the child.  That is why there is no such path for a board whose index
 * cannot answer while the query is planned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "planner/answer.h"
#include "planner/enclose.h"
#include "planner/member_index.h"
#include "planner/page_limit.h"
#include "planner/ranked.h"
#include "planner/scan.h"
#include "planner/scan_exec.h"
#include "util/compat.h"

/* A board that has the rows of a table. */
typedef struct Match
{
	const LbSource *source;
	const LbDefinition *defn;
	LbQuals		quals;
	List	   *others;			/* RestrictInfos that the node checks */
	bool		page;			/* the query may be a page: page.c */
	Oid			index;			/* finds a member's row */
	List	   *keys;			/* the key's columns */
} Match;


/* ----------------------------------------------------------------
 *		Matching
 * ----------------------------------------------------------------
 */

/*
 * The columns of the key.  Returns false if PostgreSQL does not sort by one of
 * them as the board does.
 */
static bool
find_keys(Match *match)
{
	const LbDefinition *defn = match->defn;

	for (int i = 0; i < lb_nkey_columns(defn); i++)
	{
		Expr	   *key = lb_column_expr(match->source, defn, i);

		if (defn->columns[i].type->words == LB_TEXT &&
			!LB_COLLATES_BYTES(exprCollation((Node *) key)))
			return lb_miss(match->source, defn, LB_MISS_TEXT);
		match->keys = lappend(match->keys, key);
	}
	return true;
}

/*
 * Whether an expression of a list of EquivalenceMembers is a column of the
 * key.
 */
static bool
has_key(const LbSource *source, const LbDefinition *defn, const List *members)
{
	ListCell   *lc;

	foreach(lc, members)
	{
		Node	   *expr = (Node *) lfirst_node(EquivalenceMember, lc)->em_expr;
		LbUse		use;

		if (lb_find_use(source, defn, expr, &use) && !use.cast &&
			use.column < lb_nindex_columns(defn))
			return true;
	}
	return false;
}

/*
 * Whether the query sorts or joins by a column of the key.  Most queries do
 * not, and this is much less work than to look for pathkeys.
 */
static bool
may_sort(const LbSource *source, const LbDefinition *defn)
{
	int			i = -1;

	while ((i = bms_next_member(source->rel->eclass_indexes, i)) >= 0)
	{
		const EquivalenceClass *ec = list_nth(source->root->eq_classes, i);

		if (has_key(source, defn, ec->ec_members) ||
			has_key(source, defn, LB_CHILD_MEMBERS(ec, source->rel->relid)))
			return true;
	}
	return false;
}

/*
 * PostgreSQL evaluates quals that do not depend on the row above the scan,
 * unless they are those of a policy.
 */
static void
leave_gating_quals(Match *match)
{
	ListCell   *lc;

	foreach(lc, match->source->rel->baserestrictinfo)
	{
		const RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (info->pseudoconstant)
			match->quals.one_time = list_delete_ptr(match->quals.one_time,
													info->clause);
	}
}

static bool
match_board(Match *match, const LbSource *source, LbDefinition *defn)
{
	bool		checks;

	memset(match, 0, sizeof(Match));
	match->source = source;
	match->defn = defn;
	if (!may_sort(source, defn))
		return false;
	if (!lb_has_members(defn))
		return lb_miss(source, defn, LB_MISS_COUNTS);
	if (!lb_has_index_now(defn))
		return lb_miss(source, defn, LB_MISS_NOT_READY);
	if (!lb_sort_quals(source, defn, source->rel->baserestrictinfo,
					   &match->quals, &match->others) ||
		!lb_quals_imply_board(source, defn, &match->quals, false))
		return false;

	/*
	 * A page with ranks has a better path.  Rows are skipped by their number.
	 */
	match->page = match->others == NIL && lb_may_be_page(source, defn, &checks);
	if (match->others == NIL && !match->page && lb_may_be_ranked_page(source))
		return false;
	if (lb_is_volatile(source->root, extract_actual_clauses(match->others, false)))
		return lb_miss(source, defn, LB_MISS_VOLATILE);
	leave_gating_quals(match);
	match->index = lb_member_index(source, defn);
	if (!OidIsValid(match->index))
		return lb_miss(source, defn, LB_MISS_MEMBER_INDEX);
	if (!find_keys(match))
		return false;
	lb_enclose_others(source, defn, match->others, &match->quals);
	return true;
}


/* ----------------------------------------------------------------
 *		Order
 * ----------------------------------------------------------------
 */

/*
 * The operator by which rows are sorted by a column, in the order of a scan.
 */
static Oid
sort_operator(const LbColumn *column, bool reverse)
{
	TypeCacheEntry *type = lookup_type_cache(column->oid,
											 TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	return column->descending == reverse ? type->lt_opr : type->gt_opr;
}

/* The board has no nulls, so they may be where the query wants them. */
static PathKey *
as_in_query(const PlannerInfo *root, PathKey *key)
{
	ListCell   *lc;

	foreach(lc, root->query_pathkeys)
	{
		PathKey    *wanted = lfirst_node(PathKey, lc);

		if (wanted->pk_eclass == key->pk_eclass &&
			wanted->pk_opfamily == key->pk_opfamily &&
			LB_PATHKEY_STRATEGY(wanted) == LB_PATHKEY_STRATEGY(key))
			return wanted;
	}
	return key;
}

/* Whether a pathkey adds nothing to those before it. */
static bool
is_redundant(const PathKey *key, const List *pathkeys)
{
	ListCell   *lc;

	if (EC_MUST_BE_REDUNDANT(key->pk_eclass))
		return true;
	foreach(lc, pathkeys)
	{
		if (lfirst_node(PathKey, lc)->pk_eclass == key->pk_eclass)
			return true;
	}
	return false;
}

/*
 * The pathkeys of a scan that the query can use; those of the first nkeys
 * columns.  *nulls_first is set to where the child has to put the nulls of
 * each column of the key: the child may have rows that the board does not
 * have.
 */
static List *
find_pathkeys(const Match *match, bool reverse, int *nkeys,
			  List **nulls_first)
{
	PlannerInfo *root = match->source->root;
	RelOptInfo *rel = match->source->rel;
	List	   *pathkeys = NIL;
	int			ends[LB_MAX_BOARD_COLUMNS];

	*nulls_first = NIL;
	for (int i = 0; i < list_length(match->keys); i++)
		*nulls_first = lappend_int(*nulls_first,
								   match->defn->columns[i].descending != reverse);
	for (int i = match->quals.nequal; i < list_length(match->keys); i++)
	{
		Oid			operator = sort_operator(&match->defn->columns[i], reverse);
		List	   *one = LB_EXPRESSION_PATHKEY(root, list_nth(match->keys, i),
												operator, rel->relids);
		PathKey    *key;

		if (one == NIL)
			break;
		key = as_in_query(root, linitial_node(PathKey, one));
		if (is_redundant(key, pathkeys))
			continue;
		lfirst_int(list_nth_cell(*nulls_first, i)) = key->pk_nulls_first;
		ends[list_length(pathkeys)] = i + 1;
		pathkeys = lappend(pathkeys, key);
	}
	pathkeys = truncate_useless_pathkeys(root, rel, pathkeys);
	*nkeys = pathkeys == NIL ? 0 : ends[list_length(pathkeys) - 1];
	return pathkeys;
}


/* ----------------------------------------------------------------
 *		Plan
 * ----------------------------------------------------------------
 */

/* Lists of CustomPath.custom_private. */
enum
{
	PATH_PRIVATE,				/* of the scan, likewise: */
	PATH_EXPRS,
	PATH_OTHERS,				/* RestrictInfos of the node's qual */
	PATH_KEYS,					/* of the child's sort: expressions */
	PATH_OPERATORS,				/* likewise, */
	PATH_NULLS_FIRST			/* and whether nulls are first */
};

/* Put a plan above another one, which has some cost of its own. */
static void
put_above(Plan *plan, Plan *child, List *tlist, Cost cost)
{
	plan->targetlist = tlist;
	plan->lefttree = child;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->startup_cost = plan->total_cost = child->total_cost + cost;
}

static Cost
sort_cost(double rows)
{
	return 2 * cpu_operator_cost * log2(Max(rows, 2.0)) * rows;
}

/*
 * Sort a scan of the table by its columns.  Those that are not in its target
 * list are added to it, and a Result above the sort removes them.  If there is
 * a Result above the scan, which has a one-time filter, that is it.
 */
static Plan *
sort_plan(Plan *child, List *keys, List *operators, List *nulls_first)
{
	int			n = list_length(keys);
	Result	   *result = IsA(child, Result) ? (Result *) child : NULL;
	Sort	   *sort = makeNode(Sort);
	List	   *tlist = list_copy(child->targetlist);

	if (result != NULL)
		child = result->plan.lefttree;

	sort->numCols = n;
	sort->sortColIdx = palloc(n * sizeof(AttrNumber));
	sort->sortOperators = palloc(n * sizeof(Oid));
	sort->collations = palloc(n * sizeof(Oid));
	sort->nullsFirst = palloc(n * sizeof(bool));
	for (int i = 0; i < n; i++)
	{
		Expr	   *key = list_nth(keys, i);
		TargetEntry *entry = tlist_member(key, child->targetlist);

		if (entry == NULL)
		{
			entry = makeTargetEntry(copyObject(key),
									(AttrNumber) (list_length(child->targetlist) + 1),
									NULL, true);
			child->targetlist = lappend(child->targetlist, entry);
		}
		sort->sortColIdx[i] = entry->resno;
		sort->sortOperators[i] = list_nth_oid(operators, i);
		sort->nullsFirst[i] = list_nth_int(nulls_first, i);
		sort->collations[i] = exprCollation((Node *) key);
	}
	put_above(&sort->plan, child, child->targetlist,
			  sort_cost(child->plan_rows));
	if (result == NULL && list_length(tlist) == list_length(child->targetlist))
		return &sort->plan;
	if (result == NULL)
		result = makeNode(Result);
	put_above(&result->plan, &sort->plan, tlist,
			  cpu_tuple_cost * sort->plan.plan_rows);
	return &result->plan;
}

uint64		lb_scans_planned = 0;

static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, struct CustomPath *path,
		  List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *others = list_nth(path->custom_private, PATH_OTHERS);
	ListCell   *lc;

	scan->scan.plan.targetlist = tlist;

	/* In the order of the clauses, which is by security and cost. */
	foreach(lc, clauses)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (list_member_ptr(others, info))
			scan->scan.plan.qual = lappend(scan->scan.plan.qual, info->clause);
	}
	scan->scan.scanrelid = rel->relid;
	scan->custom_plans =
		list_make1(sort_plan(linitial(custom_plans),
							 list_nth(path->custom_private, PATH_KEYS),
							 list_nth(path->custom_private, PATH_OPERATORS),
							 list_nth(path->custom_private, PATH_NULLS_FIRST)));
	scan->custom_private = list_nth(path->custom_private, PATH_PRIVATE);
	scan->custom_exprs = list_nth(path->custom_private, PATH_EXPRS);
	scan->methods = &lb_scan_methods;
	lb_scans_planned++;
	return (Plan *) scan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Leaderboard Scan",
	.PlanCustomPath = plan_scan
};

bool
lb_is_scan(const Path *path)
{
	return IsA(path, CustomPath) &&
		((const CustomPath *) path)->methods == &path_methods;
}


/* ----------------------------------------------------------------
 *		Path
 * ----------------------------------------------------------------
 */

/* The rows of a range, of all that the clauses on the key leave. */
static double
estimate_rows(const Match *match)
{
	const LbQuals *quals = &match->quals;
	RelOptInfo *rel = match->source->rel;
	List	   *clauses = list_copy(quals->clauses);
	double		share = lb_enclosed_share(match->source, match->defn, quals);
	double		selectivity;

	if (match->others == NIL)
		return rel->rows;
	if (quals->board != NULL)
		clauses = lappend(clauses, quals->board);
	if (quals->ranked_if != NULL)
		clauses = lappend(clauses, quals->ranked_if);
	selectivity = clauselist_selectivity(match->source->root, clauses, 0,
										 JOIN_INNER, NULL);

	/* The clauses limit the same column, or one before it. */
	return clamp_row_est(rel->tuples *
						 (quals->nequal == 0 ? Min(selectivity, share) :
						  selectivity * share));
}

/* The other clauses on the first column that the scan is sorted by. */
static List *
clauses_on_order(const Match *match)
{
	Index		relid = match->source->rel->relid;
	List	   *found = NIL;
	ListCell   *lc;

	if (match->quals.nequal == list_length(match->keys))
		return NIL;
	foreach(lc, match->others)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);
		Node	   *key = list_nth(match->keys, match->quals.nequal);
		Bitmapset  *columns = NULL;
		Bitmapset  *of_key = NULL;

		pull_varattnos((Node *) info->clause, relid, &columns);
		pull_varattnos(key, relid, &of_key);
		if (bms_overlap(of_key, columns))
			found = lappend(found, info);
	}
	return found;
}

/*
 * The share of the range that may come before the first row that the node
 * returns.  The rows that satisfy a clause on another column are taken for
 * evenly spread, as in an index scan.  Those of a clause on the order may all
 * be at its end.
 */
static double
estimate_skipped(const Match *match, double rows)
{
	List	   *clauses = clauses_on_order(match);
	double		left = match->source->rel->tuples / rows;

	if (clauses == NIL)
		return 0;
	left *= clauselist_selectivity(match->source->root,
								   list_concat(clauses, match->quals.clauses), 0,
								   JOIN_INNER, NULL);
	return 1 - Min(left, 1);
}

static void
set_cost(const Match *match, CustomPath *path)
{
	const LbSource *source = match->source;
	const PathTarget *target = path->path.pathtarget;
	double		rows = estimate_rows(match);
	double		steps = 1 + log2(Max(source->rel->tuples, 1.0) + 1);
	QualCost	operands;
	QualCost	others;
	Cost		look_ups;

	cost_qual_eval(&operands, match->quals.operands, source->root);
	cost_qual_eval(&others, match->others, source->root);
	look_ups = lb_cost_fetches(source, match->index, rows) +
		rows * others.per_tuple;
	path->path.rows = Min(source->rel->rows, rows);
	path->path.startup_cost = target->cost.startup + others.startup +
		operands.startup + operands.per_tuple +
		4 * cpu_operator_cost * steps;
	path->path.total_cost = path->path.startup_cost + look_ups +
		path->path.rows * target->cost.per_tuple;
	path->path.startup_cost += look_ups * estimate_skipped(match, rows);
}

/* The rows whose look-ups cost as much; 0 if the child is disabled. */
static int
worth(const Match *match, const Path *child, Cost cost)
{
	double		rows = estimate_rows(match);

	if (LB_IS_DISABLED(child))
		return 0;
	rows *= cost / lb_cost_fetches(match->source, match->index, rows);
	return (int) Min(PG_INT32_MAX, ceil(rows));
}

/* The kinds of paths that a child has; 0 for others. */
static Size
path_size(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_Path:
			return sizeof(Path);
		case T_IndexPath:
			return sizeof(IndexPath);
		case T_BitmapHeapPath:
			return sizeof(BitmapHeapPath);
		default:
			return 0;
	}
}

/*
 * The scan below the child's sort: the table's cheapest one, as a copy, since
 * add_path() frees paths.  It returns the key's columns, which an index may
 * not have.
 */
static Path *
find_child(const Match *match)
{
	RelOptInfo *rel = match->source->rel;
	Path	   *best = create_seqscan_path(match->source->root, rel, NULL, 0);
	Path	   *copy;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = (Path *) lfirst(lc);

		if (path->param_info == NULL && path_size(path) > 0 &&
			LB_CHEAPER(path, best))
			best = path;
	}
	copy = palloc(path_size(best));
	memcpy(copy, best, path_size(best));
	if (copy->pathtype == T_IndexOnlyScan)
		copy->pathtype = T_IndexScan;
	return copy;
}

/*
 * Whether the child can sort by all keys of the board, so that it can go on
 * behind rows which the node has returned.  The first n are those of the
 * pathkeys, and the others break ties.  An expression among these is none of
 * the query: it could raise an error, or call what the query does not.
 */
static bool
child_can_sort(const Match *match, int n)
{
	for (; n < list_length(match->keys); n++)
	{
		if (match->defn->columns[n].expression != NULL)
			return false;
	}
	return true;
}

/* The operands of a qual that the node checks. */
static List *
operands_of(const Match *match, Expr *clause)
{
	List	   *args = IsA(clause, OpExpr) ? ((OpExpr *) clause)->args :
		IsA(clause, ScalarArrayOpExpr) ? ((ScalarArrayOpExpr *) clause)->args :
		NIL;
	List	   *operands = NIL;
	ListCell   *lc;

	foreach(lc, args)
	{
		if (lb_is_operand(match->source, lfirst(lc)))
			operands = lappend(operands, lfirst(lc));
	}
	return operands;
}

/*
 * The operands that may have another value later in the query, such as
 * current_setting().  Those are left out that the query need not evaluate, in
 * an OR or behind the first one of a row: they could raise an error.
 */
static List *
find_changing(const Match *match)
{
	const LbQuals *quals = &match->quals;
	List	   *exprs = list_copy(quals->one_time);
	List	   *changing = NIL;
	ListCell   *lc;

	for (int i = 0; i < lb_count_values(quals); i++)
		exprs = lappend(exprs, quals->values[i]);
	if (quals->unless != NULL)
		exprs = lappend(exprs, quals->unless);
	foreach(lc, quals->operands)
		exprs = lappend(exprs, linitial((List *) lfirst(lc)));
	foreach(lc, match->others)
		exprs = list_concat(exprs,
							operands_of(match, lfirst_node(RestrictInfo, lc)->clause));
	foreach(lc, exprs)
	{
		if (contain_mutable_functions(lfirst(lc)))
			changing = lappend(changing, lfirst(lc));
	}
	return changing;
}

static void
add_path_for(const Match *match, bool reverse, List *pathkeys,
			 List *nulls_first)
{
	RelOptInfo *rel = match->source->rel;
	CustomPath *path = makeNode(CustomPath);
	List	   *exprs = lb_answer_exprs(&match->quals);
	List	   *private = lb_answer_private(match->defn, &match->quals);
	List	   *keys = list_copy(match->keys);
	List	   *operators = NIL;
	Path	   *child = find_child(match);

	exprs = lappend(exprs, copyObject(match->quals.operands));
	exprs = lappend(exprs, copyObject(find_changing(match)));
	private = lappend(private, match->quals.conds);

	/*
	 * The statistics do not tell where the rows are that a clause leaves.  To
	 * look for them should cost no more than a quarter of the child without
	 * its sort: in memory, a look-up beside a row of a sequential scan takes
	 * up to four times as long as the planner's costs say.  Nor do they tell
	 * which rows a plan above joins before its first one.  To read these
	 * should cost no more than the child, or the plan would be another one.
	 */
	private = lappend(private,
					  list_make5_int((int) match->index, reverse,
									 worth(match, child, child->total_cost / 4),
									 worth(match, child, child->total_cost +
										   sort_cost(child->rows)),
									 (int) rel->pages));
	for (int i = 0; i < list_length(keys); i++)
		operators = lappend_oid(operators,
								sort_operator(&match->defn->columns[i], reverse));
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.pathkeys = pathkeys;
	path->methods = &path_methods;
	path->custom_paths = list_make1(child);
	path->custom_private = lappend(list_make5(private, exprs, match->others,
											  keys, operators), nulls_first);
	set_cost(match, path);
	add_path(rel, &path->path);

	/* Unless the plan has it. */
	(void) lb_miss(match->source, match->defn, LB_MISS_SCAN_COST);
}

void
lb_add_scan_paths(PlannerInfo *root, RelOptInfo *rel)
{
	LbSource	source;
	Match		match;

	if (!IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION ||
		!has_useful_pathkeys(root, rel) || IS_DUMMY_REL(rel) ||
		!bms_is_empty(rel->lateral_relids))
		return;
	if (planner_rt_fetch(rel->relid, root)->relkind != RELKIND_RELATION)
	{
		(void) lb_miss_table(root, rel->relid, LB_MISS_PARTITIONED);
		return;
	}
	if (!lb_find_source(root, rel, &source))
		return;
	for (int i = 0; i < source.ndefns; i++)
	{
		bool		any = false;

		if (!match_board(&match, &source, source.defns[i]))
			continue;
		for (int reverse = 0; reverse <= 1; reverse++)
		{
			int			nkeys;
			List	   *nulls_first;
			List	   *pathkeys = find_pathkeys(&match, reverse, &nkeys,
												 &nulls_first);

			if (pathkeys != NIL && !child_can_sort(&match, nkeys))
				pathkeys = NIL;
			any = any || pathkeys != NIL;

			/* A page in this order has a better path, too. */
			if (pathkeys != NIL &&
				!(match.page && pathkeys_contained_in(root->sort_pathkeys, pathkeys)))
				add_path_for(&match, reverse, pathkeys, nulls_first);
		}
		if (!any && root->sort_pathkeys != NIL)
			(void) lb_miss(&source, match.defn, LB_MISS_ORDER);
	}
}
