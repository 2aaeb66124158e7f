/*-------------------------------------------------------------------------
 *
 * types.c
 *	  The table of the types that a board's columns can have.
 *
 * types[] is the only place that knows the types: what reads, writes, checks
 * or names a column asks it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "boards/board_value.h"
#include "boards/encode.h"
#include "boards/types.h"

#define SCORE LB_ROLE_BIT(LB_ROLE_SCORE)
#define TIE LB_ROLE_BIT(LB_ROLE_TIE)
#define MEMBER LB_ROLE_BIT(LB_ROLE_MEMBER)
#define BOARD LB_ROLE_BIT(LB_ROLE_BOARD)
#define RANKED_IF LB_ROLE_BIT(LB_ROLE_RANKED_IF)

/* In the order in which messages list them. */
static const LbType types[] = {
	{.oid = INT2OID,.name = "int2",.sql_name = "smallint",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = lb_encode_int2,.decode = lb_decode_int2,
		.in = int2in,.out = int2out,.array = INT2ARRAYOID,
		.json = LB_JSON_NUMBER,
		.plain = true,.max = PG_INT16_MAX,.value = lb_int_value,
	.is_value = lb_is_int_value},
	{.oid = INT4OID,.name = "int4",.sql_name = "integer",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = lb_encode_int4,.decode = lb_decode_int4,
		.in = int4in,.out = int4out,.array = INT4ARRAYOID,
		.json = LB_JSON_NUMBER,
		.plain = true,.max = PG_INT32_MAX,.value = lb_int_value,
	.is_value = lb_is_int_value},
	{.oid = INT8OID,.name = "int8",.sql_name = "bigint",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = lb_encode_int8,.decode = lb_decode_int8,
		.in = int8in,.out = int8out,.array = INT8ARRAYOID,
		.json = LB_JSON_NUMBER,
		.plain = true,.max = PG_INT64_MAX,.value = lb_int_value,
	.is_value = lb_is_int_value},
	{.oid = NUMERICOID,.name = "numeric",.sql_name = "numeric(p,s)",
		.roles = SCORE | TIE,
		.words = 1,.encode = lb_encode_numeric,.decode = lb_decode_numeric,
		.in = numeric_in,.out = numeric_out,.array = NUMERICARRAYOID,
	.json = LB_JSON_NUMBER},
	{.oid = FLOAT4OID,.name = "float4",.sql_name = "real",
		.roles = SCORE | TIE,
		.words = 1,.encode = lb_encode_float4,.decode = lb_decode_float4,
		.in = float4in,.out = float4out,.array = FLOAT4ARRAYOID,
	.json = LB_JSON_NUMBER},
	{.oid = FLOAT8OID,.name = "float8",.sql_name = "double precision",
		.roles = SCORE | TIE,
		.words = 1,.encode = lb_encode_float8,.decode = lb_decode_float8,
		.in = float8in,.out = float8out,.array = FLOAT8ARRAYOID,
	.json = LB_JSON_NUMBER},
	{.oid = UUIDOID,.name = "uuid",.sql_name = "uuid",
		.roles = TIE | MEMBER | BOARD,
		.words = 2,.encode = lb_encode_uuid,.decode = lb_decode_uuid,
		.in = uuid_in,.out = uuid_out,.array = UUIDARRAYOID,
		.json = LB_JSON_STRING,
	.value = lb_uuid_value,.is_value = lb_is_uuid_value},
	{.oid = TEXTOID,.name = "text",.sql_name = "text",
		.roles = TIE | MEMBER | BOARD,
		.words = LB_TEXT,.encode = lb_encode_text,.decode = lb_decode_text,
		.in = textin,.out = textout,.array = TEXTARRAYOID,
		.json = LB_JSON_STRING,
	.value = lb_text_value,.is_text = true},
	{.oid = VARCHAROID,.name = "varchar",.sql_name = "varchar",
		.roles = TIE | MEMBER | BOARD,
		.words = LB_TEXT,.encode = lb_encode_text,.decode = lb_decode_text,
		.in = varcharin,.out = varcharout,.array = VARCHARARRAYOID,
		.json = LB_JSON_STRING,
	.value = lb_text_value,.is_text = true},
	{.oid = DATEOID,.name = "date",.sql_name = "date",
		.roles = SCORE | TIE | MEMBER | BOARD,
		.words = 1,.encode = lb_encode_date,.decode = lb_decode_date,
		.in = date_in,.out = date_out,.array = DATEARRAYOID,
		.json = LB_JSON_DATETIME,
	.value = lb_date_value,.is_value = lb_is_date_value},
	{.oid = TIMESTAMPOID,.name = "timestamp",.sql_name = "timestamp",
		.roles = SCORE | TIE | MEMBER,
		.words = 1,.encode = lb_encode_timestamp,.decode = lb_decode_timestamp,
		.in = timestamp_in,.out = timestamp_out,.array = TIMESTAMPARRAYOID,
	.json = LB_JSON_DATETIME},
	{.oid = TIMESTAMPTZOID,.name = "timestamptz",.sql_name = "timestamptz",
		.roles = SCORE | TIE | MEMBER,
		.words = 1,.encode = lb_encode_timestamp,.decode = lb_decode_timestamp,
		.in = timestamptz_in,.out = timestamptz_out,.array = TIMESTAMPTZARRAYOID,
	.json = LB_JSON_DATETIME},
	{.oid = TIMEOID,.name = "time",.sql_name = "time",
		.roles = SCORE | TIE,
		.words = 1,.encode = lb_encode_time,.decode = lb_decode_time,
		.in = time_in,.out = time_out,.array = TIMEARRAYOID,
	.json = LB_JSON_STRING},
	{.oid = BOOLOID,.name = "bool",.sql_name = "boolean",
		.roles = SCORE | TIE | BOARD | RANKED_IF,
		.words = 1,.encode = lb_encode_bool,.decode = lb_decode_bool,
		.in = boolin,.out = boolout,.array = BOOLARRAYOID,
		.json = LB_JSON_BOOLEAN,
	.value = lb_bool_value,.is_value = lb_is_bool_value},
	{.oid = ANYENUMOID,.name = "anyenum",.sql_name = "enums",
		.roles = BOARD,
	.value = lb_enum_value,.is_value = lb_is_enum_value},
};

