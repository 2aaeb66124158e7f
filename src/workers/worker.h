/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  What the background workers of a database have in common.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_WORKER_H
#define LB_WORKER_H

#include "datatype/timestamp.h"

/*
 * A kind of background worker that the launcher starts, beside those that
 * build.  The file that has its entry point registers it.
 */
typedef struct LbWorkerKind
{
	const char *type;			/* bgw_type; the name has the database, too */
	const char *function;		/* entry point, called with the database */

	/*
	 * Seconds between two rounds, 0 for no round at all.  In a round one
	 * worker at a time visits one database after the other, of those that
	 * have boards.  NULL: a worker stays in each of the databases instead
	 * that the next function says.
	 */
	const int  *interval;

	/* Copies at most max, and returns how many.  Must not raise. */
	int			(*databases) (Oid *databases, int max);

	/*
	 * Called once in each database after the server's start, in a transaction
	 * of a worker that builds.  Can be NULL.
	 */
	void		(*visit) (void);
} LbWorkerKind;

#define LB_MAX_WORKER_KINDS 4

/* Register a kind, which must live on; from _PG_init. */
extern void lb_register_worker(const LbWorkerKind *kind);

/* The kinds that are registered. */
extern const LbWorkerKind *const *lb_worker_kinds(int *nkinds);

/*
 * What a worker that has just connected must not have from the settings of the
 * database: read-only transactions, a snapshot for all of a transaction, or a
 * limit on its time.
 */
extern void lb_worker_settings(void);

/*
 * In a worker: give way to DROP DATABASE and CREATE DATABASE ... TEMPLATE,
 * which hold a lock on the database and wait a few seconds for its connections
 * to go.  Raises 55006 then; looks now and then only.
 */
extern void lb_yield(void);

/* The same without an error: whether to leave. */
extern bool lb_must_yield(void);

/*
 * Whether it is so many milliseconds since a moment.  It is as well if that lies
 * as far ahead: the clock has been set back, and need not get there again for
 * long.
 */
extern bool lb_elapsed(TimestampTz since, TimestampTz now, int msec);

#endif							/* LB_WORKER_H */
