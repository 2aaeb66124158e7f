/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  The process that starts builds and other workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LAUNCHER_H
#define LB_LAUNCHER_H

#include "fmgr.h"

/* Entry point of the launcher. */
extern PGDLLEXPORT void lb_launcher_main(Datum arg);

/*
 * Define the settings of this folder and register the launcher and the
 * applier; from _PG_init.
 */
extern void lb_workers_init(void);

#endif							/* LB_LAUNCHER_H */
