/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  lb_explain(): which boards a statement would use, and why not the others.
 *
 * The statement is parsed and planned as EXPLAIN has it, with the caller's
 * rights, which are checked for its tables before anything is told.  Nothing
 * is run but what the planner runs itself.  Parameters, $1 and so on, have no
 * values: the plan is the generic one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "planner/miss_report.h"
#include "sql/spi.h"
#include "util/compat.h"

PG_FUNCTION_INFO_V1(lb_explain);

/* The places in the statement's errors are in its text. */
static void
at_text(void *arg)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery((const char *) arg);
	}
}

static void
refuse_utility(const Query *query)
{
	if (query->commandType == CMD_UTILITY)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("lb_explain() does not plan %s",
						GetCommandTagName(CreateCommandTag(query->utilityStmt))),
				 errhint("Give it the query itself: SELECT, INSERT, UPDATE, DELETE or MERGE.")));
}

/* The queries of a statement, Query: several if a rule makes more of it. */
static List *
parse(const char *text)
{
	List	   *statements = pg_parse_query(text);
	Oid		   *types = NULL;
	int			ntypes = 0;
	List	   *queries;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("lb_explain() plans one statement, and the text has %d",
						list_length(statements)),
				 list_length(statements) == 0 ? 0 :
				 errhint("Call it for each of them.")));
	queries = pg_analyze_and_rewrite_varparams(linitial_node(RawStmt, statements),
											   text, &types, &ntypes, NULL);
	if (list_length(queries) == 1)
		refuse_utility(linitial_node(Query, queries));
	return queries;
}

/* Plan a query.  What its plan misses is a list of LbMissReport. */
static List *
explain_query(Query *query, const char *text)
{
	LbMisses   *misses = palloc0(sizeof(LbMisses));
	PlannedStmt *stmt = NULL;

	misses->context = CurrentMemoryContext;
	lb_request_misses(misses);
	PG_TRY();
	{
		stmt = LB_PLAN_QUERY(query, text, CURSOR_OPT_PARALLEL_OK);
	}
	PG_FINALLY();
	{
		lb_request_misses(NULL);
	}
	PG_END_TRY();
	(void) LB_CHECK_PERMISSIONS(stmt, true);
	return lb_report_misses(misses, stmt);
}

static void
put_report(ReturnSetInfo *rsinfo, const LbMissReport *report)
{
	const LbDefinition *defn = report->missed->defn;
	Datum		values[4] = {0};
	bool		nulls[4] = {false, false, report->used, report->used};
	char	   *reason;
	char	   *hint;

	values[0] = CStringGetTextDatum(defn->name);
	values[1] = BoolGetDatum(report->used);
	if (!report->used)
	{
		lb_miss_message(report, lb_may_see(defn), &reason, &hint);
		values[2] = CStringGetTextDatum(reason);
		values[3] = CStringGetTextDatum(hint);
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
lb_explain(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ErrorContextCallback callback = {.callback = at_text};
	List	   *reports = NIL;
	ListCell   *lc;
	char	   *statement;

	if (PG_ARGISNULL(0))
		lb_null_argument("query");
	(void) lb_require_catalog();
	InitMaterializedSRF(fcinfo, 0);
	statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	callback.arg = statement;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	foreach(lc, parse(statement))
	{
		Query	   *query = lfirst_node(Query, lc);

		if (query->commandType != CMD_UTILITY)
			reports = list_concat(reports, explain_query(query, statement));
	}
	error_context_stack = callback.previous;
	foreach(lc, reports)
		put_report(rsinfo, (LbMissReport *) lfirst(lc));
	return (Datum) 0;
}
