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

#include "players/forget.h"
#include "submit/applied.h"

/* Routines of LbDistributed.  They raise as lb_shard_of(), too. */
extern int	lb_forward(LbSubmit *s, LbForwarded **rows);
extern int64 lb_forward_many(const LbSubmit *s, LbItemOutcome *outcomes);
extern uint64 lb_forward_ranked(const LbDefinition *defn, text *player,
								bool ranked, bool all);
extern bool lb_is_in_shard(const LbDefinition *defn, text *player);
extern int	lb_forward_forget(const LbDefinition **defns, int n, text *player,
							  LbForgotten **rows);

#endif							/* LB_FORWARD_H */
