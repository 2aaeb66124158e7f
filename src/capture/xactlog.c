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
 * With counts, a command changes many rows of the same key.  When the list has
 * become long, these changes are added up.
 *
 * Changes, TRUNCATEs and the operations of ddl.c have numbers, which ascend
 * within the transaction.  An aborted subtransaction is cut off at the number
 * with which it began.  A TRUNCATE voids the changes before its number.
 *
 * A write never fails for lack of memory here: the changes of the definition
 * become "unknown" from that number on, and the definition goes offline if the
 * transaction commits.
 *
 * Rows that come off their board, or onto it, change the number of those that
 * are off it.  These numbers are in an array beside the list, one for each
 * command and subtransaction.
 *
 * Everything is in lb_xact.context, which the end of the transaction resets.
 * Cutting off and forgetting neither raise nor allocate.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "boards/directory.h"
#include "boards/resolve.h"
#include "capture/xactlog.h"
#include "capture/xactlog_internal.h"
#include "ledger/off_board.h"
#include "util/planted.h"

/* In changes like the one that is to be added first. */
#define FIRST_PIECE 2

/* In words. */
#define MAX_PIECE 65536

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

LbXactBoard *
lb_xact_find_board(const LbDefinition *defn, const LbValue *value, uint32 hash)
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
	board = lb_xact_find_board(defn, value, hash);
	if (board != NULL)
		return last_board = board;

	lb_xact_begin();
	board = MemoryContextAllocZero(lb_xact.context, sizeof(LbXactBoard));
	board->xdefn = lb_xact_make_defn(defn);
	board->stride = lb_least_stride(&defn->shape);
	board->compact_at = INT_MAX;
	if (defn->shape.counts)
		lb_xact_schedule_compaction(board, 0);
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

void
lb_xact_unknown_from(LbXactDefn *xdefn, uint64 seq, const char *reason)
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
		lb_xact_unknown_from(xdefn, lb_xact_take_seq(), reason);
}

/*
 * Make room for a change of this length, in words, and for more.  Returns
 * false if there is no memory.
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

bool
lb_xact_append(LbXactBoard *board, uint64 seq, CommandId cid, const int64 *old,
			   const int64 *new, int64 rows)
{
	const LbShape *shape = &board->xdefn->defn.shape;
	int			nold = old == NULL ? 0 : lb_key_words(shape, old);
	int			nnew = new == NULL ? 0 : lb_key_words(shape, new);
	int			nrows = rows == 1 ? 0 : 1;
	int			words = LB_XACT_CHANGE_WORDS + nold + nnew + nrows;
	LbPiece    *piece = board->last;
	LbXactChange *change;

	if (piece == NULL || piece->used + words > piece->max)
	{
		if (!add_piece(board, words))
			return false;
		piece = board->last;
	}
	change = lb_xact_change_at(piece, piece->used);
	change->seq = seq;
	change->cid = cid;
	change->nold = nold;
	change->nnew = nnew;
	change->nrows = nrows;
	change->previous = 0;
	if (piece->used > 0)
		change->previous = lb_xact_change_words(lb_xact_change_at(piece, piece->last)) -
			LB_XACT_CHANGE_WORDS;
	for (int i = 0; i < nold; i++)
		change->keys[i] = old[i];
	for (int i = 0; i < nnew; i++)
		change->keys[nold + i] = new[i];
	if (nrows > 0)
		change->keys[nold + nnew] = rows;
	piece->last = piece->used;
	piece->used += words;
	board->stride = Max(board->stride, Max(nold, nnew));
	board->nchanges++;
	return true;
}

uint64
lb_xact_stretch_start(const LbXactDefn *xdefn)
{
	uint64		start = Max(xdefn->truncate_began,
							lb_xact_last_truncate(xdefn) + 1);

	return nmarks == 0 ? start : Max(start, marks[nmarks - 1].seq);
}


/* ----------------------------------------------------------------
 *		Changes, rows off the board, TRUNCATEs
 * ----------------------------------------------------------------
 */

void
lb_xact_add_change(LbDefinition *defn, const LbValue *value, const int64 *old,
				   const int64 *new, CommandId cid)
{
	LbXactBoard *board = make_board(defn, value);
	uint64		seq = lb_xact_take_seq();	/* can raise, so first */

	if (!lb_xact_append(board, seq, cid, old, new, 1))
		lb_xact_unknown_from(board->xdefn, seq, NULL);
	else if (unlikely(board->nchanges >= board->compact_at))
		lb_xact_compact(board);
}

