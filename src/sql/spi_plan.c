/*-------------------------------------------------------------------------
 *
 * spi_plan.c
 *	  Statements that the library runs, and their plans.
 *
 * Statements on a user's table run with the caller's privileges, and row-level
 * security applies.  The extension's own tables: spi_own.c.
 *
 * The code that runs a statement keeps its plan in a variable (LbPlan).
 * Statements that have a plan for each of many tables keep these in a hash
 * (LbPlans), and reads/query.c has one for defining queries, of each board.
 * Both free their plans when definitions have changed.
 *
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"

#include "boards/distributed.h"
#include "boards/parts.h"
#include "sql/spi.h"
#include "sql/spi_internal.h"
#include "util/pause.h"

/* The most plans of an LbPlans. */
#define MOST_PLANS 512

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
lb_arg_array(Oid type, Datum *values, bool *nulls, int n)
{
	return lb_arg(get_array_type(type), lb_make_array(type, values, nulls, n));
}

LbArg
lb_arg_text_list(const List *strings)
{
	Datum	   *values = palloc(Max(1, list_length(strings)) * sizeof(Datum));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, strings)
		values[n++] = CStringGetTextDatum((char *) lfirst(lc));
	return lb_arg_array(TEXTOID, values, NULL, n);
}

void
lb_split_args(LbSplitArgs *split, int nargs, const LbArg *args)
{
	if (nargs > LB_MOST_ARGS)
		elog(ERROR, "a statement has too many arguments: %d", nargs);
	for (int i = 0; i < nargs; i++)
	{
		split->types[i] = args[i].type;
		split->values[i] = args[i].value;
		split->nulls[i] = args[i].isnull ? 'n' : ' ';
	}
	split->n = nargs;
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

void
lb_hide_statement(ErrorData *error, const char *text)
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
	lb_hide_statement(error, text);
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
								  options | LB_CURSOR_OPT_OWN);
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

uint64
lb_run_prepared(SPIPlanPtr plan, int *running, LbSplitArgs *args,
				Snapshot snapshot, bool read_only, Oid table)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int rc = 0;

	(*running)++;
	PG_TRY();
	{
		rc = SPI_execute_snapshot(plan, args->values, args->nulls, snapshot,
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

SPIPlanPtr
lb_kept_plan(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			 Oid table, const LbSplitArgs *args, int options)
{
	SPIPlanPtr	plan = kept->plan;

	if (plan == NULL || kept->generation != lb_defns_generation() ||
		kept->key != key)
	{
		uint64		generation = lb_defns_generation();

		plan = lb_prepare(text (arg), table, args->n, args->types,
						  options);

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
lb_plan_exec(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
			 Oid table, Oid other, int nargs, const LbArg *args)
{
	LbSplitArgs split;
	SPIPlanPtr	plan;
	uint64		n;

	lb_split_args(&split, nargs, args);
	plan = lb_kept_plan(kept, key, text, arg, table, &split,
						CURSOR_OPT_GENERIC_PLAN);
	lb_pause("written");
	n = lb_run_prepared(plan, &kept->running, &split, InvalidSnapshot, false,
						table);

	/* Running may have parsed it again, so only now its tables are known. */
	check_table(plan, table);
	check_table(plan, other);
	return n;
}

uint64
lb_plan_exec_read(LbPlan *kept, uint64 key, LbPlanText text, const void *arg,
				  Oid table, int nargs, const LbArg *args)
{
	LbSplitArgs split;
	SPIPlanPtr	plan;
	uint64		n;

	lb_split_args(&split, nargs, args);
	plan = lb_kept_plan(kept, key, text, arg, table, &split, 0);
	n = lb_run_prepared(plan, &kept->running, &split, GetActiveSnapshot(),
						true, table);
	check_table(plan, table);
	return n;
}

uint64
lb_exec_once(const char *text, Oid table, int nargs, const LbArg *args)
{
	LbSplitArgs split;
	SPIPlanPtr	plan;
	int			running = 0;
	uint64		n;

	lb_split_args(&split, nargs, args);
	plan = lb_prepare(text, table, nargs, split.types, 0);
	n = lb_run_prepared(plan, &running, &split, InvalidSnapshot, false, table);
	check_table(plan, table);
	SPI_freeplan(plan);
	return n;
}

Portal
lb_open_cursor(const char *text, Oid table, int nargs, const LbArg *args)
{
	LbSplitArgs split;
	SPIPlanPtr	plan;
	Portal		portal;

	lb_split_args(&split, nargs, args);
	plan = lb_prepare(text, table, nargs, split.types, 0);
	portal = SPI_cursor_open(NULL, plan, split.values, split.nulls, false);
	check_table(plan, table);
	SPI_freeplan(plan);
	return portal;
}
