/*-------------------------------------------------------------------------
 *
 * capture.c
 *	  The row triggers, and the transaction's own list.
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

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "replication/logicalworker.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/predicate.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/combocid.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "capture/capture.h"
#include "ledger/ledger.h"
#include "ledger/snapshot.h"
#include "reads/reader.h"
#include "util/compat.h"
#include "util/pause.h"

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
typedef struct Piece
{
	struct Piece *prev;
	struct Piece *next;
	int			nchanges;
	int			maxchanges;
	int64		changes[FLEXIBLE_ARRAY_MEMBER];
} Piece;

#define FIRST_PIECE 2
#define MAX_PIECE 8192

/* What the transaction has to do with one definition. */
typedef struct XactDef
{
	struct XactDef *next;		/* all of the transaction */
	struct XactDef *chain;		/* same bucket, once there are some */
	struct XactBoard *boards;	/* linked by next_of_def */
	bool		unknown;		/* changes were lost, or made behind us */
	uint64		unknown_seq;	/* ... from this number on */
	const char *reason;			/* ... if not for want of memory */
	uint64		truncate_began; /* first number after the last one began */
	CommandId	truncate_cid;	/* ... in this command */
	SubTransactionId truncate_subid;
	int			ntruncates;
	int			maxtruncates;
	uint64	   *truncates;		/* numbers of its TRUNCATEs, ascending */
	bool		needed;			/* has changes */
	bool		attached;		/* shared and generation are good */
	bool		counted;		/* in shared's nunknown */
	LbSharedBoard *shared;
	uint64		generation;
	LbDefinition defn;			/* a copy; its pointers may be stale */
} XactDef;

/*
 * The sums of a board's changes that count for snapshots with command ids up to
 * cid, kept up from read to read.  Other command ids do as well as long as the
 * same changes count for them.
 */
typedef struct OwnSums
{
	LbSums	   *sums;			/* NULL: not made yet */
	uint64		truncate;		/* number of the TRUNCATE that they begin
								 * after */
	CommandId	cid;
	CommandId	max_taken;		/* no command id of those taken in is higher */
	CommandId	min_left;		/* nor lower of those that do not count */
	int			nleft;			/* of which there are so many */
	int			nseen;			/* of the list, from its beginning */
	Piece	   *piece;			/* where the next one is looked for */
	int			at;
	uint64		used;			/* when it was last asked for */
} OwnSums;

/*
 * One for the snapshots of new statements, and one for those of a statement or
 * cursor that has begun earlier and goes on meanwhile.
 */
#define MAX_OWN_SUMS 2

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

/* ... and with one board. */
typedef struct XactBoard
{
	struct XactBoard *next;		/* all of the transaction */
	struct XactBoard *chain;	/* same bucket */
	struct XactBoard *next_of_def;
	XactDef    *xdef;
	LbValue		value;
	uint32		hash;
	int			width;
	int			nchanges;		/* of all pieces */
	Piece	   *first;
	Piece	   *last;			/* none but the first is empty */
	LbPublication *pub;

	OwnSums		own[MAX_OWN_SUMS];
	uint64		nasked;			/* how often they were asked for */

	/* The overlay made last, and for which state of the list. */
	MemoryContext overlay_context;
	LbOverlay  *overlay;
	uint64		overlay_seq;
	uint64		overlay_truncate;
	CommandId	overlay_cid;
} XactBoard;

typedef enum OpKind
{
	OP_CREATED,
	OP_DROPPED,
	OP_RENAMED,
	OP_SOURCE_DROPPED,
	OP_CATALOG_DROPPED,
	OP_DATABASE_DROPPED
} OpKind;

/*
 * A board or a table that comes or goes with the transaction, or a board whose
 * columns get other names.
 */
typedef struct XactOp
{
	struct XactOp *next;		/* the one before */
	struct XactOp *chain;		/* same bucket, once there are some */
	uint64		seq;
	OpKind		kind;
	LbDefinition defn;			/* of the first three kinds */
	Oid			relation;		/* of the others: what was dropped */
	bool		attached;
	LbSharedBoard *shared;
	uint64		generation;
} XactOp;

/* Start of a subtransaction that has entries. */
typedef struct Mark
{
	int			level;
	uint64		seq;			/* first number of its own */
} Mark;

static uint64 next_seq = 1;
static FullTransactionId xact_xid;	/* from PRE_COMMIT on */
static bool published = false;
static MemoryContext kept_context = NULL;
static MemoryContext xact_context = NULL;	/* the same, once it is used */
static XactDef *xact_defs = NULL;
static XactBoard *xact_boards = NULL;
static XactBoard *last_board = NULL;
static XactDef **def_buckets = NULL;	/* NULL while there are few */
static uint32 ndef_buckets = 0;
static uint32 nxact_defs = 0;
static XactOp *xact_ops = NULL; /* the last one first */
static XactOp **op_buckets = NULL;	/* NULL while there are few */
static uint32 nop_buckets = 0;
static uint32 nxact_ops = 0;
static XactBoard **buckets = NULL;
static uint32 nbuckets = 0;
static uint32 nxact_boards = 0;
static Mark *marks = NULL;
static int	nmarks = 0;
static int	maxmarks = 0;

/* Definitions in whose nunknown we are.  Outlives the transaction's memory. */
typedef struct Counted
{
	LbSharedBoard *shared;
	uint64		generation;
} Counted;

static Counted *counted = NULL;
static int	ncounted = 0;
static int	max_counted = 0;

static object_access_hook_type prev_object_access_hook = NULL;
static ProcessUtility_hook_type prev_process_utility = NULL;

PG_FUNCTION_INFO_V1(lb_capture);
PG_FUNCTION_INFO_V1(lb_set_updated_at);

#define PREPARED_REASON "a prepared transaction has changed the table or the board"

static void captured_late(XactDef *xdef);

static inline Size
change_size(int width)
{
	return offsetof(Change, keys) + 2 * width * sizeof(int64);
}

static inline Change *
change_at(const Piece *piece, int width, int n)
{
	return (Change *) ((char *) piece->changes + n * change_size(width));
}

/* The number of the last change, of which there must be one. */
static inline uint64
last_seq(const XactBoard *board)
{
	return change_at(board->last, board->width, board->last->nchanges - 1)->seq;
}


/* ----------------------------------------------------------------
 *		The list
 * ----------------------------------------------------------------
 */

static void
xact_begin(void)
{
	/* Made once and reset at the end of each transaction that used it. */
	if (kept_context == NULL)
		kept_context = AllocSetContextCreate(TopMemoryContext,
											 "leaderboard transaction",
											 ALLOCSET_DEFAULT_SIZES);
	xact_context = kept_context;
}

/* Forget everything.  Only gives memory back. */
static void
xact_reset(void)
{
	published = false;
	if (xact_context == NULL)
		return;
	MemoryContextReset(xact_context);
	next_seq = 1;
	xact_context = NULL;
	xact_defs = NULL;
	xact_boards = NULL;
	last_board = NULL;
	def_buckets = NULL;
	ndef_buckets = 0;
	nxact_defs = 0;
	xact_ops = NULL;
	op_buckets = NULL;
	nop_buckets = 0;
	nxact_ops = 0;
	buckets = NULL;
	nbuckets = 0;
	nxact_boards = 0;
	marks = NULL;
	nmarks = 0;
	maxmarks = 0;
}

