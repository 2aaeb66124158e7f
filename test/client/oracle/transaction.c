/*-------------------------------------------------------------------------
 *
 * transaction.c
 *	  Random transactions, and the process that runs them.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "plans.h"

#define MAX_SAVEPOINTS 5

/*
 * A cursor compares with what it saw when it was opened, though rows change
 * before it is read.
 */
bool
compare_through_cursor(const Table *t)
{
	Look		look = any_look(t);
	char	   *query = comparison_statement(any_comparison(&look), &look);
	PGresult   *res = NULL;

	if (run_free(format("DECLARE c %s CURSOR FOR %s",
						percent(50) ? "NO SCROLL" : "SCROLL", query)) &&
		do_meanwhile(t) &&
		(!percent(50) || do_meanwhile(t)) &&
		(res = run_copy("FETCH ALL FROM c", NULL)) != NULL)
	{
		compare_rows(res, query);
		run("CLOSE c");
	}
	PQclear(res);
	free(query);
	return !tx_failed;
}

/* A cursor that is read when its transaction has committed. */
void
compare_through_held_cursor(const Table *t)
{
	Look		look = any_look(t);
	char	   *query = comparison_statement(any_comparison(&look), &look);
	PGresult   *res;

	if (run_free(format("DECLARE h CURSOR WITH HOLD FOR %s", query)))
	{
		/* Some of it may be read before. */
		if (percent(50) &&
			(res = run_copy("FETCH 2 FROM h", NULL)) != NULL)
		{
			compare_rows(res, query);
			PQclear(res);
		}
		if (!tx_failed && percent(60))
			do_meanwhile(t);
		if (!tx_failed && run("COMMIT"))
		{
			result.committed++;
			if (percent(50))
				do_meanwhile(t);
			tx_failed = false;
			if ((res = run_copy("FETCH ALL FROM h", NULL)) != NULL)
			{
				compare_rows(res, query);
				PQclear(res);
			}
			tx_failed = false;
			run("CLOSE h");
			free(query);
			return;
		}
	}
	free(query);
	tx_failed = false;
	run("ROLLBACK");
	result.rolled_back++;
}

/*
 * The function is asked in one statement and the query in another.  Both say
 * what snapshot they have: without that a history from which steps are left
 * out could have the two in different ones.
 */
void
compare_in_two(const Table *t)
{
	Look		look = any_look(t);
	char	   *query = comparison_statement(any_comparison(&look), &look);
	PGresult   *got;
	PGresult   *want = NULL;
	char	   *statement;

	statement = format("SELECT call, got, pg_current_snapshot() AS at"
					   " FROM (%s) AS c (call, got, want) ORDER BY call, got",
					   query);
	got = run_copy(statement, NULL);
	free(statement);
	if (got != NULL && (!percent(50) || compare_some(t, 1)))
	{
		statement = format("SELECT call, want, pg_current_snapshot() AS at"
						   " FROM (%s) AS c (call, got, want)"
						   " ORDER BY call, want", query);
		want = run_copy(statement, NULL);
		if (want != NULL)
			compare_results(got, 1, want, 1, statement);
		free(statement);
	}
	PQclear(got);
	PQclear(want);
	free(query);
}

/*
 * In READ COMMITTED, the actions of a rule have one snapshot.  If the first waits for
 * another session's change of its row, the second sees what the snapshot saw of the
 * row, and what the first has made of it.  An index shows PostgreSQL only one of these
 * versions, if the second is heap-only: so only queries that read the whole table have
 * a single answer, and only by a plan that uses no index.
 */
static void
compare_in_rule(const Table *t)
{
	char	   *write = a_write(t);
	char	   *rule = format("CREATE OR REPLACE RULE writes AS ON INSERT"
							  " TO lbt.act%d DO INSTEAD (%s", me, write);
	char	   *statement = format(PLAN_COMPARISON "seen%d", me);
	PGresult   *res;

	/* A function may have a plan of an earlier statement. */
	run("SELECT set_config(name, setting, true) FROM (VALUES"
		" ('plan_cache_mode', 'force_custom_plan'), ('enable_indexscan', 'off'),"
		" ('enable_indexonlyscan', 'off'), ('enable_bitmapscan', 'off')) AS s (name, setting)");
	for (int n = 1 + rnd(3); n > 0; n--)
	{
		Look		look = any_look(t);
		char	   *query = comparison_statement(any_whole_comparison(&look), &look);
		char	   *longer = format("%s; INSERT INTO lbt.seen%d (call, got, want) %s",
									rule, me, query);

		free(query);
		free(rule);
		rule = longer;
	}
	if (run_free(format("%s)", rule)) &&
		run_free(format("INSERT INTO lbt.act%d DEFAULT VALUES", me)) &&
		(res = run_copy(statement, NULL)) != NULL)
	{
		compare_rows(res, statement);
		PQclear(res);
		run_free(format("DELETE FROM lbt.seen%d", me));
	}
	free(rule);
	free(statement);
	free(write);
}

