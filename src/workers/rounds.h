/*-------------------------------------------------------------------------
 *
 * rounds.h
 *	  Workers that visit one database after the other, in rounds.
 *
 * For the launcher alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ROUNDS_H
#define LB_ROUNDS_H

#include "workers/worker.h"

/*
 * Begin a round of the i-th registered kind if one is due, or go on with it:
 * start the worker for the next database.  Returns the milliseconds until the
 * next call, and sets *waiting if no worker was to be had.  Can raise.
 */
extern long lb_start_round(const LbWorkerKind *kind, int i, bool *waiting);

#endif							/* LB_ROUNDS_H */
