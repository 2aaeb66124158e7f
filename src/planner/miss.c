/*-------------------------------------------------------------------------
 *
 * miss.c
 *	  Why a query does not use a board: reasons, and where they are noted.
 *
 * The code that recognizes what a board answers gives up in many places.  Each
 * of them notes its reason, if a collector is there (lb_misses); if not, that
 * is a test of a static variable.  The collector has an entry for each board
 * of each table that a query or a subquery reads, and keeps one reason in it.
 * miss_report.c decides which of them are told.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "boards/catalog.h"
#include "boards/resolve.h"
#include "planner/miss.h"
#include "util/compat.h"

/* The longest text of an expression, in bytes. */
#define MAX_EXPR 200

LbMisses   *lb_misses = NULL;

const LbMissText lb_miss_texts[LB_NMISSES] = {
	[LB_MISS_NOT_ASKED] = {
		"the query does not order, count or rank by \"%s\"",
		"A board answers ORDER BY with LIMIT, aggregates and window functions of that column."
	},
	[LB_MISS_OTHER] = {
		"the query has a form that no board answers",
		"The documentation of plain SQL lists the forms."
	},
	[LB_MISS_APART] = {
		"the table is in a subquery that is planned apart from the query that orders, counts or ranks",
		"Do that in the subquery: in each part of UNION, or in the WITH query."
	},
	[LB_MISS_SCAN_COST] = {
		"reading rows in the board's order costs more than the plan without it",
		"Add LIMIT if only the first rows are wanted, and ANALYZE the table if it has grown."
	},
	[LB_MISS_ALL_RANKS] = {
		"the query wants the ranks of all rows",
		"Add LIMIT; or rank in a view or subquery, and ask that for rows by a key or by ranks."
	},
	[LB_MISS_DISTINCT] = {
		"the query has DISTINCT, UNION or the like, or a set-returning function",
		"Move that to a query above: the page of rows can be its subquery."
	},
	[LB_MISS_GROUPS] = {
		"the query has GROUP BY",
		"Ask for one group, by a condition. A board for each value of a column (board_column) answers that."
	},
	[LB_MISS_JOIN] = {
		"the query counts or ranks the rows of a join",
		"Count or rank the table's rows in a subquery of that table alone."
	},
	[LB_MISS_SUBQUERY] = {
		"the subquery with the table has LIMIT, DISTINCT, computed columns, volatile functions or a subquery of its own",
		"Move that to the query above it."
	},
	[LB_MISS_PARTITIONED] = {
		"the table is partitioned, and the query asks for rows or ranks",
		"The board answers aggregates over it. For rows and ranks, call a function such as lb_top()."
	},
	[LB_MISS_COUNTS] = {
		"the board keeps counts, and the query asks for rows by their ranks, for row numbers, or for rows in an order of no index",
		"The board answers aggregates, and ranks of rows that an index of the table finds. For OFFSET, create a B-tree on what the query sorts by; else a board that keeps members."
	},
	[LB_MISS_VOLATILE] = {
		"the query has a volatile function",
		"Call it in a query above, or once before the query."
	},
	[LB_MISS_SYSTEM_COLUMN] = {
		"the query selects a system column",
		"Leave the column out."
	},
	[LB_MISS_OFFSET] = {
		"the select list could raise an error for a row that OFFSET skips",
		"Compute it in a query above: the page of rows can be its subquery."
	},
	[LB_MISS_CONSTANT] = {
		"a condition has a subquery, and no column of the table",
		"Let the subquery be EXISTS or return one value, or decide it before the query."
	},
	[LB_MISS_CONDITION] = {
		"the board does not answer the condition %s",
		"It answers <, <=, =, >= and > of the columns of its order, and = of the board columns of a family."
	},
	[LB_MISS_RANGE] = {
		"the conditions are not one range of the board's order",
		"Let each column before the last one equal an operand, or compare rows: (score, id) < (x, y)."
	},
	[LB_MISS_WHICH_BOARD] = {
		"the query does not say which board of the family it asks: it has no \"%s = ...\"",
		"Add that condition; or PARTITION BY %s, in a view that ranks rows."
	},
	[LB_MISS_OFF_BOARD] = {
		"the query has no \"%s\", and %s not ranked",
		"Add \"AND %s\" to its conditions."
	},
	[LB_MISS_AGGREGATE] = {
		"the board does not answer the aggregate %s",
		"It answers count, min, max, percentile_disc, rank, dense_rank, percent_rank and cume_dist, of the score."
	},
	[LB_MISS_FILTER] = {
		"the condition of FILTER compares with a computed operand",
		"Compare with constants, parameters and columns of an outer query there."
	},
	[LB_MISS_DISTINCT_SCORES] = {
		"distinct scores are counted with conditions on the score only, and ranked by the score only",
		"Leave out the other columns of the board's order."
	},
	[LB_MISS_WINDOW_FUNCTION] = {
		"the board does not answer the window function %s",
		"It answers row_number, rank, dense_rank, percent_rank, cume_dist, ntile and count(*), with the default frame and without FILTER."
	},
	[LB_MISS_WINDOW] = {
		"the window of %s does not have the rows of a board in its order",
		"ORDER BY the first columns of the board's order, in its directions or all reversed, and PARTITION BY nothing but the board columns of a family."
	},
	[LB_MISS_ORDER] = {
		"ORDER BY does not have the first columns of the board's order, in its directions or all reversed",
		"The board's order is %s."
	},
	[LB_MISS_TEXT] = {
		"the board orders texts by their bytes, and the query does not",
		"Sort texts by COLLATE \"C\"."
	},
	[LB_MISS_FEW_ROWS] = {
		"the query does not say by a key or by ranks which of the ranked rows it wants",
		"Add a condition on an indexed column, such as id = 42, or on a rank, such as rank <= 10; or add LIMIT."
	},
	[LB_MISS_VIEW_ORDER] = {
		"the view that ranks rows sorts them, and the query above it does not",
		"Sort in the query above it: ORDER BY the rank."
	},
	[LB_MISS_NOT_READY] = {
		"the board has no index now",
		"See its state and its reason in lb_stat_board."
	},
	[LB_MISS_MEMBER_INDEX] = {
		"the planner may not use an index that finds the row of a member",
		"See enable_indexscan, and whether there is such an index."
	},
	[LB_MISS_MEMORY] = {
		"the rows could take more memory than work_mem",
		"Ask for fewer rows, or raise work_mem."
	},
	[LB_MISS_COST] = {
		"the plan without it costs less",
		"ANALYZE the table if it has grown. A small table is read as quickly."
	},
	[LB_MISS_NO_ROWS] = {
		"no row can satisfy the conditions",
		"The plan reads nothing, so there is nothing to do."
	},
	[LB_MISS_WRITES] = {
		"the table is the target of the statement, or joined with it",
		"Read the board in a subquery of the statement."
	},
	[LB_MISS_LOCKS] = {
		"the query locks rows",
		"Lock them in a query above, which finds them by the member."
	},
	[LB_MISS_SAMPLE] = {
		"the query has TABLESAMPLE",
		"Leave it out: a board has all rows."
	},
	[LB_MISS_INHERITED] = {
		"the query also reads tables that inherit from the table",
		"Read the table alone, by FROM ONLY."
	},
	[LB_MISS_PARTITION] = {
		"the query reads a partition, and the board is of the table \"%s\"",
		"Read \"%s\" instead."
	},
	[LB_MISS_POLICIES] = {
		"policies of row-level security hide rows from the role",
		"The board also has these rows. Policies that compare the board columns of a family by = leave it usable."
	},
	[LB_MISS_OFFLINE] = {
		"the board is offline: %s",
		"See its reason in lb_stat_board; lb_rebuild() builds it anew."
	},
	[LB_MISS_DISABLED] = {
		"the setting \"leaderboard.enable_planner\" is off",
		"Set it to on."
	},
	[LB_MISS_OTHER_BOARD] = {
		"another board of the table is used",
		"There is nothing to do."
	},
};


