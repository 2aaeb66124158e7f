/*-------------------------------------------------------------------------
 *
 * access.h
 *	  Whether a read may use a board's index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ACCESS_H
#define LB_ACCESS_H

#include "utils/rel.h"

#include "boards/shared.h"
#include "boards/target.h"
#include "capture/own.h"
#include "ledger/collect.h"
#include "reads/view.h"
#include "util/compat.h"

/* Settings: leaderboard.enable_index and its like. */
extern bool lb_enable_index;
extern int	lb_not_ready;		/* LbPolicy */
extern int	lb_offline;			/* likewise, unless lb_board.offline says
								 * another */
extern int	lb_wait_timeout_ms;

/*
 * Set by a process that must not run queries in place of indexes: lb_offline
 * decides there, whatever lb_board.offline says.
 */
extern bool lb_offline_for_all;

/* What reads a board. */
typedef enum LbReader
{
	LB_READER_CALL,				/* a function of SQL */
	LB_READER_WRITE,			/* a transaction that is about to write: as a
								 * call, but it neither waits nor fails
								 * because of the index */
	LB_READER_PLAN,				/* a node of a plan: likewise, and the
								 * executor has checked privileges and
								 * policies */
	LB_READER_VERIFY			/* lb_verify: privileges, policies and
								 * leaderboard.enable_index do not matter, and
								 * the read is not counted */
} LbReader;

/* A read of one board in one snapshot. */
typedef struct LbAccess
{
	LbTarget	target;
	bool		distinct;		/* the view must tell distinct scores */
	bool		complete;		/* no row may be off the board; set after
								 * lb_access_begin() */
	LbReader	reader;
	bool		counted;		/* with a read before it; set after
								 * lb_access_lock() */
	bool		query;			/* the defining query must be run ... */
	LbCause		cause;			/* ... for this reason */
	LbSharedBoard *shared;
	uint64		generation;
	LbStripe   *stripe;
	LbSnapshot	snapshot;
	Relation	serializable;	/* the source, if SSI must know of this read */

	/* What corrects the index; see corrections.c. */
	LbOutcomes	outcomes;
	LbUnseen	unseen;
	LbOwn		own;			/* the transaction's own changes */
	LbSums	   *sums;			/* own and others' changes, if there are many */
	LbOverlay  *overlay;		/* the same if there are few, or NULL */
	bool		fits;			/* the sums fit the index */
	bool		applied;		/* this read has applied the backlog */
	int			begun;			/* how often it began to gather others'
								 * changes */
	int64		gathered;		/* how many of them it has gathered */
	uint64		collected;		/* LbLiveBoard.version when it began to */
	bool		count_scores;	/* the sums must follow distinct scores */

	LbView		view;			/* valid under the lock; see access_lock.h */
} LbAccess;

/*
 * Prepare to read the board in a->target, as lb_find_target() left it, in
 * snapshot.  With distinct, the view will tell distinct scores.
 *
 * Afterwards a->query tells whether the defining query, or the node's other
 * plan, must be run instead, and a->cause why; LB_CAUSE_NONE means that the
 * query is going to raise an error.  Raises what the settings make an error.
 */
extern void lb_access_begin(LbAccess *a, Snapshot snapshot, bool distinct,
							LbReader reader);

/*
 * Begin a read by a function that runs the defining query whatever the state
 * of the index, for this reason.
 */
extern void lb_access_begin_query(LbAccess *a, LbCause cause);

/*
 * Whether the read waits for builds, and raises errors, as the settings say.
 */
static inline bool
lb_access_follows_settings(const LbAccess *a)
{
	return a->reader == LB_READER_CALL || a->reader == LB_READER_VERIFY;
}

/*
 * Whether a read must run its query since a ranked row of the board has no
 * key, and not since the board's name is too long.
 */
static inline bool
lb_access_lacks_row(const LbAccess *a)
{
	return a->cause == LB_CAUSE_LIMIT &&
		(!a->target.has_value || a->target.value.len <= LB_MAX_VALUE);
}

/*
 * Whether lb_board.offline says what a read of the board does while it is
 * offline, and not the setting.
 */
extern bool lb_offline_by_board(const LbDefinition *defn);

/*
 * Whether the query of a distributed table, which is going to be run, must not
 * be run if an index of its servers is offline: lb_board.offline or the
 * setting says so.
 */
extern bool lb_access_needs_indexes(const LbAccess *a);

/*
 * A ranked row of the board has no key.  Raises 54000 where a read of a board
 * that is offline raises 55000.  The caller holds no lock.
 */
extern void lb_access_no_key(const LbAccess *a);

/* Note that the defining query must be run.  The caller holds no lock. */
extern void lb_access_fall_back(LbAccess *a, LbCause cause);

/*
 * The board is in another state than LB_READY: do what the settings say.
 * Returns true after a wait for a build that ended well, and false if the
 * query must be run.  Raises 55000, or that the wait was interrupted.  The
 * caller holds no lock.
 */
extern bool lb_access_not_ready(LbAccess *a, uint32 state);

#endif							/* LB_ACCESS_H */
