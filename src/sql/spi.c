/*-------------------------------------------------------------------------
 *
 * spi.c
 *	  Statements that the library runs, as which role, and their plans.
 *
 * Statements on a user's table run with the caller's privileges, and row-level
 * security applies.  Statements on the extension's own tables run as their
 * owner: callers need no privilege on them, and have none.  The text of such a
 * statement is a constant of this library, with every name qualified.
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
 * The code that runs a statement keeps its plan in a variable (LbPlan).
 * Statements that have a plan for each of many tables keep these in a hash
 * (LbPlans), and reads/query.c has one for defining queries, of each board.
 * Both free their plans when definitions have changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "postmaster/bgworker.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "boards/distributed.h"
#include "boards/parts.h"
#include "boards/shared.h"
#include "sql/spi.h"
#include "util/compat.h"
#include "util/pause.h"

/* The most plans of an LbPlans. */
#define MOST_PLANS 512

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

int
lb_lock_timeout(int most)
{
	return Max(1, Min(most, DeadlockTimeout / 2));
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

Datum
lb_make_array(Oid type, Datum *values, bool *nulls, int n)
{
	int			lb = 1;
	int16		len;
	bool		byval;
	char		align;

	get_typlenbyvalalign(type, &len, &byval, &align);
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lb, type,
											  len, byval, align));
}

LbArg
lb_arg_array(Oid type, Datum *values, int n)
{
	return lb_arg(get_array_type(type), lb_make_array(type, values, NULL, n));
}

LbArg
lb_arg_text_list(const List *strings)
{
	Datum	   *values = palloc(Max(1, list_length(strings)) * sizeof(Datum));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, strings)
		values[n++] = CStringGetTextDatum((char *) lfirst(lc));
	return lb_arg_array(TEXTOID, values, n);
}

bool
lb_plan_has(SPIPlanPtr plan, Oid table)
{
	ListCell   *lc;

	foreach(lc, SPI_plan_get_plan_sources(plan))
	{
		const CachedPlanSource *source = (const CachedPlanSource *) lfirst(lc);

		/* A rule may have replaced it by nothing. */
		if (source->query_list == NIL ||
			list_member_oid(source->relationOids, table))
			return true;
	}
	return false;
}

void
lb_refresh_plan(SPIPlanPtr plan, Oid table)
{
	ListCell   *lc;

	if (!OidIsValid(table) || !lb_is_detaching(table))
		return;
	foreach(lc, SPI_plan_get_plan_sources(plan))
	{
		CachedPlanSource *source = (CachedPlanSource *) lfirst(lc);

		/* As an invalidation of one of its tables does. */
		source->is_valid = false;
		if (source->gplan != NULL)
			source->gplan->is_valid = false;
	}
}

const char *
lb_plan_text(SPIPlanPtr plan)
{
	const CachedPlanSource *source = (const CachedPlanSource *)
		linitial(SPI_plan_get_plan_sources(plan));

	return source->query_string;
}

bool
lb_is_missing_table(const ErrorData *error, const char *text)
{
	return error->sqlerrcode == ERRCODE_UNDEFINED_TABLE &&
		error->internalquery != NULL &&
		strcmp(error->internalquery, text) == 0;
}

char *
lb_qualified_name(Oid table)
{
	char	   *name = get_rel_name(table);

	return name == NULL ? NULL :
		quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)),
								   name);
}

void
lb_set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

Oid
lb_table_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class rel;
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	rel = (Form_pg_class) GETSTRUCT(tuple);
	owner = rel->relkind == RELKIND_RELATION ||
		rel->relkind == RELKIND_PARTITIONED_TABLE ? rel->relowner : InvalidOid;
	ReleaseSysCache(tuple);
	return owner;
}

void
lb_wrong_table(Oid table)
{
	char	   *name = get_rel_name(table);

	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not find table \"%s\" by its name",
					name == NULL ? "" : name),
			 errdetail("Its schema is being renamed."),
			 errhint("The transaction might succeed if retried.")));
}

/*
 * Raise 40001 if a plan that has been run was not of this table, if there is
 * one.
 */
