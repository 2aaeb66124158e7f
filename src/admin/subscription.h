/*-------------------------------------------------------------------------
 *
 * subscription.h
 *	  How far the subscriptions of this database have come.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SUBSCRIPTION_H
#define LB_SUBSCRIPTION_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

/* A subscription as pg_subscription has it. */
typedef struct LbSubscription
{
	Oid			oid;
	Oid			owner;
	NameData	name;
	bool		enabled;
} LbSubscription;

/*
 * How far it has come.  The members are read in the order in which they stand
 * here.
 */
typedef struct LbProgress
{
	XLogRecPtr	committed;		/* end of the last commit that changed
								 * something here; it may not be visible yet */
	int			pid;			/* of the worker that applies; 0: none */
	XLogRecPtr	received;		/* of the message in hand, or those before */
	TimestampTz sent_at;		/* that message, by the publisher's clock */
	TimestampTz received_at;
	XLogRecPtr	confirmed;		/* all before it is applied, and visible */
	TimestampTz confirmed_at;	/* by the publisher's clock */
	bool		idle;			/* the worker has no message in hand */
	bool		blocked;		/* it waits for a heavyweight lock */
} LbProgress;

/* What a process knows that waits until a subscription has come to an LSN. */
typedef struct LbAwaited
{
	int			pid;			/* of the worker that had the message in hand;
								 * 0: none yet */
	TimestampTz received_at;	/* of its last message at the last look */
	int			messages;		/* how often that has changed */
	bool		idle;			/* it waited for the next one then */
} LbAwaited;

/* The subscriptions of this database, LbSubscription, by name. */
extern List *lb_subscriptions(void);

/* Read one again.  Returns false if it is gone. */
extern bool lb_read_subscription(Oid oid, LbSubscription *subscription);

/* How many of its tables are not copied, or have not caught up since. */
extern int	lb_tables_to_copy(Oid subscription);

/* Look how far a subscription has come.  Raises no error. */
extern void lb_look_at_progress(Oid subscription, LbProgress *progress);

/*
 * Whether all commits of the publisher that end at or before an LSN have been
 * applied, and the next snapshot of this process sees them.  *awaited is all
 * zeros before the first call with this LSN.
 */
extern bool lb_has_applied(const LbProgress *progress, XLogRecPtr lsn,
						   LbAwaited *awaited);

#endif							/* LB_SUBSCRIPTION_H */