/* A number for something that happens now, in this subtransaction. */
static uint64
take_seq(void)
{
	int			level = GetCurrentTransactionNestLevel();

	if (level > 1 && (nmarks == 0 || marks[nmarks - 1].level < level))
	{
		if (nmarks == maxmarks)
		{
			int			newmax = Max(16, maxmarks * 2);

			marks = marks == NULL ?
				MemoryContextAlloc(xact_context, newmax * sizeof(Mark)) :
				repalloc(marks, newmax * sizeof(Mark));
			maxmarks = newmax;
		}
		marks[nmarks].level = level;
		marks[nmarks].seq = next_seq;
		nmarks++;
	}
	return next_seq++;
}

/* As many are found quickly enough without a hash table. */
#define FEW 16

static XactDef *
find_xact_def(const LbDefinition *defn)
{
	XactDef    *xdef;

	if (def_buckets == NULL)
	{
		for (xdef = xact_defs; xdef != NULL; xdef = xdef->next)
		{
			if (xdef->defn.id == defn->id &&
				xdef->defn.catalog == defn->catalog)
				return xdef;
		}
		return NULL;
	}
	for (xdef = def_buckets[defn->id & (ndef_buckets - 1)]; xdef != NULL;
		 xdef = xdef->chain)
	{
		if (xdef->defn.id == defn->id && xdef->defn.catalog == defn->catalog)
			return xdef;
	}
	return NULL;
}

/* One more in the list; can raise, and then it is not. */
static void
enter_xact_def(XactDef *xdef)
{
	if (nxact_defs >= Max(FEW, ndef_buckets))
	{
		uint32		n = nxact_defs * 4;
		XactDef   **table = MemoryContextAllocZero(xact_context,
												   n * sizeof(XactDef *));

		for (XactDef *each = xact_defs; each != NULL; each = each->next)
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
		XactDef   **head = &def_buckets[xdef->defn.id & (ndef_buckets - 1)];

		xdef->chain = *head;
		*head = xdef;
	}
	xdef->next = xact_defs;
	xact_defs = xdef;
	nxact_defs++;
}

static XactDef *
make_xact_def(LbDefinition *defn)
{
	XactDef    *xdef = find_xact_def(defn);

	if (xdef != NULL)
		return xdef;
	xact_begin();

	/* The copy will need it at PRE_COMMIT; the cache keeps it. */
	(void) lb_shared_board_attach(defn, false);
	xdef = MemoryContextAlloc(xact_context, sizeof(XactDef));
	memset(xdef, 0, offsetof(XactDef, defn));
	xdef->defn = *defn;
	enter_xact_def(xdef);
	return xdef;
}

/* From a number on: what is rolled back with it was not lost. */
static void
set_unknown(XactDef *xdef, uint64 seq, const char *reason)
{
	if (xdef->unknown)
		return;
	xdef->unknown = true;
	xdef->unknown_seq = seq;
	xdef->reason = reason;
}

static bool
is_board(const XactBoard *board, const LbDefinition *defn,
		 const LbValue *value)
{
	return board->xdef->defn.id == defn->id &&
		board->xdef->defn.catalog == defn->catalog &&
		board->value.len == value->len &&
		memcmp(board->value.data, value->data, value->len) == 0;
}

