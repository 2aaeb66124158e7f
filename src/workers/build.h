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

/* Why a build has failed that somebody's lock has kept out. */
#define LB_TABLE_LOCKED "the table is locked"

/* How often a table's lock is tried, 10 ms apart. */
#define LB_LOCK_TRIES 10

/* Entry point of a worker that builds. */
extern PGDLLEXPORT void lb_worker_main(Datum arg);

/*
 * No worker builds what is wanted in a database: let those who wait run their
 * queries.  Takes the directory's lock.
 */
extern void lb_release_waiters(Oid database, const char *reason);

#endif							/* LB_BUILD_H */
