/*-------------------------------------------------------------------------
 *
 * slot.h
 *	  Workers that the launcher starts, and looks after.
 *
 * For the launcher alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SLOT_H
#define LB_SLOT_H

#include "postmaster/bgworker.h"

#include "workers/worker.h"

/* Milliseconds. */
#define LB_WORKER_RETRY 1000	/* no worker was to be had */
#define LB_LOOK_AGAIN 1000		/* at a worker that runs */

/* The place of a worker. */
typedef struct LbWorkerSlot
{
	BackgroundWorkerHandle *handle; /* NULL: none has been started, or it left */
	const LbWorkerKind *kind;
	Oid			database;
	TimestampTz started;		/* or left, of a worker that stays */
	int64		looked;			/* at it, by lb_clock() */
	bool		in_the_way;		/* of a command, at that time */
} LbWorkerSlot;

/*
 * Start a worker in a slot that has none, with extra for bgw_extra.  Returns
 * false, and warns once an hour, if no worker is to be had; the rest of the
 * slot is then as it was.  Can raise.
 */
extern bool lb_start_worker(LbWorkerSlot *slot, const LbWorkerKind *kind,
							Oid database, int extra);

/*
 * Whether a slot has no worker, or its worker has left: then it has none from
 * now on.
 */
extern bool lb_worker_has_left(LbWorkerSlot *slot);

/* Whether a slot has a worker that runs. */
extern bool lb_worker_runs(const LbWorkerSlot *slot);

/*
 * Whether to look at a worker now.  If so, terminate it when a command has
 * waited for its database since the last look.  DROP DATABASE waits five
 * seconds; a worker may be in code of a user, or wait for a synchronous
 * standby, and not notice.
 */
extern bool lb_look_at_worker(LbWorkerSlot *slot);

/*
 * Look at those of an array that are running.  Returns the milliseconds until
 * the next look.
 */
extern long lb_look_at_workers(LbWorkerSlot *slots, int n);

/* Whether to log again what was logged at *last, 0 for never. */
extern bool lb_may_log(TimestampTz *last, TimestampTz now);

#endif							/* LB_SLOT_H */
