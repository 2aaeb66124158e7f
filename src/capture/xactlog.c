/*-------------------------------------------------------------------------
 *
 * xactlog.c
 *	  What the current transaction has changed.
 *
 * The row triggers append changes to a list for each board: an old key less,
 * a new key more, or both, with the command id of the tuples.  Changes are
 * summed up per member and never replayed as assignments, because a user's
 * trigger that updates a row of the same statement makes captures arrive out
 * of order.
 *
 * Changes, TRUNCATEs and the operations of ddl.c have numbers, which ascend
 * within the transaction.  An aborted subtransaction is cut off at the number
 * with which it began.  A TRUNCATE voids the changes before its number.
 *
 * A write never fails for lack of memory here: the changes of the definition
 * become "unknown" from that number on, and the definition goes offline if the
 * transaction commits.
 *
 * Reads of the transaction want the sums of the changes that count for their
 * snapshot.  A few changes are summed up anew for each state of the list, in
 * arrays (overlay.c).  More than LB_FEW_OWN are kept as sums (sums.c), which
 * follow the list: a read adds what is new, and a change that is cut off is
 * taken out again.
 *
 * Everything is in lb_xact.context, which the end of the transaction resets.
 * Cutting off and forgetting neither raise nor allocate.  Summing up for
 * publish raises only when interrupted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "boards/directory.h"
#include "boards/resolve.h"
#include "capture/xactlog.h"

/*
 * A captured change: its old key, if it has one, and then its new key, if it
 * has one.  In memory it is as long as they are.
 */
typedef struct Change
{
	uint64		seq;
	CommandId	cid;
	uint8		nold;			/* words of the old key; 0: there is none */
	uint8		nnew;			/* likewise of the new one */
	uint8		previous;		/* words of both keys of the change before it
								 * in the piece; 0: this is the first */
	int64		keys[FLEXIBLE_ARRAY_MEMBER];
} Change;

#define CHANGE_WORDS (offsetof(Change, keys) / sizeof(int64))

StaticAssertDecl(offsetof(Change, keys) % sizeof(int64) == 0 &&
				 2 * LB_MAX_KEY_WORDS <= PG_UINT8_MAX,
				 "changes consist of words, and a byte counts these");

/*
 * The list of a board's changes consists of pieces, each twice as long as the
 * one before, up to a limit.  It grows without being copied.
 */
typedef struct LbPiece
{
	struct LbPiece *prev;
	struct LbPiece *next;
	int			used;			/* words */
	int			max;			/* room in words */
	int			last;			/* where the last change begins */
	int64		words[FLEXIBLE_ARRAY_MEMBER];
} LbPiece;

/* In changes like the one that is to be added first. */
#define FIRST_PIECE 2

/* In words. */
#define MAX_PIECE 65536

/*
 * Up to this many changes are summed up in arrays, anew after each change.
 * Tests set it lower.
 */
#ifndef LB_FEW_OWN
#define LB_FEW_OWN 32
#endif

/* Changes that are added between two checks for interrupts. */
#ifndef LB_OWN_BATCH
#define LB_OWN_BATCH 1024
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

/* Up to this many elements of a table are in one bucket. */
#define FEW 16

/* The first number of a subtransaction that has taken one. */
typedef struct Mark
{
	int			level;
	uint64		seq;
} Mark;

LbXact		lb_xact;

static MemoryContext kept_context = NULL;
static LbXactTable defn_table;	/* by id */
static LbXactTable board_table; /* by id and value */
static LbXactBoard *last_board = NULL;
static uint64 next_seq = 1;
static Mark *marks = NULL;
static int	nmarks = 0;
static int	maxmarks = 0;

/* The change at a word of a piece, and how many words it takes. */
static inline Change *
change_at(const LbPiece *piece, int at)
{
	return (Change *) (piece->words + at);
}

static inline int
change_words(const Change *change)
{
	return CHANGE_WORDS + change->nold + change->nnew;
}

/* The last change of a board, which has at least one. */
static inline Change *
last_change(const LbXactBoard *board)
{
	return change_at(board->last, board->last->last);
}

/* The keys of a change, or NULL. */
static inline const int64 *
old_key(const Change *change)
{
	return change->nold > 0 ? change->keys : NULL;
}

static inline const int64 *
new_key(const Change *change)
{
	return change->nnew > 0 ? change->keys + change->nold : NULL;
}

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
add_entry(LbChanges *changes, const Change *change)
{
	lb_make_entry(&changes->shape, lb_change_at(changes, changes->n++),
				  changes->stride, old_key(change), new_key(change));
}


