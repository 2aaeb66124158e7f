/*-------------------------------------------------------------------------
 *
 * scan_exec.c
 *	  Rows of a board in its order, as long as they are asked for: the node.
 *
 * A scan reads members from the index in batches, larger and larger ones, and
 * looks up the row of each when it is asked for.  It holds no lock meanwhile.
 * The snapshot has the same members at the same places in each batch, so a
 * batch begins at the place behind the last one.
 *
 * If the index cannot answer any more, or the snapshot does not see a row, the
 * scan goes on with the child, which has the rows in the same order (scan.c).
 * It does that also after as many look-ups as are worth the trial: then the
 * rows that satisfy the node's qual are not where the planner has expected
 * them, or the plan asks for more rows than it expected.
 *
 * The child evaluates its quals when it begins.  A cursor may have returned
 * rows long before, and a stable function such as current_setting() may have
 * another value by then.  So the scan evaluates its operands once, and looks
 * before it begins the child whether they still have their values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "reads/fetch.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "planner/answer.h"
#include "planner/page_limit.h"
#include "planner/range.h"
#include "planner/scan_exec.h"
#include "planner/stretch.h"
#include "util/compat.h"

/* Members of the first batch, and of the largest ones. */
#define FIRST_BATCH 32
#define LARGEST_BATCH 1024

/* Tests have it that a few look-ups are already many. */
#ifndef LB_MOST_LOOKUPS
#define LB_MOST_LOOKUPS PG_INT32_MAX
#endif

typedef struct ScanNode
{
	LbAnswer	answer;			/* must be first */
	int			nconds;
	LbCond	   *conds;
	Oid			index;
	int			most_in_vain;	/* LB_SCAN_MOST_IN_VAIN, */
	int			most;			/* LB_SCAN_MOST ... */
	int			pages;			/* ... and LB_SCAN_PAGES */
	bool		limited;		/* by a Limit node: */
	LbPageLimit limit;
	int			nchanging;		/* LB_SCAN_CHANGING */
	ExprState **changing;
	NullableDatum *before;		/* their values at the first row */
	LbFetch		fetch;
	MemoryContext context;		/* of a batch */

	/* For a scan. */
	bool		begun;			/* it has evaluated its operands */
	bool		in_child;
	bool		cannot_give_up; /* the child has other rows by now */
	int64		nreturned;		/* rows */
	double		growth;			/* of the table, since it was planned */
	LbStretch	stretch;		/* the next batch */
	MemoryContext of_scan;		/* of these, once it has begun: */
	LbDefinition defn;
	Datum		board_values[LB_MAX_VALUE_COLUMNS];

	/* For a batch. */
	bool		last;
	int64		next;			/* member */
	LbMemberList members;
} ScanNode;


/* ----------------------------------------------------------------
 *		Batches
 * ----------------------------------------------------------------
 */

/* Keep what the rows of a scan need. */
static void
keep_board(ScanNode *node)
{
	const LbAnswer *a = &node->answer;
	MemoryContext old;
	int16		len;
	bool		byval;

	MemoryContextReset(node->of_scan);
	old = MemoryContextSwitchTo(node->of_scan);
	lb_copy_defn(&node->defn, a->access.target.defn);
	for (int i = 0; i < a->nvalues; i++)
	{
		get_typlenbyval(lb_board_columns(&node->defn)[i].oid, &len, &byval);
		node->board_values[i] = datumCopy(a->board_values[i], byval, len);
	}
	MemoryContextSwitchTo(old);
}

/* Let the next batch begin behind this one. */
static void
end_batch(ScanNode *node)
{
	node->stretch.skip += node->members.n;
	node->last = node->members.n < node->stretch.max_rows;
	node->stretch.max_rows = Min(node->stretch.max_rows * 2, LARGEST_BATCH);
}

/*
 * Read the next batch, in the memory of the expression context.  Returns false
 * if the child must be run.
 */
static bool
read_batch(ScanNode *node)
{
	LbAnswer   *a = &node->answer;
	bool		empty = false;
	const LbDefinition *defn;

	a->same_board = node->begun;
	if (node->begun)
	{
		/* EXPLAIN counts scans, not batches. */
		a->by_index--;
		memcpy(a->board_values, node->board_values, sizeof(a->board_values));
	}
	memset(&node->members, 0, sizeof(LbMemberList));
	MemoryContextReset(node->context);
	node->members.context = node->context;
	node->next = 0;
	defn = lb_answer_prepare(a, &empty);
	if (defn == NULL)
		return false;
	if (empty)
	{
		node->last = true;
		lb_answer_empty(a);
		return true;
	}
	if (!node->begun)
		lb_find_range(defn, node->conds, node->nconds,
					  a->css.ss.ps.ps_ExprContext, &node->stretch.range);
	if (!lb_read_stretch(a, &node->stretch, &node->members))
		return false;
	if (!node->begun)
		keep_board(node);
	node->begun = true;
	end_batch(node);
	return true;
}

