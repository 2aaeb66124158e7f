/*-------------------------------------------------------------------------
 *
 * tier.c
 *	  Tiers of a board, by shares of its members: lb_tier().
 *
 * A member is in the first tier p for which fewer than p percent of the board
 * are ahead of it.  By row_number the members ahead are those at places before
 * its own; by the other methods, those with a better score, so members that
 * tie are in the same tier.
 *
 * Rank, percentile and total of lb_player() come from one look at the board,
 * and say how many are ahead.  The comparison is exact: it is one of numeric.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/tuplestore.h"

#include "reads/tier.h"
#include "sql/spi.h"

static Datum
numeric_of(int64 value)
{
	return NumericGetDatum(int64_to_numeric(value));
}

static int
compare(Datum a, Datum b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, a, b));
}

static pg_noinline void
raise_range(Datum tier)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("tier %s is not above 0 and at most 100",
					DatumGetCString(DirectFunctionCall1(numeric_out, tier))),
			 errhint("A tier is a percentage of the board: 1 is the best percent.")));
}

/* The tiers that are an argument, checked. */
static int
take_tiers(ArrayType *array, Datum **tiers)
{
	Datum		zero = numeric_of(0);
	Datum		all = numeric_of(100);
	bool	   *nulls;
	int			n;

	deconstruct_array(array, NUMERICOID, -1, false, TYPALIGN_INT, tiers,
					  &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must not be empty", "tiers"),
				 errhint("Name percentages of the board, as in '{1,10,50}'.")));
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("an element of \"%s\" must not be null", "tiers")));
		if (compare((*tiers)[i], zero) <= 0 || compare((*tiers)[i], all) > 0)
			raise_range((*tiers)[i]);
		if (i > 0 && compare((*tiers)[i - 1], (*tiers)[i]) >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"%s\" must be in ascending order", "tiers"),
					 errhint("The best tier, which is the smallest, comes first.")));
	}
	return n;
}

/* How many are ahead of a member, by what lb_player() returns of it. */
static int64
count_ahead(const LbCall *call, int64 rank, double percentile, int64 total)
{
	if (call->method == LB_ROW_NUMBER)
		return rank - 1;
	return total - (int64) rint(percentile * (double) total / 100);
}

/*
 * Read how many are ahead of the member, and how many there are.  Returns
 * false if the member is not on the board.
 */
static bool
read_ahead(LbCall *call, int64 *ahead, int64 *total)
{
	LbNumber	numbers[LB_MAX_COLUMNS];
	TupleTableSlot *slot;
	Tuplestorestate *store;
	bool		isnull;

	if (lb_call_null(call))
		return false;
	if (!lb_call_value(call, numbers, &isnull))
	{
		store = lb_call_query_rows(call, &slot);
		isnull = !tuplestore_gettupleslot(store, true, false, slot);
		if (!isnull)
		{
			slot_getallattrs(slot);
			numbers[0].integer = DatumGetInt64(slot->tts_values[0]);
			numbers[2].real = DatumGetFloat8(slot->tts_values[2]);
			numbers[3].integer = DatumGetInt64(slot->tts_values[3]);
		}
		ExecDropSingleTupleTableSlot(slot);
		tuplestore_end(store);
	}
	if (isnull)
		return false;
	*total = numbers[3].integer;
	*ahead = count_ahead(call, numbers[0].integer, numbers[2].real, *total);
	return true;
}

Datum
lb_call_tier(FunctionCallInfo fcinfo, LbForm form,
			 const LbReadFunction *player)
{
	LbCall		call;
	Datum	   *tiers;
	int			n;
	int			tier = 0;
	int64		ahead;
	int64		total;
	Datum		share;

	if (PG_ARGISNULL(2))
		lb_null_argument("tiers");
	n = take_tiers(PG_GETARG_ARRAYTYPE_P(2), &tiers);
	lb_call_begin(&call, fcinfo, player, "lb_tier", form);
	if (!read_ahead(&call, &ahead, &total))
		PG_RETURN_NULL();
	share = numeric_of(100 * ahead);
	while (tier < n &&
		   compare(share, DirectFunctionCall2(numeric_mul, tiers[tier],
											  numeric_of(total))) >= 0)
	{
		CHECK_FOR_INTERRUPTS();
		tier++;
	}
	PG_RETURN_INT32(tier + 1);
}
