/*-------------------------------------------------------------------------
 *
 * several.c
 *	  Several boards of a family.
 *
 * Aggregates of rows WHERE country IN ('FR', 'DE') are made of those of the
 * two boards.  Of several board columns one may have a list.  The values are
 * the elements of an array, which is known when the query runs: some may be
 * the same, or null, which nothing equals.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "planner/quals.h"
#include "planner/several.h"

/* Values that a column is taken to have if they are not known before. */
#define UNKNOWN_ELEMENTS 10

static bool
is_several(const LbSource *source, const LbDefinition *defn,
		   ScalarArrayOpExpr *clause, LbSeveral *several)
{
	LbUse		use;
	LbOrder		order;

	if (!IsA(clause, ScalarArrayOpExpr) || !clause->useOr ||
		!lb_find_use(source, defn, linitial(clause->args), &use) ||
		use.cast || use.board < 0 ||
		!lb_find_order(defn, &use, clause->opno, &order) ||
		order.strategy != BTEqualStrategyNumber ||
		!lb_is_plain_equality(clause->inputcollid, use.type) ||
		!lb_is_operand(source, lsecond(clause->args)))
		return false;
	several->clause = (Expr *) clause;
	several->attno = use.attno;
	several->place = use.board;
	several->array = lsecond(clause->args);
	several->type = order.operand;
	return true;
}

void
lb_find_several(const LbSource *source, const LbDefinition *defn,
				List *clauses, LbSeveral *several, List **rest)
{
	ListCell   *lc;

	several->clause = NULL;
	*rest = clauses;
	if (!defn->family || source->secured)
		return;
	foreach(lc, clauses)
	{
		Node	   *clause = lfirst(lc);

		if (IsA(clause, RestrictInfo))
			clause = (Node *) ((RestrictInfo *) clause)->clause;
		if (is_several(source, defn, (ScalarArrayOpExpr *) clause, several))
		{
			*rest = list_delete_nth_cell(list_copy(clauses),
										 foreach_current_index(lc));
			return;
		}
	}
}

int
lb_estimate_several(const LbSeveral *several)
{
	const Expr *array = several->array;

	/* Without one, all boards of the family are looked at, by stripes. */
	if (several->clause == NULL)
		return UNKNOWN_ELEMENTS + LB_STRIPES;
	if (IsA(array, ArrayExpr) && !((const ArrayExpr *) array)->multidims)
		return list_length(((const ArrayExpr *) array)->elements);
	if (IsA(array, Const) && !((const Const *) array)->constisnull)
	{
		ArrayType  *value = DatumGetArrayTypeP(((const Const *) array)->constvalue);

		return ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value));
	}
	return UNKNOWN_ELEMENTS;
}

/* A value that has been found. */
typedef struct Found
{
	uint32		hash;
	LbValue		value;
} Found;

/* Whether the target's value is among those; it is added if not. */
static bool
was_found(const LbTarget *target, List **all)
{
	Found	   *found;
	char	   *data;
	ListCell   *lc;

	foreach(lc, *all)
	{
		found = lfirst(lc);
		if (found->hash == target->hash &&
			lb_value_equal(&found->value, &target->value))
			return true;
	}
	data = palloc(target->value.len + 1);
	memcpy(data, target->value.data, target->value.len);
	found = palloc(sizeof(Found));
	found->hash = target->hash;
	found->value.len = target->value.len;
	found->value.data = data;
	*all = lappend(*all, found);
	return false;
}

int
lb_list_several(LbTarget *target, const Oid *types, Datum *values, int place,
				Datum array, char *room, Datum *elements)
{
	Datum		others[LB_MAX_VALUE_COLUMNS];
	List	   *all = NIL;
	int			n = 0;
	ArrayIterator iterator = array_create_iterator(DatumGetArrayTypeP(array),
												   0, NULL);
	bool		isnull;

	memcpy(others, values, target->defn->nboard * sizeof(Datum));
	while (array_iterate(iterator, &others[place], &isnull))
	{
		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		memcpy(values, others, target->defn->nboard * sizeof(Datum));
		if (!lb_set_target_value(target, types, values, room) ||
			was_found(target, &all))
			continue;
		if (n == LB_MAX_SEVERAL)
			return -1;
		elements[n++] = others[place];
	}
	array_free_iterator(iterator);
	return n;
}
