/*-------------------------------------------------------------------------
 *
 * own.c
 *	  The transaction's changes, summed up.
 *
 * Reads of the transaction want the sums of the changes that count for their
 * snapshot.  A few changes are summed up anew for each state of the list, in
 * arrays (overlay.c).  More than LB_FEW_OWN are kept as sums (sums.c), which
 * follow the list: a read adds what is new, and a change that is cut off is
 * taken out again (xactlog.c).
 *
 * Summing up for publish raises only when interrupted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "capture/own.h"
#include "util/planted.h"

/*
 * Up to this many changes are summed up in arrays, anew after each change.
 * Tests set it lower.
 */
#ifndef LB_FEW_OWN
#define LB_FEW_OWN 32
#endif

/*
 * Entries have room for the longest key (overlay.h).  If that takes more than
 * MAX_PADDED words (128 MB), and MAX_PADDING times those of the changes, there
 * is no memory for them: one long text among very many short ones must not use
 * up the machine's.  A commit takes as much again where it sums changes up or
 * makes steps (large.c), and so do sums (sums.c).
 */
#define MAX_PADDED (16 * 1024 * 1024)
#define MAX_PADDING 8

/* Words of a board's changes in the list. */
static Size
list_words(const LbXactBoard *board)
{
	Size		words = 0;

	for (LbPiece *piece = board->first; piece != NULL; piece = piece->next)
		words += piece->used;
	return words;
}

/*
 * Begin a list of entries with room for n changes of a board.  Returns false
 * if there is no memory.
 */
static bool
begin_changes(const LbXactBoard *board, int n, MemoryContext context,
			  LbChanges *changes)
{
	lb_changes_begin(changes, &board->xdefn->defn.shape);
	changes->stride = board->stride;
	changes->room = (Size) Max(1, n) * lb_entry_words(board->stride);
	if (changes->room > MAX_PADDED &&
		changes->room / MAX_PADDING > list_words(board))
		return false;
	changes->words = MemoryContextAllocExtended(context,
												changes->room * sizeof(int64),
												MCXT_ALLOC_HUGE |
												MCXT_ALLOC_NO_OOM);
	return changes->words != NULL;
}

/* Add a change to the entries. */
static inline void
add_entry(LbChanges *changes, const LbXactChange *change)
{
	lb_make_entry(&changes->shape, lb_change_at(changes, changes->n++),
				  changes->stride, lb_xact_old_key(change),
				  lb_xact_new_key(change),
				  lb_xact_rows(&changes->shape, change));
}

/*
 * The changes of a board that count for a command id, in memory of context.
 * Returns false if there is no memory.  Raises only when interrupted.
 */
static bool
counted_changes(const LbXactBoard *board, CommandId curcid,
				MemoryContext context, LbChanges *changes)
{
	uint64		from = lb_xact_last_truncate(board->xdefn);

	if (!begin_changes(board, board->nchanges, context, changes))
		return false;
	for (LbPiece *piece = board->first; piece != NULL; piece = piece->next)
	{
		const LbXactChange *change;

		CHECK_FOR_INTERRUPTS();
		for (int at = 0; at < piece->used; at += lb_xact_change_words(change))
		{
			change = lb_xact_change_at(piece, at);
			if (change->cid < curcid && change->seq > from)
				add_entry(changes, change);
		}
	}
	return true;
}

/* The rows off a board that count for a command id. */
static int64
off_board(const LbXactBoard *board, CommandId curcid)
{
	uint64		from = lb_xact_last_truncate(board->xdefn);
	int64		rows = 0;

	for (int i = 0; i < board->noff_board; i++)
	{
		const LbOffBoard *change = &board->off_board[i];

		if (change->cid < curcid && change->seq > from)
			rows += change->rows;
	}
	return rows;
}

bool
lb_xact_net_changes(const LbXactBoard *board, LbNetChanges *net)
{
	LbChanges	changes;
	LbChanges	entries;
	bool		ambiguous;

	net->shared = board->xdefn->ref.shared;
	net->generation = board->xdefn->ref.generation;
	net->value = &board->value;
	net->hash = board->hash;
	net->off_board = off_board(board, InvalidCommandId);
	if (!counted_changes(board, InvalidCommandId, lb_xact.context, &changes))
		return false;
	net->entries.words = changes.words;
	net->entries.n = changes.n;
	net->entries.stride = changes.stride;
	if (lb_changes_are_net(&changes))
		return true;
	if (!begin_changes(board, changes.n, lb_xact.context, &entries))
		return false;
	net->entries.words = entries.words;
	net->entries.n = lb_net_changes(&changes, entries.words, &ambiguous);
	pfree(changes.words);
	return !ambiguous;
}

