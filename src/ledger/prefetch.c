/*-------------------------------------------------------------------------
 *
 * prefetch.c
 *	  Apply a part of a backlog, prefetching its memory without the lock.
 *
 * Settling and publishing are complete without this file: lb_apply_backlog()
 * does under the lock what the functions here do mostly without it.
 *
 * Most of the time that applying takes is waiting for memory, and that needs
 * no lock.  A part of a backlog is applied in three steps:
 *
 *	1. Under the stripe's exclusive lock, copy the first entries of the
 *	   backlog, as many as can be prefetched together (copy_part).  Set
 *	   LbStripe.prefetching.
 *	2. Without the lock, prefetch all paths to their keys, level by level
 *	   (prefetch_part).  The paths found are hints.
 *	3. Under the lock again, apply the entries (apply_part).  For the applier,
 *	   this step also releases the lock between two publications if a writer
 *	   waits.
 *
 * What is read without the lock may change under the reader's eyes, so nothing
 * of it is trusted: references are followed only within the region, and a
 * descent checks a hint link by link where it would search.
 *
 * While LbStripe.prefetching is set, other settles on the stripe only add to
 * their backlogs, up to BACKLOG_EXCESS times the usual length (ledger.c),
 * beyond which they apply all of theirs.  A reader that needs the backlog, a
 * large transaction or a build may have applied it before step 3.  They apply
 * all of it, and only one process at a time applies a part: so if
 * LbLiveBoard.applied has not moved, the entries that were copied are still
 * the first.
 *
 * The gain of prefetching, here, in batch.c and in the index
 * (skiplist_prefetch.c), and that of the applier beside it:
 *
 *	Processor time of the applier for a change: 1.6 us with 1,000,000 members,
 *	and 2.2 us without prefetching; 1.7 us and 3.2 us with 5,000,000 members.
 *	An UPDATE by a procedure takes 20 us, so prefetching saves 3 to 7 % of it.
 *	(Medians of 4 runs in turns, on a busy machine with 2 cores, Intel Xeon.
 *	Make two installations, one of them with COPT=-DLB_PREFETCH=0.  Have a
 *	procedure update 60,000 random rows and commit each, and compare utime +
 *	stime of the applier in /proc/PID/stat before and after.)
 *
 *	Throughput of UPDATE, 10,000,000 members, against a table without a board:
 *	0.93 to 0.95 with one client, and 0.86 to 0.93 if the committing backend
 *	applies; with two clients on two cores 0.96 to 0.99, and 0.94 to 0.98.
 *	(docs/performance.md has the runs and the command.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "boards/live.h"
#include "boards/state.h"
#include "ledger/backlog.h"
#include "ledger/batch.h"
#include "ledger/prefetch.h"
#include "ledger/publication.h"
#include "util/pause.h"

/* Room for the entries of a part, in words. */
#define MAX_PART_WORDS (LB_MAX_BATCH * (1 + 2 * LB_MAX_WIDTH))

/* The first entries of a backlog, and where they belong. */
typedef struct Part
{
	LbSharedBoard *shared;
	LbStripe   *stripe;
	uint64		generation;		/* of shared */
	uint32		hash;			/* the board's */
	uint64		applied;		/* the board's, as far as we have applied */
	LbIndex		index;			/* a copy: where the prefetch begins */
	LbBatch		batch;
	uint64		versions[LB_MAX_BATCH]; /* of each entry's publication */
	int			nwords;
	int64		words[MAX_PART_WORDS];	/* of the entries */
} Part;

/*
 * Copy the entries of a publication to a part.  Returns false if there are
 * none or they do not fit, and then the part is as it was.
 */
static bool
copy_publication(Part *part, const LbPublication *pub)
{
	int			n = part->batch.n;
	int			nkeys = part->batch.nkeys;
	int			nwords = part->nwords;
	LbEntryScan scan;
	const int64 *entry;

	if (pub->nentries == 0 || n + pub->nentries > LB_MAX_BATCH)
		return false;
	lb_entry_scan_begin(&scan, pub);
	while ((entry = lb_entry_scan_next(&scan)) != NULL)
	{
		int			words = lb_entry_words(scan.stride);
		int64	   *copy = part->words + part->nwords;

		if (part->nwords + words > MAX_PART_WORDS)
		{
			part->batch.n = n;
			part->batch.nkeys = nkeys;
			part->nwords = nwords;
			return false;
		}
		memcpy(copy, entry, words * sizeof(int64));
		part->nwords += words;
		part->versions[part->batch.n] = pub->version;
		lb_batch_add(&part->batch, copy, scan.stride);
	}
	return true;
}

/*
 * Copy the first publications of a backlog, as far as they fit into a part:
 * they may be gone when the lock is taken again.
 */
static void
copy_part(Part *part, LbSharedBoard *shared, LbStripe *stripe,
		  LbLiveBoard *board)
{
	part->shared = shared;
	part->stripe = stripe;
	part->generation = shared->generation;
	part->hash = board->hash;
	part->applied = board->applied;
	part->index = board->index;
	part->nwords = 0;
	lb_batch_begin(&part->batch);
	for (dlist_node *node = lb_backlog_first(board);
		 node != &board->history.head; node = node->next)
	{
		if (!copy_publication(part, dlist_container(LbPublication, node, node)))
			break;
	}
}

