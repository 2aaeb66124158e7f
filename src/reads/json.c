/*-------------------------------------------------------------------------
 *
 * json.c
 *	  Answers as JSON.
 *
 * The text is what row_to_json() makes of the rows that the functions return.
 * A member of several columns is an object of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "boards/types.h"
#include "reads/json.h"
#include "reads/rows.h"
#include "reads/text.h"
#include "util/compat.h"

/* Room for an entry of integers, with a comma before it. */
#define LB_MAX_ENTRY \
	(sizeof(",{\"rank\":,\"player_id\":,\"score\":}") + 3 * MAXINT8LEN)

#define put_literal(p, s) \
	(memcpy(p, s, sizeof(s) - 1), (p) += sizeof(s) - 1)

int			lb_json_bigint = LB_JSON_BIGINT_NUMBER;

/* Append a value as to_json() shows it, or as the setting says. */
static void
put_value(StringInfo buf, const LbType *type, Datum value)
{
	char		date[MAXDATELEN + 1];
	char	   *s;

	switch (type->json)
	{
		case LB_JSON_BOOLEAN:
			appendStringInfoString(buf, DatumGetBool(value) ? "true" : "false");
			return;
		case LB_JSON_DATETIME:
			JsonEncodeDateTime(date, value, type->oid, NULL);
			appendStringInfo(buf, "\"%s\"", date);
			return;
		case LB_JSON_NUMBER:
		case LB_JSON_STRING:
			break;
	}
	s = TextDatumGetCString(lb_value_to_text(type, value));

	/* NaN and infinities end with a letter. */
	if (type->json == LB_JSON_STRING ||
		!isdigit((unsigned char) s[strlen(s) - 1]) ||
		(type->oid == INT8OID && lb_json_bigint == LB_JSON_BIGINT_STRING))
		escape_json(buf, s);
	else
		appendStringInfoString(buf, s);
}

static void
put_score(StringInfo buf, const LbDefinition *defn, Datum score)
{
	put_value(buf, lb_score_column(defn)->type, score);
}

static void
put_member(StringInfo buf, const LbDefinition *defn, const Datum *values)
{
	const LbColumn *columns = lb_member_columns(defn);

	if (defn->nmember == 1)
	{
		put_value(buf, columns[0].type, values[0]);
		return;
	}
	for (int i = 0; i < defn->nmember; i++)
	{
		appendStringInfoChar(buf, i == 0 ? '{' : ',');
		escape_json(buf, columns[i].name);
		appendStringInfoChar(buf, ':');
		put_value(buf, columns[i].type, values[i]);
	}
	appendStringInfoChar(buf, '}');
}

void
lb_append_member_json(StringInfo buf, const LbDefinition *defn,
					  const char *member)
{
	Datum		values[LB_MAX_MEMBER_COLUMNS];
	bool		nulls[LB_MAX_MEMBER_COLUMNS];

	lb_member_from_text(defn, CStringGetTextDatum(member), values, nulls);
	put_member(buf, defn, values);
}

void
lb_append_score_json(StringInfo buf, const LbDefinition *defn,
					 const char *score)
{
	put_score(buf, defn, lb_value_from_text(lb_score_column(defn)->type,
											CStringGetTextDatum(score)));
}

/* {"rank":1,"player_id":2,"score":3}, ... */
static void
put_entry(StringInfo buf, const LbCall *call, int64 rank,
		  const Datum *member, Datum score)
{
	const LbDefinition *defn = call->access.target.defn;

	/* The brackets of the array are the only ones with no comma behind. */
	if (buf->data[buf->len - 1] != '[')
		appendStringInfoChar(buf, ',');
	appendStringInfo(buf, "{\"rank\":" INT64_FORMAT ",\"player_id\":", rank);
	put_member(buf, defn, member);
	appendStringInfoString(buf, ",\"score\":");
	put_score(buf, defn, score);
	appendStringInfoChar(buf, '}');
}

/*
 * The same of rows whose members and scores are integers.  Most of the time of
 * a call goes here, so room is made once for all.
 */
static void
put_integer_rows(StringInfo buf, const LbRows *rows)
{
	char	   *p;

	enlargeStringInfo(buf, rows->n * LB_MAX_ENTRY + 1);
	p = buf->data + buf->len;
	for (int i = 0; i < rows->n; i++)
	{
		const int64 *row = lb_row(rows, i);

		CHECK_FOR_INTERRUPTS();
		if (i > 0)
			*p++ = ',';
		put_literal(p, "{\"rank\":");
		p += pg_lltoa(row[LB_ROW_RANK], p);
		put_literal(p, ",\"player_id\":");
		p += pg_lltoa(row[LB_ROW_MEMBER], p);
		put_literal(p, ",\"score\":");
		p += pg_lltoa(row[LB_ROW_SCORE], p);
		*p++ = '}';
	}
	buf->len = p - buf->data;
	*p = '\0';
}

