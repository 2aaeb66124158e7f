/*-------------------------------------------------------------------------
 *
 * build.h
 *	  Builds of boards, and the worker that does them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BUILD_H
#define LB_BUILD_H

#include "fmgr.h"

/* The reason of a board whose build could not lock the table. */
#define LB_TABLE_LOCKED "the table is locked"

/*
 * For those who try for a lock that they must not wait for: sleeps for 10 ms and
 * returns true, but for the eleventh time.  *tries begins with 0.  Can raise when
 * interrupted.
 */
extern bool lb_try_again(int *tries);

/* Entry point of a worker that builds. */
extern PGDLLEXPORT void lb_worker_main(Datum arg);

/*
 * No worker can be had for the builds that are requested in a database: those
 * that wait run their queries.  Takes the directory's lock.
 */
extern void lb_refuse_builds(Oid database, const char *reason);

#endif							/* LB_BUILD_H */
