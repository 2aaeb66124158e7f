/*-------------------------------------------------------------------------
 *
 * ranked_range.c
 *	  Rows of a ranked subquery, by their ranks.
 *
 * "rank <= 10" or "rn BETWEEN 91 AND 100" are places of the board's order, or
 * of its reverse.  The node takes the members there, and finds their rows by
 * the table's unique index on the member.  It evaluates all quals of the query
 * again.  So the places may be more than the quals ask for: a tie can begin
 * before the range.
 *
 * Rows come in the order of the places.  That is the order of the query above
 * if this sorts by ranks, or by columns of the key.  If it has no other quals,
 * those that LIMIT and OFFSET leave are places, too.  They are counted from
 * the end of a tie: that of the last rank that a lower bound excludes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "planner/member_index.h"
#include "planner/page_limit.h"
#include "planner/ranked_count.h"
#include "planner/ranked_exec.h"
#include "planner/ranked_range.h"
#include "util/compat.h"

/* Rows that a range is taken for if its ends are known only at execution. */
#define UNKNOWN_ROWS 20

/* What the bounds of one window function are. */
typedef struct Bounds
{
	int			func;
	List	   *range;			/* see ranked_exec.h */
	List	   *operands;
	List	   *clauses;
	double		low;			/* estimated */
	double		high;
} Bounds;

/* ----------------------------------------------------------------
 *		Bounds
 * ----------------------------------------------------------------
 */

/* The value of a constant; false if it is not known. */
static bool
known_rank(const Expr *operand, double *value)
{
	const Const *constant = (const Const *) operand;

	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	*value = lb_integer_of(constant->consttype, constant->constvalue);
	return true;
}

static void
estimate_bound(Bounds *bounds, int strategy, const Expr *operand)
{
	double		value;
	bool		known = known_rank(operand, &value);
	bool		upper = strategy <= BTEqualStrategyNumber;
	bool		lower = strategy >= BTEqualStrategyNumber;

	if (known && lower)
		bounds->low = Max(bounds->low, value);
	if (known && upper)
		bounds->high = Min(bounds->high, value);

	/* As far after the first rank, or after a lower bound. */
	if (!known && upper)
		bounds->high = Min(bounds->high, bounds->low +
						   (lower ? 0 : UNKNOWN_ROWS - 1));
}

/* Add a clause, if it bounds the window function. */
static void
add_bound(const LbRanked *match, Bounds *bounds, const OpExpr *op)
{
	Oid			opno;
	Node	   *operand;
	int			strategy;
	Oid			left;
	Oid			right;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return;
	opno = op->opno;
	operand = lsecond(op->args);
	if (lb_ranked_window(match, linitial(op->args)) != bounds->func)
	{
		if (lb_ranked_window(match, operand) != bounds->func)
			return;
		opno = get_commutator(opno);
		operand = linitial(op->args);
	}
	if (!op_in_opfamily(opno, INTEGER_BTREE_FAM_OID) ||
		!lb_is_operand(&match->source, operand))
		return;
	get_op_opfamily_properties(opno, INTEGER_BTREE_FAM_OID, false, &strategy,
							   &left, &right);
	if (left != INT8OID || !lb_is_integer(right))
		return;
	bounds->range = lappend_int(bounds->range, strategy);
	bounds->range = lappend_int(bounds->range, right);
	bounds->operands = lappend(bounds->operands, operand);
	bounds->clauses = lappend(bounds->clauses, (OpExpr *) op);
	estimate_bound(bounds, strategy, (Expr *) operand);
}

