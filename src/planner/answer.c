/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  Nodes that a board's index answers, or the ordinary plan below them.
 *
 * A node has the ordinary plan of what it replaces as its child, chosen when
 * the query was planned.  Each scan asks whether the index can answer in the
 * executor's snapshot, as a read function does, but waits for nothing.  If it
 * cannot, the scan runs the child.  So whatever the index does not know, the
 * node is right.
 *
 * Mostly no scan runs the child, and initializing it can take longer than the
 * answer.  So the node initializes it when it first runs it, in the memory,
 * with the flags and as the role that it would have had at the start: a cursor
 * that a function with its owner's rights has opened is read by another role,
 * which may not call its functions.  The table below it is open from the
 * start, and so are the partitions below a cursor's: then this session cannot
 * truncate or drop them before, as it cannot with the ordinary plan.  Subplans
 * and InitPlans below it belong to the whole plan, and the executor has
 * initialized those.  With EXPLAIN the child is initialized at once, to be
 * shown.
 *
 * The executor has locked the table, and checked the privileges of the role
 * whose query or view this is, for the columns that the query names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "planner/answer.h"
#include "planner/range.h"
#include "reads/query.h"
#include "util/compat.h"
#include "util/user.h"

bool		lb_enable_planner = true;
int			lb_planner_child = LB_CHILD_ON_DEMAND;


/* ----------------------------------------------------------------
 *		In the planner
 * ----------------------------------------------------------------
 */

List *
lb_answer_private(const LbDefinition *defn, const LbQuals *quals)
{
	List	   *types = NIL;

	for (int i = 0; i < lb_count_values(quals); i++)
		types = lappend_int(types, (int) exprType((Node *) quals->values[i]));
	return list_make3(lb_plan_board(defn), types,
					  quals->complete ? list_make1_int(true) : NIL);
}

List *
lb_answer_exprs(const LbQuals *quals)
{
	List	   *values = NIL;

	for (int i = 0; i < lb_count_values(quals); i++)
		values = lappend(values, copyObject(quals->values[i]));
	if (quals->unless != NULL)
		values = lappend(values, copyObject(quals->unless));
	return list_make5(copyObject(list_concat_copy(quals->clauses, quals->enclosed)),
					  quals->board == NULL ? NIL :
					  list_make1(copyObject(quals->board)),
					  quals->ranked_if == NULL ? NIL :
					  list_make1(copyObject(quals->ranked_if)),
					  values, copyObject(quals->one_time));
}

Path *
lb_cheapest_path(const RelOptInfo *rel)
{
	Path	   *best = NULL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = (Path *) lfirst(lc);

		if (path->param_info == NULL &&
			(best == NULL || LB_CHEAPER(path, best)))
			best = path;
	}
	return best;
}


/* ----------------------------------------------------------------
 *		The child
 * ----------------------------------------------------------------
 */

static PlanState *
begin_child(LbAnswer *a)
{
	CustomScan *scan = (CustomScan *) a->css.ss.ps.plan;
	EState	   *estate = a->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	LbUser		saved;
	PlanState  *child;

	lb_switch_user(&saved, a->user, 0);
	child = ExecInitNode(linitial(scan->custom_plans), estate, a->eflags);
	lb_restore_user(&saved);
	a->css.custom_ps = list_make1(child);
	MemoryContextSwitchTo(old);
	return child;
}

static void
open_table(LbAnswer *a, Index relid)
{
	const RangeTblEntry *rte = exec_rt_fetch(relid, a->css.ss.ps.state);

	/* The node's own table is open. */
	if (a->table == NULL || RelationGetRelid(a->table) != rte->relid)
		a->child_tables = lappend(a->child_tables,
								  table_open(rte->relid, rte->rellockmode));
}

/* Whether the plan that begins is a cursor's, and may be run later. */
static bool
is_cursor(void)
{
	return ActivePortal != NULL && ActivePortal->status == PORTAL_DEFINED &&
		ActivePortal->name[0] != '\0';
}

/*
 * Open the tables of a plan.  Many partitions take longer to open than an
 * index to answer.
 */
