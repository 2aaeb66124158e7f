/*-------------------------------------------------------------------------
 *
 * query_text_clauses.c
 *	  Clauses of the defining queries: the rows of B, their order O, and which
 *	  of them come before P.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/expression.h"
#include "boards/resolve.h"
#include "reads/query_text_internal.h"

/* A column, or the expression in its place. */
static void
append_column(LbText *t, const char *alias, const LbColumn *column)
{
	if (column->expression == NULL)
		appendStringInfo(&t->buf, "%s.%s", alias, lb_quoted(column));
	else
		appendStringInfoString(&t->buf,
							   lb_expression_sql(column->expression->kept,
												 t->defn->source, alias));
}

void
lb_text_column(LbText *t, const char *alias, const LbColumn *column)
{
	bool		partial = column->expression != NULL && t->defn->has_ranked_if &&
		column->role < LB_ROLE_MEMBER;

	if (partial)
	{
		appendStringInfoString(&t->buf, "(CASE WHEN ");
		append_column(t, alias, lb_ranked_if_column(t->defn));
		appendStringInfoString(&t->buf, " THEN ");
	}
	append_column(t, alias, column);
	if (partial)
		appendStringInfoString(&t->buf, " END)");
}

const char *
lb_text_collation(const LbColumn *column)
{
	return column->type->words == LB_TEXT ? " COLLATE pg_catalog.\"C\"" : "";
}

void
lb_text_ordered(LbText *t, const char *alias, const LbColumn *column)
{
	lb_text_column(t, alias, column);
	appendStringInfoString(&t->buf, lb_text_collation(column));
}

void
lb_text_members(LbText *t, const char *separator, LbTextMember append)
{
	for (int i = 0; i < t->defn->nmember; i++)
	{
		if (i > 0)
			appendStringInfoString(&t->buf, separator);
		append(t, i);
	}
}

int
lb_text_param(LbText *t, int i)
{
	return i == 0 ? 1 : lb_query_noperands(t->query) + i;
}

/*
 * Whether a column of the source is declared NOT NULL, and its collation.  A
 * caller that does not need one of them passes NULL.
 *
 * From version 17 on the planner sees for itself that a test for null cannot
 * fail, and later versions have NOT NULL constraints that are not valid yet:
 * there, the test stays.
 */
static void
column_facts(const LbDefinition *defn, AttrNumber attno, bool *notnull,
			 Oid *collation)
{
	HeapTuple	tuple;
	Form_pg_attribute att;

	if (notnull)
		*notnull = false;
	if (collation)
		*collation = InvalidOid;

	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(defn->source),
							Int16GetDatum(attno));
	if (!HeapTupleIsValid(tuple))
		return;
	att = (Form_pg_attribute) GETSTRUCT(tuple);
#if PG_VERSION_NUM < 170000
	if (notnull)
		*notnull = att->attnotnull;
#endif
	if (collation)
		*collation = att->attcollation;
	ReleaseSysCache(tuple);
}

/*
 * AND column IS NOT NULL.  A test that can never fail would still keep the
 * planner from reading an index on the score alone, so it is left out.
 */
static void
append_not_null(LbText *t, const char *alias, const LbColumn *column)
{
	bool		notnull = false;

	if (column->expression == NULL)
		column_facts(t->defn, column->attno, &notnull, NULL);
	if (notnull)
		return;
	appendStringInfoString(&t->buf, " AND ");
	lb_text_column(t, alias, column);
	appendStringInfoString(&t->buf, " IS NOT NULL");
}

static bool
is_enum(const LbColumn *column)
{
	return column->type != NULL && column->type->oid == ANYENUMOID;
}

static bool
is_of_domain(const LbDefinition *defn, const LbColumn *column)
{
	return column->oid != (column->expression == NULL ?
						   get_atttype(defn->source, column->attno) :
						   exprType(column->expression->kept));
}

Oid
lb_board_param(const LbColumn *column)
{
	return is_enum(column) ? column->oid : TEXTOID;
}

/*
 * AND a board column has the value of the parameter.
 *
 * An enum is not named, since the reader may not be allowed to use its schema.
 * A domain over one has no operators of its own, but in CASE the two have the
 * enum in common.
 */
