/*-------------------------------------------------------------------------
 *
 * ranked_lookup.c
 *	  Rows of a ranked subquery, by an index of its table and quals.
 *
 * Quals of the query above find rows by a B-tree if its first columns equal
 * operands: constants, parameters, elements of an array, or columns of another
 * table of the query.  The planner has moved a qual on the board column to the
 * subquery, if that is what its windows are partitioned by, so the board
 * column counts as well.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "planner/member_index.h"
#include "planner/ranked_lookup.h"

/* A clause that says which values a column has. */
typedef struct Equality
{
	Node	   *column;
	Node	   *operand;
	Oid			op;				/* with the column on its left */
	Oid			collation;
	bool		is_array;
} Equality;

/* Whether an expression does not depend on the row that it is to find. */
static bool
is_known(const LbRanked *match, Node *expr)
{
	return !bms_is_member(match->rel->relid, pull_varnos(match->root, expr)) &&
		!contain_volatile_functions(expr) && !contain_subplans(expr);
}

/* Split a clause in a column and what it is compared with. */
static bool
split_clause(const LbRanked *match, const Expr *clause, Equality *equality)
{
	const OpExpr *op = (const OpExpr *) clause;
	const ScalarArrayOpExpr *array = (const ScalarArrayOpExpr *) clause;

	equality->is_array = IsA(clause, ScalarArrayOpExpr);
	if (equality->is_array && array->useOr)
	{
		equality->column = linitial(array->args);
		equality->operand = lsecond(array->args);
		equality->op = array->opno;
		equality->collation = array->inputcollid;
		return true;
	}
	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return false;
	equality->column = linitial(op->args);
	equality->operand = lsecond(op->args);
	equality->op = op->opno;
	equality->collation = op->inputcollid;
	if (lb_ranked_table_column(match, equality->column) == 0)
	{
		equality->column = lsecond(op->args);
		equality->operand = linitial(op->args);
		equality->op = get_commutator(op->opno);
	}
	return OidIsValid(equality->op);
}

/*
 * The place of a column of the subquery among those that the node returns,
 * from 1, or 0.
 */
static int
find_column(const LbRanked *match, Node *column)
{
	const List *exprs = match->rel->reltarget->exprs;

	for (int i = 0; i < list_length(exprs); i++)
	{
		if (equal(list_nth(exprs, i), lb_strip_relabel(column)))
			return i + 1;
	}
	return 0;
}

/*
 * Take a clause as a key of the index, if it says which values the index's
 * next column has.
 */
static bool
take_key(const LbRanked *match, LbLookup *lookup, const IndexOptInfo *index,
		 const Equality *equality)
{
	int			column = list_length(lookup->keys);
	Oid			collation = index->indexcollations[column];
	int			strategy;
	Oid			left;
	Oid			right;

	if ((OidIsValid(collation) && collation != equality->collation) ||
		!op_in_opfamily(equality->op, index->opfamily[column]))
		return false;
	get_op_opfamily_properties(equality->op, index->opfamily[column], false,
							   &strategy, &left, &right);
	if (strategy != BTEqualStrategyNumber)
		return false;
	lookup->operands = lappend(lookup->operands, equality->operand);
	lookup->keys = lappend(lookup->keys,
						   list_make5_int((int) right, (int) equality->collation,
										  (int) equality->op, equality->is_array,
										  find_column(match, equality->column)));
	return true;
}

static bool
take_info(const LbRanked *match, LbLookup *lookup, const IndexOptInfo *index,
		  RestrictInfo *info)
{
	int			attno = index->indexkeys[list_length(lookup->keys)];
	Equality	equality;

	if (attno == InvalidAttrNumber ||
		!split_clause(match, info->clause, &equality) ||
		lb_ranked_table_column(match, equality.column) != attno ||
		!is_known(match, equality.operand) ||
		!take_key(match, lookup, index, &equality))
		return false;
	lookup->has_array = lookup->has_array || equality.is_array;
	lookup->infos = lappend(lookup->infos, info);
	lookup->clauses = lappend(lookup->clauses, info->clause);
	return true;
}

