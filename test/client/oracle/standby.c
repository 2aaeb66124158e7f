/*-------------------------------------------------------------------------
 *
 * standby.c
 *	  Comparisons on a streaming standby of the server that is written to.
 *
 * Its connections belong to processes of their own, which read and compare while
 * replay goes on.  What is compared stands in one statement, or in a REPEATABLE READ
 * transaction: a standby has no other snapshots that last.
 *
 * Recovery cancels what keeps it waiting for too long.  That is no failure, and proves
 * nothing: such statements are counted apart.  The tables of transaction() are there
 * from before the first comparison on.  Only those of define() may be gone, and
 * then the statement has an error, with and without a board.
 *
 * When the standby is promoted, its sessions go on.  From then on these processes do
 * what those of the primary do, on the promoted server.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "plans.h"

PGconn	   *standby_conn;
Result		standby_result;
bool		may_be_absent = false;

static bool promoted = false;	/* the parent has promoted the standby */

/* What is killed on the standby with -k, in turn, and how often it was. */
static struct
{
	const char *type;
	int			killed;
}			victims[] = {
	{"startup", 0}, {"client backend", 0}, {"walreceiver", 0},
	{"leaderboard launcher", 0}, {"leaderboard applier", 0}
};

int
nprocesses(void)
{
	return standby_conninfo == NULL ? connections : 2 * connections + 1;
}

bool
is_of_standby(int number)
{
	return number >= connections && number < 2 * connections;
}

bool
is_definer(int number)
{
	return number == 2 * connections;
}

static void
connect_to_standby(void)
{
	PQfinish(standby_conn);
	standby_conn = connect_or_fail(standby_conninfo, PATIENCE);
}

/*
 * Ask the standby for one row, also again if recovery cancels that, or ends the
 * connection.  A crash that was not wanted stands in the server's log.
 */
static PGresult *
row_of_standby(const char *query)
{
	PGresult   *res = PQexec(standby_conn, query);

	while (PQstatus(standby_conn) == CONNECTION_BAD ||
		   strstr(PQresultErrorMessage(res), "conflict with recovery") != NULL)
	{
		PQclear(res);
		if (PQstatus(standby_conn) == CONNECTION_BAD)
			connect_to_standby();
		res = PQexec(standby_conn, query);
	}
	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
		fail("%s on the standby: %s", query, PQerrorMessage(standby_conn));
	return res;
}

/* The same for one value, to be freed. */
static char *
ask_standby(const char *query)
{
	PGresult   *res = row_of_standby(query);
	char	   *value = format("%s", PQgetvalue(res, 0, 0));

	PQclear(res);
	return value;
}

/* Ask it until it returns true. */
static void
wait_until(const char *query)
{
	for (double end = now() + PATIENCE;;)
	{
		char	   *value = ask_standby(query);
		bool		done = value[0] == 't';

		free(value);
		if (done)
			return;
		if (now() > end)
			fail("the standby does not get to: %s", query);
		usleep(10000);
	}
}

void
wait_for_replay(void)
{
	char	   *lsn = run_value("SELECT pg_current_wal_flush_lsn()");
	char	   *query = format("SELECT pg_last_wal_replay_lsn() >= '%s'", lsn);

	wait_until(query);
	free(query);
	free(lsn);
}

void
begin_standby(void)
{
	char	   *value;

	/* A new database comes to the standby by replay. */
	connect_to_standby();
	value = ask_standby("SELECT pg_is_in_recovery()");
	if (value[0] != 't')
		fail("the server of -R is no standby");
	free(value);
	wait_for_replay();

	/* Until then its reads run their queries. */
	wait_until("SELECT lb_wait_ready('5 min')");
	free(ask_standby("SELECT lb_stat_reset()"));
}


/* ----------------------------------------------------------------
 *		Comparisons
 * ----------------------------------------------------------------
 */

/*
 * Now and then for so long that a snapshot gets old.  No test depends on how far
 * replay comes meanwhile.
 */
static bool
let_replay_go_on(void)
{
	bool		for_long = percent(4);
	double		end = now() + (for_long ? 1 : 0.03);
	char	   *before = NULL;
	bool		same = true;

	while (!tx_failed && now() < end && (same || for_long))
	{
		PGresult   *res = run_copy("SELECT pg_last_wal_replay_lsn()", NULL);

		if (res == NULL)
			break;
		if (before == NULL)
			before = format("%s", PQgetvalue(res, 0, 0));
		else
			same = strcmp(before, PQgetvalue(res, 0, 0)) == 0;
		PQclear(res);
		usleep(for_long ? 50000 : 1000);
	}
	free(before);
	return !tx_failed;
}

bool
do_meanwhile(const Table *t)
{
	return on_standby ? let_replay_go_on() : do_something(t);
}

