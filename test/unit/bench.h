/*-------------------------------------------------------------------------
 *
 * bench.h
 *	  What the benchmarks of the index share: random numbers, phases.
 *
 * Under valgrind --tool=callgrind each phase has a dump of its own, whose
 * trigger is the name of the phase.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_BENCH_H
#define LB_BENCH_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifndef CALLGRIND_ZERO_STATS
#define CALLGRIND_ZERO_STATS ((void) 0)
#define CALLGRIND_DUMP_STATS_AT(name) ((void) 0)
#endif

#include "index/skiplist.h"

static uint64 rng;

/* The arena is this program's alone and has no lock. */
void
lb_lock_acquire(LbLock *lock)
{
	(void) lock;
	abort();
}

void
lb_lock_release(LbLock *lock)
{
	(void) lock;
	abort();
}

static uint64
next_random(void)
{
	uint64		z = (rng += UINT64CONST(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The time that the process has used; other processes count less in it. */
static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static double phase_start;

static void
begin(void)
{
	CALLGRIND_ZERO_STATS;
	phase_start = now();
}

/* The end of a phase of n operations. */
static void
end(const char *what, uint64 n)
{
	double		took = now() - phase_start;

	CALLGRIND_DUMP_STATS_AT(what);
	printf("%-34s %8.0f ns\n", what, took * 1e9 / (double) Max(n, 1));
}

static void
die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

#endif							/* LB_BENCH_H */
