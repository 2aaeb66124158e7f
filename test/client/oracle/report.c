/*-------------------------------------------------------------------------
 *
 * report.c
 *	  The statements that were run last, and the report of a failure.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "oracle.h"

#define MAX_LOG 60				/* statements remembered for a report */
#define MAX_SHARED_LOG 12		/* ... and of them, in the reports of other
								 * processes */
#define MAX_SHARED_TEXT 600

/* What each process has done last, for the reports of all. */
typedef struct SharedLog
{
	int			count;
	bool		running;		/* the last one has not ended */
	double		at[MAX_SHARED_LOG];
	char		statement[MAX_SHARED_LOG][MAX_SHARED_TEXT];
} SharedLog;

static char *statement_log[MAX_LOG];
static int	statement_count;
static SharedLog *shared_logs;

void
remember(const char *statement)
{
	char	  **slot = &statement_log[statement_count++ % MAX_LOG];

	free(*slot);
	if ((*slot = strdup(statement)) == NULL)
		out_of_memory();
	if (shared_logs != NULL && me >= 0)
	{
		SharedLog  *log = &shared_logs[me];
		int			i = log->count % MAX_SHARED_LOG;

		snprintf(log->statement[i], MAX_SHARED_TEXT, "%s", statement);
		log->at[i] = now();
		log->count++;
		log->running = true;
	}
}

static void
print_other_logs(FILE *f)
{
	if (shared_logs == NULL)
		return;
	for (int p = 0; p < nprocesses(); p++)
	{
		SharedLog  *log = &shared_logs[p];
		int			count = log->count;
		int			i = count > MAX_SHARED_LOG ? count - MAX_SHARED_LOG : 0;

		if (p == me)
			continue;
		for (; i < count; i++)
			fprintf(f, "[%d] %.3f s ago%s: %.*s;\n", p,
					now() - log->at[i % MAX_SHARED_LOG],
					i == count - 1 && log->running ? ", running" : "",
					MAX_SHARED_TEXT, log->statement[i % MAX_SHARED_LOG]);
	}
}

void
fail(const char *fmt,...)
{
	va_list		args;
	int			first;
	char	   *message;
	char	   *text = NULL;
	size_t		size;
	FILE	   *f = open_memstream(&text, &size);

	va_start(args, fmt);
	if (f == NULL)
		out_of_memory();
	message = format_va(fmt, args);
	va_end(args);
	if (scheduled)
		shrink_and_report(message);
	else
	{
		fprintf(f, "\n");
		print_other_logs(f);
		first = statement_count > MAX_LOG ? statement_count - MAX_LOG : 0;
		for (int i = first; i < statement_count; i++)
			fprintf(f, "[%d] %.2000s;\n", me, statement_log[i % MAX_LOG]);
		fprintf(f, "\nFAILED in process %d (seed %" PRIu64 "): %s\n", me,
				seed, message);
	}
	fclose(f);
	if (me < 0)
	{
		for (int i = 0; i < nprocesses(); i++)
		{
			if (pids[i] > 0)
				kill(pids[i], SIGTERM);
		}
		if (disturber_pid > 0)
			kill(disturber_pid, SIGTERM);
	}

	/* One write, because other processes write to the same place. */
	fputs(text, stdout);
	fflush(stdout);
	if (me < 0 || scheduled)
		printf("%" PRId64 " passed, %" PRId64 " failed\n", result.passed,
			   result.failed > 0 ? result.failed : 1);
	exit(1);
}

void
share_logs(void)
{
	shared_logs = mmap(NULL, nprocesses() * sizeof(SharedLog),
					   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
					   0);
	if (shared_logs == MAP_FAILED)
		out_of_memory();
}

void
remember_end(void)
{
	if (shared_logs != NULL && me >= 0)
		shared_logs[me].running = false;
}
