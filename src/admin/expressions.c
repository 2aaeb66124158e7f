/*-------------------------------------------------------------------------
 *
 * expressions.c
 *	  Expressions of a new board: analysis, and the objects that keep them.
 *
 * PostgreSQL parses and analyzes an expression as for CREATE INDEX, with the
 * caller's search_path.  What is recorded, and what CREATE STATISTICS is
 * given, is made of the analyzed tree, so it means the same for all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic_ext.h"
#include "commands/defrem.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_clause.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "admin/expressions.h"
#include "admin/triggers.h"
#include "boards/expression.h"
#include "boards/lists.h"
#include "boards/named.h"
#include "boards/setting_of.h"
#include "sql/spi.h"
#include "util/compat.h"


/* ----------------------------------------------------------------
 *		Analysis
 * ----------------------------------------------------------------
 */

/* An expression that is being analyzed. */
#define PREFIX "SELECT "
typedef struct Analyzed
{
	const char *sql;			/* after PREFIX */
	const char *argument;		/* of lb_create_board() */
	const char *table;
} Analyzed;

/* The position of an error is one in the expression, not in the query. */
static void
point_into_expression(void *arg)
{
	const Analyzed *analyzed = (const Analyzed *) arg;
	int			position = geterrposition();

	errcontext("argument \"%s\" of lb_create_board()", analyzed->argument);
	switch (geterrcode())
	{
		case ERRCODE_UNDEFINED_COLUMN:
			/* PostgreSQL may have hinted at one. */
			errdetail("It names columns of table \"%s\".", analyzed->table);
			break;
		case ERRCODE_SYNTAX_ERROR:
		case ERRCODE_FEATURE_NOT_SUPPORTED:
		case ERRCODE_GROUPING_ERROR:
		case ERRCODE_WINDOWING_ERROR:
		case ERRCODE_DATATYPE_MISMATCH:
			errhint("It is an expression over columns of the table, as in CREATE INDEX.");
			break;
	}
	if (position <= (int) strlen(PREFIX))
		return;
	errposition(0);
	internalerrposition(position - strlen(PREFIX));
	internalerrquery(analyzed->sql + strlen(PREFIX));
}

/* A statement that is nothing but SELECT expression. */
static bool
selects_only(const SelectStmt *select)
{
	const ResTarget *target;

	if (!IsA(select, SelectStmt) || list_length(select->targetList) != 1)
		return false;
	target = linitial_node(ResTarget, select->targetList);
	return target->name == NULL && target->indirection == NIL &&
		select->distinctClause == NIL && select->intoClause == NULL &&
		select->fromClause == NIL && select->whereClause == NULL &&
		select->groupClause == NIL && select->havingClause == NULL &&
		select->windowClause == NIL && select->valuesLists == NIL &&
		select->sortClause == NIL && select->limitOffset == NULL &&
		select->limitCount == NULL && select->lockingClause == NIL &&
		select->withClause == NULL && select->op == SETOP_NONE;
}

/*
 * We may have added the parentheses.  Raise a syntax error for what is no
 * expression without them: "a) OR (b".
 */
static void
check_inside(const char *sql)
{
	const char *end = lb_parentheses_end(sql + strlen(PREFIX));
	char	   *inside;

	if (end != NULL && *end == '\0')
		return;
	inside = pstrdup(sql);
	inside[strlen(PREFIX)] = ' ';
	inside[strlen(sql) - 1] = ' ';
	(void) raw_parser(inside, RAW_PARSE_DEFAULT);
	pfree(inside);
}

static Node *
parse(const char *sql)
{
	List	   *statements = raw_parser(sql, RAW_PARSE_DEFAULT);
	const SelectStmt *select = list_length(statements) != 1 ? NULL :
		(const SelectStmt *) linitial_node(RawStmt, statements)->stmt;

	if (select == NULL || !selects_only(select))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("\"%s\" is not an expression", sql + strlen(PREFIX)),
				 errhint("Write each expression in parentheses of its own.")));
	check_inside(sql);
	return linitial_node(ResTarget, select->targetList)->val;
}

