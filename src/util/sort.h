/*-------------------------------------------------------------------------
 *
 * sort.h
 *	  Sorting of int64 tuples, in memory or through temporary files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SORT_H
#define LB_SORT_H

#include "postgres.h"

#include "index/core.h"

/* Words of a tuple: a board's number, then a key. */
#define LB_SORT_MAX_WORDS (LB_MAX_WIDTH + 1)

typedef struct LbSort LbSort;

/*
 * Start a sort of tuples of nwords words, in the current memory context.
 * memory is what may be used before tuples go to temporary files, in bytes.
 */
extern LbSort *lb_sort_begin(int nwords, Size memory);

/* Add a tuple.  Raises when out of memory or disk. */
extern void lb_sort_add(LbSort *sort, const int64 *tuple);

/* All are there: put them in order. */
extern void lb_sort_perform(LbSort *sort);

/* The next tuple in order, or NULL; good until the next call. */
extern const int64 *lb_sort_next(LbSort *sort);

/* How many were added. */
extern uint64 lb_sort_count(const LbSort *sort);

/* Free memory and files. */
extern void lb_sort_end(LbSort *sort);

/*
 * Sort n tuples of nwords words, at least 1, in place.  Allocates nothing;
 * raises only when interrupted.
 */
extern void lb_sort_words(int64 *tuples, uint64 n, int nwords);

#endif							/* LB_SORT_H */
