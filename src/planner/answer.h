/*-------------------------------------------------------------------------
 *
 * answer.h
 *	  Nodes that a board's index answers, or the ordinary plan below them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ANSWER_H
#define LB_ANSWER_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/extensible.h"
#include "optimizer/paths.h"

#include "boards/board_value.h"
#include "boards/counters.h"
#include "planner/match.h"
#include "planner/quals.h"
#include "reads/access_lock.h"

/*
 * leaderboard.debug_planner_child, for tests: what a node does with its other
 * plan.
 */
enum
{
	LB_CHILD_ON_DEMAND,			/* it runs it if the index cannot answer */
	LB_CHILD_FORCE,				/* it always runs it */
	LB_CHILD_EAGER				/* it initializes it at once, whether it is to
								 * be run or not */
};

/*
 * leaderboard.enable_planner: whether queries are planned so, and their nodes
 * answer.
 */
extern bool lb_enable_planner;
extern int	lb_planner_child;	/* LB_CHILD_* */

/* The first elements of a node's custom_private ... */
enum
{
	LB_PRIVATE_BOARD,			/* lb_plan_board() */
	LB_PRIVATE_VALUES,			/* types of the values of the board columns */
	LB_PRIVATE_COMPLETE,		/* not empty: LbQuals.complete */
	LB_PRIVATE_FIRST			/* the node's own */
};

/* ... and of its custom_exprs, lists of expressions. */
enum
{
	LB_EXPRS_CLAUSES,			/* the quals, for EXPLAIN */
	LB_EXPRS_BOARD,				/* that on the board column, likewise */
	LB_EXPRS_RANKED_IF,			/* that on ranked_if, likewise */
	LB_EXPRS_VALUES,			/* the values of the board columns, and
								 * LbQuals.unless if there is one */
	LB_EXPRS_ONE_TIME,			/* LbQuals.one_time */
	LB_EXPRS_FIRST
};

/* What all our nodes have; a node's state begins with it. */
typedef struct LbAnswer
{
	CustomScanState css;
	Relation	table;
	const List *board;
	bool		complete;		/* LbQuals.complete */
	int			nvalues;		/* of board columns; 0 if there is none */
	int			open;			/* LbQuals.open: the node sets the values of
								 * these columns */
	Oid			value_types[LB_MAX_VALUE_COLUMNS];
	ExprState  *values[LB_MAX_VALUE_COLUMNS];
	ExprState  *unless;			/* LbQuals.unless, or NULL */
	ExprState  *one_time;		/* LbQuals.one_time, or NULL */
	Datum		board_values[LB_MAX_VALUE_COLUMNS]; /* the values, for a scan:
													 * of the columns' types,
													 * in the expression
													 * context's memory */
	int			eflags;
	List	   *child_tables;	/* open for the child, which has not begun */
	Oid			user;			/* the role as which the plan has begun */
	LbAccess	access;
	char		room[LB_ROW_ROOM];	/* for the value */

	/* The scan's read. */
	bool		counted;		/* it has been, as one by the index */
	LbCounted	counted_of;		/* ... of this board */
	bool		same_read;		/* the node looks at the board again for it */
	bool		same_board;		/* ... which board_values tell, as values of
								 * the columns' types */

	/* For EXPLAIN. */
	int64		by_index;		/* scans that the index has answered */
	int64		by_query;
	LbCause		cause;			/* of the last one that it has not */
	bool		filter_checked; /* whether filter_shown is known */
	bool		filter_shown;	/* whether to count rows that quals remove */
} LbAnswer;

/*
 * The beginnings of custom_private and custom_exprs.  Lists are palloc'd, and
 * their expressions are copies.
 */
extern List *lb_answer_private(const LbDefinition *defn,
							   const LbQuals *quals);
extern List *lb_answer_exprs(const LbQuals *quals);

/*
 * The other plan of a node, out of a relation whose paths are going to be
 * replaced by the node's: its cheapest path.
 */
extern Path *lb_cheapest_path(const RelOptInfo *rel);

/*
 * Raise an error unless the current user may call each function in an
 * expression.  The node does not initialize the expressions that it answers,
 * which would check that.
 */
