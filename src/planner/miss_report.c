/*-------------------------------------------------------------------------
 *
 * miss_report.c
 *	  Which misses of a statement are told, and to whom.
 *
 * A miss is a query that orders, counts or ranks by a board's score and whose
 * plan has no node of that board.  A query that merely reads rows is none.
 * The planner has pulled up views and subqueries by the time when a query has
 * all its paths, so that is when this file looks at it: at what it sorts by,
 * its windows, its aggregates and their conditions.  A column of a subquery
 * that is left is what the subquery computes for it.
 *
 * Which boards are used, only the finished plan tells: a path of ours may have
 * cost more than another one.
 *
 * What lb_board records of a board, all roles may read.  How many rows are off
 * it is for those that may read the rows, as in lb_stat_board.  A notice goes
 * to the client, whose role may have fewer rights than the function that is
 * running, or none on the statement's tables: then there is none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "boards/expression.h"
#include "boards/lists.h"
#include "planner/aggregate_exec.h"
#include "planner/answer.h"
#include "planner/bound.h"
#include "planner/match.h"
#include "planner/miss_report.h"
#include "planner/page_exec.h"
#include "planner/page_index_exec.h"
#include "planner/ranked_exec.h"
#include "planner/scan_exec.h"
#include "reads/query.h"
#include "sql/spi.h"
#include "util/compat.h"

int			lb_log_misses = LB_LOG_MISSES_OFF;

static LbMisses *requested = NULL;

void
lb_request_misses(LbMisses *misses)
{
	requested = misses;
}

LbMisses *
lb_take_misses(int options)
{
	LbMisses   *misses = requested;

	if (likely(misses == NULL && lb_log_misses == LB_LOG_MISSES_OFF))
		return NULL;
	requested = NULL;
	if (misses == NULL && lb_enable_planner && !lb_query_running() &&
		(options & LB_CURSOR_OPT_OWN) == 0)
	{
		misses = palloc0(sizeof(LbMisses));
		misses->context = CurrentMemoryContext;
		misses->logged = true;
	}
	return misses;
}


/* ----------------------------------------------------------------
 *		What a query asks for
 * ----------------------------------------------------------------
 */

static bool mark_asked(Node *node, void *context);

/* Whether the score of a board is a column of its table, or made of it. */
static bool
is_of_score(const LbMissed *missed, AttrNumber attno)
{
	const LbColumn *score = lb_score_column(missed->defn);

	return score->expression == NULL ?
		get_attnum(missed->table, score->name) == attno :
		bms_is_member(attno - FirstLowInvalidHeapAttributeNumber,
					  score->expression->attnos);
}

/* A column of a table of the query. */
static void
mark_column(PlannerInfo *root, Index relid, AttrNumber attno)
{
	ListCell   *lc;

	foreach(lc, lb_missed_boards(root, relid))
	{
		LbMissed   *missed = (LbMissed *) lfirst(lc);

		if (is_of_score(missed, attno))
			missed->asked = true;
	}
}

/* A WITH query of a query or of one above it; NULL if it is recursive. */
static PlannerInfo *
find_with_query(PlannerInfo *root, const RangeTblEntry *rte)
{
	ListCell   *lc;
	int			i = 0;

	for (Index level = 0; level < rte->ctelevelsup && root != NULL; level++)
		root = root->parent_root;
	if (rte->self_reference || root == NULL)
		return NULL;
	foreach(lc, root->parse->cteList)
	{
		if (strcmp(lfirst_node(CommonTableExpr, lc)->ctename,
				   rte->ctename) == 0)
			break;
		i++;
	}
	if (i >= list_length(root->cte_plan_ids) ||
		list_nth_int(root->cte_plan_ids, i) <= 0)
		return NULL;
	return list_nth(root->glob->subroots,
					list_nth_int(root->cte_plan_ids, i) - 1);
}

/* Whether a column of a subquery has been looked at.  From now on it has. */
static bool
was_marked(PlannerInfo *subroot, AttrNumber attno)
{
	LbMissedOutput *output;
	MemoryContext old;
	ListCell   *lc;

	foreach(lc, lb_misses->outputs)
	{
		output = (LbMissedOutput *) lfirst(lc);
		if (output->subroot == subroot && output->attno == attno)
			return true;
	}
	old = MemoryContextSwitchTo(lb_misses->context);
	output = palloc(sizeof(LbMissedOutput));
	output->subroot = subroot;
	output->attno = attno;
	lb_misses->outputs = lappend(lb_misses->outputs, output);
	MemoryContextSwitchTo(old);
	return false;
}

