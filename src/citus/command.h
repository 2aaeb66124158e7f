/*-------------------------------------------------------------------------
 *
 * command.h
 *	  Commands to the other servers of Citus.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_COMMAND_H
#define LB_COMMAND_H

#include "boards/definition.h"

/* What a server has said to a command. */
typedef struct LbShardAnswer
{
	int64		shard;			/* 0: the command was not for a shard */
	char	   *board;			/* the shard's */
	char	   *server;
	bool		success;
	char	   *result;			/* the first value, '' for none, or the error */
} LbShardAnswer;

/*
 * Which servers get a command for a board of a distributed table: those of all
 * shards, all other ones that run Citus's queries themselves, or only this
 * one, if Citus knows how to connect to it.
 */
extern const char lb_to_shards[];
extern const char lb_to_others[];
extern const char lb_to_self[];

/*
 * Give a command to servers, all at once, as the current user, in transactions
 * of their own.  In the text, format() replaces %1$L by the name of the
 * shard's table, or of the board's; and %2$L by the name of the shard's board,
 * or the board's.  Returns a list of LbShardAnswer in the order of the
 * shards.  Can raise.
 */
extern List *lb_command(const LbDefinition *defn, const char *servers,
						const char *command);

/*
 * The same; the first server that fails is reported at that level, with 55000.
 */
extern List *lb_command_reporting(const LbDefinition *defn,
								  const char *servers, const char *command,
								  int elevel);

/*
 * For the FROM of a command, palloc'd: a row that keeps the command from
 * waiting long for a lock.
 */
extern char *lb_command_waits(void);

/*
 * A literal for a command, palloc'd: format() leaves it as it is.  NULL is an
 * empty one.
 */
extern char *lb_command_literal(const char *text);

/*
 * The schema of the extension, which is the same on all servers, for a
 * command.
 */
extern const char *lb_command_schema(void);

/* The schema of the extension's internal functions. */
extern const char *lb_command_internal_schema(void);

/* Raise 55000 unless this server is the coordinator. */
extern void lb_require_coordinator(void);

/* The same for a board and what is to be done: a routine of LbDistributed. */
extern void lb_require_coordinator_for(const LbDefinition *defn,
									   const char *what);

/* Raise 55000 on the coordinator: what it records is its own. */
extern void lb_refuse_coordinator(const char *function);

#endif							/* LB_COMMAND_H */
