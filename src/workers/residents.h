/*-------------------------------------------------------------------------
 *
 * residents.h
 *	  Workers that stay, one of a kind in a database.
 *
 * For the launcher alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RESIDENTS_H
#define LB_RESIDENTS_H

#include "workers/worker.h"

/*
 * Keep a worker in each database where one of that kind stays.  One that has
 * left, since a command locked the database or by an error, is not started
 * again at once, and none is while something else waits for a worker.  Returns
 * the milliseconds until the next call.  Can raise.
 */
extern long lb_start_residents(const LbWorkerKind *kind, bool others_wait);

/*
 * No worker can be had: terminate one that stays, if there is one, and return
 * whether there is.  Until it has left, this is the same one.  It is started
 * again when nothing else waits for a worker.
 */
extern bool lb_make_room(void);

/* lb_look_at_workers() for all of them. */
extern long lb_look_at_residents(void);

#endif							/* LB_RESIDENTS_H */
