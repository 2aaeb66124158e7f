/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *	  Aggregates over a board, or over a range of it: recognizing and planning.
 *
 * A query SELECT aggregates FROM table WHERE quals has one row.  If the quals
 * limit a range of a board's order, each aggregate that is listed in LbAggKind
 * is a few descents of its index.  The path is a custom scan that takes the
 * place of the Agg node and of all below it.  custom_scan_tlist has the
 * aggregates, so that the node computes expressions above them, and HAVING, as
 * an Agg does.  It also has the columns in the quals, which are null in the
 * node's rows: EXPLAIN shows the quals by them.
 *
 * The rows may also be those of a subquery (aggregate_rows.c).  Then the node
 * is not a scan of the table, which is not one of the query's.
 *
 * The other paths are dominated, and add_path() would free them.  One of them
 * is going to be the node's child, so the path is not added but replaces the
 * list.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "planner/aggregate.h"
#include "planner/aggregate_exec.h"
#include "planner/aggregate_rows.h"
#include "planner/answer.h"
#include "planner/page_limit.h"
#include "planner/several.h"
#include "util/compat.h"

/* What is known of a query while its aggregates are looked at. */
typedef struct Match
{
	const LbAggRows *rows;
	const LbSource *source;		/* their table */
	LbDefinition *defn;
	LbSeveral	several;		/* the clause for several boards ... */
	List	   *clauses;		/* ... and the others */
	LbQuals		quals;
	List	   *aggs;			/* lists, see aggregate_exec.h */
	List	   *operands;		/* a list of expressions for each */
	List	   *filters;		/* LbQuals.conds for each that has a FILTER,
								 * with those of WHERE, else NIL */
	List	   *filter_operands;	/* and LbQuals.operands */

	/* While an aggregate is looked at. */
	LbQuals		both;			/* the quals of WHERE and FILTER */
	bool		score_null;		/* rows whose score is null do not matter */
	bool		distinct;		/* it counts distinct scores */
} Match;


/* ----------------------------------------------------------------
 *		Aggregates
 * ----------------------------------------------------------------
 */

static bool
add_agg(Match *match, LbAggKind kind, bool reverse, List *types,
		List *operands)
{
	match->aggs = lappend(match->aggs,
						  list_concat(list_make3_int(kind, reverse, false), types));
	match->operands = lappend(match->operands, operands);
	return true;
}

/* The only argument of an aggregate is the score. */
static bool
is_of_score(const Match *match, const Aggref *agg, LbUse *use)
{
	return list_length(agg->args) == 1 &&
		lb_find_use(match->source, match->defn,
					(Node *) linitial_node(TargetEntry, agg->args)->expr,
					use) &&
		use->column == 0 && !use->cast;
}

/*
 * count(x): of a constant, the score, or another column without nulls.
 * Computing what it is sorted by could raise an error.
 */
static bool
add_count(Match *match, const Aggref *agg)
{
	Node	   *arg = (Node *) linitial_node(TargetEntry, agg->args)->expr;
	LbUse		use;
	LbOrder		order;

	if (list_length(agg->args) != 1)
		return false;
	if (agg->aggdistinct != NIL)
	{
		SortGroupClause *distinct = linitial(agg->aggdistinct);

		match->distinct = match->score_null = true;
		return is_of_score(match, agg, &use) &&
			lb_find_order(match->defn, &use, distinct->eqop, &order) &&
			add_agg(match, LB_AGG_COUNT_DISTINCT, false, NIL, NIL);
	}
	if (is_of_score(match, agg, &use))
		match->score_null = true;
	else if (!IsA(arg, Const) || ((Const *) arg)->constisnull)
	{
		const Var  *var = (const Var *) arg;

		if (!IsA(var, Var) || var->varlevelsup != 0 ||
			var->varno != (int) match->source->rel->relid ||
			var->varattno <= 0 ||
			(!bms_is_member(var->varattno, match->source->not_null) &&
			 !bms_is_member(var->varattno, match->both.not_null)))
			return false;
	}
	return add_agg(match, LB_AGG_COUNT, false, NIL, NIL);
}