static void
open_tables(LbAnswer *a, const Plan *plan)
{
	List	   *plans = NIL;
	ListCell   *lc;

	if (plan == NULL)
		return;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
			open_table(a, ((const Scan *) plan)->scanrelid);
			break;
		case T_CustomScan:
			if (((const Scan *) plan)->scanrelid > 0)
				open_table(a, ((const Scan *) plan)->scanrelid);
			plans = ((const CustomScan *) plan)->custom_plans;
			break;
		case T_Append:
			if (is_cursor())
				plans = ((const Append *) plan)->appendplans;
			break;
		case T_MergeAppend:
			if (is_cursor())
				plans = ((const MergeAppend *) plan)->mergeplans;
			break;
		case T_SubqueryScan:
			open_tables(a, ((const SubqueryScan *) plan)->subplan);
			break;
		default:
			break;
	}
	foreach(lc, plans)
		open_tables(a, lfirst(lc));
	open_tables(a, outerPlan(plan));
	open_tables(a, innerPlan(plan));
}

static PlanState *
child_of(const LbAnswer *a)
{
	return a->css.custom_ps == NIL ? NULL : linitial(a->css.custom_ps);
}

TupleTableSlot *
lb_answer_child(LbAnswer *a)
{
	PlanState  *child = child_of(a);

	if (child == NULL)
		child = begin_child(a);
	return ExecProcNode(child);
}

void
lb_answer_bound_child(LbAnswer *a, int64 rows)
{
	PlanState  *child = child_of(a);

	ExecSetTupleBound(rows, child == NULL ? begin_child(a) : child);
}


/* ----------------------------------------------------------------
 *		In the executor
 * ----------------------------------------------------------------
 */

static bool
check_function(Oid function, void *context)
{
	AclResult	result = pg_proc_aclcheck(function, GetUserId(),
										  ACL_EXECUTE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result,
					   get_func_prokind(function) == PROKIND_AGGREGATE ?
					   OBJECT_AGGREGATE : OBJECT_FUNCTION,
					   get_func_name(function));
	InvokeFunctionExecuteHook(function);
	return false;
}

static bool
check_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;

	/* PostgreSQL does not check the functions by which rows are compared. */
	if (!IsA(node, RowCompareExpr))
		(void) check_functions_in_node(node, check_function, context);
	return expression_tree_walker(node, check_functions, context);
}

void
lb_check_functions(const void *expr)
{
	(void) check_functions((Node *) expr, NULL);
}

void
lb_answer_add_value(LbAnswer *a, Expr *value, Oid type, PlanState *parent)
{
	a->value_types[a->nvalues] = type;
	a->values[a->nvalues++] = ExecInitExpr(value, parent);
}

void
lb_answer_begin(CustomScanState *node, EState *estate, int eflags)
{
	LbAnswer   *a = (LbAnswer *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	List	   *values = list_nth(scan->custom_exprs, LB_EXPRS_VALUES);
	List	   *types = list_nth(scan->custom_private, LB_PRIVATE_VALUES);
	ListCell   *lc;

	a->board = list_nth(scan->custom_private, LB_PRIVATE_BOARD);
	a->complete = list_nth(scan->custom_private, LB_PRIVATE_COMPLETE) != NIL;
	foreach(lc, types)
		lb_answer_add_value(a, list_nth(values, foreach_current_index(lc)),
							(Oid) lfirst_int(lc), (PlanState *) node);
	if (list_length(values) > list_length(types))
		a->unless = ExecInitExpr(llast(values), (PlanState *) node);
	a->one_time = ExecInitQual(list_nth(scan->custom_exprs, LB_EXPRS_ONE_TIME),
							   (PlanState *) node);
	a->eflags = eflags;
	a->user = GetUserId();
	lb_check_functions(scan->custom_scan_tlist);
	lb_check_functions(list_nth(scan->custom_exprs, LB_EXPRS_CLAUSES));
	lb_check_functions(list_nth(scan->custom_exprs, LB_EXPRS_BOARD));

	/*
	 * UPDATE ... WHERE CURRENT OF a cursor must not take the node's row for
	 * one of the table.
	 */
	a->table = node->ss.ss_currentRelation;
	node->ss.ss_currentRelation = NULL;

	/* The child's slots are not of the kind of our own. */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) || estate->es_instrument != 0 ||
		lb_planner_child == LB_CHILD_EAGER)
		(void) begin_child(a);
	else
		open_tables(a, linitial(scan->custom_plans));
}

void
lb_answer_filtered(LbAnswer *a, Oid table)
{
	if (a->css.ss.ps.instrument == NULL)
		return;
	if (!a->filter_checked)
	{
		a->filter_checked = true;
		a->filter_shown = pg_class_aclcheck(table, GetUserId(),
											ACL_SELECT) == ACLCHECK_OK;
	}
	if (a->filter_shown)
		InstrCountFiltered1(&a->css, 1);
}

