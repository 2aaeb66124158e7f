/*-------------------------------------------------------------------------
 *
 * sql.c
 *	  Connections and statements, and which errors are expected.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>

#include "oracle.h"

PGconn *
connect_or_fail(const char *server, double patience)
{
	PGconn	   *c = connect_within(server, "SET client_encoding = 'UTF8';"
								   "SET jit = off;"
								   "SET client_min_messages = error", patience);

	if (PQstatus(c) != CONNECTION_OK)
		fail("could not connect: %s", PQerrorMessage(c));
	return c;
}

/*
 * How values look as texts.  Texts of the tables' values can be read again with
 * each of them.
 */
static const char *const forms[] = {
	"",
	"SET datestyle = 'German'; SET timezone = 'UTC'; SET extra_float_digits = 0",
	"SET timezone = 'Asia/Kolkata'; SET leaderboard.json_bigint = 'string'",
	"SET datestyle = 'SQL, DMY'; SET timezone = 'UTC'; SET extra_float_digits = -9; SET leaderboard.json_bigint = 'string'"
};

/*
 * A session that waits for its client hears of a conflict with recovery before it is
 * asked for anything.
 */
static bool conflict_noticed;

static void
notice_conflict(void *arg, const PGresult *res)
{
	(void) arg;
	if (strstr(PQresultErrorMessage(res), "conflict with recovery") != NULL)
		conflict_noticed = true;
}

PGconn *
connect_tested(int number)
{
	static const char settings[] =
		"SET client_min_messages = error;"
		"SET jit = off;"
		"SET client_encoding = 'UTF8';"
		"SET application_name = 'oracle tested';"
		"SET deadlock_timeout = '%s';"
		"SET lock_timeout = '%s';"
		"SET statement_timeout = '%s';"
		"SET leaderboard.wait_timeout = '%s';"
		"%s";

	/* The server may be in recovery. */
	const char *form = number < 0 ? "" : forms[number % LENGTH(forms)];
	double		patience = kills || scheduled || disturber != NULL ? PATIENCE : 0;
	PGconn	   *c;
	char	   *s;

	/*
	 * No statement waits longer than the statement timeout unless it waits
	 * forever, which is an unexpected error.  In the scheduled mode a
	 * statement waits for a lock as long as the scheduler likes.  A disturber
	 * keeps builds from ending.
	 */
	s = scheduled ? format(settings, "5ms", "0", "0", "5min", form) :
		format(settings, "50ms", "200ms", "10min",
			   disturber != NULL ? "10s" : "5min", form);
	c = connect_within(is_of_standby(number) ? standby_conninfo : conninfo, s,
					   patience);
	free(s);
	if (PQstatus(c) != CONNECTION_OK)
		fail("could not connect: %s", PQerrorMessage(c));
	if (is_of_standby(number))
		PQsetNoticeReceiver(c, notice_conflict, NULL);
	conflict_noticed = false;
	return c;
}

/* Errors that random changes, of this session or another, may well cause. */
static bool
expected_error(const char *sqlstate)
{
	static const char *const expected[] = {
		"40001",				/* serialization failure */
		"40P01",				/* deadlock */
		"55P03",				/* lock timeout */
		"23505",				/* unique violation */
		"22003",				/* a score left its type's range */
		"22008",				/* a time likewise */
		"23514",				/* a domain's check */
		"21000",				/* ON CONFLICT or MERGE met a row twice */
		"57014"					/* cancelled, or the statement timeout */
	};

	return is_one_of(sqlstate, expected, LENGTH(expected));
}

/*
 * Errors that a disturber explains.  A cancel is one.  The statement timeout is
 * not: a statement that takes so long waits forever.  A read may find no index
 * for longer than it waits for one, and a rebuild no worker, no lock or no
 * memory.  No such error is expected of a write.
 */
static bool
disturbed_error(const char *sqlstate, const char *statement,
				const char *message)
{
	if (disturber == NULL)
		return false;
	if (strcmp(sqlstate, "57014") == 0)
		return strstr(message, "user request") != NULL;
	if (strncmp(statement, "SELECT lb_rebuild(", 18) == 0 &&
		strcmp(sqlstate, "53200") == 0)
		return true;
	return strcmp(sqlstate, "55000") == 0 &&
		strstr(statement, "lb_") != NULL &&
		(strstr(message, "was not built within") != NULL ||
		 strstr(message, "could not build board") != NULL);
}

bool
is_extended(int number)
{
	return number >= 0 && number % 2 == 1;
}

