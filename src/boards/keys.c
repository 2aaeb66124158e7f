/*-------------------------------------------------------------------------
 *
 * keys.c
 *	  The types of a board's columns, and their values as words of a key.
 *
 * types[] is the only place that knows the types: what reads, writes, checks or
 * names a column asks it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "boards/keys.h"

static void
encode_int2(Datum value, int64 *words)
{
	words[0] = DatumGetInt16(value);
}

static void
encode_int4(Datum value, int64 *words)
{
	words[0] = DatumGetInt32(value);
}

static void
encode_int8(Datum value, int64 *words)
{
	words[0] = DatumGetInt64(value);
}

/* Infinities of dates and timestamps keep their places at the ends. */
static void
encode_date(Datum value, int64 *words)
{
	words[0] = DatumGetDateADT(value);
}

static void
encode_timestamp(Datum value, int64 *words)
{
	words[0] = DatumGetTimestamp(value);
}

static Datum
decode_int8(const int64 *words)
{
	return Int64GetDatum(words[0]);
}

static int
int8_to_json(const int64 *words, char *json)
{
	return pg_lltoa(words[0], json);
}

#define SCORE LB_ROLE_BIT(LB_ROLE_SCORE)
#define TIE LB_ROLE_BIT(LB_ROLE_TIE)
#define MEMBER LB_ROLE_BIT(LB_ROLE_MEMBER)
#define BOARD LB_ROLE_BIT(LB_ROLE_BOARD)
#define RANKED_IF LB_ROLE_BIT(LB_ROLE_RANKED_IF)

/* In the order in which messages list them. */
static const LbType types[] = {
	{.oid = TEXTOID,.name = "text",.sql_name = "text",
	.roles = BOARD,.is_text = true},
	{.oid = VARCHAROID,.name = "varchar",.sql_name = "varchar",
	.roles = BOARD,.is_text = true},
	{.oid = INT2OID,.name = "int2",.sql_name = "smallint",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = encode_int2,.shown = INT8OID,
	.max = PG_INT16_MAX},
	{.oid = INT4OID,.name = "int4",.sql_name = "integer",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = encode_int4,.shown = INT8OID,
	.max = PG_INT32_MAX},
	{.oid = INT8OID,.name = "int8",.sql_name = "bigint",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = encode_int8,.shown = INT8OID,
		.array = INT8ARRAYOID,.decode = decode_int8,
		.to_json = int8_to_json,.json_len = MAXINT8LEN + 1,
	.max = PG_INT64_MAX},
	{.oid = DATEOID,.name = "date",.sql_name = "date",
	.roles = TIE,.words = 1,.encode = encode_date},
	{.oid = TIMESTAMPOID,.name = "timestamp",.sql_name = "timestamp",
	.roles = TIE,.words = 1,.encode = encode_timestamp},
	{.oid = TIMESTAMPTZOID,.name = "timestamptz",.sql_name = "timestamptz",
	.roles = TIE,.words = 1,.encode = encode_timestamp},
	{.oid = BOOLOID,.name = "bool",.sql_name = "boolean",
	.roles = RANKED_IF},
};

const LbType *
lb_type_for(Oid type, LbRole role)
{
	for (int i = 0; i < (int) lengthof(types); i++)
	{
		if (types[i].oid == type)
			return (types[i].roles & LB_ROLE_BIT(role)) ? &types[i] : NULL;
	}
	return NULL;
}

char *
lb_types_for(LbRole role)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < (int) lengthof(types); i++)
	{
		if (types[i].roles & LB_ROLE_BIT(role))
			appendStringInfo(&buf, "%s%s", buf.len > 0 ? ", " : "",
							 types[i].sql_name);
	}
	return buf.data;
}

const char *
lb_quoted(const LbColumn *column)
{
	return quote_identifier(column->name);
}
