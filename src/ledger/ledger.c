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

#include "ledger/ledger.h"
#include "util/pause.h"
#include "util/sort.h"
#include "workers/applier.h"

/*
 * Steps of a large publication that are taken under one hold, and of how many
 * one is looked up ahead.
 */
#define LB_SLICE 256
#define PREFETCH_EVERY 8

StaticAssertDecl(LB_SLICE / PREFETCH_EVERY <= LB_PREFETCH_KEYS,
				 "one call looks ahead for a slice");

#define PUB_WORDS(size) \
	(((size) - offsetof(LbPublication, entries)) / sizeof(int64))

/*
 * Entries that may have settled and not be in the index yet, if that is large:
 * so many, brought in together, share their waits for memory.  Of a small index
 * so many members' part.
 */
#define MAX_BACKLOG 16
#define BACKLOG_MEMBERS 16

/* Entries that are brought in together. */
#define MAX_BATCH (LB_PREFETCH_KEYS / 2)

/*
 * Times the limit of a backlog that gather at most where who settles cannot bring
 * it in, or leaves that to somebody who sends for memory.
 */
#define BACKLOG_EXCESS 4

/*
 * Entries at which the applier is asked, since waking it takes as long as
 * bringing in some.  A reader that comes first has to bring in what is there.
 * Tests have it asked sooner, and of smaller boards.
 */
#ifndef LB_ASK_BACKLOG
#define LB_ASK_BACKLOG 64
#endif

/*
 * Entries beyond which who settles does not wait for the applier any more: a
 * reader brings in all there are at one hold of the lock.
 */
#define MAX_LEFT 1024

/* Chunks that a stripe keeps for publications. */
#define MAX_SPARE 64

/* Bytes of history that a stripe may have and not have told, or fewer. */
#define HISTORY_STEP 8192

/* Publishes between two looks at the oldest snapshot. */
#define HORIZON_CALLS 32

/*
 * For tests only, which plant a bug to see it found: 1 undoes of what was
 * settled after a snapshot the newest publication alone, 2 settles no
 * predecessor, 3 does not add what is committed and pending.
 */
#ifndef LB_PLANT_BUG
#define LB_PLANT_BUG 0
#endif

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

/* Walk over the entries of a publication that is in shared memory. */
typedef struct EntryScan
{
	const LbPublication *pub;
	int			stride;
	uint32		left;
	const int64 *at;
	uint32		here;			/* entries left at this place */
	LbRef		next;
} EntryScan;

typedef struct EntryPage
{
	LbRef		next;
	uint32		nentries;
	int64		entries[(LB_PAGE_SIZE - 8) / sizeof(int64)];
} EntryPage;

static void
scan_begin(EntryScan *scan, const LbPublication *pub, int width)
{
	scan->pub = pub;
	scan->stride = lb_entry_words(width);
	scan->left = pub->nentries;
	scan->at = pub->entries;
	scan->here = Min(pub->nentries,
					 PUB_WORDS(LB_CHUNK_SIZE) / scan->stride);
	scan->next = pub->pages;
}

static const int64 *
scan_next(EntryScan *scan)
{
	const int64 *entry;

	if (scan->left == 0)
		return NULL;
	if (scan->here == 0)
	{
		EntryPage  *page = (EntryPage *) lb_ptr(&lb_shared->arena, scan->next);

		scan->at = page->entries;
		scan->here = page->nentries;
		scan->next = page->next;
	}
	entry = scan->at;
	scan->at += scan->stride;
	scan->here--;
	scan->left--;
	return entry;
}

static void
free_pages(const LbMem *mem, LbRef pages)
{
	while (pages != LB_NONE)
	{
		LbRef		page = pages;

		pages = ((EntryPage *) lb_ptr(mem->arena, page))->next;
		lb_free(mem, page, LB_MAX_ORDER);
	}
}

/*
 * A few chunks that publications have left stay with their stripe, under its
 * lock, so that a small commit does not need the arena's.
 */
static LbRef
take_chunk(const LbMem *mem, LbStripe *stripe)
{
	LbRef		ref = stripe->spare;

	if (ref == LB_NONE)
		return lb_alloc(mem, 0);
	stripe->spare = *(LbRef *) lb_ptr(mem->arena, ref);
	stripe->nspare--;
	return ref;
}

static void
give_chunk(const LbMem *mem, LbStripe *stripe, LbRef ref)
{
	if (stripe->nspare >= MAX_SPARE)
	{
		lb_free(mem, ref, 0);
		return;
	}
	*(LbRef *) lb_ptr(mem->arena, ref) = stripe->spare;
	stripe->spare = ref;
	stripe->nspare++;
}

/* Give a publication's memory back.  Needs the stripe's exclusive lock. */
static void
free_publication(LbSharedBoard *shared, LbPublication *pub)
{
	LbMem		mem = lb_mem(shared);

	free_pages(&mem, pub->pages);
	give_chunk(&mem, &shared->stripes[pub->stripe], pub->self);
}

/* The histories' sum is shared by all boards, so it gets to know in steps. */
static void
count_history(LbStripe *stripe, int64 bytes, bool all)
{
	stripe->history_bytes += bytes;
	if (!all && stripe->history_bytes > -HISTORY_STEP &&
		stripe->history_bytes < HISTORY_STEP)
		return;
	pg_atomic_fetch_add_u64(&lb_shared->history_bytes, stripe->history_bytes);
	stripe->history_bytes = 0;
}

void
lb_tell_history(LbStripe *stripe)
{
	count_history(stripe, 0, true);
}

bool
lb_histories_full(void)
{
	return pg_atomic_read_u64(&lb_shared->history_bytes) >
		(uint64) lb_history_size * 1024;
}

void
lb_stripe_reset(LbSharedBoard *shared, LbStripe *stripe)
{
	LbMem		mem = lb_mem(shared);

	lb_tell_history(stripe);
	while (stripe->spare != LB_NONE)
	{
		LbRef		ref = take_chunk(&mem, stripe);

		lb_free(&mem, ref, 0);
	}
}

/*
 * Copy the entries that do not fit into a publication itself to pages.
 * Returns false if memory is used up.
 */
