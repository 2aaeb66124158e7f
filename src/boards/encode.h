/*-------------------------------------------------------------------------
 *
 * encode.h
 *	  Values as words of a key, and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ENCODE_H
#define LB_ENCODE_H

#include "boards/keys.h"

/* For each type, LbType.encode and LbType.decode; see there. */
extern int	lb_encode_int2(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_int2(const LbColumn *column, const int64 *words);
extern int	lb_encode_int4(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_int4(const LbColumn *column, const int64 *words);
extern int	lb_encode_int8(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_int8(const LbColumn *column, const int64 *words);
extern int	lb_encode_date(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_date(const LbColumn *column, const int64 *words);
extern int	lb_encode_timestamp(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_timestamp(const LbColumn *column, const int64 *words);
extern int	lb_encode_time(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_time(const LbColumn *column, const int64 *words);
extern int	lb_encode_bool(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_bool(const LbColumn *column, const int64 *words);
extern int	lb_encode_float4(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_float4(const LbColumn *column, const int64 *words);
extern int	lb_encode_float8(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_float8(const LbColumn *column, const int64 *words);
extern int	lb_encode_numeric(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_numeric(const LbColumn *column, const int64 *words);
extern int	lb_encode_uuid(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_uuid(const LbColumn *column, const int64 *words);
extern int	lb_encode_text(const LbColumn *column, Datum value, int64 *words);
extern Datum lb_decode_text(const LbColumn *column, const int64 *words);

/*
 * Whether the column's type has -0, which has the same words as 0; and whether
 * a value of the column is it.  See LbSharedBoard.negative_zero.
 */
static inline bool
lb_has_negative_zero(const LbColumn *column)
{
	return column->type->oid == FLOAT8OID || column->type->oid == FLOAT4OID;
}

extern bool lb_is_negative_zero(const LbColumn *column, Datum value);

#endif							/* LB_ENCODE_H */
