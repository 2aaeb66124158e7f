/*-------------------------------------------------------------------------
 *
 * page_exec.c
 *	  Pages of a board: the node.
 *
 * A scan copies the members of the page from one view, looks up their rows in
 * the executor's snapshot, and returns the first one only when it has them
 * all.  So a scan that cannot have a row runs the child, whichever row it is.
 * It runs the child also if the page has so many rows that the child costs
 * less, which the planner could not know of a LIMIT that is a parameter.  The
 * rows are in a tuplestore: it writes to disk what exceeds work_mem, and goes
 * backward.
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
#include "reads/fetch.h"
#include "utils/tuplestore.h"

#include "planner/answer.h"
#include "planner/page_exec.h"
#include "planner/page_limit.h"
#include "planner/range.h"
#include "planner/stretch.h"
#include "util/compat.h"

typedef struct PageNode
{
	LbAnswer	answer;			/* must be first */
	int			nconds;
	LbCond	   *conds;
	LbPageLimit limit;
	Oid			index;
	bool		checks;			/* whether the select list may raise an error */
	bool		backward;		/* a cursor may go backward */
	TupleTableSlot *row;

	/* For a scan. */
	bool		in_child;
	Tuplestorestate *rows;		/* of the page, or NULL before its start */
	LbStretch	stretch;
} PageNode;


/* ----------------------------------------------------------------
 *		Rows
 * ----------------------------------------------------------------
 */

/*
 * Look up the rows of the members.  Returns false if the snapshot does not see
 * one of them, so that index and table differ: only the child knows.
 */
static bool
fetch_rows(PageNode *node, const LbDefinition *defn, const LbMemberList *members)
{
	LbAnswer   *a = &node->answer;
	LbFetch		fetch;
	bool		found = true;

	if (members->n == 0)
		return true;
	lb_fetch_begin(&fetch, a->table, node->index, a->css.ss.ps.state->es_snapshot);
	for (int64 i = 0; found && i < members->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found = lb_fetch(&fetch, defn, lb_listed_member(members, i),
						 a->board_values, node->row);
		if (found)
			tuplestore_puttupleslot(node->rows, node->row);
	}
	ExecClearTuple(node->row);
	lb_fetch_end(&fetch);
	if (!found)
		lb_answer_retract(a, LB_CAUSE_SNAPSHOT);
	return found;
}

/*
 * Whether the select list raises no error for the rows before the page, since
 * all scores of the range are between those at its ends.
 */
static bool
is_safe(PageNode *node, const LbDefinition *defn, const LbMemberList *members)
{
	LbAnswer   *a = &node->answer;
	bool		descending = lb_score_column(defn)->descending;
	int64		first = lb_directed(members->ends[0], descending);
	int64		last = lb_directed(members->ends[1], descending);
	LbKnownColumn score = {
		.attno = lb_score_column(defn)->attno,
		.least = Min(first, last),
		.greatest = Max(first, last)
	};

	if (!node->checks || node->stretch.skip == 0 || !members->has_ends ||
		!lb_may_raise((Node *) a->css.ss.ps.plan->targetlist, NULL, &score))
		return true;
	lb_answer_retract(a, LB_CAUSE_LIMIT);
	return false;
}

/*
 * Answer from the index, in the memory of the expression context.  Returns
 * false if the child must be run.
 */
static bool
answer(PageNode *node)
{
	LbAnswer   *a = &node->answer;
	LbMemberList members = {.context = CurrentMemoryContext};
	bool		valid = lb_page_limit_evaluate(&node->limit,
											   a->css.ss.ps.ps_ExprContext,
											   &node->stretch);
	bool		empty = valid && lb_stretch_is_empty(&node->stretch);
	const LbDefinition *defn = lb_answer_prepare(a, &empty);

	if (defn == NULL)
		return false;
	if (!valid)
	{
		lb_answer_refuse(a, LB_CAUSE_LIMIT);
		return false;
	}

	/* No row: so PostgreSQL would not evaluate the operands of quals. */
	if (empty)
	{
		lb_answer_empty(a);
		return true;
	}
	lb_find_range(defn, node->conds, node->nconds,
				  a->css.ss.ps.ps_ExprContext, &node->stretch.range);
	return lb_read_stretch(a, &node->stretch, &members) &&
		lb_page_limit_found(&node->limit, a, &node->stretch, members.n > 0) &&
		is_safe(node, a->access.target.defn, &members) &&
		fetch_rows(node, a->access.target.defn, &members);
}

