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

extern int	lb_build_workers;	/* leaderboard.build_workers */

/* Entry point of the launcher. */
extern PGDLLEXPORT void lb_launcher_main(Datum arg);

#endif							/* LB_LAUNCHER_H */
