/*-------------------------------------------------------------------------
 *
 * fetch.c
 *	  Rows of a table by members of a board.
 *
 * An index tells members, and the executor needs their rows.  A board's source has
 * a unique index on the member, or on the member and the board column, so each row
 * is one look-up there, with the executor's snapshot.  The snapshot sees one row of
 * a member at most, and it is the one that the board's view has, with one exception:
 * it still sees a row that another transaction has deleted since, and whose member the
 * own transaction has then given to another row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "planner/fetch.h"
#include "util/compat.h"

/* The column of the member that is an attribute of the table; -1: none. */
static int
member_column(const LbDefinition *defn, AttrNumber attno)
{
	for (int i = 0; i < defn->nmember; i++)
	{
		if (lb_member_columns(defn)[i].attno == attno)
			return i;
	}
	return -1;
}

/* The same of a column of an index, with the board column as well. */
static bool
is_index_column(const LbDefinition *defn, AttrNumber attno)
{
	return member_column(defn, attno) >= 0 ||
		(defn->family && lb_board_column(defn)->attno == attno);
}

/* Whether a unique index has the member's columns, and no other than the board's. */
static bool
is_on_member(const LbDefinition *defn, const IndexOptInfo *index)
{
	int			nmember = 0;

	for (int i = 0; i < index->nkeycolumns; i++)
	{
		if (!is_index_column(defn, index->indexkeys[i]))
			return false;
		if (member_column(defn, index->indexkeys[i]) >= 0)
			nmember++;
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
 * As for the inner index scan of a nested loop: the upper pages of the index are in
 * memory.
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

static void
init_key(LbFetch *fetch, int i)
{
	Relation	index = fetch->index;
	Oid			family = index->rd_opfamily[i];
	Oid			type = index->rd_opcintype[i];
	Oid			equal = get_opfamily_member(family, type, type,
											BTEqualStrategyNumber);

	ScanKeyEntryInitialize(&fetch->keys[i], 0, (AttrNumber) (i + 1),
						   BTEqualStrategyNumber, type,
						   index->rd_indcollation[i], get_opcode(equal),
						   (Datum) 0);
}

bool
lb_fetch_begin(LbFetch *fetch, Relation table, Oid index,
			   const LbDefinition *defn, Snapshot snapshot)
{
	fetch->index = index_open(index, AccessShareLock);
	fetch->nkeys = IndexRelationGetNumberOfKeyAttributes(fetch->index);
	fetch->scan = NULL;
	fetch->values = AllocSetContextCreate(CurrentMemoryContext,
										  "leaderboard member",
										  ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < fetch->nkeys; i++)
	{
		AttrNumber	attno = fetch->index->rd_index->indkey.values[i];

		if (i > defn->nmember || !is_index_column(defn, attno))
			return false;
		fetch->columns[i] = member_column(defn, attno);
		init_key(fetch, i);
	}
	fetch->scan = LB_INDEX_BEGINSCAN(table, fetch->index, snapshot,
									 fetch->nkeys);
	return true;
}

void
lb_fetch_end(LbFetch *fetch)
{
	if (fetch->index == NULL)
		return;
	if (fetch->scan != NULL)
		index_endscan(fetch->scan);
	MemoryContextDelete(fetch->values);
	index_close(fetch->index, NoLock);
	fetch->index = NULL;
}

/* The values of a member's columns, for the keys. */
static void
set_keys(LbFetch *fetch, const LbDefinition *defn, const int64 *member,
		 Datum board_value)
{
	Datum		values[LB_MAX_MEMBER_COLUMNS];

	for (int i = 0; i < defn->nmember; i++)
	{
		const LbColumn *column = &lb_member_columns(defn)[i];
		int64		words[LB_MAX_KEY_WORDS];
		int			n = lb_shape_varies(&defn->shape) ?
			lb_count_words(&defn->shape, defn->nrank_by + i,
						   defn->nrank_by + i + 1, member) :
			column->type->words;

		for (int w = 0; w < n; w++)
			words[w] = lb_directed(member[w], column->descending);
		values[i] = column->type->decode(column, words);
		member += n;
	}
	for (int i = 0; i < fetch->nkeys; i++)
		fetch->keys[i].sk_argument = fetch->columns[i] < 0 ? board_value :
			values[fetch->columns[i]];
}

bool
lb_fetch(LbFetch *fetch, const LbDefinition *defn, const int64 *member,
		 Datum board_value, TupleTableSlot *slot)
{
	MemoryContext old;

	MemoryContextReset(fetch->values);
	old = MemoryContextSwitchTo(fetch->values);
	set_keys(fetch, defn, member, board_value);
	MemoryContextSwitchTo(old);
	index_rescan(fetch->scan, fetch->keys, fetch->nkeys, NULL, 0);

	/* A transaction that has written may see a second row of the member. */
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		if (!index_getnext_slot(fetch->scan, ForwardScanDirection, slot) ||
			index_getnext_slot(fetch->scan, ForwardScanDirection, slot))
			return false;
		index_rescan(fetch->scan, fetch->keys, fetch->nkeys, NULL, 0);
	}
	return index_getnext_slot(fetch->scan, ForwardScanDirection, slot);
}
