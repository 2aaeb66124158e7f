/*-------------------------------------------------------------------------
 *
 * ledger.c
 *	  Publish, settle, discard.
 *
 * Between the moment at which a transaction leaves the ProcArray and its
 * commit callback, its rows are visible, and other writers of these rows go
 * ahead.  So a second transaction can commit and call back first, and applying
 * changes in the order of the callbacks would be wrong.  But a transaction
 * that changes a member after transaction T does so when T has ended, since
 * T's row lock or T's entry in the unique index made it wait; and T published
 * before it ended.  So a publish that changes a member first settles what
 * ended transactions have published of that member.  Then no change is applied
 * out of order, and no backend waits.
 *
 * Outcomes are looked up with the stripe's lock released, since that may have
 * to read the commit log.
 *
 * A settled publication stays with its board, as history, so that a snapshot
 * that does not see it can undo it.  It stays until no snapshot can be so old,
 * or memory is short; then the board's floor moves past it.  The last
 * publications of the history may not be in the index yet: backlog.c.
 *
 * A large publication stays with its owner, and only the owner can settle it:
 * large.c.  A publish that may change the same members waits for that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "boards/state.h"
#include "ledger/backlog.h"
#include "ledger/large.h"
#include "ledger/ledger.h"
#include "ledger/off_board.h"
#include "ledger/outcome.h"
#include "ledger/prefetch.h"
#include "ledger/publication.h"
#include "ledger/queue.h"
#include "ledger/request.h"
#include "ledger/snapshot.h"
#include "util/pause.h"
#include "util/planted.h"
#include "util/wait_event.h"

/*
 * The backlog may reach this multiple of its limit while the settling backend
 * cannot apply it, or leaves that to a process that prefetches.
 */
#define BACKLOG_EXCESS 4

/*
 * Entries of others that a publish compares with its own before it asks which
 * transactions are running.  Asking takes about as long as comparing these.
 */
#ifndef LB_FEW_COMPARED
#define LB_FEW_COMPARED 128
#endif

/* Why a publish releases the lock and tries again. */
typedef enum Obstacle
{
	NO_OBSTACLE,				/* it is done */
	UNKNOWN_OUTCOME,			/* of what p->outcomes wants */
	UNKNOWN_RUNNING,			/* which transactions are running */
	OWNER_SETTLES				/* a large publication */
} Obstacle;

/* A publish under way. */
typedef struct Publish
{
	const LbNetChanges *changes;
	FullTransactionId xid;
	LbStripe   *stripe;
	LbMem		mem;
	bool		large;
	LbPublicationRoom room;		/* for the entries, unless large */
	LbSteps		steps;			/* if large */
	LbOutcomes	outcomes;
	bool		has_running;	/* running is set */
	LbSnapshot	running;		/* which transactions were running when this
								 * one began to publish, or later */
	LbPublication *pub;			/* when it is done; NULL without success */
} Publish;


/* ----------------------------------------------------------------
 *		Settle
 * ----------------------------------------------------------------
 */

/*
 * Settle a publication that is not large.  Whether to apply the backlog is up
 * to the caller, as long as the backlog is not far too long.
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

		lb_entry_scan_begin(&scan, pub);
		while ((entry = lb_entry_scan_next(&scan)) != NULL)
			lb_queue_change(shared, board, pub->xid, lb_old_key(entry),
							lb_new_key(entry, scan.stride),
							lb_entry_rows(entry));
	}
	lb_settle_off_board(shared, stripe, board, pub);
	pg_atomic_fetch_add_u64(&board->counters[LB_COUNT_CHANGES], pub->nentries);
	board->backlog += lb_backlog_entries(pub);
	lb_move_to_history(shared, stripe, board, pub);
	if (board->backlog > BACKLOG_EXCESS * lb_backlog_limit(board) &&
		(board->backlog > BACKLOG_EXCESS * LB_MAX_DEFERRED ||
		 !lb_may_defer(board)))
	{
		lb_apply_backlog(shared, board);

		/* Only what has been applied can be trimmed, if memory is short. */
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
	}
}

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
 * After a publication has become history, apply the backlog of its board if
 * that is too long, or defer it to the applier.  Sets *wake if the applier has
 * to be woken.  Returns false if the board may be gone.
 */
