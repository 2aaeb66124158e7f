/*-------------------------------------------------------------------------
 *
 * args.h
 *	  Arguments of statements, each with its type; values of their rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ARGS_H
#define LB_ARGS_H

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* The most arguments of a statement. */
#define LB_MOST_ARGS 32

/* An argument of a statement. */
typedef struct LbArg
{
	Oid			type;
	bool		isnull;
	Datum		value;
} LbArg;

/*
 * The two parameters nargs and args of the functions that run statements:
 * LB_ARGS(lb_arg_text(name), lb_arg_int4(n)).  The arguments live as long as
 * the block.
 */
#define LB_ARGS(...) \
	(int) (sizeof((LbArg[]) {__VA_ARGS__}) / sizeof(LbArg)), \
	(LbArg[]) {__VA_ARGS__}
#define LB_NO_ARGS 0, NULL

static inline LbArg
lb_arg(Oid type, Datum value)
{
	return (LbArg)
	{
		type, false, value
	};
}

/* A value that is null if isnull is set. */
static inline LbArg
lb_arg_or_null(Oid type, Datum value, bool isnull)
{
	return (LbArg)
	{
		type, isnull, isnull ? (Datum) 0 : value
	};
}

static inline LbArg
lb_arg_null(Oid type)
{
	return (LbArg)
	{
		type, true, (Datum) 0
	};
}

/* A string, copied; NULL is null. */
static inline LbArg
lb_arg_text(const char *string)
{
	return string == NULL ? lb_arg_null(TEXTOID) :
		lb_arg(TEXTOID, CStringGetTextDatum(string));
}

/* A string as a name, cut as the type's input function cuts it; copied. */
static inline LbArg
lb_arg_name(const char *string)
{
	return lb_arg(NAMEOID, DirectFunctionCall1(namein, CStringGetDatum(string)));
}

static inline LbArg
lb_arg_bool(bool value)
{
	return lb_arg(BOOLOID, BoolGetDatum(value));
}

static inline LbArg
lb_arg_int4(int32 value)
{
	return lb_arg(INT4OID, Int32GetDatum(value));
}

static inline LbArg
lb_arg_int8(int64 value)
{
	return lb_arg(INT8OID, Int64GetDatum(value));
}

static inline LbArg
lb_arg_oid(Oid value)
{
	return lb_arg(OIDOID, ObjectIdGetDatum(value));
}

static inline LbArg
lb_arg_regclass(Oid value)
{
	return lb_arg(REGCLASSOID, ObjectIdGetDatum(value));
}

static inline LbArg
lb_arg_time(TimestampTz value)
{
	return lb_arg(TIMESTAMPTZOID, TimestampTzGetDatum(value));
}

/* Argument i, from 0 on, of a function of SQL. */
static inline LbArg
lb_arg_given(FunctionCallInfo fcinfo, int i, Oid type)
{
	return lb_arg_or_null(type, PG_GETARG_DATUM(i), PG_ARGISNULL(i));
}

/*
 * A column, from 1 on, of row number row, from 0 on.  lb_row_text() returns
 * it as its type's output function writes it, palloc'd, or NULL if it is
 * null.  Can raise.
 */
static inline char *
lb_row_text(const SPITupleTable *rows, uint64 row, int column)
{
	return SPI_getvalue(rows->vals[row], rows->tupdesc, column);
}

/* As a Datum, in memory of the rows. */
static inline Datum
lb_row_nullable(const SPITupleTable *rows, uint64 row, int column,
				bool *isnull)
{
	return SPI_getbinval(rows->vals[row], rows->tupdesc, column, isnull);
}

/* The value of a column that is never null. */
static inline Datum
lb_row_datum(const SPITupleTable *rows, uint64 row, int column)
{
	bool		isnull;
	Datum		value = lb_row_nullable(rows, row, column, &isnull);

	Assert(!isnull);
	return value;
}

/* Whether a bigint is not null, and the number, or 0. */
static inline bool
lb_row_int8(const SPITupleTable *rows, uint64 row, int column, int64 *number)
{
	bool		isnull;
	Datum		value = lb_row_nullable(rows, row, column, &isnull);

	*number = isnull ? 0 : DatumGetInt64(value);
	return !isnull;
}

/* A boolean; false if it is null. */
static inline bool
lb_row_bool(const SPITupleTable *rows, uint64 row, int column)
{
	bool		isnull;
	Datum		value = lb_row_nullable(rows, row, column, &isnull);

	return !isnull && DatumGetBool(value);
}

#endif							/* LB_ARGS_H */
