/*-------------------------------------------------------------------------
 *
 * capture.h
 *	  What the current transaction has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CAPTURE_H
#define LB_CAPTURE_H

#include "executor/tuptable.h"

#include "boards/board.h"
#include "capture/sums.h"
#include "ledger/overlay.h"

/* Install the transaction callbacks and the object access hook. */
extern void lb_capture_init(void);

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
 * The key of a row of defn's source, as the board ranks it, and the value of
 * its board.  Returns false if the row is not ranked.  value may point into
 * digits, which has room for 32 characters, or into the row.
 */
extern bool lb_row_key(LbDefinition *defn, TupleTableSlot *slot, int64 *key,
					   LbValue *value, char *digits);

/* A value of a board column as text, likewise. */
extern void lb_datum_value(Oid type, Datum d, LbValue *value, char *digits);

/* Remember that the transaction creates or drops a board. */
extern void lb_note_created(const LbDefinition *defn);
extern void lb_note_dropped(const LbDefinition *defn);

/* ... or that somebody took away what is recorded of a board, by hand. */
extern void lb_note_erased(LbDefinition *defn);

/* Whether the transaction has created, or dropped, this board itself. */
extern bool lb_created_here(const LbDefinition *defn);
extern bool lb_dropped_here(Oid catalog, int32 id);

/*
 * Columns of a table were renamed: record for the board old, as it was before,
 * what its columns are called now.  It gets a new number, so that for whoever
 * knows it, and for the directory, it is another board from then on.  Does
 * nothing if it is not recorded by its old number any more.  The table must be
 * locked in AccessExclusiveLock.  Raises what writing to lb_board can raise.
 * (manage.c)
 */
extern void lb_follow_rename(const LbDefinition *old);

/*
 * Whether the transaction has made changes for this board that are not captured,
 * by altering its triggers, say.  Then it is built anew when that commits.
 */
extern bool lb_altered_here(const LbDefinition *defn);

/* Whether the transaction has changes of this source. */
extern bool lb_changed_here(Oid source);

#endif							/* LB_CAPTURE_H */
