/*-------------------------------------------------------------------------
 *
 * expression.c
 *	  Expressions in the place of columns.
 *
 * A statistics object keeps an expression: CREATE STATISTICS ON (expr) FROM
 * table.  It is the one object of PostgreSQL, beside an index, that is an
 * expression over a table's columns.  So the expression follows renames of all
 * that it names.  A function that it calls cannot be dropped; if a column is,
 * the object goes with it.  ALTER COLUMN TYPE makes the object again, and
 * pg_dump dumps it.  Its statistics target is 0, so ANALYZE does not evaluate
 * it: the predicate of a partial board may be what keeps it from an error.
 *
 * An expression is evaluated in triggers and builds.  A user that may write to
 * the table must not thereby lend its rights to functions of the owner's, nor
 * lead them to other objects: so they run with the owner's rights, as in a
 * security-restricted operation, and search_path is pg_catalog, pg_temp.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "boards/cache.h"
#include "boards/expression.h"
#include "boards/setting_of.h"
#include "util/user.h"


/* ----------------------------------------------------------------
 *		Texts
 * ----------------------------------------------------------------
 */

/* The end of a quoted text that begins at p, or NULL. */
static const char *
quotes_end(const char *p, bool escapes)
{
	char		quote = *p;

	for (p++; *p != '\0'; p++)
	{
		if (escapes && *p == '\\' && p[1] != '\0')
			p++;
		else if (*p == quote && p[1] == quote)
			p++;
		else if (*p == quote)
			return p + 1;
	}
	return NULL;
}

/*
 * The raw parser has the last word on what a user writes.  Of what ruleutils.c
 * writes, strings with escapes begin with an E.
 */
const char *
lb_parentheses_end(const char *p)
{
	int			depth = 0;
	const char *begin = p;

	while (*p != '\0')
	{
		if (*p == '\'' || *p == '"')
		{
			p = quotes_end(p, *p == '\'' && p > begin && (p[-1] == 'E' || p[-1] == 'e'));
			if (p == NULL)
				return NULL;
			continue;
		}
		if (*p == '(')
			depth++;
		else if (*p == ')' && --depth == 0)
			return p + 1;
		p++;
	}
	return NULL;
}

LbExpression *
lb_make_expression(const char *text, int len)
{
	LbExpression *expression = palloc0(sizeof(LbExpression));
	char	   *copy = pnstrdup(text, len);

	if (*copy != '(' || lb_parentheses_end(copy) != copy + len)
		copy = psprintf("(%s)", copy);
	expression->text = copy;
	return expression;
}

LbExpression *
lb_copy_expression(const LbExpression *expression)
{
	LbExpression *copy = palloc0(sizeof(LbExpression));

	copy->text = pstrdup(expression->text);
	if (expression->statistics != NULL)
		copy->statistics = pstrdup(expression->statistics);
	return copy;
}

void
lb_free_expression(LbExpression *expression)
{
	if (expression->context != NULL)
		MemoryContextDelete(expression->context);
	if (expression->statistics != NULL)
		pfree(expression->statistics);
	pfree(expression->text);
	pfree(expression);
}

char *
lb_expression_sql(Node *expr, Oid table, const char *alias)
{
	int			nestlevel = lb_pin_search_path();
	const char *name = alias != NULL ? alias : get_rel_name(table);
	char	   *sql = deparse_expression(expr, deparse_context_for(name, table),
										 alias != NULL, false);

	AtEOXact_GUC(false, nestlevel);
	if (*sql == '(' && lb_parentheses_end(sql) == sql + strlen(sql))
		return sql;
	return psprintf("(%s)", sql);
}


/* ----------------------------------------------------------------
 *		Resolving
 * ----------------------------------------------------------------
 */

/* Before an expression runs: switch to the rights of the table's owner. */
static void
switch_to(LbUser *saved, const LbExpressionOwner *owner)
{
	lb_switch_user(saved, owner->role, SECURITY_RESTRICTED_OPERATION);
	lb_set_locally("search_path", "pg_catalog, pg_temp");
}

/*
 * The statistics object of a table that has a name and expressions, as a copy,
 * and these as a text, palloc'd; or NULL.  The object stays in its schema when
 * the table gets another one, so there can be two of a name: the older one is
 * it.
 */
