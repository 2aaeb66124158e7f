/*-------------------------------------------------------------------------
 *
 * call.c
 *	  The call of a read function.
 *
 * All read functions follow the same steps.  Check the arguments, find the
 * board, and see whether its index may be used.  If so, have the function's
 * routine answer from the index; if not, or if the routine finds that it
 * cannot, run the defining query and count why.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "boards/catalog.h"
#include "boards/counters.h"
#include "boards/definition.h"
#include "boards/distributed.h"
#include "boards/encode.h"
#include "boards/resolve.h"
#include "reads/call.h"
#include "reads/mistyped.h"
#include "reads/query.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "util/compat.h"


/* ----------------------------------------------------------------
 *		Arguments
 * ----------------------------------------------------------------
 */

/* An argument that must be a boolean, or an integer of at least some value. */
static void
check_required(FunctionCallInfo fcinfo, const LbOperand *operand)
{
	int64		value;

	if (PG_ARGISNULL(operand->argument))
		lb_null_argument(operand->name);
	if (operand->type == BOOLOID)
		return;
	value = operand->type == INT4OID ? PG_GETARG_INT32(operand->argument) :
		PG_GETARG_INT64(operand->argument);
	lb_require_at_least(operand->name, value, operand->least, NULL);
}

/* Whether an operand, or a column, of the function is of a type. */
static bool
takes_type(const LbReadFunction *function, Oid type)
{
	for (int i = 0; i < lb_query_noperands(&function->query); i++)
	{
		if (function->query.operands[i].type == type)
			return true;
	}
	return false;
}

static bool
returns_type(const LbReadFunction *function, Oid type)
{
	for (int i = 0; i < LB_MAX_COLUMNS; i++)
	{
		if (function->columns[i] == type)
			return true;
	}
	return false;
}

/* Raise 0A000 if the function needs members and the board has none. */
static pg_noinline void
check_member(const LbReadFunction *function, const LbDefinition *defn)
{
	if (takes_type(function, LB_MEMBER_TYPE) ||
		takes_type(function, LB_MEMBERS_TYPE) ||
		returns_type(function, LB_MEMBER_TYPE))
		lb_require_member(defn);
}

/* Find a board by its name.  call->method is the board's then. */
static void
find_board(LbCall *call, const char *name, int len)
{
	LbTarget   *target = &call->access.target;
	LbDefinition *defn;

	lb_find_target(name, len, target);
	defn = target->defn;
	lb_require_one_board(target);
	lb_require_fit(defn);
	if (unlikely(defn->nmember == 0))
		check_member(call->function, defn);
	call->method = defn->method;
}

/*
 * Whether an index that keeps counts may answer.  It has no row numbers, which
 * a call can ask for; lb_rank_of_score() takes them for ranks.
 */
static bool
counts_suffice(const LbCall *call)
{
	return call->function->by_counts &&
		!(call->method == LB_ROW_NUMBER &&
		  (takes_type(call->function, LB_MEMBER_TYPE) ||
		   takes_type(call->function, LB_MEMBERS_TYPE)));
}

static void
begin_access(LbCall *call)
{
	if (unlikely(call->access.target.defn->counts) && !counts_suffice(call))
	{
		lb_access_begin_query(&call->access, LB_CAUSE_COUNTS);
		return;
	}
	lb_access_begin(&call->access, GetActiveSnapshot(),
					call->function->ranks && call->method == LB_DENSE_RANK,
					LB_READER_CALL);
}

/* Members and scores that are taken or returned as bigint must be integers. */
static pg_noinline void
check_plain(const LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	const LbReadFunction *function = call->function;
	bool		bigint = call->form == LB_AS_BIGINT;

	if (!defn->plain_member &&
		(takes_type(function, LB_MEMBER_TYPE) ||
		 takes_type(function, LB_MEMBERS_TYPE) ||
		 (bigint && returns_type(function, LB_MEMBER_TYPE))))
		lb_raise_mistyped(defn, lb_member_columns(defn), call->name);
	if (!defn->plain_score && bigint &&
		(takes_type(function, LB_SCORE_TYPE) ||
		 returns_type(function, LB_SCORE_TYPE)))
		lb_raise_mistyped(defn, lb_score_column(defn), call->name);
}

