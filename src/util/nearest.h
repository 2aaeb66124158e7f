/*-------------------------------------------------------------------------
 *
 * nearest.h
 *	  The name that a mistyped one was meant for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_NEAREST_H
#define LB_NEAREST_H

#include "postgres.h"

/* A search for it, among names that are tried one after the other. */
typedef struct LbNearest
{
	const char *given;			/* the mistyped one */
	int			distance;		/* of the nearest; -1: none yet */
	char	   *name;			/* palloc'd copy of it, or NULL */
} LbNearest;

/* Begin a search; given must live as long. */
static inline LbNearest
lb_nearest_to(const char *given)
{
	return (LbNearest)
	{
		.given = given,.distance = -1,.name = NULL
	};
}

/* Try a name.  One that differs too much, or not at all, is not taken. */
extern void lb_nearest_try(LbNearest *nearest, const char *name);

/*
 * The beginning of a hint: that this may be meant, with a blank after it; or
 * "".  Palloc'd.
 */
extern const char *lb_nearest_hint(const LbNearest *nearest);

#endif							/* LB_NEAREST_H */