/*
 * min() and max() are what the aggregate's sort operator puts first.  An
 * aggregate that a user has made may do more, and may return another type.
 */
static bool
add_end(Match *match, const Aggref *agg)
{
	HeapTuple	tuple;
	Oid			sortop;
	LbUse		use;
	LbOrder		order;
	bool		is_max;

	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(agg->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		return false;
	sortop = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	if (agg->aggfnoid >= FirstUnpinnedObjectId || !OidIsValid(sortop) ||
		!is_of_score(match, agg, &use) || agg->aggtype != use.type ||
		!lb_find_order(match->defn, &use, sortop, &order))
		return false;
	match->score_null = true;
	is_max = order.strategy == BTGreaterStrategyNumber;
	return add_agg(match,
				   is_max == lb_score_column(match->defn)->descending ?
				   LB_AGG_FIRST : LB_AGG_LAST, false, NIL, NIL);
}

/*
 * Whether an aggregate sorts by the first columns of the key, in the board's
 * order or all of it in reverse.  *types gets the operands' types, each with
 * whether nulls are first.
 */
static bool
sorts_by_key(const Match *match, const Aggref *agg, bool *reverse,
			 List **types)
{
	const LbDefinition *defn = match->defn;
	int			n = list_length(agg->aggorder);

	*types = NIL;
	if (n != list_length(agg->args) ||
		(n > 1 && lb_shape_varies(&defn->shape)))
		return false;
	for (int i = 0; i < n; i++)
	{
		SortGroupClause *sort = list_nth(agg->aggorder, i);
		TargetEntry *arg = get_sortgroupclause_tle(sort, agg->args);
		LbUse		use;
		LbOrder		order;
		bool		is_reverse;

		if (!lb_find_use(match->source, defn, (Node *) arg->expr, &use) ||
			use.column != i || i >= lb_nindex_columns(defn) ||
			defn->columns[i].type->words == LB_TEXT ||
			!lb_find_order(defn, &use, sort->sortop, &order) ||
			((n > 1 || agg->aggfnoid == F_DENSE_RANK_ANY) &&
			 !lb_is_exact(defn, &use, &order)))
			return false;
		is_reverse = (order.strategy == BTGreaterStrategyNumber) !=
			defn->columns[i].descending;
		if (i > 0 && is_reverse != *reverse)
			return false;
		*reverse = is_reverse;
		*types = lappend_int(*types, order.operand);
		*types = lappend_int(*types, sort->nulls_first);
	}
	return true;
}

/* The aggregates with WITHIN GROUP. */
static bool
add_ordered(Match *match, const Aggref *agg)
{
	LbAggKind	kind;
	bool		reverse;
	List	   *types;
	LbUse		use;

	switch (agg->aggfnoid)
	{
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
			match->score_null = true;
			return sorts_by_key(match, agg, &reverse, &types) &&
				is_of_score(match, agg, &use) &&
				lb_is_operand(match->source, linitial(agg->aggdirectargs)) &&
				add_agg(match, LB_AGG_PERCENTILE_DISC, reverse, types,
						agg->aggdirectargs);
		case F_RANK_ANY:
			kind = LB_AGG_RANK;
			break;
		case F_DENSE_RANK_ANY:
			kind = LB_AGG_DENSE_RANK;
			match->distinct = true;
			break;
		case F_PERCENT_RANK_ANY:
			kind = LB_AGG_PERCENT_RANK;
			break;
		case F_CUME_DIST_ANY:
			kind = LB_AGG_CUME_DIST;
			break;
		default:
			return false;
	}
	return !agg->aggvariadic && sorts_by_key(match, agg, &reverse, &types) &&
		(kind != LB_AGG_DENSE_RANK || list_length(agg->args) == 1) &&
		lb_is_operand(match->source, (Node *) agg->aggdirectargs) &&
		add_agg(match, kind, reverse, types, agg->aggdirectargs);
}

/* Aggregates of several boards that follow from those of each. */
static bool
adds_up(const Aggref *agg)
{
	return !AGGKIND_IS_ORDERED_SET(agg->aggkind) && agg->aggdistinct == NIL;
}

/* One of the aggregates that a board answers, whatever its rows are. */
static bool
add_kind(Match *match, const Aggref *agg)
{
	if (AGGKIND_IS_ORDERED_SET(agg->aggkind))
		return add_ordered(match, agg);
	if (agg->aggfnoid == F_COUNT_)
		return add_agg(match, LB_AGG_COUNT, false, NIL, NIL);
	return agg->aggfnoid == F_COUNT_ANY ? add_count(match, agg) :
		add_end(match, agg);
}

/*
 * The node evaluates operands also if there are no rows.  These raise nothing,
 * but for subqueries (is_late()).
 */
static bool
raise_nothing(const List *operands)
{
	ListCell   *lc;
	ListCell   *operand;

	foreach(lc, operands)
	{
		foreach(operand, (List *) lfirst(lc))
		{
			if (!IsA(lfirst(operand), Const) && !IsA(lfirst(operand), Param))
				return false;
		}
	}
	return true;
}

/*
 * A condition of FILTER may compare with a subquery, which PostgreSQL runs for
 * the first row that the condition is evaluated for.  So does the node if that
 * is the first row of the query.  Returns false if it need not be.
 */
static bool
is_late(const Match *match, const Aggref *agg, bool *late)
{
	*late = agg->aggfilter != NULL &&
		lb_has_subquery(match->source->root, (Node *) agg->aggfilter);
	return !*late || IsA(agg->aggfilter, OpExpr);
}

/*
 * lb_sort_quals().  The clause for several boards takes the place of the one
 * that says which board it is.  Without one for each board column, the rows
 * can be of all boards with the values that are known.
 */
static bool
sort_quals(const Match *match, List *clauses, LbQuals *quals)
{
	const LbSeveral *several = &match->several;

	if (!lb_sort_quals(match->source, match->defn, clauses, quals, NULL))
		return false;
	if (several->clause == NULL)
		return quals->board != NULL || match->source->secured ||
			match->defn->nboard < 2 ||
			lb_open_board_columns(match->source, match->defn, quals) ||
			lb_miss(match->source, match->defn, LB_MISS_WHICH_BOARD);
	quals->open = 1 << several->place;
	if (!lb_add_board_qual(match->defn, quals, several->place, several->clause,
						   (Expr *) makeNullConst(several->type, -1, InvalidOid)))
		return false;
	quals->not_null = bms_add_member(quals->not_null, several->attno);
	return true;
}

/*
 * Whether a board answers an aggregate.  With FILTER, the aggregate has a
 * range of its own in the board of the query.
 */
static bool
add_aggref(Match *match, const Aggref *agg)
{
	const LbSource *source = match->source;
	bool		filter = agg->aggfilter != NULL;
	bool		late = false;
	List	   *clauses = match->clauses;

	if (filter)
		clauses = list_concat_copy(clauses, make_ands_implicit(agg->aggfilter));
	match->score_null = match->distinct = false;
	if (agg->agglevelsup != 0 ||
		!sort_quals(match, clauses, &match->both))
		return false;
	if (!equal(match->both.board, match->quals.board))
		return lb_miss(source, match->defn, LB_MISS_WHICH_BOARD);
	if (list_length(match->both.one_time) !=
		list_length(match->quals.one_time))
		return lb_miss(source, match->defn, LB_MISS_FILTER);
	if (filter && (!raise_nothing(match->both.operands) ||
				   !is_late(match, agg, &late)))
		return lb_miss(source, match->defn, LB_MISS_FILTER);
	if (match->quals.open != 0 && !adds_up(agg))
		return lb_miss(source, match->defn, LB_MISS_WHICH_BOARD);
	if (!add_kind(match, agg))
		return lb_miss_expr(source, match->defn, LB_MISS_AGGREGATE,
							unconstify(Aggref *, agg));
	if (filter)
		lfirst_int(list_nth_cell(llast(match->aggs), LB_AGG_LATE)) = late;
	match->filters = lappend(match->filters,
							 filter ? match->both.conds : NIL);
	match->filter_operands = lappend(match->filter_operands,
									 filter ? match->both.operands : NIL);

	/* LIMIT counts rows without a score, too. */
	if (!lb_quals_imply_board(source, match->defn, &match->both,
							  match->score_null && !match->rows->limited))
		return false;
	match->quals.complete |= match->both.complete;

	/* Boards that have only rows off the board are not looked for. */
	if (match->quals.complete && match->quals.open != 0 &&
		match->several.clause == NULL)
		return lb_miss(source, match->defn, LB_MISS_WHICH_BOARD);
	return (!match->distinct || lb_limits_score_only(match->both.conds)) ||
		lb_miss(source, match->defn, LB_MISS_DISTINCT_SCORES);
}

/* Whether a board answers all aggregates of a query. */
static bool
match_board(Match *match, const LbAggRows *rows, LbDefinition *defn)
{
	ListCell   *lc;

	memset(match, 0, sizeof(Match));
	match->rows = rows;
	match->source = &rows->source;
	match->defn = defn;
	lb_find_several(match->source, defn, rows->clauses, &match->several,
					&match->clauses);
	if (!sort_quals(match, match->clauses, &match->quals) ||
		(match->quals.open != 0 && rows->limited))
		return false;
	foreach(lc, rows->aggrefs)
	{
		if (!IsA(lfirst(lc), Aggref) || !add_aggref(match, lfirst(lc)))
			return false;
	}
	return true;
}


/* ----------------------------------------------------------------
 *		Path and plan
 * ----------------------------------------------------------------
 */

/* Lists of CustomPath.custom_private. */
enum
{
	PATH_RELID,
	PATH_PRIVATE,				/* of the scan, likewise: */
	PATH_EXPRS,
	PATH_TLIST,
	PATH_HAVING
};

static Plan *
plan_aggregate(PlannerInfo *root, RelOptInfo *rel, struct CustomPath *path,
			   List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = list_nth(path->custom_private, PATH_HAVING);
	scan->scan.scanrelid = linitial_int(list_nth(path->custom_private,
												 PATH_RELID));
	scan->custom_plans = custom_plans;
	scan->custom_private = list_nth(path->custom_private, PATH_PRIVATE);
	scan->custom_exprs = list_nth(path->custom_private, PATH_EXPRS);
	scan->custom_scan_tlist = list_nth(path->custom_private, PATH_TLIST);
	scan->methods = &lb_aggregate_methods;
	return (Plan *) scan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Leaderboard Aggregate",
	.PlanCustomPath = plan_aggregate
};

/* The columns of the node's rows: the aggregates, and the columns in exprs. */
static List *
make_tlist(List *aggrefs, List *exprs)
{
	List	   *tlist = NIL;

	tlist = add_to_flat_tlist(tlist, aggrefs);
	return add_to_flat_tlist(tlist, pull_var_clause((Node *) exprs, 0));
}

/*
 * A descent compares some words in each level, of which there are log(n).  It
 * reads memory that other sessions read as well, and no page.
 */
static void
set_cost(const LbSource *source, const Match *match, CustomPath *path,
		 const Path *child)
{
	double		members = Max(source->rel->tuples, 1.0);
	int			boards = match->quals.open == 0 ? 1 :
		lb_estimate_several(&match->several);
	double		descents = (2.0 + 2 * list_length(match->aggs)) * boards;
	QualCost	operands;

	cost_qual_eval(&operands, match->operands, source->root);
	path->path.rows = child->rows;
	path->path.startup_cost = path->path.pathtarget->cost.startup +
		operands.startup + operands.per_tuple +
		descents * cpu_operator_cost * (1 + log2(members + 1));
	path->path.total_cost = path->path.startup_cost + cpu_tuple_cost +
		path->path.pathtarget->cost.per_tuple;
}

/* The node's custom_private. */
static List *
make_private(const Match *match)
{
	const LbAggRows *rows = match->rows;
	List	   *private = lb_answer_private(match->defn, &match->quals);

	private = lappend(private, match->quals.open == 0 ? NIL :
					  list_make1_int(match->quals.open));
	private = lappend(private, match->quals.conds);
	private = lappend(private, match->aggs);
	private = lappend(private, match->filters);
	if (rows->subquery == NULL)
		return list_concat(private, list_make3(NIL, NIL, NIL));
	private = lappend(private,
					  list_make1_oid(planner_rt_fetch(rows->source.rel->relid,
													  rows->source.root)->relid));
	private = lappend(private, lb_agg_rows_quals(rows));
	return lappend(private, rows->limited ? list_make1_int(true) : NIL);
}

/*
 * The node's custom_exprs.  The quals on the table of a subquery are not among
 * them, since they are not on columns that the query has.
 */
static List *
make_exprs(const Match *match)
{
	const Query *subquery = match->rows->subquery;
	List	   *exprs = lb_answer_exprs(&match->quals);

	if (subquery != NULL)
		exprs = list_make5(NIL, NIL, NIL, list_nth(exprs, LB_EXPRS_VALUES),
						   list_nth(exprs, LB_EXPRS_ONE_TIME));
	exprs = lappend(exprs, match->several.clause == NULL ? NIL :
					list_make1(copyObject(match->several.array)));
	exprs = lappend(exprs, copyObject(match->quals.operands));
	exprs = lappend(exprs, copyObject(match->operands));
	exprs = lappend(exprs, copyObject(match->filter_operands));
	return list_concat(exprs, subquery == NULL ? list_make3(NIL, NIL, NIL) :
					   lb_page_limit_exprs(match->source->root));
}

static void
add_path_for(PlannerInfo *root, const Match *match, List *aggrefs,
			 RelOptInfo *grouped)
{
	CustomPath *path = makeNode(CustomPath);
	Path	   *child = lb_cheapest_path(grouped);
	List	   *having = copyObject((List *) root->parse->havingQual);
	List	   *exprs = make_exprs(match);
	int			relid = match->rows->subquery == NULL ?
		match->source->rel->relid : 0;

	path->path.pathtype = T_CustomScan;
	path->path.parent = grouped;
	path->path.pathtarget = grouped->reltarget;
	path->methods = &path_methods;
	path->custom_private =
		list_make5(list_make1_int(relid), make_private(match), exprs,
				   make_tlist(copyObject(aggrefs), exprs), having);
	set_cost(match->source, match, path, child);
	if (!LB_CHEAPER(&path->path, child))
	{
		(void) lb_miss(match->source, match->defn, LB_MISS_COST);
		return;
	}

	/*
	 * That of max() by an index computes the whole select list, with
	 * functions that return sets.
	 */
	child = apply_projection_to_path(root, grouped, child,
									 grouped->reltarget);
	path->custom_paths = list_make1(child);
	grouped->pathlist = list_make1(path);
}

/* The different aggregates, and columns, in what a relation computes. */
static List *
find_aggregates(PlannerInfo *root, const RelOptInfo *grouped)
{
	List	   *exprs = list_make2(grouped->reltarget->exprs,
								   root->parse->havingQual);

	return list_concat_unique(NIL,
							  pull_var_clause((Node *) exprs,
											  PVC_INCLUDE_AGGREGATES |
											  PVC_RECURSE_WINDOWFUNCS |
											  PVC_INCLUDE_PLACEHOLDERS));
}

void
lb_add_aggregate_path(PlannerInfo *root, RelOptInfo *input,
					  RelOptInfo *grouped)
{
	const Query *query = root->parse;
	LbAggRows	rows;
	Match		match;
	List	   *aggrefs;

	if (query->groupClause != NIL || query->groupingSets != NIL)
	{
		(void) lb_miss_query(root, LB_MISS_GROUPS);
		return;
	}
	if (query->hasAggs && input->reloptkind == RELOPT_JOINREL)
		(void) lb_miss_query(root, LB_MISS_JOIN);
	if (!query->hasAggs || grouped->pathlist == NIL ||
		input->reloptkind != RELOPT_BASEREL || IS_DUMMY_REL(input))
		return;
	aggrefs = find_aggregates(root, grouped);
	if (aggrefs == NIL || !lb_find_agg_rows(root, input, aggrefs, &rows))
		return;
	for (int i = 0; i < rows.source.ndefns; i++)
	{
		if (match_board(&match, &rows, rows.source.defns[i]))
		{
			add_path_for(root, &match, aggrefs, grouped);
			return;
		}
	}
}