static Node *
analyze(const LbColumn *column, Relation rel)
{
	char	   *sql = psprintf(PREFIX "%s", column->expression->text);
	Analyzed	analyzed = {
		.sql = sql,
		.argument = lb_list_names[column->role],
		.table = RelationGetRelationName(rel)
	};
	ParseState *pstate = make_parsestate(NULL);
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = point_into_expression,
		.arg = &analyzed
	};
	Node	   *expr;

	error_context_stack = &callback;
	pstate->p_sourcetext = sql;
	addNSItemToQuery(pstate,
					 addRangeTableEntryForRelation(pstate, rel, AccessShareLock,
												   NULL, false, true),
					 false, true, true);
	expr = parse(sql);
	if (column->role == LB_ROLE_RANKED_IF)
		expr = transformWhereClause(pstate, expr, EXPR_KIND_INDEX_PREDICATE,
									"ranked_if");
	else
		expr = transformExpr(pstate, expr, EXPR_KIND_INDEX_EXPRESSION);
	assign_expr_collations(pstate, expr);
	error_context_stack = callback.previous;
	free_parsestate(pstate);
	return expr;
}

/* Raise unless all that an expression reads is stored in the row. */
static void
check_columns(const LbExpression *expression, Node *expr, Relation rel)
{
	Bitmapset  *columns = NULL;
	int			x = -1;

	pull_varattnos(expr, 1, &columns);
	if (bms_is_empty(columns))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("expression %s has no column of the table", expression->text),
				 errhint("It is computed for each row, from what is stored there.")));
	while ((x = bms_next_member(columns, x)) >= 0)
	{
		AttrNumber	attno = x + FirstLowInvalidHeapAttributeNumber;

		if (attno <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 attno == 0 ?
					 errmsg("expression %s has the whole row", expression->text) :
					 errmsg("expression %s has a system column", expression->text),
					 errhint("Name the columns that it needs.")));
		if (LB_VIRTUAL_COLUMN(TupleDescAttr(RelationGetDescr(rel), attno - 1)->attgenerated))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("expression %s has the virtual generated column \"%s\"",
							expression->text,
							NameStr(TupleDescAttr(RelationGetDescr(rel), attno - 1)->attname)),
					 errdetail("A board is kept in step by row triggers, which see only what is stored.")));
	}
}

/* Raise unless an expression gives the same for the same row at any time. */
static void
check_immutable(const LbExpression *expression, Node *expr, Oid owner)
{
	LbUser		saved;
	Node	   *simplified;
	const char *setting;

	/* Functions of constants are called here. */
	lb_switch_to_owner(&saved, owner, false);
	simplified = (Node *) expression_planner(copyObject((Expr *) expr));
	lb_restore_user(&saved);
	if (contain_mutable_functions(simplified))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("functions in expression %s must be marked IMMUTABLE",
						expression->text),
				 errhint("A timestamp with time zone becomes a date by AT TIME ZONE with the name of a zone.")));
	setting = lb_setting_of(expr, simplified);
	if (setting != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("expression %s depends on the setting \"%s\"",
						expression->text, setting),
				 errdetail("It can have another value in another session."),
				 strcmp(setting, "timezone_abbreviations") == 0 ?
				 errhint("Name the time zone in full, as in 'Europe/Paris', or use a column GENERATED ALWAYS AS (the expression) STORED.") :
				 errhint("Use a column GENERATED ALWAYS AS (the expression) STORED.")));
}

static void
check_collation(const LbExpression *expression, Node *expr)
{
	Oid			collation = exprCollation(expr);

	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("expression %s has a nondeterministic collation",
						expression->text),
				 errdetail("Texts can be equal there without being the same."),
				 errhint("Give it another one: (%s COLLATE \"C\").",
						 expression->text)));
	if (!OidIsValid(collation) && type_is_collatable(exprType(expr)))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for expression %s",
						expression->text),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));
}

/*
 * Keep what an expression names from being altered, to the end of the
 * transaction.  Returns the expression as it is analyzed then.
 */
static Node *
lock_named(const LbColumn *column, Relation rel, Node *expr)
{
	List	   *locked = NIL;

	while (lb_lock_named(&locked, lb_named_objects(expr)))
		expr = analyze(column, rel);
	return expr;
}

