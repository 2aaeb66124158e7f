/*-------------------------------------------------------------------------
 *
 * reader.h
 *	  Reading a board from its index, as a snapshot sees it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_READER_H
#define LB_READER_H

#include "utils/rel.h"

#include "boards/shared.h"
#include "boards/target.h"
#include "capture/xactlog.h"
#include "ledger/collect.h"
#include "reads/view.h"

/* Settings: leaderboard.enable_index and its like. */
enum
{
	LB_POLICY_WAIT,
	LB_POLICY_QUERY,
	LB_POLICY_ERROR
};

enum
{
	LB_UNKNOWN_NOTICE,
	LB_UNKNOWN_ERROR,
	LB_UNKNOWN_IGNORE
};

extern bool lb_enable_index;
extern int	lb_not_ready;		/* LB_POLICY_* */
extern int	lb_offline;			/* likewise */
extern int	lb_unknown_board;	/* LB_UNKNOWN_* */
extern int	lb_wait_timeout_ms;

/* A read under way. */
typedef struct LbRead
{
	LbTarget	target;
	bool		distinct;		/* distinct scores will be asked for */
	bool		verify;			/* lb_verify: settings and policies aside */
	bool		query;			/* the query must be run ... */
	LbCause		cause;			/* ... for this reason */
	LbSharedBoard *shared;
	uint64		generation;
	LbStripe   *stripe;
	LbSnapshot	snapshot;
	Relation	serializable;	/* the source, where SSI must know of this */
	LbOutcomes	outcomes;
	LbUnseen	unseen;
	LbOwn		own;			/* the transaction's own changes */
	LbSums	   *sums;			/* they and others', if they are many */
	bool		applied;		/* the backlog was brought in */
	int			begun;			/* how often others' were gathered from
								 * scratch */
	int64		gathered;		/* others' that this read has gathered */
	uint64		collected;		/* the board's version when it began to */
	bool		count_scores;	/* the sums are to follow distinct scores */
	LbView		view;
} LbRead;

/*
 * Prepare to read the target's board, as lb_find_target left it, in snapshot.
 * distinct says that the view will be asked for distinct scores; verify that
 * the settings, privileges and policies of reads do not matter, and that it
 * does not count as a read.  Afterwards
 * query tells whether the defining query must be run instead, and cause why
 * (LB_CAUSE_NONE: it is going to raise an error).  Raises what the settings
 * make an error.
 */
extern void lb_read_begin(LbRead *r, Snapshot snapshot, bool distinct,
						  bool verify);

/*
 * Lock the board's stripe and open the view.  Returns false if the query must
 * be run.  After true, nothing may raise until lb_read_unlock.  Waits for
 * builds and large transactions as the settings say; can raise.
 */
extern bool lb_read_lock(LbRead *r);

/*
 * In the midst of a long read: let go of the lock, let interrupts in, and lock
 * again.  Returns false if the query must be run; what has been read is right
 * either way.  The view is opened anew.  As lb_read_lock.
 */
extern bool lb_read_give_way(LbRead *r);

/* Release the lock, and tell SSI what the snapshot did not see. */
extern void lb_read_unlock(LbRead *r);

/* End of transaction: only gives memory back. */
extern void lb_reader_at_xact_end(void);

/* The query must be run; no lock is held. */
extern void lb_read_by_query(LbRead *r, LbCause cause);

/* read.c */

/*
 * What lb_rank() would return in the active snapshot, for those who are in the
 * middle of a write: false, at once, if the board is offline, is being built, or
 * is bringing in a large transaction.
 * *isnull is set if the member is not on the board.  *score is his score if
 * the index has told, and *has_score says so.  Raises what the query may
 * raise, and what finding the board may.
 */
extern bool lb_rank_now(const char *board, int len, int64 member,
						int64 *rank, bool *isnull, int64 *score,
						bool *has_score);

/* A row of lb_top() and its like; a rank of 0 is none. */
typedef struct LbRow
{
	int64		rank;
	int64		member;
	int64		score;
} LbRow;

/*
 * What lb_top() and lb_ranks() would return in the active snapshot, with the
 * current user's rights.  lb_read_top allocates *rows and returns how many
 * there are; lb_read_ranks fills in a row for each of n members, in their
 * order.  They raise what those functions raise.
 */
extern int	lb_read_top(const char *board, int len, int n, LbRow **rows);
extern void lb_read_ranks(const char *board, int len, const int64 *members,
						  int n, LbRow *rows);

#endif							/* LB_READER_H */
