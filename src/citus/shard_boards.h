/*-------------------------------------------------------------------------
 *
 * shard_boards.h
 *	  Boards of the shards of tables that Citus distributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SHARD_BOARDS_H
#define LB_SHARD_BOARDS_H

#include "datatype/timestamp.h"

#include "boards/definition.h"

/*
 * Whether Citus keeps the rows of a table in shards whose boards the functions
 * below can make.  Can raise.
 */
extern bool lb_shards_serve(Oid source);

/*
 * Make the boards of all shards of a board's table that do not have them yet, on all
 * servers, with the caller's rights, in transactions of their own.  Other servers record
 * the board, and the settings of its leaderboard.  Raises 55000, with
 * what the server has said, if one fails, and 42622 if the name leaves no room for a
 * shard's number.
 */
extern void lb_shards_create(const LbDefinition *defn);

/* Drop them.  Raises as lb_shards_create() does. */
extern void lb_shards_drop(const LbDefinition *defn);

/*
 * Make those that are missing, with the rights of the table's owner, as a
 * security-restricted operation, and keep other sessions from making or dropping them
 * to the end of the transaction.  Does nothing if there is no such board, or if the
 * table is locked.  If shards fail, or servers are away, it warns of the first, and the
 * others get their boards.  Raises 42622 likewise, and 55P03 if another session is
 * at it for longer than lock_timeout.
 */
extern void lb_shards_mend(const char *board);

/*
 * Make those that are missing, and build all again.  Returns false if there is no
 * board of that name.  Raises likewise.
 */
extern bool lb_shards_rebuild(const char *board);

/*
 * Wait until they are ready, or until then.  Returns whether they are: false also if
 * one is offline, a server does not answer, or the caller may not read the table.
 */
extern bool lb_shards_wait_ready(const LbDefinition *defn, TimestampTz until);

/*
 * Verify them: calls report with the name of a shard's board and what is wrong, also
 * if its server does not answer or does not have it.
 */
extern void lb_shards_verify(const LbDefinition *defn,
							 void (*report) (const char *board, const char *problem, void *arg),
							 void *arg);

#endif							/* LB_SHARD_BOARDS_H */
