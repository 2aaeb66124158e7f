/*-------------------------------------------------------------------------
 *
 * ask.c
 *	  Asking the boards of all shards of a distributed table.
 *
 * A question is one statement over the table of places, which has a row for each
 * shard (service/spread_places.c).  Citus sends it to where the rows are, and so are the
 * shards: a function there (shard_board.c) asks the shard's board.  It costs one round trip,
 * whatever is asked.
 *
 * A shard that cannot answer exactly, such as one that was just moved and has no
 * board yet, answers null, and then the caller runs the query.  So it does if the rows
 * are not those of all shards: lb_are_all_shards() compares them after the statement
 * with what Citus knows.  So the table of places, which users own, can make reads slow
 * but not wrong.
 *
 * Keys travel as the words that boards hold (keys.h), not as texts: they are compared
 * without the types' functions, and no setting of a session changes them.
 *
 * Statements run in the order of a function's calls, one at a time, with the
 * caller's rights, or for a superuser with those of the table's owner.  Each is as of
 * the moment when it runs, as the engine has it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "boards/board_value.h"
#include "boards/catalog.h"
#include "boards/counters.h"
#include "boards/resolve.h"
#include "boards/shards.h"
#include "reads/ask.h"
#include "reads/query.h"
#include "reads/section.h"

/* The same as lb_ask_begin(), whatever the operands are. */
static bool
begin(LbAsk *ask, LbCall *call)
{
	const LbTarget *target = &call->access.target;
	const LbDefinition *defn = target->defn;
	char	   *name = NULL;

	if (!call->access.query || defn->problem != lb_engine_problem ||
		call->access.cause != LB_CAUSE_OFFLINE || lb_own_running())
		return false;
	if (defn->family)
	{
		name = lb_value_to_name(defn, &target->value);
		if (name == NULL)
			return false;
	}
	memset(ask, 0, sizeof(LbAsk));
	ask->call = call;
	ask->keys_hash = lb_keys_hash(defn);
	ask->value = CStringGetTextDatum(name == NULL ? "" : psprintf(":%s", name));
	lb_copy_defn(&ask->defn, defn);
	return true;
}

bool
lb_ask_begin(LbAsk *ask, LbCall *call)
{
	return !call->nulls[0] && begin(ask, call);
}

/* What the text of a question depends on. */
typedef struct TextArg
{
	const LbQuestion *question;
	Oid			places;
} TextArg;

static char *
question_text(const void *arg)
{
	const TextArg *a = (const TextArg *) arg;
	const char *schema = get_namespace_name(lb_require_catalog()->schema);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT p.shard, p.self, %s.%s($1, $2, $3, p.shard, p.self, p.tableoid",
					 quote_identifier(schema), a->question->function);
	for (int i = 0; i < a->question->nargs; i++)
		appendStringInfo(&buf, ", $%d", LB_SHARD_PARAMS + i + 1);
	appendStringInfo(&buf, ") FROM %s AS p",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(a->places)),
												get_rel_name(a->places)));
	return buf.data;
}

/*
 * Take a row of the statement: two numbers and an answer, in the current memory
 * context.  Returns false if it has nulls.
 */
static bool
take_row(HeapTuple row, int64 *shard, int64 *self, ArrayType **answer)
{
	Datum		values[3];

	for (int i = 0; i < 3; i++)
	{
		bool		isnull;

		values[i] = SPI_getbinval(row, SPI_tuptable->tupdesc, i + 1, &isnull);
		if (isnull)
			return false;
	}
	*shard = DatumGetInt64(values[0]);
	*self = DatumGetInt64(values[1]);
	*answer = DatumGetArrayTypePCopy(values[2]);
	return !ARR_HASNULL(*answer);
}

/*
 * Take the rows of the statement into the memory context of the caller.  Returns
 * whether all shards have answered.
 */