/* ----------------------------------------------------------------
 *		Boards
 * ----------------------------------------------------------------
 */

static LbMissed *
find_missed(PlannerInfo *root, Index relid, const LbDefinition *defn)
{
	ListCell   *lc;

	foreach(lc, lb_misses->boards)
	{
		LbMissed   *missed = (LbMissed *) lfirst(lc);

		if (missed->root == root && missed->relid == relid &&
			(defn == NULL || lb_is_same_board(missed->defn, defn)))
			return missed;
	}
	return NULL;
}

static LbMissed *
add_missed(PlannerInfo *root, Index relid, const LbDefinition *defn)
{
	LbMissed   *missed = palloc0(sizeof(LbMissed));

	missed->root = root;
	missed->relid = relid;
	missed->table = planner_rt_fetch(relid, root)->relid;
	missed->defn = defn;
	lb_misses->boards = lappend(lb_misses->boards, missed);
	return missed;
}

/*
 * The board of the planner's definition has an entry, unless another
 * transaction has locked lb_board meanwhile.
 */
static void
set_miss(LbMissed *missed, LbMiss miss, const char *detail)
{
	if (missed == NULL || miss <= missed->miss)
		return;
	missed->miss = miss;
	missed->detail = detail == NULL ? NULL :
		MemoryContextStrdup(lb_misses->context, detail);
}

