/*-------------------------------------------------------------------------
 *
 * aggregate_exec.c
 *	  Aggregates over a board, or over a range of it: the node.
 *
 * All aggregates of a node are answered under one hold of the lock, from one
 * view.  The range is the places before .. upto - 1 of the board's order; an
 * aggregate with FILTER has a range of its own.  A count of them is the
 * difference, and a percentile the score of one of them.  A hypothetical row
 * has a place in the order, and so ranks as many rows of the range as are
 * before it.
 *
 * Of several boards one after the other is asked, in the same snapshot.
 * Counts are added up, and of their first or last scores there is one that is
 * first or last of all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "boards/live.h"
#include "planner/aggregate_exec.h"
#include "planner/answer.h"
#include "planner/open_boards.h"
#include "planner/page_limit.h"
#include "planner/range.h"
#include "planner/several.h"

/* Of a family with more boards, a walk would hold its locks for too long. */
#define MAX_OPEN 10000

/* An aggregate of the node. */
typedef struct Asked
{
	LbAggKind	kind;
	bool		reverse;
	bool		nulls_first[LB_MAX_KEY_COLUMNS];
	LbOperands	operands;
	int			nconds;			/* with FILTER: of its own range */
	LbCond	   *conds;
	bool		late;			/* only if the query has rows */

	/* For a scan: what the operands are, and the result. */
	LbRange		range;			/* with FILTER */
	double		fraction;
	LbPlace		place;			/* also where a null is */
	bool		isnull;
	bool		is_score;		/* the result is number, a word of the score;
								 * else a bigint, or */
	bool		is_real;		/* real */
	int64		number;
	double		real;
	bool		total_isnull;	/* of several boards: the result so far */
	int64		total;
} Asked;

typedef struct AggNode
{
	LbAnswer	answer;			/* must be first */
	bool		done;
	bool		in_child;
	bool		distinct;		/* an aggregate counts distinct scores */
	int			nconds;
	LbCond	   *conds;
	int			naggs;
	Asked	   *aggs;
	bool		late_wanted;	/* for a scan: the late ranges are needed ... */
	bool		late_found;		/* ... and known */
	LbRange		range;
	LbPageLimit limit;			/* of a subquery */
	bool		limited;		/* it leaves rows, which are counted */
	LbStretch	rows;			/* those, for a scan */
	ExprState  *values;			/* of several boards, an array; or NULL */
} AggNode;

/* The range, under the lock; view is NULL if the board has no rows. */
typedef struct Rows
{
	const LbView *view;
	const LbRange *range;
	uint64		before;
	uint64		upto;
	bool		descending;		/* the score */
} Rows;


/* ----------------------------------------------------------------
 *		Operands
 * ----------------------------------------------------------------
 */

/*
 * The fraction of a percentile.  Returns false if the aggregate is going to
 * raise an error, which the child does.
 */
static bool
evaluate_fraction(Asked *agg, ExprContext *context)
{
	Datum		value = ExecEvalExpr(agg->operands.exprs[0], context,
									 &agg->isnull);

	if (agg->isnull)
		return true;
	agg->fraction = DatumGetFloat8(value);
	return agg->fraction >= 0 && agg->fraction <= 1;
}

/*
 * The place of a hypothetical row.  A null is before or after all rows that
 * equal the row in the columns before it.
 */
static void
evaluate_place(const LbDefinition *defn, Asked *agg, ExprContext *context)
{
	LbPlace    *place = &agg->place;

	lb_find_place(defn, &agg->operands, NULL, 0, context, place);
	if (!place->isnull)
		return;

	if (agg->nulls_first[place->nfound] == agg->reverse)
		place->before = place->through;
	else
		place->through = place->before;
}

/*
 * Evaluate the subquery's LIMIT and OFFSET.  Returns false if the child must
 * be run.
 */
static bool
evaluate_limit(AggNode *node)
{
	return lb_page_limit_evaluate(&node->limit,
								  node->answer.css.ss.ps.ps_ExprContext,
								  &node->rows) &&
		(node->limited || (node->rows.all && node->rows.skip == 0));
}

