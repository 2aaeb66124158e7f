/*-------------------------------------------------------------------------
 *
 * generated.c
 *	  Quals that say the expression of a generated ranked_if column.
 *
 * A column that is GENERATED ALWAYS AS (NOT hidden AND banned_at IS NULL)
 * STORED is true where these two are.  A query may have been written before
 * the column was, and have the expression.  As with the predicate of a partial
 * index, the two are compared after the planner has simplified them.
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

#include "planner/generated.h"

/* The expression of a column, with the table's number in the query. */
static List *
find_expression(const LbSource *source, AttrNumber attno)
{
	Index		relid = source->rel->relid;
	Oid			table = planner_rt_fetch(relid, source->root)->relid;
	Relation	rel;
	Node	   *expr;

	if (get_attgenerated(table, attno) != ATTRIBUTE_GENERATED_STORED)
		return NIL;
	rel = table_open(table, NoLock);
	expr = build_column_default(rel, attno);
	table_close(rel, NoLock);
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
	List	   *parts;
	ListCell   *lc;

	if (!defn->has_ranked_if || clauses == NIL)
		return NIL;
	parts = find_expression(source, lb_ranked_if_column(defn)->attno);
	foreach(lc, parts)
	{
		if (!has_clause(clauses, lfirst(lc)))
			return NIL;
	}
	return parts;
}