/* Append the rows that the index has answered with. */
static void
put_rows(StringInfo buf, const LbCall *call, const LbRows *rows)
{
	const LbDefinition *defn = call->access.target.defn;
	MemoryContext context;
	MemoryContext old;

	if (defn->plain_member && defn->plain_score &&
		lb_json_bigint == LB_JSON_BIGINT_NUMBER)
	{
		put_integer_rows(buf, rows);
		return;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "leaderboard texts",
									ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < rows->n; i++)
	{
		const int64 *row = lb_row(rows, i);
		Datum		member[LB_MAX_MEMBER_COLUMNS];
		Datum		score;

		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(context);
		lb_decode_member(defn, row + LB_ROW_MEMBER, member);
		score = lb_score_to_value(defn, row[LB_ROW_SCORE]);
		put_entry(buf, call, row[LB_ROW_RANK], member, score);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

/* Run the query, and append its rows. */
static void
put_query_rows(StringInfo buf, LbCall *call)
{
	int			n = call->access.target.defn->nmember;
	TupleTableSlot *slot;
	Tuplestorestate *store = lb_call_query_rows(call, &slot);
	MemoryContext context;
	MemoryContext old;

	context = AllocSetContextCreate(CurrentMemoryContext, "leaderboard texts",
									ALLOCSET_DEFAULT_SIZES);
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(context);
		slot_getallattrs(slot);
		put_entry(buf, call, DatumGetInt64(slot->tts_values[0]),
				  slot->tts_values + 1, slot->tts_values[n + 1]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
}

/* A text under way that finish_object() makes the result of. */
static void
begin_object(StringInfo buf)
{
	initStringInfo(buf);
	appendStringInfoSpaces(buf, VARHDRSZ);
}

/* End an object whose last member is an array. */
static Datum
finish_object(StringInfo buf)
{
	appendStringInfoString(buf, "]}");
	SET_VARSIZE(buf->data, buf->len);
	return PointerGetDatum(buf->data);
}

Datum
lb_call_top_json(FunctionCallInfo fcinfo, const LbReadFunction *top)
{
	TimestampTz now = GetCurrentTransactionStartTimestamp();
	char		as_of[MAXDATELEN + 1];
	LbCall		call;
	LbRows		rows;
	StringInfoData buf;

	lb_call_begin(&call, fcinfo, top, "lb_top_json", LB_AS_JSON);
	JsonEncodeDateTime(as_of, TimestampTzGetDatum(now), TIMESTAMPTZOID, NULL);
	begin_object(&buf);
	appendStringInfoString(&buf, "{\"board\":");
	escape_json(&buf, TextDatumGetCString(fcinfo->args[top->board].value));
	appendStringInfo(&buf, ",\"as_of\":\"%s\",\"entries\":[", as_of);
	if (lb_read_top_rows(&call, &rows))
		put_rows(&buf, &call, &rows);
	else
		put_query_rows(&buf, &call);
	return finish_object(&buf);
}

static void
put_percentile(StringInfo buf, double percentile)
{
	put_value(buf, lb_known_type(FLOAT8OID), Float8GetDatum(percentile));
}

/* Append the beginning of an object, up to the neighbours. */
static void
put_player(StringInfo buf, const LbCall *call, const LbNumber *numbers,
		   Datum score)
{
	const LbDefinition *defn = call->access.target.defn;
	FunctionCallInfo fcinfo = call->fcinfo;
	double		percentile = numbers[2].real;

	/* The member is the only operand. */
	appendStringInfoString(buf, "{\"player_id\":");
	put_member(buf, defn, call->operands);
	appendStringInfoString(buf, ",\"board\":");
	escape_json(buf, text_to_cstring(PG_GETARG_TEXT_PP(call->function->board)));
	appendStringInfo(buf, ",\"rank\":" INT64_FORMAT ",\"score\":",
					 numbers[0].integer);
	put_score(buf, defn, score);
	appendStringInfoString(buf, ",\"percentile\":");
	put_percentile(buf, percentile);
	appendStringInfoString(buf, ",\"top_percentile\":");
	put_percentile(buf, 100 - percentile);
	appendStringInfoString(buf, ",\"surrounding_players\":[");
}

/* Read that.  Returns false if the member is not on the board. */
static bool
read_player(StringInfo buf, LbCall *call)
{
	LbNumber	numbers[LB_MAX_COLUMNS];
	bool		isnull;
	TupleTableSlot *slot;
	Tuplestorestate *store;

	if (lb_call_value(call, numbers, &isnull))
	{
		if (!isnull)
			put_player(buf, call, numbers,
					   lb_score_to_value(call->access.target.defn,
										 numbers[1].integer));
		return !isnull;
	}
	store = lb_call_query_rows(call, &slot);
	isnull = !tuplestore_gettupleslot(store, true, false, slot);
	if (!isnull)
	{
		slot_getallattrs(slot);
		numbers[0].integer = DatumGetInt64(slot->tts_values[0]);
		numbers[2].real = DatumGetFloat8(slot->tts_values[2]);
		put_player(buf, call, numbers, slot->tts_values[1]);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return !isnull;
}

/* Both calls read the same snapshot, so their answers fit each other. */
Datum
lb_call_rank_json(FunctionCallInfo fcinfo, LbForm form,
				  const LbReadFunction *player, const LbReadFunction *around)
{
	LbCall		call;
	LbRows		rows;
	StringInfoData buf;

	lb_call_check(fcinfo, around);
	lb_call_begin(&call, fcinfo, player, "lb_rank_json", form);
	begin_object(&buf);
	if (lb_call_null(&call) || !read_player(&buf, &call))
		PG_RETURN_NULL();
	lb_call_begin(&call, fcinfo, around, "lb_rank_json", form);
	if (lb_read_around_rows(&call, &rows))
		put_rows(&buf, &call, &rows);
	else
		put_query_rows(&buf, &call);
	return finish_object(&buf);
}
