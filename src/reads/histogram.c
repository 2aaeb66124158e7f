/*-------------------------------------------------------------------------
 *
 * histogram.c
 *	  Histograms of a board's scores.
 *
 * Equal-width buckets cut the range of the finite scores, from the worst to
 * the best, into n.  The outermost buckets reach as far as the infinite
 * scores, if there are some, and NaN is above infinity.
 *
 * Scores of most types are integers of some unit: cents, days, microseconds.
 * Of R scores in the range, bucket i, from 0, holds those at distances ceil(i
 * * R / n) to ceil((i + 1) * R / n) - 1 from the worst.
 *
 * Floating-point numbers have no such unit.  Bucket i begins, on the worst
 * one's side, at worst * ((n - i) / n) + best * (i / n), computed in double
 * precision and rounded to the type, and ends before the next one's beginning.
 *
 * Either way bounds are computed here, whether the index or the query counts.
 * Only lb_histogram() has a query that computes them, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/date.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "boards/distributed.h"
#include "boards/resolve.h"
#include "reads/histogram.h"
#include "reads/rows.h"
#include "reads/text.h"
#include "reads/values.h"
#include "sql/spi.h"

/*
 * Neighbouring bounds of buckets of floating-point numbers are so many of the
 * type's steps apart that rounding does not make two of them one.
 */
#define LB_FLOAT_STEPS 4

/* The most buckets of a distributed table, and how often they are counted. */
#define MAX_DISTRIBUTED_BUCKETS 10000
#define MAX_TRIES 4

/* The greatest numeric score, as an integer. */
#define LB_NUMERIC_SCORES INT64CONST(999999999999999999)

/* Buckets, and the scores of the board, as lb_call_score() has them. */
typedef struct Buckets
{
	const LbDefinition *defn;
	bool		descending;		/* higher scores are better */
	bool		real;			/* they are floating-point numbers */
	int64		least;			/* a score can be: finite ones ... */
	int64		greatest;
	int64		n;				/* 0: there are no scores */
	int64		worst;			/* of all scores */
	int64		best;
	int64		from;			/* the worst and the best finite one */
	int64		to;
	uint128		range;			/* integers from one to the other */
} Buckets;

/*
 * What a query returns of the scores: the least and the greatest of all, and
 * of those between the operands.
 */
static const LbReadFunction ends_function = {
	.columns = {LB_SCORE_TYPE, LB_SCORE_TYPE, LB_SCORE_TYPE, LB_SCORE_TYPE},
	.query = {
		.operands = {{.type = LB_SCORE_TYPE}, {.type = LB_SCORE_TYPE}},
		.text = {
			"SELECT CAST({min}({score}) AS {stype}), CAST({max}({score}) AS {stype}),"
			" CAST({min}({score}) FILTER (WHERE {score} {>=} $1 AND {score} {<=} $2) AS {stype}),"
			" CAST({max}({score}) FILTER (WHERE {score} {>=} $1 AND {score} {<=} $2) AS {stype})"
			" {from}"
		}
	}
};

/* How many rows have each number of a bucket, from the lowest scores. */
static const LbReadFunction counts_function = {
	.columns = {INT4OID, INT8OID},
	.query = {
		.operands = {{.type = LB_SCORES_TYPE}},
		.text = {
			"SELECT pg_catalog.width_bucket(CAST({score} AS {stype}), $1), {count}"
			" {from} GROUP BY 1"
		}
	}
};


/* ----------------------------------------------------------------
 *		Buckets
 * ----------------------------------------------------------------
 */

static int64
encode_score(const LbDefinition *defn, Datum value)
{
	int64		score;
	int64		ceil;

	lb_word_from_value(lb_score_column(defn), value, &score, &ceil);
	return score;
}

