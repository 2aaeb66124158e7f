/*-------------------------------------------------------------------------
 *
 * build.h
 *	  Builds of boards by background workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BUILD_H
#define LB_BUILD_H

#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "boards/board.h"
#include "util/sort.h"

/*
 * What a worker that has just connected must not have from the settings of the
 * database: read-only transactions, a snapshot for all of a transaction, or a
 * limit on its time.
 */
extern void lb_worker_settings(void);

/* Why a build has failed that somebody's lock has kept out. */
#define LB_TABLE_LOCKED "the table is locked"

/* How often a table's lock is tried, 10 ms apart. */
#define LB_LOCK_TRIES 10

/* The values of a family's boards, numbered as they are met. */
typedef struct LbValues
{
	int			nvalues;
	int			maxvalues;
	LbValue    *values;
	uint32	   *hashes;
	int			nbuckets;		/* open addressing; -1 is free */
	int32	   *buckets;
} LbValues;

/*
 * Sort the keys of all ranked rows of defn's source that a snapshot sees.  A
 * tuple is the number of the board's value (0 for a plain board), then the
 * key.  progress, if not NULL, is set to the rows read so far; poll is called
 * now and then and may raise.  Memory comes from the current context.
 */
extern LbSort *lb_sort_rows(LbDefinition *defn, Relation rel,
							Snapshot snapshot, LbValues *values,
							pg_atomic_uint64 *progress, void (*poll) (void));

/* Entry points of the launcher and of its workers. */
extern PGDLLEXPORT void lb_launcher_main(Datum arg);
extern PGDLLEXPORT void lb_worker_main(Datum arg);

/*
 * In a worker: give way to DROP DATABASE and CREATE DATABASE ... TEMPLATE,
 * which hold a lock on the database and wait a few seconds for its connections
 * to go.  Raises 55006 then; looks now and then only.
 */
extern void lb_give_way(void);

/* The same without an error: whether to leave. */
extern bool lb_must_give_way(void);

/*
 * Whether it is so many milliseconds since a moment.  It is as well if that lies
 * as far ahead: the clock has been set back, and need not get there again for
 * long.
 */
extern bool lb_have_passed(TimestampTz since, TimestampTz now, int msec);

/* How a wait for a build ended. */
typedef enum LbWait
{
	LB_WAIT_READY,
	LB_WAIT_FAILED,				/* a build ended without making it ready */
	LB_WAIT_TIMEOUT
} LbWait;

/*
 * Ask for a build and wait until the board is ready, or an attempt has failed.
 * With rebuild a build must have ended after the call.  timeout_ms is in
 * milliseconds, -1 waits for good.  Can raise when interrupted.  The caller
 * holds no locks of ours.
 */
extern LbWait lb_wait_build(LbSharedBoard *shared, uint64 generation,
							bool rebuild, long timeout_ms);

#endif							/* LB_BUILD_H */
