/*-------------------------------------------------------------------------
 *
 * ranked_match.h
 *	  Subqueries and views that rank the rows of a table: recognizing them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANKED_MATCH_H
#define LB_RANKED_MATCH_H

#include "postgres.h"

#include "planner/columns.h"
#include "planner/quals.h"

/* What is known of such a subquery. */
typedef struct LbRanked
{
	PlannerInfo *root;			/* of the query above it */
	RelOptInfo *rel;			/* what it is there */
	const RangeTblEntry *rte;
	const Query *query;			/* the subquery */
	bool		flat;			/* it is the query itself: root is its own,
								 * and rel its table */
	List	   *wanted;			/* expressions of the query above */
	LbSource	source;			/* its table */
	LbDefinition *defn;
	bool		ready;			/* the board has an index now */
	LbQuals		quals;			/* on the table */
	List	   *values;			/* the board columns, unless the quals say
								 * which board the rows are of */
	List	   *windows;		/* the window functions ... */
	List	   *funcs;			/* ... and a list for each: see ranked_exec.h */
	List	   *columns;		/* those of the subquery that are needed: Vars
								 * of rel, first those in wanted; of a flat
								 * one, window functions as well ... */
	List	   *outputs;		/* ... and what they are */
	List	   *run;			/* run conditions, as quals of the query above */
	bool		failed;			/* an expression is not understood */
} LbRanked;

/*
 * Whether a relation of a query is a subquery whose window functions a board
 * knows, or is the table of a query with such window functions.  The query
 * needs the columns in wanted, expressions.  Fills in *match, palloc'd.  Can
 * raise what a catalog lookup can raise.
 */
extern bool lb_match_ranked(PlannerInfo *root, RelOptInfo *rel, List *wanted,
							LbRanked *match);

/*
 * An expression of the subquery, or a list of them, as the node has it; sets
 * match->failed if it can have none.  The table is number 1 there, by which
 * EXPLAIN knows it.
 */
extern Node *lb_ranked_expr(LbRanked *match, Node *expr);

/*
 * Add the columns of the subquery that RestrictInfos of the query above have,
 * to match->columns and match->outputs.  Sets match->failed likewise.
 */
extern void lb_add_ranked_columns(LbRanked *match, List *infos);

/*
 * The quals of the query above that do not depend on the row: clauses, which a
 * node evaluates that takes the place of more than the subquery.
 */
extern List *lb_ranked_one_time(const LbRanked *match);

/* Whether an expression of the query above is a column of the subquery. */
extern bool lb_is_ranked_column(const LbRanked *match, const Node *expr);

/* The column of the table that an expression of the query above is, or 0. */
extern AttrNumber lb_ranked_table_column(const LbRanked *match, Node *expr);

/*
 * The window function that an expression of the query above is: its place in
 * match->windows, or -1.
 */
extern int	lb_ranked_window(const LbRanked *match, Node *expr);

#endif							/* LB_RANKED_MATCH_H */
