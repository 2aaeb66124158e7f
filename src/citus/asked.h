/*-------------------------------------------------------------------------
 *
 * asked.h
 *	  What the board of a shard answers the server that asks all shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ASKED_H
#define LB_ASKED_H

#include "fmgr.h"

#include "reads/call.h"

/* What is asked of the boards of this server's shards. */
typedef struct LbAsked
{
	char	   *board;			/* the first LB_SHARD_ARGS (words.h) */
	char	   *value;
	int32		keys_hash;
	Oid			places;
	int			n;				/* shards that an answer is wanted for */
	const int64 *shards;
} LbAsked;

/*
 * Take the first LB_SHARD_ARGS.  Returns false if the row of places is of another shard,
 * or the first in none of the lists.  Raises 22023 if they are no lists.
 */
extern bool lb_shard_asked(FunctionCallInfo fcinfo, LbAsked *asked);

/*
 * Find the board of the i-th of these shards, and begin to read it.  Returns false if
 * there is no such board.  Can raise.
 */
extern bool lb_shard_begin(LbCall *call, const LbAsked *asked, int i);

/* Returns the words if they are a score's or a whole key's.  Else raises 22023. */
extern const int64 *lb_shard_key(const LbShape *shape, const int64 *words,
								 int nwords);

#endif							/* LB_ASKED_H */
