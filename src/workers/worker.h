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
	 * Seconds between two rounds; 0 turns them off.  In a round, one worker
	 * after another visits a database that has boards.  If this is NULL, a
	 * worker stays in each of the databases that the next function returns.
	 */
	const int  *interval;

	/* Copies at most max databases and returns how many.  Must not raise. */
	int			(*databases) (Oid *databases, int max);

	/*
	 * Called once in each database after the server's start, in a transaction
	 * of a worker that builds.  Can be NULL.
	 */
	void		(*visit) (void);
} LbWorkerKind;

#define LB_MAX_WORKER_KINDS 4

/* Register a kind, which must be static.  Call it from _PG_init. */
extern void lb_register_worker(const LbWorkerKind *kind);

/* The kinds that are registered. */
extern const LbWorkerKind *const *lb_worker_kinds(int *nkinds);

/*
 * Override settings that a worker must not run with: read-only or deferrable
 * transactions, an isolation level with one snapshot for a whole transaction,
 * a limit on its time.  Call it as soon as the worker has connected.
 */
extern void lb_worker_settings(void);

/*
 * Connect a worker to its database, with these settings.  It waits for each
 * lock lock_timeout milliseconds at most, or half of deadlock_timeout, from
 * here on: a session may hold a lock and wait for the worker in another way,
 * and the deadlock detector must not cancel a session that waits for us.
 * Raises 55P03 while a command has locked the database.
 */
extern void lb_worker_connect(Oid database, int lock_timeout);

/*
 * For a worker whose transactions change nothing, but may complete an xid: its
 * commits do not wait for synchronous standbys.  They would, once the worker
 * has written WAL: the scan of a build may prune pages, and the launcher
 * writes messages for standbys.  Then no board would be built while the
 * standbys are down.
 */
extern void lb_worker_commits_alone(void);

/*
 * In a worker, or a build's parallel one: yield to DROP DATABASE and CREATE
 * DATABASE ... TEMPLATE, which hold a lock on the database and wait a few
 * seconds until its connections are gone.  Raises 55006 if there is such a
 * command, and when interrupted.  Tries for the lock ten times a second at
 * most, so it can be called often.
 */
extern void lb_yield(void);

/*
 * On a standby also yield to replay that waits for a lock on one of these
 * tables, which the worker has locked.  The array must live until the next
 * call.  Raises nothing.
 */
extern void lb_yield_for(const Oid *tables, int n);

/* lb_yield() without an error: returns whether the worker must leave. */
extern bool lb_must_yield(void);

/*
 * Whether a command holds or awaits a database's lock that keeps new sessions
 * out, in another process.  Takes no lock of the kind.  Raises only when out
 * of memory.
 */
extern bool lb_database_locked(Oid database);

/*
 * A database in a message to the log: its name in quotes, or its number if it
 * is gone.  Palloc'd; for the launcher, which looks it up in a transaction of
 * its own.  Raises what a catalog lookup can raise.
 */
extern const char *lb_logged_database(Oid database);

/*
 * Whether msec milliseconds have elapsed from since to now.  Also true if
 * since is that far ahead of now: the clock was set back, and it can take long
 * until it is there again.
 */
extern bool lb_elapsed(TimestampTz since, TimestampTz now, int msec);

#endif							/* LB_WORKER_H */
