/*-------------------------------------------------------------------------
 *
 * ranked_match.c
 *	  Subqueries and views that rank the rows of a table: recognizing them.
 *
 * SELECT t.*, rank() OVER (ORDER BY score DESC) FROM t is a subquery here, or
 * a view.  A board knows what it computes of each row if its rows are those of
 * the board, or a range of its order, and if each window has all of them and
 * sorts by the first columns of the key.
 *
 * The rows that are ranked are those that the subquery has, all of them, so
 * quals of the query above do not matter here.  They may have been moved to
 * the subquery as run conditions, by which a window function need not go on;
 * then the node checks them.
 *
 * The node computes the subquery's columns itself: it has their expressions,
 * in which variables of INNER_VAR take the place of the window functions.  The
 * planner does not look into these expressions.  So the subquery has no
 * subplans, which may also hide volatile functions.
 *
 * A query that is not above a subquery, but has window functions itself, is
 * taken for one above a subquery that has the table's columns and these window
 * functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "planner/page_limit.h"
#include "planner/ranked_count.h"
#include "planner/ranked_exec.h"
#include "planner/ranked_match.h"
#include "util/compat.h"


/* ----------------------------------------------------------------
 *		Window functions
 * ----------------------------------------------------------------
 */

/*
 * The place among the board columns of one by which a window has partitions,
 * or -1.
 */
