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

/* What a board's name leads to. */
typedef struct LbTarget
{
	LbDefinition *defn;
	bool		has_value;		/* a family's board */
	LbValue		value;			/* points into the name or the row */
	uint32		hash;			/* of the value */
	int			stripe;
	int			prefix_len;		/* what is before the colon of a name that is
								 * no family's, and so went to "*"; 0 if it is
								 * not so */
} LbTarget;

/*
 * Aliases: names without a colon that stand for names of boards of the family
 * "*".  What they mean is the business of a higher file: "daily" is an alias of
 * today's window.
 */
typedef struct LbAliases
{
	/* The name that an alias stands for now, palloc'd, or NULL.  Can raise. */
	char	   *(*resolve) (const char *name, int len, int *result_len);

	/* Whether some of these names have that prefix before their first colon. */
	bool		(*has_prefix) (const char *prefix, int len);
} LbAliases;

/* _PG_init: the aliases that there are. */
extern void lb_register_aliases(const LbAliases *aliases);

/* LbAliases.has_prefix; false if there are no aliases.  Can raise. */
extern bool lb_alias_has_prefix(const char *prefix, int len);

/*
 * The definition a board's name leads to, with its source locked in
 * AccessShareLock to the end of the transaction and resolved.  Raises
 * ERRCODE_UNDEFINED_OBJECT and what locking can raise.  With a name that
 * names a family itself, value is absent; callers that need a board raise.
 * A name that no board has but a window is taken for the window's key now; the
 * value then is in the current memory context.
 */
extern void lb_find_target(const char *name, int len, LbTarget *target);

/*
 * The same without a look at the source: nothing is locked or resolved, and a
 * value of an integer column may be spelled in any way.  Returns false if there
 * is no such board.
 */
extern bool lb_look_up_name(const char *name, int len, LbTarget *target);

/* As lb_find_target(); raises 42809 if the name is a whole family's. */
extern void lb_find_one_board(const char *board, LbTarget *target);

#endif							/* LB_TARGET_H */
