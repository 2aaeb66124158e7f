/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Ranges of a board's order, by the operands of a node.
 *
 * An operand that the column could not hold lies between two of its values.
 * So each operand has a least word whose value is not below it, and a greatest
 * word whose value is not above it.  They are the same if the column can hold
 * the operand.  Rounding can make several integers equal one operand of double
 * precision; then they are the ends of these.  All comparisons follow from the
 * two, and are exact.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "boards/encode.h"
#include "planner/columns.h"
#include "planner/quals.h"
#include "planner/range.h"
#include "reads/text.h"

/* An operand among the words of its column, before they are directed. */
typedef struct Neighbours
{
	int			n;				/* words of each of the two */
	int64		ceil[LB_MAX_KEY_WORDS];
	int64		floor[LB_MAX_KEY_WORDS];
	bool		above_all;		/* there is no ceil */
	bool		below_all;		/* there is no floor */
} Neighbours;

/* ----------------------------------------------------------------
 *		An operand
 * ----------------------------------------------------------------
 */

static int
compare_numeric(Datum a, Datum b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, a, b));
}

/* A whole numeric as a word; false if it is outside, beyond the end *word. */
static bool
numeric_to_word(Datum value, int64 *word)
{
	Datum		least = NumericGetDatum(int64_to_numeric(PG_INT64_MIN));
	Datum		greatest = NumericGetDatum(int64_to_numeric(PG_INT64_MAX));

	if (compare_numeric(value, least) < 0)
		*word = PG_INT64_MIN;
	else if (compare_numeric(value, greatest) > 0)
		*word = PG_INT64_MAX;
	else
	{
		*word = DatumGetInt64(DirectFunctionCall1(numeric_int8, value));
		return true;
	}
	return false;
}

/* NaN is greater than all numbers, and floor and ceil leave it. */
static void
among_integers_numeric(Datum value, Neighbours *near)
{
	Datum		floor = DirectFunctionCall1(numeric_floor, value);
	Datum		ceil = DirectFunctionCall1(numeric_ceil, value);

	near->below_all = !numeric_to_word(floor, near->floor) &&
		near->floor[0] == PG_INT64_MIN;
	near->above_all = !numeric_to_word(ceil, near->ceil) &&
		near->ceil[0] == PG_INT64_MAX;
}

/*
 * The least integer whose double is at least value, or with above, is above
 * it.  Returns false if there is none.  The cast never decreases from one
 * integer to the next, so this is a binary search.
 */
static bool
search_integer(double value, bool above, int64 *word)
{
	int64		low = PG_INT64_MIN;
	int64		high = PG_INT64_MAX;

#define REACHES(w) (above ? (double) (w) > value : (double) (w) >= value)
	if (isnan(value) || !REACHES(high))
		return false;
	while (low < high)
	{
		/* The mean, rounded down, without overflow. */
		int64		middle = (low & high) + ((low ^ high) >> 1);

		if (REACHES(middle))
			high = middle;
		else
			low = middle + 1;
	}
#undef REACHES
	*word = low;
	return true;
}

static void
among_integers_double(double value, Neighbours *near)
{
	near->above_all = !search_integer(value, false, near->ceil);
	near->below_all = false;
	if (!search_integer(value, true, near->floor))
		near->floor[0] = PG_INT64_MAX;
	else if (near->floor[0] == PG_INT64_MIN)
		near->below_all = true;
	else
		near->floor[0]--;
}

static double
double_of(Oid type, Datum value)
{
	return type == FLOAT4OID ? DatumGetFloat4(value) : DatumGetFloat8(value);
}

static void
find_neighbours(const LbColumn *column, Oid type, Datum value,
				Neighbours *near)
{
	near->n = 1;
	near->above_all = near->below_all = false;
	if (lb_is_integer(column->oid) && type == NUMERICOID)
		among_integers_numeric(value, near);
	else if (lb_is_integer(column->oid) && type == FLOAT8OID)
		among_integers_double(DatumGetFloat8(value), near);
	else if (lb_is_integer(column->oid))
		near->ceil[0] = near->floor[0] = lb_integer_of(type, value);
	else if (type == NUMERICOID)
		lb_word_from_value(column, value, near->floor, near->ceil);
	else
	{
		/* A word of real is that of double precision. */
		if (type == FLOAT4OID || type == FLOAT8OID)
			lb_encode_float8(column, Float8GetDatum(double_of(type, value)),
							 near->floor);
		else
			near->n = column->type->encode(column, value, near->floor);
		memcpy(near->ceil, near->floor, near->n * sizeof(int64));
	}
}


