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

/* Routines of LbDistributed. */
extern bool lb_shards_serve(Oid source);
extern void lb_shards_create(const LbDefinition *defn);
extern void lb_shards_drop(const LbDefinition *defn);
extern bool lb_shards_rebuild(const char *board);
extern bool lb_shards_wait_ready(const LbDefinition *defn, int64 until);
extern void lb_shards_verify(const LbDefinition *defn,
							 void (*report) (const char *board, const char *problem, void *arg),
							 void *arg);

/*
 * Make the boards that shards lack, with the rights of the table's owner, as a
 * security-restricted operation, and keep other sessions from making or
 * dropping them to the end of the transaction.  Does nothing if there is no
 * such board, or if the table is locked.  If shards fail, or servers are away,
 * it warns of the first, and the others get their boards.  Raises 42622 as
 * lb_shards_create(), and 55P03 if another session is at it for longer than
 * lock_timeout.
 */
extern void lb_shards_mend(const char *board);

#endif							/* LB_SHARD_BOARDS_H */
