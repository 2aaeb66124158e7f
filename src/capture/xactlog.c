/*-------------------------------------------------------------------------
 *
 * xactlog.c
 *	  What the current transaction has changed.
 *
 * The triggers append changes to a list per board: an old key less, a new key
 * more, or both, with the command id of the tuples.  They are summed per
 * member and never replayed as assignments, because a user's own trigger that
 * updates a row of the same statement makes captures arrive out of order.
 *
 * Every change and every TRUNCATE has a number, ascending within the
 * transaction, so that an aborted subtransaction is cut off at the number
 * with which it started, and a TRUNCATE voids what came before it.
 *
 * A write never fails because of us: when there is no memory the board's
 * changes become unknown, and it goes offline if the transaction commits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "boards/directory.h"
#include "capture/xactlog.h"

/* A captured change: the old key and the new key, as the flags say. */
typedef struct Change
{
	uint64		seq;
	CommandId	cid;
	int32		flags;			/* as an entry's: LB_HAS_OLD, LB_HAS_NEW */
	int64		keys[FLEXIBLE_ARRAY_MEMBER];
} Change;

/*
 * The list of a board's changes is in pieces, each twice as long as the one
 * before up to a limit, so that it grows without being copied.
 */
typedef struct LbPiece
{
	struct LbPiece *prev;
	struct LbPiece *next;
	int			nchanges;
	int			maxchanges;
	int64		changes[FLEXIBLE_ARRAY_MEMBER];
} LbPiece;

#define FIRST_PIECE 2
#define MAX_PIECE 8192

/*
 * Changes that are summed up anew, in arrays, when others have come.  Tests make
 * it less.
 */
#ifndef LB_FEW_OWN
#define LB_FEW_OWN 32
#endif

/* Changes that are taken in between two looks at interrupts. */
#ifndef LB_OWN_BATCH
#define LB_OWN_BATCH 1024
#endif

/* Start of a subtransaction that has entries. */
typedef struct Mark
{
	int			level;
	uint64		seq;			/* first number of its own */
} Mark;

LbXact		lb_xact;

static uint64 next_seq = 1;
static MemoryContext kept_context = NULL;
static LbXactBoard *last_board = NULL;
static LbXactDefn **def_buckets = NULL; /* NULL while there are few */
static uint32 ndef_buckets = 0;
static uint32 nxact_defs = 0;
static LbXactBoard **buckets = NULL;
static uint32 nbuckets = 0;
static uint32 nxact_boards = 0;
static Mark *marks = NULL;
static int	nmarks = 0;
static int	maxmarks = 0;

static inline Size
change_size(int width)
{
	return offsetof(Change, keys) + 2 * width * sizeof(int64);
}

static inline Change *
change_at(const LbPiece *piece, int width, int n)
{
	return (Change *) ((char *) piece->changes + n * change_size(width));
}

/* The number of the last change, of which there must be one. */
static inline uint64
last_seq(const LbXactBoard *board)
{
	return change_at(board->last, board->width, board->last->nchanges - 1)->seq;
}

/* ----------------------------------------------------------------
 *		The list
 * ----------------------------------------------------------------
 */

void
lb_xact_begin(void)
{
	/* Made once and reset at the end of each transaction that used it. */
	if (kept_context == NULL)
		kept_context = AllocSetContextCreate(TopMemoryContext,
											 "leaderboard transaction",
											 ALLOCSET_DEFAULT_SIZES);
	lb_xact.context = kept_context;
}

void
lb_xact_forget(void)
{
	lb_xact.published = false;
	if (lb_xact.context == NULL)
		return;
	MemoryContextReset(lb_xact.context);
	next_seq = 1;
	lb_xact.context = NULL;
	lb_xact.defns = NULL;
	lb_xact.boards = NULL;
	last_board = NULL;
	def_buckets = NULL;
	ndef_buckets = 0;
	nxact_defs = 0;
	buckets = NULL;
	nbuckets = 0;
	nxact_boards = 0;
	marks = NULL;
	nmarks = 0;
	maxmarks = 0;
}

uint64
lb_xact_take_seq(void)
{
	int			level = GetCurrentTransactionNestLevel();

	if (level > 1 && (nmarks == 0 || marks[nmarks - 1].level < level))
	{
		if (nmarks == maxmarks)
		{
			int			newmax = Max(16, maxmarks * 2);

			marks = marks == NULL ?
				MemoryContextAlloc(lb_xact.context, newmax * sizeof(Mark)) :
				repalloc(marks, newmax * sizeof(Mark));
			maxmarks = newmax;
		}
		marks[nmarks].level = level;
		marks[nmarks].seq = next_seq;
		nmarks++;
	}
	return next_seq++;
}

