/*-------------------------------------------------------------------------
 *
 * inflight.h
 *	  Transactions of the primary that have fed changes and not ended.
 *
 * All of this belongs to the startup process.  Nothing here raises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_INFLIGHT_H
#define LB_INFLIGHT_H

#include "lib/ilist.h"

#include "boards/shared.h"
#include "ledger/publication.h"

typedef struct LbInFlight
{
	dlist_node	node;			/* of its bucket */
	TransactionId xid;			/* top-level */
	bool		prepared;
	bool		visits;			/* a database wants a visit once it commits */
	Oid			visit;			/* InvalidOid: one may be gone */
	int			npubs;
	int			maxpubs;
	LbPublication **pubs;
	int			ncounted;		/* definitions in whose nunknown it counts */
	int			maxcounted;
	LbSharedRef *counted;
} LbInFlight;

/* The transaction, or NULL; with create it is made.  NULL: no memory. */
extern LbInFlight *lb_inflight_find(TransactionId xid, bool create);

/* Add a publication, or a definition.  Return false if there is no memory. */
extern bool lb_inflight_add(LbInFlight *xact, LbPublication *pub);
extern bool lb_inflight_count(LbInFlight *xact, LbSharedBoard *shared,
							  uint64 generation);

/* Forget a transaction. */
extern void lb_inflight_delete(LbInFlight *xact);

/* How many there are. */
extern int	lb_inflight_number(void);

/*
 * Call visit for each of them, which may delete it.
 */
extern void lb_inflight_visit(void (*visit) (LbInFlight *xact));

#endif							/* LB_INFLIGHT_H */
