/*-------------------------------------------------------------------------
 *
 * target.h
 *	  What a board's name leads to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TARGET_H
#define LB_TARGET_H

#include "postgres.h"

#include "boards/definition.h"
#include "boards/live.h"
#include "util/compat.h"
#include "util/nearest.h"

/* What a board's name leads to. */
typedef struct LbTarget
{
	LbDefinition *defn;
	bool		has_value;		/* a family's board */
	LbValue		value;			/* points into the name or the row, or is in
								 * the current memory context */
	uint32		hash;			/* of the value */
	int			stripe;
	int			prefix_len;		/* the length before the colon, if no family
								 * has that name, so that the name led to one
								 * of windows; else 0 */
} LbTarget;

/*
 * Aliases: names without a colon that stand for names of windows.  A higher
 * folder knows them: "daily" is an alias of today's window.
 */
typedef struct LbAliases
{
	/* The name that an alias stands for now, palloc'd; or NULL.  Can raise. */
	char	   *(*resolve) (const char *name, int len, int *result_len);

	/* Whether some of these names have that prefix before a first colon. */
	bool		(*has_prefix) (const char *prefix, int len);

	/* Try them all.  Can raise. */
	void		(*try_all) (LbNearest *nearest);
} LbAliases;

/* Set the aliases.  For _PG_init. */
extern void lb_register_aliases(const LbAliases *aliases);

/* LbAliases.has_prefix; false if there are no aliases.  Can raise. */
extern bool lb_alias_has_prefix(const char *prefix, int len);

/*
 * The beginning of a hint for a name that no family has: as
 * lb_nearest_hint(), of the families.  Can raise.
 */
extern const char *lb_nearest_family(const char *name);

/*
 * Find the definition that a board's name leads to, lock its source in
 * AccessShareLock until the end of the transaction, and resolve it.  Raises
 * ERRCODE_UNDEFINED_OBJECT and what locking can raise.
 *
 * The name of a family itself leads to a target without a value; callers that
 * need a board raise.  If no board has the name and it is an alias, the target
 * is of the name that it stands for, and the value is in the current memory
 * context.
 */
extern void lb_find_target(const char *name, int len, LbTarget *target);

/*
 * lb_find_target() without a lock on the source, and without resolving the
 * definition.  Returns false if there is no such board.  Raises what a catalog
 * lookup can raise.
 */
extern bool lb_look_up_name(const char *name, int len, LbTarget *target);

/* Raise 42809 if the name is a whole family's. */
extern void lb_require_one_board(const LbTarget *target);

/* As lb_find_target(); raises 42809 if the name is a whole family's. */
extern void lb_find_one_board(const char *board, LbTarget *target);

/*
 * The definition that is recorded by that very name, with its table locked in
 * AccessShareLock; NULL if there is none, or none any more when that lock is
 * to be had.  Can raise, as lb_find_target().
 */
extern LbDefinition *lb_find_recorded(const char *name);

/*
 * Raise 42704, with a hint.  NULL is the hint for callers that take the names
 * in lb_board only.
 */
pg_noreturn extern void lb_board_not_found(const char *board,
										   const char *hint);

#endif							/* LB_TARGET_H */
