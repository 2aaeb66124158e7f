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

/* The reasons of a board whose build could not lock the tables. */
#define LB_TABLE_LOCKED "the table is locked"
#define LB_PARTITION_LOCKED "a partition is locked"

/*
 * Sleep for 10 ms before the caller tries again for a lock that it must not
 * wait for.  Returns false instead after ten tries, which *tries counts from
 * 0.  Raises when interrupted.
 */
extern bool lb_try_again(int *tries);

/* Entry point of a worker that builds. */
extern PGDLLEXPORT void lb_worker_main(Datum arg);

/*
 * Refuse all builds that are requested in a database, since no worker can be
 * had.  Backends that wait for them run their queries.  Takes the directory's
 * lock.
 */
extern void lb_refuse_builds(Oid database, const char *reason);

#endif							/* LB_BUILD_H */