/* Make room for another number.  Returns false if there is no memory. */
static bool
reserve_off_board(LbXactBoard *board)
{
	int			newmax = Max(4, board->max_off_board * 2);
	LbOffBoard *more;

	if (board->noff_board < board->max_off_board)
		return true;
	if (board->max_off_board > INT_MAX / 2)
		return false;
	more = MemoryContextAllocExtended(lb_xact.context,
									  (Size) newmax * sizeof(LbOffBoard),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (more == NULL)
		return false;
	if (board->off_board != NULL)
	{
		memcpy(more, board->off_board,
			   board->noff_board * sizeof(LbOffBoard));
		pfree(board->off_board);
	}
	board->off_board = more;
	board->max_off_board = newmax;
	return true;
}

/*
 * Whether another number of rows, with this command id, can be added to the
 * last one.
 */
static bool
continues_last(const LbXactBoard *board, CommandId cid)
{
	const LbOffBoard *last;

	if (board->noff_board == 0)
		return false;
	last = &board->off_board[board->noff_board - 1];
	return last->cid == cid && last->seq >= lb_xact_stretch_start(board->xdefn);
}

void
lb_xact_add_off_board(LbDefinition *defn, const LbValue *value, int64 rows,
					  CommandId cid)
{
	LbXactBoard *board = make_board(defn, value);
	uint64		seq = lb_xact_take_seq();	/* can raise, so first */

	if (!continues_last(board, cid))
	{
		LbOffBoard *next;

		if (!reserve_off_board(board))
		{
			lb_xact_unknown_from(board->xdefn, seq, NULL);
			return;
		}
		next = &board->off_board[board->noff_board++];
		next->seq = seq;
		next->cid = cid;
		next->rows = 0;
	}
	board->off_board[board->noff_board - 1].rows += rows;
	board->no_key |= lb_rows_without_key(rows) != 0;
}

void
lb_xact_add_truncate(LbXactDefn *xdefn)
{
	uint64		seq = lb_xact_take_seq();	/* can raise, so first */

	if (xdefn->ntruncates == xdefn->maxtruncates)
	{
		int			newmax = Max(4, xdefn->maxtruncates * 2);

		xdefn->truncates = xdefn->truncates == NULL ?
			MemoryContextAlloc(lb_xact.context, newmax * sizeof(uint64)) :
			repalloc(xdefn->truncates, newmax * sizeof(uint64));
		xdefn->maxtruncates = newmax;
	}
	xdefn->truncates[xdefn->ntruncates++] = seq;
}

bool
lb_xact_changed_since(const LbXactDefn *xdefn, uint64 seq)
{
	for (LbXactBoard *board = xdefn->boards; board != NULL;
		 board = board->next_of_defn)
	{
		if (board->nchanges > 0 && lb_xact_last_change(board)->seq >= seq)
			return true;
		if (board->noff_board > 0 &&
			board->off_board[board->noff_board - 1].seq >= seq)
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
	LbXactChange *change = lb_xact_last_change(board);

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
		(void) lb_sums_add(own->sums, lb_xact_new_key(change),
						   lb_xact_old_key(change),
						   lb_xact_rows(&own->sums->shape, change));
}

static void
drop_last(LbXactBoard *board)
{
	LbPiece    *piece = board->last;

	board->nchanges--;
	piece->used = piece->last;
	if (piece->used > 0)
	{
		piece->last -= LB_XACT_CHANGE_WORDS + lb_xact_change_at(piece, piece->used)->previous;
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
	for (int n = 1; board->nchanges > 0 && lb_xact_last_change(board)->seq >= seq; n++)
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
	if (board->ncompacted > board->nchanges)
	{
		board->ncompacted = board->nchanges;
		lb_xact_schedule_compaction(board, board->nchanges);
	}
	if (board->overlay != NULL && board->overlay_seq >= seq)
		board->overlay = NULL;
	while (board->noff_board > 0 && !LB_PLANTED(12) &&
		   board->off_board[board->noff_board - 1].seq >= seq)
		board->noff_board--;
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
		while (xdefn->ntruncates > 0 && lb_xact_last_truncate(xdefn) >= seq)
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
