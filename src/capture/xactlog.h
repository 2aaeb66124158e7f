/*-------------------------------------------------------------------------
 *
 * xactlog.h
 *	  What the current transaction has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_XACTLOG_H
#define LB_XACTLOG_H

#include "boards/definition.h"
#include "boards/live.h"
#include "boards/shared.h"
#include "boards/target.h"
#include "capture/sums.h"
#include "ledger/ledger.h"
#include "ledger/overlay.h"

/*
 * What the transaction has changed on a board: a few changes in arrays, more as
 * sums, which every further one is added to; neither if there is nothing.
 */
typedef struct LbOwn
{
	bool		truncated;		/* of what was there before nothing counts */
	LbOverlay  *overlay;
	LbSums	   *sums;
} LbOwn;

/*
 * What the transaction has changed on the target's board, as a snapshot with
 * this command id sees it, with as_sums also few changes as sums.  Belongs to
 * the transaction and is valid until its next change or the next call for the
 * board.  Returns false if that is not known, or if there is no memory for it.
 * Raises when interrupted, or out of memory with few changes.
 */
extern bool lb_own_changes(const LbTarget *target, CommandId curcid,
						   bool as_sums, LbOwn *own);

/*
 * Whether the transaction has made changes for this board that are not captured,
 * by altering its triggers, say.  Then it is built anew when that commits.
 */
extern bool lb_altered_here(const LbDefinition *defn);

/* Whether the transaction has changes of this source. */
extern bool lb_changed_here(Oid source);


/* ----------------------------------------------------------------
 *		The list itself, for the files of this folder
 * ----------------------------------------------------------------
 */

/* What the transaction has to do with one definition. */
typedef struct LbXactDefn
{
	struct LbXactDefn *next;	/* all of the transaction */
	struct LbXactDefn *chain;	/* same bucket, once there are some */
	struct LbXactBoard *boards; /* linked by next_of_defn */
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
} LbXactDefn;

/*
 * The sums of a board's changes that count for snapshots with command ids up to
 * cid, kept up from read to read.  Other command ids do as well as long as the
 * same changes count for them.
 */
typedef struct LbOwnSums
{
	LbSums	   *sums;			/* NULL: not made yet */
	uint64		truncate;		/* number of the TRUNCATE that they begin
								 * after */
	CommandId	cid;
	CommandId	max_taken;		/* no command id of those taken in is higher */
	CommandId	min_left;		/* nor lower of those that do not count */
	int			nleft;			/* of which there are so many */
	int			nseen;			/* of the list, from its beginning */
	struct LbPiece *piece;		/* where the next one is looked for */
	int			at;
	uint64		used;			/* when it was last asked for */
} LbOwnSums;

/*
 * One for the snapshots of new statements, and one for those of a statement or
 * cursor that has begun earlier and goes on meanwhile.
 */
#define LB_MAX_OWN_SUMS 2

/* ... and with one board. */
typedef struct LbXactBoard
{
	struct LbXactBoard *next;	/* all of the transaction */
	struct LbXactBoard *chain;	/* same bucket */
	struct LbXactBoard *next_of_defn;
	LbXactDefn *xdefn;
	LbValue		value;
	uint32		hash;
	int			width;
	int			nchanges;		/* of all pieces */
	struct LbPiece *first;
	struct LbPiece *last;		/* none but the first is empty */
	LbPublication *pub;

	LbOwnSums	own[LB_MAX_OWN_SUMS];
	uint64		nasked;			/* how often they were asked for */

	/* The overlay made last, and for which state of the list. */
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

/* Make lb_xact.context.  Can raise. */
extern void lb_xact_begin(void);

/* Forget everything.  Only gives memory back. */
extern void lb_xact_forget(void);

/*
 * A number for something that happens now, in this subtransaction, and the one
 * that the next will get.  The first can raise; it needs the context.
 */
extern uint64 lb_xact_take_seq(void);
extern uint64 lb_xact_next_seq(void);

/* The transaction's record of a definition: NULL if it has none, or made. */
extern LbXactDefn *lb_xact_find_defn(const LbDefinition *defn);
extern LbXactDefn *lb_xact_make_defn(LbDefinition *defn);

/* Append a change; old or new may be NULL.  Can raise. */
extern void lb_xact_add_change(LbDefinition *defn, const LbValue *value,
							   const int64 *old, const int64 *new,
							   CommandId cid);

/* A TRUNCATE of the source.  Can raise. */
extern void lb_xact_add_truncate(LbXactDefn *xdefn);

/*
 * From now on the changes of the definition are unknown, for this reason or,
 * with NULL, for want of memory.  Can raise.
 */
extern void lb_xact_rows_unknown(LbDefinition *defn, const char *reason);

/* Whether there are changes of the definition from a number on. */
extern bool lb_xact_changed_since(const LbXactDefn *xdefn, uint64 seq);

/*
 * The changes of a board that count for a command id, in memory of context.
 * Returns false if there is none.
 */
extern bool lb_xact_counted_changes(const LbXactBoard *board,
									CommandId curcid, MemoryContext context,
									LbChanges *changes);

/*
 * A subtransaction of this level has aborted, or committed.  Neither raises.
 * The first returns the number from which on everything was cut off, or 0.
 */
extern uint64 lb_xact_subabort(int level);
extern void lb_xact_subcommit(int level);

#endif							/* LB_XACTLOG_H */
