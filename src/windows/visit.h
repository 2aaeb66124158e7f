/*-------------------------------------------------------------------------
 *
 * visit.h
 *	  A visit of the maintenance worker, or a call of lb_maintain().
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_VISIT_H
#define LB_VISIT_H

#include "nodes/pg_list.h"
#include "storage/block.h"
#include "storage/itemptr.h"

#include "boards/definition.h"

/*
 * How long the worker waits for a lock at most, and lb_maintain() for a row of
 * a user's table, in milliseconds.  The next visit tries again.
 */
#define LB_VISIT_LOCK_TIMEOUT 1000

/*
 * Hours after which a large table is read again, and rows that were kept by a
 * constraint are tried again.
 */
#define LB_SCAN_HOURS 24

/* How long a step may take in the worker, in seconds; 0 is any time. */
extern int	lb_maintenance_timeout;

/* What a transaction has done. */
typedef struct LbDone
{
	int64		closed;
	int64		archived;
	int64		removed;
	bool		more;			/* there is more to do now */
} LbDone;

/* What the worker's limits of time say.  visit.c sets it. */
typedef struct LbLimits
{
	int64		offset;			/* for lb_clock_was_set() */
	bool		clock_set;		/* forward: the visit ends */
	bool		long_enough;	/* other databases have their turn */
	bool		late;			/* a step took too long: the visit ends */
	char	   *problem;		/* what the last attempt has said, if it
								 * failed */
} LbLimits;

/* What is left to do.  maintain.c sets it. */
typedef struct LbTasks
{
	List	   *families;		/* names of the families of windows */
	LbDefinition *defn;			/* the one that is being done, or NULL */
	bool		listed;			/* the worker's tasks are */
	List	   *left;			/* those that are left to do */
	int			number;			/* of the first of them */
} LbTasks;

/*
 * Boards of distributed tables, whose servers may lack something.  The engine
 * sets it.
 */
typedef struct LbMending
{
	List	   *boards;			/* their names */
	bool		trimming;		/* the worker: the first has old rows left */
	List	   *owners;			/* whose distributed tables a call as that
								 * role has maintained (OIDs) */
} LbMending;

/* Which windows of a family are due.  visit_closing.c sets it. */
typedef struct LbClosing
{
	bool		scanned_boards;
	TimestampTz scan_began;		/* when the table's scan did; 0: none is due */
	Oid			scanning;		/* the table, until all of it has been read */
	bool		all_rows;		/* those that are on boards, too */
	BlockNumber next_block;		/* the next part of the scan */
	List	   *due;			/* keys to close */
} LbClosing;

/* Rows of a key that are on no board, by their places when they were found. */
typedef struct LbUnranked
{
	char	   *key;			/* NULL: not looked for yet */
	Oid		   *tables;			/* a ctid is one of each partition */
	ItemPointerData *tids;
	int			nrows;
	int			next;			/* the first that has not been tried */
	int64		removed;
	bool		all;			/* there were no others */
	int64		refused;		/* rows that a constraint keeps */
	char	   *why;			/* what it said, or NULL */
} LbUnranked;

/* What is known of a family's rows.  visit_removing.c sets it. */
typedef struct LbRemoving
{
	List	   *skip;			/* keys that could not be removed */
	bool		in_use;			/* the table: no partition of it is dropped */
	LbUnranked	unranked;
} LbRemoving;

/* Rewards.  reward.c sets it. */
typedef struct LbPaying
{
	List	   *tried;			/* keys of this visit */
	char	   *key;			/* the worker: the last of them, to be paid
								 * now */
	char	   *function;		/* to call */
} LbPaying;

/* The extension's own tables that are trimmed. */
typedef enum LbTrimmed
{
	LB_TRIM_EVENT,
	LB_TRIM_APPLIED,
	LB_TRIM_ANOMALY,
	LB_TRIM_USAGE,
	LB_NTRIMMED
} LbTrimmed;

/* Where the next batch of such a table begins.  visit_trim.c sets it. */
typedef struct LbTrimPlace
{
	ItemPointerData after;		/* the last row that was removed */
	bool		ended;			/* there was no other */
} LbTrimPlace;

/*
 * A visit of the worker to a database, or a call of lb_maintain(): what is
 * asked, what each of its files knows, and the outcome.
 */
