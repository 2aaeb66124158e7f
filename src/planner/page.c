/*-------------------------------------------------------------------------
 *
 * page.c
 *	  Pages of a board: recognizing and planning.
 *
 * A query SELECT columns FROM table WHERE quals ORDER BY columns LIMIT n
 * OFFSET m wants the rows of a few places.  If the quals limit a range of a
 * board's order, and the query sorts by the first columns of that order, in
 * its directions or in all of the opposite ones, the index tells the members
 * at these places without looking at those before them.  The path is a custom
 * scan that takes the place of the Limit node and of all below it.
 *
 * The query's sort is taken from its pathkeys, which lack columns that a qual
 * makes equal to an operand.  Rows that the query's order leaves open come in
 * the board's order.
 *
 * As for aggregates, the path replaces the list of the others, which
 * add_path() would free.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "planner/answer.h"
#include "planner/member_index.h"
#include "planner/page.h"
#include "planner/page_exec.h"
#include "planner/page_index.h"
#include "planner/page_limit.h"
#include "util/compat.h"

/* A board that has the rows of a query in its order. */
typedef struct Match
{
	const LbSource *source;
	const LbDefinition *defn;
	LbQuals		quals;
	Oid			index;			/* finds a member's row */
	bool		checks;			/* see lb_may_be_page() */
	bool		reverse;		/* the board's order */
	int			ncolumns;		/* columns of the key that are equal in rows
								 * that the query's order leaves open */
} Match;


/* ----------------------------------------------------------------
 *		Order
 * ----------------------------------------------------------------
 */

/* The column of the board that a pathkey sorts by; -1 if none. */
static int
sorted_column(const Match *match, const PathKey *key)
{
	ListCell   *lc;

	foreach(lc, key->pk_eclass->ec_members)
	{
		const EquivalenceMember *member = (const EquivalenceMember *) lfirst(lc);
		LbUse		use;

		if (!member->em_is_child &&
			lb_find_use(match->source, match->defn, (Node *) member->em_expr,
						&use) &&
			!use.cast &&
			lookup_type_cache(use.type, TYPECACHE_BTREE_OPFAMILY)->btree_opf ==
			key->pk_opfamily)
			return use.column;
	}
	return -1;
}

/* Texts of a key are in the order of their bytes. */
static bool
collates_as_key(const LbColumn *column, const PathKey *key)
{
	return column->type->words != LB_TEXT ||
		LB_COLLATES_BYTES(key->pk_eclass->ec_collation);
}

/*
 * Whether the query sorts by columns of the key, one after the other, behind
 * those that equal an operand.  What it sorts by behind the last column of the
 * key does not matter.
 */
static bool
match_order(Match *match)
{
	const LbDefinition *defn = match->defn;
	int			fixed = match->quals.nequal;
	int			next = fixed;
	ListCell   *lc;

	foreach(lc, match->source->root->sort_pathkeys)
	{
		const PathKey *key = lfirst_node(PathKey, lc);
		int			column = sorted_column(match, key);
		bool		reverse;

		if (next == lb_nkey_columns(defn))
			break;
		if (column >= 0 && column < next)
			continue;
		if (column != next)
			return false;
		if (!collates_as_key(&defn->columns[column], key))
			return lb_miss(match->source, defn, LB_MISS_TEXT);
		reverse = (LB_PATHKEY_STRATEGY(key) == BTGreaterStrategyNumber) !=
			defn->columns[column].descending;
		if (next > fixed && reverse != match->reverse)
			return false;
		match->reverse = reverse;
		next++;
	}
	match->ncolumns = next;
	return true;
}

static bool
match_board(Match *match, const LbSource *source, LbDefinition *defn)
{
	const Query *query = source->root->parse;

	memset(match, 0, sizeof(Match));
	match->source = source;
	match->defn = defn;
	if (!lb_may_be_page(source, defn, &match->checks))
		return false;
	if (!lb_sort_quals(source, defn, source->rel->baserestrictinfo,
					   &match->quals, NULL) ||
		!lb_quals_imply_board(source, defn, &match->quals, false))
		return false;
	if (!match_order(match))
		return lb_miss(source, defn, LB_MISS_ORDER);

	/* The rows that tie with the last one begin with the same words. */
	if (query->limitOption == LIMIT_OPTION_WITH_TIES &&
		match->ncolumns > 1 && lb_shape_varies(&defn->shape))
		return lb_miss(source, defn, LB_MISS_TEXT);
	match->index = lb_member_index(source, defn);
	return OidIsValid(match->index) ||
		lb_miss(source, defn, LB_MISS_MEMBER_INDEX);
}


