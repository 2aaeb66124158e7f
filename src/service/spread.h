/*-------------------------------------------------------------------------
 *
 * spread.h
 *	  Boards of tables that Citus spreads over servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SPREAD_H
#define LB_SPREAD_H

#include "datatype/timestamp.h"

#include "boards/definition.h"

/*
 * Whether Citus keeps the rows of a table in shards whose boards the functions
 * below can make.  Can raise.
 */
extern bool lb_is_spread(Oid source);


/*
 * Make the boards of all shards of a board's table that do not have them yet, on all
 * servers, with the caller's rights, in transactions of their own.  Other servers record
 * the board, and run settings with that, a call of a function, or NULL.  Raises 55000, with
 * what the server has said, if one fails, and 42622 if the name leaves no room for a
 * shard's number.
 */
extern void lb_spread_create(const LbDefinition *defn, const char *settings);

/* Drop them.  Raises as lb_spread_create() does. */
extern void lb_spread_drop(const LbDefinition *defn);

/*
 * Whether a board is one whose table's shards have boards.  A table that was captured
 * and then distributed is not: lb_rebuild() makes its shards' boards.  Can raise.
 */
extern bool lb_has_spread_board(const LbDefinition *defn);

/*
 * Make those that are missing, with the rights of the table's owner, as a
 * security-restricted operation, and keep other sessions from making or dropping them
 * to the end of the transaction.  Does nothing if there is no such board, or if the
 * table is locked.  If shards fail, or servers are away, it warns of the first, and the
 * others get their boards.  Raises 42622 likewise, and 55P03 if another session is
 * at it for longer than lock_timeout.
 */
extern void lb_spread_mend(const char *board, const char *settings);

/*
 * Make those that are missing, and build all again.  Returns false if there is no
 * board of that name.  Raises likewise.
 */
extern bool lb_spread_rebuild(const char *board, const char *settings);

/*
 * Wait until they are ready, or until a moment of lb_clock().  Returns whether
 * they are: false also if one is offline, a server does not answer, or the
 * caller may not read the table.
 */
extern bool lb_spread_wait_ready(const LbDefinition *defn, int64 until);

/*
 * Verify them: calls report with the name of a shard's board and what is wrong, also
 * if its server does not answer or does not have it.
 */
extern void lb_spread_verify(const LbDefinition *defn,
							 void (*report) (const char *board, const char *problem, void *arg),
							 void *arg);

/*
 * Ask the servers what lb_stat() has of each shard's board: of the whole board, or of
 * the one with that value in a family.  Returns a list of LbShardAnswer whose results
 * are arrays of texts {state, reason, members, bytes}, or '' where the server has no
 * such board or the caller may not see it.
 */
extern List *lb_spread_stat(const LbDefinition *defn, const char *value);

#endif							/* LB_SPREAD_H */