/* Whether the changes in the sums are those that count for a command id. */
static bool
own_sums_are_for(const LbOwnSums *own, CommandId curcid, uint64 truncate)
{
	if (own->sums == NULL || own->sums->broken || own->truncate != truncate)
		return false;
	if (curcid >= own->cid)
		return own->nleft == 0 || own->min_left >= curcid;
	return own->max_taken < curcid;
}

/* Begin anew, with no change.  Returns false if there is no memory. */
static bool
own_sums_begin(LbXactBoard *board, LbOwnSums *own, CommandId curcid,
			   uint64 truncate)
{
	if (own->sums != NULL)
		lb_sums_free(own->sums);
	own->sums = lb_sums_make(lb_xact.context, &board->xdefn->defn.shape);
	own->truncate = truncate;
	own->cid = curcid;
	own->max_taken = FirstCommandId;
	own->min_left = InvalidCommandId;
	own->nleft = 0;
	own->nseen = 0;
	own->piece = board->first;
	own->at = 0;
	return own->sums != NULL;
}

/* The list's next change if it counts, else NULL. */
static const LbXactChange *
take_next(LbOwnSums *own)
{
	const LbXactChange *change;

	if (own->at == own->piece->used)
	{
		own->piece = own->piece->next;
		own->at = 0;
	}
	change = lb_xact_change_at(own->piece, own->at);
	own->at += lb_xact_change_words(change);
	own->nseen++;
	if (change->seq <= own->truncate)
		return NULL;
	if (change->cid >= own->cid)
	{
		own->nleft++;
		own->min_left = Min(own->min_left, change->cid);
		return NULL;
	}
	own->max_taken = Max(own->max_taken, change->cid);
	return change;
}

/*
 * Add the changes that the list has got since the last time.  Returns false if
 * there is no memory; raises only when interrupted.
 */
static bool
add_new(LbXactBoard *board, LbOwnSums *own)
{
	for (int n = 0; own->nseen < board->nchanges; n++)
	{
		const LbXactChange *change;

		if (n % LB_OWN_BATCH == 0)
		{
			CHECK_FOR_INTERRUPTS();
			if (!lb_sums_reserve(own->sums,
								 Min(LB_OWN_BATCH,
									 board->nchanges - own->nseen),
								 board->stride))
				return false;
		}
		change = take_next(own);
		if (change != NULL &&
			!lb_sums_add(own->sums, lb_xact_old_key(change),
						 lb_xact_new_key(change),
						 lb_xact_rows(&own->sums->shape, change)))
			return false;
	}
	return true;
}

