/*-------------------------------------------------------------------------
 *
 * enclose.c
 *	  Ranges that enclose the rows of other quals.
 *
 * Some quals on the score are not one range of a board's order, but their rows
 * lie in one:
 *
 *		score IN (1, 2, 9)
 *		score BETWEEN SYMMETRIC 9 AND 1
 *		score < $1 OR (score = $3 AND id > $2)
 *
 * A scan reads only that range, and checks the qual for each of its rows.
 * Else it would read the board from its first row on, and the rows that it
 * looks for may be the last ones.
 *
 * The range of an AND is the intersection of those of its arguments, and that
 * of an OR the least one that encloses them.  A comparison of rows is taken
 * for that of its first column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "planner/enclose.h"
#include "planner/no_error.h"
#include "planner/range.h"
#include "util/compat.h"

typedef struct Search
{
	const LbSource *source;
	const LbDefinition *defn;
	int			column;			/* of the key */
	bool		inside;			/* of an AND or OR */
	List	   *operands;		/* found so far */
} Search;


/* ----------------------------------------------------------------
 *		Matching
 * ----------------------------------------------------------------
 */

/*
 * Whether the node may evaluate an operand once and for all.  Inside of AND
 * and OR, it may be one that the query would not evaluate, so it must not
 * raise an error.
 */
static bool
is_operand(const Search *search, Node *expr)
{
	if (!lb_is_operand(search->source, expr))
		return false;
	if (!search->inside)
		return true;
	expr = lb_strip_relabel(expr);
	return IsA(expr, Const) ||
		(IsA(expr, Param) &&
		 !lb_is_subquery(search->source->root, (const Param *) expr));
}

/*
 * Texts of a key are in C order; the query's collation may have another one.
 */
static bool
is_column(const Search *search, const LbUse *use)
{
	return use->column == search->column &&
		search->defn->columns[use->column].type->words != LB_TEXT;
}

static List *
add_leaf(Search *search, LbEnclosureKind kind, const LbOrder *order,
		 int strategy, Node *operand)
{
	search->operands = lappend(search->operands, operand);
	return list_make3_int(kind, strategy, (int) order->operand);
}

static List *
find_comparison(Search *search, OpExpr *op)
{
	LbComparison found;

	if (!lb_find_comparison(search->source, search->defn, op, &found) ||
		!is_column(search, &found.use) ||
		!is_operand(search, (Node *) found.operand))
		return NIL;
	return add_leaf(search, LB_ENCLOSE_OPERAND, &found.order,
					found.order.strategy, (Node *) found.operand);
}

/* Whether an operator compares the column with an operand. */
static bool
compares_column(const Search *search, Node *expr, Oid operator, Node *operand,
				LbOrder *order)
{
	LbUse		use;

	return lb_find_use(search->source, search->defn, expr, &use) &&
		is_column(search, &use) && is_operand(search, operand) &&
		lb_find_order(search->defn, &use, operator, order);
}

static List *
find_array(Search *search, const ScalarArrayOpExpr *op)
{
	Node	   *array = lsecond(op->args);
	LbOrder		order;

	if (!compares_column(search, linitial(op->args), op->opno, array, &order))
		return NIL;
	return add_leaf(search, op->useOr ? LB_ENCLOSE_ANY : LB_ENCLOSE_ALL, &order,
					order.strategy, array);
}

/* Rows that equal the first operand may satisfy it, too. */
static List *
find_row_compare(Search *search, const RowCompareExpr *row)
{
	Node	   *operand = linitial(row->rargs);
	LbOrder		order;

	if (!compares_column(search, linitial(row->largs), linitial_oid(row->opnos),
						 operand, &order))
		return NIL;
	switch (order.strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			return add_leaf(search, LB_ENCLOSE_OPERAND, &order,
							BTLessEqualStrategyNumber, operand);
		case BTGreaterEqualStrategyNumber:
		case BTGreaterStrategyNumber:
			return add_leaf(search, LB_ENCLOSE_OPERAND, &order,
							BTGreaterEqualStrategyNumber, operand);
		default:
			return NIL;
	}
}

static List *find_enclosure(Search *search, Node *clause);