/* Make an operand that is a member what the query and the index take. */
static void
convert_member(LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	int			more = lb_query_noperands(&call->function->query) - 1;
	Datum		values[LB_MAX_MEMBER_COLUMNS];
	bool		nulls[LB_MAX_MEMBER_COLUMNS] = {false};
	int64	   *words = palloc(LB_MAX_KEY_WORDS * sizeof(int64));

	call->member = NULL;
	for (int i = 0; i < defn->nmember; i++)
		nulls[i] = call->nulls[0];
	if (call->nulls[0])
		memset(values, 0, sizeof(values));
	else if (call->form == LB_AS_TEXT)
		lb_member_from(defn, call->given[0], call->operands[0], values, nulls);
	else
		nulls[0] = !lb_member_from_bigint(defn, DatumGetInt64(call->operands[0]),
										  values);
	for (int i = 0; i < defn->nmember; i++)
	{
		int			param = i == 0 ? 0 : more + i;

		call->operands[param] = values[i];
		call->nulls[param] = nulls[i];

		/* No member has a null: then all of it counts as null. */
		call->nulls[0] = call->nulls[0] || nulls[i];
	}
	if (!call->nulls[0] && lb_encode_member(defn, values, words) > 0)
		call->member = words;
}

/* The same for an array of members. */
static void
convert_members(LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	LbMembersOperand *members = &call->members;
	int			n = defn->nmember;
	Datum	   *elements;
	bool	   *nulls;

	members->n = 0;
	if (call->nulls[0])
		return;
	deconstruct_array(DatumGetArrayTypeP(call->operands[0]), TEXTOID, -1,
					  false, TYPALIGN_INT, &elements, &nulls, &members->n);
	members->values = palloc_extended(sizeof(Datum) * n * members->n + 1,
									  MCXT_ALLOC_HUGE);
	members->nulls = palloc_extended(sizeof(bool) * n * members->n + 1,
									 MCXT_ALLOC_HUGE);
	for (int i = 0; i < members->n; i++)
	{
		Size		at = (Size) i * n;

		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			lb_member_from_text(defn, elements[i], members->values + at,
								members->nulls + at);
		for (int j = 0; nulls[i] && j < n; j++)
			members->nulls[at + j] = true;
	}
}

/* Convert the operands, once the board is known. */
static void
convert_operands(LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	const LbOperand *operands = call->function->query.operands;
	LbArgument	argument = {.function = call->name};
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = lb_argument_context,
		.arg = &argument
	};

	error_context_stack = &context;
	for (int i = 0; i < lb_query_noperands(&call->function->query); i++)
	{
		argument.name = operands[i].name;
		if (operands[i].type == LB_MEMBER_TYPE)
			convert_member(call);
		else if (operands[i].type == LB_MEMBERS_TYPE)
			convert_members(call);
		else if (operands[i].type == LB_SCORE_TYPE && !call->nulls[i])
		{
			call->operands[i] = lb_value_from(lb_score_column(defn)->type,
											  call->given[i],
											  call->operands[i]);
			lb_word_from_value(lb_score_column(defn), call->operands[i],
							   &call->scores[i].floor, &call->scores[i].ceil);
		}
	}
	error_context_stack = context.previous;
}

static inline void
check_operand(FunctionCallInfo fcinfo, const LbOperand *operand)
{
	if (operand->null == LB_NULL_ERROR)
		check_required(fcinfo, operand);
	if (operand->check != NULL && !PG_ARGISNULL(operand->argument))
		operand->check(fcinfo->args[operand->argument].value);
}

void
lb_call_check(FunctionCallInfo fcinfo, const LbReadFunction *function)
{
	for (int i = 0; i < lb_query_noperands(&function->query); i++)
		check_operand(fcinfo, &function->query.operands[i]);
}