static bool
copy_pages(const LbMem *mem, int stride, const int64 *entries,
		   uint32 nentries, LbRef *pages)
{
	uint32		n = PUB_WORDS(LB_CHUNK_SIZE) / stride;
	LbRef	   *link = pages;

	*pages = LB_NONE;
	while (n < nentries)
	{
		LbRef		ref = lb_alloc(mem, LB_MAX_ORDER);
		EntryPage  *page;

		if (ref == LB_NONE)
		{
			free_pages(mem, *pages);
			return false;
		}
		page = (EntryPage *) lb_ptr(mem->arena, ref);
		page->next = LB_NONE;
		page->nentries = Min(nentries - n, lengthof(page->entries) / stride);
		memcpy(page->entries, entries + (Size) n * stride,
			   page->nentries * stride * sizeof(int64));
		n += page->nentries;
		*link = ref;
		link = &page->next;
	}
	return true;
}

/*
 * A publication in the chunk self, with what copy_pages() has copied, or with
 * large, for its owner alone.
 */
static LbPublication *
init_publication(LbSharedBoard *shared, uint64 generation, int stripe,
				 LbRef self, LbRef pages, FullTransactionId xid,
				 const int64 *entries, uint32 nentries, bool large)
{
	LbPublication *pub = (LbPublication *) lb_ptr(&lb_shared->arena, self);
	int			stride = lb_entry_words(shared->width);

	pub->xid = xid;
	pub->note = 0;
	pub->shared = shared;
	pub->generation = generation;
	pub->account = shared->account;
	pub->self = self;
	pub->pages = pages;
	pub->stripe = stripe;
	pub->linked = false;
	pub->done = false;
	pub->owned = true;
	pub->prepared = false;
	pub->settling = false;
	pub->nentries = nentries;
	pub->large = large ? entries : NULL;
	pub->steps = NULL;
	pub->nremoved = 0;
	pub->nsteps = 0;
	if (!large)
		memcpy(pub->entries, entries,
			   Min(nentries, PUB_WORDS(LB_CHUNK_SIZE) / stride) *
			   stride * sizeof(int64));
	return pub;
}

/* Whether a pending publication and sorted entries have a member in common. */
static bool
members_meet(const LbPublication *pub, const LbSharedBoard *shared,
			 const int64 *entries, uint32 nentries)
{
	EntryScan	scan;
	const int64 *theirs;
	int			width = shared->width;
	int			words = shared->member_words;
	int			stride = lb_entry_words(width);

	scan_begin(&scan, pub, width);
	while ((theirs = scan_next(&scan)) != NULL)
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

/* Keep a settled change for the build that is running. */
static void
queue_entries(LbSharedBoard *shared, LbLiveBoard *board, FullTransactionId xid,
			  const int64 *entry)
{
	LbMem		mem = lb_mem(shared);
	uint32		stride = lb_entry_words(shared->width);
	LbQueuePage *page = NULL;

	if (board->queue_last != LB_NONE)
		page = (LbQueuePage *) lb_ptr(mem.arena, board->queue_last);
	if (page == NULL || page->used + stride + 1 > lengthof(page->words))
	{
		LbRef		ref = lb_alloc(&mem, LB_MAX_ORDER);

		if (ref == LB_NONE)
		{
			pg_atomic_write_u32(&shared->queue_lost, 1);
			return;
		}
		if (page == NULL)
			board->queue_first = ref;
		else
			page->next = ref;
		board->queue_last = ref;
		page = (LbQueuePage *) lb_ptr(mem.arena, ref);
		page->next = LB_NONE;
		page->used = 0;
	}
	page->words[page->used++] = (int64) U64FromFullTransactionId(xid);
	memcpy(&page->words[page->used], entry, stride * sizeof(int64));
	page->used += stride;
}

/*
 * Bring one change into the index.  The stripe's lock is held exclusively.  The
 * hints are where the ways to its two keys may lead, or NULL.
 */
static void
apply_entry(LbSharedBoard *shared, LbLiveBoard *board, const int64 *entry,
			const LbPath *old_hint, const LbPath *new_hint)
{
	LbResult	result;
	LbMem		mem;

	if (pg_atomic_read_u32(&shared->state) != LB_READY)
		return;

	mem = lb_mem(shared);
	result = lb_apply_entry(&mem, &board->index, entry, old_hint, new_hint);

	/*
	 * What could not be applied is in the table all the same: the queries
	 * have it.
	 */
	if (result == LB_NOMEM)
		lb_shared_board_offline(shared, lb_memory_reason(shared), false);
	else if (result != LB_OK)
	{
		/* Before us came somebody whose changes are unknown, if all is well. */
		Assert(LB_PLANT_BUG != 0 ||
			   pg_atomic_read_u32(&shared->nunknown) > 0 ||
			   pg_atomic_read_u32(&shared->state) != LB_READY);
		lb_shared_board_offline(shared, "the index did not hold what a change was to replace",
								true);
	}
}

/*
 * Several changes on their way into the index, and where the ways to their keys
 * lead: the old ones and the new ones.
 */
typedef struct Batch
{
	int			n;
	int			nkeys;
	const int64 *entries[MAX_BATCH];
	const int64 *keys[LB_PREFETCH_KEYS];
	LbPath		paths[LB_PREFETCH_KEYS];
} Batch;

static void
batch_begin(Batch *batch)
{
	batch->n = 0;
	batch->nkeys = 0;
}

static void
batch_add(Batch *batch, const LbSharedBoard *shared, const int64 *entry)
{
	Assert(batch->n < MAX_BATCH);
	batch->entries[batch->n++] = entry;
	if (entry[0] & LB_HAS_OLD)
		batch->keys[batch->nkeys++] = entry + 1;
	if (entry[0] & LB_HAS_NEW)
		batch->keys[batch->nkeys++] = entry + 1 + shared->width;
}

/* Send for what their members' look-ups need.  Needs the stripe's lock. */
static void
batch_send_for_members(const Batch *batch, const LbSharedBoard *shared,
					   const LbIndex *index)
{
	for (int i = 0; i < batch->n; i++)
		lb_index_prefetch_hash(&lb_shared->arena, index,
							   lb_entry_member(batch->entries[i],
											   shared->width,
											   shared->member_words));
}

/*
 * Entry i of a batch gets into the index.  *path is where the ways begin that
 * were found for it and those after it.
 */
static void
batch_apply_one(const Batch *batch, LbSharedBoard *shared, LbLiveBoard *board,
				int i, const LbPath **path)
{
	const int64 *entry = batch->entries[i];
	const LbPath *first = *path;

	/* From the first to the last: the same where there is one key. */
	*path += ((entry[0] & LB_HAS_OLD) != 0) + ((entry[0] & LB_HAS_NEW) != 0);
	apply_entry(shared, board, entry, first, *path - 1);
}

/* All of it, under the lock, which is held exclusively. */
static void
batch_bring_in(Batch *batch, LbSharedBoard *shared, LbLiveBoard *board)
{
	const LbPath *path = batch->paths;

	if (pg_atomic_read_u32(&shared->state) == LB_READY)
	{
		batch_send_for_members(batch, shared, &board->index);
		lb_index_prefetch_changes(&lb_shared->arena, &board->index,
								  batch->keys, batch->nkeys, batch->paths);
		for (int i = 0; i < batch->n; i++)
			batch_apply_one(batch, shared, board, i, &path);
	}
	batch_begin(batch);
}

/* The oldest publication of the backlog, which is not empty. */
static dlist_node *
backlog_first(LbLiveBoard *board)
{
	dlist_node *node = dlist_tail_node(&board->history);

	while (dlist_has_prev(&board->history, node) &&
		   dlist_container(LbPublication, node, node->prev)->version >
		   board->applied)
		node = node->prev;
	return node;
}

/* Bring in a backlog, all of it or its first publication. */
static void
apply_backlog(LbSharedBoard *shared, LbLiveBoard *board, bool all)
{
	Batch		batch;

	if (board->backlog == 0)
		return;
	batch_begin(&batch);
	for (dlist_node *node = backlog_first(board);
		 node != &board->history.head; node = node->next)
	{
		LbPublication *pub = dlist_container(LbPublication, node, node);
		EntryScan	scan;
		const int64 *entry;

		scan_begin(&scan, pub, shared->width);
		while ((entry = scan_next(&scan)) != NULL)
		{
			batch_add(&batch, shared, entry);
			if (batch.n == MAX_BATCH)
				batch_bring_in(&batch, shared, board);
		}
		if (!all)
		{
			board->applied = pub->version;
			board->backlog -= pub->nentries;
			break;
		}
	}
	batch_bring_in(&batch, shared, board);
	board->version++;
	if (all)
	{
		board->applied = board->version;
		board->backlog = 0;
	}
}

void
lb_apply_backlog(LbSharedBoard *shared, LbLiveBoard *board)
{
	apply_backlog(shared, board, true);
}

bool
lb_sees_backlog(const LbLiveBoard *board, const LbSnapshot *snapshot)
{
	dlist_iter	iter;

	if (board->backlog == 0)
		return false;
	dlist_reverse_foreach(iter, &((LbLiveBoard *) board)->history)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);

		if (pub->version <= board->applied)
			break;
		if (lb_had_ended(snapshot, pub->xid))
			return true;
	}
	return false;
}

