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

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "boards/catalog.h"
#include "boards/expression.h"
#include "boards/named.h"
#include "boards/resolve.h"
#include "capture/ddl.h"
#include "capture/ddl_internal.h"
#include "capture/xactlog.h"

/*
 * Whether an object depends on another one, or on one in a schema; not for
 * being in the schema itself.
 */
static bool
depends_on(Oid object, Oid classId, Oid objectId)
{
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(StatisticExtRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(rel, DependDependerIndexId, true, NULL, 2, keys);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress on = {form->refclassid, form->refobjid, 0};

		if (on.classId == NamespaceRelationId || on.classId == RelationRelationId)
			continue;
		found = classId == NamespaceRelationId ?
			get_object_namespace(&on) == objectId :
			on.classId == classId && on.objectId == objectId;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * Whether an expression names an object that pg_depend does not have for it:
 * the function of an operator, or one that the body of another one calls.
 */
static bool
names(const LbDefinition *defn, const LbExpression *expression, Oid classId,
	  Oid objectId)
{
	Node	   *kept;

	if (classId != ProcedureRelationId && classId != TypeRelationId)
		return false;
	kept = lb_kept_expression(defn->source, expression->statistics);
	return kept != NULL &&
		lb_is_named(lb_named_objects(kept), classId, objectId);
}

static bool
board_depends_on(const LbDefinition *defn, Oid classId, Oid objectId)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;
		Oid			object = expression == NULL || expression->statistics == NULL ?
			InvalidOid : lb_kept_object(defn->source, expression->statistics);

		if (OidIsValid(object) &&
			(depends_on(object, classId, objectId) ||
			 names(defn, expression, classId, objectId)))
			return true;
	}
	return false;
}

/*
 * An object was replaced or altered: boards whose expressions depend on it
 * have other texts or values.
 */
static void
named_altered(Oid classId, Oid objectId)
{
	LbDefinition **defns;
	int			n;
	MemoryContext context;

	if (lb_catalog() == NULL)
		return;
	lb_lock_altered(classId, objectId);
	n = lb_all_defns(&defns);
	context = AllocSetContextCreate(CurrentMemoryContext,
									"leaderboard dependencies",
									ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = defns[i];
		MemoryContext old;
		bool		depends;

		CHECK_FOR_INTERRUPTS();
		if (!lb_has_expressions(defn))
			continue;
		old = MemoryContextSwitchTo(context);
		depends = board_depends_on(defn, classId, objectId);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
		if (!depends)
			continue;
		if (!lb_created_here(defn))
			lb_xact_set_unknown(defn, "what an expression of the board names was altered");
		lb_note_renamed(defn);
	}
	MemoryContextDelete(context);
}

/*
 * The domain that a constraint is of, or InvalidOid.  The caches do not show
 * one that has just been created.
 */
static Oid
constrained_domain(Oid constraint)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	ScanKeyInit(&key, Anum_pg_constraint_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(constraint));
	scan = systable_beginscan(rel, ConstraintOidIndexId, true, SnapshotSelf, 1,
							  &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		result = ((Form_pg_constraint) GETSTRUCT(tuple))->contypid;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/* A constraint comes or goes. */
static void
constraint_altered(Oid constraint)
{
	Oid			domain = lb_catalog() == NULL ? InvalidOid :
		constrained_domain(constraint);

	if (OidIsValid(domain))
		named_altered(TypeRelationId, domain);
}

/*
 * Whether a function is dropped, which the body of another one may call, or
 * was replaced, and not made: then the caches have it as it was.
 */
static bool
is_replaced(ObjectAccessType access, Oid classId, Oid objectId)
{
	return classId == ProcedureRelationId &&
		(access == OAT_DROP ||
		 (access == OAT_POST_CREATE &&
		  SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(objectId))));
}

/* Whether a board has an expression that an object of that name keeps. */
static bool
is_kept_by(const LbDefinition *defn, const char *name)
{
	for (int i = 0; i < defn->ncolumns; i++)
	{
		const LbExpression *expression = defn->columns[i].expression;

		if (expression != NULL && expression->statistics != NULL &&
			strcmp(expression->statistics, name) == 0)
			return true;
	}
	return false;
}

/* A statistics object comes, changes or goes, which may keep an expression. */
static void
keeper_altered(const FormData_pg_statistic_ext *form, bool created)
{
	LbDefinition **defns;
	int			n = lb_catalog() == NULL ? 0 :
		lb_defns_on(form->stxrelid, &defns);

	for (int i = 0; i < n; i++)
	{
		if (!is_kept_by(defns[i], NameStr(form->stxname)) ||
			lb_dropped_here(defns[i]->catalog, defns[i]->id))
			continue;
		if (created)
			lb_note_renamed(defns[i]);
		if (lb_created_here(defns[i]))
			continue;
		lb_xact_set_unknown(defns[i], "an object that keeps an expression of the board was altered");
		CacheInvalidateRelcacheByRelid(form->stxrelid);
	}
}

/* A statistics object was altered or is dropped. */
static void
statistics_altered(Oid object)
{
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(object));

	if (!HeapTupleIsValid(tuple))
		return;
	keeper_altered((Form_pg_statistic_ext) GETSTRUCT(tuple), false);
	ReleaseSysCache(tuple);
}

/*
 * A statistics object was created, which the caches do not show yet.  It may
 * keep an expression: in a restore, or after ALTER COLUMN TYPE.  Then its
 * board is recorded anew, with the expression that it keeps.
 */
static void
statistics_created(Oid object)
{
	Relation	rel = table_open(StatisticExtRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_statistic_ext_oid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(rel, StatisticExtOidIndexId, true, SnapshotSelf,
							  1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		keeper_altered((Form_pg_statistic_ext) GETSTRUCT(tuple), true);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/* The owner of a table was altered: what keeps its expressions follows. */
void
lb_owner_altered(Oid relid)
{
	LbDefinition **defns;
	int			n = lb_defns_on(relid, &defns);

	for (int i = 0; i < n; i++)
	{
		if (lb_has_expressions(defns[i]))
			lb_note_renamed(defns[i]);
	}
}

void
lb_object_altered(ObjectAccessType access, Oid classId, Oid objectId)
{
	bool		alter = access == OAT_POST_ALTER;

	if (classId == StatisticExtRelationId)
	{
		if (alter || access == OAT_DROP)
			statistics_altered(objectId);
		else if (access == OAT_POST_CREATE)
			statistics_created(objectId);
	}
	else if (classId == ConstraintRelationId)
	{
		if (access == OAT_POST_CREATE || access == OAT_DROP)
			constraint_altered(objectId);
	}
	else if (alter || is_replaced(access, classId, objectId))
		named_altered(classId, objectId);
}
