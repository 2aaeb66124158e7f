/*-------------------------------------------------------------------------
 *
 * member_index.h
 *	  The index by which a plan looks up rows of members.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MEMBER_INDEX_H
#define LB_MEMBER_INDEX_H

#include "planner/match.h"

/*
 * The index that finds a member's row on its board, or InvalidOid: one that
 * the planner may use.
 */
extern Oid	lb_member_index(const LbSource *source, const LbDefinition *defn);

/*
 * The cost of looking up the rows of this many members, which are anywhere in
 * the table.
 */
extern Cost lb_cost_fetches(const LbSource *source, Oid index, double rows);

#endif							/* LB_MEMBER_INDEX_H */
