/*-------------------------------------------------------------------------
 *
 * ranked_count.c
 *	  What a board knows of the rows of a ranked subquery.
 *
 * Each window function counts the keys before a row's, or through those that
 * equal it in the first columns: a descent of the index or two.  If a window
 * sorts in the reverse of the board's order, the two change places.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "planner/ranked_count.h"

/*
 * The rows of the subquery on the board: places before .. upto - 1 of its
 * order.
 */
typedef struct Rows
{
	const LbDefinition *defn;
	const LbView *view;
	uint64		before;
	uint64		upto;
	uint64		distinct_before;	/* distinct scores before them ... */
	uint64		distinct_upto;	/* ... and before their end */
} Rows;

static void
open_rows(const LbAccess *access, const LbRanking *ranking, Rows *rows)
{
	const LbRange *range = &ranking->range;

	memset(rows, 0, sizeof(Rows));
	rows->defn = access->target.defn;
	rows->view = &access->view;
	if (lb_bound_cmp(&range->low, &range->high) >= 0)
		return;
	rows->before = lb_count_before_bound(rows->view, &range->low);
	rows->upto = lb_count_before_bound(rows->view, &range->high);
	if (ranking->distinct)
	{
		rows->distinct_before = lb_distinct_before(rows->view, &range->low);
		rows->distinct_upto = lb_distinct_before(rows->view, &range->high);
	}
}

/*
 * Rows before a row, or with through, before what follows its equals.  The
 * rows that equal it need not all be in the range.
 */
static uint64
count_rows(const Rows *rows, const LbRankedRow *row, int ncolumns,
		   bool through)
{
	uint64		members;

	if (ncolumns == 0)
		return through ? rows->upto - rows->before : 0;
	if (lb_has_members(rows->defn) && ncolumns == lb_nkey_columns(rows->defn))
	{
		lb_view_spans(rows->view, row->key, rows->view->shape->width, false,
					  &members, NULL);
		members += through;
	}
	else
	{
		LbBound		bound = {.n = 0,.after = through};

		for (int i = 0; i < ncolumns; i++)
			bound.n += rows->defn->columns[i].type->words;
		memcpy(bound.words, row->key, bound.n * sizeof(int64));
		members = lb_count_before_bound(rows->view, &bound);
	}
	return Min(Max(members, rows->before), rows->upto) - rows->before;
}

/* The same in distinct scores. */
static uint64
count_scores(const Rows *rows, const LbRankedRow *row, bool through)
{
	uint64		distinct;

	lb_view_spans(rows->view, row->key, 1, through, NULL, &distinct);
	return distinct - rows->distinct_before;
}

static int64
dense_rank(const Rows *rows, const LbRankedRow *row, bool reverse)
{
	if (reverse)
		return 1 + rows->distinct_upto - rows->distinct_before -
			count_scores(rows, row, true);
	return 1 + count_scores(rows, row, false);
}

/*
 * The first buckets have one row more than the others if there is a remainder.
 */
static int64
bucket_of(int64 place, int64 n, int64 buckets)
{
	int64		rows = n / buckets;
	int64		large = n % buckets;

	if (rows == 0 || place < large * (rows + 1))
		return 1 + place / (rows + 1);
	return 1 + large + (place - large * (rows + 1)) / rows;
}

/* As the window functions count. */
static void
rank_row(const Rows *rows, const LbRankFunc *func, const LbRankedRow *row,
		 LbRankResult *result)
{
	uint64		n = rows->upto - rows->before;
	int			ncolumns = lb_counts_places(func->kind) ?
		lb_nkey_columns(rows->defn) : func->ncolumns;
	bool		ends = func->kind == LB_RANK_COUNT ||
		func->kind == LB_RANK_CUME_DIST;
	uint64		count;

	if (func->kind == LB_RANK_DENSE_RANK)
	{
		result->number = dense_rank(rows, row, func->reverse);
		return;
	}
	count = count_rows(rows, row, ncolumns, ends != func->reverse);
	if (func->reverse)
		count = n - count;
	if (func->kind == LB_RANK_PERCENT_RANK)
		result->real = n <= 1 ? 0 : (double) count / (double) (n - 1);
	else if (func->kind == LB_RANK_CUME_DIST)
		result->real = (double) count / (double) n;
	else if (func->kind == LB_RANK_NTILE)
		result->number = bucket_of(count, n, func->buckets);
	else
		result->number = ends ? count : count + 1;
}

void
lb_rank_rows(const LbAccess *access, const LbRanking *ranking,
			 LbRankedRow *rows, int n)
{
	Rows		counted;

	open_rows(access, ranking, &counted);
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < ranking->nfuncs; j++)
			rank_row(&counted, &ranking->funcs[j], &rows[i],
					 &rows[i].results[j]);
	}
}
