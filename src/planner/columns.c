/*-------------------------------------------------------------------------
 *
 * columns.c
 *	  Recognizing the columns of a board in a query, and what compares them.
 *
 * A comparison serves if it says the same of the index's words as it says of
 * the column's values.  So its operator belongs to the B-tree operator family
 * by which the board orders the column, and its operand's type is one that
 * range.c can convert without error.  A column of integers may be cast to
 * numeric, double precision or wider integers, as the parser does for "score >
 * 3.5": these casts keep the order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "boards/expression.h"
#include "boards/live.h"
#include "planner/columns.h"
#include "util/compat.h"

Node *
lb_strip_relabel(Node *expr)
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

AttrNumber
lb_column_number(const LbDefinition *defn, int column)
{
	return defn->columns[column].expression == NULL ?
		defn->columns[column].attno : MaxHeapAttributeNumber + 1 + column;
}

/* An expression of the board with the table's number in the query. */
static Expr *
expression_of(const LbSource *source, const LbColumn *column)
{
	Expr	   *expr = copyObject(column->expression->simplified);

	ChangeVarNodes((Node *) expr, 1, source->rel->relid, 0);
	return expr;
}

/* An expression of the board. */
static bool
find_expression(const LbSource *source, const LbDefinition *defn, Node *expr,
				LbUse *use)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbColumn *column = &defn->columns[i];

		if (column->expression == NULL ||
			nodeTag(lb_strip_relabel((Node *) column->expression->simplified)) != nodeTag(expr) ||
			!equal(lb_strip_relabel((Node *) expression_of(source, column)), expr))
			continue;
		use->column = i;
		use->attno = lb_column_number(defn, i);
		if (!use->cast)
			use->type = column->oid;
		return true;
	}
	return false;
}

/* A table's board, for what walks through expressions. */
typedef struct Board
{
	const LbSource *source;
	const LbDefinition *defn;
} Board;

static Node *
replace_expressions(Node *node, void *context)
{
	const Board *board = (const Board *) context;
	LbUse		use = {0};

	if (node == NULL)
		return NULL;
	if (find_expression(board->source, board->defn, node, &use))
		return (Node *) makeNullConst(exprType(node), exprTypmod(node),
									  exprCollation(node));
	return expression_tree_mutator(node, replace_expressions, context);
}

List *
lb_without_board_exprs(const LbSource *source, const LbDefinition *defn,
					   List *exprs)
{
	Board		board = {source, defn};

	return lb_has_expressions(defn) ?
		(List *) replace_expressions((Node *) exprs, &board) : exprs;
}

