/*-------------------------------------------------------------------------
 *
 * ranked_count.h
 *	  What a board knows of the rows of a ranked subquery.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANKED_COUNT_H
#define LB_RANKED_COUNT_H

#include "postgres.h"

#include "planner/range.h"
#include "reads/access.h"

/* A window function over a board, or over a range of it. */
typedef enum LbRankKind
{
	LB_RANK_ROW_NUMBER,
	LB_RANK_RANK,
	LB_RANK_DENSE_RANK,
	LB_RANK_PERCENT_RANK,
	LB_RANK_CUME_DIST,
	LB_RANK_NTILE,
	LB_RANK_COUNT				/* count(*): of the rows through the current
								 * one and those that equal it, or of all */
} LbRankKind;

/*
 * Whether all rows are different to a function, whatever columns it sorts by.
 */
static inline bool
lb_counts_places(LbRankKind kind)
{
	return kind == LB_RANK_ROW_NUMBER || kind == LB_RANK_NTILE;
}

/* One of a node. */
typedef struct LbRankFunc
{
	LbRankKind	kind;
	bool		reverse;
	int			ncolumns;		/* that it sorts by */
	int			buckets;		/* of ntile() */
} LbRankFunc;

/* What it returns for a row. */
typedef union LbRankResult
{
	int64		number;
	double		real;
} LbRankResult;

/* The rows of the subquery: a range of a board. */
typedef struct LbRanking
{
	LbRange		range;
	int			nfuncs;
	LbRankFunc *funcs;
	bool		distinct;		/* one of them counts distinct scores */
} LbRanking;

/* One of them. */
typedef struct LbRankedRow
{
	HeapTuple	tuple;
	int64	   *key;
	LbRankResult *results;		/* of the window functions */
} LbRankedRow;

/*
 * Fill in the results of n rows that have keys, from the view of access.
 * Needs the stripe's lock, shared, and raises nothing.
 */
extern void lb_rank_rows(const LbAccess *access, const LbRanking *ranking,
						 LbRankedRow *rows, int n);

#endif							/* LB_RANKED_COUNT_H */
