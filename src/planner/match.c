/*-------------------------------------------------------------------------
 *
 * match.c
 *	  The boards of a table in a query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/pg_list.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "boards/catalog.h"
#include "boards/directory.h"
#include "boards/parts.h"
#include "boards/resolve.h"
#include "boards/state.h"
#include "planner/match.h"
#include "util/compat.h"
#include "util/planted.h"

/*
 * The query must read all rows of the table as they are.  A board has the rows
 * of a plain table without those that inherit from it, and the rows of all
 * partitions of a partitioned one.
 */
LbMiss
lb_source_miss(const PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	if (rte->relkind != RELKIND_RELATION &&
		rte->relkind != RELKIND_PARTITIONED_TABLE)
		return LB_MISS_OTHER;
	if (rte->inh != (rte->relkind == RELKIND_PARTITIONED_TABLE))
		return rte->inh ? LB_MISS_INHERITED : LB_MISS_NO_ROWS;
	if (rte->tablesample != NULL)
		return LB_MISS_SAMPLE;
	if (root->rowMarks != NIL)
		return root->parse->commandType == CMD_SELECT ? LB_MISS_LOCKS :
			LB_MISS_WRITES;
	if (bms_is_member(rel->relid, root->all_result_relids))
		return LB_MISS_WRITES;
	return LB_MISS_NOT_ASKED;
}

/* Whether the query has quals of policies.  One that is true is gone. */
static bool
has_policies(const RangeTblEntry *rte)
{
	ListCell   *lc;

	foreach(lc, rte->securityQuals)
	{
		if (lfirst(lc) != NIL)
			return true;
	}
	return false;
}

static Bitmapset *
not_null_columns(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(rel);
	Bitmapset  *columns = NULL;

	for (int i = 0; i < desc->natts; i++)
	{
		if (LB_NOT_NULL(desc, i))
			columns = bms_add_member(columns, i + 1);
	}
	table_close(rel, NoLock);
	return columns;
}

bool
lb_find_source(PlannerInfo *root, RelOptInfo *rel, LbSource *source)
{
	const RangeTblEntry *rte;
	const LbCatalog *cat;
	LbDefinition **defns;
	int			n;

	if (!IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION)
		return false;
	if (lb_source_miss(root, rel) != LB_MISS_NOT_ASKED)
		return false;
	rte = planner_rt_fetch(rel->relid, root);
	cat = lb_catalog();
	if (cat == NULL || !cat->version_ok || !lb_try_load_defns())
		return false;
	n = lb_defns_on(rte->relid, &defns);
	if (n == 0)
		return false;

	/* The array is valid only until lb_board is read again. */
	source->root = root;
	source->rel = rel;
	source->secured = has_policies(rte);
	source->defns = palloc(n * sizeof(LbDefinition *));
	memcpy(source->defns, defns, n * sizeof(LbDefinition *));
	source->ndefns = 0;
	for (int i = 0; i < n; i++)
	{
		LbDefinition *defn = source->defns[i];

		lb_resolve_defn(defn);
		if (defn->resolved && defn->problem == NULL && defn->captured)
			source->defns[source->ndefns++] = defn;
	}
	if (source->ndefns == 0)
		return false;
	source->not_null = not_null_columns(rte->relid);
	return true;
}

bool
lb_has_index_now(LbDefinition *defn)
{
	LbSharedBoard *shared = lb_shared_board_attach(defn, false);

	return shared != NULL && lb_is_ready(shared);
}

/* Elements of lb_plan_board(). */
enum
{
	PLAN_SOURCE,
	PLAN_CATALOG,
	PLAN_ID,
	PLAN_FINGERPRINT
};

List *
lb_plan_board(const LbDefinition *defn)
{
	return list_make4_int((int) defn->source, (int) defn->catalog, defn->id,
						  (int) defn->fingerprint);
}

LbDefinition *
lb_planned_defn(const List *board)
{
	Oid			source = (Oid) list_nth_int(board, PLAN_SOURCE);
	const LbCatalog *cat = lb_catalog();
	LbDefinition *defn;

	if (cat == NULL || !cat->version_ok)
		return NULL;
	do
	{
		if (!lb_try_load_defns())
			return NULL;
		defn = lb_defn_of(source, (Oid) list_nth_int(board, PLAN_CATALOG),
						  list_nth_int(board, PLAN_ID));
		if (defn == NULL)
			return NULL;
		if (!LB_PLANTED(10) &&
			defn->fingerprint != (uint32) list_nth_int(board, PLAN_FINGERPRINT))
			return NULL;
		if (!lb_resolve_parts(defn, false))
			return NULL;
	} while (!lb_defns_valid() || !defn->resolved);
	return defn;
}
