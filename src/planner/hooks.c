/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  The planner's hooks.
 *
 * The planner asks our hooks while it plans a query.  A hook that finds that a
 * board knows what a part of the query asks adds a path for a custom scan.
 * The scan has the ordinary plan of that part as its child, and runs it
 * whenever the index cannot answer (answer.c).  A query without a board's
 * table pays for a few comparisons, and for a look into a hash of the
 * definitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "utils/guc.h"

#include "boards/distributed.h"
#include "planner/aggregate.h"
#include "planner/aggregate_exec.h"
#include "planner/answer.h"
#include "planner/bound.h"
#include "planner/hooks.h"
#include "planner/miss_report.h"
#include "planner/page.h"
#include "planner/page_exec.h"
#include "planner/page_index_exec.h"
#include "planner/ranked.h"
#include "planner/ranked_exec.h"
#include "planner/scan.h"
#include "planner/scan_exec.h"
#include "planner/window_cost.h"
#include "reads/query.h"
#include "util/compat.h"

static planner_hook_type previous_planner = NULL;
static create_upper_paths_hook_type previous_upper_paths = NULL;
static set_rel_pathlist_hook_type previous_rel_pathlist = NULL;

/*
 * A defining query must not use what it defines: a function runs it because
 * the index cannot answer.
 */
static bool
enabled(void)
{
	return lb_enable_planner && !lb_query_running();
}

static PlannedStmt *
plan_statement(Query *query, const char *text, int options,
			   ParamListInfo params LB_EXPLAIN_PARAM)
{
	uint64		nscans = lb_scans_planned;
	PlannedStmt *stmt;

	stmt = previous_planner != NULL ?
		previous_planner(query, text, options, params LB_EXPLAIN_ARG) :
		standard_planner(query, text, options, params LB_EXPLAIN_ARG);
	if (lb_scans_planned != nscans)
		lb_pass_bounds(stmt);
	return stmt;
}

/*
 * Plan a statement with a collector of its own, or without one: a function
 * that is called while another statement is planned can have its statements
 * planned, too.
 */
static PlannedStmt *
plan_with_misses(LbMisses *misses, Query *query, const char *text,
				 int options, ParamListInfo params LB_EXPLAIN_PARAM)
{
	LbMisses   *outer = lb_misses;
	PlannedStmt *stmt = NULL;

	lb_misses = misses;
	PG_TRY();
	{
		stmt = plan_statement(query, text, options, params LB_EXPLAIN_ARG);
		if (misses != NULL && misses->logged)
			lb_log_missed(misses, stmt);
	}
	PG_FINALLY();
	{
		lb_misses = outer;
	}
	PG_END_TRY();
	return stmt;
}

static PlannedStmt *
plan(Query *query, const char *text, int options, ParamListInfo params
	 LB_EXPLAIN_PARAM)
{
	LbMisses   *misses = lb_take_misses(options);

	if (lb_distributed != NULL)
		query = lb_distributed->plan(query);
	if (unlikely(misses != lb_misses))
		return plan_with_misses(misses, query, text, options, params
								LB_EXPLAIN_ARG);
	return plan_statement(query, text, options, params LB_EXPLAIN_ARG);
}

static void
upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
			RelOptInfo *output, void *extra)
{
	if (previous_upper_paths != NULL)
		previous_upper_paths(root, stage, input, output, extra);
	if (stage == UPPERREL_GROUP_AGG && enabled())
		lb_add_aggregate_path(root, input, output);
	if (stage == UPPERREL_WINDOW && enabled())
		lb_cost_windows(root, output);
	if (stage == UPPERREL_FINAL && enabled())
	{
		const FinalPathExtraData *limit = (const FinalPathExtraData *) extra;

		lb_add_page_path(root, output, limit);
		lb_add_ranked_page_path(root, output, limit);
	}
	if (stage == UPPERREL_FINAL && lb_misses != NULL)
		lb_note_query(root);
}

static void
rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti,
			 RangeTblEntry *rte)
{
	if (previous_rel_pathlist != NULL)
		previous_rel_pathlist(root, rel, rti, rte);
	if (!enabled())
		return;
	if (rte->rtekind == RTE_SUBQUERY)
		lb_add_ranked_paths(root, rel);
	else
		lb_add_scan_paths(root, rel);
}

static const struct config_enum_entry planner_child_options[] = {
	{"off", LB_CHILD_ON_DEMAND, false},
	{"force", LB_CHILD_FORCE, false},
	{"eager", LB_CHILD_EAGER, false},
	{NULL, 0, false}
};

static const struct config_enum_entry log_misses_options[] = {
	{"off", LB_LOG_MISSES_OFF, false},
	{"notice", LB_LOG_MISSES_NOTICE, false},
	{"log", LB_LOG_MISSES_LOG, false},
	{NULL, 0, false}
};

void
lb_planner_init(void)
{
	DefineCustomEnumVariable("leaderboard.debug_planner_child",
							 "Sets what plans that use boards do with the ordinary plan below them.",
							 "This is for tests.",
							 &lb_planner_child,
							 LB_CHILD_ON_DEMAND, planner_child_options,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("leaderboard.enable_planner",
							 "Enables plans that use boards.",
							 "When off, only the functions of the extension use them.",
							 &lb_enable_planner,
							 true,
							 PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("leaderboard.log_misses",
							 "Reports queries that a board could answer and that do not use it.",
							 "\"notice\" tells the client, \"log\" the server's log.",
							 &lb_log_misses,
							 LB_LOG_MISSES_OFF, log_misses_options,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);

	RegisterCustomScanMethods(&lb_aggregate_methods);
	RegisterCustomScanMethods(&lb_page_methods);
	RegisterCustomScanMethods(&lb_page_index_methods);
	RegisterCustomScanMethods(&lb_scan_methods);
	RegisterCustomScanMethods(&lb_ranked_methods);
	previous_planner = planner_hook;
	planner_hook = plan;
	previous_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = upper_paths;
	previous_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = rel_pathlist;
}
