/*-------------------------------------------------------------------------
 *
 * ledger.h
 *	  Changes that are published and not yet settled.
 *
 * A publication is what one transaction changes on one board.  It is made
 * before the commit record is written and hangs on the board as pending until
 * it is settled (its transaction has committed) or dropped (it has not).  Once
 * settled it is history: snapshots that do not see it undo it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_LEDGER_H
#define LB_LEDGER_H

#include "access/transam.h"

#include "utils/snapshot.h"

#include "boards/board.h"
#include "ledger/overlay.h"

/*
 * A transaction with more changes of a board than this keeps them in its own
 * memory and settles them in slices.
 */
#define LB_LARGE 4096

typedef struct LbPublication
{
	dlist_node	node;			/* in LbLiveBoard.pending or
								 * LbLiveBoard.history */
	FullTransactionId xid;		/* top-level */
	uint64		note;			/* in the history: next xid at its settling */
	uint64		version;		/* likewise: the board's version by it */
	LbSharedBoard *shared;
	uint64		generation;		/* of shared */
	LbAccount  *account;		/* of its memory */
	LbRef		self;			/* the chunk it is in */
	LbRef		board;
	LbRef		pages;			/* chain of the entries that do not fit here */
	int			stripe;
	bool		linked;			/* in one of the lists */
	bool		done;			/* settled, or of no consequence */
	bool		owned;			/* its transaction's callback is to come */
	bool		prepared;		/* ... never will, it was prepared */
	bool		settling;		/* a large one, between its slices */
	uint32		nentries;
	uint32		nremoved;		/* of the steps, old keys; the rest are new */
	const int64 *large;			/* owner's memory, not to be followed by
								 * others */
	const int64 *steps;			/* likewise: keys; NULL: entry after entry */
	uint64		nsteps;
	int64		entries[FLEXIBLE_ARRAY_MEMBER];
} LbPublication;

/*
 * Publish entries, net and in order of their members, of the transaction xid
 * on the board of value.  Called at PRE_COMMIT; settles what earlier
 * transactions have published of the same members and not settled yet.
 * entries must live until the transaction's callbacks have run, except with
 * prepare, when all goes to shared memory.  Returns NULL if memory is used up.  Raises only if the wait for a large transaction's
 * settling is interrupted.  Takes the stripe's lock.
 */
extern LbPublication *lb_publish(LbSharedBoard *shared, uint64 generation,
								 const LbValue *value, uint32 hash,
								 FullTransactionId xid,
								 const int64 *entries, uint32 nentries,
								 bool prepare);

/*
 * The owner's transaction has committed: make its changes history, if nobody
 * has yet.  They get into the index now, or with those of others.  Never raises
 * or allocates process-local memory.
 */
extern void lb_settle(LbPublication *pub);

/* The owner's transaction has aborted. */
extern void lb_drop(LbPublication *pub);

/*
 * The owner's transaction was prepared: from now on whoever meets the
 * publication after the transaction has ended settles or forgets it.
 */
extern void lb_leave_prepared(LbPublication *pub);

/*
 * Settle or forget the publications of prepared transactions that have ended.
 * Holds no lock while it looks up outcomes; can raise only there.  Returns
 * whether prepared ones are left.
 */
extern bool lb_shared_board_settle_prepared(LbSharedBoard *shared,
											uint64 generation);

/*
 * The next full xid.  Where 64 bits are read at once, not under XidGenLock: it
 * is enough that what led here saw it at least as far, and the locks that did
 * so are barriers.
 */
static inline uint64
lb_next_xid(void)
{
#if PG_VERSION_NUM >= 170000
	volatile TransamVariablesData *vars = TransamVariables;
#else
	volatile	VariableCacheData *vars = ShmemVariableCache;
#endif

#if SIZEOF_VOID_P >= 8
	return vars->nextXid.value;
#else
	(void) vars;
	return U64FromFullTransactionId(ReadNextFullTransactionId());
#endif
}

/* A snapshot, in full xids. */
typedef struct LbSnapshot
{
	Snapshot	snapshot;
	uint64		xmin;
	uint64		xmax;
} LbSnapshot;

