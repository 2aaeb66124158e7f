/*-------------------------------------------------------------------------
 *
 * client.h
 *	  What the clients share: random numbers, time, strings, results.
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

#include "libpq-fe.h"

/*
 * Seconds that what has to happen may take on a busy machine: a server's restart, a
 * replay, a worker's end.  Then it hangs.
 */
#define PATIENCE 300

#define LENGTH(a) ((int) (sizeof(a) / sizeof((a)[0])))
#define ANY(a) ((a)[rnd(LENGTH(a))])

/* The state of the random numbers; a program sets it to its seed. */
extern uint64_t random_state;

extern uint64_t random64(void);

/* A number from 0 to n - 1. */
extern int	rnd(int n);

/* True in p of a hundred cases. */
extern bool percent(int p);

/* Seconds of a clock that is never set. */
extern double now(void);

/* Print a message and exit with 1. */
extern void out_of_memory(void) __attribute__((noreturn));

/* A formatted string, to be freed. */
extern char *format(const char *fmt,...)
			__attribute__((format(printf, 1, 2)));
extern char *format_va(const char *fmt, va_list args)
			__attribute__((format(printf, 1, 0)));

/*
 * Connect, and run the settings.  Plain SQL is what the clients compare with, so
 * plans do not use boards unless the settings say so.  While the server does not accept connections
 * and the time in seconds has not passed, try again.  The caller must check the
 * status of what it gets.
 */
extern PGconn *connect_within(const char *conninfo, const char *settings,
							  double seconds);

/* Whether a statement has succeeded. */
extern bool is_ok(const PGresult *res);

/* The SQLSTATE of an error, or "" if the server sent none. */
extern const char *sqlstate_of(const PGresult *res);

/* Whether an SQLSTATE is among n. */
extern bool is_one_of(const char *sqlstate, const char *const *states, int n);

/* Whether an error says that the server has ended the session. */
extern bool is_shutdown(const char *sqlstate);

#endif							/* LB_CLIENT_H */