/* One comparison, or some; of a board that is redefined, plans only. */
static void
compare_on_standby(const Table *t, bool one_snapshot)
{
	if (standby_share > 0 && rnd(40) == 0)
		do_verify(t);
	else if (t->redefined)
		compare_plans(t, 1, one_snapshot);
	else if (one_snapshot && percent(15) && !percent(plan_share))
		compare_in_two(t);
	else if (percent(10) && percent(plan_share))
		compare_plans_through_cursors(t);
	else if (percent(10))
		compare_through_cursor(t);
	else
		compare_any(t, 1 + rnd(3), one_snapshot);
}

static void
standby_transaction(const Table *t)
{
	bool		one_snapshot = percent(50);

	run(one_snapshot ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "BEGIN");
	for (int n = 1 + rnd(6); n > 0 && !tx_failed; n--)
	{
		bool		savepoint = percent(25);

		if (savepoint)
			run("SAVEPOINT s");
		compare_on_standby(t, one_snapshot);
		if (savepoint && percent(tx_failed ? 70 : 30))
		{
			/* The transaction keeps its snapshot. */
			tx_failed = false;
			run("ROLLBACK TO s");
		}
		if (!tx_failed && percent(30))
			let_replay_go_on();
	}
	if (tx_failed || t->redefined || !percent(5))
		end_transaction(75);
	else if (one_snapshot && percent(plan_share))
		compare_plans_through_held_cursors(t);
	else
		compare_through_held_cursor(t);
}

/* Whether the server has been promoted; not known after an expected error. */
static bool
is_promoted(void)
{
	PGresult   *res = run_copy("SELECT pg_is_in_recovery()", NULL);
	bool		ended = res != NULL && PQgetvalue(res, 0, 0)[0] == 'f';

	PQclear(res);
	return ended;
}

void
standby_turn(void)
{
	tx_failed = false;
	if (on_standby && is_promoted())
		on_standby = false;
	if (on_standby)
	{
		const Table *t = percent(15) ? &changing[rnd(nchanging)] :
			any_table();

		/* After a crash, recovery ends somewhat earlier than it had come. */
		may_be_absent = kills || (t >= changing && t < changing + nchanging);
		standby_transaction(t);
		may_be_absent = false;
	}
	else
	{
		int64_t		before = result.passed;

		/* What the primary had prepared is prepared here, too. */
		if (rnd(30) == 0)
			end_prepared_of(me - connections);
		else
			transaction();
		result.promoted += result.passed - before;
	}
}


/* ----------------------------------------------------------------
 *		What the parent does
 * ----------------------------------------------------------------
 */

/* Reads by function, and those by index, added up by report_reads(). */
static int64_t all_reads;
static int64_t index_reads;

/*
 * Print how the reads since the last call were answered, and fail if the index has
 * answered too few of those by function.
 */
static void
report_reads(const char *server, int least)
{
	PGresult   *res;
	double		all;
	double		share;

	res = row_of_standby("SELECT coalesce(sum(index_reads), 0), coalesce(sum(index_reads + query_reads), 0),"
						 " coalesce(sum(planned_reads), 0), coalesce(sum(planned_reads + planned_queries), 0),"
						 " (SELECT coalesce(string_agg(format(', %s %s', key, n), '' ORDER BY n DESC, key), '')"
						 " FROM (SELECT key, sum(value::bigint) AS n"
						 " FROM lb_stat_board AS b, jsonb_each_text(to_jsonb(b))"
						 " WHERE key ~ '^(query|planned)_' AND key NOT IN ('query_reads', 'planned_reads', 'planned_queries')"
						 " GROUP BY key) AS c WHERE n > 0)"
						 " FROM lb_stat_board");
	index_reads += atoll(PQgetvalue(res, 0, 0));
	all_reads += atoll(PQgetvalue(res, 0, 1));
	all = atof(PQgetvalue(res, 0, 1));
	share = all == 0 ? 0 : 100 * atof(PQgetvalue(res, 0, 0)) / all;
	printf("%s: of %s reads by function %s were by index, %.1f %%, and of %s by plan %s%s\n",
		   server, PQgetvalue(res, 0, 1), PQgetvalue(res, 0, 0), share,
		   PQgetvalue(res, 0, 3), PQgetvalue(res, 0, 2),
		   PQgetvalue(res, 0, 4));
	PQclear(res);
	/* After a crash the boards are built again. */
	if (share < least && !kills)
	{
		result.failed++;
		fail("%s only %.1f %% of the reads used the index", server, share);
	}
	free(ask_standby("SELECT lb_stat_reset()"));
}

static void
promote(void)
{
	report_reads("on the standby", standby_share);
	free(ask_standby("SELECT pg_promote(false)"));
	wait_until("SELECT NOT pg_is_in_recovery()");
	promoted = true;
}

/* Run the command of -K until the old server has gone and a new one runs. */
static void
start_standby(void)
{
	double		end = now() + PATIENCE;

	fflush(stdout);
	while (system(standby_command) != 0)
	{
		if (now() > end)
			fail("the standby does not start again");
		usleep(100000);
	}
}