/*
 * Evaluate all operands; if there are no rows, those of the aggregates only.
 * Returns false if the child must be run.
 */
static bool
evaluate(AggNode *node, const LbDefinition *defn, bool empty)
{
	ExprContext *context = node->answer.css.ss.ps.ps_ExprContext;

	if (!empty)
		lb_find_range(defn, node->conds, node->nconds, context, &node->range);
	for (int i = 0; i < node->naggs; i++)
	{
		Asked	   *agg = &node->aggs[i];

		agg->isnull = false;
		if (agg->nconds > 0 && !empty && !agg->late)
			lb_find_range(defn, agg->conds, agg->nconds, context, &agg->range);
		if (agg->kind == LB_AGG_PERCENTILE_DISC)
		{
			if (!evaluate_fraction(agg, context))
				return false;
		}
		else if (agg->operands.n > 0)
			evaluate_place(defn, agg, context);
	}
	return true;
}


/* ----------------------------------------------------------------
 *		Under the lock
 * ----------------------------------------------------------------
 */

/* A bound, or the end of the range that is nearer. */
static const LbBound *
clamp(const Rows *rows, const LbBound *bound)
{
	if (lb_bound_cmp(bound, &rows->range->low) < 0)
		return &rows->range->low;
	if (lb_bound_cmp(bound, &rows->range->high) > 0)
		return &rows->range->high;
	return bound;
}

/* Rows of the range that come before a bound. */
static uint64
count_before(const Rows *rows, const LbBound *bound)
{
	if (rows->before == rows->upto)
		return 0;
	return lb_count_before_bound(rows->view, clamp(rows, bound)) - rows->before;
}

/* Distinct scores between two bounds. */
static uint64
distinct_between(const Rows *rows, const LbBound *low, const LbBound *high)
{
	if (rows->before == rows->upto)
		return 0;
	return lb_distinct_before(rows->view, clamp(rows, high)) -
		lb_distinct_before(rows->view, clamp(rows, low));
}

/* The score at a place of the board's order. */
static void
take_score(const Rows *rows, Asked *agg, uint64 place)
{
	int64		key[LB_MAX_KEY_WORDS];

	lb_view_key_at(rows->view, place, key);
	agg->number = lb_directed(key[0], rows->descending);
}

/* As percentile_disc() finds its row. */
static void
take_percentile(const Rows *rows, Asked *agg)
{
	uint64		n = rows->upto - rows->before;
	uint64		row = (uint64) ceil(agg->fraction * n);

	row = Min(Max(row, 1), n);
	take_score(rows, agg,
			   agg->reverse ? rows->upto - row : rows->before + row - 1);
}

/*
 * As the functions of hypothetical sets count: rows before the row, or equal.
 */
static void
take_rank(const Rows *rows, Asked *agg)
{
	const LbPlace *place = &agg->place;
	uint64		n = rows->upto - rows->before;
	uint64		before = agg->reverse ? n - count_before(rows, &place->through) :
		count_before(rows, &place->before);
	uint64		through = agg->reverse ? n - count_before(rows, &place->before) :
		count_before(rows, &place->through);

	agg->number = before + 1;
	if (agg->kind == LB_AGG_PERCENT_RANK)
		agg->real = n == 0 ? 0 : (double) before / (double) n;
	else if (agg->kind == LB_AGG_CUME_DIST)
		agg->real = (double) (through + 1) / (double) (n + 1);
	else if (agg->kind == LB_AGG_DENSE_RANK)
		agg->number = 1 + (agg->reverse ?
						   distinct_between(rows, &place->through, &rows->range->high) :
						   distinct_between(rows, &rows->range->low, &place->before));
}

static void
take(const Rows *rows, Asked *agg)
{
	uint64		n = rows->upto - rows->before;

	if (agg->is_score)
		agg->isnull = agg->isnull || n == 0;
	if (agg->isnull)
		return;
	switch (agg->kind)
	{
		case LB_AGG_COUNT:
			agg->number = n;
			break;
		case LB_AGG_COUNT_DISTINCT:
			agg->number = distinct_between(rows, &rows->range->low,
										   &rows->range->high);
			break;
		case LB_AGG_FIRST:
			take_score(rows, agg, rows->before);
			break;
		case LB_AGG_LAST:
			take_score(rows, agg, rows->upto - 1);
			break;
		case LB_AGG_PERCENTILE_DISC:
			take_percentile(rows, agg);
			break;
		default:
			take_rank(rows, agg);
			break;
	}
}

