/*-------------------------------------------------------------------------
 *
 * quals.c
 *	  Recognizing what a query asks of a board: columns, and quals.
 *
 * A qual serves if it says the same of the index's words as it says of the
 * column's values.  So its operator belongs to the B-tree operator family by
 * which the board orders the column, and its operand's type is one that range.c
 * can convert without error.  A column of integers may be cast to numeric, double
 * precision or wider integers, as the parser does for "score > 3.5": these casts
 * keep the order.  One qual that is none of these makes the board useless for the query.
 *
 * Quals limit a range of the board's order if all columns before the last one
 * that they limit equal an operand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "planner/quals.h"
#include "util/compat.h"

static Node *
strip_relabel(Node *expr)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return expr;
}

/* Whether a function casts integers to another type and keeps their order. */
static bool
is_order_cast(Oid function)
{
	return function == F_NUMERIC_INT2 || function == F_NUMERIC_INT4 ||
		function == F_NUMERIC_INT8 || function == F_FLOAT8_INT2 ||
		function == F_FLOAT8_INT4 || function == F_FLOAT8_INT8 ||
		function == F_INT4_INT2 || function == F_INT8_INT2 ||
		function == F_INT8_INT4;
}

bool
lb_find_use(const LbSource *source, const LbDefinition *defn, Node *expr,
			LbUse *use)
{
	const Var  *var;

	use->cast = false;
	expr = strip_relabel(expr);
	if (expr != NULL && IsA(expr, FuncExpr))
	{
		FuncExpr   *function = (FuncExpr *) expr;

		if (!is_order_cast(function->funcid))
			return false;
		use->cast = true;
		use->type = function->funcresulttype;
		expr = strip_relabel((Node *) linitial(function->args));
	}
	if (expr == NULL || !IsA(expr, Var))
		return false;
	var = (const Var *) expr;
	if (var->varno != (int) source->rel->relid || var->varlevelsup != 0)
		return false;
	for (int i = 0; i < defn->ncolumns; i++)
	{
		if (defn->columns[i].attno != var->varattno)
			continue;
		use->column = i;
		use->attno = var->varattno;
		if (!use->cast)
			use->type = defn->columns[i].oid;
		return true;
	}
	return false;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

/* Whether range.c can compare a column with an operand of a type. */
static bool
can_convert(const LbUse *use, Oid column, Oid operand)
{
	if (use->cast && !is_integer(use->type))
		return operand == use->type;
	if (column == operand)
		return true;
	if (column == VARCHAROID)
		return operand == TEXTOID;
	if (type_is_enum(column))
		return operand == ANYENUMOID;
	return (is_integer(column) && is_integer(operand)) ||
		(is_float(column) && is_float(operand));
}

bool
lb_find_order(const LbDefinition *defn, const LbUse *use, Oid opno,
			  LbOrder *order)
{
	Oid			column = defn->columns[use->column].oid;
	Oid			family = lookup_type_cache(use->type,
										   TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			left;

	if (!OidIsValid(family) || !op_in_opfamily(opno, family))
		return false;
	get_op_opfamily_properties(opno, family, false, &order->strategy, &left,
							   &order->operand);
	if (left != use->type &&
		!(left == TEXTOID && use->type == VARCHAROID) &&
		!(left == ANYENUMOID && type_is_enum(use->type)))
		return false;
	return can_convert(use, column, order->operand);
}

bool
lb_is_exact(const LbDefinition *defn, const LbUse *use, const LbOrder *order)
{
	return !is_integer(defn->columns[use->column].oid) ||
		!is_float(order->operand);
}

bool
lb_is_operand(const LbSource *source, Node *expr)
{
	return bms_is_empty(pull_varnos(source->root, expr)) &&
		!contain_volatile_functions(expr) && !contain_subplans(expr);
}

List *
lb_make_cond(int first, int strategy, List *types)
{
	return list_concat(list_make2_int(first, strategy), types);
}

static bool
is_key_column(const LbDefinition *defn, int column)
{
	return column < lb_nkey_columns(defn);
}

/* Texts of a key are in C order; the query's collation may have another one. */
static bool
is_text_key(const LbDefinition *defn, int column)
{
	return is_key_column(defn, column) &&
		defn->columns[column].type->words == LB_TEXT;
}

static void
add_cond(LbQuals *quals, List *cond, List *operands)
{
	int			at = 0;

	/* In the order of the key's columns. */
	while (at < list_length(quals->conds) &&
		   linitial_int(list_nth(quals->conds, at)) <= linitial_int(cond))
		at++;
	quals->conds = list_insert_nth(quals->conds, at, cond);
	quals->operands = list_insert_nth(quals->operands, at, operands);
}

/* The clause on the board column.  A board is known by one of them. */
static bool
add_board(LbQuals *quals, const LbUse *use, Expr *clause, Expr *value)
{
	if (quals->board != NULL || use->cast)
		return false;
	quals->board = clause;
	quals->value = value;
	quals->not_null = bms_add_member(quals->not_null, use->attno);
	return true;
}

static bool
add_op(const LbSource *source, const LbDefinition *defn, OpExpr *op,
	   LbQuals *quals)
{
	OpExpr	   *clause = op;
	LbUse		use;
	LbOrder		order;
	Expr	   *operand;

	if (list_length(op->args) != 2)
		return false;
	if (!lb_find_use(source, defn, linitial(op->args), &use))
	{
		if (!lb_find_use(source, defn, lsecond(op->args), &use) ||
			!OidIsValid(get_commutator(op->opno)))
			return false;
		clause = copyObject(op);
		CommuteOpExpr(clause);
	}
	operand = lsecond(clause->args);
	if (!lb_is_operand(source, (Node *) operand) ||
		!lb_find_order(defn, &use, clause->opno, &order))
		return false;
	if (defn->columns[use.column].role == LB_ROLE_BOARD)
		return order.strategy == BTEqualStrategyNumber &&
			(!OidIsValid(clause->inputcollid) ||
			 get_collation_isdeterministic(clause->inputcollid)) &&
			add_board(quals, &use, (Expr *) clause, operand);
	if (!is_key_column(defn, use.column) || is_text_key(defn, use.column))
		return false;
	quals->clauses = lappend(quals->clauses, clause);
	quals->not_null = bms_add_member(quals->not_null, use.attno);
	add_cond(quals, lb_make_cond(use.column, order.strategy,
								 list_make1_int(order.operand)),
			 list_make1(operand));
	return true;
}

/*
 * (score, id) < (5, 7): the row's columns are the first ones of the key, all in one
 * direction.
 */
static bool
add_row_compare(const LbSource *source, const LbDefinition *defn,
				RowCompareExpr *row, LbQuals *quals)
{
	List	   *types = NIL;
	int			n = list_length(row->largs);
	int			strategy = LB_ROW_STRATEGY(row);

	if (n > lb_nkey_columns(defn) || strategy == BTEqualStrategyNumber ||
		strategy > BTMaxStrategyNumber)
		return false;
	for (int i = 0; i < n; i++)
	{
		LbUse		use;
		LbOrder		order;

		if (!lb_find_use(source, defn, list_nth(row->largs, i), &use) ||
			use.column != i || use.cast || is_text_key(defn, i) ||
			!lb_is_operand(source, list_nth(row->rargs, i)) ||
			!lb_find_order(defn, &use, list_nth_oid(row->opnos, i), &order) ||
			order.strategy != strategy ||
			defn->columns[i].descending != defn->columns[0].descending)
			return false;
		types = lappend_int(types, order.operand);
		if (i == 0)
			quals->not_null = bms_add_member(quals->not_null, use.attno);
	}
	quals->clauses = lappend(quals->clauses, row);
	add_cond(quals, lb_make_cond(0, strategy, types), row->rargs);
	return true;
}

/* A boolean column, or its negation. */
static bool
add_boolean(const LbSource *source, const LbDefinition *defn, Expr *clause,
			Node *expr, bool value, LbQuals *quals)
{
	LbUse		use;

	if (!lb_find_use(source, defn, expr, &use) || use.type != BOOLOID)
		return false;
	if (defn->columns[use.column].role == LB_ROLE_BOARD)
		return add_board(quals, &use, clause,
						 (Expr *) makeBoolConst(value, false));
	if (defn->columns[use.column].role != LB_ROLE_RANKED_IF || !value)
		return false;
	quals->ranked_if = clause;
	return true;
}

static bool
add_not_null(const LbSource *source, const LbDefinition *defn, NullTest *test,
			 LbQuals *quals)
{
	LbUse		use;

	if (test->nulltesttype != IS_NOT_NULL || test->argisrow ||
		!lb_find_use(source, defn, (Node *) test->arg, &use))
		return false;
	quals->not_null = bms_add_member(quals->not_null, use.attno);
	quals->clauses = lappend(quals->clauses, test);
	return true;
}

static bool
add_qual(const LbSource *source, const LbDefinition *defn, Expr *clause,
		 LbQuals *quals)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return add_op(source, defn, (OpExpr *) clause, quals);
		case T_RowCompareExpr:
			return add_row_compare(source, defn, (RowCompareExpr *) clause,
								   quals);
		case T_NullTest:
			return add_not_null(source, defn, (NullTest *) clause, quals);
		case T_Var:
			return add_boolean(source, defn, clause, (Node *) clause, true,
							   quals);
		case T_BooleanTest:
			{
				BooleanTest *test = (BooleanTest *) clause;

				return (test->booltesttype == IS_TRUE ||
						test->booltesttype == IS_FALSE) &&
					add_boolean(source, defn, clause, (Node *) test->arg,
								test->booltesttype == IS_TRUE, quals);
			}
		case T_BoolExpr:
			return ((BoolExpr *) clause)->boolop == NOT_EXPR &&
				add_boolean(source, defn, clause,
							(Node *) linitial(((BoolExpr *) clause)->args),
							false, quals);
		default:
			return false;
	}
}

