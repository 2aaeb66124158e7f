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

#include "common/hashfn.h"

typedef enum LbOutcome
{
	LB_OUTCOME_UNKNOWN,			/* not looked up */
	LB_COMMITTED,
	LB_NOT_COMMITTED			/* aborted, or still running */
} LbOutcome;

/*
 * Outcomes that are looked up together.  When many prepared transactions have
 * ended, and no process has settled what they published, a walk through the
 * pending publications finds that many at a time.
 */
#define LB_MAX_WANTED 32

/*
 * The slots are a hash of xids, with linear probing.  Zeros are an empty one.
 */
typedef struct LbOutcomes
{
	uint32		n;				/* xids in the slots */
	uint32		room;			/* slots, a power of two; 0: none yet */
	struct
	{
		uint64		xid;		/* full; 0: empty */
		LbOutcome	outcome;
	}		   *slots;
	int			nwanted;		/* to be looked up next */
	uint64		wanted[LB_MAX_WANTED];
} LbOutcomes;

/* The slot that has an xid, or is free for it. */
static inline uint32
lb_outcome_slot(const LbOutcomes *outcomes, uint64 xid)
{
	uint32		mask = outcomes->room - 1;
	uint32		slot = murmurhash32((uint32) xid) & mask;

	while (outcomes->slots[slot].xid != 0 && outcomes->slots[slot].xid != xid)
		slot = (slot + 1) & mask;
	return slot;
}

/* What has been looked up of a full xid. */
static inline LbOutcome
lb_find_outcome(const LbOutcomes *outcomes, uint64 xid)
{
	uint32		slot;

	if (outcomes->n == 0)
		return LB_OUTCOME_UNKNOWN;
	slot = lb_outcome_slot(outcomes, xid);
	return outcomes->slots[slot].xid == 0 ? LB_OUTCOME_UNKNOWN :
		outcomes->slots[slot].outcome;
}

/*
 * Note an xid whose outcome is not known, to look it up.  Returns whether
 * there is room for another one.
 */
static inline bool
lb_want_outcome(LbOutcomes *outcomes, uint64 xid)
{
	outcomes->wanted[outcomes->nwanted++] = xid;
	return outcomes->nwanted < LB_MAX_WANTED;
}

/* Forget what has been looked up. */
extern void lb_forget_outcomes(LbOutcomes *outcomes);

/*
 * Look up what is wanted.  Hold no lock; can raise.  Allocates in the current
 * memory context.
 */
extern void lb_look_up_outcomes(LbOutcomes *outcomes);

#endif							/* LB_OUTCOME_H */
