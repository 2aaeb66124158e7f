/*-------------------------------------------------------------------------
 *
 * page_limit.h
 *	  LIMIT and OFFSET of a query over one table or view.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_PAGE_LIMIT_H
#define LB_PAGE_LIMIT_H

#include "postgres.h"

#include "planner/answer.h"
#include "planner/no_error.h"
#include "planner/stretch.h"

/*
 * The only table or subquery of a query, or NULL.
 */
extern RelOptInfo *lb_only_rel(const PlannerInfo *root);

/*
 * Whether a query returns rows of its tables and subqueries, each of which
 * gives one row at most: no aggregates, DISTINCT, and so on.
 */
extern bool lb_returns_rows(const PlannerInfo *root);

/*
 * Whether a query has LIMIT or OFFSET, and a node that takes their place need
 * not compute exprs for the other rows: the select list, or what it is made
 * of.  known is of a column of the source, or NULL.  Can raise what a catalog
 * lookup can raise.
 */
extern bool lb_may_limit(const LbSource *source, const PlannerInfo *root,
						 List *exprs, const LbKnownColumn *known);

/*
 * Whether a query may be a page of a board of that table, as far as its order
 * and its quals do not matter.  *checks is set if the node must look whether
 * its select list can raise an error, by the scores that there are.  Can be
 * asked before it has paths.
 */
extern bool lb_may_be_page(const LbSource *source, const LbDefinition *defn,
						   bool *checks);

/*
 * The planner's estimate of the rows that LIMIT and OFFSET leave of rows.
 */
extern double lb_page_limit_rows(const FinalPathExtraData *limit, double rows);

/*
 * LIMIT and OFFSET for custom_exprs: two lists of one expression or none,
 * copies, and a list that is not empty if the select list may raise an error
 * for any row that OFFSET skips.  Can raise what a catalog lookup can raise.
 */
extern List *lb_page_limit_exprs(const PlannerInfo *root);

/*
 * A path for a node that takes the place of a Limit node, over the cheapest
 * path of final: without its costs, and with the lists of the node's plan.
 */
extern CustomPath *lb_make_page_path(const LbSource *source,
									 const RelOptInfo *final,
									 const struct CustomPathMethods *methods,
									 List *private, List *exprs);

/*
 * Once it has its costs: make it the only path of final if it is cheaper than
 * the path below it.
 */
extern void lb_take_page_path(const LbSource *source,
							  const LbDefinition *defn, RelOptInfo *final,
							  CustomPath *path);

/* For its PlanCustomPath. */
extern Plan *lb_plan_page(const CustomPath *path, List *tlist,
						  List *custom_plans,
						  const CustomScanMethods *methods);

/* LIMIT and OFFSET in a node. */
typedef struct LbPageLimit
{
	int			exprs;			/* the first of the lists */
	bool		raises;			/* the last one is not empty */
	ExprState  *count;			/* or NULL */
	ExprState  *offset;
} LbPageLimit;

/*
 * Prepare what the lists at exprs and behind it have.  Takes memory of the
 * current context, and can raise.
 */
extern void lb_page_limit_begin(LbPageLimit *limit, const LbAnswer *a, int exprs);

/*
 * Set the places that a stretch skips, and the rows that it has, in the memory
 * of the current context.  Returns false if the child must be run, to raise an
 * error.
 */
extern bool lb_page_limit_evaluate(const LbPageLimit *limit, ExprContext *context,
								   LbStretch *stretch);

/*
 * After the lock: the page has rows, or not.  Returns false if the child must
 * be run, since it may raise an error for rows before a page without rows.
 */
extern bool lb_page_limit_found(const LbPageLimit *limit, LbAnswer *a,
								const LbStretch *stretch, bool found);

/* Lines of EXPLAIN: with ties, that LIMIT has them. */
extern void lb_page_limit_explain(const LbPageLimit *limit, const LbAnswer *a,
								  bool ties, List *ancestors, ExplainState *es);

#endif							/* LB_PAGE_LIMIT_H */