/*
 * End a transaction in two phases.  It keeps its locks meanwhile, so not for
 * long.
 */
static void
prepare(void)
{
	bool		commits = percent(70);

	if (!run_free(format("PREPARE TRANSACTION 'oracle %d'", me)))
	{
		result.rolled_back++;	/* which a failing PREPARE does */
		return;
	}
	for (int n = rnd(4); n > 0; n--)
	{
		compare_some(any_table(), 1);
		tx_failed = false;
	}

	/*
	 * A session that has to wait for these locks gets an error; this one must
	 * not.
	 */
	while (!run_free(format("%s PREPARED 'oracle %d'",
							commits ? "COMMIT" : "ROLLBACK", me)))
	{
		if (lost)
			return;
		if (disturber == NULL)
			fail("a prepared transaction could not be ended");
		/* Cancelled: it is still prepared. */
	}
	tx_failed = false;
	/* The changes may not have been applied yet. */
	if (percent(50))
		compare_some(any_table(), 2);
	if (commits)
		result.committed++;
	else
		result.rolled_back++;
}

/*
 * Where a server with pause points makes a transaction stop.  Some points are
 * there more often than others.
 */
static const char *const pause_points[] = {
	"settle", "settle", "publish", "publish,settle", "publish,drop", "drop",
	"backlog"
};

bool
compare_any(const Table *t, int n, bool steady)
{
	return percent(plan_share) ? compare_plans(t, n, steady) :
		compare_some(t, n);
}

void
end_transaction(int percent_commits)
{
	if (!tx_failed && percent(percent_commits))
	{
		if (run("COMMIT"))
		{
			result.committed++;
			return;
		}
		/* A COMMIT that fails has ended the transaction. */
		result.rolled_back++;
		return;
	}
	tx_failed = false;
	run("ROLLBACK");
	result.rolled_back++;
}

/*
 * A transaction of more savepoints than the array of processes has room for, which
 * is 64: then a primary's snapshots lack some of their transactions.
 */
static void
write_with_savepoints(const Table *t)
{
	run("BEGIN");
	for (int i = 0; i < 100 && !lost; i++)
	{
		run("SAVEPOINT s");
		if (!run_free(a_write(t)) || percent(15))
		{
			tx_failed = false;
			run("ROLLBACK TO s");
		}
		else if (percent(15))
			run("RELEASE s");
	}
	if (!tx_failed && can_prepare && percent(25))
		prepare();
	else
		end_transaction(75);
}

/* With -R, what a standby has more trouble with.  Returns whether it was done. */
static bool
write_for_standby(const Table *t)
{
	switch (rnd(50))
	{
		case 0:
			write_with_savepoints(t);
			return true;
		case 1:
			/* A board of a family goes, and its next row makes it again. */
			if (t->values == NULL)
				return false;
			run_free(format("DELETE FROM %s WHERE %s", t->name,
							on_board(t, any_value(t))));
			return true;
		default:
			return false;
	}
}