static bool
shorten_backlog(LbPublication *pub, bool *wake)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	LbLiveBoard *board = lb_live_board_at(pub->board);

	if (board->backlog <= lb_backlog_limit(board) || stripe->prefetching ||
		!lb_is_ready(shared))
		return true;
	if (lb_defer_to_applier(shared, stripe, board, wake))
		return true;
	if (lb_prefetch_and_apply(shared, stripe, board, false))
		return true;
	return lb_shared_board_is(shared, pub->generation) && pub->linked;
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
				board_is_there = shorten_backlog(pub, &wake);
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


/* ----------------------------------------------------------------
 *		Publish
 * ----------------------------------------------------------------
 */

/* Whether a publication that is not large changes one of our members. */
static bool
members_meet(const LbNetChanges *changes, const LbPublication *pub)
{
	const LbShape *shape = &changes->shared->shape;
	bool		found = false;
	LbEntryScan scan;
	const int64 *theirs;

	lb_entry_scan_begin(&scan, pub);
	while (!found && (theirs = lb_entry_scan_next(&scan)) != NULL)
	{
		lb_count_work(1);
		(void) lb_find_entry(shape, &changes->entries,
							 lb_entry_member(shape, theirs, scan.stride),
							 &found);
	}
	return found;
}

/*
 * The oldest pending publication that has to be settled before we publish, or
 * whose outcome has to be looked up to know that; or NULL.  *outcome is what
 * is known of its transaction.  Also returns NULL, with *obstacle, if it has
 * to know which transactions are running.
 *
 * A transaction that is still running has no member in common with us: it
 * would hold the row lock that we had to take.  So its entries are not looked
 * at.  Of those that have ended few are left, since their owners are about to
 * settle them.  But a prepared transaction has no owner: its publication is
 * settled, or discarded, as soon as its outcome is known, whatever its members
 * are.  That is always right, since it settled its own predecessors when it
 * was published.
 *
 * A large publication does not show its members, so it counts as if it had
 * some of ours.
 *
 * With counts, the keys take the place of the members: many transactions at
 * once change the rows of a score.  No lock orders them, and none is needed:
 * what they add up to does not depend on the order.  But a row that we take
 * away from a score was there for a transaction that has ended, and has
 * published the score unless its own sum for it is nothing.  When what such
 * transactions have published of our scores has settled, the index has no
 * fewer rows of a score than we take away.
 */
static LbPublication *
find_predecessor(const Publish *p, const LbLiveBoard *board,
				 LbOutcome *outcome, Obstacle *obstacle)
{
	uint64		ncompared = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &((LbLiveBoard *) board)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (FullTransactionIdEquals(pub->xid, p->xid))
			continue;
		if (p->has_running && !lb_had_ended(&p->running, pub->xid))
			continue;
		*outcome = lb_find_outcome(&p->outcomes,
								   U64FromFullTransactionId(pub->xid));
		if (p->has_running && pub->prepared)
			return pub;
		if (*outcome == LB_NOT_COMMITTED)
			continue;
		if (pub->owner_entries != NULL)
			return pub;
		ncompared += pub->nentries;
		if (!p->has_running && ncompared > LB_FEW_COMPARED)
		{
			*obstacle = UNKNOWN_RUNNING;
			return NULL;
		}
		if (!members_meet(p->changes, pub))
			continue;

		/* Of the writers of a score, most are running. */
		if (p->changes->shared->shape.counts && !p->has_running)
		{
			*obstacle = UNKNOWN_RUNNING;
			return NULL;
		}
		return pub;
	}
	return NULL;
}

/*
 * Settle the predecessors.  Returns the board, or NULL if the memory is used
 * up or the definition has gone.  Returns NULL with *obstacle if the lock has
 * to be released first.  That is so before each predecessor, to look up its
 * outcome; thus one hold of the lock settles one predecessor, and a backend
 * with many of them can be interrupted.
 */
