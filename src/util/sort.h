/*-------------------------------------------------------------------------
 *
 * sort.h
 *	  Sorting of keys, in memory or through temporary files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SORT_H
#define LB_SORT_H

#include "postgres.h"

#include "index/shape.h"

/* The most words of a tuple: a board's number, then a key. */
#define LB_SORT_MAX_WORDS (LB_MAX_KEY_WORDS + 1)

typedef struct LbSort LbSort;

/*
 * Start a sort of tuples, in the current memory context.  A tuple is "before"
 * words, 0 or 1, and then a key of this shape.  memory, in bytes, is what the
 * sort may use before it writes temporary files.
 */
extern LbSort *lb_sort_begin(const LbShape *shape, int before, Size memory);

/* Add a tuple.  Raises when out of memory or disk. */
extern void lb_sort_add(LbSort *sort, const int64 *tuple);

/* Sort the tuples, after the last was added.  Raises like lb_sort_add. */
extern void lb_sort_perform(LbSort *sort);

/* The next tuple in order, or NULL; valid until the next call. */
extern const int64 *lb_sort_next(LbSort *sort);

/* How many tuples were added. */
extern uint64 lb_sort_count(const LbSort *sort);

/* Free memory and files. */
extern void lb_sort_end(LbSort *sort);

/*
 * Sort n tuples of nwords words, at least 1, in place.  Allocates nothing.
 * Raises only if the backend is interrupted.
 */
extern void lb_sort_words(int64 *tuples, uint64 n, int nwords);

#endif							/* LB_SORT_H */
