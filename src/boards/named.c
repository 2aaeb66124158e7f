/*-------------------------------------------------------------------------
 *
 * named.c
 *	  What expressions name, and the bodies of the functions that they call.
 *
 * pg_depend has what the tree of an expression names, but not the function of
 * an operator, nor what a function in SQL calls, which the planner may put in
 * its place.  The planner itself would tell, but it calls functions of
 * constants, and the analysis of a body calls the checks of domains and locks
 * tables.  A transaction that alters some other function must do neither.  So
 * a body that is a text is only parsed, and all functions of a name count.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/named.h"
#include "boards/xact_end.h"

/* What a walk through trees has found. */
typedef struct Walk
{
	List	   *named;			/* of ObjectAddress */
	bool		settings;		/* the function that it is in has some */
} Walk;


/* ----------------------------------------------------------------
 *		Finding
 * ----------------------------------------------------------------
 */

static void
add_object(Walk *walk, Oid classId, Oid objectId)
{
	ObjectAddress *address;

	CHECK_FOR_INTERRUPTS();
	if (objectId < FirstNormalObjectId ||
		lb_is_named(walk->named, classId, objectId))
		return;
	address = palloc(sizeof(ObjectAddress));
	ObjectAddressSet(*address, classId, objectId);
	walk->named = lappend(walk->named, address);
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
	(void) check_functions_in_node(node, add_function, context);
	if (IsA(node, CoerceToDomain))
		add_domains(walk, ((CoerceToDomain *) node)->resulttype);
	return expression_tree_walker(node, find_named, context);
}

/*
 * The schema that a name in a text has, or InvalidOid; false if no object of a
 * user has that name.  Expressions run with the search_path pg_catalog,
 * pg_temp, so a name without a schema is of PostgreSQL's own; unless the
 * function has settings.
 */
static bool
schema_of_name(const List *name, bool settings, Oid *schema)
{
	*schema = InvalidOid;
	if (list_length(name) < 2)
		return settings;
	*schema = get_namespace_oid(strVal(list_nth(name, list_length(name) - 2)), true);
	return OidIsValid(*schema);
}

static void
add_function_of(Walk *walk, HeapTuple tuple)
{
	add_object(walk, ProcedureRelationId, ((Form_pg_proc) GETSTRUCT(tuple))->oid);
}

static void
add_operator_of(Walk *walk, HeapTuple tuple)
{
	add_object(walk, ProcedureRelationId,
			   ((Form_pg_operator) GETSTRUCT(tuple))->oprcode);
}

static void
add_type_of(Walk *walk, HeapTuple tuple)
{
	add_domains(walk, ((Form_pg_type) GETSTRUCT(tuple))->oid);
}

/* Add all objects of a name, which a cache has with their schemas. */
static void
add_all_named(Walk *walk, const List *name, int cache, AttrNumber attno,
			  void (*add) (Walk *walk, HeapTuple tuple))
{
	Oid			schema;
	CatCList   *list;

	if (!schema_of_name(name, walk->settings, &schema))
		return;
	list = SearchSysCacheList1(cache, CStringGetDatum(strVal(llast(name))));
	for (int i = 0; i < list->n_members; i++)
	{
		HeapTuple	tuple = &list->members[i]->tuple;
		bool		isnull;
		Oid			of = DatumGetObjectId(SysCacheGetAttr(cache, tuple, attno,
														  &isnull));

		if (!OidIsValid(schema) || of == schema)
			add(walk, tuple);
	}
	ReleaseSysCacheList(list);
}

static void
add_functions_named(Walk *walk, const List *name)
{
	add_all_named(walk, name, PROCNAMEARGSNSP, Anum_pg_proc_pronamespace,
				  add_function_of);
}

static void
add_operators_named(Walk *walk, const List *name)
{
	add_all_named(walk, name, OPERNAMENSP, Anum_pg_operator_oprnamespace,
				  add_operator_of);
}

static void
add_types_named(Walk *walk, const List *name)
{
	add_all_named(walk, name, TYPENAMENSP, Anum_pg_type_typnamespace,
				  add_type_of);
}

