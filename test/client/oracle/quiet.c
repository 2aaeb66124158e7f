/*-------------------------------------------------------------------------
 *
 * quiet.c
 *	  What is compared when all is quiet, by several processes.
 *
 * There is one for each processor, but no more than 16.  The comparisons have
 * numbers.  Each process takes the next one that none has taken.  What is asked
 * depends on the number and the seed, and not on the process.
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
	atomic_int	next;			/* the first number that none has taken */
	uint64_t	seed;
	Result		results[MAX_PROCESSES];
} Round;

static Round *round_of_all;
static int	number;				/* of the next comparison in the order of all */
static int	taken;				/* the last one that this process has taken */

bool
take_next(void)
{
	if (taken < number)
		taken = atomic_fetch_add(&round_of_all->next, 1);
	if (number++ != taken)
		return false;
	random_state = round_of_all->seed + (uint64_t) taken;
	return true;
}

/* What a process does.  The server of the parent's connection is asked. */
static void
run_share(void (*compare) (void), Result *out)
{
	number = 0;
	taken = -1;
	memset(&result, 0, sizeof(result));
	conn = connect_or_fail(conn == standby_conn ? standby_conninfo : conninfo, 0);
	compare();
	*out = result;

	/* Its backend adds to the counters before it shows them. */
	run("SELECT count(*) FROM lb_stat_board");
	PQfinish(conn);
	/* The parent's connections are still open. */
	fflush(stdout);
	_exit(0);
}

/*
 * Wait for the processes.  One that fails has reported that, unless a signal
 * has ended it; the others stop.
 */
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
		if (WIFSIGNALED(status))
			fail("a process that compares has ended by signal %d",
				 WTERMSIG(status));
	}
	if (failed)
		exit(1);
}

void
share_out(void (*compare) (void))
{
	pid_t		processes[MAX_PROCESSES];
	long		n = sysconf(_SC_NPROCESSORS_ONLN);

	n = n < 1 ? 1 : n > MAX_PROCESSES ? MAX_PROCESSES : n;
	round_of_all = mmap(NULL, sizeof(Round), PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (round_of_all == MAP_FAILED)
		out_of_memory();
	round_of_all->seed = random64();
	fflush(stdout);
	for (int i = 0; i < n; i++)
	{
		processes[i] = fork();
		if (processes[i] < 0)
			fail("fork: %s", strerror(errno));
		if (processes[i] == 0)
			run_share(compare, &round_of_all->results[i]);
	}
	wait_for_shares(processes, n);
	for (int i = 0; i < n; i++)
		add_result(&result, &round_of_all->results[i]);
	munmap(round_of_all, sizeof(Round));
}
