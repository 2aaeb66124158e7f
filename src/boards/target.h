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

#endif							/* LB_TARGET_H */