/*
 * Whether the conditions limit one range: each column before the last of those that
 * they limit equals an operand.  An operand that is compared with the score cast to
 * another type may equal several scores.
 */
static bool
is_range(const LbDefinition *defn, LbQuals *quals)
{
	ListCell   *lc;

	foreach(lc, quals->conds)
	{
		const List *cond = (const List *) lfirst(lc);
		int			first = linitial_int(cond);
		int			last = first + list_length(cond) - 3;
		Oid			operand = (Oid) list_nth_int(cond, 2);

		if (first > quals->nequal)
			return false;
		if (last > 0 && lb_shape_varies(&defn->shape))
			return false;
		if (first == quals->nequal &&
			lsecond_int(cond) == BTEqualStrategyNumber &&
			(!is_integer(defn->columns[first].oid) || !is_float(operand)))
			quals->nequal++;
	}
	return true;
}

bool
lb_sort_quals(const LbSource *source, const LbDefinition *defn,
			  List *clauses, LbQuals *quals, List **others)
{
	ListCell   *lc;

	memset(quals, 0, sizeof(LbQuals));
	foreach(lc, clauses)
	{
		Expr	   *clause = (Expr *) lfirst(lc);

		if (IsA(clause, RestrictInfo))
		{
			if (((RestrictInfo *) clause)->pseudoconstant)
				return false;
			clause = ((RestrictInfo *) clause)->clause;
		}
		if (add_qual(source, defn, clause, quals))
			continue;
		if (others == NULL)
			return false;
		*others = lappend(*others, lfirst(lc));
	}
	return is_range(defn, quals);
}

bool
lb_quals_imply_board(const LbSource *source, const LbDefinition *defn,
					 const LbQuals *quals, bool score_null)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbColumn *column = &defn->columns[i];

		if (column->role == LB_ROLE_RANKED_IF)
			continue;
		if (!bms_is_member(column->attno, source->not_null) &&
			!bms_is_member(column->attno, quals->not_null) &&
			!(score_null && i == 0))
			return false;
	}
	return defn->family == (quals->board != NULL) &&
		defn->has_ranked_if == (quals->ranked_if != NULL);
}