/* Whether a numeric's typmod limits the values to those with a word. */
static bool
numeric_fits(int32 typmod, int16 *scale)
{
	if (typmod < (int32) VARHDRSZ)
		return false;
	typmod -= VARHDRSZ;
	*scale = ((typmod & 0x7ff) ^ 1024) - 1024;
	return ((typmod >> 16) & 0xffff) <= LB_MAX_PRECISION;
}

const LbType *
lb_known_type(Oid type)
{
	for (int i = 0; i < (int) lengthof(types); i++)
	{
		if (types[i].oid == type)
			return &types[i];
	}
	return NULL;
}

/* The row of a type that is no domain, or NULL if it cannot have the role. */
static const LbType *
find_type(Oid type, LbRole role)
{
	const LbType *found = lb_known_type(type_is_enum(type) ? ANYENUMOID : type);

	return found != NULL && (found->roles & LB_ROLE_BIT(role)) ? found : NULL;
}

void
lb_set_column_type(LbColumn *column, Oid type, int32 typmod)
{
	column->type = NULL;
	column->scale = 0;
	if (!OidIsValid(type))
		return;
	type = getBaseTypeAndTypmod(type, &typmod);
	column->oid = type;
	if (type == NUMERICOID && !numeric_fits(typmod, &column->scale))
		return;
	column->type = find_type(type, column->role);
}

int
lb_type_words(Oid type, LbRole role)
{
	const LbType *found =
		SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(type)) ?
		find_type(getBaseType(type), role) : NULL;

	return found == NULL ? 0 : found->words;
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

char *
lb_type_hint(Oid type, int32 typmod, LbRole role)
{
	Oid			base = getBaseTypeAndTypmod(type, &typmod);
	char		category;
	bool		preferred;
	const char *hint;

	get_type_category_preferred(base, &category, &preferred);
	if (base == NUMERICOID && role <= LB_ROLE_TIE)
		hint = psprintf("Declare it as numeric(p,s) with a precision of at most %d. ",
						LB_MAX_PRECISION);
	else if (base == INTERVALOID && role <= LB_ROLE_TIE)
		hint = "Rank by a stored generated column with extract(epoch from ...). ";
	else if (role == LB_ROLE_RANKED_IF)
		hint = "Write a condition, as in 'level > 10'. ";
	else if (role == LB_ROLE_SCORE && category == TYPCATEGORY_STRING)
		hint = "A text of digits is a number in an expression, as in '(score::bigint) DESC'. ";
	else if (base == TIMETZOID)
		hint = "Use time or timestamptz. ";
	else if (role == LB_ROLE_MEMBER &&
			 (base == FLOAT4OID || base == FLOAT8OID || base == NUMERICOID))
		hint = "Equal values of this type can be written in several ways: identify members by another column. ";
	else if (category == TYPCATEGORY_STRING && role != LB_ROLE_SCORE &&
			 base != TEXTOID && base != VARCHAROID)
		hint = "Use text or varchar, if need be in a stored generated column. ";
	else
		hint = "";
	return psprintf("%sAccepted types: %s.", hint, lb_types_for(role));
}