static void
append_board_column(LbText *t, const char *alias, const LbColumn *column,
					int param)
{
	const LbDefinition *defn = t->defn;
	bool		as_domain = is_enum(column) && is_of_domain(defn, column);
	bool		cast = !is_enum(column) &&
		(column->type == NULL || !column->type->is_text);
	Oid			collation;

	appendStringInfoString(&t->buf, " AND ");
	if (cast)
	{
		const char *type = lb_sql_type(column);

		appendStringInfoString(&t->buf, "CAST(");
		append_column(t, alias, column);
		appendStringInfo(&t->buf, " AS %s) OPERATOR(pg_catalog.=) CAST($%d AS %s)",
						 type, param, type);
		return;
	}
	if (as_domain)
		appendStringInfoString(&t->buf, "CASE WHEN true THEN ");
	append_column(t, alias, column);
	if (as_domain)
		appendStringInfo(&t->buf, " ELSE $%d END", param);
	appendStringInfo(&t->buf, " OPERATOR(pg_catalog.=) $%d", param);

	/*
	 * Boards differ where their names differ in any byte.  Not every
	 * collation agrees.
	 */
	if (column->expression != NULL || is_enum(column))
		return;
	column_facts(defn, column->attno, NULL, &collation);
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		appendStringInfo(&t->buf, " AND %s.%s COLLATE pg_catalog.\"C\" OPERATOR(pg_catalog.=) $%d",
						 alias, lb_quoted(column), param);
}

/*
 * AND the row is of the board whose value the last parameters are, one for
 * each board column.
 */
static void
append_board(LbText *t, const char *alias)
{
	for (int i = 0; i < t->defn->nboard; i++)
		append_board_column(t, alias, &lb_board_columns(t->defn)[i],
							t->nparams + 1 + i);
}

void
lb_text_from(LbText *t, const char *alias, bool prefix)
{
	const LbDefinition *defn = t->defn;

	appendStringInfo(&t->buf, "FROM %s %s WHERE true", defn->from_name, alias);
	for (int i = 0; i < lb_nkey_columns(defn); i++)
		append_not_null(t, alias, &defn->columns[i]);
	if (prefix)
	{
		appendStringInfoString(&t->buf, " AND pg_catalog.starts_with(CAST(");
		append_column(t, alias, lb_board_column(defn));
		appendStringInfoString(&t->buf, " AS pg_catalog.text) COLLATE pg_catalog.\"C\", $1)");
	}
	else if (defn->family)
		append_board(t, alias);
	if (defn->has_ranked_if)
	{
		appendStringInfoString(&t->buf, " AND ");
		append_column(t, alias, lb_ranked_if_column(defn));
	}
}

void
lb_text_order(LbText *t, const char *alias, bool reverse)
{
	for (int i = 0; i < lb_nkey_columns(t->defn); i++)
	{
		const LbColumn *column = &t->defn->columns[i];

		if (i > 0)
			appendStringInfoString(&t->buf, ", ");
		lb_text_ordered(t, alias, column);
		appendStringInfoString(&t->buf, column->descending != reverse ?
							   " DESC" : " ASC");
	}
}

static void
append_operator(LbText *t, bool less, bool or_equal)
{
	appendStringInfo(&t->buf, "OPERATOR(pg_catalog.%s%s)",
					 less ? "<" : ">", or_equal ? "=" : "");
}

/* A column of the operand that is a member. */
static void
member_operand(LbText *t, int i)
{
	appendStringInfo(&t->buf, "$%d", lb_text_param(t, i));
}

/* A row is that of the member: p, and t. */
static void
append_is_member(LbText *t, const char *alias, int i)
{
	lb_text_column(t, alias, &lb_member_columns(t->defn)[i]);
	appendStringInfoString(&t->buf, " OPERATOR(pg_catalog.=) ");
	member_operand(t, i);
}

static void
member_of_p(LbText *t, int i)
{
	append_is_member(t, "p", i);
}

void
lb_text_is_member(LbText *t, int i)
{
	append_is_member(t, "t", i);
}

