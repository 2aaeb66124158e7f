/*-------------------------------------------------------------------------
 *
 * xactlog.h
 *	  What the current transaction has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_XACTLOG_H
#define LB_XACTLOG_H

#include "lib/ilist.h"

#include "boards/definition.h"
#include "boards/live.h"
#include "boards/shared.h"
#include "boards/target.h"
#include "capture/sums.h"
#include "ledger/ledger.h"
#include "ledger/overlay.h"

/*
 * Whether the transaction has made changes of this board that are not
 * captured, for example by altering its triggers.  The board is then built
 * anew when the transaction commits.
 */
extern bool lb_altered_here(const LbDefinition *defn);

/* Whether the transaction has changes of this source. */
extern bool lb_changed_here(Oid source);


/* ----------------------------------------------------------------
 *		For the files of this folder
 * ----------------------------------------------------------------
 */

/*
 * A hash table in the transaction's memory.  A table of few elements has one
 * bucket.  The newest element comes first in its bucket.
 */
typedef struct LbXactLink
{
	slist_node	node;
	uint32		hash;
} LbXactLink;

typedef struct LbXactTable
{
	uint32		n;				/* elements */
	uint32		nbuckets;		/* a power of two; 0: all are in "few" */
	slist_head	few;
	slist_head *buckets;
} LbXactTable;

/* The bucket for a hash. */
static inline slist_head *
lb_xact_bucket(LbXactTable *table, uint32 hash)
{
	return table->nbuckets == 0 ? &table->few :
		&table->buckets[hash & (table->nbuckets - 1)];
}

/* Add an element whose hash is set.  If this raises, nothing was added. */
extern void lb_xact_table_add(LbXactTable *table, LbXactLink *link);

/* Remove the newest element.  Never raises. */
extern void lb_xact_table_pop(LbXactTable *table, LbXactLink *link);

/* The transaction's record of one definition. */
typedef struct LbXactDefn
{
	struct LbXactDefn *next;	/* of lb_xact.defns */
	LbXactLink	link;
	struct LbXactBoard *boards; /* linked by next_of_defn */
	bool		unknown;		/* changes were lost, or not captured, ... */
	uint64		unknown_seq;	/* ... from this number on, ... */
	const char *reason;			/* ... for this reason; NULL: no memory */
	uint64		truncate_began; /* the next number when the last TRUNCATE
								 * began ... */
	CommandId	truncate_cid;	/* ... in this command */
	SubTransactionId truncate_subid;
	int			ntruncates;
	int			maxtruncates;
	uint64	   *truncates;		/* numbers of its TRUNCATEs, ascending */
	bool		needed;			/* has changes to publish */
	bool		counted;		/* in shared's nunknown */
	bool		negative_zero;	/* it has written a -0 */
	bool		unfed;			/* unknown to standbys alone */
	bool		told_late;		/* standbys know that rows came late */
	LbSharedRef ref;			/* set at PRE_COMMIT */
	LbDefinition defn;			/* a copy; its pointers may be stale */
} LbXactDefn;

/*
 * A captured change: its old key, if it has one, and then its new key, if it
 * has one.  In memory it is as long as they are.
 *
 * With counts it has one of the two.  It is of one row, or of as many as the
 * word behind the key says.
 */
typedef struct LbXactChange
{
	uint64		seq;
	CommandId	cid;
	uint8		nold;			/* words of the old key; 0: there is none */
	uint8		nnew;			/* likewise of the new one */
	uint8		nrows;			/* 1: a word for the number of rows; else 0 */
	uint8		previous;		/* words behind the header of the change
								 * before it in the piece; 0: this is the
								 * first */
	int64		keys[FLEXIBLE_ARRAY_MEMBER];
} LbXactChange;

#define LB_XACT_CHANGE_WORDS (offsetof(LbXactChange, keys) / sizeof(int64))

