/*-------------------------------------------------------------------------
 *
 * ddl_expressions.c
 *	  What the current transaction does to what expressions of boards name.
 *
 * An expression follows renames by itself, since a tree keeps it.  Its text in
 * lb_board does not, and a function that is replaced may give other values for
 * rows that are on the board.  So the board is recorded anew, and built again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/catalog.h"
#include "boards/expression.h"
#include "capture/ddl.h"
#include "capture/ddl_internal.h"
#include "capture/xactlog.h"

/* Whether an expression calls a function, or its text has that name. */
static bool
depends_on(const LbExpression *expression, Oid function, const char *name)
{
	return expression != NULL &&
		(list_member_oid(expression->functions, function) ||
		 (name != NULL && strstr(expression->text, name) != NULL));
}

/*
 * A function was replaced, or altered as what has that name: boards whose
 * expressions depend on it have other texts or values.
 */
static void
named_altered(Oid function, const char *name)
{
	LbDefinition **defns;
	int			n = lb_catalog() == NULL ? 0 : lb_all_defns(&defns);

	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = defns[i];
		bool		depends = false;

		if (!lb_has_expressions(defn) || lb_created_here(defn))
			continue;
		for (int c = 0; c < defn->ncolumns; c++)
			depends |= depends_on(defn->columns[c].expression, function, name);

		/* What it calls is known when it is resolved. */
		if (!depends && (defn->resolved || !OidIsValid(function)))
			continue;
		lb_xact_set_unknown(defn, "what an expression of the board names was altered");
		lb_note_renamed(defn);
	}
}

/* A statistics object was altered or is dropped, which may keep one. */
static void
statistics_altered(Oid object)
{
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(object));
	Form_pg_statistic_ext form;
	LbDefinition **defns;
	int			n;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_statistic_ext) GETSTRUCT(tuple);
	n = lb_catalog() == NULL ? 0 : lb_defns_on(form->stxrelid, &defns);
	for (int i = 0; i < n; i++)
	{
		bool		keeps = false;

		for (int c = 0; c < defns[i]->ncolumns; c++)
		{
			const LbExpression *expression = defns[i]->columns[c].expression;

			keeps |= expression != NULL && expression->statistics != NULL &&
				strcmp(expression->statistics, NameStr(form->stxname)) == 0;
		}
		if (!keeps || lb_created_here(defns[i]) ||
			lb_dropped_here(defns[i]->catalog, defns[i]->id))
			continue;
		lb_xact_set_unknown(defns[i], "an object that keeps an expression of the board was altered");
		CacheInvalidateRelcacheByRelid(form->stxrelid);
	}
	ReleaseSysCache(tuple);
}

void
lb_object_altered(ObjectAccessType access, Oid classId, Oid objectId)
{
	bool		alter = access == OAT_POST_ALTER;

	if (classId == StatisticExtRelationId && (alter || access == OAT_DROP))
		statistics_altered(objectId);
	else if (classId == ProcedureRelationId &&
			 (alter || access == OAT_POST_CREATE))
		named_altered(objectId, NULL);
	else if (!alter)
		return;
	else if (classId == NamespaceRelationId)
		named_altered(InvalidOid, get_namespace_name(objectId));
	else if (classId == OperatorRelationId)
		named_altered(InvalidOid, get_opname(objectId));
	else if (classId == CollationRelationId)
		named_altered(InvalidOid, get_collation_name(objectId));
	else if (classId == TypeRelationId)
		named_altered(InvalidOid, format_type_be(objectId));
}
