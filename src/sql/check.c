/*-------------------------------------------------------------------------
 *
 * check.c
 *	  What callers may do and ask for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

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