static Rows
rows_in(const LbDefinition *defn, const LbView *view, const LbRange *range)
{
	Rows		rows = {
		.view = view,
		.range = range,
		.descending = lb_score_column(defn)->descending
	};

	if (view != NULL && lb_bound_cmp(&range->low, &range->high) < 0)
	{
		rows.before = lb_count_before_bound(view, &range->low);
		rows.upto = lb_count_before_bound(view, &range->high);
	}
	return rows;
}

/* Leave those that LIMIT and OFFSET leave. */
static void
limit_rows(Rows *rows, const LbStretch *limit)
{
	rows->before += Min((uint64) limit->skip, rows->upto - rows->before);
	if (!limit->all)
		rows->upto = Min(rows->upto, rows->before + limit->max_rows);
}

/* Fill in all results.  Under the lock, unless view is NULL. */
static void
take_all(AggNode *node, const LbDefinition *defn, const LbView *view)
{
	Rows		rows = rows_in(defn, view, &node->range);

	limit_rows(&rows, &node->rows);
	for (int i = 0; i < node->naggs; i++)
	{
		Asked	   *agg = &node->aggs[i];

		if (agg->late && !node->late_found && rows.before < rows.upto)
			node->late_wanted = true;
		else if (agg->late && !node->late_found)
			take(&rows, agg);
		else if (agg->nconds > 0)
		{
			Rows		filtered = rows_in(defn, view, &agg->range);

			take(&filtered, agg);
		}
		else
			take(&rows, agg);
	}
}

/*
 * Whether all scores are certainly what the rows have, and not -0 instead of
 * 0.
 */
static bool
is_sure(const AggNode *node, const LbDefinition *defn)
{
	const LbColumn *score = lb_score_column(defn);

	for (int i = 0; i < node->naggs; i++)
	{
		const Asked *agg = &node->aggs[i];

		if (agg->is_score && !agg->isnull &&
			lb_is_unsure(node->answer.access.shared, score,
						 lb_directed(agg->number, score->descending)))
			return false;
	}
	return true;
}

/*
 * The board has rows of the query: so PostgreSQL would evaluate all conditions
 * of FILTER.  Releases the lock meanwhile.
 */
static bool
find_late_ranges(AggNode *node)
{
	LbAnswer   *a = &node->answer;

	lb_answer_unlock(a);
	for (int i = 0; i < node->naggs; i++)
	{
		Asked	   *agg = &node->aggs[i];

		if (agg->late)
			lb_find_range(a->access.target.defn, agg->conds, agg->nconds,
						  a->css.ss.ps.ps_ExprContext, &agg->range);
	}
	node->late_wanted = false;
	node->late_found = true;
	a->by_index--;
	a->same_read = true;
	return lb_answer_lock(a, node->distinct);
}

/*
 * Answer from the index of the target's board.  Returns false if the child
 * must be run.
 */
static bool
answer_board(AggNode *node)
{
	LbAnswer   *a = &node->answer;

	if (!lb_answer_lock(a, node->distinct))
		return false;
	take_all(node, a->access.target.defn, &a->access.view);
	if (node->late_wanted)
	{
		if (!find_late_ranges(node))
			return false;
		take_all(node, a->access.target.defn, &a->access.view);
	}
	if (!is_sure(node, a->access.target.defn))
	{
		lb_answer_refuse_locked(a, LB_CAUSE_LIMIT);
		return false;
	}
	lb_answer_unlock(a);
	return true;
}

/* Whether a score comes before another one in the board's order. */
static bool
comes_before(const LbDefinition *defn, int64 a, int64 b)
{
	bool		descending = lb_score_column(defn)->descending;

	return lb_directed(a, descending) < lb_directed(b, descending);
}

