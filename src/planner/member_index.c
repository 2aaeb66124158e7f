/*-------------------------------------------------------------------------
 *
 * member_index.c
 *	  The index by which a plan looks up rows of members.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_am.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "planner/member_index.h"

/*
 * Whether a unique index has the member's columns, and no other than the
 * board's.
 */
static bool
is_on_member(const LbDefinition *defn, const IndexOptInfo *index)
{
	int			nmember = 0;

	for (int i = 0; i < index->nkeycolumns; i++)
	{
		if (lb_member_place(defn, index->indexkeys[i]) >= 0)
			nmember++;
		else if (index->indexkeys[i] == InvalidAttrNumber ||
				 lb_board_place(defn, index->indexkeys[i]) < 0)
			return false;
	}
	return nmember == defn->nmember;
}

Oid
lb_member_index(const LbSource *source, const LbDefinition *defn)
{
	ListCell   *lc;

	foreach(lc, source->rel->indexlist)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (index->unique && index->immediate && index->indpred == NIL &&
			!index->hypothetical && index->relam == BTREE_AM_OID &&
			is_on_member(defn, index))
			return index->indexoid;
	}
	return InvalidOid;
}

/* What btcostestimate() takes for a page of an index, in cpu_operator_cost. */
#define PAGE_OPERATORS 50

/*
 * As for the inner index scan of a nested loop: the upper pages of the index
 * are in memory.
 */
Cost
lb_cost_fetches(const LbSource *source, Oid index, double rows)
{
	const RelOptInfo *rel = source->rel;
	const IndexOptInfo *info = NULL;
	double		operators;
	double		pages;
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		info = lfirst_node(IndexOptInfo, lc);
		if (info->indexoid == index)
			break;
	}
	operators = log2(Max(rel->tuples, 1.0) + 1) +
		PAGE_OPERATORS * (Max(info->tree_height, 0) + 1);
	pages = index_pages_fetched(rows, rel->pages, info->pages, source->root) +
		index_pages_fetched(rows, info->pages, info->pages, source->root);
	return pages * random_page_cost +
		rows * (operators * cpu_operator_cost + cpu_index_tuple_cost +
				cpu_tuple_cost);
}