/* Add the boards of a table.  Those of a table above it are not resolved. */
static void
add_boards(PlannerInfo *root, Index relid, Oid source)
{
	Oid			table = planner_rt_fetch(relid, root)->relid;
	LbDefinition **defns;
	int			n = lb_defns_on(source, &defns);
	LbDefinition **copy = palloc(Max(n, 1) * sizeof(LbDefinition *));

	/* The array is valid only until lb_board is read again. */
	memcpy(copy, defns, n * sizeof(LbDefinition *));
	for (int i = 0; i < n; i++)
	{
		LbMissed   *missed = add_missed(root, relid, copy[i]);

		if (source != table)
		{
			set_miss(missed, LB_MISS_PARTITION, get_rel_name(source));
			continue;
		}
		lb_resolve_defn(copy[i]);
		if (copy[i]->problem != NULL)
			set_miss(missed, LB_MISS_OFFLINE, copy[i]->problem);
		else if (!copy[i]->captured)
			set_miss(missed, LB_MISS_OFFLINE, "a capture trigger is missing or disabled");
	}
	pfree(copy);
}

/* Whether the relation is a table that the query names. */
static bool
is_table(PlannerInfo *root, Index relid)
{
	const RelOptInfo *rel = root->simple_rel_array[relid];

	return rel != NULL && IS_SIMPLE_REL(rel) && rel->rtekind == RTE_RELATION;
}

List *
lb_missed_boards(PlannerInfo *root, Index relid)
{
	const LbCatalog *cat = lb_catalog();
	MemoryContext old;
	List	   *found = NIL;
	ListCell   *lc;

	CHECK_FOR_INTERRUPTS();
	if (!is_table(root, relid) || cat == NULL || !cat->version_ok ||
		!lb_try_load_defns())
		return NIL;
	if (find_missed(root, relid, NULL) == NULL)
	{
		Oid			table = planner_rt_fetch(relid, root)->relid;

		old = MemoryContextSwitchTo(lb_misses->context);
		add_boards(root, relid, table);
		if (root->simple_rel_array[relid]->reloptkind == RELOPT_BASEREL &&
			get_rel_relispartition(table))
		{
			foreach(lc, get_partition_ancestors(table))
				add_boards(root, relid, lfirst_oid(lc));
		}
		MemoryContextSwitchTo(old);
	}
	foreach(lc, lb_misses->boards)
	{
		LbMissed   *missed = (LbMissed *) lfirst(lc);

		if (missed->root == root && missed->relid == relid)
			found = lappend(found, missed);
	}
	return found;
}


/* ----------------------------------------------------------------
 *		Notes
 * ----------------------------------------------------------------
 */

void
lb_note_miss(PlannerInfo *root, Index relid, const LbDefinition *defn,
			 LbMiss miss, const char *detail)
{
	if (lb_missed_boards(root, relid) != NIL)
		set_miss(find_missed(root, relid, defn), miss, detail);
}

void
lb_note_off_board(PlannerInfo *root, Index relid, const LbDefinition *defn,
				  int64 rows, const char *conditions)
{
	LbMissed   *missed = lb_missed_boards(root, relid) == NIL ? NULL :
		find_missed(root, relid, defn);

	set_miss(missed, LB_MISS_OFF_BOARD, conditions);
	if (missed != NULL && missed->miss == LB_MISS_OFF_BOARD)
		missed->off_board = rows;
}

void
lb_note_miss_of_all(PlannerInfo *root, Index relid, LbMiss miss)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		ListCell   *lc;

		if (relid != 0 && i != (int) relid)
			continue;
		foreach(lc, lb_missed_boards(root, i))
			set_miss((LbMissed *) lfirst(lc), miss, NULL);
	}
}

/*
 * Whether an expression has something else than columns of a table, which
 * cannot be shown, or not in all versions: from 17 on, deparsing an executor's
 * parameter looks for the plan that computes it.
 */
static bool
has_others(Node *node, void *context)
{
	const Index *relid = (const Index *) context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varno != (int) *relid ||
				((Var *) node)->varlevelsup != 0;
		case T_Param:
			return ((Param *) node)->paramkind == PARAM_EXEC;
		case T_Query:
		case T_SubLink:
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_PlaceHolderVar:
		case T_WindowFunc:
			return true;
		default:
			return expression_tree_walker(node, has_others, context);
	}
}

static char *
expr_text(PlannerInfo *root, Index relid, Node *expr)
{
	Oid			table = planner_rt_fetch(relid, root)->relid;
	char	   *name = get_rel_name(table);
	char	   *shown;

	if (expr != NULL && IsA(expr, WindowFunc))
		return psprintf("%s()", get_func_name(((WindowFunc *) expr)->winfnoid));
	if (name == NULL || has_others(expr, &relid))
		return pstrdup("with a subquery or a column of another table");
	expr = copyObject(expr);
	ChangeVarNodes(expr, relid, 1, 0);
	shown = deparse_expression(expr, deparse_context_for(name, table), false,
							   false);
	if (strlen(shown) > MAX_EXPR)
		strcpy(shown + pg_mbcliplen(shown, strlen(shown), MAX_EXPR - 3), "...");
	return shown;
}

void
lb_note_missed_expr(PlannerInfo *root, Index relid, const LbDefinition *defn,
					LbMiss miss, Node *expr)
{
	lb_note_miss(root, relid, defn, miss, expr_text(root, relid, expr));
}