static int
find_partition(const LbRanked *match, const SortGroupClause *group)
{
	const LbDefinition *defn = match->defn;
	TargetEntry *target = get_sortgroupclause_tle(unconstify(SortGroupClause *, group),
												  match->query->targetList);
	LbUse		use;
	LbOrder		order;
	Oid			collation = exprCollation((Node *) target->expr);

	if (!lb_find_use(&match->source, defn, (Node *) target->expr, &use) ||
		use.board < 0 || use.cast ||
		!lb_find_order(defn, &use, group->eqop, &order) ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		return -1;
	return use.board;
}

/*
 * Whether a window has all rows of one board, or of several if *all_known is
 * false, whatever its order.  The quals or the partitions say which.
 */
static bool
is_one_board(LbRanked *match, const WindowClause *window, bool *all_known)
{
	const LbDefinition *defn = match->defn;
	bool		known[LB_MAX_VALUE_COLUMNS];
	ListCell   *lc;

	*all_known = true;

	for (int i = 0; i < defn->nboard; i++)
		known[i] = match->quals.boards[i] != NULL;
	foreach(lc, window->partitionClause)
	{
		int			place = find_partition(match, lfirst(lc));

		if (place < 0)
			return false;
		known[place] = true;
	}
	for (int i = 0; i < defn->nboard; i++)
		*all_known &= known[i];
	if (match->quals.board != NULL || match->values != NIL || !*all_known)
		return true;
	for (int i = 0; i < defn->nboard; i++)
		match->values = lappend(match->values,
								lb_column_expr(&match->source, defn,
											   lb_nkey_columns(defn) + i));
	return true;
}

/*
 * Whether a window sorts by the first columns of the key, in the board's order
 * or all of it in reverse.
 */
static bool
sorts_by_key(const LbRanked *match, const WindowClause *window, bool *reverse)
{
	const LbDefinition *defn = match->defn;
	int			n = list_length(window->orderClause);

	*reverse = false;
	if (n > lb_nindex_columns(defn))
		return false;
	for (int i = 0; i < n; i++)
	{
		SortGroupClause *sort = list_nth(window->orderClause, i);
		TargetEntry *target = get_sortgroupclause_tle(sort,
													  match->query->targetList);
		LbUse		use;
		LbOrder		order;
		bool		is_reverse;

		if (!lb_find_use(&match->source, defn, (Node *) target->expr, &use) ||
			use.column != i || use.cast ||
			!lb_find_order(defn, &use, sort->sortop, &order))
			return false;

		/* Texts of a key are in the order of their bytes. */
		if (defn->columns[i].type->words == LB_TEXT &&
			!LB_COLLATES_BYTES(exprCollation((Node *) target->expr)))
			return lb_miss(&match->source, defn, LB_MISS_TEXT);
		is_reverse = (order.strategy == BTGreaterStrategyNumber) !=
			defn->columns[i].descending;
		if (i > 0 && is_reverse != *reverse)
			return false;
		*reverse = is_reverse;
	}
	return true;
}

/* With texts, the view counts by the first word only, or by whole keys. */
static bool
can_count(const LbDefinition *defn, LbRankKind kind, int ncolumns)
{
	return !lb_shape_varies(&defn->shape) || lb_counts_places(kind) ||
		ncolumns == lb_nkey_columns(defn) || ncolumns == 0 ||
		(ncolumns == 1 && defn->columns[0].type->words == 1);
}

/* The argument of ntile(), or 0 if it is not known, or is an error. */
static int
find_buckets(const WindowFunc *func)
{
	const Const *arg = func->args == NIL ? NULL : linitial(func->args);

	return arg == NULL || !IsA(arg, Const) || arg->constisnull ? 0 :
		Max(DatumGetInt32(arg->constvalue), 0);
}

static bool
find_kind(const WindowFunc *func, const WindowClause *window,
		  LbRankKind *kind)
{
	switch (func->winfnoid)
	{
		case F_ROW_NUMBER:
			*kind = LB_RANK_ROW_NUMBER;
			return true;
		case F_RANK_:
			*kind = LB_RANK_RANK;
			return true;
		case F_DENSE_RANK_:
			*kind = LB_RANK_DENSE_RANK;
			return true;
		case F_PERCENT_RANK_:
			*kind = LB_RANK_PERCENT_RANK;
			return true;
		case F_CUME_DIST_:
			*kind = LB_RANK_CUME_DIST;
			return true;
		case F_NTILE:
			*kind = LB_RANK_NTILE;
			return find_buckets(func) > 0;
		case F_COUNT_:
			*kind = LB_RANK_COUNT;
			return window->frameOptions == FRAMEOPTION_DEFAULTS;
		default:
			return false;
	}
}

/* Add a window function.  Returns false if the board does not know it. */
static bool
add_func(LbRanked *match, WindowFunc *func)
{
	const WindowClause *window = list_nth(match->query->windowClause,
										  func->winref - 1);
	LbRankKind	kind;
	bool		reverse;
	int			n = list_length(window->orderClause);
	bool		known;

	if (func->aggfilter != NULL || window->startOffset != NULL ||
		window->endOffset != NULL || !find_kind(func, window, &kind))
		return lb_miss_expr(&match->source, match->defn,
							LB_MISS_WINDOW_FUNCTION, func);
	if (!lb_has_members(match->defn) && lb_counts_places(kind))
		return lb_miss(&match->source, match->defn, LB_MISS_COUNTS);
	if (!is_one_board(match, window, &known))
		return lb_miss_expr(&match->source, match->defn, LB_MISS_WINDOW, func);
	if (!known)
		return lb_miss(&match->source, match->defn, LB_MISS_WHICH_BOARD);
	if (!sorts_by_key(match, window, &reverse) ||
		!can_count(match->defn, kind, n))
		return lb_miss_expr(&match->source, match->defn, LB_MISS_WINDOW, func);

	/* Distinct scores are counted up to a score only. */
	if (kind == LB_RANK_DENSE_RANK &&
		(n != 1 || !lb_limits_score_only(match->quals.conds)))
		return lb_miss(&match->source, match->defn, LB_MISS_DISTINCT_SCORES);
	match->windows = lappend(match->windows, func);
	match->funcs = lappend(match->funcs,
						   list_make4_int(kind, reverse, n, find_buckets(func)));
	return true;
}


/* ----------------------------------------------------------------
 *		Columns of the subquery
 * ----------------------------------------------------------------
 */

/*
 * Put variables in the place of window functions.  Version 17 has run
 * conditions in a window function, so that two of them that differ in these
 * are the same.
 */
static Node *
replace_windows(Node *node, void *context)
{
	LbRanked   *match = (LbRanked *) context;

	if (node == NULL || match->failed)
		return node;
	if (IsA(node, WindowFunc))
	{
		WindowFunc *func = copyObject((WindowFunc *) node);
		int			i = 0;

		func->location = -1;
#if PG_VERSION_NUM >= 170000
		func->runCondition = NIL;
#endif
		while (i < list_length(match->windows) &&
			   !equal(list_nth(match->windows, i), func))
			i++;
		if (i == list_length(match->windows) && !add_func(match, func))
			match->failed = true;
		return (Node *) makeVar(INNER_VAR, i + 1, func->wintype, -1,
								func->wincollid, 0);
	}
	if (IsA(node, PlaceHolderVar))
		match->failed = true;
	return expression_tree_mutator(node, replace_windows, context);
}

Node *
lb_ranked_expr(LbRanked *match, Node *expr)
{
	Node	   *result = replace_windows(copyObject(expr), match);

	if (match->failed)
		return NULL;
	ChangeVarNodes(result, match->source.rel->relid, 1, 0);
	fix_opfuncids(result);
	return result;
}

/* A whole row of the subquery. */
static Expr *
make_row(const LbRanked *match, const Var *var)
{
	RowExpr    *row = makeNode(RowExpr);
	ListCell   *lc;

	foreach(lc, match->query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk)
			row->args = lappend(row->args, target->expr);
	}
	row->row_typeid = var->vartype;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->colnames = copyObject(match->rte->eref->colnames);
	row->location = -1;
	return (Expr *) row;
}

