/*-------------------------------------------------------------------------
 *
 * setting_of.c
 *	  Settings that the value of an expression depends on.
 *
 * PostgreSQL marks some functions IMMUTABLE whose results depend on settings.
 * Its own indexes have what the writer's session gives.  A board has to say
 * what its query says in the reader's session, so it is not made of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "boards/setting_of.h"
#include "util/compat.h"

/* The setting of a function, whatever its arguments are, or NULL. */
static const char *
setting_of_function(Oid function)
{
	switch (function)
	{
		case F_FLOAT4OUT:
		case F_FLOAT8OUT:
		case F_POINT_OUT:
		case F_LSEG_OUT:
		case F_PATH_OUT:
		case F_BOX_OUT:
		case F_POLY_OUT:
		case F_LINE_OUT:
		case F_CIRCLE_OUT:
			return "extra_float_digits";
		case F_BYTEAOUT:
			return "bytea_output";
		case F_QUOTE_IDENT:
			return "quote_all_identifiers";
		case F_AGE_TIMESTAMPTZ_TIMESTAMPTZ:
			return "TimeZone";
	}
	return NULL;
}

static bool
check_function(Oid function, void *context)
{
	const char **setting = (const char **) context;

	*setting = setting_of_function(function);
	return *setting != NULL;
}

/* Whether one of some values becomes a text that depends on a setting. */
static bool
check_texts(List *values, const char **setting)
{
	ListCell   *lc;

	foreach(lc, values)
	{
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(exprType(lfirst(lc)), &output, &varlena);
		if (check_function(output, setting))
			return true;
	}
	return false;
}

/*
 * Whether a time zone can be an abbreviation.  What those mean is set by
 * timezone_abbreviations; from PostgreSQL 18 on TimeZone comes first.  No
 * abbreviation has a slash, and these two mean the same everywhere.
 */
static bool
may_be_abbreviation(const Node *zone)
{
	const char *name;

	if (!IsA(zone, Const))
		return true;
	if (((const Const *) zone)->constisnull)
		return false;
	name = TextDatumGetCString(((const Const *) zone)->constvalue);
	return strchr(name, '/') == NULL && pg_strcasecmp(name, "UTC") != 0 &&
		pg_strcasecmp(name, "GMT") != 0;
}

/* Whether a call depends on a setting because of its arguments. */
static bool
check_call(Oid function, List *args, const char **setting)
{
	switch (function)
	{
			/* They are in SQL and cast to text, which may be folded. */
		case F_TEXTANYCAT:
		case F_ANYTEXTCAT:
		case F_QUOTE_LITERAL_ANYELEMENT:
		case F_QUOTE_NULLABLE_ANYELEMENT:
			return check_texts(args, setting);
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
		case F_TIMEZONE_TEXT_TIMESTAMP:
			*setting = may_be_abbreviation(linitial(args)) ?
				"timezone_abbreviations" : NULL;
			return *setting != NULL;
	}
	if (LB_ADDS_IN_ZONE(function) && may_be_abbreviation(lthird(args)))
		*setting = "timezone_abbreviations";
	return *setting != NULL;
}

static bool
find_setting(Node *node, void *context)
{
	const char **setting = (const char **) context;

	if (node == NULL)
		return false;
	if (check_functions_in_node(node, check_function, context))
		return true;
	if (IsA(node, FuncExpr) &&
		check_call(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args,
				   setting))
		return true;
	if (IsA(node, OpExpr) &&
		check_call(((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args,
				   setting))
		return true;
	if (check_texts(LB_JSON_CONSTRUCTOR_ARGS(node), setting))
		return true;

	/* Contents and attributes of all types become texts, in a way of XML's. */
	if (IsA(node, XmlExpr) && (((XmlExpr *) node)->op == IS_XMLELEMENT ||
							   ((XmlExpr *) node)->op == IS_XMLFOREST))
	{
		*setting = "xmlbinary";
		return true;
	}
	return expression_tree_walker(node, find_setting, context);
}

const char *
lb_setting_of(Node *expr, Node *simplified)
{
	const char *setting = NULL;

	if (!find_setting(expr, &setting))
		(void) find_setting(simplified, &setting);
	return setting;
}
