/*-------------------------------------------------------------------------
 *
 * outcome.h
 *	  Outcomes of transactions that a publish or a read has looked up.
 *
 * Looking up an outcome may have to read the commit log, so it is done with no
 * lock held, and remembered until the lock has been taken again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OUTCOME_H
#define LB_OUTCOME_H

#include "postgres.h"

typedef enum LbOutcome
{
	LB_OUTCOME_UNKNOWN,			/* not looked up */
	LB_COMMITTED,
	LB_NOT_COMMITTED			/* aborted, or still running */
} LbOutcome;

typedef struct LbOutcomes
{
	int			n;
	int			max;
	struct
	{
		uint64		xid;		/* full */
		LbOutcome	outcome;
	}		   *list;
	uint64		unknown;		/* the one to look up next */
} LbOutcomes;

/* What has been looked up of a full xid. */
static inline LbOutcome
lb_find_outcome(const LbOutcomes *outcomes, uint64 xid)
{
	for (int i = 0; i < outcomes->n; i++)
	{
		if (outcomes->list[i].xid == xid)
			return outcomes->list[i].outcome;
	}
	return LB_OUTCOME_UNKNOWN;
}

/*
 * Look up outcomes->unknown.  Hold no lock; can raise.  Allocates in the
 * current memory context.
 */
extern void lb_look_up_outcome(LbOutcomes *outcomes);

#endif							/* LB_OUTCOME_H */