/* An expression that is nothing but a column of the table. */
static bool
is_column(const Node *expr)
{
	return IsA(expr, Var) && ((const Var *) expr)->varattno > 0;
}

void
lb_lock_expressions(const LbDefinition *defn, Oid source)
{
	Relation	rel = relation_open(source, AccessShareLock);

	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbColumn *column = &defn->columns[i];

		if (column->expression != NULL)
			(void) lock_named(column, rel, analyze(column, rel));
	}
	relation_close(rel, AccessShareLock);
}

void
lb_analyze_expressions(LbDefinition *defn, Relation rel)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbColumn   *column = &defn->columns[i];
		LbExpression *expression = column->expression;
		Node	   *expr;

		if (expression == NULL)
			continue;
		expr = analyze(column, rel);
		if (is_column(expr))
		{
			AttrNumber	attno = ((const Var *) expr)->varattno;

			column->expression = NULL;
			strlcpy(column->name,
					NameStr(TupleDescAttr(RelationGetDescr(rel), attno - 1)->attname),
					NAMEDATALEN);
			continue;
		}
		check_columns(expression, expr, rel);
		expr = lock_named(column, rel, expr);
		check_immutable(expression, expr, rel->rd_rel->relowner);
		check_collation(expression, expr);
		expression->kept = expr;
		expression->text = lb_expression_sql(expr, RelationGetRelid(rel), NULL);
	}
}


/* ----------------------------------------------------------------
 *		Statistics objects
 * ----------------------------------------------------------------
 */

/*
 * A name that no statistics object of the schema has, nor one of the table in
 * a schema where the table was before.
 */
static char *
choose_name(Oid table, const char *board)
{
	Oid			schema = get_rel_namespace(table);

	for (int i = 1;; i++)
	{
		char	   *name = makeObjectName(get_rel_name(table), board,
										  psprintf("lb%d", i));

		if (!SearchSysCacheExists2(STATEXTNAMENSP, CStringGetDatum(name),
								   ObjectIdGetDatum(schema)) &&
			!OidIsValid(lb_kept_object(table, name)))
			return name;
		pfree(name);
	}
}

static char *
qualified(Oid table, const char *name)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)),
									  name);
}

/* Give an object the owner of its table, and have ANALYZE let it be. */
static void
tidy(Oid object, Oid owner)
{
	Relation	rel = table_open(StatisticExtRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(STATEXTOID, ObjectIdGetDatum(object));
	Datum		values[Natts_pg_statistic_ext] = {0};
	bool		nulls[Natts_pg_statistic_ext] = {0};
	bool		replaces[Natts_pg_statistic_ext] = {0};
	Datum		target;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for statistics object %u", object);
	target = heap_getattr(tuple, Anum_pg_statistic_ext_stxstattarget,
						  RelationGetDescr(rel), &isnull);
	if (((Form_pg_statistic_ext) GETSTRUCT(tuple))->stxowner == owner &&
		!isnull && target == LB_STATISTICS_TARGET(0))
	{
		table_close(rel, RowExclusiveLock);
		return;
	}
	values[Anum_pg_statistic_ext_stxowner - 1] = ObjectIdGetDatum(owner);
	replaces[Anum_pg_statistic_ext_stxowner - 1] = true;
	values[Anum_pg_statistic_ext_stxstattarget - 1] = LB_STATISTICS_TARGET(0);
	replaces[Anum_pg_statistic_ext_stxstattarget - 1] = true;
	if (((Form_pg_statistic_ext) GETSTRUCT(tuple))->stxowner != owner)
		changeDependencyOnOwner(StatisticExtRelationId, object, owner);
	tuple = heap_modify_tuple(tuple, RelationGetDescr(rel), values, nulls,
							  replaces);
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	table_close(rel, RowExclusiveLock);
}

/*
 * Make the object of an expression, under its name or a new one.  As for an
 * index, the caller needs the right to create it in the schema, and the owner
 * need not have it.  The path is the one that the text was made for.
 */
static void
keep(LbDefinition *defn, LbExpression *expression, Oid owner)
{
	int			nestlevel;
	char	   *name;

	if (expression->statistics == NULL)
		expression->statistics = choose_name(defn->source, defn->name);
	name = qualified(defn->source, expression->statistics);
	nestlevel = lb_pin_search_path();
	lb_execute_utility(psprintf("CREATE STATISTICS %s ON %s FROM %s", name,
								expression->text,
								qualified(defn->source, get_rel_name(defn->source))));
	lb_execute_utility(psprintf("COMMENT ON STATISTICS %s IS %s", name,
								quote_literal_cstr(psprintf("expression of the leaderboard board \"%s\"", defn->name))));
	AtEOXact_GUC(false, nestlevel);
	tidy(lb_kept_object(defn->source, expression->statistics), owner);
	CommandCounterIncrement();
}

void
lb_keep_expressions(LbDefinition *defn, Oid owner)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		if (defn->columns[i].expression != NULL)
			keep(defn, defn->columns[i].expression, owner);
	}
}