static uint64
publication_bytes(const LbPublication *pub)
{
	uint64		bytes = LB_CHUNK_SIZE;

	for (LbRef page = pub->pages; page != LB_NONE;
		 page = ((EntryPage *) lb_ptr(&lb_shared->arena, page))->next)
		bytes += LB_PAGE_SIZE;
	return bytes;
}

static void
no_longer_prepared(LbPublication *pub)
{
	if (pub->prepared)
		pg_atomic_fetch_sub_u32(&pub->shared->nprepared, 1);
	pub->prepared = false;
}

void
lb_forget_publication(LbSharedBoard *shared, LbPublication *pub)
{
	Assert(pub->linked);
	dlist_delete(&pub->node);
	if (pub->note != 0)
		count_history(&shared->stripes[pub->stripe],
					  -(int64) publication_bytes(pub), false);
	pub->linked = false;
	pub->done = true;
	no_longer_prepared(pub);

	/* Its owner holds its address until he has called back. */
	if (!pub->owned)
		free_publication(shared, pub);
}

bool
lb_history_waits(LbLiveBoard *board)
{
	LbPublication *pub;

	if (board->backlog == 0)
		return false;
	pub = dlist_container(LbPublication, node,
						  dlist_head_node(&board->history));
	return pub->version > board->applied &&
		U64FromFullTransactionId(pub->xid) <
		pg_atomic_read_u64(&lb_shared->horizon);
}

bool
lb_trim_history(LbSharedBoard *shared, LbLiveBoard *board, LbTrim what)
{
	uint64		horizon = pg_atomic_read_u64(&lb_shared->horizon);
	bool		all = what == LB_TRIM_ALL;

	/* Not all at once, when an old snapshot has gone: others wait. */
	for (int n = 0; all || n < LB_MAX_TRIM; n++)
	{
		LbPublication *pub;
		uint64		xid;

		if (dlist_is_empty(&board->history))
			return false;
		pub = dlist_container(LbPublication, node,
							  dlist_head_node(&board->history));
		xid = U64FromFullTransactionId(pub->xid);
		if (!all && xid >= horizon)
		{
			if (what == LB_TRIM_UNNEEDED || !lb_histories_full())
				return false;

			/* Boards that nobody comes to may have histories for nothing. */
			if (pg_atomic_read_u32(&lb_shared->histories_full) == 0 &&
				pg_atomic_exchange_u32(&lb_shared->histories_full, 1) == 0)
				lb_wake_launcher();
		}
		if (!all && pub->version > board->applied)
			return false;
		lb_raise_floor(&board->floor, pub->note, xid);
		if (xid >= horizon)
			lb_want_xid();
		board->version++;
		lb_forget_publication(shared, pub);
	}
	return true;
}

/*
 * What was settled becomes history.  The note is taken under the lock, so the
 * notes of a board's history ascend.
 */