/* An AND limits the column if one of its arguments does, an OR if all do. */
static List *
find_bool(Search *search, const BoolExpr *expr)
{
	bool		any = expr->boolop == OR_EXPR;
	bool		inside = search->inside;
	List	   *old = list_copy(search->operands);
	List	   *parts = NIL;
	ListCell   *lc;

	if (expr->boolop == NOT_EXPR)
		return NIL;
	search->inside = true;
	foreach(lc, expr->args)
	{
		List	   *part = find_enclosure(search, lfirst(lc));

		if (part != NIL)
			parts = lappend(parts, part);
		else if (any)
		{
			parts = NIL;
			search->operands = old;
			break;
		}
	}
	search->inside = inside;
	return parts == NIL ? NIL :
		lcons(list_make1_int(any ? LB_ENCLOSE_OR : LB_ENCLOSE_AND), parts);
}

/*
 * What a clause says of the column, as range.h takes it; NIL if nothing.
 * Operands are added to the search's.
 */
static List *
find_enclosure(Search *search, Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return find_comparison(search, (OpExpr *) clause);
		case T_ScalarArrayOpExpr:
			return find_array(search, (const ScalarArrayOpExpr *) clause);
		case T_RowCompareExpr:
			return find_row_compare(search, (const RowCompareExpr *) clause);
		case T_BoolExpr:
			return find_bool(search, (const BoolExpr *) clause);
		default:
			return NIL;
	}
}

void
lb_enclose_others(const LbSource *source, const LbDefinition *defn,
				  List *others, LbQuals *quals)
{
	ListCell   *lc;

	/* Where texts are, bounds have no more words than the score's. */
	if (quals->nequal == lb_nindex_columns(defn) ||
		(quals->nequal > 0 && lb_shape_varies(&defn->shape)))
		return;
	foreach(lc, others)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);
		Search		search = {source, defn, quals->nequal, false, NIL};
		List	   *found = find_enclosure(&search, (Node *) info->clause);

		if (found == NIL)
			continue;
		quals->conds = lappend(quals->conds,
							   list_make2(list_make1_int(quals->nequal), found));
		quals->operands = lappend(quals->operands, search.operands);
		quals->enclosed = lappend(quals->enclosed, info->clause);
	}
}


/* ----------------------------------------------------------------
 *		Estimates
 * ----------------------------------------------------------------
 */

/*
 * Rows between two shares of the table's rows, in ascending order of the
 * column.
 */
typedef struct Share
{
	double		low;
	double		high;
} Share;

static const Share no_rows = {0, 0};
static const Share all_rows = {0, 1};

typedef struct Estimate
{
	PlannerInfo *root;
	Expr	   *column;
	Oid			type;			/* below domains */
	Oid			family;
	Oid			input;			/* type of the family's operators */
	const ListCell *next;		/* operand */
	const List *operands;
} Estimate;

/*
 * A constant among integers, as one of bigint.  Numbers that bigint does not
 * have are its ends here.
 */
static Node *
to_bigint(const Const *operand)
{
	double		value = operand->consttype == FLOAT8OID ?
		DatumGetFloat8(operand->constvalue) :
		DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
										   operand->constvalue));
	int64		number = PG_INT64_MAX;

	if (value <= (double) PG_INT64_MIN)
		number = PG_INT64_MIN;
	else if (value < (double) PG_INT64_MAX)
		number = (int64) value;
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
							  Int64GetDatum(number), false, FLOAT8PASSBYVAL);
}

/*
 * The share of the rows whose column is less than an operand, or not greater.
 */
static double
share_below(const Estimate *e, int strategy, Oid type, Node *operand)
{
	Oid			operator;

	if (lb_is_integer(e->type) && IsA(operand, Const) &&
		(type == NUMERICOID || type == FLOAT8OID))
	{
		operand = to_bigint((const Const *) operand);
		type = INT8OID;
	}
	operator = get_opfamily_member(e->family, e->input, type, strategy);
	if (!OidIsValid(operator))
		return DEFAULT_INEQ_SEL;
	return clause_selectivity(e->root,
							  (Node *) make_opclause(operator, BOOLOID, false,
													 e->column,
													 (Expr *) operand, InvalidOid,
													 InvalidOid),
							  0, JOIN_INNER, NULL);
}

/* The rows that satisfy a comparison with operands from least to greatest. */
static Share
share_of(const Estimate *e, int strategy, Oid type, Node *least, Node *greatest)
{
	Share		share = {0, 1};

	if (strategy <= BTEqualStrategyNumber)
		share.high = share_below(e, Min(strategy, BTLessEqualStrategyNumber), type,
								 greatest);
	if (strategy >= BTEqualStrategyNumber)
		share.low = share_below(e, strategy == BTGreaterStrategyNumber ?
								BTLessEqualStrategyNumber : BTLessStrategyNumber,
								type, least);
	share.high = Max(share.low, share.high);
	return share;
}