static bool
take_rows(LbAsk *ask, MemoryContext caller)
{
	MemoryContext old = MemoryContextSwitchTo(caller);
	int			n = (int) SPI_processed;
	int64	   *shards = palloc(Max(1, n) * sizeof(int64));
	int64	   *selves = palloc(Max(1, n) * sizeof(int64));
	bool		whole = true;

	ask->n = n;
	ask->answers = palloc(Max(1, n) * sizeof(ArrayType *));
	for (int i = 0; whole && i < n; i++)
		whole = take_row(SPI_tuptable->vals[i], &shards[i], &selves[i],
						 &ask->answers[i]);
	MemoryContextSwitchTo(old);
	return whole &&
		lb_are_all_shards(ask->defn.source, ask->places, n, shards, selves);
}

/*
 * Whether the current user may run the statement.  The query needs none of these
 * privileges.
 */
static bool
may_ask(Oid places)
{
	return pg_class_aclcheck(places, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		pg_namespace_aclcheck(lb_require_catalog()->schema, GetUserId(),
							  ACL_USAGE) == ACLCHECK_OK &&
		lb_may_call_elsewhere();
}

bool
lb_ask_shards(LbAsk *ask, LbQuestion *question, const Datum *values)
{
	static const Oid types[LB_SHARD_PARAMS] = {TEXTOID, TEXTOID, INT4OID};
	MemoryContext caller = CurrentMemoryContext;
	Oid			all_types[LB_SHARD_PARAMS + LB_MAX_QUESTION_ARGS];
	Datum		all[LB_SHARD_PARAMS + LB_MAX_QUESTION_ARGS];
	TextArg		arg = {question, lb_places(ask->defn.source)};
	int			nestlevel;
	bool		switched;
	LbUser		saved;
	bool		may;
	bool		whole;

	Assert(question->nargs <= LB_MAX_QUESTION_ARGS);
	ask->places = arg.places;
	if (!OidIsValid(ask->places))
		return false;
	all[0] = CStringGetTextDatum(ask->defn.name);
	all[1] = ask->value;
	all[2] = Int32GetDatum(ask->keys_hash);
	memcpy(all + LB_SHARD_PARAMS, values, question->nargs * sizeof(Datum));
	memcpy(all_types, types, sizeof(types));
	memcpy(all_types + LB_SHARD_PARAMS, question->types,
		   question->nargs * sizeof(Oid));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	nestlevel = lb_settings_elsewhere();
	switched = lb_switch_from_superuser(&saved, &ask->defn, false);
	may = may_ask(ask->places);
	if (may)
		(void) lb_plan_read(&question->plans[ask->places % LB_ASK_PLANS],
							ask->places, question_text, &arg, ask->places,
							LB_SHARD_PARAMS + question->nargs, all_types, all);
	if (switched)
		lb_restore_user(&saved);
	whole = may && take_rows(ask, caller);
	SPI_finish();
	AtEOXact_GUC(true, nestlevel);
	return whole;
}

/* The statements can have made the definition another one. */
static void
find_again(const LbAsk *ask)
{
	LbTarget   *target = &ask->call->access.target;

	target->defn = lb_defn_of(ask->defn.source, ask->defn.catalog,
							  ask->defn.id);
	if (target->defn == NULL)
		lb_wrong_table(ask->defn.source);
}

void
lb_ask_end(const LbAsk *ask)
{
	find_again(ask);
	lb_count_read(&ask->call->access.target, NULL, LB_CAUSE_NONE, false);
}

static const Oid count_types[] = {INT8ARRAYOID};

LbQuestion	lb_count_question = {
	.function = "lb_shard_counts",
	.nargs = lengthof(count_types),
	.types = count_types
};

/* The boards are asked to count nothing: null is the answer of those that are offline. */
void
lb_require_shards(LbCall *call)
{
	Datum		values[] = {lb_bigint_array(NULL, 0)};
	LbAsk		ask;

	if (!begin(&ask, call))
		return;
	if (!lb_ask_shards(&ask, &lb_count_question, values))
		lb_raise_shards_offline(&ask.defn);
	find_again(&ask);
}