/* ----------------------------------------------------------------
 *		Bounds
 * ----------------------------------------------------------------
 */

int
lb_bound_cmp(const LbBound *a, const LbBound *b)
{
	int			c = lb_words_cmp(a->words, b->words, Min(a->n, b->n));

	if (c != 0)
		return c;
	if (a->n == b->n)
		return (int) a->after - (int) b->after;
	if (a->n < b->n)
		return a->after ? 1 : -1;
	return b->after ? -1 : 1;
}

/* Add the n words of an operand to a bound. */
static void
extend_bound(LbBound *bound, const int64 *words, int n, bool descending)
{
	for (int i = 0; i < n; i++)
		bound->words[bound->n + i] = lb_directed(words[i], descending);
	bound->n += n;
}

/*
 * Add an operand to a place whose bounds are those of the operands before it.
 */
static void
add_operand(const LbColumn *column, Oid type, Datum value, LbPlace *place)
{
	Neighbours	near;
	bool		down = column->descending;
	bool		none_before;
	bool		none_after;

	find_neighbours(column, type, value, &near);

	/* In the direction of the key. */
	none_before = down ? near.above_all : near.below_all;
	none_after = down ? near.below_all : near.above_all;
	if (none_after)
		place->before.after = true;
	else
		extend_bound(&place->before, down ? near.floor : near.ceil, near.n,
					 down);
	if (none_before)
		place->through.after = false;
	else
		extend_bound(&place->through, down ? near.ceil : near.floor, near.n,
					 down);
	place->exact = !none_before && !none_after &&
		memcmp(near.floor, near.ceil, near.n * sizeof(int64)) == 0;
}

/* The place of a prefix. */
static void
begin_place(const int64 *prefix, int nprefix, LbPlace *place)
{
	place->before.n = place->through.n = 0;
	extend_bound(&place->before, prefix, nprefix, false);
	extend_bound(&place->through, prefix, nprefix, false);
	place->before.after = false;
	place->through.after = true;
	place->exact = true;
	place->isnull = false;
}

void
lb_find_place(const LbDefinition *defn, const LbOperands *operands,
			  const int64 *prefix, int nprefix, ExprContext *context,
			  LbPlace *place)
{
	begin_place(prefix, nprefix, place);

	/* Behind an operand that no key has, the others do not matter. */
	for (int i = 0; i < operands->n && place->exact; i++)
	{
		Datum		value = ExecEvalExpr(operands->exprs[i], context,
										 &place->isnull);

		place->nfound = i;
		if (place->isnull)
			return;
		add_operand(&defn->columns[operands->first + i], operands->types[i],
					value, place);
	}
}

static void
raise_low(LbRange *range, const LbBound *bound)
{
	if (lb_bound_cmp(&range->low, bound) < 0)
		range->low = *bound;
}

static void
lower_high(LbRange *range, const LbBound *bound)
{
	if (lb_bound_cmp(&range->high, bound) > 0)
		range->high = *bound;
}

/* The strategy in the direction of the key. */
static int
directed_strategy(int strategy, bool descending)
{
	return descending ? BTMaxStrategyNumber + 1 - strategy : strategy;
}

/*
 * Limit the range by a qual.  If an operand of a row is null, rows that equal
 * the operands before it do not satisfy the qual.
 */
static void
limit_range(LbRange *range, int strategy, const LbPlace *place)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			lower_high(range, &place->before);
			break;
		case BTLessEqualStrategyNumber:
			lower_high(range, place->isnull ? &place->before : &place->through);
			break;
		case BTEqualStrategyNumber:
			raise_low(range, place->isnull ? &place->through : &place->before);
			lower_high(range, place->isnull ? &place->before : &place->through);
			break;
		case BTGreaterEqualStrategyNumber:
			raise_low(range, place->isnull ? &place->through : &place->before);
			break;
		case BTGreaterStrategyNumber:
			raise_low(range, &place->through);
			break;
	}
}


/* ----------------------------------------------------------------
 *		Enclosures
 * ----------------------------------------------------------------
 */

/* A column behind a prefix of words, and what evaluates its operands. */
typedef struct Column
{
	const LbDefinition *defn;
	int			number;
	const int64 *prefix;
	int			nprefix;
	ExprContext *context;
} Column;

