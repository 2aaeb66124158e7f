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
#include "boards/shared.h"

/*
 * Install the object access hook and the utility hook.  follow_rename records
 * what the columns of a board are called now, when a statement has renamed
 * some: lb_follow_rename(), which lower folders do not know.
 */
extern void lb_ddl_init(void (*follow_rename) (const LbDefinition *old));

/* Remember that the transaction creates or drops a board. */
extern void lb_note_created(const LbDefinition *defn);
extern void lb_note_dropped(const LbDefinition *defn);

/* ... or that somebody took away what is recorded of a board, by hand. */
extern void lb_note_erased(LbDefinition *defn);

/* Whether the transaction has created, or dropped, this board itself. */
extern bool lb_created_here(const LbDefinition *defn);
extern bool lb_dropped_here(Oid catalog, int32 id);


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
