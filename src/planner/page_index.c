/*-------------------------------------------------------------------------
 *
 * page_index.c
 *	  Pages of a board that keeps counts, by an index of the table: planning.
 *
 * SELECT columns FROM table WHERE quals ORDER BY score, id LIMIT n OFFSET m:
 * a B-tree of the table has the rows in that order, but has to be read from
 * its beginning.  The board knows no rows, but the score at each place.  So
 * the node has the board tell the score at which the page begins and how many
 * rows come before that score, begins to read the index there, and leaves out
 * only those rows before the page that tie with its first one.
 *
 * The rest is as in page.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "planner/answer.h"
#include "planner/member_index.h"
#include "planner/page_index.h"
#include "planner/page_index_exec.h"
#include "planner/page_limit.h"
#include "util/compat.h"

/* A board that has the rows of a query, and an index that has their order. */
typedef struct Match
{
	const LbSource *source;
	const LbDefinition *defn;
	LbQuals		quals;
	const IndexOptInfo *index;
	int			column;			/* of the index: the score */
	bool		backward;		/* the index is read backward */
	bool		reverse;		/* the board's order */
} Match;


/* ----------------------------------------------------------------
 *		The index
 * ----------------------------------------------------------------
 */

/* Whether a column of an index is one of the board, in its type's order. */
static bool
is_column(const Match *match, const IndexOptInfo *index, int i, int column)
{
	Oid			type = index->opcintype[i];

	return lb_is_index_column(match->source, match->defn, column, index, i) &&
		IsBinaryCoercible(match->defn->columns[column].type->oid, type) &&
		index->opfamily[i] ==
		lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/*
 * Whether an index leads to the rows of the board at a score, in the order of
 * the query.
 */
static bool
match_index(Match *match, const IndexOptInfo *index)
{
	const LbDefinition *defn = match->defn;
	PlannerInfo *root = match->source->root;
	int			column = defn->nboard;

	if (index->relam != BTREE_AM_OID || index->indpred != NIL ||
		index->hypothetical || index->nkeycolumns <= column ||
		!is_column(match, index, column, 0))
		return false;
	for (int i = 0; i < defn->nboard; i++)
	{
		if (!is_column(match, index, i, lb_nkey_columns(defn) + i))
			return false;
	}
	match->index = index;
	match->column = column;
	for (int backward = 0; backward < 2; backward++)
	{
		ScanDirection direction = backward ? BackwardScanDirection :
			ForwardScanDirection;
		bool		descending = index->reverse_sort[column] != (bool) backward;

		match->backward = backward;
		match->reverse = descending != defn->columns[0].descending;
		if (pathkeys_contained_in(root->sort_pathkeys,
								  build_index_pathkeys(root, unconstify(IndexOptInfo *, index), direction)))
			return true;
	}
	return false;
}

static bool
find_index(Match *match)
{
	ListCell   *lc;

	foreach(lc, match->source->rel->indexlist)
	{
		if (match_index(match, lfirst_node(IndexOptInfo, lc)))
			return true;
	}
	return false;
}

static bool
match_board(Match *match, const LbSource *source, LbDefinition *defn)
{
	bool		checks;

	memset(match, 0, sizeof(Match));
	match->source = source;
	match->defn = defn;
	if (!lb_may_be_page(source, defn, &checks))
		return false;

	/* Without OFFSET the index alone does as well. */
	if (source->root->parse->limitOffset == NULL)
		return lb_miss(source, defn, LB_MISS_COST);
	if (checks ||
		source->root->parse->limitOption == LIMIT_OPTION_WITH_TIES)
		return lb_miss(source, defn, LB_MISS_COUNTS);
	if (!lb_sort_quals(source, defn, source->rel->baserestrictinfo,
					   &match->quals, NULL) ||
		!lb_quals_imply_board(source, defn, &match->quals, false))
		return false;

	/* Of rows of one score the counts know no order. */
	if (match->quals.nequal > 0 || !find_index(match))
		return lb_miss(source, defn, LB_MISS_COUNTS);
	return true;
}


/* ----------------------------------------------------------------
 *		Path and plan
 * ----------------------------------------------------------------
 */

static Plan *
plan_page_index(PlannerInfo *root, RelOptInfo *rel, struct CustomPath *path,
				List *tlist, List *clauses, List *custom_plans)
{
	return lb_plan_page(path, tlist, custom_plans, &lb_page_index_methods);
}

static const CustomPathMethods path_methods = {
	.CustomName = "Leaderboard Index Page",
	.PlanCustomPath = plan_page_index
};

/* How many rows tie with one, which are as many as a score has. */
static double
tied_rows(const Match *match)
{
	const LbSource *source = match->source;
	double		rows = Max(source->rel->rows, 1.0);
	List	   *scores = list_make1(lb_column_expr(source, match->defn, 0));

	return rows / Max(estimate_num_groups(source->root, scores, rows, NULL,
										  NULL), 1.0);
}

/*
 * The cost of reading rows by the index, which also has those that ranked_if
 * leaves out.
 */
static Cost
cost_of_rows(const Match *match, double rows)
{
	const LbSource *source = match->source;
	double		all = Max(source->rel->rows, 1.0);
	double		ranked = match->quals.ranked_if == NULL ? 1.0 :
		clause_selectivity(source->root, (Node *) match->quals.ranked_if, 0,
						   JOIN_INNER, NULL);

	return Min(rows / all, 1.0) *
		lb_cost_fetches(source, match->index->indexoid,
						all / Max(ranked, 1.0e-10));
}

/*
 * Descents to the ends of the range and to the offset, one of the index, and
 * on average half of the rows that tie with the first one.
 */
static void
set_cost(const Match *match, const FinalPathExtraData *limit,
		 CustomPath *path)
{
	const LbSource *source = match->source;
	const PathTarget *target = path->path.pathtarget;
	double		rows = lb_page_limit_rows(limit, source->rel->rows);
	double		steps = 1 + log2(Max(source->rel->tuples, 1.0) + 1);
	QualCost	operands;

	cost_qual_eval(&operands, match->quals.operands, source->root);
	path->path.rows = rows;
	path->path.startup_cost = target->cost.startup +
		operands.startup + operands.per_tuple +
		5 * cpu_operator_cost * steps +
		cost_of_rows(match, tied_rows(match) / 2);
	path->path.total_cost = path->path.startup_cost +
		cost_of_rows(match, rows) +
		rows * (cpu_tuple_cost + target->cost.per_tuple);
}

/*
 * The number of rows that cost as much as the child: more may tie with the
 * first one than do on average, and the number of the page's own may have been
 * guessed.
 */
static int
find_most(const Match *match, const Path *child)
{
	double		all = Max(match->source->rel->rows, 1.0);

	return (int) Min(PG_INT32_MAX,
					 ceil(child->total_cost / cost_of_rows(match, all) * all));
}

/*
 * Whether rows that tie with the first one satisfy the quals if that does, so
 * that no look at them is needed.
 */
static bool
ties_satisfy(const Match *match)
{
	const LbDefinition *defn = match->defn;
	Bitmapset  *columns = NULL;
	Bitmapset  *known;

	pull_varattnos((Node *) extract_actual_clauses(match->source->rel->baserestrictinfo, false),
				   match->source->rel->relid, &columns);
	if (lb_has_expressions(defn))
		return bms_is_empty(columns);
	known = bms_make_singleton(defn->columns[0].attno -
							   FirstLowInvalidHeapAttributeNumber);
	for (int i = 0; i < defn->nboard; i++)
		known = bms_add_member(known, lb_board_columns(defn)[i].attno -
							   FirstLowInvalidHeapAttributeNumber);
	return bms_is_subset(columns, known);
}

bool
lb_add_page_index_path(const LbSource *source, LbDefinition *defn,
					   const FinalPathExtraData *limit, RelOptInfo *final)
{
	Match		match;
	CustomPath *path;
	Path	   *child = lb_cheapest_path(final);
	List	   *exprs;
	List	   *private;

	if (!match_board(&match, source, defn))
		return false;
	exprs = lb_answer_exprs(&match.quals);
	exprs = lappend(exprs, copyObject(match.quals.operands));
	exprs = lappend(exprs, copyObject(extract_actual_clauses(source->rel->baserestrictinfo, false)));
	exprs = list_concat(exprs, lb_page_limit_exprs(source->root));
	private = lb_answer_private(defn, &match.quals);
	private = lappend(private, match.quals.conds);
	private = lappend(private,
					  list_make5_int((int) match.index->indexoid, match.column,
									 match.backward, match.reverse,
									 find_most(&match, child)));
	private = lappend(private, ties_satisfy(&match) ? list_make1_int(true) : NIL);
	path = lb_make_page_path(source, final, &path_methods, private, exprs);
	set_cost(&match, limit, path);
	lb_take_page_path(source, defn, final, path);
	return true;
}