/* Add the results of a board to those of the ones before it. */
static void
add_results(AggNode *node, const LbDefinition *defn)
{
	for (int i = 0; i < node->naggs; i++)
	{
		Asked	   *agg = &node->aggs[i];

		if (!agg->is_score)
			agg->total += agg->number;
		else if (!agg->isnull &&
				 (agg->total_isnull ||
				  (agg->kind == LB_AGG_FIRST ?
				   comes_before(defn, agg->number, agg->total) :
				   comes_before(defn, agg->total, agg->number))))
		{
			agg->total_isnull = false;
			agg->total = agg->number;
		}
		agg->isnull = false;
	}
}

/* What a scan asks of further boards is one read with the first. */
static void
continue_read(LbAnswer *a, bool first)
{
	CHECK_FOR_INTERRUPTS();
	if (first)
		return;
	a->by_index--;
	a->same_read = true;
}

/* Answer from the indexes of boards whose values are in an array. */
static bool
answer_array(AggNode *node)
{
	LbAnswer   *a = &node->answer;
	LbTarget   *target = &a->access.target;
	Datum		elements[LB_MAX_SEVERAL];
	Datum		values[LB_MAX_VALUE_COLUMNS];
	int			place = 0;
	bool		isnull;
	Datum		array = ExecEvalExpr(node->values, a->css.ss.ps.ps_ExprContext,
									 &isnull);
	int			n;

	while ((a->open & 1 << place) == 0)
		place++;
	memcpy(values, a->board_values, sizeof(values));
	n = isnull ? 0 :
		lb_list_several(target, a->value_types, values, place, array, a->room,
						elements);
	if (n < 0)
	{
		lb_answer_refuse(a, LB_CAUSE_LIMIT);
		return false;
	}
	for (int i = 0; i < n; i++)
	{
		memcpy(values, a->board_values, sizeof(values));
		values[place] = elements[i];
		(void) lb_set_target_value(target, a->value_types, values, a->room);
		continue_read(a, i == 0);
		if (!answer_board(node))
			return false;
		add_results(node, target->defn);
	}
	if (n == 0)
		lb_answer_empty(a);
	return true;
}

/* A value that no board of several board columns has. */
static void
set_no_board(LbTarget *target, int stripe)
{
	target->has_value = true;
	target->value.len = 0;
	target->value.data = "";
	target->hash = 0;
	target->stripe = stripe;
}

/*
 * Find the boards of the columns that are known.  A board that is not there
 * has no rows if a reader of it has access to the stripe.  Returns false if
 * the child must be run.
 */
static bool
find_open_boards(AggNode *node, LbOpenBoards *boards)
{
	LbAnswer   *a = &node->answer;
	LbTarget   *target = &a->access.target;

	for (int s = 0; s < LB_STRIPES; s++)
	{
		LbStripe   *stripe;

		set_no_board(target, s);
		continue_read(a, s == 0);
		if (!lb_answer_lock(a, node->distinct))
			return false;
		stripe = &a->access.shared->stripes[s];
		if (stripe->boards.entries > MAX_OPEN / LB_STRIPES)
			boards->many = true;
		else
			lb_open_boards_of_stripe(boards, stripe);
		if (boards->many)
		{
			lb_answer_refuse_locked(a, LB_CAUSE_LIMIT);
			return false;
		}
		lb_answer_unlock(a);
	}
	lb_open_boards_of_xact(boards, target->defn);
	if (boards->many)
		lb_answer_retract(a, LB_CAUSE_LIMIT);
	return !boards->many;
}

/* Answer from the indexes of all boards with the values that are known. */
static bool
answer_open(AggNode *node)
{
	LbAnswer   *a = &node->answer;
	LbTarget   *target = &a->access.target;
	LbOpenBoards boards;
	bool		too_long;

	if (!lb_open_boards_begin(&boards, target, a->value_types, a->board_values,
							  a->open, &too_long))
	{
		lb_answer_empty(a);
		return true;
	}
	if (too_long)
	{
		lb_answer_refuse(a, LB_CAUSE_LIMIT);
		return false;
	}
	if (!find_open_boards(node, &boards))
		return false;
	for (int i = 0; i < boards.n; i++)
	{
		target->value = boards.values[i];
		target->hash = lb_value_hash(&target->value);
		target->stripe = lb_value_stripe(true, target->hash);
		continue_read(a, false);
		if (!answer_board(node))
			return false;
		add_results(node, target->defn);
	}
	return true;
}

