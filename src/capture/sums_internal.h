/*-------------------------------------------------------------------------
 *
 * sums_internal.h
 *	  What sums.c and sums_distinct.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUMS_INTERNAL_H
#define LB_SUMS_INTERNAL_H

#include "capture/sums.h"

static inline LbMem
lb_sums_mem_in(LbArena *arena, LbAccount *account)
{
	LbMem		mem = {0};

	mem.arena = arena;
	mem.account = account;
	return mem;
}

static inline LbMem
lb_sums_mem(LbSums *sums)
{
	return lb_sums_mem_in(&sums->arena, &sums->account);
}

/*
 * Make room for "more" words in an array of n.  Returns false if there is no
 * memory.  Never raises.
 */
extern bool lb_sums_lengthen(LbSums *sums, int64 **array, int n, int *max,
							 int64 more);

/*
 * Call visit for all keys of an index of the sums, until it returns false.
 * Returns whether it has not.
 */
extern bool lb_sums_visit(LbSums *sums, const LbIndex *index,
						  bool (*visit) (LbSums *sums, const int64 *key));

#endif							/* LB_SUMS_INTERNAL_H */
