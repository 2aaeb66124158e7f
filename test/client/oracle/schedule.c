/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  The scheduled mode: one process takes the steps of all connections.
 *
 * The same functions make a connection's transactions as in the free running
 * mode.  Each connection has a stack of its own for them.  A function leaves it
 * when it has sent a statement, and the scheduler enters it again when it wants
 * the next one.
 *
 * The scheduler's decisions must not depend on time.  After each step it waits
 * until every statement under way has ended, or has waited for a lock for
 * longer than the deadlock detector takes.
 *
 * Every second episode is crowded.  Its transactions pause only after they have
 * committed and before they settle, and continue only when no connection can take
 * a step.  Meanwhile rivals change the same rows and commit.  In the other
 * episodes transactions pause at all points, and not for long.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"
#include "schedule.h"

/* Sessions pause at this advisory lock while the monitor holds it. */
#define HOLD_PAUSES "SELECT pg_advisory_lock(20260411)"

#define EPISODE_STEPS 500
#define STACK_SIZE (1024 * 1024)

Client	   *clients;
static PGconn *monitor;			/* looks at locks, and holds that of pauses */
static ucontext_t scheduler_context;
static bool episode_over;
uint64_t	episode;
const Table *crowded = NULL;
bool		replaying = false;
bool		crashed;			/* a connection was lost for no reason */

Step	   *history;
int			nhistory;
static int	max_history;

static void
add_step(StepKind kind, int client, const char *text, const char *copy_data)
{
	Step	   *step;

	if (nhistory == max_history)
	{
		max_history = max_history == 0 ? 1024 : max_history * 2;
		history = realloc(history, max_history * sizeof(Step));
		if (history == NULL)
			out_of_memory();
	}
	step = &history[nhistory++];
	step->kind = kind;
	step->client = client;
	step->text = text == NULL ? NULL : format("%s", text);

	step->copy_data = copy_data == NULL ? NULL : format("%s", copy_data);
}

static void
forget_history(void)
{
	while (nhistory > 0)
	{
		nhistory--;
		free(history[nhistory].text);
		free(history[nhistory].copy_data);
	}
}

bool
is_comparison(const Step *step)
{
	return step->kind == STEP_STATEMENT &&
		(strncmp(step->text, ranked_rows, 20) == 0 ||
		 strncmp(step->text, PLAN_COMPARISON, strlen(PLAN_COMPARISON)) == 0);
}

/* Run a query on the monitor's connection; NULL if the server is gone. */
static PGresult *
ask_monitor(const char *query)
{
	PGresult   *res = PQexec(monitor, query);

	if (PQstatus(monitor) == CONNECTION_BAD)
	{
		crashed = true;
		PQclear(res);
		return NULL;
	}
	return res;
}

/* Receive what the server has sent. */
static void
pump(Client *c)
{
	PGresult   *res;

	if (PQconsumeInput(c->conn) == 0 ||
		PQstatus(c->conn) == CONNECTION_BAD)
	{
		c->busy = false;
		c->lost = true;
	}
	while (c->busy && !PQisBusy(c->conn))
	{
		res = PQgetResult(c->conn);
		if (res == NULL)
			c->busy = false;
		else if (PQresultStatus(res) == PGRES_COPY_IN)
		{
			const char *data = c->copy_data == NULL ? "" : c->copy_data;

			(void) PQputCopyData(c->conn, data, strlen(data));
			(void) PQputCopyEnd(c->conn, NULL);
			PQclear(res);
		}
		else
		{
			PQclear(c->res);
			c->res = res;
		}
		if (PQstatus(c->conn) == CONNECTION_BAD)
		{
			c->busy = false;
			c->lost = true;
		}
	}
	if (!c->busy)
		c->blocked = c->paused = false;
	if (c->lost && !c->dying)
		crashed = true;
}

/* Find the connections that wait for a lock which only another step releases. */
static void
find_blocked(void)
{
	PGresult   *res;
	bool		any_paused = false;

	res = ask_monitor("SELECT pid, bool_or(locktype = 'advisory')"
					  " FROM pg_locks WHERE NOT granted AND"
					  " waitstart < clock_timestamp() - interval '15 ms'"
					  " GROUP BY pid");
	for (int i = 0; i < connections; i++)
		clients[i].blocked = clients[i].paused = false;
	for (int r = 0; r < PQntuples(res); r++)
	{
		for (int i = 0; i < connections; i++)
		{
			if (clients[i].busy && clients[i].pid == atoi(PQgetvalue(res, r, 0)))
			{
				clients[i].blocked = true;
				clients[i].paused = PQgetvalue(res, r, 1)[0] == 't';
				any_paused |= clients[i].paused;
			}
		}
	}
	PQclear(res);

	/*
	 * A backend that waits in the middle of a callback can keep others
	 * waiting for something that is no heavyweight lock.
	 */
	for (int i = 0; i < connections && any_paused; i++)
	{
		if (clients[i].busy && now() - clients[i].since > 0.3)
			clients[i].blocked = true;
	}
}

