/*-------------------------------------------------------------------------
 *
 * several.h
 *	  Several boards of a family.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SEVERAL_H
#define LB_SEVERAL_H

#include "postgres.h"

#include "planner/columns.h"

/* More boards than that take longer than a query deserves. */
#define LB_MAX_SEVERAL 100

/* A clause that limits rows to those boards whose values an array has. */
typedef struct LbSeveral
{
	Expr	   *clause;			/* or NULL: there is none */
	AttrNumber	attno;			/* of the board column ... */
	int			place;			/* ... and its place among them */
	Expr	   *array;
	Oid			type;			/* what the operator takes its elements for */
} LbSeveral;

/*
 * Find such a clause among those of a query, clauses or RestrictInfos, on a
 * table without policies.  *rest gets the others, a list that may be the same.
 * Can raise what a catalog lookup can raise.
 */
extern void lb_find_several(const LbSource *source, const LbDefinition *defn,
							List *clauses, LbSeveral *several, List **rest);

/* How many boards are planned for, by the array or without one. */
extern int	lb_estimate_several(const LbSeveral *several);

/*
 * The different values of the board column at a place among the elements of an
 * array.  types, values and room are as for lb_set_target_value(), with the
 * values of the other columns.  elements gets LB_MAX_SEVERAL of them at most.
 * Returns how many they are, or -1 if there are more.  Changes target, whose
 * definition is known, and values.  Uses memory of the current context, and
 * can be interrupted.
 */
extern int	lb_list_several(LbTarget *target, const Oid *types, Datum *values,
							int place, Datum array, char *room,
							Datum *elements);

#endif							/* LB_SEVERAL_H */
