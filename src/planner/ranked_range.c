/*-------------------------------------------------------------------------
 *
 * ranked_range.c
 *	  Rows of a ranked subquery, by their ranks.
 *
 * "rank <= 10" or "rn BETWEEN 91 AND 100" are places of the board's order, or of its
 * reverse.  The node takes the members there, and finds their rows by the table's unique
 * index on the member.  It evaluates all quals of the query again.  So the places may
 * be more than the quals ask for: a tie can begin before the range.
 *
 * Rows come in the order of the places.  That is the order of the query above if this
 * sorts by ranks, or by columns of the key.  If it also has a LIMIT, the first rows are
 * a range of ranks, too.  So are the first ones behind a lower bound, if there are no
 * other quals and no ties, some of which the bound may exclude.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "planner/fetch.h"
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
	bounds->range = list_make2_int(list_nth_int(what, LB_RANK_REVERSE),
								   kind == LB_RANK_RANK ? ncolumns : 0);
	bounds->low = 1;
	bounds->high = Max(match->source.rel->tuples, 1);
	foreach(lc, match->rel->baserestrictinfo)
		add_bound(match, bounds,
				  (OpExpr *) lfirst_node(RestrictInfo, lc)->clause);
	foreach(lc, match->run)
		add_bound(match, bounds, (OpExpr *) lfirst(lc));
}

/*
 * The window function whose bounds leave the fewest rows.  Returns false if none has
 * bounds.
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
 * Whether rows that come in the board's order, or its reverse, and that equal in the
 * first *n columns of the key, are ordered by a column of the subquery.  Adds to *n
 * the columns in which rows equal if they equal in that one, too.
 */
static bool
is_ordered_by(const LbRanked *match, bool reverse, Var *column,
			  const PathKey *key, int *n)
{
	const LbDefinition *defn = match->defn;
	int			window = lb_ranked_window(match, (Node *) column);
	bool		down = LB_PATHKEY_STRATEGY(key) == BTGreaterStrategyNumber;
	int			i;

	if (key->pk_opfamily !=
		lookup_type_cache(column->vartype, TYPECACHE_BTREE_OPFAMILY)->btree_opf)
		return false;
	if (window >= 0)
	{
		const List *func = list_nth(match->funcs, window);
		int			ncolumns = list_nth_int(func, LB_RANK_NCOLUMNS);

		if (list_nth_int(func, LB_RANK_KIND) == LB_RANK_ROW_NUMBER)
			ncolumns = lb_nkey_columns(defn);
		*n = Max(*n, ncolumns);
		return ncolumns == 0 ||
			down == (reverse != (bool) list_nth_int(func, LB_RANK_REVERSE));
	}
	i = lb_key_column(defn, lb_ranked_table_column(match, (Node *) column));
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
		bms_equal(ec->ec_relids, match->rel->relids))
		return true;
	foreach(lc, ec->ec_has_volatile ? NIL : ec->ec_members)
	{
		EquivalenceMember *member = lfirst_node(EquivalenceMember, lc);

		if (IsA(member->em_expr, Var) &&
			((Var *) member->em_expr)->varno == (int) match->rel->relid)
			return is_ordered_by(match, reverse, (Var *) member->em_expr,
								 key, n);
	}
	return false;
}

/* Whether the board's order, or its reverse, is that of the query above. */
static bool
follows_query(const LbRanked *match, bool reverse)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, match->root->query_pathkeys)
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
 * Whether the query above needs only as many rows as LIMIT and OFFSET say, of those
 * that satisfy its quals.
 */
static bool
has_limit(const LbRanked *match)
{
	const PlannerInfo *root = match->root;
	const Query *query = root->parse;

	return query->limitCount != NULL &&
		query->limitOption == LIMIT_OPTION_COUNT && !query->hasAggs &&
		!query->hasWindowFuncs && !query->hasTargetSRFs &&
		query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->distinctClause == NIL &&
		query->setOperations == NULL &&
		bms_membership(root->all_baserels) == BMS_SINGLETON &&
		lb_is_operand(&match->source, query->limitCount) &&
		lb_is_operand(&match->source, query->limitOffset);
}

static int
count_quals(const LbRanked *match)
{
	return list_length(match->rel->baserestrictinfo) +
		list_length(match->run);
}

/* Of the rows in a range, take the first ones, as LIMIT and OFFSET say. */
static void
add_limit(const LbRanked *match, LbLookup *lookup)
{
	const PlannerInfo *root = match->root;

	lookup->limit = list_make2(root->parse->limitCount,
							   root->parse->limitOffset);
	lookup->rows = Min(lookup->rows, root->limit_tuples > 0 ?
					   root->limit_tuples : UNKNOWN_ROWS);
}

/* Find the first rows of the board's order, or of its reverse. */
static bool
find_first_rows(const LbRanked *match, LbLookup *lookup)
{
	bool		reverse = false;

	if (count_quals(match) > 0 || !has_limit(match))
		return false;
	while (!follows_query(match, reverse))
	{
		if (reverse)
			return false;
		reverse = true;
	}
	lookup->range = list_make2_int(reverse, 0);
	lookup->rows = match->source.rel->tuples;
	add_limit(match, lookup);
	return true;
}

/* Find the rows within bounds of ranks, or the first ones. */
static void
find_bounded_rows(const LbRanked *match, const Bounds *bounds,
				  LbLookup *lookup)
{
	bool		reverse = list_nth_int(bounds->range, LB_RANGE_REVERSE);
	bool		ties = list_nth_int(bounds->range, LB_RANGE_TIES) > 0;

	lookup->range = bounds->range;
	lookup->bounds = bounds->operands;
	lookup->clauses = bounds->clauses;
	lookup->rows = bounds->high - bounds->low + 1;
	if (!ties && list_length(bounds->clauses) == count_quals(match) &&
		has_limit(match) && follows_query(match, reverse))
		add_limit(match, lookup);
}

bool
lb_find_rank_range(const LbRanked *match, LbLookup *lookup)
{
	Bounds		bounds = {0};

	memset(lookup, 0, sizeof(LbLookup));
	lookup->index = lb_member_index(&match->source, match->defn);
	if (!OidIsValid(lookup->index) || match->value != NULL)
		return false;
	if (find_best_bounds(match, &bounds))
		find_bounded_rows(match, &bounds, lookup);
	else if (!find_first_rows(match, lookup))
		return false;
	if (follows_query(match, linitial_int(lookup->range)))
		lookup->pathkeys = match->root->query_pathkeys;
	lookup->rows = clamp_row_est(Min(lookup->rows, match->source.rel->tuples));
	lookup->cost = lb_cost_fetches(&match->source, lookup->index, lookup->rows);
	return true;
}
