/*-------------------------------------------------------------------------
 *
 * applier.h
 *	  The process that applies the backlogs of large boards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_APPLIER_H
#define LB_APPLIER_H

#include "postgres.h"

/* Setting leaderboard.applier: whether this process applies backlogs. */
extern bool lb_applier;

/* Entry point of the process. */
extern PGDLLEXPORT void lb_applier_main(Datum arg);

#endif							/* LB_APPLIER_H */
