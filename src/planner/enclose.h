/*-------------------------------------------------------------------------
 *
 * enclose.h
 *	  Ranges that enclose the rows of other quals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ENCLOSE_H
#define LB_ENCLOSE_H

#include "postgres.h"

#include "planner/quals.h"

/*
 * Find out which of the other quals, RestrictInfos, limit the first column of
 * the key that does not equal an operand, and add ranges that enclose their
 * rows to quals: to conds, operands and enclosed.  The quals remain to be
 * checked for each row.  Lists are palloc'd.  Raises what a catalog lookup
 * raises.
 */
extern void lb_enclose_others(const LbSource *source, const LbDefinition *defn,
							  List *others, LbQuals *quals);

/*
 * The share of the table's rows that lb_enclose_others() has enclosed, as the
 * planner's statistics tell.
 */
extern double lb_enclosed_share(const LbSource *source, const LbDefinition *defn,
								const LbQuals *quals);

#endif							/* LB_ENCLOSE_H */
