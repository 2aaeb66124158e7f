/*-------------------------------------------------------------------------
 *
 * check.h
 *	  What callers may do and ask for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CHECK_H
#define LB_CHECK_H

#include "boards/definition.h"

/* Raise 42501 unless the caller owns the relation. */
extern void lb_require_owner(Oid relid);

/*
 * Whether the current user may see a board, resolved or not, in statistics and
 * messages: it may read all rows, and the columns that the board is made of.
 * The names of a family's boards are values of a column, and the counts are of
 * all rows.  Never raises.
 */
extern bool lb_may_see(const LbDefinition *defn);

/* Raise 22004. */
extern void lb_null_argument(const char *name);

/*
 * Raise 22023 if the argument of this name is below the least value that it
 * may have.  unset says what null means, or is NULL if it is never null.
 */
extern void lb_require_at_least(const char *name, int64 value, int64 least,
								const char *unset);

/*
 * Raise 55000 if the transaction has one snapshot for all its statements:
 * the function needs what was committed before its call.
 */
extern void lb_require_read_committed(const char *function);

#endif							/* LB_CHECK_H */