bool
lb_is_ranked_column(const LbRanked *match, const Node *expr)
{
	if (IsA(expr, Var))
		return ((const Var *) expr)->varno == (int) match->rel->relid;
	return match->flat && IsA(expr, WindowFunc);
}

/* What a column of the subquery is there. */
static Node *
find_definition(const LbRanked *match, Node *column)
{
	const Var  *var = (const Var *) column;

	if (match->flat)
		return column;
	if (var->varattno == 0)
		return (Node *) make_row(match, var);
	return (Node *) get_tle_by_resno(match->query->targetList,
									 var->varattno)->expr;
}

static void
add_column(LbRanked *match, Node *column)
{
	if (!lb_is_ranked_column(match, column) ||
		(!match->flat && ((Var *) column)->varattno < 0))
		match->failed = true;
	else if (!list_member(match->columns, column))
	{
		Node	   *definition = find_definition(match, column);

		match->columns = lappend(match->columns, copyObject(column));
		match->outputs = lappend(match->outputs,
								 lb_ranked_expr(match, definition));
	}
}

/* Add the columns in expressions, which may have others of other tables. */
static void
add_columns(LbRanked *match, Node *exprs)
{
	List	   *columns = pull_var_clause(exprs, PVC_INCLUDE_PLACEHOLDERS |
										  PVC_INCLUDE_WINDOWFUNCS);
	ListCell   *lc;

	foreach(lc, columns)
	{
		if (!IsA(lfirst(lc), Var) || lb_is_ranked_column(match, lfirst(lc)))
			add_column(match, lfirst(lc));
	}
}

void
lb_add_ranked_columns(LbRanked *match, List *infos)
{
	ListCell   *lc;

	foreach(lc, infos)
		add_columns(match, (Node *) lfirst_node(RestrictInfo, lc)->clause);
}

/* Put columns of the subquery in the place of window functions. */
static Node *
replace_by_columns(Node *node, void *context)
{
	LbRanked   *match = (LbRanked *) context;
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (!IsA(node, WindowFunc))
		return expression_tree_mutator(node, replace_by_columns, context);
	foreach(lc, match->query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk && equal(target->expr, node))
		{
			Var		   *var = makeVarFromTargetEntry(match->rel->relid, target);

			add_column(match, (Node *) var);
			return (Node *) var;
		}
	}
	match->failed = true;
	return node;
}

static void
add_run_condition(LbRanked *match, Node *clause)
{
	match->run = lappend(match->run, replace_by_columns(clause, match));
}

#if PG_VERSION_NUM >= 170000
static bool
add_run_conditions(Node *node, void *context)
{
	LbRanked   *match = (LbRanked *) context;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, WindowFunc))
		return expression_tree_walker(node, add_run_conditions, context);
	foreach(lc, ((WindowFunc *) node)->runCondition)
	{
		WindowFuncRunCondition *run = lfirst_node(WindowFuncRunCondition, lc);
		Expr	   *func = (Expr *) node;
		Expr	   *left = run->wfunc_left ? func : run->arg;
		Expr	   *right = run->wfunc_left ? run->arg : func;
		Expr	   *clause = make_opclause(run->opno, BOOLOID, false, left, right,
										   InvalidOid, run->inputcollid);

		add_run_condition(match, (Node *) clause);
	}
	return false;
}
#endif

/*
 * Quals on window functions that the planner has moved from the query above to
 * the subquery: "rank <= 10".  Make them quals of the query above again.
 */
static void
find_run_conditions(LbRanked *match)
{
#if PG_VERSION_NUM >= 170000
	(void) add_run_conditions((Node *) match->query->targetList, match);
#else
	ListCell   *window;
	ListCell   *lc;

	foreach(window, match->query->windowClause)
	{
		foreach(lc, lfirst_node(WindowClause, window)->runCondition)
			add_run_condition(match, lfirst(lc));
	}
#endif
}

/* The board columns as one expression, for EXPLAIN. */
static Expr *
row_of(List *columns)
{
	RowExpr    *row;

	if (list_length(columns) == 1)
		return linitial(columns);
	row = makeNode(RowExpr);
	row->args = columns;
	row->row_typeid = RECORDOID;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = -1;
	return (Expr *) row;
}

