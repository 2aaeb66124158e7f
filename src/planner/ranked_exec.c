/*-------------------------------------------------------------------------
 *
 * ranked_exec.c
 *	  Subqueries and views that rank the rows of a table: the node.
 *
 * A scan first finds its rows in the executor's snapshot: by an index and
 * quals, or by the members that the board has at some ranks.  It keeps copies
 * of those that satisfy the quals in the subquery.  A row itself has the words
 * of its key, so the board says how many keys come before these words in the
 * same snapshot, for all rows of a board under one hold of the lock.
 *
 * Only after that the scan returns rows.  So if the index cannot answer, it
 * has returned none, and runs the child.  It does the same if work_mem has no
 * room for the rows.  In a nested loop it is run once for all scans
 * (ranked_child.c).
 *
 * The node of a page takes the place of the query's Limit node and of all
 * below it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "reads/fetch.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "capture/trigger.h"
#include "planner/answer.h"
#include "planner/page_limit.h"
#include "planner/ranked_child.h"
#include "planner/ranked_count.h"
#include "planner/ranked_exec.h"
#include "planner/stretch.h"
#include "util/compat.h"

/* Rows that are ranked under one hold of the lock. */
#define BATCH 256

/* A bound of a range of ranks. */
typedef struct RankBound
{
	int			strategy;
	Oid			type;
	ExprState  *operand;
} RankBound;

typedef struct RankedNode
{
	LbAnswer	answer;			/* must be first */
	Oid			table;
	Oid			index;
	int			nconds;
	LbCond	   *conds;
	LbRanking	ranking;
	ExprState  *where;
	bool		by_row;			/* each row says of which board it is */
	LbRankedChild *child;		/* of a nested loop, or NULL */

	/* If rows are found by quals. */
	int			nkeys;
	ScanKeyData *keys;
	ExprState **operands;		/* of the keys */
	Relation	index_rel;
	IndexScanDesc scan;

	/* Or by ranks. */
	bool		by_rank;
	int			nbounds;
	RankBound  *bounds;
	LbPageLimit limit;
	LbStretch	stretch;
	LbFetch		fetch;

	/* Where the subquery's expressions are evaluated. */
	ExprContext *context;
	TupleTableSlot *found;		/* a row of the table, as it is found ... */
	TupleTableSlot *kept;		/* ... and as it is kept */
	TupleTableSlot *windows;	/* its window functions */
	ProjectionInfo *project;	/* from these into the scan slot */

	/* For a scan. */
	bool		started;
	bool		in_child;
	MemoryContext memory;		/* of the rows */
	LbRankedRow *rows;
	int			nrows;
	int			room;
	int			next;
} RankedNode;


/* ----------------------------------------------------------------
 *		Rows of the table
 * ----------------------------------------------------------------
 */

/*
 * Keep a copy of the row in node->found, if it satisfies the quals in the
 * subquery.  Returns false if there is no room.
 */
static bool
keep_row(RankedNode *node)
{
	LbRankedRow *row;
	MemoryContext old;

	ResetExprContext(node->context);
	node->context->ecxt_scantuple = node->found;
	if (!ExecQual(node->where, node->context))
		return true;
	old = MemoryContextSwitchTo(node->memory);
	if (node->nrows == node->room)
	{
		node->room = Max(16, 2 * node->room);
		node->rows = node->rows == NULL ?
			palloc(node->room * sizeof(LbRankedRow)) :
			repalloc_huge(node->rows, node->room * sizeof(LbRankedRow));
	}
	row = &node->rows[node->nrows++];
	row->tuple = ExecCopySlotHeapTuple(node->found);
	row->results = palloc(node->ranking.nfuncs * sizeof(LbRankResult));
	MemoryContextSwitchTo(old);
	return MemoryContextMemAllocated(node->memory, false) <=
		(Size) work_mem * 1024;
}

/*
 * Evaluate the operands of the index's columns.  Returns false if one of them
 * is null, and so no row satisfies the quals.
 */
