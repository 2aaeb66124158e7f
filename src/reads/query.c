/*-------------------------------------------------------------------------
 *
 * query.c
 *	  The defining queries, run through SPI.
 *
 * Each runs in the caller's snapshot, with the caller's privileges and
 * row-level security.  query_text.c has the texts.
 *
 * Another engine that keeps the rows of a table, such as Citus, gets constants
 * where it would run subqueries (LB_STEP_GIVEN).  The first of the two
 * statements reads the member's row, whose place the second one counts, each
 * as of when it runs, as the engine has it: its servers have no snapshot in
 * common.
 *
 * Each board has plans of its own, so a hash keeps them.  The other statements
 * of the library keep one plan each, in a variable of the code that runs them
 * (spi_own.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "boards/board_value.h"
#include "boards/catalog.h"
#include "boards/distributed.h"
#include "boards/expression.h"
#include "boards/resolve.h"
#include "boards/target.h"
#include "reads/query.h"
#include "sql/spi.h"
#include "util/pause.h"

/* The most parameters that are no operands, without the board's values. */
#define MAX_KEY (LB_MAX_RANK_COLUMNS + LB_START_NUMBERS)

/* How often a query is run again because a schema was renamed. */
#define MAX_TRIES 10

/*
 * Plans are kept by board, query, step, method, and the types of the
 * parameters.
 */
typedef struct PlanKey
{
	int32		id;
	Oid			source;
	int32		method;
	bool		own_types;
	LbQueryStep step;
	const LbQuery *query;
} PlanKey;

typedef struct PlanEntry
{
	PlanKey		key;			/* hash key; must be first */
	SPIPlanPtr	plan;			/* NULL until prepared */
} PlanEntry;

/* A statement of a query. */
typedef struct Statement
{
	const LbQueryArgs *args;
	LbQueryStep step;

	/*
	 * Behind LB_STEP_KEY: the member's rank_by columns; with LB_STEP_PAGE,
	 * what LbStart has.
	 */
	int			nkey;
	Datum		key[MAX_KEY];
	Oid			types[MAX_KEY];
} Statement;

static HTAB *plans = NULL;

/* lb_defns_generation() of the definitions that the plans were made from. */
static uint64 plans_generation = 0;

/* Queries of this backend under way; they nest. */
static int	plans_running = 0;

static SPIPlanPtr get_plan(const LbDefinition *defn,
						   const Statement *statement, bool shared,
						   const char *volatile *text);
static uint64 run_query(const LbDefinition *defn, const LbQueryArgs *args,
						DestReceiver *dest, Tuplestorestate *rows);
static ParamListInfo make_params(const LbDefinition *defn,
								 const Statement *statement);
static void free_plans(void);

/*
 * Run the query of a function that returns one value.  See query.h.
 */
Datum
lb_query_value(const LbDefinition *defn, const LbQueryArgs *args,
			   bool *isnull)
{
	Datum		result = (Datum) 0;

	SPI_connect();

	*isnull = true;
	if (run_query(defn, args, NULL, NULL) > 0)
	{
		Form_pg_attribute att = TupleDescAttr(SPI_tuptable->tupdesc, 0);

		result = lb_row_nullable(SPI_tuptable, 0, 1, isnull);

		/* It has to outlive SPI's memory. */
		if (!*isnull)
			result = SPI_datumTransfer(result, att->attbyval, att->attlen);
	}

	SPI_finish();

	return result;
}

/*
 * Run the query of a function that returns rows.  See query.h.
 */
uint64
lb_query_rows(const LbDefinition *defn, const LbQueryArgs *args,
			  Tuplestorestate *tupstore, TupleDesc tupdesc)
{
	MemoryContext caller = CurrentMemoryContext;
	DestReceiver *dest;
	uint64		nrows;

	SPI_connect();

	/*
	 * Rows go straight to the caller's tuplestore, which also checks their
	 * types against its descriptor.
	 */
	dest = CreateTuplestoreDestReceiver();
	SetTuplestoreDestReceiverParams(dest, tupstore, caller, false, tupdesc,
									gettext_noop("the defining query does not return the function's columns"));
	nrows = run_query(defn, args, dest, tupstore);
	dest->rDestroy(dest);

	SPI_finish();

	return nrows;
}