static void
to_history(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
		   LbPublication *pub)
{
	board->version++;
	dlist_delete(&pub->node);
	pub->linked = false;
	pub->done = true;
	no_longer_prepared(pub);
	pub->note = lb_next_xid();
	pub->version = board->version;
	if (pg_atomic_read_u32(&shared->state) == LB_READY || stripe->queueing)
	{
		dlist_push_tail(&board->history, &pub->node);
		pub->linked = true;
		count_history(stripe, (int64) publication_bytes(pub), false);
	}
	else
	{
		lb_raise_floor(&board->floor, pub->note,
					   U64FromFullTransactionId(pub->xid));
		if (!pub->owned)
			free_publication(shared, pub);
	}

	/* An index that is not in use is not kept. */
	if (pg_atomic_read_u32(&shared->state) != LB_READY)
	{
		board->applied = board->version;
		board->backlog = 0;
	}
	(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
}

static uint32
backlog_limit(const LbLiveBoard *board)
{
	return Min(MAX_BACKLOG, board->index.members / BACKLOG_MEMBERS);
}

/*
 * Whether what settles on a board is for the applier.  What waits for it cannot
 * leave the history, so not if that is too long.
 */
static bool
is_for_applier(const LbLiveBoard *board)
{
	return lb_applier_is_there() &&
		board->index.members >= LB_ASK_BACKLOG * BACKLOG_MEMBERS &&
		!lb_histories_full();
}

/*
 * Leave a backlog that has become too long to the applier.  Sets *wake if that is
 * to be woken.  Returns false if who settles is to bring it in.  The stripe's lock
 * is held exclusively.
 */
static bool
leave_to_applier(LbSharedBoard *shared, LbStripe *stripe,
				 const LbLiveBoard *board, bool *wake)
{
	int			n = stripe - shared->stripes;

	if (!is_for_applier(board))
		return false;
	if (!lb_is_asked(shared, n))
	{
		if (board->backlog <= LB_ASK_BACKLOG)
			return true;
		stripe->asked = board->hash;
		*wake = lb_ask_applier(shared, n);
	}

	/* It may be asked for another board of the stripe, or be slow. */
	return stripe->asked == board->hash && board->backlog <= MAX_LEFT;
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
		EntryScan	scan;
		const int64 *entry;

		scan_begin(&scan, pub, shared->width);
		while ((entry = scan_next(&scan)) != NULL)
			queue_entries(shared, board, pub->xid, entry);
	}
	pg_atomic_fetch_add_u64(&board->counters[LB_COUNT_CHANGES], pub->nentries);
	board->backlog += pub->nentries;
	to_history(shared, stripe, board, pub);
	if (board->backlog > BACKLOG_EXCESS * backlog_limit(board) &&
		(board->backlog > BACKLOG_EXCESS * MAX_LEFT ||
		 !is_for_applier(board)))
	{
		lb_apply_backlog(shared, board);

		/* Only now can it be given back, if memory is short. */
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
	}
}

/* The same of a publication whose owner will not look at the backlog. */
static void
settle_for_another(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	LbLiveBoard *board = lb_live_board_at(pub->board);
	bool		wake = false;

	settle_shared(pub);
	if (board->backlog > backlog_limit(board))
		(void) leave_to_applier(shared, stripe, board, &wake);
	if (wake)
		lb_wake_applier();
}

