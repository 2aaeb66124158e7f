/*-------------------------------------------------------------------------
 *
 * match.h
 *	  The boards of a table in a query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_MATCH_H
#define LB_MATCH_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "boards/definition.h"
#include "planner/miss.h"

/* A table of a query that has boards. */
typedef struct LbSource
{
	PlannerInfo *root;
	RelOptInfo *rel;
	bool		secured;		/* some of its quals are policies': see
								 * lb_sort_quals() */
	Bitmapset  *not_null;		/* columns declared NOT NULL */
	LbDefinition **defns;		/* those that can have an index, resolved */
	int			ndefns;
} LbSource;

/*
 * Whether a base relation of a query, or a member of one, is a table with
 * boards, whose rows the query reads as a board has them: without a sample or
 * row locks, and not to write them.  On a standby there are no
 * boards, and none are found while another transaction has lb_board locked:
 * nothing waits for it.  Fills in *source, palloc'd.  The definitions may
 * become stale as any do, and their memory stays until the end of the
 * transaction.  Can raise what a catalog lookup can raise.
 */
extern bool lb_find_source(PlannerInfo *root, RelOptInfo *rel,
						   LbSource *source);

/*
 * What keeps lb_find_source() from a table with boards, as the query reads it;
 * LB_MISS_NOT_ASKED if nothing does.
 */
extern LbMiss lb_source_miss(const PlannerInfo *root, const RelOptInfo *rel);

/*
 * A board of the table, or each of them, is not used for a reason, of which an
 * expression may be the detail.  These return false, for a caller that gives
 * up.
 */
static inline bool
lb_miss(const LbSource *source, const LbDefinition *defn, LbMiss miss)
{
	if (unlikely(lb_misses != NULL))
		lb_note_miss(source->root, source->rel->relid, defn, miss, NULL);
	return false;
}

static inline bool
lb_miss_expr(const LbSource *source, const LbDefinition *defn, LbMiss miss,
			 void *expr)
{
	if (unlikely(lb_misses != NULL))
		lb_note_missed_expr(source->root, source->rel->relid, defn, miss, expr);
	return false;
}

static inline bool
lb_miss_all(const LbSource *source, LbMiss miss)
{
	if (unlikely(lb_misses != NULL))
		lb_note_miss_of_all(source->root, source->rel->relid, miss);
	return false;
}

/*
 * Whether a board has an index while a query is planned.  The query is planned
 * again when the board gets one.  Never raises.
 */
extern bool lb_has_index_now(LbDefinition *defn);

/*
 * What a plan remembers of a board, as a list of integers: by it the executor
 * finds the definition again.
 */
extern List *lb_plan_board(const LbDefinition *defn);

/*
 * The definition that a plan was made for, resolved, with its partitions; NULL
 * if it is gone or is another one by now, or if another transaction has locked
 * what tells that: lb_board or a partition.  Its source is locked, as the
 * executor locks all tables of a plan.  Can raise what a catalog lookup can
 * raise.
 */
extern LbDefinition *lb_planned_defn(const List *board);

#endif							/* LB_MATCH_H */
