/*-------------------------------------------------------------------------
 *
 * publication.c
 *	  The memory of publications, and the histories of boards.
 *
 * A publication is a chunk of the arena with its entries, or with the first of
 * them, and a chain of pages with the rest.  The entries of the chunk, and
 * those of a page, have a stride of their own, so that a long key takes room
 * only where it is.
 *
 * A publication is in one list of its board at a time: pending, until it
 * settles or is discarded, then history.  Its memory goes back when it is in
 * no list and its owner has called back.
 *
 * A history is in the order of settling, the oldest publication first.  The
 * oldest may leave it when every snapshot sees the publication
 * (LbSharedState.horizon), or when the histories of all boards exceed
 * leaderboard.history_size; but not while it is in the backlog.  When it
 * leaves, the board's floor rises to it, and snapshots below the floor are too
 * old for the index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"

#include "boards/live.h"
#include "boards/state.h"
#include "ledger/publication.h"
#include "ledger/snapshot.h"

int			lb_history_size = 16 * 1024;

/* Pages that are filled between two checks for interrupts. */
#define CHECK_PAGES 256

/* Chunks that a stripe keeps for publications. */
#define MAX_SPARE 64

/*
 * Bytes by which a stripe's histories may grow or shrink before that is added
 * to the sum of all.
 */
#define HISTORY_STEP 8192

static void
free_pages(const LbMem *mem, LbRef pages)
{
	while (pages != LB_NONE)
	{
		LbRef		page = pages;

		pages = ((LbEntryPage *) lb_ptr(mem->arena, page))->next;
		lb_free(mem, page, LB_MAX_ORDER);
	}
}

/*
 * A chunk for a publication.  A few chunks stay with their stripe when they
 * are given back, so that a small commit does not need the arena's lock.
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
	if (pub->order == 0)
		give_chunk(&mem, &shared->stripes[pub->stripe], pub->self);
	else
		lb_free(&mem, pub->self, pub->order);
}

/*
 * How many entries, beginning with number first, fit into words, and the
 * stride that they need.
 */
static uint32
count_fitting(const LbShape *shape, const LbEntries *entries, uint32 first,
			  uint32 words, int *stride)
{
	uint32		n = 0;

	if (!lb_shape_varies(shape))
	{
		*stride = shape->width;
		return Min(entries->n - first, words / lb_entry_words(*stride));
	}
	*stride = lb_least_stride(shape);
	for (; first + n < entries->n; n++)
	{
		int			longest = Max(*stride,
								  lb_entry_stride(shape,
												  lb_entry_at(entries, first + n),
												  entries->stride));

		if ((n + 1) * lb_entry_words(longest) > words)
			break;
		*stride = longest;
	}
	return n;
}

/* Pages that are being filled. */
typedef struct Filling
{
	const LbMem *mem;
	LbRef		first;
} Filling;

/* For errors, and for a backend that is terminated. */
static void
free_filling(int code, Datum arg)
{
	Filling    *filling = (Filling *) DatumGetPointer(arg);

	free_pages(filling->mem, filling->first);
}

/* If the backend is interrupted, free the pages so far before that raises. */
static void
check_for_interrupts(const LbMem *mem, LbRef pages)
{
	Filling		filling = {mem, pages};

	PG_ENSURE_ERROR_CLEANUP(free_filling, PointerGetDatum(&filling));
	{
		CHECK_FOR_INTERRUPTS();
	}
	PG_END_ENSURE_ERROR_CLEANUP(free_filling, PointerGetDatum(&filling));
}