uint64
lb_xact_next_seq(void)
{
	return next_seq;
}

/* As many are found quickly enough without a hash table. */
#define FEW 16

LbXactDefn *
lb_xact_find_defn(const LbDefinition *defn)
{
	LbXactDefn *xdefn;

	if (def_buckets == NULL)
	{
		for (xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
		{
			if (xdefn->defn.id == defn->id &&
				xdefn->defn.catalog == defn->catalog)
				return xdefn;
		}
		return NULL;
	}
	for (xdefn = def_buckets[defn->id & (ndef_buckets - 1)]; xdefn != NULL;
		 xdefn = xdefn->chain)
	{
		if (xdefn->defn.id == defn->id && xdefn->defn.catalog == defn->catalog)
			return xdefn;
	}
	return NULL;
}

/* One more in the list; can raise, and then it is not. */
static void
enter_xact_def(LbXactDefn *xdefn)
{
	if (nxact_defs >= Max(FEW, ndef_buckets))
	{
		uint32		n = nxact_defs * 4;
		LbXactDefn **table = MemoryContextAllocZero(lb_xact.context,
													n * sizeof(LbXactDefn *));

		for (LbXactDefn *each = lb_xact.defns; each != NULL; each = each->next)
		{
			each->chain = table[each->defn.id & (n - 1)];
			table[each->defn.id & (n - 1)] = each;
		}
		if (def_buckets != NULL)
			pfree(def_buckets);
		def_buckets = table;
		ndef_buckets = n;
	}
	if (def_buckets != NULL)
	{
		LbXactDefn **head = &def_buckets[xdefn->defn.id & (ndef_buckets - 1)];

		xdefn->chain = *head;
		*head = xdefn;
	}
	xdefn->next = lb_xact.defns;
	lb_xact.defns = xdefn;
	nxact_defs++;
}

LbXactDefn *
lb_xact_make_defn(LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_find_defn(defn);

	if (xdefn != NULL)
		return xdefn;
	lb_xact_begin();

	/* The copy will need it at PRE_COMMIT; the cache keeps it. */
	(void) lb_shared_board_attach(defn, false);
	xdefn = MemoryContextAlloc(lb_xact.context, sizeof(LbXactDefn));
	memset(xdefn, 0, offsetof(LbXactDefn, defn));
	xdefn->defn = *defn;
	enter_xact_def(xdefn);
	return xdefn;
}

/* From a number on: what is rolled back with it was not lost. */
static void
set_unknown(LbXactDefn *xdefn, uint64 seq, const char *reason)
{
	if (xdefn->unknown)
		return;
	xdefn->unknown = true;
	xdefn->unknown_seq = seq;
	xdefn->reason = reason;
}

static bool
is_board(const LbXactBoard *board, const LbDefinition *defn,
		 const LbValue *value)
{
	return board->xdefn->defn.id == defn->id &&
		board->xdefn->defn.catalog == defn->catalog &&
		board->value.len == value->len &&
		memcmp(board->value.data, value->data, value->len) == 0;
}

static LbXactBoard *
find_xact_board(const LbDefinition *defn, const LbValue *value, uint32 hash)
{
	LbXactBoard *board;

	if (nbuckets == 0)
		return NULL;
	for (board = buckets[(hash ^ defn->id) & (nbuckets - 1)]; board != NULL;
		 board = board->chain)
	{
		if (is_board(board, defn, value))
			return board;
	}
	return NULL;
}

static LbXactBoard *
make_xact_board(LbDefinition *defn, const LbValue *value)
{
	uint32		hash;
	LbXactBoard *board;
	uint32		bucket;

	if (last_board != NULL && is_board(last_board, defn, value))
		return last_board;
	hash = defn->family ? lb_value_hash(value) : 0;
	board = find_xact_board(defn, value, hash);
	if (board != NULL)
		return last_board = board;

	lb_xact_begin();
	if (nxact_boards >= nbuckets)
	{
		uint32		newsize = Max(16, nbuckets * 2);
		LbXactBoard **newbuckets;

		newbuckets = MemoryContextAllocZero(lb_xact.context,
											newsize * sizeof(LbXactBoard *));
		for (board = lb_xact.boards; board != NULL; board = board->next)
		{
			bucket = (board->hash ^ board->xdefn->defn.id) & (newsize - 1);
			board->chain = newbuckets[bucket];
			newbuckets[bucket] = board;
		}
		buckets = newbuckets;
		nbuckets = newsize;
	}
	board = MemoryContextAllocZero(lb_xact.context, sizeof(LbXactBoard));
	board->xdefn = lb_xact_make_defn(defn);
	board->width = defn->width;
	board->hash = hash;
	board->value.len = value->len;
	if (value->len > 0)
	{
		char	   *copy = MemoryContextAlloc(lb_xact.context, value->len);

		memcpy(copy, value->data, value->len);
		board->value.data = copy;
	}
	else
		board->value.data = "";
	board->next = lb_xact.boards;
	lb_xact.boards = board;
	board->next_of_defn = board->xdefn->boards;
	board->xdefn->boards = board;
	bucket = (hash ^ defn->id) & (nbuckets - 1);
	board->chain = buckets[bucket];
	buckets[bucket] = board;
	nxact_boards++;
	return last_board = board;
}

/* Room for more changes.  Returns false if there is no memory. */
static bool
add_piece(LbXactBoard *board)
{
	int			max = board->last == NULL ? FIRST_PIECE :
		Min(board->last->maxchanges * 2, MAX_PIECE);
	LbPiece    *piece = NULL;

	if (board->nchanges <= INT_MAX - max)
		piece = MemoryContextAllocExtended(lb_xact.context,
										   offsetof(LbPiece, changes) +
										   max * change_size(board->width),
										   MCXT_ALLOC_NO_OOM);
	if (piece == NULL)
		return false;
	piece->prev = board->last;
	piece->next = NULL;
	piece->nchanges = 0;
	piece->maxchanges = max;
	if (board->last == NULL)
		board->first = piece;
	else
		board->last->next = piece;
	board->last = piece;
	return true;
}

void
lb_xact_add_change(LbDefinition *defn, const LbValue *value, const int64 *old,
				   const int64 *new, CommandId cid)
{
	LbXactBoard *board = make_xact_board(defn, value);
	uint64		seq = lb_xact_take_seq();	/* can raise, so first */
	int			width = board->width;
	LbPiece    *piece = board->last;
	Change	   *change;

	if (piece == NULL || piece->nchanges == piece->maxchanges)
	{
		if (!add_piece(board))
		{
			set_unknown(board->xdefn, seq, NULL);
			return;
		}
		piece = board->last;
	}
	change = change_at(piece, width, piece->nchanges);
	change->seq = seq;
	change->cid = cid;
	change->flags = (old != NULL ? LB_HAS_OLD : 0) |
		(new != NULL ? LB_HAS_NEW : 0);
	for (int i = 0; i < width; i++)
	{
		change->keys[i] = old != NULL ? old[i] : 0;
		change->keys[width + i] = new != NULL ? new[i] : 0;
	}
	piece->nchanges++;
	board->nchanges++;
}

/*
 * The last change is going to be dropped: take it out of sums that have taken it
 * in.  Where that is not known to be less work than beginning anew, or fails,
 * they are broken, and made anew when they are needed.
 */
static void
take_out_last(LbXactBoard *board, LbOwnSums *own)
{
	int			nchanges = board->nchanges;
	Change	   *change;
	int64		entry[1 + 2 * LB_MAX_WIDTH];

	if (own->sums == NULL || own->nseen < nchanges)
		return;
	change = change_at(board->last, board->width, board->last->nchanges - 1);
	own->nseen--;
	if (board->last->nchanges > 1 || board->last->prev == NULL)
	{
		own->piece = board->last;
		own->at = board->last->nchanges - 1;
	}
	else
	{
		own->piece = board->last->prev;
		own->at = board->last->prev->nchanges;
	}
	if (change->seq <= own->truncate)
		return;
	if (change->cid >= own->cid)
	{
		if (--own->nleft == 0)
			own->min_left = InvalidCommandId;
		return;
	}
	entry[0] = change->flags;
	memcpy(entry + 1, change->keys, 2 * board->width * sizeof(int64));
	if (!own->sums->broken)
		(void) lb_sums_add(own->sums, entry, true);
}

/* Drop the last change. */
static void
drop_change(LbXactBoard *board)
{
	LbPiece    *piece = board->last;

	board->nchanges--;
	if (--piece->nchanges > 0 || piece->prev == NULL)
		return;
	board->last = piece->prev;
	board->last->next = NULL;
	pfree(piece);
}

static uint64
last_truncate(const LbXactDefn *xdefn)
{
	return xdefn->ntruncates == 0 ? 0 : xdefn->truncates[xdefn->ntruncates - 1];
}

/* Cut off everything from number seq on. */
static void
cut_off(uint64 seq)
{
	for (LbXactBoard *board = lb_xact.boards; board != NULL; board = board->next)
	{
		int			ndropped = 0;

		while (board->nchanges > 0 && last_seq(board) >= seq)
		{
			/* Not for long: the callback cannot be interrupted. */
			ndropped++;
			for (int i = 0; i < LB_MAX_OWN_SUMS; i++)
			{
				LbOwnSums  *own = &board->own[i];

				if (own->sums != NULL && ndropped > LB_OWN_BATCH &&
					ndropped > board->nchanges / 4)
					own->sums->broken = true;
				take_out_last(board, own);
			}
			drop_change(board);
		}
		if (board->overlay != NULL && board->overlay_seq >= seq)
			board->overlay = NULL;
	}
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		while (xdefn->ntruncates > 0 && last_truncate(xdefn) >= seq)
			xdefn->ntruncates--;
		if (xdefn->unknown && xdefn->unknown_seq >= seq)
		{
			xdefn->unknown = false;
			xdefn->reason = NULL;
		}
	}
}