/* Whether a board knows what the subquery computes of each row. */
static bool
match_board(LbRanked *match, LbDefinition *defn)
{
	match->defn = defn;
	match->windows = match->funcs = NIL;
	match->columns = match->outputs = match->run = NIL;
	match->values = NIL;
	match->failed = false;
	if (!lb_sort_quals(&match->source, defn,
					   match->source.rel->baserestrictinfo, &match->quals,
					   NULL))
		return false;
	add_columns(match, (Node *) match->wanted);
	if (!match->flat)
	{
		lb_add_ranked_columns(match, match->rel->baserestrictinfo);
		find_run_conditions(match);
	}
	if (match->failed)
		return false;

	/* Each row is of a board, and says of which. */
	if (match->values != NIL)
		match->quals.board = row_of(match->values);
	return lb_quals_imply_board(&match->source, defn, &match->quals, false);
}

/* Find a board that has an index now, or one that has none. */
static bool
find_board(LbRanked *match, bool ready)
{
	match->ready = ready;
	for (int i = 0; i < match->source.ndefns; i++)
	{
		LbDefinition *defn = match->source.defns[i];

		if (lb_has_index_now(defn) == ready && match_board(match, defn))
			return true;
	}
	return false;
}

/*
 * Whether a subquery with windows may be one that ranks the rows of a table.
 */
static bool
is_ranking(const PlannerInfo *subroot)
{
	const Query *query = subroot->parse;

	return lb_returns_rows(subroot) && query->limitCount == NULL &&
		query->limitOffset == NULL && subroot->init_plans == NIL &&
		!contain_volatile_functions((Node *) query->targetList) &&
		!contain_subplans((Node *) query->targetList);
}

/* Find the table, and what may rank its rows. */
static bool
find_query(LbRanked *match)
{
	PlannerInfo *root = match->root;
	PlannerInfo *subroot = match->rel->subroot;
	int			table;

	match->rte = planner_rt_fetch(match->rel->relid, root);
	match->flat = match->rte->rtekind == RTE_RELATION;
	if (match->flat)
	{
		match->query = root->parse;
		if (!root->parse->hasWindowFuncs)
			return false;
		if (!lb_returns_rows(root))
			return lb_miss_query(root, LB_MISS_DISTINCT);
		return lb_find_source(root, match->rel, &match->source);
	}
	if (subroot == NULL || subroot->parse->windowClause == NIL)
		return false;
	if (!is_ranking(subroot))
		return lb_miss_query(subroot, LB_MISS_SUBQUERY);
	if (!bms_get_singleton_member(subroot->all_baserels, &table))
		return lb_miss_query(subroot, LB_MISS_JOIN);
	match->query = subroot->parse;
	return lb_find_source(subroot, subroot->simple_rel_array[table],
						  &match->source);
}

bool
lb_match_ranked(PlannerInfo *root, RelOptInfo *rel, List *wanted,
				LbRanked *match)
{
	LbSource   *source = &match->source;

	match->root = root;
	match->rel = rel;
	match->wanted = wanted;
	if (rel->reloptkind != RELOPT_BASEREL || rel->pathlist == NIL ||
		IS_DUMMY_REL(rel) || !bms_is_empty(rel->lateral_relids) ||
		!find_query(match))
		return false;
	if (root->rowMarks != NIL)
		return lb_miss_all(source, root->parse->commandType == CMD_SELECT ?
						   LB_MISS_LOCKS : LB_MISS_WRITES);
	if (planner_rt_fetch(source->rel->relid, source->root)->relkind !=
		RELKIND_RELATION)
		return lb_miss_all(source, LB_MISS_PARTITIONED);
	return find_board(match, true) || find_board(match, false);
}


/* ----------------------------------------------------------------
 *		What expressions of the query above are
 * ----------------------------------------------------------------
 */

List *
lb_ranked_one_time(const LbRanked *match)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, match->flat ? NIL : match->rel->baserestrictinfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (info->pseudoconstant && !contain_subplans((Node *) info->clause))
			clauses = lappend(clauses, info->clause);
	}
	return clauses;
}

AttrNumber
lb_ranked_table_column(const LbRanked *match, Node *expr)
{
	const Var  *var = (const Var *) lb_strip_relabel(expr);

	if (var == NULL || !IsA(var, Var) ||
		var->varno != (int) match->rel->relid || var->varattno <= 0)
		return 0;
	if (!match->flat)
		var = (const Var *) lb_strip_relabel(find_definition(match, (Node *) var));
	if (var == NULL || !IsA(var, Var) ||
		var->varno != (int) match->source.rel->relid)
		return 0;
	return var->varattno;
}

int
lb_ranked_window(const LbRanked *match, Node *expr)
{
	ListCell   *column;
	ListCell   *output;

	expr = lb_strip_relabel(expr);
	forboth(column, match->columns, output, match->outputs)
	{
		const Var  *what = (const Var *) lb_strip_relabel(lfirst(output));

		if (equal(lfirst(column), expr))
			return IsA(what, Var) && what->varno == INNER_VAR ?
				what->varattno - 1 : -1;
	}
	return -1;
}
