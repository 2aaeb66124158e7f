/*-------------------------------------------------------------------------
 *
 * generated.c
 *	  Quals that say the condition of ranked_if.
 *
 * A column that is GENERATED ALWAYS AS (NOT hidden AND banned_at IS NULL)
 * STORED is true where these two are.  A query may have been written before
 * the column was, and have the expression.  As with the predicate of a partial
 * index, the two are compared after the planner has simplified them.
 *
 * A condition that stands in the place of the column is the predicate of the
 * board.  The quals must imply it, as they must that of a partial index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "boards/expression.h"
#include "boards/setting_of.h"
#include "planner/generated.h"

/*
 * The expression of a stored column, or NULL.  It stands for the column only
 * where it gives what it gave when the row was written: a function that is not
 * PostgreSQL's may have been replaced since, and a partition can have another
 * expression than its parent.  Nor may the reader call such a function, which
 * the query does not name.
 */
static Node *
find_stored(Oid table, AttrNumber attno)
{
	Relation	rel;
	Node	   *expr = NULL;

	if (get_attgenerated(table, attno) != ATTRIBUTE_GENERATED_STORED)
		return NULL;
	rel = table_open(table, NoLock);
	if (rel->rd_rel->relkind == RELKIND_RELATION)
		expr = build_column_default(rel, attno);
	table_close(rel, NoLock);
	return expr != NULL && lb_is_trusted(expr) &&
		lb_setting_of(expr, NULL) == NULL ? expr : NULL;
}

/*
 * The expression of a column, or the one in its place, with the table's number
 * in the query.
 */
static List *
find_expression(const LbSource *source, const LbColumn *column)
{
	Index		relid = source->rel->relid;
	Node	   *expr;

	if (column->expression != NULL)
		expr = copyObject(column->expression->kept);
	else
		expr = find_stored(planner_rt_fetch(relid, source->root)->relid,
						   column->attno);
	if (expr == NULL)
		return NIL;
	expr = eval_const_expressions(source->root, expr);
	expr = (Node *) canonicalize_qual((Expr *) expr, false);
	ChangeVarNodes(expr, 1, relid, 0);
	return make_ands_implicit((Expr *) expr);
}

static bool
has_clause(List *clauses, const Node *part)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *clause = lfirst(lc);

		if (IsA(clause, RestrictInfo))
			clause = (Node *) ((RestrictInfo *) clause)->clause;
		if (equal(clause, part))
			return true;
	}
	return false;
}

List *
lb_find_generated(const LbSource *source, const LbDefinition *defn,
				  List *clauses)
{
	const LbColumn *column = lb_ranked_if_column(defn);
	List	   *parts;
	ListCell   *lc;

	if (!defn->has_ranked_if || clauses == NIL)
		return NIL;
	parts = find_expression(source, column);
	if (column->expression != NULL)
		return predicate_implied_by(parts, clauses, false) ? parts : NIL;
	foreach(lc, parts)
	{
		if (!has_clause(clauses, lfirst(lc)))
			return NIL;
	}
	return parts;
}