/* The object that keeps an expression of a board, or InvalidOid. */
static Oid
kept_object(const LbDefinition *defn, const LbExpression *expression)
{
	return expression == NULL || expression->statistics == NULL ? InvalidOid :
		lb_kept_object(defn->source, expression->statistics);
}

/*
 * They go with the board as an index goes with its table: their schema or
 * their owner may not be that of the table.
 */
void
lb_drop_expressions(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		ObjectAddress object;

		ObjectAddressSet(object, StatisticExtRelationId,
						 kept_object(defn, defn->columns[i].expression));
		if (OidIsValid(object.objectId))
			performDeletion(&object, DROP_RESTRICT, 0);
	}
}

/*
 * ALTER TABLE OWNER leaves the objects to the old owner, who could drop them.
 * ALTER COLUMN TYPE, which makes them again, forgets their target: ANALYZE
 * would evaluate the expressions.
 */
void
lb_tidy_expressions(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		Oid			object = kept_object(defn, defn->columns[i].expression);

		if (OidIsValid(object))
			tidy(object, lb_table_owner(defn->source));
	}
}

LbArg
lb_names_of_expressions(const LbDefinition *defn)
{
	Datum	   *names = palloc(defn->ncolumns * sizeof(Datum));
	int			n = 0;

	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;

		if (expression != NULL && expression->statistics != NULL)
			names[n++] = lb_arg_name(expression->statistics).value;
	}
	return n == 0 ? lb_arg_null(NAMEARRAYOID) :
		lb_arg_array(NAMEOID, names, NULL, n);
}

void
lb_refresh_expressions(LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbExpression *expression = defn->columns[i].expression;
		Node	   *kept = expression == NULL || expression->statistics == NULL ?
			NULL : lb_kept_expression(defn->source, expression->statistics);

		if (kept == NULL)
			continue;
		defn->columns[i].expression = lb_copy_expression(expression);
		defn->columns[i].expression->text =
			lb_expression_sql(kept, defn->source, NULL);
	}
}

static bool
is_missing(const LbDefinition *defn, const LbExpression *expression)
{
	return expression != NULL && expression->statistics != NULL &&
		!OidIsValid(kept_object(defn, expression));
}

bool
lb_lacks_expressions(const LbDefinition *defn)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		if (is_missing(defn, defn->columns[i].expression))
			return true;
	}
	return false;
}

bool
lb_mend_expressions(const LbDefinition *defn)
{
	LbDefinition copy;
	bool		any = false;
	Relation	rel = relation_open(defn->source, NoLock);
	Oid			owner = rel->rd_rel->relowner;

	lb_copy_defn(&copy, defn);
	for (int i = 0; i < copy.ncolumns; i++)
	{
		LbColumn   *column = &copy.columns[i];
		LbExpression *expression = column->expression;
		int			nestlevel;

		if (!is_missing(&copy, expression))
			continue;
		any = true;
		nestlevel = lb_pin_search_path();
		check_immutable(expression,
						lock_named(column, rel, analyze(column, rel)), owner);
		AtEOXact_GUC(false, nestlevel);
		keep(&copy, expression, owner);
	}
	relation_close(rel, NoLock);
	return any;
}