static XactBoard *
find_xact_board(const LbDefinition *defn, const LbValue *value, uint32 hash)
{
	XactBoard  *board;

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

static XactBoard *
make_xact_board(LbDefinition *defn, const LbValue *value)
{
	uint32		hash;
	XactBoard  *board;
	uint32		bucket;

	if (last_board != NULL && is_board(last_board, defn, value))
		return last_board;
	hash = defn->family ? lb_value_hash(value) : 0;
	board = find_xact_board(defn, value, hash);
	if (board != NULL)
		return last_board = board;

	xact_begin();
	if (nxact_boards >= nbuckets)
	{
		uint32		newsize = Max(16, nbuckets * 2);
		XactBoard **newbuckets;

		newbuckets = MemoryContextAllocZero(xact_context,
											newsize * sizeof(XactBoard *));
		for (board = xact_boards; board != NULL; board = board->next)
		{
			bucket = (board->hash ^ board->xdef->defn.id) & (newsize - 1);
			board->chain = newbuckets[bucket];
			newbuckets[bucket] = board;
		}
		buckets = newbuckets;
		nbuckets = newsize;
	}
	board = MemoryContextAllocZero(xact_context, sizeof(XactBoard));
	board->xdef = make_xact_def(defn);
	board->width = defn->width;
	board->hash = hash;
	board->value.len = value->len;
	if (value->len > 0)
	{
		char	   *copy = MemoryContextAlloc(xact_context, value->len);

		memcpy(copy, value->data, value->len);
		board->value.data = copy;
	}
	else
		board->value.data = "";
	board->next = xact_boards;
	xact_boards = board;
	board->next_of_def = board->xdef->boards;
	board->xdef->boards = board;
	bucket = (hash ^ defn->id) & (nbuckets - 1);
	board->chain = buckets[bucket];
	buckets[bucket] = board;
	nxact_boards++;
	return last_board = board;
}

/* Room for more changes.  Returns false if there is no memory. */
static bool
add_piece(XactBoard *board)
{
	int			max = board->last == NULL ? FIRST_PIECE :
		Min(board->last->maxchanges * 2, MAX_PIECE);
	Piece	   *piece = NULL;

	if (board->nchanges <= INT_MAX - max)
		piece = MemoryContextAllocExtended(xact_context,
										   offsetof(Piece, changes) +
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

/* Append a change; old or new may be NULL. */
static void
add_change(LbDefinition *defn, const LbValue *value, const int64 *old,
		   const int64 *new, CommandId cid)
{
	XactBoard  *board = make_xact_board(defn, value);
	uint64		seq = take_seq();	/* can raise, so first */
	int			width = board->width;
	Piece	   *piece = board->last;
	Change	   *change;

	if (piece == NULL || piece->nchanges == piece->maxchanges)
	{
		if (!add_piece(board))
		{
			set_unknown(board->xdef, seq, NULL);
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
take_out_last(XactBoard *board, OwnSums *own)
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
drop_change(XactBoard *board)
{
	Piece	   *piece = board->last;

	board->nchanges--;
	if (--piece->nchanges > 0 || piece->prev == NULL)
		return;
	board->last = piece->prev;
	board->last->next = NULL;
	pfree(piece);
}

static uint64
last_truncate(const XactDef *xdef)
{
	return xdef->ntruncates == 0 ? 0 : xdef->truncates[xdef->ntruncates - 1];
}

/* Cut off everything from number seq on. */
static void
cut_off(uint64 seq)
{
	for (XactBoard *board = xact_boards; board != NULL; board = board->next)
	{
		int			ndropped = 0;

		while (board->nchanges > 0 && last_seq(board) >= seq)
		{
			/* Not for long: the callback cannot be interrupted. */
			ndropped++;
			for (int i = 0; i < MAX_OWN_SUMS; i++)
			{
				OwnSums    *own = &board->own[i];

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
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		while (xdef->ntruncates > 0 && last_truncate(xdef) >= seq)
			xdef->ntruncates--;
		if (xdef->unknown && xdef->unknown_seq >= seq)
		{
			xdef->unknown = false;
			xdef->reason = NULL;
		}
	}
	while (xact_ops != NULL && xact_ops->seq >= seq)
	{
		/* The newest is the first in its bucket. */
		if (op_buckets != NULL)
			op_buckets[xact_ops->defn.id & (nop_buckets - 1)] = xact_ops->chain;
		xact_ops = xact_ops->next;
		nxact_ops--;
	}
}


/* ----------------------------------------------------------------
 *		Net changes
 * ----------------------------------------------------------------
 */

/*
 * The changes of a board that count for a command id, in memory of context.
 * Returns false if there is none.
 */
static bool
counted_changes(const XactBoard *board, CommandId curcid,
				MemoryContext context, LbChanges *changes)
{
	uint64		from = last_truncate(board->xdef);
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
	for (Piece *piece = board->first; piece != NULL; piece = piece->next)
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
own_sums_are_for(const OwnSums *own, CommandId curcid, uint64 truncate)
{
	if (own->sums == NULL || own->sums->broken || own->truncate != truncate)
		return false;
	if (curcid >= own->cid)
		return own->nleft == 0 || own->min_left >= curcid;
	return own->max_taken < curcid;
}

/* Begin anew.  Returns false if there is no memory. */
static bool
own_sums_begin(XactBoard *board, OwnSums *own, CommandId curcid,
			   uint64 truncate)
{
	if (own->sums != NULL)
		lb_sums_free(own->sums);
	own->sums = lb_sums_make(xact_context, board->width,
							 board->xdef->defn.member_words);
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
own_sums_go_on(XactBoard *board, OwnSums *own)
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
own_sums(XactBoard *board, CommandId curcid)
{
	uint64		truncate = last_truncate(board->xdef);
	OwnSums    *own = NULL;

	for (int i = 0; i < MAX_OWN_SUMS && own == NULL; i++)
	{
		if (own_sums_are_for(&board->own[i], curcid, truncate))
			own = &board->own[i];
	}
	if (own == NULL)
	{
		own = &board->own[0];
		for (int i = 1; i < MAX_OWN_SUMS; i++)
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
own_overlay(XactBoard *board, CommandId curcid)
{
	LbDefinition *defn = &board->xdef->defn;
	uint64		truncate = last_truncate(board->xdef);
	uint64		seq = last_seq(board);
	LbOverlay  *overlay;
	LbChanges	changes;
	MemoryContext old;

	if (board->overlay != NULL && board->overlay_seq == seq &&
		board->overlay_truncate == truncate && board->overlay_cid == curcid)
		return board->overlay;

	if (board->overlay_context == NULL)
		board->overlay_context = AllocSetContextCreate(xact_context,
													   "leaderboard overlay",
													   ALLOCSET_SMALL_SIZES);
	board->overlay = NULL;
	MemoryContextReset(board->overlay_context);
	if (!counted_changes(board, curcid, board->overlay_context, &changes))
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
	XactDef    *xdef;
	XactBoard  *board;

	memset(own, 0, sizeof(LbOwn));
	if (xact_defs == NULL)
		return true;
	xdef = find_xact_def(defn);
	if (xdef == NULL)
		return true;
	if (xdef->unknown)
		return false;
	own->truncated = xdef->ntruncates > 0;
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

bool
lb_altered_here(const LbDefinition *defn)
{
	XactDef    *xdef = find_xact_def(defn);

	return xdef != NULL && xdef->unknown;
}

bool
lb_changed_here(Oid source)
{
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		if (xdef->defn.source == source)
			return true;
	}
	return false;
}


/* ----------------------------------------------------------------
 *		The triggers
 * ----------------------------------------------------------------
 */

bool
lb_row_key(LbDefinition *defn, TupleTableSlot *slot, int64 *key,
		   LbValue *value, char *digits)
{
	Datum		d;
	bool		isnull;

	if (defn->ranked_attno != InvalidAttrNumber)
	{
		d = slot_getattr(slot, defn->ranked_attno, &isnull);
		if (isnull || !DatumGetBool(d))
			return false;
	}
	for (int i = 0; i < defn->ncolumns; i++)
	{
		LbRankColumn *column = &defn->columns[i];

		d = slot_getattr(slot, column->attno, &isnull);
		if (isnull)
			return false;
		key[i] = lb_directed(lb_encode(d, column->type), column->descending);
	}
	d = slot_getattr(slot, defn->member_attno, &isnull);
	if (isnull)
		return false;
	key[defn->ncolumns] = lb_encode(d, defn->member_type);

	value->len = 0;
	value->data = "";
	if (defn->family)
	{
		d = slot_getattr(slot, defn->board_attno, &isnull);
		if (isnull)
			return false;
		lb_datum_value(defn->board_type, d, value, digits);
		if (value->len > LB_MAX_VALUE)
			return false;
	}
	return true;
}

void
lb_datum_value(Oid type, Datum d, LbValue *value, char *digits)
{
	if (type == TEXTOID || type == VARCHAROID)
	{
		text	   *t = DatumGetTextPP(d);

		value->data = VARDATA_ANY(t);
		value->len = VARSIZE_ANY_EXHDR(t);
	}
	else
	{
		value->len = pg_lltoa(lb_encode(d, type), digits);
		value->data = digits;
	}
}

static void
rows_unknown(LbDefinition *defn, const char *reason)
{
	XactDef    *xdef = make_xact_def(defn);

	if (!xdef->unknown)
		set_unknown(xdef, take_seq(), reason);
}

static void
capture_row(LbDefinition *defn, TriggerData *trigger)
{
	TupleTableSlot *oldslot = NULL;
	TupleTableSlot *newslot = NULL;
	int64		oldkey[LB_MAX_WIDTH];
	int64		newkey[LB_MAX_WIDTH];
	LbValue		oldvalue;
	LbValue		newvalue;
	char		olddigits[32];
	char		newdigits[32];
	bool		had;
	bool		has;
	bool		same_board;
	CommandId	oldcid = InvalidCommandId;
	CommandId	newcid = InvalidCommandId;

	if (defn->problem != NULL)
	{
		rows_unknown(defn, NULL);
		return;
	}
	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		newslot = trigger->tg_trigslot;
	else if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		oldslot = trigger->tg_trigslot;
	else
	{
		oldslot = trigger->tg_trigslot;
		newslot = trigger->tg_newslot;
	}
	had = oldslot != NULL &&
		lb_row_key(defn, oldslot, oldkey, &oldvalue, olddigits);
	has = newslot != NULL &&
		lb_row_key(defn, newslot, newkey, &newvalue, newdigits);
	same_board = had && has && oldvalue.len == newvalue.len &&
		memcmp(oldvalue.data, newvalue.data, oldvalue.len) == 0;
	if (same_board && lb_words_cmp(oldkey, newkey, defn->width) == 0)
		return;

	if (had)
		oldcid = HeapTupleHeaderGetCmax(trigger->tg_trigtuple->t_data);
	if (has)
	{
		HeapTupleHeader tuple = newslot == trigger->tg_trigslot ?
			trigger->tg_trigtuple->t_data : trigger->tg_newtuple->t_data;

		/* COPY FREEZE rows are there for everybody at once. */
		newcid = HeapTupleHeaderXminFrozen(tuple) ? FirstCommandId :
			HeapTupleHeaderGetCmin(tuple);
	}

	/* An entry is of one member, and of one board. */
	if (same_board && oldcid == newcid &&
		oldkey[defn->ncolumns] == newkey[defn->ncolumns])
		add_change(defn, &oldvalue, oldkey, newkey, oldcid);
	else
	{
		if (had)
			add_change(defn, &oldvalue, oldkey, NULL, oldcid);
		if (has)
			add_change(defn, &newvalue, NULL, newkey, newcid);
	}
}

static void
capture_truncate(LbDefinition *defn)
{
	XactDef    *xdef = make_xact_def(defn);

	/*
	 * Other triggers of the TRUNCATE, fired before ours, may have written
	 * rows after the table was emptied, or before.
	 */
	for (XactBoard *board = xdef->boards; board != NULL;
		 board = board->next_of_def)
	{
		if (board->nchanges > 0 && last_seq(board) >= xdef->truncate_began)
			rows_unknown(defn, "another trigger has written to the table in a TRUNCATE");
	}
	if (xdef->ntruncates == xdef->maxtruncates)
	{
		int			newmax = Max(4, xdef->maxtruncates * 2);

		xdef->truncates = xdef->truncates == NULL ?
			MemoryContextAlloc(xact_context, newmax * sizeof(uint64)) :
			repalloc(xdef->truncates, newmax * sizeof(uint64));
		xdef->maxtruncates = newmax;
	}
	xdef->truncates[xdef->ntruncates++] = take_seq();
}

/* Whether it is this trigger by which the table is captured. */
static bool
is_our_trigger(const TriggerData *trigger, Oid capture)
{
	const Trigger *ours;

	ours = lb_capture_trigger(trigger->tg_relation, capture,
							  TRIGGER_FIRED_FOR_ROW(trigger->tg_event), true);
	return ours != NULL && ours->tgoid == trigger->tg_trigger->tgoid;
}

/*
 * The trigger of every source, for each row and for TRUNCATE.
 */
Datum
lb_capture(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	LbDefinition **defns;
	int			n;
	const LbCatalog *cat;
	bool		version_ok;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"lb_capture")));

	/*
	 * Without shared memory there is no index that could become wrong.  Nor
	 * do we listen to triggers that somebody else has made of this function;
	 * they let every row pass as it is.
	 */
	cat = lb_shared == NULL ? NULL : lb_catalog();
	if (cat == NULL || !is_our_trigger(trigger, cat->capture))
		return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ?
							   trigger->tg_newtuple : trigger->tg_trigtuple);

	version_ok = cat->version_ok;
	n = lb_defns_of_rows(trigger->tg_relation, &defns);
	for (int i = 0; i < n; i++)
	{
		if (published)
			captured_late(make_xact_def(defns[i]));
		else if (!version_ok)
			rows_unknown(defns[i], NULL);
		else if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
			capture_row(defns[i], trigger);
		else if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
			capture_truncate(defns[i]);
	}
	PG_RETURN_POINTER(NULL);
}

/*
 * The columns of a default table, by their names or, where one has been renamed,
 * by what a board of the table ranks by.  Returns false if there are none.
 */
static bool
find_score_and_time(Relation rel, int *score, int *updated_at)
{
	TupleDesc	desc = RelationGetDescr(rel);
	LbDefinition **defns;
	int			n;

	*score = SPI_fnumber(desc, "score");
	*updated_at = SPI_fnumber(desc, "updated_at");
	if (*score > 0 && TupleDescAttr(desc, *score - 1)->atttypid != INT8OID)
		*score = 0;
	if (*updated_at > 0 &&
		TupleDescAttr(desc, *updated_at - 1)->atttypid != TIMESTAMPTZOID)
		*updated_at = 0;
	if (*score > 0 && *updated_at > 0)
		return true;
	if (lb_shared == NULL)
		return false;
	n = lb_defns_of_rows(rel, &defns);
	for (int i = 0; i < n; i++)
	{
		const LbDefinition *defn = defns[i];
		int			time = 0;

		for (int c = 1; c < defn->ncolumns && time == 0; c++)
		{
			AttrNumber	attno = defn->columns[c].attno;

			if (attno > 0 &&
				TupleDescAttr(desc, attno - 1)->atttypid == TIMESTAMPTZOID)
				time = attno;
		}
		if (*updated_at > 0)
			time = *updated_at;
		if (time == 0 || defn->columns[0].attno <= 0)
			continue;
		if (*score <= 0)
			*score = defn->columns[0].attno;
		*updated_at = time;
		return true;
	}
	return false;
}

/*
 * BEFORE UPDATE trigger of the default tables: a score that changes is
 * reached now, unless the statement says when.  What has none of the columns
 * passes as it is: a write does not fail because of us.
 */
Datum
lb_set_updated_at(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	TupleDesc	desc;
	int			score;
	int			updated_at;
	Datum		oldscore;
	Datum		newscore;
	bool		oldnull;
	bool		newnull;
	HeapTuple	tuple;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired BEFORE UPDATE FOR EACH ROW",
						"lb_set_updated_at")));

	desc = RelationGetDescr(trigger->tg_relation);
	tuple = trigger->tg_newtuple;
	if (!find_score_and_time(trigger->tg_relation, &score, &updated_at) ||
		bms_is_member(updated_at - FirstLowInvalidHeapAttributeNumber,
					  trigger->tg_updatedcols))
		return PointerGetDatum(tuple);

	/* A score is of an integer type, passed by value. */
	oldscore = heap_getattr(trigger->tg_trigtuple, score, desc, &oldnull);
	newscore = heap_getattr(tuple, score, desc, &newnull);
	if (oldnull != newnull || (!newnull && oldscore != newscore))
	{
		Datum		now = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
		bool		isnull = false;

		tuple = heap_modify_tuple_by_cols(tuple, desc, 1, &updated_at, &now,
										  &isnull);
	}
	return PointerGetDatum(tuple);
}


/* ----------------------------------------------------------------
 *		Boards and tables that come and go
 * ----------------------------------------------------------------
 */

/*
 * Enter what comes after all others; can raise, and then it is not entered.
 * Those without a definition are in a bucket too, and never looked for there.
 */
static void
enter_op(XactOp *op)
{
	XactOp	  **head;

	if (nxact_ops >= Max(FEW, nop_buckets))
	{
		uint32		n = nxact_ops * 4;
		XactOp	  **table = MemoryContextAllocZero(xact_context,
												   n * sizeof(XactOp *));
		XactOp	  **tails = MemoryContextAllocZero(xact_context,
												   n * sizeof(XactOp *));

		for (XactOp *each = xact_ops; each != NULL; each = each->next)
		{
			uint32		b = each->defn.id & (n - 1);

			/* The newest stays the first. */
			each->chain = NULL;
			if (tails[b] == NULL)
				table[b] = each;
			else
				tails[b]->chain = each;
			tails[b] = each;
		}
		pfree(tails);
		if (op_buckets != NULL)
			pfree(op_buckets);
		op_buckets = table;
		nop_buckets = n;
	}
	if (op_buckets != NULL)
	{
		head = &op_buckets[op->defn.id & (nop_buckets - 1)];
		op->chain = *head;
		*head = op;
	}
	op->next = xact_ops;
	xact_ops = op;
	nxact_ops++;
}

/* defn is NULL where relation is what was dropped. */
static void
add_op(OpKind kind, const LbDefinition *defn, Oid relation)
{
	XactOp	   *op;

	xact_begin();
	op = MemoryContextAllocZero(xact_context, sizeof(XactOp));
	op->kind = kind;
	op->relation = relation;
	if (defn != NULL)
		op->defn = *defn;
	op->seq = take_seq();
	enter_op(op);
}

void
lb_note_created(const LbDefinition *defn)
{
	add_op(OP_CREATED, defn, InvalidOid);
}

void
lb_note_dropped(const LbDefinition *defn)
{
	add_op(OP_DROPPED, defn, InvalidOid);
}

/*
 * Its table is locked against writers, but not against readers: until the
 * definition is gone they must not find an index that has not followed us.
 */
void
lb_note_erased(LbDefinition *defn)
{
	rows_unknown(defn, "lb_board was changed by hand");
	lb_note_dropped(defn);
}

static bool
has_op(OpKind kind, Oid catalog, int32 id)
{
	XactOp	   *op = op_buckets == NULL ? xact_ops :
		op_buckets[id & (nop_buckets - 1)];

	for (; op != NULL; op = op_buckets == NULL ? op->next : op->chain)
	{
		if (op->kind == kind && op->defn.id == id &&
			op->defn.catalog == catalog)
			return true;
	}
	return false;
}

bool
lb_created_here(const LbDefinition *defn)
{
	return has_op(OP_CREATED, defn->catalog, defn->id);
}

bool
lb_dropped_here(Oid catalog, int32 id)
{
	return has_op(OP_DROPPED, catalog, id);
}

/* What pg_trigger says of a trigger. */
typedef struct TriggerFacts
{
	Oid			table;
	Oid			function;
	Oid			parent;			/* that it is a clone of, on a partition */
} TriggerFacts;

/*
 * Look a trigger up, as a snapshot sees it, or with NULL as the command that
 * runs has found it.  Returns whether it is there.
 */
static bool
read_trigger(Oid trigger, Snapshot snapshot, TriggerFacts *facts)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(trigger));
	scan = systable_beginscan(rel, TriggerOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	found = HeapTupleIsValid(tuple);
	if (found)
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		facts->table = form->tgrelid;
		facts->function = form->tgfoid;
		facts->parent = form->tgparentid;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * A table's triggers or a column were altered, or those of a partition.  From
 * here on rows may change without our triggers, even if these are enabled
 * again before the commit: the board goes offline with it, and is built again.
 * Returns whether there is such a board.
 */
static bool
source_altered(Oid relid, AttrNumber attno)
{
	LbDefinition **defns;
	int			n;
	List	   *ancestors = NIL;
	bool		any = false;

	/* Nothing of ours in this database, or its catalog is being made. */
	if (!OidIsValid(relid) || lb_catalog() == NULL)
		return false;
	n = lb_all_defns(&defns);
	if (n > 0 && get_rel_relispartition(relid))
		ancestors = get_partition_ancestors(relid);
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = defns[i];
		bool		ours = attno == 0;

		if (lb_created_here(defn))
			continue;
		if (defn->source != relid)
		{
			/* A partition's columns have numbers of their own. */
			if (!list_member_oid(ancestors, defn->source))
				continue;
			ours = true;
		}
		ours |= lb_uses_column(defn, attno) || !defn->resolved;
		if (ours)
			rows_unknown(defn, "the table or its triggers were altered");
		any |= ours;
	}
	return any;
}

/* Whether the command that runs has given a column another name. */
static bool
has_new_name(Oid relid, AttrNumber attno)
{
	const char *before = get_attname(relid, attno, true);
	Relation	rel = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		result = false;

	ScanKeyInit(&keys[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber,
				F_INT2EQ, Int16GetDatum(attno));
	scan = systable_beginscan(rel, AttributeRelidNumIndexId, true,
							  SnapshotSelf, 2, keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple) && before != NULL)
	{
		Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);

		result = strcmp(NameStr(form->attname), before) != 0;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * Returns whether a column was renamed, which changes no rows.  The boards that
 * use it follow when the statement has ended, for the catalogs do not show the
 * new name before.  Until then, remember where their columns are.  A partition's
 * columns are renamed with those of its table, whose boards follow.
 */
static bool
column_renamed(Oid relid, AttrNumber attno)
{
	const LbCatalog *cat = lb_catalog();
	LbDefinition **defns;
	int			n;

	if (cat == NULL || !cat->version_ok || !has_new_name(relid, attno))
		return false;
	n = lb_defns_of(relid, &defns);
	for (int i = 0; i < n; i++)
	{
		/* Once, if an event trigger renames within the statement. */
		if (lb_uses_column(defns[i], attno) &&
			!has_op(OP_RENAMED, defns[i]->catalog, defns[i]->id))
			add_op(OP_RENAMED, defns[i], InvalidOid);
	}
	return true;
}

/*
 * After a statement.  What earlier ones have renamed is not recorded by its old
 * number any more; a statement of an event trigger leaves what the one that it
 * is part of has renamed to that.
 */
static void
follow_renames(void)
{
	for (XactOp *op = xact_ops; op != NULL; op = op->next)
	{
		if (op->kind == OP_RENAMED)
			lb_follow_rename(&op->defn);
	}
}

/*
 * The capture trigger of a table was altered or is dropped.  That of a partition
 * is a clone, and leads to the table that it comes from even where the partition
 * does not any more (DETACH).
 */
static void
capture_altered(TriggerFacts facts)
{
	TriggerFacts parent;

	while (OidIsValid(facts.parent) &&
		   read_trigger(facts.parent, SnapshotSelf, &parent))
		facts = parent;
	(void) source_altered(facts.table, 0);
}

/* A trigger was altered or is dropped. */
static void
trigger_altered(Oid trigger)
{
	const LbCatalog *cat = lb_catalog();
	TriggerFacts facts;

	if (cat != NULL && read_trigger(trigger, SnapshotSelf, &facts) &&
		facts.function == cat->capture)
		capture_altered(facts);
}

/*
 * A trigger came to be, or has replaced one (CREATE OR REPLACE).  If either is of
 * our function, the table may not be captured as before.
 *
 * Clones follow the trigger that they come from.  But by one that is new, a table
 * has become a partition.  If it brings rows along, no trigger fires for them.
 */
static void
trigger_created(Oid trigger)
{
	const LbCatalog *cat = lb_catalog();
	Oid			capture;
	TriggerFacts facts;
	TriggerFacts before;
	Relation	rel;
	bool		altered;

	if (cat == NULL)
		return;
	capture = cat->capture;
	if (!read_trigger(trigger, SnapshotSelf, &facts))
		return;
	if (!OidIsValid(facts.parent))
		altered = facts.function == capture ||
			(read_trigger(trigger, NULL, &before) &&
			 before.function == capture);
	else if (facts.function == capture)
	{
		rel = relation_open(facts.table, AccessShareLock);
		altered = rel->rd_rel->relkind == RELKIND_RELATION &&
			RelationGetNumberOfBlocks(rel) > 0;
		relation_close(rel, AccessShareLock);
	}
	else
		altered = false;
	if (altered)
		capture_altered(facts);
}

/*
 * Before any trigger of the TRUNCATE.  Of a partitioned table this is called
 * for the table itself and then for all its partitions.
 */
static void
truncate_begins(Oid relid)
{
	LbDefinition **defns;
	int			n;
	List	   *ancestors = NIL;
	CommandId	cid = GetCurrentCommandId(false);
	SubTransactionId subid = GetCurrentSubTransactionId();
	uint64		began = next_seq;

	if (lb_catalog() == NULL)
		return;
	n = lb_all_defns(&defns);
	if (n > 0 && get_rel_relispartition(relid))
		ancestors = get_partition_ancestors(relid);
	for (int i = 0; i < n; i++)
	{
		XactDef    *xdef;

		if (defns[i]->source == relid)
		{
			xdef = make_xact_def(defns[i]);
			xdef->truncate_began = next_seq;
			xdef->truncate_cid = cid;
			xdef->truncate_subid = subid;
		}
		else if (list_member_oid(ancestors, defns[i]->source))
		{
			/* Nothing of ours is fired for a partition by itself. */
			xdef = find_xact_def(defns[i]);
			if (xdef == NULL || xdef->truncate_began != next_seq ||
				xdef->truncate_cid != cid || xdef->truncate_subid != subid)
				rows_unknown(defns[i], "a partition was truncated");
		}
	}
	if (next_seq == began)
		return;

	/* That has taken a number, but the TRUNCATE goes on. */
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		if (xdef->truncate_began == began && xdef->truncate_cid == cid &&
			xdef->truncate_subid == subid)
			xdef->truncate_began = next_seq;
	}
}

/* The directory follows DROP TABLE, DROP EXTENSION and their like. */
static void
object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId,
			  void *arg)
{
	if (prev_object_access_hook)
		prev_object_access_hook(access, classId, objectId, subId, arg);

	if (lb_shared == NULL)
		return;
	if (access == OAT_DROP && classId == RelationRelationId && subId == 0 &&
		!dlist_is_empty(&lb_shared->defs))
	{
		bool		source;
		bool		cat;

		lb_shared_board_look_up(objectId, &source, &cat);
		if (source)
			add_op(OP_SOURCE_DROPPED, NULL, objectId);
		if (cat)
			add_op(OP_CATALOG_DROPPED, NULL, objectId);
	}
	else if (access == OAT_DROP && classId == DatabaseRelationId)
		add_op(OP_DATABASE_DROPPED, NULL, objectId);
	else if ((access == OAT_POST_ALTER || access == OAT_DROP) &&
			 classId == TriggerRelationId)
		trigger_altered(objectId);
	else if (access == OAT_POST_CREATE && classId == TriggerRelationId)
		trigger_created(objectId);
	else if (access == OAT_TRUNCATE && classId == RelationRelationId)
		truncate_begins(objectId);
	else if ((access == OAT_POST_ALTER && classId == RelationRelationId) ||
			 (access == OAT_DROP && classId == RelationRelationId && subId != 0))
	{
		if (access != OAT_POST_ALTER || subId == 0 ||
			!column_renamed(objectId, subId))
			(void) source_altered(objectId, subId);
	}
	else if (access == OAT_POST_ALTER && classId == ExtensionRelationId)
	{
		/* ALTER EXTENSION UPDATE changes the version that we compare with. */
		const LbCatalog *known = lb_catalog();

		if (known != NULL && known->extension == objectId)
			CacheInvalidateRelcacheByRelid(known->lb_board);
	}
}

/*
 * DETACH PARTITION CONCURRENTLY takes the partition's rows away from new
 * queries by a first transaction, for which no other hook is called; the
 * triggers go in a second one.  Who is writing to the partition itself must
 * have ended before: his changes are captured for a board that, built again
 * meanwhile, would not know the partition.  Later ones find that it is none.
 */
static void
detach_begins(Oid relid, RangeVar *name)
{
	Oid			part;

	/* Locks are for who may do it; the others get their error from it. */
	if (!OidIsValid(relid) ||
		!pg_class_ownercheck(relid, GetUserId()) ||
		!source_altered(relid, 0))
		return;
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	part = RangeVarGetRelid(name, NoLock, true);
	if (OidIsValid(part) && get_rel_relispartition(part) &&
		get_partition_parent(part, true) == relid)
	{
		List	   *parts;
		List	   *tags = NIL;
		ListCell   *lc;

		/*
		 * Waiting in line for a ShareLock keeps all later writers waiting as
		 * well.  So wait for those who are there without being in line,
		 * VACUUM and the like first, and get in line behind the few who have
		 * come meanwhile.
		 */
		LockRelationOid(part, ShareUpdateExclusiveLock);
		parts = find_all_inheritors(part, ShareUpdateExclusiveLock, NULL);
		foreach(lc, parts)
		{
			LOCKTAG    *tag = palloc(sizeof(LOCKTAG));

			SET_LOCKTAG_RELATION(*tag, MyDatabaseId, lfirst_oid(lc));
			tags = lappend(tags, tag);
		}
		WaitForLockersMultiple(tags, ShareLock, false);
		foreach(lc, parts)
			LockRelationOid(lfirst_oid(lc), ShareLock);
	}
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest,
				QueryCompletion *qc)
{
	XactOp	   *ops = xact_ops;

	if (lb_shared != NULL && IsA(pstmt->utilityStmt, AlterTableStmt))
	{
		AlterTableStmt *stmt = (AlterTableStmt *) pstmt->utilityStmt;
		ListCell   *lc;

		foreach(lc, stmt->cmds)
		{
			AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

			if (cmd->subtype == AT_DetachPartition &&
				((PartitionCmd *) cmd->def)->concurrent)
				detach_begins(RangeVarGetRelid(stmt->relation, NoLock, true),
							  ((PartitionCmd *) cmd->def)->name);
		}
	}
	if (prev_process_utility)
		prev_process_utility(pstmt, queryString, readOnlyTree, context, params,
							 queryEnv, dest, qc);
	else
		standard_ProcessUtility(pstmt, queryString, readOnlyTree, context,
								params, queryEnv, dest, qc);
	/* The statement has added some. */
	if (xact_ops != ops)
		follow_renames();
}


/* ----------------------------------------------------------------
 *		Transaction callbacks
 * ----------------------------------------------------------------
 */

/*
 * An apply worker truncates without asking the object access hook, and
 * partitions have no TRUNCATE trigger of ours.  It has locked them like nobody
 * else who changes rows.
 */
static void
find_worker_truncates(void)
{
	LbDefinition **defns;
	int			n;

	if (!FullTransactionIdIsValid(GetTopFullTransactionIdIfAny()) ||
		lb_catalog() == NULL)
		return;
	n = lb_all_defns(&defns);
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = defns[i];
		List	   *parts;
		ListCell   *lc;

		if (get_rel_relkind(defn->source) != RELKIND_PARTITIONED_TABLE)
			continue;
		parts = find_all_inheritors(defn->source, NoLock, NULL);
		foreach(lc, parts)
		{
			LOCKTAG		tag;

			SET_LOCKTAG_RELATION(tag, MyDatabaseId, lfirst_oid(lc));
#if PG_VERSION_NUM >= 170000
			if (LockHeldByMe(&tag, AccessExclusiveLock, false))
#else
			if (LockHeldByMe(&tag, AccessExclusiveLock))
#endif
			{
				rows_unknown(defn, "a partition was truncated");
				break;
			}
		}
		list_free(parts);
	}
}

/* Find the definition in shared memory, or enter it.  Never raises. */
static bool
attach(LbDefinition *defn, LbSharedBoard **shared, uint64 *generation)
{
	*shared = lb_shared_board_attach(defn, true);
	*generation = defn->generation;
	return *shared != NULL;
}

/* Returns false if the board's changes become unknown. */
static bool
publish_board(XactBoard *board, FullTransactionId xid, bool prepare)
{
	LbChanges	changes;
	int64	   *entries;
	bool		ambiguous;
	int			n;

	if (!counted_changes(board, InvalidCommandId, xact_context, &changes))
		return false;
	if (changes.n == 0)
		return true;
	if (lb_changes_are_net(&changes))
	{
		entries = changes.words;
		n = changes.n;
	}
	else
	{
		entries = MemoryContextAllocExtended(xact_context,
											 (Size) changes.n *
											 lb_entry_words(board->width) *
											 sizeof(int64),
											 MCXT_ALLOC_HUGE |
											 MCXT_ALLOC_NO_OOM);
		if (entries == NULL)
			return false;
		n = lb_net_changes(&changes, entries, &ambiguous);
		pfree(changes.words);
		if (ambiguous)
			return false;
	}
	if (n == 0)
		return true;
	board->pub = lb_publish(board->xdef->shared, board->xdef->generation,
							&board->value, board->hash, xid, entries, n,
							prepare);
	return board->pub != NULL;
}

/*
 * A reader that looked at the index after we wrote the rows, but before we
 * published, knows nothing of us: find its lock now.
 */
static void
check_serializable(XactDef *xdef)
{
	/*
	 * Without a lock: who has written to a partition has none on the source,
	 * and must not wait for it now.
	 */
	Relation	rel = RelationIdGetRelation(xdef->defn.source);

	if (rel == NULL)
		return;
	CheckForSerializableConflictIn(rel, NULL, InvalidBlockNumber);
	RelationClose(rel);
}

/*
 * From here to the transaction's end, readers of the definition run their
 * queries.
 */
static void
count_unknown(XactDef *xdef)
{
	lb_note_unknown(&xdef->shared->unknown, xact_xid);
	if (xdef->counted)
		return;
	if (ncounted == max_counted)
	{
		int			n = Max(8, max_counted * 2);
		Counted    *more = MemoryContextAllocExtended(TopMemoryContext,
													  n * sizeof(Counted),
													  MCXT_ALLOC_NO_OOM);

		/* No reason for the commit to fail. */
		if (more == NULL)
		{
			lb_shared_board_offline(xdef->shared, "changes of a transaction could not be kept",
									true);
			return;
		}
		if (counted != NULL)
		{
			memcpy(more, counted, ncounted * sizeof(Counted));
			pfree(counted);
		}
		counted = more;
		max_counted = n;
	}
	counted[ncounted].shared = xdef->shared;
	counted[ncounted].generation = xdef->generation;
	ncounted++;
	pg_atomic_fetch_add_u32(&xdef->shared->nunknown, 1);
	xdef->counted = true;
}

/*
 * The transaction has ended, and others have been told what it has done to
 * triggers, which comes after the callbacks: who builds looks at the count, for
 * what his relcache has may be of before.
 */
static void
resources_released(ResourceReleasePhase phase, bool isCommit,
				   bool isTopLevel, void *arg)
{
	if (phase != RESOURCE_RELEASE_AFTER_LOCKS || !isTopLevel || ncounted == 0)
		return;

	/* No lock of ours keeps the definition from being removed any more. */
	LWLockAcquire(&lb_shared->directory_lock, LW_SHARED);
	while (ncounted > 0)
	{
		const Counted *c = &counted[--ncounted];

		if (c->shared->generation == c->generation)
			pg_atomic_fetch_sub_u32(&c->shared->nunknown, 1);
	}
	LWLockRelease(&lb_shared->directory_lock);
	lb_wake_launcher();
}

/*
 * A PRE_COMMIT callback of somebody else, after ours, has written to the
 * table.  What is published is not everything.
 */
static void
captured_late(XactDef *xdef)
{
	xact_xid = GetTopFullTransactionIdIfAny();
	xdef->unknown = true;
	if (!xdef->attached)
		xdef->attached = attach(&xdef->defn, &xdef->shared, &xdef->generation);
	if (xdef->attached)
		count_unknown(xdef);
	else
		lb_note_unknown_here(xact_xid);
}

/*
 * The transaction that is about to be prepared has changes of a definition's rows
 * that are not kept, or creates or drops the definition itself.  Nobody will be
 * there to follow when it ends: so the boards are offline until then, and a
 * worker looks what is recorded.
 */
static void
leave_to_prepared(LbSharedBoard *shared)
{
	lb_note_unknown(&shared->unknown, xact_xid);
	lb_shared_board_offline(shared, PREPARED_REASON, true);
}

static void
leave_visited_to_prepared(LbSharedBoard *shared, void *arg)
{
	leave_to_prepared(shared);
}

/*
 * Before the commit record, or before the transaction is prepared.
 */
static void
publish(bool prepare)
{
	FullTransactionId xid = GetTopFullTransactionIdIfAny();

	xact_xid = xid;

	/* What has begun has failed, or was rolled back, and nothing was written. */
	if (!FullTransactionIdIsValid(xid))
		return;

	/* A subtransaction that was rolled back may have left nothing to do. */
	for (XactBoard *board = xact_boards; board != NULL; board = board->next)
		board->xdef->needed |= board->nchanges > 0;
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		if (!xdef->needed && !xdef->unknown && xdef->ntruncates == 0)
			continue;
		xdef->attached = attach(&xdef->defn, &xdef->shared, &xdef->generation);

		/* A build that comes to be must not overlook us. */
		if (!xdef->attached)
			lb_note_unknown_here(xid);

		/* Nobody will be there to empty the board. */
		if (prepare && xdef->ntruncates > 0)
			xdef->unknown = true;
	}
	for (XactBoard *board = xact_boards; board != NULL; board = board->next)
	{
		XactDef    *xdef = board->xdef;

		if (!xdef->attached || xdef->unknown ||
			publish_board(board, xid, prepare))
			continue;
		xdef->unknown = true;
		if (xdef->shared->generation == xdef->generation)
			continue;

		/* It was taken for one that is not recorded, and removed. */
		xdef->attached = attach(&xdef->defn, &xdef->shared, &xdef->generation);
		if (!xdef->attached)
			lb_note_unknown_here(xid);
	}
	if (IsolationIsSerializable())
	{
		for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
			check_serializable(xdef);
	}
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		if (!xdef->attached || !xdef->unknown)
			continue;
		if (prepare)
			leave_to_prepared(xdef->shared);
		else
			count_unknown(xdef);
	}
}