void
lb_xact_add_truncate(LbXactDefn *xdefn)
{
	if (xdefn->ntruncates == xdefn->maxtruncates)
	{
		int			newmax = Max(4, xdefn->maxtruncates * 2);

		xdefn->truncates = xdefn->truncates == NULL ?
			MemoryContextAlloc(lb_xact.context, newmax * sizeof(uint64)) :
			repalloc(xdefn->truncates, newmax * sizeof(uint64));
		xdefn->maxtruncates = newmax;
	}
	xdefn->truncates[xdefn->ntruncates++] = lb_xact_take_seq();
}

bool
lb_xact_changed_since(const LbXactDefn *xdefn, uint64 seq)
{
	for (LbXactBoard *board = xdefn->boards; board != NULL;
		 board = board->next_of_defn)
	{
		if (board->nchanges > 0 && last_seq(board) >= seq)
			return true;
	}
	return false;
}

uint64
lb_xact_subabort(int level)
{
	uint64		seq = 0;

	while (nmarks > 0 && marks[nmarks - 1].level >= level)
		seq = marks[--nmarks].seq;
	if (seq > 0)
		cut_off(seq);
	return seq;
}

void
lb_xact_subcommit(int level)
{
	if (nmarks == 0 || marks[nmarks - 1].level < level)
		return;

	/* What it did is its parent's now. */
	if (level == 2 || (nmarks > 1 && marks[nmarks - 2].level == level - 1))
		nmarks--;
	else
		marks[nmarks - 1].level = level - 1;
}


