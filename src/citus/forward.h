/*-------------------------------------------------------------------------
 *
 * forward.h
 *	  Submits that are sent to the servers of shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_FORWARD_H
#define LB_FORWARD_H

#include "nodes/pg_list.h"

#include "service/applied.h"
#include "service/forget.h"

/*
 * Send a submit of one item, whose boards the caller has named in an array, unless it
 * is 0, to the player's shard.  Sets s->only_forwarded; returns the number of rows.  Between SPI_connect and
 * SPI_finish; raises as lb_shard_of(), and what the shard's server raises.
 */
extern int	lb_forward(LbSubmit *s, Datum boards, LbForwarded **rows);

/*
 * The same for the items of a submit whose players are set, each to its player's shard.
 * Returns how many were applied; or, with outcomes, fills in what became of each.
 */
extern int64 lb_forward_many(const LbSubmit *s, LbItemOutcome *outcomes);

/* Whether a player is in one shard of a board's table.  Can raise. */
extern bool lb_is_in_shard(const LbDefinition *defn, text *player);

/*
 * Set ranked_if in a player's rows of a distributed board, on the player's shard, and
 * record there that the player is hidden on this board, or with all on all leaderboards;
 * returns how many rows have changed.  Likewise.
 */
extern uint64 lb_forward_ranked(const LbDefinition *defn, text *player,
								bool ranked, bool all);

/*
 * Have the shard that a player is in remove the player from these boards of one
 * leaderboard, whose names are an array and the first of which is defn's.  Returns the
 * number of rows.  Likewise; the shard's server raises what lb_forget_player() does.
 */
extern int	lb_forward_forget(const LbDefinition **defns, int n, text *player,
							  LbForgotten **rows);

#endif							/* LB_FORWARD_H */