/* The same in a tree that is parsed, but not analyzed. */
static bool
find_names(Node *node, void *context)
{
	Walk	   *walk = context;

	if (node == NULL)
		return false;
	if (IsA(node, FuncCall))
		add_functions_named(walk, ((FuncCall *) node)->funcname);
	else if (IsA(node, A_Expr))
		add_operators_named(walk, ((A_Expr *) node)->name);
	else if (IsA(node, SubLink) && ((SubLink *) node)->operName != NIL)
		add_operators_named(walk, ((SubLink *) node)->operName);
	else if (IsA(node, TypeName) && ((TypeName *) node)->names != NIL)
		add_types_named(walk, ((TypeName *) node)->names);
	return raw_expression_tree_walker(node, find_names, context);
}

/*
 * The parser touches nothing but memory, so what it raises needs no
 * subtransaction.  A body that is no SQL by now calls nothing.  A want of
 * memory does not tell that.
 */
static List *
parse_body(const char *body)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *volatile statements = NIL;

	PG_TRY();
	{
		statements = raw_parser(body, RAW_PARSE_DEFAULT);
	}
	PG_CATCH();
	{
		if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_INSUFFICIENT_RESOURCES)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return statements;
}

static void
look_into_text(Walk *walk, const char *body)
{
	ListCell   *lc;

	foreach(lc, parse_body(body))
	{
		Node	   *statement = lfirst_node(RawStmt, lc)->stmt;

		/* The walker does not know others. */
		if (IsA(statement, SelectStmt) || IsA(statement, InsertStmt) ||
			IsA(statement, UpdateStmt) || IsA(statement, DeleteStmt))
			(void) find_names(statement, walk);
	}
}

/* What an aggregate calls. */
static void
look_into_aggregate(Walk *walk, Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	add_object(walk, ProcedureRelationId, form->aggtransfn);
	add_object(walk, ProcedureRelationId, form->aggfinalfn);
	add_object(walk, ProcedureRelationId, form->aggcombinefn);
	add_object(walk, ProcedureRelationId, form->aggserialfn);
	add_object(walk, ProcedureRelationId, form->aggdeserialfn);
	add_object(walk, ProcedureRelationId, form->aggmtransfn);
	add_object(walk, ProcedureRelationId, form->aggminvtransfn);
	add_object(walk, ProcedureRelationId, form->aggmfinalfn);
	ReleaseSysCache(tuple);
}

/* Look into the body of a function in SQL, or into an aggregate. */
static void
look_into(Walk *walk, Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Datum		value;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->prokind == PROKIND_AGGREGATE)
		look_into_aggregate(walk, function);
	else if (form->prolang == SQLlanguageId)
	{
		walk->settings = !heap_attisnull(tuple, Anum_pg_proc_proconfig, NULL);
		value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosqlbody, &isnull);
		if (!isnull)
			(void) find_named(stringToNode(TextDatumGetCString(value)), walk);
		else
		{
			value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
			if (!isnull)
				look_into_text(walk, TextDatumGetCString(value));
		}
	}
	ReleaseSysCache(tuple);
}

List *
lb_named_objects(Node *kept)
{
	Walk		walk = {0};

	(void) find_named(kept, &walk);

	/* Looking into one may add others. */
	for (int i = 0; i < list_length(walk.named); i++)
	{
		const ObjectAddress *address = list_nth(walk.named, i);

		CHECK_FOR_INTERRUPTS();
		if (address->classId == ProcedureRelationId)
			look_into(&walk, address->objectId);
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
 * They are of a part of the object that does not exist, so no lock of
 * PostgreSQL's conflicts with them.
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

		CHECK_FOR_INTERRUPTS();
		if (lb_is_named(*locked, address->classId, address->objectId))
			continue;

		/* As CREATE STATISTICS does it later, and ALTER does it first. */
		LockDatabaseObject(address->classId, address->objectId, 0,
						   AccessShareLock);
		LockDatabaseObject(address->classId, address->objectId, LOCK_PART,
						   ShareLock);
		*locked = lappend(*locked, address);
	}
	return list_length(*locked) > before;
}
