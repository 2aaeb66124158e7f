/*-------------------------------------------------------------------------
 *
 * shrink.c
 *	  Leaves out the steps that a failure does not need.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "oracle.h"
#include "schedule.h"

#define MAX_FIRST_REPLAYS 20
#define MAX_SHRINK_SECONDS 120

static char *replay_message;	/* what the last replay has found */

/* Whether a statement is a comparison, or a half of one. */
static bool
compares(const char *statement)
{
	return strncmp(statement, ranked_rows, 20) == 0 ||
		strncmp(statement, "SELECT call, ", 13) == 0;
}

/* If the result of a statement shows the same failure again, describe it. */
static char *
look_at_result(Client *c)
{
	PGresult   *res = c->res;
	char	   *found = NULL;
	int			row;

	c->res = NULL;
	if (PQresultStatus(res) == PGRES_TUPLES_OK && compares(c->statement))
	{
		bool		difference = strcmp(failure_kind, "difference") == 0;

		if (strcmp(PQfname(res, 2), "at") != 0)
		{
			row = find_difference(res, 1, res, 2);
			if (row >= 0 && difference)
				found = describe_difference(res, 1, res, 2, row, c->statement);
		}
		else if (strcmp(PQfname(res, 1), "got") == 0)
		{
			/* The first half of a comparison. */
			PQclear(c->got);
			c->got = res;
			return NULL;
		}
		else if (c->got != NULL && PQntuples(c->got) == PQntuples(res))
		{
			/* The second, if it is of the same and has the same snapshot. */
			if (find_difference(c->got, 0, res, 0) < 0 &&
				find_difference(c->got, 2, res, 2) < 0 &&
				(row = find_difference(c->got, 1, res, 1)) >= 0 && difference)
				found = describe_difference(c->got, 1, res, 1, row,
											c->statement);
		}
	}
	else
	{
		const char *sqlstate = sqlstate_of(res);

		if (sqlstate[0] != '\0' && strcmp(sqlstate, failure_kind) == 0)
			found = format("%s\n%s", c->statement, PQresultErrorMessage(res));
	}
	PQclear(res);
	return found;
}

static bool
take_step_again(const Step *step)
{
	Client	   *c = step->client < 0 ? NULL : &clients[step->client];
	bool		any_paused = false;

	switch (step->kind)
	{
		case STEP_STATEMENT:
			if (c->busy || c->dying)
				return false;
			send_statement(c, step->text, step->copy_data);
			break;
		case STEP_CANCEL:
			if (!c->busy)
				return false;
			signal_client(c, "pg_cancel_backend");
			break;
		case STEP_TERMINATE:
			if (c->dying)
				return false;
			c->dying = true;
			signal_client(c, "pg_terminate_backend");
			break;
		case STEP_RELEASE:
			for (int i = 0; i < connections; i++)
				any_paused |= clients[i].paused;
			if (!any_paused)
				return false;
			release_paused();
			break;
	}
	return true;
}

/*
 * Do these steps once more, from new tables on.  Those that cannot be done,
 * because their connection is waiting, are left out.  Returns whether they
 * fail in the same way; then the steps that were done are in done.
 */
static bool
replay(Step *const *steps, int n, Step **done, int *ndone)
{
	char	   *found = NULL;
	bool		is_lost = strcmp(failure_kind, "lost") == 0;
	bool		is_offline = strcmp(failure_kind, "offline") == 0;

	*ndone = 0;
	begin_episode();
	for (int s = 0; s < n && found == NULL && !crashed; s++)
	{
		if (!take_step_again(steps[s]))
			continue;
		done[(*ndone)++] = steps[s];
		settle_down();
		for (int i = 0; i < connections; i++)
		{
			Client	   *c = &clients[i];

			if (!c->busy && c->res != NULL && found == NULL)
				found = look_at_result(c);
			if (c->lost && c->dying)
			{
				PQfinish(c->conn);
				set_connection(c, connect_tested(i));
			}
		}
		if (is_offline && found == NULL && !is_comparison(steps[s]))
			found = find_wrong_index(conn);
	}
	if (crashed && is_lost)
		found = format("the server has closed a connection");
	if (!crashed)
	{
		release_paused();
		settle_down();
		if (is_offline && found == NULL)
			found = find_wrong_index(conn);
	}
	if (strcmp(failure_kind, "verify") == 0 && !crashed)
	{
		close_connections();
		found = verify_all();
	}
	if (found == NULL)
		return false;
	free(replay_message);
	replay_message = found;
	return true;
}

static void
print_steps(Step *const *steps, int n)
{
	for (int i = 0; i < n; i++)
	{
		switch (steps[i]->kind)
		{
			case STEP_STATEMENT:
				printf("[%d] %s;\n", steps[i]->client, steps[i]->text);
				if (steps[i]->copy_data != NULL)
					printf("%s\\.\n", steps[i]->copy_data);
				break;
			case STEP_CANCEL:
				printf("[%d] is cancelled\n", steps[i]->client);
				break;
			case STEP_TERMINATE:
				printf("[%d] is terminated\n", steps[i]->client);
				break;
			case STEP_RELEASE:
				printf("sessions at a pause point continue\n");
				break;
		}
	}
}

