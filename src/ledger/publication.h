/*-------------------------------------------------------------------------
 *
 * publication.h
 *	  The memory of publications, and the histories of boards.
 *
 * A publication is what one transaction changes on one board.  The transaction
 * publishes before its commit record is written.  The publication is on the
 * board's pending list until it is settled (its transaction has committed) or
 * discarded (it has not).  Once settled it is history: a snapshot that does
 * not see it undoes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PUBLICATION_H
#define LB_PUBLICATION_H

#include "access/transam.h"

#include "boards/shared.h"
#include "ledger/overlay.h"

/*
 * The keys of a large publication in the order in which they are applied:
 * large.c.
 */
typedef struct LbSteps
{
	const int64 *keys;			/* in the owner's memory; NULL: there was
								 * none, or with counts; the publication is
								 * applied by entries */
	uint64		n;				/* keys, or entries */
	uint64		nremoved;		/* the first are old keys; the rest are new */
} LbSteps;

typedef struct LbPublication
{
	dlist_node	node;			/* in LbLiveBoard.pending or
								 * LbLiveBoard.history */
	FullTransactionId xid;		/* top-level */
	uint64		next_xid;		/* in the history: the next xid when it
								 * settled */
	uint64		version;		/* likewise: the board's version by it */
	LbSharedBoard *shared;
	uint64		generation;		/* of shared */
	LbAccount  *account;		/* of its memory */
	LbRef		self;			/* the chunk it is in */
	LbRef		board;
	LbRef		pages;			/* chain of the entries that do not fit here */
	int64		off_board;		/* added to LbLiveBoard.off_board */
	uint32		nentries;
	uint8		stripe;			/* its number */
	uint8		order;			/* of the chunk */
	uint8		nhere;			/* entries here, the first ones */
	uint8		stride;			/* of these, or of a large one's */
	bool		linked;			/* in one of the lists */
	bool		done;			/* settled, or of no consequence */
	bool		owned;			/* its transaction's callback is to come */
	bool		prepared;		/* ... never will, it was prepared */
	bool		settling;		/* a large one, between its slices */
	const int64 *owner_entries; /* of a large one, in its owner's memory: no
								 * other process may follow this */
	LbSteps		steps;			/* likewise */
	int64		entries[FLEXIBLE_ARRAY_MEMBER];
} LbPublication;

/* Words of entries that fit behind the header of a publication. */
#define LB_PUBLICATION_WORDS(order) \
	(((LB_CHUNK_SIZE << (order)) - offsetof(LbPublication, entries)) / \
	 sizeof(int64))

/*
 * The chunk of a publication is of this order at most.  What does not fit goes
 * to pages.
 */
#define LB_MAX_PUBLICATION_ORDER 2

/* A page of further entries. */
typedef struct LbEntryPage
{
	LbRef		next;
	uint16		nentries;
	uint16		stride;			/* of the entries on this page */
	int64		entries[(LB_PAGE_SIZE - 8) / sizeof(int64)];
} LbEntryPage;

StaticAssertDecl(LB_MAX_ENTRY_WORDS <= (LB_PAGE_SIZE - 8) / sizeof(int64),
				 "the longest entry fits a page");

/*
 * A walk over the entries of a publication that is not large.  stride is that
 * of the entry returned last.
 */
typedef struct LbEntryScan
{
	int			stride;
	uint32		left;
	const int64 *at;
	uint32		here;			/* entries left in this chunk or page */
	LbRef		next;
} LbEntryScan;

static inline void
lb_entry_scan_begin(LbEntryScan *scan, const LbPublication *pub)
{
	scan->stride = pub->stride;
	scan->left = pub->nentries;
	scan->at = pub->entries;
	scan->here = pub->nhere;
	scan->next = pub->pages;
}

/* The next entry, or NULL after the last. */
static inline const int64 *
lb_entry_scan_next(LbEntryScan *scan)
{
	const int64 *entry;

	if (scan->left == 0)
		return NULL;
	if (scan->here == 0)
	{
		LbEntryPage *page = (LbEntryPage *) lb_ptr(&lb_shared->arena,
												   scan->next);

		scan->at = page->entries;
		scan->here = page->nentries;
		scan->stride = page->stride;
		scan->next = page->next;
	}
	entry = scan->at;
	scan->at += lb_entry_words(scan->stride);
	scan->here--;
	scan->left--;
	return entry;
}