extern void lb_snapshot_init(LbSnapshot *s, Snapshot snapshot);

/* Whether a top-level transaction had ended when the snapshot was taken. */
extern bool lb_had_ended(const LbSnapshot *s, FullTransactionId fxid);

/*
 * Whether a transaction from first to last, full xids, may have been running
 * or yet to come when the snapshot was taken.
 */
extern bool lb_any_running(const LbSnapshot *s, uint64 first, uint64 last);

/* Whether a transaction with an xid from first to last is running now. */
extern bool lb_any_in_progress(uint64 first, uint64 last);

/* Transactions whose outcome a read has looked up. */
typedef struct LbOutcomes
{
	int			n;
	int			max;
	struct
	{
		uint64		xid;
		bool		committed;
	}		   *list;
	uint64		unknown;		/* the one to look up next */
} LbOutcomes;

/* Look up outcomes->unknown.  No lock is held; can raise. */
extern void lb_look_up_outcome(LbOutcomes *outcomes);

typedef enum LbCollect
{
	LB_COLLECTED,
	LB_COLLECT_ROOM,			/* changes->n is how much room is needed */
	LB_COLLECT_MORE,			/* so far; the rest in further slices */
	LB_COLLECT_MANY,			/* more than the limit: not to be had like
								 * this */
	LB_COLLECT_AGAIN,			/* there is something to do without the lock */
	LB_COLLECT_OUTCOME,			/* look up outcomes->unknown and come again */
	LB_COLLECT_WAIT,			/* a large transaction is being settled */
	LB_COLLECT_BACKLOG,			/* lb_apply_backlog() saves corrections */
	LB_COLLECT_TOO_OLD			/* the history does not reach back so far */
} LbCollect;

typedef struct LbUnseen
{
	int			n;
	int			max;			/* when n passes it, there was no room */
	TransactionId *xids;
} LbUnseen;

/* How far lb_collect() has come with a history, from the newest on. */
typedef struct LbSlice
{
	const LbPublication *next;	/* the newest that is still to be looked at */
	uint64		note;			/* its note */
} LbSlice;

/*
 * Gather what makes the index of board (NULL: it does not live) differ from
 * what snapshot sees, other than the caller's own changes: transactions that
 * it sees and that are not in the index, and those in the index that it does
 * not see.
 * unseen, if not NULL, gets the xids that the snapshot does not see (for
 * serializable transactions).
 *
 * limit is the most changes that are of use: with more of them the result is
 * LB_COLLECT_MANY.  With slice, whatever does not fit into changes, or would
 * keep the lock for long, is left for lb_collect_more(), and the result is
 * LB_COLLECT_MORE.
 *
 * since, if not 0, is board->applied as it was when the same snapshot was
 * collected for before, with *pending false: then changes gets only what has
 * got into the index after that.  *pending says whether there is something in
 * it that is not in the index yet.  Needs the stripe's lock, shared.
 */
extern LbCollect lb_collect(const LbSharedBoard *shared,
							const LbStripe *stripe, const LbLiveBoard *board,
							const LbSnapshot *snapshot, LbOutcomes *outcomes,
							LbChanges *changes, LbUnseen *unseen, uint64 since,
							int limit, LbSlice *slice, bool *pending);

/*
 * Go on with what is left of slice, under a later hold of the lock.  The board
 * must be the same one, and the snapshot above its floor.  What got into the
 * index after the first slice is not among it.  Returns LB_COLLECT_MORE,
 * LB_COLLECTED, LB_COLLECT_ROOM, or LB_COLLECT_TOO_OLD if the place to go on from
 * has left the history.
 */
extern LbCollect lb_collect_more(const LbLiveBoard *board,
								 const LbSnapshot *snapshot,
								 LbChanges *changes, LbSlice *slice);

/*
 * Gather all that has got into the index after since, a former board->applied,
 * whoever sees it.  Returns false if the history does not have all of it, or if
 * there is no room.  Needs the stripe's lock, shared.
 */
extern bool lb_collect_applied(const LbLiveBoard *board, uint64 since,
							   LbChanges *changes);