/* Prefetch what applying a part is going to touch.  Holds no lock. */
static void
prefetch_part(Part *part)
{
	lb_batch_prefetch_keys(&part->batch, &part->index);
	lb_pause("backlog");
}

/*
 * The board of a part, if its index is as it was when the part was copied or
 * last applied to.  NULL if a build has replaced it, or another process has
 * applied the backlog.
 */
static LbLiveBoard *
board_of_part(const Part *part)
{
	LbStripe   *stripe = part->stripe;
	LbHashScan	scan;

	if (!part->shared->family)
	{
		LbLiveBoard *board = lb_live_board_at(stripe->single);

		return board->applied == part->applied ? board : NULL;
	}
	for (LbRef ref = lb_hash_first(&lb_shared->arena, &stripe->boards,
								   part->hash, &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		/* No two versions are the same, not even of two boards. */
		if (lb_live_board_at(ref)->applied == part->applied)
			return lb_live_board_at(ref);
	}
	return NULL;
}

/*
 * Apply a part, a publication at a time.  With yield, releases the lock in
 * between if a writer waits.  Returns false if the board is gone or has been
 * changed otherwise.
 */
static bool
apply_part(Part *part, bool yield)
{
	LbSharedBoard *shared = part->shared;
	LbStripe   *stripe = part->stripe;
	LbLiveBoard *board = NULL;
	int			n = part->batch.n;

	for (int i = 0; i < n;)
	{
		uint64		version = part->versions[i];

		/* The lock has been released: look for the board again. */
		if (!lb_shared_board_is(shared, part->generation))
			return false;		/* and prefetching is another definition's */
		board = board_of_part(part);
		if (board == NULL)
		{
			stripe->prefetching = false;
			return false;
		}
		while (i < n && part->versions[i] == version)
		{
			lb_batch_apply_one(&part->batch, i++, shared, board);
			board->backlog--;
		}
		board->applied = part->applied = version;
		board->version++;

		/* Applying all takes longer than a writer would wait awake. */
		if (yield && i < n && pg_atomic_read_u32(&stripe->nwaiting) > 0)
		{
			LWLockRelease(&stripe->lock);
			lb_yield_to_writers(stripe);
			lb_lock_to_write(stripe);
		}
	}
	stripe->prefetching = false;
	(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
	return true;
}

bool
lb_prefetch_and_apply(LbSharedBoard *shared, LbStripe *stripe,
					  LbLiveBoard *board, bool yield)
{
	Part		part;

	if (board->backlog == 0 || stripe->prefetching ||
		!lb_is_ready(shared))
		return false;
	copy_part(&part, shared, stripe, board);
	if (part.batch.n == 0)
	{
		/* The oldest publication has no entries, or too many. */
		lb_apply_oldest(shared, board);
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
		return true;
	}
	lb_batch_prefetch_members(&part.batch, shared, &part.index);

	stripe->prefetching = true;
	LWLockRelease(&stripe->lock);
	prefetch_part(&part);
	lb_lock_to_write(stripe);

	return apply_part(&part, yield);
}

static bool
has_long_backlog(LbRef ref)
{
	const LbLiveBoard *board = lb_live_board_at(ref);

	return board->backlog > lb_backlog_limit(board);
}

/* A board of a hash whose backlog is too long, or LB_NONE. */
static LbRef
backlogged_board(LbSharedBoard *shared, LbStripe *stripe, uint32 hash)
{
	LbHashScan	scan;
	LbRef		ref;

	if (!shared->family)
	{
		/* There may be no board: the request may be from a former family. */
		if (stripe->single == LB_NONE || !has_long_backlog(stripe->single))
			return LB_NONE;
		return stripe->single;
	}
	ref = lb_hash_first(&lb_shared->arena, &stripe->boards, hash, &scan);
	while (ref != LB_NONE && !has_long_backlog(ref))
		ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan);
	return ref;
}

void
lb_apply_requested(LbSharedBoard *shared, LbStripe *stripe)
{
	uint64		generation;
	uint32		hash;

	lb_lock_to_write(stripe);
	generation = shared->generation;
	hash = stripe->requested;

	/*
	 * The definition may be a new one, which was made without the stripes'
	 * locks.
	 */
	pg_read_barrier();

	/* Not for ever: other boards wait, and a later settle requests again. */
	for (int i = 0; i < LB_MAX_DEFERRED / LB_MAX_BATCH; i++)
	{
		LbRef		ref = LB_NONE;

		if (generation != 0 && lb_shared_board_is(shared, generation))
			ref = backlogged_board(shared, stripe, hash);
		if (ref == LB_NONE ||
			!lb_prefetch_and_apply(shared, stripe, lb_live_board_at(ref), true))
			break;
		lb_live_board_release(shared, stripe, ref);
		LWLockRelease(&stripe->lock);
		lb_yield_to_writers(stripe);
		lb_lock_to_write(stripe);
	}
	LWLockRelease(&stripe->lock);
}
