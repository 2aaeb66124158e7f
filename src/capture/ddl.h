/*-------------------------------------------------------------------------
 *
 * ddl.h
 *	  What the current transaction does to boards and their tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_DDL_H
#define LB_DDL_H

#include "boards/board.h"

/* Install the object access hook and the utility hook. */
extern void lb_ddl_init(void);

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


/* ----------------------------------------------------------------
 *		The operations themselves, for the files of this folder
 * ----------------------------------------------------------------
 */

typedef enum LbDdlKind
{
	LB_DDL_CREATED,
	LB_DDL_DROPPED,
	LB_DDL_RENAMED,
	LB_DDL_SOURCE_DROPPED,
	LB_DDL_CATALOG_DROPPED,
	LB_DDL_DATABASE_DROPPED
} LbDdlKind;

/*
 * A board or a table that comes or goes with the transaction, or a board whose
 * columns get other names.
 */
typedef struct LbDdlOp
{
	struct LbDdlOp *next;		/* the one before */
	struct LbDdlOp *chain;		/* same bucket, once there are some */
	uint64		seq;
	LbDdlKind	kind;
	LbDefinition defn;			/* of the first three kinds */
	Oid			relation;		/* of the others: what was dropped */
	bool		attached;
	LbSharedBoard *shared;
	uint64		generation;
} LbDdlOp;

extern LbDdlOp *lb_ddl_ops;		/* the last one first */

/* Cut off everything from number seq on, or all; neither raises. */
extern void lb_ddl_cut_off(uint64 seq);
extern void lb_ddl_forget(void);

/*
 * An apply worker truncates without asking the object access hook, and
 * partitions have no TRUNCATE trigger of ours.  It has locked them like nobody
 * else who changes rows: make the changes of their boards unknown.  Can raise.
 */
extern void lb_find_worker_truncates(void);

#endif							/* LB_DDL_H */