static bool
set_keys(RankedNode *node)
{
	ExprContext *context = node->answer.css.ss.ps.ps_ExprContext;
	bool		isnull = false;

	for (int i = 0; i < node->nkeys && !isnull; i++)
		node->keys[i].sk_argument = ExecEvalExpr(node->operands[i], context,
												 &isnull);
	return !isnull;
}

/* Find the rows by quals.  Returns false if the child must be run. */
static bool
find_by_quals(RankedNode *node)
{
	MemoryContext old;
	bool		fits = true;

	if (!set_keys(node))
		return true;

	/* The index scan's memory lasts as long as the node. */
	old = MemoryContextSwitchTo(node->answer.css.ss.ps.state->es_query_cxt);
	index_rescan(node->scan, node->keys, node->nkeys, NULL, 0);
	while (fits && index_getnext_slot(node->scan, ForwardScanDirection,
									  node->found))
	{
		CHECK_FOR_INTERRUPTS();
		fits = keep_row(node);
	}
	ExecClearTuple(node->found);
	MemoryContextSwitchTo(old);
	if (!fits)
		lb_answer_run_child(&node->answer, LB_CAUSE_LIMIT);
	return fits;
}

/* Narrow ranks *low .. *high by a bound; no rank is below 1. */
static void
limit_ranks(const RankBound *bound, ExprContext *context, int64 *low,
			int64 *high)
{
	bool		isnull;
	Datum		value = ExecEvalExpr(bound->operand, context, &isnull);
	int64		rank = isnull ? 0 : lb_integer_of(bound->type, value);

	if (isnull)
		*high = 0;
	else if (bound->strategy == BTLessStrategyNumber)
		*high = Min(*high, Max(rank, 1) - 1);
	else if (bound->strategy <= BTEqualStrategyNumber)
		*high = Min(*high, Max(rank, 0));
	if (bound->strategy == BTGreaterStrategyNumber)
		*low = Max(*low, Min(rank, PG_INT64_MAX - 1) + 1);
	else if (bound->strategy >= BTEqualStrategyNumber)
		*low = Max(*low, rank);
}

/*
 * The places of the ranks that the scan needs, of those that are within its
 * bounds.
 */
static void
find_places(RankedNode *node, ExprContext *context)
{
	LbStretch  *stretch = &node->stretch;
	int64		low = 1;
	int64		high = PG_INT64_MAX;

	for (int i = 0; i < node->nbounds; i++)
		limit_ranks(&node->bounds[i], context, &low, &high);
	stretch->behind = low - 1;
	if (high < PG_INT64_MAX)
	{
		int64		rows = Max(high - stretch->behind, 0);

		rows = Max(rows - stretch->skip, 0);
		stretch->max_rows = stretch->all ? rows :
			Min(stretch->max_rows, rows);
		stretch->all = false;
	}
}

/* Look up the rows of members.  Returns false if the child must be run. */
static bool
fetch_rows(RankedNode *node, const LbMemberList *members)
{
	LbAnswer   *a = &node->answer;
	EState	   *estate = a->css.ss.ps.state;
	const LbDefinition *defn = a->access.target.defn;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	LbCause		cause = LB_CAUSE_NONE;

	if (node->fetch.table == NULL)
		lb_fetch_begin(&node->fetch, a->table, node->index,
					   estate->es_snapshot);
	for (int64 i = 0; cause == LB_CAUSE_NONE && i < members->n; i++)
	{
		CHECK_FOR_INTERRUPTS();

		/* Without the row, index and table differ: only the child knows. */
		if (!lb_fetch(&node->fetch, defn, lb_listed_member(members, i),
					  a->board_values, node->found))
			cause = LB_CAUSE_SNAPSHOT;
		else if (!keep_row(node))
			cause = LB_CAUSE_LIMIT;
	}
	MemoryContextSwitchTo(old);
	ExecClearTuple(node->found);

	/* Ranking the rows is the same read; EXPLAIN counts it after that. */
	if (cause == LB_CAUSE_NONE)
	{
		a->by_index--;
		a->same_read = true;
	}
	else
		lb_answer_retract(a, cause);
	return cause == LB_CAUSE_NONE;
}