static void
clear(PageNode *node)
{
	if (node->rows != NULL)
		tuplestore_end(node->rows);
	node->rows = NULL;
	node->in_child = false;
}

/* Begin a scan: find the page, or else run the child. */
static void
begin_scan(PageNode *node)
{
	CustomScanState *css = &node->answer.css;
	MemoryContext old = MemoryContextSwitchTo(css->ss.ps.state->es_query_cxt);

	node->rows = tuplestore_begin_heap(node->backward, false, work_mem);
	ResetExprContext(css->ss.ps.ps_ExprContext);
	MemoryContextSwitchTo(css->ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	node->in_child = !answer(node);
	MemoryContextSwitchTo(old);
}


/* ----------------------------------------------------------------
 *		The node
 * ----------------------------------------------------------------
 */

static TupleTableSlot *
exec_page(CustomScanState *css)
{
	PageNode   *node = (PageNode *) css;
	ExprContext *context = css->ss.ps.ps_ExprContext;
	ProjectionInfo *project = css->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;
	bool		forward = ScanDirectionIsForward(css->ss.ps.state->es_direction);

	if (node->rows == NULL)
		begin_scan(node);
	if (node->in_child)
		return lb_answer_child(&node->answer);
	ResetExprContext(context);
	if (!tuplestore_gettupleslot(node->rows, forward, false, slot))
		return NULL;
	context->ecxt_scantuple = slot;
	return project == NULL ? slot : ExecProject(project);
}

static void
begin_page(CustomScanState *css, EState *estate, int eflags)
{
	PageNode   *node = (PageNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	const List *conds = list_nth(scan->custom_private, LB_PAGE_CONDS);
	const List *order = list_nth(scan->custom_private, LB_PAGE_ORDER);
	Relation	table = css->ss.ss_currentRelation;

	/* The rows are in a tuplestore. */
	LB_INIT_SCAN_SLOT(estate, &css->ss, RelationGetDescr(table),
					  &TTSOpsMinimalTuple);
	ExecAssignScanProjectionInfo(&css->ss);
	lb_answer_begin(css, estate, eflags);
	node->row = ExecInitExtraTupleSlot(estate, RelationGetDescr(table),
									   table_slot_callbacks(table));
	node->nconds = list_length(conds);
	node->conds = lb_init_conds(conds,
								list_nth(scan->custom_exprs, LB_PAGE_COND_OPERANDS),
								&css->ss.ps);
	lb_page_limit_begin(&node->limit, &node->answer, LB_PAGE_LIMIT);
	node->index = (Oid) list_nth_int(order, LB_PAGE_INDEX);
	node->stretch.reverse = list_nth_int(order, LB_PAGE_REVERSE);
	node->stretch.ties = list_nth_int(order, LB_PAGE_TIES);
	node->stretch.most = list_nth_int(order, LB_PAGE_MOST);
	node->stretch.estimated = list_nth_int(order, LB_PAGE_ESTIMATED);
	node->checks = node->stretch.ends =
		list_nth(scan->custom_private, LB_PAGE_CHECKS) != NIL;
	node->backward = (eflags & EXEC_FLAG_BACKWARD) != 0;
}

static void
end_page(CustomScanState *css)
{
	clear((PageNode *) css);
	lb_answer_end(css);
}

/* The page stays as it is, unless a parameter has changed. */
static void
rescan_page(CustomScanState *css)
{
	PageNode   *node = (PageNode *) css;

	if (node->rows != NULL && !node->in_child &&
		css->ss.ps.chgParam == NULL)
	{
		tuplestore_rescan(node->rows);
		return;
	}
	clear(node);
	lb_answer_rescan(css);
}

static void
explain_page(CustomScanState *css, List *ancestors, ExplainState *es)
{
	PageNode   *node = (PageNode *) css;

	if (node->stretch.reverse)
		ExplainPropertyText("Order", "reverse", es);
	lb_page_limit_explain(&node->limit, &node->answer, node->stretch.ties > 0,
						  ancestors, es);
	lb_answer_explain(css, ancestors, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Leaderboard Page",
	.BeginCustomScan = begin_page,
	.ExecCustomScan = exec_page,
	.EndCustomScan = end_page,
	.ReScanCustomScan = rescan_page,
	.ExplainCustomScan = explain_page
};

static Node *
make_state(CustomScan *scan)
{
	PageNode   *node = palloc0(sizeof(PageNode));

	NodeSetTag(node, T_CustomScanState);
	node->answer.css.methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods lb_page_methods = {
	.CustomName = "Leaderboard Page",
	.CreateCustomScanState = make_state
};