/* Find the board that the call names. */
static inline void
find_named_board(LbCall *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	text	   *name = PG_GETARG_TEXT_PP(call->function->board);

	find_board(call, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
}

/*
 * Whether the operands can be converted.  Raises 42804 if the board's types do
 * not fit the form; returns false if the board must be found again.
 */
static bool
types_ready(const LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;

	if (call->form != LB_AS_TEXT && !(defn->plain_member && defn->plain_score))
		check_plain(call);
	return call->form == LB_AS_BIGINT || lb_member_ready(defn);
}

void
lb_call_begin(LbCall *call, FunctionCallInfo fcinfo,
			  const LbReadFunction *function, const char *name, LbForm form)
{
	const LbOperand *operand = function->query.operands;

	call->fcinfo = fcinfo;
	call->function = function;
	call->name = name;
	call->form = form;
	call->written = 0;
	call->start = NULL;
	for (int i = 0; i < LB_MAX_OPERANDS && OidIsValid(operand->type); i++)
	{
		check_operand(fcinfo, operand);
		call->operands[i] = fcinfo->args[operand->argument].value;
		call->nulls[i] = fcinfo->args[operand->argument].isnull;
		if (form == LB_AS_TEXT && (operand->type == LB_MEMBER_TYPE ||
								   operand->type == LB_SCORE_TYPE))
			call->given[i] = lb_take_argument(fcinfo, operand->argument,
											  &call->operands[i]);
		operand++;
	}
	lb_require_preload();
	if (PG_ARGISNULL(function->board))
		lb_null_argument("board");
	lb_require_version();
	find_named_board(call);
	if (call->access.target.prefix_len > 0 &&
		lb_check_prefix(&call->access.target))
		find_named_board(call);
	while (!types_ready(call))
		find_named_board(call);
	if (form != LB_AS_BIGINT)
		convert_operands(call);
	if (unlikely(function->convert != NULL))
		function->convert(call);
	if (function->method != 0 && !PG_ARGISNULL(function->method))
		call->method = lb_method_from_text(text_to_cstring(PG_GETARG_TEXT_PP(function->method)));
	begin_access(call);
}

void
lb_call_find_own(LbCall *call, const char *board, int len,
				 const LbReadFunction *function)
{
	call->fcinfo = NULL;
	call->function = function;
	call->name = function->name;
	call->start = NULL;
	for (int i = 0; i < LB_MAX_OPERANDS; i++)
		call->given[i] = TEXTOID;
	do
		find_board(call, board, len);
	while (!types_ready(call));
	if (call->form != LB_AS_BIGINT)
		convert_operands(call);
}

void
lb_call_begin_again(LbCall *call)
{
	lb_access_fall_back(&call->access, LB_CAUSE_NONE);
	begin_access(call);
}

void
lb_call_begin_own(LbCall *call, const char *board, int len,
				  const LbReadFunction *function)
{
	lb_call_find_own(call, board, len, function);
	begin_access(call);
}

/*
 * If the query must be run, it gives the answer for a null operand, or the
 * error that it raises.
 */
bool
lb_call_null(LbCall *call)
{
	if (call->function->query.operands[0].null != LB_NULL_NO_ROW ||
		!call->nulls[0] || call->access.query)
		return false;
	lb_access_fall_back(&call->access, LB_CAUSE_NONE);
	return true;
}


/* ----------------------------------------------------------------
 *		By the query
 * ----------------------------------------------------------------
 */

/*
 * Count the query, which is going to be run.  Raises 55000 if it must not be
 * run because the table is distributed, and indexes of its servers are
 * offline.
 */
static void
count_query(LbCall *call)
{
	if (lb_distributed != NULL && lb_access_needs_indexes(&call->access))
		lb_distributed->require_indexes(call);
	if (call->access.cause != LB_CAUSE_NONE)
		lb_count_read(&call->access.target, call->access.shared,
					  call->access.cause, false);
}

/* Make arrays of the members that are an operand, one for each column. */
static void
make_member_arrays(LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	const LbMembersOperand *members = &call->members;
	int			n = defn->nmember;
	int			more = lb_query_noperands(&call->function->query) - 1;
	Datum	   *values = palloc_extended(sizeof(Datum) * members->n + 1,
										 MCXT_ALLOC_HUGE);
	bool	   *nulls = palloc_extended(members->n + 1, MCXT_ALLOC_HUGE);

	for (int i = 0; i < n; i++)
	{
		int			param = i == 0 ? 0 : more + i;

		for (int j = 0; j < members->n; j++)
		{
			CHECK_FOR_INTERRUPTS();
			values[j] = members->values[(Size) j * n + i];
			nulls[j] = members->nulls[(Size) j * n + i];
		}
		call->nulls[param] = call->nulls[0];
		call->operands[param] =
			lb_make_array(lb_member_columns(defn)[i].type->oid, values, nulls,
						  members->n);
	}
	pfree(values);
	pfree(nulls);
}

static LbQueryArgs
query_args(LbCall *call)
{
	const LbTarget *target = &call->access.target;
	LbQueryArgs args = {
		.query = &call->function->query,
		.method = call->method,
		.own_types = call->form != LB_AS_BIGINT,
		.params = call->operands,
		.nulls = call->nulls,
		.value = target->has_value ? &target->value : NULL,
		.step = call->start == NULL ? LB_STEP_WHOLE : LB_STEP_PAGE,
		.start = call->start
	};

	if (args.own_types && args.query->operands[0].type == LB_MEMBERS_TYPE)
		make_member_arrays(call);
	return args;
}

Datum
lb_call_query(LbCall *call, bool *isnull)
{
	const LbColumn *score = lb_score_column(call->access.target.defn);
	const LbType *type = score->type;
	LbQueryArgs args = query_args(call);
	Datum		value;

	count_query(call);
	value = lb_query_value(call->access.target.defn, &args, isnull);
	if (call->form == LB_AS_TEXT && !*isnull &&
		call->function->columns[0] == LB_SCORE_TYPE)
		value = lb_value_to_text(type, value);
	return value;
}

/* The bigint of a step of the query that begins with a key. */
static int64
query_from(LbCall *call, LbQueryStep step, const LbStart *start)
{
	LbQueryArgs args = query_args(call);
	bool		isnull;

	args.step = step;
	args.start = start;
	return DatumGetInt64(lb_query_value(call->access.target.defn, &args,
										&isnull));
}

int64
lb_call_count_ties(LbCall *call, const LbStart *start)
{
	return query_from(call, LB_STEP_TIES, start);
}

bool
lb_call_key(LbCall *call, int64 **key)
{
	LbQueryArgs args = query_args(call);
	int64	   *words = palloc(LB_MAX_KEY_WORDS * sizeof(int64));
	bool		found;
	bool		known;

	known = lb_query_words(call->access.target.defn, &args, words, &found);
	*key = found ? words : NULL;
	return known;
}

int64
lb_call_query_given(LbCall *call, const LbStart *start)
{
	count_query(call);
	return query_from(call, LB_STEP_GIVEN, start);
}

static void
query_into(LbCall *call, Tuplestorestate *store, TupleDesc desc)
{
	LbQueryArgs args = query_args(call);

	count_query(call);
	lb_query_rows(call->access.target.defn, &args, store, desc);
}

static int
count_columns(const LbReadFunction *function)
{
	int			n = 0;

	while (n < LB_MAX_COLUMNS && OidIsValid(function->columns[n]))
		n++;
	return n;
}

/* The columns of the query's rows. */
static TupleDesc
query_desc(const LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	bool		own_types = call->form != LB_AS_BIGINT;
	int			natts = count_columns(call->function);
	AttrNumber	attno = 0;
	TupleDesc	desc;

	if (own_types && returns_type(call->function, LB_MEMBER_TYPE))
		natts += defn->nmember - 1;
	if (lb_returns_ties(call))
		natts += defn->nrank_by - 2;
	desc = CreateTemplateTupleDesc(natts);
	for (int i = 0; i < count_columns(call->function); i++)
	{
		Oid			type = call->function->columns[i];

		for (int j = 1; type == TEXTARRAYOID && j < defn->nrank_by; j++)
			TupleDescInitEntry(desc, ++attno, NULL,
							   defn->columns[j].type->oid, -1, 0);
		if (type == TEXTARRAYOID)
			continue;
		TupleDescInitEntry(desc, ++attno, NULL,
						   lb_query_type(defn, type, own_types), -1, 0);
		for (int j = 1; own_types && type == LB_MEMBER_TYPE &&
			 j < defn->nmember; j++)
			TupleDescInitEntry(desc, ++attno, NULL,
							   lb_member_columns(defn)[j].type->oid, -1, 0);
	}
	TupleDescFinalize(desc);
	return desc;
}

Tuplestorestate *
lb_call_query_rows(LbCall *call, TupleTableSlot **slot)
{
	TupleDesc	desc = query_desc(call);
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);

	query_into(call, store, desc);
	*slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	return store;
}