static bool
next_batch(ScanNode *node)
{
	ExprContext *context = node->answer.css.ss.ps.ps_ExprContext;
	MemoryContext old;
	bool		result;

	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	result = read_batch(node);
	MemoryContextSwitchTo(old);
	return result;
}


/* ----------------------------------------------------------------
 *		Rows
 * ----------------------------------------------------------------
 */

/*
 * Put the row of the batch's next member into a slot, if the snapshot sees it.
 */
static bool
fetch_next(ScanNode *node, TupleTableSlot *slot)
{
	EState	   *estate = node->answer.css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	bool		found;

	if (node->fetch.table == NULL)
		lb_fetch_begin(&node->fetch, node->answer.table, node->index,
					   estate->es_snapshot);
	found = lb_fetch(&node->fetch, &node->defn,
					 lb_listed_member(&node->members, node->next),
					 node->board_values, slot);
	MemoryContextSwitchTo(old);
	node->next++;
	return found;
}

/*
 * Whether there have been too many look-ups: in vain, or of rows that the node
 * has returned as well, of which the plan has wanted more than the planner
 * expected.  If not, let the next batch not be too large.  They may be more if
 * the table has grown.
 */
static bool
is_too_long(ScanNode *node)
{
	double		most;

	if (node->most == 0 || node->cannot_give_up)
		return false;
	if (node->stretch.skip == 0)
		node->growth =
			Max((double) RelationGetNumberOfBlocks(node->answer.table) /
				Max(node->pages, 1), 1.0);
	most = Min(Min(node->most_in_vain * node->growth, LB_MOST_LOOKUPS) +
			   node->nreturned, node->most * node->growth);
	node->stretch.max_rows = (int64) Min(node->stretch.max_rows,
										 most - node->stretch.skip);
	return node->stretch.max_rows <= 0;
}

/*
 * The rows that are asked for at most, those of OFFSET included; -1: unknown.
 */
static int64
find_bound(ScanNode *node)
{
	ExprContext *context = node->answer.css.ss.ps.ps_ExprContext;
	MemoryContext old;
	LbStretch	limit;
	bool		found;

	if (!node->limited)
		return -1;
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	found = lb_page_limit_evaluate(&node->limit, context, &limit);
	MemoryContextSwitchTo(old);
	if (!found || limit.all || limit.max_rows > PG_INT64_MAX - limit.skip)
		return -1;
	return limit.max_rows + limit.skip;
}

/* Evaluate an operand that may change, in the per-tuple memory. */
static NullableDatum
evaluate(ScanNode *node, int i, int16 *len, bool *byval)
{
	NullableDatum result;

	get_typlenbyval(exprType((Node *) node->changing[i]->expr), len, byval);
	result.value = ExecEvalExprSwitchContext(node->changing[i],
											 node->answer.css.ss.ps.ps_ExprContext,
											 &result.isnull);
	return result;
}

/*
 * Keep the values that such operands have at the first row.  They raise no
 * error here: the row satisfies the quals.
 */
static void
keep_changing(ScanNode *node)
{
	for (int i = 0; i < node->nchanging; i++)
	{
		int16		len;
		bool		byval;
		NullableDatum value = evaluate(node, i, &len, &byval);
		MemoryContext old = MemoryContextSwitchTo(node->of_scan);

		if (!value.isnull)
			value.value = datumCopy(value.value, byval, len);
		node->before[i] = value;
		MemoryContextSwitchTo(old);
	}
}

/* Whether the child has the rows of which the node has returned some. */
static bool
child_has_rows(ScanNode *node)
{
	if (node->nreturned == 0)
		return true;
	for (int i = 0; i < node->nchanging; i++)
	{
		int16		len;
		bool		byval;
		NullableDatum value = evaluate(node, i, &len, &byval);

		if (value.isnull != node->before[i].isnull ||
			(!value.isnull &&
			 !datum_image_eq(value.value, node->before[i].value, byval, len)))
			return false;
	}
	return true;
}

/*
 * Go on with the child, behind the rows that have been returned.  If only the
 * best ones are asked for, its sort needs to keep no more.
 */
static TupleTableSlot *
go_on_in_child(ScanNode *node)
{
	if (!child_has_rows(node))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot find the rows behind those that the query has returned"),
				 errdetail("Board \"%s\" is of no use any more, and a condition of the query has changed since its first row.",
						   node->defn.name),
				 errhint("Set leaderboard.enable_planner to off for this cursor.")));
	node->in_child = true;
	ExecClearTuple(node->answer.css.ss.ss_ScanTupleSlot);
	lb_answer_bound_child(&node->answer, find_bound(node));
	for (int64 i = 0; i < node->nreturned; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(void) lb_answer_child(&node->answer);
	}
	return lb_answer_child(&node->answer);
}

