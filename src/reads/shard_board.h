/*-------------------------------------------------------------------------
 *
 * shard_board.h
 *	  What the board of a shard answers the server that asks all shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_SHARD_BOARD_H
#define LB_SHARD_BOARD_H

#include "fmgr.h"

#include "reads/call.h"

/*
 * Find the shard's board by the first LB_SHARD_ARGS (section.h), and begin to read it.
 * Returns false if there is no such board, or if the row of places is of another
 * shard.  Can raise.
 */
extern bool lb_shard_begin(LbCall *call, FunctionCallInfo fcinfo);

/* Returns the words if they are a score's or a whole key's.  Else raises 22023. */
extern const int64 *lb_shard_key(const LbShape *shape, const int64 *words,
								 int nwords);

#endif							/* LB_SHARD_BOARD_H */