static void
pre_commit(void)
{
	for (XactOp *op = xact_ops; op != NULL; op = op->next)
	{
		if (op->kind == OP_CREATED)
			op->attached = attach(&op->defn, &op->shared, &op->generation);
	}
	if (xact_defs == NULL)
		return;
	publish(false);
	lb_update_horizon(false);
	lb_pause("publish");
}

/*
 * The transaction has committed.  Nothing here may raise or allocate.
 */
static void
at_commit(void)
{
	if (xact_boards != NULL)
		lb_pause("settle");
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		if (xdef->attached && xdef->ntruncates > 0)
			lb_shared_board_clear(xdef->shared, xdef->generation, xact_xid);
	}
	for (XactBoard *board = xact_boards; board != NULL; board = board->next)
	{
		if (board->pub != NULL)
			lb_settle(board->pub);
	}

	/* A glance without the lock: the launcher looks closer. */
	if (lb_shared->arena.used >= pg_atomic_read_u64(&lb_shared->warn_at))
		lb_wake_launcher();
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		if (!xdef->counted || xdef->shared->generation != xdef->generation)
			continue;
		lb_shared_board_offline(
								xdef->shared,
								xdef->reason != NULL
								? xdef->reason
								: "changes of a transaction could not be kept",
								true);
	}
	for (XactOp *op = xact_ops; op != NULL; op = op->next)
	{
		switch (op->kind)
		{
			case OP_CREATED:
				if (op->attached)
					lb_shared_board_want_build(op->shared, op->generation,
											   false);
				break;
			case OP_DROPPED:
				lb_shared_board_remove_id(op->defn.catalog, op->defn.id);
				break;
			case OP_RENAMED:
				break;
			case OP_SOURCE_DROPPED:
				lb_shared_board_remove_source(op->relation);
				break;
			case OP_CATALOG_DROPPED:
				lb_shared_board_remove_catalog(op->relation);
				break;
			case OP_DATABASE_DROPPED:
				lb_shared_board_remove_database(op->relation);
				break;
		}
	}
	lb_pause("ended");
}