/* What is left of the history, and how much was tried. */
typedef struct Shrink
{
	Step	  **steps;
	int			n;
	Step	  **tried;
	Step	  **done;
	int			replays;
	int			most_replays;
	double		end;
} Shrink;

static bool
shrink_is_over(const Shrink *shrink)
{
	return shrink->replays >= shrink->most_replays || now() > shrink->end;
}

/* If the first n steps in tried fail as well, they are what is left. */
static bool
try_shorter(Shrink *shrink, int n)
{
	int			ndone;

	shrink->replays++;
	if (!replay(shrink->tried, n, shrink->done, &ndone))
		return false;
	memcpy(shrink->steps, shrink->done, ndone * sizeof(Step *));
	shrink->n = ndone;
	return true;
}

static bool
leave_out(Shrink *shrink, int from, int to)
{
	int			n = 0;

	for (int i = 0; i < shrink->n; i++)
	{
		if (i < from || i >= to)
			shrink->tried[n++] = shrink->steps[i];
	}
	return try_shorter(shrink, n);
}

/* Zeller's delta debugging, with complements only. */
static void
shrink_steps(Shrink *shrink)
{
	bool		again;

	/* A whole connection first, then all comparisons but the last step. */
	for (int c = 0; c < connections && !shrink_is_over(shrink); c++)
	{
		int			n = 0;

		for (int i = 0; i < shrink->n; i++)
		{
			if (shrink->steps[i]->client != c)
				shrink->tried[n++] = shrink->steps[i];
		}
		if (n < shrink->n)
			try_shorter(shrink, n);
	}
	if (!shrink_is_over(shrink))
	{
		int			n = 0;

		for (int i = 0; i < shrink->n; i++)
		{
			if (i == shrink->n - 1 || !is_comparison(shrink->steps[i]))
				shrink->tried[n++] = shrink->steps[i];
		}
		try_shorter(shrink, n);
	}
	for (int chunk = (shrink->n + 1) / 2; chunk > 0; chunk = again ? 1 : chunk / 2)
	{
		again = false;
		/* From the end, where steps that do not matter are more frequent. */
		for (int from = shrink->n - chunk; from > -chunk; from -= chunk)
		{
			if (shrink_is_over(shrink))
				return;
			if (from + chunk > shrink->n)
				continue;
			if (leave_out(shrink, from < 0 ? 0 : from, from + chunk))
				again |= chunk == 1;
		}
	}

	/* A comparison that is left may matter only because it takes a snapshot. */
	for (int i = 0; i < shrink->n - 1 && !shrink_is_over(shrink); i++)
	{
		char	   *text = shrink->steps[i]->text;

		if (!is_comparison(shrink->steps[i]))
			continue;
		shrink->steps[i]->text = "SELECT 1";
		memcpy(shrink->tried, shrink->steps, shrink->n * sizeof(Step *));
		if (!try_shorter(shrink, shrink->n))
			shrink->steps[i]->text = text;
	}
}

void
shrink_and_report(const char *message)
{
	static bool reporting = false;
	Shrink		shrink;
	int			nall = nhistory;
	bool		again = false;

	/* A failure during the replays ends the program. */
	printf("\nFAILED (seed %" PRIu64 ", episode %" PRIu64 "): %s\n", seed,
		   episode, message);
	if (reporting)
		return;
	printf("\n");
	print_tables(stdout);
	reporting = true;
	replaying = true;
	me = -1;
	lost = false;
	conn = connect_tested(-1);
	PQclear(PQexec(conn, "SET application_name = 'oracle'"));

	memset(&shrink, 0, sizeof(shrink));
	shrink.steps = calloc(nall + 1, sizeof(Step *));
	shrink.tried = calloc(nall + 1, sizeof(Step *));
	shrink.done = calloc(nall + 1, sizeof(Step *));
	if (shrink.steps == NULL || shrink.tried == NULL || shrink.done == NULL)
		out_of_memory();
	for (int i = 0; i < nall; i++)
		shrink.steps[shrink.n++] = shrink.tried[i] = &history[i];
	shrink.most_replays = MAX_FIRST_REPLAYS;
	shrink.end = now() + MAX_SHRINK_SECONDS;
	fflush(stdout);

	/*
	 * Sessions that continue together race with each other, so try several
	 * times.
	 */
	if (failure_kind[0] != '\0' && strcmp(failure_kind, "stuck") != 0)
	{
		while (!again && !shrink_is_over(&shrink))
			again = try_shorter(&shrink, nall);
	}
	if (!again)
	{
		printf("\nDone again it does not fail (%d steps):\n\n", nall);
		print_steps(shrink.steps, nall);
		return;
	}
	shrink.most_replays = shrink.replays + most_replays;
	shrink_steps(&shrink);
	printf("\n%d of %d steps are enough, found in %d replays, on the tables of set_up():\n\n",
		   shrink.n, nall, shrink.replays);
	print_steps(shrink.steps, shrink.n);
	printf("\n%s\n", replay_message);
}
