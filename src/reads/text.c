/*-------------------------------------------------------------------------
 *
 * text.c
 *	  Members and scores as text, in the input and output form of their types.
 *
 * Every type can be converted by PostgreSQL's own functions.  Integers, uuids
 * and texts, which most members are, have a shorter way where the text is as
 * their output functions write it.
 *
 * A member of several columns is a row, and is converted by record_in() and
 * record_out().  They need a registered row type and remember what they have
 * looked up; the session keeps both for the row type that it used last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "boards/types.h"
#include "reads/text.h"
#include "sql/spi.h"
#include "util/compat.h"

#define UUID_TEXT_LEN 36

/* Where a uuid's text has the digits of each byte. */
static const uint8 uuid_places[UUID_LEN] = {
	0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34
};

/* The row type of members that the session used last. */
static struct
{
	int			n;				/* columns; 0: none yet */
	Oid			types[LB_MAX_MEMBER_COLUMNS];
	TupleDesc	desc;
	FmgrInfo	in;
	FmgrInfo	out;
	MemoryContext context;
}			row_type;


/* ----------------------------------------------------------------
 *		One value
 * ----------------------------------------------------------------
 */

/* An integer of up to 18 digits.  Returns false if the text is another one. */
static bool
read_int(const char *s, int len, int64 *value)
{
	bool		negative = len > 0 && s[0] == '-';
	int64		n = 0;

	if (negative)
	{
		s++;
		len--;
	}
	if (len < 1 || len > 18)
		return false;
	for (int i = 0; i < len; i++)
	{
		unsigned	digit = (unsigned char) s[i] - '0';

		if (digit > 9)
			return false;
		n = n * 10 + digit;
	}
	*value = negative ? -n : n;
	return true;
}

/* The values of hexadecimal digits, with a bit that others do not have. */
#define A_DIGIT 0x10
static const uint8 hex_digits[256] = {
	['0'] = 0x10,['1'] = 0x11,['2'] = 0x12,['3'] = 0x13,['4'] = 0x14,
	['5'] = 0x15,['6'] = 0x16,['7'] = 0x17,['8'] = 0x18,['9'] = 0x19,
	['a'] = 0x1a,['b'] = 0x1b,['c'] = 0x1c,['d'] = 0x1d,['e'] = 0x1e,
	['f'] = 0x1f,['A'] = 0x1a,['B'] = 0x1b,['C'] = 0x1c,['D'] = 0x1d,
	['E'] = 0x1e,['F'] = 0x1f
};

/* A uuid with hyphens in the usual places.  Returns false for another text. */
static bool
read_uuid(const char *s, int len, pg_uuid_t *uuid)
{
	uint8		all = A_DIGIT;

	if (len != UUID_TEXT_LEN || s[8] != '-' || s[13] != '-' || s[18] != '-' ||
		s[23] != '-')
		return false;
	for (int i = 0; i < UUID_LEN; i++)
	{
		const unsigned char *digits = (const unsigned char *) s + uuid_places[i];
		uint8		high = hex_digits[digits[0]];
		uint8		low = hex_digits[digits[1]];

		all &= high & low;
		uuid->data[i] = high << 4 | (low & 0xf);
	}
	return all != 0;
}

/* The two digits of each byte. */
#define DIGITS(high) \
	high "0" high "1" high "2" high "3" high "4" high "5" high "6" high "7" \
	high "8" high "9" high "a" high "b" high "c" high "d" high "e" high "f"
static const char byte_digits[] =
DIGITS("0") DIGITS("1") DIGITS("2") DIGITS("3")
DIGITS("4") DIGITS("5") DIGITS("6") DIGITS("7")
DIGITS("8") DIGITS("9") DIGITS("a") DIGITS("b")
DIGITS("c") DIGITS("d") DIGITS("e") DIGITS("f");

static void
write_uuid(const pg_uuid_t *uuid, char *s)
{
	s[8] = s[13] = s[18] = s[23] = '-';
	for (int i = 0; i < UUID_LEN; i++)
		memcpy(s + uuid_places[i], byte_digits + 2 * uuid->data[i], 2);
}

