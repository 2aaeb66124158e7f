/*-------------------------------------------------------------------------
 *
 * no_error.c
 *	  Expressions that raise no error, whatever the row is.
 *
 * Leakproof functions raise none that depends on their arguments.  Arithmetic
 * raises one if its result is out of range, or for a division by zero.  So
 * this follows the ranges that integers are in, from the types of columns, and
 * from the least and the greatest value of one, if they are known: score + 1
 * is in range unless some score is the greatest integer.
 *
 * The parameter that stands for an uncorrelated subquery can raise anything:
 * the executor runs the subquery where the parameter is first evaluated.  But
 * if it is evaluated for each row, it does not depend on the row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "planner/columns.h"
#include "planner/no_error.h"

/* What is known of an expression beside what it is. */
typedef struct Facts
{
	const PlannerInfo *root;	/* or NULL, see lb_may_raise() */
	const LbKnownColumn *known; /* or NULL */
	bool		each_row;		/* it is computed for each row */
} Facts;

/* Integers from least to greatest. */
typedef struct IntegerRange
{
	int64		least;
	int64		greatest;
} IntegerRange;

/* What a function does with integers. */
typedef enum Arithmetic
{
	NOTHING,
	CAST,
	NEGATE,
	ADD,
	SUBTRACT,
	MULTIPLY,
	DIVIDE,
	REMAINDER
} Arithmetic;

static bool find_integers(Node *expr, const Facts *facts,
						  IntegerRange *range);
static bool may_raise(Node *node, void *context);


/* ----------------------------------------------------------------
 *		Integers
 * ----------------------------------------------------------------
 */

static Arithmetic
what_it_does(Oid function)
{
	switch (function)
	{
		case F_INT2_INT4:
		case F_INT2_INT8:
		case F_INT4_INT2:
		case F_INT4_INT8:
		case F_INT8_INT2:
		case F_INT8_INT4:
			return CAST;
		case F_INT2UM:
		case F_INT4UM:
		case F_INT8UM:
			return NEGATE;
		case F_INT2PL:
		case F_INT24PL:
		case F_INT28PL:
		case F_INT42PL:
		case F_INT4PL:
		case F_INT48PL:
		case F_INT82PL:
		case F_INT84PL:
		case F_INT8PL:
			return ADD;
		case F_INT2MI:
		case F_INT24MI:
		case F_INT28MI:
		case F_INT42MI:
		case F_INT4MI:
		case F_INT48MI:
		case F_INT82MI:
		case F_INT84MI:
		case F_INT8MI:
			return SUBTRACT;
		case F_INT2MUL:
		case F_INT24MUL:
		case F_INT28MUL:
		case F_INT42MUL:
		case F_INT4MUL:
		case F_INT48MUL:
		case F_INT82MUL:
		case F_INT84MUL:
		case F_INT8MUL:
			return MULTIPLY;
		case F_INT2DIV:
		case F_INT24DIV:
		case F_INT28DIV:
		case F_INT42DIV:
		case F_INT4DIV:
		case F_INT48DIV:
		case F_INT82DIV:
		case F_INT84DIV:
		case F_INT8DIV:
			return DIVIDE;
		case F_INT2MOD:
		case F_INT4MOD:
		case F_INT8MOD:
			return REMAINDER;
		default:
			return NOTHING;
	}
}

/* The function that an expression calls, or InvalidOid. */
static Oid
function_of(Node *expr, List **args)
{
	*args = NIL;
	if (IsA(expr, FuncExpr))
	{
		*args = ((FuncExpr *) expr)->args;
		return ((FuncExpr *) expr)->funcid;
	}
	if (!IsA(expr, OpExpr))
		return InvalidOid;
	set_opfuncid((OpExpr *) expr);
	*args = ((OpExpr *) expr)->args;
	return ((OpExpr *) expr)->opfuncid;
}

static IntegerRange
of_type(Oid type)
{
	static const IntegerRange of_int2 = {PG_INT16_MIN, PG_INT16_MAX};
	static const IntegerRange of_int4 = {PG_INT32_MIN, PG_INT32_MAX};
	static const IntegerRange of_int8 = {PG_INT64_MIN, PG_INT64_MAX};

	return type == INT2OID ? of_int2 : type == INT4OID ? of_int4 : of_int8;
}

/* Whether an operation on two integers is within 64 bits. */
static bool
compute(Arithmetic what, int64 a, int64 b, int64 *result)
{
	switch (what)
	{
		case ADD:
			return !pg_add_s64_overflow(a, b, result);
		case SUBTRACT:
			return !pg_sub_s64_overflow(a, b, result);
		case MULTIPLY:
			return !pg_mul_s64_overflow(a, b, result);
		default:
			if (b == -1)
				return !pg_sub_s64_overflow(0, a, result);
			*result = a / b;
			return true;
	}
}

/*
 * The range of an operation: its ends are those of some of the operands'
 * ends, since it is monotonic in each operand.  Division is, where the divisor
 * does not change its sign.
 */
static bool
combine(Arithmetic what, const IntegerRange *a, const IntegerRange *b,
		IntegerRange *result)
{
	const int64 as[] = {a->least, a->greatest};
	const int64 bs[] = {b->least, b->greatest};

	if ((what == DIVIDE || what == REMAINDER) &&
		b->least <= 0 && b->greatest >= 0)
		return false;
	if (what == REMAINDER)
	{
		/* Not farther from 0 than the dividend. */
		result->least = Min(a->least, 0);
		result->greatest = Max(a->greatest, 0);
		return true;
	}
	result->least = PG_INT64_MAX;
	result->greatest = PG_INT64_MIN;
	for (int i = 0; i < 4; i++)
	{
		int64		end;

		if (!compute(what, as[i / 2], bs[i % 2], &end))
			return false;
		result->least = Min(result->least, end);
		result->greatest = Max(result->greatest, end);
	}
	return true;
}

