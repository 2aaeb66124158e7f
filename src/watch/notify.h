/*-------------------------------------------------------------------------
 *
 * notify.h
 *	  Notifying of what is watched.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_NOTIFY_H
#define LB_NOTIFY_H

/* Setting: milliseconds between two notifications. */
extern int	lb_notify_interval;

/* Register the worker; from _PG_init. */
extern void lb_notify_init(void);

/* Entry point of the worker. */
extern PGDLLEXPORT void lb_watch_main(Datum arg);

#endif							/* LB_NOTIFY_H */