/* The bounds of a window function, if it counts places, or ties of them. */
static void
find_bounds(const LbRanked *match, int func, Bounds *bounds)
{
	const List *what = list_nth(match->funcs, func);
	int			kind = list_nth_int(what, LB_RANK_KIND);
	int			ncolumns = list_nth_int(what, LB_RANK_NCOLUMNS);
	ListCell   *lc;

	memset(bounds, 0, sizeof(Bounds));
	if (kind != LB_RANK_ROW_NUMBER && (kind != LB_RANK_RANK || ncolumns == 0))
		return;
	if (ncolumns == lb_nkey_columns(match->defn))
		kind = LB_RANK_ROW_NUMBER;
	bounds->func = func;
	bounds->range = list_make3_int(list_nth_int(what, LB_RANK_REVERSE),
								   kind == LB_RANK_RANK ? ncolumns : 0, 0);
	bounds->low = 1;
	bounds->high = Max(match->source.rel->tuples, 1);
	foreach(lc, match->rel->baserestrictinfo)
		add_bound(match, bounds,
				  (OpExpr *) lfirst_node(RestrictInfo, lc)->clause);
	foreach(lc, match->run)
		add_bound(match, bounds, (OpExpr *) lfirst(lc));
}

/*
 * The window function whose bounds leave the fewest rows.  Returns false if
 * none has bounds.
 */
static bool
find_best_bounds(const LbRanked *match, Bounds *best)
{
	Bounds		bounds;

	best->operands = NIL;
	for (int i = 0; i < list_length(match->funcs); i++)
	{
		find_bounds(match, i, &bounds);
		if (bounds.operands != NIL &&
			(best->operands == NIL ||
			 bounds.high - bounds.low < best->high - best->low))
			*best = bounds;
	}
	return best->operands != NIL;
}


/* ----------------------------------------------------------------
 *		Order
 * ----------------------------------------------------------------
 */

/*
 * Whether rows that come in the board's order, or its reverse, and that equal
 * in the first *n columns of the key, are ordered by a column of the
 * subquery.  Adds to *n the columns in which rows equal if they equal in that
 * one, too.
 */
static bool
is_ordered_by(const LbRanked *match, bool reverse, Node *column,
			  const PathKey *key, int *n)
{
	const LbDefinition *defn = match->defn;
	int			window = lb_ranked_window(match, column);
	bool		down = LB_PATHKEY_STRATEGY(key) == BTGreaterStrategyNumber;
	int			i;

	if (key->pk_opfamily !=
		lookup_type_cache(exprType(column), TYPECACHE_BTREE_OPFAMILY)->btree_opf)
		return false;
	if (window >= 0)
	{
		const List *func = list_nth(match->funcs, window);
		int			kind = list_nth_int(func, LB_RANK_KIND);
		int			ncolumns = lb_counts_places(kind) ?
			lb_nkey_columns(defn) : list_nth_int(func, LB_RANK_NCOLUMNS);

		if (kind != LB_RANK_NTILE)
			*n = Max(*n, ncolumns);
		return ncolumns == 0 ||
			down == (reverse != (bool) list_nth_int(func, LB_RANK_REVERSE));
	}
	i = lb_key_column(defn, lb_ranked_table_column(match, column));
	if (i < 0 || i > *n ||
		(defn->columns[i].type->words == LB_TEXT &&
		 !LB_COLLATES_BYTES(key->pk_eclass->ec_collation)))
		return false;
	if (i < *n)
		return true;
	*n += 1;
	return down == (reverse != defn->columns[i].descending);
}

/* Whether the same is true for a sort key of the query above. */
static bool
follows_key(const LbRanked *match, bool reverse, const PathKey *key, int *n)
{
	const EquivalenceClass *ec = key->pk_eclass;
	ListCell   *lc;

	/* No two rows have the same key, but a join may repeat a row. */
	if (*n == lb_nkey_columns(match->defn) &&
		bms_is_subset(ec->ec_relids, match->rel->relids))
		return true;
	foreach(lc, ec->ec_has_volatile ? NIL : ec->ec_members)
	{
		Node	   *expr = (Node *) lfirst_node(EquivalenceMember, lc)->em_expr;

		expr = lb_strip_relabel(expr);
		if (lb_is_ranked_column(match, expr))
			return is_ordered_by(match, reverse, expr, key, n);
	}
	return false;
}

/* Whether the board's order, or its reverse, is that of some pathkeys. */
static bool
follows(const LbRanked *match, bool reverse, const List *pathkeys)
{
	int			n = match->quals.nequal;
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		if (!follows_key(match, reverse, lfirst_node(PathKey, lc), &n))
			return false;
	}
	return true;
}