/* ----------------------------------------------------------------
 *		Net changes
 * ----------------------------------------------------------------
 */

bool
lb_xact_counted_changes(const LbXactBoard *board, CommandId curcid,
						MemoryContext context, LbChanges *changes)
{
	uint64		from = last_truncate(board->xdefn);
	int			width = board->width;
	int64	   *entry;

	changes->width = width;
	changes->n = 0;
	changes->max = board->nchanges;
	changes->words = MemoryContextAllocExtended(context,
												(Size) Max(1, board->nchanges) *
												lb_entry_words(width) *
												sizeof(int64),
												MCXT_ALLOC_HUGE |
												MCXT_ALLOC_NO_OOM);
	if (changes->words == NULL)
		return false;
	entry = changes->words;
	for (LbPiece *piece = board->first; piece != NULL; piece = piece->next)
	{
		for (int i = 0; i < piece->nchanges; i++)
		{
			Change	   *change = change_at(piece, width, i);

			if (change->cid >= curcid || change->seq <= from)
				continue;
			*entry++ = change->flags;
			for (int j = 0; j < 2 * width; j++)
				*entry++ = change->keys[j];
			changes->n++;
		}
	}
	return true;
}

/* Whether the changes that sums have are those that count for a command id. */
static bool
own_sums_are_for(const LbOwnSums *own, CommandId curcid, uint64 truncate)
{
	if (own->sums == NULL || own->sums->broken || own->truncate != truncate)
		return false;
	if (curcid >= own->cid)
		return own->nleft == 0 || own->min_left >= curcid;
	return own->max_taken < curcid;
}

