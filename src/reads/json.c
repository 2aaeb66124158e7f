/*-------------------------------------------------------------------------
 *
 * json.c
 *	  Answers as JSON.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/json.h"

#include "reads/json.h"
#include "reads/rows.h"

/* Room for an entry of lb_top_json with a comma before it, without its member. */
#define LB_MAX_ENTRY \
	(sizeof(",{\"rank\":,\"player_id\":,\"score\":}") + 2 * MAXINT8LEN)

#define put_literal(p, s) \
	(memcpy(p, s, sizeof(s) - 1), (p) += sizeof(s) - 1)

/* {"rank":1,"player_id":2,"score":3}, ...; returns where it ends. */
static char *
put_rows(char *p, const LbCall *call, const LbRows *rows)
{
	const LbDefinition *defn = call->access.target.defn;

	for (int i = 0; i < rows->n; i++)
	{
		const int64 *row = lb_row(rows, i);

		if (i > 0)
			*p++ = ',';
		put_literal(p, "{\"rank\":");
		p += pg_lltoa(row[LB_ROW_RANK], p);
		put_literal(p, ",\"player_id\":");
		p += lb_member_to_json(defn, row + LB_ROW_MEMBER, p);
		put_literal(p, ",\"score\":");
		p += pg_lltoa(row[LB_ROW_SCORE], p);
		*p++ = '}';
	}
	return p;
}

/* End an object that ends with rows, and return it as a varlena. */
static Datum
finish_with_rows(StringInfo buf, const LbCall *call, const LbRows *rows)
{
	int			entry = LB_MAX_ENTRY + MAXINT8LEN + 1;
	char	   *p;

	/* This takes most of the time, so make room once for all entries. */
	enlargeStringInfo(buf, rows->n * entry + sizeof("]}"));
	p = put_rows(buf->data + buf->len, call, rows);
	put_literal(p, "]}");
	SET_VARSIZE(buf->data, p - buf->data);
	return PointerGetDatum(buf->data);
}

/* Append the member that is the first operand. */
static void
put_member(StringInfo buf, const LbCall *call)
{
	const LbDefinition *defn = call->access.target.defn;
	int64		member[LB_MAX_WIDTH];

	lb_member_words(defn, call->operands[0], member);
	enlargeStringInfo(buf, MAXINT8LEN + 1);
	buf->len += lb_member_to_json(defn, member, buf->data + buf->len);
}

/* A text under way that finish_with_rows() makes the result of. */
static void
begin_object(StringInfo buf)
{
	initStringInfo(buf);
	appendStringInfoSpaces(buf, VARHDRSZ);
}

/* The same text as row_to_json() makes in the query. */
bool
lb_top_json_rows(LbCall *call, Datum *result, bool *isnull)
{
	TimestampTz now = GetCurrentTransactionStartTimestamp();
	char		as_of[MAXDATELEN + 1];
	LbRows		rows;
	StringInfoData buf;

	if (!lb_read_top_rows(call, &rows))
		return false;
	JsonEncodeDateTime(as_of, TimestampTzGetDatum(now), TIMESTAMPTZOID, NULL);
	begin_object(&buf);
	appendStringInfoString(&buf, "{\"board\":");
	escape_json(&buf, TextDatumGetCString(call->operands[2]));
	appendStringInfo(&buf, ",\"as_of\":\"%s\",\"entries\":[", as_of);
	*result = finish_with_rows(&buf, call, &rows);
	return true;
}

/* The numbers of lb_player().  False if the member is not on the board. */
static bool
read_player(LbCall *call, LbNumber *numbers)
{
	bool		found;
	TupleTableSlot *slot;
	Tuplestorestate *store;

	if (lb_access_lock(&call->access))
	{
		found = call->function->value(call, numbers);
		lb_access_unlock(&call->access);
		return found;
	}
	store = lb_call_query_rows(call, &slot);
	found = tuplestore_gettupleslot(store, true, false, slot);
	if (found)
	{
		slot_getallattrs(slot);
		numbers[0].integer = DatumGetInt64(slot->tts_values[0]);
		numbers[1].integer = DatumGetInt64(slot->tts_values[1]);
		numbers[2].real = DatumGetFloat8(slot->tts_values[2]);
		numbers[3].integer = DatumGetInt64(slot->tts_values[3]);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return found;
}

/* Both calls read the same snapshot, so their answers fit each other. */
Datum
lb_call_rank_json(FunctionCallInfo fcinfo, const LbReadFunction *player,
				  const LbReadFunction *around)
{
	LbCall		call;
	LbNumber	numbers[LB_MAX_COLUMNS];
	double		percentile;
	LbRows		rows;
	StringInfoData buf;

	lb_call_check(fcinfo, around);
	lb_call_begin(&call, fcinfo, player);
	if (lb_call_null(&call) || !read_player(&call, numbers))
		PG_RETURN_NULL();
	lb_call_begin(&call, fcinfo, around);
	if (!lb_read_around_rows(&call, &rows))
		lb_query_row_list(&call, &rows);

	percentile = numbers[2].real;
	begin_object(&buf);
	appendStringInfoString(&buf, "{\"player_id\":");
	put_member(&buf, &call);
	appendStringInfoString(&buf, ",\"board\":");
	escape_json(&buf, TextDatumGetCString(fcinfo->args[around->board].value));
	appendStringInfo(&buf, ",\"rank\":" INT64_FORMAT ",\"score\":" INT64_FORMAT
					 ",\"percentile\":%s,\"top_percentile\":%s,\"surrounding_players\":[",
					 numbers[0].integer, numbers[1].integer,
					 float8out_internal(percentile),
					 float8out_internal(100 - percentile));
	return finish_with_rows(&buf, &call, &rows);
}
