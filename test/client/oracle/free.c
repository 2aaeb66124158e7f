/*-------------------------------------------------------------------------
 *
 * free.c
 *	  The free running mode: a process for each connection.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle.h"

void
terminate_any(PGconn *c)
{
	PQclear(PQexec(c, "SELECT pg_terminate_backend(pid)"
				   " FROM pg_stat_activity"
				   " WHERE application_name = 'oracle tested'"
				   " AND datname = current_database()"
				   " ORDER BY random() LIMIT 1"));
}

bool
kill_any(PGconn *c, const char *type)
{
	char	   *query = format("SELECT pid FROM pg_stat_activity"
							   " WHERE backend_type = '%s'"
							   " AND (backend_type <> 'client backend'"
							   " OR (application_name = 'oracle tested'"
							   " AND datname = current_database() AND state <> 'idle'))"
							   " ORDER BY random() LIMIT 1", type);
	PGresult   *res = PQexec(c, query);
	pid_t		pid = 0;

	if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0)
		pid = atoi(PQgetvalue(res, 0, 0));
	PQclear(res);
	free(query);
	if (pid > 0 && kill(pid, SIGKILL) != 0 && errno != ESRCH)
		fail("cannot kill a process: %s", strerror(errno));
	return pid > 0;
}

/* What is killed on the primary with -k. */
static const char *const victims[] = {
	"client backend", "client backend", "leaderboard launcher"
};

/*
 * Terminate or kill processes now and then, and check the boards' states.  The
 * process that waits for the others calls this again and again.
 */
static void
disturb(void)
{
	static double last_terminate = 0;
	static double last_kill = 0;
	static double last_check = 0;

	if (PQstatus(conn) == CONNECTION_BAD)
	{
		PQreset(conn);
		return;
	}
	if (last_terminate == 0)
		last_terminate = last_kill = last_check = now();
	if (now() - last_check > 0.5)
	{
		check_wrong_index(conn);
		last_check = now();
	}
	if (terminates && now() - last_terminate > 0.2)
	{
		terminate_any(conn);
		last_terminate = now();
	}
	if (!kills || now() - last_kill < 4)
		return;
	gather_share(conn);
	kill_any(conn, ANY(victims));
	last_kill = now();
}

/* The command of -X, in a process of its own. */
static void
start_disturber(void)
{
	fflush(stdout);
	disturber_pid = fork();
	if (disturber_pid < 0)
		fail("fork: %s", strerror(errno));
	if (disturber_pid == 0)
	{
		char	   *command = format("exec %s", disturber);

		execl("/bin/sh", "sh", "-c", command, (char *) NULL);
		_exit(127);
	}
}

/* Returns whether it has ended without a failure. */
static bool
stop_disturber(void)
{
	pid_t		pid = disturber_pid;
	int			status;

	if (pid == 0)
		return true;
	disturber_pid = 0;
	kill(pid, SIGTERM);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status) == 0;
}

void
run_free_mode(void)
{
	Result	   *results;
	bool		failed = false;

	share_logs();
	results = mmap(NULL, nprocesses() * sizeof(Result), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		out_of_memory();
	set_up();
	print_tables(stdout);
	if (standby_conninfo != NULL)
		begin_standby();
	run("SELECT lb_stat_reset()");
	run("SET lock_timeout = '20ms'");

	fflush(stdout);
	for (int i = 0; i < nprocesses(); i++)
	{
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork: %s", strerror(errno));
		if (pids[i] == 0)
			worker(i, &results[i]);
	}
	if (disturber != NULL)
		start_disturber();

	for (int left = nprocesses(); left > 0;)
	{
		int			status;
		pid_t		pid = waitpid(-1, &status, WNOHANG);

		if (pid == 0)
		{
			usleep(20000);
			if (!failed)
				disturb();
			if (!failed && standby_conninfo != NULL)
				watch_standby();
			continue;
		}
		if (pid == disturber_pid)
			disturber_pid = 0;
		else
			left--;
		for (int i = 0; i < nprocesses(); i++)
		{
			if (pids[i] == pid)
				pids[i] = 0;
		}
		/* The process that defines boards goes on as long as the others do. */
		if (left == 1 && pids[nprocesses() - 1] > 0 &&
			is_definer(nprocesses() - 1))
			kill(pids[nprocesses() - 1], SIGTERM);
		if (status == 0 || failed ||
			(left == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM))
			continue;
		/* One process has found something; the others stop. */
		failed = true;
		for (int i = 0; i < nprocesses(); i++)
		{
			if (pids[i] > 0)
				kill(pids[i], SIGTERM);
		}
	}
	if (!stop_disturber())
		failed = true;
	for (int i = 0; i < nprocesses(); i++)
		add_result(is_of_standby(i) ? &standby_result : &result, &results[i]);
	print_result();
	if (failed)
	{
		printf("%" PRId64 " passed, 1 failed\n",
			   result.passed + standby_result.passed);
		exit(1);
	}

	/* After a crash, wait for the server. */
	for (double end = now() + PATIENCE; PQstatus(conn) == CONNECTION_BAD &&
		 now() < end;)
	{
		PQreset(conn);
		usleep(20000);
	}
	wait_for_backends(conn);
	check_wrong_index(conn);
	run("SET lock_timeout = 0");
	gather_share(conn);
	check_share();
	if (standby_conninfo != NULL)
		final_standby();
	final_comparison();
}