/* Answer from the indexes of several boards.  Likewise. */
static bool
answer_several(AggNode *node)
{
	for (int i = 0; i < node->naggs; i++)
	{
		node->aggs[i].total = 0;
		node->aggs[i].total_isnull = node->aggs[i].is_score;
	}
	if (!(node->values == NULL ? answer_open(node) : answer_array(node)))
		return false;
	for (int i = 0; i < node->naggs; i++)
	{
		node->aggs[i].number = node->aggs[i].total;
		node->aggs[i].isnull = node->aggs[i].total_isnull;
	}
	return true;
}

/* Answer from the index.  Returns NULL if the child must be run. */
static const LbDefinition *
answer(AggNode *node)
{
	LbAnswer   *a = &node->answer;
	bool		valid = evaluate_limit(node);
	bool		empty = valid && lb_stretch_is_empty(&node->rows);
	const LbDefinition *defn;

	node->late_wanted = node->late_found = false;
	lb_answer_new_read(a);
	defn = lb_answer_prepare(a, &empty);
	if (defn == NULL)
		return NULL;
	if (!valid || !evaluate(node, defn, empty))
	{
		lb_answer_refuse(a, LB_CAUSE_LIMIT);
		return NULL;
	}
	if (empty)
	{
		take_all(node, defn, NULL);
		lb_answer_empty(a);
		return defn;
	}
	if (!(a->open == 0 ? answer_board(node) : answer_several(node)))
		return NULL;
	return a->access.target.defn;
}


/* ----------------------------------------------------------------
 *		The node
 * ----------------------------------------------------------------
 */

static void
fill_slot(AggNode *node, const LbDefinition *defn, TupleTableSlot *slot)
{
	const LbColumn *score = lb_score_column(defn);

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true,
		   slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = 0; i < node->naggs; i++)
	{
		Asked	   *agg = &node->aggs[i];

		slot->tts_isnull[i] = agg->isnull;
		if (agg->isnull)
			slot->tts_values[i] = (Datum) 0;
		else if (agg->is_score)
			slot->tts_values[i] = score->type->decode(score, &agg->number);
		else
			slot->tts_values[i] = agg->is_real ? Float8GetDatum(agg->real) :
				Int64GetDatum(agg->number);
	}
	ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
exec_aggregate(CustomScanState *css)
{
	AggNode    *node = (AggNode *) css;
	ExprContext *context = css->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;
	const LbDefinition *defn;
	MemoryContext old;

	if (node->in_child)
		return lb_answer_child(&node->answer);
	if (node->done)
		return NULL;
	node->done = true;
	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	defn = answer(node);
	if (defn != NULL)
		fill_slot(node, defn, slot);
	MemoryContextSwitchTo(old);
	if (defn == NULL)
	{
		node->in_child = true;
		return lb_answer_child(&node->answer);
	}
	context->ecxt_scantuple = slot;
	if (!ExecQual(css->ss.ps.qual, context))
		return NULL;
	return css->ss.ps.ps_ProjInfo == NULL ? slot :
		ExecProject(css->ss.ps.ps_ProjInfo);
}

static void
init_agg(Asked *agg, const List *spec, const List *operands, PlanState *node)
{
	List	   *types = NIL;

	agg->kind = (LbAggKind) list_nth_int(spec, LB_AGG_KIND);
	agg->reverse = list_nth_int(spec, LB_AGG_REVERSE);
	agg->late = list_nth_int(spec, LB_AGG_LATE);
	for (int i = 0; i < list_length(operands); i++)
	{
		types = lappend_int(types, list_nth_int(spec, LB_AGG_OPERANDS + 2 * i));
		agg->nulls_first[i] = list_nth_int(spec, LB_AGG_OPERANDS + 2 * i + 1);
	}
	lb_init_operands(&agg->operands, 0, types, operands, node);
	agg->is_score = agg->kind == LB_AGG_FIRST || agg->kind == LB_AGG_LAST ||
		agg->kind == LB_AGG_PERCENTILE_DISC;
	agg->is_real = agg->kind == LB_AGG_PERCENT_RANK ||
		agg->kind == LB_AGG_CUME_DIST;
}

