/*-------------------------------------------------------------------------
 *
 * client.c
 *	  What the clients share: random numbers, time, strings, results.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

uint64_t	random_state;

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014) */
uint64_t
random64(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

int
rnd(int n)
{
	return (int) (random64() % (uint64_t) n);
}

bool
percent(int p)
{
	return rnd(100) < p;
}

double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

void
out_of_memory(void)
{
	fprintf(stderr, "out of memory\n");
	exit(1);
}

char *
format_va(const char *fmt, va_list args)
{
	char	   *s;

	if (vasprintf(&s, fmt, args) < 0)
		out_of_memory();
	return s;
}

char *
format(const char *fmt,...)
{
	va_list		args;
	char	   *s;

	va_start(args, fmt);
	s = format_va(fmt, args);
	va_end(args);
	return s;
}

PGconn *
connect_within(const char *conninfo, const char *settings, double seconds)
{
	double		end = now() + seconds;

	for (;;)
	{
		PGconn	   *c = PQconnectdb(conninfo);

		if (PQstatus(c) == CONNECTION_OK)
		{
			char	   *all = format("SET leaderboard.enable_planner = off; %s",
									 settings);
			PGresult   *res = PQexec(c, all);
			bool		ok = is_ok(res);

			PQclear(res);
			free(all);
			if (ok)
				return c;
		}
		if (now() >= end)
			return c;
		PQfinish(c);
		usleep(50000 + rnd(50000));
	}
}

bool
is_ok(const PGresult *res)
{
	return PQresultStatus(res) == PGRES_COMMAND_OK ||
		PQresultStatus(res) == PGRES_TUPLES_OK;
}

const char *
sqlstate_of(const PGresult *res)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	return sqlstate == NULL ? "" : sqlstate;
}

bool
is_one_of(const char *sqlstate, const char *const *states, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (strcmp(sqlstate, states[i]) == 0)
			return true;
	}
	return false;
}

bool
is_shutdown(const char *sqlstate)
{
	return strncmp(sqlstate, "57P0", 4) == 0;
}
