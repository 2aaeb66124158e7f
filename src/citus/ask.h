/*-------------------------------------------------------------------------
 *
 * ask.h
 *	  Asking the boards of all shards of a distributed table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ASK_H
#define LB_ASK_H

#include "citus/words.h"
#include "reads/call.h"

/* A read of all shards. */
typedef struct LbAsk
{
	LbCall	   *call;
	LbDefinition defn;			/* a copy; it lasts through the statements */
	Oid			places;			/* the table that has a row for each shard */
	int64		written;		/* the shard that was written to, or 0 */
	Datum		value;			/* what follows the name of a shard's board */
	int32		keys_hash;
	int			nshards;		/* how many shards have answered */
	int			n;				/* answers; -1: no shard was asked */
	LbWords    *answers;
} LbAsk;

/*
 * Prepare to ask the shards for a call whose query must be run.  Returns false
 * if it must: if this is not such a table, the first operand is null, or the
 * call not one of the user's.  Can raise.
 */
extern bool lb_ask_begin(LbAsk *ask, LbCall *call);

/*
 * Ask the shards a question, nwords long (words.h).  The answers are in the
 * current memory context.  Returns false if not all shards have answered.  The
 * definition in the call can be stale afterwards.  Raises what the statement
 * raises.
 */
extern bool lb_ask_shards(LbAsk *ask, const int64 *words, int n);

/*
 * The call is answered: count the read, and look its definition up again.
 * Raises 40001 if the board is gone.
 */
extern void lb_ask_end(const LbAsk *ask);

/* Routines of LbDistributed: require_indexes and set_up. */
extern void lb_require_shards(LbCall *call);
extern void lb_set_up_statement(bool sequential);

#endif							/* LB_ASK_H */
