/*-------------------------------------------------------------------------
 *
 * schedule.h
 *	  Connections and steps of the scheduled mode.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SCHEDULE_H
#define LB_SCHEDULE_H

#include <ucontext.h>

#include "oracle.h"

typedef struct Client
{
	PGconn	   *conn;
	int			pid;
	bool		busy;			/* has a statement under way ... */
	bool		blocked;		/* ... which waits, perhaps ... */
	bool		paused;			/* ... at a pause point */
	bool		dying;			/* was terminated */
	bool		lost;
	bool		tx_failed;
	bool		ended;			/* its stack is not in use */
	double		since;			/* when the statement was sent */
	const char *copy_data;
	PGresult   *res;			/* of the last statement that has ended */
	const char *statement;		/* that one */
	PGresult   *got;			/* first half of a comparison, in a replay */
	uint64_t	random_state;
	char	   *stack;
	ucontext_t	context;
} Client;

typedef enum StepKind
{
	STEP_STATEMENT,
	STEP_CANCEL,
	STEP_TERMINATE,
	STEP_RELEASE				/* sessions at a pause point continue */
} StepKind;

typedef struct Step
{
	StepKind	kind;
	int			client;
	char	   *text;
	char	   *copy_data;
} Step;

extern Client *clients;
extern uint64_t episode;
extern bool replaying;
extern bool crashed;			/* a connection was lost for no reason */

/* The steps of this episode. */
extern Step *history;
extern int	nhistory;

extern bool is_comparison(const Step *step);

/* New tables and new connections, the same for the same episode. */
extern void begin_episode(void);

/* Close all connections, and wait until none of their backends is left. */
extern void close_connections(void);

/* Give a client a new connection. */
extern void set_connection(Client *c, PGconn *new_conn);

/* Wait until each statement has ended, or waits for a lock. */
extern void settle_down(void);

extern void send_statement(Client *c, const char *statement,
						   const char *copy_data);

/* Let the sessions at a pause point continue to the next one. */
extern void release_paused(void);

/* Call a function of the server with the pid of the client's backend. */
extern void signal_client(Client *c, const char *function);

/*
 * When no transaction runs, what lb_verify() finds: a text to be freed, or NULL.
 * A client that has no more statements may have left a prepared transaction,
 * which keeps its table locked and can keep a board offline.
 */
extern char *verify_all(void);

#endif							/* LB_SCHEDULE_H */
