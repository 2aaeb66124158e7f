/*-------------------------------------------------------------------------
 *
 * ddl.h
 *	  What the current transaction does to boards and their tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DDL_H
#define LB_DDL_H

#include "boards/definition.h"
#include "capture/xactlog.h"

/*
 * _PG_init: install the object access hook and the utility hook.
 * lock_captured and follow_rename are lb_lock_captured() and
 * lb_follow_rename() of a higher folder.  The first locks the tables, the
 * second records what the columns of a board are called now, after a statement
 * that has renamed some, changed their types, or altered what an expression
 * names.
 */
extern void lb_ddl_init(void (*lock_captured) (List *sources),
						void (*follow_rename) (const LbDefinition *old));

/*
 * Note that the transaction creates or drops a board, or has recorded one anew
 * under another number.  Can raise.
 */
extern void lb_note_created(const LbDefinition *defn);
extern void lb_note_recorded_anew(const LbDefinition *defn);
extern void lb_note_dropped(const LbDefinition *defn);

/*
 * Note that the transaction has deleted a board's row of lb_board, by hand.
 * Its table must be locked against writers.  Can raise.
 */
extern void lb_note_erased(LbDefinition *defn);

/* Whether the transaction itself has created, or dropped, this board. */
extern bool lb_created_here(const LbDefinition *defn);
extern bool lb_dropped_here(Oid catalog, int32 id);


/* ----------------------------------------------------------------
 *		For the files of this folder
 * ----------------------------------------------------------------
 */

typedef enum LbDdlKind
{
	LB_DDL_CREATED,
	LB_DDL_DROPPED,
	LB_DDL_RENAMED,				/* columns of the board were, or have another
								 * type */
	LB_DDL_SOURCE_DROPPED,
	LB_DDL_CATALOG_DROPPED,		/* an lb_board was */
	LB_DDL_DATABASE_DROPPED
} LbDdlKind;

/* An operation. */
typedef struct LbDdlOp
{
	struct LbDdlOp *next;		/* the one before */
	LbXactLink	link;
	uint64		seq;			/* its number (xactlog.c) */
	LbDdlKind	kind;
	LbDefinition defn;			/* of the first three kinds */
	Oid			relation;		/* of the others: what was dropped */
	LbSharedRef ref;			/* of LB_DDL_CREATED, set at PRE_COMMIT */
	bool		anew;			/* likewise: caches may have what the board
								 * was before */
} LbDdlOp;

extern LbDdlOp *lb_ddl_ops;		/* the last one first */

/* Cut off the operations from number seq on.  Never raises. */
extern void lb_ddl_cut_off(uint64 seq);

/* Forget all operations.  Never raises. */
extern void lb_ddl_forget(void);

/*
 * An apply worker truncates without asking the object access hook, and
 * partitions have no TRUNCATE trigger of ours.  But only a TRUNCATE makes
 * such a worker lock a partition in AccessExclusiveLock: make the changes of
 * the boards of such partitions unknown.  Can raise.
 */
extern void lb_find_worker_truncates(void);

#endif							/* LB_DDL_H */
