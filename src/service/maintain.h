/*-------------------------------------------------------------------------
 *
 * maintain.h
 *	  Maintenance: its worker and its settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MAINTAIN_H
#define LB_MAINTAIN_H

#include "postgres.h"

/* Settings; seconds. */
extern int	lb_maintenance_interval;	/* 0: no worker */
extern int	lb_event_retention; /* -1: for ever */
extern int	lb_applied_retention;
extern int	lb_anomaly_retention;

/* Register that worker; from _PG_init. */
extern void lb_maintain_init(void);

/* Entry point of the worker that the launcher starts. */
extern PGDLLEXPORT void lb_maintain_main(Datum arg);

#endif							/* LB_MAINTAIN_H */
