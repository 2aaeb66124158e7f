/*-------------------------------------------------------------------------
 *
 * inflight.c
 *	  Transactions of the primary that have fed changes and not ended.
 *
 * A transaction is here from its first message, at its PRE_COMMIT, to its
 * commit or abort.  So there are as many as the primary has processes that are
 * about to commit, and prepared transactions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "feed/inflight.h"

#define BUCKETS 256

/*
 * Transactions that are kept for the next ones, with their arrays if these are
 * short.
 */
#define MAX_SPARE 64
#define KEEP_ELEMENTS 16

static dlist_head buckets[BUCKETS];
static LbInFlight *spare[MAX_SPARE];
static int	nspare = 0;
static bool initialized = false;
static int	number = 0;

static dlist_head *
bucket_of(TransactionId xid)
{
	/* Xids follow one another. */
	return &buckets[xid % BUCKETS];
}

LbInFlight *
lb_inflight_find(TransactionId xid, bool create)
{
	LbInFlight *xact;
	dlist_iter	iter;

	if (number == 0 && !create)
		return NULL;
	if (!initialized)
	{
		for (int i = 0; i < BUCKETS; i++)
			dlist_init(&buckets[i]);
		initialized = true;
	}
	dlist_foreach(iter, bucket_of(xid))
	{
		xact = dlist_container(LbInFlight, node, iter.cur);
		if (xact->xid == xid)
			return xact;
	}
	if (!create)
		return NULL;
	xact = nspare > 0 ? spare[--nspare] :
		MemoryContextAllocExtended(TopMemoryContext, sizeof(LbInFlight),
								   MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
	if (xact == NULL)
		return NULL;
	xact->xid = xid;
	dlist_push_tail(bucket_of(xid), &xact->node);
	number++;
	return xact;
}

/*
 * Make room for one more element in an array of a transaction.  Returns false
 * if there is no memory.
 */
static bool
make_room(void **array, int n, int *max, Size size)
{
	int			more = Max(4, *max * 2);
	void	   *new;

	if (n < *max)
		return true;
	new = MemoryContextAllocExtended(TopMemoryContext, more * size,
									 MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
	if (new == NULL)
		return false;
	if (*array != NULL)
	{
		memcpy(new, *array, n * size);
		pfree(*array);
	}
	*array = new;
	*max = more;
	return true;
}

bool
lb_inflight_add(LbInFlight *xact, LbPublication *pub)
{
	if (!make_room((void **) &xact->pubs, xact->npubs, &xact->maxpubs,
				   sizeof(*xact->pubs)))
		return false;
	xact->pubs[xact->npubs++] = pub;
	return true;
}

bool
lb_inflight_count(LbInFlight *xact, LbSharedBoard *shared, uint64 generation)
{
	if (!make_room((void **) &xact->counted, xact->ncounted,
				   &xact->maxcounted, sizeof(*xact->counted)))
		return false;
	xact->counted[xact->ncounted].shared = shared;
	xact->counted[xact->ncounted++].generation = generation;
	return true;
}

/* Free the array of a transaction, if it is long. */
static void
trim(void **array, int *max)
{
	if (*max <= KEEP_ELEMENTS)
		return;
	pfree(*array);
	*array = NULL;
	*max = 0;
}

void
lb_inflight_delete(LbInFlight *xact)
{
	dlist_delete(&xact->node);
	number--;
	trim((void **) &xact->pubs, &xact->maxpubs);
	trim((void **) &xact->counted, &xact->maxcounted);
	xact->npubs = xact->ncounted = 0;
	xact->prepared = xact->visits = false;
	if (nspare < MAX_SPARE)
	{
		spare[nspare++] = xact;
		return;
	}
	if (xact->pubs != NULL)
		pfree(xact->pubs);
	if (xact->counted != NULL)
		pfree(xact->counted);
	pfree(xact);
}

int
lb_inflight_number(void)
{
	return number;
}

void
lb_inflight_visit(void (*visit) (LbInFlight *xact))
{
	for (int i = 0; number > 0 && i < BUCKETS; i++)
	{
		dlist_mutable_iter iter;

		dlist_foreach_modify(iter, &buckets[i])
			visit(dlist_container(LbInFlight, node, iter.cur));
	}
}
