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
 * Cutting off, summing up for publish, and forgetting never raise; the first
 * and the last allocate nothing either.
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

/* A captured change: the old key and the new key, as the flags say. */
typedef struct Change
{
	uint64		seq;
	CommandId	cid;
	int32		flags;			/* of an entry: LB_HAS_OLD, LB_HAS_NEW */
	int64		keys[FLEXIBLE_ARRAY_MEMBER];
} Change;

/*
 * The list of a board's changes consists of pieces, each twice as long as the
 * one before, up to a limit.  It grows without being copied.
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

/* The last change of a board, which has at least one. */
static inline Change *
last_change(const LbXactBoard *board)
{
	return change_at(board->last, board->width, board->last->nchanges - 1);
}

/* Copy a change to an entry (overlay.h). */
static inline void
copy_entry(int64 *entry, const Change *change, int width)
{
	entry[0] = change->flags;
	memcpy(entry + 1, change->keys, 2 * width * sizeof(int64));
}

/* Room for n entries, or NULL if there is no memory. */
static int64 *
alloc_entries(MemoryContext context, int n, int width)
{
	return MemoryContextAllocExtended(context,
									  (Size) Max(1, n) *
									  lb_entry_words(width) * sizeof(int64),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
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
	board->width = defn->shape.width;
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
 * Changes from number seq on are unknown.  If seq is rolled back, so are all of
 * them, and no change was lost.
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

/* Make room for more changes.  Returns false if there is no memory. */
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
	LbXactBoard *board = make_board(defn, value);
	uint64		seq = lb_xact_take_seq();	/* can raise, so first */
	int			width = board->width;
	Change	   *change;

	if ((board->last == NULL ||
		 board->last->nchanges == board->last->maxchanges) &&
		!add_piece(board))
	{
		unknown_from(board->xdefn, seq, NULL);
		return;
	}
	board->last->nchanges++;
	board->nchanges++;
	change = last_change(board);
	change->seq = seq;
	change->cid = cid;
	change->flags = (old != NULL ? LB_HAS_OLD : 0) |
		(new != NULL ? LB_HAS_NEW : 0);
	for (int i = 0; i < width; i++)
	{
		change->keys[i] = old != NULL ? old[i] : 0;
		change->keys[width + i] = new != NULL ? new[i] : 0;
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
	int64		entry[1 + 2 * LB_MAX_WIDTH];

	if (own->sums == NULL || own->nseen < board->nchanges)
		return;
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
	copy_entry(entry, change, board->width);
	if (!own->sums->broken)
		(void) lb_sums_add(own->sums, entry, true);
}

static void
drop_last(LbXactBoard *board)
{
	LbPiece    *piece = board->last;

	board->nchanges--;
	if (--piece->nchanges > 0 || piece->prev == NULL)
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
 * Returns false if there is no memory.  Never raises.
 */
static bool
counted_changes(const LbXactBoard *board, CommandId curcid,
				MemoryContext context, LbChanges *changes)
{
	uint64		from = last_truncate(board->xdefn);
	int			width = board->width;

	changes->width = width;
	changes->n = 0;
	changes->max = board->nchanges;
	changes->words = alloc_entries(context, board->nchanges, width);
	if (changes->words == NULL)
		return false;
	for (LbPiece *piece = board->first; piece != NULL; piece = piece->next)
	{
		for (int i = 0; i < piece->nchanges; i++)
		{
			const Change *change = change_at(piece, width, i);

			if (change->cid < curcid && change->seq > from)
				copy_entry(changes->words +
						   (Size) changes->n++ * lb_entry_words(width),
						   change, width);
		}
	}
	return true;
}

bool
lb_xact_net_changes(const LbXactBoard *board, LbNetChanges *net)
{
	LbChanges	changes;
	int64	   *entries;
	bool		ambiguous;

	net->shared = board->xdefn->ref.shared;
	net->generation = board->xdefn->ref.generation;
	net->value = &board->value;
	net->hash = board->hash;
	if (!counted_changes(board, InvalidCommandId, lb_xact.context, &changes))
		return false;
	if (lb_changes_are_net(&changes))
	{
		net->entries = changes.words;
		net->nentries = changes.n;
		return true;
	}
	entries = alloc_entries(lb_xact.context, changes.n, board->width);
	if (entries == NULL)
		return false;
	net->entries = entries;
	net->nentries = lb_net_changes(&changes, entries, &ambiguous);
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
	own->sums = lb_sums_make(lb_xact.context, board->width,
							 board->xdefn->defn.shape.member_words);
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

/* Look at the list's next change.  If it counts, copy it and return true. */
static bool
take_next(LbXactBoard *board, LbOwnSums *own, int64 *entry)
{
	const Change *change;

	if (own->at == own->piece->nchanges)
	{
		own->piece = own->piece->next;
		own->at = 0;
	}
	change = change_at(own->piece, board->width, own->at++);
	own->nseen++;
	if (change->seq <= own->truncate)
		return false;
	if (change->cid >= own->cid)
	{
		own->nleft++;
		own->min_left = Min(own->min_left, change->cid);
		return false;
	}
	own->max_taken = Max(own->max_taken, change->cid);
	copy_entry(entry, change, board->width);
	return true;
}

/*
 * Add the changes that the list has got since the last time.  Returns false if
 * there is no memory; raises only when interrupted.
 */
static bool
add_new(LbXactBoard *board, LbOwnSums *own)
{
	int64		entry[1 + 2 * LB_MAX_WIDTH];

	for (int n = 0; own->nseen < board->nchanges; n++)
	{
		if (n % LB_OWN_BATCH == 0)
		{
			CHECK_FOR_INTERRUPTS();
			if (!lb_sums_reserve(own->sums,
								 Min(LB_OWN_BATCH,
									 board->nchanges - own->nseen)))
				return false;
		}
		if (take_next(board, own, entry) &&
			!lb_sums_add(own->sums, entry, false))
			return false;
	}
	return true;
}

/* The same for many changes and sums that are empty, in less time. */
static bool
load_all(LbXactBoard *board, LbOwnSums *own)
{
	int64		entry[1 + 2 * LB_MAX_WIDTH];
	LbChanges	all;
	bool		ok;

	all.width = board->width;
	all.n = 0;
	all.max = board->nchanges;
	all.words = alloc_entries(own->sums->context, all.max, all.width);
	if (all.words == NULL)
		return false;

	/* Until the changes are in the sums. */
	own->sums->broken = true;
	for (int n = 0; own->nseen < board->nchanges; n++)
	{
		if (n % LB_OWN_BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		if (take_next(board, own, entry))
			lb_add_change(&all, entry, false);
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
	if (!lb_overlay_init(overlay, defn->shape.width, defn->shape.member_words, changes.n))
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
		if (!lb_overlay_init(own->overlay, defn->shape.width, defn->shape.member_words, 0))
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
