/*-------------------------------------------------------------------------
 *
 * times.c
 *	  How long queries take with boards, beside the same without them.
 *
 * A report for a person to read, not a test: a machine that does other work at the same
 * time is slow for any query.  sql/plan_costs.sql counts pages and rows instead.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>

#include "plans.h"

/* How many times as long a query may take with boards. */
#define MOST_TIMES 3

/* And how much longer, in seconds: the rest is not a plan's. */
#define LEAST_TIME 0.005

/* The text of a query with its parameters in it. */
static char *
literal_query(const Question *q)
{
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);
	char	   *query = literal(q->query);
	char	   *result;

	if (f == NULL)
		out_of_memory();
	fprintf(f, "SELECT lbt.with_params(%s, ARRAY[", query);
	for (int i = 0; i < q->nparams; i++)
	{
		char	   *param = literal(q->params[i]);

		fprintf(f, "%s%s", i > 0 ? ", " : "", param);
		free(param);
	}
	fputs("]::text[])", f);
	fclose(f);
	free(query);
	result = run_value(text);
	free(text);
	return result;
}

/* Seconds that a query takes; below 0 if it fails, or takes too long. */
static double
time_query(const char *query, bool boards)
{
	double		start;
	PGresult   *res;
	bool		ok;

	run_free(format("SET leaderboard.enable_planner = %s", boards ? "on" : "off"));
	start = now();
	res = PQexec(conn, query);
	ok = PQresultStatus(res) == PGRES_TUPLES_OK;
	PQclear(res);
	return ok ? now() - start : -1;
}

/* Returns whether the query takes too long with boards, also a second time. */
static bool
is_slower(const char *query)
{
	double		plain = 0;
	double		board = 0;

	for (int i = 0; i < 2; i++)
	{
		plain = time_query(query, false);
		if (plain < 0)
			return false;
		board = time_query(query, true);
		if (board >= 0 && board <= MOST_TIMES * plain + LEAST_TIME)
			return false;
	}
	if (board < 0)
		printf("%.1f ms, and with boards it fails: %s\n", plain * 1000, query);
	else
		printf("%.1f ms, with boards %.1f ms: %s\n", plain * 1000, board * 1000,
			   query);
	return true;
}

void
report_times(void)
{
	int64_t		asked = 0;
	int64_t		slower = 0;
	double		end;

	set_up();
	run("SELECT lb_wait_ready('10 min')");
	run("VACUUM ANALYZE");
	run("SET statement_timeout = '20s'");
	for (end = now() + seconds; now() < end; asked++)
	{
		Question	q;
		char	   *query;

		do
			make_question(&q, &forms[rnd(nforms)], any_table());
		while (q.form->writes && (free_question(&q), true));
		query = literal_query(&q);
		slower += is_slower(query);
		free(query);
		free_question(&q);
	}
	printf("%" PRId64 " queries, of which %" PRId64 " take more than %d times as long with boards\n",
		   asked, slower, MOST_TIMES);
}
