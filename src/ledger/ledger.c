/*-------------------------------------------------------------------------
 *
 * ledger.c
 *	  Publish, settle, drop.
 *
 * Between the moment at which a transaction leaves the proc array and its
 * commit callback, its rows are visible and other writers of these rows go
 * ahead; a second transaction can commit and call back first.  Applying
 * changes in the order of the callbacks would be wrong.  But whoever changes
 * a member after transaction T did so when T had ended, since T's row lock or
 * its entry in the unique index made him wait; and T had published before it
 * ended.  So whoever publishes changes of a member settles first what ended
 * transactions have published of that member.  Nothing is applied out of
 * order then, and nobody waits.
 *
 * Outcomes are looked up with the stripe's lock released, since that may have
 * to read the commit log.
 *
 * A settled publication stays with its board, as history, so that a snapshot
 * that does not see it can undo it, until no snapshot can be so old or memory
 * is short; then the board's floor moves past it.  What settled last may not be
 * in the index yet: the history's last entries are the board's backlog.  Who
 * brings it in waits for memory first, without the lock.
 *
 * Large publications stay with their owner, who alone can settle them.  A
 * follower waits for that at his own PRE_COMMIT.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "ledger/backlog.h"
#include "ledger/large.h"
#include "ledger/ledger.h"
#include "ledger/prefetch.h"
#include "ledger/queue.h"
#include "ledger/request.h"


/*
 * Times the limit of a backlog that gather at most where who settles cannot bring
 * it in, or leaves that to somebody who sends for memory.
 */
#define BACKLOG_EXCESS 4

/* Transactions whose outcome one publish has looked up. */
typedef struct Resolved
{
	int			n;
	int			max;
	struct
	{
		FullTransactionId xid;
		bool		committed;
	}		   *list;
} Resolved;

/* Whether a pending publication and sorted entries have a member in common. */
static bool
members_meet(const LbPublication *pub, const LbSharedBoard *shared,
			 const int64 *entries, uint32 nentries)
{
	LbEntryScan scan;
	const int64 *theirs;
	int			width = shared->width;
	int			words = shared->member_words;
	int			stride = lb_entry_words(width);

	lb_entry_scan_begin(&scan, pub, width);
	while ((theirs = lb_entry_scan_next(&scan)) != NULL)
	{
		const int64 *member = lb_entry_member(theirs, width, words);
		uint32		lo = 0;
		uint32		hi = nentries;

		while (lo < hi)
		{
			uint32		mid = lo + (hi - lo) / 2;
			int			c;

			c = lb_words_cmp(lb_entry_member(entries + (Size) mid * stride,
											 width, words),
							 member, words);
			if (c == 0)
				return true;
			if (c < 0)
				lo = mid + 1;
			else
				hi = mid;
		}
	}
	return false;
}

/*
 * Settle a publication that is in shared memory.  Whether the backlog is to be
 * brought in is for the caller, as long as it is not far too long.
 */
static void
settle_shared(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	LbLiveBoard *board = lb_live_board_at(pub->board);

	if (stripe->queueing)
	{
		LbEntryScan scan;
		const int64 *entry;

		lb_entry_scan_begin(&scan, pub, shared->width);
		while ((entry = lb_entry_scan_next(&scan)) != NULL)
			lb_queue_entry(shared, board, pub->xid, entry);
	}
	pg_atomic_fetch_add_u64(&board->counters[LB_COUNT_CHANGES], pub->nentries);
	board->backlog += pub->nentries;
	lb_move_to_history(shared, stripe, board, pub);
	if (board->backlog > BACKLOG_EXCESS * lb_backlog_limit(board) &&
		(board->backlog > BACKLOG_EXCESS * LB_MAX_DEFERRED ||
		 !lb_may_defer(board)))
	{
		lb_apply_backlog(shared, board);

		/* Only now can it be given back, if memory is short. */
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
	}
}

/* The same of a publication whose owner will not look at the backlog. */
void
lb_settle_for_another(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	LbLiveBoard *board = lb_live_board_at(pub->board);
	bool		wake = false;

	settle_shared(pub);
	if (board->backlog > lb_backlog_limit(board))
		(void) lb_defer_to_applier(shared, stripe, board, &wake);
	if (wake)
		lb_wake_applier();
}

