/*-------------------------------------------------------------------------
 *
 * page_index_exec.c
 *	  Pages of a board that keeps counts, by an index: the node.
 *
 * A scan asks the board, in the executor's snapshot, for the score at the
 * first place of the page, and how many of the rows that tie with it are to be
 * left out.  Then it reads the index in the same snapshot.  It has all that it
 * needs of the board before the first row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "planner/answer.h"
#include "planner/page_index_exec.h"
#include "planner/page_limit.h"
#include "planner/range.h"
#include "util/compat.h"
#include "util/pause.h"

typedef enum Phase
{
	BEFORE_START,
	IN_INDEX,
	IN_CHILD,
	AT_END
} Phase;

typedef struct PageIndexNode
{
	LbAnswer	answer;			/* must be first */
	int			nconds;
	LbCond	   *conds;
	LbPageLimit limit;
	ExprState  *quals;
	bool		blind;			/* rows that tie with the first one satisfy
								 * the quals */
	Oid			indexid;
	Relation	index;			/* NULL for EXPLAIN */
	int			column;
	bool		backward;
	int			most;
	bool		scrolls;		/* a cursor may go backward */

	/* For a scan. */
	MemoryContext context;		/* of what the index is read by */
	Phase		phase;
	LbStretch	stretch;
	IndexScanDesc scan;			/* or NULL */
	Tuplestorestate *rows;		/* of all of the page, for a cursor; or NULL */
	TupleTableSlot *kept;		/* for one of these */
	int64		skip;			/* rows to be left out, ... */
	int64		left;			/* ... and then returned */
} PageIndexNode;


/* ----------------------------------------------------------------
 *		The start
 * ----------------------------------------------------------------
 */

/* The first row of a page: its score's word, and how many tie before it. */
typedef struct First
{
	int64		word;
	int64		ties;
	int64		rows;			/* of the page, up to the end of the range */
} First;

/* Under the lock.  Returns false if the page has no rows. */
static bool
find_first(const LbView *view, const LbStretch *stretch, First *first)
{
	int64		low;
	int64		high;
	int64		place;
	int64		key[LB_MAX_KEY_WORDS];
	uint64		beside;

	if (lb_bound_cmp(&stretch->range.low, &stretch->range.high) >= 0)
		return false;
	low = (int64) lb_count_before_bound(view, &stretch->range.low);
	high = (int64) lb_count_before_bound(view, &stretch->range.high);
	if (stretch->skip >= high - low)
		return false;
	place = stretch->reverse ? high - 1 - stretch->skip : low + stretch->skip;
	lb_view_key_at(view, place, key);
	lb_view_spans(view, key, 1, stretch->reverse, &beside, NULL);
	first->word = key[0];
	first->ties = stretch->reverse ? Min(high, (int64) beside) - 1 - place :
		place - Max(low, (int64) beside);
	first->rows = high - low - stretch->skip;
	return true;
}

/* What a row costs of which the node sees only the index entry. */
#define BLIND_COST 0.1

static bool
is_too_long(const PageIndexNode *node, const First *first)
{
	return first->rows + first->ties * (node->blind ? BLIND_COST : 1) >
		node->most;
}

/*
 * Returns false if the node must run its child.  *any is whether there are
 * rows.
 */
static bool
read_first(PageIndexNode *node, First *first, bool *any)
{
	LbAnswer   *a = &node->answer;
	const LbStretch *stretch = &node->stretch;

	if (!lb_answer_lock(a, false))
		return false;
	*any = find_first(&a->access.view, stretch, first);
	if (*any && !stretch->all)
		first->rows = Min(first->rows, stretch->max_rows);
	if (*any && is_too_long(node, first))
	{
		lb_answer_refuse_locked(a, LB_CAUSE_LIMIT);
		return false;
	}
	lb_answer_unlock(a);
	return true;
}

static void
init_key(ScanKey key, Relation index, int i, int strategy, Datum value)
{
	Oid			type = index->rd_opcintype[i];
	Oid			operator = get_opfamily_member(index->rd_opfamily[i], type,
											   type, strategy);

	ScanKeyEntryInitialize(key, 0, (AttrNumber) (i + 1), strategy, type,
						   index->rd_indcollation[i], get_opcode(operator),
						   value);
}

/* The value of a board column in memory that lasts as long as the scan. */
static Datum
copy_board_value(const PageIndexNode *node, const LbDefinition *defn, int i)
{
	int16		len;
	bool		byval;

	get_typlenbyval(lb_board_columns(defn)[i].oid, &len, &byval);
	return datumCopy(node->answer.board_values[i], byval, len);
}

