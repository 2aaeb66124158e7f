/*-------------------------------------------------------------------------
 *
 * client.h
 *	  What the random clients share: random numbers, time and strings.
 *
 * Each program is one file, so this is too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_CLIENT_H
#define LB_CLIENT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The state of the random numbers; whoever sets it to a seed starts anew. */
static uint64_t random_state;

static inline uint64_t
random64(void)
{
	/* splitmix64 */
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* 0 ... n - 1 */
static inline int
rnd(int n)
{
	return (int) (random64() % (uint64_t) n);
}

/* True in so many of a hundred cases. */
static inline bool
percent(int p)
{
	return rnd(100) < p;
}

/* Seconds since some moment; the clock is never set. */
static inline double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static inline void
out_of_memory(void)
{
	fprintf(stderr, "out of memory\n");
	exit(1);
}

static char *format(const char *fmt,...)
			__attribute__((format(printf, 1, 2), unused));

/* A string to be freed. */
static char *
format(const char *fmt,...)
{
	va_list		args;
	char	   *s;

	va_start(args, fmt);
	if (vasprintf(&s, fmt, args) < 0)
		out_of_memory();
	va_end(args);
	return s;
}

#endif							/* LB_CLIENT_H */
