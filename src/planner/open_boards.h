/*-------------------------------------------------------------------------
 *
 * open_boards.h
 *	  The boards of a family with given values of some board columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_OPEN_BOARDS_H
#define LB_OPEN_BOARDS_H

#include "planner/columns.h"
#include "planner/several.h"

/* What is looked for, and what was found. */
typedef struct LbOpenBoards
{
	int			ncolumns;
	LbValue		texts[LB_MAX_VALUE_COLUMNS];	/* see lb_row_text_has() */
	int			n;				/* boards found */
	bool		many;			/* there are more than LB_MAX_SEVERAL */
	LbValue		values[LB_MAX_SEVERAL];
	char	   *room;			/* for these values */
} LbOpenBoards;

/*
 * Begin to look for boards of target->defn whose columns, but for those of
 * open, a bit for each place, have these values.  types and values are as for
 * lb_set_target_value(), and values becomes ones of the columns' types.
 * Returns false if a column's type does not have its value: there are none.
 * Sets *too_long if some values can be too long for an index.  Uses memory of
 * the current context.
 */
extern bool lb_open_boards_begin(LbOpenBoards *boards, const LbTarget *target,
								 const Oid *types, Datum *values, int open,
								 bool *too_long);

/*
 * Add those that a stripe has, whose lock the caller holds.  Neither raises
 * nor allocates.
 */
extern void lb_open_boards_of_stripe(LbOpenBoards *boards, LbStripe *stripe);

/*
 * Add those that the own transaction has changed: before its commit, stripes
 * need not have them.
 */
extern void lb_open_boards_of_xact(LbOpenBoards *boards,
								   const LbDefinition *defn);

#endif							/* LB_OPEN_BOARDS_H */