Datum
lb_value_from_text(const LbType *type, Datum t)
{
	text	   *txt = DatumGetTextPP(t);
	const char *s = VARDATA_ANY(txt);
	int			len = VARSIZE_ANY_EXHDR(txt);
	int64		n;
	pg_uuid_t	uuid;

	switch (type->oid)
	{
		case TEXTOID:
		case VARCHAROID:
			return PointerGetDatum(txt);
		case INT8OID:
			if (read_int(s, len, &n))
				return Int64GetDatum(n);
			break;
		case INT4OID:
			if (read_int(s, len, &n) && n >= PG_INT32_MIN && n <= PG_INT32_MAX)
				return Int32GetDatum((int32) n);
			break;
		case UUIDOID:
			if (read_uuid(s, len, &uuid))
			{
				pg_uuid_t  *result = palloc(sizeof(pg_uuid_t));

				*result = uuid;
				return UUIDPGetDatum(result);
			}
			break;
	}
	return DirectFunctionCall3(type->in,
							   CStringGetDatum(text_to_cstring(txt)),
							   ObjectIdGetDatum(type->oid), Int32GetDatum(-1));
}

static Datum
int_to_text(int64 value)
{
	text	   *result = palloc(VARHDRSZ + MAXINT8LEN + 1);

	SET_VARSIZE(result, VARHDRSZ + pg_lltoa(value, VARDATA(result)));
	return PointerGetDatum(result);
}

/* A time of a date in ISO 8601, with the offset of a time zone. */
static void
encode_timestamp(Timestamp t, bool with_zone, char *s)
{
	struct pg_tm tm;
	fsec_t		fsec;
	int			zone = 0;
	const char *zone_name = NULL;

	if (TIMESTAMP_NOT_FINITE(t))
		EncodeSpecialTimestamp(t, s);
	else if (timestamp2tm(t, with_zone ? &zone : NULL, &tm, &fsec,
						  with_zone ? &zone_name : NULL, NULL) == 0)
		EncodeDateTime(&tm, fsec, with_zone, zone, zone_name, USE_ISO_DATES, s);
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
}

static void
encode_date(DateADT date, char *s)
{
	struct pg_tm tm;

	if (DATE_NOT_FINITE(date))
		EncodeSpecialDate(date, s);
	else
	{
		j2date(date + POSTGRES_EPOCH_JDATE, &tm.tm_year, &tm.tm_mon,
			   &tm.tm_mday);
		EncodeDateOnly(&tm, USE_ISO_DATES, s);
	}
}

/*
 * What every session takes for the same value: PostgreSQL would write dates as
 * DateStyle says, maybe with the abbreviation of a time zone that means
 * another one elsewhere, and floating-point numbers with as many digits as
 * extra_float_digits says.
 */
Datum
lb_value_to_text(const LbType *type, Datum value)
{
	char		s[MAXDATELEN + 1];
	text	   *result;

	switch (type->oid)
	{
		case TEXTOID:
		case VARCHAROID:
			return value;
		case INT8OID:
			return int_to_text(DatumGetInt64(value));
		case INT4OID:
			return int_to_text(DatumGetInt32(value));
		case UUIDOID:
			result = palloc(VARHDRSZ + UUID_TEXT_LEN);
			SET_VARSIZE(result, VARHDRSZ + UUID_TEXT_LEN);
			write_uuid(DatumGetUUIDP(value), VARDATA(result));
			return PointerGetDatum(result);
		case DATEOID:
			encode_date(DatumGetDateADT(value), s);
			return CStringGetTextDatum(s);
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			encode_timestamp(DatumGetTimestamp(value),
							 type->oid == TIMESTAMPTZOID, s);
			return CStringGetTextDatum(s);
		case FLOAT4OID:
			float_to_shortest_decimal_buf(DatumGetFloat4(value), s);
			return CStringGetTextDatum(s);
		case FLOAT8OID:
			double_to_shortest_decimal_buf(DatumGetFloat8(value), s);
			return CStringGetTextDatum(s);
	}
	return CStringGetTextDatum(DatumGetCString(DirectFunctionCall1(type->out, value)));
}

/*
 * The text of a value of a type that no column of a board has.  Rows have
 * fields of all types, which lb_value_to_text() would show so.
 */