static void
check_table(SPIPlanPtr plan, Oid table)
{
	if (OidIsValid(table) && !lb_plan_has(plan, table))
		lb_wrong_table(table);
}

/*
 * Take the line with our statement out of an error's context.  The lines of
 * the user's functions stay.
 */
static void
hide_statement(ErrorData *error, const char *text)
{
	const char *line = psprintf("SQL statement \"%s\"", text);
	char	   *found = error->context == NULL ? NULL :
		strstr(error->context, line);
	char	   *rest;

	if (found == NULL)
		return;
	rest = found + strlen(line);
	if (*rest == '\n')
		rest++;
	else if (found > error->context)
		found--;
	memmove(found, rest, strlen(rest) + 1);
	if (*error->context == '\0')
		error->context = NULL;
}

/*
 * Raise the error of a statement again, without the statement.  If it is the
 * parser's, that it has not found a table by its name, raise 40001 instead: we
 * hold a lock on the table, so its name has changed.
 */
static void
rethrow(MemoryContext context, const char *text, Oid table)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	if (lb_distributed != NULL)
		lb_distributed->explain(error);
	if (OidIsValid(table) && lb_is_missing_table(error, text))
	{
		FlushErrorState();
		lb_wrong_table(table);
	}
	hide_statement(error, text);
	FlushErrorState();
	ReThrowError(error);
}

SPIPlanPtr
lb_prepare(const char *text, Oid table, int nargs, const Oid *types,
		   int options)
{
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr volatile plan = NULL;

	if (OidIsValid(table))
		lb_pause("written");
	PG_TRY();
	{
		plan = SPI_prepare_cursor(text, nargs, unconstify(Oid *, types),
								  options);
	}
	PG_CATCH();
	{
		rethrow(context, text, table);
	}
	PG_END_TRY();
	if (plan == NULL)
		elog(ERROR, "could not prepare a statement: %s",
			 SPI_result_code_string(SPI_result));
	return plan;
}

/*
 * Run a plan, and count it in *running meanwhile: a trigger on the user's
 * table may call us again, which must not free the plan that fired it.  If
 * snapshot is InvalidSnapshot, one is taken now.
 */
static uint64
run_plan(SPIPlanPtr plan, int *running, Datum *values, const char *nulls,
		 Snapshot snapshot, bool read_only, Oid table)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int rc = 0;

	(*running)++;
	PG_TRY();
	{
		rc = SPI_execute_snapshot(plan, values, nulls, snapshot,
								  InvalidSnapshot, read_only, true, 0);
	}
	PG_CATCH();
	{
		/* PostgreSQL may have parsed a kept plan again. */
		(*running)--;
		rethrow(context, lb_plan_text(plan), table);
	}
	PG_END_TRY();
	(*running)--;
	if (rc < 0)
		elog(ERROR, "could not run a statement: %s",
			 SPI_result_code_string(rc));
	return SPI_processed;
}

/* The plan of a text that is run more than once. */
static SPIPlanPtr
find_plan(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
		  Oid table, int nargs, const Oid *types, int options)
{
	SPIPlanPtr	plan = kept->plan;

	if (plan == NULL || kept->generation != lb_defns_generation() ||
		kept->key != key)
	{
		uint64		generation = lb_defns_generation();

		plan = lb_prepare(text (arg), table, nargs, types, options);

		/*
		 * While the old plan is running, the new one lasts until
		 * SPI_finish().
		 */
		if (kept->running == 0)
		{
			if (kept->plan != NULL)
				SPI_freeplan(kept->plan);
			kept->plan = NULL;
			if (SPI_keepplan(plan) != 0)
				elog(ERROR, "could not keep a plan");
			kept->plan = plan;
			kept->generation = generation;
			kept->key = key;
			kept->checked = 0;
		}
	}
	else
		lb_refresh_plan(plan, table);
	return plan;
}

/* The plan in an entry of the hash, behind its key. */
static LbPlan *
plan_in(const LbPlans *plans, void *entry)
{
	return (LbPlan *) ((char *) entry + MAXALIGN(plans->keysize));
}