/* A column of a subquery, or of several that are appended. */
static void
mark_output(PlannerInfo *root, Index relid, AttrNumber attno)
{
	const RelOptInfo *rel = root->simple_rel_array[relid];
	PlannerInfo *subroot = rel->rtekind == RTE_CTE ?
		find_with_query(root, planner_rt_fetch(relid, root)) :
		rel->subroot;
	ListCell   *lc;

	CHECK_FOR_INTERRUPTS();
	if (subroot != NULL && !was_marked(subroot, attno))
	{
		TargetEntry *target = get_tle_by_resno(subroot->parse->targetList,
											   attno);

		if (target != NULL)
			(void) mark_asked((Node *) target->expr, subroot);
		(void) lb_miss_query(subroot, LB_MISS_APART);
	}
	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);

		if (info->parent_relid == relid && attno > 0 &&
			attno <= list_length(info->translated_vars))
			(void) mark_asked(list_nth(info->translated_vars, attno - 1), root);
	}
}

/* Mark the boards whose score is in an expression of a query, the context. */
static bool
mark_asked(Node *node, void *context)
{
	PlannerInfo *root = (PlannerInfo *) context;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return false;
	check_stack_depth();
	if (!IsA(node, Var))
		return expression_tree_walker(node, mark_asked, context);
	if (var->varlevelsup != 0)
		return false;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		/* That of UNION is a column of each of its parts. */
		if (rel == NULL || (var->varno != 0 && var->varno != i))
			continue;
		if (rel->rtekind == RTE_RELATION)
			mark_column(root, i, var->varattno);
		else
			mark_output(root, i, var->varattno);
	}
	return false;
}

static void
mark_clauses(PlannerInfo *root, List *infos)
{
	ListCell   *lc;

	foreach(lc, infos)
		(void) mark_asked((Node *) lfirst_node(RestrictInfo, lc)->clause, root);
}

/* The conditions of a query, also those that it has passed to subqueries. */
static void
mark_conditions(PlannerInfo *root)
{
	check_stack_depth();
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		if (rel == NULL)
			continue;
		mark_clauses(root, rel->baserestrictinfo);
		mark_clauses(root, rel->joininfo);
		if (rel->subroot != NULL)
			mark_conditions(rel->subroot);
	}
}

/* Whether an aggregate is min() or max(), or of their kind. */
static bool
is_end(const Aggref *agg)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID,
										ObjectIdGetDatum(agg->aggfnoid));
	bool		sorts;

	if (!HeapTupleIsValid(tuple))
		return false;
	sorts = OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
	ReleaseSysCache(tuple);
	return sorts;
}

/* Aggregates that count or rank, and the ends of an order. */
static void
mark_aggregates(PlannerInfo *root)
{
	List	   *exprs = list_make2(root->processed_tlist,
								   root->parse->havingQual);
	List	   *found = pull_var_clause((Node *) exprs,
										PVC_INCLUDE_AGGREGATES |
										PVC_RECURSE_WINDOWFUNCS |
										PVC_INCLUDE_PLACEHOLDERS);
	bool		counts = false;
	ListCell   *lc;

	foreach(lc, found)
	{
		const Aggref *agg = (const Aggref *) lfirst(lc);

		if (!IsA(agg, Aggref))
			continue;
		if (agg->aggfnoid == F_COUNT_ || agg->aggfnoid == F_COUNT_ANY ||
			AGGKIND_IS_ORDERED_SET(agg->aggkind))
			counts = true;
		else if (!is_end(agg))
			continue;
		(void) mark_asked((Node *) agg->args, root);
		(void) mark_asked((Node *) agg->aggfilter, root);
	}
	if (!counts)
		return;
	mark_conditions(root);
	(void) mark_asked((Node *) get_sortgrouplist_exprs(root->parse->groupClause,
													   root->processed_tlist),
					  root);
}

static void
mark_windows(PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, root->parse->windowClause)
	{
		const WindowClause *window = lfirst_node(WindowClause, lc);

		if (window->orderClause != NIL)
			(void) mark_asked(get_sortgroupclause_expr(linitial(window->orderClause),
													   root->processed_tlist),
							  root);
	}
}