void
lb_answer_end(CustomScanState *node)
{
	LbAnswer   *a = (LbAnswer *) node;
	PlanState  *child = child_of(a);
	ListCell   *lc;

	if (child != NULL)
		ExecEndNode(child);
	foreach(lc, a->child_tables)
		table_close(lfirst(lc), NoLock);
}

void
lb_answer_rescan(CustomScanState *node)
{
	PlanState  *child = child_of((LbAnswer *) node);

	if (child == NULL)
		return;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

/*
 * Find the board of a->access.target.defn.  Returns false if there is none.  A
 * node of several boards sets them itself.
 */
static bool
find_value(LbAnswer *a)
{
	LbTarget   *target = &a->access.target;
	Oid			types[LB_MAX_VALUE_COLUMNS];

	target->has_value = false;
	target->hash = 0;
	target->stripe = 0;
	target->prefix_len = 0;
	for (int i = 0; i < a->nvalues; i++)
	{
		bool		isnull = false;

		types[i] = a->same_board ? lb_board_columns(target->defn)[i].oid :
			a->value_types[i];
		if ((a->open & 1 << i) == 0 && !a->same_board)
			a->board_values[i] = ExecEvalExpr(a->values[i],
											  a->css.ss.ps.ps_ExprContext,
											  &isnull);
		if (isnull)
			return false;
	}
	return a->nvalues == 0 || a->open != 0 ||
		lb_set_target_value(target, types, a->board_values, a->room);
}

void
lb_answer_run_child(LbAnswer *a, LbCause cause)
{
	if (a->counted)
		lb_recount_read(&a->counted_of, cause);
	a->counted = false;
	a->by_query++;
	a->cause = cause;
}

void
lb_answer_refuse(LbAnswer *a, LbCause cause)
{
	if (!a->counted)
		lb_count_read(&a->access.target, a->access.shared, cause, true);
	lb_answer_run_child(a, cause);
}

void
lb_answer_refuse_locked(LbAnswer *a, LbCause cause)
{
	lb_access_release(&a->access);
	lb_access_fall_back(&a->access, cause);
	lb_answer_refuse(a, cause);
}

void
lb_answer_retract(LbAnswer *a, LbCause cause)
{
	a->by_index--;
	lb_answer_run_child(a, cause);
}

bool
lb_answer_passes(LbAnswer *a)
{
	return ExecQual(a->one_time, a->css.ss.ps.ps_ExprContext);
}

/*
 * Find the board.  Returns false if the node must run its child: the rows are
 * those of all boards.
 */
static bool
find_board(LbAnswer *a, bool *empty)
{
	if (!a->same_board)
	{
		*empty = *empty || !lb_answer_passes(a);
		if (*empty)
			return true;
		if (a->unless != NULL &&
			lb_is_true(a->unless, a->css.ss.ps.ps_ExprContext))
			return false;
	}
	*empty = !find_value(a);
	return true;
}

const LbDefinition *
lb_answer_prepare(LbAnswer *a, bool *empty)
{
	ExprContext *context = a->css.ss.ps.ps_ExprContext;
	MemoryContext old;
	LbDefinition *defn;

	if (!a->same_read)
		lb_answer_new_read(a);
	if (!lb_enable_planner || lb_planner_child == LB_CHILD_FORCE ||
		lb_query_running())
	{
		lb_answer_run_child(a, LB_CAUSE_DISABLED);
		return NULL;
	}
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	defn = lb_planned_defn(a->board);
	if (defn == NULL)
		lb_answer_run_child(a, LB_CAUSE_OFFLINE);
	else
	{
		a->access.target.defn = defn;
		a->access.shared = NULL;
		if (!find_board(a, empty))
		{
			lb_answer_run_child(a, LB_CAUSE_LIMIT);
			defn = NULL;
		}
	}
	MemoryContextSwitchTo(old);
	return defn;
}

/*
 * The operands have been evaluated by now, and may have run anything.  So the
 * definition is looked up again.
 */
bool
lb_answer_lock(LbAnswer *a, bool distinct)
{
	ExprContext *context = a->css.ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	bool		locked = false;

	a->access.target.defn = lb_planned_defn(a->board);
	if (a->access.target.defn == NULL)
		lb_answer_run_child(a, LB_CAUSE_OFFLINE);
	else
	{
		lb_access_begin(&a->access, a->css.ss.ps.state->es_snapshot, distinct,
						LB_READER_PLAN);
		a->access.counted = a->same_read;
		a->access.complete = a->complete;
		locked = lb_access_lock(&a->access);
		if (!locked)
			lb_answer_refuse(a, a->access.cause);
	}
	MemoryContextSwitchTo(old);
	return locked;
}

void
lb_answer_unlock(LbAnswer *a)
{
	if (!a->same_read)
		lb_note_counted(&a->counted_of, &a->access.target, a->access.shared,
						a->access.generation);
	lb_access_unlock(&a->access);
	a->counted = true;
	a->by_index++;
}


/* ----------------------------------------------------------------
 *		EXPLAIN
 * ----------------------------------------------------------------
 */

/* By LbCause; lb_stat_board has columns of these names. */
static const char *const cause_names[LB_NCAUSES] = {
	[LB_CAUSE_DISABLED] = "disabled",
	[LB_CAUSE_RECOVERY] = "recovery",
	[LB_CAUSE_SNAPSHOT] = "snapshot",
	[LB_CAUSE_ROW_SECURITY] = "row security",
	[LB_CAUSE_BUILDING] = "building",
	[LB_CAUSE_OFFLINE] = "offline",
	[LB_CAUSE_TRIGGER] = "trigger",
	[LB_CAUSE_OWN_CHANGES] = "own changes",
	[LB_CAUSE_UNSETTLED] = "unsettled",
	[LB_CAUSE_LIMIT] = "limit",
	[LB_CAUSE_COUNTS] = "counts",
	[LB_CAUSE_OFF_BOARD] = "off board"
};

void
lb_answer_explain_exprs(const LbAnswer *a, const char *label, int exprs,
						List *ancestors, ExplainState *es)
{
	CustomScan *scan = (CustomScan *) a->css.ss.ps.plan;
	List	   *clauses = list_nth(scan->custom_exprs, exprs);
	List	   *context;

	if (clauses == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, (Plan *) scan,
									   ancestors);
	ExplainPropertyText(label,
						deparse_expression((Node *) make_ands_explicit(clauses),
										   context,
										   list_length(es->rtable) > 1 || es->verbose,
										   false),
						es);
}

/*
 * Parameters of the executor as ones that deparse_expression() shows by
 * number.  For the others it looks into the plan, from version 17 on without a
 * check that its context has one.
 */
static Node *
number_params(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param))
	{
		Param	   *param = copyObject((Param *) node);

		param->paramkind = PARAM_EXTERN;
		return (Node *) param;
	}
	return expression_tree_mutator(node, number_params, context);
}

