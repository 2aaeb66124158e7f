/*
 * The leaderboard extension from C, with libpq: submit, read, retry, listen.
 *
 * libpq's environment variables (PGHOST, PGDATABASE, ...) say where the database is.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
die(PGconn *conn)
{
	fprintf(stderr, "%s", PQerrorMessage(conn));
	exit(1);
}

static PGconn *
connect_db(void)
{
	PGconn	   *conn = PQconnectdb("");

	if (PQstatus(conn) != CONNECTION_OK)
		die(conn);
	return conn;
}

/* A statement with up to four parameters.  The caller checks the result. */
static PGresult *
run(PGconn *conn, const char *sql, int n, const char *const *values)
{
	return PQexecParams(conn, sql, n, NULL, values, NULL, NULL, 0);
}

static bool
succeeded(const PGresult *res)
{
	ExecStatusType status = PQresultStatus(res);

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* A statement that must succeed. */
static void
must(PGconn *conn, const char *sql)
{
	PGresult   *res = run(conn, sql, 0, NULL);

	if (!succeeded(res))
		die(conn);
	PQclear(res);
}

/*
 * Change player 42's score.  The result has the score and the rank after it.  With a
 * match, the same call can be repeated: it counts once.
 */
static PGresult *
submit(PGconn *conn, int64_t amount, const char *op, const char *match)
{
	char		text[24];
	const char *values[] = {"42", text, op, match};

	snprintf(text, sizeof(text), "%" PRId64, amount);
	return run(conn, "SELECT score, rank FROM leaderboard.lb_submit($1, $2, $3, $4) WHERE board = 'global'",
			   4, values);
}

/* Print rank, member and score of each row. */
static void
show(PGconn *conn, const char *sql)
{
	PGresult   *res = run(conn, sql, 0, NULL);

	if (!succeeded(res))
		die(conn);
	for (int i = 0; i < PQntuples(res); i++)
		printf("  %s. player %s with %s\n", PQgetvalue(res, i, 0),
			   PQgetvalue(res, i, 1), PQgetvalue(res, i, 2));
	PQclear(res);
}

/* Serialization failure, deadlock, shutdown, lost connection. */
static bool
can_be_tried_again(PGconn *conn, const PGresult *res)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	if (state == NULL)
		return PQstatus(conn) != CONNECTION_OK;
	return strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0 ||
		strncmp(state, "08", 2) == 0 || strncmp(state, "57P", 3) == 0;
}

/*
 * Run work until none of these gets in its way, and print the score.  A lost
 * connection does not say whether its commit was done, so work should submit with a
 * match.
 */
static void
retry(const char *title, PGresult *(*work) (PGconn *conn, int attempt))
{
	for (int attempt = 1;; attempt++)
	{
		PGconn	   *conn = connect_db();
		PGresult   *res = work(conn, attempt);
		bool		done = succeeded(res);

		if (done)
			printf("%s: player 42 has %s points after %d attempts\n", title,
				   PQgetvalue(res, 0, 0), attempt);
		else if (attempt == 5 || !can_be_tried_again(conn, res))
			die(conn);
		PQclear(res);
		PQfinish(conn);
		if (done)
			return;
		usleep(random() % (20000 << attempt));
	}
}

static PGresult *
conflicting(PGconn *conn, int attempt)
{
	PGresult   *res;
	PGresult   *commit;

	must(conn, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	must(conn, "SELECT leaderboard.lb_score(42)");
	if (attempt == 1)			/* another session is faster */
	{
		PGconn	   *other = connect_db();

		PQclear(submit(other, 10, "incr", NULL));
		PQfinish(other);
	}
	res = submit(conn, 10, "incr", NULL);
	if (!succeeded(res))
		return res;
	commit = run(conn, "COMMIT", 0, NULL);
	if (!succeeded(commit))
	{
		PQclear(res);
		return commit;
	}
	PQclear(commit);
	return res;
}

static PGresult *
disconnected(PGconn *conn, int attempt)
{
	PGresult   *res = submit(conn, 10, "incr", "match 2");

	if (attempt > 1 || !succeeded(res))
		return res;
	PQclear(res);				/* the answer does not arrive */
	return run(conn, "SELECT pg_terminate_backend(pg_backend_pid())", 0, NULL);
}

/*
 * Wait for a notification that has player 42 among its places.  A real program has a
 * library for JSON.
 */
static void
wait_for_place(PGconn *conn)
{
	for (;;)
	{
		struct pollfd fd = {.fd = PQsocket(conn), .events = POLLIN};
		PGnotify   *notify;

		while ((notify = PQnotifies(conn)) != NULL)
		{
			const char *player = strstr(notify->extra, "\"player_id\": 42,");
			const char *place = NULL;

			for (const char *p = notify->extra; player != NULL &&
				 (p = strstr(p, "\"place\": ")) != NULL && p < player; p++)
				place = p;
			if (place != NULL)
				printf("listen: player 42 is at place %d\n",
					   atoi(place + strlen("\"place\": ")));
			PQfreemem(notify);
			if (place != NULL)
				return;
		}
		if (poll(&fd, 1, -1) < 0 || !PQconsumeInput(conn))
			die(conn);
	}
}

int
main(void)
{
	static const char *const titles[] = {"submit", "the same match again"};
	PGconn	   *conn = connect_db();
	PGresult   *res;
	int64_t		score;

	for (int i = 0; i < 2; i++)
	{
		res = submit(conn, 80, "incr", "match 1");
		if (!succeeded(res))
			die(conn);
		printf("%s: player 42 has %s points and rank %s\n", titles[i],
			   PQgetvalue(res, 0, 0), PQgetvalue(res, 0, 1));
		PQclear(res);
	}
	printf("top:\n");
	show(conn, "SELECT rank, member, score FROM leaderboard.lb_top(3)");
	printf("around player 42:\n");
	show(conn, "SELECT rank, member, score FROM leaderboard.lb_around(42, radius => 1)");

	retry("serialization failure", conflicting);
	retry("lost connection", disconnected);

	/* Listen first, then read or change: nothing is missed. */
	must(conn, "LISTEN leaderboard");
	res = submit(conn, (INT64_C(1) << 53) + 1, "set", NULL);
	if (!succeeded(res))
		die(conn);
	PQclear(res);
	wait_for_place(conn);

	res = run(conn, "SELECT leaderboard.lb_score(42)", 0, NULL);
	if (!succeeded(res))
		die(conn);
	score = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
	printf("2^53 + 1: player 42 has %" PRId64 " points\n", score);
	PQclear(res);
	PQfinish(conn);
	return 0;
}