/* Copy the entries from number n on to a chain of pages. */
static bool
copy_pages(const LbMem *mem, const LbShape *shape, const LbEntries *entries,
		   uint32 n, LbRef *pages)
{
	LbRef	   *link = pages;
	int			npages = 0;

	*pages = LB_NONE;
	while (n < entries->n)
	{
		LbRef		ref;
		LbEntryPage *page;
		int			stride;

		if (++npages % CHECK_PAGES == 0)
			check_for_interrupts(mem, *pages);
		ref = lb_alloc(mem, LB_MAX_ORDER);
		if (ref == LB_NONE)
		{
			free_pages(mem, *pages);
			return false;
		}
		page = (LbEntryPage *) lb_ptr(mem->arena, ref);
		page->next = LB_NONE;
		page->nentries = count_fitting(shape, entries, n,
									   lengthof(page->entries), &stride);
		page->stride = stride;
		lb_copy_entries(shape, page->entries, stride, entries, n,
						page->nentries);
		n += page->nentries;
		*link = ref;
		link = &page->next;
	}
	return true;
}

bool
lb_take_room(const LbMem *mem, const LbShape *shape, const LbEntries *entries,
			 LbPublicationRoom *room)
{
	memset(room, 0, sizeof(LbPublicationRoom));
	for (; room->order <= LB_MAX_PUBLICATION_ORDER; room->order++)
	{
		room->fit = count_fitting(shape, entries, 0,
								  LB_PUBLICATION_WORDS(room->order),
								  &room->stride);
		if (room->fit < entries->n)
			continue;
		if (room->order > 0)
			room->chunk = lb_alloc(mem, room->order);
		return room->order == 0 || room->chunk != LB_NONE;
	}
	room->order = 0;
	room->fit = count_fitting(shape, entries, 0, LB_PUBLICATION_WORDS(0),
							  &room->stride);
	return copy_pages(mem, shape, entries, room->fit, &room->pages);
}

void
lb_give_room(const LbMem *mem, const LbPublicationRoom *room)
{
	if (room->chunk != LB_NONE)
		lb_free(mem, room->chunk, room->order);
	free_pages(mem, room->pages);
}

LbPublication *
lb_new_publication(LbSharedBoard *shared, LbStripe *stripe,
				   const LbPublicationRoom *room)
{
	LbMem		mem = lb_mem(shared);
	LbRef		self = room->chunk != LB_NONE ? room->chunk :
		take_chunk(&mem, stripe);
	LbPublication *pub;

	if (self == LB_NONE)
		return NULL;
	pub = (LbPublication *) lb_ptr(mem.arena, self);
	memset(pub, 0, offsetof(LbPublication, entries));
	pub->shared = shared;
	pub->generation = shared->generation;
	pub->account = shared->account;
	pub->self = self;
	pub->order = room->order;
	pub->pages = room->pages;
	pub->stripe = stripe - shared->stripes;
	pub->owned = true;
	return pub;
}

void
lb_set_entries(LbPublication *pub, const LbEntries *entries,
			   const LbPublicationRoom *room)
{
	pub->nentries = entries->n;
	pub->nhere = room->fit;
	pub->stride = room->stride;
	lb_copy_entries(&pub->shared->shape, pub->entries, room->stride, entries,
					0, room->fit);
}

/*
 * A stripe's histories have grown or shrunk.  The sum of all is shared by all
 * boards, so it is updated in steps, or with all at once.
 */
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
lb_report_history(LbStripe *stripe)
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

	lb_report_history(stripe);
	while (stripe->spare != LB_NONE)
	{
		LbRef		ref = take_chunk(&mem, stripe);

		lb_free(&mem, ref, 0);
	}
}