/* Begin to read the index where the page does. */
static void
begin_index(PageIndexNode *node, const LbDefinition *defn, const First *first)
{
	LbAnswer   *a = &node->answer;
	const LbColumn *score = &defn->columns[0];
	int64		value = lb_directed(first->word, score->descending);
	bool		upwards = score->descending == node->stretch.reverse;
	ScanKeyData keys[LB_MAX_VALUE_COLUMNS + 1];
	MemoryContext old = MemoryContextSwitchTo(node->context);

	for (int i = 0; i < node->column; i++)
		init_key(&keys[i], node->index, i, BTEqualStrategyNumber,
				 copy_board_value(node, defn, i));
	init_key(&keys[node->column], node->index, node->column,
			 upwards ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber,
			 score->type->decode(score, &value));
	node->scan = LB_INDEX_BEGINSCAN(a->table, node->index,
									a->css.ss.ps.state->es_snapshot,
									node->column + 1);

	/*
	 * Then the index scan keeps its page pinned, so that VACUUM removes no
	 * row of it before skip_blindly() has looked at the visibility map.
	 */
	node->scan->xs_want_itup = node->blind;
	index_rescan(node->scan, keys, node->column + 1, NULL, 0);
	MemoryContextSwitchTo(old);
	node->skip = first->ties;
	node->left = first->rows;
}

static void
end_index(PageIndexNode *node)
{
	if (node->scan == NULL)
		return;
	index_endscan(node->scan);
	node->scan = NULL;
	MemoryContextReset(node->context);
}

/* Returns where the rows of the scan come from. */
static Phase
find_start(PageIndexNode *node)
{
	LbAnswer   *a = &node->answer;
	ExprContext *context = a->css.ss.ps.ps_ExprContext;
	bool		valid = lb_page_limit_evaluate(&node->limit, context,
											   &node->stretch);
	bool		empty = valid && lb_stretch_is_empty(&node->stretch);
	const LbDefinition *defn = lb_answer_prepare(a, &empty);
	First		first;
	bool		any;

	if (defn == NULL)
		return IN_CHILD;
	if (!valid)
	{
		lb_answer_refuse(a, LB_CAUSE_LIMIT);
		return IN_CHILD;
	}
	if (empty)
	{
		lb_answer_empty(a);
		return AT_END;
	}
	lb_find_range(defn, node->conds, node->nconds, context,
				  &node->stretch.range);
	if (!read_first(node, &first, &any))
		return IN_CHILD;
	if (!lb_page_limit_found(&node->limit, a, &node->stretch, any))
		return IN_CHILD;
	if (!any)
		return AT_END;
	begin_index(node, a->access.target.defn, &first);
	return IN_INDEX;
}

static void
begin_rows(PageIndexNode *node)
{
	ExprContext *context = node->answer.css.ss.ps.ps_ExprContext;
	MemoryContext old;

	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	node->phase = find_start(node);
	MemoryContextSwitchTo(old);
}


/* ----------------------------------------------------------------
 *		The node
 * ----------------------------------------------------------------
 */

static inline ScanDirection
direction_of(const PageIndexNode *node)
{
	return node->backward ? BackwardScanDirection : ForwardScanDirection;
}

/*
 * Leave out rows that tie with the first one, of which only the visibility
 * matters, as an index-only scan finds it.
 */
static void
skip_blindly(PageIndexNode *node)
{
	TupleTableSlot *slot = node->answer.css.ss.ss_ScanTupleSlot;
	Buffer		map = InvalidBuffer;
	ItemPointer tid;

	while (node->skip > 0 &&
		   (tid = index_getnext_tid(node->scan, direction_of(node))) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		lb_pause("tie");
		if (VM_ALL_VISIBLE(node->answer.table,
						   ItemPointerGetBlockNumber(tid), &map) ||
			index_fetch_heap(node->scan, slot))
			node->skip--;
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
}

/* The next row of the page from the index, or NULL. */
static TupleTableSlot *
next_row(PageIndexNode *node)
{
	CustomScanState *css = &node->answer.css;
	ExprContext *context = css->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;

	if (node->blind)
		skip_blindly(node);
	while (node->left > 0 &&
		   index_getnext_slot(node->scan, direction_of(node), slot))
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (!ExecQual(node->quals, context))
			continue;
		if (node->skip > 0)
		{
			node->skip--;
			continue;
		}
		node->left--;
		return slot;
	}
	node->phase = AT_END;
	end_index(node);
	return NULL;
}

