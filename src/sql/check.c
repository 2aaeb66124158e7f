/*-------------------------------------------------------------------------
 *
 * check.c
 *	  What callers may do and ask for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "boards/expression.h"
#include "sql/check.h"
#include "util/compat.h"

void
lb_require_owner(Oid relid)
{
	if (!pg_class_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

static bool
may_read_attribute(Oid source, AttrNumber attno)
{
	return attno != InvalidAttrNumber &&
		pg_attribute_aclcheck(source, attno, GetUserId(),
							  ACL_SELECT) == ACLCHECK_OK;
}

/*
 * Which columns an expression reads is known when it is resolved.  Until then
 * only a role sees the board that may read them all.
 */
static bool
may_read_column(Oid source, const LbColumn *column)
{
	int			x = -1;

	if (column->expression == NULL)
		return may_read_attribute(source, get_attnum(source, column->name));
	while ((x = bms_next_member(column->expression->attnos, x)) >= 0)
	{
		if (!may_read_attribute(source, x + FirstLowInvalidHeapAttributeNumber))
			return false;
	}
	return column->expression->context != NULL;
}

bool
lb_may_see(const LbDefinition *defn)
{
	Oid			source = defn->source;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		return false;
	if (pg_class_aclcheck(source, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
	{
		for (int i = 0; i < defn->ncolumns; i++)
		{
			if (!may_read_column(source, &defn->columns[i]))
				return false;
		}
	}
	return check_enable_rls(source, InvalidOid, true) != RLS_ENABLED;
}

void
lb_null_argument(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("argument \"%s\" must not be null", name)));
}

void
lb_require_at_least(const char *name, int64 value, int64 least,
					const char *unset)
{
	if (value < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
						name, value),
				 unset == NULL ?
				 errhint("\"%s\" must be at least " INT64_FORMAT ".", name,
						 least) :
				 errhint("\"%s\" must be at least " INT64_FORMAT "; null is %s.",
						 name, least, unset)));
}

void
lb_require_read_committed(const char *function)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot run with a snapshot of the whole transaction",
						function),
				 errhint("Use the isolation level READ COMMITTED.")));
}