static void
set_all(LbRange *range)
{
	range->low.n = range->high.n = 0;
	range->low.after = false;
	range->high.after = true;
}

static void
set_nothing(LbRange *range)
{
	range->low.n = range->high.n = 0;
	range->low.after = true;
	range->high.after = false;
}

static bool
is_nothing(const LbRange *range)
{
	return lb_bound_cmp(&range->low, &range->high) >= 0;
}

static void
intersect(LbRange *range, const LbRange *other)
{
	raise_low(range, &other->low);
	lower_high(range, &other->high);
}

/* Extend a range so that it has another one, and what is between. */
static void
enclose(LbRange *range, const LbRange *other)
{
	if (is_nothing(other))
		return;
	if (is_nothing(range))
		*range = *other;
	if (lb_bound_cmp(&range->low, &other->low) > 0)
		range->low = other->low;
	if (lb_bound_cmp(&range->high, &other->high) < 0)
		range->high = other->high;
}

/* The range of a comparison.  One with null is never true. */
static void
find_compared(const Column *column, const LbEnclosure *e, Datum value, bool isnull,
			  LbRange *range)
{
	const LbColumn *c = &column->defn->columns[column->number];
	LbPlace		place;

	set_nothing(range);
	if (isnull)
		return;
	set_all(range);
	begin_place(column->prefix, column->nprefix, &place);
	add_operand(c, e->type, value, &place);
	limit_range(range, directed_strategy(e->strategy, c->descending), &place);
}

static void
find_compared_array(const Column *column, const LbEnclosure *e, Datum value,
					LbRange *range)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	bool		any = e->kind == LB_ENCLOSE_ANY;
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int16		len;
	bool		byval;
	char		align;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, &elements,
					  &nulls, &n);
	if (any)
		set_nothing(range);
	else
		set_all(range);
	for (int i = 0; i < n; i++)
	{
		LbRange		one;

		CHECK_FOR_INTERRUPTS();
		find_compared(column, e, elements[i], nulls[i], &one);
		if (any)
			enclose(range, &one);
		else
			intersect(range, &one);
	}
}

static void
find_enclosure(const Column *column, const LbEnclosure *e, LbRange *range)
{
	Datum		value;
	bool		isnull;

	check_stack_depth();
	if (e->kind == LB_ENCLOSE_AND || e->kind == LB_ENCLOSE_OR)
	{
		find_enclosure(column, &e->parts[0], range);
		for (int i = 1; i < e->nparts; i++)
		{
			LbRange		part;

			find_enclosure(column, &e->parts[i], &part);
			if (e->kind == LB_ENCLOSE_OR)
				enclose(range, &part);
			else
				intersect(range, &part);
		}
		return;
	}
	value = ExecEvalExpr(e->operand, column->context, &isnull);
	if (e->kind == LB_ENCLOSE_OPERAND || isnull)
		find_compared(column, e, value, isnull, range);
	else
		find_compared_array(column, e, value, range);
}


/* ----------------------------------------------------------------
 *		Ranges
 * ----------------------------------------------------------------
 */

bool
lb_is_true(ExprState *expr, ExprContext *context)
{
	bool		isnull;
	Datum		value = ExecEvalExpr(expr, context, &isnull);

	return !isnull && DatumGetBool(value);
}

void
lb_find_range(const LbDefinition *defn, const LbCond *conds, int n,
			  ExprContext *context, LbRange *range)
{
	LbPlace		place;

	/* The words of the columns that equal an operand, and where each ends. */
	int64		equal[LB_MAX_KEY_WORDS];
	int			ends[LB_MAX_KEY_COLUMNS + 1] = {0};
	int			nequal = 0;

	set_all(range);
	for (int i = 0; i < n; i++)
	{
		const LbCond *cond = &conds[i];
		int			first = cond->operands.first;

		/* A column before it equals what no key has: so the range is empty. */
		if (first > nequal)
			break;
		if (cond->unless != NULL && lb_is_true(cond->unless, context))
			continue;
		if (cond->enclosure != NULL)
		{
			Column		column = {defn, first, equal, ends[first], context};
			LbRange		enclosed;

			find_enclosure(&column, cond->enclosure, &enclosed);
			intersect(range, &enclosed);
			continue;
		}
		lb_find_place(defn, &cond->operands, equal, ends[first], context,
					  &place);
		limit_range(range,
					directed_strategy(cond->strategy,
									  defn->columns[first].descending),
					&place);
		if (first == nequal && cond->strategy == BTEqualStrategyNumber &&
			place.exact && !place.isnull)
		{
			ends[++nequal] = place.before.n;
			memcpy(equal, place.before.words, place.before.n * sizeof(int64));
		}
	}
}