static uint64
publication_bytes(const LbPublication *pub)
{
	uint64		bytes = LB_CHUNK_SIZE << pub->order;

	for (LbRef page = pub->pages; page != LB_NONE;
		 page = ((LbEntryPage *) lb_ptr(&lb_shared->arena, page))->next)
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
lb_discard_publication(LbSharedBoard *shared, LbPublication *pub)
{
	Assert(pub->linked);
	dlist_delete(&pub->node);
	if (pub->next_xid != 0)
		count_history(&shared->stripes[pub->stripe],
					  -(int64) publication_bytes(pub), false);
	pub->linked = false;
	pub->done = true;
	no_longer_prepared(pub);

	/* Its owner holds its address until it has called back. */
	if (!pub->owned)
		free_publication(shared, pub);
}

void
lb_disown_publication(LbPublication *pub)
{
	pub->owned = false;
	if (pub->linked)
		return;
	if (lb_shared_board_is(pub->shared, pub->generation))
		free_publication(pub->shared, pub);
	else
	{
		/* The memory of shared is another definition's by now. */
		LbMem		mem;

		mem.arena = &lb_shared->arena;
		mem.account = pub->account;
		mem.limit = 0;
		mem.taken = NULL;
		free_pages(&mem, pub->pages);
		lb_free(&mem, pub->self, pub->order);
	}
}

bool
lb_history_awaits_apply(LbLiveBoard *board)
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

	/* When an old snapshot has gone, not all at once: other backends wait. */
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

			/* The launcher trims the histories of boards without traffic. */
			if (pg_atomic_read_u32(&lb_shared->histories_full) == 0 &&
				pg_atomic_exchange_u32(&lb_shared->histories_full, 1) == 0)
				lb_wake_launcher();
		}
		if (!all && pub->version > board->applied)
			return false;
		lb_raise_floor(&board->floor, pub->next_xid, xid);
		board->history_from = Max(board->history_from, pub->version);
		if (xid >= horizon)
			lb_want_xid();
		board->version++;
		lb_discard_publication(shared, pub);
	}
	return true;
}

void
lb_live_board_release(LbSharedBoard *shared, LbStripe *stripe, LbRef ref)
{
	LbLiveBoard *board = lb_live_board_at(ref);
	LbMem		mem = lb_mem(shared);

	if (!shared->family || board->index.members > 0 ||
		board->off_board != 0 || lb_index_bytes(&board->index) > 0 ||
		!dlist_is_empty(&board->pending) || board->queue_first != LB_NONE)
		return;
	if (!dlist_is_empty(&board->history))
	{
		(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
		if (!dlist_is_empty(&board->history))
		{
			/* The launcher looks after it when snapshots have gone. */
			if (!pg_atomic_read_u32(&shared->trim))
			{
				pg_atomic_write_u32(&shared->trim, 1);
				lb_wake_launcher();
			}
			return;
		}
	}
	lb_raise_floor(&stripe->floor, board->floor.next_xid, board->floor.xid);
	for (int i = 0; i < LB_NCOUNTERS; i++)
		pg_atomic_fetch_add_u64(&shared->counters[i],
								pg_atomic_read_u64(&board->counters[i]));
	lb_hash_delete(&mem, &stripe->boards, board->hash, ref);
	lb_live_board_free(&mem, ref);
}

void
lb_move_to_history(LbSharedBoard *shared, LbStripe *stripe, LbLiveBoard *board,
				   LbPublication *pub)
{
	board->version++;
	dlist_delete(&pub->node);
	pub->linked = false;
	pub->done = true;
	no_longer_prepared(pub);

	/*
	 * Read under the lock, so it ascends within a history; but on a standby
	 * the end of a life of its primary may set it back.
	 */
	pub->next_xid = lb_next_xid();
	if (!dlist_is_empty(&board->history))
		pub->next_xid = Max(pub->next_xid,
							dlist_tail_element(LbPublication, node,
											   &board->history)->next_xid);
	pub->version = board->version;
	if (lb_is_ready(shared) || stripe->queueing)
	{
		dlist_push_tail(&board->history, &pub->node);
		pub->linked = true;
		count_history(stripe, (int64) publication_bytes(pub), false);
	}
	else
	{
		lb_raise_floor(&board->floor, pub->next_xid,
					   U64FromFullTransactionId(pub->xid));
		if (!pub->owned)
			free_publication(shared, pub);
	}

	/* An index that is not in use is not kept. */
	if (!lb_is_ready(shared))
	{
		board->applied = board->version;
		board->backlog = 0;
	}
	(void) lb_trim_history(shared, board, LB_TRIM_TO_LIMIT);
}
