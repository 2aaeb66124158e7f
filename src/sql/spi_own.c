/*-------------------------------------------------------------------------
 *
 * spi_own.c
 *	  Statements on the extension's own tables.
 *
 * They run as the owner of the tables: callers need no privilege on them, and
 * have none.  The text of such a statement is a constant of this library, with
 * every name qualified.
 *
 * The owner is mostly a superuser, and the extension's schema mostly belongs
 * to another role: the database's owner, which may create functions and
 * operators in it, rename it, and put another schema in its place.  So three
 * things make a statement safe that runs as our owner.  Its names are
 * qualified.  Its search_path is pg_catalog and pg_temp.  And check_objects()
 * looks through the parsed statement before it runs: everything that it refers
 * to must belong to PostgreSQL or to this extension, whatever name has led
 * there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "boards/shared.h"
#include "sql/spi.h"
#include "sql/spi_internal.h"
#include "util/pause.h"

/* The role that lb_own_exec() runs a statement as, while it does. */
static Oid	running_as = InvalidOid;

/* Does not require that the library is preloaded: triggers need this. */
static const LbCatalog *
require_installed(void)
{
	const LbCatalog *cat = lb_catalog();

	if (cat == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the extension leaderboard is not installed in this database"),
				 errhint("Use CREATE EXTENSION leaderboard.")));
	return cat;
}

const LbCatalog *
lb_require_catalog(void)
{
	lb_require_preload();
	lb_require_version();
	return require_installed();
}

const char *
lb_internal_schema(void)
{
	return quote_identifier(get_namespace_name(lb_require_catalog()->internal_schema));
}

Oid
lb_own_table(const char *name)
{
	const LbCatalog *cat = require_installed();
	Oid			relid = get_relname_relid(name, cat->schema);

	if (!OidIsValid(relid))
		elog(ERROR, "table \"%s\" of the extension is missing", name);
	return relid;
}

Oid
lb_own_role(void)
{
	Relation	rel = table_open(lb_own_table("lb_board"), AccessShareLock);
	Oid			owner = rel->rd_rel->relowner;

	table_close(rel, NoLock);
	return owner;
}

bool
lb_own_running(void)
{
	return OidIsValid(running_as) && GetUserId() == running_as;
}

/*
 * An LbPlanText: the text arg, with "@." replaced by the extension's schema
 * and a dot.  Raises 55000 if the extension is not installed.
 */
static char *
own_text(const void *arg)
{
	const char *text = (const char *) arg;
	const LbCatalog *cat = require_installed();
	const char *schema = quote_identifier(get_namespace_name(cat->schema));
	StringInfoData buf;
	bool		named = false;

	initStringInfo(&buf);
	for (const char *p = text; *p != '\0'; p++)
	{
		if (p[0] == '@' && p[1] == '.')
		{
			appendStringInfoString(&buf, schema);
			named = true;
		}
		else
			appendStringInfoChar(&buf, *p);
	}
	if (named)
		lb_pause("text");
	return buf.data;
}

/* The owner of a relation, a function or a type; InvalidOid if it is gone. */
static Oid
owner_of(Oid classid, Oid object)
{
	HeapTuple	tuple;
	Oid			owner;

	tuple = SearchSysCache1(classid == RelationRelationId ? RELOID :
							classid == ProcedureRelationId ? PROCOID : TYPEOID,
							ObjectIdGetDatum(object));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	owner = classid == RelationRelationId ?
		((Form_pg_class) GETSTRUCT(tuple))->relowner :
		classid == ProcedureRelationId ?
		((Form_pg_proc) GETSTRUCT(tuple))->proowner :
		((Form_pg_type) GETSTRUCT(tuple))->typowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Whether an object belongs to PostgreSQL or to this extension.  The role that
 * created the extension can add objects to it, but only its own ones.  The
 * objects of a trusted extension belong to a superuser.  Another superuser may
 * have updated the extension.
 */
static bool
is_trusted(Oid classid, Oid object)
{
	Oid			owner;

	if (object < FirstUnpinnedObjectId)
		return true;
	owner = owner_of(classid, object);
	return getExtensionOfObject(classid, object) == require_installed()->extension &&
		(owner == running_as || superuser_arg(owner));
}

static void
not_trusted(const char *kind, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("a statement of the extension would use %s \"%s\"", kind,
					name == NULL ? "" : name),
			 errdetail("It belongs neither to PostgreSQL nor to the extension.")));
}