void
lb_answer_explain_quals(Oid table, const char *label, List *quals,
						ExplainState *es)
{
	List	   *context;
	Node	   *clause;

	if (quals == NIL)
		return;
	context = deparse_context_for(get_rel_name(table), table);
	clause = number_params((Node *) make_ands_explicit(quals), NULL);
	ExplainPropertyText(label,
						deparse_expression(clause, context, false, false), es);
}

static void
explain_answers(const LbAnswer *a, ExplainState *es)
{
	const char *cause = a->by_query == 0 || a->cause == LB_CAUSE_NONE ? "" :
		psprintf(" (%s)", cause_names[a->cause]);
	const char *text = "nothing";

	if (a->by_index > 0 && a->by_query > 0)
		text = psprintf("index " INT64_FORMAT " times, query " INT64_FORMAT " times%s",
						a->by_index, a->by_query, cause);

	else if (a->by_index > 0)
		text = "index";

	else if (a->by_query > 0)
		text = psprintf("query%s", cause);

	ExplainPropertyText("Answered by", text, es);
}

void
lb_answer_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	LbAnswer   *a = (LbAnswer *) node;
	LbDefinition *defn = lb_planned_defn(a->board);

	if (defn != NULL)
		ExplainPropertyText("Board", defn->name, es);
	lb_answer_explain_exprs(a, "Board Cond", LB_EXPRS_BOARD, ancestors, es);
	lb_answer_explain_exprs(a, "Score Cond", LB_EXPRS_CLAUSES, ancestors, es);
	lb_answer_explain_exprs(a, "Ranked If", LB_EXPRS_RANKED_IF, ancestors, es);
	lb_answer_explain_exprs(a, "One-Time Filter", LB_EXPRS_ONE_TIME, ancestors,
							es);
	if (es->analyze)
		explain_answers(a, es);
}