extern void lb_check_functions(const void *expr);

/* For CustomExecMethods: BeginCustomScan, EndCustomScan, ReScanCustomScan. */
extern void lb_answer_begin(CustomScanState *node, EState *estate, int eflags);

extern void lb_answer_end(CustomScanState *node);
extern void lb_answer_rescan(CustomScanState *node);

/*
 * Add the expression whose value of this type the next board column equals.
 * Can raise what ExecInitExpr() can raise.
 */
extern void lb_answer_add_value(LbAnswer *a, Expr *value, Oid type,
								PlanState *parent);

/* And ExplainCustomScan: the board, the quals, and what has answered. */
extern void lb_answer_explain(CustomScanState *node, List *ancestors,
							  ExplainState *es);

/*
 * A line of EXPLAIN for one of the lists of custom_exprs; none if it is empty.
 */
extern void lb_answer_explain_exprs(const LbAnswer *a, const char *label,
									int exprs, List *ancestors,
									ExplainState *es);

/* And one for quals on a table that is number 1 in them. */
extern void lb_answer_explain_quals(Oid table, const char *label, List *quals,
									ExplainState *es);

/*
 * Prepare a scan, in the per-tuple memory of the node's expression context.
 * Returns the definition, by which the node evaluates its operands, or NULL if
 * the node must run its child.  *empty is set if there can be no such board,
 * or a one-time filter leaves no rows.  If the node has set it already, which
 * knows that its LIMIT is 0, nothing is evaluated.  Raises what these
 * expressions raise.
 */
extern const LbDefinition *lb_answer_prepare(LbAnswer *a, bool *empty);

/*
 * Whether the scan has rows, as far as one-time filters say.  For a node that
 * needs to know before lb_answer_prepare(), which evaluates them, too.
 */
extern bool lb_answer_passes(LbAnswer *a);

/*
 * After that: lock the board with a view of it in the executor's snapshot;
 * with distinct, the view tells distinct scores.  Returns false if the node
 * must run its child.  Waits for nothing and raises nothing because of the
 * index.  After true, nothing may raise until lb_answer_unlock().
 */
extern bool lb_answer_lock(LbAnswer *a, bool distinct);

/* Release the lock.  Can raise a serialization failure. */
extern void lb_answer_unlock(LbAnswer *a);

/*
 * The node finds out itself that it must run its child, before
 * lb_answer_lock() or with the lock, which is released.
 */
extern void lb_answer_refuse(LbAnswer *a, LbCause cause);
extern void lb_answer_refuse_locked(LbAnswer *a, LbCause cause);

/*
 * The node finds out before lb_answer_prepare() that it must run its child.
 * The read is not counted, unless it has been as one by the index: then it is
 * counted anew.
 */
extern void lb_answer_run_child(LbAnswer *a, LbCause cause);

/*
 * The node finds out after lb_answer_unlock() that it must run its child.  The
 * read is counted anew.
 */
extern void lb_answer_retract(LbAnswer *a, LbCause cause);

/*
 * A scan begins.  lb_answer_prepare() calls this, unless the node looks at the
 * board again; a node that may run its child before that calls it itself.
 */
static inline void
lb_answer_new_read(LbAnswer *a)
{
	a->counted = a->same_read = false;
}

/* The scan's answer is that the board has no rows, without a look at it. */
static inline void
lb_answer_empty(LbAnswer *a)
{
	a->by_index++;
}

/*
 * A qual of the node has removed a row of this table, which is counted for
 * EXPLAIN ANALYZE.  It is not if the current user may not read the table:
 * below a view with security_barrier, the count would tell whether the table
 * has a row that the view hides, where the plan without a board filters all
 * rows and tells no such thing.
 */
extern void lb_answer_filtered(LbAnswer *a, Oid table);

/*
 * Tell the child, which begins now if it has not yet, how many rows will be
 * asked of it at most; a negative number: unknown.  Before its first row, and
 * before a rescan.
 */
extern void lb_answer_bound_child(LbAnswer *a, int64 rows);

/* The next row of the child, likewise. */
extern TupleTableSlot *lb_answer_child(LbAnswer *a);

#endif							/* LB_ANSWER_H */