static void
at_abort(void)
{
	bool		published = false;

	for (XactBoard *board = xact_boards; board != NULL; board = board->next)
		published |= board->pub != NULL;
	if (published)
		lb_pause("drop");
	for (XactBoard *board = xact_boards; board != NULL; board = board->next)
	{
		if (board->pub != NULL)
			lb_discard(board->pub);
	}
	for (XactOp *op = xact_ops; op != NULL; op = op->next)
	{
		if (op->kind == OP_CREATED && op->attached)
			lb_shared_board_remove(op->shared, op->generation);
	}
}

static void
pre_prepare(void)
{
	if (xact_defs != NULL)
		publish(true);
	xact_xid = GetTopFullTransactionIdIfAny();
	for (XactOp *op = xact_ops; op != NULL; op = op->next)
	{
		LbSharedBoard *shared;

		switch (op->kind)
		{
			case OP_CREATED:
				op->attached = attach(&op->defn, &op->shared, &op->generation);
				if (op->attached)
					leave_to_prepared(op->shared);
				break;
			case OP_DROPPED:
				shared = lb_shared_board_attach(&op->defn, false);
				if (shared != NULL)
					leave_to_prepared(shared);
				break;
			case OP_SOURCE_DROPPED:
			case OP_CATALOG_DROPPED:
				lb_shared_board_visit(op->relation, leave_visited_to_prepared,
									  NULL);
				break;
			case OP_RENAMED:	/* has become one dropped, one created */
			case OP_DATABASE_DROPPED:	/* is in no transaction block */
				break;
		}
	}
}

