/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *	  What a process of ours waits for, as pg_stat_activity names it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WAIT_EVENT_H
#define LB_WAIT_EVENT_H

#include "postgres.h"

typedef enum LbWaitEvent
{
	LB_WAIT_EVENT_APPLIED,		/* a backend, for a commit of another server */
	LB_WAIT_EVENT_APPLIER_MAIN,
	LB_WAIT_EVENT_BUILD,		/* a backend, for a build to end */
	LB_WAIT_EVENT_LARGE_TRANSACTION,	/* one, for a large settle */
	LB_WAIT_EVENT_LAUNCHER_MAIN,
	LB_WAIT_EVENT_NOTIFIER_MAIN,
	LB_NWAIT_EVENTS
} LbWaitEvent;

/*
 * What to pass to a function that waits.  Version 17 and later have names for
 * it; before, it is the wait event "Extension".  Can raise in the first call
 * of a process.
 */
extern uint32 lb_wait_event(LbWaitEvent event);

#endif							/* LB_WAIT_EVENT_H */
