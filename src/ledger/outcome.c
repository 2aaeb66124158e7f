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

void
lb_look_up_outcome(LbOutcomes *outcomes)
{
	TransactionId xid = (TransactionId) outcomes->unknown;
	bool		committed;

	if (outcomes->n == outcomes->max)
	{
		int			max = Max(16, outcomes->max * 2);

		if (outcomes->list == NULL)
			outcomes->list = palloc(max * sizeof(*outcomes->list));
		else
			outcomes->list = repalloc(outcomes->list,
									  max * sizeof(*outcomes->list));
		outcomes->max = max;
	}

	/* In this order: the commit log alone does not mean "ended". */
	committed = !TransactionIdIsInProgress(xid) &&
		TransactionIdDidCommit(xid);
	outcomes->list[outcomes->n].xid = outcomes->unknown;
	outcomes->list[outcomes->n].outcome = committed ? LB_COMMITTED :
		LB_NOT_COMMITTED;
	outcomes->n++;
}
