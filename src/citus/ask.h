/*-------------------------------------------------------------------------
 *
 * ask.h
 *	  Asking the boards of all shards of a distributed table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LB_ASK_H
#define LB_ASK_H

#include "boards/spi.h"
#include "reads/call.h"
#include "citus/words.h"

/* How many plans of a question are kept, each for another table. */
#define LB_ASK_PLANS 8

/*
 * A function of shards' boards, in a static variable.  It takes what
 * LB_SHARD_ARGS has (words.h), and then arguments of these types.  It returns
 * words, or null if a board cannot answer.
 */
typedef struct LbQuestion
{
	const char *function;
	int			nargs;
	const Oid  *types;
	LbPlan		of_servers[LB_ASK_PLANS];
	LbPlan		of_shards[LB_ASK_PLANS];
} LbQuestion;

/* A read of all shards. */
typedef struct LbAsk
{
	LbCall	   *call;
	LbDefinition defn;			/* a copy; it lasts through the statements */
	Oid			places;			/* the table that has a row for each shard */
	int64		written;		/* the shard that was written to, or 0 */
	Datum		value;			/* what follows the name of a shard's board */
	int32		keys_hash;
	int			nshards;		/* how many shards have answered ... */
	int			n;				/* ... in so many answers; -1: none were asked */
	LbWords    *answers;
} LbAsk;

/* lb_shard_counts(): its answer is null only from a board that is missing or offline. */
extern LbQuestion lb_count_question;

/*
 * Prepare to ask the shards for a call whose query must be run.  Returns false if it
 * must: if this is not such a table, the first operand is null, or the call not one of
 * the user's.  Can raise.
 */
extern bool lb_ask_begin(LbAsk *ask, LbCall *call);

/*
 * Ask them, with values for the question's own arguments.  The answers are in the
 * current memory context.  Returns false if not all shards have
 * answered.  The definition in the call can be stale afterwards.  Raises what the
 * statement raises.
 */
extern bool lb_ask_shards(LbAsk *ask, LbQuestion *question,
						  const Datum *values);

/*
 * The call is answered: count the read, and look its definition up again.  Raises 40001
 * if the board is gone.
 */
extern void lb_ask_end(const LbAsk *ask);

/* Routines of LbDistributed: require_indexes and set_up. */
extern void lb_require_shards(LbCall *call);
extern void lb_set_up_statement(bool sequential);

#endif							/* LB_ASK_H */