/* ----------------------------------------------------------------
 *		The transaction
 * ----------------------------------------------------------------
 */

void
lb_xact_begin(void)
{
	/* Made once, and reset at the end of each transaction that used it. */
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
	memset(&lb_xact, 0, sizeof(lb_xact));
	memset(&defn_table, 0, sizeof(defn_table));
	memset(&board_table, 0, sizeof(board_table));
	last_board = NULL;
	next_seq = 1;
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


/* ----------------------------------------------------------------
 *		Tables
 * ----------------------------------------------------------------
 */

/* Move all elements of a bucket to a table, where the newest stays first. */
static void
move_bucket(slist_head *from, LbXactTable *to)
{
	slist_head	turned = SLIST_STATIC_INIT(turned);

	while (!slist_is_empty(from))
		slist_push_head(&turned, slist_pop_head_node(from));
	while (!slist_is_empty(&turned))
	{
		slist_node *node = slist_pop_head_node(&turned);
		LbXactLink *link = slist_container(LbXactLink, node, node);

		slist_push_head(lb_xact_bucket(to, link->hash), node);
	}
}

void
lb_xact_table_add(LbXactTable *table, LbXactLink *link)
{
	if (table->n >= Max(FEW, table->nbuckets))
	{
		LbXactTable larger = *table;

		larger.nbuckets = 4 * Max(FEW, table->nbuckets);
		larger.buckets = MemoryContextAllocZero(lb_xact.context,
												larger.nbuckets *
												sizeof(slist_head));
		slist_init(&larger.few);
		if (table->nbuckets == 0)
			move_bucket(&table->few, &larger);
		for (uint32 i = 0; i < table->nbuckets; i++)
			move_bucket(&table->buckets[i], &larger);
		if (table->buckets != NULL)
			pfree(table->buckets);
		*table = larger;
	}
	slist_push_head(lb_xact_bucket(table, link->hash), &link->node);
	table->n++;
}

void
lb_xact_table_pop(LbXactTable *table, LbXactLink *link)
{
	slist_node *node;

	node = slist_pop_head_node(lb_xact_bucket(table, link->hash));
	Assert(node == &link->node);
	(void) node;
	table->n--;
}


/* ----------------------------------------------------------------
 *		Definitions and boards
 * ----------------------------------------------------------------
 */

LbXactDefn *
lb_xact_find_defn(const LbDefinition *defn)
{
	slist_iter	iter;

	slist_foreach(iter, lb_xact_bucket(&defn_table, defn->id))
	{
		LbXactDefn *xdefn = slist_container(LbXactDefn, link.node, iter.cur);

		if (xdefn->defn.id == defn->id && xdefn->defn.catalog == defn->catalog)
			return xdefn;
	}
	return NULL;
}

LbXactDefn *
lb_xact_make_defn(LbDefinition *defn)
{
	LbXactDefn *xdefn = lb_xact_find_defn(defn);

	if (xdefn != NULL)
		return xdefn;
	lb_xact_begin();

	/* The copy needs both at PRE_COMMIT, and the cache keeps them. */
	lb_settle_width(defn);
	(void) lb_shared_board_attach(defn, false);
	xdefn = MemoryContextAlloc(lb_xact.context, sizeof(LbXactDefn));
	memset(xdefn, 0, offsetof(LbXactDefn, defn));
	xdefn->defn = *defn;
	xdefn->link.hash = defn->id;
	lb_xact_table_add(&defn_table, &xdefn->link);
	xdefn->next = lb_xact.defns;
	lb_xact.defns = xdefn;
	return xdefn;
}

static bool
is_board(const LbXactBoard *board, const LbDefinition *defn,
		 const LbValue *value)
{
	return board->xdefn->defn.id == defn->id &&
		board->xdefn->defn.catalog == defn->catalog &&
		lb_value_equal(&board->value, value);
}

/* A board of the transaction, or NULL; hash is the value's. */
static LbXactBoard *
find_board(const LbDefinition *defn, const LbValue *value, uint32 hash)
{
	slist_iter	iter;

	hash ^= defn->id;
	slist_foreach(iter, lb_xact_bucket(&board_table, hash))
	{
		LbXactBoard *board = slist_container(LbXactBoard, link.node, iter.cur);

		if (board->link.hash == hash && is_board(board, defn, value))
			return board;
	}
	return NULL;
}

/* The same, made if there is none.  Can raise. */
static LbXactBoard *
make_board(LbDefinition *defn, const LbValue *value)
{
	uint32		hash;
	LbXactBoard *board;

	if (last_board != NULL && is_board(last_board, defn, value))
		return last_board;
	hash = defn->family ? lb_value_hash(value) : 0;
	board = find_board(defn, value, hash);
	if (board != NULL)
		return last_board = board;

	lb_xact_begin();
	board = MemoryContextAllocZero(lb_xact.context, sizeof(LbXactBoard));
	board->xdefn = lb_xact_make_defn(defn);
	board->stride = lb_least_stride(&defn->shape);
	board->hash = hash;
	board->value.len = value->len;
	board->value.data = "";
	if (value->len > 0)
	{
		char	   *copy = MemoryContextAlloc(lb_xact.context, value->len);

		memcpy(copy, value->data, value->len);
		board->value.data = copy;
	}
	board->link.hash = hash ^ defn->id;
	lb_xact_table_add(&board_table, &board->link);
	board->next = lb_xact.boards;
	lb_xact.boards = board;
	board->next_of_defn = board->xdefn->boards;
	board->xdefn->boards = board;
	return last_board = board;
}


/* ----------------------------------------------------------------
 *		The list
 * ----------------------------------------------------------------
 */

/*
 * Changes from number seq on are unknown.  If seq is rolled back, so are all
 * of them, and no change was lost.
 */
static void
unknown_from(LbXactDefn *xdefn, uint64 seq, const char *reason)
{
	if (xdefn->unknown)
		return;
	xdefn->unknown = true;
	xdefn->unknown_seq = seq;
	xdefn->reason = reason;
}

void
lb_xact_set_unknown(LbDefinition *defn, const char *reason)
{
	LbXactDefn *xdefn = lb_xact_make_defn(defn);

	if (!xdefn->unknown)
		unknown_from(xdefn, lb_xact_take_seq(), reason);
}

/*
 * Make room for a change of so many words, and for more.  Returns false if
 * there is no memory.
 */
static bool
add_piece(LbXactBoard *board, int words)
{
	int			max = board->last == NULL ? FIRST_PIECE * words :
		Max(Min(board->last->max * 2, MAX_PIECE), words);
	LbPiece    *piece = NULL;

	if (board->nchanges <= INT_MAX - max)
		piece = MemoryContextAllocExtended(lb_xact.context,
										   offsetof(LbPiece, words) +
										   max * sizeof(int64),
										   MCXT_ALLOC_NO_OOM);
	if (piece == NULL)
		return false;
	piece->prev = board->last;
	piece->next = NULL;
	piece->used = 0;
	piece->max = max;
	piece->last = 0;
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
	LbXactBoard *board = make_board(defn, value);
	uint64		seq = lb_xact_take_seq();	/* can raise, so first */
	const LbShape *shape = &board->xdefn->defn.shape;
	int			nold = old == NULL ? 0 : lb_key_words(shape, old);
	int			nnew = new == NULL ? 0 : lb_key_words(shape, new);
	int			words = CHANGE_WORDS + nold + nnew;
	LbPiece    *piece = board->last;
	Change	   *change;

	if (piece == NULL || piece->used + words > piece->max)
	{
		if (!add_piece(board, words))
		{
			unknown_from(board->xdefn, seq, NULL);
			return;
		}
		piece = board->last;
	}
	change = change_at(piece, piece->used);
	change->seq = seq;
	change->cid = cid;
	change->nold = nold;
	change->nnew = nnew;
	change->previous = 0;
	if (piece->used > 0)
		change->previous = change_words(change_at(piece, piece->last)) -
			CHANGE_WORDS;
	for (int i = 0; i < nold; i++)
		change->keys[i] = old[i];
	for (int i = 0; i < nnew; i++)
		change->keys[nold + i] = new[i];
	piece->last = piece->used;
	piece->used += words;
	board->stride = Max(board->stride, Max(nold, nnew));
	board->nchanges++;
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

static uint64
last_truncate(const LbXactDefn *xdefn)
{
	return xdefn->ntruncates == 0 ? 0 :
		xdefn->truncates[xdefn->ntruncates - 1];
}

bool
lb_xact_changed_since(const LbXactDefn *xdefn, uint64 seq)
{
	for (LbXactBoard *board = xdefn->boards; board != NULL;
		 board = board->next_of_defn)
	{
		if (board->nchanges > 0 && last_change(board)->seq >= seq)
			return true;
	}
	return false;
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


/* ----------------------------------------------------------------
 *		Subtransactions
 *
 * Nothing here raises or allocates, except that taking a change out of sums
 * may allocate without raising.
 * ----------------------------------------------------------------
 */

/*
 * The last change of a board is about to be dropped: take it out of sums that
 * have it.  If that fails, the sums are broken, and the next read makes them
 * anew.
 */
static void
take_out_last(LbXactBoard *board, LbOwnSums *own)
{
	Change	   *change = last_change(board);

	if (own->sums == NULL || own->nseen < board->nchanges)
		return;
	own->nseen--;
	if (board->last->last > 0 || board->last->prev == NULL)
	{
		own->piece = board->last;
		own->at = board->last->last;
	}
	else
	{
		own->piece = board->last->prev;
		own->at = board->last->prev->used;
	}
	if (change->seq <= own->truncate)
		return;
	if (change->cid >= own->cid)
	{
		if (--own->nleft == 0)
			own->min_left = InvalidCommandId;
		return;
	}
	if (!own->sums->broken)
		(void) lb_sums_add(own->sums, new_key(change), old_key(change));
}

static void
drop_last(LbXactBoard *board)
{
	LbPiece    *piece = board->last;

	board->nchanges--;
	piece->used = piece->last;
	if (piece->used > 0)
	{
		piece->last -= CHANGE_WORDS + change_at(piece, piece->used)->previous;
		return;
	}
	if (piece->prev == NULL)
		return;
	board->last = piece->prev;
	board->last->next = NULL;
	pfree(piece);
}

/* Cut off the changes of a board from number seq on. */
static void
cut_off_changes(LbXactBoard *board, uint64 seq)
{
	for (int n = 1; board->nchanges > 0 && last_change(board)->seq >= seq; n++)
	{
		for (int i = 0; i < LB_MAX_OWN_SUMS; i++)
		{
			LbOwnSums  *own = &board->own[i];

			/*
			 * The callback cannot be interrupted.  When many changes go, it
			 * is less work to make the sums anew than to take all of them
			 * out.
			 */
			if (own->sums != NULL && n > LB_OWN_BATCH &&
				n > board->nchanges / 4)
				own->sums->broken = true;
			take_out_last(board, own);
		}
		drop_last(board);
	}
	if (board->overlay != NULL && board->overlay_seq >= seq)
		board->overlay = NULL;
}

uint64
lb_xact_subabort(int level)
{
	uint64		seq = 0;

	while (nmarks > 0 && marks[nmarks - 1].level >= level)
		seq = marks[--nmarks].seq;
	if (seq == 0)
		return 0;
	for (LbXactBoard *board = lb_xact.boards; board != NULL;
		 board = board->next)
		cut_off_changes(board, seq);
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
	return seq;
}

void
lb_xact_subcommit(int level)
{
	if (nmarks == 0 || marks[nmarks - 1].level < level)
		return;
	if (level == 2 || (nmarks > 1 && marks[nmarks - 2].level == level - 1))
		nmarks--;
	else
		marks[nmarks - 1].level = level - 1;
}


/* ----------------------------------------------------------------
 *		Changes summed up
 * ----------------------------------------------------------------
 */

/*
 * The changes of a board that count for a command id, in memory of context.
 * Returns false if there is no memory.  Raises only when interrupted.
 */
static bool
counted_changes(const LbXactBoard *board, CommandId curcid,
				MemoryContext context, LbChanges *changes)
{
	uint64		from = last_truncate(board->xdefn);

	if (!begin_changes(board, board->nchanges, context, changes))
		return false;
	for (LbPiece *piece = board->first; piece != NULL; piece = piece->next)
	{
		const Change *change;

		CHECK_FOR_INTERRUPTS();
		for (int at = 0; at < piece->used; at += change_words(change))
		{
			change = change_at(piece, at);
			if (change->cid < curcid && change->seq > from)
				add_entry(changes, change);
		}
	}
	return true;
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
static const Change *
take_next(LbOwnSums *own)
{
	const Change *change;

	if (own->at == own->piece->used)
	{
		own->piece = own->piece->next;
		own->at = 0;
	}
	change = change_at(own->piece, own->at);
	own->at += change_words(change);
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
		const Change *change;

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
			!lb_sums_add(own->sums, old_key(change), new_key(change)))
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
		const Change *change;

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
	uint64		truncate = last_truncate(board->xdefn);
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
	uint64		truncate = last_truncate(board->xdefn);
	uint64		seq = last_change(board)->seq;
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
	board = find_board(defn, &value, target->hash);
	if (board == NULL || board->nchanges == 0)
	{
		if (!own->truncated)
			return true;
		own->overlay = palloc(sizeof(LbOverlay));
		if (!lb_overlay_init(own->overlay, &defn->shape, 0))
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