static void
begin_aggregate(CustomScanState *css, EState *estate, int eflags)
{
	AggNode    *node = (AggNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	const List *conds = list_nth(scan->custom_private, LB_AGG_CONDS);
	const List *aggs = list_nth(scan->custom_private, LB_AGG_AGGS);
	const List *several = list_nth(scan->custom_private, LB_AGG_SEVERAL);
	const List *values = list_nth(scan->custom_exprs, LB_AGG_VALUES);
	const List *operands = list_nth(scan->custom_exprs, LB_AGG_AGG_OPERANDS);
	const List *filters = list_nth(scan->custom_private, LB_AGG_FILTERS);
	const List *filter_operands = list_nth(scan->custom_exprs,
										   LB_AGG_FILTER_OPERANDS);

	lb_answer_begin(css, estate, eflags);
	lb_check_functions(list_nth(scan->custom_private, LB_AGG_QUALS));
	lb_page_limit_begin(&node->limit, &node->answer, LB_AGG_LIMIT);
	node->limited = list_nth(scan->custom_private, LB_AGG_LIMITED) != NIL;
	if (several != NIL)
		node->answer.open = linitial_int(several);
	if (values != NIL)
		node->values = ExecInitExpr(linitial(values), &css->ss.ps);
	node->nconds = list_length(conds);
	node->conds = lb_init_conds(conds, list_nth(scan->custom_exprs, LB_AGG_COND_OPERANDS),
								&css->ss.ps);
	node->naggs = list_length(aggs);
	node->aggs = palloc0(node->naggs * sizeof(Asked));
	for (int i = 0; i < node->naggs; i++)
	{
		Asked	   *agg = &node->aggs[i];

		init_agg(agg, list_nth(aggs, i), list_nth(operands, i), &css->ss.ps);
		agg->nconds = list_length(list_nth(filters, i));
		agg->conds = lb_init_conds(list_nth(filters, i),
								   list_nth(filter_operands, i), &css->ss.ps);
		node->distinct = node->distinct ||
			agg->kind == LB_AGG_COUNT_DISTINCT ||
			agg->kind == LB_AGG_DENSE_RANK;
	}
}

static void
rescan_aggregate(CustomScanState *css)
{
	AggNode    *node = (AggNode *) css;

	node->done = node->in_child = false;
	lb_answer_rescan(css);
}

static void
explain_aggregate(CustomScanState *css, List *ancestors, ExplainState *es)
{
	AggNode    *node = (AggNode *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	List	   *table = list_nth(scan->custom_private, LB_AGG_TABLE);

	if (table != NIL)
	{
		ExplainPropertyText("Table", get_rel_name(linitial_oid(table)), es);
		lb_answer_explain_quals(linitial_oid(table), "Table Cond",
								list_nth(scan->custom_private, LB_AGG_QUALS), es);
	}
	lb_page_limit_explain(&node->limit, &node->answer, false, ancestors, es);
	lb_answer_explain(css, ancestors, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Leaderboard Aggregate",
	.BeginCustomScan = begin_aggregate,
	.ExecCustomScan = exec_aggregate,
	.EndCustomScan = lb_answer_end,
	.ReScanCustomScan = rescan_aggregate,
	.ExplainCustomScan = explain_aggregate
};

static Node *
make_state(CustomScan *scan)
{
	AggNode    *node = palloc0(sizeof(AggNode));

	NodeSetTag(node, T_CustomScanState);
	node->answer.css.methods = &exec_methods;
	return (Node *) node;
}

const CustomScanMethods lb_aggregate_methods = {
	.CustomName = "Leaderboard Aggregate",
	.CreateCustomScanState = make_state
};
