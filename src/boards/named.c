/*-------------------------------------------------------------------------
 *
 * named.c
 *	  What expressions name, and the bodies of the functions that they call.
 *
 * pg_depend has what the tree of an expression names, but not the function of
 * an operator, nor what a function in SQL calls, which the planner may put in
 * its place.  The planner itself would tell, but it calls functions of
 * constants: that is no business of whoever alters some other function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/functions.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/named.h"
#include "boards/xact_end.h"
#include "util/subxact.h"
#include "util/user.h"

/* An object, and for a function one of the calls. */
typedef struct Named
{
	ObjectAddress address;
	Node	   *call;
} Named;

/* What a walk through trees has found. */
typedef struct Walk
{
	List	   *named;
	Node	   *node;			/* where it is */
} Walk;


/* ----------------------------------------------------------------
 *		Finding
 * ----------------------------------------------------------------
 */

static void
add_object(Walk *walk, Oid classId, Oid objectId)
{
	Named	   *named;
	ListCell   *lc;

	if (objectId < FirstNormalObjectId)
		return;
	foreach(lc, walk->named)
	{
		named = lfirst(lc);
		if (named->address.classId == classId &&
			named->address.objectId == objectId)
			return;
	}
	named = palloc(sizeof(Named));
	ObjectAddressSet(named->address, classId, objectId);
	named->call = walk->node;
	walk->named = lappend(walk->named, named);
}

static bool
add_function(Oid function, void *context)
{
	add_object(context, ProcedureRelationId, function);
	return false;
}

/* A domain has the checks of those that it is of, too. */
static void
add_domains(Walk *walk, Oid type)
{
	while (get_typtype(type) == TYPTYPE_DOMAIN)
	{
		HeapTuple	tuple;

		add_object(walk, TypeRelationId, type);
		tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
		if (!HeapTupleIsValid(tuple))
			break;
		type = ((Form_pg_type) GETSTRUCT(tuple))->typbasetype;
		ReleaseSysCache(tuple);
	}
}

static bool
find_named(Node *node, void *context)
{
	Walk	   *walk = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_named, context, 0);
	walk->node = node;
	(void) check_functions_in_node(node, add_function, context);
	if (IsA(node, CoerceToDomain))
		add_domains(walk, ((CoerceToDomain *) node)->resulttype);
	return expression_tree_walker(node, find_named, context);
}

/* A body that is a text, and its walk. */
typedef struct Body
{
	HeapTuple	function;
	char	   *text;
	Node	   *call;
	Oid			role;
	Walk	   *walk;
} Body;

/* As the planner does it before it inlines a function. */
static void
analyze_body(void *arg)
{
	Body	   *body = arg;
	SQLFunctionParseInfoPtr info;
	LbUser		saved;
	ListCell   *lc;

	lb_switch_user(&saved, body->role, SECURITY_RESTRICTED_OPERATION);
	lb_set_locally("search_path", "pg_catalog, pg_temp");
	info = prepare_sql_fn_parse_info(body->function, body->call, InvalidOid);
	foreach(lc, pg_parse_query(body->text))
	{
		Query	   *query = parse_analyze_withcb(lfirst(lc), body->text,
												 (ParserSetupHook) sql_fn_parser_setup,
												 info, NULL);

		(void) find_named((Node *) query, body->walk);
	}
	lb_restore_user(&saved);
}

/*
 * Look into the body of a function in SQL.  One that has settings of its own
 * is never inlined, and may mean others by its names.
 */
static void
look_into(Walk *walk, const Named *named, Oid role)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID,
										ObjectIdGetDatum(named->address.objectId));
	Form_pg_proc form;
	Datum		value;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->prolang == SQLlanguageId && form->prokind == PROKIND_FUNCTION &&
		heap_attisnull(tuple, Anum_pg_proc_proconfig, NULL))
	{
		value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosqlbody, &isnull);
		if (!isnull)
			(void) find_named(stringToNode(TextDatumGetCString(value)), walk);
		else
		{
			Body		body = {
				.function = tuple,.call = named->call,.role = role,.walk = walk
			};
			ErrorData  *error;

			value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
			body.text = isnull ? pstrdup("") : TextDatumGetCString(value);
			error = lb_try(analyze_body, &body);
			if (error != NULL &&
				ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
				ReThrowError(error);
			if (error != NULL)
				FreeErrorData(error);
		}
	}
	ReleaseSysCache(tuple);
}

List *
lb_named_objects(Node *kept, Oid role)
{
	Walk		walk = {0};

	(void) find_named(kept, &walk);

	/* Looking into one may add others. */
	for (int i = 0; i < list_length(walk.named); i++)
	{
		const Named *named = list_nth(walk.named, i);

		CHECK_FOR_INTERRUPTS();
		if (named->address.classId == ProcedureRelationId)
			look_into(&walk, named, role);
	}
	return walk.named;
}

bool
lb_is_named(const List *objects, Oid classId, Oid objectId)
{
	ListCell   *lc;

	foreach(lc, objects)
	{
		const ObjectAddress *address = lfirst(lc);

		if (address->classId == classId && address->objectId == objectId)
			return true;
	}
	return false;
}


/* ----------------------------------------------------------------
 *		Locks
 *
 * They are of a part of the object that does not exist, so that they are in
 * nobody else's way.
 * ----------------------------------------------------------------
 */

#define LOCK_PART 1

/*
 * A transaction that alters more objects than this takes one lock for all that
 * follow.
 */
#define FEW_ALTERED 64

static int	naltered = 0;		/* in this transaction */

static void
forget_altered(void)
{
	naltered = 0;
}

void
lb_lock_altered(Oid classId, Oid objectId)
{
	static bool done = false;

	if (!done)
		lb_at_xact_end(forget_altered);
	done = true;
	if (classId != ProcedureRelationId && classId != TypeRelationId)
		return;
	if (naltered < FEW_ALTERED)
	{
		naltered++;
		LockDatabaseObject(classId, objectId, LOCK_PART, RowExclusiveLock);
	}
	else
		LockDatabaseObject(ProcedureRelationId, InvalidOid, LOCK_PART,
						   RowExclusiveLock);
}

bool
lb_lock_named(List **locked, List *objects)
{
	int			before = list_length(*locked);
	ListCell   *lc;

	if (objects != NIL && *locked == NIL)
		LockDatabaseObject(ProcedureRelationId, InvalidOid, LOCK_PART, ShareLock);
	foreach(lc, objects)
	{
		ObjectAddress *address = lfirst(lc);

		if (lb_is_named(*locked, address->classId, address->objectId))
			continue;
		LockDatabaseObject(address->classId, address->objectId, LOCK_PART,
						   ShareLock);
		*locked = lappend(*locked, address);
	}
	return list_length(*locked) > before;
}