/*
 * A column of the function, as text if need be, from the query's columns that
 * begin at *from, which moves behind them.
 */
static Datum
column_as_text(const LbCall *call, Oid type, const TupleTableSlot *slot,
			   int *from, bool *isnull)
{
	const LbDefinition *defn = call->access.target.defn;
	const Datum *values = slot->tts_values + *from;
	const bool *nulls = slot->tts_isnull + *from;
	int			n = type == LB_MEMBER_TYPE ? defn->nmember :
		type == TEXTARRAYOID ? defn->nrank_by - 1 : 1;

	*from += n;
	*isnull = false;
	if (type == TEXTARRAYOID)
		return lb_ties_to_text(defn, values);
	*isnull = true;
	for (int i = 0; i < n; i++)
		*isnull = *isnull && nulls[i];
	if (*isnull)
		return (Datum) 0;
	if (call->form == LB_AS_BIGINT)
		return values[0];
	if (type == LB_MEMBER_TYPE)
		return lb_member_to_text(defn, values, nulls);
	if (type == LB_SCORE_TYPE)
		return lb_value_to_text(lb_score_column(defn)->type, values[0]);
	return values[0];
}

/* Run the query, and add its rows to a tuplestore, with texts if need be. */
static void
query_into_result(LbCall *call, Tuplestorestate *result, TupleDesc desc)
{
	MemoryContext context;
	TupleTableSlot *slot;
	Tuplestorestate *store;

	if (call->form == LB_AS_BIGINT && !lb_returns_ties(call))
	{
		query_into(call, result, desc);
		return;
	}
	store = lb_call_query_rows(call, &slot);
	context = AllocSetContextCreate(CurrentMemoryContext, "leaderboard texts",
									ALLOCSET_DEFAULT_SIZES);
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		Datum		values[LB_MAX_COLUMNS];
		bool		nulls[LB_MAX_COLUMNS];
		int			from = 0;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		for (int i = 0; i < desc->natts; i++)
			values[i] = column_as_text(call, call->function->columns[i], slot,
									   &from, &nulls[i]);
		tuplestore_putvalues(result, desc, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
}

/* The row type of the function that is called, kept from call to call. */
static TupleDesc
record_desc(FunctionCallInfo fcinfo)
{
	TupleDesc	desc = (TupleDesc) fcinfo->flinfo->fn_extra;

	if (desc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		desc = BlessTupleDesc(CreateTupleDescCopy(desc));
		MemoryContextSwitchTo(old);
		fcinfo->flinfo->fn_extra = desc;
	}
	return desc;
}

Datum
lb_call_record(LbCall *call, const Datum *values)
{
	bool		nulls[LB_MAX_COLUMNS] = {false};

	return HeapTupleGetDatum(heap_form_tuple(record_desc(call->fcinfo),
											 unconstify(Datum *, values),
											 nulls));
}

/* The one row of the query, as a record; isnull if there is none. */
static Datum
query_record(LbCall *call, bool *isnull)
{
	TupleDesc	desc = record_desc(call->fcinfo);
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	TupleTableSlot *slot;
	Datum		result = (Datum) 0;

	query_into_result(call, store, desc);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	*isnull = !tuplestore_gettupleslot(store, true, false, slot);
	if (!*isnull)
		result = ExecFetchSlotHeapTupleDatum(slot);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return result;
}


/* ----------------------------------------------------------------
 *		The call
 * ----------------------------------------------------------------
 */

Datum
lb_call_member_datum(const LbCall *call, const int64 *words)
{
	return call->form == LB_AS_BIGINT ? Int64GetDatum(words[0]) :
		lb_member_words_to_text(call->access.target.defn, words);
}

Datum
lb_call_score_datum(const LbCall *call, int64 score)
{
	return call->form == LB_AS_BIGINT ? Int64GetDatum(score) :
		lb_score_to_text(call->access.target.defn, score);
}

static Datum
number_datum(const LbCall *call, Oid type, const LbNumber *number)
{
	if (type == LB_SCORE_TYPE)
		return lb_call_score_datum(call, number->integer);
	return type == FLOAT8OID ? Float8GetDatum(number->real) :
		Int64GetDatum(number->integer);
}

/* What the routine has found under the lock, as the function returns it. */
static Datum
return_numbers(LbCall *call, const LbNumber *numbers)
{
	const Oid  *columns = call->function->columns;
	Datum		values[LB_MAX_COLUMNS];

	if (!OidIsValid(columns[1]))
		return number_datum(call, columns[0], numbers);
	for (int i = 0; i < LB_MAX_COLUMNS && OidIsValid(columns[i]); i++)
		values[i] = number_datum(call, columns[i], &numbers[i]);
	return lb_call_record(call, values);
}

/*
 * Whether none of the function's values is a score that only the query knows.
 */
static pg_noinline bool
numbers_are_sure(const LbCall *call, const LbNumber *numbers)
{
	for (int i = 0; i < LB_MAX_COLUMNS; i++)
	{
		if (call->function->columns[i] == LB_SCORE_TYPE &&
			!lb_call_is_sure(call, numbers[i].integer))
			return false;
	}
	return true;
}

bool
lb_call_unlock(LbCall *call, bool sure)
{
	if (sure)
		lb_access_unlock(&call->access);
	else
	{
		/* The query is counted instead. */
		lb_access_release(&call->access);
		lb_access_fall_back(&call->access, LB_CAUSE_LIMIT);
	}
	return sure;
}

/* With counts: read the row of the member that is an operand, if one is. */
static pg_noinline bool
read_member_row(LbCall *call)
{
	return !takes_type(call->function, LB_MEMBER_TYPE) ||
		lb_read_member_row(call);
}

bool
lb_call_value(LbCall *call, LbNumber *numbers, bool *isnull)
{
	bool		sure;

	if (unlikely(call->access.target.defn->counts) && !call->access.query &&
		!read_member_row(call))
		return false;
	if (!lb_access_lock(&call->access))
		return lb_distributed != NULL &&
			lb_distributed->value(call, numbers, isnull);
	*isnull = !call->function->value(call, numbers);
	sure = likely(!call->access.shared->negative_zero) || *isnull ||
		numbers_are_sure(call, numbers);
	return lb_call_unlock(call, sure);
}

/* The answer from the index.  Returns false if the query must be run. */
static bool
answer_from_index(LbCall *call, Datum *result, bool *isnull)
{
	const LbReadFunction *function = call->function;
	LbNumber	numbers[LB_MAX_COLUMNS];

	if (function->rows != NULL)
		return function->rows(call, result, isnull);
	if (!lb_call_value(call, numbers, isnull))
		return false;
	if (!*isnull)
		*result = return_numbers(call, numbers);
	return true;
}

static Datum
call_as(FunctionCallInfo fcinfo, const LbReadFunction *function, LbForm form)
{
	LbCall		call;
	Datum		result = (Datum) 0;
	bool		isnull = false;

	lb_call_begin(&call, fcinfo, function, function->name, form);
	if (function->set)
		InitMaterializedSRF(fcinfo, 0);
	if (lb_call_null(&call))
		isnull = !function->set;
	else if (!answer_from_index(&call, &result, &isnull))
	{
		if (function->set)
		{
			ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

			query_into_result(&call, rsinfo->setResult, rsinfo->setDesc);
		}
		else if (OidIsValid(function->columns[1]))
			result = query_record(&call, &isnull);
		else
			result = lb_call_query(&call, &isnull);
	}
	fcinfo->isnull = isnull;
	return result;
}

Datum
lb_call(FunctionCallInfo fcinfo, const LbReadFunction *function)
{
	return call_as(fcinfo, function, LB_AS_BIGINT);
}

Datum
lb_call_as_text(FunctionCallInfo fcinfo, const LbReadFunction *function)
{
	return call_as(fcinfo, function, LB_AS_TEXT);
}