typedef struct LbVisit
{
	const bool	one;			/* the worker: each step has a transaction */
	const int	max_rows;		/* to remove in a transaction */
	const MemoryContext context;	/* of what outlives a transaction */
	const int64 begun;			/* the worker's visit, by lb_clock() */

	LbLimits	limits;
	LbTasks		tasks;
	LbMending	mending;
	LbClosing	closing;		/* of one family, then of the next */
	LbRemoving	removing;		/* likewise */
	LbPaying	paying;
	LbTrimPlace trims[LB_NTRIMMED];

	LbDone		done;			/* in this transaction, by all of them */
} LbVisit;

/* Something that may fail; the others go on. */
typedef void (*LbAction) (LbVisit *visit, const LbDefinition *defn,
						  const char *key);

/*
 * Run an action in a subtransaction.  If it fails, because a lock is not
 * granted or a trigger of the user raises an error, log that as "could not
 * <what>", set limits.problem, and return false.  In the worker it is
 * cancelled after lb_maintenance_timeout, which sets limits.late.  If
 * lb_visit_must_end(), it is not run: then limits.problem is NULL, and the
 * result is false.  An action that goes on after that ends the session after
 * as long again.  Raises only errors that cancel the statement or end the
 * session.
 */
extern bool lb_attempt(LbAction action, const char *what, LbVisit *visit,
					   const LbDefinition *defn, const char *key);

/*
 * lb_attempt() that the worker cancels after timeout seconds; 0: it does not.
 */
extern bool lb_attempt_within(int timeout, LbAction action, const char *what,
							  LbVisit *visit, const LbDefinition *defn,
							  const char *key);

/*
 * In the worker: limit the time of what runs from here to lb_end_limit() to
 * timeout seconds, and tell the launcher that it runs (turn.h).
 */
extern void lb_begin_limit(const LbVisit *visit, int timeout);
extern void lb_end_limit(const LbVisit *visit);

/*
 * Whether no more is to be done in this visit: in the worker, if a step has
 * taken too long, the steps together have taken
 * leaderboard.maintenance_timeout, or the server's clock was set forward since
 * the visit began.  The launcher has the database visited again later.
 */
extern bool lb_visit_must_end(LbVisit *visit);

/* lb_attempt() of something that is done to a window. */
extern bool lb_attempt_key(LbAction action, LbVisit *visit,
						   const LbDefinition *defn, const char *key);

/*
 * The first column of the n rows that SPI has just returned, which it frees.
 */
extern List *lb_keys_of_result(uint64 n);

/*
 * Wait for a lock LB_VISIT_LOCK_TIMEOUT at most, until the current nest level
 * of settings ends.
 */
extern void lb_limit_waits(void);

/* Whether a list of strings has a key. */
extern bool lb_listed(List *list, const char *key);


/* ----------------------------------------------------------------
 *		Steps: between SPI_connect and SPI_finish
 * ----------------------------------------------------------------
 */

/*
 * Close windows whose time has come: find them, archive their standings, enter
 * them in lb_closed.  Returns whether the transaction should end.  Errors of a
 * window are logged.
 */
extern bool lb_close_windows(LbVisit *visit, const LbDefinition *defn);

/*
 * The keys of a family of windows that has rows here, for another server that
 * closes them: of its boards, with the family's name, and now and then those
 * of rows that are on no board.  Returns false while the index is being
 * built.  Can raise.
 */
extern bool lb_window_keys_here(LbDefinition *defn, List **boards,
								List **rows);

/*
 * Remove rows of closed windows that are not kept any longer, visit->max_rows
 * at most.  Keys that have a partition of their own are appended to *drops
 * instead, where a transaction goes on.  Returns whether the transaction
 * should end.  Errors of a window are logged.
 */
extern bool lb_remove_windows(LbVisit *visit, const LbDefinition *defn,
							  List **drops);

/*
 * Drop the partition of the first of these keys whose locks are granted.  The
 * last step of a transaction, which holds the lock on the table to its end.
 */
extern void lb_remove_partitions(LbVisit *visit, const LbDefinition *defn,
								 List *drops);

/* Settings, in seconds: how long rows are kept; -1: for ever. */
extern int	lb_event_retention;
extern int	lb_applied_retention;
extern int	lb_anomaly_retention;

/*
 * Remove old rows, visit->max_rows at most of each table; visit->done says
 * how many, and whether there are more.  What fails is logged.
 */
extern void lb_trim_tables(LbVisit *visit);

#endif							/* LB_VISIT_H */
