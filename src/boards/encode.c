/*-------------------------------------------------------------------------
 *
 * encode.c
 *	  Values as words of a key, and back.
 *
 * There is a pair of functions for each type that a key can have; types[] in
 * types.c has them.  The words of a value ascend as PostgreSQL orders the
 * values, and equal values have equal words.  A value comes back as it was,
 * with two exceptions: -0 comes back as 0, and a NaN as the usual one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "boards/encode.h"
#include "util/planted.h"

/* ----------------------------------------------------------------
 *		Values that are integers
 * ----------------------------------------------------------------
 */

int
lb_encode_int2(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetInt16(value);
	return 1;
}

Datum
lb_decode_int2(const LbColumn *column, const int64 *words)
{
	return Int16GetDatum((int16) words[0]);
}

int
lb_encode_int4(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetInt32(value);
	return 1;
}

Datum
lb_decode_int4(const LbColumn *column, const int64 *words)
{
	return Int32GetDatum((int32) words[0]);
}

int
lb_encode_int8(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetInt64(value);
	return 1;
}

Datum
lb_decode_int8(const LbColumn *column, const int64 *words)
{
	return Int64GetDatum(words[0]);
}

/* Infinities of dates and timestamps keep their places at the ends. */
int
lb_encode_date(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetDateADT(value);
	return 1;
}

Datum
lb_decode_date(const LbColumn *column, const int64 *words)
{
	return DateADTGetDatum((DateADT) words[0]);
}

int
lb_encode_timestamp(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetTimestamp(value);
	return 1;
}

Datum
lb_decode_timestamp(const LbColumn *column, const int64 *words)
{
	return TimestampGetDatum(words[0]);
}

int
lb_encode_bool(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetBool(value) ? 1 : 0;
	return 1;
}

Datum
lb_decode_bool(const LbColumn *column, const int64 *words)
{
	return BoolGetDatum(words[0] != 0);
}


int
lb_encode_time(const LbColumn *column, Datum value, int64 *words)
{
	words[0] = DatumGetTimeADT(value);
	return 1;
}

Datum
lb_decode_time(const LbColumn *column, const int64 *words)
{
	return TimeADTGetDatum(words[0]);
}


/* ----------------------------------------------------------------
 *		Floating point
 * ----------------------------------------------------------------
 */

/*
 * The bits of positive numbers ascend with them; those of negative numbers
 * descend.  0 and -0 are equal, and so are all NaNs, which come last.
 */
int
lb_encode_float8(const LbColumn *column, Datum value, int64 *words)
{
	float8		number = DatumGetFloat8(value);

	if (number == 0)
		number = 0;				/* not -0 */
	if (isnan(number))
		words[0] = PG_INT64_MAX;
	else
	{
		memcpy(words, &number, sizeof(number));
		if (words[0] < 0)
			words[0] ^= PG_INT64_MAX;
	}
	return 1;
}

Datum
lb_decode_float8(const LbColumn *column, const int64 *words)
{
	int64		bits = words[0] < 0 ? words[0] ^ PG_INT64_MAX : words[0];
	float8		number;

	if (words[0] == PG_INT64_MAX)
		return Float8GetDatum(get_float8_nan());
	memcpy(&number, &bits, sizeof(number));
	return Float8GetDatum(number);
}

int
lb_encode_float4(const LbColumn *column, Datum value, int64 *words)
{
	return lb_encode_float8(column, Float8GetDatum(DatumGetFloat4(value)), words);
}

Datum
lb_decode_float4(const LbColumn *column, const int64 *words)
{
	return Float4GetDatum((float4) DatumGetFloat8(lb_decode_float8(column, words)));
}

bool
lb_is_negative_zero(const LbColumn *column, Datum value)
{
	float8		number;

	if (!lb_has_negative_zero(column))
		return false;
	number = column->type->oid == FLOAT8OID ? DatumGetFloat8(value) :
		DatumGetFloat4(value);
	return number == 0 && signbit(number) && !LB_PLANTED(6);
}


/* ----------------------------------------------------------------
 *		numeric
 *
 * A word is the value times ten to the power of the scale.  The values that
 * are no numbers are at the ends, as they are in PostgreSQL's order.
 * ----------------------------------------------------------------
 */

#define NUMERIC_WORD_END INT64CONST(1000000000000000000)	/* 10 ^ 18 */
#define NUMERIC_NAN_WORD PG_INT64_MAX
#define NUMERIC_INFINITY_WORD (PG_INT64_MAX - 1)
#define NUMERIC_MINUS_INFINITY_WORD PG_INT64_MIN

/* The most digits of base 10000 that a value with a word can have. */
#define MAX_DIGITS 7

/*
 * A numeric as it is stored, after its length: a header of two bytes, or four,
 * and digits of base 10000.  numeric.c does not show this to other files, but
 * it is on disk, so it stays as it is.
 */
typedef struct StoredNumeric
{
	bool		negative;
	int			weight;			/* of the first digit: a power of 10000 */
	int			ndigits;
	int16		digits[MAX_DIGITS];
} StoredNumeric;

/*
 * Returns false if there are more digits, or with *word set, if the value is
 * no number.
 */