static TupleTableSlot *
exec_scan(CustomScanState *css)
{
	ScanNode   *node = (ScanNode *) css;
	ExprContext *context = css->ss.ps.ps_ExprContext;
	ProjectionInfo *project = css->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;

	if (node->in_child)
		return lb_answer_child(&node->answer);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		while (node->next == node->members.n)
		{
			if (node->last)
			{
				ExecClearTuple(slot);
				return NULL;
			}
			if (is_too_long(node))
			{
				node->cannot_give_up = !child_has_rows(node);
				if (!node->cannot_give_up)
				{
					lb_answer_retract(&node->answer, LB_CAUSE_LIMIT);
					return go_on_in_child(node);
				}
				node->stretch.max_rows = FIRST_BATCH;
			}
			if (!next_batch(node))
				return go_on_in_child(node);
		}
		ResetExprContext(context);
		if (!fetch_next(node, slot))
		{
			lb_answer_retract(&node->answer, LB_CAUSE_SNAPSHOT);
			return go_on_in_child(node);
		}
		context->ecxt_scantuple = slot;
		if (ExecQual(css->ss.ps.qual, context))
		{
			if (node->nreturned++ == 0)
				keep_changing(node);
			return project == NULL ? slot : ExecProject(project);
		}
		lb_answer_filtered(&node->answer, RelationGetRelid(node->answer.table));
	}
}


/* ----------------------------------------------------------------
 *		The node
 * ----------------------------------------------------------------
 */

static void
clear(ScanNode *node)
{
	node->begun = node->in_child = node->last = node->cannot_give_up = false;
	node->nreturned = node->next = node->members.n = 0;
	node->stretch.skip = 0;
	node->stretch.max_rows = FIRST_BATCH;
}

static void
init_changing(ScanNode *node, const List *exprs)
{
	node->nchanging = list_length(exprs);
	node->changing = palloc(node->nchanging * sizeof(ExprState *));
	node->before = palloc(node->nchanging * sizeof(NullableDatum));
	for (int i = 0; i < node->nchanging; i++)
		node->changing[i] = ExecInitExpr(list_nth(exprs, i),
										 &node->answer.css.ss.ps);
}

static void
begin_scan(CustomScanState *css, EState *estate, int eflags)
{
	ScanNode   *node = (ScanNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	const List *conds = list_nth(scan->custom_private, LB_SCAN_CONDS);
	const List *order = list_nth(scan->custom_private, LB_SCAN_ORDER);
	Relation	table = css->ss.ss_currentRelation;

	/* The rows are those of the table. */
	LB_INIT_SCAN_SLOT(estate, &css->ss, RelationGetDescr(table),
					  table_slot_callbacks(table));
	ExecAssignScanProjectionInfo(&css->ss);
	css->ss.ps.qual = ExecInitQual(scan->scan.plan.qual, &css->ss.ps);
	lb_answer_begin(css, estate, eflags);
	node->nconds = list_length(conds);
	node->conds = lb_init_conds(conds,
								list_nth(scan->custom_exprs, LB_SCAN_COND_OPERANDS),
								&css->ss.ps);
	node->index = (Oid) list_nth_int(order, LB_SCAN_INDEX);
	node->stretch.reverse = list_nth_int(order, LB_SCAN_REVERSE);
	node->most_in_vain = list_nth_int(order, LB_SCAN_MOST_IN_VAIN);
	node->most = list_nth_int(order, LB_SCAN_MOST);
	node->pages = list_nth_int(order, LB_SCAN_PAGES);
	init_changing(node, list_nth(scan->custom_exprs, LB_SCAN_CHANGING));
	node->limited = list_length(scan->custom_exprs) > LB_SCAN_LIMIT;
	if (node->limited)
		lb_page_limit_begin(&node->limit, &node->answer, LB_SCAN_LIMIT);
	node->context = AllocSetContextCreate(CurrentMemoryContext,
										  "leaderboard scan",
										  ALLOCSET_DEFAULT_SIZES);
	node->of_scan = AllocSetContextCreate(CurrentMemoryContext,
										  "leaderboard scan's board",
										  ALLOCSET_SMALL_SIZES);
	clear(node);
}

static void
end_scan(CustomScanState *css)
{
	ExecClearTuple(css->ss.ss_ScanTupleSlot);
	lb_fetch_end(&((ScanNode *) css)->fetch);
	lb_answer_end(css);
}

static void
rescan_scan(CustomScanState *css)
{
	ScanNode   *node = (ScanNode *) css;

	ExecClearTuple(css->ss.ss_ScanTupleSlot);

	/*
	 * A sort that has kept the best rows of a smaller number has to run
	 * again.
	 */
	if (css->custom_ps != NIL)
		lb_answer_bound_child(&node->answer, find_bound(node));
	clear(node);
	lb_answer_rescan(css);
}

static void
explain_scan(CustomScanState *css, List *ancestors, ExplainState *es)
{
	if (((ScanNode *) css)->stretch.reverse)
		ExplainPropertyText("Order", "reverse", es);
	lb_answer_explain(css, ancestors, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Leaderboard Scan",
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan_scan,
	.ExplainCustomScan = explain_scan
};

static Node *
make_state(CustomScan *scan)
{
	ScanNode   *node = palloc0(sizeof(ScanNode));

	NodeSetTag(node, T_CustomScanState);
	node->answer.css.methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods lb_scan_methods = {
	.CustomName = "Leaderboard Scan",
	.CreateCustomScanState = make_state
};