/* Begin anew.  Returns false if there is no memory. */
static bool
own_sums_begin(LbXactBoard *board, LbOwnSums *own, CommandId curcid,
			   uint64 truncate)
{
	if (own->sums != NULL)
		lb_sums_free(own->sums);
	own->sums = lb_sums_make(lb_xact.context, board->width,
							 board->xdefn->defn.member_words);
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

/*
 * Take in what the list has got since the last time.  Returns false if there is
 * no memory; raises only when interrupted.
 */
static bool
own_sums_go_on(LbXactBoard *board, LbOwnSums *own)
{
	int			width = board->width;
	int64		entry[1 + 2 * LB_MAX_WIDTH];
	LbChanges	all;
	bool		at_once = own->nseen == 0 && board->nchanges > LB_OWN_BATCH &&
		own->sums->removed.members + own->sums->added.members == 0 &&
		!lb_sums_ambiguous(own->sums);
	bool		ok;

	if (at_once)
	{
		all.width = width;
		all.n = 0;
		all.max = board->nchanges;
		all.words = MemoryContextAllocExtended(own->sums->context,
											   (Size) all.max *
											   lb_entry_words(width) *
											   sizeof(int64),
											   MCXT_ALLOC_HUGE |
											   MCXT_ALLOC_NO_OOM);
		if (all.words == NULL)
			return false;

		/* Until they are in it. */
		own->sums->broken = true;
	}
	for (int n = 0; own->nseen < board->nchanges; n++)
	{
		Change	   *change;

		if (n % LB_OWN_BATCH == 0)
		{
			CHECK_FOR_INTERRUPTS();
			if (!at_once &&
				!lb_sums_reserve(own->sums,
								 Min(LB_OWN_BATCH,
									 board->nchanges - own->nseen)))
				return false;
		}
		if (own->at == own->piece->nchanges)
		{
			own->piece = own->piece->next;
			own->at = 0;
		}
		change = change_at(own->piece, width, own->at++);
		own->nseen++;
		if (change->seq <= own->truncate)
			continue;
		if (change->cid >= own->cid)
		{
			own->nleft++;
			own->min_left = Min(own->min_left, change->cid);
			continue;
		}
		own->max_taken = Max(own->max_taken, change->cid);
		entry[0] = change->flags;
		memcpy(entry + 1, change->keys, 2 * width * sizeof(int64));
		if (at_once)
			lb_add_change(&all, entry, false);
		else if (!lb_sums_add(own->sums, entry, false))
			return false;
	}
	if (!at_once)
		return true;
	ok = lb_sums_load(own->sums, &all);
	pfree(all.words);
	return ok;
}

/* The sums of a board's changes, or NULL if there is no memory. */
static LbSums *
own_sums(LbXactBoard *board, CommandId curcid)
{
	uint64		truncate = last_truncate(board->xdefn);
	LbOwnSums  *own = NULL;

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
	return own_sums_go_on(board, own) ? own->sums : NULL;
}

/* The same in arrays.  Returns NULL if there is no memory. */
static LbOverlay *
own_overlay(LbXactBoard *board, CommandId curcid)
{
	LbDefinition *defn = &board->xdefn->defn;
	uint64		truncate = last_truncate(board->xdefn);
	uint64		seq = last_seq(board);
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
	if (!lb_xact_counted_changes(board, curcid, board->overlay_context, &changes))
		return NULL;
	old = MemoryContextSwitchTo(board->overlay_context);
	overlay = palloc(sizeof(LbOverlay));
	if (!lb_overlay_init(overlay, defn->width, defn->member_words, changes.n))
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

bool
lb_own_changes(const LbTarget *target, CommandId curcid, bool as_sums,
			   LbOwn *own)
{
	LbDefinition *defn = target->defn;
	LbValue		value;
	LbXactDefn *xdefn;
	LbXactBoard *board;

	memset(own, 0, sizeof(LbOwn));
	if (lb_xact.defns == NULL)
		return true;
	xdefn = lb_xact_find_defn(defn);
	if (xdefn == NULL)
		return true;
	if (xdefn->unknown)
		return false;
	own->truncated = xdefn->ntruncates > 0;
	value.len = 0;
	value.data = "";
	if (target->has_value)
		value = target->value;
	board = find_xact_board(defn, &value, target->hash);
	if (board == NULL || board->nchanges == 0)
	{
		if (!own->truncated)
			return true;
		own->overlay = palloc(sizeof(LbOverlay));
		if (!lb_overlay_init(own->overlay, defn->width, defn->member_words, 0))
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

void
lb_xact_rows_unknown(LbDefinition *defn, const char *reason)
{
	LbXactDefn *xdefn = lb_xact_make_defn(defn);

	if (!xdefn->unknown)
		set_unknown(xdefn, lb_xact_take_seq(), reason);
}

bool
lb_altered_here(const LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_find_defn(defn);

	return xdefn != NULL && xdefn->unknown;
}

bool
lb_changed_here(Oid source)
{
	for (LbXactDefn *xdefn = lb_xact.defns; xdefn != NULL; xdefn = xdefn->next)
	{
		if (xdefn->defn.source == source)
			return true;
	}
	return false;
}
