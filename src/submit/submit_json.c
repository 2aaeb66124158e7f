/*-------------------------------------------------------------------------
 *
 * submit_json.c
 *	  lb_submit_json(): lb_submit_key() with its arguments in an object.
 *
 * Errors name the field, in the message or the detail.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "leaderboards/leaderboard.h"
#include "reads/json.h"
#include "sql/spi.h"
#include "submit/submit.h"
#include "util/compat.h"

PG_FUNCTION_INFO_V1(lb_submit_json);

/* Fields, in the order of the arguments of lb_submit_key(). */
enum
{
	PLAYER_ID,
	AMOUNT,
	OPERATION,
	MATCH_ID,
	AT,
	BOARDS,
	LEADERBOARD,
	METADATA,
	NFIELDS
};

static const char *const names[NFIELDS] = {"player_id", "amount", "op", "match_id",
"at", "boards", "leaderboard", "metadata"};


/* ----------------------------------------------------------------
 *		Fields
 * ----------------------------------------------------------------
 */

/* Raise 22023 unless all fields are known. */
static void
check_names(Jsonb *submit)
{
	JsonbIterator *it = JsonbIteratorInit(&submit->root);
	JsonbIteratorToken token;
	JsonbValue	v;

	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		size_t		n = 0;

		if (token != WJB_KEY)
			continue;
		while (n < NFIELDS &&
			   (strlen(names[n]) != (size_t) v.val.string.len ||
				memcmp(names[n], v.val.string.val, v.val.string.len) != 0))
			n++;
		if (n == NFIELDS)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a submit has no field \"%s\"",
							pnstrdup(v.val.string.val, v.val.string.len)),
					 errhint("Its fields are \"player_id\", \"amount\", \"op\", \"match_id\", \"at\", \"boards\", \"leaderboard\" and \"metadata\".")));
	}
}

/* A field's value, or NULL if it is missing or null. */
static const JsonbValue *
get_field(Jsonb *submit, int field)
{
	const JsonbValue *v =
		getKeyJsonValueFromContainer(&submit->root, names[field],
									 strlen(names[field]), NULL);

	return v == NULL || v->type == jbvNull ? NULL : v;
}

/* The text of a number or a string; raises 22023 for other values. */
static char *
scalar_text(const JsonbValue *v, int field)
{
	if (v->type == jbvString)
		return pnstrdup(v->val.string.val, v->val.string.len);
	if (v->type != jbvNumeric)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("field \"%s\" of a submit must be a number or a string",
						names[field])));
	return DatumGetCString(DirectFunctionCall1(numeric_out,
											   NumericGetDatum(v->val.numeric)));
}

/* A required field's text; raises 22004 if there is none. */
static char *
required_text(Jsonb *submit, int field)
{
	const JsonbValue *v = get_field(submit, field);

	if (v == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a submit must have a field \"%s\"", names[field])));
	return scalar_text(v, field);
}

/*
 * A field's text through a type's input function, whose errors get the field.
 */
static Datum
convert(PGFunction input, char *text, int field)
{
	LbArgument	argument = {.name = names[field]};
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = lb_argument_context,
		.arg = &argument
	};
	Datum		value;

	error_context_stack = &context;
	value = DirectFunctionCall3(input, CStringGetDatum(text),
								ObjectIdGetDatum(InvalidOid),
								Int32GetDatum(-1));
	error_context_stack = context.previous;
	return value;
}

/* The array of texts that "boards" is; raises 22023 if it is no such array. */
static Datum
boards_array(const JsonbValue *v)
{
	ArrayBuildState *state = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	bool		is_array = v->type == jbvBinary &&
		JsonContainerIsArray(v->val.binary.data);
	uint32		n = is_array ? JsonContainerSize(v->val.binary.data) : 0;

	for (uint32 i = 0; i < n && is_array; i++)
	{
		JsonbValue *e = getIthJsonbValueFromContainer(v->val.binary.data, i);

		CHECK_FOR_INTERRUPTS();
		is_array = e->type == jbvString;
		if (is_array)
			accumArrayResult(state,
							 PointerGetDatum(cstring_to_text_with_len(e->val.string.val,
																	  e->val.string.len)),
							 false, TEXTOID, CurrentMemoryContext);
	}
	if (!is_array)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("field \"%s\" of a submit must be an array of strings",
						names[BOARDS])));
	return makeArrayResult(state, CurrentMemoryContext);
}

/* The arguments that the object has. */
static void
set_arguments(FunctionCallInfo call, Jsonb *submit)
{
	const JsonbValue *v;

	for (int i = 0; i < NFIELDS; i++)
		call->args[i].isnull = false;
	call->args[PLAYER_ID].value =
		CStringGetTextDatum(required_text(submit, PLAYER_ID));
	call->args[AMOUNT].value =
		convert(int8in, required_text(submit, AMOUNT), AMOUNT);
	v = get_field(submit, OPERATION);
	call->args[OPERATION].isnull = v == NULL;
	if (v != NULL)
		call->args[OPERATION].value =
			CStringGetTextDatum(scalar_text(v, OPERATION));
	v = get_field(submit, MATCH_ID);
	call->args[MATCH_ID].isnull = v == NULL;
	if (v != NULL)
		call->args[MATCH_ID].value =
			CStringGetTextDatum(scalar_text(v, MATCH_ID));
	v = get_field(submit, AT);
	call->args[AT].value = v == NULL ?
		TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()) :
		convert(timestamptz_in, scalar_text(v, AT), AT);
	v = get_field(submit, BOARDS);
	call->args[BOARDS].isnull = v == NULL;
	if (v != NULL)
		call->args[BOARDS].value = boards_array(v);
	v = get_field(submit, LEADERBOARD);
	call->args[LEADERBOARD].value =
		CStringGetTextDatum(v == NULL ? LB_GLOBAL : scalar_text(v, LEADERBOARD));
	v = get_field(submit, METADATA);
	call->args[METADATA].isnull = v == NULL;
	if (v != NULL)
		call->args[METADATA].value =
			PointerGetDatum(JsonbValueToJsonb(unconstify(JsonbValue *, v)));
}