/* What the query sorts by first, if that is not the same in all rows. */
static void
mark_order(PlannerInfo *root)
{
	ListCell   *lc;

	if (root->sort_pathkeys == NIL)
		return;
	foreach(lc, linitial_node(PathKey, root->sort_pathkeys)->pk_eclass->ec_members)
		(void) mark_asked((Node *) lfirst_node(EquivalenceMember, lc)->em_expr,
						  root);
}

/* What forbids each of a board's nodes. */
static void
note_table(PlannerInfo *root, Index relid)
{
	RelOptInfo *rel = root->simple_rel_array[relid];
	LbMiss		miss = lb_source_miss(root, rel);

	if (IS_DUMMY_REL(rel))
		lb_note_miss_of_all(root, relid, LB_MISS_NO_ROWS);
	if (miss != LB_MISS_NOT_ASKED)
		lb_note_miss_of_all(root, relid, miss);
	if (!lb_enable_planner)
		lb_note_miss_of_all(root, relid, LB_MISS_DISABLED);
}

void
lb_note_query(PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (lb_missed_boards(root, i) != NIL)
			note_table(root, i);
	}
	mark_order(root);
	mark_windows(root);
	if (root->parse->hasAggs)
		mark_aggregates(root);
}


/* ----------------------------------------------------------------
 *		The finished plan
 * ----------------------------------------------------------------
 */

static bool
is_ours(const Plan *plan)
{
	const CustomScanMethods *methods;

	if (!IsA(plan, CustomScan))
		return false;
	methods = ((const CustomScan *) plan)->methods;
	return methods == &lb_aggregate_methods || methods == &lb_page_methods ||
		methods == &lb_page_index_methods || methods == &lb_scan_methods ||
		methods == &lb_ranked_methods;
}

/* Add the boards of the nodes in a plan, lb_plan_board(). */
static List *
add_used(List *used, Plan *plan)
{
	ListCell   *lc;

	check_stack_depth();
	if (plan == NULL)
		return used;
	if (is_ours(plan))
		used = lappend(used, list_nth(((CustomScan *) plan)->custom_private,
									  LB_PRIVATE_BOARD));
	foreach(lc, lb_other_plans(plan))
		used = add_used(used, lfirst(lc));
	used = add_used(used, plan->lefttree);
	return add_used(used, plan->righttree);
}

static bool
is_used(const List *used, const LbDefinition *defn)
{
	return list_member(used, lb_plan_board(defn));
}

/* Whether an entry of a board tells more than another one. */
static bool
tells_more(const LbMissed *a, const LbMissed *b)
{
	return a->asked != b->asked ? a->asked : a->miss > b->miss;
}

static void
add_report(List **reports, const LbMissed *missed, const List *used)
{
	LbMissReport *report;
	ListCell   *lc;

	foreach(lc, *reports)
	{
		report = (LbMissReport *) lfirst(lc);
		if (lb_is_same_board(report->missed->defn, missed->defn))
		{
			if (tells_more(missed, report->missed))
				report->missed = missed;
			return;
		}
	}
	report = palloc0(sizeof(LbMissReport));
	report->missed = missed;
	report->used = is_used(used, missed->defn);
	*reports = lappend(*reports, report);
}

/* Whether the statement uses a board of the same table. */
static bool
uses_other(const List *reports, const LbMissReport *report)
{
	ListCell   *lc;

	foreach(lc, reports)
	{
		const LbMissReport *other = (const LbMissReport *) lfirst(lc);

		if (other->used && other->missed->defn->source == report->missed->defn->source)
			return true;
	}
	return false;
}

/*
 * What a statement misses of a board that it does not use.  If it does not ask
 * for the score, but for something that the board knows, that is what it
 * needs.
 */
static LbMiss
find_miss(const List *reports, const LbMissReport *report)
{
	LbMiss		miss = report->missed->miss;

	if (!report->missed->asked)
		return miss == LB_MISS_WHICH_BOARD || miss == LB_MISS_OFF_BOARD ? miss :
			LB_MISS_NOT_ASKED;
	if (uses_other(reports, report))
		return LB_MISS_OTHER_BOARD;
	return miss == LB_MISS_NOT_ASKED ? LB_MISS_OTHER : miss;
}