/* Whether definitions may have changed since the plans were made. */
static bool
plans_are_stale(void)
{
	return plans_generation != lb_defns_generation();
}

/*
 * Switch to the table's owner, if the query must run with the owner's rights.
 * Returns whether lb_restore_user() must follow.  *shared says whether the
 * plan may be kept and used by every role.
 *
 * A read by the extension itself must not run the functions of a user's
 * indexes with the rights of the extension's owner.  It needs all rows:
 * standings without some would be taken for final.  So policies that apply to
 * the table's owner, by FORCE ROW LEVEL SECURITY, are an error.
 *
 * Nor do such functions run as a superuser that reads the board: the owner
 * reads the same rows, if policies apply to neither.  If the table has
 * policies, they apply to the owner, who cannot use a kept plan.  Here a flag
 * keeps policies from applying to the owner, but another engine's servers do
 * not have that: there they are an error.
 */
static pg_noinline bool
switch_user(const LbDefinition *defn, LbUser *saved, bool *shared)
{
	bool		own = lb_own_running();

	*shared = own || lb_may_read(unconstify(LbDefinition *, defn));
	if (!own && (!superuser() || GetUserId() == defn->owner))
		return false;
	if (defn->row_security && defn->problem == lb_engine_problem &&
		check_enable_rls(defn->source, defn->owner, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("policies of table \"%s\" apply to its owner",
						get_rel_name(defn->source)),
				 errdetail("Reads of a distributed table by a superuser run as the owner on its servers."),
				 errhint("Use NO FORCE ROW LEVEL SECURITY, or give the owner BYPASSRLS.")));
	lb_switch_to_owner(saved, defn->owner, !own);
	if (own)
		lb_set_locally("row_security", "off");
	else
		*shared = *shared && !defn->row_security;
	return true;
}

/*
 * Execute a statement.  Returns false if it has not read the source, but
 * another table of that name, or has found no table of that name.
 *
 * Planning and execution can process an invalidation, after which defn may be
 * gone: nothing uses it after the plan has been found.
 */
static bool
execute(const LbDefinition *defn, const Statement *statement,
		DestReceiver *dest)
{
	SPIExecuteOptions options;
	SPIPlanPtr volatile plan = NULL;
	const char *volatile text = "";
	volatile int rc = 0;
	volatile bool gone = false;
	Oid			source = defn->source;
	bool		switched;
	bool		shared;
	LbUser		saved;
	MemoryContext context = CurrentMemoryContext;

	memset(&options, 0, sizeof(options));
	options.params = make_params(defn, statement);
	options.read_only = true;	/* use the caller's snapshot */
	options.dest = dest;

	if (plans_are_stale() && plans_running == 0)
		free_plans();
	switched = switch_user(defn, &saved, &shared);
	lb_pause("named");
	plans_running++;
	PG_TRY();
	{
		/* A role without privileges gets its error from the parser, too. */
		plan = get_plan(defn, statement, shared, &text);
		rc = SPI_execute_plan_extended(plan, &options);
		plans_running--;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		plans_running--;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (lb_distributed != NULL)
			lb_distributed->explain(error);
		if (!lb_is_missing_table(error, text))
		{
			/* It says nothing to a role that may not read the table. */
			if (error->sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE)
				PG_RE_THROW();
			lb_hide_statement(error, text);
			if (error->hint == NULL && error->message_id != NULL &&
				strcmp(error->message_id, "permission denied for table %s") == 0)
				error->hint = "Reads run with the privileges of the caller, who needs SELECT on the table.";
			FlushErrorState();
			ReThrowError(error);
		}
		FlushErrorState();
		gone = true;
	}
	PG_END_TRY();

	if (switched)
		lb_restore_user(&saved);
	if (gone)
		return false;
	if (rc != SPI_OK_SELECT)
		elog(ERROR, "could not run the defining query: %s",
			 SPI_result_code_string(rc));

	return lb_plan_has(plan, source);
}