/* The same with the clause in the subquery on the board column. */
static bool
take_board(const LbRanked *match, LbLookup *lookup, const IndexOptInfo *index)
{
	AttrNumber	attno = index->indexkeys[list_length(lookup->keys)];
	int			place = attno == InvalidAttrNumber ? -1 :
		lb_board_place(match->defn, attno);
	const OpExpr *op = place < 0 ? NULL :
		(const OpExpr *) match->quals.boards[place];
	Equality	equality;

	if (op == NULL || match->quals.values[place] == NULL || !IsA(op, OpExpr))
		return false;
	equality.column = NULL;
	equality.operand = (Node *) match->quals.values[place];
	equality.op = op->opno;
	equality.collation = op->inputcollid;
	equality.is_array = false;
	return take_key(match, lookup, index, &equality);
}

/*
 * How many rows the index finds.  The planner takes a unique column of the
 * subquery for one of as many values as the subquery has rows, which may be
 * fewer than those of the table.
 */
static double
estimate_rows(const LbRanked *match, const LbLookup *lookup, bool unique)
{
	double		rows = unique ? match->rel->tuples : match->source.rel->tuples;

	return clamp_row_est(rows *
						 clauselist_selectivity(match->root, lookup->infos,
												match->rel->relid,
												JOIN_INNER, NULL));
}

/*
 * Whether clauses say what the first columns of an index equal, and at least
 * one of the query above does.
 */
static bool
use_index(const LbRanked *match, const IndexOptInfo *index, List *infos,
		  LbLookup *lookup)
{
	const LbSource *source = &match->source;
	bool		unique;

	memset(lookup, 0, sizeof(LbLookup));
	lookup->index = index->indexoid;
	if (index->relam != BTREE_AM_OID || index->indpred != NIL ||
		index->indexprs != NIL || index->hypothetical)
		return false;
	while (list_length(lookup->keys) < index->nkeycolumns)
	{
		ListCell   *lc;

		foreach(lc, infos)
		{
			if (take_info(match, lookup, index, lfirst_node(RestrictInfo, lc)))
				break;
		}
		if (lc == NULL && !take_board(match, lookup, index))
			break;
	}
	if (lookup->infos == NIL)
		return false;
	unique = index->unique && list_length(lookup->keys) == index->nkeycolumns;
	lookup->one_row = unique && !lookup->has_array;
	lookup->rows = estimate_rows(match, lookup, unique);
	lookup->cost = lb_cost_fetches(source, index->indexoid, lookup->rows);
	return true;
}

bool
lb_find_lookup(const LbRanked *match, List *infos, LbLookup *best)
{
	LbLookup	lookup;
	ListCell   *lc;

	best->index = InvalidOid;
	foreach(lc, match->source.rel->indexlist)
	{
		if (use_index(match, lfirst_node(IndexOptInfo, lc), infos, &lookup) &&
			(!OidIsValid(best->index) || lookup.rows < best->rows))
			*best = lookup;
	}
	return OidIsValid(best->index);
}

/*
 * Whether some rows are hidden from quals of the query above.  An index would
 * show them all rows of the table.
 */
static bool
has_barrier(const LbRanked *match)
{
	return match->rte->security_barrier || match->source.secured;
}

List *
lb_usable_infos(const LbRanked *match, List *infos)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, infos)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (!info->pseudoconstant &&
			restriction_is_securely_promotable(info, match->rel) &&
			(!has_barrier(match) ||
			 !contain_leaked_vars((Node *) info->clause)))
			result = lappend(result, info);
	}
	return result;
}

/* Whether a member of an equivalence class is a column of the subquery. */
static bool
is_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec,
		  EquivalenceMember *em, void *column)
{
	return equal(lb_strip_relabel((Node *) em->em_expr), column);
}

List *
lb_join_infos(const LbRanked *match)
{
	PlannerInfo *root = match->root;
	RelOptInfo *rel = match->rel;
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, rel->joininfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (join_clause_is_movable_to(info, rel))
			result = lappend(result, info);
	}
	foreach(lc, rel->has_eclass_joins ? match->columns : NIL)
	{
		if (lb_ranked_table_column(match, lfirst(lc)) == 0)
			continue;
		result = list_concat(result,
							 generate_implied_equalities_for_column(root, rel, is_column,
																	lfirst(lc),
																	rel->lateral_referencers));
	}
	return lb_usable_infos(match, result);
}
