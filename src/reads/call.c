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
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "boards/catalog.h"
#include "boards/counters.h"
#include "boards/definition.h"
#include "boards/spi.h"
#include "boards/resolve.h"
#include "reads/call.h"
#include "reads/query.h"
#include "reads/mistyped.h"
#include "util/compat.h"


/* ----------------------------------------------------------------
 *		Arguments
 * ----------------------------------------------------------------
 */

/* An argument that must be an integer of at least some value. */
static void
check_integer(FunctionCallInfo fcinfo, const LbOperand *operand)
{
	int64		value;

	if (PG_ARGISNULL(operand->argument))
		lb_null_argument(operand->name);
	value = operand->type == INT4OID ? PG_GETARG_INT32(operand->argument) :
		PG_GETARG_INT64(operand->argument);
	if (value < operand->least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range: " INT64_FORMAT,
						operand->name, value),
				 errhint("\"%s\" must be at least " INT64_FORMAT ".",
						 operand->name, operand->least)));
}

/* Find a board by its name.  call->method is the board's then. */
static void
find_board(LbCall *call, const char *name, int len)
{
	LbTarget   *target = &call->access.target;
	LbDefinition *defn;

	lb_find_target(name, len, target);
	defn = target->defn;
	if (defn->family && !target->has_value)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a family of boards", defn->name),
				 errhint("Name one of its boards, as in \"%s:value\".",
						 defn->name)));
	lb_require_fit(defn);
	call->method = defn->method;
}

static void
begin_access(LbCall *call)
{
	lb_access_begin(&call->access, GetActiveSnapshot(),
					call->function->ranks && call->method == LB_DENSE_RANK,
					false);
}

static inline void
check_operand(FunctionCallInfo fcinfo, const LbOperand *operand)
{
	if (operand->null == LB_NULL_ERROR)
		check_integer(fcinfo, operand);
	if (operand->check != NULL && !PG_ARGISNULL(operand->argument))
		operand->check(fcinfo->args[operand->argument].value);
}

void
lb_call_check(FunctionCallInfo fcinfo, const LbReadFunction *function)
{
	for (int i = 0; i < lb_query_noperands(&function->query); i++)
		check_operand(fcinfo, &function->query.operands[i]);
}

void
lb_call_begin(LbCall *call, FunctionCallInfo fcinfo,
			  const LbReadFunction *function)
{
	const LbOperand *operand = function->query.operands;
	text	   *name;

	call->fcinfo = fcinfo;
	call->function = function;
	for (int i = 0; i < LB_MAX_OPERANDS && OidIsValid(operand->type); i++)
	{
		check_operand(fcinfo, operand);
		call->operands[i] = fcinfo->args[operand->argument].value;
		call->nulls[i] = fcinfo->args[operand->argument].isnull;
		operand++;
	}
	lb_require_preload();
	if (PG_ARGISNULL(function->board))
		lb_null_argument("board");
	lb_require_version();
	name = PG_GETARG_TEXT_PP(function->board);
	find_board(call, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	if (call->access.target.prefix_len > 0 &&
		lb_check_prefix(&call->access.target))
		find_board(call, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	if (function->method != 0 && !PG_ARGISNULL(function->method))
		call->method = lb_method_from_text(text_to_cstring(PG_GETARG_TEXT_PP(function->method)));
	begin_access(call);
}

void
lb_call_begin_own(LbCall *call, const char *board, int len,
				  const LbReadFunction *function)
{
	call->fcinfo = NULL;
	call->function = function;
	find_board(call, board, len);
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

static void
count_query(LbCall *call)
{
	if (call->access.cause != LB_CAUSE_NONE)
		lb_count_read(&call->access.target, call->access.shared,
					  call->access.cause);
}

static LbQueryArgs
query_args(const LbCall *call)
{
	const LbTarget *target = &call->access.target;
	LbQueryArgs args = {
		.query = &call->function->query,
		.method = call->method,
		.operands = call->operands,
		.nulls = call->nulls,
		.value = target->has_value ? &target->value : NULL
	};

	return args;
}

Datum
lb_call_query(LbCall *call, bool *isnull)
{
	LbQueryArgs args = query_args(call);

	count_query(call);
	return lb_query_value(call->access.target.defn, &args, isnull);
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

Tuplestorestate *
lb_call_query_rows(LbCall *call, TupleTableSlot **slot)
{
	int			n = count_columns(call->function);
	TupleDesc	desc = CreateTemplateTupleDesc(n);
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);

	for (int i = 0; i < n; i++)
		TupleDescInitEntry(desc, i + 1, NULL,
						   lb_query_type(call->access.target.defn,
										 call->function->columns[i]),
						   -1, 0);
	query_into(call, store, desc);
	*slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	return store;
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

	query_into(call, store, desc);
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

static Datum
number_datum(Oid type, const LbNumber *number)
{
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
		return number_datum(columns[0], numbers);
	for (int i = 0; i < LB_MAX_COLUMNS && OidIsValid(columns[i]); i++)
		values[i] = number_datum(columns[i], &numbers[i]);
	return lb_call_record(call, values);
}

/* The answer from the index.  Returns false if the query must be run. */
static bool
answer_from_index(LbCall *call, Datum *result, bool *isnull)
{
	const LbReadFunction *function = call->function;
	LbNumber	numbers[LB_MAX_COLUMNS];

	if (function->rows != NULL)
		return function->rows(call, result, isnull);
	if (!lb_access_lock(&call->access))
		return false;
	*isnull = !function->value(call, numbers);
	lb_access_unlock(&call->access);
	if (!*isnull)
		*result = return_numbers(call, numbers);
	return true;
}

Datum
lb_call(FunctionCallInfo fcinfo, const LbReadFunction *function)
{
	LbCall		call;
	Datum		result = (Datum) 0;
	bool		isnull = false;

	lb_call_begin(&call, fcinfo, function);
	if (function->set)
		InitMaterializedSRF(fcinfo, 0);
	if (lb_call_null(&call))
		isnull = !function->set;
	else if (!answer_from_index(&call, &result, &isnull))
	{
		if (function->set)
		{
			ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

			query_into(&call, rsinfo->setResult, rsinfo->setDesc);
		}
		else if (OidIsValid(function->columns[1]))
			result = query_record(&call, &isnull);
		else
			result = lb_call_query(&call, &isnull);
	}
	fcinfo->isnull = isnull;
	return result;
}
