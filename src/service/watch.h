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
 * enter one, remove one, list them.  Never raise.  lb_watch_list copies at
 * most max and returns how many.
 */
extern void lb_watch_enter(Oid database);
extern void lb_watch_forget(Oid database);
extern int	lb_watch_list(Oid *databases, int max);

/* In a worker's transaction: enter this database, if it has watches. */
extern void lb_watch_look(void);

/* Entry point of the worker. */
extern PGDLLEXPORT void lb_watch_main(Datum arg);

#endif							/* LB_WATCH_H */