static Datum
other_to_text(Oid type, Datum value)
{
	Oid			out;
	bool		varlena;
	int			nestlevel = 0;
	Datum		result;

	getTypeOutputInfo(type, &out, &varlena);
	if (DateStyle != USE_ISO_DATES || extra_float_digits < 1)
	{
		nestlevel = NewGUCNestLevel();
		lb_set_locally("datestyle", "ISO");
		lb_set_locally("extra_float_digits", "1");
	}
	result = CStringGetTextDatum(OidOutputFunctionCall(out, value));
	if (nestlevel > 0)
		AtEOXact_GUC(true, nestlevel);
	return result;
}

/* The text of an array of one uuid is a uuid, too. */
static pg_noinline void
raise_array(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("an array is not a member or a score"),
			 errhint("Functions for many members, such as %s, take them as text[].",
					 "lb_ranks_key()")));
}

Oid
lb_take_argument(FunctionCallInfo fcinfo, int argument, Datum *value)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argument);

	/* A call without an expression is one of our own. */
	if (type == TEXTOID || !OidIsValid(type))
		return TEXTOID;
	type = getBaseType(type);
	if (lb_known_type(type) != NULL)
		return type;
	if (type_is_array(type))
		raise_array();
	if (!fcinfo->args[argument].isnull)
		*value = other_to_text(type, *value);
	return TEXTOID;
}

Datum
lb_value_from(const LbType *type, Oid given, Datum value)
{
	if (given == TEXTOID)
		return lb_value_from_text(type, value);
	if (given == type->oid && !type->is_text)
		return value;
	return lb_value_from_text(type,
							  lb_value_to_text(lb_known_type(given), value));
}

Datum
lb_call_with_text(FunctionCallInfo fcinfo,
				  Datum (*body) (FunctionCallInfo fcinfo, bool as_text))
{
	Datum		value = fcinfo->args[0].value;
	Oid			type = lb_take_argument(fcinfo, 0, &value);
	FunctionCallInfo call;
	Datum		result;

	if (type == TEXTOID && value == fcinfo->args[0].value)
		return body(fcinfo, true);
	if (type != TEXTOID && !fcinfo->args[0].isnull)
		value = lb_value_to_text(lb_known_type(type), value);

	/* The executor keeps arguments that are constants for its next call. */
	call = palloc(SizeForFunctionCallInfo(fcinfo->nargs));
	memcpy(call, fcinfo, SizeForFunctionCallInfo(fcinfo->nargs));
	call->args[0].value = value;
	result = body(call, true);
	fcinfo->isnull = call->isnull;
	return result;
}


void
lb_argument_context(void *arg)
{
	const LbArgument *argument = (const LbArgument *) arg;

	/* Answers to HTTP have the detail, but not the context. */
	if (argument->function == NULL)
		errdetail("It is the field \"%s\" of the submit.", argument->name);
	else
		errcontext("argument \"%s\" of %s_key()", argument->name,
				   argument->function);
}

void
lb_raise_mistyped(const LbDefinition *defn, const LbColumn *column,
				  const char *function)
{
	bool		member = column->role == LB_ROLE_MEMBER;

	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("the %s of board \"%s\" are not integers",
					member ? "members" : "scores", defn->name),
			 member && defn->nmember > 1 ?
			 errdetail("They are of %d columns.", defn->nmember) :
			 errdetail("Column \"%s\" is of type %s.", column->name,
					   format_type_be(column->oid)),
			 errhint("Use %s_key(), which takes values of every type, and returns text.",
					 function)));
}


/* ----------------------------------------------------------------
 *		Members
 * ----------------------------------------------------------------
 */

static bool
row_type_fits(const LbDefinition *defn)
{
	if (row_type.n != defn->nmember)
		return false;
	for (int i = 0; i < defn->nmember; i++)
	{
		if (row_type.types[i] != lb_member_columns(defn)[i].type->oid)
			return false;
	}
	return true;
}

