/*-------------------------------------------------------------------------
 *
 * types.h
 *	  The table of the types that a board's columns can have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_TYPES_H
#define LB_TYPES_H

#include "boards/keys.h"

/*
 * Set the type of a column, and what it needs, from the type and the typmod
 * that its table has: the type that domains are of, if columns of it can have
 * the column's role.  Else the type is NULL.  Raises what a catalog lookup can
 * raise.
 */
extern void lb_set_column_type(LbColumn *column, Oid type, int32 typmod);

/*
 * The row of a type that is no domain, whatever its role; NULL if no column of
 * a board can have it.  Enums, which need catalogs, have none.
 */
extern const LbType *lb_known_type(Oid type);

/*
 * How many words of a key a column of that type takes, or LB_TEXT; 0 if it
 * cannot have the role.  Raises what a catalog lookup can raise.
 */
extern int	lb_type_words(Oid type, LbRole role);

/*
 * The types that can have a role, for a message, palloc'd: "smallint, bigint".
 */
extern char *lb_types_for(LbRole role);

/*
 * A hint for a column whose type cannot have the role: what to use instead,
 * and the types that can.  palloc'd; raises what a catalog lookup can raise.
 */
extern char *lb_type_hint(Oid type, int32 typmod, LbRole role);

#endif							/* LB_TYPES_H */