/* Take the first n of the key columns from the one row of LB_STEP_KEY. */
static void
take_key(Statement *statement, int n)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;

	statement->nkey = n;
	for (int i = 0; i < n; i++)
	{
		statement->key[i] = lb_row_datum(SPI_tuptable, 0, i + 1);
		statement->types[i] = TupleDescAttr(desc, i)->atttypid;
	}
}

/* Take a key that the caller knows, and for a page the numbers behind it. */
static void
take_start(Statement *statement, const LbDefinition *defn)
{
	const LbStart *start = statement->args->start;
	const int64 numbers[LB_START_NUMBERS] = {
		start->n, start->skip, start->before, start->rank
	};
	int			n = defn->nrank_by;

	for (int i = 0; i < n; i++)
	{
		statement->key[i] = start->key[i];
		statement->types[i] = defn->columns[i].type->oid;
	}
	for (int i = 0; statement->step == LB_STEP_PAGE && i < LB_START_NUMBERS; i++)
	{
		statement->key[n] = Int64GetDatum(numbers[i]);
		statement->types[n++] = INT8OID;
	}
	statement->nkey = n;
}

/*
 * Execute a query whose rows another engine keeps, in two statements if it can
 * be.  Returns what execute() does.
 */
static bool
execute_distributed(const LbDefinition *defn, Statement *statement,
					DestReceiver *dest)
{
	Oid			source = defn->source;
	Oid			catalog = defn->catalog;
	int32		id = defn->id;
	int			nrank_by = defn->nrank_by;

	if (statement->step == LB_STEP_GIVEN ||
		statement->args->query->given[0] == NULL)
		return execute(defn, statement, dest);
	statement->step = LB_STEP_KEY;
	if (!execute(defn, statement, NULL))
		return false;
	if (SPI_processed == 0 || statement->args->key)
		return true;
	take_key(statement, nrank_by);
	statement->step = LB_STEP_GIVEN;

	/* The names can have changed until the first one locked the source. */
	defn = lb_defn_of(source, catalog, id);
	return defn != NULL && defn->nrank_by == statement->nkey &&
		execute(defn, statement, dest);
}

/*
 * Whether the values that the query sends may have another form, as text, than
 * the session's settings say: not if it takes or makes texts of values itself.
 */
static bool
sends_values(const LbQuery *query)
{
	Oid			first = query->operands[0].type;

	return first == LB_MEMBER_TYPE || first == LB_MEMBERS_TYPE ||
		first == LB_SCORE_TYPE || first == LB_SCORES_TYPE;
}

/*
 * Make settings for a query on a distributed table, whose values are sent as
 * text: the servers must read the same ones.  Returns what AtEOXact_GUC()
 * needs.
 */