/*
 * Whether recovery explains that a statement on the standby has failed: it has
 * cancelled it, or the table that it reads is being dropped and made again.  Counts it.
 */
static bool
recovery_error(const PGresult *res)
{
	static const char *const absent[] = {"42P01", "42704"};

	if (!on_standby)
		return false;

	/*
	 * If it has ended the session, only the connection has that message.  It
	 * can come behind the error of a statement that it has cancelled, and is
	 * then of the next.
	 */
	if (strstr(PQerrorMessage(conn), "conflict with recovery") != NULL)
		result.conflicts++;
	else if (conflict_noticed)
	{
		result.conflicts++;
		conflict_noticed = false;
	}
	else if (may_be_absent && is_one_of(sqlstate_of(res), absent, LENGTH(absent)))
		result.absent++;
	else
		return false;
	return true;
}

static PGresult *
exec_copy(const char *statement, const char *copy_data)
{
	PGresult   *res = is_extended(me) ?
		PQexecParams(conn, statement, 0, NULL, NULL, NULL, NULL, 0) :
		PQexec(conn, statement);

	if (PQresultStatus(res) == PGRES_COPY_IN)
	{
		PQclear(res);
		/* If this fails the result says so. */
		(void) PQputCopyData(conn, copy_data, strlen(copy_data));
		(void) PQputCopyEnd(conn, NULL);
		res = PQgetResult(conn);
		PQclear(PQgetResult(conn));
	}
	return res;
}

PGresult *
run_copy(const char *statement, const char *copy_data)
{
	PGresult   *res;
	const char *sqlstate;

	if (lost)
	{
		tx_failed = true;
		return NULL;
	}
	remember(statement);
	if (copy_data != NULL)
		remember(copy_data);
	if (scheduled && me >= 0)
		res = scheduled_exec(statement, copy_data);
	else
		res = exec_copy(statement, copy_data);
	remember_end();
	if (is_ok(res))
		return res;

	sqlstate = sqlstate_of(res);
	if (recovery_error(res))
	{
		remember(sqlstate);
		PQclear(res);
		/* What asks when all is quiet is in no transaction. */
		if (me < 0 && PQstatus(conn) == CONNECTION_OK)
			return run_copy(statement, copy_data);
		lost = PQstatus(conn) == CONNECTION_BAD;
		tx_failed = true;
		return NULL;
	}
	if (me >= 0 && (terminates || kills || disturber != NULL) &&
		(lost || PQstatus(conn) == CONNECTION_BAD ||
		 is_shutdown(sqlstate)))
	{
		remember("(connection lost)");
		result.lost++;
		lost = true;
		tx_failed = true;
		PQclear(res);
		return NULL;
	}
	/* Only a disturber cancels in the free running mode. */
	if ((!expected_error(sqlstate) ||
		 (!scheduled && strcmp(sqlstate, "57014") == 0)) &&
		!(me >= 0 && disturbed_error(sqlstate, statement,
									 PQresultErrorMessage(res))))
	{
		snprintf(failure_kind, sizeof(failure_kind), "%s",
				 PQstatus(conn) == CONNECTION_BAD ? "lost" : sqlstate);
		fail("%s\n%s: %s", statement, sqlstate, PQerrorMessage(conn));
	}
	remember(sqlstate);
	result.errors++;
	tx_failed = true;
	PQclear(res);
	return NULL;
}

bool
run(const char *statement)
{
	PGresult   *res = run_copy(statement, NULL);

	PQclear(res);
	return res != NULL;
}

bool
run_free(char *statement)
{
	bool		ok = run(statement);

	free(statement);
	return ok;
}

char *
run_value(const char *statement)
{
	PGresult   *res = run_copy(statement, NULL);
	char	   *value;

	if (res == NULL)
		fail("%s", statement);
	value = strdup(PQntuples(res) > 0 ? PQgetvalue(res, 0, 0) : "");
	PQclear(res);
	return value;
}

char *
wait_ready(void)
{
	char	   *ready = run_value("SELECT lb_wait_ready('5 min')");
	char	   *found = NULL;

	if (strcmp(ready, "t") != 0)
	{
		char	   *boards = run_value("SELECT coalesce(string_agg(board || ' is ' || state ||"
									   " coalesce(', ' || reason, ''), '; '), 'all are by now')"
									   " FROM lb_stat_board WHERE state <> 'ready'");

		found = format("the boards do not become ready: %s", boards);
		free(boards);
	}
	free(ready);
	return found;
}
