/*-------------------------------------------------------------------------
 *
 * range.h
 *	  Ranges of a board's order, by the operands of a node.
 *
 * A bound is a place between the keys of a board's order: before or after all
 * keys that begin with some words.  Without words it is before the first key,
 * or after the last one.  A range is what is between two bounds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_RANGE_H
#define LB_RANGE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "boards/definition.h"
#include "reads/view.h"

typedef struct LbBound
{
	int			n;				/* words: those of whole columns */
	bool		after;
	int64		words[LB_MAX_KEY_WORDS];
} LbBound;

/* Nothing, if low is not before high. */
typedef struct LbRange
{
	LbBound		low;
	LbBound		high;
} LbRange;

/* Operands for columns of the key, one after the other. */
typedef struct LbOperands
{
	int			first;			/* the first of these columns */
	int			n;
	Oid			types[LB_MAX_KEY_COLUMNS];
	ExprState  *exprs[LB_MAX_KEY_COLUMNS];
} LbOperands;

/*
 * What encloses the rows of other quals on a column (enclose.c).  A plan has
 * it as a list of the kind and its parts.  One with an operand is a list of
 * integers: the kind, the strategy, and the type of the operand or of its
 * elements.
 */
typedef enum LbEnclosureKind
{
	LB_ENCLOSE_OPERAND,			/* column op operand */
	LB_ENCLOSE_ANY,				/* column op ANY (array) */
	LB_ENCLOSE_ALL,				/* column op ALL (array) */
	LB_ENCLOSE_AND,
	LB_ENCLOSE_OR
} LbEnclosureKind;

typedef struct LbEnclosure
{
	LbEnclosureKind kind;
	int			strategy;
	Oid			type;
	ExprState  *operand;
	int			nparts;
	struct LbEnclosure *parts;
} LbEnclosure;

/* A qual that limits the key. */
typedef struct LbCond
{
	int			strategy;
	LbOperands	operands;
	ExprState  *unless;			/* it does not if this is true; or NULL */
	LbEnclosure *enclosure;		/* of column operands.first, or NULL */
} LbCond;

/* The place of operands in a board's order. */
typedef struct LbPlace
{
	LbBound		before;			/* all keys that come before the operands */
	LbBound		through;		/* and those that equal them */
	int			nfound;			/* operands before the last one that mattered */
	bool		isnull;			/* the next one is null */
	bool		exact;			/* keys can begin with these operands, in one
								 * way: words before.words */
} LbPlace;

/*
 * Initialize operands and quals for a node, from the lists that were planned
 * (lb_make_cond()).  In the executor's memory; can raise.
 */
extern void lb_init_operands(LbOperands *operands, int first,
							 const List *types, const List *exprs,
							 PlanState *node);
extern LbCond *lb_init_conds(const List *conds, const List *operands,
							 PlanState *node);

/*
 * Evaluate operands behind nprefix words, those of the columns before them.
 * Raises what the expressions raise.
 */
extern void lb_find_place(const LbDefinition *defn,
						  const LbOperands *operands, const int64 *prefix,
						  int nprefix, ExprContext *context, LbPlace *place);

/* Whether a condition is true, and not null.  Raises what it raises. */
extern bool lb_is_true(ExprState *expr, ExprContext *context);

/* Evaluate n quals, ordered by column.  Can raise what the operands raise. */
extern void lb_find_range(const LbDefinition *defn, const LbCond *conds, int n,
						  ExprContext *context, LbRange *range);

/* Compare bounds: below 0, 0, or above 0. */
extern int	lb_bound_cmp(const LbBound *a, const LbBound *b);

/*
 * Count the keys, or the distinct scores, before a bound.  To count distinct
 * scores, it has no more words than the score's.  Needs the stripe's lock,
 * shared.
 */
extern uint64 lb_count_before_bound(const LbView *view, const LbBound *bound);
extern uint64 lb_distinct_before(const LbView *view, const LbBound *bound);

#endif							/* LB_RANGE_H */
