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
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "boards/keys.h"

static int
encode_int2(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetInt16(value);
	return 1;
}

static Datum
decode_int2(const LbColumn *column, const int64 *words)
{
	return Int16GetDatum((int16) words[0]);
}

static int
encode_int4(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetInt32(value);
	return 1;
}

static Datum
decode_int4(const LbColumn *column, const int64 *words)
{
	return Int32GetDatum((int32) words[0]);
}

static int
encode_int8(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetInt64(value);
	return 1;
}

static Datum
decode_int8(const LbColumn *column, const int64 *words)
{
	return Int64GetDatum(words[0]);
}

/* Infinities of dates and timestamps keep their places at the ends. */
static int
encode_date(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetDateADT(value);
	return 1;
}

static Datum
decode_date(const LbColumn *column, const int64 *words)
{
	return DateADTGetDatum((DateADT) words[0]);
}

static int
encode_timestamp(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetTimestamp(value);
	return 1;
}

static Datum
decode_timestamp(const LbColumn *column, const int64 *words)
{
	return TimestampGetDatum(words[0]);
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
		.words = 1,.encode = encode_int2,.decode = decode_int2,
		.in = int2in,.out = int2out,.array = INT2ARRAYOID,
	.json = LB_JSON_NUMBER,.plain = true,.max = PG_INT16_MAX},
	{.oid = INT4OID,.name = "int4",.sql_name = "integer",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = encode_int4,.decode = decode_int4,
		.in = int4in,.out = int4out,.array = INT4ARRAYOID,
	.json = LB_JSON_NUMBER,.plain = true,.max = PG_INT32_MAX},
	{.oid = INT8OID,.name = "int8",.sql_name = "bigint",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = encode_int8,.decode = decode_int8,
		.in = int8in,.out = int8out,.array = INT8ARRAYOID,
	.json = LB_JSON_NUMBER,.plain = true,.max = PG_INT64_MAX},
	{.oid = DATEOID,.name = "date",.sql_name = "date",
		.roles = TIE,
		.words = 1,.encode = encode_date,.decode = decode_date,
		.in = date_in,.out = date_out,.array = DATEARRAYOID,
	.json = LB_JSON_DATETIME},
	{.oid = TIMESTAMPOID,.name = "timestamp",.sql_name = "timestamp",
		.roles = TIE,
		.words = 1,.encode = encode_timestamp,.decode = decode_timestamp,
		.in = timestamp_in,.out = timestamp_out,.array = TIMESTAMPARRAYOID,
	.json = LB_JSON_DATETIME},
	{.oid = TIMESTAMPTZOID,.name = "timestamptz",.sql_name = "timestamptz",
		.roles = TIE,
		.words = 1,.encode = encode_timestamp,.decode = decode_timestamp,
		.in = timestamptz_in,.out = timestamptz_out,.array = TIMESTAMPTZARRAYOID,
	.json = LB_JSON_DATETIME},
	{.oid = BOOLOID,.name = "bool",.sql_name = "boolean",
	.roles = RANKED_IF},
};

void
lb_set_column_type(LbColumn *column, Oid type, int32 typmod)
{
	column->type = NULL;
	if (OidIsValid(type))
		type = getBaseTypeAndTypmod(type, &typmod);
	for (int i = 0; i < (int) lengthof(types); i++)
	{
		if (types[i].oid == type &&
			(types[i].roles & LB_ROLE_BIT(column->role)))
			column->type = &types[i];
	}
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