static HeapTuple
find_statistics(Oid table, const char *name, char **exprs)
{
	Relation	rel = table_open(StatisticExtRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	HeapTuple	result = NULL;

	ScanKeyInit(&key, Anum_pg_statistic_ext_stxrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(rel, StatisticExtRelidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_statistic_ext form = (Form_pg_statistic_ext) GETSTRUCT(tuple);
		bool		isnull;
		Datum		value = heap_getattr(tuple, Anum_pg_statistic_ext_stxexprs,
										 RelationGetDescr(rel), &isnull);

		if (isnull || strcmp(NameStr(form->stxname), name) != 0 ||
			(result != NULL &&
			 form->oid > ((Form_pg_statistic_ext) GETSTRUCT(result))->oid))
			continue;
		result = heap_copytuple(tuple);
		*exprs = TextDatumGetCString(value);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

Oid
lb_kept_object(Oid table, const char *statistics)
{
	char	   *exprs;
	HeapTuple	tuple = find_statistics(table, statistics, &exprs);

	return tuple == NULL ? InvalidOid :
		((Form_pg_statistic_ext) GETSTRUCT(tuple))->oid;
}

Node *
lb_kept_expression(Oid table, const char *statistics)
{
	char	   *exprs;
	Node	   *result;

	if (find_statistics(table, statistics, &exprs) == NULL)
		return NULL;
	result = linitial((List *) stringToNode(exprs));
	fix_opfuncids(result);
	return result;
}

static bool
add_function(Oid function, void *context)
{
	List	  **functions = (List **) context;

	*functions = list_append_unique_oid(*functions, function);
	return false;
}

static bool
find_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	(void) check_functions_in_node(node, add_function, context);
	return expression_tree_walker(node, find_functions, context);
}

static void
add_schema(List **schemas, Oid classId, Oid objectId)
{
	const ObjectAddress object = {classId, objectId, 0};
	Oid			schema = get_object_namespace(&object);

	if (schema != PG_CATALOG_NAMESPACE)
		*schemas = list_append_unique_oid(*schemas, schema);
}

/*
 * The schemas of types, operators and collations in the text of an expression;
 * also of a type that the text may leave out.
 */
static bool
find_schemas(Node *node, void *context)
{
	List	  **schemas = (List **) context;
	ListCell   *lc;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Const:
		case T_FuncExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CoerceToDomain:
		case T_ArrayExpr:
		case T_RowExpr:
			add_schema(schemas, TypeRelationId, exprType(node));
			break;
		case T_OpExpr:
			add_schema(schemas, OperatorRelationId, ((OpExpr *) node)->opno);
			break;
		case T_ScalarArrayOpExpr:
			add_schema(schemas, OperatorRelationId,
					   ((ScalarArrayOpExpr *) node)->opno);
			break;
		case T_RowCompareExpr:
			foreach(lc, ((RowCompareExpr *) node)->opnos)
				add_schema(schemas, OperatorRelationId, lfirst_oid(lc));
			break;
		case T_CollateExpr:
			add_schema(schemas, CollationRelationId,
					   ((CollateExpr *) node)->collOid);
			break;
		default:
			break;
	}
	return expression_tree_walker(node, find_schemas, context);
}

/* A domain can have checks, which can call anything. */
static bool
has_domain(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, CoerceToDomain) ||
		expression_tree_walker(node, has_domain, context);
}

static bool
is_trusted(Node *expr, List *functions)
{
	ListCell   *lc;

	foreach(lc, functions)
	{
		if (lfirst_oid(lc) >= FirstNormalObjectId)
			return false;
	}
	return !has_domain(expr, NULL);
}

bool
lb_is_trusted(Node *expr)
{
	List	   *functions = NIL;

	find_functions(expr, &functions);
	return is_trusted(expr, functions);
}

/*
 * Simplify an expression, as its owner.  That calls functions of constants,
 * which need a snapshot; a worker may have none yet.
 */
static Expr *
simplify(const LbExpression *expression)
{
	bool		push = !ActiveSnapshotSet();
	LbUser		saved;
	Expr	   *result;

	if (push)
		PushActiveSnapshot(GetCatalogSnapshot(StatisticExtRelationId));
	switch_to(&saved, &expression->owner);
	result = expression_planner((Expr *) copyObject(expression->kept));
	lb_restore_user(&saved);
	if (push)
		PopActiveSnapshot();
	return result;
}

static void
fill_in(LbExpression *expression)
{
	find_functions(expression->kept, &expression->functions);
	find_schemas(expression->kept, &expression->schemas);
	pull_varattnos(expression->kept, 1, &expression->attnos);
	expression->trusted = is_trusted(expression->kept, expression->functions);
	expression->simplified = simplify(expression);
	expression->checks = has_domain(expression->kept, NULL) ||
		has_domain((Node *) expression->simplified, NULL);

	/* A reader needs the right to call those of a function that is inlined. */
	find_functions((Node *) expression->simplified, &expression->functions);
	expression->is_mutable =
		contain_mutable_functions((Node *) expression->simplified) ||
		lb_setting_of(expression->kept, (Node *) expression->simplified) != NULL;
}

void
lb_resolve_expression(LbExpression *expression, Oid table,
					  const LbExpressionOwner *owner, MemoryContext parent,
					  bool cached)
{
	LbExpression resolved = *expression;
	MemoryContext old;

	resolved.context = NULL;
	resolved.state_context = NULL;
	resolved.state = NULL;
	resolved.running = false;
	resolved.attnos = NULL;
	resolved.functions = NIL;
	resolved.schemas = NIL;
	resolved.owner = *owner;
	if (expression->statistics != NULL)
	{
		/* Simplifying it can raise an error, which is to leave no memory. */
		resolved.context = AllocSetContextCreate(CurrentMemoryContext,
												 "leaderboard expression",
												 ALLOCSET_SMALL_SIZES);
		old = MemoryContextSwitchTo(resolved.context);
		resolved.kept = lb_kept_expression(table, expression->statistics);
		if (resolved.kept != NULL)
			fill_in(&resolved);
		MemoryContextSwitchTo(old);
		if (resolved.kept != NULL)
			MemoryContextSetParent(resolved.context, parent);
		else
		{
			MemoryContextDelete(resolved.context);
			resolved.context = NULL;
		}
	}
	if (expression->context != NULL && cached)
		lb_cache_retire(expression->context);
	*expression = resolved;
}

LbExpression *
lb_map_expression(const LbExpression *expression, const AttrMap *map)
{
	LbExpression *copy = palloc(sizeof(LbExpression));
	bool		whole_row;

	*copy = *expression;
	copy->state_context = NULL;
	copy->state = NULL;
	copy->running = false;
	if (copy->context == NULL)
		return copy;
	copy->context = AllocSetContextCreate(CurrentMemoryContext,
										  "leaderboard expression",
										  ALLOCSET_SMALL_SIZES);
	if (map != NULL)
		copy->simplified = (Expr *) map_variable_attnos((Node *) expression->simplified,
														1, 0, map, InvalidOid, &whole_row);
	return copy;
}


/* ----------------------------------------------------------------
 *		Evaluating
 * ----------------------------------------------------------------
 */

static void
add_context(void *arg)
{
	const LbExpression *expression = (const LbExpression *) arg;

	errcontext("expression %s of board \"%s\"", expression->text,
			   expression->owner.board);
}

/*
 * A state of its evaluation.  Functions are looked up, so the rights are those
 * that it is to have.
 */
static ExprState *
make_state(const LbExpression *expression, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	ExprState  *state = ExecInitExpr(expression->simplified, NULL);

	MemoryContextSwitchTo(old);
	return state;
}

/* The memory of its results is the caller's. */
static Datum
run_state(ExprState *state, TupleTableSlot *slot, bool *isnull)
{
	ExprContext econtext = {
		.type = T_ExprContext,
		.ecxt_scantuple = slot,
		.ecxt_per_query_memory = CurrentMemoryContext,
		.ecxt_per_tuple_memory = CurrentMemoryContext
	};

	return ExecEvalExpr(state, &econtext, isnull);
}

static void
make_own_state(LbExpression *expression)
{
	if (expression->state_context == NULL)
		expression->state_context = AllocSetContextCreate(expression->context,
														  "leaderboard evaluation",
														  ALLOCSET_SMALL_SIZES);
	expression->state = make_state(expression, expression->state_context);
}

/*
 * A function that the expression calls could lead to the same expression: that
 * one has a state of its own.  After an error the state may be in use still:
 * the next row gets a new one, and its memory is given back.
 */
static pg_noinline Datum
evaluate_as_owner(LbExpression *expression, TupleTableSlot *slot,
				  bool *isnull)
{
	LbUser		saved;
	Datum volatile result = (Datum) 0;

	switch_to(&saved, &expression->owner);
	if (expression->running)
		result = run_state(make_state(expression, CurrentMemoryContext), slot,
						   isnull);
	else
	{
		expression->running = true;
		PG_TRY();
		{
			if (expression->state == NULL)
				make_own_state(expression);
			result = run_state(expression->state, slot, isnull);
		}
		PG_CATCH();
		{
			expression->running = false;
			expression->state = NULL;
			if (expression->state_context != NULL)
				MemoryContextReset(expression->state_context);
			PG_RE_THROW();
		}
		PG_END_TRY();
		expression->running = false;
	}
	lb_restore_user(&saved);
	return result;
}

Datum
lb_evaluate(LbExpression *expression, TupleTableSlot *slot, bool *isnull)
{
	ErrorContextCallback callback;
	Datum		result;

	callback.callback = add_context;
	callback.arg = expression;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	if (unlikely(!expression->trusted))
		result = evaluate_as_owner(expression, slot, isnull);
	else
	{
		if (unlikely(expression->state == NULL))
			make_own_state(expression);
		result = run_state(expression->state, slot, isnull);
	}
	error_context_stack = callback.previous;
	return result;
}
