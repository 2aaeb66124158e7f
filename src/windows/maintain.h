/*-------------------------------------------------------------------------
 *
 * maintain.h
 *	  Maintenance: its worker.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MAINTAIN_H
#define LB_MAINTAIN_H

#include "postgres.h"

/* Setting, in seconds. */
extern int	lb_maintenance_interval;	/* 0: no worker */

/*
 * Define the settings of this folder and register the worker; from _PG_init.
 */
extern void lb_windows_init(void);

/* Entry point of the worker that the launcher starts. */
extern PGDLLEXPORT void lb_maintain_main(Datum arg);

#endif							/* LB_MAINTAIN_H */