/* Have row_type be that of the board's members. */
static void
make_row_type(const LbDefinition *defn)
{
	const LbColumn *columns = lb_member_columns(defn);
	MemoryContext old;
	StringInfoData nothing;

	if (row_type.context == NULL)
		row_type.context = AllocSetContextCreate(TopMemoryContext,
												 "leaderboard row type",
												 ALLOCSET_SMALL_SIZES);
	row_type.n = 0;
	MemoryContextReset(row_type.context);
	old = MemoryContextSwitchTo(row_type.context);
	row_type.desc = CreateTemplateTupleDesc(defn->nmember);
	for (int i = 0; i < defn->nmember; i++)
	{
		row_type.types[i] = columns[i].type->oid;
		TupleDescInitEntry(row_type.desc, i + 1, psprintf("m%d", i + 1),
						   row_type.types[i], -1, 0);
	}
	TupleDescFinalize(row_type.desc);
	BlessTupleDesc(row_type.desc);
	fmgr_info(F_RECORD_IN, &row_type.in);
	fmgr_info(F_RECORD_OUT, &row_type.out);

	/* A row of nulls, so that all types are looked up. */
	initStringInfo(&nothing);
	appendStringInfoChar(&nothing, '(');
	for (int i = 1; i < defn->nmember; i++)
		appendStringInfoChar(&nothing, ',');
	appendStringInfoChar(&nothing, ')');
	(void) InputFunctionCall(&row_type.in, nothing.data, RECORDOID,
							 row_type.desc->tdtypmod);
	MemoryContextSwitchTo(old);
	row_type.n = defn->nmember;
}

bool
lb_member_ready(const LbDefinition *defn)
{
	if (defn->nmember <= 1 || row_type_fits(defn))
		return true;
	make_row_type(defn);
	return false;
}

void
lb_member_from_text(const LbDefinition *defn, Datum t, Datum *values,
					bool *nulls)
{
	HeapTupleHeader row;
	HeapTupleData tuple;

	if (defn->nmember == 1)
	{
		values[0] = lb_value_from_text(lb_member_columns(defn)->type, t);
		nulls[0] = false;
		return;
	}
	if (!row_type_fits(defn))
		make_row_type(defn);
	row = DatumGetHeapTupleHeader(InputFunctionCall(&row_type.in,
													TextDatumGetCString(t),
													RECORDOID,
													row_type.desc->tdtypmod));
	tuple.t_len = HeapTupleHeaderGetDatumLength(row);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = row;
	heap_deform_tuple(&tuple, row_type.desc, values, nulls);
}

void
lb_member_from(const LbDefinition *defn, Oid given, Datum value,
			   Datum *values, bool *nulls)
{
	if (defn->nmember == 1)
	{
		values[0] = lb_value_from(lb_member_columns(defn)->type, given, value);
		nulls[0] = false;
		return;
	}
	if (given != TEXTOID)
		value = lb_value_to_text(lb_known_type(given), value);
	lb_member_from_text(defn, value, values, nulls);
}

Datum
lb_member_to_text(const LbDefinition *defn, const Datum *values,
				  const bool *nulls)
{
	HeapTuple	tuple;
	int			nestlevel = 0;
	Datum		result;

	if (defn->nmember == 1)
		return lb_value_to_text(lb_member_columns(defn)->type, values[0]);
	if (!row_type_fits(defn))
		make_row_type(defn);
	tuple = heap_form_tuple(row_type.desc, unconstify(Datum *, values),
							unconstify(bool *, nulls));

	/*
	 * As lb_value_to_text(): members have dates, but no floating-point
	 * numbers.
	 */
	if (DateStyle != USE_ISO_DATES)
	{
		nestlevel = NewGUCNestLevel();
		lb_set_locally("datestyle", "ISO");
	}
	result = CStringGetTextDatum(OutputFunctionCall(&row_type.out,
													HeapTupleGetDatum(tuple)));
	if (nestlevel > 0)
		AtEOXact_GUC(true, nestlevel);
	return result;
}

bool
lb_member_from_bigint(const LbDefinition *defn, int64 n, Datum *value)
{
	const LbColumn *column = lb_member_columns(defn);
	int64		word;

	Assert(defn->plain_member);
	*value = column->type->decode(column, &n);
	(void) column->type->encode(column, *value, &word);
	return word == n;
}

