/*-------------------------------------------------------------------------
 *
 * watch.h
 *	  Notification of boards and members that somebody watches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WATCH_H
#define LB_WATCH_H

#include "boards/board.h"

/* Milliseconds between two notifications. */
extern int	lb_notify_interval;

/*
 * The databases that have watches, of which the launcher keeps a worker each:
 * enter one, remove one.  Never raise.
 */
extern void lb_watch_enter(Oid database);
extern void lb_watch_forget(Oid database);

/* Register that worker; from _PG_init. */
extern void lb_watch_init(void);

/* Entry point of the worker. */
extern PGDLLEXPORT void lb_watch_main(Datum arg);

#endif							/* LB_WATCH_H */