List *
lb_report_misses(const LbMisses *misses, const PlannedStmt *stmt)
{
	List	   *used = add_used(NIL, stmt->planTree);
	List	   *reports = NIL;
	ListCell   *lc;

	foreach(lc, stmt->subplans)
		used = add_used(used, lfirst(lc));
	foreach(lc, misses->boards)
		add_report(&reports, (LbMissed *) lfirst(lc), used);
	foreach(lc, reports)
	{
		LbMissReport *report = (LbMissReport *) lfirst(lc);

		report->miss = find_miss(reports, report);
	}
	return reports;
}


/* ----------------------------------------------------------------
 *		Texts
 * ----------------------------------------------------------------
 */

/* The columns that a board orders by, as ORDER BY has them. */
static const char *
order_of(const LbDefinition *defn)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < lb_nkey_columns(defn); i++)
		appendStringInfo(&buf, "%s%s%s", i > 0 ? ", " : "",
						 quote_identifier(defn->columns[i].name),
						 defn->columns[i].descending ? " DESC" : "");
	return buf.data;
}

/* The board columns of a family, as one side of an equality. */
static const char *
columns_of(const LbDefinition *defn)
{
	char	   *list = lb_format_member(lb_board_columns(defn), defn->nboard);

	return defn->nboard > 1 ? psprintf("(%s)", list) : list;
}

static const char *
detail_of(const LbMissReport *report)
{
	const LbMissed *missed = report->missed;

	switch (report->miss)
	{
		case LB_MISS_NOT_ASKED:
			return lb_score_column(missed->defn)->name;
		case LB_MISS_ORDER:
			return order_of(missed->defn);
		case LB_MISS_WHICH_BOARD:
			return columns_of(missed->defn);
		default:
			return missed->detail == NULL ? "" : missed->detail;
	}
}

static const char *
rows_of(const LbMissed *missed, bool rows)
{
	if (!rows || missed->off_board <= 0)
		return "rows of the table are";
	if (missed->off_board == 1)
		return "1 row of the table is";
	return psprintf(INT64_FORMAT " rows of the table are", missed->off_board);
}

void
lb_miss_message(const LbMissReport *report, bool rows, char **reason,
				char **hint)
{
	const LbMissText *text = &lb_miss_texts[report->miss];
	const char *detail = detail_of(report);

	*reason = psprintf(text->reason, detail, rows_of(report->missed, rows));
	*hint = psprintf(text->hint, detail);
}


/* ----------------------------------------------------------------
 *		The log
 * ----------------------------------------------------------------
 */

/* Whether a table is read for what its board could tell. */
static bool
is_logged(const LbMissReport *report)
{
	return !report->used && report->missed->asked &&
		report->miss != LB_MISS_OTHER_BOARD && report->miss != LB_MISS_NO_ROWS;
}

/* The miss of a table that came farthest. */
static bool
is_best_of_table(const List *reports, const LbMissReport *report)
{
	ListCell   *lc;

	foreach(lc, reports)
	{
		const LbMissReport *other = (const LbMissReport *) lfirst(lc);

		if (other != report && is_logged(other) &&
			other->missed->defn->source == report->missed->defn->source &&
			(other->miss > report->miss ||
			 (other->miss == report->miss &&
			  strcmp(other->missed->defn->name, report->missed->defn->name) < 0)))
			return false;
	}
	return true;
}

void
lb_log_missed(const LbMisses *misses, const PlannedStmt *stmt)
{
	bool		to_client = lb_log_misses == LB_LOG_MISSES_NOTICE;
	List	   *reports;
	ListCell   *lc;

	/*
	 * In a function with other rights, the client does not have these; and
	 * the executor has not checked yet whether the user may run the
	 * statement.
	 */
	if (misses->boards == NIL ||
		(to_client && (GetUserId() != GetOuterUserId() ||
					   !LB_CHECK_PERMISSIONS(stmt, false))))
		return;
	reports = lb_report_misses(misses, stmt);
	foreach(lc, reports)
	{
		const LbMissReport *report = (const LbMissReport *) lfirst(lc);
		const LbDefinition *defn = report->missed->defn;
		char	   *reason;
		char	   *hint;

		if (!is_logged(report) || !is_best_of_table(reports, report))
			continue;
		lb_miss_message(report, !to_client || lb_may_see(defn), &reason, &hint);
		ereport(to_client ? NOTICE : LOG_SERVER_ONLY,
				(errmsg("board \"%s\" is not used: %s", defn->name, reason),
				 errhint("%s", hint)));
	}
}