/* ----------------------------------------------------------------
 *		The answer
 * ----------------------------------------------------------------
 */

/* A descriptor of the rows that lb_submit_key() returns. */
static TupleDesc
answer_columns(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(5);

	TupleDescInitEntry(desc, 1, "board", TEXTOID, -1, 0);
	TupleDescInitEntry(desc, 2, "score", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 3, "rank", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 4, "previous_rank", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 5, "applied", BOOLOID, -1, 0);
	TupleDescFinalize(desc);
	return desc;
}

static void
put_number(StringInfo buf, const TupleTableSlot *slot, int column, bool quoted)
{
	const char *quote = quoted ? "\"" : "";

	if (slot->tts_isnull[column])
		appendStringInfoString(buf, "null");
	else
		appendStringInfo(buf, "%s" INT64_FORMAT "%s", quote,
						 DatumGetInt64(slot->tts_values[column]), quote);
}

/* Append the numbers of a row, whose score is called so. */
static void
put_numbers(StringInfo buf, const TupleTableSlot *slot, const char *score)
{
	appendStringInfo(buf, ", \"%s\" : ", score);
	put_number(buf, slot, 1, lb_json_bigint == LB_JSON_BIGINT_STRING);
	appendStringInfoString(buf, ", \"rank\" : ");
	put_number(buf, slot, 2, false);
	appendStringInfoString(buf, ", \"previous_rank\" : ");
	put_number(buf, slot, 3, false);
}

/* The player, returned as the field came. */
static void
put_player(StringInfo buf, Jsonb *submit)
{
	const JsonbValue *v = get_field(submit, PLAYER_ID);

	appendStringInfoString(buf, "{\"player_id\" : ");
	if (v->type == jbvNumeric && lb_json_bigint == LB_JSON_BIGINT_NUMBER)
		appendStringInfoString(buf, scalar_text(v, PLAYER_ID));
	else
		escape_json(buf, scalar_text(v, PLAYER_ID));
}

/*
 * The object of the rows.  Its score and ranks are those of the first row:
 * that of "global", or else of the first window.
 */
static text *
answer_object(Jsonb *submit, Tuplestorestate *store, TupleDesc desc)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	StringInfoData buf;
	StringInfoData boards;
	bool		applied = false;

	initStringInfo(&buf);
	initStringInfo(&boards);
	put_player(&buf, submit);
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		bool		row_applied;

		slot_getallattrs(slot);
		row_applied = DatumGetBool(slot->tts_values[4]);
		applied |= row_applied;
		if (boards.len == 0)
			put_numbers(&buf, slot, "new_score");
		else
			appendStringInfoString(&boards, ", ");
		appendStringInfoString(&boards, "{\"board\" : ");
		escape_json(&boards, TextDatumGetCString(slot->tts_values[0]));
		put_numbers(&boards, slot, "score");
		appendStringInfo(&boards, ", \"applied\" : %s}",
						 row_applied ? "true" : "false");
	}
	if (boards.len == 0)
	{
		ExecStoreAllNullTuple(slot);
		put_numbers(&buf, slot, "new_score");
	}
	appendStringInfo(&buf, ", \"applied\" : %s, \"boards\" : [%s]}",
					 applied ? "true" : "false", boards.data);
	ExecDropSingleTupleTableSlot(slot);
	return cstring_to_text_with_len(buf.data, buf.len);
}

Datum
lb_submit_json(PG_FUNCTION_ARGS)
{
	const LbPlayerArgument player = {{names[PLAYER_ID], NULL}, true};
	ExprContext *econtext;
	ReturnSetInfo rows = {
		.type = T_ReturnSetInfo,
		.allowedModes = SFRM_Materialize,
		.expectedDesc = answer_columns()
	};
	Jsonb	   *submit;
	text	   *answer;

	LOCAL_FCINFO(call, NFIELDS);

	(void) lb_require_catalog();
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a submit must not be null")));
	submit = PG_GETARG_JSONB_P(0);
	if (!JB_ROOT_IS_OBJECT(submit))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a submit must be a json object")));
	check_names(submit);
	econtext = CreateStandaloneExprContext();
	rows.econtext = econtext;
	InitFunctionCallInfoData(*call, NULL, NFIELDS, InvalidOid, NULL,
							 (Node *) &rows);
	set_arguments(call, submit);
	(void) lb_submit_as(call, &player);
	answer = answer_object(submit, rows.setResult, rows.setDesc);
	tuplestore_end(rows.setResult);
	FreeExprContext(econtext, true);
	PG_RETURN_TEXT_P(answer);
}