/* The next row for a cursor that may go backward, or NULL. */
static TupleTableSlot *
next_kept_row(PageIndexNode *node)
{
	CustomScanState *css = &node->answer.css;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;
	bool		forward = ScanDirectionIsForward(css->ss.ps.state->es_direction);

	if (node->rows == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(css->ss.ps.state->es_query_cxt);

		node->rows = tuplestore_begin_heap(true, false, work_mem);
		while (next_row(node) != NULL)
			tuplestore_puttupleslot(node->rows, slot);
		node->phase = IN_INDEX;
		MemoryContextSwitchTo(old);
	}
	ResetExprContext(css->ss.ps.ps_ExprContext);
	if (!tuplestore_gettupleslot(node->rows, forward, false, node->kept))
		return NULL;
	ExecCopySlot(slot, node->kept);
	css->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return slot;
}

static TupleTableSlot *
exec_page_index(CustomScanState *css)
{
	PageIndexNode *node = (PageIndexNode *) css;
	TupleTableSlot *slot;

	if (node->phase == BEFORE_START)
		begin_rows(node);
	switch (node->phase)
	{
		case IN_CHILD:
			return lb_answer_child(&node->answer);
		case IN_INDEX:
			slot = node->scrolls ? next_kept_row(node) : next_row(node);
			if (slot == NULL || css->ss.ps.ps_ProjInfo == NULL)
				return slot;
			return ExecProject(css->ss.ps.ps_ProjInfo);
		case BEFORE_START:
		case AT_END:
			break;
	}
	return NULL;
}

static void
begin_page_index(CustomScanState *css, EState *estate, int eflags)
{
	PageIndexNode *node = (PageIndexNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	const List *conds = list_nth(scan->custom_private, LB_START_CONDS);
	const List *order = list_nth(scan->custom_private, LB_START_ORDER);
	Relation	table = css->ss.ss_currentRelation;

	LB_INIT_SCAN_SLOT(estate, &css->ss, RelationGetDescr(table),
					  table_slot_callbacks(table));
	ExecAssignScanProjectionInfo(&css->ss);
	lb_answer_begin(css, estate, eflags);
	node->nconds = list_length(conds);
	node->conds = lb_init_conds(conds,
								list_nth(scan->custom_exprs, LB_START_COND_OPERANDS),
								&css->ss.ps);
	node->quals = ExecInitQual(list_nth(scan->custom_exprs, LB_START_QUALS),
							   &css->ss.ps);
	lb_page_limit_begin(&node->limit, &node->answer, LB_START_LIMIT);
	node->indexid = (Oid) list_nth_int(order, LB_START_INDEX);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		node->index = index_open(node->indexid, AccessShareLock);
	node->column = list_nth_int(order, LB_START_COLUMN);
	node->backward = list_nth_int(order, LB_START_BACKWARD);
	node->stretch.reverse = list_nth_int(order, LB_START_REVERSE);
	node->most = list_nth_int(order, LB_START_MOST);
	node->blind = list_nth(scan->custom_private, LB_START_TIES) != NIL;
	node->scrolls = (eflags & EXEC_FLAG_BACKWARD) != 0;
	if (node->scrolls)
		node->kept = ExecInitExtraTupleSlot(estate, RelationGetDescr(table),
											&TTSOpsMinimalTuple);
	node->context = AllocSetContextCreate(estate->es_query_cxt,
										  "leaderboard page",
										  ALLOCSET_SMALL_SIZES);
}

static void
clear(PageIndexNode *node)
{
	end_index(node);
	if (node->rows != NULL)
		tuplestore_end(node->rows);
	node->rows = NULL;
	node->phase = BEFORE_START;
}

static void
end_page_index(CustomScanState *css)
{
	PageIndexNode *node = (PageIndexNode *) css;

	clear(node);
	if (node->index != NULL)
		index_close(node->index, NoLock);
	lb_answer_end(css);
}

static void
rescan_page_index(CustomScanState *css)
{
	clear((PageIndexNode *) css);
	lb_answer_rescan(css);
}

static void
explain_page_index(CustomScanState *css, List *ancestors, ExplainState *es)
{
	PageIndexNode *node = (PageIndexNode *) css;

	ExplainPropertyText("Index", quote_identifier(get_rel_name(node->indexid)),
						es);
	if (node->stretch.reverse)
		ExplainPropertyText("Order", "reverse", es);
	lb_page_limit_explain(&node->limit, &node->answer, false, ancestors, es);
	lb_answer_explain(css, ancestors, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Leaderboard Index Page",
	.BeginCustomScan = begin_page_index,
	.ExecCustomScan = exec_page_index,
	.EndCustomScan = end_page_index,
	.ReScanCustomScan = rescan_page_index,
	.ExplainCustomScan = explain_page_index
};

static Node *
make_state(CustomScan *scan)
{
	PageIndexNode *node = palloc0(sizeof(PageIndexNode));

	NodeSetTag(node, T_CustomScanState);
	node->answer.css.methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods lb_page_index_methods = {
	.CustomName = "Leaderboard Index Page",
	.CreateCustomScanState = make_state
};
