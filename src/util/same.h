/*-------------------------------------------------------------------------
 *
 * same.h
 *	  Strings that may be NULL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SAME_H
#define LB_SAME_H

#include "postgres.h"

/* Whether two strings are equal, or both NULL. */
static inline bool
lb_same_string(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

#endif							/* LB_SAME_H */