/* Free the plans that are not running. */
static void
free_plans(LbPlans *plans)
{
	HASH_SEQ_STATUS status;
	void	   *entry;

	hash_seq_init(&status, plans->hash);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		LbPlan	   *kept = plan_in(plans, entry);

		if (kept->running > 0)
			continue;
		if (kept->plan != NULL)
			SPI_freeplan(kept->plan);
		kept->plan = NULL;
		hash_search(plans->hash, entry, HASH_REMOVE, NULL);
	}
}

LbPlan *
lb_plan_of(LbPlans *plans, const void *key)
{
	void	   *entry;
	bool		found;

	if (plans->hash == NULL)
	{
		HASHCTL		ctl = {.keysize = plans->keysize,
		.entrysize = MAXALIGN(plans->keysize) + sizeof(LbPlan)};

		plans->hash = hash_create(plans->name, 32, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	if (plans->generation != lb_defns_generation() ||
		hash_get_num_entries(plans->hash) >= MOST_PLANS)
		free_plans(plans);
	plans->generation = lb_defns_generation();
	entry = hash_search(plans->hash, key, HASH_ENTER, &found);
	if (!found)
		memset(plan_in(plans, entry), 0, sizeof(LbPlan));
	return plan_in(plans, entry);
}

uint64
lb_plan_run(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			Oid table, Oid other, int nargs, const Oid *types, Datum *values)
{
	SPIPlanPtr	plan = find_plan(kept, key, text, arg, table, nargs, types,
								 CURSOR_OPT_GENERIC_PLAN);
	uint64		n;

	lb_pause("written");
	n = run_plan(plan, &kept->running, values, NULL, InvalidSnapshot, false,
				 table);

	/* Running may have parsed it again, so only now its tables are known. */
	check_table(plan, table);
	check_table(plan, other);
	return n;
}

uint64
lb_plan_run_with_nulls(LbPlan *kept, uint64 key, LbPlanText text,
					   const void *arg, Oid table, int nargs,
					   const Oid *types, Datum *values, const char *nulls)
{
	SPIPlanPtr	plan = find_plan(kept, key, text, arg, table, nargs, types,
								 CURSOR_OPT_GENERIC_PLAN);
	uint64		n = run_plan(plan, &kept->running, values, nulls,
							 InvalidSnapshot, false, table);

	check_table(plan, table);
	return n;
}

uint64
lb_plan_read(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			 Oid table, int nargs, const Oid *types, Datum *values)
{
	SPIPlanPtr	plan = find_plan(kept, key, text, arg, table, nargs, types, 0);
	uint64		n = run_plan(plan, &kept->running, values, NULL,
							 GetActiveSnapshot(), true, table);

	check_table(plan, table);
	return n;
}

uint64
lb_run_once(const char *text, Oid table, int nargs, const Oid *types,
			Datum *values)
{
	return lb_run_once_with_nulls(text, table, nargs, types, values, NULL);
}

uint64
lb_run_once_with_nulls(const char *text, Oid table, int nargs,
					   const Oid *types, Datum *values, const char *nulls)
{
	SPIPlanPtr	plan = lb_prepare(text, table, nargs, types, 0);
	int			running = 0;
	uint64		n;

	n = run_plan(plan, &running, values, nulls, InvalidSnapshot, false,
				 table);
	check_table(plan, table);
	SPI_freeplan(plan);
	return n;
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

	initStringInfo(&buf);
	for (const char *p = text; *p != '\0'; p++)
	{
		if (p[0] == '@' && p[1] == '.')
			appendStringInfoString(&buf, schema);
		else
			appendStringInfoChar(&buf, *p);
	}
	lb_pause("text");
	return buf.data;
}

/* The role that lb_own_run() runs a statement as, while it does. */
static Oid	running_as = InvalidOid;

static void
switch_user(LbUser *saved, Oid user, int context)
{
	GetUserIdAndSecContext(&saved->user, &saved->context);
	saved->nestlevel = 0;
	SetUserIdAndSecContext(user, saved->context | context);
}

void
lb_switch_to_owner(LbUser *saved, Oid owner, bool all_rows)
{
	bool		same_path = has_privs_of_role(GetUserId(), owner) &&
		!(MyBgworkerEntry != NULL && superuser_arg(owner));

	switch_user(saved, owner, SECURITY_RESTRICTED_OPERATION |
				(all_rows ? SECURITY_NOFORCE_RLS : 0));
	saved->nestlevel = NewGUCNestLevel();
	if (!same_path)
		(void) set_config_option("search_path", "pg_catalog, pg_temp",
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
}

/* Whether a table has a constraint that is checked at commit. */
static bool
has_deferred_constraint(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);
	bool		found = false;

	if (rel == NULL)
		return false;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		found |= rel->trigdesc->triggers[i].tginitdeferred;
	RelationClose(rel);
	return found;
}

void
lb_check_at_once(const LbDefinition *defn)
{
	Oid			types[] = {OIDARRAYOID};
	Oid			owner = defn->owner;
	int			n = 0;
	Datum	   *tables = palloc((defn->nparts + 1) * sizeof(Datum));
	Datum		values[1];
	char	   *names;
	LbUser		saved;

	if (has_deferred_constraint(defn->source))
		tables[n++] = ObjectIdGetDatum(defn->source);
	for (int i = 0; i < defn->nparts; i++)
	{
		if (has_deferred_constraint(defn->parts[i]))
			tables[n++] = ObjectIdGetDatum(defn->parts[i]);
	}
	if (n == 0)
		return;
	values[0] = lb_make_array(OIDOID, tables, NULL, n);
	(void) lb_run_once("SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format('%I.%I', n.nspname, c.conname), ', ') "
					   "FROM pg_catalog.pg_trigger t "
					   "JOIN pg_catalog.pg_constraint c ON c.oid OPERATOR(pg_catalog.=) t.tgconstraint "
					   "JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.connamespace "
					   "WHERE t.tgrelid OPERATOR(pg_catalog.=) ANY ($1) AND t.tginitdeferred",
					   InvalidOid, 1, types, values);
	names = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	SPI_freetuptable(SPI_tuptable);
	if (names == NULL)
		return;
	lb_switch_to_owner(&saved, owner, false);
	(void) lb_run_once(psprintf("SET CONSTRAINTS %s IMMEDIATE", names),
					   InvalidOid, 0, NULL, NULL);
	lb_restore_user(&saved);
}

bool
lb_lends_no_rights(const LbDefinition *defn)
{
	return GetUserId() != defn->owner && superuser();
}

bool
lb_switch_from_superuser(LbUser *saved, const LbDefinition *defn, bool writes)
{
	if (!lb_lends_no_rights(defn))
		return false;
	if (writes)
		lb_check_at_once(defn);
	lb_switch_to_owner(saved, defn->owner, true);
	return true;
}

void
lb_switch_to_extension(LbUser *saved, Oid owner)
{
	switch_user(saved, owner, SECURITY_LOCAL_USERID_CHANGE);
	saved->nestlevel = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
}

void
lb_restore_user(const LbUser *saved)
{
	if (saved->nestlevel > 0)
		AtEOXact_GUC(false, saved->nestlevel);
	SetUserIdAndSecContext(saved->user, saved->context);
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

uint64
lb_own_run(LbPlan *kept, const char *text, int nargs, const Oid *types,
		   Datum *values, const char *nulls)
{
	LbUser		user;
	Oid			before = own_begin(&user);
	volatile uint64 n = 0;

	PG_TRY();
	{
		SPIPlanPtr	plan = find_plan(kept, 0, own_text, text, InvalidOid,
									 nargs, types,
									 CURSOR_OPT_GENERIC_PLAN);
		bool		saved = plan == kept->plan;
		int			unchecked = 0;
		CachedPlan *cplan = check_objects(plan,
										  saved ? &kept->checked : &unchecked);

		n = run_plan(plan, &kept->running, values, nulls, InvalidSnapshot,
					 false, InvalidOid);
		ReleaseCachedPlan(cplan, saved ? CurrentResourceOwner : NULL);
	}
	PG_FINALLY();
	{
		running_as = before;
	}
	PG_END_TRY();
	lb_restore_user(&user);
	return n;
}

/* The same with a plan that is not kept. */
static uint64
run_once_as_owner(const char *text, int nargs, const Oid *types,
				  Datum *values, const char *nulls, bool latest)
{
	LbUser		user;
	Oid			before = own_begin(&user);
	volatile uint64 n = 0;

	PG_TRY();
	{
		SPIPlanPtr	plan = lb_prepare(own_text(text), InvalidOid, nargs,
									  types, 0);
		int			checked = 0;
		int			running = 0;
		CachedPlan *cplan = check_objects(plan, &checked);

		n = run_plan(plan, &running, values, nulls,
					 latest ? GetLatestSnapshot() : InvalidSnapshot,
					 false, InvalidOid);
		ReleaseCachedPlan(cplan, NULL);
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
lb_own_run_once(const char *text, int nargs, const Oid *types, Datum *values)
{
	return run_once_as_owner(text, nargs, types, values, NULL, false);
}

uint64
lb_own_run_latest(const char *text, int nargs, const Oid *types,
				  Datum *values, const char *nulls)
{
	return run_once_as_owner(text, nargs, types, values, nulls, true);
}


/* ----------------------------------------------------------------
 *		Statements with arguments that know their types
 * ----------------------------------------------------------------
 */

/* Arguments, as SPI takes them. */
typedef struct SplitArgs
{
	Oid			types[LB_MOST_ARGS];
	Datum		values[LB_MOST_ARGS];
	char		nulls[LB_MOST_ARGS + 1];
} SplitArgs;

static void
split_args(SplitArgs *split, int nargs, const LbArg *args)
{
	if (nargs > LB_MOST_ARGS)
		elog(ERROR, "a statement has too many arguments: %d", nargs);
	for (int i = 0; i < nargs; i++)
	{
		split->types[i] = args[i].type;
		split->values[i] = args[i].value;
		split->nulls[i] = args[i].isnull ? 'n' : ' ';
	}
	split->nulls[nargs] = '\0';
}

uint64
lb_plan_exec(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			 Oid table, Oid other, int nargs, const LbArg *args)
{
	SplitArgs	split;
	SPIPlanPtr	plan;
	uint64		n;

	split_args(&split, nargs, args);
	plan = find_plan(kept, key, text, arg, table, nargs, split.types,
					 CURSOR_OPT_GENERIC_PLAN);
	lb_pause("written");
	n = run_plan(plan, &kept->running, split.values, split.nulls,
				 InvalidSnapshot, false, table);

	/* Running may have parsed it again, so only now its tables are known. */
	check_table(plan, table);
	check_table(plan, other);
	return n;
}

uint64
lb_plan_exec_read(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
				  Oid table, int nargs, const LbArg *args)
{
	SplitArgs	split;
	SPIPlanPtr	plan;
	uint64		n;

	split_args(&split, nargs, args);
	plan = find_plan(kept, key, text, arg, table, nargs, split.types, 0);
	n = run_plan(plan, &kept->running, split.values, split.nulls,
				 GetActiveSnapshot(), true, table);
	check_table(plan, table);
	return n;
}

uint64
lb_exec_once(const char *text, Oid table, int nargs, const LbArg *args)
{
	SplitArgs	split;

	split_args(&split, nargs, args);
	return lb_run_once_with_nulls(text, table, nargs, split.types,
								  split.values, split.nulls);
}

uint64
lb_own_exec(LbPlan *kept, const char *text, int nargs, const LbArg *args)
{
	SplitArgs	split;

	split_args(&split, nargs, args);
	return lb_own_run(kept, text, nargs, split.types, split.values,
					  split.nulls);
}

uint64
lb_own_exec_once(const char *text, int nargs, const LbArg *args)
{
	SplitArgs	split;

	split_args(&split, nargs, args);
	return run_once_as_owner(text, nargs, split.types, split.values,
							 split.nulls, false);
}

uint64
lb_own_exec_latest(const char *text, int nargs, const LbArg *args)
{
	SplitArgs	split;

	split_args(&split, nargs, args);
	return run_once_as_owner(text, nargs, split.types, split.values,
							 split.nulls, true);
}