bool
lb_find_use(const LbSource *source, const LbDefinition *defn, Node *expr,
			LbUse *use)
{
	const Var  *var;

	use->cast = false;
	expr = lb_strip_relabel(expr);
	if (expr != NULL && lb_has_expressions(defn) &&
		find_expression(source, defn, expr, use))
		return true;
	if (expr != NULL && IsA(expr, FuncExpr))
	{
		FuncExpr   *function = (FuncExpr *) expr;

		if (!is_order_cast(function->funcid))
			return false;
		use->cast = true;
		use->type = function->funcresulttype;
		expr = lb_strip_relabel((Node *) linitial(function->args));
		if (lb_has_expressions(defn) &&
			find_expression(source, defn, expr, use))
			return true;
	}
	if (expr == NULL || !IsA(expr, Var))
		return false;
	var = (const Var *) expr;
	if (var->varno != (int) source->rel->relid || var->varlevelsup != 0 ||
		var->varattno == InvalidAttrNumber)
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

/* Whether an expression is a boolean column of the board, or its negation. */
static bool
is_boolean(const LbSource *source, const LbDefinition *defn, Expr *expr,
		   LbUse *use, bool *value)
{
	*value = true;
	if (lb_find_use(source, defn, (Node *) expr, use))
		return use->type == BOOLOID && !use->cast;
	*value = false;
	for (int i = 0; i < defn->ncolumns; i++)
	{
		Node	   *column;

		if (defn->columns[i].oid != BOOLOID)
			continue;
		column = (Node *) lb_column_expr(source, defn, i);
		if (equal(negate_clause(column), expr))
			return lb_find_use(source, defn, column, use);
	}
	return false;
}

bool
lb_find_boolean(const LbSource *source, const LbDefinition *defn, Expr *clause,
				LbUse *use, bool *value)
{
	const BooleanTest *test = (const BooleanTest *) clause;

	if (is_boolean(source, defn, clause, use, value))
		return true;
	if (!IsA(clause, BooleanTest) ||
		(test->booltesttype != IS_TRUE && test->booltesttype != IS_FALSE) ||
		!is_boolean(source, defn, test->arg, use, value))
		return false;
	*value = *value == (test->booltesttype == IS_TRUE);
	return true;
}

bool
lb_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

int64
lb_integer_of(Oid type, Datum value)
{
	return type == INT2OID ? DatumGetInt16(value) :
		type == INT4OID ? DatumGetInt32(value) : DatumGetInt64(value);
}

int
lb_key_column(const LbDefinition *defn, AttrNumber attno)
{
	for (int i = 0; i < lb_nindex_columns(defn); i++)
	{
		if (attno != InvalidAttrNumber && defn->columns[i].attno == attno)
			return i;
	}
	return -1;
}

Expr *
lb_column_expr(const LbSource *source, const LbDefinition *defn, int column)
{
	Index		relid = source->rel->relid;
	AttrNumber	attno = defn->columns[column].attno;
	Oid			type;
	int32		typmod;
	Oid			collation;

	if (defn->columns[column].expression != NULL)
		return expression_of(source, &defn->columns[column]);
	get_atttypetypmodcoll(planner_rt_fetch(relid, source->root)->relid, attno,
						  &type, &typmod, &collation);
	return (Expr *) makeVar(relid, attno, type, typmod, collation, 0);
}

bool
lb_is_index_column(const LbSource *source, const LbDefinition *defn,
				   int column, const IndexOptInfo *index, int i)
{
	int			place = 0;

	if (index->indexkeys[i] != InvalidAttrNumber)
		return index->indexkeys[i] == defn->columns[column].attno;
	if (defn->columns[column].expression == NULL)
		return false;
	for (int k = 0; k < i; k++)
		place += index->indexkeys[k] == InvalidAttrNumber;
	return equal(list_nth(index->indexprs, place),
				 expression_of(source, &defn->columns[column]));
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
	if (use->cast && !lb_is_integer(use->type))
		return operand == use->type;
	if (column == operand)
		return true;
	if (column == VARCHAROID)
		return operand == TEXTOID;
	if (type_is_enum(column))
		return operand == ANYENUMOID;
	return (lb_is_integer(column) && lb_is_integer(operand)) ||
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
	return defn->columns[use->column].oid != INT8OID ||
		!is_float(order->operand);
}

/* Whether a subplan below a node has a volatile function. */
static bool
has_volatile_subplan(Node *node, void *context)
{
	const PlannerInfo *root = (const PlannerInfo *) context;

	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
	{
		const PlannerInfo *subroot =
			list_nth(root->glob->subroots, ((SubPlan *) node)->plan_id - 1);

		if (contain_volatile_functions((Node *) subroot->parse) ||
			has_volatile_subplan((Node *) subroot->parse, context))
			return true;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_volatile_subplan,
								 context, 0);
	return expression_tree_walker(node, has_volatile_subplan, context);
}

bool
lb_is_volatile(const PlannerInfo *root, List *exprs)
{
	return contain_volatile_functions((Node *) exprs) ||
		has_volatile_subplan((Node *) exprs, (void *) root);
}

bool
lb_is_operand(const LbSource *source, Node *expr)
{
	return bms_is_empty(pull_varnos(source->root, expr)) &&
		!contain_volatile_functions(expr) && !contain_subplans(expr);
}

bool
lb_find_comparison(const LbSource *source, const LbDefinition *defn,
				   OpExpr *op, LbComparison *comparison)
{
	comparison->clause = op;
	if (list_length(op->args) != 2)
		return false;
	if (!lb_find_use(source, defn, linitial(op->args), &comparison->use))
	{
		if (!lb_find_use(source, defn, lsecond(op->args), &comparison->use) ||
			!OidIsValid(get_commutator(op->opno)))
			return false;
		comparison->clause = copyObject(op);
		CommuteOpExpr(comparison->clause);
	}
	comparison->operand = lsecond(comparison->clause->args);
	return lb_is_operand(source, (Node *) comparison->operand) &&
		lb_find_order(defn, &comparison->use, comparison->clause->opno,
					  &comparison->order);
}

bool
lb_convert_value(const LbColumn *column, Oid type, Datum *value)
{
	int64		n;

	if (!lb_is_integer(type) || type == column->oid)
		return true;
	n = lb_integer_of(type, *value);
	if (n > column->type->max || n < -column->type->max - 1)
		return false;
	*value = column->type->decode(column, &n);
	return true;
}

bool
lb_set_target_value(LbTarget *target, const Oid *types, Datum *values,
					char *room)
{
	const LbDefinition *defn = target->defn;

	target->has_value = true;
	for (int i = 0; i < defn->nboard; i++)
	{
		if (!lb_convert_value(&lb_board_columns(defn)[i], types[i], &values[i]))
			return false;
	}
	lb_board_value(defn, values, &target->value, room);
	target->hash = lb_value_hash(&target->value);
	target->stripe = lb_value_stripe(true, target->hash);
	return true;
}
