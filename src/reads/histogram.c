/*-------------------------------------------------------------------------
 *
 * histogram.c
 *	  Histograms of a board's scores.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "reads/histogram.h"
#include "reads/rows.h"
#include "reads/values.h"

/*
 * Equal-width buckets: the range of scores from the worst to the best, cut into
 * n.  Bucket i holds the scores at distances ceil(i * range / n) to
 * ceil((i + 1) * range / n) - 1 from the worst.
 */
typedef struct Buckets
{
	int64		n;
	uint128		range;			/* scores */
	int64		worst;
	bool		descending;		/* higher scores are better */
} Buckets;

/* Buckets for all entries of a board that has some, under the lock. */
static void
buckets_init(Buckets *b, const LbCall *call, int64 n)
{
	int64		best = lb_score_at(call, 0);

	b->worst = lb_score_at(call, lb_view_members(&call->access.view) - 1);
	b->descending = call->access.target.defn->columns[0].descending;
	b->range = b->descending ? (uint128) ((int128) best - b->worst) + 1 :
		(uint128) ((int128) b->worst - best) + 1;
	b->n = Min((uint128) n, b->range);
}

/* The score at a distance from the worst. */
static int64
bucket_score(const Buckets *b, uint128 distance)
{
	return b->descending ? (int64) ((int128) b->worst + (int128) distance) :
		(int64) ((int128) b->worst - (int128) distance);
}

static void
bucket_bounds(const Buckets *b, int64 i, int64 *lo, int64 *hi)
{
	uint128		n = b->n;
	uint128		first = ((uint128) i * b->range + n - 1) / n;
	uint128		end = ((uint128) (i + 1) * b->range + n - 1) / n;
	int64		near = bucket_score(b, first);
	int64		far = bucket_score(b, end - 1);

	*lo = Min(near, far);
	*hi = Max(near, far);
}

static void
put_buckets(LbCall *call, const Buckets *b, const int64 *counts)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) call->fcinfo->resultinfo;

	for (int64 i = 0; i < b->n; i++)
	{
		Datum		values[4];
		bool		nulls[4] = {false};
		int64		lo;
		int64		hi;

		bucket_bounds(b, i, &lo, &hi);
		values[0] = Int32GetDatum((int32) (i + 1));
		values[1] = Int64GetDatum(lo);
		values[2] = Int64GetDatum(hi);
		values[3] = Int64GetDatum(counts[i]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
}

bool
lb_histogram_rows(LbCall *call, Datum *result, bool *isnull)
{
	int64		n = DatumGetInt32(call->operands[0]);
	int64	   *counts;
	Buckets		b;

	if (!call->access.query && n > LB_MAX_ROWS)
		lb_access_fall_back(&call->access, LB_CAUSE_LIMIT);
	if (call->access.query)
		return false;
	counts = palloc(n * sizeof(int64));
	if (!lb_access_lock(&call->access))
		return false;
	b.n = 0;
	if (lb_view_members(&call->access.view) > 0)
		buckets_init(&b, call, n);
	for (int64 i = 0; i < b.n; i++)
	{
		int64		lo;
		int64		hi;

		if (!lb_go_on(call, i))
			return false;
		bucket_bounds(&b, i, &lo, &hi);
		counts[i] = lb_scores_between(call, lo, hi);
	}
	lb_access_unlock(&call->access);
	put_buckets(call, &b, counts);
	return true;
}
