/*-------------------------------------------------------------------------
 *
 * outcome.c
 *	  Outcomes of transactions that a publish or a read has looked up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/procarray.h"

#include "ledger/outcome.h"

/* Double the room, or take the first. */
static void
make_room(LbOutcomes *outcomes)
{
	LbOutcomes	larger = {.room = Max(LB_MAX_WANTED, 2 * outcomes->room)};

	larger.slots = MemoryContextAllocExtended(CurrentMemoryContext,
											  larger.room * sizeof(*larger.slots),
											  MCXT_ALLOC_ZERO | MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < outcomes->room; i++)
	{
		if (outcomes->slots[i].xid != 0)
			larger.slots[lb_outcome_slot(&larger, outcomes->slots[i].xid)] =
				outcomes->slots[i];
	}
	if (outcomes->slots != NULL)
		pfree(outcomes->slots);
	outcomes->slots = larger.slots;
	outcomes->room = larger.room;
}

void
lb_forget_outcomes(LbOutcomes *outcomes)
{
	if (outcomes->n > 0)
		memset(outcomes->slots, 0, outcomes->room * sizeof(*outcomes->slots));
	outcomes->n = 0;
}

static void
look_up(LbOutcomes *outcomes, uint64 full)
{
	TransactionId xid = (TransactionId) full;
	bool		committed;
	uint32		slot;

	/* In this order: the commit log alone does not mean "ended". */
	committed = !TransactionIdIsInProgress(xid) &&
		TransactionIdDidCommit(xid);
	if (2 * outcomes->n >= outcomes->room)
		make_room(outcomes);
	slot = lb_outcome_slot(outcomes, full);
	outcomes->slots[slot].xid = full;
	outcomes->slots[slot].outcome = committed ? LB_COMMITTED :
		LB_NOT_COMMITTED;
	outcomes->n++;
}

void
lb_look_up_outcomes(LbOutcomes *outcomes)
{
	while (outcomes->nwanted > 0)
		look_up(outcomes, outcomes->wanted[--outcomes->nwanted]);
}