static LbLiveBoard *
settle_predecessors(Publish *p, LbRef *ref, Obstacle *obstacle)
{
	const LbNetChanges *changes = p->changes;
	LbSharedBoard *shared = changes->shared;

	*obstacle = NO_OBSTACLE;
	for (;;)
	{
		LbLiveBoard *board = NULL;
		LbPublication *pub;
		LbOutcome	outcome;

		if (lb_shared_board_is(shared, changes->generation))
			board = lb_live_board_make(shared, p->stripe, changes->hash,
									   changes->value, ref);
		if (board == NULL)
			return NULL;
		pub = find_predecessor(p, board, &outcome, obstacle);
		if (LB_PLANTED(2))
		{
			pub = NULL;
			*obstacle = NO_OBSTACLE;
		}
		if (pub == NULL)
			return *obstacle == NO_OBSTACLE ? board : NULL;
		if (outcome == LB_OUTCOME_UNKNOWN)
		{
			(void) lb_want_outcome(&p->outcomes,
								   U64FromFullTransactionId(pub->xid));
			*obstacle = UNKNOWN_OUTCOME;
			return NULL;
		}
		if (pub->owner_entries != NULL)
		{
			*obstacle = OWNER_SETTLES;
			return NULL;
		}
		*ref = pub->board;
		if (outcome == LB_COMMITTED)
			lb_settle_for_another(pub);
		else
		{
			board->version++;
			lb_discard_publication(shared, pub);
		}

		/* That may free the board, which is empty then. */
		lb_live_board_release(shared, p->stripe, *ref);
		lb_pause("predecessor");
	}
}

/*
 * Append the publication to the board's pending list.  Without memory, p->pub
 * stays NULL.
 */
static void
append(Publish *p, LbLiveBoard *board, LbRef ref)
{
	const LbNetChanges *changes = p->changes;
	LbSharedBoard *shared = changes->shared;
	LbPublication *pub;

	pub = lb_new_publication(shared, p->stripe, &p->room);
	if (pub == NULL)
	{
		lb_live_board_release(shared, p->stripe, ref);
		return;
	}
	pub->xid = p->xid;
	pub->board = ref;
	pub->off_board = changes->off_board;
	board->no_key |= lb_rows_without_key(pub->off_board) != 0;
	if (p->large)
	{
		pub->nentries = changes->entries.n;
		pub->stride = changes->entries.stride;
		pub->owner_entries = changes->entries.words;
		pub->steps = p->steps;
	}
	else
		lb_set_entries(pub, &changes->entries, &p->room);
	dlist_push_tail(&board->pending, &pub->node);
	pub->linked = true;
	board->version++;
	p->pub = pub;
}

/*
 * Publish under the stripe's lock.  Returns NO_OBSTACLE when that is done,
 * with success or without.  Otherwise release the lock and deal with the
 * obstacle before the next try.
 */
static Obstacle
try_publish(Publish *p)
{
	const LbNetChanges *changes = p->changes;
	LbSharedBoard *shared = changes->shared;
	LbLiveBoard *board;
	LbRef		ref;
	Obstacle	obstacle;

	board = settle_predecessors(p, &ref, &obstacle);
	if (board == NULL)
		return obstacle;

	append(p, board, ref);
	lb_pause("linked");

	/* The applier, which is in no database, has to obey the limit. */
	if (pg_atomic_read_u32(&shared->memory_kb) !=
		(uint32) lb_database_memory_kb)
		pg_atomic_write_u32(&shared->memory_kb, lb_database_memory_kb);
	return NO_OBSTACLE;
}

/*
 * Find out which transactions are running.  Whatever has ended before this
 * transaction changed a row has ended in this snapshot, too, and whatever
 * publishes after it was taken has not.
 */
static void
find_running(Publish *p)
{
	lb_snapshot_init(&p->running, GetLatestSnapshot());
	p->has_running = true;

	/* What was not committed because it was running may have ended. */
	lb_forget_outcomes(&p->outcomes);
}