/* ----------------------------------------------------------------
 *		Counts
 * ----------------------------------------------------------------
 */

/*
 * Make words the least that come after all that begin with them.  Returns
 * false if there are none.
 */
static bool
next_words(int64 *words, int n)
{
	while (--n >= 0)
	{
		if (words[n] < PG_INT64_MAX)
		{
			words[n]++;
			return true;
		}
		words[n] = PG_INT64_MIN;
	}
	return false;
}

uint64
lb_count_before_bound(const LbView *view, const LbBound *bound)
{
	int64		key[LB_MAX_KEY_WORDS];
	uint64		members;
	int			width = view->shape->width;

	if (bound->n == 0)
		return bound->after ? lb_view_members(view) : 0;
	if (bound->n == 1)
	{
		lb_view_spans(view, bound->words, 1, bound->after, &members, NULL);
		return members;
	}

	/* The view counts before a whole key: the least that begins so. */
	Assert(!lb_shape_varies(view->shape));
	memcpy(key, bound->words, bound->n * sizeof(int64));
	if (bound->after && !next_words(key, bound->n))
		return lb_view_members(view);
	for (int i = bound->n; i < width; i++)
		key[i] = PG_INT64_MIN;
	lb_view_spans(view, key, width, false, &members, NULL);
	return members;
}

uint64
lb_distinct_before(const LbView *view, const LbBound *bound)
{
	int64		word = PG_INT64_MAX;
	uint64		distinct;

	Assert(bound->n <= 1);
	if (bound->n == 0 && !bound->after)
		return 0;
	lb_view_spans(view, bound->n == 0 ? &word : bound->words, 1, bound->after,
				  NULL, &distinct);
	return distinct;
}


/* ----------------------------------------------------------------
 *		From the plan
 * ----------------------------------------------------------------
 */

void
lb_init_operands(LbOperands *operands, int first, const List *types,
				 const List *exprs, PlanState *node)
{
	operands->first = first;
	operands->n = list_length(exprs);
	for (int i = 0; i < operands->n; i++)
	{
		operands->types[i] = (Oid) list_nth_int(types, i);
		operands->exprs[i] = ExecInitExpr(list_nth(exprs, i), node);
	}
}

/* Takes the operands one after the other. */
static void
init_enclosure(LbEnclosure *e, const List *enclosure, const List *operands,
			   int *noperands, PlanState *node)
{
	bool		leaf = IsA(enclosure, IntList);

	check_stack_depth();
	e->kind = linitial_int(leaf ? enclosure : linitial(enclosure));
	if (leaf)
	{
		e->strategy = lsecond_int(enclosure);
		e->type = (Oid) lthird_int(enclosure);
		e->operand = ExecInitExpr(list_nth(operands, (*noperands)++), node);
		return;
	}
	e->nparts = list_length(enclosure) - 1;
	e->parts = palloc0(sizeof(LbEnclosure) * e->nparts);
	for (int i = 0; i < e->nparts; i++)
		init_enclosure(&e->parts[i], list_nth(enclosure, i + 1), operands,
					   noperands, node);
}

LbCond *
lb_init_conds(const List *conds, const List *operands, PlanState *node)
{
	LbCond	   *result = palloc0(sizeof(LbCond) * (list_length(conds) + 1));

	for (int i = 0; i < list_length(conds); i++)
	{
		const List *cond = list_nth(conds, i);
		List	   *exprs;

		if (!IsA(cond, IntList))
		{
			int			n = 0;

			result[i].operands.first = linitial_int(linitial(cond));
			result[i].enclosure = palloc0(sizeof(LbEnclosure));
			init_enclosure(result[i].enclosure, lsecond(cond),
						   list_nth(operands, i), &n, node);
			continue;
		}
		result[i].strategy = lsecond_int(cond);
		exprs = list_nth(operands, i);
		if (lb_is_optional_cond(cond, exprs))
		{
			result[i].unless = ExecInitExpr(llast(exprs), node);
			exprs = list_truncate(list_copy(exprs), list_length(cond) - 2);
		}
		lb_init_operands(&result[i].operands, linitial_int(cond),
						 list_copy_tail(cond, 2), exprs, node);
	}
	return result;
}