/* ----------------------------------------------------------------
 *		Rows
 * ----------------------------------------------------------------
 */

/*
 * The rows of a range are found by the unique index on the member.  Counts do
 * not say whose they are.
 */
static bool
begin_lookup(const LbRanked *match, LbLookup *lookup)
{
	memset(lookup, 0, sizeof(LbLookup));
	if (!lb_has_members(match->defn))
		return lb_miss(&match->source, match->defn, LB_MISS_COUNTS);
	lookup->index = lb_member_index(&match->source, match->defn);
	return OidIsValid(lookup->index) && match->values == NIL;
}

static void
take_bounds(const Bounds *bounds, LbLookup *lookup)
{
	lookup->range = bounds->range;
	lookup->bounds = bounds->operands;
	lookup->clauses = bounds->clauses;
	lookup->rows = bounds->high - bounds->low + 1;
}

static void
estimate_lookup(const LbRanked *match, double rows, LbLookup *lookup)
{
	lookup->rows = clamp_row_est(Min(rows, match->source.rel->tuples));
	lookup->cost = lb_cost_fetches(&match->source, lookup->index,
								   lookup->rows);
}

bool
lb_find_rank_range(const LbRanked *match, LbLookup *lookup)
{
	List	   *pathkeys = match->root->query_pathkeys;
	Bounds		bounds = {0};

	if (!begin_lookup(match, lookup) || !find_best_bounds(match, &bounds))
		return false;
	take_bounds(&bounds, lookup);
	if (follows(match, linitial_int(lookup->range), pathkeys))
		lookup->pathkeys = pathkeys;
	estimate_lookup(match, lookup->rows, lookup);
	return true;
}

/*
 * With ties, the rows behind lower bounds begin with a tie.  Where those
 * within an upper bound end is known only when the node finds them.
 */
static bool
count_from_tie(Bounds *bounds)
{
	ListCell   *ties = list_nth_cell(bounds->range, LB_RANGE_TIES);

	for (int i = LB_RANGE_BOUNDS; i < list_length(bounds->range); i += 2)
	{
		if (list_nth_int(bounds->range, i) <= BTEqualStrategyNumber)
			return lfirst_int(ties) == 0;
	}
	lfirst_int(list_nth_cell(bounds->range, LB_RANGE_BEHIND_TIES)) =
		lfirst_int(ties);
	lfirst_int(ties) = 0;
	return true;
}

/* The rows within bounds, if all quals are these. */
static bool
page_of_bounds(const LbRanked *match, int nquals, const List *pathkeys,
			   LbLookup *lookup)
{
	Bounds		bounds = {0};

	if (!find_best_bounds(match, &bounds) ||
		list_length(bounds.clauses) != nquals || !count_from_tie(&bounds))
		return false;
	take_bounds(&bounds, lookup);
	return follows(match, linitial_int(lookup->range), pathkeys);
}

/* All rows, in the board's order or in its reverse. */
static bool
page_of_all(const LbRanked *match, const List *pathkeys, LbLookup *lookup)
{
	bool		reverse = !follows(match, false, pathkeys);

	lookup->range = list_make3_int(reverse, 0, 0);
	lookup->rows = match->source.rel->rows;
	return !reverse || follows(match, true, pathkeys);
}

bool
lb_find_rank_page(const LbRanked *match, List *pathkeys, LbLookup *lookup)
{
	int			nquals = match->flat ? 0 :
		list_length(match->rel->baserestrictinfo) + list_length(match->run) -
		list_length(lb_ranked_one_time(match));

	if (!begin_lookup(match, lookup) ||
		!(nquals == 0 ? page_of_all(match, pathkeys, lookup) :
		  page_of_bounds(match, nquals, pathkeys, lookup)))
		return false;
	lookup->pathkeys = pathkeys;
	return true;
}

void
lb_page_limit_rank_page(const LbRanked *match, const FinalPathExtraData *limit,
						LbLookup *lookup)
{
	estimate_lookup(match, lb_page_limit_rows(limit, lookup->rows), lookup);
}
