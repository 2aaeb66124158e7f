/*-------------------------------------------------------------------------
 *
 * quiet.c
 *	  All comparisons, when all is quiet, by a process for each processor.
 *
 * Each process takes the next comparison that none has begun.  What a comparison asks
 * depends on its number and the seed, and not on the process that makes it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle.h"

#define MAX_PROCESSES 16

/* What the processes share. */
typedef struct Round
{
	atomic_int	next;			/* the number of a comparison */
	int64_t		passed[MAX_PROCESSES];
} Round;

static Round *round_of_all;
static uint64_t round_seed;
static bool by_query;
static int	number;				/* of the next comparison in the order of all */
static int	mine;				/* the one that this process has taken */

/* Make the next comparison, if this process has taken it. */
static void
compare_next(int function, const Look *look)
{
	if (number++ != mine)
		return;
	random_state = round_seed + (uint64_t) mine;
	if (!by_query || rnd(3) == 0)
		compare_function(function, look);
	mine = atomic_fetch_add(&round_of_all->next, 1);
}

/* Compare every function, or every twin, on one board. */
static void
compare_board(const Look *look)
{
	for (int i = 0; i < ncomparisons; i++)
		compare_next(i, look);
}

static void
compare_tables(void)
{
	for (int i = 0; i < ntables; i++)
	{
		const Table *t = &tables[i];
		int			v = 0;

		do
		{
			Look		look = {t, t, t->values ? t->values[v] : NULL, true, false, false};

			compare_board(&look);
			look.twin = true;
			if (t->same != NULL)
				look.by = t->same;
			compare_board(&look);
		} while (t->values != NULL && t->values[++v] != NULL);
	}
}

/* What a process does.  The server of the parent's connection is asked. */
static void
compare_share(int process)
{
	int64_t		before = result.passed;

	conn = connect_or_fail(conn == standby_conn ? standby_conninfo : conninfo, 0);
	if (by_query)
		run("SET leaderboard.enable_index = off");
	number = 0;
	mine = atomic_fetch_add(&round_of_all->next, 1);
	compare_tables();
	round_of_all->passed[process] = result.passed - before;
	PQfinish(conn);
	/* The parent's connections are still open. */
	fflush(stdout);
	_exit(0);
}

/* Wait for the processes.  One that fails has reported that; the others stop. */
static void
wait_for_shares(const pid_t *processes, int n)
{
	bool		failed = false;

	for (int left = n; left > 0; left--)
	{
		int			status;

		if (waitpid(-1, &status, 0) < 0)
			fail("waitpid: %s", strerror(errno));
		if (status == 0 || failed)
			continue;
		failed = true;
		for (int i = 0; i < n; i++)
			kill(processes[i], SIGTERM);
	}
	if (failed)
		exit(1);
}

static void
compare_round(void)
{
	pid_t		processes[MAX_PROCESSES];
	long		n = sysconf(_SC_NPROCESSORS_ONLN);

	n = n < 1 ? 1 : n > MAX_PROCESSES ? MAX_PROCESSES : n;
	round_of_all = mmap(NULL, sizeof(Round), PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (round_of_all == MAP_FAILED)
		out_of_memory();
	round_seed = random64();
	fflush(stdout);
	for (int i = 0; i < n; i++)
	{
		processes[i] = fork();
		if (processes[i] < 0)
			fail("fork: %s", strerror(errno));
		if (processes[i] == 0)
			compare_share(i);
	}
	wait_for_shares(processes, n);
	for (int i = 0; i < n; i++)
		result.passed += round_of_all->passed[i];
	munmap(round_of_all, sizeof(Round));
}

void
compare_all(void)
{
	by_query = false;
	compare_round();
}

/*
 * A query takes as long as hundreds of answers by the index, and what it returns does not
 * depend on how the board has come to its state.
 */
void
compare_by_query(void)
{
	by_query = true;
	compare_round();
}
