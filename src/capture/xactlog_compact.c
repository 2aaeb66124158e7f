/*-------------------------------------------------------------------------
 *
 * xactlog_compact.c
 *	  Adding up the changes of a transaction.
 *
 * With counts, many changes of a command have the same key.  When the list has
 * become long, those are added up.  See README, "Many rows of one score".
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "capture/xactlog_internal.h"
#include "util/sort.h"

/*
 * With counts: the list of a board is compacted when it has so many changes
 * more than the last time left (98 kB of them, which fit into the processor's
 * cache).  Tests set it lower.
 */
#ifndef LB_COMPACT_MIN
#define LB_COMPACT_MIN 4096
#endif

/* The last changes of a list, from one of them on. */
typedef struct Tail
{
	LbPiece    *piece;			/* of the first ... */
	int			at;				/* ... and its word */
	int			n;
} Tail;

void
lb_xact_schedule_compaction(LbXactBoard *board, int n)
{
	int64		at = (int64) board->nchanges + Max(n, LB_COMPACT_MIN);

	board->compact_at = (int) Min(at, INT_MAX);
}

/*
 * What there is to compact: the changes since the last compaction and, before
 * them, those of their commands.  These are together, since a compaction sorts
 * by command ids.
 */
static Tail
find_tail(const LbXactBoard *board)
{
	uint64		start = lb_xact_stretch_start(board->xdefn);
	CommandId	first_cid = InvalidCommandId;
	Tail		tail = {NULL, 0, 0};
	LbPiece    *piece = board->last;
	int			at = piece->last;

	while (tail.n < board->nchanges)
	{
		const LbXactChange *change = lb_xact_change_at(piece, at);

		if (change->seq < start ||
			(change->cid < first_cid &&
			 tail.n >= board->nchanges - board->ncompacted))
			break;
		first_cid = Min(first_cid, change->cid);
		tail.piece = piece;
		tail.at = at;
		tail.n++;
		if (at > 0)
			at -= LB_XACT_CHANGE_WORDS + change->previous;
		else if (piece->prev != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			piece = piece->prev;
			at = piece->last;
		}
	}
	return tail;
}

/*
 * Make a tuple of each change: the command id, the key, and by how many rows
 * the change is of, less than 0 for an old key.
 */
static void
make_tuples(const Tail *tail, int width, int64 *tuple)
{
	int			at = tail->at;

	for (const LbPiece *piece = tail->piece; piece != NULL; piece = piece->next)
	{
		const LbXactChange *change;

		CHECK_FOR_INTERRUPTS();
		for (; at < piece->used; at += lb_xact_change_words(change))
		{
			int64		rows;

			change = lb_xact_change_at(piece, at);
			Assert(change->nold + change->nnew == width);
			rows = change->nrows > 0 ? change->keys[width] : 1;
			*tuple++ = change->cid;
			for (int i = 0; i < width; i++)
				*tuple++ = change->keys[i];
			*tuple++ = change->nold > 0 ? -rows : rows;
		}
		at = 0;
	}
}

/*
 * Add up the rows of tuples that agree in all else, in place.  Returns how
 * many tuples are left.
 */
static int
add_up_tuples(int64 *tuples, int n, int ntuple)
{
	int64	   *sum = tuples;

	for (int i = 1; i < n; i++)
	{
		const int64 *tuple = tuples + (Size) i * ntuple;

		if (i % LB_OWN_BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		if (lb_words_cmp(sum, tuple, ntuple - 1) == 0)
		{
			sum[ntuple - 1] += tuple[ntuple - 1];
			continue;
		}
		if (sum[ntuple - 1] != 0)
			sum += ntuple;
		memmove(sum, tuple, ntuple * sizeof(int64));
	}
	return (int) ((sum - tuples) / ntuple) + (sum[ntuple - 1] != 0 ? 1 : 0);
}

/* Drop the tail, and all that was made of it. */
static void
drop_tail(LbXactBoard *board, const Tail *tail)
{
	LbPiece    *piece = tail->piece;

	board->nchanges -= tail->n;
	while (board->last != piece)
	{
		board->last = board->last->prev;
		pfree(board->last->next);
	}
	piece->next = NULL;
	piece->used = tail->at;
	if (tail->at > 0)
		piece->last = tail->at - LB_XACT_CHANGE_WORDS -
			lb_xact_change_at(piece, tail->at)->previous;
	else
	{
		piece->last = 0;
		if (piece->prev != NULL)
		{
			board->last = piece->prev;
			board->last->next = NULL;
			pfree(piece);
		}
	}
	board->overlay = NULL;
	for (int i = 0; i < LB_MAX_OWN_SUMS; i++)
	{
		if (board->own[i].sums != NULL &&
			board->own[i].nseen > board->nchanges)
			board->own[i].sums->broken = true;
	}
}

/*
 * Replace the tail of a list by n tuples.  They have the number of the change
 * that was first, and take no more memory than the tail.
 */
static void
replace_tail(LbXactBoard *board, const Tail *tail, const int64 *tuples, int n)
{
	uint64		seq = lb_xact_change_at(tail->piece, tail->at)->seq;
	int			ntuple = board->xdefn->defn.shape.width + 2;

	drop_tail(board, tail);
	for (int i = 0; i < n; i++)
	{
		const int64 *tuple = tuples + (Size) i * ntuple;
		const int64 *key = tuple + 1;
		int64		rows = tuple[ntuple - 1];

		if (!lb_xact_append(board, seq, (CommandId) tuple[0],
							rows < 0 ? key : NULL, rows > 0 ? key : NULL,
							rows < 0 ? -rows : rows))
		{
			lb_xact_unknown_from(board->xdefn, seq, NULL);
			return;
		}
	}
}

void
lb_xact_compact(LbXactBoard *board)
{
	int			width = board->xdefn->defn.shape.width;
	int			ntuple = width + 2;
	Tail		tail = find_tail(board);
	int			n = tail.n;
	int64	   *tuples;

	/* Not in the transaction's memory: it goes with an error. */
	Assert(n > 0);
	tuples = MemoryContextAllocExtended(CurrentMemoryContext,
										(Size) n * ntuple * sizeof(int64),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (tuples != NULL)
	{
		make_tuples(&tail, width, tuples);
		lb_sort_words(tuples, n, ntuple);
		n = add_up_tuples(tuples, n, ntuple);
		if (n < tail.n)
			replace_tail(board, &tail, tuples, n);
		board->ncompacted = board->nchanges;
		pfree(tuples);
	}
	lb_xact_schedule_compaction(board, n);
}