void
transaction(void)
{
	const Table *t = any_table();
	bool		exact = !locked;	/* comparisons may be made */
	bool		steady = false; /* ... also in several statements */
	bool		truncated = false;
	bool		one_snapshot = false;
	int			most = 6;		/* statements or comparisons */
	int			reads = 40;		/* percent of them are comparisons */
	int			depth = 0;

	if (crowded != NULL && percent(80))
		t = crowded;
	tx_failed = false;

	/* A build runs while other sessions write. */
	if (rnd(400) == 0)
	{
		char	   *statement = format("SELECT lb_rebuild('%s')", t->board);

		/* It may not get its lock. */
		PQclear(run_copy(statement, NULL));
		free(statement);
		return;
	}

	if (rnd(150) == 0)
	{
		alter_expressions();
		return;
	}

	if (long_texts && rnd(20) == 0)
	{
		delete_long_texts(t);
		return;
	}
	if (standby_conninfo != NULL && write_for_standby(t))
		return;

	switch (rnd(20))
	{
		case 0:
		case 1:
		case 2:
			run("BEGIN ISOLATION LEVEL REPEATABLE READ");
			exact = steady = one_snapshot = true;
			break;
		case 3:
		case 4:
			run("BEGIN ISOLATION LEVEL SERIALIZABLE");
			exact = steady = one_snapshot = true;
			break;
		case 5:
		case 6:
			run("BEGIN");
			if (percent(50))
				do_something(t);
			if (!tx_failed &&
				run_free(format("LOCK TABLE %s IN SHARE MODE", t->name)))
				exact = steady = true;
			break;
		default:
			run("BEGIN");
			break;
	}

	/* In a crowd a transaction writes and soon ends, or mostly reads. */
	if (crowded != NULL)
	{
		most = one_snapshot ? 6 : 2;
		reads = one_snapshot ? 85 : 10;
	}
	else if (one_snapshot)
		reads = 55;

	for (int n = 1 + rnd(most); n > 0; n--)
	{
		/* TRUNCATE may wait for locks of other sessions, and time out. */
		if (!tx_failed && rnd(300) == 0)
		{
			run_free(format("TRUNCATE %s", t->name));
			truncated = true;
		}

		if (!tx_failed)
		{
			if (one_snapshot && percent(15) && !percent(plan_share))
				compare_in_two(t);
			else if (exact && !one_snapshot && percent(crowded != NULL ? 30 : 5))
				compare_in_rule(t);
			else if (exact && percent(reads))
				compare_any(t, 1 + rnd(3), steady);
			else if (exact && percent(10) && percent(plan_share))
				compare_plans_through_cursors(t);
			else if (exact && percent(10))
				compare_through_cursor(t);
			else
				do_something(t);
		}
		if (!tx_failed && depth < MAX_SAVEPOINTS && percent(25))
		{
			depth++;
			run_free(format("SAVEPOINT s%d", depth));
		}
		else if (!tx_failed && depth > 0 && percent(20))
		{
			run_free(format("RELEASE s%d", depth));
			depth--;
		}
		else if (depth > 0 && percent(tx_failed ? 70 : 20))
		{
			int			to = 1 + rnd(depth);

			tx_failed = false;
			run_free(format("ROLLBACK TO s%d", to));
			depth = to;
		}
		if (tx_failed)
			break;
	}

	if (!tx_failed && exact && percent(30))
		compare_any(t, 1, steady);
	if (!tx_failed && truncated && percent(70))
		do_fill(t);

	if (!tx_failed && can_prepare && percent(scheduled ? 10 : 4))
	{
		prepare();
		return;
	}
	if (!tx_failed && exact && percent(3))
	{
		if (steady && percent(plan_share))
			compare_plans_through_held_cursors(t);
		else
			compare_through_held_cursor(t);
		return;
	}
	if (!tx_failed && can_pause && percent(crowded != NULL ? 40 : 25))
		run_free(format("SET LOCAL leaderboard.pause_at = '%s'",
						crowded != NULL ? "settle" : ANY(pause_points)));
	end_transaction(75);
}

bool
end_prepared_of(int number)
{
	char	   *statement;
	PGresult   *res;
	bool		none;

	statement = format("SELECT FROM pg_prepared_xacts"
					   " WHERE database = current_database()"
					   " AND gid = 'oracle %d'", number);
	res = run_copy(statement, NULL);
	free(statement);
	none = res == NULL || PQntuples(res) == 0;
	PQclear(res);

	/* This connection may be lost as well. */
	if (none)
		return true;
	/* The old backend may still be ending it, or have just ended it. */
	statement = format("%s PREPARED 'oracle %d'",
					   percent(50) ? "COMMIT" : "ROLLBACK", number);
	remember(statement);
	PQclear(scheduled ? scheduled_exec(statement, NULL) :
			PQexec(conn, statement));
	free(statement);
	return false;
}

void
connect_again(void)
{
	double		end = now() + PATIENCE;

	PQfinish(conn);
	conn = connect_tested(me);
	if (scheduled)
		set_scheduled_connection(me, conn);
	lost = false;
	while (!end_prepared_of(me) && now() <= end)
		;
}

void
worker(int number, Result *out)
{
	double		end = now() + seconds;

	me = number;
	random_state = seed * UINT64_C(1000003) + (uint64_t) number;
	on_standby = is_of_standby(number);
	conn = connect_tested(me);
	if (is_definer(number))
		define();
	for (int64_t i = 0; transactions == 0 || i < transactions; i++)
	{
		/* However long the promotion takes, something is compared after it. */
		if (seconds > 0 && now() >= end &&
			!(fails_over && is_of_standby(number) && result.promoted == 0 &&
			  now() < end + PATIENCE))
			break;
		if (is_of_standby(number))
			standby_turn();
		else
			transaction();
		if (lost)
			connect_again();
	}
	while (lost)
		connect_again();
	*out = result;
	PQfinish(conn);
	exit(0);
}