static bool
read_numeric(Datum value, StoredNumeric *n, int64 *word)
{
	struct varlena *stored = PG_DETOAST_DATUM_PACKED(value);
	const char *data = VARDATA_ANY(stored);
	int			len = VARSIZE_ANY_EXHDR(stored);
	uint16		header;
	int16		weight;

	*word = 0;
	memcpy(&header, data, sizeof(header));
	if ((header & 0xC000) == 0xC000)
	{
		*word = (header & 0xF000) == 0xC000 ? NUMERIC_NAN_WORD :
			(header & 0xF000) == 0xD000 ? NUMERIC_INFINITY_WORD :
			NUMERIC_MINUS_INFINITY_WORD;
		return false;
	}
	data += sizeof(header);
	len -= sizeof(header);
	if ((header & 0xC000) == 0x8000)
	{
		n->negative = (header & 0x2000) != 0;
		n->weight = (header & 0x0040) ? (header & 0x003F) - 0x0040 :
			header & 0x003F;
	}
	else
	{
		n->negative = (header & 0xC000) == 0x4000;
		memcpy(&weight, data, sizeof(weight));
		n->weight = weight;
		data += sizeof(weight);
		len -= sizeof(weight);
	}
	n->ndigits = len / sizeof(int16);
	if (n->ndigits > MAX_DIGITS)
		return false;
	memcpy(n->digits, data, len);
	return true;
}

int
lb_encode_numeric(const LbColumn *column, Datum value, int64 *words)
{
	StoredNumeric n;
	int128		word = 0;
	int			exponent;

	if (!read_numeric(value, &n, words))
		return words[0] == 0 ? 0 : 1;
	for (int i = 0; i < n.ndigits; i++)
		word = word * 10000 + n.digits[i];
	exponent = (n.weight - n.ndigits + 1) * 4 + column->scale;
	if (LB_PLANTED(5))
		exponent = Min(exponent, 0);
	if (word != 0)
	{
		for (; exponent > 0 && word < NUMERIC_WORD_END; exponent--)
			word *= 10;
		for (; exponent < 0 && word % 10 == 0; exponent++)
			word /= 10;
		if (exponent != 0 || word >= NUMERIC_WORD_END)
			return 0;
	}
	words[0] = (int64) (n.negative ? -word : word);
	return 1;
}

Datum
lb_decode_numeric(const LbColumn *column, const int64 *words)
{
	const char *text;

	if (words[0] > -NUMERIC_WORD_END && words[0] < NUMERIC_WORD_END)
		return NumericGetDatum(int64_div_fast_to_numeric(words[0],
														 column->scale));
	text = words[0] == NUMERIC_NAN_WORD ? "NaN" :
		words[0] == NUMERIC_INFINITY_WORD ? "Infinity" : "-Infinity";

	return DirectFunctionCall3(numeric_in, CStringGetDatum(text),
							   ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

/* ----------------------------------------------------------------
 *		Bytes: uuid, text
 * ----------------------------------------------------------------
 */

/*
 * Eight bytes, the first one highest, as a word: ascending words are ascending
 * bytes.  Its own inverse.
 */
static inline uint64
flip_sign(uint64 bits)
{
	return LB_PLANTED(4) ? bits : bits ^ (UINT64CONST(1) << 63);
}

int
lb_encode_uuid(const LbColumn *column, Datum value, int64 *words)
{
	uint64		halves[2];

	memcpy(halves, DatumGetUUIDP(value)->data, UUID_LEN);
	words[0] = (int64) flip_sign(pg_ntoh64(halves[0]));
	words[1] = (int64) flip_sign(pg_ntoh64(halves[1]));
	return 2;
}

Datum
lb_decode_uuid(const LbColumn *column, const int64 *words)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	uint64		halves[2];

	halves[0] = pg_hton64(flip_sign((uint64) words[0]));
	halves[1] = pg_hton64(flip_sign((uint64) words[1]));
	memcpy(uuid->data, halves, UUID_LEN);
	return UUIDPGetDatum(uuid);
}

int
lb_encode_text(const LbColumn *column, Datum value, int64 *words)
{
	text	   *t;
	int			len;
	int			n;

	/* Do not fetch a long one. */
	if (toast_raw_datum_size(value) - VARHDRSZ > LB_MAX_TEXT)
		return 0;
	t = DatumGetTextPP(value);
	len = VARSIZE_ANY_EXHDR(t);
	n = len / sizeof(int64) + 1;
	words[n - 1] = LB_PLANTED(7) ? 1 : 0;
	memcpy(words, VARDATA_ANY(t), len);
	for (int i = 0; i < n; i++)
		words[i] = (int64) flip_sign(pg_ntoh64((uint64) words[i]));
	return n;
}

Datum
lb_decode_text(const LbColumn *column, const int64 *words)
{
	char		bytes[LB_MAX_TEXT + sizeof(int64)];
	int			n = 0;

	do
	{
		uint64		word = pg_hton64(flip_sign((uint64) words[n]));

		Assert((n + 1) * sizeof(word) <= sizeof(bytes));
		memcpy(bytes + n * sizeof(int64), &word, sizeof(word));
	} while ((uint8) words[n++] != 0);
	return PointerGetDatum(cstring_to_text_with_len(bytes,
													strnlen(bytes, n * sizeof(int64))));
}