/* What depends on the type of the score only. */
static void
set_type(Buckets *b, const LbDefinition *defn)
{
	Oid			type = lb_score_column(defn)->type->oid;

	b->defn = defn;
	b->descending = lb_score_column(defn)->descending;
	b->real = type == FLOAT4OID || type == FLOAT8OID;
	b->least = PG_INT64_MIN;
	b->greatest = PG_INT64_MAX;
	switch (type)
	{
		case BOOLOID:
			b->least = false;
			b->greatest = true;
			break;
		case INT2OID:
			b->least = PG_INT16_MIN;
			b->greatest = PG_INT16_MAX;
			break;
		case INT4OID:
			b->least = PG_INT32_MIN;
			b->greatest = PG_INT32_MAX;
			break;
		case TIMEOID:
			b->least = 0;
			b->greatest = USECS_PER_DAY;
			break;
		case DATEOID:
			b->least = DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE;
			b->greatest = DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1;
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			b->least = MIN_TIMESTAMP;
			b->greatest = END_TIMESTAMP - 1;
			break;
		case NUMERICOID:
			b->least = -LB_NUMERIC_SCORES;
			b->greatest = LB_NUMERIC_SCORES;
			break;
		case FLOAT4OID:
			b->least = encode_score(defn, Float4GetDatum(-FLT_MAX));
			b->greatest = encode_score(defn, Float4GetDatum(FLT_MAX));
			break;
		case FLOAT8OID:
			b->least = encode_score(defn, Float8GetDatum(-DBL_MAX));
			b->greatest = encode_score(defn, Float8GetDatum(DBL_MAX));
			break;
	}
}

/* A score of floating-point type as a number. */
static double
number_of(const Buckets *b, int64 score)
{
	Datum		value = lb_score_to_value(b->defn, score);

	return lb_score_column(b->defn)->type->oid == FLOAT4OID ?
		DatumGetFloat4(value) : DatumGetFloat8(value);
}

/* And back, rounded to the type. */
static int64
score_of(const Buckets *b, double number)
{
	return encode_score(b->defn,
						lb_score_column(b->defn)->type->oid == FLOAT4OID ?
						Float4GetDatum((float4) number) :
						Float8GetDatum(number));
}

/* The next number of the type from one towards another. */
static double
step_towards(const Buckets *b, double number, double other)
{
	return lb_score_column(b->defn)->type->oid == FLOAT4OID ?
		nextafterf((float4) number, (float4) other) : nextafter(number, other);
}

/* How many buckets of numbers there can be. */
static int64
max_real_buckets(const Buckets *b)
{
	double		from = number_of(b, b->from);
	double		to = number_of(b, b->to);
	double		largest = Max(fabs(from), fabs(to));
	double		step = largest - step_towards(b, largest, 0);

	/* A step is a power of two, so the divisions are exact. */
	double		n = fabs(to / step - from / step) / LB_FLOAT_STEPS;

	return n >= 1 ? (int64) Min(n, LB_MAX_ROWS) : 1;
}

/* Buckets for scores, of which some are finite or none is. */
static void
set_ends(Buckets *b, int64 n, bool finite)
{
	if (!finite)
	{
		b->n = 1;
		b->from = b->worst;
		b->to = b->best;
		return;
	}
	if (b->real)
	{
		b->n = Min(n, max_real_buckets(b));
		return;
	}
	b->range = (uint128) (b->descending ? (int128) b->to - b->from :
						  (int128) b->from - b->to) + 1;
	b->n = Min((uint128) n, b->range);
}

/* The score at a distance from the worst. */
static int64
bucket_score(const Buckets *b, uint128 distance)
{
	return b->descending ? (int64) ((int128) b->from + (int128) distance) :
		(int64) ((int128) b->from - (int128) distance);
}

/* Where a bucket of numbers begins. */
static double
bucket_number(const Buckets *b, int64 i)
{
	double		n = b->n;

	return number_of(b, score_of(b, number_of(b, b->from) * ((n - i) / n) +
								 number_of(b, b->to) * (i / n)));
}

static void
bucket_bounds(const Buckets *b, int64 i, int64 *lo, int64 *hi)
{
	int64		near = b->worst;
	int64		far = b->best;
	uint128		n = b->n;

	if (b->real)
	{
		if (i > 0)
			near = score_of(b, bucket_number(b, i));
		if (i < b->n - 1)
			far = score_of(b, step_towards(b, bucket_number(b, i + 1),
										   number_of(b, b->from)));
	}
	else
	{
		if (i > 0)
			near = bucket_score(b, ((uint128) i * b->range + n - 1) / n);
		if (i < b->n - 1)
			far = bucket_score(b, ((uint128) (i + 1) * b->range + n - 1) / n - 1);
	}
	*lo = Min(near, far);
	*hi = Max(near, far);
}