StaticAssertDecl(offsetof(LbXactChange, keys) % sizeof(int64) == 0 &&
				 2 * LB_MAX_KEY_WORDS + 1 <= PG_UINT8_MAX,
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

/*
 * By how much a command has changed the number of rows that are off a board.
 */
typedef struct LbOffBoard
{
	uint64		seq;			/* of the first of them */
	CommandId	cid;
	int64		rows;
} LbOffBoard;

/*
 * The sums of those changes of a board that count for snapshots with command
 * ids up to cid.  A read adds the changes that have come since the last read.
 * The sums also serve another command id for which the same changes count.
 */
typedef struct LbOwnSums
{
	LbSums	   *sums;			/* NULL: not made yet */
	uint64		truncate;		/* they begin after this TRUNCATE's number */
	CommandId	cid;
	CommandId	max_taken;		/* highest command id of the changes added */
	CommandId	min_left;		/* lowest one of those that do not count */
	int			nleft;			/* how many do not count */
	int			nseen;			/* changes looked at, from the list's start */
	struct LbPiece *piece;		/* where the next change is looked for */
	int			at;				/* its word */
	uint64		used;			/* when they were last asked for */
} LbOwnSums;

/*
 * Sums that a board has: for the snapshots of new statements, and for those
 * of a statement or cursor that began earlier and is still running.
 */
#define LB_MAX_OWN_SUMS 2

/* What the transaction has changed on one board. */
typedef struct LbXactBoard
{
	struct LbXactBoard *next;	/* of lb_xact.boards */
	LbXactLink	link;
	struct LbXactBoard *next_of_defn;
	LbXactDefn *xdefn;
	LbValue		value;
	uint32		hash;			/* of the value */
	int			stride;			/* of the longest key that was ever there */
	int			nchanges;		/* of all pieces */
	int			ncompacted;		/* of them, those that the last compaction
								 * left, or fewer */
	int			compact_at;		/* compact when there are so many */
	struct LbPiece *first;
	struct LbPiece *last;		/* none but the first is empty */
	int			noff_board;
	int			max_off_board;
	LbOffBoard *off_board;
	bool		no_key;			/* some were without a key */
	LbPublication *pub;			/* from PRE_COMMIT on */

	LbOwnSums	own[LB_MAX_OWN_SUMS];
	uint64		nasked;			/* how often they were asked for */

	/* The overlay made last, and the state of the list that it is for. */
	MemoryContext overlay_context;
	LbOverlay  *overlay;
	uint64		overlay_seq;
	uint64		overlay_truncate;
	CommandId	overlay_cid;
} LbXactBoard;

typedef struct LbXact
{
	MemoryContext context;		/* NULL while the transaction has nothing */
	LbXactDefn *defns;
	LbXactBoard *boards;
	bool		published;		/* PRE_COMMIT or PRE_PREPARE is over */
} LbXact;

extern LbXact lb_xact;

/* Set lb_xact.context.  Can raise. */
extern void lb_xact_begin(void);

/* Forget everything at the end of the transaction.  Only frees memory. */
extern void lb_xact_forget(void);

/*
 * The number for something that happens now, in this subtransaction.  Can
 * raise; needs lb_xact.context.
 */
extern uint64 lb_xact_take_seq(void);

/* The number that lb_xact_take_seq() will return. */
extern uint64 lb_xact_next_seq(void);

/* The transaction's record of a definition, or NULL. */
extern LbXactDefn *lb_xact_find_defn(const LbDefinition *defn);

/*
 * The record of a definition, made if there is none.  Can raise; takes the
 * directory's lock.
 */
extern LbXactDefn *lb_xact_make_defn(LbDefinition *defn);

/*
 * Append a change of one member on one board; old or new may be NULL.  With
 * counts it has one of the two, and is of one row.  Can raise, also when
 * interrupted, but not if the list itself gets no memory: the changes are then
 * unknown.
 */
extern void lb_xact_add_change(LbDefinition *defn, const LbValue *value,
							   const int64 *old, const int64 *new,
							   CommandId cid);

/*
 * So many rows of the board's value, less than 0 or more, are off the board
 * now.  Raises as lb_xact_add_change() does.
 */
extern void lb_xact_add_off_board(LbDefinition *defn, const LbValue *value,
								  int64 rows, CommandId cid);

/* Append a TRUNCATE of the source.  Can raise. */
extern void lb_xact_add_truncate(LbXactDefn *xdefn);

/*
 * From now on the changes of the definition are unknown, for this reason
 * (NULL: there was no memory).  Can raise.
 */
extern void lb_xact_set_unknown(LbDefinition *defn, const char *reason);

/* Whether the definition has changes with this number or a higher one. */
extern bool lb_xact_changed_since(const LbXactDefn *xdefn, uint64 seq);

/* A board of the transaction, or NULL; hash is the value's. */
extern LbXactBoard *lb_xact_find_board(const LbDefinition *defn,
									   const LbValue *value, uint32 hash);

/* The number of the last TRUNCATE, or 0. */
static inline uint64
lb_xact_last_truncate(const LbXactDefn *xdefn)
{
	return xdefn->ntruncates == 0 ? 0 :
		xdefn->truncates[xdefn->ntruncates - 1];
}

/* The change at a word of a piece, and how many words it takes. */
static inline LbXactChange *
lb_xact_change_at(const LbPiece *piece, int at)
{
	return (LbXactChange *) (piece->words + at);
}

static inline int
lb_xact_change_words(const LbXactChange *change)
{
	return LB_XACT_CHANGE_WORDS + change->nold + change->nnew + change->nrows;
}

/* The last change of a board, which has at least one. */
static inline LbXactChange *
lb_xact_last_change(const LbXactBoard *board)
{
	return lb_xact_change_at(board->last, board->last->last);
}

/* The keys of a change, or NULL. */
static inline const int64 *
lb_xact_old_key(const LbXactChange *change)
{
	return change->nold > 0 ? change->keys : NULL;
}

static inline const int64 *
lb_xact_new_key(const LbXactChange *change)
{
	return change->nnew > 0 ? change->keys + change->nold : NULL;
}

/* The rows of a change, as an entry has them. */
static inline int64
lb_xact_rows(const LbShape *shape, const LbXactChange *change)
{
	if (change->nrows > 0)
		return change->keys[change->nold + change->nnew];
	return shape->counts ? 1 : 0;
}

/* Changes that are added or taken out between two checks for interrupts. */
#ifndef LB_OWN_BATCH
#define LB_OWN_BATCH 1024
#endif

/*
 * A subtransaction of this nesting level has aborted: cut off what it did.
 * Returns the number from which on everything is gone, or 0 if it did nothing.
 * Never raises.
 */
extern uint64 lb_xact_subabort(int level);

/*
 * A subtransaction of this level has committed: what it did is its parent's.
 * Never raises.
 */
extern void lb_xact_subcommit(int level);

#endif							/* LB_XACTLOG_H */