/*
 * A publication has been settled that is history now: its board's backlog may
 * have become too long.  Sets *wake if the applier is to be woken.  Returns false
 * if the board may be gone.
 */
static bool
look_at_backlog(LbPublication *pub, bool *wake)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	LbLiveBoard *board = lb_live_board_at(pub->board);

	if (board->backlog <= lb_backlog_limit(board) || stripe->prefetching ||
		pg_atomic_read_u32(&shared->state) != LB_READY)
		return true;
	if (lb_defer_to_applier(shared, stripe, board, wake))
		return true;
	if (lb_prefetch_and_apply(shared, stripe, board, false))
		return true;
	return lb_shared_board_is(shared, pub->generation) && pub->linked;
}

/* The oldest publication before which the caller has something to do. */
static LbPublication *
find_predecessor(LbLiveBoard *board, LbSharedBoard *shared,
				 FullTransactionId xid, const int64 *entries, uint32 nentries,
				 const Resolved *resolved, bool *known, bool *committed)
{
	dlist_iter	iter;

	dlist_foreach(iter, &board->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		*known = false;
		*committed = false;
		if (FullTransactionIdEquals(pub->xid, xid))
			continue;
		for (int i = 0; i < resolved->n; i++)
		{
			if (FullTransactionIdEquals(resolved->list[i].xid, pub->xid))
			{
				*known = true;
				*committed = resolved->list[i].committed;
			}
		}
		if (*known && !*committed)
			continue;
		if (pub->owner_entries != NULL || members_meet(pub, shared, entries, nentries))
			return pub;
	}
	return NULL;
}

/*
 * Find out how a transaction that is in our way has ended, or with wait, let
 * its owner go on for a while.  If that is interrupted, pages are freed.
 *
 * A transaction that is still running has no member in common with us,
 * whatever it looks like (a large one does not show its members).
 */
