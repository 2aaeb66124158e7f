/*-------------------------------------------------------------------------
 *
 * ranked_lookup.h
 *	  Rows of a ranked subquery, by an index of its table and quals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANKED_LOOKUP_H
#define LB_RANKED_LOOKUP_H

#include "postgres.h"

#include "planner/ranked_match.h"

/* How rows are found: by quals, or by ranks. */
typedef struct LbLookup
{
	Oid			index;
	List	   *clauses;		/* by which rows are found, for EXPLAIN */
	double		rows;			/* estimated */
	bool		one_row;		/* there is one at most */
	Cost		cost;			/* of finding them */

	/* By quals. */
	List	   *keys;			/* a list for each: see ranked_exec.h ... */
	List	   *operands;		/* ... and what the column equals */
	bool		has_array;		/* one of these is an array's elements */
	List	   *infos;			/* RestrictInfos of the query above that all
								 * these rows satisfy */

	/* By ranks: see ranked_range.h. */
	List	   *range;			/* see ranked_exec.h */
	List	   *bounds;			/* expressions */
	List	   *pathkeys;
} LbLookup;

/*
 * Those RestrictInfos of the query above that may be evaluated before the
 * quals of the subquery.
 */
extern List *lb_usable_infos(const LbRanked *match, List *infos);

/*
 * The usable RestrictInfos that join the subquery with other tables of the
 * query, each of which can be evaluated in a scan of it.
 */
extern List *lb_join_infos(const LbRanked *match);

/*
 * The index that finds the fewest rows by usable RestrictInfos; false if none
 * does.  Fills in *best, palloc'd.
 */
extern bool lb_find_lookup(const LbRanked *match, List *infos, LbLookup *best);

#endif							/* LB_RANKED_LOOKUP_H */