void
settle_down(void)
{
	double		end = now() + PATIENCE;

	for (;;)
	{
		struct pollfd fds[MAX_CONNECTIONS];
		int			n = 0;
		bool		moving = false;

		for (int i = 0; i < connections; i++)
		{
			Client	   *c = &clients[i];

			if (c->busy || (c->dying && !c->lost))
				pump(c);
			if (c->lost || !(c->busy || c->dying))
				continue;
			fds[n].fd = PQsocket(c->conn);
			fds[n++].events = POLLIN;
		}
		if (crashed || n == 0)
			return;
		if (poll(fds, n, 2) > 0)
			continue;
		find_blocked();
		for (int i = 0; i < connections; i++)
			moving |= clients[i].busy && !clients[i].blocked;
		for (int i = 0; i < connections; i++)
			moving |= clients[i].dying && !clients[i].lost && !clients[i].busy;
		if (crashed || !moving)
			return;
		if (now() > end)
		{
			if (replaying)
				return;
			strcpy(failure_kind, "stuck");
			fail("a statement does not end");
		}
	}
}

void
send_statement(Client *c, const char *statement, const char *copy_data)
{
	PQclear(c->res);
	c->res = NULL;
	c->statement = statement;
	c->copy_data = copy_data;
	c->since = now();
	c->busy = true;
	if ((is_extended(c - clients) ?
		 PQsendQueryParams(c->conn, statement, 0, NULL, NULL, NULL, NULL, 0) :
		 PQsendQuery(c->conn, statement)) != 1)
		pump(c);
}

/* Called on a connection's stack, which it leaves meanwhile. */
PGresult *
scheduled_exec(const char *statement, const char *copy_data)
{
	Client	   *c = &clients[me];
	PGresult   *res;

	add_step(STEP_STATEMENT, me, statement, copy_data);
	send_statement(c, statement, copy_data);
	swapcontext(&c->context, &scheduler_context);
	res = c->res;
	c->res = NULL;
	return res;
}

static void
client_main(void)
{
	while (!episode_over)
	{
		transaction();
		if (lost && !episode_over)
			connect_again();
	}
	clients[me].ended = true;
	swapcontext(&clients[me].context, &scheduler_context);
}

/* Continue on a connection's stack until it has sent its next statement. */
static void
resume(Client *c)
{
	PGconn	   *own_conn = conn;
	uint64_t	own_random = random_state;

	conn = c->conn;
	me = c - clients;
	lost = c->lost;
	tx_failed = c->tx_failed;
	random_state = c->random_state;
	swapcontext(&scheduler_context, &c->context);
	c->lost |= lost;
	c->tx_failed = tx_failed;
	c->random_state = random_state;
	conn = own_conn;
	me = -1;
	lost = false;
	random_state = own_random;
}

void
set_connection(Client *c, PGconn *new_conn)
{
	c->conn = new_conn;
	c->pid = PQbackendPID(new_conn);
	c->busy = c->blocked = c->paused = c->dying = c->lost = false;
	PQclear(c->res);
	PQclear(c->got);
	c->res = c->got = NULL;
}

void
set_scheduled_connection(int number, PGconn *new_conn)
{
	set_connection(&clients[number], new_conn);
}

/*
 * One query string, so that the monitor asks for the lock again before a session
 * that continues has reached its next pause point.
 */
void
release_paused(void)
{
	PQclear(ask_monitor("SELECT pg_advisory_unlock_all(); " HOLD_PAUSES));
	for (int i = 0; i < connections; i++)
		clients[i].blocked = clients[i].paused = false;
}

void
signal_client(Client *c, const char *function)
{
	char	   *statement = format("SELECT %s(%d)", function, c->pid);

	PQclear(ask_monitor(statement));
	free(statement);
}

void
close_connections(void)
{
	if (monitor != NULL)
		PQfinish(monitor);
	monitor = NULL;
	for (int i = 0; i < connections; i++)
	{
		Client	   *c = &clients[i];

		if (c->conn == NULL)
			continue;
		/* Else the backend would finish its statement first. */
		if (c->busy)
		{
			char		error[256];
			PGcancel   *cancel = PQgetCancel(c->conn);

			PQcancel(cancel, error, sizeof(error));
			PQfreeCancel(cancel);
		}
		PQfinish(c->conn);
		c->conn = NULL;
	}
	for (double end = now() + PATIENCE;;)
	{
		if (PQstatus(conn) == CONNECTION_BAD)
		{
			PQreset(conn);
			usleep(10000);
		}
		else
		{
			PQclear(PQexec(conn, "SELECT pg_terminate_backend(pid)"
						   " FROM pg_stat_activity"
						   " WHERE application_name = 'oracle tested'"
						   " AND datname = current_database()"));
			break;
		}
		if (now() > end)
			fail("the server does not come back");
	}
	wait_for_backends(conn);
}