/* ----------------------------------------------------------------
 *		Path and plan
 * ----------------------------------------------------------------
 */

static Plan *
plan_page(PlannerInfo *root, RelOptInfo *rel, struct CustomPath *path,
		  List *tlist, List *clauses, List *custom_plans)
{
	return lb_plan_page(path, tlist, custom_plans, &lb_page_methods);
}

static const CustomPathMethods path_methods = {
	.CustomName = "Leaderboard Page",
	.PlanCustomPath = plan_page
};

/* The cost of looking up all rows of the range. */
static Cost
cost_of_range(const Match *match)
{
	return lb_cost_fetches(match->source, match->index,
						   Max(match->source->rel->rows, 1.0));
}

/*
 * Descents to the ends of the range and to the offset, and a look-up for each
 * row.  A row's share of the cost of all is what a Limit node takes for a row
 * of an index scan.
 */
static void
set_cost(const Match *match, const FinalPathExtraData *limit,
		 CustomPath *path)
{
	const LbSource *source = match->source;
	const PathTarget *target = path->path.pathtarget;
	double		rows = lb_page_limit_rows(limit, source->rel->rows);
	double		share = rows / Max(source->rel->rows, 1.0);
	double		steps = 1 + log2(Max(source->rel->tuples, 1.0) + 1);
	QualCost	operands;

	cost_qual_eval(&operands, match->quals.operands, source->root);
	path->path.rows = rows;
	path->path.startup_cost = target->cost.startup +
		operands.startup + operands.per_tuple +
		4 * cpu_operator_cost * steps +
		share * cost_of_range(match);
	path->path.total_cost = path->path.startup_cost +
		rows * (cpu_tuple_cost + target->cost.per_tuple);
}

/*
 * The number of rows that cost as much as the child, if the page may have
 * more: if its number of rows was guessed.
 */
static int
find_most(const Match *match, const FinalPathExtraData *limit,
		  const Path *child)
{
	double		share = child->total_cost / cost_of_range(match);

	if (limit->count_est >= 0)
		return 0;
	return (int) Min(PG_INT32_MAX,
					 ceil(share * Max(match->source->rel->rows, 1.0)));
}

static void
add_path_for(const Match *match, const FinalPathExtraData *limit,
			 RelOptInfo *final)
{
	const LbSource *source = match->source;
	const Query *query = source->root->parse;
	CustomPath *path;
	Path	   *child = lb_cheapest_path(final);
	List	   *exprs = lb_answer_exprs(&match->quals);
	List	   *private = lb_answer_private(match->defn, &match->quals);
	int			ties = query->limitOption == LIMIT_OPTION_WITH_TIES ?
		match->ncolumns : 0;

	exprs = lappend(exprs, copyObject(match->quals.operands));
	exprs = list_concat(exprs, lb_page_limit_exprs(source->root));
	private = lappend(private, match->quals.conds);
	private = lappend(private,
					  list_make5_int((int) match->index, match->reverse, ties,
									 find_most(match, limit, child),
									 (int) Min(PG_INT32_MAX, source->rel->rows)));
	private = lappend(private, match->checks ? list_make1_int(true) : NIL);
	path = lb_make_page_path(source, final, &path_methods, private, exprs);
	set_cost(match, limit, path);
	lb_take_page_path(source, match->defn, final, path);
}


/* ----------------------------------------------------------------
 *		Query
 * ----------------------------------------------------------------
 */

void
lb_add_page_path(PlannerInfo *root, RelOptInfo *final,
				 const FinalPathExtraData *limit)
{
	RelOptInfo *rel;
	LbSource	source;
	Match		match;

	if (!limit->limit_needed || final->pathlist == NIL ||
		(rel = lb_only_rel(root)) == NULL || IS_DUMMY_REL(rel) ||
		rel->rtekind != RTE_RELATION)
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
		if (lb_has_members(source.defns[i]) &&
			match_board(&match, &source, source.defns[i]))
		{
			add_path_for(&match, limit, final);
			return;
		}
	}

	/* Then those that need an index of the table. */
	for (int i = 0; i < source.ndefns; i++)
	{
		if (!lb_has_members(source.defns[i]) &&
			lb_add_page_index_path(&source, source.defns[i], limit, final))
			return;
	}
}
