/*-------------------------------------------------------------------------
 *
 * own.c
 *	  Statements on the extension's own tables, and plans that are kept.
 *
 * What is done to a user's table is done with the caller's privileges, and
 * its row-level security.  What is recorded beside it, in tables of the
 * extension, is written as their owner: callers need no privilege on them,
 * and have none.  All that such a statement consists of is in this library,
 * with every name qualified.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "own.h"

const LbCatalog *
lb_require_catalog(void)
{
	const LbCatalog *cat;

	lb_require_preload();
	lb_require_version();
	cat = lb_catalog();
	if (cat == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the extension leaderboard is not installed in this database"),
				 errhint("Use CREATE EXTENSION leaderboard.")));
	return cat;
}

int
lb_lock_timeout(int most)
{
	return Max(1, Min(most, DeadlockTimeout / 2));
}

Oid
lb_own_table(const char *name)
{
	const LbCatalog *cat = lb_require_catalog();
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

bool
lb_plan_has(SPIPlanPtr plan, Oid table)
{
	ListCell   *lc;

	foreach(lc, SPI_plan_get_plan_sources(plan))
	{
		const CachedPlanSource *source = (const CachedPlanSource *) lfirst(lc);

		/* A rule may have left nothing of it to run. */
		if (source->query_list == NIL ||
			list_member_oid(source->relationOids, table))
			return true;
	}
	return false;
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

/* A plan that has been run must have been of this table, if any. */
static void
check_table(SPIPlanPtr plan, Oid table)
{
	if (OidIsValid(table) && !lb_plan_has(plan, table))
		lb_wrong_table(table);
}

/*
 * Run a plan, and count that in *running.  A trigger on the user's table may call
 * us again, and must not free the plan that fired it.
 */
static uint64
run_plan(SPIPlanPtr plan, int *running, Datum *values, const char *nulls)
{
	volatile int rc = 0;

	(*running)++;
	PG_TRY();
	{
		rc = SPI_execute_plan(plan, values, nulls, false, 0);
	}
	PG_FINALLY();
	{
		(*running)--;
	}
	PG_END_TRY();
	if (rc < 0)
		elog(ERROR, "could not run a statement: %s",
			 SPI_result_code_string(rc));
	return SPI_processed;
}

uint64
lb_plan_run(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			Oid table, Oid other, int nargs, const Oid *types, Datum *values,
			const char *nulls)
{
	SPIPlanPtr	plan = kept->plan;
	uint64		n;

	if (plan == NULL || kept->generation != lb_defns_generation() ||
		kept->key != key)
	{
		uint64		generation = lb_defns_generation();

		plan = SPI_prepare_cursor(text(arg), nargs, unconstify(Oid *, types),
								  CURSOR_OPT_GENERIC_PLAN);
		if (plan == NULL)
			elog(ERROR, "could not prepare a statement: %s",
				 SPI_result_code_string(SPI_result));

		/* One that cannot be kept goes with SPI_finish(). */
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
		}
	}
	n = run_plan(plan, &kept->running, values, nulls);

	/* Only now is it known what it was made for at last. */
	check_table(plan, table);
	check_table(plan, other);
	return n;
}

uint64
lb_run_once(const char *text, Oid table, int nargs, const Oid *types,
			Datum *values)
{
	SPIPlanPtr	plan = SPI_prepare(text, nargs, unconstify(Oid *, types));
	int			running = 0;
	uint64		n;

	if (plan == NULL)
		elog(ERROR, "could not prepare a statement: %s",
			 SPI_result_code_string(SPI_result));
	n = run_plan(plan, &running, values, NULL);
	check_table(plan, table);
	SPI_freeplan(plan);
	return n;
}

char *
lb_own_text(const void *arg)
{
	const char *text = (const char *) arg;
	const LbCatalog *cat = lb_require_catalog();
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
	return buf.data;
}

/* While lb_own_run() runs a statement: the role that it runs as. */
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
		!(IsBackgroundWorker && superuser_arg(owner));

	switch_user(saved, owner, SECURITY_RESTRICTED_OPERATION |
				(all_rows ? SECURITY_NOFORCE_RLS : 0));
	saved->nestlevel = NewGUCNestLevel();
	if (!same_path)
		(void) set_config_option("search_path", "pg_catalog, pg_temp",
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
}

void
lb_switch_to_extension(LbUser *saved, Oid owner)
{
	switch_user(saved, owner, SECURITY_LOCAL_USERID_CHANGE);
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

uint64
lb_own_run(LbPlan *kept, const char *text, int nargs, const Oid *types,
		   Datum *values, const char *nulls)
{
	LbUser		saved;
	Oid			owner = lb_own_role();
	Oid			before = running_as;
	volatile uint64 n = 0;

	lb_switch_to_extension(&saved, owner);
	PG_TRY();
	{
		running_as = owner;
		n = lb_plan_run(kept, 0, lb_own_text, text, InvalidOid, InvalidOid, nargs,
						types, values, nulls);
	}
	PG_FINALLY();
	{
		running_as = before;
	}
	PG_END_TRY();
	lb_restore_user(&saved);
	return n;
}

uint64
lb_own_run_once(const char *text, int nargs, const Oid *types, Datum *values)
{
	LbUser		saved;
	uint64		n;

	lb_switch_to_extension(&saved, lb_own_role());
	n = lb_run_once(lb_own_text(text), InvalidOid, nargs, types, values);
	lb_restore_user(&saved);
	return n;
}