static bool
check_function(Oid function, void *context)
{
	if (!is_trusted(ProcedureRelationId, function))
		not_trusted("function", get_func_name(function));
	return false;
}

static bool
check_node(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		ListCell   *lc;

		foreach(lc, ((Query *) node)->rtable)
		{
			RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			if (rte->rtekind == RTE_RELATION &&
				!is_trusted(RelationRelationId, rte->relid))
				not_trusted("relation", get_rel_name(rte->relid));
		}
		return query_tree_walker((Query *) node, check_node, context, 0);
	}
	if (IsA(node, CoerceToDomain) &&
		!is_trusted(TypeRelationId, ((CoerceToDomain *) node)->resulttype))
		not_trusted("type",
					format_type_be(((CoerceToDomain *) node)->resulttype));
	(void) check_functions_in_node(node, check_function, context);
	return expression_tree_walker(node, check_node, context);
}

/*
 * Raise 42501 if a statement that is going to run as our owner refers to an
 * object of another role.  Returns the plan with its locks, which the caller
 * releases after the statement has run.  It is planned here already, since a
 * rename of our schema could otherwise still give its names another meaning:
 * while all relations are locked, no invalidation is processed between this
 * and the run that could have it parsed again.
 */
static CachedPlan *
check_objects(SPIPlanPtr plan, int *checked)
{
	CachedPlan *cplan = SPI_plan_get_cached_plan(plan);
	CachedPlanSource *source;

	if (cplan == NULL)
		elog(ERROR, "a statement of the extension must be one statement");
	source = linitial(SPI_plan_get_plan_sources(plan));
	if (*checked != cplan->generation)
	{
		ListCell   *lc;

		foreach(lc, source->query_list)
			(void) check_node((Node *) lfirst(lc), NULL);
		*checked = cplan->generation;
	}
	return cplan;
}

/*
 * Begin to run statements as our owner.  Returns the value of running_as that
 * the caller has to restore; it also restores the user unless there is an
 * error.
 */
static Oid
own_begin(LbUser *saved)
{
	Oid			owner = lb_own_role();
	Oid			before = running_as;

	lb_switch_to_extension(saved, owner);
	running_as = owner;
	return before;
}

/*
 * Run a statement as our owner, and keep its plan; if kept is NULL, plan it
 * for these values.
 */
static uint64
exec_as_owner(LbPlan *kept, const char *text, int nargs, const LbArg *args,
			  bool latest)
{
	LbUser		user;
	LbSplitArgs split;
	Oid			before = own_begin(&user);
	volatile uint64 n = 0;

	PG_TRY();
	{
		SPIPlanPtr	plan;
		bool		saved;
		int			unchecked = 0;
		int			running = 0;
		CachedPlan *cplan;

		lb_split_args(&split, nargs, args);
		plan = kept != NULL ?
			lb_kept_plan(kept, 0, own_text, text, InvalidOid, &split,
						 CURSOR_OPT_GENERIC_PLAN) :
			lb_prepare(own_text(text), InvalidOid, nargs, split.types, 0);
		saved = kept != NULL && plan == kept->plan;
		cplan = check_objects(plan, saved ? &kept->checked : &unchecked);
		n = lb_run_prepared(plan, kept != NULL ? &kept->running : &running,
							&split,
							latest ? GetLatestSnapshot() : InvalidSnapshot,
							false, InvalidOid);
		ReleaseCachedPlan(cplan, saved ? CurrentResourceOwner : NULL);
		if (kept == NULL)
			SPI_freeplan(plan);
	}
	PG_FINALLY();
	{
		running_as = before;
	}
	PG_END_TRY();
	lb_restore_user(&user);
	return n;
}

uint64
lb_own_exec(LbPlan *kept, const char *text, int nargs, const LbArg *args)
{
	return exec_as_owner(kept, text, nargs, args, false);
}

uint64
lb_own_exec_once(const char *text, int nargs, const LbArg *args)
{
	return exec_as_owner(NULL, text, nargs, args, false);
}

uint64
lb_own_exec_latest(const char *text, int nargs, const LbArg *args)
{
	return exec_as_owner(NULL, text, nargs, args, true);
}