static void
resolve_or_wait(LbSharedBoard *shared, const LbMem *mem, LbRef pages,
				Resolved *resolved, FullTransactionId fxid,
				volatile bool wait)
{
	TransactionId xid = XidFromFullTransactionId(fxid);

	PG_TRY();
	{
		CHECK_FOR_INTERRUPTS();
		if (wait)
		{
			ConditionVariableTimedSleep(&shared->changed, 100,
										PG_WAIT_EXTENSION);
			ConditionVariableCancelSleep();
		}
		else
		{
			if (resolved->n == resolved->max)
			{
				int			max = Max(16, resolved->max * 2);

				resolved->list = resolved->list == NULL ?
					palloc(max * sizeof(*resolved->list)) :
					repalloc(resolved->list, max * sizeof(*resolved->list));
				resolved->max = max;
			}
			resolved->list[resolved->n].xid = fxid;
			resolved->list[resolved->n].committed =
				!TransactionIdIsInProgress(xid) && TransactionIdDidCommit(xid);
			resolved->n++;
		}
	}
	PG_CATCH();
	{
		lb_free_pages(mem, pages);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * One round of lb_publish, which holds the stripe's lock.  Returns true when
 * it is done, with or without success; else there is a predecessor in the way,
 * and the lock has to be released before the next round: with *wait until he
 * has gone on, else to find out how he ended.
 */
static bool
try_publish(LbSharedBoard *shared, uint64 generation, LbStripe *stripe,
			const LbValue *value, uint32 hash, FullTransactionId xid,
			const int64 *entries, uint32 nentries, bool large, LbRef pages,
			const Resolved *resolved, LbPublication **pub,
			FullTransactionId *other, bool *wait)
{
	LbMem		mem = lb_mem(shared);
	LbPublication *before;
	LbLiveBoard *board;
	LbRef		board_ref;
	LbRef		self;
	bool		known;
	bool		committed;

	*pub = NULL;
	for (;;)
	{
		if (!lb_shared_board_is(shared, generation) ||
			(board = lb_live_board_make(shared, stripe, hash, value,
										&board_ref)) == NULL)
			return true;
		before = find_predecessor(board, shared, xid, entries, nentries,
								  resolved, &known, &committed);
#if LB_PLANT_BUG == 2
		before = NULL;
#endif
		if (before == NULL)
			break;
		if (!known || before->owner_entries != NULL)
		{
			*other = before->xid;
			*wait = known;
			return false;
		}
		board_ref = before->board;
		lb_settle_for_another(before);
		lb_live_board_release(shared, stripe, board_ref);
	}

	self = lb_take_chunk(&mem, stripe);
	if (self == LB_NONE)
	{
		lb_live_board_release(shared, stripe, board_ref);
		return true;
	}
	*pub = lb_init_publication(shared, generation, stripe - shared->stripes, self,
							   pages, xid, entries, nentries, large);
	(*pub)->board = board_ref;
	dlist_push_tail(&board->pending, &(*pub)->node);
	(*pub)->linked = true;
	board->version++;

	/* Whoever brings it in is to heed it. */
	if (pg_atomic_read_u32(&shared->memory_kb) !=
		(uint32) lb_database_memory_kb)
		pg_atomic_write_u32(&shared->memory_kb, lb_database_memory_kb);
	return true;
}

LbPublication *
lb_publish(LbSharedBoard *shared, uint64 generation, const LbValue *value,
		   uint32 hash, FullTransactionId xid, const int64 *entries,
		   uint32 nentries, bool prepare)
{
	LbStripe   *stripe = &shared->stripes[lb_value_stripe(shared->family, hash)];
	LbPublication *pub = NULL;
	bool		large = nentries > LB_LARGE_ENTRIES && !prepare;
	LbMem		mem = lb_mem(shared);
	LbRef		pages = LB_NONE;
	Resolved	resolved;
	FullTransactionId other;
	const int64 *steps = NULL;
	uint32		nremoved = 0;
	uint64		nsteps = 0;
	bool		wait;

	if (!large && !lb_copy_pages(&mem, lb_entry_words(shared->width), entries,
								 nentries, &pages))
		return NULL;
	if (large)
		steps = lb_make_steps(shared, entries, nentries, &nremoved, &nsteps);
	memset(&resolved, 0, sizeof(resolved));
	for (;;)
	{
		lb_lock_to_write(stripe);
		if (try_publish(shared, generation, stripe, value, hash, xid, entries,
						nentries, large, pages, &resolved, &pub, &other,
						&wait))
			break;

		/*
		 * A large one whose outcome is known to be a commit: its owner is at
		 * it.  Not to be waited for by the transaction's lock, which would be
		 * subject to lock_timeout.
		 */
		if (wait)
			ConditionVariablePrepareToSleep(&shared->changed);
		LWLockRelease(&stripe->lock);
		resolve_or_wait(shared, &mem, pages, &resolved, other, wait);
	}
	if (pub != NULL)
	{
		pub->owner_steps = steps;
		pub->nremoved = nremoved;
		pub->nsteps = nsteps;
	}
	LWLockRelease(&stripe->lock);
	if (pub == NULL)
		lb_free_pages(&mem, pages);
	return pub;
}

void
lb_settle(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	bool		large = pub->owner_entries != NULL;
	bool		wake = false;

	lb_lock_to_write(stripe);
	if (!pub->done && lb_shared_board_is(shared, pub->generation))
	{
		if (large)
			lb_settle_large(pub);
		else
		{
			bool		board_is_there = true;

			settle_shared(pub);
			if (pub->linked)
				board_is_there = look_at_backlog(pub, &wake);
			if (board_is_there)
				lb_live_board_release(shared, stripe, pub->board);
		}
	}
	lb_disown_publication(pub);
	LWLockRelease(&stripe->lock);
	if (wake)
		lb_wake_applier();
	if (large)
		ConditionVariableBroadcast(&shared->changed);
}

void
lb_discard(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];

	lb_lock_to_write(stripe);
	if (!pub->done && lb_shared_board_is(shared, pub->generation))
	{
		dlist_delete(&pub->node);
		pub->linked = false;
		lb_live_board_at(pub->board)->version++;
		lb_live_board_release(shared, stripe, pub->board);
	}
	lb_disown_publication(pub);
	LWLockRelease(&stripe->lock);
}

void
lb_disown_prepared(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];

	lb_lock_to_write(stripe);
	if (!pub->done && lb_shared_board_is(shared, pub->generation))
	{
		pub->prepared = true;
		pg_atomic_fetch_add_u32(&shared->nprepared, 1);
	}
	lb_disown_publication(pub);
	LWLockRelease(&stripe->lock);
}