static int
set_up_distributed(const LbQuery *query)
{
	int			nestlevel = NewGUCNestLevel();

	if (lb_distributed != NULL)
		lb_distributed->set_up(false);
	if (!sends_values(query))
		return nestlevel;
	if (extra_float_digits < 1)
		lb_set_locally("extra_float_digits", "1");
	if (DateStyle != USE_ISO_DATES)
		lb_set_locally("DateStyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		lb_set_locally("IntervalStyle", "postgres");
	return nestlevel;
}

/*
 * Whether the text would name the source.  Our lock on the source does not
 * keep its schema from being renamed.
 */
static bool
names_source(const LbDefinition *defn)
{
	char	   *schema = get_namespace_name(get_rel_namespace(defn->source));
	char	   *name = get_rel_name(defn->source);

	return schema != NULL && name != NULL &&
		strcmp(quote_qualified_identifier(schema, name),
			   defn->source_name) == 0 &&
		get_relname_relid(name, get_namespace_oid(schema, true)) == defn->source;
}

/*
 * Execute a query between SPI_connect and SPI_finish, again if a schema was
 * renamed meanwhile.  Returns the number of its rows.  dest puts them into
 * rows; if dest is NULL, they are in SPI_tuptable.
 */
static uint64
run_query(const LbDefinition *defn, const LbQueryArgs *args,
		  DestReceiver *dest, Tuplestorestate *rows)
{
	Oid			source = defn->source;
	Oid			catalog = defn->catalog;
	int32		id = defn->id;
	int			nestlevel = 0;
	int			pinned;

	/*
	 * A transaction that has locked the source already would use a plan from
	 * before an engine has taken the rows over.
	 */
	AcceptInvalidationMessages();
	if (defn->problem == lb_engine_problem)
		nestlevel = set_up_distributed(args->query);

	/* The texts of expressions are made for that path. */
	pinned = lb_has_expressions(defn) ? lb_pin_search_path() : 0;
	for (int try = 0; try < MAX_TRIES; try++)
	{
		Statement	statement = {.args = args,.step = args->step};

		if (args->start != NULL)
			take_start(&statement, defn);
		if (names_source(defn) &&
			(nestlevel > 0 ? execute_distributed(defn, &statement, dest) :
			 execute(defn, &statement, dest)))
		{
			if (nestlevel > 0)
				AtEOXact_GUC(true, nestlevel);
			if (pinned > 0)
				AtEOXact_GUC(true, pinned);
			return SPI_processed;
		}

		/* Another table has that name now, or none. */
		if (rows != NULL)
			tuplestore_clear(rows);
		lb_next_generation();
		AcceptInvalidationMessages();
		defn = lb_defn_of(source, catalog, id);
		if (defn == NULL)
			break;
	}
	lb_wrong_table(source);
}

/* Make the words of a key of its columns' values. */
static bool
encode_key(const LbDefinition *defn, int64 *key)
{
	int			nwords = 0;

	for (int i = 0; i < lb_nindex_columns(defn); i++)
	{
		const LbColumn *column = &defn->columns[i];
		Datum		value = lb_row_datum(SPI_tuptable, 0, i + 1);
		int64		words[LB_MAX_KEY_WORDS];
		int			n = lb_encode(column, value, words);

		if (!lb_append_words(key, &nwords, words, n) ||
			lb_is_negative_zero(column, value))
			return false;
	}
	return true;
}

bool
lb_query_words(const LbDefinition *defn, LbQueryArgs *args, int64 *key,
			   bool *found)
{
	LbDefinition copy;			/* it lasts through the statement */
	bool		known;

	lb_copy_defn(&copy, defn);
	args->key = true;
	args->step = LB_STEP_KEY;
	SPI_connect();
	*found = run_query(defn, args, NULL, NULL) > 0;
	known = !*found || encode_key(&copy, key);
	SPI_finish();
	return known;
}

/*
 * The plan of a query: the one that is kept, if it may be shared and is there,
 * or else a new one.  *text is the text that it was made from.
 */
static SPIPlanPtr
get_plan(const LbDefinition *defn, const Statement *statement, bool shared,
		 const char *volatile *text)
{
	const LbQueryArgs *args = statement->args;
	PlanKey		key;
	PlanEntry  *entry = NULL;
	SPIPlanPtr	plan;
	Oid			argtypes[LB_MAX_PARAMS + MAX_KEY + LB_MAX_VALUE_COLUMNS];
	int			nargs;
	bool		found;

	/*
	 * Do not use plans that are out of date but cannot be freed yet.  A query
	 * within a query, as a policy could make one, gets a plan of its own.
	 */
	if (shared && !plans_are_stale())
	{
		if (plans == NULL)
		{
			HASHCTL		ctl;

			ctl.keysize = sizeof(PlanKey);
			ctl.entrysize = sizeof(PlanEntry);
			plans = hash_create("leaderboard plans", 64, &ctl,
								HASH_ELEM | HASH_BLOBS);
		}
		memset(&key, 0, sizeof(key));
		key.id = defn->id;
		key.source = defn->source;
		key.query = args->query;
		key.method = args->method;
		key.own_types = args->own_types;
		key.step = statement->step;
		entry = hash_search(plans, &key, HASH_ENTER, &found);
		if (!found)
			entry->plan = NULL;
		if (entry->plan != NULL)
		{
			lb_refresh_plan(entry->plan, defn->source);
			*text = lb_plan_text(entry->plan);
			return entry->plan;
		}
	}

	nargs = lb_query_params(defn, args->query, args->own_types, argtypes);
	for (int i = 0; i < statement->nkey; i++)
		argtypes[nargs++] = statement->types[i];
	for (int i = 0; i < defn->nboard; i++)
		argtypes[nargs++] = lb_board_param(&lb_board_columns(defn)[i]);

	*text = lb_query_text(defn, args->query, statement->step, args->method,
						  args->own_types);
	plan = lb_prepare(*text, InvalidOid, nargs, argtypes,
					  CURSOR_OPT_PARALLEL_OK);

	/*
	 * Keep the plan only if its definition has not changed meanwhile.  The
	 * entry is still there: no plan is freed while plans_running is not zero.
	 */
	if (entry != NULL && !plans_are_stale())
	{
		SPI_keepplan(plan);
		entry->plan = plan;
	}
	return plan;
}

bool
lb_query_running(void)
{
	return plans_running > 0;
}

/* Free all plans.  None may be running. */
static void
free_plans(void)
{
	HASH_SEQ_STATUS seq;
	PlanEntry  *entry;

	Assert(plans_running == 0);

	if (plans != NULL)
	{
		hash_seq_init(&seq, plans);
		while ((entry = hash_seq_search(&seq)) != NULL)
		{
			if (entry->plan != NULL)
				SPI_freeplan(entry->plan);
			entry->plan = NULL;
			hash_search(plans, &entry->key, HASH_REMOVE, NULL);
		}
	}
	plans_generation = lb_defns_generation();
}

static void
set_param(ParamExternData *param, Oid type, Datum value, bool isnull)
{
	param->value = value;
	param->isnull = isnull;
	param->pflags = PARAM_FLAG_CONST;
	param->ptype = type;
}

/*
 * The values of the board columns.  A text that a type does not print is no
 * row's, and no row's board column equals null.
 */
static void
set_board(ParamExternData *params, const LbDefinition *defn,
		  const LbValue *value)
{
	char	   *name = value == NULL ? NULL : lb_value_to_name(defn, value);
	char	  **texts = name == NULL ? NULL : lb_texts_of_name(defn, name);

	for (int i = 0; i < defn->nboard; i++)
	{
		Oid			type = lb_board_param(&lb_board_columns(defn)[i]);
		Oid			input;
		Oid			param;
		Datum		datum = (Datum) 0;

		if (texts != NULL)
		{
			getTypeInputInfo(type, &input, &param);
			datum = OidInputFunctionCall(input, texts[i], param, -1);
		}
		set_param(&params[i], type, datum, texts == NULL);
	}
}

/*
 * The parameters and the board's values as the executor expects them, or NULL
 * if there are none.  They are marked constant, so that a plan can be made for
 * these values.
 */
static ParamListInfo
make_params(const LbDefinition *defn, const Statement *statement)
{
	const LbQueryArgs *args = statement->args;
	Oid			types[LB_MAX_PARAMS];
	int			n = lb_query_params(defn, args->query, args->own_types,
									types);
	int			nkey = statement->nkey;
	ParamListInfo params;

	if (n + nkey + defn->nboard == 0)
		return NULL;
	params = makeParamList(n + nkey + defn->nboard);
	for (int i = 0; i < n; i++)
		set_param(&params->params[i], types[i], args->params[i],
				  args->nulls != NULL && args->nulls[i]);
	for (int i = 0; i < nkey; i++)
		set_param(&params->params[n + i], statement->types[i],
				  statement->key[i], false);
	set_board(&params->params[n + nkey], defn, args->value);
	return params;
}