int
lb_encode_member(const LbDefinition *defn, const Datum *values, int64 *words)
{
	const LbColumn *columns = lb_member_columns(defn);
	int			n = lb_encode(&columns[0], values[0], words);

	for (int i = 1; n > 0 && i < defn->nmember; i++)
	{
		int64		column[LB_MAX_KEY_WORDS];
		int			more = lb_encode(&columns[i], values[i], column);

		if (more == 0 || n + more > LB_MAX_KEY_WORDS)
			return 0;
		memcpy(words + n, column, more * sizeof(int64));
		n += more;
	}
	return n;
}

void
lb_decode_member(const LbDefinition *defn, const int64 *words, Datum *values)
{
	const LbColumn *columns = lb_member_columns(defn);

	for (int i = 0; i < defn->nmember; i++)
	{
		values[i] = columns[i].type->decode(&columns[i], words);
		words += columns[i].type->words != LB_TEXT ? columns[i].type->words :
			lb_count_words(&defn->shape, defn->nrank_by + i,
						   defn->nrank_by + i + 1, words);
	}
}

Datum
lb_member_words_to_text(const LbDefinition *defn, const int64 *words)
{
	Datum		values[LB_MAX_MEMBER_COLUMNS];
	bool		nulls[LB_MAX_MEMBER_COLUMNS] = {false};

	lb_decode_member(defn, words, values);
	return lb_member_to_text(defn, values, nulls);
}


/* ----------------------------------------------------------------
 *		Scores
 * ----------------------------------------------------------------
 */

/* Exact, which numeric_power() is not where n is below -16. */
static Datum
power_of_ten(int n)
{
	return DirectFunctionCall3(numeric_in,
							   CStringGetDatum(psprintf("1e%d", n)),
							   ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

/* A numeric, or the end that it is beyond: plus or minus 10 to the power n. */
static Datum
clamped(Datum value, int n)
{
	Datum		end = power_of_ten(n);

	value = DirectFunctionCall2(numeric_smaller, value, end);
	return DirectFunctionCall2(numeric_larger, value,
							   DirectFunctionCall1(numeric_uminus, end));
}

/* A numeric in units of a score, rounded by a function. */
static int64
rounded(PGFunction function, Datum value)
{
	value = clamped(DirectFunctionCall1(function, value), LB_MAX_PRECISION);
	return DatumGetInt64(DirectFunctionCall1(numeric_int8, value));
}

void
lb_word_from_value(const LbColumn *column, Datum value, int64 *floor,
				   int64 *ceil)
{
	int			scale = column->scale;

	if (column->type->encode(column, value, floor) > 0)
	{
		*ceil = *floor;
		return;
	}

	/*
	 * It has more digits than the column's values, before or behind the
	 * point.  All of these are less than 10 to the power LB_MAX_PRECISION.
	 */
	Assert(column->type->oid == NUMERICOID);
	value = DirectFunctionCall2(numeric_mul,
								clamped(value, LB_MAX_PRECISION - scale),
								power_of_ten(scale));
	*floor = rounded(numeric_floor, value);
	*ceil = rounded(numeric_ceil, value);
}

Datum
lb_score_to_value(const LbDefinition *defn, int64 score)
{
	const LbColumn *column = lb_score_column(defn);

	return column->type->decode(column, &score);
}

Datum
lb_score_to_text(const LbDefinition *defn, int64 score)
{
	return lb_value_to_text(lb_score_column(defn)->type,
							lb_score_to_value(defn, score));
}

int
lb_begin_texts(void)
{
	static const char *const settings[][2] = {
		{"datestyle", "ISO, YMD"},
		{"timezone", "UTC"},
		{"extra_float_digits", "1"}
	};
	int			nestlevel = NewGUCNestLevel();

	for (int i = 0; i < (int) lengthof(settings); i++)
		lb_set_locally(settings[i][0], settings[i][1]);
	return nestlevel;
}

Datum
lb_ties_to_text(const LbDefinition *defn, const Datum *values)
{
	Datum		ties[LB_MAX_RANK_COLUMNS];

	for (int i = 1; i < defn->nrank_by; i++)
		ties[i - 1] = lb_value_to_text(defn->columns[i].type, values[i - 1]);
	return lb_make_array(TEXTOID, ties, NULL, defn->nrank_by - 1);
}