/* Find the rows by ranks.  Likewise. */
static bool
find_by_ranks(RankedNode *node)
{
	LbAnswer   *a = &node->answer;
	ExprContext *context = a->css.ss.ps.ps_ExprContext;
	LbMemberList members = {.context = CurrentMemoryContext};
	bool		valid = lb_page_limit_evaluate(&node->limit, context,
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
	if (empty)
		return true;
	lb_find_range(defn, node->conds, node->nconds, context,
				  &node->stretch.range);
	find_places(node, context);
	if (lb_stretch_is_empty(&node->stretch) && !node->limit.raises)
		return true;
	return lb_read_stretch(a, &node->stretch, &members) &&
		lb_page_limit_found(&node->limit, a, &node->stretch, members.n > 0) &&
		fetch_rows(node, &members);
}


/* ----------------------------------------------------------------
 *		Their ranks
 * ----------------------------------------------------------------
 */

/*
 * The words of a row's key.  Returns false if the board does not have the row.
 */
static bool
find_key(RankedNode *node, LbDefinition *defn, LbRankedRow *row)
{
	int64		key[LB_MAX_KEY_WORDS];
	LbValue		value;
	char		room[LB_ROW_ROOM];
	Size		size;

	ExecStoreHeapTuple(row->tuple, node->kept, false);
	if (lb_row_key(defn, node->kept, key, &value, room) != LB_RANKED)
		return false;
	size = lb_key_words(&defn->shape, key) * sizeof(int64);
	row->key = MemoryContextAlloc(node->memory, size);
	memcpy(row->key, key, size);
	return true;
}

/* Rank n rows of one board.  Returns false if the child must be run. */
static bool
rank_rows(RankedNode *node, LbRankedRow *rows, int n)
{
	LbAnswer   *a = &node->answer;
	ExprContext *context = a->css.ss.ps.ps_ExprContext;
	bool		refused = false;

	ExecStoreHeapTuple(rows->tuple, node->kept, false);
	context->ecxt_scantuple = node->kept;
	if (lb_answer_prepare(a, &refused) == NULL)
		return false;
	for (int i = 0; i < n && !refused; i++)
	{
		CHECK_FOR_INTERRUPTS();
		refused = !find_key(node, a->access.target.defn, &rows[i]);
	}
	if (refused)
	{
		lb_answer_refuse(a, LB_CAUSE_OFF_BOARD);
		return false;
	}
	lb_find_range(a->access.target.defn, node->conds, node->nconds, context,
				  &node->ranking.range);
	if (!lb_answer_lock(a, node->ranking.distinct))
		return false;
	for (int i = 0; i < n; i += BATCH)
	{
		if (i > 0 && !lb_access_yield(&a->access))
		{
			lb_answer_refuse(a, a->access.cause);
			return false;
		}
		lb_rank_rows(&a->access, &node->ranking, rows + i, Min(BATCH, n - i));
	}
	lb_answer_unlock(a);
	return true;
}

/* Find and rank the rows of a scan.  Likewise. */
static bool
answer(RankedNode *node)
{
	MemoryContextReset(node->memory);
	node->rows = NULL;
	node->nrows = node->room = node->next = 0;
	lb_answer_new_read(&node->answer);
	if (!(node->by_rank ? find_by_ranks(node) :
		  !lb_answer_passes(&node->answer) || find_by_quals(node)))
		return false;
	if (node->nrows == 0)
		lb_answer_empty(&node->answer);
	else if (!node->by_row)
		return rank_rows(node, node->rows, node->nrows);
	for (int i = 0; i < node->nrows; i++)
	{
		if (!rank_rows(node, &node->rows[i], 1))
			return false;
	}
	return true;
}


/* ----------------------------------------------------------------
 *		The node
 * ----------------------------------------------------------------
 */

static void
start(RankedNode *node)
{
	ExprContext *context = node->answer.css.ss.ps.ps_ExprContext;
	MemoryContext old;

	node->started = true;
	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	node->in_child = !answer(node);
	if (node->in_child && node->child != NULL)
		lb_child_scan(node->child);
	MemoryContextSwitchTo(old);
}

static Oid
type_of(const LbRankFunc *func)
{
	if (func->kind == LB_RANK_PERCENT_RANK || func->kind == LB_RANK_CUME_DIST)
		return FLOAT8OID;
	return func->kind == LB_RANK_NTILE ? INT4OID : INT8OID;
}

/* What a window function returns. */
static Datum
result_of(const LbRankFunc *func, const LbRankResult *result)
{
	switch (type_of(func))
	{
		case FLOAT8OID:
			return Float8GetDatum(result->real);
		case INT4OID:
			return Int32GetDatum((int32) result->number);
		default:
			return Int64GetDatum(result->number);
	}
}

/* Compute the subquery's columns of a row, in the scan slot. */
static TupleTableSlot *
compute_columns(RankedNode *node, const LbRankedRow *row)
{
	TupleTableSlot *windows = node->windows;

	ExecStoreHeapTuple(row->tuple, node->kept, false);
	ExecClearTuple(windows);
	for (int i = 0; i < node->ranking.nfuncs; i++)
	{
		windows->tts_isnull[i] = false;
		windows->tts_values[i] = result_of(&node->ranking.funcs[i],
										   &row->results[i]);
	}
	ExecStoreVirtualTuple(windows);
	ResetExprContext(node->context);
	node->context->ecxt_scantuple = node->kept;
	node->context->ecxt_innertuple = windows;
	return ExecProject(node->project);
}

/* The next row in the scan slot, before quals; NULL if there is none. */
static TupleTableSlot *
next_row(RankedNode *node)
{
	if (node->in_child)
		return lb_child_next(node->child);
	if (node->next == node->nrows)
		return NULL;
	return compute_columns(node, &node->rows[node->next++]);
}

static TupleTableSlot *
exec_ranked(CustomScanState *css)
{
	RankedNode *node = (RankedNode *) css;
	ExprContext *context = css->ss.ps.ps_ExprContext;
	ProjectionInfo *project = css->ss.ps.ps_ProjInfo;
	TupleTableSlot *slot;

	if (!node->started)
		start(node);
	if (node->in_child && node->child == NULL)
		return lb_answer_child(&node->answer);
	while ((slot = next_row(node)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (ExecQual(node->in_child ? node->child->quals : css->ss.ps.qual,
					 context))
			return project == NULL ? slot : ExecProject(project);
		if (!node->in_child)
			lb_answer_filtered(&node->answer, node->table);
	}
	return NULL;
}

static void
init_funcs(RankedNode *node, const List *funcs)
{
	LbRanking  *ranking = &node->ranking;

	ranking->nfuncs = list_length(funcs);
	ranking->funcs = palloc(ranking->nfuncs * sizeof(LbRankFunc));
	for (int i = 0; i < ranking->nfuncs; i++)
	{
		const List *plan = list_nth(funcs, i);
		LbRankFunc *func = &ranking->funcs[i];

		func->kind = (LbRankKind) list_nth_int(plan, LB_RANK_KIND);
		func->reverse = list_nth_int(plan, LB_RANK_REVERSE);
		func->ncolumns = list_nth_int(plan, LB_RANK_NCOLUMNS);
		func->buckets = list_nth_int(plan, LB_RANK_BUCKETS);
		if (func->kind == LB_RANK_DENSE_RANK)
			ranking->distinct = true;
	}
}

static void
init_keys(RankedNode *node, const List *keys, const List *operands)
{
	node->nkeys = list_length(keys);
	node->keys = palloc(node->nkeys * sizeof(ScanKeyData));
	node->operands = palloc(node->nkeys * sizeof(ExprState *));
	for (int i = 0; i < node->nkeys; i++)
	{
		const List *key = list_nth(keys, i);
		Oid			op = (Oid) list_nth_int(key, LB_KEY_OPERATOR);
		Oid			collation = (Oid) list_nth_int(key, LB_KEY_COLLATION);
		bool		is_array = list_nth_int(key, LB_KEY_IS_ARRAY);
		AttrNumber	column = list_nth_int(key, LB_KEY_COLUMN);

		ScanKeyEntryInitialize(&node->keys[i], is_array ? SK_SEARCHARRAY : 0,
							   (AttrNumber) (i + 1), BTEqualStrategyNumber,
							   (Oid) list_nth_int(key, LB_KEY_TYPE), collation,
							   get_opcode(op), (Datum) 0);
		node->operands[i] = ExecInitExpr(list_nth(operands, i),
										 &node->answer.css.ss.ps);
		if (node->child != NULL && column > 0 && !is_array)
			lb_child_add_key(node->child, column, op, collation,
							 node->operands[i]);
	}
}

static void
init_range(RankedNode *node, const CustomScan *scan)
{
	const List *range = list_nth(scan->custom_private, LB_RANKED_RANGE);
	const List *operands = list_nth(scan->custom_exprs, LB_RANKED_BOUNDS);
	PlanState  *ps = &node->answer.css.ss.ps;

	lb_page_limit_begin(&node->limit, &node->answer, LB_RANKED_LIMIT);
	node->by_rank = range != NIL;
	if (!node->by_rank)
		return;
	node->stretch.reverse = list_nth_int(range, LB_RANGE_REVERSE);
	node->stretch.ties = list_nth_int(range, LB_RANGE_TIES);
	node->stretch.behind_ties = list_nth_int(range, LB_RANGE_BEHIND_TIES);
	node->nbounds = list_length(operands);
	node->bounds = palloc(node->nbounds * sizeof(RankBound));
	for (int i = 0; i < node->nbounds; i++)
	{
		RankBound  *bound = &node->bounds[i];

		bound->strategy = list_nth_int(range, LB_RANGE_BOUNDS + 2 * i);
		bound->type = (Oid) list_nth_int(range, LB_RANGE_BOUNDS + 2 * i + 1);
		bound->operand = ExecInitExpr(list_nth(operands, i), ps);
	}
}

/*
 * Open the table, and what computes the subquery's columns.  The rows are in
 * slots of different kinds, so their expressions have no parent.
 */
static void
open_table(RankedNode *node, const CustomScan *scan, EState *estate)
{
	Relation	table = table_open(node->table, NoLock);
	TupleDesc	desc = RelationGetDescr(table);
	TupleDesc	windows = CreateTemplateTupleDesc(node->ranking.nfuncs);

	for (int i = 0; i < node->ranking.nfuncs; i++)
		TupleDescInitEntry(windows, (AttrNumber) (i + 1), NULL,
						   type_of(&node->ranking.funcs[i]), -1, 0);
	TupleDescFinalize(windows);
	node->answer.table = table;
	node->context = CreateExprContext(estate);
	node->found = ExecInitExtraTupleSlot(estate, desc,
										 table_slot_callbacks(table));
	node->kept = ExecInitExtraTupleSlot(estate, desc, &TTSOpsHeapTuple);
	node->windows = ExecInitExtraTupleSlot(estate, windows, &TTSOpsVirtual);
	node->project =
		ExecBuildProjectionInfo(list_nth(scan->custom_private, LB_RANKED_OUTPUT),
								node->context,
								node->answer.css.ss.ss_ScanTupleSlot, NULL,
								NULL);
	if (node->by_rank)
		return;
	node->index_rel = index_open(node->index, AccessShareLock);
	node->scan = LB_INDEX_BEGINSCAN(table, node->index_rel,
									estate->es_snapshot, node->nkeys);
}

static void
begin_ranked(CustomScanState *css, EState *estate, int eflags)
{
	RankedNode *node = (RankedNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	const List *table = list_nth(scan->custom_private, LB_RANKED_TABLE);
	const List *conds = list_nth(scan->custom_private, LB_RANKED_CONDS);
	const List *keys = list_nth(scan->custom_private, LB_RANKED_KEYS);
	List	   *joins = list_nth(scan->custom_exprs, LB_RANKED_JOINS);
	List	   *values = list_nth(scan->custom_private, LB_RANKED_VALUES);
	ListCell   *lc;

	lb_answer_begin(css, estate, eflags);
	node->table = (Oid) linitial_int(table);
	node->index = (Oid) lsecond_int(table);
	node->nconds = list_length(conds);
	node->conds = lb_init_conds(conds,
								list_nth(scan->custom_exprs, LB_RANKED_COND_OPERANDS),
								&css->ss.ps);
	lb_check_functions(list_nth(scan->custom_private, LB_RANKED_WINDOWS));
	lb_check_functions(list_nth(scan->custom_exprs, LB_RANKED_CLAUSES));
	init_funcs(node, list_nth(scan->custom_private, LB_RANKED_FUNCS));
	if (joins != NIL)
		node->child = lb_child_begin(&node->answer, joins, list_length(keys));
	init_keys(node, keys, list_nth(scan->custom_exprs, LB_RANKED_KEY_OPERANDS));
	init_range(node, scan);
	node->where = ExecInitQual(list_nth(scan->custom_private, LB_RANKED_WHERE),
							   NULL);
	node->by_row = values != NIL;
	if (node->by_row)
		node->answer.nvalues = 0;
	foreach(lc, values)
		lb_answer_add_value(&node->answer, lfirst(lc), exprType(lfirst(lc)),
							NULL);
	node->memory = AllocSetContextCreate(CurrentMemoryContext,
										 "leaderboard ranked rows",
										 ALLOCSET_DEFAULT_SIZES);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		open_table(node, scan, estate);
}

static void
end_ranked(CustomScanState *css)
{
	RankedNode *node = (RankedNode *) css;

	if (node->answer.table != NULL)
	{
		ExecClearTuple(node->found);
		lb_fetch_end(&node->fetch);
		if (node->scan != NULL)
		{
			index_endscan(node->scan);
			index_close(node->index_rel, NoLock);
		}
		table_close(node->answer.table, NoLock);
	}
	if (node->child != NULL)
		lb_child_end(node->child);
	lb_answer_end(css);
}

static void
rescan_ranked(CustomScanState *css)
{
	RankedNode *node = (RankedNode *) css;

	node->started = node->in_child = false;
	if (node->child == NULL ||
		!lb_child_is_kept(node->child, css->ss.ps.chgParam))
		lb_answer_rescan(css);
}


/* ----------------------------------------------------------------
 *		EXPLAIN
 * ----------------------------------------------------------------
 */

/* By LbRankKind. */
static const char *const kind_names[] = {
	[LB_RANK_ROW_NUMBER] = "row_number",
	[LB_RANK_RANK] = "rank",
	[LB_RANK_DENSE_RANK] = "dense_rank",
	[LB_RANK_PERCENT_RANK] = "percent_rank",
	[LB_RANK_CUME_DIST] = "cume_dist",
	[LB_RANK_NTILE] = "ntile",
	[LB_RANK_COUNT] = "count"
};

static void
explain_ranked(CustomScanState *css, List *ancestors, ExplainState *es)
{
	RankedNode *node = (RankedNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	List	   *names = NIL;

	for (int i = 0; i < node->ranking.nfuncs; i++)
		names = list_append_unique_ptr(names,
									   (void *) kind_names[node->ranking.funcs[i].kind]);
	ExplainPropertyText("Table", get_rel_name(node->table), es);
	if (names != NIL)
		ExplainPropertyList("Rank", names, es);
	if (node->stretch.reverse)
		ExplainPropertyText("Order", "reverse", es);
	lb_answer_explain_exprs(&node->answer,
							node->by_rank ? "Rank Cond" : "Member Cond",
							LB_RANKED_CLAUSES, ancestors, es);
	lb_page_limit_explain(&node->limit, &node->answer, false, ancestors, es);
	lb_answer_explain_quals(node->table, "Ranked Rows",
							list_nth(scan->custom_private, LB_RANKED_WHERE), es);
	lb_answer_explain(css, ancestors, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Leaderboard Rank",
	.BeginCustomScan = begin_ranked,
	.ExecCustomScan = exec_ranked,
	.EndCustomScan = end_ranked,
	.ReScanCustomScan = rescan_ranked,
	.ExplainCustomScan = explain_ranked
};

static Node *
make_state(CustomScan *scan)
{
	RankedNode *node = palloc0(sizeof(RankedNode));

	NodeSetTag(node, T_CustomScanState);
	node->answer.css.methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods lb_ranked_methods = {
	.CustomName = "Leaderboard Rank",
	.CreateCustomScanState = make_state
};