/* A function, or the one of an operator. */
static bool
find_result(Oid function, List *args, Oid type, const Facts *facts,
			IntegerRange *range)
{
	Arithmetic	what = what_it_does(function);
	IntegerRange a;
	IntegerRange b = {0, 0};
	IntegerRange whole = of_type(type);

	if (what == NOTHING || !find_integers(linitial(args), facts, &a))
		return false;
	if (what == CAST)
		*range = a;
	else if (what == NEGATE ? !combine(SUBTRACT, &b, &a, range) :
			 !find_integers(lsecond(args), facts, &b) ||
			 !combine(what, &a, &b, range))
		return false;
	return range->least >= whole.least && range->greatest <= whole.greatest;
}

/*
 * The integers that an expression can have, null apart.  Returns false if it
 * may raise an error, or if it has other values than integers.
 */
static bool
find_integers(Node *expr, const Facts *facts, IntegerRange *range)
{
	const LbKnownColumn *known = facts->known;
	Oid			type;
	Oid			function;
	List	   *args;

	check_stack_depth();
	expr = lb_strip_relabel(expr);
	if (expr == NULL || !lb_is_integer(type = getBaseType(exprType(expr))))
		return false;
	*range = of_type(type);
	if (IsA(expr, Const))
	{
		const Const *value = (const Const *) expr;

		if (!value->constisnull)
			range->least = range->greatest =
				lb_integer_of(type, value->constvalue);
		return true;
	}
	if (IsA(expr, Var) && known != NULL &&
		((const Var *) expr)->varattno == known->attno)
	{
		range->least = known->least;
		range->greatest = known->greatest;
		return true;
	}
	function = function_of(expr, &args);
	if (what_it_does(function) != NOTHING)
		return find_result(function, args, type, facts, range);
	return !may_raise(expr, unconstify(Facts *, facts));
}


/* ----------------------------------------------------------------
 *		Expressions
 * ----------------------------------------------------------------
 */

static bool
may_leak(Oid function, void *context)
{
	return !get_func_leakproof(function);
}

/* Casts of integers to numeric and to text, which raise nothing. */
static bool
is_safe_cast(Node *node)
{
	if (IsA(node, CoerceViaIO))
		return ((CoerceViaIO *) node)->resulttype == TEXTOID &&
			lb_is_integer(exprType((Node *) ((CoerceViaIO *) node)->arg));
	return IsA(node, FuncExpr) &&
		(((FuncExpr *) node)->funcid == F_NUMERIC_INT2 ||
		 ((FuncExpr *) node)->funcid == F_NUMERIC_INT4 ||
		 ((FuncExpr *) node)->funcid == F_NUMERIC_INT8);
}

/* What has no columns is the same for all rows. */
static bool
depends_on_row(Node *node)
{
	return contain_var_clause(node) || contain_window_function(node);
}

bool
lb_is_subquery(const PlannerInfo *root, const Param *param)
{
	ListCell   *lc;

	if (param->paramkind != PARAM_EXEC)
		return false;
	for (; root != NULL; root = root->parent_root)
	{
		foreach(lc, root->init_plans)
		{
			if (list_member_int(lfirst_node(SubPlan, lc)->setParam,
								param->paramid))
				return true;
		}
	}
	return false;
}

static bool
has_subquery(Node *node, void *root)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return lb_is_subquery(root, (const Param *) node);
	return expression_tree_walker(node, has_subquery, root);
}

bool
lb_has_subquery(const PlannerInfo *root, Node *expr)
{
	return has_subquery(expr, unconstify(PlannerInfo *, root));
}

static bool
parts_may_raise(Node *node, const Facts *facts, bool each_row)
{
	Facts		of_parts = *facts;

	of_parts.each_row = each_row;
	return expression_tree_walker(node, may_raise, &of_parts);
}

/*
 * Those window functions that a board knows raise no error.
 */
static bool
may_raise(Node *node, void *context)
{
	const Facts *facts = (const Facts *) context;
	IntegerRange range;
	List	   *args;

	check_stack_depth();
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_TargetEntry:
			return depends_on_row(node) &&
				parts_may_raise(node, facts, true);
		case T_Param:
			return !facts->each_row &&
				lb_is_subquery(facts->root, (const Param *) node);
		case T_BoolExpr:
		case T_CaseExpr:
		case T_CoalesceExpr:
			return parts_may_raise(node, facts, false);
		case T_List:
		case T_Var:
		case T_Const:
		case T_RelabelType:
		case T_CollateExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_RowExpr:
		case T_WindowFunc:
			break;
		case T_ArrayExpr:
			if (((ArrayExpr *) node)->multidims)
				return true;
			break;
		case T_FuncExpr:
		case T_OpExpr:
		case T_CoerceViaIO:
			if (!is_safe_cast(node) &&
				check_functions_in_node(node, may_leak, NULL))
				return what_it_does(function_of(node, &args)) == NOTHING ||
					!find_integers(node, facts, &range);
			break;
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
			if (check_functions_in_node(node, may_leak, NULL))
				return true;
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, may_raise, context);
}

bool
lb_may_raise(Node *expr, const PlannerInfo *root, const LbKnownColumn *known)
{
	Facts		facts = {root, known, false};

	return may_raise(expr, &facts);
}

bool
lb_may_raise_for_any(const PlannerInfo *root, List *tlist)
{
	ListCell   *lc;

	foreach(lc, tlist)
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;

		if (depends_on_row(expr) ?
			lb_has_subquery(root, expr) : lb_may_raise(expr, root, NULL))
			return true;
	}
	return false;
}