/* The board of a hash whose index is as of version applied, or NULL. */
static LbLiveBoard *
board_as_of(LbSharedBoard *shared, LbStripe *stripe, uint32 hash,
			uint64 applied)
{
	LbHashScan	scan;

	if (!shared->family)
	{
		LbLiveBoard *board = lb_live_board_at(stripe->single);

		return board->applied == applied ? board : NULL;
	}
	for (LbRef ref = lb_hash_first(&lb_shared->arena, &stripe->boards, hash,
								   &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		/* Versions are never the same, not even of two boards. */
		if (lb_live_board_at(ref)->applied == applied)
			return lb_live_board_at(ref);
	}
	return NULL;
}

/*
 * Bring in the first entries of a backlog.  What takes most of the time, waiting
 * for memory, does not need the stripe's lock: it is let go of meanwhile, and
 * others who settle leave this to us.  With give_way it is also let go of between
 * two publications, if a writer waits.  Returns false if there is nothing left to
 * do or the board may be gone.  The stripe's lock is held exclusively, and again
 * when we return.
 */
static bool
bring_in_some(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
			  bool give_way)
{
	uint64		generation = shared->generation;
	uint32		hash = board->hash;
	uint64		applied = board->applied;
	uint64		versions[MAX_BATCH];
	int64		words[MAX_BATCH][2 * LB_MAX_WIDTH + 1];
	const LbPath *path;
	LbIndex		index;
	Batch		batch;

	if (board->backlog == 0 || stripe->sending ||
		pg_atomic_read_u32(&shared->state) != LB_READY)
		return false;

	/* Copies, since the publications may be gone while the lock is. */
	batch_begin(&batch);
	for (dlist_node *node = backlog_first(board);
		 node != &board->history.head; node = node->next)
	{
		LbPublication *next = dlist_container(LbPublication, node, node);
		EntryScan	scan;
		const int64 *entry;

		if (batch.n + next->nentries > MAX_BATCH)
			break;
		scan_begin(&scan, next, shared->width);
		while ((entry = scan_next(&scan)) != NULL)
		{
			memcpy(words[batch.n], entry,
				   lb_entry_words(shared->width) * sizeof(int64));
			versions[batch.n] = next->version;
			batch_add(&batch, shared, words[batch.n]);
		}
	}
	if (batch.n == 0)
	{
		/* The first one is too large for that. */
		apply_backlog(shared, board, false);
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
		return true;
	}
	index = board->index;
	batch_send_for_members(&batch, shared, &index);
	stripe->sending = true;
	LWLockRelease(&stripe->lock);
	lb_index_prefetch_changes(&lb_shared->arena, &index, batch.keys,
							  batch.nkeys, batch.paths);
	lb_pause("backlog");
	lb_lock_to_write(stripe);

	path = batch.paths;
	for (int i = 0; i < batch.n; i++)
	{
		/*
		 * Whenever the lock was let go of, it may be another board, if a
		 * build has ended.  And somebody who needed the backlog may have
		 * brought it in, but then all of it: nobody else brings in a part
		 * while we are sending.
		 */
		if (i == 0 || versions[i] != versions[i - 1])
		{
			if (!lb_shared_board_is(shared, generation))
				return false;
			board = board_as_of(shared, stripe, hash, applied);
			if (board == NULL)
			{
				stripe->sending = false;
				return false;
			}
		}

		batch_apply_one(&batch, shared, board, i, &path);
		board->backlog--;
		if (i + 1 < batch.n && versions[i] == versions[i + 1])
			continue;
		applied = versions[i];
		board->applied = applied;
		board->version++;

		/* All of them take longer than a writer would wait, awake. */
		if (give_way && i + 1 < batch.n &&
			pg_atomic_read_u32(&stripe->nwaiting) > 0)
		{
			LWLockRelease(&stripe->lock);
			lb_let_writers_go(stripe);
			lb_lock_to_write(stripe);
		}
	}
	stripe->sending = false;
	(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
	return true;
}

/* A board of a hash whose backlog is too long, or LB_NONE. */
static LbRef
backlogged_board(LbSharedBoard *shared, LbStripe *stripe, uint32 hash)
{
	LbHashScan	scan;
	LbRef		ref;

	if (!shared->family)
	{
		/* The stripe may have been asked for when this was a family's memory. */
		if (stripe->single == LB_NONE ||
			lb_live_board_at(stripe->single)->backlog <=
			backlog_limit(lb_live_board_at(stripe->single)))
			return LB_NONE;
		return stripe->single;
	}
	for (ref = lb_hash_first(&lb_shared->arena, &stripe->boards, hash, &scan);
		 ref != LB_NONE;
		 ref = lb_hash_next(&lb_shared->arena, &stripe->boards, &scan))
	{
		if (lb_live_board_at(ref)->backlog >
			backlog_limit(lb_live_board_at(ref)))
			break;
	}
	return ref;
}

void
lb_bring_in_asked(LbSharedBoard *shared, LbStripe *stripe)
{
	uint64		generation;
	uint32		hash;

	lb_lock_to_write(stripe);
	generation = shared->generation;
	hash = stripe->asked;

	/* It may be one that somebody has just made, without the stripes' locks. */
	pg_read_barrier();

	/* Not for ever: other boards wait, and who settles asks again. */
	for (int i = 0; i < MAX_LEFT / MAX_BATCH; i++)
	{
		LbRef		ref = LB_NONE;

		if (generation != 0 && lb_shared_board_is(shared, generation))
			ref = backlogged_board(shared, stripe, hash);
		if (ref == LB_NONE ||
			!bring_in_some(shared, stripe, lb_live_board_at(ref), true))
			break;
		lb_live_board_release(shared, stripe, ref);
		LWLockRelease(&stripe->lock);
		lb_let_writers_go(stripe);
		lb_lock_to_write(stripe);
	}
	LWLockRelease(&stripe->lock);
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

	if (board->backlog <= backlog_limit(board) || stripe->sending ||
		pg_atomic_read_u32(&shared->state) != LB_READY)
		return true;
	if (leave_to_applier(shared, stripe, board, wake))
		return true;
	if (bring_in_some(shared, stripe, board, false))
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
		if (pub->large != NULL || members_meet(pub, shared, entries, nentries))
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
		free_pages(mem, pages);
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
		if (!known || before->large != NULL)
		{
			*other = before->xid;
			*wait = known;
			return false;
		}
		board_ref = before->board;
		settle_for_another(before);
		lb_live_board_release(shared, stripe, board_ref);
	}

	self = take_chunk(&mem, stripe);
	if (self == LB_NONE)
	{
		lb_live_board_release(shared, stripe, board_ref);
		return true;
	}
	*pub = init_publication(shared, generation, stripe - shared->stripes, self,
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

/*
 * The steps by which a large publication is brought into the index: all old
 * keys are taken out, then all new ones put in, both in their order, so that
 * neighbours come after each other.  Returns NULL if there is no memory for
 * that.  Raises only when interrupted.
 */
static const int64 *
make_steps(const LbSharedBoard *shared, const int64 *entries, uint32 nentries,
		   uint32 *nremoved, uint64 *nsteps)
{
	int			width = shared->width;
	int			stride = lb_entry_words(width);
	Size		size = width * sizeof(int64);
	uint64		n[2] = {0, 0};	/* old keys, new keys */
	int64	   *keys[2];
	int64	   *steps;

	for (uint32 i = 0; i < nentries; i++)
	{
		int64		flags = entries[(Size) i * stride];

		n[0] += (flags & LB_HAS_OLD) != 0;
		n[1] += (flags & LB_HAS_NEW) != 0;
	}
	*nremoved = (uint32) n[0];
	*nsteps = n[0] + n[1];
	steps = MemoryContextAllocExtended(TopTransactionContext, *nsteps * size,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (steps == NULL)
	{
		*nsteps = nentries;
		return NULL;
	}
	keys[0] = steps;
	keys[1] = steps + n[0] * width;
	for (uint32 i = 0; i < nentries; i++)
	{
		const int64 *entry = entries + (Size) i * stride;

		if (entry[0] & LB_HAS_OLD)
		{
			memcpy(keys[0], entry + 1, size);
			keys[0] += width;
		}
		if (entry[0] & LB_HAS_NEW)
		{
			memcpy(keys[1], entry + 1 + width, size);
			keys[1] += width;
		}
	}
	lb_sort_words(steps, n[0], width);
	lb_sort_words(steps + n[0] * width, n[1], width);
	return steps;
}

LbPublication *
lb_publish(LbSharedBoard *shared, uint64 generation, const LbValue *value,
		   uint32 hash, FullTransactionId xid, const int64 *entries,
		   uint32 nentries, bool prepare)
{
	LbStripe   *stripe = &shared->stripes[lb_value_stripe(shared->family, hash)];
	LbPublication *pub = NULL;
	bool		large = nentries > LB_LARGE && !prepare;
	LbMem		mem = lb_mem(shared);
	LbRef		pages = LB_NONE;
	Resolved	resolved;
	FullTransactionId other;
	const int64 *steps = NULL;
	uint32		nremoved = 0;
	uint64		nsteps = 0;
	bool		wait;

	if (!large && !copy_pages(&mem, lb_entry_words(shared->width), entries,
							  nentries, &pages))
		return NULL;
	if (large)
		steps = make_steps(shared, entries, nentries, &nremoved, &nsteps);
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
		pub->steps = steps;
		pub->nremoved = nremoved;
		pub->nsteps = nsteps;
	}
	LWLockRelease(&stripe->lock);
	if (pub == NULL)
		free_pages(&mem, pages);
	return pub;
}

static void
take_step(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
		  FullTransactionId xid, const int64 *entry)
{
	if (stripe->queueing)
		queue_entries(shared, board, xid, entry);
	apply_entry(shared, board, entry, NULL, NULL);
}

/* Take steps n .. end - 1 of the owner's large publication. */
static void
take_steps(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
		   const LbPublication *pub, uint64 n, uint64 end)
{
	const LbArena *arena = &lb_shared->arena;
	int			width = shared->width;
	const int64 *keys[LB_SLICE / PREFETCH_EVERY] = {NULL};
	LbPath		paths[LB_SLICE / PREFETCH_EVERY];
	int			nkeys = 0;

	if (pub->steps == NULL)
	{
		for (; n < end; n++)
			take_step(shared, stripe, board, pub->xid,
					  pub->large + n * lb_entry_words(width));
		return;
	}

	/* Keys in order are near each other: not all of them are needed. */
	for (uint64 i = n; i < end; i++)
	{
		const int64 *key = pub->steps + i * width;

		lb_index_prefetch_hash(arena, &board->index,
							   key + width - shared->member_words);
		if ((i - n) % PREFETCH_EVERY == 0)
			keys[nkeys++] = key;
	}
	lb_index_prefetch_changes(arena, &board->index, keys, nkeys, paths);
	for (; n < end; n++)
	{
		bool		new = n >= pub->nremoved;
		int64		half[1 + 2 * LB_MAX_WIDTH];

		half[0] = new ? LB_HAS_NEW : LB_HAS_OLD;
		memcpy(half + 1 + (new ? width : 0), pub->steps + n * width,
			   width * sizeof(int64));
		take_step(shared, stripe, board, pub->xid, half);
	}
}

/* Settle the owner's large publication, a slice at a time. */
static void
settle_large(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	uint64		n = 0;

	/*
	 * Readers that meet it from now on wait, and those whose snapshots do not
	 * see it run their queries: it does not go into the history.
	 */
	pub->settling = true;
	lb_apply_backlog(shared, lb_live_board_at(pub->board));
	lb_live_board_at(pub->board)->large++;
	lb_live_board_at(pub->board)->version++;
	lb_raise_floor(&lb_live_board_at(pub->board)->floor,
				   lb_next_xid(),
				   U64FromFullTransactionId(pub->xid));
	lb_want_xid();

	/* A build that finishes meanwhile may have brought in everything. */
	while (n < pub->nsteps && !pub->done &&
		   lb_shared_board_is(shared, pub->generation))
	{
		uint64		end = Min(n + LB_SLICE, pub->nsteps);

		take_steps(shared, stripe, lb_live_board_at(pub->board), pub, n, end);
		n = end;
		LWLockRelease(&stripe->lock);
		lb_pause("slices");
		lb_lock_to_write(stripe);
	}

	/* Then the board that it was published on is gone. */
	if (pub->done || !lb_shared_board_is(shared, pub->generation))
		return;
	lb_live_board_at(pub->board)->large--;
	pg_atomic_fetch_add_u64(&lb_live_board_at(pub->board)
							->counters[LB_COUNT_CHANGES],
							pub->nentries);

	dlist_delete(&pub->node);
	pub->linked = false;
	pub->done = true;
	lb_live_board_release(shared, stripe, pub->board);
}

/*
 * The owner is done with a publication.  It stays where it is if somebody may
 * need it; otherwise its memory goes back.
 */
static void
disown(LbPublication *pub)
{
	pub->owned = false;
	if (pub->linked)
		return;
	if (lb_shared_board_is(pub->shared, pub->generation))
		free_publication(pub->shared, pub);
	else
	{
		/* The definition is somebody else's by now. */
		LbMem		mem;

		mem.arena = &lb_shared->arena;
		mem.account = pub->account;
		mem.limit = 0;
		mem.taken = NULL;
		free_pages(&mem, pub->pages);
		lb_free(&mem, pub->self, 0);
	}
}

void
lb_settle(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];
	bool		large = pub->large != NULL;
	bool		wake = false;

	lb_lock_to_write(stripe);
	if (!pub->done && lb_shared_board_is(shared, pub->generation))
	{
		if (large)
			settle_large(pub);
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
	disown(pub);
	LWLockRelease(&stripe->lock);
	if (wake)
		lb_wake_applier();
	if (large)
		ConditionVariableBroadcast(&shared->changed);
}

void
lb_drop(LbPublication *pub)
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
	disown(pub);
	LWLockRelease(&stripe->lock);
}

void
lb_leave_prepared(LbPublication *pub)
{
	LbSharedBoard *shared = pub->shared;
	LbStripe   *stripe = &shared->stripes[pub->stripe];

	lb_lock_to_write(stripe);
	if (!pub->done && lb_shared_board_is(shared, pub->generation))
	{
		pub->prepared = true;
		pg_atomic_fetch_add_u32(&shared->nprepared, 1);
	}
	disown(pub);
	LWLockRelease(&stripe->lock);
}

/* What is known of the prepared transactions of a stripe. */
typedef struct PreparedScan
{
	LbSharedBoard *shared;
	LbStripe   *stripe;
	int			n;
	uint64		xids[64];
	bool		ended[64];
	bool		committed[64];
	bool		left;
	int			nboards;
	LbRef		boards[64];		/* that may have to be released */
} PreparedScan;

static bool
find_prepared(uint32 hash, LbRef ref, void *arg)
{
	PreparedScan *scan = (PreparedScan *) arg;
	dlist_iter	iter;

	dlist_foreach(iter, &lb_live_board_at(ref)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		uint64		xid = U64FromFullTransactionId(pub->xid);
		int			i;

		if (!pub->prepared)
			continue;
		for (i = 0; i < scan->n && scan->xids[i] != xid; i++)
			;
		if (i == (int) lengthof(scan->xids))
			return false;
		if (i == scan->n)
			scan->xids[scan->n++] = xid;
	}
	return true;
}

static bool
settle_prepared(uint32 hash, LbRef ref, void *arg)
{
	PreparedScan *scan = (PreparedScan *) arg;
	dlist_mutable_iter iter;
	bool		changed = false;

	dlist_foreach_modify(iter, &lb_live_board_at(ref)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		uint64		xid = U64FromFullTransactionId(pub->xid);
		int			i;

		if (!pub->prepared)
			continue;
		for (i = 0; i < scan->n && scan->xids[i] != xid; i++)
			;
		if (i == scan->n || !scan->ended[i])
		{
			scan->left = true;
			continue;
		}
		changed = true;
		if (scan->committed[i])
			settle_for_another(pub);
		else
		{
			lb_live_board_at(ref)->version++;
			lb_forget_publication(scan->shared, pub);
		}
	}
	if (changed)
		scan->boards[scan->nboards++] = ref;
	return scan->nboards < (int) lengthof(scan->boards);
}

bool
lb_shared_board_settle_prepared(LbSharedBoard *shared, uint64 generation)
{
	bool		left = false;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		PreparedScan scan;

		memset(&scan, 0, sizeof(scan));
		scan.shared = shared;
		scan.stripe = &shared->stripes[s];
		LWLockAcquire(&scan.stripe->lock, LW_SHARED);
		if (lb_shared_board_is(shared, generation))
			lb_stripe_walk(scan.stripe, shared->family, find_prepared, &scan);
		LWLockRelease(&scan.stripe->lock);
		if (scan.n == 0)
			continue;
		for (int i = 0; i < scan.n; i++)
		{
			TransactionId xid = (TransactionId) scan.xids[i];

			scan.ended[i] = !TransactionIdIsInProgress(xid);
			scan.committed[i] = scan.ended[i] && TransactionIdDidCommit(xid);
		}
		do
		{
			scan.nboards = 0;
			scan.left = false;
			LWLockAcquire(&scan.stripe->lock, LW_EXCLUSIVE);
			if (lb_shared_board_is(shared, generation))
				lb_stripe_walk(scan.stripe, shared->family, settle_prepared,
							   &scan);
			for (int i = 0; i < scan.nboards; i++)
				lb_live_board_release(shared, scan.stripe, scan.boards[i]);
			LWLockRelease(&scan.stripe->lock);
		} while (scan.nboards == (int) lengthof(scan.boards));
		left |= scan.left;
	}
	return left;
}


/* ----------------------------------------------------------------
 *		What a snapshot sees
 * ----------------------------------------------------------------
 */

/* A 32-bit xid that is not far from the next one, in full. */
static uint64
full_xid(TransactionId xid, uint64 next)
{
	return next + (int32) (xid - (uint32) next);
}

void
lb_snapshot_init(LbSnapshot *s, Snapshot snapshot)
{
	uint64		next = lb_next_xid();

	s->snapshot = snapshot;
	s->xmin = full_xid(snapshot->xmin, next);
	s->xmax = full_xid(snapshot->xmax, next);
}

/*
 * Not by XidInMVCCSnapshot(), which may have to read pg_subtrans; all
 * top-level xids are in xip.
 */
bool
lb_had_ended(const LbSnapshot *s, FullTransactionId fxid)
{
	uint64		full = U64FromFullTransactionId(fxid);
	TransactionId xid = XidFromFullTransactionId(fxid);

	if (full < s->xmin)
		return true;
	if (full >= s->xmax)
		return false;
	for (uint32 i = 0; i < s->snapshot->xcnt; i++)
	{
		if (s->snapshot->xip[i] == xid)
			return false;
	}
	return true;
}

bool
lb_any_running(const LbSnapshot *s, uint64 first, uint64 last)
{
	if (last < s->xmin)
		return false;
	if (last >= s->xmax)
		return true;
	for (uint32 i = 0; i < s->snapshot->xcnt; i++)
	{
		uint64		xid = full_xid(s->snapshot->xip[i], s->xmax);

		if (xid >= first && xid <= last)
			return true;
	}
	return false;
}

bool
lb_any_in_progress(uint64 first, uint64 last)
{
	uint64		next = lb_next_xid();
	RunningTransactions running = GetRunningTransactionData();
	bool		found = false;

	/* Top-level ones come first. */
	for (int i = 0; !found && i < running->xcnt; i++)
	{
		uint64		xid = full_xid(running->xids[i], next);

		found = xid >= first && xid <= last;
	}
	LWLockRelease(ProcArrayLock);
	LWLockRelease(XidGenLock);
	return found;
}

void
lb_look_up_outcome(LbOutcomes *outcomes)
{
	TransactionId xid = (TransactionId) outcomes->unknown;

	if (outcomes->n == outcomes->max)
	{
		int			max = Max(16, outcomes->max * 2);

		if (outcomes->list == NULL)
			outcomes->list = palloc(max * sizeof(*outcomes->list));
		else
			outcomes->list = repalloc(outcomes->list,
									  max * sizeof(*outcomes->list));
		outcomes->max = max;
	}

	/* It had ended when the snapshot was taken, so this is final. */
	outcomes->list[outcomes->n].xid = outcomes->unknown;
	outcomes->list[outcomes->n].committed = TransactionIdDidCommit(xid);
	outcomes->n++;
}

/* Add a publication's changes, or take them back. */
static void
add_publication(const LbPublication *pub, bool undo, int *need,
				LbChanges *changes)
{
	EntryScan	scan;
	const int64 *entry;

	/* No sum of theirs goes beyond what an int holds. */
	if (pub->nentries > (uint32) (INT_MAX - *need))
		*need = INT_MAX;
	else
		*need += pub->nentries;
	if (*need > changes->max)
		return;
	scan_begin(&scan, pub, changes->width);
	while ((entry = scan_next(&scan)) != NULL)
		lb_add_change(changes, entry, undo);
}

static void
add_unseen(LbUnseen *unseen, FullTransactionId xid)
{
	if (unseen == NULL)
		return;
	if (unseen->n < unseen->max)
		unseen->xids[unseen->n] = XidFromFullTransactionId(xid);
	unseen->n++;
}

/* What a snapshot sees of what is not settled. */
static LbCollect
collect_pending(const LbLiveBoard *board, const LbSnapshot *snapshot,
				LbOutcomes *outcomes, int *need, LbChanges *changes,
				LbUnseen *unseen, bool *pending)
{
	dlist_iter	iter;

	dlist_foreach(iter, &((LbLiveBoard *) board)->pending)
	{
		LbPublication *pub = dlist_container(LbPublication, node, iter.cur);
		uint64		xid = U64FromFullTransactionId(pub->xid);
		bool		known = false;
		bool		committed = false;

		if (!lb_had_ended(snapshot, pub->xid))
		{
			add_unseen(unseen, pub->xid);
			continue;
		}
		for (int i = 0; i < outcomes->n && !known; i++)
		{
			if (outcomes->list[i].xid == xid)
			{
				known = true;
				committed = outcomes->list[i].committed;
			}
		}
		if (!known)
		{
			outcomes->unknown = xid;
			return LB_COLLECT_OUTCOME;
		}
		if (!committed)
			continue;
#if LB_PLANT_BUG == 3
		continue;
#endif
		if (pub->large != NULL)
			return LB_COLLECT_WAIT;
		add_publication(pub, false, need, changes);
		*pending = true;
	}
	return LB_COLLECTED;
}

/*
 * Publications that are looked at under one hold of the lock: each can be a
 * cache miss.
 */
#define MAX_LOOKS 4096

/*
 * Walk back through a history, from node on, and gather what the snapshot wants
 * differently: see lb_collect().
 */
static LbCollect
collect_history(const LbLiveBoard *board, const LbSnapshot *snapshot,
				dlist_node *node, int need, LbChanges *changes,
				LbUnseen *unseen, uint64 since, int limit, LbSlice *slice,
				bool *pending)
{
	const dlist_node *head = &board->history.head;
	int			looks = 0;

	/*
	 * Seen, but not in the index; then in the index, but not seen.  A
	 * transaction that the snapshot does not see ended, and so settled, after
	 * it was taken: then the next xid was at least the snapshot's xmax. Notes
	 * ascend, so the rest is seen.
	 */
	for (; node != head; node = node->prev)
	{
		LbPublication *pub = dlist_container(LbPublication, node, node);
		bool		applied = pub->version <= board->applied;
		bool		ended;

		if (applied && (pub->note < snapshot->xmax || pub->version <= since))
			break;
		if (!applied && since != 0)
			continue;
		if (need > limit || (slice == NULL && looks == MAX_LOOKS))
			return LB_COLLECT_MANY;
		if (slice != NULL && need > changes->max)
			break;
		ended = lb_had_ended(snapshot, pub->xid);
		if (slice != NULL && applied && looks > 0 &&
			(looks >= MAX_LOOKS ||
			 (!ended && need + (int64) pub->nentries > changes->max)))
		{
			slice->next = pub;
			slice->note = pub->note;
			return LB_COLLECT_MORE;
		}
		looks++;
		if (!ended)
			add_unseen(unseen, pub->xid);
		if (ended == applied)
			continue;
#if LB_PLANT_BUG == 1
		if (applied && pub->node.next != &board->history.head)
			continue;
#endif
		add_publication(pub, applied, &need, changes);
		*pending |= !applied;
	}
	if (need > limit)
		return LB_COLLECT_MANY;
	if (need > changes->max ||
		(unseen != NULL && unseen->n > unseen->max))
	{
		changes->n = need;
		return LB_COLLECT_ROOM;
	}
	return LB_COLLECTED;
}

LbCollect
lb_collect(const LbSharedBoard *shared, const LbStripe *stripe,
		   const LbLiveBoard *board, const LbSnapshot *snapshot,
		   LbOutcomes *outcomes, LbChanges *changes, LbUnseen *unseen,
		   uint64 since, int limit, LbSlice *slice, bool *pending)
{
	int			need = 0;

	changes->n = 0;
	if (since == 0)
		*pending = false;
	if (unseen != NULL)
		unseen->n = 0;
	if (!lb_above_floor(snapshot, board == NULL ? &stripe->floor :
						&board->floor))
		return LB_COLLECT_TOO_OLD;
	if (board == NULL)
		return LB_COLLECTED;
	if (board->large > 0)
		return LB_COLLECT_WAIT;

	/*
	 * Seen, but not settled.  Whoever publishes later ends after the
	 * snapshot.
	 */
	if (since == 0)
	{
		LbCollect	result = collect_pending(board, snapshot, outcomes, &need,
											 changes, unseen, pending);

		if (result != LB_COLLECTED)
			return result;
	}
	return collect_history(board, snapshot, board->history.head.prev, need,
						   changes, unseen, since, limit, slice, pending);
}

LbCollect
lb_collect_more(const LbLiveBoard *board, const LbSnapshot *snapshot,
				LbChanges *changes, LbSlice *slice)
{
	bool		pending;

	changes->n = 0;

	/* Notes ascend, and the floor's is that of the newest that has left. */
	if (board->large > 0 || slice->note <= board->floor.note)
		return LB_COLLECT_TOO_OLD;
	return collect_history(board, snapshot,
						   (dlist_node *) &slice->next->node, 0, changes,
						   NULL, 0, INT_MAX, slice, &pending);
}

bool
lb_collect_applied(const LbLiveBoard *board, uint64 since, LbChanges *changes)
{
	const dlist_node *head = &board->history.head;
	int			need = 0;

	changes->n = 0;
	for (dlist_node *node = head->prev; node != head; node = node->prev)
	{
		LbPublication *pub = dlist_container(LbPublication, node, node);

		if (pub->version > board->applied)
			continue;
		if (pub->version <= since)
			break;
		add_publication(pub, false, &need, changes);
		if (need > changes->max)
			return false;
	}
	return true;
}

void
lb_update_horizon(bool now)
{
	static int	calls = 0;
	uint64		next;
	uint64		horizon;
	uint64		old;

	if (!now && ++calls % HORIZON_CALLS != 0)
		return;
	next = lb_next_xid();
	horizon = full_xid(GetOldestNonRemovableTransactionId(NULL), next);
	old = pg_atomic_read_u64(&lb_shared->horizon);
	while (old < horizon &&
		   !pg_atomic_compare_exchange_u64(&lb_shared->horizon, &old, horizon))
		;
}