void
begin_episode(void)
{
	char	   *waiting;

	close_connections();
	gather_share(conn);
	crashed = false;
	random_state = seed * UINT64_C(1000003) + episode;
	crowded = episode % 2 == 1 ? any_table() : NULL;
	set_up();
	waiting = wait_ready();
	if (waiting != NULL)
		fail("%s", waiting);
	monitor = connect_or_fail(conninfo, 0);
	PQclear(ask_monitor("SET lock_timeout = '1min'"));
	PQclear(ask_monitor(HOLD_PAUSES));
	for (int i = 0; i < connections; i++)
	{
		Client	   *c = &clients[i];

		set_connection(c, connect_tested(i));
		c->random_state = random64();
		c->tx_failed = false;
	}
}

char *
verify_all(void)
{
	PGresult   *res;
	char	   *found;

	end_prepared();
	found = wait_ready();
	if (found != NULL)
		return found;

	res = PQexec(conn, "SELECT board, member, problem FROM lb_verify_key()");
	if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0)
		found = format("lb_verify() returns %d rows, the first: %s, %s, %s",
					   PQntuples(res), PQgetvalue(res, 0, 0),
					   PQgetvalue(res, 0, 1), PQgetvalue(res, 0, 2));
	PQclear(res);
	return found;
}

/* One step, chosen by the random numbers. */
static void
take_step(void)
{
	int			runnable[MAX_CONNECTIONS];
	int			busy[MAX_CONNECTIONS];
	int			nrunnable = 0;
	int			nbusy = 0;
	bool		any_paused = false;

	for (int i = 0; i < connections; i++)
	{
		if (clients[i].busy)
			busy[nbusy++] = i;
		else
			runnable[nrunnable++] = i;
		any_paused |= clients[i].paused;
	}
	if (any_paused && (nrunnable == 0 || (crowded == NULL && percent(8))))
	{
		add_step(STEP_RELEASE, -1, NULL, NULL);
		release_paused();
	}
	else if (nbusy > 0 && (nrunnable == 0 || percent(2)))
	{
		int			i = busy[rnd(nbusy)];

		add_step(STEP_CANCEL, i, NULL, NULL);
		signal_client(&clients[i], "pg_cancel_backend");
	}
	else if (rnd(300) == 0)
	{
		int			i = rnd(connections);

		if (!clients[i].lost)
		{
			add_step(STEP_TERMINATE, i, NULL, NULL);
			clients[i].dying = true;
			signal_client(&clients[i], "pg_terminate_backend");
		}
	}
	else
		resume(&clients[runnable[rnd(nrunnable)]]);
	settle_down();
	if (crashed)
	{
		strcpy(failure_kind, "lost");
		fail("the server has closed a connection");
	}
}

static void
run_episode(void)
{
	char	   *found;

	forget_history();
	begin_episode();
	episode_over = false;
	for (int i = 0; i < connections; i++)
	{
		Client	   *c = &clients[i];

		if (c->stack == NULL && (c->stack = malloc(STACK_SIZE)) == NULL)
			out_of_memory();
		getcontext(&c->context);
		c->context.uc_stack.ss_sp = c->stack;
		c->context.uc_stack.ss_size = STACK_SIZE;
		c->context.uc_link = NULL;
		c->ended = false;
		makecontext(&c->context, client_main, 0);
	}
	while (nhistory < EPISODE_STEPS)
	{
		take_step();
		/* Look between comparisons: a read may have asked for a build. */
		if (nhistory > 0 && !is_comparison(&history[nhistory - 1]))
			check_wrong_index(conn);
	}

	/* End all transactions, without further statements. */
	release_paused();
	settle_down();
	episode_over = true;
	for (int i = 0; i < connections; i++)
	{
		clients[i].lost = true;
		while (!clients[i].ended)
			resume(&clients[i]);
	}
	check_wrong_index(conn);
	close_connections();
	if ((found = verify_all()) != NULL)
	{
		result.failed++;
		strcpy(failure_kind, "verify");
		fail("%s", found);
	}
	result.passed++;
}

void
run_scheduled(void)
{
	double		end = now() + seconds;
	int64_t		steps = 0;
	char	   *value;

	clients = calloc(connections, sizeof(Client));
	if (clients == NULL)
		out_of_memory();
	value = run_value("SELECT count(*) FROM pg_settings"
					  " WHERE name = 'leaderboard.pause_at'");
	can_pause = strcmp(value, "1") == 0;
	free(value);
	while ((transactions == 0 || steps < transactions) &&
		   (seconds <= 0 || now() < end))
	{
		run_episode();
		steps += nhistory;
		episode++;
	}
	gather_share(conn);
	printf("%" PRId64 " steps in %" PRIu64 " episodes%s, ", steps, episode,
		   can_pause ? " with pauses" : "");
	print_result();
	random_state = seed;
	set_up();
	run("SELECT lb_stat_reset()");
	check_share();
	final_comparison();
}