/*
 * Kill the next process, and the server with it; wait until that is back.  The
 * seed chooses the first process.
 */
static void
kill_process(void)
{
	static int	turn = -1;
	int			n;
	bool		ends;

	if (turn < 0)
		turn = rnd(LENGTH(victims));
	n = turn++ % LENGTH(victims);
	ends = strcmp(victims[n].type, "startup") == 0;
	if (ends && standby_command == NULL)
		return;
	/* A crash loses the counts. */
	report_reads(promoted ? "on the promoted standby" : "on the standby", 0);
	if (!kill_any(standby_conn, victims[n].type))
		return;
	/* The process may just have ended by itself. */
	for (double end = now() + 5; PQstatus(standby_conn) == CONNECTION_OK;)
	{
		if (now() > end)
			return;
		usleep(1000);
		PQclear(PQexec(standby_conn, "SELECT 1"));
	}
	victims[n].killed++;
	if (ends)
		start_standby();
	connect_to_standby();
}

static void
print_victims(void)
{
	printf("killed on the standby:");
	for (int i = 0; i < LENGTH(victims); i++)
		printf("%s %s %d", i > 0 ? "," : "", victims[i].type, victims[i].killed);
	printf("\n");
}

void
watch_standby(void)
{
	static double began = 0;
	static double last_terminate = 0;
	static double last_kill = 0;
	static double last_check = 0;

	if (began == 0)
		began = last_terminate = last_kill = last_check = now();
	/* A crash that kill_process() has not waited for */
	if (kills && PQstatus(standby_conn) == CONNECTION_BAD)
		connect_to_standby();
	if (now() - last_check > 0.5)
	{
		check_wrong_index(standby_conn);
		last_check = now();
	}
	if (terminates && now() - last_terminate > 0.5)
	{
		terminate_any(standby_conn);
		last_terminate = now();
	}
	if (fails_over && !promoted && now() - began > seconds / 2)
		promote();
	else if (kills && now() - last_kill > 3)
	{
		kill_process();
		last_kill = now();
	}
}

/* Compare all on the standby, where nothing moves any more. */
static void
compare_quiet_standby(void)
{
	PGresult   *res;
	char	   *waiting = wait_ready();

	if (waiting != NULL && standby_share > 0)
		fail("on the standby %s", waiting);
	free(waiting);
	compare_between_builds();
	if (standby_share > 0)
	{
		check_index_was_used();
		check_forms();
		printf("on the standby, ");
		print_forms();
		compare_by_query();
	}

	res = PQexec(conn, "SELECT board, member, problem FROM lb_verify_key()");
	/* read_only_sql_transaction */
	if (standby_share == 0 && strcmp(sqlstate_of(res), "25006") == 0)
		printf("lb_verify() does not run on the standby\n");
	else
		check_verified(res);
	PQclear(res);
}

void
final_standby(void)
{
	PGconn	   *primary_conn = conn;
	Result		primary_result;
	int64_t		before;

	/* These keep their locks, also on the standby. */
	end_prepared();
	wait_for_backends(standby_conn);
	check_wrong_index(standby_conn);
	if (!promoted)
	{
		/*
		 * What was running when the primary crashed is still running for the
		 * standby, until the next record of running transactions.  A board
		 * that is built meanwhile is of no use to reads before that.
		 */
		run("CHECKPOINT");
		wait_for_replay();
	}
	report_reads(promoted ? "on the promoted standby" : "on the standby",
				 promoted ? least_share : standby_share);
	printf("on the standby: %" PRId64 " comparisons, of which %" PRId64
		   " of plans and %" PRId64 " after a promotion; dropped: %" PRId64
		   " by conflicts with recovery, %" PRId64
		   " of tables or boards that were not there, %" PRId64
		   " by other expected errors; %" PRId64 " connections lost\n",
		   standby_result.passed, standby_result.plans,
		   standby_result.promoted, standby_result.conflicts,
		   standby_result.absent, standby_result.errors, standby_result.lost);
	if (kills)
		print_victims();
	if (fails_over && standby_result.promoted == 0)
		fail("nothing was compared after the promotion");

	/* From here on the standby is the server that is asked. */
	before = standby_result.passed;
	primary_result = result;
	result = standby_result;
	conn = standby_conn;
	if (promoted)
		final_comparison();
	else
	{
		on_standby = true;
		compare_quiet_standby();
		on_standby = false;
	}
	conn = primary_conn;
	standby_result = result;
	result = primary_result;
	result.passed += standby_result.passed;
	printf("all on the standby: %" PRId64 " comparisons and %" PRId64
		   " when all was quiet, none different; %" PRId64 " of %" PRId64
		   " reads by the index, %.1f %%\n",
		   before, standby_result.passed - before, index_reads, all_reads,
		   all_reads == 0 ? 0.0 : 100.0 * index_reads / all_reads);
}