/*
 * Memory for a publication, which is taken before the stripe is locked: pages
 * with the entries that do not fit into the publication itself, and a chunk if
 * it has to be larger than those that the stripe keeps.
 */
typedef struct LbPublicationRoom
{
	int			order;			/* of the publication's chunk */
	LbRef		chunk;			/* LB_NONE: of those that the stripe keeps */
	uint32		fit;			/* entries that fit into it, the first ones */
	int			stride;			/* that these have there */
	LbRef		pages;
} LbPublicationRoom;

/*
 * Take the memory for entries, and copy those that go to pages.  Returns false
 * if the memory is used up.  Takes the arena's lock.  Raises only when
 * interrupted, and then it has given back what it took.
 */
extern bool lb_take_room(const LbMem *mem, const LbShape *shape,
						 const LbEntries *entries, LbPublicationRoom *room);

/* Give the memory back. */
extern void lb_give_room(const LbMem *mem, const LbPublicationRoom *room);

/*
 * A new publication of a stripe, without entries and in no list, or NULL if
 * the memory is used up.  The room's memory is its own from then on.  Needs
 * the stripe's exclusive lock.
 */
extern LbPublication *lb_new_publication(LbSharedBoard *shared,
										 LbStripe *stripe,
										 const LbPublicationRoom *room);

/* Copy the entries that the room was taken for to a new publication. */
extern void lb_set_entries(LbPublication *pub, const LbEntries *entries,
						   const LbPublicationRoom *room);

/*
 * Unlink a publication that is of no consequence any more, and give its memory
 * back unless its owner still has to call back.  Needs the stripe's exclusive
 * lock.
 */
extern void lb_discard_publication(LbSharedBoard *shared, LbPublication *pub);

/*
 * The owner is done with a publication.  The publication stays where it is
 * while it is linked; otherwise its memory goes back.  Needs the stripe's
 * exclusive lock.
 */
extern void lb_disown_publication(LbPublication *pub);

/*
 * Move a publication that has settled from the pending list to the history.
 * Needs the stripe's exclusive lock.
 */
extern void lb_move_to_history(LbSharedBoard *shared, LbStripe *stripe,
							   LbLiveBoard *board, LbPublication *pub);

/* Whether the histories of all boards exceed leaderboard.history_size. */
extern bool lb_histories_full(void);

/*
 * Add what a stripe's histories have grown or shrunk by to the sum of all,
 * which otherwise is done in steps.  Needs the stripe's exclusive lock.
 */
extern void lb_report_history(LbStripe *stripe);

/*
 * Whether no snapshot needs the oldest publication of a board's history, and
 * it stays only because it is in the backlog.  Needs the stripe's lock.
 */
extern bool lb_history_awaits_apply(LbLiveBoard *board);

/* What lb_trim_history gives back. */
typedef enum LbTrim
{
	LB_TRIM_UNNEEDED,			/* what no snapshot needs */
	LB_TRIM_TO_LIMIT,			/* that, and more while histories are full */
	LB_TRIM_ALL
} LbTrim;

/*
 * Give back a part of a board's history, oldest first, and raise the board's
 * floor.  Except for LB_TRIM_ALL, that is LB_MAX_TRIM publications at most.
 * Returns whether there may be more.  Needs the stripe's exclusive lock.
 */
#define LB_MAX_TRIM 64
extern bool lb_trim_history(LbSharedBoard *shared, LbLiveBoard *board,
							LbTrim what);

/*
 * Give a family's board back if it is empty, no row is off it, nothing waits
 * for it, and no snapshot needs its history.  Needs the stripe's exclusive
 * lock.
 */
extern void lb_live_board_release(LbSharedBoard *shared, LbStripe *stripe,
								  LbRef ref);

extern int	lb_history_size;	/* leaderboard.history_size, in kB */

/* Give back what the ledger keeps for a stripe whose boards are gone. */
extern void lb_stripe_reset(LbSharedBoard *shared, LbStripe *stripe);

#endif							/* LB_PUBLICATION_H */
