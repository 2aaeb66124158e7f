/*-------------------------------------------------------------------------
 *
 * keyset.c
 *	  Recognizing quals that ask for what comes behind a key.
 *
 * The next page of a board by score DESC, id ASC begins behind the last row of
 * this one.  No row comparison says that, since its columns have different
 * directions.  It is written in one of these ways:
 *
 *		score < 5 OR (score = 5 AND id > 7)
 *		score <= 5 AND (score < 5 OR id > 7)
 *
 * Seen as a list of alternatives, each of them a list of conditions, the OR
 * has an alternative that is only an inequality of the first column of the
 * key.  All others say that this column equals the same operand, except that
 * this goes without saying if there is a qual such as score <= 5 beside the
 * OR.  Without that equality they are of the same kind for the second column,
 * and so on: with three columns there are three alternatives, or an OR inside
 * an AND.  All inequalities point the same way in the order of the key, and
 * all but that of the last column are strict.
 *
 * So the qual is a bound of a range with several operands, as a row comparison
 * is (range.c).  Nulls among the operands do the same there and here:
 * alternatives with them are not true.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "planner/keyset.h"

typedef struct Search
{
	const LbSource *source;
	const LbDefinition *defn;
	List	   *quals;			/* beside the OR: clauses or RestrictInfos */
	bool		behind;			/* in the order of the key, not before */
	LbKeyset   *keyset;
} Search;

/*
 * Whether an expression compares a column with an operand that one value
 * equals.
 */
static bool
compares(const Search *search, Node *expr, int column, LbComparison *found)
{
	return IsA(expr, OpExpr) &&
		lb_find_comparison(search->source, search->defn, (OpExpr *) expr, found) &&
		found->use.column == column &&
		lb_is_exact(search->defn, &found->use, &found->order);
}

static inline bool
is_less(int strategy)
{
	return strategy == BTLessStrategyNumber ||
		strategy == BTLessEqualStrategyNumber;
}

static inline bool
is_strict(int strategy)
{
	return strategy == BTLessStrategyNumber ||
		strategy == BTGreaterStrategyNumber;
}

/* Whether there is a qual score <= 5, or score >= 5, beside the OR. */
static bool
is_limited(const Search *search, const LbComparison *to)
{
	int			strategy = is_less(to->order.strategy) ?
		BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber;
	ListCell   *lc;

	foreach(lc, search->quals)
	{
		Node	   *clause = lfirst(lc);
		LbComparison found;

		if (IsA(clause, RestrictInfo))
			clause = (Node *) ((RestrictInfo *) clause)->clause;
		if (compares(search, clause, to->use.column, &found) &&
			found.order.strategy == strategy &&
			equal(found.operand, to->operand))
			return true;
	}
	return false;
}

/* Add the alternatives that an expression is. */
static List *
add_alternatives(List *alternatives, Node *expr)
{
	ListCell   *lc;

	if (!is_orclause(expr))
		return lappend(alternatives, make_ands_implicit((Expr *) expr));
	foreach(lc, ((BoolExpr *) expr)->args)
		alternatives = lappend(alternatives,
							   make_ands_implicit((Expr *) lfirst(lc)));
	return alternatives;
}

/*
 * Add an alternative without its condition that the column equals the operand.
 * Returns false if it has no such condition, and needs one.
 */
static bool
add_without_equality(const Search *search, List *conditions,
					 const LbComparison *to, bool limited, List **alternatives)
{
	List	   *rest = NIL;
	bool		equals = limited;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		LbComparison found;

		if (compares(search, lfirst(lc), to->use.column, &found) &&
			found.order.strategy == BTEqualStrategyNumber &&
			equal(found.operand, to->operand))
			equals = true;
		else
			rest = lappend(rest, lfirst(lc));
	}
	if (!equals || rest == NIL)
		return false;
	*alternatives = list_length(rest) == 1 ?
		add_alternatives(*alternatives, linitial(rest)) :
		lappend(*alternatives, rest);
	return true;
}

/*
 * Find the alternative that is an inequality of a column, and note it.  The
 * others are left in *rest.
 */
static bool
find_inequality(Search *search, List *alternatives, int column,
				LbComparison *found, List **rest)
{
	bool		any = false;
	bool		behind;
	ListCell   *lc;

	*rest = NIL;
	foreach(lc, alternatives)
	{
		List	   *conditions = (List *) lfirst(lc);

		if (!any && list_length(conditions) == 1 &&
			compares(search, linitial(conditions), column, found) &&
			found->order.strategy != BTEqualStrategyNumber)
			any = true;
		else
			*rest = lappend(*rest, conditions);
	}
	if (!any || (*rest != NIL && !is_strict(found->order.strategy)))
		return false;
	behind = is_less(found->order.strategy) ==
		search->defn->columns[column].descending;
	if (column > 0 && behind != search->behind)
		return false;
	search->behind = behind;
	return true;
}

bool
lb_find_keyset(const LbSource *source, const LbDefinition *defn,
			   BoolExpr *clause, List *quals, LbKeyset *keyset)
{
	Search		search = {source, defn, quals, false, keyset};
	List	   *alternatives = add_alternatives(NIL, (Node *) clause);

	memset(keyset, 0, sizeof(LbKeyset));
	for (int column = 0; column < lb_nindex_columns(defn); column++)
	{
		LbComparison found;
		List	   *rest;
		bool		limited;
		ListCell   *lc;

		if (!find_inequality(&search, alternatives, column, &found, &rest))
			return false;
		if (column == 0)
		{
			keyset->first = found.use.attno;
			keyset->strategy = found.order.strategy;
		}
		keyset->operands = lappend(keyset->operands, found.operand);
		keyset->types = lappend_int(keyset->types, (int) found.order.operand);
		if (rest == NIL)
		{
			/* The first column's strategy, strict as that of the last one. */
			if (!is_strict(found.order.strategy))
				keyset->strategy = is_less(keyset->strategy) ?
					BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber;
			return true;
		}
		limited = column == 0 && is_limited(&search, &found);
		alternatives = NIL;
		foreach(lc, rest)
		{
			if (!add_without_equality(&search, lfirst(lc), &found, limited,
									  &alternatives))
				return false;
		}
	}
	return false;
}