/*
 * The least and the greatest element of an array.  Returns false if it has
 * none.
 */
static bool
find_extremes(const Const *array, Const **least, Const **greatest)
{
	ArrayType  *value = DatumGetArrayTypeP(array->constvalue);
	TypeCacheEntry *type = lookup_type_cache(ARR_ELEMTYPE(value),
											 TYPECACHE_CMP_PROC_FINFO);
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	Datum		ends[2] = {0};
	bool		any = false;

	deconstruct_array(value, type->type_id, type->typlen, type->typbyval,
					  type->typalign, &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			continue;
		if (!any || DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo, InvalidOid,
													elements[i], ends[0])) < 0)
			ends[0] = elements[i];
		if (!any || DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo, InvalidOid,
													elements[i], ends[1])) > 0)
			ends[1] = elements[i];
		any = true;
	}
	if (!any)
		return false;
	*least = makeConst(type->type_id, -1, InvalidOid, type->typlen, ends[0], false,
					   type->typbyval);
	*greatest = makeConst(type->type_id, -1, InvalidOid, type->typlen, ends[1], false,
						  type->typbyval);
	return true;
}

/* Of an array that is not known, nothing is. */
static Share
share_of_array(const Estimate *e, LbEnclosureKind kind, int strategy, Oid type,
			   const Const *array)
{
	Const	   *least;
	Const	   *greatest;

	if (!IsA(array, Const))
		return all_rows;
	if (!find_extremes(array, &least, &greatest))
		return no_rows;
	return kind == LB_ENCLOSE_ANY ?
		share_of(e, strategy, type, (Node *) least, (Node *) greatest) :
		share_of(e, strategy, type, (Node *) greatest, (Node *) least);
}

/* Bounds that are guessed can be in the wrong order. */
static Share
intersect_shares(Share a, Share b)
{
	Share		share = {Max(a.low, b.low), Min(a.high, b.high)};

	if (share.high < share.low)
		share.high = Min(share.low + DEFAULT_RANGE_INEQ_SEL, 1);
	return share;
}

static Share
enclose_shares(Share a, Share b)
{
	Share		share = {Min(a.low, b.low), Max(a.high, b.high)};

	return share;
}

static Share
estimate_leaf(Estimate *e, const List *leaf)
{
	LbEnclosureKind kind = linitial_int(leaf);
	Oid			type = (Oid) lthird_int(leaf);
	Node	   *operand = estimate_expression_value(e->root, lfirst(e->next));

	e->next = lnext(e->operands, e->next);
	operand = lb_strip_relabel(operand);
	if (IsA(operand, Const) && ((Const *) operand)->constisnull)
		return no_rows;
	return kind == LB_ENCLOSE_OPERAND ?
		share_of(e, lsecond_int(leaf), type, operand, operand) :
		share_of_array(e, kind, lsecond_int(leaf), type, (Const *) operand);
}

static Share
estimate(Estimate *e, const List *enclosure)
{
	bool		any;
	Share		share;

	if (IsA(enclosure, IntList))
		return estimate_leaf(e, enclosure);
	any = linitial_int(linitial(enclosure)) == LB_ENCLOSE_OR;
	share = estimate(e, lsecond(enclosure));
	for (int i = 2; i < list_length(enclosure); i++)
	{
		Share		part = estimate(e, list_nth(enclosure, i));

		share = any ? enclose_shares(share, part) : intersect_shares(share, part);
	}
	return share;
}

double
lb_enclosed_share(const LbSource *source, const LbDefinition *defn,
				  const LbQuals *quals)
{
	Share		share = {0, 1};
	Estimate	e = {.root = source->root};
	TypeCacheEntry *type;
	ListCell   *cond;
	ListCell   *operands;

	if (quals->enclosed == NIL)
		return 1;
	e.column = lb_column_expr(source, defn, quals->nequal);
	e.type = getBaseType(exprType((Node *) e.column));
	type = lookup_type_cache(e.type, TYPECACHE_BTREE_OPFAMILY);
	e.family = type->btree_opf;
	e.input = type->btree_opintype;
	forboth(cond, quals->conds, operands, quals->operands)
	{
		if (IsA(lfirst(cond), IntList))
			continue;
		e.operands = (const List *) lfirst(operands);
		e.next = list_head(e.operands);
		share = intersect_shares(share, estimate(&e, lsecond(lfirst(cond))));
	}
	return share.high - share.low;
}