/* ----------------------------------------------------------------
 *		By the index
 * ----------------------------------------------------------------
 */

/* The ends of the scores, under the lock. */
static void
read_ends(Buckets *b, const LbCall *call, int64 n)
{
	int64		total = lb_view_members(&call->access.view);
	int64		below = 0;
	int64		above = 0;

	if (total == 0)
		return;
	b->best = lb_score_at(call, 0);
	b->worst = lb_score_at(call, total - 1);
	if (b->least > PG_INT64_MIN)
		below = lb_scores_between(call, PG_INT64_MIN, b->least - 1);
	if (b->greatest < PG_INT64_MAX)
		above = lb_scores_between(call, b->greatest + 1, PG_INT64_MAX);
	if (below + above < total)
	{
		b->to = lb_score_at(call, b->descending ? above : below);
		b->from = lb_score_at(call,
							  total - 1 - (b->descending ? below : above));
	}
	set_ends(b, n, below + above < total);
}

/* Count by the index.  Returns false if the query must be run. */
static bool
count_by_index(LbCall *call, int64 n, Buckets *b, int64 **counts)
{
	if (!call->access.query && n > LB_MAX_ROWS)
		lb_access_fall_back(&call->access, LB_CAUSE_LIMIT);
	if (call->access.query)
		return false;
	*counts = palloc(n * sizeof(int64));
	if (!lb_access_lock(&call->access))
		return false;
	read_ends(b, call, n);
	for (int64 i = 0; i < b->n; i++)
	{
		int64		lo;
		int64		hi;

		if (!lb_go_on(call, i))
			return false;
		bucket_bounds(b, i, &lo, &hi);
		(*counts)[i] = lb_scores_between(call, lo, hi);
	}
	lb_access_unlock(&call->access);
	return true;
}


/* ----------------------------------------------------------------
 *		By queries
 * ----------------------------------------------------------------
 */

/* Run a query in place of the call's own. */
static Tuplestorestate *
run_instead(LbCall *call, const LbReadFunction *function,
			TupleTableSlot **slot)
{
	Tuplestorestate *store;
	const LbReadFunction *own = call->function;

	call->function = function;
	store = lb_call_query_rows(call, slot);
	call->function = own;

	/* The statistics count one read. */
	call->access.cause = LB_CAUSE_NONE;
	return store;
}