/* Whether a snapshot is new enough for an index with this floor. */
static inline bool
lb_above_floor(const LbSnapshot *snapshot, const LbFloor *floor)
{
	return snapshot->xmax > floor->note || snapshot->xmin > floor->xid;
}

/* Whether the histories of all boards take more than they are to. */
extern bool lb_histories_full(void);

/*
 * Have the sum of histories, which learns of a stripe's in steps, agree with it.
 * Needs the stripe's exclusive lock.
 */
extern void lb_tell_history(LbStripe *stripe);

/*
 * Whether the oldest of a board's history is needed by no snapshot, and stays only
 * because it is not in the index yet, as the rest of the backlog.  Needs the
 * stripe's lock.
 */
extern bool lb_history_waits(LbLiveBoard *board);

/* What lb_trim_history gives back. */
typedef enum LbTrim
{
	LB_TRIM_UNNEEDED,			/* what no snapshot needs */
	LB_TRIM_TO_LIMIT,			/* that, and more while histories are full */
	LB_TRIM_ALL
} LbTrim;

/*
 * Give back a part of a board's history, oldest first, raising its floor.  But
 * for LB_TRIM_ALL it is LB_MAX_TRIM publications at most; returns whether there
 * may be more.  Needs the stripe's exclusive lock.
 */
#define LB_MAX_TRIM 64
extern bool lb_trim_history(LbSharedBoard *shared, LbLiveBoard *board,
							LbTrim what);

/*
 * Bring into the index what has settled and is not in it yet.  Needs the
 * stripe's exclusive lock; never raises.
 */
extern void lb_apply_backlog(LbSharedBoard *shared, LbLiveBoard *board);

/*
 * For the applier: the same for a board of the hash that the stripe has asked
 * for, until its backlog is not too long any more, but not for more than 32
 * times, and not while others bring in part of one; a few entries at a time, or
 * a publication that is larger, with the lock let go of in between.  A board
 * that is empty then is given back.  The definition may have gone meanwhile, or
 * be another one.  Takes the stripe's lock; never raises.
 */
extern void lb_bring_in_asked(LbSharedBoard *shared, LbStripe *stripe);

/* Whether a snapshot sees something of that.  Needs the stripe's lock, shared. */
extern bool lb_sees_backlog(const LbLiveBoard *board,
							const LbSnapshot *snapshot);

/*
 * Unlink a publication that is of no consequence any more.  Needs the stripe's
 * exclusive lock.
 */
extern void lb_forget_publication(LbSharedBoard *shared, LbPublication *pub);

/* Give back what the ledger keeps for a stripe whose boards are gone. */
extern void lb_stripe_reset(LbSharedBoard *shared, LbStripe *stripe);

/*
 * Bring an entry into an index.  LB_EXISTS or LB_NOTFOUND: the index does not
 * hold what the entry was to replace.  The hints, or NULL, are for an entry that
 * has both keys; else they are not looked at.  Never raises.
 */
static inline LbResult
lb_apply_entry(const LbMem *mem, LbIndex *index, const int64 *entry,
			   const LbPath *old_hint, const LbPath *new_hint)
{
	const int64 *old = entry + 1;
	const int64 *new = entry + 1 + index->width;

	if ((entry[0] & LB_HAS_OLD) && (entry[0] & LB_HAS_NEW))
		return lb_index_replace(mem, index, old, new, old_hint, new_hint);
	if (entry[0] & LB_HAS_OLD)
		return lb_index_remove(mem, index, old);
	return lb_index_insert(mem, index, new);
}

/* Find out, now and then, before which xid every snapshot sees everything. */
extern void lb_update_horizon(bool now);

/*
 * Walk through what a build's queue has kept since it was last emptied: see
 * build.c.  A record is the xid, the number of entries, and the entries.
 */
typedef struct LbQueuePage
{
	LbRef		next;
	uint32		used;			/* words */
	int64		words[(LB_PAGE_SIZE - 8) / sizeof(int64)];
} LbQueuePage;

#endif							/* LB_LEDGER_H */