/* The publications wait for whoever meets them when it has ended. */
static void
at_prepare(void)
{
	for (XactBoard *board = xact_boards; board != NULL; board = board->next)
	{
		if (board->pub != NULL)
			lb_disown_prepared(board->pub);
	}
	for (XactDef *xdef = xact_defs; xdef != NULL; xdef = xdef->next)
	{
		if (!xdef->counted || xdef->shared->generation != xdef->generation)
			continue;
		lb_shared_board_offline(xdef->shared, PREPARED_REASON, true);
	}
	lb_wake_launcher();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			if (lb_shared != NULL && IsLogicalWorker())
				find_worker_truncates();
			if (xact_context != NULL)
				pre_commit();
			published = true;
			break;
		case XACT_EVENT_COMMIT:
			if (xact_context != NULL)
				at_commit();
			xact_reset();
			lb_reader_at_xact_end();
			lb_board_at_xact_end();
			break;
		case XACT_EVENT_ABORT:
			if (xact_context != NULL)
				at_abort();
			xact_reset();
			lb_reader_at_xact_end();
			lb_board_at_xact_end();
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (lb_shared != NULL && IsLogicalWorker())
				find_worker_truncates();
			if (xact_context != NULL)
				pre_prepare();
			published = true;
			break;
		case XACT_EVENT_PREPARE:
			if (xact_defs != NULL)
				at_prepare();
			xact_reset();
			lb_reader_at_xact_end();
			lb_board_at_xact_end();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid,
				 SubTransactionId parentSubid, void *arg)
{
	int			level;

	if (nmarks == 0)
		return;
	level = GetCurrentTransactionNestLevel();
	switch (event)
	{
		case SUBXACT_EVENT_ABORT_SUB:
			while (nmarks > 0 && marks[nmarks - 1].level >= level)
			{
				cut_off(marks[nmarks - 1].seq);
				nmarks--;
			}
			break;
		case SUBXACT_EVENT_COMMIT_SUB:
			if (marks[nmarks - 1].level < level)
				break;

			/* What it did is its parent's now. */
			if (level == 2 ||
				(nmarks > 1 && marks[nmarks - 2].level == level - 1))
				nmarks--;
			else
				marks[nmarks - 1].level = level - 1;
			break;
		case SUBXACT_EVENT_START_SUB:
		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			break;
	}
}

void
lb_capture_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
	RegisterResourceReleaseCallback(resources_released, NULL);
	prev_object_access_hook = object_access_hook;
	object_access_hook = object_access;
	prev_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
