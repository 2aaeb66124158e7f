/*-------------------------------------------------------------------------
 *
 * tally.h
 *	  Rows counted by their keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TALLY_H
#define LB_TALLY_H

#include "postgres.h"

typedef struct LbTally LbTally;

/* Takes a tuple that has been counted; behind it is the number of its rows. */
typedef void (*LbTakeTuple) (void *arg, const int64 *tuple);

/*
 * Start to count tuples of so many words, in the current memory context.
 * memory, in bytes, is the most that they take; whenever it is used up, and in
 * the end, take gets them.  So it may get a tuple several times.
 */
extern LbTally *lb_tally_begin(int nwords, Size memory, LbTakeTuple take,
							   void *arg);

/* Count a tuple.  Raises what take raises. */
extern void lb_tally_add(LbTally *tally, const int64 *tuple);

/* Let take have what is left, and free the memory.  Raises likewise. */
extern void lb_tally_end(LbTally *tally);

#endif							/* LB_TALLY_H */