/* For errors, and for a backend that is terminated. */
static void
give_room_back(int code, Datum arg)
{
	Publish    *p = (Publish *) DatumGetPointer(arg);

	lb_give_room(&p->mem, &p->room);
}

/*
 * Deal with what keeps a publish from going on, or wait until the owner of a
 * large publication has gone on, a tenth of a second at most.  Holds no lock.
 * If that raises, the memory is given back.
 */
static void
remove_obstacle(Publish *p, Obstacle obstacle)
{
	PG_ENSURE_ERROR_CLEANUP(give_room_back, PointerGetDatum(p));
	{
		CHECK_FOR_INTERRUPTS();
		switch (obstacle)
		{
			case UNKNOWN_OUTCOME:
				lb_look_up_outcomes(&p->outcomes);
				break;
			case UNKNOWN_RUNNING:
				find_running(p);
				break;
			case OWNER_SETTLES:
				ConditionVariableTimedSleep(&p->changes->shared->changed, 100,
											lb_wait_event(LB_WAIT_EVENT_LARGE_TRANSACTION));
				ConditionVariableCancelSleep();
				break;
			case NO_OBSTACLE:
				break;
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_room_back, PointerGetDatum(p));
}

LbPublication *
lb_publish(const LbNetChanges *changes, FullTransactionId xid, bool prepare)
{
	LbSharedBoard *shared = changes->shared;
	Publish		p = {
		.changes = changes,
		.xid = xid,
		.stripe = &shared->stripes[lb_value_stripe(shared->family,
												   changes->hash)],
		.mem = lb_mem(shared),
		.large = changes->entries.n > LB_LARGE_ENTRIES && !prepare
	};
	Obstacle	obstacle;

	/* Publications of prepared transactions stay, so do not lock in vain. */
	if (pg_atomic_read_u32(&shared->nprepared) > 0)
		find_running(&p);

	/* Take memory while no lock is held. */
	if (p.large)
		p.steps = lb_make_steps(shared, &changes->entries);
	else if (!lb_take_room(&p.mem, &shared->shape, &changes->entries, &p.room))
		return NULL;

	lb_lock_to_write(p.stripe);
	while ((obstacle = try_publish(&p)) != NO_OBSTACLE)
	{
		/*
		 * A large transaction that is known to have committed is being
		 * settled by its owner.  Do not wait for it by its transaction's
		 * lock, which would be subject to lock_timeout.
		 */
		if (obstacle == OWNER_SETTLES)
			ConditionVariablePrepareToSleep(&shared->changed);
		LWLockRelease(&p.stripe->lock);
		remove_obstacle(&p, obstacle);
		lb_lock_to_write(p.stripe);
	}
	LWLockRelease(&p.stripe->lock);
	if (p.pub == NULL)
		lb_give_room(&p.mem, &p.room);
	return p.pub;
}

LbPublication *
lb_publish_replayed(const LbNetChanges *changes, FullTransactionId xid)
{
	LbSharedBoard *shared = changes->shared;
	Publish		p = {
		.changes = changes,
		.xid = xid,
		.stripe = &shared->stripes[lb_value_stripe(shared->family,
												   changes->hash)],
		.mem = lb_mem(shared)
	};
	LbLiveBoard *board = NULL;
	LbRef		ref;

	if (!lb_take_room(&p.mem, &shared->shape, &changes->entries, &p.room))
		return NULL;
	lb_lock_to_write(p.stripe);
	if (lb_shared_board_is(shared, changes->generation))
		board = lb_live_board_make(shared, p.stripe, changes->hash,
								   changes->value, &ref);
	if (board != NULL)
		append(&p, board, ref);
	LWLockRelease(&p.stripe->lock);
	if (p.pub == NULL)
		lb_give_room(&p.mem, &p.room);
	return p.pub;
}

void
lb_ledger_init(void)
{
	DefineCustomIntVariable("leaderboard.history_size",
							"Sets the most memory for settled changes that older snapshots may not see.",
							NULL,
							&lb_history_size,
							16 * 1024, 64, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_KB,
							NULL, NULL, NULL);
}