static void
query_ends(Buckets *b, LbCall *call, int64 n)
{
	TupleTableSlot *slot;
	Tuplestorestate *store;
	int64		ends[4];
	bool		descending = b->descending;

	call->operands[0] = lb_score_to_value(b->defn, b->least);
	call->operands[1] = lb_score_to_value(b->defn, b->greatest);
	call->nulls[0] = call->nulls[1] = false;
	store = run_instead(call, &ends_function, &slot);
	if (!tuplestore_gettupleslot(store, true, false, slot))
		elog(ERROR, "the query of a histogram has returned no row");
	slot_getallattrs(slot);
	for (int i = 0; i < 4; i++)
		ends[i] = slot->tts_isnull[i] ? 0 :
			encode_score(b->defn, slot->tts_values[i]);
	if (!slot->tts_isnull[0])
	{
		b->worst = ends[descending ? 0 : 1];
		b->best = ends[descending ? 1 : 0];
		b->from = ends[descending ? 2 : 3];
		b->to = ends[descending ? 3 : 2];
		set_ends(b, n, !slot->tts_isnull[2]);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
}

/*
 * Count by the indexes of a distributed table's servers.  Returns false if the
 * query must be run.
 *
 * A query finds the ends: each index knows its own.  Rows may have changed
 * when the servers count, and be in no bucket: then this begins again.
 */
static bool
count_distributed(LbCall *call, int64 n, Buckets *b, int64 **counts)
{
	LbAccess   *access = &call->access;
	LbForm		form = call->form;
	LbCause		cause = access->cause;
	Datum		operand = call->operands[0];
	int64		others = 1;

	if (lb_distributed == NULL || !access->query ||
		cause != LB_CAUSE_OFFLINE || n > MAX_DISTRIBUTED_BUCKETS ||
		b->defn->problem != lb_engine_problem)
		return false;
	for (int try = 0; others != 0 && try < MAX_TRIES; try++)
	{
		int64	   *words;

		/* The ends have the column's own type, and are not counted. */
		call->form = LB_AS_TEXT;
		access->cause = LB_CAUSE_NONE;
		b->n = 0;
		query_ends(b, call, n);
		call->form = form;
		access->cause = cause;
		call->operands[0] = operand;

		*counts = palloc(Max(1, b->n) * sizeof(int64));
		words = palloc(Max(1, b->n) * 2 * sizeof(int64));
		for (int64 i = 0; i < b->n; i++)
		{
			int64		lo;
			int64		hi;

			bucket_bounds(b, i, &lo, &hi);
			lo = lb_directed(lo, b->descending);
			hi = lb_directed(hi, b->descending);
			words[2 * i] = Min(lo, hi);
			words[2 * i + 1] = Max(lo, hi);
		}
		if (!lb_distributed->count_scores(call, b->n, words, *counts,
										  &others))
			return false;
		b->defn = access->target.defn;
	}
	return others == 0;
}

/* Count by queries, where the routine computes the bounds. */
static void
count_by_query(LbCall *call, int64 n, Buckets *b, int64 **counts)
{
	TupleTableSlot *slot;
	Tuplestorestate *store;
	Datum	   *bounds;

	query_ends(b, call, n);
	if (b->n == 0)
		return;
	*counts = palloc0(b->n * sizeof(int64));
	bounds = palloc(b->n * sizeof(Datum));

	/* The lower bounds, in ascending order. */
	for (int64 i = 0; i < b->n; i++)
	{
		int64		lo;
		int64		hi;

		CHECK_FOR_INTERRUPTS();
		bucket_bounds(b, i, &lo, &hi);
		bounds[b->descending ? i : b->n - 1 - i] =
			lb_score_to_value(b->defn, lo);
	}
	call->operands[0] = lb_make_array(lb_score_column(b->defn)->type->oid,
									  bounds, NULL, (int) b->n);
	store = run_instead(call, &counts_function, &slot);
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		int			i;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		i = DatumGetInt32(slot->tts_values[0]) - 1;
		(*counts)[b->descending ? i : b->n - 1 - i] =
			DatumGetInt64(slot->tts_values[1]);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
}


/* ----------------------------------------------------------------
 *		The function
 * ----------------------------------------------------------------
 */

static void
put_buckets(LbCall *call, const Buckets *b, const int64 *counts)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) call->fcinfo->resultinfo;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "leaderboard texts",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int64 i = 0; i < b->n; i++)
	{
		Datum		values[4];
		bool		nulls[4] = {false};
		int64		lo;
		int64		hi;

		CHECK_FOR_INTERRUPTS();
		bucket_bounds(b, i, &lo, &hi);
		values[0] = Int32GetDatum((int32) (i + 1));
		values[1] = lb_call_score_datum(call, lo);
		values[2] = lb_call_score_datum(call, hi);
		values[3] = Int64GetDatum(counts[i]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
lb_histogram_rows(LbCall *call, Datum *result, bool *isnull)
{
	int64		n = DatumGetInt32(call->operands[0]);
	int64	   *counts = NULL;
	Buckets		b;

	if (n > LB_MAX_ROWS && call->form != LB_AS_BIGINT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a histogram cannot have more than %d buckets",
						LB_MAX_ROWS)));
	memset(&b, 0, sizeof(b));
	set_type(&b, call->access.target.defn);
	if (!count_by_index(call, n, &b, &counts) &&
		!count_distributed(call, n, &b, &counts))
	{
		if (call->form == LB_AS_BIGINT)
			return false;
		b.n = 0;
		count_by_query(call, n, &b, &counts);
	}
	put_buckets(call, &b, counts);
	return true;
}