/*
 * A rank_by column of P, as a scalar subquery.  If the member has several
 * rows, P is the first of them in O.
 */
static void
append_subquery(LbText *t, int column)
{
	appendStringInfoString(&t->buf, "(SELECT ");
	lb_text_column(t, "p", &t->defn->columns[column]);
	appendStringInfoChar(&t->buf, ' ');
	lb_text_from(t, "p", false);
	appendStringInfoString(&t->buf, " AND ");
	lb_text_members(t, " AND ", member_of_p);
	appendStringInfoString(&t->buf, " ORDER BY ");
	lb_text_order(t, "p", false);
	appendStringInfoString(&t->buf, " LIMIT 1)");
}

void
lb_text_given(LbText *t, int column)
{
	if (column >= t->defn->nrank_by)
		member_operand(t, column - t->defn->nrank_by);
	else if (column == 0)
		appendStringInfoString(&t->buf, "$2");
	else
		appendStringInfo(&t->buf, "(SELECT CAST(($3)[%d] AS pg_catalog.%s))",
						 column, t->defn->columns[column].type->name);
}

void
lb_text_lookup(LbText *t, int column)
{
	if (t->key)
	{
		lb_text_given(t, column);
		return;
	}
	if (column >= t->defn->nrank_by)
	{
		member_operand(t, column - t->defn->nrank_by);
		return;
	}
	if (t->given >= 0)
	{
		appendStringInfo(&t->buf, "$%d", t->given + column + 1);
		return;
	}
	append_subquery(t, column);
}

/*
 * The same condition as lb_text_beside() where all columns ascend: one row
 * comparison.
 */
static void
append_row_comparison(LbText *t, int column, bool before)
{
	const LbDefinition *defn = t->defn;

	appendStringInfoString(&t->buf, "ROW(");
	for (int i = column; i < t->ncompared; i++)
	{
		if (i > column)
			appendStringInfoString(&t->buf, ", ");
		lb_text_ordered(t, "t", &defn->columns[i]);
	}
	appendStringInfoString(&t->buf, ") ");
	append_operator(t, before, !before);
	appendStringInfoString(&t->buf, " ROW(");
	for (int i = column; i < t->ncompared; i++)
	{
		if (i > column)
			appendStringInfoString(&t->buf, ", ");
		lb_text_lookup(t, i);
	}
	appendStringInfoChar(&t->buf, ')');
}

/* t's column equals P's, and ... */
static void
append_equal_and(LbText *t, int column)
{
	appendStringInfoChar(&t->buf, '(');
	lb_text_ordered(t, "t", &t->defn->columns[column]);
	appendStringInfoString(&t->buf, " OPERATOR(pg_catalog.=) ");
	lb_text_lookup(t, column);
	appendStringInfoString(&t->buf, " AND ");
}

/* t's column compared with P's. */
static void
append_comparison(LbText *t, int column, bool less, bool or_equal)
{
	lb_text_ordered(t, "t", &t->defn->columns[column]);
	appendStringInfoChar(&t->buf, ' ');
	append_operator(t, less, or_equal);
	appendStringInfoChar(&t->buf, ' ');
	lb_text_lookup(t, column);
}

void
lb_text_beside(LbText *t, int column, bool before)
{
	const LbDefinition *defn = t->defn;
	bool		below = t->given >= 0 && column > 0;
	bool		uniform = !below;
	bool		less = before != defn->columns[column].descending;

	for (int i = column; i < defn->nrank_by; i++)
		uniform = uniform && !defn->columns[i].descending;
	if (column == t->ncompared - 1)
	{
		append_comparison(t, column, less, !before);
		return;
	}
	if (uniform)
	{
		append_row_comparison(t, column, before);
		return;
	}
	appendStringInfoChar(&t->buf, '(');
	if (!below)
	{
		append_comparison(t, column, less, true);
		appendStringInfoString(&t->buf, " AND (");
	}
	append_comparison(t, column, less, false);
	appendStringInfoString(&t->buf, " OR ");
	if (below)
		append_equal_and(t, column);
	lb_text_beside(t, column + 1, before);
	appendStringInfoString(&t->buf, "))");
}