/* The same for many changes and sums that are empty, in less time. */
static bool
load_all(LbXactBoard *board, LbOwnSums *own)
{
	LbChanges	all;
	bool		ok;

	if (!begin_changes(board, board->nchanges, own->sums->context, &all))
		return false;

	/* Until the changes are in the sums. */
	own->sums->broken = true;
	for (int n = 0; own->nseen < board->nchanges; n++)
	{
		const LbXactChange *change;

		if (n % LB_OWN_BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		change = take_next(own);
		if (change != NULL)
			add_entry(&all, change);
	}
	ok = lb_sums_load(own->sums, &all);
	pfree(all.words);
	return ok;
}

/* The sums of a board's changes, or NULL if there is no memory. */
static LbSums *
own_sums(LbXactBoard *board, CommandId curcid)
{
	uint64		truncate = lb_xact_last_truncate(board->xdefn);
	LbOwnSums  *own = NULL;
	bool		empty;

	for (int i = 0; i < LB_MAX_OWN_SUMS && own == NULL; i++)
	{
		if (own_sums_are_for(&board->own[i], curcid, truncate))
			own = &board->own[i];
	}
	if (own == NULL)
	{
		own = &board->own[0];
		for (int i = 1; i < LB_MAX_OWN_SUMS; i++)
		{
			if (board->own[i].used < own->used)
				own = &board->own[i];
		}
		if (!own_sums_begin(board, own, curcid, truncate))
			return NULL;
	}
	own->cid = curcid;
	own->used = ++board->nasked;
	empty = own->nseen == 0 && !lb_sums_ambiguous(own->sums) &&
		own->sums->removed.members + own->sums->added.members == 0;
	if (empty && board->nchanges > LB_OWN_BATCH)
		return load_all(board, own) ? own->sums : NULL;
	return add_new(board, own) ? own->sums : NULL;
}

/* The same in arrays. */
static LbOverlay *
own_overlay(LbXactBoard *board, CommandId curcid)
{
	LbDefinition *defn = &board->xdefn->defn;
	uint64		truncate = lb_xact_last_truncate(board->xdefn);
	uint64		seq = lb_xact_last_change(board)->seq;
	LbOverlay  *overlay;
	LbChanges	changes;
	MemoryContext old;

	if (board->overlay != NULL && board->overlay_seq == seq &&
		board->overlay_truncate == truncate && board->overlay_cid == curcid)
		return board->overlay;

	if (board->overlay_context == NULL)
		board->overlay_context = AllocSetContextCreate(lb_xact.context,
													   "leaderboard overlay",
													   ALLOCSET_SMALL_SIZES);
	board->overlay = NULL;
	MemoryContextReset(board->overlay_context);
	if (!counted_changes(board, curcid, board->overlay_context, &changes))
		return NULL;
	old = MemoryContextSwitchTo(board->overlay_context);
	overlay = palloc(sizeof(LbOverlay));
	if (!lb_overlay_init(overlay, &defn->shape, changes.room))
	{
		MemoryContextSwitchTo(old);
		return NULL;
	}
	lb_overlay_fill(overlay, &changes);
	overlay->truncated = truncate != 0;
	pfree(changes.words);
	MemoryContextSwitchTo(old);

	board->overlay = overlay;
	board->overlay_seq = seq;
	board->overlay_truncate = truncate;
	board->overlay_cid = curcid;
	return overlay;
}

/*
 * What the transaction has of the target's definition, and of its board; NULL
 * if it has changed nothing of them.
 */
static LbXactDefn *
find_own(const LbTarget *target, LbXactBoard **board)
{
	LbValue		value = {0, ""};
	LbXactDefn *xdefn = lb_xact.defns == NULL ? NULL :
		lb_xact_find_defn(target->defn);

	*board = NULL;
	if (xdefn == NULL)
		return NULL;
	if (target->has_value)
		value = target->value;
	*board = lb_xact_find_board(target->defn, &value, target->hash);
	return xdefn;
}

bool
lb_own_changes(const LbTarget *target, CommandId curcid, bool as_sums,
			   LbOwn *own)
{
	LbXactBoard *board;
	LbXactDefn *xdefn = find_own(target, &board);

	memset(own, 0, sizeof(LbOwn));
	if (xdefn == NULL)
		return true;
	if (xdefn->unknown)
		return false;
	own->truncated = xdefn->ntruncates > 0;
	if (board == NULL || board->nchanges == 0)
	{
		if (!own->truncated)
			return true;
		own->overlay = palloc(sizeof(LbOverlay));
		if (!lb_overlay_init(own->overlay, &target->defn->shape, 0))
			return false;
		own->overlay->truncated = true;
		return true;
	}
	if (as_sums || board->nchanges > LB_FEW_OWN || board->own[0].sums != NULL)
	{
		own->sums = own_sums(board, curcid);
		return own->sums != NULL;
	}
	own->overlay = own_overlay(board, curcid);
	return own->overlay != NULL;
}

bool
lb_own_no_key(const LbTarget *target)
{
	LbXactBoard *board;

	return find_own(target, &board) != NULL && board != NULL && board->no_key;
}

bool
lb_own_off_board(const LbTarget *target, CommandId curcid, bool *truncated,
				 int64 *rows)
{
	LbXactBoard *board;
	LbXactDefn *xdefn = find_own(target, &board);

	*truncated = false;
	*rows = 0;
	if (xdefn == NULL)
		return true;
	if (xdefn->unknown)
		return false;
	*truncated = xdefn->ntruncates > 0;
	if (board == NULL)
		return true;

	/* A read under a lock must not take long. */
	if (board->noff_board > LB_OWN_BATCH)
		return false;
	if (!LB_PLANTED(11))
		*rows = off_board(board, curcid);
	return true;
}
